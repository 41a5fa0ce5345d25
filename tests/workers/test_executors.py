"""Submissions are graded by the executor that another package provides."""

import sys
from pathlib import Path

import pytest

from autograder.base.device import DeviceChoice
from autograder.base.errors import GradlabError
from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.workers.executors import make_executor
from tests.other_packages import install

LAB = "01_squares"
HALL = """
    from dataclasses import dataclass

    from autograder.workers.task_grading import GradingFailure


    @dataclass
    class Hall:
        address: str
        device: str
        wait: float

        def choose_device(self):
            return self.device

        def list_layer_names(self, settings, secret):
            return []

        def grade(self, tasks, settings, secret, stop):
            for task in tasks:
                yield task, GradingFailure(f"no seat within {self.wait:g} s at {self.address}")
"""


def test_an_executor_gets_every_submission(
    small_course: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    install(site, "gradlab_hall", HALL, executors="hall = Hall")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "gradlab_hall", raising=False)
    for student in ("ada", "ben"):
        folder = small_course / "submitted" / student / LAB
        folder.mkdir(parents=True)
        (folder / f"{LAB}.ipynb").write_bytes((small_course / "release" / LAB / f"{LAB}.ipynb").read_bytes())
    executor = make_executor("hall", "hall://north", DeviceChoice.CPU, 5)
    outcomes = {outcome.student: outcome.failure for outcome in grade_lab(open_course(small_course), LAB, executor)}
    assert outcomes == dict.fromkeys(("ada", "ben"), "no seat within 5 s at hall://north")


def test_an_executor_that_no_package_provides_is_refused() -> None:
    with pytest.raises(
        GradlabError, match=r"no package provides 'slurm' in gradlab.executors\n    fix: name one of dask"
    ):
        make_executor("slurm", "x", DeviceChoice.CPU)
