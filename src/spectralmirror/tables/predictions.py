"""Predictions and assignments of a fitted table for the rows of files, written row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.mixture.summary import letters
from spectralmirror.rows.column_types import is_number
from spectralmirror.rows.files.arrow import as_column, column_values
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.files.writers import check_kind, writing
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.column_stats import check_present
from spectralmirror.tables.group_history import GroupHistory, read_history
from spectralmirror.tables.known_rows import NO_ROWS, KnownRows, known_rows
from spectralmirror.tables.table_model import FittedTable

__all__ = ["write_clusters", "write_groups", "write_predictions"]

Listen = Callable[[int], None]


def write_predictions(
    model: FittedTable,
    readers: Sequence[Reader],
    output: Path,
    *,
    history: Sequence[Reader] | None = None,
    keep: Sequence[str] = (),
    missing: str | None = None,
    listen: Listen,
) -> dict[str, Any]:
    """Write the predicted label of every row, and the probability of both labels.

    With a history, the classifiers that made a group's labels there predict its rows, and if
    people of one class differ, their own coefficients; all classifiers, by their weights, predict
    groups without a history.
    """
    check_kind(output)
    known_group = model.group is not None and all(model.group in r.types for r in readers)
    past = None
    if history is not None:
        if model.group is None:
            raise ValueError("--history needs a model that was fitted with --group.")
        if not known_group:
            raise ValueError(f"--history needs the groups of the rows: column {model.group!r}.")
        past = read_history(model, history, missing, listen)
    kept = [*[str(model.group)] * known_group, *(name for name in keep if name != model.group)]
    classes = model.labels
    output_rows = _Output(
        readers,
        output,
        kept,
        ["prediction", *(f"probability_{name}" for name in classes.tolist())],
        pa.array(classes.tolist()).type,
    )
    n_met = n_rows = 0
    with writing(output) as append:
        rows = known_rows(
            model, readers, grouped=past is not None, keep=kept, missing=missing, listen=listen
        )
        for known in rows:
            P = _probabilities(model, known, past)
            labels = classes[(P[:, 1] > P[:, 0]).astype(np.intp)]
            append(output_rows.table(known, [labels, *P.T]))
            if past is not None:
                values, numbers = known.group_values(str(model.group))
                n_met += int(np.array([v in past for v in values])[numbers].sum())
            n_rows += len(known.X)
        if past is not None and n_met == 0:
            example = next(iter(past), None)
            if example is None:
                raise ValueError("The history has no complete rows with a label.")
            raise ValueError(
                f"No value of {model.group!r} occurs in the history, which has values such as "
                f"{example!r}."
            )
        unmet = {} if past is None else {"n_without_history": n_rows - n_met}
        return output_rows.summary() | unmet


def _probabilities(model: FittedTable, known: KnownRows, past: GroupHistory | None) -> Matrix:
    if not len(known.X):
        return np.empty((0, 2))
    if past is not None:
        return past.probabilities(model, known)
    return np.asarray(model.mixture.predict_proba(model.named(known.X)))


def write_clusters(
    model: FittedTable,
    readers: Sequence[Reader],
    output: Path,
    *,
    keep: Sequence[str] = (),
    missing: str | None = None,
    listen: Listen,
) -> dict[str, Any]:
    """Write which classifier made the label of every row, judged alone and with its group."""
    check_kind(output)
    k, grouped = model.mixture.n_components_, model.group is not None
    called = np.array(letters(k))
    names = ["classifier", *(f"probability_{name}" for name in called)]
    of_groups: dict[Any, tuple[Matrix, int]] = {}
    if grouped:
        names = [f"{what}_{name}" for what in ("group", "row") for name in names]
        of_groups = model.group_weights(readers, missing, listen)
    kept = [*[str(model.group)] * grouped, *(name for name in keep if name != model.group)]
    output_rows = _Output(readers, output, kept, names)
    with writing(output) as append:
        for known in known_rows(
            model,
            readers,
            labelled=True,
            grouped=grouped,
            keep=kept,
            missing=missing,
            listen=listen,
        ):
            R = np.empty((0, k))
            if len(known.X):
                R = np.asarray(model.mixture.component_proba(model.named(known.X), known.y))
            values = [called[R.argmax(axis=1)], *R.T]
            if grouped and known.groups is not None:
                groups, numbers = known.group_values(str(model.group))
                G = np.array([of_groups[value][0] for value in groups]).reshape(-1, k)[numbers]
                values = [called[G.argmax(axis=1)], *G.T, *values]
            append(output_rows.table(known, values))
        return output_rows.summary()


def write_groups(
    model: FittedTable,
    readers: Sequence[Reader],
    output: Path,
    *,
    missing: str | None = None,
    listen: Listen,
) -> dict[str, Any]:
    """Write which classifier made the labels of every group."""
    check_kind(output)
    of_groups = model.group_weights(readers, missing, listen)
    if not of_groups:
        raise ValueError(NO_ROWS)
    G = np.array([line for line, _ in of_groups.values()])
    called = np.array(letters(G.shape[1]))
    named = called[G.argmax(axis=1)]
    columns = {
        str(model.group): as_column(list(of_groups), readers[0].types[str(model.group)]),
        "n_rows": pa.array([n for _, n in of_groups.values()]),
        "classifier": pa.array(named),
        **{f"probability_{c}": pa.array(p) for c, p in zip(called, G.T, strict=True)},
    }
    if len(columns) < G.shape[1] + 3:
        raise ValueError(f"The group cannot be named {model.group!r} in the output: rename it.")
    with writing(output) as append:
        append(pa.table(columns))
    counts = {f"classifier {name}": int((named == name).sum()) for name in called}
    n_rows = sum(n for _, n in of_groups.values())
    return {"output": str(output), "n_rows": n_rows, "n_groups": len(G), "counts": counts}


class _Output:
    """Put answers beside the columns that are kept, and count them."""

    def __init__(
        self,
        readers: Sequence[Reader],
        output: Path,
        keep: Sequence[str],
        names: Sequence[str],
        first: Any = None,
    ):
        self.output, self.names, self.first = output, list(names), first
        for name in set(keep) & set(names):
            raise ValueError(f"Column {name!r} cannot be kept: the output has one of that name.")
        for reader in readers:
            check_present(reader, keep)
        self.keep = {name: _kept_type(readers, name) for name in keep}
        self.n_rows = self.n_missing = self.n_filled = 0
        self.counts: Counter[str] = Counter()

    def table(self, known: KnownRows, values: list[NDArray[Any]]) -> Any:
        """Return the answers for a batch, null for rows in which something is missing."""
        counted = self.names[0]
        columns = {name: known.table.column(name).cast(kind) for name, kind in self.keep.items()}
        kinds = [self.first, *[None] * (len(values) - 1)]
        for name, value, kind in zip(self.names, values, kinds, strict=True):
            columns[name] = known.spread(value, kind)
        self.n_filled += known.n_filled
        self.n_rows += len(known.complete)
        self.n_missing += int((~known.complete).sum())
        answers = column_values(columns[counted].drop_null())
        word = {"prediction": "", "group_classifier": "by whole groups, classifier "}.get(
            counted, "classifier "
        )
        for value, count in zip(*np.unique(answers, return_counts=True), strict=True):
            self.counts[f"{word}{value}"] += int(count)
        return pa.table(columns)

    def summary(self) -> dict[str, Any]:
        """Return what was written, as plain data."""
        if self.n_missing == self.n_rows:
            raise ValueError(NO_ROWS)
        return {
            "output": str(self.output),
            "n_rows": self.n_rows,
            "n_missing": self.n_missing,
            "n_filled": self.n_filled,
            "counts": dict(sorted(self.counts.items())),
        }


def _kept_type(readers: Sequence[Reader], name: str) -> Any:
    """Return the type of a column that is kept, the same for all files."""
    kinds = [reader.types[name] for reader in readers]
    kinds = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind))) or [pa.null()]
    if len(kinds) > 1 and all(map(is_number, kinds)):
        return pa.float64()
    first = kinds[0]
    return first.value_type if pa.types.is_dictionary(first) else first
