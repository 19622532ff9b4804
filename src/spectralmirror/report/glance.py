"""What the top of the page shows: the classes side by side, and how sure the fit is of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.mixture.evidence import CLEARLY
from spectralmirror.report.cautions import supported
from spectralmirror.report.spread import is_mixed

__all__ = ["glance"]

#: Effects that are shown of each class, the same of all: those that are strongest in any class.
MOST_EFFECTS = 6
#: Bars are scaled to the longest; intervals may reach farther, by this factor at most.
BEYOND = 1.3


def glance(data: dict[str, Any]) -> dict[str, Any]:
    """Return the picture and the checks, from the collected data."""
    return {"classes": _classes(data), "levels": bool(_steps(data)), "checks": _checks(data)}


def _classes(data: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the effects of each class with the places of their bars, in per cent of the width.

    A bar goes from `left` over `width`, and its interval from `ends[0]` to `ends[1]`; 0 is in the
    middle. Effects are those of one standard deviation, or of a step from 0 to 1.
    """
    profiles = data["profiles"]
    names = profiles["features"][:MOST_EFFECTS]
    steps = np.array([_steps(data).get(name, 1.0) for name in names])
    values = np.array(profiles["profiles"])[:, :MOST_EFFECTS] * steps
    halves = np.zeros_like(values)
    if profiles["halves"] is not None:
        halves = np.array(profiles["halves"])[:, :MOST_EFFECTS] * steps
    longest = np.abs(values).max(initial=0.0)
    farthest = min((np.abs(values) + halves).max(initial=0.0), BEYOND * longest) or 1.0

    def place(x: float) -> float:
        return round(50 + 50 * float(np.clip(x / farthest, -1, 1)), 1)

    def bar(name: str, value: float, half: float) -> dict[str, Any]:
        left, right = sorted((50.0, place(value)))
        return {
            "feature": name,
            "value": value,
            "clear": abs(value) > half,
            "left": left,
            "width": round(right - left, 1),
            "ends": [place(value - half), place(value + half)] if half else None,
        }

    lines = zip(values.tolist(), halves.tolist(), strict=True)
    return [[bar(*one) for one in zip(names, *line, strict=True)] for line in lines]


def _steps(data: dict[str, Any]) -> dict[str, float]:
    """Return the steps of binary features, from 0 to 1, in standard deviations, by their names.

    With several labels, each has effects "label: feature".
    """
    if data["profiles"]["unit_length"]:
        return {}
    features, labels = data["features"], data["labels"].get("names")
    before = [""] if labels is None else [f"{label}: " for label in labels]
    shapes = zip(features["names"], features["binary"], features["scale"], strict=True)
    steps = {name: 1 / scale for name, binary, scale in shapes if binary}
    return {label + name: step for label in before for name, step in steps.items()}


def _checks(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was checked about the classes, whether it came out well, and the numbers."""
    cautions = {c["kind"]: c for c in data["cautions"]}
    model, spread, found = data["model"], data["spread"], []
    path = {k: value for k, value in model["evidence_path"] if value is not None}
    others = {k: value for k, value in path.items() if k != model["k"]}
    if model["k"] in path and others:
        best = max(others, key=lambda k: others[k])
        gain = path[model["k"]] - others[best]
        found.append({"kind": "number", "well": gain >= CLEARLY, "k": best, "gain": gain})
    if model["k"] > 1 and model["doubt"] is not None:
        well = "better_maximum" not in cautions
        found.append({"kind": "maximum", "well": well, "probability": model["doubt"]})
    elif "starts_disagree" in cautions:
        found.append({**cautions["starts_disagree"], "kind": "starts", "well": False})
    if spread["kind"] is not None:
        found.append({"kind": "spread", "well": "no_spread_explains" not in cautions})
    elif spread["score"] is not None:
        well = "members_differ" not in cautions
        found.append({"kind": "members", "well": well, "score": spread["score"]})
    tested = not data["held_out"]["reason"]
    found.append({"kind": "held_out", "well": tested and (not is_mixed(data) or supported(data))})
    if model["k"] > 1:
        judged = data["assignments"]["groups"] or data["assignments"]["rows"]
        well = "guessing" not in cautions
        found.append({"kind": "assigned", "well": well, **{k: judged[k] for k in ("mean", "of")}})
    return found
