"""Held-out figures are those of an independent cross-validation in whole groups."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect, render
from spectralmirror.report import held_out as held_out_module
from spectralmirror.report.held_out import _halves, sample
from tests.helpers.report import Page, fitted


def test_held_out_figures_are_those_of_an_independent_computation(shop):
    _, X, y, groups, data = shop
    X, positive = X.to_numpy(), y == "yes"
    seed = int(check_random_state(0).randint(2**31))
    split = list(GroupKFold(5, shuffle=True, random_state=seed).split(X, groups=groups))
    p, q = np.empty((2, len(y)))
    for rest, held in split:
        model = LinearClassifierMixture(2, random_state=3)
        model.fit(X[rest], y[rest], groups=groups[rest])
        q[held] = model.predict_proba(X[held])[:, 1]
        l2 = LinearClassifierMixture(1).fit(X[rest], y[rest]).l2_  # not that of the mixture
        single = make_pipeline(StandardScaler(), LogisticRegression(C=1 / l2, tol=1e-10))
        p[held] = single.fit(X[rest], positive[rest]).predict_proba(X[held])[:, 1]
    fresh = data["held_out"]["fresh"]
    for name, prediction in (("single", p), ("mixture", q)):
        found = fresh[name]
        np.testing.assert_allclose(found["log_loss"], log_loss(positive, prediction), rtol=1e-4)
        np.testing.assert_allclose(found["auc"], roc_auc_score(positive, prediction), rtol=1e-3)
        accuracy = accuracy_score(positive, prediction > 0.5)
        np.testing.assert_allclose(found["accuracy"], accuracy, atol=0.002)
    gain = log_loss(positive, p) - log_loss(positive, q)
    np.testing.assert_allclose(fresh["gain"], gain, atol=1e-4)
    seen = [point["seen"] for point in data["held_out"]["calibration"]["single"]]
    parts = np.array_split(np.argsort(p), 10)
    np.testing.assert_allclose(seen, [positive[part].mean() for part in parts], atol=0.03)


def test_a_penalty_that_was_given_is_that_of_the_single_classifier(monkeypatch):
    mixture, X, y = fitted(2, l2=50.0)
    predicted = []
    compare = held_out_module.comparison
    monkeypatch.setattr(
        held_out_module, "comparison", lambda p, *rest: predicted.append(p) or compare(p, *rest)
    )
    collect(mixture, X, y)
    seed = int(check_random_state(0).randint(2**31))
    split = GroupKFold(5, shuffle=True, random_state=seed).split(X, groups=np.arange(len(y)))
    single = make_pipeline(StandardScaler(), LogisticRegression(C=0.02, tol=1e-10))
    p = cross_val_predict(single, X, y, cv=list(split), method="predict_proba")[:, 1]
    np.testing.assert_allclose(predicted[0]["single"][:, 1], p, atol=1e-4)


def test_mixtures_whose_start_was_given_are_refitted_from_it():
    mixture, X, y = fitted(2)
    again = LinearClassifierMixture(2, init=mixture, random_state=0).fit(X, y)
    found, expected = (collect(model, X, y)["held_out"] for model in (again, mixture))
    assert found["failures"] == []
    mixed = [one["fresh"]["mixture"]["log_loss"] for one in (found, expected)]
    np.testing.assert_allclose(*mixed, rtol=1e-3)


def test_a_history_reveals_which_classifier_makes_the_labels(shop):
    data = shop.data
    history = data["held_out"]["history"]
    assert history["n_rows"] == 150 * 3
    assert history["verdict"] == "better"
    assert history["gain"] > data["held_out"]["fresh"]["gain"] + 0.05


def test_halves_share_no_row_and_leave_nobody_without_a_history():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(5), [1, 2, 5, 1, 4])
    rows = rng.permutation(13)
    known, later = _halves(rows, clusters, rng)
    assert np.bincount(clusters[known], minlength=5).tolist() == [0, 1, 2, 0, 2]
    assert np.bincount(clusters[later], minlength=5).tolist() == [0, 1, 3, 0, 2]
    assert len({*known, *later}) == 11


def test_samples_keep_groups_whole(monkeypatch):
    monkeypatch.setattr(held_out_module, "MAX_ROWS", 500)
    rng = np.random.default_rng(0)
    groups = np.sort(rng.integers(0, 200, 2000))
    chosen = sample(groups, rng)
    assert 450 < len(chosen) <= 500
    inside, outside = set(groups[chosen]), set(np.delete(groups, chosen))
    assert not inside & outside
    giants = np.repeat(
        [0, 1, 2], [600, 300, 400]
    )  # too large to be taken whole: as many rows of each
    drawn = sample(giants, rng)
    assert len(set(drawn)) == len(drawn)
    assert np.bincount(giants[drawn]).tolist() == [166] * 3
    # large groups are not left out for small ones: each is in about half of the samples
    sizes = np.repeat([10, 50], [50, 10])
    mixed = np.repeat(np.arange(60), sizes)
    inside = np.mean(
        [np.isin(np.arange(60), mixed[sample(mixed, rng)]) for _ in range(400)], axis=0
    )
    assert abs(inside[:50].mean() - inside[50:].mean()) < 0.08  # a draw differs by up to one group


def test_folds_that_cannot_be_fitted_are_reported():
    mixture, X, y = fitted(1)
    few = np.flatnonzero(y > 0)[:1].tolist() + np.flatnonzero(y < 0)[:40].tolist()
    data = collect(mixture, X[few], y[few])
    (failure,) = data["held_out"]["failures"]
    assert "the same label" in failure
    groups = np.arange(41) % 4
    none = collect(mixture, X[few], y[few], groups=groups)
    assert "fewer than 5 groups" in none["held_out"]["reason"]
    assert failure in Page(render(data)).text
