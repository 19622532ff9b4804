"""Apply a method of a fitted model to a scan, part by part, and write the results to a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spectralmirror.rows.checks import not_finite
from spectralmirror.rows.choice_parts import whole_sets
from spectralmirror.rows.contiguity import ContiguityCheck
from spectralmirror.rows.feature_table import NamedMatrix
from spectralmirror.rows.files.writers import writing
from spectralmirror.rows.memory import block_rows
from spectralmirror.rows.messages import one_line
from spectralmirror.rows.part import Part, whole_groups

__all__ = ["map_parts"]


def map_parts(
    parts: Any, block_bytes: int, path: Path, method: Callable[..., Any], keep: Sequence[str]
) -> None:
    """Apply a method to all parts of a source, and write what it returns."""
    apply = RowMethod.of(method, parts)
    if apply.names is not None and hasattr(parts, "with_features"):
        parts = parts.with_features(apply.names, apply.covariates)
    size = block_rows(block_bytes, parts.n_features, parts.dtype)
    read = (part for part in parts.read(size, parts.dtype, keep) if len(part))
    with writing(path) as append:
        for part in _joined(read, parts.set_column, grouped=apply.grouped):
            append(apply.table(part, parts.names))


@dataclass(frozen=True, eq=False)
class RowMethod:
    """A method of a model, and what it is given.

    Attributes
    ----------
    method : callable
        X, and perhaps y, groups and membership -> an array of one value or line per row.
    labelled, grouped : bool
        Whether it is given labels, and groups.
    names : list of str or None
        The names of the features that the model was fitted to.
    chooses : bool
        Whether it is given choice sets, and its labels say what was chosen.
    covariates : tuple of str
        The covariates of membership that it is given; empty if there are none.
    """

    method: Callable[..., Any]
    labelled: bool
    grouped: bool
    names: list[str] | None
    chooses: bool = False
    covariates: tuple[str, ...] = ()

    @classmethod
    def of(cls, method: Callable[..., Any], parts: Any) -> RowMethod:
        """Read off the method's signature what it takes."""
        taken = inspect.signature(method).parameters
        chooses = "choices" in taken
        if chooses and parts.set_column is None:
            raise ValueError(f"{_name(method)} needs choice sets: scan(..., choices=).")
        label = "chosen" if chooses else "y"
        labelled = label in taken and parts.has_labels
        names = getattr(getattr(method, "__self__", None), "feature_names_in_", None)
        found = cls(
            method,
            labelled,
            # persons matter to choices only where it is known what they chose
            "groups" in taken and parts.has_groups and (labelled or not chooses),
            None if names is None else list(names),
            chooses,
            _covariates(method, parts) if "membership" in taken else (),
        )
        if label in taken and taken[label].default is inspect.Parameter.empty and not labelled:
            raise ValueError(f"{found.name} needs labels: name their column, scan(..., label=).")
        return found

    @property
    def name(self) -> str:
        """Name of the method, "value" if it has none."""
        return _name(self.method)

    def table(self, part: Part, names: Sequence[str] | None) -> Any:
        """Return the columns to keep, and what the method returns for the rows of a part."""
        bad = not_finite(part.X, lambda row: f"row {part.where(row)}")
        if bad is not None:
            raise ValueError(bad.describe(names))
        label = "chosen" if self.chooses else "y"
        given: dict[str, Any] = {label: part.y} if self.labelled else {}
        if self.chooses:
            given["choices"] = part.choices
        if self.grouped:
            given["groups"] = part.groups
        if self.covariates and part.traits is not None:
            given["membership"] = part.traits[:, : len(self.covariates)]
        try:
            columns = self._columns(np.asarray(self.method(self._named(part.X), **given)), part)
            twice = set(part.kept) & set(columns)
            if twice:
                raise ValueError(
                    f"{min(twice)!r} cannot be kept: the result already has a column of that name."
                )
            return pa.table({**part.kept, **columns})
        except ValueError as error:
            raise ValueError(
                f"{part.place}: {one_line(error)}" if part.place else str(error)
            ) from None

    def _named(self, X: NDArray[Any]) -> Any:
        """Give features the names that the model was fitted to."""
        if self.names is None:
            return X
        if getattr(self.method, "takes_named_matrix", False):
            return NamedMatrix(X, self.names)
        import polars as pl  # the model belongs to another library

        return pl.from_numpy(X, schema=self.names, orient="row")

    def _columns(self, values: NDArray[Any], part: Part) -> dict[str, Any]:
        """Name what the method returns: one column for one value per row, several otherwise."""
        if values.ndim not in (1, 2) or len(values) != len(part):
            raise ValueError(
                f"{self.name} must return a value, or a line of them, for each of {len(part)} "
                f"rows, but returned shape {values.shape}."
            )
        if values.ndim == 1:
            return {self.name: pa.array(values)}
        names = self._column_names(values.shape[1])
        return {name: pa.array(column) for name, column in zip(names, values.T, strict=True)}

    def _column_names(self, width: int) -> list[str]:
        model: Any = getattr(self.method, "__self__", None)
        if self.name == "transform" and hasattr(model, "get_feature_names_out"):
            return list(model.get_feature_names_out())
        if self.name == "predict_proba" and model is not None:
            return [f"probability_{value}" for value in model.classes_]
        if self.name == "component_proba":
            return [f"component_{j}" for j in range(width)]
        return [f"{self.name}_{j}" for j in range(width)]


def _covariates(method: Callable[..., Any], parts: Any) -> tuple[str, ...]:
    """Return the covariates of membership that the model was fitted to, if the rows have any."""
    wanted = getattr(getattr(method, "__self__", None), "membership_names_in_", ())
    columns = parts.trait_columns
    return tuple(wanted) if columns is not None and columns.names else ()


def _name(method: Callable[..., Any]) -> str:
    """Return the name of a method, "value" if it has none."""
    name: str = getattr(getattr(method, "func", method), "__name__", "value")
    return name if name.isidentifier() else "value"


def _joined(parts: Iterator[Part], set_column: str | None, *, grouped: bool) -> Iterator[Part]:
    """Return parts of whole groups and choice sets, as far as they are needed."""
    if grouped:
        return _joined_groups(parts)
    return parts if set_column is None else whole_sets(parts, set_column)


def _joined_groups(parts: Iterator[Part]) -> Iterator[Part]:
    """Yield parts of whole groups; raise if their rows are not contiguous."""
    check = ContiguityCheck()
    # rows of weight 0 get an answer, too
    for pieces in whole_groups(check.add(replace(part, weight=None)) for part in parts):
        yield Part.joined(pieces)
    if not check.is_contiguous:
        raise ValueError(
            "Rows of a group must follow each other to be judged together: sort the files by "
            "their groups first, or scan them without groups."
        )
