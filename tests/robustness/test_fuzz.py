"""Spoiled files: a few hundred of the thousands of ``make fuzz``, and those that were worst."""

import gzip
import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from benchmarks.fuzz import FINE, fuzz
from benchmarks.mutations import _laughs

from spectralmirror import SpectralMirror, load, save, scan
from spectralmirror.rows.files.readers import count_rows, open_reader, readers_of
from spectralmirror.tables.archive import MOST_BYTES

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1.skops"


@pytest.mark.parametrize(
    ("kind", "n"),
    [("model, parts", 120), ("Parquet, scan", 80), ("Arrow, scan", 80)],
)
def test_spoiled_files_are_refused_or_harmless(kind, n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = list(fuzz(kind, 0, 0, n))
    allowed = (*FINE, "other model") if kind == "model, parts" else FINE
    assert [one for one in found if one[1] not in allowed] == []
    counts = Counter(what for _, what, _ in found)
    assert sum(counts.values()) == n
    assert counts["refused"] > n / 2


def packed(change):
    """Return the golden model with another schema, and right checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(GOLDEN) as file, zipfile.ZipFile(buffer, "w") as other:
        for name in file.namelist():
            data = file.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                change(schema)
                data = json.dumps(schema).encode()
            other.writestr(name, data)
    return buffer.getvalue()


def doubled(schema):
    """Write lists in which each holds the next one twice, which nobody can walk through."""
    _laughs(schema["content"]["model"], {}, Random(0))


def nested(schema):
    model = schema["content"]["model"]
    for i in range(200):
        model = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
                 "content": [model], "__id__": 10**6 + i}  # fmt: skip
    schema["content"]["model"] = model


def estimator(schema):
    node = schema["content"]["model"]
    node["__module__"], node["__class__"] = "sklearn.pipeline", "Pipeline"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (doubled, "two different nodes with the same id, which no model"),
        (nested, "a list, which is not a model"),
        (estimator, r"sklearn\.pipeline\.Pipeline, which no model"),
    ],
)
def test_models_that_only_look_like_ours(change, told, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(packed(change))
    with pytest.raises(ValueError, match=rf"m\.skops holds {told}"):
        load(path)


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(GOLDEN.read_bytes())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("1.npy", bytes(MOST_BYTES))
    with pytest.raises(ValueError, match="holds more than it should"):
        load(path)


def test_a_model_of_many_equal_numbers_is_no_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr("spectralmirror.tables.archive.MOST_BYTES", 1 << 16)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 200))
    mirror = SpectralMirror(2, covariance=np.eye(200), mean=np.zeros(200), random_state=0)
    mirror.fit(X, np.sign(X[:, 0]))
    save(mirror, tmp_path / "m.skops")
    np.testing.assert_array_equal(load(tmp_path / "m.skops").components_, mirror.components_)


TABLE = pa.table({"x": np.arange(6.0), "y": ["no", "yes"] * 3})


def read(path):
    return list(open_reader(path).batches(["x", "y"], 100))


def test_pages_of_a_kind_that_is_not_known_are_missed(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=3, compression="none", use_dictionary=False)
    second = pq.read_metadata(path).row_group(1)
    data = bytearray(path.read_bytes())
    for j in range(2):
        place = second.column(j).data_page_offset
        assert data[place : place + 2] == b"\x15\x00"  # the first field, a page of data
        data[place + 1] = 14
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"t\.parquet is damaged: it has 3 rows where 6 should be"):
        read(path)


def test_text_that_lies_outside_its_file(tmp_path):
    path = tmp_path / "t.arrow"
    pa.feather.write_feather(TABLE, path, compression="uncompressed")
    data = path.read_bytes()
    places = np.array([0, 2, 5, 7], dtype="<i4").tobytes()
    assert data.count(places) == 1
    path.write_bytes(data.replace(places, np.array([0, 2, 2**30, 7], dtype="<i4").tobytes()))
    with pytest.raises(ValueError, match=r"t\.arrow is damaged, and cannot be read from row 0 on"):
        read(path)


@pytest.mark.parametrize("place", [-1, 14, 30])
def test_gzip_that_is_cut_off_or_damaged(place, tmp_path):
    path = tmp_path / "t.csv.gz"
    whole = gzip.compress(b"x,y\n" + b"1,no\n2,yes\n" * 50)
    path.write_bytes(whole[:place] if place != 14 else whole[:14] + b"\xff" * 20 + whole[34:])
    with pytest.raises(ValueError, match=r"t\.csv\.gz cannot be read"):
        read(path)


def test_files_that_are_not_parquet_are_reported_when_rows_are_counted(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"t\.parquet is not a readable Parquet file"):
        count_rows(readers_of(path))


def test_labels_that_are_not_utf8(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n1,no\n2,y\xff\n3,no\n")
    with pytest.raises(ValueError, match=r"'y' of .*t\.csv holds bytes, or text that is not UTF-8"):
        scan(path, label="y")
    with pytest.raises(ValueError, match=r"t\.csv cannot be read: column 'y' holds text that is"):
        read(path)
