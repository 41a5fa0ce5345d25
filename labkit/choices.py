"""Multiple-choice questions with several right statements: reading the answered letters, and checking them.

No message here names a right letter.
"""

from __future__ import annotations

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
    keys = [f"q{number}" for number in range(1, questions + 1)]
    if missing := [key for key in keys if key not in answers]:
        raise AssertionError(f"there are no letters for {', '.join(missing)}")
    if len(answers) > questions:
        raise AssertionError(f"there's a key other than q1 to q{questions}")
    for question in answers:
        letters = read_letters(answers, question)
        if not letters and isinstance(answers[question], str):
            raise AssertionError(f'nothing is ticked for {question}. Without boxes, write its letters, such as "ac"')
        if not letters:
            raise AssertionError(f'{question} has no letters: write them as one text, such as "ac"')
        if not set(letters) <= set(STATEMENTS):
            raise AssertionError(f"{question} has letters that match no statement")


def assert_letters(answers: object, question: str, right: str, misjudged: int = 0) -> None:
    """Raise AssertionError unless the question is answered with these letters. No letters are no answer.

    Args:
        right: The letters of all true statements.
        misjudged: How many letters may be missing or wrong.
    """
    letters = set(read_letters(answers, question))
    if not letters or len(letters ^ set(right)) > misjudged:
        raise AssertionError(f"not all of your letters for {question} are right, or some are missing")
