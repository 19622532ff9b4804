"""Each caution appears exactly when it applies, and is phrased on the page."""

import json
import re
import warnings

import numpy as np
import pytest
from scipy.special import expit

from spectralmirror import LinearClassifierMixture
from spectralmirror.mixture.spread_score import CLEARLY_DIFFERENT
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


@pytest.mark.parametrize(
    ("criterion", "third", "words"),
    [
        ("evidence", -902.4, "almost as good The log evidence of 3 is only 2.4 lower, which means"),
        ("evidence", -898.0, "is as good The log evidence of 3 is only 2 higher, which means"),
        ("evidence", -903.1, None),
        ("bic", -894.0, "almost as good The BIC of 3 is only 6 higher, which means little."),
        ("bic", -889.0, None),
        ("icl", -900.0, None),
    ],
)
def test_another_number_that_is_as_good_is_reported_by_the_criterion_in_use(
    calm, criterion, third, words
):
    data = change(calm, "model/criterion", criterion)
    path = "bic_path" if criterion == "icl" else f"{criterion}_path"
    worse = -400 if criterion == "bic" else -1400
    data = change(data, f"model/{path}", [[1, worse], [2, -900], [3, third]])
    assert kinds(data) == ([] if words is None else ["close_k"])
    if words is not None:
        (caution,) = cautions(data)
        text = sentence(data, "cautions", "close_k", caution)
        assert words in text
        assert text.endswith("Also fit 3, and compare what they say and how well they predict.")


@pytest.mark.parametrize(
    ("fewer", "title", "advice"),
    [
        ({1: -890}, "One classifier explains these labels as well", "Fit 1 classifier, or let"),
        ({1: -895, 2: -890}, "2 classifiers explain these labels as well", "Fit 2 classifiers, or"),
    ],
)
def test_fewer_classifiers_with_more_evidence_are_reported_first(calm, fewer, title, advice):
    data = change(change(calm, "model/k", 3), "model/asked", 3)
    data = change(data, "model/n_parameters", 900)  # another caution
    path = [*map(list, fewer.items()), [3, -896.5]]
    data = change(data, "model/evidence_path", path)
    assert kinds(data) == ["fewer_explain", "few_rows"]
    first = cautions(data)[0]
    text = sentence(data, "cautions", "fewer_explain", first)
    assert text.startswith(title)
    assert "is −890.0, that of 3 is −896.5: these labels give no reason to believe in" in text
    assert f"What to do: {advice}" in text
    found = sentence({**data, "cautions": [first]}, "finding", "finding")
    assert f"but {'one explains' if len(fewer) == 1 else '2 explain'} them as well. Class" in found
    path[-1][1] = -892.9
    assert "fewer_explain" not in kinds(change(data, "model/evidence_path", path))


@pytest.mark.parametrize("kind", ["few_rows", "rare_label", "no_errors", "not_converged"])
def test_only_a_penalty_that_was_given_is_to_be_raised(calm, kind):
    names = ("n_rows", "n_parameters", "per_parameter", "enough", "share")
    caution = {"kind": kind, **dict.fromkeys(names, 1), "status": "Odd."}
    assert "l2" not in sentence(calm, "cautions", kind, caution)
    given = change(calm, "model/l2_from_data", False)
    assert re.search(r", or (raise )?l2\.$", sentence(given, "cautions", kind, caution))


def test_the_probability_of_a_better_maximum_is_stated_if_it_is_large(calm):
    assert kinds(change(calm, "model/doubt", 0.2)) == []
    data = change(calm, "model/doubt", 0.36)
    (caution,) = cautions(data)
    text = sentence(data, "cautions", "better_maximum", caution)
    assert "with a probability of about 36\u00a0%, judged by" in text
    assert "What to do: Raise n_init, " in text
    # agreement is what the probability is judged by: it is no caution of its own
    assert kinds(change(calm, "model/n_agreed", 1)) == []


