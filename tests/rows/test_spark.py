"""Spark DataFrames, with a real Spark in local mode, one of whose tasks fails."""

import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import spectralmirror.spark
from spectralmirror import LinearClassifierMixture, scan
from spectralmirror.rows.part import Part
from spectralmirror.rows.reduce import reduce
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.scans import mirror, mixture
from tests.helpers.traits import COVARIATES, with_traits

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
from spectralmirror.rows.spark_store import Writer  # noqa: E402

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def there(spark):
    """A cached DataFrame in five partitions, one of them empty; and the same in its order."""
    X, y, groups, weight = mixture_rows(3000, 3)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, who=groups, w=weight)
    from pyspark.sql import functions

    numbered = spark.createDataFrame(frame.assign(part=np.arange(3000) % 4))
    df = numbered.repartitionByRange(4, "part").union(numbered.filter("part > 9")).cache()
    df = df.withColumn("x", functions.array(*NAMES)).cache()
    return df, df.drop("x").toPandas()


@pytest.mark.parametrize("which", ["", "groups", "weight"])
def test_a_dataframe(which, there):
    df, frame = there
    columns = {"": {}, "groups": {"groups": "who"}, "weight": {"sample_weight": "w"}}[which]
    source = spectralmirror.spark.scan(df, label="y", features=NAMES, **columns)
    options = {name: frame[column] for name, column in columns.items()}
    make = mixture if which == "" else mirror
    found = make().fit(source)
    assert_alike(found, make().fit(frame[NAMES], frame["y"], **options))
    assert found.feature_names_in_.tolist() == NAMES
    assert found.n_scans_ < 60


def test_membership_and_known_classes(spark):
    frame = with_traits(*mixture_rows(1000, 3))
    make = partial(mixture, l2=1.0, n_init=3)
    df = spark.createDataFrame(frame.replace({np.nan: None})).repartition(2).cache()
    frame = df.toPandas()
    scan = spectralmirror.spark.scan
    columns = {"groups": "who", "membership": COVARIATES, "known": "class"}
    source = scan(df, label="y", features=NAMES, **columns)
    options = {name: frame[column] for name, column in columns.items()}
    assert_alike(make().fit(source), make().fit(frame[NAMES], frame["y"], **options))
    with pytest.raises(ValueError, match="column 'y' holds string"):
        scan(df, label="w", membership=["age", "y"])
    with pytest.raises(ValueError, match=r"change inside group \d+: use one value"):
        make().fit(scan(df, label="y", features=NAMES, groups="who", membership=["a"]))


def stored_files():
    from pyspark import SparkFiles

    return list(Path(SparkFiles.getRootDirectory()).glob("spectralmirror-*"))


def test_fits_leave_nothing_behind(there, spark):
    df, _ = there
    gc.collect()
    kept = spark.sparkContext._jsc.getPersistentRDDs
    until(lambda: not stored_files())
    n_kept = kept().size()
    source = spectralmirror.spark.scan(df, label="y", features=NAMES, groups="who")
    rows, _ = source.grouped_rows()
    assert len(stored_files()) >= 5  # four partitions of rows, and those of groups
    del rows
    gc.collect()
    until(lambda: not stored_files() and kept().size() <= n_kept)  # earlier ones may go, too


