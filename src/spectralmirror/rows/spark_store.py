"""Partitions that Spark's executors keep, so that rows cross from the JVM to Python once.

The first pass writes each partition to a file on the local disk of its executor. Spark remembers
the name of that file and runs later tasks where it is; they map it into memory. If an executor is
lost, Spark repeats the first pass for its partitions. A partition whose file is elsewhere, or did
not fit on the disk, is read from the DataFrame again: the sums are the same, only slower.
"""

from __future__ import annotations

import functools
import os
import pickle
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.files.arrow import column_values
from spectralmirror.rows.part import Part

__all__ = ["Reader", "StoredParts", "Writer", "merged"]

T = TypeVar("T")
#: A function of the number of a partition and of its rows.
Run = Callable[[int, Iterator[Part]], Any]
#: Rows that are written, and later read, at a time.
BATCH_ROWS = 16_384


class Reader(Protocol):
    """Turns the Arrow batches of a partition into parts."""

    def parts(self, batches: Iterator[Any], number: int) -> Iterator[Part]:
        """Yield the parts of partition `number`: an empty one if there are no rows."""


@dataclass(frozen=True, eq=False)
class StoredParts:
    """The partitions of a DataFrame, kept by Spark's executors.

    Attributes
    ----------
    df : DataFrame
        Where the rows come from.
    reader : Reader
        How they become parts.
    stored : RDD
        Of each partition its number, its file and what the first pass returned.
    """

    df: Any
    reader: Reader
    stored: Any

    @classmethod
    def of(cls, df: Any, reader: Reader, run: Run) -> tuple[Self, list[Any]]:
        """Store all partitions; return them, and run(number, parts) of each of them in order."""
        from pyspark import StorageLevel

        mapped = df.mapInArrow(functools.partial(_stored, reader, run), "value binary")
        stored = mapped.rdd.mapPartitionsWithIndex(_numbered)
        stored = stored.persist(StorageLevel.MEMORY_AND_DISK)
        with _explained():
            found = dict(stored.map(_summary).collect())
        parts = cls(df, reader, stored)
        weakref.finalize(parts, _forget, stored).atexit = False  # Spark deletes its own files
        return parts, [_or_raised(found[number]) for number in sorted(found)]

    def reduce(self, run: Run) -> Any:
        """Return the sum of run(number, parts) over the partitions; None adds nothing.

        There are as many tasks as processors, not as partitions: with little left to read, what
        Spark does for each task would take most of the time.
        """
        n_tasks = min(self.stored.getNumPartitions(), self.stored.context.defaultParallelism)
        partials = self.stored.coalesce(n_tasks).map(functools.partial(_of_file, run))
        with _explained():
            total, missing = partials.treeReduce(_total)
            again = self._read_again(run, missing)
        return _or_raised(functools.reduce(merged, again, total))

    def _read_again(self, run: Run, missing: tuple[int, ...]) -> list[Any]:
        """Return the values of partitions whose files are not where their tasks ran."""
        if not missing:
            return []
        values = self.df.mapInArrow(functools.partial(_direct, self.reader, run), "value binary")
        rdd = values.rdd.map(_unpacked)
        return list(rdd.context.runJob(rdd, list, sorted(missing)))


def _partition_number() -> int:
    """Return the number of the partition of this task, for error messages.

    A partition that is made again after an executor was lost may be one of several of its task,
    and then has the task's number, which is why files are not named by it.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _stored(reader: Reader, run: Run, batches: Iterator[Any]) -> Iterator[Any]:
    """Write a partition while it is summed: (file or None, value)."""
    from pyspark import SparkFiles

    # An absolute path: other executors of the same machine can read the file, too.
    path = Path(SparkFiles.getRootDirectory(), f"spectralmirror-{uuid4().hex}.arrow").resolve()
    writer = Writer(path)
    try:
        value = _value(
            lambda i, parts: run(i, writer.written(parts)), reader, _partition_number(), batches
        )
        kept = writer.finished()
    except BaseException:
        writer.discard()
        raise
    yield _packed((kept, value))


def _numbered(number: int, rows: Iterator[Any]) -> Iterator[tuple[int, str | None, Any]]:
    """Return the number of the partition, its file and its value."""
    for row in rows:
        yield number, *_unpacked(row)


def _direct(reader: Reader, run: Run, batches: Iterator[Any]) -> Iterator[Any]:
    yield _packed(_value(run, reader, _partition_number(), batches))


def _value(run: Run, reader: Reader, number: int, batches: Iterator[Any]) -> Any:
    """Return run(number, parts), or an error about the rows.

    Executors do not raise such errors: Spark would run the task again in vain. All batches are
    read, even after an error: Spark waits for that.
    """
    batches = iter(batches)
    try:
        return run(number, reader.parts(batches, number))
    except ValueError as error:
        for _ in batches:
            pass
        return error


def _of_file(run: Run, stored: tuple[int, str | None, Any]) -> tuple[Any, tuple[int, ...]]:
    """Return the value of a stored partition; or None, and its number if it is not here."""
    number, path, _ = stored
    try:
        source = None if path is None else pa.memory_map(path)
    except OSError:
        source = None
    if source is None:
        return None, (number,)
    with source, pa.ipc.open_file(source) as file:
        try:
            return run(number, _read(file, number)), ()
        except ValueError as error:
            return error, ()


class Writer:
    """Writes parts into one file; gives up, and deletes it, if the disk is full."""

    def __init__(self, path: Path):
        self._path = path
        self._file: Any = None
        self._failed = False

    def written(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Yield the parts, and write each of them, in larger pieces if they are small."""
        waiting: list[Part] = []
        for part in parts:
            yield part
            waiting.append(part)
            if sum(map(len, waiting)) >= BATCH_ROWS:
                self._write(Part.joined(waiting))
                waiting = []
        if waiting:
            self._write(Part.joined(waiting))

    def finished(self) -> str | None:
        """Close the file, and return its name; None if there is none."""
        try:
            if self._file is not None:
                self._file.close()
        except OSError:
            self._failed = True
        if self._failed or self._file is None:
            self.discard()
            return None
        return str(self._path)

    def discard(self) -> None:
        """Delete the file."""
        with suppress(OSError):
            self._path.unlink()

    def _write(self, part: Part) -> None:
        if self._failed:
            return
        batch = _as_batch(part)
        try:
            if self._file is None:
                self._file = pa.ipc.new_file(str(self._path), batch.schema)
            self._file.write_batch(batch)
        except OSError:
            self._failed = True


