"""Models on disk: equal to the last bit, complete, and free of code."""

import json
import os
import pickle
import re
import warnings
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import skops.io
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import spectralmirror
from spectralmirror import (
    ChoiceMixture,
    FeatureMoments,
    LinearClassifierMixture,
    PrincipalHessianDirections,
    SpectralMirror,
    load,
    save,
)
from spectralmirror.datasets import make_choice_mixture, make_linear_classifier_mixture
from spectralmirror.mixture.estimator import MixtureWarning
from spectralmirror.tables.archive import Archive
from spectralmirror.tables.storage import FORMAT, load_with_version
from spectralmirror.tables.stored_names import stored_names

GOLDEN = Path(__file__).parents[1] / "golden"
X, Y, TRUTH = make_linear_classifier_mixture(2_000, 5, group_size=5, random_state=0)


KINDS = [
    *("plain", "grouped", "auto", "hard", "probit", "no penalty", "given", "tuple", "again"),
    *("differ in intercepts", "differ in all", "differ in a factor"),
]


def mixtures():
    yield LinearClassifierMixture(2, random_state=0).fit(X, Y)
    single = X.astype(np.float32)
    yield LinearClassifierMixture(2, random_state=0).fit(single, Y, groups=TRUTH.groups)
    yield LinearClassifierMixture("auto", random_state=np.random.RandomState(3)).fit(X, Y)
    yield LinearClassifierMixture(2, response="hard").fit(X, np.where(Y > 0, "ja", "nein"))
    named = pl.DataFrame(X, schema=list("abcde"))
    yield LinearClassifierMixture(2, response="probit", l2=1).fit(named, (Y > 0).astype(object))
    yield LinearClassifierMixture(2, l2=0, criterion="bic", random_state=0).fit(X, Y)
    yield LinearClassifierMixture(1, subspace=SpectralMirror(2), init=X[:1]).fit(X, Y)
    start = 3 * np.eye(5)[:2], np.zeros(2), np.array([0.7, 0.3])
    given = LinearClassifierMixture(2, init=start).fit(X, Y, groups=TRUTH.groups)
    yield given
    yield LinearClassifierMixture(2, init=given).fit(X, Y, groups=TRUTH.groups)
    few, labels, who = X[:500], Y[:500], TRUTH.groups[:500]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)
        for kind in ("intercept", "diagonal"):
            yield LinearClassifierMixture(1, spread=kind).fit(few, labels, groups=who)
        probit = LinearClassifierMixture(1, response="probit", fit_intercept=False, spread="factor")
        yield probit.fit(few, labels, groups=who)


