"""Weights of rows, and sums of them that must be known before any weight can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectralmirror.rows.messages import numbers, refuse_masked

__all__ = ["WeightSums", "check_weights"]


def check_weights(sample_weight: ArrayLike, n: int, dtype: Any) -> NDArray[Any]:
    """Return one finite, non-negative weight per row, not all of them 0."""
    refuse_masked(sample_weight, "sample_weight")
    weight = numbers(sample_weight, "sample_weight must hold numbers, one for each row.")
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must hold one number for each of {n} rows, got shape {weight.shape}."
        )
    sums = WeightSums.of(weight)
    if not sums.n_present:
        raise ValueError("sample_weight is zero in every row: nothing is left to fit.")
    if sums.n_present > 1 and sums.total <= 1 + 1e-12:  # in units of the largest
        raise ValueError(
            f"sample_weight is so large in row {weight.argmax()} that all other rows vanish beside "
            "it: use smaller weights, or leave the row out."
        )
    return sums.scaled(weight, dtype)


@dataclass(frozen=True)
class WeightSums:
    """Sums over weights; the sums of two parts can be added.

    Attributes
    ----------
    n_present : int
        Number of weights that are not 0.
    unit : float
        The largest of them.
    least : float
        The smallest of them.
    total, squares : float
        Sums of the weights and of their squares in these units, so that nothing overflows.
    fractions : bool
        Whether some are not integers.
    """

    n_present: int
    unit: float
    least: float
    total: float
    squares: float
    fractions: bool

    @classmethod
    def ones(cls, n: int) -> WeightSums:
        """Return the sums of n weights of 1."""
        return cls(n, 1.0 if n else 0.0, 1.0 if n else np.inf, float(n), float(n), False)

    @classmethod
    def of(cls, weight: NDArray[np.float64], where: Callable[[int], str] = str) -> WeightSums:
        """Sum the weights; `where` names a row in errors."""
        bad = ~(np.isfinite(weight) & (weight >= 0))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"sample_weight must be finite and not negative, but is {weight[row]} in row "
                f"{where(row)}: use 0 to leave a row out."
            )
        present = weight[weight > 0]
        unit = float(present.max(initial=0.0))
        shares = present / (unit or 1.0)
        least = float(present.min(initial=np.inf))
        fractions = bool((weight % 1).any())
        return cls(
            len(present), unit, least, float(shares.sum()), float(shares @ shares), fractions
        )

    def __add__(self, other: WeightSums) -> WeightSums:
        unit = max(self.unit, other.unit)
        a, b = self.unit / (unit or 1.0), other.unit / (unit or 1.0)
        return WeightSums(
            self.n_present + other.n_present,
            unit,
            min(self.least, other.least),
            self.total * a + other.total * b,
            self.squares * a * a + other.squares * b * b,
            self.fractions or other.fractions,
        )

    @property
    def _not_frequencies(self) -> bool:
        return self.fractions or not 1e-9 < self.unit < 1e9

    @property
    def alike(self) -> bool:
        """Whether all positive weights are equal, and not frequencies."""
        return self._not_frequencies and self.unit - self.least <= 1e-12 * self.unit

    @property
    def has_fractions(self) -> bool:
        """Whether the weights, as they are used, are not integers."""
        return self._not_frequencies and not self.alike

    def scaled(self, weight: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
        """Return the weights as they are used.

        Integers (frequencies) stay as they are. Other weights are scaled so that they sum to
        Kish's effective sample size. No positive weight becomes 0 in the precision of the features.
        """
        if self.alike:
            return np.sign(weight).astype(dtype)
        if self._not_frequencies:
            weight = weight / self.unit * (self.total / self.squares)
        least = np.finfo(dtype).tiny
        return np.where(weight > 0, np.maximum(weight, least), 0).astype(dtype)

    @property
    def total_scaled(self) -> float:
        """The sum of the weights as they are used."""
        return self.effective if self._not_frequencies else self.total * self.unit

    @property
    def effective(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        return float(self.n_present) if self.alike else self.total * (self.total / self.squares)
