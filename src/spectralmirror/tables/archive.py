"""What the archive of a stored model may hold, checked before anything is made of it.

A model is a zip archive: ``schema.json``, a tree of nodes that each name a loader and a type, and
numbers in files of NumPy. Anybody may have written it. So only those loaders and types are let
through that our models need, only numbers that are all there, and no more bytes than a file of
its size can have honestly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from math import prod
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

__all__ = ["OURS", "ForeignError", "check_archive", "is_dense"]

#: Of which types of ours a model is made.
OURS = {
    f"spectralmirror.{name}"
    for name in (
        "tables.table_model.FittedTable",
        "subspace.hessian_directions.PrincipalHessianDirections",
        "mixture.estimator.LinearClassifierMixture",
        "mixture.starts.Start",
        "subspace.moments.FeatureMoments",
        "tables.features.Category",
        "tables.features.Number",
        "tables.features.Recipe",
        "subspace.estimator.SpectralMirror",
        "subspace.whitening.Whitening",
    )
}
_SCALARS: set[Any] = set(np.sctypeDict.values())
#: Loaders of skops, and what each may make; of NumPy any scalar and array.
ALLOWED = {
    "DictNode": {"builtins.dict"},
    "DTypeNode": {"numpy.dtype"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", *(f"numpy.{kind.__name__}" for kind in _SCALARS)},
    "ObjectNode": OURS,
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "TupleNode": {"builtins.tuple"},
    "TypeNode": {"builtins.int", "builtins.str"},
}
#: Levels of the tree; our models have about 20.
DEEPEST = 100
#: Bytes that any archive may hold, and how many times its length where they are more.
MOST_BYTES, MOST_TIMES = 1 << 26, 20


class ForeignError(ValueError):
    """What a file holds that no model does."""


def is_dense(packed: bytes) -> bool:
    """Return whether an archive is no longer when unpacked than one may be."""
    with ZipFile(BytesIO(packed)) as file:
        return _is_dense(file, len(packed))


def _is_dense(file: ZipFile, length: int) -> bool:
    total = sum(member.file_size for member in file.infolist())
    return total <= max(MOST_BYTES, MOST_TIMES * length)


def check_archive(packed: bytes) -> str | None:
    """Return which part of an archive is damaged, or None.

    Raises
    ------
    ForeignError
        Where a part is whole but not of our models.
    Exception
        Of any kind, where this is no archive of a model at all.
    """
    with ZipFile(BytesIO(packed)) as file:
        members = file.infolist()
        names = [member.filename for member in members]
        if len(set(names)) < len(names) or not _is_dense(file, len(packed)):
            raise ForeignError("more than it should")
        if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
            raise ForeignError("parts that are compressed in another way")
        damaged = file.testzip()
        if damaged:
            return damaged
        used = _check_nodes(json.loads(file.read("schema.json")))
        for name in used:
            if not _is_array(file.read(name)):
                return name
        if {*used, "schema.json"} != set(names):
            raise ForeignError("parts that nothing refers to")
    return None


def _check_nodes(schema: Any) -> set[str]:
    """Look at every node; return the files that they refer to."""
    files: set[str] = set()
    known: dict[Any, Any] = {}
    for node, depth in _nodes(schema, 0):
        loader, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
        if name not in ALLOWED.get(loader, ()):
            raise ForeignError(name)
        if depth > DEEPEST:
            raise ForeignError("lists in lists without an end")
        # the loader takes the first of those with the same number for all of them
        number = node.get("__id__")
        if number is not None and known.setdefault(number, node) != node:
            raise ForeignError("two things of one number")
        if loader == "JsonNode" and node["content"][:1] in ("[", "{"):
            raise ForeignError("a list in the place of a number or text")
        if "file" in node:
            files.add(node["file"])
    return files


def _nodes(state: Any, depth: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the nodes of a tree, and how far below the first each one is."""
    inside = [(state, depth)]
    while inside:
        state, depth = inside.pop()
        if isinstance(state, dict):
            if isinstance(state.get("__loader__"), str):
                yield state, depth
            inside += [(one, depth + 1) for one in state.values()]
        elif isinstance(state, list):
            inside += [(one, depth + 1) for one in state]


def _is_array(data: bytes) -> bool:
    """Return whether these are the numbers or the text that their own first lines promise."""
    file = BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    whole = prod(shape) * dtype.itemsize == len(data) - file.tell()
    return bool(whole and dtype.kind in "biufcSUMm" and all(n >= 0 for n in shape))
