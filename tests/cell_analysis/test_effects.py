"""Which cells leave earlier functions unchanged, and that checks in a shared fork see what they would in their own."""

import cProfile
from collections.abc import Callable, Iterator

import pytest

from autograder.cell_analysis.cell_source import MAX_SOURCE, NameUse, inspect_source
from autograder.cell_analysis.effects import EffectAnalysis
from autograder.examiner import submission_runner
from autograder.examiner.examination import Step, examine_steps
from autograder.examiner.process import StudentProcess
from autograder.forkserver.client import ForkServerClient
from autograder.model.course import StepKind

GIVEN = "import torch\nfrom torch import nn\ntable = torch.zeros(3)\ncounts = []\nhere = device()\ndef given(x):\n    return x\n"
PLAIN = [
    "def f(x):\n    return torch.zeros(3) + x",
    "def f(x, scale=-1.0, dtype=torch.float32, size=(1, 2)):\n    x[0] = scale\n    return x",
    "@torch.no_grad()\ndef f(x):\n    x.grad = None\n    return [g for g in x]",
    "def f(x):\n    kept = {}\n    def inner(y):\n        kept[y] = 1\n    inner(x)\n    return kept",
    "class F(nn.Module):\n    size = 3\n    def __init__(self):\n        super().__init__()\n        self.weight = nn.Parameter(torch.zeros(3))\n",
    "import math\nfrom torch.nn import functional\nprint(math.pi, [n for n in range(3)])",
    "# nothing\n",
    "y = table + 1\ny[0] = 3\nfor n in range(3):\n    y = y + n",
    "with torch.no_grad():\n    print(given(table))",
    "torch.set_grad_enabled(True)",
    "def f(model, x):\n    model.eval()\n    for module in model.modules():\n        module.training = False\n    return model(x)",
    "import contextlib\ndef f(x):\n    with contextlib.nullcontext():\n        return x",
    "from contextlib import contextmanager\n@contextmanager\ndef f(x):\n    yield x",
    "def f(x):\n    x.numpy()[...] = 1\n    return x",
    "def f(x):\n    found = {}\n    x.register_hook(lambda g: found.__setitem__('g', g))\n    return found",
    "y = table + 1\ny.numpy()[0] = 3",
    "def f(x):\n    torch._dynamo.reset()\n    return torch.compile(x, backend='eager')",
    "def f(x):\n    return torch._dynamo.explain(f)(x)",
    "def f(x):\n    return [lambda y, n=n: y + n for n in x]",
    "def f(x):\n    def inner(y, kept=[]):\n        return kept\n    return inner",
    "from contextlib import ExitStack\ndef f(x):\n    with ExitStack() as stack:\n        stack.callback(print)",
    "class F:\n    def g(self):\n        setattr(self, 'kept', 1)",
    "def f(x):\n    for m in x.modules():\n        setattr(m, 'weight', None)",
    "def f(x):\n    return torch._foreach_add([x], [x])",
    "def f(x):\n    torch.set_rng_state(x)\n    torch.cuda.set_rng_state_all([x])",
]
LASTING = [
    "def f(x, kept=[]):\n    return x",
    "def f(x):\n    global total\n    total = x",
    "def f(x):\n    torch.softmax = x",
    "def f(x):\n    f.calls = 1",
    "def f(x):\n    import torch as t\n    t.softmax = x",
    "def f(x):\n    from torch import nn\n    nn.Linear.kept = x",
    "class F:\n    kept = given.kept\n    def g(self, x):\n        self.kept.append(x)",
    "def f(x, kept=given.kept):\n    return x",
    "class F:\n    kept = []\n    def g(self):\n        return 1",
    "class F:\n    @classmethod\n    def g(cls):\n        cls.count = 1",
    "class F:\n    def g(self):\n        type(self).count = 1",
    "class F(nn.Module, metaclass=given):\n    pass",
    "import os",
    "from torch import *",
    "import functools\n@functools.cache\ndef f(x):\n    return x",
    "setattr(torch, 'softmax', None)",
    "exec('f = 1')",
    "torch.set_num_threads(2)",
    "torch._C.x()",
    "print(given.__dict__)",
    "%timeit given(table)",
    "def f(x:",
    "import torch.multiprocessing",
    "def f(x):\n    return __builtins__.eval(x)",
    "import contextlib\ncontextlib.ExitStack().enter_context(torch.no_grad())",
    "def f(x):\n    stack = ExitStack()\n    stack.enter_context(x)",
    "def f(x):\n    with contextlib.ExitStack() as stack:\n        kept = stack.pop_all()",
    "class F:\n    def g(self, kept=[]):\n        return kept",
    "def f(x):\n    setattr(torch, 'softmax', x)",
    "def f(x):\n    setattr(type(x), 'kept', x)",
    "def f(x):\n    each = setattr\n    each(torch, 'softmax', x)",
    "def f(x, y=[lambda z: z]):\n    return x",
    "def f(x):\n    nn.modules.module.register_module_forward_hook(x)",
    "compile('1', '', 'eval')",
    "torch._dynamo.config.recompile_limit = 1",
    "def f(x):\n    with torch._dynamo.config.patch(recompile_limit=1):\n        return x()",
    "torch._dynamo.reset_code_caches()",
    "def f(x):\n    torch.ops().kept[0] = x",
    "def f(x):\n    torch.kept.__setitem__(0, x)",
    "def f(x):\n    type(x)().kept[0] = x",
    "torch.kept.__setitem__(0, table)",
    "{}.__setitem__(0, table)",
]


