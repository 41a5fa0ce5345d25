"""A class in which two of three students attack, graded end to end in the sandbox, with a canary in every secret."""

import copy
import ctypes
import hashlib
import json
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook

from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import read_results
from autograder.gradebook.submission_result import SubmissionResult
from autograder.reports.feedback import write_feedback
from tests.conftest import NIGHTLY
from tests.hostile.attackers import hand_in, list_attack_names, read_attack
from tests.hostile.edits import LAB, LAB_SOURCE, write
from tests.hostile.small_class import make_course, make_folder

LEFT = f"left-by-an-attack-{os.getpid()}"
HIDDEN_INPUT, HIDDEN_WANT = "48151.625", "96303.25"
HIDDEN_DIGITS = ("48151", "96303")  # in any notation
# Checks that use a result before they compare it, as in real labs.
MORE_CHECKS = """\
with check("sum", "the sum is doubled too"):
    assert_close(double(torch.ones(4)).sum(), torch.tensor(8.0))
with check("rows", "and each row"):
    assert_close(torch.stack(list(double(torch.ones(2, 3)))), torch.full((2, 3), 2.0))
"""
LIMITS = """
c.Examine.cell_seconds = 2
c.Examine.check_seconds = 1.0
c.Examine.submission_seconds = 3600
c.Examine.memory_gib = 1.0
"""
SHARED_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/", "/root", "/etc", "/usr/local/bin", "/run")


@dataclass
class AttackedClass:
    """The class after grading. outputs: those of all cells that aren't the course's checks, as JSON."""

    results: dict[str, SubmissionResult]
    failures: dict[str, str]
    outputs: dict[str, str]
    pages: dict[str, str]
    canaries: list[str]
    breach: str
    damage: list[str]
    left: list[str]
    heard: list[str] = field(default_factory=list)


def make_attacker_id(name: str) -> str:
    return f"{list_attack_names().index(name):03d}_{name}"


def list_followed() -> tuple[str, ...]:
    """Every fourth attack, by night every second, and the last: an honest student follows.

    The others are followed by the next attacker.
    """
    return list_attack_names()[:: -2 if NIGHTLY else -4]


def make_follower_id(name: str) -> str:
    """The id of the honest student who is graded next."""
    return f"{make_attacker_id(name)}_then_honest"


def grade_attacked(root: Path) -> AttackedClass:
    canaries = {
        kind: f"canary-{kind}-{secrets.token_hex(8)}"
        for kind in ("hidden", "solution", "config", "gradebook", "neighbor", "environment", "memory")
    }
    breach, old_pids = f"breach-{secrets.token_hex(8)}", frozenset(_list_pids())
    with ExitStack() as stack:
        attack_values, heard = stack.enter_context(_set_up_surroundings())
        memory = ctypes.create_string_buffer(canaries["memory"].encode())
        os.environ["GRADLAB_TEST_SECRET"] = canaries["environment"]
        stack.callback(os.environ.pop, "GRADLAB_TEST_SECRET")
        sound = make_course(root, LAB, _build_lab_source(canaries))
        with (root / "nbgrader_config.py").open("a") as config:
            config.write(f"{LIMITS}# {canaries['config']}\n")
        attack_values |= {
            "COURSE": str(root),
            "NEIGHBOR": "000_a_neighbor",
            "BREACH": breach,
            "ADDRESS": ctypes.addressof(memory),
        }
        neighbor = copy.deepcopy(sound)
        neighbor["cells"][1]["source"] += f"\n{canaries['neighbor']}"
        write(make_folder(root, "000_a_neighbor", LAB), neighbor)
        for name in list_attack_names():
            folder = make_folder(root, make_attacker_id(name), LAB)
            hand_in(read_attack(name), folder, copy.deepcopy(sound), attack_values)
            if name in list_followed():
                write(make_folder(root, make_follower_id(name), LAB), sound)
        api = open_course(root)
        with Gradebook(api.db_url, "gradlab") as book:
            book.add_student("registrar", last_name=canaries["gradebook"])
        before = _hash_files(root)
        failures = {outcome.student: outcome.failure for outcome in grade_lab(api, LAB) if outcome.failure}
        damage = sorted({str(path) for path, _ in before.items() ^ _hash_files(root).items()})
        results = read_results(api.db_url, root, LAB)
        attacks = [result for result in results if result.student in map(make_attacker_id, list_attack_names())]
        pages = {p.parent.parent.name: p.read_text() for p in write_feedback(attacks, root, LAB)}
        outputs = {r.student: _read_outputs(root, r.student) for r in results}
        return AttackedClass(
            {r.student: r for r in results},
            failures,
            outputs,
            pages,
            list(canaries.values()),
            breach,
            damage,
            [*_list_files_left(Path(attack_values["DROP"])), *_list_processes_left(old_pids)],
            heard(),
        )


