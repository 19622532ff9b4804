"""What a fitted table says about itself, and the posteriors of groups in files."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture, load
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    who = rng.permutation(np.repeat(np.arange(100), 6))  # groups are scattered over the files
    sign = np.where(who % 3 == 0, -1, 1)
    liked = rng.uniform(size=600) < 1 / (1 + np.exp(-3 * sign * X[:, 0]))
    return pl.DataFrame(X, schema=list("abc")).with_columns(who=who, liked=liked)


def fitted(rows, k=2, **options):
    mixture = LinearClassifierMixture(k, random_state=0, **options)
    roles = ColumnRoles("liked", "who")
    return fit_table(readers_of(rows.to_arrow()), roles, mixture, source="a frame")


def test_the_description_holds_what_was_chosen_from_the_data(rows):
    model = fitted(rows, "auto")
    mixture, said = model.mixture, json.loads(json.dumps(model.described(), allow_nan=False))
    assert said["l2"] == mixture.l2_
    assert said["l2_from_data"]
    assert said["criterion"] == "evidence"
    assert said["log_evidence"] == mixture.log_evidence_
    assert said["evidence_path"] == {str(k): v for k, v in mixture.evidence_path_.items()}
    assert set(said["evidence_path"]) == set(said["bic_path"]) >= {"1", "2"}
    assert said["doubt"] == mixture.doubt_


def test_the_description_holds_what_was_given(rows):
    said = fitted(rows, l2=0, criterion="icl").described()
    assert (said["l2"], said["l2_from_data"], said["criterion"]) == (0, False, "icl")
    assert said["log_evidence"] is None
    json.dumps(said, allow_nan=False)


@pytest.mark.parametrize("number", [1, 2])
def test_models_of_older_formats_describe_themselves(number):
    said = load(GOLDEN / f"format-{number}.skops").described()
    assert (said["l2"], said["l2_from_data"], said["criterion"]) == (0.1, False, "bic")
    assert said["log_evidence"] is said["doubt"] is None
    assert said["evidence_path"] == {}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_people_do_not_differ_in_models_of_older_formats(number):
    said = load(GOLDEN / f"format-{number}.skops").described()["spread"]
    assert said == {"kind": None, "from_data": False, "evidence": {}, "standard_deviations": []}


@pytest.mark.filterwarnings("ignore::spectralmirror.mixture.estimator.MixtureWarning")
def test_the_description_holds_how_people_differ(rows):
    model = fitted(rows, l2=1.0, spread="intercept")
    mixture, said = model.mixture, json.loads(json.dumps(model.described(), allow_nan=False))
    spread = said["spread"]
    assert (spread["kind"], spread["from_data"]) == ("intercept", False)
    assert set(spread["evidence"]) == {"none", "intercept"}
    (line,) = spread["standard_deviations"]  # coefficients do not differ
    assert line["term"] == "(intercept)"
    assert line["estimate"] == mixture.intercept_deviation_
    assert [len(one["terms"]) for one in said["classifiers"]] == [5, 5]


def posteriors(model, rows, n_files, tmp_path):
    """Return the posterior of each group, from rows that are divided among files."""
    for i in range(n_files):
        rows[i::n_files].write_parquet(tmp_path / f"{i}.parquet")
    found = model.group_weights(readers_of(tmp_path), None, lambda n: None)
    assert {n for _, n in found.values()} == {6}
    return np.array([found[group][0] for group in range(100)])


@pytest.mark.parametrize("n_files", [1, 3])
@pytest.mark.parametrize("response", ["logistic", "probit", "hard"])
def test_posteriors_of_groups_are_those_of_component_proba(rows, response, n_files, tmp_path):
    model = fitted(rows, response=response, l2=1.0)
    X, y, who = rows[list("abc")], rows["liked"].to_numpy(), rows["who"].to_numpy()
    first = np.unique(who, return_index=True)[1]
    expected = model.mixture.component_proba(X, y, groups=who)[first]
    plug_in = model.mixture.component_proba(X, y, groups=who, averaged=False)[first]
    found = posteriors(model, rows, n_files, tmp_path)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    assert np.abs(plug_in - expected).max() > 1e-3  # the average over the parameters matters


def test_posteriors_of_groups_of_a_model_without_a_covariance_are_plug_in(rows, tmp_path):
    model = fitted(rows, l2=1.0)
    model.mixture._parameter_root = None
    X, y, who = rows[list("abc")], rows["liked"].to_numpy(), rows["who"].to_numpy()
    first = np.unique(who, return_index=True)[1]
    expected = model.mixture.component_proba(X, y, groups=who, averaged=False)[first]
    found = posteriors(model, rows, 2, tmp_path)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.filterwarnings("ignore::spectralmirror.mixture.estimator.MixtureWarning")
@pytest.mark.parametrize("kind", ["intercept", "diagonal"])
def test_posteriors_of_groups_who_differ_are_those_of_component_proba(rows, kind, tmp_path):
    model = fitted(rows, l2=1.0, spread=kind)
    X, y, who = rows[list("abc")], rows["liked"].to_numpy(), rows["who"].to_numpy()
    first = np.unique(who, return_index=True)[1]
    expected = model.mixture.component_proba(X, y, groups=who)[first]
    found = posteriors(model, rows, 3, tmp_path)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
