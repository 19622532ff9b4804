"""Results of a model for the rows of a scan, written to a file."""

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from spectralmirror import scan
from tests.helpers.agreement import mixture_rows
from tests.helpers.scans import NAMES, mirror, mixture, scanned, table, to_parquet


def test_map_to_writes_what_the_methods_return(rows, tmp_path):
    X, y, groups, weight = rows
    order = np.argsort(groups, kind="stable")
    X, y, groups = X[order], y[order], groups[order]
    to_parquet(table(X, y, groups, weight), tmp_path)
    source = scanned(str(tmp_path / "part-*.parquet"), groups="who")
    plane, fitted = mirror().fit(source), mixture().fit(source)
    frame = pl.DataFrame(X, schema=NAMES)
    whole = {
        plane.transform: plane.transform(frame),
        fitted.predict: fitted.predict(frame),
        fitted.predict_proba: fitted.predict_proba(frame),
        fitted.decision_function: fitted.decision_function(frame),
        fitted.component_proba: fitted.component_proba(frame, y, groups),
        fitted.predict_component: fitted.predict_component(frame, y, groups),
    }
    for method, values in whole.items():
        path = tmp_path / "out" / f"{method.__name__}.parquet"
        source.map_to(path, method, keep=["who"])
        found = pl.read_parquet(path)
        np.testing.assert_array_equal(found["who"], groups)
        found = found.drop("who")
        expected = values.reshape(len(values), -1)
        assert found.width == expected.shape[1]
        if expected.dtype.kind in "UO":
            assert found[:, 0].to_list() == expected[:, 0].tolist()
        else:
            np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-12, atol=1e-12)
    names = pq.read_schema(tmp_path / "out" / "predict_proba.parquet").names
    assert names == ["who", "probability_no", "probability_yes"]
    assert not list((tmp_path / "out").glob(".unfinished*"))


def test_map_to_needs_contiguous_groups(rows, tmp_path):
    X, y, groups, weight = rows
    table(X, y, groups, weight).write_parquet(tmp_path / "mixed.parquet")
    source, fitted = scanned(tmp_path / "mixed.parquet", groups="who"), mixture().fit(X, y)
    with pytest.raises(ValueError, match="must follow each other"):
        source.map_to(tmp_path / "out.parquet", fitted.component_proba)
    assert not (tmp_path / "out.parquet").exists()


def test_map_to_without_labels(rows, tmp_path):
    X, y, _, _ = rows
    pl.DataFrame(X, schema=NAMES).write_parquet(tmp_path / "new.parquet")
    fitted = mixture().fit(pl.DataFrame(X, schema=NAMES), y)
    pl.DataFrame(X, schema=NAMES).with_columns(other=1).select(
        *reversed(NAMES), "other"
    ).write_parquet(tmp_path / "new.parquet")  # the model knows which columns it needs
    source = scan(tmp_path / "new.parquet")
    source.map_to(tmp_path / "out.parquet", fitted.predict)
    assert pl.read_parquet(tmp_path / "out.parquet")["predict"].to_list() == (
        fitted.predict(pl.DataFrame(X, schema=NAMES)).tolist()
    )
    with pytest.raises(ValueError, match="component_proba needs labels"):
        source.map_to(tmp_path / "other.parquet", fitted.component_proba)
    with pytest.raises(ValueError, match="map_to"):
        fitted.predict(source)
    with pytest.raises(ValueError, match="has no label"):
        mixture().fit(source)
    with pytest.raises(ValueError, match="has no column 'x' to keep"):
        source.map_to(tmp_path / "other.parquet", fitted.predict, keep=["x"])
    assert not (tmp_path / "other.parquet").exists()


def test_map_to_judges_groups_whole_where_some_rows_weigh_nothing(tmp_path):
    X, y, _, _ = mixture_rows(1500, 4)
    groups, weight = np.repeat(np.arange(300), 5), np.zeros(1500)
    weight[700:] = np.random.default_rng(0).random(800) < 0.6
    fitted = mixture().fit(X, y)
    source = scan(X, label=y, groups=groups, sample_weight=weight, block_bytes=2_000)
    source.map_to(tmp_path / "out.parquet", fitted.component_proba)
    found = pl.read_parquet(tmp_path / "out.parquet").to_numpy()
    np.testing.assert_allclose(found, fitted.component_proba(X, y, groups), atol=1e-12)


def test_map_to_checks_what_it_is_given(rows, tmp_path):
    frame, y = table(*rows), rows[1]
    path = tmp_path / "rows.parquet"
    frame.write_parquet(path)
    fitted = mixture().fit(frame[NAMES], y)
    values = frame["c"].to_list()
    values[3210] = None
    broken = tmp_path / "broken.parquet"
    frame.with_columns(c=pl.Series(values), y=pl.Series([*y[:-1], "perhaps"])).write_parquet(broken)
    out = tmp_path / "out.parquet"
    for call, told in [
        (lambda: scanned(path).map_to(out, lambda X: np.ones(3)), "value must return a value"),
        (lambda: scanned(path).map_to(out, fitted.score), "must return a value"),
        (lambda: scanned(path).map_to(out, fitted.predict, keep="nothing"), "no column 'nothing'"),
        (lambda: scanned(path).map_to(tmp_path, fitted.predict), "is a folder"),
        (lambda: scanned(broken).map_to(out, fitted.predict), r"column 'c' \(row 3,210 of"),
        (lambda: scanned(path).map_to(out, fitted.predict, keep=["y", "who"]), None),
        (lambda: scanned(path).map_to(out, lambda X: X[:, 0]), None),
    ]:
        if told is None:
            call()
            assert len(pl.read_parquet(out)) == 4000
            out.unlink()
            continue
        with pytest.raises(ValueError, match=told) as error:
            call()
        assert "\n" not in str(error.value)
        assert not out.exists()
    whole = frame.with_columns(y=pl.Series([*y[:-1], "perhaps"]))
    whole.write_parquet(broken)
    with pytest.raises(ValueError, match=r"broken.parquet, rows 3,.*'perhaps'"):
        scanned(broken).map_to(out, fitted.component_proba)


def test_places_of_rows_in_groups(tmp_path):
    X, y, _, _ = mixture_rows(3000, 5)
    fitted = mixture().fit(pl.DataFrame(X, schema=NAMES), y)
    X[2345, 2] = np.nan
    groups = np.arange(3000) // 7
    path = tmp_path / "rows.parquet"
    table(X, y, groups, np.ones(3000)).write_parquet(path)
    source = scanned(path, groups="who")
    with pytest.raises(ValueError, match=r"column 'c' \(row 2,345 of"):
        source.map_to(tmp_path / "out.parquet", fitted.component_proba)
