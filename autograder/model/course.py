"""The model of a course, which the builder reads from `labs/` and all other packages use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from autograder.model.answer import Answer
from autograder.model.quiz_statement import QuizStatement
from autograder.model.strict_model import StrictModel


class StepKind(StrEnum):
    """How the grader runs a code cell."""

    STUDENT = "student"  # in the student process: an exercise, or a cell that the student added
    GIVEN = "given"  # in both
    EXAMPLE = "example"  # in the student process: course code that no check reads
    CHECK = "check"  # in the examiner


@dataclass(frozen=True)
class KindTraits:
    """What follows from a cell's kind."""

    markdown: bool = False
    """Whether it's text in the notebook instead of code."""
    named: bool = False
    """Whether it belongs to an exercise, question or prediction."""
    locked: bool = False
    """Whether students can't change it."""
    student_writes: bool = False
    """Whether a student writes it, instead of the solution."""
    graded: bool = False
    """Whether it carries points."""
    step: StepKind | None = None
    """How the grader runs it; None for text."""


class CellKind(StrEnum):
    """What a cell of a lab is for. TRAITS says everything that follows from it."""

    PROSE = "prose"
    GIVEN = "given"  # read-only course code that exercises and checks may use
    EXAMPLE = "example"  # read-only code that only shows something
    SCRATCH = "scratch"  # code that students may change, worth no points
    EXERCISE = "exercise"
    CHECK = "check"
    QUESTION = "question"  # answered in words, graded by hand
    PREDICT = "predict"  # asked before a cell shows the answer, worth no points

    @property
    def traits(self) -> KindTraits:
        return TRAITS[self]


TRAITS = {
    CellKind.PROSE: KindTraits(markdown=True),
    CellKind.GIVEN: KindTraits(locked=True, step=StepKind.GIVEN),
    CellKind.EXAMPLE: KindTraits(locked=True, step=StepKind.EXAMPLE),
    CellKind.SCRATCH: KindTraits(step=StepKind.STUDENT),
    CellKind.EXERCISE: KindTraits(named=True, student_writes=True, step=StepKind.STUDENT),
    CellKind.CHECK: KindTraits(named=True, locked=True, graded=True, step=StepKind.CHECK),
    CellKind.QUESTION: KindTraits(markdown=True, named=True, student_writes=True, graded=True),
    CellKind.PREDICT: KindTraits(markdown=True, named=True),
}


class Level(StrEnum):
    """How hard an exercise is."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class AnotherWay(StrictModel):
    """A right answer in another form than the reference."""

    label: str
    """How it differs."""
    source: str


class Cell(StrictModel):
    """One cell of a lab."""

    kind: CellKind
    id: str
    source: str
    """Its text, without the header."""
    path: Path
    """The file it was read from."""
    line: int
    """The line of its header in that file."""
    lines: tuple[int, ...]
    """The line number in that file of each line of the source."""
    name: str = ""
    """The exercise, question or prediction, or the quiz whose questions this prose asks."""
    points: float = 0.0
    """What the author gave it, which proofs use."""
    practice: bool = False
    """Whether it's a further exercise that earns no points this term."""
    level: Level | None = None
    answer: tuple[str, ...] = ()
    """The right answer to a prediction."""
    folded: bool = False
    """Whether the notebook hides its code until the reader opens it."""
    quiz: tuple[QuizStatement, ...] = ()
    """The statements that the letters of this exercise refer to."""

    @property
    def worth(self) -> float:
        """What students can earn for it."""
        return 0.0 if self.practice else self.points

    def get_line(self, number: int) -> int:
        """Return the line of the file that holds this line of the source, counted from 1."""
        return self.lines[min(number, len(self.lines)) - 1] if self.lines else self.line


class Check(StrictModel):
    """One labelled test inside a check cell."""

    id: str
    """A short name, for lists of checks."""
    label: str
    """What's true if it passes, as students read it."""
    weight: float = 1.0
    guard: bool = False
    """Whether it earns points only if a check that is neither a guard nor observed passes."""
    required: bool = False
    """Whether the cell earns nothing if it fails."""
    observed: bool = False
    """Whether it relies on what only the student's process can say."""
    hint: str | tuple[str, ...] = ""
    hidden: bool = False
    misconceptions: tuple[str, ...] = ()
    """The messages that its `explain` calls can give."""


class Promise(StrictModel):
    """A sentence of an exercise's docstring."""

    sentence: str
    checks: tuple[str, ...]
    """The ids of the checks that notice if an answer breaks it."""


class Exercise(StrictModel):
    """One thing that a student writes."""

    name: str
    cell_id: str
    check_id: str
    points: float
    """What the author gave it, which proofs use."""
    worth: float
    """What students can earn for it: 0 for practice."""
    checks: tuple[Check, ...]
    promises: tuple[Promise, ...] = ()
    """The sentences of its docstring; none for a quiz."""
    parameters: tuple[str, ...] = ()
    """The parameters of the function or class that it defines."""
    answers: tuple[Answer, ...] = ()
    equivalent: dict[str, str] = Field(default_factory=dict)
    """Mutants that no check can tell from the solution, with the reason."""

    @property
    def observed_points(self) -> float:
        """Points that depend on observed checks: their share of the cell's weight."""
        total = sum(c.weight for c in self.checks)
        return round(self.points * sum(c.weight for c in self.checks if c.observed) / total, 4)


class Lab(StrictModel):
    """One assignment."""

    name: str
    """The name of its folder in labs/, and its name in nbgrader."""
    title: str
    minutes: int
    needs: tuple[str, ...] = ()
    """The labs to do before it."""
    milestone: str = ""
    """What the course's running example has reached after it."""
    accuracy: float = 0.0
    """The percentage that the running example then gets right; 0 if the milestone isn't about that."""
    path: Path
    """Its folder in labs/."""
    cells: tuple[Cell, ...]
    exercises: tuple[Exercise, ...]

    @property
    def questions(self) -> tuple[Cell, ...]:
        return tuple(c for c in self.cells if c.kind is CellKind.QUESTION)

    @property
    def points(self) -> float:
        """Of all exercises and questions, further ones included."""
        return sum(c.points for c in self.cells)

    @property
    def worth(self) -> float:
        """What students can earn."""
        return sum(c.worth for c in self.cells)

    def cell(self, cell_id: str) -> Cell:
        return next(c for c in self.cells if c.id == cell_id)

    def exercise(self, name: str) -> Exercise:
        return next(e for e in self.exercises if e.name == name)


class LabEntry(StrictModel):
    """A lab as course.toml lists it."""

    name: str
    title: str
    minutes: int
    needs: tuple[str, ...] = ()
    """The labs to do before it."""
    seed: int = 1
    """Of the inputs that hidden checks draw; by default, the course's."""
    milestone: str = ""
    """What the course's running example has reached after it."""
    accuracy: float = 0.0
    """The percentage that the running example then gets right; 0 if the milestone isn't about that."""


class Course(StrictModel):
    """The manifest of a course: its labs, in order."""

    title: str
    root: Path
    labs: tuple[LabEntry, ...]
    about: str = ""
    """What it does for a student, in a sentence or two."""
    further: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The further exercises of each lab that earn points this term, from term.toml."""
