"""Two people behind one account, at a glance: docs/images/front.png."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets.household import TASTES, make_household
from spectralmirror.plotting.style import COLOURS, COMPONENTS

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "front.png"
WORDS = {
    "length": "length",
    "year": "new",
    "language=french": "French",
    "language=korean": "Korean",
}
SHOWN = 30


def main() -> None:
    """Fit the ratings of a household, and draw what goes in and what comes out."""
    ratings, who = make_household(seed=0)
    evening, liked = ratings["evening"].to_numpy(), ratings["liked"].to_numpy()
    X = ratings.drop("evening", "liked", "language").with_columns(
        (ratings["language"] == name.lower()).alias(f"language={name.lower()}")
        for name in ("French", "Korean")
    )
    X = X.with_columns(pl.all().cast(float)).select(list(TASTES))
    mixture = LinearClassifierMixture("auto", random_state=0).fit(X, liked, groups=evening)
    chance = mixture.component_proba(X, liked, groups=evening)[:, 0]
    first = np.arange(0, len(liked), len(liked) // len(who))
    truth = np.where(np.mean((chance[first] > 0.5) == (who == 0)) > 0.5, who == 0, who == 1)
    right = np.mean((chance[first] > 0.5) == truth)

    options = {"layout": "constrained", "width_ratios": (1, 1.3, 1)}
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 4.2), **options)
    draw_ratings(axes[0], (liked == "yes").reshape(len(who), -1)[:SHOWN])
    draw_tastes(axes[1], mixture)
    draw_evenings(axes[2], chance[first][:SHOWN])
    axes[2].set_title(f"Who was it? Right on {right:.1%}\nof {len(who)} evenings", fontsize=12)
    figure.savefig(PICTURE, dpi=110)
    print(f"{mixture.n_components_} people, {right:.1%} of the evenings right. Picture: {PICTURE}")


def draw_ratings(ax: Any, liked: np.ndarray) -> None:
    """Draw which films were liked, evening by evening."""
    evening, film = np.indices(liked.shape) + 1
    for sign, word in ((1, "liked"), (-1, "not liked")):
        shown = liked == (sign > 0)
        marker = "o" if sign > 0 else "x"
        ax.scatter(
            film[shown], evening[shown], s=16, color=COLOURS[sign], marker=marker, label=word
        )
    ax.set(xlabel="film of the evening", ylabel="evening", ylim=(len(liked) + 1, 0))
    ax.set_title("What is known: ratings of one\naccount, and on which evening", fontsize=12)
    ax.set_xticks(range(2, 13, 2))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)


def draw_tastes(ax: Any, mixture: LinearClassifierMixture) -> None:
    """Draw the coefficients per standard deviation, with 95 % intervals."""
    effect = mixture.coef_ * mixture.feature_scale_
    error = 1.96 * mixture.coef_standard_error_ * mixture.feature_scale_
    order = np.argsort(effect[0] - effect[1])
    places, names = np.arange(len(order)), np.array([WORDS.get(n, n) for n in TASTES])
    for one, (u, half, share) in enumerate(zip(effect, error, mixture.weights_, strict=True)):
        label = f"person {'AB'[one]}: {share:.0%} of evenings"
        ax.barh(
            places + 0.2 - 0.4 * one, u[order], 0.38, xerr=half[order], color=COMPONENTS[one],
            label=label, error_kw={"ecolor": "#222222", "elinewidth": 1},
        )  # fmt: skip
    ax.axvline(0, color="#222222", linewidth=0.8)
    ax.set_yticks(places, names[order])
    ax.set_xlabel("change in log-odds of “liked”, per standard deviation")
    ax.set_title("What is found: two people,\nand what each of them likes", fontsize=12)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)


def draw_evenings(ax: Any, chance: np.ndarray) -> None:
    """Draw the probability of the first person, evening by evening."""
    places = np.arange(1, len(chance) + 1)
    ax.barh(places, chance, color=COMPONENTS[0], height=0.8)
    ax.barh(places, 1 - chance, left=chance, color=COMPONENTS[1], height=0.8)
    ax.set(xlim=(0, 1), ylim=(len(chance) + 1, 0), ylabel="evening")
    ax.set_xlabel("probability of A (green) and B (pink)")


if __name__ == "__main__":
    main()
