"""An HTML report that says in plain language what a mixture found, and how far to trust it."""

from spectralmirror.rows.extras import needs_extra

with needs_extra("cli", "spectralmirror.report"):
    from spectralmirror.report.collector import collect
    from spectralmirror.report.renderer import render
    from spectralmirror.report.writer import write_report

__all__ = ["collect", "render", "write_report"]
