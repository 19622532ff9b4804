"""What must hold for any valid data; `make properties` tries many more examples."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    load,
    pairwise_differences,
    save,
)
from tests.helpers.digests import digest
from tests.helpers.refusals import assert_clear

pytestmark = pytest.mark.filterwarnings(
    "ignore::spectralmirror.MixtureWarning",  # some of these tables have few rows,
    "ignore::spectralmirror.WeakSignalWarning",  # or labels independent of the features
    "ignore:.*shuffle rows that are sorted",
)

DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy": lambda rng, shape: rng.standard_t(2, shape),
    "skew": lambda rng, shape: rng.exponential(size=shape),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "counts": lambda rng, shape: rng.poisson(3.0, shape).astype(float),
    "lattice": lambda rng, shape: rng.integers(-1, 2, shape) * 0.1,
}
LABELS = [(-1, 1), (0, 1), (False, True), ("no", "yes"), (2.5, 7.0)]


@st.composite
def tables(draw, most_rows=120, most_features=5):
    """Rows of any distribution and unit; labels of any kind, dependent on the features or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n, d = draw(st.integers(2, most_rows), label="n"), draw(st.integers(1, most_features))
    X = DRAWS[draw(st.sampled_from(sorted(DRAWS)))](rng, (n, d))
    score = X @ rng.standard_normal((d, 2)) * draw(st.sampled_from([0.0, 1.0, 100.0]))
    score = score[np.arange(n), rng.integers(0, 2, n)] + rng.logistic(size=n)
    X = X * 10.0 ** np.array(draw(st.lists(st.integers(-9, 9), min_size=d, max_size=d)))
    X = (X + draw(st.sampled_from([0.0, 1.0, -1e3]))).astype(draw(st.sampled_from(["f8", "f4"])))
    y = np.array(draw(st.sampled_from(LABELS)))[(score > 0).astype(int)]
    groups = draw(st.sampled_from([None, rng.integers(0, n, n)]))
    weight = draw(st.sampled_from([None, rng.integers(0, 3, n), rng.exponential(size=n)]))
    return X, y, groups, weight


def fitted_or_refused(estimator, *rows, **named):
    """Return the fitted estimator, or None if a clear sentence says why it cannot be fitted."""
    try:
        return estimator.fit(*rows, **named)
    except ValueError as error:
        sentence = str(error)
    event(f"refused: {sentence[:20]}")
    assert_clear(sentence)
    return None


@given(
    tables(),
    st.sampled_from([1, 2, 3, "auto"]),
    st.sampled_from(["logistic", "probit", "hard"]),
)
def test_a_mixture_is_a_distribution(table, k, response):
    X, y, groups, weight = table
    mixture = LinearClassifierMixture(k, response=response, n_init=3, random_state=0)
    if fitted_or_refused(mixture, X, y, groups=groups, sample_weight=weight) is None:
        return
    k = mixture.n_components_
    assert mixture.coef_.shape == (k, X.shape[1])
    assert np.isfinite(mixture.coef_).all()
    assert np.isfinite(mixture.intercept_).all()
    assert np.isfinite([mixture.objective_, mixture.log_likelihood_, mixture.bic_]).all()
    assert (mixture.weights_ >= 0).all()
    assert mixture.weights_.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(mixture.weights_) <= 0).all()
    P, E = mixture.predict_proba(X), mixture.decision_function(X)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(E, P[:, 1] - P[:, 0], atol=1e-12)
    decided = np.abs(E) > 1e-12
    assert (mixture.predict(X) == mixture.classes_[(E > 0).astype(int)])[decided].all()
    for known in (None, groups):
        r = mixture.component_proba(X, y, groups=known)
        assert ((r >= 0) & (r <= 1)).all()
        np.testing.assert_allclose(r.sum(axis=1), 1, rtol=1e-12)
    said = np.where(y == mixture.classes_[1], P[:, 1], P[:, 0])
    np.testing.assert_allclose(np.exp(mixture.score_samples(X, y)), said, rtol=1e-6, atol=1e-12)
    assert isinstance(mixture.summary(), str)
    drawn, labels = mixture.sample(5, random_state=0)[:2]
    assert np.isfinite(drawn).all()
    assert set(labels.tolist()) <= set(mixture.classes_.tolist())


