"""Every experiment runs, resumes after any interruption, and measures what it says."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import norm

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.experiments import EXPERIMENTS, SCALES, run
from spectralmirror.experiments import figure4 as em
from spectralmirror.experiments.data import at_angle, section5
from spectralmirror.experiments.figures.pictures import PICTURES
from spectralmirror.experiments.findings import FINDINGS, spread
from spectralmirror.experiments.median import furthest, mirrored_spectrum
from spectralmirror.experiments.references import (
    efficient_sine,
    inverse_information,
    maximum_likelihood,
    population_mirror,
    span_error,
)
from spectralmirror.experiments.reproduce import reproduce, scale_of
from spectralmirror.experiments.store import Store
from spectralmirror.metrics import subspace_error
from spectralmirror.rows.files.atomic import ABANDONED, sweep, written_whole

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


def assert_same_numbers(rounded, table):
    """CSV files hold four digits, and NaN where there is nothing."""
    table = table.with_columns(pl.selectors.float().fill_null(np.nan))
    assert_frame_equal(rounded, table, check_dtypes=False, rel_tol=6e-4, abs_tol=0)


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


def test_all_experiments_are_drawn_and_told():
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


def test_a_changed_setting_or_changed_code_is_measured_anew(tmp_path):
    experiment = EXPERIMENTS["hessian"]
    store = Store.of(experiment, tmp_path)
    cell = experiment.cells("tiny")[0]
    store.write(cell, [{"labels": 0.5}])
    assert store.read(cell) == [{"labels": 0.5}]
    for key, value in cell.items():
        assert store.read({**cell, key: value + 1}) is None
    assert replace(store, code="other").read(cell) is None
    assert Store.of(EXPERIMENTS["span"], tmp_path).code != store.code


def test_the_digest_sees_the_code_that_makes_the_numbers(tmp_path, monkeypatch):
    """In a copy of the package: a change in the library counts, one in a picture does not."""
    import shutil

    import spectralmirror

    copy = tmp_path / "spectralmirror"
    shutil.copytree(Path(spectralmirror.__file__).parent, copy)
    script = (
        "from pathlib import Path\n"
        "from spectralmirror.experiments import EXPERIMENTS\n"
        "from spectralmirror.experiments.store import Store\n"
        "print(Store.of(EXPERIMENTS['figure3'], Path('.')).code)"
    )

    def digest():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", script], env=environment, text=True,
                              capture_output=True, check=True)  # fmt: skip
        return done.stdout

    def change(name):
        with (copy / name).open("a") as file:
            file.write("# changed\n")

    first = digest()
    for name in ("plotting/paper.py", "cli.py", "experiments/figure2.py"):
        change(name)
    assert digest() == first
    seen = {first}
    for name in ("experiments/figure3.py", "experiments/problems.py", "stacked.py"):
        change(name)
        seen.add(digest())
    assert len(seen) == 4


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b'{"cell": {}, "rows"',
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"rows": [{"x": 1}]}',
        b'{"cell": CELL, "rows": []}',
        b'{"cell": CELL, "rows": [1, 2]}',
        b'{"cell": CELL, "rows": "abc"}',
        b'{"cell": CELL, "rows": [{}]}',
    ],
)
def test_a_damaged_cell_is_measured_again(tmp_path, damage):
    experiment = EXPERIMENTS["hessian"]
    rows = run(experiment, tmp_path, scale="tiny", n_jobs=1)
    path = Store.of(experiment, tmp_path).path(experiment.cells("tiny")[1])
    cell = json.dumps(experiment.cells("tiny")[1]).encode()
    path.write_bytes(damage.replace(b"CELL", cell))
    told = []
    again = run(experiment, tmp_path, scale="tiny", n_jobs=1, listen=lambda *c: told.append(c[0]))
    assert again == rows
    assert told == [3, 4]


def finished(output, name):
    return {path: path.stat().st_mtime_ns for path in (output / ".cells" / name).glob("*.json")}


def start(output, *arguments):
    """Run the command line in a process group of its own."""
    command = [sys.executable, "-c", "from spectralmirror.cli import main; main()", "reproduce"]
    return subprocess.Popen(
        [*command, *arguments, "--output", str(output)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """The same experiment without an interruption."""
    return reproduce("hessian", tmp_path_factory.mktemp("at-once"), scale="quick").table


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_killed_half_way_goes_on_where_it_stopped(tmp_path, at_once, how):
    name, total = "hessian", len(EXPERIMENTS["hessian"].cells("quick"))
    process = start(tmp_path, name, "--quick", "--jobs", "2")
    wait_for(lambda: len(finished(tmp_path, name)) >= 5, process)
    os.killpg(process.pid, how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 1)
    if how == signal.SIGINT:
        assert "Interrupted. The same command goes on from there. What is finished is kept" in said
        assert "Traceback" not in said
    assert not (tmp_path / f"{name}.csv").exists()
    kept = finished(tmp_path, name)
    assert 5 <= len(kept) < total
    process = start(tmp_path, name, "--quick", "--jobs", "2")
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert f"{total} cells, {len(kept)} from an earlier run" in out
    after = finished(tmp_path, name)
    assert len(after) == total
    assert {path: after[path] for path in kept} == kept  # none was written again
    assert_same_numbers(pl.read_csv(tmp_path / f"{name}.csv"), at_once)


def test_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "folder" / "file.txt"
    with written_whole(path) as unfinished:
        unfinished.write_text("old")
    assert path.read_text() == "old"

    def fail():
        with written_whole(path) as unfinished:
            unfinished.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_cell_that_vanishes_is_no_smaller_table(tmp_path):
    experiment = EXPERIMENTS["hessian"]
    path = Store.of(experiment, tmp_path).path(experiment.cells("tiny")[0])

    def lose(done, total):
        if done == total:
            path.unlink()

    with pytest.raises(RuntimeError, match="A finished cell is gone"):
        run(experiment, tmp_path, scale="tiny", n_jobs=1, listen=lose)


def test_what_killed_processes_left_is_swept_after_a_day(tmp_path):
    old, new = (tmp_path / "cells" / f".unfinished-{name}" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "file").write_text("half")
    long_ago = time.time() - ABANDONED - 60
    os.utime(old, (long_ago, long_ago))
    sweep(tmp_path)
    assert not old.exists()
    assert new.exists()


def workers_of(pid):
    """Return the processes below a process that measure cells (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = (path.parent / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == pid and b"popen_loky" in command:
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("victim", "sentence"),
    [("worker", "A process was killed, or memory ran out"), ("terminated", "Interrupted.")],
)
def test_a_killed_process_ends_the_run_with_a_sentence(tmp_path, victim, sentence):
    process = start(tmp_path, "figure4", "--quick", "--jobs", "2")
    wait_for(lambda: len(workers_of(process.pid)) == 2, process)
    workers = workers_of(process.pid)
    wait_for(lambda: (tmp_path / ".cells" / "figure4").exists(), process)
    if victim == "worker":
        os.kill(workers[0], signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert sentence in said
    assert "What is finished is kept" in said
    assert "Traceback" not in said
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < end, "workers go on without their parent"
        time.sleep(0.1)


# What is measured


def test_a_missing_component_is_no_perfect_span():
    truth = section5(10, 4, 0)[2]
    assert span_error(truth.profiles, truth) < 1e-7
    assert span_error(truth.profiles[:1], truth) == 1


def test_section5_draws_the_papers_data():
    X, y, truth = section5(4000, 20, 7)
    made_by = truth.profiles[truth.components]
    np.testing.assert_array_equal(y, np.sign((X * made_by).sum(axis=1)))
    assert np.linalg.norm(truth.profiles, axis=1).min() > 2  # u ~ N(0, I): about sqrt(20)
    other = section5(500, 5, 7)[2]
    np.testing.assert_array_equal(other.weights, truth.weights)  # a matter of the seed alone
    shares = [section5(2, 2, seed)[2].weights[0] for seed in range(200)]
    assert abs(np.mean(shares) - 0.5) < 4 * np.sqrt(1 / 12 / 200)
    assert abs(np.std(shares) - np.sqrt(1 / 12)) < 0.06


@pytest.mark.parametrize(("norm", "trace"), [(1, 401), (2, 33.6), (3, 12.2), (5, 4.8)])
def test_information_agrees_with_known_values(norm, trace):
    inverse = inverse_information(at_angle(90, norm, 6), [0.5, 0.5])
    assert np.isclose(np.trace(inverse), trace, rtol=0.01)


def test_maximum_likelihood_is_as_near_as_the_bound_says():
    """sin d_P over 12 data sets, relative to the bound: standard error about 0.06."""
    ratios = []
    for seed in range(12):
        X, y, truth = make_linear_classifier_mixture(
            40_000, profiles=at_angle(90, 5, 20), weights=[0.5, 0.5], random_state=seed
        )
        found = maximum_likelihood(X, y, truth).coef_
        ratios.append(subspace_error(found, truth.profiles) / efficient_sine(40_000, truth))
    assert 0.8 < np.mean(ratios) < 1.3


def test_population_mirror_is_the_mean_of_y_x():
    X, y, truth = section5(1_000_000, 4, 0)
    mean, r = y @ X / len(X), population_mirror(truth)
    np.testing.assert_allclose(mean, np.sqrt(2 / np.pi) * r, atol=5e-3)


def test_median_rule_is_the_papers():
    X, y, _ = section5(20_000, 8, 3)
    eigenvalues, directions, bulk = mirrored_spectrum(X, y)
    paper = SpectralMirror(2, method="paper").fit(X, y)
    median = furthest(eigenvalues, directions, float(np.median(eigenvalues)), 2)
    assert subspace_error(median, paper.components_) < 1e-7
    np.testing.assert_allclose(np.sort(paper.eigenvalues_), np.sort(eigenvalues), atol=1e-10)
    r = paper.mirror_direction_
    assert np.isclose(bulk, np.mean(y[10_000:] * np.sign(X[10_000:] @ r)))


@pytest.mark.parametrize("labels", ["hard", "logistic"])
def test_errors_of_em_are_those_of_the_best_at_many_rows(labels):
    X, y, truth = section5(60_000, 4, 1, labels)
    new = X[40_000:], y[40_000:], truth.components[40_000:]
    mixture = LinearClassifierMixture(2, fit_intercept=False, random_state=0)
    found = em.errors(mixture.fit(X[:40_000], y[:40_000]), truth, *new)
    best = em.best_possible(truth, *new)
    if labels == "logistic":
        assert found["expected"] < 0.05
    else:  # steps are fitted by logistic curves of length L: 8 phi(0) (log 2 - 1/2) / L is lost
        lost = 8 * norm.pdf(0) * (np.log(2) - 0.5) / np.linalg.norm(mixture.coef_, axis=1)
        assert np.isclose(found["expected"] ** 2, np.square(mixture.weights_) @ lost, rtol=0.3)
    assert best["label"] <= found["label"] < best["label"] + 0.01
    assert abs(found["component"] - best["component"]) < 0.01
    near = em.near(truth, 0)
    length = np.linalg.norm(truth.profiles, axis=1, keepdims=True)
    scale = em.SHARP if labels == "hard" else length
    off = np.linalg.norm(near / scale - truth.profiles / length, axis=1)
    np.testing.assert_allclose(off, em.OFF)


def test_who_made_a_label_cannot_be_known_where_classifiers_agree():
    """Hard labels, p = 1/2, 90 degrees: they agree on half of x, and there a guess is right half
    of the time, so a quarter is wrong.
    """
    X, y, truth = make_linear_classifier_mixture(
        100_000, profiles=np.eye(2, 5), weights=[0.5, 0.5], response="hard", random_state=0
    )
    assert abs(em.best_possible(truth, X, y, truth.components)["component"] - 0.25) < 0.006


def test_spread_is_that_of_the_means_over_d():
    table = pl.DataFrame(
        {"rows_a_feature": [10] * 4 + [20] * 2, "d": [5, 5, 9, 9, 5, 9],
         "value": [0.1, 0.3, 0.2, 0.3, 0.1, 0.1]}
    )  # fmt: skip
    assert spread(table, "value")["spread"].to_list() == pytest.approx([0.25, 0.0])
