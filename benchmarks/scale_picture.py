"""The picture of the curves of :mod:`benchmarks.scale`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TITLES = {
    "rows": "rows (100 features)",
    "features": "features (625,000 rows)",
    "components": "components (625,000 x 100)",
    "workers": "Dask workers (2,000,000 x 100)",
}
NAMES = {
    "mirror": ("SpectralMirror, file", "#222222", "o"),
    "mixture": ("LinearClassifierMixture, file", "#7b3294", "s"),
    "dask": ("SpectralMirror, Dask", "#1f78b4", "^"),
}


def draw(table: Any, path: Path) -> None:
    """Draw seconds against rows, features, components and workers."""
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    for ax, (against, title) in zip(axes, TITLES.items(), strict=True):
        part = table.filter(table["against"] == against)
        for what, (name, colour, marker) in NAMES.items():
            one = part.filter(part["what"] == what).sort("value")
            if len(one):
                ax.plot(one["value"], one["seconds"], marker + "-", color=colour, label=name)
        ax.set_xlabel(title)
        if against in ("rows", "features"):
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(sorted(set(part["value"])))
            ax.set_xticklabels([f"{v:,}" if v < 1e5 else f"{v / 1e6:g} M" for v in ax.get_xticks()])
            ax.set_yticks([1, 2, 5, 10, 20, 50], labels=["1", "2", "5", "10", "20", "50"])
            ax.minorticks_off()
            ax.margins(0.08)
            ax.autoscale()
        else:
            ax.set_xticks(sorted(set(part["value"])))
            ax.set_ylim(0, 1.15 * max(part["seconds"]))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds, wall clock")
    handles = {h.get_label(): h for ax in axes for h in ax.get_lines()}
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=3, frameon=False
    )
    figure.savefig(path, metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=110)
    plt.close(figure)
