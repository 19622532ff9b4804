"""Second derivatives with a spread, against finite differences, and what they predict."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.mixture.curvature import curvature, split_matrices
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread import KINDS
from spectralmirror.mixture.tied_curvature import tied_hessian, tied_split_matrices
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import gradient_by_differences
from tests.helpers.rows import in_groups
from tests.helpers.spreads import ORIGIN, at, in_blocks, of_rows_alone, spread_problem


def hessian(likelihood, parameters):
    """The second derivatives of the likelihood and of the prior."""
    return tied_hessian(likelihood, parameters) - likelihood.curvature_of_prior(parameters)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_hessian_by_finite_differences(kind, response, k, weighted):
    likelihood, parameters, _ = spread_problem(
        kind, response, k, weighted=weighted, origin=ORIGIN, concentration=5.0, n=40
    )
    numerical = gradient_by_differences(
        lambda x: at(likelihood, parameters, x)[1], parameters.packed()
    )
    np.testing.assert_allclose(hessian(likelihood, parameters), numerical, atol=1e-6)


def test_hessian_without_intercept():
    likelihood, parameters, _ = spread_problem("full", intercept=False, weighted=True)
    numerical = gradient_by_differences(
        lambda x: at(likelihood, parameters, x)[1], parameters.packed()
    )
    np.testing.assert_allclose(hessian(likelihood, parameters), numerical, atol=1e-6)


def test_a_tiny_spread_has_the_curvature_of_none():
    likelihood, parameters, _ = spread_problem("diagonal", weighted=True)
    tiny = replace(parameters, spread=1e-6 * parameters.spread)
    plain = Parameters(parameters.profiles, parameters.logits)
    none = replace(likelihood, spread=None)
    expected = curvature(none, plain).hessian() - none.curvature_of_prior(plain)
    found = hessian(likelihood, tiny)
    others = np.r_[:6, 9:11]  # profiles and logits, without b
    np.testing.assert_allclose(found[np.ix_(others, others)], expected, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_splitting_gains_what_the_split_matrix_says(kind):
    likelihood, parameters, _ = spread_problem(kind, weighted=True)
    found = split_matrices(likelihood, parameters)
    np.testing.assert_array_equal(found, tied_split_matrices(likelihood, parameters))
    for c, S in enumerate(found):
        e = 1e-3 * np.random.default_rng(c).standard_normal(3)
        profiles = np.vstack([parameters.profiles, parameters.profiles[c] - e])
        profiles[c] += e
        log_p = np.append(parameters.log_weights, parameters.log_weights[c])
        log_p[[c, -1]] -= np.log(2)
        gained = of_rows_alone(likelihood, Parameters(profiles, log_p, parameters.spread))
        gained -= of_rows_alone(likelihood, parameters)
        np.testing.assert_allclose(gained, e @ S @ e / 2, rtol=2e-3, atol=1e-10)


@pytest.mark.parametrize("size", [1_000, 20_000])
def test_blocks_and_pieces_of_any_size_and_order(size, monkeypatch):
    likelihood, parameters, groups = spread_problem("factor", weighted=True, n=200)
    expected = tied_hessian(likelihood, parameters)
    moved = in_blocks(likelihood, groups, 50 * size, np.random.default_rng(0).permutation(200))
    monkeypatch.setattr("spectralmirror.rows.block.PIECE_BYTES", size)
    np.testing.assert_allclose(tied_hessian(moved, parameters), expected, rtol=1e-9, atol=1e-9)


def test_sparse_features():
    likelihood, parameters, groups = spread_problem("full")
    rows = likelihood.rows.rows
    thin = replace(likelihood, rows=in_groups(Rows(sparse.csr_array(rows.X), rows.y), groups))
    np.testing.assert_allclose(
        tied_hessian(thin, parameters), tied_hessian(likelihood, parameters), atol=1e-10
    )
