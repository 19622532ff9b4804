"""Second derivatives against finite differences, and what they predict."""

import numpy as np
import pytest
from scipy import sparse

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.curvature import coupling, curvature, known_share, split_matrices
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.responses import LOGISTIC
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.mixtures import KINDS, D, K, gradient_by_differences, random_problem
from tests.helpers.rows import in_groups


@pytest.mark.parametrize("kind", KINDS)
def test_hessian_by_finite_differences(kind):
    likelihood, parameters, _ = random_problem(**kind, origin=np.array([0.3, -0.5, 2.0]))
    hessian = curvature(likelihood, parameters).hessian()
    hessian -= likelihood.curvature_of_prior(parameters)
    numerical = gradient_by_differences(
        lambda x: likelihood.evaluate(Parameters.unpacked(x, K))[1], parameters.packed()
    )
    np.testing.assert_allclose(hessian, numerical, atol=1e-5)


@pytest.mark.parametrize("grouped", [False, True])
def test_splitting_gains_what_the_split_matrix_says(grouped):
    likelihood, parameters, _ = random_problem(grouped=grouped)
    likelihood = likelihood.with_l2(0.0)
    for c, S in enumerate(split_matrices(likelihood, parameters)):
        e = 1e-3 * np.random.default_rng(c).standard_normal(D + 1)
        profiles = np.vstack([parameters.profiles, parameters.profiles[c] - e])
        profiles[c] += e
        log_p = np.append(parameters.log_weights, parameters.log_weights[c])
        log_p[[c, -1]] -= np.log(2)
        gained = likelihood.evaluate(Parameters(profiles, log_p))[0]
        gained -= likelihood.evaluate(parameters)[0]
        np.testing.assert_allclose(gained, e @ S @ e / 2, rtol=2e-3, atol=1e-10)


@pytest.mark.parametrize("grouped", [False, True])
def test_sparse_features(grouped):
    likelihood, parameters, groups = random_problem(grouped=grouped)
    rows = likelihood.rows.rows
    thin = Likelihood(
        in_groups(Rows(sparse.csr_array(rows.X), rows.y), groups),
        likelihood.response,
        likelihood.coordinates,
        likelihood.l2,
    )
    np.testing.assert_allclose(
        split_matrices(thin, parameters), split_matrices(likelihood, parameters), atol=1e-9
    )


def test_outside_the_span_the_information_is_the_coupling():
    # margin: entries of the d x d blocks average 20,000 rows, a standard error below 0.02
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6))
    U = np.zeros((2, 6))
    U[0, 0], U[1, 1] = 3, 2
    y = np.where(rng.uniform(size=len(X)) < 0.5, X @ U[0], X @ U[1]) > 0
    known = Whitening.known(np.zeros(6), np.eye(6))
    coordinates = Coordinates.whitened(known, None, intercept=False)
    rows = in_groups(Rows(X, np.where(y, 1.0, -1.0)))
    likelihood = Likelihood(rows, LOGISTIC, coordinates, 0.0)
    parameters = Parameters.equal(U)
    hessian = -curvature(likelihood, parameters).hessian() / len(X)
    outside = hessian[:12, :12].reshape(2, 6, 2, 6)[:, 2:, :, 2:]
    J = coupling(likelihood, parameters) / len(X)
    np.testing.assert_allclose(outside, np.einsum("lm,ij->limj", J, np.eye(4)), atol=0.02)


@pytest.mark.parametrize(("size", "least", "most"), [(1, 0.0, 0.5), (40, 0.95, 1.0)])
def test_groups_that_tell_their_class_keep_the_information(size, least, most):
    # hidden classes of rows alone lose most of it, of groups of 40 sharp labels next to nothing
    rng = np.random.default_rng(0)
    X, who = rng.standard_normal((8_000, 4)), np.arange(8_000) // size
    U = np.zeros((2, 4))
    U[0, 0], U[1, 1] = 4, 4
    truth = rng.integers(2, size=8_000)[who]
    y = np.where(rng.uniform(size=8_000) < 1 / (1 + np.exp(-(X * U[truth]).sum(axis=1))), 1.0, -1.0)
    coordinates = Coordinates.whitened(
        Whitening.known(np.zeros(4), np.eye(4)), None, intercept=False
    )
    rows = in_groups(Rows(X, y), None if size == 1 else who)
    likelihood = Likelihood(rows, LOGISTIC, coordinates, 0.0)
    parameters = Parameters.equal(U)
    share = known_share(likelihood, parameters)
    assert least < share < most
    # the share is the smallest ratio of the information to that with known classes
    t = X @ U.T
    r = np.eye(2)[truth]  # what known classes would give, on average that of the posterior
    complete = (r * LOGISTIC.f(t) * LOGISTIC.f(-t)).sum(axis=0)
    J = coupling(likelihood, parameters)
    expected = np.linalg.eigvalsh(J / np.sqrt(np.outer(complete, complete)))[0]
    assert share == pytest.approx(expected, abs=0.05)
