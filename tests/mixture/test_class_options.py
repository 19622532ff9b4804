"""Shared coefficients, signs, known classes and membership, against independent optimisers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_expit, logsumexp, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from spectralmirror import LinearClassifierMixture
from spectralmirror.metrics import profile_error

U = np.array([[2.0, 0.5, -1.0], [-1.0, 0.5, -1.0]])
B = np.array([0.5, -0.5])
N_PERSONS, SIZE = 150, 6
L2 = 0.8


def data(seed=0, profiles=U):
    """Return rows, labels, persons, the class of each person and a covariate of persons."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(N_PERSONS) * 10 + 40
    second = rng.uniform(size=N_PERSONS) < 1 / (1 + np.exp(-(z - 40) / 10))
    classes = second.astype(int)
    g = np.repeat(np.arange(N_PERSONS), SIZE)
    X = rng.standard_normal((len(g), 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 0.0]
    t = (X * profiles[classes[g]]).sum(axis=1) + B[classes[g]] - 3.0 * profiles[0, 1]
    return X, rng.uniform(size=len(g)) < 1 / (1 + np.exp(-t)), g, classes, z


def objective(theta, X, y, g, z=None, l2=L2):
    """The documented objective of two classes: profiles, intercepts, and logits of the weights."""
    coef, intercept, logits = theta[:6].reshape(2, 3), theta[6:8], theta[8:]
    log_f = log_expit(np.where(y, 1, -1)[:, None] * (X @ coef.T + intercept))
    sums = np.zeros((g.max() + 1, 2))
    np.add.at(sums, g, log_f)
    eta = np.zeros((len(sums), 2))
    eta[:, 1] = logits[0] if z is None else logits[0] + logits[1] * (z - z.mean()) / z.std()
    log_p = eta - logsumexp(eta, axis=1, keepdims=True)
    size = np.square(coef * X.std(axis=0)).sum()
    return logsumexp(sums + log_p, axis=1).sum() - l2 / 2 * size


def theta_of(mixture):
    logit = np.log(mixture.weights_[1] / mixture.weights_[0])
    return np.concatenate([mixture.coef_.ravel(), mixture.intercept_, [logit]])


def optimum(start, *rows, constraints=(), **options):
    """Return the largest value that an independent optimiser reaches from a start."""
    scale = np.maximum(np.abs(start), 0.1)
    bound = [{**one, "fun": lambda x, f=one["fun"]: f(x * scale)} for one in constraints]
    found = minimize(
        lambda x: -objective(x * scale, *rows, **options), start / scale, method="SLSQP",
        constraints=bound, options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    return -found.fun


def fitted(X, y, g=None, k=2, *, membership=None, known=None, sample_weight=None, **options):
    options = {"l2": L2, "random_state": 0, **options}
    return LinearClassifierMixture(k, **options).fit(
        X, y, groups=g, membership=membership, known=known, sample_weight=sample_weight
    )


def test_shared_is_the_constrained_optimum():
    X, y, g, _, _ = data()
    mixture = fitted(X, y, g, shared=[1, 2])
    np.testing.assert_allclose(mixture.coef_[0, 1:], mixture.coef_[1, 1:], rtol=1e-9)
    same = {"type": "eq", "fun": lambda x: x[[1, 2]] - x[[4, 5]]}
    theta = theta_of(mixture)
    value = objective(theta, X, y, g)
    assert mixture.objective_ == pytest.approx(value, abs=1e-6)
    assert optimum(theta, X, y, g, constraints=[same]) == pytest.approx(value, abs=1e-6)
    free = fitted(X, y, g)
    assert mixture.n_parameters_ == free.n_parameters_ - 2
    assert mixture.objective_ < free.objective_
    errors = mixture.coef_standard_error_
    np.testing.assert_allclose(errors[0, 1:], errors[1, 1:], rtol=1e-6)
    assert (errors[0, 1:] < free.coef_standard_error_[:, 1:].min(axis=0)).all()


def test_signs_are_the_constrained_optimum():
    X, y, g, _, _ = data()
    mixture = fitted(X, y, g, signs={0: 1, 2: -1})
    held = mixture.coef_[:, 0].argmin()
    assert mixture.coef_[held, 0] == mixture.coef_standard_error_[held, 0] == 0
    assert (mixture.coef_[:, 2] <= 1e-9).all()
    inside = {"type": "ineq", "fun": lambda x: np.append(x[[0, 3]], -x[[2, 5]])}
    theta = theta_of(mixture)
    best = optimum(theta, X, y, g, constraints=[inside])
    assert mixture.objective_ == pytest.approx(best, abs=1e-6)
    loose = fitted(X, y, g, signs={2: -1})  # holds anyway
    np.testing.assert_allclose(loose.coef_, fitted(X, y, g).coef_, rtol=1e-4)


def test_signs_of_shared_coefficients():
    X, y, g, _, _ = data()
    mixture = fitted(X, y, g, shared=[1, 2], signs={2: 1, 1: 1})
    np.testing.assert_allclose(mixture.coef_[:, 2], 0, atol=1e-9)
    assert mixture.coef_[0, 1] == pytest.approx(mixture.coef_[1, 1])
    bound = {"type": "eq", "fun": lambda x: np.append(x[1] - x[4], x[[2, 5]])}
    best = optimum(theta_of(mixture), X, y, g, constraints=[bound])
    assert mixture.objective_ == pytest.approx(best, abs=1e-6)


def test_classes_that_differ_in_their_intercepts_only():
    rng = np.random.default_rng(1)
    X, g = rng.standard_normal((3000, 2)), np.repeat(np.arange(300), 10)
    b = np.where(np.arange(300) % 3 == 0, 2.5, -1.5)[g]
    y = rng.uniform(size=3000) < 1 / (1 + np.exp(-(X @ [1.0, -1.0] + b)))
    mixture = fitted(X, y, g, shared="all")
    np.testing.assert_allclose(mixture.coef_[0], mixture.coef_[1], rtol=1e-9)
    np.testing.assert_allclose(mixture.coef_[0], [1, -1], atol=0.2)
    np.testing.assert_allclose(mixture.intercept_, [-1.5, 2.5], atol=0.4)


@pytest.mark.parametrize("change", ["scaled", "sparse", "weights", "names", "probit", "spread"])
def test_shared_under_changes(change):
    X, y, g, _, _ = data()
    plain = fitted(X, y, g, shared=[1])
    if change == "scaled":
        again = fitted(X * [1e-6, 1e3, 1.0] + [0, 1e6, 0], y, g, shared=[1])
        np.testing.assert_allclose(again.coef_ * [1e-6, 1e3, 1], plain.coef_, rtol=1e-4)
    elif change == "sparse":
        again = fitted(sparse.csr_array(X), y, g, shared=[1])
        np.testing.assert_allclose(again.coef_, plain.coef_, rtol=1e-6)
    elif change == "weights":
        again = fitted(X, y, g, shared=[1], l2=2 * L2, sample_weight=np.full(len(y), 2))
        np.testing.assert_allclose(again.coef_, plain.coef_, rtol=1e-5)
    elif change == "names":
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=["price", "time", "size"])
        again = fitted(frame, y, g, shared="time")
        np.testing.assert_allclose(again.coef_, plain.coef_, rtol=1e-6)
    else:
        option = {"response": "probit"} if change == "probit" else {"spread": "intercept"}
        again = fitted(X, y, g, shared=[1], **option)
        np.testing.assert_allclose(again.coef_[0, 1], again.coef_[1, 1], rtol=1e-8)
        assert again.converged_


def test_membership_is_the_optimum():
    X, y, g, _, z = data()
    mixture = fitted(X, y, g, membership=z[g])
    logits = [
        mixture.membership_intercept_[1] + mixture.membership_coef_[1, 0] * z.mean(),
        mixture.membership_coef_[1, 0] * z.std(),
    ]
    theta = np.concatenate([mixture.coef_.ravel(), mixture.intercept_, logits])
    value = objective(theta, X, y, g, z)
    assert mixture.objective_ == pytest.approx(value, abs=1e-6)
    assert optimum(theta, X, y, g, z=z) == pytest.approx(value, abs=1e-6)
    proba = mixture.membership_proba(z[:, None])
    np.testing.assert_allclose(mixture.weights_, proba.mean(axis=0), rtol=1e-9)
    eta = np.column_stack([np.zeros(len(z)), (logits[0] + logits[1] * (z - z.mean()) / z.std())])
    np.testing.assert_allclose(proba, softmax(eta, axis=1), rtol=1e-6)


def test_membership_by_group_and_in_other_units():
    pd = pytest.importorskip("pandas")
    X, y, g, _, z = data()
    plain = fitted(X, y, g, membership=z[g])
    names = np.array([f"p{one}" for one in range(N_PERSONS)])
    frame = pd.DataFrame({"age": z}, index=names).sample(frac=1, random_state=0)
    by_group = fitted(X, y, names[g], membership=frame)
    assert by_group.membership_names_in_.tolist() == ["age"]
    np.testing.assert_allclose(by_group.membership_coef_, plain.membership_coef_, rtol=1e-6)
    far = fitted(X, y, g, membership=(1e-3 * z + 1e6)[g])
    np.testing.assert_allclose(far.membership_coef_ * 1e-3, plain.membership_coef_, rtol=1e-4)
    error = plain.membership_coef_standard_error_[1, 0]
    assert abs(plain.membership_coef_[1, 0]) > 3 * error
    noise = np.random.default_rng(1).standard_normal(N_PERSONS)
    both = fitted(X, y, g, membership=np.column_stack([z, noise])[g])
    assert abs(both.membership_coef_[1, 1]) < 3 * both.membership_coef_standard_error_[1, 1]
    assert abs(both.membership_coef_[1, 0] - plain.membership_coef_[1, 0]) < error


def test_predictions_use_the_covariates():
    X, y, g, _, z = data()
    mixture = fitted(X, y, g, membership=z[g])
    p = mixture.membership_proba(z[:, None])[g]
    t = X @ mixture.coef_.T + mixture.intercept_
    expected = (p / (1 + np.exp(-t))).sum(axis=1)
    found = mixture.predict_proba(X, membership=z[g])[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    without = mixture.predict_proba(X)[:, 1]
    np.testing.assert_allclose(without, (mixture.weights_ / (1 + np.exp(-t))).sum(axis=1))
    log_f = np.zeros((N_PERSONS, 2))
    np.add.at(log_f, g, log_expit(np.where(y, 1, -1)[:, None] * t))
    joint = log_f + np.log(mixture.membership_proba(z[:, None]))
    posterior = mixture.component_proba(X, y, g, membership=z[g], averaged=False)
    np.testing.assert_allclose(posterior, softmax(joint, axis=1)[g], rtol=1e-8, atol=1e-12)
    scores = mixture.score_samples(X, y, g, membership=z[g])
    np.testing.assert_allclose(scores, logsumexp(joint, axis=1), rtol=1e-9)
    history = (X[::2], y[::2], g[::2])
    known = mixture.predict_proba(X[1::2], groups=g[1::2], history=history, membership=z[g][1::2])
    np.testing.assert_allclose(known.sum(axis=1), 1)
    assert -np.log(known[np.arange(len(known)), y[1::2].astype(int)]).mean() < 0.6


def test_known_classes_keep_their_numbers():
    profiles = 3 * np.eye(4)
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 200)
    g = np.repeat(np.arange(200), 8)
    X = rng.standard_normal((1600, 4))
    y = rng.uniform(size=1600) < 1 / (1 + np.exp(-(X * profiles[classes[g]]).sum(axis=1)))
    known = np.where((np.arange(200) % 4 == 0) & np.isin(classes, (1, 3)), classes, -1)
    mixture = fitted(X, y, g, 4, known=known[g], l2="auto")
    for c in (1, 3):
        assert mixture.coef_[c].argmax() == c
    assert profile_error(profiles, mixture.coef_) < 0.4
    right = mixture.predict_component(X, y, g) == classes[g]
    assert right[known[g] >= 0].mean() > 0.85


def test_evidence_and_criteria_are_those_of_the_labels_given_known_classes():
    """With and without them it can be compared with the evidence of one class."""
    X, y, g, classes, z = data()
    known = np.where(np.arange(N_PERSONS) % 3 == 0, classes, -1)[g]
    for membership in (None, z[g]):
        one, two = (fitted(X, y, g, k, l2="auto", membership=membership) for k in (1, 2))
        told = fitted(X, y, g, l2="auto", known=known, membership=membership)
        assert told.log_evidence_ > two.log_evidence_ > one.log_evidence_  # it helps to know them
        if membership is None:  # P(labels, classes) is less than P(labels)
            of_classes = np.log(told.weights_)[classes[::3]].sum()
            assert told.log_evidence_ + of_classes < two.log_evidence_
            said = told.bic_ + 2 * told.log_likelihood_ - told.n_parameters_ * np.log(N_PERSONS)
            assert said == pytest.approx(2 * of_classes)  # criteria charge for the labels alone
        assert told.bic_ < two.bic_ < one.bic_
        alike = fitted(X, y, g, 1, l2="auto", known=np.minimum(known, 0), membership=membership)
        assert alike.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-6)
        for name in ("aic_", "bic_", "icl_"):
            assert getattr(alike, name) == pytest.approx(getattr(one, name), abs=1e-6)


