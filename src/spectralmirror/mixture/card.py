"""What a notebook shows of a fitted mixture: classes, their weights, strongest effects, doubts.

The card stands above scikit-learn's diagram. It inherits the colours of the page for text and
lines, and its bars have colours that can be seen on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from spectralmirror.mixture.diagnostics import DOUBTFUL
from spectralmirror.mixture.spread_score import CLEARLY_DIFFERENT
from spectralmirror.mixture.summary import INTERCEPT, WEIGHT, Choices, Line, letters, table
from spectralmirror.responses import get_response
from spectralmirror.rows.doc_links import DocLinks

__all__ = ["NotebookCard", "card"]

#: How many effects of a class are shown, and the level of their intervals.
MOST_EFFECTS, LEVEL = 5, 0.95

STYLE = """
.sm-card{font:13px/1.45 system-ui,sans-serif;max-width:60rem;margin:.3rem 0 .8rem;
  --line:color-mix(in srgb,currentColor 22%,transparent)}
.sm-card p{margin:.15rem 0}
.sm-card .sm-head{font-size:14px;font-weight:600}
.sm-card .sm-soft{opacity:.72}
.sm-classes{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.6rem;
  margin:.5rem 0}
.sm-class{border:1px solid var(--line);border-radius:6px;padding:.45rem .6rem;min-width:0}
.sm-share{height:4px;border-radius:2px;background:var(--line);margin:.25rem 0 .4rem}
.sm-share span{display:block;height:100%;border-radius:2px;background:#4f86c6}
.sm-effect{display:grid;grid-template-columns:minmax(0,7.5rem) 1fr 3.2rem;gap:.5rem;
  align-items:center}
.sm-effect .sm-name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.sm-effect .sm-value{text-align:right;font-variant-numeric:tabular-nums}
.sm-bar{position:relative;height:.7rem;
  background:linear-gradient(var(--line),var(--line)) center/1px 100% no-repeat}
.sm-bar span{position:absolute;top:0;bottom:0;border-radius:2px}
.sm-bar .sm-more{background:#4f86c6}.sm-bar .sm-less{background:#d0733a}
.sm-bar i{position:absolute;top:calc(50% - .5px);height:1px;background:currentColor;opacity:.8}
.sm-card ul{margin:.3rem 0 0;padding-left:1.1rem}
.sm-card .sm-warn{font-weight:600}
"""


class NotebookCard(DocLinks):
    """A mixture that shows a card in notebooks once it is fitted."""

    def _repr_html_inner(self) -> str:
        return card(self) + super()._repr_html_inner()  # type: ignore[misc, no-any-return]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = card(self) + bundle["text/html"]
        return bundle


def card(mixture: Any) -> str:
    """Return the card of a fitted mixture as HTML, "" if it is not fitted."""
    if not hasattr(mixture, "status_"):
        return ""
    lines = table(mixture, LEVEL)
    effects = [_effects(mixture, lines, c) for c in range(mixture.n_components_)]
    ends = [abs(x) for of in effects for e in of for x in e[1:] if np.isfinite(x)]
    longest = max(ends, default=0.0) or 1.0
    classes = "".join(
        _class_html(name, _weight(lines, c), effects[c], longest)
        for c, name in enumerate(letters(mixture.n_components_))
    )
    doubts = "".join(f"<li{' class=sm-warn' if bad else ''}>{escape(text)}</li>"
                     for text, bad in _doubts(mixture))  # fmt: skip
    return (
        f'<style>{STYLE}</style><div class="sm-card">'
        f'<p class="sm-head">{escape(_head(mixture))}</p>'
        f'<p class="sm-soft">{escape(_what(mixture))}</p>'
        f'<div class="sm-classes">{classes}</div><ul>{doubts}</ul></div>'
    )


def _head(mixture: Any) -> str:
    k = mixture.n_components_
    sizes = f"{mixture.n_rows_:,} rows" if hasattr(mixture, "n_rows_") else ""
    if hasattr(mixture, "n_choices_"):
        sizes = f"{mixture.n_choices_:,} choices"
    if getattr(mixture, "grouped_", False) and hasattr(mixture, "n_groups_"):
        sizes += f" of {mixture.n_groups_:,} groups"
    return f"{k} {'class' if k == 1 else 'classes'}" + (f" behind {sizes}" if sizes else "")


def _what(mixture: Any) -> str:
    """Return what the effects are effects on, and how well the model fits."""
    if hasattr(mixture, "n_choices_"):
        on = "being chosen"
    elif len(mixture.classes_) > 2:
        on = "each label"
    else:
        on = f"y = {mixture.classes_[1]}"
    scale = get_response(mixture.response).effect_name.lower()
    scale = f"{scale} per standard deviation of a feature"
    errors = bool(np.isfinite(mixture.coef_standard_error_).any())
    unit = f"Strongest effects on {on}: {scale}{f', {LEVEL:.0%} intervals' * errors}."
    choices = Choices.of(mixture)
    parts = [unit, f"Log-likelihood {mixture.log_likelihood_:.1f}"]
    if np.isfinite(choices.log_evidence):
        parts[1] += f", log evidence {choices.log_evidence:.1f}"
    parts[1] += "."
    if choices.spread is not None:
        parts.append(f"Persons of a class differ ({choices.spread}).")
    covariates = getattr(mixture, "membership_names_in_", ())
    if len(covariates):
        parts.append(f"Weights depend on {', '.join(map(str, covariates))}; these are averages.")
    return " ".join(parts)


def _weight(lines: list[Line], c: int) -> Line:
    return next(line for line in lines if line.component == c and line.term == WEIGHT)


def _effects(mixture: Any, lines: list[Line], c: int) -> list[tuple[str, float, float, float]]:
    """Return the strongest effects of a class: name, value and interval, per SD of the feature."""
    scale = np.asarray(mixture.feature_scale_)
    own = [one for one in lines if one.component == c and one.term not in (WEIGHT, INTERCEPT)]
    found = []
    for place, line in enumerate(own):
        size, label = scale[place % len(scale)], getattr(line, "label", None)
        name = line.term if label is None else f"{label}: {line.term}"
        found.append((name, line.estimate * size, line.lower * size, line.upper * size))
    found.sort(key=lambda one: -abs(one[1]))
    return found[:MOST_EFFECTS]


def _class_html(
    name: str, weight: Line, effects: list[tuple[str, float, float, float]], longest: float
) -> str:
    between = ""
    if weight.upper > weight.lower:
        between = f" <span class=sm-soft>({weight.lower:.0%} to {weight.upper:.0%})</span>"
    rows = "".join(_effect_html(*one, longest) for one in effects)
    share = f'<div class="sm-share"><span style="width:{weight.estimate:.1%}"></span></div>'
    head = f"<b>Class {name}</b> · {weight.estimate:.0%}{between}"
    return f'<div class="sm-class">{head}{share}{rows}</div>'


def _effect_html(name: str, value: float, lower: float, upper: float, longest: float) -> str:
    """Return a line with a bar from the middle to the value, and its interval."""

    def place(x: float) -> float:
        return 50 + 50 * float(np.clip(x / longest, -1, 1))

    left, right = sorted((50.0, place(value)))
    side, between, title = ("sm-more" if value > 0 else "sm-less"), "", f"{name}: {value:+.3g}"
    if np.isfinite(lower) and np.isfinite(upper):
        ends = place(lower), place(upper)
        between = f'<i style="left:{ends[0]:.1f}%;width:{ends[1] - ends[0]:.1f}%"></i>'
        title += f" ({lower:.3g} to {upper:.3g})"
    return (
        f'<div class="sm-effect" title="{escape(title, quote=True)}">'
        f'<span class="sm-name">{escape(name)}</span><span class="sm-bar">'
        f'<span class="{side}" style="left:{left:.1f}%;width:{right - left:.1f}%"></span>'
        f'{between}</span><span class="sm-value">{value:+.2f}</span></div>'
    )


def _doubts(mixture: Any) -> Iterator[tuple[str, bool]]:
    """Yield what speaks for and against the fit, and whether it is a warning."""
    k = mixture.n_components_
    problems = list(getattr(mixture, "_problems", []))
    yield from ((problem.replace("`", ""), True) for problem in problems)
    score = float(getattr(mixture, "spread_score_", np.nan))
    if score > CLEARLY_DIFFERENT and getattr(mixture, "spread_kind_", None) is None:
        yield f"Persons differ inside the classes (z = {score:.1f}): try spread='auto'.", True
    path = {n: x for n, x in getattr(mixture, "evidence_path_", {}).items() if np.isfinite(x)}
    fewer = {n: x for n, x in path.items() if n < k}
    if k in path and fewer:
        best = max(fewer, key=lambda n: fewer[n])
        more = path[k] - fewer[best]
        if more > 0:
            one = "1 class" if best == 1 else f"{best} classes"
            yield f"The log evidence is {more:.1f} above that of {one}.", False
    doubt = float(getattr(mixture, "doubt_", np.nan))
    if k > 1 and doubt <= DOUBTFUL:
        yield f"Probability that a better maximum exists: {doubt:.0%}.", False
    if k > 1:
        what = "choices" if hasattr(mixture, "n_choices_") else "rows"
        right, largest = mixture.expected_accuracy_, mixture.weights_[0]
        yield (
            f"{right:.0%} of the {what} should be assigned to their class correctly "
            f"({largest:.0%} if all were assigned to class A).",
            False,
        )
