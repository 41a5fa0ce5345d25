"""The kill that reaches escapees, and the memory watch: as root by uid, as an ordinary user by the keeper's tree."""

import contextlib
import ctypes
import mmap
import os
import pickle
import platform
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from autograder.sandbox.entry import launch
from autograder.sandbox.kill import adopt_orphans, has_processes, kill_run
from autograder.sandbox.layers import DESCRIPTORS, KEEPER, PID, UID
from autograder.sandbox.namespaces import NETWORK
from autograder.sandbox.plan import MIB, Limits, Plan
from autograder.sandbox.processes import Run, find_run_processes, find_uid_processes
from autograder.sandbox.system import PR_SET_DUMPABLE, prctl
from autograder.sandbox.uid import POOL, claim_uid, rotate_pool
from tests.sandbox import acts
from tests.sandbox.attempts import CONTAINER, ROOT, STUDENT, WITH_CONTAINER, become, make_scratch, wait_at_most
from tests.sandbox.conftest import Needs
from tests.sandbox.supervision import LONG, RunEnd, measure_own_memory, supervise, wait_for_looks
from tests.waiting import wait_until

pytestmark = pytest.mark.gate

T = TypeVar("T")

WAYS = {
    "uid": ("root", (UID,)),
    "keeper as root": ("root", (KEEPER,)),
    "keeper": ("user", (KEEPER,)),
    "pid namespace": ("user", (KEEPER, PID)),
    "uid and pid namespace": ("root", (UID, KEEPER, PID)),
    "uid and network namespace": ("root", (UID, NETWORK)),
    "pid and network namespace": ("user", (KEEPER, PID, NETWORK)),
    "uid in a container": (CONTAINER, (UID,)),
    "uid and user namespace": (CONTAINER, (UID, KEEPER, PID)),
}
every_way = pytest.mark.parametrize("way", WAYS)


def run_and_judge(
    way: str, act: Callable[[int], object], judge: Callable[[Run], object], patience: float = LONG
) -> tuple[object, bool]:
    """Fork a run that does act(pipe), and return judge(run), and whether the pipe has ended after it.

    Only the run's processes hold the pipe: it ends when the last of them is dead. patience: seconds to wait
    for that.
    """
    identity, layers = WAYS[way]
    uid = STUDENT if UID in layers else None
    with make_scratch(identity, uid) as path:

        def fork_and_judge() -> tuple[object, bool]:
            alive, write_end = os.pipe()
            run = launch(
                Plan(path, frozenset({*layers, DESCRIPTORS}), uid=uid, open_descriptors=(write_end,)),
                lambda: (os.write(write_end, b"x"), act(write_end)),
            )
            os.close(write_end)
            assert os.read(alive, 1) == b"x"
            result = judge(run)
            return result, bool(select.select([alive], [], [], patience)[0] and os.read(alive, 64) == b"")

        return act_as(identity, fork_and_judge)


def run_supervised(
    way: str,
    act: Callable[[int], None],
    bound: int = 1 << 40,
    looks: int | None = None,
    more: int | None = None,
) -> RunEnd:
    """Run act(control) under a supervisor of that identity, and return how it ends."""
    identity, layers = WAYS[way]
    limits = Limits(memory=bound)
    return act_as(identity, lambda: supervise((*layers, DESCRIPTORS), act, limits, looks=looks, more=more))


def act_as(identity: str, act: Callable[[], T]) -> T:
    """Run act() in a fork of that identity that adopts orphans, and return its result."""
    answers, answer = os.pipe()
    child = os.fork()
    if child == 0:
        result: object = None
        try:
            become(identity)
            adopt_orphans()
            result = act()
        except BaseException as error:
            result = AssertionError(repr(error))
        finally:
            os.write(answer, pickle.dumps(result))
            os._exit(0)
    os.close(answer)
    with os.fdopen(answers, "rb") as pipe:
        reply = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    if isinstance(reply, AssertionError):
        raise reply
    result: T = reply
    return result


def check_needs(way: str, needs: Needs) -> None:
    identity, layers = WAYS[way]
    if identity not in WITH_CONTAINER:
        pytest.skip("needs root")
    needs(*layers, identity=identity)


def start_escapees(write_end: int) -> None:
    for _ in range(3):
        acts.start_daemon(write_end)
    stopped_pid = os.fork()
    if stopped_pid == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    wait_at_most(LONG)


def hop(write_end: int) -> None:
    """A process that keeps changing its pid: each generation forks the next and ends."""
    if os.fork():
        wait_at_most(LONG)
    os.setsid()
    for _ in range(10**6):
        if os.fork():
            os._exit(0)


