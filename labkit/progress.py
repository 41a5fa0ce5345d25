"""What `labkit.progress()` shows: a student's progress in the labs of a folder, or else in the open notebook."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from labkit.lab_progress import LabProgress
from labkit.notebook_progress import parse_progress, read_progress
from labkit.untrusted_json import DAMAGED

NOTHING_FOUND = "There's no lab in this folder, and no check has run in this notebook yet. Run a lab's checks first."
COLAB = "google.colab._message"  # of Colab's kernel: asks the browser, which keeps the open notebook
SECONDS = 10  # until Colab has to answer
AS_SAVED = "Read from the notebooks as they were last saved."
CHECKED_ONLY = "Written answers have no check, so they aren't listed."
MARKING = (
    "*Mark my work* runs the hidden checks and marks quizzes. It's in the Course panel of JupyterLab and Notebook 7. "
    "From Colab or VS Code, hand in the notebook as your instructor says. On your own, download it, put it into a "
    "clone of the course as work/LAB/LAB.ipynb, and run make mark LAB=LAB there."
)


@dataclass(frozen=True)
class Progress:
    """What `labkit.progress()` shows."""

    labs: tuple[LabProgress, ...]
    folder: Path | None = None
    """The folder that the labs were read from; None for the notebook that is open in Colab."""
    checked: tuple[str, ...] = ()
    """For want of a lab, a line for each exercise whose checks ran in this kernel."""

    def __repr__(self) -> str:
        lines = [f"{lab.name}: {_describe_progress(lab)}" for lab in self.labs] or [*self.checked]
        return "\n".join([*lines, *self.remarks]) or NOTHING_FOUND

    @property
    def remarks(self) -> list[str]:
        """What to know about these figures."""
        return [
            *([AS_SAVED] if self.folder else []),
            *([CHECKED_ONLY] if self.checked else []),
            *([MARKING] if self.labs or self.checked else []),
        ]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return text for every program, and a table if there is one to show."""
        return {"text/plain": repr(self), **({"text/html": _render_html(self)} if self.labs else {})}


def progress(folder: str = "") -> Progress:
    """Show your progress in the labs of this folder, or of its parent if this is a lab's own folder.

    If no lab is there, as in Colab, it shows your progress in the open notebook.
    """
    path = Path(folder or ".").resolve()
    for course in (path, path.parent):
        if labs := read_progress(course):
            return Progress(tuple(labs), course)
    labs = _read_colab()
    return Progress(tuple(labs), checked=() if labs else _list_checked())


def _read_colab() -> list[LabProgress]:
    """Read the notebook that is open in Colab, which has no file for it."""
    if "google.colab" not in sys.modules:
        return []
    with contextlib.suppress(ImportError, AttributeError, TimeoutError, *DAMAGED):
        answer = import_module(COLAB).blocking_request("get_ipynb", timeout_sec=SECONDS)
        lab = parse_progress(answer["ipynb"], "", {})
        return [lab] if lab else []
    return []


def _list_checked() -> tuple[str, ...]:
    checks = sys.modules.get("labkit.check")
    return checks.summarize_verdicts() if checks else ()


def _describe_progress(lab: LabProgress) -> str:
    return lab.summary + (f"; next: {lab.next_work.shown_name}" if lab.begun and lab.next_work else "")


def _render_cells(*cells: str) -> str:
    """Render cells of a row. By itself, Jupyter aligns them at the right."""
    return "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells)


def _render_html(shown: Progress) -> str:
    rows = []
    # A front end takes a link to be relative to the notebook, whose folder its kernel starts in.
    start = os.path.relpath(shown.folder) if shown.folder else ""
    for lab in shown.labs:
        title, path = escape(lab.title), Path(start, lab.path).as_posix()
        link = f'<a href="{escape(path, quote=True)}">{title}</a>' if lab.path else title
        words = _describe_progress(lab)
        label = escape(f"{lab.name}: {words}", quote=True)
        bar = f'<progress max="{lab.points:g}" value="{lab.earned:g}" aria-label="{label}"></progress>'
        rows.append(f"<tr>{_render_cells(escape(lab.number), link, bar, escape(words))}</tr>")
    remarks = "<br>".join(escape(line).replace("*Mark my work*", "<em>Mark my work</em>") for line in shown.remarks)
    return f"<table>{''.join(rows)}</table><p>{remarks}</p>"
