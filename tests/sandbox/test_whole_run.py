"""All layers together, around a process that imported torch: an honest run works, a hostile one gets nothing."""

import json
import subprocess
import sys
from typing import Any

import pytest

from autograder.sandbox.layers import IPC, LANDLOCK, MOUNTS, NETWORK, PID, PROC, SECCOMP, UID
from autograder.sandbox.system import CAP_SYS_ADMIN, has_capability
from tests.conftest import ROOT as REPOSITORY
from tests.sandbox.attempts import ROOT, WITH_CONTAINER
from tests.sandbox.conftest import Needs

FULL = (NETWORK, IPC, MOUNTS, PROC, LANDLOCK, SECCOMP)


@pytest.fixture(scope="module")
def reports() -> dict[str, Any]:
    """The results by identity."""
    command = [sys.executable, "-m", "tests.sandbox.whole_run", *WITH_CONTAINER]
    process = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    report: dict[str, Any] = json.loads(process.stdout)
    return report


@pytest.fixture(params=WITH_CONTAINER)
def runs(request: pytest.FixtureRequest, needs: Needs) -> dict[str, Any]:
    identity = request.param
    if identity == "user" and ROOT and not has_capability(CAP_SYS_ADMIN):
        pytest.skip("root needs CAP_SYS_ADMIN to show an ordinary user a separate file tree")
    needs(*FULL, PID if identity == "user" else UID, identity=identity)
    report = request.getfixturevalue("reports")[identity]
    assert "error" not in report, report["error"]
    return dict(report)


def test_an_honest_run_works(runs: dict[str, Any]) -> None:
    honest = runs["honest"]
    assert "error" not in honest, honest["error"]
    expected = {"gradient": 128.0, "loaded": 120.0, "figure": True, "checkpoint": True, "shared": 10.0, "eager": 2.0}
    assert {name: honest[name] for name in expected} == expected
    assert honest["program"] == "hi\n"
    # Its resource tracker or a worker may still be there; no other user's process is.
    assert honest["processes"] <= 4
    assert honest["limit"] == "" and honest["status"] == 0


def test_two_processes_meet_over_loopback(runs: dict[str, Any]) -> None:
    assert runs["gloo"].get("gloo") == [0, 0], runs["gloo"]


def test_a_hostile_run_gets_nothing(runs: dict[str, Any]) -> None:
    attempts = {name: result for name, result in runs["hostile"].items() if isinstance(result, str)}
    got = [name for name, result in attempts.items() if name != "limit" and not result]
    assert not got
    assert len(attempts) > 45 and runs["hostile"]["status"] == 0


def test_the_memory_of_all_processes_together_is_bounded(runs: dict[str, Any]) -> None:
    assert runs["greedy"]["limit"] == "memory"


def test_nothing_of_a_run_is_left(runs: dict[str, Any]) -> None:
    assert runs["leaving"]["status"] == 0 and not runs["leaving"]["left"]
