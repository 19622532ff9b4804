"""Where to start the climb for B: from how labels of the same person go together.

At a fit without spread, let s_i = y_i (log f)'(y_i t_i) x_i be the score of a row, s_G the sum over
a person, and H = E[-(log f)'' x x']. If persons scatter a little, with covariance C around the
profile of their class, then E[s_i s_j'] = H C H for two rows of the same person:

    C = H^-1 [sum_G s_G s_G' - sum_i s_i s_i'] H^-1 / sum_G n_G (n_G - 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spectralmirror.mixture.group_scores import own_curvature
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
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
    return np.asarray(np.linalg.solve(H, half.T))


def _of_block(block: Block, likelihood: Likelihood, parameters: Parameters) -> WithinPersons:
    posterior = likelihood.posterior(block, parameters)
    X = likelihood.working(block) @ likelihood.coordinates.from_standard
    pairs = block.sizes * (block.sizes - 1.0)
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


def initial_entries(spread: Spread, C: Matrix) -> Vector:
    """Return b with B B' close to C, all standard deviations away from 0."""
    p, b = spread.n_coefficients, np.zeros(len(spread))
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
