"""SVG is small, reproducible, and keeps its text."""

import re
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from spectralmirror.plotting.svg import _shortened, inline_svg, svg_text

TEXT = 'p = 0.79864 <b> & "q"'


def figure():
    made, ax = plt.subplots()
    ax.plot(np.arange(20) / 7, np.sin(np.arange(20)), color="#222222")
    ax.scatter([0.5, 1.5], [0, 1], color="#d95f02")
    ax.set(title=TEXT, ylabel="#222222")
    return made


def texts(svg):
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter()
            if one.tag.endswith("text")]  # fmt: skip


def test_coordinates_are_cut_and_text_is_kept():
    svg = '<g id="text_1">\n <text x="1.239" y="2.5">p = 0.79864</text>\n</g>'
    assert _shortened(svg, 1) == '<g> <text x="1.2" y="2.5">p = 0.79864</text> </g>\n'
    assert (
        _shortened('<text x="1.239">x="0.1234"</text>', 2) == '<text x="1.23">x="0.1234"</text>\n'
    )


def test_a_document_is_the_same_for_the_same_figure():
    svg = svg_text(figure(), "name")
    assert svg == svg_text(figure(), "name")
    assert svg != svg_text(figure(), "other")
    assert TEXT in texts(svg)
    assert not re.search(r' [xy]="-?[0-9]+[.][0-9]{2}', svg)
    full = matplotlib.rcParams["svg.hashsalt"]
    assert full is None  # the user's settings are left alone


def test_an_element_takes_ids_size_and_colours_from_the_page():
    svg = inline_svg(figure(), "name", {"#222222": "currentColor", "#d95f02": "var(--negative)"})
    assert re.match(r'<svg viewBox="[0-9. ]+">', svg)
    assert svg.endswith("</svg>")
    ids = re.findall(r'id="([^"]*)"', svg)
    used = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', svg)
    assert ids
    assert all(one.startswith("name-") for one in ids)
    assert {one or other for one, other in used} <= set(ids)
    assert "http" not in svg
    assert "<style" not in svg
    assert "font-family" not in svg
    assert "stroke: currentColor" in svg
    assert "var(--negative)" in svg
    assert "#d95f02" not in svg
    assert {TEXT, "#222222"} <= set(texts(svg))  # text is not taken for a colour