def kill_it(run: Run) -> bool:
    kill_run(run)
    os.waitpid(run.pid, 0)
    # The kernel takes the last of them off its list.
    wait_until(lambda: run.uid is None or not has_processes(run.uid), "no process of its uid is left")
    return True


def kill_only_the_first(run: Run) -> bool:
    """Once its daemons are there, kill only the first pid."""
    wait_until(lambda: len(find_run_processes(run)) >= 5, "its daemons run")
    os.kill(run.pid, signal.SIGKILL)
    os.waitpid(run.pid, 0)
    return True


@every_way
@pytest.mark.parametrize("act", [start_escapees, hop])
def test_a_kill_reaches_processes_that_escaped(way: str, act: Callable[[int], object], needs: Needs) -> None:
    check_needs(way, needs)
    assert run_and_judge(way, act, kill_it) == (True, True)


@pytest.mark.skipif(not ROOT, reason="a separate uid needs root")
def test_a_kill_of_the_first_pid_leaves_processes_that_escaped() -> None:
    assert run_and_judge("uid", start_escapees, kill_only_the_first, patience=0.5) == (True, False)
    assert has_processes(STUDENT)
    # Processes that a dead grader left under a uid are dead before that uid is used again.
    with claim_uid([STUDENT]):
        assert not find_uid_processes(STUDENT)


@every_way
def test_a_run_that_ends_leaves_nothing(way: str, needs: Needs) -> None:
    def leave_and_end(control: int) -> None:
        acts.start_daemon(control)
        os._exit(3)

    check_needs(way, needs)
    ending = run_supervised(way, leave_and_end)
    assert ending.status is not None and os.waitstatus_to_exitcode(ending.status) == 3
    assert ending.is_gone and ending.limit == ""


@every_way
def test_a_signal_is_reported_like_an_exit(way: str, needs: Needs) -> None:
    check_needs(way, needs)
    ending = run_supervised(way, lambda _: ctypes.string_at(0) and None)
    assert ending.status is not None and os.waitstatus_to_exitcode(ending.status) == -signal.SIGSEGV


@every_way
def test_a_run_that_is_stopped_leaves_nothing(way: str, needs: Needs) -> None:
    check_needs(way, needs)
    ending = run_supervised(way, start_escapees, looks=10)
    assert ending.status is None and ending.is_gone


TAKEN = [0]  # bytes that a greedy run takes, more than its bound


