"""Rows, and fits of them in memory, that several tests share."""

import os
import shutil
import sys
import warnings

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


@pytest.fixture(scope="session")
def spark():
    """A real Spark in local mode, which tries failed tasks again."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2,4]")  # local[2] would not try again
    for name, value in options.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


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
