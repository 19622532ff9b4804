"""The table of estimates, standard errors and confidence intervals, and what a fit chose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t

from spectralmirror.responses import get_response
from spectralmirror.rows.containers import frame, output_container
from spectralmirror.rows.types import AnyArray

__all__ = [
    "WITHIN",
    "Choices",
    "constrained",
    "deviation_interval",
    "deviations_within",
    "has_choices",
    "labels_of",
    "letters",
    "membership_lines",
    "profile_covariance",
    "quantile",
    "resampled",
    "summarise",
]

#: In brackets, so that they differ from the names of features.
WEIGHT, INTERCEPT, MEMBERSHIP = "(weight)", "(intercept)", "(membership)"
#: The component of lines about the spread of persons, which is the same in all classes.
WITHIN = -1
#: What it is called in frames.
WITHIN_NAME = "within"
WITHIN_INTERCEPT = " (intercept: at the mean of the features)"


def letters(k: int) -> list[str]:
    """Return a letter for each component, A for the heaviest; numbers if there are too many."""
    return [chr(ord("A") + c) if k <= 26 else str(c + 1) for c in range(k)]


def quantile(mixture: Any, level: float) -> float:
    """Return the half-width of a confidence interval in standard errors."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
    return float(t.isf((1 - level) / 2, getattr(mixture, "degrees_of_freedom_", np.inf)))


def profile_covariance(mixture: Any) -> AnyArray:
    """Return the covariance of (u_l, b_l) and (u_m, b_m) for all l and m: (k, d + 1, k, d + 1)."""
    k, d = mixture.coef_.shape
    size = k * (d + 1)
    return np.asarray(mixture.covariance_[:size, :size].reshape(k, d + 1, k, d + 1))


@dataclass(frozen=True)
class Choices:
    """What a fit chose from the data, and how sure it is.

    Attributes
    ----------
    l2 : float
        The penalty that was used.
    l2_from_data : bool
        Whether it was chosen from the data.
    criterion : str
        What the number of components was chosen by if that was "auto".
    log_evidence : float
        Log evidence, NaN if it is not known.
    evidence_path : dict
        Log evidence for each number of components that was compared.
    doubt : float
        Probability that a better maximum exists, NaN if it is not known.
    spread : str or None
        How persons of one class differ, None if they do not.
    spread_from_data : bool
        Whether that was chosen from the data.
    spread_evidence : dict
        Log evidence of each kind of spread that was compared, "none" for no spread.
    """

    l2: float
    l2_from_data: bool
    criterion: str
    log_evidence: float
    evidence_path: dict[int, float]
    doubt: float
    spread: str | None
    spread_from_data: bool
    spread_evidence: dict[str, float]

    @property
    def spread_rival(self) -> tuple[str, float] | None:
        """What the spread is compared with, and how much more log evidence the spread has.

        A spread is compared with none, and none with the best spread. None if that is not known.
        """
        known = {kind: x for kind, x in self.spread_evidence.items() if np.isfinite(x)}
        own = known.pop(self.spread or "none", np.nan)
        others = {"none"} & known.keys() if self.spread else known.keys()
        if np.isnan(own) or not others:
            return None
        best = max(others, key=lambda kind: known[kind])
        return best, own - known[best]

    @classmethod
    def of(cls, mixture: Any) -> Self:
        """Return the choices of a fitted mixture; models stored earlier know only their `l2`."""
        return cls(
            float(getattr(mixture, "l2_", mixture.l2)),
            mixture.l2 == "auto",
            mixture.criterion,
            float(getattr(mixture, "log_evidence_", np.nan)),
            dict(getattr(mixture, "evidence_path_", {})),
            float(getattr(mixture, "doubt_", np.nan)),
            getattr(mixture, "spread_kind_", None),
            getattr(mixture, "spread", None) == "auto",
            dict(getattr(mixture, "spread_evidence_", {})),
        )


class Line(NamedTuple):
    """An estimate, its standard error and its confidence interval."""

    component: int
    term: str
    estimate: float
    standard_error: float
    z: float
    lower: float
    upper: float
    label: Any = None


