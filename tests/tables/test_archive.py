"""The archive of a stored model, and what is refused before any object is built from it."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from spectralmirror.tables import archive
from spectralmirror.tables.archive import Archive, ForeignError

GOLDEN = Path(__file__).parents[1] / "golden" / "format-2.skops"


@pytest.fixture
def golden():
    return Archive.unpack(GOLDEN.read_bytes())


def node(loader, module="builtins", kind="list", **others):
    return {"__loader__": loader, "__module__": module, "__class__": kind, **others}


def zipped(parts, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()


def test_packing_and_unpacking_keep_everything(golden):
    golden.check()
    again = Archive.unpack(golden.pack())
    assert again.schema == golden.schema
    assert again.arrays == golden.arrays
    assert golden.arrays
    assert golden.value("format") == 2
    assert golden.value("written_by").startswith("spectralmirror ")


def test_parts_that_nothing_refers_to_are_not_read(golden, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(GOLDEN.read_bytes())
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("other.npy", b"anything")
    assert Archive.unpack(path.read_bytes()).arrays == golden.arrays


def test_an_archive_that_compresses_too_well_is_packed_without_compression(monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 1_000)
    zeros = Archive(node("DictNode", content={"a": {"file": "1.npy"}}), {"1.npy": bytes(10_000)})
    zeros.schema["content"]["a"] = node("NdArrayNode", file="1.npy")
    assert Archive.unpack(zeros.pack()).arrays == zeros.arrays
    with pytest.raises(ForeignError, match="more than it should"):
        Archive.unpack(zipped({"schema.json": json.dumps(zeros.schema), **zeros.arrays}))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_cannot_be_bounded_are_refused(compression, golden):
    parts = {"schema.json": json.dumps(golden.schema), **golden.arrays}
    Archive.unpack(zipped(parts))
    with pytest.raises(ForeignError, match="compressed in another way"):
        Archive.unpack(zipped(parts, compression))


def test_a_wrong_checksum_is_noticed(golden):
    packed = bytearray(golden.pack(zipfile.ZIP_STORED))
    name, data = next(iter(golden.arrays.items()))
    place = packed.index(data) + len(data) - 1
    packed[place] ^= 1
    with pytest.raises(zipfile.BadZipFile, match=name):
        Archive.unpack(bytes(packed))


def test_objects_are_renamed_and_others_are_refused():
    tree = node("ListNode", content=[node("ObjectNode", "ours", "A"), node("ListNode", content=[])])
    found = Archive(tree, {}).renamed({"ours.A": "elsewhere.inside.B"}).schema["content"]
    assert (found[0]["__module__"], found[0]["__class__"]) == ("elsewhere.inside", "B")
    assert found[1] == tree["content"][1]
    assert tree["content"][0]["__module__"] == "ours"
    with pytest.raises(ForeignError, match=r"ours\.A"):
        Archive(tree, {}).renamed({"ours.B": "ours.B"})


@pytest.mark.parametrize("loader", ["FunctionNode", "MethodNode", "PartialNode", "Nonsense"])
def test_loaders_that_no_model_needs_are_refused(loader):
    with pytest.raises(ForeignError, match=r"operator\.methodcaller"):
        Archive(node("ListNode", content=[node(loader, "operator", "methodcaller")]), {}).check()


def test_nodes_with_the_same_id_must_be_the_same():
    inner = node("ListNode", content=[], __id__=1)
    Archive(node("ListNode", content=[inner, dict(inner)], __id__=2), {}).check()
    outer = node("ListNode", content=[inner], __id__=1)
    with pytest.raises(ForeignError, match="same id"):
        Archive(outer, {}).check()
