"""Arrays, .npy files, and blocks from the user's own reader."""

import numpy as np
import pytest

from spectralmirror import scan
from tests.helpers.agreement import assert_alike, mixture_rows
from tests.helpers.scans import SMALL, mirror, mixture


def test_arrays_on_disk(rows, tmp_path):
    X, y, groups, weight = rows
    paths = {}
    for name, values in {"X": X, "y": y, "groups": groups, "weight": weight}.items():
        paths[name] = tmp_path / f"{name}.npy"
        np.save(paths[name], values)
    options = {"groups": paths["groups"], "sample_weight": paths["weight"], "block_bytes": SMALL}
    found = mixture().fit(scan(paths["X"], label=paths["y"], **options))
    assert_alike(found, mixture().fit(X, y, groups=groups, sample_weight=weight))
    mapped = np.load(paths["X"], mmap_mode="r")
    assert_alike(mirror().fit(scan(mapped, label=y)), mirror().fit(X, y))


def test_an_object_that_can_be_iterated_over_again(rows):
    X, y, _, _ = rows

    class Blocks:
        def __iter__(self):
            return iter([(X[:1000], y[:1000]), (X[1000:], y[1000:])])

    assert_alike(mirror().fit(scan(Blocks())), mirror().fit(X, y))
    with pytest.raises(ValueError, match="pass the function that makes it"):
        scan(iter(Blocks()))


def test_blocks_that_do_not_fit_together_are_refused():
    X, y, groups, weight = mixture_rows(600, 3)
    first, rest = slice(0, 300), slice(300, 600)
    for second, told in [
        ((X[rest], (y[rest] == "yes").astype(int)), "y holds int64 in block 1, but <U3"),
        ((X[rest], y[rest], groups[rest]), "do not both have groups"),
        ((X[rest], y[rest], None, weight[rest]), "do not both have weight"),
    ]:
        with pytest.raises(ValueError, match=told):
            mirror().fit(scan([(X[first], y[first]), second]))
    with pytest.raises(ValueError, match="X is float64 in block 1, but float32"):
        mirror().fit(scan([(X[first].astype(np.float32), y[first]), (X[rest], y[rest])]))
