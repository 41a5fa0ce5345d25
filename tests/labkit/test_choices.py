"""Letters of a multiple choice, in any notation, and the messages about them."""

import pytest

from labkit import assert_answered, assert_letters
from labkit.choices import read_letters


@pytest.mark.parametrize(
    "typed", ["abd", "dba", "A, B, D", "a b d", "aabbd", ["a", "B", "d"], ("b", "ad"), {"d", "b", "a"}]
)
def test_order_case_and_separators_make_no_difference(typed: object) -> None:
    assert read_letters({"q1": typed}, "q1") == "abd"
    assert_letters({"q1": typed}, "q1", "abd")


@pytest.mark.parametrize(
    "answers", [None, {}, {"q2": "a"}, "abc", 3, {"q1": ""}, {"q1": [1, "a"]}, {"q1": {"a": True}}]
)
def test_no_answer_has_no_letters(answers: object) -> None:
    assert read_letters(answers, "q1") == ""


@pytest.mark.parametrize("typed", ["ab", "abcd", "abe", "", 7])
def test_a_missing_or_extra_letter_is_wrong_and_no_letter_is_named(typed: object) -> None:
    with pytest.raises(AssertionError, match=r"^not all of your letters for q1 are right, or some are missing$"):
        assert_letters({"q1": typed}, "q1", "abd")


def test_all_questions_answered_by_letters_pass_whether_right_or_wrong() -> None:
    assert_answered({"q1": "a", "q2": "E, b", "q3": "abcde"}, questions=3)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (None, "your result is None"),
        ({"q1": "a"}, "no letters for q2, q3"),
        ({"q1": "a", "q2": "b", "q3": "c", "q4": "d"}, "a key other than q1 to q3"),
        ({"q1": "a", "q2": " ", "q3": "c"}, "nothing is ticked for q2"),
        ({"q1": "a", "q2": "b", "q3": "f"}, "q3 has letters that match no statement"),
        ({"q1": "a", "q2": "b", "q3": [True, 2]}, r'q3 has no letters: write them as one text, such as "ac"'),
    ],
)
def test_input_that_is_not_an_answer_is_reported(answers: object, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_answered(answers, questions=3)


@pytest.mark.parametrize(("typed", "misjudged"), [("ab", 1), ("abcd", 1), ("abc", 2), ("e", 4)])
def test_each_missing_or_extra_letter_is_a_misjudged_statement(typed: str, misjudged: int) -> None:
    assert_letters({"q1": typed}, "q1", "abd", misjudged)
    with pytest.raises(AssertionError):
        assert_letters({"q1": typed}, "q1", "abd", misjudged - 1)


@pytest.mark.parametrize("answers", [{}, {"q1": ""}, {"q2": "a"}])
def test_no_letters_are_no_answer_even_if_one_may_be_missing(answers: object) -> None:
    with pytest.raises(AssertionError):
        assert_letters(answers, "q1", "a", misjudged=1)
