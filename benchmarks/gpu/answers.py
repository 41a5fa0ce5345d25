"""Every right and wrong answer of the labs, graded on the device and on the CPU: the same checks fail."""

from __future__ import annotations

from autograder.model.course import Lab
from benchmarks.classroom import members
from benchmarks.gpu.grading import failing, grade
from benchmarks.gpu.report import Context, PartResult, passed_if


def run(context: Context) -> PartResult:
    rows, differences = [], []
    for lab in context.labs:
        submissions = list(members(lab, _enough(lab)))
        there, here = (grade(lab, submissions, device, context.jobs) for device in (context.device, "cpu"))
        found = []
        for student, result in there.results.items():
            one, other = failing(result), failing(here.results[student])
            found += [
                f"{lab.name}, {student}, {check}: fails on {context.device} only" for check in sorted(one - other)
            ]
            found += [f"{lab.name}, {student}, {check}: fails on the CPU only" for check in sorted(other - one)]
        checks = sum(len(cell.checks) for result in there.results.values() for cell in result.cells)
        rows.append(
            f"| {lab.name} | {len(submissions)} | {checks} | {len(found)} | {there.seconds:.0f} | {here.seconds:.0f} |"
        )
        differences += found
    head = [
        f"| lab | submissions | checks | that differ | on {context.device}, s | on the CPU, s |",
        "|---|---|---|---|---|---|",
    ]
    return passed_if(not differences, [*head, *rows, "", *(f"- {each}" for each in differences)])


def _enough(lab: Lab) -> int:
    """Submissions in which every answer comes: the worked solution and the blank one are two more."""
    return 3 + max(sum(not answer.liar for answer in exercise.answers) for exercise in lab.exercises)
