"""A level's promise is tried in a run; if layers fail together, the rest is offered with the reason."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import compress
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.sandbox import doctor, mounts, trial
from autograder.sandbox.doctor import find_layers, find_strongest_level, select_layers, select_required_layers
from autograder.sandbox.isolation import Isolation
from autograder.sandbox.layers import ALWAYS, KEEPER, LANDLOCK, LAYERS, LIMITS, MOUNTS, NAMESPACES, PROC, SECCOMP, UID
from autograder.sandbox.plan import Layer, Plan
from autograder.sandbox.trial import try_together
from tests.conftest import ROOT as REPOSITORY
from tests.sandbox.attempts import CONTAINER, OF_A_CONTAINER, ROOT, attempt, keep_capabilities
from tests.sandbox.conftest import Needs

SETUID, SETFCAP = 7, 31


@pytest.fixture
def separate_layers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(doctor, "explain_unavailable_layer", lambda _: "")
    monkeypatch.setattr(doctor, "try_alone", lambda *_: "")
    monkeypatch.setattr(doctor, "find_closed_paths", lambda _: [])
    yield


@pytest.mark.usefixtures("separate_layers")
@pytest.mark.parametrize(
    ("culprit", "level"),
    [
        ({PROC}, "no-namespaces"),
        ({MOUNTS}, "no-namespaces"),
        ({MOUNTS, UID}, "no-namespaces"),
        ({UID}, "same-user"),
        ({LANDLOCK}, "none"),
    ],
)
def test_layers_that_fail_together_are_left_out(
    culprit: set[Layer], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = []

    def fail(layers: frozenset[Layer]) -> tuple[str, dict[Layer, str]]:
        trials.append(layers)
        return ("they clash" if culprit <= layers else ""), {}

    monkeypatch.setattr(doctor, "try_together", fail)
    states = find_layers()
    assert find_strongest_level(states) == level
    assert not culprit <= select_layers(states) and trials[-1] == select_layers(states)
    with pytest.raises(GradlabError, match=r"not together with the others: they clash"):
        select_required_layers(Isolation.FULL, states)


@pytest.mark.usefixtures("separate_layers")
def test_a_fork_bomb_without_a_bound_is_not_full_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "try_together", lambda _: ("", {LIMITS: "a fork bomb has no bound"}))
    states = find_layers()
    assert find_strongest_level(states) == "same-user"
    assert LIMITS in select_required_layers(Isolation.SAME_USER, states)
    with pytest.raises(GradlabError, match="a fork bomb has no bound"):
        select_required_layers(Isolation.FULL, states)


@pytest.mark.usefixtures("separate_layers")
def test_no_trial_is_made_if_python_is_closed_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_closed_paths", lambda _: ["/root"])
    monkeypatch.setattr(doctor, "try_together", lambda layers: ("no", {}) if MOUNTS in layers else 1 / 0)
    states = find_layers()
    assert not any(is_offered for name, is_offered, _ in doctor.report_layers(states) if name.startswith("--isolation"))
    with pytest.raises(GradlabError, match=r"can't enter /root; run chmod o\+x /root"):
        select_required_layers(Isolation.SAME_USER, states)


def test_a_layer_that_fails_in_the_run_is_reported_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: Plan) -> None:
        raise OSError(22, "Invalid argument", "/.scratch")

    monkeypatch.setattr(mounts, "build_file_tree", fail)
    monkeypatch.setattr("autograder.sandbox.namespaces.separate", lambda *_: None)
    children = read_children()
    assert try_together(ALWAYS | {MOUNTS}) == ("[Errno 22] Invalid argument: '/.scratch'", {})
    assert read_children() == children


def test_a_run_that_cannot_be_watched_is_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "can_measure_exactly", lambda _: False)
    assert "can't be watched" in try_together(ALWAYS | {KEEPER})[0]


def read_children() -> str:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read()


def describe_container(*capabilities: int) -> tuple[dict[Layer, doctor.LayerState], frozenset[Layer]]:
    """The layers available to a container's root without these capabilities, and those that it would plan."""

    def look(_: object) -> tuple[list[doctor.LayerState], list[bool]]:
        keep_capabilities(OF_A_CONTAINER - {*capabilities})
        layer_states = find_layers()
        return [*layer_states.values()], [layer in select_layers(layer_states) for layer in LAYERS]

    outcome = attempt(look)
    assert not outcome.stopped, outcome
    states, chosen = outcome.value
    return dict(zip(LAYERS, states, strict=True)), frozenset(compress(LAYERS, chosen))


@pytest.fixture
def namespaces_for_a_container(needs: Needs) -> None:
    if not ROOT:
        pytest.skip("only root has capabilities to lose")
    needs(*NAMESPACES, PROC, UID, LANDLOCK, SECCOMP, identity=CONTAINER)


@pytest.mark.usefixtures("namespaces_for_a_container")
def test_a_containers_root_has_a_uid_in_a_user_namespace() -> None:
    states, layers = describe_container()
    assert {*NAMESPACES, PROC, UID, KEEPER} <= layers
    assert find_strongest_level(states) == "full"


@pytest.mark.usefixtures("namespaces_for_a_container")
def test_without_setfcap_a_containers_root_has_no_namespaces() -> None:
    states, layers = describe_container(SETFCAP)
    assert find_strongest_level(states) == "no-namespaces" or doctor.explain_closed_paths(states)
    assert UID in layers and not NAMESPACES & layers
    assert "CAP_SETFCAP" in states[MOUNTS].note


@pytest.mark.usefixtures("namespaces_for_a_container")
def test_a_root_that_cannot_change_its_uid_has_no_bound_on_forks() -> None:
    if os.geteuid() != int(Path("/proc/self/uid_map").read_text().split()[1]):
        pytest.skip("this root is an ordinary user of the machine, whose processes are counted")
    states, layers = describe_container(SETUID)
    assert find_strongest_level(states) == "same-user" and UID not in layers
    assert "fork bomb" in states[LIMITS].note


def test_finding_layers_is_cheap_enough_for_the_start_of_each_grading() -> None:
    """In a process without torch, whose forks are cheap."""
    code = (
        "import os; from autograder.sandbox import find_layers; before = sum(os.times()[:4]); find_layers(); "
        "print(sum(os.times()[:4]) - before)"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert float(process.stdout) < 0.3
