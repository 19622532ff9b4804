"""The likelihood that a fitted mixture has maximised, made again from the rows and the mixture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.person_nodes import may_have_person_nodes, with_person_nodes
from spectralmirror.mixture.search import prepared
from spectralmirror.mixture.spread import Spread
from spectralmirror.rows.grouped import GroupedRows

__all__ = ["centred", "fitted_likelihood", "fitted_parameters", "with_spread"]

#: Nodes that persons share, nodes of each person's own, and their seed.
SHARED_NODES, OWN_NODES, SEED = 256, 64, 0


def fitted_likelihood(model: Any, rows: GroupedRows) -> Likelihood:
    """Return what was maximised, with the penalties of the fit; spreads have nodes of their own."""
    likelihood: Likelihood = model._opened(rows, model.n_components_).with_l2(model.l2_)
    if rows.in_memory:
        likelihood = prepared(likelihood)
    if model.spread_kind_ is None:
        return likelihood
    if not hasattr(model, "_spread_entries"):
        raise ValueError(
            "The penalties of the spread are missing from this model, which an older version has "
            "fitted: fit it again."
        )
    likelihood = with_spread(likelihood, model.spread_kind_, SHARED_NODES)
    assert likelihood.spread is not None
    penalty = model._spread_entries[1]
    return replace(likelihood, spread=likelihood.spread.with_penalty(penalty))


def with_spread(likelihood: Likelihood, kind: str, n_nodes: int) -> Likelihood:
    """Return the likelihood with a spread of some kind, whose nodes all persons share."""
    p = likelihood.coordinates.from_standard.shape[1]
    return replace(likelihood, spread=Spread.of(kind, p, n_nodes, SEED, likelihood.n_contrasts))


def centred(likelihood: Likelihood, parameters: Parameters) -> Likelihood:
    """Return the likelihood with nodes around each person's posterior, if persons can have them."""
    if not may_have_person_nodes(likelihood, len(parameters)):
        return likelihood
    return with_person_nodes(likelihood, parameters, OWN_NODES, SEED)


def fitted_parameters(model: Any, likelihood: Likelihood) -> Parameters:
    """Return the estimates of a mixture, in the coordinates of a likelihood."""
    coef, intercept, of_weights = model.coef_, model.intercept_, model._of_membership
    if coef.ndim == 2:
        coef, intercept = coef * model.sharpness_[:, None], intercept * model.sharpness_
    profiles = likelihood.from_units(coef, intercept)
    b = np.empty(0) if likelihood.spread is None else model._spread_entries[0]
    return Parameters(profiles, of_weights.logits, b, of_weights.membership)
