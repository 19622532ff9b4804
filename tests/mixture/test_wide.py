"""Wide rows: moments of columns, and fits that agree with those from matrices."""

import tracemalloc

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import spectralmirror
from spectralmirror import LinearClassifierMixture
from spectralmirror.mixture import wide
from spectralmirror.mixture.wide import ColumnMoments, Columns, in_order
from spectralmirror.rows.memory import Rows
from spectralmirror.selection import compare_components
from tests.helpers.mixtures import drawn, fitted
from tests.helpers.rows import in_groups


def rows_of(seed=0, n=300, d=7):
    """Return rows with means other than 0, many zeros, and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) + 3 * (np.arange(d) % 2)
    X[rng.uniform(size=X.shape) < 0.4] = 0
    return X, rng.choice([-1.0, 1.0], n), rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_moments_of_columns(kind):
    X, y, w = rows_of()
    found = Columns.of(Rows(kind(X), y, w, block_bytes=500))
    mean = np.average(X, axis=0, weights=w)
    sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(found.whitening.mean, mean)
    np.testing.assert_allclose(found.whitening.scale, sd)
    share = (X[w > 0] != 0).mean(axis=0)
    np.testing.assert_allclose(found.scale, sd / np.sqrt(share))
    assert found.origin is None


def test_moments_of_blocks_in_any_order():
    X, y, _ = rows_of()
    X += 1e6
    parts = [ColumnMoments.of(Rows(X[i : i + 100], y[i : i + 100])) for i in (0, 100, 200)]
    one, other = parts[0] + parts[1] + parts[2], parts[2] + (parts[0] + parts[1])
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=1e-9)
    np.testing.assert_allclose(one.scatter, 300 * X.var(axis=0), rtol=1e-9)


def test_far_means_are_subtracted_from_dense_rows_only():
    X, y, _ = rows_of()
    assert Columns.of(Rows(X + 1e6, y)).origin is not None
    assert Columns.of(Rows(sparse.csr_array(X + 1e6), y)).origin is None


def test_rows_are_sorted_by_group_once():
    X, y, _ = rows_of()
    groups = np.random.default_rng(0).integers(0, 40, 300)
    scattered = in_groups(Rows(X, y), groups)
    found = in_order(scattered)
    assert (np.diff(found.order) == 1).all()
    one, other = ([(b.X, b.y) for b in grouped.blocks()] for grouped in (found, scattered))
    np.testing.assert_array_equal(np.concatenate([b[0] for b in one]), [*other[0][0]])
    assert in_order(found) is found


@pytest.fixture
def narrow(monkeypatch):
    """Let rows of more than 10 features be wide."""
    monkeypatch.setattr(wide, "WIDE_FROM", 10)


def both(monkeypatch, X, y, **options):
    """Fit on both sides of the border."""
    dense = fitted(X, y, **options)
    monkeypatch.setattr(wide, "WIDE_FROM", 10)
    return dense, fitted(X, y, **options)


@pytest.mark.parametrize("size", [1, 10])
@pytest.mark.parametrize("l2", ["auto", 5.0])
def test_fits_agree_across_the_border(monkeypatch, size, l2):
    # the maximum is the same if the penalty is; a penalty from random signs differs by some per
    # cent, and profiles by a small part of their standard errors
    X, y, truth = drawn(n=4_000, d=30, group_size=size, profile_norm=5.0)
    dense, sketched = both(monkeypatch, X, y, groups=truth.groups if size > 1 else None, l2=l2)
    assert sketched.l2_ == pytest.approx(dense.l2_, rel=0.06)
    close = 0.01 if l2 == 5.0 else 0.3
    apart = (sketched.coef_ - dense.coef_) / dense.coef_standard_error_
    assert np.abs(apart).max() < close
    np.testing.assert_allclose(sketched.weights_, dense.weights_, atol=0.005)
    assert sketched.bic_ == pytest.approx(dense.bic_, abs=3)
    assert sketched.log_evidence_ == pytest.approx(dense.log_evidence_, abs=4)


def test_the_number_agrees_across_the_border(monkeypatch):
    X, y, truth = drawn(n=2_000, d=12, group_size=10, profile_norm=4.0)
    dense, sketched = both(monkeypatch, X, y, k="auto", groups=truth.groups)
    assert dense.n_components_ == sketched.n_components_ == 2
    assert sketched.evidence_path_.keys() == dense.evidence_path_.keys()


def test_rows_alone_that_one_classifier_explains(narrow):
    # 40 coefficients, 1,500 rows of a single classifier: two explain them no better
    X, y, _ = drawn(n=1_500, d=40, k=1, weights=[1.0], profile_norm=2.0)
    with pytest.warns(UserWarning, match="One classifier explains"):
        two = fitted(X, y, 2)
    assert fitted(X, y, "auto").n_components_ == 1
    assert two.evidence_path_[1] > two.evidence_path_[2]


def test_everything_works_without_a_covariance(narrow):
    X, y, truth = drawn(n=2_000, d=20, group_size=10, profile_norm=5.0)
    mixture = fitted(X, y, 2, groups=truth.groups)
    assert mixture.covariance_ is None
    assert np.isnan(mixture.coef_standard_error_).all()
    assert np.isfinite(mixture.log_evidence_)
    assert "log evidence" in mixture.summary()
    P = mixture.component_proba(X, y, groups=truth.groups)
    plain = mixture.component_proba(X, y, groups=truth.groups, averaged=False)
    np.testing.assert_array_equal(P, plain)  # there is no covariance to average over
    assert (P.argmax(axis=1) == truth.components).mean() > 0.95
    drawn_rows = mixture.sample(20_000, random_state=0)[0]
    np.testing.assert_allclose(drawn_rows.std(axis=0), X.std(axis=0), rtol=0.05)
    assert mixture.icl_ >= mixture.bic_


@pytest.mark.parametrize("groups", [False, True])
def test_sparse_rows_give_what_dense_ones_do(narrow, groups):
    rng = np.random.default_rng(0)
    X, y, truth = drawn(n=1_500, d=15, group_size=5, profile_norm=4.0)
    X[rng.uniform(size=X.shape) < 0.5] = 0
    keys = truth.groups if groups else None
    one, other = (
        fitted(kind(X), y, 1 + groups, groups=keys) for kind in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)
    np.testing.assert_allclose(
        other.predict_proba(sparse.csr_array(X)), one.predict_proba(X), atol=1e-5
    )


def test_units_of_the_columns_change_nothing(narrow):
    X, y, truth = drawn(n=1_000, d=15, group_size=5, profile_norm=4.0)
    units = 10.0 ** np.arange(-7, 8)
    one, other = (fitted(A, y, 2, groups=truth.groups) for A in (X, X * units))
    np.testing.assert_allclose(other.coef_ * units, one.coef_, rtol=1e-4, atol=1e-5)


def test_constant_columns_have_no_coefficient(narrow):
    X, y, truth = drawn(n=1_000, d=15, group_size=5)
    X[:, 3], X[:, 4] = 0, 7
    mixture = fitted(X, y, 2, groups=truth.groups)
    np.testing.assert_allclose(mixture.coef_[:, 3:5], 0, atol=1e-9)


def test_more_features_than_rows_and_nothing_as_large_as_their_square():
    # 3,000 features: a matrix of d x d numbers takes 72 MB
    rng = np.random.default_rng(0)
    X = sparse.csr_array(sparse.random(500, 3_000, 0.01, random_state=rng))
    score = X @ rng.standard_normal(3_000)
    y = np.where(score > np.median(score), 1, -1)
    tracemalloc.start()
    LinearClassifierMixture(1, random_state=0).fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < 40e6
    tracemalloc.stop()


OPTIONS = [
    {"response": "probit"},
    {"response": "hard"},
    {"fit_intercept": False},
    {"l2": 3.0},
    {"l2": 0.0},
    {"subspace": None},
    {"subspace": np.eye(15)[:2]},
    {"subspace": np.eye(15)[:2], "refine": False},
    {"refine": False},
    {"init": "random", "n_init": 3},
    {"init": np.eye(15)[:2]},
    {"solver": "em", "max_iter": 5},
    {"spread": "intercept"},
    {"shared": [2]},
    {"n_components": 3},
]


@pytest.mark.parametrize("option", OPTIONS, ids=str)
@pytest.mark.filterwarnings("ignore::spectralmirror.mixture.MixtureWarning")
def test_all_options_work(narrow, option):
    X, y, truth = drawn(n=1_000, d=15, group_size=10, profile_norm=5.0)
    mixture = fitted(X, y, **{"k": 2, "groups": truth.groups, **renamed(option)})
    P = mixture.predict_proba(X, groups=truth.groups, history=(X, y, truth.groups))
    assert np.isfinite(P).all()
    assert mixture.score_samples(X, y, groups=truth.groups).mean() > -0.69 * 10
    assert mixture.summary()


def renamed(option):
    """Return options with the helper's name of the number of components."""
    return {"k" if name == "n_components" else name: value for name, value in option.items()}


