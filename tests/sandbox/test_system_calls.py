"""seccomp's list, call by call: each is refused before the kernel looks at its arguments."""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import platform
import socket
import stat
from pathlib import Path

import pytest

from autograder.sandbox import seccomp
from autograder.sandbox.layers import SECCOMP
from tests.sandbox import acts
from tests.sandbox.attempts import IDENTITIES, ROOT, World, assert_stopped, attempt
from tests.sandbox.conftest import Needs

# Numbers of x86-64; arguments with which the call, if allowed, would do nothing.
CALLS: dict[str, tuple[int, ...]] = {
    "ptrace": (101, 99, 0, 0, 0),
    "process_vm_readv": (310, 0, 0, 0, 0, 0, 1),
    "process_vm_writev": (311, 0, 0, 0, 0, 0, 1),
    "process_madvise": (440, -1, 0, 0, 0, 1),
    "kcmp": (312, 0, 0, 99, 0, 0),
    "pidfd_getfd": (438, -1, 0, 1),
    "pidfd_send_signal": (424, -1, 0, 0, 1),
    "bpf": (321, 999, 0, 0),
    "perf_event_open": (298, 0, 0, 0, -1, 0),
    "userfaultfd": (323, 0xFFFF),
    "keyctl": (250, 999),
    "add_key": (248, 0, 0, 0, 0, 0),
    "request_key": (249, 0, 0, 0, 0),
    "mount": (165, 0, 0, 0, 0, 0),
    "umount2": (166, 0, 0xFFFF),
    "pivot_root": (155, 0, 0),
    "chroot": (161, 0),
    "open_tree": (428, -1, 0, 0xFFFFFFFF),
    "open_tree_attr": (467, -1, 0, 0xFFFFFFFF, 0, 0),
    "move_mount": (429, -1, 0, -1, 0, 0xFFFFFFFF),
    "fsopen": (430, 0, 0xFFFF),
    "mount_setattr": (442, -1, 0, 0xFFFFFFFF, 0, 0),
    "setns": (308, -1, 0),
    "unshare": (272, 1),
    "name_to_handle_at": (303, -1, 0, 0, 0, 0xFFFF),
    "open_by_handle_at": (304, -1, 0, 0),
    "io_uring_setup": (425, 0, 0),
    "io_uring_enter": (426, -1, 0, 0, 0, 0, 0),
    "io_uring_register": (427, -1, 0, 0, 0),
    "shmget": (29, 0, 0, 0),
    "msgget": (68, 1, 0),
    "semget": (64, 1, 0, 0),
    "mq_open": (240, 0, 0, 0, 0),
    "init_module": (175, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0xFFFF),
    "quotactl": (179, 0, 0, 0, 0),
    "io_setup": (206, 0, 0),
    "landlock_create_ruleset": (444, 0, 0, 0),
    "landlock_add_rule": (445, -1, 0, 0, 0),
    "landlock_restrict_self": (446, -1, 0),
    "fanotify_init": (300, 0xFFFFFFFF, 0),
    "prctl(PR_SET_DUMPABLE)": (157, 4 | 1 << 32, 9),
    "prctl(PR_SET_SECCOMP)": (157, 22 | 1 << 32, 9),
    "seccomp": (317, 1, 0xFFFF, 0),
    "personality is left": (135, 0xFFFFFFFF),
}
REFUSED_TO_USERS = {"mount", "umount2", "pivot_root", "chroot", "open_by_handle_at", "fsopen", "fanotify_init"} | {
    *(
        "init_module",
        "kexec_load",
        "mount_setattr",
        "move_mount",
        "bpf",
        "perf_event_open",
        "open_tree_attr",
        "mq_open",
    ),
    *("quotactl", "userfaultfd", "open_tree", "landlock_restrict_self"),
}
x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86-64")


@x86_64
@pytest.mark.parametrize("identity", IDENTITIES)
def test_each_denied_call_is_refused(identity: str, needs: Needs) -> None:
    needs(SECCOMP, identity=identity)

    def outcomes(_: World) -> dict[str, int]:
        outcomes_by_call = {}
        for name, (number, *arguments) in CALLS.items():
            try:
                acts.call_raw(number, *arguments)
                outcomes_by_call[name] = 0
            except OSError as error:
                outcomes_by_call[name] = error.errno or 0
        return outcomes_by_call

    free_outcomes, filtered_outcomes = (
        attempt(outcomes, *layers, identity=identity).value for layers in ((), (SECCOMP,))
    )
    let_past = [name for name, number in filtered_outcomes.items() if number != errno.EPERM]
    assert let_past == ["personality is left"]
    exempt_calls = REFUSED_TO_USERS if identity == "user" else set()
    refused_anyway = {name for name, number in free_outcomes.items() if number == errno.EPERM} - exempt_calls
    assert not refused_anyway, "these prove nothing: the kernel refuses them without seccomp"


@x86_64
@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize(
    "number",
    [435, 319, 40, 275, 276, 278],
    ids=["clone3", "memfd_create", "sendfile", "splice", "tee", "vmsplice"],
)
def test_calls_that_have_a_substitute_are_absent(number: int, identity: str, needs: Needs) -> None:
    needs(SECCOMP, identity=identity)
    assert not attempt(lambda _: acts.call_raw(number, 0, 0), identity=identity).by(errno.ENOSYS)
    assert attempt(lambda _: acts.call_raw(number, 0, 0), SECCOMP, identity=identity).by(errno.ENOSYS)


