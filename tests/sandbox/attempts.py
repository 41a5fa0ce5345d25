"""Forks that try a forbidden action, as root or as an ordinary user, under the named layers only."""

import ctypes
import errno
import os
import pickle
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from ctypes import addressof, create_string_buffer
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.sandbox.entry import enter
from autograder.sandbox.layers import UID
from autograder.sandbox.plan import Layer, Plan, find_runtime_paths
from autograder.sandbox.privileges import LINUX_CAPABILITY_VERSION_3, make_dumpable
from autograder.sandbox.system import PR_CAPBSET_DROP, call, prctl, read_status

# Numbers for this process only: a kill by uid must not reach another test that is running.
_BASE = 61_200 + os.getpid() % 1000 * 4
USER = _BASE  # the ordinary user: no entry in /etc/passwd, no group
STUDENT = _BASE + 1  # the run's own uid, if root gives one; the next one is free as well
ROOT = os.geteuid() == 0
IDENTITIES = ("root", "user") if ROOT else ("user",)
CONTAINER = "container"  # root as a container has it: the capabilities that Docker and Podman keep by default
WITH_CONTAINER = (*IDENTITIES, CONTAINER) if ROOT else IDENTITIES
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, sys_chroot, setfcap
OF_A_CONTAINER = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 31})


@dataclass(frozen=True)
class Outcome:
    """The value that the attempt returned, or the error that stopped it."""

    value: Any = None
    error: str = ""  # an exception's type
    number: int = 0  # its errno

    @property
    def stopped(self) -> bool:
        return bool(self.error)

    def by(self, *numbers: int) -> bool:
        return self.number in numbers


@dataclass(frozen=True)
class World:
    """The surroundings of an attempt."""

    parent: int  # a process of the same user, outside the sandbox
    scratch: Path
    secret: Path  # a file that the same user may read, outside the plan
    tcp: int
    udp: int
    path_socket: Path
    abstract: bytes
    address: int  # of bytes in the parent's memory


Act = Callable[[World], Any]
SECRET = b"a secret of the parent"


def become(identity: str) -> None:
    if identity == CONTAINER:
        keep_capabilities(OF_A_CONTAINER)
    if identity == "user" and ROOT:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        make_dumpable()
        find_runtime_paths.cache_clear()  # fewer are open to this user


def keep_capabilities(capabilities: Collection[int]) -> None:
    """Give up all others, for the programs that this process starts as well."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in {*range(last + 1)} - {*capabilities}:
        prctl(PR_CAPBSET_DROP, capability)
    now = int(read_status()["CapPrm"], 16) & sum(1 << capability for capability in capabilities)
    data = (ctypes.c_uint32 * 6)(now & 0xFFFFFFFF, now & 0xFFFFFFFF, 0, now >> 32, now >> 32, 0)
    call("capset", (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0), data)


@contextmanager
def make_scratch(identity: str, uid: int | None = None) -> Iterator[Path]:
    """A directory on a path that all users may traverse, unlike pytest's tmp_path."""
    path = Path(tempfile.mkdtemp(prefix="gradlab-test-", dir="/tmp"))
    if uid is not None or (identity == "user" and ROOT):
        owner = USER if uid is None else uid
        os.chown(path, owner, owner)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def attempt(act: Act, *layers: Layer, identity: str = "root", **plan: Any) -> Outcome:
    """Run act(world) in a child under only these layers, and return the outcome. Its parent has the same identity."""
    uid = STUDENT if UID in layers else None
    with make_scratch(identity, uid) as own_scratch, make_scratch(identity) as outside_scratch:
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0:
            os.close(reading)
            try:
                become(identity)
                _run_middle(act, Plan(own_scratch, frozenset(layers), uid=uid, **plan), outside_scratch, writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(middle, 0)
        return pickle.loads(answer) if answer else Outcome(error="died")


@contextmanager
def set_up_surroundings(outside: Path) -> Iterator[World]:
    """Targets around a run whose parent is this process; the run's creator fills in `scratch`."""
    secret, path_socket = outside / "secret", outside / "socket"
    secret.write_text("expected = 42")
    secret.chmod(0o600)
    os.chmod(outside, 0o755)
    memory = create_string_buffer(SECRET)
    name = f"\0gradlab-test-{os.getpid()}".encode()
    with (
        socket.socket() as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        named.bind(str(path_socket))
        os.chmod(path_socket, 0o777)
        abstract.bind(name)
        for each in (tcp, named, abstract):
            each.listen()
        ports = tcp.getsockname()[1], udp.getsockname()[1]
        yield World(os.getpid(), outside, secret, *ports, path_socket, name, addressof(memory))


def _run_middle(act: Act, plan: Plan, outside: Path, writing: int) -> None:
    with set_up_surroundings(outside) as world:
        child = os.fork()
        if child == 0:
            try:
                enter(replace(plan, open_descriptors=(*plan.open_descriptors, writing)))
                outcome = Outcome(act(replace(world, scratch=plan.scratch)))
            except BaseException as error:
                outcome = Outcome(error=type(error).__name__, number=getattr(error, "errno", 0) or 0)
            finally:
                os.write(writing, pickle.dumps(outcome))
                os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)


@cache
def try_without_layers(act: Act, identity: str) -> Outcome:
    """The outcome without any layer, which is the same for every layer that is tried."""
    return attempt(act, identity=identity)


def assert_stopped(act: Act, *layers: Layer, identity: str = "root", by: tuple[int, ...] = (), **plan: Any) -> None:
    """Assert that the attempt succeeds without the layers, so the test can fail, and is stopped with them."""
    free = try_without_layers(act, identity)
    assert not free.stopped, f"fails without {layers} as well: {free}"
    outcome = attempt(act, *layers, identity=identity, **plan)
    assert outcome.stopped, f"{layers} let it pass: {outcome}"
    if by:
        names = [errno.errorcode[number] for number in by]
        assert outcome.by(*by), f"{outcome}, not {names}"


def wait_at_most(seconds: float) -> None:
    """Wait to be killed, but not forever. A pid namespace's first process ignores an alarm that it has no handler for."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        signal.pause()
