"""Data for trials: simulated from known classifiers, or recorded."""

from spectralmirror.datasets.senate import SenateVotes, load_senate_votes
from spectralmirror.datasets.simulated import MixtureTruth, make_linear_classifier_mixture

__all__ = ["MixtureTruth", "SenateVotes", "load_senate_votes", "make_linear_classifier_mixture"]
