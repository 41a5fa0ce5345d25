"""Checks the rules for the cells of a lab. Each error names the file, the line and the fix."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence

from markdown_it import MarkdownIt

from autograder.authoring.answer_uses import refuse_bare_uses
from autograder.authoring.bound_names import CellNames, find_names, refuse_undefined, refuse_unseeded
from autograder.authoring.check_messages import refuse_revealing_messages
from autograder.authoring.checks import is_check, refuse_excess_observed
from autograder.authoring.explanations import is_question
from autograder.authoring.regions import HIDDEN, SOLUTION, Region, find_regions, stub_solutions
from autograder.authoring.syntax_trees import parse_source
from autograder.authoring.task_headings import FURTHER_TASK, TASK
from autograder.authoring.trusting_checks import find_given_probes, refuse_trusting_checks
from autograder.base.errors import SourceError
from autograder.model.course import Cell, CellKind, Exercise, StepKind
from labkit.hint import FOLD

MARKDOWN = MarkdownIt("commonmark")
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.DOTALL)


def refuse_bad_cell(cell: Cell) -> None:
    """Raise SourceError if a cell breaks a rule that doesn't depend on other cells."""
    regions = find_regions(cell)
    for region in regions:
        line = cell.get_line(region.begin + 1)
        if region.kind == SOLUTION and not _is_indented_like_its_code(cell.source, region):
            problem = "this marker is not indented like the code below it"
            fix = "indent '### BEGIN SOLUTION' like the solution, since the stub replaces it"
            raise SourceError(cell.path, line, problem, fix)
        if region.kind == SOLUTION and not cell.kind.traits.student_writes:
            problem = f"a region of {SOLUTION} outside an exercise or a question"
            raise SourceError(cell.path, line, problem, "move it into one")
        if region.kind == HIDDEN and cell.kind is not CellKind.CHECK:
            problem, fix = f"a region of {HIDDEN}", "write hidden checks below '# %% hidden checks'"
            raise SourceError(cell.path, line, problem, fix)
    if cell.kind.traits.markdown:
        _refuse_lost_operators(cell)
    if cell.kind.traits.student_writes and not regions:
        raise SourceError(
            cell.path,
            cell.line,
            f"{cell.kind} {cell.name!r} has no solution",
            "put it between ### BEGIN and END SOLUTION",
        )


def _refuse_lost_operators(cell: Cell) -> None:
    """Refuse code in a text, such as 2**60 or __init__, whose stars and underscores Markdown reads as emphasis."""
    text = FORMULA.sub(lambda formula: re.sub(r"[^\n]", "m", formula[0]), cell.source)
    for token in MARKDOWN.parse(text):
        before = ""
        for child in token.children or ():
            if child.type in ("strong_open", "em_open") and (child.markup == "__" or before[-1:].isalnum()):
                problem = f"Markdown reads '{child.markup}' in this paragraph as emphasis, and doesn't show it"
                raise SourceError(
                    cell.path, cell.get_line((token.map or [0])[0] + 1), problem, "put the code between backticks"
                )
            before = child.content if child.type == "text" else ""


def refuse_bad_lab(cells: Sequence[Cell], exercises: Sequence[Exercise]) -> None:
    """Raise SourceError if the cells of a lab break a rule together."""
    code = [cell for cell in cells if not cell.kind.traits.markdown]
    _refuse_open_questions(cells)
    for cell in code:
        refuse_unparsable(cell)
    refuse_undefined(code)
    refuse_bare_uses(code)
    names = {cell.id: find_names(cell.source) for cell in code}
    _refuse_undefined_for_students(code, names)
    _refuse_reading_examples(code, names)
    _refuse_shared_names(code, names)
    for cell in code:
        if cell.kind.traits.step in (StepKind.GIVEN, StepKind.CHECK):
            refuse_unseeded(cell)
        if cell.kind is CellKind.CHECK:
            _refuse_use_outside_checks(cell, {exercise.name for exercise in exercises})
    refuse_excess_observed(exercises, sum(cell.points for cell in cells), cells)
    refuse_trusting_checks(cells, exercises)
    refuse_revealing_messages(code, {*find_given_probes(cells), *(exercise.name for exercise in exercises)})


