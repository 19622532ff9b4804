"""Frames for users: which package makes them, and how."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sklearn.utils._set_output import _get_output_config

__all__ = ["frame", "index_of", "output_container"]


def output_container(estimator: Any) -> str:
    """Return "pandas" or "polars" if `set_output` or scikit-learn's configuration says so.

    Otherwise "default".
    """
    return str(_get_output_config("transform", estimator)["dense"])


def frame(columns: dict[str, Any], container: str, index: Any = None) -> Any:
    """Return columns as a DataFrame of a package, which is pandas by default.

    `index` is used by pandas only: frames of polars have none.
    """
    package = "pandas" if container == "default" else container
    try:
        made = import_module(package)
    except ImportError:
        other = "polars" if package == "pandas" else "pandas"
        raise ImportError(
            f"This frame needs {package}, which is not installed: pip install {package}, or use "
            f"set_output(transform={other!r}) for one of {other}."
        ) from None
    return made.DataFrame(columns, **({"index": index} if package == "pandas" else {}))


def index_of(X: Any) -> Any:
    """Return the index of a pandas DataFrame, None for anything else."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "columns") else None
