"""The shell in which cells run: ipykernel's, but it publishes only to the outputs of the cell.

It has the name of ipykernel's class, by which libraries recognize a notebook.
"""

from __future__ import annotations

import bdb  # noqa: F401  else every process imports it at the first cell
import inspect
import sys
from types import MethodType, SimpleNamespace, TracebackType
from typing import Any

import IPython.core.logger  # noqa: F401  as bdb
from ipykernel import compiler, zmqshell
from ipykernel.kernelbase import Kernel as StockKernel
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.session import Session
from traitlets.config import Config

from autograder.student_process.shell_commands import patch_ipython_system

# History is in memory only: its file would need a thread, and the shell is created before a fork.
CONFIG = Config({"HistoryManager": {"enabled": False}})
MAX_FRAMES = 60  # of a traceback

# The part of a kernel that its own two functions need. With them, tracebacks show the same frames as a kernel's.
_kernel_stub: Any = SimpleNamespace(_allow_stdin=False)
refuse_input, refuse_getpass = (MethodType(f, _kernel_stub) for f in (StockKernel.raw_input, StockKernel.getpass))


class _Compiler(compiler.XCachingCompiler):
    def get_code_name(self, raw_code: str, code: str, number: int) -> str:
        """Name cells as ipykernel does, but the same in every process, since warnings show the name."""
        name = f"/tmp/ipykernel_1/{compiler.murmur2_x86(raw_code, compiler.get_tmp_hash_seed())}.py"
        inspect.modulesbyfile[name] = "no module"  # else each traceback searches all modules for it: 12 ms
        return name


class _Session(Session):
    """A session that sends nothing."""

    kernel: Any = None

    def msg(self, msg_type: str, content: Any = None, *_: Any, **__: Any) -> dict[str, Any]:
        return {"header": {"msg_type": msg_type}, "msg_type": msg_type, "content": content, "metadata": {}}

    def send(self, stream: Any, msg_or_type: Any, content: Any = None, *_: Any, **__: Any) -> None:
        message = self.msg(msg_or_type, content) if isinstance(msg_or_type, str) else msg_or_type
        content = dict(message["content"])
        try:
            for part in ("data", "metadata"):
                if not all(isinstance(value, str) for value in (content.get(part) or {}).values()):
                    content[part] = self.unpack(self.pack(content[part]))
        except Exception as error:  # a display that holds itself, or an object without a text
            self.kernel.say(f"a display can't be shown: {type(error).__name__}")
            return
        self.kernel.take_message(message["msg_type"], content)


class ZMQInteractiveShell(zmqshell.ZMQInteractiveShell):
    _omitted_frames = 0  # of the traceback that is being shown

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: no GUI event loop runs here, and figures are always inline."""

    def ask_exit(self) -> None:
        self.kernel.say("SystemExit: a notebook goes on after exit()")

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        kind, error, trace = super()._get_exc_info(exc_tuple)
        context = getattr(error, "__context__", None)
        self._omitted_frames = _shorten(trace) + _shorten(getattr(context, "__traceback__", None))
        return kind, error, trace

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        if self._omitted_frames:
            stb = [*stb[:-1], f"({self._omitted_frames} frames in the middle were left out)\n", *stb[-1:]]
            self._omitted_frames = 0
        self._last_traceback = stb
        self.kernel.show_error(evalue, stb)

    def _format_exception_for_storage(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return nothing, instead of formatting the traceback again for a history that no one reads."""
        return {}


def _shorten(trace: TracebackType | None) -> int:
    """Cut the middle out of a deep traceback, since the shell takes 5 ms a frame. Returns the number of frames cut."""
    frames: list[TracebackType] = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    if len(frames) <= MAX_FRAMES:
        return 0
    frames[MAX_FRAMES // 2].tb_next = frames[-MAX_FRAMES // 2]
    return len(frames) - MAX_FRAMES - 1


def raise_once(shell: Any) -> None:
    """Format a traceback and discard it: the first takes 35 ms, for imports and to find the files of all modules."""
    try:
        raise ValueError
    except ValueError:
        shell.InteractiveTB.structured_traceback(*sys.exc_info())


def create_shell(kernel: Any) -> Any:
    """Create a shell that publishes to this kernel, by take_message(type, content), show_error() and say()."""
    patch_ipython_system()
    previous: Any = InteractiveShell._instance
    if previous is not None:
        type(previous).clear_instance()
    shell: Any = ZMQInteractiveShell.instance(kernel=kernel, compiler_class=_Compiler, history_length=0, config=CONFIG)
    shell.extension_manager.load_extension("storemagic")  # as ipykernel's application does
    session = _Session(key=b"")
    session.kernel = kernel
    shell.displayhook.session = shell.display_pub.session = session
    return shell
