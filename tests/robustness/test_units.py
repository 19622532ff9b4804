"""Numbers made to break things: the right answer by an independent way, or one clear sentence.

Answers are those of the same rows in friendly units, or of statsmodels and scikit-learn. Rounding
is magnified by the condition number, and where means are far away by mean over deviation: margins
are a hundred times that.
"""

import numpy as np
import pytest
from scipy import sparse

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    scan,
)
from spectralmirror.metrics import subspace_error
from tests.helpers.mixture_rows import off_centre

X, Y, TRUTH = off_centre()
GROUPS = TRUTH.groups
WEIGHTS = np.random.default_rng(0).integers(1, 4, len(Y))
#: Columns of one table in units 300 orders of magnitude apart.
UNITS = np.array([1e-150, 1e-50, 1.0, 1e50, 1e150])


def subspace(estimator, **fit):
    """Fit a transformer to columns in units s, and return its results in units of 1."""

    def answer(X, y, s=1.0):
        found = estimator().fit(X, y, **fit)
        assert np.isfinite(found.transform(X)).all()
        direction = getattr(found, "mirror_direction_", np.zeros(1))
        eigenvalues = np.sort(found.eigenvalues_)  # those as far from the bulk come in any order
        return {"span": found.components_ * s, "r": direction * s, "eigenvalues": eigenvalues}

    return answer


def mixture(k=2, groups=None, sample_weight=None, **options):
    """Fit a mixture to columns in units s, and return its results in units of 1."""

    def answer(X, y, s=1.0):
        found = LinearClassifierMixture(k, random_state=0, **options)
        found.fit(X, y, groups=groups, sample_weight=sample_weight)
        drawn = found.sample(50, random_state=0)
        assert found.summary()
        np.testing.assert_array_equal(found.predict(X), found.decision_function(X) > 0)
        direction = found.coef_ * s
        length = np.linalg.norm(direction, axis=1, keepdims=True)
        return {
            "coef": direction / length if found.response == "hard" else direction,
            "errors": np.nan_to_num(found.coef_standard_error_ * s),
            "weights": found.weights_,
            "objective": found.objective_,
            "proba": found.predict_proba(X),
            "components": found.component_proba(X, y, groups=groups),
            "scores": found.score_samples(X, y),
            "bic": found.bic(X, y),
            "drawn": drawn[1] * 1.0,
        }

    return answer


def mirror(*args, **options):
    return lambda: SpectralMirror(*args, random_state=0, **options)


ESTIMATORS = {
    "stacked": subspace(mirror(2)),
    "auto": subspace(mirror("auto")),
    "groups": subspace(mirror(2), groups=GROUPS),
    "weights": subspace(mirror(2), sample_weight=WEIGHTS),
    "elliptical": subspace(mirror(2, elliptical=True)),
    "paper": subspace(mirror(2, method="paper")),
    "paper with r": subspace(mirror(2, method="paper", include_mirror_direction=True)),
    "hessian": subspace(lambda: PrincipalHessianDirections(2)),
    "hessian of residuals": subspace(lambda: PrincipalHessianDirections(2, target="residuals")),
    "logistic": mixture(1),
    "probit": mixture(1, response="probit"),
    "mixture": mixture(2),
    "mixture of groups": mixture(2, groups=GROUPS),
    "mixture of weights": mixture(2, sample_weight=WEIGHTS / 3),
    "probit mixture": mixture(2, response="probit"),
    "hard": mixture(2, response="hard"),
    "no intercept": mixture(2, fit_intercept=False),
    "inside the subspace": mixture(2, refine=False),
    "in the whole space": mixture(2, subspace=None),
}


def same(found, expected, margin, skip=()):
    for name in set(expected) - set(skip):
        a, b = np.asarray(found[name]), np.asarray(expected[name])
        assert np.isfinite(a).all(), name
        if name == "span":
            assert subspace_error(a, b) < margin
        else:
            assert np.abs(a - b).max() <= margin * np.abs(b).max(), name


@pytest.fixture(scope="module")
def plain():
    return {name: answer(X, Y > 0) for name, answer in ESTIMATORS.items()}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_columns_in_units_from_1e_minus_150_to_1e150(name, plain):
    same(ESTIMATORS[name](X * UNITS, Y > 0, UNITS), plain[name], 1e-6)


@pytest.mark.parametrize("name", ["stacked", "paper", "hessian", "mixture"])
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_all_columns_in_such_units(name, unit, plain):
    same(ESTIMATORS[name](X * unit, Y > 0, unit), plain[name], 1e-6)


@pytest.mark.parametrize("name", ["stacked", "mixture"])
def test_single_precision_in_units_from_1e_minus_15_to_1e15(name, plain):
    units = np.array([1e-15, 1e-5, 1.0, 1e5, 1e15])
    same(ESTIMATORS[name]((X * units).astype(np.float32), Y > 0, units), plain[name], 1e-4)


