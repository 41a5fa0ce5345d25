"""A student who writes anything into the exchange stops no watch, reads no one's files and shadows no one."""

import contextlib
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from autograder.base.submission_files import SECRET
from autograder.base.timestamps import get_utc_now, parse_time, read_time
from autograder.exchange import inbox as grading_inbox
from autograder.exchange.attempts import decide_attempt
from autograder.exchange.collection import collect_submission
from autograder.exchange.inbox import SUBMIT_GRACE, Inbox
from autograder.exchange.inbox_memory import InboxMemory
from autograder.gradebook.autograded_folder import CopyRules, write_autograded
from autograder.intake import copying
from autograder.intake.copying import open_folder
from autograder.intake.folder_normalization import LEFT_OUT, NOT_FOLLOWED, normalize_folder
from autograder.intake.safe_names import CONFIGURATION, NOT_RUN
from autograder.model.arrivals import CLOCK_TOLERANCE, NEVER, Arrival, select_newest
from autograder.model.term import LabTerm

LAB = "01_squares"
ONE, TWO = (f"2026-02-01 10:0{minute}:00.000000 UTC" for minute in (1, 2))
AHEAD = "9999-01-01 00:00:00.000000 UTC"
NOW = datetime(2026, 3, 1)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    (tmp_path / "inbound").mkdir()
    return Inbox(tmp_path / "inbound", tmp_path / "outbound", tmp_path / "feedback", check_owner=False)


def submit(inbox: Inbox, student: str, timestamp: str = ONE, secret: str = "a secret", name: str = "x") -> Path:
    folder = inbox.inbound / f"{student}+{LAB}+{timestamp}+{name}"
    folder.mkdir()
    (folder / f"{LAB}.ipynb").write_text("the notebook")
    (folder / "timestamp.txt").write_text(timestamp)
    if secret:
        (folder / SECRET).write_text(secret)
    return folder


def list_arrivals(inbox: Inbox) -> list[Arrival]:
    return list(inbox.iter_arrivals([LAB]))


def collect_files(inbox: Inbox, course: Path) -> dict[str, bytes]:
    """The files of the only submission in submitted/, by path; links and pipes would fail here."""
    (arrival,) = list_arrivals(inbox)
    collect_submission(arrival, course)
    folder = course / "submitted" / arrival.student / LAB
    every = [path for path in sorted(folder.rglob("*")) if not path.is_dir() or path.is_symlink()]
    assert all(stat.S_ISREG(path.lstat().st_mode) for path in every)
    return {str(path.relative_to(folder)): path.read_bytes() for path in every}


@pytest.mark.parametrize(
    ("student", "timestamp", "reason"),
    [
        ("ada", "2026-99-99 99:99:99 UTC", "no valid time"),
        ("ada", "9999-12-31 23:59:59 -2359", "no valid time"),
        ("ada", "2026-02-01 10:00:00 ..", "no valid time"),
        ("ada", "2026-02-01 10:00:00 \x1b[2J", "no valid time"),
        ("..", ONE, "no valid student"),
        (".ada", ONE, "no valid student"),
        ("a\nb", ONE, "no valid student"),
        (os.fsdecode(b"\xff"), ONE, "no valid student"),
        (f"ada+{LAB}", ONE, "no valid student"),
    ],
)
def test_a_malformed_name_counts_for_no_one_and_can_be_displayed(
    inbox: Inbox, student: str, timestamp: str, reason: str
) -> None:
    submit(inbox, student, timestamp)
    submit(inbox, "ben")
    wrong, sound = sorted(list_arrivals(inbox), key=lambda arrival: not arrival.problem)
    assert reason in wrong.problem and select_newest([wrong, sound], NOW) == [sound]
    io.TextIOWrapper(io.BytesIO(), encoding="utf-8").write(wrong.shown_name)
    assert wrong.shown_name.isprintable()


