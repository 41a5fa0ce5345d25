"""The exchange service: students fetch, submit and get their pages, and nothing of anyone else's."""

import json
import os
import shutil
from pathlib import Path

import pytest
from nbgrader.utils import notebook_hash

from autograder.exchange.inbox import Inbox
from autograder.hub.course_pages import DUE_DATES
from autograder.hub.exchange_folder import compute_page_name
from labext.exchange_client import ExchangeRefusal, Receipt
from labkit.notebook_progress import START
from tests.hub.exchange_process import COURSE, LAB, OTHER_COURSE, ExchangeProcess, pack

NOTEBOOK = {f"{LAB}.ipynb": b'{"cells": []}', "data/numbers.csv": b"1,2\n"}
PATH = f"courses/{COURSE}/labs/{LAB}"


def submit(exchange: ExchangeProcess, user: str, tmp_path: Path) -> Receipt:
    folder = tmp_path / user
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in NOTEBOOK.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return exchange.connect(user).submit_folder(COURSE, LAB, folder)


def release_page(exchange: ExchangeProcess, receipt: Receipt, text: str) -> Path:
    """Release a page as nbgrader and the watch do."""
    page = exchange.course / "feedback" / f"{notebook_hash(secret=receipt.secret, notebook_id=LAB)}.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text)
    return page


def test_a_student_fetches_what_the_course_has_released(exchange: ExchangeProcess, tmp_path: Path) -> None:
    client = exchange.connect()
    assert client.list_courses() == [COURSE]
    assert list(client.list_labs(COURSE)) == [LAB]
    client.fetch_lab(COURSE, LAB, tmp_path / LAB)
    released = exchange.course / "outbound" / LAB
    for path in released.rglob("*"):
        if path.is_file():
            assert (tmp_path / LAB / path.relative_to(released)).read_bytes() == path.read_bytes()


def test_the_version_of_a_lab_changes_with_its_files(exchange: ExchangeProcess) -> None:
    before = exchange.connect().list_labs(COURSE)[LAB]
    added = exchange.course / "outbound" / LAB / "data" / "more.csv"
    added.write_text("3\n")
    assert exchange.connect().list_labs(COURSE)[LAB] != before
    added.unlink()


def test_a_submission_arrives_complete_where_the_watch_looks_for_it(exchange: ExchangeProcess, tmp_path: Path) -> None:
    receipt = submit(exchange, "ana", tmp_path)
    inbox = Inbox(exchange.course / "inbound", exchange.course / "outbound", exchange.course / "feedback", False)
    (arrival,) = [each for each in inbox.iter_arrivals([LAB]) if each.secret == receipt.secret]
    assert (arrival.student, arrival.problem) == ("ana", "")
    assert f"{arrival.submitted:%Y-%m-%d %H:%M:%S.%f} UTC" == receipt.timestamp
    files = {path.relative_to(arrival.folder).as_posix(): path for path in arrival.folder.rglob("*") if path.is_file()}
    assert {name: files[name].read_bytes() for name in NOTEBOOK} == NOTEBOOK
    assert files["timestamp.txt"].read_text() == receipt.timestamp
    modes = {path: path.stat().st_mode & 0o777 for path in (arrival.folder, *files.values())}
    # The course's user may be another one. The folder around the exchange keeps others out.
    assert modes == {path: 0o755 if path.is_dir() else 0o644 for path in modes}
    assert not os.listdir(exchange.course / ".staging")


def test_two_submissions_of_one_student_never_have_the_same_time(exchange: ExchangeProcess, tmp_path: Path) -> None:
    receipts = [submit(exchange, "ana", tmp_path) for _ in range(3)]
    assert len({receipt.timestamp for receipt in receipts}) == 3


def test_pages_have_the_names_that_nbgrader_gives_them() -> None:
    assert compute_page_name("a sécret", LAB) == notebook_hash(secret="a sécret", notebook_id=LAB)


def test_a_page_is_served_to_the_student_whose_submission_it_belongs_to(
    exchange: ExchangeProcess, tmp_path: Path
) -> None:
    receipts = {user: submit(exchange, user, tmp_path) for user in ("ana", "ben")}
    pages = {user: release_page(exchange, receipt, f"of {user}") for user, receipt in receipts.items()}
    client = exchange.connect("ana")
    (entry,) = [page for page in client.list_pages(COURSE, LAB) if page.name == pages["ana"].stem]
    assert client.fetch_page(COURSE, entry) == b"of ana"
    assert pages["ben"].stem not in {page.name for page in client.list_pages(COURSE, LAB)}
    status, body = exchange.ask(f"{PATH}/pages/{pages['ben'].stem}", "ana-token")
    assert status == 404 and b"of ben" not in body


def test_a_student_whose_name_begins_like_another_gets_none_of_their_pages(
    exchange: ExchangeProcess, tmp_path: Path
) -> None:
    release_page(exchange, submit(exchange, "ana", tmp_path), "of ana")
    status, body = exchange.ask(f"{PATH}/pages", "plus-token")
    assert (status, body) == (200, b'{"pages": []}')


