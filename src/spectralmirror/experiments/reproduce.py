"""The paper's evidence, made anew: tables, pictures, and what they say."""

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
    """One experiment, done.

    Attributes
    ----------
    name : str
        Its name.
    table : polars.DataFrame
        What was measured.
    findings : list of str
        What it says.
    files : list of Path
        What was written.
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
    """Measure what is not measured yet, and write the table, its picture and its findings.

    Parameters
    ----------
    name : str
        A key of EXPERIMENTS.
    output : Path
        Where to write ``name.parquet``, ``.csv``, ``.svg``, ``.png`` and ``.txt``; finished cells
        are kept below ``.cells`` there, and a later run takes them over.
    scale : {"tiny", "quick", "full"}, default="full"
        How much is measured.
    n_jobs : int, default=-1
        Processes; -1 is one a core.
    listen : callable, default does nothing
        ``listen(done, total)`` is told of finished cells.

    Returns
    -------
    Reproduced
        The table and what was written.
    """
    rows = run(EXPERIMENTS[name], output, scale=scale, n_jobs=n_jobs, listen=listen)
    table, stem = pl.DataFrame(rows, infer_schema_length=None), output / name
    settings = EXPERIMENTS[name].cells(scale)[0]
    findings, picture = FINDINGS[name](table), PICTURES[name](table)
    told = stem.with_suffix(".txt")  # first, because it says of which scale the others are
    with written_whole(told) as path:
        head = f"{scale} run of spectralmirror {__version__}: {EXPERIMENTS[name].title}."
        path.write_text("\n".join([head, *findings, ""]), encoding="utf-8")
    files = [told, *write_table(table, stem, settings), *write_picture(picture, stem)]
    return Reproduced(name, table, findings, files)


def scale_of(name: str, output: Path) -> str | None:
    """Return the scale of the results that a folder holds, or None."""
    try:
        head = (output / f"{name}.txt").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return head.partition(" ")[0]


def write_table(table: pl.DataFrame, stem: Path, settings: Iterable[str]) -> Iterable[Path]:
    """Write a table as Parquet and, measured numbers with four digits, as CSV; yield the paths."""
    measured = pl.selectors.float() - pl.selectors.by_name(*settings)
    # NaN in place of nothing: whoever guesses types from the first rows guesses right
    rounded = table.with_columns(measured.round_sig_figs(4).fill_null(float("nan")))
    for suffix, write in ((".parquet", table.write_parquet), (".csv", rounded.write_csv)):
        with written_whole(stem.with_suffix(suffix)) as path:
            write(path)
        yield stem.with_suffix(suffix)


def write_picture(figure: Any, stem: Path) -> Iterable[Path]:
    """Write a figure as SVG and as PNG, the same bytes for the same figure, and yield the paths."""
    with written_whole(stem.with_suffix(".svg")) as path:
        path.write_text(svg_text(figure, stem.name), encoding="utf-8")
    yield stem.with_suffix(".svg")
    with written_whole(stem.with_suffix(".png")) as path:
        figure.savefig(path, dpi=110)
    yield stem.with_suffix(".png")
