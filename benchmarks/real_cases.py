"""Real data for `benchmarks/real_prediction.py`: a folder of tables, and votes of the Senate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.real import without_intercept
from spectralmirror.datasets import SenateVotes, load_senate_votes

#: Draws of each kind of senate case.
DRAWS = 5
#: Senators whose votes are the features of an account.
COLLEAGUES = 9
#: Length of a roll-call vector.
RANK = 6
#: Anonymous senators, and the votes of each that are observed.
ANONYMOUS, VOTES = 30, 40


@dataclass(frozen=True, eq=False)
class RealCase:
    """Rows and labels of 0 and 1, and whether models of them have an intercept.

    `groups` holds the person of each row, unless rows stand alone. `components` holds the hidden
    classifier of each row where it is known; no method sees it.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    intercept: bool
    components: np.ndarray | None = None

    @property
    def n_persons(self) -> int | None:
        """The number of groups."""
        return None if self.groups is None else len(np.unique(self.groups))


def load_folder(folder: Path) -> list[RealCase]:
    """Return the cases of a folder such as `benchmarks/real.py` reads.

    Files without a column ``y``, such as ``NAME_persons.csv.gz``, are left out.
    """
    pairs = without_intercept(folder)
    cases = []
    for path in sorted(folder.glob("*.csv.gz")):
        table = pl.read_csv(path, infer_schema_length=None)
        if "y" not in table.columns:
            continue
        name = path.name.removesuffix(".csv.gz")
        X = table.drop("y", "group", strict=False).to_numpy().astype(float)
        groups = table["group"].to_numpy() if "group" in table.columns else None
        cases.append(RealCase(name, X, table["y"].to_numpy(), groups, name not in pairs))
    return cases


def senate_cases(seed: int = 0) -> list[RealCase]:
    """Return `DRAWS` cases of each kind, from senators of the two parties who often voted.

    Features of a roll call never contain votes of the senators whose votes are the labels.
    """
    senate = load_senate_votes()
    present = (senate.votes != 0).mean(axis=1) > 0.75
    regular = np.flatnonzero(present & np.isin(senate.senators["party"], ["D", "R"]))
    cases = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([seed, draw])
        senators = rng.permutation(regular)
        pair, colleagues = senators[:2], senators[2 : 2 + COLLEAGUES]
        cases += [
            account_of_votes(senate, pair, colleagues, rng),
            account_of_vectors(senate, pair, rng),
            anonymous_votes(senate, senators[:ANONYMOUS], rng, f"party {draw + 1}"),
        ]
    return sorted(cases, key=lambda case: case.name.split()[0])


def account_of_votes(
    senate: SenateVotes, pair: np.ndarray, colleagues: np.ndarray, rng: np.random.Generator
) -> RealCase:
    """Return the votes of two senators who share an account, one vote for each roll call.

    Which of the two votes is drawn at random. The features of a roll call are the votes of some
    colleagues: 1 for yea, -1 for nay, 0 for absent.
    """
    voter, vote = shared_votes(senate, pair, rng)
    X = senate.votes[colleagues].T.astype(float)
    cast = vote != 0
    name = f"votes {names(senate, pair)}"
    return RealCase(name, X[cast], (vote[cast] > 0).astype(int), None, True, voter[cast])


def account_of_vectors(senate: SenateVotes, pair: np.ndarray, rng: np.random.Generator) -> RealCase:
    """Return the votes of two senators who share an account, with vectors as features.

    The vectors are learnt from all others. Whether a roll call is worded so that yea or nay
    supports it is arbitrary: label and vector change their signs at random, together. Features then
    have mean 0, and a classifier needs no intercept.
    """
    voter, vote = shared_votes(senate, pair, rng)
    sign = rng.choice([-1, 1], len(vote))
    X = sign[:, None] * roll_call_vectors(np.delete(senate.votes, pair, axis=0))
    cast = vote != 0
    y = (sign * vote)[cast] > 0
    return RealCase(
        f"vectors {names(senate, pair)}", X[cast], y.astype(int), None, False, voter[cast]
    )


def anonymous_votes(
    senate: SenateVotes, senators: np.ndarray, rng: np.random.Generator, name: str
) -> RealCase:
    """Return some votes of each of some senators, whose parties are hidden.

    Features are roll-call vectors learnt from all other senators: their votes would be some 70
    features. The wording is kept (1 is yea), so that there is an intercept. Different senators vote
    on the same roll calls, so that a flexible method can learn single roll calls.
    """
    vectors = roll_call_vectors(np.delete(senate.votes, senators, axis=0))
    cast = [np.flatnonzero(senate.votes[senator]) for senator in senators]
    calls = np.concatenate([rng.choice(calls, VOTES, replace=False) for calls in cast])
    groups = np.repeat(senators, VOTES)
    y = (senate.votes[groups, calls] > 0).astype(int)
    party = (senate.senators["party"] == "R").astype(int)
    return RealCase(name, vectors[calls], y, groups, True, party[groups])


def shared_votes(
    senate: SenateVotes, pair: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return who of the pair (0 or 1) uses the account at each roll call, and the vote."""
    n = senate.votes.shape[1]
    voter = rng.integers(2, size=n)
    return voter, senate.votes[pair[voter], np.arange(n)]


def roll_call_vectors(votes: np.ndarray) -> np.ndarray:
    """Return the leading right singular vectors of the votes, of mean square 1, in columns."""
    n = votes.shape[1]
    return np.sqrt(n) * np.linalg.svd(votes.astype(float), full_matrices=False)[2][:RANK].T


def names(senate: SenateVotes, pair: np.ndarray) -> str:
    """Return the names of senators and their parties."""
    return ", ".join(f"{s['name'].title()} {s['party']}" for s in senate.senators[pair])
