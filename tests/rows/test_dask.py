"""Dask collections on a real cluster of two processes, one of which is killed."""

import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from spectralmirror import scan
from spectralmirror.rows.memory import Rows
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.scans import NAMES, mirror, mixture
from tests.helpers.traits import COVARIATES, with_traits

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Dask currently has limited support:UserWarning"),
]
CHUNKS = {
    "one": (4000,),
    "two": (1500, 2500),
    "seven": (1, 999, 0, 1000, 500, 1499, 1),
}


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            **options, dashboard_address=None, memory_limit="2GiB", silence_logs=50
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


def lazy(values, chunks):
    return da.from_array(values, chunks=(chunks, -1) if values.ndim == 2 else (chunks,))


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("which", ["", "groups", "weight"])
def test_arrays(chunks, which, rows):
    """By the default scheduler, in threads."""
    X, y, groups, weight = rows
    options = {"": {}, "groups": {"groups": groups}, "weight": {"sample_weight": weight}}[which]
    there = {name: lazy(values, CHUNKS[chunks]) for name, values in options.items()}
    for make in (mirror, mixture):
        found = make().fit(lazy(X, CHUNKS[chunks]), lazy(y, CHUNKS[chunks]), **there)
        assert_alike(found, make().fit(X, y, **options))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("grouped", [False, True])
def test_a_cluster(grouped, rows):
    X, y, groups, _ = rows
    chunks = CHUNKS["seven"]
    for make in (mirror, mixture):
        there = {"groups": lazy(groups, chunks)} if grouped else {}
        found = make().fit(lazy(X, chunks), lazy(y, chunks), **there)
        assert_alike(found, make().fit(X, y, groups=groups if grouped else None))


@pytest.mark.usefixtures("client")
def test_dataframes_and_unknown_chunks(rows):
    X, y, groups, _ = rows
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, who=groups)
    there = dd.from_pandas(frame, npartitions=4)
    expected = mixture().fit(frame[NAMES], y, groups=groups)
    found = mixture().fit(there[NAMES], there["y"], groups=there["who"])
    assert_alike(found, expected)
    assert found.feature_names_in_.tolist() == NAMES
    kept, kept_there = frame[frame["a"] > 0], there[there["a"] > 0]
    matrix, labels = kept_there[NAMES].to_dask_array(), kept_there["y"].to_dask_array()
    assert np.isnan(matrix.shape[0])
    expected = mirror().fit(kept[NAMES].to_numpy(), kept["y"])
    assert_alike(mirror().fit(matrix, labels), expected)
    assert_alike(mirror().fit(matrix, kept["y"].to_numpy()), expected)  # cut where X is
    plane = expected.transform(kept[NAMES].to_numpy())
    np.testing.assert_allclose(expected.transform(matrix).compute(), plane)


@pytest.mark.usefixtures("client")
def test_membership_and_known_classes(rows):
    frame = with_traits(*rows)
    columns = {"groups": "who", "membership": COVARIATES, "known": "class"}
    options = {name: frame[column] for name, column in columns.items()}
    expected = mixture().fit(frame[NAMES], frame["y"], **options)
    chunks = CHUNKS["seven"]
    arrays = {name: lazy(values.to_numpy(), chunks) for name, values in options.items()}
    found = mixture().fit(lazy(frame[NAMES].to_numpy(), chunks), lazy(rows[1], chunks), **arrays)
    assert found.membership_names_in_.tolist() == ["z0", "z1"]
    found.membership_names_in_ = expected.membership_names_in_
    assert_alike(found, expected)
    there = dd.from_pandas(frame, npartitions=3)
    there_too = {name: there[column] for name, column in columns.items()}
    there_too["membership"] = frame.groupby("who")[COVARIATES].first()
    assert_alike(mixture().fit(there[NAMES], there["y"], **there_too), expected)
    P = expected.predict_proba(there[NAMES], membership=there[COVARIATES])
    Z = frame[COVARIATES]
    np.testing.assert_allclose(P.compute(), expected.predict_proba(frame[NAMES], membership=Z))
    who = expected.predict_component(there[NAMES], there["y"], membership=there[COVARIATES])
    alone = expected.predict_component(frame[NAMES], frame["y"], membership=Z)
    np.testing.assert_array_equal(who.compute(), alone)
    changed = frame.assign(age=frame["age"] + 1.0 * (np.arange(len(frame)) == 17))
    there = dd.from_pandas(changed, npartitions=3)
    with pytest.raises(ValueError, match=f"change inside group {frame['who'].iloc[17]}:"):
        mixture().fit(there[NAMES], there["y"], groups=there["who"], membership=there["age"])


