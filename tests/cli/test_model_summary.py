"""What the terminal says about a fit, and in which order."""

from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spectralmirror import load
from spectralmirror.cli.model_summary import summary_lines
from tests.helpers.command_line import run

GOLDEN = Path(__file__).parents[1] / "golden"
HEADLINE = "2 hidden classifiers behind 'liked' ('no' or 'yes') in 2,000 rows"
ASSIGNED = "If the model holds, "


@pytest.fixture
def said(fitted):
    """Return a function: attributes of the mixture -> the lines before the classifiers."""
    model = load(fitted / "model.skops")

    def lines(**attributes):
        mixture = copy(model.mixture)
        vars(mixture).update(attributes)
        found = list(summary_lines(replace(model, mixture=mixture)))
        return found[: found.index("")]

    return lines


def test_the_headline_comes_first_and_the_status_last(said):
    first, assigned, last = said(status_="Converged. Probability of a better one: 3%.")
    assert first.startswith(HEADLINE)
    assert assigned.startswith(ASSIGNED)
    assert last == "Converged. Probability of a better one: 3%."


def test_problems_are_warnings_and_name_options(said):
    problems = ["Raise `n_init`, or `l2`.", "Use `n_components=1`, or `spread=None`."]
    lines = said(status_=" ".join([*problems, "Converged."]), _problems=problems)
    assert lines[2:] == [
        "Warning: Raise --starts, or --l2.",
        "Warning: Use -k 1, or --spread none.",
        "Converged.",
    ]


def test_that_fewer_have_more_evidence_is_said_first(said):
    status = {"status_": "One is enough. Converged.", "_problems": ["One is enough."]}
    lines = said(**status, evidence_path_={1: -896.9, 2: -900.0})
    assert lines[0].startswith(HEADLINE)
    assert lines[1] == "Warning: One is enough."
    assert lines[2].startswith(ASSIGNED)
    assert lines[3:] == ["Converged."]
    lines = said(**status, evidence_path_={1: -897.1, 2: -900.0})
    close = "k = 1 is as good (its log evidence is 2.9 higher): compare -k 1."
    assert lines[2:] == ["Warning: One is enough.", "Converged.", close]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"criterion": "evidence", "evidence_path_": {1: -980.0, 2: -900.0, 3: -902.0}},
         "k = 3 is almost as good (its log evidence is 2.0 lower): compare -k 3."),
        ({"criterion": "evidence", "evidence_path_": {1: -980.0, 2: -900.0, 3: -904.0}}, None),
        ({"criterion": "evidence", "evidence_path_": {2: -900.0}}, None),
        ({"criterion": "bic", "bic_path_": {1: 980.0, 2: 900.0, 3: 908.0}},
         "k = 3 is almost as good (its BIC is 8.0 higher): compare -k 3."),
        ({"criterion": "bic", "bic_path_": {1: 980.0, 2: 900.0, 3: 911.0}}, None),
        ({"criterion": "icl", "bic_path_": {1: 980.0, 2: 900.0, 3: 901.0}}, None),
    ],
)  # fmt: skip
def test_another_number_is_compared_by_the_criterion_in_use(said, attributes, expected):
    lines = said(status_="Converged.", **attributes)
    assert lines[3:] == ([] if expected is None else [expected])


def test_few_rows_are_warned_of(said):
    assert said(n_parameters_=200)[-1:] != said(n_parameters_=201)[-1:]
    assert "2,000 rows are few for 201 parameters" in said(n_parameters_=201)[-1]


