"""Models on disk, in the format of skops: data only, so that loading a file runs no code of it."""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spectralmirror import __version__
from spectralmirror.files import written_whole

__all__ = ["load", "save", "written_by"]

#: Raised when files of this version cannot be read by earlier ones.
FORMAT = 1
#: What a file may hold besides numbers, text and what skops knows of NumPy and scikit-learn.
OURS = {
    f"spectralmirror.{name}"
    for name in (
        "fitted.FittedTable",
        "hessian.PrincipalHessianDirections",
        "mixture.estimator.LinearClassifierMixture",
        "mixture.starts.Start",
        "moments.FeatureMoments",
        "recipe.Category",
        "recipe.Number",
        "recipe.Recipe",
        "subspace.SpectralMirror",
        "whitening.Whitening",
    )
} | {"numpy.dtype"}


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
    import skops.io

    if _name(type(model)) not in OURS:
        raise TypeError(f"save stores models of spectralmirror, got {type(model).__name__}.")
    check_is_fitted(getattr(model, "mixture", model))
    content = {"format": FORMAT, "written_by": f"spectralmirror {__version__}", "model": model}
    packed = skops.io.dumps(content, compression=ZIP_DEFLATED)
    foreign = set(skops.io.get_untrusted_types(data=packed)) - OURS
    if foreign:
        raise ValueError(
            f"A model that holds {', '.join(sorted(foreign))} cannot be stored: a parameter was "
            "set to something of another kind."
        )
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


def written_by(path: str | Path) -> str:
    """Return which version of spectralmirror wrote a model."""
    return str(_content(path)["written_by"])


def _content(path: str | Path) -> dict[str, Any]:
    import skops.io

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, and no model: name the file.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    packed = path.read_bytes()
    foreign = ValueError(f"{path} is no model of spectralmirror.")
    _check_container(packed, path)
    try:
        unknown = set(skops.io.get_untrusted_types(data=packed)) - OURS
    except Exception:  # whatever a mutilated or foreign file may cause inside the reader
        raise foreign from None
    if unknown:
        raise ValueError(
            f"{path} holds {', '.join(sorted(unknown)[:3])}, which no model of spectralmirror "
            "does: it was not loaded."
        )
    try:
        content = skops.io.loads(packed, trusted=sorted(OURS))
    except Exception as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}).") from None
    if not isinstance(content, dict) or not {"format", "written_by", "model"} <= set(content):
        raise foreign
    if content["format"] != FORMAT:
        raise ValueError(
            f"{path} was written by {content['written_by']}, which is newer than this one "
            f"({__version__}): update spectralmirror."
        )
    _check(content["model"], path)
    return content


def _check_container(packed: bytes, path: Path) -> None:
    """Raise where a file is no archive, was cut off, or has other checksums than it says."""
    try:
        with ZipFile(BytesIO(packed)) as file:
            damaged = file.testzip()
    except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, zlib.error):
        hint = ", or was cut off or damaged" if packed[:2] == b"PK" else ""
        raise ValueError(f"{path} is no model of spectralmirror{hint}.") from None
    if damaged:
        raise ValueError(f"{path} is damaged ({damaged}): store the model again.")


def _check(model: Any, path: Path) -> None:
    """Raise where the parts of a model do not fit together."""
    kind = _name(type(model))
    if kind not in OURS or kind == "numpy.dtype":
        raise ValueError(f"{path} holds a {type(model).__name__}, which is no model.")
    try:
        whole = _is_table(model) if kind.endswith(".FittedTable") else _is_estimator(model)
    except (AttributeError, TypeError, ValueError, NotFittedError):
        whole = False
    if not whole:
        raise ValueError(f"{path} is damaged: the parts of the model do not fit together.")


def _is_table(model: Any) -> bool:
    from spectralmirror.mixture import LinearClassifierMixture
    from spectralmirror.recipe import Category, Number, Recipe

    kinds = type(model.mixture) is LinearClassifierMixture and type(model.recipe) is Recipe
    kinds &= all(type(term) in (Category, Number) for term in model.recipe.terms)
    texts = isinstance(model.label, str) and isinstance(model.group, str | None)
    known = isinstance(model.about, dict) and {"source", "n_rows", "notes"} <= set(model.about)
    sizes = len(model.recipe.names) == model.mixture.n_features_in_
    policy = model.missing in ("error", "impute", "drop")
    return kinds and texts and known and sizes and policy and _is_estimator(model.mixture)


def _is_estimator(model: Any) -> bool:
    """Whether shapes agree, numbers are finite, and nothing stands in the place of a method."""
    check_is_fitted(model)
    if any(callable(value) for value in vars(model).values()):
        return False
    d = model.n_features_in_
    if not hasattr(model, "coef_"):
        return bool(model.components_.shape[1] == d and np.isfinite(model.components_).all())
    k = model.n_components_
    shapes = {
        "coef_": (k, d),
        "intercept_": (k,),
        "weights_": (k,),
        "sharpness_": (k,),
        "feature_mean_": (d,),
        "feature_scale_": (d,),
    }
    arrays = [getattr(model, name) for name in shapes]
    alike = [array.shape for array in arrays] == list(shapes.values())
    finite = all(np.isfinite(array).all() for array in arrays)
    return bool(alike and finite and np.isclose(model.weights_.sum(), 1)) and _is_binary(model)


def _is_binary(model: Any) -> bool:
    return len(model.classes_) == 2 and model.response in ("logistic", "probit", "hard")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
