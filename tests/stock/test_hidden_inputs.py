"""A page doesn't depend on a hidden test's input: a submission can't reveal it to its student.

The same submission is graded in two courses that differ only inside a hidden region. It keeps the hidden test's input,
and afterwards tries every way to put it on a page.
"""

from pathlib import Path

import pytest

from autograder.gradebook.result_reader import read_result
from autograder.reports.feedback import write_feedback
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import answer_notebook, make_cell, make_notebook, make_solution, make_test
from tests.stock.strange_course import grade, make_course

SECRETS = (3, 200)
KEEP = """
kept = []
def f(x):
    kept.append(x)
    {does}
    return x + 1
"""
# After the first hidden test: in the student's own cells.
CELLS = {
    "status": "import os\nos._exit(kept[-1])",
    "whether it ends": "import os\nkept[-1] > 100 and os._exit(1)",
    "whether it hangs": "while kept[-1] > 100: pass",
    "text": "print('x' * kept[-1])",
    "whether it shows something": "1 if kept[-1] > 100 else None",
    "the type of an exception": "raise (ValueError if kept[-1] > 100 else TypeError)",
    "a name in an exception": "raise type(f'E{kept[-1]}', (Exception,), {})",
    "a picture": "from IPython.display import Image, display\nif kept[-1] > 100: display(Image(bytes(kept[-1]), format='png'))",
    "stderr": "import sys\nprint(kept[-1], file=sys.stderr)",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL if kept[-1] > 100 else signal.SIGTERM)",
}
# In the calls of the hidden test itself, which fails either way.
CALLS = {
    "status in the call": "import os; os._exit(x % 256)",
    "exception in the call": "raise (ValueError if x > 100 else KeyError)(x)",
    "what comes back": "return object() if x > 100 else None",
    "limit in the call": "\n    while x > 100: pass\n    return None",
}
BY_DAY = ("status", "text", "a picture", "status in the call", "what comes back")


def render_page(root: Path, secret: int, submission: str, executor: LocalExecutor) -> str:
    source = make_notebook(
        make_solution("f", "def f(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION"),
        make_test("seen", "assert f(1) == 2"),
        make_test("hid", f"### BEGIN HIDDEN TESTS\nassert f({secret}) == {secret} + 1\n### END HIDDEN TESTS\n"),
        make_solution("g", "def g():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"),
        make_test("later", "assert g() == 2"),
        make_test("part", "0.0990971 if g() else 1", 2),
    )
    course = make_course(root, {"source/a1/a1.ipynb": source, "submitted/mallory/a1/a1.ipynb": submission}, LIMITS)
    assert not [outcome.failure for outcome in grade(course, executor) if outcome.failure]
    result = read_result(f"sqlite:///{course}/gradebook.db", course, "a1", "mallory")
    (page,) = write_feedback([result], course, "a1")
    return page.read_text()


LIMITS = "c.Examine.cell_seconds = 2\nc.Examine.check_seconds = 2\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [way if way in BY_DAY else pytest.param(way, marks=pytest.mark.nightly) for way in (*CELLS, *CALLS)]
)
def test_a_page_is_the_same_whatever_a_hidden_test_passes_in(
    way: str, two_graders: LocalExecutor, tmp_path: Path
) -> None:
    """Slow: nbgrader makes two assignments, and two submissions are graded."""
    released = make_notebook(
        make_solution("f", "def f(x):\n    raise NotImplementedError()"),
        make_test("seen", "assert f(1) == 2"),
        make_test("hid", ""),
        make_cell(CELLS.get(way, "")),
        make_solution("g", "def g():\n    raise NotImplementedError()"),
        make_test("later", "assert g() == 2"),
        make_test("part", "0.0990971 if g() else 1", 2),
    )
    does = CALLS.get(way, "pass")
    does = f"if x != 1: {does}" if not does.startswith("\n") else does
    submission = answer_notebook(released, {"f": KEEP.format(does=does), "g": "def g():\n    return kept[-1] > 500"})
    first, second = (render_page(tmp_path / str(secret), secret, submission, two_graders) for secret in SECRETS)
    assert first == second
