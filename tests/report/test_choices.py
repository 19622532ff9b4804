"""The report on choices: what it collects, and what it says."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from spectralmirror import ChoiceMixture
from spectralmirror.effects import ratios
from spectralmirror.plotting import plot_profiles, plot_responsibilities, plot_starts
from spectralmirror.report import cautions, choice_collector, collect, render
from tests.helpers.choices import NAMES, arrays, survey
from tests.helpers.report import Page, check_page


@pytest.fixture(scope="module")
def surveyed():
    frame = survey(150)
    X, chosen, case, who = arrays(frame)
    table = pl.DataFrame(X, schema=NAMES)
    mixture = ChoiceMixture(2, random_state=0).fit(table, chosen, choices=case, groups=who)
    return mixture, table, chosen, case, who, frame["alt"].to_numpy()


@pytest.fixture(scope="module")
def data(surveyed):
    mixture, table, chosen, case, who, alternatives = surveyed
    about = {"label": "chosen", "group": "who", "files": "survey.csv"}
    return collect(
        mixture, table, chosen, choices=case, groups=who, alternatives=alternatives, about=about
    )


def test_the_page(data):
    page = render(data)
    check_page(page)
    text = Page(page).text
    n = data["model"]["n_choices"]
    assert f"Hidden classes behind {n:,} choices" in text
    assert "The choices look as if they were made by 2 classes of persons. Class A has" in text
    assert re.search("150\\spersons, by ‘who’; median 8 choices each", text)
    assert "2 to 4 in each set" in text
    assert "the 2 classes predict better than a conditional logit of one class" in text
    assert "one more unit of" in text
    assert "classifier" not in text
    assert "label" not in text


def test_shares_are_averages_of_probabilities(surveyed, data):
    mixture, table, chosen, case, _, alternatives = surveyed
    shares = data["shares"]
    assert shares["alternatives"] == list("abcd")
    P = mixture.predict_proba(table, choices=case)
    n = len(np.unique(case))
    for a, name in enumerate("abcd"):
        mine = alternatives == name
        assert shares["observed"][a] == pytest.approx((mine & (chosen == 1)).sum() / n, abs=1e-6)
        assert shares["overall"][a] == pytest.approx(P[mine].sum() / n, abs=1e-6)


def test_willingness_to_pay_is_minus_a_ratio(surveyed, data):
    mixture = surveyed[0]
    assert data["pay"]["price"] == "price"
    found = {line["feature"]: line for line in data["pay"]["features"]}
    assert list(found) == ["speed", "comfort"]
    table = ratios(mixture, "speed", "price")
    np.testing.assert_allclose(found["speed"]["values"], -table.estimate[:2], rtol=1e-5)
    np.testing.assert_allclose(
        found["speed"]["intervals"], np.c_[-table.upper[:2], -table.lower[:2]], rtol=1e-4
    )


def test_held_out_choices(surveyed, data):
    held = data["held_out"]
    fresh, history = held["fresh"], held["history"]
    sizes = np.unique(surveyed[3], return_counts=True)[1]
    assert fresh["n_choices"] == held["n_choices"] == len(sizes)
    assert fresh["constant"]["log_loss"] == pytest.approx(np.log(sizes).mean(), rel=1e-5)
    assert fresh["constant"]["accuracy"] == pytest.approx((1 / sizes).mean(), rel=1e-5)
    gain = fresh["single"]["log_loss"] - fresh["mixture"]["log_loss"]
    assert fresh["gain"] == pytest.approx(gain, abs=1e-5)
    # classes with opposite tastes: a history must help by far more than its error
    assert history["gain_interval"][0] > 0.2
    assert history["verdict"] == "better"
    # what one class predicts for strangers is what the truth says on average
    t = arrays(survey(150))[0] @ (0.6 * np.array([1.5, -1.0, 0.5]) + 0.4 * np.array([-1, 1, 1.5]))
    assert 0.9 < fresh["single"]["log_loss"] < np.log(sizes).mean()
    assert softmax(t[:4]).max() < 1


def test_assignments_of_choices_and_persons(surveyed, data):
    found = data["assignments"]
    assert np.sum(found["rows"]["counts"]) == len(np.unique(surveyed[3]))
    assert np.sum(found["groups"]["counts"]) == 150
    assert found["rows"]["of"] == "choices"
    assert found["groups"]["of"] == "persons"
    assert found["groups"]["mean"] > found["rows"]["mean"]


def test_one_class_without_persons():
    X, chosen, case, _ = arrays(survey(60))
    mixture = ChoiceMixture(1, random_state=0).fit(X, chosen, choices=case)
    data = collect(mixture, X, chosen, choices=case)
    page = render(data)
    check_page(page)
    text = Page(page).text
    assert "The class behind" in text
    assert "The choices are described by one class: one was requested." in text
    assert "by its position in the set" in text
    assert data["pay"] is None
    assert data["shares"]["alternatives"] == ["1", "2", "3", "4"]


def test_members_who_differ(data, monkeypatch):
    # held-out figures are those of two classes, to save time
    monkeypatch.setattr(choice_collector, "choices_held_out", lambda _: data["held_out"])
    X, chosen, case, who = arrays(survey(60))
    mixture = ChoiceMixture(1, spread="diagonal", random_state=0)
    mixture.fit(X, chosen, choices=case, groups=who)
    text = Page(render(collect(mixture, X, chosen, choices=case, groups=who))).text
    assert "one class, whose members differ" in text
    assert "the person’s own effects" in text
    assert "members who differ predict better than" in text


def test_bad_input(surveyed):
    mixture, table, chosen, case, who, alternatives = surveyed
    with pytest.raises(ValueError, match="pass the person of each row"):
        collect(mixture, table, chosen, choices=case)
    with pytest.raises(ValueError, match="Set 100 of choices has no chosen row"):
        collect(mixture, table, np.zeros(len(case)), choices=case, groups=who)
    with pytest.raises(ValueError, match="alternatives must name the alternative of each"):
        collect(mixture, table, chosen, choices=case, groups=who, alternatives=alternatives[:5])
    with pytest.raises(ValueError, match="There is no feature 'prize'"):
        collect(mixture, table, chosen, choices=case, groups=who, about={"price": "prize"})


def test_figures_draw_mixtures_of_choices(surveyed):
    mixture, table, chosen, case, who, _ = surveyed
    ax = plot_profiles(mixture)
    assert {label.get_text() for label in ax.get_yticklabels()} == set(NAMES)
    ax = plot_responsibilities(mixture, table, chosen, choices=case, groups=who)
    assert ax.get_title() == "Who made the choices? (persons)"
    assert ax.get_ylabel() == "number of persons"
    ax = plot_responsibilities(mixture, table, chosen, choices=case)
    assert ax.get_ylabel() == "number of choices"
    assert plot_starts(mixture).get_title() == "Starts"
    plt.close("all")


def test_every_caution_has_words(data):
    # labels, their rarity, the spectrum and the AUC of labels do not exist here
    never = {"disguised", "non_gaussian", "rare_label"}
    folder = Path(cautions.__file__).parent
    kinds = set(re.findall(r'"kind": "(\w+)"', Path(cautions.__file__).read_text()))
    said = set(re.findall(r"macro (\w+)\(", (folder / "text/choice_cautions.jinja").read_text()))
    assert kinds - never <= said
    told = {**data, "cautions": [{"kind": "starts_disagree", "n_agreed": 1, "n_starts": 8}]}
    assert "Only 1 of 8\xa0starts reached" in Page(render(told)).text
