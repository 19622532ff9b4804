"""Find the hidden linear classifiers behind binary labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spectralmirror.mixture import LinearClassifierMixture, MixtureWarning
    from spectralmirror.rows.files.scan import scan
    from spectralmirror.subspace import (
        FeatureMoments,
        PrincipalHessianDirections,
        SpectralMirror,
        WeakSignalWarning,
    )
    from spectralmirror.tables.pairs import pairwise_differences
    from spectralmirror.tables.storage import load, save

__version__ = "0.1.0.dev0"

__all__ = [
    "FeatureMoments",
    "LinearClassifierMixture",
    "MixtureWarning",
    "PrincipalHessianDirections",
    "SpectralMirror",
    "WeakSignalWarning",
    "__version__",
    "load",
    "pairwise_differences",
    "save",
    "scan",
]

#: Where each name lives. It is imported when it is used: the command line answers at once.
_HOMES = {
    "FeatureMoments": "subspace",
    "LinearClassifierMixture": "mixture",
    "MixtureWarning": "mixture",
    "PrincipalHessianDirections": "subspace",
    "SpectralMirror": "subspace",
    "WeakSignalWarning": "subspace",
    "load": "tables.storage",
    "pairwise_differences": "tables.pairs",
    "save": "tables.storage",
    "scan": "rows.files.scan",
}


_MODULES = {"baselines", "dask", "datasets", "metrics", "plotting", "report", "responses", "spark"}


def __getattr__(name: str) -> Any:
    """Import what is used."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List what can be used."""
    return sorted({*globals(), *__all__, *_MODULES})
