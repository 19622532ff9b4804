"""Ways to damage a file: bytes of any file, and parts of stored models with valid checksums."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np

__all__ = ["CANARY", "mutated_bytes", "mutated_model"]

#: What pickles in mutated models would make, if anybody unpickled them.
CANARY = "spectralmirror-canary"
#: A member of this many bytes is a bomb.
BOMB = 1 << 27


# Any file


def _place(data: bytearray, rng: Random) -> int:
    """Return a position, every other time near an end, where files keep their metadata."""
    n = max(len(data), 1)
    near = min(n, 400)
    anywhere, begin, end = rng.randrange(n), rng.randrange(near), n - 1 - rng.randrange(near)
    return rng.choice([anywhere, anywhere, begin, end])


def _chunk(data: bytearray, rng: Random) -> tuple[int, int]:
    start = _place(data, rng)
    return start, min(len(data), start + rng.choice([1, 2, 4, 8, 16, 64, 256, 1024]))


def _flip(data: bytearray, rng: Random) -> None:
    data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, rng: Random) -> None:
    start, stop = _chunk(data, rng)
    value = rng.choice([b"\x00", b"\xff", b"\x7f", b"\x80", b"\n", b",", b'"', None])
    data[start:stop] = rng.randbytes(stop - start) if value is None else value * (stop - start)


def _insert(data: bytearray, rng: Random) -> None:
    start, _ = _chunk(data, rng)
    data[start:start] = rng.randbytes(rng.choice([1, 2, 4, 8, 100]))


def _delete(data: bytearray, rng: Random) -> None:
    start, stop = _chunk(data, rng)
    del data[start:stop]


def _truncate(data: bytearray, rng: Random) -> None:
    del data[_place(data, rng) :]


def _splice(data: bytearray, rng: Random) -> None:
    start, stop = _chunk(data, rng)
    there = _place(data, rng)
    data[there : there + stop - start] = data[start:stop]


def _duplicate(data: bytearray, rng: Random) -> None:
    start, stop = _chunk(data, rng)
    data[start:start] = data[start:stop] * rng.choice([1, 1, 2, 50])


_BYTES = [_flip, _flip, _overwrite, _insert, _delete, _truncate, _splice, _duplicate]


def mutated_bytes(data: bytes, rng: Random) -> bytes:
    """Return the file with one to four changes, at least one of them effective."""
    changed = bytearray(data)
    for change in rng.choices(_BYTES, k=rng.choice([1, 1, 2, 4])):
        if changed:
            change(changed, rng)
    if changed == data:
        _flip(changed, rng)
    return bytes(changed)


# Stored models: an archive of schema.json and arrays

#: What a JSON value may be exchanged for.
_VALUES = (
    "0", "-1", "1", "3", "7", "0.5", "1e308", "-1e308", "1e999", "NaN", "Infinity", "null", "true",
    "[]", "{}", '""', '"x"', '"logistic"', '"hard"', "99999999999999999999", "[[1]]", '{"a": 1}',
    "[" * 500 + "]" * 500, "not JSON",
)  # fmt: skip
_NAMES = [
    ("os", "system"), ("posix", "system"), ("subprocess", "Popen"), ("builtins", "eval"),
    ("builtins", "exec"), ("builtins", "dict"), ("builtins", "list"), ("builtins", "str"),
    ("builtins", "int"), ("builtins", "bytes"), ("builtins", "object"), ("builtins", "type"),
    ("numpy", "ndarray"), ("numpy", "float64"), ("numpy", "str_"), ("numpy", "load"),
    ("numpy", "memmap"), ("numpy", "frombuffer"), ("collections", "OrderedDict"), ("this", "s"),
    ("sklearn.linear_model._logistic", "LogisticRegression"), ("antigravity", "webbrowser"),
    ("sklearn.pipeline", "Pipeline"), ("scipy.sparse", "csr_matrix"), ("functools", "partial"),
    ("spectralmirror", "SpectralMirror"),
    ("spectralmirror.recipe", "Number"),
    ("spectralmirror", "LinearClassifierMixture"), ("operator", "methodcaller"),
    ("spectralmirror", "Start"), ("spectralmirror.tables.storage", "load"),
    ("spectralmirror.cli", "main"), ("numpy.random.mtrand", "RandomState"),
]  # fmt: skip
_LOADERS = [
    "DictNode", "ListNode", "TupleNode", "SetNode", "JsonNode", "NdArrayNode", "MaskedArrayNode",
    "ObjectNode", "TypeNode", "FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode",
    "ConstructorFromReduceNode", "SliceNode", "BytesNode", "DTypeNode", "RandomStateNode",
    "RandomGeneratorNode", "CachedNode", "SparseMatrixNode", "DefaultDictNode", "Nonsense",
]  # fmt: skip


class _Bomb:
    def __reduce__(self) -> Any:
        return eval, (f"open({CANARY!r}, 'w')",)


def _nodes(state: Any) -> list[dict[str, Any]]:
    found, inside = [], [state]
    while inside:
        state = inside.pop()
        if isinstance(state, dict):
            if "__loader__" in state:
                found.append(state)
            inside += state.values()
        elif isinstance(state, list):
            inside += state
    return found


def _some(schema: Any, rng: Random) -> dict[str, Any]:
    return rng.choice(_nodes(schema))


def _change_value(schema: Any, members: Any, rng: Random) -> None:
    leaves = [node for node in _nodes(schema) if node["__loader__"] == "JsonNode"]
    rng.choice(leaves or [schema])["content"] = rng.choice(_VALUES)


def _change_kind(schema: Any, members: Any, rng: Random) -> None:
    node = _some(schema, rng)
    if rng.random() < 0.7:
        node["__module__"], node["__class__"] = rng.choice(_NAMES)
    if rng.random() < 0.5:
        node["__loader__"] = rng.choice(_LOADERS)


def _drop_key(schema: Any, members: Any, rng: Random) -> None:
    node = _some(schema, rng)
    inner = node.get("content")
    node = inner if isinstance(inner, dict) and inner and rng.random() < 0.7 else node
    del node[rng.choice(list(node))]


def _rename_key(schema: Any, members: Any, rng: Random) -> None:
    inside = [n["content"] for n in _nodes(schema) if isinstance(n.get("content"), dict)]
    content = rng.choice([one for one in inside if one] or [schema])
    old = rng.choice(list(content))
    new = ["predict", "predict_proba", "__class__", "__dict__", "__init__", "coef_", "summary", "é"]
    content[rng.choice(new)] = content.pop(old)


def _exchange(schema: Any, members: Any, rng: Random) -> None:
    one, other = _some(schema, rng), _some(schema, rng)
    copy = json.loads(json.dumps(other))
    one.clear()
    one.update(copy)


def _same_ids(schema: Any, members: Any, rng: Random) -> None:
    """Ids that point back, also to what is not finished yet."""
    nodes = _nodes(schema)
    for node in rng.choices(nodes, k=rng.choice([1, 2, 20])):
        node["__id__"] = rng.choice(nodes).get("__id__")


def _list_of(items: list[Any], i: int) -> dict[str, Any]:
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
            "content": items, "__id__": i}  # fmt: skip


def _deep(schema: Any, members: Any, rng: Random) -> None:
    inner = json.loads(json.dumps(_some(schema, rng)))
    for i in range(rng.choice([20, 200, 900])):
        inner = _list_of([inner], 10**6 + i)
    schema["content"]["model"] = inner


def _laughs(schema: Any, members: Any, rng: Random) -> None:
    """Write lists of lists of lists, each twice: 2^60 of them."""
    leaf = _list_of([], 10**6)
    inner: dict[str, Any] = leaf
    for i in range(1, 60):
        again = {**leaf, "__id__": inner["__id__"]}
        inner = _list_of([inner, again], 10**6 + i)
    _some(schema, rng).update(inner)


def _protocol(schema: Any, members: Any, rng: Random) -> None:
    schema["protocol"] = rng.choice([0, 1, 2, 3, -1, 99, True, None, "2", 1.5])


def _array(rng: Random, members: dict[str, bytes]) -> str | None:
    names = [name for name in members if name.endswith(".npy")]
    return rng.choice(names) if names else None


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _spoil_array(schema: Any, members: Any, rng: Random) -> None:
    name = _array(rng, members)
    if name is not None:
        members[name] = mutated_bytes(members[name], rng)


def _change_numbers(schema: Any, members: Any, rng: Random) -> None:
    name = _array(rng, members)
    if name is None:
        return
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    other = [np.nan, np.inf, -np.inf, 0, -1, 1e308, -0.3, 2.0]
    if array.size and array.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            array = array.astype(np.float64)
        array.flat[rng.randrange(array.size)] = rng.choice(other)
    members[name] = _npy(array)


def _change_form(schema: Any, members: Any, rng: Random) -> None:
    name = _array(rng, members)
    if name is None:
        return
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    forms: list[Callable[[], Any]] = [
        lambda: array.T, lambda: array.ravel(), lambda: array[..., None], lambda: array[:0],
        lambda: array.astype(str), lambda: array.astype(complex), lambda: array.astype("f2"),
        lambda: array.astype(bool), lambda: array[:1], lambda: np.asfortranarray(array),
        lambda: np.zeros(0), lambda: np.float64(3), lambda: array.astype("S8"),
        lambda: array.astype(">f8"), lambda: np.zeros((2, 3, 4)), lambda: np.array(["a", "b"]),
    ]  # fmt: skip
    try:
        members[name] = _npy(rng.choice(forms)())
    except (TypeError, ValueError, IndexError):
        members[name] = _npy(np.zeros(3))


def _huge(schema: Any, members: Any, rng: Random) -> None:
    """Promise more numbers than there are."""
    name = _array(rng, members)
    shape = rng.choice(["(10**12,)", "(1000000000000,)", "(2147483648, 2147483648)", "(-1,)",
                        "(0, 9223372036854775807)", "(300000000,)", "()", "(True,)"])  # fmt: skip
    kind = rng.choice(["<f8", "|V0", "<U0", "<U100000000", "|O", "|S2147483647", "<i8"])
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    head = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    members[name or "1.npy"] = head + bytes(rng.choice([0, 8, 64]))


def _pickled(schema: Any, members: Any, rng: Random) -> None:
    """Code in the place of numbers, which only unpickling would run."""
    name = _array(rng, members) or "1.npy"
    bomb = np.array([_Bomb()], dtype=object)
    buffer = io.BytesIO()
    if rng.random() < 0.4:
        np.save(buffer, bomb, allow_pickle=True)
    elif rng.random() < 0.5:
        np.savez(buffer, bomb)
    else:
        pickle.dump(_Bomb(), buffer)
    members[name] = buffer.getvalue()


_SCHEMA = [
    _change_value, _change_value, _change_value, _change_kind, _change_kind, _drop_key,
    _rename_key, _exchange, _exchange, _same_ids, _deep, _laughs, _protocol,
]  # fmt: skip
_ARRAYS = [_spoil_array, _change_numbers, _change_numbers, _change_form, _huge, _pickled]


@cache
def _bomb() -> bytes:
    """Return the bytes of an archive with 128 megabytes of zeros, half a megabyte long."""
    buffer, zeros = io.BytesIO(), bytes(1 << 20)
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("1.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(BOMB >> 20):
            member.write(zeros)
    return buffer.getvalue()


def _packed(schema: str, members: dict[str, bytes], rng: Random) -> bytes:
    """Return an archive with valid checksums, and sometimes with odd members."""
    odd = rng.random()
    buffer = io.BytesIO(_bomb() if odd < 0.004 else b"")
    method = zipfile.ZIP_DEFLATED
    if 0.1 < odd < 0.2:
        method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    content = {**members, "schema.json": schema.encode()}
    names = list(content)
    if 0.2 < odd < 0.25:
        name = rng.choice(names)
        content[rng.choice(["../x.npy", "/etc/x", "schema.json ", "x\x00.npy"])] = content.pop(name)
    elif 0.25 < odd < 0.3:
        del content[rng.choice(names)]
    elif 0.3 < odd < 0.32:
        content["bomb.npy"] = bytes(50_000_000)
    with zipfile.ZipFile(buffer, "a" if odd < 0.004 else "w", method) as file:
        for name, data in content.items():
            file.writestr(name, data)
        if 0.32 < odd < 0.36:
            warnings.simplefilter("ignore")  # of the second member with the same name
            file.writestr(name := rng.choice(list(content)), mutated_bytes(content[name], rng))
    return buffer.getvalue()


def mutated_model(data: bytes, rng: Random) -> bytes:
    """Return a stored model with some part exchanged, written with valid checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    text = members.pop("schema.json").decode()
    schema = json.loads(text)
    changes = rng.choices(_SCHEMA, k=rng.choice([0, 1, 1, 2]))
    for change in [*changes, *rng.choices(_ARRAYS, k=rng.choice([0, 1]) if changes else 1)]:
        try:
            change(schema, members, rng)
        except Exception:
            continue  # an earlier change has taken away what this one wanted
    try:
        text = json.dumps(schema)
    except RecursionError:
        text = "[" * 100_000
    if rng.random() < 0.05:
        text = mutated_bytes(text.encode(), rng).decode("latin-1")
    return _packed(text, members, rng)
