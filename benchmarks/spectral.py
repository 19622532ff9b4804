"""Speed of the spectral methods, against X'X and other implementations; their peak memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from statsmodels.regression.dimred import PHD

from benchmarks.measure import Row, compare, cpu_seconds, peak_beyond
from spectralmirror import FeatureMoments, PrincipalHessianDirections, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture


def data(n: int, d: int, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_linear_classifier_mixture(
        n, d, response="hard", weights=[0.5, 0.5], random_state=0
    )
    return X.astype(dtype), y


def paper(X: np.ndarray, y: np.ndarray) -> SpectralMirror:
    return SpectralMirror(2, method="paper").fit(X, y)


def plain_numpy(X: np.ndarray, y: np.ndarray, k: int = 2) -> np.ndarray:
    """Return the result of Algorithm 1, written plainly."""
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


def rows() -> Iterator[Row]:
    for dtype in (np.float64, np.float32):
        X, y = data(200_000, 200, dtype)
        ours, bare = compare(lambda: paper(X, y), lambda: X.T @ X)  # noqa: B023
        name = np.dtype(dtype).name
        yield Row(
            f"method='paper' / bare X'X, 200,000 x 200, {name}",
            ours / bare,
            "<= 2.0",
            f"{ours:.3f} s / {bare:.3f} s",
        )
    X, y = data(200_000, 200)
    ours, bare = compare(
        lambda: SpectralMirror(2, random_state=0).fit(X, y), lambda: X.T @ X, clock=cpu_seconds
    )
    wall, bare_wall = compare(
        lambda: SpectralMirror(2, random_state=0).fit(X, y), lambda: X.T @ X, repeat=5
    )
    yield Row(
        "default method / bare X'X, 200,000 x 200, float64, CPU time",
        ours / bare,
        "<= 3.0",
        f"{ours:.2f} s / {bare:.2f} s; wall clock {wall / bare_wall:.1f}",
    )
    naive, ours = compare(lambda: plain_numpy(X, y), lambda: paper(X, y), repeat=3)
    yield Row("plain numpy / method='paper', same rows", naive / ours, "> 1", f"{naive:.3f} s")

    X, y = data(400_000, 200)
    double, single = compare(
        lambda: paper(X, y),
        lambda: paper(X[:200_000], y[:200_000]),
    )
    yield Row("400,000 rows / 200,000 rows", double / single, "1.8 to 2.3", f"{double:.3f} s")
    del X, y

    for method, dtype, target, given in (
        ("paper", "float64", "<= 0.10", ""),
        ("paper", "float32", "<= 0.10", ""),
        ("stacked", "float64", "<= 0.15", ""),
        ("stacked", "float64", "<= 0.15", ", groups=np.arange(len(y)) // 5"),
    ):
        size, extra = peak_beyond(
            setup=(
                "import numpy as np\n"
                "from spectralmirror import SpectralMirror\n"
                f"X = np.random.default_rng(0).standard_normal((200_000, 200), dtype=np.{dtype})\n"
                "z = np.random.default_rng(1).random(200_000)\n"
                "y = np.where(z < 0.5, X[:, 0], X[:, 1]) > 0\n"
                "(X[:4000].T @ X[:4000])\n"
                "def fit(X, y):\n"
                f"    mirror = SpectralMirror(2, method={method!r}, random_state=0)\n"
                f"    return mirror.fit(X, y{given})\n"
                "fit(X[:40_000, :2], y[:40_000])\n"
            ),
            call="fit(X, y)",
        )
        groups = ", groups of 5" if given else ""
        yield Row(
            f"peak memory beyond X / X, method={method!r}, 200,000 x 200, {dtype}{groups}",
            extra / size,
            target,
            f"{extra / 1e6:.0f} MB / {size / 1e6:.0f} MB",
        )

    X, y = data(20_000, 2_000)
    known = {"mean": 0.0, "covariance": np.eye(2_000), "random_state": 0}
    dense, lanczos = compare(
        lambda: SpectralMirror(2, method="paper", eigen_solver="dense", **known).fit(X, y),
        lambda: SpectralMirror(2, method="paper", **known).fit(X, y),
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
        lambda: paper(X, y),
        lambda: SpectralMirror(2, method="paper", moments=moments, random_state=0).fit(X, y),
        repeat=2,
    )
    yield Row(
        "another label vector: everything again / moments reused, same rows",
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
