"""Rows with a known truth."""

import numpy as np

from spectralmirror.datasets import make_linear_classifier_mixture


def mixture_rows(k=2, **options):
    """Return 4,000 rows of 12 features and their labels, by k well separated classifiers."""
    return make_linear_classifier_mixture(
        4000, 12, k, profile_norm=8.0, weights=np.full(k, 1 / k), random_state=0, **options
    )[:2]
