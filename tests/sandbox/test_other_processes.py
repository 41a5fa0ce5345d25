"""Layers that keep a run from other processes: a uid, Landlock, a pid namespace, seccomp, no privileges."""

import errno
import os
import select
import signal
from collections.abc import Collection
from pathlib import Path

import pytest

from autograder.sandbox import keeper, landlock
from autograder.sandbox.descriptors import close_all_but
from autograder.sandbox.entry import enter
from autograder.sandbox.layers import KEEPER, LANDLOCK, MOUNTS, NETWORK, PID, PRIVILEGES, PROC, SECCOMP, UID
from autograder.sandbox.plan import Layer, Plan
from autograder.sandbox.privileges import make_undumpable
from autograder.sandbox.system import CAP_SYS_ADMIN, has_capability
from tests.sandbox import acts
from tests.sandbox.attempts import (
    CONTAINER,
    IDENTITIES,
    ROOT,
    USER,
    WITH_CONTAINER,
    Act,
    World,
    assert_stopped,
    attempt,
    become,
    make_scratch,
    wait_at_most,
)
from tests.sandbox.conftest import Needs

READING = [
    acts.read_parent_memory,
    acts.read_parent_environ,
    acts.read_parent_maps,
    acts.list_parent_descriptors,
    acts.list_parent_root,
]
TRACING = [acts.trace_parent, acts.read_parent_by_call]
DENIED = (errno.EACCES, errno.EPERM)


@pytest.mark.skipif(not ROOT, reason="a separate uid needs root")
@pytest.mark.parametrize(("identity", "layers"), [("root", ()), (CONTAINER, ()), (CONTAINER, (NETWORK,))])
@pytest.mark.parametrize(
    "act", [*READING, *TRACING, acts.signal_parent, acts.renice_parent, acts.limit_parent, acts.be_root]
)
def test_a_uid_may_do_nothing_to_roots_processes(
    act: Act, identity: str, layers: tuple[Layer, ...], needs: Needs
) -> None:
    needs(UID, *layers, identity=identity)
    assert_stopped(act, UID, *layers, identity=identity, by=DENIED)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", [*READING, *TRACING])
def test_landlock_keeps_from_processes_of_the_same_user(act: Act, identity: str, needs: Needs) -> None:
    needs(LANDLOCK, identity=identity)
    if identity == "root" and act in (acts.read_parent_environ, acts.read_parent_maps):
        # Linux lets CAP_PERFMON read these whatever Landlock says: root must have given up its capabilities.
        assert not attempt(act, LANDLOCK).stopped
        assert_stopped(act, LANDLOCK, PRIVILEGES, by=DENIED)
    else:
        assert_stopped(act, LANDLOCK, identity=identity, by=DENIED)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_landlock_scopes_signals(identity: str, needs: Needs) -> None:
    needs(LANDLOCK, identity=identity)
    if landlock.read_abi() < 6:
        pytest.skip(f"Landlock of ABI {landlock.read_abi()} has no scopes")
    assert_stopped(acts.signal_parent, LANDLOCK, identity=identity, by=DENIED)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", [acts.signal_parent, acts.trace_parent, acts.read_parent_by_call, acts.renice_parent])
def test_a_pid_namespace_has_no_other_processes(act: Act, identity: str, needs: Needs) -> None:
    needs(PID, identity=identity)
    assert_stopped(act, PID, KEEPER, identity=identity, by=(errno.ESRCH,))


# Layers that give a run its own mounts and an identity that may not read the memory of others.
IN_USER_NAMESPACE = (MOUNTS, PID, KEEPER)
IN_ITS_TREE = {
    "root": (MOUNTS, UID) if has_capability(CAP_SYS_ADMIN) else (UID, *IN_USER_NAMESPACE),
    "user": IN_USER_NAMESPACE,
    CONTAINER: (UID, *IN_USER_NAMESPACE),
}


@pytest.mark.parametrize("identity", WITH_CONTAINER)
def test_proc_shows_no_other_process(identity: str, needs: Needs) -> None:
    layers = (*IN_ITS_TREE[identity], PROC)
    needs(*layers, identity=identity)
    assert_stopped(acts.see_parent, *layers, identity=identity, by=(errno.ENOENT,))


@pytest.mark.parametrize("identity", WITH_CONTAINER)
@pytest.mark.parametrize("added_layers", [(), (LANDLOCK, PRIVILEGES)])
def test_the_machines_proc_shows_others_but_nothing_in_them(
    identity: str, added_layers: tuple[Layer, ...], needs: Needs
) -> None:
    """Without a separate /proc: what is visible, and what the other layers close, each without Landlock."""
    layers = (*IN_ITS_TREE[identity], *added_layers)
    needs(*layers, identity=identity)
    assert not attempt(acts.see_parent, *layers, identity=identity).stopped
    for act in READING:
        assert_stopped(act, *layers, identity=identity, by=DENIED)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", TRACING)
