"""The roles of the columns of a table: label, group, and columns that may become features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from spectralmirror.rows.column_types import family
from spectralmirror.rows.files.reader import Reader
from spectralmirror.rows.messages import listed
from spectralmirror.tables.column_stats import absent_columns
from spectralmirror.tables.features import kind_of
from spectralmirror.tables.set_columns import SET
from spectralmirror.tables.sides import column_of, feature_of, paired_features
from spectralmirror.tables.table_error import refuse

__all__ = ["ColumnRoles", "agreed_types", "check_single", "column_types", "feature_kinds"]


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of a table are used for.

    Attributes
    ----------
    label : str
        The column of labels, or of winners.
    group : str or None
        The column of groups.
    features : sequence of str
        The columns that become features; if empty, all columns without another role.
    drop : sequence of str
        Columns that do not become features.
    categorical : sequence of str
        Columns of numbers that are codes of categories.
    pairs : pair of str or None
        For comparisons: the left and the right side, as prefixes of columns, or as patterns in
        which a star stands for the feature.
    missing : {"error", "impute", "drop"}
        What to do about missing values: refuse them, impute them, or drop their rows.
    positive : str or None
        The label that counts as +1, as text; None for the last one in their order.
    choices : sequence of str
        For choices among several alternatives, one in each row: the columns that together name
        the choice set.
    alternative : str or None
        For choices: the column that names the alternative of each row.
    constants : bool
        For choices: whether each alternative but one has a constant of its own.
    membership : sequence of str
        Columns of covariates of groups, on which the weights of the classes depend.
    known : str or None
        The column of known classes.
    shared : sequence of str, or "all"
        Features, or columns, with one coefficient for all classes.
    signs : dict
        Features, or columns, whose coefficients have a sign in every class: -1 or +1.
    listed_by : str
        The option that lists the features.
    """

    label: str
    group: str | None = None
    features: Sequence[str] = ()
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    pairs: tuple[str, str] | None = None
    missing: str = "error"
    positive: str | None = None
    choices: Sequence[str] = ()
    alternative: str | None = None
    constants: bool = False
    membership: Sequence[str] = ()
    known: str | None = None
    shared: Sequence[str] = ()
    signs: Mapping[str, int] = field(default_factory=dict)
    listed_by: str = "--features"

    @property
    def of_groups(self) -> list[str]:
        """What is known about groups: columns of covariates, and of known classes."""
        return [*self.membership, *([] if self.known is None else [self.known])]

    @property
    def required(self) -> list[str]:
        """The columns without which a row is left out, besides features."""
        return [*self.others, *(self.membership if self.missing == "drop" else ())]

    @property
    def others(self) -> list[str]:
        """The label, the group if there is one, and the columns that describe choice sets."""
        of_sets = (*self.choices, self.alternative, SET) if self.choices else ()
        names = (self.label, self.group, *of_sets)
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides of comparisons; a single empty one if there are none."""
        return self.pairs or ("",)

    def how_to_drop(self, names: Sequence[str]) -> str:
        """Say which options leave these columns out."""
        if self.features and self.pairs is None:
            return f"remove {'it' if len(names) == 1 else 'them'} from {self.listed_by}"
        return " ".join(f"--drop {name}" for name in names)


def agreed_types(readers: Sequence[Reader]) -> dict[str, Any]:
    """Return the columns of all files and their Arrow types, which must agree."""
    types: dict[str, Any] = dict(readers[0].types)
    problems: list[str] = []
    for reader in readers[1:]:
        for name, kind in reader.types.items():
            known = types.get(name)
            if known is None or str(known) == "null":
                types[name] = kind
            elif str(kind) != "null" and _family(kind) != _family(known):
                problems.append(
                    f"Column {name!r} holds {kind} in {reader.name}, but {known} in "
                    f"{readers[0].name}: files that are read together must agree."
                )
    refuse(problems)
    return types


def _family(kind: Any) -> str:
    return "truth values" if pa.types.is_boolean(kind) else family(kind)


def column_types(readers: Sequence[Reader], roles: ColumnRoles) -> dict[str, Any]:
    """Return the columns of all files and their types, after checking the roles against them."""
    types = agreed_types(readers)
    if roles.label == roles.group:
        raise ValueError(f"Column {roles.label!r} cannot be both the label and the group.")
    if roles.label in (*roles.choices, roles.alternative):
        raise ValueError(f"Column {roles.label!r} cannot be the label and describe choice sets.")
    named = (*roles.others, *roles.features, *roles.drop, *roles.categorical)
    absent = [n for n in named if not any(column_of(side, n) in types for side in roles.sides)]
    absent += [name for name in roles.of_groups if name not in types]
    refuse(absent_columns(readers[0].name, types, absent))
    for name in roles.of_groups:
        if name in roles.others:
            what = "--known" if name == roles.known else "--membership"
            raise ValueError(f"Column {name!r} cannot be in {what} and be the label or the group.")
    if roles.known in roles.membership:
        raise ValueError(f"Column {roles.known!r} cannot be in both --known and --membership.")
    check_single(types, roles.others)
    what = kind_of(types[roles.label], categorical=True)
    if what.startswith("bytes"):
        raise ValueError(f"Label {roles.label!r} holds {what}.")
    return types


def check_single(types: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise if labels or groups are lists."""
    for name in names:
        if pa.types.is_nested(types[name]):
            raise ValueError(
                f"Column {name!r} holds {types[name]}: a label or group must be a single value."
            )


def feature_kinds(types: Mapping[str, Any], roles: ColumnRoles) -> dict[str, str]:
    """Return the columns that may become features: "number", "category", or what each holds else.

    For comparisons they are named without their sides.
    """
    for name in roles.features:
        if name in (*roles.others, *roles.drop, roles.known):
            what = "dropped" if name in roles.drop else "the label or the group"
            what = "the known class" if name == roles.known else what
            raise ValueError(f"Column {name!r} cannot be a feature and {what}.")
    codes = _without_side(roles.categorical, roles)
    wanted = {name: types[column_of(roles.sides[0], name)] for name in _feature_names(types, roles)}
    if roles.constants and roles.alternative is not None:
        codes = {*codes, roles.alternative}
        wanted = {roles.alternative: types[roles.alternative], **wanted}
    kinds = {name: kind_of(kind, categorical=name in codes) for name, kind in wanted.items()}
    if not kinds:
        raise ValueError("There is no column besides label and group, so there are no features.")
    return kinds


def _feature_names(types: Mapping[str, Any], roles: ColumnRoles) -> list[str]:
    taken = {*roles.others, *roles.drop, *roles.of_groups}
    kept = [name for name in types if name and name not in taken]
    if roles.pairs is None:
        return list(dict.fromkeys(roles.features)) or kept
    names = [name for name in paired_features(roles.pairs, kept) if name not in roles.drop]
    if not names:
        left, right = roles.pairs
        raise ValueError(
            f"No column occurs twice, once with {left!r} and once with {right!r} before or after "
            f"its name; the columns are {listed(types)}."
        )
    chosen = _without_side(roles.features, roles)
    return [name for name in names if not chosen or name in chosen]


def _without_side(names: Sequence[str], roles: ColumnRoles) -> set[str]:
    for side in roles.sides:
        names = [feature_of(side, name) or name for name in names]
    return set(names)
