"""`spectralmirror demo`."""

import json
import re
import sys

from spectralmirror import load
from tests.helpers.command_line import run


def test_demo_finds_the_two_people(tmp_path):
    folder = tmp_path / "demo"
    printed = run("demo", "-o", folder).stdout
    assert printed.startswith("Two people share an account.")
    assert "2 hidden classifiers behind 'liked' ('no' or 'yes')" in printed
    correct = re.search(r"(\d+\.\d)% of the 500 evenings are assigned to the right one", printed)
    assert float(correct[1]) > 97  # 99.4, with an error of 0.35
    names = {"Data": "ratings.csv", "Model": "model.skops", "Report": "report.html"}
    for what, name in names.items():
        assert re.search(f"^{what}: +{re.escape(str(folder / name))}$", printed, re.M)
    assert {path.name for path in folder.iterdir()} == set(names.values())
    assert load(folder / "model.skops").recipe.references["language=french"] == "english"


def test_demo_as_json(tmp_path, monkeypatch):
    monkeypatch.setattr("spectralmirror.datasets.household.EVENINGS", 60)
    report = sys.modules["spectralmirror.cli.demo"]  # the test above writes one, which takes long
    monkeypatch.setattr(report, "write_file_report", lambda *_: None)
    data = json.loads(run("demo", "-o", tmp_path, "--seed", 1, "--json").stdout)
    assert data["n_components"] == 2
    assert data["evenings_assigned_correctly"] > 0.9
    assert data["report"] == str(tmp_path / "report.html")
