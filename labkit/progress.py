"""What `labkit.progress()` shows: a student's progress in the labs of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from labkit.lab_progress import LabProgress, WorkState
from labkit.notebook_progress import read_progress
from labkit.points import format_points


@dataclass(frozen=True)
class Progress:
    """What `labkit.progress()` shows."""

    labs: tuple[LabProgress, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{lab.name}: {_describe_progress(lab)}" for lab in self.labs) or "there are no labs here"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": _render_html(self.labs)}


def progress(folder: str = "") -> Progress:
    """Show your progress in the labs of this folder, or of its parent if this is a lab's own folder."""
    path = Path(folder or ".").resolve()
    return Progress(tuple(read_progress(path) or read_progress(path.parent)))


def _describe_progress(lab: LabProgress) -> str:
    done_count = sum(work.is_done for work in lab.core)
    points = f", {format_points(lab.earned)} of {format_points(lab.points)} points"
    marked = points if any(work.state is WorkState.MARKED for work in lab.work) else ""
    after = f"; next: {lab.next}" if done_count and lab.next else ""
    return f"{done_count} of {len(lab.core)} done{marked}{after}"


def _render_html(labs: tuple[LabProgress, ...]) -> str:
    rows = []
    for lab in labs:
        done_count = sum(work.is_done for work in lab.core)
        link = f'<a href="{escape(lab.path, quote=True)}">{escape(lab.title)}</a>'
        words = _describe_progress(lab)
        label = escape(f"{lab.name}: {words}", quote=True)
        bar = f'<progress max="{len(lab.core)}" value="{done_count}" aria-label="{label}"></progress>'
        rows.append(f"<tr><td>{escape(lab.number)}</td><td>{link}</td><td>{bar}</td><td>{escape(words)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
