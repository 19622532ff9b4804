"""Models of named columns, for the command line.

`column_roles` says what the columns of a table are used for, `choose_features` how they become
`features`, and `fit_table` fits a mixture to them. The result is a `table_model`, which makes
`predictions` for files and is kept on disk by `storage`. `pairs` turns comparisons into features.
"""
