"""The default method: all rows, several mirrors, and one Gauss-Newton step at the end.

1. mean, covariance and r-hat = mean(y W) from all rows; scores s along r-hat (`direction`);
2. residuals e = y - m(s), and S_b = sum of e W W', v_b = sum of e W in slices of s (`slices`);
3. r-hat is one direction; the others are the leading left singular vectors, beside it, of
   A = [sum_b T_1(b) S_b | sum_b T_2(b) S_b | sum_b T_3(b) S_b | v_1 ... v_B], scaled to noise of
   unit variance (`spectrum`), compared with random signs on the residuals (`sign_flips`);
4. one Gauss-Newton step on all directions but r-hat (`gauss_newton`).

If rows come in groups that share a classifier, steps 2 and 3 are replaced by the mean of
(y W)(y' W')' over pairs of rows in a group (`group_pairs`). It estimates sum_l p_l a_l^2 u_l u_l',
and needs no mirror.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2

from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.reduce import reduce
from spectralmirror.rows.types import Matrix
from spectralmirror.subspace.interface import KnownFeatures, Outcome
from spectralmirror.subspace.spectrum import Spectrum
from spectralmirror.subspace.stacked.direction import Direction, is_single, turned
from spectralmirror.subspace.stacked.gauss_newton import alone, in_groups, sharpen
from spectralmirror.subspace.stacked.group_pairs import PairMoments
from spectralmirror.subspace.stacked.scores import Frame, Scored
from spectralmirror.subspace.stacked.sign_flips import (
    Draws,
    flipped_pairs,
    flipped_slices,
    noise_edge,
)
from spectralmirror.subspace.stacked.slices import SlicedMoments, Slices, mirrors
from spectralmirror.subspace.stacked.spectrum import stacked_spectrum
from spectralmirror.subspace.whitening import Whitening

__all__ = ["Candidates", "StackedMirror"]

#: Groups are used if at least this share of the rows has another row in its group.
LEAST_COMPANY = 0.5

#: Returns a random stream, see `StackedMirror.streams`.
Streams = Callable[[], np.random.RandomState]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Directions to choose from, strongest first, and the noise to compare them with.

    Attributes
    ----------
    first : ndarray of shape (n_first, d)
        Directions that are always kept, whitened and of unit length: r-hat; none with groups.
    spectrum : Spectrum
        The directions beside these.
    flips : callable
        Random stream -> draws of the leading eigenvalue under random signs.
    """

    first: Matrix
    spectrum: Spectrum
    flips: Callable[[np.random.RandomState], Draws]