def _build_lab_source(canaries: dict[str, str]) -> str:
    hidden = f'    marker = "{canaries["hidden"]}"\n    assert_close(double(torch.tensor([3.5])), torch.tensor([7.0]))'
    source = LAB_SOURCE.replace("    assert_close(double(torch.tensor([3.5])), torch.tensor([7.0]))", hidden)
    source = source.replace("[3.5]", f"[{HIDDEN_INPUT}]").replace("[7.0]", f"[{HIDDEN_WANT}]")
    source = source.replace("3.5 gives 7", "another number is doubled")
    source = source.replace("# ---- lab.py\n", f"{MORE_CHECKS}# ---- lab.py\n", 1)
    source = source.replace("-> example, another\n", "-> example, another, sum, rows\n")
    return source.replace("    return 2 * x\n", f"    return 2 * x  # {canaries['solution']}\n")


@contextmanager
def _set_up_surroundings() -> Iterator[tuple[dict[str, Any], Any]]:
    """(values that an attacker gets about this machine, a function that lists all messages on its sockets)."""
    drop = Path(tempfile.mkdtemp(prefix="gradlab-drop-", dir="/tmp"))
    drop.chmod(0o777)
    folder = Path(tempfile.mkdtemp(prefix="gradlab-socket-", dir="/tmp"))
    folder.chmod(0o755)
    abstract = f"gradlab-test-{os.getpid()}"
    with (
        socket.socket() as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as nameless,
    ):
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        unix.bind(str(folder / "socket"))
        nameless.bind(f"\0{abstract}")
        (folder / "socket").chmod(0o777)
        for each in (tcp, unix, nameless):
            each.listen()
        attack_values = {
            "DROP": str(drop),
            "GRADER": os.getpid(),
            "LEFT": LEFT,
            "TCP": tcp.getsockname()[1],
            "UDP": udp.getsockname()[1],
            "UNIX": str(folder / "socket"),
            "ABSTRACT": abstract,
        }
        try:
            yield (
                attack_values,
                lambda: [*_list_heard((tcp, unix, nameless), "accept"), *_list_heard((udp,), "recv", 100)],
            )
        finally:
            shutil.rmtree(drop)
            shutil.rmtree(folder)


def _list_heard(sockets: tuple[socket.socket, ...], act: str, *arguments: int) -> list[str]:
    heard = []
    for one in sockets:
        one.setblocking(False)
        try:
            heard.append(f"{one}: {getattr(one, act)(*arguments)}")
        except BlockingIOError:
            continue
    return heard


def _hash_files(root: Path) -> dict[Path, str]:
    """Hashes of all files that grading doesn't write: the course's own, and the submissions."""
    paths = [p for top in ("labs", "source", "release", "solutions", "submitted") for p in (root / top).rglob("*")]
    paths += [p for p in root.iterdir() if p.is_file() and not p.name.startswith("gradebook.db")]
    # The runner renames links in the submission's folder.
    renamed_files = [p for p in paths if "submitted" in p.parts and ".not-followed" in p.name]
    return {
        p.relative_to(root).with_name(p.name.removesuffix(".not-run")): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in paths
        if p.is_file() and not p.is_symlink() and p not in renamed_files
    }


def _read_outputs(root: Path, student: str) -> str:
    notebook = json.loads((root / "autograded" / student / LAB / f"{LAB}.ipynb").read_text())
    cells = [c for c in notebook["cells"] if not c["metadata"].get("nbgrader", {}).get("grade")]
    return json.dumps([c.get("outputs", []) for c in cells], ensure_ascii=False)


def _list_files_left(drop: Path) -> list[str]:
    paths = [str(p) for p in drop.iterdir()]
    for place in filter(_is_listable, SHARED_PLACES):
        paths += [f"{place}/{name}" for name in os.listdir(place) if LEFT in name]
    return paths + [
        str(p) for fork_server in _list_fork_servers() for p in (_find_home(fork_server) / "tmp").glob("gradlab-*")
    ]


def _is_listable(place: str) -> bool:
    return os.access(place, os.R_OK | os.X_OK)


def _list_processes_left(old_pids: frozenset[int]) -> list[str]:
    """Processes with the attacks' mark, and children of the fork server, which has none when it's idle.

    old_pids: those from before the grading.
    """
    processes = []
    for pid in sorted({*_list_pids()} - old_pids):
        is_marked = LEFT.encode() in _read(pid, "cmdline")
        if (is_marked or _read_parent(pid) in _list_fork_servers()) and b"\nState:\tZ" not in _read(pid, "status"):
            processes.append(f"process {pid}: {_read(pid, 'cmdline')!r}")
    return processes


def _list_fork_servers() -> list[int]:
    return [
        p
        for p in _list_pids()
        if _read_parent(p) == os.getpid() and b"autograder.forkserver.server" in _read(p, "cmdline")
    ]


def _find_home(pid: int) -> Path:
    names = dict(pair.split(b"=", 1) for pair in _read(pid, "environ").split(b"\0") if b"=" in pair)
    return Path(os.fsdecode(names[b"TMPDIR"])).parent


def _list_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read_parent(pid: int) -> int:
    line = next((text for text in _read(pid, "status").splitlines() if text.startswith(b"PPid:")), b"PPid: 0")
    return int(line.split()[1])


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
