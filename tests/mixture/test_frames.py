"""DataFrames of pandas and polars instead of arrays."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone

from spectralmirror import ChoiceMixture, LinearClassifierMixture, load, save
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.plotting import plot_responsibilities

PROFILES = np.array([[3.0, 0, 0], [0, 3.0, 1.0]])
ROWS, Y, TRUTH = make_linear_classifier_mixture(
    900, profiles=PROFILES, weights=[0.6, 0.4], group_size=6, random_state=0
)
G = TRUTH.groups
X = pd.DataFrame(ROWS, columns=["age", "income", "distance"], index=np.arange(900) + 7)
Z = pd.DataFrame({"z": np.random.default_rng(1).standard_normal(150)}, index=np.arange(150))


@pytest.fixture(scope="module")
def fitted():
    model = LinearClassifierMixture(2, init=PROFILES, subspace=None)
    return model.fit(X, Y, groups=G, membership=Z)


@pytest.fixture(scope="module")
def chosen():
    rows, picked, truth = make_choice_mixture(50, 3, 2, random_state=0)
    where = {"choices": truth.choices, "groups": truth.groups}
    return ChoiceMixture(2, random_state=0).fit(rows, picked, **where), rows, picked, where


@pytest.fixture(params=["pandas", "polars"])
def container(request, fitted, chosen):
    kind = request.param
    for model in (fitted, chosen[0]):
        assert model.set_output(transform=kind) is model
    yield pd.DataFrame if kind == "pandas" else pl.DataFrame
    for model in (fitted, chosen[0]):
        model.set_output(transform="default")


def as_default(model, method, *args, **options):
    kind = model._sklearn_output_config["transform"]
    try:
        return getattr(model.set_output(transform="default"), method)(*args, **options)
    finally:
        model.set_output(transform=kind)


def test_posteriors_have_a_column_for_each_class(fitted, container):
    for method, given in (
        ("component_proba", (X, Y, G)),
        ("membership_proba", (Z,)),
    ):
        found = getattr(fitted, method)(*given)
        assert isinstance(found, container)
        assert list(found.columns) == ["A", "B"]
        plain = as_default(fitted, method, *given)
        assert isinstance(plain, np.ndarray)
        np.testing.assert_array_equal(found.to_numpy(), plain)
        if container is pd.DataFrame:
            assert (found.index == given[0].index).all()


def test_the_component_stays_an_array(fitted, container):
    found = fitted.predict_component(X, Y, G)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, fitted.component_proba(X, Y, G).to_numpy().argmax(axis=1))
    assert type(fitted.predict_proba(X)) is np.ndarray


def test_persons_have_a_line_each(fitted, container):
    found = fitted.person_profiles(X, Y, G)
    plain = as_default(fitted, "person_profiles", X, Y, G)
    assert isinstance(found, container)
    if container is pl.DataFrame:
        assert found["person"].to_list() == plain.groups.tolist()
        found = found.drop("person")
    else:
        assert found.index.name == "person"
        assert found.index.tolist() == plain.groups.tolist()
    terms = ["(intercept)", "age", "income", "distance"]
    assert list(found.columns) == [*terms, *(f"{term} (std. dev.)" for term in terms)]
    expected = [
        plain.intercept[:, None], plain.coef,
        plain.intercept_standard_deviation[:, None], plain.coef_standard_deviation,
    ]  # fmt: skip
    np.testing.assert_array_equal(found.to_numpy(), np.hstack(expected))


def test_coefficients(fitted, container):
    found = fitted.coef_frame(weights=True)
    terms = ["(weight)", "(intercept)", "age", "income", "distance"]
    if container is pl.DataFrame:
        assert found["term"].to_list() == terms
        found = found.drop("term")
    else:
        assert found.index.tolist() == terms
        assert found.loc["income", "B"] == fitted.coef_[1, 1]
    assert list(found.columns) == ["A", "B"]
    expected = np.column_stack([fitted.weights_, fitted.intercept_, fitted.coef_]).T
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert len(fitted.coef_frame()) == 4


def test_summaries(fitted, container):
    found = fitted.summary(as_frame=True)
    assert isinstance(found, container)
    plain = as_default(fitted, "summary", as_frame=True)
    assert isinstance(plain, pd.DataFrame)
    assert plain.index.names == ["component", "term"]
    if container is pl.DataFrame:
        lines = list(zip(found["component"], found["term"], strict=True))
        assert lines == plain.index.tolist()
        found = found.drop("component", "term")
    np.testing.assert_array_equal(found.to_numpy(), plain.to_numpy())
    assert isinstance(fitted.summary(), str)


def test_choices(chosen, container):
    model, rows, picked, where = chosen
    found = model.component_proba(rows, picked, **where)
    assert isinstance(found, container)
    assert list(found.columns) == ["A", "B"]
    np.testing.assert_array_equal(
        model.predict_component(rows, picked, **where), found.to_numpy().argmax(axis=1)
    )
    coefficients = model.coef_frame()
    assert len(coefficients) == 3  # there are no intercepts
    assert len(model.summary(as_frame=True)) == 8
    persons = model.person_profiles(rows, picked, **where)
    assert isinstance(persons, container)
    assert [name for name in persons.columns if name != "person"] == [
        "x0", "x1", "x2", "x0 (std. dev.)", "x1 (std. dev.)", "x2 (std. dev.)",
    ]  # fmt: skip


def test_the_rest_of_the_library_goes_on_with_arrays(fitted, container, tmp_path):
    """Pictures and stored models do not mind, and copies keep the choice."""
    plot_responsibilities(fitted, X, Y, groups=G)
    assert isinstance(clone(fitted).fit(X, Y).coef_frame(), container)
    save(fitted, tmp_path / "model.skops")
    assert isinstance(load(tmp_path / "model.skops").coef_frame(), container)


def test_the_configuration_of_scikit_learn_counts(fitted):
    with sklearn.config_context(transform_output="polars"):
        other = LinearClassifierMixture(1).fit(ROWS, Y)
        assert isinstance(other.component_proba(ROWS, Y), pl.DataFrame)
        assert isinstance(other.coef_frame(), pl.DataFrame)
    assert isinstance(other.component_proba(ROWS, Y), np.ndarray)
    assert isinstance(other.coef_frame(), pd.DataFrame)
    assert fitted.set_output() is fitted


def test_unknown_containers_are_refused():
    with pytest.raises(ValueError, match="must be one of 'default', 'pandas', 'polars', got 'csv'"):
        LinearClassifierMixture().set_output(transform="csv")


def test_a_missing_package_is_named(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas.*set_output.transform='polars'"):
        fitted.coef_frame()
