"""`spectralmirror report`: the page, and its data."""

import json

import numpy as np
import polars as pl
from scipy.special import expit

from spectralmirror import load
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.table_sample import sample_rows
from tests.helpers.command_line import run


def test_report_is_written_and_its_data_printed(fitted, tmp_path):
    page = tmp_path / "new" / "report.html"
    report = ("report", fitted / "model.skops", fitted / "ratings.csv", "-o", page)
    data = json.loads(run(*report, "--json").stdout)
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert len(text) < 2_000_000
    for words in ("liked", "colour", "Classifier B", "against ‘red’"):
        assert words in text
    assert data["rows"]["looked_at"] == 2_000
    assert data["held_out"]["history"]["verdict"] == "better"
    before = page.read_bytes()
    assert run(*report, "--quiet").output == ""
    assert page.read_bytes() == before  # the same rows, the same page


def test_samples_for_reports_are_whole_groups_however_files_are_divided(
    people, fitted, tmp_path, monkeypatch
):
    model = load(fitted / "model.skops")
    for i in range(3):
        people[0][700 * i : 700 * (i + 1)].write_csv(tmp_path / f"{i}.csv")
    drawn = []
    for most in (10_000_000, 3_000):
        monkeypatch.setattr("spectralmirror.tables.table_sample.MOST_VALUES", most)
        for source in (fitted / "ratings.csv", tmp_path):
            drawn.append(sample_rows(model, readers_of(source), None, lambda n: None))
    assert [rows.n_rows for rows in drawn] == [2_000] * 4
    whole, _, some, parts = drawn
    assert len(whole.X) == 2_000
    assert (whole.groups == people[0]["person"].to_numpy()).all()
    assert 100 < len(some.X) <= 1_000
    assert set(np.unique(some.groups, return_counts=True)[1]) == {10}
    np.testing.assert_array_equal(some.X, parts.X)
    assert some.table.equals(parts.table)
    assert some.table.columns == ["taste", "price", "colour", "smoker"]


def test_reports_on_other_rows_say_how_many_were_fitted(people, fitted, tmp_path):
    people[0][:300].write_csv(tmp_path / "some.csv")
    told = run("report", fitted / "model.skops", tmp_path / "some.csv", "--json",
               "-o", tmp_path / "r.html").stdout  # fmt: skip
    assert json.loads(told)["rows"]["fitted"] == 2_000
    assert json.loads(told)["rows"]["looked_at"] == 300
    page = (tmp_path / "r.html").read_text()
    for words in ("label_names", "looked at"):
        assert words not in page
    assert f"300\u00a0rows of {tmp_path / 'some.csv'}" in page


def test_reports_of_comparisons_speak_of_sides(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 400, 2))
    won = np.where(rng.uniform(size=400) < expit(2 * (A - B)[:, 0]), "left", "right")
    columns = {"left_x": A[:, 0], "left_z": A[:, 1], "right_x": B[:, 0], "right_z": B[:, 1]}
    pl.DataFrame({**columns, "choice": won}).write_csv(tmp_path / "pairs.csv")
    model, page = tmp_path / "m.skops", tmp_path / "r.html"
    told = run("fit", tmp_path / "pairs.csv", "--pairs", "left_", "right_", "--winner", "choice",
               "-k", 2, "-o", model).stdout  # fmt: skip
    assert "behind 'choice' ('left' or 'right')" in told
    run("report", model, tmp_path / "pairs.csv", "-o", page)
    text = page.read_text()
    assert "left wins" in text
    assert "features are those of the left (left_...) less those of the right" in text
    assert "‘True’" not in text
