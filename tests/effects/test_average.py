"""Average effects against statsmodels, finite differences and simulated persons."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse
from scipy.special import expit, ndtr

import spectralmirror
from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.effects import average_effects
from tests.helpers.mixtures import fitted

PROFILES = np.array([[3.0, -1.0, 1.0], [-1.0, 2.0, 0.5]])


def drawn(n=1500, group_size=1, seed=0):
    """Draw rows whose last feature is 0 or 1, and whose second has another scale and mean."""
    X, _, truth = make_linear_classifier_mixture(
        n, profiles=PROFILES, weights=[0.6, 0.4], group_size=group_size, random_state=seed
    )
    X[:, 2] = X[:, 2] > 0.3
    t = (X * PROFILES[truth.components]).sum(axis=1)
    y = np.where(np.random.default_rng(seed).uniform(size=n) < expit(t), "yes", "no")
    return X * [1, 5, 1] + [0, 10, 0], y, truth.groups


def scatter(n=1800, seed=0):
    """Draw persons of one class who differ, six rows each."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, 2)), rng.uniform(size=n) < 0.4])
    groups = np.repeat(np.arange(n // 6), 6)
    own = rng.normal([1.0, -1.0, 0.7], 1.0, (n // 6, 3))
    y = np.where(rng.uniform(size=n) < expit((X * own[groups]).sum(axis=1)), 1, 0)
    return X * [1, 5, 1] + [0, 10, 0], y, groups


@pytest.mark.parametrize("response", ["logistic", "probit"])
@pytest.mark.parametrize("grouped", [False, True])
def test_one_class_is_that_of_statsmodels(response, grouped):
    X, y, groups = drawn(group_size=3)
    kind = {"logistic": sm.Logit, "probit": sm.Probit}[response]
    robust = {"cov_type": "cluster", "cov_kwds": {"groups": groups}} if grouped else {}
    theirs = kind(y == "yes", sm.add_constant(X)).fit(disp=0, tol=1e-12, **robust)
    theirs = theirs.get_margeff(dummy=True)
    ours = fitted(X, y, 1, groups if grouped else None, response=response, l2=0.0)
    found = average_effects(ours, X)
    assert found.change == ["per unit", "per unit", "0 to 1"]
    for line in (0, 1):  # the only class, and overall
        np.testing.assert_allclose(found.estimate[line], theirs.margeff, rtol=1e-5)
        np.testing.assert_allclose(found.standard_error[line], theirs.margeff_se, rtol=1e-4)


def probability(mixture, theta, X):
    """Return P_l of each row, for (u_1, b_1, ..., u_k, b_k, p_1, ..., p_k, b) as in covariance_.

    B is made from its free entries, and averages are those of Gauss and Hermite.
    """
    k, d = mixture.coef_.shape
    A = theta[: k * (d + 1)].reshape(k, d + 1)
    t = X @ A[:, :-1].T + A[:, -1]
    f = {"logistic": expit, "probit": ndtr}[mixture.response]
    if mixture.spread_kind_ is None:
        return f(t)
    b, p = theta[k * (d + 2) :], d + mixture.fit_intercept
    B = np.zeros((p, p))
    if mixture.spread_kind_ == "full":
        above = np.triu_indices(p, 1)
        B[above] = B.T[above] = b[p:]
    if mixture.spread_kind_ == "intercept":
        B[-1, 0] = b[0]
    else:
        B[np.arange(p), np.arange(p)] = b[:p]
    shift = mixture.feature_mean_ if mixture.fit_intercept else 0.0
    Z = np.column_stack([(X - shift) / mixture.feature_scale_, np.ones(len(X))])[:, :p]
    s = np.linalg.norm(Z @ B, axis=1)
    x, w = np.polynomial.hermite_e.hermegauss(100)
    return sum(u * f(t + z * s[:, None]) for z, u in zip(x, w / w.sum(), strict=True))


def point(mixture):
    """Return the estimates in the order of covariance_."""
    A = np.column_stack([mixture.coef_, mixture.intercept_]).ravel()
    b = np.empty(0)
    if mixture.spread_kind_ is not None:
        B = mixture.spread_ * mixture.feature_scale_[:, None]
        if mixture.fit_intercept:
            at_mean = mixture.intercept_spread_ + mixture.feature_mean_ @ mixture.spread_
            B = np.vstack([B, at_mean])
        b = np.diagonal(B) if len(B) == B.shape[1] else B[-1:, 0]
        if mixture.spread_kind_ == "full":
            b = np.append(b, B[np.triu_indices(len(B), 1)])
    return np.concatenate([A, mixture.weights_, b])


def effects_by_differences(mixture, theta, X, step=1e-3):
    """Return the effects by class, and overall."""
    k, d = mixture.coef_.shape
    found = np.empty((k, d))
    for j in range(d):
        up, down = X.copy(), X.copy()
        up[:, j], down[:, j] = (1, 0) if j == 2 else (X[:, j] + step, X[:, j] - step)
        change = probability(mixture, theta, up) - probability(mixture, theta, down)
        found[:, j] = change.mean(axis=0) / (1 if j == 2 else 2 * step)
    p = theta[k * (d + 1) : k * (d + 2)]
    return np.vstack([found, p @ found])


@pytest.mark.parametrize(
    "options",
    [
        {"k": 2},
        {"k": 2, "response": "probit"},
        {"k": 2, "fit_intercept": False},
        {"k": 1, "spread": "intercept"},
        {"k": 1, "spread": "diagonal"},
        {"k": 1, "spread": "full", "response": "probit"},
        {"k": 1, "spread": "diagonal", "fit_intercept": False},
        {"k": 2, "membership": True},
        {"k": 2, "membership": True, "spread": "intercept"},
        {"k": 2, "shared": [1], "signs": {0: 1}},
    ],
    ids=str,
)
def test_effects_and_errors_by_finite_differences(options):
    options = dict(options)
    X, y, groups = scatter() if options["k"] == 1 else drawn(1500, 5)
    Z, last = None, []
    if options.pop("membership", False):
        Z = np.random.default_rng(1).standard_normal(len(X))[groups, None]
        last = [0.0, 0.0]  # given the average weights, nothing depends on these two
    k = options.pop("k")
    mixture = LinearClassifierMixture(k, random_state=0, **options)
    mixture.fit(X, y, groups=groups, membership=Z)
    theta = np.append(point(mixture), last)
    assert len(theta) == len(mixture.covariance_)
    found = average_effects(mixture, X)
    expected = effects_by_differences(mixture, theta, X)
    np.testing.assert_allclose(found.estimate, expected, rtol=1e-5, atol=1e-7)
    steps = 1e-4 * np.eye(len(theta))
    slopes = np.array(
        [
            effects_by_differences(mixture, theta + e, X)
            - effects_by_differences(mixture, theta - e, X)
            for e in steps
        ]
    ) / 2e-4  # fmt: skip
    variances = np.einsum("icj,ih,hcj->cj", slopes, mixture.covariance_, slopes)
    variances = np.maximum(variances, 0)  # of a coefficient held at 0 it is a rounding error
    np.testing.assert_allclose(found.standard_error, np.sqrt(variances), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose((found.lower + found.upper) / 2, found.estimate)


def test_the_overall_effect_is_that_of_predict_proba():
    X, y, groups = drawn(1500, 5)
    mixture = fitted(X, y, groups=groups)
    w = np.random.default_rng(0).uniform(size=len(X))
    for p in (None, [0.1, 0.9]):
        found = average_effects(mixture, X, sample_weight=w, component_weights=p)
        up, down = X.copy(), X.copy()
        up[:, 2], down[:, 2] = 1, 0
        change = mixture.predict_proba(up, p)[:, 1] - mixture.predict_proba(down, p)[:, 1]
        assert found.estimate[-1, 2] == pytest.approx(np.average(change, weights=w), rel=1e-9)


def test_all_kinds_of_rows_give_the_same(tmp_path):
    X, y, _ = drawn(1500)
    frame = pd.DataFrame(X, columns=["time", "price", "sale"]).assign(sale=X[:, 2] > 0)
    mixture = fitted(frame, y)
    one = average_effects(mixture, frame)
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    scan = spectralmirror.scan(tmp_path / "rows.parquet", label="y")
    plain = fitted(X, y)
    for model, rows in ((plain, X), (plain, sparse.csr_matrix(X)), (mixture, scan)):
        other = average_effects(model, rows)
        np.testing.assert_allclose(other.estimate, one.estimate, rtol=1e-6)
        np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=1e-5)
    some = average_effects(mixture, frame, features=["sale", "time"])
    assert some.features == ["sale", "time"]
    np.testing.assert_allclose(some.estimate, one.estimate[:, [2, 0]], rtol=1e-12)
    np.testing.assert_allclose(some.standard_error, one.standard_error[:, [2, 0]], rtol=1e-12)
    twice = average_effects(mixture, frame, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(twice.estimate, one.estimate)


def test_dask_collections_are_summed_by_partition():
    X, y, _ = drawn(900)
    w = np.random.default_rng(0).uniform(size=900)
    frame = pd.DataFrame(X, columns=["time", "price", "sale"])
    mixture = fitted(frame, y)
    one = average_effects(mixture, frame, sample_weight=w)
    there = dd.from_pandas(frame, npartitions=4)
    plain = fitted(X, y)
    chunks = da.from_array(X, chunks=(200, 2))
    for model, rows, weight in (
        (mixture, there, w),
        (mixture, there, dd.from_pandas(pd.Series(w), npartitions=4)),
        (plain, chunks, da.from_array(w, chunks=200)),
    ):
        other = average_effects(model, rows, sample_weight=weight)
        np.testing.assert_allclose(other.estimate, one.estimate, rtol=1e-9)
        np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=1e-9)
        assert other.change == one.change
    with pytest.raises(ValueError, match="feature names should match"):
        average_effects(mixture, there[["price", "time", "sale"]])


def test_sources_have_the_features_of_the_model(tmp_path):
    X, y, _ = drawn(600)
    frame = pd.DataFrame(X, columns=["time", "price", "sale"])
    mixture = fitted(frame, y)
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    for features, sentence in (
        (["price", "time", "sale"], "has 'price' where the model was fitted to 'time'"),
        (["time", "price"], "has 2 features, but the model was fitted to 3"),
    ):
        source = spectralmirror.scan(tmp_path / "rows.parquet", label="y", features=features)
        with pytest.raises(ValueError, match=sentence):
            average_effects(mixture, source)


def test_many_blocks_are_summed(monkeypatch):
    from spectralmirror.rows import memory

    X, y, groups = drawn(1500, 5)
    mixture = fitted(X, y, groups=groups)
    one = average_effects(mixture, X)
    monkeypatch.setattr(memory, "PIECE_BYTES", 1000)
    monkeypatch.setattr(memory, "MOST_ROWS", 100)
    other = average_effects(mixture, X)
    np.testing.assert_allclose(other.standard_error, one.standard_error)


def test_the_other_label_has_the_opposite_effects():
    X, y, groups = drawn(900, 3)
    mixture = fitted(X, y, groups=groups)
    yes, no = average_effects(mixture, X), average_effects(mixture, X, label="no")
    assert (yes.label, no.label) == ("yes", "no")
    np.testing.assert_array_equal(no.estimate, -yes.estimate)
    np.testing.assert_array_equal(no.standard_error, yes.standard_error)
    np.testing.assert_allclose(no.lower, -yes.upper)


def test_hard_labels_have_effects_without_errors():
    X, y, _ = drawn(1500)
    found = average_effects(fitted(X, y, response="hard"), X)
    assert np.isfinite(found.estimate).all()
    assert np.isnan(found.standard_error).all()
    assert "no standard errors" in str(found)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"features": ["speed"]}, "There is no feature 'speed': the model has 'x0', 'x1', 'x2'"),
        ({"features": [7]}, "an index below 3, got 7"),
        ({"features": []}, "features is empty"),
        ({"label": 2}, r"label must be one of \['no', 'yes'\], got 2"),
        ({"level": 95}, "level must lie between 0 and 1"),
        ({"component_weights": [[0.5, 0.5]]}, "must hold 2 numbers, one for each class"),
    ],
)
def test_bad_input(options, sentence):
    X, y, _ = drawn(600)
    mixture = LinearClassifierMixture(2, init=PROFILES, subspace=None).fit(X, y)
    with pytest.raises(ValueError, match=sentence):
        average_effects(mixture, X, **options)


