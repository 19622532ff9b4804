"""Rankings and best-worst answers as choices, against the formulas of their likelihoods."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import log_softmax

from spectralmirror import ChoiceMixture
from spectralmirror.choices import alternative_constants, best_worst, explode_rankings
from tests.helpers.refusals import assert_refused

U = np.array([1.0, -0.7, 0.4])


def rankings(n_sets=60, seed=0, sizes=(2, 6)):
    """Return alternatives, ranks by utilities with Gumbel noise, sets, and persons."""
    rng = np.random.default_rng(seed)
    choices = np.repeat(np.arange(n_sets), rng.integers(*sizes, n_sets))
    X = rng.standard_normal((len(choices), 3))
    utility = X @ U + rng.gumbel(size=len(X))
    rank = np.empty(len(X))
    for s in range(n_sets):
        here = np.flatnonzero(choices == s)
        rank[here[np.argsort(-utility[here])]] = np.arange(len(here)) + 1
    order = rng.permutation(len(X))
    return X[order], rank[order], choices[order], choices[order] // 5


def log_likelihood(found, u):
    """Return the log-likelihood of choices, with a loop over sets."""
    total = 0.0
    for s in np.unique(found.choices):
        here = found.choices == s
        assert found.chosen[here].sum() == 1
        assert here.sum() >= 2
        total += log_softmax(np.asarray(found.X, dtype=float)[here] @ u)[found.chosen[here]][0]
    return total


def rank_ordered(t, order):
    """Return the log-probability of a ranking, the first the best."""
    return sum(t[j] - np.log(np.exp(t[order[m:]]).sum()) for m, j in enumerate(order))


@pytest.mark.parametrize("depth", [None, 1, 2])
def test_exploded_rankings_have_the_likelihood_of_rankings(depth):
    X, rank, choices, groups = rankings()
    found = explode_rankings(X, rank, choices=choices, groups=groups, depth=depth)
    expected = 0.0
    for s in np.unique(choices):
        here = np.flatnonzero(choices == s)
        t, order = X[here] @ U, np.argsort(rank[here])
        for m, j in enumerate(order[:-1] if depth is None else order[:-1][:depth]):
            expected += t[j] - np.log(np.exp(t[order[m:]]).sum())
    assert log_likelihood(found, U) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(found.X, X[found.rows])
    np.testing.assert_array_equal(found.groups, groups[found.rows])


def test_probabilities_of_all_rankings_sum_to_one():
    X = np.random.default_rng(1).standard_normal((4, 3))
    total = 0.0
    for order in permutations(range(4)):
        rank = np.argsort(order) + 1
        found = explode_rankings(X, rank, choices=np.zeros(4))
        total += np.exp(log_likelihood(found, U))
        assert log_likelihood(found, U) == pytest.approx(rank_ordered(X @ U, list(order)))
    assert total == pytest.approx(1.0)


def test_rankings_of_some_alternatives():
    """Of five, two are ranked: the probability sums over the orders of the others."""
    X = np.random.default_rng(2).standard_normal((5, 3))
    rank = np.array([np.nan, 10.0, np.nan, 20.0, np.nan])  # any increasing numbers
    found = explode_rankings(X, rank, choices=np.zeros(5))
    rest = [[1, 3, *others] for others in permutations([0, 2, 4])]
    expected = np.log(sum(np.exp(rank_ordered(X @ U, np.array(order))) for order in rest))
    assert log_likelihood(found, U) == pytest.approx(expected)


@pytest.mark.parametrize("from_rest", [True, False])
def test_best_and_worst(from_rest):
    X, rank, choices, groups = rankings(seed=3)
    largest = pd.Series(rank).groupby(choices).transform("max").to_numpy()
    best, worst = rank == 1, rank == largest
    found = best_worst(X, best, worst, choices=choices, groups=groups, from_rest=from_rest)
    expected = 0.0
    for s in np.unique(choices):
        here = choices == s
        t = X[here] @ U
        expected += log_softmax(t)[best[here]][0]
        left = ~best[here] if from_rest else np.ones(here.sum(), dtype=bool)
        expected += log_softmax(-t[left])[worst[here][left]][0]
    assert log_likelihood(found, U) == pytest.approx(expected, rel=1e-12)


def test_containers():
    X, rank, choices, _ = rankings()
    plain = explode_rankings(X, rank, choices=choices)
    names = ["a", "b", "c"]
    for other in (sparse.csr_array(X), pd.DataFrame(X, columns=names), pl.DataFrame(X, names)):
        found = explode_rankings(other, rank, choices=choices)
        assert type(found.X) is type(other)
        values = found.X.toarray() if sparse.issparse(found.X) else np.asarray(found.X)
        np.testing.assert_array_equal(values, plain.X)
        both = best_worst(other, rank == 1, rank == 2, choices=choices, from_rest=False)
        values = both.X.toarray() if sparse.issparse(both.X) else np.asarray(both.X)
        second = both.choices % 2 == 1
        np.testing.assert_array_equal(values[second], -X[both.rows[second]])
        if hasattr(other, "columns"):
            assert list(found.X.columns) == list(both.X.columns) == names


def test_rankings_tell_more_than_first_choices():
    X, rank, choices, _ = rankings(400, seed=4, sizes=(5, 6))
    errors = []
    for depth in (1, None):
        found = explode_rankings(X, rank, choices=choices, depth=depth)
        mixture = ChoiceMixture(1, l2=0.0)
        mixture.fit(found.X, found.chosen, choices=found.choices, groups=found.groups)
        assert mixture.n_groups_ == 400
        assert np.abs((mixture.coef_[0] - U) / mixture.coef_standard_error_[0]).max() < 4
        errors.append(mixture.coef_standard_error_[0].mean())
    assert errors[1] < 0.8 * errors[0]


def test_constants_fit_the_shares():
    """With nothing but constants, the shares of the alternatives are those of the data."""
    rng = np.random.default_rng(0)
    names = np.tile(["bus", "car", "train"], 200)
    best = rng.choice(3, 200, p=[0.2, 0.5, 0.3])
    chosen = (np.arange(3) == best[:, None]).ravel()
    X, columns = alternative_constants(names, reference="car")
    assert columns == ["bus", "train"]
    mixture = ChoiceMixture(1, l2=0.0).fit(X, chosen, choices=np.repeat(np.arange(200), 3))
    shares = mixture.shares(X[:3], choices=np.zeros(3), alternatives=names[:3])
    np.testing.assert_allclose(shares.overall, np.bincount(best) / 200, atol=1e-6)
    assert_refused(lambda: alternative_constants(names, reference="boat"), "reference 'boat'")
    assert_refused(lambda: alternative_constants(["a", None]), "missing in row 1")
    assert_refused(lambda: alternative_constants(X), "must be one column")


def test_bad_rankings():
    X, rank, choices, groups = rankings()
    tied = np.where(choices == 7, 1.0, rank)
    none = np.where(choices == 7, np.nan, rank)
    assert_refused(
        lambda: explode_rankings(X, tied, choices=choices), "Two alternatives of set 7 .* rank 1"
    )
    assert_refused(lambda: explode_rankings(X, none, choices=choices), "No alternative of set 7")
    assert_refused(lambda: explode_rankings(X, rank[1:], choices=choices), "the rank of each of")
    assert_refused(lambda: explode_rankings(X, ["a"] * len(X), choices=choices), "hold numbers")
    assert_refused(
        lambda: explode_rankings(X, rank, choices=choices, depth=0), "depth must be a whole number"
    )
    assert_refused(
        lambda: explode_rankings(X, rank, choices=choices, groups=groups[1:]), "the person of each"
    )
    assert_refused(
        lambda: explode_rankings(X, rank, choices=choices, groups=rank), "groups changes inside"
    )
    assert_refused(lambda: explode_rankings(X[:, 0], rank, choices=choices), "X must be a table")
    best = rank == 1
    assert_refused(
        lambda: best_worst(X, best, best, choices=choices), "is the best and the worst of set"
    )
    assert_refused(
        lambda: best_worst(X, best, best & (choices != 7), choices=choices),
        "Set 7 of choices has no worst row",
    )
