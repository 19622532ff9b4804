"""The evidence and the penalty of wide fits, against those from matrices."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from spectralmirror.mixture.evidence import choose_l2, laplace
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.wide_evidence import (
    Curved,
    choose_l2_by_products,
    laplace_by_products,
)
from tests.helpers.mixtures import wide_problem

climber = partial(climb, max_iter=500)


def at_the_top(k=2, **options):
    """Return wide and dense likelihoods, and a maximum."""
    wide, dense, parameters = wide_problem(n=1_000, d=30, k=k, **options)
    return wide, dense, climber(wide, parameters, tol=1e-8)


@pytest.mark.parametrize("groups", [None, np.arange(1_000) // 10])
def test_determinant_and_trace(groups):
    # margin: the mean of 8 seeds has an error of about 0.3 in log det, and in gamma
    wide, dense, top = at_the_top(groups=groups)
    found = information(dense, top.parameters, 0).matrix
    assert found.shape == (63, 63)
    H = Curved(wide, top.parameters)
    np.testing.assert_allclose(H.hessian(np.eye(63)), found, atol=1e-7)
    log_dets = [H.log_det(seed) for seed in range(8)]
    assert np.mean(log_dets) == pytest.approx(np.linalg.slogdet(found)[1], abs=1.5)
    assert np.std(log_dets) < 4
    gamma = 60 - wide.l2 * (np.diagonal(np.linalg.inv(found)) * H.penalised).sum()
    assert np.mean([H.n_determined(seed) for seed in range(8)]) == pytest.approx(gamma, abs=1)


@pytest.mark.parametrize("k", [1, 2])
def test_the_evidence(k):
    wide, dense, top = at_the_top(k=k, groups=np.arange(1_000) // 10)
    expected = laplace(dense, top, information(dense, top.parameters, 0)).log_evidence
    found = [laplace_by_products(wide, top, seed).log_evidence for seed in range(4)]
    assert np.mean(found) == pytest.approx(expected, abs=1.5)


def test_the_evidence_of_a_likelihood_without_a_prior_of_weights():
    # the dense one takes a Newton step in addition
    wide, dense, top = at_the_top(groups=np.arange(1_000) // 10)
    wide, dense = replace(wide, concentration=0.0), replace(dense, concentration=0.0)
    top = climber(wide, top.parameters, tol=1e-8)
    expected = laplace(dense, top, information(dense, top.parameters, 0)).log_evidence
    assert laplace_by_products(wide, top, 0).log_evidence == pytest.approx(expected, abs=3)


@pytest.mark.parametrize("k", [1, 2])
def test_the_penalty(k):
    wide, dense, parameters = wide_problem(
        n=1_000, d=30, k=k, groups=np.arange(1_000) // 10, l2=20.0
    )
    start = climber(wide, parameters, tol=1e-3).parameters
    expected = choose_l2(dense, start, climber, 0)[0].l2
    chosen, top = choose_l2_by_products(wide, start, climber, 0)
    assert chosen.l2 == pytest.approx(expected, rel=0.07)
    assert chosen.l2 == float(f"{chosen.l2:.2g}")
    assert top.value == pytest.approx(chosen.evaluate(top.parameters)[0])


def test_without_intercepts():
    # finite differences of the gradient; the prior of the weights included
    wide, _, parameters = wide_problem(intercept=False)
    H = Curved(wide, parameters)
    step, lines = 1e-5, np.eye(H.size)
    theta = parameters.packed()
    for x in lines[[0, 5, -1]]:
        x_full = np.append(x, 0.0) * step
        up, down = (
            wide.evaluate(Parameters.unpacked(theta + s * x_full, 2))[1][:-1] for s in (1, -1)
        )
        np.testing.assert_allclose(H.hessian(x[None])[0], (down - up) / (2 * step), atol=1e-4)
