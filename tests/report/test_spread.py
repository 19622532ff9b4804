"""What members of a class agree and differ about is what the fit says, in words that fit."""

import json
import re
from copy import copy

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect, collector, held_out, render
from spectralmirror.report.held_out import MAX_ROWS_WITH_SPREAD, sample
from spectralmirror.report.inputs import check_inputs
from spectralmirror.report.spread import members
from tests.helpers.report import Page, change, check_page, sentence


def said(data, template, macro, *arguments):
    return sentence(data, template, macro, *arguments).replace("\u00a0", " ")


def inputs_of(report, **attributes):
    """Return the inputs of a report on a mixture with other attributes."""
    mixture = copy(report.mixture)
    for name, value in attributes.items():
        setattr(mixture, name, value)
    return check_inputs(mixture, report.X, report.y, report.groups, None, None, 0)


def test_the_data_hold_the_spread(varied):
    mixture, found = varied.mixture, varied.data["spread"]
    assert (found["kind"], found["from_data"], found["rival"]) == ("diagonal", False, "none")
    evidence = mixture.spread_evidence_
    assert found["gain"] == pytest.approx(evidence["diagonal"] - evidence["none"], rel=1e-5)
    assert dict(found["evidence"]) == pytest.approx(evidence, rel=1e-5)
    np.testing.assert_allclose(found["deviations"], mixture.spread_deviation_, rtol=1e-5)
    np.testing.assert_allclose(found["errors"], mixture.spread_standard_error_, rtol=1e-5)
    assert found["intercept_deviation"] == pytest.approx(mixture.intercept_deviation_, rel=1e-5)
    assert found["score"] is None
    assert json.loads(json.dumps(varied.data, allow_nan=False)) == varied.data


def test_mixtures_without_spread_have_none(shop):
    assert shop.data["spread"]["kind"] is shop.data["ranges"] is None
    assert shop.data["spread"]["score"] == pytest.approx(shop.mixture.spread_score_, rel=1e-5)
    assert [c["members"] for c in shop.data["classifiers"]] == [None, None]
    text = Page(render(shop.data)).text
    assert "members" not in text
    assert "Spread" not in text


def test_shares_of_opposite_signs_are_those_of_many_simulated_members(varied):
    rng = np.random.default_rng(0)
    mixture = varied.mixture
    for c, classifier in enumerate(varied.data["classifiers"]):
        (brand,) = classifier["members"]["differ"]
        assert brand["feature"] == "brand"
        own = mixture.coef_[c] + rng.standard_normal((100_000, 3)) * mixture.spread_deviation_
        opposite = np.mean(np.sign(own[:, 1]) != np.sign(mixture.coef_[c, 1]))
        assert brand["opposite"] == pytest.approx(opposite, abs=0.005)  # 3 standard errors
        assert [entry["feature"] for entry in classifier["members"]["agree"]] == ["price"]


@pytest.mark.parametrize(
    ("effect", "error", "deviation", "deviation_error", "expected"),
    [
        (3.0, 0.1, 0.9, 0.1, "agree"),
        (-3.0, 0.1, 0.9, 0.1, "agree"),
        (3.0, 0.1, 1.1, 0.1, None),
        (3.0, 0.1, 0.9, 0.6, None),  # up to 3.3 at the end of the interval
        (3.0, 2.0, 0.9, 0.1, None),  # the effect may be 0
        (-0.9, 0.1, 1.0, 0.1, "differ"),
        (1.1, 0.1, 1.0, 0.1, None),
        (0.9, 0.1, 1.0, 0.6, None),  # the deviation may be 0
        (0.3, 0.1, 0.4, 0.1, None),  # small besides the largest deviation, which is 2
        (0.9, np.nan, 1.0, np.nan, "differ"),
        (3.0, np.nan, 0.9, np.nan, "agree"),
    ],
)
def test_members_agree_and_differ_only_where_that_is_clear(
    varied, effect, error, deviation, deviation_error, expected
):
    scale = varied.mixture.feature_scale_
    inputs = inputs_of(
        varied,
        coef_=np.array([[3.0, 3.0, effect]] * 2) / scale,
        coef_standard_error_=np.array([[0.1, 0.1, error]] * 2) / scale,
        spread_deviation_=np.array([2.0, 2.0, deviation]) / scale,
        spread_standard_error_=np.array([0.1, 0.1, deviation_error]) / scale,
    )
    found = members(inputs, 0)
    for verdict in ("agree", "differ"):
        named = [entry["feature"] for entry in found[verdict]]
        assert named == (["size"] if verdict == expected else [])


