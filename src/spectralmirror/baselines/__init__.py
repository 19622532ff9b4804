"""What spectralmirror is measured against."""

from spectralmirror.baselines.spectral_experts import SpectralExperts

__all__ = ["SpectralExperts"]
