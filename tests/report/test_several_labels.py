"""The report on labels of several kinds: what it collects, and what it says."""

import json
import re

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_multinomial_mixture
from spectralmirror.effects import average_effects
from spectralmirror.report import collect, held_out, render
from spectralmirror.report.label_effects import label_contrasts
from tests.helpers.browser import Window, system_chromium
from tests.helpers.command_line import run
from tests.helpers.report import Page, change, check_page

WAYS = np.array(["bike", "car <b>", "rail"])


@pytest.fixture(scope="module")
def travel():
    X, y, truth = make_multinomial_mixture(
        1_000, 3, 2, group_size=8, weights=[0.6, 0.4], random_state=0
    )
    frame = pl.DataFrame(X * [5, 1, 1] + [3, 0, 0], schema=["rain", "hurry", "distance"])
    frame = frame.with_columns(weekend=(frame["rain"] > 3).cast(float))
    mixture = LinearClassifierMixture(2, random_state=0)
    return mixture.fit(frame, WAYS[y], groups=truth.groups), frame, WAYS[y], truth.groups


@pytest.fixture(scope="module")
def data(travel):
    mixture, frame, way, who = travel
    about = {"label": "way", "group": "who"}
    return collect(mixture, frame, way, groups=who, about=about)


def test_the_page(data):
    page = render(json.loads(json.dumps(data, allow_nan=False)))
    check_page(page)
    text = Page(page).text
    assert "The labels in ‘way’ look as if they were made by 2 hidden classifiers" in text
    assert re.search("125\\sgroups, by ‘who’; median 8 rows each", text)
    shares = [round(100 * share) for share in data["labels"]["shares"]]
    assert re.search(f"‘bike’ \\({shares[0]}\\s%\\), ‘car <b>’ \\({shares[1]}\\s%\\)", text)
    assert "multinomial logistic: the odds of two labels" in text
    assert "a single multinomial logistic regression with the shares of these labels" in text
    assert "What it makes of each label ‘bike’" in text
    assert "Which labels are taken for which" in text
    for absent in ("AUC", "counts as +1", "None", "choice"):
        assert absent not in text


def test_effects_are_coefficients_per_step(travel, data):
    mixture, frame, *_ = travel
    scale = frame.to_numpy().std(axis=0)
    for c, one in enumerate(data["classifiers"]):
        assert one["says"] == pytest.approx(
            mixture.predict_proba(frame, np.eye(2)[c]).mean(axis=0), rel=1e-5
        )
        for b, label in enumerate(one["labels"]):
            assert label["label"] == WAYS[b]
            per_sd = mixture.coef_[c, b] * scale
            order = np.argsort(-np.abs(per_sd))[:3]
            assert [e["feature"] for e in label["strongest"]] == [frame.columns[j] for j in order]
            for j, entry in zip(order, label["strongest"], strict=True):
                step = 1.0 if frame.columns[j] == "weekend" else scale[j]
                assert entry["value"] == pytest.approx(mixture.coef_[c, b, j] * step, rel=1e-5)
                half = np.diff(entry["interval"])[0] / 2
                error = mixture.coef_standard_error_[c, b, j] * step
                assert half == pytest.approx(1.979 * error, rel=1e-3)  # t, 124 degrees of freedom


def test_contrasts_of_two_classes_are_differences(travel, data):
    mixture = travel[0]
    difference, errors = label_contrasts(mixture, 1)
    np.testing.assert_allclose(difference, mixture.coef_[1] - mixture.coef_[0])
    own = mixture.covariance_[:30, :30].reshape(2, 3, 5, 2, 3, 5)
    variance = own[0, 2, 1, 0, 2, 1] + own[1, 2, 1, 1, 2, 1] - 2 * own[0, 2, 1, 1, 2, 1]
    assert errors[2, 1] == pytest.approx(np.sqrt(variance))
    largest = data["classifiers"][1]["contrasts"][0]
    assert abs(largest["value"]) == pytest.approx(
        np.abs(difference * mixture.feature_scale_).max(), rel=1e-5
    )
    assert largest["own"] - largest["others"] == pytest.approx(largest["value"], rel=1e-4)


def test_average_changes_are_those_of_the_library_and_sum_to_zero(travel, data):
    mixture, frame, *_ = travel
    found = {entry["feature"]: entry for entry in data["average_changes"]["features"]}
    expected = average_effects(mixture, frame, features=["hurry"], label="rail")
    step = frame["hurry"].to_numpy().std()
    rail = found["hurry"]["labels"][2]
    assert rail["label"] == "rail"
    values = [change["value"] for change in rail["changes"]]
    assert values == pytest.approx(expected.estimate[:, 0] * step, rel=1e-5)
    for entry in found.values():
        sums = np.sum([[c["value"] for c in one["changes"]] for one in entry["labels"]], axis=0)
        np.testing.assert_allclose(sums, 0, atol=1e-5)


