"""Choices in Spark DataFrames are fitted as those in memory; bad sets are named."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import spectralmirror.spark
from spectralmirror import ChoiceMixture, LinearClassifierMixture
from tests.helpers.agreement import assert_alike
from tests.helpers.choices import NAMES, arrays, survey
from tests.helpers.refusals import assert_refused

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
COLUMNS = {"label": "chosen", "choices": "case", "groups": "who", "features": NAMES}


def in_memory(frame, **options):
    X, chosen, case, who = arrays(frame)
    named = pl.DataFrame(X, schema=NAMES)
    return ChoiceMixture(2, random_state=0).fit(
        named, chosen, choices=case, **{"groups": who, **options}
    )


def there(spark, frame, n_partitions=3):
    """Return a DataFrame whose rows are anywhere: in no order, and sets in several partitions."""
    order = np.random.default_rng(1).permutation(len(frame)).tolist()
    return spark.createDataFrame(frame[order].to_pandas()).repartition(n_partitions).cache()


def scanned(df, **columns):
    return spectralmirror.spark.scan(df, **{**COLUMNS, **columns})


@pytest.fixture(scope="module")
def expected():
    return in_memory(survey())


def test_choices_of_persons(spark, expected):
    found = clone(expected).fit(scanned(there(spark, survey(), 4)))
    assert_alike(found, expected)
    assert found.n_choices_ == expected.n_choices_
    assert found.n_scans_ > 2


def test_more_partitions_than_persons(spark):
    """Some partitions are empty; features are in one column, and sets are named by words."""
    from pyspark.sql import functions

    frame = survey(5).with_columns(case=pl.format("set {}", "case"))
    df = there(spark, frame, 6).withColumn("x", functions.array(*NAMES)).select(
        "x", "chosen", "case", functions.col("who").cast("string").alias("who")
    )  # fmt: skip
    found = ChoiceMixture(1, l2=1.0).fit(scanned(df, features="x"))
    X, chosen, case, who = arrays(frame)
    assert_alike(found, ChoiceMixture(1, l2=1.0).fit(X, chosen, choices=case, groups=who))


@pytest.mark.parametrize("persons", [True, False])
def test_sets_of_two(spark, persons):
    """In the order of the rows, which says what the first alternative of a set is."""
    frame = survey(60, sizes=False, n_alternatives=2)
    found, df = ChoiceMixture(2, random_state=0), spark.createDataFrame(frame.to_pandas())
    found.fit(scanned(df, **({} if persons else {"groups": None})))
    assert_alike(found, in_memory(frame, **({} if persons else {"groups": None})))


def test_a_constant_of_the_first_alternative(spark):
    """Its difference is the same in all sets of two, so that sets stay sets."""
    frame = survey(60, sizes=False, n_alternatives=2)
    first = pl.Series("first", (np.arange(len(frame)) % 2 == 0).astype(float))
    frame, names = frame.with_columns(first), [*NAMES, "first"]
    model, df = ChoiceMixture(2, random_state=0), spark.createDataFrame(frame.to_pandas())
    found = clone(model).fit(scanned(df, features=names))
    X = frame.select(names)
    _, chosen, case, who = arrays(frame)
    assert_alike(found, model.fit(X, chosen, choices=case, groups=who))


def test_weights_membership_and_known_classes(spark):
    frame = survey(60).with_columns(w=pl.col("who") % 3, kind=pl.col("who") % 5 - 1)
    frame = frame.with_columns(kind=pl.when(pl.col("kind") > 1).then(-1).otherwise("kind"))
    model = ChoiceMixture(2, l2=1.0, n_init=3, random_state=0)
    X, chosen, case, who = arrays(frame)
    expected = clone(model).fit(
        pl.DataFrame(X, schema=NAMES),
        chosen,
        choices=case,
        groups=who,
        sample_weight=frame["w"].to_numpy().astype(float),
        membership=frame.select("income"),
        known=frame["kind"].to_numpy(),
    )
    source = scanned(there(spark, frame), sample_weight="w", membership=["income"], known="kind")
    assert_alike(clone(model).fit(source), expected)


def test_persons_who_differ(spark):
    frame = survey(40)
    model = ChoiceMixture(1, spread="diagonal", l2=1.0, random_state=0)
    found = clone(model).fit(scanned(there(spark, frame)))
    X, chosen, case, who = arrays(frame)
    assert_alike(found, model.fit(pl.DataFrame(X, schema=NAMES), chosen, choices=case, groups=who))


def broken(**changes):
    frame = survey(20, sizes=False)
    for column, (row, value) in changes.items():
        values = frame[column].to_list()
        values[row] = value
        frame = frame.with_columns(pl.Series(column, values, strict=False))
    return frame


def two_persons():
    """Two persons answer sets of the same number, with a chosen row each."""
    return survey(20, sizes=False).with_columns(case=pl.int_range(pl.len()) // 4 % 80 + 100)


BAD = [
    (broken(case=(7, 99)), r"Set 99 of 'case' has a single alternative"),
    (broken(who=(2, 7)), r"groups changes inside set 100 of 'case': a set belongs to one person"),
    (two_persons(), r"groups changes inside set 100 of 'case'"),
    (broken(case=(3, None)), r"'case' is missing in some rows"),
    (broken(who=(3, None)), r"groups has missing values"),
    (broken(chosen=(5, 2)), r"chosen must hold True or False"),
    (survey(20, sizes=False).with_columns(chosen=0), r"Set \d+ of 'case' has no chosen row"),
    (survey(20, sizes=False).with_columns(chosen=1), r"Set \d+ of 'case' has 4 chosen rows"),
    (broken(price=(9, np.nan)), r"NaN in column 'price'"),
    (survey(20, sizes=False).filter(pl.col("who") > 99), r"no rows"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "sentence"), BAD, ids=[s for _, s in BAD])
def test_bad_sets_are_named(spark, frame, sentence):
    schema = "case double, chosen int, who double, price double, speed double, comfort double"
    names = [column.split()[0] for column in schema.split(", ")]
    rows = spark.createDataFrame(frame.select(names).to_pandas().astype(
        {"case": float, "who": float, "price": float}), schema)  # fmt: skip
    if frame["case"].null_count() == frame["who"].null_count() == 0:
        rows = rows.withColumn("case", rows["case"].cast("int"))
    assert_refused(lambda: ChoiceMixture(1).fit(scanned(rows.repartition(3))), sentence)


def test_what_does_not_go_together(spark):
    frame = survey(5)
    df = there(spark, frame)
    assert_refused(
        lambda: LinearClassifierMixture(1).fit(scanned(df)), "can be fitted by ChoiceMixture only"
    )
    assert_refused(
        lambda: ChoiceMixture(1).fit(scanned(df, choices=None)), r"scan\(..., choices=\)"
    )
    assert_refused(lambda: ChoiceMixture(1).fit(scanned(df), frame["chosen"]), "belong to the scan")
    assert_refused(lambda: scanned(df, choices="cas"), "no column 'cas'; did you mean 'case'")
