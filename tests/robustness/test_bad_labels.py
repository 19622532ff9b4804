"""Labels, groups and weights that cannot be fitted: one table for each."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    MixtureWarning,
    PrincipalHessianDirections,
    SpectralMirror,
)
from tests.helpers.refusals import assert_refused

N = 60
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(N) > 0, 1, -1)
BINARY, TEXT = (Y > 0).astype(int), np.where(Y > 0, "yes", "no")
#: The row where something is missing.
GAP = np.arange(N) == 7

ESTIMATORS = {
    "mirror": SpectralMirror(2),
    "paper": SpectralMirror(2, method="paper"),
    "hessian": PrincipalHessianDirections(),
    "mixture": LinearClassifierMixture(2),
}


def assert_not_fitted(sentence, *names, **fit):
    for name in names or ESTIMATORS:
        estimator = clone(ESTIMATORS[name])
        assert_refused(
            lambda estimator=estimator: estimator.fit(**{"X": X, "y": Y, **fit}), sentence
        )
        assert not hasattr(estimator, "coef_")
        assert not hasattr(estimator, "components_")


MISSING = r"Input y contains NaN \(a missing label\) in row 7: drop such rows"
LABELS = {
    "none": (None, r"requires y to be passed.*call fit\(X, y\)"),
    "one class": (np.ones(N), "y has only one class, 1.0: pass labels of two classes"),
    "continuous": (X[:, 0], "y is continuous.*compare it with a threshold"),
    "values that cannot be compared": (
        np.array(["a", 1] * 30, dtype=object),
        "y mixes values that cannot be compared",
    ),
    "two columns": (np.column_stack([Y, Y]), "y should be a 1d array"),
    "too few": (Y[:-1], "X has 60 rows but y has 59 labels: pass exactly one label"),
    "tuples": (pd.Series([("a", int(b)) for b in BINARY]), r"y holds \('a', 0\): use single"),
    "a number": (1, r"y must hold one label for each row of X \(be a 1d array\), got 1\."),
    "a word": ("yes", "y must hold one label for each row.*got 'yes'"),
    "a set": ({0, 1}, "y must hold one label for each row"),
    "a generator": ((b for b in BINARY), "y must hold one label for each row"),
    "lists of different lengths": ([[1], *[[0, 1]] * (N - 1)], "y must hold one label"),
    "NaN": (np.where(GAP, np.nan, BINARY), MISSING),
    "NaN among text": (np.where(GAP, np.nan, TEXT.astype(object)), MISSING),
    "None": (np.where(GAP, None, TEXT), MISSING),
    "None in a list": (np.where(GAP, None, TEXT).tolist(), MISSING),
    "NA in Int64": (pd.Series(BINARY, dtype="Int64").mask(GAP), MISSING),
    "NA in boolean": (pd.Series(Y > 0, dtype="boolean").mask(GAP), MISSING),
    "NA in string": (pd.Series(TEXT, dtype="string").mask(GAP), MISSING),
    "NA in categories": (pd.Series(TEXT).mask(GAP).astype("category"), MISSING),
    "NA in Arrow": (pd.Series(Y > 0, dtype="bool[pyarrow]").mask(GAP), MISSING),
    "null in polars text": (pl.Series(np.where(GAP, None, TEXT).tolist()), MISSING),
    "null in polars": (pl.Series(np.where(GAP, None, Y > 0).tolist()), MISSING),
    "null in Arrow": (pa.array(BINARY, mask=GAP), MISSING),
    "masked": (np.ma.masked_array(BINARY, GAP), "y has masked values"),
}


@pytest.mark.parametrize(("y", "sentence"), LABELS.values(), ids=LABELS)
def test_labels_that_are_refused(y, sentence):
    assert_not_fitted(sentence, y=y)


def test_three_classes_are_refused_where_labels_are_binary():
    told = r"Only binary classification.* y has 3 different values \(0, 1, 2\): keep or merge"
    assert_not_fitted(told, "mirror", "paper", "hessian", y=np.arange(N) % 3)


def test_a_label_for_most_rows_is_refused():
    told = r"y has 31 different values \(0, 1, 2, ...\) in 60 rows, so that most occur once"
    assert_not_fitted(told, "mixture", y=np.arange(N) % 31)


GROUPS = {
    "wrong length": (
        np.arange(N - 1),
        r"groups must hold one value for each of 60 rows, got shape \(59,\)",
    ),
    "NaN": (np.r_[np.nan, np.zeros(N - 1)], "groups has missing values"),
    "None": (
        np.array([None] + ["a"] * (N - 1), dtype=object),
        "groups has missing values: give such rows a group of their own",
    ),
    "masked": (np.ma.masked_array(np.arange(N) // 3, GAP), "groups has masked values"),
    "values that cannot be compared": (
        np.array([1] + ["a"] * (N - 1), dtype=object),
        "groups mixes values that cannot be compared",
    ),
}


@pytest.mark.parametrize(("groups", "sentence"), GROUPS.values(), ids=GROUPS)
def test_groups_that_are_refused(groups, sentence):
    assert_not_fitted(sentence, "mirror", "mixture", groups=groups)


def test_groups_are_not_known_to_the_paper():
    sentence = "method='paper' knows neither groups nor elliptical=True"
    assert_not_fitted(sentence, "paper", groups=np.zeros(N))


WEIGHTS = {
    "negative": (
        np.r_[np.ones(N - 1), -1],
        "sample_weight must be finite and not negative, but is -1.0 in row 59: use 0",
    ),
    "NaN": (np.where(GAP, np.nan, 1), "but is nan in row 7"),
    "NA": (pd.Series(BINARY, dtype="Int64").mask(GAP), "but is nan in row 7"),
    "null": (pl.Series(np.where(GAP, None, BINARY).tolist()), "but is nan in row 7"),
    "masked": (np.ma.masked_array(BINARY, GAP), "sample_weight has masked values"),
    "wrong length": (np.ones(3), r"one number for each of 60 rows, got shape \(3,\)"),
    "text": (["a"] * N, "sample_weight must hold numbers"),
    "complex": (np.ones(N) + 0j, "sample_weight must hold numbers"),
    "integers of 400 digits": ([10**400] * N, "sample_weight must hold numbers"),
    "beyond float64 in longdouble": (
        np.ones(N) * np.longdouble("1e400"),
        "not negative, but is inf in row 0",
    ),
    "all zero": (np.zeros(N), "sample_weight is zero in every row"),
    "one row alone": (
        np.where(GAP, 1e300, 1.0),
        "so large in row 7 that all other rows vanish beside it",
    ),
    "one class is left": ((Y > 0) * 1.0, "y has only one class, 1:"),
}


@pytest.mark.parametrize(("weight", "sentence"), WEIGHTS.values(), ids=WEIGHTS)
def test_weights_that_are_refused(weight, sentence):
    assert_not_fitted(sentence, sample_weight=weight)
    if not sentence.startswith("y "):
        assert_refused(lambda: FeatureMoments.from_rows(X, sample_weight=weight), sentence)


def test_weights_that_leave_too_few_rows():
    few = np.arange(N) < 5
    assert_not_fitted("At least 6 rows are needed.*got n_samples = 5", "mirror", sample_weight=few)
    with pytest.warns(MixtureWarning):  # the penalty of the mixture decides
        mixture = LinearClassifierMixture(2, random_state=0).fit(X, Y, sample_weight=few)
    assert np.isfinite(mixture.coef_).all()
