"""The words for winners."""

import numpy as np
import pytest

from spectralmirror.tables.winners import WINNERS, is_left, winner_words


@pytest.mark.parametrize("pair", WINNERS, ids="-".join)
def test_every_pair_of_words_is_recognised(pair):
    assert winner_words(pair) == pair
    assert [is_left(word, pair) for word in pair] == [True, False]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([True, False], ("true", "false")),
        ([1.0, 2.0], ("1", "2")),
        (np.array([1, -1], dtype=np.float32), ("1", "-1")),
        ([" LEFT", "right "], ("left", "right")),
        ([1], ("1", "0")),  # as far as one can tell
    ],
)
def test_words_of_other_kinds_and_cases(values, words):
    assert winner_words(values) == words
    assert is_left(values[0], words)


@pytest.mark.parametrize("values", [["Home", "away"], ["home_", "away_"]])
def test_winners_may_be_called_by_the_prefixes_of_columns(values):
    words = winner_words(values, ("home_", "away_"))
    assert [is_left(value, words) for value in values] == [True, False]
    with pytest.raises(ValueError, match=r"must be called left or right, a or b, .*; got 'away"):
        winner_words(values)


def test_a_winner_that_is_neither_side_is_refused():
    with pytest.raises(ValueError, match="must be 'a' or 'b', got 'tie'"):
        is_left("tie", ("a", "b"))
    with pytest.raises(ValueError, match=r"got '0', '0\.5', '1'"):
        winner_words([1.0, 0.5, 0.0])


@pytest.mark.parametrize(
    ("values", "sides"),
    [
        (["Choice1", "choice2"], None),
        (["choice1", "choice2"], ("*1", "*2")),
        (["option_left", "option_right"], None),
        (["card A", "card B"], ("*_a", "*_b")),
        (["team home", "team away"], ("home_", "away_")),
    ],
)
def test_the_same_noun_may_come_before_winners(values, sides):
    words = winner_words(values, sides)
    assert [is_left(value, words) for value in values] == [True, False]


@pytest.mark.parametrize("values", [["choice1", "choice3"], [11, 12], ["1", "choice2"]])
def test_a_noun_does_not_make_a_winner(values):
    with pytest.raises(ValueError, match="The winner must be called"):
        winner_words(values)
