"""Reads a whole class at once: rows of the gradebook in a few queries, and each file once and without nbformat.

A class of a thousand takes seconds. reader.py reads single submissions, with everything that a feedback page shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from shlex import quote
from types import SimpleNamespace
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    Notebook,
    SolutionCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from pydantic_core import from_json
from sqlalchemy import func, select

from autograder.base.errors import GradlabError
from autograder.base.timestamps import get_utc_now
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.class_files import find_page, read_counting_times, read_trouble
from autograder.gradebook.enrolment import find_strangers
from autograder.gradebook.excuses import set_passed
from autograder.gradebook.lab_class import Column, LabClass, Mark, Member
from autograder.gradebook.labels import CellLabels, make_labels, make_sort_key
from autograder.gradebook.history import HistoryEntry, read_history
from autograder.gradebook.store import load_result
from autograder.gradebook.writer import open_gradebook, read_recorded
from autograder.model.arrivals import Arrival, collect_times, find_uncollected
from autograder.model.assignments import is_stock, refuse_unknown_lab
from autograder.model.course import Kind
from autograder.model.fingerprint import LAB, digest_lab
from autograder.model.metadata import KEY, read_exercise_name, read_facts, read_kind, read_stub
from autograder.model.term import Term, read_term


def read_class(
    db_url: str, course: Path, lab: str, arrivals: Sequence[Arrival] = (), whole: bool = True, checks: bool = True
) -> LabClass:
    """Read everyone's results in this lab. Students who aren't on the roster are included if they submitted it.

    Args:
        arrivals: What is in the exchange, for any lab.
        whole: Whether to include checks and what students wrote.
        checks: Whether to include checks if `whole`.

    Raises:
        GradlabError: If the gradebook doesn't know the lab.
    """
    notebook, term = course / "source" / lab / f"{lab}.ipynb", read_term(course)
    source, extended = _read_cells(notebook), term.get_extensions(lab)
    with open_gradebook(db_url) as gradebook:
        try:
            due = gradebook.find_assignment(lab).duedate
        except MissingEntry:
            refuse_unknown_lab(course, lab)
            raise GradlabError(f"no submission of {lab} is graded yet: run gradlab grade {quote(lab)} first") from None
        labels = CellLabels(is_stock(course, lab), _has_several_notebooks(gradebook, lab))
        columns = _read_columns(gradebook, lab, labels, source, term.lab(lab).extra_credit)
        rows = _read_rows(gradebook, lab, labels, due, extended)
        names = _read_students(gradebook)
        submitted = read_counting_times(course, lab, term)
        attempts = collect_times(arrivals, lab, get_utc_now())
        everyone = {*names, *submitted, *attempts}
        strangers = set(find_strangers(gradebook, everyone))
        handed_in = {*rows, *submitted}
        uncollected = find_uncollected(attempts, submitted)
        histories = {student: tuple(read_history(course, lab, student)) for student in rows}
        unwritten = _find_unwritten_excuses(gradebook, course, lab, term, histories)
    exercises = {read_exercise_name(cell): cell for cell in source if read_kind(cell) is Kind.EXERCISE}
    stubs = {name: read_stub(cell) for name, cell in exercises.items()}
    solutions = {name: cell.source for name, cell in exercises.items()}
    lab_digest = digest_lab(notebook.read_bytes()) if stubs else ""  # a stock assignment is more than a notebook
    members = []
    for student in sorted(everyone - (strangers - handed_in - uncollected), key=make_sort_key):
        row, team = rows.get(student, {}), term.find_team(lab, student)
        fields: dict[str, Any] = {
            "name": names.get(student, ""),
            "on_roster": student not in strangers,
            "team": team.name if team else "",
            "handed_in": student in handed_in,
            "graded": bool(row),
            "until": extended.get(student),
            "again": student in unwritten
            or bool(row and submitted.get(student) and submitted[student] != row["submitted"]),
            "attempts": tuple(attempts.get(student, ())),
            "uncollected": student in uncollected,
            "history": histories.get(student, ()),
        }
        documents = _read_documents(course, lab, student, whole, checks) if row else {}
        made_of = documents.pop("made_of", {})
        documents["stopped"] = {cell: labels.label_id(cell) for cell in documents.get("stopped", ())}
        fields["older"] = bool(lab_digest) and made_of.get(LAB, lab_digest) != lab_digest
        excused = term.get_excuses(lab, student)
        outcomes = {
            name: tuple(set_passed(seen, excused[name])) if name in excused else seen
            for name, seen in documents.pop("checks", {}).items()
        }
        if row and not stubs:  # the builder didn't make the lab, so what was handed out isn't known
            documents["written"] = dict.fromkeys(row["marks"], "")
        members.append(Member(student, checks=outcomes, **(fields | row | documents)))
    return LabClass(lab, columns, tuple(members), due, stubs, solutions)


def list_labs(db_url: str) -> list[str]:
    """List the labs that the gradebook knows, sorted by name."""
    with open_gradebook(db_url) as gradebook:
        return sorted((str(name) for (name,) in gradebook.db.execute(select(Assignment.name))), key=make_sort_key)


def _read_columns(
    gradebook: Gradebook, lab: str, labels: CellLabels, source: list[Any], extra: Sequence[str]
) -> tuple[Column, ...]:
    """Read the columns. Extra credit is worth 0 in the gradebook, so the notebook says how much it adds."""
    facts = {facts.exercise: facts for cell in source if (facts := read_facts(cell)) and facts.kind.traits.graded}
    order = list(facts)
    query = select(Notebook.name, SolutionCell.name).join(SolutionCell.notebook).join(Assignment)
    answers = {tuple(row) for row in gradebook.db.execute(query.where(Assignment.name == lab))}
    columns = {}
    for kind in (GradeCell, TaskCell):
        cells = select(Notebook.name, kind.name, kind.max_score, kind.cell_type).join(kind.notebook).join(Assignment)
        for notebook, cell, worth, cell_type in gradebook.db.execute(cells.where(Assignment.name == lab)):
            by_hand = kind is TaskCell or cell_type == "markdown" or (notebook, cell) in answers
            name = labels.label(cell, notebook)
            is_extra = any(labels.has_name(each, cell, notebook) for each in extra) or (
                not worth and name in facts and facts[name].points > 0
            )
            columns[name] = Column(name, facts[name].points if is_extra and name in facts else worth, by_hand, is_extra)
    return tuple(sorted(columns.values(), key=lambda c: order.index(c.name) if c.name in order else len(order)))


def _has_several_notebooks(gradebook: Gradebook, lab: str) -> bool:
    """Return whether the lab has more than one notebook, as stock assignments may have."""
    count = select(func.count()).select_from(Notebook).join(Notebook.assignment).where(Assignment.name == lab)
    return gradebook.db.scalars(count).one() > 1


def _read_rows(
    gradebook: Gradebook, lab: str, labels: CellLabels, due: datetime | None, extended: Mapping[str, datetime]
) -> dict[str, dict[str, Any]]:
    """Read what the gradebook has, by student. It reads rows, not objects: a large class has tens of thousands.

    Args:
        labels: The labels of the lab's cells.
        due: When the lab is due.
        extended: When extensions in term.toml end, by student; the next grading writes them to the gradebook.
    """
    columns = (SubmittedAssignment.id, SubmittedAssignment.student_id, SubmittedAssignment.timestamp)
    submissions = select(*columns, SubmittedAssignment.extension).join(SubmittedAssignment.assignment)
    of_lab = submissions.where(Assignment.name == lab).subquery()
    rows: dict[str, dict[str, Any]] = {}
    for student, submitted, extension in gradebook.db.execute(
        select(of_lab.c.student_id, of_lab.c.timestamp, of_lab.c.extension)
    ):
        until = extended.get(student) or (due + extension if due and extension else None)
        late = max((submitted - max(due, until or due)).total_seconds(), 0.0) if submitted and due else 0.0
        rows[student] = {"marks": {}, "submitted": submitted, "until": until, "late": late}
    notebooks = select(of_lab.c.student_id).join(SubmittedNotebook, SubmittedNotebook.assignment_id == of_lab.c.id)
    penalties = notebooks.add_columns(func.sum(SubmittedNotebook.late_submission_penalty)).group_by(of_lab.c.student_id)
    for student, penalty in gradebook.db.execute(penalties):
        rows[student]["penalty"] = round(penalty or 0.0, 4)
    graded = notebooks.join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
    grades = graded.join(Grade, Grade.notebook_id == SubmittedNotebook.id).join(BaseCell, BaseCell.id == Grade.cell_id)
    scores = (
        Notebook.name,
        BaseCell.name,
        Grade.auto_score,
        Grade.manual_score,
        Grade.extra_credit,
        Grade.needs_manual_grade,
    )
    for student, notebook, cell, auto, manual, extra, waits in gradebook.db.execute(grades.add_columns(*scores)):
        points = manual if manual is not None else auto
        total = None if points is None else round(points + (extra or 0), 4)
        rows[student]["marks"][labels.label(cell, notebook)] = Mark(total, bool(waits))
    return rows


def _find_unwritten_excuses(
    gradebook: Gradebook, course: Path, lab: str, term: Term, histories: Mapping[str, Sequence[HistoryEntry]]
) -> set[str]:
    """Return students whose points in the gradebook don't reflect the excuses that term.toml has now.

    Args:
        histories: The history of everyone with a mark. If the last mark has the same excuses, no file is read.
    """
    excused = {student: term.get_excuses(lab, student) for student in histories}
    changed = {
        student: names
        for student, names in excused.items()
        if not (histories[student][-1].has_excuses(names) if histories[student] else not names)
    }
    recorded = read_recorded(gradebook, lab) if changed else {}
    unwritten = set()
    for student, names in changed.items():
        result = load_result(course, lab, student)
        if result and not recorded[student].has_points_of(result, names):
            unwritten.add(student)
    return unwritten


def _read_students(gradebook: Gradebook) -> dict[str, str]:
    """Read the students' names in the gradebook."""
    rows = gradebook.db.execute(select(Student.id, Student.first_name, Student.last_name))
    return {student: " ".join(part for part in (first, last) if part) for student, first, last in rows}


