"""Slices of the score: sums over their rows, edges, balance and mirrors."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.stacked.scores import N_SLICES, SHORTEST, Frame, slice_edges
from spectralmirror.subspace.stacked.slices import SlicedMoments, Slices, mirrors
from spectralmirror.subspace.whitening import Whitening


def by_label(rows):
    """Scores that are handed over as labels, with e = 0.2 + cos 9s and a slope of 1."""
    s = np.asarray(rows.y, dtype=np.float64)
    return s, 0.2 + np.cos(9 * s), np.ones(len(s)), 1.0


def sliced(rows, scored=by_label, elliptical=False, origin=None, single=False):
    """Return the slices, and the sums over their rows, in whitened coordinates that are x."""
    present, d = rows.present(), rows.n_features
    frame = Frame(rows.dtype, Whitening.known(np.zeros(d), np.eye(d)), elliptical)
    edges = slice_edges(np.asarray(present.y, dtype=np.float64), present.weight)
    of = partial(SlicedMoments.of, scored=scored, edges=edges, frame=frame)
    sums = reduce(rows, partial(of, origin=origin, single=single))
    return Slices.of(edges, sums.sums), sums


def problem(dtype=np.float64):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((500, 3)) + 1, rng.standard_normal(500)
    return X.astype(dtype), s, rng.integers(0, 3, 500).astype(dtype)


def test_slices_weigh_the_same_and_their_residuals_cancel():
    X, s, weight = problem()
    slices, _ = sliced(Rows(X, s, weight, block_bytes=2000))
    index, e = slices.residuals(s, by_label(Rows(X, s))[1])
    counts = np.bincount(index, weight)
    assert len(counts) == N_SLICES
    assert np.ptp(counts) <= 4  # of 500 rows of weight 1 or 2: equal up to a row at either end
    assert np.abs(np.bincount(index, weight * e)).max() < 1e-12
    np.testing.assert_allclose(slices.noise**2, np.bincount(index, weight * e**2))
    np.testing.assert_allclose(slices.scores, np.bincount(index, weight * s) / counts)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("elliptical", [False, True])
@pytest.mark.parametrize("origin", [None, np.array([1.0, 0.5, 2.0])])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_mirrored_sums_are_those_of_the_rows_one_by_one(single, elliptical, origin, make):
    X, s, weight = problem()
    X[:, 1] = np.where(np.abs(X[:, 1]) < 1.2, 0, X[:, 1])
    rows = Rows(make(X), s, weight, block_bytes=2000)
    slices, sums = sliced(rows, elliptical=elliptical, origin=origin, single=single)
    mean, T = np.array([0.5, 1.0, 2.0]), np.random.default_rng(1).standard_normal((3, N_SLICES))
    products, vectors = sums.about(mean - (0 if origin is None else origin), slices, T)
    index, e = slices.residuals(s, by_label(Rows(X, s))[1])
    squares = np.maximum(np.square(X).sum(axis=1), SHORTEST * 3)
    scale = np.sqrt(3 / squares) if elliptical else np.ones(500)
    W = (X - mean) * scale[:, None]
    tolerance = 1e-4 if single or elliptical else 1e-10  # lengths are in single precision, too
    for b in range(N_SLICES):
        z = weight * e * (index == b)
        np.testing.assert_allclose(vectors[b], z @ W, atol=tolerance)
    for product, t in zip(products, T, strict=True):
        z = weight * e * t[index]
        np.testing.assert_allclose(product, (W.T * z) @ W, atol=tolerance)


def test_scaling_residuals_is_like_subtracting_their_mean():
    """The same where residuals depend on the label alone, as in a narrow slice."""
    rng = np.random.default_rng(0)
    s, y = rng.standard_normal(600), rng.choice([-1.0, 1], 600, p=[0.8, 0.2])
    rows = Rows(np.ones((600, 1)), s)
    slices, _ = sliced(rows, lambda block: (block.y, y[: len(block)] - 0.1, 0 * block.y + 1, 1.0))
    index, e = slices.residuals(s, y - 0.1)
    means = np.bincount(index, y) / np.bincount(index)
    np.testing.assert_allclose(e, y - means[index])


def test_a_slice_of_one_label_says_nothing():
    s = np.linspace(-1, 1, 600)
    e = np.where(s < 0, 0.01, np.where(np.arange(600) % 2, 1.0, -1.0))
    slices, _ = sliced(Rows(np.ones((600, 1)), s), lambda block: (block.y, e, 0 * e + 1, 1.0))
    np.testing.assert_array_equal(slices.balance[:, :3], 0)
    assert (slices.balance[:, 3:] > 0.9).all()
    assert (slices.noise > 0).all()


def test_no_row_lies_on_the_edge_of_a_slice():
    s = np.repeat([-1.0, 0.0, 1.0, 2.0], [10, 50, 20, 20]) + 1e-13 * np.arange(100)
    edges = slice_edges(s, None)
    assert np.abs(edges[:-1, None] - s).min() > 0.4
    np.testing.assert_array_equal(np.bincount(np.searchsorted(edges, s)), [60, 0, 0, 20, 20])


def test_mirrors_are_the_score_its_sign_and_one():
    s = np.random.default_rng(0).standard_normal(1200)
    slices, _ = sliced(Rows(np.ones((1200, 1)), s))
    T = mirrors(slices)
    np.testing.assert_allclose(np.linalg.norm(T, axis=1), 1)
    for mirror, shape in zip(T, (slices.scores, np.sign(slices.scores), np.ones(6)), strict=True):
        np.testing.assert_allclose(mirror, shape / np.linalg.norm(shape))
    assert (np.diff(slices.scores) > 0).all()
    turned = slices.beside_turn(np.outer([1.0, 2.0], slices.turn))
    np.testing.assert_allclose(turned, 0, atol=1e-14)
