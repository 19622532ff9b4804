"""Algorithm 1: against one bare X'X, against other routes to the same answer, and in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from statsmodels.regression.dimred import PHD

from benchmarks.measure import Row, compare, peak_beyond
from spectralmirror import FeatureMoments, PrincipalHessianDirections, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error


def data(n: int, d: int, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_linear_classifier_mixture(
        n, d, response="hard", weights=[0.5, 0.5], random_state=0
    )
    return X.astype(dtype), y


def plain_numpy(X: np.ndarray, y: np.ndarray, k: int = 2) -> np.ndarray:
    """Algorithm 1 as most people would write it."""
    first, second = np.array_split(np.arange(len(X)), 2)
    mu = X[first].mean(axis=0)
    sigma = np.cov(X[first].T)
    r = np.linalg.solve(sigma, y[first] @ (X[first] - mu) / len(first))
    values, vectors = eigh(sigma)
    root = vectors / np.sqrt(values) @ vectors.T
    W = (X[second] - mu) @ root
    z = y[second] * np.sign(X[second] @ r)
    eigenvalues, w = eigh((W * z[:, None]).T @ W / len(second))
    furthest = np.argsort(-np.abs(eigenvalues - np.median(eigenvalues)))[:k]
    return root @ w[:, furthest]


def largest_sine(seed: int, d: int = 50, rows_per_feature: int = 400) -> float:
    X, y, truth = make_linear_classifier_mixture(
        rows_per_feature * d,
        d,
        profiles=np.eye(2, d),
        weights=[0.5, 0.5],
        response="hard",
        random_state=seed,
    )
    return subspace_error(SpectralMirror(2).fit(X, y).components_, truth.profiles)


def rows() -> Iterator[Row]:
    for dtype in (np.float64, np.float32):
        X, y = data(200_000, 200, dtype)
        ours, bare = compare(lambda: SpectralMirror(2).fit(X, y), lambda: X.T @ X)  # noqa: B023
        name = np.dtype(dtype).name
        yield Row(
            f"method='paper' / bare X'X, 200,000 x 200, {name}",
            ours / bare,
            "<= 2.0",
            f"{ours:.3f} s / {bare:.3f} s",
        )
    X, y = data(200_000, 200)
    naive, ours = compare(lambda: plain_numpy(X, y), lambda: SpectralMirror(2).fit(X, y), repeat=3)
    yield Row("plain numpy / method='paper', same rows", naive / ours, "> 1", f"{naive:.3f} s")

    X, y = data(400_000, 200)
    double, single = compare(
        lambda: SpectralMirror(2).fit(X, y), lambda: SpectralMirror(2).fit(X[:200_000], y[:200_000])
    )
    yield Row("400,000 rows / 200,000 rows", double / single, "1.8 to 2.3", f"{double:.3f} s")
    del X, y

    for dtype in ("float64", "float32"):
        size, extra = peak_beyond(
            setup=(
                "import numpy as np\n"
                "from spectralmirror import SpectralMirror\n"
                f"X = np.random.default_rng(0).standard_normal((200_000, 200), dtype=np.{dtype})\n"
                "y = X[:, 0] > 0\n"
                "(X[:4000].T @ X[:4000])\n"
                "SpectralMirror(2).fit(X[:500], y[:500])\n"
            ),
            call="SpectralMirror(2).fit(X, y)",
        )
        yield Row(
            f"peak memory beyond X / X, 200,000 x 200, {dtype}",
            extra / size,
            "<= 0.10",
            f"{extra / 1e6:.0f} MB / {size / 1e6:.0f} MB",
        )

    X, y = data(20_000, 2_000)
    known = {"mean": 0.0, "covariance": np.eye(2_000), "random_state": 0}
    dense, lanczos = compare(
        lambda: SpectralMirror(2, eigen_solver="dense", **known).fit(X, y),
        lambda: SpectralMirror(2, **known).fit(X, y),
        repeat=3,
    )
    yield Row(
        "dense / Lanczos, known covariance, 20,000 x 2,000",
        dense / lanczos,
        ">= 5",
        f"{dense:.2f} s / {lanczos:.2f} s",
    )
    moments = FeatureMoments.from_rows(X)
    anew, reused = compare(
        lambda: SpectralMirror(2).fit(X, y),
        lambda: SpectralMirror(2, moments=moments, random_state=0).fit(X, y),
        repeat=2,
    )
    yield Row(
        "another label vector: all anew / moments reused, same rows",
        anew / reused,
        "> 1",
        f"{anew:.2f} s / {reused:.2f} s",
    )
    X, y = data(100_000, 100)
    theirs, ours = compare(
        lambda: PHD(y, X).fit(), lambda: PrincipalHessianDirections(2).fit(X, y), repeat=3
    )
    yield Row(
        "statsmodels PHD / PrincipalHessianDirections, 100,000 x 100",
        theirs / ours,
        "> 1",
        f"{theirs:.3f} s / {ours:.3f} s",
    )
    sines = [largest_sine(seed) for seed in range(10)]
    yield Row(
        "sine of the largest angle: hard, 90 degrees, 20,000 x 50",
        float(np.mean(sines)),
        "< 0.35",
        f"10 seeds, {min(sines):.2f} to {max(sines):.2f}",
    )
