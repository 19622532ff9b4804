"""Parameters in messages, by other names."""

import pytest

from spectralmirror.rows.parameter_names import translated

NAMES = {"n_init": "--starts", "n_components": "-k", "spread": "--spread", "l2": "--l2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Raise `n_init`, or `l2`.", "Raise --starts, or --l2."),
        ("use `n_components=3`, or `n_components='auto'`.", "use -k 3, or -k auto."),
        ("`spread=None` or `spread='full'`", "--spread none or --spread full"),
        ("`l2=0.1`, `tol=3`, `refine`", "--l2 0.1, tol=3, refine"),
        ("A column named n_init, `price in EUR`", "A column named n_init, `price in EUR`"),
    ],
)
def test_only_what_is_in_backticks_is_translated(text, expected):
    assert translated(text, NAMES) == expected
