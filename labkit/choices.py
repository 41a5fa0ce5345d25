"""Questions with several right statements, answered by letters: what was answered, and how a check judges it.

Nothing that is raised here names a right letter.
"""

from __future__ import annotations

from collections.abc import Mapping

STATEMENTS = "abcde"


def read_letters(answers: object, question: str) -> str:
    """The letters that were given for a question, in order: upper case, spaces and commas make no difference.

    answers: a dict from question to a string of letters, or to a list, tuple or set of such strings. Anything else has
    no letters, and raises nothing.
    """
    given = answers.get(question, "") if isinstance(answers, dict) else ""
    texts = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
    if not all(isinstance(text, str) for text in texts):
        return ""
    return "".join(sorted(set("".join(texts).lower()) - set(" ,")))


def assert_answered(answers: object, questions: int) -> None:
    """Raises AssertionError unless answers is a dict that has letters from a to e for q1, q2, ... and no other key."""
    if not isinstance(answers, dict):
        raise AssertionError(f"your result is a {type(answers).__name__}")
    if set(answers) != {f"q{number}" for number in range(1, questions + 1)}:
        raise AssertionError(f"your keys are {sorted(map(str, answers))}")
    for question in answers:
        given = read_letters(answers, question)
        if not given:
            raise AssertionError(f'{question} has no letters: write them as one text, such as "ac"')
        if not set(given) <= set(STATEMENTS):
            raise AssertionError(f"{question} has letters that stand for no statement")


def assert_some_right(answers: object, key: Mapping[str, str]) -> None:
    """Raises AssertionError unless two questions at least have all of their right letters, and no other.

    One alone can be a guess. key: the right letters of each question, in order.
    """
    if sum(read_letters(answers, question) == right for question, right in key.items()) < 2:
        raise AssertionError("fewer than two are right")


def assert_letters(answers: object, question: str, right: str) -> None:
    """Raises AssertionError unless the question has exactly these letters. right: in order."""
    if read_letters(answers, question) != right:
        raise AssertionError(f"not all of your letters for {question} are right, or some are missing")
