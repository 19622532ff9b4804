"""The number of components."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from spectralmirror import LinearClassifierMixture
from spectralmirror.mixture.selection import (
    CRITERIA,
    ENDING_STARTS,
    MANY_STARTS,
    MOST_COMPONENTS,
    RISING_STARTS,
    Candidate,
    evidence_path,
    fewer_components,
    select,
)
from tests.helpers.mixtures import drawn, fitted, sharp


@dataclass
class Fake:
    """A candidate of known BIC and evidence."""

    k: int
    bic: float
    n_dropped: int = 0
    n_starts: int = 1
    has_evidence: bool = True

    @property
    def log_evidence(self):  # beyond the margin
        return -10 * self.bic if self.has_evidence else -self.bic / 2

    @property
    def n_components(self):
        return self.k

    @property
    def is_settled(self):
        return self.n_starts < RISING_STARTS

    @property
    def fit(self):
        return SimpleNamespace(n_dropped=self.n_dropped)


def selected(bics, n_visible=1, dropped_at=None, criterion="bic"):
    found, path = select(
        lambda k, *_: Fake(k, bics[k - 1], int(k == dropped_at)), lambda: n_visible, criterion
    )
    return found.k, list(path)


@pytest.mark.parametrize(
    ("bics", "options", "expected"),
    [
        ([10, 11], {}, (1, [1, 2])),
        ([10, 8, 7, 9], {}, (3, [1, 2, 3, 4])),
        ([10, 11, 7, 9], {}, (1, [1, 2])),  # it does not look past the first rise
        ([10, 11, 7, 9], {"n_visible": 3}, (3, [1, 2, 3, 4])),  # unless the spectrum shows more
        ([10, 11, 12, 1], {"n_visible": 9}, (1, [1, 2, 3])),  # and only once
        ([10, 10 - 1e-9, 7], {}, (1, [1, 2])),  # no gain but that of rounding
        ([10, 8, 1], {"dropped_at": 3}, (2, [1, 2])),
        (list(range(100, 0, -1)), {}, (MOST_COMPONENTS, list(range(1, MOST_COMPONENTS + 1)))),
    ],
)
@pytest.mark.parametrize("criterion", ["bic", "evidence"])
def test_components_are_added_while_the_criterion_improves(bics, options, expected, criterion):
    assert selected(bics, **options, criterion=criterion) == expected


@pytest.mark.parametrize("k", [1, 2, 3])
def test_auto(k):
    X, y, _ = sharp(6000, profiles=5 * np.eye(k, 5), weights=np.full(k, 1 / k))
    mixture = fitted(X, y, k="auto")
    assert mixture.n_components_ == k
    assert max(mixture.evidence_path_, key=mixture.evidence_path_.get) == k
    assert mixture.evidence_path_[k] == pytest.approx(mixture.log_evidence_)
    np.testing.assert_allclose(mixture.bic_path_[k], mixture.bic_)
    np.testing.assert_allclose(mixture.bic(X, y), mixture.bic_, rtol=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("l2", ["auto", 0.1])
def test_every_criterion_finds_two_clear_classifiers(criterion, l2):
    X, y, truth = sharp(1500, group_size=5)
    mixture = fitted(X, y, k="auto", criterion=criterion, l2=l2, groups=truth.groups)
    assert mixture.n_components_ == 2
    assert set(mixture.bic_path_) == set(mixture.evidence_path_) == {1, 2, 3}


def test_only_the_chosen_number_is_searched_with_many_starts():
    asked = []

    def fit_k(k, before, n_init):
        asked.append((k, before and before.k, n_init))
        bic = [10, 8, 9][k - 1] - (n_init == MANY_STARTS)
        return Fake(k, bic, n_starts=1 if k == 1 else n_init)

    best, tried = select(fit_k, lambda: 1, "bic")
    path = [(1, None, None), (2, 1, RISING_STARTS), (3, 2, RISING_STARTS)]
    # 3 is searched once more before it is said to be worse
    assert asked == [*path, (3, 3, ENDING_STARTS), (2, 2, MANY_STARTS)]
    assert best.bic == tried[2].bic == 7


def test_a_number_that_needs_more_starts_is_not_missed():
    def fit_k(k, before, n_init):
        rough = k == 3 and n_init == RISING_STARTS
        return Fake(k, 9 if rough else [10, 8, 7, 9][k - 1], n_starts=n_init or 1)

    best, _ = select(fit_k, lambda: 1, "bic")
    assert (best.k, best.bic) == (3, 7)


def test_evidence_needs_a_penalty():
    X, y, _ = drawn()
    with pytest.raises(ValueError, match="criterion='evidence' needs a penalty"):
        fitted(X, y, k="auto", l2=0)
    assert fitted(X, y, k="auto", l2=0, criterion="bic").n_components_ == 2


def test_fewer_components_are_fitted_to_all_rows_only_if_they_win_on_a_sample():
    def candidate(fewer, on_all_rows):
        fit = SimpleNamespace(
            ascent=SimpleNamespace(parameters=[0, 1]), fewer=fewer, on_all_rows=on_all_rows
        )
        return Candidate(fit, None)

    def never(*_):
        raise AssertionError

    assert fewer_components(candidate({1: -5.0, 2: -9.0}, True), never) == {1: -5.0}
    assert fewer_components(candidate({1: -9.0, 2: -5.0}, False), never) == {}
    assert fewer_components(candidate({}, False), never) == {}
    won = fewer_components(candidate({1: -5.0, 2: -9.0}, False), lambda k, *_: Fake(k, 77.0))
    assert won == {1: -770.0}


def test_auto_with_groups():
    X, y, truth = sharp(3000, profiles=5 * np.eye(4, 8), weights=np.full(4, 0.25), group_size=10)
    assert fitted(X, y, k="auto", groups=truth.groups).n_components_ == 4


def test_labels_independent_of_the_features_have_one_component():
    X, _, _ = sharp()
    y = np.random.default_rng(0).choice(["a", "b"], len(X))
    assert fitted(X, y, k="auto").n_components_ == 1


def test_auto_does_not_warn_about_fits_that_it_did_not_choose():
    for seed in range(3):
        X = np.random.default_rng(seed).standard_normal((200, 3))
        mixture = fitted(X, X[:, 0] > 0, k="auto")  # warnings are errors here
        assert mixture.n_components_ == 1


def test_the_path_belongs_to_the_last_fit():
    X, y, _ = drawn()
    mixture = fitted(X, y, k="auto")
    assert set(mixture.bic_path_) >= {1, 2, 3}
    mixture.set_params(n_components=2).fit(X, y)
    assert set(mixture.bic_path_) == {2}
    assert set(mixture.evidence_path_) == {1, 2}


def test_auto_takes_no_profiles():
    X, y, _ = drawn()
    with pytest.raises(ValueError, match="n_components='auto' needs init='spectral' or 'random'"):
        fitted(X, y, k="auto", init=np.eye(2, 4))


def test_held_out_likelihood():
    X, y, _ = sharp(4000)
    scores = {
        k: cross_val_score(
            LinearClassifierMixture(k, random_state=0), X, y, cv=3, scoring="neg_log_loss"
        ).mean()
        for k in (1, 2)
    }
    assert scores[2] > scores[1]
    search = GridSearchCV(
        LinearClassifierMixture(random_state=0),
        {"n_components": [1, 2]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"n_components": 2}


@pytest.mark.parametrize(("bics", "expected"), [((100, 80), 2), ((80, 100), 1)])
def test_evidence_is_not_compared_with_what_stands_in_for_it(bics, expected):
    """With too many parameters for second derivatives, there is only BIC."""
    candidates = {k: Fake(k, bic, has_evidence=k < 2) for k, bic in enumerate(bics, start=1)}
    best, _ = select(lambda k, *_: candidates[min(k, 2)], lambda: 1, "evidence")
    assert best.k == expected
    assert evidence_path({k: candidates[k] for k in (1, 2)}) == {1: -bics[0] / 2, 2: -bics[1] / 2}
