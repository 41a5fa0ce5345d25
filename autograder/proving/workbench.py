"""Tries answers on a lab: runs the lab once, and tries each answer in forks at its exercise."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograder.authoring.regions import stub_solutions
from autograder.authoring.trusting_checks import is_probe
from autograder.base.errors import SourceError
from autograder.examiner.course_cells import run_checks, run_given
from autograder.examiner.execution import create_namespace
from autograder.examiner.process import StudentProcess
from autograder.model.course import Cell, CellKind, Exercise, Lab, StepKind
from autograder.proving.answer_result import AnswerResult
from autograder.proving.answer_run import AnswerRun, open_check_connection, run_through_examiner
from autograder.proving.check_source import has_probe_call, select_checks
from autograder.proving.declared_domains import find_ineffective_edges, read_domains
from autograder.proving.edge_spoilers import WRONG_AT
from autograder.proving.edge_trials import DomainEdge
from autograder.proving.forks import ForkError, run_in_fork
from autograder.proving.liars import IN_ITS_PLACE, get_lies
from autograder.proving.near_misses import get_near_misses
from autograder.proving.replacements import RECORDED
from autograder.proving.side_effects import get_side_effects
from autograder.proving.spoiled_results import HARD_CODED, get_spoilers
from autograder.proving.unsandboxed_process import CellError, run_cell_in, start_process
from autograder.rpc.random_states import seed_all
from autograder.student_process.imports import find_import_groups
from labkit.domain import Domain
from labkit.outcome import build_outcome, compute_earned

RUNS = (StepKind.GIVEN, StepKind.EXAMPLE, StepKind.STUDENT)  # the steps that a student's notebook runs besides checks


class Workbench:
    """Tries answers to one exercise, in forks of a lab that has run up to it.

    Args:
        namespace: The examiner's.
        process: The student process.
    """

    def __init__(self, lab: Lab, exercise: Exercise, namespace: dict[str, Any], process: StudentProcess) -> None:
        self.lab, self.exercise, self.namespace, self.process = lab, exercise, namespace, process
        self.defined = _list_exercises(lab, [c.id for c in lab.cells].index(exercise.cell_id) + 1)
        self.check_cell = lab.cell(exercise.check_id)

    def try_source(self, source: str) -> AnswerResult:
        """Try an answer, given as the source of the exercise's cell."""
        return self._run(source)

    def try_blank(self) -> AnswerResult:
        return self._run(self._blank)

    def try_generated(self) -> dict[str, AnswerResult]:
        """Try the wrong answers that gradlab makes from the reference. Returns the results by description."""
        results = self._try_spoilers(get_spoilers())
        if self.exercise.parameters:
            hard_coded = self._run(self._reference, (HARD_CODED, self._count_visible_calls()))
            results |= {HARD_CODED: hard_coded} if hard_coded.has_effect or hard_coded.failure else {}
        return results

    def try_edges(self) -> dict[str, AnswerResult]:
        """Try answers that are wrong at one edge each, except where a class can't be. Returns the results by edge."""
        results: dict[str, AnswerResult] = {}
        for number, domain in enumerate(self._domains, 1):
            is_class = isinstance(domain.reference.function, type)
            for name in domain.edges:
                if is_class and all(case.report.error for case in domain.list_cases(name)):
                    continue
                edge = DomainEdge(domain.draw_arguments.__name__, name)
                result = self._run(self._reference, (WRONG_AT,), edge=edge)
                if not is_class or result.has_effect or result.failure:
                    results[f"{name} (domain {number})" if name in results else name] = result
        return results

    def find_ineffective_edges(self) -> list[str]:
        """Return the edges of the domain without an effect."""
        return [edge for domain in self._domains for edge in find_ineffective_edges(domain)]

    @functools.cached_property
    def _domains(self) -> list[Domain]:
        return read_domains(self.exercise.name, self.check_cell.source, self.namespace)

    def try_side_effects(self) -> dict[str, AnswerResult]:
        """Try answers with a side effect. Returns the results by description."""
        return self._try_spoilers(get_side_effects())

    def try_near_misses(self) -> dict[str, AnswerResult]:
        """Try the near misses. Returns, by description, the results of those that differed from the reference."""
        return self._try_spoilers(get_near_misses())

    def _try_spoilers(self, labels: Iterable[str]) -> dict[str, AnswerResult]:
        results = {label: self._run(self._reference, (label,)) for label in labels}
        return {label: result for label, result in results.items() if result.has_effect or result.failure}

    def try_liar(self, source: str) -> AnswerResult:
        """Try a lying answer: its source runs instead of the exercise, and again after the given probes."""
        return self._run(source, last=source)

    def try_lies(self) -> dict[str, AnswerResult]:
        """Try the liars that gradlab makes. Returns the results by description; none if the checks use no probe."""
        probes, functions = self._find_given_functions()
        results = {}
        if has_probe_call(self.check_cell.source, probes):
            for label, solved in get_lies().items():
                results[label] = self._run(self._reference if solved else self._blank, lie=(label, probes))
        parameters = _get_required_count(ast.parse(self._reference), self.exercise.name)
        for name, count in functions.items():
            if count == parameters:
                results[f"{name} in the exercise's place"] = self._run(self._blank, lie=(IN_ITS_PLACE, name))
        return {label: result for label, result in results.items() if result.has_effect}

    def _find_given_functions(self) -> tuple[list[str], dict[str, int]]:
        """Return the given probes, and the number of required arguments of each other given function."""
        probes: list[str] = []
        functions: dict[str, int] = {}
        ids = [c.id for c in self.lab.cells]
        for cell in self.lab.cells[: ids.index(self.exercise.check_id)]:
            for node in ast.parse(cell.source).body if cell.kind.traits.step is StepKind.GIVEN else ():
                if isinstance(node, ast.FunctionDef):
                    probes += [node.name] if is_probe(node) else []
                    functions |= {} if is_probe(node) else {node.name: _count_required(node)}
        return probes, functions

    def find_constant_parameters(self) -> list[str]:
        """Return parameters with the same value in every call of the hidden checks. Objects compare by content."""
        if not any(c.hidden for c in self.exercise.checks):
            return []
        constant: list[str] = self._record_calls(hidden=True, note="constant")
        return constant

    def _count_visible_calls(self) -> int:
        calls: int = self._record_calls(hidden=False, note="calls")
        return calls

    def _record_calls(self, hidden: bool, note: str) -> Any:
        checks = select_checks(self.check_cell, hidden)
        replacement = (RECORDED, list(self.exercise.parameters))
        run = AnswerRun(self.exercise.name, self._reference, checks, replacement, note)
        return run_through_examiner(run, self.process, self.namespace, self.defined)["note"]

    def _run(
        self,
        source: str,
        replace: tuple[Any, ...] = (),
        lie: tuple[Any, ...] = (),
        last: str = "",
        edge: DomainEdge | None = None,
    ) -> AnswerResult:
        _ = self._domains  # drawn here, or each fork would draw the inputs again, which takes most of its time
        note = "has_effect" if replace or lie else ""
        run = AnswerRun(self.exercise.name, source, self.check_cell.source, replace, note, edge, last, lie)
        try:
            report = run_through_examiner(run, self.process, self.namespace, self.defined)
        except ForkError as failure:
            return AnswerResult(failure=str(failure))
        outcomes = tuple(build_outcome(o) for o in report["outcomes"])
        points = compute_earned(outcomes, self.exercise.points)
        return AnswerResult(outcomes, points, has_effect=report["note"] is not False)

    @property
    def _reference(self) -> str:
        return self.lab.cell(self.exercise.cell_id).source

    @property
    def _blank(self) -> str:
        return stub_solutions(self.lab.cell(self.exercise.cell_id))


