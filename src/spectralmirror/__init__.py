"""Find the hidden linear classifiers behind binary labels."""

from spectralmirror.hessian import PrincipalHessianDirections
from spectralmirror.mixture import LinearClassifierMixture, MixtureWarning
from spectralmirror.moments import FeatureMoments
from spectralmirror.subspace import SpectralMirror, WeakSignalWarning

__version__ = "0.1.0.dev0"

__all__ = [
    "FeatureMoments",
    "LinearClassifierMixture",
    "MixtureWarning",
    "PrincipalHessianDirections",
    "SpectralMirror",
    "WeakSignalWarning",
    "__version__",
]
