"""Reads a lab's annotated source into the model, and refuses what would make a bad notebook."""

from __future__ import annotations

import ast
import re
import unicodedata
from pathlib import Path

from autograder.build.cells import RawCell, read_cells
from autograder.build.checks import is_check, read_checks, refuse_much_observed
from autograder.build.hints import line_of_lost_hint, read_hints
from autograder.build.names import Names, names_of, refuse_undefined, refuse_unseeded
from autograder.build.regions import HIDDEN, SOLUTION, Region, find_regions, stubbed
from autograder.build.trust import refuse_trust
from autograder.course import Cell, Exercise, Kind, Lab, LabEntry
from autograder.errors import SourceError
from autograder.metadata import NAMED, cell_name
from labkit.hint import folded

NAME = re.compile(r"[A-Za-z_]\w{0,59}$")
OPTIONS = {Kind.CHECK: {"points"}, Kind.QUESTION: {"points"}}
CODE = (Kind.GIVEN, Kind.SCRATCH, Kind.EXERCISE, Kind.CHECK)
HEADERS = (
    "'# %% [markdown]', '# %% given', '# %% scratch', '# %% exercise: NAME', '# %% check: NAME points=N' "
    "or '# %% question: NAME [markdown] points=N'"
)


def read_lab(path: Path, entry: LabEntry) -> Lab:
    """The lab at `path` (its lab.py), checked against every rule of the format. Raises SourceError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(path, 1, f"cannot read this file: {error}", "write it as UTF-8 text") from None
    return read_lab_text(text, path, entry)


def read_lab_text(text: str, path: Path, entry: LabEntry) -> Lab:
    raw_cells = read_cells(text, path)
    cells: list[Cell] = []
    regions: dict[str, list[Region]] = {}
    first_lines: dict[str, int] = {}
    for raw in raw_cells:
        cell = _cell(raw, path, cells)
        cells.append(cell)
        regions[cell.id] = find_regions(cell.source, path, raw.first_line)
        first_lines[cell.id] = raw.first_line
        _refuse_misplaced(cell, regions[cell.id], path, raw.first_line)
    refuse_undefined(text, path)
    for cell in cells:
        if cell.kind in CODE:
            _refuse_unparsable(cell.source, path, first_lines[cell.id], "this cell")
    _refuse_undefined_for_students(cells, regions, path)
    exercises = _exercises(cells, regions, first_lines, path)
    _refuse_shared_names(cells, exercises, path)
    refuse_much_observed(exercises, sum(c.points for c in cells), path, {c.id: c.line for c in cells})
    refuse_trust(cells, exercises, path, first_lines)
    return Lab(
        name=entry.name,
        title=entry.title,
        minutes=entry.minutes,
        path=path.parent,
        cells=tuple(cells),
        exercises=tuple(exercises),
    )


def _cell(raw: RawCell, path: Path, before: list[Cell]) -> Cell:
    kind, name = _kind(raw, path)
    if kind is Kind.GIVEN and (hints := read_hints(raw.source)):
        # As code, the hints could be read before they are wanted, and would need a run.
        return Cell(kind=Kind.PROSE, id=_next_id(raw, before), source=folded(hints), line=raw.line)
    if line := line_of_lost_hint(raw.source) if kind is not Kind.PROSE else 0:
        raise SourceError(path, raw.line + line, "this hint would not be folded", "give it a given cell of its own")
    for option in raw.options:
        if option not in OPTIONS.get(kind, set()):
            raise SourceError(path, raw.line, f"a {kind} cell has no option {option!r}", f"write one of {HEADERS}")
    points = _points(raw, path) if "points" in OPTIONS.get(kind, set()) else 0.0
    if kind in NAMED:
        cell_id = cell_name(kind, name)
        if earlier := next((c for c in before if c.id == cell_id), None):
            raise SourceError(
                path, raw.line, f"{kind} {name!r} stands already at line {earlier.line}", "give each its own name"
            )
    else:
        cell_id = _next_id(raw, before)
    return Cell(kind=kind, id=cell_id, source=raw.source, line=raw.line, name=name, points=points)


def _kind(raw: RawCell, path: Path) -> tuple[Kind, str]:
    if not raw.words and raw.markdown and not raw.label:
        return Kind.PROSE, ""
    word = raw.words[0] if raw.words else ""
    kind = word.removesuffix(":")
    known = kind in {k.value for k in Kind} - {Kind.PROSE.value}
    named = Kind(kind) in NAMED if known else False
    if not known or raw.label or named != word.endswith(":") or len(raw.words) != 1 + named:
        raise SourceError(path, raw.line, "this header says no kind of cell", f"write one of {HEADERS}")
    if raw.markdown != (kind == Kind.QUESTION):
        raise SourceError(path, raw.line, f"wrong type of cell for a {kind}", f"write one of {HEADERS}")
    name = raw.words[1] if named else ""
    if named and not NAME.match(name):
        raise SourceError(path, raw.line, f"{name!r} cannot be a name", "use a Python name of at most 60 letters")
    return Kind(kind), name


def _points(raw: RawCell, path: Path) -> float:
    if "points" not in raw.options:
        raise SourceError(path, raw.line, "this cell has no points", "add points=3 to its header")
    try:
        points = float(raw.options["points"])
    except ValueError:
        points = 0.0
    if not 0 < points <= 1000:
        raise SourceError(path, raw.line, "points must be a number above 0", "write points=3")
    return points


def _next_id(raw: RawCell, before: list[Cell]) -> str:
    """The section's title and a number: it stays the same while the cells of other sections change."""
    heading = _slug(raw.source) if raw.markdown else ""
    section = heading or next((c.id.rsplit("-", 1)[0] for c in reversed(before) if c.kind not in NAMED), "start")
    number = 1
    taken = {c.id for c in before}
    while f"{section}-{number}" in taken:
        number += 1
    return f"{section}-{number}"