def iter_workbenches(lab: Lab) -> Iterator[Workbench]:
    """Yield a Workbench for each exercise in turn, valid until the next one is requested.

    The lab's cells run with the reference solutions: given ones in this process, and all in a student process.
    """
    seed_all()
    namespace = create_namespace()
    process = start_process(find_import_groups(cell.source.encode() for cell in lab.cells))
    by_cell = {e.cell_id: e for e in lab.exercises}
    for number, cell in enumerate(lab.cells):
        if cell.id in by_cell:
            yield Workbench(lab, by_cell[cell.id], namespace, process)
        if cell.kind.traits.step in RUNS:
            try:
                run_cell_in(process, cell.source)
                _run_given(cell, namespace, _list_exercises(lab, number), process)
            except Exception as error:
                text = str(error) if isinstance(error, ForkError) else f"{type(error).__name__}: {error}"
                problem = f"with the reference solutions, this cell raises {text}"
                raise SourceError(cell.path, cell.line, problem, "correct this cell") from error


def compute_notebook_points(lab: Lab, solutions: Mapping[str, str]) -> dict[str, float]:
    """Return the points by exercise of a whole notebook in which some exercises are written and others empty.

    Given cells may fail, for instance one that shows the result of an empty exercise.

    Args:
        solutions: The source of each written exercise, by name.
    """

    def work() -> dict[str, float]:
        """Run all cells and return the points by exercise. This changes global state, so it runs in a child process."""
        seed_all()
        namespace, process, points = create_namespace(), start_process(), {}
        for number, cell in enumerate(lab.cells):
            defined = _list_exercises(lab, number)
            if cell.kind is CellKind.CHECK:
                with open_check_connection(process, cell.id) as connection:
                    outcomes = run_checks(cell.source, f"<{cell.id}>", namespace, defined, connection)
                points[cell.name] = compute_earned(outcomes, lab.exercise(cell.name).points)
            elif cell.kind.traits.step in RUNS:
                with contextlib.suppress(CellError):
                    run_cell_in(process, solutions.get(cell.name, stub_solutions(cell)))
                with contextlib.suppress(Exception):
                    _run_given(cell, namespace, defined, process)
        process.kill()
        return points

    points: dict[str, float] = run_in_fork(work)
    return points


def _run_given(cell: Cell, namespace: dict[str, Any], defined: list[str], process: StudentProcess) -> None:
    if cell.kind.traits.step is StepKind.GIVEN:
        with open_check_connection(process, cell.id) as connection:
            run_given(cell.source, f"<{cell.id}>", namespace, defined, connection)


def _list_exercises(lab: Lab, end: int) -> list[str]:
    """Return the exercises of the first `end` cells."""
    ids = {c.id for c in lab.cells[:end]}
    return [e.name for e in lab.exercises if e.cell_id in ids]


def _get_required_count(tree: ast.Module, name: str) -> int | None:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return _count_required(functions[0]) if functions else None


def _count_required(function: ast.FunctionDef) -> int:
    """Count the positional arguments without a default."""
    return len(function.args.posonlyargs) + len(function.args.args) - len(function.args.defaults)
