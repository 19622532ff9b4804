"""Rows that are read when they are needed: from files, data frames or blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spectralmirror.rows.checks import require_count
from spectralmirror.rows.choice_parts import ChoiceParts
from spectralmirror.rows.contiguity import ContiguityCheck
from spectralmirror.rows.files.array_source import ArrayParts, OwnParts
from spectralmirror.rows.files.columns import Columns
from spectralmirror.rows.files.map_output import map_parts
from spectralmirror.rows.files.readers import is_readable, readers_of
from spectralmirror.rows.memory import BLOCK_BYTES
from spectralmirror.rows.part import Part
from spectralmirror.rows.partitioned import StreamedRows
from spectralmirror.rows.partitioned_groups import (
    ContiguousGroups,
    PartitionedGroups,
    SpilledGroups,
    group_rows,
)
from spectralmirror.rows.survey import Survey

__all__ = ["Scan", "scan"]


def scan(
    source: Any,
    *,
    label: Any = None,
    features: Sequence[str] | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    membership: Any = None,
    known: Any = None,
    choices: Any = None,
    block_bytes: int = BLOCK_BYTES,
) -> Scan:
    """Describe rows that do not fit into memory, for ``fit`` and :meth:`Scan.map_to`.

    Only the names and types of the columns are read. A fit then reads the columns that it needs
    several times, one block while the block before is summed.

    Parameters
    ----------
    source : str, Path, list of these, LazyFrame, pyarrow dataset or table, ndarray or iterable
        Files in Parquet, Arrow (Feather) or CSV format (``.csv.gz`` too): a path, a folder, a glob
        such as ``"part-*.parquet"``, or a list of these. A list is read in its order, a folder or
        glob in the order of the names. One ``.npy`` file. A polars or pandas frame. Or your own
        reader: anything that yields tuples ``(X, y)``, ``(X, y, groups)`` or
        ``(X, y, groups, sample_weight, membership, known)`` every time it is iterated over, or
        called; what comes after y may be left out, or None.
    label : str, default=None
        The column of labels; not needed to predict. For arrays and ``.npy``, an array of labels or
        its path.
    features : list of str, default=None
        The columns of features. None means all columns of numbers without another role. In CSV
        files the first megabyte decides which columns are numbers: name them to be sure.
    groups, sample_weight : str, default=None
        The columns of groups and of weights, or arrays as for the label. If the rows of a group
        are not contiguous, they are brought together in temporary files.
    membership : list of str, default=None
        Columns of covariates on which the weights of the classes depend, the same in all rows of a
        group; or an array of shape (n_samples, n_covariates), or its path.
    known : str, default=None
        The column of known classes, counted from 0; -1 or a missing value if a class is not known.
        Or an array of them, or its path.
    choices : str, default=None
        For :class:`ChoiceMixture`: the column of choice sets, or an array as for the label. The
        rows of a set follow each other, and the label says which of them was chosen.
    block_bytes : int, default=4_000_000
        Size of a block of rows. About ten times this, and a sample of at most 200 MB, are in
        memory at any time, however long the files or their row groups are.

    Returns
    -------
    Scan
        The source.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> from spectralmirror import SpectralMirror, scan
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> X, y, truth = make_linear_classifier_mixture(20_000, 5, weights=[0.6, 0.4], random_state=0)
    >>> folder = tempfile.mkdtemp()
    >>> frame = pl.DataFrame(X, schema=list("abcde")).with_columns(liked=y)
    >>> frame[:9_000].write_parquet(f"{folder}/part-1.parquet")
    >>> frame[9_000:].write_parquet(f"{folder}/part-2.parquet")
    >>> source = scan(f"{folder}/part-*.parquet", label="liked")
    >>> mirror = SpectralMirror(n_components=2, random_state=0).fit(source)
    >>> source.map_to(f"{folder}/plane.parquet", mirror.transform)
    >>> pl.read_parquet(f"{folder}/plane.parquet").shape
    (20000, 2)
    """
    require_count(block_bytes=block_bytes)
    if _is_array(source):
        if features is not None:
            raise ValueError("features names columns, but arrays have no names.")
        parts = ArrayParts.of(source, label, groups, sample_weight, membership, known, choices)
        return Scan(parts, block_bytes)
    if is_readable(source):
        readers = readers_of(source)
        roles = (label, features, groups, sample_weight, membership, known, choices)
        return Scan(Columns.of(readers, *roles), block_bytes)
    if isinstance(source, bytes | dict) or not (callable(source) or isinstance(source, Iterable)):
        raise ValueError(
            f"scan cannot read {type(source).__name__}: pass paths, a frame, a pyarrow dataset, an "
            "array, or something that yields tuples (X, y)."
        )
    others = (features, label, groups, sample_weight, membership, known, choices)
    if any(value is not None for value in others):
        raise ValueError(
            "Your own reader yields (X, y, groups, sample_weight, membership, known) itself: pass "
            "no columns."
        )
    return Scan(OwnParts.of(source), block_bytes)


@dataclass(frozen=True, eq=False)
class Scan:
    """Rows that are read when they are needed; made by :func:`scan`.

    Attributes
    ----------
    parts : Columns, ArrayParts or OwnParts
        What is read.
    block_bytes : int
        Size of a block of rows.
    """

    parts: Any
    block_bytes: int = BLOCK_BYTES

    @property
    def feature_names(self) -> list[str] | None:
        """The columns of features, or None if they have no names."""
        names: list[str] | None = self.parts.names
        return names

    def grouped_rows(self) -> tuple[PartitionedGroups, list[str] | None]:
        """Survey labels, weights and groups; return the rows, and the names of the features."""
        if self.parts.set_column is not None:
            raise ValueError("This scan has choices=: it can be fitted by ChoiceMixture only.")
        return self._grouped_rows(self.parts)

    def choice_rows(self) -> tuple[PartitionedGroups, list[str] | None, int]:
        """Survey choices; return the rows, the names of the features, and the number of sets."""
        if self.parts.set_column is None:
            raise ValueError("The scan has no choice sets: name their column, scan(..., choices=).")
        self._check_label()
        parts = ChoiceParts.of(self.parts)
        return *self._grouped_rows(parts), parts.n_sets

    def _check_label(self) -> None:
        if not self.parts.has_labels:
            raise ValueError("The scan has no label: name its column, scan(..., label=).")

    def _grouped_rows(self, parts: Any) -> tuple[PartitionedGroups, list[str] | None]:
        self._check_label()
        contiguity, survey = ContiguityCheck(), _nothing()
        for part in map(contiguity.add, parts.survey()):
            survey = (survey + Survey.of(part)).as_one_part()
        if isinstance(parts, ChoiceParts):
            survey = survey.of_choices()
        rows = StreamedRows.of(parts, parts.n_features, parts.dtype, survey, self.block_bytes)
        if isinstance(parts, ChoiceParts):
            rows = replace(rows, has_sets=not parts.in_pairs)
        groups: Any = None
        if parts.has_groups:
            groups = ContiguousGroups(rows) if contiguity.is_contiguous else SpilledGroups(rows)
        return group_rows(rows, groups, parts.trait_columns), parts.names

    def map_to(
        self, path: str | Path, method: Callable[..., Any], *, keep: Sequence[str] = ()
    ) -> None:
        """Apply a method of a fitted model to all rows, and write what it returns.

        The rows stay in their order. The file is written whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file to write: .parquet, .arrow, .feather, .csv or .csv.gz.
        method : callable
            For example ``mirror.transform``, ``mixture.predict`` or ``mixture.component_proba``.
            It is called with X, with y if it takes labels, and with groups if it takes them; if the
            scan has columns of membership, with those that the model was fitted to. A model that
            was fitted to named features gets those columns, whatever else was scanned. Rows of a
            group must then be contiguous in the files.
        keep : list of str, default=()
            Columns to copy from the source, such as an identifier.
        """
        keep = [keep] if isinstance(keep, str) else list(keep or ())
        map_parts(self.parts, self.block_bytes, Path(path), method, keep)


def _nothing() -> Survey:
    return Survey.of(Part(np.empty((0, 0)), np.empty(0)))


def _is_array(source: Any) -> bool:
    if isinstance(source, np.ndarray):
        return True
    if isinstance(source, str | Path):
        named = str(source).lower().endswith(".npy")
        return named and (Path(source).exists() or not any(c in str(source) for c in "*?["))
    return False
