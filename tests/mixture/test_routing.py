"""What cross-validation, searches and pipelines pass to a mixture, with and without routing."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spectralmirror import (
    ChoiceMixture,
    LinearClassifierMixture,
    MixtureWarning,
    SpectralMirror,
)
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.metrics import person_log_likelihood, subspace_error

PROFILES = [[4.0, 0, 0], [0, 4.0, 0], [0, 0, 4.0]]
X, Y, TRUTH = make_linear_classifier_mixture(
    1200, profiles=PROFILES, weights=[0.4, 0.3, 0.3], group_size=6, random_state=0
)
G = TRUTH.groups
FOLDS = GroupKFold(2)
LEFT_BEHIND = "The groups only divide the rows into folds"


def mixture(k=2, **options):
    """Return a mixture that starts at the truth, which saves the search."""
    return LinearClassifierMixture(k, init=np.array(PROFILES[:k]), subspace=None, **options)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("before", [[], [StandardScaler()]])
def test_groups_reach_fit_and_the_scorer(before):
    model = make_pipeline(*before, mixture())
    found = cross_validate(
        model, X, Y, cv=FOLDS, params={"groups": G}, scoring=person_log_likelihood,
        return_estimator=True,
    )  # fmt: skip
    for (train, test), one, score in zip(
        FOLDS.split(X, Y, G), found["estimator"], found["test_score"], strict=True
    ):
        by_hand = mixture().fit(X[train], Y[train], groups=G[train])
        assert one[-1].n_groups_ == by_hand.n_groups_ == 100
        expected = by_hand.score_samples(X[test], Y[test], groups=G[test]).mean()
        assert score == pytest.approx(expected, abs=1e-3 if before else 1e-9)


@pytest.mark.usefixtures("routing")
def test_everything_reaches_fit_and_score():
    z = np.random.default_rng(0).standard_normal(200)
    known = np.where(np.arange(200) < 20, TRUTH.components[::6], -1)[G]
    weight = np.random.default_rng(1).integers(1, 4, 200)[G].astype(float)
    model = mixture().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    known[known == 2] = -1
    params = {"groups": G, "membership": z[G][:, None], "known": known, "sample_weight": weight}
    found = cross_validate(model, X, Y, cv=FOLDS, params=params, return_estimator=True)
    for (train, test), one, score in zip(
        FOLDS.split(X, Y, G), found["estimator"], found["test_score"], strict=True
    ):
        by_hand = mixture().fit(X[train], Y[train], **{n: v[train] for n, v in params.items()})
        np.testing.assert_array_equal(one.coef_, by_hand.coef_)
        np.testing.assert_array_equal(one.membership_coef_, by_hand.membership_coef_)
        there = {n: params[n][test] for n in ("groups", "membership", "sample_weight")}
        assert score == by_hand.score(X[test], Y[test], **there)
        right = by_hand.predict(X[test], membership=there["membership"]) == Y[test]
        assert score == pytest.approx(np.average(right, weights=weight[test]))
        assert score != pytest.approx(right.mean(), abs=1e-9)


@pytest.mark.usefixtures("routing")
def test_weights_must_be_requested():
    with pytest.raises(ValueError, match=r"sample_weight.*not explicitly set"):
        cross_val_score(mixture(), X, Y, cv=FOLDS, params={"sample_weight": np.ones(len(X))})


@pytest.mark.usefixtures("routing")
def test_a_search_finds_the_number_of_classes():
    """Three sharp classes, six labels of each person: held-out persons show all of them."""
    search = GridSearchCV(
        LinearClassifierMixture(random_state=0),
        {"n_components": [1, 2, 3]},
        cv=FOLDS,
        scoring=person_log_likelihood,
    ).fit(X, Y, groups=G)
    assert search.best_params_ == {"n_components": 3}
    assert search.best_estimator_.n_groups_ == 200
    worse = np.sort(search.cv_results_["mean_test_score"])
    assert worse[2] - worse[1] > 0.05  # nats a person: 10 in the 200 persons
    direct = person_log_likelihood(search.best_estimator_, X, Y, groups=G)
    assert search.score(X, Y, groups=G) == direct


@pytest.mark.usefixtures("routing")
def test_a_line_for_each_group_is_passed_whole():
    frame = pd.DataFrame({"age": np.linspace(-1, 1, 200)}, index=np.arange(200))
    found = cross_validate(
        mixture(), X, Y, cv=FOLDS, params={"groups": G, "membership": frame},
        scoring={"person": person_log_likelihood, "own": lambda m, X, y: m.score(X, y)},
        return_estimator=True,
    )  # fmt: skip
    assert [one.membership_coef_.shape for one in found["estimator"]] == [(2, 1)] * 2
    assert (found["test_person"] < 0).all()
    assert (found["test_own"] > 0.6).all()


@pytest.mark.usefixtures("routing")
def test_choice_sets_are_passed_too():
    rows, chosen, truth = make_choice_mixture(60, 3, 2, random_state=0)
    model = ChoiceMixture(2, random_state=0)
    params = {"choices": truth.choices, "groups": truth.groups}
    for scoring in (None, person_log_likelihood):
        found = cross_validate(
            model, rows, chosen, cv=FOLDS, params=params, scoring=scoring, return_estimator=True
        )
        (train, test), _ = FOLDS.split(rows, chosen, truth.groups)
        one, there = found["estimator"][0], {n: v[test] for n, v in params.items()}
        assert one.n_choices_ == len(np.unique(truth.choices[train]))
        expected = one.score(rows[test], chosen[test], **there)
        if scoring is not None:
            expected = one.score_samples(rows[test], chosen[test], **there).mean()
        assert found["test_score"][0] == pytest.approx(expected)


def test_weights_of_choice_sets_in_the_score():
    rows, chosen, truth = make_choice_mixture(40, 3, 2, random_state=0)
    model = ChoiceMixture(1).fit(rows, chosen, choices=truth.choices)
    right = model.predict(rows, choices=truth.choices)[chosen.astype(bool)]
    weight = 1.0 + (truth.choices % 3)
    of_sets = weight[chosen.astype(bool)]
    score = model.score(rows, chosen, choices=truth.choices, sample_weight=weight)
    assert score == pytest.approx(np.average(right, weights=of_sets))
    weight[0] += 1
    with pytest.raises(ValueError, match="sample_weight changes inside set"):
        model.score(rows, chosen, choices=truth.choices, sample_weight=weight)


WITHOUT_ROUTING = {
    "cross_val_score": lambda model: cross_val_score(model, X, Y, groups=G, cv=FOLDS),
    "cross_validate": lambda model: cross_validate(model, X, Y, groups=G, cv=FOLDS),
    "cross_val_predict": lambda model: cross_val_predict(model, X, Y, groups=G, cv=FOLDS),
    "in a pipeline": lambda model: cross_val_score(
        make_pipeline(StandardScaler(), model), X, Y, groups=G, cv=FOLDS
    ),
    "GridSearchCV": lambda model: GridSearchCV(model, {"tol": [1e-3]}, cv=FOLDS).fit(
        X, Y, groups=G
    ),
}


@pytest.mark.parametrize("call", WITHOUT_ROUTING.values(), ids=WITHOUT_ROUTING.keys())
def test_groups_that_stay_behind_are_reported(call):
    with pytest.warns(MixtureWarning, match=LEFT_BEHIND) as record:
        call(mixture(1))
    assert [one.filename for one in record] == [__file__]  # once, not for each fold


def test_other_workers_do_not_hide_the_warning():
    with (
        joblib.parallel_config(backend="threading", n_jobs=2),
        pytest.warns(MixtureWarning, match=LEFT_BEHIND),
    ):
        cross_val_score(mixture(1), X, Y, groups=G, cv=FOLDS)


def test_what_reaches_fit_is_not_reported():
    """Warnings are errors here."""
    pipeline = make_pipeline(mixture(1))
    found = GridSearchCV(pipeline, {"linearclassifiermixture__tol": [1e-3]}, cv=FOLDS).fit(
        X, Y, groups=G, linearclassifiermixture__groups=G
    )
    assert found.best_estimator_[-1].grouped_
    cross_val_score(mixture(1), X, Y, groups=G, cv=FOLDS, params={"groups": G})
    cross_val_score(mixture(1), X, Y, cv=2)
    cross_val_score(LogisticRegression(), X, Y, groups=G, cv=FOLDS)
    clone(mixture(1))


@pytest.mark.usefixtures("routing")
def test_groups_may_be_kept_from_fit_on_purpose():
    model = mixture(1).set_fit_request(groups=False).set_score_request(groups=False)
    found = cross_validate(model, X, Y, cv=FOLDS, params={"groups": G}, return_estimator=True)
    assert not any(one.grouped_ for one in found["estimator"])


def test_score_takes_groups_and_weights_by_name_only():
    model = mixture().fit(X, Y, groups=G)
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X)) == model.score(X, Y, groups=G)
    with pytest.raises(TypeError, match="positional"):
        model.score(X, Y, G)


def test_the_scorer_without_groups_says_how_to_pass_them():
    model = mixture().fit(X, Y, groups=G)
    with pytest.raises(ValueError, match=r"needs the groups.*enable_metadata_routing=True"):
        person_log_likelihood(model, X, Y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert np.isnan(cross_val_score(mixture(), X, Y, cv=2, scoring=person_log_likelihood)).all()
    assert any("needs the groups" in str(one.message) for one in said)


def test_the_scorer_of_a_plain_classifier_multiplies_probabilities():
    logistic = LogisticRegression().fit(X, Y)
    p = logistic.predict_proba(X)[np.arange(len(X)), (Y > 0).astype(int)]
    expected = np.mean([np.log(np.prod(p[g == G])) for g in range(200)])
    assert person_log_likelihood(logistic, X, Y, groups=G) == pytest.approx(expected)
    one = LinearClassifierMixture(1, l2=0).fit(X, Y, groups=G)
    free = LogisticRegression(C=np.inf, tol=1e-8).fit(X, Y)
    assert person_log_likelihood(one, X, Y, groups=G) == pytest.approx(
        person_log_likelihood(free, X, Y, groups=G), abs=1e-6
    )


def test_the_scorer_gives_a_group_the_mean_weight_of_its_rows():
    model, order = mixture().fit(X, Y, groups=G), np.random.default_rng(0).permutation(len(X))
    of_groups = np.random.default_rng(1).uniform(0.5, 2, 200)
    uneven = of_groups[G] * np.where(np.arange(len(X)) % 2, 0.5, 1.5)  # three rows each
    expected = np.average(model.score_samples(X, Y, groups=G), weights=of_groups)
    found = person_log_likelihood(
        model, X[order], Y[order], groups=G[order], sample_weight=uneven[order]
    )
    assert found == pytest.approx(expected)


def test_the_scorer_weighs_persons_with_choices():
    rows, chosen, truth = make_choice_mixture(40, 3, 2, random_state=0)
    model = ChoiceMixture(1).fit(rows, chosen, choices=truth.choices)
    order = np.random.default_rng(0).permutation(len(rows))
    of_persons = np.random.default_rng(1).uniform(0.5, 2, truth.groups.max() + 1)
    own = [
        model.score_samples(
            rows[here], chosen[here], choices=truth.choices[here], groups=truth.groups[here]
        )[0]
        for here in (truth.groups == g for g in range(len(of_persons)))
    ]
    found = person_log_likelihood(
        model, rows[order], chosen[order], choices=truth.choices[order],
        groups=truth.groups[order], sample_weight=of_persons[truth.groups[order]],
    )  # fmt: skip
    assert found == pytest.approx(np.average(own, weights=of_persons))


@pytest.mark.filterwarnings("ignore::spectralmirror.WeakSignalWarning")  # without groups
def test_the_spectral_step_in_a_pipeline():
    pipeline = make_pipeline(SpectralMirror(2), LogisticRegression())
    with pytest.warns(UserWarning, match=LEFT_BEHIND):
        cross_val_score(pipeline, X, Y, groups=G, cv=FOLDS)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            pipeline, X, Y, cv=FOLDS, params={"groups": G}, return_estimator=True
        )
    train = next(FOLDS.split(X, Y, G))[0]
    by_hand = SpectralMirror(2).fit(X[train], Y[train], groups=G[train])
    components = found["estimator"][0][0].components_
    np.testing.assert_array_equal(components, by_hand.components_)
    assert subspace_error(components, SpectralMirror(2).fit(X[train], Y[train]).components_) > 0.01
