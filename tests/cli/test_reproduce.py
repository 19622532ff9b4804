"""`spectralmirror reproduce`: what it writes, and what it keeps."""

from spectralmirror.cli.reproduce import Name
from spectralmirror.experiments import EXPERIMENTS
from tests.helpers.command_line import run


def test_names_of_experiments_are_those_that_exist():
    assert list(Name) == [*EXPERIMENTS, "all"]
    assert set(Name) <= set(
        run("reproduce", "--help").stdout.replace(",", " ").replace(".", " ").split()
    )


def test_reproduces_a_figure(tmp_path):
    output = tmp_path / "a[/b] [bold]"  # a folder of any name
    done = run("reproduce", "figure1", "--quick", "-o", output)
    assert "figure1: Mirroring in three dimensions. 1 cell" in done.stdout
    assert str(output) in done.stdout
    names = {path.name for path in output.iterdir() if path.is_file()}
    assert names == {f"figure1.{suffix}" for suffix in ("parquet", "csv", "svg", "png", "txt")}
    again = run("reproduce", "figure1", "figure1", "--quick", "-o", output)
    assert again.stdout.count("1 from an earlier run") == 1  # named twice, done once
    assert run("reproduce", "figure1", "--quick", "--quiet", "-o", output).output == ""


def test_a_quick_run_does_not_replace_a_full_one(tmp_path):
    run("reproduce", "figure1", "-o", tmp_path)
    before = (tmp_path / "figure1.csv").read_bytes()
    done = run("reproduce", "figure1", "--quick", "-o", tmp_path, code=2)
    assert "holds the full run of figure1: choose another --output" in done.output
    assert (tmp_path / "figure1.csv").read_bytes() == before


def test_output_must_be_a_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    for output in (file, file / "below"):
        assert "--output" in run("reproduce", "figure1", "--quick", "-o", output, code=2).output
    assert file.read_text() == "precious"
