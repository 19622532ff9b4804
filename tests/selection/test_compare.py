"""Comparisons as users see them: against fits made one by one, invariances, and what is refused."""

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

from spectralmirror import ChoiceMixture, LinearClassifierMixture, SpectralMirror, scan
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.selection import compare_components
from tests.helpers.refusals import assert_refused

mpl.use("Agg")
X, Y, TRUTH = make_linear_classifier_mixture(
    480, 2, 2, profile_norm=6, group_size=6, random_state=0
)
GROUPS = TRUTH.groups


def compared(estimator=None, X=X, y=Y, **options):
    estimator = LinearClassifierMixture() if estimator is None else estimator
    options = {"groups": GROUPS, "max_components": 2, "n_resamples": 3, "n_splits": 2,
               "random_state": 0, **options}  # fmt: skip
    return compare_components(estimator, X, y, **options)


FOUND = compared(max_components=3, n_resamples=19)


def test_everything_says_two():
    assert FOUND.at_least_ == 2
    suggested = {name: k for name, k in FOUND.suggested_.items() if name != "icl"}
    assert set(suggested.values()) == {2}
    assert suggested.keys() == {"evidence", "bic", "held out", "bootstrap test"}
    assert FOUND.p_value[1] == 0.05  # the least that 19 resamples can give
    assert FOUND.p_value[2] > 0.05
    assert np.isnan(FOUND.p_value[0])


def test_criteria_are_those_of_fits():
    seed = FOUND.models_[2].random_state
    model = LinearClassifierMixture(2, random_state=seed).fit(X, Y, groups=GROUPS)
    row = FOUND.rows[1]
    for name in ("log_likelihood", "n_parameters", "aic", "bic", "icl", "log_evidence"):
        assert row[name] == pytest.approx(getattr(model, f"{name}_"), rel=1e-9)
    np.testing.assert_allclose(FOUND.models_[2].coef_, model.coef_)
    assert FOUND.models_[2].predict(X[:5]).shape == (5,)


def test_held_out_groups_are_scored_by_fits_without_them():
    seed = int(np.random.RandomState(0).randint(2**31))
    fold = np.random.default_rng([seed, 1]).permutation(np.arange(80) % 2)[GROUPS]
    scores = np.concatenate(
        [
            LinearClassifierMixture(2, random_state=seed)
            .fit(X[fold != f], Y[fold != f], groups=GROUPS[fold != f])
            .score_samples(X[fold == f], Y[fold == f], GROUPS[fold == f])
            for f in range(2)
        ]
    )
    assert FOUND.held_out[1] == pytest.approx(scores.mean(), abs=1e-4)
    error = scores.std(ddof=1) / np.sqrt(80)
    assert FOUND.held_out_error[1] == pytest.approx(error, abs=1e-4)
    np.testing.assert_allclose(np.diff(FOUND.held_out), FOUND.gain[1:])
    assert FOUND.gain_error[2] < FOUND.held_out_error[2] / 5  # both are of the same groups


def test_a_longer_run_continues_a_shorter_one_on_any_number_of_processes():
    short = compared(n_resamples=3, n_jobs=2)
    np.testing.assert_array_equal(short.resampled_[2], FOUND.resampled_[2][:3])
    np.testing.assert_allclose(short.held_out, FOUND.held_out[:2])


def test_tests_end_at_the_first_number_that_is_not_rejected():
    single = make_linear_classifier_mixture(300, 2, 1, profile_norm=2, random_state=1)
    found = compared(X=single[0], y=single[1], groups=None, max_components=3, n_resamples=9)
    assert list(found.resampled_) == [2]
    assert found.p_value[1] > 0.05
    assert found.at_least_ == 1
    assert "bootstrap test" not in found.suggested_  # 9 resamples can never reject at 5 %
    assert "300 rows" in str(found)


def test_integer_weights_stand_for_rows():
    weight = 1.0 + GROUPS % 2
    index = np.repeat(np.arange(480), weight.astype(int))
    copies = GROUPS[index] * 2 + (np.arange(len(index)) % 2) * (weight[index] == 2)
    weighted = compared(sample_weight=weight, n_resamples=1)
    repeated = compared(X=X[index], y=Y[index], groups=copies, n_resamples=1)
    np.testing.assert_allclose(weighted.log_likelihood, repeated.log_likelihood, rtol=1e-4)
    assert weighted.statistic[1] == pytest.approx(repeated.statistic[1], rel=1e-3)
    assert weighted.models_[1].n_groups_ == repeated.models_[1].n_groups_ == 120


