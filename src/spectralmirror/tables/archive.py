"""The zip archive of a stored model, checked before any object is built from it.

A model is stored as ``schema.json``, a tree of nodes that each name a loader of skops and a type,
and arrays in NumPy's format. Anybody may have written a file. skops itself refuses types that are
not trusted, and NumPy refuses truncated arrays. The checks here cover what these let through:
archives that unpack to far more than they should, trees that skops would never finish, and
loaders and classes that no model needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

__all__ = ["Archive", "ForeignError"]

#: The loaders of skops that models need.
LOADERS = {
    *("DictNode", "DTypeNode", "JsonNode", "ListNode", "NdArrayNode", "ObjectNode"),
    *("RandomStateNode", "TupleNode", "TypeNode"),
}
#: An archive may unpack to `MOST_BYTES`, or to `MOST_TIMES` its own length if that is more.
MOST_BYTES, MOST_TIMES = 1 << 26, 20


class ForeignError(ValueError):
    """A file holds something that no model holds; the message names it."""


@dataclass(frozen=True, eq=False)
class Archive:
    """A stored model.

    Attributes
    ----------
    schema : dict
        The tree of nodes.
    arrays : dict
        The arrays that the nodes refer to, as the bytes of ``.npy`` files.
    """

    schema: dict[str, Any]
    arrays: dict[str, bytes]

    @classmethod
    def unpack(cls, packed: bytes) -> Archive:
        """Read an archive without building any object from it.

        Raises
        ------
        ForeignError
            If it unpacks to too many bytes, or if a part is compressed in an unusual way.
        Exception
            Of any kind, if the bytes are not such an archive, or if a checksum is wrong.
        """
        with ZipFile(BytesIO(packed)) as file:
            if not _is_dense(file, len(packed)):
                raise ForeignError("more than it should")
            # bzip2 and LZMA unpack a piece at once, however long it turns out to be
            kinds = {member.compress_type for member in file.infolist()}
            if not kinds <= {ZIP_STORED, ZIP_DEFLATED}:
                raise ForeignError("parts that are compressed in another way")
            schema = json.loads(file.read("schema.json"))
            names = {node["file"] for node in _nodes(schema) if "file" in node}
            return cls(schema, {name: file.read(name) for name in names})

    def pack(self, compression: int = ZIP_DEFLATED) -> bytes:
        """Return the bytes of the archive, which :meth:`unpack` accepts."""
        buffer = BytesIO()
        with ZipFile(buffer, "w", compression) as file:
            for name, data in self.arrays.items():
                file.writestr(name, data)
            file.writestr("schema.json", json.dumps(self.schema))
            dense = _is_dense(file, len(buffer.getbuffer()))
        # arrays of nearly equal numbers would compress so well that they look like a bomb
        return buffer.getvalue() if dense else self.pack(ZIP_STORED)

    def value(self, key: str) -> Any:
        """Return a number or text that is stored beside the model."""
        return json.loads(self.schema["content"][key]["content"])

    def renamed(self, names: Mapping[str, str]) -> Archive:
        """Return the archive with other names for the classes of its objects.

        Raises
        ------
        ForeignError
            If an object is of a class that is not in `names`.
        """
        schema = json.loads(json.dumps(self.schema))
        for node in _nodes(schema):
            name = f"{node['__module__']}.{node['__class__']}"
            if node["__loader__"] == "ObjectNode":
                if name not in names:
                    raise ForeignError(name)
                node["__module__"], _, node["__class__"] = names[name].rpartition(".")
        return Archive(schema, self.arrays)

    def check(self) -> None:
        """Raise ForeignError if skops could not load the tree safely."""
        known: dict[Any, Any] = {}
        for node in _nodes(self.schema):
            if node["__loader__"] not in LOADERS:
                raise ForeignError(f"{node['__module__']}.{node['__class__']}")
            # skops takes the first node with an id for all of them: in a few lines that refer to
            # each other, a file could describe 2^60 lists
            number = node.get("__id__")
            if number is not None and known.setdefault(number, node) != node:
                raise ForeignError("two different nodes with the same id")


def _is_dense(file: ZipFile, length: int) -> bool:
    """Return whether an archive of this length unpacks to a plausible number of bytes."""
    total = sum(member.file_size for member in file.infolist())
    return total <= max(MOST_BYTES, MOST_TIMES * length)


def _nodes(state: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a tree."""
    inside = [state]
    while inside:
        state = inside.pop()
        if isinstance(state, dict):
            if isinstance(state.get("__loader__"), str):
                yield state
            inside += state.values()
        elif isinstance(state, list):
            inside += state
