"""Labels drawn from a mixture, against the probabilities that they come from."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.reopened import with_spread
from spectralmirror.selection.simulation import (
    Simulator,
    frequencies_repeated,
    in_order,
    with_labels,
)

N_DRAWS = 2_000
X, Y, TRUTH = make_linear_classifier_mixture(60, 2, 2, group_size=3, random_state=0)
SHUFFLED = np.random.default_rng(0).permutation(60)
#: Groups that are not contiguous: rows are read in another order than they came.
GROUPS = TRUTH.groups[SHUFFLED]


def likelihood_of(groups=GROUPS, **options):
    model = LinearClassifierMixture(2)
    given = (options.get(name) for name in ("weight", "membership"))
    rows, model.classes_ = model._accepted(X, Y, groups, *given)
    return model._opened(rows, 2)


def units(likelihood, coef, intercept, p):
    profiles = likelihood.coordinates.from_units(np.array(coef), np.array(intercept))
    return Parameters(profiles, np.log(p))


def draws(likelihood, theta):
    simulator = Simulator(likelihood, theta)
    rng = np.random.default_rng(1)
    return np.array([simulator.labels(rng) for _ in range(N_DRAWS)])


def test_persons_of_a_spread():
    """Pairs of rows of a group depend on each other through z, those of other groups do not."""
    likelihood = with_spread(in_order(likelihood_of()), "diagonal", 64)
    U, b, p = np.array([[2.0, 0.0], [-1.0, 1.0]]), np.array([0.3, -0.5]), np.array([0.7, 0.3])
    theta = replace(units(likelihood, U, b, p), spread=np.array([1.5, 0.8, 1.0]))
    y = draws(likelihood, theta)
    order = likelihood_of().rows.present_index()
    scale, mean = X.std(axis=0), X.mean(axis=0)
    A = np.column_stack([(X[order] - mean) / scale, np.ones(60)])
    z, w = np.polynomial.hermite_e.hermegauss(15)
    nodes = np.stack(np.meshgrid(z, z, z), axis=-1).reshape(-1, 3)
    weights = np.prod(np.stack(np.meshgrid(w, w, w), axis=-1), axis=-1).ravel()
    weights /= weights.sum()
    steps = A @ (nodes * [1.5, 0.8, 1.0]).T
    f = np.stack([expit((X[order] @ u + c)[:, None] + steps) for u, c in zip(U, b, strict=True)])
    alone = np.einsum("knr,r,k->n", f, weights, p)
    error = 4.5 * 0.5 / np.sqrt(N_DRAWS)
    assert (np.abs((y > 0).mean(axis=0) - alone) < error).all()
    expected = alone[1:] * alone[:-1]
    same = GROUPS[order][1:] == GROUPS[order][:-1]
    expected[same] = np.einsum("knr,knr,r,k->n", f[:, 1:], f[:, :-1], weights, p)[same]
    together = ((y[:, 1:] > 0) & (y[:, :-1] > 0)).mean(axis=0)
    assert (np.abs(together - expected) < error).all()
    assert np.abs(expected - alone[1:] * alone[:-1])[same].max() > 2 * error  # there is a spread


@pytest.mark.parametrize("grouped", [True, False])
def test_rows_and_pairs_of_rows(grouped):
    U, b, p = np.array([[2.0, 0.0], [-1.0, 1.0]]), np.array([0.3, -0.5]), np.array([0.7, 0.3])
    likelihood = in_order(likelihood_of(GROUPS if grouped else None))
    y = draws(likelihood, units(likelihood, U, b, p))
    order = likelihood_of(GROUPS if grouped else None).rows.present_index()
    f = expit(X[order] @ U.T + b)
    error = 4.5 / np.sqrt(N_DRAWS)  # standard errors, of 60 rows and 59 pairs
    assert (np.abs((y > 0).mean(axis=0) - f @ p) < 0.5 * error).all()
    together = ((y[:, 1:] > 0) & (y[:, :-1] > 0)).mean(axis=0)
    expected = (f[1:] @ p) * (f[:-1] @ p)
    if grouped:  # rows of the same group share their class
        same = GROUPS[order][1:] == GROUPS[order][:-1]
        assert same.sum() == 40
        expected[same] = ((f[1:] * f[:-1]) @ p)[same]
    assert (np.abs(together - expected) < 0.5 * error).all()


def test_classes_depend_on_covariates():
    Z = (TRUTH.groups[:, None] % 2).astype(float)
    likelihood = in_order(likelihood_of(TRUTH.groups, membership=Z))
    U = np.zeros((2, 2))  # labels show the class alone
    theta = units(likelihood, U, [50.0, -50.0], [0.5, 0.5])
    theta = replace(theta, membership=np.array([[0.0], [-2.0]]))
    share = (draws(likelihood, theta) > 0).mean(axis=0)
    # covariates are standardised: -1 and +1 here
    expected = expit(2 * np.where(Z[:, 0] > 0, 1, -1))
    assert (np.abs(share - expected) < 4.5 * 0.5 / np.sqrt(N_DRAWS)).all()


def test_one_alternative_of_each_set_is_chosen():
    A, chosen, truth = make_choice_mixture(20, 2, 2, random_state=0)
    model = ChoiceMixture(2)
    accepted = model._accepted(A, chosen, truth.groups, None, None, choices=truth.choices)
    rows, model.classes_ = accepted
    likelihood = in_order(model._opened(rows, 2))
    U, p = np.array([[1.0, 0.5], [-1.0, 0.0]]), np.array([0.6, 0.4])
    y = draws(likelihood, units(likelihood, U, np.zeros(2), p))
    sets = likelihood.rows.rows.sets
    starts = np.flatnonzero(np.append(True, np.diff(sets) != 0))
    assert (np.add.reduceat(y > 0, starts, axis=1) == 1).all()
    raised = np.exp(A @ U.T)  # rows come set by set
    total = np.add.reduceat(raised, starts)
    sizes = np.diff(starts, append=len(A))
    expected = (raised / np.repeat(total, sizes, axis=0)) @ p
    assert (np.abs((y > 0).mean(axis=0) - expected) < 4.5 * 0.5 / np.sqrt(N_DRAWS)).all()


def test_labels_of_several_kinds():
    y = np.arange(60) % 3
    model = LinearClassifierMixture(2, random_state=0)
    rows, model.classes_ = model._accepted(X, y, None, None, None)
    likelihood = in_order(model._opened(rows, 2))
    U = np.array([[[1.0, 0], [0, 1], [-1, -1]], [[0.5, 0.5], [0, -1], [-0.5, 0.5]]])
    p = np.array([0.7, 0.3])
    theta = Parameters(likelihood.from_units(U, np.zeros((2, 3))), np.log(p))
    y = draws(likelihood, theta)
    expected = np.einsum("k,nkc->nc", p, softmax(np.einsum("nd,kcd->nkc", X, U), axis=2))
    found = (y[:, :, None] == np.arange(3)).mean(axis=0)
    assert (np.abs(found - expected) < 4.5 * 0.5 / np.sqrt(N_DRAWS)).all()


def test_other_labels_change_nothing_else():
    likelihood = in_order(likelihood_of())
    other = with_labels(likelihood, -likelihood.rows.rows.y)
    theta = units(likelihood, [[2.0, 0.0], [-1.0, 1.0]], [0.0, 0.0], [0.5, 0.5])
    mirrored = replace(theta, profiles=-theta.profiles)
    assert other.evaluate(mirrored)[0] == pytest.approx(likelihood.evaluate(theta)[0])


def test_integer_weights_become_copies():
    weight = np.repeat(np.arange(20) % 3, 3)[SHUFFLED].astype(float)
    weight = (GROUPS % 3).astype(float)
    rows = likelihood_of(weight=weight).rows
    copies = frequencies_repeated(rows)
    assert copies.rows.weight is None
    assert len(copies.rows) == weight.sum()
    assert copies.n_groups == rows.total_weight
    theta = units(likelihood_of(), [[2.0, 0.0], [-1.0, 1.0]], [0.0, 0.0], [0.5, 0.5])
    one = replace(likelihood_of(weight=weight), l2=0.0)
    assert replace(one, rows=copies).evaluate(theta)[0] == pytest.approx(one.evaluate(theta)[0])


def test_other_weights_stay():
    for weight in (GROUPS + 0.5, 1.0 + np.arange(60)):  # fractions; changing inside groups
        rows = likelihood_of(weight=weight).rows
        assert frequencies_repeated(rows) is rows
