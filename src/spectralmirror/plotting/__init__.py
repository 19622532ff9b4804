"""Figures of fitted mirrors and mixtures."""

from spectralmirror.plotting.comparison import plot_comparison
from spectralmirror.plotting.membership import plot_membership
from spectralmirror.plotting.mirror import plot_mirror, plot_spectrum
from spectralmirror.plotting.mixture import plot_profiles, plot_responsibilities, plot_starts
from spectralmirror.plotting.spread import plot_spread

__all__ = [
    "plot_comparison",
    "plot_membership",
    "plot_mirror",
    "plot_profiles",
    "plot_responsibilities",
    "plot_spectrum",
    "plot_spread",
    "plot_starts",
]
