"""The report that most tests look at."""

import matplotlib
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect
from tests.helpers.report import ABOUT, Shop, shop_rows

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def shop():
    X, y, groups, table = shop_rows()
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)
    data = collect(mixture, X, y, groups=groups, table=table, about=ABOUT)
    return Shop(mixture, X, y, groups, data)
