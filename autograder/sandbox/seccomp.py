"""seccomp. Stops a run from using system calls that a lab doesn't need.

That includes all but unix sockets, ptrace and process_vm_*, io_uring, new namespaces and mounts, memory that no file or
process is charged for (memfd, System V, pages in pipes and sockets, locks, rules of Landlock, further filters), device
nodes, keys, bpf, TIOCSTI, reading what is in the page cache, and larger buffers. It doesn't stop kill or /proc/PID/mem.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import stat
import tempfile
from typing import Any

from autograder.base.errors import GradlabError
from autograder.sandbox.plan import Layer, Network, Stage
from autograder.sandbox.system import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl

SECCOMP_MODE_FILTER = 2
LOW_32_BITS = 0xFFFFFFFF
DENIED = """
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd pidfd_send_signal
    bpf perf_event_open userfaultfd keyctl add_key request_key lookup_dcookie syslog acct
    mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr
    setns unshare name_to_handle_at open_by_handle_at fanotify_init quotactl quotactl_fd swapon swapoff
    io_uring_setup io_uring_enter io_uring_register
    init_module finit_module delete_module kexec_load kexec_file_load reboot sethostname setdomainname
    settimeofday clock_settime clock_adjtime adjtimex iopl ioperm modify_ldt vm86 vm86old move_pages migrate_pages
    memfd_secret shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semtimedop semctl
    mq_open mq_unlink
    fadvise64 readahead mincore preadv2 pwritev2 io_setup seccomp
