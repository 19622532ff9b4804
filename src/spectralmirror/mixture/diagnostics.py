"""What the user should know about a fit, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spectralmirror.mixture.criteria import FitQuality
from spectralmirror.mixture.doubt import doubt
from spectralmirror.mixture.evidence import CLEARLY
from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.integration import COARSE
from spectralmirror.mixture.starts import Start, n_agreeing
from spectralmirror.rows.grouped import GroupedRows
from spectralmirror.rows.reduce import reduce

__all__ = ["Problem", "find_problems", "n_different_rows", "status"]

#: Labels with a log-likelihood per row above minus this are separated.
SEPARATED = 1e-4
#: A fit warns if a better maximum exists with a larger probability than this.
DOUBTFUL = 0.2
#: A label that occurs in fewer rows is rare.
RARE = 5


@dataclass(frozen=True)
class Problem:
    """A reason not to trust a fit, or a part of it.

    Attributes
    ----------
    kind : str
        "collinear features", "collinear covariates", "dropped components", "fewer components",
        "not converged", "indistinct components", "separated classes", "too few different rows",
        "rare labels", "a better maximum" or "coarse integration".
    sentence : str
        What is wrong, and what to do about it; parameters are in backticks.
    """

    kind: str
    sentence: str


def find_problems(
    fit: Fit,
    quality: FitQuality,
    *,
    collinear: str = "",
    max_iter: int,
    evidence: dict[int, float] | None = None,
    labels: Sequence[Any] = (),
) -> list[Problem]:
    """Return everything that is wrong with a fit, the most basic problem first.

    `collinear` says why the covariance of the features has no inverse; it is empty if it has one.
    `evidence` holds the log evidence for each number of components that was compared, and `labels`
    are what labels of several kinds are called.
    """
    problems, k = [], len(fit.ascent.parameters)
    if collinear:
        problems.append(
            Problem(
                "collinear features",
                f"{collinear}: many profiles fit the labels equally well, and only the penalty "
                f"`l2={fit.likelihood.l2:g}` chooses among them, without standard errors. Use "
                "fewer features, or more rows.",
            )
        )
    membership = fit.likelihood.membership
    if membership is not None and membership.collinear and k > 1:
        problems.append(
            Problem(
                "collinear covariates",
                f"{membership.collinear} (membership): many coefficients of the covariates fit "
                "equally well, and their standard errors mean nothing. Leave such covariates out.",
            )
        )
    if fit.n_dropped:
        problems.append(
            Problem(
                "dropped components",
                f"{fit.n_dropped} of {fit.n_dropped + k} components were left without rows and "
                "dropped: the labels do not support that many. Use fewer components, or "
                "`n_components='auto'`.",
            )
        )
    others = (
        _fewer_components(k, evidence or {}),
        _problem_of_shape(fit, quality, max_iter),
        _rare_labels(fit, labels),
        _better_maximum(fit.starts, k),
        _coarse_integration(fit),
    )
    return [*problems, *(problem for problem in others if problem is not None)]


def _fewer_components(k: int, evidence: dict[int, float]) -> Problem | None:
    """Return a problem if fewer components have clearly more evidence."""
    fewer = {number: value for number, value in evidence.items() if number < k}
    best = max(fewer, key=lambda number: fewer[number], default=k)
    if best == k or fewer[best] < evidence.get(k, np.inf) + CLEARLY:
        return None
    what = "One classifier explains" if best == 1 else f"{best} classifiers explain"
    return Problem(
        "fewer components",
        f"{what} these labels as well as {k} (log evidence {fewer[best]:.1f}, against "
        f"{evidence[k]:.1f} for {k}): use `n_components={best}`, or `n_components='auto'`.",
    )


def _better_maximum(starts: list[Start], k: int) -> Problem | None:
    """Return a problem if a better maximum is likely to exist."""
    risk = doubt(starts, k)
    if not risk > DOUBTFUL:
        return None
    return Problem(
        "a better maximum",
        f"A better maximum of the likelihood exists with a probability of about {risk:.0%}: raise "
        "`n_init`, use fewer components, or pass `groups` if there are any.",
    )


def _coarse_integration(fit: Fit) -> Problem | None:
    """Return a problem if the nodes integrate badly over the spread of persons."""
    error = fit.integration.mean_error
    if error < COARSE:
        return None
    return Problem(
        "coarse integration",
        "Persons have many labels for so many coefficients that vary: the log-likelihood of a "
        f"person is off by {error:.2f} on average, and estimates and standard errors are "
        "rough. Use a smaller kind of `spread`, or fewer features.",
    )


def _rare_labels(fit: Fit, labels: Sequence[Any]) -> Problem | None:
    """Return a problem if some of more than two labels occur in a few rows only."""
    if fit.likelihood.labels is None:
        return None
    C = fit.likelihood.labels.n_labels
    counts = reduce(fit.likelihood.rows, lambda block: np.bincount(block.y.astype(int), None, C))
    rare = int(counts.argmin())
    if counts[rare] >= RARE:
        return None
    others = int((counts < RARE).sum()) - 1
    more = f" (and {others} other labels in fewer than {RARE})" if others else ""
    rows = "row" if counts[rare] == 1 else "rows"
    return Problem(
        "rare labels",
        f"Label {labels[rare]!r} occurs in {counts[rare]} {rows} only{more}: little more than the "
        "penalty determines its coefficients. Correct it if it is a mistake, or merge it with "
        "another label.",
    )


def _problem_of_shape(fit: Fit, quality: FitQuality, max_iter: int) -> Problem | None:
    """Return what is wrong with the shape of the likelihood around the end of the climb."""
    k, rows = len(fit.ascent.parameters), fit.likelihood.rows
    if not fit.ascent.converged:
        return Problem(
            "not converged",
            f"The likelihood was still rising when the climb ended (`max_iter={max_iter}`): "
            "raise `max_iter`, or `l2`.",
        )
    membership = fit.likelihood.membership
    if fit.is_flat and membership is not None and membership.collinear:
        return None  # which is said already
    if fit.is_flat and k > 1:
        return Problem(
            "indistinct components",
            "The likelihood has no sharp maximum: some components are alike, or these rows do not "
            "determine them, and there are no standard errors. Use fewer components, or "
            "`n_components='auto'`.",
        )
    if fit.is_flat or quality.criteria.log_likelihood > -SEPARATED * rows.n_present:
        return Problem(
            "separated classes",
            "The likelihood has no sharp maximum: the classes can be separated, or there are too "
            "few rows, and standard errors are meaningless. Raise `l2`.",
        )
    if k == 1 or fit.information is None or rows.is_grouped:
        return None
    n_parameters = quality.criteria.n_parameters
    n_different = n_different_rows(fit.information.rows, n_parameters)
    if n_different * fit.likelihood.n_contrasts >= n_parameters:
        return None
    return Problem(
        "too few different rows",
        f"X has only {n_different} different rows, which cannot determine {n_parameters} "
        "parameters: other profiles fit equally well, and standard errors are meaningless. Use "
        "fewer components, more features, or `groups`.",
    )


def n_different_rows(rows: GroupedRows, most: int) -> int:
    """Count the rows that differ in their features, up to `most`.

    Without groups, the labels only determine P(y | x) at each different x, and so at most as many
    parameters as there are different x. Rows that are not in memory are not read again for this:
    they are assumed to differ.
    """
    if not rows.in_memory:
        return most
    seen: set[bytes] = set()
    for block in rows.blocks():
        for first in range(0, len(block), most):
            X = block.X[first : first + most]
            X = X.toarray() if sparse.issparse(X) else X
            seen.update(row.tobytes() for row in X + 0.0)  # turns -0.0 into 0.0
            if len(seen) >= most:
                return most
    return len(seen)


def status(
    problems: list[Problem], starts: list[Start], k: int, *, converged: bool, wide: bool = False
) -> str:
    """Return what happened in a fit of k components, as text."""
    sentences = [problem.sentence for problem in problems]
    if converged:
        sentences.append("Converged.")
    sentences.append(f"{n_agreeing(starts)} of {len(starts)} starts reached the best maximum.")
    risk = doubt(starts, k)
    if 0 < risk <= DOUBTFUL:
        sentences.append(f"Probability of a better one: {risk:.0%}.")
    if wide:
        sentences.append("So many features have no standard errors here: use `bootstrap`.")
    return " ".join(sentences)
