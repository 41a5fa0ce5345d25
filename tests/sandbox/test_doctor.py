"""Which layers this machine offers, and the refusal if they are too few."""

import os
import threading
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.sandbox import doctor
from autograder.sandbox.doctor import (
    LEVELS,
    LayerState,
    choose_network,
    find_layers,
    report_layers,
    select_layers,
    select_required_layers,
)
from autograder.sandbox.entry import NOT_ENTERED, enter, launch, prepare
from autograder.sandbox.isolation import Isolation, parse_isolation
from autograder.sandbox.layers import (
    HOME,
    IPC,
    KEEPER,
    LANDLOCK,
    LAYERS,
    LIMITS,
    MOUNTS,
    NETWORK,
    PID,
    PRIVILEGES,
    PROC,
    SECCOMP,
    UID,
    list_layer_names,
    sort_layers,
)
from autograder.sandbox.plan import Layer, Plan
from tests.sandbox.attempts import IDENTITIES, WITH_CONTAINER, attempt
from tests.sandbox.conftest import Needs

NO, YES = LayerState(False, "not here"), LayerState(True, "")


NAMESPACES = (NETWORK, IPC, MOUNTS, PROC)
NOT_EVERYWHERE = {UID, PID, *NAMESPACES, LANDLOCK, SECCOMP}


def make_machine(*given: Layer) -> dict[Layer, LayerState]:
    return {layer: NO if layer in NOT_EVERYWHERE - {*given} else YES for layer in LAYERS}


CONTAINER = make_machine(UID, LANDLOCK, SECCOMP)


def test_a_refusal_names_what_is_missing_and_what_accepts_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_closed_paths", lambda _: [])
    with pytest.raises(GradlabError) as refusal:
        select_required_layers(Isolation.FULL, CONTAINER)
    text = str(refusal.value)
    assert all(f"{layer} (not here)" in text for layer in NAMESPACES)
    assert "--isolation=no-namespaces" in text and "landlock (" not in text
    assert select_required_layers(Isolation.NO_NAMESPACES, CONTAINER) == select_layers(CONTAINER)


@pytest.mark.parametrize(
    ("given", "best"),
    [
        ((UID, LANDLOCK, SECCOMP), "no-namespaces"),
        ((LANDLOCK, SECCOMP, *NAMESPACES), "same-user"),
        ((UID, LANDLOCK, SECCOMP, NETWORK, IPC, MOUNTS), "no-namespaces"),
        ((PID, LANDLOCK, SECCOMP, NETWORK, IPC, MOUNTS), "same-user"),
        ((UID, SECCOMP, *NAMESPACES), "none"),
        ((), "none"),
    ],
)
def test_a_refusal_suggests_the_strongest_level_that_the_machine_has(given: tuple[Layer, ...], best: str) -> None:
    with pytest.raises(GradlabError, match=f"--isolation={best}: "):
        select_required_layers(Isolation.FULL, make_machine(*given))


def test_an_ordinary_user_with_user_namespaces_lacks_nothing() -> None:
    states = make_machine(PID, LANDLOCK, SECCOMP, *NAMESPACES)
    assert {PID, KEEPER} <= select_required_layers(Isolation.FULL, states)


def test_a_keeper_is_needed_with_a_uid_only_in_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "has_capability", lambda _: True)
    assert not {PID, KEEPER} & select_layers(make_machine(*LAYERS))
    monkeypatch.setattr(doctor, "has_capability", lambda _: False)
    assert {PID, KEEPER} <= select_layers(make_machine(*LAYERS))
    assert not {PID, KEEPER} & select_layers(CONTAINER)


def test_a_wrong_level_is_reported() -> None:
    with pytest.raises(GradlabError, match=r"choose one of full, no-namespaces, same-user, none"):
        parse_isolation("most")


def test_a_uid_that_cannot_reach_python_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_closed_paths", lambda _: [Path("/root")])
    with pytest.raises(GradlabError, match="chmod o\\+x"):
        select_required_layers(Isolation.NO_NAMESPACES, CONTAINER)


