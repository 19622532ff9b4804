"""`spectralmirror fit`: every kind of file, comparisons, missing values, what it prints."""

import gzip

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from spectralmirror import LinearClassifierMixture, load, pairwise_differences
from tests.helpers.command_line import encoded, run


def test_fit_is_the_fit_of_the_encoded_columns(people, fitted):
    model = load(fitted / "model.skops")
    X, y, groups = encoded(people[0], model), people[0]["liked"].to_numpy(), people[0]["person"]
    assert model.recipe.references == {
        "colour=green": "red", "colour=blue": "red", "smoker=true": "false"
    }  # fmt: skip
    plain = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups.to_numpy())
    # Newton steps end within 1e-6 standard errors
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-8, atol=1e-8)
    assert model.mixture.feature_names_in_.tolist() == model.recipe.names


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "csv.gz", "parquet", "arrow", "folder", "glob", "many"]
)
def test_all_kinds_of_files_give_the_same_model(people, fitted, tmp_path, kind):
    frame = people[0]
    source = [tmp_path / f"data.{kind}"]
    if kind in ("csv", "tsv"):
        frame.write_csv(source[0], separator="\t" if kind == "tsv" else ",")
    elif kind == "csv.gz":
        source[0].write_bytes(gzip.compress(frame.write_csv().encode()))
    elif kind == "parquet":
        frame.with_columns(pl.col("colour").cast(pl.Categorical)).write_parquet(source[0])
    elif kind == "arrow":
        frame.write_ipc(source[0])
    else:
        (tmp_path / "data").mkdir()
        parts = [tmp_path / "data" / f"{i}.parquet" for i in range(3)]
        for i, part in enumerate(parts):
            frame[700 * i : 700 * (i + 1)].write_parquet(part)
        source = {"folder": [tmp_path / "data"], "glob": [tmp_path / "data" / "*.parquet"],
                  "many": parts}[kind]  # fmt: skip
    model = tmp_path / "model.skops"
    run("fit", *source, "--label", "liked", "--group", "person", "-k", 2, "--spread", "none",
        "-o", model)  # fmt: skip
    expected, found = load(fitted / "model.skops"), load(model)
    np.testing.assert_allclose(found.mixture.coef_, expected.mixture.coef_, rtol=1e-8, atol=1e-8)
    assert found.recipe.names == expected.recipe.names
    assert found.recipe.references == expected.recipe.references
    means = [[term.mean for term in model.recipe.terms[:2]] for model in (found, expected)]
    np.testing.assert_allclose(*means, rtol=1e-12)


def test_rows_beyond_memory_give_the_same_model(people, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("spectralmirror.tables.fit_table.IN_MEMORY", 0)
    run("fit", fitted / "ratings.csv", "--label", "liked", "--group", "person", "-k", 2,
        "--spread", "none", "-o", tmp_path / "streamed.skops")  # fmt: skip
    streamed, expected = load(tmp_path / "streamed.skops"), load(fitted / "model.skops")
    assert streamed.mixture.n_scans_ > 3
    np.testing.assert_allclose(streamed.mixture.coef_, expected.mixture.coef_, rtol=1e-6)
    assert streamed.about["n_rows"] == 2_000


def test_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 1_500, 2))
    brands = rng.choice(["x", "y"], size=(2, 1_500))
    d = (A - B) @ [2.0, -1.0] + (brands[0] == "y") * 1.0 - (brands[1] == "y")
    won = rng.uniform(size=1_500) < expit(d)
    frame = pl.DataFrame(
        {"a_price": A[:, 0], "a_time": A[:, 1], "a_brand": brands[0], "b_time": B[:, 1],
         "b_price": B[:, 0], "b_brand": brands[1], "age": 7, "won": np.where(won, "A", "B")}
    )  # fmt: skip
    frame.write_csv(tmp_path / "pairs.csv")
    done = run("fit", tmp_path / "pairs.csv", "--pairs", "a_", "b_", "--winner", "won", "-k", 1,
               "-o", tmp_path / "m.skops")  # fmt: skip
    assert "left out: 'age'" in done.stdout
    model = load(tmp_path / "m.skops")
    level = model.recipe.terms[2].levels[1]
    sides = [np.column_stack([S, b == level]) for S, b in zip((A, B), brands, strict=True)]
    X, y = pairwise_differences(*sides, won)
    plain = LinearClassifierMixture(1, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    run("predict", tmp_path / "m.skops", tmp_path / "pairs.csv", "-o", tmp_path / "p.parquet")
    table = pl.read_parquet(tmp_path / "p.parquet")
    np.testing.assert_allclose(table["probability_a"], plain.predict_proba(X)[:, 1], rtol=1e-6)


@pytest.mark.parametrize("names", ["{}1 {}2 1 2", "{}_a {}_b a b", "{}.left {}.right left right"])
def test_sides_may_follow_the_names_of_columns(tmp_path, names):
    left, right, *words = names.split()
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(2, 400, 2))
    won = rng.uniform(size=400) < expit((A - B) @ [2.0, -1.0])
    columns = {side.format(name): x[:, j] for side, x in ((left, A), (right, B))
               for j, name in enumerate(("price", "time"))}  # fmt: skip
    winner = np.where(won, f"choice {words[0]}", f"choice {words[1]}")
    pl.DataFrame(columns).with_columns(choice=winner).write_csv(tmp_path / "pairs.csv")
    run("fit", tmp_path / "pairs.csv", "--pairs", *words, "--winner", "choice", "-k", 1,
        "--features", f"price,{left.format('time')}", "-o", tmp_path / "m.skops")  # fmt: skip
    model = load(tmp_path / "m.skops")
    plain = LinearClassifierMixture(1, fit_intercept=False).fit(A - B, won)
    assert model.recipe.names == ["price", "time"]
    np.testing.assert_allclose(model.mixture.coef_, plain.coef_, rtol=1e-7)
    shown = run("inspect", tmp_path / "m.skops").stdout
    assert f"comparisons: {left.format('x')} minus {right.format('x')}" in shown


