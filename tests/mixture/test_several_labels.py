"""Labels of more than two kinds, from the fit to predictions."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import spectralmirror
from spectralmirror import LinearClassifierMixture, MixtureWarning, SpectralMirror
from spectralmirror.effects import ratios
from spectralmirror.metrics import component_error
from spectralmirror.mixture import fit_base
from spectralmirror.mixture.label_contrasts import LabelContrasts
from spectralmirror.plotting import plot_spread
from spectralmirror.plotting.mixture import profiles_data

PERSONS, LABELS_OF_EACH, D, C, K = 150, 8, 3, 3, 2
NAMES = np.array(["bus", "car", "rail"])


def simulated(seed=0):
    rng = np.random.default_rng(seed)
    U, b = 2 * rng.standard_normal((K, C, D)), 0.5 * rng.standard_normal((K, C))
    U, b = U - U.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    classes, groups = rng.choice(K, p=[0.65, 0.35], size=PERSONS), None
    groups = np.repeat(np.arange(PERSONS), LABELS_OF_EACH)
    X = rng.standard_normal((len(groups), D)) * [1, 2, 0.5] + [0, 3, -1]
    t = np.einsum("nd,ncd->nc", X, U[classes[groups]]) + b[classes[groups]]
    y = NAMES[(t + rng.gumbel(size=t.shape)).argmax(axis=1)]
    return X, y, groups, classes[groups], U


@pytest.fixture(scope="module")
def fitted():
    X, y, groups, classes, U = simulated()
    mixture = LinearClassifierMixture(K, random_state=0).fit(X, y, groups=groups)
    return mixture, X, y, groups, classes, U


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_one_class_is_the_multinomial_regression_of_scikit_learn(l2):
    X, y, *_ = simulated()
    mixture = LinearClassifierMixture(1, l2=l2, random_state=0).fit(X, y)
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    other = LogisticRegression(C=1 / (2 * l2), tol=1e-12, max_iter=10_000).fit(Z, y)
    np.testing.assert_allclose(mixture.coef_[0] * scaler.scale_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(mixture.predict_proba(X), other.predict_proba(Z), atol=1e-6)
    assert (mixture.predict(X) == other.predict(Z)).all()


def test_one_class_has_the_estimates_and_errors_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    X, y, *_ = simulated()
    mixture = LinearClassifierMixture(1, l2=1e-9, random_state=0).fit(X, y)
    other = sm.MNLogit(np.searchsorted(NAMES, y), sm.add_constant(X)).fit(disp=0, maxiter=100)
    # statsmodels has the intercept first, and the first label as the reference
    difference = np.kron(np.array([[-1, 1, 0], [-1, 0, 1]]), np.eye(D + 1))
    size = C * (D + 1)
    theta = np.column_stack([mixture.coef_[0], mixture.intercept_[0]]).ravel()
    errors = np.sqrt(np.diag(difference @ mixture.covariance_[:size, :size] @ difference.T))
    expected = np.roll(other.params.T, -1, axis=1)
    np.testing.assert_allclose((difference @ theta).reshape(2, -1), expected, atol=1e-5)
    np.testing.assert_allclose(errors.reshape(2, -1), np.roll(other.bse.T, -1, axis=1), rtol=1e-5)


@pytest.mark.parametrize("grouped", [False, True])
def test_two_labels_through_this_path_are_the_binary_fit(monkeypatch, grouped):
    """The fit of a mixture whose labels -1 and +1 are taken for the numbers 0 and 1 of labels."""
    X, y, groups, *_ = simulated()
    y, groups = y == "car", groups if grouped else None
    options = {"n_components": K, "subspace": None, "random_state": 0}
    plain = LinearClassifierMixture(**options).fit(X, y, groups=groups)
    monkeypatch.setattr(fit_base, "contrasts", lambda classes: LabelContrasts(2))
    monkeypatch.setattr("spectralmirror.rows.checks.coded", lambda y, c, dtype: y.astype(dtype))
    other = LinearClassifierMixture(**options).fit(X, y, groups=groups)
    np.testing.assert_allclose(other.coef_[:, 1] - other.coef_[:, 0], plain.coef_, rtol=1e-4)
    np.testing.assert_allclose(other.weights_, plain.weights_, rtol=1e-4)
    np.testing.assert_allclose(other.l2_, plain.l2_, rtol=2e-3)  # chosen, to three digits
    np.testing.assert_allclose(other.log_evidence_, plain.log_evidence_, atol=1e-3)
    errors = 2 * other.coef_standard_error_[:, 0]
    np.testing.assert_allclose(errors, plain.coef_standard_error_, rtol=1e-3)
    np.testing.assert_allclose(other.expected_accuracy_, plain.expected_accuracy_, atol=2e-3)


def test_classes_are_found(fitted):
    mixture, X, y, groups, classes, U = fitted
    found = mixture.predict_component(X, y, groups)
    assert component_error(classes, found) < 0.02
    order = np.argsort([-np.mean(classes == c) for c in range(K)])
    z = (mixture.coef_ - U[order]) / mixture.coef_standard_error_
    assert np.abs(z).max() < 4  # 18 numbers
    np.testing.assert_allclose(mixture.coef_.sum(axis=1), 0, atol=1e-12)
    assert mixture.coef_.shape == (K, C, D)
    assert mixture.intercept_.shape == (K, C)
    assert mixture.classes_.tolist() == NAMES.tolist()
    assert mixture.n_parameters_ == K * (C - 1) * (D + 1) + K - 1


def test_predictions_follow_from_coefficients(fitted):
    mixture, X, y, groups, *_ = fitted
    t = np.einsum("nd,kcd->nkc", X, mixture.coef_) + mixture.intercept_
    each = softmax(t, axis=2)
    expected = np.einsum("nkc,k->nc", each, mixture.weights_)
    np.testing.assert_allclose(mixture.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_allclose(mixture.decision_function(X), 2 * expected - 1, atol=1e-12)
    assert (mixture.predict(X) == NAMES[expected.argmax(axis=1)]).all()
    own = np.take_along_axis(each, np.searchsorted(NAMES, y)[:, None, None], axis=2)[:, :, 0]
    of_groups = np.log(own).reshape(PERSONS, LABELS_OF_EACH, K).sum(axis=1)
    joint = np.exp(of_groups) * mixture.weights_
    np.testing.assert_allclose(mixture.score_samples(X, y, groups), np.log(joint.sum(axis=1)))
    posterior = mixture.component_proba(X, y, groups, averaged=False)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior[::LABELS_OF_EACH], expected, rtol=1e-9)
    np.testing.assert_allclose(mixture.bic(X, y, groups), mixture.bic_)
    np.testing.assert_allclose(mixture.aic(X, y, groups), mixture.aic_)
    averaged = mixture.component_proba(X, y)
    plain = mixture.component_proba(X, y, averaged=False)
    assert averaged.max(axis=1).mean() <= plain.max(axis=1).mean()  # less sure


def test_what_is_known_about_persons(fitted):
    mixture, X, y, groups, *_ = fitted
    past, new = np.arange(len(y)) % LABELS_OF_EACH < 5, np.arange(len(y)) % LABELS_OF_EACH >= 5
    history = X[past], y[past], groups[past]
    known = mixture.predict_proba(X[new], groups=groups[new], history=history)
    stranger = mixture.predict_proba(X[new])
    own = np.searchsorted(NAMES, y[new])[:, None]
    loss = [-np.log(np.take_along_axis(p, own, axis=1)).mean() for p in (known, stranger)]
    assert loss[0] < loss[1] - 0.05
    profiles = mixture.person_profiles(X, y, groups)
    assert profiles.coef.shape == (PERSONS, C, D)
    assert profiles.intercept_standard_deviation.shape == (PERSONS, C)


def test_drawn_rows_have_the_predicted_labels(fitted):
    mixture = fitted[0]
    X, y, components = mixture.sample(20_000, random_state=0)
    t = np.einsum("nd,ncd->nc", X, mixture.coef_[components]) + mixture.intercept_[components]
    expected = softmax(t, axis=1).mean(axis=0)
    shares = [(y == name).mean() for name in NAMES]
    np.testing.assert_allclose(shares, expected, atol=0.012)  # 3.5 standard errors


def test_the_summary_has_lines_for_each_label(fitted):
    mixture = fitted[0]
    frame = mixture.summary(as_frame=True)
    assert frame.index.names == ["component", "label", "term"]
    assert len(frame) == K * (1 + C * (D + 1))
    estimate = frame.loc[("B", "car", "x2")]
    np.testing.assert_allclose(estimate["estimate"], mixture.coef_[1, 1, 2])
    np.testing.assert_allclose(estimate["standard_error"], mixture.coef_standard_error_[1, 1, 2])
    text = mixture.summary()
    assert text.count("label bus") == K
    assert "coefficients sum to zero over labels" in text


def test_the_fit_depends_on_no_order_of_labels():
    """The penalty is the same, whichever label comes first."""
    X, y, groups, *_ = simulated()
    names = dict(zip(NAMES, ["c", "a", "b"], strict=True))
    renamed = np.array([names[label] for label in y])
    both = [
        LinearClassifierMixture(K, random_state=0).fit(X, labels, groups=groups)
        for labels in (y, renamed)
    ]
    assert both[0].l2_ == pytest.approx(both[1].l2_, rel=2e-3)
    order = [1, 2, 0]  # of bus, car, rail among c, a, b
    order = np.searchsorted(["a", "b", "c"], [names[name] for name in NAMES])
    np.testing.assert_allclose(both[0].coef_, both[1].coef_[:, order], atol=1e-3)


def test_options(fitted):
    mixture, X, y, groups, classes, _ = fitted
    shared = LinearClassifierMixture(K, shared=[1], random_state=0).fit(X, y, groups=groups)
    np.testing.assert_allclose(shared.coef_[0, :, 1], shared.coef_[1, :, 1], atol=1e-9)
    assert shared.n_parameters_ == mixture.n_parameters_ - (C - 1)
    number = np.where(groups % 5 == 0, 1 - classes, -1)
    known = LinearClassifierMixture(K, random_state=0).fit(X, y, groups=groups, known=number)
    np.testing.assert_allclose(known.coef_[::-1], mixture.coef_, atol=0.3)
    Z = np.random.default_rng(0).standard_normal(PERSONS)[groups] + 2 * classes
    several = LinearClassifierMixture(K, random_state=0).fit(
        X, y, groups=groups, membership=Z[:, None]
    )
    assert several.membership_coef_[1, 0] > 3 * several.membership_coef_standard_error_[1, 0]
    again = LinearClassifierMixture(K, init=mixture, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_allclose(again.coef_, mixture.coef_, atol=1e-3)
    start = mixture.coef_, mixture.intercept_, mixture.weights_
    again = LinearClassifierMixture(K, init=start, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_allclose(again.coef_, mixture.coef_, atol=1e-3)
    twice = LinearClassifierMixture(K, l2=mixture.l2_, random_state=0).fit(
        X, y, groups=groups, sample_weight=np.full(len(y), 2)
    )
    assert twice.log_likelihood_ == pytest.approx(2 * mixture.log_likelihood_, rel=0.01)
    no_intercept = LinearClassifierMixture(K, fit_intercept=False, random_state=0)
    assert not no_intercept.fit(X, y, groups=groups).intercept_.any()


def test_auto_finds_the_number_of_classes():
    X, y, groups, *_ = simulated()
    mixture = LinearClassifierMixture("auto", spread="auto", random_state=0)
    assert mixture.fit(X, pd.Series(y), groups=groups).n_components_ == K
    assert mixture.spread_kind_ is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"response": "probit"}, "response='probit'"),
        ({"response": "hard"}, "response='hard'"),
        ({"solver": "em"}, "solver='em'"),
        ({"signs": {0: 1}}, "signs"),
        ({"subspace": SpectralMirror(2)}, "a SpectralMirror"),
        ({"refine": False}, "refine=False"),
    ],
)
def test_options_that_need_two_labels_say_so(options, named):
    X, y, groups, *_ = simulated()
    with pytest.raises(ValueError, match=r"Only binary classification is supported with ") as error:
        LinearClassifierMixture(K, **options).fit(X, y, groups=groups)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_labels_that_are_rare_or_too_many():
    X, y, *_ = simulated()
    rare = y.astype(object)
    rare[7] = "once"
    with pytest.warns(MixtureWarning, match=r"Label 'once' occurs in 1 row only: .* mistake"):
        mixture = LinearClassifierMixture(1, random_state=0).fit(X, rare)
    assert mixture.predict_proba(X)[:, 2].mean() == pytest.approx(1 / len(y), rel=0.01)
    with pytest.raises(ValueError, match=r"y has 40 different values .* in 60 rows"):
        LinearClassifierMixture().fit(X[:60], np.arange(60) % 40)
    many = np.arange(400) % 100
    with pytest.warns(MixtureWarning, match="and 99 other labels in fewer than 5"):
        mixture = LinearClassifierMixture(1, random_state=0).fit(X[:400], many)
    assert mixture.coef_.shape == (1, 100, D)
    with pytest.raises(ValueError, match="missing label"):
        LinearClassifierMixture().fit(X, [np.nan, *range(1, len(X))])
    with pytest.raises(ValueError, match="continuous"):
        LinearClassifierMixture().fit(X, X[:, 0])


def test_bootstrap(fitted):
    mixture, X, y, groups, *_ = fitted
    found = mixture.bootstrap(X, y, groups=groups, n=40, random_state=0)
    assert found.coef.shape == (40, K, C, D)
    ratio = found.standard_error.coef / mixture.coef_standard_error_
    assert 0.75 < np.median(ratio) < 1.25
    line = next(one for one in found.summary().splitlines() if one.startswith("x2"))
    own = found.standard_error.coef[0, 0, 2]
    assert f"{own:.4g}" in line


def test_what_describes_two_labels_says_so(fitted):
    mixture = fitted[0]
    with pytest.raises(ValueError, match="takes mixtures of two labels, but this one has 3"):
        plot_spread(mixture)
    with pytest.raises(ValueError, match="label is missing: name one of"):
        ratios(mixture, 0, 1)


def test_profiles_of_labels_are_drawn(fitted):
    mixture = fitted[0]
    data = profiles_data(mixture, 5, 0.95)
    assert data["n_features"] == C * D
    sizes = np.abs(mixture.coef_ * mixture.feature_scale_).max(axis=0)
    c, j = np.unravel_index(sizes.argmax(), sizes.shape)
    assert data["features"][0] == f"{NAMES[c]}: x{j}"
    own = mixture.coef_[:, c, j] * mixture.feature_scale_[j]
    np.testing.assert_allclose(np.array(data["profiles"])[:, 0], own)


def test_frames(fitted):
    mixture = fitted[0]
    frame = mixture.coef_frame()
    assert frame.loc["car: x2", "B"] == mixture.coef_[1, 1, 2]
    assert frame.loc["rail: (intercept)", "A"] == mixture.intercept_[0, 2]
    assert len(frame) == C * (D + 1)


def test_files_have_the_fit_of_arrays(fitted, tmp_path):
    mixture, X, y, groups, *_ = fitted
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, person=groups)
    for part in range(3):  # whole persons follow each other
        frame[groups // 50 == part].to_parquet(tmp_path / f"part-{part}.parquet", index=False)
    source = spectralmirror.scan(tmp_path / "part-*.parquet", label="y", groups="person")
    scanned = LinearClassifierMixture(K, random_state=0).fit(source)
    np.testing.assert_allclose(scanned.coef_, mixture.coef_, atol=1e-8)
    assert scanned.classes_.tolist() == NAMES.tolist()
    with pytest.raises(ValueError, match="Only binary classification"):
        SpectralMirror(2).fit(source)


def test_dask_has_the_fit_of_arrays(fitted):
    dask = pytest.importorskip("dask")
    from dask import dataframe

    mixture, X, y, groups, *_ = fitted
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, person=groups)
    parts = dataframe.from_pandas(frame, npartitions=2)
    features = parts[["a", "b", "c"]]
    with dask.config.set(scheduler="synchronous"):
        found = LinearClassifierMixture(K, random_state=0)
        found.fit(features, parts["y"], groups=parts["person"])
        P = found.predict_proba(features).compute()
        labels = found.predict(features).compute()
    np.testing.assert_allclose(found.coef_, mixture.coef_, atol=1e-8)
    np.testing.assert_allclose(P, mixture.predict_proba(X), atol=1e-8)
    assert (labels == mixture.predict(X)).all()
