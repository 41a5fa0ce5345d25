"""`Mark my work` in a class: submits the notebook through nbgrader's exchange and waits for its feedback page.

With `gradlab watch`, the page arrives within seconds; otherwise, when the instructor releases it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import html
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from labext.exchange_client import ExchangeRefusal
from labext.nbgrader_exchange import ExchangeFailure, open_exchange, run_exchange
from labext.workspace import Workspace
from labkit.mark_file import get_marks_path, get_page_path
from labkit.notebook_progress import digest_sources
from labkit.untrusted_json import read_object

WAIT_SECONDS = 20.0  # then the panel shows the mark once it arrives
# Between two looks at the page: a share of the time so far, so a quick mark isn't kept waiting.
LOOK_SHARE, MIN_LOOK, MAX_LOOK = 0.1, 0.1, 1.0
MARK = re.compile(r'<meta name="gradlab-mark" content="([^"<>]{1,100})">')
MARKS = re.compile(r'<meta name="gradlab-marks" content="([^"<>]*)">')  # by exercise, as JSON
UNMARKED = re.compile(r'<meta name="gradlab-unmarked" content="([^"<>]{1,300})">')  # it waits to be marked, or won't be
ASK = (
    "Submit this notebook? It's graded in your class, hidden checks included. Your instructor may limit how often you "
    "can submit."
)
SUBMITTING = asyncio.Lock()  # nbgrader's configuration is the process's, and browser tabs may submit at the same time
LATER = "Submitted. Your mark isn't there yet: the Course panel shows it once it arrives."


class SubmissionError(Exception):
    """A failure to submit a notebook, in nbgrader's words."""


@dataclass(frozen=True)
class ClassExchange:
    """The exchange of a class that offers a lab."""

    lab: str
    course: str
    exchange: Path
    cache: Path
    submit: Callable[[], None]
    """Submits the lab. Raises ExchangeFailure or OSError."""
    fetch_pages: Callable[[], None] | None = None
    """Copies new feedback pages into `exchange`, if that's only a mirror of the real exchange."""


def find_class(notebook: Path, workspace: Workspace) -> ClassExchange | None:
    """Find the class. None if no exchange offers the lab, or the notebook isn't where nbgrader fetches labs to."""
    course, lab = workspace.find_class_course(notebook.parent), notebook.stem
    exchange = open_exchange(workspace) if course and lab == notebook.parent.name else None
    if exchange is None:
        return None
    mirror = getattr(exchange, "mirror", None)  # of HubExchange
    target = ClassExchange(
        lab,
        course,
        Path(exchange.root),
        Path(exchange.cache),
        functools.partial(run_exchange, "submit", workspace, course, lab),
        functools.partial(mirror.fetch_pages, course, lab) if mirror else None,
    )
    offered = target.exchange / course / "outbound" / target.lab
    return target if offered.is_dir() else None


async def submit_notebook(target: ClassExchange, notebook: Path, wait: float = WAIT_SECONDS) -> dict[str, Any]:
    """Submit the notebook, wait for its feedback page, and keep it where a mark's page is.

    Returns:
        {words, marked}. `marked` is False if no page arrived in time, or the page says why there's no mark.

    Raises:
        SubmissionError: If nbgrader doesn't submit it.
    """
    async with SUBMITTING:
        before = set(_list_cached(target))
        try:
            await asyncio.to_thread(target.submit)
        except (ExchangeFailure, OSError) as error:
            raise SubmissionError(str(error)) from None
        new = sorted(set(_list_cached(target)) - before)
    page = _get_page_path(target, new[-1])
    start = monotonic()
    while True:
        if target.fetch_pages:
            with contextlib.suppress(ExchangeRefusal):  # the exchange may be starting again
                await asyncio.to_thread(target.fetch_pages)
        if page.exists():
            state = _keep_page(page, notebook)
            if state.reason:
                return {"words": f"Submitted. {state.reason}", "marked": False}
            words = f"Submitted, and marked: {state.mark}" if state.mark else "Submitted, and marked."
            return {"words": words, "marked": True}
        if (waited := monotonic() - start) > wait:
            return {"words": LATER, "marked": False}
        await asyncio.sleep(min(max(waited * LOOK_SHARE, MIN_LOOK), MAX_LOOK))


@dataclass(frozen=True)
class SubmissionState:
    """What is known of a student's newest submission of a lab."""

    time: str = ""
    """As the exchange has it."""
    has_mark: bool = False
    mark: str = ""
    """The points, in words."""
    reason: str = ""
    """Why it isn't marked."""


def read_submission_state(target: ClassExchange, notebook: Path) -> SubmissionState | None:
    """Read the state of the newest submission, and keep its feedback page. None if nothing was submitted."""
    submissions = _list_cached(target)
    if not submissions:
        return None
    if target.fetch_pages:
        target.fetch_pages()
    page = _get_page_path(target, submissions[-1])
    state = _keep_page(page, notebook) if page.exists() else SubmissionState()
    return replace(state, time=(submissions[-1] / "timestamp.txt").read_text(encoding="utf-8").strip())


def is_submitted(target: ClassExchange, notebook: Mapping[str, Any]) -> bool:
    """Return whether the newest submission has all answers of this notebook, which is given as JSON."""
    submissions = _list_cached(target)
    if not submissions:
        return False
    submitted = read_object(submissions[-1] / f"{target.lab}.ipynb")
    return digest_sources(submitted) == digest_sources(notebook)


def _keep_page(page: Path, notebook: Path) -> SubmissionState:
    """Read a feedback page, and keep it and its marks where a mark's are, unless it only says why there's no mark."""
    text = page.read_text(encoding="utf-8")
    if reason := UNMARKED.search(text):
        return SubmissionState(reason=html.unescape(reason[1]))
    kept_page = get_page_path(notebook)
    kept_page.parent.mkdir(exist_ok=True)
    kept_page.write_text(text, encoding="utf-8")
    get_marks_path(notebook).write_text(find_page_marks(text), encoding="utf-8")
    mark = MARK.search(text)
    return SubmissionState(has_mark=True, mark=mark[1] if mark else "")


def find_page_marks(page: str) -> str:
    """Return the marks on a feedback page, as JSON by exercise."""
    marks = MARKS.search(page)
    return html.unescape(marks[1]) if marks else "{}"


def _list_cached(target: ClassExchange) -> list[Path]:
    """List the student's own copies of this lab's submissions, oldest first."""
    return sorted((target.cache / target.course).glob(f"*+{target.lab}+*"), key=os.path.getmtime)


def _get_page_path(target: ClassExchange, submission: Path) -> Path:
    """Return where this submission's page will be. Only its secret reveals the name."""
    from nbgrader.utils import notebook_hash

    secret = (submission / "submission_secret.txt").read_text()
    return target.exchange / target.course / "feedback" / f"{notebook_hash(secret=secret, notebook_id=target.lab)}.html"