@pytest.mark.parametrize(
    ("kind", "path", "bad", "good", "words"),
    [
        ("few_rows", "model/n_parameters", 91, 90, "900 rows for 91 parameters, 9.9 each. Below"),
        ("rare_label", "labels/share_positive", 0.061, 0.062, "only 6 % of the rows, 5.0 per par"),
        ("few_groups", "rows/n_groups", 49, 50, "only 49 groups. Below 50"),
        ("not_converged", "model/converged", False, True, "did not converge"),
        ("no_errors", "model/has_errors", False, True, "reported: ‘Converged."),
        ("no_errors", "model/log_likelihood", -0.01, -1.0, "no intervals to rely on"),
        ("better_maximum", "model/doubt", 0.21, 0.2, "probability of about 21 %"),
        ("dropped", "model/asked", 3, "auto", "3 classifiers were requested, but 1 of them"),
        ("tiny_weight", "classifiers/1/weight", 0.049, 0.05, "attributed to B (5 %). Such"),
        ("guessing", "assignments/groups/mean", 0.62, 0.75, "right one for 62 % of the groups"),
        ("non_gaussian", "features/gaussian", [False, True, True, True], [True, True, True, False],
         "1 of 4 features takes few values, is skewed or has heavy tails: ‘price’. The"),
        ("disguised", "held_out/fresh/mixture/auc", 0.9999, 0.99, "almost without error"),
        ("members_differ", "spread/score", 12.34, CLEARLY_DIFFERENT,
         "Persons differ inside these classes (z = 12.3), but the fit takes"),
    ],
)  # fmt: skip
def test_each_caution_appears_exactly_when_it_applies(calm, kind, path, bad, good, words):
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


def test_differences_inside_classes_are_reported_where_a_spread_may_be_fitted(calm):
    data = change(calm, "spread/score", 12.34)
    (caution,) = cautions(data)
    text = sentence(data, "cautions", "members_differ", caution)
    assert text.endswith("What to do: Fit with spread='auto'.")
    one = sentence(change(data, "model/k", 1), "cautions", "members_differ", caution)
    assert "Persons differ inside this one class (z = 12.3), but" in one
    assert kinds(change(data, "spread/from_data", True)) == []  # the evidence chose none
    assert kinds(change(data, "spread/score", None)) == []
    assert kinds(change(data, "model/response", "hard")) == []
    assert kinds(change(data, "model/refined", False)) == []


def test_a_spread_that_the_evidence_does_not_support_is_reported(varied):
    assert kinds(varied.data) == []
    assert kinds(change(varied.data, "spread/gain", -2.9)) == []
    data = change(varied.data, "spread/gain", -3.4)
    (caution,) = cautions(data)
    text = sentence(data, "cautions", "no_spread_explains", caution)
    assert text.startswith("Members of a class need not differ The log evidence is 3.4 higher if")


def test_one_class_that_predicts_no_better_gives_no_reason_to_believe_in_differences(varied_class):
    assert kinds(varied_class.data) == []
    data = change(varied_class.data, "held_out/history/verdict", "unclear")
    (caution,) = cautions(data)
    text = sentence(data, "cautions", "no_better", caution)
    assert "On held-out rows the class does not clearly beat a single logistic regression" in text
    assert "little reason to believe that its members differ." in text


def test_hard_labels_need_no_errors(calm):
    hard = change(change(calm, "model/has_errors", False), "model/response", "hard")
    assert kinds(hard) == []


@pytest.mark.parametrize(
    ("n_agreed", "n_starts", "expected"),
    [(1, 1, ["starts_disagree"]), (2, 2, []), (2, 10, ["starts_disagree"]), (3, 10, [])],
)
def test_starts_are_counted_if_no_probability_is_known(calm, n_agreed, n_starts, expected):
    data = change(change(calm, "model/n_starts", n_starts), "model/n_agreed", n_agreed)
    assert kinds(data) == []
    data = change(data, "model/doubt", None)  # stored by an older version, or the start was given
    assert kinds(data) == expected
    for caution in cautions(data):
        text = sentence(data, "cautions", caution["kind"], caution).replace("\u00a0", " ")
        assert f"Only {n_agreed} of {n_starts} start" in text


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
