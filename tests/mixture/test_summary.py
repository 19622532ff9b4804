"""The printed table and the DataFrame."""

from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture, load
from spectralmirror.mixture.summary import Choices, deviation_interval, letters, quantile
from tests.helpers.mixtures import drawn, fitted, sharp

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILES = np.array([[3.0, 0, 0], [0, 3.0, 1.0]])


@pytest.fixture(scope="module")
def mixture():
    X, y, _ = sharp(4000, profiles=PROFILES)
    frame = pd.DataFrame(X, columns=["age", "income", "a rather long name"])
    return fitted(frame, np.where(y > 0, "buys", "not"))


def test_text(mixture):
    text = mixture.summary()
    lines = text.splitlines()
    assert "Mixture of 2 linear classifiers, logistic response" in lines[0]
    assert "'not'" not in text
    assert mixture.status_ in text
    assert sum(line.startswith("Class") for line in lines) == 2
    row = next(line for line in lines if line.startswith("a rather long name")).split()
    expected = mixture.coef_[0, 2], mixture.coef_standard_error_[0, 2]
    np.testing.assert_allclose([float(row[4]), float(row[5])], expected, rtol=1e-3)
    assert max(map(len, lines)) < 120


def test_the_penalty_and_the_evidence_have_a_line(mixture):
    chosen = f"penalty l2 = {mixture.l2_:.3g} (chosen from the data)"
    line = f"{chosen}   log evidence {mixture.log_evidence_:.1f}"
    assert mixture.summary().splitlines()[2] == line
    X, y, _ = drawn(500)
    given = fitted(X, y, k=1, l2=0.25)
    evidence = f"   log evidence {given.log_evidence_:.1f}"
    assert given.summary().splitlines()[2] == f"penalty l2 = 0.25{evidence}"
    assert fitted(X, y, k=1, l2=0).summary().splitlines()[2] == "penalty l2 = 0"


@pytest.mark.parametrize("number", [1, 2])
def test_models_of_older_formats_have_no_evidence(number):
    mixture = load(GOLDEN / f"format-{number}.skops").mixture
    choices = Choices.of(mixture)
    assert (choices.l2, choices.l2_from_data, choices.criterion) == (0.1, False, "bic")
    assert np.isnan([choices.log_evidence, choices.doubt]).all()
    assert choices.evidence_path == {}
    assert mixture.summary().splitlines()[2] == "penalty l2 = 0.1"
    assert (choices.spread, choices.spread_from_data, choices.spread_rival) == (None, False, None)
    assert "pread" not in mixture.summary()


def test_frame(mixture):
    table = mixture.summary(level=0.9, as_frame=True)
    assert table.index.names == ["component", "term"]
    assert len(table) == 2 * 5
    age = table.loc[("A", "age")]
    np.testing.assert_allclose(age["z"], age["estimate"] / age["standard_error"])
    half = 1.6448536269514722 * age["standard_error"]
    np.testing.assert_allclose(age["upper"] - age["estimate"], half)
    weight = table.loc[("B", "(weight)")]
    assert 0 < weight["lower"] < weight["estimate"] < weight["upper"] < 1


