"""Likelihoods, data and mixtures in which persons of one class differ."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.problem import INTERCEPT_L2
from spectralmirror.mixture.spread import Spread
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.whitening import Whitening
from tests.helpers.rows import in_groups

D = 2
ORIGIN = np.array([0.3, -2.0])


def spread_problem(
    kind="diagonal", response="logistic", k=2, *, intercept=True, weighted=False, origin=None,
    concentration=0.0, n=60, n_nodes=16, seed=0,
):  # fmt: skip
    """Return a likelihood of random rows of about n / 4 persons, parameters, and groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * [1.0, 3.0] + [0.4, -2.0]
    y = rng.choice([-1.0, 1.0], n)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    groups = np.unique(rng.integers(0, n // 4, n), return_inverse=True)[1]
    whitening = Whitening.of(X.mean(axis=0), np.cov(X.T), X.dtype)
    coordinates = Coordinates.whitened(whitening, origin, intercept=intercept)
    rows = in_groups(Rows(X, y, weight, block_bytes=500), groups)
    spread = Spread.of(kind, D + intercept, n_nodes, seed)
    spread = spread.with_penalty(rng.uniform(0.1, 0.5, len(spread)))
    parameters = Parameters(
        rng.standard_normal((k, D + intercept)), rng.standard_normal(k),
        rng.standard_normal(len(spread)),
    )  # fmt: skip
    likelihood = Likelihood(rows, RESPONSES[response], coordinates, 0.7, concentration, spread)
    return likelihood, parameters, groups


def by_formula(likelihood, parameters, groups):
    """L(theta) with loops over persons and nodes, in the units of x."""
    rows, spread = likelihood.rows.rows, likelihood.spread
    X, f = rows.X, likelihood.response.f
    scale, mean = X.std(axis=0, ddof=1), X.mean(axis=0)
    coef, intercept = likelihood.coordinates.in_units(parameters.profiles)
    B = spread.matrix(parameters.spread)
    B_coef, B_intercept = B[:D] / scale[:, None], np.zeros(B.shape[1])
    if likelihood.coordinates.intercept:
        B_intercept = B[D] - mean @ B_coef
    weight = np.ones(len(X)) if rows.weight is None else rows.weight
    total = 0.0
    for g in np.unique(groups):
        inside = groups == g
        w = weight[inside].mean()
        joint = []
        for u, b, p in zip(coef, intercept, parameters.weights, strict=True):
            for z, log_w in zip(spread.nodes, spread.log_weights, strict=True):
                t = X[inside] @ (u + B_coef @ z) + b + B_intercept @ z
                log_f = np.log(f(rows.y[inside] * t))
                joint.append(np.log(p) + log_w + weight[inside] / w @ log_f)
        total += w * logsumexp(joint)
    size = likelihood.l2 * np.square(coef * scale).sum()
    if likelihood.coordinates.intercept and likelihood.concentration:
        size += INTERCEPT_L2 * np.square(intercept + coef @ mean).sum()
    size /= 1 + np.square(B).sum() / likelihood.response.noise_variance
    b, k = parameters.spread, len(parameters)
    total += likelihood.concentration * np.log(k * parameters.weights).sum() - size / 2
    return total + np.log(np.linalg.norm(b)) - spread.penalty @ b**2 / 2


def at(likelihood, parameters, theta):
    """Return the value and the gradient at a packed theta."""
    return likelihood.evaluate(parameters.at(theta))


def of_rows_alone(likelihood, parameters):
    """Return the log-likelihood without penalty and priors."""
    return likelihood.evaluate(parameters)[0] - likelihood.log_prior(parameters)


def in_blocks(likelihood, groups, block_bytes, order=None):
    """Return the likelihood of the same rows, in another order and in blocks of another size."""
    rows = likelihood.rows.rows
    order = np.arange(len(rows)) if order is None else order
    weight = None if rows.weight is None else rows.weight[order]
    other = Rows(rows.X[order], rows.y[order], weight, block_bytes=block_bytes)
    return replace(likelihood, rows=in_groups(other, groups[order]))


def persons(n=60, size=8, profiles=((1.5, -1.0),), spread=1.0, seed=0, **options):
    """Draw labels of persons who differ; return X, y and the person of each row."""
    weights = np.full(len(profiles), 1 / len(profiles))
    X, y, truth = make_linear_classifier_mixture(
        n * size, profiles=profiles, weights=weights, group_size=size, spread=spread,
        random_state=seed, **options,
    )  # fmt: skip
    return X, y, truth.groups


def known(coef, intercept, weights, spread, intercept_spread, mean=None, response="logistic"):
    """Return a mixture as if it were fitted, with exactly known parameters."""
    coef, spread = np.asarray(coef, float), np.asarray(spread, float)
    k, d = coef.shape
    mixture = LinearClassifierMixture(k, response=response)
    mixture.coef_, mixture.intercept_ = coef, np.asarray(intercept, float)
    mixture.weights_, mixture.sharpness_ = np.asarray(weights, float), np.ones(k)
    mixture.spread_, mixture.intercept_spread_ = spread, np.asarray(intercept_spread, float)
    mixture.feature_mean_ = np.zeros(d) if mean is None else np.asarray(mean, float)
    mixture.feature_scale_, mixture._parameter_root = np.ones(d), None
    mixture.classes_, mixture.n_components_, mixture.n_features_in_ = np.array([-1, 1]), k, d
    mixture.n_parameters_ = k * (d + 2) - 1 + d + 1
    return mixture
