"""Hide the parties of senators and find them again (docs/tutorial.md): docs/images/senate.png."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import log_expit
from sklearn.decomposition import PCA

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import load_senate_votes
from spectralmirror.plotting.style import COMPONENTS

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "senate.png"
PARTIES = {"R": ("#c23b22", "Republican"), "D": ("#2a5caa", "Democrat"), "I": ("#2a5caa", None)}


def main() -> None:
    """Fit the hidden half in 2005, and draw the roll calls and the evidence for each senator."""
    senate = load_senate_votes()
    votes, senators = senate.votes[1:], senate.senators[1:]
    first = senate.roll_calls["session"] == 1
    hidden = np.random.default_rng(0).permutation(101) >= 50
    features = PCA(2).fit_transform(votes[~hidden].T[first]) / np.sqrt(50)
    senator, call = np.nonzero((votes[:, first] != 0) & hidden[:, None])
    X, y = features[call], votes[:, first][senator, call]
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=senator)

    evidence = log_expit(y[:, None] * (X @ mixture.coef_.T + mixture.intercept_))
    counts = np.bincount(senator, minlength=101)
    ratio = np.bincount(senator, evidence[:, 0] - evidence[:, 1], 101) / np.maximum(counts, 1)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 6.6), layout="constrained")
    draw_calls(left, features, mixture)
    present = np.unique(senator)
    draw_senators(right, senators[present], ratio[present])
    figure.savefig(PICTURE, dpi=110)
    print(f"Picture: {PICTURE}")


def draw_calls(ax: Any, features: np.ndarray, mixture: LinearClassifierMixture) -> None:
    """Draw the roll calls, and the line where each classifier is undecided."""
    ax.scatter(*features.T, s=14, color="#8c8c8c", alpha=0.7, linewidths=0)
    low, high = features.min(axis=0) - 0.1, features.max(axis=0) + 0.1
    x = np.linspace(low[0], high[0], 2)
    lines = zip(mixture.coef_, mixture.intercept_, COMPONENTS, strict=False)
    for number, (u, b, colour) in enumerate(lines):
        ax.plot(x, -(b + u[0] * x) / u[1], color=colour, linewidth=2)
        foot = np.array([0.0, -b / u[1]])
        tip = foot + 0.3 * u / np.linalg.norm(u)
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2}
        ax.annotate("", tip, foot, arrowprops=arrow)
        align = {"ha": "left", "va": "center"} if u[0] > 0 else {"ha": "right", "va": "bottom"}
        ax.text(*(tip + np.copysign(0.02, u)), f"kind {number}\nsays yea", color=colour, **align)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set(xlabel="first feature of the roll call", ylabel="second feature")
    ax.set_title("366 roll calls, and two kinds of senators")


def draw_senators(ax: Any, senators: np.ndarray, ratio: np.ndarray) -> None:
    """Draw the evidence for each senator, in increasing order."""
    order = np.argsort(ratio)
    for place, i in enumerate(order):
        colour, _ = PARTIES[senators["party"][i]]
        ax.plot([0, ratio[i]], [place, place], color=colour, linewidth=1, alpha=0.5)
        ax.plot(ratio[i], place, "o", color=colour, markersize=5)
        if abs(ratio[i]) < 1.1:
            side = -1 if ratio[i] > 0 else 1
            name = senators["name"][i].title()
            align = "right" if side < 0 else "left"
            ax.text(side * 0.04, place, name, fontsize=8, ha=align, va="center")
    for colour, label in PARTIES.values():
        if label:
            ax.plot([], [], "o", color=colour, label=label)
    ax.axvline(0, color="#222222", linewidth=0.8)
    ax.set(xlabel="log of the ratio of likelihoods, a vote", yticks=[])
    ax.set_title("kind 1  ←  50 hidden senators  →  kind 0")
    ax.legend(loc="lower right", frameon=False)


if __name__ == "__main__":
    main()
