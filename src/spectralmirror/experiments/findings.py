"""Sentences that summarise the tables: the source of every number in the documentation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

__all__ = ["FINDINGS", "spread"]

#: r counts as inside a subspace if the sine between them is below this.
INSIDE = 0.1


def spread(table: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return how well curves for different d align at equal n/d.

    For every n/d: `spread`, the largest mean over d minus the smallest, in units of the smallest
    (0 is perfect), and `noise`, the mean relative standard error of these means.
    """
    by_d = table.group_by("rows_per_feature", "d").agg(
        pl.col(value).mean().alias("mean"),
        (pl.col(value).std() / pl.len().sqrt() / pl.col(value).mean()).alias("error"),
    )
    by_ratio = by_d.group_by("rows_per_feature").agg(
        (pl.col("mean").max() / pl.col("mean").min() - 1).alias("spread"),
        pl.col("error").mean().alias("noise"),
    )
    return by_ratio.sort("rows_per_feature")


def figure1(table: pl.DataFrame) -> list[str]:
    """Say where r-hat lies between the profiles."""
    vectors = table.filter(pl.col("kind") != "point").select("x1", "x2", "x3").to_numpy()
    (u1, u2), r = vectors[:2], vectors[2]
    weights, outside, _, _ = np.linalg.lstsq(np.array([u1, u2]).T, r, rcond=None)
    cone = f"{weights[0]:.2f} u_1 + {weights[1]:.2f} u_2"
    return [f"r-hat = {cone}, and a part of length {np.sqrt(outside[0]):.2f} outside the span."]


def figure2(table: pl.DataFrame) -> list[str]:
    """Say how large the errors are, and how well they align in n/d."""
    found = []
    for labels in ("hard", "logistic"):
        part = table.filter(labels=labels)
        names = ["paper", "default", "likelihood"] + ["bound"] * (labels == "logistic")
        for ratio in sorted(part["rows_per_feature"].unique().to_list()):
            at = part.filter(rows_per_feature=ratio)
            found.append(f"{labels} labels, n/d = {ratio}: mean sin d_P {_means(at, names)}.")
        for name in names:
            ends = spread(part, name)
            spreads = ", ".join(
                f"{row['spread']:.0%} ({row['noise']:.0%}) at n/d = {row['rows_per_feature']}"
                for row in ends.to_dicts()
            )
            found.append(
                f"{labels} labels, {name}: the largest mean over d exceeds the smallest by "
                f"{spreads}; in brackets the standard error of such a mean."
            )
    return found


def figure3(table: pl.DataFrame) -> list[str]:
    """Say at which n the projection is better, and at which it is worse."""
    found = []
    for how, K in (("sqrt", "sqrt(n)"), ("log", "log(n)")):
        for (d,), part in table.group_by("d", maintain_order=True):
            for name in ("paper", "default"):
                gains = {
                    n: at[f"ambient_{how}"] - at[f"{name}_{how}"]
                    for (n,), at in part.sort("n").group_by("n", maintain_order=True)
                }
                won = [n for n, gain in gains.items() if _clearly_positive(gain)]
                lost = [n for n, gain in gains.items() if _clearly_positive(-gain)]
                found.append(
                    f"K = {K}, d = {d}: by two standard errors of the difference, {name} is better "
                    f"than all features at n = {_list(won) or 'none'}, worse at "
                    f"{_list(lost) or 'none'}."
                )
            largest = part.filter(n=int(part["n"].max()))  # type: ignore[arg-type]
            names = [f"{name}_{how}" for name in ("ambient", "paper", "default", "truth")]
            rmse = _means(largest, names)
            found.append(f"K = {K}, d = {d}, n = {largest['n'][0]}: RMSE {rmse}.")
    return found


def figure4(table: pl.DataFrame) -> list[str]:
    """Say how accurate EM is in each space, and whether it reached the maximum there."""
    found = []
    names = ("ambient", "unpenalised", "paper", "inside", "refined")
    for (labels, start, n), at in table.group_by("labels", "start", "n", maintain_order=True):
        for value in ("label", "expected", "component"):
            columns = [f"{value}_{name}" for name in names]
            columns += [f"{value}_bayes"] * (value != "expected")
            found.append(
                f"{labels} labels, EM from {start}, n = {n}: {value} {_means(at, columns)}."
            )
    for (labels, start), part in table.group_by("labels", "start", maintain_order=True):
        for inside in ("paper", "inside"):
            for whole in ("ambient", "unpenalised"):
                better = (part[f"expected_{whole}"] > part[f"expected_{inside}"]).sum()
                found.append(
                    f"{labels} labels, EM from {start}: the expected label is predicted better by "
                    f"{inside} than by {whole} in {better} of {len(part)} data sets."
                )
        gap = part["refined_above_ambient"]
        found.append(
            f"{labels} labels: LinearClassifierMixture() ends more than 2 below EM in all features "
            f"from {start} in {int((gap < -2).sum())} of {len(part)} data sets, more than 2 above "
            f"in {int((gap > 2).sum())}."
        )
    return found


