"""Tables of bad X: some cannot be fitted, others cannot be used at all.

The same sentence comes from every estimator, and from whatever else takes a table.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    MixtureWarning,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
)
from tests.helpers.refusals import assert_refused

N, D = 60, 4
NAMES = ["age", "income", "height", "weight"]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(N) > 0, 1, -1)
WHOLE = RNG.integers(-100, 100, (N, D))
FRAME = pd.DataFrame(WHOLE, columns=NAMES)
NAMED = pd.DataFrame(X, columns=NAMES)
POLARS = pl.DataFrame(WHOLE, schema=NAMES)
#: The third column has gaps in two rows, and no other has.
GAPS = np.outer(np.arange(N) % 40 == 7, np.arange(D) == 2)

ESTIMATORS = {
    "mirror": SpectralMirror(2),
    "paper": SpectralMirror(2, method="paper"),
    "hessian": PrincipalHessianDirections(2),
    "classifier": LinearClassifierMixture(1),
    "mixture": LinearClassifierMixture(2),
}


def with_value(value, row, column):
    bad = X.copy()
    bad[row, column] = value
    return bad


def with_column(values, column=2):
    bad = X.copy()
    bad[:, column] = values
    return bad


def labels_for(bad):
    """Return one label for each row, as far as rows can be counted."""
    return Y[: len(bad) if isinstance(bad, list) else getattr(bad, "shape", (N,))[0]]


NUMBERS = "X must hold numbers, but column "
#: Refused by whatever takes a table: fits, moments, projections and predictions.
UNUSABLE = {
    "NaN in the first half": (with_value(np.nan, 3, 2), "X contains NaN in column 2: remove or im"),
    "NaN in the second half": (with_value(np.nan, 50, 1), "contains NaN in column 1:"),
    "infinity": (with_value(np.inf, 3, 3), "contains infinity in column 3:"),
    "minus infinity": (with_value(-np.inf, 55, 0), "contains infinity in column 0:"),
    "NaN in a named column": (NAMED.mask(GAPS), "contains NaN in column 'height':"),
    "NaN in sparse rows": (sparse.csr_array(with_value(np.nan, 3, 2)), "contains NaN in column 2:"),
    "NaN in float32": (with_value(np.nan, 40, 1).astype(np.float32), "contains NaN in column 1:"),
    "NA in Float64": (FRAME.astype("Float64").mask(GAPS), "NaN in column '?height'?: remove"),
    "NA in Int64": (FRAME.astype("Int64").mask(GAPS), "NaN in column 'height': remove"),
    "NA in boolean": ((FRAME > 0).astype("boolean").mask(GAPS), "NaN in column 'height'"),
    "NA in Arrow": (FRAME.astype("double[pyarrow]").mask(GAPS), "NaN in column 'height'"),
    "null in polars": (
        POLARS.with_columns(height=pl.lit(None, pl.Int64)),
        "NaN in column 'height': remove or impute",
    ),
    "masked": (np.ma.masked_array(X, GAPS), "X has masked values: leave such rows out"),
    "beyond float64 in longdouble": (
        WHOLE * np.longdouble("1e400"),
        "contains (NaN|infinity) in column 0: remove or impute",
    ),
    "integers of 400 digits": (
        WHOLE.astype(object) * 10**400,
        "whole numbers in column 0 that are too large for float64: rescale",
    ),
    "complex": (X + 1j, "Complex data not supported: pass the real"),
    "dates": (WHOLE.astype("M8[s]"), NUMBERS + "0 holds np.datetime64"),
    "dates in pandas": (
        NAMED.assign(age=pd.Timestamp("2020-01-01")),
        NUMBERS + "'age' holds Timestamp",
    ),
    "dates in polars": (
        POLARS.with_columns(pl.col("income").cast(pl.Int32).cast(pl.Date)),
        NUMBERS + "'income' holds datetime.date",
    ),
    "durations": (WHOLE.astype("m8[s]"), NUMBERS + "0 holds np.timedelta64"),
    "durations in pandas": (FRAME.astype("m8[s]"), NUMBERS + "'age' holds Timedelta"),
    "periods": (
        FRAME.assign(income=pd.period_range("2020", periods=N, freq="h")),
        NUMBERS + "'income' holds Period",
    ),
    "intervals": (FRAME.assign(weight=pd.cut(FRAME.age, 3)), NUMBERS + "'weight' holds Interval"),
    "text": (
        NAMED.assign(height=["tall", "small"] * 30),
        NUMBERS + "'height' holds 'tall': encode it first",
    ),
    "text in an array": (
        np.where(X > 9, "no", X.astype(str)).astype(object) + "cm",
        NUMBERS + "0 holds '.*cm': encode",
    ),
    "array of strings": (np.full((N, D), "a"), NUMBERS + "0 holds"),
    "Arrow text": (
        FRAME.assign(age=pd.Series(["high"] * N, dtype="string[pyarrow]")),
        NUMBERS + "'age' holds 'high': encode",
    ),
    "categories of text": (
        FRAME.assign(height=pd.Categorical(np.where(Y > 0, "x" * 500, "y"))),
        NUMBERS + "'height' holds '(y|x+)",
    ),
    "polars categories": (
        POLARS.with_columns(weight=pl.lit("low").cast(pl.Categorical)),
        NUMBERS + "'weight' holds 'low'",
    ),
    "sparse columns filled with NaN": (
        FRAME.astype(float).astype(pd.SparseDtype("float64", np.nan)),
        r"fill value is not 0: pass X.sparse.to_dense\(\)",
    ),
    "lazy": (POLARS.lazy(), r"X is a LazyFrame.*call X.collect\(\)"),
    "structured": (
        np.array([tuple(row) for row in WHOLE], dtype=[(name, "f8") for name in NAMES]),
        "X is a structured array: make a table of its fields",
    ),
    "one dimension": (X[:, 0], r"has one dimension. Reshape your data: use X.reshape\(-1, 1\)"),
    "three dimensions": (X[:, None], "dim 3"),
    "no rows": (X[:0], "Found array with 0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "nothing": (None, "X must be a table.*got NoneType"),
    "a dict": ({"age": [1]}, "X must be a table.*got dict"),
    "rows of different lengths": ([[1, 2], [1]], "not all equally long"),
}


@pytest.fixture(scope="module")
def models():
    """Fitted models, by whether their columns have names."""
    with pytest.warns((MixtureWarning, WeakSignalWarning)):
        return {
            named: (SpectralMirror(2).fit(rows, Y), LinearClassifierMixture(1).fit(rows, Y))
            for named, rows in ((False, X), (True, NAMED))
        }


@pytest.mark.parametrize(("bad", "sentence"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_no_entry_point_takes(bad, sentence, models):
    y = labels_for(bad)
    for estimator in ESTIMATORS.values():
        assert_refused(lambda estimator=estimator: clone(estimator).fit(bad, y), sentence)
    mirror, mixture = models[isinstance(bad, pd.DataFrame | pl.DataFrame)]
    for call in (
        FeatureMoments.from_rows,
        mirror.transform,
        mixture.predict,
        mixture.predict_proba,
    ):
        assert_refused(lambda call=call: call(bad), sentence)


SPECTRAL = ("mirror", "paper", "hessian")
#: Refused by fits: by all, or by those that whiten. The mixture has a penalty, which decides.
UNFITTABLE = {
    "names of two kinds": (
        ESTIMATORS,
        NAMED.set_axis([0, *NAMES[1:]], axis=1),
        "names of columns that are text and others that are not, such as 0",
    ),
    "too large": (ESTIMATORS, X * 1e200, "values too large for sums in float64: rescale the col"),
    "large column": (
        ESTIMATORS,
        X * [1, 1e160, 1, 1],
        "in column 1 values too large for sums in float64",
    ),
    "large in float32": (
        ESTIMATORS,
        (X * 1e25).astype(np.float32),
        "values too large for sums in float32",
    ),
    "too small": (
        ESTIMATORS,
        X * 1e-152,
        "X is so small in columns 0, 1, 2, 3.*underflow: rescale",
    ),
    "subnormal": (ESTIMATORS, X * 1e-310, "X is so small in columns 0, 1, 2, 3.*underflow"),
    "subnormal column": (
        ESTIMATORS,
        X * [1, 1, 1e-310, 1],
        "X is so small in column 2.*underflow",
    ),
    "small in float32": (
        ESTIMATORS,
        (X * 1e-18).astype(np.float32),
        "X is so small in columns 0.*underflow",
    ),
    "constant": (ESTIMATORS, with_column(0.1), "X is constant in column 2.*: remove what"),
    "constant by name": (
        ESTIMATORS,
        pd.DataFrame(with_column(1e9), columns=NAMES),
        "X is constant in column 'height'",
    ),
    "two constants": (ESTIMATORS, X * [1, 0, 1, 0], "X is constant in columns 1, 3"),
    "mean of 1e8 in float32": (
        ESTIMATORS,
        (X + 1e8).astype(np.float32),
        "X is constant in columns 0, 1, 2, 3.*subtract the mean.*float32 has no digits left",
    ),
    "whole numbers beside 2^62": (
        ESTIMATORS,
        2**62 + WHOLE,
        "X is constant in columns.*subtract the mean.*float64 has no digits left",
    ),
    "constant in the first half": (
        ("paper",),
        with_column(np.r_[np.zeros(30), X[30:, 2]]),
        "X is constant in column 2 in the first half of the rows:",
    ),
    "collinear": (
        SPECTRAL,
        with_column(X[:, 0] - 3 * X[:, 1]),
        r"X is collinear.*column \d can be computed from the others. Remove",
    ),
    "duplicated": (SPECTRAL, with_column(X[:, 0] * 1e6), "X is collinear.*column [02] can"),
    "too few rows": (
        ("mirror",),
        X[:5],
        "At least 6 rows are needed for 4 features.*got n_samples = 5: pass more rows",
    ),
    "too few rows for two halves": (
        ("paper",),
        X[:9],
        "At least 10 rows are needed for 4 features.*the first half.*n_samples = 9: pass more rows",
    ),
}


@pytest.mark.parametrize(("names", "bad", "sentence"), UNFITTABLE.values(), ids=UNFITTABLE)
def test_what_cannot_be_fitted(names, bad, sentence):
    y = labels_for(bad)
    for name in names:
        estimator = clone(ESTIMATORS[name])
        assert_refused(lambda estimator=estimator: estimator.fit(bad, y), sentence)
        assert not hasattr(estimator, "coef_")
        assert not hasattr(estimator, "components_")


@pytest.mark.parametrize("name", ["collinear", "duplicated", "too few rows"])
def test_the_mixture_fits_through_its_penalty(name):
    _, rows, _ = UNFITTABLE[name]
    with pytest.warns(MixtureWarning):
        mixture = LinearClassifierMixture(2, random_state=0).fit(rows, Y[: len(rows)])
    assert np.isfinite(mixture.coef_).all()


def test_known_features_need_few_rows():
    """With mean and covariance known nothing is estimated that could be singular."""
    known = {"mean": 0, "covariance": np.eye(D)}
    mirror = SpectralMirror(2, method="paper", **known).fit(X[:3], [1, -1, 1])
    assert np.isfinite(mirror.components_).all()
    with pytest.warns(WeakSignalWarning):
        mirror = SpectralMirror(2, random_state=0, **known).fit(X[:3], [1, -1, 1])
    assert np.isfinite(mirror.components_).all()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mean", [0.0, 2.0, 25.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_column_that_is_any_combination_of_the_others(seed, mean, dtype):
    """For any position and coefficients: without pivots, a Cholesky factor would miss some."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 40))
    rows = rng.standard_normal((10 * d, d)) + mean
    rows = np.insert(rows, rng.integers(d + 1), rows @ rng.standard_normal(d), axis=1)
    y = rng.random(len(rows)) < 0.5
    with pytest.raises(ValueError, match=r"X is (collinear|constant)"):
        PrincipalHessianDirections(1).fit(rows.astype(dtype), y)
    if dtype == np.float64:
        known = {"mean": rows.mean(axis=0), "covariance": np.cov(rows.T)}
        with pytest.raises(ValueError, match="covariance must be positive definite"):
            SpectralMirror(1, **known).fit(rows, y)


