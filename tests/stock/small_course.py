"""Two assignments as an instructor writes them for stock nbgrader, and a few students' answers."""

from collections.abc import Mapping
from pathlib import Path

from tests.stock.stock_course import (
    answer_notebook,
    make_cell,
    make_given,
    make_manual,
    make_notebook,
    make_solution,
    make_task,
    make_test,
    write,
)

SOURCE = make_notebook(
    make_cell("# Numbers", "markdown"),
    make_cell("import math\nimport sys"),
    make_given("limit", "LIMIT = 4"),
    make_solution(
        "scale", "def scale(x, k):\n    ### BEGIN SOLUTION\n    return [v * k for v in x]\n    ### END SOLUTION"
    ),
    make_test(
        "scale_values",
        "assert scale([1, 2], 3) == [3, 6]\n### BEGIN HIDDEN TESTS\nassert scale([7, 0], -1) == [-7, 0]\n"
        "assert math.isclose(scale([0.1], 3)[0], 0.3)\n### END HIDDEN TESTS",
        2,
    ),
    make_solution("value", "### BEGIN SOLUTION\na = 7\n### END SOLUTION"),
    make_test("value_is", "assert a == 7, 'another a'"),
    make_solution("words", "### BEGIN SOLUTION\nfound = ['a', 'b', 'c', 'd']\n### END SOLUTION"),
    make_test("words_found", "len(found) / LIMIT * 4 if found else 0", 4),
    make_test("lines", "with open('data.txt') as file:\n    rows = file.read().split()\nassert len(rows) == 3"),
    make_manual("why", "YOUR ANSWER HERE"),
    make_manual("free", "# YOUR CODE HERE\nraise NotImplementedError()", kind="code"),
    make_task("explore", "Look at the data. Say what you see."),
)
RIGHT: Mapping[str, str | None] = {
    "scale": "def scale(x, k):\n    return [k * each for each in x]",
    "value": "a = 7",
    "words": "found = list('abcd')",
    "why": "Because of the sign.",
    "free": "print('free')",
}
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
UNCHANGED: Mapping[str, str | None] = {
    "scale": f"def scale(x, k):\n    {STUB}".replace("\nraise", "\n    raise"),
    "value": STUB,
    "words": STUB,
}
RELEASED: Mapping[str, str | None] = {"scale_values": "assert scale([1, 2], 3) == [3, 6]"}
STUDENTS: Mapping[str, Mapping[str, str | None]] = {
    "right": RIGHT,
    "unchanged": UNCHANGED,
    "half": RIGHT | {"words": "found = ['a', 'b']"},
    "hardcoded": RIGHT | {"scale": "def scale(x, k):\n    return [3, 6]"},
    "warns": RIGHT | {"scale": "def scale(x, k):\n    print('!', file=sys.stderr)\n    return [k * v for v in x]"},
    "changes_tests": UNCHANGED | {"scale_values": "pass", "value_is": "a = 7", "limit": "LIMIT = 1"},
    "deletes_tests": RIGHT | {"value": "a = 8", "value_is": None, "scale_values": None},
    "deletes_answers": RIGHT | {"scale": None, "why": None},
    "silent": RIGHT
    | {
        "value": "from IPython.core.interactiveshell import InteractiveShell as S\nS.showtraceback = lambda *a, **k: None"
    },
    "hangs": RIGHT | {"value": "while True:\n    pass"},
}
TWO = {
    "first": make_notebook(
        make_solution("f", "def f(n):\n    ### BEGIN SOLUTION\n    return n + 1\n    ### END SOLUTION"),
        make_test("same", "assert f(1) == 2"),
    ),
    "second": make_notebook(
        make_solution("g", "def g(text):\n    ### BEGIN SOLUTION\n    return text.upper()\n    ### END SOLUTION"),
        make_test("same", "assert g('a') == 'A'", 3),
        minor=0,
    ),
}


def make(root: Path) -> Path:
    """The course's folder, with its students' submissions."""
    write(root / "source/ps1/p1.ipynb", SOURCE)
    write(root / "source/ps1/data.txt", "one two three\n")
    for name, text in TWO.items():
        write(root / f"source/ps2/{name}.ipynb", text)
    for student, answers in STUDENTS.items():
        write(root / f"submitted/{student}/ps1/p1.ipynb", answer_notebook(SOURCE, RELEASED | answers))
    write(root / "submitted/right/ps1/data.txt", "the student's own\n")
    for student in ("right", "half"):
        write(
            root / f"submitted/{student}/ps2/first.ipynb", answer_notebook(TWO["first"], {"f": "f = lambda n: n + 1"})
        )
    answer = {"g": "def g(text):\n    return text.upper()"}
    write(root / "submitted/right/ps2/second.ipynb", answer_notebook(TWO["second"], answer))
    return root