@pytest.mark.parametrize("mixture", list(mixtures()), ids=KINDS)
def test_mixtures_are_the_same_to_the_last_bit(tmp_path, mixture):
    save(mixture, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    given = X
    if hasattr(mixture, "feature_names_in_"):
        given = pl.DataFrame(X, schema=list("abcde"))
    y = mixture.predict(given)
    assert (again.predict(given) == y).all()
    for method in ("predict_proba", "decision_function"):
        assert (getattr(again, method)(given) == getattr(mixture, method)(given)).all()
    for method in ("component_proba", "score_samples"):
        for groups in (None, TRUTH.groups):
            before, after = (getattr(m, method)(given, y, groups) for m in (mixture, again))
            assert (before == after).all()
    if mixture.grouped_:
        history = given[:200], y[:200], TRUTH.groups[:200]
        before, after = (
            m.predict_proba(given, groups=TRUTH.groups, history=history) for m in (mixture, again)
        )
        assert (before == after).all()
    if mixture.spread_kind_ is not None:
        before, after = (m.person_profiles(*history) for m in (mixture, again))
        assert all((one == two).all() for one, two in zip(before, after, strict=True))
    assert again.summary() == mixture.summary()
    assert vars(again).keys() == vars(mixture).keys()
    for name, value in vars(mixture).items():
        assert type(getattr(again, name)) is type(value), name
    assert again.classes_.dtype == mixture.classes_.dtype


@pytest.mark.parametrize("options", [{}, {"spread": "diagonal"}, {"l2": 0.5}])
def test_mixtures_of_choices_are_the_same_to_the_last_bit(tmp_path, options):
    X, chosen, truth = make_choice_mixture(60, 3, random_state=0)
    asked = {"choices": truth.choices, "groups": truth.groups}
    mixture = ChoiceMixture(2, random_state=0, **options).fit(X, chosen, **asked)
    save(mixture, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    for method in ("predict_proba", "predict"):
        before, after = (getattr(m, method)(X, choices=truth.choices) for m in (mixture, again))
        assert (before == after).all()
    for method in ("component_proba", "score_samples"):
        before, after = (getattr(m, method)(X, chosen, **asked) for m in (mixture, again))
        assert (before == after).all()
    assert again.summary() == mixture.summary()
    assert vars(again).keys() == vars(mixture).keys()


@pytest.mark.parametrize(
    "model",
    [
        SpectralMirror(2, random_state=0),
        SpectralMirror(2, method="paper", moments=FeatureMoments.from_rows(X)),
        SpectralMirror("auto", covariance=np.eye(5), mean=np.zeros(5)),
        PrincipalHessianDirections(2),
    ],
    ids=["default", "paper", "known", "hessian"],
)
def test_transformers_are_the_same_to_the_last_bit(tmp_path, model):
    model.fit(X, Y)
    save(model, tmp_path / "m.skops")
    assert (load(tmp_path / "m.skops").transform(X) == model.transform(X)).all()


@pytest.mark.parametrize("number", range(1, FORMAT))
def test_the_golden_file_of_every_format_loads_and_predicts_what_it_did(number):
    model, version = load_with_version(GOLDEN / f"format-{number}.skops")
    kept = np.load(GOLDEN / f"format-{number}.npz")
    assert re.fullmatch(r"spectralmirror \d+\.\d+\.\d+\S*", version)
    assert model.recipe.names == ["x", *(n for n in model.recipe.names if n != "x")]
    # exp of another NumPy may round otherwise
    np.testing.assert_allclose(
        model.mixture.predict_proba(model.named(kept["X"])), kept["P"], rtol=1e-13
    )


def test_a_covariance_of_another_size_is_refused(tmp_path):
    """Older models have no covariance of the weights: theirs has a size of its own."""
    model = load(GOLDEN / "format-1.skops")
    k, d = model.mixture.coef_.shape
    assert model.mixture.covariance_.shape == (k * (d + 1),) * 2
    for size in (k * (d + 2), k * (d + 1) + 1):
        model.mixture.covariance_ = np.eye(size)
        path = changed(tmp_path, model=model)
        if size == k * (d + 2):
            assert load(path).mixture.covariance_.shape == (size, size)
        else:
            with pytest.raises(ValueError, match="parts of the model do not fit together"):
                load(path)


def test_loading_runs_no_code(tmp_path, monkeypatch):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "boom"),)

    pickled = tmp_path / "pickle.skops"
    pickled.write_bytes(pickle.dumps(Bomb()))
    called = tmp_path / "function.skops"
    content = {"format": 2, "written_by": "spectralmirror 0", "model": os.mkdir}
    called.write_bytes(skops.io.dumps(content))
    foreign = tmp_path / "foreign.skops"
    content["model"] = LinearClassifierMixture(random_state=Path("boom"))
    foreign.write_bytes(skops.io.dumps(content))
    for path, sentence in (
        (pickled, "is not a model of spectralmirror"),
        (called, "mkdir, which no model of spectralmirror contains: it was not loaded"),
        (foreign, "pathlib.*, which no model of spectralmirror contains"),
    ):
        with pytest.raises(ValueError, match=sentence):
            load(path)
    assert not (tmp_path / "boom").exists()


def stored():
    buffer = (GOLDEN / "format-1.skops").read_bytes()
    return buffer, zipfile.ZipFile(BytesIO(buffer))


