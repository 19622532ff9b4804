"""The reports that most tests look at."""

import matplotlib
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.report import collect, collector
from tests.helpers.report import ABOUT, Shop, shop_rows

matplotlib.use("Agg")

#: Members of a class agree about the price and differ about the brand.
PROFILES, SPREAD = [[2.5, 0.4, 1.2], [-2.5, 0.8, 1.5]], [0.4, 1.2, 0.6]


@pytest.fixture(scope="session")
def shop():
    X, y, groups, table = shop_rows()
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=groups)
    data = collect(mixture, X, y, groups=groups, table=table, about=ABOUT)
    return Shop(mixture, X, y, groups, data)


def customers(n, profiles, weights):
    """Return a mixture of customers who differ inside their class, and its rows."""
    X, y, truth = make_linear_classifier_mixture(
        n, profiles=profiles, weights=weights, group_size=12, mean=[0, 0.6, 0], spread=SPREAD,
        random_state=1,
    )  # fmt: skip
    frame = pd.DataFrame(X * [7, 1, 2] + [30, 0, 4], columns=["price", "brand", "size"])
    mixture = LinearClassifierMixture(len(profiles), spread="diagonal", random_state=0)
    mixture.fit(frame, y, groups=truth.groups)
    return mixture, frame, y, truth.groups


@pytest.fixture(scope="session")
def varied(shop):
    """Two classes whose members differ; held-out figures are those of the shop, to save time."""
    mixture, X, y, groups = customers(2400, PROFILES, [0.6, 0.4])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector, "held_out", lambda _: shop.data["held_out"])
        data = collect(mixture, X, y, groups=groups)
    return Shop(mixture, X, y, groups, data)


@pytest.fixture(scope="session")
def varied_class():
    """One class whose members differ."""
    mixture, X, y, groups = customers(1500, PROFILES[:1], [1.0])
    return Shop(mixture, X, y, groups, collect(mixture, X, y, groups=groups))
