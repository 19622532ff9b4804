"""What to be careful about: which cautions apply, and the numbers that they state.

`text/cautions.jinja` phrases them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spectralmirror.mixture.diagnostics import DOUBTFUL, SEPARATED
from spectralmirror.mixture.evidence import CLEARLY
from spectralmirror.mixture.spread_score import CLEARLY_DIFFERENT
from spectralmirror.report.spread import is_mixed
from spectralmirror.responses import get_response

__all__ = ["ROWS_PER_PARAMETER", "cautions", "closest_number", "fewer_explain", "supported"]

#: With fewer rows per parameter, estimates of logistic regressions are known to be too large and
#: their intervals too short.
ROWS_PER_PARAMETER = 10
#: The same for the rows of the rarer label: half as many, as there would be with balanced labels.
RARE, RARE_PER_PARAMETER = 0.2, 5
#: With fewer groups, cluster-robust standard errors come out too small.
FEWEST_GROUPS = 50
#: Models that were stored without a probability of a better maximum added starts until this many
#: agreed.
ENOUGH_AGREE = 3
#: A classifier of fewer than one label in twenty is often no more than a few odd rows.
TINY_WEIGHT = 0.05
#: Assignments should be right this much more often than always choosing the largest classifier.
USEFUL_MARGIN = 0.05
#: No honest classifier has such an AUC: some feature must contain the label.
DISGUISED = 0.9995
#: Smaller differences mean little: Kass and Raftery (1995) call odds of 20 to 1 "strong" evidence,
#: and a difference of BIC of 10 "very strong".
CLOSE = {"evidence": CLEARLY, "bic": 10.0}

Caution = dict[str, Any]


def cautions(data: dict[str, Any]) -> list[Caution]:
    """Return the cautions that apply to the collected data: the kind of each, and its numbers."""
    checks = (
        *(_of_number, _of_spread, _of_rows, _of_fit, _of_labels),
        *(_of_components, _of_use, _of_features),
    )
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


def fewer_explain(k: int, evidence: Mapping[int, float]) -> int | None:
    """Return the number of classifiers below k that has the most evidence, if clearly more than k.

    `evidence` holds the log evidence for each number of classifiers that was compared.
    """
    fewer = [other for other in evidence if other < k]
    if k not in evidence or not fewer:
        return None
    best = max(fewer, key=lambda other: evidence[other])
    return best if evidence[best] >= evidence[k] + CLEARLY else None


def closest_number(k: int, path: Mapping[int, float], criterion: str) -> tuple[int, float] | None:
    """Return the other number of classifiers that is as good as k, or almost, if there is one.

    Parameters
    ----------
    k : int
        The number of classifiers that were fitted.
    path : dict
        The log evidence, or the BIC, of each number that was compared.
    criterion : str
        "evidence" or "bic"; other criteria have no path.

    Returns
    -------
    tuple or None
        The number, and by how much its log evidence is larger, or its BIC.
    """
    others = {other: value - path[k] for other, value in path.items() if other != k and k in path}
    close = {other: more for other, more in others.items() if abs(more) < CLOSE[criterion]}
    if not close:
        return None
    best = max if criterion == "evidence" else min
    return best(close.items(), key=lambda item: item[1])


def _path(model: dict[str, Any], criterion: str) -> dict[int, float]:
    """Return the criterion for each number of classifiers; empty if it was not kept."""
    return {k: value for k, value in model.get(f"{criterion}_path", []) if value is not None}


def _of_number(data: dict[str, Any]) -> Iterator[Caution]:
    k, evidence = data["model"]["k"], _path(data["model"], "evidence")
    best = fewer_explain(k, evidence)
    if best is not None:
        yield {
            "kind": "fewer_explain",
            "k": best,
            "log_evidence": evidence[best],
            "log_evidence_fitted": evidence[k],
        }


def _of_spread(data: dict[str, Any]) -> Iterator[Caution]:
    spread, model = data["spread"], data["model"]
    score, rival, gain = spread["score"], spread["rival"], spread["gain"]
    possible = model["refined"] and get_response(model["response"]).norm_identified
    if spread["kind"] is None:
        asked = spread["from_data"]  # the evidence has then spoken against it
        if possible and not asked and score is not None and score > CLEARLY_DIFFERENT:
            yield {"kind": "members_differ", "score": score}
    elif rival == "none" and gain is not None and gain <= -CLEARLY:
        yield {"kind": "no_spread_explains", "less": -gain}


def _of_rows(data: dict[str, Any]) -> Iterator[Caution]:
    rows, parameters = data["rows"], data["model"]["n_parameters"]
    per_parameter = rows["fitted"] / parameters
    positive = data["labels"]["share_positive"]
    rarer = min(data["labels"].get("shares") or (positive, 1 - positive))
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
    doubt, agreed, starts = model["doubt"], model["n_agreed"], model["n_starts"]
    if doubt is not None:
        if doubt > DOUBTFUL:
            yield {"kind": "better_maximum", "probability": doubt}
    elif data["spread"]["kind"] is not None:
        return  # its few starts say little
    elif model["k"] > 1 and agreed < ENOUGH_AGREE and (agreed < starts or starts == 1):
        yield {"kind": "starts_disagree", "n_agreed": agreed, "n_starts": starts}


def _of_labels(data: dict[str, Any]) -> Iterator[Caution]:
    fresh = data["held_out"].get("fresh")
    auc = None if fresh is None else fresh["mixture"]["auc"]
    if auc is not None and auc > DISGUISED:
        yield {"kind": "disguised", "auc": auc}


def _of_components(data: dict[str, Any]) -> Iterator[Caution]:
    model = data["model"]
    asked, k, criterion = model["asked"], model["k"], model["criterion"]
    if isinstance(asked, int) and asked > k:
        yield {"kind": "dropped", "n_requested": asked, "n_dropped": asked - k}
    close = closest_number(k, _path(model, criterion), criterion)
    if close and fewer_explain(k, _path(model, "evidence")) is None:
        yield {"kind": "close_k", "k": close[0], "criterion": criterion, "difference": close[1]}
    tiny = [c for c in data["classifiers"] if c["weight"] < TINY_WEIGHT]
    if tiny:
        found = [{"name": c["name"], "weight": c["weight"]} for c in tiny]
        yield {"kind": "tiny_weight", "classifiers": found}


def _of_use(data: dict[str, Any]) -> Iterator[Caution]:
    if is_mixed(data) and not supported(data):
        judged = data["held_out"]["history"] or data["held_out"]["fresh"]
        yield {"kind": "no_better", "verdict": judged["verdict"]}
    if data["model"]["k"] == 1:
        return
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
