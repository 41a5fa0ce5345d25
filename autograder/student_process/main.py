"""The student process: runs a submission's cells for the examiner, forks on request, and serves the calls of checks.

It starts with one socket. It never receives a check cell or an expected value.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sys
from pathlib import Path
from typing import Any

import torch

from autograder.rpc.fields import check_bytes, check_int, check_length, check_list, check_text
from autograder.rpc.frames import ConnectionClosed, ProtocolError, WireValue, receive, send
from autograder.rpc.random_states import seed_all
from autograder.rpc.requests import RequestKind
from autograder.student_process.call_server import CallServer
from autograder.student_process.compile_cache import link_compiled
from autograder.student_process.course_names import CourseNames
from autograder.student_process.kernel import Kernel
from autograder.student_process.outputs import Output


def prepare_course_names(kernel: Kernel) -> CourseNames:
    """Build what become_student_process() takes, once before a fork server forks: each fork would copy memory."""
    seed_all()
    return CourseNames(kernel.namespace)


def become_student_process(control: int, kernel: Kernel, course: CourseNames, compile_cache: str = "") -> None:
    """Become a student process, in the sandbox: send "ready" over the socket, and serve it.

    Args:
        control: The descriptor of the socket.
        course: The result of prepare_course_names().
        compile_cache: A cache of torch.compile to start with.
    """
    torch.set_num_threads(1)  # again after the fork: a thread pool doesn't survive it
    random.seed(0)  # again after the fork: Python reseeds it there
    if os.environ.get("GRADLAB_DEVICE", "").startswith("cuda") and torch.cuda.is_available():
        limit_gpu_memory(int(os.environ["GRADLAB_GPU_MEMORY"]))
    sys.path.insert(0, "")  # as in every notebook: the directory where it runs
    if compile_cache:
        with contextlib.suppress(OSError):  # without it, code is compiled again
            link_compiled(Path(compile_cache), Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]))
    channel = socket.socket(fileno=control)
    send(channel, "ready")
    serve(channel, kernel, course)


def limit_gpu_memory(max_bytes: int) -> None:
    """Make CUDA's allocator raise OutOfMemoryError beyond so many bytes. The fork server watches from outside too."""
    for number in range(torch.cuda.device_count()):
        total = torch.cuda.get_device_properties(number).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, max_bytes / total), number)


def serve(control: socket.socket, kernel: Kernel, course: CourseNames) -> None:
    """Serve the examiner's requests until it hangs up. RequestKind says what each contains."""
    forks: list[int] = []
    while True:
        forks = [pid for pid in forks if not _has_ended(pid)]
        try:
            kind, *rest = check_list(receive(control))
            if kind == RequestKind.RUN:
                send(control, _run_cell(kernel, course, *check_length(rest, 3)))
            elif kind == RequestKind.LIST_CHANGED:
                send(control, course.list_changed())
            elif kind == RequestKind.PUT:
                _put(*check_length(rest, 2))
                send(control, "ready")
            elif kind == RequestKind.PING:
                send(control, "ready")
            elif kind == RequestKind.FORK:
                forks.append(_fork(control, kernel, course))
                send(control, forks[-1])
            elif kind == RequestKind.SERVE:
                if rest[0]:
                    course.restore()
                serve_calls(control, kernel.namespace)
                return
        except ConnectionClosed:
            return
        except ProtocolError:
            continue


def _run_cell(kernel: Kernel, course: CourseNames, source: WireValue, number: WireValue, protected: WireValue) -> str:
    """Run a cell, and return its outputs as JSON. The names are the course's after that."""
    names = [check_text(name) for name in check_list(protected)]
    if names:
        course.restore_labkit()
    outputs = _encode_outputs(kernel.run(check_text(source), check_int(number)))
    course.protect(names)
    return outputs


def _encode_outputs(outputs: list[Output]) -> str:
    try:
        return json.dumps(outputs, default=str)
    except Exception as error:  # a display that holds itself, or an object without a text
        reason = f"the outputs of this cell can't be shown: {type(error).__name__}"
        return json.dumps([{"output_type": "stream", "name": "stderr", "text": f"{reason}\n"}])


def _put(path: WireValue, content: WireValue) -> None:
    """Write a file from the notebook's folder, before the first cell. One that can't be written is missing."""
    file_path, data = Path(check_text(path)), check_bytes(content)
    with contextlib.suppress(OSError):
        file_path.parent.mkdir(parents=True, exist_ok=True)
        with file_path.open("ab") as file:
            file.write(data)


def _fork(control: socket.socket, kernel: Kernel, course: CourseNames) -> int:
    _, (descriptor, *_), _, _ = socket.recv_fds(control, 1, 1)
    pid = os.fork()
    if pid == 0:
        control.close()
        with contextlib.suppress(BaseException):
            torch.set_num_threads(1)  # a thread pool doesn't survive a fork
            serve(socket.socket(fileno=descriptor), kernel, course)
        os._exit(0)
    os.close(descriptor)
    return pid


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True  # a cell waited for it


def serve_calls(channel: socket.socket, namespace: dict[str, Any]) -> None:
    """Answer calls of the namespace's objects until the client hangs up. "begin" forgets all earlier ones."""
    calls = CallServer(namespace, channel=channel)
    while True:
        try:
            request = receive(channel)
            if request == "begin":
                calls = CallServer(namespace, channel=channel)
            send(channel, "ready" if request == "begin" else calls.reply(request))
        except ConnectionClosed:
            return
