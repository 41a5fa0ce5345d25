"""Compares the result of each answer with what its author says. Every problem names the file, the line and the fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autograder.base.errors import format_problem
from autograder.model.answer import Answer
from autograder.model.course import Exercise, Lab
from autograder.proving.answer_result import AnswerResult
from labkit.outcome import Blame, Outcome

RIGHT_ANSWERS = 2
WRONG_ANSWERS = 4
UNWRITTEN = "NotImplementedError"  # raised by a stub
GENERATED_SHARE = 0.1  # of the points, which a generated wrong answer may earn at most
LIMIT_CHECK = "compare the whole result before the check uses it, so no result can end or block the check"
LIARS_SHARE = 0.2  # of a lab's points, for plain computations that claim to use the required technique


def judge_reference(lab: Lab, exercise: Exercise, result: AnswerResult) -> Iterator[str]:
    """Yield problems of the reference solution, which must pass every check."""
    location = f"{_locate_cell(lab, exercise.cell_id)}: reference solution of {exercise.name}"
    yield from _judge_passing(location, exercise, result)


def judge_answer(answer: Answer, exercise: Exercise, result: AnswerResult) -> Iterator[str]:
    """Yield problems of an answer: a right one must pass, a wrong one must fail exactly the checks in its fails=."""
    verdict = "right" if answer.right else "wrong"
    location = f'{answer.path}:{answer.line}: {verdict} answer of {exercise.name} "{answer.label}"'
    if answer.right:
        yield from _judge_passing(location, exercise, result)
        return
    if result.failure:
        yield format_problem(f"{location}: it can't be tried: {result.failure}", "correct the answer")
        return
    if not result.failed_checks:
        yield format_problem(
            f"{location}: it gets full marks", "add a check that it fails, or declare it a right answer"
        )
    elif set(result.failed_checks) != set(answer.fails):
        yield format_problem(
            f"{location}: it fails other checks than it says\n    it fails:\n{_format_table(result)}",
            "fails="
            + ",".join(result.failed_checks)
            + ", or change the answer; gradlab prove --update writes these lists",
        )
    else:
        yield from _judge_exceptions(location, answer, result)


def judge_generated(lab: Lab, exercise: Exercise, label: str, result: AnswerResult) -> Iterator[str]:
    """Yield a problem if a generated wrong answer earns too much, or stops the check cell.

    Args:
        label: The description of the answer.
    """
    location = f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}"
    if result.failure:
        problem = f'{location}: the generated wrong answer "{label}" stops the check cell: {result.failure}'
        yield format_problem(problem, LIMIT_CHECK)
    elif result.points > GENERATED_SHARE * exercise.points:
        passed = ", ".join(repr(o.id) for o in result.outcomes if o.passed)
        yield format_problem(
            f'{location}: the generated wrong answer "{label}" earns {result.points:g} of {exercise.points:g} points\n'
            f"    it passes: {passed}",
            "mark a check that it fails as required=True, or add one",
        )


def judge_edge(lab: Lab, exercise: Exercise, edge: str, result: AnswerResult) -> Iterator[str]:
    """Yield a problem if no check notices that the reference is wrong at this edge of its domain."""
    location = f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}"
    if result.failure:
        problem = f'{location}: the reference, wrong with "{edge}", stops the check cell: {result.failure}'
        yield format_problem(problem, LIMIT_CHECK)
    elif not result.failed_checks:
        yield format_problem(
            f'{location}: the reference, wrong with "{edge}", gets full marks', "try this edge out in a check"
        )


def judge_ineffective_edges(lab: Lab, exercise: Exercise, edges: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each of these edges, which have no effect."""
    for edge in edges:
        yield format_problem(
            f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}: "
            f'with the edge "{edge}", the same inputs are drawn as without',
            "use the same name where the inputs are drawn",
        )


def judge_lie(lab: Lab, exercise: Exercise, label: str, result: AnswerResult) -> Iterator[str]:
    """Yield a problem if a liar that gradlab makes earns points without the observed checks.

    Args:
        label: The description of the lie.
    """
    if (points := result.compute_unobserved_points(exercise.points)) > 0:
        passed = ", ".join(repr(o.id) for o in result.outcomes if o.passed)
        yield format_problem(
            f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}: a liar earns {points:g} "
            f"of {exercise.points:g} points: {label}\n    it passes: {passed}",
            "compare the whole result first, compute the expected value before the call, and pass values",
        )


def judge_liars(lab: Lab, points: dict[str, float]) -> Iterator[str]:
    """Yield a problem if liars earn too much.

    Args:
        points: The points of the best liar of each exercise, by name.
    """
    if (total := sum(points.values())) > LIARS_SHARE * lab.points + 1e-9:
        details = ", ".join(f"{name} {earned:g}" for name, earned in points.items() if earned)
        yield format_problem(
            f"{lab.path}/lab.py:1: liars earn {total:g} of the lab's {lab.points:g} points ({details}); "
            f"{LIARS_SHARE * lab.points:g} are allowed",
            "observe the technique in a required check, with objects that the examiner passes in",
        )


