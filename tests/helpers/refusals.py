"""Bad input gets one clear sentence that says what is wrong, where, and what to do."""

import pytest

#: A sentence that is longer than this is not read.
LONGEST = 400


def assert_clear(sentence):
    """It must be one sentence of readable length, without line breaks."""
    assert 10 < len(sentence) < LONGEST, sentence
    assert "\n" not in sentence


def assert_refused(call, sentence, error=ValueError):
    """The call must raise an error whose message is clear and matches."""
    with pytest.raises(error, match=sentence) as refused:
        call()
    assert_clear(str(refused.value))
