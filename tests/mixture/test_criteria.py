"""Information criteria and the quality of assignments."""

import numpy as np
import pytest

from spectralmirror.mixture.criteria import Criteria
from tests.helpers.mixtures import drawn, fitted, sharp


def test_formulas():
    criteria = Criteria(-100.0, 7.0, 5, 50)
    assert criteria.aic == 200 + 10
    assert criteria.bic == pytest.approx(200 + 5 * np.log(50))
    assert criteria.icl == pytest.approx(criteria.bic + 14)


def test_criteria_of_a_fit():
    X, y, _ = sharp()
    mixture = fitted(X, y)
    total = mixture.score_samples(X, y).sum()
    np.testing.assert_allclose(total, mixture.log_likelihood_)
    np.testing.assert_allclose(mixture.aic(X, y), -2 * total + 2 * 11)
    np.testing.assert_allclose(mixture.bic(X, y), -2 * total + 11 * np.log(len(y)))
    certain, averaged = (mixture.component_proba(X, y, averaged=a) for a in (False, True))
    entropy = -(certain * np.log(certain)).sum()
    np.testing.assert_allclose(mixture.icl(X, y), mixture.bic_ + 2 * entropy)
    np.testing.assert_allclose(mixture.icl_, mixture.icl(X, y))
    entropy = -(averaged * np.log(averaged)).sum()
    np.testing.assert_allclose(mixture.assignment_entropy_, entropy / len(y) / np.log(2), rtol=1e-9)
    np.testing.assert_allclose(mixture.expected_accuracy_, averaged.max(axis=1).mean(), rtol=1e-9)


def test_groups_of_unequal_size():
    X, y, _ = drawn(3000, group_size=1)
    sizes = np.random.default_rng(0).integers(1, 9, 1000)
    groups = np.repeat(np.arange(1000), sizes)[:3000]
    mixture = fitted(X, y, groups=groups)
    r = mixture.component_proba(X, y, groups=groups)
    np.testing.assert_allclose(mixture.expected_accuracy_, r.max(axis=1).mean())
    n_groups = len(np.unique(groups))  # BIC counts groups
    assert mixture.bic_ == pytest.approx(
        -2 * mixture.log_likelihood_ + mixture.n_parameters_ * np.log(n_groups)
    )
    assert mixture.bic(X, y, groups=groups) == pytest.approx(mixture.bic_)


def test_parameters_inside_a_subspace_are_fewer():
    X, y, truth = drawn()
    mixture = fitted(X, y, refine=False, subspace=truth.profiles)
    assert mixture.n_parameters_ == 2 * 3 + 1
    assert mixture.bic(X, y) == pytest.approx(mixture.bic_)


def test_expected_accuracy_is_what_is_seen():
    X, y, truth = sharp(20_000)
    mixture = fitted(X, y)
    seen = np.mean(mixture.predict_component(X, y) == truth.components)
    assert abs(mixture.expected_accuracy_ - seen) < 0.02  # six standard errors
