"""What an experiment is: cells that can be measured one by one, in any order, on any core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["SCALES", "Cell", "Experiment", "Row"]

#: How much is measured: a few seconds for tests, minutes for a look, an hour for the record.
SCALES = ("tiny", "quick", "full")

#: A row of a table, and the settings that a cell is measured at.
Row = dict[str, float | int | str | None]
Cell = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Experiment:
    """One table of the reproduction.

    Attributes
    ----------
    name : str
        Its name on the command line, and of its files.
    title : str
        What it shows, in a few words.
    cells : callable
        scale -> the settings of all cells. The settings hold the seed, so a cell is the same
        number by number wherever and whenever it is measured (seconds excepted).
    measure : callable
        ``measure(**cell)`` -> rows, to which the settings are added as columns.
    alone : bool
        Measures time: its cells must not run next to one another.
    """

    name: str
    title: str
    cells: Callable[[str], list[Cell]]
    measure: Callable[..., list[Row]]
    alone: bool = False

    @property
    def module(self) -> str:
        """The module that holds it."""
        return self.measure.__module__
