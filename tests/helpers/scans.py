"""Sources to scan: the same rows in files of every format, and in blocks."""

import gzip
from functools import partial

import numpy as np
import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq

from spectralmirror import LinearClassifierMixture, SpectralMirror, scan

NAMES = ["a", "b", "c", "d", "e"]
SMALL = 8_000  # bytes: blocks of 200 rows
mirror = partial(SpectralMirror, 2, random_state=0)
mixture = partial(LinearClassifierMixture, 2, random_state=0)


def table(X, y, groups, weight):
    columns = {"y": y, "who": groups, "w": weight, "text": np.array(["-"] * len(y))}
    return pl.DataFrame(X, schema=NAMES[: X.shape[1]]).with_columns(**columns)


def to_parquet(frame, folder):
    for i, (start, n) in enumerate([(0, 1), (1, 1500), (1501, 0), (1501, 10_000)]):
        part = frame[start : start + n]
        pq.write_table(part.to_arrow(), folder / f"part-{i}.parquet", row_group_size=333)
    return str(folder / "part-*.parquet")


def to_csv_gz(frame, folder):
    with gzip.open(folder / "rows.csv.gz", "wb") as file:
        file.write(frame.write_csv().encode())
    return folder / "rows.csv.gz"


def written(method, name):
    def write(frame, folder):
        getattr(frame, method)(folder / name)
        return folder / name

    return write


def to_dataset(frame, folder):
    to_parquet(frame, folder)
    return pyarrow.dataset.dataset(folder, format="parquet")


SOURCES = {
    "parquet": to_parquet,
    "arrow": written("write_ipc", "rows.arrow"),
    "csv": written("write_csv", "rows.csv"),
    "csv.gz": to_csv_gz,
    "folder": lambda frame, folder: (to_parquet(frame, folder), folder)[1],
    "lazy": lambda frame, folder: frame.lazy(),
    "dataset": to_dataset,
    "table": lambda frame, folder: frame.to_arrow(),
}


def scanned(path, **columns):
    return scan(path, label="y", features=NAMES, block_bytes=SMALL, **columns)


def blocks_of(sizes, X, *columns):
    """Return a reader of one's own that yields parts of these sizes."""
    ends = np.cumsum(sizes)

    def read():
        for start, end in zip(ends - sizes, ends, strict=True):
            yield (X[start:end], *(None if c is None else c[start:end] for c in columns))

    return read
