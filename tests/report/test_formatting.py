"""Numbers, names and values are written as people write them."""

import numpy as np

from spectralmirror.report.text.formatting import (
    count_of,
    factor,
    listing,
    number,
    percent,
    shortened,
    value_text,
)


def test_numbers_are_written_as_people_write_them():
    values = [0, 6.0, 2.003, 0.1, -1234.5678, 12345.0, 0.00012345, 9.996, 1.5e-7, 3e20, None]
    expected = "0|6|2.00|0.1|−1,235|12,345|0.000123|10.0|1.50 × 10⁻⁷|3.00 × 10²⁰|unknown"
    assert "|".join(map(number, values)).replace("\u00a0", " ") == expected
    shares = [0, 1, 0.613, 0.004, 0.9996, 0.0002, 1e-7]
    expected = "0 %|100 %|61 %|0.4 %|99.96 %|0.02 %|less than 0.01 %"
    assert "|".join(map(percent, shares)).replace("\u00a0", " ") == expected
    assert factor(np.log(12.34), [np.log(8.84), np.log(150.2)]) == "12 (8.8 to 150)"
    assert count_of(1, "row") == "1\u00a0row"
    assert count_of(12000, "row") == "12,000\u00a0rows"
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert listing(list("abcd"), 2) == "a, b and 2 more"
    assert shortened("abcdefghijkl", 7) == "abcd…kl"


def test_values_of_users_are_short_and_in_one_line():
    texts = [value_text(v) for v in (1.0, 0.123456, True, None, float("nan"), "a\n b", "x" * 99)]
    assert [value_text(v) for v in (12345.6, 1000001.37, 2e6)] == [
        "12345.6",
        "1000001.37",
        "2000000",
    ]
    assert texts == ["1", "0.123456", "True", "missing", "missing", "a b", "x" * 79 + "…"]
