"""What was fitted, and on what data."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectralmirror.mixture.summary import Choices
from spectralmirror.report.inputs import Inputs

__all__ = ["features", "labels", "model", "n_rows_fitted", "rows"]

#: A feature with at most this many different values is not nearly Gaussian, whatever its moments.
FEW_VALUES = 10
#: Nor is one with a larger absolute skewness (Gaussian: 0; exponential: 2) or excess kurtosis
#: (Gaussian: 0; Laplace: 3): beyond these, moments of order two and more mislead noticeably.
MAX_SKEWNESS, MAX_KURTOSIS = 1.0, 3.0


def labels(inputs: Inputs) -> dict[str, Any]:
    """Return the two labels, and the share of the positive one; of several, names and shares."""
    found, column = inputs.mixture.classes_, inputs.about.get("label")
    if len(found) > 2:
        shares = [float((inputs.y == one).mean()) for one in found]
        names = [inputs.label_text(one) for one in found]
        return {"column": column, "names": names, "shares": shares, "share_positive": None}
    negative, positive = map(inputs.label_text, found)
    return {
        "column": column,
        "negative": negative,
        "positive": positive,
        "share_positive": inputs.positive.mean(),
    }


def rows(inputs: Inputs) -> dict[str, Any]:
    """Return how many rows were fitted and evaluated here, and how they are grouped."""
    sizes = None if inputs.groups is None else np.bincount(inputs.groups)
    return {
        "fitted": int(inputs.about.get("n_rows") or n_rows_fitted(inputs.mixture)),
        "looked_at": len(inputs.y),
        "n_groups": None if sizes is None else len(sizes),
        "median_group": None if sizes is None else float(np.median(sizes)),
        "group_column": inputs.about.get("group"),
    }


def n_rows_fitted(mixture: Any) -> int:
    """Return the number of rows that a mixture was fitted to.

    Models that were stored before `n_rows_` was introduced lack it. Their number of rows n follows
    from their BIC = -2 L + m log n, with L the log-likelihood and m the number of parameters.
    """
    if hasattr(mixture, "n_rows_"):
        return int(mixture.n_rows_)
    log_n = (mixture.bic_ + 2 * mixture.log_likelihood_) / mixture.n_parameters_
    return round(float(np.exp(log_n)))


def model(inputs: Inputs) -> dict[str, Any]:
    """Return the settings of the fit and its outcome."""
    mixture, choices = inputs.mixture, Choices.of(inputs.mixture)
    return {
        "k": mixture.n_components_,
        "asked": mixture.n_components,
        "criterion": choices.criterion,
        "evidence_path": [[k, value] for k, value in sorted(choices.evidence_path.items())],
        "bic_path": [[k, bic] for k, bic in sorted(mixture.bic_path_.items())],
        "response": mixture.response,
        "l2": choices.l2,
        "l2_from_data": choices.l2_from_data,
        "intercepts": mixture.fit_intercept,
        "refined": mixture.refine,
        "log_likelihood": mixture.log_likelihood_,
        "log_evidence": choices.log_evidence,
        "bic": mixture.bic_,
        # models that were stored without `l2_` counted rows
        "bic_counts_groups": getattr(mixture, "grouped_", False) and hasattr(mixture, "l2_"),
        "n_parameters": mixture.n_parameters_,
        "converged": mixture.converged_,
        "has_errors": mixture.covariance_ is not None,
        "status": mixture.status_,
        "n_starts": len(mixture.starts_),
        "n_agreed": mixture.n_agreed_,
        "doubt": choices.doubt,
    }


def features(inputs: Inputs) -> dict[str, Any]:
    """Return names, units and shapes of the features, and their coefficients in every profile."""
    mixture, X = inputs.mixture, np.asarray(inputs.X, dtype=np.float64)
    references = inputs.about.get("references") or {}
    return {
        "names": inputs.names,
        "mean": mixture.feature_mean_,
        "scale": mixture.feature_scale_,
        "binary": [
            name in references or bool(np.isin(column, (0, 1)).all())
            for name, column in zip(inputs.names, X.T, strict=True)
        ],
        "gaussian": [_nearly_gaussian(column) for column in X.T],
        "coefficients": mixture.coef_,
        "errors": mixture.coef_standard_error_,
        "intercepts": mixture.intercept_,
        "intercept_errors": mixture.intercept_standard_error_,
    }


def _nearly_gaussian(column: Any) -> bool:
    """Return whether a column takes many values, without much skewness or heavy tails."""
    if len(np.unique(column)) <= FEW_VALUES:
        return False
    z = (column - column.mean()) / max(column.std(), 1e-300)  # first, so that no power overflows
    skewness, kurtosis = (z**3).mean(), (z**4).mean() - 3
    return bool(abs(skewness) <= MAX_SKEWNESS and abs(kurtosis) <= MAX_KURTOSIS)
