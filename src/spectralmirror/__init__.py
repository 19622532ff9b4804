"""Find the hidden linear classifiers behind binary labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; a test compares it with the table below
    from spectralmirror.mixture import ChoiceMixture as ChoiceMixture
    from spectralmirror.mixture import LinearClassifierMixture as LinearClassifierMixture
    from spectralmirror.mixture import MixtureWarning as MixtureWarning
    from spectralmirror.rows.files.scan import Scan as Scan
    from spectralmirror.rows.files.scan import scan as scan
    from spectralmirror.subspace import FeatureMoments as FeatureMoments
    from spectralmirror.subspace import PrincipalHessianDirections as PrincipalHessianDirections
    from spectralmirror.subspace import SpectralMirror as SpectralMirror
    from spectralmirror.subspace import WeakSignalWarning as WeakSignalWarning
    from spectralmirror.tables.features import Recipe as Recipe
    from spectralmirror.tables.pairs import pairwise_differences as pairwise_differences
    from spectralmirror.tables.storage import load as load
    from spectralmirror.tables.storage import save as save
    from spectralmirror.tables.table_model import FittedTable as FittedTable

__version__ = "0.2.0"

#: The module of each public name. It is imported when the name is first used: the command line
#: starts at once, and the core needs no extra.
_MODULE_OF = {
    "ChoiceMixture": "mixture",
    "FeatureMoments": "subspace",
    "FittedTable": "tables.table_model",
    "LinearClassifierMixture": "mixture",
    "MixtureWarning": "mixture",
    "PrincipalHessianDirections": "subspace",
    "Recipe": "tables.features",
    "Scan": "rows.files.scan",
    "SpectralMirror": "subspace",
    "WeakSignalWarning": "subspace",
    "load": "tables.storage",
    "pairwise_differences": "tables.pairs",
    "save": "tables.storage",
    "scan": "rows.files.scan",
}
#: The extra of those whose module cannot be imported without one.
_EXTRA_OF = {"FittedTable": "files", "Recipe": "files", "Scan": "files", "scan": "files"}
_SUBMODULES = {
    *(
        "baselines",
        "choices",
        "dask",
        "datasets",
        "effects",
        "metrics",
        "plotting",
        "report",
        "responses",
        "selection",
    ),
    "spark",
}

__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    """Import what is used."""
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{_MODULE_OF[name]}"
    if name in _EXTRA_OF:
        from spectralmirror.rows.extras import import_function

        return import_function(module, name, _EXTRA_OF[name])
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    """List what can be used."""
    return sorted({*__all__, *_SUBMODULES})
