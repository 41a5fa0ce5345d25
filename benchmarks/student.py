"""How long a student waits for a mark, for a check cell and for the import of labkit."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.notebooks import to_text
from autograder.demo.students import collect_reference, fill_notebook
from tests.lab_server import DIRECT, run_lab_server

ROOT = Path(__file__).parents[1]
FIRST_LAB = "01_tensors"  # the one in which a student asks for a mark first
OTHER_LABS = ("03_autograd", "06_training")  # the first with few cells that train a network, the second with many
LATER_MARKS = 5
PANEL_LAB, CELLS = "01_tensors", 100
# Seconds until a student asks for the first mark, after the first line that they write makes JupyterLab start the
# grader.
HEAD_START = 30.0
CHECK_CELL = """
import time
from IPython.core.interactiveshell import InteractiveShell
from labkit import check

shell = InteractiveShell.instance()
shell.run_cell("from labkit import check", store_history=True)
shell.run_cell("def f(): return 1", store_history=True)
cell = "\\n".join(f"with check('{n}', 'label {n}'): assert f() == 1" for n in range(5))
cell += "\\nv = check.score('f', points=3, hidden=['one', 'two', 'three'])\\nb = v._repr_mimebundle_()"
shell.run_cell("pass", store_history=True)
seconds = []
for _ in range(50):
    start = time.perf_counter()
    shell.run_cell(cell)
    with_checks = time.perf_counter() - start
    start = time.perf_counter()
    shell.run_cell("for _ in range(5): f()")
    seconds.append(with_checks - (time.perf_counter() - start))
print(sorted(seconds)[len(seconds) // 2])
"""
YARDSTICK = (
    "import time; start = time.perf_counter(); sum(i for i in range(20_000_000)); print(time.perf_counter() - start)"
)
IMPORT = "import time, torch; start = time.process_time(); import labkit; print(time.process_time() - start)"


def run() -> str:
    """Return a Markdown table."""
    cold, warm = _measure_marks(FIRST_LAB), _measure_marks(FIRST_LAB, HEAD_START)
    rows = [
        (f"the first mark of the worked {FIRST_LAB}, with the start of the grader, s", cold[0]),
        (f"the same, {HEAD_START:.0f} s after the grader began to start, s", warm[0]),
        ("a later mark of it, median, s", statistics.median(cold[1:] + warm[1:])),
        *(
            (f"a later mark of the worked {lab}, median, s", statistics.median(_measure_marks(lab)[1:]))
            for lab in OTHER_LABS
        ),
        ("a check cell of five checks, beyond its own code, median, ms", 1000 * _measure_code(CHECK_CELL, 3)),
        (f"the panel's state of a lab of {CELLS} cells, after a save, median, ms", 1000 * _measure_panel_state()),
        ("the import of labkit after torch, CPU, ms", 1000 * _measure_code(IMPORT, 5)),
        ("for comparison with other machines: Python adds up 20 million integers, s", _measure_code(YARDSTICK, 3)),
    ]
    lines = ["| what a student waits for | |", "|---|---|", *(f"| {name} | {value:.3g} |" for name, value in rows)]
    return "\n".join(lines) + "\n"


def _measure_marks(name: str, head_start: float = 0.0) -> list[float]:
    """Measure the seconds that each mark of this worked lab takes.

    Args:
        head_start: The seconds between the start of the grader's process and the request for the first mark.
    """
    lab = next(read_labs(read_course(ROOT), (name,)))
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        shutil.copytree(ROOT / "source" / name, course / "source" / name)
        shutil.copy(ROOT / "nbgrader_config.py", course)
        notebook = course / "work" / name / f"{name}.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.write_text(to_text(fill_notebook(lab, collect_reference(lab))))
        seconds = []
        command = [sys.executable, "-m", "autograder.cli", "mark", "--serve", "--course", str(course)]
        process_start = time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as grader:
            assert grader.stdin and grader.stdout
            time.sleep(head_start)
            start = process_start + head_start
            for _ in range(1 + LATER_MARKS):
                grader.stdin.write(json.dumps({"notebook": str(notebook)}) + "\n")
                grader.stdin.flush()
                lines = map(json.loads, iter(grader.stdout.readline, ""))
                answer = next(line for line in lines if "progress" not in line)
                assert answer["points"] == answer["worth"], answer
                seconds.append(time.perf_counter() - start)
                start = time.perf_counter()
            grader.stdin.close()
    return seconds


def _measure_panel_state() -> float:
    """Return the median of the seconds that a real server takes to say how far a lab of `CELLS` cells is."""
    lab = next(read_labs(read_course(ROOT), (PANEL_LAB,)))
    notebook = fill_notebook(lab, collect_reference(lab))
    notebook.cells = notebook.cells[:CELLS]
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name) / "labs", Path(name) / "home"
        path = folder / PANEL_LAB / f"{PANEL_LAB}.ipynb"
        path.parent.mkdir(parents=True)
        home.mkdir()
        path.write_text(to_text(notebook))
        body = json.dumps({"path": f"{PANEL_LAB}/{path.name}", "notebook": notebook}).encode()
        with run_lab_server(folder, home, course=True) as server:
            request = urllib.request.Request(
                f"{server.url}gradlab/state", body, {"Authorization": f"token {server.token}"}
            )
            seconds = []
            for _ in range(1 + 20):
                start = time.perf_counter()
                DIRECT.open(request).read()
                seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def _measure_code(code: str, times: int) -> float:
    """Return the median of the numbers that this code prints, each time in a new Python process."""
    processes = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(times)
    ]
    return statistics.median(float(process.stdout) for process in processes)
