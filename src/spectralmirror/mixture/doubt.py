"""How sure the search is that it has found the top."""

from __future__ import annotations

from spectralmirror.mixture.starts import ALIKE, Start

__all__ = ["agreeing_kinds", "doubt"]


def doubt(starts: list[Start]) -> float:
    """Return the probability that a better maximum exists."""
    independent = [start for start in starts if start.kind != "crossed"]
    best = max(start.objective for start in starts)
    hits = sum(start.objective > best - ALIKE for start in independent)
    return 0.6**hits


def agreeing_kinds(starts: list[Start]) -> int:
    """Return how many kinds of starts have reached the best maximum."""
    best = max(start.objective for start in starts)
    return len({start.kind for start in starts if start.objective > best - ALIKE})
