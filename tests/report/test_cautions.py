"""Each caution appears exactly when it applies, and is phrased on the page."""

import json
import re
import warnings

import numpy as np
import pytest
from scipy.special import expit

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect, render
from spectralmirror.report.cautions import cautions
from tests.helpers.report import change, check_page, sentence


def kinds(data):
    return [caution["kind"] for caution in cautions(data)]


@pytest.fixture(scope="module")
def calm(shop):
    """Return data without anything to warn about."""
    data = change(shop.data, "features/gaussian", [True] * 4)
    assert kinds(data) == []
    return data


def test_another_number_of_classifiers_that_is_almost_as_good_is_reported(calm):
    bic, calm = calm["model"]["bic"], change(calm, "model/asked", "auto")
    for more, expected in ((6.0, ["close_k"]), (11.0, [])):
        path = [[1, bic + 500], [2, bic], [3, bic + more]]
        assert kinds(change(calm, "model/bic_path", path)) == expected


@pytest.mark.parametrize(
    ("kind", "path", "bad", "good", "words"),
    [
        ("few_rows", "model/n_parameters", 91, 90, "900 rows for 91 parameters, 9.9 each. Below"),
        ("rare_label", "labels/share_positive", 0.061, 0.062, "only 6 % of the rows, 5.0 per par"),
        ("few_groups", "rows/n_groups", 49, 50, "only 49 groups. Below 50"),
        ("not_converged", "model/converged", False, True, "did not converge"),
        ("no_errors", "model/has_errors", False, True, "reported: ‘Converged."),
        ("no_errors", "model/log_likelihood", -0.01, -1.0, "no intervals to rely on"),
        ("starts_disagree", "model/n_agreed", 2, 3, "Only 2 of 10 starts"),
        ("dropped", "model/asked", 3, "auto", "3 classifiers were requested, but 1 of them"),
        ("tiny_weight", "classifiers/1/weight", 0.049, 0.05, "attributed to B (5 %). Such"),
        ("guessing", "assignments/groups/mean", 0.62, 0.75, "right one for 62 % of the groups"),
        ("non_gaussian", "features/gaussian", [False, True, True, True], [True, True, True, False],
         "1 of 4 features takes few values, is skewed or has heavy tails: ‘price’. The"),
        ("disguised", "held_out/fresh/mixture/auc", 0.9999, 0.99, "almost without error"),
    ],
)  # fmt: skip
def test_each_caution_appears_exactly_when_it_applies(calm, kind, path, bad, good, words):
    calm = change(calm, "model/n_starts", 10)
    assert kinds(change(calm, path, good)) == []
    (caution,) = cautions(change(calm, path, bad))
    assert caution["kind"] == kind
    assert json.loads(json.dumps(caution, allow_nan=False)) == caution
    text = sentence(calm, "cautions", kind, caution).replace("\u00a0", " ")
    assert words in text
    assert re.fullmatch(r"[A-Z].+[.’] What to do: [A-Z].+\.", text)


def test_several_classifiers_and_features_are_listed(calm):
    weights = [{"name": name, "weight": 0.02} for name in "BCD"]
    text = sentence(calm, "cautions", "tiny_weight", {"kind": "", "classifiers": weights})
    assert "to B (2\u00a0%), C (2\u00a0%) and D (2\u00a0%). Such" in text
    odd = {"kind": "", "names": list("abcdefg"), "n_features": 9}
    text = sentence(calm, "cautions", "non_gaussian", odd)
    assert "7 of 9\u00a0features take few values, are skewed or have heavy tails: ‘a’, ‘b’" in text
    assert "‘e’ and 2 more. The" in text


def test_no_better_needs_both_comparisons_to_fail(calm):
    new = change(calm, "held_out/fresh/verdict", "unclear")
    assert kinds(new) == []
    assert kinds(change(new, "held_out/history/verdict", "unclear")) == ["no_better"]
    alone = change(change(calm, "held_out/history", None), "held_out/fresh/verdict", "worse")
    assert kinds(alone) == ["no_better"]
    assert "predicts better" in sentence(alone, "cautions", "no_better", *cautions(alone))
    assert kinds(change(change(alone, "model/k", 1), "model/asked", 1)) == []


def test_hard_labels_need_no_errors(calm):
    hard = change(change(calm, "model/has_errors", False), "model/response", "hard")
    assert kinds(hard) == []


def test_one_start_does_not_count_as_agreement(calm):
    one = change(change(calm, "model/n_starts", 1), "model/n_agreed", 1)
    assert kinds(one) == ["starts_disagree"]
    both = change(change(calm, "model/n_starts", 2), "model/n_agreed", 2)
    assert kinds(both) == []


def test_cautions_of_a_real_fit():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.exponential(size=80), rng.normal(size=80), rng.integers(0, 3, 80)])
    y = rng.uniform(size=80) < expit(X[:, 0] - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(2, max_iter=1, n_init=1, random_state=0).fit(X, y)
    data = collect(mixture, X, y)
    assert {"few_rows", "not_converged", "no_errors", "non_gaussian"} <= set(kinds(data))
    assert data["features"]["gaussian"] == [False, True, False]
    page = render(data)
    check_page(page)
    assert [c["kind"] for c in data["cautions"]] == re.findall(r'data-kind="(\w+)"', page)
    assert page.count("What to do:") == len(data["cautions"])