@given(
    tables(),
    st.sampled_from(
        [
            SpectralMirror(1, random_state=0),
            SpectralMirror(2, random_state=0),
            SpectralMirror("auto", random_state=0),
            SpectralMirror(2, elliptical=True, random_state=0),
            SpectralMirror(1, method="paper"),
            PrincipalHessianDirections(1),
        ]
    ),
)
def test_components_are_orthonormal(table, estimator):
    X, y, groups, weight = table
    named = {"sample_weight": weight}
    if getattr(estimator, "method", "paper") != "paper":
        named["groups"] = groups
    if fitted_or_refused(estimator, X, y, **named) is None:
        return
    B = estimator.components_
    np.testing.assert_allclose(B @ B.T, np.eye(len(B)), atol=1e-10)
    assert np.isfinite(estimator.eigenvalues_).all()
    T = estimator.transform(X)
    assert T.shape == (len(X), len(B))
    scale = np.abs(X).max() * X.shape[1]
    np.testing.assert_allclose(T, X @ B.T, atol=1e-5 * scale if X.dtype == "f4" else 1e-12 * scale)


@given(tables(), st.data())
def test_moments_can_be_merged_in_any_order(table, data):
    X, _, _, weight = table
    order = data.draw(st.permutations(range(4)))
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(X)), min_size=3, max_size=3)))]
    edges.append(len(X))
    parts = [slice(a, b) for a, b in pairwise(edges)]
    parts = [parts[j] for j in order if parts[j].stop > parts[j].start]
    if weight is not None:
        parts = [part for part in parts if weight[part].any()]
        weight = np.round(weight)  # counts, which mean the same in every part
        if not all(weight[part].any() for part in parts) or not parts:
            return
    given_weights = [None if weight is None else weight[part] for part in parts]
    try:
        whole = FeatureMoments.from_rows(X, sample_weight=weight)
    except ValueError:
        return
    merged = FeatureMoments.from_rows(X[parts[0]], sample_weight=given_weights[0])
    for part, counts in zip(parts[1:], given_weights[1:], strict=True):
        merged += FeatureMoments.from_rows(X[part], sample_weight=counts)
    scale = np.abs(X).max(axis=0).astype(float)
    scale[scale == 0] = 1
    rtol = 1e-5 if X.dtype == "f4" else 1e-11
    np.testing.assert_allclose(merged.mean / scale, whole.mean / scale, atol=rtol)
    np.testing.assert_allclose(
        merged.covariance / np.outer(scale, scale),
        whole.covariance / np.outer(scale, scale),
        atol=rtol,
    )


@given(tables(), st.sampled_from(["mixture", "mirror"]))
def test_what_is_stored_is_what_was_fitted(table, kind):
    X, y, groups, _ = table
    model = {
        "mixture": LinearClassifierMixture(2, n_init=2, random_state=0),
        "mirror": SpectralMirror(1, random_state=0),
    }[kind]
    if fitted_or_refused(model, X, y, groups=groups) is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.skops")
        again = load(Path(folder) / "model.skops")
    assert digest(again) == digest(model)
    if kind == "mixture":
        assert (again.predict_proba(X) == model.predict_proba(X)).all()
        assert (again.component_proba(X, y) == model.component_proba(X, y)).all()
    else:
        assert (again.transform(X) == model.transform(X)).all()


@given(tables(), st.sampled_from([("left", "right"), (1, 2), (True, False), (1, -1)]))
def test_comparisons_do_not_depend_on_the_side(table, names):
    """Swapping the sides changes the sign of the difference and the label, and nothing else."""
    X = table[0]
    half = len(X) // 2
    left, right = X[:half], X[half : 2 * half]
    won = np.arange(half) % 2 == 0
    differences, y = pairwise_differences(left, right, np.where(won, *names))
    swapped, z = pairwise_differences(right, left, np.where(won, *names[::-1]))
    assert (differences == -swapped).all()
    assert (y == won).all()
    assert (y != z).all()
