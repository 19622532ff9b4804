"""The page shows any data whole, and nothing of the user as markup."""

import json
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture, load
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.report import collect, collector, render
from tests.helpers.report import Page, check_page, fitted

GOLDEN = Path(__file__).parents[1] / "golden"
EVIL = "<script>alert('x')</script> & \"quoted\" $a_1$ 漢字 \N{RIGHT-TO-LEFT OVERRIDE}"


def test_page_is_made_from_strict_json_alone(shop):
    data = shop.data
    page = render(data)
    again = json.loads(json.dumps(data, allow_nan=False))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "axes.grid": True}):
        assert render(again) == page
    check_page(page)
    text = Page(page).text
    for words in ("liked", "sessions.csv", "session", "3 rows without label left out", "‘yes’"):
        assert words in text


@pytest.mark.parametrize(
    ("k", "response"), [(1, "logistic"), (1, "hard"), (3, "probit"), (2, "hard")]
)
def test_every_kind_of_mixture_has_a_page(k, response):
    mixture, X, y = fitted(k, response=response)
    data = collect(mixture, X.astype(np.float32), y)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    page = render(data)
    check_page(page)
    text = Page(page).text
    assert ("single linear classifier" in text) == (k == 1)
    assert ("nothing to warn about" in text) == (data["cautions"] == [])
    assert ("odds" in text) == (response == "logistic")
    assert ("Brackets hold 95" in text) == (response != "hard")


@pytest.mark.parametrize("number", [1, 2])
def test_models_of_older_formats_have_a_page(number):
    model = load(GOLDEN / f"format-{number}.skops")
    X, y, _ = model.mixture.sample(300, random_state=0)
    data = collect(model.mixture, model.named(X), y, groups=np.arange(300) // 5)
    assert data["model"]["criterion"] == "bic"
    assert data["model"]["l2"] == 0.1
    assert not data["model"]["bic_counts_groups"]
    assert data["model"]["evidence_path"] == []
    assert data["model"]["doubt"] is data["model"]["log_evidence"] is None
    assert data["spread"]["kind"] is data["spread"]["score"] is None
    assert data["spread"]["evidence"] == []
    assert not {"better_maximum", "fewer_explain"} & {c["kind"] for c in data["cautions"]}
    page = render(data)
    check_page(page)
    text = Page(page).text
    assert "l2 = 0.1 on squared effects" in text
    assert "regression with the same penalty" in text


def test_many_features_with_long_names_stay_small(monkeypatch):
    names = [f"{'a very long name ' * 5}{j} <b>&" for j in range(200)]
    fast = {"n_init": 1, "init": "random", "subspace": None, "l2": 2.0, "tol": 1.0}
    mixture, X, y = fitted(2, n=1000, d=200, columns=names, **fast)
    monkeypatch.setattr(collector, "held_out", lambda _: {"reason": "It would take long."})
    assert mixture.n_components_ == 2
    page = render(collect(mixture, X, y))
    check_page(page)
    text = Page(page).text
    assert all(name in text for name in names)


def test_six_classifiers():
    X, y, truth = make_linear_classifier_mixture(
        1500, 8, 6, weights=np.full(6, 1 / 6), profile_norm=9.0, group_size=15, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(6, n_init=4, random_state=0)
        mixture.fit(X, y, groups=truth.groups)
    data = collect(mixture, X, y, groups=truth.groups)
    page = render(data)
    check_page(page)
    assert all(f"Classifier {c['name']}" in page for c in data["classifiers"])
    assert [c["name"] for c in data["classifiers"]] == list("ABCDEF")


def test_everything_of_the_user_is_escaped():
    columns = [f"{EVIL} {j}" for j in range(4)]
    labels = [f"no {EVIL}", f"yes {EVIL}"]
    mixture, X, y = fitted(2, columns=columns, labels=labels)
    table = pl.DataFrame({name: [f"{EVIL} {i}" for i in range(len(y))] for name in columns})
    about = {"label": EVIL, "files": EVIL, "notes": [EVIL], EVIL: EVIL}
    data = collect(mixture, X, y, table=table, about=about)
    page = render(data)
    check_page(page)
    text = Page(page).text
    assert text.count("<script>") > 20
    for name in (*columns, *labels):
        assert name in text
    assert not any("onload" in a for _, a in Page(page).tags)
    assert {tag for tag, _ in Page(page).tags} & {"script", "b", "img"} == set()
