"""The columns of both sides of a comparison: "a_price" and "b_price", or "price1" and "price2".

A side is a prefix, such as "a_", or a pattern in which a star stands for the name of a feature,
such as "*1". The side "" has the features themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["column_of", "feature_of", "paired_features", "sides_of"]

#: What may stand between the name of a feature and its side.
JOINTS = "_-. "


def column_of(side: str, feature: str) -> str:
    """Return the column of a feature on one side."""
    before, _, after = side.partition("*")
    return before + feature + after


def feature_of(side: str, column: str) -> str | None:
    """Return the feature that a column holds on one side, None if it is not of that side."""
    before, _, after = side.partition("*")
    is_longer = len(column) > len(before) + len(after)
    if not (is_longer and column.startswith(before) and column.endswith(after)):
        return None
    return column[len(before) : len(column) - len(after)]


def paired_features(sides: tuple[str, str], columns: Collection[str]) -> list[str]:
    """Return the features that both sides have, in the order of the columns of the left."""
    left, right = sides
    found = [feature_of(left, column) for column in columns]
    return [name for name in found if name is not None and column_of(right, name) in columns]


def sides_of(words: tuple[str, str], columns: Collection[str]) -> tuple[str, str]:
    """Return the sides that two words stand for, given the columns of a table.

    They are prefixes if there are columns with both of them, and otherwise suffixes. A mark between
    word and feature that all columns have belongs to the side, not to the feature.

    Parameters
    ----------
    words : pair of str
        What the user called the left and the right side, such as "left" and "right", "_1" and "_2";
        patterns with a star stay as they are.
    columns : collection of str
        The names of the columns.

    Returns
    -------
    pair of str
        The sides; the words themselves if no column has two sides.
    """
    left, right = words
    if "*" in left + right:
        return words
    for sides in (words, (f"*{left}", f"*{right}")):
        features = paired_features(sides, columns)
        if features:
            return _with_joint(sides, features)
    return words


def _with_joint(sides: tuple[str, str], features: Sequence[str]) -> tuple[str, str]:
    """Return the sides with the mark that separates them from all features, if there is one."""
    suffix = sides[0].startswith("*")
    marks = {name[-1 if suffix else 0] for name in features}
    if len(marks) > 1 or not marks <= set(JOINTS) or min(map(len, features)) < 2:
        return sides
    (mark,) = marks
    left, right = (f"*{mark}{side[1:]}" if suffix else side + mark for side in sides)
    return left, right