def test_a_real_fit_with_too_many_classifiers_says_so_first(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = rng.uniform(size=400) < 1 / (1 + np.exp(-2 * x[:, 0]))
    pl.DataFrame(x, schema=list("abc")).with_columns(y=y).write_csv(tmp_path / "one.csv")
    fit = ("fit", tmp_path / "one.csv", "--label", "y", "-o", tmp_path / "m.skops")
    second = run(*fit, "-k", 3).stdout.splitlines()[1]
    assert second.startswith("Warning: One classifier explains these labels as well as 3 (log ev")
    assert second.endswith("use -k 1, or -k auto.")
    chosen = run(*fit).stdout.splitlines()
    assert chosen[0].startswith("1 hidden classifier behind 'y'")
    assert not any("Warning" in line for line in chosen)


@pytest.mark.parametrize(("number", "n_starts"), [(1, 3), (2, 3), (3, 8)])
def test_models_of_older_formats_are_summarised(number, n_starts):
    lines = list(summary_lines(load(GOLDEN / f"format-{number}.skops")))
    status = f"Converged. {n_starts} of {n_starts} starts reached the best maximum."
    assert sum(line.startswith(status) for line in lines) == 1
    assert sum(line.startswith("Classifier") for line in lines) == 2
    assert not any("Within" in line for line in lines)


def within(model, n_features=5, **attributes):
    """Return the lines about people of one class."""
    mixture = copy(model.mixture)
    vars(mixture).update(attributes)
    lines = list(summary_lines(replace(model, mixture=mixture), n_features))
    begin = [i for i, line in enumerate(lines) if line.startswith("Within a class")]
    return lines[begin[0] :] if begin else []


def test_how_people_differ_is_said_last(different):
    model, sizes = load(different / "model.skops"), np.array([0.3, 0.05])
    known = {"spread_deviation_": sizes, "spread_standard_error_": sizes / 10,
             "intercept_deviation_": 0.8, "intercept_deviation_standard_error_": 2.0,
             "feature_scale_": np.array([1.0, 20.0]), "degrees_of_freedom_": np.inf}  # fmt: skip
    found = within(model, **known, spread_evidence_={"none": -420.0, "diagonal": -400.0})
    assert found == [
        "Within a class, people (person) differ: spread diagonal, log evidence 20.0 higher than "
        "without.",
        "  Standard deviations of their log-odds of liked = 'yes', per unit of a feature (95 % "
        "interval), strongest per standard deviation first:",
        "    price        0.05 (0.0411 to 0.06083)",  # 0.05 exp(-+1.96 / 10), and 1 per deviation
        "    (intercept)  0.8 (0 to 4.72), at the mean of the features",
        "    taste        0.3 (0.2466 to 0.365)",
    ]
    assert "strongest per standard deviation first, 1 of 3:" in within(model, 1, **known)[1]
    assert len(within(model, 1, **known)) == 3
    unknown = known | {"spread_standard_error_": sizes * np.nan,
                       "intercept_deviation_standard_error_": np.nan}  # fmt: skip
    assert within(model, **unknown)[2] == "    price        0.05"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"spread_evidence_": {"none": -400.0, "diagonal": -404.5}},
         "differ: spread diagonal, log evidence 4.5 lower than without; compare --spread none."),
        ({"spread_evidence_": {"none": np.nan, "diagonal": -404.5}}, "differ: spread diagonal."),
        ({"spread_evidence_": {}, "spread": "auto"},
         "differ: spread diagonal, chosen from the data."),
    ],
)  # fmt: skip
def test_a_spread_is_compared_with_none(different, attributes, expected):
    first = within(load(different / "model.skops"), **attributes)[0]
    assert first == f"Within a class, people (person) {expected}"


def test_that_people_are_alike_is_said_if_it_was_compared(fitted):
    model = load(fitted / "model.skops")
    assert within(model) == []
    evidence = {"none": -400.0, "intercept": -402.0, "diagonal": -401.0, "full": np.nan}
    assert within(model, spread_evidence_=evidence) == [
        "Within a class, people (person) are alike as far as these labels show: with the spread "
        "diagonal, the log evidence is 1.0 lower."
    ]


def test_intercepts_and_labels_are_shown(fitted):
    model = load(fitted / "model.skops")
    lines = list(summary_lines(model, 2))
    b, error = model.mixture.intercept_, model.mixture.intercept_standard_error_
    shown = [line for line in lines if line.startswith("    (intercept)")]
    assert len(shown) == 2
    for line, estimate in zip(shown, b, strict=True):
        assert line.startswith(f"    (intercept)  {estimate:+.4g} (")
        assert line.endswith("), all features being 0")
    assert f"({b[0] - 1.96 * error[0]:.3g}"[:4] in shown[0]
    assert sum("Log-odds of liked = 'yes'" in line for line in lines) == 2
