"""What people expect of a scikit-learn transformer."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
)
from spectralmirror.baselines import SpectralExperts
from spectralmirror.datasets import make_linear_classifier_mixture

WIDE = "15 rows of 30 features have no covariance that could be inverted"
LABELS = "score_samples(X, y) scores labels; test_mixture.py has these checks with labels"
SHUFFLED = "before 1.7, scikit-learn makes labels binary by the first row, after shuffling"
CLOSE = "15 rows of 30 features and 3 labels have several maxima within 0.2 of each other"
HALF = "the first half of these 16 rows is collinear, and Algorithm 1 takes its halves in order"


def expected_failures(estimator):
    """Weights are tested with enough rows in the tests of each method."""
    wide = {
        "check_sample_weight_equivalence_on_dense_data": WIDE,
        "check_sample_weight_equivalence_on_sparse_data": WIDE,
    }
    if getattr(estimator, "method", None) != "paper":
        return wide
    return wide | {
        "check_sample_weights_shape": HALF,
        "check_sample_weights_not_overwritten": HALF,
    }


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")  # their rows are few
@pytest.mark.filterwarnings("ignore:.*shuffle rows that are sorted")  # some of theirs are
@parametrize_with_checks(
    [
        SpectralMirror(n_components=1),
        SpectralMirror(n_components=2, elliptical=True),
        SpectralMirror(n_components="auto"),
        SpectralMirror(n_components=1, method="paper"),
        SpectralMirror(n_components=1, method="paper", include_mirror_direction=True),
        PrincipalHessianDirections(n_components=1),
        PrincipalHessianDirections(n_components=1, target="residuals"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def expected_failures_of_the_mixture(estimator):
    expected = {
        "check_methods_subset_invariance": LABELS,
        "check_methods_sample_order_invariance": LABELS,
    }
    if estimator.n_components == 2 and get_tags(estimator).classifier_tags.multi_class:
        for kind in ("dense", "sparse"):
            expected[f"check_sample_weight_equivalence_on_{kind}_data"] = CLOSE
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7):
        for kind in ("dense", "sparse"):
            expected[f"check_sample_weight_equivalence_on_{kind}_data"] = SHUFFLED
    return expected


@pytest.mark.filterwarnings("ignore::spectralmirror.MixtureWarning")  # their rows are few
@parametrize_with_checks(
    [
        LinearClassifierMixture(n_components=1),
        LinearClassifierMixture(n_components=2),
        LinearClassifierMixture(n_components=2, response="hard"),
        LinearClassifierMixture(n_components="auto"),
        LinearClassifierMixture(subspace=None, init="random", n_init=2, solver="em"),
    ],
    expected_failed_checks=expected_failures_of_the_mixture,
)
def test_scikit_learn_checks_of_the_mixture(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    X, y, _ = make_linear_classifier_mixture(
        2000, 4, profiles=5 * np.eye(2, 4), weights=[0.5, 0.5], random_state=0
    )
    return pd.DataFrame(X, columns=["age", "income", "height", "weight"]), y


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [0, 1], [1.5, 7.0], ["b", "a"]])
def test_labels_of_any_kind(frame, labels):
    X, y = frame
    named = np.where(y > 0, labels[1], labels[0])
    mirror = SpectralMirror(2).fit(X, named)
    assert mirror.classes_.tolist() == sorted(labels)
    sign = 1 if labels == sorted(labels) else -1
    plain = SpectralMirror(2).fit(X, y)
    np.testing.assert_allclose(mirror.mirror_direction_, sign * plain.mirror_direction_)


def test_series_categories_and_lists_are_labels_too(frame):
    X, y = frame
    plain = SpectralMirror(2).fit(X, y).components_
    for labels in (pd.Series(y), pd.Series(y > 0, dtype="category"), y.tolist(), y[:, None][:, 0]):
        np.testing.assert_array_equal(SpectralMirror(2).fit(X, labels).components_, plain)


def test_column_names(frame):
    X, y = frame
    mirror = SpectralMirror(2).fit(X, y)
    assert mirror.feature_names_in_.tolist() == list(X.columns)
    assert mirror.get_feature_names_out().tolist() == ["spectralmirror0", "spectralmirror1"]
    projected = mirror.set_output(transform="pandas").transform(X)
    assert projected.columns.tolist() == ["spectralmirror0", "spectralmirror1"]
    with pytest.raises(ValueError, match="feature names"):
        mirror.transform(X[["income", "age", "height", "weight"]])


def test_pipeline_and_clone(frame):
    X, y = frame
    pipeline = make_pipeline(SpectralMirror(2), KNeighborsClassifier(25))
    assert pipeline.fit(X, y).score(X, y) > 0.6
    copy = clone(SpectralMirror(2, moments=FeatureMoments.from_rows(X)))
    np.testing.assert_array_equal(copy.moments.mean, FeatureMoments.from_rows(X).mean)
    assert copy.fit(X, y).n_components_ == 2


@pytest.mark.parametrize(
    "thing", [SpectralMirror, PrincipalHessianDirections, LinearClassifierMixture, SpectralExperts]
)
def test_docstrings_name_every_parameter_with_its_true_default(thing):
    documented = dict(
        re.findall(
            r"^    (\w+) : .*, default=(.+)$", inspect.getdoc(thing).replace("\n", "\n    "), re.M
        )
    )
    parameters = inspect.signature(thing).parameters
    assert documented == {
        key: f'"{p.default}"' if isinstance(p.default, str) else repr(p.default)
        for key, p in parameters.items()
    }
    assert set(parameters) == set(thing._parameter_constraints)
