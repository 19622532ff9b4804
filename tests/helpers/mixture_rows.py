"""Rows with a known truth."""

import numpy as np

from spectralmirror.datasets import make_linear_classifier_mixture


def mixture_rows(k=2, **options):
    """Return 4,000 rows of 12 features and their labels, by k well separated classifiers."""
    return make_linear_classifier_mixture(
        4000, 12, k, profile_norm=8.0, weights=np.full(k, 1 / k), random_state=0, **options
    )[:2]


def off_centre():
    """Return 1,500 rows in groups of three, with means other than 0, and the truth."""
    mean, weights = [0, 0.5, 1, 0, 0], [0.6, 0.4]
    return make_linear_classifier_mixture(
        1500, 5, weights=weights, profile_norm=5, group_size=3, mean=mean, random_state=3
    )
