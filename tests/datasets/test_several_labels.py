import numpy as np
import pytest

from spectralmirror.datasets import make_multinomial_mixture


def test_labels_have_the_probabilities_of_the_truth():
    X, y, truth = make_multinomial_mixture(
        40_000, 2, n_labels=4, weights=[0.7, 0.3], intercepts=[[1, 0, 0, 0], [0, 0, 0, 2]],
        random_state=0,
    )  # fmt: skip
    p = truth.probabilities(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    for label in range(4):
        likely = p[:, label] > np.median(p[:, label])
        for half in (likely, ~likely):
            expected, n = p[half, label].mean(), half.sum()
            assert abs((y[half] == label).mean() - expected) < 4 * np.sqrt(expected / n)


def test_profiles_sum_to_zero_and_groups_share_a_class():
    X, _, truth = make_multinomial_mixture(90, 3, 2, group_size=3, profile_norm=1.5, random_state=1)
    np.testing.assert_allclose(truth.profiles.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.square(truth.profiles).sum(axis=2).mean(axis=1), 1.5**2)
    assert (truth.components.reshape(-1, 3) == truth.components[::3, None]).all()
    given = make_multinomial_mixture(90, profiles=truth.profiles + 5, group_size=3, random_state=1)
    np.testing.assert_allclose(given[2].profiles, truth.profiles)
    assert len(X) == 90


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_labels": 1}, "n_labels"),
        ({"profiles": [[1.0, 2.0]]}, "two labels or more"),
        ({"intercepts": [0.0, 1.0]}, r"intercepts must have shape \(2, 3\)"),
        ({"weights": [0.5, 0.6]}, "sum to 1"),
    ],
)
def test_bad_input(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_multinomial_mixture(10, **options)
