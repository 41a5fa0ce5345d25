"""Students' images: they work, and hold no solution and no line of a hidden test. A class's image holds no lab at all."""

import json
import os
import shutil
import subprocess
from collections.abc import Set
from pathlib import Path

import nbformat
import pytest

from autograder.hub.configuration import STUDENT_CONFIG
from labkit.start import build_jupyter_environment
from tests.conftest import ROOT
from tests.images.engine import inspect_image, mount_image, run, run_container, run_inside
from tests.waiting import wait_until

MARKERS = ("### BEGIN HIDDEN", "### END HIDDEN", "### BEGIN SOLUTION", "### END SOLUTION")
VERDICT = "application/vnd.gradlab.verdict+json"
SHORTEST = 16  # a shorter line, such as `return x`, is in many files


def read_lines(path: Path) -> set[str]:
    if path.suffix == ".ipynb":
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    else:
        text = path.read_text()
    return {line.strip() for line in text.splitlines()}


def list_private_lines() -> set[str]:
    """Lines of the course that neither a released notebook nor labkit has: hidden tests, solutions, answers."""
    private = [*ROOT.glob("labs/*/*.py"), *ROOT.glob("source/*/*.ipynb"), *ROOT.glob("solutions/*/*.ipynb")]
    public = [*ROOT.glob("release/*/*.ipynb"), *ROOT.glob("labkit/**/*.py"), *ROOT.glob("labext/**/*.py")]
    public_text = "\n".join(line for path in public for line in read_lines(path))
    lines = {line for path in private for line in read_lines(path)}
    return {line for line in lines if len(line) >= SHORTEST and line not in public_text}


def search_tree(tree: Path, lines: set[str], scratch: Path) -> dict[str, set[str]]:
    """line -> the files that contain it, as text or as JSON."""
    patterns = {pattern: line for line in lines for pattern in (line, json.dumps(line)[1:-1])}
    pattern_file = scratch / "patterns"
    pattern_file.write_text("".join(f"{pattern}\n" for pattern in sorted(patterns)))
    command = ["grep", "-raFoZH", "-f", str(pattern_file), "--exclude-dir=proc", "--exclude-dir=sys", str(tree)]
    process = subprocess.run(command, capture_output=True, env={"LC_ALL": "C"})
    assert process.returncode in (0, 1), process.stderr
    places: dict[str, set[str]] = {}
    for hit in process.stdout.splitlines():
        name, _, pattern = hit.partition(b"\0")
        places.setdefault(patterns[pattern.decode()], set()).add(str(Path(name.decode()).relative_to(tree)))
    return places


def test_the_search_finds_what_it_must(scratch: Path) -> None:
    """A leak of one notebook of source/ is found."""
    lines = list_private_lines()
    tree = scratch / "leak"
    shutil.copytree(ROOT / "source", tree)
    assert len(search_tree(tree, lines, scratch)) > 100
    assert all(search_tree(tree, {marker}, scratch) for marker in MARKERS)


def test_nothing_private_is_in_any_file(packages: str, alone: str, student: str, scratch: Path) -> None:
    lines = list_private_lines()
    with mount_image(packages) as tree:
        usual = search_tree(tree, lines, scratch)  # as `from collections import deque`
    assert len(usual) < len(lines) / 20, usual
    for image, folders in ((alone, {"labext", "labkit", "release"}), (student, {"labext", "labkit"})):
        with mount_image(image) as tree:
            assert_nothing_private(tree, folders, lines, usual.keys(), scratch)


def assert_nothing_private(tree: Path, folders: set[str], lines: set[str], usual: Set[str], scratch: Path) -> None:
    assert not search_tree(tree, lines - usual, scratch)
    package_folder = tree / "opt/gradlab"
    assert {path.name for path in package_folder.iterdir()} == folders
    assert not search_tree(package_folder, lines | set(MARKERS), scratch)
    markers = {name for names in search_tree(tree, set(MARKERS), scratch).values() for name in names}
    assert not [name for name in markers if "/site-packages/nbgrader/" not in name]
    assert not [path for name in ("autograder", "exercises", "lab.py") for path in tree.rglob(name)]
    for place in ("home", "srv", "root", "tmp"):
        assert not list((tree / place).rglob("*.ipynb")), place


@pytest.mark.parametrize("image", ["alone", "student"])
def test_everything_that_a_student_needs_is_installed(image: str, request: pytest.FixtureRequest) -> None:
    student = request.getfixturevalue(image)
    script = "id -u; pip list --format=freeze; c++ --version; touch /opt/gradlab/x"
    result = run(student, "sh", "-c", script, check=False)
    assert result.startswith("1000\n") and "Permission denied" in result
    assert "gradlab==" not in result
    assert "No module named 'autograder'" in run(student, "python", "-c", "import autograder", check=False)
    script = "import torch, labkit; print(torch.compile(lambda x: x.sin() + 1)(torch.zeros(3)).tolist())"
    assert "[1.0, 1.0, 1.0]" in run(student, "python", "-c", script)


def test_a_class_finds_the_course_panel_and_the_exchange(student: str) -> None:
    """The image names the folders that a hub names for a server that it starts as a process."""
    variables = dict(line.split("=", 1) for line in inspect_image(student)["Config"]["Env"])
    expected = build_jupyter_environment(STUDENT_CONFIG)
    places = [str(STUDENT_CONFIG), *expected["JUPYTER_CONFIG_PATH"].split(os.pathsep)]
    extension = str(STUDENT_CONFIG.parents[1])
    own = [path.replace(extension, "/opt/gradlab/labext") for path in places if path.startswith(extension)]
    assert variables["JUPYTER_CONFIG_PATH"].split(":") == own
    listed = run(student, "jupyter", "labextension", "list", options=("--env=GRADLAB_EXCHANGE=http://exchange",))
    assert "gradlab-course" in listed
    assert "jupyterhub-singleuser" in inspect_image(student)["Config"]["Cmd"][0]
    assert run(student, "jupyterhub-singleuser", "--version").strip()


def test_jupyterlab_answers_and_is_healthy(alone: str) -> None:
    health = inspect_image(alone)["Healthcheck"]["Test"]
    assert health[0] == "CMD"
    with run_container(alone) as container:
        wait_until(lambda: not run_inside(container, *health[1:], check=False), "the container is healthy")
        ask = "from urllib.request import urlopen; print(urlopen('http://127.0.0.1:8888/api').read())"
        assert "version" in run_inside(container, "python", "-c", ask)
        assert sorted(run_inside(container, "sh", "-c", "ls */*.ipynb").split()) == sorted(
            str(path.relative_to(ROOT / "release")) for path in ROOT.glob("release/*/*.ipynb")
        )


@pytest.mark.parametrize("lab", sorted(path.parent.name for path in ROOT.glob("release/*/*.ipynb")))
def test_a_released_notebook_runs(alone: str, lab: str) -> None:
    """Unanswered, it runs to its end: nothing raises, and the checks say that nothing is written yet."""
    path = f"/opt/gradlab/release/{lab}/{lab}.ipynb"
    result = run(alone, "jupyter", "nbconvert", "--execute", "--allow-errors", "--to=notebook", "--stdout", path)
    notebook = nbformat.reads(result[result.index("{\n") : result.rindex("}") + 1], as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells if cell.source.strip())
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    verdicts = [output.data[VERDICT] for output in outputs if VERDICT in output.get("data", {})]
    assert len(verdicts) > 5
    assert all(check["error"] == "NotImplementedError" for verdict in verdicts for check in verdict["checks"][:1])
