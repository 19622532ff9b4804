"""Choices in wide form: one line for each choice, and columns such as "price_car", "price_bus".

The column of choices names the alternative that was chosen. Its values, before or after the names
of features, tell which columns describe which alternative (:mod:`.sides`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix

from spectralmirror.rows.messages import listed
from spectralmirror.tables.sides import column_of

__all__ = ["ALTERNATIVE", "WideForm", "wide_form"]

#: What the column of alternatives is called in long form.
ALTERNATIVE = "alternative"
#: What may stand between the name of a feature and that of an alternative, the likeliest first.
MARKS = ("_", ".", "-", " ", "")


@dataclass(frozen=True)
class WideForm:
    """Which columns describe which alternative.

    Attributes
    ----------
    chosen : str
        The column that names the chosen alternative.
    sides : tuple of pairs of str
        Each alternative, and its side of features (:mod:`.sides`); "" for the outside option, whose
        features are all 0.
    features : tuple of str
        The features of alternatives. Where one has no column for an alternative, it is 0.
    available : str or None
        The feature that says, by 1 and 0, whether an alternative could be chosen.
    absent : tuple of str or None
        Features of alternatives for which the fitted table had no column, so that they are 0. None
        in models of earlier versions.
    """

    chosen: str
    sides: tuple[tuple[str, str], ...]
    features: tuple[str, ...]
    available: str | None = None
    absent: tuple[str, ...] | None = None

    @property
    def alternatives(self) -> list[str]:
        """The alternatives."""
        return [name for name, _ in self.sides]

    def column(self, feature: str, side: str) -> str | None:
        """Return the column of a feature of an alternative; None for the outside option."""
        return column_of(side, feature) if side else None

    def lacking(self, columns: Collection[str]) -> list[str]:
        """Return the columns that a table lacks, and that must not be taken for 0."""
        names = [*self.features, *([] if self.available is None else [self.available])]
        found = {f: [c for _, side in self.sides if (c := self.column(f, side))] for f in names}
        if self.absent is None:
            return [cs[0] for cs in found.values() if not any(c in columns for c in cs)]
        return [c for cs in found.values() for c in cs if c not in columns and c not in self.absent]


@dataclass(frozen=True)
class _Style:
    """Where the name of an alternative stands in those of columns."""

    mark: str
    is_suffix: bool

    def side(self, token: str) -> str:
        return f"*{self.mark}{token}" if self.is_suffix else f"{token}{self.mark}*"

    def feature(self, column: str, token: str) -> str | None:
        """Return the feature of a column of an alternative, None if it is not one."""
        n = len(token) + len(self.mark)
        if len(column) <= n:
            return None
        end = column[-n:] if self.is_suffix else column[:n]
        wanted = self.mark + token if self.is_suffix else token + self.mark
        if end.lower() != wanted.lower():
            return None
        return column[:-n] if self.is_suffix else column[n:]

    def features(self, columns: Collection[str], token: str) -> dict[str, str]:
        """Return the features of an alternative, and their columns."""
        found = {self.feature(column, token): column for column in columns}
        return {name: column for name, column in found.items() if name is not None}


def wide_form(
    columns: Sequence[str],
    values: Sequence[str],
    chosen: str,
    *,
    others: Collection[str] = (),
    outside: str | None = None,
    available: str | None = None,
) -> WideForm:
    """Find out which columns describe which alternative.

    Parameters
    ----------
    columns : sequence of str
        The columns of the table.
    values : sequence of str
        The different values of the column of choices, as text.
    chosen : str
        The column of choices.
    others : collection of str
        Columns with another role.
    outside : str or None
        The value that stands for the outside option.
    available : str or None
        The feature that says whether an alternative could be chosen.
    """
    free = [name for name in columns if name and name != chosen and name not in others]
    inside = [value for value in values if value != outside]
    if not inside:
        raise ValueError(f"Column {chosen!r} names no alternative besides {outside!r}.")
    style, tokens, common = _best_style(free, inside)
    if style is None:
        raise ValueError(
            f"The values of {chosen!r} ({listed(inside)}) do not occur before or after the names "
            f"of columns, as in price_{inside[0]}; the columns are {listed(free)}. Name the value "
            "that stands for none of the alternatives with --outside."
        )
    tokens |= _never_chosen(style, free, tokens, common)
    of_tokens = {name: style.features(free, token) for name, token in tokens.items()}
    features = list(common)
    if style.mark:  # without a mark, the end of a name may be part of it
        features += [name for found in of_tokens.values() for name in found]
    features = [name for name in dict.fromkeys(features) if name != available]
    sides = [(name, _side(style, found, token)) for (name, found), token in zip(
        of_tokens.items(), tokens.values(), strict=True)]  # fmt: skip
    if outside is not None:
        sides.append((outside, ""))
    if available is not None and available not in common:
        raise ValueError(
            f"--available {available}: there is no column of that name for every alternative, such "
            f"as {column_of(sides[0][1], available)!r}."
        )
    if not features:
        raise ValueError("No column is left that can be a feature.")
    form = WideForm(chosen, tuple(sides), tuple(features), available, absent=())
    return replace(form, absent=tuple(form.lacking(columns)))


def _best_style(
    columns: Collection[str], values: Sequence[str]
) -> tuple[_Style | None, dict[str, str], list[str]]:
    """Return the style with the most features that all chosen alternatives have."""
    best: tuple[_Style | None, dict[str, str], list[str]] = None, {}, []
    noun = commonprefix(sorted(values)) if len(values) > 1 else ""  # noqa: RUF071
    noun = noun.rstrip("0123456789")
    for before in dict.fromkeys(("", noun)):
        tokens = {value: value[len(before) :] for value in values}
        if not all(tokens.values()):
            continue
        for mark in MARKS:
            for is_suffix in (True, False):
                style = _Style(mark, is_suffix)
                found = [style.features(columns, token) for token in tokens.values()]
                common = [name for name in found[0] if all(name in one for one in found)]
                if len(common) > len(best[2]):
                    best = style, tokens, common
        if best[0] is not None:
            break
    return best


def _never_chosen(
    style: _Style, columns: Collection[str], tokens: dict[str, str], common: Sequence[str]
) -> dict[str, str]:
    """Return alternatives that have columns for all common features but were never chosen.

    With a single feature, only numbers are taken for alternatives.
    """
    known = {token.lower() for token in tokens.values()}
    found: list[set[str]] = []
    for feature in common:
        start = feature + style.mark
        if style.is_suffix:
            ends = {c[len(start) :] for c in columns if c.startswith(start)}
        else:
            end = style.mark + feature
            ends = {c[: -len(end)] for c in columns if c.endswith(end)}
        found.append({one for one in ends if one and one.lower() not in known})
    numbers = all(token.isdigit() for token in tokens.values())
    several = len(common) > 1 and style.mark
    more = set.intersection(*found)
    return {one: one for one in sorted(more) if (one.isdigit() if numbers else several)}


def _side(style: _Style, features: dict[str, str], token: str) -> str:
    """Return the side of an alternative, in the case in which columns have it."""
    column = next(iter(features.values()))
    n = len(token)
    return style.side(column[-n:] if style.is_suffix else column[:n])
