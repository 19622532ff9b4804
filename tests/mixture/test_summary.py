"""The printed table and the DataFrame."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spectralmirror import load
from spectralmirror.mixture.summary import Choices, letters, quantile
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
    assert sum(line.startswith("Component") for line in lines) == 2
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


def test_frame(mixture):
    table = mixture.summary(level=0.9, as_frame=True)
    assert table.index.names == ["component", "term"]
    assert len(table) == 2 * 5
    age = table.loc[(0, "age")]
    np.testing.assert_allclose(age["z"], age["estimate"] / age["standard_error"])
    half = 1.6448536269514722 * age["standard_error"]
    np.testing.assert_allclose(age["upper"] - age["estimate"], half)
    weight = table.loc[(1, "(weight)")]
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
    assert mixture.summary().count("Component 0") == 1
    assert mixture.summary(as_frame=True).index.is_unique


def test_letters():
    assert letters(3) == ["A", "B", "C"]
    assert letters(27)[-1] == "27"
