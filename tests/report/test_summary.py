"""What was fitted, and on what data."""

from copy import copy

import numpy as np
import pytest

from spectralmirror.report import collect
from spectralmirror.report.summary import _nearly_gaussian, n_rows_fitted
from tests.helpers.report import change, sentence


def test_rows_are_counted_if_only_a_sample_is_looked_at(shop):
    mixture, X, y, groups, data = shop
    assert data["rows"]["fitted"] == data["rows"]["looked_at"] == 900
    some = collect(mixture, X[:600], y[:600], groups=groups[:600])
    assert some["rows"]["fitted"] == 900
    assert some["rows"]["looked_at"] == 600
    facts = sentence(some, "summary", "facts")
    assert "Rows900\u00a0rows fitted; this page looked at 600 of them Groups" in facts
    stated = collect(mixture, X[:600], y[:600], groups=groups[:600], about={"n_rows": 123_456})
    assert stated["rows"]["fitted"] == 123_456


def test_rows_of_models_stored_without_their_number_follow_from_bic(shop):
    mixture = copy(shop.mixture)
    mixture.__dict__.pop("n_rows_", None)
    assert n_rows_fitted(mixture) == 900
    mixture.n_rows_ = 123
    assert n_rows_fitted(mixture) == 123


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_shapes_of_features_do_not_depend_on_their_unit(scale):
    rng = np.random.default_rng(0)
    columns = {
        "normal": (rng.normal(size=2000), True),
        "uniform": (rng.uniform(size=2000), True),
        "exponential": (rng.exponential(size=2000), False),
        "heavy tails": (rng.standard_t(2, size=2000), False),
        "few values": (rng.integers(0, 10, 2000).astype(float), False),
        "constant": (np.ones(2000), False),
    }
    for name, (column, expected) in columns.items():
        assert _nearly_gaussian(column * scale) == expected, name


def test_number_of_classifiers_is_explained(shop):
    def facts(asked, path=()):
        data = change(change(shop.data, "model/asked", asked), "model/bic_path", list(path))
        return sentence(data, "summary", "facts")

    assert "Classifiers2, as requested Response" in facts(2)
    assert "Classifiers2, although 3 were requested Response" in facts(3)
    assert "2, by the lowest BIC (9.0 for 1, 1,234.6 for 2) Resp" in facts(
        "auto", [[1, 9], [2, 1234.56]]
    )
