"""`Mark my work` in a class: hands the notebook in through nbgrader's exchange, and waits for its feedback page.

A course with `gradlab watch` answers in seconds; in any other, pages arrive when the instructor releases them.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.workspace import Workspace
from labkit.progress import get_page_path

ERROR = re.compile(r"^\[[^]]*\| (?:ERROR|CRITICAL)\] (.+)$", re.MULTILINE)  # as nbgrader logs
WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.3
MARK = re.compile(r'<meta name="gradlab-mark" content="([^"<>]{1,100})">')
UNMARKED = re.compile(r'<meta name="gradlab-unmarked" content="([^"<>]{1,300})">')  # it waits, or will have no mark
ASK = (
    "Hand this notebook in? It is graded in your class, hidden checks included. Your instructor may have set how "
    "often you can do that."
)
LATER = "Handed in. Its page comes when your instructor releases it: Nbgrader, Assignment List."


class SubmissionError(Exception):
    """Why a notebook was not handed in, in nbgrader's words."""


@dataclass(frozen=True)
class ClassExchange:
    """A class whose exchange accepts this lab."""

    lab: str
    course: str
    exchange: Path
    cache: Path
    root: Path
    """The folder that JupyterLab shows."""
    runs_config: bool
    """See Workspace.runs_config."""


def find_class(notebook: Path, workspace: Workspace) -> ClassExchange | None:
    """The class; None if no exchange offers the lab, or the notebook isn't where nbgrader fetches labs to."""
    try:
        from nbgrader.exchange.default import Exchange
    except ImportError:  # at home there may be only labkit
        return None
    course = str(workspace.config.CourseDirectory.get("course_id", ""))
    exchange = Exchange(config=workspace.config)
    found = ClassExchange(
        notebook.stem, course, Path(exchange.root), Path(exchange.cache), workspace.root, workspace.runs_config
    )
    offered = found.exchange / course / "outbound" / found.lab
    is_fetched = notebook.parent == workspace.fetched_folder / found.lab
    return found if course and is_fetched and offered.is_dir() else None


async def submit_notebook(to: ClassExchange, notebook: Path, wait: float = WAIT_SECONDS) -> dict[str, Any]:
    """Hand the notebook in and wait for its page, which is written where a mark's page is. Raises SubmissionError.

    Returns:
        {words, marked}. `marked` is False if no page arrived in time, or one that says why there is no mark.
    """
    before = set(_list_cached(to))
    places = {"root": to.exchange, "cache": to.cache, "assignment_dir": to.root}
    options = [f"--course={to.course}", *(f"--Exchange.{name}={place}" for name, place in places.items())]
    with tempfile.TemporaryDirectory() as empty:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "nbgrader", "submit", to.lab, *options),
            cwd=to.root if to.runs_config else empty,  # nbgrader runs the configuration of the folder it starts in
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await process.communicate()
    new = sorted(set(_list_cached(to)) - before)
    if process.returncode or not new:
        why = ERROR.search(told.decode(errors="replace"))
        raise SubmissionError(why[1] if why else "nbgrader did not say why.")
    page = _get_page_path(to, new[-1])
    for _ in range(int(wait / LOOK_SECONDS) + 1):
        if page.exists():
            text = page.read_text(encoding="utf-8")
            if why := UNMARKED.search(text):
                return {"words": f"Handed in. {html.unescape(why[1])}", "marked": False}
            own = get_page_path(notebook)
            own.parent.mkdir(exist_ok=True)
            own.write_text(text, encoding="utf-8")
            mark = MARK.search(text)
            return {"words": f"Handed in, and marked: {mark[1]}" if mark else "Handed in, and marked.", "marked": True}
        await asyncio.sleep(LOOK_SECONDS)
    return {"words": LATER, "marked": False}


def _list_cached(to: ClassExchange) -> list[Path]:
    """The student's own copies of this lab's submissions."""
    return sorted((to.cache / to.course).glob(f"*+{to.lab}+*"), key=os.path.getmtime)


def _get_page_path(to: ClassExchange, handed_in: Path) -> Path:
    """Where the page of this submission will be, which only someone with its secret knows."""
    from nbgrader.utils import notebook_hash

    secret = (handed_in / "submission_secret.txt").read_text()
    return to.exchange / to.course / "feedback" / f"{notebook_hash(secret=secret, notebook_id=to.lab)}.html"
