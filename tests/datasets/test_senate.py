"""The recorded votes: as many as there should be, and in the wheel."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from spectralmirror.datasets import load_senate_votes

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def senate():
    return load_senate_votes()


def votes_of(senate, name, state):
    chosen = (senate.senators["name"] == name) & (senate.senators["state"] == state)
    assert chosen.sum() == 1
    return senate.votes[chosen][0]


def test_there_are_two_senators_for_every_state_one_of_them_replaced(senate):
    states, counts = np.unique(senate.senators["state"], return_counts=True)
    assert dict(zip(states, counts, strict=True)) == {
        **dict.fromkeys(states, 2),
        "NJ": 3,  # Menendez after Corzine
        "USA": 1,  # the President
    }
    assert len(states) == 51


def test_parties_are_those_of_the_109th_senate(senate):
    in_office = (senate.senators["state"] != "USA") & (senate.senators["name"] != "CORZINE")
    parties, counts = np.unique(senate.senators["party"][in_office], return_counts=True)
    assert dict(zip(parties.tolist(), counts.tolist(), strict=True)) == {"D": 44, "I": 1, "R": 55}
    independent = senate.senators[senate.senators["party"] == "I"]
    assert independent["name"].tolist() == ["JEFFORDS"]


def test_votes_are_those_of_the_record(senate):
    assert senate.votes.shape == (102, 645)
    assert np.unique(senate.votes).tolist() == [-1, 0, 1]
    assert (senate.votes != 0).sum() == 40_207 + 22_650
    calls = senate.roll_calls
    rice = (
        calls["description"]
        == "Confirmation Condoleeza Rice, of California, to be Secretary of State"
    )
    totals = senate.votes[1:, rice]
    assert [(totals == 1).sum(), (totals == -1).sum()] == [85, 13]
    alito = (calls["session"] == 2) & (calls["number"] == 2)
    assert "Alito" in calls["description"][alito][0]
    totals = senate.votes[1:, alito]
    assert [(totals == 1).sum(), (totals == -1).sum()] == [58, 42]
    assert votes_of(senate, "CHAFEE", "RI")[alito] == -1  # the only Republican against
    assert votes_of(senate, "NELSON", "NE")[alito] == 1


def test_roll_calls_are_numbered_by_session_and_in_the_order_of_their_dates(senate):
    calls = senate.roll_calls
    assert [(calls["session"] == session).sum() for session in (1, 2)] == [366, 279]
    assert calls["number"].tolist() == [*range(1, 367), *range(1, 280)]
    assert (np.diff(calls["date"]) >= np.timedelta64(0)).all()
    years = calls["date"].astype("datetime64[Y]").astype(int) + 1970
    assert (years == 2004 + calls["session"]).all()


def test_nobody_votes_before_or_after_being_in_office(senate):
    second = senate.roll_calls["session"] == 2
    assert not votes_of(senate, "CORZINE", "NJ")[second].any()
    assert not votes_of(senate, "MENENDEZ", "NJ")[~second].any()


def test_wheel_holds_every_file_of_the_package(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    there = set(ZipFile(wheel).namelist())
    package = ROOT / "src" / "spectralmirror"
    wanted = {
        path.relative_to(ROOT / "src").as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "spectralmirror/datasets/senate109.csv.gz" in wanted
    assert wanted <= there
