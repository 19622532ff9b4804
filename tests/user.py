"""What a user's own program looks like to a type checker: run by `make wheel`, without the source.

mypy reads this in strict mode against the installed package; then it is run, warnings being errors.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import spectralmirror
from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    load,
    pairwise_differences,
    save,
    scan,
)
from spectralmirror.datasets import load_senate_votes, make_linear_classifier_mixture
from spectralmirror.metrics import component_error, profile_error, subspace_error

X, y, truth = make_linear_classifier_mixture(4_000, 4, group_size=5, random_state=0)

mirror = SpectralMirror(2, random_state=0).fit(X, y)
assert_type(mirror, SpectralMirror)
assert_type(PrincipalHessianDirections(1).fit(X, y), PrincipalHessianDirections)
assert_type(subspace_error(truth.profiles, mirror.components_), float)
assert_type(FeatureMoments.from_rows(X[:9]) + FeatureMoments.from_rows(X[9:]), FeatureMoments)

mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
assert_type(mixture, LinearClassifierMixture)
text: str = mixture.summary()  # or a DataFrame, hence Any
assert_type(profile_error(truth.profiles, mixture.coef_), float)
who: NDArray[Any] = mixture.predict_component(X, y, groups=truth.groups)
assert_type(component_error(truth.components, who), float)
predict: Callable[[Any], NDArray[Any]] = mixture.predict_proba

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mixture.skops"
    save(mixture, path)
    assert np.array_equal(load(path).predict_proba(X), predict(X))
    rows = Path(folder) / "rows.csv"
    np.savetxt(rows, np.c_[X, y], delimiter=",", header="a,b,c,d,y", comments="")
    files = LinearClassifierMixture(2, random_state=0).fit(scan(rows, label="y"))
    assert np.allclose(files.coef_, LinearClassifierMixture(2, random_state=0).fit(X, y).coef_)

differences, winners = pairwise_differences(X[:10], X[10:20], y[:10] > 0)
assert len(differences) == len(winners) == 10
assert load_senate_votes().votes.any()
assert isinstance(spectralmirror.__version__, str)
