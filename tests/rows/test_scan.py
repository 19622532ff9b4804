"""Rows that are read when they are needed: the same answer as in memory, from any kind of file."""

import gzip
import shutil
import warnings
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import spectralmirror
from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
    scan,
)
from spectralmirror.rows.hashing import group_keys
from spectralmirror.rows.memory import Rows
from spectralmirror.rows.partitioned_groups import ContiguousGroups, SpilledGroups
from spectralmirror.rows.reduce import reduce
from spectralmirror.subspace.moments import LabelledMoments
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.rows import in_groups

NAMES = ["a", "b", "c", "d", "e"]
SMALL = 8_000  # bytes: blocks of 200 rows
mirror = partial(SpectralMirror, 2, random_state=0)
mixture = partial(LinearClassifierMixture, 2, random_state=0)


def table(X, y, groups, weight):
    columns = {"y": y, "who": groups, "w": weight, "text": np.array(["-"] * len(y))}
    return pl.DataFrame(X, schema=NAMES[: X.shape[1]]).with_columns(**columns)


def to_parquet(frame, folder):
    for i, (start, n) in enumerate([(0, 1), (1, 1500), (1501, 0), (1501, 10_000)]):
        part = frame[start : start + n]
        pq.write_table(part.to_arrow(), folder / f"part-{i}.parquet", row_group_size=333)
    return str(folder / "part-*.parquet")


def to_csv_gz(frame, folder):
    with gzip.open(folder / "rows.csv.gz", "wb") as file:
        file.write(frame.write_csv().encode())
    return folder / "rows.csv.gz"


def written(method, name):
    def write(frame, folder):
        getattr(frame, method)(folder / name)
        return folder / name

    return write


def to_dataset(frame, folder):
    to_parquet(frame, folder)
    return pyarrow.dataset.dataset(folder, format="parquet")


SOURCES = {
    "parquet": to_parquet,
    "arrow": written("write_ipc", "rows.arrow"),
    "csv": written("write_csv", "rows.csv"),
    "csv.gz": to_csv_gz,
    "folder": lambda frame, folder: (to_parquet(frame, folder), folder)[1],
    "lazy": lambda frame, folder: frame.lazy(),
    "dataset": to_dataset,
    "table": lambda frame, folder: frame.to_arrow(),
}


def scanned(path, **columns):
    return scan(path, label="y", features=NAMES, block_bytes=SMALL, **columns)


def blocks_of(sizes, X, *columns):
    """Return a reader of one's own that yields parts of these sizes."""
    ends = np.cumsum(sizes)

    def read():
        for start, end in zip(ends - sizes, ends, strict=True):
            yield (X[start:end], *(None if c is None else c[start:end] for c in columns))

    return read


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


# ---------------------------------------------------------------- the same answer


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("which", ["", "groups", "weight"])
def test_every_kind_of_file(kind, which, rows, expected, tmp_path):
    source = SOURCES[kind](table(*rows), tmp_path)
    columns = {"": {}, "groups": {"groups": "who"}, "weight": {"sample_weight": "w"}}[which]
    for make in (mirror, mixture):
        found = make().fit(scanned(source, **columns))
        assert_alike(found, expected[make, which])
        assert found.feature_names_in_.tolist() == NAMES
        assert 4 < found.n_scans_ < 60


