"""Everything that a report says, as plain data."""

from __future__ import annotations

from typing import Any

from spectralmirror.plotting.mixture import profiles_data
from spectralmirror.report import facts
from spectralmirror.report.assignments import assignments
from spectralmirror.report.effects import LEVEL, classifiers
from spectralmirror.report.examples import examples
from spectralmirror.report.held_out import held_out
from spectralmirror.report.inputs import given
from spectralmirror.report.plain import plain
from spectralmirror.report.spectrum import spectrum
from spectralmirror.report.text.cautions import cautions

__all__ = ["collect"]

#: Features in the picture of the profiles.
DRAWN_FEATURES = 15


def collect(
    mixture: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    table: Any = None,
    about: dict[str, Any] | None = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Return everything that a report says of a fitted mixture, as plain data.

    Parameters
    ----------
    mixture : LinearClassifierMixture
        A fitted mixture.
    X : array or DataFrame of shape (n_samples, n_features)
        The features that were fitted, or a sample of their rows, in memory.
    y : array-like of shape (n_samples,)
        Their labels.
    groups : array-like of shape (n_samples,), default=None
        Rows that share their classifier, where there were groups in the fit.
    table : polars DataFrame, default=None
        The same rows in columns of your own, for examples; None shows the features.
    about : dict, default=None
        Facts to state: "files", "label" and "group" (names of columns), "n_rows" (how many were
        fitted), "notes" (a list of sentences), and "references", the level that each feature of
        the form "colour=red" stands against. Others are listed as they are. Weights of
        rows are not known here: say so in "notes".
    random_state : int, RandomState instance or None, default=0
        For the rows that are held out, and for the noise of the spectrum.

    Returns
    -------
    dict
        What strict JSON can hold, numbers to six digits, for :func:`render`.
    """
    from spectralmirror import __version__

    asked = given(mixture, X, y, groups, table, about, random_state)
    features = facts.features(asked)
    found = [
        {**ours, "examples": theirs}
        for ours, theirs in zip(
            classifiers(asked, features["binary"]), examples(asked), strict=True
        )
    ]
    data = {
        "version": __version__,
        "about": asked.about,
        "labels": facts.labels(asked),
        "rows": facts.rows(asked),
        "model": facts.model(asked),
        "features": features,
        "spectrum": spectrum(asked),
        "classifiers": found,
        "profiles": profiles_data(mixture, DRAWN_FEATURES, LEVEL),
        "held_out": held_out(asked),
        "assignments": assignments(asked),
    }
    whole: dict[str, Any] = plain(data)
    return {**whole, "cautions": cautions(whole)}
