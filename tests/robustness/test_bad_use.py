"""Fitted models that are used incorrectly: one table for each use."""

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from spectralmirror import LinearClassifierMixture, SpectralMirror, save, scan
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.plotting import plot_mirror, plot_profiles
from spectralmirror.report import write_report
from tests.helpers.refusals import assert_refused

X, Y, TRUTH = make_linear_classifier_mixture(
    300, 3, weights=[0.6, 0.4], profile_norm=6.0, group_size=6, random_state=0
)
FRAME = pl.DataFrame(X, schema=list("abc")).with_columns(y=pl.Series(Y))
GAPS = np.full((2, 3), np.nan)


@pytest.fixture(scope="module")
def models():
    return (
        LinearClassifierMixture(2, random_state=0).fit(X, Y, groups=TRUTH.groups),
        SpectralMirror(2, method="paper").fit(X, Y),
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.write_parquet("rows.parquet")
    yield
    assert [path.name for path in tmp_path.rglob("*")] == ["rows.parquet"]  # nothing was written


def source(**options):
    return scan("rows.parquet", **{"label": "y", **options})


def report(mixture, X, y, path="r.html"):
    write_report(mixture, X, y, path, groups=TRUTH.groups)


PREDICT = {
    "a row": (lambda m, _: m.predict(X[0]), "has one dimension.*reshape"),
    "other features": (lambda m, _: m.predict(X[:, :2]), "X has 2 features, but.*expecting 3"),
    "text": (lambda m, _: m.predict([["a", "b", "c"]]), "X must hold numbers, but column"),
    "infinity": (lambda m, _: m.predict(X[:1] * np.inf), "contains infinity in column 0"),
    "a scan": (lambda m, _: m.predict(source()), r"source.map_to\('out.parquet'"),
    "a path": (lambda m, _: m.predict("rows.parquet"), "X is a path"),
    "weights of another shape": (
        lambda m, _: m.predict_proba(X, component_weights=[1, 0, 0]),
        r"component_weights must have shape \(2,\) or \(300, 2\)",
    ),
    "weights that do not sum to 1": (
        lambda m, _: m.predict(X, component_weights=[1.0, 1.0]),
        "component_weights must be 0 or more and sum to 1",
    ),
    "text weights": (
        lambda m, _: m.predict(X, component_weights=["a", "b"]),
        "component_weights must hold numbers",
    ),
}
COMPONENTS = {
    "no label": (lambda m, _: m.component_proba(X, None), "y must hold one label for each"),
    "an unknown label": (
        lambda m, _: m.component_proba(X, np.where(Y > 0, 1, 7)),
        r"y holds 7 in row \d+, but the labels that were fitted are \[-1, 1\]",
    ),
    "groups of another length": (
        lambda m, _: m.predict_component(X, Y, groups=[1, 2]),
        "groups must hold one value for each of 300 rows",
    ),
}
SCORES = {
    "score_samples": (lambda m, _: m.score_samples(X, Y[:5]), "X has 300 rows but y has 5 labels"),
    "bic": (lambda m, _: m.bic(X, Y[:3]), "X has 300 rows but y has 3 labels"),
    "sample": (lambda m, _: m.sample(0), "n_samples must be a whole number of at least 1"),
    "summary": (lambda m, _: m.summary(level=2), "level must lie between 0 and 1, got 2"),
}
TRANSFORM = {
    "features": (lambda _, s: s.transform(X[:, :1]), "X has 1 features, but SpectralMi"),
    "NaN": (lambda _, s: s.transform(GAPS), "contains NaN in column 0: remove or impute"),
}
SAVE = {"a folder": (lambda m, _: save(m, "."), "is a folder: name the file to write")}
REPORT = {
    "no groups": (
        lambda m, _: write_report(m, X, Y, "r.html"),
        "fitted with groups: pass",
    ),
    "too few labels": (lambda m, _: report(m, X, Y[:3]), "X has 300 rows but y has"),
    "other labels": (lambda m, _: report(m, X, Y > 0), "y must hold the labels"),
    "features": (lambda m, _: report(m, X[:, :2], Y), "X has 2 features"),
    "NaN": (lambda m, _: report(m, X * np.nan, Y), "contains NaN in column"),
    "a folder": (lambda m, _: report(m, X, Y, "."), "is a folder: name the file"),
}
PLOT = {
    "labels": (lambda _, s: plot_mirror(s, X, Y * 2), "y must hold the labels that were fi"),
    "NaN": (lambda _, s: plot_mirror(s, X * np.nan, Y), "contains NaN in column 0"),
}
MAP_TO = {
    "a column": (
        lambda m, _: source().map_to("out.parquet", m.predict_proba, keep=["q"]),
        "rows.parquet has no column 'q' to keep",
    ),
    "features": (
        lambda m, _: source(features=["a"]).map_to("out.parquet", m.predict_proba),
        r"rows.parquet, rows 0 to 299: X has 1 features, but.*expecting 3 features as input",
    ),
}
TABLES = {
    "predict": PREDICT,
    "component_proba": COMPONENTS,
    "scores": SCORES,
    "transform": TRANSFORM,
    "save": SAVE,
    "write_report": REPORT,
    "plot": PLOT,
    "map_to": MAP_TO,
}
CASES = {f"{use}: {case}": row for use, table in TABLES.items() for case, row in table.items()}


@pytest.mark.parametrize(("call", "sentence"), CASES.values(), ids=CASES)
def test_one_clear_sentence(models, call, sentence):
    assert_refused(lambda: call(*models), sentence, (ValueError, OSError))


def test_models_of_another_kind(models):
    """A TypeError, as Python itself raises: no value of that kind would do."""
    _, mirror = models
    assert_refused(lambda: write_report(mirror, X, Y, "r.html"), "got SpectralMirror", TypeError)
    assert_refused(lambda: plot_profiles(mirror), "SpectralMirror", TypeError)


def test_models_must_be_fitted():
    mixture = LinearClassifierMixture()
    calls = [mixture.predict, mixture.predict_proba, mixture.decision_function]
    calls.append(SpectralMirror().transform)
    for call in calls:
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        mixture.summary()
    with pytest.raises(NotFittedError):
        mixture.component_proba(X, Y)
