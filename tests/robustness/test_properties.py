"""What must hold of the public names for any valid data; `make properties` tries many more."""

import os
import subprocess
import sys
import tempfile
import warnings
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from spectralmirror import (
    FeatureMoments,
    LinearClassifierMixture,
    MixtureWarning,
    PrincipalHessianDirections,
    SpectralMirror,
    WeakSignalWarning,
    load,
    pairwise_differences,
    save,
    scan,
)
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.metrics import profile_error, subspace_error

pytestmark = pytest.mark.filterwarnings(
    "ignore::spectralmirror.MixtureWarning",  # some of these rows are few,
    "ignore::spectralmirror.WeakSignalWarning",  # or know nothing
    "ignore:.*shuffle rows that are sorted",
)

DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy": lambda rng, shape: rng.standard_t(2, shape),
    "skew": lambda rng, shape: rng.exponential(size=shape),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "counts": lambda rng, shape: rng.poisson(3.0, shape).astype(float),
    "lattice": lambda rng, shape: rng.integers(-1, 2, shape) * 0.1,
}
FEWER = settings(max_examples=settings().max_examples // 4)
LABELS = [(-1, 1), (0, 1), (False, True), ("no", "yes"), (2.5, 7.0)]


@st.composite
def tables(draw, most_rows=120, most_features=5):
    """Rows of any distribution and unit, labels of any kind that know something or nothing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n, d = draw(st.integers(2, most_rows), label="n"), draw(st.integers(1, most_features))
    X = DRAWS[draw(st.sampled_from(sorted(DRAWS)))](rng, (n, d))
    score = X @ rng.standard_normal((d, 2)) * draw(st.sampled_from([0.0, 1.0, 100.0]))
    score = score[np.arange(n), rng.integers(0, 2, n)] + rng.logistic(size=n)
    X = X * 10.0 ** np.array(draw(st.lists(st.integers(-9, 9), min_size=d, max_size=d)))
    X = (X + draw(st.sampled_from([0.0, 1.0, -1e3]))).astype(draw(st.sampled_from(["f8", "f4"])))
    y = np.array(draw(st.sampled_from(LABELS)))[(score > 0).astype(int)]
    groups = draw(st.sampled_from([None, rng.integers(0, n, n)]))
    weight = draw(st.sampled_from([None, rng.integers(0, 3, n), rng.exponential(size=n)]))
    return X, y, groups, weight


def fitted_or_told(estimator, *rows, **named):
    """Return the fitted estimator, or None where one sentence says why there is none."""
    try:
        return estimator.fit(*rows, **named)
    except ValueError as error:
        sentence = str(error)
    event(f"told: {sentence[:20]}")
    assert 10 < len(sentence) < 400, sentence
    assert "\n" not in sentence
    return None


# ------------------------------------------------------------------ any data at all


@given(
    tables(),
    st.sampled_from([1, 2, 3, "auto"]),
    st.sampled_from(["logistic", "probit", "hard"]),
)
def test_a_mixture_is_a_distribution(table, k, response):
    X, y, groups, weight = table
    mixture = LinearClassifierMixture(k, response=response, n_init=3, random_state=0)
    if fitted_or_told(mixture, X, y, groups=groups, sample_weight=weight) is None:
        return
    k = mixture.n_components_
    assert mixture.coef_.shape == (k, X.shape[1])
    assert np.isfinite(mixture.coef_).all()
    assert np.isfinite(mixture.intercept_).all()
    assert np.isfinite([mixture.objective_, mixture.log_likelihood_, mixture.bic_]).all()
    assert (mixture.weights_ >= 0).all()
    assert mixture.weights_.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(mixture.weights_) <= 0).all()
    P, E = mixture.predict_proba(X), mixture.decision_function(X)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(E, P[:, 1] - P[:, 0], atol=1e-12)
    decided = np.abs(E) > 1e-12
    assert (mixture.predict(X) == mixture.classes_[(E > 0).astype(int)])[decided].all()
    for known in (None, groups):
        r = mixture.component_proba(X, y, groups=known)
        assert ((r >= 0) & (r <= 1)).all()
        np.testing.assert_allclose(r.sum(axis=1), 1, rtol=1e-12)
    said = np.where(y == mixture.classes_[1], P[:, 1], P[:, 0])
    np.testing.assert_allclose(np.exp(mixture.score_samples(X, y)), said, rtol=1e-6, atol=1e-12)
    assert isinstance(mixture.summary(), str)
    drawn, labels = mixture.sample(5, random_state=0)[:2]
    assert np.isfinite(drawn).all()
    assert set(labels.tolist()) <= set(mixture.classes_.tolist())


@given(
    tables(),
    st.sampled_from(
        [
            SpectralMirror(1, random_state=0),
            SpectralMirror(2, random_state=0),
            SpectralMirror("auto", random_state=0),
            SpectralMirror(2, elliptical=True, random_state=0),
            SpectralMirror(1, method="paper"),
            PrincipalHessianDirections(1),
        ]
    ),
)
def test_components_are_orthonormal(table, estimator):
    X, y, groups, weight = table
    named = {"sample_weight": weight}
    if getattr(estimator, "method", "paper") != "paper":
        named["groups"] = groups
    if fitted_or_told(estimator, X, y, **named) is None:
        return
    B = estimator.components_
    np.testing.assert_allclose(B @ B.T, np.eye(len(B)), atol=1e-10)
    assert np.isfinite(estimator.eigenvalues_).all()
    T = estimator.transform(X)
    assert T.shape == (len(X), len(B))
    scale = np.abs(X).max() * X.shape[1]
    np.testing.assert_allclose(T, X @ B.T, atol=1e-5 * scale if X.dtype == "f4" else 1e-12 * scale)


@given(tables(), st.data())
def test_moments_can_be_merged_in_any_order(table, data):
    X, _, _, weight = table
    order = data.draw(st.permutations(range(4)))
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(X)), min_size=3, max_size=3)))]
    edges.append(len(X))
    parts = [slice(a, b) for a, b in pairwise(edges)]
    parts = [parts[j] for j in order if parts[j].stop > parts[j].start]
    if weight is not None:
        parts = [part for part in parts if weight[part].any()]
        weight = np.round(weight)  # counts, which mean the same in every part
        if not all(weight[part].any() for part in parts) or not parts:
            return
    given_weights = [None if weight is None else weight[part] for part in parts]
    try:
        whole = FeatureMoments.from_rows(X, sample_weight=weight)
    except ValueError:
        return
    merged = FeatureMoments.from_rows(X[parts[0]], sample_weight=given_weights[0])
    for part, counts in zip(parts[1:], given_weights[1:], strict=True):
        merged += FeatureMoments.from_rows(X[part], sample_weight=counts)
    scale = np.abs(X).max(axis=0).astype(float)
    scale[scale == 0] = 1
    rtol = 1e-5 if X.dtype == "f4" else 1e-11
    np.testing.assert_allclose(merged.mean / scale, whole.mean / scale, atol=rtol)
    np.testing.assert_allclose(
        merged.covariance / np.outer(scale, scale),
        whole.covariance / np.outer(scale, scale),
        atol=rtol,
    )


# ------------------------------------------------------------------ data with a clear answer


@st.composite
def clear(draw):
    """Two classifiers that groups of eight rows tell apart, and a seed for what is done to them."""
    seed, d = draw(st.integers(0, 10_000), label="seed"), draw(st.integers(2, 5), label="d")
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, d)))[0][:2] * 2.5
    X, y, truth = make_linear_classifier_mixture(
        2_000, profiles=U, weights=[0.6, 0.4], group_size=8, random_state=seed
    )
    return X, y, truth.groups, rng


def mixture_of(X, y, groups, **options):
    options = {"l2": 0.0, "random_state": 0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("error", MixtureWarning)
        return LinearClassifierMixture(2, **options).fit(X, y, groups=groups)


def mirror_of(X, y, groups=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakSignalWarning)
        return SpectralMirror(2, random_state=0, **options).fit(X, y, groups=groups)


@FEWER
@given(clear())
def test_linear_maps_and_shifts(table):
    """x -> A x + b: profiles become A^-T u, intercepts lose <A^-T u, b>, predictions stay."""
    X, y, groups, rng = table
    d = X.shape[1]
    left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in "ab")
    A = left * 10.0 ** rng.uniform(-2, 2, d) @ right
    b = 10.0 ** rng.uniform(-1, 3) * rng.standard_normal(d)
    mapped = X @ A.T + b
    one, other = mixture_of(X, y, groups), mixture_of(mapped, y, groups)
    np.testing.assert_allclose(other.coef_ @ A, one.coef_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        other.intercept_ + other.coef_ @ b, one.intercept_, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(other.predict_proba(mapped), one.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-6)
    before, after = mirror_of(X, y, groups), mirror_of(mapped, y, groups)
    assert subspace_error(after.components_ @ A, before.components_) < 1e-4


@FEWER
@given(clear())
def test_flipped_labels_permuted_rows_and_renamed_groups(table):
    X, y, groups, rng = table
    one = mixture_of(X, y, groups)
    flipped = mixture_of(X, -y, groups)
    np.testing.assert_allclose(flipped.coef_, -one.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(flipped.predict_proba(X), one.predict_proba(X)[:, ::-1], atol=1e-7)
    order = rng.permutation(len(X))
    names = np.array([f"evening {g}" for g in rng.permutation(groups.max() + 1)[groups]])
    other = mixture_of(X[order], y[order], names[order])
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        other.component_proba(X, y, groups=names), one.component_proba(X, y, groups), atol=1e-6
    )
    span = mirror_of(X, y, groups).components_
    for again in (mirror_of(X, -y, groups), mirror_of(X[order], y[order], names[order])):
        assert subspace_error(again.components_, span) < 1e-5


@FEWER
@given(clear())
def test_repeated_rows_are_weights(table):
    X, y, groups, rng = table
    times = np.repeat(rng.integers(0, 4, groups.max() + 1), 8)[: len(X)]
    # a group that counts twice is two groups
    copies = np.concatenate([np.arange(w) for w in times]).astype(int)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = mixture_of(X[rows], y[rows], groups[rows] * 4 + copies)
    plain = LinearClassifierMixture(2, l2=0.0, random_state=0)
    weighted = plain.fit(X, y, groups=groups, sample_weight=times)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.log_likelihood_, repeated.log_likelihood_, rtol=1e-9)
    np.testing.assert_allclose(
        weighted.coef_standard_error_, repeated.coef_standard_error_, rtol=1e-3
    )


@FEWER
@given(clear(), st.data())
def test_blocks_of_any_size_are_the_rows(table, data):
    X, y, groups, _ = table
    edges = [0, *sorted(data.draw(st.sets(st.integers(1, len(X) - 1), max_size=6))), len(X)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    source = scan(lambda: ((X[part], y[part], groups[part]) for part in parts))
    one, other = mixture_of(X, y, groups), LinearClassifierMixture(2, l2=0.0, random_state=0)
    other.fit(source)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other.log_likelihood_, one.log_likelihood_, rtol=1e-9)
    again = SpectralMirror(2, random_state=0).fit(source)
    assert subspace_error(again.components_, mirror_of(X, y, groups).components_) < 1e-6


@given(tables(), st.sampled_from(["mixture", "mirror"]))
def test_what_is_stored_is_what_was_fitted(table, kind):
    X, y, groups, _ = table
    model = {
        "mixture": LinearClassifierMixture(2, n_init=2, random_state=0),
        "mirror": SpectralMirror(1, random_state=0),
    }[kind]
    if fitted_or_told(model, X, y, groups=groups) is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.skops")
        again = load(Path(folder) / "model.skops")
    assert digest(again) == digest(model)
    if kind == "mixture":
        assert (again.predict_proba(X) == model.predict_proba(X)).all()
        assert (again.component_proba(X, y) == model.component_proba(X, y)).all()
    else:
        assert (again.transform(X) == model.transform(X)).all()


@given(tables(), st.sampled_from([("left", "right"), (1, 2), (True, False), (1, -1)]))
def test_comparisons_do_not_depend_on_the_side(table, names):
    """Whoever stands on the left: the difference changes its sign, and so does the label."""
    X = table[0]
    half = len(X) // 2
    left, right = X[:half], X[half : 2 * half]
    won = np.arange(half) % 2 == 0
    differences, y = pairwise_differences(left, right, np.where(won, *names))
    swapped, z = pairwise_differences(right, left, np.where(won, *names[::-1]))
    assert (differences == -swapped).all()
    assert (y == won).all()
    assert (y != z).all()


# ------------------------------------------------------------------ threads and processes


def digest(model):
    """Return a digest of all that was fitted, to the last bit."""
    text = sha256()
    for name, value in sorted(vars(model).items()):
        if name.endswith("_"):
            text.update(name.encode())
            array = isinstance(value, np.ndarray) and value.dtype != object
            text.update(value.tobytes() if array else repr(value).encode())
    return text.hexdigest()


def digests():
    """Return digests of fits that use threads: more rows than a block holds."""
    X, y, truth = make_linear_classifier_mixture(40_000, 8, group_size=4, random_state=0)
    yield digest(SpectralMirror(2, random_state=0).fit(X, y))
    yield digest(SpectralMirror(2, method="paper").fit(X, y))
    yield digest(SpectralMirror(2, random_state=0).fit(X, y, groups=truth.groups))
    yield digest(LinearClassifierMixture(2, random_state=0).fit(X, y))
    yield digest(LinearClassifierMixture(2, random_state=0).fit(X, y, groups=truth.groups))


def test_the_same_seed_is_the_same_answer_in_any_process():
    """To the last bit, on one thread or two, whatever the hashes of text are."""
    here = list(digests())
    program = "import tests.robustness.test_properties as t; print(*t.digests(), sep='\\n')"
    for n_threads, hash_seed in (("1", "1"), ("2", "2")):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
        environment = dict.fromkeys(names, n_threads) | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parents[2],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == here, f"{n_threads} threads"


def test_another_seed_reaches_the_same_clear_answer():
    X, y, truth = make_linear_classifier_mixture(4_000, 4, group_size=8, random_state=1)
    one, other = (
        LinearClassifierMixture(2, random_state=seed).fit(X, y, groups=truth.groups)
        for seed in (0, 1)
    )
    assert profile_error(one.coef_, other.coef_) < 1e-5
