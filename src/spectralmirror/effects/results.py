"""Tables of results: they print themselves, and turn into frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectralmirror.rows.containers import frame
from spectralmirror.rows.types import Matrix, Vector

__all__ = ["OVERALL", "AverageEffects", "Ratios"]

#: The name of the last line of each table.
OVERALL = "overall"
#: The words for a change of a feature from 0 to 1, and for its slope.
LEVELS, SLOPE = "0 to 1", "per unit"


@dataclass(frozen=True, eq=False)
class AverageEffects:
    """Average effects of features on the probability of a label, by class and overall.

    ``print`` shows them as a table.

    Attributes
    ----------
    label : object
        The label whose probability changes.
    components : list of str
        "A", "B", ... for the classes, heaviest first, and "overall".
    features : list of str
        Names of the m features.
    change : list of str
        For each feature, "0 to 1" or "per unit" (the derivative).
    estimate, standard_error, lower, upper : ndarray of shape (k + 1, m)
        Effects, their standard errors and the ends of their confidence intervals.
    level : float
        Confidence level of the intervals.
    """

    label: Any
    components: list[str]
    features: list[str]
    change: list[str]
    estimate: Matrix
    standard_error: Matrix
    lower: Matrix
    upper: Matrix
    level: float
    _container: str = "default"
    _outcome: str = "y"

    def to_frame(self) -> Any:
        """Return a DataFrame with a line for each class and feature.

        Returns
        -------
        DataFrame
            Of pandas, or of the package that ``model.set_output(transform=...)`` names.
        """
        n, m = self.estimate.shape
        columns = {
            "component": np.repeat(self.components, m).tolist(),
            "feature": self.features * n,
            "change": self.change * n,
        }
        names = ("estimate", "standard_error", "lower", "upper")
        return frame(columns | {x: getattr(self, x).ravel() for x in names}, self._container)

    def __str__(self) -> str:
        width = max(12, *(len(name) for name in self.features))
        parts = [f"Average effects on P({self._outcome} = {self.label})"]
        for c, name in enumerate(self.components):
            head = f"{_title(name):<{width}}  {'change':<8}"
            parts += ["", *_head(head, "effect", self.level)]
            parts += [
                f"{feature:<{width}}  {self.change[j]:<8}{_figures(self, (c, j))}"
                for j, feature in enumerate(self.features)
            ]
        return "\n".join([*parts, *_why_without_errors(self.standard_error)])

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Ratios:
    """Ratios of two coefficients, by class and overall.

    ``print`` shows them as a table.

    Attributes
    ----------
    numerator, denominator : str
        Names of the features.
    components : list of str
        "A", "B", ... for the classes, heaviest first, and "overall".
    estimate, standard_error, lower, upper : ndarray of shape (k + 1,)
        Ratios, their standard errors by the delta method, and the ends of their confidence
        intervals; infinite if an interval is unbounded, NaN if there is none.
    bounded : ndarray of shape (k + 1,)
        Whether the denominator is clearly different from 0. If it is not, the ratio may be any
        number, except possibly those between the ends of `excluded`. Overall: in all classes.
    excluded : ndarray of shape (k + 1, 2)
        What an unbounded interval leaves out; NaN if nothing.
    level : float
        Confidence level of the intervals.
    """

    numerator: str
    denominator: str
    components: list[str]
    estimate: Vector
    standard_error: Vector
    lower: Vector
    upper: Vector
    bounded: NDArray[np.bool_]
    excluded: Matrix
    level: float
    _container: str = "default"

    def to_frame(self) -> Any:
        """Return a DataFrame with a line for each class, and one for all.

        Returns
        -------
        DataFrame
            Of pandas, or of the package that ``model.set_output(transform=...)`` names.
        """
        names = ("estimate", "standard_error", "lower", "upper", "bounded")
        columns = {"component": self.components}
        return frame(columns | {x: getattr(self, x) for x in names}, self._container)

    def __str__(self) -> str:
        parts = [f"{self.numerator} / {self.denominator}", ""]
        parts += _head(f"{'':<12}", "ratio", self.level)
        for c, name in enumerate(self.components):
            parts.append(f"{_title(name):<12}{_figures(self, (c,))}")
        notes = [self._note(c) for c in np.flatnonzero(~self.bounded).tolist()]
        return "\n".join([*parts, *_why_without_errors(self.standard_error), *notes])

    __repr__ = __str__

    def _note(self, c: int) -> str:
        """Return why an interval is unbounded, or why that of all classes cannot be trusted."""
        if np.isnan(self.estimate[c]):
            where = " in some class" if self.components[c] == OVERALL else ""
            why = f"the coefficient of {self.denominator} is held at 0 by its sign{where}"
            return f"{_title(self.components[c])}: {why}; there is no ratio."
        unclear = f"the coefficient of {self.denominator} is not clearly different from 0"
        if self.components[c] == OVERALL:
            return f"Overall: in some class {unclear}: do not trust this interval."
        gap = self.excluded[c]
        but = "" if np.isnan(gap).any() else f" but those from {gap[0]:.4g} to {gap[1]:.4g}"
        every = f"all ratios{but} agree with the data"
        return f"{_title(self.components[c])}: {unclear}; {every}."


def _title(component: str) -> str:
    return "Overall" if component == OVERALL else f"Class {component}"


def _head(first: str, estimate: str, level: float) -> list[str]:
    interval = f"{100 * level:g}% interval"
    head = f"{first}  {estimate:>10}  {'std. error':>10}  {interval:>23}"
    return [head, "-" * len(head)]


def _figures(result: Any, at: tuple[int, ...]) -> str:
    names = ("estimate", "standard_error", "lower", "upper")
    estimate, error, lower, upper = (_number(getattr(result, name)[at]) for name in names)
    return f"  {estimate}  {error}  {lower}   {upper}"


def _number(value: float) -> str:
    return f"{'' if np.isnan(value) else format(value, '.4g'):>10}"


def _why_without_errors(errors: Any) -> list[str]:
    if not np.isnan(errors).all():
        return []
    return ["", "There are no standard errors: see covariance_ of the model."]
