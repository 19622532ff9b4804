"""Which columns describe which alternative, for surveys with one line for each choice."""

from dataclasses import replace

import pytest

from spectralmirror.tables.wide_form import wide_form


def form(columns, values, **options):
    return wide_form(columns.split(), values, "choice", **options)


@pytest.mark.parametrize(
    ("columns", "values", "sides", "features"),
    [
        ("price_a price_b time_a time_b age", "ab", ["*_a", "*_b"], ["price", "time"]),
        ("price1 price2 q1", "12", ["*1", "*2"], ["price"]),
        ("car.cost bus.cost bus.wait", ["car", "bus"], ["car.*", "bus.*"], ["cost", "wait"]),
        ("price_A price_B", "ab", ["*_A", "*_B"], ["price"]),
        ("price_1 price_2 price_3 time_1 time_2 time_3", "13",
         ["*_1", "*_3", "*_2"], ["price", "time"]),  # 2 was never chosen
        ("price_1 price_2", ["option1", "option2"], ["*_1", "*_2"], ["price"]),
        ("price_a price_b price_min", "ab", ["*_a", "*_b"], ["price"]),
        ("x_car x_bus y_car y_bus x_bike y_bike", ["car", "bus"],
         ["*_car", "*_bus", "*_bike"], ["x", "y"]),
    ],
)  # fmt: skip
def test_columns_are_found(columns, values, sides, features):
    found = form(columns, list(values))
    assert [side for _, side in found.sides] == sides
    assert list(found.features) == features


def test_outside_option_and_availability():
    found = form("price_a price_b av_a av_b", ["a", "b", "none"], outside="none", available="av")
    assert found.sides == (("a", "*_a"), ("b", "*_b"), ("none", ""))
    assert found.features == ("price",)
    assert found.column("price", "*_b") == "price_b"
    assert found.column("price", "") is None


def test_a_column_that_is_lost_is_not_0():
    found = form("price_a price_b toll_a av_a av_b", ["a", "b"], available="av")
    assert found.absent == ("toll_b",)
    assert found.lacking(["price_a", "price_b", "toll_a", "toll_b", "av_a", "av_b"]) == []
    assert found.lacking(["price_a", "toll_a", "av_b"]) == ["price_b", "av_a"]
    earlier = replace(found, absent=None)  # knows which features there are, but not for whom
    assert earlier.lacking(["price_a", "toll_a", "av_b"]) == []
    assert earlier.lacking(["price_b"]) == ["toll_a", "av_a"]


@pytest.mark.parametrize(
    ("columns", "values", "options", "sentence"),
    [
        ("price_a price_b", ["a", "b", "none"], {}, "with --outside"),
        ("price time", ["a", "b"], {}, "do not occur before or after the names of columns"),
        ("price_a price_b", ["none"], {"outside": "none"}, "no alternative besides 'none'"),
        ("price_a price_b", ["a", "b"], {"available": "av"}, "such as 'av_a'"),
    ],
)
def test_what_cannot_be_found(columns, values, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        form(columns, values, **options)
