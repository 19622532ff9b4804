"""The observed information, and Newton steps."""

from dataclasses import replace

import numpy as np
import pytest

from spectralmirror.mixture import newton
from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.lbfgs import Ascent, climb
from spectralmirror.mixture.newton import information, polish
from spectralmirror.mixture.parameters import Parameters
from tests.helpers.mixtures import (
    PROFILES,
    drawn,
    gradient_by_differences,
    likelihood_of,
    sharp,
    with_intercepts,
)


@pytest.fixture(scope="module")
def rough():
    """A likelihood, and a climb that ended near its maximum."""
    X, y, _ = sharp(2000)
    likelihood = likelihood_of(X, y)
    return likelihood, climb(likelihood, with_intercepts(PROFILES), tol=0.1, max_iter=500)


def test_information_by_finite_differences(rough):
    likelihood, ascent = rough
    found = information(likelihood, ascent.parameters, 0)
    hessian = gradient_by_differences(
        lambda x: likelihood.evaluate(Parameters.unpacked(x, 2))[1], ascent.parameters.packed()
    )
    assert found.proper
    assert found.share == 1
    expected = np.linalg.inv(-hessian[:-1, :-1])
    np.testing.assert_allclose(found.inverse, expected, rtol=1e-4, atol=1e-6)


def test_a_sample_of_the_rows_gives_nearly_the_same(rough, monkeypatch):
    # margin: 1,000 rows; an information of 11 parameters is good to a few per cent
    likelihood, ascent = rough
    full = information(likelihood, ascent.parameters, 0)
    monkeypatch.setattr(newton, "LEAST_ROWS", 900)
    part = information(likelihood, ascent.parameters, 0)
    assert 0.4 < part.share < 0.5
    ratio = np.sqrt(np.diagonal(part.inverse) / np.diagonal(full.inverse))
    assert 0.75 < ratio.min() <= ratio.max() < 1.35
    assert (ratio != 1).all()


def test_too_many_parameters_have_none(rough, monkeypatch):
    likelihood, ascent = rough
    monkeypatch.setattr(newton, "MOST_PARAMETERS", 10)
    assert information(likelihood, ascent.parameters, 0) is None
    top = polish(likelihood, ascent, 0)
    assert top.ascent is ascent
    assert top.information is None


def test_steps_end_where_the_gradient_vanishes(rough):
    likelihood, ascent = rough
    top = polish(likelihood, ascent, 0)
    value, gradient = likelihood.evaluate(top.ascent.parameters)
    assert np.abs(likelihood.evaluate(ascent.parameters)[1]).max() > 1e-2
    assert np.abs(gradient).max() < 1e-4
    assert top.ascent.converged
    assert top.ascent.value == value > ascent.value
    assert top.ascent.n_passes > ascent.n_passes
    # the information is that of the end, not of the way there
    fresh = information(likelihood, top.ascent.parameters, 0)
    np.testing.assert_array_equal(top.information.inverse, fresh.inverse)


def test_one_matrix_serves_several_steps(rough, monkeypatch):
    likelihood, ascent = rough
    computed = []

    def counted(*args):
        computed.append(1)
        return information(*args)

    monkeypatch.setattr(newton, "information", counted)
    top = polish(likelihood, ascent, 0)
    assert top.ascent.n_iter - ascent.n_iter >= len(computed)


def test_a_climb_that_did_not_converge_is_left_as_it_is(rough):
    likelihood, ascent = rough
    top = polish(likelihood, replace(ascent, converged=False), 0)
    assert top.ascent.parameters is ascent.parameters
    assert top.information is None


def test_the_information_of_a_sample_makes_no_steps(rough, monkeypatch):
    likelihood, ascent = rough
    monkeypatch.setattr(newton, "LEAST_ROWS", 900)
    top = polish(likelihood, ascent, 0)
    assert top.ascent is ascent
    assert top.information.share < 1


def test_a_saddle_is_left_where_the_likelihood_curves_upwards():
    """Two components that are alike, where two classifiers made the labels: pull them apart."""
    X, y, _ = drawn(2000, profile_norm=8.0)
    likelihood = likelihood_of(X, y)
    one = climb(likelihood, Parameters.equal(np.zeros((1, 5))), tol=1e-9, max_iter=500)
    twice = Parameters.equal(np.repeat(one.parameters.profiles, 2, axis=0))
    saddle = Ascent(twice, likelihood.evaluate(twice)[0], 1, 1, converged=True)
    eigenvalues, vectors = np.linalg.eigh(split_matrices(likelihood, twice)[0])
    e = vectors[:, -1] / np.sqrt(eigenvalues[-1])
    assert not information(likelihood, twice, 0).proper
    left = newton._escaped(likelihood, saddle, np.concatenate([e, -e, [0]]))
    assert not left.converged
    assert left.value > saddle.value + newton.SETTLED
    np.testing.assert_allclose(left.value, likelihood.evaluate(left.parameters)[0])
    e = vectors[:, 0]  # here it curves downwards, and there is nothing to gain
    assert newton._escaped(likelihood, saddle, np.concatenate([e, -e, [0]])) is saddle
