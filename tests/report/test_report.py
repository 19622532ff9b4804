"""The page says what the fit says, of any data, and to any browser."""

import json
import re
import warnings
from copy import deepcopy
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.report import collect, collector, render, write_report
from spectralmirror.report import held_out as held_out_module
from spectralmirror.report.effects import contrasts
from spectralmirror.report.examples import only_one_says_so
from spectralmirror.report.held_out import _halves, folds, sample
from spectralmirror.report.metrics import clustered_interval, share_interval
from spectralmirror.report.plain import plain, value_text
from spectralmirror.report.text.cautions import cautions
from spectralmirror.report.text.effects import contrast, effect
from spectralmirror.report.text.explanations import spectrum_words
from spectralmirror.report.text.facts import facts
from spectralmirror.report.text.finding import finding
from spectralmirror.report.text.words import count, factor, listing, number, percent, shortened

matplotlib.use("Agg")

COLUMNS = ["price", "age", "weight", "colour=red"]


def shop(n_groups=150, size=6):
    """Two kinds of customers, in sessions; one feature is a level."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), size)
    table = pl.DataFrame(
        {
            "price": rng.normal(30, 7, len(groups)),
            "age": rng.normal(4, 2, len(groups)),
            "weight": rng.normal(0, 1, len(groups)),
            "colour": rng.choice(["red", "blue"], len(groups)),
        }
    )
    X = table.with_columns((pl.col("colour") == "red").cast(float).alias("colour=red"))
    X = X.drop("colour")
    z = (X.to_numpy() - [30, 4, 0, 0]) / [7, 2, 1, 1]
    first = (rng.uniform(size=n_groups) < 0.6)[groups]
    t = np.where(first, z @ [2, -1, 0, 1.5], z @ [-2, 0, 1, -1])
    y = np.where(rng.uniform(size=len(t)) < expit(t), "yes", "no")
    return X, y, groups, table


ABOUT = {
    "files": "sessions.csv",
    "label": "liked",
    "group": "session",
    "notes": ["3 rows without label left out"],
    "references": {"colour=red": "blue"},
}


@pytest.fixture(scope="module")
def grouped():
    X, y, groups, table = shop()
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)
    return mixture, X, y, groups, collect(mixture, X, y, groups, table=table, about=ABOUT)


def fitted(k=2, n=900, d=4, columns=None, labels=None, **options):
    """Return a mixture without groups, its rows and labels."""
    response = options.get("response", "logistic")
    X, y, _ = make_linear_classifier_mixture(
        n, d, k, response=response, weights=np.full(k, 1 / k), profile_norm=5.0, random_state=1
    )
    X = X if columns is None else pd.DataFrame(X, columns=columns)
    y = y if labels is None else np.where(y > 0, labels[1], labels[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(k, random_state=0, **{"n_init": 8, **options}).fit(X, y)
    return mixture, X, y


class Page(HTMLParser):
    """Tags with their attributes, and all text outside of style."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._in_style = [], "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"

    def handle_endtag(self, tag):
        self._in_style = False

    def handle_data(self, data):
        self.text += "" if self._in_style else data


def check_page(page):
    """Ask for what must hold on any page."""
    assert page.startswith("<!DOCTYPE html>")
    assert len(page.encode()) < 2_000_000
    assert "http" not in page
    assert not re.search(r"\bsrc=|@import|<link|<script|<iframe|NaN|Infinity", page)
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?([^)]*)\)", page))
    tags = Page(page).tags
    targets = [a["href"] for _, a in tags if "href" in a]
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    used = {t[1:] for t in targets} | set(re.findall(r"url\(#([^)]*)\)", page))
    assert all(t.startswith("#") for t in targets)
    assert used <= set(ids)
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert (np.diff(levels) <= 1).all()
    pictures = [a for _, a in tags if a.get("role") == "img"]
    assert pictures
    assert all(a["aria-label"] for a in pictures)
    assert sum(tag == "svg" for tag, _ in tags) == len(pictures)


def test_page_is_made_from_strict_json_alone(grouped):
    data = grouped[-1]
    page = render(data)
    again = json.loads(json.dumps(data, allow_nan=False))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "axes.grid": True}):
        assert render(again) == page
    check_page(page)
    text = Page(page).text
    for words in ("liked", "sessions.csv", "session", "3 rows without label left out", "‘yes’"):
        assert words in text