def fill(size: int) -> bytearray:
    block = bytearray(size)
    block[:: resource.getpagesize()] = b"x" * (len(block) // resource.getpagesize())
    return block


def hold_one_big_block(_: int) -> None:
    block = fill(TAKEN[0])
    wait_at_most(LONG)
    block.clear()


def hold_many_small_blocks(control: int) -> None:
    ready, go = os.pipe()
    for _ in range(5):
        if os.fork() == 0:
            os.read(ready, 1)
            block = fill(TAKEN[0] // 5)
            wait_at_most(LONG)
            block.clear()
    wait_for_looks(control)  # from now on the supervisor counts them as the run's
    os.write(go, b"five!")
    wait_at_most(LONG)


def hold_shared_memory(_: int) -> None:
    memory = acts.hide_shared_memory(TAKEN[0])
    wait_at_most(LONG)
    memory.close()


def hold_shared_memory_in_parts(_: int) -> None:
    memories = [acts.hide_shared_memory(TAKEN[0] // 10) for _ in range(10)]
    wait_at_most(LONG)
    memories.clear()


def fill_memory_file(_: int) -> None:
    descriptor = os.memfd_create("big")
    os.ftruncate(descriptor, TAKEN[0])
    mapping = mmap.mmap(descriptor, TAKEN[0])
    mapping[:: resource.getpagesize()] = b"x" * (len(mapping) // resource.getpagesize())
    wait_at_most(LONG)


def hold_unreadably(write_end: int) -> None:
    prctl(PR_SET_DUMPABLE, 0)
    hold_shared_memory(write_end)


def hold_in_escapee(control: int) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            wait_for_looks(control)
            hold_one_big_block(control)
        os._exit(0)
    wait_at_most(LONG)


def hold_without_first_thread(write_end: int) -> None:
    def alone() -> None:
        block = fill(TAKEN[0])
        time.sleep(LONG)  # no alarm: only the first thread can set one
        block.clear()

    threading.Thread(target=alone).start()
    acts.call_raw(SYS_EXIT)


def start_other_programs(control: int) -> None:
    """Each maps and shares less than this process's initial memory."""
    ready, go = os.pipe()
    hog = f"import mmap, time; m = mmap.mmap(-1, {40 * MIB}); m[::4096] = bytes(len(m) // 4096); time.sleep({LONG})"
    for _ in range(6):
        if os.fork() == 0:
            os.close(go)
            os.read(ready, 1)
            for program in (
                "/usr/bin/python3",
                sys.executable,
            ):  # other users can't read the second if it is root's
                with contextlib.suppress(OSError):
                    os.execv(program, [program, "-I", "-S", "-c", hog])
    wait_for_looks(control)  # from now on the supervisor counts them as the run's, and doesn't just kill them
    os.close(go)
    wait_at_most(LONG)


GREEDY = [
    hold_one_big_block,
    hold_many_small_blocks,
    hold_shared_memory,
    hold_shared_memory_in_parts,
    fill_memory_file,
    hold_unreadably,
    hold_in_escapee,
    hold_without_first_thread,
]
SYS_EXIT = {"x86_64": 60}.get(platform.machine(), 93)  # of one thread; exit_group ends all


OFTEN, RARELY = ("uid", "keeper"), ("pid namespace", "uid in a container", "uid and user namespace")


@pytest.mark.parametrize(
    ("act", "way"),
    [
        *((act, way) for act in GREEDY for way in OFTEN),
        *((GREEDY[0], way) for way in RARELY),
        *(pytest.param(act, way, marks=pytest.mark.nightly) for act in GREEDY[1:] for way in RARELY),
    ],
)
def test_a_run_that_takes_more_memory_than_its_bound_is_ended(
    act: Callable[[int], object], way: str, needs: Needs
) -> None:
    check_needs(way, needs)
    own_memory = measure_own_memory()  # a run that ends its first process no longer holds this
    TAKEN[0] = (own_memory // (10 * MIB) + 13) * 10 * MIB  # a tenth of it is whole, too
    assert_ended_by_memory(run_supervised(way, act_when_watched(act), more=100 * MIB))


def act_when_watched(act: Callable[[int], object]) -> Callable[[int], None]:
    def wait_and_act(control: int) -> None:
        wait_for_looks(control)
        act(control)

    return wait_and_act


def assert_ended_by_memory(ending: RunEnd) -> None:
    assert ending.limit == "memory" and ending.is_gone


@pytest.mark.parametrize("way", ["uid", "keeper", "pid namespace"])
def test_memory_that_other_programs_share_counts_even_if_each_is_smaller_than_the_first_process(
    way: str, needs: Needs
) -> None:
    check_needs(way, needs)
    with mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):  # address space, as torch takes
        assert_ended_by_memory(run_supervised(way, act_when_watched(start_other_programs), more=120 * MIB))


def leave_pairs_unread(_: int) -> None:
    """Fill as many socket buffers as the descriptors allow."""
    pairs = [socket.socketpair() for _ in range(150)]
    wait_at_most(LONG)
    pairs.clear()


def leave_sockets_in_flight(_: int) -> None:
    """The same in sockets that no process has open: they travel in another one."""
    carrier, _end = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    carrier.setblocking(False)
    sockets = [carrier]
    with contextlib.suppress(OSError):
        for _ in range(300):
            ends = socket.socketpair()
            socket.send_fds(carrier, [b"x"], [each.fileno() for each in ends])
            for each in ends:
                each.close()
    sockets += [each for _ in range(100) for each in socket.socketpair()]
    wait_at_most(LONG)


def leave_kernel_replies_unread(_: int) -> None:
    """Leave replies of netlink unread: it answers up to the size of the socket's buffer."""
    request = struct.pack("=IHHIIBxxx", 20, 18, 0x301, 0, 0, socket.AF_UNSPEC)  # RTM_GETLINK, of all
    sockets = []
    for _ in range(400):
        sockets.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
        sockets[-1].setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(400):
                sockets[-1].send(request)
    wait_at_most(LONG)


def leave_connections_unread(_: int) -> None:
    """Send one byte on each, for which the kernel can use as much memory as for a full buffer."""
    listener, sockets = socket.socket(socket.AF_INET), []
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    for _ in range(220):
        sockets.append(socket.socket(socket.AF_INET))
        sockets[-1].connect(listener.getsockname())
        sockets[-1].send(b"x")
        sockets.append(listener.accept()[0])
    wait_at_most(LONG)


def leave_datagrams_of_closed_senders(_: int) -> None:
    """Leave datagrams as large as a buffer in their receivers after their senders' sockets are gone."""
    sockets = []
    for number in range(40):
        sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        sockets[-1].bind(f"\0gradlab test {number}")
        for _ in range(11):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(b"x" * 200_000, f"\0gradlab test {number}")
    wait_at_most(LONG)


def leave_records_unread(_: int) -> None:
    """Leave records of one byte unread, each in its own buffer."""
    listener, sockets = socket.socket(socket.AF_INET), []
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    for _ in range(12):
        sender = socket.socket(socket.AF_INET)
        sender.connect(listener.getsockname())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets += [sender, listener.accept()[0]]
        sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(20_000):
                sender.send(b"x", socket.MSG_EOR)
    wait_at_most(LONG)


UNREAD = [leave_pairs_unread, leave_sockets_in_flight, leave_kernel_replies_unread, leave_connections_unread]
UNREAD += [leave_datagrams_of_closed_senders, leave_records_unread]


@pytest.mark.parametrize("way", ["uid and network namespace", "pid and network namespace"])
@pytest.mark.parametrize("act", UNREAD)
def test_memory_that_sockets_may_hold_counts(way: str, act: Callable[[int], object], needs: Needs) -> None:
    check_needs(way, needs)
    assert_ended_by_memory(run_supervised(way, act_when_watched(act), more=40 * MIB))


@pytest.mark.parametrize("way", ["uid", "keeper", "uid in a container", "uid and user namespace"])
def test_pages_that_a_fork_shares_count_once(way: str, needs: Needs) -> None:
    check_needs(way, needs)

    def fork_in_turn(control: int) -> None:
        wait_for_looks(control)
        block = fill(60 * MIB)
        for _ in range(3):
            if os.fork() == 0:
                wait_at_most(LONG)
        wait_for_looks(control, 5)
        block.clear()

    # Every fork has this process's memory and the block: counted once they fit, counted four times they don't.
    ending = run_supervised(way, fork_in_turn, bound=measure_own_memory() + 120 * MIB)
    assert ending.limit == "" and ending.peak >= 60 * MIB


@pytest.mark.skipif(not ROOT, reason="a separate uid needs root")
def test_a_process_cannot_hide_from_the_watch_of_its_uid(needs: Needs) -> None:
    """/proc/PID belongs to root when a process makes itself undumpable; its status still names its uid."""
    needs(UID)

    def hidden(write_end: int) -> None:
        prctl(PR_SET_DUMPABLE, 0)
        wait_at_most(LONG)

    def see(run: Run) -> bool:
        wait_until(lambda: os.stat(f"/proc/{run.pid}/status").st_uid == 0, "the process is undumpable")
        is_seen = run.pid in find_run_processes(run)
        kill_it(run)
        return is_seen

    assert run_and_judge("uid", hidden, see) == (True, True)


@pytest.mark.skipif(not ROOT, reason="a separate uid needs root")
def test_a_run_that_was_seen_before_it_took_its_uid_is_seen_again(needs: Needs) -> None:
    """Otherwise the container's grader takes it for a process that a check left, and kills it with the first check cell."""
    needs(UID)

    def see(run: Run) -> bool:
        is_seen = run.pid in find_run_processes(run, {run.pid})
        kill_it(run)
        return is_seen

    assert run_and_judge("uid", lambda _: wait_at_most(LONG), see) == (True, True)


@pytest.mark.skipif(not ROOT, reason="the pool needs root")
def test_no_uid_is_claimed_twice_nor_taken_from_a_person() -> None:
    pool = [0, 1, STUDENT, STUDENT + 1]
    with claim_uid(pool) as first, claim_uid(pool) as second:
        assert {first, second} == {STUDENT, STUDENT + 1}


def test_a_uid_is_not_taken_from_a_container_below(needs: Needs) -> None:
    """Its grader's locks are in the container; its run must go on."""
    check_needs("uid and pid namespace", needs)

    def claim(run: Run) -> tuple[bool, int]:
        with claim_uid([STUDENT, STUDENT + 1]) as uid:
            other = uid == STUDENT + 1
        process_count = len(find_run_processes(run))
        kill_it(run)
        return other, process_count

    assert run_and_judge("uid and pid namespace", lambda _: wait_at_most(LONG), claim) == ((True, 1), True)


def test_each_container_begins_at_its_own_place_of_the_pool() -> None:
    orders = [rotate_pool(POOL, namespace) for namespace in range(4026532000, 4026532020)]
    assert all(sorted(order) == list(POOL) for order in orders)
    assert len({order[0] for order in orders}) > 15
