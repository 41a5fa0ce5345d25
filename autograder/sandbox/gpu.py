"""What NVIDIA's driver says from outside. Stops: a run that takes the memory of a shared GPU from its neighbours.

nvidia-smi comes with the driver. Asking it makes no CUDA context in this process, which could not be forked after that.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

NVIDIA_SMI = ("nvidia-smi",)
ANSWER_SECONDS = 60.0  # a driver that hangs; on a busy machine a program that starts takes a while


def list_gpus(program: Sequence[str] = NVIDIA_SMI) -> list[str]:
    """Name and driver of each GPU; none where the driver is not here."""
    return [" driver ".join(fields) for fields in _query_driver(program, "--query-gpu=name,driver_version")]


def measure_gpu_memory(program: Sequence[str] = NVIDIA_SMI) -> dict[int, int]:
    """Bytes that each process holds on all GPUs, by pid. In a container the driver may show the host's pids or none."""
    held: dict[int, int] = {}
    for pid, mebibytes in _query_driver(program, "--query-compute-apps=pid,used_gpu_memory"):
        if pid.isdigit() and mebibytes.isdigit():
            held[int(pid)] = held.get(int(pid), 0) + (int(mebibytes) << 20)
    return held


def _query_driver(program: Sequence[str], query: str) -> list[list[str]]:
    """The fields of each line of the answer; nothing where there is none."""
    command = [*program, query, "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = answer.stdout.splitlines() if answer.returncode == 0 else []
    return [[field.strip() for field in line.split(",")] for line in lines if line.count(",") == 1]
