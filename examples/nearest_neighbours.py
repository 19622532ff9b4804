"""K nearest neighbours before and after SpectralMirror, as pipelines.

Two people share an account, and who rated was not recorded. Neighbours are far away in 20 features,
and near in the plane of the two hidden classifiers. Prints accuracies and errors on new rows.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from spectralmirror import SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture

N, NEW = 4000, 2000


def recipes(n: int) -> dict[str, BaseEstimator]:
    """Return classifiers of labels: the paper's two choices of K, and K by cross-validation."""
    root, log = round(np.sqrt(n)), round(np.log(n))
    plane_first = make_pipeline(SpectralMirror(2), KNeighborsClassifier())
    many = {"kneighborsclassifier__n_neighbors": [5, 15, 45, 135, 405]}
    return {
        f"20 features, K = sqrt(n) = {root}": KNeighborsClassifier(root),
        f"20 features, K = log(n) = {log}": KNeighborsClassifier(log),
        f"plane, K = sqrt(n) = {root}": make_pipeline(
            SpectralMirror(2), KNeighborsClassifier(root)
        ),
        f"plane, K = log(n) = {log}": make_pipeline(SpectralMirror(2), KNeighborsClassifier(log)),
        "plane, K by cross-validation": GridSearchCV(plane_first, many),
    }


def main() -> None:
    """Fit every recipe on the same rows."""
    X, y, truth = make_linear_classifier_mixture(
        N + NEW, 20, profile_norm=6.0, weights=[0.6, 0.4], random_state=0
    )
    new, expected = X[N:], truth.expected_label(X[N:])
    best = np.mean(np.where(expected > 0, 1, -1) == y[N:])
    print(f"share of {NEW:,} new labels predicted correctly, from {N:,} rows")
    for name, recipe in recipes(N).items():
        print(f"  {name:32} {recipe.fit(X[:N], y[:N]).score(new, y[N:]):.3f}")
    print(f"  {'knowing both classifiers':32} {best:.3f}")

    print("root mean squared error of the expected label, K = sqrt(n)")
    neighbours = KNeighborsRegressor(round(np.sqrt(N)))
    for name, recipe in {
        "20 features": neighbours,
        "plane": make_pipeline(SpectralMirror(2), neighbours),
    }.items():
        error = recipe.fit(X[:N], y[:N]).predict(new) - expected
        print(f"  {name:32} {np.sqrt(np.mean(error**2)):.3f}")


if __name__ == "__main__":
    main()
