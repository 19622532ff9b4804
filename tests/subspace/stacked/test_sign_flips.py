"""The edge of noise, against a direct simulation."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.interface import KnownFeatures
from spectralmirror.subspace.stacked.direction import Direction
from spectralmirror.subspace.stacked.method import beside_mirror, from_pairs
from spectralmirror.subspace.stacked.scores import N_SLICES, Frame
from spectralmirror.subspace.stacked.sign_flips import flipped_pairs, flipped_slices, noise_edge
from spectralmirror.subspace.stacked.slices import SlicedMoments, Slices, mirrors
from spectralmirror.subspace.stacked.spectrum import stacked_spectrum
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.rows import in_groups


def test_the_edge_is_a_quantile_of_the_draws():
    def draws(n):
        return np.random.default_rng(0).permutation(np.arange(1.0, n + 1))

    assert noise_edge(draws, None) == 19  # the largest of 19: a rate of one in twenty
    assert noise_edge(draws, 0.05) == 190  # the tenth largest of 199
    assert noise_edge(draws, 0.001) == 999
    assert noise_edge(np.zeros, 0.05) == np.inf


def noise(seed, n=800, d=8):
    rng = np.random.default_rng(seed)
    return Rows(rng.standard_normal((n, d)), rng.choice([-1.0, 1], n))


def test_flips_of_slices_against_other_labels():
    """The leading eigenvalue of 60 data sets without signal has the same distribution.

    Sign flips are a little larger on purpose (by 11 % here), so fewer than 3 of 60 are expected
    beyond their 95 % quantile; 8 or more would have a probability of 1 %.
    """
    real = []
    for seed in range(60):
        direction = Direction.of(noise(seed), KnownFeatures(), elliptical=False)
        real.append(beside_mirror(direction, direction.scored()).spectrum.eigenvalues[0])
    found = beside_mirror(direction, direction.scored())
    flips = found.flips(np.random.RandomState(0))(400)
    assert 1 < np.median(flips) / np.median(real) < 1.2
    assert (np.array(real) > np.quantile(flips, 0.95)).sum() < 8


def test_flips_of_slices_against_the_whole_computation():
    """With as few features as directions, a flip is the method itself on flipped residuals."""
    rows = noise(0, 600, 5)
    direction = Direction.of(rows, KnownFeatures(), elliptical=False)
    scored, frame = direction.scored(), direction.frame
    of = partial(SlicedMoments.of, edges=scored.edges, frame=frame, origin=frame.origin)
    slices = Slices.of(scored.edges, of(rows, scored).sums)
    flips = flipped_slices(rows, rows, frame, scored, slices, np.random.RandomState(0))(300)
    rng, leading = np.random.default_rng(1), []
    s, e, slopes, lengths = scored(rows)
    _, e = slices.residuals(s, e)
    plain = replace(slices, balance=np.ones((2, N_SLICES)))
    T = mirrors(slices) / slices.noise
    for _ in range(300):
        z = e * rng.choice([-1, 1], len(e))
        sums = of(rows, lambda _, z=z: (s, z, slopes, lengths))
        matrices, vectors = sums.about(frame.step(), plain, T)
        M = [frame.whitening.whiten_matrix(one) for one in matrices]
        v = np.array([frame.whitening.whiten_sum(one) for one in vectors]).T / slices.noise
        spectrum = stacked_spectrum(M, slices.beside_turn(v), scored.unit)
        leading.append(spectrum.eigenvalues[0])
    for q in (0.25, 0.5, 0.75, 0.95):
        assert np.quantile(flips, q) == pytest.approx(np.quantile(leading, q), rel=0.1)


def test_flips_of_pairs_against_other_labels():
    """60 data sets of random labels in groups of four: medians within 10 %."""
    frame, groups = Frame(np.dtype(float), Whitening.known(np.zeros(8), np.eye(8))), np.arange(800)
    real = []
    for seed in range(60):
        grouped = in_groups(noise(seed), groups // 4)
        real.append(from_pairs(grouped, frame).spectrum.eigenvalues[0])
    flips = flipped_pairs(frame, grouped, np.random.RandomState(0))(400)
    assert np.median(flips) == pytest.approx(np.median(real), rel=0.1)
    assert (np.array(real) > np.quantile(flips, 0.95)).sum() <= 9
