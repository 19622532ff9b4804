"""A page that says in plain language what a mixture found, and how far to trust it."""

from spectralmirror.report.collecting import collect
from spectralmirror.report.rendering import render
from spectralmirror.report.writing import write_report

__all__ = ["collect", "render", "write_report"]
