"""The command line: what it writes, and one sentence where something is wrong."""

import pytest
from typer.testing import CliRunner

from spectralmirror import __version__
from spectralmirror.cli import app
from spectralmirror.cli.reproduce import NAMES

run = CliRunner().invoke


def test_version_and_help():
    assert run(app, ["--version"]).stdout.strip() == f"spectralmirror {__version__}"
    told = run(app, ["reproduce", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert told.exit_code == 0
    for word in (*NAMES, "--output", "--quick", "--jobs", "--quiet"):
        assert word in told.stdout


def test_reproduces_a_figure(tmp_path):
    output = tmp_path / "new" / "folder"
    done = run(app, ["reproduce", "figure1", "--quick", "-o", str(output)])
    assert done.exit_code == 0, done.output
    assert "figure1: Mirroring in three dimensions. 1 cell" in done.stdout
    names = {path.name for path in output.iterdir() if path.is_file()}
    assert names == {f"figure1.{suffix}" for suffix in ("parquet", "csv", "svg", "png", "txt")}
    again = run(app, ["reproduce", "figure1", "figure1", "--quick", "-o", str(output)])
    assert again.stdout.count("1 from an earlier run") == 1  # named twice, done once


def test_quiet_prints_nothing(tmp_path):
    done = run(app, ["reproduce", "figure1", "--quick", "--quiet", "-o", str(tmp_path)])
    assert (done.exit_code, done.output) == (0, "")
    assert (tmp_path / "figure1.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figure9"], "There is no experiment 'figure9': choose from figure1, figure2"),
        (["figure1", "Figure2"], "There is no experiment 'Figure2'"),
        (["figure1", "--jobs", "0"], "--jobs must be at least 1, or -1"),
        (["figure1", "--jobs", "-3"], "--jobs must be at least 1, or -1"),
        (["figure1", "--jobs", "two"], "Invalid value for '--jobs' / '-j'"),
        (["figure1", "--quik"], "No such option: --quik"),
        ([], "Missing argument 'NAME"),
    ],
)
def test_bad_usage_gets_a_sentence_and_leaves_nothing(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    done = run(app, ["reproduce", *arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code == 2
    assert sentence in done.output
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())


def test_a_quick_run_does_not_replace_a_full_one(tmp_path):
    assert run(app, ["reproduce", "figure1", "-o", str(tmp_path)]).exit_code == 0
    before = (tmp_path / "figure1.csv").read_bytes()
    done = run(app, ["reproduce", "figure1", "--quick", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds the full run of figure1: choose another --output" in done.output
    assert (tmp_path / "figure1.csv").read_bytes() == before


def test_a_folder_of_any_name(tmp_path):
    output = tmp_path / "a[/b] [bold]"
    done = run(app, ["reproduce", "figure1", "--quick", "-o", str(output)])
    assert done.exit_code == 0
    assert str(output) in done.output


def test_output_must_be_a_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    for output in (file, file / "below"):
        done = run(app, ["reproduce", "figure1", "--quick", "-o", str(output)])
        assert done.exit_code == 2
        assert "--output" in done.output
        assert "Traceback" not in done.output
    assert file.read_text() == "precious"
