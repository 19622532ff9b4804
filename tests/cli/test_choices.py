"""Choices among several alternatives on the command line: from a file to the classes."""

import json

import numpy as np
import polars as pl
import pytest

from spectralmirror import ChoiceMixture, load
from tests.helpers.choices import NAMES, arrays, survey, widened
from tests.helpers.command_line import run

LONG = ["--choice-set", "case", "--alternative", "alt", "--chosen", "chosen", "--group", "who"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices")
    frame = survey()
    frame.write_csv(folder / "survey.csv")
    done = run("fit", folder / "survey.csv", *LONG, "-k", 2, "--spread", "none",
               "-o", folder / "model.skops")  # fmt: skip
    (folder / "printed.txt").write_text(done.stdout)
    return folder


def test_the_fit_is_that_in_python(folder):
    model = load(folder / "model.skops")
    X, chosen, case, who = arrays(survey())
    mixture = ChoiceMixture(2, random_state=0).fit(X, chosen, choices=case, groups=who)
    np.testing.assert_allclose(model.mixture.coef_, mixture.coef_, rtol=1e-6)
    assert model.recipe.names == NAMES
    assert model.mixture.n_choices_ == len(np.unique(case))
    assert model.about["notes"] == [
        "A column that is the same for all alternatives of each set, so that no choice depends on "
        "it, was left out: 'income'."
    ]


def test_what_fit_and_inspect_print(folder):
    printed = (folder / "printed.txt").read_text()
    assert "2 hidden classes behind" in printed
    assert "choices of 80 persons ('who') among" in printed
    assert "Class A: " in printed
    assert "% of the persons." in printed
    assert "Log-odds of being chosen, per unit of a feature" in printed
    shown = run("inspect", folder / "model.skops").stdout
    assert "choice set 'case': chosen where 'chosen' is 1\nalternative 'alt'\nperson 'who'" in shown
    assert "Mixture of 2 conditional logits" in shown
    assert "effects on the log-odds of being chosen" in shown
    assert "label" not in shown
    data = run("inspect", folder / "model.skops", "--json").stdout
    assert '"choice_set": [\n    "case"\n  ]' in data


def test_constants_come_from_the_names_of_alternatives(folder, tmp_path):
    run("fit", folder / "survey.csv", *LONG, "-k", 1, "--constants", "--spread", "none",
        "-o", tmp_path / "m.skops")  # fmt: skip
    model = load(tmp_path / "m.skops")
    frame = survey()
    assert model.recipe.references == {f"alt={name}": "a" for name in "bcd"}  # "a" is always there
    assert model.recipe.names[3:] == NAMES
    X, chosen, case, who = arrays(frame)
    own = [(frame["alt"] == name[4:]).to_numpy() for name in model.recipe.names[:3]]
    own = np.column_stack(own)
    mixture = ChoiceMixture(1, random_state=0)
    mixture.fit(np.column_stack([own, X]), chosen, choices=case, groups=who)
    np.testing.assert_allclose(model.mixture.coef_, mixture.coef_, rtol=1e-6)


def test_sets_in_which_values_are_missing_are_left_out_whole(folder, tmp_path):
    frame = survey()
    price = np.where(frame["case"].to_numpy() % 50 == 3, np.nan, frame["price"])
    first = np.append(True, np.diff(frame["case"].to_numpy()) != 0)
    holes = frame.with_columns(
        price=pl.Series(np.where(first, price, frame["price"])).fill_nan(None)
    )
    holes.write_csv(tmp_path / "holes.csv")
    refused = run("fit", tmp_path / "holes.csv", *LONG, "-o", tmp_path / "m.skops", code=2)
    assert "Values are missing" in refused.stderr
    run("fit", tmp_path / "holes.csv", *LONG, "-k", 2, "--spread", "none", "--missing", "drop",
        "-o", tmp_path / "m.skops")  # fmt: skip
    model = load(tmp_path / "m.skops")
    X, chosen, case, who = arrays(frame.filter(pl.col("case") % 50 != 3))
    mixture = ChoiceMixture(2, random_state=0).fit(X, chosen, choices=case, groups=who)
    np.testing.assert_allclose(model.mixture.coef_, mixture.coef_, rtol=1e-5)
    assert model.about["n_rows"] == len(X)
    done = run("predict", tmp_path / "m.skops", tmp_path / "holes.csv", "-o", tmp_path / "p.csv")
    assert f", and {len(frame) - len(X)} rows without an answer" in done.stdout
    one = frame.filter(pl.col("case") == frame["case"][0])
    one.write_csv(tmp_path / "one.csv")
    done = run("predict", tmp_path / "m.skops", tmp_path / "one.csv", "-o", tmp_path / "p.csv")
    assert f"{len(one)} rows of 1 choice: " in done.stdout


def read(path):
    return pl.read_csv(path)


def test_predictions_are_those_in_python(folder, tmp_path):
    model, frame = load(folder / "model.skops"), survey()
    X, _, case, _ = arrays(frame)
    done = run("predict", folder / "model.skops", folder / "survey.csv", "-o", tmp_path / "p.csv")
    found = read(tmp_path / "p.csv")
    assert found.columns == ["who", "case", "alt", "prediction", "probability"]
    X = model.named(X)
    np.testing.assert_allclose(found["probability"], model.mixture.predict_proba(X, choices=case))
    predicted = model.mixture.predict(X, choices=case)
    np.testing.assert_array_equal(found["prediction"].to_numpy() == 1, predicted)
    shares = model.mixture.shares(X, choices=case, alternatives=frame["alt"].to_numpy())
    printed = done.stdout.splitlines()
    assert printed[0].startswith(f"{len(frame):,} rows of {len(np.unique(case)):,} choices")
    assert printed[1].split() == ["shares", "overall", "class", "A", "class", "B"]
    for line, name, overall, by_class in zip(
        printed[2:], shares.alternatives, shares.overall, shares.by_class.T, strict=True
    ):
        assert line.split() == [name, *(f"{share:.1%}" for share in (overall, *by_class))]


def test_what_if_needs_no_labels(folder, tmp_path):
    frame = (
        survey().drop("chosen", "who").with_columns(price=pl.col("price") - (pl.col("alt") == "b"))
    )
    frame.write_csv(tmp_path / "cheaper.csv")
    data = [
        json.loads(
            run("predict", folder / "model.skops", path, "-o", tmp_path / "p.csv", "--json").stdout
        )
        for path in (folder / "survey.csv", tmp_path / "cheaper.csv")
    ]
    before, after = (one["shares"]["b"]["B"] for one in data)
    model = load(folder / "model.skops")
    assert np.sign(after - before) == -np.sign(model.mixture.coef_[1, 0])


def test_a_history_is_used(folder, tmp_path):
    frame = survey()
    past = frame.filter(pl.col("case") % 8 < 6)
    later = frame.filter((pl.col("case") % 8 >= 6) | (pl.col("who") == 3))
    later = later.with_columns(who=pl.when(pl.col("who") == 3).then(999).otherwise("who"))
    past.write_csv(tmp_path / "past.csv")
    later.write_csv(tmp_path / "later.csv")
    done = run("predict", folder / "model.skops", tmp_path / "later.csv", "--history",
               tmp_path / "past.csv", "-o", tmp_path / "p.csv")  # fmt: skip
    n_new = int((later["who"] == 999).sum())
    assert f"{n_new:,} rows belong to groups without a history" in done.stdout
    assert "Shares are those of strangers" in done.stdout
    model = load(folder / "model.skops")
    X, chosen, case, who = arrays(past)
    asked, _, cases, persons = arrays(later)
    expected = model.mixture.predict_proba(
        model.named(asked),
        choices=cases,
        groups=persons,
        history=(model.named(X), chosen, case, who),
    )
    np.testing.assert_allclose(read(tmp_path / "p.csv")["probability"], expected, rtol=1e-6)


def test_classes_of_persons(folder, tmp_path):
    model = load(folder / "model.skops")
    X, chosen, case, who = arrays(survey())
    expected = model.mixture.component_proba(model.named(X), chosen, choices=case, groups=who)
    run("cluster", folder / "model.skops", folder / "survey.csv", "-o", tmp_path / "c.csv")
    found = read(tmp_path / "c.csv")
    assert found.columns == ["who", "case", "alt", "class", "probability_A", "probability_B"]
    np.testing.assert_allclose(found[["probability_A", "probability_B"]], expected, rtol=1e-6)
    done = run("cluster", folder / "model.skops", folder / "survey.csv", "--by-group",
               "-o", tmp_path / "c.csv")  # fmt: skip
    assert done.stdout.startswith("80 persons of ")
    found = read(tmp_path / "c.csv")
    assert found.columns == ["who", "n_choices", "class", "probability_A", "probability_B"]
    first = np.unique(who, return_index=True)[1]
    np.testing.assert_allclose(found["probability_A"], expected[first, 0], rtol=1e-6)
    sizes = np.bincount(who[np.unique(case, return_index=True)[1]])
    np.testing.assert_array_equal(found["n_choices"], sizes)


def test_without_persons_each_choice_is_judged_alone(folder, tmp_path):
    run(
        "fit",
        folder / "survey.csv",
        *LONG[:-2],
        "--drop",
        "who",
        "-k",
        2,
        "-o",
        tmp_path / "m.skops",
    )
    model = load(tmp_path / "m.skops")
    X, chosen, case, _ = arrays(survey())
    run("cluster", tmp_path / "m.skops", folder / "survey.csv", "-o", tmp_path / "c.csv")
    expected = model.mixture.component_proba(model.named(X), chosen, choices=case)
    np.testing.assert_allclose(read(tmp_path / "c.csv")["probability_A"], expected[:, 0], rtol=1e-6)


def test_labels_of_a_set_are_checked_when_classes_are_asked_for(folder, tmp_path):
    frame = survey()
    frame.with_columns(chosen=pl.lit(0)).write_csv(tmp_path / "none.csv")
    done = run("cluster", folder / "model.skops", tmp_path / "none.csv", code=2)
    assert "Set 100 of 'case' (row 0 of" in done.stderr
    assert "has no chosen row" in done.stderr


BAD = [
    (["--chosen", "chosen"], "--chosen needs --choice-set COLUMN"),
    (["--choice-set", "case"], "Which column says which alternative was chosen?"),
    (["--choice-set", "case", "--chosen", "chosen", "--label", "alt"], "leave --label out"),
    ([*LONG, "--pairs", "a", "b"], "--pairs and --winner belong to comparisons"),
    ([*LONG[:2], *LONG[4:], "--constants"], "--constants needs the names of the alternatives"),
    ([*LONG, "--response", "probit"], "--response probit is for binary labels"),
    ([*LONG, "--intercept"], "Choices have no intercept, but --constants gives"),
    ([*LONG, "--spread", "intercept"], "--spread intercept is for binary labels"),
    ([*LONG, "--choice-set", "cas"], "did you mean 'case'?"),
    (["--choice-set", "case", "--chosen", "case"], "cannot be the label and describe choice sets"),
    (["--choice-set", "case", "--chosen", "alt"], "has 4 different values"),
    (["--wide", "--choice-set", "case", "--chosen", "alt"], "--wide has one line for each choice"),
    (["--wide"], "Which column says which alternative was chosen?"),
    (["--wide", "--chosen", "alt"], "do not occur before or after the names of columns"),
    (["--wide", "--chosen", "choise"], "has no column 'choise'"),
    ([*LONG, "--outside", "none"], "--outside and --available belong to --wide"),
    (["--choice-set", "income", "--chosen", "chosen"], "of 'income' begins in row 0 of"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[s for _, s in BAD])
def test_bad_options(folder, tmp_path, options, sentence):
    done = run("fit", folder / "survey.csv", *options, "-o", tmp_path / "m.skops", code=2)
    assert sentence in " ".join(done.stderr.split())
    assert not (tmp_path / "m.skops").exists()


def test_wide_form_is_fitted_as_the_long_form(folder, tmp_path):
    frame = survey()
    widened(frame).write_csv(tmp_path / "wide.csv")
    done = run("fit", tmp_path / "wide.csv", "--wide", "--chosen", "choice", "--group", "who",
               "-k", 2, "--spread", "none", "-o", tmp_path / "wide.skops")  # fmt: skip
    assert "2 hidden classes behind" in done.stdout
    model, long = load(tmp_path / "wide.skops"), load(folder / "model.skops")
    assert model.recipe.names == NAMES
    np.testing.assert_allclose(model.mixture.coef_, long.mixture.coef_, rtol=1e-6)
    shown = run("inspect", tmp_path / "wide.skops").stdout
    assert "one line for each choice; 'choice' names the chosen alternative" in shown
    assert "alternative 'b': columns such as x_b" in shown
    new = widened(frame).drop("choice")  # what was chosen is not needed
    new.write_csv(tmp_path / "new.csv")
    done = run("predict", tmp_path / "wide.skops", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    found = read(tmp_path / "p.csv")
    assert found.columns == ["who", "(choice set)", "alternative", "prediction", "probability"]
    X, _, case, _ = arrays(frame)
    expected = long.mixture.predict_proba(long.named(X), choices=case)
    np.testing.assert_allclose(found["probability"], expected, rtol=1e-6)
    new.rename({"price_b": "prise_b"}).write_csv(tmp_path / "bad.csv")  # which is not 0 for b
    done = run("predict", tmp_path / "wide.skops", tmp_path / "bad.csv", code=2)
    assert "bad.csv has no column 'price_b'; did you mean 'prise_b'" in " ".join(
        done.stderr.split()
    )
    done = run("predict", tmp_path / "wide.skops", folder / "survey.csv", code=2)
    assert "has no column 'price_a'; did you mean 'price'?" in " ".join(done.stderr.split())
    run("cluster", tmp_path / "wide.skops", tmp_path / "wide.csv", "--by-group",
        "-o", tmp_path / "c.csv")  # fmt: skip
    assert len(read(tmp_path / "c.csv")) == 80


def test_constants_and_outside_options_in_wide_form(tmp_path):
    frame = widened(survey(60, sizes=False))
    choice = frame["choice"].to_list()
    frame = frame.with_columns(
        choice=pl.Series(["nothing" if i % 5 == 0 else one for i, one in enumerate(choice)])
    )
    frame.write_csv(tmp_path / "wide.csv")
    command = ["fit", tmp_path / "wide.csv", "--wide", "--chosen", "choice", "--group", "who"]
    refused = run(*command, "-o", tmp_path / "m.skops", code=2)
    assert "with --outside" in refused.stderr
    refused = run(*command, "--outside", "none", "-o", tmp_path / "m.skops", code=2)
    assert "'choice' never holds 'none', the value of --outside" in " ".join(refused.stderr.split())
    run(*command, "--outside", "nothing", "--constants", "-k", 1, "--spread", "none",
        "-o", tmp_path / "m.skops")  # fmt: skip
    model = load(tmp_path / "m.skops")
    assert model.recipe.names[:4] == [f"alternative={one}" for one in ("b", "c", "d", "nothing")]
    done = run("predict", tmp_path / "m.skops", tmp_path / "wide.csv", "-o", tmp_path / "p.csv")
    # with a constant of its own, each share is about the observed one
    line = next(line.split() for line in done.stdout.splitlines() if "nothing" in line)
    assert float(line[1].strip("%")) == pytest.approx(20, abs=0.5)


def test_membership_may_be_the_same_in_a_set(folder, tmp_path):
    run("fit", folder / "survey.csv", *LONG, "-k", 2, "--spread", "none", "--membership", "income",
        "-o", tmp_path / "m.skops")  # fmt: skip
    model, frame = load(tmp_path / "m.skops"), survey()
    X, chosen, case, who = arrays(frame)
    mixture = ChoiceMixture(2, random_state=0)
    income = frame["income"].to_numpy()
    mixture.fit(X, chosen, choices=case, groups=who, membership=income)
    np.testing.assert_allclose(model.mixture.coef_, mixture.coef_, rtol=1e-5)
    np.testing.assert_allclose(
        model.mixture.membership_coef_, mixture.membership_coef_, rtol=1e-4, atol=1e-6
    )


FILES = [
    ({"chosen": (5, 1), "again": (4, 1)}, "Set 101 of 'case' (row 4 of", "has 2 chosen rows"),
    ({"case": (7, 99)}, "Set 99 of 'case' (row 7 of", "has a single alternative"),
    ({"who": (2, 7)}, "Column 'who' changes inside set 100 of 'case' (row 0 of", "one person"),
    ({"price": (9, None)}, "Values are missing in some of 640 rows: 'price' 1", "--missing drop"),
    ({"chosen": (slice(None), 0)}, "Column 'chosen' is 0 in all rows", "needs two values"),
    ({"case": (3, None)}, "'case' is missing in row 3 of", "every row belongs to a choice set"),
]


@pytest.mark.parametrize(("changes", "first", "second"), FILES, ids=[one[1] for one in FILES])
def test_bad_files(tmp_path, changes, first, second):
    frame = survey(20, sizes=False)
    for name, (row, value) in changes.items():
        column = "chosen" if name == "again" else name
        values = frame[column].to_list()
        values[row] = [value] * len(values) if isinstance(row, slice) else value
        if name == "chosen" and not isinstance(row, slice):
            values[4:8] = [0, 1, 0, 0]
        frame = frame.with_columns(pl.Series(column, values))
    frame.write_csv(tmp_path / "bad.csv")
    done = run("fit", tmp_path / "bad.csv", *LONG, "-o", tmp_path / "m.skops", code=2)
    printed = " ".join(done.stderr.split())
    assert first in printed
    assert second in printed
    assert printed.count(". ") <= 2  # a sentence, or two with what to do
    assert not (tmp_path / "m.skops").exists()


def test_a_set_that_comes_again_far_below(tmp_path):
    frame = survey(20, sizes=False)
    task = frame.with_columns(case=pl.col("case") % 8)
    task.write_csv(tmp_path / "tasks.csv")
    done = run("fit", tmp_path / "tasks.csv", *LONG, "-o", tmp_path / "m.skops", code=2)
    told = " ".join(done.stderr.split())
    assert "Set 4 of 'case' begins in row 0 of" in told
    assert "and comes again in row 32 of" in told
    assert "name both columns: --choice-set who,case" in told
    both = ["--choice-set", "who,case", *LONG[2:]]
    run("fit", tmp_path / "tasks.csv", *both, "-k", 1, "--spread", "none",
        "-o", tmp_path / "m.skops")  # fmt: skip
    assert load(tmp_path / "m.skops").mixture.n_choices_ == 160


def test_the_report_of_a_survey(folder, tmp_path):
    frame = survey(40)
    frame.rename({"price": "euros"}).write_csv(tmp_path / "s.csv")
    run("fit", tmp_path / "s.csv", *LONG, "-k", 1, "--spread", "none", "-o", tmp_path / "m.skops")
    done = run("report", tmp_path / "m.skops", tmp_path / "s.csv", "-o", tmp_path / "r.html",
               "--price", "euros", "--json")  # fmt: skip
    data = json.loads(done.stdout)
    assert data["pay"]["price"] == "euros"
    assert data["shares"]["alternatives"] == list("abcd")
    assert data["rows"]["n_groups"] == 40
    assert data["rows"]["looked_at"] == frame["case"].n_unique()
    assert "Willingness to pay" in (tmp_path / "r.html").read_text()
    refused = run("report", tmp_path / "m.skops", tmp_path / "s.csv", "-o", tmp_path / "r2.html",
                  "--price", "pounds", code=2)  # fmt: skip
    assert "There is no feature 'pounds'" in refused.stderr
    assert not (tmp_path / "r2.html").exists()