def test_other_weights_have_no_split_test():
    found = compared(sample_weight=1.5 + GROUPS % 2)
    assert found.at_least_ is None
    assert np.isnan(found.split_log_ratio).all()
    assert np.isfinite(found.p_value[1])


def test_names_membership_and_shared_coefficients():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["price", "time"])
    Z = pd.DataFrame({"age": np.random.default_rng(0).standard_normal(80)}, index=range(80))
    found = compared(LinearClassifierMixture(shared=["price"]), frame, membership=Z, n_resamples=2)
    model = found.models_[2]
    assert list(model.feature_names_in_) == ["price", "time"]
    assert model.membership_coef_.shape == (2, 1)
    np.testing.assert_allclose(model.coef_[0, 0], model.coef_[1, 0])
    assert np.isfinite(found.p_value[1])


@pytest.mark.parametrize(
    "options", [{"refine": False}, {"l2": 0}, {"response": "probit", "signs": {0: 1}}]
)
def test_other_options(options):
    wide = np.column_stack([X, np.random.default_rng(0).standard_normal((480, 2))])
    found = compared(LinearClassifierMixture(**options), wide)
    assert found.at_least_ == 2
    assert found.p_value[1] == 0.25
    assert np.isfinite(found.log_evidence).all() == (options != {"l2": 0})


def test_choices():
    A, chosen, truth = make_choice_mixture(60, 2, 2, random_state=0)
    found = compared(ChoiceMixture(), A, chosen, choices=truth.choices, groups=truth.groups)
    assert found.at_least_ == 2
    assert found.p_value[1] == 0.25
    assert found.models_[2].predict_proba(A, choices=truth.choices).shape == (len(A),)


def test_rows_of_files_give_the_criteria_of_arrays(tmp_path):
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(y=Y, person=GROUPS)
    frame.write_parquet(tmp_path / "rows.parquet")
    source = scan(tmp_path / "rows.parquet", label="y", groups="person")
    found = compared(X=source, y=None, groups=None)
    for row, same in zip(found.rows, FOUND.rows[:2], strict=True):
        for name in ("log_likelihood", "bic", "log_evidence"):
            assert row[name] == pytest.approx(same[name], rel=1e-4)


def test_a_sample_of_whole_groups_if_rows_do_not_fit_into_memory(tmp_path, monkeypatch):
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(y=Y, person=GROUPS)
    frame.write_parquet(tmp_path / "rows.parquet")
    source = scan(tmp_path / "rows.parquet", label="y", groups="person")
    for module in ("rows.grouped", "rows.sample"):
        monkeypatch.setattr(f"spectralmirror.{module}.SAMPLE_BYTES", 480 * 2 * 8 / 2)
    found = compared(X=source, y=None, groups=None)
    assert 20 < found.n_units < 60  # binomial, half of 80
    assert found.sampled_from == 80
    assert found.models_[1].n_rows_ == 6 * found.n_units  # whole groups
    title = f"Comparison of 1 to 2 classes, {found.n_units} groups, a random sample of 80"
    assert str(found).splitlines()[0] == title
    other = compared(X=source, y=None, groups=None, random_state=1)
    assert other.log_likelihood[0] != found.log_likelihood[0]
    found.save(tmp_path / "found.json")
    assert str(type(found).load(tmp_path / "found.json")) == str(found)


def test_with_a_spread_both_tests_see_classes():
    found = compared(LinearClassifierMixture(spread="intercept"), n_resamples=3)
    seed = int(np.random.RandomState(0).randint(2**31))
    fold = np.random.default_rng([seed, 1]).permutation(np.arange(80) % 2)[GROUPS]
    model = LinearClassifierMixture(1, spread="intercept", random_state=seed)
    scores = [
        model.fit(X[fold != f], Y[fold != f], groups=GROUPS[fold != f]).score_samples(
            X[fold == f], Y[fold == f], GROUPS[fold == f]
        )
        for f in range(2)
    ]
    assert found.held_out[0] == pytest.approx(np.concatenate(scores).mean(), abs=1e-3)
    assert found.models_[1].spread_kind_ == "intercept"
    assert found.p_value[1] == 0.25
    assert found.at_least_ == 2
    assert found.split_log_ratio[1] > 3


def test_with_a_spread_one_scattered_class_is_enough():
    """Without one, the same labels reject a single class."""
    X, y, truth = make_linear_classifier_mixture(
        600, profiles=[[1.0, -1.0]], group_size=10, spread=[1.5, 1.5], random_state=0
    )
    options = {"X": X, "y": y, "groups": truth.groups, "n_resamples": 39}
    found = compared(LinearClassifierMixture(spread="diagonal"), **options)
    assert found.p_value[1] > 0.1
    assert 10 <= len(found.resampled_[2]) < 39  # it ends with the tenth that reached the data
    reached = found.resampled_[2] >= found.statistic[1]
    assert reached.sum() == 10
    assert reached[-1]
    assert found.p_value[1] == 11 / (len(reached) + 1)
    assert found.suggested_["bootstrap test"] == 1
    assert found.at_least_ == 1
    assert compared(**options).p_value[1] == 1 / 40