def test_all_classes_known_are_separate_regressions():
    X, y, g, classes, _ = data()
    mixture = fitted(X, y, g, known=classes[g], l2=1e-6)
    np.testing.assert_allclose(mixture.weights_, np.bincount(classes) / N_PERSONS, rtol=1e-6)
    for c in range(2):
        here = classes[g] == c
        single = LogisticRegression(C=1e9, tol=1e-10, max_iter=10_000).fit(X[here], y[here])
        np.testing.assert_allclose(mixture.coef_[c], single.coef_[0], rtol=1e-3)


@pytest.mark.parametrize(
    "options",
    [{"shared": [1]}, {"signs": {2: -1}}, {"membership": True}, {"known": True}],
    ids=["shared", "signs", "membership", "known"],
)
def test_the_number_of_classes_is_chosen(options):
    X, y, g, classes, z = data()
    known = np.where(np.arange(N_PERSONS) % 5 == 0, classes, -1)[g]
    options = dict(options)
    given = {
        "membership": z[g] if options.pop("membership", False) else None,
        "known": known if options.pop("known", False) else None,
    }
    mixture = fitted(X, y, g, "auto", l2="auto", **given, **options)
    assert mixture.n_components_ == 2
    again = clone(mixture).fit(X, y, groups=g, **given)
    np.testing.assert_array_equal(again.coef_, mixture.coef_)