def _slug(markdown: str) -> str:
    first = markdown.lstrip().split("\n", 1)[0]
    if not first.startswith("#"):
        return ""
    plain = unicodedata.normalize("NFKD", first).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40].rstrip("-")


def _refuse_misplaced(cell: Cell, regions: list[Region], path: Path, first_line: int) -> None:
    allowed = {Kind.EXERCISE: SOLUTION, Kind.QUESTION: SOLUTION, Kind.CHECK: HIDDEN}.get(cell.kind)
    for region in regions:
        if region.what == SOLUTION and not _is_indented_like_its_code(cell.source, region):
            raise SourceError(
                path,
                first_line + region.begin,
                "this marker is not indented like the code below it",
                "indent '### BEGIN SOLUTION' like the solution: the stub takes its place",
            )
        if region.what != allowed:
            home = "a check cell" if region.what == HIDDEN else "an exercise or a question"
            raise SourceError(
                path, first_line + region.begin, f"a region of {region.what} outside {home}", f"move it into {home}"
            )
    if cell.kind in (Kind.EXERCISE, Kind.QUESTION) and not regions:
        raise SourceError(
            path, cell.line, f"{cell.kind} {cell.name!r} has no solution", "put it between ### BEGIN and END SOLUTION"
        )


def _is_indented_like_its_code(source: str, region: Region) -> bool:
    lines = source.split("\n")
    inside = [line for line in lines[region.begin + 1 : region.end] if line.strip()]
    return not inside or _indent(inside[0]) == _indent(lines[region.begin])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _refuse_undefined_for_students(cells: list[Cell], regions: dict[str, list[Region]], path: Path) -> None:
    """A student's notebook has stubs for solutions: what only a solution defines must not be needed elsewhere."""
    names = {c.id: names_of(c.source, path) for c in cells if c.kind in CODE}
    for cell in cells:
        if cell.kind is not Kind.EXERCISE:
            continue
        stub = stubbed(cell.source, regions[cell.id])
        _refuse_unparsable(stub, path, cell.line, "with its solution cut out, this cell")
        lost = names[cell.id].binds - names_of(stub, path).binds
        for other, used in names.items():
            elsewhere = {n for c, found in names.items() if c != cell.id for n in found.binds}
            if other != cell.id and (missing := (lost & used.reads) - elsewhere):
                raise SourceError(
                    path,
                    next(c.line for c in cells if c.id == other),
                    f"this cell needs {min(missing)!r}, which only the solution at line {cell.line} defines",
                    "define it outside the solution, where the student's notebook keeps it",
                )