def test_same_rows_give_the_same_data(grouped):
    mixture, X, y, groups, data = grouped
    colours = np.where(X["colour=red"] > 0, "red", "blue")
    table = X.drop("colour=red").with_columns(colour=colours)
    again = collect(mixture, X.to_pandas(), y.tolist(), groups.tolist(), table=table, about=ABOUT)
    assert again == data


def test_file_is_written_and_no_figure_left_open(grouped, tmp_path):
    import matplotlib.pyplot as plt

    mixture, X, y, groups, _ = grouped
    path = tmp_path / "new" / "page.html"
    data = write_report(mixture, X[:60], y[:60], path, groups[:60])
    page = path.read_text(encoding="utf-8")
    check_page(page)
    assert finding(data) in Page(page).text
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]
    assert not plt.get_fignums()


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
    assert ("nothing to warn of" in text) == (data["cautions"] == [])
    assert ("odds" in text) == (response == "logistic")
    assert ("Brackets hold 95" in text) == (response != "hard")


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
    data = collect(mixture, X, y, truth.groups)
    page = render(data)
    check_page(page)
    assert all(f"Classifier {c['name']}" in page for c in data["classifiers"])
    assert [c["name"] for c in data["classifiers"]] == list("ABCDEF")


EVIL = "<script>alert('x')</script> & \"quoted\" $a_1$ 漢字 \N{RIGHT-TO-LEFT OVERRIDE}"


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


# what is warned of ------------------------------------------------------------------------------


def change(data, path, value):
    changed = deepcopy(data)
    *folders, last = path.split("/")
    place = changed
    for folder in folders:
        place = place[int(folder) if folder.isdigit() else folder]
    place[last] = value
    return changed


def kinds(data):
    return [caution["kind"] for caution in cautions(data)]


@pytest.fixture(scope="module")
def calm(grouped):
    """Return data without anything to warn of."""
    data = grouped[-1]
    data = change(data, "features/gaussian", [True] * 4)
    assert kinds(data) == []
    return data


def test_another_number_of_classifiers_that_is_almost_as_good_is_told(calm):
    bic, calm = calm["model"]["bic"], change(calm, "model/asked", "auto")
    for more, told in ((6.0, ["close_k"]), (11.0, [])):
        path = [[1, bic + 500], [2, bic], [3, bic + more]]
        assert kinds(change(calm, "model/bic_path", path)) == told


@pytest.mark.parametrize(
    ("kind", "path", "bad", "good"),
    [
        ("few_rows", "model/n_parameters", 91, 90),
        ("rare_label", "labels/share_positive", 0.061, 0.062),
        ("few_groups", "rows/n_groups", 49, 50),
        ("not_converged", "model/converged", False, True),
        ("no_errors", "model/has_errors", False, True),
        ("no_errors", "model/log_likelihood", -0.01, -1.0),
        ("starts_disagree", "model/n_agreed", 2, 3),
        ("dropped", "model/asked", 3, "auto"),
        ("tiny_weight", "classifiers/1/weight", 0.049, 0.05),
        ("guessing", "assignments/groups/mean", 0.62, 0.75),
        ("non_gaussian", "features/gaussian", [False, True, True, True], [True, True, True, False]),
        ("disguised", "held_out/fresh/mixture/auc", 0.9999, 0.99),
    ],
)
def test_each_warning_appears_exactly_when_it_should(calm, kind, path, bad, good):
    calm = change(calm, "model/n_starts", 10)
    assert kinds(change(calm, path, bad)) == [kind]
    assert kinds(change(calm, path, good)) == []
    (caution,) = cautions(change(calm, path, bad))
    assert all(caution.values())


def test_no_better_needs_both_comparisons_to_fail(calm):
    new = change(calm, "held_out/fresh/verdict", "unclear")
    assert kinds(new) == []
    assert kinds(change(new, "held_out/history/verdict", "unclear")) == ["no_better"]
    alone = change(change(calm, "held_out/history", None), "held_out/fresh/verdict", "worse")
    assert kinds(alone) == ["no_better"]
    assert "better" in cautions(alone)[0]["title"]
    assert kinds(change(change(alone, "model/k", 1), "model/asked", 1)) == []


def test_hard_labels_need_no_errors(calm):
    hard = change(change(calm, "model/has_errors", False), "model/response", "hard")
    assert kinds(hard) == []


