"""The shell in which cells run: ipykernel's own, but what it publishes goes to the outputs of the cell and no further.

Its name is that of ipykernel's class, since libraries look for it to know that they are in a notebook.
"""

from __future__ import annotations

import bdb  # noqa: F401  else imported at the first cell, in every process anew
import inspect
import sys
from types import MethodType, SimpleNamespace, TracebackType
from typing import Any

import IPython.core.logger  # noqa: F401  the same
from ipykernel import compiler, zmqshell
from ipykernel.kernelbase import Kernel as StockKernel
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.session import Session
from traitlets.config import Config

from autograder.student.commands import use_pipes

# History is in memory only: its file would need a thread, and the shell is made before a fork.
QUIET = Config({"HistoryManager": {"enabled": False}})
MAX_FRAMES = 60  # of a traceback

_refusing: Any = SimpleNamespace(_allow_stdin=False)  # the part of a kernel that the two need; so they have its frames
refuse_input, refuse_getpass = (MethodType(f, _refusing) for f in (StockKernel.raw_input, StockKernel.getpass))


class _Compiler(compiler.XCachingCompiler):  # type: ignore[misc]
    def get_code_name(self, raw_code: str, code: str, number: int) -> str:
        """As ipykernel names cells, but the same in every process: warnings show it."""
        name = f"/tmp/ipykernel_1/{compiler.murmur2_x86(raw_code, compiler.get_tmp_hash_seed())}.py"
        inspect.modulesbyfile[name] = "no module"  # else each traceback looks through all modules for it: 12 ms
        return name


class _Session(Session):  # type: ignore[misc]
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
            self.kernel.say(f"a display cannot be shown: {type(error).__name__}")
            return
        self.kernel.message(message["msg_type"], content)


class ZMQInteractiveShell(zmqshell.ZMQInteractiveShell):  # type: ignore[misc]
    _left_out = 0  # frames of the traceback that is being shown

    def enable_gui(self, gui: Any = None) -> None:
        """No event loop runs here; figures are inline whatever is asked for."""

    def ask_exit(self) -> None:
        self.kernel.say("SystemExit: a notebook goes on after exit()")

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        kind, error, trace = super()._get_exc_info(exc_tuple)
        context = getattr(error, "__context__", None)
        self._left_out = _shorten(trace) + _shorten(getattr(context, "__traceback__", None))
        return kind, error, trace

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        if self._left_out:
            stb = [*stb[:-1], f"({self._left_out} frames in the middle were left out)\n", *stb[-1:]]
            self._left_out = 0
        self._last_traceback = stb
        self.kernel.show_error(evalue, stb)

    def _format_exception_for_storage(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Nothing: this would be the same traceback once more, for the history that nobody asks for."""
        return {}


def _shorten(trace: TracebackType | None) -> int:
    """Cut the middle out of a deep traceback, and say how many frames that were: the shell takes 5 ms for each."""
    frames: list[TracebackType] = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    if len(frames) <= MAX_FRAMES:
        return 0
    frames[MAX_FRAMES // 2].tb_next = frames[-MAX_FRAMES // 2]
    return len(frames) - MAX_FRAMES - 1


def raise_once(shell: Any) -> None:
    """A first traceback, for nobody: it imports what formats one, and finds the files of all modules, in 35 ms."""
    try:
        raise ValueError("for nobody")
    except ValueError:
        shell.InteractiveTB.structured_traceback(*sys.exc_info())


def create_shell(kernel: Any) -> Any:
    """kernel: takes what the shell publishes, by message(type, content), show_error() and say()."""
    use_pipes()
    before: Any = InteractiveShell._instance
    if before is not None:
        type(before).clear_instance()
    shell: Any = ZMQInteractiveShell.instance(kernel=kernel, compiler_class=_Compiler, history_length=0, config=QUIET)
    shell.extension_manager.load_extension("storemagic")  # as a kernel's application does
    session = _Session(key=b"")
    session.kernel = kernel
    shell.displayhook.session = shell.display_pub.session = session
    return shell
