"""The file name of a cell depends on all that its numbers depend on; damage is detected."""

import json
from dataclasses import replace

import pytest

from spectralmirror.experiments import EXPERIMENTS, run
from spectralmirror.experiments.store import Store


def test_a_changed_setting_or_changed_code_is_measured_anew(tmp_path):
    experiment = EXPERIMENTS["hessian"]
    store = Store.of(experiment, tmp_path)
    cell = experiment.cells("tiny")[0]
    store.write(cell, [{"labels": 0.5}])
    assert store.read(cell) == [{"labels": 0.5}]
    for key, value in cell.items():
        assert store.read({**cell, key: value + 1}) is None
    assert replace(store, code="other").read(cell) is None
    assert Store.of(EXPERIMENTS["span"], tmp_path).code != store.code


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b'{"cell": {}, "rows"',
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"rows": [{"x": 1}]}',
        b'{"cell": CELL, "rows": []}',
        b'{"cell": CELL, "rows": [1, 2]}',
        b'{"cell": CELL, "rows": "abc"}',
        b'{"cell": CELL, "rows": [{}]}',
    ],
)
def test_a_damaged_cell_is_measured_again(tmp_path, damage):
    experiment = EXPERIMENTS["hessian"]
    rows = run(experiment, tmp_path, scale="tiny", n_jobs=1)
    path = Store.of(experiment, tmp_path).path(experiment.cells("tiny")[1])
    cell = json.dumps(experiment.cells("tiny")[1]).encode()
    path.write_bytes(damage.replace(b"CELL", cell))
    told = []
    again = run(experiment, tmp_path, scale="tiny", n_jobs=1, listen=lambda *c: told.append(c[0]))
    assert again == rows
    assert told == [3, 4]
