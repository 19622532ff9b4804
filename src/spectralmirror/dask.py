"""Dask collections as rows."""

from spectralmirror.rows.dask import dask_rows, lazily

__all__ = ["dask_rows", "lazily"]
