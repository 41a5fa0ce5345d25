"""A lab names what its submissions import: else each of them would import it anew."""

import contextlib

import pytest

from autograder.authoring.notebooks import source_notebook
from autograder.course import Lab
from autograder.examiner.examine import Step, examine
from autograder.forkserver.client import ForkServer, Purpose
from autograder.forkserver.imports import COMPILER, FIGURES, SKLEARN, groups_of
from autograder.forkserver.starting import start
from autograder.grading.one_submission import steps_of
from autograder.sandbox import available, strongest_level
from tests.conftest import ROOT

LEFT_OUT = {COMPILER: "torch._dynamo", FIGURES: "matplotlib", SKLEARN: "sklearn"}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_worked_solution_imports_what_its_fork_server_left_out(labs: list[Lab]) -> None:
    """Slow: a fork server for each lab, whose cells run."""
    level = strongest_level(available())
    told = Step("told", "student", f"import sys\nprint([n for n in {list(LEFT_OUT.values())} if n in sys.modules])")
    for lab in labs:
        groups = groups_of(ROOT, [lab.name])
        with contextlib.closing(ForkServer(Purpose(level), started=start(1, groups))) as fork_server:
            seen = examine([*steps_of(source_notebook(lab)), told], fork_server.student)
        printed = str(seen["told"].outputs)
        assert "[" in printed and not [m for group, m in LEFT_OUT.items() if group not in groups and m in printed], (
            lab.name
        )
