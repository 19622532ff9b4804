"""What was fitted and on what, as terms and what they are."""

from __future__ import annotations

from typing import Any

from spectralmirror.report.text.words import (
    count,
    fixed,
    listing,
    number,
    percent,
    quoted,
    shortened,
)
from spectralmirror.responses import get_response

__all__ = ["facts"]

#: Names are shortened to so many characters where several are listed.
LONGEST_LISTED = 40


def facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was fitted and on what, as terms and what they are."""
    about = data["about"]
    known = ("files", "source", "label", "label_names", "group", "n_rows", "notes", "references")
    files, source = about.get("files"), about.get("source")
    found = [("Fitted to", str(source or files))] if source or files else []
    found += [*_rows(data, source is not None and files != source), *_model(data)]
    found += [(str(key), str(value)) for key, value in about.items() if key not in known]
    return found


def _rows(data: dict[str, Any], elsewhere: bool) -> list[tuple[str, str]]:
    """Return rows, groups, labels and features; `elsewhere` where this page is of other files."""
    rows, labels, names = data["rows"], data["labels"], data["features"]["names"]
    text = f"{count(rows['fitted'], 'row')} fitted"
    if not elsewhere and rows["looked_at"] < rows["fitted"]:
        text += f"; this page looked at {rows['looked_at']:,} of them"
    found = [("Rows", text)]
    if elsewhere or rows["looked_at"] > rows["fitted"]:
        of = f" of {data['about']['files']}" if elsewhere else ""
        found.append(("This page", f"{count(rows['looked_at'], 'row')}{of}"))
    if rows["n_groups"] is not None:
        column = f", by {quoted(rows['group_column'])}" if rows["group_column"] else ""
        median = rows["median_group"]
        of = f"median {number(median)} {'row' if median == 1 else 'rows'} each"
        found.append(("Groups", f"{count(rows['n_groups'], 'group')}{column}; {of}"))
    column = f"in {quoted(labels['column'])}: " if labels["column"] else ""
    positive = f"{quoted(labels['positive'])} counts as +1 ({percent(labels['share_positive'])})"
    share = percent(1 - labels["share_positive"])
    found.append(("Labels", f"{column}{positive}, {quoted(labels['negative'])} as −1 ({share})"))
    listed = listing([quoted(shortened(name, LONGEST_LISTED)) for name in names], 8)
    found.append(("Features", f"{len(names):,}: {listed}"))
    return found


def _model(data: dict[str, Any]) -> list[tuple[str, str]]:
    model = data["model"]
    path = ", ".join(f"{fixed(bic, 1)} for {k}" for k, bic in model["bic_path"])
    how = "as asked for"
    if model["asked"] == "auto":
        how = f"by the least BIC ({path})"
    elif model["asked"] != model["k"]:
        how = f"though {model['asked']} were asked for"
    criteria = f"log-likelihood {fixed(model['log_likelihood'], 1)}, BIC {fixed(model['bic'], 1)}"
    intercepts = "" if model["intercepts"] else ", without intercepts"
    response = f"{model['response']}: {get_response(model['response']).description}"
    return [
        ("Classifiers", f"{model['k']}, {how}"),
        ("Response", response + intercepts),
        ("Penalty", f"l2 = {number(model['l2'])} on squared effects per standard deviation"),
        ("Fit", f"{criteria}, {count(model['n_parameters'], 'parameter')}"),
        ("Outcome", model["status"]),
    ]
