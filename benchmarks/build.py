"""How long it takes to build all labs: in one process by gradlab, and lab by lab by `nbgrader generate_assignment`."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
LABS = 12


def run() -> str:
    """Return a Markdown table of wall-clock seconds and their ratios, all from one run."""
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        names = _copy_labs(course)
        start = time.perf_counter()
        _run_module("autograder.cli", "build", "--course", str(course), cwd=ROOT)
        command_seconds = time.perf_counter() - start
        build_seconds = _measure_build(course)
        start = time.perf_counter()
        for name in names:
            _run_module("nbgrader", "generate_assignment", name, cwd=course)
        stock_seconds = time.perf_counter() - start
    return (
        f"# Building {LABS} labs\n\n"
        f"Copies of the course's labs. Python {platform.python_version()}, {os.cpu_count()} cores.\n\n"
        "| | seconds | compared with the stock command |\n|---|---|---|\n"
        f"| nbgrader generate_assignment, lab by lab (release/ only) | {stock_seconds:.2f} | 1 |\n"
        f"| gradlab build, the whole command (source/, release/, solutions/) | {command_seconds:.2f} "
        f"| {stock_seconds / command_seconds:.0f} times |\n"
        f"| the build inside it, without starting Python | {build_seconds:.2f} "
        f"| {stock_seconds / build_seconds:.0f} times |\n"
    )


def _copy_labs(course: Path) -> list[str]:
    """Fill a course's folder with copies of the project's labs, and return the copies' names."""
    originals = sorted(p.parent for p in (ROOT / "labs").glob("*/lab.py"))
    names = [f"{n:02}_{originals[n % len(originals)].name}" for n in range(LABS)]
    manifest = ['title = "copies"']
    for n, name in enumerate(names):
        shutil.copytree(originals[n % len(originals)], course / "labs" / name)
        manifest += ["[[labs]]", f'name = "{name}"', f'title = "{name}"', "minutes = 60"]
    (course / "labs" / "course.toml").write_text("\n".join(manifest) + "\n")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    return names


def _measure_build(course: Path) -> float:
    """Measure the seconds of a build in this process, after what it imports is loaded."""
    from autograder.authoring.course_folder import build_course, read_course, read_labs, render_files

    next(iter(render_files(next(read_labs(read_course(course))), course)))  # loads what the first use imports
    for kind in ("source", "release", "solutions"):
        shutil.rmtree(course / kind)
    start = time.perf_counter()
    build_course(read_course(course))
    return time.perf_counter() - start


def _run_module(module: str, *arguments: str, cwd: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=cwd, check=True, capture_output=True, env=environment
    )