def summarise(mixture: Any, level: float, *, as_frame: bool) -> Any:
    """Return the table as text, or as a DataFrame."""
    lines = table(mixture, level)
    if not as_frame:
        return "\n\n".join([text(mixture, lines, level), *resampled(mixture, level)])
    lines += [
        line._replace(term=f"{MEMBERSHIP} {line.term}") for line in membership_lines(mixture, level)
    ]
    names = {WITHIN: WITHIN_NAME, **dict(enumerate(letters(mixture.n_components_)))}
    columns: dict[str, Any] = dict(zip(Line._fields, zip(*lines, strict=True), strict=True))
    columns["component"] = [names[line.component] for line in lines]
    index, labels = ["component", "term"], columns.pop("label")
    if len(mixture.classes_) > 2:
        index = ["component", "label", "term"]
        text_of = ["" if label is None else str(label) for label in labels]
        columns = {"component": columns.pop("component"), "label": text_of} | columns
    made = frame(columns, output_container(mixture))
    return made.set_index(index) if hasattr(made, "set_index") else made


def resampled(mixture: Any, level: float) -> list[str]:
    """Return the table of the resamples that a mixture carries, in a list; none without any."""
    from spectralmirror.mixture.bootstrap import Bootstrap  # it needs this module itself

    kept = Bootstrap.kept(mixture)
    return [] if kept is None else [kept.summary(level)]


def table(mixture: Any, level: float) -> list[Line]:
    """Return a line for each weight, intercept and profile entry of each component.

    Intervals are estimate -+ q standard errors. Those of weights are computed on the logit scale,
    log(p / (1 - p)), which keeps them between 0 and 1. z = estimate / standard error tests for 0;
    weights have none.

    If persons of one class differ, lines of component -1 follow: the standard deviation of each
    coefficient between persons of the same class, and of their intercepts at the mean of the
    features. They have no z, either: standard deviations cannot be below 0. They are the same for
    all labels if there are more than two.

    With more than two labels, there are lines for the intercept and the profile of each label.
    """
    q = quantile(mixture, level)
    d = mixture.coef_.shape[-1]
    names = getattr(mixture, "feature_names_in_", [f"x{j}" for j in range(d)])
    lines = []
    for c in range(mixture.n_components_):
        p, error = float(mixture.weights_[c]), float(mixture.weights_standard_error_[c])
        lower = upper = p
        if 0 < p < 1:
            spread = q * error / (p * (1 - p))
            lower, upper = float(expit(logit(p) - spread)), float(expit(logit(p) + spread))
        lines.append(Line(c, WEIGHT, p, error, np.nan, lower, upper))
        for label, (coef, coef_error), intercept in _profiles(mixture, c):
            terms = list(zip(names, coef, coef_error, strict=True))
            if mixture.fit_intercept:
                terms.insert(0, (INTERCEPT, *intercept))
            lines += [_line(c, *term, q)._replace(label=label) for term in terms]
    return lines + _spread_lines(mixture, names, q)


def _profiles(mixture: Any, c: int) -> Iterator[tuple[Any, tuple[Any, Any], tuple[Any, Any]]]:
    """Yield the label, profile and intercept, with errors, of a component, or of its labels."""
    coef = mixture.coef_[c], mixture.coef_standard_error_[c]
    intercept = mixture.intercept_[c], mixture.intercept_standard_error_[c]
    if mixture.coef_.ndim == 2:
        yield None, coef, intercept
        return
    for j, label in enumerate(mixture.classes_.tolist()):
        yield label, (coef[0][j], coef[1][j]), (intercept[0][j], intercept[1][j])


def _line(c: int, name: Any, estimate: float, error: float, q: float) -> Line:
    z = estimate / error if error > 0 else np.nan
    ends = estimate - q * error, estimate + q * error
    return Line(c, str(name), *map(float, (estimate, error, z, *ends)))


def membership_lines(mixture: Any, level: float) -> list[Line]:
    """Return a line for each coefficient on which the weights of the classes depend.

    These are log-odds of a class against the first one, and their intercepts: there are none of the
    first class, and none at all without covariates.
    """
    names = getattr(mixture, "membership_names_in_", ())
    if not len(names):
        return []
    q, lines = quantile(mixture, level), []
    for c in range(1, mixture.n_components_):
        coef = mixture.membership_coef_[c], mixture.membership_coef_standard_error_[c]
        terms = [*zip(names, *coef, strict=True)]
        own = mixture.membership_intercept_[c], mixture.membership_intercept_standard_error_[c]
        terms.insert(0, (INTERCEPT, *own))
        lines += [_line(c, name, estimate, error, q) for name, estimate, error in terms]
    return lines


