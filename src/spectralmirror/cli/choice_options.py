"""Options of ``spectralmirror fit`` for choices among several alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spectralmirror.cli.console import fail

__all__ = ["ChoiceOptions"]


@dataclass(frozen=True)
class ChoiceOptions:
    """How the choices of a survey stand in a file.

    Attributes
    ----------
    sets : list of str or None
        Columns that together name the choice set of a row.
    alternative, chosen : str or None
        Columns of the alternative of a row, and of whether it was chosen.
    constants : bool
        Whether alternatives have constants of their own.
    """

    sets: list[str] | None = None
    alternative: str | None = None
    chosen: str | None = None
    constants: bool = False

    @property
    def given(self) -> bool:
        """Whether labels are choices."""
        return self.sets is not None or self.chosen is not None

    def column(self, label: str | None, pairs: Any, winner: str | None) -> str:
        """Return the column of labels, after checking the options against each other."""
        if pairs is not None or winner is not None:
            fail("--pairs and --winner belong to comparisons, not to --choice-set: leave them out.")
        if label is not None and self.chosen is not None:
            fail("--chosen is the label of choices: leave --label out.")
        if self.sets is None:
            fail("--chosen needs --choice-set COLUMN: which rows are the alternatives of a choice?")
        chosen = self.chosen if label is None else label
        if chosen is None:
            fail("Which column says which alternative was chosen? Name it: --chosen COLUMN.")
        if self.constants and self.alternative is None:
            fail("--constants needs the names of the alternatives: --alternative COLUMN.")
        return chosen

    def check_model(self, response: str, spread: str | None, intercept: bool | None) -> None:
        """Fail if an option for binary labels was given."""
        if response != "logistic":
            fail(f"--response {response} is for binary labels: choices are logistic.")
        if intercept:
            fail("Choices have no intercept, but --constants gives each alternative its own.")
        if spread == "intercept":
            fail("--spread intercept is for binary labels: use another kind for choices.")
