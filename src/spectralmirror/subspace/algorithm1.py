"""Algorithm 1 of the paper, SpectralMirror, to the letter.

Extensions are in other modules. `variants` has known mean and covariance, r-hat as one of the
directions, and the estimate of the number of components; `lanczos` finds eigenpairs of Q without
forming it; and `halves` warns if the rows seem to be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Matrix, Vector
from spectralmirror.subspace.halves import FIRST_HALF, in_halves
from spectralmirror.subspace.mirror import MirroredRows, mirrored_rows
from spectralmirror.subspace.moments import LabelledMoments, labelled_moments
from spectralmirror.subspace.spectrum import Spectrum, dense_spectrum
from spectralmirror.subspace.whitening import Whitening

__all__ = ["Algorithm1", "algorithm1"]


@dataclass(frozen=True, eq=False)
class Algorithm1:
    """What the lines of Algorithm 1 compute.

    Attributes
    ----------
    first : LabelledMoments
        Sums over the first half of the rows, from which lines 1 to 3 are computed.
    whitening : Whitening
        mu-hat and Sigma-hat (lines 1 and 2).
    direction : ndarray of shape (d,)
        r-hat (line 3).
    second : MirroredRows
        Sums over the second half, under the mirrored labels Z (lines 4 and 5).
    spectrum : Spectrum
        All d eigenpairs of Q-hat, furthest from the median first (lines 6 and 7).
    basis : ndarray of shape (k, d)
        Vectors that span U-hat (line 8).
    """

    first: LabelledMoments
    whitening: Whitening
    direction: Vector
    second: MirroredRows
    spectrum: Spectrum
    basis: Matrix


def algorithm1(rows: Source, k: int) -> Algorithm1:
    """Find the span of k profiles, from pairs (X_i, Y_i), i = 1 ... n, in the order of the rows.

    Sigma = R R' with a triangular R takes the place of Sigma^(1/2), see `whitening`. Weights turn
    sums into weighted sums; rows of weight 0 are absent.
    """
    first, second = in_halves(rows)  # rows 1 ... floor(n/2), and the ceil(n/2) others
    sums = labelled_moments(first)
    # Line 1: mu = 1/floor(n/2) sum_first X_i
    mu = sums.features.mean
    # Line 2: Sigma = 1/ceil(n/2) sum_first (X_i - mu)(X_i - mu)'; its sum has floor(n/2) terms
    Sigma = sums.features.covariance / (second.n_present / first.n_present)
    whitening = Whitening.of(mu, Sigma, sums.features.dtype, FIRST_HALF)
    # Line 3: r = 1/floor(n/2) sum_first Y_i Sigma^-1 (X_i - mu)
    r = whitening.solve(sums.mean_cross)
    # Line 4: Z_i = Y_i sgn<r, X_i> in the second half; its rows are summed with these as weights
    mirrored = mirrored_rows(second, r, whitening)
    # Line 5: Q = 1/ceil(n/2) sum_second Z_i Sigma^(-1/2) (X_i - mu)(X_i - mu)' Sigma^(-1/2)
    Q = whitening.whiten_matrix(mirrored.moments.about(mu))
    # Line 6: Q = sum_l lambda_l w_l w_l'; furthest from the median of the eigenvalues first
    spectrum = dense_spectrum(Q)
    # Line 7: the k eigenvalues furthest from the median
    w = spectrum.vectors[:, :k]
    # Line 8: U = span(Sigma^(-1/2) w_(1), ..., Sigma^(-1/2) w_(k))
    U = whitening.direction(w).T
    return Algorithm1(sums, whitening, r, mirrored, spectrum, U)
