"""What every engine must have in common with a fit in memory."""

import numpy as np

from spectralmirror import ChoiceMixture, LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture

#: Attributes that are not numbers to compare, or say how often rows were read.
OTHER = {
    "feature_names_in_", "n_scans_", "status_", "starts_", "n_passes_", "n_iter_", "bic_path_",
    "evidence_path_", "spread_evidence_",
}  # fmt: skip


def mixture_rows(n=4000, d=5, seed=0, **options):
    """Return shuffled rows, labels that are words, groups and weights."""
    options = {"weights": [0.6, 0.4], "profile_norm": 5.0, "group_size": 4, **options}
    X, y, truth = make_linear_classifier_mixture(n, d, 2, random_state=seed, **options)
    order = np.random.default_rng(seed).permutation(n)
    weight = np.random.default_rng(seed + 1).integers(0, 3, n).astype(float)
    return X[order], np.where(y > 0, "yes", "no")[order], truth.groups[order], weight


def assert_alike(found, expected):
    """Compare two fitted estimators attribute by attribute."""
    names = {name for name in vars(expected) if name.endswith("_") and not name.startswith("_")}
    assert names - OTHER == {n for n in vars(found) if n.endswith("_") and n[0] != "_"} - OTHER
    profiles = isinstance(expected, LinearClassifierMixture | ChoiceMixture)
    for name in ("evidence_path_", "spread_evidence_") if profiles else ():
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert set(ours) == set(theirs)
        np.testing.assert_allclose(
            [ours[k] for k in theirs], list(theirs.values()), rtol=1e-6, err_msg=name
        )
    for name in sorted(names - OTHER):
        ours, theirs = getattr(found, name), getattr(expected, name)
        if theirs is None or getattr(np.asarray(theirs), "dtype", None).kind not in "fiub":
            assert np.array_equal(ours, theirs), name
            continue
        if name == "eigenvalues_":  # two may be equally far from the median between them
            ours, theirs = np.sort(ours), np.sort(theirs)
        if np.isnan(theirs).all():
            assert np.isnan(ours).all(), name
            continue
        scale = max(np.nanmax(np.abs(np.asarray(theirs, float)), initial=1.0), 1.0)
        atol = (1e-6 if profiles else 1e-8) * scale
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol, err_msg=name)
