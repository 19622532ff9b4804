"""`spectralmirror cluster`: which classifier made which label."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from spectralmirror import load
from spectralmirror.metrics import component_error
from tests.helpers.command_line import encoded, run


def test_clusters_are_posteriors_of_rows_and_of_groups(people, fitted, tmp_path):
    frame, kind = people
    model = load(fitted / "model.skops")
    X, y, groups = model.named(encoded(frame, model)), frame["liked"].to_numpy(), frame["person"]
    run("cluster", fitted / "model.skops", fitted / "ratings.csv", "-o", tmp_path / "who.parquet")
    who = pl.read_parquet(tmp_path / "who.parquet")
    alone = model.mixture.component_proba(X, y)
    together = model.mixture.component_proba(X, y, groups=groups.to_numpy())
    np.testing.assert_allclose(who[["row_probability_A", "row_probability_B"]], alone, rtol=1e-9)
    np.testing.assert_allclose(
        who[["group_probability_A", "group_probability_B"]], together, rtol=1e-8, atol=1e-12
    )
    plug_in = model.mixture.component_proba(X, y, groups=groups.to_numpy(), averaged=False)
    assert np.abs(plug_in - together).max() > 1e-3  # both are averaged over the parameters
    assert who["group_classifier"].to_list() == ["AB"[j] for j in together.argmax(axis=1)]
    told = json.loads(
        run("cluster", fitted / "model.skops", fitted / "ratings.csv", "--by-group", "--json",
            "-o", tmp_path / "people.csv").stdout
    )  # fmt: skip
    assert told["n_groups"] == 200
    table = pl.read_csv(tmp_path / "people.csv").sort("person")
    assert table["n_rows"].to_list() == [10] * 200
    # ten labels each: two of three people are named with near certainty
    assert component_error(kind, (table["classifier"] == "B").to_numpy()) < 0.05


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_people_who_differ_are_judged_over_their_spread(different, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("spectralmirror.tables.known_rows.BLOCK_BYTES", 5_000)  # ratings are apart
    model, data = load(different / "model.skops"), different / f"past.{suffix}"
    frame = pl.read_parquet(different / "past.parquet")
    X, y, groups = frame[["taste", "price"]], frame["liked"].to_numpy(), frame["person"].to_numpy()
    together = model.mixture.component_proba(X, y, groups=groups)
    run("cluster", different / "model.skops", data, "-o", tmp_path / "who.parquet")
    who = pl.read_parquet(tmp_path / "who.parquet")
    alone = model.mixture.component_proba(X, y)
    np.testing.assert_allclose(who[["row_probability_A", "row_probability_B"]], alone, rtol=1e-9)
    found = who[["group_probability_A", "group_probability_B"]]
    np.testing.assert_allclose(found, together, rtol=1e-8, atol=1e-12)
    run("cluster", different / "model.skops", data, "--by-group", "-o", tmp_path / "people.csv")
    people = pl.read_csv(tmp_path / "people.csv").sort("person")
    assert people["n_rows"].to_list() == [12] * 60
    first = np.unique(groups, return_index=True)[1]
    np.testing.assert_allclose(people["probability_A"], together[first, 0], rtol=1e-8, atol=1e-12)
    # twelve labels each: the two kinds are far apart
    assert component_error(np.arange(60) % 3 == 0, people["classifier"] == "B") < 0.1


GROUPS = {
    "date": lambda g: g.cast(pl.Date),
    "nanoseconds": lambda g: (g * 10**9).cast(pl.Datetime("ns")),
    "duration": lambda g: g.cast(pl.Duration("us")),
    "beyond int64": lambda g: g.cast(pl.UInt64) + (2**63 + 5),
    "category": lambda g: g.cast(pl.String).cast(pl.Categorical),
    "float": lambda g: g * 0.5,
}


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_of_all_kinds_keep_their_values(tmp_path, kind):
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(40), 10)
    x = rng.normal(size=(400, 2))
    y = rng.uniform(size=400) < expit(4 * np.where(g % 2, -1, 1) * x[:, 0])
    groups = GROUPS[kind](pl.Series("g", g))
    data = tmp_path / "data.parquet"
    pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "g": groups, "y": y}).write_parquet(data)
    model, out = tmp_path / "model.skops", tmp_path / "out.parquet"
    spread = ("--spread", "intercept") if kind in ("date", "category") else ("--spread", "none")
    run("fit", data, "--label", "y", "--group", "g", "-k", 2, *spread, "-o", model)
    run("cluster", model, data, "--by-group", "-o", out)
    found = pl.read_parquet(out)
    assert list(map(str, found["g"].to_list())) == list(map(str, groups[::10].to_list()))
    assert component_error(np.arange(40) % 2, (found["classifier"] == "B").to_numpy()) < 0.1
    run("predict", model, data, "--history", data, "-o", out)
    assert pl.read_parquet(out)["g"].to_list() == groups.to_list()


def test_labels_mean_the_same_in_files_of_other_kinds(people, tmp_path):
    frame = people[0].select("taste", "price", liked=(pl.col("liked") == "yes").cast(int).cast(str))
    frame.write_parquet(tmp_path / "text.parquet")
    frame.write_csv(tmp_path / "numbers.csv")
    model, found = tmp_path / "m.skops", []
    run("fit", tmp_path / "text.parquet", "--label", "liked", "-k", 2, "-o", model)
    for name in ("text.parquet", "numbers.csv"):
        run("cluster", model, tmp_path / name, "-o", tmp_path / "out.parquet")
        found.append(pl.read_parquet(tmp_path / "out.parquet"))
    assert found[0].equals(found[1])