def test_winners_are_judged_over_all_files(tmp_path):
    for i, winners in enumerate(([1, 2, 1, 2], [0, 1, 0, 1])):  # 0 might be a tie
        pl.DataFrame({"a_x": [1, 2, 3, 5], "b_x": [4, 3, 1, 1], "won": winners}).write_parquet(
            tmp_path / f"{i}.parquet"
        )
    done = run("fit", tmp_path, "--pairs", "a_", "b_", "--winner", "won",
               "-o", tmp_path / "m.skops", code=2)  # fmt: skip
    assert "got '0', '1', '2'" in done.output


def test_comparisons_leave_out_what_both_sides_share(tmp_path):
    rng = np.random.default_rng(0)
    x, age = rng.normal(size=(2, 200)), rng.integers(20, 60, size=200).astype(float)
    sex, brand = rng.choice(["f", "m"], size=200), rng.choice(["u", "v"], size=(2, 200))
    won = rng.uniform(size=200) < expit(2 * (x[0] - x[1]))
    pl.DataFrame(
        {"a_x": x[0], "b_x": x[1], "a_age": age, "b_age": age, "a_sex": sex, "b_sex": sex,
         "a_brand": brand[0], "b_brand": brand[1], "a_code": rng.integers(1, 4, 200),
         "b_code": rng.integers(1, 4, 200), "won": won}
    ).write_parquet(tmp_path / "pairs.parquet")  # fmt: skip
    arguments = ("fit", tmp_path / "pairs.parquet", "--pairs", "a_", "b_", "--winner", "won",
                 "-k", 1, "-o", tmp_path / "m.skops")  # fmt: skip
    told = run(*arguments, "--categorical", "a_code,b_code").stdout
    assert "'age' does not tell the sides apart" in told
    names = load(tmp_path / "m.skops").recipe.names
    assert [name.partition("=")[0] for name in names] == ["x", "brand", "code", "code"]
    run(*arguments, "--features", "a_x,brand")
    assert len(load(tmp_path / "m.skops").recipe.names) == 2


def test_rows_that_are_left_out_do_not_make_features(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=100),
            "c": ["only", *["u", "v", "w"] * 33],
            "flat": [7.0, *[3.0] * 99],
            "far": [1e6, *rng.normal(size=99)],
            "y": [None, *rng.choice([0, 1], size=99)],
        }
    )
    frame.write_parquet(tmp_path / "d.parquet")
    arguments = ("fit", tmp_path / "d.parquet", "--label", "y", "-k", 1, "-o", tmp_path / "m.skops")
    for missing in ("drop", "impute"):
        told = run(*arguments, "--missing", missing).stdout
        assert "'flat' holds the same value in all rows" in told
        recipe = load(tmp_path / "m.skops").recipe
        assert not [name for name in recipe.names if "only" in name or name == "flat"]
        assert abs(recipe.terms[2].mean) < 1
    gap = frame.with_columns(y=frame["y"].fill_null(1), x=pl.when(pl.int_range(100) > 0).then("x"))
    gap.write_parquet(tmp_path / "d.parquet")
    run(*arguments, "--missing", "drop")
    assert load(tmp_path / "m.skops").recipe.names == recipe.names


def test_options_become_parameters_of_the_mixture(people, fitted, tmp_path):
    defaults, mixture = LinearClassifierMixture(), load(fitted / "model.skops").mixture
    for name in ("l2", "criterion", "n_init", "max_iter", "response"):
        assert getattr(mixture, name) == getattr(defaults, name), name
    people[0].write_csv(tmp_path / "ratings.csv")
    run("fit", tmp_path / "ratings.csv", "--label", "liked", "--drop", "person", "--l2", 0.5,
        "--criterion", "bic", "--starts", 7, "-o", tmp_path / "m.skops")  # fmt: skip
    mixture = load(tmp_path / "m.skops").mixture
    options = mixture.l2, mixture.criterion, mixture.n_init, mixture.n_components
    assert options == (0.5, "bic", 7, "auto")
    run("fit", tmp_path / "ratings.csv", "--label", "liked", "--drop", "person", "--l2", 0,
        "-k", 1, "-o", tmp_path / "m.skops")  # fmt: skip
    assert load(tmp_path / "m.skops").mixture.l2 == 0


