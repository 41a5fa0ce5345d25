"""A part of the run on a GPU: what it receives, what it returns, and the report that it writes."""

from __future__ import annotations

import json
import os
import platform
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from autograder.base.device import Device
from autograder.model.course import Lab
from autograder.sandbox import find_layers, find_strongest_level
from autograder.sandbox.gpu import list_gpus

RESULTS = Path(__file__).parents[1] / "results" / "gpu"


@dataclass(frozen=True)
class GpuContext:
    """What a part receives."""

    device: Device
    """What labkit.device() returns."""
    labs: Sequence[Lab]
    jobs: int
    """How many submissions are graded at a time."""


@dataclass(frozen=True)
class PartResult:
    """What a part returns."""

    status: str
    """"passed", "failed", or "not possible here"."""
    lines: Sequence[str] = field(default_factory=list)
    """Markdown. If the part isn't possible here, the first line is the reason."""


def judge_part(good: bool, lines: Sequence[str]) -> PartResult:
    return PartResult("passed" if good else "failed", lines)


def explain_missing_device(device: Device) -> str:
    """Explain why there's no such device here; empty if there is one.

    It asks the driver, since a process that has initialized CUDA can't be forked.
    """
    if device is Device.CUDA and not list_gpus():
        return "nvidia-smi, which is part of the driver, lists no GPU here"
    if device is Device.CUDA and torch.version.cuda is None:
        return f"torch {torch.__version__} was built without CUDA"
    return ""


def run_part(name: str, part: Callable[[GpuContext], PartResult], context: GpuContext, reason: str) -> str:
    """Run a part, write its report to RESULTS/name.md, and return its status.

    Args:
        reason: Why there's no device to run it on; empty if there is one.
    """
    start = time.perf_counter()
    try:
        outcome = PartResult("not possible here", [reason]) if reason else part(context)
    except Exception:
        outcome = PartResult("failed", ["```", traceback.format_exc().rstrip(), "```"])
    seconds = time.perf_counter() - start
    device = ", ".join(list_gpus()) if context.device is Device.CUDA else f"{context.device}, a stand-in"
    facts = {
        "status": outcome.status,
        "on": device or "no GPU",
        "seconds": round(seconds),
        "labs": len(context.labs),
        "jobs": context.jobs,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        "isolation": find_strongest_level(find_layers()),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    fact_list = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    text = f"# {name}\n\n{fact_list}\n\n" + "\n".join(outcome.lines) + "\n"
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(text, flush=True)
    return outcome.status


def write_index() -> None:
    """Write RESULTS/README.md, with a row for each part that has a report."""
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        rows.append(
            f"| [{path.stem}]({path.stem}.md) | {facts['status']} | {facts['on']} | {facts['seconds']} | "
            f"{facts['torch']} |"
        )
    head = "# On a GPU\n\n| part | status | on | seconds | torch |\n|---|---|---|---|---|\n"
    (RESULTS / "README.md").write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