def _read_documents(course: Path, lab: str, student: str, whole: bool, checks: bool) -> dict[str, Any]:
    """Read what files say about a graded submission."""
    fields: dict[str, Any] = {"page": find_page(course, lab, student)}
    if whole:
        fields["written"] = _collect_written(_read_cells(get_autograded_path(course, lab, student)))
    if not (whole and checks):
        return fields | read_trouble(course, lab, student)
    document = load_result(course, lab, student)
    if document is None:
        return fields
    labels = make_labels(document)
    return fields | {
        "notes": document.notes,
        "remarks": document.remarks,
        "notebooks": len(document.notebooks),
        "damaged": document.empty,
        "stopped": document.stopped,
        "changed": document.changed,
        "made_of": document.made_of,
        "checks": {labels.label_id(cell.id): cell.checks for cell in document.cells},
        "own_process": tuple(labels.label_id(cell.id) for cell in document.cells if cell.own_process),
    }


def _collect_written(cells: list[Any]) -> dict[str, str]:
    """Return what students wrote, by exercise or question, unless it's unchanged.

    That's the exercise's cell with the code cells added after it.
    """
    texts: dict[str, list[str]] = {}
    stubs = {}
    current = ""
    for cell in cells:
        kind = read_kind(cell)
        if kind is not None:
            current = str(cell.metadata[KEY]["exercise"]) if kind.traits.written else ""
        if current and kind is not None:
            stubs[current] = read_stub(cell)
        if current and (kind is not None or cell.cell_type == "code"):
            texts.setdefault(current, []).append(cell.source)
    joined = {name: "\n\n".join(parts) for name, parts in texts.items()}
    return {name: text for name, text in joined.items() if text.strip() != stubs[name].strip()}


def _read_cells(path: Path) -> list[Any]:
    """Read the cells of a notebook that Gradlab wrote, without validating it; empty if there is no such file."""
    try:
        cells = from_json(path.read_bytes())["cells"]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError) as error:
        raise GradlabError(f"{path} isn't a notebook: grade this submission again\n    {error}") from None
    return [SimpleNamespace(**{**cell, "source": _join_source(cell["source"])}) for cell in cells]


def _join_source(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
