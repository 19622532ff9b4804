"""Bad input is refused in a sentence."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from spectralmirror import LinearClassifierMixture
from spectralmirror.report import collect


def test_bad_input_is_refused_in_a_sentence(shop):
    mixture, X, y, groups, _ = shop
    with pytest.raises(TypeError, match="about a fitted LinearClassifierMixture, got Logistic"):
        collect(LogisticRegression(), X, y)
    with pytest.raises(NotFittedError):
        collect(LinearClassifierMixture(), X, y)
    with pytest.raises(ValueError, match="X has 900 rows but y has 899"):
        collect(mixture, X, y[1:], groups=groups)
    with pytest.raises(ValueError, match="The mixture was fitted with groups"):
        collect(mixture, X, y)
    with pytest.raises(ValueError, match="X has 900 rows but table has 10"):
        collect(mixture, X, y, groups=groups, table=X[:10])
    with pytest.raises(ValueError, match="labels that were fitted"):
        collect(mixture, X, np.where(y == "yes", "maybe", "no"), groups=groups)
    with pytest.raises(ValueError, match="one value for each of 900 rows"):
        collect(mixture, X, y, groups=groups[1:])
