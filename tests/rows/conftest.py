"""Rows, and fits of them in memory, that several tests share."""

import polars as pl
import pytest

from tests.helpers.agreement import mixture_rows
from tests.helpers.scans import NAMES, mirror, mixture


@pytest.fixture(scope="module")
def rows():
    return mixture_rows()


@pytest.fixture(scope="module")
def expected(rows):
    """Fits in memory, by the columns that they use."""
    X, y, groups, weight = rows
    frame = pl.DataFrame(X, schema=NAMES)
    options = {"": {}, "groups": {"groups": groups}, "weight": {"sample_weight": weight}}
    return {
        (make, which): make().fit(frame, y, **columns)
        for make in (mirror, mixture)
        for which, columns in options.items()
    }


@pytest.fixture
def small_samples(monkeypatch):
    """Let samples be a small part of few rows."""
    for module in ("direction", "sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.FIT_ROWS", 1000)
    for module in ("sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.GROUPS_TO_FIT", 100)
    monkeypatch.setattr("spectralmirror.mixture.samples.LEAST_ROWS", 1000)
    monkeypatch.setattr("spectralmirror.mixture.samples.ROWS_PER_PARAMETER", 50)
    monkeypatch.setattr("spectralmirror.mixture.samples.SAMPLE_BYTES", 200_000)
    monkeypatch.setattr("spectralmirror.mixture.newton.LEAST_ROWS", 2000)
    monkeypatch.setattr("spectralmirror.mixture.newton.GROUPS_PER_COMPONENT", 100)
