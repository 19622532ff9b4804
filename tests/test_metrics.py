import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectralmirror.metrics import (
    component_error,
    principal_angles,
    profile_error,
    subspace_error,
)


def plane(angle):
    """Two planes of R^5 that share a line and are tilted by an angle about it."""
    A = np.eye(2, 5)
    B = np.vstack([A[0], np.cos(angle) * A[1] + np.sin(angle) * np.eye(5)[4]])
    return A, B


@pytest.mark.parametrize("angle", [1e-12, 1e-8, 1e-3, 0.5, np.pi / 2 - 1e-3, np.pi / 2 - 1e-9])
def test_angles_are_accurate_at_both_ends(angle):
    A, B = plane(angle)
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    mix = [rng.standard_normal((2, 2)) for _ in range(2)]
    A, B = mix[0] @ A @ rotation, mix[1] @ B @ rotation
    largest, smallest = principal_angles(A, B)
    assert largest == pytest.approx(angle, rel=1e-3, abs=3e-15)
    assert smallest == pytest.approx(0, abs=1e-14)
    assert subspace_error(A, B) == pytest.approx(np.sin(angle), rel=1e-3, abs=3e-15)
    assert np.pi / 2 - largest == pytest.approx(np.pi / 2 - angle, rel=1e-5)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_subspace_error_does_not_depend_on_basis_order_or_scale(seed, k):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, k, 6))
    error = subspace_error(A, B)
    mixed = rng.standard_normal((k, k)) @ A
    assert subspace_error(mixed, B) == pytest.approx(error, abs=1e-6)
    assert subspace_error(B, A) == pytest.approx(error, abs=1e-12)
    assert subspace_error(A[::-1] * 1e200, B * 1e-200) == pytest.approx(error, abs=1e-10)
    assert subspace_error(A, A) < 1e-14
    # The definition: the largest sine is that of the direction of A furthest from span(B).
    basis = np.linalg.qr(B.T)[0]
    residual = np.linalg.qr(A.T)[0] - basis @ (basis.T @ np.linalg.qr(A.T)[0])
    assert error == pytest.approx(np.linalg.norm(residual, 2), abs=1e-10)


def test_subspace_inside_another():
    assert subspace_error(np.eye(1, 4), np.eye(2, 4)) < 1e-15
    assert subspace_error(np.eye(3, 4)[2:], np.eye(2, 4)) == 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.permutations(range(4)))
def test_component_error_does_not_depend_on_names(true, names):
    found = [names[c] for c in true]
    assert component_error(true, found) == 0


def test_component_error_by_hand():
    true = [0, 0, 0, 1, 1, 2]
    assert component_error(true, ["b", "b", "a", "a", "a", "c"]) == pytest.approx(1 / 6)
    assert component_error(true, [0] * 6) == pytest.approx(1 / 2)
    assert component_error(true, [0, 1, 2, 3, 4, 5]) == pytest.approx(1 / 2)


def test_profile_error_matches_and_measures():
    U = np.array([[3.0, 0.0], [0.0, 4.0]])
    assert profile_error(U, U[::-1]) == 0
    assert profile_error(U, [[0, 4], [3, 1]]) == pytest.approx(1 / 5)
    assert profile_error(U, -U) == pytest.approx(np.sqrt(2))  # matched crosswise: sqrt(25 + 25) / 5
    assert profile_error(U, [[0.0, 1.0], [7.0, 0.0]], scale_free=True) == 0
    assert profile_error(U * 1e-200, U * 2e-200) == pytest.approx(1)
    assert profile_error(U * 1e200, U * 2e200) == pytest.approx(1)
    assert profile_error(U * 1e-3, U * 1e-3 + [[0, 0], [0, 1e-3]]) == pytest.approx(1 / 5)


def test_metrics_of_very_short_rows():
    A, B = np.array([[1.0, 0, 0], [0, 1e-30, 0]]), np.array([[1.0, 0, 0], [0, 0, 1.0]])
    assert subspace_error(A, B) == pytest.approx(1)
    assert subspace_error(A, np.eye(2, 3)) == pytest.approx(0)
    for size in (5e-324, 1e-300, 1e-20, 1e300):
        assert profile_error(np.eye(2, 3), size * np.eye(2, 3), scale_free=True) < 1e-12
    assert profile_error(1e-300 * np.eye(2), np.eye(2)) == pytest.approx(1e300)
    assert profile_error(1e-300 * np.eye(2), 2e-300 * np.eye(2)) == pytest.approx(1)
