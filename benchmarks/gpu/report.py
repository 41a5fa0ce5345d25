"""A part of the run on a GPU: what it is given, what came of it, and the page that says so."""

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

from autograder.model.course import Lab
from autograder.sandbox import find_layers, find_strongest_level
from autograder.sandbox.gpu import list_gpus

RESULTS = Path(__file__).parents[1] / "results" / "gpu"


@dataclass(frozen=True)
class Context:
    """device: what labkit.device() gives. jobs: submissions at a time."""

    device: str
    labs: Sequence[Lab]
    jobs: int


@dataclass(frozen=True)
class PartResult:
    """status: passed, failed, or not possible here. lines: Markdown, a reason first where it did not pass."""

    status: str
    lines: Sequence[str] = field(default_factory=list)


def passed_if(good: bool, lines: Sequence[str]) -> PartResult:
    return PartResult("passed" if good else "failed", lines)


def missing_device(device: str) -> str:
    """Why there is no such device here; empty where there is. Asks the driver: CUDA in this process could not fork."""
    if device.startswith("cuda") and not list_gpus():
        return "nvidia-smi, which comes with the driver, names no GPU here"
    if device.startswith("cuda") and torch.version.cuda is None:
        return f"torch {torch.__version__} was built without CUDA"
    return ""


def run_part(name: str, part: Callable[[Context], PartResult], context: Context, missing: str) -> str:
    """Run it, write RESULTS/name.md with its time, and give its status."""
    start = time.perf_counter()
    try:
        outcome = PartResult("not possible here", [missing]) if missing else part(context)
    except Exception:
        outcome = PartResult("failed", ["```", traceback.format_exc().rstrip(), "```"])
    seconds = time.perf_counter() - start
    on = ", ".join(list_gpus()) if context.device.startswith("cuda") else f"{context.device}, a stand-in"
    facts = {
        "status": outcome.status,
        "on": on or "no GPU",
        "seconds": round(seconds),
        "labs": len(context.labs),
        "jobs": context.jobs,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        "isolation": find_strongest_level(find_layers()),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    listed = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    text = f"# {name}\n\n{listed}\n\n" + "\n".join(outcome.lines) + "\n"
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(text, flush=True)
    return outcome.status


def write_index() -> None:
    """RESULTS/README.md: a line for each part that has ever been run here."""
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        rows.append(
            f"| [{path.stem}]({path.stem}.md) | {facts['status']} | {facts['on']} | {facts['seconds']} | "
            f"{facts['torch']} |"
        )
    head = "# On a GPU\n\n| part | status | on | seconds | torch |\n|---|---|---|---|---|\n"
    (RESULTS / "README.md").write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
