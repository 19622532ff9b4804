"""Fits to columns of files are those to arrays."""

from functools import partial

import numpy as np
import polars as pl
import pytest

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables import fit_table as module
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from tests.helpers.choices import survey


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 3))
    who = np.repeat(np.arange(150), 10)
    sign = np.where(who % 3 == 0, -1, 1)
    liked = rng.uniform(size=1_500) < 1 / (1 + np.exp(-3 * sign * X[:, 0]))
    return pl.DataFrame(X, schema=list("abc")).with_columns(who=who, liked=liked)


def fitted(frame, missing="error", **options):
    mixture = LinearClassifierMixture(2, random_state=0)
    roles = ColumnRoles("liked", "who", missing=missing)
    return fit_table(readers_of(frame.to_arrow()), roles, mixture, source="a frame", **options)


def test_the_fit_is_that_to_the_columns(frame):
    model = fitted(frame)
    X, y, groups = frame[list("abc")], frame["liked"].to_numpy(), frame["who"].to_numpy()
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.mixture.coef_, mixture.coef_)
    assert list(model.mixture.feature_names_in_) == ["a", "b", "c"]
    assert model.about == {"source": "a frame", "n_rows": 1_500, "missing": {}, "notes": []}


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_rows_beyond_memory_give_the_same_model_and_are_counted(frame, missing, monkeypatch):
    frame = frame.with_columns(
        a=pl.when(pl.int_range(1_500) % 50 != 7).then("a"),
        liked=pl.when(pl.int_range(1_500) % 100 != 3).then("liked"),
    )
    expected = fitted(frame, missing)
    passes = []
    monkeypatch.setattr(module, "IN_MEMORY", 0)
    model = fitted(frame, missing, listen=lambda stage, n, total: passes.append((stage, n, total)))
    np.testing.assert_allclose(model.mixture.coef_, expected.mixture.coef_, rtol=1e-6)
    assert model.about == expected.about
    assert model.about["n_rows"] == {"drop": 1_455, "impute": 1_485}[missing]
    told = " ".join(model.about["notes"])
    assert f"{1_500 - model.about['n_rows']} of 1,500 rows were left out" in told
    assert ("They were imputed" in told) == (missing == "impute")
    # the survey and the passes of the fit: no pass only counts rows
    n_read = sum(n for stage, n, _ in passes if stage == "reading")
    assert n_read == 1_500 * model.mixture.n_scans_


def test_choices_beyond_memory_give_the_same_model(monkeypatch):
    frame = survey(60)
    price = frame["price"].to_list()
    price[7] = None  # its set is left out
    frame = frame.with_columns(pl.Series("price", price))
    roles = ColumnRoles(
        "chosen", "who", missing="drop", choices=["case"], alternative="alt", constants=True
    )
    fit = partial(fit_table, readers_of(frame.to_arrow()), roles, source="a frame")
    expected = fit(ChoiceMixture(2, random_state=0))
    monkeypatch.setattr(module, "IN_MEMORY", 0)
    model = fit(ChoiceMixture(2, random_state=0))
    np.testing.assert_allclose(model.mixture.coef_, expected.mixture.coef_, rtol=1e-6)
    assert model.mixture.n_choices_ == expected.mixture.n_choices_ == frame["case"].n_unique() - 1
    assert model.about == expected.about
    assert model.about["n_rows"] == len(frame) - (frame["case"] == frame["case"][7]).sum()
