from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.curvature import coupling, curvature, split_matrices
from spectralmirror.mixture.group_scores import group_scores
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import get_response
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows

K, C, D, N = 2, 4, 3, 120


def likelihood(*, grouped=False, weighted=False, n_labels=C, intercept=True):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) @ rng.standard_normal((D, D)) + 2
    y = rng.integers(n_labels, size=N).astype(float)
    keys = np.sort(rng.integers(40, size=N)).astype(np.uint64) if grouped else None
    weight = rng.integers(1, 4, size=N) / 2 if weighted else None
    rows = InMemoryGroups.of(Rows(X, y, weight, keys=keys, block_bytes=1_000))
    whitening = whiten(rows.rows).whitening
    coordinates = Coordinates.whitened(whitening, None, intercept=intercept)
    labels = LabelContrasts(n_labels)
    return Likelihood(rows, get_response("logistic"), coordinates, 0.7, 5.0, labels=labels)


def some_parameters(one):
    rng = np.random.default_rng(1)
    return Parameters(rng.standard_normal((K, one.profile_size)), rng.standard_normal(K))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_and_second_derivatives_equal_finite_differences(grouped, weighted):
    one = likelihood(grouped=grouped, weighted=weighted)
    parameters = some_parameters(one)
    theta, e = parameters.packed(), 1e-5
    value, gradient = one.evaluate(parameters)
    both = [
        [one.evaluate(parameters.at(theta + sign * e * axis)) for sign in (1, -1)]
        for axis in np.eye(len(theta))
    ]
    slopes = [(up[0] - down[0]) / (2 * e) for up, down in both]
    np.testing.assert_allclose(gradient, slopes, atol=1e-6)
    second = [(up[1] - down[1]) / (2 * e) for up, down in both]
    found = curvature(one, parameters).hessian() - one.curvature_of_prior(parameters)
    np.testing.assert_allclose(found, second, atol=1e-6)
    np.testing.assert_allclose(one.projected().evaluate(parameters)[0], value)


@pytest.mark.parametrize("grouped", [False, True])
def test_scores_of_groups_sum_to_the_gradient(grouped):
    one = replace(likelihood(grouped=grouped), l2=0.0, concentration=0.0)
    parameters, total = some_parameters(one), 0.0
    for block in one.rows.blocks():
        posterior = one.posterior(block, parameters)
        total = total + group_scores(one, parameters, block, posterior).sum(axis=0)
    np.testing.assert_allclose(total, one.evaluate(parameters)[1], atol=1e-10)


@pytest.mark.parametrize("grouped", [False, True])
def test_two_labels_are_the_binary_likelihood(grouped):
    one = likelihood(grouped=grouped, n_labels=2)
    rows = one.rows
    signed = replace(rows.rows, y=2 * rows.rows.y - 1)
    binary = replace(one, rows=replace(rows, rows=signed), labels=None)
    parameters = some_parameters(one)
    for mine, theirs in zip(one.evaluate(parameters), binary.evaluate(parameters), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    np.testing.assert_allclose(
        curvature(one, parameters).hessian(), curvature(binary, parameters).hessian(), atol=1e-9
    )
    np.testing.assert_allclose(coupling(one, parameters), coupling(binary, parameters), atol=1e-9)
    np.testing.assert_allclose(
        split_matrices(one, parameters), split_matrices(binary, parameters), atol=1e-9
    )


def test_the_coupling_is_the_average_information_of_the_contrasts():
    """In whitened coordinates without intercept, J is the trace of the blocks over p."""
    one = likelihood(intercept=False)
    zero = Parameters.equal(np.zeros((K, one.profile_size)))
    J, H = coupling(one, zero), -curvature(one, zero).hessian()
    m, p = C - 1, D
    blocks = H[: K * m * p, : K * m * p].reshape(K * m, p, K * m, p)
    # at v = 0 the second derivatives in t are those of every row, and z z' averages to I; the
    # products g g' of labels independent of z average likewise
    np.testing.assert_allclose(J, np.einsum("apbp->ab", blocks) / p, atol=0.25 * np.abs(J).max())
