"""Comparisons in files: what is stored comes back, and other files are refused."""

import json

import numpy as np
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.selection import ComponentComparison, compare_components
from spectralmirror.selection.stored import COLUMNS, as_data, from_data
from tests.helpers.refusals import assert_refused

X, Y, TRUTH = make_linear_classifier_mixture(
    400, 2, 2, profile_norm=5, group_size=5, random_state=0
)
FOUND = compare_components(
    LinearClassifierMixture(), X, Y, groups=TRUTH.groups, max_components=2, n_resamples=3,
    n_splits=2, random_state=0,
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    FOUND.save(tmp_path / "comparison.json", label="y")
    return tmp_path / "comparison.json"


def test_a_comparison_comes_back_without_its_fits(path):
    again = ComponentComparison.load(path)
    assert str(again) == str(FOUND)
    assert again.models_ == {}
    for name in ("n_components", *COLUMNS):
        np.testing.assert_array_equal(getattr(again, name), getattr(FOUND, name))
    np.testing.assert_array_equal(again.resampled_[2], FOUND.resampled_[2])
    assert again.rows[0].keys() == FOUND.rows[0].keys()
    assert len(again.plot()) == len(FOUND.plot()) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": 2}, {"suggested": {"bic": 5}}, {"at_least": 0}, {"grouped": "yes"},
        {"columns": as_data(FOUND)["columns"] | {"bic": [1.0]}}, {"n_units": "many"},
        {"resampled": {"7": []}}, {"columns": {}},
    ],
    ids=str,
)  # fmt: skip
def test_other_data_are_no_comparison(path, changed):
    content = json.loads(path.read_text())
    content["comparison"] |= changed
    path.write_text(json.dumps(content))
    assert_refused(lambda: ComponentComparison.load(path), "is no comparison: write one with")


def test_other_files_are_refused(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        ComponentComparison.load(tmp_path / "none.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"format": 99}))
    assert_refused(lambda: ComponentComparison.load(path), "was written by a newer version")
    path.write_bytes(b"PK\x03")
    assert_refused(lambda: ComponentComparison.load(path), "is no comparison")


def test_nothing_half_written_is_left(tmp_path):
    with pytest.raises(TypeError):
        FOUND.save(tmp_path / "comparison.json", label=object())
    assert list(tmp_path.iterdir()) == []


def test_data_are_strict_json():
    text = json.dumps(as_data(FOUND), allow_nan=False)
    again = ComponentComparison(**from_data(json.loads(text)))
    assert str(again) == str(FOUND)