def test_arrays_on_disk(rows, tmp_path):
    X, y, groups, weight = rows
    paths = {}
    for name, values in {"X": X, "y": y, "groups": groups, "weight": weight}.items():
        paths[name] = tmp_path / f"{name}.npy"
        np.save(paths[name], values)
    options = {"groups": paths["groups"], "sample_weight": paths["weight"], "block_bytes": SMALL}
    found = mixture().fit(scan(paths["X"], label=paths["y"], **options))
    assert_alike(found, mixture().fit(X, y, groups=groups, sample_weight=weight))
    mapped = np.load(paths["X"], mmap_mode="r")
    assert_alike(mirror().fit(scan(mapped, label=y)), mirror().fit(X, y))


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": "auto"},
        {"elliptical": True},
        {"method": "paper"},
        {"method": "paper", "n_components": "auto"},
        {"method": "paper", "include_mirror_direction": True},
        {"mean": 0.0, "covariance": np.eye(5)},
        {"mean": 0.0, "covariance": np.eye(5), "method": "paper"},
        {"mean": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_way_to_find_the_subspace(options, weighted, rows):
    X, y, _, weight = rows
    weight = weight + 0.25 if weighted else None  # no counts
    source = scan(blocks_of([1, 700, 0, 2500, 799], X, y, None, weight), block_bytes=SMALL)
    estimator = SpectralMirror(**{"n_components": 2, "random_state": 0, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        found = estimator.fit(source)
        in_memory = clone(estimator).fit(X, y, sample_weight=weight)
    assert_alike(found, in_memory)


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": "auto"},
        {"n_components": 3},
        {"refine": False},
        {"subspace": None},
        {"subspace": SpectralMirror(3)},
        {"solver": "em", "tol": 0.1},
        {"response": "probit"},
        {"response": "hard"},
        {"fit_intercept": False},
        {"init": "random", "n_init": 3},
        {"init": np.eye(2, 5)},
    ],
    ids=str,
)
@pytest.mark.parametrize("grouped", [False, True])
def test_every_way_to_fit_a_mixture(options, grouped, rows):
    X, y, groups, _ = (part[:1500] for part in rows)
    groups = groups if grouped else None
    source = scan(blocks_of([400, 1, 1099], X, y, groups), block_bytes=SMALL)
    estimator = LinearClassifierMixture(**{"n_components": 2, "random_state": 0, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimator.fit(source)
        in_memory = clone(estimator).fit(X, y, groups=groups)
    assert_alike(found, in_memory)


@pytest.mark.parametrize("target", ["labels", "residuals"])
def test_principal_hessian_directions(target, rows):
    X, y, _, _ = rows
    source = scan(blocks_of([1000, 3000], X + 1, y), block_bytes=SMALL)
    found = PrincipalHessianDirections(2, target=target).fit(source)
    assert_alike(found, PrincipalHessianDirections(2, target=target).fit(X + 1, y))


def test_single_precision_and_far_means(rows):
    """float32 blocks are summed in another order: the last digits of single precision differ."""
    X, y, _, _ = rows
    for part in (X.astype(np.float32), X + 1e6):
        found = mirror().fit(scan(blocks_of([900, 3100], part, y)))
        in_memory = mirror().fit(part, y)
        np.testing.assert_allclose(found.components_, in_memory.components_, atol=1e-6)


def test_files_have_the_blocks_of_memory_to_the_last_bit(rows, tmp_path):
    X, y, _, _ = rows
    source = scanned(to_parquet(table(*rows), tmp_path))
    by_default = scan(source.parts.readers[1].path.parent, label="y", features=NAMES)
    found, in_memory = mirror().fit(by_default), mirror().fit(X, y)
    np.testing.assert_array_equal(found.components_, in_memory.components_)


# ---------------------------------------------------------------- any partitioning


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_any_partitioning(sizes, grouped, weighted):
    X, y, groups, weight = mixture_rows(600, 3)
    sizes = np.diff(np.minimum(np.cumsum([0, *sizes, 10_000]), 600))
    groups, weight = groups if grouped else None, weight if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        found = mirror().fit(scan(blocks_of(sizes, X, y, groups, weight), block_bytes=2_000))
        in_memory = mirror().fit(X, y, groups=groups, sample_weight=weight)
    assert_alike(found, in_memory)


@pytest.mark.parametrize("grouped", [False, True])
def test_one_row_a_part_and_parts_of_one_class(grouped):
    X, y, groups, _ = mixture_rows(400, 3)
    order = np.argsort(y, kind="stable")
    X, y, groups = X[order], y[order], groups[order] if grouped else None
    in_memory = mixture().fit(X, y, groups=groups)
    for sizes in (np.ones(400, dtype=int), [100, 0, 200, 100]):
        assert_alike(mixture().fit(scan(blocks_of(sizes, X, y, groups))), in_memory)


@pytest.fixture
def small_samples(monkeypatch):
    """Let samples be a small part of few rows."""
    for module in ("method", "sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.FIT_ROWS", 1000)
    for module in ("sign_flips", "gauss_newton"):
        monkeypatch.setattr(f"spectralmirror.subspace.stacked.{module}.GROUPS_TO_FIT", 100)
    monkeypatch.setattr("spectralmirror.mixture.fitting.LEAST_ROWS", 1000)
    monkeypatch.setattr("spectralmirror.mixture.fitting.ROWS_A_PARAMETER", 50)
    monkeypatch.setattr("spectralmirror.mixture.fitting.SAMPLE_BYTES", 200_000)
    monkeypatch.setattr("spectralmirror.mixture.inference.MOST_ROWS", 2000)
    monkeypatch.setattr("spectralmirror.mixture.inference.GROUPS_A_COMPONENT", 100)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_do_not_depend_on_the_partitioning(grouped, weighted):
    X, y, groups, weight = mixture_rows(12_000, 4, profile_norm=4.0)
    groups, weight = groups if grouped else None, weight if weighted else None
    for make in (mirror, mixture):
        in_memory = make().fit(X, y, groups=groups, sample_weight=weight)
        for sizes in ([12_000], [5000, 7000], [1, 999, 2000, 0, 3000, 5999, 1]):
            found = make().fit(scan(blocks_of(sizes, X, y, groups, weight), block_bytes=SMALL))
            assert_alike(found, in_memory)
            if make is mixture:
                assert [s.kind for s in found.starts_] == [s.kind for s in in_memory.starts_]


@pytest.mark.usefixtures("small_samples")
def test_samples_are_samples():
    """Starts and polynomials come from some of the rows, and another seed takes other rows."""
    X, y, _, _ = mixture_rows(12_000, 4)
    a, b = (LinearClassifierMixture(2, random_state=s).fit(X, y) for s in (0, 1))
    assert a.starts_[0].objective != b.starts_[0].objective
    assert a.starts_[0].objective > 0.5 * a.objective_  # both negative: of fewer rows
    np.testing.assert_allclose(a.coef_, b.coef_, atol=0.02 * np.abs(a.coef_).max())


@pytest.mark.parametrize("by", ["label", "group", "feature"])
def test_rows_sorted_on_disk(by, rows, tmp_path):
    X, y, groups, weight = rows
    order = np.argsort({"label": y, "group": groups, "feature": X[:, 0]}[by], kind="stable")
    frame = table(X[order], y[order], groups[order], weight[order])
    frame.write_parquet(tmp_path / "sorted.parquet")
    source = scanned(tmp_path / "sorted.parquet", groups="who")
    found = mixture().fit(source)
    np.testing.assert_allclose(found.coef_, mixture().fit(X, y, groups=groups).coef_, atol=1e-6)
    if by != "group":
        with pytest.warns(WeakSignalWarning, match="shuffle rows that are sorted"):
            SpectralMirror(2, method="paper").fit(scanned(tmp_path / "sorted.parquet"))


def test_groups_that_follow_each_other_are_not_moved(rows, tmp_path):
    X, y, groups, weight = rows
    order = np.argsort(groups, kind="stable")
    for name, index, kind in (
        ("sorted", order, ContiguousGroups),
        ("mixed", slice(None), SpilledGroups),
    ):
        frame = table(X[index], y[index], groups[index], weight[index])
        frame.write_parquet(tmp_path / f"{name}.parquet")
        rowset, _ = scanned(tmp_path / f"{name}.parquet", groups="who").grouped_rows()
        assert isinstance(rowset.partitions, kind)
        sizes = [block.sizes for block in rowset.blocks()]
        assert len(sizes) > 3
        np.testing.assert_array_equal(np.concatenate(sizes), 4)


def test_groups_of_one_row_change_nothing(rows):
    X, y, _, _ = rows
    alone = scan(blocks_of([4000], X, y, np.arange(4000)))
    assert_alike(mirror().fit(alone), mirror().fit(X, y))


def test_groups_by_name(rows, tmp_path):
    X, y, groups, weight = rows
    frame = table(X, y, groups, weight).with_columns(who=pl.col("who").cast(str) + "é")
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.with_columns(who=pl.col("who").cast(pl.Categorical)).write_ipc(tmp_path / "rows.arrow")
    expected = mirror().fit(X, y, groups=frame["who"].to_list())
    for name in ("rows.parquet", "rows.arrow"):
        found = mirror().fit(scanned(tmp_path / name, groups="who"))
        np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)


# ---------------------------------------------------------------- one's own loop


def test_moments_of_one_s_own_loop(rows):
    X, y, _, _ = rows
    moments = sum(
        (FeatureMoments.from_rows(X[i : i + 700]) for i in range(700, 4000, 700)),
        FeatureMoments.from_rows(X[:700]),
    )
    whole = FeatureMoments.from_rows(X)
    np.testing.assert_allclose(moments.scatter, whole.scatter, atol=1e-9)
    found = SpectralMirror(2, moments=moments, random_state=0).fit(X, y)
    known = SpectralMirror(2, moments=whole, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.components_, known.components_, atol=1e-10)


def test_an_object_that_can_be_iterated_over_again(rows):
    X, y, _, _ = rows

    class Blocks:
        def __iter__(self):
            return iter([(X[:1000], y[:1000]), (X[1000:], y[1000:])])

    assert_alike(mirror().fit(scan(Blocks())), mirror().fit(X, y))
    with pytest.raises(ValueError, match="pass the function that makes it"):
        scan(iter(Blocks()))


# ---------------------------------------------------------------- writing


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


def test_map_to_wants_groups_together(rows, tmp_path):
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


# ---------------------------------------------------------------- what is read


def test_only_needed_columns_are_read(rows, tmp_path):
    """A column that is damaged does no harm to a fit without it."""
    path = damaged(rows, tmp_path, "w")
    mirror().fit(scanned(path))
    with pytest.raises(ValueError, match="column 'w' cannot be read in rows 2,000 to 2,999"):
        mirror().fit(scanned(path, sample_weight="w"))


def test_extras_are_imported_only_when_used():
    import subprocess
    import sys

    program = (
        "import sys, spectralmirror, numpy as np\n"
        "spectralmirror.SpectralMirror(1).fit(np.random.randn(50, 2), np.arange(50) % 2)\n"
        "for name in ('dask', 'pyspark', 'polars', 'spectralmirror.rows.files.scan'):\n"
        "    assert name not in sys.modules, name\n"
        "from spectralmirror import scan\n"
        "sys.modules['pyspark'] = None\n"
        "import spectralmirror.spark\n"
        "try:\n"
        "    spectralmirror.spark.scan(None, label='y')\n"
        "except ImportError as error:\n"
        "    assert 'spectralmirror[spark]' in str(error)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program])
    assert done.returncode == 0


# ---------------------------------------------------------------- faults


def damaged(rows, folder, column, group=2):
    """Write a file and flip bytes of one column in one row group."""
    path = folder / "damaged.parquet"
    written = table(*rows).to_arrow()
    pq.write_table(written, path, row_group_size=1000, write_page_checksum=True)
    metadata = pq.ParquetFile(path).metadata
    place = {metadata.schema.column(i).name: i for i in range(metadata.num_columns)}[column]
    chunk = metadata.row_group(group).column(place)
    with path.open("r+b") as file:
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        file.seek(start + chunk.total_compressed_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 0xFF]))
    return path


def test_a_damaged_row_group(rows, tmp_path):
    path = damaged(rows, tmp_path, "c")
    with pytest.raises(ValueError, match="damaged") as error:
        mixture().fit(scanned(path))
    told = str(error.value)
    assert told.startswith(f"{path} is damaged: column 'c' cannot be read in rows 2,000 to 2,999")
    assert "\n" not in told
    fitted = mirror().fit(pl.DataFrame(rows[0], schema=NAMES), rows[1])
    (tmp_path / "out.parquet").write_text("what was there before")
    with pytest.raises(ValueError, match="damaged"):
        scanned(path).map_to(tmp_path / "out.parquet", fitted.transform)
    assert (tmp_path / "out.parquet").read_text() == "what was there before"
    assert not list(tmp_path.glob(".unfinished*"))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.csv", "rows.csv.gz"])
def test_files_that_are_something_else(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"\x00nonsense" * 50)
    with pytest.raises(ValueError, match=str(path)) as error:
        mirror().fit(scan(path, label="y"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv.gz"])
def test_files_that_end_too_early(kind, rows, tmp_path):
    path = SOURCES[kind](table(*rows), tmp_path)
    path = tmp_path / "part-3.parquet" if kind == "parquet" else path
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(ValueError, match=str(path)) as error:
        mirror().fit(scanned(tmp_path if kind == "parquet" else path))
    assert "\n" not in str(error.value)


def test_a_file_with_other_columns_or_types(rows, tmp_path):
    frame = table(*rows)
    frame[:2000].write_parquet(tmp_path / "1.parquet")
    other = tmp_path / "2.parquet"
    for part, told in [
        (frame[2000:].rename({"c": "cc"}), f"{other} has no column 'c'; did you mean 'cc'"),
        (frame[2000:].with_columns(c=pl.lit("x")), f"column 'c' of {other} holds"),
        (frame[2000:].with_columns(y=pl.lit(1)), f"Column 'y' holds int32 in {other}"),
    ]:
        part.write_parquet(other)
        with pytest.raises(ValueError, match=r"2\.parquet") as error:
            scanned(tmp_path)
        assert told in str(error.value)
        assert "\n" not in str(error.value)


def vanishing(rows, folder, act):
    """Return a source on one of whose files something is done after the first pass."""
    to_parquet(table(*rows), folder)
    source = scanned(folder)
    rowset, _ = source.grouped_rows()
    reduce(rowset.rows, LabelledMoments.of)
    act(folder / "part-3.parquet")
    return rowset.rows


def test_a_file_that_vanishes_between_passes(rows, tmp_path):
    source = vanishing(rows, tmp_path, lambda path: path.unlink())
    with pytest.raises(FileNotFoundError, match=r"part-3\.parquet is gone"):
        reduce(source, LabelledMoments.of)


def test_a_file_that_changes_between_passes(rows, tmp_path):
    longer = lambda path: shutil.copy(path.parent / "part-1.parquet", path)  # noqa: E731
    source = vanishing(rows, tmp_path, longer)
    with pytest.raises(ValueError, match=r"part-3\.parquet has changed since it was scanned"):
        reduce(source, LabelledMoments.of)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_value_that_is_missing(kind, value, rows, tmp_path):
    X, y, groups, weight = rows
    frame = table(X, y, groups, weight)
    values = frame["c"].to_list()
    values[2345] = value
    path = SOURCES[kind](frame.with_columns(c=pl.Series(values)), tmp_path)
    what = "infinity" if value == np.inf else "NaN"
    with pytest.raises(ValueError, match=f"contains {what} in column 'c'") as error:
        mixture().fit(scanned(path))
    # row 2,345 is row 844 of the fourth file, and blocks have 200 rows
    place = "part-3.parquet, rows 699 to 898" if kind == "parquet" else "rows 2,200 to 2,399"
    assert place in str(error.value)
    assert f"{tmp_path}" in str(error.value)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("y", None, "missing label"),
        ("y", "maybe", "y has 3 different values"),
        ("who", None, "groups has missing values"),
        ("w", -1.0, "must be finite and not negative, but is -1.0"),
        ("w", None, "must be finite and not negative, but is nan"),
    ],
)
def test_labels_groups_and_weights_that_cannot_be(column, value, told, rows, tmp_path):
    frame = table(*rows)
    values = frame[column].to_list()
    values[3000] = value
    path = to_parquet(frame.with_columns(pl.Series(column, values)), tmp_path)
    with pytest.raises(ValueError, match=told) as error:
        mirror().fit(scanned(path, groups="who", sample_weight="w"))
    assert "\n" not in str(error.value)
    assert "part-3.parquet" in str(error.value) or value == "maybe"


# ---------------------------------------------------------------- bad use


def test_bad_use(rows, tmp_path):
    X, y, groups, _ = rows
    path = tmp_path / "rows.parquet"
    table(*rows).write_parquet(path)
    for call, told in [
        (lambda: scan(path, label="yy"), "has no column 'yy'; did you mean 'y'"),
        (lambda: scan(path, label="y", features=["a", "text"]), "column 'text' of .* holds"),
        (lambda: scan(path, label="y", features=["a", "y"]), "'y' can be only one thing"),
        (lambda: scan(path, label="y", features=[]), "has no column of numbers"),
        (lambda: scan(path, label="y", block_bytes=0), "block_bytes must be a whole number"),
        (lambda: scan(tmp_path / "rows.xlsx", label="y"), "no file"),
        (lambda: scan(str(tmp_path / "*.csv"), label="y"), "no file"),
        (lambda: scan(3, label="y"), "cannot read int"),
        (lambda: scan([(X, y)], label="y"), "yields .* itself"),
        (lambda: scan(3), "cannot read int"),
        (lambda: scan([(X, y, groups, None, 1)]), "yields tuples"),
        (lambda: scan([]), "no rows"),
        (lambda: mirror().fit(scan([(X, y[:5])])), "has 4000 rows in block 0 but y has"),
        (lambda: mirror().fit(scan([(X, y), (X[:, :3], y)])), "3 features in block 1, but 5"),
        (lambda: mirror().fit(scan([(X[:0], y[:0])])), "There are no rows"),
        (lambda: mirror().fit(scan([(X, np.ones(4000))])), "only one class"),
        (lambda: mirror().fit(scan(path, label="y"), y), "belong to the scan"),
        (lambda: SpectralMirror(9).fit(scan(path, label="y")), "must not exceed the number of"),
        (
            lambda: SpectralMirror(
                method="paper", mean=0.0, covariance=np.eye(5), eigen_solver="lanczos"
            ).fit(scan([(X, y)])),
            "needs them in memory",
        ),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=told) as error:
            call()
        assert "\n" not in str(error.value)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ValueError, match=r"notes.txt is not of a kind that can be read"):
        scan(tmp_path / "notes.txt", label="y")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="is a folder without a file"):
        scan(tmp_path / "empty", label="y")


