"""The preconditioner of wide rows, against its matrix."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture.curvature import coupling
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.preconditioner import Preconditioner
from tests.helpers.mixtures import wide_problem


def matrix_of(wide, parameters):
    """Return M of the profiles."""
    directions = wide.coordinates.principal
    U, p = directions.directions, wide.coordinates.size
    C = U * directions.variances @ U.T + directions.rest * (np.eye(p) - U @ U.T)
    C[-1, -1] = 1
    P = np.diag(wide.coordinates.precision.diagonal())
    J = coupling(wide, parameters)
    sizes, W = np.linalg.eigh(J)
    return np.kron(W * np.abs(sizes) @ W.T, C) + wide.l2 * np.kron(np.eye(len(J)), P)


def test_it_is_the_inverse_root():
    wide, _, parameters = wide_problem(k=3)
    found = Preconditioner.of(wide, parameters)
    end = parameters.profiles.size
    R = found.times(np.eye(end + 3)).T
    M = matrix_of(wide, parameters)
    np.testing.assert_allclose(R[:end, :end].T @ M @ R[:end, :end], np.eye(end), atol=1e-8)
    np.testing.assert_allclose(found.times(np.eye(end + 3), transposed=True), R, atol=1e-12)
    assert found.log_det(12) == pytest.approx(np.linalg.slogdet(M)[1])


def test_what_would_be_determined():
    wide, _, parameters = wide_problem(k=2)
    found = Preconditioner.of(wide, parameters)
    keep = np.tile(np.arange(13) < 12, 2)
    of_rows = (matrix_of(wide, parameters) - wide.l2 * np.eye(26))[keep][:, keep]
    expected = np.trace(of_rows @ np.linalg.inv(of_rows + 5.0 * np.eye(24)))
    assert found.determined(5.0, 12) == pytest.approx(expected)


def test_climbs_take_fewer_passes_and_end_at_the_same_maximum():
    # margin: 20 of 60 passes
    wide, _, parameters = wide_problem(n=2_000, d=60, k=1, l2=1.0)
    plain = replace(wide, coordinates=replace(wide.coordinates, principal=None))
    fast, slow = (climb(one, parameters, tol=1e-6, max_iter=500) for one in (wide, plain))
    assert fast.value == pytest.approx(slow.value, abs=1e-4)
    assert fast.n_passes < slow.n_passes
