"""The top of the page: classes side by side on one scale, and what was checked about them."""

import numpy as np
import pytest

from spectralmirror.report.cautions import cautions
from spectralmirror.report.glance import MOST_EFFECTS, glance
from spectralmirror.report.renderer import context, render, templates
from tests.helpers.report import Page, change

HEADS = {"one": "class", "many": "classes", "members": "persons of the same class"}


def checked(data, kind):
    """Return a check and its sentence, after the cautions were collected anew."""
    data = {**data, "cautions": cautions(data)}
    (found,) = (check for check in glance(data)["checks"] if check["kind"] == kind)
    module = templates().get_template("text/glance.jinja").make_module(context(data))
    text = Page(str(module.check(found, HEADS, lambda: "Held out."))).text
    return found["well"], text.replace("\u00a0", " ")


def test_bars_of_all_classes_have_one_scale(shop):
    classes = glance(shop.data)["classes"]
    scale = np.asarray(shop.mixture.feature_scale_)
    steps = dict(zip(shop.data["features"]["names"], [*scale[:3], 1.0], strict=True))
    coefficients = dict(zip(steps, shop.mixture.coef_.T, strict=True))
    ratios = []
    for c, effects in enumerate(classes):
        assert [one["feature"] for one in effects] == shop.data["profiles"]["features"]
        for one in effects:
            name = one["feature"]
            assert one["value"] == pytest.approx(coefficients[name][c] * steps[name], rel=1e-4)
            far = one["left"] if one["value"] < 0 else one["left"] + one["width"]
            ratios.append((far - 50) / one["value"])
            assert one["ends"][0] < far < one["ends"][1]
            assert one["clear"] == (min(one["ends"]) > 50 or max(one["ends"]) < 50)
    np.testing.assert_allclose(ratios, np.median(ratios), atol=1.0)  # places have one decimal
    assert max(max(one["ends"]) for effects in classes for one in effects) <= 100


def test_wide_intervals_do_not_make_bars_small(shop):
    first = [500.0, *shop.data["profiles"]["halves"][0][1:]]
    halves = [first, *shop.data["profiles"]["halves"][1:]]
    data = change(shop.data, "profiles/halves", halves)
    first = glance(data)["classes"][0][0]
    assert first["ends"] == [0.0, 100.0]
    assert not first["clear"]
    longest = max(one["width"] for effects in glance(data)["classes"] for one in effects)
    assert longest == pytest.approx(50 / 1.3, abs=0.1)


def test_few_effects_are_shown(shop):
    wide = [list(range(40)), list(range(40))]
    data = change(shop.data, "profiles/profiles", wide)
    data = change(
        change(data, "profiles/halves", None), "profiles/features", [*map(str, range(40))]
    )
    classes = glance(data)["classes"]
    assert [len(effects) for effects in classes] == [MOST_EFFECTS] * 2
    assert all(one["ends"] is None for effects in classes for one in effects)


@pytest.mark.parametrize(
    ("path", "well", "words"),
    [
        ([[1, -480.0], [2, -460.0]], True,
         "These 2 classes rather than one class: the log evidence is 20.0 higher."),
        ([[1, -461.0], [2, -460.0], [3, -470.0]], False,
         "These 2 classes or one class? The log evidence is only 1.0 higher than with one class."),
        ([[1, -470.0], [2, -460.0], [3, -450.0]], False,
         "3 classes would do: the log evidence is 10.0 higher than with 2."),
    ],
)  # fmt: skip
def test_the_number_is_weighed(shop, path, well, words):
    assert checked(change(shop.data, "model/evidence_path", path), "number") == (well, words)


def test_every_doubt_has_a_sentence(shop):
    data = shop.data
    sure, text = checked(data, "maximum")
    assert sure
    assert text == "Probably no better fit exists: the probability of one is about 1 %."
    assert checked(change(data, "model/doubt", 0.4), "maximum") == (
        False, "A better fit may exist: the probability of one is about 40 %.",
    )  # fmt: skip
    older = change(change(data, "model/doubt", None), "model/n_agreed", 1)
    assert not checked(older, "starts")[0]
    assert checked(data, "members")[0]
    assert checked(change(data, "spread/score", 5.0), "members") == (
        False, "Persons of the same class differ (z = 5.0): effects come out too small.",
    )  # fmt: skip
    assert checked(data, "held_out") == (True, "Held out.")
    assert not checked(change(data, "held_out/history/verdict", "unclear"), "held_out")[0]
    assert not checked({**data, "held_out": {"reason": "Few rows."}}, "held_out")[0]
    assert checked(data, "assigned")[0]
    guessed = change(data, "assignments/groups/mean", data["assignments"]["largest"])
    sure, text = checked(guessed, "assigned")
    assert not sure
    assert text.endswith("of the groups, hardly more than by naming the largest.")


def test_a_spread_is_weighed_instead(varied):
    assert "members" not in {check["kind"] for check in glance(varied.data)["checks"]}
    gain = varied.data["spread"]["gain"]
    sure, text = checked(varied.data, "spread")
    assert sure
    assert f"the log evidence is {gain:.1f} above that of classes whose members are alike" in text
    alike = change(change(varied.data, "spread/gain", -5.0), "spread/rival", "none")
    assert not checked(alike, "spread")[0]


def test_the_page_begins_with_both(shop):
    text = Page(render(shop.data)).text.replace("\u00a0", " ")
    start = text.index("Side by side")
    assert start < text.index("How sure is this?") < text.index("What was fitted")
    assert text.index("× 7.7") < text.index("How sure")
    few = change(shop.data, "cautions", [{"kind": "not_converged"}])
    assert "1 caution: what to be careful about" in Page(render(few)).text.replace("\u00a0", " ")


def test_effects_on_several_labels_name_the_label(shop):
    """Labels before colons; the step of the binary feature is that of 0 to 1 for every label."""
    data = change(shop.data, "labels/names", ["bike", "car"])
    names = ["bike: price", "car: colour=red"]
    data = change(data, "profiles/features", names)
    data = change(change(data, "profiles/profiles", [[1.0, 1.0]] * 2), "profiles/halves", None)
    values = [one["value"] for one in glance(data)["classes"][0]]
    scale = data["features"]["scale"][data["features"]["names"].index("colour=red")]
    assert values == pytest.approx([1.0, 1 / scale])
    module = templates().get_template("text/glance.jinja").make_module(context(data))
    assert "odds of the label before the colon" in str(module.caption("SD"))
