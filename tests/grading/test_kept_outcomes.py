"""The parts of a check's outcome that go into the result document."""

from pathlib import Path

import torch

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.notebooks import build_source_notebook
from autograder.examiner.examination import StepResult
from autograder.grading.lab_cells import parse_cells
from autograder.grading.lab_submission import grade_cell
from labkit import assert_close, check
from labkit.check import record_outcomes


def test_two_matrices_are_kept_only_for_visible_checks(small_course: Path) -> None:
    notebook = build_source_notebook(next(read_labs(read_course(small_course))))
    cell = next(cell for cell in parse_cells(notebook) if cell.metadata.checks)
    metadata = cell.metadata
    with record_outcomes() as outcomes:
        for metadata_check in metadata.checks:
            with check(metadata_check.id, metadata_check.label):
                assert_close(torch.zeros(3, 4), torch.ones(3, 4))
    assert all(outcome.difference for outcome in outcomes)
    checks = grade_cell(cell, StepResult(outcomes=outcomes), "").checks
    assert [bool(outcome.difference) for outcome in checks] == [
        not metadata_check.hidden for metadata_check in metadata.checks
    ]
    assert {metadata_check.hidden for metadata_check in metadata.checks} == {True, False}
