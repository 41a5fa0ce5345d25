"""Questions with several right statements, answered by letters."""

from __future__ import annotations


def letters(answers: object, question: str) -> str:
    """The letters that were given for a question, in order: upper case, spaces and commas make no difference.

    answers: a dict from question to a string of letters. Anything else has no letters, and raises nothing.
    """
    text = answers.get(question, "") if isinstance(answers, dict) else ""
    return "".join(sorted(set(str(text).lower()) - set(" ,")))