@x86_64
@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("bit", seccomp.NEW_NAMESPACE_BITS, ids=hex)
def test_clone_makes_no_namespace(bit: int, identity: str, needs: Needs) -> None:
    """With only CLONE_SIGHAND the kernel returns EINVAL, so the call makes no process even if it's allowed."""
    needs(SECCOMP, identity=identity)
    flags = bit | 0x800
    assert attempt(lambda _: acts.call_raw(56, flags, 0, 0, 0, 0), identity=identity).by(errno.EINVAL)
    assert attempt(lambda _: acts.call_raw(56, flags, 0, 0, 0, 0), SECCOMP, identity=identity).by(errno.EPERM)


@x86_64
def test_32_bit_system_calls_are_refused(needs: Needs) -> None:
    """int 0x80 with i386's number of getpid: the filter knows no calls of that kind, and kills."""
    needs(SECCOMP)

    def knock(_: World) -> bool:
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(bytes.fromhex("b814000000cd80c3"))
        address = ctypes.addressof(ctypes.c_char.from_buffer(code))
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid()

    free = attempt(knock)
    if free.stopped:
        pytest.skip("this kernel runs no 32-bit system calls")
    assert free.value is True
    assert attempt(knock, SECCOMP).error == "died"


@pytest.mark.skipif(not ROOT, reason="only root could make one without the layer")
def test_no_device_nodes(needs: Needs) -> None:
    needs(SECCOMP)

    def disk(world: World) -> None:
        os.mknod(world.scratch / "disk", stat.S_IFBLK | 0o600, os.makedev(254, 0))

    assert_stopped(disk, SECCOMP, by=(errno.EPERM,))
    assert not attempt(lambda world: os.mkfifo(world.scratch / "pipe"), SECCOMP).stopped


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_new_session_is_simulated_so_no_run_gets_an_extra_processor_share(identity: str, needs: Needs) -> None:
    needs(SECCOMP, identity=identity)

    def sessions(_: World) -> list[bool]:
        """For a child that leads no group: whether it has a new session afterwards, and how the call ended."""
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.write(writing, b"own" if os.getsid(0) == os.getpid() else b"old")
            os._exit(0)
        os.wait()
        return [os.read(reading, 3) == b"own"]

    assert attempt(sessions, identity=identity).value == [True]
    assert attempt(sessions, SECCOMP, identity=identity).value == [False]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_threads_processes_and_programs_still_start(identity: str, needs: Needs) -> None:
    needs(SECCOMP, identity=identity)
    import subprocess
    import threading

    def start(_: World) -> bytes:
        thread = threading.Thread(target=ctypes.get_errno)
        thread.start()
        thread.join()
        return subprocess.run(["/bin/echo", "hi"], stdout=subprocess.PIPE, check=True).stdout

    assert attempt(start, SECCOMP, identity=identity).value == b"hi\n"


@pytest.mark.parametrize("identity", IDENTITIES)
def test_files_are_copied_and_no_socket_keeps_a_senders_pages(identity: str, needs: Needs) -> None:
    needs(SECCOMP, identity=identity)
    import shutil
    import tempfile

    def copy(_: World) -> tuple[int, int]:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "a"), Path(folder, "b")
            source.write_bytes(b"x" * 100_000)
            shutil.copyfile(source, target)
            size = target.stat().st_size
        try:
            socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, seccomp.SO_ZEROCOPY, 1)
        except OSError as error:
            return size, error.errno or 0
        return size, 0

    assert attempt(copy, SECCOMP, identity=identity).value == (100_000, errno.EPERM)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_locks_of_parts_of_a_file_are_not_kept(identity: str, needs: Needs) -> None:
    """No process is charged for locks, and each byte can have one. A database still works."""
    needs(SECCOMP, identity=identity)
    import sqlite3
    import tempfile

    def lock(_: World) -> tuple[int, int]:
        with tempfile.TemporaryDirectory() as folder, open(Path(folder, "locked"), "wb") as file:
            fcntl.lockf(file, fcntl.LOCK_EX, 10, 5)
            node = os.fstat(file.fileno()).st_ino
            lock_count = sum(f":{node} " in line for line in Path("/proc/locks").read_text().splitlines())
            with contextlib.closing(sqlite3.connect(Path(folder, "database"))) as database:
                database.execute("create table t (x)")
                database.execute("insert into t values (1)")
                database.commit()
                return lock_count, database.execute("select count(*) from t").fetchone()[0]

    assert attempt(lock, identity=identity).value == (1, 1)
    assert attempt(lock, SECCOMP, identity=identity).value == (0, 1)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_buffers_of_sockets_and_pipes_keep_their_sizes(identity: str, needs: Needs) -> None:
    """Their contents belong to no process: the memory watch counts each as large as the kernel makes it."""
    needs(SECCOMP, identity=identity)

    def enlarge(_: World) -> tuple[bool, bool]:
        ends, larger = socket.socketpair(), []
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            before = ends[0].getsockopt(socket.SOL_SOCKET, option)
            ends[0].setsockopt(socket.SOL_SOCKET, option, 2 * before)
            larger.append(ends[0].getsockopt(socket.SOL_SOCKET, option) > before)
        reader, _writer = os.pipe()
        try:
            fcntl.fcntl(reader, seccomp.F_SETPIPE_SZ, 1 << 19)
        except OSError as error:
            return any(larger), error.errno != errno.EPERM
        return any(larger), True

    assert attempt(enlarge, identity=identity).value == (True, True)
    assert attempt(enlarge, SECCOMP, identity=identity).value == (False, False)
