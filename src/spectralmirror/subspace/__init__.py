"""The span of the hidden classifiers: the paper's Algorithm 1, and the default method."""

from spectralmirror.subspace.estimator import SpectralMirror, WeakSignalWarning
from spectralmirror.subspace.hessian_directions import PrincipalHessianDirections
from spectralmirror.subspace.moments import FeatureMoments

__all__ = ["FeatureMoments", "PrincipalHessianDirections", "SpectralMirror", "WeakSignalWarning"]
