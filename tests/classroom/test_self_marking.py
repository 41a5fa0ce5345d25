"""The process of "Mark my work" answers every request, whatever is wrong with the notebook."""

import html
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbformat
import psutil
import pytest

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.classroom.copy_service import serve_requests
from autograder.classroom.self_marking import grade_copy, read_course_settings
from autograder.demo.students import fill_notebook
from autograder.forkserver.server_process import start_fork_server_process
from autograder.grading.grading_progress import GradingProgress
from autograder.model.note_sentences import describe_notes
from autograder.workers.task_grading import ForkServers
from labkit.mark_file import get_page_path, read_marks
from tests.classroom.graded_class import be_patient
from tests.waiting import wait_until

LAB = "01_squares"
QUESTION = """
# %% question: why [markdown] points=1
# Why is a square never negative?
#
# ### BEGIN SOLUTION
# Two numbers of one sign.
# ### END SOLUTION
"""
SCRATCH = """
# %% scratch
# A place to try statements.
"""
RIGHT = "def sum_of_squares(x):\n    return (x * x).sum()  # Größe\n"


@pytest.mark.slow
def test_a_damaged_notebook_is_answered_and_the_next_one_is_marked(small_course: Path, tmp_path: Path) -> None:
    """Slow: a fork server starts."""
    (lab,) = read_labs(read_course(small_course))
    sound = json.dumps(fill_notebook(lab, {"sum_of_squares": RIGHT}), ensure_ascii=False)
    files = {
        "cp1252": sound.encode("cp1252"),
        "unfinished": b"[1",
        "deep": b"[" * 100_000,
        "other": b'{"cells": 3, "metadata": []}',
        "blocked": sound.encode(),
        "sound": sound.encode(),
    }
    copies = {name: tmp_path / name / LAB / f"{LAB}.ipynb" for name in files}
    for name, content in files.items():
        copies[name].parent.mkdir(parents=True)
        copies[name].write_bytes(content)
    (tmp_path / "blocked" / ".gradlab").write_text("a file where the pages belong")
    output = io.StringIO()
    serve_requests(
        small_course,
        [json.dumps({"notebook": str(path)}) for path in copies.values()],
        output,
        start_fork_server_process(1, ()),
    )
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    answers = dict(zip(files, (line for line in lines if "progress" not in line), strict=True))
    assert answers["cp1252"]["points"] == answers["sound"]["points"] == 2
    assert "can't be written" in answers["blocked"]["refused"]
    assert all(answers[name].get("points", 0) == 0 for name in ("unfinished", "deep", "other"))
    assert read_marks(copies["sound"]) and get_page_path(copies["cp1252"]).is_file()


@pytest.mark.slow
def test_the_grader_and_an_endless_cell_end_with_the_notebook_server(small_course: Path, tmp_path: Path) -> None:
    """Slow: a fork server starts."""
    be_patient(small_course)
    (lab,) = read_labs(read_course(small_course))
    notebook = fill_notebook(lab, {"sum_of_squares": RIGHT})
    notebook.cells.insert(0, nbformat.v4.new_code_cell("while True:\n    pass"))
    copy = tmp_path / LAB / f"{LAB}.ipynb"
    copy.parent.mkdir()
    nbformat.write(notebook, copy)
    command = [sys.executable, "-P", "-m", "autograder.cli", "mark", "--serve", "--course", str(small_course)]
    code = f"import subprocess; subprocess.Popen({command}).wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps({"notebook": str(copy)}).encode() + b"\n")
        server.stdin.flush()
        assert b"while True" in server.stdout.readline()
        below = psutil.Process(server.pid).children(recursive=True)
        assert len(below) >= 3, "the grader, its fork server and the student process"
        server.kill()
        # Its input stays open, so the grader can't take the end of it for a reason to end.
        wait_until(lambda: not any(each.is_running() for each in below), "all have ended")


def test_each_step_of_a_mark_is_reported_once_under_a_name_that_the_student_knows(
    small_course: Path, tmp_path: Path
) -> None:
    copy = tmp_path / LAB / f"{LAB}.ipynb"
    copy.parent.mkdir()
    copy.write_bytes((small_course / "release" / LAB / f"{LAB}.ipynb").read_bytes())
    output = io.StringIO()
    serve_requests(small_course, [json.dumps({"notebook": str(copy)})], output, start_fork_server_process(1, ()))
    *steps, answer = [json.loads(line) for line in output.getvalue().splitlines()]
    code = [cell for cell in json.loads(copy.read_text())["cells"] if cell["cell_type"] == "code"]
    progress = [step["progress"] for step in steps]
    assert "points" in answer
    assert [step["number"] for step in progress] == list(range(1, len(code) + 1))
    assert {step["steps"] for step in progress} == {len(code)}
    assert {step["cell"] for step in progress if not step["exercise"]} <= {
        line.strip() for cell in code for line in "".join(cell["source"]).splitlines()
    }
    assert {step["exercise"] for step in progress} >= {
        cell["metadata"]["gradlab"]["exercise"] for cell in code if cell["metadata"]["gradlab"]["kind"] == "check"
    }


