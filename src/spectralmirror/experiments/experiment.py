"""An experiment: cells that can be measured one by one, in any order, in any process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product

__all__ = ["SCALES", "Cell", "Experiment", "Row", "crossed"]

#: How much is measured: seconds of work for tests, minutes for a quick look, an hour in full.
SCALES = ("tiny", "quick", "full")

#: A row of a table, and the settings of a cell.
Row = dict[str, float | int | str | None]
Cell = Mapping[str, float | int | str]


def crossed(**settings: Iterable[float | int | str]) -> list[Cell]:
    """Return a cell for every combination of settings, the last of which changes fastest."""
    return [dict(zip(settings, values, strict=True)) for values in product(*settings.values())]


@dataclass(frozen=True)
class Experiment:
    """One table of the reproduction.

    Attributes
    ----------
    name : str
        The name on the command line and of the files.
    title : str
        What the experiment shows, in a few words.
    cells : callable
        ``cells(scale)`` returns the settings of all cells. They include the seed, so a cell gives
        the same numbers wherever and whenever it is measured (except for seconds).
    measure : callable
        ``measure(**cell)`` returns rows, to which the settings are added as columns.
    alone : bool
        Whether cells must not run side by side, because they measure time.
    """

    name: str
    title: str
    cells: Callable[[str], list[Cell]]
    measure: Callable[..., list[Row]]
    alone: bool = False

    @property
    def module(self) -> str:
        """The module that defines the experiment."""
        return self.measure.__module__
