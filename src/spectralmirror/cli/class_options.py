"""Options of ``spectralmirror fit`` that say what is known about the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from spectralmirror.cli.console import fail
from spectralmirror.cli.options import column_option, columns_option, split_names

__all__ = ["Known", "Membership", "Shared", "Sign", "class_columns", "signs_of"]

Membership = Annotated[
    list[str] | None,
    columns_option("Columns about the group (age, income) on which its class depends."),
]
Known = Annotated[
    str | None,
    column_option("The class of a group where it is known: A, B, ... or 0, 1, ..."),
]
Shared = Annotated[
    list[str] | None,
    columns_option("Features with one coefficient for all classes; all: only intercepts differ."),
]
Sign = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=SIGN",
        help="A feature that raises (=+1) or lowers (=-1) the odds in every class, or does "
        "nothing; several with commas, or several times.",
        show_default=False,
    ),
]
SIGNS = {"+1": 1, "1": 1, "+": 1, "-1": -1, "-": -1}


def class_columns(
    membership: list[str] | None,
    known: str | None,
    shared: list[str] | None,
    sign: list[str] | None,
    readers: Sequence[Any],
    sides: Any,
) -> dict[str, Any]:
    """Return what is known about the classes, as :class:`ColumnRoles` has it."""
    names = split_names(shared, readers, sides)
    return {
        "membership": split_names(membership, readers),
        "known": known,
        "shared": "all" if names == ["all"] else names,
        "signs": signs_of(sign),
    }


def signs_of(texts: Sequence[str] | None) -> dict[str, int]:
    """Return the signs of features, given as NAME=-1; names may hold an equals sign themselves."""
    found: dict[str, int] = {}
    for text in [one.strip() for several in texts or () for one in several.split(",")]:
        name, _, sign = text.rpartition("=")
        if not name or sign not in SIGNS:
            fail(
                f"--sign says COLUMN=+1 (raises the odds) or COLUMN=-1 (lowers them), got {text!r}."
            )
        if found.setdefault(name.strip(), SIGNS[sign]) != SIGNS[sign]:
            fail(f"--sign says both +1 and -1 for {name!r}: leave one out.")
    return found
