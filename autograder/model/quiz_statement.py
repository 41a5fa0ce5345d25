"""A statement of a quiz."""

from __future__ import annotations

from autograder.model.strict_model import StrictModel


class QuizStatement(StrictModel):
    """One statement of a quiz."""

    question: str
    """The question's name, such as q1."""
    letter: str
    text: str
    """Markdown."""
    true: bool
    reason: str
    """Why it's true or false, in Markdown."""
