"""Columns that can be computed from others."""

import numpy as np
import pytest

from spectralmirror import LinearClassifierMixture, MixtureWarning
from spectralmirror.mixture.dependencies import dependencies, dependency_sentence
from tests.helpers.mixtures import drawn

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(400, 4))


def found(X, rounding=1e-10):
    return dependencies(np.corrcoef(X, rowvar=False), rounding)


def test_columns_and_what_they_depend_on():
    a, b, c, d = Z.T
    assert found(Z) == {}
    assert found(np.column_stack([a, b, a + b, c, 5 - 2 * a, d])) == {2: [0, 1], 4: [0]}
    shares = np.column_stack([a, b, c, 1 - a - b - c, d])
    assert found(shares) == {3: [0, 1, 2]}
    assert found(np.column_stack([a, b, a + 1e-3 * d])) == {}


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_units_do_not_matter(scale):
    X = np.column_stack([Z, Z @ [1.0, 0, -2, 0]])
    assert found(X * scale ** np.arange(5)) == {4: [0, 2]}


def test_computed_columns_are_those_that_regressions_explain():
    """The oracle: least squares on all columns before."""
    X = Z @ RNG.normal(size=(4, 9))
    for j in range(9):
        before = X[:, :j]
        rest = X[:, j] - before @ np.linalg.lstsq(before, X[:, j])[0] if j else X[:, j]
        assert (j in found(X)) == (np.square(rest).sum() < 1e-9)


def test_sentences():
    some = {2: [0, 1], 4: [0]}
    by_name = dependency_sentence(some, list("abcde"))
    assert by_name == "Column 'c' can be computed from 'a' and 'b'; 'e' from 'a'"
    by_number = "Column 2 can be computed from column 0 and column 1; column 4 from column 0"
    assert dependency_sentence(some, None) == by_number
    many = dependency_sentence({j: list(range(8)) for j in range(8, 16)}, list("abcdefghijklmnop"))
    assert "from 'a', 'b', 'c', 'd', 'e' and 3 more;" in many
    assert many.endswith("; and 3 more columns")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_names_them(dtype):
    X, y, _ = drawn()
    X = np.column_stack([X, X[:, 1] - X[:, 0]]).astype(dtype)
    with pytest.warns(MixtureWarning, match="can be computed from column 0 and column 1:"):
        LinearClassifierMixture(1).fit(X, y)
