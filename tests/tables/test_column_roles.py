"""Roles of columns, checked against the columns that there are."""

import pyarrow as pa
import pytest

from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import (
    ColumnRoles,
    agreed_types,
    column_types,
    feature_kinds,
)

TABLE = pa.table({"x": [1.0], "code": [3], "c": ["u"], "who": ["p"], "y": [True]})
PAIRS = pa.table({"a_x": [1], "b_x": [2], "a_z": [1], "b_z": [1], "a_only": [1], "y": [1]})


def kinds_of(table, roles):
    return feature_kinds(column_types(readers_of(table), roles), roles)


def test_all_other_columns_may_be_features():
    roles = ColumnRoles("y", "who", categorical=["code"])
    assert kinds_of(TABLE, roles) == {"x": "number", "code": "category", "c": "category"}


def test_features_are_chosen_and_dropped_by_name():
    assert list(kinds_of(TABLE, ColumnRoles("y", features=["c", "x", "c"]))) == ["c", "x"]
    assert list(kinds_of(TABLE, ColumnRoles("y", drop=["c", "who"]))) == ["x", "code"]


def test_features_of_comparisons_occur_on_both_sides():
    assert list(kinds_of(PAIRS, ColumnRoles("y", pairs=("a_", "b_")))) == ["x", "z"]
    for chosen in ("z", "a_z", "b_z"):
        roles = ColumnRoles("y", features=[chosen], pairs=("a_", "b_"))
        assert list(kinds_of(PAIRS, roles)) == ["z"]
    with pytest.raises(ValueError, match="once with 'a_' and once with 'c_' before or after"):
        kinds_of(PAIRS, ColumnRoles("y", pairs=("a_", "c_")))


def test_files_must_agree_except_for_columns_without_values():
    first, second = readers_of(TABLE) + readers_of(TABLE.set_column(0, "x", pa.array(["u"])))
    with pytest.raises(ValueError, match="'x' holds string in the table, but double"):
        agreed_types([first, second])
    (empty,) = readers_of(TABLE.set_column(0, "x", pa.nulls(1)))
    assert agreed_types([empty, second])["x"] == pa.string()


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        (ColumnRoles("y", "y"), "'y' cannot be both the label and the group"),
        (ColumnRoles("y", "whoo"), "did you mean 'who'"),
        (ColumnRoles("y", features=["y"]), "cannot be a feature and the label or the group"),
        (ColumnRoles("y", features=["x"], drop=["x"]), "cannot be a feature and dropped"),
    ],
)
def test_roles_that_contradict_each_other_are_refused(roles, sentence):
    with pytest.raises(ValueError, match=sentence):
        kinds_of(TABLE, roles)


def test_how_to_leave_columns_out():
    assert ColumnRoles("y").how_to_drop(["a", "b"]) == "--drop a --drop b"
    assert ColumnRoles("y", features=["a"]).how_to_drop(["a"]) == "remove it from --features"
