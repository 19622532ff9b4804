"""The span of the profiles behind choices: differences of sets, and what they find."""

import warnings

import numpy as np
import pytest

from spectralmirror import ChoiceMixture, MixtureWarning
from spectralmirror.datasets import make_choice_mixture
from spectralmirror.metrics import subspace_error
from spectralmirror.mixture import fitting
from spectralmirror.mixture.choice_subspace import differences_of_sets
from spectralmirror.mixture.preprocessing import Preprocessing
from spectralmirror.rows.choices import accept_choices


def accepted(X, chosen, truth, rows=slice(None), groups=True):
    persons = truth.groups[rows] if groups else None
    return accept_choices(X[rows], chosen[rows], truth.choices[rows], persons, None, None, None)


def prepared(grouped, subspace="auto"):
    return Preprocessing(grouped, subspace, None, lambda: np.random.RandomState(0))


def test_differences_are_those_of_the_chosen_row():
    X, chosen, truth = make_choice_mixture(20, 3, n_choices=5, random_state=0)
    rng = np.random.default_rng(0)
    kept = rng.permutation(np.flatnonzero(chosen | (rng.uniform(size=len(X)) < 0.7)))
    kept = kept[np.bincount(truth.choices[kept])[truth.choices[kept]] > 1]
    found = differences_of_sets(accepted(X, chosen, truth, kept), np.random.RandomState(0)).rows
    assert set(found.y) == {-1.0, 1.0}
    unsigned = found.X * found.y[:, None]
    expected = [
        X[(truth.choices == truth.choices[i]) & chosen][0] - X[i] for i in kept if not chosen[i]
    ]
    order = [np.lexsort(np.round(np.asarray(D), 9).T) for D in (unsigned, expected)]
    np.testing.assert_allclose(unsigned[order[0]], np.asarray(expected)[order[1]], atol=1e-12)


def test_the_span_of_the_profiles_is_found():
    X, chosen, truth = make_choice_mixture(600, 12, 3, n_alternatives=5, random_state=0)
    features = prepared(accepted(X, chosen, truth)).features(3)
    assert features.space.is_clear
    # 0.09 +- 0.02 over 10 data sets like this one
    assert subspace_error(truth.profiles, features.space.basis) < 0.18
    mixture = ChoiceMixture(3, random_state=0)
    mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups)
    assert len(mixture.starts_) == 5  # three inside it, and two checks


@pytest.mark.parametrize("options", [{"groups": False}, {"subspace": None}])
def test_where_no_subspace_is_used(options):
    X, chosen, truth = make_choice_mixture(60, 6, 2, random_state=0)
    grouped = accepted(X, chosen, truth, groups=options.get("groups", True))
    assert prepared(grouped, options.get("subspace", "auto")).features(2).space is None


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_the_first_penalty_changes_only_the_way(monkeypatch, n_components):
    X, chosen, truth = make_choice_mixture(120, 4, 2, random_state=3)
    fits = []
    for own in (True, False):
        if not own:
            monkeypatch.setattr(fitting, "penalty_of_one", lambda _, likelihood: likelihood)
        mixture = ChoiceMixture(n_components, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MixtureWarning)  # three classes are too many
            fits.append(mixture.fit(X, chosen, choices=truth.choices, groups=truth.groups))
    assert fits[0].l2_ == pytest.approx(fits[1].l2_, rel=0.02)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, abs=0.1)
