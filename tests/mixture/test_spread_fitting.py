"""Fits with a spread against an oracle, and under what must not change them."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_ndtr, logsumexp, ndtr

from spectralmirror import scan
from spectralmirror.mixture.spread import FIRST_L2
from tests.helpers.agreement import assert_alike
from tests.helpers.mixtures import fitted
from tests.helpers.spreads import persons

PROFILES = {1: ((1.5, -1.0),), 2: ((4.5, -3.0), (-3.0, 1.5))}
CLOSE = ("coef_", "intercept_", "weights_", "spread_deviation_", "intercept_deviation_")


def random_intercepts(f=expit, n=400, size=8, sd=1.2):
    """Return X, y and groups of persons who differ in their intercepts."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((n * size, 2)) * [1, 2] + [1, -3], np.repeat(np.arange(n), size)
    t = X @ [1.0, -0.5] - 2.5 + sd * rng.standard_normal(n)[groups]
    return X, np.where(rng.uniform(size=n * size) < f(t), 1.0, -1.0), groups


def random_intercept_logit(X, y, groups, log_prior):
    """Maximise the likelihood of a logit with random intercepts: adaptive Gauss-Hermite."""
    zeta, w = np.polynomial.hermite_e.hermegauss(25)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))

    def minus_log_likelihood(theta):
        u, b, s = theta[:-2], theta[-2], theta[-1]
        t, mode = X @ u + b, np.zeros(len(starts))
        for _ in range(9):  # Newton's method for the intercept of each person
            f = expit(y * (t + s * mode[groups]))
            H = 1 + np.add.reduceat(s * s * f * (1 - f), starts)
            step = (np.add.reduceat(s * y * (1 - f), starts) - mode) / H
            mode = mode + step
        z = mode[:, None] + zeta / np.sqrt(H)[:, None]
        joint = np.add.reduceat(log_expit(y[:, None] * (t[:, None] + s * z[groups])), starts)
        joint += (zeta**2 - z**2) / 2 + np.log(w / w.sum()) - np.log(H)[:, None] / 2
        return -logsumexp(joint, axis=1).sum() - log_prior(s)

    return minimize(minus_log_likelihood, [0, 0, 0, 1.0], options={"gtol": 1e-4}).x


def estimates(mixture):
    """Return coefficients, the intercept, and the deviation of intercepts."""
    assert mixture.converged_
    return np.concatenate([mixture.coef_[0], mixture.intercept_, [mixture.intercept_deviation_]])


def test_random_intercepts_against_an_oracle():
    X, y, groups = random_intercepts()
    found = estimates(fitted(X, y, k=1, groups=groups, spread="intercept", l2=1e-6))
    # without the prior of b, which is worth about one person of 400
    plain = random_intercept_logit(X, y, groups, lambda s: 0.0)
    np.testing.assert_allclose(found, plain, rtol=0.02)
    prior = random_intercept_logit(X, y, groups, lambda s: np.log(abs(s)) - FIRST_L2 / 2 * s * s)
    np.testing.assert_allclose(found, prior, rtol=2e-4)


def test_random_intercepts_of_a_probit():
    """Against 81 nodes that do not adapt."""
    X, y, groups = random_intercepts(ndtr, n=200, sd=0.8)
    zeta, w = np.polynomial.hermite_e.hermegauss(81)

    def minus_log_likelihood(theta):
        t = X @ theta[:2] + theta[2]
        rows = log_ndtr(y[:, None] * (t[:, None] + theta[3] * zeta))
        joint = rows.reshape(200, 8, -1).sum(axis=1) + np.log(w / w.sum())
        prior = np.log(abs(theta[3])) - FIRST_L2 / 2 * theta[3] ** 2
        return -logsumexp(joint, axis=1).sum() - prior

    found = fitted(X, y, k=1, groups=groups, spread="intercept", l2=1e-6, response="probit")
    exact = minimize(minus_log_likelihood, [0, 0, 0, 1.0], options={"gtol": 1e-4}).x
    np.testing.assert_allclose(estimates(found), exact, rtol=1e-3)


def with_fit(k):
    X, y, g = persons(60, 8, PROFILES[k], spread=0.8, mean=[1.0, 0.0])
    return k, X, y, g, fitted(X, y, k=k, groups=g, spread="diagonal")


@pytest.fixture(scope="module")
def single():
    """Rows of one class, and their fit."""
    return with_fit(1)


@pytest.fixture(scope="module", params=[1, 2])
def problem(request):
    """Rows of one or two classes, and their fit."""
    return with_fit(request.param)


def again(problem, X=None, y=None, groups=None, **options):
    k, own_X, own_y, own_groups, _ = problem
    return fitted(
        own_X if X is None else X,
        own_y if y is None else y,
        k=k,
        groups=own_groups if groups is None else groups,
        **{"spread": "diagonal", **options},
    )