@pytest.mark.parametrize("identity", WITH_CONTAINER)
def test_no_layer_of_full_isolation_is_missing_for_this_identity(identity: str, needs: Needs) -> None:
    needs(LANDLOCK, SECCOMP, *NAMESPACES, PID, identity=identity)
    assert attempt(lambda _: list_missing_for_full(), identity=identity).value == []


def list_missing_for_full() -> list[str]:
    return doctor.list_missing(Isolation.FULL, find_layers())


def test_the_report_has_a_line_for_each_layer_and_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_closed_paths", lambda _: [])
    lines = list(report_layers(CONTAINER))
    assert [name for name, _, _ in lines] == [*map(str, LAYERS), *(f"--isolation={level}" for level in LEVELS)]
    assert dict((name, given) for name, given, _ in lines)["--isolation=no-namespaces"]


def test_unix_sockets_are_allowed_if_no_socket_of_others_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_reachable_sockets", lambda _: ["/run/bus"])
    assert choose_network(frozenset({MOUNTS})) == "local"
    assert choose_network(frozenset({MOUNTS, NETWORK})) == "gloo"
    assert choose_network(frozenset({UID})) == "pairs"
    monkeypatch.setattr(doctor, "find_reachable_sockets", lambda _: [])
    assert choose_network(frozenset({UID})) == "local"


def test_a_socket_with_a_name_is_found() -> None:
    outcome = attempt(lambda world: str(world.path_socket) in doctor.find_reachable_sockets(5), identity=IDENTITIES[0])
    assert outcome.value is True


def test_a_layer_is_known_by_its_name() -> None:
    assert len({layer.name for layer in LAYERS}) == len(LAYERS)
    assert list_layer_names(LAYERS) == sorted(str(layer) for layer in LAYERS)


def test_no_layer_takes_from_a_later_one_what_that_one_needs() -> None:
    turn = sort_layers(LAYERS)
    assert {KEEPER, MOUNTS, HOME, LIMITS} <= {*turn[: turn.index(UID)]}
    assert turn.index(PID) < turn.index(KEEPER) < turn.index(MOUNTS)  # only a process in it can mount its /proc
    assert turn.index(UID) < turn.index(PRIVILEGES) < turn.index(LANDLOCK) < turn.index(SECCOMP)
    assert turn[-1] is SECCOMP


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": frozenset({UID})}, "needs a uid if, and only if"),
        ({"layers": frozenset(), "uid": 5}, "needs a uid if, and only if"),
        ({"layers": frozenset({PID})}, "needs the layer keeper"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words):
        prepare(Plan(tmp_path, **change))  # type: ignore[arg-type]


def test_gloo_is_refused_on_a_machine_with_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from autograder.sandbox import namespaces

    plan = Plan(tmp_path, frozenset(), network="gloo")
    monkeypatch.setattr(namespaces, "has_only_loopback", lambda: False)
    with pytest.raises(GradlabError, match="gloo needs"):
        prepare(plan)
    monkeypatch.setattr(namespaces, "has_only_loopback", lambda: True)
    prepare(plan)


def test_a_run_never_returns_into_its_parents_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise SystemExit("back to the grader")

    parent_pid = os.getpid()
    try:
        cases = [
            (Plan(tmp_path, frozenset(), open_descriptors=(2,)), fail, 1),
            (Plan(tmp_path, frozenset(), open_descriptors=(2,)), lambda: None, 0),
            (Plan(tmp_path, frozenset({LANDLOCK}), readable=(tmp_path / "absent",)), fail, NOT_ENTERED),
        ]
        for plan, act, status in cases:
            run = launch(plan, act)
            assert os.waitstatus_to_exitcode(os.waitpid(run.pid, 0)[1]) == status
    finally:
        if os.getpid() != parent_pid:
            os._exit(0)
    assert "absent" in capfd.readouterr().err


def test_a_process_of_two_threads_is_refused() -> None:
    def act(world: object) -> None:
        stop = threading.Event()
        threading.Thread(target=stop.wait, daemon=True).start()
        enter(Plan(Path("/tmp"), frozenset()))

    assert attempt(act).error == "RuntimeError"
