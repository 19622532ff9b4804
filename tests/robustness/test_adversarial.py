"""Numbers made to break things: the right answer by an independent way, or one clear sentence.

Answers are those of the same rows in friendly units, or of statsmodels and scikit-learn. Rounding
is magnified by the condition number, and where means are far away by mean over deviation: margins
are a hundred times that.
"""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    MixtureWarning,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
    scan,
)
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import profile_error, subspace_error
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood, Parameters
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from tests.helpers.rows import in_groups

X, Y, TRUTH = make_linear_classifier_mixture(
    1500,
    5,
    weights=[0.6, 0.4],
    profile_norm=5,
    group_size=3,
    mean=[0, 0.5, 1, 0, 0],
    random_state=3,
)
GROUPS = TRUTH.groups
WEIGHTS = np.random.default_rng(0).integers(1, 4, len(Y))
#: Columns of one table in units 300 orders of magnitude apart.
UNITS = np.array([1e-150, 1e-50, 1.0, 1e50, 1e150])


def subspace(estimator, **fit):
    """Return what a transformer finds, of columns in units s, in units of 1."""

    def answer(X, y, s=1.0):
        found = estimator().fit(X, y, **fit)
        assert np.isfinite(found.transform(X)).all()
        direction = getattr(found, "mirror_direction_", np.zeros(1))
        eigenvalues = np.sort(found.eigenvalues_)  # those as far from the bulk come in any order
        return {"span": found.components_ * s, "r": direction * s, "eigenvalues": eigenvalues}

    return answer


def mixture(k=2, groups=None, sample_weight=None, **options):
    """Return what a mixture finds and says, of columns in units s, in units of 1."""

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


def fits(X, y):
    """Yield every kind of fit."""
    yield lambda: SpectralMirror(2).fit(X, y)
    yield lambda: SpectralMirror(2, method="paper").fit(X, y)
    yield lambda: PrincipalHessianDirections(2).fit(X, y)
    yield lambda: LinearClassifierMixture(1).fit(X, y)
    yield lambda: LinearClassifierMixture(2).fit(X, y)


TOLD = {
    "mean of 1e8 in float32": (
        (X + 1e8).astype(np.float32),
        "X is constant in columns 0, 1, 2, 3, 4.*subtract the mean.*float32 has no digits left",
    ),
    "whole numbers beside 2^62": (
        2**62 + (10 * X).astype(np.int64),
        "X is constant in columns.*subtract the mean.*float64 has no digits left",
    ),
    "subnormal": (X * 1e-310, "X is so small in columns 0, 1, 2, 3, 4.*underflow: rescale"),
    "subnormal column": (X * [1, 1, 1e-310, 1, 1], "X is so small in column 2.*underflow"),
    "small in float32": ((X * 1e-18).astype(np.float32), "X is so small in columns 0.*underflow"),
    "large column": (X * [1, 1e160, 1, 1, 1], "in column 1 values too large for sums in float64"),
    "large in float32": ((X * 1e25).astype(np.float32), "values too large for sums in float32"),
    "one row": (X[:1], "y has only one class"),
}


@pytest.mark.parametrize(("bad", "message"), TOLD.values(), ids=TOLD)
def test_what_cannot_be_is_told(bad, message):
    for fit in fits(bad, Y[: len(bad)]):
        with pytest.raises(ValueError, match=message) as error:
            fit()
        assert len(str(error.value)) < 400


def test_subnormal_values_among_others():
    small = np.where(np.abs(X) < 0.3, 5e-324, X)
    zero = np.where(np.abs(X) < 0.3, 0.0, X)
    for name in ("stacked", "mixture"):
        same(ESTIMATORS[name](small, Y > 0), ESTIMATORS[name](zero, Y > 0), 1e-12)


def nearly_collinear(share):
    """Return rows whose last column is the first but for a small share, and what it hides."""
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


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-8, 0.0])
def test_logistic_regression_on_columns_nearly_alike(share):
    """The penalty decides, as it does in scikit-learn; exactly duplicated columns, too."""
    A = nearly_collinear(share)[0] if share else X[:, [0, 1, 2, 3, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        ours = LinearClassifierMixture(1, l2=2.0).fit(A, Y)
    S = (A - A.mean(axis=0)) / A.std(axis=0)
    theirs = LogisticRegression(C=0.5, tol=1e-12, max_iter=10_000).fit(S, Y)
    np.testing.assert_allclose(ours.predict_proba(A), theirs.predict_proba(S), atol=1e-5)
    np.testing.assert_allclose(ours.coef_ * A.std(axis=0), theirs.coef_, atol=1e-4)


def few_rows(n, d):
    X = np.random.default_rng(n + d).standard_normal((n, d))
    return X, np.arange(n) % 2


@pytest.mark.parametrize(
    ("n", "d"), [(2, 1), (2, 3), (3, 1), (5, 5), (20, 20), (6, 5), (7, 5), (5, 50), (40, 400)]
)
def test_few_rows_against_scikit_learn(n, d):
    X, y = few_rows(n, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        ours = LinearClassifierMixture(1, l2=1.0).fit(sparse.csr_array(X), y)
    S = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000).fit(S, y)
    np.testing.assert_allclose(ours.coef_ * X.std(axis=0), theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(S), atol=1e-4)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 3), (5, 5), (20, 20), (5, 50)])
