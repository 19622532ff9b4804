"""The Gauss-Newton step, against a least-squares problem solved by brute force."""

import numpy as np
import pytest

from spectralmirror import FeatureMoments
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.stacked.gauss_newton import StepSums, alone, in_groups, sharpen
from spectralmirror.subspace.stacked.polynomial import REACH
from spectralmirror.subspace.stacked.scores import Frame
from tests.helpers.rows import in_groups as grouped_rows


def problem(n=4000, d=5, seed=0, shift=0.0):
    """Return rows of one curve, y = tanh<u, x> without noise of its own, whitened and as they are.

    Whitening is exact: the rows have mean `shift` and covariance I.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / n)).T
    rows = Rows(X + shift, np.tanh(2 * X[:, 0]))
    moments = FeatureMoments.from_rows(rows.X)
    return X, rows, Frame(rows.dtype, moments.whitening)


def known_model(basis, shift=0.0):
    """Return the residuals and slopes of h(t) = tanh(2 t) along the basis."""

    def model(block):
        t = (block.X - shift) @ basis[0]
        return block.y - np.tanh(2 * t), (2 / np.cosh(2 * t) ** 2)[:, None]

    return model


@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_step_is_the_solution_of_the_linearised_problem(shift):
    """For a scalar h, turn = J^-1 mean((y - h) h' w), w the features outside the subspace."""
    X, rows, frame = problem(shift=shift)
    basis = np.array([[np.cos(0.3), np.sin(0.3), 0, 0, 0]])
    model = known_model(basis, shift)
    improved, error = sharpen(rows, rows, frame, basis, model, n_fixed=0)
    e, slope = model(rows)
    outside = X - (X @ basis.T) @ basis
    turn = np.mean((e * slope[:, 0])[:, None] * outside, axis=0) / np.mean(slope**2)
    np.testing.assert_allclose(improved[0] - basis[0], turn, atol=1e-9)
    spread = np.mean((e * slope[:, 0]) ** 2) / np.mean(slope**2) ** 2
    assert error == pytest.approx(np.sqrt(4 / 4000 * spread))


def test_step_reduces_the_error_of_the_direction():
    _, rows, frame = problem()
    basis = np.array([[np.cos(0.3), np.sin(0.3), 0, 0, 0]])
    for _ in range(4):
        model = known_model(basis)
        improved, _ = sharpen(rows, rows, frame, basis, model, n_fixed=0)
        before, basis = basis, improved / np.linalg.norm(improved)
        assert 1 - basis[0, 0] < 1 - before[0, 0]
    assert basis[0, 0] > 1 - 1e-6


def test_fixed_directions_stay_and_steps_are_bounded():
    _, rows, frame = problem()
    basis = np.eye(2, 5)

    def model(block):
        return 1e3 * block.X[:, 4], np.column_stack([block.X[:, 0], 1 + 0 * block.X[:, 1]])

    improved, _ = sharpen(rows, rows, frame, basis, model, n_fixed=1)
    np.testing.assert_array_equal(improved[0], basis[0])
    assert np.linalg.norm(improved[1] - basis[1]) == pytest.approx(1.0)


def test_a_model_without_slope_changes_nothing():
    _, rows, frame = problem(400)
    basis = np.eye(1, 5)
    found, error = sharpen(
        rows, rows, frame, basis, lambda b: (b.y, np.zeros((len(b), 1))), n_fixed=0
    )
    np.testing.assert_array_equal(found, basis)
    assert error == np.inf


def test_sums_of_blocks_add_up():
    _, rows, frame = problem(600)
    basis = np.eye(1, 5)
    model = alone(rows, rows, frame, basis)
    whole = StepSums.of(rows, model, None)
    parts = reduce(Rows(rows.X, rows.y, block_bytes=2000), lambda b: StepSums.of(b, model, None))
    for name in ("gradient", "totals", "curvature", "spread"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-9)


def test_model_of_single_rows_is_a_polynomial_with_its_slope():
    W, rows, frame = problem()
    basis = np.eye(2, 5)
    u = np.clip(W, -REACH, REACH)
    rows = Rows(rows.X, u[:, 0] ** 3 - u[:, 0] * u[:, 1])
    model = alone(rows, rows, frame, basis)
    residuals, slopes = model(rows)
    inside = np.abs(W[:, :2]).max(axis=1) < 3
    np.testing.assert_allclose(residuals, 0, atol=1e-8)
    np.testing.assert_allclose(slopes[inside, 1], -W[inside, 0], atol=1e-8)
    # the slope of h by finite differences, moving the rows along a whitened axis
    h = 1e-4
    for j in range(2):
        step = h * frame.whitening.cholesky[:, j] * frame.whitening.scale
        up, down = (model(Rows(rows.X + sign * step, rows.y))[0] for sign in (1, -1))
        np.testing.assert_allclose(slopes[inside, j], ((down - up) / (2 * h))[inside], atol=1e-4)
    assert alone(rows[:50], rows[:50], frame, basis) is None  # too few for degree 3


def test_model_of_groups_does_not_use_the_label_itself():
    """Random labels in pairs cannot be predicted, unless a label were among its own predictors."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((4000, 3)), rng.choice([-1.0, 1], 4000))
    frame = Frame(rows.dtype, FeatureMoments.from_rows(rows.X).whitening)
    grouped = grouped_rows(rows, np.arange(4000) // 2)
    residuals, _ = in_groups(grouped, frame, np.eye(1, 3))(next(iter(grouped.blocks())))
    assert np.mean(residuals**2) > 0.98


def test_model_of_groups_uses_the_other_rows():
    """Two opposite profiles: a single row holds no information, its group determines the sign."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3))
    groups = np.arange(6000) // 6
    sign = rng.choice([-1, 1], 1000)[groups]
    rows = Rows(X, np.sign(sign * X[:, 0] + 1e-9))
    frame = Frame(rows.dtype, FeatureMoments.from_rows(X).whitening)
    grouped = grouped_rows(rows, groups)
    model = in_groups(grouped, frame, np.eye(1, 3))
    block = next(iter(grouped.blocks()))
    residuals, slopes = model(block)
    assert np.mean(residuals**2) < 0.5  # of 1
    assert np.mean(np.sign(slopes[:, 0]) == sign[: len(block)]) > 0.8  # 0.85; 0.5 by chance
