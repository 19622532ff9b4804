"""Tables, labels, groups and weights of every kind give the answer of plain float64.

Kinds that are refused stand in test_bad_tables.py and test_bad_labels.py.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.special import expit

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    pairwise_differences,
)

N, NAMES = 600, list("abc")
RNG = np.random.default_rng(3)
Z = RNG.integers(-100, 100, size=(N, 3))
FLAT = Z.astype(np.float64)
GROUPS = np.arange(N) // 3
U = np.array([[0.05, -0.03, 0.02], [-0.03, 0.04, 0.05]])[RNG.integers(0, 2, N // 3)[GROUPS]]
POSITIVE = RNG.uniform(size=N) < expit((Z * U).sum(axis=1))
WEIGHTS = RNG.integers(1, 5, N)
FRAME = pd.DataFrame(Z, columns=NAMES)
LARGE = 2**63 // 101

pytestmark = pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def objects(kind):
    return np.array([[kind(int(value)) for value in row] for row in Z], dtype=object)


def answers(X, y=POSITIVE, **fit):
    """Return one long vector of what all estimators find."""
    mirror = SpectralMirror(2, random_state=0).fit(X, y, **fit)
    found = [mirror.components_, mirror.mirror_direction_, mirror.eigenvalues_, mirror.transform(X)]
    weight = fit.get("sample_weight")
    found.append(PrincipalHessianDirections(2).fit(X, y, sample_weight=weight).eigenvalues_)
    found.append(FeatureMoments.from_rows(X, sample_weight=weight).covariance)
    mixture = LinearClassifierMixture(1).fit(X, y, **fit)
    found += [mixture.coef_, mixture.coef_standard_error_, mixture.predict_proba(X)]
    found.append(mixture.score_samples(X, y))
    return np.concatenate([np.ravel(part) for part in found])


KINDS = {
    "int8": (Z.astype(np.int8), FLAT),
    "uint8": ((Z + 100).astype(np.uint8), FLAT + 100),
    "int64 at its ends": (Z * LARGE, FLAT * LARGE),
    "uint64 at its ends": ((Z + 100).astype(np.uint64) * np.uint64(LARGE), (FLAT + 100) * LARGE),
    "float16": (Z.astype(np.float16), FLAT),
    "longdouble": (Z.astype(np.longdouble), FLAT),
    "bool": (Z > 0, (Z > 0) * 1.0),
    "big endian": (FLAT.astype(">f8"), FLAT),
    "big endian integers": (Z.astype(">i4"), FLAT),
    "columns first": (np.asfortranarray(FLAT), FLAT),
    "gaps": (np.repeat(np.repeat(FLAT, 2, axis=0), 2, axis=1)[::2, ::2], FLAT),
    "backwards": (np.ascontiguousarray(FLAT[::-1, ::-1])[::-1, ::-1], FLAT),
    "read-only": (read_only(FLAT), FLAT),
    "lists": (Z.tolist(), FLAT),
    "objects": (objects(float), FLAT),
    "decimals": (objects(Decimal), FLAT),
    "fractions": (objects(Fraction), FLAT),
    "integers of 30 digits": (objects(lambda value: value * 10**28), FLAT * 1e28),
    "text of digits": (Z.astype(str), FLAT),
    "pandas": (FRAME, FLAT),
    "pandas Int64": (FRAME.astype("Int64"), FLAT),
    "pandas UInt8": ((FRAME + 100).astype("UInt8"), FLAT + 100),
    "pandas Float64": (FRAME.astype("Float64"), FLAT),
    "pandas boolean": ((FRAME > 0).astype("boolean"), (Z > 0) * 1.0),
    "pandas of many kinds": (
        FRAME.astype({"a": "Int64", "b": "float32", "c": "int16[pyarrow]"}),
        FLAT,
    ),
    "Arrow in pandas": (FRAME.astype("int64[pyarrow]"), FLAT),
    "Arrow truth values": ((FRAME > 0).astype("bool[pyarrow]"), (Z > 0) * 1.0),
    "Arrow decimals": (FRAME.astype(pd.ArrowDtype(pa.decimal128(25, 2))), FLAT),
    "categories of numbers": (FRAME.astype("category"), FLAT),
    "sparse columns": (FRAME.astype(pd.SparseDtype("int64", 0)), FLAT),
    "columns without names": (FRAME.set_axis(range(3), axis=1), FLAT),
    "polars": (pl.DataFrame(Z, schema=NAMES), FLAT),
    "polars Int8": (pl.DataFrame(Z.astype(np.int8), schema=NAMES), FLAT),
    "polars Boolean": (pl.DataFrame(Z > 0, schema=NAMES), (Z > 0) * 1.0),
    "polars Decimal": (
        pl.DataFrame(Z, schema=NAMES).with_columns(pl.all().cast(pl.Decimal(25, 2))),
        FLAT,
    ),
    "Arrow": (pa.table(FRAME), FLAT),
    "CSC": (sparse.csc_array(FLAT), FLAT),
    "COO of int8": (sparse.coo_array(Z.astype(np.int8)), FLAT),
    "CSR of bool": (sparse.csr_array(Z > 0), (Z > 0) * 1.0),
    "CSR with every entry in two parts": (
        sparse.csr_array(
            (
                np.repeat(FLAT.ravel() / 2, 2),
                np.repeat(np.tile(range(3), N), 2),
                6 * np.arange(N + 1),
            ),
            shape=(N, 3),
        ),
        FLAT,
    ),
}


@pytest.mark.parametrize(("X", "plain"), KINDS.values(), ids=KINDS)
def test_tables_of_every_kind(X, plain):
    # Newton steps end at 1e-6 standard errors: sums in another order may end one step earlier
    np.testing.assert_allclose(answers(X), answers(plain), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [">f8", "f8", "i2"])
def test_arrays_on_disk(order, dtype, tmp_path):
    np.save(tmp_path / "rows.npy", np.asarray(FLAT, dtype=dtype, order=order))
    X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_allclose(answers(X), answers(FLAT), rtol=1e-8, atol=1e-10)


def labels(low, high, **options):
    return np.where(POSITIVE, high, low, **options)


TEXT = labels("no", "yes")
LABELS = {
    "int8": labels(-1, 1).astype(np.int8),
    "uint64 at its ends": labels(np.uint64(0), np.uint64(2**64 - 1)),
    "int64 apart by 1": labels(2**63 - 2, 2**63 - 1),
    "big endian": labels(0, 1).astype(">i8"),
    "float16": labels(0, 1).astype(np.float16),
    "subnormal": labels(0.0, 5e-324),
    "bytes": labels(b"no", b"yes"),
    "text of any length": TEXT.astype(np.dtypes.StringDType()),
    "list": TEXT.tolist(),
    "days": labels(np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
    "Int64": pd.Series(labels(0, 1), dtype="Int64"),
    "boolean": pd.Series(POSITIVE, dtype="boolean"),
    "string": pd.Series(TEXT, dtype="string"),
    "Arrow string": pd.Series(TEXT, dtype="string[pyarrow]"),
    "Arrow truth values": pd.Series(POSITIVE, dtype="bool[pyarrow]"),
    "one category too many": pd.Categorical(TEXT, categories=["maybe", "no", "yes"]),
    "sparse": pd.Series(labels(0, 1), dtype=pd.SparseDtype(int, 0)),
    "rows of another order": pd.Series(labels(0, 1), index=range(N)[::-1]),
    "polars text": pl.Series(TEXT.tolist()),
    "polars Boolean": pl.Series(POSITIVE),
    "polars Enum": pl.Series(TEXT.tolist(), dtype=pl.Enum(["yes", "no"])),
    "Arrow": pa.chunked_array([TEXT[:100].tolist(), TEXT[100:].tolist()]),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_labels_of_every_kind(y):
    found = LinearClassifierMixture(1).fit(FLAT, y)
    expected = LinearClassifierMixture(1).fit(FLAT, POSITIVE)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.predict(FLAT) == found.classes_[1], expected.predict(FLAT))
    np.testing.assert_array_equal(
        found.score_samples(FLAT, y), expected.score_samples(FLAT, POSITIVE)
    )
    mirror = SpectralMirror(2).fit(FLAT, y)
    same = SpectralMirror(2).fit(FLAT, POSITIVE)
    np.testing.assert_array_equal(mirror.mirror_direction_, same.mirror_direction_)


SAME_GROUPS = {
    "float16": GROUPS.astype(np.float16),
    "longdouble": GROUPS.astype(np.longdouble),
    "infinite": np.where(GROUPS == 0, np.inf, GROUPS),
    "uint64 beyond int64": GROUPS.astype(np.uint64) + np.uint64(2**63),
    "int64 at its ends": np.where(GROUPS % 2, 2**63 - 1 - GROUPS, -(2**63) + GROUPS),
    "text of any length": GROUPS.astype(str).astype(np.dtypes.StringDType()),
    "Int64": pd.Series(GROUPS, dtype="Int64"),
    "Arrow": pd.Series(GROUPS, dtype="int64[pyarrow]"),
    "categories": pd.Series(GROUPS).astype(str).astype("category"),
    "polars": pl.Series(GROUPS.astype(str).tolist()),
    "integers of 30 digits": [int(g) * 10**30 for g in GROUPS],
    "big endian": GROUPS.astype(">i8"),
}


@pytest.mark.parametrize("groups", SAME_GROUPS.values(), ids=SAME_GROUPS)
def test_groups_of_every_kind(groups):
    expected = answers(FLAT, groups=GROUPS)
    np.testing.assert_allclose(answers(FLAT, groups=groups), expected, rtol=1e-9, atol=1e-12)


SAME_WEIGHTS = {
    "int8": WEIGHTS.astype(np.int8),
    "uint64": WEIGHTS.astype(np.uint64),
    "float16": WEIGHTS.astype(np.float16),
    "longdouble": WEIGHTS.astype(np.longdouble),
    "Int64": pd.Series(WEIGHTS, dtype="Int64"),
    "Arrow": pd.Series(WEIGHTS, dtype="int64[pyarrow]"),
    "polars": pl.Series(WEIGHTS),
    "decimals": [Decimal(int(weight)) for weight in WEIGHTS],
}


@pytest.mark.parametrize("weight", SAME_WEIGHTS.values(), ids=SAME_WEIGHTS)
def test_weights_of_every_kind(weight):
    expected = answers(FLAT, sample_weight=WEIGHTS)
    np.testing.assert_allclose(answers(FLAT, sample_weight=weight), expected, rtol=1e-9)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e-12, 1e12, 1e300])
def test_weights_of_every_size(unit):
    """Non-integer weights (not frequencies) have no unit."""
    expected = answers(FLAT, sample_weight=WEIGHTS / 4)
    np.testing.assert_allclose(answers(FLAT, sample_weight=WEIGHTS * unit), expected, rtol=1e-9)


def exact(kind):
    """Return a side of comparisons of whole numbers, at the ends of a type."""
    info = np.iinfo(kind)
    return np.array([[info.min, info.max], [info.max, info.max - 3]], dtype=kind)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_differences_of_whole_numbers_are_exact(kind):
    left, right = exact(kind), exact(kind)[::-1]
    expected = [
        [float(int(a) - int(b)) for a, b in zip(*rows, strict=True)]
        for rows in zip(left, right, strict=True)
    ]
    for as_kind in (np.asarray, pd.DataFrame, lambda side: pl.DataFrame(side, schema=["a", "b"])):
        X, _ = pairwise_differences(as_kind(left), as_kind(right), ["left", "right"])
        np.testing.assert_array_equal(np.asarray(X), expected)
    X, _ = pairwise_differences(sparse.csr_array(FLAT), sparse.csc_array(FLAT[::-1]), POSITIVE)
    np.testing.assert_array_equal(X.toarray(), FLAT - FLAT[::-1])
