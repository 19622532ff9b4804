"""The readers of choices, in long form or in wide form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spectralmirror.tables.set_columns import ChoiceColumns
from spectralmirror.tables.set_reader import SetReader
from spectralmirror.tables.wide_reader import WideReader

__all__ = ["choice_readers"]


def choice_readers(readers: Sequence[Any], choices: ChoiceColumns, group: str | None) -> list[Any]:
    """Return a reader that yields whole choice sets in long form; one that does so is kept."""
    if isinstance(readers[0], SetReader | WideReader):
        return list(readers)
    if choices.wide is not None:
        return [WideReader(readers, choices.wide)]
    return [SetReader(readers, choices.sets, group)]
