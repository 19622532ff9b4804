"""Names of classes in stored models: they do not follow the modules."""

import json
import re
import sys
import zipfile
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from spectralmirror import FeatureMoments, LinearClassifierMixture, SpectralMirror, load, save
from spectralmirror.datasets import make_linear_classifier_mixture
from spectralmirror.tables.stored_names import CLASSES, FORMAT_1, current_names, stored_names

X, Y, TRUTH = make_linear_classifier_mixture(2_000, 3, group_size=5, random_state=0)


@pytest.fixture
def mixture():
    return LinearClassifierMixture(2, subspace=SpectralMirror(2), random_state=0).fit(
        X, Y, groups=TRUTH.groups
    )


def schema_of(path):
    """Return the schema of a file, without the numbers that depend on memory."""
    with zipfile.ZipFile(path) as file:
        text = file.read("schema.json").decode()
    return re.sub(r'"__id__": \d+|"\d+\.npy"', "", text)


def modules_in(path):
    with zipfile.ZipFile(path) as file:
        return set(re.findall(r'"__module__": "([^"]*)"', file.read("schema.json").decode()))


def test_every_name_stands_for_a_class_that_exists():
    for name, current in CLASSES.items():
        module, _, kind = current.rpartition(".")
        assert isinstance(getattr(import_module(module), kind), type), name
    later = {f"spectralmirror.{name}" for name in ("ChoiceColumns", "ChoiceMixture", "WideForm")}
    assert set(FORMAT_1.values()) == set(CLASSES) - later
    assert set(current_names()) == set(CLASSES) | set(FORMAT_1)
    assert set(current_names().values()) == set(stored_names())


def test_files_name_no_module_inside_the_package(mixture, tmp_path):
    save(mixture, tmp_path / "m.skops")
    assert modules_in(tmp_path / "m.skops") == {"builtins", "numpy", "spectralmirror"}
    moments = FeatureMoments.from_rows(X)
    save(SpectralMirror(2, moments=moments).fit(X, Y), tmp_path / "m.skops")
    assert not any("." in module for module in modules_in(tmp_path / "m.skops"))


def test_a_class_that_moves_is_stored_as_before_and_old_files_load(mixture, tmp_path, monkeypatch):
    before, after = tmp_path / "before.skops", tmp_path / "after.skops"
    save(mixture, before)
    elsewhere = ModuleType("spectralmirror.elsewhere")
    elsewhere.LinearClassifierMixture = LinearClassifierMixture
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)
    monkeypatch.setattr(LinearClassifierMixture, "__module__", elsewhere.__name__)
    with pytest.raises(TypeError, match="got LinearClassifierMixture"):
        save(mixture, after)  # the table must follow
    name = "spectralmirror.LinearClassifierMixture"
    monkeypatch.setitem(CLASSES, name, f"{elsewhere.__name__}.LinearClassifierMixture")
    save(mixture, after)
    assert schema_of(after) == schema_of(before)
    for path in (before, after):
        np.testing.assert_array_equal(load(path).predict_proba(X), mixture.predict_proba(X))


def test_names_inside_the_package_that_no_format_used_are_refused(mixture, tmp_path):
    path, other = tmp_path / "m.skops", tmp_path / "other.skops"
    save(mixture, path)
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(other, "w") as changed:
        for name in file.namelist():
            data = file.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                schema["content"]["model"]["__module__"] = "spectralmirror.mixture"
                data = json.dumps(schema).encode()
            changed.writestr(name, data)
    with pytest.raises(ValueError, match=r"holds spectralmirror\.mixture\.LinearClassifierMixture"):
        load(other)
