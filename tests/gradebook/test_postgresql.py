"""The gradebook on PostgreSQL: a real server gets the same rows as SQLite, and every page is made from them."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from nbgrader.api import Base
from sqlalchemy import create_engine, select, text

from autograder.base.errors import GradlabError
from autograder.classroom.open_class import grade_lab
from autograder.desk.course_desk import find_address, open_desk
from autograder.desk.marks import ConflictError, change_items, read_marks, read_rubric, save_mark
from autograder.desk.question_page import list_questions
from autograder.desk.rubric import Item, Rubric
from autograder.gradebook.class_reader import read_class
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.result_reader import read_results
from autograder.lms.people import list_people
from autograder.lms.spreadsheet import SPREADSHEET
from autograder.reports.feedback import write_feedback
from autograder.reports.lab_report import write_report
from autograder.workers.executors import LocalExecutor
from tests.classroom.graded_class import LAB
from tests.classroom.late_class import make_class, open_class
from tests.conftest import need
from tests.desk import answered_class

DEBIAN = Path("/usr/lib/postgresql")  # where Debian keeps the server's programs, which are not on PATH


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """The socket's folder of a new server that all users of this machine may use as `postgres`."""
    folders = sorted(DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name))
    initdb, postgres = (str(folders[-1] / name) if folders else name for name in ("initdb", "postgres"))
    need(initdb)
    user = "postgres" if os.getuid() == 0 else None  # the server refuses to run as root
    with tempfile.TemporaryDirectory() as folder:
        if user:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        init = [initdb, "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", f"--pgdata={data}"]
        subprocess.run(init, check=True, capture_output=True, user=user, cwd=folder)
        with (Path(folder) / "log").open("w") as log:
            command = [postgres, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
            running = subprocess.Popen(command, stdout=log, stderr=log, user=user, cwd=folder)
        try:
            _wait_for(folder, running)
            yield Path(folder)
        finally:
            running.send_signal(signal.SIGINT)  # ends its connections too
            running.wait()


def _wait_for(folder: str, running: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            psycopg.connect(host=folder, user="postgres").close()
            return
        except psycopg.OperationalError:
            assert running.poll() is None, (Path(folder) / "log").read_text()
            time.sleep(0.1)


@pytest.fixture
def db_url(server: Path) -> str:
    """An empty database."""
    with psycopg.connect(host=str(server), user="postgres", autocommit=True) as connection:
        name = f"class_{connection.info.backend_pid}"
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql+psycopg://postgres@/{name}?host={server}"


def use_postgresql(course: Path, db_url: str) -> Any:
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.db_url = {db_url!r}\n")
    api = open_class(course)
    assert api.db_url == db_url
    return api


def grade_class(api: Any, executor: LocalExecutor) -> dict[str, bool]:
    """student -> whether the submission had been graded before."""
    outcomes = list(grade_lab(api, LAB, executor))
    assert not any(d.failure for d in outcomes)
    return {d.student: d.kept for d in outcomes}


def read_all_rows(db_url: str) -> dict[str, list[str]]:
    """Every row of every table. A random id is replaced by its row's contents."""
    contents: dict[Any, str] = {}
    rows: dict[str, list[str]] = {}
    engine = create_engine(db_url)
    with engine.connect() as connection:
        for table in Base.metadata.sorted_tables:
            rows[table.name] = []
            for row in connection.execute(select(table)).mappings():
                row_text = repr({k: contents.get(v, v) for k, v in row.items() if v in contents or not is_random(v)})
                contents.setdefault(row.get("id"), row_text)
                rows[table.name].append(row_text)
            rows[table.name].sort()
        rows["alembic_version"] = [repr(row) for row in connection.execute(text("SELECT * FROM alembic_version"))]
    engine.dispose()
    return rows


def is_random(value: object) -> bool:
    return re.fullmatch("[0-9a-f]{32}", str(value)) is not None


def write_pages(api: Any, course: Path) -> dict[str, bytes]:
    """All pages that are written from the gradebook, by path."""
    results = read_results(api.db_url, course, LAB)
    paths = write_feedback(results, course, LAB)
    write_report(read_class(api.db_url, course, LAB), course / "results" / "report.html")
    with api.open_gradebook() as gradebook:
        people = list_people(gradebook)
    class_results = read_class(api.db_url, course, LAB)
    SPREADSHEET.grades.write(course / "results" / "marks.csv", people, [class_results])
    paths += [course / "results" / "report.html", course / "results" / "marks.csv"]
    return {str(path.relative_to(course)): path.read_bytes() for path in paths}


@pytest.mark.slow
def test_rows_and_pages_are_those_of_sqlite_and_a_second_run_does_nothing(
    small_course: Path, tmp_path: Path, db_url: str, two_graders: LocalExecutor
) -> None:
    """Slow: a class is graded, with a late penalty, and a server is started."""
    make_class(small_course)
    sqlite, other = open_class(small_course), tmp_path / "other"
    assert set(grade_class(sqlite, two_graders).values()) == {False}
    shutil.copytree(small_course, other, ignore=shutil.ignore_patterns("gradebook.db"))
    postgresql = use_postgresql(other, db_url)
    assert set(grade_class(postgresql, two_graders).values()) == {True}, (
        "its results are there, and its gradebook is empty"
    )
    rows = read_all_rows(db_url)
    assert rows == read_all_rows(sqlite.db_url)
    assert len(rows["submitted_assignment"]) == 6
    assert any("'late_submission_penalty': 0.5" in row for row in rows["submitted_notebook"])
    assert write_pages(postgresql, other) == write_pages(sqlite, small_course)
    assert not (other / "gradebook.db").exists()
    assert set(grade_class(postgresql, two_graders).values()) == {True}
    assert read_all_rows(db_url) == rows


def test_marks_given_at_the_desk_are_saved_and_an_outdated_page_is_refused(small_course: Path, db_url: str) -> None:
    (small_course / "gradebook.db").unlink()
    answered_class.add_question(small_course)
    use_postgresql(small_course, db_url)
    answered_class.hand_in(small_course)
    desk, question = open_desk(small_course), (answered_class.LAB, answered_class.LAB, answered_class.QUESTION)
    assert desk.db_url == db_url
    with open_gradebook(db_url, desk.course_id) as one, open_gradebook(db_url, desk.course_id) as other:
        questions = list_questions(desk, one)[0][answered_class.LAB]
        assert {q.name: q.waiting for q in questions} == {"why": 4, "sum_of_squares": 0}
        place = find_address(desk, one, *question)
        half, full = (Item(id=f"{n:08x}", text="x", points=n) for n in (1, 3))
        assert change_items(desk, one, place, (half, full), Rubric().version, lambda _: False)
        waits = read_marks(one, place, Rubric())["ada"]
        assert (
            save_mark(desk, other, place, "ada", replace(waits, points=2.5, comment="Why $x$?"), waits.version).points
            == 2.5
        )
        save_mark(desk, one, place, "ben", replace(waits, chosen=(half.id,)), waits.version)
        with pytest.raises(ConflictError):
            save_mark(desk, one, place, "ada", replace(waits, points=0.0), waits.version)
        one.db.rollback()
        dearer = half.model_copy(update={"points": 1.5})
        assert change_items(desk, one, place, (dearer, full), read_rubric(desk, place).version, lambda n: n == 1)
    query = "SELECT manual_score FROM grade WHERE manual_score IS NOT NULL AND NOT needs_manual_grade ORDER BY 1"
    with psycopg.connect(db_url.replace("+psycopg", "")) as connection:
        assert connection.execute(query).fetchall() == [(1.5,), (2.5,)]
        comments = connection.execute("SELECT manual_comment FROM comment WHERE manual_comment IS NOT NULL")
        assert comments.fetchall() == [("Why $x$?",)]
    assert not (small_course / "gradebook.db").exists()


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("postgresql+psycopg://me:secret@/class?host=/nowhere", "/nowhere"),
        ("mysql+nobody://me:secret@/x", "nobody"),
        ("mysql+aiomysql://me:secret@/x", "aiomysql"),
    ],
)
def test_a_database_that_cannot_be_opened_is_named_without_its_password(
    small_course: Path, url: str, word: str
) -> None:
    with pytest.raises(GradlabError, match=word) as error_info:
        read_results(url, small_course, LAB)
    assert "c.CourseDirectory.db_url" in str(error_info.value) and "secret" not in str(error_info.value)
