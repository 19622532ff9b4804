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
from scipy import sparse

from spectralmirror.blocks import BLOCK_BYTES, block_rows
from spectralmirror.bundles import Contiguous, PartedRowset, Spilled, in_groups
from spectralmirror.files import written_whole
from spectralmirror.parts import Part, Streamed, Survey, keys_of
from spectralmirror.readers import Reader, paths_of, readers_of
from spectralmirror.tables import (
    check_columns,
    column_values,
    common_dtype,
    family,
    fill,
    is_number,
    nearest,
)

__all__ = ["Scan", "scan"]

#: Rows of which labels and groups are surveyed at a time.
SURVEYED = 65_536
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
        contiguous = _Runs()
        surveys = (contiguous.seen(part) for part in parts.survey())
        survey = _nothing()
        for part in surveys:
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
                        columns = _output_columns(method, np.asarray(method(X, **arguments)), part)
                    for name in set(kept) & set(columns):
                        raise ValueError(f"{name!r} cannot be kept: the result has that name.")
                    table = pa.table({**kept, **columns})
                    if writer is None:
                        writer, schema = pq.ParquetWriter(unfinished, table.schema), table.schema
                    with _placed(part):
                        writer.write_table(table.cast(schema))
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


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of files.

    Attributes
    ----------
    readers : list of Reader
        The files, in their order.
    features : list of str
        Columns of numbers.
    label, groups, weight : str or None
        The other columns that are needed.
    dtype : dtype
        Precision of the features.
    """

    readers: list[Reader]
    features: list[str]
    label: str | None
    groups: str | None
    weight: str | None
    dtype: np.dtype[Any]

    @classmethod
    def of(
        cls,
        readers: list[Reader],
        label: str | None,
        features: Sequence[str] | None,
        groups: str | None,
        weight: str | None,
    ) -> Columns:
        """Look at the names and types of the columns in every file."""
        others = [name for name in (label, groups, weight) if name is not None]
        features = [features] if isinstance(features, str) else features
        for name in (*others, *(features or ())):
            if not isinstance(name, str):
                raise ValueError(f"Columns are named by text, got {type(name).__name__}.")
        first = {name: _known_type(readers, name) for name in readers[0].types}
        if features is None:
            features = [n for n, kind in first.items() if n not in others and is_number(kind)]
        features = list(features)
        if not features:
            raise ValueError(f"{readers[0].name} has no column of numbers besides {others}.")
        for name in (name for name in others if name in features):
            raise ValueError(f"Column {name!r} cannot be a feature and something else too.")
        for reader in readers:
            types = reader.types
            for name in [*others, *features]:
                if name not in types:
                    raise ValueError(
                        f"{reader.name} has no column {name!r}{nearest(name, types)}"
                        + ("" if nearest(name, types) else ".")
                    )
            numbers = features if weight is None else [*features, weight]
            check_columns({name: types[name] for name in numbers}, f" of {reader.name}")
            for name in others:
                if str(types[name]) != "null" and family(types[name]) != family(first[name]):
                    raise ValueError(
                        f"Column {name!r} holds {types[name]} in {reader.name}, but {first[name]} "
                        f"in {readers[0].name}: files that are read together must agree."
                    )
        kinds = {str(reader.types[name]) for reader in readers for name in features}
        return cls(readers, features, label, groups, weight, common_dtype(kinds))

    def with_features(self, features: list[str]) -> Columns:
        """Return the same files with other features."""
        return Columns.of(self.readers, self.label, features, self.groups, self.weight)

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return self.features

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def has_labels(self) -> bool:
        """Whether there is a column of labels."""
        return self.label is not None

    @property
    def has_groups(self) -> bool:
        """Whether there is a column of groups."""
        return self.groups is not None

    def survey(self) -> Iterator[Part]:
        """Yield everything but the features."""
        for part, _ in replace(self, features=[]).read(SURVEYED, self.dtype, ()):
            yield part

    def read(
        self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """Yield parts of exactly so many rows, but for the last; with the columns to keep."""
        others = [name for name in (self.label, self.weight, self.groups) if name is not None]
        columns = list(dict.fromkeys([*self.features, *others, *(keep or ())]))
        for reader in self.readers if keep else ():
            for name in keep or ():
                if name not in reader.types:
                    raise ValueError(f"{reader.name} has no column {name!r} to keep.")
        part = _Assembly(self, n_rows, dtype, keep or ())
        as_they_are = {self.label, self.groups, *(keep or ())}
        numbers = [n for n in (*self.features, self.weight) if n and n not in as_they_are]
        for reader in self.readers:
            for batch in reader.batches(columns, n_rows, numbers):
                start = 0
                while start < batch.table.num_rows:
                    start += part.add(batch, start)
                    if part.is_full:
                        yield part.finished() if keep is not None else part.finished()[0]
                        part = _Assembly(self, n_rows, dtype, keep or ())
        if part.length:
            yield part.finished() if keep is not None else part.finished()[0]


class _Assembly:
    """A part that is put together from batches."""

    def __init__(self, columns: Columns, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str]):
        self.columns, self.n_rows, self.keep = columns, n_rows, keep
        self.X = np.empty((n_rows, len(columns.features)), dtype=dtype)
        self.length = 0
        self.pieces: dict[str, list[Any]] = {}
        self.places: list[tuple[str, int, int]] = []

    @property
    def is_full(self) -> bool:
        return self.length == self.n_rows

    def add(self, batch: Any, start: int) -> int:
        """Take rows of a batch from a place on, as many as there is room for."""
        count = int(min(batch.table.num_rows - start, self.n_rows - self.length))
        rows = batch.table.slice(start, count)
        self.columns_of(rows, self.X[self.length : self.length + count])
        others = (self.columns.label, self.columns.weight, self.columns.groups, *self.keep)
        for name in dict.fromkeys(others):
            if name is not None:
                self.pieces.setdefault(name, []).append(rows.column(name))
        row = batch.first_row + start
        if self.places and self.places[-1][0] == batch.name:
            row = self.places.pop()[1]
        self.places.append((batch.name, row, batch.first_row + start + count - 1))
        self.length += count
        return count

    def columns_of(self, rows: Any, X: NDArray[Any]) -> None:
        fill(X, [rows.column(name) for name in self.columns.features])

    def finished(self) -> tuple[Part, dict[str, Any]]:
        """Return the part, and the columns to keep."""
        columns, n = self.columns, self.length
        label, weight, groups = (
            None if name is None else np.concatenate(list(map(column_values, self.pieces[name])))
            for name in (columns.label, columns.weight, columns.groups)
        )
        y = np.empty(n) if label is None else label
        kept = {name: _one_array(self.pieces[name]) for name in self.keep}
        return Part(self.X[:n], y, weight, groups, tuple(self.places)), kept


def _one_array(pieces: list[Any]) -> Any:
    chunks = [c for p in pieces for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])]
    return pa.concat_arrays(chunks) if len(chunks) != 1 else chunks[0]


@dataclass(frozen=True, eq=False)
class ArrayParts:
    """Arrays in memory or mapped into it."""

    X: Any
    y: Any
    groups: Any
    weight: Any
    place: str
    names: None = None

    @classmethod
    def of(cls, source: Any, label: Any, groups: Any, weight: Any) -> ArrayParts:
        """Open the arrays."""
        X = _array(source)
        y, groups, weight = (
            None if value is None else _array(value) for value in (label, groups, weight)
        )
        if X.ndim != 2 or not X.shape[1]:
            raise ValueError(
                f"X must be a table of rows and columns (Expected 2D array), got shape {X.shape}."
            )
        check_columns({"X": X.dtype})
        others = {"label": y, "groups": groups, "sample_weight": weight}
        for name, values in others.items():
            if values is not None and values.shape != X.shape[:1]:
                raise ValueError(
                    f"{name} must hold one value for each of {len(X):,} rows, got shape "
                    f"{values.shape}."
                )
        place = str(source) if isinstance(source, str | Path) else "the array"
        return cls(X, y, groups, weight, place)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        return common_dtype([self.X.dtype])

    @property
    def has_labels(self) -> bool:
        """Whether there are labels."""
        return self.y is not None

    @property
    def has_groups(self) -> bool:
        """Whether there are groups."""
        return self.groups is not None

    def survey(self) -> Iterator[Part]:
        """Yield everything but the features."""
        for start in range(0, len(self.X), SURVEYED):
            part = self._part(start, min(start + SURVEYED, len(self.X)))
            yield replace(part, X=np.empty((len(part), 0)))

    def read(
        self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """Yield parts of so many rows, but for the last."""
        if keep:
            raise ValueError("Arrays have no columns with names to keep.")
        for start in range(0, len(self.X), n_rows):
            part = self._part(start, min(start + n_rows, len(self.X)))
            part = replace(part, X=np.asarray(part.X).astype(dtype, copy=False))
            yield part if keep is None else (part, {})

    def _part(self, start: int, end: int) -> Part:
        y, weight, groups = (
            None if values is None else np.asarray(values[start:end])
            for values in (self.y, self.weight, self.groups)
        )
        y = np.empty(end - start) if y is None else y
        return Part(self.X[start:end], y, weight, groups, ((self.place, start, end - 1),))


@dataclass(frozen=True, eq=False)
class OwnParts:
    """Blocks from a reader of the user's own."""

    blocks: Callable[[], Iterable[Any]]
    first: Part
    has_labels: bool = True
    names: None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.first.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features."""
        return common_dtype([self.first.X.dtype])

    @property
    def has_groups(self) -> bool:
        """Whether there are groups."""
        return self.first.groups is not None

    @classmethod
    def of(cls, source: Any) -> OwnParts:
        """Look at the first block."""
        if isinstance(source, Iterator):
            raise ValueError(
                "The rows are read several times, but a generator or iterator yields them once: "
                "pass the function that makes it, or an object with __iter__."
            )
        blocks = source if callable(source) else lambda: source
        parts = (_own_part(block, number) for number, block in enumerate(blocks()))
        first = next((part for part in parts if len(part)), None)
        if first is None:
            raise ValueError("There are no rows (0 samples).")
        return cls(blocks, first)

    def survey(self) -> Iterator[Part]:
        """Yield the parts."""
        for number, block in enumerate(self.blocks()):
            part = _own_part(block, number)
            if len(part):
                self._check_like_first(part)
                yield part

    def _check_like_first(self, part: Part) -> None:
        """Raise where a block has other columns, or of another kind, than the first one."""
        first, where = self.first, part.places[0][0]
        if part.X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {part.X.shape[1]} features in {where}, but {self.n_features} in the first."
            )
        if common_dtype([part.X.dtype]).itemsize > self.dtype.itemsize:
            raise ValueError(f"X is {part.X.dtype} in {where}, but {self.dtype} in the first.")
        for name in ("y", "groups", "weight"):
            ours, theirs = getattr(part, name), getattr(first, name)
            if (ours is None) != (theirs is None):
                raise ValueError(f"{where} and the first block do not both have {name}.")
            if ours is not None and _kind_of(ours) != _kind_of(theirs):
                raise ValueError(
                    f"{name} holds {ours.dtype} in {where}, but {theirs.dtype} in the first block."
                )

    def read(
        self, n_rows: int, dtype: np.dtype[Any], keep: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """Yield the parts as they come."""
        if keep:
            raise ValueError("Blocks of one's own have no columns with names to keep.")
        for part in self.survey():
            yield part if keep is None else (part, {})


def _own_part(block: Any, number: int) -> Part:
    place = f"block {number}"
    if not isinstance(block, tuple) or not 2 <= len(block) <= 4:
        raise ValueError(
            f"A reader of one's own yields tuples (X, y), (X, y, groups) or (X, y, groups, "
            f"sample_weight), but {place} is a {type(block).__name__}."
        )
    X, y, groups, weight = (*block, None, None)[:4]
    if sparse.issparse(X):
        raise ValueError(f"X is sparse in {place}: pass arrays, X.toarray().")
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {X.shape} in {place}.")
    check_columns({"X": X.dtype}, f" of {place}")
    others = [None if values is None else np.asarray(values) for values in (groups, weight)]
    for name, values in zip(("y", "groups", "sample_weight"), (y, *others), strict=True):
        if values is not None and values.shape != X.shape[:1]:
            raise ValueError(f"X has {len(X)} rows in {place} but {name} has {values.shape}.")
    return Part(X, y, others[1], others[0], ((place, 0, len(X) - 1),))


def _kind_of(values: NDArray[Any]) -> str:
    """Return what values can be compared with; objects are what the first of them is."""
    if values.dtype == object:
        return _kind_of(np.asarray(values[:1].tolist())) if values[0] is not None else "text"
    return {"i": "numbers", "u": "numbers", "f": "numbers", "b": "numbers", "U": "text"}.get(
        values.dtype.kind, str(values.dtype)
    )


def _known_type(readers: list[Reader], name: str) -> Any:
    """Return the type of a column in the first file in which it has one."""
    kinds = [reader.types[name] for reader in readers if name in reader.types]
    return next((kind for kind in kinds if str(kind).lower() != "null"), kinds[0])


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


def _array(source: Any) -> Any:
    if isinstance(source, str | Path):
        path = paths_of(source)[0]
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(f"{source} is no .npy file that can be read: {error}.") from None
        if not isinstance(found, np.ndarray):
            raise ValueError(f"{source} is no .npy file that can be read: it holds several arrays.")
        return found
    return np.asarray(source)
