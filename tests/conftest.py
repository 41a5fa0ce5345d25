"""Fixtures that tests of all packages share: small courses, and the project's own.

Imports are inside the fixtures: pytest's first process reads this file but runs no test, and workers would wait 6 s.
"""

from __future__ import annotations

import gc
import io
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from autograder.forkserver.client import ForkServerClient
    from autograder.model.course import Course, Lab
    from autograder.workers.executors import LocalExecutor

ROOT = Path(__file__).parent.parent

settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("default", max_examples=100, deadline=None)
settings.register_profile("nightly", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
# Files of more than a quarter of a minute, without .py.
LONGEST = """hostile/test_attacks workers/test_cluster browser/test_course hub/test_class_online
    classroom/test_resume browser/test_pictures watch/test_watch proving/test_liars demo/test_demo
    cli/test_command_line workers/test_pool browser/test_student images/test_student
    nbgrader_plugin/test_nbgrader_cycle classroom/test_like_nbgrader stock/test_like_nbgrader
    labext/test_notebook_seven proving/test_judgement stock/test_marks workers/test_compile_cache
    browser/test_instructor nbgrader_plugin/test_plugin sandbox/test_whole_run examiner/test_limits
    sandbox/test_rlimits hostile/test_damaged authoring/test_notebooks classroom/test_term
    student_process/test_outputs_like_a_kernel proving/test_answer_run""".split()
CommandLine = Callable[..., str]
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: long, and guards what tests by day guard too: left to `make nightly`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first, then those with slow tests, so that at the end no worker waits for another's.

    Within that, the random order that pytest-randomly gave them.
    """
    late = [item for item in items if item.get_closest_marker("nightly") and not NIGHTLY]
    config.hook.pytest_deselected(items=late)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    ranks = {ROOT / "tests" / f"{name}.py": rank for rank, name in enumerate(LONGEST)}
    place = {path: ranks.get(path, 99 - (path in slow)) for path in {item.path for item in items}}
    items[:] = sorted((item for item in items if item not in late), key=lambda item: place[item.path])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed torch as pytest-randomly does random and numpy: each test has its own state, whatever ran before it."""
    if "torch" in sys.modules and (seed := item.config.getoption("randomly_seed", None)) is not None:
        sys.modules["torch"].manual_seed((seed + zlib.crc32(item.nodeid.encode())) % 2**32)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    if exitstatus and (seed := config.getoption("randomly_seed", None)) is not None:
        terminalreporter.write_line(f"The same order and random numbers again: --randomly-seed={seed}")


def pytest_collection_finish() -> None:
    """Tests fork this process a few thousand times."""
    from autograder.base.fork_memory import make_forks_cheap

    gc.collect()
    make_forks_cheap()


def need(program: str) -> None:
    """Skip a test whose program is not installed; under CI=true that is an error."""
    if shutil.which(program) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{program} is not installed: run make setup")


@pytest.fixture(scope="session")
def course() -> Course:
    """The project's own course."""
    from autograder.authoring.course_folder import read_course

    return read_course(ROOT)


@pytest.fixture(scope="session")
def labs(course: Course) -> list[Lab]:
    from autograder.authoring.course_folder import read_labs

    return list(read_labs(course))


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServerClient]:
    """One for all tests that only need student processes: starting one imports torch."""
    from autograder.forkserver.client import ForkServerClient, ProcessSettings
    from autograder.forkserver.server_process import start_fork_server_process
    from autograder.sandbox import find_layers, find_strongest_level
    from autograder.student_process.imports import COMPILER, FIGURES, LABKIT

    settings = ProcessSettings(find_strongest_level(find_layers()))
    process = ForkServerClient(settings, server_process=start_fork_server_process(1, (COMPILER, FIGURES, LABKIT)))
    yield process
    process.close()


@pytest.fixture(scope="session")
def course_without_gradebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once."""
    from autograder.authoring.course_folder import build_course, read_course
    from autograder.authoring.new_lab import create_lab

    root = tmp_path_factory.mktemp("built")
    (root / "labs").mkdir()
    (root / "labs" / "course.toml").write_text('title = "A small course"\n')
    shutil.copy(ROOT / "nbgrader_config.py", root)
    create_lab(root, "01_squares")
    build_course(read_course(root))
    return root


@pytest.fixture(scope="session")
def built_course(course_without_gradebook: Path) -> Path:
    """The same, with a gradebook: nbgrader starts a program for each new one, 2 s."""
    from autograder.gradebook.nbgrader_course import open_course

    with open_course(course_without_gradebook).api.gradebook:
        return course_without_gradebook


@pytest.fixture(scope="session")
def two_graders(built_course: Path) -> Iterator[LocalExecutor]:
    """Graders that stay, like those of `gradlab watch`, for tests of grading: each start imports torch."""
    from autograder.gradebook.nbgrader_course import open_course
    from autograder.watch.watch_start import start_pool
    from autograder.workers.executors import LocalExecutor

    pool = start_pool(open_course(built_course), "cpu", 2, None)
    yield LocalExecutor(2, pool=pool)
    pool.close()


@pytest.fixture
def small_course(built_course: Path, tmp_path: Path) -> Path:
    """A course of one lab of one exercise, sum_of_squares (2 points), built, with nbgrader's configuration."""
    return Path(shutil.copytree(built_course, tmp_path, dirs_exist_ok=True))


def run_main(arguments: str, folder: Path, status: int = 0) -> str:
    """Run a command of gradlab in this process, in this folder: a new process would import torch."""
    from autograder.cli import main

    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["gradlab", *arguments.split()])
        with pytest.raises(SystemExit) as end:
            main()
    assert (end.value.code or 0) == status, output.getvalue()
    assert "Traceback" not in output.getvalue()
    return output.getvalue()


@pytest.fixture
def cli(small_course: Path) -> CommandLine:
    """Runs a command in the small course's folder."""
    return lambda arguments, status=0: run_main(arguments, small_course, status)