def until(condition):
    """Wait: a thread of its own deletes files."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("still not true after a minute")


def test_partitions_whose_files_are_gone_are_read_again(there):
    """As on another machine than the one that stored them."""
    df, _ = there
    source = spectralmirror.spark.scan(df, label="y", features=NAMES, groups="who")
    rows, _ = source.grouped_rows()

    def total(block):
        return block.y @ block.X

    before = reduce(rows.rows, total), reduce(rows, total)
    files = sorted(stored_files())
    for file in files[::2]:
        file.unlink()
    np.testing.assert_allclose((reduce(rows.rows, total), reduce(rows, total)), before, rtol=1e-12)


def test_partitions_that_spark_makes_again_keep_their_numbers(there):
    """As after an executor was lost: several of them may be made again by one task."""
    df, _ = there
    rows, _ = spectralmirror.spark.scan(df, label="y", features=NAMES, groups="who").grouped_rows()

    def total(block):
        return block.y @ block.X

    before = reduce(rows.rows, total), reduce(rows, total)
    rows.rows.parts.stored.stored.unpersist()
    rows.partitions.stored.stored.unpersist()
    np.testing.assert_allclose((reduce(rows.rows, total), reduce(rows, total)), before, rtol=1e-12)
    kept = rows.rows.parts.stored.stored.map(lambda one: one[:2]).collect()
    assert sorted(number for number, _ in kept) == list(range(len(rows.rows.survey.lengths)))
    assert len({path for _, path in kept}) == len(kept) > 2  # tasks, of which there are two


def test_two_fits_at_once(there):
    df, frame = there
    scan = spectralmirror.spark.scan
    sources = [scan(df, label="y", features=NAMES), scan(df, label="y", features="x", groups="who")]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda source: mirror().fit(source), sources))
    X, groups = frame[NAMES], frame["who"]
    assert_alike(found[0], mirror().fit(X, frame["y"]))
    assert_alike(found[1], mirror().fit(X.to_numpy(), frame["y"], groups=groups))


def test_a_disk_without_space_is_no_error(tmp_path):
    """The rows go on, and nothing is left of the file."""
    parts = [Part(np.ones((20_000, 2)) * i, np.ones(20_000)) for i in range(3)]
    writer = Writer(tmp_path / "missing" / "file.arrow")
    assert [part.X[0, 0] for part in writer.written(parts)] == [0, 1, 2]
    assert writer.finished() is None
    writer = Writer(tmp_path / "file.arrow")
    assert len(list(writer.written(parts))) == 3
    kept = writer.finished()
    assert kept == str(tmp_path / "file.arrow")
    writer.discard()
    assert not list(tmp_path.iterdir())


def test_an_array_column(there):
    df, frame = there
    found = mirror().fit(spectralmirror.spark.scan(df, label="y", features="x"))
    assert_alike(found, mirror().fit(frame[NAMES].to_numpy(), frame["y"]))


def test_a_task_that_fails_once(there, tmp_path):
    df, frame = there
    kept = df.select(*NAMES, "y")
    folder = str(tmp_path)

    def failing(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        if context.partitionId() == 1:
            n_before = len(os.listdir(folder))
            with open(os.path.join(folder, f"{context.taskAttemptId()}"), "w"):
                pass
            if n_before == 0:
                raise RuntimeError("the machine is gone")
        yield from batches

    source = spectralmirror.spark.scan(
        kept.mapInArrow(failing, kept.schema), label="y", features=NAMES
    )
    found = mirror().fit(source)
    assert len(os.listdir(folder)) == 2  # rows are read once, and this partition was tried again
    assert_alike(found, mirror().fit(frame[NAMES], frame["y"]))


def test_bad_use_is_reported(there, spark):
    df, _ = there
    from pyspark.sql import functions

    one = df.filter("part = 1")
    missing = df.withColumn("b", functions.when(functions.col("part") < 3, df["b"]))
    unlabelled = df.withColumn("y", functions.when(functions.col("part") < 3, df["y"]))
    strays = df.withColumn("who", functions.when(functions.col("part") < 3, df["who"]))
    ragged = df.withColumn(
        "x", functions.when(functions.col("part") < 3, df["x"]).otherwise(functions.array("a"))
    )
    scan = spectralmirror.spark.scan
    for call, told in [
        (lambda: scan(df, label="yy"), "no column 'yy'; did you mean 'y'"),
        (lambda: scan(df, label="y", features=["a", "bb"]), "no column 'bb'"),
        (lambda: scan(df, label="a", features=["y", "b"]), "column 'y' holds string"),
        (lambda: scan(df, label="a", features="y"), "column 'y' holds string"),
        (lambda: mirror().fit(scan(missing, label="y", features=NAMES)), "NaN in column 'b'"),
        (lambda: mirror().fit(scan(unlabelled, label="y", features=NAMES)), "missing label"),
        (
            lambda: mirror().fit(scan(strays, label="y", features=NAMES, groups="who")),
            "groups has missing values",
        ),
        (lambda: mirror().fit(scan(ragged, label="y", features="x")), "3 numbers in every row"),
        (lambda: mirror().fit(scan(one.filter("a > 9"), label="y", features=NAMES)), "no rows"),
    ]:
        with pytest.raises(ValueError, match=told) as error:
            call()
        assert "\n" not in str(error.value)


def test_resamples_are_those_of_files(there, tmp_path, monkeypatch):
    """Groups have the same Poisson counts in all engines."""
    df, frame = there
    frame[[*NAMES, "y", "who"]].to_parquet(tmp_path / "rows.parquet")
    file = scan(tmp_path / "rows.parquet", label="y", groups="who")
    cluster = spectralmirror.spark.scan(df, label="y", features=NAMES, groups="who")
    model = LinearClassifierMixture(2, l2=1.0, random_state=0)
    fits = [clone(model).fit(source) for source in (file, cluster)]
    for module in ("rows.grouped", "rows.sample"):
        monkeypatch.setattr(f"spectralmirror.{module}.SAMPLE_BYTES", 10_000)
    found = [
        fit.bootstrap(source, n=3, random_state=0)
        for fit, source in zip(fits, (file, cluster), strict=True)
    ]
    np.testing.assert_allclose(found[1].coef, found[0].coef, rtol=1e-4)  # up to where climbs end
    assert found[0].coef.std(axis=0).min() > 0


def test_persons_who_differ(there):
    df, frame = there
    source = spectralmirror.spark.scan(df, label="y", features=NAMES, groups="who")
    model = LinearClassifierMixture(1, spread="intercept", l2=1.0, random_state=0)
    found = clone(model).fit(source)
    assert_alike(found, model.fit(frame[NAMES], frame["y"], groups=frame["who"]))
