"""What to run after a NameError: after a break, the kernel has forgotten the names of the cells above."""

from __future__ import annotations

import difflib
import sys
from types import TracebackType
from typing import Any

# notebook.js looks for these words, to say it once.
ADVICE = (
    "If a cell above defines {name}, that cell hasn't run since the kernel started. Run all cells above this one: "
    "Run > Run All Above Selected Cell in JupyterLab, Runtime > Run before in Colab, Execute Above Cells in VS Code."
)


def register_advice() -> None:
    """Let this notebook's kernel add a line to each NameError about a name that no cell has defined."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and not getattr(shell, "custom_exceptions", ()):
        shell.set_custom_exc((NameError,), _show_error)


def _show_error(
    shell: Any, kind: type[BaseException], error: NameError, trace: TracebackType | None, tb_offset: int | None = None
) -> list[str]:
    """Show a NameError as IPython does, with the advice below it. Returns the lines shown, which a kernel sends on."""
    lines: list[str] = list(shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset))
    if name := find_missing_name(error, shell.user_ns):
        lines.append(ADVICE.format(name=name))
    shell._showtraceback(kind, error, lines)
    return lines


def find_missing_name(error: NameError, names: dict[str, Any]) -> str:
    """Return the name that no cell has defined; empty if it's local to a function, or misspelt."""
    name = error.name or ""
    is_misspelt = difflib.get_close_matches(name, [each for each in names if each != name], n=1, cutoff=0.75)
    return "" if isinstance(error, UnboundLocalError) or is_misspelt else name
