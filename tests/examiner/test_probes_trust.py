"""A student process that lies about a probe gains nothing, and harms no examiner."""

import subprocess
import sys
import time
from typing import Any

import pytest
import torch
from torch import nn

from autograder.examiner.connection import Connection
from autograder.examiner.execution import record_check_cell
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.examiner.stopped_error import StoppedError
from labkit import probes
from labkit.outcome import Outcome, compute_share
from labkit.probes import Graph, GraphError
from tests.conftest import NIGHTLY, ROOT
from tests.examiner.program import start_student_process
from tests.examiner.world import open_world

SETUP = """
import torch
from torch import nn
from labkit import assert_close, check, probes
start = [torch.linspace(-1, 1, 6).reshape(2, 3), torch.tensor([0.5, -0.5])]
batches = [(torch.linspace(0, n, 12).reshape(4, 3), torch.ones(4, 2)) for n in (1, 2, 3)]
x = torch.linspace(-2, 2, 12).reshape(4, 3)
"""
CHECKS = {
    "weights after three steps": """
with check("weights"):
    want = probes.trained(nn.Linear(3, 2), batches, start=start, lr=0.1)["state"]
    assert_close(probes.trained(student, batches, start=start, lr=0.1)["state"], want)
""",
    "a captured graph": """
with check("graph"):
    for t in (x, x + 1, -x):
        assert_close(probes.replay(probes.captured(student, x), t), nn.Linear(3, 2)(t))
""",
    "two ranks": """
with check("ranks"):
    assert_close(probes.ranks(student, x), [3 * x, 3 * x])
""",
}
COUNTED = """
with check("the right values"):
    assert_close(student(x), 2 * x)
with check("nothing is kept for backward", observed=True, weight=0.2):
    assert_close(probes.saved_bytes(student, x), 0)
"""
LIES: list[Any] = [
    None,
    0,
    True,
    "all right",
    [],
    {},
    torch.full((4, 3), float("nan")),
    {"state": {}},
    {"state": {"weight": torch.full((2, 3), float("nan")), "bias": torch.full((2,), float("nan"))}},
    {"state": None, "outputs": {"": [torch.zeros(4, 3)]}},
    [torch.zeros(4, 3), torch.zeros(4, 3)],
    {"inputs": [[4, 3]], "constants": [], "nodes": [], "output": ("input", 0)},
    {"inputs": [[4, 3]], "constants": [torch.zeros(4, 2)], "nodes": [], "output": ("constant", 0)},
    {str(n): n for n in range(10_000)},
]


def lie(answer: Any) -> Any:
    """What a student's cell can do: make every probe of this process give this answer from now on."""
    for name in probes.PROBES:
        probes.PROBES[name] = lambda *args, **kwargs: answer
    return None


def run_checks(source: str, student: Any, answer: Any) -> list[Outcome]:
    with open_world(student=student, lie=lambda: lie(answer)) as world:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(SETUP, namespace)
        world.namespace = namespace
        namespace["student"] = world.get_proxy("student")
        world.get_proxy("lie")()
        return record_check_cell(source, namespace, "<check-x>")


@pytest.mark.parametrize("source", CHECKS.values(), ids=CHECKS.keys())
@pytest.mark.parametrize("answer", LIES, ids=lambda answer: repr(answer)[:30])
def test_made_up_answers_pass_no_check_of_a_value(source: str, answer: Any) -> None:
    (outcome,) = run_checks(source, lambda *args: 0, answer)
    assert not outcome.passed


@pytest.mark.parametrize("source", CHECKS.values(), ids=CHECKS.keys())
def test_an_answer_that_does_not_end_is_stopped(source: str) -> None:
    def forever(*args: Any, **kwargs: Any) -> None:
        time.sleep(3600)

    def slow() -> None:
        for name in probes.PROBES:
            probes.PROBES[name] = forever

    with open_world(1.5, student=lambda: 0, slow=slow) as world:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(SETUP, namespace)
        world.namespace, namespace["student"] = namespace, world.get_proxy("student")
        world.get_proxy("slow")()
        (outcome,) = record_check_cell(source, namespace, "<check-x>")
    assert (outcome.passed, outcome.blame) == (False, "process")


def test_a_false_count_alone_pays_nothing() -> None:
    wrong = run_checks(COUNTED, lambda x: x * 3, 0)
    assert [o.passed for o in wrong] == [False, True]
    assert compute_share(wrong) == 0
    right = run_checks(COUNTED, lambda x: x * 2, 0)
    assert compute_share(right) == 1


