"""What the desk's pages send to be saved: known fields of bounded size."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from autograder.desk.marks import MAX_COMMENT
from autograder.desk.rubric import MAX_ITEMS
from autograder.model.strict_model import StrictModel


class QuestionRequest(StrictModel):
    """A question, by its names in the gradebook."""

    lab: str = Field(max_length=200)
    notebook: str = Field(max_length=200)
    cell: str = Field(max_length=200)


class MarkRequest(QuestionRequest):
    """A mark to save."""

    student: str = Field(max_length=200)
    points: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Points that were typed, instead of chosen items."""
    chosen: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)
    comment: str = Field(default="", max_length=MAX_COMMENT)
    version: str = Field(max_length=64)
    """The version of the mark that the reader saw."""


class RubricRequest(QuestionRequest):
    """A rubric to save."""

    items: tuple[dict[str, Any], ...] = Field(max_length=MAX_ITEMS)
    """The items; a new one has an empty id."""
    version: str = Field(max_length=64)
    """The version of the rubric that the reader saw."""
    sure: bool = False
    """Whether the reader agreed that marks change."""