def test_a_file_that_was_cut_off_anywhere_gets_a_sentence(tmp_path):
    whole, _ = stored()
    path = tmp_path / "cut.skops"
    for length in [0, 1, 2, 10, *range(100, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.skops is (not a model|damaged)"):
            load(path)


def test_flipped_bytes_are_noticed_or_harmless(tmp_path):
    whole, _ = stored()
    kept = np.load(GOLDEN / "format-1.npz")
    rng, path, noticed, harmless = np.random.default_rng(0), tmp_path / "flipped.skops", 0, 0
    for place in rng.integers(0, len(whole), size=300):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        try:
            model = load(path)
        except ValueError as error:
            noticed += str(path) in str(error)
        else:  # a byte of the container that means nothing
            P = model.mixture.predict_proba(model.named(kept["X"]))
            np.testing.assert_allclose(P, kept["P"], rtol=1e-13)
            harmless += 1
    assert noticed + harmless == 300
    assert noticed > 200


def changed(tmp_path, **changes):
    model = load(GOLDEN / "format-1.skops")
    content = {"format": 2, "written_by": "spectralmirror 9.9", "model": model, **changes}
    archive = Archive.unpack(skops.io.dumps(content)).renamed(stored_names())
    path = tmp_path / "changed.skops"
    path.write_bytes(archive.pack())
    return path


def test_a_newer_format_is_refused_by_its_version(tmp_path):
    with pytest.raises(ValueError, match=r"written by spectralmirror 9\.9, which is newer"):
        load(changed(tmp_path, format=FORMAT + 1))


def test_what_is_no_model_or_does_not_fit_together_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds a dict, which is not a model"):
        load(changed(tmp_path, model={"a": 1}))
    broken = load(GOLDEN / "format-1.skops").mixture
    broken.weights_ = broken.weights_[:1]
    with pytest.raises(ValueError, match="do not fit together"):
        load(changed(tmp_path, model=broken))
    with pytest.raises(ValueError, match="do not fit together"):
        load(changed(tmp_path, model=LinearClassifierMixture()))
    for name, value in (
        ("coef_", np.full((2, 4), np.nan)),
        ("predict_proba", 3),
        ("weights_", np.array([1.5, -0.5])),
        ("status_", 3),
        ("response", "other"),
        ("classes_", np.arange(3)),
    ):
        broken = load(GOLDEN / "format-1.skops").mixture
        setattr(broken, name, value)
        with pytest.raises(ValueError, match="do not fit together"):
            load(changed(tmp_path, model=broken))
    broken.predict_proba = np.add
    with pytest.raises(ValueError, match=r"holds numpy\.\S*add, which no model"):
        load(changed(tmp_path, model=broken))
    whole = load(GOLDEN / "format-1.skops")
    mirror = SpectralMirror(2).fit(X, Y)
    for change in ({"about": "nope"}, {"missing": "whatever"}, {"mixture": mirror}, {"label": 3}):
        with pytest.raises(ValueError, match="do not fit together"):
            load(changed(tmp_path, model=replace(whole, **change)))
    path = tmp_path / "plain.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("schema.json", json.dumps({}))
    with pytest.raises(ValueError, match=r"is (not a model|damaged)"):
        load(path)
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\.skops'"):
        load(tmp_path / "none.skops")


def test_save_refuses_what_it_cannot_store(tmp_path):
    with pytest.raises(TypeError, match="got LogisticRegression"):
        save(LogisticRegression(), tmp_path / "m.skops")
    with pytest.raises(NotFittedError):
        save(SpectralMirror(), tmp_path / "m.skops")
    mirror = SpectralMirror(2).fit(X, Y)
    with pytest.raises(ValueError, match="is a folder"):
        save(mirror, tmp_path)
    for value, sentence in (
        (Path("boom"), "holds pathlib.*PosixPath"),
        (np.add, r"holds numpy\..*add"),
        (LogisticRegression(), "holds sklearn.*LogisticRegression"),
        (pl.DataFrame({"a": [1]}), "holds polars.*DataFrame"),
        (np.ma.masked_array([1.0]), "holds numpy.ma.MaskedArray"),
        ((i for i in "ab"), "generator"),
        ({"a": [1]}, "parts do not fit together"),
    ):
        mirror.moments = value
        with pytest.raises(ValueError, match=f"The model cannot be stored.*{sentence}"):
            save(mirror, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_a_start_of_another_library_is_refused(tmp_path):
    class Foreign:
        component_proba = None

    mixture = LinearClassifierMixture(1, random_state=0).fit(X, Y)
    mixture.init = Foreign()
    with pytest.raises(ValueError, match=r"The model cannot be stored \(it holds .*Foreign\): set"):
        save(mixture, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_known_about_the_parameters_is_stored_and_checked(tmp_path):
    mixture = LinearClassifierMixture(2, random_state=0).fit(X, Y)
    save(mixture, tmp_path / "m.skops")
    root = load(tmp_path / "m.skops")._parameter_root
    np.testing.assert_array_equal(root, mixture._parameter_root)
    for spoiled in (root[:-1], root.T[:3], np.where(root == root[0, 0], np.nan, root), "root"):
        mixture._parameter_root = spoiled
        with pytest.raises(ValueError, match="cannot be stored: its parts do not fit together"):
            save(mixture, tmp_path / "m.skops")
        with pytest.raises(ValueError, match="damaged: the parts of the model do not fit together"):
            load(changed(tmp_path, model=mixture))


@pytest.mark.filterwarnings("ignore::spectralmirror.mixture.estimator.MixtureWarning")
def test_a_damaged_spread_is_refused(tmp_path):
    few = X[:500], Y[:500], TRUTH.groups[:500]
    whole = LinearClassifierMixture(1, spread="diagonal").fit(*few[:2], groups=few[2])
    save(whole, tmp_path / "m.skops")
    for name, value in (
        ("spread_", whole.spread_[:, :3]),
        ("spread_", np.where(whole.spread_ == whole.spread_.max(), np.nan, whole.spread_)),
        ("spread_kind_", "other"),
        ("_parameter_root", whole._parameter_root[:6]),  # that of a model without a spread
    ):
        broken = load(tmp_path / "m.skops")
        setattr(broken, name, value)
        with pytest.raises(ValueError, match="cannot be stored: its parts do not fit together"):
            save(broken, tmp_path / "broken.skops")
        with pytest.raises(ValueError, match="damaged: the parts of the model do not fit together"):
            load(changed(tmp_path, model=broken))


def test_public_names_can_be_imported():
    for name in spectralmirror.__all__:
        assert getattr(spectralmirror, name) is not None
    assert spectralmirror.datasets.make_linear_classifier_mixture
    assert "metrics" in dir(spectralmirror)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = spectralmirror.nothing