def constrained(mixture: Any) -> tuple[list[str], dict[str, int]]:
    """Return the features that all classes share, and those of a given sign, by name."""
    d = mixture.coef_.shape[-1]
    names = [str(n) for n in getattr(mixture, "feature_names_in_", [f"x{j}" for j in range(d)])]

    def named(feature: Any) -> str:
        return names[int(feature)] if isinstance(feature, Integral) else str(feature)

    shared = getattr(mixture, "shared", ())
    if isinstance(shared, str) and shared == "all":
        shared = range(d)
    single = isinstance(shared, str | Integral)
    signs = getattr(mixture, "signs", None) or {}
    return (
        [named(feature) for feature in ([shared] if single else shared)],
        {named(feature): int(sign) for feature, sign in signs.items()},
    )


def _spread_lines(mixture: Any, names: Any, q: float) -> list[Line]:
    """Return a line for each standard deviation within a class that is not 0 by assumption."""
    if getattr(mixture, "spread_kind_", None) is None:
        return []
    deviations, of_intercept = deviations_within(mixture)
    terms = (INTERCEPT, *of_intercept), *zip(names, *deviations, strict=True)
    return [
        Line(WITHIN, str(name), *map(float, (s, error, np.nan, *deviation_interval(s, error, q))))
        for name, s, error in terms
        if s > 0
    ]


def deviations_within(mixture: Any) -> tuple[tuple[Any, Any], tuple[float, float]]:
    """Return the standard deviations of coefficients within a class, and of intercepts, and errors.

    All labels have the same if there are more than two: those of the first stand for them.
    """
    deviations = mixture.spread_deviation_, mixture.spread_standard_error_
    of_intercept = mixture.intercept_deviation_, mixture.intercept_deviation_standard_error_
    if mixture.coef_.ndim == 3:
        deviations = deviations[0][0], deviations[1][0]
        of_intercept = of_intercept[0][0], of_intercept[1][0]
    return deviations, (float(of_intercept[0]), float(of_intercept[1]))


def deviation_interval(deviation: float, error: float, q: float) -> tuple[float, float]:
    """Return the interval of a standard deviation s, given the half-width q in standard errors.

    It is s exp(-+ q error / s), the interval of log s, which stays above 0. If the error exceeds s,
    log s is far from normal, s may well be 0, and the interval is 0 to s + q error.
    """
    if error > deviation:
        return 0.0, deviation + q * error
    factor = float(np.exp(q * error / deviation))
    return deviation / factor, deviation * factor


def text(
    mixture: Any,
    lines: list[Line],
    level: float,
    names: list[str] | None = None,
    labels: Sequence[Any] | None = None,
) -> str:
    """Return the table as text.

    Components are called "class A", ... unless `names` are given; `labels` are what -1 and +1 are
    called.
    """
    labels = mixture.classes_.tolist() if labels is None else labels
    if names is None:
        names = [f"class {name}" for name in letters(mixture.n_components_)]
    choices = Choices.of(mixture)
    width = max(12, *(len(line.term) for line in lines))
    head = _head(width, level, "estimate", "z")
    rule = "-" * len(head)
    parts = [
        _title(mixture),
        f"log-likelihood {mixture.log_likelihood_:.1f}   AIC {mixture.aic_:.1f}   "
        f"BIC {mixture.bic_:.1f}   ICL {mixture.icl_:.1f}",
        _penalty(choices),
        *_spread(choices),
        _event(mixture, labels),
        f"expected share of {labels_of(mixture)} assigned correctly: "
        f"{mixture.expected_accuracy_:.0%} "
        f"(assigning all to {names[0]}: {mixture.weights_[0]:.0%})",
        mixture.status_,
        *_constraints(mixture),
    ]
    signed = constrained(mixture)[1]
    first_within = next((line for line in lines if line.component == WITHIN), None)
    before = None
    for line in lines:
        if line.label is not None and line.label != before:
            parts.append(f"label {line.label}")
        before = line.label
        if line.term == WEIGHT:
            name = names[line.component]
            parts += ["", name[0].upper() + name[1:], head, rule]
        elif line is first_within:
            title = "Within a class, persons differ"
            title += ", alike for all labels" if mixture.coef_.ndim == 3 else ""
            title += "" if has_choices(mixture) else WITHIN_INTERCEPT
            parts += ["", title, _head(width, level, "std. dev.", ""), rule]
        held = line.term in signed and line.component >= 0 and line.estimate == 0
        parts.append(_shown(line, width, held=held))
    parts += _membership(mixture, names, level)
    if not get_response(mixture.response).norm_identified:
        why = "labels do not determine the norms of the profiles, which are set to 1"
        parts += ["", f"{mixture.response} response: {why}; there are no standard errors."]
    return "\n".join(parts)


