"""Names of classes in stored models, which stay the same when a class moves to another module."""

from __future__ import annotations

__all__ = ["CLASSES", "FORMAT_1", "current_names", "stored_names"]

#: The name of each class in a file, and where the class is today. When a class moves, change the
#: path on the right; never change a name on the left.
CLASSES = {
    "spectralmirror.Category": "spectralmirror.tables.features.Category",
    "spectralmirror.ChoiceColumns": "spectralmirror.tables.set_columns.ChoiceColumns",
    "spectralmirror.ChoiceMixture": "spectralmirror.mixture.choice_estimator.ChoiceMixture",
    "spectralmirror.FeatureMoments": "spectralmirror.subspace.moments.FeatureMoments",
    "spectralmirror.FittedTable": "spectralmirror.tables.table_model.FittedTable",
    "spectralmirror.LinearClassifierMixture": (
        "spectralmirror.mixture.estimator.LinearClassifierMixture"
    ),
    "spectralmirror.Number": "spectralmirror.tables.features.Number",
    "spectralmirror.PrincipalHessianDirections": (
        "spectralmirror.subspace.hessian_directions.PrincipalHessianDirections"
    ),
    "spectralmirror.Recipe": "spectralmirror.tables.features.Recipe",
    "spectralmirror.SpectralMirror": "spectralmirror.subspace.estimator.SpectralMirror",
    "spectralmirror.Start": "spectralmirror.mixture.starts.Start",
    "spectralmirror.WideForm": "spectralmirror.tables.wide_form.WideForm",
    "spectralmirror.Whitening": "spectralmirror.subspace.whitening.Whitening",
}
#: Files of format 1 name the modules in which the classes were then.
FORMAT_1 = {
    "spectralmirror.fitted.FittedTable": "spectralmirror.FittedTable",
    "spectralmirror.hessian.PrincipalHessianDirections": (
        "spectralmirror.PrincipalHessianDirections"
    ),
    "spectralmirror.mixture.estimator.LinearClassifierMixture": (
        "spectralmirror.LinearClassifierMixture"
    ),
    "spectralmirror.mixture.starts.Start": "spectralmirror.Start",
    "spectralmirror.moments.FeatureMoments": "spectralmirror.FeatureMoments",
    "spectralmirror.recipe.Category": "spectralmirror.Category",
    "spectralmirror.recipe.Number": "spectralmirror.Number",
    "spectralmirror.recipe.Recipe": "spectralmirror.Recipe",
    "spectralmirror.subspace.SpectralMirror": "spectralmirror.SpectralMirror",
    "spectralmirror.whitening.Whitening": "spectralmirror.Whitening",
}


def stored_names() -> dict[str, str]:
    """Return the name that a file has for each class of today."""
    return {current: stored for stored, current in CLASSES.items()}


def current_names() -> dict[str, str]:
    """Return the class of today for each name that a file may have, in any format."""
    return CLASSES | {old: CLASSES[stored] for old, stored in FORMAT_1.items()}
