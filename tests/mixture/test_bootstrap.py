"""Bootstrap errors against the curvature of the likelihood, and what they refuse."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from spectralmirror import ChoiceMixture, LinearClassifierMixture, load, save, scan
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from tests.helpers.refusals import assert_refused

X, Y, TRUTH = make_linear_classifier_mixture(
    1_500, 3, weights=[0.6, 0.4], profile_norm=3, group_size=5, random_state=0
)
GROUPS = TRUTH.groups
FITTED = LinearClassifierMixture(2, random_state=0).fit(X, Y, groups=GROUPS)
FOUND = FITTED.bootstrap(X, Y, groups=GROUPS, n=200, random_state=0)


def test_shapes_and_order():
    assert FOUND.coef.shape == (200, 2, 3)
    assert FOUND.intercept.shape == FOUND.weights.shape == (200, 2)
    assert len(FOUND) == 200
    assert FOUND.converged.all()
    np.testing.assert_allclose(FOUND.weights.sum(axis=1), 1)
    error = FOUND.standard_error
    order = np.concatenate([np.column_stack([error.coef, error.intercept]).ravel(), error.weights])
    np.testing.assert_allclose(np.sqrt(np.diagonal(FOUND.covariance)), order)
    assert FOUND.covariance.shape == FITTED.covariance_.shape


def test_errors_are_close_to_those_from_the_curvature():
    # 200 resamples have a standard error of 5 %; the two differ a little in 300 groups
    error = FOUND.standard_error
    np.testing.assert_allclose(error.coef, FITTED.coef_standard_error_, rtol=0.2)
    np.testing.assert_allclose(error.weights, FITTED.weights_standard_error_, rtol=0.2)
    apart = np.abs(FOUND.coef.mean(axis=0) - FITTED.coef_)  # the bias of so few groups
    assert (apart < 0.5 * FITTED.coef_standard_error_).all()


def test_intervals_are_quantiles():
    lower, upper = FOUND.interval(0.9)
    inside = (FOUND.coef >= lower.coef) & (FOUND.coef <= upper.coef)
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=0.011)
    wider = FOUND.interval(0.95)
    assert (wider[0].weights < lower.weights).all()
    assert (wider[1].weights > upper.weights).all()


def test_a_longer_run_continues_a_shorter_one_on_any_number_of_processes():
    short = FITTED.bootstrap(X, Y, groups=GROUPS, n=12, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(short.coef, FOUND.coef[:12])


def test_the_model_stays_as_it_is():
    before = {name: np.copy(value) for name, value in vars(FITTED).items()}
    FITTED.bootstrap(X, Y, groups=GROUPS, n=2)
    assert vars(FITTED).keys() == before.keys()
    np.testing.assert_array_equal(FITTED.coef_, before["coef_"])


def test_summary_shows_both():
    lines = FOUND.summary(0.9).splitlines()
    assert lines[0] == "Bootstrap: 200 resamples of 300 groups"
    first = next(line for line in lines if line.startswith("x0")).split()
    lower, upper = FOUND.interval(0.9)
    numbers = [
        FITTED.coef_[0, 0], FITTED.coef_standard_error_[0, 0],
        FOUND.standard_error.coef[0, 0], lower.coef[0, 0], upper.coef[0, 0],
    ]  # fmt: skip
    shown = [float(first[i]) for i in (1, 2, 5, 6, 7)]
    np.testing.assert_allclose(shown, numbers, rtol=1e-3)
    assert len({len(line) for line in lines if line.startswith(("x", "(w", "(i"))}) == 1


def test_a_mixture_carries_resamples_until_it_is_fitted_again(tmp_path):
    model = LinearClassifierMixture(2, random_state=0).fit(X, Y, groups=GROUPS)
    found = model.bootstrap(X, Y, groups=GROUPS, n=5, random_state=0)
    before = model.summary()
    found.keep()
    assert model.summary() == f"{before}\n\n{found.summary()}"
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.summary() == model.summary()
    again.resamples_["weights"] = again.resamples_["weights"][:, :1]
    with pytest.raises(ValueError, match="cannot be stored: its parts do not fit together"):
        save(again, tmp_path / "damaged.skops")
    assert clone(model).fit(X, Y, groups=GROUPS).summary() == before
    assert model.fit(X, Y, groups=GROUPS).summary() == before


def test_integer_weights_stand_for_rows():
    weight = np.repeat(np.tile([1.0, 2.0], 150), 5)
    index = np.repeat(np.arange(1_500), weight.astype(int))
    copies = GROUPS[index] * 2 + (np.arange(len(index)) % 2) * (weight[index] == 2)
    model = LinearClassifierMixture(2, random_state=0)
    weighted = model.fit(X, Y, groups=GROUPS, sample_weight=weight)
    errors = weighted.bootstrap(
        X, Y, groups=GROUPS, sample_weight=weight, random_state=0
    ).standard_error.coef
    # rows 2 i and 2 i + 1 of a repeated group are its two copies
    repeated = LinearClassifierMixture(2, random_state=0).fit(X[index], Y[index], groups=copies)
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, rtol=1e-4)
    np.testing.assert_allclose(errors, repeated.coef_standard_error_, rtol=0.25)


def test_rows_of_files(tmp_path, monkeypatch):
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(y=Y, person=GROUPS)
    frame.write_parquet(tmp_path / "rows.parquet")
    source = scan(tmp_path / "rows.parquet", label="y", groups="person")
    model = LinearClassifierMixture(2, random_state=0).fit(source)
    error = model.bootstrap(source, n=100, random_state=0).standard_error
    # as above, with half of the resamples
    np.testing.assert_allclose(error.coef, model.coef_standard_error_, rtol=0.3)


def no_memory(monkeypatch):
    for module in ("rows.grouped", "rows.sample"):
        monkeypatch.setattr(f"spectralmirror.{module}.SAMPLE_BYTES", 10_000)


def test_rows_that_do_not_fit_into_memory(tmp_path, monkeypatch):
    """Poisson counts depend on the person, not on where their rows are."""
    weight = np.repeat(np.tile([1.0, 2.0], 150), 5)
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(y=Y, person=GROUPS, w=weight)
    frame.write_parquet(tmp_path / "rows.parquet")
    order = np.random.default_rng(0).permutation(len(frame))
    frame[order].write_parquet(tmp_path / "scattered.parquet")
    found = []
    for name in ("rows", "scattered"):
        options = {"label": "y", "groups": "person", "sample_weight": "w"}
        source = scan(tmp_path / f"{name}.parquet", features=list("abc"), **options)
        model = LinearClassifierMixture(2, random_state=0).fit(source)
        with monkeypatch.context() as patch:
            no_memory(patch)
            found.append(model.bootstrap(source, n=400, random_state=0))
    np.testing.assert_allclose(found[1].coef, found[0].coef, rtol=1e-6)
    # the bootstrap's are 1.13 times as large in memory, too; 400 have a standard error of 3.5 %
    error = found[0].standard_error
    np.testing.assert_allclose(error.coef, model.coef_standard_error_, rtol=0.3)
    np.testing.assert_allclose(error.weights, model.weights_standard_error_, rtol=0.3)
    assert found[0].converged.all()
    assert found[0].units == "300 groups"


def test_dask_gives_the_resamples_of_files(tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array")
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(y=Y, person=GROUPS)
    frame.write_parquet(tmp_path / "rows.parquet")
    source = scan(tmp_path / "rows.parquet", label="y", groups="person")
    model = LinearClassifierMixture(2, random_state=0).fit(source)
    chunked = da.from_array(X, chunks=(400, 3)), da.from_array(Y, chunks=400)
    people = da.from_array(GROUPS, chunks=400)
    again = LinearClassifierMixture(2, random_state=0).fit(*chunked, groups=people)
    no_memory(monkeypatch)
    one = model.bootstrap(source, n=3, random_state=0)
    other = again.bootstrap(*chunked, groups=people, n=3, random_state=0)
    np.testing.assert_allclose(other.coef, one.coef, rtol=1e-4)  # up to where climbs end
    assert other.coef.std(axis=0).min() > 0


@pytest.mark.parametrize("kind", ["intercept", "diagonal"])
def test_spread(kind, tmp_path):
    A, labels, truth = make_linear_classifier_mixture(
        2_000, 2, 2, profile_norm=3, group_size=10, spread=0.8, random_state=1
    )
    model = LinearClassifierMixture(2, spread=kind, random_state=0)
    model.fit(A, labels, groups=truth.groups)
    found = model.bootstrap(A, labels, groups=truth.groups, n=60, random_state=0)
    assert found.converged.all()
    # 60 resamples have a standard error of 9 %
    error = found.standard_error
    np.testing.assert_allclose(error.coef, model.coef_standard_error_, rtol=0.35)
    np.testing.assert_allclose(error.weights, model.weights_standard_error_, rtol=0.35)
    apart = np.abs(found.coef.mean(axis=0) - model.coef_)
    assert (apart < 0.5 * model.coef_standard_error_).all()
    within = np.column_stack([found.intercept_deviation, found.spread_deviation])
    assert (within[:, 1:] == 0).all() == (kind == "intercept")
    text = found.summary()
    assert text.count("Standard deviations within each class") == 1
    lines = [one for one in found.lines() if one.line.component == -1]
    assert len(lines) == (1 if kind == "intercept" else 3)
    for one in lines:
        column = 0 if one.line.term == "(intercept)" else 1 + int(one.line.term[1])
        assert one.standard_error == pytest.approx(within[:, column].std(ddof=1))
        assert one.lower == pytest.approx(np.quantile(within[:, column], 0.025))
    found.keep()
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.summary() == model.summary()
    np.testing.assert_array_equal(
        again.bootstrap(A, labels, groups=truth.groups, n=2, random_state=0).coef, found.coef[:2]
    )
    del again._spread_entries
    assert_refused(
        lambda: again.bootstrap(A, labels, groups=truth.groups, n=2), "older version has fitted"
    )


def test_membership_and_known_classes():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 1))[GROUPS]
    known = np.where(GROUPS < 60, TRUTH.components, -1)
    options = {"groups": GROUPS, "membership": Z, "known": known}
    model = LinearClassifierMixture(2, random_state=0).fit(X, Y, **options)
    found = model.bootstrap(X, Y, **options, n=100, random_state=0)
    assert found.membership_coef.shape == (100, 2, 1)
    assert (found.membership_coef[:, 0] == 0).all()
    error = found.membership_coef.std(axis=0)[1]
    np.testing.assert_allclose(error, model.membership_coef_standard_error_[1], rtol=0.3)


def test_choices():
    A, chosen, truth = make_choice_mixture(300, 3, 2, random_state=0)
    given = {"choices": truth.choices, "groups": truth.groups}
    model = ChoiceMixture(2, random_state=0).fit(A, chosen, **given)
    found = model.bootstrap(A, chosen, **given, n=100, random_state=0)
    # the two differ by the standard error of 100 resamples, 7 %, and their own errors
    np.testing.assert_allclose(found.standard_error.coef, model.coef_standard_error_, rtol=0.35)
    assert (found.intercept == 0).all()


def boot(X=X, Y=Y, model=FITTED, **options):
    return lambda: model.bootstrap(X, Y, **{"groups": GROUPS, "n": 2, **options})


def other(**options):
    return LinearClassifierMixture(2, random_state=0, **options).fit(X, Y, groups=GROUPS)


REFUSED = {
    "one": (boot(n=1), "n must be 2 or more"),
    "none": (boot(n=0), "n must be a whole number of at least 1, got 0"),
    "half": (boot(n=2.5), "n must be a whole number"),
    "fewer rows": (boot(X[:9], Y[:9], groups=GROUPS[:9]), "fitted to rows 1500, not 9"),
    "no groups": (boot(groups=None), "fitted to groups 300, not 1500. Pass X, y, groups,"),
    "other labels": (boot(Y=np.where(Y > 0, "a", "b")), "fitted to labels"),
    "another y": (boot(Y=Y[::-1]), "log-likelihood .* on the rows that were fitted, but"),
    "features": (boot(X[:, :2]), "other features than those that were fitted"),
    "NaN": (boot(np.where(X > 3, np.nan, X)), "NaN"),
    "seed": (boot(random_state="a"), "'a' cannot be used to seed"),
    "hard": (boot(model=other(response="hard")), "use 'logistic' or 'probit'"),
    "subspace": (boot(model=other(refine=False)), "refine=True"),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_one_clear_sentence(call, sentence):
    assert_refused(call, sentence)


def test_level():
    assert_refused(lambda: FOUND.interval(95), "level must lie between 0 and 1")