def test_one_start_is_no_agreement(calm):
    one = change(change(calm, "model/n_starts", 1), "model/n_agreed", 1)
    assert kinds(one) == ["starts_disagree"]
    both = change(change(calm, "model/n_starts", 2), "model/n_agreed", 2)
    assert kinds(both) == []


def test_warnings_of_a_real_fit():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.exponential(size=80), rng.normal(size=80), rng.integers(0, 3, 80)])
    y = rng.uniform(size=80) < expit(X[:, 0] - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(2, max_iter=1, n_init=1, random_state=0).fit(X, y)
    data = collect(mixture, X, y)
    assert {"few_rows", "not_converged", "no_errors", "non_gaussian"} <= set(kinds(data))
    assert data["features"]["gaussian"] == [False, True, False]
    page = render(data)
    check_page(page)
    assert [c["kind"] for c in data["cautions"]] == re.findall(r'data-kind="(\w+)"', page)
    text = Page(page).text
    assert all(c["advice"] in text for c in data["cautions"])


# what is said of the classifiers ----------------------------------------------------------------


def test_interval_of_a_contrast_is_that_of_the_delta_method():
    mixture, _, _ = fitted(3)
    k, d = mixture.coef_.shape
    for c in range(k):
        difference, error = contrasts(mixture, c)
        others = [m for m in range(k) if m != c]
        p = mixture.weights_[others] / mixture.weights_[others].sum()
        for j in range(d):
            gradient = np.zeros(k * (d + 1))
            gradient[c * (d + 1) + j] = 1
            for m, share in zip(others, p, strict=True):
                gradient[m * (d + 1) + j] = -share
            expected = mixture.coef_[c, j] - p @ mixture.coef_[others, j]
            np.testing.assert_allclose(difference[j], expected)
            variance = gradient @ mixture.covariance_ @ gradient
            np.testing.assert_allclose(error[j], np.sqrt(variance))


def test_contrasts_of_two_are_each_others_mirror(grouped):
    mixture, data = grouped[0], grouped[-1]
    first, second = (c["contrasts"] for c in data["classifiers"])
    assert [e["feature"] for e in first] == [e["feature"] for e in second]
    np.testing.assert_allclose([e["value"] for e in first], [-e["value"] for e in second])
    entry, j = first[0], COLUMNS.index(first[0]["feature"])
    np.testing.assert_allclose(entry["own"] - entry["others"], entry["value"], rtol=1e-5)
    step = entry["step"]
    np.testing.assert_allclose(entry["own"], mixture.coef_[0, j] * step, rtol=1e-5)
    assert " with the other, for each standard deviation" in contrast(entry, data)


def test_effects_are_those_of_the_summary(grouped):
    mixture, data = grouped[0], grouped[-1]
    summary = mixture.summary(as_frame=True)
    for c in data["classifiers"]:
        line = summary.loc[c["number"], "(weight)"]
        np.testing.assert_allclose(c["weight_interval"], [line.lower, line.upper], rtol=1e-5)
        sizes = np.abs(mixture.coef_[c["number"]] * mixture.feature_scale_)
        assert [e["feature"] for e in c["strongest"]] == [COLUMNS[j] for j in np.argsort(-sizes)]
        for entry in c["strongest"]:
            line = summary.loc[c["number"], entry["feature"]]
            interval = np.array([line.lower, line.upper]) * entry["step"]
            np.testing.assert_allclose(entry["interval"], interval, rtol=1e-4)
            assert entry["level"] == (entry["feature"] == "colour=red")


@pytest.mark.parametrize(
    ("response", "value", "interval", "step", "expected"),
    [
        ("logistic", 0.9, [0.7, 1.1], 7.2,
         "raises the odds of ‘yes’ 2.5-fold (2.0 to 3.0) for each standard deviation (7.2) more"),
        ("logistic", -0.9, [-1.1, -0.7], 7.2,
         "divides the odds of ‘yes’ by 2.5 (2.0 to 3.0) for each standard deviation (7.2) more"),
        ("logistic", 0.1, [-0.1, 0.3], 1.0,
         "has no clear effect on the odds of ‘yes’: times 1.11 (0.90 to 1.35) "
         "for each standard deviation (1) more"),
        ("logistic", 30, [2, 58], 1.0,
         "raises the odds of ‘yes’ more than 1,000-fold (7.4 to more than 1,000) "
         "for each standard deviation (1) more"),
        ("logistic", 0.9, None, 1.0,
         "raises the odds of ‘yes’ 2.5-fold for each standard deviation (1) more"),
        ("probit", -0.9, [-1.1, -0.7], 2.0,
         "moves the score towards ‘no’ by 0.9 (0.7 to 1.1) for each standard deviation (2) more"),
        ("hard", -0.62, None, 2.0,
         "pulls towards ‘no’ with 0.62 for each standard deviation (2) more"),
    ],
)  # fmt: skip
def test_effects_in_words(grouped, response, value, interval, step, expected):
    entry = {"value": value, "interval": interval, "step": step, "level": False, "reference": None}
    data = change(grouped[-1], "model/response", response)
    assert effect(entry, data).replace("\u00a0", " ") == expected
    level = effect({**entry, "level": True, "reference": "blue"}, data)
    assert level.endswith(" against ‘blue’")
    assert "standard deviation" not in level
    assert effect({**entry, "level": True}, data).endswith(" where it is 1 rather than 0")


def test_finding_says_whether_held_out_rows_support_it(grouped):
    data = grouped[-1]
    text = finding(data).replace("\u00a0", " ")
    assert text.startswith("The labels in ‘liked’ look as if they were made by 2 hidden class")
    assert f"Classifier A makes those of {100 * data['classifiers'][0]['weight']:.0f} % of" in text
    assert "known, it predicts better than a single classifier" in text
    unclear = change(data, "held_out/history/verdict", "unclear")
    assert "known, it does not clearly predict better" in finding(unclear)
    untested = finding({**data, "held_out": {"reason": "Few rows."}})
    assert untested.startswith("2 hidden classifiers were fitted to the labels in ‘liked’.")
    assert "could not be tested" in untested


@pytest.mark.parametrize("k", [2, 3])
def test_examples_are_labelled_so_by_one_classifier_alone(k):
    mixture, X, y = fitted(k)
    data = collect(mixture, X, y)
    says = expit(X @ mixture.coef_.T + mixture.intercept_)
    n_shown = 0
    for c in range(k):
        rows = data["classifiers"][c]["examples"]["rows"]
        n_shown += len(rows)
        others = np.delete(np.arange(k), c)
        alone = [i for i in range(len(y)) if ((says[i, c] > 0.5) != (says[i, others] > 0.5)).all()]
        if k == 2:  # both disagree about the same rows: each has its positive ones
            alone = [i for i in alone if says[i, c] > 0.5]
        certainty = np.maximum(says, 1 - says).min(axis=1)
        best = sorted(alone, key=lambda i: -certainty[i])[:3]
        assert [row["row"] for row in rows] == best
        for row in rows:
            assert row["label"] == str(y[row["row"]])
            np.testing.assert_allclose(row["own"], says[row["row"], c], rtol=1e-5)
            np.testing.assert_allclose(row["others"], says[row["row"], others], rtol=1e-5)
    assert n_shown > k


def test_examples_show_raw_columns_and_no_row_twice(grouped):
    X, data = grouped[1], grouped[-1]
    for c in data["classifiers"]:
        shown = c["examples"]
        assert set(shown["columns"]) == {"price", "age", "weight", "colour"}
        assert len({tuple(row["values"]) for row in shown["rows"]}) == len(shown["rows"]) == 3
        for row in shown["rows"]:
            values = dict(zip(shown["columns"], row["values"], strict=True))
            assert values["price"] == value_text(X["price"][row["row"]])
            assert values["colour"] == ("red" if X["colour=red"][row["row"]] else "blue")


def test_only_one_says_so_is_ordered_by_the_least_certain():
    says = np.array([[0.9, 0.2, 0.1], [0.6, 0.1, 0.1], [0.9, 0.8, 0.1], [0.2, 0.9, 0.95]])
    assert only_one_says_so(says, 0).tolist() == [0, 3, 1]
    assert only_one_says_so(says, 2).tolist() == [2]


# what is said of rows held out ------------------------------------------------------------------


def test_held_out_figures_are_those_of_an_independent_computation(grouped):
    _, X, y, groups, data = grouped
    X, positive = X.to_numpy(), y == "yes"
    rng = np.random.default_rng(int(check_random_state(0).randint(2**31)))
    fold = folds(groups, rng)
    single = make_pipeline(StandardScaler(), LogisticRegression(C=10.0, tol=1e-10))
    split = PredefinedSplit(fold)
    p = cross_val_predict(single, X, positive, cv=split, method="predict_proba")[:, 1]
    q = np.empty(len(y))
    for number_of_fold in range(5):
        held = fold == number_of_fold
        model = LinearClassifierMixture(2, random_state=3)
        model.fit(X[~held], y[~held], groups=groups[~held])
        q[held] = model.predict_proba(X[held])[:, 1]
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


def test_a_history_tells_who_makes_the_labels(grouped):
    data = grouped[-1]
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


def test_interval_is_that_of_regressions_with_clustered_errors():
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 30, 400)
    values = rng.normal(0.1, 1, 400) + rng.normal(size=30)[clusters]
    fit = sm.OLS(values, np.ones(400)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    np.testing.assert_allclose(clustered_interval(values, clusters), fit.conf_int()[0], rtol=1e-9)
    assert clustered_interval(values, np.zeros(400)) is None


def test_folds_and_samples_keep_groups_whole(monkeypatch):
    monkeypatch.setattr(held_out_module, "MOST_ROWS", 500)
    rng = np.random.default_rng(0)
    groups = np.sort(rng.integers(0, 200, 2000))
    chosen = sample(groups, rng)
    assert 450 < len(chosen) <= 500
    inside, outside = set(groups[chosen]), set(np.delete(groups, chosen))
    assert not inside & outside
    fold = folds(groups, rng)
    assert all(len(set(fold[groups == g])) == 1 for g in range(200))
    assert np.bincount(fold).min() > 300
    giants = np.repeat([0, 1, 2], [600, 300, 400])  # of few giant groups, as many rows of each
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


def test_intervals_of_shares_cover_them_also_in_groups():
    rng = np.random.default_rng(0)
    for size in (1, 20):
        groups, covered = np.repeat(np.arange(60), size), []
        for _ in range(400):
            share = rng.beta(1, 3, size=60) if size > 1 else np.full(60, 0.25)
            positive = rng.uniform(size=60 * size) < np.repeat(share, size)
            low, high = share_interval(positive, groups)
            covered.append(low <= 0.25 <= high)
        assert 0.92 < np.mean(covered) < 0.98  # 0.95, with an error of 0.011
    assert share_interval(np.ones(30, dtype=bool), np.arange(30))[0] == pytest.approx(
        0.878, abs=0.01
    )


def test_folds_that_cannot_be_fitted_are_told():
    mixture, X, y = fitted(1)
    few = np.flatnonzero(y > 0)[:1].tolist() + np.flatnonzero(y < 0)[:40].tolist()
    data = collect(mixture, X[few], y[few])
    (failure,) = data["held_out"]["failures"]
    assert "the same label" in failure
    groups = np.arange(41) % 4
    none = collect(mixture, X[few], y[few], groups)
    assert "fewer than 5 groups" in none["held_out"]["reason"]
    assert failure in Page(render(data)).text


def test_a_spectrum_that_cannot_be_had_is_explained():
    mixture, X, y = fitted(3, d=2)
    data = collect(mixture, X, y)
    assert data["spectrum"]["reason"]
    page = render(data)
    check_page(page)
    assert data["spectrum"]["reason"] in Page(page).text


def test_words_on_the_spectrum_name_the_figures_that_the_picture_shows(grouped):
    data = grouped[-1]
    weakest = data["spectrum"]["eigenvalues"]["eigenvalues"][1]
    edge = weakest / data["spectrum"]["separation"]
    words = " ".join(spectrum_words(data))
    assert f"an eigenvalue of {number(weakest, 2)}." in words
    assert f"below {number(edge, 2)} (in" in words
    assert number(edge, 2) != number(weakest, 2)
    assert ("is lost in the noise" in words) == (weakest < edge)
    no_noise = change(data, "spectrum/separation", 0.0)
    assert "Noise alone" not in " ".join(spectrum_words(no_noise))


def test_truth_values_in_examples_are_called_as_levels_are(grouped):
    mixture, X, y, groups, _ = grouped
    red = pl.DataFrame({"colour": X["colour=red"] > 0.5})
    data = collect(mixture, X, y, groups, table=red)
    for c in data["classifiers"]:
        column = c["examples"]["columns"].index("colour")
        values = {row["values"][column] for row in c["examples"]["rows"]}
        assert values <= {"true", "false"}
        assert values


def test_lost_signal_is_said_and_not_warned_of():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.uniform(size=300) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(2, n_init=4, random_state=0).fit(X, y)
    data = collect(mixture, X, y)
    assert data["spectrum"]["weak"]
    assert data["spectrum"]["weak"][0] in spectrum_words(data)
    assert "no_better" in kinds(data)


# what can be passed -----------------------------------------------------------------------------


def test_rows_are_counted_where_only_a_sample_is_looked_at(grouped):
    mixture, X, y, groups, data = grouped
    assert data["rows"]["fitted"] == data["rows"]["looked_at"] == 900
    some = collect(mixture, X[:600], y[:600], groups[:600])
    assert some["rows"]["fitted"] == 900
    assert some["rows"]["looked_at"] == 600
    assert ("Rows", "900\u00a0rows fitted; this page looked at 600 of them") in facts(some)
    told = collect(mixture, X[:600], y[:600], groups[:600], about={"n_rows": 123_456})
    assert told["rows"]["fitted"] == 123_456


def test_sparse_rows_are_dense_ones():
    mixture, X, y = fitted(1)
    assert collect(mixture, sparse.csr_matrix(X), y) == collect(mixture, X, y)


def test_bad_input_is_refused_in_a_sentence(grouped):
    mixture, X, y, groups, _ = grouped
    with pytest.raises(TypeError, match="about a fitted LinearClassifierMixture, got Logistic"):
        collect(LogisticRegression(), X, y)
    with pytest.raises(NotFittedError):
        collect(LinearClassifierMixture(), X, y)
    with pytest.raises(ValueError, match="X has 900 rows but y has 899"):
        collect(mixture, X, y[1:], groups)
    with pytest.raises(ValueError, match="The mixture was fitted with groups"):
        collect(mixture, X, y)
    with pytest.raises(ValueError, match="X has 900 rows but table has 10"):
        collect(mixture, X, y, groups, table=X[:10])
    with pytest.raises(ValueError, match="labels that were fitted"):
        collect(mixture, X, np.where(y == "yes", "maybe", "no"), groups)
    with pytest.raises(ValueError, match="one value for each of 900 rows"):
        collect(mixture, X, y, groups[1:])


# words ------------------------------------------------------------------------------------------


def test_numbers_are_written_as_people_write_them():
    values = [0, 6.0, 2.003, 0.1, -1234.5678, 12345.0, 0.00012345, 9.996, 1.5e-7, 3e20, None]
    expected = "0|6|2.00|0.1|−1,235|12,345|0.000123|10.0|1.50 × 10⁻⁷|3.00 × 10²⁰|unknown"
    assert "|".join(map(number, values)).replace("\u00a0", " ") == expected
    shares = [0, 1, 0.613, 0.004, 0.9996, 0.0002, 1e-7]
    expected = "0 %|100 %|61 %|0.4 %|99.96 %|0.02 %|less than 0.01 %"
    assert "|".join(map(percent, shares)).replace("\u00a0", " ") == expected
    assert factor(np.log(12.34), [np.log(8.84), np.log(150.2)]) == "12 (8.8 to 150)"
    assert count(1, "row") == "1\u00a0row"
    assert count(12000, "row") == "12,000\u00a0rows"
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert listing(list("abcd"), 2) == "a, b and 2 more"
    assert shortened("abcdefghijkl", 7) == "abcd…kl"


def test_anything_becomes_plain():
    value = {1: np.float32(0.5), "a": (np.nan, np.inf, np.int64(3)), "b": np.array([True, False])}
    assert plain(value) == {"1": 0.5, "a": [None, None, 3], "b": [True, False]}
    assert json.dumps(plain({"date": pd.Timestamp("2026-01-02"), "s": np.str_("x")}))
    texts = [value_text(v) for v in (1.0, 0.123456, True, None, float("nan"), "a\n b", "x" * 99)]
    assert [value_text(v) for v in (12345.6, 1000001.37, 2e6)] == [
        "12345.6",
        "1000001.37",
        "2000000",
    ]
    assert texts == ["1", "0.123456", "True", "missing", "missing", "a b", "x" * 79 + "…"]
