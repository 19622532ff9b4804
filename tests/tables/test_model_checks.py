"""Whether the parts of a model fit together."""

import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from spectralmirror import LinearClassifierMixture, PrincipalHessianDirections, SpectralMirror
from spectralmirror.mixture.estimator import MixtureWarning
from spectralmirror.rows.files.readers import readers_of
from spectralmirror.tables.column_roles import ColumnRoles
from spectralmirror.tables.features import Category, Number
from spectralmirror.tables.fit_table import fit_table
from spectralmirror.tables.model_checks import SPREAD, is_whole

RNG = np.random.default_rng(0)
X = RNG.normal(size=(800, 3))
Y = RNG.uniform(size=800) < 1 / (1 + np.exp(-3 * X[:, 0]))


@pytest.fixture
def table():
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(
        c=pl.Series(RNG.choice(["u", "v"], size=800)), y=Y
    )
    mixture = LinearClassifierMixture(1)
    return fit_table(readers_of(frame.to_arrow()), ColumnRoles("y"), mixture, source="a frame")


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifierMixture(1),
        LinearClassifierMixture(1, response="hard"),
        SpectralMirror(1),
        SpectralMirror(1, mean=np.zeros(3), covariance=np.eye(3)),
        PrincipalHessianDirections(1),
    ],
    ids=repr,
)
def test_what_a_fit_leaves_is_whole(model):
    assert not is_whole(model)
    assert is_whole(model.fit(X, Y))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", np.zeros((1, 2))),
        ("coef_", np.full((1, 3), np.nan)),
        ("coef_", np.full((1, 3), 1e308)),
        ("coef_", np.zeros((1, 3), dtype=int)),
        ("coef_standard_error_", np.zeros(3)),
        ("weights_", np.array([0.7])),
        ("weights_", np.ones(1, dtype=np.float16)),
        ("sharpness_", np.array([-1.0])),
        ("sharpness_", np.array([1e308])),  # every score would overflow
        ("feature_scale_", [1.0, 1.0, 1.0]),
        ("classes_", np.array([1, 1])),
        ("classes_", np.array([[0, 1]])),
        ("n_components_", True),
        ("n_features_in_", 3.0),
        ("log_likelihood_", "much"),
        ("degrees_of_freedom_", "many"),
        ("status_", 3),
        ("l2", -1.0),
        ("l2_", "much"),
        ("log_evidence_", "much"),
        ("evidence_path_", 3),
        ("doubt_", "some"),
        ("criterion", "other"),
        ("_parameter_root", np.zeros((3, 2))),
        ("_parameter_root", np.zeros(4)),
        ("_parameter_root", np.zeros((4, 2), dtype=int)),
        ("_parameter_root", np.full((4, 2), np.nan)),
        ("_parameter_root", np.full((4, 2), 1e308)),  # draws of the parameters would overflow
        ("_parameter_root", [[0.0]] * 4),
        ("response", "other"),
        ("predict_proba", 3),
        ("anything", len),
        ("feature_names_in_", np.array(["a", "b"], dtype=object)),
    ],
)
def test_a_mixture_of_other_parts_is_not_whole(name, value):
    mixture = LinearClassifierMixture(1).fit(X, Y)
    setattr(mixture, name, value)
    assert not is_whole(mixture)


