"""Predictions and assignments of a fitted table for the rows of files, written row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from spectralmirror.mixture.summary import letters
from spectralmirror.rows.files.arrow import as_column
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.files.writers import check_kind, writing
from spectralmirror.rows.types import Matrix
from spectralmirror.tables.choice_predictions import write_choice_clusters, write_choices
from spectralmirror.tables.group_history import GroupHistory, read_history
from spectralmirror.tables.known_rows import NO_ROWS, KnownRows, known_rows
from spectralmirror.tables.output_rows import OutputRows
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
    """Write the predicted label of every row, and the probability of each label.

    With a history, the classifiers that made a group's labels there predict its rows, and if
    people of one class differ, their own coefficients; all classifiers, by their weights, predict
    groups without a history.
    """
    if model.choices is not None:
        return write_choices(
            model, readers, output, history=history, keep=keep, missing=missing, listen=listen
        )
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
    output_rows = OutputRows(
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
            labels = classes[P.argmax(axis=1)]
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
        return np.empty((0, len(model.labels)))
    if past is not None:
        return past.probabilities(model, known)
    X = model.named(known.X)
    return np.asarray(model.mixture.predict_proba(X, **model.of_groups(known)))


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
    if model.choices is not None:
        return write_choice_clusters(
            model, readers, output, keep=keep, missing=missing, listen=listen
        )
    check_kind(output)
    k, grouped = model.mixture.n_components_, model.group is not None
    called = np.array(letters(k))
    names = ["classifier", *(f"probability_{name}" for name in called)]
    of_groups: dict[Any, tuple[Matrix, int]] = {}
    if grouped:
        names = [f"{what}_{name}" for what in ("group", "row") for name in names]
        of_groups = model.group_weights(readers, missing, listen)
    kept = [*[str(model.group)] * grouped, *(name for name in keep if name != model.group)]
    output_rows = OutputRows(readers, output, kept, names)
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
                X, given = model.named(known.X), model.of_groups(known)
                R = np.asarray(model.mixture.component_proba(X, known.y, **given))
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
    counted, class_ = ("n_rows", "classifier") if model.choices is None else ("n_choices", "class")
    columns = {
        str(model.group): as_column(list(of_groups), readers[0].types[str(model.group)]),
        counted: pa.array([n for _, n in of_groups.values()]),
        class_: pa.array(named),
        **{f"probability_{c}": pa.array(p) for c, p in zip(called, G.T, strict=True)},
    }
    if len(columns) < G.shape[1] + 3:
        raise ValueError(f"The group cannot be named {model.group!r} in the output: rename it.")
    with writing(output) as append:
        append(pa.table(columns))
    counts = {f"{class_} {name}": int((named == name).sum()) for name in called}
    total = sum(n for _, n in of_groups.values())
    return {"output": str(output), counted: total, "n_groups": len(G), "counts": counts}
