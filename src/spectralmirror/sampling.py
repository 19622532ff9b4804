"""Samples that do not depend on how rows are stored: a hash of their number decides.

Rows are numbered in the order in which the source has them, those of weight 0 left out. A row, or
a group, is in a sample when its hashed number is small, wherever it is read: the same seed gives
the same sample from one file or seven, in one process or many. (A hash of the row's values would
not mind its place either, but takes all copies of a row or none: of survey answers, of which there
are only so many different ones, that is no sample.)
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["chosen", "group_keys", "hashed"]


def hashed(numbers: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Return 64 mixed bits for every number (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = numbers.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def chosen(numbers: NDArray[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Return which of the numbers are in a sample of about this share of all."""
    if share >= 1:
        return np.ones(len(numbers), dtype=bool)
    return np.asarray(hashed(numbers, seed) < np.uint64(int(share * 2**64)))


def group_keys(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for every value, which depend on nothing but the value.

    Whole numbers are the same group whether they are stored as 3 or as 3.0.
    """
    if values.dtype.kind == "f" and (values % 1 == 0).all() and (np.abs(values) < 2**62).all():
        values = values.astype(np.int64)
    if values.dtype.kind in "iub":
        return hashed(values, seed=0)
    digests = [blake2b(_bytes(value), digest_size=8).digest() for value in values.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else repr(value).encode()