def _make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _make_endless_file(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _make_huge_file(path: Path) -> None:
    os.truncate(path, 2**40)


def _write_bad_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")


@pytest.mark.parametrize(
    "change", [_make_pipe, _make_endless_file, _make_huge_file, _write_bad_text, lambda path: path.write_text("")]
)
def test_an_invalid_secret_has_not_arrived(inbox: Inbox, change: Callable[[Path], None]) -> None:
    change(submit(inbox, "ada") / SECRET)
    (arrival,) = list_arrivals(inbox)
    assert arrival.in_transit
    assert "no readable submission_secret.txt" in arrival.problem
    assert not select_newest([arrival], NOW)


@pytest.mark.parametrize(
    "change",
    [_make_pipe, _make_endless_file, _make_huge_file, _write_bad_text, lambda path: path.write_text("2000-01-01")],
)
def test_the_time_of_a_submission_is_the_one_in_its_name(
    inbox: Inbox, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """Otherwise each of many submissions could claim the time of the first, and cost no attempt."""
    change(submit(inbox, "ada") / "timestamp.txt")
    assert collect_files(inbox, tmp_path)["timestamp.txt"].decode() == ONE
    assert read_time(tmp_path / "submitted" / "ada" / LAB) == datetime(2026, 2, 1, 10, 1)


def test_a_secret_is_believed_once(inbox: Inbox) -> None:
    folder = submit(inbox, "ada")
    (arrival,) = list_arrivals(inbox)
    before = inbox.get_page_path(arrival, LAB)
    _make_pipe(folder / SECRET)
    assert inbox.get_page_path(arrival, LAB) == before


def test_a_folder_of_another_user_does_not_precede_the_students_own(inbox: Inbox, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    strict_inbox = Inbox(inbox.inbound, inbox.outbound, inbox.feedback, check_owner=True)
    submit(strict_inbox, "root", ONE)
    os.chown(submit(strict_inbox, "root", TWO), 54321, 54321)  # who has no name
    (arrival,) = select_newest(list_arrivals(strict_inbox), NOW)
    assert arrival.submitted == datetime(2026, 2, 1, 10, 1)
    assert [a.problem.split(" (")[0] for a in list_arrivals(strict_inbox) if a.problem] == [
        "its folder belongs to user 54321"
    ]
    os.chown(arrival.folder, 54321, 54321)  # another user has replaced the folder
    with pytest.raises(OSError, match="belonged to root, and now belongs to user 54321"):
        collect_submission(arrival, tmp_path)


def test_a_hard_link_to_a_file_of_another_user_is_left_out(inbox: Inbox, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file to another user")
    folder = submit(inbox, "root")
    solution = tmp_path / "solution.py"
    solution.write_text("the instructor's")
    os.chown(solution, 54321, 54321)
    os.link(solution, folder / "mine.py")
    assert collect_files(inbox, tmp_path)[f"mine.py{NOT_FOLLOWED}"] == b""


def test_only_a_bounded_number_of_folders_of_each_student_is_read(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading_inbox, "MAX_EACH", 3)
    for number in range(9):
        submit(inbox, "mallory", ONE, name=str(number))
    submit(inbox, "ada")
    memory = InboxMemory()
    for _ in range(2):
        found = list(inbox.iter_arrivals([LAB], memory))
        assert [a.student for a in found if not a.problem].count("mallory") == 3 and len(select_newest(found, NOW)) == 2


@dataclass
class FilledInbox:
    """An inbox with one submission and hundreds of folders that never become submissions."""

    inbox: Inbox
    memory: InboxMemory
    names_opened: list[str]

    def look(self, now: datetime) -> tuple[list[str], list[Arrival]]:
        """(the folders that the look opened, what it found)."""
        self.names_opened.clear()
        found = list(self.inbox.iter_arrivals([LAB], self.memory, now))
        assert "ada" in {each.student for each in select_newest(found, now)}
        return list(self.names_opened), found


@pytest.fixture
def filled_inbox(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> FilledInbox:
    names_opened: list[str] = []

    @contextlib.contextmanager
    def count(path: Path) -> Iterator[int]:
        names_opened.append(path.name)
        with open_folder(path) as descriptor:
            yield descriptor

    monkeypatch.setattr(grading_inbox, "open_folder", count)
    monkeypatch.setattr(grading_inbox, "MAX_EACH", 50)
    monkeypatch.setattr(grading_inbox, "MAX_OPENED", 5)
    for number in range(200):
        (inbox.inbound / f"mallory+{LAB}+{ONE}+{number}").mkdir()
        (inbox.inbound / f"junk{number}").mkdir()
    submit(inbox, "ada")
    return FilledInbox(inbox, InboxMemory(), names_opened)


def test_one_folder_represents_all_that_are_too_many(filled_inbox: FilledInbox) -> None:
    names, found = filled_inbox.look(get_utc_now())
    assert len(names) == 50 + 1
    assert len(found) == 51 + 1


def test_folders_that_may_still_be_copied_are_opened_again_a_few_at_a_time(filled_inbox: FilledInbox) -> None:
    now = get_utc_now()
    filled_inbox.look(now)
    assert len(filled_inbox.look(now)[0]) == 5


def test_folders_that_never_become_submissions_are_not_opened_at_each_look(filled_inbox: FilledInbox) -> None:
    late = get_utc_now() + SUBMIT_GRACE * 2
    for _ in range(11):
        filled_inbox.look(late)
    assert filled_inbox.look(late)[0] == [], "nothing changed, and nothing is opened"


def test_an_old_folder_that_becomes_a_submission_is_opened(filled_inbox: FilledInbox) -> None:
    late = get_utc_now() + SUBMIT_GRACE * 2
    for _ in range(11):
        filled_inbox.look(late)
    incomplete = next(iter(filled_inbox.memory.incomplete))
    (filled_inbox.inbox.inbound / incomplete / SECRET).write_text("s")
    names, found = filled_inbox.look(late)
    assert names == [incomplete]
    assert next(each for each in found if each.folder.name == incomplete).secret == "s"


def test_names_that_are_gone_again_are_forgotten(inbox: Inbox) -> None:
    memory = InboxMemory()
    current_name = submit(inbox, "ada").name
    for look in range(3):
        names = [f"junk{look}", f"mallory{look}+{LAB}+{ONE}+x", f"eve{look}+{LAB}+never+x"]
        for name in names:
            (inbox.inbound / name).mkdir()
        submit(inbox, f"made_up{look}")
        list(inbox.iter_arrivals([LAB], memory))
        for name in [*names, f"made_up{look}+{LAB}+{ONE}+x"]:
            shutil.rmtree(inbox.inbound / name)
    assert [each.folder.name for each in inbox.iter_arrivals([LAB], memory)] == [current_name]
    assert set(memory.arrivals) == {current_name}
    assert not memory.skipped
    assert not memory.incomplete
    assert len(memory.counts) == 1


def test_a_time_in_the_future_neither_hides_submissions_nor_freezes_a_team(inbox: Inbox) -> None:
    submit(inbox, "ada", ONE)
    submit(inbox, "ada", AHEAD)
    (arrival,) = select_newest(list_arrivals(inbox), NOW)
    assert arrival.submitted == datetime(2026, 2, 1, 10, 1)


def test_a_name_cannot_set_the_clock_back_over_the_end_of_marking(inbox: Inbox) -> None:
    submit(inbox, "ada", "2026-02-01 10:00:00 UTC")
    (arrival,) = list_arrivals(inbox)
    until = arrival.changed_at - timedelta(hours=1)
    assert arrival.submitted < until
    decision = decide_attempt(
        arrival.submitted, [], LabTerm(until=until), arrival.changed_at, arrival.changed_at - CLOCK_TOLERANCE
    )
    assert decision.refusal.startswith("it arrived after")


def test_links_are_not_followed_and_pipes_not_waited_for(inbox: Inbox, tmp_path: Path) -> None:
    secret = tmp_path / "solutions"
    secret.mkdir()
    (secret / "solution.ipynb").write_text("the instructor's")
    folder = submit(inbox, "ada")
    (folder / f"{LAB}.ipynb").unlink()
    (folder / f"{LAB}.ipynb").symlink_to(secret / "solution.ipynb")
    (folder / "all").symlink_to(secret)
    os.mkfifo(folder / "pipe")
    files = collect_files(inbox, tmp_path)
    assert b"the instructor's" not in files.values()
    assert set(files) == {
        *(f"{name}{NOT_FOLLOWED}" for name in (f"{LAB}.ipynb", "all", "pipe")),
        "timestamp.txt",
        SECRET,
    }


def test_configurations_are_kept_under_names_that_no_tool_reads(inbox: Inbox, tmp_path: Path) -> None:
    folder = submit(inbox, "ada")
    for name in ("nbgrader_config.py", "Jupyter_Server_Config.json", "helper.py"):
        (folder / name).write_text(name)
    for name in ("jupyter_server_config.d", "jupyter_server_config.d.not-run", "deep"):
        (folder / name).mkdir()
        (folder / name / "ipython_kernel_config.py").write_text(name)
    files = set(collect_files(inbox, tmp_path))
    parts = {part for name in files for part in Path(name).parts if not part.endswith(NOT_RUN)}
    run = {part for part in parts if CONFIGURATION.fullmatch(part)}
    assert not run
    assert {"helper.py", f"nbgrader_config.py{NOT_RUN}"} <= files


def test_modules_that_a_kernel_would_import_from_the_folder_are_kept_under_other_names(
    inbox: Inbox, tmp_path: Path
) -> None:
    """A kernel started in a folder imports from it first, before any cell runs."""
    folder = submit(inbox, "ada")
    for name in ("json", "mine", "data", "deep"):
        (folder / name).mkdir()
    for name in (
        "ipykernel_launcher.py",
        "runpy.cpython-311.pyc",
        "traitlets.abi3.so",
        "helper.py",
        "json/__init__.py",
        "mine/__init__.py",
        "mine/json.py",
        "data/json.py",
        "deep/torch.py",
        "deep/work.ipynb",
    ):
        (folder / name).write_text("raise SystemExit")
    files = set(collect_files(inbox, tmp_path))
    new_names = {
        "ipykernel_launcher.py",
        "runpy.cpython-311.pyc",
        "traitlets.abi3.so",
        "json/__init__.py",
        "deep/torch.py",
    }
    assert {name.removesuffix(NOT_RUN) for name in files if name.endswith(NOT_RUN)} == new_names
    assert {"helper.py", "mine/__init__.py", "mine/json.py", "data/json.py", "deep/work.ipynb"} <= files


def test_a_folder_that_is_a_link_belongs_to_no_one(inbox: Inbox, tmp_path: Path) -> None:
    another = submit(inbox, "ben")
    (inbox.inbound / f"mallory+{LAB}+{TWO}").symlink_to(another)
    (wrong,) = [arrival for arrival in list_arrivals(inbox) if arrival.student == "mallory"]
    assert wrong.problem == "its folder is a link"
    (inbox.inbound / wrong.folder.name).unlink()
    folder = submit(inbox, "mallory")
    (arrival,) = [arrival for arrival in list_arrivals(inbox) if arrival.student == "mallory"]
    folder.rename(tmp_path / "aside")
    folder.symlink_to(another)  # swapped between the look and the copy
    with pytest.raises(OSError):
        collect_submission(arrival, tmp_path)
    assert not (tmp_path / "submitted" / "mallory" / LAB).exists()


def test_a_file_that_becomes_a_link_while_it_is_copied_is_not_followed(inbox: Inbox, tmp_path: Path) -> None:
    folder = submit(inbox, "ada")
    (tmp_path / "solution").write_text("the instructor's")
    (arrival,) = list_arrivals(inbox)
    end = Event()

    def swap() -> None:
        while not end.is_set():
            (folder / "link").symlink_to(tmp_path / "solution")
            os.replace(folder / "link", folder / f"{LAB}.ipynb")
            (folder / "file").write_text("the notebook")
            os.replace(folder / "file", folder / f"{LAB}.ipynb")

    swapping = Thread(target=swap)
    swapping.start()
    try:
        for number in range(200):
            collect_submission(arrival, tmp_path / str(number))
    finally:
        end.set()
        swapping.join()
    copies = [path.read_text() for path in tmp_path.glob(f"*/submitted/ada/{LAB}/{LAB}.ipynb")]
    assert copies and set(copies) <= {"the notebook", ""}


def test_files_that_are_too_deep_too_large_or_too_many_are_left_out(
    inbox: Inbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submit(inbox, "ada")
    folder.joinpath(*["d" * 200] * 17).mkdir(parents=True)
    deep = Path(*["e"] * 60)
    (folder / deep).mkdir(parents=True)
    (folder / "data").touch()
    os.truncate(folder / "data", 2**40)
    for number in range(300):
        (folder / f"z{number:03}").touch()
    monkeypatch.setattr(copying, "MAX_FILES", 150)
    files = collect_files(inbox, tmp_path)
    assert files[f"{LAB}.ipynb"] == b"the notebook" and len(files) <= 152
    assert max(path.count("/") for path in files) <= copying.MAX_DEPTH
    assert any(path.startswith("z") and path.endswith(LEFT_OUT) for path in files), "too many are noted"


def test_paths_and_names_as_long_as_can_be_keep_no_submission_from_its_score(inbox: Inbox, tmp_path: Path) -> None:
    """A path can fit into the exchange and submitted/, and not into autograded/."""
    folder = submit(inbox, "ada")
    deep = folder
    while len(str(deep)) < 3800:
        deep = deep / ("d" * 200)
    deep.mkdir(parents=True)
    (deep / ("x" * (4090 - len(str(deep))))).touch()
    for name in (f"jupyter_config{'x' * 238}.py", f"{'y' * 254}\x01", f"{'y' * 254}\x02", "z" * 255):
        (folder / name).write_text(name)
        (folder / f"in{name[5:]}").mkdir()
    (folder / ("l" * 255)).symlink_to("nowhere")
    files = collect_files(inbox, tmp_path)
    assert max(len(name.encode()) for name in files) < 1000
    assert any(name.startswith("d") and name.endswith(LEFT_OUT) for name in files)
    assert sum(content.startswith(b"yyy") for content in files.values()) == 2
    normalize_folder(tmp_path / "submitted" / "ada" / LAB, LAB)
    assert write_autograded(tmp_path, LAB, "ada", {LAB: "{}"}, CopyRules()) == []


def test_an_endless_notebook_is_cut_at_the_size_that_the_intake_refuses(
    inbox: Inbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "MAX_FILE", 1000)
    os.truncate(submit(inbox, "ada") / f"{LAB}.ipynb", 2**40)
    assert len(collect_files(inbox, tmp_path)[f"{LAB}.ipynb"]) == 1000


def test_only_someone_who_knows_a_pages_name_can_read_it(inbox: Inbox, tmp_path: Path) -> None:
    submit(inbox, "ada")
    (arrival,) = list_arrivals(inbox)
    page = tmp_path / f"{LAB}.html"
    page.write_text("ada's page")
    page.chmod(0o600)
    inbox.release_pages(arrival, [page])
    assert stat.S_IMODE(inbox.feedback.stat().st_mode) == 0o711
    assert stat.S_IMODE(inbox.get_page_path(arrival, LAB).stat().st_mode) == 0o644


def test_a_time_that_names_a_file_is_invalid() -> None:
    """dateutil opens the file that a time zone's name refers to."""
    for zone in ("/proc/kmsg", ":/proc/kmsg", "../../proc/kmsg", "x/../../proc/kmsg"):
        assert parse_time(f"2026-02-01 10:00:00 {zone}") is None
    assert parse_time("2026-02-01 10:00:00 Europe/Berlin") == datetime(2026, 2, 1, 9)
    assert parse_time("") is None and NEVER < NOW


def test_a_folder_changed_later_counts_as_later_whatever_its_secret_says(inbox: Inbox, tmp_path: Path) -> None:
    folder = submit(inbox, "ada")
    (before,) = list_arrivals(inbox)
    while not (folder / f"{LAB}.ipynb").stat().st_ctime > (folder / SECRET).stat().st_ctime:
        (folder / f"{LAB}.ipynb").write_text("the solution")
    (after,) = list_arrivals(inbox)
    assert after.changed_at > before.changed_at
    with pytest.raises(OSError, match="changed after"):
        collect_submission(replace(after, changed_at=after.changed_at - CLOCK_TOLERANCE * 2), tmp_path)


@pytest.mark.parametrize("year", ["0001", "1000", "1970"])
def test_a_time_outside_the_calendar_is_invalid(inbox: Inbox, year: str) -> None:
    submit(inbox, "mallory", f"{year}-01-01 00:00:00 UTC")
    (arrival,) = list_arrivals(inbox)
    assert arrival.problem == "its name has no valid time"
