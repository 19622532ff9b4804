"""Find the hidden linear classifiers behind binary labels."""

from typing import TYPE_CHECKING, Any

from spectralmirror.hessian import PrincipalHessianDirections
from spectralmirror.mixture import LinearClassifierMixture, MixtureWarning
from spectralmirror.moments import FeatureMoments
from spectralmirror.subspace import SpectralMirror, WeakSignalWarning

if TYPE_CHECKING:
    from spectralmirror.scanning import scan

__version__ = "0.1.0.dev0"

__all__ = [
    "FeatureMoments",
    "LinearClassifierMixture",
    "MixtureWarning",
    "PrincipalHessianDirections",
    "SpectralMirror",
    "WeakSignalWarning",
    "__version__",
    "scan",
]


def __getattr__(name: str) -> Any:
    """Import what reads files only when it is used: it brings pyarrow along."""
    if name == "scan":
        from spectralmirror.scanning import scan

        return scan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