def judge_blank(lab: Lab, exercise: Exercise, points: float, result: AnswerResult) -> Iterator[str]:
    """Yield a problem if the empty notebook earns points, or its first check doesn't say that nothing is written yet.

    Args:
        points: What the exercise earns if the whole notebook is empty.
        result: The empty exercise, tried with all earlier exercises solved.
    """
    location = f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}"
    if result.failure:
        yield format_problem(f"{location}: on the empty notebook, the check cell stops: {result.failure}", LIMIT_CHECK)
    elif (earned := max(points, result.points)) > 0:
        yield format_problem(f"{location}: the empty notebook earns {earned:g}", "call the exercise in each check")
    elif (first := result.outcomes[0]).error != UNWRITTEN:
        yield format_problem(
            f"{location}: on the empty notebook, the first check says {first.seen!r}, not that nothing is written yet",
            f"let the {UNWRITTEN} of the empty exercise reach the check",
        )


def judge_promises(lab: Lab, exercise: Exercise, breaches: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a problem for each promise without an answer that breaks only this one.

    Args:
        breaches: The answers that fail only the promise's checks, by its sentence.
    """
    location = _locate_cell(lab, exercise.cell_id)
    for sentence, labels in breaches.items():
        if not labels:
            yield format_problem(
                f'{location}: no answer to {exercise.name} breaks this promise alone: "{sentence}"',
                "add a wrong answer that ignores it, add an edge for it, or remove the sentence",
            )


def judge_coverage(
    lab: Lab, exercise: Exercise, answers: Sequence[Answer], results: Sequence[AnswerResult], constant: Sequence[str]
) -> Iterator[str]:
    """Yield problems with coverage: too few answers, unreached misconceptions, and constant parameters.

    Args:
        results: What the answers got.
        constant: Parameters that have the same value in every call of the hidden checks.
    """
    for right, least in ((True, RIGHT_ANSWERS), (False, WRONG_ANSWERS)):
        count = sum(a.right == right and not a.liar for a in answers)
        if count < least:
            noun = f"{'right' if right else 'wrong'} answer{'s' if count != 1 else ''}"
            location = _locate_cell(lab, exercise.cell_id)
            yield format_problem(f"{location}: {exercise.name} has {count} {noun}", f"write at least {least}")
    reached = {o.misconception for result in results for o in result.outcomes if o.misconception}
    for check in exercise.checks:
        for message in check.misconceptions:
            if message not in reached:
                yield format_problem(
                    f"{_locate_cell(lab, exercise.check_id)}: no answer of {exercise.name} reaches the message "
                    f"{message!r}",
                    "write the wrong answer of someone who believes it, or remove the message",
                )
    if constant:
        yield format_problem(
            f"{_locate_cell(lab, exercise.cell_id)}: the hidden checks of {exercise.name} always pass the same value "
            f"for {', '.join(constant)}",
            "call it with at least two values of each parameter",
        )


def _locate_cell(lab: Lab, cell_id: str) -> str:
    """Return the file and line of a cell."""
    cell = lab.cell(cell_id)
    return f"{cell.path}:{cell.line}"


def _judge_passing(location: str, exercise: Exercise, result: AnswerResult) -> Iterator[str]:
    if result.failure:
        yield format_problem(f"{location}: it can't be tried: {result.failure}", "correct the answer")
    elif result.failed_checks:
        yield format_problem(
            f"{location}: it gets {result.points:g} of {exercise.points:g} points\n{_format_table(result)}",
            "correct the check that rejects it, or the answer",
        )


def _judge_exceptions(location: str, answer: Answer, result: AnswerResult) -> Iterator[str]:
    """Yield problems with exceptions: a check that failed by one proves something only if the answer expects it."""
    raised = {o.error for o in result.outcomes if not o.passed and o.error}
    for kind in raised - {answer.raises}:
        outcome = next(o for o in result.outcomes if o.error == kind)
        source = "the check itself" if outcome.blame is Blame.CHECK else "the answer"
        yield format_problem(
            f"{location}: {outcome.id!r} failed because {source} raised {kind} ({outcome.seen})",
            f"add raises={kind} if this mistake really causes it; otherwise correct the answer",
        )
    if answer.raises and answer.raises not in raised:
        yield format_problem(f"{location}: it says raises={answer.raises}, but nothing raised that", "remove raises=")


def _format_table(result: AnswerResult) -> str:
    return "\n".join(f"      {_format_row(o)}" for o in result.outcomes if not o.passed)


def _format_row(outcome: Outcome) -> str:
    text = outcome.misconception or outcome.seen
    return f"{outcome.id}: {text}" + (f" (expected: {outcome.expected})" if outcome.expected else "")
