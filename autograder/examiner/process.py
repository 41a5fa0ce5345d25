"""Student processes, as the examiner holds them: started by a warm process, asked to run cells, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from autograder.errors import GradlabError
from autograder.examiner.link import Link, Stopped
from autograder.wire.frames import WireError, WireTimeout, receive, send

START_SECONDS = 60.0
MAX_RESTARTS = 5  # of one submission; then what is left of it is not run


class Warm:
    """A warm process: a Python of its own, started before anything secret is read, and given nothing of it."""

    def __init__(self) -> None:
        self.orders, theirs = socket.socketpair()
        environment = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "HOME", "VIRTUAL_ENV")}
        command = [sys.executable, "-m", "autograder.student.warm", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
        theirs.close()

    def student(self) -> StudentProcess:
        """A new student process."""
        ours, theirs = socket.socketpair()
        try:
            self.orders.settimeout(START_SECONDS)
            send(self.orders, ["start"])
            socket.send_fds(self.orders, [b"s"], [theirs.fileno()])
            pid = receive(self.orders, START_SECONDS)
        except WireError as error:
            raise GradlabError(f"no student process could be started: {error}") from None
        finally:
            theirs.close()
        return StudentProcess(ours, int(pid))

    def close(self) -> None:
        self.orders.close()
        self.process.kill()
        self.process.wait()


class StudentProcess:
    """The process of one submission. `ended` says why it is gone."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self.control, self.pid, self.ended = control, pid, ""

    def run(self, source: str, seconds: float) -> list[dict[str, Any]]:
        """The outputs of a cell. Raises Stopped where it took too long or ended the process."""
        try:
            self._ask(["run", source], seconds)
            outputs = receive(self.control, seconds)
        except WireTimeout:
            raise self._stop(f"the time limit of {seconds:g} s for a cell was reached") from None
        except WireError:
            raise self._stop("the Python process ended: it ran out of memory, or called exit") from None
        return _outputs(outputs)

    def connect(self, seconds: float) -> Link:
        """A line to a fork of the process as it is now: what a check does there does not stay."""
        ours, theirs = socket.socketpair()
        try:
            self._ask(["fork"], seconds)
            socket.send_fds(self.control, [b"f"], [theirs.fileno()])
            receive(self.control, seconds)
        except WireError:
            raise self._stop("the Python process does not answer") from None
        finally:
            theirs.close()
        link = Link(ours)
        link.until = time.monotonic() + seconds
        return link

    def kill(self) -> None:
        """End the process and its session."""
        for kill, target in ((os.killpg, self.pid), (os.kill, self.pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(target, signal.SIGKILL)
        self.control.close()

    def _ask(self, request: list[Any], seconds: float) -> None:
        if self.ended:
            raise Stopped(self.ended)
        self.control.settimeout(seconds)
        send(self.control, request)

    def _stop(self, why: str) -> Stopped:
        self.ended = why
        self.kill()
        return Stopped(why)


class Restarting:
    """A student process that is replaced when a cell ends it: the cells before that one run again, it does not."""

    def __init__(self, start: Callable[[], StudentProcess]) -> None:
        self.start, self.process = start, start()
        self.history: list[str] = []
        self.restarts = 0

    def run(self, source: str, seconds: float) -> list[dict[str, Any]]:
        """As StudentProcess.run."""
        try:
            outputs = self.process.run(source, seconds)
        except Stopped:
            self._restart(seconds)
            raise
        self.history.append(source)
        return outputs

    def connect(self, seconds: float) -> Link:
        """As StudentProcess.connect."""
        return self.process.connect(seconds)

    def kill(self) -> None:
        self.process.kill()

    def _restart(self, seconds: float) -> None:
        if self.restarts == MAX_RESTARTS:
            return
        self.restarts += 1
        self.process.kill()
        self.process = self.start()
        for source in self.history:
            with contextlib.suppress(Stopped):
                self.process.run(source, seconds)


def _outputs(text: Any) -> list[dict[str, Any]]:
    """The outputs that a student process sent, each with the fields of its kind; whatever else it sent is dropped."""
    try:
        listed = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return []
    kept: list[dict[str, Any]] = []
    for output in listed if isinstance(listed, list) else []:
        kind = output.get("output_type") if isinstance(output, dict) else None
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            kept.append({"output_type": kind, "name": name, "text": str(output.get("text", ""))})
        elif kind == "error":
            lines = output.get("traceback")
            traceback = [str(line) for line in lines] if isinstance(lines, list) else []
            texts = {"ename": str(output.get("ename", "")), "evalue": str(output.get("evalue", ""))}
            kept.append({"output_type": kind, **texts, "traceback": traceback})
        elif kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
            data = {str(mime): value for mime, value in output["data"].items()}
            kept.append({"output_type": kind, "data": data, "metadata": {}})
            if kind == "execute_result":
                kept[-1]["execution_count"] = None
    return kept
