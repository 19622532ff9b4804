"""Eigenpairs of Q without forming it, for known mean and covariance (section 6 of the paper).

A product with Q takes n d operations, and Lanczos needs a few dozen products, whereas forming Q
takes n d^2 operations. The median of the eigenvalues is then unknown; the mean of Z, to which it
converges, takes its place as the centre of the bulk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from spectralmirror.rows.checks import check_finite
from spectralmirror.rows.kernels import shifted
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import one_blas_thread, reduce
from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Vector
from spectralmirror.subspace.mirror import mirror_block
from spectralmirror.subspace.spectrum import Spectrum, dense_spectrum
from spectralmirror.subspace.whitening import Whitening

__all__ = ["MirroredOperator", "lanczos_outliers", "lanczos_spectrum"]


def lanczos_outliers(
    rows: Source,
    direction: Vector,
    whitening: Whitening,
    beside: Vector | None,
    k: int,
    tol: float,
    rng: np.random.RandomState,
) -> Spectrum:
    """Return the k eigenpairs of Q furthest from the mean of Z, without forming Q.

    Parameters
    ----------
    rows : Rows
        Rows in memory.
    direction : ndarray of shape (d,)
        r-hat, which mirrors the labels.
    whitening : Whitening
        Mean and covariance.
    beside : ndarray of shape (d,) or None
        Restrict Q to the orthogonal complement of this whitened vector.
    k : int
        Number of eigenpairs.
    tol : float
        Accuracy, as a share of the relative sampling error of Q, 2 sqrt(d / n).
    rng : RandomState
        For the first Lanczos vector.
    """
    assert rows.in_memory
    Q = MirroredOperator(cast(Rows, rows), direction, whitening)
    check_finite(rows, np.array([Q.bulk]))
    d = len(direction)
    unit = np.zeros(d) if beside is None else beside / np.linalg.norm(beside)

    def centred(v: Vector) -> Vector:
        v = v - (unit @ v) * unit
        image = Q(v) - Q.bulk * v
        return image - (unit @ image) * unit

    start = rng.standard_normal(d)
    tolerance = tol * min(2 * np.sqrt(d / rows.effective_rows), 1.0)
    return lanczos_spectrum(centred, start - (unit @ start) * unit, k, Q.bulk, tolerance)


class MirroredOperator:
    """The product v -> Q v without forming Q: n d operations, whereas forming Q takes n d^2.

    Q v = sum_i w_i Z_i W_i <W_i, v> / sum_i w_i, with W_i the whitened features.

    Attributes
    ----------
    bulk : float
        The mean of Z, around which the bulk of the spectrum lies.
    """

    def __init__(self, rows: Rows, direction: Vector, whitening: Whitening):
        self.whitening = whitening
        self.origin = whitening.origin(rows.dtype)
        everyone = Rows(rows.X, rows.y)  # without weights, so that absent rows get a label, too
        parts = [mirror_block(part, direction, self.origin) for part in everyone.blocks()]
        self.rows = Rows(rows.X, np.concatenate(parts), rows.weight)
        self.weight = rows.total_weight
        self.bulk = reduce(self.rows, _weighted_sum) / self.weight

    def __call__(self, v: Vector) -> Vector:
        """Apply Q to a whitened vector."""
        g = self.whitening.direction(v)
        step = self.whitening.mean_from(self.origin)
        offset = self.rows.X.dtype.type(step @ g)
        g = g.astype(self.rows.X.dtype)

        def of(block: Rows) -> Vector:
            sums = np.zeros(len(g) + 1)
            for piece in block.pieces():
                part = shifted(piece.X, self.origin)
                t = part.dot(g)  # much faster than @ for vectors, and sparse rows have it, too
                t -= offset
                t *= piece.weighted(piece.y)
                sums[:-1] += part.T.dot(t)
                sums[-1] += float(t.sum(dtype=np.float64))
            return sums

        sums = reduce(self.rows, of)
        return self.whitening.whiten_sum(sums[:-1] - sums[-1] * step) / self.weight


def _weighted_sum(block: Rows) -> float:
    return float(block.weighted(block.y).sum(dtype=np.float64))


def lanczos_spectrum(
    centred: Callable[[Vector], Vector], start: Vector, k: int, bulk: float, tolerance: float
) -> Spectrum:
    """Return the k eigenpairs of Q that lie furthest from the bulk, by Lanczos.

    Parameters
    ----------
    centred : callable
        v -> (Q - bulk I) v.
    start : ndarray of shape (d,)
        First Lanczos vector.
    k : int
        Number of eigenpairs. If k >= d - 1, or if Lanczos does not converge, the operator is
        applied to the d unit vectors instead.
    bulk : float
        Centre of the other eigenvalues.
    tolerance : float
        A pair is accepted if its residual is below tolerance |eigenvalue - bulk|.
    """
    d = len(start)
    if k == 0:
        return Spectrum(np.empty(0), np.empty((d, 0)), bulk)
    if k < d - 1:
        operator = LinearOperator((d, d), matvec=centred, dtype=np.float64)
        # ARPACK checks its residuals only when its basis is full.
        n_vectors = min(d, max(20, 2 * k + 8))
        try:
            with one_blas_thread():
                eigenvalues, vectors = eigsh(
                    operator, k, which="LM", v0=start, tol=tolerance, ncv=n_vectors
                )
            return Spectrum.sorted(eigenvalues + bulk, vectors, bulk)
        except ArpackError:
            pass
    columns = np.column_stack([centred(unit) for unit in np.eye(d)])
    whole = dense_spectrum((columns + columns.T) / 2 + bulk * np.eye(d), bulk)
    return Spectrum(whole.eigenvalues[:k], whole.vectors[:, :k], bulk)
