"""Wide rows: embeddings and sparse text, against logistic regression on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.fft import dct
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from benchmarks.measure import Row, compare, cpu_seconds, peak_beyond, print_table
from spectralmirror import LinearClassifierMixture, MixtureWarning

#: Rows of a group, and new rows on which log-losses are measured.
GROUP, N_NEW = 10, 4_000
#: Inverse penalties among which logistic regression takes the best for new rows.
PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)

#: X, y and groups, the last N_NEW rows for tests
Data = tuple[Any, Any, Any]


def _labelled(X: Any, profiles: Any, rng: np.random.RandomState) -> Data:
    groups = np.arange(X.shape[0]) // GROUP
    classes = rng.randint(len(profiles), size=groups[-1] + 1)[groups]
    t = np.asarray(X @ profiles.T)[np.arange(len(groups)), classes]
    y = np.where(rng.uniform(size=len(groups)) < expit(t), 1, -1)
    return X, y, groups


def embeddings(n: int, d: int, strength: float, k: int = 2, seed: int = 0) -> Data:
    """Draw float32 rows whose j-th principal component has a variance of 1/j.

    Profiles have random directions, and scores the standard deviation `strength`.
    """
    rng = np.random.RandomState(seed)
    size = (np.arange(1, d + 1.0) ** -0.5).astype(np.float32)
    X = np.empty((n + N_NEW, d), np.float32)
    for i in range(0, len(X), 1_000):
        part = rng.standard_normal((min(1_000, len(X) - i), d)).astype(np.float32)
        X[i : i + 1_000] = dct(part * size, axis=1, norm="ortho")  # a rotation
    U = rng.standard_normal((k, d))
    U *= strength / np.linalg.norm(U * size, axis=1, keepdims=True)
    return _labelled(X, dct(U.astype(np.float32), axis=1, norm="ortho"), rng)


def words(n: int, d: int, per_row: int, power: float, seed: int = 0) -> Data:
    """Draw sparse rows of `per_row` entries; column j has a frequency of j^-power."""
    rng = np.random.RandomState(seed)
    n += N_NEW
    share = np.arange(1, d + 1.0) ** -power
    columns = rng.choice(d, size=n * per_row, p=share / share.sum())
    values = rng.standard_normal(n * per_row).astype(np.float32)
    X = sparse.csr_array((values, (np.repeat(np.arange(n), per_row), columns)), shape=(n, d))
    return _labelled(X, rng.standard_normal((2, d)) * 3 / np.sqrt(per_row), rng)


def _mixture(k: int | str, data: Data, *, grouped: bool) -> LinearClassifierMixture:
    X, y, groups = (part[:-N_NEW] for part in data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        model = LinearClassifierMixture(k, random_state=0)
        return model.fit(X, y, groups=groups if grouped else None)


def _logistic(data: Data, C: float = 1.0) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=1_000).fit(data[0][:-N_NEW], data[1][:-N_NEW])


def _loss(model: Any, data: Data) -> float:
    return float(log_loss(data[1][-N_NEW:], model.predict_proba(data[0][-N_NEW:])))


def _best_loss(data: Data) -> float:
    return min(_loss(_logistic(data, C), data) for C in PENALTIES)


def _speed(what: str, data: Data, target: str) -> Row:
    found: list[Any] = []
    ours, theirs = compare(
        lambda: found.append(_mixture(2, data, grouped=True)),
        lambda: _logistic(data),
        repeat=3,
        clock=cpu_seconds,
    )
    loss, other = _loss(found[-1], data), _best_loss(data)
    detail = f"{ours:.2f} s / {theirs:.3f} s; new rows {loss:.4f}, logistic regression {other:.4f}"
    return Row(f"{what}, k=2, groups, / logistic regression, CPU", ours / theirs, target, detail)


def _rows_alone() -> Iterator[Row]:
    for strength in (4.0, 1.5):
        for classes in (2, 1):
            data = embeddings(16_000, 768, strength, k=classes, seed=1)
            best = _best_loss(data)
            for k in (2, "auto"):
                model = _mixture(k, data, grouped=False)
                what = (
                    f"rows alone, strength {strength:g}, {classes} true, k={k}: loss - logistic's"
                )
                found = f"{_loss(model, data):.4f} - {best:.4f}; k={model.n_components_}"
                yield Row(what, 1_000 * (_loss(model, data) - best), "<= 5 (1e-3)", found)


def _large(d: int = 4_096, n: int = 20_000) -> Iterator[Row]:
    data = embeddings(n, d, 4.0)
    theirs = cpu_seconds(lambda: _logistic(data))
    ours = cpu_seconds(lambda: _mixture(2, data, grouped=True))
    detail = f"logistic regression {theirs:.1f} s"
    yield Row(f"{n:,} x {d:,} float32, k=2, groups: seconds of CPU", ours, "<= 60", detail)


def _memory(what: str, setup: str, target: str) -> Row:
    size, extra = peak_beyond(
        "import warnings; warnings.simplefilter('ignore')\n"
        "from benchmarks.wide import _mixture, embeddings, words\n"
        "_mixture(2, embeddings(500, 450, 4.0), grouped=True)\n" + setup,
        "_mixture(2, data, grouped=True)",
    )
    return Row(
        f"{what}: memory, rows included, MB",
        (size + extra) / 1e6,
        target,
        f"rows {size / 1e6:.0f} MB",
    )


def rows() -> Iterator[Row]:
    """Yield the lines of the table."""
    yield _speed("16,000 x 768 float32", embeddings(16_000, 768, 4.0), "<= 40")
    yield from _rows_alone()
    yield _speed("20,000 x 30,000 CSR", words(20_000, 30_000, 30, 0.0), "<= 100")
    yield _speed("the same, frequencies 1/j", words(20_000, 30_000, 30, 1.0), "<= 100")
    yield from _large()
    yield _memory(
        "20,000 x 4,096 float32",
        "data = embeddings(20_000, 4_096, 4.0); X = data[0]",
        f"<= {3 * 20_000 * 4_096 * 4 / 1e6:.0f}",
    )
    yield _memory(
        "20,000 x 30,000 CSR",
        "data = words(20_000, 30_000, 30, 0.0); X = data[0].data",
        "<= 1000",
    )


if __name__ == "__main__":
    print_table(rows())
