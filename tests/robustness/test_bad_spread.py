"""Spreads and histories that are refused, with one clear sentence each."""

import dask.array as da
import numpy as np
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture as make
from tests.helpers.refusals import assert_refused
from tests.helpers.spreads import known, persons

X, Y, G = persons(10, 4)
HISTORY = (X, Y, G)
MIXTURE = known([[1.5, -1.0]], [0.0], [1.0], 0.5 * np.eye(2), np.zeros(2))
LAZY = da.from_array(X, chunks=(20, 2))
NAN = np.where(np.arange(len(Y))[:, None] == 3, np.nan, X)


def fit(groups=G, **options):
    return LinearClassifierMixture(1, **{"spread": "diagonal", **options}).fit(X, Y, groups=groups)


def proba(history, groups=G, X=X, *weights):
    return MIXTURE.predict_proba(X, *weights, groups=groups, history=history)


FIT = {
    "no groups": (
        lambda: fit(None),
        "`spread='diagonal'` needs .*several labels of the same person",
    ),
    "single rows": (lambda: fit(np.arange(40)), "several labels of the same person"),
    "misspelt": (lambda: fit(spread="diagnoal"), "'spread' parameter.*Got 'diagnoal'"),
    "a number": (lambda: fit(spread=1.0), "'spread' parameter.*Got 1.0"),
    "no intercept": (
        lambda: fit(spread="intercept", fit_intercept=False),
        "`spread='intercept'` needs `fit_intercept=True`",
    ),
    "hard labels": (
        lambda: fit(response="hard"),
        "needs `response='logistic'` or `response='probit'`",
    ),
    "not refined": (lambda: fit(refine=False), "`spread='diagonal'` needs `refine=True`"),
    "too few groups": (lambda: fit(G[:3]), "groups must hold one value for each of 40 rows"),
}
PROBA = {
    "two parts": (lambda: proba((X, Y)), r"history must be a tuple \(X, y, groups\)"),
    "a table": (lambda: proba(X), "history must be a tuple"),
    "a number": (lambda: proba(5), "history must be a tuple"),
    "text": (lambda: proba("abc"), "history must be a tuple"),
    "no groups": (lambda: proba(HISTORY, None), "history needs the persons.*pass groups="),
    "no groups before": (lambda: proba((X, Y, None)), "history needs the persons"),
    "other features": (lambda: proba((X[:, :1], Y, G)), "X has 1 features, but"),
    "other labels": (lambda: proba((X, 2 * Y, G)), "y holds.*in row 0, but the labels that"),
    "words": (lambda: proba((X, np.where(Y > 0, "a", "b"), G)), "y holds '.' in row 0"),
    "weights": (lambda: proba(HISTORY, G, X, [1.0]), "component_weights or a history, not both"),
    "length": (lambda: proba(HISTORY, G[:3]), r"for each of 40 rows, got shape \(3,\)"),
    "length before": (lambda: proba((X, Y, G[:3])), r"for each of 40 rows, got shape \(3,\)"),
    "too few labels": (lambda: proba((X, Y[:3], G)), "X has 40 rows but y has 3 labels"),
    "NaN": (lambda: proba((NAN, Y, G)), "contains NaN in column 0"),
    "NaN labels": (lambda: proba((X, np.where(Y > 0, np.nan, -1), G)), "NaN|missing"),
    "unknown person": (lambda: proba(HISTORY, np.where(G > 3, np.nan, G)), "missing values"),
    "unknown before": (lambda: proba((X, Y, np.where(G > 3, np.nan, G))), "missing values"),
    "Dask": (lambda: proba(HISTORY, G, LAZY), "takes Dask collections without groups"),
    "groups alone": (lambda: proba(None, G[:3]), r"for each of 40 rows, got shape \(3,\)"),
}
PROFILES = {
    "no groups": (lambda: MIXTURE.person_profiles(X, Y, None), "person_profiles needs groups"),
    "length": (lambda: MIXTURE.person_profiles(X, Y, G[:3]), "one value for each of 40 rows"),
    "labels": (lambda: MIXTURE.person_profiles(X, 2 * Y, G), "y holds.*in row 0"),
    "NaN": (lambda: MIXTURE.person_profiles(NAN, Y, G), "contains NaN in column 0"),
}
MAKE = {
    "negative": (lambda: make(9, 2, spread=-1.0), "spread must be a standard deviation of 0 or"),
    "length": (lambda: make(9, 2, spread=[1, 2, 3]), "or one for each of 2 features"),
    "text": (lambda: make(9, 2, spread="a"), "spread must hold numbers"),
    "NaN": (lambda: make(9, 2, spread=np.nan), "spread must be a standard deviation"),
    "infinite": (lambda: make(9, 2, spread=[1, np.inf]), "spread must be a standard deviation"),
}
TABLES = {"fit": FIT, "predict_proba": PROBA, "person_profiles": PROFILES, "make": MAKE}
CASES = {f"{use}: {case}": row for use, table in TABLES.items() for case, row in table.items()}


@pytest.mark.parametrize(("call", "sentence"), CASES.values(), ids=CASES)
def test_one_clear_sentence(call, sentence):
    assert_refused(call, sentence)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_the_same_for_labels_and_decisions(method):
    call = getattr(MIXTURE, method)
    assert_refused(lambda: call(X, groups=G, history=(X, Y)), "history must be a tuple")
    assert_refused(lambda: call(X, history=HISTORY), "history needs the persons")


def test_auto_is_none_where_a_spread_would_be_refused():
    assert fit(None, spread="auto").spread_kind_ is None
    assert fit(spread="auto", response="hard").spread_kind_ is None
    assert fit(spread="auto", refine=False).spread_kind_ is None
