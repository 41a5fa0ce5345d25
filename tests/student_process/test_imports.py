"""A lab names what its submissions import: otherwise each of them would import it again."""

import contextlib

import pytest

from autograder.authoring.notebooks import build_source_notebook
from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.forkserver.server_process import start_fork_server_process
from autograder.grading.lab_cells import parse_cells
from autograder.model.course import Lab, StepKind
from autograder.sandbox import find_layers, find_strongest_level
from autograder.student_process.imports import COMPILER, FIGURES, SKLEARN, find_course_import_groups
from tests.conftest import ROOT

LEFT_OUT = {COMPILER: "torch._dynamo", FIGURES: "matplotlib", SKLEARN: "sklearn"}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_worked_solution_imports_what_its_fork_server_left_out(labs: list[Lab]) -> None:
    """Slow: a fork server for each lab, whose cells run."""
    level = find_strongest_level(find_layers())
    report = Step(
        "report", StepKind.STUDENT, f"import sys\nprint([n for n in {list(LEFT_OUT.values())} if n in sys.modules])"
    )
    for lab in labs:
        groups = find_course_import_groups(ROOT, [lab.name])
        with contextlib.closing(
            ForkServerClient(ProcessSettings(level), server_process=start_fork_server_process(1, groups))
        ) as fork_server:
            results = examine_steps(
                [*[cell.step for cell in parse_cells(build_source_notebook(lab))], report], fork_server.start_process
            )
        printed = str(results["report"].outputs)
        assert "[" in printed and not [m for group, m in LEFT_OUT.items() if group not in groups and m in printed], (
            lab.name
        )
