"""Examples are rows that one classifier alone labels so."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from spectralmirror.report import collect
from spectralmirror.report.examples import only_one_says_so
from spectralmirror.report.text.formatting import value_text
from tests.helpers.report import fitted


@pytest.mark.parametrize("k", [2, 3])
def test_examples_are_labelled_so_by_one_classifier_alone(k):
    mixture, X, y = fitted(k)
    data = collect(mixture, X, y)
    says = expit(X @ mixture.coef_.T + mixture.intercept_)
    n_shown = 0
    for c in range(k):
        rows = data["classifiers"][c]["examples"]["rows"]
        n_shown += len(rows)
        others = np.delete(np.arange(k), c)
        alone = [i for i in range(len(y)) if ((says[i, c] > 0.5) != (says[i, others] > 0.5)).all()]
        if k == 2:  # both disagree about the same rows: each has its positive ones
            alone = [i for i in alone if says[i, c] > 0.5]
        certainty = np.maximum(says, 1 - says).min(axis=1)
        best = sorted(alone, key=lambda i: -certainty[i])[:3]
        assert [row["row"] for row in rows] == best
        for row in rows:
            assert row["label"] == str(y[row["row"]])
            np.testing.assert_allclose(row["own"], says[row["row"], c], rtol=1e-5)
            np.testing.assert_allclose(row["others"], says[row["row"], others], rtol=1e-5)
    assert n_shown > k


def test_examples_show_raw_columns_and_no_row_twice(shop):
    X, data = shop.X, shop.data
    for c in data["classifiers"]:
        shown = c["examples"]
        assert set(shown["columns"]) == {"price", "age", "weight", "colour"}
        assert len({tuple(row["values"]) for row in shown["rows"]}) == len(shown["rows"]) == 3
        for row in shown["rows"]:
            values = dict(zip(shown["columns"], row["values"], strict=True))
            assert values["price"] == value_text(X["price"][row["row"]])
            assert values["colour"] == ("red" if X["colour=red"][row["row"]] else "blue")


def test_only_one_says_so_is_ordered_by_the_least_certain():
    says = np.array([[0.9, 0.2, 0.1], [0.6, 0.1, 0.1], [0.9, 0.8, 0.1], [0.2, 0.9, 0.95]])
    assert only_one_says_so(says, 0).tolist() == [0, 3, 1]
    assert only_one_says_so(says, 2).tolist() == [2]


def test_truth_values_in_examples_are_called_as_levels_are(shop):
    mixture, X, y, groups, _ = shop
    red = pl.DataFrame({"colour": X["colour=red"] > 0.5})
    data = collect(mixture, X, y, groups=groups, table=red)
    for c in data["classifiers"]:
        column = c["examples"]["columns"].index("colour")
        values = {row["values"][column] for row in c["examples"]["rows"]}
        assert values <= {"true", "false"}
        assert values
