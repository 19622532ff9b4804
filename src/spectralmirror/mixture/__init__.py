"""Mixtures of linear classifiers."""

from spectralmirror.mixture.estimator import LinearClassifierMixture, MixtureWarning

__all__ = ["LinearClassifierMixture", "MixtureWarning"]