def test_the_range_at_the_mean_holds_90_percent_of_the_members(varied):
    mixture = varied.mixture
    low, high = varied.data["classifiers"][1]["members"]["at_mean"]
    middle = mixture.intercept_[1] + mixture.coef_[1] @ mixture.feature_mean_
    reach = norm.ppf(0.95) * mixture.intercept_deviation_
    assert [low, high] == pytest.approx(expit([middle - reach, middle + reach]), rel=1e-5)
    unclear = inputs_of(varied, intercept_deviation_standard_error_=1.0)
    assert members(unclear, 1)["at_mean"] is None


def test_cards_say_what_members_agree_and_differ_about(varied):
    first = varied.data["classifiers"][0]
    share = 100 * first["members"]["differ"][0]["opposite"]
    low, high = (100 * end for end in first["members"]["at_mean"])
    assert said(varied.data, "spread", "members", first) == (
        "They agree about ‘price’ and differ about ‘brand’. "
        f"For {share:.0f} % of them the effect of ‘brand’ has the opposite sign. "
        f"At the mean of all features, ‘1’ has a probability of {low:.0f} to {high:.0f} % for 90 % "
        "of them."
    )
    brand = {**first["members"]["differ"][0], "clear_effect": False, "opposite": 0.31}
    for effect, positive in ((0.2, 69), (-0.2, 31)):
        assert said(varied.data, "spread", "opposite", {**brand, "effect": effect}) == (
            f"‘brand’ speaks for ‘1’ with {positive} % of them, and against it with the others"
        )


@pytest.mark.parametrize(
    ("agree", "differ", "expected"),
    [
        ("ab", "", "They agree about ‘a’ and ‘b’. No feature clearly works one way for many"),
        ("", "abc", "They differ about ‘a’, ‘b’ and ‘c’. For 30 % of them the effect of ‘a’ has"),
        ("", "", "No feature clearly works one way for many of them and the other way for others."),
    ],
)
def test_cards_of_members_who_only_agree_or_differ(varied, agree, differ, expected):
    template = varied.data["classifiers"][0]["members"]["differ"][0]
    entry = {**template, "clear_effect": True, "opposite": 0.3}
    found = {
        "agree": [{**entry, "feature": name} for name in agree],
        "differ": [{**entry, "feature": name} for name in differ],
        "at_mean": None,
    }
    text = said(varied.data, "spread", "members", {"members": found})
    assert text.startswith(expected)
    assert text.endswith(".")


def test_a_spread_of_intercepts_names_no_features(varied):
    inputs = inputs_of(
        varied,
        spread_kind_="intercept",
        spread_deviation_=np.zeros(3),
        spread_standard_error_=np.zeros(3),
    )
    found = members(inputs, 0)
    assert found["agree"] == found["differ"] == []
    data = change(varied.data, "spread/kind", "intercept")
    text = said(data, "spread", "members", {"members": found})
    assert text.startswith(
        "By assumption, they differ only in how readily they say ‘1’. At the mean of all features,"
    )


def test_the_finding_says_how_members_differ(varied, varied_class):
    share = f"{100 * varied.data['classifiers'][0]['members']['differ'][0]['opposite']:.0f}"
    assert said(varied.data, "finding", "finding").endswith(
        f"Those of A agree about ‘price’ and differ about ‘brand’: for {share} % of them the "
        "effect of ‘brand’ has the opposite sign."
    )
    text = said(varied_class.data, "finding", "finding")
    assert text.startswith(
        "The labels are described by one class, whose members differ: one was requested. Its "
        "members agree about ‘price’ and differ about ‘brand’: "
    )
    assert "the class predicts" in said(varied_class.data, "finding", "support")
    auto = change(varied_class.data, "model/asked", "auto")
    expected = "whose members differ: a second class did not raise the evidence."
    assert expected in said(auto, "finding", "finding")


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (3.5, "differ, too: the log evidence is 3.5 above that of classes whose"),
        (
            2.5,
            "in this model, but the evidence hardly speaks for it: the log evidence is 2.5 above",
        ),
        (-2.5, "but the evidence does not speak for it: the log evidence is 2.5 below that of"),
        (-3.5, "but the evidence speaks against it: the log evidence is 3.5 below that of members"),
        (None, "Members of the same class may differ in this model."),
    ],
)
def test_the_evidence_is_weighed(varied, gain, words):
    data = change(varied.data, "spread/gain", gain)
    assert words in said(data, "spread", "evidence")


