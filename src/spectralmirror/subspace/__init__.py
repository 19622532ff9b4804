"""The span of the hidden classifiers.

`algorithm1` is the paper's Algorithm 1, its eight lines in order; `variants`, `lanczos` and
`halves` stand around it. `stacked` is the default method. Both use `whitening`, `moments`, `mirror`
and `spectrum`. `estimator` has the class `SpectralMirror`.
"""

from spectralmirror.subspace.estimator import SpectralMirror, WeakSignalWarning
from spectralmirror.subspace.hessian_directions import PrincipalHessianDirections
from spectralmirror.subspace.moments import FeatureMoments

__all__ = ["FeatureMoments", "PrincipalHessianDirections", "SpectralMirror", "WeakSignalWarning"]