def test_the_same_seed_gives_the_same(single):
    found, expected = again(single), single[-1]
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.spread_, expected.spread_)


def test_order_of_rows_and_names_of_persons(problem):
    _, X, y, g, expected = problem
    order = np.random.default_rng(0).permutation(len(y))
    assert_alike(again(problem, X[order], y[order], g[order]), expected)
    renamed = np.random.default_rng(1).permutation(60)[g]
    assert_alike(again(problem, groups=np.char.add("p", renamed.astype(str))), expected)


def test_sparse_features(single):
    X = single[1][:, :1]  # one feature: few nodes
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    assert_alike(again(single, sparse.csr_array(X)), again(single, X))


def test_single_precision(single):
    found, expected = again(single, single[1].astype(np.float32)), single[-1]
    for name in CLOSE:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=5e-5)


def test_files(problem, tmp_path):
    k, X, y, g, expected = problem
    order = np.random.default_rng(0).permutation(len(y))
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(y=y, who=g)[order]
    frame[:200].write_parquet(tmp_path / "1.parquet", row_group_size=50)
    frame[200:].write_parquet(tmp_path / "2.parquet", row_group_size=77)
    source = scan(
        tmp_path / "*.parquet", label="y", groups="who", features=["a", "b"], block_bytes=2_000
    )
    found = fitted(source, None, k=k, spread="diagonal")
    assert found.n_scans_ > 10
    assert_alike(found, expected)


def test_dask_arrays(problem):
    da = pytest.importorskip("dask.array")
    _, X, y, g, expected = problem
    order, cuts = np.random.default_rng(0).permutation(len(y)), (100, 1, 279, 100)
    columns = [da.from_array(values[order], chunks=(cuts,)) for values in (y, g)]
    found = again(problem, da.from_array(X[order], chunks=(cuts, -1)), *columns)
    assert_alike(found, expected)


def test_labels_exchanged(single):
    """Classifiers point the other way, and persons differ as much."""
    found, expected = again(single, y=-single[2]), single[-1]
    np.testing.assert_allclose(found.coef_, -expected.coef_, atol=1e-6)
    np.testing.assert_allclose(found.spread_deviation_, expected.spread_deviation_, atol=1e-6)
    assert found.log_likelihood_ == pytest.approx(expected.log_likelihood_)


