"""Comparisons of numbers of classes as plain data: in files, and in reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from spectralmirror.rows.files.atomic import written_whole
from spectralmirror.rows.types import Vector

__all__ = ["as_data", "from_data", "loaded_comparison", "save_comparison"]

#: Increased when earlier versions cannot read the files of this one.
FORMAT = 1
#: One number for each number of classes.
COLUMNS = (
    "log_likelihood", "n_parameters", "aic", "bic", "icl", "log_evidence", "held_out",
    "held_out_error", "gain", "gain_error", "statistic", "p_value", "split_log_ratio",
    "spread_score",
)  # fmt: skip
SINGLE = (
    "at_least_", "suggested_", "alpha", "requested", "n_units", "grouped", "spread",
    "sampled_from",
)  # fmt: skip
#: More classes than anybody compares.
MOST = 1_000


def as_data(comparison: Any) -> dict[str, Any]:
    """Return the figures of a comparison as strict JSON can hold them: null for NaN."""
    columns = {name: [_known(x) for x in getattr(comparison, name).tolist()] for name in COLUMNS}
    single = {name.rstrip("_"): getattr(comparison, name) for name in SINGLE}
    resampled = {str(k): values.tolist() for k, values in comparison.resampled_.items()}
    return {**single, "columns": columns, "resampled": resampled}


def from_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a comparison; raise if the data are not those of one."""
    columns = {name: _numbers(data["columns"][name]) for name in COLUMNS}
    single = {name: data[name.rstrip("_")] for name in SINGLE}
    resampled = {int(k): _numbers(values) for k, values in data["resampled"].items()}
    K = len(columns["bic"])
    fine = (
        0 < K < MOST
        and all(len(values) == K for values in columns.values())
        and np.isfinite(columns["n_parameters"]).all()
        and all(np.isfinite(columns[name]).all() for name in ("bic", "icl", "held_out"))
        and (single["at_least_"] is None or _is_number_of(single["at_least_"], K))
        and all(_is_number_of(k, K) for k in single["suggested_"].values())
        and {"bic", "icl", "held out"} <= single["suggested_"].keys()
        and all(_is_number_of(k, K) for k in resampled)
        and isinstance(single["alpha"], Real)
        and 0 < float(single["alpha"]) < 1
        and isinstance(single["grouped"], bool)
        and isinstance(single["spread"], str | None)
        and all(isinstance(single[name], Integral) for name in ("requested", "n_units"))
        and isinstance(single["sampled_from"], int | None)
    )
    if not fine:
        raise ValueError("no comparison")
    columns["n_parameters"] = columns["n_parameters"].astype(int)
    numbers = np.arange(1, K + 1)
    return {**single, **columns, "resampled_": resampled, "n_components": numbers, "models_": {}}


def save_comparison(comparison: Any, path: Path, about: Mapping[str, Any]) -> None:
    """Write a comparison to a file, whole or not at all."""
    from spectralmirror import __version__

    content = {
        "comparison": as_data(comparison),
        "about": dict(about),
        "format": FORMAT,
        "written_by": f"spectralmirror {__version__}",
    }
    text = json.dumps(content, indent=1, allow_nan=False)
    with written_whole(path) as unfinished:
        unfinished.write_text(text)


def loaded_comparison(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the attributes of a comparison in a file, and what was stored about it."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        content = json.loads(path.read_bytes())
        newer = int(content["format"]) > FORMAT
        if not newer:
            return from_data(content["comparison"]), dict(content["about"])
    except Exception:  # a file of another kind may raise anything
        raise ValueError(
            f"{path} is no comparison: write one with `spectralmirror compare ... -o FILE`."
        ) from None
    raise ValueError(f"{path} was written by a newer version: update spectralmirror.")


def _numbers(values: Any) -> Vector:
    return np.array([np.nan if x is None else float(x) for x in values], dtype=np.float64)


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _is_number_of(k: Any, K: int) -> bool:
    return isinstance(k, Integral) and not isinstance(k, bool) and 1 <= int(k) <= K
