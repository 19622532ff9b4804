"""Algorithm 1 against a literal transcription, and what must hold under transformations."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh

from spectralmirror import SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.algorithm1 import algorithm1

paper = partial(SpectralMirror, method="paper")


def literal(X, Y, k, mu=None, Sigma=None):
    """The eight lines of Algorithm 1; without the first two where mu and Sigma are known."""
    n = len(X)
    lower, upper = int(np.floor(n / 2)), int(np.ceil(n / 2))
    first, second = range(lower), range(lower, n)
    if mu is None:
        mu = sum(X[i] for i in first) / lower
        Sigma = sum(np.outer(X[i] - mu, X[i] - mu) for i in first) / upper
    else:
        first = second = range(n)
        lower = upper = n
    inverse = np.linalg.inv(Sigma)
    r = sum(Y[i] * inverse @ (X[i] - mu) for i in first) / lower
    Z = {i: Y[i] * np.sign(r @ X[i]) for i in second}
    values, vectors = eigh(Sigma)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    Q = sum(Z[i] * root @ np.outer(X[i] - mu, X[i] - mu) @ root for i in second) / upper
    eigenvalues, w = eigh(Q)
    furthest = np.argsort(-np.abs(eigenvalues - np.median(eigenvalues)))[:k]
    return (root @ w[:, furthest]).T, r, eigenvalues


def mixture(n, d, k=2, seed=0, **options):
    rng = np.random.default_rng(seed)
    A = 0.4 * rng.standard_normal((d, d)) / np.sqrt(d) + np.eye(d)
    return make_linear_classifier_mixture(n, d, k, covariance=A @ A.T, random_state=seed, **options)


@pytest.mark.parametrize("n", [600, 601])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 2), (8, 3), (9, 4), (6, 6)])
@pytest.mark.parametrize("mean", [0.0, 0.7])
def test_to_the_letter(n, d, k, mean):
    X, y, _ = mixture(n, d, k, seed=d, mean=mean)
    basis, r, eigenvalues = literal(X, y, k)
    mirror = paper(k).fit(X, y)
    assert subspace_error(mirror.components_, basis) < 1e-8
    np.testing.assert_allclose(mirror.mirror_direction_, r, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.sort(mirror.eigenvalues_), eigenvalues, atol=1e-10)
    assert mirror.bulk_ == pytest.approx(np.median(eigenvalues), abs=1e-12)
    distance = np.abs(mirror.eigenvalues_ - mirror.bulk_)
    assert (np.diff(distance) <= 1e-12).all()


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_to_the_letter_with_known_features(solver, shift):
    d = 7
    X, y, _ = mixture(800, d)
    X = X + shift
    mu = np.full(d, 0.1) + shift
    Sigma = np.cov(X.T) + 0.1 * np.eye(d)
    basis, r, eigenvalues = literal(X, y, 2, mu, Sigma)
    mirror = paper(2, mean=mu, covariance=Sigma, eigen_solver=solver, tol=0.0, random_state=0).fit(
        X, y
    )
    assert subspace_error(mirror.components_, basis) < 1e-8
    np.testing.assert_allclose(mirror.mirror_direction_, r, rtol=1e-8, atol=1e-10)
    kept = eigenvalues[np.argsort(-np.abs(eigenvalues - np.median(eigenvalues)))[:2]]
    np.testing.assert_allclose(np.sort(mirror.eigenvalues_[:2]), np.sort(kept), atol=1e-9)


def assert_same_spectrum(one, other):
    """Sorted by size: two eigenvalues as far from the median as each other have no order."""
    np.testing.assert_allclose(
        np.sort(one.eigenvalues_), np.sort(other.eigenvalues_), rtol=0, atol=1e-11
    )
    assert one.bulk_ == pytest.approx(other.bulk_, abs=1e-12)


def test_orthonormal_components_with_fixed_signs():
    X, y, _ = mixture(2000, 8, 3)
    mirror = paper(3).fit(X, y)
    np.testing.assert_allclose(mirror.components_ @ mirror.components_.T, np.eye(3), atol=1e-14)
    largest = np.abs(mirror.components_).argmax(axis=1)
    assert (mirror.components_[range(3), largest] > 0).all()
    np.testing.assert_allclose(mirror.transform(X), X @ mirror.components_.T)


def test_finds_the_span_at_the_rate_of_the_theorem():
    """sin d_P falls as sqrt(d/n): 16 times the rows, a quarter of the error (within 2 times)."""
    errors = []
    for n in (16_000, 256_000):
        X, y, truth = make_linear_classifier_mixture(
            n, 10, response="hard", weights=[0.5, 0.5], profiles=np.eye(2, 10), random_state=0
        )
        errors.append(subspace_error(paper(2).fit(X, y).components_, truth.profiles))
    assert errors[0] < 0.3
    assert errors[1] < errors[0] / 2


def test_linear_maps_of_the_features():
    """Profiles are covectors: x -> A x takes the span to its image under A^-T."""
    X, y, _ = mixture(3000, 6)
    A = np.random.default_rng(5).standard_normal((6, 6))
    plain, mapped = paper(2).fit(X, y), paper(2).fit(X @ A.T, y)
    assert subspace_error(mapped.components_ @ A, plain.components_) < 1e-9
    assert_same_spectrum(mapped, plain)


@pytest.mark.parametrize("span", [9, 20, 100])
def test_units_do_not_matter(span):
    X, y, _ = mixture(3000, 6)
    scale = np.logspace(-span, span, 6)[[2, 0, 5, 3, 1, 4]]
    plain, scaled = paper(3).fit(X, y), paper(3).fit(X * scale, y)
    found = scaled.components_
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-13)
    assert subspace_error(found * scale, plain.components_) < 1e-9
    assert_same_spectrum(scaled, plain)


def test_very_different_units_end():
    """A case in which Gram-Schmidt once went on for ever."""
    rng = np.random.default_rng(101)
    scale = 10.0 ** rng.uniform(-100, 100, 12)
    X, u = rng.standard_normal((500, 12)), rng.standard_normal((2, 12))
    y = np.where((X * u[rng.integers(2, size=500)]).sum(axis=1) > 0, 1, -1)
    assert np.isfinite(paper(12).fit(X * scale, y).components_).all()


def test_label_flip_and_order_within_halves():
    X, y, _ = mixture(2001, 6)
    plain = paper(2).fit(X, y)
    flipped = paper(2).fit(X, -y)
    np.testing.assert_allclose(flipped.mirror_direction_, -plain.mirror_direction_)
    np.testing.assert_allclose(flipped.components_, plain.components_, atol=1e-12)
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(1000), 1000 + rng.permutation(1001)])
    shuffled = paper(2).fit(X[order], y[order])
    assert subspace_error(shuffled.components_, plain.components_) < 1e-12


@pytest.mark.parametrize("known", [False, True])
def test_weights(known):
    """Weight 0 is an absent row; weight 2 the row twice, where the order makes no halves."""
    X, y, _ = mixture(1000, 4)
    options = {"mean": np.zeros(4), "covariance": np.eye(4) + 0.2} if known else {}
    mirror = paper(2, **options)
    kept = np.random.default_rng(0).random(1000) < 0.6
    absent = mirror.fit(X, y, sample_weight=kept)
    plain = paper(2, **options).fit(X[kept], y[kept])
    assert subspace_error(absent.components_, plain.components_) < 1e-12
    assert_same_spectrum(absent, plain)
    scaled = paper(2, **options).fit(X, y, sample_weight=kept * 1e3)
    assert_same_spectrum(scaled, plain)
    if known:
        times = np.random.default_rng(1).integers(0, 4, 1000)
        weighted = paper(2, **options).fit(X, y, sample_weight=times)
        repeated = paper(2, **options).fit(np.repeat(X, times, 0), np.repeat(y, times))
        assert subspace_error(weighted.components_, repeated.components_) < 1e-12
        lanczos = paper(1, **options, eigen_solver="lanczos", tol=0, random_state=0)
        lanczos.fit(X, y, sample_weight=times)
        assert subspace_error(lanczos.components_, weighted.components_) < 1e-12


@pytest.mark.parametrize("include", [False, True])
def test_sparse_rows(include):
    rng = np.random.default_rng(0)
    X = sparse.random_array((4000, 12), density=0.2, random_state=rng, format="csr")
    y = np.where(X @ rng.standard_normal(12) + 0.1 * rng.standard_normal(4000) > 0, 1, -1)
    known = {"mean": X.mean(axis=0), "covariance": np.cov(X.toarray().T)}
    for options in ({}, known, {**known, "eigen_solver": "lanczos", "tol": 0.0}):
        mirror = paper(2, include_mirror_direction=include, random_state=0, **options)
        dense = mirror.fit(X.toarray(), y)
        components, projected = dense.components_, dense.transform(X.toarray())
        mirror.fit(X, y)
        assert subspace_error(mirror.components_, components) < 1e-10
        np.testing.assert_allclose(mirror.transform(X), projected, atol=1e-10)


def test_single_precision_and_other_layouts():
    X, y, _ = mixture(20_000, 8, response="hard", weights=[0.5, 0.5])
    double = paper(2).fit(X, y)
    single = paper(2).fit(X.astype(np.float32), y)
    assert subspace_error(single.components_, double.components_) < 1e-5
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        other = paper(2).fit(same, y)
        assert subspace_error(other.components_, double.components_) < 1e-12


def test_single_precision_is_not_copied_to_double():
    """The peak of new memory stays below half of X, where a float64 copy would be twice X."""
    import tracemalloc

    X = np.random.default_rng(0).standard_normal((200_000, 50), dtype=np.float32)
    y = X[:, 0] > 0.1
    tracemalloc.start()
    paper(2).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


@pytest.mark.parametrize("n", [600, 601])
def test_every_line_of_the_function(n):
    """The function itself: what each line computes, with the whole spectrum at hand."""
    X, y, _ = mixture(n, 5, mean=0.7)
    found = algorithm1(Rows(X, y.astype(float)), 2)
    half = n // 2
    mu = X[:half].mean(axis=0)
    Sigma = (X[:half] - mu).T @ (X[:half] - mu) / (n - half)
    L = found.whitening.scale[:, None] * found.whitening.cholesky
    np.testing.assert_allclose(found.whitening.mean, mu)  # line 1
    np.testing.assert_allclose(L @ L.T, Sigma)  # line 2
    basis, r, eigenvalues = literal(X, y, 2)
    np.testing.assert_allclose(found.direction, r, rtol=1e-10, atol=1e-12)  # line 3
    Z = y[half:] * np.sign(X[half:] @ r)
    assert found.second.mirrored_mean == pytest.approx(Z.mean())  # line 4
    W = np.linalg.solve(L, (X[half:] - mu).T).T
    V, values = found.spectrum.vectors, found.spectrum.eigenvalues
    np.testing.assert_allclose(V * values @ V.T, (W.T * Z) @ W / len(W), atol=1e-10)  # 5, 6
    np.testing.assert_allclose(np.sort(values), eigenvalues, atol=1e-10)
    distances = np.abs(eigenvalues - np.median(eigenvalues))
    np.testing.assert_allclose(found.spectrum.deviations, np.sort(distances)[::-1])  # line 7
    assert subspace_error(found.basis, basis) < 1e-8  # line 8
