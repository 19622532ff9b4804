"""Renders the collected data as an HTML page."""

from __future__ import annotations

from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spectralmirror.mixture.evidence import CLEARLY
from spectralmirror.report.cautions import supported
from spectralmirror.report.figures import draw_figures
from spectralmirror.report.glance import glance
from spectralmirror.report.spread import is_mixed, subject
from spectralmirror.report.text import formatting
from spectralmirror.responses import get_response
from spectralmirror.rows.parameter_names import translated

__all__ = ["context", "render", "templates"]

#: The page of each kind of labels.
PAGES = {"labels": "labels.html", "several labels": "several.html", "choices": "choices.html"}


def render(data: dict[str, Any]) -> str:
    """Render collected data as a page.

    Parameters
    ----------
    data : dict
        What :func:`collect` returned, or the same data read back from JSON.

    Returns
    -------
    str
        A complete HTML document, which loads nothing from elsewhere.
    """
    figures = {name: Markup(svg) for name, svg in draw_figures(data).items()}
    name = PAGES[data.get("kind", "labels")]
    return templates().get_template(name).render(**context(data), figures=figures)


def context(data: dict[str, Any]) -> dict[str, Any]:
    """Return what the templates refer to: the collected data, and what follows from them."""
    return {
        **data,
        "data": data,
        "response": get_response(data["model"]["response"]),
        "mixed": is_mixed(data),
        "subject": subject(data),
        "glance": glance(data),
        "said": partial(translated, names=data["about"].get("parameters") or {}),
    }


def templates() -> Environment:
    """Return the templates of this package: the page, and the macros that hold its sentences."""
    environment = Environment(
        loader=PackageLoader("spectralmirror.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats = {name: getattr(formatting, name) for name in formatting.__all__}
    environment.filters.update(formats)
    environment.globals.update(formats, supported=supported, CLEARLY=CLEARLY)
    return environment
