"""A class of system users: the way from a release to feedback, and what a second student may try against the others.

Slow: a hub, its services and students' servers start as different users. All tests share them.
"""

import json
import os
import pwd
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from labext.class_submission import LATER
from labext.exchange_client import ExchangeClient
from tests.classroom.processes import list_children
from tests.hub.hub_process import ANSWER_SECONDS
from tests.hub.system_class import SystemClass, run_system_class
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.gate]
LAB, COURSE = "01_squares", "gradlab"
TEACH, DESK = f"/services/teach-{COURSE}", f"/services/desk-{COURSE}"
SERVICES = ("exchange_service", "watch_service", "desk_service", "root_dir=", "jupyterhub_idle_culler")
# What a process of a student prints: whether it could read a file or list a folder.
READ = "import os, sys; p = sys.argv[1]; print(os.listdir(p) if os.path.isdir(p) else open(p, 'rb').read(9))"
WRITE = "import sys; open(sys.argv[1], 'ab').write(b' ')"
RENAME = "import os, sys; os.rename(sys.argv[1], sys.argv[1] + '-gone')"
MAKE = "import os, sys; os.mkdir(os.path.join(sys.argv[1], 'new'))"
SIGNAL = "import os, sys; os.kill(int(sys.argv[1]), 9)"


@pytest.fixture(scope="module")
def online(built_course: Path) -> Iterator[SystemClass]:
    """A class in which Ana's first submission is marked, and Ben's server runs."""
    with run_system_class(built_course) as running:
        released = running.run_as(running.grader, "nbgrader", "release_assignment", LAB, place=running.hub.course)
        assert released.returncode == 0, released.stderr
        submit_first(running)
        running.log_in(running.ben).open_server()
        yield running


def submit_first(online: SystemClass) -> None:
    """Fetch the lab, answer everything, and press *Mark my work*, as Ana."""
    ana = online.log_in(online.ana)
    base = ana.open_server()
    answer = ana.post(f"{base}assignments/fetch", {"course_id": COURSE, "assignment_id": LAB}, base)
    assert answer.json()["success"], answer.text
    notebook = get_home(online.ana) / COURSE / LAB / f"{LAB}.ipynb"
    (lab,) = read_labs(read_course(online.hub.course))
    notebook.write_text(json.dumps(fill_notebook(lab, collect_reference(lab))))
    mark = ana.post(f"{base}gradlab/mark", {"path": f"{COURSE}/{LAB}/{LAB}.ipynb", "agreed": True}, base).json()
    assert mark["words"] in (LATER, "Submitted, and marked: 2 of 2 points"), mark
    client = ExchangeClient(online.hub.exchange, ana.draw_token())
    wait_until(lambda: client.list_pages(COURSE, LAB), "the watch has marked the submission")


def get_home(name: str) -> Path:
    return Path(pwd.getpwnam(name).pw_dir)


def find_service(online: SystemClass, word: str) -> int:
    """The process of a service, by a word of its command. Ben's own server isn't one: he may read its memory."""
    ben, children = pwd.getpwnam(online.ben).pw_uid, list_children(online.hub.process.pid, recursive=True)
    found = (pid for pid, command in children if word in command and not command.startswith("/bin/sh"))
    return next(pid for pid in found if Path(f"/proc/{pid}").stat().st_uid != ben)


def test_a_student_gets_a_mark_and_each_part_runs_as_its_own_user(online: SystemClass) -> None:
    owners = {
        word: pwd.getpwuid(Path(f"/proc/{find_service(online, word)}").stat().st_uid).pw_name for word in SERVICES
    }
    assert owners == {
        "exchange_service": online.exchange,
        "watch_service": online.grader,
        "desk_service": online.grader,
        "root_dir=": online.grader,
        "jupyterhub_idle_culler": "nobody",
    }
    ana = ExchangeClient(online.hub.exchange, online.log_in(online.ana).draw_token())
    (page,) = ana.list_pages(COURSE, LAB)
    assert b"2 of 2 points" in ana.fetch_page(COURSE, page)


def list_secrets(online: SystemClass) -> dict[str, Path]:
    exchange = online.hub.folder / "exchange" / COURSE
    ana = get_home(online.ana)
    return {
        "course": online.hub.course,
        "gradebook": online.hub.course / "gradebook.db",
        "source": online.hub.course / "source" / LAB / f"{LAB}.ipynb",
        "results": online.hub.course / "results",
        "hub": online.hub.folder,
        "hub's database": online.hub.folder / "jupyterhub.sqlite",
        "cookie secret": online.hub.folder / "jupyterhub_cookie_secret",
        "exchanges": exchange.parent,
        "gate": exchange,
        "exchange": exchange / "nbgrader",
        "submissions": exchange / "nbgrader" / COURSE / "inbound",
        "feedback": exchange / "nbgrader" / COURSE / "feedback",
        "home": ana,
        "notebook": ana / COURSE / LAB / f"{LAB}.ipynb",
        "secrets": ana / ".local/share/jupyter/nbgrader_cache",
        "pages": ana / ".local/share/jupyter/gradlab_exchange",
        "server's key": ana / ".local/share/jupyter/runtime",
    }


