"""Models on disk, in the format of skops: data only, so that loading a file runs no code of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED

from sklearn.utils.validation import check_is_fitted

from spectralmirror import __version__
from spectralmirror.rows.extras import needs_extra
from spectralmirror.rows.files.atomic import written_whole
from spectralmirror.tables.archive import OURS, ForeignError, check_archive, is_dense
from spectralmirror.tables.model_checks import is_whole

__all__ = ["load", "load_with_version", "save", "written_by"]

#: Raised when files of this version cannot be read by earlier ones.
FORMAT = 1
#: What the loader may make besides numbers, text and what holds them.
TRUSTED = sorted(OURS | {"numpy.dtype"})


def save(model: Any, path: str | Path) -> None:
    """Store a fitted model in a file, whole or not at all.

    Parameters
    ----------
    model : LinearClassifierMixture, SpectralMirror, PrincipalHessianDirections or FittedTable
        A fitted model.
    path : str or Path
        The file; by custom its name ends in ``.skops``.

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
        import skops.io

    if _name(type(model)) not in OURS:
        raise TypeError(f"save stores models of spectralmirror, got {type(model).__name__}.")
    check_is_fitted(getattr(model, "mixture", model))
    content = {"format": FORMAT, "written_by": f"spectralmirror {__version__}", "model": model}
    packed = skops.io.dumps(content, compression=ZIP_DEFLATED)
    if not is_dense(packed):  # numbers that are nearly all the same look like a bomb
        packed = skops.io.dumps(content, compression=ZIP_STORED)
    try:
        check_archive(packed)
    except ForeignError as foreign:
        raise ValueError(
            f"A model that holds {foreign} cannot be stored: a parameter was set to something of "
            "another kind."
        ) from None
    with written_whole(Path(path)) as unfinished:
        unfinished.write_bytes(packed)


def load(path: str | Path) -> Any:
    """Load a model that :func:`save` has stored.

    The file may come from anybody: it holds data, of which only models of spectralmirror are made,
    and runs no code.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    LinearClassifierMixture, SpectralMirror, PrincipalHessianDirections or FittedTable
        The model, which predicts what it predicted before, to the last bit.
    """
    return _content(path)["model"]


def load_with_version(path: str | Path) -> tuple[Any, str]:
    """Load a model as :func:`load` does; return it, and the version that wrote it."""
    content = _content(path)
    return content["model"], str(content["written_by"])


def written_by(path: str | Path) -> str:
    """Return which version of spectralmirror wrote a model."""
    return str(_content(path)["written_by"])


def _content(path: str | Path) -> dict[str, Any]:
    with needs_extra("cli", "spectralmirror.load"):
        import skops.io

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, and no model: name the file.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    packed = path.read_bytes()
    no_model = ValueError(f"{path} is no model of spectralmirror.")
    _check_container(packed, path)
    try:
        content = skops.io.loads(packed, trusted=TRUSTED)
    except Exception as error:  # whatever a mutilated file may cause inside the loader
        raise ValueError(f"{path} is damaged ({type(error).__name__}).") from None
    if not isinstance(content, dict) or not {"format", "written_by", "model"} <= set(content):
        raise no_model
    if not isinstance(content["written_by"], str) or type(content["format"]) is not int:
        raise no_model
    if content["format"] != FORMAT:
        raise ValueError(
            f"{path} was written by {content['written_by']}, which is newer than this one "
            f"({__version__}): update spectralmirror."
        )
    _check(content["model"], path)
    return content


def _check_container(packed: bytes, path: Path) -> None:
    """Raise where a file is no archive of a model, was cut off, or differs from its checksums."""
    try:
        damaged = check_archive(packed)
    except ForeignError as foreign:
        what = ascii(str(foreign)[:200])[1:-1]
        raise ValueError(
            f"{path} holds {what}, which no model of spectralmirror does: it was not loaded."
        ) from None
    except Exception:  # whatever a foreign file may cause
        hint = ", or was cut off or damaged" if packed[:2] == b"PK" else ""
        raise ValueError(f"{path} is no model of spectralmirror{hint}.") from None
    if damaged:
        raise ValueError(f"{path} is damaged ({damaged[:80]!r}): store the model again.")


def _check(model: Any, path: Path) -> None:
    """Raise where the parts of a model do not fit together."""
    if _name(type(model)) not in OURS:
        raise ValueError(f"{path} holds a {type(model).__name__}, which is no model.")
    try:
        whole = is_whole(model)
    except Exception:  # whatever parts of other kinds may cause
        whole = False
    if not whole:
        raise ValueError(f"{path} is damaged: the parts of the model do not fit together.")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
