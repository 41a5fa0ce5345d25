"""The grader's image grades a class in a container without privileges, at the level that the container gives."""

import csv
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from autograder.model.course import Lab
from tests.conftest import ROOT
from tests.images.engine import build, inspect_image, run

LAB = "01_tensors"
OWNER = 4321  # the mounted folder's owner: a user unknown to the image
# The options of docs/containers.md for full isolation.
FULL = tuple(f"--security-opt={each}" for each in ("seccomp=unconfined", "systempaths=unconfined", "no-new-privileges"))
FULL += ("--cap-drop=all",)
NAMESPACES = (
    "clone clone3 fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree pivot_root setns umount"
)
PLAIN_CLONE = {"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}  # without any CLONE_NEW flag


@pytest.fixture(scope="session")
def docker_profile(scratch: Path) -> tuple[str, ...]:
    """podman's profile without namespaces and mounts, the one way in which Docker's is narrower for a grader."""
    profile = json.loads(Path("/usr/share/containers/seccomp.json").read_text())
    calls = {*NAMESPACES.split(), "umount2", "unshare"}
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in calls]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    profile["syscalls"].append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [PLAIN_CLONE]})
    profile["syscalls"].append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38})
    profile |= {"defaultErrno": "EPERM", "defaultErrnoRet": 1}
    path = scratch / "as-docker.json"
    path.write_text(json.dumps(profile))
    return (f"--security-opt=seccomp={path}",)


@pytest.fixture(params=["full", "docker"])
def options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Options of a container as in docs/containers.md, and of an ordinary Docker container."""
    return tuple(request.getfixturevalue("docker_profile")) if request.param == "docker" else FULL


def read_level(doctor: str) -> str:
    """The strongest level that `gradlab doctor` names."""
    weaker = re.search(r"The strongest level of this machine is --isolation=(\S+)\.", doctor)
    return weaker[1] if weaker else "full"


@pytest.fixture(scope="session")
def pytest_image(grader: str, scratch: Path) -> str:
    """The grader's image, and pytest."""
    file = scratch / "Dockerfile"
    file.write_text(
        f"FROM {grader}\nUSER 0\nRUN --mount=type=secret,id=pip,target=/etc/pip.conf"
        " pip install --no-cache-dir pytest pytest-timeout hypothesis\nUSER 1000\n"
    )
    return build("grader-with-pytest", scratch, file=file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course with three submissions: one worked, one blank, one that isn't a notebook."""
    for name in ("labs", "source", "release"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for student, place in {"worked": "solutions", "blank": "release"}.items():
        shutil.copytree(ROOT / place / LAB, tmp_path / "submitted" / student / LAB)
    (tmp_path / "submitted" / "damaged" / LAB).mkdir(parents=True)
    (tmp_path / "submitted" / "damaged" / LAB / f"{LAB}.ipynb").write_text("this is not JSON {")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, OWNER, OWNER)
    return tmp_path


def test_the_user_of_the_image_is_not_root_and_the_image_says_what_it_gives(
    grader: str, options: tuple[str, ...]
) -> None:
    assert run(grader, "id", "-u", options=options).strip() == "1000"
    doctor = run(grader, options=options)
    print(f"\ngradlab doctor in a container with {' '.join(options)}:\n{doctor}")
    assert read_level(doctor) == ("full" if options == FULL else "same-user")
    run(grader, *inspect_image(grader)["Healthcheck"]["Test"][1:], options=options)


def test_the_sandbox_holds_inside(pytest_image: str) -> None:
    """All of tests/sandbox except tests that need root; under CI=true a missing layer fails them."""
    mounts = tuple(f"--volume={ROOT / name}:/checkout/{name}:ro" for name in ("tests", "pyproject.toml"))
    line = "cd /checkout && pytest -q -p no:cacheprovider tests/sandbox"
    result = run(pytest_image, "sh", "-c", line, options=(*FULL, *mounts, "--env=CI=true"), check=False)
    print(f"\ntests/sandbox in a container with full isolation:\n{result}")
    assert re.search(r"\n\d+ passed, \d+ skipped(, \d+ deselected)? in ", result)


def test_the_image_grades_a_class(grader: str, options: tuple[str, ...], folder: Path, labs: list[Lab]) -> None:
    options = (*options, f"--user={OWNER}:{OWNER}", f"--volume={folder}:/course")
    strongest = read_level(run(grader, options=options))
    grade = f"gradlab grade {LAB}"
    if strongest != "full":
        refusal = run(grader, "sh", "-c", grade, options=options, check=False)
        assert "Missing:" in refusal and f"--isolation={strongest}" in refusal
    line = f"{grade} --isolation={strongest} && gradlab feedback {LAB} && gradlab report {LAB} && gradlab export"
    result = run(grader, "sh", "-c", line, options=options)
    print(f"\ngraded at {strongest}:\n{result}")
    with (folder / "results" / "marks.csv").open() as file:
        marks = {row["id"]: float(row[LAB]) for row in csv.DictReader(file)}
    (lab,) = (lab for lab in labs if lab.name == LAB)
    assert marks == {"worked": sum(e.worth for e in lab.exercises), "blank": 0, "damaged": 0}
