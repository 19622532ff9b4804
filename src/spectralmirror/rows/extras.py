"""Packages outside the core: a missing one is reported in one sentence that says how to get it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn, cast

__all__ = ["import_function", "needs_extra"]


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Name the extra to install if an import inside the ``with`` block finds no package.

    Parameters
    ----------
    extra : str
        An extra of pyproject.toml, such as ``"files"``.
    what : str
        The subject of the sentence: what needs the package.

    Raises
    ------
    ImportError
        If a third-party package is missing. If a module of spectralmirror itself is missing, which
        is a bug, the error is raised unchanged.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "spectralmirror"):
            raise
        raise ImportError(
            f"{what} needs {package}, which is not installed: pip install "
            f"'spectralmirror[{extra}]'.",
            name=error.name,
        ) from None


def import_function(module: str, name: str, extra: str) -> Callable[..., Any]:
    """Return a function of a module, or, if a package is missing, one that says so when called.

    The name can then be imported without the extra that its use needs, as in
    ``from spectralmirror import *``.
    """
    try:
        with needs_extra(extra, f"spectralmirror.{name}"):
            return cast(Callable[..., Any], getattr(import_module(module), name))
    except ImportError as error:
        sentence, package = str(error), error.name

    def unavailable(*_: Any, **__: Any) -> NoReturn:
        raise ImportError(sentence, name=package)

    return unavailable
