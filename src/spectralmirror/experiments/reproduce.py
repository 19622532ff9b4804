"""Reproduces the paper's evidence: tables, pictures and findings, written to files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from spectralmirror import __version__
from spectralmirror.experiments import EXPERIMENTS, run
from spectralmirror.experiments.figures.pictures import PICTURES
from spectralmirror.experiments.findings import FINDINGS
from spectralmirror.plotting.svg import svg_text
from spectralmirror.rows.files.atomic import written_whole

__all__ = ["Reproduced", "reproduce", "scale_of", "write_picture", "write_table"]


@dataclass(frozen=True)
class Reproduced:
    """The results of one experiment.

    Attributes
    ----------
    name : str
        The name of the experiment.
    table : polars.DataFrame
        All measurements.
    findings : list of str
        What the table says, in sentences.
    files : list of Path
        The files that were written.
    """

    name: str
    table: pl.DataFrame
    findings: list[str]
    files: list[Path]


def reproduce(
    name: str,
    output: Path,
    *,
    scale: str = "full",
    n_jobs: int = -1,
    listen: Callable[[int, int], None] = lambda done, total: None,
) -> Reproduced:
    """Measure what has not been measured yet, and write the table, its picture and its findings.

    Parameters
    ----------
    name : str
        A key of EXPERIMENTS.
    output : Path
        Where to write ``name.parquet``, ``.csv``, ``.svg``, ``.png`` and ``.txt``; finished cells
        are stored below ``.cells`` there, and a later run reuses them.
    scale : {"tiny", "quick", "full"}, default="full"
        How much is measured.
    n_jobs : int, default=-1
        Number of processes; -1 means one per core.
    listen : callable, default does nothing
        ``listen(done, total)`` is called with the number of finished cells.

    Returns
    -------
    Reproduced
        The table, its findings and the files.
    """
    rows = run(EXPERIMENTS[name], output, scale=scale, n_jobs=n_jobs, listen=listen)
    table, stem = pl.DataFrame(rows, infer_schema_length=None), output / name
    settings = EXPERIMENTS[name].cells(scale)[0]
    findings, picture = FINDINGS[name](table), PICTURES[name](table)
    text = stem.with_suffix(".txt")  # written first: it states the scale of the other files
    with written_whole(text) as path:
        head = f"{scale} run of spectralmirror {__version__}: {EXPERIMENTS[name].title}."
        path.write_text("\n".join([head, *findings, ""]), encoding="utf-8")
    files = [text, *write_table(table, stem, settings), *write_picture(picture, stem)]
    return Reproduced(name, table, findings, files)


def scale_of(name: str, output: Path) -> str | None:
    """Return the scale of the results in a folder, or None if there are none."""
    try:
        head = (output / f"{name}.txt").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return head.partition(" ")[0]


def write_table(table: pl.DataFrame, stem: Path, settings: Iterable[str]) -> Iterable[Path]:
    """Write a table as Parquet and, with four significant digits, as CSV; yield the paths."""
    measured = pl.selectors.float() - pl.selectors.by_name(*settings)
    # NaN instead of an empty field, so that readers infer the type from the first rows
    rounded = table.with_columns(measured.round_sig_figs(4).fill_null(float("nan")))
    for suffix, write in ((".parquet", table.write_parquet), (".csv", rounded.write_csv)):
        with written_whole(stem.with_suffix(suffix)) as path:
            write(path)
        yield stem.with_suffix(suffix)


def write_picture(figure: Any, stem: Path) -> Iterable[Path]:
    """Write a figure as SVG and PNG, with the same bytes for the same figure; yield the paths."""
    with written_whole(stem.with_suffix(".svg")) as path:
        path.write_text(svg_text(figure, stem.name), encoding="utf-8")
    yield stem.with_suffix(".svg")
    with written_whole(stem.with_suffix(".png")) as path:
        figure.savefig(path, dpi=110)
    yield stem.with_suffix(".png")
