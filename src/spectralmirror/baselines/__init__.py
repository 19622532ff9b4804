"""Other methods, which spectralmirror is compared with."""

from spectralmirror.baselines.spectral_experts import NoDecompositionError, SpectralExperts

__all__ = ["NoDecompositionError", "SpectralExperts"]