def test_seccomp_has_no_tracing(act: Act, identity: str, needs: Needs) -> None:
    needs(SECCOMP, identity=identity)
    assert_stopped(act, SECCOMP, identity=identity, by=(errno.EPERM,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_hidden_process_is_closed_to_its_own_user(identity: str) -> None:
    """Protects a grader without root if Landlock is missing: root may do everything and isn't kept out."""
    if identity == "root":
        identity = "user"

    def read(hidden: bool) -> int:
        child = os.fork()
        if child == 0:
            become(identity)
            if hidden:
                make_undumpable()
            reader = os.fork()
            if reader == 0:
                try:
                    os._exit(0 if Path(f"/proc/{os.getppid()}/environ").read_bytes() else 2)
                except PermissionError:
                    os._exit(1)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert (read(hidden=False), read(hidden=True)) == (0, 1)


@pytest.mark.skipif(not ROOT, reason="only root can make a setuid program")
def test_setuid_programs_give_no_privileges() -> None:
    path = f"/var/tmp/gradlab-test-setuid-{os.getpid()}"
    with open("/bin/cat", "rb") as source, open(path, "wb") as copy:
        copy.write(source.read())
    os.chmod(path, 0o4755)

    with open(f"{path}-secret", "w") as secret:
        os.chmod(secret.name, 0o600)

    def read_as_root(_: World) -> None:
        if os.spawnv(os.P_WAIT, path, [path, secret.name]) != 0:
            raise PermissionError(errno.EPERM, "not root")

    try:
        assert_stopped(read_as_root, PRIVILEGES, identity="user", by=(errno.EPERM,))
    finally:
        os.unlink(path)
        os.unlink(secret.name)


@pytest.mark.skipif(not ROOT, reason="an ordinary user has no capabilities")
def test_no_capability_is_left_of_root() -> None:
    def give_away(world: World) -> None:
        path = world.scratch / "file"
        path.touch()
        os.chown(path, USER, USER)

    assert_stopped(give_away, PRIVILEGES, by=(errno.EPERM,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_no_capability_is_left_of_a_user_namespace(identity: str, needs: Needs) -> None:
    needs(NETWORK, identity=identity)
    layers = (NETWORK, PRIVILEGES)

    def capabilities(_: World) -> list[str]:
        with open("/proc/self/status") as file:
            return [
                line.split()[1].strip("0") for line in file if line.startswith(("CapPrm", "CapEff", "CapInh", "CapAmb"))
            ]

    assert any(attempt(capabilities, NETWORK, identity=identity).value)
    assert attempt(capabilities, *layers, identity=identity).value == [""] * 4


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("layers", [(), (PRIVILEGES,), (KEEPER,), (KEEPER, PID)])
def test_a_run_dies_with_its_grader(identity: str, layers: tuple[Layer, ...], needs: Needs) -> None:
    """A pipe that only the run holds open ends when it dies; without a layer it does not."""
    needs(*layers, identity=identity)
    with make_scratch(identity) as path:
        reading, writing = os.pipe()
        grader = os.fork()
        if grader == 0:
            try:
                become(identity)
                if os.fork() == 0:
                    enter(Plan(path, frozenset(layers), open_descriptors=(writing,)))
                    os.write(writing, os.getpid().to_bytes(8))
                    wait_at_most(300)
                wait_at_most(300)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            run = int.from_bytes(pipe.read(8))
            os.kill(grader, signal.SIGKILL)
            os.waitpid(grader, 0)
            ready = select.select([pipe], [], [], 300 if layers else 0.5)[0]
            if not layers:
                os.kill(run, signal.SIGKILL)
            assert bool(ready) is bool(layers)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_run_waits_for_a_keeper_that_starts_late(
    identity: str, needs: Needs, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = (KEEPER, MOUNTS, PID, PROC)
    needs(*layers, identity=identity)

    def close_late(keep: Collection[int]) -> None:
        """Lose the processor at the worst moment: there is no /dev/null while the run builds its file tree."""
        for _ in range(100_000):  # a run that waits never brings that moment about
            if not os.path.exists(os.devnull):
                break
        close_all_but(keep)

    monkeypatch.setattr(keeper, "close_all_but", close_late)
    assert attempt(lambda _: os.getpid(), *layers, identity=identity).value == 1
