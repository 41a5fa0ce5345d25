"""Numbers in words, as every command and page says them."""

from __future__ import annotations

import pytest

from autograder.words import count


@pytest.mark.parametrize(
    "number, words", [(0, "0 submissions wait"), (1, "1 submission waits"), (2, "2 submissions wait")]
)
def test_a_verb_goes_with_its_number(number: int, words: str) -> None:
    assert count(number, "submission", "waits", "wait") == words
    assert count(number, "submission") == words.rpartition(" ")[0]