def _refuse_unparsable(source: str, path: Path, first_line: int, what: str) -> None:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = first_line + (getattr(error, "lineno", None) or 1) - 1
        raise SourceError(
            path, line, f"{what} is not valid Python by itself: {error.args[0]}", "a cell holds whole statements"
        ) from None


def _exercises(
    cells: list[Cell], regions: dict[str, list[Region]], first_lines: dict[str, int], path: Path
) -> list[Exercise]:
    written = {c.name: c for c in cells if c.kind is Kind.EXERCISE}
    exercises: list[Exercise] = []
    for cell in cells:
        if cell.kind in (Kind.GIVEN, Kind.CHECK):
            tree = ast.parse(cell.source)
            refuse_unseeded(tree, path, first_lines[cell.id])
        if cell.kind is not Kind.CHECK:
            continue
        exercise = written.get(cell.name)
        if exercise is None or exercise.line > cell.line:
            raise SourceError(
                path, cell.line, f"no exercise {cell.name!r} above this check", f"write '# %% exercise: {cell.name}'"
            )
        checks = read_checks(tree, regions[cell.id], path, first_lines[cell.id])
        _refuse_use_outside_checks(tree, set(written), path, first_lines[cell.id])
        exercises.append(
            Exercise(
                name=cell.name,
                cell_id=exercise.id,
                check_id=cell.id,
                points=cell.points,
                checks=checks,
                parameters=_parameters(exercise, path),
            )
        )
    checked = {e.name for e in exercises}
    for name, cell in written.items():
        if name not in checked:
            raise SourceError(
                path, cell.line, f"exercise {name!r} has no check", f"add a cell '# %% check: {name} points=N' below it"
            )
    return exercises


def _parameters(cell: Cell, path: Path) -> tuple[str, ...]:
    for node in ast.parse(cell.source).body:
        if isinstance(node, ast.ClassDef) and node.name == cell.name:
            return ()
        if isinstance(node, ast.FunctionDef) and node.name == cell.name:
            a = node.args
            every = [*a.posonlyargs, *a.args, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]
            return tuple(arg.arg for arg in every)
    raise SourceError(
        path, cell.line, f"the exercise does not define {cell.name!r}", f"write 'def {cell.name}(...)' or a class"
    )


def _refuse_use_outside_checks(tree: ast.Module, exercises: set[str], path: Path, first_line: int) -> None:
    for statement in tree.body:
        if is_check(statement):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in exercises:
                raise SourceError(
                    path,
                    first_line + node.lineno - 1,
                    f"{node.id!r} is used outside a check: if it fails, the cell stops there",
                    "move this line into the `with check(...)` that needs it",
                )


def _refuse_shared_names(cells: list[Cell], exercises: list[Exercise], path: Path) -> None:
    code = [c for c in cells if c.kind in CODE]
    names: dict[str, Names] = {c.id: names_of(c.source, path) for c in code}
    for check in code:
        if check.kind is not Kind.CHECK:
            continue
        for other in code:
            shared = names[check.id].binds & names[other.id].reads if other is not check else frozenset()
            if shared:
                name = min(shared)
                raise SourceError(
                    path,
                    check.line,
                    f"this check cell sets {name!r}, which the cell at line {other.line} reads",
                    "use another name in the check cell: a check must leave no trace",
                )
