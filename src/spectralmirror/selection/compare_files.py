"""Compare numbers of classes of the rows of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.files.scan import Scan
from spectralmirror.selection.compare import compare_components
from spectralmirror.selection.comparison import ComponentComparison
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import about_rows, collected, prepared_rows

__all__ = ["compare_files"]


def compare_files(
    readers: Sequence[Reader],
    roles: ColumnRoles,
    mixture: Any,
    *,
    source: str,
    listen: Callable[[str, int, int | None], None] = lambda stage, n_rows, total: None,
    **options: Any,
) -> tuple[ComponentComparison, dict[str, Any]]:
    """Compare numbers of classes of columns of files.

    Parameters
    ----------
    readers : list of Reader
        The files.
    roles : ColumnRoles
        What the columns are used for.
    mixture : LinearClassifierMixture or ChoiceMixture
        What to fit; the latter if `roles` name choice sets.
    source : str
        What the user calls the files.
    listen : callable
        As for :func:`fit_table`.
    **options
        Of :func:`compare_components`.

    Returns
    -------
    ComponentComparison
        The comparison.
    dict
        Which rows and columns were compared, and notes for the user.
    """
    rows, chosen = prepared_rows(readers, roles, mixture, listen)
    given = collected(rows, chosen.n_kept)
    if given is None:
        given = {"X": Scan(rows)}
    listen("comparing", 0, None)
    y = given.pop("chosen", given.pop("y", None))
    found = compare_components(mixture, given.pop("X"), y, **given, **options)
    columns = {
        "label": roles.label,
        "group": roles.group,
        "features": chosen.recipe.names,
        "membership": [] if chosen.membership is None else chosen.membership.names,
    }
    return found, columns | about_rows(chosen, roles, source)
