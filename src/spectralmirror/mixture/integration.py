"""How well the nodes of a fit integrate over the spread of persons.

All persons share the nodes of a fit. The more labels a person has, and the more coefficients vary,
the fewer nodes are near that person's own profile. Nodes of their own (:mod:`persons`) do not have
this problem: the difference shows how far the likelihood of the fit can be trusted.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
from scipy.special import logsumexp

from spectralmirror.mixture.fitting import Fit
from spectralmirror.mixture.labels import Labels
from spectralmirror.mixture.persons import Persons
from spectralmirror.rows.types import Vector

__all__ = ["COARSE", "integration_errors"]

#: The integration is coarse if the log-likelihood of a person is off by more than this, on average.
COARSE = 0.2
#: Persons are compared in at most this many pieces of a block.
N_PIECES = 8


def integration_errors(fit: Fit) -> Vector:
    """Return the error of the log-likelihood of some persons; empty without spread.

    Rows that are not in memory are not read again for this.
    """
    likelihood, parameters = fit.likelihood, fit.ascent.parameters
    if fit.kind is None or not likelihood.rows.in_memory:
        return np.empty(0)
    expanded, found = likelihood.expanded(parameters), []
    for block in islice(likelihood.rows.blocks(), 1):
        for piece in islice(likelihood.pieces(block, len(expanded)), N_PIECES):
            if piece.starts is None or piece.weight is not None:
                continue
            t = likelihood.scores(piece.X, parameters.profiles).T
            W = likelihood.working(piece) @ likelihood.of_spread(parameters)
            labels = Labels(piece.y.astype(np.float64), likelihood.response, piece.sets)
            own = Persons.of(t, W, labels, piece.starts)
            log_p = replace(likelihood, spread=None).log_weights(piece, parameters)
            exact = logsumexp(own.log_likelihood + log_p.T, axis=1)
            found.append(likelihood.posterior(piece, expanded).log_likelihood - exact)
    return np.concatenate(found) if found else np.empty(0)
