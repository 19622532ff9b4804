"""The figure of a comparison: what it draws, and what it clips."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from spectralmirror.plotting import plot_comparison
from spectralmirror.selection import ComponentComparison
from tests.helpers.refusals import assert_refused

mpl.use("Agg")
NAN = np.nan


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


def result(**others):
    values = {
        "n_components": np.arange(1, 5),
        "held_out": np.array([-3.0, -2.5, -2.0, -2.1]),
        "gain_error": np.array([NAN, 0.1, 0.1, 0.05]),
        "log_evidence": np.array([-500.0, -420.0, -400.0, -405.0]),
        "bic": np.array([1000.0, 850.0, 810.0, 840.0]),
        "p_value": np.array([NAN, 0.005, 0.005, 0.4]),
        "split_log_ratio": np.array([NAN, 60.0, 2.0, -9.0]),
        "at_least_": 2,
        "alpha": 0.05,
        "grouped": True,
    }
    found = SimpleNamespace(**(values | others))
    found.is_tested = ComponentComparison.is_tested.fget(found)
    return found


def drawn(ax, label):
    line = next(one for one in ax.lines if one.get_label() == label)
    return line.get_xdata(), line.get_ydata()


def test_values_are_relative_to_the_best():
    left, middle, right = plot_comparison(result())
    np.testing.assert_allclose(drawn(left, "held out")[1], [-1, -0.5, 0, -0.1])
    np.testing.assert_allclose(drawn(middle, "log evidence")[1], [-60, -20, 0, -5])
    np.testing.assert_allclose(drawn(middle, "−BIC / 2")[1], [-60, -20, 0, -15])
    np.testing.assert_allclose(drawn(right, "bootstrap")[0], [2, 3, 4])
    np.testing.assert_allclose(drawn(right, "bootstrap")[1], [0.005, 0.005, 0.4])
    np.testing.assert_allclose(drawn(right, "split, 1 / U")[1], [1e-4, np.exp(-2), 1])
    assert drawn(right, "5 %")[1] == [0.05, 0.05]
    assert left.get_title() == "Labels of a group left out"


def test_without_tests_there_are_two_panels():
    nothing = np.full(4, NAN)
    axes = plot_comparison(result(p_value=nothing, split_log_ratio=nothing, at_least_=None))
    assert len(axes) == 2


def test_unknown_evidence_is_left_out():
    middle = plot_comparison(result(log_evidence=np.full(4, NAN)))[1]
    assert [line.get_label() for line in middle.lines][:1] == ["−BIC / 2"]


def test_axes_of_the_user():
    _, axes = mpl.pyplot.subplots(1, 3)
    assert plot_comparison(result(), axes)[2] is axes[2]


def test_other_objects_are_refused():
    assert_refused(lambda: plot_comparison([1]), "draws a ComponentComparison, got list", TypeError)