def test_bad_input():
    X, y, g, classes, z = data()

    def refused(match, **options):
        with pytest.raises(ValueError, match=match):
            fitted(X, y, options.pop("g", g), **options)

    varying = z[g].copy()
    varying[3] += 1
    refused("change inside group 0", membership=varying)
    refused("a line for each of 900 rows", membership=z[:7])
    refused("must hold numbers", membership=np.array(["a"] * len(g)))
    refused("'z0' has values that are missing", membership=np.full(len(g), np.nan))
    refused("'z0' is the same for all groups", membership=np.ones(len(g)))
    refused("known must hold a whole number", known=classes[g] + 0.5)
    refused("known holds class 4", known=np.where(g == 0, 4, -1))
    refused("shared holds feature 7", shared=[7])
    refused("have no names", shared=["price"])
    refused("signs must be -1", signs={0: 2})
    refused("solver='em'", membership=z[g], solver="em")
    refused("refine=False", shared=[0], refine=False)
    mixture = fitted(X, y, g)
    with pytest.raises(ValueError, match="fitted without covariates"):
        mixture.predict_proba(X, membership=z[g])
    mixture = fitted(X, y, g, membership=z[g])
    with pytest.raises(ValueError, match="must have the covariates"):
        mixture.predict_proba(X, membership=np.column_stack([z, z])[g])
    with pytest.raises(ValueError, match="component_weights or membership"):
        mixture.predict_proba(X, [0.5, 0.5], membership=z[g])
