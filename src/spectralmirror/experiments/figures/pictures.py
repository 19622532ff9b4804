"""The picture of every experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from spectralmirror.experiments.figures.claims import (
    draw_blind_spot,
    draw_cost,
    draw_experts,
    draw_hessian,
    draw_median,
    draw_span,
)
from spectralmirror.experiments.figures.paper import (
    draw_figure1,
    draw_figure2,
    draw_figure3,
    draw_figure4,
)

__all__ = ["PICTURES"]

#: table -> figure, by name of the experiment.
PICTURES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "figure1": draw_figure1,
    "figure2": draw_figure2,
    "figure3": draw_figure3,
    "figure4": draw_figure4,
    "span": draw_span,
    "hessian": draw_hessian,
    "experts": draw_experts,
    "cost": draw_cost,
    "median": draw_median,
    "blindspot": draw_blind_spot,
}
