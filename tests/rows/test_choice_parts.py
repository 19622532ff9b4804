"""Choices from files and Dask are fitted as those in memory; bad sets are named."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from spectralmirror import ChoiceMixture, LinearClassifierMixture, scan
from tests.helpers.agreement import assert_alike
from tests.helpers.choices import NAMES, arrays, survey

COLUMNS = {"label": "chosen", "choices": "case", "groups": "who", "features": NAMES}


def in_memory(frame, groups=True, **options):
    X, chosen, case, who = arrays(frame)
    mixture = ChoiceMixture(2, random_state=0, **options)
    persons = {"groups": who} if groups else {}
    return mixture.fit(pl.DataFrame(X, schema=NAMES), chosen, choices=case, **persons)


@pytest.fixture(scope="module")
def expected():
    return in_memory(survey())


@pytest.mark.parametrize("kind", ["parquet", "files", "csv", "blocks", "arrays", "scattered"])
def test_files_are_fitted_as_arrays(expected, tmp_path, kind):
    frame, options, bytes_ = survey(), dict(COLUMNS), 4_000_000
    if kind == "files":
        for number, start in enumerate(range(0, len(frame), 371)):  # in the middle of sets
            frame[start : start + 371].write_parquet(tmp_path / f"{number}.parquet")
        source = tmp_path
    elif kind == "csv":
        source = tmp_path / "survey.csv"
        frame.write_csv(source)
    elif kind == "blocks":
        source, bytes_ = frame, 200  # eight rows
    elif kind == "arrays":
        X, chosen, case, who = arrays(frame)
        source = X
        options = {"label": chosen, "choices": case, "groups": who}
    elif kind == "scattered":  # the choices of a person are anywhere, sets are together
        order = np.argsort(frame["case"].to_numpy() % 8, kind="stable")
        source, bytes_ = frame[order.tolist()], 200
    else:
        source = tmp_path / "survey.parquet"
        frame.write_parquet(source, row_group_size=100)
    found = clone(expected).fit(scan(source, block_bytes=bytes_, **options))
    assert found.n_scans_ > 2
    if kind == "arrays":
        found.feature_names_in_ = expected.feature_names_in_
    assert_alike(found, expected)


@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize("sizes", [True, False])
def test_sets_of_two_and_choices_without_persons(sizes, groups):
    frame = survey(60, sizes=sizes, n_alternatives=4 if sizes else 2)
    options = {name: value for name, value in COLUMNS.items() if groups or name != "groups"}
    found = ChoiceMixture(2, random_state=0).fit(scan(frame, **options))
    assert_alike(found, in_memory(frame, groups))


@pytest.mark.parametrize("sizes", [True, False])
def test_dask_is_fitted_as_arrays(expected, sizes):
    da = pytest.importorskip("dask.array")
    frame = survey() if sizes else survey(60, sizes=False, n_alternatives=2)
    frame = frame[np.random.default_rng(0).permutation(len(frame)).tolist()]  # sets are anywhere
    expected = expected if sizes else in_memory(frame)
    X, chosen, case, who = arrays(frame)
    X, chosen, case, who = (
        da.from_array(values, chunks=(300, 3)[: values.ndim]) for values in (X, chosen, case, who)
    )
    found = clone(expected).fit(X, chosen, choices=case, groups=who)
    found.feature_names_in_ = expected.feature_names_in_
    assert_alike(found, expected)


@pytest.mark.parametrize("kind", ["scan", "blocks", "dask"])
def test_sets_of_two_with_a_constant_of_the_first_alternative(kind):
    """Its difference is the same in all sets, so that sets must stay sets (as in memory)."""
    frame = survey(60, sizes=False, n_alternatives=2)
    frame = frame.with_columns(first=pl.int_range(pl.len()) % 2 == 0)
    names = [*NAMES, "first"]
    X = frame.select(names).cast(float).to_numpy()
    _, chosen, case, who = arrays(frame)
    expected = ChoiceMixture(2, random_state=0)
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        columns = [
            da.from_array(one, chunks=(300, 4)[: one.ndim]) for one in (X, chosen, case, who)
        ]
        found = clone(expected).fit(columns[0], columns[1], choices=columns[2], groups=columns[3])
    else:
        options, bytes_ = COLUMNS | {"features": names}, 200 if kind == "blocks" else 4_000_000
        found = clone(expected).fit(scan(frame, block_bytes=bytes_, **options))
        X = pl.DataFrame(X, schema=names)
    assert_alike(found, expected.fit(X, chosen, choices=case, groups=who))


def test_dask_without_persons():
    da = pytest.importorskip("dask.array")
    frame = survey(40)
    X, chosen, case, _ = (da.from_array(v, chunks=(100, 3)[: v.ndim]) for v in arrays(frame))
    found = ChoiceMixture(1).fit(X, chosen, choices=case)
    np.testing.assert_allclose(
        found.coef_, in_memory(frame, groups=False).set_params(n_components=1).fit(
            *arrays(frame)[:2], choices=arrays(frame)[2]).coef_, rtol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("n_parts", [1, 9])
def test_sets_of_two_persons_on_dask(n_parts):
    """They are named wherever the two persons are: both have a chosen row in "their" set."""
    da = pytest.importorskip("dask.array")
    frame = survey(20, sizes=False)
    X, chosen, case, who = arrays(frame)
    case = np.where(case == case[-1], case[0], case)
    chunk = -(-len(X) // n_parts)
    X, chosen, case, who = (
        da.from_array(v, chunks=(chunk, 3)[: v.ndim]) for v in (X, chosen, case, who)
    )
    with pytest.raises(ValueError, match=r"groups changes inside set 100 of choices: a set"):
        ChoiceMixture(1).fit(X, chosen, choices=case, groups=who)


def test_weights_of_sets():
    frame = survey(60)
    weight = (frame["who"] % 3).to_numpy().astype(float)  # some persons do not count
    X, chosen, case, who = arrays(frame)
    expected = ChoiceMixture(2, random_state=0).fit(
        pl.DataFrame(X, schema=NAMES), chosen, choices=case, groups=who, sample_weight=weight
    )
    source = scan(frame.with_columns(w=weight), sample_weight="w", **COLUMNS)
    found = clone(expected).fit(source)
    assert_alike(found, expected)


def test_answers_are_written_set_by_set(expected, tmp_path):
    frame = survey()
    X, chosen, case, who = arrays(frame)
    X = pl.DataFrame(X, schema=NAMES)
    source = scan(frame, block_bytes=200, **COLUMNS)
    source.map_to(tmp_path / "p.parquet", expected.predict_proba, keep=["case"])
    found = pl.read_parquet(tmp_path / "p.parquet")
    assert found.columns == ["case", "predict_proba"]
    np.testing.assert_allclose(found["predict_proba"], expected.predict_proba(X, choices=case))
    source.map_to(tmp_path / "c.parquet", expected.component_proba)
    found = pl.read_parquet(tmp_path / "c.parquet").to_numpy()
    wanted = expected.component_proba(X, chosen, choices=case, groups=who)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def broken(**changes):
    frame = survey(20, sizes=False)
    for column, (row, value) in changes.items():
        values = frame[column].to_list()
        values[row] = value
        frame = frame.with_columns(pl.Series(column, values, strict=False))
    return frame


def twice():
    frame = survey(20, sizes=False)
    return pl.concat([frame, frame[4:8]])


BAD = [
    (broken(case=(7, 99)), r"Set 99 of 'case' \(row 7 of the table\) has a single alternative"),
    (broken(who=(2, 7)), r"groups changes inside set 100 of 'case' \(row 0 of the table\)"),
    (broken(case=(3, None)), r"'case' is missing in row 3"),
    (broken(chosen=(5, 2)), r"chosen must hold True or False"),
    (survey(20, sizes=False).with_columns(chosen=0), r"Set 100 of 'case' .* has no chosen row"),
    (survey(20, sizes=False).with_columns(chosen=1), r"Set 100 of 'case' .* has 4 chosen rows"),
    (broken(price=(9, np.nan)), r"NaN in column 'price'"),
    (twice(), r"Set 101 of 'case' begins in row 4 of the table and comes again in row 640"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "sentence"), BAD, ids=[s for _, s in BAD])
@pytest.mark.parametrize("block_bytes", [200, 4_000_000])
def test_bad_sets_are_named(frame, sentence, block_bytes):
    source = scan(frame.to_arrow(), block_bytes=block_bytes, **COLUMNS)
    with pytest.raises(ValueError, match=sentence):
        ChoiceMixture(1).fit(source)


def test_what_does_not_go_together():
    frame = survey(5)
    with pytest.raises(ValueError, match="can be fitted by ChoiceMixture only"):
        LinearClassifierMixture(1).fit(scan(frame, **COLUMNS))
    with pytest.raises(ValueError, match=r"name their column, scan\(..., choices=\)"):
        ChoiceMixture(1).fit(scan(frame, label="chosen", features=NAMES))
    with pytest.raises(ValueError, match="belong to the scan"):
        ChoiceMixture(1).fit(scan(frame, **COLUMNS), frame["chosen"])
    with pytest.raises(ValueError, match="The scan has no label"):
        ChoiceMixture(1).fit(scan(frame, choices="case", features=NAMES))
    with pytest.raises(ValueError, match="no column 'cas'"):
        scan(frame, label="chosen", choices="cas")
    mixture = in_memory(survey(20))
    with pytest.raises(ValueError, match="predict_proba needs choice sets"):
        scan(frame, features=NAMES).map_to("p.parquet", mixture.predict_proba)
