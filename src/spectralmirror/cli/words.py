"""What a fitted table says of itself, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spectralmirror.mixture.summary import INTERCEPT, WEIGHT, Line, letters, table
from spectralmirror.report.cautions import CLOSE, ROWS_A_PARAMETER
from spectralmirror.responses import get_response

if TYPE_CHECKING:
    from spectralmirror.tables.table_model import FittedTable

__all__ = ["told_model"]

#: What parameters are called on the command line.
OPTIONS = {
    "n_components='auto'": "-k auto",
    "n_init": "--starts",
    "max_iter": "--max-iter",
    "l2": "--l2",
}


def told_model(model: FittedTable, most: int = 5) -> Iterator[str]:
    """Yield what was found, in lines: every classifier and its strongest features."""
    mixture, about = model.mixture, model.about
    k, n = mixture.n_components_, about["n_rows"]
    no, yes = mixture.classes_.tolist()
    what, labels = f"{model.label} = {yes}", f"{no} or {yes}"
    if model.recipe.winner is not None:
        what, labels = "a win of the left", " or ".join(model.recipe.winner)
    yield (
        f"{k} hidden classifier{'s' if k > 1 else ''} behind {model.label!r} ({labels}) in "
        f"{n:,} rows of {about['source']}."
    )
    for note in about["notes"]:
        yield f"Note: {note}"
    if k > 1:
        groups = f", judging each {model.group} as a whole" if model.group else " from one label"
        yield (
            f"If the model holds, who made a label can be named rightly for "
            f"{mixture.expected_accuracy_:.0%} of the rows{groups}."
        )
    yield _in_options(mixture.status_)
    yield from _warnings(mixture, n)
    lines = table(mixture, 0.95)
    scale = dict(zip(model.recipe.names, mixture.feature_scale_, strict=True))
    interval = "" if np.isnan(mixture.coef_standard_error_).all() else " (95 % interval)"
    for c, name in enumerate(letters(k)):
        own = [line for line in lines if line.component == c]
        features = [line for line in own if line.term not in (WEIGHT, INTERCEPT)]
        features.sort(key=lambda line: -abs(line.estimate) * scale[line.term])
        more = ", strongest per standard deviation first"
        more += f", {most} of {len(features)}" if len(features) > most else ""
        yield ""
        unit = "rows" if model.group is None else "groups"
        yield f"Classifier {name} makes the labels of {own[0].estimate:.0%} of the {unit}."
        effects = get_response(mixture.response).effect_name
        yield f"  {effects} of {what}, per unit of a feature{interval}{more}:"
        width = max(len(line.term) for line in features[:most])
        for line in features[:most]:
            yield f"    {line.term:<{width}}  {_effect(line, model)}"


def _warnings(mixture: Any, n_rows: int) -> Iterator[str]:
    """Yield what a report would warn of, as far as the fit alone tells."""
    share = n_rows / mixture.n_parameters_
    if share < ROWS_A_PARAMETER:
        yield (
            f"Warning: {n_rows:,} rows are few for {mixture.n_parameters_} parameters: effects "
            "look larger and surer than they are."
        )
    best = min(mixture.bic_path_.values())
    close = {k: bic - best for k, bic in mixture.bic_path_.items() if 0 < bic - best < CLOSE}
    if close:
        k = min(close, key=lambda other: close[other])
        yield f"{k} would be almost as good (its BIC is {close[k]:.1f} more): compare -k {k}."


def _in_options(status: str) -> str:
    """Let a status speak of options of the command line instead of parameters."""
    for parameter, option in OPTIONS.items():
        status = status.replace(parameter, option)
    return status


def _effect(line: Line, model: FittedTable) -> str:
    against = model.recipe.references.get(line.term)
    compared = f", against {against}" if against is not None else ""
    if np.isnan(line.lower):
        return f"{line.estimate:+.4g}{compared}"
    return f"{line.estimate:+.4g} ({line.lower:.4g} to {line.upper:.4g}){compared}"
