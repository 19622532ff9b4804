"""Every experiment gives a table, a picture and findings, the same on any number of processes."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from spectralmirror.experiments import EXPERIMENTS, SCALES, run
from spectralmirror.experiments.figures.pictures import PICTURES
from spectralmirror.experiments.findings import FINDINGS
from spectralmirror.experiments.reproduce import reproduce, scale_of
from tests.helpers.experiments import assert_same_numbers

NAMES = list(EXPERIMENTS)
SINES = {
    "figure2": ["paper", "default", "likelihood", "bound"],
    "figure4": ["label_ambient", "component_paper", "component_bayes", "label_refined"],
    "span": ["r", "r_hat", "r_hat_error", "paper", "with_r_hat"],
    "hessian": ["labels", "residuals", "paper", "default"],
    "experts": ["sine"],
    "median": ["median", "known_bulk", "default"],
    "blindspot": ["paper", "paper_with_mirror", "default", "likelihood"],
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All experiments, on two processes."""
    output = tmp_path_factory.mktemp("tiny")
    return output, {name: reproduce(name, output, scale="tiny", n_jobs=2) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_gives_a_table_a_picture_and_findings(tiny, name):
    output, done = tiny
    table, findings = done[name].table, done[name].findings
    assert {path.name for path in done[name].files} == {
        f"{name}.{suffix}" for suffix in ("parquet", "csv", "svg", "png", "txt")
    }
    assert_frame_equal(pl.read_parquet(output / f"{name}.parquet"), table)
    assert_same_numbers(pl.read_csv(output / f"{name}.csv"), table)
    assert len(table) >= len(EXPERIMENTS[name].cells("tiny"))
    for column in SINES.get(name, []):
        values = table[column].drop_nulls()
        assert len(values)
        assert values.is_between(0, 1).all()
    assert (output / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    svg = (output / f"{name}.svg").read_text()
    assert "<svg" in svg
    assert "nan" not in svg.lower().replace("nance", "")
    head, *lines = (output / f"{name}.txt").read_text().splitlines()
    assert head.startswith("tiny run of spectralmirror")
    assert lines == findings
    assert scale_of(name, output) == "tiny"
    assert findings
    assert not any("nan" in line for line in findings)
    assert not list(output.glob(".unfinished-*"))


def test_every_experiment_has_a_picture_and_findings():
    assert list(PICTURES) == list(FINDINGS) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", SCALES)
def test_cells_differ_and_fit_their_measure(name, scale):
    cells = EXPERIMENTS[name].cells(scale)
    assert len({json.dumps(cell, sort_keys=True) for cell in cells}) == len(cells)
    names = EXPERIMENTS[name].measure.__code__
    expected = set(names.co_varnames[: names.co_argcount])
    assert all(set(cell) == expected for cell in cells)


def test_a_second_run_measures_nothing(tiny):
    output, done = tiny
    told = []
    rows = run(
        EXPERIMENTS["figure3"], output, scale="tiny", n_jobs=1,
        listen=lambda *counts: told.append(counts),
    )  # fmt: skip
    assert told == [(4, 4)]
    assert len(rows) == len(done["figure3"].table)


@pytest.mark.parametrize("name", ["figure2", "figure4", "experts"])
def test_numbers_do_not_depend_on_processes(tiny, tmp_path, name):
    again = reproduce(name, tmp_path, scale="tiny", n_jobs=1)
    assert_frame_equal(again.table, tiny[1][name].table)
    for suffix in ("csv", "svg"):
        ours, theirs = (folder / f"{name}.{suffix}" for folder in (tmp_path, tiny[0]))
        assert ours.read_bytes() == theirs.read_bytes()
