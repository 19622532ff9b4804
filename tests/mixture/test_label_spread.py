"""Persons of one class differ in what speaks for labels of several kinds."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from spectralmirror import LinearClassifierMixture, load, save
from spectralmirror.effects import average_effects
from spectralmirror.mixture.curvature import split_matrices
from spectralmirror.mixture.integration import log_likelihoods
from spectralmirror.mixture.label_average import averaged_softmax
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.spread import KINDS, Spread
from spectralmirror.mixture.tied_curvature import tied_hessian
from spectralmirror.plotting import plot_spread
from tests.helpers.mixtures import gradient_by_differences
from tests.helpers.spreads import D, at, of_rows_alone, spread_problem

N_LABELS = 3


def label_problem(kind, k=2, n_labels=N_LABELS, *, weighted=False, intercept=True, n_nodes=16):
    """Return the likelihood of labels of three kinds, parameters, and groups."""
    binary, _, groups = spread_problem(
        kind, k=k, weighted=weighted, intercept=intercept, n=48, concentration=5.0
    )
    rng = np.random.default_rng(1)
    rows, labels = binary.rows.rows, LabelContrasts(n_labels)
    y = rng.integers(n_labels, size=len(rows)).astype(float)
    spread = Spread.of(kind, D + intercept, n_nodes, 0, n_labels - 1)
    spread = spread.with_penalty(rng.uniform(0.1, 0.5, len(spread)))
    grouped = replace(binary.rows, rows=replace(rows, y=y))
    likelihood = replace(binary, rows=grouped, spread=spread, labels=labels)
    parameters = Parameters(
        rng.standard_normal((k, likelihood.profile_size)), rng.standard_normal(k),
        rng.standard_normal(len(spread)),
    )  # fmt: skip
    return likelihood, parameters, groups


def by_formula(likelihood, parameters, groups):
    """The log-likelihood, with loops over persons and nodes."""
    rows, spread, labels = likelihood.rows, likelihood.spread, likelihood.labels
    X, y, weight = rows.rows.X, rows.rows.y, rows.rows.weight
    weight = np.ones(len(X)) if weight is None else weight
    B, m = spread.matrix(parameters.spread), len(labels)
    F, M = likelihood.coordinates.from_standard, likelihood.coordinates.of_rows
    Z = np.column_stack([X, np.ones(len(X))]) @ M.T
    total = 0.0
    for g in np.unique(groups):
        inside = groups == g
        w, joint = weight[inside].mean(), []
        for v, p in zip(parameters.profiles, parameters.weights, strict=True):
            for z, log_w in zip(spread.nodes, spread.log_weights, strict=True):
                V = v.reshape(m, -1) + (B @ z).reshape(m, -1) @ F.T
                eta = Z[inside] @ (labels.effects @ V).T
                log_f = eta - logsumexp(eta, axis=1, keepdims=True)
                chosen = log_f[np.arange(inside.sum()), y[inside].astype(int)]
                joint.append(np.log(p) + log_w + weight[inside] / w @ chosen)
        total += w * logsumexp(joint)
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_likelihood_is_the_formula(kind, weighted):
    likelihood, parameters, groups = label_problem(kind, weighted=weighted)
    found = of_rows_alone(likelihood, parameters)
    assert found == pytest.approx(by_formula(likelihood, parameters, groups), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_and_second_derivatives_by_finite_differences(kind, k, weighted):
    likelihood, parameters, _ = label_problem(kind, k, weighted=weighted)
    theta = parameters.packed()
    slopes = gradient_by_differences(lambda x: np.array(at(likelihood, parameters, x)[0]), theta)
    np.testing.assert_allclose(at(likelihood, parameters, theta)[1], slopes, atol=1e-6)
    second = gradient_by_differences(lambda x: at(likelihood, parameters, x)[1], theta)
    found = tied_hessian(likelihood, parameters) - likelihood.curvature_of_prior(parameters)
    np.testing.assert_allclose(found, second, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_two_labels_are_the_binary_likelihood(kind):
    binary, parameters, _ = spread_problem(kind, weighted=True, concentration=5.0)
    y = (binary.rows.rows.y > 0).astype(float)
    rows = replace(binary.rows, rows=replace(binary.rows.rows, y=y))
    several = replace(binary, rows=rows, labels=LabelContrasts(2))
    for found, expected in zip(
        several.evaluate(parameters), binary.evaluate(parameters), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(
        tied_hessian(several, parameters), tied_hessian(binary, parameters), atol=1e-9
    )


@pytest.mark.parametrize("kind", ["intercept", "diagonal", "full"])
def test_it_does_not_matter_which_label_comes_first(kind):
    """Contrasts of other labels are rotated ones: with the nodes rotated, nothing changes."""
    likelihood, parameters, _ = label_problem(kind)
    labels, order = likelihood.labels, np.array([2, 0, 1])
    y = order.argsort()[likelihood.rows.rows.y.astype(int)].astype(float)
    rows = replace(likelihood.rows, rows=replace(likelihood.rows.rows, y=y))
    turn = 2 * labels.effects.T @ labels.effects[order]  # old contrasts to new ones
    np.testing.assert_allclose(turn @ turn.T, np.eye(2), atol=1e-12)
    V = parameters.profiles.reshape(len(parameters), 2, -1)
    nodes = likelihood.spread.nodes.reshape(len(likelihood.spread.nodes), 2, -1)
    spread = replace(likelihood.spread, nodes=(turn @ nodes).reshape(likelihood.spread.nodes.shape))
    moved = replace(likelihood, rows=rows, spread=spread)
    turned = replace(parameters, profiles=(turn @ V).reshape(parameters.profiles.shape))
    value = likelihood.evaluate(parameters)[0]
    assert moved.evaluate(turned)[0] == pytest.approx(value, rel=1e-10)


def test_splitting_gains_what_the_split_matrix_says():
    likelihood, parameters, _ = label_problem("diagonal", weighted=True)
    for c, S in enumerate(split_matrices(likelihood, parameters)):
        e = 1e-3 * np.random.default_rng(c).standard_normal(likelihood.profile_size)
        profiles = np.vstack([parameters.profiles, parameters.profiles[c] - e])
        profiles[c] += e
        log_p = np.append(parameters.log_weights, parameters.log_weights[c])
        log_p[[c, -1]] -= np.log(2)
        gained = of_rows_alone(likelihood, Parameters(profiles, log_p, parameters.spread))
        gained -= of_rows_alone(likelihood, parameters)
        np.testing.assert_allclose(gained, e @ S @ e / 2, rtol=2e-3, atol=1e-10)


@pytest.mark.parametrize("kind", ["intercept", "diagonal"])
def test_nodes_of_each_persons_own_agree_with_many_shared_ones(kind):
    likelihood, parameters, _ = label_problem(kind, weighted=True)
    spread = likelihood.spread.with_nodes(2**12, 0)
    parameters = replace(parameters, spread=parameters.spread / 3)
    shared = of_rows_alone(replace(likelihood, spread=spread), parameters)
    weights = np.concatenate([block.shares[0] for block in likelihood.rows.blocks()])
    own = weights @ log_likelihoods(likelihood, parameters)
    assert own == pytest.approx(shared, abs=0.05)


@pytest.mark.parametrize(("n_labels", "q"), [(3, 2), (3, 6), (4, 9)])
def test_probabilities_of_strangers_are_averages(n_labels, q):
    rng = np.random.default_rng(0)
    t, W = rng.standard_normal((5, 2, n_labels)), rng.standard_normal((5, n_labels, q)) / 2
    z = rng.standard_normal((q, 50_000))
    found = averaged_softmax(t, W)
    for i in range(5):
        draws = softmax(t[i][..., None] + (W[i] @ z), axis=1)
        error = draws.std(axis=2) / np.sqrt(z.shape[1])
        assert (np.abs(found[i] - draws.mean(axis=2)) < 4 * error + 2e-3).all()
    np.testing.assert_allclose(found.sum(axis=2), 1)
    one = averaged_softmax(t, np.zeros_like(W))
    np.testing.assert_allclose(one, softmax(t, axis=2), atol=1e-12)


SD = np.array([1.2, 0.3])


def people(n=150, size=10, seed=0):
    """Persons of one class; the difference of two labels scatters with SD, intercepts with .8."""
    rng = np.random.default_rng(seed)
    X, who = rng.standard_normal((n * size, 2)) * [1, 5] + [0, 2], np.repeat(np.arange(n), size)
    U, centred = np.array([[1.5, 0], [0, 0.3], [-1.5, -0.3]]), np.eye(3) - 1 / 3
    z = rng.standard_normal((2, n, 3, 2)) / np.sqrt(2)
    V = U + np.einsum("ab,gbd->gad", centred, z[0] * SD / [1, 5])
    b = 0.8 * z[1, :, :, 0] @ centred
    t = np.einsum("nd,ncd->nc", X - [0, 2], V[who]) + b[who]
    return X, np.array(list("xyz"))[(t + rng.gumbel(size=t.shape)).argmax(axis=1)], who


@pytest.fixture(scope="module")
def fitted():
    X, y, who = people()
    mixture = LinearClassifierMixture(1, spread="diagonal", random_state=0)
    return mixture.fit(X, y, groups=who), X, y, who


def test_a_fit_finds_how_much_persons_differ(fitted):
    mixture = fitted[0]
    assert mixture.spread_.shape[:2] == mixture.coef_.shape[1:] == (3, 2)
    expected = SD / [1, 5] / np.sqrt(3)  # of a label against the average of three
    for found, error in zip(mixture.spread_deviation_, mixture.spread_standard_error_, strict=True):
        assert (np.abs(found - expected) < 3 * error).all()
        assert (error < 0.15 * expected.max()).all()
    np.testing.assert_allclose(mixture.spread_.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(mixture.intercept_spread_.sum(axis=0), 0, atol=1e-12)
    deviation, error = mixture.intercept_deviation_, mixture.intercept_deviation_standard_error_
    assert (np.abs(deviation - 0.8 / np.sqrt(3)) < 3 * error).all()


def test_a_history_says_where_in_the_class_a_person_is(fitted):
    """Against importance sampling from the prior, with the parameters taken for known."""
    mixture, X, y, who = fitted
    known = copy(mixture)
    known._parameter_root = None
    past, now = (who < 3) & (np.arange(len(y)) % 10 < 6), (who < 3) & (np.arange(len(y)) % 10 >= 6)
    found = known.predict_proba(X[now], groups=who[now], history=(X[past], y[past], who[past]))
    z = np.random.default_rng(0).standard_normal((mixture.spread_.shape[2], 100_000))
    codes = np.searchsorted(mixture.classes_, y)
    for g in range(3):
        log_w = np.zeros(z.shape[1])
        for i in np.flatnonzero(past & (who == g)):
            log_w += np.log(softmax(scores(mixture, X[i], z), axis=0)[codes[i]])
        w = softmax(log_w)
        for i, row in zip(np.flatnonzero(now & (who == g)), found[who[now] == g], strict=True):
            expected = softmax(scores(mixture, X[i], z), axis=0) @ w
            error = 3 * np.sqrt((w**2).sum()) / 2
            np.testing.assert_allclose(row, expected, atol=error + 0.01)
    strangers = known.predict_proba(X[now])
    i = np.flatnonzero(now)[0]
    expected = softmax(scores(mixture, X[i], z), axis=0).mean(axis=1)
    np.testing.assert_allclose(strangers[0], expected, atol=0.003)


def scores(mixture, x, z):
    """The scores of all labels for persons at z, shape (3, n)."""
    B = np.einsum("cdq,d->cq", mixture.spread_, x) + mixture.intercept_spread_
    return (mixture.coef_[0] @ x + mixture.intercept_[0])[:, None] + B @ z


def test_profiles_of_persons_are_near_their_own(fitted):
    mixture, X, y, who = fitted
    found = mixture.person_profiles(X, y, who)
    assert found.coef.shape == found.coef_standard_deviation.shape == (150, 3, 2)
    np.testing.assert_allclose(found.coef.sum(axis=1), 0, atol=1e-9)
    between = found.coef[:, 0, 0].std()
    within = found.coef_standard_deviation[:, 0, 0].mean()
    # the variance between persons is that of their posterior means, and that around these
    assert np.hypot(between, within) == pytest.approx(mixture.spread_deviation_[0, 0], rel=0.15)


def test_the_order_of_labels_does_not_matter():
    X, y, who = people(80, 6)
    one, other = (
        LinearClassifierMixture(1, spread="intercept", l2=1, random_state=0).fit(
            X, labels, groups=who
        )
        for labels in (y, np.array(["c", "a", "b"])[np.searchsorted(list("xyz"), y)])
    )
    np.testing.assert_allclose(other.coef_[:, [2, 0, 1]], one.coef_, atol=1e-3)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=0.02)


def test_auto_tells_persons_who_differ_from_those_who_do_not():
    X, y, who = people(100)
    auto = LinearClassifierMixture(1, spread="auto", random_state=0).fit(X, y, groups=who)
    assert auto.spread_kind_ in ("diagonal", "factor", "full")
    assert auto.spread_evidence_[auto.spread_kind_] > auto.spread_evidence_["none"] + 5
    plain = LinearClassifierMixture(1, random_state=0).fit(X, y, groups=who)
    assert plain.spread_score_ > 3.5
    alike = np.random.default_rng(0).permutation(who)  # nobody is the same person any more
    mixed = LinearClassifierMixture(1, spread="auto", random_state=0).fit(X, y, groups=alike)
    assert mixed.spread_kind_ is None
    assert abs(mixed.spread_score_) < 3.5


def test_what_is_said_about_it(fitted, tmp_path):
    mixture, X, y, who = fitted
    text = mixture.summary()
    assert "Within a class, persons differ, alike for all labels" in text
    frame = mixture.summary(as_frame=True)
    assert frame.loc[("within", "", "x0"), "estimate"] == mixture.spread_deviation_[0, 0]
    save(mixture, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.predict_proba(X[:9], groups=who[:9], history=(X[9:19], y[9:19], who[9:19])),
        mixture.predict_proba(X[:9], groups=who[:9], history=(X[9:19], y[9:19], who[9:19])),
    )
    with pytest.raises(ValueError, match="needs a mixture without spread"):
        average_effects(mixture, X, label="x")
    with pytest.raises(ValueError, match="plot_spread takes mixtures of two labels"):
        plot_spread(mixture)


def test_a_spread_needs_persons_with_several_labels():
    X, y, who = people(60, 1)
    with pytest.raises(ValueError, match="needs several labels of the same person"):
        LinearClassifierMixture(1, spread="diagonal").fit(X, y, groups=who)
    with pytest.raises(ValueError, match="needs `fit_intercept=True`"):
        LinearClassifierMixture(1, spread="intercept", fit_intercept=False).fit(
            *people(30, 4)[:2], groups=np.repeat(np.arange(30), 4)
        )