""".split()
# Newer than libseccomp 2.5. These numbers are the same on every architecture.
DENIED_BY_NUMBER = {
    "open_tree_attr": 467,
    "cachestat": 451,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
# Fail as if they didn't exist, so callers use their fallback.
ABSENT = ("clone3", "memfd_create", "vmsplice", "tee", "splice", "sendfile")
# Do nothing but report success. Each session would get its own share of the processor.
PRETENDED = ("setsid",)
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, LAST_FAMILY = 1, 2, 10, 16, 63
SOCK_STREAM, SOCK_TYPE_MASK, NETLINK_ROUTE = 1, 0xF, 0
NEW_NAMESPACE_BITS = (0x00000080, 0x00020000, *(1 << bit for bit in range(25, 31)))
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
SOL_SOCKET, F_SETPIPE_SZ = 1, 1031
LOCKS = (6, 7, 37, 38)  # F_SETLK, F_SETLKW and the same for open files
BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF and the same by force
SO_ZEROCOPY = 60


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


@functools.cache
def build_filter(network: Network = "local") -> bytes:
    """Build the filter as the kernel takes it. It takes 10 ms once, so a fork server calls it before it forks."""
    seccomp = _import_library()
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    denied, absent = seccomp.ERRNO(errno.EPERM), seccomp.ERRNO(errno.ENOSYS)
    for name in DENIED:
        _add(rules, denied, name)
    for number in DENIED_BY_NUMBER.values():
        rules.add_rule(denied, number)
    for name in ABSENT:
        _add(rules, absent, name)
    for name in PRETENDED:
        _add(rules, seccomp.ERRNO(0), name)

    def match_argument(argument: int, mask: int, value: int) -> Any:
        # The kernel reads 32 bits of these: if all 64 were compared, a high bit would bypass the filter.
        return seccomp.Arg(argument, seccomp.MASKED_EQ, mask, value)

    for bit in NEW_NAMESPACE_BITS:
        rules.add_rule(denied, "clone", match_argument(0, bit, bit))
    # A process that hides from its own user also hides from the watch.
    rules.add_rule(denied, "prctl", match_argument(0, LOW_32_BITS, PR_SET_DUMPABLE))
    # A filter kept by a descriptor takes half a megabyte that no process is charged for.
    rules.add_rule(denied, "prctl", match_argument(0, LOW_32_BITS, PR_SET_SECCOMP))
    # The watch assumes the default size of a socket's buffer. Programs enlarge it for speed, but don't need to.
    for option in BUFFER_SIZES:
        buffer_size = match_argument(1, LOW_32_BITS, SOL_SOCKET), match_argument(2, LOW_32_BITS, option)
        _add(rules, seccomp.ERRNO(0), "setsockopt", *buffer_size)
    # A page in a pipe or a socket keeps the whole huge page that it's part of, and no process is charged.
    zero_copy = match_argument(1, LOW_32_BITS, SOL_SOCKET), match_argument(2, LOW_32_BITS, SO_ZEROCOPY)
    _add(rules, denied, "setsockopt", *zero_copy)
    rules.add_rule(denied, "fcntl", match_argument(1, LOW_32_BITS, F_SETPIPE_SZ))
    # The kernel stores each locked range, up to one per byte. Locks aren't needed: all processes are one student's.
    for command in LOCKS:
        _add(rules, seccomp.ERRNO(0), "fcntl", match_argument(1, LOW_32_BITS, command))
    for request in (TIOCSTI, TIOCLINUX):
        rules.add_rule(denied, "ioctl", match_argument(1, LOW_32_BITS, request))
    for name, argument in {"mknod": 1, "mknodat": 2}.items():
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            _add(rules, denied, name, match_argument(argument, 0xF000, kind))
    _add_sockets(seccomp, rules, denied, network)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add_sockets(seccomp: Any, rules: Any, denied: int, network: Network) -> None:
    allowed = {"local": {AF_UNIX}, "pairs": set(), "gloo": {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}}[network]
    for name in ("socket", "socketpair"):
        families = allowed | {AF_UNIX} if name == "socketpair" else allowed
        # One rule for each small number, and one for all greater ones, so no number is left out.
        for family in set(range(LAST_FAMILY + 1)) - families:
            rules.add_rule(denied, name, seccomp.Arg(0, seccomp.EQ, family))
        rules.add_rule(denied, name, seccomp.Arg(0, seccomp.GT, LAST_FAMILY))
    if network == "gloo":
        for family in (AF_INET, AF_INET6):
            for kind in set(range(SOCK_TYPE_MASK + 1)) - {SOCK_STREAM}:
                socket_type = seccomp.Arg(1, seccomp.MASKED_EQ, SOCK_TYPE_MASK, kind)
                rules.add_rule(denied, "socket", seccomp.Arg(0, seccomp.EQ, family), socket_type)
        other_protocol = seccomp.Arg(2, seccomp.NE, NETLINK_ROUTE)
        rules.add_rule(denied, "socket", seccomp.Arg(0, seccomp.EQ, AF_NETLINK), other_protocol)


def _add(rules: Any, action: int, name: str, *arguments: Any) -> None:
    try:
        rules.add_rule(action, name, *arguments)
    except OSError as error:
        # EDOM: this architecture doesn't have the call. A name that libseccomp doesn't know is an error.
        if error.errno != errno.EDOM:
            raise OSError(error.errno, f"seccomp: no rule for {name}") from error


def _import_library() -> Any:
    try:
        import pyseccomp  # type: ignore[import-untyped]
    except ImportError as error:
        raise GradlabError("it needs pyseccomp: pip install pyseccomp") from error
    except RuntimeError as error:
        raise GradlabError("it needs libseccomp2: apt-get install libseccomp2") from error
    return pyseccomp


def restrict_system_calls(network: Network = "local") -> None:
    """Restrict this process and its children to the allowed system calls. The last layer, since others need more."""
    code = build_filter(network)
    instructions = ctypes.create_string_buffer(code, len(code))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(_Program(len(code) // 8, ctypes.addressof(instructions))))


SECCOMP = Layer(
    "seccomp",
    Stage.FILTER,
    lambda entry: restrict_system_calls(entry.plan.network),
    prepare=lambda plan: build_filter(plan.network),
)
