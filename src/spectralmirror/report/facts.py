"""What was fitted, and on what."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.report.inputs import Given

__all__ = ["features", "labels", "model", "rows"]

#: A feature with at most so many different values is not nearly Gaussian, whatever its moments.
FEW_VALUES = 10
#: Nor is one with a skewness (Gaussian: 0; exponential: 2) or excess kurtosis (Gaussian: 0;
#: Laplace: 3) beyond these, from where on moments of order two and more mislead noticeably.
MOST_SKEWNESS, MOST_KURTOSIS = 1.0, 3.0


def labels(given: Given) -> dict[str, Any]:
    """Return the two labels, and how often each was seen."""
    negative, positive = map(given.label_text, given.mixture.classes_)
    return {
        "column": given.about.get("label"),
        "negative": negative,
        "positive": positive,
        "share_positive": given.positive.mean(),
    }


def rows(given: Given) -> dict[str, Any]:
    """Return how many rows were fitted and looked at, and how they are grouped.

    A fitted mixture does not remember its number of rows n, but BIC = -2 L + m log n does.
    """
    mixture = given.mixture
    log_n = (mixture.bic_ + 2 * mixture.log_likelihood_) / mixture.n_parameters_
    sizes = None if given.groups is None else np.bincount(given.groups)
    return {
        "fitted": int(given.about.get("n_rows") or round(np.exp(log_n))),
        "looked_at": len(given.y),
        "n_groups": None if sizes is None else len(sizes),
        "median_group": None if sizes is None else float(np.median(sizes)),
        "group_column": given.about.get("group"),
    }


def model(given: Given) -> dict[str, Any]:
    """Return the settings of the fit and its outcome."""
    mixture = given.mixture
    return {
        "k": mixture.n_components_,
        "asked": mixture.n_components,
        "bic_path": [[k, bic] for k, bic in sorted(mixture.bic_path_.items())],
        "response": mixture.response,
        "l2": mixture.l2,
        "intercepts": mixture.fit_intercept,
        "refined": mixture.refine,
        "log_likelihood": mixture.log_likelihood_,
        "bic": mixture.bic_,
        "n_parameters": mixture.n_parameters_,
        "converged": mixture.converged_,
        "has_errors": mixture.covariance_ is not None,
        "status": mixture.status_,
        "n_starts": len(mixture.starts_),
        "n_agreed": mixture.n_agreed_,
    }


def features(given: Given) -> dict[str, Any]:
    """Return names, units and shapes of the features, and their entries in every profile."""
    mixture, X = given.mixture, np.asarray(given.X, dtype=np.float64)
    centred = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
    skewness, kurtosis = (centred**3).mean(axis=0), (centred**4).mean(axis=0) - 3
    few = np.array([len(np.unique(column)) <= FEW_VALUES for column in X.T])
    shaped = (np.abs(skewness) <= MOST_SKEWNESS) & (np.abs(kurtosis) <= MOST_KURTOSIS)
    return {
        "names": given.names,
        "mean": mixture.feature_mean_,
        "scale": mixture.feature_scale_,
        "binary": [
            name in (given.about.get("references") or {}) or bool(np.isin(column, (0, 1)).all())
            for name, column in zip(given.names, X.T, strict=True)
        ],
        "gaussian": shaped & ~few,
        "coefficients": mixture.coef_,
        "errors": mixture.coef_standard_error_,
        "intercepts": mixture.intercept_,
        "intercept_errors": mixture.intercept_standard_error_,
    }
