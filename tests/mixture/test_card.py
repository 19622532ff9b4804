"""What notebooks show of a mixture."""

import re
from copy import copy
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn

from spectralmirror import ChoiceMixture, LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import (
    make_choice_mixture,
    make_linear_classifier_mixture,
    make_multinomial_mixture,
)
from spectralmirror.mixture.card import card
from spectralmirror.rows import doc_links

PROFILES = np.array([[4.0, 0, 0, 1.0], [0, 4.0, -1.0, 0]])
NAMES = ["age", "<b>bold</b>", 'a & "b"', "'><script>alert(1)</script>"]


@pytest.fixture(scope="module")
def data():
    X, y, truth = make_linear_classifier_mixture(
        1200, profiles=PROFILES, weights=[0.6, 0.4], group_size=4, random_state=0
    )
    scaled = pd.DataFrame(X * [1, 10, 1, 0.1], columns=NAMES)
    return scaled, np.where(y > 0, "<yes>", "no"), truth.groups


@pytest.fixture(scope="module")
def mixture(data):
    X, y, groups = data
    return LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)


class Page(HTMLParser):
    """The text of a page, and the tags that are open at its end."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.said = [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.said.append(data)


def test_classes_weights_and_strongest_effects(mixture):
    page = Page(card(mixture))
    assert page.open == []
    assert page.tags == {"style", "div", "p", "b", "span", "i", "ul", "li"}
    text = "|".join(page.said)
    assert "2 classes behind 1,200 rows of 300 groups" in text
    assert "effects on y = no" in text
    per_deviation = mixture.coef_ * mixture.feature_scale_
    table = mixture.summary(as_frame=True)
    for c, (name, sizes) in enumerate(zip("AB", per_deviation, strict=True)):
        weight = table.loc[(name, "(weight)")]
        interval = f"({weight['lower']:.0%} to {weight['upper']:.0%})"
        own = text[text.index(f"Class {name}") :]
        assert own.startswith(f"Class {name}| · {mixture.weights_[c]:.0%} |{interval}")
        order = np.argsort(-np.abs(sizes))
        found = re.findall(r"\|([^|]+)\|([+-]\d+\.\d\d)", own)[: len(NAMES)]
        assert found == [(NAMES[j], f"{sizes[j]:+.2f}") for j in order]


def test_names_cannot_leave_their_place(mixture):
    html = card(mixture)
    for raw in ("<b>bold", "<script", 'a & "b"', "<yes>"):
        assert raw not in html
    assert html.count("&lt;script&gt;alert(1)") == 4  # in the titles of two lines, and in these
    assert "&lt;script" not in "".join(Page(html).said)


def test_bars_and_intervals_are_in_proportion(mixture):
    html, table = card(mixture), mixture.summary(as_frame=True)
    bars = re.findall(r'class="sm-(more|less)" style="left:([\d.]+)%;width:([\d.]+)%"', html)
    ends = re.findall(r'<i style="left:([\d.]+)%;width:([\d.]+)%"', html)
    per_deviation = np.concatenate(
        [row[np.argsort(-np.abs(row))] for row in mixture.coef_ * mixture.feature_scale_]
    )
    lower, upper = (
        np.concatenate(
            [
                (table.loc[name, end].iloc[2:] * mixture.feature_scale_).to_numpy()[
                    np.argsort(-np.abs(mixture.coef_[c] * mixture.feature_scale_))
                ]
                for c, name in enumerate("AB")
            ]
        )
        for end in ("lower", "upper")
    )
    unit = 50 / max(np.abs(lower).max(), np.abs(upper).max())
    for (side, left, width), value in zip(bars, per_deviation, strict=True):
        assert side == ("more" if value > 0 else "less")
        assert float(width) == pytest.approx(abs(value) * unit, abs=0.1)
        assert float(left) == pytest.approx(50 + min(value * unit, 0), abs=0.1)
    for (left, width), low, high in zip(ends, lower, upper, strict=True):
        assert float(left) == pytest.approx(50 + low * unit, abs=0.1)
        assert float(width) == pytest.approx((high - low) * unit, abs=0.1)


def test_doubts(mixture):
    said = " ".join(Page(card(mixture)).said)
    more = mixture.evidence_path_[2] - mixture.evidence_path_[1]
    assert f"The log evidence is {more:.1f} above that of 1 class." in said
    assert f"Probability that a better maximum exists: {mixture.doubt_:.0%}." in said
    assert f"{mixture.expected_accuracy_:.0%} of the rows should be assigned" in said
    assert "sm-warn>" not in card(mixture)
    doubtful = copy(mixture)
    doubtful._problems, doubtful.evidence_path_ = ["Raise `l2` <now>."], {1: -400.0, 2: -410.0}
    doubtful.doubt_ = 0.4  # which is a problem of its own
    html = card(doubtful)
    assert "<li class=sm-warn>Raise l2 &lt;now&gt;.</li>" in html
    assert "above that of" not in html
    assert "better maximum" not in html


def test_persons_who_differ_inside_a_class():
    X, y, truth = make_linear_classifier_mixture(
        2400, profiles=[[1.5, -1.0, 0.5]], group_size=12, spread=[1.0, 1.0, 0.3], random_state=0
    )
    plain = LinearClassifierMixture(1, random_state=0).fit(X, y, groups=truth.groups)
    assert f"inside the classes (z = {plain.spread_score_:.1f})" in " ".join(Page(card(plain)).said)
    varied = LinearClassifierMixture(1, spread="intercept", random_state=0)
    html = card(varied.fit(X, y, groups=truth.groups))
    assert "Persons of a class differ (intercept)." in html
    assert "inside the classes" not in html


def test_covariates_of_membership(data):
    X, y, groups = data
    Z = pd.DataFrame({"<age>": np.linspace(-1, 1, 300), "income": np.arange(300) % 7})
    mixture = LinearClassifierMixture(2, init=PROFILES / [1, 10, 1, 0.1], subspace=None)
    html = card(mixture.fit(X, y, groups=groups, membership=Z))
    assert "Weights depend on &lt;age&gt;, income; these are averages." in html


def test_directions_have_no_intervals(data):
    X, y, groups = data
    html = card(LinearClassifierMixture(1, response="hard").fit(X, y, groups=groups))
    assert "<i " not in html
    assert "nan" not in html
    assert "direction per standard deviation of a feature." in html


def test_several_labels_are_named():
    X, y, truth = make_multinomial_mixture(600, 3, n_components=2, group_size=6, random_state=0)
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
    text = "|".join(Page(card(mixture)).said)
    assert "effects on each label" in text
    found = re.findall(r"\|(\d): x(\d)\|([+-]\d+\.\d\d)", text)
    assert len(found) == 10
    for place, (label, feature, value) in enumerate(found):
        size = mixture.coef_[place // 5, int(label), int(feature)]
        assert float(value) == pytest.approx(size * mixture.feature_scale_[int(feature)], abs=0.01)


def test_choices():
    X, chosen, truth = make_choice_mixture(60, 3, 2, random_state=0)
    mixture = ChoiceMixture(2, random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    text = " ".join(Page(card(mixture)).said)
    assert "2 classes behind 480 choices of 60 groups" in text
    assert "effects on being chosen" in text
    assert "(intercept)" not in text


def test_it_stands_above_the_diagram_of_scikit_learn(mixture):
    html = mixture._repr_html_()
    assert html.startswith(card(mixture))
    assert "sk-top-container" in html
    bundle = mixture._repr_mimebundle_()
    assert bundle["text/html"].startswith(card(mixture))
    assert bundle["text/plain"] == repr(mixture)
    assert card(LinearClassifierMixture()) == ""
    assert "sm-card" not in LinearClassifierMixture()._repr_html_()
    with sklearn.config_context(display="text"):
        assert not hasattr(mixture, "_repr_html_")
        assert set(mixture._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("thing", [LinearClassifierMixture, ChoiceMixture, SpectralMirror])
def test_links_lead_to_our_reference_or_nowhere(thing, monkeypatch):
    module = "spectralmirror.rows.doc_links.documentation"
    monkeypatch.setattr(module, lambda: "")
    assert thing()._get_doc_link() == ""
    assert f"{thing.__name__}.html" not in thing()._repr_html_()
    monkeypatch.setattr(module, lambda: "https://docs.example")
    link = f"https://docs.example/api.html#spectralmirror.{thing.__name__}"
    assert thing()._get_doc_link() == link
    assert link in thing()._repr_html_()


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        (None, ""),
        (["Source, https://a.example"], ""),
        (["Source, https://a.example", "Documentation, https://b.example/"], "https://b.example"),
    ],
)
def test_the_address_is_that_of_the_package(urls, expected, monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return urls

    monkeypatch.setattr(doc_links, "metadata", lambda name: Metadata())
    assert doc_links.documentation.__wrapped__() == expected
