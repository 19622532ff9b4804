"""Starts of different kinds."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from spectralmirror.mixture.kinds import CYCLE, FEW_L2, INTERCEPT_L2, KINDS, Ground
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.parameters import Parameters
from tests.helpers.mixtures import drawn, gradient_by_differences, likelihood_of

climber = partial(climb, max_iter=500)


def ground_of(n=600, d=3, k=2, size=1, seed=0, groups=None):
    X, y, _ = drawn(n, d, group_size=size)
    groups = np.arange(n) // size if groups is None and size > 1 else groups
    likelihood = likelihood_of(X, y, groups).projected()
    return Ground(likelihood, k, climber, np.random.RandomState(seed)), X, y


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_start_is_finite_and_its_components_differ(kind, size):
    ground, _, _ = ground_of(size=size, k=3)
    start = KINDS[kind](ground)
    assert start.profiles.shape == (3, 4)
    assert np.isfinite(start.packed()).all()
    apart = np.abs(start.profiles - np.roll(start.profiles, 1, axis=0)).max(axis=1)
    assert apart.min() > 1e-3
    again = KINDS[kind](ground_of(size=size, k=3)[0])
    np.testing.assert_array_equal(again.packed(), start.packed())
    other = KINDS[kind](ground_of(size=size, k=3, seed=1)[0])
    assert np.abs(other.profiles - start.profiles).max() > 1e-3


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("size", [1, 6])
def test_few_rows_and_few_groups(kind, size):
    """12 rows, or two persons and four components."""
    ground, _, _ = ground_of(n=12, d=2, k=4, size=size)
    start = KINDS[kind](ground)
    assert start.profiles.shape == (4, 3)
    assert np.isfinite(start.packed()).all()


def test_all_kinds_take_turns():
    assert set(CYCLE) == set(KINDS)


def test_a_classifier_of_some_groups_is_a_logistic_regression():
    ground, _, _ = ground_of(900, size=3)
    (block,) = ground.likelihood.rows.blocks()
    chosen = np.arange(0, 300, 7)
    rows = np.isin(np.arange(900) // 3, chosen)
    found = ground.fitted(chosen, FEW_L2)
    # the intercept has a penalty of its own, as if it were a feature of another scale
    Z = np.column_stack([block.X, np.full(900, (FEW_L2 / INTERCEPT_L2) ** 0.5)])
    peer = LogisticRegression(C=1 / FEW_L2, fit_intercept=False, tol=1e-10).fit(
        Z[rows], block.y[rows]
    )
    expected = peer.coef_[0] * np.append(np.ones(3), (FEW_L2 / INTERCEPT_L2) ** 0.5)
    # a rough climb ends when a step gains less than 0.3, a fraction of a standard error
    assert np.corrcoef(found, expected)[0, 1] > 0.98
    assert np.abs(found - expected).max() < 0.5


@pytest.mark.parametrize("size", [1, 3])
def test_scores_by_finite_differences(size):
    ground, _, _ = ground_of(90, size=size)
    (block,) = ground.likelihood.rows.blocks()

    def each(v):
        return ground.likelihood.posterior(block, Parameters.equal(v[None])).log_likelihood

    slopes = gradient_by_differences(each, ground.single).T
    np.testing.assert_allclose(ground.scores, slopes / np.sqrt(size), atol=1e-6)


def test_clusters_find_persons_who_answer_alike():
    """With 30 answers each, clusters of scores are nearly the classes."""
    X, y, truth = drawn(6000, 3, group_size=30, profile_norm=5.0)
    groups = np.arange(6000) // 30
    ground = Ground(likelihood_of(X, y, groups).projected(), 2, climber, np.random.RandomState(0))
    start = KINDS["clusters"](ground)
    directions = start.profiles[:, :-1] @ ground.likelihood.coordinates.matrix[:-1, :-1]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    true = truth.profiles / np.linalg.norm(truth.profiles, axis=1, keepdims=True)
    assert (directions @ true.T).max(axis=1).min() > 0.9
