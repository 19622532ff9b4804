"""A real browser shows the report: nothing missing, nothing loaded, nothing too wide."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import render, write_report
from tests.helpers.browser import Window, system_chromium

#: Feature names as users have them: with markup, too long to wrap, in other scripts.
NAMES_OF_FEATURES = (
    "<script>throw Error('ran')</script>",
    "nothing_here_can_be_broken_into_lines_" * 4,
    "Größe & \"Gewicht\" in '漢字'",
    "price=$10",
    "plain",
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write a page of two classifiers with groups, and one of a single classifier."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 5)), columns=NAMES_OF_FEATURES)
    groups = np.repeat(np.arange(100), 6)
    t = np.where(groups % 3 == 0, X @ [2, 0, 0, 1, -1], X @ [-2, 1, -1, 0, 0])
    y = np.where(rng.uniform(size=600) < expit(t), "a label that is rather long <b>", "no")
    folder, found = tmp_path_factory.mktemp("pages"), {}
    for k, given in ((1, None), (2, groups)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mixture = LinearClassifierMixture(k, random_state=0).fit(X, y, groups=given)
        path = folder / f"{k}.html"
        write_report(mixture, X, y, path, groups=given)
        found[k] = path.as_uri()
    return found


@pytest.fixture(scope="module")
def browser():
    with system_chromium() as opened:
        yield opened


BOXES = """
Array.from(document.querySelectorAll("figure svg"), svg => {
  const box = svg.getBoundingClientRect();
  return [box.width, box.height, box.left, box.right];
})
"""
#: Text of figures that extends beyond them by more than two pixels.
OUTSIDE = """
Array.from(document.querySelectorAll("figure svg")).flatMap(svg => {
  const frame = svg.getBoundingClientRect(), edge = 2;
  return Array.from(svg.querySelectorAll("text")).filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - edge || box.right > frame.right + edge
      || box.top < frame.top - edge || box.bottom > frame.bottom + edge;
  }).map(text => text.textContent);
})
"""


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1280, "light")])
def test_page_is_whole_at_every_width(browser, pages, k, width, scheme):
    with Window(browser, pages[k], width, scheme) as window:
        window.value("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert window.problems == []
        assert window.requests == [pages[k]]  # nothing is loaded from elsewhere
        assert window.value("document.documentElement.scrollWidth") <= width
        boxes = window.value(BOXES)
        assert len(boxes) == (7 if k == 2 else 5)
        for wide, high, left, right in boxes:
            assert wide > 200
            assert high > 60
            assert 0 <= left < right <= width
        assert window.value(OUTSIDE) == []


#: What one sees at first: the bars of the classes, and the places where they and their names end.
FIRST = """
Array.from(document.querySelectorAll(".class li"), line => {
  const [name, bar, value] = Array.from(line.children, one => one.getBoundingClientRect());
  return [name.right, bar.left, bar.right, value.left, value.right, line.parentElement
    .getBoundingClientRect().right, bar.width];
})
"""


@pytest.mark.parametrize("width", [375, 1280])
def test_the_first_look_has_names_bars_and_values_side_by_side(browser, pages, width):
    with Window(browser, pages[2], width, "light") as window:
        lines = window.value(FIRST)
        assert len(lines) == 2 * len(NAMES_OF_FEATURES)
        for name, left, right, value, end, edge, wide in lines:
            assert name <= left < right <= value < end <= edge + 1
            assert wide >= 48
        folded = "Array.from(document.querySelectorAll('details'), one => one.open)"
        assert not any(window.value(folded))
        below = "document.getElementById('sure').getBoundingClientRect().bottom"
        assert window.value(below) < (800 if width > 1000 else 1300)


@pytest.mark.parametrize("width", [375, 1280])
def test_bands_and_their_legend_stay_inside_the_page(browser, varied, tmp_path, width):
    path = tmp_path / "varied.html"
    path.write_text(render(varied.data), encoding="utf-8")
    with Window(browser, path.as_uri(), width, "light") as window:
        assert window.problems == []
        assert window.value("document.documentElement.scrollWidth") <= width
        assert len(window.value(BOXES)) == 7
        assert window.value(OUTSIDE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_is_seen_against_the_page(browser, pages, scheme):
    """Text has a contrast of 4.5 at least, and lines and points of figures 3 (WCAG 2.1)."""
    with Window(browser, pages[2], 1280, scheme) as window:
        paper, ink, soft, caution = (
            colour(window, name) for name in ("paper", "ink", "soft", "caution")
        )
        assert min(contrast(paper, text) for text in (ink, soft, caution)) >= 4.5
        names = ["negative", "positive", "bulk", "kept", *(f"component-{c}" for c in range(8))]
        ratios = {name: contrast(paper, colour(window, name)) for name in names}
        assert min(ratios.values()) >= 3, ratios


def colour(window, name):
    style = "getComputedStyle(document.documentElement)"
    return window.value(f"{style}.getPropertyValue('--{name}').trim()")


def contrast(one, other):
    def luminance(code):
        parts = np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_print_fits_its_pages(browser, pages):
    """On A4 nothing is cut: every figure is at most as high as a page, and in light colours."""
    with Window(browser, pages[2], 680, "dark") as window:
        window.page.emulate_media(media="print")
        background = window.value("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(255, 255, 255)"
        highs = [high for _, high, _, _ in window.value(BOXES)]
        assert len(highs) == 7
        assert min(highs) > 60  # also those that the screen shows only on request
        assert max(highs) < 900
        rule = "getComputedStyle(document.querySelector('figure')).breakInside"
        assert window.value(rule) == "avoid"
