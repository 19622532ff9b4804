"""How well the nodes of a fit integrate over the spread of persons.

All persons share the nodes of a fit. The more labels a person has, and the more coefficients vary,
the fewer nodes are near that person's own profile, and the more the likelihood depends on where the
nodes happen to be. Nodes of their own (:mod:`persons`) do not have this problem: with them the
likelihood is computed once more at the end of a fit, so that fits are compared without this noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_nodes import shared, with_person_nodes
from spectralmirror.mixture.persons import Persons, batches
from spectralmirror.rows.grouped import Block
from spectralmirror.rows.reduce import collect
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["COARSE", "Integration", "log_likelihoods"]

#: The integration is coarse if the log-likelihood of a person is off by more than this, on average.
COARSE = 0.2
#: Nodes of each person's own that are enough, and the seed of those for comparisons.
FINE_NODES, FINE_SEED = 256, 1
#: Nodes of the midpoint rule in one dimension, and where the outer ones are.
MIDPOINTS, FARTHEST = 513, 8.0


@dataclass(frozen=True)
class Integration:
    """How far the log-likelihood with shared nodes is off.

    Attributes
    ----------
    missing : float
        The log-likelihood with nodes of each person's own, less that with shared ones, of all
        persons.
    mean_error : float
        Mean absolute difference for a person.
    """

    missing: float = 0.0
    mean_error: float = 0.0

    @classmethod
    def of(cls, likelihood: Likelihood, parameters: Parameters) -> Integration:
        """Compare both for rows in memory; others are taken for exact, not read again."""
        if likelihood.spread is None or not likelihood.rows.in_memory:
            return cls()
        if likelihood.has_person_nodes:
            fine = _finely(likelihood, parameters)
            return cls(fine.evaluate(parameters)[0] - likelihood.evaluate(parameters)[0])
        found = np.concatenate(list(_differences(likelihood, parameters)))
        return cls(float(found.sum()), float(np.abs(found).mean()))


def _finely(likelihood: Likelihood, parameters: Parameters) -> Likelihood:
    """Return a likelihood that integrates better than one with nodes of each person's own.

    Labels that persons hardly ever change make the integrand a step in z, which no polynomial
    follows: a climb with the few nodes of a quadrature of one dimension, or of two, may find a
    large spread that only these nodes support. In one dimension, the midpoint rule with many nodes
    that all persons share follows it. In more, there are other nodes, and more of them.
    """
    assert likelihood.spread is not None
    if likelihood.spread.nodes.shape[1] != 1:
        return with_person_nodes(likelihood, parameters, FINE_NODES, FINE_SEED)
    z = np.linspace(-FARTHEST, FARTHEST, MIDPOINTS)
    log_w = -0.5 * np.square(z)
    spread = replace(likelihood.spread, nodes=z[:, None], log_weights=log_w - logsumexp(log_w))
    return replace(likelihood, spread=spread, rows=shared(likelihood.rows))


def _differences(likelihood: Likelihood, parameters: Parameters) -> Iterator[Vector]:
    """Yield what is missing from the weighted log-likelihood of each person."""
    expanded, root = likelihood.expanded(parameters), likelihood.of_spread(parameters)
    alone = replace(likelihood, spread=None)
    for block in likelihood.rows.blocks():
        for piece in likelihood.pieces(block, len(expanded)):
            shared = likelihood.posterior(piece, expanded).log_likelihood
            log_p = alone.log_weights(piece, parameters).T
            own = _of_own_nodes(piece, likelihood, parameters, root)
            missing, w = logsumexp(own + log_p, axis=1) - shared, piece.shares[0]
            yield missing if w is None else w * missing


def log_likelihoods(likelihood: Likelihood, parameters: Parameters) -> Vector:
    """Return the log-likelihood of each group of rows in memory, in the order of reading.

    With a spread, each person has nodes of its own.
    """
    if likelihood.spread is None:
        return collect(
            likelihood.rows, lambda block: likelihood.posterior(block, parameters).log_likelihood
        )
    root, alone = likelihood.of_spread(parameters), replace(likelihood, spread=None)

    def of(block: Block) -> Vector:
        log_p = alone.log_weights(block, parameters).T
        own = _of_own_nodes(block, likelihood, parameters, root)
        return np.asarray(logsumexp(own + log_p, axis=1))

    return collect(likelihood.rows, of)


def _of_own_nodes(
    piece: Block, likelihood: Likelihood, parameters: Parameters, root: Matrix
) -> Matrix:
    """Return log P(labels | class l) of each person, shape (n_persons, k)."""
    sizes = piece.sizes
    if likelihood.labels is not None:
        t, W, labels = _as_sets(piece, likelihood, parameters, root)
        sizes = sizes * labels.n_labels
    else:
        t = likelihood.scores(piece.X, parameters.profiles).T
        W, y = likelihood.working(piece) @ root, piece.y.astype(np.float64)
        labels = Labels(y, likelihood.response, piece.sets, piece.shares[1])
    ends = np.append(0, np.cumsum(sizes))
    found = []
    for part in batches(sizes, Persons.width(root.shape[1])):
        here = slice(ends[part.start], ends[part.stop])
        starts = ends[part.start : part.stop] - ends[part.start]
        found.append(Persons.of(t[here], W[here], labels[here], starts).log_likelihood)
    return np.vstack(found)


def _as_sets(
    piece: Block, likelihood: Likelihood, parameters: Parameters, root: Matrix
) -> tuple[Matrix, Matrix, Labels]:
    """Return scores and labels of more than two kinds as choices: a set holds all labels of a row.

    The shapes are (n C, k) and (n C, q).
    """
    labels, k, n = likelihood.labels, len(parameters), len(piece)
    assert labels is not None
    t = likelihood.scores(piece.X, labels.profiles(parameters.profiles))
    t = t.reshape(k, labels.n_labels, n).transpose(2, 1, 0).reshape(-1, k)
    of_labels = labels.profiles(root.T).reshape(-1, labels.n_labels, likelihood.coordinates.size)
    W = np.einsum("np,qcp->ncq", likelihood.working(piece), of_labels, optimize=True)
    codes = Labels(piece.y, likelihood.response, None, piece.shares[1], labels.n_labels)
    return t, W.reshape(n * labels.n_labels, -1), codes.as_sets()