@pytest.mark.parametrize(
    "name",
    (
        *("course", "gradebook", "source", "results", "hub", "hub's database", "cookie secret", "exchanges", "gate"),
        *("exchange", "submissions", "feedback", "home", "notebook", "secrets", "pages", "server's key"),
    ),
)
def test_a_student_reads_and_changes_nothing_of_others(online: SystemClass, name: str) -> None:
    path = list_secrets(online)[name]
    assert path.exists() or name == "results", path
    for attempt in (READ, WRITE, RENAME, MAKE):
        process = online.run_as(online.ben, online.python, "-c", attempt, str(path))
        assert process.returncode == 1 and not process.stdout, (attempt, process.stdout)
        if attempt == READ:
            assert "PermissionError" in process.stderr, process.stderr
    assert path.exists() or name == "results"


@pytest.mark.parametrize("word", [*SERVICES, "configurable-http-proxy", "singleuser"])
def test_a_student_neither_reads_the_tokens_of_services_nor_ends_them(online: SystemClass, word: str) -> None:
    pid = find_service(online, word)
    for attempt, target in ((READ, f"/proc/{pid}/environ"), (READ, f"/proc/{pid}/mem"), (SIGNAL, str(pid))):
        process = online.run_as(online.ben, online.python, "-c", attempt, target)
        assert process.returncode == 1 and not process.stdout
        assert "PermissionError" in process.stderr, process.stderr
    assert Path(f"/proc/{pid}").exists()


def test_the_exchanges_user_cannot_read_the_course(online: SystemClass) -> None:
    """A hole in what reads strangers' uploads doesn't open hidden checks."""
    for name in ("course", "gradebook", "source", "hub's database", "cookie secret", "home"):
        process = online.run_as(online.exchange, online.python, "-c", READ, str(list_secrets(online)[name]))
        assert process.returncode == 1 and "PermissionError" in process.stderr, name
    own = online.hub.folder / "exchange" / COURSE / "nbgrader" / COURSE
    for path in (own / "outbound" / LAB / f"{LAB}.ipynb", own / "feedback" / "forged.html"):
        assert online.run_as(online.exchange, online.python, "-c", WRITE, str(path)).returncode == 1
    for path in (own, own / "outbound", own / "feedback"):
        assert online.run_as(online.exchange, online.python, "-c", RENAME, str(path)).returncode == 1


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_no_part_answers_at_its_own_port_without_a_token(online: SystemClass, number: int) -> None:
    """0: the hub, 1: the proxy's own interface, 2: the exchange, 3: the teachers' place, 4: the desk."""
    paths = (
        "/hub/api/users",
        "/api/routes",
        "/services/exchange/courses",
        f"{TEACH}/api/contents",
        f"{DESK}/gradlab/desk/",
    )
    session = requests.Session()
    session.trust_env = False
    port = int(online.hub.url.rpartition(":")[2]) + 1 + number
    answer = session.get(f"http://127.0.0.1:{port}{paths[number]}", allow_redirects=False, timeout=ANSWER_SECONDS)
    assert answer.status_code in (302, 403) and b"gradlab" not in answer.content.lower().replace(b"gradlab_", b"")
    if answer.status_code == 302:
        assert answer.headers["Location"].startswith("/hub/api/oauth2/authorize")


def test_all_parts_listen_on_this_machine_only(online: SystemClass) -> None:
    first = int(online.hub.url.rpartition(":")[2])
    for port in range(first, first + 6):
        with socket.socket() as other, pytest.raises(ConnectionRefusedError):
            other.connect((find_address(), port))


