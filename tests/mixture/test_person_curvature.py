"""Second derivatives with nodes of each person's own, against finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.group_scores import score_products
from spectralmirror.mixture.person_nodes import with_person_nodes
from spectralmirror.mixture.spread import KINDS
from spectralmirror.mixture.tied_curvature import tied_hessian
from tests.helpers.mixtures import gradient_by_differences
from tests.helpers.spreads import ORIGIN, at, spread_problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize(("k", "weighted"), [(1, False), (2, True)])
def test_hessian_by_finite_differences(kind, response, k, weighted):
    likelihood, parameters, _ = spread_problem(
        kind, response, k, weighted=weighted, origin=ORIGIN, concentration=5.0, n=40
    )
    own = with_person_nodes(likelihood, parameters, 16, 0)
    here = parameters.at(parameters.packed() + 0.1)
    numerical = gradient_by_differences(lambda x: at(own, here, x)[1], here.packed())
    found = tied_hessian(own, here) - own.curvature_of_prior(here)
    np.testing.assert_allclose(found, numerical, atol=1e-6)


@pytest.mark.parametrize("kind", ["intercept", "diagonal"])
def test_as_with_many_shared_nodes(kind):
    likelihood, parameters, _ = spread_problem(kind, weighted=True)
    many = replace(likelihood, spread=likelihood.spread.with_nodes(2**13, 0))
    own = with_person_nodes(likelihood, parameters, 512, 0)
    for of in (tied_hessian, split_matrices, score_products):
        np.testing.assert_allclose(of(own, parameters), of(many, parameters), atol=0.05)
