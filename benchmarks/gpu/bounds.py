"""The limit on a submission's GPU memory, and the watch that ends processes that evade it, with the real driver."""

from __future__ import annotations

import time

from autograder.base.device import Device
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.time_budget import CellTimeLimit
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.grading.task import ExamineSettings, make_settings
from autograder.sandbox import find_layers, find_strongest_level
from autograder.sandbox.gpu import measure_gpu_memory
from benchmarks.gpu.report import GpuContext, PartResult, judge_part

LIMIT_GIB = 2
WITHIN = "import torch\nkept = torch.ones(1 << 30, dtype=torch.uint8, device='cuda')\ntorch.cuda.synchronize()\n"
BEYOND = "more = torch.ones(3 << 30, dtype=torch.uint8, device='cuda')\n"
# PyTorch's limit applies only to its own allocator. This asks the driver for memory.
AROUND = (
    "import ctypes\n"
    "runtime = ctypes.CDLL(next(p for p in open('/proc/self/maps').read().split() if 'libcudart.so' in p))\n"
    "address = ctypes.c_void_p()\n"
    "print(runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(4 << 30)))\n"
    "import time\ntime.sleep(15)\n"
)
SECONDS = 60.0


def run(context: GpuContext) -> PartResult:
    if context.device is not Device.CUDA:
        return PartResult("not possible here", [f"{context.device} is not a GPU; the sandbox limits its memory"])
    level = find_strongest_level(find_layers())
    settings = make_settings(ExamineSettings(isolation=level, gpu_memory_gib=LIMIT_GIB), context.device)
    fork_server = ForkServerClient(ProcessSettings(level, settings.limits, context.device))
    try:
        used, refusal = _try_allocator(fork_server)
        ending = _try_driver(fork_server)
    finally:
        fork_server.close()
    lines = [
        f"- the driver reports for a submission that uses 1 GiB: {used / 2**30:.2f} GiB",
        f"- 3 GiB if {LIMIT_GIB} are allowed: {refusal}",
        f"- 4 GiB from the driver, without PyTorch's allocator: {ending}",
    ]
    good = used >= 1 << 30 and refusal == "OutOfMemoryError" and "GPU memory" in ending
    return judge_part(good, lines)


def _try_allocator(fork_server: ForkServerClient) -> tuple[int, str]:
    """Allocate memory within the limit, then beyond it.

    Returns:
        The bytes that the driver reports for the first, and the name of the exception that the second raises.
    """
    process = fork_server.start_process()
    try:
        errors = [o for o in process.run(WITHIN, 1, _create_time_limit()) if o["output_type"] == "error"]
        if errors:
            return 0, f"{errors[0]['ename']}: {errors[0]['evalue']}"
        used = max(measure_gpu_memory().values(), default=0)
        errors = [o for o in process.run(BEYOND, 2, _create_time_limit()) if o["output_type"] == "error"]
        return used, errors[0]["ename"] if errors else "allocated"
    finally:
        process.kill()


def _try_driver(fork_server: ForkServerClient) -> str:
    """Describe how a process ends that asks the driver itself for memory beyond the limit."""
    process, start = fork_server.start_process(), time.perf_counter()
    try:
        process.run(WITHIN, 1, _create_time_limit())
        outputs = process.run(AROUND, 2, _create_time_limit())
        return f"it went on: {outputs}"[:300]
    except StoppedError as stopped:
        return f"{stopped}, after {time.perf_counter() - start:.1f} s"
    finally:
        process.kill()


def _create_time_limit() -> CellTimeLimit:
    return CellTimeLimit(SECONDS, f"no answer within {SECONDS:g} s", SECONDS)
