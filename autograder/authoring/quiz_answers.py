"""Makes the right and wrong answers that prove the checks of a quiz."""

from __future__ import annotations

import json
from collections.abc import Mapping

from autograder.authoring.quiz import Quiz
from autograder.authoring.raw_cells import RawCell
from autograder.model.answer import Answer, AnswerKind


def make_answers(quiz: Quiz, raw: RawCell) -> tuple[Answer, ...]:
    """Make the standard answers: the key in two other forms, no letters, a guess, and one wrong letter a question."""
    key = quiz.key
    capitals = {question: ", ".join(reversed(letters.upper())) for question, letters in key.items()}
    keywords = ", ".join(f"{question}={letters!r}" for question, letters in key.items())
    guess = dict.fromkeys(key, key["q1"])
    unknown = dict.fromkeys(key, "?")
    part = {question: letters for question, letters in key.items() if question != "q1"}
    is_no_dict = ("form", *_find_failing_checks(quiz, dict.fromkeys(key, "")))
    answers: list[tuple[str, str, tuple[str, ...]]] = [
        ("capitals, in another order, with commas", json.dumps(capitals), ()),
        ("keywords of dict", f"dict({keywords})", ()),
        ("no letters at all", json.dumps(unknown), ("form", *_find_failing_checks(quiz, unknown))),
        ("one string for all questions", repr(" ".join(key.values())), is_no_dict),
        ("the same guess for each question", json.dumps(guess), _find_failing_checks(quiz, guess)),
        ("one question without an answer", json.dumps(part), ("form", *_find_failing_checks(quiz, part | {"q1": ""}))),
    ]
    for name, question in zip(key, quiz.questions, strict=True):
        # If there's only one true letter, add another instead: no letters at all would fail by their form.
        letter, statement = next(pair for pair in reversed(question.pair_letters()) if pair[0] != question.letters)
        wrong = key | {name: question.letters.replace(letter, "") if statement.true else question.letters + letter}
        label = f"{name} {letter}: {'not ' if statement.true else ''}true"
        answers.append((label, json.dumps(wrong), _find_failing_checks(quiz, wrong)))
    return tuple(
        Answer(
            exercise=quiz.name,
            kind=AnswerKind.WRONG if fails else AnswerKind.RIGHT,
            label=label,
            source=f"def {quiz.name}():\n    return {letters}",
            path=raw.path,
            line=raw.line,
            fails=fails,
        )
        for label, letters, fails in answers
    )


def _find_failing_checks(quiz: Quiz, letters: Mapping[str, str]) -> tuple[str, ...]:
    """Return the checks of questions that fail for these letters."""
    failing: list[str] = []
    for (name, right), question in zip(quiz.key.items(), quiz.questions, strict=True):
        misjudged = len(set(letters[name]) ^ set(right))
        failing += [f"{name}_half"] if question.allows_half and (misjudged > 1 or not letters[name]) else []
        failing += [name] if misjudged else []
    return tuple(failing)
