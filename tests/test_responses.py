"""What the paper demands of f (eq. 3), as properties of every response."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import profile_error
from spectralmirror.plotting.mixture import profiles_data
from spectralmirror.responses import HARD, RESPONSES, Response, get_response

every_response = pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
smooth = pytest.mark.parametrize(
    "response",
    [r for r in RESPONSES.values() if r.surrogate is None],
    ids=[name for name, r in RESPONSES.items() if r.surrogate is None],
)
numbers = st.floats(-1e4, 1e4)


@every_response
@given(s=numbers, t=numbers)
def test_does_not_decrease(response, s, t):
    s, t = min(s, t), max(s, t)
    assert 0 <= response.f(s) <= response.f(t) <= 1


@every_response
@given(t=numbers)
def test_symmetry(response, t):
    assert response.f(-t) == pytest.approx(1 - response.f(t), abs=1e-15)
    assert response.expected_label(t) == pytest.approx(2 * response.f(t) - 1, abs=1e-15)
    assert response.expected_label(-t) == -response.expected_label(t)


@every_response
def test_limits(response):
    assert response.f(1e4) == 1
    assert response.f(-1e4) == 0
    assert response.f(0.0) == 0.5


@every_response
@given(s=st.floats(1e-3, 1e4), t=st.floats(1e-3, 1e4))
def test_concave_for_positive(response, s, t):
    middle = response.f((s + t) / 2)
    assert middle >= (response.f(s) + response.f(t)) / 2 - 1e-15


@smooth
def test_strictly_concave_for_positive(response):
    t = np.linspace(0, 4, 50)
    assert (np.diff(response.f(t), 2) < 0).all()


@smooth
@given(t=numbers)
def test_log_is_finite_and_agrees(response, t):
    log_f = response.log_f(t)
    assert np.isfinite(log_f)
    assert log_f <= 0
    if response.f(t) > 1e-300:
        assert log_f == pytest.approx(np.log(response.f(t)), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "value"), [("logistic", -1e4), ("probit", -1e8 / 2 - np.log(1e4 * np.sqrt(2 * np.pi)))]
)
def test_log_in_the_far_tail(name, value):
    """log(1 / (1 + e^t)) ~ -t, and Mills' ratio for the normal tail, at t = -1e4."""
    assert RESPONSES[name].log_f(-1e4) == pytest.approx(value, rel=1e-12)


@smooth
@given(t=st.floats(-30, 30))
def test_derivative_by_finite_differences(response, t):
    h = 1e-5
    difference = (response.f(t + h) - response.f(t - h)) / (2 * h)
    assert response.derivative(t) == pytest.approx(difference, abs=1e-9)


@smooth
@given(t=st.floats(-200, 30))
def test_slope_and_curvature_by_finite_differences(response, t):
    h = 1e-5
    slope, curvature = response.slope(t), response.curvature(t, response.slope(t))
    difference = (response.log_f(t + h) - response.log_f(t - h)) / (2 * h)
    assert slope == pytest.approx(difference, rel=1e-6, abs=1e-6)
    difference = (response.slope(t + h) - response.slope(t - h)) / (2 * h)
    assert curvature == pytest.approx(difference, rel=1e-5, abs=1e-6)


@every_response
def test_slope_and_curvature_far_out(response):
    t = np.array([-1e12, -2e4, -1e4, -500.0, 500.0, 1e4, 1e12])
    slope = response.slope(t)
    curvature = response.curvature(t, slope)
    assert np.isfinite(slope).all()
    assert (slope >= 0).all()
    assert (slope[t > 0] < 1e-200).all()
    assert np.isfinite(curvature).all()
    assert (curvature <= 0).all()


def test_probit_curvature_tends_to_minus_one():
    t, probit = -np.array([1e2, 1e4, 1e6]), RESPONSES["probit"]
    np.testing.assert_allclose(probit.curvature(t, probit.slope(t)), -1, rtol=1e-3)


@every_response
def test_only_the_logistic_response_is_canonical(response):
    t = np.linspace(-9, 9, 50)
    same = np.allclose(response.slope(t), 1 - response.f(t), atol=1e-12)
    assert response.canonical == same == np.allclose(response.f(t), expit(t))


@every_response
def test_what_is_fitted_is_smooth(response):
    assert response.fitted.norm_identified
    assert (response.fitted is response) == response.norm_identified
    assert np.isfinite(response.fitted.log_f(-1e4))


@every_response
def test_derivative_in_the_tails(response):
    slope = response.derivative(np.array([-1e4, -500.0, 500.0, 1e4]))
    assert np.isfinite(slope).all()
    assert (slope >= 0).all()
    assert (slope < 1e-200).all()


@every_response
def test_pickles_to_itself(response):
    assert pickle.loads(pickle.dumps(response)) is response


@every_response
def test_whole_numbers_of_any_width(response):
    for t in (np.uint8([3]), np.int8([-128, 127]), [1, -2], True):
        as_float = np.asarray(t, dtype=float)
        np.testing.assert_allclose(response.expected_label(t), response.expected_label(as_float))
        np.testing.assert_allclose(response.derivative(t), response.derivative(as_float))


