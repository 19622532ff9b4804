"""Rows that are read when they are needed: files, lazy frames, blocks of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from spectralmirror.rows.files.array_source import ArrayParts, OwnParts
from spectralmirror.rows.files.atomic import written_whole
from spectralmirror.rows.files.columns import Columns
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.rows.memory import BLOCK_BYTES, block_rows
from spectralmirror.rows.partitioned import Part, Streamed, Survey, keys_of
from spectralmirror.rows.partitioned_groups import Contiguous, PartedRowset, Spilled, in_groups

__all__ = ["Scan", "scan"]

#: So many groups are remembered while it is seen whether their rows follow each other.
MOST_GROUPS = 20_000_000


def scan(
    source: Any,
    *,
    label: Any = None,
    features: Sequence[str] | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    block_bytes: int = BLOCK_BYTES,
) -> Scan:
    """Take rows that are too many for memory, for ``fit`` and :meth:`Scan.map_to`.

    Nothing is read but the names and types of the columns. A fit then reads the columns that it
    needs several times, in blocks, while the block before is summed.

    Parameters
    ----------
    source : str, Path, list of these, LazyFrame, pyarrow dataset or table, ndarray or iterable
        Files in Parquet, Arrow (Feather) or CSV format (``.csv.gz`` too): a path, a folder, a glob
        such as ``"part-*.parquet"``, or a list of them, read in the order of the list, and of the
        names in a folder or glob. One ``.npy`` file. A polars or pandas frame. Or your own reader:
        whatever yields tuples ``(X, y)``, ``(X, y, groups)`` or ``(X, y, groups, sample_weight)``
        every time it is iterated over, or called.
    label : str, default=None
        The column of labels; not needed to predict. For arrays and ``.npy`` an array of labels, or
        the path of one.
    features : list of str, default=None
        The columns of features; all columns of numbers but label, groups and weight for None. In
        CSV files the first megabyte tells what is a number: name the columns to be sure.
    groups, sample_weight : str, default=None
        The columns of groups and of weights, or arrays as for the label. Rows of a group are
        brought together in temporary files where they do not follow each other already.
    block_bytes : int, default=4_000_000
        Size of a block of rows. About ten times this, and a sample of at most 200 MB, is in memory
        at any time, however long the files or their row groups are.

    Returns
    -------
    Scan
        The source.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> from spectralmirror import SpectralMirror, scan
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> X, y, truth = make_linear_classifier_mixture(20_000, 5, weights=[0.6, 0.4], random_state=0)
    >>> folder = tempfile.mkdtemp()
    >>> frame = pl.DataFrame(X, schema=list("abcde")).with_columns(liked=y)
    >>> frame[:9_000].write_parquet(f"{folder}/part-1.parquet")
    >>> frame[9_000:].write_parquet(f"{folder}/part-2.parquet")
    >>> source = scan(f"{folder}/part-*.parquet", label="liked")
    >>> mirror = SpectralMirror(n_components=2, random_state=0).fit(source)
    >>> source.map_to(f"{folder}/plane.parquet", mirror.transform)
    >>> pl.read_parquet(f"{folder}/plane.parquet").shape
    (20000, 2)
    """
    if not isinstance(block_bytes, Integral) or block_bytes < 1:
        raise ValueError(f"block_bytes must be a whole number of at least 1, got {block_bytes!r}.")
    if _is_array(source):
        if features is not None:
            raise ValueError("features are columns with names, which arrays do not have.")
        return Scan(ArrayParts.of(source, label, groups, sample_weight), block_bytes)
    if _is_files(source):
        columns = Columns.of(readers_of(source), label, features, groups, sample_weight)
        return Scan(columns, block_bytes)
    if isinstance(source, bytes | dict) or not isinstance(source, Callable | Iterable):
        raise ValueError(
            f"scan cannot read {type(source).__name__}: pass paths, a frame, a pyarrow dataset, an "
            "array, or something that yields tuples (X, y)."
        )
    if features is not None or any(v is not None for v in (label, groups, sample_weight)):
        raise ValueError(
            "A reader of one's own yields (X, y, groups, sample_weight) itself: pass no columns."
        )
    return Scan(OwnParts.of(source), block_bytes)


@dataclass(frozen=True, eq=False)
class Scan:
    """Rows that are read when they are needed; made by :func:`scan`.

    Attributes
    ----------
    parts : Columns, ArrayParts or OwnParts
        What is read.
    block_bytes : int
        Size of a block of rows.
    """

    parts: Any
    block_bytes: int = BLOCK_BYTES

    @property
    def feature_names(self) -> list[str] | None:
        """The columns of features, None where they have no names."""
        names: list[str] | None = self.parts.names
        return names

    def rowset(self) -> tuple[PartedRowset, list[str] | None]:
        """Survey labels, weights and groups; return the rows, and the names of the features."""
        parts = self.parts
        if not parts.has_labels:
            raise ValueError("The scan has no label: name its column, scan(..., label=).")
        contiguous, survey = _Runs(), _nothing()
        for part in map(contiguous.seen, parts.survey()):
            survey = (survey + Survey.of(part)).as_one_part()
        rows = Streamed.of(parts, parts.n_features, parts.dtype, survey, self.block_bytes)
        if not parts.has_groups:
            return PartedRowset(rows), parts.names
        bundles = Contiguous(rows) if contiguous.hold else Spilled(rows)
        return in_groups(rows, bundles), parts.names

    def map_to(
        self,
        path: str | Path,
        method: Callable[..., Any],
        *,
        keep: Sequence[str] = (),
    ) -> None:
        """Apply a method of a fitted model to all rows, and write what it returns as Parquet.

        The rows stay in their order. The file is written whole or not at all.

        Parameters
        ----------
        path : str or Path
            The Parquet file to write.
        method : callable
            Such as ``mirror.transform``, ``mixture.predict``, ``mixture.component_proba``: it is
            given X, and y where it takes labels. A model that knows the names of its features is
            given those columns, whatever else was scanned. With groups, rows of a group must
            follow each other in the files.
        keep : list of str, default=()
            Columns to copy from the source, such as an identifier.
        """
        keep = [keep] if isinstance(keep, str) else list(keep or ())
        taken = inspect.signature(method).parameters
        labelled = "y" in taken and self.parts.has_labels
        if "y" in taken and taken["y"].default is inspect.Parameter.empty and not labelled:
            raise ValueError(
                f"{_name_of(method)} needs labels: name their column, scan(..., label=)."
            )
        grouped = "groups" in taken and self.parts.has_groups
        model: Any = getattr(method, "__self__", None)
        names = getattr(model, "feature_names_in_", None)
        source = self
        if names is not None and isinstance(self.parts, Columns):
            source = replace(self, parts=self.parts.with_features(list(names)))
        path = Path(path)
        if path.is_dir():
            raise ValueError(f"{path} is a folder: name the file to write.")
        with written_whole(path) as unfinished:
            writer = None
            try:
                for part, kept in source._whole_parts(grouped, keep):
                    arguments: dict[str, Any] = {"y": part.y} if labelled else {}
                    if grouped:
                        arguments["groups"] = part.groups
                    with _placed(part):
                        check_values(part, source.parts.names)
                        X = part.X if names is None else _named(part.X, list(names))
                        values = np.asarray(method(X, **arguments))
                        table = _output_table(method, values, part, kept)
                        writer = writer or pq.ParquetWriter(unfinished, table.schema)
                        writer.write_table(table.cast(writer.schema))
            finally:
                if writer is not None:
                    writer.close()
            if writer is None:
                raise ValueError("There are no rows (0 samples) to write.")

    def _whole_parts(
        self, grouped: bool, keep: Sequence[str]
    ) -> Iterator[tuple[Part, dict[str, Any]]]:
        parts = self.parts
        size = block_rows(self.block_bytes, parts.n_features, parts.dtype)
        read = parts.read(size, parts.dtype, keep)
        if not grouped:
            yield from (one for one in read if len(one[0]))
            return
        runs, held = _Runs(), []
        for part, kept in read:
            if not len(part):
                continue
            part = replace(part, weight=None)  # rows of weight 0 are judged like others
            held.append((runs.seen(part), kept))
            keys = keys_of(part)
            cut = int(np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))[-1])
            if cut or (len(held) > 1 and keys_of(held[-2][0])[-1] != keys[0]):
                yield _joined([*held[:-1], _cut(held[-1], slice(0, cut))])
                held = [_cut(held[-1], slice(cut, None))]
        if held:
            yield _joined(held)
        if not runs.hold:
            raise ValueError(
                "Rows of a group must follow each other to be judged together: sort the files by "
                "their groups first, or scan them without groups."
            )


class _Runs:
    """Whether rows of a group follow each other: whether no group begins twice.

    Of more groups than may be remembered it is not known, and taken for untrue.
    """

    def __init__(self) -> None:
        self._begun: list[NDArray[np.uint64]] = []
        self._n_begun = 0
        self._last: np.uint64 | None = None
        self._scattered = False

    def seen(self, part: Part) -> Part:
        """Look at the groups of the next part."""
        if part.groups is None or self._scattered:
            return part
        keys = keys_of(part)
        if len(keys):
            begun = keys[np.append(keys[0] != self._last, keys[1:] != keys[:-1])]
            self._last = keys[-1]
            self._begun.append(begun)
            self._n_begun += len(begun)
            self._scattered = len(np.unique(begun)) < len(begun) or self._n_begun > MOST_GROUPS
        return part

    @property
    def hold(self) -> bool:
        """Whether it is so for all parts that were seen."""
        if self._scattered or not self._begun:
            return not self._scattered
        return len(np.unique(np.concatenate(self._begun))) == self._n_begun


@contextmanager
def _placed(part: Part) -> Iterator[None]:
    """Say in one line what went wrong with which rows."""
    try:
        yield
    except ValueError as error:  # Arrow's are ValueErrors too
        told = str(error).strip().splitlines()[0].rstrip(".:")
        raise ValueError(f"{told} ({part.place})." if part.place else f"{told}.") from None


def check_values(part: Part, names: Sequence[str] | None) -> None:
    """Raise where a feature is missing or infinite."""
    bad = ~np.isfinite(part.X)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        what = "NaN" if np.isnan(part.X[row, column]) else "infinity"
        name = column if names is None else repr(names[column])
        raise ValueError(f"Input X contains {what} in column {name}, row {part.where(row)}")


def _name_of(method: Callable[..., Any]) -> str:
    name: str = getattr(getattr(method, "func", method), "__name__", "value")
    return name if name.isidentifier() else "value"


def _nothing() -> Survey:
    return Survey.of(Part(np.empty((0, 0)), np.empty(0)))


def _joined(parts: list[tuple[Part, dict[str, Any]]]) -> tuple[Part, dict[str, Any]]:
    first = parts[0][0]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part, _ in parts])
        for name in ("X", "y", "weight", "groups")
        if getattr(first, name) is not None
    }
    kept = {name: pa.concat_arrays([one[name] for _, one in parts]) for name in parts[0][1]}
    places = tuple(place for part, _ in parts for place in part.places)
    return replace(first, **columns, places=places), kept


def _cut(part: tuple[Part, dict[str, Any]], rows: slice) -> tuple[Part, dict[str, Any]]:
    values, kept = part
    columns = {
        name: getattr(values, name)[rows]
        for name in ("X", "y", "weight", "groups")
        if getattr(values, name) is not None
    }
    start, length = rows.start or 0, len(range(*rows.indices(len(values))))
    places, before = [], 0
    for name, first, last in values.places:
        a, b = max(start - before, 0), min(start + length - before, last - first + 1)
        if a < b:
            places.append((name, first + a, first + b - 1))
        before += last - first + 1
    return replace(values, **columns, places=tuple(places)), {
        name: column.slice(rows.start or 0, length) for name, column in kept.items()
    }


def _named(X: NDArray[Any], names: list[str]) -> Any:
    """Give columns the names that the model has seen."""
    import polars as pl

    return pl.from_numpy(X, schema=names, orient="row")


def _output_table(
    method: Callable[..., Any], values: NDArray[Any], part: Part, kept: dict[str, Any]
) -> Any:
    """Put what a method returns beside the columns that are kept."""
    columns = _output_columns(method, values, part)
    for name in set(kept) & set(columns):
        raise ValueError(f"{name!r} cannot be kept: the result has a column of that name")
    return pa.table({**kept, **columns})


def _output_columns(method: Callable[..., Any], values: NDArray[Any], part: Part) -> dict[str, Any]:
    """Name what a method returns: one column for one number a row, several otherwise."""
    name = _name_of(method)
    if values.ndim not in (1, 2) or len(values) != len(part):
        raise ValueError(
            f"{name} must return a value, or a line of them, for each of {len(part)} rows, but "
            f"returned shape {values.shape}"
        )
    model: Any = getattr(method, "__self__", None)
    if values.ndim == 1:
        return {name: pa.array(values)}
    if name == "transform" and hasattr(model, "get_feature_names_out"):
        names = list(model.get_feature_names_out())
    elif name == "predict_proba" and model is not None:
        names = [f"probability_{value}" for value in model.classes_]
    elif name == "component_proba":
        names = [f"component_{j}" for j in range(values.shape[1])]
    else:
        names = [f"{name}_{j}" for j in range(values.shape[1])]
    return {name: pa.array(column) for name, column in zip(names, values.T, strict=True)}


def _is_array(source: Any) -> bool:
    if isinstance(source, np.ndarray):
        return True
    if isinstance(source, str | Path):
        named = str(source).lower().endswith(".npy")
        return named and (Path(source).exists() or not any(c in str(source) for c in "*?["))
    return False


def _is_files(source: Any) -> bool:
    if isinstance(source, str | Path):
        return True
    if type(source).__module__.split(".")[0] in ("polars", "pyarrow", "pandas"):
        return True
    listed = isinstance(source, list | tuple) and len(source) > 0
    return listed and all(isinstance(one, str | Path) for one in source)
