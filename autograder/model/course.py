"""The model of a course: what the builder reads from `labs/` and everything else works on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Immutable data; a wrong field name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Traits:
    """What a kind of cell means wherever cells are met.

    markdown: text in the notebook, not code. named: it belongs to an exercise, question or prediction. locked: no
    student may change it. written: a student writes it, in place of a solution. graded: it carries points.
    step: as what the grader runs it, see examiner.examine.Step; empty for text.
    """

    markdown: bool = False
    named: bool = False
    locked: bool = False
    written: bool = False
    graded: bool = False
    step: str = ""


class Kind(StrEnum):
    """What a cell of a lab is for. What follows from that stands in TRAITS, and nowhere else."""

    PROSE = "prose"
    GIVEN = "given"  # read-only course code, which exercises and checks may use
    EXAMPLE = "example"  # read-only code that only shows something
    SCRATCH = "scratch"  # code that a student may change, worth nothing
    EXERCISE = "exercise"
    CHECK = "check"
    QUESTION = "question"  # answered in words, graded by hand
    PREDICT = "predict"  # asked before a cell shows the answer, worth nothing

    @property
    def traits(self) -> Traits:
        return TRAITS[self]


TRAITS = {
    Kind.PROSE: Traits(markdown=True),
    Kind.GIVEN: Traits(locked=True, step="given"),
    Kind.EXAMPLE: Traits(locked=True, step="example"),
    Kind.SCRATCH: Traits(step="student"),
    Kind.EXERCISE: Traits(named=True, written=True, step="student"),
    Kind.CHECK: Traits(named=True, locked=True, graded=True, step="check"),
    Kind.QUESTION: Traits(markdown=True, named=True, written=True, graded=True),
    Kind.PREDICT: Traits(markdown=True, named=True),
}


class QuizStatement(Model):
    """One statement of a quiz. question: its name, such as q1. text, reason: Markdown."""

    question: str
    letter: str
    text: str
    true: bool
    reason: str


class AnotherWay(Model):
    """A right answer in another form than the reference. label: what is different in it."""

    label: str
    source: str


class Cell(Model):
    """One cell. `source` is without its header, which is line `line` of the file at `path`.

    lines: for each line of source its number in that file. answer: what a prediction should be. folded: the notebook
    hides its code until somebody opens it. quiz: what the letters of this exercise speak of.
    """

    kind: Kind
    id: str
    source: str
    path: Path
    line: int
    lines: tuple[int, ...]
    name: str = ""  # of the exercise, question or prediction, or of the quiz whose questions this prose asks
    points: float = 0.0
    answer: tuple[str, ...] = ()
    folded: bool = False
    quiz: tuple[QuizStatement, ...] = ()

    def get_line(self, number: int) -> int:
        """The line in the file of a line of the source, counted from 1."""
        return self.lines[min(number, len(self.lines)) - 1] if self.lines else self.line


class Check(Model):
    """One labelled test inside a check cell. `misconceptions` are the messages that its `explain` calls can give.

    id: a short name for lists of checks. label: what holds where it passes, as a student reads it.
    observed: rests on what only the student's process can say.
    """

    id: str
    label: str
    weight: float = 1.0
    guard: bool = False
    required: bool = False
    observed: bool = False
    hint: str | tuple[str, ...] = ""
    hidden: bool = False
    misconceptions: tuple[str, ...] = ()


class Answer(Model):
    """A right, wrong or lying solution of an exercise, kept with the lab.

    liar: the plain computation without the demanded technique, with the probes redefined to claim it.

    fails: ids of exactly the checks that fail. raises: the type name of the exception by which they may fail;
    empty where an exception would prove nothing.
    """

    exercise: str
    right: bool
    label: str
    source: str
    path: Path
    line: int
    fails: tuple[str, ...] = ()
    raises: str = ""
    liar: bool = False


class Exercise(Model):
    """One thing that a student writes. `parameters` are those of the function or class that it defines.

    equivalent: mutants of the solution that no check can tell from it -> why.
    """

    name: str
    cell_id: str
    check_id: str
    points: float
    checks: tuple[Check, ...]
    parameters: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    equivalent: dict[str, str] = {}

    @property
    def observed_points(self) -> float:
        """Points that rest on observed checks: their share of the cell's weight."""
        total = sum(c.weight for c in self.checks)
        return round(self.points * sum(c.weight for c in self.checks if c.observed) / total, 4)


class Lab(Model):
    """One assignment. `name` is its folder in labs/, which is at `path`, and its name in nbgrader.

    needs: the labs to do before it.
    """

    name: str
    title: str
    minutes: int
    needs: tuple[str, ...] = ()
    path: Path
    cells: tuple[Cell, ...]
    exercises: tuple[Exercise, ...]

    @property
    def questions(self) -> tuple[Cell, ...]:
        return tuple(c for c in self.cells if c.kind is Kind.QUESTION)

    @property
    def points(self) -> float:
        return sum(c.points for c in self.cells)

    def cell(self, cell_id: str) -> Cell:
        return next(c for c in self.cells if c.id == cell_id)

    def exercise(self, name: str) -> Exercise:
        return next(e for e in self.exercises if e.name == name)


class LabEntry(Model):
    """A lab as course.toml lists it. `needs` are the labs to do before it."""

    name: str
    title: str
    minutes: int
    needs: tuple[str, ...] = ()


class Course(Model):
    """The manifest: the labs in their order."""

    title: str
    root: Path
    labs: tuple[LabEntry, ...]