SPIN = """import time
spent = []
def sum_of_squares(x):
    end = time.process_time() + 2.5
    while not spent and time.process_time() < end:
        pass
    spent.append(True)
    return (x * x).sum()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("is_busy", "points"), [(True, 2.0), (False, 0.0)])
def test_a_right_answer_gets_more_time_on_a_busy_machine(
    small_course: Path, tmp_path: Path, is_busy: bool, points: float
) -> None:
    """Slow: a fork server starts. Each check uses more processor time than the limit, and less than four times that."""
    (lab,) = read_labs(read_course(small_course))
    copy = tmp_path / LAB / f"{LAB}.ipynb"
    copy.parent.mkdir()
    copy.write_text(json.dumps(fill_notebook(lab, {"sum_of_squares": SPIN})))
    settings = read_course_settings(small_course)
    settings = replace(settings, timeouts=replace(settings.timeouts, check=1.0))
    fork_servers: ForkServers = {}
    try:
        marked = grade_copy(small_course, copy, settings, fork_servers, is_busy=lambda: is_busy).write()
    finally:
        for server in fork_servers.values():
            server.close()
    assert marked.points == points


@pytest.mark.slow
def test_an_endless_cell_uses_up_its_time_once_even_on_a_busy_machine(small_course: Path, tmp_path: Path) -> None:
    """Slow: a fork server starts."""
    (lab,) = read_labs(read_course(small_course))
    copy = tmp_path / LAB / f"{LAB}.ipynb"
    copy.parent.mkdir()
    notebook = nbformat.from_dict(fill_notebook(lab, {"sum_of_squares": SPIN}))
    notebook.cells.insert(0, nbformat.v4.new_code_cell("while True:\n    pass"))
    nbformat.write(notebook, copy)
    settings = read_course_settings(small_course)
    settings = replace(settings, timeouts=replace(settings.timeouts, cell=2.0, check=1.0))
    fork_servers: ForkServers = {}
    steps: list[GradingProgress] = []
    try:
        grade_copy(small_course, copy, settings, fork_servers, on_progress=steps.append, is_busy=lambda: True)
    finally:
        for server in fork_servers.values():
            server.close()
    assert [step.cell for step in steps].count("while True:") == 1


@pytest.mark.slow
def test_a_cell_that_reached_a_limit_is_named_by_how_it_begins(small_course: Path, tmp_path: Path) -> None:
    """Slow: a fork server starts."""
    (lab,) = read_labs(read_course(small_course))
    notebook = nbformat.from_dict(fill_notebook(lab, {"sum_of_squares": RIGHT}))
    notebook.cells.append(nbformat.v4.new_code_cell("\nwhile True:\n    pass"))
    copy = tmp_path / LAB / f"{LAB}.ipynb"
    copy.parent.mkdir()
    nbformat.write(notebook, copy)
    settings = read_course_settings(small_course)
    settings = replace(settings, timeouts=replace(settings.timeouts, cell=1.0))
    fork_servers: ForkServers = {}
    try:
        graded = grade_copy(small_course, copy, settings, fork_servers)
    finally:
        for server in fork_servers.values():
            server.close()
    assert any(
        note.startswith("the cell that begins `while True:`: the time limit of 1 s for a cell was reached.")
        for note in describe_notes(graded.graded.result.notes)
    )


@pytest.mark.slow
def test_cells_that_were_stopped_are_left_out_and_a_students_own_mark_counts_everywhere(
    small_course: Path, tmp_path: Path
) -> None:
    """Slow: a fork server starts."""
    lesson = small_course / "labs" / LAB / "lab.py"
    lesson.write_text(lesson.read_text().rstrip() + "\n" + QUESTION + SCRATCH)
    build_course(read_course(small_course))
    copy = tmp_path / LAB / f"{LAB}.ipynb"
    copy.parent.mkdir()
    notebook = nbformat.read(small_course / "release" / LAB / f"{LAB}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.gradlab.kind == "exercise":
            cell.source = RIGHT
        if cell.metadata.gradlab.kind == "question":
            cell.source = "It is a product."
    interrupt = nbformat.v4.new_output("error", ename="KeyboardInterrupt", evalue="", traceback=[])
    endless = nbformat.v4.new_code_cell("\nwhile True:\n    pass", execution_count=1, outputs=[interrupt])
    notebook.cells.insert(0, endless)
    (scratch,) = [cell for cell in notebook.cells[1:] if cell.metadata.gradlab.kind == "scratch"]
    scratch.update(source="while 2 > 1:\n    pass", execution_count=2, outputs=[interrupt])
    nbformat.write(notebook, copy)
    before = copy.read_bytes()
    output, request = io.StringIO(), {"notebook": str(copy)}
    requests = [request, request | {"own_mark": "why", "points": 0.5}]
    pages = []

    def send() -> Iterator[str]:
        for each in (*requests, request):
            yield json.dumps(each)
            pages.append(html.unescape(get_page_path(copy).read_text()))

    serve_requests(small_course, send(), output, start_fork_server_process(1, ()))
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    first, own, again = [line for line in lines if "progress" not in line]
    steps = [line["progress"] for line in lines if "progress" in line]
    assert first["words"] == "2 of 3 points; written answers, not marked yet, are worth 1 of them"
    assert own == {"points": 0.5}
    assert again["words"] == "2.5 of 3 points"
    assert "yours to mark" in pages[0]
    assert all("2.5 of 3 points" in page and "yours to mark" not in page for page in pages[1:])
    for begin in ("while True:", "while 2 > 1:"):
        assert all(f"Your cell “{begin}” wasn't run: you stopped it in the notebook." in page for page in pages)
    assert not any("missing" in page for page in pages)
    assert {name: mark.points for name, mark in read_marks(copy).items()} == {"sum_of_squares": 2, "why": 0.5}
    assert read_marks(copy)["why"].is_own and copy.read_bytes() == before
    assert all(bool(step["seconds"]) != bool(step["exercise"]) for step in steps)
