"""How a text file is laid out: what separates its columns, and what they are called."""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

__all__ = ["Layout", "opened"]

#: What may separate columns; white space if a first line has none of these.
SEPARATORS = ",;\t|"
#: Bytes of a line that are looked at.
LONGEST_LINE = 1 << 20
#: What text in UTF-16 begins with.
UTF_16 = b"\xff\xfe", b"\xfe\xff"


@dataclass(frozen=True)
class Layout:
    """The layout of a text file.

    Attributes
    ----------
    separator : str
        What stands between two columns; " " for any amount of white space.
    names : list of str or None
        Names of the columns if they differ from those in the first line. R's ``write.table``
        numbers the rows, and gives that column no name.
    """

    separator: str
    names: list[str] | None = None

    @classmethod
    def of(cls, path: Path, separator: str | None = None) -> Layout:
        """Find the layout of a file, with a known separator or with that of its first line."""
        with opened(path) as file:
            head, row = (file.readline(LONGEST_LINE) for _ in range(2))
        if head.startswith(UTF_16):
            raise ValueError(f"{path} cannot be read: it is UTF-16 text. Save the file as UTF-8.")
        mark = separator or _most_frequent(head)
        names, values = (_fields(line, mark) for line in (head, row))
        numbered = len(values) == len(names) + 1 and values[0] == "1"
        return cls(mark, ["", *names] if numbered else None)


def opened(path: Path, *, squeeze: bool = False) -> IO[bytes]:
    """Open a file, compressed or not; `squeeze` makes all white space inside a line one blank."""
    open_file: Any = gzip.open if path.name.lower().endswith(".gz") else open
    file = open_file(path, "rb")
    return BufferedReader(_Squeezed(file)) if squeeze else cast(IO[bytes], file)


def _most_frequent(line: bytes) -> str:
    """Return the most frequent separator of a line; white space, or a comma, if there is none.

    What stands in quotation marks does not count.
    """
    line = re.sub(rb'"[^"]*"', b"x", line)
    best = max(SEPARATORS, key=lambda mark: line.count(mark.encode()))
    return " " if best.encode() not in line and len(line.split()) > 1 else best


def _fields(line: bytes, separator: str) -> list[str]:
    text = line.decode("utf-8-sig", errors="replace").strip("\r\n")
    if separator == " ":
        text = " ".join(text.split())
    return next(csv.reader([text], delimiter=separator), [])


class _Squeezed(RawIOBase):
    """The bytes of a file, with one blank for all white space between two words of a line."""

    def __init__(self, file: Any):
        self.file, self.left = file, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.left:
            lines = self.file.readlines(len(buffer))
            if not lines:
                return 0
            words = (re.sub(rb"[ \t]+", b" ", line.strip()) for line in lines)
            self.left = b"".join(line + b"\n" for line in words if line)
        piece, self.left = self.left[: len(buffer)], self.left[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self.file.close()
        super().close()
