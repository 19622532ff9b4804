"""What was fitted, and on what data."""

import re
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from spectralmirror import load
from spectralmirror.report import collect
from spectralmirror.report.summary import _nearly_gaussian, n_rows_fitted
from tests.helpers.report import change, sentence

GOLDEN = Path(__file__).parents[1] / "golden"


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


@pytest.mark.parametrize("number", [1, 2])
def test_rows_of_models_stored_without_their_number_follow_from_bic(number):
    mixture = load(GOLDEN / f"format-{number}.skops").mixture
    assert not hasattr(mixture, "n_rows_")
    assert n_rows_fitted(mixture) == 600
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
    def facts(asked, criterion="evidence"):
        data = change(change(shop.data, "model/asked", asked), "model/criterion", criterion)
        data = change(data, "model/evidence_path", [[1, -1234.56], [2, -9]])
        data = change(data, "model/bic_path", [[1, 9], [2, 1234.56]])
        return sentence(data, "summary", "facts")

    assert "Classifiers2, as requested Response" in facts(2)
    assert "Classifiers2, although 3 were requested Response" in facts(3)
    assert "2, by the largest evidence (log evidence −1,234.6 for 1, −9.0 for 2) Resp" in facts(
        "auto"
    )
    assert "2, by the lowest BIC (9.0 for 1, 1,234.6 for 2) Resp" in facts("auto", "bic")
    assert "2, by the lowest ICL Resp" in facts("auto", "icl")


def test_a_single_classifier_is_explained_by_the_criterion(shop):
    def finding(asked, criterion):
        data = change(change(shop.data, "model/k", 1), "model/asked", asked)
        return sentence(change(data, "model/criterion", criterion), "finding", "finding")

    assert "a second hidden classifier did not raise the evidence." in finding("auto", "evidence")
    assert "a second hidden classifier did not lower BIC." in finding("auto", "bic")
    assert "a second hidden classifier did not lower ICL." in finding("auto", "icl")
    assert "one was requested." in finding(1, "evidence")


def test_the_penalty_is_stated_as_chosen_or_as_given(shop):
    assert shop.data["model"]["l2"] == pytest.approx(shop.mixture.l2_, rel=1e-5)
    data = change(shop.data, "model/l2", 2.3)
    chosen = sentence(data, "summary", "facts")
    assert "Penaltyl2 = 2.3, chosen from the data, on squared effects per" in chosen
    given = change(data, "model/l2_from_data", False)
    assert "Penaltyl2 = 2.3 on squared effects per" in sentence(given, "summary", "facts")
    assert ", each with a penalty chosen from the rows" in sentence(data, "held_out", "method")
    assert "regression with the same penalty." in sentence(given, "held_out", "method")


def test_the_evidence_is_stated_if_it_is_known(shop):
    evidence = f"{shop.mixture.log_evidence_:.1f}".replace("-", "−")
    assert f", log evidence {evidence}, BIC" in sentence(shop.data, "summary", "facts")
    unknown = change(shop.data, "model/log_evidence", None)
    assert re.search(r"log-likelihood \S+, BIC", sentence(unknown, "summary", "facts"))


def test_what_bic_counts_is_stated(shop):
    assert re.search(r"BIC \S+ \(counting groups\), 11", sentence(shop.data, "summary", "facts"))
    n = np.exp((shop.mixture.bic_ + 2 * shop.mixture.log_likelihood_) / 11)
    assert n == pytest.approx(150)
    rows = change(shop.data, "model/bic_counts_groups", False)
    assert re.search(r"BIC \S+, 11", sentence(rows, "summary", "facts"))


def test_settings_are_those_of_the_mixture(shop):
    mixture = copy(shop.mixture)
    mixture.l2, mixture.criterion, mixture.doubt_ = 0.5, "bic", float("nan")
    found = collect(mixture, shop.X, shop.y, groups=shop.groups)["model"]
    assert found["criterion"] == "bic"
    assert found["doubt"] is None
    assert not found["l2_from_data"]
    assert shop.data["model"]["criterion"] == "evidence"
    assert shop.data["model"]["l2_from_data"]
    assert shop.data["model"]["doubt"] == pytest.approx(shop.mixture.doubt_, rel=1e-5)
    path = {k: pytest.approx(v, rel=1e-5) for k, v in shop.mixture.evidence_path_.items()}
    assert dict(shop.data["model"]["evidence_path"]) == path
