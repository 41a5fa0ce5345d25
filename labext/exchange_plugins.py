"""nbgrader's exchange in a class on a JupyterHub: its own classes, over HTTP instead of a shared folder.

Each class first copies what it needs into the student's private mirror of the exchange. From there on, nbgrader's own
code does the work, so `nbgrader list`, `fetch_assignment`, `submit`, `fetch_feedback` and the Assignment List are
unchanged. Who submits, and when, is decided by the exchange.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbgrader.exchange import default as nbgrader_exchange
from traitlets import default

from labext.exchange_client import ExchangeRefusal
from labext.exchange_mirror import ExchangeMirror, find_mirror

COURSE = "GRADLAB_COURSE"  # environment variable of a student's server: the class's course, if there's only one
OWN_FILES = ("timestamp.txt", "submission_secret.txt")  # the exchange adds its own


def configure_student(c: Any) -> None:
    """Set up nbgrader for a student on a hub. Called from labext/etc/hub/nbgrader_config.py with `get_config()`."""
    kinds = {
        "exchange": "HubExchange",
        "list": "HubList",
        "fetch_assignment": "HubFetchAssignment",
        "fetch_feedback": "HubFetchFeedback",
        "submit": "HubSubmit",
    }
    for part, name in kinds.items():
        setattr(c.ExchangeFactory, part, f"{__name__}.{name}")
    # Two courses may have labs of the same name. A student who joins another course keeps the folders they have.
    c.Exchange.path_includes_course = True
    if course := os.environ.get(COURSE):
        c.CourseDirectory.course_id = course


class HubExchange(nbgrader_exchange.Exchange):  # type: ignore[misc]
    """An exchange whose folder is the student's mirror of the real one."""

    @default("root")
    def _choose_root(self) -> str:
        return str(find_mirror())

    @property
    def mirror(self) -> ExchangeMirror:
        return ExchangeMirror(Path(self.root))

    def ensure_root(self) -> None:
        """Make the mirror, which no other user may read. A shared exchange has to be writable for everyone."""
        Path(self.root).mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def report_refusal(self) -> Iterator[None]:
        """End the command with the exchange's own words if it refuses something."""
        try:
            yield
        except ExchangeRefusal as error:
            self.fail(str(error))


class HubList(HubExchange, nbgrader_exchange.ExchangeList):  # type: ignore[misc]
    """`nbgrader list`."""

    def init_dest(self) -> None:
        course = self.coursedir.course_id
        with self.report_refusal():
            self.mirror.fetch_courses(course)
            for name in [course] if course else os.listdir(self.root):
                if self.cached and os.path.isdir(os.path.join(self.cache, name)):
                    self.mirror.fetch_pages(name, "")
        super().init_dest()


class HubFetchAssignment(HubExchange, nbgrader_exchange.ExchangeFetchAssignment):  # type: ignore[misc]
    """`nbgrader fetch_assignment`."""

    def init_src(self) -> None:
        if self.coursedir.course_id:
            with self.report_refusal():
                self.mirror.fetch_labs(self.coursedir.course_id)
        super().init_src()

    def copy_files(self) -> None:
        course, lab = self.coursedir.course_id, self.coursedir.assignment_id
        has_notebook = Path(self.dest_path, f"{lab}.ipynb").exists()  # then only other files are missing
        super().copy_files()
        if not has_notebook:
            self.mirror.record_fetched_lab(course, lab)


class HubFetchFeedback(HubExchange, nbgrader_exchange.ExchangeFetchFeedback):  # type: ignore[misc]
    """`nbgrader fetch_feedback`."""

    def init_src(self) -> None:
        if self.coursedir.course_id:
            with self.report_refusal():
                self.mirror.fetch_pages(self.coursedir.course_id, self.coursedir.assignment_id)
        super().init_src()


class HubSubmit(HubExchange, nbgrader_exchange.ExchangeSubmit):  # type: ignore[misc]
    """`nbgrader submit`."""

    def init_dest(self) -> None:
        if self.coursedir.course_id:
            with self.report_refusal():
                self.mirror.fetch_labs(self.coursedir.course_id)
        super().init_dest()

    def copy_files(self) -> None:
        """Submit the lab's folder, and keep a copy in nbgrader's cache, with the time and secret that were assigned."""
        course, lab = self.coursedir.course_id, self.coursedir.assignment_id
        self.init_release()
        self.check_filename_diff()
        with tempfile.TemporaryDirectory() as place, self.report_refusal():
            folder = Path(place, lab)
            self.do_copy(self.src_path, folder)
            for name in OWN_FILES:  # of an earlier submission that was copied back
                (folder / name).unlink(missing_ok=True)
            receipt = self.mirror.submit_folder(course, lab, folder)
        self.timestamp = receipt.timestamp
        copy = os.path.join(self.cache_path, f"{receipt.student}+{lab}+{receipt.timestamp}")
        os.makedirs(self.cache_path, exist_ok=True)
        self.do_copy(self.src_path, copy)
        for name, text in zip(OWN_FILES, (receipt.timestamp, receipt.secret), strict=True):
            Path(copy, name).write_text(text, encoding="utf-8")
        self.log.info("Submitted as: %s %s %s", course, lab, receipt.timestamp)