def span(table: pl.DataFrame) -> list[str]:
    """Say how often r is in the span."""
    found = []
    for (ratio,), at in table.group_by("rows_per_feature", maintain_order=True):
        share = float((at["r"] < INSIDE).mean())  # type: ignore[arg-type]
        good = at.filter(pl.col("paper") < 0.3)
        inside = (
            f"{float((good['r'] < INSIDE).mean()):.0%} of the {len(good)} with sin d_P < 0.3"  # type: ignore[arg-type]
            if len(good)
            else "no data set has sin d_P < 0.3"
        )
        found.append(
            f"n/d = {ratio}: the sine between r and U-hat is below {INSIDE} in {share:.0%} of "
            f"{len(at)} data sets, {inside}; means: "
            f"{_means(at, ['r', 'r_hat', 'r_hat_error', 'paper', 'with_r_hat'])}."
        )
    return found


def hessian(table: pl.DataFrame) -> list[str]:
    """Say how accurate each method is at each mean."""
    return _by(table, "mean", ["labels", "residuals", "paper", "default"], "|mean of x| = {}")


def experts(table: pl.DataFrame) -> list[str]:
    """Say what the tensor method finds in responses and in labels."""
    names = ["failed", "sine", "profile_error"]
    return [
        f"{method} on {target}, n = {n}: {_means(at, names)}."
        for (method, target), part in table.group_by("method", "target", maintain_order=True)
        for (n,), at in part.group_by("n", maintain_order=True)
    ]


def cost(table: pl.DataFrame) -> list[str]:
    """Say how seconds grow: the slope of the upper half of each curve on log axes."""
    found = []
    for (against, method), part in table.group_by("against", "method", maintain_order=True):
        part = part.sort(str(against))
        upper = part.tail(max(2, -(-len(part) // 2)))
        slope = np.polyfit(np.log(upper[str(against)]), np.log(upper["seconds"]), 1)[0]
        last = part.tail(1)
        found.append(
            f"{method}: {last['seconds'][0]:.3g} s at n = {last['n'][0]}, d = {last['d'][0]}; "
            f"grows like {against}^{slope:.2f} from {against} = {upper[str(against)][0]} on."
        )
    return found


def median(table: pl.DataFrame) -> list[str]:
    """Say what the choice of the centre of the bulk changes."""
    return _by(table, "k", ["median", "known_bulk", "default"], "k = {}")


def blindspot(table: pl.DataFrame) -> list[str]:
    """Say how accurate each method is at each weight."""
    names = ["paper", "paper_with_mirror", "default", "likelihood"]
    return _by(table, "p", names, "p = {}")


def _by(table: pl.DataFrame, by: str, names: list[str], words: str) -> list[str]:
    groups = table.group_by(by, maintain_order=True)
    return [f"{words.format(at)}: mean sin d_P {_means(part, names)}." for (at,), part in groups]


def _clearly_positive(differences: pl.Series) -> bool:
    mean, deviation = differences.to_numpy().mean(), differences.to_numpy().std(ddof=1)
    return bool(mean > 2 * deviation / np.sqrt(len(differences)))


def _means(table: pl.DataFrame, names: list[str]) -> str:
    """Return the means in words, without columns that were never measured."""
    seen = [name for name in names if table[name].null_count() < len(table)]
    means = (float(table[name].mean()) for name in seen)  # type: ignore[arg-type]
    return ", ".join(f"{name} {mean:.3g}" for name, mean in zip(seen, means, strict=True))


def _list(values: list[object]) -> str:
    return ", ".join(str(value) for value in values)


#: table -> sentences, by name of the experiment.
FINDINGS: dict[str, Callable[[pl.DataFrame], list[str]]] = {
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "span": span,
    "hessian": hessian,
    "experts": experts,
    "cost": cost,
    "median": median,
    "blindspot": blindspot,
}
