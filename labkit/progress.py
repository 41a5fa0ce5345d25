"""What `labkit.progress()` shows: a student's progress in the labs of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from labkit.lab_progress import LabProgress
from labkit.notebook_progress import read_progress


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
    return lab.summary + (f"; next: {lab.next_work.shown_name}" if lab.begun and lab.next_work else "")


def _render_html(labs: tuple[LabProgress, ...]) -> str:
    rows = []
    for lab in labs:
        link = f'<a href="{escape(lab.path, quote=True)}">{escape(lab.title)}</a>'
        words = _describe_progress(lab)
        label = escape(f"{lab.name}: {words}", quote=True)
        bar = f'<progress max="{lab.points:g}" value="{lab.earned:g}" aria-label="{label}"></progress>'
        rows.append(f"<tr><td>{escape(lab.number)}</td><td>{link}</td><td>{bar}</td><td>{escape(words)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
