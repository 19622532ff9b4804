"""Products with second derivatives, against the matrices."""

import numpy as np
import pytest

from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.curvature import curvature, split_matrices
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.operators import (
    gram_products,
    hessian_products,
    leading_splits,
    principal,
    split_products,
)
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import wide_problem

GROUPS = np.arange(400) // 5
WEIGHT = np.random.default_rng(1).uniform(0.5, 2, 400)
CASES = [{}, {"groups": GROUPS}, {"weight": WEIGHT}, {"groups": GROUPS, "weight": WEIGHT}]


@pytest.mark.parametrize("case", CASES)
def test_products_with_the_hessian(case):
    wide, dense, parameters = wide_problem(**case)
    matrix = curvature(dense, parameters).hessian()
    lines = np.random.default_rng(0).standard_normal((3, len(matrix)))
    np.testing.assert_allclose(
        hessian_products(wide, parameters)(lines), -lines @ matrix, atol=1e-8
    )


@pytest.mark.parametrize("case", CASES)
def test_products_with_split_matrices(case):
    wide, dense, parameters = wide_problem(**case)
    V = np.random.default_rng(0).standard_normal((3, 13))
    for c, S in enumerate(split_matrices(dense, parameters)):
        np.testing.assert_allclose(split_products(wide, parameters, c, V), V @ S, atol=1e-8)


def test_the_leading_split_is_an_eigenvector():
    # relative to N = C + l2 / n, S e = lambda N e; 6 blocks of 8 vectors span all 48 coordinates
    wide, dense, parameters = wide_problem(d=47, groups=GROUPS)
    directions, n = wide.coordinates.principal, wide.rows.row_weight
    U = directions.directions
    N = U * directions.variances @ U.T + directions.rest * (np.eye(48) - U @ U.T)
    N[-1], N[:, -1] = 0, 0
    N += np.diag(np.append(np.full(47, wide.l2 / n), 1.0))
    values, directions = leading_splits(wide, parameters, 0, 3)
    S = split_matrices(dense, parameters)[0] / n
    np.testing.assert_allclose(directions @ S, values[:, None] * directions @ N, atol=1e-8)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(N, S)).real)[::-1][:3]
    assert values == pytest.approx(expected)


def test_products_with_the_rows():
    wide, _, _ = wide_problem(weight=WEIGHT)
    X = wide.rows.rows.X
    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    V = np.random.default_rng(0).standard_normal((3, 13))
    expected = V @ (Z.T * wide.rows.rows.weight) @ Z
    np.testing.assert_allclose(gram_products(wide, V), expected, atol=1e-8)


def test_principal_directions_of_a_few_strong_ones():
    # margin: the largest of 40 variances are about 9, 5 and 3
    wide, _, _ = wide_problem(d=40)
    directions = wide.coordinates.principal
    U, s = directions.directions, directions.variances
    np.testing.assert_allclose(U.T @ U, np.eye(len(s)), atol=1e-10)
    assert (U[-1] == 0).all()
    assert s.sum() + directions.rest * (40 - len(s)) == pytest.approx(directions.total)
    assert 1 <= len(s) < 15


def test_noise_has_no_principal_directions():
    # with fewer rows than features, variances within the sample are far from equal
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 600))
    coordinates = Coordinates.scaled(np.zeros(600), np.ones(600), None, intercept=True)
    rows = InMemoryGroups(Rows(X, np.ones(300)))
    likelihood = Likelihood(rows, RESPONSES["logistic"], coordinates, 1.0)
    assert principal(likelihood, 600.0, 0).directions.shape == (601, 0)
