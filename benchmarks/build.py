"""All labs: built in one process by gradlab, and lab by lab by `nbgrader generate_assignment`."""

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
    """A Markdown table of wall-clock seconds and their ratio, from one run on one machine."""
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        names = _course_of_copies(course)
        started = time.perf_counter()
        _command("autograder.cli", "build", "--course", str(course), cwd=ROOT)
        whole = time.perf_counter() - started
        inside = _inside(course)
        started = time.perf_counter()
        for name in names:
            _command("nbgrader", "generate_assignment", name, cwd=course)
        stock = time.perf_counter() - started
    return (
        f"# Building {LABS} labs\n\n"
        f"Copies of the course's own labs, Python {platform.python_version()}, {os.cpu_count()} cores.\n\n"
        "| | seconds | against the stock command |\n|---|---|---|\n"
        f"| nbgrader generate_assignment, lab by lab (release/ only) | {stock:.2f} | 1 |\n"
        f"| gradlab build, the whole command (source/, release/, solutions/) | {whole:.2f} "
        f"| {stock / whole:.0f} times |\n"
        f"| the build inside it, without starting Python | {inside:.2f} | {stock / inside:.0f} times |\n"
    )


def _course_of_copies(course: Path) -> list[str]:
    originals = sorted(p.parent for p in (ROOT / "labs").glob("*/lab.py"))
    names = [f"{n:02}_{originals[n % len(originals)].name}" for n in range(LABS)]
    manifest = ['title = "copies"']
    for n, name in enumerate(names):
        shutil.copytree(originals[n % len(originals)], course / "labs" / name)
        manifest += ["[[labs]]", f'name = "{name}"', f'title = "{name}"', "minutes = 60"]
    (course / "labs" / "course.toml").write_text("\n".join(manifest) + "\n")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    return names


def _inside(course: Path) -> float:
    from autograder.authoring.course_folder import build_course, read_course, read_labs, render_files

    next(iter(render_files(next(read_labs(read_course(course))), course)))  # first-use imports
    for kind in ("source", "release", "solutions"):
        shutil.rmtree(course / kind)
    started = time.perf_counter()
    build_course(read_course(course))
    return time.perf_counter() - started


def _command(module: str, *arguments: str, cwd: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=cwd, check=True, capture_output=True, env=environment
    )