@pytest.mark.parametrize("kind", ["intercept", "diagonal", "factor", "full", None])
@pytest.mark.parametrize("from_data", [True, False])
def test_every_kind_of_spread_is_stated(varied, kind, from_data):
    data = change(change(varied.data, "spread/kind", kind), "spread/from_data", from_data)
    data = change(data, "spread/evidence", [["none", -1234.56], [kind or "full", -9], ["x", None]])
    facts = said(data, "summary", "facts")
    assert re.search(rf"Spread{kind or 'none'}: members of a class (differ in|are alike)", facts)
    how = "chosen from the data" if from_data else "as requested"
    assert f", {how} (log evidence −1,234.6 for none, −9.0 for {kind or 'full'}) Resp" in facts


def test_pages_show_the_spread(varied, varied_class):
    for report, name in ((varied, "mixture"), (varied_class, "this class")):
        page = render(report.data)
        check_page(page)
        text = Page(page).text.replace("\u00a0", " ")
        for words in ("90 % of its members", "Bands hold 90 % of the members", "SD of members"):
            assert words in text
        assert text.count("How far its members agree") == len(report.data["classifiers"])
        # the features of the figure keep their names
        assert set(report.data["ranges"]["features"]) == {"price", "brand", "size", "(intercept)"}
        assert "Against a single classifier, on held-out rows" in text
        assert f"{name}0." in text  # a line of the table
        assert "reveal its class, and how the" in text or "reveal how the group differs" in text
    assert "All groups belong to the same class." in text
    assert "The class behind the labels" in text


def test_bands_without_standard_errors_have_a_page(varied):
    data = change(varied.data, "ranges/halves", None)
    data = change(data, "model/has_errors", False)
    data = change(data, "spread/errors", [None] * 3)
    data = change(data, "spread/intercept_error", None)
    text = Page(render(data)).text.replace("\u00a0", " ")
    assert "over the members of a class. Bands hold" in text
    assert "interval of that" not in text


def test_refits_keep_the_spread_and_the_number(varied, monkeypatch):
    mixture = copy(varied.mixture)
    mixture.spread = mixture.n_components = "auto"
    asked = []

    class Refused(LinearClassifierMixture):
        def fit(self, X, y=None, **_):
            asked.append((self.n_components, self.spread))
            raise ValueError("not here")

    mixture.__class__ = Refused
    inputs = check_inputs(mixture, varied.X, varied.y, varied.groups, None, None, 0)
    assert held_out.held_out(inputs) == {"reason": "not here"}
    assert asked == [(2, "diagonal")] * 5
    assert held_out._single_classifier(mixture).spread is None


def test_a_history_says_how_a_member_differs(varied_class):
    """One class: without the spread, the labels of a group would say nothing about its others."""
    found = varied_class.data["held_out"]
    assert found["failures"] == []
    assert found["history"]["n_rows"] == 125 * 6
    assert found["history"]["verdict"] == "better"
    assert found["history"]["gain"] > found["fresh"]["gain"] + 0.01


def test_histories_without_spread_give_the_weights_of_classes(shop):
    X, known, later = shop.X.to_numpy(), np.arange(0, 900, 2), np.arange(1, 900, 2)
    y, groups = shop.y, shop.groups
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)
    weights = np.empty((150, 2))
    weights[groups[known]] = mixture.component_proba(X[known], y[known], groups[known])
    expected = mixture.predict_proba(X[later], weights[groups[later]])
    history = X[known], y[known], groups[known]
    found = mixture.predict_proba(X[later], groups=groups[later], history=history)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_samples_are_smaller_with_a_spread():
    groups = np.repeat(np.arange(3000), 10)
    chosen = sample(groups, np.random.default_rng(0), with_spread=True)
    assert len(chosen) == MAX_ROWS_WITH_SPREAD
    assert (np.bincount(groups[chosen])[np.unique(groups[chosen])] == 10).all()


def test_assignments_look_at_a_sample_of_the_groups(varied, monkeypatch):
    monkeypatch.setattr(held_out, "MAX_ROWS_WITH_SPREAD", 240)
    monkeypatch.setattr(collector, "held_out", lambda _: varied.data["held_out"])
    data = collect(varied.mixture, varied.X, varied.y, groups=varied.groups)
    assert np.sum(data["assignments"]["groups"]["counts"]) == 20
    assert np.sum(varied.data["assignments"]["groups"]["counts"]) == 200
