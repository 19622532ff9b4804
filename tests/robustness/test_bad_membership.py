"""Covariates of membership that depend on each other are named."""

import warnings

import numpy as np
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture
from spectralmirror.datasets import make_linear_classifier_mixture

X, Y, TRUTH = make_linear_classifier_mixture(300, 3, group_size=5, profile_norm=4.0, random_state=0)
PERSON = np.unique(TRUTH.groups, return_inverse=True)[1]
AGE = pd.DataFrame({"age": PERSON, "born": 2025.0 - PERSON, "wave": np.sin(PERSON)})
KINDS = pd.get_dummies(pd.Series(PERSON % 3).map({0: "north", 1: "south", 2: "west"}))
TABLES = {
    "twice": (AGE, "Column 'born' can be computed from 'age' (membership)"),
    "all kinds": (KINDS, "Column 'west' can be computed from 'north' and 'south' (membership)"),
}


def problems(l2, membership):
    mixture = LinearClassifierMixture(2, l2=l2, n_init=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mixture.fit(X, Y, groups=TRUTH.groups, membership=membership)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("l2", [1.0, "auto"])
@pytest.mark.parametrize("name", TABLES)
def test_they_are_named_once(name, l2):
    membership, sentence = TABLES[name]
    said = problems(l2, membership)
    assert sum(sentence in one for one in said) == 1
    assert not any("sharp maximum" in one for one in said)


def test_nothing_is_said_of_others_however_large_their_mean():
    membership = pd.DataFrame({"a": PERSON + 1e6, "b": 1e-9 * np.sin(PERSON)})
    assert not any("membership" in one for one in problems(1.0, membership))
