"""What the report says about the spectrum, also when there is none."""

import warnings

import numpy as np

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect, render
from spectralmirror.report.text.formatting import number
from tests.helpers.report import Page, change, check_page, fitted, sentence


def test_a_missing_spectrum_is_explained():
    mixture, X, y = fitted(3, d=2)
    data = collect(mixture, X, y)
    assert data["spectrum"]["reason"]
    page = render(data)
    check_page(page)
    assert data["spectrum"]["reason"] in Page(page).text


def test_sentences_on_the_spectrum_state_the_eigenvalues_that_the_figure_shows(shop):
    data = shop.data
    weakest = data["spectrum"]["eigenvalues"]["eigenvalues"][1]
    edge = weakest / data["spectrum"]["separation"]
    words = sentence(data, "spectrum", "weakest")
    assert f"an eigenvalue of {number(weakest, 2)}." in words
    assert f"below {number(edge, 2)} (in" in words
    assert number(edge, 2) != number(weakest, 2)
    assert ("is lost in the noise" in words) == (weakest < edge)
    no_noise = change(data, "spectrum/separation", 0.0)
    assert "Noise alone" not in sentence(no_noise, "spectrum", "weakest")


def test_lost_signal_is_stated_without_a_caution():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.uniform(size=300) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = LinearClassifierMixture(2, n_init=4, random_state=0).fit(X, y)
    data = collect(mixture, X, y)
    assert data["spectrum"]["weak"]
    assert data["spectrum"]["weak"][0] in Page(render(data)).text
    assert "no_better" in [caution["kind"] for caution in data["cautions"]]
