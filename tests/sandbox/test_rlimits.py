"""rlimits, each tested by hitting it."""

import errno
import mmap
import os
import resource
import signal
import threading
from collections.abc import Callable

import pytest

from autograder.sandbox.layers import LIMITS, NETWORK, PRIVILEGES, UID
from autograder.sandbox.plan import MIB, Layer, Limits
from autograder.sandbox.rlimits import read_mapped_bytes
from tests.sandbox import acts
from tests.sandbox.attempts import CONTAINER, IDENTITIES, ROOT, WITH_CONTAINER, World, assert_stopped, attempt
from tests.sandbox.conftest import Needs

SMALL = Limits(processes=8, file_size=MIB, descriptors=64, cpu_seconds=1, address_space=64 * MIB)


@pytest.mark.parametrize(
    ("identity", "layers"),
    [
        ("root", (LIMITS, UID)),
        ("root", (LIMITS, UID, NETWORK)),
        ("user", (LIMITS,)),
        ("user", (LIMITS, NETWORK)),
        (CONTAINER, (LIMITS, UID, NETWORK)),
    ],
)
def test_a_fork_bomb_ends(identity: str, layers: tuple[Layer, ...], needs: Needs) -> None:
    if identity not in WITH_CONTAINER:
        pytest.skip("needs root")
    needs(*layers, identity=identity)
    assert_stopped(lambda _: acts.fork_many(12), *layers, identity=identity, by=(errno.EAGAIN,), limits=SMALL)
    assert attempt(lambda _: acts.fork_many(5), *layers, identity=identity, limits=SMALL).value == 5


@pytest.mark.skipif(not ROOT, reason="a separate uid needs root")
def test_threads_count_as_processes(needs: Needs) -> None:
    needs(UID)

    def many_threads(_: World) -> None:
        stop = threading.Event()
        threads = [threading.Thread(target=stop.wait) for _ in range(12)]
        try:
            for thread in threads:
                thread.start()
        finally:
            stop.set()

    assert_stopped(many_threads, LIMITS, UID, limits=SMALL)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("layers", [(LIMITS,)])
def test_files_end_at_their_limit(identity: str, layers: tuple[Layer, ...]) -> None:
    def too_long(world: World) -> None:
        acts.fill(world.scratch / "long", 2 * MIB)

    assert_stopped(too_long, *layers, identity=identity, by=(errno.EFBIG,), limits=SMALL)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_memory_files_end_at_the_same_limit(identity: str) -> None:
    def in_memory(_: World) -> None:
        os.ftruncate(os.memfd_create("big"), 2 * MIB)

    assert_stopped(in_memory, LIMITS, identity=identity, by=(errno.EFBIG,), limits=SMALL)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_run_cannot_open_more_descriptors_than_its_limit(identity: str) -> None:
    def many(_: World) -> None:
        for _ in range(100):
            os.open("/dev/null", os.O_RDONLY)

    assert_stopped(many, LIMITS, identity=identity, by=(errno.EMFILE,), limits=SMALL)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize(
    "map_it", [lambda: bytearray(128 * MIB), lambda: mmap.mmap(-1, 128 * MIB)], ids=["heap", "map"]
)
def test_address_space_ends(map_it: Callable[[], object], identity: str) -> None:
    assert_stopped(lambda _: len(map_it()), LIMITS, identity=identity, limits=SMALL)  # type: ignore[arg-type]
    assert not attempt(lambda _: len(bytearray(16 * MIB)), LIMITS, identity=identity, limits=SMALL).stopped


def test_address_space_is_unlimited_if_cuda_needs_it() -> None:
    limits = Limits(address_space=None)
    assert not attempt(lambda _: mmap.mmap(-1, 1 << 38, flags=0x4022).close(), LIMITS, limits=limits).stopped
    assert read_mapped_bytes() > MIB


def test_processor_time_ends() -> None:
    def loop(_: World) -> None:
        while True:
            pass

    assert attempt(loop, LIMITS, limits=SMALL).error == "died"
    soft = attempt(lambda _: resource.getrlimit(resource.RLIMIT_CPU), LIMITS, limits=SMALL)
    assert soft.value == (1, 2)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_limits_cannot_be_raised(identity: str, needs: Needs) -> None:
    layers = (LIMITS, PRIVILEGES) if identity == "root" else (LIMITS,)

    def raise_them(_: World) -> None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard if hard < 0 else hard + 1))

    assert attempt(raise_them, *layers, identity=identity, limits=SMALL).error in ("ValueError", "PermissionError")


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_crash_leaves_no_core(identity: str) -> None:
    def crash(world: World) -> bool:
        os.chdir(world.scratch)
        child = os.fork()
        if child == 0:
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
            signal.signal(signal.SIGABRT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGABRT)
        return os.WCOREDUMP(os.waitpid(child, 0)[1]) or any(name.startswith("core") for name in os.listdir("."))

    if not attempt(crash, identity=identity).value:
        pytest.skip("this machine writes no cores anyway")
    assert attempt(crash, LIMITS, identity=identity, limits=SMALL).value is False
