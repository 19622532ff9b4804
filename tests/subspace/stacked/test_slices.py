"""Slices of the score: sums over their rows, edges, and mirrors."""

from functools import partial

import numpy as np

from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.stacked.scores import Frame
from spectralmirror.subspace.stacked.slices import (
    N_SLICES,
    SlicedMoments,
    Slices,
    SliceSums,
    mirrors,
    slice_edges,
)
from spectralmirror.subspace.whitening import Whitening


def by_label(rows):
    """Scores that are handed over as labels, with e = cos 3s and a slope of 1."""
    s = np.asarray(rows.y)
    return s, np.cos(3 * s), np.ones(len(s)), 1.0


def sliced(rows):
    present = rows.present()
    edges = slice_edges(present.y, present.weight)
    return Slices.of(edges, reduce(rows, partial(SliceSums.of, scored=by_label, edges=edges)))


def test_slices_are_sums_over_their_rows():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((500, 3)) + 1, rng.standard_normal(500)
    weight = rng.integers(0, 3, 500).astype(float)
    rows = Rows(X, s, weight, block_bytes=2000)
    slices = sliced(rows)
    index, w = slices.index(s), weight
    counts = np.bincount(index, w)
    assert len(counts) == N_SLICES
    assert np.ptp(counts) <= 4  # of 500 rows of weight 1 or 2: equal up to a row at either end
    e = np.cos(3 * s) - slices.means[index]
    assert np.abs(np.bincount(index, w * e)).max() < 1e-12
    np.testing.assert_allclose(slices.noise**2, np.bincount(index, w * e**2))
    whitening, mean = Whitening.known(np.zeros(3), np.eye(3)), np.array([0.5, 1.0, 2.0])
    frame = Frame(X.dtype, whitening, elliptical=True)
    of = partial(SlicedMoments.of, scored=by_label, slices=slices, frame=frame)
    matrices, vectors = reduce(rows, of).about(mean)
    for b in range(N_SLICES):
        here = index == b
        z = w[here] * e[here]
        centred = (X[here] - mean) * (np.sqrt(3) / np.linalg.norm(X[here], axis=1))[:, None]
        np.testing.assert_allclose(matrices[b], (centred.T * z) @ centred, atol=1e-5)
        np.testing.assert_allclose(vectors[b], z @ centred, atol=1e-5)


def test_no_row_lies_on_the_edge_of_a_slice():
    s = np.repeat([-1.0, 0.0, 1.0, 2.0], [10, 50, 20, 20]) + 1e-13 * np.arange(100)
    edges = slice_edges(s, None)
    assert np.abs(edges[:-1, None] - s).min() > 0.4
    np.testing.assert_array_equal(np.bincount(np.searchsorted(edges, s)), [60, 0, 0, 20, 20])


def test_mirrors_are_the_score_its_sign_and_one():
    s = np.random.default_rng(0).standard_normal(1200)
    slices = sliced(Rows(np.ones((1200, 1)), s))
    T = mirrors(slices)
    np.testing.assert_allclose(np.linalg.norm(T, axis=1), 1)
    for mirror, shape in zip(T, (slices.scores, np.sign(slices.scores), np.ones(6)), strict=True):
        np.testing.assert_allclose(mirror, shape / np.linalg.norm(shape))
    assert (np.diff(slices.scores) > 0).all()
    turned = slices.beside_turn(np.outer([1.0, 2.0], slices.turn))
    np.testing.assert_allclose(turned, 0, atol=1e-14)
