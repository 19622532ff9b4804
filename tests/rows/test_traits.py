"""Membership covariates and known classes: every source gives the fit of the rows in memory."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from spectralmirror import scan
from spectralmirror.rows.grouped import InMemoryGroups
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.traits import TraitSums, check_membership
from tests.helpers.agreement import assert_alike
from tests.helpers.scans import NAMES, SMALL, SOURCES, blocks_of, mixture, table
from tests.helpers.traits import COVARIATES, with_traits


@pytest.fixture(scope="module")
def frame(rows):
    return with_traits(*rows)


@pytest.fixture(scope="module")
def in_memory(frame):
    """The fit in memory, by whether there are weights."""

    def fit(**weights):
        return mixture().fit(
            frame[NAMES], frame["y"], groups=frame["who"], membership=frame[COVARIATES],
            known=frame["class"], **weights,
        )  # fmt: skip

    return {False: fit(), True: fit(sample_weight=frame["w"])}


@pytest.mark.parametrize(("kind", "contiguous"), [("parquet", True), ("csv", False)])
def test_files(kind, contiguous, frame, in_memory, tmp_path):
    rows = frame.sort_values("who", kind="stable") if contiguous else frame
    source = SOURCES[kind](pl.from_pandas(rows), tmp_path)
    roles = {"label": "y", "groups": "who", "membership": COVARIATES, "known": "class"}
    source = scan(source, features=NAMES, block_bytes=SMALL, **roles)
    found = mixture().fit(source)
    assert found.membership_names_in_.tolist() == COVARIATES
    if contiguous:
        expected = mixture().fit(
            rows[NAMES], rows["y"], groups=rows["who"], membership=rows[COVARIATES],
            known=rows["class"],
        )  # fmt: skip
    assert_alike(found, expected if contiguous else in_memory[False])


def test_weights_arrays_and_own_readers(frame, in_memory, tmp_path):
    X, y, who, w, Z, known = (
        frame[name].to_numpy() for name in (NAMES, "y", "who", "w", COVARIATES, "class")
    )
    np.save(tmp_path / "Z.npy", Z)
    arrays = scan(
        X, label=y, groups=who, sample_weight=w, membership=tmp_path / "Z.npy", known=known,
        block_bytes=SMALL,
    )  # fmt: skip
    own = scan(blocks_of([1, 700, 0, 2500, 799], X, y, who, w, Z, known), block_bytes=SMALL)
    expected = mixture().fit(
        X, y, groups=who, sample_weight=w, membership=Z, known=np.nan_to_num(known, nan=-1)
    )
    assert_alike(expected, _without_names(in_memory[True]))
    for source in (arrays, own):
        assert_alike(mixture().fit(source), expected)


def _without_names(fitted):
    vars(fitted).pop("feature_names_in_")
    fitted.membership_names_in_ = np.array(["z0", "z1"], dtype=object)
    return fitted


@pytest.mark.usefixtures("small_samples")
def test_samples_of_scattered_groups_keep_their_traits(frame, tmp_path):
    roles = {"label": "y", "groups": "who", "membership": COVARIATES, "known": "class"}
    path = SOURCES["parquet"](pl.from_pandas(frame), tmp_path)
    found = mixture(n_init=4).fit(scan(path, features=NAMES, block_bytes=SMALL, **roles))
    expected = mixture(n_init=4).fit(
        frame[NAMES], frame["y"], groups=frame["who"], membership=frame[COVARIATES],
        known=frame["class"],
    )  # fmt: skip
    assert_alike(found, expected)


def test_sparse_rows(frame, in_memory):
    found = mixture().fit(
        sparse.csr_array(frame[NAMES].to_numpy()), frame["y"], groups=frame["who"],
        membership=frame[COVARIATES], known=frame["class"],
    )  # fmt: skip
    expected = in_memory[False]
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5)
    np.testing.assert_allclose(found.membership_coef_, expected.membership_coef_, rtol=1e-4)


def test_one_line_for_each_group_or_for_each_row(frame):
    """A frame of all rows with the usual index is not taken for one of groups."""
    groups = frame["who"].to_numpy()
    assert set(groups) <= set(range(len(groups)))
    values, names = check_membership(frame[COVARIATES], len(groups), groups)
    np.testing.assert_array_equal(values, frame[COVARIATES].to_numpy())
    of_groups = frame.groupby("who")[COVARIATES].first().sample(frac=1, random_state=0)
    np.testing.assert_array_equal(check_membership(of_groups, len(groups), groups)[0], values)
    assert names == tuple(COVARIATES)
    alone = np.array(["p", "q", "r"])
    turned = pd.DataFrame({"z": [3.0, 1.0, 2.0]}, index=["r", "p", "q"])
    assert check_membership(turned, 3, alone)[0].ravel().tolist() == [1.0, 2.0, 3.0]


def test_sums_of_parts_are_those_of_all_rows(frame):
    groups = np.sort(frame["who"].to_numpy()).astype(np.uint64)
    Z = 1e6 + frame[COVARIATES].to_numpy()
    rows = Rows(np.ones((len(Z), 1)), np.ones(len(Z)), traits=Z, keys=groups, block_bytes=SMALL)
    total = TraitSums.of(next(InMemoryGroups.of(replace(rows, block_bytes=10**9)).blocks()))
    parts = [TraitSums.of(block) for block in InMemoryGroups.of(rows).blocks()]
    added = sum(parts[1:], parts[0])
    firsts = Z[np.unique(groups, return_index=True)[1]]
    np.testing.assert_allclose(added.mean, firsts.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(added.scale, firsts.std(axis=0), rtol=1e-8)
    np.testing.assert_allclose(added.scatter, total.scatter, rtol=1e-8)
    assert added.n_varying == total.n_varying > 0


def test_predictions_to_a_file_use_its_covariates(frame, in_memory, tmp_path):
    rows = frame.sort_values("who", kind="stable")
    path = SOURCES["parquet"](pl.from_pandas(rows), tmp_path)
    fitted, Z = in_memory[False], rows[COVARIATES]
    turned = {"features": NAMES, "membership": COVARIATES[::-1], "block_bytes": SMALL}
    scan(path, **turned).map_to(tmp_path / "p.parquet", fitted.predict_proba)
    found = pl.read_parquet(tmp_path / "p.parquet")["probability_yes"]
    expected = fitted.predict_proba(rows[NAMES], membership=Z)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    grouped = scan(path, label="y", groups="who", **turned)
    grouped.map_to(tmp_path / "c.parquet", fitted.component_proba)
    found = pl.read_parquet(tmp_path / "c.parquet")["component_1"]
    expected = fitted.component_proba(rows[NAMES], rows["y"], rows["who"], membership=Z)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    scan(path, features=NAMES).map_to(tmp_path / "a.parquet", fitted.predict_proba)
    found = pl.read_parquet(tmp_path / "a.parquet")["probability_yes"]
    np.testing.assert_allclose(found, fitted.predict_proba(rows[NAMES])[:, 1], rtol=1e-9)


@pytest.mark.parametrize("contiguous", [False, True])
def test_groups_that_do_not_agree_are_named(contiguous, frame, tmp_path):
    changed = frame.copy()
    at = changed.index[changed["who"] == 123][-1]
    changed.loc[at, "age"] += 1
    changed = changed.sort_values("who", kind="stable") if contiguous else changed
    source = SOURCES["parquet"](pl.from_pandas(changed), tmp_path)
    source = scan(source, label="y", features=NAMES, groups="who", membership="age")
    with pytest.raises(ValueError, match="they change inside group 123: use one value"):
        mixture().fit(source)


def test_bad_columns(rows, frame, tmp_path):
    path = SOURCES["parquet"](pl.from_pandas(frame.assign(text="-")), tmp_path)

    def refused(match, **columns):
        with pytest.raises(ValueError, match=match):
            mixture().fit(scan(path, label="y", features=NAMES, **columns))

    refused("no column 'agee'; did you mean 'age'", membership=["agee"])
    refused("column 'text' .* holds .*string: encode categories", membership=["text"])
    refused("among membership twice", membership=["age", "age"])
    refused("column 'text' .* holds", known="text")
    refused("'class' has values that are missing", membership=["class"])
    refused("'w' can be only one thing", known="w", sample_weight="w")
    refused("must hold a whole number", known="age")
    X, y, groups, _ = rows
    source = scan(X, label=y, groups=groups, membership=np.ones((3, 2)))
    with pytest.raises(ValueError, match="a line for each of"):
        mixture().fit(source)
    with pytest.raises(ValueError, match="the same columns of membership"):
        mixture().fit(scan([(X[:50], y[:50], None, None, X[:50]), (X[50:], y[50:])]))
    assert len(table(*rows)) == len(frame)
