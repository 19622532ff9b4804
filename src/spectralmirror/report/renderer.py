"""The page, from the data alone."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from spectralmirror.report.figures import pictures
from spectralmirror.report.text import classifiers, effects, explanations, facts, finding, words

__all__ = ["render"]


def render(data: dict[str, Any]) -> str:
    """Return the page that shows collected data.

    Parameters
    ----------
    data : dict
        What :func:`collect` returned, or the same read back from JSON.

    Returns
    -------
    str
        A complete HTML document, which loads nothing from elsewhere.
    """
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for module in (words, finding, facts, effects, classifiers, explanations):
        environment.globals.update({name: getattr(module, name) for name in module.__all__})
    drawn = {name: Markup(svg) for name, svg in pictures(data).items()}
    return environment.get_template("template.html").render(**data, data=data, pictures=drawn)


def _text(name: str) -> str:
    """Return a file of this package."""
    return files("spectralmirror.report").joinpath(name).read_text(encoding="utf-8")
