"""Reads a lab into the model, from lab.py, which is the lesson from top to bottom, and the files of its exercises."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from autograder.authoring import quiz
from autograder.authoring.answers import read_answers
from autograder.authoring.cell_ids import make_cell_id
from autograder.authoring.checks import read_checks
from autograder.authoring.exercise_file import find_parameters, read_exercise_file
from autograder.authoring.explanations import fold_explanations
from autograder.authoring.headers import ANSWER, FOLDED, QUIZ, parse_kind, parse_points
from autograder.authoring.hints import find_lost_hint, read_hints
from autograder.authoring.predictions import read_prediction
from autograder.authoring.promises import read_promises, refuse_long_introductions
from autograder.authoring.quiz_answers import make_answers
from autograder.authoring.raw_cells import RawCell, read_cells, repeat_line
from autograder.authoring.reference import join_domain, render_reference
from autograder.authoring.regions import add_hidden
from autograder.authoring.rules import refuse_bad_cell, refuse_bad_lab, refuse_unparsable
from autograder.authoring.syntax_trees import parse_source
from autograder.authoring.task_headings import TaskHeader, read_tasks, split_at_headings
from autograder.base.errors import SourceError
from autograder.model.answer import Answer
from autograder.model.course import Cell, CellKind, Exercise, Lab, LabEntry, Level
from autograder.model.metadata import NAMED, make_cell_name
from autograder.model.quiz_statement import QuizStatement
from labkit.hint import fold_hints_in_text, fold_text

LESSON = "lab.py"
Sources = Mapping[str, str]  # a file's path in the lab's folder, with /, -> its text


def read_lab(folder: Path, entry: LabEntry, further: tuple[str, ...] = ()) -> Lab:
    """Read the lab in this folder. Raises SourceError if it breaks a rule of the format.

    Args:
        further: The further exercises that earn points this term.
    """
    sources: dict[str, str] = {}
    for path in (folder / LESSON, *sorted((folder / "exercises").glob("*.py"))):
        try:
            sources[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(path, 1, f"can't read this file: {error}", "write it as UTF-8 text") from None
    return read_lab_sources(sources, folder, entry, further)


def read_lab_sources(sources: Sources, folder: Path, entry: LabEntry, further: tuple[str, ...] = ()) -> Lab:
    """Read a lab as read_lab() does, from texts instead of files. `folder` is the lab's folder, for messages."""
    raws = read_cells(sources[LESSON], folder / LESSON)
    lab = _LabReader(sources, folder, entry.seed, read_tasks(raws, further))
    for raw in raws:
        lab.read(raw)
    for file in sources.keys() - lab.used - {LESSON}:
        name = Path(file).stem
        raise SourceError(
            folder / file,
            1,
            f"lab.py has no line for {name!r}",
            f"write '# %% exercise: {name} points=N' there",
        )
    exercises = [_build_exercise(exercise) for exercise in lab.exercises]
    cells = fold_explanations(lab.cells)
    refuse_bad_lab(cells, exercises)
    return Lab(
        name=entry.name,
        title=entry.title,
        minutes=entry.minutes,
        needs=entry.needs,
        milestone=entry.milestone,
        accuracy=entry.accuracy,
        path=folder,
        cells=tuple(cells),
        exercises=tuple(exercises),
    )


@dataclass(frozen=True)
class _ExerciseCells:
    """The cells of an exercise."""

    cell: Cell
    check: Cell
    promises: RawCell | None = None
    answers: list[RawCell] = field(default_factory=list)
    generated: tuple[Answer, ...] = ()
    """The answers that the builder made."""


class _CellFields(TypedDict, total=False):
    """What only some kinds of cell have."""

    name: str
    points: float
    practice: bool
    level: Level | None
    answer: tuple[str, ...]
    folded: bool
    quiz: tuple[QuizStatement, ...]


