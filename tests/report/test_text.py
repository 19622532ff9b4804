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


def test_finding_depends_on_what_held_out_rows_say(shop):
    data = shop.data
    text = sentence(data, "finding", "finding").replace("\u00a0", " ")
    assert text.startswith("The labels in ‘liked’ look as if they were made by 2 hidden class")
    assert f"Classifier A makes those of {100 * data['classifiers'][0]['weight']:.0f} % of" in text
    untested = sentence({**data, "held_out": {"reason": "Few rows."}}, "finding", "finding")
    assert untested.startswith("2 hidden classifiers were fitted to the labels in ‘liked’.")


def test_support_states_verdict_and_accuracy_of_both(shop):
    def support(data):
        return sentence(data, "finding", "support").replace("\u00a0", " ")

    data = change(shop.data, "held_out/history/mixture/accuracy", 0.777)
    data = change(data, "held_out/history/mean/accuracy", 0.631)
    assert support(data) == (
        "Where half of a group’s labels are known, the mixture predicts better than a single "
        "classifier that knows their mean: 78 % correct against 63 %."
    )
    unclear = change(data, "held_out/history/verdict", "unclear")
    assert "the mixture does not clearly predict better than" in support(unclear)
    alone = change(change(data, "held_out/history", None), "held_out/fresh/verdict", "worse")
    alone = change(alone, "held_out/fresh/mixture/accuracy", 0.5)
    alone = change(alone, "held_out/fresh/single/accuracy", 0.6)
    assert support(alone) == (
        "On held-out rows, the mixture predicts worse than a single classifier: 50 % correct "
        "against 60 %."
    )
    assert "could not be tested" in support({**data, "held_out": {"reason": "Few rows."}})


@pytest.mark.parametrize(
    ("gain", "interval", "expected"),
    [
        (0.00871, [0.00512, 0.0123], "lower by 0.0087 per label, 95 % interval 0.0051 to 0.0123"),
        (-0.02, [-0.05, 0.01], "higher by 0.020 per label, 95 % interval −0.010 to 0.050"),
        (0.0123, None, "lower by 0.012 per label"),
    ],
)
def test_gains_have_the_digits_of_their_interval(shop, gain, interval, expected):
    comparison = {"gain": gain, "gain_interval": interval}
    text = sentence(shop.data, "held_out", "gain", comparison)
    assert text.replace("\u00a0", " ") == expected


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (0.9, [0.2], "no (80 %)"),
        (0.9, [0.005], "no (over 99 %)"),
        (0.9, [0.1, 0.3], "no (70 % or more)"),
        (0.1, [0.9, 0.7], "yes (70 % or more)"),
        (0.1, [0.999, 0.998], "yes (over 99 %)"),
    ],
)
def test_others_are_as_certain_as_the_least_certain_of_them(shop, own, others, expected):
    text = sentence(shop.data, "classifiers", "others_say", {"own": own, "others": others})
    assert text.replace("\u00a0", " ") == expected


@pytest.mark.parametrize(
    ("value", "interval", "expected"),
    [
        (1.5, [1.0, 2.0], "a factor of 4.5 (2.7 to 7.4) higher"),
        (-1.5, [-2.0, -1.0], "a factor of 4.5 (2.7 to 7.4) lower"),
        (0.1, [-0.1, 0.3], "no clear difference, a factor of 1.11 (0.90 to 1.35)"),
    ],
)
def test_contrasts_in_words(shop, value, interval, expected):
    entry = {"value": value, "interval": interval, "step": 2.0, "level": False, "reference": None}
    text = sentence(shop.data, "effects", "contrast", {**entry, "own": 1.0, "others": 1.0 - value})
    assert text.startswith("the odds of ‘yes’ are multiplied by 2.7 here and ")
    assert text.endswith(f" with the other, per standard deviation (2): {expected}")


def test_weights_are_shares_of_groups_or_of_labels(shop):
    first = {**shop.data["classifiers"][0], "weight": 0.6, "weight_interval": [0.55, 0.65]}
    text = sentence(shop.data, "classifiers", "weight", first).replace("\u00a0", " ")
    assert text.startswith("It makes the labels of 60 % (55 to 65 %) of the groups. Had it made")
    alone = change(shop.data, "rows/n_groups", None)
    text = sentence(alone, "classifiers", "weight", first).replace("\u00a0", " ")
    assert text.startswith("It makes 60 % (55 to 65 %) of the labels. Had it made")