@pytest.mark.parametrize("source", PLAIN)
def test_a_cell_that_keeps_and_reaches_nothing_is_plain(source: str) -> None:
    assert inspect_source(source).is_pure


@pytest.mark.parametrize("source", LASTING)
def test_a_cell_that_may_keep_or_reach_something_is_not(source: str) -> None:
    effects = EffectAnalysis([])
    effects.follow_cell(GIVEN, given=True)
    assert not effects.follow_cell(source, given=False)


DEEP = [
    "x = a" + ".b" * 900,
    "x = " + "1+" * 900 + "1",
    "x = " + "-" * 900 + "1",
    "x = f" + "()" * 900,
    "x = " + "lambda: " * 900 + "1",
    "x = 1" + " if 1 else 1" * 900,
    "".join(" " * n + "def f():\n" for n in range(99)) + " " * 99 + "pass",
    "x = " + "[" * 150 + "]" * 150,
    "x = y" + "[0]" * 900 + "\nx.z = 1",
    "class F:\n    x = " + "1+" * 900 + "1",
    "@" + "a" + ".b" * 900 + "\ndef f():\n    pass",
    "def f(x=" + "(1," * 150 + ")" * 150 + "):\n    pass",
]


@pytest.mark.parametrize("source", DEEP)
def test_a_source_too_deep_to_follow_may_do_anything(source: str) -> None:
    assert inspect_source(source) == NameUse()
    assert not EffectAnalysis(["f"]).follow_cell(source, given=False)


