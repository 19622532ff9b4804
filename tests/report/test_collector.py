"""The same rows give the same report, in whatever container they come."""

import numpy as np
from scipy import sparse

from spectralmirror.report import collect
from tests.helpers.report import ABOUT, fitted


def test_same_rows_give_the_same_data(shop):
    mixture, X, y, groups, data = shop
    colours = np.where(X["colour=red"] > 0, "red", "blue")
    table = X.drop("colour=red").with_columns(colour=colours)
    again = collect(
        mixture, X.to_pandas(), y.tolist(), groups=groups.tolist(), table=table, about=ABOUT
    )
    assert again == data


def test_sparse_rows_are_dense_ones():
    mixture, X, y = fitted(1)
    assert collect(mixture, sparse.csr_matrix(X), y) == collect(mixture, X, y)
