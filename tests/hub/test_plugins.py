"""nbgrader's own classes and *Mark my work* on an exchange over HTTP."""

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory
from nbgrader.utils import notebook_hash
from traitlets.config import Config, PyFileConfigLoader

from labext.class_submission import find_class, submit_notebook
from labext.exchange_plugins import configure_student
from labext.workspace import Workspace
from labkit.start import has_exchange
from tests.conftest import ROOT
from tests.hub.exchange_process import COURSE, LAB, PREFIX, ExchangeProcess
from tests.labext.test_class_submission import PAGE
from tests.waiting import wait_until

STUDENT_CONFIG = ROOT / "labext" / "etc" / "hub"


class Student:
    """A student's server: nbgrader with the plug-ins, in a home."""

    def __init__(self, home: Path) -> None:
        self.home, self.work = home, home / "work"
        self.work.mkdir(parents=True)

    def run(self, part: str, lab: str = LAB, course: str = COURSE, **options: object) -> list[dict[str, object]]:
        """What nbgrader's command for this part of the exchange returns."""
        config = Config()
        configure_student(config)
        config.Exchange.assignment_dir = str(self.work)
        config.ExchangeList.update(options)
        config.CourseDirectory.update({"course_id": course, "assignment_id": lab})
        factory = ExchangeFactory(config=config)
        parts = {"coursedir": CourseDirectory(config=config), "authenticator": Authenticator(config=config)}
        return getattr(factory, part)(**parts, config=config).start()  # type: ignore[no-any-return]


@pytest.fixture
def student(exchange: ExchangeProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Student:
    monkeypatch.setenv("GRADLAB_EXCHANGE", f"http://127.0.0.1:{exchange.port}{PREFIX}")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "ana-token")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "home" / "data"))
    monkeypatch.setenv("GRADLAB_COURSE", COURSE)
    return Student(tmp_path / "home")


def release_page(exchange: ExchangeProcess, submission: Path, text: str) -> None:
    secret = (submission / "submission_secret.txt").read_text()
    page = exchange.course / "feedback" / f"{notebook_hash(secret=secret, notebook_id=LAB)}.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text)


def find_copies(student: Student) -> list[Path]:
    return sorted((student.home / "data" / "nbgrader_cache" / COURSE).iterdir())


def test_a_lab_is_listed_and_fetched(student: Student, exchange: ExchangeProcess) -> None:
    (lab,) = student.run("List", lab="")
    assert (lab["assignment_id"], lab["status"]) == (LAB, "released")
    student.run("FetchAssignment")
    released = exchange.course / "outbound" / LAB
    assert (student.work / COURSE / LAB / f"{LAB}.ipynb").read_bytes() == (released / f"{LAB}.ipynb").read_bytes()
    assert (student.work / COURSE / LAB / "data" / "numbers.csv").read_text() == "1,2\n"
    mirror = student.home / "data" / "gradlab_exchange"
    assert stat.S_IMODE(mirror.stat().st_mode) == 0o700


def test_a_lab_that_is_no_longer_released_disappears(student: Student, exchange: ExchangeProcess) -> None:
    extra = exchange.course / "outbound" / "02_extra"
    shutil.copytree(exchange.course / "outbound" / LAB, extra)
    assert len(student.run("List", lab="")) == 2
    shutil.rmtree(extra)
    assert len(student.run("List", lab="")) == 1


def test_a_corrected_lab_replaces_the_mirrors_copy(student: Student, exchange: ExchangeProcess) -> None:
    student.run("List", lab="")
    data = exchange.course / "outbound" / LAB / "data" / "numbers.csv"
    data.write_text("3,4,5\n")
    student.run("FetchAssignment")
    assert (student.work / COURSE / LAB / "data" / "numbers.csv").read_text() == "3,4,5\n"
    data.write_text("1,2\n")


def test_a_submission_has_the_exchanges_time_and_its_feedback_is_fetched(
    student: Student, exchange: ExchangeProcess
) -> None:
    student.run("FetchAssignment")
    (student.work / COURSE / LAB / "timestamp.txt").write_text("2020-01-01 00:00:00 UTC")
    student.run("Submit")
    (copy,) = find_copies(student)
    time = (copy / "timestamp.txt").read_text()
    assert copy.name == f"ana+{LAB}+{time}" and not time.startswith("2020")
    (stored,) = [folder for folder in (exchange.course / "inbound").iterdir() if folder.name.startswith(copy.name)]
    assert (stored / "submission_secret.txt").read_text() == (copy / "submission_secret.txt").read_text()

    (submitted,) = student.run("List", lab="", cached=True)
    assert not submitted["submissions"][0]["has_exchange_feedback"]  # type: ignore[index]
    release_page(exchange, copy, "your page")
    (submitted,) = student.run("List", lab="", cached=True)
    assert submitted["submissions"][0]["has_exchange_feedback"]  # type: ignore[index]
    student.run("FetchFeedback")
    assert (student.work / COURSE / LAB / "feedback" / time / f"{LAB}.html").read_text() == "your page"
    release_page(exchange, copy, "your other page")
    student.run("FetchFeedback")
    assert (student.work / COURSE / LAB / "feedback" / time / f"{LAB}.html").read_text() == "your other page"


def test_a_refusal_ends_the_command_in_the_exchanges_words(student: Student, caplog: pytest.LogCaptureFixture) -> None:
    for part in ("List", "FetchAssignment", "FetchFeedback"):
        with pytest.raises(ExchangeError, match="there's no such course or lab"):
            student.run(part, course="chemistry")


def test_a_server_outside_a_class_is_refused(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADLAB_EXCHANGE")
    with pytest.raises(ExchangeError, match="belongs to no class"):
        student.run("FetchAssignment")


@pytest.mark.slow
def test_mark_my_work_submits_and_pulls_its_page(
    student: Student, exchange: ExchangeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: nbgrader submits in its own process."""
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(STUDENT_CONFIG))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # nbgrader starts in another folder
    student.run("FetchAssignment")
    notebook, before = student.work / COURSE / LAB / f"{LAB}.ipynb", set(exchange.list_stored())
    target = find_class(notebook, Workspace(student.work))
    assert target is not None and target.fetch_pages is not None

    async def submit() -> dict[str, object]:
        submitting = asyncio.create_task(submit_notebook(target, notebook, wait=3600))
        await asyncio.to_thread(
            wait_until, lambda: submitting.done() or len(exchange.list_stored()) > len(before), "the submission arrives"
        )
        for name in set(exchange.list_stored()) - before:
            release_page(exchange, exchange.course / "inbound" / name, PAGE)
        return await submitting

    assert asyncio.run(submit()) == {"words": "Submitted, and marked: 1.5 of 2 points", "marked": True}


def test_a_students_configuration_shows_the_assignment_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.sep)
    assert has_exchange(STUDENT_CONFIG)


def test_the_configuration_sets_nothing_on_a_hub_with_another_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADLAB_EXCHANGE", raising=False)
    loader = PyFileConfigLoader("nbgrader_config.py", path=str(STUDENT_CONFIG))
    assert "ExchangeFactory" not in loader.load_config()
    monkeypatch.setenv("GRADLAB_EXCHANGE", "http://exchange")
    assert loader.load_config().ExchangeFactory.submit == "labext.exchange_plugins.HubSubmit"
