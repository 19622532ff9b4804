"""What to be careful about: which cautions apply, and the numbers that they state.

`text/cautions.jinja` phrases them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spectralmirror.mixture.diagnostics import SEPARATED
from spectralmirror.responses import get_response

__all__ = ["CLOSE", "ROWS_PER_PARAMETER", "cautions", "supported"]

#: With fewer rows per parameter, estimates of logistic regressions are known to be too large and
#: their intervals too short.
ROWS_PER_PARAMETER = 10
#: The same for the rows of the rarer label: half as many, as there would be with balanced labels.
RARE, RARE_PER_PARAMETER = 0.2, 5
#: With fewer groups, cluster-robust standard errors come out too small.
FEWEST_GROUPS = 50
#: The fit itself adds starts until this many agree.
ENOUGH_AGREE = 3
#: A classifier of fewer than one label in twenty is often no more than a few odd rows.
TINY_WEIGHT = 0.05
#: Assignments should be right this much more often than always choosing the largest classifier.
USEFUL_MARGIN = 0.05
#: No honest classifier has such an AUC: some feature must contain the label.
DISGUISED = 0.9995
#: Smaller differences of BIC mean little (Kass and Raftery 1995 call larger ones "very strong").
CLOSE = 10.0

Caution = dict[str, Any]


def cautions(data: dict[str, Any]) -> list[Caution]:
    """Return the cautions that apply to the collected data: the kind of each, and its numbers."""
    checks = (_of_rows, _of_fit, _of_labels, _of_components, _of_use, _of_features)
    return [caution for check in checks for caution in check(data)]


def supported(data: dict[str, Any]) -> bool:
    """Return whether the mixture predicts held-out rows better, or that could not be tested.

    With groups, only the prediction with a history counts: one comparison, not the better of two.
    """
    held_out = data["held_out"]
    if held_out["reason"]:
        return True
    judged = held_out["history"] or held_out["fresh"]
    return bool(judged["verdict"] == "better")


def _of_rows(data: dict[str, Any]) -> Iterator[Caution]:
    rows, parameters = data["rows"], data["model"]["n_parameters"]
    per_parameter = rows["fitted"] / parameters
    rarer = min(data["labels"]["share_positive"], 1 - data["labels"]["share_positive"])
    if per_parameter < ROWS_PER_PARAMETER:
        yield {
            "kind": "few_rows",
            "n_rows": rows["fitted"],
            "n_parameters": parameters,
            "per_parameter": per_parameter,
            "enough": ROWS_PER_PARAMETER,
        }
    elif rarer < RARE and rarer * per_parameter < RARE_PER_PARAMETER:
        yield {
            "kind": "rare_label",
            "share": rarer,
            "per_parameter": rarer * per_parameter,
            "enough": RARE_PER_PARAMETER,
        }
    n_groups = rows["n_groups"]
    if n_groups is not None and n_groups < FEWEST_GROUPS and rows["looked_at"] >= rows["fitted"]:
        yield {"kind": "few_groups", "n_groups": n_groups, "enough": FEWEST_GROUPS}


def _of_fit(data: dict[str, Any]) -> Iterator[Caution]:
    model = data["model"]
    if not model["converged"]:
        yield {"kind": "not_converged"}
    separated = model["log_likelihood"] > -SEPARATED * data["rows"]["fitted"]
    if separated or (not model["has_errors"] and get_response(model["response"]).norm_identified):
        yield {"kind": "no_errors", "status": model["status"]}
    agreed, starts = model["n_agreed"], model["n_starts"]
    if model["k"] > 1 and agreed < ENOUGH_AGREE and (agreed < starts or starts == 1):
        yield {"kind": "starts_disagree", "n_agreed": agreed, "n_starts": starts}


def _of_labels(data: dict[str, Any]) -> Iterator[Caution]:
    fresh = data["held_out"].get("fresh")
    auc = None if fresh is None else fresh["mixture"]["auc"]
    if auc is not None and auc > DISGUISED:
        yield {"kind": "disguised", "auc": auc}


def _of_components(data: dict[str, Any]) -> Iterator[Caution]:
    asked, k, best = (data["model"][key] for key in ("asked", "k", "bic"))
    if isinstance(asked, int) and asked > k:
        yield {"kind": "dropped", "n_requested": asked, "n_dropped": asked - k}
    others = [(bic - best, other) for other, bic in data["model"]["bic_path"] if other != k]
    if asked == "auto" and others and min(others)[0] < CLOSE:
        more, other = min(others)
        yield {"kind": "close_k", "k": other, "bic_difference": more}
    tiny = [c for c in data["classifiers"] if c["weight"] < TINY_WEIGHT]
    if tiny:
        found = [{"name": c["name"], "weight": c["weight"]} for c in tiny]
        yield {"kind": "tiny_weight", "classifiers": found}


def _of_use(data: dict[str, Any]) -> Iterator[Caution]:
    if data["model"]["k"] == 1:
        return
    if not supported(data):
        judged = data["held_out"]["history"] or data["held_out"]["fresh"]
        yield {"kind": "no_better", "verdict": judged["verdict"]}
    assignments = data["assignments"]
    judged = assignments["groups"] or assignments["rows"]
    if judged["mean"] - assignments["largest"] < USEFUL_MARGIN:
        yield {
            "kind": "guessing",
            "expected": judged["mean"],
            "of": judged["of"],
            "largest": assignments["largest"],
        }


def _of_features(data: dict[str, Any]) -> Iterator[Caution]:
    features = data["features"]
    # binary features are left out: nothing can be done about their shape
    shapes = zip(features["names"], features["gaussian"], features["binary"], strict=True)
    names = [name for name, gaussian, binary in shapes if not (gaussian or binary)]
    if names:
        yield {"kind": "non_gaussian", "names": names, "n_features": len(features["names"])}
