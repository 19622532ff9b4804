"""Few rows, rare labels and rows very far out: the answers of statsmodels and scikit-learn."""

import re
import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from spectralmirror import (
    LinearClassifierMixture,
    MixtureWarning,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
)
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from tests.helpers.mixture_rows import off_centre
from tests.helpers.rows import in_groups

X, Y, _ = off_centre()


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-8, 0.0])
def test_logistic_regression_on_columns_nearly_alike(share):
    """The penalty determines the fit, as in scikit-learn, even with exactly duplicated columns."""
    A = X.copy()
    A[:, 4] = X[:, 0] + share * X[:, 4]
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
    with pytest.warns(MixtureWarning) as said:
        found = LinearClassifierMixture(options.pop("k"), random_state=0, **options).fit(X, y)
    few = re.compile("too few rows|left without rows|no sharp maximum|different rows, which cannot")
    assert any(few.search(str(warning.message)) for warning in said)
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


@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("known", [False, True])
def test_a_climb_from_where_nothing_curves(link, known):
    """A start found on a sample of one class lies so far out that every curvature is 0."""
    start = Parameters.equal(np.array([[0.0, 0, 0, 0, 0, 60.0]]))
    few = np.where(np.arange(len(X)) % 50, 1.0, -1.0)
    rows, one_class = Rows(X, few), Rows(X, np.ones(len(X)))
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=True)
    sample, whole = (
        Likelihood(in_groups(part), RESPONSES[link], coordinates, 0.0) for part in (one_class, rows)
    )
    inverse = information(sample, start, 0).inverse if known else None
    found = climb(whole, start, tol=1e-3, max_iter=100, inverse=inverse)
    best = climb(whole, Parameters.equal(np.zeros((1, 6))), tol=1e-3, max_iter=100)
    assert np.isfinite(found.parameters.profiles).all()
    assert found.value > whole.evaluate(start)[0]
    assert best.value == pytest.approx(found.value, abs=0.1)