def _refuse_open_questions(cells: Sequence[Cell]) -> None:
    """Refuse prose that ends with a question which neither an answer nor the next cell answers."""
    for cell, after in itertools.zip_longest(cells, cells[1:]):
        if cell.kind is not CellKind.PROSE or not is_question(cell.source):
            continue
        if after is None or (after.kind is CellKind.PROSE and not after.source.startswith((FOLD, TASK, FURTHER_TASK))):
            line = cell.get_line(cell.source.count("\n") + 1)
            raise SourceError(
                cell.path, line, "no cell answers this question", "write '# %% answer [markdown]' below it"
            )


def refuse_unparsable(cell: Cell, source: str = "", description: str = "this cell") -> None:
    """Raise SourceError if this isn't valid Python.

    Args:
        source: Source to check instead of the cell's own.
    """
    try:
        parse_source(source or cell.source)
    except (SyntaxError, ValueError) as error:
        line = cell.get_line(getattr(error, "lineno", None) or 1)
        problem = f"{description} is not valid Python on its own: {error.args[0]}"
        raise SourceError(cell.path, line, problem, "write only whole statements in a cell") from None


def _is_indented_like_its_code(source: str, region: Region) -> bool:
    lines = source.split("\n")
    inside = [line for line in lines[region.begin + 1 : region.end] if line.strip()]
    return not inside or _measure_indent(inside[0]) == _measure_indent(lines[region.begin])


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _refuse_undefined_for_students(code: Sequence[Cell], names: dict[str, CellNames]) -> None:
    """Refuse cells that read a name defined only in a solution: a student's notebook has stubs instead."""
    for cell in code:
        if cell.kind is not CellKind.EXERCISE:
            continue
        stub = stub_solutions(cell)
        refuse_unparsable(cell, stub, "without its solution, this cell")
        only_in_solution = names[cell.id].binds - find_names(stub).binds
        for other in code:
            elsewhere = {name for c in code if c is not cell for name in names[c.id].binds}
            if other is not cell and (missing := (only_in_solution & names[other.id].reads) - elsewhere):
                raise SourceError(
                    other.path,
                    other.line,
                    f"this cell needs {min(missing)!r}, which only the solution of {cell.name} defines",
                    "define it outside the solution, where the student's notebook keeps it",
                )


def _refuse_reading_examples(code: Sequence[Cell], names: dict[str, CellNames]) -> None:
    """Refuse an exercise, check or given cell that reads a name bound by an example, unless another cell rebinds it."""
    others = {name for cell in code if cell.kind is not CellKind.EXAMPLE for name in names[cell.id].binds}
    examples = [cell for cell in code if cell.kind is CellKind.EXAMPLE]
    # The example that bound each name last. A function may read a name that is bound below it.
    binders = {name: cell for cell in examples for name in names[cell.id].binds - others}
    for cell in code:
        reads = names[cell.id].reads
        if cell.kind not in (CellKind.EXAMPLE, CellKind.SCRATCH) and (shared := reads & binders.keys()):
            name = min(shared)
            raise SourceError(
                cell.path,
                cell.line,
                f"this cell reads {name!r}, which the example at {binders[name].path.name}:{binders[name].line} binds",
                "make that a given cell: '# %% given'",
            )
        for name in names[cell.id].binds:
            if cell.kind is CellKind.EXAMPLE:
                binders[name] = cell
            elif name in binders:
                del binders[name]


def _refuse_use_outside_checks(cell: Cell, exercises: set[str]) -> None:
    for statement in parse_source(cell.source).body:
        for node in ast.walk(statement) if not is_check(statement) else ():
            if isinstance(node, ast.Name) and node.id in exercises:
                raise SourceError(
                    cell.path,
                    cell.get_line(node.lineno),
                    f"{node.id!r} is used outside a check, so the cell stops there if it fails",
                    "move this line into the `with check(...)` that needs it",
                )


def _refuse_shared_names(code: Sequence[Cell], names: dict[str, CellNames]) -> None:
    for check in code:
        if check.kind is not CellKind.CHECK:
            continue
        for other in code:
            shared = names[check.id].binds & names[other.id].reads if other is not check else frozenset()
            if shared:
                raise SourceError(
                    check.path,
                    check.line,
                    f"this check cell sets {min(shared)!r}, which the cell at {other.path.name}:{other.line} reads",
                    "use another name in the check cell: a check must not affect other cells",
                )
