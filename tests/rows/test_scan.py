"""Scans of any kind of source give the same fit as the rows in memory."""

import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
    scan,
)
from tests.helpers.agreement import assert_alike
from tests.helpers.hidden import hide
from tests.helpers.scans import (
    NAMES,
    SMALL,
    SOURCES,
    blocks_of,
    mirror,
    mixture,
    scanned,
    table,
    to_parquet,
)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("which", ["", "groups", "weight"])
def test_every_kind_of_file(kind, which, rows, expected, tmp_path):
    source = SOURCES[kind](table(*rows), tmp_path)
    columns = {"": {}, "groups": {"groups": "who"}, "weight": {"sample_weight": "w"}}[which]
    for make in (mirror, mixture):
        found = make().fit(scanned(source, **columns))
        assert_alike(found, expected[make, which])
        assert found.feature_names_in_.tolist() == NAMES
        assert 4 <= found.n_scans_ < 60


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
    weight = weight + 0.25 if weighted else None  # non-integer
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


def test_groups_by_name(rows, tmp_path):
    X, y, groups, weight = rows
    frame = table(X, y, groups, weight).with_columns(who=pl.col("who").cast(str) + "é")
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.with_columns(who=pl.col("who").cast(pl.Categorical)).write_ipc(tmp_path / "rows.arrow")
    expected = mirror().fit(X, y, groups=frame["who"].to_list())
    for name in ("rows.parquet", "rows.arrow"):
        found = mirror().fit(scanned(tmp_path / name, groups="who"))
        np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)


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


def test_extras_are_imported_only_when_used():
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
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program]).returncode == 0


def test_arrays_and_dask_need_neither_pyarrow_nor_polars():
    pytest.importorskip("dask")
    program = hide("pyarrow", "polars", "pandas") + (
        "import numpy as np, dask.array as da\n"
        "from spectralmirror import LinearClassifierMixture, SpectralMirror\n"
        "X, groups = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) // 4\n"
        "y = X[:, 0] > 0\n"
        "LinearClassifierMixture(1).fit(X, y, groups=groups).predict(X)\n"
        "there = [da.from_array(values, chunks=(50, -1)[: values.ndim]) for values in (X, y)]\n"
        "SpectralMirror(1).fit(*there, groups=groups).transform(there[0]).compute()\n"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program]).returncode == 0


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
        (lambda: scan([(X, y, groups, None, None, None, 1)]), "yields tuples"),
        (lambda: scan([(X, y, groups, None, 1)]), "a line for each of"),
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
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(ValueError, match=r"notes.md is not of a kind that can be read"):
        scan(tmp_path / "notes.md", label="y")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="is a folder without a file"):
        scan(tmp_path / "empty", label="y")
