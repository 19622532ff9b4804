"""Stored models of choices are loaded only if their parts fit together."""

from dataclasses import replace

import pytest

from spectralmirror import ChoiceMixture, LinearClassifierMixture, load, save
from spectralmirror.rows.files.frames import table_reader
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.model_checks import is_whole
from spectralmirror.tables.set_columns import SET, ChoiceColumns
from spectralmirror.tables.wide_form import ALTERNATIVE
from spectralmirror.tables.wide_reader import WideReader
from tests.helpers.choices import survey, widened


@pytest.fixture(scope="module")
def model():
    reader = WideReader.of([table_reader(widened(survey(30)).to_arrow())], "choice", others=["who"])
    roles = ColumnRoles("choice", "who", choices=[SET], alternative=ALTERNATIVE)
    return fit_table([reader], roles, ChoiceMixture(1), source="a frame")


def test_models_of_choices_are_stored(model, tmp_path):
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    assert again.choices == model.choices
    assert again.described() == model.described()


@pytest.mark.parametrize(
    "changes",
    [
        {"choices": None},
        {"choices": ChoiceColumns(("case", 3))},
        {"choices": ChoiceColumns(["case"])},
        {"choices": ChoiceColumns(("case",), 5)},
        {"mixture": LinearClassifierMixture(1)},
    ],
    ids=str,
)
def test_parts_that_do_not_fit_together_are_noticed(model, changes):
    assert is_whole(model)
    assert not is_whole(replace(model, **changes))


@pytest.mark.parametrize(
    "changes", [{"sides": ()}, {"sides": (("a", 1), ("b", "*_b"))}, {"chosen": 1}, {"features": 2}]
)
def test_forms_that_are_none_are_noticed(model, changes):
    wide = replace(model.choices.wide, **changes)
    assert not is_whole(replace(model, choices=replace(model.choices, wide=wide)))
