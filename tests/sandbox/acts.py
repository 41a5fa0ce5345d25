"""Actions that a submission may try. Each returns a value on success and raises OSError on failure."""

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import socket
import struct
from pathlib import Path

from autograder.sandbox.system import LIBC, call
from tests.sandbox.attempts import SECRET, World, wait_at_most

PTRACE_ATTACH, PTRACE_DETACH = 16, 17


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_secret(world: World) -> str:
    return world.secret.read_text()


def append_to_secret(world: World) -> None:
    with world.secret.open("a") as file:
        file.write(" forged")


def write_next_to_secret(world: World) -> None:
    (world.secret.parent / "planted").write_text("x")


def list_outside(world: World) -> list[str]:
    return os.listdir(world.secret.parent)


def write_to_prefix(_: World) -> None:
    with open(f"/usr/gradlab-test-{os.getpid()}", "w") as file:
        os.unlink(file.name)


def read_parent_memory(world: World) -> None:
    with open(f"/proc/{world.parent}/mem", "rb", buffering=0) as file:
        file.seek(world.address)
        assert file.read(len(SECRET)) == SECRET


def read_parent_environ(world: World) -> int:
    return len(Path(f"/proc/{world.parent}/environ").read_bytes())


def read_parent_maps(world: World) -> int:
    return len(Path(f"/proc/{world.parent}/maps").read_bytes())


def list_parent_descriptors(world: World) -> list[str]:
    folder = f"/proc/{world.parent}/fd"
    return [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]


def list_parent_root(world: World) -> list[str]:
    return os.listdir(f"/proc/{world.parent}/root/")


def see_parent(world: World) -> bytes:
    return Path(f"/proc/{world.parent}/cmdline").read_bytes()


def trace_parent(world: World) -> None:
    call("ptrace", PTRACE_ATTACH, world.parent, 0, 0)
    os.waitpid(world.parent, 0x40000000)  # __WALL
    call("ptrace", PTRACE_DETACH, world.parent, 0, 0)


def read_parent_by_call(world: World) -> None:
    buffer = ctypes.create_string_buffer(len(SECRET))
    local = _Vector(ctypes.addressof(buffer), len(SECRET))
    remote = _Vector(world.address, len(SECRET))
    call("process_vm_readv", world.parent, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    assert buffer.raw[: len(SECRET)] == SECRET


def signal_parent(world: World) -> None:
    os.kill(world.parent, signal.SIGCONT)


def renice_parent(world: World) -> None:
    os.setpriority(os.PRIO_PROCESS, world.parent, os.getpriority(os.PRIO_PROCESS, world.parent) + 1)


def limit_parent(world: World) -> None:
    import resource

    resource.prlimit(world.parent, resource.RLIMIT_NOFILE)


def be_root(_: World) -> None:
    os.setuid(0)


def connect_tcp(world: World) -> None:
    with socket.socket() as one:
        one.connect(("127.0.0.1", world.tcp))


def bind_tcp(_: World) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()


def send_udp(world: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("127.0.0.1", world.udp))
        one.send(b"the answers")
        one.send(b"an error of the first comes with the second")


def connect_unix(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(world.path_socket))


def connect_abstract(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(world.abstract)


def fork_many(count: int) -> int:
    """Fork children that stay until there are this many; fork() raises the error."""
    children: list[int] = []
    try:
        while len(children) < count:
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return len(children)


def fill(path: Path, size: int) -> None:
    block = b"x" * (1 << 16)
    with path.open("wb", buffering=0) as file:
        for _ in range(size // len(block)):
            if file.write(block) != len(block):
                raise OSError(errno.EFBIG, "a short write")


def call_raw(number: int, *arguments: int) -> int:
    """Make a system call by number, and raise its errno as OSError."""
    ctypes.set_errno(0)
    LIBC.syscall.restype = ctypes.c_long
    try:
        result = int(LIBC.syscall(ctypes.c_long(number), *(ctypes.c_ulong(each) for each in arguments)))
    finally:
        LIBC.syscall.restype = ctypes.c_int
    if result < 0:
        raise OSError(ctypes.get_errno(), "raw")
    return result


def hide_shared_memory(size: int) -> mmap.mmap:
    """Memory in use that no page table shows: filled, then dropped from this process's table."""
    shared = mmap.mmap(-1, size)
    for start in range(0, size, 1 << 20):
        shared[start : start + (1 << 20)] = b"x" * (1 << 20)
    shared.madvise(mmap.MADV_DONTNEED)
    return shared


def start_daemon(alive: int, seconds: int = 300) -> None:
    """Start a process outside its parent's session and tree that ignores signals; `alive` shows that it lives."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            wait_at_most(seconds)
        os._exit(0)
    os.wait()
    fcntl.fcntl(alive, fcntl.F_GETFD)


def list_interface_names() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def send_udp_raw(_: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as one:
        one.sendto(struct.pack("!HHHH", 1, 2, 8, 0), ("127.0.0.1", 0))
