"""The words for the winner of a comparison: one vocabulary for arrays, files and models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["OUTCOMES", "is_left", "winner_words"]

#: Words for the winner that need no explanation: for the left side, and for the right side.
WINNERS = (("left", "right"), ("a", "b"), ("true", "false"), ("1", "0"), ("1", "2"), ("1", "-1"))
#: What the labels of a comparison, whether the left won, are called in sentences.
OUTCOMES = {"True": "left wins", "False": "right wins"}


def winner_words(values: Iterable[Any], sides: tuple[str, str] | None = None) -> tuple[str, str]:
    """Return the words for the left and the right side that all these winners agree with.

    Parameters
    ----------
    values : iterable
        The different winners.
    sides : pair of str or None
        The prefixes of columns of the left and the right side, such as "a_" and "b_". Winners may
        be called by these, too, with or without the underscore.

    Returns
    -------
    pair of str
        In lower case.
    """
    found = {_word(value) for value in values}
    prefixes = () if sides is None else (tuple(side.strip("_-. ") for side in sides), sides)
    for pair in (*prefixes, *WINNERS):
        left, right = map(_word, pair)
        if found <= {left, right}:
            return left, right
    choices = ", ".join(f"{left} or {right}" for left, right in WINNERS)
    shown = ", ".join(map(repr, sorted(found)[:5]))
    raise ValueError(
        f"The winner must be called {choices}, the first for the left side; got {shown}."
    )


def is_left(value: Any, words: tuple[str, str]) -> bool:
    """Return whether a winner is the left side, given what both sides are called."""
    word = _word(value)
    if word not in words:
        raise ValueError(f"The winner must be {words[0]!r} or {words[1]!r}, got {word!r}.")
    return word == words[0]


def _word(value: Any) -> str:
    """Return a winner in lower case; a whole number without a decimal point."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().lower()