@pytest.mark.parametrize(
    "form",
    [
        lambda n: "x = [" + "1," * n + "]" + ".a" * 45,
        lambda n: "x = [" + "1," * n + "]" + ".device()" * 45,
        lambda n: "with f([" + "1," * n + "]" + ".a" * 45 + "): pass",
        lambda n: "def f(" + ",".join(f"x{i}=[{i}].a.a.a" for i in range(n // 10)) + "): pass",
        lambda n: "".join(" " * i + f"def f{i}():\n" for i in range(40)) + " " * 40 + "[" + "1," * n + "]",
        lambda n: "@a([" + "1," * n + "].b.c.d)\nclass F:\n    x = [" + "1," * n + "].device.device",
        lambda n: "x.y = " + " + ".join(["z.u.v"] * 80) + "; setattr(x" + ".a" * 40 + ", 'b', [" + "1," * n + "])",
    ],
)
def test_analysing_a_source_takes_time_in_proportion_to_its_length(form: Callable[[int], str]) -> None:
    """Counted in calls, which do not depend on the machine."""
    short, long = form(1_000), form(4_000)
    assert len(long) <= MAX_SOURCE
    assert count_calls(long) < 6 * count_calls(short)


def count_calls(source: str) -> int:
    profile = cProfile.Profile()
    profile.runcall(inspect_source.__wrapped__, source)
    return sum(entry.callcount for entry in profile.getstats())


def test_a_notebook_that_is_too_much_to_follow_may_do_anything() -> None:
    """Its functions read one another in every way, and each cell asks again what an exercise can affect."""
    effects = EffectAnalysis(["f"])
    names = "+".join(f"n{number}" for number in range(900))
    effects.follow_cell(f"def f():\n    return {names}", given=False)
    for number in range(900):
        effects.follow_cell(f"def n{number}():\n    return n0 + n1", given=False)
    assert not effects.follow_cell("def g():\n    return 1", given=False)


def test_a_notebook_longer_than_what_is_followed_may_do_anything() -> None:
    effects = EffectAnalysis(["f"])
    for _ in range(11):
        effects.follow_cell("#" * 19_000, given=False)
    assert not effects.follow_cell("def g():\n    return 1", given=False)


@pytest.mark.parametrize(
    ("exercise", "later", "given", "is_plain"),
    [
        ("def f(x):\n    return 2 * x", "def g(x):\n    return f(x)", False, True),
        ("def f(x):\n    return 2 * x", "print(f(table))", True, True),
        ("def f(x):\n    return 2 * x", "def f(x):\n    return 3 * x", False, False),
        ("def f(x):\n    return helper(x)", "def helper(x):\n    return x", False, False),
        ("def f(x):\n    return x + offset", "offset = 3", True, False),
        ("def f(x):\n    return x + table", "print(1)", True, False),
        ("def f(x):\n    counts.append(x)", "print(1)", False, False),
        ("f = given", "print(1)", False, False),
        ("def f(x):\n    return 2 * x", "given.calls = 1", False, False),
        ("def f(x):\n    return 2 * x", "del f", True, False),
        ("x = [1]\ndef f(y):\n    return x", "print(1)", False, False),
        ("x = -1, torch.float32, device()\ndef f(y):\n    return x", "print(1)", False, True),
        ("x = -1, torch.float32, device()\ndef f(y):\n    return x", "x = 2", True, False),
        ("x = 1\nx = counts\ndef f(y):\n    return x", "print(1)", False, False),
        ("for x in counts:\n    pass\ndef f(y):\n    return x", "print(1)", False, False),
        ("x = torch.softmax\ndef f(y):\n    return x", "print(1)", False, False),
        ("def f(x):\n    return x.to(here)", "print(1)", True, True),
        ("def f(x):\n    return x.to(here)", "here = 3", True, False),
        ("def f(x):\n    return 2 * x", "x = table * 2\nprint(x)", False, True),
        ("def f(x):\n    return 2 * x\ny = table + 1", "y = 3", True, True),
        ("def f(x):\n    return 2 * x\ndef shows():\n    print(table)", "print(1)", False, False),
    ],
)
def test_a_later_cell_leaves_an_earlier_function_alone(exercise: str, later: str, given: bool, is_plain: bool) -> None:
    effects = EffectAnalysis(["f"])
    effects.follow_cell(GIVEN, given=True)
    effects.follow_cell(exercise, given=False)
    assert effects.follow_cell(later, given) is is_plain


@pytest.mark.parametrize(
    ("cells", "is_plain"),
    [
        (["def f(x):\n    return 2 * x", "shows = lambda: print(table)", "print(f(table))"], True),
        (["def f(x):\n    return 2 * x", "print(table)", "table = 3"], True),
        (["def f(x):\n    return helper(x)", "def helper(x):\n    return x + table", "print(1)"], False),
        (["def helper(x):\n    counts.append(x)", "def f(x):\n    return helper(x)", "print(1)"], False),
        (["def helper(x):\n    return x", "def f(x):\n    return helper(x)", "print(1)"], True),
        (["def helper(x):\n    return x", "def f(x):\n    return helper(x)", "helper = 3"], False),
        (["def f(x):\n    f.calls.append(x)", "f.calls = []", "f(table)"], False),
    ],
    ids=["no exercise reads it", "read once", "later helper", "helper with memory", "helper", "replaced", "attribute"],
)
def test_the_possible_effects_of_an_exercise_decide(cells: list[str], is_plain: bool) -> None:
    effects = EffectAnalysis(["f"])
    effects.follow_cell(GIVEN, given=True)
    for source in cells[:-1]:
        effects.follow_cell(source, given=False)
    assert effects.follow_cell(cells[-1], given=True) is is_plain


class CountingForkServer(ForkServerClient):
    """A fork server that counts its student processes and their forks. can_fork: as those that use CUDA cannot."""

    can_fork = True
    forks = starts = 0

    def start_process(self, restores_names: bool = True) -> StudentProcess:
        process = super().start_process(restores_names)
        if not self.can_fork:
            process.stop_forking()
        connect = process.connect

        def counted(group: str, seconds: float):  # type: ignore[no-untyped-def]
            self.forks += 1
            return connect(group, seconds)

        process.connect = counted  # type: ignore[method-assign]
        self.starts += 1
        return process


@pytest.fixture(scope="module")
def warm_server() -> Iterator[CountingForkServer]:
    process = CountingForkServer()
    yield process
    process.close()


@pytest.fixture(params=[True, False], ids=["forks", "no forks"])
def fork_server(warm_server: CountingForkServer, request: pytest.FixtureRequest) -> CountingForkServer:
    warm_server.can_fork, warm_server.forks, warm_server.starts = request.param, 0, 0
    return warm_server


def list_passed(fork_server: ForkServerClient, *cells: str) -> dict[str, list[bool]]:
    """The outcomes of f, g and h, which are to double what they are given, with two checks each."""
    steps = [Step("start", StepKind.GIVEN, "import torch\nfrom labkit import check\n")]
    names = [source.split("(")[0].removeprefix("def ") if source.startswith("def ") else "" for source in cells]
    for number, (name, source) in enumerate(zip(names, cells, strict=True)):
        steps.append(Step(f"exercise-{name}" if name else f"added-{number}", StepKind.STUDENT, source, exercise=name))
        if name:
            tests = "".join(f'with check("{n}"):\n    assert {name}({n}) == {2 * n}\n' for n in (1, 3))
            steps.append(Step(f"check-{name}", StepKind.CHECK, tests))
    results = examine_steps(steps, fork_server.start_process)
    return {name: [o.passed for o in results[f"check-{name}"].outcomes] for name in names if name}


RIGHT = [f"def {name}(x):\n    return 2 * x\n" for name in "fgh"]


@pytest.mark.parametrize("quick", [0.0, 2.0], ids=["slow cells", "quick cells"])
def test_checks_share_one_connection_whether_they_pass_or_not(
    fork_server: CountingForkServer, quick: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission_runner, "QUICK", quick)
    assert list_passed(fork_server, *RIGHT) == {name: [True, True] for name in "fgh"}
    assert (fork_server.starts, fork_server.forks) == (1, 1)
    assert list_passed(fork_server, "def f(x):\n    return 2\n", *RIGHT[1:]) == {
        "f": [True, False],
        "g": [True, True],
        "h": [True, True],
    }
    assert (fork_server.starts, fork_server.forks) == (2, 2)


def test_a_function_that_spoils_the_process_costs_only_itself(fork_server: CountingForkServer) -> None:
    spoils = "def f(x):\n    import builtins\n    builtins.abs = None\n    return 2 * x\n"
    assert list_passed(fork_server, spoils, "def g(x):\n    return 2 * abs(x)\n")["g"] == [True, True]


@pytest.mark.parametrize("quick", [0.0, 2.0], ids=["slow cells", "quick cells"])
def test_a_check_that_ends_its_fork_costs_only_itself(
    fork_server: CountingForkServer, quick: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission_runner, "QUICK", quick)
    ends = "def g(x):\n    import signal\n    return 2 * x if x == 3 else signal.raise_signal(9)\n"
    assert list_passed(fork_server, RIGHT[0], ends, RIGHT[2]) == {
        "f": [True, True],
        "g": [False, True],
        "h": [True, True],
    }


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            ["def f(x, kept=[]):\n    kept.append(x)\n    return 2 * x if len(kept) < 3 else 0\n", "f(1), f(1)"],
            [True, True],
        ),
        (["def f(x):\n    return 2 * x\n", "def g(x):\n    return 2 * x\n", "f = None"], [True, True]),
        (["def f(x):\n    return 0\n", "f = lambda x: 2 * x"], [False, False]),
        (["def f(x):\n    return 2 * abs(x)\n", "import builtins\nbuiltins.abs = None"], [True, True]),
        (["def f(x):\n    return helper(x)\n", "def helper(x):\n    return 2 * x"], [False, False]),
    ],
)
def test_a_check_sees_the_state_at_its_place(
    fork_server: ForkServerClient, cells: list[str], expected: list[bool]
) -> None:
    assert list_passed(fork_server, *cells)["f"] == expected