def test_a_list_that_is_too_long_is_no_answer() -> None:
    with open_world(f=lambda: 0, lie=lambda: lie([0] * 2**18)) as world:
        world.get_proxy("lie")()
        with pytest.raises(StoppedError, match="a reply that can't be read"):
            probes.saved(world.get_proxy("f"))


def test_a_probe_answers_with_no_more_than_a_call_may() -> None:
    """Results have the wire's types: an object that equals everything is a handle."""

    class Yes:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    with open_world(f=lambda: 0, lie=lambda: lie(Yes())) as world:
        world.get_proxy("lie")()
        assert probes.saved_bytes(world.get_proxy("f")) != 12


def test_only_probes_can_be_named_as_probes() -> None:
    with open_world(f=lambda: 0) as world:
        for name in ("probe torch.save", "probe os.system", "probe given f2", "probe "):
            with pytest.raises(NameError):
                world.operate(name, "call", 1)


def test_a_function_that_is_no_given_one_cannot_be_a_probe() -> None:
    @probes.probe
    def local(f: Any) -> Any:
        return f

    with open_world(f=lambda: 0) as world, pytest.raises(TypeError, match="neither in labkit nor in a given cell"):
        local(world.get_proxy("f"))


def test_a_students_exception_is_not_reported_as_a_failure_of_the_process() -> None:
    """The reason for such a failure is shown for a hidden check too, so it must not contain the check's input."""

    def leak(x: Any) -> None:
        raise UnicodeDecodeError("utf8", b"", 0, 1, str(x))

    with open_world(f=leak) as world:
        (outcome,) = record_check_cell(SETUP + "with check('it'):\n    f(42)\n", {"f": world.get_proxy("f")}, "<c>")
    assert (outcome.error, outcome.blame) == ("UnicodeDecodeError", "student")


def test_a_given_function_that_was_passed_is_returned_as_itself() -> None:
    def given(x: Any) -> Any:
        return x

    with start_student_process({"same": lambda g: g, "given": given, "f": lambda: given}, []) as channel:
        world = RemoteNamespace(Connection(channel), {"given": given})
        assert type(world.get_proxy("f")()) is not type(given)
        assert world.get_proxy("same")(given) is given
        assert world.get_proxy("f")() is given


def make_graph(*nodes: Any, output: Any = None, constants: Any = None) -> dict[str, Any]:
    tensors = [torch.ones(3), torch.tensor([-(2**63)]), torch.tensor([-1])] if constants is None else constants
    return {"inputs": [], "constants": tensors, "nodes": list(nodes), "output": output or ("node", len(nodes) - 1)}


