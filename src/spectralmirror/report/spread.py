"""How much members of one class differ, and what the evidence says about it.

Member g of class l has the profile u_l + B z_g with z_g ~ N(0, I), so that coefficient j is normal
with mean u_lj and standard deviation s_j: its sign is opposite to that of u_lj for a share of
Phi(-|u_lj| / s_j) of the members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import norm

from spectralmirror.mixture.summary import (
    Choices,
    deviation_interval,
    deviations_within,
    quantile,
)
from spectralmirror.plotting.spread import REACH, intercepts_at_mean
from spectralmirror.report.effects import LEVEL
from spectralmirror.report.inputs import Inputs
from spectralmirror.responses import get_response

__all__ = ["is_mixed", "members", "spread", "subject"]

#: Members agree about a feature if its standard deviation is at most this share of its mean effect,
#: and at most 5 % have the opposite sign even at the upper end of the interval.
AGREE = 1 / 3
#: They differ if it is clearly above 0, at least as large as the mean effect, and at least this
#: share of the largest one: if neither matters much, there is nothing to differ about.
NOTABLE = 1 / 4
#: Features that are named, of each kind.
MAX_NAMED = 3


def is_mixed(data: Mapping[str, Any]) -> bool:
    """Return whether there is more than a single classifier: several, or one class that varies."""
    return bool(data["model"]["k"] > 1 or data["spread"]["kind"] is not None)


def subject(data: Mapping[str, Any]) -> str:
    """Return what the fitted model is called where it is compared with a single classifier."""
    if data["model"]["k"] > 1:
        return "mixture"
    return "class" if is_mixed(data) else "classifier"


def spread(inputs: Inputs) -> dict[str, Any]:
    """Return the spread of members and its evidence; `kind` is None if they are alike."""
    mixture, choices = inputs.mixture, Choices.of(inputs.mixture)
    rival = choices.spread_rival
    found = {
        "kind": choices.spread,
        "from_data": choices.spread_from_data,
        "evidence": [[kind, value] for kind, value in choices.spread_evidence.items()],
        "rival": None if rival is None else rival[0],
        "gain": None if rival is None else rival[1],
        "score": float(getattr(mixture, "spread_score_", np.nan)),
    }
    if choices.spread is None:
        return found
    deviations, of_intercept = deviations_within(mixture)
    return found | {
        "deviations": deviations[0],
        "errors": deviations[1],
        "intercept_deviation": of_intercept[0],
        "intercept_error": of_intercept[1],
    }


def members(inputs: Inputs, c: int) -> dict[str, Any] | None:
    """Return what the members of a class agree and differ about; None if they are alike.

    None, too, with more than two labels, about all of which they differ equally. If only their
    intercepts differ, they agree about all features by assumption, and none is named.
    """
    mixture = inputs.mixture
    if getattr(mixture, "spread_kind_", None) is None or len(mixture.classes_) > 2:
        return None
    q = quantile(mixture, LEVEL)
    estimates = np.array(
        [
            *(mixture.coef_[c], mixture.coef_standard_error_[c]),
            *(mixture.spread_deviation_, mixture.spread_standard_error_),
        ]
    )
    found = [
        _member_effect(name, q, *per_sd)
        for name, per_sd in zip(inputs.names, (estimates * inputs.scale).T.tolist(), strict=True)
        if per_sd[2] > 0
    ]
    largest = max((entry["deviation"] for entry in found), default=0.0)
    agree = [entry for entry in found if _agree(entry)]
    differ = [entry for entry in found if _differ(entry, largest)]
    return {
        "agree": sorted(agree, key=lambda entry: -abs(entry["effect"]))[:MAX_NAMED],
        "differ": sorted(differ, key=lambda entry: -entry["deviation"])[:MAX_NAMED],
        "at_mean": _at_mean(mixture, c),
    }


def _member_effect(
    name: str, q: float, effect: float, error: float, deviation: float, deviation_error: float
) -> dict[str, Any]:
    """Return the effect of a feature per SD, how much members differ in it, and what is clear.

    Without standard errors, everything counts as clear.
    """
    return {
        "feature": name,
        "effect": effect,
        "clear_effect": not abs(effect) <= q * error,
        "deviation": deviation,
        "deviation_interval": deviation_interval(deviation, deviation_error, q),
        "clear_deviation": not deviation <= q * deviation_error,
        "opposite": float(norm.cdf(-abs(effect) / deviation)),
    }


def _agree(entry: dict[str, Any]) -> bool:
    size, upper = abs(entry["effect"]), entry["deviation_interval"][1]
    close = entry["deviation"] <= AGREE * size and not REACH * upper > size
    return bool(close and entry["clear_effect"])


def _differ(entry: dict[str, Any], largest: float) -> bool:
    wide = entry["deviation"] >= max(abs(entry["effect"]), NOTABLE * largest)
    return bool(wide and entry["clear_deviation"])


def _at_mean(mixture: Any, c: int) -> list[float] | None:
    """Return the probabilities of +1 at the mean of the features between which 90 % of members lie.

    None if intercepts do not clearly vary.
    """
    deviation, error = mixture.intercept_deviation_, mixture.intercept_deviation_standard_error_
    if not deviation > 0 or deviation <= quantile(mixture, LEVEL) * error:
        return None
    middle = intercepts_at_mean(mixture)[0][c]
    f = get_response(mixture.response).fitted.f
    return [float(f(middle + sign * REACH * deviation)) for sign in (-1, 1)]