def test_what_is_known_about_groups(narrow):
    # the first class is likelier where z is large, and the classes of some groups are known
    X, y, truth = drawn(n=2_000, d=15, group_size=10, profile_norm=5.0)
    z = (
        np.where(truth.components == 0, 1.0, -1.0)
        + np.random.default_rng(0).normal(size=200)[truth.groups]
    )
    known = np.where(truth.groups < 20, 1 - truth.components, -1)
    mixture = LinearClassifierMixture(2, random_state=0)
    mixture.fit(X, y, groups=truth.groups, membership=z[:, None], known=known)
    assert mixture.membership_coef_[1, 0] > 1
    classes = mixture.predict_component(X, y, groups=truth.groups, membership=z[:, None])
    assert (classes == 1 - truth.components).mean() > 0.95


def test_weights_are_frequencies(narrow):
    X, y, _ = drawn(n=600, d=15, profile_norm=3.0)
    w = np.random.default_rng(0).integers(0, 3, 600)
    one = fitted(X, y, 1, sample_weight=w, l2=2.0)
    other = fitted(np.repeat(X, w, axis=0), np.repeat(y, w), 1, l2=2.0)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=2e-3)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=0.02)


def test_bootstrap_and_storage(narrow, tmp_path):
    X, y, truth = drawn(n=1_000, d=12, group_size=10, profile_norm=5.0)
    mixture = fitted(X, y, groups=truth.groups)
    resamples = mixture.bootstrap(X, y, groups=truth.groups, n=8, random_state=0)
    assert resamples.converged.all()
    assert (resamples.standard_error.coef > 0).all()
    spectralmirror.save(mixture, tmp_path / "wide.skops")
    again = spectralmirror.load(tmp_path / "wide.skops")
    for one, other in zip(mixture.sample(5, 0), again.sample(5, 0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert "use `bootstrap`" in again.summary()


def test_files_give_what_arrays_do(narrow, tmp_path):
    # the last climb ends within its tolerance on either side
    X, y, truth = drawn(n=2_000, d=12, group_size=10, profile_norm=5.0)
    table = pl.DataFrame(X, schema=[f"x{j}" for j in range(12)])
    table = table.with_columns(y=pl.Series(y), person=pl.Series(truth.groups))
    table.write_parquet(tmp_path / "rows.parquet", row_group_size=300)
    rows = spectralmirror.scan(tmp_path / "rows.parquet", label="y", groups="person")
    one = LinearClassifierMixture(2, random_state=0).fit(rows)
    other = fitted(X, y, groups=truth.groups)
    assert one.l2_ == pytest.approx(other.l2_, rel=0.1)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1)
    assert one.covariance_ is None


def test_comparison_of_numbers(narrow):
    X, y, truth = drawn(n=600, d=11, group_size=10, profile_norm=5.0)
    found = compare_components(
        LinearClassifierMixture(random_state=0), X, y, groups=truth.groups, max_components=2,
        n_resamples=3, n_splits=2, random_state=0,
    )  # fmt: skip
    assert "2 by evidence, 2 by BIC" in str(found)


def test_a_single_group_of_wide_rows():
    X = np.random.default_rng(0).standard_normal((40, 450))
    y = np.where(X[:, 0] > 0, 1, -1)
    one = LinearClassifierMixture(1, l2=50.0).fit(X, y, groups=np.zeros(40))
    np.testing.assert_allclose(one.coef_, LinearClassifierMixture(1, l2=50.0).fit(X, y).coef_,
                               rtol=1e-4, atol=1e-6)  # fmt: skip
