"""What the columns of a table of choices are used for."""

from __future__ import annotations

from dataclasses import dataclass

from spectralmirror.tables.wide_form import WideForm

__all__ = ["SET", "ChoiceColumns"]

#: The column of running numbers of choice sets, in brackets, as no column of a user is named.
SET = "(choice set)"


@dataclass(frozen=True)
class ChoiceColumns:
    """The columns that describe choices among several alternatives, one in each row.

    Attributes
    ----------
    sets : tuple of str
        The columns that together name the choice set of a row.
    alternative : str or None
        The column that names the alternative.
    wide : WideForm or None
        For one line for each choice: which columns describe which alternative.
    """

    sets: tuple[str, ...]
    alternative: str | None = None
    wide: WideForm | None = None
