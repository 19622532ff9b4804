"""What the coefficients of a mixture come to: average effects, and ratios of coefficients."""

from spectralmirror.effects.average import average_effects
from spectralmirror.effects.coefficient_ratios import ratios
from spectralmirror.effects.results import AverageEffects, Ratios

__all__ = ["AverageEffects", "Ratios", "average_effects", "ratios"]
