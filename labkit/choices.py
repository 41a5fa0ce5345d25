"""Multiple-choice questions with several right statements: reading the answered letters, and checking them.

No message here names a right letter.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.value_text import describe_value

STATEMENTS = "abcde"


def read_letters(answers: object, question: str) -> str:
    """Return the letters answered for a question, sorted. Case, spaces and commas don't matter.

    Args:
        answers: A dict from question to a string of letters, or to a list, tuple or set of such strings. Anything else
            counts as no letters.
    """
    answer = answers.get(question, "") if isinstance(answers, dict) else ""
    texts = list(answer) if isinstance(answer, list | tuple | set | frozenset) else [answer]
    if not all(isinstance(text, str) for text in texts):
        return ""
    return "".join(sorted(set("".join(texts).lower()) - set(" ,")))


def assert_answered(answers: object, questions: int) -> None:
    """Raise AssertionError unless `answers` is a dict with letters from a to e for q1, q2, ... and no other key."""
    if not isinstance(answers, dict):
        raise AssertionError(f"your result is {describe_value(answers)}")
    if set(answers) != {f"q{number}" for number in range(1, questions + 1)}:
        raise AssertionError(f"your keys are {sorted(map(str, answers))}")
    for question in answers:
        letters = read_letters(answers, question)
        if not letters:
            raise AssertionError(f'{question} has no letters: write them as one text, such as "ac"')
        if not set(letters) <= set(STATEMENTS):
            raise AssertionError(f"{question} has letters that match no statement")


def assert_some_right(answers: object, key: Mapping[str, str]) -> None:
    """Raise AssertionError unless at least two questions have all of their right letters and no other.

    A single one can be a guess.

    Args:
        key: The right letters of each question, sorted.
    """
    if sum(read_letters(answers, question) == right for question, right in key.items()) < 2:
        raise AssertionError("fewer than two are right")


def assert_letters(answers: object, question: str, right: str) -> None:
    """Raise AssertionError unless the question is answered with exactly these letters, which are sorted."""
    if read_letters(answers, question) != right:
        raise AssertionError(f"not all of your letters for {question} are right, or some are missing")
