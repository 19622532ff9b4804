"""Options of ``spectralmirror fit`` for choices among several alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spectralmirror.cli.console import fail
from spectralmirror.cli.options import split_names

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
    wide : bool
        Whether there is one line for each choice, and `chosen` names the alternative.
    outside, available : str or None
        In wide form, the value of the outside option, and the feature of available alternatives.
    """

    sets: list[str] | None = None
    alternative: str | None = None
    chosen: str | None = None
    constants: bool = False
    wide: bool = False
    outside: str | None = None
    available: str | None = None

    @property
    def given(self) -> bool:
        """Whether labels are choices."""
        return self.sets is not None or self.chosen is not None or self.wide

    def check_absent(self) -> None:
        """Fail if an option for choices was given, and labels are no choices."""
        given = {
            "--alternative": self.alternative is not None,
            "--constants": self.constants,
            "--outside": self.outside is not None,
            "--available": self.available is not None,
        }
        for name in [name for name, one in given.items() if one]:
            fail(f"{name} is for choices: name them with --choice-set, or --wide, and --chosen.")

    def column(self, label: str | None, pairs: Any, winner: str | None) -> str:
        """Return the column of labels, after checking the options against each other."""
        if pairs is not None or winner is not None:
            fail("--pairs and --winner belong to comparisons, not to --choice-set: leave them out.")
        if label is not None and self.chosen is not None:
            fail("--chosen is the label of choices: leave --label out.")
        if not self.wide and (self.outside is not None or self.available is not None):
            fail("--outside and --available belong to --wide: in long form, leave such rows out.")
        if self.wide and (self.sets is not None or self.alternative is not None):
            fail("--wide has one line for each choice: leave --choice-set and --alternative out.")
        if self.sets is None and not self.wide:
            fail("--chosen needs --choice-set COLUMN: which rows are the alternatives of a choice?")
        chosen = self.chosen if label is None else label
        if chosen is None:
            fail("Which column says which alternative was chosen? Name it: --chosen COLUMN.")
        if self.constants and self.alternative is None and not self.wide:
            fail("--constants needs the names of the alternatives: --alternative COLUMN.")
        return chosen

    def readers(self, readers: list[Any], chosen: str, group: str | None) -> list[Any]:
        """Return the readers of files, in long form."""
        if not self.wide:
            return readers
        from spectralmirror.tables.wide_reader import WideReader

        others = [] if group is None else [group]
        return [
            WideReader.of(
                readers, chosen, others=others, outside=self.outside, available=self.available
            )
        ]

    def columns(self, readers: list[Any]) -> dict[str, Any]:
        """Return the columns of choice sets, for :class:`ColumnRoles`."""
        if not self.given:
            return {}
        if self.wide:
            from spectralmirror.tables.set_columns import SET
            from spectralmirror.tables.wide_form import ALTERNATIVE

            return {"choices": [SET], "alternative": ALTERNATIVE, "constants": self.constants}
        return {
            "choices": split_names(self.sets, readers),
            "alternative": self.alternative,
            "constants": self.constants,
        }

    def check_model(self, response: str, spread: str | None, intercept: bool | None) -> None:
        """Fail if an option for binary labels was given."""
        if response != "logistic":
            fail(f"--response {response} is for binary labels: choices are logistic.")
        if intercept:
            fail("Choices have no intercept, but --constants gives each alternative its own.")
        if spread == "intercept":
            fail("--spread intercept is for binary labels: use another kind for choices.")
