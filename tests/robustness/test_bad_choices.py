"""Choices, and what is made from them, called incorrectly: one table for each use."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.choices import alternative_constants, best_worst, explode_rankings
from spectralmirror.datasets import make_choice_mixture
from spectralmirror.metrics import person_log_likelihood
from spectralmirror.selection import compare_components
from tests.helpers.refusals import assert_refused

X, CHOSEN, TRUTH = make_choice_mixture(40, 3, 2, n_alternatives=3, random_state=0)
SETS, PERSONS = TRUTH.choices, TRUTH.groups
OF_PERSON = 0.1 * np.unique(PERSONS, return_inverse=True)[1]
SIX = np.arange(12.0).reshape(6, 2)
BEST, WORST, SET = [1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1]
MIXED = np.array([1, "a"] * 3, dtype=object)
TEXT = pl.DataFrame({"a": list("xyzxyz"), "b": range(6)})


def mixture():
    return ChoiceMixture(2, n_init=2, l2=1.0, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return mixture().fit(X, CHOSEN, choices=SETS, groups=PERSONS)


def pairs(made):
    """Keep the first two alternatives of sets whose choice is among them."""
    place = np.arange(len(X)) % 3
    kept = (place < 2) & np.repeat((CHOSEN & (place < 2)).reshape(-1, 3).any(axis=1), 3)
    return mixture().fit(made[kept], CHOSEN[kept], choices=SETS[kept], groups=PERSONS[kept])


CONSTANT = "is the same for all alternatives of each set in column 3: no choice depends on it"
FIT = {
    "chosen": (lambda: mixture().fit(X, choices=SETS), "chosen is missing: say for each row"),
    "a person's own": (
        lambda: mixture().fit(np.c_[X, OF_PERSON], CHOSEN, choices=SETS, groups=PERSONS),
        CONSTANT,
    ),
    "of sets of two": (lambda: pairs(np.c_[X, OF_PERSON]), CONSTANT),
    "by name": (
        lambda: mixture().fit(
            pd.DataFrame(X, columns=list("abc")).assign(income=OF_PERSON), CHOSEN, choices=SETS
        ),
        "in column 'income'",
    ),
    "two lines": (
        lambda: mixture().fit(
            X, CHOSEN, choices=SETS, groups=PERSONS,
            membership=pd.DataFrame({"a": range(80)}, index=[*range(40)] * 2),
        ),
        "has two lines for group 0: keep one",
    ),
}  # fmt: skip
MADE = {
    "no alternatives": (lambda: alternative_constants([]), "alternatives is empty"),
    "mixed": (lambda: alternative_constants(MIXED), "mixes values that cannot be compared"),
    "no rows": (lambda: explode_rankings(SIX[:0], [], choices=[]), "X has no rows"),
    "ragged": (lambda: explode_rankings([[1], [2, 3]], [1, 2], choices=[0, 0]), "different len"),
    "depth": (
        lambda: explode_rankings(SIX, [1, 2, 3] * 2, choices=SET, depth=True),
        "depth must be a whole number",
    ),
    "no best": (lambda: best_worst(SIX, None, WORST, choices=SET), "^best is missing"),
    "two worst": (
        lambda: best_worst(SIX, BEST, [0, 1, 1, 0, 0, 1], choices=SET),
        "2 worst rows: exactly one alternative of each set is worst",
    ),
    "text": (lambda: best_worst(TEXT, BEST, WORST, choices=SET), "X must hold numbers, as the"),
    "text in pandas": (
        lambda: best_worst(TEXT.to_pandas(), BEST, WORST, choices=SET), "X must hold numbers, as"
    ),
}  # fmt: skip
SHARES = {
    "missing": (np.where(OF_PERSON == 0, np.nan, 1.0), "alternatives is missing in row 0"),
    "mixed": (np.array([1, "a"] * (len(X) // 2), dtype=object), "mixes values that cannot be"),
}


@pytest.mark.parametrize("name", FIT)
def test_fit(name):
    assert_refused(*FIT[name])


@pytest.mark.parametrize("name", MADE)
def test_helpers(name):
    assert_refused(*MADE[name])


@pytest.mark.parametrize("name", SHARES)
def test_alternatives(fitted, name):
    alternatives, sentence = SHARES[name]
    for of in (fitted.shares, lambda *rest, **kw: fitted.elasticities(X, 0, **kw)):
        assert_refused(lambda of=of: of(X, choices=SETS, alternatives=alternatives), sentence)


def test_columns_of_polars_keep_their_types():
    found = explode_rankings(TEXT, [1, 2, 3] * 2, choices=SET)
    assert found.X.schema == TEXT.schema
    assert found.X["b"].to_list() == found.rows.tolist()


def test_a_fit_that_fails_leaves_the_mixture_as_it_was(fitted):
    before = fitted.predict_proba(X, choices=SETS)
    assert_refused(
        lambda: fitted.fit(X[:, :2], CHOSEN, choices=SETS, membership=np.ones(len(X))),
        "is the same for all groups",
    )
    assert np.array_equal(fitted.predict_proba(X, choices=SETS), before)


def test_scores_of_labels_that_were_not_fitted():
    y = np.where(X[:, 0] > 0, "b", "a")
    classifier = LogisticRegression().fit(X, y)
    unknown = np.where(np.arange(len(y)) == 3, "z", y)
    assert_refused(
        lambda: person_log_likelihood(classifier, X, unknown, groups=PERSONS),
        "y holds 'z' in row 3, but the labels that were fitted are",
    )
    assert_refused(
        lambda: person_log_likelihood(3, X, y, groups=PERSONS), "predict_proba, got int", TypeError
    )


def test_coefficients_that_signs_hold_are_0_in_all_resamples():
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1) * np.where(np.arange(len(X)) % 4, 1, -1)
    mixture = LinearClassifierMixture(1, signs={0: -1}, l2=1.0, random_state=0)
    mixture.fit(X, y, groups=PERSONS)
    assert (mixture.coef_[:, 0] == 0).all()
    found = mixture.bootstrap(X, y, groups=PERSONS, n=4, random_state=0)
    assert (found.coef[..., 0] == 0).all()
    assert (found.coef[..., 1] != 0).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_constant_of_the_alternative_that_always_comes_first(container):
    """Its difference is the same in all sets of two, and its coefficient an intercept."""
    rng = np.random.default_rng(0)
    x, first = rng.standard_normal((200, 2)), np.tile([1.0, 0.0], (200, 1))
    y = x[:, 0] - x[:, 1] + 0.7 + rng.logistic(size=200) > 0
    made = container(np.c_[first.ravel(), x.ravel()])
    mixture = ChoiceMixture(1, l2=1e-8).fit(
        made, np.c_[y, ~y].ravel(), choices=np.repeat(np.arange(200), 2)
    )
    logit = LogisticRegression(C=np.inf, tol=1e-8).fit(x[:, :1] - x[:, 1:], y)
    expected = [[logit.intercept_[0], logit.coef_[0, 0]]]
    np.testing.assert_allclose(mixture.coef_, expected, rtol=1e-4)


def test_starts_from_a_mixture_of_other_labels():
    y = np.where(X[:, 0] > 0, "b", "a")
    three = np.where(X[:, 1] > 1, "c", y)
    two = LinearClassifierMixture(1, l2=1.0).fit(X, y)
    sentence = "init is a mixture that was fitted to labels of other kinds"
    assert_refused(lambda: LinearClassifierMixture(1, init=two).fit(X, three), sentence)
    other = LinearClassifierMixture(1, l2=1.0).fit(X, three)
    assert_refused(lambda: LinearClassifierMixture(1, init=other).fit(X, y), sentence)
    assert_refused(lambda: two.sample(X), "n_samples must be a whole number of at least 1, got arr")
    assert_refused(
        lambda: compare_components(two, X, y, verbose="loud"), "The 'verbose' parameter of"
    )
