"""Figures as SVG: small, and the same bytes for the same figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

__all__ = ["inline_svg", "svg_text"]


def svg_text(figure: Any, name: str, decimals: int = 1, **options: Any) -> str:
    """Return a figure as an SVG document whose text stays text.

    Coordinates are cut to `decimals` (of points), and names of groups and indentation are dropped.

    Parameters
    ----------
    figure : matplotlib Figure
        What to save.
    name : str
        Salt of the ids: figures of different names share none.
    decimals : int, default=1
        Decimals of coordinates.
    **options
        Passed to `Figure.savefig`.

    Returns
    -------
    str
        The document.
    """
    import matplotlib

    file = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None}, **options)
    return _shortened(file.getvalue(), decimals)


def inline_svg(figure: Any, name: str, colours: Mapping[str, str]) -> str:
    """Return a figure as an SVG element for an HTML page, which sets its size and its fonts.

    Parameters
    ----------
    figure : matplotlib Figure
        What to save.
    name : str
        Prefix of the ids, which makes them unique on the page.
    colours : mapping of str to str
        Colours of the figure, such as "#222222", and what replaces them, such as "var(--ink)".

    Returns
    -------
    str
        The element.
    """
    svg = svg_text(figure, name, decimals=2, transparent=True)
    svg = re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.S)

    def adapted(tag: str) -> str:
        if tag.startswith("<svg"):
            box = re.search(r'viewBox="[^"]*"', tag)
            return f"<svg {box[0] if box else ''}>"
        tag = tag.replace("xlink:href", "href")
        tag = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", tag)
        tag = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", tag)
        tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
        for colour, replacement in colours.items():
            tag = tag.replace(colour, replacement)
        return tag

    return _map_tags(svg, adapted).strip()


def _shortened(svg: str, decimals: int) -> str:
    """Cut the coordinates of an SVG, and drop names of groups and indentation."""

    def coordinates(match: re.Match[str]) -> str:
        return re.sub(rf"(\.\d{{{decimals}}})\d+", r"\1", match[0])

    def shortened(tag: str) -> str:
        tag = re.sub(r'\b(d|x|y)="[^"]*"', coordinates, tag)
        return re.sub(r'^<g id="[^"]*">$', "<g>", tag)

    return re.sub(r"\s*\n\s*", " ", _map_tags(svg, shortened)) + "\n"


def _map_tags(svg: str, change: Callable[[str], str]) -> str:
    """Change every tag, but not the text between tags."""
    return re.sub(r"<[^>]+>", lambda match: change(match[0]), svg)
