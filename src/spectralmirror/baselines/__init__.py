"""What spectralmirror is measured against."""

from spectralmirror.baselines.spectral_experts import NoDecompositionError, SpectralExperts

__all__ = ["NoDecompositionError", "SpectralExperts"]
