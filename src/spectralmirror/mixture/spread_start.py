"""Where to start the climb for B: from how labels of the same person go together.

At a fit without spread, let s_i = y_i (log f)'(y_i t_i) x_i be the score of a row, s_G the sum over
a person, and H = E[-(log f)'' x x']. If persons scatter a little, with covariance C around the
profile of their class, then E[s_i s_j'] = H C H for two rows of the same person:

    C = H^-1 [sum_G s_G s_G' - sum_i s_i s_i'] H^-1 / sum_G n_G (n_G - 1).

With labels of more than two kinds, x is D' (x) x, and C is averaged over the contrasts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spectralmirror.mixture.group_scores import own_curvature
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.label_curvature import LabelDerivatives
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters, Posterior
from spectralmirror.mixture.spread import Spread
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import Sums, added, reduce
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["covariance_within", "initial_entries", "stretched"]

#: Variances of a start stay within these bounds.
LEAST_VARIANCE, MOST_VARIANCE = 0.04, 9.0
#: H is regularised by this share of its mean eigenvalue.
RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class WithinPersons(Sums):
    """Sums over persons: products of scores of two rows, H, and the numbers of pairs and rows."""

    products: Matrix
    curvature: Matrix
    n_pairs: float
    n_rows: float


def covariance_within(likelihood: Likelihood, parameters: Parameters) -> Matrix:
    """Return C per standard deviation of the features, at a fit without spread."""
    of = partial(_of_block, likelihood=likelihood, parameters=parameters)
    sums: WithinPersons = reduce(likelihood.rows, of)
    H = sums.curvature / sums.n_rows
    H += RIDGE * np.trace(H) / len(H) * np.eye(len(H))
    half = np.linalg.solve(H, sums.products / max(sums.n_pairs, 1.0))
    C, m = np.asarray(np.linalg.solve(H, half.T)), likelihood.n_contrasts
    return np.asarray(np.einsum("apaq->pq", C.reshape(m, len(C) // m, m, -1)) / m)


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters) -> WithinPersons:
    posterior = likelihood.posterior(block, parameters)
    X = likelihood.working(block) @ likelihood.coordinates.from_standard
    pairs = block.sizes * (block.sizes - 1.0)
    if likelihood.labels is not None:
        return added(_of_labels(likelihood.labels, X, block, posterior, pairs))
    found = []
    for r, slopes, signed in zip(
        posterior.responsibilities, posterior.slopes, posterior.signed, strict=True
    ):
        of_rows = block.of_rows(r)
        rows = X * (slopes * block.y)[:, None]
        persons = block.sums(rows.T)
        products = (persons * r) @ persons.T - (rows.T * of_rows) @ rows
        second = likelihood.response.curvature(signed, slopes)
        H = -own_curvature(block, X, of_rows, slopes, second)
        found.append(WithinPersons(products, H, float(r @ pairs), float(of_rows.sum())))
    return added(found)


def _of_labels(
    labels: LabelContrasts, X: Matrix, block: Block, posterior: Posterior, pairs: Vector
) -> Iterator[WithinPersons]:
    """Yield the sums of each class if labels are of more than two kinds."""
    D, derivatives = labels.differences, LabelDerivatives.of(labels, block, posterior)
    turn = np.kron(D.T, np.eye(X.shape[1]))
    for c, r in enumerate(posterior.responsibilities):
        of_rows, g = block.of_rows(r), D.T @ derivatives.g[c]
        rows = (g.T[:, :, None] * X[:, None]).reshape(len(X), -1)
        persons = block.sums(rows.T)
        products = (persons * r) @ persons.T - (rows.T * of_rows) @ rows
        H = -turn @ derivatives.own(X, c, of_rows) @ turn.T
        yield WithinPersons(products, H, float(r @ pairs), float(of_rows.sum()))


def initial_entries(spread: Spread, C: Matrix) -> Vector:
    """Return b with B B' close to C, all standard deviations away from 0."""
    p, b = len(C), np.zeros(len(spread))
    variances = np.diagonal(C)
    if spread.kind == "factor":
        eigenvalues, vectors = np.linalg.eigh(C - np.diag(variances))
        b[p:] = vectors[:, -1] * np.sqrt(_bounded(eigenvalues[-1]))
        variances = variances - np.square(b[p:])
    here = spread.is_deviation
    b[here] = np.sqrt(_bounded(variances[-here.sum() :]))
    return b


def stretched(likelihood: Likelihood, parameters: Parameters, b: Vector) -> Parameters:
    """Return a start: a spread flattens the labels of a class, so that profiles become longer."""
    start = replace(parameters, spread=b)
    c = 1 / np.sqrt(likelihood.shrinkage(start)[0])
    return replace(start, profiles=c * parameters.profiles)


def _bounded(variances: Vector) -> Vector:
    return np.clip(variances, LEAST_VARIANCE, MOST_VARIANCE)