def find_address() -> str:
    """Another address of this machine than 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return str(probe.getsockname()[0])


ROUTES = (
    ("GET", "/hub/api/users"),
    ("GET", "/hub/api/users/{ana}"),
    ("POST", "/hub/api/users/{ana}/server"),
    ("DELETE", "/hub/api/users/{ana}/server"),
    ("POST", "/hub/api/users/{ana}/tokens"),
    ("GET", "/hub/api/users/{ana}/tokens"),
    ("GET", "/hub/api/groups"),
    ("POST", "/hub/api/groups/formgrade-gradlab/users"),
    ("GET", "/hub/api/proxy"),
    ("POST", "/hub/api/shutdown"),
    ("GET", "/user/{ana}/api/contents"),
    ("GET", "/user/{ana}/lab"),
    ("GET", f"{TEACH}/api/contents/source"),
    ("GET", f"{TEACH}/gradlab/desk/"),
    ("GET", f"{TEACH}/formgrader"),
    ("POST", f"{TEACH}/api/terminals"),
    ("GET", f"{DESK}/gradlab/desk/"),
    ("POST", f"{DESK}/gradlab/desk/mark"),
)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_students_cookies_and_tokens_open_nothing_of_others(online: SystemClass, method: str, path: str) -> None:
    ben = online.log_in(online.ben)
    ben.get("/hub/home")
    address = online.hub.url + path.format(ana=online.ana)
    token = ben.draw_token()
    plain = requests.Session()
    plain.trust_env = False
    for session, headers in ((ben.session, {}), (plain, {"Authorization": f"token {token}"})):
        answer = session.request(method, address, json={"users": [online.ben]}, headers=headers, timeout=ANSWER_SECONDS)
        assert answer.status_code in (403, 404), (answer.status_code, answer.text[:300])


def test_no_one_else_opens_a_students_server(online: SystemClass) -> None:
    """So no page that a student serves there can use the cookies of a teacher."""
    for name in (online.prof, online.helper, online.ana):
        assert online.log_in(name).get(f"/user/{online.ben}/lab").status_code in (403, 404)


def test_an_assistant_reads_and_marks_answers_and_reaches_nothing_else(online: SystemClass) -> None:
    helper = online.log_in(online.helper)
    assert helper.get("/hub/").url.startswith(f"{online.hub.url}{DESK}/gradlab/desk")
    for page in (
        "api/contents",
        "api/kernels",
        "api/terminals",
        "files/gradebook.db",
        "lab",
        "formgrader",
        "api/sessions",
    ):
        assert helper.get(f"{DESK}/{page}").status_code == 404, page
        assert helper.get(f"{TEACH}/{page}").status_code == 403, page


@pytest.mark.parametrize("place", [TEACH, DESK])
def test_a_browser_gets_the_desks_scripts(online: SystemClass, place: str) -> None:
    """A module is asked for without the page's address, which a JupyterHub takes for a forged request."""
    prof = online.log_in(online.prof)
    headers = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "script", "Sec-Fetch-Site": "same-origin"}
    assert prof.get(f"{place}/gradlab/desk/").ok
    address = f"{online.hub.url}{place}/gradlab/desk/static/desk.js"
    answer = prof.session.get(address, headers=headers, allow_redirects=False, timeout=ANSWER_SECONDS)
    assert answer.status_code == 200 and "import" in answer.text


def test_released_feedback_reaches_students_and_hides_nothing_else(online: SystemClass) -> None:
    for command in (("-m", "autograder.cli", "feedback", LAB), ("-m", "nbgrader", "release_feedback", LAB)):
        done = online.run_as(online.grader, online.python, *command, place=online.hub.course)
        assert done.returncode == 0, done.stderr
    ana = online.log_in(online.ana)
    base = ana.open_server()
    listed = ana.get(f"{base}assignments?course_id={COURSE}").json()
    assert listed["success"] and listed["value"], listed
    (page,) = (online.hub.folder / "exchange" / COURSE / "nbgrader" / COURSE / "feedback").glob("*.html")
    page.chmod(0o600)
    assert ana.get(f"{base}assignments?course_id={COURSE}").json()["success"]
    page.chmod(0o644)


def test_teachers_commands_are_those_of_the_hubs_environment(online: SystemClass) -> None:
    variables = Path(f"/proc/{find_service(online, 'root_dir=')}/environ").read_text().split("\0")
    (path,) = [each.removeprefix("PATH=") for each in variables if each.startswith("PATH=")]
    assert path.split(os.pathsep)[0] == str(Path(online.python).parent)


def test_a_students_files_are_closed_to_others(online: SystemClass) -> None:
    for path in get_home(online.ana).rglob("*"):
        if not path.is_symlink() and path.name not in (".bashrc", ".profile", ".bash_logout"):
            assert not path.stat().st_mode & 0o077, path


def test_marks_are_those_of_gradlab_grade(online: SystemClass) -> None:
    """The same submission, in a copy of the course that no hub has."""
    course = online.hub.course
    copy = Path(
        shutil.copytree(course, course.with_name("copy"), ignore=shutil.ignore_patterns("gradebook.db*", "results"))
    )
    submitted = copy / "submitted" / online.ana / LAB
    assert (submitted / f"{LAB}.ipynb").is_file()
    for part in ("autograded", "feedback"):
        shutil.rmtree(copy / part, ignore_errors=True)
    for path in (copy, *copy.rglob("*")):
        shutil.chown(path, online.grader, online.grader)
    commands = {course: ("export",), copy: ("grade", "export")}
    marks = {}
    for place, parts in commands.items():
        for part in parts:
            options = [LAB] if part == "grade" else []
            done = online.run_as(online.grader, online.python, "-m", "autograder.cli", part, *options, place=place)
            assert done.returncode == 0, (part, done.stderr, done.stdout)
        (grades,) = (place / "results").glob("*.csv")
        # Only the hub's gradebook has the students of its roster who submitted nothing.
        marks[place] = [line for line in grades.read_text().splitlines() if not line.endswith(",missing")]
    assert marks[course] == marks[copy] and online.ana in "".join(marks[copy])