@dataclass(frozen=True, eq=False)
class StackedMirror:
    """What the default method computes before the number of components matters.

    Moments, r-hat and scores are computed by :meth:`of`; slices, spectrum and the edge of the
    noise when they are first needed, and then kept. Asking for the subspaces of several numbers
    of components therefore costs one pass over the rows each, the Gauss-Newton step.

    Attributes
    ----------
    grouped : GroupedRows
        The rows.
    direction : Direction
        The mirror direction, and the scores of the rows.
    streams : callable
        Returns the random stream for the sign flips. It is called once for the edge that known
        numbers of components share, and once for every count of components.
    """

    grouped: GroupedRows
    direction: Direction
    streams: Streams

    @classmethod
    def of(
        cls,
        grouped: GroupedRows,
        known: KnownFeatures,
        streams: Streams,
        *,
        elliptical: bool = False,
    ) -> StackedMirror:
        """Estimate r-hat, and mean and covariance unless they are known."""
        direction = Direction.of(grouped.rows, known, elliptical=elliptical)
        return cls(grouped, direction, streams)

    def outcome(self, n_components: int | None, false_positive_rate: float = 0.01) -> Outcome:
        """Return the subspace of this dimension; None counts the directions that stand out.

        The false-positive rate applies to the count, and to the statement that r-hat is noise.
        """
        counted = n_components is None
        found = self._counted_candidates if counted else self._candidates
        edge = self._counting_edge(false_positive_rate) if counted else self._edge
        n_first = len(found.first)
        if n_components is None:
            n_kept = max(int((found.spectrum.eigenvalues > edge).sum()), 1 - n_first)
        else:
            n_kept = n_components - n_first
        basis = found.spectrum.vectors[:, :n_kept].T
        if n_first:
            basis = np.vstack([found.first, basis])
        improved, error = self._sharpened(basis, n_first)
        weakest = found.spectrum.eigenvalues[n_kept - 1] if n_kept else np.nan
        whitening, cross = self.whitening, self.direction.cross
        return Outcome(
            whitening.direction(improved.T).T,
            whitening.direction(basis[0]) if n_first else whitening.solve(cross),
            found.spectrum,
            n_kept,
            whitening.mean,
            self._warning(found.spectrum, n_kept, edge, false_positive_rate),
            separation=float(weakest / edge) if n_kept else np.nan,
            error=error,
            whitening=whitening,
        )

    def _warning(self, spectrum: Spectrum, n_kept: int, edge: float, rate: float) -> str | None:
        """Return a warning if some of the directions that were kept are no more than noise."""
        axis, n = self.direction.score.axis, self.direction.rows.effective_rows
        seen = int((spectrum.eigenvalues[:n_kept] > edge).sum())
        hidden = n * (axis @ axis) < chi2.isf(rate, len(axis))
        if seen == n_kept and not (hidden and n_kept == 0):
            return None
        what = "The mirror direction is no longer than noise"
        if n_kept == 1:
            what = "The only eigenvalue kept does not stand out of the noise"
        elif n_kept > 1:
            what = f"{n_kept - seen} of {n_kept} eigenvalues do not stand out of the noise"
        groups = (
            ""
            if self.grouped.is_grouped
            else "pass groups of rows known to share their classifier, "
        )
        return (
            f"{what}, with {n / len(axis):.0f} rows per feature: such directions mean little. Use "
            f"more rows, {groups}or ask for fewer components."
        )

    @property
    def whitening(self) -> Whitening:
        """Mean and covariance."""
        return self.direction.frame.whitening

    @property
    def in_pairs(self) -> bool:
        """Whether pairs of rows in a group take the place of the mirror."""
        return self.grouped.share_in_company >= LEAST_COMPANY

    @cached_property
    def _candidates(self) -> Candidates:
        """Directions for a known number of components."""
        if self.in_pairs:
            return from_pairs(self.grouped, self.direction.frame)
        return beside_mirror(self.direction, self._scored)

    @cached_property
    def _counted_candidates(self) -> Candidates:
        """Directions to be counted: beside the mirror after a step to where it predicts best."""
        if self.in_pairs or len(self.direction.cross) == 1:
            return self._candidates
        return beside_mirror(self.direction, turned(self.direction, self._scored))

    @cached_property
    def _scored(self) -> Scored:
        return self.direction.scored()

    @cached_property
    def _edge(self) -> float:
        """The eigenvalue that noise exceeds with a probability of 5 %."""
        return noise_edge(self._candidates.flips(self.streams()), None)

    def _counting_edge(self, rate: float) -> float:
        return noise_edge(self._counted_candidates.flips(self.streams()), rate)

    def _sharpened(self, basis: Matrix, n_fixed: int) -> tuple[Matrix, float]:
        """Return the sharpened basis and its estimated error; the basis itself if k = d."""
        (k, d), rows, frame = basis.shape, self.grouped.rows, self.direction.frame
        if k == d:
            return basis, 0.0
        if self.in_pairs:
            model = in_groups(self.grouped, frame, basis)
            return sharpen(rows, self.grouped, frame, basis, model, n_fixed)
        by_row = alone(rows, self.direction.some, frame, basis)
        if by_row is None:
            return basis, np.nan
        return sharpen(rows, rows, frame, basis, by_row, n_fixed)


def beside_mirror(direction: Direction, scored: Scored) -> Candidates:
    """Return the mirror direction, and the spectrum of the stacked mirrors beside it."""
    frame, rows, some = direction.frame, direction.rows, direction.some
    if len(direction.cross) == 1:
        nothing = Spectrum(np.empty(0), np.empty((1, 0)), 1.0)
        return Candidates(np.ones((1, 1)), nothing, lambda _: np.ones)
    single = is_single(rows, frame.whitening)
    origin = frame.whitening.origin(np.dtype(np.float32) if single else rows.dtype)
    of = partial(
        SlicedMoments.of,
        scored=scored,
        edges=scored.edges,
        frame=frame,
        origin=origin,
        single=single,
    )
    sums = reduce(rows, of, factor=6)
    slices = Slices.of(scored.edges, sums.sums)
    step = frame.whitening.mean_from(origin)
    products, vectors = sums.about(step, slices, mirrors(slices) / slices.noise)
    M = [frame.whitening.whiten_matrix(product) for product in products]
    v = np.array([frame.whitening.whiten_sum(vector) for vector in vectors])
    spectrum = stacked_spectrum(M, slices.beside_turn(v.T / slices.noise), scored.unit)
    flips = partial(flipped_slices, rows, some, frame, scored, slices)
    return Candidates(scored.unit[None, :], spectrum, flips)


def from_pairs(grouped: GroupedRows, frame: Frame) -> Candidates:
    """Return the spectrum of the cross moment within groups, scaled to noise of unit variance."""
    pairs = reduce(grouped, partial(PairMoments.of, frame=frame))
    d = len(frame.whitening.mean)
    eigenvalues, vectors = eigh(frame.whitening.whiten_matrix(pairs.cross()) / np.sqrt(d))
    spectrum = Spectrum(eigenvalues[::-1], vectors[:, ::-1], 0.0)
    return Candidates(np.empty((0, d)), spectrum, partial(flipped_pairs, frame, grouped))
