"""A matrix with names is taken like a data frame, without a copy."""

import numpy as np
import pandas as pd
import pytest

from spectralmirror import LinearClassifierMixture, SpectralMirror
from spectralmirror.rows.checks import check_features
from spectralmirror.rows.feature_table import NamedMatrix

X = np.random.default_rng(0).standard_normal((200, 3))
Y = X[:, 0] > 0
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.filterwarnings("ignore::spectralmirror.MixtureWarning")
def test_models_take_a_matrix_with_names():
    named = NamedMatrix(X, ["a", "b", "c"])
    mixture, mirror = LinearClassifierMixture(1).fit(FRAME, Y), SpectralMirror(1).fit(FRAME, Y)
    found, expected = mixture.predict_proba(named), mixture.predict_proba(FRAME)
    # scores up to 90, whose rounding is that of the order of a sum, stand in an exponent
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(mirror.transform(named), mirror.transform(FRAME), rtol=1e-12)
    assert check_features(named, mirror) is X
    with pytest.raises(ValueError, match=r"feature names \['c', 'b', 'a'\], but \['a', 'b', 'c'\]"):
        mirror.transform(NamedMatrix(X, ["c", "b", "a"]))


def test_values_that_are_not_finite_have_a_name():
    bad = X.copy()
    bad[5, 1] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 'b': remove"):
        check_features(NamedMatrix(bad, ["a", "b", "c"]), SpectralMirror(1).fit(FRAME, Y))