def test_a_teacher_fetches_and_submits_like_a_student(exchange: ExchangeProcess, tmp_path: Path) -> None:
    assert exchange.connect("prof").list_courses() == [COURSE]
    assert submit(exchange, "prof", tmp_path).student == "prof"


@pytest.mark.parametrize("path", ["", f"/{LAB}", f"/{LAB}/pages"])
@pytest.mark.parametrize(
    ("user", "course"), [("ana", OTHER_COURSE), ("eve", COURSE), ("ana", "history"), ("ana", ".."), ("ana", "%2e%2e")]
)
def test_a_course_of_others_is_answered_like_one_that_does_not_exist(
    exchange: ExchangeProcess, user: str, course: str, path: str
) -> None:
    status, body = exchange.ask(f"courses/{course}/labs{path}", f"{user}-token")
    assert (status, body) == (404, b'{"problem": "there\'s no such course or lab"}')


@pytest.mark.parametrize(
    "lab", ["02_other", "..", "%2e%2e", "..%2finbound", f"{LAB}%2f..%2f..%2finbound", "%00", ".", f"{LAB}%2fdata"]
)
def test_only_a_released_lab_is_fetched_or_submitted(exchange: ExchangeProcess, lab: str) -> None:
    before = exchange.list_files()
    assert exchange.ask(f"courses/{COURSE}/labs/{lab}")[0] == 404
    assert exchange.ask(f"courses/{COURSE}/labs/{lab}/submissions", body=pack(NOTEBOOK))[0] == 404
    assert exchange.list_files() == before


def test_a_courses_own_pages_are_for_its_users_only(exchange: ExchangeProcess) -> None:
    pages = exchange.course / "pages"
    pages.mkdir()
    (pages / START).write_text("the start page")
    (pages / "notes.ipynb").write_text("another file")
    client = exchange.connect()
    assert list(client.read_course(COURSE).pages) == [START]
    assert client.fetch_course_page(COURSE, START) == b"the start page"
    for user, name in (("eve", START), ("ana", "notes.ipynb"), ("ana", f"..%2foutbound%2f{LAB}%2f{LAB}.ipynb")):
        assert exchange.ask(f"courses/{COURSE}/pages/{name}", f"{user}-token")[0] == 404
    shutil.rmtree(pages)
    assert exchange.connect().read_course(COURSE).pages == {}


def test_a_student_sees_no_due_date_of_another_student(exchange: ExchangeProcess) -> None:
    due, later = "2027-02-01T18:00:00+00:00", "2027-02-03T18:00:00+00:00"
    assert exchange.connect().read_course(COURSE).due == {LAB: ""}
    pages = exchange.course / "pages"
    pages.mkdir()
    (pages / DUE_DATES).write_text(json.dumps({LAB: {"": due, "ben": later}, "02_secret": {"": due}}))
    assert exchange.connect("ben").read_course(COURSE).due == {LAB: later}
    assert exchange.connect("ana").read_course(COURSE).due == {LAB: due}
    status, body = exchange.ask(f"courses/{COURSE}/labs")
    assert status == 200 and later.encode() not in body and b"ben" not in body and b"secret" not in body
    assert exchange.ask(f"courses/{COURSE}/pages/{DUE_DATES}")[0] == 404
    shutil.rmtree(pages)


@pytest.mark.parametrize("token", [None, "nonsense", "no-scope", "service-token", ""])
def test_without_a_valid_token_of_a_user_nothing_is_answered_or_stored(
    exchange: ExchangeProcess, token: str | None
) -> None:
    before = exchange.list_files()
    for path in (
        "courses",
        f"courses/{COURSE}/labs",
        f"courses/{COURSE}/pages/{START}",
        PATH,
        f"{PATH}/pages",
        "nowhere",
    ):
        assert exchange.ask(path, token)[0] == 403
    assert exchange.ask(f"{PATH}/submissions", token, pack(NOTEBOOK))[0] == 403
    assert exchange.list_files() == before


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", {"Cookie": "jupyterhub-user-ana=ana-token; service-exchange=ana-token; _xsrf=x"}),
        ("?token=ana-token", {}),
        ("?token=ana-token", {"Sec-Fetch-Mode": "websocket"}),
    ],
)
def test_a_token_counts_in_the_header_only(exchange: ExchangeProcess, query: str, headers: dict[str, str]) -> None:
    before = exchange.list_files()
    assert exchange.ask(f"courses{query}", None, headers=headers)[0] == 403
    assert exchange.ask(f"{PATH}/submissions{query}", None, pack(NOTEBOOK), headers)[0] == 403
    assert exchange.list_files() == before


def test_the_client_says_why_the_exchange_refuses(exchange: ExchangeProcess) -> None:
    with pytest.raises(ExchangeRefusal, match="no such course or lab"):
        exchange.connect("eve").list_labs(COURSE)
