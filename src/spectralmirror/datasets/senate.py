"""The roll calls of the 109th Senate of the United States."""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SenateVotes", "load_senate_votes"]

FILE = "senate109.csv.gz"
#: The first columns of the file, which describe a roll call.
ABOUT = ("date", "session", "number", "bill", "question", "result", "description")
KINDS = {"date": "datetime64[D]", "session": "int64", "number": "int64"}
VOTE = {"y": 1, "n": -1, "": 0}
#: The names of the other columns, which hold votes, such as "CHAFEE (R RI)".
SENATOR = re.compile(r"(?P<name>.+) \((?P<party>D|R|Indep) (?P<state>[A-Z]+)\)")


@dataclass(frozen=True, eq=False)
class SenateVotes:
    """The votes of every senator on every roll call.

    Attributes
    ----------
    votes : ndarray of shape (102, 645), int8
        1 for yea, -1 for nay, 0 for no vote: absent, abstaining, or not in office.
    senators : structured ndarray of shape (102,)
        With fields `name`, `party` ("D", "R" or "I") and `state`.
    roll_calls : structured ndarray of shape (645,)
        With fields `date`, `session` (1 or 2), `number` (in its session), `bill`, `question`,
        `result` and `description`.
    """

    votes: NDArray[np.int8]
    senators: NDArray[Any]
    roll_calls: NDArray[Any]


def load_senate_votes() -> SenateVotes:
    """Return the roll calls of the 109th Senate of the United States (2005 and 2006).

    645 roll calls and 102 voters: 55 Republicans, 45 Democrats (Menendez took the seat of Corzine
    in January 2006) and one Independent (Jeffords); and, first, the President, George W. Bush
    (`state` is "USA"), who took a position on 115 of the roll calls.

    Votes of the Senate are public records of the United States government, and as such not under
    copyright. Jeff Lewis collected these from the Senate's web site, Keith Poole and Howard
    Rosenthal published them (https://voteview.com), and Simon Jackman added them to the R package
    pscl, as the object ``s109``, from which ``tools/senate.R`` in our repository made the file.
    What they added (codes of states and persons) was removed.

    Returns
    -------
    SenateVotes
        Votes, senators and roll calls.

    Examples
    --------
    >>> from spectralmirror.datasets import load_senate_votes
    >>> senate = load_senate_votes()
    >>> senate.votes.shape
    (102, 645)
    >>> print(senate.senators[14])
    ('LIEBERMAN', 'D', 'CT')
    >>> print(senate.roll_calls["question"][1], "|", senate.roll_calls["description"][1])
    On the Nomination | Confirmation Condoleeza Rice, of California, to be Secretary of State
    """
    packed = files("spectralmirror.datasets").joinpath(FILE).read_bytes()
    header, *lines = csv.reader(gzip.decompress(packed).decode().splitlines())
    n = len(ABOUT)
    votes = np.array([[VOTE[vote] for vote in line[n:]] for line in lines], dtype=np.int8).T
    senators = [_senator(column) for column in header[n:]]
    return SenateVotes(
        np.ascontiguousarray(votes),
        _table(("name", "party", "state"), senators),
        _table(ABOUT, [line[:n] for line in lines]),
    )


def _senator(column: str) -> list[str]:
    match = SENATOR.fullmatch(column)
    assert match is not None, column
    return [match["name"], match["party"][0], match["state"]]


def _table(names: tuple[str, ...], lines: list[list[str]]) -> NDArray[Any]:
    """Return lines of text as a structured array."""
    columns = {
        name: np.array(texts, dtype=KINDS.get(name, "U"))
        for name, texts in zip(names, zip(*lines, strict=True), strict=True)
    }
    table = np.empty(len(lines), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table