def test_hard_labels_are_signs():
    t = np.array([-2.0, 0.0, 3.0])
    assert HARD.expected_label(t).tolist() == [-1, 0, 1]
    assert HARD.log_f(t).tolist() == [-np.inf, np.log(0.5), 0]


def _cauchit_f(t):
    """1/2 + arctan(t) / pi, as arctan2 for the tails; light enough to add in a few lines."""
    t = np.asarray(t, dtype=float)
    return np.where(t < 0, np.arctan2(1, -t), np.pi - np.arctan2(1, np.maximum(t, 0))) / np.pi


def _cauchit_slope(t):
    t = np.asarray(t, dtype=float)
    return 1 / (np.pi * (1 + t * t) * _cauchit_f(t))


CAUCHIT = Response(
    "cauchit",
    _cauchit_f,
    lambda t: np.log(_cauchit_f(t)),
    _cauchit_slope,
    lambda t, slope: -slope * (slope + 2 * np.asarray(t) / (1 + np.square(t))),
    effect_name="Cauchits",
    description="the label is the sign of a linear score with Cauchy noise",
)


class TestNewResponse:
    """One registration is all it takes."""

    @pytest.fixture(autouse=True)
    def registered(self, monkeypatch):
        monkeypatch.setitem(RESPONSES, "cauchit", CAUCHIT)

    def test_derivatives(self):
        t, h = np.linspace(-20, 20, 81), 1e-5
        slope = (CAUCHIT.log_f(t + h) - CAUCHIT.log_f(t - h)) / (2 * h)
        np.testing.assert_allclose(CAUCHIT.slope(t), slope, rtol=1e-6)
        curvature = (CAUCHIT.slope(t + h) - CAUCHIT.slope(t - h)) / (2 * h)
        np.testing.assert_allclose(CAUCHIT.curvature(t, CAUCHIT.slope(t)), curvature, atol=1e-6)

    @pytest.mark.parametrize("solver", ["lbfgs", "em"])
    def test_it_is_simulated_fitted_predicted_and_printed(self, solver):
        X, y, truth = make_linear_classifier_mixture(
            6000, 4, weights=[0.6, 0.4], response="cauchit", group_size=5, random_state=0
        )
        assert truth.response is CAUCHIT
        mixture = LinearClassifierMixture(2, response="cauchit", solver=solver, random_state=0)
        mixture.fit(X, y, groups=truth.groups)
        # margin: four times the error of the logistic fit of such data
        assert profile_error(truth.profiles, mixture.coef_) < 0.4
        assert np.isfinite(mixture.coef_standard_error_).all()
        f = _cauchit_f(X @ mixture.coef_.T + mixture.intercept_)
        np.testing.assert_allclose(mixture.predict_proba(X)[:, 1], f @ mixture.weights_)
        assert mixture.component_proba(X, y, groups=truth.groups).shape == (6000, 2)
        assert "cauchit response" in mixture.summary()
        assert not profiles_data(mixture, 4, 0.95)["unit_length"]
        logistic = LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups)
        assert mixture.log_likelihood_ > logistic.log_likelihood_ + 10

    def test_it_pickles_by_name(self):
        assert pickle.loads(pickle.dumps(CAUCHIT)) is CAUCHIT


def test_a_response_that_is_not_registered():
    X, y, _ = make_linear_classifier_mixture(100, 3, response=CAUCHIT, random_state=0)
    assert get_response(CAUCHIT) is CAUCHIT
    with pytest.raises(ValueError, match=r"'response' parameter .* must be a str among"):
        LinearClassifierMixture(response="cauchit").fit(X, y)


@pytest.mark.parametrize("name", ["logit", None, ["hard"]])
def test_unknown_response(name):
    with pytest.raises(ValueError, match="response must be one of 'logistic', 'probit', 'hard'"):
        get_response(name)


@pytest.mark.parametrize("deviation", [0.0, 0.5, 2.0, 8.0, 40.0, 300.0])
def test_averages_over_a_normal_distribution(deviation):
    t = np.array([[0.3, -6.0], [30.0, 0.0]])

    def by_quadrature(t):
        def of(z):
            return expit(t + deviation * z) * norm.pdf(z)

        turn = -t / deviation if deviation else 0.0
        return quad(of, -10, 10, limit=500, points=sorted({0.0, float(np.clip(turn, -9, 9))}))[0]

    found = RESPONSES["logistic"].averaged(t, deviation)
    np.testing.assert_allclose(found, np.vectorize(by_quadrature)(t), atol=1e-6)
    found = RESPONSES["probit"].averaged(t, np.full((2, 1), deviation))
    np.testing.assert_allclose(found, ndtr(t / np.sqrt(1 + deviation**2)), atol=1e-6)
    expected = ndtr(t / deviation) if deviation else np.heaviside(t, 0.5)
    np.testing.assert_allclose(RESPONSES["hard"].averaged(t, deviation), expected, atol=1e-12)
