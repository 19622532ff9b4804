"""Average changes of the probability are those of predictions."""

import numpy as np
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect, render
from tests.helpers.report import COLUMNS, Page, fitted


def test_changes_are_those_of_predictions(shop):
    mixture, X, data = shop.mixture, shop.X, shop.data
    found = data["average_changes"]
    assert found["names"] == ["A", "B", "overall"]
    entries = {entry["feature"]: entry for entry in found["features"]}
    assert set(entries) == set(COLUMNS)
    red, price, small = entries["colour=red"], entries["price"], 1e-3
    assert (red["level"], red["step"], red["reference"]) == (True, 1, "blue")
    scale = mixture.feature_scale_[COLUMNS.index("price")]
    assert price["step"] == pytest.approx(scale, rel=1e-5)
    for c, weights in enumerate([[1, 0], [0, 1], None]):

        def mean(column, changed, p=weights):
            rows = X.with_columns(changed.alias(column))
            return mixture.predict_proba(rows, p)[:, 1].mean()

        change = mean("colour=red", X["colour=red"] * 0 + 1) - mean(
            "colour=red", X["colour=red"] * 0
        )
        assert red["changes"][c]["value"] == pytest.approx(change, rel=1e-4)
        up, down = (mean("price", X["price"] + step) for step in (small, -small))
        slope = (up - down) / (2 * small) * scale
        assert price["changes"][c]["value"] == pytest.approx(slope, rel=1e-4)
        low, high = price["changes"][c]["interval"]
        assert low < slope < high


def test_levels_of_a_category_are_compared_with_the_reference_alone():
    """The third column is another level of the same category: rows have one level at most."""
    rng = np.random.default_rng(0)
    _, X, y = fitted(1, 900, 3)
    level = rng.integers(0, 3, len(X))
    X[:, 1], X[:, 2] = level == 1, level == 2
    mixture = LinearClassifierMixture(1).fit(X, y)
    mixture.feature_names_in_ = np.array(["age", "colour=red", "colour=blue"], dtype=object)
    about = {"references": {"colour=red": "green", "colour=blue": "green"}}
    data = collect(mixture, pd.DataFrame(X, columns=mixture.feature_names_in_), y, about=about)
    entry = next(
        one for one in data["average_changes"]["features"] if one["feature"] == "colour=red"
    )
    base = X.copy()
    base[:, 1:] = 0
    red = base.copy()
    red[:, 1] = 1
    del mixture.feature_names_in_
    p = [mixture.predict_proba(rows)[:, 1].mean() for rows in (red, base)]
    assert entry["changes"][0]["value"] == pytest.approx(p[0] - p[1], rel=1e-4)


def test_the_page_has_a_table_in_percentage_points(shop):
    data = shop.data
    text = Page(render(data)).text
    for entry in data["average_changes"]["features"]:
        for change in entry["changes"]:
            points = f"{100 * change['value']:+.1f}".replace("-", "−")
            low, high = (f"{100 * end:.1f}".replace("-", "−") for end in change["interval"])
            assert f"{points} ({low} to {high})" in text
    assert "against ‘blue’" in text
    hard = collect(*fitted(1, response="hard"))
    assert all(
        change["interval"] is None
        for entry in hard["average_changes"]["features"]
        for change in entry["changes"]
    )
    render(hard)
