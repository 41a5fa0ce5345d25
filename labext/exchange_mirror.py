"""A student's private copy of what a class's exchange offers, in the folders of nbgrader's own exchange.

nbgrader's classes work on these folders, so its lists and commands behave as with a shared exchange.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from labext.exchange_client import CourseNews, ExchangeClient, Receipt, connect_exchange


@dataclass(frozen=True)
class ExchangeMirror:
    """The mirror in this folder, which belongs to the student alone."""

    root: Path

    def fetch_courses(self, course: str) -> list[str]:
        """Fetch the labs of this course; of all courses of the student if it's empty. Return the courses' names."""
        courses = [course] if course else connect_exchange().list_courses()
        for name in courses:
            self.fetch_labs(name)
        return courses

    def list_courses(self) -> list[str]:
        """List the courses whose labs have been fetched, which the student may have left."""
        return sorted(path.parent.name for path in self.root.glob("*/outbound"))

    def fetch_labs(self, course: str) -> None:
        """Copy the labs that are new or changed, and remove those that are no longer released."""
        client = connect_exchange()
        labs = client.list_labs(course)
        with self._lock_course(course) as folder:
            for name in set(os.listdir(folder / "outbound")) - labs.keys():
                shutil.rmtree(folder / "outbound" / name)
            for name, version in labs.items():
                self._fetch_lab(client, folder, name, version)

    def fetch_news(self, course: str, target: Path) -> CourseNews:
        """Copy the course's own pages to the folder of the student's labs. A page that the student changed is kept."""
        client = connect_exchange()
        with self._lock_course(course) as folder:
            news = client.read_course(course)
            for name, version in news.pages.items():
                record, page = folder / "versions" / f"{name}.page", target / Path(name).name
                known = record.read_text(encoding="utf-8") if record.is_file() else ""
                if known == version or (page.exists() and digest_bytes(page.read_bytes()) != known):
                    continue
                content = client.fetch_course_page(course, name)
                if digest_bytes(content) == version:
                    target.mkdir(exist_ok=True)
                    page.write_bytes(content)
                    record.write_text(version, encoding="utf-8")
        return news

    def fetch_pages(self, course: str, lab: str) -> None:
        """Copy the student's feedback pages for this lab that are new or changed; of all fetched labs if it's empty."""
        client = connect_exchange()
        with self._lock_course(course) as folder:
            for name in [lab] if lab else os.listdir(folder / "outbound"):
                for page in client.list_pages(course, name):
                    path = folder / "feedback" / f"{page.name}.html"
                    with contextlib.suppress(FileNotFoundError):
                        if (path.stat().st_mtime_ns, path.stat().st_size) == (page.changed, page.size):
                            continue
                    new = path.with_suffix(".new")
                    new.write_bytes(client.fetch_page(course, page))
                    os.utime(new, ns=(page.changed, page.changed))
                    os.replace(new, path)

    def record_fetched_lab(self, course: str, lab: str) -> None:
        """Record that the student has got the mirror's present version of a lab."""
        with self._lock_course(course) as folder:
            (folder / "fetched").mkdir(exist_ok=True)
            (folder / "fetched" / lab).write_text(_digest_folder(folder / "outbound" / lab), encoding="utf-8")

    def has_newer_version(self, course: str, lab: str) -> bool:
        """Return whether the lab's files have changed since the student got them."""
        folder = self.root / course
        with contextlib.suppress(FileNotFoundError):
            fetched = (folder / "fetched" / lab).read_text(encoding="utf-8")
            return fetched != _digest_folder(folder / "outbound" / lab)
        return False

    def submit_folder(self, course: str, lab: str, folder: Path) -> Receipt:
        return connect_exchange().submit_folder(course, lab, folder)

    def _fetch_lab(self, client: ExchangeClient, folder: Path, lab: str, version: str) -> None:
        target, known = folder / "outbound" / lab, folder / "versions" / lab
        if target.is_dir() and known.is_file() and known.read_text(encoding="utf-8") == version:
            return
        known.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            client.fetch_lab(folder.name, lab, Path(place, lab))
            shutil.rmtree(target, ignore_errors=True)
            os.replace(Path(place, lab), target)
        known.write_text(version, encoding="utf-8")

    @contextlib.contextmanager
    def _lock_course(self, course: str) -> Iterator[Path]:
        """Yield the course's folder, which no other process changes meanwhile."""
        folder = self.root / course
        for part in ("outbound", "inbound", "feedback", "versions"):
            (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(self.root, 0o700)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder


def digest_bytes(content: bytes) -> str:
    """Compute a page's version, as the exchange does."""
    return hashlib.sha256(content).hexdigest()


def _digest_folder(folder: Path) -> str:
    """Compute what changes with the name or the content of any file. A lab that is released again may be unchanged."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def find_mirror() -> Path:
    """Return the folder of this user's mirror."""
    return Path(jupyter_data_dir()) / "gradlab_exchange"