def test_kinds_of_spread_that_fits_choose():
    found = compared(LinearClassifierMixture(spread="auto"), n_resamples=3)
    assert found.p_value[1] == 0.25
    assert found.at_least_ is None
    assert "The split test needs one kind of spread, such as" in str(found)


def test_the_estimator_stays_as_it_is():
    estimator = LinearClassifierMixture(4)
    before = dict(vars(estimator))
    compared(estimator, max_components=1)
    assert vars(estimator) == before


def test_text():
    lines = str(FOUND).splitlines()
    assert lines[0] == "Comparison of 1 to 3 classes, 80 groups"
    assert len(lines[2]) == len(lines[3]) == len(lines[5]) == len(lines[6])
    assert lines[5].split()[0] == "2"
    assert lines[8].startswith("At least 2 classes, with 95% confidence")
    assert "2 by evidence" in lines[9]


def test_frames():
    found = compared(LinearClassifierMixture().set_output(transform="polars"), max_components=1)
    assert type(found.to_frame()).__module__.startswith("polars")
    pd = pytest.importorskip("pandas")
    frame = FOUND.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("records")[1] == FOUND.rows[1]
    assert frame.shape == (3, 14)


def test_plot():
    assert [len(ax.lines) > 0 for ax in FOUND.plot()] == [True, True, True]
    mpl.pyplot.close("all")


def test_progress(capsys):
    compared(n_resamples=1, verbose=2)
    printed = capsys.readouterr().out
    assert "held out: fit 4 of 4" in printed
    assert "1 against 2 classes: resample 1 of 1" in printed
    compared(LinearClassifierMixture(verbose=True), max_components=1)
    assert not capsys.readouterr().out


def test_labels_of_several_kinds():
    labels = np.where(Y < 0, "no", np.where(np.arange(480) % 3 == 0, "maybe", "yes"))
    found = compared(y=labels)
    assert found.models_[2].coef_.shape == (2, 3, 2)
    assert found.p_value[1] == 0.25
    assert np.isfinite(found.split_log_ratio[1])


REFUSED = {
    "no mixture": (lambda: compared(SpectralMirror()), "LinearClassifierMixture or a Choice.*got"),
    "a class": (lambda: compared(LinearClassifierMixture), "got type"),
    "profiles": (lambda: compared(LinearClassifierMixture(init=X[:2])), "needs init='spectral'"),
    "none": (lambda: compared(max_components=0), "max_components must be a whole number of at"),
    "half": (lambda: compared(max_components=2.5), "max_components must be a whole number"),
    "resamples": (lambda: compared(n_resamples=-1), "n_resamples must be a whole number, 0 for"),
    "one part": (lambda: compared(n_splits=1), "n_splits must be a whole number of at least 2"),
    "alpha": (lambda: compared(alpha=5), "alpha must lie between 0 and 1, got 5"),
    "seed": (lambda: compared(random_state="a"), "'a' cannot be used to seed"),
    "choices": (lambda: compared(choices=GROUPS), "choices is for a ChoiceMixture"),
    "no choices": (lambda: compared(ChoiceMixture()), "choices is missing"),
    "no y": (lambda: compared(y=None), "requires y to be passed"),
    "NaN": (lambda: compared(X=np.where(X > 2, np.nan, X)), "NaN|missing"),
    "few": (lambda: compared(X=X[:18], y=Y[:18], groups=GROUPS[:18]), "3 groups are too few to"),
    "parts": (lambda: compared(n_splits=200), "80 groups are too few .* at least 200"),
    "weights": (
        lambda: compared(sample_weight=np.full(480, 1e6)),
        "stands for 480,000,000 rows, which would be repeated",
    ),
    "no spread": (
        lambda: compared(LinearClassifierMixture(spread="full"), groups=None),
        "needs several labels of the same person",
    ),
    "parameter": (lambda: compared(LinearClassifierMixture(l2=-1)), "'l2' parameter"),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_one_clear_sentence(call, sentence):
    error = TypeError if sentence.startswith(("Linear", "got")) else ValueError
    assert_refused(call, sentence, error)


def test_a_part_that_cannot_be_fitted():
    rare = np.column_stack([X, (GROUPS == 3) * 1.0])
    assert_refused(lambda: compared(X=rare), "A part of the groups cannot be")