def _as_batch(part: Part) -> Any:
    """Return the rows with their features as one column of lists."""
    columns = {"X": _as_lists(part.X), "y": pa.array(part.y)}
    if part.traits is not None:
        columns["traits"] = _as_lists(part.traits)
    for name in ("weight", "groups", "choices"):
        values = getattr(part, name)
        if values is not None:
            columns[name] = pa.array(values)
    return pa.RecordBatch.from_pydict(columns)


def _as_lists(matrix: Any) -> Any:
    lines = np.ascontiguousarray(matrix)
    return pa.FixedSizeListArray.from_arrays(pa.array(lines.ravel()), lines.shape[1])


def _as_matrix(lists: Any) -> NDArray[Any]:
    found: NDArray[Any] = lists.flatten().to_numpy().reshape(len(lists), lists.type.list_size)
    return found


def _read(file: Any, number: int) -> Iterator[Part]:
    """Yield the parts of a file; their features are not copied."""
    place, before = f"partition {number}", 0
    for i in range(file.num_record_batches):
        batch = file.get_batch(i)
        X, names = _as_matrix(batch.column("X")), batch.schema.names
        traits = _as_matrix(batch.column("traits")) if "traits" in names else None
        y, weight, groups, choices = (
            column_values(batch.column(name)) if name in names else None
            for name in ("y", "weight", "groups", "choices")
        )
        assert y is not None
        places = ((place, before, before + len(X) - 1),)
        yield Part(X, y, weight, groups, places, choices=choices, traits=traits)
        before += len(X)


def _forget(stored: Any) -> None:
    """Delete the files, and what Spark remembers of them.

    A thread of its own does: this one may be in the middle of a call of Spark.
    """

    def run() -> None:
        with suppress(Exception):  # Spark may have stopped: then its files are gone
            stored.foreach(_delete)
            stored.unpersist()

    threading.Thread(target=run, daemon=True).start()


def _delete(stored: tuple[int, str | None, Any]) -> None:
    with suppress(OSError, TypeError):
        os.unlink(stored[1])  # type: ignore[arg-type]


def _summary(stored: tuple[int, str | None, Any]) -> tuple[int, Any]:
    return stored[0], stored[2]


def _total(
    a: tuple[Any, tuple[int, ...]], b: tuple[Any, tuple[int, ...]]
) -> tuple[Any, tuple[int, ...]]:
    return merged(a[0], b[0]), a[1] + b[1]


def merged(a: Any, b: Any) -> Any:
    """Return the sum of two values, or the error that one of them is; None adds nothing."""
    if a is None or isinstance(b, ValueError):
        return b
    return a if b is None or isinstance(a, ValueError) else a + b


def _or_raised(value: Any) -> Any:
    """Return a sum, or raise the error that an executor returned in its place."""
    if isinstance(value, ValueError):
        raise value
    return value


def _packed(value: Any) -> Any:
    column = pa.array([pickle.dumps(value)], type=pa.binary())
    return pa.RecordBatch.from_arrays([column], names=["value"])


def _unpacked(row: Any) -> Any:
    return pickle.loads(row[0])


#: What Spark's errors say, and what is raised instead: one sentence.
_EXPLAINED: dict[str, Exception] = {
    "No module named 'spectralmirror'": ModuleNotFoundError(
        "Spark's executors cannot import spectralmirror: install it where they run, and let the "
        "environment variable PYSPARK_PYTHON name the Python that has it."
    ),
    "indeterminate output": RuntimeError(
        "Spark lost an executor, and the rows that it made again were not the same, or in another "
        "order: write the DataFrame to files, or checkpoint it, and fit what is read from there."
    ),
    "ExecutorLostFailure": RuntimeError(
        "Spark lost its executors again and again: give them more memory (spark.executor.memory, "
        "spark.executor.memoryOverhead), or make the partitions smaller with df.repartition."
    ),
}


@contextmanager
def _explained() -> Iterator[None]:
    """Raise one sentence if executors run another Python, or were lost for good."""
    try:
        yield
    except Exception as error:
        for words, explained in _EXPLAINED.items():
            if words in str(error):
                raise type(explained)(*explained.args) from None
        raise
