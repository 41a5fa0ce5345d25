"""Compares what the answers earned with what they claim. Every problem names the file, the line and the fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.model.course import Answer, Exercise, Lab
from autograder.proving.bench import Trial
from labkit.outcome import Outcome

RIGHT_ANSWERS = 2
WRONG_ANSWERS = 4
UNWRITTEN = "NotImplementedError"  # what a stub raises
GENERATED_SHARE = 0.1  # a generated wrong answer earns at most this part of the points
LIARS_SHARE = 0.2  # of a lab's points, for plain computations that claim the demanded technique


def judge_reference(lab: Lab, exercise: Exercise, trial: Trial) -> Iterator[str]:
    where = f"{_locate_cell(lab, exercise.cell_id)}: reference solution of {exercise.name}"
    yield from _judge_passing(where, exercise, trial)


def judge_answer(answer: Answer, exercise: Exercise, trial: Trial) -> Iterator[str]:
    verdict = "right" if answer.right else "wrong"
    where = f'{answer.path}:{answer.line}: {verdict} answer of {exercise.name} "{answer.label}"'
    if answer.right:
        yield from _judge_passing(where, exercise, trial)
        return
    if trial.failure:
        yield f"{where}: it cannot be tried: {trial.failure}"
        return
    if not trial.failed:
        yield f"{where}: it gets full marks\n    fix: add a check that fails for it, or call it right"
    elif set(trial.failed) != set(answer.fails):
        yield (
            f"{where}: it fails other checks than it says\n    it fails:\n{_format_table(trial)}\n    fix: fails="
            + ",".join(trial.failed)
            + ", or change the answer; gradlab prove --update writes these lists"
        )
    else:
        yield from _judge_exceptions(where, answer, trial)


def judge_generated(lab: Lab, exercise: Exercise, label: str, trial: Trial) -> Iterator[str]:
    where = f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}"
    if trial.failure:
        yield f'{where}: the generated wrong answer "{label}" stops the check cell: {trial.failure}'
    elif trial.points > GENERATED_SHARE * exercise.points:
        passed = ", ".join(repr(o.id) for o in trial.outcomes if o.passed)
        yield (
            f'{where}: the generated wrong answer "{label}" earns {trial.points:g} of {exercise.points:g} points\n'
            f"    it passes: {passed}\n    fix: mark as required=True a check that it fails, or add one"
        )


def judge_lie(lab: Lab, exercise: Exercise, label: str, trial: Trial) -> Iterator[str]:
    if (points := trial.compute_unobserved_points(exercise.points)) > 0:
        passed = ", ".join(repr(o.id) for o in trial.outcomes if o.passed)
        yield (
            f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}: a liar earns {points:g} "
            f"of {exercise.points:g} points: {label}\n    it passes: {passed}\n"
            "    fix: compare the whole of what came first, compute what is wanted before the call, pass values"
        )


def judge_liars(lab: Lab, points: dict[str, float]) -> Iterator[str]:
    """Problems with what liars earn.

    Args:
        points: What the best liar of each exercise earns, by name.
    """
    if (total := sum(points.values())) > LIARS_SHARE * lab.points + 1e-9:
        listed = ", ".join(f"{name} {earned:g}" for name, earned in points.items() if earned)
        yield (
            f"{lab.path}/lab.py:1: liars earn {total:g} of the lab's {lab.points:g} points ({listed}); "
            f"{LIARS_SHARE * lab.points:g} are allowed\n"
            "    fix: let a required check see the technique, through what the examiner passes in"
        )


def judge_blank(lab: Lab, exercise: Exercise, points: float, trial: Trial) -> Iterator[str]:
    where = f"{_locate_cell(lab, exercise.check_id)}: checks of {exercise.name}"
    if trial.failure:
        yield f"{where}: the check cell stops on the empty notebook: {trial.failure}"
    elif (most := max(points, trial.points)) > 0:
        yield f"{where}: the empty notebook earns {most:g}\n    fix: call the exercise in each check"
    elif (first := trial.outcomes[0]).error != UNWRITTEN:
        yield (
            f"{where}: on the empty notebook the first check says {first.seen!r}, not that nothing is written yet\n"
            f"    fix: let the {UNWRITTEN} of the empty exercise reach the check"
        )


def judge_coverage(
    lab: Lab, exercise: Exercise, answers: Sequence[Answer], trials: Sequence[Trial], constant: Sequence[str]
) -> Iterator[str]:
    """Problems with coverage: too few answers, constant parameters, checks or misconceptions without a wrong answer."""
    for right, least in ((True, RIGHT_ANSWERS), (False, WRONG_ANSWERS)):
        count = sum(a.right == right and not a.liar for a in answers)
        if count < least:
            word = "right" if right else "wrong"
            where = _locate_cell(lab, exercise.cell_id)
            yield f"{where}: {exercise.name} has {count} {word} answers\n    fix: write at least {least}"
    reached = {o.misconception for trial in trials for o in trial.outcomes if o.misconception}
    for check in exercise.checks:
        for message in check.misconceptions:
            if message not in reached:
                yield (
                    f"{_locate_cell(lab, exercise.check_id)}: no answer of {exercise.name} reaches the message "
                    f"{message!r}\n"
                    "    fix: write the wrong answer of somebody who believes it, or take the message out"
                )
    if constant:
        yield (
            f"{_locate_cell(lab, exercise.cell_id)}: {', '.join(constant)} of {exercise.name} never changes in its "
            "hidden checks\n    fix: call it with at least two values of each parameter"
        )


def _locate_cell(lab: Lab, cell_id: str) -> str:
    """The file and line of a cell."""
    cell = lab.cell(cell_id)
    return f"{cell.path}:{cell.line}"


def _judge_passing(where: str, exercise: Exercise, trial: Trial) -> Iterator[str]:
    if trial.failure:
        yield f"{where}: it cannot be tried: {trial.failure}"
    elif trial.failed:
        yield (
            f"{where}: it gets {trial.points:g} of {exercise.points:g} points\n{_format_table(trial)}\n"
            "    fix: correct the check that rejects it, or the answer"
        )


def _judge_exceptions(where: str, answer: Answer, trial: Trial) -> Iterator[str]:
    """Problems with exceptions: a check that failed by one proves something only if the answer says so."""
    raised = {o.error for o in trial.outcomes if not o.passed and o.error}
    for kind in raised - {answer.raises}:
        outcome = next(o for o in trial.outcomes if o.error == kind)
        whose = "the check itself" if outcome.blame == "check" else "the answer"
        yield (
            f"{where}: {outcome.id!r} failed because {whose} raised {kind} ({outcome.seen})\n"
            f"    fix: add raises={kind} if that is what this belief leads to, else correct it"
        )
    if answer.raises and answer.raises not in raised:
        yield f"{where}: it says raises={answer.raises}, and nothing raised that\n    fix: take raises= out"


def _format_table(trial: Trial) -> str:
    return "\n".join(f"      {_format_row(o)}" for o in trial.outcomes if not o.passed)


def _format_row(outcome: Outcome) -> str:
    text = outcome.misconception or outcome.seen
    return f"{outcome.id}: {text}" + (f" (expected: {outcome.expected})" if outcome.expected else "")
