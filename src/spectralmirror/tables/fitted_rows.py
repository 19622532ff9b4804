"""The rows of files that a table was fitted to, again: as its mixture takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.files.scan import Scan
from spectralmirror.rows.messages import listed
from spectralmirror.tables.choice_readers import choice_readers
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.column_stats import check_present
from spectralmirror.tables.encoded_rows import EncodedRows
from spectralmirror.tables.fit_table import checked_sets, collected
from spectralmirror.tables.known_rows import NO_ROWS, covariates_in, known_rows
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.table_model import FittedTable

__all__ = ["fitted_rows"]

NEEDED = "the rows that were fitted are needed, with all of their columns."


def fitted_rows(
    model: FittedTable,
    readers: Sequence[Reader],
    *,
    known: str | None = None,
    missing: str | None = None,
    listen: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Return rows of files as arguments of the mixture's methods that take what fit takes.

    Rows with values that the table cannot accept raise a clear error. Few rows are arrays; others
    are a source that is read again in each pass.

    Parameters
    ----------
    model : FittedTable
        The fitted table.
    readers : list of Reader
        The files.
    known : str or None, default=None
        The column of known classes, if there was one.
    missing : {"error", "impute", "drop"} or None, default=None
        What to do about missing values; None for what was done when the mixture was fitted.
    listen : callable
        Called with the number of rows of every batch.
    """
    policy = missing or model.missing
    n_rows = 0
    for rows in known_rows(
        model, readers, labelled=True, grouped=model.group is not None, missing=policy,
        listen=listen,
    ):  # fmt: skip
        n_rows += len(rows.X)
    if not n_rows:
        raise ValueError(NO_ROWS)
    membership = covariates_in(model, readers)
    if membership is None and model.membership is not None:
        raise ValueError(f"The files lack {listed(model.membership.columns)}: {NEEDED}")
    if known is not None:
        for reader in readers:
            check_present(reader, [known])
    if model.choices is not None:
        roles = ColumnRoles(
            model.label, model.group, missing=policy, choices=model.choices.sets,
            membership=() if membership is None else membership.columns,
        )  # fmt: skip
        readers = [
            checked_sets(reader, model.recipe, roles)
            for reader in choice_readers(readers, model.choices, model.group)
        ]
    encoded = EncodedRows(
        readers,
        model.recipe,
        model.label,
        model.group,
        policy,
        listen,
        choices=None if model.choices is None else SET,
        membership=membership,
        known=known,
    )
    given = collected(encoded, n_rows)
    return {"X": Scan(encoded)} if given is None else given
