"""The two halves of the rows that Algorithm 1 works on, and tests for whether rows were sorted.

The first half gives mean, covariance and r-hat, the second half gives Q. They are taken in the
order of the rows, as in the paper, so that sorted rows make halves that differ.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, f

from spectralmirror.rows.source import Source
from spectralmirror.rows.types import Vector
from spectralmirror.subspace.interface import KnownFeatures
from spectralmirror.subspace.mirror import MirroredRows
from spectralmirror.subspace.moments import LabelledMoments
from spectralmirror.subspace.whitening import Whitening

__all__ = ["FIRST_HALF", "describe_halves", "features_differ", "in_halves", "labels_differ"]

#: Where a problem with the estimates lies, in error messages.
FIRST_HALF = " in the first half of the rows"
#: Probability that features in random order are taken for sorted ones.
SORTED = 1e-9
#: Label means of the halves that differ by more standard errors than this do not differ by chance.
STANDARD_ERRORS = 6


def in_halves(rows: Source) -> tuple[Source, Source]:
    """Return rows 1 to floor(n/2), and the other ceil(n/2); rows of weight 0 do not count."""
    n = rows.n_present
    return rows.between(0, n // 2), rows.between(n // 2, n)


def describe_halves(
    rows: Source,
    known: KnownFeatures,
    whitening: Whitening,
    first: LabelledMoments | None,
    second: MirroredRows | None,
) -> str | None:
    """Return a warning if the halves differ in their labels or features more than by chance.

    Without sums over both halves, as with known mean and covariance, there is nothing to compare.
    """
    if first is None or second is None:
        return None
    n_first, n_second = (half.effective_rows for half in in_halves(rows))
    variance = 1 / n_first + 1 / n_second
    _, covariance_rows = known.rows_behind(n_first)
    step = whitening.whiten_sum(second.mean - first.features.mean)
    if labels_differ(first.label_mean, second.label_mean, variance):
        what = "labels"
    elif features_differ(step, variance, covariance_rows):
        what = "means"
    else:
        return None
    return (
        f"The two halves of the rows have very different {what}: method='paper' divides the rows "
        "in their order, shuffle rows that are sorted."
    )


def labels_differ(first: float, second: float, variance: float) -> bool:
    """Return whether two label means, of 1/n_1 + 1/n_2 = `variance`, differ by six errors."""
    return (second - first) ** 2 > STANDARD_ERRORS**2 * variance * (1 - ((first + second) / 2) ** 2)


def features_differ(step: Vector, variance: float, covariance_rows: float) -> bool:
    """Return whether Hotelling's T^2 of a whitened difference of means is too large for chance.

    Parameters
    ----------
    step : ndarray of shape (d,)
        Whitened difference of the means.
    variance : float
        1/n_1 + 1/n_2.
    covariance_rows : float
        Degrees of freedom of the covariance, infinite if it is known.
    """
    d, left = len(step), covariance_rows - len(step)
    if left <= 0:
        return False
    if left < np.inf:
        largest = d * covariance_rows / left * f.isf(SORTED, d, left)
    else:
        largest = chi2.isf(SORTED, d)
    return bool(step @ step > variance * largest)
