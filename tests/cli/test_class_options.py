"""Membership covariates, shared coefficients, signs and known classes on the command line."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from spectralmirror import ChoiceMixture, LinearClassifierMixture, load
from spectralmirror.cli.class_options import signs_of
from tests.helpers.command_line import run

FEATURES, COVARIATES = ["price", "time", "size"], ["age", "town=south"]


@pytest.fixture(scope="module")
def ratings():
    """Ratings by 150 people, scattered; the class of one in ten is known, by its letter."""
    rng = np.random.default_rng(1)
    n = 150
    age, south = rng.normal(40, 12, n).round(), rng.uniform(size=n) < 0.4
    kind = (rng.uniform(size=n) < expit((age - 40) / 8 + south)).astype(int)
    who = rng.permutation(np.repeat(np.arange(n), 6))
    X = rng.normal(size=(len(who), 3)) + np.array([3.0, 0.0, 0.0])
    U = np.array([[-2.0, 1.5, 0.5], [-0.3, -1.5, 0.5]])
    score = ((X - [3.0, 0.0, 0.0]) * U[kind[who]]).sum(axis=1)
    letters = np.where(np.arange(n) % 10 == 0, np.array(["A", "B"])[kind], None)
    return pl.DataFrame(X, schema=FEATURES).with_columns(
        who=who, liked=rng.uniform(size=len(who)) < expit(score), age=age[who],
        town=np.where(south, "south", "north")[who], kind=pl.Series(letters[who].tolist()),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(ratings, tmp_path_factory):
    made = tmp_path_factory.mktemp("classes")
    ratings.write_csv(made / "ratings.csv")
    told = run("fit", made / "ratings.csv", *OPTIONS, "-o", made / "model.skops").stdout
    (made / "told.txt").write_text(told)
    return made


OPTIONS = (
    "--label", "liked", "--group", "who", "-k", 2, "--spread", "none", "--membership", "age,town",
    "--known", "kind", "--shared", "size", "--sign", "price=-1",
)  # fmt: skip


def in_python(ratings):
    Z = ratings.select("age", (pl.col("town") == "south").cast(float).alias("town=south"))
    known = ratings["kind"].replace_strict({"A": 0, "B": 1}, default=-1).to_numpy()
    mixture = LinearClassifierMixture(2, shared=["size"], signs={"price": -1}, random_state=0)
    return mixture.fit(
        ratings[FEATURES], ratings["liked"], groups=ratings["who"], membership=Z, known=known
    ), Z.to_numpy()


def test_files_are_fitted_as_arrays_are(ratings, folder, monkeypatch):
    model, (expected, _) = load(folder / "model.skops"), in_python(ratings)
    assert model.recipe.names == FEATURES
    assert model.membership.names == COVARIATES
    for name in ("coef_", "weights_", "membership_coef_", "membership_coef_standard_error_"):
        found = getattr(model.mixture, name)
        np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-6, err_msg=name)
    monkeypatch.setattr("spectralmirror.tables.fit_table.IN_MEMORY", 0)
    run("fit", folder / "ratings.csv", *OPTIONS, "-o", folder / "streamed.skops")
    streamed = load(folder / "streamed.skops").mixture
    np.testing.assert_allclose(streamed.membership_coef_, expected.membership_coef_, rtol=1e-4)


def test_what_is_told(folder):
    told = (folder / "told.txt").read_text()
    assert "The same coefficient for all classes: size." in told
    assert "Required in all classes: price not above 0." in told
    assert "Who belongs to B rather than A: log-odds per unit (95 % interval)" in told
    assert ", compared with north" in told
    shown = run("inspect", folder / "model.skops").stdout
    assert "membership town: south; compared with north" in shown
    assert "Who belongs to classifier B: log-odds against classifier A" in shown
    mixture = load(folder / "model.skops").mixture
    estimate, error = (
        getattr(mixture, f"membership_coef_{name}")[1, 0] for name in ("", "standard_error_")
    )
    assert f"{estimate:.4g}" in shown
    assert f"{error:.4g}" in shown
    plain = json.loads(run("inspect", folder / "model.skops", "--json").stdout)
    assert plain["shared"] == ["size"]
    assert plain["signs"] == {"price": -1}
    terms = plain["membership"]["classifiers"][0]["terms"]
    assert [term["term"] for term in terms] == ["(intercept)", *COVARIATES]


def test_predictions_use_the_covariates_of_the_file(ratings, folder, tmp_path):
    mixture, Z = in_python(ratings)
    X, y, who = ratings[FEATURES], ratings["liked"].to_numpy(), ratings["who"].to_numpy()
    model, data = folder / "model.skops", folder / "ratings.csv"
    run("predict", model, data, "-o", tmp_path / "p.parquet")
    found = pl.read_parquet(tmp_path / "p.parquet")["probability_True"]
    expected = mixture.predict_proba(X, membership=Z)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    run("cluster", model, data, "-o", tmp_path / "c.parquet")
    found = pl.read_parquet(tmp_path / "c.parquet")
    for groups, what in ((who, "group"), (None, "row")):
        expected = mixture.component_proba(X, y, groups=groups, membership=Z)[:, 1]
        np.testing.assert_allclose(
            found[f"{what}_probability_B"], expected, rtol=1e-5, atol=1e-10, err_msg=what
        )
    past = ratings.filter(pl.col("who") < 75)
    past.write_csv(tmp_path / "past.csv")
    run("predict", model, data, "--history", tmp_path / "past.csv", "-o", tmp_path / "h.parquet")
    found = pl.read_parquet(tmp_path / "h.parquet")["probability_True"].to_numpy()
    known = who < 75
    history = past[FEATURES], past["liked"].to_numpy(), past["who"].to_numpy()
    expected = mixture.predict_proba(X, groups=who, history=history, membership=Z)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    alone = pl.read_parquet(tmp_path / "p.parquet")["probability_True"].to_numpy()
    np.testing.assert_allclose(found[~known], alone[~known], rtol=1e-9)


def test_strangers_get_average_weights(ratings, folder, tmp_path):
    mixture, _ = in_python(ratings)
    ratings[FEATURES].write_csv(tmp_path / "new.csv")
    told = run("predict", folder / "model.skops", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert "Without age, town: the average weights of the classes are used." in told.stdout
    found = pl.read_csv(tmp_path / "p.csv")["probability_True"]
    np.testing.assert_allclose(found, mixture.predict_proba(ratings[FEATURES])[:, 1], rtol=1e-6)
    ratings[[*FEATURES, "age"]].write_csv(tmp_path / "new.csv")
    told = run("predict", folder / "model.skops", tmp_path / "new.csv", code=2)
    assert "lacks 'town', on which the weights of the classes depend" in told.output


def test_missing_covariates(ratings, folder, tmp_path):
    gaps = ratings.with_columns(age=pl.when(pl.col("who") < 15).then(None).otherwise(pl.col("age")))
    gaps.write_csv(tmp_path / "gaps.csv")
    fit = ("fit", tmp_path / "gaps.csv", *OPTIONS, "-o", tmp_path / "model.skops")
    told = run(*fit, code=2).output
    assert "Values are missing in some of 900 rows: 'age' 90. Impute them" in told
    assert "problems" not in told
    told = run(*fit, "--missing", "drop").output
    assert "90 of 900 rows were left out, as their values are missing." in told
    assert load(tmp_path / "model.skops").mixture.n_groups_ == 135
    told = run(*fit, "--missing", "impute").output
    assert "'age' 90. They were imputed." in told
    model = load(tmp_path / "model.skops")
    mean = ratings.filter(pl.col("who") >= 15)["age"].mean()
    assert model.membership.terms[0].mean == pytest.approx(mean)
    told = run("predict", folder / "model.skops", tmp_path / "gaps.csv", code=2).output
    assert "Values are missing in some of 900 rows: 'age' 90." in told


def test_all_shared(ratings, folder, tmp_path):
    run("fit", folder / "ratings.csv", *OPTIONS[:8], "--drop", "age,town,kind", "--shared", "all",
        "--l2", "1", "-o", tmp_path / "model.skops")  # fmt: skip
    coef = load(tmp_path / "model.skops").mixture.coef_
    np.testing.assert_allclose(coef[0], coef[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--membership", "agee"), "has no column 'agee'; did you mean 'age'?"),
        (("--known", "kin"), "has no column 'kin'; did you mean 'kind'?"),
        (("--known", "town", "--membership", "age"), "holds 'north': write A, B"),
        (("--shared", "sise"), "--shared names 'sise', which is no feature; did you mean 'size'?"),
        (("--sign", "prise=-1"), "--sign names 'prise', which is no feature; did you mean 'price'"),
        (("--sign", "price=-2"), "--sign says COLUMN=+1"),
        (("--sign", "price=+1,price=-1"), "says both +1 and -1 for 'price'"),
        (("--membership", "liked"), "cannot be in --membership and be the label"),
        (("--membership", "kind", "--known", "kind"), "in both --known and --membership"),
        (("--features", "price,kind", "--known", "kind"), "a feature and the known class"),
        (("--membership", "age,time"), "membership ('age', 'time') must be the same in all rows"),
        (("--known", "kind", "-k", "auto", "--spread", "full"), "need a number of classes"),
    ],
)
def test_bad_input(options, sentence, folder, tmp_path):
    base = ("--label", "liked", "--group", "who", "--missing", "impute")
    more = () if "-k" in options else ("-k", 2, "--spread", "none")
    given = (*base, *more, *options, "-o", tmp_path / "model.skops")
    told = run("fit", folder / "ratings.csv", *given, code=2).output
    assert sentence in " ".join(told.split())
    assert not (tmp_path / "model.skops").exists()


def test_choices_of_persons_with_covariates(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    n = 80
    age = rng.normal(40, 12, n).round()
    kind = (rng.uniform(size=n) < expit((age - 40) / 6)).astype(int)
    X = rng.normal(size=(n, 5, 3, 2))
    tastes = np.array([[-1.5, 0.3], [-0.2, 1.5]])[kind]
    best = (np.einsum("ptaj,pj->pta", X, tastes) + rng.gumbel(size=X.shape[:3])).argmax(axis=2)
    who = np.repeat(np.arange(n), 15)
    frame = pl.DataFrame(X.reshape(-1, 2), schema=["price", "time"]).with_columns(
        who=who, card=np.repeat(np.arange(5 * n), 3), age=age[who],
        chosen=(best[:, :, None] == np.arange(3)).ravel().astype(int),
    )  # fmt: skip
    frame.write_csv(tmp_path / "choices.csv")
    fit = (
        "fit", tmp_path / "choices.csv", "--choice-set", "card", "--chosen", "chosen", "-k", 2,
        "--group", "who", "--spread", "none", "--membership", "age", "--sign", "price=-1",
        "--l2", 1, "-o", tmp_path / "model.skops",
    )  # fmt: skip
    told = run(*fit).stdout
    assert "Who belongs to B rather than A" in told
    features, Z = frame[["price", "time"]], frame[["age"]]
    options = {"choices": frame["card"], "groups": frame["who"], "membership": Z}
    expected = ChoiceMixture(2, l2=1, signs={"price": -1}, random_state=0)
    expected.fit(features, frame["chosen"], **options)
    found = load(tmp_path / "model.skops").mixture
    np.testing.assert_allclose(found.membership_coef_, expected.membership_coef_, rtol=1e-5)
    run("predict", tmp_path / "model.skops", tmp_path / "choices.csv", "-o", tmp_path / "p.parquet")
    P = expected.predict_proba(features, choices=frame["card"], membership=Z)
    made = pl.read_parquet(tmp_path / "p.parquet")["probability"]
    np.testing.assert_allclose(made, P, rtol=1e-5)
    monkeypatch.setattr("spectralmirror.tables.fit_table.IN_MEMORY", 0)
    run(*fit)
    found = load(tmp_path / "model.skops").mixture
    np.testing.assert_allclose(found.membership_coef_, expected.membership_coef_, rtol=1e-4)


def test_signs():
    assert signs_of(["price=-1,time=+1", "colour=red=-"]) == {
        "price": -1, "time": 1, "colour=red": -1,
    }  # fmt: skip
    assert signs_of(None) == {}
