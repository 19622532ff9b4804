"""What results print, and the frames that they turn into."""

import numpy as np
import pytest

from spectralmirror.effects import average_effects, ratios
from tests.helpers.mixtures import drawn, fitted


@pytest.fixture(scope="module")
def case():
    X, y, _ = drawn(1500, 3)
    return fitted(X, np.where(y > 0, "buys", "not")), X


def test_effects(case):
    mixture, X = case
    found = average_effects(mixture, X, level=0.9)
    text = str(found)
    assert text.startswith("Average effects on P(y = not)")
    assert [text.count(word) for word in ("Class A", "Class B", "Overall", "90% interval")] == [
        1, 1, 1, 3,
    ]  # fmt: skip
    line = [line for line in text.splitlines() if line.startswith("x1 ")][-1].split()
    figures = found.estimate[2, 1], found.standard_error[2, 1], found.lower[2, 1], found.upper[2, 1]
    np.testing.assert_allclose([float(x) for x in line[3:]], figures, rtol=1e-3)
    table = found.to_frame()
    assert table.shape == (9, 7)
    last = table[(table["component"] == "overall") & (table["feature"] == "x1")].iloc[0]
    assert last["estimate"] == found.estimate[2, 1]
    assert repr(found) == text


def test_ratios(case):
    mixture, _ = case
    found = ratios(mixture, 0, 1)
    assert str(found).startswith("x0 / x1\n")
    table = found.to_frame()
    assert table["component"].tolist() == ["A", "B", "overall"]
    np.testing.assert_array_equal(table["upper"], found.upper)
