"""A survey about phone plans: who pays how much for what? Draws docs/images/choice-survey.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spectralmirror import ChoiceMixture
from spectralmirror.effects import ratios

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "choice-survey.png"
FEATURES = ["price", "gigabytes", "monthly", "none"]
COLOURS = {"small": "#1f5a8a", "large": "#d95f0e", "flexible": "#3a8a5a", "nothing": "#888888"}
MARKET = pd.DataFrame(
    [[15, 10, 0, 0], [25, 40, 0, 0], [20, 20, 1, 0], [0, 0, 0, 1]],
    index=["small", "large", "flexible", "nothing"],
    columns=FEATURES,
).astype(float)


def survey(n_persons: int = 300, n_cards: int = 8, seed: int = 0) -> pd.DataFrame:
    """Ask persons of two kinds to choose one of three plans, or none, several times."""
    rng, n = np.random.default_rng(seed), n_persons * n_cards
    rows = pd.DataFrame(
        {
            "person": np.repeat(np.arange(n_persons), 4 * n_cards),
            "card": np.repeat(np.arange(n), 4),
            "price": rng.choice([10.0, 15.0, 20.0, 25.0, 30.0], 4 * n),
            "gigabytes": rng.choice([5.0, 10.0, 20.0, 40.0], 4 * n),
            "monthly": rng.choice([0.0, 1.0], 4 * n),
            "none": np.tile([0.0, 0.0, 0.0, 1.0], n),
        }
    )
    rows.loc[rows["none"] == 1, ["price", "gigabytes", "monthly"]] = 0.0
    tastes = np.array([[-0.25, 0.03, 0.3, -4.0], [-0.10, 0.09, 1.5, -3.0]])
    kind = rng.choice(2, n_persons, p=[0.6, 0.4])[rows["person"]]
    score = (rows[FEATURES].to_numpy() * tastes[kind]).sum(axis=1) + rng.gumbel(size=4 * n)
    best = score.reshape(n, 4).argmax(axis=1)
    return rows.assign(chosen=(np.arange(4) == best[:, None]).ravel())


def shares_at(mixture: ChoiceMixture, price: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the plans, overall and by class, if the large one costs this much."""
    changed = MARKET.copy()
    changed.loc["large", "price"] = price
    found = mixture.shares(changed, choices=np.zeros(4), alternatives=np.arange(4))
    return found.overall, found.by_class


def main() -> None:
    """Fit the survey; draw what classes pay for features, and shares at several prices."""
    rows = survey()
    mixture = ChoiceMixture("auto", random_state=0).fit(
        rows[FEATURES], rows["chosen"], choices=rows["card"], groups=rows["person"]
    )
    print(mixture.summary())

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    names = {"gigabytes": "10 gigabytes more", "monthly": "monthly notice"}
    for place, (feature, name) in enumerate(names.items()):
        found, unit = ratios(mixture, feature, "price"), 10 if feature == "gigabytes" else 1
        for c, letter in enumerate("AB"):
            worth = -unit * np.array([found.estimate[c], found.upper[c], found.lower[c]])
            y = place + 0.12 * (2 * c - 1)
            axes[0].plot(worth[1:], [y, y], color="#444444", lw=1.5)
            axes[0].plot(worth[0], y, "o", color="#444444", mfc="white" if c else None)
            axes[0].annotate(f"class {letter}", (worth[0], y), (0, 6), textcoords="offset points",
                             ha="center", fontsize=8)  # fmt: skip
        axes[0].text(-1.8, place + 0.36, name)
    axes[0].axvline(0, color="#bbbbbb", lw=1, zorder=0)
    axes[0].set(
        title="What it is worth, per month",
        xlabel="euros, with 95 % intervals",
        yticks=[],
        ylim=(-0.4, 1.6),
        xlim=(-2, 18),
        xticks=[0, 5, 10, 15],
    )

    prices = np.arange(10, 41)
    several = [shares_at(mixture, price) for price in prices]
    overall, by_class = (np.array(part) for part in zip(*several, strict=True))
    for j, plan in enumerate(MARKET.index):
        axes[1].plot(prices, 100 * overall[:, j], color=COLOURS[plan])
        axes[1].annotate(
            plan, (prices[-1], 100 * overall[-1, j]), (4, -3), color=COLOURS[plan],
            textcoords="offset points", fontsize=9, annotation_clip=False,
        )  # fmt: skip
    for c, letter in enumerate("AB"):
        axes[2].plot(prices, 100 * by_class[:, c, 1], color=COLOURS["large"], ls=["-", "--"][c])
        axes[2].annotate(f"class {letter}", (prices[17], 100 * by_class[17, c, 1]), (2, 6),
                         textcoords="offset points", fontsize=9)  # fmt: skip
    axes[1].set(title="Shares, if the large plan costs ...", ylabel="%", xlim=(10, 47))
    axes[2].set(title="Who buys the large plan?", ylabel="% of the class", xlim=(10, 40))
    for ax in axes[1:]:
        ax.set(xlabel="price of the large plan, euros", ylim=(0, None))
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].set_xticks([10, 20, 30, 40])
    figure.savefig(PICTURE, dpi=80)
    print(f"\nPicture: {PICTURE}")


if __name__ == "__main__":
    main()
