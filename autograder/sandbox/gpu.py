"""GPU memory as NVIDIA's driver reports it. Stops a run from taking the memory of a shared GPU from others.

nvidia-smi comes with the driver. It creates no CUDA context in this process, which couldn't be forked after that.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

NVIDIA_SMI = ("nvidia-smi",)
ANSWER_SECONDS = 60.0  # in case the driver hangs; on a busy machine a program takes a while to start


def list_gpus(program: Sequence[str] = NVIDIA_SMI) -> list[str]:
    """Return the name and driver of each GPU; nothing if there's no driver."""
    return [" driver ".join(fields) for fields in _query_driver(program, "--query-gpu=name,driver_version")]


def measure_gpu_memory(program: Sequence[str] = NVIDIA_SMI) -> dict[int, int]:
    """Return the bytes of each process on all GPUs, by pid. In a container, the driver may show host pids or none."""
    used: dict[int, int] = {}
    for pid, mebibytes in _query_driver(program, "--query-compute-apps=pid,used_gpu_memory"):
        if pid.isdigit() and mebibytes.isdigit():
            used[int(pid)] = used.get(int(pid), 0) + (int(mebibytes) << 20)
    return used


def _query_driver(program: Sequence[str], query: str) -> list[list[str]]:
    """Return the fields of each line of the answer; nothing if there's no answer."""
    command = [*program, query, "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = answer.stdout.splitlines() if answer.returncode == 0 else []
    return [[field.strip() for field in line.split(",")] for line in lines if line.count(",") == 1]