@pytest.mark.parametrize("options", [{"k": 2}, {"k": "auto"}, {"k": 2, "response": "probit"}])
def test_few_rows_say_that_they_are_few(n, d, options):
    X, y = few_rows(n, d)
    options = dict(options)
    with pytest.warns(MixtureWarning, match="too few rows|left without rows|no sharp maximum"):
        found = LinearClassifierMixture(options.pop("k"), random_state=0, **options).fit(X, y)
    assert np.isfinite(found.coef_).all()
    np.testing.assert_allclose(found.component_proba(X, y).sum(axis=1), 1)
    for method in ({}, {"method": "paper"}, {"elliptical": True}):
        with pytest.raises(ValueError, match=r"At least \d+ rows are needed for"):
            SpectralMirror(1, **method).fit(X, y)


def test_one_feature():
    x = X[:, :1]
    for estimator in (SpectralMirror(1), SpectralMirror(1, method="paper"), SpectralMirror("auto")):
        assert estimator.fit(x, Y).components_.tolist() == [[1.0]]
    assert PrincipalHessianDirections(1).fit(x, Y).components_.tolist() == [[1.0]]
    ours = LinearClassifierMixture(1, l2=0.0).fit(x, Y)
    theirs = sm.Logit(Y > 0, sm.add_constant(x)).fit(disp=0, tol=1e-10)
    np.testing.assert_allclose([ours.intercept_[0], ours.coef_[0, 0]], theirs.params, rtol=1e-6)


@pytest.mark.parametrize("n", [1_000, 100_010])
def test_100_000_sparse_features_are_refused_at_once(n, monkeypatch):
    monkeypatch.setattr("spectralmirror.rows.checks.memory", lambda: 64_000_000_000)
    monkeypatch.setattr("spectralmirror.subspace.moments.weighted_sums", None)  # nothing is summed
    wide = sparse.eye_array(n, 100_000, format="csr")
    y = np.arange(n) % 2
    message = "X has 100000 features.*320 GB of memory, and there are 64.*TruncatedSVD"
    for fit in (*fits(wide, y), lambda: FeatureMoments.from_rows(wide)):
        with pytest.raises(ValueError, match=f"{message}|At least") as error:
            fit()
        assert len(str(error.value)) < 400


