"""Mirrored labels and their sums, against a dense transcription of lines 3 to 5."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.mirror import (
    MirroredRows,
    label_sums,
    mirror_block,
    mirrored_labels,
    mirrored_rows,
)
from spectralmirror.subspace.whitening import Whitening


def problem(shift=0.0, dtype=np.float64, n=400, d=4):
    """Return rows in several blocks, with weights (some of them 0), and a direction."""
    rng = np.random.default_rng(0)
    X, y = (rng.standard_normal((n, d)) + shift).astype(dtype), rng.choice([-1.0, 1], n)
    rows = Rows(X, y.astype(dtype), rng.integers(0, 3, n).astype(dtype), block_bytes=2000)
    return rows, rng.standard_normal(d), Whitening.known(np.full(d, shift + 0.2), np.eye(d) + 0.3)


def test_labels_are_flipped_on_the_negative_side():
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [2, 5]])
    found = mirrored_labels(X, np.array([1, 1, 1, -1]), np.array([3.0, 0]))
    assert found.tolist() == [1, -1, 0, -1]  # sgn(0) = 0, and X is not centred


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_sums_against_the_formula(make, shift):
    rows, r, whitening = problem(shift)
    given = Rows(make(rows.X), rows.y, rows.weight, block_bytes=2000)
    found = mirrored_rows(given, r, whitening)
    X, y, w = rows.X, rows.y, rows.weight
    Z = y * np.sign(X @ r)
    centred = X - whitening.mean
    expected = sum(w[i] * Z[i] * np.outer(centred[i], centred[i]) for i in range(400)) / w.sum()
    np.testing.assert_allclose(found.moments.about(whitening.mean), expected, atol=1e-8)
    assert found.mirrored_mean == pytest.approx(w @ Z / w.sum())
    assert found.label_mean == pytest.approx(w @ y / w.sum())
    np.testing.assert_allclose(found.mean, np.average(X, axis=0, weights=w))


def test_label_sums_against_the_formula():
    for shift in (0.0, 1e4):
        rows, _, whitening = problem(shift)
        sums, step = label_sums(rows, whitening)
        expected = (rows.weight * rows.y) @ (rows.X - whitening.mean)
        np.testing.assert_allclose(sums.about(step), expected, atol=1e-8)
        assert sums.label_sum == pytest.approx(rows.weight @ rows.y)


def test_blocks_add_up_to_the_whole():
    rows, r, _ = problem()
    of = partial(MirroredRows.of, direction=r, origin=None)
    whole, parts = of(rows.present()), reduce(rows, of)
    np.testing.assert_allclose(parts.moments.second, whole.moments.second, atol=1e-10)
    np.testing.assert_allclose(parts.first, whole.first, atol=1e-10)
    assert parts.label_sum == whole.label_sum


def test_single_precision_resolves_the_sign_far_from_zero():
    """<r, x> of a few units beside terms of 1e7, whose float32 products are off by units."""
    rows, r, whitening = problem(1e7, np.float32)
    r -= r.mean()
    exact = rows.y * np.sign(rows.X.astype(np.float64) @ r)
    found = mirror_block(rows, r, whitening.origin(rows.dtype))
    np.testing.assert_array_equal(found, exact)
    assert (mirrored_labels(rows.X, rows.y, r) != exact).any()  # in single precision


def test_values_that_are_not_finite_are_reported():
    rows, r, whitening = problem()
    rows.X[np.flatnonzero(rows.weight)[5], 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        mirrored_rows(rows, r, whitening)