def test_intervals_cover_the_truth():
    """100 data sets of 900 rows: 9 intervals hold the effects of the true model in 90 to 99 %.

    A coverage of 95 % has a standard error of 2.2 % over 100 data sets, and less on average.
    """
    hits = []
    for seed in range(100):
        X, y, truth = make_linear_classifier_mixture(
            900, profiles=PROFILES, weights=[0.6, 0.4], group_size=3, random_state=seed
        )
        mixture = LinearClassifierMixture(2, init=PROFILES, subspace=None, l2=0.01)
        mixture.fit(X, y, groups=truth.groups)
        found = average_effects(mixture, X)
        f = expit(X @ PROFILES.T)
        true = PROFILES * (f * (1 - f)).mean(axis=0)[:, None]
        true = np.vstack([true, [0.6, 0.4] @ true])
        hits.append((found.lower <= true) & (true <= found.upper))
    assert 0.90 < np.mean(hits) < 0.99


@pytest.mark.parametrize("labels", [2, 3])
def test_levels_of_a_category_are_compared_with_the_one_left_out(labels):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 900)
    X = np.column_stack([level == 1, level == 2, rng.standard_normal(900)]).astype(float)
    y = np.argmax(rng.gumbel(size=(900, labels)) + X @ rng.normal(0, 2, (3, labels)), axis=1)
    mixture = fitted(X, y, 1)
    found = average_effects(mixture, X, exclusive=[[0, 1]], label=1)
    for j, other in ((0, 1), (1, 0)):
        with_it = X.copy()
        with_it[:, other] = 0
        without = with_it.copy()
        with_it[:, j], without[:, j] = 1, 0
        change = mixture.predict_proba(with_it)[:, 1] - mixture.predict_proba(without)[:, 1]
        np.testing.assert_allclose(found.estimate[1, j], change.mean(), rtol=1e-10)
    alone = average_effects(mixture, X, features=[2], label=1)
    assert found.estimate[1, 2] == pytest.approx(alone.estimate[1, 0], rel=1e-12)
    assert found.estimate[1, 0] != pytest.approx(
        average_effects(mixture, X, label=1).estimate[1, 0]
    )
