"""What a fit must do when its rows are mapped, permuted, repeated or cut into blocks."""

import warnings
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spectralmirror import (
    LinearClassifierMixture,
    MixtureWarning,
    SpectralMirror,
    WeakSignalWarning,
    scan,
)
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error

#: Several fits for each example.
FEWER = settings(max_examples=settings().max_examples // 4)


@st.composite
def clear(draw):
    """Two classifiers that groups of eight rows distinguish, and a seed for the transformation."""
    seed, d = draw(st.integers(0, 10_000), label="seed"), draw(st.integers(2, 5), label="d")
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, d)))[0][:2] * 2.5
    X, y, truth = make_linear_classifier_mixture(
        2_000, profiles=U, weights=[0.6, 0.4], group_size=8, random_state=seed
    )
    return X, y, truth.groups, rng


def mixture_of(X, y, groups, **options):
    options = {"l2": 0.0, "random_state": 0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("error", MixtureWarning)
        return LinearClassifierMixture(2, **options).fit(X, y, groups=groups)


def mirror_of(X, y, groups=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakSignalWarning)
        return SpectralMirror(2, random_state=0, **options).fit(X, y, groups=groups)


@FEWER
@given(clear())
def test_linear_maps_and_shifts(table):
    """x -> A x + b: profiles become A^-T u, intercepts lose <A^-T u, b>, predictions stay."""
    X, y, groups, rng = table
    d = X.shape[1]
    left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in "ab")
    A = left * 10.0 ** rng.uniform(-2, 2, d) @ right
    b = 10.0 ** rng.uniform(-1, 3) * rng.standard_normal(d)
    mapped = X @ A.T + b
    one, other = mixture_of(X, y, groups), mixture_of(mapped, y, groups)
    np.testing.assert_allclose(other.coef_ @ A, one.coef_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        other.intercept_ + other.coef_ @ b, one.intercept_, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(other.predict_proba(mapped), one.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-6)
    before, after = mirror_of(X, y, groups), mirror_of(mapped, y, groups)
    assert subspace_error(after.components_ @ A, before.components_) < 1e-4


@FEWER
@given(clear())
def test_flipped_labels_permuted_rows_and_renamed_groups(table):
    X, y, groups, rng = table
    one = mixture_of(X, y, groups)
    flipped = mixture_of(X, -y, groups)
    np.testing.assert_allclose(flipped.coef_, -one.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(flipped.predict_proba(X), one.predict_proba(X)[:, ::-1], atol=1e-7)
    order = rng.permutation(len(X))
    names = np.array([f"evening {g}" for g in rng.permutation(groups.max() + 1)[groups]])
    other = mixture_of(X[order], y[order], names[order])
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        other.component_proba(X, y, groups=names),
        one.component_proba(X, y, groups=groups),
        atol=1e-6,
    )
    span = mirror_of(X, y, groups).components_
    for again in (mirror_of(X, -y, groups), mirror_of(X[order], y[order], names[order])):
        assert subspace_error(again.components_, span) < 1e-5


@FEWER
@given(clear())
def test_repeated_rows_are_weights(table):
    X, y, groups, rng = table
    times = np.repeat(rng.integers(0, 4, groups.max() + 1), 8)[: len(X)]
    # a group that counts twice is two groups
    copies = np.concatenate([np.arange(w) for w in times]).astype(int)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = mixture_of(X[rows], y[rows], groups[rows] * 4 + copies)
    weighted = LinearClassifierMixture(2, l2=0.0, random_state=0).fit(
        X, y, groups=groups, sample_weight=times
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.log_likelihood_, repeated.log_likelihood_, rtol=1e-9)
    np.testing.assert_allclose(
        weighted.coef_standard_error_, repeated.coef_standard_error_, rtol=1e-3
    )


@FEWER
@given(clear(), st.data())
def test_blocks_of_any_size_are_the_rows(table, data):
    X, y, groups, _ = table
    edges = [0, *sorted(data.draw(st.sets(st.integers(1, len(X) - 1), max_size=6))), len(X)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    source = scan(lambda: ((X[part], y[part], groups[part]) for part in parts))
    one, other = mixture_of(X, y, groups), LinearClassifierMixture(2, l2=0.0, random_state=0)
    other.fit(source)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other.log_likelihood_, one.log_likelihood_, rtol=1e-9)
    again = SpectralMirror(2, random_state=0).fit(source)
    assert subspace_error(again.components_, mirror_of(X, y, groups).components_) < 1e-6
