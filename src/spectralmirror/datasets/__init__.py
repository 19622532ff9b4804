"""Data for trials: simulated from known classifiers, or recorded."""

from spectralmirror.datasets.choices import ChoiceTruth, make_choice_mixture
from spectralmirror.datasets.senate import SenateVotes, load_senate_votes
from spectralmirror.datasets.several_labels import MultinomialTruth, make_multinomial_mixture
from spectralmirror.datasets.simulated import MixtureTruth, make_linear_classifier_mixture

__all__ = [
    "ChoiceTruth",
    "MixtureTruth",
    "MultinomialTruth",
    "SenateVotes",
    "load_senate_votes",
    "make_choice_mixture",
    "make_linear_classifier_mixture",
    "make_multinomial_mixture",
]