def test_held_out_figures_are_those_of_an_independent_computation(travel, data):
    _, frame, way, who = travel
    X, seed = frame.to_numpy(), int(check_random_state(0).randint(2**31))
    P, Q = np.empty((2, len(way), 3))
    for rest, held in GroupKFold(5, shuffle=True, random_state=seed).split(X, groups=who):
        mixture = LinearClassifierMixture(2, random_state=3).fit(
            X[rest], way[rest], groups=who[rest]
        )
        Q[held] = mixture.predict_proba(X[held])
        l2 = LinearClassifierMixture(1).fit(X[rest], way[rest]).l2_
        single = make_pipeline(StandardScaler(), LogisticRegression(C=1 / (2 * l2), tol=1e-8))
        P[held] = single.fit(X[rest], way[rest]).predict_proba(X[held])
    fresh = data["held_out"]["fresh"]
    assert fresh["mixture"]["log_loss"] == pytest.approx(log_loss(way, Q), rel=1e-4)
    assert fresh["single"]["log_loss"] == pytest.approx(log_loss(way, P), rel=1e-4)
    assert fresh["mixture"]["auc"] is None
    assert fresh["mixture"]["accuracy"] == pytest.approx(
        (WAYS[Q.argmax(1)] == way).mean(), abs=0.002
    )
    assert data["held_out"]["history"]["verdict"] == "better"
    assert np.sum(data["held_out"]["confusion"]["counts"]) == len(way) / 2


def test_confusion_without_groups(travel, monkeypatch):
    _, frame, way, _ = travel
    predicted = []
    compare = held_out.comparison
    monkeypatch.setattr(
        held_out, "comparison", lambda p, *rest: predicted.append(p) or compare(p, *rest)
    )
    mixture = LinearClassifierMixture(1, random_state=0).fit(frame, way)
    data = collect(mixture, frame, way)
    P = predicted[0]["mixture"]
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-9)
    assert (confusion_matrix(way, WAYS[P.argmax(axis=1)]).tolist()
            == data["held_out"]["confusion"]["counts"])  # fmt: skip
    page = render(data)
    check_page(page)
    assert "of the held-out labels correctly; the most frequent label" in Page(page).text


def test_a_penalty_that_was_given_is_that_of_the_single_classifier(travel):
    _, frame, way, _ = travel
    mixture = LinearClassifierMixture(1, l2=50.0, random_state=0).fit(frame, way)
    fresh = collect(mixture, frame, way)["held_out"]["fresh"]
    assert fresh["gain"] == pytest.approx(0, abs=1e-5)  # the same model


def test_many_labels_are_left_out_where_there_is_no_room(data):
    rare = change(data, "labels/names", [*data["labels"]["names"], *"abcdefghij"])
    rare["labels"]["shares"] += [0.01] * 10
    rare["average_changes"]["n_labels_left_out"] = 10
    for one in rare["classifiers"]:
        one["says"] += [0.01] * 10
    for key in ("coefficients", "errors", "intercepts", "intercept_errors"):
        for of_class in rare["features"][key]:
            of_class += of_class[:1] * 10
    text = Page(render(rare)).text
    assert "and 1 more" in text
    assert "Which labels are taken for which" not in text
    assert "The 3 most frequent labels, of 13" in text


def test_a_rare_label_is_what_it_says(travel):
    _, frame, way, _ = travel
    few = (way != "rail") | (np.cumsum(way == "rail") <= 12)
    X, y = frame.filter(pl.Series(few)), way[few]
    mixture = LinearClassifierMixture(1, random_state=0).fit(X, y)
    found = collect(mixture, X, y)["cautions"]
    assert "rare_label" in [one["kind"] for one in found]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_is_whole_at_every_width(data, tmp_path, width, scheme):
    path = tmp_path / "page.html"
    path.write_text(render(data), encoding="utf-8")
    with system_chromium() as browser, Window(browser, path.as_uri(), width, scheme) as window:
        window.value("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert window.problems == []
        assert window.requests == [path.as_uri()]
        assert window.value("document.documentElement.scrollWidth") <= width


def test_on_the_command_line(travel, tmp_path):
    _, frame, way, who = travel
    table = frame.with_columns(way=pl.Series(way), who=pl.Series(who))
    table.write_csv(tmp_path / "ways.csv")
    made = run("fit", tmp_path / "ways.csv", "--label", "way", "--group", "who", "-k", 1,
               "-o", tmp_path / "model.skops")  # fmt: skip
    assert "spectralmirror report" in made.stdout
    run("report", tmp_path / "model.skops", tmp_path / "ways.csv", "-o", tmp_path / "page.html")
    check_page((tmp_path / "page.html").read_text(encoding="utf-8"))