class Foreign:
    """A chunk of another sparse package, as the package sparse has them."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.ndim = X, X.shape, X.dtype, 2

    def to_scipy_sparse(self):
        return sparse.coo_matrix(self.X)

    def __array__(self, *_, **__):
        raise RuntimeError("Cannot convert a sparse array to dense automatically.")


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("kind", ["dense", "csr", "coo", "foreign", "frame"])
@pytest.mark.parametrize("wide", [False, True])
def test_wide_and_sparse_chunks(kind, wide, rows):
    """Columns in chunks of their own, and chunks that are sparse."""
    X, y, groups, _ = rows
    X = np.where(np.abs(X) < 0.7, 0, X)
    chunks = ((1500, 2500), (2, 3) if wide else (5,))
    there = da.from_array(X, chunks=chunks)
    if kind == "frame":
        frame = pd.DataFrame(X).astype(pd.SparseDtype(float, 0.0))
        there = dd.from_pandas(frame, npartitions=2)
        chunks = (there.map_partitions(len).compute().tolist(),)
    elif kind == "foreign":
        if wide:
            pytest.skip("Dask joins chunks of types that it knows")
        there = there.map_blocks(Foreign, dtype=X.dtype, meta=np.empty((0, 0)))
    elif kind != "dense":
        of_scipy = "matrix" if wide else "array"  # Dask 2024.8 cannot join sparse arrays
        there = there.map_blocks(getattr(sparse, f"{kind}_{of_scipy}"))
    columns = lazy(y, tuple(chunks[0])), lazy(groups, (1000, 3000))
    if kind == "frame":
        columns = columns[0], lazy(groups, tuple(chunks[0]))
    expected = mixture().fit(X, y, groups=groups)
    found = mixture().fit(there, columns[0], groups=columns[1])
    assert_alike(found, expected)
    assert_alike(mirror().fit(there, columns[0]), mirror().fit(X, y))
    P = expected.predict_proba(there).compute()
    np.testing.assert_allclose(P, expected.predict_proba(X), rtol=1e-12)


def test_joined_columns_make_no_large_chunks(monkeypatch, rows):
    """Rows are divided where columns were; sparse chunks, which are small, stay whole."""
    from spectralmirror.rows.dask_features import whole_rows

    monkeypatch.setattr("spectralmirror.rows.dask_features.CHUNK_BYTES", 8000)
    X = da.from_array(rows[0], chunks=((1500, 0, 2500), (1, 4)))
    found = whole_rows(X)
    assert found.chunks[1] == (5,)
    assert max(found.chunks[0]) * 5 <= 2500 * 4  # no larger than before
    assert sum(found.chunks[0][:2]) == 1500
    np.testing.assert_array_equal(found.compute(), rows[0])
    assert whole_rows(X.map_blocks(sparse.csr_array)).chunks == ((1500, 0, 2500), (5,))
    assert_alike(mirror().fit(X, rows[1]), mirror().fit(*rows[:2]))


@pytest.mark.parametrize(("n", "n_rounds"), [(1, 1), (3, 1), (5, 2), (9, 2), (28, 4)])
def test_rows_are_sent_on_digit_by_digit(n, n_rounds, monkeypatch):
    from spectralmirror.rows import dask_shuffle

    monkeypatch.setattr(dask_shuffle, "MOST_PIECES", 3)
    keys = np.random.default_rng(0).integers(0, 2**63, 700).astype(np.uint64)
    rows = np.column_stack([keys, np.arange(700, dtype=np.uint64)])
    there = [dask.delayed(part) for part in np.array_split(rows, n)]
    joins = []

    def join(*parts):
        joins.append(len(parts))
        return np.concatenate(parts)

    found = dask_shuffle.shuffled(there, lambda part: part[:, 0], lambda p, i: p[i], join)
    found = dask.compute(*found, scheduler="sync")
    assert len(found) == n
    assert max(joins) <= 3
    assert n * n_rounds <= len(joins) <= 3**n_rounds * n_rounds
    for i, part in enumerate(found):
        np.testing.assert_array_equal(part, rows[keys % np.uint64(n) == i])  # in their order


@pytest.mark.usefixtures("client")
def test_scattered_groups_stay_on_the_cluster(monkeypatch):
    """A fit with groups brings sums and samples to the client, and no column of the rows."""
    import spectralmirror.rows.dask

    computed, sizes = spectralmirror.rows.dask._computed, []

    def measured(values):
        found = computed(values)
        sizes.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr("spectralmirror.rows.dask._computed", measured)
    monkeypatch.setattr("spectralmirror.rows.dask_shuffle.MOST_PIECES", 2)
    for module in ("direction", "sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.FIT_ROWS", 500)
    for module in ("sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.GROUPS_TO_FIT", 100)
    X, y, groups, _ = mixture_rows(60_000, 5)
    chunks = (12_000,) * 5
    there = {"groups": da.from_array(groups, chunks=7_000)}
    found = mirror().fit(lazy(X, chunks), lazy(y, chunks), **there)
    assert max(sizes) < 100_000  # where the column of groups alone has 480,000 bytes
    assert_alike(found, mirror().fit(X, y, groups=groups))


def test_predictions_are_lazy(rows):
    X, y, _, _ = rows
    fitted, plane = mixture().fit(X, y), mirror().fit(X, y)
    there, labels = lazy(X, CHUNKS["two"]), lazy(y, (4000,))
    for method, columns in [
        (plane.transform, ()),
        (fitted.predict, ()),
        (fitted.predict_proba, ()),
        (fitted.decision_function, ()),
        (fitted.component_proba, (labels,)),
        (fitted.predict_component, (labels,)),
        (fitted.score_samples, (labels,)),
    ]:
        found = method(there, *columns)
        expected = method(X, *[y for _ in columns])
        assert isinstance(found, da.Array)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(), expected)
    for options in ({"groups": labels}, {"y": labels, "groups": labels}):
        columns = () if "y" in options else (labels,)
        with pytest.raises(ValueError, match="without groups"):
            fitted.component_proba(there, *columns, **options)
    with pytest.raises(ValueError, match="without groups"):
        fitted.component_proba(there, labels, labels)
    by_name = fitted.component_proba(there, y=labels)
    np.testing.assert_array_equal(by_name.compute(), fitted.component_proba(X, y))
    with pytest.raises(NotFittedError):
        mirror().transform(there)


def test_partitions_without_rows_and_values_without_value(rows):
    X, y, _, _ = rows
    frame = pd.DataFrame(X, columns=NAMES)
    there = dd.from_pandas(frame, npartitions=3)
    some = dd.concat([there[there["a"] > 99], there])
    fitted = mixture().fit(frame, y)
    np.testing.assert_array_equal(fitted.predict(some).compute(), fitted.predict(frame))
    nullable = frame.astype("Float64")
    expected = mirror().fit(frame, y, sample_weight=2.0)
    found = mirror().fit(dd.from_pandas(nullable, npartitions=2), y, sample_weight=2.0)
    assert_alike(found, expected)
    nullable.iloc[3000, 2] = pd.NA
    with pytest.raises(ValueError, match=r"NaN in column 'c' \(partition 1"):
        mirror().fit(dd.from_pandas(nullable, npartitions=2), y)
    in_memory = mirror().fit(X, da.from_array(y, chunks=1000))
    assert_alike(in_memory, mirror().fit(X, y))


def test_nothing_as_long_as_the_rows_comes_to_the_client(monkeypatch):
    """What is computed grows with the features, not with the rows."""
    import spectralmirror.rows.dask

    computed = spectralmirror.rows.dask._computed
    sizes = []

    def measured(values):
        found = computed(values)
        sizes.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr("spectralmirror.rows.dask._computed", measured)
    monkeypatch.setattr("spectralmirror.subspace.stacked.direction.FIT_ROWS", 500)
    X, y, _, _ = mixture_rows(60_000, 5)
    mirror().fit(lazy(X, (30_000, 30_000)), lazy(y, (30_000, 30_000)))
    assert len(sizes) == 4
    assert max(sizes) < 100_000  # where X has 2,400,000 bytes: 500 rows of 40, with their labels


def slow(block, folder=None):
    """Take a moment, and leave a trace of it."""
    with open(os.path.join(folder, f"{os.getpid()}-{time.time_ns()}"), "w"):
        pass
    time.sleep(0.05)
    return block


def test_a_worker_that_is_killed(client, rows, tmp_path):
    X, y, _, _ = rows
    chunks = (500,) * 8
    there = lazy(X, chunks).map_blocks(slow, folder=str(tmp_path), dtype=X.dtype)
    killed = []

    def kill():
        while len(list(tmp_path.iterdir())) < 20:  # the third pass over eight chunks
            time.sleep(0.01)
        pids = list(client.run(os.getpid).values())
        os.kill(pids[0], signal.SIGKILL)
        killed.append(pids[0])

    thread = threading.Thread(target=kill)
    thread.start()
    found = mixture().fit(there, lazy(y, chunks))
    thread.join()
    assert killed
    seen = {path.name.split("-")[0] for path in tmp_path.iterdir()} - {str(os.getpid())}
    assert str(killed[0]) in seen
    assert len(seen) == 3  # another worker took its place
    assert_alike(found, mixture().fit(X, y))


@pytest.mark.parametrize("grouped", [False, True])
def test_samples_do_not_depend_on_the_chunks(grouped, monkeypatch):
    for module in ("direction", "sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.FIT_ROWS", 1000)
    for module in ("sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.GROUPS_TO_FIT", 100)
    X, y, groups, _ = mixture_rows(12_000, 4)
    groups = groups if grouped else None
    expected = mirror().fit(X, y, groups=groups)
    for chunks in [(12_000,), (5000, 7000), (1, 999, 0, 3000, 8000)]:
        there = {"groups": lazy(groups, chunks)} if grouped else {}
        assert_alike(mirror().fit(lazy(X, chunks), lazy(y, chunks), **there), expected)


def test_dask_knows_how_large_rows_are(rows):
    from dask.sizeof import sizeof

    import spectralmirror.rows.dask  # noqa: F401

    X, y, groups, _ = rows
    keyed = Rows(X, np.ones(len(y)), keys=groups.astype(np.uint64))
    assert X.nbytes < sizeof(keyed) < 2 * X.nbytes


def test_bad_use_is_reported(rows):
    X, y, _, _ = rows
    missing = X.copy()
    missing[3000, 2] = np.nan
    there, labels = lazy(X, CHUNKS["two"]), lazy(y, CHUNKS["two"])
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(y=y), npartitions=2)
    unknown = frame[NAMES].to_dask_array()
    for call, told in [
        (lambda: mirror().fit(there), "requires y to be passed"),
        (lambda: mirror().fit(lazy(missing, (1500, 2500)), labels), "column 2 .partition 1."),
        (lambda: mirror().fit(there, labels[:3000]), "X has 4000 rows but y has 3000"),
        (lambda: mirror().fit(unknown, labels[:3000]), "partition them alike"),
        (lambda: mirror().fit(unknown, lazy(y, (4000,))), "X has 2 partitions but y has 1"),
        (lambda: mirror().fit(there, y[:7]), "X has 4000 rows but y has 7"),
        (lambda: mirror().fit(frame, labels), "column 'y' holds str"),
        (lambda: mirror().fit(there[:, 0], labels), "Expected 2D array"),
        (lambda: mirror().fit(there.astype(complex), labels), "X must hold numbers"),
        (lambda: mirror().fit(there, da.stack([labels, labels], axis=1)), "y has shape"),
        (lambda: mirror().fit(there, lazy(np.ones(4000), (1500, 2500))), "only one class"),
    ]:
        with pytest.raises(ValueError, match=told) as error:
            call()
        assert "\n" not in str(error.value)


def test_a_scan_and_a_cluster_agree(rows):
    X, y, _, _ = rows
    found = mirror().fit(lazy(X, CHUNKS["seven"]), lazy(y, CHUNKS["seven"]))
    assert_alike(found, mirror().fit(scan([(X[:70], y[:70]), (X[70:], y[70:])])))
    assert found.n_scans_ == 4
