"""Samples of growing size."""

import numpy as np
import pytest

from spectralmirror.mixture import samples
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.task import Task
from tests.helpers.mixtures import (
    PROFILES,
    drawn,
    fitted,
    likelihood_of,
    random_problem,
    sharp,
    with_intercepts,
)


def task_of(X, y, groups=None, k=2, init="spectral"):
    likelihood = likelihood_of(X, y, groups)
    rng = np.random.RandomState(0)
    return Task(k, likelihood, None, True, init, 44, 500, 1e-3, climb, rng)


def test_starts_compete_on_enough_rows():
    X, y, _ = drawn(40_000)
    task = task_of(X, y)
    largest = samples.largest_sample(task, task.likelihood)
    assert largest.rows is task.likelihood.rows  # not copied
    n = samples.start_sample(task, largest).rows.n_present
    assert abs(n - samples.LEAST_ROWS) < 4 * np.sqrt(samples.LEAST_ROWS)


def test_rare_labels_need_more_rows():
    X, _, _ = drawn(60_000)
    y = np.where(np.arange(len(X)) % 200, 1, -1)
    task = task_of(X, y)
    sample = samples.start_sample(task, task.likelihood)
    assert (sample.rows.rows.y < 0).sum() > 0.7 * 10 * samples.RARE_PER_PARAMETER


def test_few_rows_of_groups_are_tried_first():
    X, y, truth = drawn(40_000, 20, 4, weights=np.full(4, 0.25), group_size=10)
    task = task_of(X, y, truth.groups, k=4)
    few = samples.small_sample(task, task.likelihood)
    # margin: 500 of 4,000 groups, six standard deviations
    assert abs(few.rows.n_present - samples.LEAST_ROWS) < 1_300
    assert few.rows.n_present < samples.start_sample(task, task.likelihood).rows.n_present / 2
    alone = task_of(X, y, k=4)
    assert samples.small_sample(alone, alone.likelihood) is None


def test_a_sample_keeps_groups_whole():
    likelihood, _, groups = random_problem(grouped=True, n=400)
    sample = likelihood.rows.sample(100, 5, seed=0)
    assert 60 <= sample.n_present <= 140  # groups are in it or not: 100 rows up to four deviations
    kept = {tuple(row) for row in sample.rows.X}
    for g in np.unique(groups):
        rows = likelihood.rows.rows.X[groups == g]
        assert len({tuple(row) in kept for row in rows}) == 1
    sizes = sorted(np.bincount(groups).tolist())
    assert set(sample.sizes.tolist()) <= set(sizes)


@pytest.fixture
def growing(monkeypatch):
    """A task, and samples of 200 to 6,000 rows."""
    monkeypatch.setattr(samples, "LEAST_ROWS", 200)
    monkeypatch.setattr(samples, "ROWS_PER_PARAMETER", 20)
    X, y, _ = sharp(6000)
    task = task_of(X, y)
    first = samples.start_sample(task, task.likelihood)
    return task, samples.growing_samples(task, first, task.likelihood, task.likelihood)


def test_samples_grow_to_all_rows(growing):
    task, found = growing
    sizes = [one.rows.n_present for one in found]
    assert sizes[0] < 300
    assert sizes[-1] == 6000
    assert len(sizes) >= 3
    ratios = np.divide(sizes[1:], sizes[:-1])
    assert (ratios > 1).all()
    # a sample of half of the rows would be all of them
    assert ratios.max() < 2.2 * samples.GROWTH_FACTOR
    assert found[-1].rows is task.likelihood.rows


def test_following_leads_close_to_the_maximum_of_all_rows(growing):
    task, found = growing
    start = climb(found[0], with_intercepts(PROFILES), tol=0.01, max_iter=500).parameters
    warm = samples.follow_maximum(task, start, found)
    top = climb(task.likelihood, start, tol=1e-6, max_iter=500)
    before = top.value - task.likelihood.evaluate(start)[0]
    after = top.value - task.likelihood.evaluate(warm.parameters)[0]
    assert after < before / 3
    near = climb(task.likelihood, warm.parameters, tol=1e-6, max_iter=500, inverse=warm.inverse)
    np.testing.assert_allclose(near.value, top.value, atol=1e-4)
    assert near.n_passes < top.n_passes


def test_a_given_start_is_not_moved(growing):
    task, found = growing
    start = with_intercepts(PROFILES)
    X, y = task.likelihood.rows.rows.X, task.likelihood.rows.rows.y
    warm = samples.follow_maximum(task_of(X, y, init=start), start, found)
    assert warm.parameters is start
    assert warm.inverse is None


def test_few_large_groups_are_all_sampled():
    """30 groups of 1,200 rows: the 5,000 rows of a sample would be four of them."""
    X, y, truth = drawn(36_000, 3, 3, weights=[0.4, 0.3, 0.3], group_size=1200)
    task = task_of(X, y, truth.groups, k=3)
    assert samples.start_sample(task, task.likelihood).rows.n_groups == 30
    mixture = fitted(X, y, k=3, groups=truth.groups)
    best = fitted(X, y, k=3, groups=truth.groups, init=truth.profiles)
    assert mixture.objective_ > best.objective_ - 0.5


def test_large_data_start_on_a_sample():
    X, y, _ = sharp(30_000)
    mixture, truth = fitted(X, y), fitted(X, y, init=PROFILES)
    np.testing.assert_allclose(mixture.objective_, truth.objective_, atol=1e-5)
    assert mixture.starts_[0].objective > mixture.objective_ / 2  # of fewer rows
    assert mixture.n_agreed_ >= 3


@pytest.mark.parametrize("n", [200, 5000])
@pytest.mark.parametrize(
    ("draw", "elliptical"),
    [
        (lambda rng, n: rng.standard_normal((n, 4)), True),
        (lambda rng, n: rng.standard_normal((n, 4)) * rng.chisquare(30, (n, 1)) ** -0.5, True),
        (lambda rng, n: rng.uniform(size=(n, 4)) < 0.1, False),
        (lambda rng, n: rng.exponential(size=(n, 4)), False),
    ],
    ids=["normal", "heavy tails", "rare", "skewed"],
)
def test_what_looks_elliptical(draw, elliptical, n):
    rng = np.random.default_rng(0)
    X = draw(rng, n).astype(float) @ rng.standard_normal((4, 4))
    assert samples.looks_elliptical(likelihood_of(X, rng.choice([-1, 1], n))) == elliptical
