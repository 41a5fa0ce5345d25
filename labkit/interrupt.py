"""The interrupt of a check by the student, which ends the cell, and with it *Run All*, in few words."""

from __future__ import annotations

import linecache
from types import TracebackType


class Interrupt(KeyboardInterrupt):
    """A KeyboardInterrupt that a notebook shows as its message only."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback."""
        return [str(self)]


Interrupt.__name__ = "KeyboardInterrupt"  # front ends recognize an interrupted cell by it


def build_interrupt(label: str, trace: TracebackType | None, cell: str) -> Interrupt:
    """Build the interrupt of a check.

    Args:
        label: The check's.
        trace: Of the original interrupt.
        cell: The file name of the check cell.
    """
    lines = [f"You stopped this check: {label}."]
    source = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != cell and trace.tb_frame.f_globals.get("__name__") == "__main__":
            source = linecache.getline(file, trace.tb_lineno).strip() or source
        trace = trace.tb_next
    if source:
        lines.append(f"It was at this line: {source}")
    lines.append("The checks after it didn't run. Run this cell again when you're ready.")
    return Interrupt("\n".join(lines))
