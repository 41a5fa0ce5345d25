"""One process that imports torch, and runs forked from it under every available layer: an honest one, a hostile one and
others. `python -m tests.sandbox.whole_run root user container` prints their results by identity, as JSON."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.font_manager
import matplotlib.pyplot as plt
import torch
import torch._dynamo
from torch.utils.data import DataLoader, TensorDataset

from autograder.sandbox import (
    Isolation,
    Layer,
    Limits,
    Plan,
    adopt_orphans,
    find_runtime_paths,
    list_layer_names,
    select_required_layers,
)
from autograder.sandbox.layers import MOUNTS, PID, PROC
from autograder.sandbox.plan import MIB, Network
from tests.sandbox import acts, attempts
from tests.sandbox.supervision import LONG, supervise, wait_for_looks

LIMITS = Limits(memory=1024 * MIB, disk=64 * MIB, file_size=16 * MIB, processes=60, address_space=4096 * MIB)
REPOSITORY = Path(__file__).parents[2]


def run_gloo_rank(rank: int) -> None:
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{os.environ['HOME']}/meeting", rank=rank, world_size=2)
    total = torch.ones(3) * (rank + 1)
    dist.all_reduce(total)
    assert total.tolist() == [3.0] * 3
    dist.destroy_process_group()


def run_honest(_: attempts.World, control: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    report: dict[str, Any] = {}
    x = torch.ones(64, 64, requires_grad=True)
    (x @ x).sum().backward()
    report["gradient"] = float(x.grad[0, 0]) if x.grad is not None else None
    loader = DataLoader(TensorDataset(torch.arange(16.0)), batch_size=4, num_workers=1)
    report["loaded"] = sum(float(batch.sum()) for (batch,) in loader)
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3])
    axes.set_title("$x^2$")
    figure.savefig("figure.png")
    report["figure"] = Path("figure.png").stat().st_size > 1000
    torch.save({"x": x}, "checkpoint.pt")
    report["checkpoint"] = bool((torch.load("checkpoint.pt")["x"] == x).all())
    report["shared"] = float(torch.ones(10).share_memory_().sum())
    report["program"] = subprocess.run(["/bin/sh", "-c", "echo hi"], capture_output=True, text=True, check=True).stdout
    report["eager"] = float(torch.compile(lambda y: y * 2, backend="eager")(torch.ones(1)))
    report["processes"] = len([name for name in os.listdir("/proc") if name.isdigit()])
    return report


def run_gloo(_: attempts.World, control: int) -> dict[str, Any]:
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            try:
                run_gloo_rank(rank)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    return {"gloo": [os.waitpid(child, 0)[1] for child in children]}


def list_hostile_acts() -> dict[str, Callable[[attempts.World], Any]]:
    return {
        **{act.__name__: act for act in vars(acts).values() if is_act(act)},
        "course": lambda _: (REPOSITORY / "labs" / "course.toml").read_text(),
        "course listed": lambda _: os.listdir(REPOSITORY / "labs"),
        "home of the grader": lambda _: os.listdir(os.path.expanduser("~root")),
        "another's scratch": lambda world: os.listdir(world.secret.parent),
        "passwords": lambda _: Path("/etc/passwd").read_text(),
        "io_uring": lambda _: acts.call_raw(425, 8, 0),
        "unshare": lambda _: acts.call_raw(272, 0x10000000),
        "setns": lambda _: acts.call_raw(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0),
        "mount": lambda _: acts.call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
        "remount": lambda _: acts.call("mount", b"none", b"/usr", b"", 4096 | 32, None),
        "chroot": lambda _: os.chroot("."),
        "memfd": lambda _: os.memfd_create("x"),
        "system v": lambda _: acts.call("shmget", 0, 4096, 0o1600),
        "long file": lambda world: acts.fill(world.scratch / "long", 32 * MIB),
        "full disk": lambda world: [acts.fill(world.scratch / str(n), 15 * MIB) for n in range(6)],
        "full shared memory": lambda _: [acts.fill(Path(f"/dev/shm/{n}"), 15 * MIB) for n in range(6)],
        "write to python": lambda _: Path(sys.prefix, "planted").touch(),
        "write to torch": lambda _: Path(torch.__file__).open("a"),
        "write to /etc": lambda _: Path("/etc/planted").touch(),
        "fork bomb": lambda _: acts.fork_many(500),
        "map too much": lambda _: len(bytearray(8192 * MIB)),
        "root of another": lambda world: os.listdir(f"/proc/{world.parent}/cwd/"),
        "init": lambda _: (
            os.kill(1, 9) if os.getuid() and not os.path.exists("/proc/1/exe") else os.listdir("/proc/1/root/")
        ),
        "sudo": lambda _: subprocess.run(["/bin/su", "-c", "true"], check=True, capture_output=True, stdin=-3),
    }


def is_act(value: object) -> bool:
    names = list(getattr(value, "__annotations__", {}))
    return names[1:] == ["return"] and names[0] in ("world", "_")


def run_hostile(world: attempts.World, control: int) -> dict[str, str]:
    """Name to error, for each attempt; an empty string is an attempt that succeeded."""
    errors = {}
    for name, act in list_hostile_acts().items():
        try:
            act(world)
            errors[name] = ""
        except BaseException as error:
            errors[name] = type(error).__name__
        for path in (*world.scratch.iterdir(), *Path("/dev/shm").glob("?")):
            if path.is_file():
                path.unlink()
    return errors


def run(
    act: Callable[[attempts.World, int], Any],
    layers: frozenset[Layer],
    network: Network,
    world: attempts.World,
) -> dict[str, Any]:
    def act_and_answer(control: int) -> None:
        try:
            answer = act(replace(world, scratch=Path(os.environ["HOME"]).parent), control)
        except BaseException:
            answer = {"error": traceback.format_exc()}
        os.write(control, json.dumps(answer).encode())

    ending = supervise(layers, act_and_answer, LIMITS, network)
    answer = json.loads(ending.output) if ending.output else {}
    return {"limit": ending.limit, "status": ending.status, "left": not ending.is_gone, **answer}


def run_greedy(_: attempts.World, control: int) -> dict[str, Any]:
    ready, go = os.pipe()
    for _ in range(4):
        if os.fork() == 0:
            os.read(ready, 1)
            memory = torch.ones(100 << 20)  # 400 MiB
            attempts.wait_at_most(LONG)
            del memory
    wait_for_looks(control)  # from now on the supervisor counts them as the run's
    os.write(go, b"four")
    attempts.wait_at_most(LONG)
    return {}


def run_leaving(_: attempts.World, control: int) -> dict[str, Any]:
    acts.start_daemon(control)
    return {}


def become_a_user() -> None:
    """If other users can't read the interpreter, show it in a file tree that an ordinary user may walk."""
    from autograder.sandbox import mounts, namespaces

    namespaces.separate({MOUNTS})
    # Its scratch directory is only in the new tree.
    # As with PID: with a /proc that hides nothing, as on most machines.
    layers = frozenset({MOUNTS, PID, PROC})
    mounts.build_file_tree(Plan(Path("/view"), layers, readable=(*find_runtime_paths(), REPOSITORY)))
    for shared in ("/tmp", "/dev/shm"):
        os.chmod(shared, 0o1777)
    attempts.become("user")


def run_as(identity: str) -> dict[str, Any]:
    """Become this user for good, and return the results of all runs."""
    if identity == "user" and attempts.ROOT:
        become_a_user()
    if identity == attempts.CONTAINER:
        attempts.become(identity)
    layers = select_required_layers(Isolation.FULL)
    report: dict[str, Any] = {"layers": list_layer_names(layers), "uid": os.getuid()}
    adopt_orphans()
    runs: dict[str, tuple[Callable[[attempts.World, int], Any], Network]] = {
        "honest": (run_honest, "local"),
        "gloo": (run_gloo, "gloo"),
        "hostile": (run_hostile, "local"),
        "greedy": (run_greedy, "local"),
        "leaving": (run_leaving, "local"),
    }
    with attempts.make_scratch(identity) as outside, attempts.set_up_surroundings(outside) as world:
        for name, (act, network) in runs.items():
            report[name] = run(act, layers, network, world)
    return report


def run_forked(identity: str) -> dict[str, Any]:
    """Do it in a fork, so this process stays what it is."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            answer = run_as(identity)
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        report: dict[str, Any] = json.load(file)
    os.wait()
    return report


if __name__ == "__main__":
    print(json.dumps({identity: run_forked(identity) for identity in sys.argv[1:]}))
