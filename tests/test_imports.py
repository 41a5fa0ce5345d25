"""The packages and who may enter which: imports run downwards, and labkit stands alone."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.conftest import ROOT

# A package may import those of its own level only within itself, and any of a lower level.
LEVELS = {
    "cli": 8,
    "demo": 7,
    "plugin": 6,
    "grading": 5,
    "proving": 4,
    "reports": 4,
    "forkserver": 4,
    "gradebook": 3,
    "authoring": 3,
    "intake": 3,
    "examiner": 3,
    "sandbox": 3,
    "student": 2,
    "rpc": 1,
    "metadata": 1,
    "result": 1,
    "course": 0,
    "digest": 0,
    "errors": 0,
    "progress": 0,
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_labkit_imports_nothing_of_autograder() -> None:
    for path in (ROOT / "labkit").rglob("*.py"):
        assert not any(name.split(".")[0] == "autograder" for name in imported(path)), path


def test_imports_run_downwards() -> None:
    for path in (ROOT / "autograder").rglob("*.py"):
        own = path.relative_to(ROOT / "autograder").parts[0].removesuffix(".py")
        for name in imported(path):
            if name.startswith("autograder.") and own != "__init__":
                other = package_of(name)
                assert other == own or LEVELS[other] < LEVELS[own], f"{path} imports {name}"


def test_autograder_knows_no_lab_by_name() -> None:
    labs = [p.parent.name for p in (ROOT / "labs").glob("*/lab.py")]
    for path in (ROOT / "autograder").rglob("*.py"):
        text = path.read_text()
        assert not any(lab in text for lab in labs), path
