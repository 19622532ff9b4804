"""How sure a search is."""

import numpy as np
import pytest

from spectralmirror.mixture.doubt import MISSED, agreeing_kinds, doubt
from spectralmirror.mixture.starts import Start


def starts(*kinds, objective=-100.0):
    return [Start(kind, objective, 5) for kind in kinds]


def test_doubt_falls_with_the_starts_that_agree():
    found = [doubt(starts("grown"), 2)]
    found.append(doubt(starts("grown", "around"), 2))
    found.append(doubt(starts("grown", "around", "lengths"), 2))
    found.append(doubt(starts("grown", "around", "lengths", "annealed"), 2))
    assert found == list(MISSED[1:])
    assert found == sorted(found, reverse=True)
    assert doubt(starts("grown", *["around"] * 20), 2) == MISSED[-1]


def test_starts_of_one_kind_count_as_two():
    assert doubt(starts(*["around"] * 20), 2) == MISSED[2]
    assert agreeing_kinds(starts(*["around"] * 20)) == 1


@pytest.mark.parametrize("kind", ["crossed", "before"])
def test_starts_that_are_not_independent_do_not_count(kind):
    """A crossing begins at the best maximum, and often returns to it."""
    assert doubt(starts("grown", *[kind] * 9), 2) == MISSED[1]


def test_worse_maxima_do_not_count():
    worse = starts("around", "lengths", objective=-101.0)
    near = starts("annealed", objective=-100.4)
    assert doubt(starts("grown") + worse, 2) == MISSED[1]
    assert doubt(starts("grown") + near, 2) == MISSED[2]
    assert agreeing_kinds(starts("grown") + worse + near) == 2


def test_one_component_has_one_maximum_and_a_given_start_is_not_judged():
    assert doubt(starts("grown"), 1) == 0
    assert np.isnan(doubt(starts("given"), 2))


def test_with_a_spread_it_is_not_known():
    assert np.isnan(doubt(starts("discrete", "split", "drawn"), 2))
    assert doubt(starts("discrete"), 1) == 0
