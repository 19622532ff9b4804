"""Fits with a spread of few persons, too many classes, and features far from 0."""

import numpy as np
import pytest

from spectralmirror import MixtureWarning
from tests.helpers.mixtures import fitted
from tests.helpers.spreads import known, persons

quiet = pytest.mark.filterwarnings("ignore::spectralmirror.MixtureWarning")
TWO = ((4.5, -3.0), (-3.0, 1.5))


@quiet
@pytest.mark.parametrize(("k", "l2"), [(3, "auto"), (5, 0.01)])
def test_more_classes_than_there_are(k, l2):
    X, y, g = persons(60, 8)
    assert fitted(X, y, k, g, spread="diagonal", l2=l2).spread_kind_ == "diagonal"


@quiet
@pytest.mark.parametrize("k", [3, 4])
def test_a_given_number_of_classes_and_any_spread(k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = rng.uniform(size=400) < 1 / (1 + np.exp(-2 * X[:, 0]))
    mixture = fitted(X, y, k, np.repeat(np.arange(100), 4), spread="auto")
    assert 1 <= mixture.n_components_ <= k


@pytest.mark.parametrize("seed", range(4))
def test_climbs_end_at_the_maximum(seed):
    X, y, g = persons(60, 8, TWO, spread=0.5, seed=seed)
    assert fitted(X, y, 2, g, spread="diagonal", l2=1.0).converged_


@quiet
def test_few_persons():
    X, y, g = persons(2, 10)
    mixture = fitted(X, y, 1, g, spread="diagonal")
    assert np.isfinite(mixture.predict_proba(X, groups=g, history=(X, y, g))).all()
    X, y, g = persons(1, 10)
    assert fitted(X, y, 1, g, spread="auto").spread_kind_ is None
    with pytest.raises(ValueError, match="two persons at least, but 1 of 1 groups"):
        fitted(X, y, 1, g, spread="diagonal")


def test_a_history_of_no_rows_is_that_of_strangers():
    X, y, g = persons(10, 4)
    mixture = known([[1.5, -1.0]], [0.0], [1.0], 0.5 * np.eye(2), np.zeros(2))
    found = mixture.predict_proba(X, groups=g, history=(X[:0], y[:0], g[:0]))
    np.testing.assert_array_equal(found, mixture.predict_proba(X))


@quiet
def test_a_number_of_classes_that_is_too_large_keeps_its_spread():
    """Without spread, three classes have far less evidence than one that scatters."""
    X, y, g = persons(150, 10, ((1.5, 1.5),), spread=1.5)
    assert fitted(X, y, 3, g, spread="auto").spread_kind_ is not None


@quiet
def test_errors_of_deviations_near_0_are_those_of_the_information():
    """The scores of b vanish with b, and with them the cluster-robust error."""
    for seed in range(6):
        X, y, g = persons(120, 10, spread=(1.0, 0.0), seed=seed)
        mixture = fitted(X, y, 1, g, spread="diagonal")
        if mixture.spread_deviation_[1] < 0.05:
            assert mixture.spread_standard_error_[1] > 0.05
            return
    pytest.fail("no deviation near 0")


def test_profiles_of_persons_without_spread():
    X, y, g = persons(60, 8, TWO, spread=0.0)
    mixture = fitted(X, y, 2, g)
    weights = mixture.component_proba(X, y, g)[::8]
    np.testing.assert_allclose(mixture.person_profiles(X, y, g).coef, weights @ mixture.coef_)


def test_draws_of_the_parameters_without_intercept():
    """All scores of x = 0 are 0, also for features of mean 3."""
    X, y, g = persons(60, 8, mean=[3.0, 3.0])
    mixture = fitted(X, y, 1, g, spread="diagonal", fit_intercept=False)
    for model in mixture._person_models():
        for scores in model.scores(np.zeros((1, 2))):
            np.testing.assert_allclose(scores, 0, atol=1e-9)


def test_a_history_of_dask_rows_is_refused():
    da = pytest.importorskip("dask.array")
    X, y, g = persons(10, 4)
    mixture = known([[1.5, -1.0]], [0.0], [1.0], 0.5 * np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="without a history"):
        mixture.predict_proba(da.from_array(X), history=(X, y, g))


def of_many_labels(size):
    """So many labels of 12 persons with six coefficients."""
    rng = np.random.default_rng(0)
    n, d = 12, 6
    X = rng.standard_normal((size * n, d))
    g = np.repeat(np.arange(n), size)
    U = np.array([1.5, -1.0, 0.5, 1.0, 0.0, -0.5]) + rng.standard_normal((n, d))
    y = rng.uniform(size=len(X)) < 1 / (1 + np.exp(-np.einsum("ij,ij->i", X, U[g])))
    return X, y, g


def test_too_many_labels_for_the_nodes_are_reported():
    """200 labels determine all six coefficients of a person: nodes are soon outside."""
    X, y, g = of_many_labels(200)
    with pytest.warns(MixtureWarning, match="many labels for so many coefficients"):
        fitted(X, y, 1, g, spread="diagonal", l2=0.1)


def test_many_labels_have_nodes_of_each_persons_own(monkeypatch):
    X, y, g = of_many_labels(60)
    fitted(X, y, 1, g, spread="diagonal", l2=0.1)
    monkeypatch.setattr("spectralmirror.mixture.person_nodes.MOST_ROWS", 0)
    with pytest.warns(MixtureWarning, match="many labels for so many coefficients"):
        fitted(X, y, 1, g, spread="diagonal", l2=0.1)
