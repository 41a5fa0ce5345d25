"""Builds the wheel of what students install: labkit, and the course's extension as JupyterLab finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import requires, version
from importlib.resources import files
from pathlib import Path

import labext
import labkit
from autograder.base.errors import GradlabError

NEEDED = (
    "torch",
    "numpy",
    "jupyterlab",
    "ipykernel",
    "ipywidgets",
    "matplotlib",
    "torchviz",
    "scikit-learn",
    "setuptools",
)
EARLIEST = "315532800"  # 1980, the earliest date of a file in a wheel, so the same packages give the same bytes
BUILD = "from setuptools.build_meta import build_wheel; build_wheel('dist')"


def copy_student_packages(folder: Path) -> None:
    """Copy labkit and labext into a folder."""
    for package in (labkit, labext):
        source = Path(str(package.__file__)).parent
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))


def build_student_wheel(folder: Path) -> Path:
    """Write the wheel into a folder. Returns its path. Nothing is downloaded."""
    with tempfile.TemporaryDirectory() as place:
        project = Path(place)
        copy_student_packages(project)
        (project / "pyproject.toml").write_text(_render_project(), encoding="utf-8")
        for file in project.rglob("*"):
            if file.is_file():
                file.chmod(0o644)  # the wheel keeps permissions, which differ between copies of the project
        environment = {**os.environ, "SOURCE_DATE_EPOCH": EARLIEST}
        command = [sys.executable, "-c", BUILD]
        done = subprocess.run(command, cwd=project, env=environment, umask=0o022, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
            fix = "pip install --upgrade 'setuptools>=77', then run this again"
            raise GradlabError(f"setuptools can't build the students' wheel: {reason}", fix=fix)
        (wheel,) = (project / "dist").glob("*.whl")
        return Path(shutil.copy(wheel, folder))


def _render_project() -> str:
    """Render the wheel's pyproject.toml."""
    template = (files("autograder.authoring") / "student" / "pyproject.toml.txt").read_text(encoding="utf-8")
    dependencies = "\n".join(f'    "{line}",' for line in _list_dependencies())
    return template.replace("VERSION", version("gradlab")).replace("DEPENDENCIES", dependencies)


def _list_dependencies() -> list[str]:
    """List the project's requirements that labs and labkit import, with their version bounds."""
    requirements = [line for line in requires("gradlab") or [] if "extra ==" not in line]
    return sorted(line.replace('"', "'") for line in requirements if _parse_package_name(line) in NEEDED)


def _parse_package_name(requirement: str) -> str:
    return next((requirement[:i] for i, c in enumerate(requirement) if c in "<>=;[ "), requirement)
