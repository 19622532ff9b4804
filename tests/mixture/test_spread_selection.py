"""The choice of the kind of spread, and of the number of classes beside it."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import norm
from sklearn.base import clone

from spectralmirror import LinearClassifierMixture
from spectralmirror.mixture.coordinates import Coordinates
from spectralmirror.mixture.evidence import laplace, next_penalties
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.likelihood import Likelihood
from spectralmirror.mixture.newton import information
from spectralmirror.mixture.parameters import Parameters
from spectralmirror.mixture.preprocessing import whiten
from spectralmirror.mixture.spread import KINDS, Spread
from spectralmirror.mixture.spread_fitting import _centring, _with_penalties
from spectralmirror.mixture.spread_selection import (
    MOST_TIED,
    SpreadChoice,
    _Search,
    kinds_to_try,
)
from spectralmirror.mixture.task import Task
from spectralmirror.responses import RESPONSES
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import fitted
from tests.helpers.rows import in_groups
from tests.helpers.spreads import persons

TWO = ((4.5, -3.0), (-3.0, 1.5))


@pytest.fixture(scope="module")
def differing():
    """One class whose persons differ, by a standard deviation of 1."""
    return persons(60, 8)


@pytest.fixture(scope="module")
def alike():
    """Two classes whose persons are alike."""
    return persons(80, 8, TWO, spread=0.0, seed=1)


@pytest.fixture(scope="module")
def chosen(differing):
    X, y, g = differing
    return fitted(X, y, "auto", g, spread="auto")


def test_persons_who_differ_are_one_class_with_a_spread(differing, chosen):
    X, y, g = differing
    assert chosen.n_components_ == 1
    assert chosen.spread_kind_ in ("diagonal", "factor", "full")
    assert chosen.spread_.shape[0] == 2
    assert (chosen.spread_deviation_ > 0.3).all()
    # the spread is clearly better than none, and none is what it was compared with
    evidence = chosen.spread_evidence_
    assert evidence[chosen.spread_kind_] == max(evidence.values())
    assert evidence[chosen.spread_kind_] > evidence["none"] + 3
    assert set(evidence) <= {"none", *KINDS}
    # without a spread, more classes are needed in its place
    assert fitted(X, y, "auto", g).n_components_ > 1


def test_persons_who_are_alike_are_classes_without_spread(alike):
    X, y, g = alike
    mixture = fitted(X, y, "auto", g, spread="auto")
    assert mixture.n_components_ == 2
    assert mixture.spread_kind_ is None
    assert mixture.spread_.shape == (2, 0)
    assert mixture.intercept_spread_.shape == (0,)
    np.testing.assert_array_equal(mixture.spread_deviation_, 0)
    assert mixture.intercept_deviation_ == 0
    assert mixture.spread_evidence_["none"] == max(mixture.spread_evidence_.values())


def test_without_groups_there_is_no_spread(alike):
    X, y, _ = alike
    found, expected = fitted(X, y, spread="auto"), fitted(X, y)
    assert found.spread_kind_ is None
    assert found.spread_evidence_ == {}
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_a_given_number_of_classes(differing, alike):
    X, y, g = differing
    single = fitted(X, y, 1, g, spread="auto")
    assert single.n_components_ == 1
    assert single.spread_kind_ is not None
    X, y, g = alike
    double = fitted(X, y, 2, g, spread="auto")
    assert double.n_components_ == 2
    assert double.spread_kind_ is None
    plain = fitted(X, y, 2, g)
    np.testing.assert_allclose(double.coef_, plain.coef_, atol=1e-6)


def test_a_given_kind_and_any_number_of_classes(differing):
    X, y, g = differing
    mixture = fitted(X, y, "auto", g, spread="diagonal")
    assert mixture.spread_kind_ == "diagonal"
    assert mixture.n_components_ == 1
    assert 1 in mixture.evidence_path_
    assert set(mixture.bic_path_) == set(mixture.evidence_path_)


def test_two_classes_whose_persons_differ():
    """Classes far apart, and a spread of 1 inside them."""
    X, y, g = persons(120, 12, ((5.0, 0.0), (-5.0, 0.0)), spread=1.0, seed=0)
    mixture = fitted(X, y, "auto", g, spread="diagonal")
    assert mixture.n_components_ == 2
    away = np.abs(np.sort(mixture.coef_[:, 0]) - [-5, 5]) / mixture.coef_standard_error_[:, 0]
    assert (away < 4).all()


@pytest.mark.parametrize("criterion", ["bic", "icl"])
def test_other_criteria(differing, criterion):
    X, y, g = differing
    mixture = fitted(X, y, 1, g, spread="auto", criterion=criterion)
    assert mixture.spread_kind_ is not None


def test_which_kinds_are_tried():
    of_rows = SimpleNamespace(n_features=3)
    rows = SimpleNamespace(is_repeated=True, n_groups=9, n_single=2, rows=of_rows)

    def kinds(**options):
        return kinds_to_try(LinearClassifierMixture(1, spread="auto", **options), rows)

    assert kinds() == (None, *KINDS)
    assert kinds(fit_intercept=False) == (None, "diagonal", "factor", "full")
    assert kinds(response="hard") == kinds(refine=False) == (None,)
    rows.rows.n_features = MOST_TIED
    assert kinds() == (None, "intercept", "diagonal", "factor")
    assert kinds(fit_intercept=False) == (None, "diagonal", "factor", "full")
    assert kinds_to_try(LinearClassifierMixture(1, spread="full"), rows) == ("full",)
    assert kinds_to_try(LinearClassifierMixture(1), rows) == (None,)
    rows.n_single = 8  # only one person with several labels
    assert kinds() == (None,)


def test_the_best_of_each_number():
    scores = {(1, None): -9.0, (1, "diagonal"): -5.0, (2, None): -4.0, (2, "diagonal"): -6.0}
    tried = {one: f"fit of {one}" for one in scores}
    choice = SpreadChoice(tried[2, None], scores, tried)
    both = choice.best_of_each((None, "diagonal"))
    assert both == {1: tried[1, "diagonal"], 2: tried[2, None]}
    assert choice.best_of_each(("diagonal",)) == {1: tried[1, "diagonal"], 2: tried[2, "diagonal"]}


@pytest.mark.parametrize(
    ("of_two_classes", "expected"), [(-429.8, (1, "intercept")), (-427.9, (2, None))]
)
def test_classes_without_spread_must_be_clearly_better_than_fewer_with_one(
    of_two_classes, expected
):
    """Persons with two labels each hardly tell classes from a random intercept."""
    scores = {
        (1, None): -456.6, (1, "intercept"): -431.0,
        (2, None): of_two_classes, (2, "intercept"): -430.7,
    }  # fmt: skip
    tried = {one: SimpleNamespace(log_evidence=score) for one, score in scores.items()}
    search = _Search(None, None, (None, "intercept"), "evidence", tried=tried)
    assert search.chosen([1, 2]) == expected


def test_starts_that_are_given(alike):
    """An array, a tuple and a fitted mixture lead to the same fit."""
    X, y, g = alike
    profiles = np.array(TWO)
    starts = [profiles, (profiles, [0.0, 0.0], [0.5, 0.5])]
    fits = [fitted(X, y, 2, g, spread="diagonal", init=init) for init in starts]
    fits.append(fitted(X, y, 2, g, spread="diagonal", init=fits[0]))
    for mixture in fits:
        assert mixture.spread_kind_ == "diagonal"
        np.testing.assert_allclose(mixture.coef_, fits[0].coef_, atol=1e-3)
        np.testing.assert_allclose(mixture.spread_deviation_, fits[0].spread_deviation_, atol=1e-2)


def test_the_evidence_of_a_spread_is_an_integral():
    """Over a profile and its deviation, with the prior |b| N(b; 0, 1 / l2) of both signs of b."""
    rng = np.random.default_rng(0)
    x, groups = rng.standard_normal(1200), np.repeat(np.arange(150), 8)
    own = 1.0 + 1.2 * rng.standard_normal(150)[groups]
    y = np.where(rng.uniform(size=1200) < expit(own * x), 1.0, -1.0)
    rows = Rows(x[:, None], y)
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=False)
    spread = Spread.of("diagonal", 1, 41, 0)
    likelihood = Likelihood(
        in_groups(rows, groups), RESPONSES["logistic"], coordinates, 0.5, 5.0, spread
    )
    start = Parameters(np.ones((1, 1)), np.zeros(1), np.ones(1))
    top = climb(likelihood, start, tol=1e-9, max_iter=500)
    found = laplace(likelihood, top, information(likelihood, top.parameters, 0)).log_evidence

    v, b = np.linspace(0, 3, 31), np.linspace(0.1, 3, 30)
    joint = np.empty((31, 30))
    for j, deviation in enumerate(b):
        for i, profile in enumerate(v):
            one = Parameters(np.array([[profile]]), np.zeros(1), np.array([deviation]))
            joint[i, j] = likelihood.evaluate(one)[0] - likelihood.log_prior(one)
    share = 1 / (1 + b**2 / RESPONSES["logistic"].noise_variance)
    joint += norm.logpdf(v[:, None], scale=(likelihood.penalty[0, 0] * share) ** -0.5)
    l2 = spread.penalty[0]
    joint += norm.logpdf(b, scale=l2**-0.5) + np.log(b) - np.log(np.sqrt(2 / np.pi / l2))
    cell = (v[1] - v[0]) * (b[1] - b[0])
    exact = logsumexp(joint) + np.log(2 * cell)  # b and -b
    # 150 persons: Laplace's error is of the order 1 / 150 for each of two parameters
    assert found == pytest.approx(exact, abs=0.05)


def test_parameters_are_those_of_scikit_learn():
    mixture = LinearClassifierMixture(2, spread="factor")
    assert mixture.get_params()["spread"] == "factor"
    assert clone(mixture).spread == "factor"
    assert mixture.set_params(spread=None).spread is None
    assert LinearClassifierMixture().spread is None


def test_pickled_fits(chosen):
    again = pickle.loads(pickle.dumps(chosen))
    assert again.spread_kind_ == chosen.spread_kind_
    assert again.spread_evidence_ == chosen.spread_evidence_
    np.testing.assert_array_equal(again.spread_, chosen.spread_)


def test_a_second_fit_forgets_the_first(differing, alike):
    mixture = LinearClassifierMixture(1, spread="intercept", random_state=0)
    X, y, g = differing
    mixture.fit(X, y, groups=g)
    assert mixture.spread_.shape == (2, 1)
    X, y, _ = alike
    mixture.set_params(spread=None).fit(X, y)
    assert mixture.spread_kind_ is None
    assert mixture.spread_.shape == (2, 0)
    assert mixture.spread_evidence_ == {}
    np.testing.assert_allclose(mixture.predict_proba(X).sum(axis=1), 1)


def as_scored(scores):
    """Return what a search knows of fits with these scores, by number of classes and kind."""
    return SimpleNamespace(
        score=lambda k, kind: scores.get((k, kind), -np.inf),
        _discrete=lambda k: scores[k, None], criterion="evidence",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("intercept", "diagonal", "ties"),
    [(-80.0, -110.0, False), (-80.0, -84.0, True), (-80.0, -60.0, True), (-101.0, -102.0, False)],
)
def test_ties_are_tried_where_coefficients_vary(intercept, diagonal, ties):
    scores = {(1, None): -100.0, (1, "intercept"): intercept, (1, "diagonal"): diagonal}
    found = _Search._tried_in_turn(as_scored(scores), 1, ["intercept", "diagonal", "factor"])
    assert list(found) == ["intercept", "diagonal", *(["factor"] if ties else [])]


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        ("intercept", ["intercept"]),
        ("diagonal", ["intercept", "diagonal"]),
        ("factor", ["intercept", "diagonal", "factor"]),
    ],
)
def test_two_classes_may_take_the_place_of_entries_only(best, expected):
    """All kinds but the best are 30 behind with one class."""
    kinds = ["intercept", "diagonal", "factor"]
    scores = {(1, kind): -100.0 + 30.0 * (kind == best) for kind in kinds}
    assert _Search._worthwhile(as_scored(scores), 2, kinds) == expected


def spread_likelihood(X, y, groups):
    """Return a likelihood with a spread under penalties far too strong, and a start."""
    rows = Rows(X, y)
    coordinates = Coordinates.whitened(whiten(rows).whitening, None, intercept=True)
    spread = Spread.of("diagonal", 3, 64, 0)
    likelihood = Likelihood(
        in_groups(rows, groups), RESPONSES["logistic"], coordinates, 300.0, 5.0, spread
    )
    return likelihood, Parameters(np.zeros((1, 3)), np.zeros(1), np.full(3, 0.5))


@pytest.mark.parametrize(("level", "fewest", "most"), [(-np.inf, 3, 25), (1e9, 2, 2)])
def test_penalties_of_a_kind_far_behind_are_left(differing, level, fewest, most, monkeypatch):
    likelihood, start = spread_likelihood(*differing)
    task = Task(1, likelihood, None, True, "spectral", 44, 500, 1e-3, climb,
                np.random.RandomState(0), choose_l2=True)  # fmt: skip
    rounds = []

    def counted(*args, **options):
        rounds.append(next_penalties(*args, **options))
        return rounds[-1]

    monkeypatch.setattr("spectralmirror.mixture.spread_fitting.next_penalties", counted)
    centred = _centring(task, likelihood, 32)
    found, ascent, known = _with_penalties(task, likelihood, start, centred, level)
    assert fewest <= len(rounds) <= most
    assert found.evaluate(ascent.parameters)[0] == pytest.approx(ascent.value)
    assert known.proper
