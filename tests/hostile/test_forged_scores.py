"""What a submission does to its own process changes nothing for the examiner: no point is forged, no other one lost.

Each attack stands in the exercise's cell or in a cell added before or after it. The honest answer of `honest` is graded
after all of them by the same warm process.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.examiner.process import Restarting
from autograder.examiner.submission import Seen, Step, examine
from autograder.runner.warm import Warm
from labkit.outcome import earned

GIVEN = "import torch\nfrom labkit import assert_close, check\n"
FIRST = """
with check("doubles a tensor", required=True):
    assert_close(double(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 4.0]))
with check("doubles another", required=True):
    assert_close(double(torch.tensor([[3.5]])), torch.tensor([[7.0]]))
"""
SECOND = 'with check("adds"):\n    assert_close(add(2, 3), 5)\n'
WRONG = "def double(x):\n    return x\n"
RIGHT = "def double(x):\n    return 2 * x\n"
ADD = "def add(a, b):\n    return a + b\n"

ATTACKS = {
    "torch's comparisons say yes": "import torch\ntorch.isclose = torch.equal = torch.allclose = lambda *a, **k: True",
    "assert_close does nothing": "import labkit, labkit.compare\nlabkit.assert_close = lambda *a, **k: None\n"
    "labkit.compare.assert_close = assert_close = labkit.assert_close",
    "every check passes": "import labkit.check\nlabkit.check.check.__exit__ = lambda *a: True",
    "outcomes are always passed": "import labkit.outcome\nlabkit.outcome.earned = lambda *a: 2.0\n"
    "labkit.outcome.share = lambda *a: 1.0",
    "the score line gives the points": "import labkit.check\nlabkit.check.check.score = staticmethod(lambda **k: 2.0)",
    "builtins are patched": "import builtins\nbuiltins.AssertionError = type('A', (Exception,), {})\n"
    "builtins.bool = lambda *a: True",
    "IPython's run_cell is patched": "get_ipython().run_cell = lambda *a, **k: None",
    "an input transformer removes checks": "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
    "an AST transformer empties cells": "import ast\nclass E(ast.NodeTransformer):\n"
    "    def visit_Module(self, node):\n        node.body = []\n        return node\n"
    "get_ipython().ast_transformers.append(E())",
    "a pre-run hook raises": "def boom(*a):\n    raise SystemExit\nget_ipython().events.register('pre_run_cell', boom)",
    "compile is replaced": "import builtins\nbuiltins.compile = lambda *a, **k: None",
    "a trace function rewrites locals": "import sys\nsys.settrace(lambda *a: None)",
    "NotImplemented everywhere": "import torch\ntorch.Tensor.__eq__ = lambda *a: True\ntorch.Tensor.all = lambda *a: True",
    "the process ends": "import os\nos._exit(0)",
    "the process is replaced": "import os\nos.execv('/bin/true', ['true'])",
    "the process kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "its sockets are closed": "import os\nfor fd in range(3, 256):\n    try:\n        os.close(fd)\n    except OSError:\n        pass",
    "its sockets are written to": "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'\\xff' * 100)\n"
    "    except OSError:\n        pass",
    "exit() is called": "exit()",
    "a subclass that equals everything": "import torch\nclass Liar(torch.Tensor):\n"
    "    @classmethod\n    def __torch_function__(cls, f, types, args=(), kwargs=None):\n        return True\n"
    "def double(x):\n    return x.as_subclass(Liar)",
    "an object that equals everything": "class Liar:\n    def __eq__(self, other):\n        return True\n"
    "def double(x):\n    return Liar()",
    "a function that hangs up": "def double(x):\n    import os\n    os._exit(0)",
    "a function that answers by itself": "def double(x):\n    import os, struct\n    for fd in range(3, 64):\n"
    "        try:\n            os.write(fd, struct.pack('>Q', 1) + b'\\xc0')\n        except OSError:\n            pass\n    return x",
    "an exception that passes for a verdict": "def double(x):\n    raise SystemExit(0)",
    "a generator of promises": "def double(x):\n    yield x * 2",
}
# These replace the answer itself; the others leave the wrong answer beside them.
ANSWERS = [name for name, source in ATTACKS.items() if "def double" in source]


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    process = Warm()
    yield process
    process.close()


def graded(warm: Warm, before: str, answer: str, after: str) -> tuple[float, float]:
    """(points of double, of 2; points of add, of 1)."""
    steps = [
        Step("setup", "given", GIVEN),
        Step("added-0", "student", before),
        Step("exercise-double", "student", answer),
        Step("added-1", "student", after),
        Step("check-double", "check", FIRST),
        Step("exercise-add", "student", ADD),
        Step("check-add", "check", SECOND),
    ]
    student = Restarting(warm.student)
    try:
        seen = examine(steps, ["double", "add"], student)
    finally:
        student.kill()
    return points(seen, "double", 2), points(seen, "add", 1)


def points(seen: dict[str, Seen], name: str, worth: float) -> float:
    return earned(seen[f"check-{name}"].outcomes, worth)


def test_honest_answers_get_their_points(warm: Warm) -> None:
    assert graded(warm, "", RIGHT, "") == (2, 1)
    assert graded(warm, "", WRONG, "") == (0, 1)
    assert graded(warm, "", "raise NotImplementedError()", "") == (0, 1)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_forges_nothing_and_spoils_nothing_else(warm: Warm, name: str) -> None:
    source = ATTACKS[name]
    if name in ANSWERS:
        double, add = graded(warm, "", source, "")
        assert (double, add) == (0, 1)
    else:
        assert graded(warm, source, WRONG, "")[0] == 0
        assert graded(warm, "", WRONG, source)[0] == 0
    assert graded(warm, "", RIGHT, "") == (2, 1), "the next submission is not touched"


@pytest.mark.parametrize(
    "name", ["the process ends", "the process is replaced", "the process kills itself", "exit() is called"]
)
def test_a_cell_that_ends_the_process_costs_itself_alone(warm: Warm, name: str) -> None:
    assert graded(warm, ATTACKS[name], RIGHT, "") == (2, 1)


def test_a_check_that_crashes_costs_itself_alone(warm: Warm) -> None:
    answer = "def double(x):\n    import os\n    if x.dim() == 2:\n        os._exit(0)\n    return 2 * x"
    steps = [
        Step("setup", "given", GIVEN),
        Step("exercise-double", "student", answer),
        Step(
            "check-double",
            "check",
            FIRST.replace(", required=True", "")
            + FIRST.replace("another", "a third").replace("a tensor", "again").replace(", required=True", ""),
        ),
    ]
    student = Restarting(warm.student)
    outcomes = examine(steps, ["double"], student)["check-double"].outcomes
    student.kill()
    assert [o.passed for o in outcomes] == [True, False, True, False]
    assert "the Python process ended" in outcomes[1].seen
