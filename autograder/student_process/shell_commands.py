"""Runs the shell commands of a cell, such as `!ls` and `%pip`, over a pipe, since the sandbox has no terminals.

A kernel runs them on a terminal. To look the same, the output of both streams appears on stdout as it arrives, with
the line endings of a terminal.
"""

from __future__ import annotations

import array
import codecs
import contextlib
import fcntl
import os
import select
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator

from ipykernel import zmqshell
from IPython.utils import process

CHUNK = 1 << 16
POLL_SECONDS = 0.05  # a shell may have ended and left programs that keep the pipe open


def run_command(command: str) -> int:
    """Run a command in a shell, show its output, and return its exit code, or minus the signal that ended it."""
    name = os.environ.get("SHELL", "sh")
    shell = shutil.which(name)
    if shell is None:
        raise OSError(f'"{name}" shell not found')  # IPython's wording
    sys.stdout.flush()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with _start_command([shell, "-c", command]) as child:
        try:
            for written in _iter_output(child):
                _show(decoder.decode(written))
        except KeyboardInterrupt:  # a kernel passes it on to the command, and goes on
            child.terminate()
        _show(decoder.decode(b"", final=True))
        code = child.wait()
    return -(code - 128) if code > 128 else code


def patch_ipython_system() -> None:
    """Make IPython run every command of a cell with run_command()."""
    for module in (zmqshell, process):
        vars(module)["system"] = run_command


@contextlib.contextmanager
def _start_command(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process, and end it afterwards in any case."""
    child = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        if child.stdout:
            child.stdout.close()


def _iter_output(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yield the output as it arrives, until the command ends. Later output of programs that it left running is lost."""
    assert child.stdout is not None
    pipe = child.stdout.fileno()
    while child.poll() is None:
        if select.select([pipe], [], [], POLL_SECONDS)[0]:
            if not (written := os.read(pipe, CHUNK)):
                return
            yield written
    left = _count_waiting(pipe)
    while left > 0 and (written := os.read(pipe, min(left, CHUNK))):
        left -= len(written)
        yield written


def _count_waiting(pipe: int) -> int:
    """Return how many unread bytes the pipe contains."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def _show(text: str) -> None:
    if text:
        sys.stdout.write(text.replace("\n", "\r\n"))
        sys.stdout.flush()