V, ONES = (lambda v: ("value", v)), ("constant", 0)
SIZE = ("list", [V(2**20), V(2**20)])
HUGE = ("list", [V(2**62), V(2**62)])
MALFORMED: dict[str, Any] = {
    "nothing": None,
    "a number": 3,
    "a list": [1, 2],
    "a tensor": torch.ones(3),
    "no nodes": {"inputs": [], "constants": []},
    "nodes that are a dict": {"inputs": [], "constants": [], "nodes": {}, "output": V(1)},
    "an unknown operation": make_graph(("aten.quantize_per_tensor.default", [ONES], {})),
    "an operation that reads a file": make_graph(("aten.from_file.default", [V("secret")], {})),
    "an operation in place": make_graph(("aten.add_.Tensor", [ONES, ONES], {})),
    "an output argument": make_graph(("aten.add.out", [ONES, ONES], {"out": ONES})),
    "an operation that is no text": make_graph((torch.add, [ONES, ONES], {})),
    "a name of Python's": make_graph(("operator.methodcaller", [V("system")], {})),
    "an evaluated name": make_graph(("aten.add.Tensor.__globals__", [ONES], {})),
    "a node that uses itself": make_graph(("aten.add.Tensor", [("node", 0), ONES], {})),
    "a node that uses a later one": make_graph(("aten.neg.default", [("node", 1)], {}), ("aten.neg.default", [("node", 0)], {})),
    "a reference below zero": make_graph(("aten.neg.default", [("node", -1)], {})),
    "a reference that is a bool": make_graph(("aten.neg.default", [("constant", True)], {})),
    "an input that is not there": make_graph(("aten.neg.default", [("input", 0)], {})),
    "a constant that is no tensor": make_graph(constants=["x"], output=ONES),
    "a tensor as a value": make_graph(("aten.neg.default", [V(torch.ones(1))], {})),
    "too many nodes": make_graph(*[("aten.neg.default", [ONES], {})] * 5000),
    "too many arguments": make_graph(("aten.cat.default", [("list", [ONES] * 60_000)], {})),
    "nested deeply": make_graph(("aten.cat.default", [("list", [("list", [("list", [("list", [("list", [("list", [("list", [("list", [("list", [("list", [])])])])])])])])])])], {})),
    "a huge tensor": make_graph(("aten.full.default", [SIZE, V(1.0)], {})),
    "a tensor beyond all bounds": make_graph(("aten.full.default", [HUGE, V(1.0)], {})),
    "an expansion": make_graph(("aten.unsqueeze.default", [ONES, V(0)], {}), ("aten.expand.default", [("node", 0), ("list", [V(2**40), V(3)])], {})),
    "a repetition": make_graph(("aten.repeat.default", [ONES, ("list", [V(2**40)])], {})),
    "a product that grows": make_graph(*[("aten.outer.default", [ONES if n == 0 else ("node", n - 1)] * 2, {}) for n in range(9)]),
    "doubling": make_graph(*[("aten.cat.default", [("list", [ONES if n == 0 else ("node", n - 1)] * 2)], {}) for n in range(60)]),
    "a number that grows": make_graph(("operator.mul", [V(2**61), V(2**61)], {})),
    "a list that grows": make_graph(("operator.mul", [("list", [V(1)]), V(2**40)], {})),
    "a text that grows": make_graph(("operator.mul", [V("x"), V(2**40)], {})),
    "endless steps": make_graph(("aten.arange.default", [V(1e18)], {})),
    "a division that ends the process": make_graph(("aten.div.Tensor_mode", [("constant", 1), ("constant", 2)], {"rounding_mode": V("trunc")})),
    "a number for a dtype": make_graph(("aten.full.default", [("list", [V(2)]), V(1)], {"dtype": V(113)})),
    "a number for a dtype in place": make_graph(("aten.log_softmax.int", [ONES, V(0), V(-1)], {})),
    "memory that is not there": make_graph(("aten.as_strided.default", [ONES, ("list", [V(10)]), ("list", [V(1)]), V(10**6)], {})),
    "an index beyond the end": make_graph(("aten.embedding.default", [ONES, ("constant", 1)], {})),
    "batch norm of other sizes": make_graph(("aten.native_batch_norm.default", [ONES, ONES, ONES, ONES, ONES, V(False), V(0.1), V(1e-5)], {})),
    "many parts": make_graph(("aten.full.default", [("list", [V(2**21)]), V(1.0)], {}), ("aten.unbind.int", [("node", 0)], {})),
    "an output that is no argument": make_graph(("aten.neg.default", [ONES], {}), output=("node", 7)),
    "an output of another kind": make_graph(("aten.neg.default", [ONES], {}), output=("eval", "1")),
}  # fmt: skip


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_or_harmful_graph_is_refused_at_once(data: Any) -> None:
    Graph(make_graph(("aten.sin.default", [ONES], {})))()  # the first rehearsal of any imports torch's shape rules
    start = time.process_time()
    with pytest.raises(GraphError):
        Graph(data)()
    assert time.process_time() - start < 10


def test_work_is_bounded_and_not_only_sizes() -> None:
    square = ("aten.full.default", [("list", [V(2000), V(2000)]), V(1.0)], {})
    products = [("aten.mm.default", [("node", 0), ("node", n)], {}) for n in range(200)]
    start = time.process_time()
    with pytest.raises(GraphError, match="too much work"):
        Graph(make_graph(square, *products))()
    assert time.process_time() - start < 30


def test_a_replay_leaves_its_constants_as_they_are() -> None:
    norm = nn.BatchNorm1d(3)
    data = probes.captured(norm, torch.randn(5, 3))
    before = [t.clone() for t in data["constants"]]
    second_graph = Graph(data)
    assert torch.equal(second_graph(torch.ones(5, 3)), second_graph(torch.ones(5, 3)))
    assert all(torch.equal(a, b) for a, b in zip(before, data["constants"], strict=True))


def test_random_hostile_graphs_end_no_process() -> None:
    """Thousands of graphs, in their own process, which a fatal signal would end."""
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.examiner.nasty_graphs", "5", "60" if NIGHTLY else "3"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-2000:]
    assert "'ran'" in process.stdout