def _shown(line: Line, width: int, *, held: bool = False) -> str:
    if held:
        return f"{line.term:<{width}}  {_number(0.0)}  {'held at 0 by its sign':>22}"
    return (
        f"{line.term:<{width}}  {_number(line.estimate)}  {_number(line.standard_error)}  "
        f"{_number(line.z, 8, '.2f')}  {_number(line.lower)} {_number(line.upper, 12)}"
    )


def _constraints(mixture: Any) -> list[str]:
    """Return lines about what was required of coefficients."""
    shared, signs = constrained(mixture)
    lines = [f"the same in all classes: {', '.join(shared)}"] if shared else []
    bounds = [f"{name} {'>=' if sign > 0 else '<='} 0" for name, sign in signs.items()]
    return lines + ([f"required in all classes: {', '.join(bounds)}"] if bounds else [])


def _membership(mixture: Any, names: list[str], level: float) -> list[str]:
    """Return the tables of what the weights of the classes depend on."""
    lines = membership_lines(mixture, level)
    width = max(12, *(len(line.term) for line in lines), 0)
    head, parts = _head(width, level, "estimate", "z"), list[str]()
    for c in range(1, mixture.n_components_ if lines else 0):
        title = f"Who belongs to {names[c]}: log-odds against {names[0]}"
        parts += ["", title, head, "-" * len(head)]
        parts += [_shown(line, width) for line in lines if line.component == c]
    return parts


def has_choices(mixture: Any) -> bool:
    """Return whether labels are choices among several alternatives."""
    return hasattr(mixture, "n_choices_")


def labels_of(mixture: Any) -> str:
    """Return what the labels of a mixture are called."""
    return "choices" if has_choices(mixture) else "rows"


def _title(mixture: Any) -> str:
    """Return what was fitted."""
    k = mixture.n_components_
    if has_choices(mixture):
        return f"Mixture of {k} conditional logits: choices among alternatives"
    return f"Mixture of {k} linear classifiers, {mixture.response} response"


def _event(mixture: Any, labels: Sequence[Any]) -> str:
    """Return whose probability the coefficients describe."""
    if has_choices(mixture):
        return f"{mixture.n_choices_:,} choices; effects on the log-odds of being chosen"
    if len(labels) == 2:
        return f"P(y = {labels[1]}), against {labels[0]}"
    return (
        f"P(y = label) of {len(labels)} labels, each against their average: coefficients sum to "
        "zero over labels"
    )


def _head(width: int, level: float, estimate: str, z: str) -> str:
    """Return the names of the columns."""
    interval = f"{100 * level:g}% interval"
    return f"{'':<{width}}  {estimate:>10}  {'std. error':>10}  {z:>8}  {interval:>23}"


def _penalty(choices: Choices) -> str:
    """Return the line about the penalty and the evidence."""
    chosen = " (chosen from the data)" if choices.l2_from_data else ""
    known = not np.isnan(choices.log_evidence)
    evidence = f"   log evidence {choices.log_evidence:.1f}" if known else ""
    return f"penalty l2 = {choices.l2:.3g}{chosen}{evidence}"


def _spread(choices: Choices) -> list[str]:
    """Return the line about the spread, if one was fitted or compared with none."""
    rival = choices.spread_rival
    if choices.spread is None and rival is None:
        return []
    line = f"spread: {choices.spread or 'none'}"
    line += " (chosen from the data)" if choices.spread_from_data else ""
    if rival is not None:
        kind, more = rival
        side = "above" if more >= 0 else "below"
        line += f"   log evidence {abs(more):.1f} {side} {'no' if kind == 'none' else kind} spread"
    return [line]


def _number(value: float, width: int = 10, form: str = ".4g") -> str:
    return f"{'' if np.isnan(value) else format(value, form):>{width}}"
