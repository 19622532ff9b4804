"""Who belongs to which class, and what classes share, on the page."""

import re

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.report.collector import collect
from spectralmirror.report.inputs import without_names
from spectralmirror.report.renderer import render
from tests.helpers.report import shop_rows


@pytest.fixture(scope="module")
def shop():
    X, y, groups, _ = shop_rows(n_groups=120, size=5)
    age = 40 + 10 * np.random.default_rng(1).standard_normal(120)
    member = np.arange(120) % 2
    Z = pl.DataFrame({"age": age[groups], "member=yes": member[groups].astype(float)})
    mixture = LinearClassifierMixture(
        2, shared=["weight"], signs={"price": 1}, l2=1, n_init=8, random_state=0
    ).fit(X, y, groups=groups, membership=Z)
    about = {"membership_references": {"member=yes": "no"}}
    data = collect(mixture, X, y, groups=groups, membership=Z, about=about)
    return mixture, data, X, Z


def test_what_is_collected(shop):
    mixture, data, _, Z = shop
    found = data["membership"]
    age, member = found["covariates"]
    assert (age["level"], member["level"], member["reference"]) == (False, True, "no")
    [b] = found["classes"]
    np.testing.assert_allclose(
        [term["value"] for term in b["terms"]],
        mixture.membership_coef_[1] * [age["step"], 1.0], rtol=1e-5,
    )  # fmt: skip
    assert age["step"] == pytest.approx(Z["age"][::5].std(ddof=0), rel=1e-5)
    curve = next(one for one in found["curves"] if one["covariate"] == "age")
    low, high = np.percentile(Z["age"], [2, 98])
    np.testing.assert_allclose([curve["grid"][0], curve["grid"][-1]], [low, high], rtol=1e-5)
    assert data["required"] == {"shared": ["weight"], "signs": [["price", 1]]}
    assert data["held_out"]["reason"] is None
    for one in data["classifiers"]:
        assert "weight" not in [entry["feature"] for entry in one["contrasts"]]


def test_what_the_page_says(shop):
    page = re.sub(r"<svg.*?</svg>", "", render(shop[1]), flags=re.S)
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert "Who belongs to which classifier" in text
    assert "odds of B against A" in text
    assert "member=yes against ‘no’ times" in text
    assert "one coefficient for all classifiers: ‘weight’" in text
    assert "the coefficient of ‘price’ is not below 0 in any classifier" in text
    assert "the same with both" in text


def test_a_mixture_without_covariates_has_no_such_section():
    X, y, groups, _ = shop_rows(n_groups=40, size=5)
    mixture = LinearClassifierMixture(1, l2=1, random_state=0).fit(X, y, groups=groups)
    data = collect(mixture, X, y, groups=groups)
    assert data["membership"] is None
    assert 'id="membership"' not in render(data)


def test_parameters_call_features_by_number(shop):
    mixture, _, X, _ = shop
    nameless = without_names(mixture)
    assert nameless.shared == [list(X.columns).index("weight")]
    assert nameless.signs == {list(X.columns).index("price"): 1}
    assert mixture.shared == ["weight"]
