"""Letters of a multiple choice, however they were typed."""

from __future__ import annotations

import pytest

from labkit import letters


@pytest.mark.parametrize("typed", ["abd", "dba", "A, B, D", "a b d", "aabbd"])
def test_order_case_and_separators_make_no_difference(typed: str) -> None:
    assert letters({"q1": typed}, "q1") == "abd"


@pytest.mark.parametrize("answers", [None, {}, {"q2": "a"}, "abc", 3, {"q1": ""}])
def test_no_answer_has_no_letters(answers: object) -> None:
    assert letters(answers, "q1") == ""
