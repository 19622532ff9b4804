"""Repeated work leaves nothing behind, and fits do not copy rows. `make memory` measures more."""

import gc
import tracemalloc

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture, SpectralMirror, load, save, scan
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.rows.grouped import InMemoryGroups

N, D = 2_000, 5
REPETITIONS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("memory")


@pytest.fixture(scope="module")
def data(folder):
    X, y, truth = make_linear_classifier_mixture(
        N, D, weights=[0.6, 0.4], group_size=4, random_state=0
    )
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(D)]).with_columns(pl.Series("y", y))
    frame.write_parquet(folder / "rows.parquet")
    return X, y, truth.groups


def stored(data, folder):
    save(SpectralMirror(2, random_state=0).fit(*data[:2]), folder / "model.skops")
    return load(folder / "model.skops")


def mixed(data, folder):
    X, y, groups = data
    return LinearClassifierMixture(2, random_state=0, n_init=4).fit(X, y, groups=groups)


def predicted(data, folder):
    X, y, groups = data
    mixture = LinearClassifierMixture(1).fit(X, y)
    return mixture.predict_proba(X), mixture.component_proba(X, y, groups=groups)


WORK = {
    "mirror": lambda data, folder: SpectralMirror(2, random_state=0).fit(*data[:2]),
    "mixture": mixed,
    "scan": lambda data, folder: SpectralMirror(2).fit(scan(folder / "rows.parquet", label="y")),
    "stored": stored,
    "predicted": predicted,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_repeated_work_leaves_nothing_behind(work, data, folder):
    """Growth is below half of the labels per repetition: 64 kB in all (15 kB are typical)."""
    for _ in range(2):
        work(data, folder)
    gc.collect()
    tracemalloc.start()
    work(data, folder)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(REPETITIONS):
        work(data, folder)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < REPETITIONS / 2 * 8 * N


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_does_not_copy_the_rows(dtype):
    """With 10 MB of float32 rows, additional traced memory stays below the size of a copy."""
    X, y, truth = make_linear_classifier_mixture(50_000, 50, weights=[0.6, 0.4], random_state=0)
    X = X.astype(dtype)
    mixture = LinearClassifierMixture(2, l2=0.1, init=truth.profiles, subspace=None, max_iter=3)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="still rising"):
        mixture.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes


def test_a_fit_to_groups_draws_samples_and_no_copy(monkeypatch):
    """Only samples smaller than all rows are drawn: a sample of all rows would be a copy."""
    X, y, truth = make_linear_classifier_mixture(
        20_000, 5, weights=[0.6, 0.4], group_size=5, random_state=0
    )
    sizes, draw = [], InMemoryGroups.draw

    def counting(self, *arguments):
        drawn = draw(self, *arguments)
        if drawn is not self:
            sizes.append(drawn.n_present)
        return drawn

    monkeypatch.setattr(InMemoryGroups, "draw", counting)
    LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
    assert 0 < max(sizes, default=0) < 20_000
