"""Every right and wrong answer of the labs, graded on the device and on the CPU: the same checks must fail."""

from __future__ import annotations

from autograder.base.device import Device
from autograder.model.course import Lab
from benchmarks.classroom import iter_submissions
from benchmarks.gpu.grading import find_failed_checks, grade_submissions
from benchmarks.gpu.report import GpuContext, PartResult, judge_part


def run(context: GpuContext) -> PartResult:
    rows, differences = [], []
    for lab in context.labs:
        submissions = list(iter_submissions(lab, _count_submissions(lab)))
        on_device, on_cpu = (
            grade_submissions(lab, submissions, device, context.jobs) for device in (context.device, Device.CPU)
        )
        lab_differences = []
        for student, result in on_device.results.items():
            device_failures, cpu_failures = find_failed_checks(result), find_failed_checks(on_cpu.results[student])
            lab_differences += [
                f"{lab.name}, {student}, {check}: fails only on {context.device}"
                for check in sorted(device_failures - cpu_failures)
            ]
            lab_differences += [
                f"{lab.name}, {student}, {check}: fails only on the CPU"
                for check in sorted(cpu_failures - device_failures)
            ]
        checks = sum(len(cell.checks) for result in on_device.results.values() for cell in result.cells)
        rows.append(
            f"| {lab.name} | {len(submissions)} | {checks} | {len(lab_differences)} | {on_device.seconds:.0f} "
            f"| {on_cpu.seconds:.0f} |"
        )
        differences += lab_differences
    head = [
        f"| lab | submissions | checks | checks that differ | on {context.device}, s | on the CPU, s |",
        "|---|---|---|---|---|---|",
    ]
    return judge_part(not differences, [*head, *rows, "", *(f"- {each}" for each in differences)])


def _count_submissions(lab: Lab) -> int:
    """Count the submissions that contain every answer; the worked solution and the blank notebook are two more."""
    return 3 + max(sum(not answer.liar for answer in exercise.answers) for exercise in lab.exercises)