@pytest.mark.parametrize("level", [95, 0, "0.9"])
def test_a_level_outside_0_to_1_is_refused(mixture, level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        mixture.summary(level=level)


def test_few_groups_have_long_intervals(mixture):
    assert quantile(mixture, 0.95) == pytest.approx(1.959964)
    X, y, truth = sharp(4000, profiles=PROFILES, group_size=400)
    grouped = fitted(X, y, groups=truth.groups)
    assert quantile(grouped, 0.95) == pytest.approx(2.262157)  # t with 9 degrees of freedom


def test_hard_labels_have_no_standard_errors():
    X, y, _ = sharp(4000, profiles=PROFILES, response="hard")
    mixture = fitted(X, y, response="hard")
    assert np.isnan(mixture.coef_standard_error_).all()
    assert "nan" not in mixture.summary()
    assert "do not determine the norms of the profiles" in mixture.summary()


def test_features_named_like_our_own_terms():
    X, y, _ = drawn()
    mixture = fitted(pd.DataFrame(X, columns=["weight", "intercept", "c", "d"]), y)
    assert mixture.summary().count("Class A") == 1
    assert mixture.summary(as_frame=True).index.is_unique


@pytest.fixture(scope="module")
def varied():
    X, y, truth = sharp(1200, profiles=PROFILES[:1], weights=[1.0], group_size=10, spread=0.7)
    frame = pd.DataFrame(X, columns=["age", "income", "a rather long name"])
    return fitted(frame, y, k=1, groups=truth.groups, spread="diagonal")


def test_standard_deviations_within_a_class_have_lines(varied):
    table = varied.summary(level=0.9, as_frame=True)
    assert table.index.is_unique
    within = table.loc["within"]
    assert list(within.index) == ["(intercept)", "age", "income", "a rather long name"]
    np.testing.assert_allclose(within["estimate"].iloc[1:], varied.spread_deviation_)
    np.testing.assert_allclose(within["standard_error"].iloc[1:], varied.spread_standard_error_)
    assert within["estimate"].iloc[0] == varied.intercept_deviation_
    assert within["z"].isna().all()
    income = within.loc["income"]
    factor = np.exp(quantile(varied, 0.9) * income["standard_error"] / income["estimate"])
    np.testing.assert_allclose(income["lower"], income["estimate"] / factor)
    np.testing.assert_allclose(income["upper"], income["estimate"] * factor)
    assert len(table.loc["A"]) == 5


def test_the_text_has_a_section_on_the_spread(varied):
    text = varied.summary()
    before, within = text.split("\nWithin a class, persons differ")
    assert before.count("\nincome") == within.count("\nincome") == 1
    head = within.splitlines()[1].split()
    assert head == ["std.", "dev.", "std.", "error", "95%", "interval"]
    row = next(line for line in within.splitlines() if line.startswith("income")).split()
    expected = varied.spread_deviation_[1], varied.spread_standard_error_[1]
    np.testing.assert_allclose([float(row[1]), float(row[2])], expected, rtol=1e-3)
    assert "nan" not in text
    assert max(map(len, text.splitlines())) < 120


@pytest.mark.parametrize(
    ("kind", "asked", "evidence", "line"),
    [
        ("full", "auto", {"none": -900.0, "diagonal": -500.0, "full": -387.7},
         "spread: full (chosen from the data)   log evidence 512.3 above no spread"),
        ("full", "full", {"none": -387.7, "full": -400.0},
         "spread: full   log evidence 12.3 below no spread"),
        ("full", "full", {"none": np.nan, "full": np.nan}, "spread: full"),
        ("full", "full", {}, "spread: full"),
        (None, "auto", {"none": -9.0, "intercept": -11.5, "diagonal": -10.0},
         "spread: none (chosen from the data)   log evidence 1.0 above diagonal spread"),
        (None, "auto", {}, None),  # without groups
        (None, None, {}, None),
    ],
)  # fmt: skip
def test_the_spread_is_compared_with_none(varied, kind, asked, evidence, line):
    mixture = copy(varied)
    mixture.spread_kind_, mixture.spread, mixture.spread_evidence_ = kind, asked, evidence
    lines = mixture.summary().splitlines()
    assert [one for one in lines if one.startswith("spread")] == ([] if line is None else [line])
    assert lines[2].startswith("penalty")
    assert any(one.startswith("Within a class") for one in lines) == (kind is not None)


def test_only_what_varies_has_a_line(varied):
    mixture = copy(varied)
    mixture.spread_deviation_ = mixture.spread_standard_error_ = np.zeros(3)
    assert list(mixture.summary(as_frame=True).loc["within"].index) == ["(intercept)"]


@pytest.mark.parametrize(
    ("deviation", "error", "expected"),
    [
        (2.0, 0.0, (2.0, 2.0)),
        (2.0, 0.5, (2 * np.exp(-0.5), 2 * np.exp(0.5))),
        (2.0, 2.0, (2 * np.exp(-2), 2 * np.exp(2))),
        (1e-9, 2.0, (0.0, 4.0)),
        (2.0, np.nan, (np.nan, np.nan)),
    ],
)
def test_intervals_of_standard_deviations_stay_above_0(deviation, error, expected):
    np.testing.assert_allclose(deviation_interval(deviation, error, 2.0), expected, rtol=1e-7)


def test_letters():
    assert letters(3) == ["A", "B", "C"]
    assert letters(27)[-1] == "27"


def test_a_coefficient_that_its_sign_holds_is_shown_as_held():
    X = np.random.default_rng(0).standard_normal((200, 2))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1) * np.where(np.arange(200) % 4, 1, -1)
    mixture = LinearClassifierMixture(1, signs={0: -1, 1: 1}, l2=1.0).fit(X, y)
    lines = {line.split()[0]: line for line in mixture.summary().splitlines() if line.strip()}
    assert lines["x0"].split() == ["x0", "0", "held", "at", "0", "by", "its", "sign"]
    assert "held" not in lines["x1"]
    frame = mixture.summary(as_frame=True).loc[("A", "x0")]
    assert frame["estimate"] == 0
    assert frame["standard_error"] == 0