SPREADS = {
    "--group person": "auto",
    "--group person --spread auto": "auto",
    "--group person --spread none": None,
    "--group person --spread intercept": "intercept",
    "--group person --spread full --no-intercept": "full",
    "--group person --response hard": None,
    "--drop person": None,
    "--drop person --spread auto": None,
    "--drop person --spread none": None,
}


@pytest.mark.parametrize("options", SPREADS)
def test_people_may_differ_if_there_are_groups(different, tmp_path, monkeypatch, options):
    def given(readers, roles, mixture, **_):
        raise ValueError(f"spread={mixture.spread}")

    monkeypatch.setattr("spectralmirror.tables.fit_table.fit_table", given)
    fit = ("fit", different / "past.csv", "--label", "liked", "-o", tmp_path / "m.skops")
    done = run(*fit, *options.split(), code=2)
    assert done.output == f"spread={SPREADS[options]}\n"


@pytest.mark.filterwarnings("ignore::spectralmirror.mixture.estimator.MixtureWarning")
def test_the_spread_is_that_of_the_mixture(different):
    frame = pl.read_csv(different / "past.csv")
    X, y, who = frame[["taste", "price"]], frame["liked"].to_numpy(), frame["person"].to_numpy()
    plain = LinearClassifierMixture(2, spread="diagonal", random_state=0).fit(X, y, groups=who)
    found = load(different / "model.skops").mixture
    assert found.spread_kind_ == "diagonal"
    # Newton steps end within 0.1 % of a standard error
    np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-3)
    np.testing.assert_allclose(found.spread_deviation_, plain.spread_deviation_, rtol=1e-3)


def test_a_spread_is_chosen_from_the_data(different, tmp_path):
    arguments = ("--label", "liked", "--group", "person", "-k", 2, "-o", tmp_path / "m.skops")
    done = run("fit", different / "past.parquet", *arguments)
    mixture = load(tmp_path / "m.skops").mixture
    assert mixture.spread_kind_ in ("diagonal", "factor", "full")
    assert {"none", "intercept", "diagonal"} <= set(mixture.spread_evidence_)
    assert f"differ: spread {mixture.spread_kind_}, chosen from the data" in done.stdout


def test_the_positive_label_can_be_named(people, fitted, tmp_path):
    """Exchanged labels change the signs of coefficients, and nothing else."""
    fit = ("fit", fitted / "ratings.csv", "--label", "liked", "--drop", "person", "-k", 1)
    done = {word: run(*fit, "--positive", word, "-o", tmp_path / f"{word}.skops").stdout
            for word in ("no", "YES")}  # fmt: skip
    no, yes = (load(tmp_path / f"{word}.skops") for word in ("no", "YES"))
    assert "behind 'liked' ('yes' or 'no')" in done["no"]
    assert "Log-odds of liked = 'no'" in done["no"]
    assert (no.labels.tolist(), yes.labels.tolist()) == (["yes", "no"], ["no", "yes"])
    np.testing.assert_allclose(no.mixture.coef_, -yes.mixture.coef_, rtol=1e-6)
    shown = run("inspect", tmp_path / "no.skops").stdout
    assert "label 'liked': 'no' counts as +1, 'yes' as -1" in shown
    assert "P(y = 'no'), against 'yes'" in shown
    tables = []
    for word in ("no", "YES"):
        out = tmp_path / f"{word}.parquet"
        run("predict", tmp_path / f"{word}.skops", fitted / "ratings.csv", "-o", out)
        run("cluster", tmp_path / f"{word}.skops", fitted / "ratings.csv", "-o", tmp_path / "c.csv")
        tables.append(pl.read_parquet(out))
    assert tables[0]["prediction"].equals(tables[1]["prediction"])
    for name in ("probability_no", "probability_yes"):
        np.testing.assert_allclose(tables[0][name], tables[1][name], rtol=1e-6)
    page = tmp_path / "report.html"
    run("report", tmp_path / "no.skops", fitted / "ratings.csv", "-o", page)
    assert "‘no’ counts as +1" in " ".join(page.read_text().split())
    maybe = people[0][:20].with_columns(liked=pl.lit("maybe"))
    maybe.write_csv(tmp_path / "maybe.csv")
    sentence = run("cluster", tmp_path / "no.skops", tmp_path / "maybe.csv", code=2).output
    assert "The label must be 'yes' or 'no', as in the fit, got 'maybe'." in sentence
