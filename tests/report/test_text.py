"""The sentences say what the data say."""

import pytest

from tests.helpers.report import change, sentence


@pytest.mark.parametrize(
    ("response", "value", "interval", "step", "expected"),
    [
        ("logistic", 0.9, [0.7, 1.1], 7.2,
         "raises the odds of ‘yes’ 2.5-fold (2.0 to 3.0) per standard deviation (7.2)"),
        ("logistic", -0.9, [-1.1, -0.7], 7.2,
         "divides the odds of ‘yes’ by 2.5 (2.0 to 3.0) per standard deviation (7.2)"),
        ("logistic", 0.1, [-0.1, 0.3], 1.0,
         "has no clear effect on the odds of ‘yes’: times 1.11 (0.90 to 1.35) "
         "per standard deviation (1)"),
        ("logistic", 30, [2, 58], 1.0,
         "raises the odds of ‘yes’ more than 1,000-fold (7.4 to more than 1,000) "
         "per standard deviation (1)"),
        ("logistic", 0.9, None, 1.0,
         "raises the odds of ‘yes’ 2.5-fold per standard deviation (1)"),
        ("probit", -0.9, [-1.1, -0.7], 2.0,
         "moves the score towards ‘no’ by 0.9 (0.7 to 1.1) per standard deviation (2)"),
        ("hard", -0.62, None, 2.0,
         "pulls towards ‘no’ with 0.62 per standard deviation (2)"),
    ],
)  # fmt: skip
def test_effects_in_words(shop, response, value, interval, step, expected):
    entry = {"value": value, "interval": interval, "step": step, "level": False, "reference": None}
    data = change(shop.data, "model/response", response)
    assert sentence(data, "effects", "effect", entry).replace("\u00a0", " ") == expected
    level = sentence(data, "effects", "effect", {**entry, "level": True, "reference": "blue"})
    assert level.endswith(" against ‘blue’")
    assert "standard deviation" not in level
    binary = sentence(data, "effects", "effect", {**entry, "level": True})
    assert binary.endswith(" where it is 1 rather than 0")


def test_finding_says_whether_held_out_rows_support_it(shop):
    def finding(data):
        return sentence(data, "finding", "finding")

    data = shop.data
    text = finding(data).replace("\u00a0", " ")
    assert text.startswith("The labels in ‘liked’ look as if they were made by 2 hidden class")
    assert f"Classifier A makes those of {100 * data['classifiers'][0]['weight']:.0f} % of" in text
    assert "known, it predicts better than a single classifier" in text
    unclear = change(data, "held_out/history/verdict", "unclear")
    assert "known, it does not clearly predict better" in finding(unclear)
    untested = finding({**data, "held_out": {"reason": "Few rows."}})
    assert untested.startswith("2 hidden classifiers were fitted to the labels in ‘liked’.")
    assert "could not be tested" in untested
