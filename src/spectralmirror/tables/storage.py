"""Models on disk, in the format of skops: data only, so that loading a file runs none of its code.

A file names classes by names that do not depend on modules (:mod:`.stored_names`). Between these
and the classes of today, the schema is translated after skops has written it and before skops
reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED

from sklearn.utils.validation import check_is_fitted

from spectralmirror import __version__
from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.files.atomic import written_whole
from spectralmirror.tables.archive import Archive, ForeignError
from spectralmirror.tables.model_checks import is_whole
from spectralmirror.tables.stored_names import CLASSES, current_names, stored_names

__all__ = ["load", "load_with_version", "save"]

#: Increased when earlier versions cannot read the files of this one. Files of every format up to
#: this one can be read. Format 1 names classes by the modules in which they were; format 2 has no
#: penalties that were chosen from the data; format 3 has no spread of people within a class;
#: format 4 has no weights that depend on covariates, and no covariance of weights; format 5 has no
#: choices among several alternatives.
FORMAT = 6


def save(model: Any, path: str | Path) -> None:
    """Store a fitted model in a file, whole or not at all.

    Parameters
    ----------
    model : LinearClassifierMixture, ChoiceMixture, SpectralMirror or another estimator, FittedTable
        A fitted model.
    path : str or Path
        The file; by convention its name ends in ``.skops``.

    Examples
    --------
    >>> import tempfile, spectralmirror
    >>> from spectralmirror.datasets import make_linear_classifier_mixture
    >>> X, y, _ = make_linear_classifier_mixture(1_000, 3, random_state=0)
    >>> mixture = spectralmirror.LinearClassifierMixture(random_state=0).fit(X, y)
    >>> path = f"{tempfile.mkdtemp()}/mixture.skops"
    >>> spectralmirror.save(mixture, path)
    >>> again = spectralmirror.load(path)
    >>> bool((again.predict_proba(X) == mixture.predict_proba(X)).all())
    True
    """
    with needs_extra("cli", "spectralmirror.save"):
        import skops.io  # noqa: F401
    if not _is_ours(model):
        raise TypeError(f"save stores models of spectralmirror, got {type(model).__name__}.")
    check_is_fitted(getattr(model, "mixture", model))
    packed = _packed(
        {"format": FORMAT, "written_by": f"spectralmirror {__version__}", "model": model}
    )
    if not is_whole(model):
        raise ValueError("The model cannot be stored: its parts do not fit together. Fit it again.")
    with written_whole(Path(path)) as unfinished:
        unfinished.write_bytes(packed)


def _packed(content: dict[str, Any]) -> bytes:
    """Return the bytes of a file that can be loaded."""
    import skops.io

    try:
        plain = skops.io.dumps(content)
        archive = Archive.unpack(plain).renamed(stored_names())
        archive.check()
        _refuse_untrusted(plain)
    except Exception as error:
        reason = f"it holds {error}" if isinstance(error, ForeignError) else str(error)
        raise ValueError(
            f"The model cannot be stored ({reason}): set its parameters to numbers, text, arrays "
            "or models of spectralmirror."
        ) from None
    return archive.pack()


def load(path: str | Path) -> Any:
    """Load a model that :func:`save` has stored.

    The file may come from anybody: it holds only data, from which only models of spectralmirror
    are made, and loading it runs no code from the file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    LinearClassifierMixture, ChoiceMixture, SpectralMirror or another estimator, FittedTable
        The model, which predicts what it predicted before, to the last bit.
    """
    return load_with_version(path)[0]


def load_with_version(path: str | Path) -> tuple[Any, str]:
    """Load a model as :func:`load` does; return it, and the version that wrote it."""
    with needs_extra("cli", "spectralmirror.load"):
        import skops.io

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model: name the file.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    archive, version = _unpacked(path.read_bytes(), path)
    try:
        archive = archive.renamed(current_names())
        archive.check()
        plain = archive.pack(ZIP_STORED)
        _refuse_untrusted(plain)
        model = skops.io.loads(plain, trusted=_trusted())["model"]
    except ForeignError as foreign:
        raise _foreign(path, foreign) from None
    except Exception as error:  # a mutilated file may raise anything inside skops
        raise ValueError(f"{path} is damaged ({type(error).__name__}).") from None
    if not _is_ours(model):
        raise ValueError(f"{path} holds a {type(model).__name__}, which is not a model.")
    if not is_whole(model):
        raise ValueError(f"{path} is damaged: the parts of the model do not fit together.")
    return model, version


def _unpacked(packed: bytes, path: Path) -> tuple[Archive, str]:
    """Return the archive of a model, and the version that wrote it."""
    try:
        archive = Archive.unpack(packed)
        version, number = archive.value("written_by"), archive.value("format")
        if not isinstance(version, str) or type(number) is not int or number < 1:
            raise TypeError("no model has such a version or format")
    except ForeignError as foreign:
        raise _foreign(path, foreign) from None
    except Exception:  # a file of another kind may raise anything
        hint = ", or was cut off or damaged" if packed[:2] == b"PK" else ""
        raise ValueError(f"{path} is not a model of spectralmirror{hint}.") from None
    if number > FORMAT:
        raise ValueError(
            f"{path} was written by {_shown(version)}, which is newer than this version "
            f"({__version__}): update spectralmirror."
        )
    return archive, version


def _foreign(path: Path, foreign: ForeignError) -> ValueError:
    return ValueError(
        f"{path} holds {_shown(str(foreign))}, which no model of spectralmirror contains: it was "
        "not loaded."
    )


def _shown(text: str) -> str:
    """Return text from a file in a form that is safe to print in a sentence."""
    return ascii(text[:200])[1:-1]


def _refuse_untrusted(plain: bytes) -> None:
    """Raise ForeignError if a file of skops holds a type that neither skops nor we trust."""
    import skops.io

    foreign = set(skops.io.get_untrusted_types(data=plain)) - set(_trusted())
    if foreign:
        raise ForeignError(min(foreign))


def _trusted() -> list[str]:
    """Return the types that a model may hold besides those that skops trusts by default."""
    return [*CLASSES.values(), "numpy.dtype"]


def _is_ours(model: Any) -> bool:
    return f"{type(model).__module__}.{type(model).__qualname__}" in stored_names()
