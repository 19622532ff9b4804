"""Where scikit-learn's diagrams find the reference page of an estimator.

The address is that of "Documentation" in the metadata of the installed package. Without one there
are no links: scikit-learn would otherwise guess a page of its own site.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

__all__ = ["DocLinks", "documentation"]


@cache
def documentation() -> str:
    """Return the address of the documentation, "" if it is not published."""
    try:
        urls = metadata("spectralmirror").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    of_label: dict[str, str] = dict(url.split(", ", 1) for url in urls)
    return of_label.get("Documentation", "").rstrip("/")


class DocLinks:
    """An estimator whose diagram links to our reference, not to scikit-learn's."""

    @property
    def _doc_link_module(self) -> str:
        return "spectralmirror" if documentation() else ""

    @property
    def _doc_link_template(self) -> str:
        return documentation() + "/api.html#spectralmirror.{estimator_name}"
