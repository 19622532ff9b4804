"""Which options need labels of two kinds."""

from __future__ import annotations

from typing import Any

from spectralmirror.subspace.estimator import SpectralMirror

__all__ = ["why_two_labels"]


def why_two_labels(estimator: Any) -> str | None:
    """Return which parameter of a mixture needs two labels, as an addition to a sentence.

    None if no parameter does.
    """
    others = {
        f"response={estimator.response!r} (use 'logistic')": estimator.response != "logistic",
        f"solver={estimator.solver!r} (use 'lbfgs')": estimator.solver != "lbfgs",
        "signs (leave them out)": bool(estimator.signs),
        "a SpectralMirror as subspace (use 'auto')": isinstance(estimator.subspace, SpectralMirror),
        "refine=False without vectors as subspace": (
            not estimator.refine
            and (estimator.subspace is None or isinstance(estimator.subspace, str))
        ),
    }
    found = next((name for name, given in others.items() if given), None)
    return None if found is None else f" with {found}"
