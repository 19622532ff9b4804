"""Dask collections as rows."""

from spectralmirror.rows.dask import dask_rowset, lazily

__all__ = ["dask_rowset", "lazily"]
