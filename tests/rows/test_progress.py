"""What long work is at."""

import logging
import re

import pytest

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.datasets import make_choice_mixture
from spectralmirror.rows.progress import hear_progress, stage
from tests.helpers.mixtures import sharp


def test_a_fit_says_what_it_is_at_and_only_to_those_who_listen(capfd, caplog):
    X, y, _ = sharp(500)
    heard = []
    with hear_progress(heard.append):
        LinearClassifierMixture("auto", random_state=0).fit(X, y)
    assert heard[:2] == [
        "1 class: looking for starts",
        "1 class: climbing over all rows",
    ]
    assert "2 classes: looking for starts" in heard
    starts = [text for text in heard if text.startswith("2 classes: start ")]
    assert len(starts) > 2
    n = len(heard)
    stage("nobody listens any more")
    assert len(heard) == n
    assert capfd.readouterr() == ("", "")


def test_logging_hears_stages(caplog):
    X, y, _ = sharp(500)
    with caplog.at_level(logging.INFO, logger="spectralmirror"):
        LinearClassifierMixture(1).fit(X, y)
    assert caplog.messages == [
        "1 class: looking for starts",
        "1 class: climbing over all rows",
    ]


@pytest.mark.parametrize("verbose", [False, 0, True, 1, 2])
def test_verbose_prints_stages_and_starts(capsys, verbose):
    X, y, _ = sharp(500)
    LinearClassifierMixture(2, random_state=0, verbose=verbose).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    if not verbose:
        assert lines == []
        return
    texts = [re.fullmatch(r" *\d+\.\d s  (.*)", line)[1] for line in lines]
    starts = [text for text in texts if "start " in text]
    assert (len(starts) > 2) == (verbose == 2)
    assert texts[0] == "2 classes: looking for starts"
    assert texts[-1] == "done"


def test_choices_print_their_stages_too(capsys):
    X, chosen, truth = make_choice_mixture(30, 2, 1, n_choices=2, random_state=0)
    ChoiceMixture(1, verbose=True).fit(X, chosen, choices=truth.choices)
    assert "climbing over all rows" in capsys.readouterr().out


def test_a_listener_around_a_verbose_fit_hears_all(capsys):
    X, y, _ = sharp(500)
    heard = []
    with hear_progress(heard.append):
        LinearClassifierMixture(2, random_state=0, verbose=True).fit(X, y)
    assert any(": start " in text for text in heard)
    assert ": start " not in capsys.readouterr().out
