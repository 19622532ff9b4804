"""Estimates from the features, and starts and subspaces that the user passes."""

import numpy as np
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture, MixtureWarning, SpectralMirror
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.preprocessing import (
    LARGEST_START,
    Preprocessing,
    given_start,
    spanned,
    whiten,
)
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.stacked import direction
from tests.helpers.mixtures import drawn, fitted
from tests.helpers.rows import in_groups


def prepared(rows, **options):
    streams = lambda: np.random.RandomState(0)  # noqa: E731
    return Preprocessing(in_groups(rows), "auto", None, streams, **options)


def test_whitening_knows_mean_and_covariance():
    X, y, _ = drawn()
    X = X * [1, 10, 0.1, 3] + [0, 5, 1, -2]
    features = whiten(Rows(X, y.astype(float)))
    assert features.proper
    np.testing.assert_allclose(features.whitening.mean, X.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(features.root @ features.root.T, np.cov(X.T, ddof=0), rtol=1e-9)


def test_collinear_columns_are_not_proper_but_have_a_root():
    X, y, _ = drawn()
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    rows = Rows(X, y.astype(float))
    features = whiten(rows)
    assert not features.proper
    covariance = np.cov(X.T, ddof=0)
    np.testing.assert_allclose(features.root @ features.root.T, covariance, atol=1e-9)
    assert prepared(rows).features(2).space is None
    assert prepared(rows).n_visible() == 1


def test_the_spectral_subspace_is_that_of_the_default_mirror():
    X, y, _ = drawn(5000, 8, profile_norm=8.0)
    found = prepared(Rows(X, y.astype(float))).features(2)
    mirror = SpectralMirror(2, random_state=0).fit(X, y)
    angles = np.linalg.svd(
        np.linalg.qr(found.space.basis.T)[0].T @ np.linalg.qr(mirror.components_.T)[0]
    )[1]
    np.testing.assert_allclose(angles, 1, atol=1e-6)
    assert found.space.separation == pytest.approx(mirror.separation_, rel=1e-6)


def test_another_number_of_components_costs_one_pass(monkeypatch):
    """What does not depend on k is computed once: only the Gauss-Newton step reads rows again."""
    monkeypatch.setattr(direction, "FIT_ROWS", 2000)  # then reading the sample is not a pass
    X, y, _ = drawn(5000, 8, profile_norm=8.0)
    rows, passes = Rows(X, y.astype(float)), []
    several = prepared(rows, several=True)
    alone = [prepared(rows).features(k) for k in (1, 2, 3)]
    blocks = Rows.blocks
    monkeypatch.setattr(
        Rows, "blocks", lambda self, factor=1: passes.append(1) or blocks(self, factor)
    )
    shared = []
    for k in (1, 2, 3):
        passes.clear()
        shared.append(several.features(k))
    assert len(passes) == 1
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_allclose(one.root, other.root, atol=1e-12)
        assert (one.space is None) == (other.space is None)
        if one.space is not None:
            np.testing.assert_array_equal(one.space.basis, other.space.basis)


@pytest.mark.parametrize(
    ("subspace", "message"),
    [
        (np.ones((2, 4)), "vectors that depend on each other"),
        (np.eye(2, 3), "2 vectors of 3 numbers, but X has 4 features"),
        (np.eye(5, 4), "5 vectors of 4 numbers"),
    ],
)
def test_vectors_that_span_no_subspace(subspace, message):
    with pytest.raises(ValueError, match=message):
        spanned(subspace, 4)


def test_a_mirror_of_other_columns():
    X, y, _ = drawn()
    frame = pd.DataFrame(X, columns=list("abcd"))
    mirror = SpectralMirror(2).fit(frame[list("dcba")], y)
    with pytest.raises(ValueError, match="other feature names, or in another order"):
        fitted(frame, y, subspace=mirror)


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_an_unfitted_mirror_takes_our_seed():
    X, y, _ = drawn(1000, 6)
    for k in (2, 3):
        found = [
            fitted(X, y, subspace=SpectralMirror(k), refine=False).objective_ for _ in range(2)
        ]
        assert found[0] == found[1]


def test_tiny_and_huge_vectors_span_the_same():
    X, y, truth = drawn()
    plain = fitted(X, y, subspace=truth.profiles, refine=False)
    for size in (1e-300, 1e300):
        basis = size * truth.profiles / np.abs(truth.profiles).max()
        mixture = fitted(X, y, subspace=basis, refine=False)
        np.testing.assert_allclose(mixture.objective_, plain.objective_, atol=1e-6)


def test_a_given_start_is_shortened():
    X, y, _ = drawn()
    whitening = whiten(Rows(X, y.astype(float))).whitening
    coordinates = Coordinates.whitened(whitening, None, intercept=False)
    near = given_start(np.eye(2, 4), 2, coordinates)
    np.testing.assert_allclose(coordinates.in_units(near.profiles)[0], np.eye(2, 4), atol=1e-12)
    far = given_start(1e9 * np.eye(2, 4), 2, coordinates)
    np.testing.assert_allclose(np.abs(far.profiles).max(axis=1), LARGEST_START)
    with pytest.raises(ValueError, match="init must hold 2 profiles of 4 numbers"):
        given_start(np.eye(3, 4), 2, coordinates)


def test_a_start_in_other_units():
    X, y, _ = drawn()
    near = fitted(X, y, init=np.eye(2, 4))
    far = fitted(X * 1e5, y, init=np.eye(2, 4))
    np.testing.assert_allclose(far.objective_, near.objective_, atol=1e-5)
    np.testing.assert_allclose(far.score_samples(X * 1e5, y).sum(), far.log_likelihood_, rtol=1e-9)


def test_samples_of_collinear_columns_are_collinear():
    X, y, _ = drawn()
    with pytest.warns(MixtureWarning, match="Column 4 can be computed from column 0"):
        mixture = fitted(np.column_stack([X, X[:, 0]]), y)
    rows = mixture.sample(2000, random_state=0)[0]
    np.testing.assert_allclose(rows[:, 0], rows[:, 4], atol=1e-6)
    for n in (0, -1, 2.5):
        with pytest.raises(ValueError, match="n_samples must be a whole number"):
            mixture.sample(n)


@pytest.mark.parametrize("l2", [0.1, "auto"])
@pytest.mark.parametrize("refit", ["mixture", "tuple"])
def test_a_fit_from_its_own_maximum_loses_nothing(refit, l2):
    """Intercepts and unequal weights are part of the start."""
    X, y, _ = drawn(weights=[0.8, 0.2], mean=[2.0, 0, 0, 0])
    first = fitted(X, y, l2=l2)
    whole = first if refit == "mixture" else (first.coef_, first.intercept_, first.weights_)
    again = fitted(X, y, l2=l2, init=whole)
    assert again.objective_ == pytest.approx(first.objective_, abs=1e-4)
    assert again.n_iter_ < 10
    np.testing.assert_allclose(again.weights_, first.weights_, atol=1e-4)
    assert np.isnan(again.doubt_)


@pytest.mark.parametrize(
    ("init", "said"),
    [
        ((np.eye(2, 4), np.zeros(3), [0.5, 0.5]), "intercept"),
        ((np.eye(2, 4), np.zeros(2), [0.5, -0.5]), "weights"),
        ((np.eye(2, 4), np.zeros(2)), "init"),
        ((np.eye(2, 4), np.zeros(2), [0.5, np.nan]), "weights"),
        (LinearClassifierMixture(2), "fitted"),
        ("best", "init"),
    ],
)
def test_starts_that_are_none(init, said):
    X, y, _ = drawn()
    with pytest.raises((ValueError, TypeError), match=said):
        fitted(X, y, init=init)
