"""What all parts together hold, and how a part becomes rows."""

import numpy as np
import pytest

from spectralmirror.rows.part import Part
from spectralmirror.rows.survey import MOST_LABELS, Encoding, Survey

Y = np.array(["no", "yes", "no", "yes", "maybe"], dtype=object)
WEIGHT = np.array([1.0, 2.0, 0.5, 0.0, 0.0])


def part(rows=slice(None)):
    X = np.arange(10.0).reshape(5, 2)
    return Part(X[rows], Y[rows], WEIGHT[rows], places=(("a.csv", 0, 4),))


def test_surveys_of_parts_add_up():
    whole = Survey.of(part())
    for cut in range(6):
        found = Survey.of(part(slice(cut))) + Survey.of(part(slice(cut, None)))
        assert found.classes.tolist() == whole.classes.tolist() == ["no", "yes"]
        assert sum(found.lengths) == sum(whole.lengths) == 3
        assert len(found.lengths) == 2
        assert found.weights.total_scaled == pytest.approx(whole.weights.total_scaled)
        assert found.as_one_part().lengths == (3,)


def test_rows_of_weight_0_do_not_count():
    survey = Survey.of(part())
    survey.check()
    rows = Encoding(survey.classes, survey.weights, np.dtype(np.float32)).rows(part(), start=7)
    assert rows.X.dtype == rows.y.dtype == rows.weight.dtype == np.float32
    np.testing.assert_array_equal(rows.X, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(rows.y, [-1, 1, -1])
    np.testing.assert_allclose(rows.weight / rows.weight[0], [1, 2, 0.5])
    assert (rows.start, rows.keys) == (7, None)


def test_keys_of_groups_belong_to_the_rows_that_count():
    groups = np.array([3, 3, 4, 5, 5])
    grouped = Part(np.ones((5, 1)), Y, WEIGHT, groups)
    survey = Survey.of(grouped)
    rows = Encoding(survey.classes, survey.weights, np.dtype(float)).rows(grouped, keyed=True)
    assert len(rows.keys) == 3
    assert rows.keys[0] == rows.keys[1] != rows.keys[2]


def test_a_missing_label_is_named_by_its_row():
    for missing in (None, np.nan):
        y = np.array(["a", missing, "b"], dtype=object)
        with pytest.raises(ValueError, match=r"\(a missing label\) in row 11 of b.csv: drop"):
            Survey.of(Part(np.ones((3, 1)), y, places=(("b.csv", 10, 12),)))


def test_nothing_to_fit():
    with pytest.raises(ValueError, match="There are no rows"):
        Survey.of(Part(np.empty((0, 1)), np.empty(0))).check()
    with pytest.raises(ValueError, match=r"only one class, 1\.0"):
        Survey.of(Part(np.empty((3, 1)), np.ones(3))).check()


def test_labels_without_number_are_not_remembered():
    survey = Survey.of(Part(np.empty((5000, 1)), np.arange(5000.0)))
    assert len((survey + survey).classes) == MOST_LABELS
    with pytest.raises(ValueError, match="y has 1000 different values"):
        survey.check()
