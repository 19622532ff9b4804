"""Everything that is wrong with a table, said at once."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["TableError", "refuse"]


class TableError(ValueError):
    """Something is wrong with a table.

    Parameters
    ----------
    sentences : sequence of str
        What is wrong, one problem after the other.
    """

    def __init__(self, sentences: Sequence[str]):
        super().__init__(" ".join(sentences))
        self.sentences = tuple(sentences)


def refuse(sentences: Sequence[str]) -> None:
    """Raise TableError if there is any problem."""
    if sentences:
        raise TableError(sentences)
