"""Files as rows.

`scan` is what users call. `readers` opens Parquet, Arrow and CSV files and data frames; `columns`
and `array_source` turn them into parts; `map_output` writes what a model says about them. `atomic`
writes files completely or not at all.
"""
