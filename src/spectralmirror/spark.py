"""Spark DataFrames as rows: ``spectralmirror.spark.scan(df, label="y")``."""

from spectralmirror.rows.spark import scan

__all__ = ["scan"]
