"""The bound on a submission's memory on a GPU, and the watch that ends who gets around it, against the real driver."""

from __future__ import annotations

import time

from autograder.examiner.clock import CellTimeLimit
from autograder.examiner.connection import StoppedError
from autograder.forkserver.client import ForkServer, ProcessSettings
from autograder.grading.task import ExamineSettings, make_settings
from autograder.sandbox import find_layers, find_strongest_level
from autograder.sandbox.gpu import measure_gpu_memory
from benchmarks.gpu.report import Context, PartResult, passed_if

GIB = 2
WITHIN = "import torch\nkept = torch.ones(1 << 30, dtype=torch.uint8, device='cuda')\ntorch.cuda.synchronize()\n"
BEYOND = "more = torch.ones(3 << 30, dtype=torch.uint8, device='cuda')\n"
# PyTorch's bound is its allocator's own; this asks the driver for memory beside it.
AROUND = (
    "import ctypes\n"
    "runtime = ctypes.CDLL(next(p for p in open('/proc/self/maps').read().split() if 'libcudart.so' in p))\n"
    "address = ctypes.c_void_p()\n"
    "print(runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(4 << 30)))\n"
    "import time\ntime.sleep(15)\n"
)
SECONDS = 60.0


def run(context: Context) -> PartResult:
    if not context.device.startswith("cuda"):
        return PartResult("not possible here", [f"{context.device} is no GPU: its memory is the sandbox's own bound"])
    level = find_strongest_level(find_layers())
    settings = make_settings(ExamineSettings(isolation=level, gpu_memory_gib=GIB), context.device)
    fork_server = ForkServer(ProcessSettings(level, settings.limits, context.device))
    try:
        seen, refused = _within_and_beyond(fork_server)
        ended = _around(fork_server)
    finally:
        fork_server.close()
    lines = [
        f"- the driver shows what a submission of 1 GiB holds: {seen / 2**30:.2f} GiB",
        f"- 3 GiB where {GIB} are allowed: {refused}",
        f"- 4 GiB from the driver, around PyTorch's allocator: {ended}",
    ]
    good = seen >= 1 << 30 and refused == "OutOfMemoryError" and "GPU memory" in ended
    return passed_if(good, lines)


def _within_and_beyond(fork_server: ForkServer) -> tuple[int, str]:
    """The bytes that the driver shows, and the exception for more."""
    process = fork_server.start_process()
    try:
        errors = [o for o in process.run(WITHIN, 1, _limit()) if o["output_type"] == "error"]
        if errors:
            return 0, f"{errors[0]['ename']}: {errors[0]['evalue']}"
        seen = max(measure_gpu_memory().values(), default=0)
        errors = [o for o in process.run(BEYOND, 2, _limit()) if o["output_type"] == "error"]
        return seen, errors[0]["ename"] if errors else "was given"
    finally:
        process.kill()


def _around(fork_server: ForkServer) -> str:
    """How the process ended that asked the driver itself."""
    process, start = fork_server.start_process(), time.perf_counter()
    try:
        process.run(WITHIN, 1, _limit())
        outputs = process.run(AROUND, 2, _limit())
        return f"it went on: {outputs}"[:300]
    except StoppedError as stopped:
        return f"{stopped}, after {time.perf_counter() - start:.1f} s"
    finally:
        process.kill()


def _limit() -> CellTimeLimit:
    return CellTimeLimit(SECONDS, f"no answer within {SECONDS:g} s", SECONDS)
