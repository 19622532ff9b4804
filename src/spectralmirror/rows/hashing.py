"""Random samples of rows, chosen by a hash of the row number, however the rows are stored.

Rows are numbered in the order of the source, without those of weight 0. A row or a group is in a
sample if its hashed number is small, wherever it is read: the same seed gives the same sample from
one file or seven, in one process or many. (A hash of the row's values would not depend on its place
either, but would select all copies of a row or none: not a random sample of survey answers.)
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
    """Return which of the numbers are in a sample of about this share of them."""
    if share >= 1:
        return np.ones(len(numbers), dtype=bool)
    return np.asarray(hashed(numbers, seed) < np.uint64(int(share * 2**64)))


def group_keys(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for every value that depend on the value alone.

    Integers name the same group whether they are stored as 3, as 3.0 or as an object.
    """
    if values.dtype.kind in "iub":
        return hashed(values, seed=0)
    if values.dtype.kind in "Mm":
        unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
        return hashed(values.astype(unit).view(np.int64), seed=2)
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        whole = (np.abs(values) < 2.0**63) & (np.trunc(values) == values)
        bits = hashed(values.view(np.uint64), seed=1)
        return np.where(whole, hashed(np.where(whole, values, 0).astype(np.int64), seed=0), bits)
    return np.array([_key(value) for value in values.tolist()], dtype=np.uint64)


def _key(value: Any) -> np.uint64:
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return np.uint64(group_keys(np.array([value]))[0])
    text = value if isinstance(value, str) else repr(value)
    digest = blake2b(text.encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))