def test_rescaled_and_shifted_columns(problem):
    _, X, _, _, expected = problem
    scale, shift = np.array([1e3, 1e-2]), np.array([5e4, -3.0])
    found = again(problem, X * scale + shift)
    assert found.l2_ == expected.l2_
    np.testing.assert_allclose(found.coef_ * scale, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(
        found.intercept_ + found.coef_ @ shift, expected.intercept_, atol=1e-5
    )
    np.testing.assert_allclose(found.spread_ * scale[:, None], expected.spread_, atol=1e-5)
    np.testing.assert_allclose(
        found.intercept_spread_ + shift @ found.spread_, expected.intercept_spread_, atol=1e-5
    )
    for name in ("spread_deviation_", "spread_standard_error_", "coef_standard_error_"):
        np.testing.assert_allclose(
            getattr(found, name) * scale, getattr(expected, name), atol=1e-5, err_msg=name
        )
    for name in ("intercept_deviation_", "log_likelihood_", "log_evidence_", "weights_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), atol=1e-5, err_msg=name
        )


@pytest.mark.filterwarnings("ignore:The likelihood was still rising")
@pytest.mark.parametrize("columns", [[1, 0], [0, 1]])
@pytest.mark.parametrize("signs", [[1, 1], [1, -1]])
def test_permuted_and_mirrored_columns(single, columns, signs):
    """Nodes lie elsewhere then: estimates agree within a quarter of their standard errors.

    1,024 nodes know the likelihood of 60 persons to about 0.3.
    """
    _, X, _, _, expected = single
    found = again(single, X[:, columns] * signs)
    allowed = 0.25 * expected.coef_standard_error_
    assert (np.abs(found.coef_ * signs - expected.coef_[:, columns]) < allowed[:, columns]).all()
    away = np.abs(found.spread_deviation_ - expected.spread_deviation_[columns])
    assert (away < 0.25 * expected.spread_standard_error_[columns] + 0.05).all()
    assert found.log_likelihood_ == pytest.approx(expected.log_likelihood_, abs=1.0)


def test_persons_twice_are_persons_of_weight_2(single):
    _, X, y, g, _ = single
    heavy = fitted(X, y, k=1, groups=g, spread="diagonal", sample_weight=np.full(len(y), 2))
    twice = again(single, np.vstack([X, X]), np.tile(y, 2), np.append(g, g + 100))
    for name in (*CLOSE, "log_likelihood_", "bic_", "spread_standard_error_"):
        np.testing.assert_allclose(
            getattr(heavy, name), getattr(twice, name), atol=1e-5, err_msg=name
        )


def test_weights_of_0_leave_persons_out(single):
    k, X, y, g, _ = single
    weight = np.where(g < 50, 1, 0)
    found = fitted(X, y, k=k, groups=g, spread="diagonal", sample_weight=weight)
    kept = g < 50
    expected = again(single, X[kept], y[kept], g[kept])
    for name in (*CLOSE, "log_likelihood_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-5)


def test_the_likelihood_of_the_fit_is_that_of_its_persons(problem):
    """Nodes of the fit, with an error of about 0.3, against those that adapt to each person."""
    _, X, y, g, mixture = problem
    assert mixture.score_samples(X, y, g).sum() == pytest.approx(mixture.log_likelihood_, abs=1.0)


def test_em_is_for_fits_without_spread(single):
    found, expected = again(single, solver="em"), single[-1]
    for name in CLOSE:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-2)


def test_a_sample_of_persons_leads_to_the_same_maximum(monkeypatch):
    """Kinds are compared on a part of the persons; the final fit is that of all."""
    X, y, g = persons(300, 6, spread=1.0)
    expected = fitted(X, y, k=1, groups=g, spread="diagonal", l2=1.0)
    monkeypatch.setattr("spectralmirror.mixture.spread_fitting.N_ROWS", 300)
    monkeypatch.setattr("spectralmirror.mixture.spread_fitting.N_GROUPS", 50)
    found = fitted(X, y, k=1, groups=g, spread="diagonal", l2=1.0)
    assert found.spread_evidence_ != expected.spread_evidence_
    # entries of B may have another sign, for which nodes lie elsewhere: 5 % of a standard error
    error = expected.coef_standard_error_
    assert (np.abs(found.coef_ - expected.coef_) < 0.05 * error).all()
    error = expected.spread_standard_error_
    assert (np.abs(found.spread_deviation_ - expected.spread_deviation_) < 0.05 * error).all()


@pytest.mark.filterwarnings("ignore:The likelihood was still rising")
@pytest.mark.parametrize("kind", ["diagonal", "factor", "full"])
def test_the_truth_is_found(kind):
    """300 persons: coefficients and deviations within 4 standard errors."""
    X, y, g = persons(300, 8, spread=[1.0, 0.6])
    mixture = fitted(X, y, k=1, groups=g, spread=kind)
    assert mixture.spread_kind_ == kind
    away = np.abs(mixture.coef_ - [[1.5, -1.0]]) / mixture.coef_standard_error_
    assert (away < 4).all()
    away = np.abs(mixture.spread_deviation_ - [1.0, 0.6]) / mixture.spread_standard_error_
    assert (away < 4).all()
    covariance = mixture.spread_ @ mixture.spread_.T
    np.testing.assert_allclose(np.diagonal(covariance), mixture.spread_deviation_**2)


def test_a_correlation_is_found():
    """Coefficients that go together: 300 persons know their correlation of 0.8 to about 0.1."""
    rng = np.random.default_rng(0)
    X, g = rng.standard_normal((2400, 2)), np.repeat(np.arange(300), 8)
    own = rng.multivariate_normal([1.5, -1.0], [[1, 0.8], [0.8, 1]], 300)
    y = np.where(rng.uniform(size=2400) < expit((X * own[g]).sum(axis=1)), 1, -1)
    for kind in ("factor", "full"):
        mixture = fitted(X, y, k=1, groups=g, spread=kind)
        C = mixture.spread_ @ mixture.spread_.T
        assert C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]) == pytest.approx(0.8, abs=0.3)


def test_without_intercept():
    X, y, g = persons(100, 8, mean=[2.0, -1.0])
    mixture = fitted(X, y, k=1, groups=g, spread="diagonal", fit_intercept=False)
    np.testing.assert_array_equal(mixture.intercept_, 0)
    np.testing.assert_array_equal(mixture.intercept_spread_, 0)
    assert mixture.intercept_deviation_ == 0
    assert mixture.spread_.shape == (2, 2)
    assert mixture.score_samples(X, y, g).sum() == pytest.approx(mixture.log_likelihood_, abs=0.1)


def test_two_persons_of_two_rows():
    """Hardly anything is known about the spread then, and nothing breaks."""
    X, y, _ = persons(60, 1)
    groups = np.concatenate([[0, 1], np.arange(58)])
    mixture = fitted(X, y, k=1, groups=groups, spread="diagonal")
    assert np.isfinite(mixture.spread_).all()
    assert np.isfinite(mixture.predict_proba(X, groups=groups, history=(X, y, groups))).all()
