"""How many eigenvalues stand out, and Lanczos against the dense solver."""

import warnings
from functools import partial

import numpy as np
import pytest

from spectralmirror import FeatureMoments, SpectralMirror
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import subspace_error
from spectralmirror.subspace.spectrum import NullModel, null_deviation

paper = partial(SpectralMirror, method="paper")


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_counts_the_components(k):
    """Where signals are strong only false positives are left: 2 of 10 have probability 0.004."""
    right = 0
    for seed in range(10):
        X, y, _ = make_linear_classifier_mixture(
            60_000,
            12,
            profiles=np.eye(k, 12),
            weights=np.full(k, 1 / k),
            response="hard",
            random_state=seed,
        )
        right += paper("auto", random_state=seed).fit(X, y).n_components_ == k
    assert right >= 9


@pytest.mark.parametrize(
    ("case", "options"),
    {
        "plain": {},
        "few rows": {"n": 80},
        "mean known": {"mean": 0.0},
        "all known": {"mean": np.zeros(15), "covariance": np.eye(15)},
        "shifted, unbalanced": {"shift": 1.0, "share": 0.8},
        "moments of other rows": {"moments": 150},
        "weights": {"weights": 0.3},
    }.items(),
)
def test_false_positives_on_labels_that_know_nothing(case, options):
    """At a rate of 5 %, 300 data sets give 15 +- 3.8 false alarms: 27 is 3.2 deviations out.

    Unequal weights are only approximated: twice the rate is allowed there.
    """
    options = dict(options)
    n, shift, share = options.pop("n", 400), options.pop("shift", 0.0), options.pop("share", 0.5)
    others, spread = options.pop("moments", None), options.pop("weights", None)
    d, alarms = 15, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((n, d)) + shift, rng.random(n) < share
        if others:
            options["moments"] = FeatureMoments.from_rows(rng.standard_normal((others, d)))
        weight = None if spread is None else np.exp(spread * rng.standard_normal(n))
        mirror = paper("auto", false_positive_rate=0.05, random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            alarms += mirror.fit(X, y, sample_weight=weight).n_outliers_ > 0
    assert alarms <= (27 if case != "weights" else 54)
    if case in ("plain", "mean known"):  # too few alarms would be wrong as well
        assert alarms >= 4


def test_small_rates_are_small():
    """The edge moves outwards as the rate falls, down to one in ten thousand."""
    model = NullModel(10, np.array([100.0, 60.0]), np.array([0.6, 0.4]), np.inf, np.inf)
    edges = [
        null_deviation(model, rate, np.random.RandomState(0)) for rate in (0.2, 0.05, 0.01, 1e-4)
    ]
    assert (np.diff(edges) > 0).all()


@pytest.mark.parametrize("d", [20, 150])
def test_no_false_positives_beside_true_components(d):
    """P(count > k) is 1 % a data set: 3 or more of 30 have probability 0.003."""
    over = 0
    for seed in range(30):
        X, y, _ = make_linear_classifier_mixture(
            60 * d, d, profiles=np.eye(2, d), weights=[0.5, 0.5], response="hard", random_state=seed
        )
        over += paper("auto", random_state=seed).fit(X, y).n_components_ > 2
    assert over <= 2


def test_says_when_it_sees_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 10)), rng.choice([-1, 1], 500)
    with pytest.warns(UserWarning, match="No eigenvalue stands out"):
        mirror = paper("auto", random_state=0).fit(X, y)
    assert mirror.n_components_ == 1


def test_one_hard_classifier_is_its_mirror_direction():
    """No eigenvalue stands out, but r-hat does: one component and no warning."""
    X, y, truth = make_linear_classifier_mixture(5000, 10, 1, response="hard", random_state=0)
    mirror = paper("auto", random_state=0).fit(X, y)
    assert mirror.n_components_ == 1
    assert subspace_error(mirror.components_, truth.profiles) < 0.1


def test_auto_is_the_same_for_the_same_seed():
    X, y, _ = make_linear_classifier_mixture(20_000, 10, random_state=0)
    first, second = (paper("auto", random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)


def test_lanczos_is_exact_where_eigenvalues_stand_out():
    """From 500 features on it is the default; there it agrees with the dense solver."""
    d = 500
    X, y, truth = make_linear_classifier_mixture(
        100 * d, d, profiles=np.eye(2, d), weights=[0.5, 0.5], response="hard", random_state=0
    )
    known = {"mean": np.zeros(d), "covariance": np.eye(d)}
    lanczos = paper(2, random_state=0, **known).fit(X, y)
    dense = paper(2, eigen_solver="dense", **known).fit(X, y)
    assert lanczos.eigenvalues_.shape == (2,)
    assert dense.eigenvalues_.shape == (d,)
    assert subspace_error(lanczos.components_, dense.components_) < 1e-5
    assert subspace_error(lanczos.components_, truth.profiles) < 0.4
    single = paper(2, random_state=0, **known).fit(X.astype(np.float32), y)
    assert subspace_error(single.components_, dense.components_) < 1e-3


def test_lanczos_never_forms_a_square_matrix():
    import tracemalloc

    from spectralmirror.subspace.whitening import Whitening

    d = 3000
    X = np.random.default_rng(0).standard_normal((4000, d))
    y = X[:, 0] > 0
    covariance = np.eye(d)
    assert Whitening.known(np.zeros(d), covariance).cholesky is None
    tracemalloc.start()
    paper(2, mean=0.0, covariance=covariance, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * covariance.nbytes
