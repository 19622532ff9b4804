"""Why mirroring shows what the labels hide: the population of two classifiers in a plane.

Draws docs/images/idea.png and docs/images/evidence.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.special import expit

from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import component_error
from spectralmirror.plotting.style import BULK, COLOURS, COMPONENTS, MIRROR, OUTLIER

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WEIGHTS = np.array([0.55, 0.45])
ANGLES = np.radians([100, 10])
PROFILES = 4 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


def main() -> None:
    """Draw both."""
    draw_idea()
    draw_evidence()


def expected_label(points: np.ndarray) -> np.ndarray:
    """Return E[y | x] of the mixture."""
    return (2 * expit(points @ PROFILES.T) - 1) @ WEIGHTS


def draw_idea() -> None:
    """Draw the expected label, the mirrored one, and the second moment of each by direction."""
    side = np.linspace(-2.6, 2.6, 301)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    density = np.exp(-0.5 * (plane**2).sum(axis=1))
    density /= density.sum()
    label = expected_label(plane)
    r = (density * label) @ plane
    mirrored = label * np.sign(plane @ r)

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
    for ax, values, title in (
        (axes[0], label, "mean label"),
        (axes[1], mirrored, "mean mirrored label"),
    ):
        shown = ax.imshow(
            values.reshape(301, 301),
            extent=(-2.6, 2.6, -2.6, 2.6),
            origin="lower",
            cmap=LinearSegmentedColormap.from_list("labels", [COLOURS[-1], "white", COLOURS[1]]),
            vmin=-1,
            vmax=1,
        )
        ax.set(title=title, xticks=[], yticks=[], xlim=(-2.6, 2.6), ylim=(-2.6, 2.6))
        for u, colour in zip(PROFILES, COMPONENTS, strict=False):
            across = np.array([-u[1], u[0]]) / np.linalg.norm(u)
            ax.plot(*np.outer(across, [-4, 4]), color=colour, linewidth=1.5)
            arrow(ax, 1.5 * u / np.linalg.norm(u), colour)
        arrow(ax, 1.5 * r / np.linalg.norm(r), MIRROR)
        ax.text(*(1.62 * r / np.linalg.norm(r)), "r", ha="center", va="bottom", fontsize=12)
    along_mirror = np.array([-r[1], r[0]]) / np.linalg.norm(r)
    axes[1].plot(*np.outer(along_mirror, [-4, 4]), color=MIRROR, linestyle="--", linewidth=1)
    figure.colorbar(shown, ax=axes[1], shrink=0.8, label="no  ←  mean  →  yes")

    turn = np.radians(np.arange(0, 181))
    along = (plane @ np.array([np.cos(turn), np.sin(turn)])) ** 2 - 1
    for values, name, colour in (
        (label, "labels", BULK),
        (mirrored, "mirrored labels", OUTLIER),
    ):
        axes[2].plot(np.degrees(turn), (density * values) @ along, color=colour, label=name)
    axes[2].axvline(np.degrees(np.arctan2(r[1], r[0])), color=MIRROR, linestyle=":", label="r")
    axes[2].set(xlabel="direction v, degrees", title="mean of label · (⟨v, x⟩² − 1)")
    axes[2].set_xticks(range(0, 181, 45))
    axes[2].legend(frameon=False, loc="upper right")
    figure.savefig(IMAGES / "idea.png", dpi=110)


def arrow(ax: Any, tip: np.ndarray, colour: str) -> None:
    """Draw an arrow from the origin."""
    ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 2})


def draw_evidence() -> None:
    """Draw how often a person is assigned correctly, against the number of labels per person."""
    sizes = np.array([1, 2, 3, 5, 7, 10, 15, 20, 30])
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for norm, colour in ((1, COMPONENTS[2]), (2, COMPONENTS[0]), (4, COMPONENTS[4])):
        right = [share_assigned(size, norm) for size in sizes]
        ax.plot(sizes, right, "o-", color=colour, label=f"profiles of length {norm}")
    ax.axhline(0.6, color="#8c8c8c", linestyle=":")
    ax.text(30, 0.595, "always choosing the more frequent one", ha="right", va="top", fontsize=9)
    ax.set(xlabel="labels of one person", ylabel="share assigned correctly", ylim=(0.5, 1.01))
    ax.legend(frameon=False, loc="center right")
    figure.savefig(IMAGES / "evidence.png", dpi=110)


def share_assigned(size: int, norm: float) -> float:
    """Return the share of 2,000 groups that the true model assigns to the right classifier."""
    weights = np.array([0.6, 0.4])
    X, y, truth = make_linear_classifier_mixture(
        2_000 * size, 10, profile_norm=norm, weights=weights, group_size=size, random_state=0
    )
    evidence = np.log(expit(y[:, None] * (X @ truth.profiles.T)))
    total = np.log(weights) + evidence.reshape(2_000, size, 2).sum(axis=1)
    return 1 - component_error(truth.components[::size], total.argmax(axis=1))


if __name__ == "__main__":
    main()
