"""What to be careful about, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spectralmirror.report.text.facts import LONGEST_LISTED
from spectralmirror.report.text.finding import supported
from spectralmirror.report.text.words import count, listing, number, percent, quoted, shortened
from spectralmirror.responses import get_response

__all__ = ["cautions"]

#: With fewer rows a parameter, estimates of logistic regressions are known to be too large and
#: their intervals too short.
ROWS_A_PARAMETER = 10
#: Where a label is rare its rows are what counts, half as many as of all rows of equal labels.
RARE, RARE_A_PARAMETER = 0.2, 5
#: With fewer groups, errors that allow for any dependence inside of groups come out too small.
FEWEST_GROUPS = 50
#: The fit itself looks for starts until so many agree.
ENOUGH_AGREE = 3
#: A classifier of fewer than one label in twenty is often no more than a few odd rows.
TINY_WEIGHT = 0.05
#: To name a classifier must be right so much more often than always naming the largest.
USEFUL_MARGIN = 0.05
#: Labels explained to this log-likelihood a row are separated.
SEPARATED = 1e-4
#: No classifier that people disagree about is as good as this: a feature must know the label.
DISGUISED = 0.9995
#: Differences of BIC below this mean little (Kass and Raftery 1995 call more "very strong").
CLOSE = 10.0
#: Names that are listed.
MOST_NAMES = 5


def cautions(data: dict[str, Any]) -> list[dict[str, str]]:
    """Return what applies to the collected data: its kind, a title, the matter, and advice."""
    return [
        {"kind": kind, "title": title, "text": text, "advice": advice}
        for kind, title, text, advice in (
            *_of_rows(data),
            *_of_fit(data),
            *_of_labels(data),
            *_of_components(data),
            *_of_use(data),
            *_of_features(data),
        )
    ]


def _of_rows(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    rows, parameters = data["rows"], data["model"]["n_parameters"]
    share = rows["fitted"] / parameters
    if share < ROWS_A_PARAMETER:
        yield (
            "few_rows",
            "Few rows",
            f"There are {count(rows['fitted'], 'row')} for {count(parameters, 'parameter')}, "
            f"{number(share, 2)} each. Below {ROWS_A_PARAMETER} effects look larger and surer than "
            "they are.",
            "Use more rows, fewer features or fewer classifiers, or raise l2.",
        )
    rarer = min(data["labels"]["share_positive"], 1 - data["labels"]["share_positive"])
    if share >= ROWS_A_PARAMETER and rarer < RARE and rarer * share < RARE_A_PARAMETER:
        yield (
            "rare_label",
            "A rare label",
            f"One of the labels was seen in {percent(rarer)} of the rows only, "
            f"{number(rarer * share, 2)} for each parameter. Below {RARE_A_PARAMETER} effects look "
            "larger and surer than they are.",
            "Use more rows, fewer features or fewer classifiers, or raise l2.",
        )
    n_groups = rows["n_groups"]
    if n_groups is not None and n_groups < FEWEST_GROUPS and rows["looked_at"] >= rows["fitted"]:
        yield (
            "few_groups",
            "Few groups",
            f"There are only {count(n_groups, 'group')}. Below {FEWEST_GROUPS} the intervals, "
            "which allow for any dependence inside of groups, are too short.",
            "Read the intervals as rough, or collect more groups rather than more rows of each.",
        )


def _of_fit(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    model, rows = data["model"], data["rows"]
    if not model["converged"]:
        yield (
            "not_converged",
            "The fit did not converge",
            "The likelihood was still rising when the climb ended: all estimates are provisional.",
            "Raise max_iter, or l2.",
        )
    separated = model["log_likelihood"] > -SEPARATED * rows["fitted"]
    if separated or (not model["has_errors"] and get_response(model["response"]).norm_identified):
        yield (
            "no_errors",
            "No standard errors",
            f"There are no intervals to rely on. The fit said: {quoted(model['status'])}",
            "Use fewer classifiers, fewer features or more rows, or raise l2.",
        )
    agreed, starts = model["n_agreed"], model["n_starts"]
    if model["k"] > 1 and agreed < ENOUGH_AGREE and (agreed < starts or starts == 1):
        yield (
            "starts_disagree",
            "Starts disagree",
            f"Only {agreed} of {count(starts, 'start')} reached the best maximum of the "
            "likelihood: there may be a better one, with other classifiers.",
            "Raise n_init, or use fewer classifiers.",
        )


def _of_labels(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    fresh = data["held_out"].get("fresh")
    auc = None if fresh is None else fresh["mixture"]["auc"]
    if auc is not None and auc > DISGUISED:
        yield (
            "disguised",
            "Labels that are no riddle",
            "Labels of rows that were held out are predicted almost without error. One of the "
            "features may be the label in disguise, and the size of its effect is then set by the "
            "penalty, whatever its interval says.",
            "Look at the strongest feature: leave it out if it is known only with the label.",
        )


def _of_components(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    asked, k = data["model"]["asked"], data["model"]["k"]
    if isinstance(asked, int) and asked > k:
        yield (
            "dropped",
            "Fewer classifiers than asked for",
            f"{asked} classifiers were asked for, but {asked - k} of them were left without rows.",
            'The labels do not support so many: ask for fewer, or for "auto".',
        )
    path, best = data["model"]["bic_path"], data["model"]["bic"]
    close = [(other, bic - best) for other, bic in path if other != k and bic - best < CLOSE]
    if asked == "auto" and close:
        other, more = min(close, key=lambda pair: pair[1])
        yield (
            "close_k",
            "Another number of classifiers is almost as good",
            f"The BIC of {other} is only {number(more, 2)} more, which means little.",
            f"Fit {other}, too, and compare what they say, and how they predict.",
        )
    tiny = [c for c in data["classifiers"] if c["weight"] < TINY_WEIGHT]
    if tiny:
        names = listing([f"{c['name']} ({percent(c['weight'])})" for c in tiny])
        yield (
            "tiny_weight",
            "A classifier with little weight",
            f"Very little of the labels is ascribed to {names}. Such a small part may be a few odd "
            "rows rather than a classifier.",
            "Look at its intervals and at its rows, and try one classifier less.",
        )


def _of_use(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    if data["model"]["k"] == 1:
        return
    if not supported(data):
        judged = data["held_out"]["history"] or data["held_out"]["fresh"]
        worse = judged["verdict"] == "worse"
        beats = "does worse than" if worse else "does not clearly beat"
        yield (
            "no_better",
            f"A single classifier predicts {'better' if worse else 'as well'}",
            f"On rows that were held out the mixture {beats} a single "
            f"{data['held_out']['single']}: these data give little reason to believe in several "
            "classifiers.",
            "Prefer the single classifier for prediction, and take the profiles as a conjecture "
            "that other data must confirm.",
        )
    assignments = data["assignments"]
    judged = assignments["groups"] or assignments["rows"]
    if judged["mean"] - assignments["largest"] < USEFUL_MARGIN:
        yield (
            "guessing",
            "Assignments are hardly better than a guess",
            f"The most likely classifier should be the right one for {percent(judged['mean'])} of "
            f"the {judged['of']}; always naming the largest is right for "
            f"{percent(assignments['largest'])}.",
            "Do not sort rows by classifier. Labels that are known to come from the same source "
            "(groups) would tell more.",
        )


def _of_features(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    features = data["features"]
    # indicators of levels are what they are: there is nothing to do about them
    told = zip(features["names"], features["gaussian"], features["binary"], strict=True)
    odd = [name for name, fine, binary in told if not (fine or binary)]
    if odd:
        names = listing([quoted(shortened(name, LONGEST_LISTED)) for name in odd], MOST_NAMES)
        some = ("takes", "is", "has") if len(odd) == 1 else ("take", "are", "have")
        yield (
            "non_gaussian",
            "Features that are not nearly Gaussian",
            f"{len(odd)} of {count(len(features['names']), 'feature')} {some[0]} few values, "
            f"{some[1]} skewed or {some[2]} heavy tails: {names}. The spectrum below may then show "
            "directions that come from the features rather than from the labels. The likelihood, "
            "and all that follows from it, does not mind.",
            "Read the spectrum with care; transform skewed features, for example by a logarithm.",
        )