def test_two_columns_of_one_name():
    """Either a clear error or the right answer, with any version of scikit-learn."""
    twice = NAMED.set_axis(["age", "age", "height", "weight"], axis=1)
    expected = PrincipalHessianDirections(2).fit(X, Y).components_
    try:
        found = PrincipalHessianDirections(2).fit(twice, Y)
    except ValueError as error:
        told = str(error)
    else:
        np.testing.assert_allclose(found.components_, expected, rtol=1e-8)
        return
    assert told == "X has several columns named 'age': give every column a name of its own."


@pytest.mark.parametrize("n", [1_000, 100_010])
def test_100_000_sparse_features_are_refused_at_once(n, monkeypatch):
    monkeypatch.setattr("spectralmirror.rows.checks.memory", lambda: 64_000_000_000)
    monkeypatch.setattr("spectralmirror.subspace.moments.weighted_sums", None)  # nothing is summed
    wide, y = sparse.eye_array(n, 100_000, format="csr"), np.arange(n) % 2
    sentence = "X has 100000 features.*320 GB of memory, and there are 64.*TruncatedSVD|At least"
    for estimator in ESTIMATORS.values():
        if isinstance(estimator, LinearClassifierMixture):  # it needs no products of all pairs
            estimator = clone(estimator).set_params(shared=[0])  # unless something is shared
        assert_refused(lambda estimator=estimator: clone(estimator).fit(wide, y), sentence)
    assert_refused(lambda: FeatureMoments.from_rows(wide), sentence)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("share", "message"), [(0.3, "do not vary in the first"), (0.7, "very dif")]
)
def test_sorted_rows_have_no_mirror(seed, share, message):
    rows = np.random.default_rng(seed).standard_normal((500, 5))
    y = np.arange(500) > 500 * (1 - share)
    with pytest.warns(UserWarning, match=f"{message}.*shuffle"):
        mirror = SpectralMirror(1, method="paper", include_mirror_direction=True).fit(rows, y)
    assert np.isfinite(mirror.components_).all()
