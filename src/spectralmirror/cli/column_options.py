"""Options of ``fit`` and ``compare`` that say what the columns of a file are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from spectralmirror.cli.choice_options import ChoiceOptions
from spectralmirror.cli.class_options import class_columns
from spectralmirror.cli.console import fail
from spectralmirror.cli.options import column_option, columns_option, split_names

__all__ = [
    "Alternative",
    "Available",
    "Categorical",
    "ChoiceSet",
    "Chosen",
    "ColumnOptions",
    "Constants",
    "Drop",
    "Features",
    "Group",
    "Intercept",
    "Label",
    "MaxIter",
    "Outside",
    "Pairs",
    "Penalty",
    "Positive",
    "Starts",
    "Wide",
    "Winner",
    "kind_of_spread",
    "penalty_of",
]

Label = Annotated[str | None, column_option("The column of labels: two values, or more.")]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The label that counts as +1, and whose odds are shown.",
        show_default="the last in the order of their values",
    ),
]
Group = Annotated[
    str | None,
    column_option("Rows with equal values in this column share a classifier (person, session)."),
]
Features = Annotated[
    list[str] | None,
    columns_option("Columns that are features, with commas or several times.", "all others"),
]
Drop = Annotated[list[str] | None, columns_option("Columns to leave out.")]
Categorical = Annotated[
    list[str] | None, columns_option("Columns of numbers that are codes of categories.")
]
Penalty = Annotated[
    str,
    typer.Option(
        metavar="auto|NUMBER",
        help="Strength of the penalty on large profiles; auto chooses it from the data.",
    ),
]
Intercept = Annotated[
    bool | None,
    typer.Option(
        "--intercept/--no-intercept",
        help="Whether classifiers have intercepts.",
        show_default="yes, but no for --pairs",
    ),
]
Pairs = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="LEFT RIGHT",
        help="Comparisons: differences of columns that begin, or end, with LEFT and RIGHT.",
        show_default=False,
    ),
]
Winner = Annotated[str | None, column_option("With --pairs: which side won, left or right.")]
ChoiceSet = Annotated[
    list[str] | None,
    columns_option("Choices: rows with equal values here are the alternatives of one choice."),
]
Alternative = Annotated[str | None, column_option("With --choice-set: which alternative a row is.")]
Chosen = Annotated[
    str | None,
    column_option("Whether a row was chosen, as 1 or 0; with --wide, which alternative was."),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide", help="Choices, one line each: price_a, price_b, ... or price1, price2, ..."
    ),
]
Outside = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="With --wide: the value of --chosen for none of the alternatives.",
        show_default=False,
    ),
]
Available = Annotated[
    str | None,
    typer.Option(
        metavar="FEATURE",
        help="With --wide: columns such as FEATURE_a that are 0 where a was not available.",
        show_default=False,
    ),
]
Constants = Annotated[
    bool, typer.Option("--constants", help="Choices: a constant for each alternative.")
]
Starts = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Maximum number of starts of the search for the best fit."
    ),
]
MaxIter = Annotated[
    int, typer.Option(min=1, metavar="N", help="Maximum number of iterations from one start.")
]


@dataclass(frozen=True)
class ColumnOptions:
    """What the columns of a file are, as the options say it.

    Attributes
    ----------
    survey : ChoiceOptions
        How choices stand in the file.
    label, positive, group, features, drop, categorical, pairs, winner, membership, known, shared, \
sign, missing
        The options.
    """

    survey: ChoiceOptions
    label: str | None
    positive: str | None
    group: str | None
    features: list[str] | None
    drop: list[str] | None
    categorical: list[str] | None
    pairs: tuple[str, str] | None
    winner: str | None
    membership: list[str] | None
    shared: list[str] | None
    sign: list[str] | None
    missing: str
    known: str | None = None

    def column(self, response: str, spread: str | None, intercept: bool | None) -> str:
        """Return the column of labels, after checking the options against each other."""
        if self.survey.given:
            column = self.survey.column(self.label, self.pairs, self.winner)
            self.survey.check_model(response, spread, intercept)
        else:
            self.survey.check_absent()
            column = _label_column(self.label, self.pairs, self.winner)
        if self.pairs is not None and self.positive is not None:
            fail(
                "--positive belongs to --label; with --pairs, a win of the left side counts as +1."
            )
        return column

    def has_intercept(self, asked: bool | None) -> bool:
        """Return whether classifiers have intercepts: by default if labels are of single rows."""
        return self.pairs is None and not self.survey.given if asked is None else asked

    def read(self, files: list[str], column: str, separator: str | None) -> tuple[list[Any], Any]:
        """Return the readers of files, and the roles of their columns."""
        from spectralmirror.rows.files.readers import readers_of
        from spectralmirror.tables.column_roles import ColumnRoles, agreed_types
        from spectralmirror.tables.sides import sides_of

        readers = self.survey.readers(readers_of(files, separator), column, self.group)
        sides = None if self.pairs is None else sides_of(self.pairs, agreed_types(readers))
        roles = ColumnRoles(
            label=column,
            group=self.group,
            features=split_names(self.features, readers, sides),
            drop=split_names(self.drop, readers, sides),
            categorical=split_names(self.categorical, readers, sides),
            pairs=sides,
            missing=str(self.missing),
            positive=self.positive,
            **self.survey.columns(readers),
            **class_columns(self.membership, self.known, self.shared, self.sign, readers, sides),
        )
        return readers, roles


def _label_column(label: str | None, pairs: tuple[str, str] | None, winner: str | None) -> str:
    """Return the column that holds the labels."""
    if pairs is None and winner is not None:
        fail("--winner belongs to --pairs LEFT RIGHT; use --label for a column of labels.")
    if pairs is not None and (winner is None or label is not None):
        fail("--pairs LEFT RIGHT needs --winner COLUMN, and no --label.")
    column = winner if label is None else label
    if column is None:
        fail("Which column holds the labels? Name it: --label COLUMN.")
    return column


def kind_of_spread(
    kind: str | None, group: str | None, response: str, has_intercept: bool
) -> str | None:
    """Return the spread as the mixture takes it: by default "auto", if it can have one."""
    possible = group is not None and response != "hard"
    if kind in (None, "auto"):
        return "auto" if possible else None
    if kind == "none":
        return None
    if group is None:
        fail(
            f"--spread {kind} compares several labels of the same person: name the column of "
            "persons with --group COLUMN, or use --spread none."
        )
    if not possible:
        fail(f"--spread {kind} needs --response logistic or probit, not hard.")
    if kind == "intercept" and not has_intercept:
        fail(
            "--spread intercept needs intercepts, which --no-intercept and --pairs leave out: use "
            "--intercept, or another kind."
        )
    return kind


def penalty_of(text: str) -> float | str:
    """Return the penalty as the mixture takes it."""
    if text == "auto":
        return text
    try:
        l2 = float(text)
    except ValueError:
        l2 = -1.0
    if not 0 <= l2 < float("inf"):
        fail(f"--l2 must be auto or a number of at least 0, got {text!r}.")
    return l2
