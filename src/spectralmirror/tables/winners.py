"""The words for the winner of a comparison: one vocabulary for arrays, files and models."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from os.path import commonprefix
from typing import Any

__all__ = ["OUTCOMES", "is_left", "winner_words", "word"]

#: Words for the winner that need no explanation: for the left side, and for the right side.
WINNERS = (("left", "right"), ("a", "b"), ("true", "false"), ("1", "0"), ("1", "2"), ("1", "-1"))
#: What the labels of a comparison, whether the left won, are called in sentences.
OUTCOMES = {"True": "left wins", "False": "right wins"}


def winner_words(values: Iterable[Any], sides: tuple[str, str] | None = None) -> tuple[str, str]:
    """Return the words for the left and the right side that all these winners agree with.

    Parameters
    ----------
    values : iterable
        The different winners. The same noun may come before all of them ("choice1", "choice2").
    sides : pair of str or None
        The sides of columns (:mod:`.sides`), such as "a_" and "b_". Winners may be called by these,
        too, with or without the underscore.

    Returns
    -------
    pair of str
        In lower case.
    """
    found = {word(value) for value in values}
    noun = _common_noun(found)
    own = () if sides is None else (tuple(side.strip("*_-. ") for side in sides), sides)
    for pair in (*own, *WINNERS):
        left, right = map(word, pair)
        for before in ("", noun):
            if found <= {before + left, before + right}:
                return before + left, before + right
    choices = ", ".join(f"{left} or {right}" for left, right in WINNERS)
    shown = ", ".join(map(repr, sorted(found)[:5]))
    raise ValueError(
        f"The winner must be called {choices}, the first for the left side; got {shown}."
    )


def is_left(value: Any, words: tuple[str, str]) -> bool:
    """Return whether a winner is the left side, given what both sides are called."""
    found = word(value)
    if found not in words:
        raise ValueError(f"The winner must be {words[0]!r} or {words[1]!r}, got {found!r}.")
    return found == words[0]


def _common_noun(words: Collection[str]) -> str:
    """Return what all words begin with, "" unless that is a word itself."""
    noun = commonprefix(sorted(words)) if len(words) == 2 else ""  # noqa: RUF071
    return noun if any(map(str.isalpha, noun)) else ""


def word(value: Any) -> str:
    """Return a winner, or another label, in lower case; whole numbers without a decimal point."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().lower()
