"""What the paper demands of f (eq. 3), as properties of every response."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectralmirror.responses import HARD, RESPONSES, Response, get_response

every_response = pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
smooth = pytest.mark.parametrize("response", [r for r in RESPONSES.values() if r is not HARD])
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


def test_a_new_response_is_a_few_lines():
    cauchy = Response(
        "cauchy",
        lambda t: 0.5 + np.arctan(t) / np.pi,
        lambda t: np.log(0.5 + np.arctan(t) / np.pi),
        lambda t: 1 / (np.pi * (1 + np.square(t))),
    )
    assert get_response(cauchy) is cauchy


@pytest.mark.parametrize("name", ["logit", None, ["hard"]])
def test_unknown_response(name):
    with pytest.raises(ValueError, match="response must be one of 'logistic', 'probit', 'hard'"):
        get_response(name)
