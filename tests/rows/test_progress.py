"""What long work is at."""

import logging

from spectralmirror import LinearClassifierMixture
from spectralmirror.rows.progress import hear_progress, stage
from tests.helpers.mixtures import sharp


def test_a_fit_says_what_it_is_at_and_only_to_those_who_listen(capfd, caplog):
    X, y, _ = sharp(500)
    heard = []
    with hear_progress(heard.append):
        LinearClassifierMixture("auto", random_state=0).fit(X, y)
    assert heard[:2] == [
        "1 classifier: looking for starts",
        "1 classifier: climbing over all rows",
    ]
    assert "2 classifiers: looking for starts" in heard
    starts = [text for text in heard if text.startswith("2 classifiers: start ")]
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
        "1 classifier: looking for starts",
        "1 classifier: climbing over all rows",
    ]