@pytest.fixture(scope="module")
def with_spread():
    mixture = LinearClassifierMixture(1, spread="diagonal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        return mixture.fit(X, Y, groups=np.arange(800) // 5)


def test_the_shapes_of_a_spread(with_spread):
    assert is_whole(with_spread)
    assert with_spread.spread_.shape == (3, 4)
    assert len(with_spread._parameter_root) == 4 + 4 * 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spread", "other"),
        ("spread_kind_", None),
        ("spread_kind_", "other"),
        ("spread_kind_", ["diagonal"]),
        ("spread_", np.zeros((3, 0))),
        ("spread_", np.zeros((3, 3))),
        ("spread_", np.zeros((2, 4))),
        ("spread_", np.zeros(12)),
        ("spread_", np.full((3, 4), np.nan)),
        ("spread_", np.full((3, 4), 1e200)),  # its squares would overflow
        ("spread_", [[0.0] * 4] * 3),
        ("spread_", None),
        ("intercept_spread_", np.zeros(3)),
        ("intercept_spread_", np.full(4, np.inf)),
        ("intercept_spread_", np.full(4, 1e200)),
        ("spread_deviation_", np.zeros(2)),
        ("spread_deviation_", np.full(3, np.nan)),
        ("spread_standard_error_", np.zeros(2)),
        ("spread_standard_error_", "small"),
        ("intercept_deviation_", np.nan),
        ("intercept_deviation_", "small"),
        ("intercept_deviation_standard_error_", "small"),
        ("spread_evidence_", 3),
        ("spread_evidence_", {"other": 1.0}),
        ("spread_evidence_", {"diagonal": "much"}),
        ("_n_spread", -1),
        ("_spread_entries", np.zeros((2, 4))),
        ("_spread_entries", np.ones((2, 3))),
        ("_spread_entries", np.full((2, 4), np.nan)),
        ("spread_score_", "much"),
        ("_parameter_root", np.zeros((4, 4))),
        ("_parameter_root", np.zeros((19, 4))),
        ("_parameter_root", np.full((20, 4), np.nan)),
        ("_parameter_root", np.vstack([np.zeros((4, 4)), np.full((16, 4), 1e200)])),
    ],
)
def test_a_mixture_with_another_spread_is_not_whole(with_spread, name, value):
    broken = copy(with_spread)
    setattr(broken, name, value)
    assert not is_whole(broken)


@pytest.mark.parametrize("name", sorted(SPREAD))
def test_a_spread_is_there_as_a_whole_or_not_at_all(with_spread, name):
    broken = copy(with_spread)
    delattr(broken, name)
    assert not is_whole(broken)
    plain = LinearClassifierMixture(1).fit(X, Y)
    assert is_whole(plain)
    for each in SPREAD:
        delattr(plain, each)
    assert is_whole(plain)  # as in models of older formats
    setattr(plain, name, getattr(with_spread, name))
    assert not is_whole(plain)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("components_", np.zeros((1, 2))),
        ("components_", np.full((1, 3), np.inf)),
        ("mean_", np.zeros(2)),
        ("mirror_direction_", "x"),
        ("feature_names_in_", np.array(["a", "b"], dtype=object)),
        ("feature_names_in_", np.array([1, 2, 3], dtype=object)),
        ("transform", 3),
    ],
)
def test_a_transformer_of_other_parts_is_not_whole(name, value):
    mirror = SpectralMirror(1).fit(X, Y)
    setattr(mirror, name, value)
    assert not is_whole(mirror)


def test_a_table_of_other_parts_is_not_whole(table):
    assert is_whole(table)
    recipe, first = table.recipe, table.recipe.terms[0]
    mirror, untold = SpectralMirror(1).fit(X, Y), copy(table.mixture)
    mirror.components_ = np.zeros((1, len(recipe.names)))
    mirror.mean_ = mirror.mirror_direction_ = np.zeros(len(recipe.names))
    mirror.feature_names_in_ = table.mixture.feature_names_in_
    mirror.n_features_in_ = len(recipe.names)
    untold.bic_path_ = 3
    changes = [
        {"label": 3},
        {"group": 3},
        {"missing": "whatever"},
        {"about": {**table.about, "n_rows": -1}},
        {"about": {**table.about, "notes": [1]}},
        {"about": {**table.about, "source": None}},
        {"mixture": SpectralMirror(1).fit(X, Y)},
        {"mixture": LinearClassifierMixture(1).fit(X, Y)},
        {"mixture": mirror},
        {"mixture": untold},
        {"recipe": None},
        *(
            {"recipe": replace(recipe, **other)}
            for other in (
                {"terms": recipe.terms[1:]},
                {"terms": list(recipe.terms)},
                {"terms": (Number(first.column, np.nan), *recipe.terms[1:])},
                {"terms": (Number(3, 0.0), *recipe.terms[1:])},
                {"terms": (*recipe.terms[:-1], Category("c", ()))},
                {"terms": (*recipe.terms[:-1], Category("c", (1, *recipe.terms[-1].levels[1:])))},
                {"terms": (*recipe.terms, Category("d", ()))},
                {"terms": (*recipe.terms, Category(3, ("u",)))},
                {"pairs": ("a_",)},
                {"winner": "ab"},
                {"dtype": "float16"},
            )
        ),
    ]
    for change in changes:
        assert not is_whole(replace(table, **change)), change
    for part, method in ((first, "encode"), (recipe, "encode"), (table, "known")):
        vars(part)[method] = 3
        assert not is_whole(table), part
        del vars(part)[method]
    assert is_whole(table)
