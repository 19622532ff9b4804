"""Problems of a fit that are reported to the user."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from spectralmirror import LinearClassifierMixture, MixtureWarning
from spectralmirror.mixture.criteria import Criteria, FitQuality
from spectralmirror.mixture.diagnostics import (
    CLEARLY,
    Problem,
    find_problems,
    n_different_rows,
    status,
)
from spectralmirror.mixture.fitting import fit
from spectralmirror.mixture.lbfgs import climb
from spectralmirror.mixture.starts import Start
from spectralmirror.mixture.task import Task
from spectralmirror.rows.memory import Rows
from tests.helpers.mixtures import drawn, fitted, likelihood_of, sharp, with_intercepts
from tests.helpers.rows import in_groups


@pytest.fixture(scope="module")
def good():
    """A fit with nothing wrong, and its quality."""
    X, y, truth = sharp(2000)
    start, rng = with_intercepts(truth.profiles), np.random.RandomState(0)
    found = fit(Task(2, likelihood_of(X, y), None, True, start, 1, 500, 1e-3, climb, rng))
    return found, FitQuality.of(found, Criteria.of(found))


def kinds(found, quality, *, collinear=""):
    return [p.kind for p in find_problems(found, quality, collinear=collinear, max_iter=7)]


def test_each_problem_is_found(good):
    found, quality = good
    assert kinds(found, quality) == []
    assert kinds(found, quality, collinear="X is odd") == ["collinear features"]
    assert kinds(replace(found, n_dropped=1), quality) == ["dropped components"]
    stopped = replace(found, ascent=replace(found.ascent, converged=False))
    assert kinds(stopped, quality) == ["not converged"]
    assert kinds(replace(found, information=None), quality) == ["indistinct components"]
    certain = replace(quality, criteria=replace(quality.criteria, log_likelihood=-1e-3))
    assert kinds(found, certain) == ["separated classes"]
    many = replace(quality, criteria=replace(quality.criteria, n_parameters=2001))
    assert kinds(found, many) == ["too few different rows"]
    all_at_once = replace(stopped, n_dropped=2)
    assert kinds(all_at_once, quality, collinear="X is odd") == [
        "collinear features",
        "dropped components",
        "not converged",
    ]


def test_sentences_say_what_and_what_to_do(good):
    found, quality = good
    (problem,) = find_problems(replace(found, n_dropped=1), quality, max_iter=7)
    assert problem.sentence.startswith("1 of 3 components were left without rows")
    stopped = replace(found, ascent=replace(found.ascent, converged=False))
    (problem,) = find_problems(stopped, quality, max_iter=7)
    assert "(`max_iter=7`): raise `max_iter`, or `l2`." in problem.sentence


def test_status_is_composed_of_sentences():
    starts = [Start("random", value, 1) for value in (-1.0, -1.2, -9.0)]
    problems = [Problem("a", "One is wrong."), Problem("b", "Two is wrong.")]
    assert status([], starts, 2, converged=True) == (
        "Converged. 2 of 3 starts reached the best maximum. Probability of a better one: 10%."
    )
    assert status([], starts, 1, converged=True) == (
        "Converged. 2 of 3 starts reached the best maximum."
    )
    assert status(problems, starts[1:], 2, converged=False) == (
        "One is wrong. Two is wrong. 1 of 2 starts reached the best maximum."
    )


def test_a_lonely_best_start_is_a_problem(good):
    found, quality = good
    lonely = [Start("grown", -1.0, 1), *[Start("partition", -9.0, 1)] * 9]
    (problem,) = find_problems(replace(found, starts=lonely), quality, max_iter=7)
    assert problem.kind == "a better maximum"
    assert "probability of about 33%: raise `n_init`" in problem.sentence
    agreeing = [Start(kind, -1.0, 1) for kind in ("grown", "partition", "around")]
    assert kinds(replace(found, starts=[*agreeing, *lonely]), quality) == []


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({1: -100.0, 2: -101.0}, None),
        ({1: -100.0, 2: -100.1 - CLEARLY}, "One classifier explains these labels as well as 2 "),
        ({1: -100.0, 2: -90.0, 3: -99.0}, None),  # more components are no reason to worry
        ({}, None),
        ({1: -100.0}, None),
    ],
)
def test_fewer_components_with_more_evidence(good, evidence, expected):
    found, quality = good
    problems = find_problems(found, quality, max_iter=7, evidence=evidence)
    if expected is None:
        assert problems == []
    else:
        assert problems[0].kind == "fewer components"
        assert problems[0].sentence.startswith(expected)
        assert "use `n_components=1`, or `n_components='auto'`." in problems[0].sentence


def test_a_fit_of_too_many_components_says_so():
    X, y, _ = sharp(1000, profiles=np.array([[3.0, 0, 0, 0]]), weights=[1.0])
    with pytest.warns(MixtureWarning, match="One classifier explains these labels as well as 2"):
        mixture = fitted(X, y)
    assert mixture.evidence_path_[1] > mixture.evidence_path_[2] + CLEARLY
    assert mixture.evidence_path_[2] == pytest.approx(mixture.log_evidence_)


def test_different_rows_are_counted_up_to_a_limit():
    X = np.array([[0.0, 1], [-0.0, 1], [1, 0], [2, 2], [1, 0]])
    for features in (X, sparse.csr_array(X)):
        rows = in_groups(Rows(features, np.ones(5)))
        assert n_different_rows(rows, 10) == 3
        assert n_different_rows(rows, 2) == 2


def test_rows_that_cannot_determine_the_profiles():
    """Three binary columns take eight values, and two classifiers have nine parameters."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (6_000, 3)).astype(float)
    U = np.array([[3.0, 0, 1], [0, -3, 1]])
    y = rng.logistic(size=6_000) < (X * U[rng.integers(0, 2, 6_000)]).sum(axis=1)
    with pytest.warns(MixtureWarning, match="only 8 different rows, which cannot determine 9 par"):
        fitted(X, y, l2=0.1)
    with pytest.warns(MixtureWarning, match="only 8 different rows"):
        fitted(sparse.csr_array(X), y, l2=0.1)
    # one classifier has four parameters; labels of a group tell more than those of single rows
    fitted(X, y, k=1, l2=0.1)
    fitted(X, y, groups=np.arange(6_000) // 5, l2=0.1)


def test_separable_labels_without_a_penalty_warn():
    X, _, _ = drawn()
    with pytest.warns(MixtureWarning, match="aise `l2`|or `l2`"):
        fitted(X, X[:, 0] > 0, k=1, l2=0.0)


def test_too_few_steps():
    X, y, _ = sharp()
    with pytest.warns(MixtureWarning) as said:
        mixture = fitted(X, y, max_iter=1, n_init=1, init="random", subspace=None)
    assert any("max_iter" in str(one.message) for one in said)
    assert not mixture.converged_
    assert "max_iter" in mixture.status_


def test_warnings_come_when_everything_is_set():
    X, y, _ = drawn()
    mixture = LinearClassifierMixture(max_iter=1, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MixtureWarning):
            mixture.fit(X, y)
    assert "max_iter" in mixture.summary()


def test_warnings_point_to_the_call_of_fit():
    X, y, _ = drawn()
    with pytest.warns(MixtureWarning) as said:
        LinearClassifierMixture(max_iter=1, n_init=1, random_state=0).fit(X, y)
    assert said[0].filename == __file__
