"""Commands of the shell that a cell runs, `!ls` and `%pip` among them, over a pipe: the sandbox has no terminals.

A kernel runs them on a terminal of their own. So what they write to either stream is shown as it comes, on stdout, and
its lines end as a terminal ends them.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

from ipykernel import zmqshell
from IPython.utils import process

CHUNK = 1 << 16
POLL_SECONDS = 0.05  # a shell may have ended, and left programs that hold the pipe
DRAIN_SECONDS = 1.0  # for what such programs go on writing


def run_command(command: str) -> int:
    """Run it in a shell, show what it writes, and return its exit code; negative for the signal that ended it."""
    name = os.environ.get("SHELL", "sh")
    shell = shutil.which(name)
    if shell is None:
        raise OSError(f'"{name}" shell not found')  # IPython's own words
    sys.stdout.flush()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with _started([shell, "-c", command]) as child:
        try:
            for written in _output_of(child):
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
def _started(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
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


def _output_of(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What it writes, as it comes, until it has ended. Programs that it leaves running are not waited for."""
    assert child.stdout is not None
    pipe = child.stdout.fileno()
    until = None
    while True:
        ended = child.poll() is not None
        until = until or (time.monotonic() + DRAIN_SECONDS if ended else None)
        ready, _, _ = select.select([pipe], [], [], 0 if ended else POLL_SECONDS)
        written = os.read(pipe, CHUNK) if ready else b""
        if written:
            yield written
        if (ready and not written) or (ended and not ready) or (until and time.monotonic() > until):
            return


def _show(text: str) -> None:
    if text:
        sys.stdout.write(text.replace("\n", "\r\n"))
        sys.stdout.flush()
