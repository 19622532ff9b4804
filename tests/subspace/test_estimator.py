"""SpectralMirror as an estimator: how it is called, and rows that were accepted before."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from spectralmirror import PrincipalHessianDirections, SpectralMirror, WeakSignalWarning
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.rows.memory import Rows
from spectralmirror.subspace.base import orthonormal_rows
from tests.helpers.refusals import assert_refused
from tests.helpers.rows import in_groups


@pytest.fixture(scope="module")
def data():
    return make_linear_classifier_mixture(
        2000, 5, profiles=5 * np.eye(2, 5), weights=[0.5, 0.5], group_size=2, random_state=0
    )


@pytest.mark.parametrize("estimator", [SpectralMirror(), PrincipalHessianDirections()])
def test_groups_and_weights_go_by_their_names(estimator, data):
    """A third argument without a name would be taken for the other of the two."""
    X, y, _ = data
    with pytest.raises(TypeError, match="positional argument"):
        estimator.fit(X, y, np.ones(2000))


@pytest.mark.parametrize("options", [{}, {"grouped": True}, {"method": "paper"}])
def test_accepted_rows_give_the_same_fit(options, data):
    options = dict(options)
    X, y, truth = data
    groups = truth.groups if options.pop("grouped", False) else None
    expected = SpectralMirror(2, random_state=0, **options).fit(X, y, groups=groups)
    rows = in_groups(Rows(X, y.astype(float)), groups)
    found = SpectralMirror(2, random_state=0, **options)._fit_rows(rows)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-10)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, atol=1e-10)


def test_accepted_rows_are_checked_for_their_size_only(data):
    X, y, _ = data
    rows = in_groups(Rows(X, y.astype(float)))
    with pytest.raises(ValueError, match=r"n_components=6 must not exceed.*n_features=5"):
        SpectralMirror(6)._fit_rows(rows)


def test_warnings_point_at_the_caller():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), rng.choice([-1, 1], 200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SpectralMirror(2, random_state=0).fit(X, y)
    assert [(w.category, w.filename) for w in caught] == [(WeakSignalWarning, __file__)]


def test_orthonormal_rows_of_very_different_units():
    vectors = np.array([[1.0, 1e-9, 0], [1.0, 2e-9, 1e9], [0, 1e-12, 1]])
    basis = orthonormal_rows(vectors)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
    assert (basis[np.arange(3), np.abs(basis).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(basis[0], vectors[0])


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")
@pytest.mark.parametrize(("n", "d", "make"), [(50, 200, np.asarray), (300, 2000, sparse.csr_array)])
def test_fewer_rows_than_features_are_refused_with_ways_out(n, d, make):
    """One sentence; what it proposes works."""
    rng = np.random.default_rng(0)
    X = make(rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.02))
    y = rng.choice([-1, 1], n)
    assert_refused(lambda: SpectralMirror(2).fit(X, y), f"{d + 2} rows .* PCA, or by TruncatedSVD")
    reduced = TruncatedSVD(5, random_state=0).fit_transform(X)
    assert SpectralMirror(1).fit(reduced, y).components_.shape == (1, 5)
    known = {"mean": 0.0, "covariance": 0.02 * np.eye(d)}
    assert SpectralMirror(1, **known).fit(X, y).components_.shape == (1, d)