@pytest.mark.parametrize("method", ["stacked", "paper"])
def test_known_features_in_any_units(method):
    moments = FeatureMoments.from_rows(X)
    mean, covariance = moments.mean, moments.covariance
    near = mirror(2, method=method, mean=mean, covariance=covariance)
    far = mirror(
        2, method=method, mean=mean * UNITS, covariance=covariance * UNITS * UNITS[:, None]
    )
    same(subspace(far)(X * UNITS, Y, UNITS), subspace(near)(X, Y), 1e-9)
    scaled = FeatureMoments.from_rows(X * UNITS)
    np.testing.assert_allclose(scaled.mean / UNITS, mean, rtol=1e-13)
    np.testing.assert_allclose(scaled.covariance / UNITS / UNITS[:, None], covariance, rtol=1e-11)


def test_files_in_any_units(tmp_path):
    import polars as pl

    frame = pl.DataFrame(X * UNITS, schema=list("abcde")).with_columns(y=pl.Series(Y))
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.write_csv(tmp_path / "rows.csv")
    expected = SpectralMirror(2).fit(X, Y).mirror_direction_
    for name in ("rows.parquet", "rows.csv"):
        found = SpectralMirror(2).fit(scan(tmp_path / name, label="y"))
        np.testing.assert_allclose(found.mirror_direction_ * UNITS, expected, rtol=1e-9)


FAR = {"1e8": 1e8, "some of them": np.array([1e8, 0, -1e8, 0, 1e4])}
#: The paper's mirror stands at 0, and a profile without an intercept does, too.
NOT_SHIFTED = {"paper", "paper with r", "no intercept"}


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - NOT_SHIFTED))
@pytest.mark.parametrize("mean", FAR.values(), ids=FAR)
def test_means_of_1e8(name, mean):
    """The same rows, to the last bit, about a mean of 1e8 and about 0."""
    far = X + mean
    same(ESTIMATORS[name](far, Y > 0), ESTIMATORS[name](far - mean, Y > 0), 1e-6, skip=["drawn"])


def test_means_of_1e8_in_sparse_rows():
    far = X + 1e8
    found = ESTIMATORS["mixture"](sparse.csr_array(far), Y > 0)
    same(found, ESTIMATORS["mixture"](far - 1e8, Y > 0), 1e-6, skip=["drawn"])


def test_subnormal_values_among_others():
    small = np.where(np.abs(X) < 0.3, 5e-324, X)
    zero = np.where(np.abs(X) < 0.3, 0.0, X)
    for name in ("stacked", "mixture"):
        same(ESTIMATORS[name](small, Y > 0), ESTIMATORS[name](zero, Y > 0), 1e-12)


def nearly_collinear(share):
    """Return rows whose last column is nearly the first, and the small part that differs."""
    A, B = X.copy(), X.copy()
    A[:, 4] = X[:, 0] + share * X[:, 4]
    B[:, 4] = (A[:, 4] - A[:, 0]) / share  # what rounding has left of it
    back = np.eye(5)
    back[0, 4], back[4, 4] = 1, share
    return A, B, back


@pytest.mark.parametrize("share", [1e-3, 1e-5, 1e-6, 3e-7, 1e-8])
@pytest.mark.parametrize("name", ["stacked", "paper", "hessian"])
def test_condition_numbers_up_to_1e12(name, share):
    """Right to 30 units of rounding times the condition number, or refused."""
    A, B, back = nearly_collinear(share)
    condition = np.linalg.cond(np.corrcoef(A.T))
    assert share > 1e-6 or condition > 1e12
    if share < 1e-6:
        with pytest.raises(ValueError, match=r"X is collinear.*column [04] can be computed"):
            ESTIMATORS[name](A, Y)
        return
    found, expected = ESTIMATORS[name](A, Y), ESTIMATORS[name](B, Y)
    assert subspace_error(found["span"] @ back.T, expected["span"]) < 30 * 2.2e-16 * condition


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_one_row_far_away_does_not_hide_the_others():
    """With one value of 1e100 the others of its column are 0 beside it: fits are as without it.

    But for the coefficient of that one row: probabilities differ by 0.017, directions by 0.004.
    """
    far, others = X.copy(), X[:, 1:]
    far[0, 0] = 1e100
    found, expected = (
        LinearClassifierMixture(2, random_state=0).fit(rows, Y) for rows in (far, others)
    )
    gap = np.abs(found.predict_proba(far) - expected.predict_proba(others))[1:]
    assert gap.max() < 0.05
    for options in ({}, {"elliptical": True}):
        r, without = (
            mirror(2, **options)().fit(rows, Y).mirror_direction_ for rows in (far, others)
        )
        assert subspace_error([r[1:]], [without]) < 0.02
        assert np.isfinite(r).all()
