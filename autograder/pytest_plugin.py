"""Proves exercises under pytest: `pytest labs/NAME -k EXERCISE` has a test for each answer.

Every run of pytest imports this file, so it imports nothing of the grader until it finds an exercise.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.base.errors import GradlabError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from autograder.model.answer import Answer
    from autograder.model.course import Lab
    from autograder.proving.workbench import Workbench

OTHER_PROOFS = "checks: reference, empty, generated and lying answers"

_open: dict[
    Path, tuple[Workbench, Iterator[Workbench]]
] = {}  # in the prover, by lab: the current workbench, and the next ones


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProvedExercise | None:
    lab = file_path.parent.parent
    if file_path.suffix == ".py" and file_path.parent.name == "exercises" and lab.parent.name == "labs":
        if (lab / "lab.py").is_file() and (lab.parent / "course.toml").is_file():
            return ProvedExercise.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests in the order of the lab, which can only continue to later exercises, and restarts for earlier ones."""
    if any(isinstance(item, AnswerTest) for item in items):
        items.sort(key=lambda item: item.place if isinstance(item, AnswerTest) else ())


class ProvedExercise(pytest.File):
    """A file from which a lab takes an exercise."""

    def collect(self) -> Iterator[AnswerTest]:
        try:
            lab = _read_lab(self.path.parent.parent)
        except GradlabError as error:
            raise self.CollectError(str(error)) from None
        for number, exercise in enumerate(lab.exercises):
            cell = lab.cell(exercise.cell_id)
            for place, answer in enumerate((None, *exercise.answers) if cell.path == self.path else ()):
                name = f"{answer.kind}: {answer.label}" if answer else OTHER_PROOFS
                test = AnswerTest.from_parent(self, name=name)
                test.lab, test.answer, test.line = lab, answer, answer.line if answer else cell.line
                test.place = (str(lab.path), number, place)
                yield test


class AnswerTest(pytest.Item):
    """The test of one answer; without an answer, of everything else that an exercise must show."""

    lab: Lab
    answer: Answer | None
    line: int
    place: tuple[str, int, int]
    """The lab, the number of the exercise in it, and the number of this test."""

    def runtest(self) -> None:
        problems = _start_prover(self.config).submit(_prove, self.lab, self.place[1], self.answer).result()
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, f"{self.path.stem}: {self.name}"


@cache
def _read_lab(folder: Path) -> Lab:
    from autograder.authoring.course_folder import read_course, read_labs

    return next(read_labs(read_course(folder.parent.parent), (folder.name,)))


@cache
def _start_prover(config: pytest.Config) -> ProcessPoolExecutor:
    """Start a separate process: a lab's given cells change torch's state, which other tests must not see."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from autograder.sandbox.privileges import set_death_signal

    prover = ProcessPoolExecutor(1, get_context("spawn"), initializer=set_death_signal, initargs=(os.getpid(),))
    config.add_cleanup(prover.shutdown)
    return prover


def _prove(lab: Lab, number: int, answer: Answer | None) -> list[str]:
    """Return the problems of this answer, or of everything else."""
    from autograder.proving import judge
    from autograder.proving.exercise_proof import try_generated_answers

    try:
        workbench = _find_workbench(lab, lab.exercises[number].name)
    except GradlabError as error:
        return [str(error)]
    exercise = workbench.exercise
    if answer is None:
        if problems := [*judge.judge_reference(lab, exercise, workbench.try_source(lab.cell(exercise.cell_id).source))]:
            return problems
        answers = [answer for answer in exercise.answers if not answer.liar]
        results, blank = [workbench.try_source(answer.source) for answer in answers], workbench.try_blank()
        written = {a.label: result for a, result in zip(answers, results, strict=True) if not a.right}
        return [
            *judge.judge_blank(lab, exercise, blank.points, blank),
            *try_generated_answers(lab, workbench, written).problems,
            *(p for label, t in workbench.try_lies().items() for p in judge.judge_lie(lab, exercise, label, t)),
            *judge.judge_coverage(lab, exercise, answers, results, workbench.find_constant_parameters()),
        ]
    if answer.liar:
        result, expected = workbench.try_liar(answer.source), "earn next to nothing"
        problems = [result.failure] if result.failure else [*judge.judge_liars(lab, {exercise.name: result.points})]
    else:
        result = workbench.try_source(answer.source)
        expected = "earn all" if answer.right else f"fail exactly {', '.join(answer.fails)}"
        problems = [*judge.judge_answer(answer, exercise, result)]
    earned = f"it earned {result.points:g} of {exercise.points:g} points, and should {expected}"
    return [f"{answer.path}:{answer.line}: {answer.label}: {earned}", *problems] if problems else []


def _find_workbench(lab: Lab, exercise: str) -> Workbench:
    import torch

    from autograder.base.fork_memory import make_forks_cheap
    from autograder.proving.workbench import iter_workbenches

    workbench, later = _open.pop(lab.path, (None, iter(())))
    if workbench is None or workbench.exercise.name != exercise:
        _open.clear()
        torch.set_num_threads(1)
        make_forks_cheap()
        later = itertools.chain(later, iter_workbenches(lab))
        workbench = next(candidate for candidate in later if candidate.exercise.name == exercise)
    _open[lab.path] = workbench, later
    return workbench