def test_features_are_all_other_numbers(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    table(*rows).write_parquet(path)
    assert scan(path, label="y", groups="who", sample_weight="w").feature_names == NAMES
    assert scan(path, label="y").feature_names == [*NAMES, "who", "w"]
    assert spectralmirror.scan is scan


def test_whole_numbers_that_others_follow(tmp_path):
    """The type of a column of text is not what its first megabyte looks like."""
    path = tmp_path / "rows.csv"
    n = 300_000
    a = ["1", "2"] * (n // 2)
    a[-1] = "2.5"
    lines = [f"{v},{i % 7},{i % 2}" for i, v in enumerate(a)]
    path.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    assert pa.types.is_integer(scan(path, label="y").parts.readers[0].types["a"])
    rowset, _ = scan(path, label="y").grouped_rows()
    found = reduce(rowset.rows, LabelledMoments.of).features
    assert found.weight == n
    assert found.mean[0] == pytest.approx((1.5 * n + 0.5) / n, abs=1e-12)


# ---------------------------------------------------------------- what has been wrong before


def assert_grouped_alike(groups, n=1500):
    """Fit rows in small blocks, and compare with memory."""
    X, y, _, _ = mixture_rows(n, 4, group_size=5)
    found = mixture().fit(scan(blocks_of([n // 3, n - n // 3], X, y, groups), block_bytes=2_000))
    np.testing.assert_allclose(found.coef_, mixture().fit(X, y, groups=groups).coef_, atol=1e-6)


@pytest.mark.parametrize(
    "last",
    [0.5, 2.0**62, -0.0, 1e300],
)
def test_the_key_of_a_group_is_that_of_its_value(last):
    """Whole numbers are hashed alike, whatever else is in their block."""
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(300.0), 5))
    groups[-1] = last
    assert_grouped_alike(groups)
    keys = group_keys(np.array([3.0, last]))
    assert keys[0] == group_keys(np.array([3]))[0] == group_keys(np.array([3], dtype=object))[0]
    assert group_keys(np.array([0.0]))[0] == group_keys(np.array([-0.0]))[0]


def test_groups_by_object_and_day():
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(300), 5))
    assert_grouped_alike(groups.astype(object))
    assert_grouped_alike(groups.astype("datetime64[D]"))
    assert_grouped_alike(np.array([f"{g}é" for g in groups], dtype=object))


def test_map_to_judges_groups_whole_where_some_rows_weigh_nothing(tmp_path):
    X, y, _, _ = mixture_rows(1500, 4)
    groups, weight = np.repeat(np.arange(300), 5), np.zeros(1500)
    weight[700:] = np.random.default_rng(0).random(800) < 0.6
    fitted = mixture().fit(X, y)
    source = scan(X, label=y, groups=groups, sample_weight=weight, block_bytes=2_000)
    source.map_to(tmp_path / "out.parquet", fitted.component_proba)
    found = pl.read_parquet(tmp_path / "out.parquet").to_numpy()
    np.testing.assert_allclose(found, fitted.component_proba(X, y, groups), atol=1e-12)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_numbers_in_csv_stay_what_they_are(separator, tmp_path):
    X, y, _, _ = mixture_rows(1500, 5)
    ids = 2**60 + np.arange(1500) // 5
    frame = pl.DataFrame(X, schema=NAMES).with_columns(y=np.where(y == "yes", 1, 0), id=ids)
    path = tmp_path / "ids.csv"
    frame.write_csv(path, separator=separator)
    source = scan(path, label="y", features=NAMES, groups="id", block_bytes=SMALL)
    fitted = mixture().fit(source)
    assert fitted.classes_.dtype.kind == "i"
    assert_alike(fitted, mixture().fit(frame[NAMES], frame["y"], groups=ids))
    source.map_to(tmp_path / "out.parquet", fitted.predict, keep=["id"])
    assert pl.read_parquet(tmp_path / "out.parquet")["id"].to_list() == ids.tolist()


def test_missing_text_in_csv_is_missing(tmp_path):
    lines = ["a,y,who", *(f"{i % 13},{['yes', ''][i % 2]},x" for i in range(60))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"missing label\) in row 1 of"):
        SpectralMirror(1).fit(scan(tmp_path / "rows.csv", label="y"))
    source = scan(tmp_path / "rows.csv", label="who", features="a", groups="y")
    with pytest.raises(ValueError, match="groups has missing values"):
        SpectralMirror(1).fit(source)


def test_a_csv_without_rows_and_one_that_begins_with_nothing(rows, tmp_path):
    frame = table(*rows)
    frame[:0].write_csv(tmp_path / "0.csv")
    frame.with_columns(c=pl.Series([None] * 3500 + frame["c"].to_list()[3500:])).write_csv(
        tmp_path / "1.csv"
    )
    assert scan(tmp_path, label="y", groups="who", sample_weight="w").feature_names == NAMES
    with pytest.raises(ValueError, match="NaN in column 'c'"):
        mirror().fit(scan(tmp_path, label="y", features=NAMES))


def test_folders_without_what_is_hidden(rows, tmp_path):
    frame = table(*rows)
    frame.write_parquet(tmp_path / "a[1].parquet")
    for name in (".checkpoints/a.parquet", "_temporary/b.parquet", ".c.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        frame.write_parquet(tmp_path / name)
    assert [reader.path.name for reader in scanned(tmp_path).parts.readers] == ["a[1].parquet"]
    assert scanned(tmp_path / "a[1].parquet").feature_names == NAMES
    (tmp_path / "nowhere.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        scanned(tmp_path / "nowhere.parquet")


@pytest.mark.parametrize("weight", [[1e-60, 1.5], [1e300, 2e300], [1e-300, 3e-300], [1e-9, 1e9]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_far_from_one(weight, dtype):
    X, y, groups, _ = mixture_rows(1500, 3)
    X, weight = X.astype(dtype), np.resize(weight, 1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        in_memory = mirror().fit(X, y, groups=groups, sample_weight=weight)
        blocks = blocks_of([700, 800], X, y, groups, weight)
        found = mirror().fit(scan(blocks, block_bytes=2_000))
    tol = 1e-8 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found.components_, in_memory.components_, atol=tol)


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_categories_that_fill_their_type():
    X, y, _, _ = mixture_rows(1280, 3)
    names = [f"c{i}" for i in range(128)]
    who = pa.DictionaryArray.from_arrays(pa.array(np.arange(1280) % 128, pa.int8()), names)
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    whole = pa.table({**columns, "y": y, "who": who})
    found = mirror().fit(scan(whole, label="y", groups="who"))
    expected = mirror().fit(X, y, groups=[names[i % 128] for i in range(1280)])
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)


def test_blocks_of_one_s_own_that_do_not_fit_together():
    X, y, groups, weight = mixture_rows(600, 3)
    first, rest = slice(0, 300), slice(300, 600)
    for second, told in [
        ((X[rest], (y[rest] == "yes").astype(int)), "y holds int64 in block 1, but <U3"),
        ((X[rest], y[rest], groups[rest]), "do not both have groups"),
        ((X[rest], y[rest], None, weight[rest]), "do not both have weight"),
    ]:
        with pytest.raises(ValueError, match=told):
            mirror().fit(scan([(X[first], y[first]), second]))
    with pytest.raises(ValueError, match="X is float64 in block 1, but float32"):
        mirror().fit(scan([(X[first].astype(np.float32), y[first]), (X[rest], y[rest])]))


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
        (lambda: scanned(broken).map_to(out, fitted.predict), "column 'c', row 3,210 of"),
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


def test_frames_and_batches_in_memory(rows):
    frame = table(*rows)
    expected = mirror().fit(frame[NAMES], rows[1])
    for source in (frame, frame.to_pandas(), frame.to_arrow().to_batches()[0], frame.lazy()):
        assert_alike(mirror().fit(scanned(source)), expected)
    for wrong in (frame["a"], pa.array([1, 2]), {"a": 1}, None, b"rows.parquet"):
        with pytest.raises(ValueError, match="scan cannot read"):
            scan(wrong, label="y")
    with pytest.raises(ValueError, match="the LazyFrame cannot be collected"):
        mirror().fit(scan(frame.lazy().with_columns(pl.col("a").str.head(1)), label="y"))
    with pytest.raises(ValueError, match="two columns named 'a'"):
        scan(pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["a", "a", "y"]), label="y")


def test_rows_with_gaps_between_them(rows):
    X, y, _, _ = rows
    wide = np.column_stack([X, np.ones(len(X))])
    for make in (mirror, mixture):
        assert_alike(make().fit(wide[:, :-1], y), make().fit(X, y))


def test_a_sample_of_a_sample_of_groups():
    X, y, _, _ = mixture_rows(8000, 2)
    rowset = in_groups(Rows(X, np.where(y == "yes", 1.0, -1.0)), np.repeat(np.arange(2000), 4))
    large = rowset.sample(2000, 0, seed=0)
    small = large.sample(400, 0, seed=1)
    # 500 of 2,000 groups, and 100 of those: within four standard deviations
    assert abs(len(large.sizes) - 500) < 4 * np.sqrt(2000 * 0.25 * 0.75)
    assert abs(len(small.sizes) - 0.2 * len(large.sizes)) < 4 * np.sqrt(500 * 0.2 * 0.8)


def test_few_large_groups_stay_out_of_memory(monkeypatch):
    """However many groups are asked for, a sample is bounded, and never empty."""
    monkeypatch.setattr("spectralmirror.rows.grouped.SAMPLE_BYTES", 10_000)  # 625 rows
    X, y, _, _ = mixture_rows(8000, 2)
    groups = np.arange(8000) % 40
    rowset, _ = scan(blocks_of([3000, 5000], X, y, groups)).grouped_rows()
    drawn = rowset.draw(100, 1000, seed=0)
    assert 200 <= drawn.n_present <= 2000  # three of 40 groups are expected
    in_memory = in_groups(Rows(X, np.where(y == "yes", 1.0, -1.0)), group_keys(groups))
    np.testing.assert_array_equal(drawn.rows.keys, in_memory.draw(100, 1000, seed=0).rows.keys)


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
def test_whole_numbers_of_any_length_name_groups():
    X, y, _, _ = mixture_rows(600, 3)
    groups = np.arange(600) // 4
    names = [int(g) + 2**70 for g in groups]
    found, expected = mirror().fit(X, y, groups=names), mirror().fit(X, y, groups=groups)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)


def test_groups_of_one_row_that_counts(rows):
    """A second row of weight 0 is no company."""
    X, y, _, _ = rows
    groups, weight = np.arange(4000), np.ones(4000)
    groups[1], weight[1] = 0, 0
    found = mixture().fit(scan([(X, y, groups, weight)]))
    assert_alike(found, mixture().fit(X, y, groups=groups, sample_weight=weight))


def test_a_file_that_grows_between_passes(rows, tmp_path):
    def grow(path):
        frame = pl.read_parquet(path)
        pl.concat([frame, frame]).write_parquet(path)

    source = vanishing(rows, tmp_path, grow)
    with pytest.raises(ValueError, match=r"part-3\.parquet has changed since it was scanned"):
        reduce(source, LabelledMoments.of)


def test_places_of_rows_in_groups(tmp_path):
    X, y, _, _ = mixture_rows(3000, 5)
    fitted = mixture().fit(pl.DataFrame(X, schema=NAMES), y)
    X[2345, 2] = np.nan
    groups = np.arange(3000) // 7
    path = tmp_path / "rows.parquet"
    table(X, y, groups, np.ones(3000)).write_parquet(path)
    source = scanned(path, groups="who")
    with pytest.raises(ValueError, match="column 'c', row 2,345 of"):
        source.map_to(tmp_path / "out.parquet", fitted.component_proba)


def test_a_group_that_is_longer_than_a_block():
    X, y, _, _ = mixture_rows(3000, 3)
    groups = np.repeat(np.arange(302), [1000, 500, *[5] * 300])
    blocks = blocks_of([900, 2100], X, y, groups)
    rowset, _ = scan(blocks, block_bytes=2_000).grouped_rows()
    assert isinstance(rowset.partitions, ContiguousGroups)
    sizes = np.concatenate([block.sizes for block in rowset.blocks()])
    assert sorted(sizes) == [*[5] * 300, 500, 1000]
    found = mixture().fit(scan(blocks_of([50] * 60, X, y, groups)))
    assert_alike(found, mixture().fit(X, y, groups=groups))
