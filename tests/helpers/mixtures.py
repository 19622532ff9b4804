"""Data, likelihoods and fits for the tests of the mixture's stages."""

from dataclasses import replace

import numpy as np

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.evidence import CONCENTRATION
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.operators import principal
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.rows import in_groups

#: Features and components of :func:`random_problem`.
D, K = 3, 2
#: All combinations of what changes the formula of the likelihood.
KINDS = [
    {"response": response, "grouped": grouped, "weighted": weighted}
    for response in ("logistic", "probit")
    for grouped in (False, True)
    for weighted in (False, True)
]
PROFILES = np.array([[4.0, 0, 0, 0], [0, 4.0, 0, 0]])


def random_problem(
    response="logistic", grouped=False, weighted=False, intercept=True, origin=None, n=200, seed=0
):
    """Return a likelihood of random rows in many small blocks, random parameters, and groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) + 0.3
    y = rng.choice([-1.0, 1.0], n)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    groups = np.unique(rng.integers(0, n // 4, n), return_inverse=True)[1] if grouped else None
    whitening = Whitening.of(X.mean(axis=0), np.cov(X.T), X.dtype)
    coordinates = Coordinates.whitened(whitening, origin, intercept=intercept)
    rows = in_groups(Rows(X, y, weight, block_bytes=2_000), groups)
    parameters = Parameters(rng.standard_normal((K, D + intercept)), rng.standard_normal(K))
    return Likelihood(rows, RESPONSES[response], coordinates, 0.7), parameters, groups


def likelihood_of(X, y, groups=None, l2=0.1, response="logistic", block_bytes=4_000_000):
    """Return the likelihood of given rows, as a fit sets it up."""
    rows = Rows(X, np.where(np.asarray(y) > 0, 1.0, -1.0), block_bytes=block_bytes)
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=True)
    return Likelihood(in_groups(rows, groups), RESPONSES[response], coordinates, l2)


def drawn(n=2000, d=4, k=2, seed=0, **options):
    """Draw rows of a mixture with random profiles."""
    options = {"weights": [0.6, 0.4], **options}
    return make_linear_classifier_mixture(n, d, k, random_state=seed, **options)


def sharp(n=3000, seed=0, weights=(0.6, 0.4), profiles=PROFILES, **options):
    """Draw rows of a mixture with orthogonal profiles."""
    return make_linear_classifier_mixture(
        n, profiles=profiles, weights=weights, random_state=seed, **options
    )


def fitted(X, y, k=2, groups=None, sample_weight=None, **options):
    """Return a fitted mixture."""
    mixture = LinearClassifierMixture(k, **{"random_state": 0, **options})
    return mixture.fit(X, y, groups=groups, sample_weight=sample_weight)


def with_intercepts(profiles):
    """Return profiles with intercepts of 0, as the coordinates of a likelihood have them."""
    return Parameters.equal(np.column_stack([profiles, np.zeros(len(profiles))]))


def gradient_by_differences(function, x, step=1e-5):
    """Return central differences of a function of a vector."""
    return np.array(
        [(function(x + e) - function(x - e)) / (2 * step) for e in step * np.eye(len(x))]
    )


def wide_problem(n=400, d=12, k=2, groups=None, weight=None, intercept=True, l2=2.0, seed=0):
    """Return a likelihood of scaled columns, the same with dense matrices, and parameters."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ np.diag(np.arange(1, d + 1.0) ** -0.5)
    X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0] + 0.3
    y = np.where(X @ rng.standard_normal(d) + rng.logistic(size=n) > 0, 1.0, -1.0)
    rows = in_groups(Rows(X, y, weight, block_bytes=4_000), groups)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    wide = Likelihood(
        rows,
        RESPONSES["logistic"],
        Coordinates.scaled(mean, scale, None, intercept=intercept),
        l2,
        CONCENTRATION,
    )
    whitened = Coordinates.whitened(Whitening(mean, scale, None), None, intercept=True)
    dense = replace(wide, coordinates=whitened) if intercept else None
    total = float(d + (0 if intercept else np.square(mean / scale).sum()))
    directions = principal(wide, total, 0)
    wide = replace(wide, coordinates=replace(wide.coordinates, principal=directions))
    parameters = Parameters(rng.standard_normal((k, d + intercept)), rng.standard_normal(k))
    return wide, dense, parameters
