"""How sure the search is that it has found the top.

The more starts of different kinds have reached the best maximum independently, the less likely it
is that a better one was missed. Crossings do not count: they begin at the best maximum and often
return to it. The probabilities were measured on real data sets with known maxima (docs/real.md): a
fit missed the top if it ended more than 1 below the best objective that is known.
"""

from __future__ import annotations

import numpy as np

from spectralmirror.mixture.starts import ALIKE, Start, independent

__all__ = ["agreeing_kinds", "doubt"]

#: The share of fits that missed the top, by the number of independent starts that reached the best
#: maximum, the last one also for more. Starts of a single kind count as two at most.
MISSED = (0.33, 0.33, 0.1, 0.04, 0.01)
#: Kinds of starts with a spread.
WITH_SPREAD = {"discrete", "split", "drawn"}


def doubt(starts: list[Start], k: int) -> float:
    """Return the probability that k components have a better maximum.

    A single component has only one maximum. NaN if the start was given, or if there is a spread,
    for which it was not measured.
    """
    kinds = {start.kind for start in starts}
    if k == 1 or kinds == {"given"} or kinds <= WITH_SPREAD:
        return 0.0 if k == 1 else float(np.nan)
    best = max(start.objective for start in starts)
    hits = [one.kind for one in independent(starts) if one.objective > best - ALIKE]
    n = len(hits) if len(set(hits)) > 1 else min(len(hits), 2)
    return MISSED[min(n, len(MISSED) - 1)]


def agreeing_kinds(starts: list[Start]) -> int:
    """Return how many kinds of independent starts have reached the best maximum."""
    best = max(start.objective for start in starts)
    return len({one.kind for one in independent(starts) if one.objective > best - ALIKE})
