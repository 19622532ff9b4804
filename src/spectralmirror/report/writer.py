"""Writes the report to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spectralmirror.report.collector import collect
from spectralmirror.report.renderer import render
from spectralmirror.rows.files.atomic import written_whole

__all__ = ["write_report"]


def write_report(
    mixture: Any,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    groups: Any = None,
    choices: Any = None,
    alternatives: Any = None,
    membership: Any = None,
    table: Any = None,
    about: dict[str, Any] | None = None,
    comparison: Any = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Write a report about a fitted mixture: one self-contained HTML file.

    Parameters
    ----------
    mixture : LinearClassifierMixture or ChoiceMixture
        A fitted mixture.
    X : array or DataFrame of shape (n_samples, n_features)
        The features that were fitted, or a sample of their rows, in memory.
    y : array-like of shape (n_samples,)
        Their labels.
    path : str or Path
        Where to write. The file appears complete or not at all.
    groups : array-like of shape (n_samples,), default=None
        Rows that share their classifier. Required if the mixture was fitted with groups.
    choices, alternatives : array-like of shape (n_samples,), default=None
        For choices, as in :func:`collect`.
    membership : array-like of shape (n_samples, n_covariates), default=None
        As in :func:`collect`.
    table : polars DataFrame, default=None
        As in :func:`collect`.
    about : dict, default=None
        As in :func:`collect`.
    comparison : ComponentComparison, default=None
        As in :func:`collect`.
    random_state : int, RandomState instance or None, default=0
        As in :func:`collect`.

    Returns
    -------
    dict
        The data of the report, as :func:`collect` returns them.
    """
    data = collect(
        mixture, X, y, groups=groups, choices=choices, alternatives=alternatives,
        membership=membership, table=table, about=about, comparison=comparison,
        random_state=random_state,
    )  # fmt: skip
    page = render(data)
    with written_whole(Path(path)) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return data
