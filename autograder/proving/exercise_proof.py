"""Proves one exercise: tries every answer, written and generated, and collects the problems of its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.base.errors import format_problem
from autograder.model.course import Exercise, Lab, Promise
from autograder.proving.answer_result import AnswerResult
from autograder.proving.edge_spoilers import WRONG_AT
from autograder.proving.expected_failures import FailingChecks, can_update
from autograder.proving.judge import (
    judge_answer,
    judge_coverage,
    judge_edge,
    judge_generated,
    judge_ineffective_edges,
    judge_lie,
    judge_promises,
    judge_reference,
)
from autograder.proving.mutants import make_mutants
from autograder.proving.workbench import Workbench


@dataclass
class ExerciseProof:
    """The answers to one exercise that were tried, by number, and every problem found."""

    right: int = 0
    wrong: int = 0
    generated: int = 0
    lies: int = 0
    generated_liar_points: float = 0.0
    """Points of the best generated liar, without observed checks."""
    written_liar_points: float = 0.0
    """Points of the best liar that a person wrote."""
    mutants: int = 0
    survivors: list[str] = field(default_factory=list)
    """Descriptions of mutants with full marks."""
    outdated: dict[str, FailingChecks] = field(default_factory=dict)
    """Problems that update_fails_options() can fix, and the checks that the answer failed."""
    breaches: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By sentence of its docstring, the answers that break only this sentence."""
    blank: AnswerResult | None = None
    """What the empty exercise gets; None if the reference is wrong."""
    problems: list[str] = field(default_factory=list)
    kept: bool = False
    """Whether this is an earlier proof that is still valid."""


def prove_exercise(lab: Lab, workbench: Workbench, mutate: bool = False) -> ExerciseProof:
    """Try the answers of an exercise. If the reference is wrong, no others are tried."""
    exercise, proof = workbench.exercise, ExerciseProof()
    answers = [a for a in exercise.answers if not a.liar]
    reference = workbench.try_source(lab.cell(exercise.cell_id).source)
    if problems := list(judge_reference(lab, exercise, reference)):
        proof.problems += problems
        return proof
    results = [workbench.try_source(a.source) for a in answers]
    for answer, result in zip(answers, results, strict=True):
        problems = list(judge_answer(answer, exercise, result))
        proof.problems += problems
        if (
            not answer.right
            and result.failed_checks
            and set(result.failed_checks) != set(answer.fails)
            and can_update(answer)
        ):
            proof.outdated[problems[0]] = FailingChecks(answer.path, answer.line, result.failed_checks)
    written = {a.label: result for a, result in zip(answers, results, strict=True) if not a.right}
    generated = try_generated_answers(lab, workbench, written)
    proof.problems += generated.problems
    proof.breaches = generated.breaches
    proof.blank = workbench.try_blank()
    _try_lies(lab, exercise, workbench, proof)
    proof.problems += judge_coverage(lab, exercise, answers, results, workbench.find_constant_parameters())
    proof.right = sum(a.right for a in answers)
    proof.wrong = sum(not a.right for a in answers)
    proof.generated = generated.count
    if mutate:
        _try_mutants(lab, exercise, workbench, proof)
    return proof


@dataclass(frozen=True)
class GeneratedProof:
    """What the wrong answers show that gradlab makes from an exercise's reference."""

    count: int
    """How many were tried that have to fail."""
    problems: list[str]
    breaches: dict[str, tuple[str, ...]]
    """The answers that break only this sentence of the docstring, by sentence."""


def try_generated_answers(lab: Lab, workbench: Workbench, written: Mapping[str, AnswerResult]) -> GeneratedProof:
    """Try the reference spoiled in each way, at each edge, and with each side effect.

    Args:
        written: The results of the author's wrong answers, by label. They break promises too.
    """
    exercise, problems = workbench.exercise, list[str]()
    generated, edges = workbench.try_generated(), workbench.try_edges()
    for label, result in generated.items():
        problems += judge_generated(lab, exercise, label, result)
    for edge, result in edges.items():
        problems += judge_edge(lab, exercise, edge, result)
    problems += judge_ineffective_edges(lab, exercise, workbench.find_ineffective_edges())
    breaches = {}
    if exercise.promises:
        at_edges = {f"{WRONG_AT}: {edge}": result for edge, result in edges.items()}
        others = workbench.try_side_effects() | workbench.try_near_misses()
        breaches = find_breaches(exercise.promises, at_edges | others | generated | dict(written))
        problems += judge_promises(lab, exercise, breaches)
    return GeneratedProof(len(generated) + len(edges), problems, breaches)


def find_breaches(promises: Sequence[Promise], tried: Mapping[str, AnswerResult]) -> dict[str, tuple[str, ...]]:
    """Return, by sentence, the answers that fail checks of this promise and no others."""
    return {
        promise.sentence: tuple(
            label
            for label, result in tried.items()
            if result.failed_checks and set(result.failed_checks) <= set(promise.checks)
        )
        for promise in promises
    }


def _try_lies(lab: Lab, exercise: Exercise, workbench: Workbench, proof: ExerciseProof) -> None:
    """Try the liars that gradlab makes and those of the author, and record the most points that each kind earns."""
    lies = workbench.try_lies()
    for label, result in lies.items():
        proof.problems += judge_lie(lab, exercise, label, result)
    proof.lies = len(lies)
    proof.generated_liar_points = max(
        (t.compute_unobserved_points(exercise.points) for t in lies.values()), default=0.0
    )
    liars = [(answer, workbench.try_liar(answer.source)) for answer in exercise.answers if answer.liar]
    for answer, result in liars:
        if result.failure:
            proof.problems.append(
                format_problem(
                    f'{answer.path}:{answer.line}: liar of {exercise.name} "{answer.label}": it can\'t be tried: '
                    f"{result.failure}",
                    "correct the answer",
                )
            )
    proof.written_liar_points = max((result.points for _, result in liars), default=0.0)


def _try_mutants(lab: Lab, exercise: Exercise, workbench: Workbench, proof: ExerciseProof) -> None:
    """Try mutants and near misses. One with full marks is a problem unless the author says why it's equivalent."""
    cell = lab.cell(exercise.cell_id)
    mutants = make_mutants(cell.source)
    near_misses = workbench.try_near_misses()
    proof.mutants = len(mutants) + len(near_misses)
    survivors = [d for d, source in mutants.items() if _has_full_marks(workbench.try_source(source))]
    survivors += [d for d, result in near_misses.items() if _has_full_marks(result)]
    for description in survivors:
        if description in exercise.equivalent:
            proof.survivors.append(description)
        else:
            proof.problems.append(
                format_problem(
                    f"{cell.path}:{cell.line}: a mutant of {exercise.name} gets full marks: {description}",
                    "add a check that it fails, or say below the answers why it's equivalent: "
                    f'# %% equivalent "{description}"',
                )
            )
    for description in exercise.equivalent.keys() - set(survivors):
        proof.problems.append(
            format_problem(
                f"{cell.path}:{cell.line}: {exercise.name} has no surviving mutant {description!r}", "remove its reason"
            )
        )


def _has_full_marks(result: AnswerResult) -> bool:
    return not result.failure and not result.failed_checks
