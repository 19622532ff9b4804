"""The whole fit: a proper maximum, heaviest component first, dead components dropped."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from sklearn.linear_model import LogisticRegression

from spectralmirror import MixtureWarning
from spectralmirror.mixture import fitting
from spectralmirror.mixture.fitting import fit
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.newton import Top
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.task import Subspace, Task
from tests.helpers.mixtures import drawn, fitted, likelihood_of, sharp, with_intercepts


@pytest.fixture(scope="module")
def task():
    X, y, truth = sharp(2000)
    likelihood, rng = likelihood_of(X, y), np.random.RandomState(0)
    return Task(2, likelihood, Subspace(truth.profiles, 9.0), True, "spectral", 44, 500, 1e-3,
                climb, rng)  # fmt: skip


def test_ends_at_a_proper_maximum_heaviest_first(task):
    found = fit(task)
    assert found.ascent.converged
    assert found.information.proper
    assert not found.is_flat
    assert found.n_dropped == 0
    weights = found.ascent.parameters.weights
    assert (np.diff(weights) <= 0).all()
    np.testing.assert_allclose(weights, [0.6, 0.4], atol=0.06)
    assert np.abs(task.likelihood.evaluate(found.ascent.parameters)[1]).max() < 1e-4


def test_without_refinement_it_is_the_maximum_inside_the_subspace(task):
    found = fit(replace(task, refine=False))
    assert found.likelihood.coordinates.matrix.shape == (3, 5)
    assert found.ascent.value < fit(task).ascent.value
    inside = task.likelihood.inside(task.subspace.basis)
    start = Parameters.equal(np.column_stack([3 * np.eye(2), np.zeros(2)]))
    top = climb(inside, start, tol=1e-9, max_iter=500)
    np.testing.assert_allclose(found.ascent.value, top.value, atol=1e-5)


def test_a_dead_component_is_dropped(task):
    """A start with a component of weight e-40 keeps the other two."""
    start = with_intercepts(np.array([[4.0, 0, 0, 0], [0, 4.0, 0, 0], [0, 0, 4.0, 0]]))
    light = Parameters(start.profiles, np.array([0.0, 0.0, -40.0]))
    found = fit(replace(task, k=3, init=light))
    assert found.n_dropped == 1
    assert len(found.ascent.parameters) == 2
    np.testing.assert_allclose(found.ascent.value, fit(task).ascent.value, atol=1e-5)


def test_a_component_that_newton_steps_empty_is_dropped_too(task, monkeypatch):
    emptied = []

    def polish(likelihood, ascent, seed):
        top = plain(likelihood, ascent, seed)
        if emptied:
            return top
        emptied.append(1)
        light = Parameters(top.ascent.parameters.profiles, np.array([0.0, -40.0]))
        return Top(replace(top.ascent, parameters=light), None)

    plain = fitting.polish
    monkeypatch.setattr(fitting, "polish", polish)
    found = fit(task)
    assert found.n_dropped == 1
    assert found.information.proper  # that of the component that is left


def test_a_climb_on_a_ridge_is_continued_with_a_smaller_tolerance(task, monkeypatch):
    tolerances = []

    def spy(likelihood, start, *, tol, **options):
        tolerances.append(tol)
        return climb(likelihood, start, tol=tol, **options)

    def never_settled(likelihood, ascent, seed):
        return Top(replace(ascent, converged=False), None)

    monkeypatch.setattr(fitting, "polish", never_settled)
    start = with_intercepts(2 * np.eye(2, 4))
    found = fit(replace(task, solver=spy, init=start))
    np.testing.assert_allclose(tolerances, 1e-3 / 10.0 ** np.arange(fitting.MOST_CLIMBS))
    assert not found.ascent.converged


@pytest.mark.parametrize("seed", range(6))
def test_standard_errors_belong_to_a_maximum(seed):
    """Labels independent of the features make ridges: the fit ends at a top, or says it did not."""
    rng = np.random.default_rng(20 + seed)
    X = rng.standard_normal((600, 2))
    y = np.where(rng.uniform(size=600) < 0.05, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        mixture = fitted(X, y, l2=0.1)

    def loss(theta):
        U, b, a = theta[:4].reshape(2, 2), theta[4:6], theta[6:]
        joint = log_expit(y[:, None] * (X @ U.T + b)) + a - logsumexp(a)
        return -logsumexp(joint, axis=1).sum() + 0.05 * np.square(U * X.std(axis=0)).sum()

    if mixture.covariance_ is None:
        assert "no sharp maximum" in mixture.status_ or not mixture.converged_
    elif mixture.n_components_ == 2:
        at = np.concatenate([mixture.coef_.ravel(), mixture.intercept_, np.log(mixture.weights_)])
        np.testing.assert_allclose(-loss(at), mixture.objective_, rtol=1e-9)
        assert loss(at) - minimize(loss, at).fun < 5e-3


def test_a_component_that_owns_a_group_is_kept():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(10), 200)
        X = rng.standard_normal((2000, 3))
        U = np.where((groups == 0)[:, None], [0, -2, 1], [2, 0, 0])
        y = rng.uniform(size=2000) < expit((X * U).sum(axis=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MixtureWarning)
            assert fitted(X, y, groups=groups).n_components_ == 2


def test_an_outlier_on_the_wrong_side():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 1))
    y = rng.uniform(size=5000) < expit(8 * X[:, 0])
    X[0], y[0] = 100.0, False
    ours = fitted(X, y, k=1, l2=0.1)
    theirs = LogisticRegression(C=10, tol=1e-10, max_iter=1000).fit(X / X.std(), y)
    np.testing.assert_allclose(ours.coef_ * X.std(), theirs.coef_, rtol=1e-4)


def test_far_means_without_an_intercept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 4))
    y = rng.uniform(size=1000) < expit(X @ [2, -2, 1, 0])
    one, two = (fitted(X + 1000, y, k=k, fit_intercept=False, l2=0.1) for k in (1, 2))
    theirs = LogisticRegression(C=10, fit_intercept=False, tol=1e-12, max_iter=100_000)
    theirs.fit((X + 1000) / X.std(axis=0), y)
    ours = one.predict_proba(X + 1000)
    np.testing.assert_allclose(ours, theirs.predict_proba((X + 1000) / X.std(axis=0)), atol=1e-2)
    assert two.objective_ > one.objective_ - 0.1


def test_all_starts_of_an_easy_fit_agree():
    X, y, _ = drawn(profile_norm=8.0)
    mixture = fitted(X, y)
    assert len(mixture.starts_) == 5  # three inside the subspace, two outside
    assert mixture.n_agreed_ == 4  # kinds: two of them are random
    assert mixture.doubt_ < 0.05


@pytest.mark.parametrize(("norm", "few"), [(5.0, True), (1.0, False)])
def test_starts_compete_on_few_rows_only_where_groups_tell_their_classes(monkeypatch, norm, few):
    sizes, find = [], fitting.find_maxima

    def spy(task, sample, space):
        sizes.append(sample.rows.n_present)
        return find(task, sample, space)

    monkeypatch.setattr(fitting, "find_maxima", spy)
    X, y, truth = drawn(20_000, 20, 3, weights=np.full(3, 1 / 3), profile_norm=norm, group_size=5)
    mixture = fitted(X, y, 3, truth.groups, l2=0.1)
    assert len(sizes) == (1 if few else 2)
    assert sizes[0] < 7_000
    oracle = fitted(X, y, 3, truth.groups, l2=0.1, init=truth.profiles, subspace=None)
    assert mixture.objective_ > oracle.objective_ - 2