@dataclass
class _LabReader:
    """The cells of a lab that have been read."""

    sources: Sources
    folder: Path
    seed: int
    """Of the inputs that hidden checks draw."""
    tasks: Mapping[str, TaskHeader]
    """What the headers of the exercises say, by name."""
    cells: list[Cell] = field(default_factory=list)
    exercises: list[_ExerciseCells] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """The files of exercises that lab.py names."""

    def read(self, raw: RawCell) -> None:
        """Read one cell of lab.py, or the cells of the exercise or quiz that it names."""
        kind, name = parse_kind(raw)
        points = parse_points(raw, kind)
        if kind == CellKind.EXERCISE:
            self.read_exercise(raw, name)
        elif kind == QUIZ:
            self.read_quiz(raw, name, points)
        elif kind == CellKind.PREDICT:
            source, answer = read_prediction(raw)
            self.add(raw, CellKind.PREDICT, source, raw.line_numbers, name=name, answer=answer)
        elif kind == ANSWER:
            self.add(raw, CellKind.PROSE, text := fold_text("Answer", raw.source), repeat_line(raw.line, text))
        elif kind == CellKind.PROSE:
            for text, lines in split_at_headings(raw, self.tasks):
                self.add(raw, CellKind.PROSE, text, lines)
        else:
            self.add_given(raw, CellKind(kind), name, points)

    def read_exercise(self, raw: RawCell, name: str) -> None:
        """Read the exercise's file, and add its given cells, its cell, and one cell with all its checks."""
        if raw.source.strip():
            raise SourceError(
                raw.path, raw.first_line, "code below an exercise's line", f"move it to exercises/{name}.py"
            )
        file = f"exercises/{name}.py"
        if file not in self.sources:
            raise SourceError(
                raw.path,
                raw.line,
                f"there is no {file}",
                "write the exercise there, or run gradlab new for a lab to start from",
            )
        self.used.add(file)
        parts = read_exercise_file(self.sources[file], self.folder / file)
        for given in parts.given:
            self.add_given(given, CellKind.GIVEN, folded=True)
        task, stub = self.tasks[name], parts.exercise
        cell = self.add(stub, CellKind.EXERCISE, stub.source, stub.line_numbers, name=name, level=task.level)
        source, lines = parts.checks.source, parts.checks.line_numbers
        if hidden := parts.hidden:
            hidden_source, hidden_lines = hidden.source, hidden.line_numbers
            if parts.domain:
                earlier = {exercise.cell.name: exercise.cell.source for exercise in self.exercises}
                begin = render_reference(name, cell.source, earlier, self.seed)
                hidden_source, hidden_lines = join_domain(begin, parts.domain, hidden)
            source = add_hidden(source, hidden_source)
            lines = (*lines, hidden.line, *hidden_lines, hidden_lines[-1])
        fields: _CellFields = {"name": name, "points": task.points, "practice": task.practice}
        check = self.add(parts.checks, CellKind.CHECK, source, lines, **fields)
        self.exercises.append(_ExerciseCells(cell, check, parts.promises, parts.answers))

    def read_quiz(self, raw: RawCell, name: str, points: float) -> None:
        parsed = quiz.read_quiz(raw, name)
        self.add(raw, CellKind.PROSE, text := quiz.render_prose(parsed), repeat_line(raw.line, text), name=name)
        self.add(raw, CellKind.SCRATCH, "# A place to try statements.", (raw.line,))
        source = quiz.render_answer_cell(parsed)
        cell = self.add(
            raw, CellKind.EXERCISE, source, repeat_line(raw.line, source), name=name, quiz=quiz.list_statements(parsed)
        )
        source = add_hidden(quiz.render_visible_checks(parsed), quiz.render_hidden_checks(parsed))
        check = self.add(raw, CellKind.CHECK, source, repeat_line(raw.line, source), name=name, points=points)
        self.exercises.append(_ExerciseCells(cell, check, generated=make_answers(parsed, raw)))

    def add_given(
        self, raw: RawCell, kind: CellKind, name: str = "", points: float = 0.0, folded: bool = False
    ) -> None:
        if kind is CellKind.GIVEN and (hints := read_hints(raw.source)):
            # As code, the hints would be visible too early, and would have to be run.
            self.add(raw, CellKind.PROSE, text := fold_hints_in_text(hints), repeat_line(raw.line, text))
            return
        if line := find_lost_hint(raw.source) if kind is not CellKind.PROSE else 0:
            raise SourceError(
                raw.path, raw.line + line, "this hint wouldn't be folded", "give it a given cell of its own"
            )
        folded = folded or FOLDED in raw.words or (kind is CellKind.GIVEN and _has_only_imports(raw.source))
        self.add(raw, kind, raw.source, raw.line_numbers, name=name, points=points, folded=folded)

    def add(
        self, raw: RawCell, kind: CellKind, source: str, lines: tuple[int, ...], **fields: Unpack[_CellFields]
    ) -> Cell:
        name = fields.get("name", "")
        cell_id = make_cell_name(kind, name) if kind in NAMED else make_cell_id(source, kind, self.cells)
        if earlier := next((c for c in self.cells if c.id == cell_id), None):
            raise SourceError(
                raw.path, raw.line, f"{kind} {name!r} is already at line {earlier.line}", "give each its own name"
            )
        if kind.traits.graded and (earlier := self._find_graded(name)):
            problem = f"{earlier.kind} {name!r} at line {earlier.line} earns points under this name"
            raise SourceError(raw.path, raw.line, problem, "give the exercise and the question different names")
        fields["folded"] = fields.get("folded", False) or kind is CellKind.CHECK
        cell = Cell(kind=kind, id=cell_id, source=source, path=raw.path, line=raw.line, lines=lines, **fields)
        refuse_bad_cell(cell)
        self.cells.append(cell)
        return cell

    def _find_graded(self, name: str) -> Cell | None:
        """Find the cell that earns points under this name. Reports don't distinguish exercises and questions."""
        return next((cell for cell in self.cells if cell.kind.traits.graded and cell.name == name), None)


def _has_only_imports(source: str) -> bool:
    """Return whether there are only imports. Invalid Python is refused elsewhere."""
    try:
        return all(isinstance(node, ast.Import | ast.ImportFrom) for node in parse_source(source).body)
    except SyntaxError:
        return False


def _build_exercise(exercise: _ExerciseCells) -> Exercise:
    """Build the exercise from its cells, with the parsed checks and answers."""
    cell, check = exercise.cell, exercise.check
    refuse_unparsable(cell)
    refuse_long_introductions(cell)
    refuse_unparsable(check)
    checks = read_checks(check)
    answers, equivalent = read_answers(exercise.answers, cell.name, checks)
    return Exercise(
        name=cell.name,
        cell_id=cell.id,
        check_id=check.id,
        points=check.points,
        worth=check.worth,
        checks=checks,
        promises=read_promises(exercise.promises, cell.source, checks) if exercise.promises else (),
        parameters=find_parameters(cell),
        answers=answers + exercise.generated,
        equivalent=equivalent,
    )
