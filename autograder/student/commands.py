"""Commands of the shell that a cell runs, `!ls` and `%pip` among them, over a pipe: the sandbox has no terminals.

A kernel runs them on a terminal of their own. So what they write to either stream is shown as it comes, on stdout, and
its lines end as a terminal ends them.
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
POLL_SECONDS = 0.05  # a shell may have ended, and left programs that hold the pipe


def run_command(command: str) -> int:
    """Run it in a shell, show what it writes, and return its exit code; negative for the signal that ended it."""
    name = os.environ.get("SHELL", "sh")
    shell = shutil.which(name)
    if shell is None:
        raise OSError(f'"{name}" shell not found')  # IPython's own words
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


def use_pipes() -> None:
    """Have IPython run every command of a cell this way."""
    for module in (zmqshell, process):
        vars(module)["system"] = run_command


@contextlib.contextmanager
def _start_command(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which is gone afterwards, whatever happens meanwhile."""
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
    """What it writes, as it comes, until it has ended. What programs that it leaves running write later is lost."""
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
    """Bytes that have been written into it, and are not read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def _show(text: str) -> None:
    if text:
        sys.stdout.write(text.replace("\n", "\r\n"))
        sys.stdout.flush()
