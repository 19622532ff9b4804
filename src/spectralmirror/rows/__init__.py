"""Rows wherever they are, and sums over them.

A `source` yields blocks of rows, and `reduce` sums a statistic over them. Rows are in `memory`, or
`partitioned`: read from `files`, or held by `dask` or `spark`. `grouped` and `partitioned_groups`
keep the rows of a group together. `accept` takes what users pass to fit, after the `checks`;
`kernels` has the one expensive sum.
"""
