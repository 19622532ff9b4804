"""How numbers of classes compare, as a report shows it."""

from __future__ import annotations

from typing import Any

from spectralmirror.selection import ComponentComparison
from spectralmirror.selection.stored import as_data

__all__ = ["check_comparison", "comparison"]


def comparison(found: ComponentComparison | None) -> dict[str, Any] | None:
    """Return the table, the conclusions and the figures of a comparison."""
    if found is None:
        return None
    return {
        "table": [
            {name: row[name] for name in ("n_components", "log_likelihood", "bic", "log_evidence",
                                          "held_out", "gain", "gain_error", "p_value",
                                          "split_log_ratio")}
            for row in found.rows
        ],
        "conclusions": found.conclusions(),
        "units": found.units,
        "figures": as_data(found) | {"resampled": {}},
    }  # fmt: skip


def check_comparison(found: Any, mixture: Any) -> None:
    """Raise if a comparison cannot be of the rows that were fitted."""
    if found is None:
        return
    if not isinstance(found, ComponentComparison):
        raise TypeError(f"comparison must be a ComponentComparison, got {type(found).__name__}.")
    n_units = mixture.n_groups_ if mixture.grouped_ else mixture.n_rows_
    n_compared = found.n_units if found.sampled_from is None else found.sampled_from
    if (n_compared, found.grouped) != (n_units, mixture.grouped_):
        ours, theirs = (
            f"{n:,} {'groups' if grouped else 'rows'}"
            for n, grouped in ((n_units, mixture.grouped_), (n_compared, found.grouped))
        )
        raise ValueError(
            f"The comparison is of {theirs}, but the model was fitted to {ours}: compare the rows "
            "that were fitted."
        )