@pytest.fixture(scope="module")
def rare():
    """Return 20 positive labels among 200,000: 99.99 % of one class."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 3))
    p = np.exp(X @ [1.5, -1, 0])
    y = np.zeros(len(X), dtype=int)
    y[rng.choice(len(X), size=20, replace=False, p=p / p.sum())] = 1
    return X, y


@pytest.mark.parametrize("response", ["logistic", "probit"])
def test_labels_almost_all_of_one_class_against_statsmodels(response, rare):
    X, y = rare
    ours = LinearClassifierMixture(1, response=response, l2=0.0, random_state=0).fit(X, y)
    model = sm.Logit if response == "logistic" else sm.Probit
    theirs = model(y, sm.add_constant(X)).fit(disp=0, maxiter=100, tol=1e-10)
    found = np.r_[ours.intercept_, ours.coef_[0]]
    np.testing.assert_allclose(found, theirs.params, rtol=1e-4, atol=1e-5)
    errors = np.r_[ours.intercept_standard_error_, ours.coef_standard_error_[0]]
    if response == "logistic":  # statsmodels takes the expected information of a probit
        np.testing.assert_allclose(errors, theirs.bse, rtol=1e-3)
    np.testing.assert_allclose(
        ours.predict_proba(X)[:, 1].sum(), 20, rtol=1e-3 if response == "logistic" else 0.05
    )


def test_labels_almost_all_of_one_class_have_a_weak_signal(rare):
    X, y = rare
    with pytest.warns(WeakSignalWarning):
        found = SpectralMirror(2, random_state=0).fit(X, y)
    assert np.isfinite(found.components_).all()


@pytest.mark.parametrize("response", ["logistic", "probit"])
def test_curvature_far_out(response):
    """Between -1 and 0 everywhere, and the derivative of the slope."""
    link = RESPONSES[response]
    t = np.array([-1e150, -1e12, -3e8, -1e8, -2e4, -9999.0, -100.0, -1.0, 0.0, 30.0, 1e150])
    curvature = link.curvature(t, link.slope(t))
    assert (curvature <= 0).all()
    assert (curvature >= -1 - 1e-7).all()
    near = np.abs(t) < 1e5
    step = 1e-3
    by_difference = (link.slope(t[near] + step) - link.slope(t[near] - step)) / (2 * step)
    np.testing.assert_allclose(curvature[near], by_difference, atol=1e-6)


@pytest.mark.parametrize("response", ["logistic", "probit", "hard"])
@pytest.mark.parametrize("size", [1e20, 1e155, 1e300, 1.7e308])
def test_predictions_of_rows_very_far_out(response, size):
    found = LinearClassifierMixture(2, response=response, random_state=0).fit(X, Y)
    far = np.vstack([np.sign(X[:40]) * size, np.eye(5) * size, -np.eye(5) * size])
    labels = np.resize([1, -1], len(far))
    for rows in (far, sparse.csr_array(far)):
        proba = found.predict_proba(rows)
        signs = np.sign(np.sign(rows.toarray() if sparse.issparse(rows) else rows) @ found.coef_.T)
        np.testing.assert_allclose(proba[:, 1], (signs > 0) @ found.weights_, atol=1e-9)
        posterior = found.component_proba(rows, labels)
        np.testing.assert_allclose(posterior.sum(axis=1), 1)
        assert np.isfinite(found.score_samples(rows, labels)).all()
        assert np.isfinite([found.bic(rows, labels), found.icl(rows, labels)]).all()


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_one_row_far_away_does_not_hide_the_others():
    """A column is what it is: with one value of 1e100 the others in it are 0 beside it."""
    far = X.copy()
    far[0, 0] = 1e100
    for name in ("stacked", "elliptical", "mixture"):
        found = ESTIMATORS[name](far, Y > 0)
        assert all(np.isfinite(part).all() for part in found.values())


def test_metrics_of_very_short_rows():
    A, B = np.array([[1.0, 0, 0], [0, 1e-30, 0]]), np.array([[1.0, 0, 0], [0, 0, 1.0]])
    assert subspace_error(A, B) == pytest.approx(1)
    assert subspace_error(A, np.eye(2, 3)) == pytest.approx(0)
    for size in (5e-324, 1e-300, 1e-20, 1e300):
        assert profile_error(np.eye(2, 3), size * np.eye(2, 3), scale_free=True) < 1e-12
    assert profile_error(1e-300 * np.eye(2), np.eye(2)) == pytest.approx(1e300)
    assert profile_error(1e-300 * np.eye(2), 2e-300 * np.eye(2)) == pytest.approx(1)


def test_scores_too_large_to_draw_labels():
    with pytest.raises(ValueError, match="too large for float64: use shorter profiles"):
        make_linear_classifier_mixture(100, profiles=[[1e300, -1e300]], mean=1e10, random_state=0)
    assert np.isfinite(TRUTH.expected_label(np.eye(5) * 1e300)).all()
    with pytest.raises(ValueError, match="X has 2 features, but the profiles have 5"):
        TRUTH.expected_label(X[:, :2])


@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("known", [False, True])
def test_a_climb_from_where_nothing_curves(link, known):
    """A start that a sample of one class led to: far out, where every curvature is 0."""
    start = Parameters.equal(np.array([[0.0, 0, 0, 0, 0, 60.0]]))
    few = np.where(np.arange(len(X)) % 50, 1.0, -1.0)
    rows, one_class = Rows(X, few), Rows(X, np.ones(len(X)))
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=True)
    sample, whole = (
        Likelihood(in_groups(part, None), RESPONSES[link], coordinates, 0.0)
        for part in (one_class, rows)
    )
    inverse = information(sample, start, 0).inverse if known else None
    found = climb(whole, start, tol=1e-3, max_iter=100, inverse=inverse)
    best = climb(whole, Parameters.equal(np.zeros((1, 6))), tol=1e-3, max_iter=100)
    assert np.isfinite(found.parameters.profiles).all()
    assert found.value > whole.evaluate(start)[0]
    assert best.value == pytest.approx(found.value, abs=0.1)
