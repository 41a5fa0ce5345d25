"""Cells have the same outputs in a student process as in a stock ipykernel through nbclient, pictures byte for byte.

Three things are made equal before the comparison: addresses in memory, times, and the name of a cell's temporary file,
which holds the kernel's pid. Consecutive texts of a stream are one output: where a kernel cuts them depends on time.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError

from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServerClient
from autograder.forkserver.server_process import ONE_THREAD
from autograder.grading.lab_cells import parse_cells
from autograder.model.course import StepKind
from autograder.student_process.outputs import CUT, MAX_ITEMS, MAX_LINES, MAX_TEXT
from tests.conftest import ROOT

LABS = sorted(path.stem for path in (ROOT / "source").glob("*/*.ipynb"))
# The random state that each student process starts with.
SEEDS = "import random, numpy, torch\nfor seed in (torch.manual_seed, random.seed, numpy.random.seed):\n    seed(0)"
SAME = {
    r"USDT:[\d\- :]+": "USDT",  # the profiler writes the time and its pid
    r"0x[0-9a-f]{6,}": "0x",
    r"/ipykernel_\d+/": "/ipykernel/",
    r" *[\d.]+(e[+-]?\d+)? (ns|[µμ]s|ms|s)\b": " TIME",  # of %time and %timeit, and in columns
    r"\b[0-9a-f]{32}\b": "ID",  # of widgets and of displays
}
CELLS = {
    # First, because a stock kernel that hangs here starts again with the first cell.
    "a worker": """import multiprocessing, time
worker = multiprocessing.get_context("fork").Process(target=print, args=("at work",))
worker.start()
worker.join()
time.sleep(1)""",
    "a last expression": "x = 41\nx + 1",
    "a last expression with a semicolon": "x + 1;",
    "the results before": "print(_, __, Out, len(In))\n_ * 2",
    "all that is rich": """class Rich:
    def _repr_html_(self): return "<b>rich</b>"
    def _repr_latex_(self): return "$x$"
    def _repr_svg_(self): return "<svg></svg>"
    def __repr__(self): return "Rich()"
Rich()""",
    "a mime bundle with metadata": """class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"application/json": {"a": [1, None]}, "text/plain": "b"}, {"application/json": {"expanded": True}}
Bundle()""",
    "what IPython shows": """from IPython.display import HTML, JSON, Image, Latex, Markdown, display
display(HTML("<i>a</i>"), Markdown("*b*"), Latex("$c$"), JSON({"d": 1}), "e", 6)
Image(b"\\x89PNG\\r\\n\\x1a\\n" + b"\\0" * 16, width=30)""",
    "text and displays in their order": "print('a')\ndisplay(1)\nprint('b')\ndisplay(2)\nprint('c')",
    "a display that is updated": "h = display('old', display_id='mine')\ndisplay('between')\nh.update('new')",
    "a display of the same name": "display('third', display_id='same')\ndisplay('fourth', display_id='same')",
    "output that is cleared": "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)",
    "output that waits to be cleared": "for i in range(3):\n    clear_output(wait=True)\n    display(i)",
    "output that is cleared for nothing": "display('stays')\nclear_output(wait=True)",
    "both streams": "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\nprint('d', file=sys.stderr)",
    "flushed text": "print('b', file=sys.stderr)\nprint('a', flush=True)\nsys.stdout.write('no newline')",
    "tqdm": """from tqdm import tqdm
for i in tqdm(range(3), mininterval=0, bar_format="{l_bar}{bar:10}{n}/{total}"):
    pass""",
    "tqdm of notebooks": "from tqdm.auto import tqdm\nfor i in tqdm(range(3), bar_format='{n}/{total}'):\n    pass",
    "a progress bar": """for i in range(4):
    sys.stderr.write(f"\\r{i:3d}/3 |{'#' * i:3}|")
    sys.stderr.flush()
sys.stderr.write("\\n\\b");""",
    "a warning": "import warnings\nwarnings.warn('careful')\nwarnings.warn('old', DeprecationWarning)",
    "a figure": """import matplotlib.pyplot as plt
plt.plot([1, 3, 2])
plt.title("a title, $x^2$")
plt.xlabel("x");""",
    "no figure is left": "plt.get_fignums(), plt.isinteractive(), plt.get_backend()",
    "two figures": "plt.figure(figsize=(3, 2))\nplt.bar([1, 2], [3, 4])\nfig, axes = plt.subplots(1, 2, layout='constrained')",
    "a figure shown in the middle": "plt.plot([2, 1])\nplt.show()\nprint('after')\nplt.imshow([[1, 2], [3, 4]])\nplt.colorbar();",
    "a figure as the value": "fig, ax = plt.subplots(figsize=(2, 2))\nax.scatter([1, 2], [2, 1], label='l')\nax.legend()\nfig.tight_layout()\nplt.close(fig)\nfig",
    "a figure of retina, without a ground": """from matplotlib_inline.backend_inline import set_matplotlib_formats
set_matplotlib_formats("retina")
with plt.rc_context({"figure.facecolor": "none", "xtick.color": "white", "ytick.color": "white"}):
    plt.plot([1, 2])
    plt.show()
set_matplotlib_formats("png")""",
    "a figure before an exception": "plt.plot([1, 1])\n1 / 0",
    "matplotlib inline": "%matplotlib inline\nplt.plot([1]);",
    "an exception": "def inner(n):\n    return 1 / n\n\ndef outer(n):\n    return inner(n)\n\nprint('before')\nouter(0)",
    "an exception of a library": "import torch\ntorch.ones(2, 3) @ torch.ones(2)",
    "an exception in an exception": "try:\n    {}['key']\nexcept KeyError as e:\n    raise ValueError('second\\nline') from e",
    "a syntax error": "def f(:\n    pass",
    "an assertion": "assert 1 == 2, 'not equal'",
    "sys.exit": "sys.exit(3)",
    "an exception while showing": "class Bad:\n    def __repr__(self): raise RuntimeError('no text')\nBad()",
    "the loop that runs": """import asyncio
async def three():
    await asyncio.sleep(0)
    print("three")
    return 3
loop = asyncio.get_event_loop()
loop.is_running(), loop is asyncio.get_running_loop()""",
    "a loop of its own": "coroutine = three()\ntry:\n    asyncio.run(coroutine)\nfinally:\n    coroutine.close()",
    "the loop in a cell": "coroutine = three()\ntry:\n    loop.run_until_complete(coroutine)\nfinally:\n    coroutine.close()",
    "a task": "quiet = asyncio.create_task(asyncio.sleep(0, 5))\nquiet.done()",
    "what became of the task": "quiet.done() and quiet.result()",
    "what the loop does soon": "loop.call_soon(print, 'soon')\nawait asyncio.sleep(0)\nawait three()",
    "input": "print('asked')\ninput('name? ')",
    "getpass": "import getpass\ngetpass.getpass()",
    "a breakpoint": "def paused():\n    breakpoint()\n    return 3\npaused()",
    "a debugger": "import pdb\ndef traced():\n    pdb.set_trace()\n    return 3\ntraced()",
    "timed": "%time 1 + 1",
    "a timed cell": "%%time\nprint('in it')\n2 + 2",
    "captured": "%%capture seen\nprint('hidden')\ndisplay(3)\nplt.plot([1])",
    "what was captured": "seen.stdout, [list(o.data) for o in seen.outputs]",
    "a magic that is none": "%no_such_magic",
    "help": "x.real?",
    "a coroutine": "import asyncio\nawait asyncio.sleep(0.01)\nprint('slept')\nawait asyncio.sleep(0, 'value')",
    "a descriptor": "import os, time\nprint('a')\nos.write(1, b'b\\n')\ntime.sleep(1)\nprint('c')",
    "a program": "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'echo out; echo err >&2'])\ntime.sleep(1)",
    "a command": "!echo one; echo two >&2\nafter = 1\nprint(after)",
    "commands and text in their order": "print('a')\n!printf 'b c'\nprint('d')\n!echo e\ndisplay('f')",
    "exit codes": "!exit 3\nprint(_exit_code)\n!kill -9 $$\nprint(_exit_code)\n!true\nprint(_exit_code)",
    "names in a command": "word, here = 'w', {'k': 2}\n!echo $word {word * 2} {here['k']} $$HOME_IS_NOT_SET",
    "a command in a function": "def say(inner):\n    !echo {inner}\nsay('deep')",
    "a command that is no program": "!no_such_program_at_all; echo $?",
    "a command that asks": '!read answer < /dev/null; echo "<$answer>"',
    "a command in the background": "!sleep 9 &\n'not reached'",
    "letters of a command": "!printf 'h\\303\\251 \\377\\n'",
    "output of commands": "lines = !printf '1\\n2\\n'\nprint(lines, list(map(int, lines)))",
    "output of commands, shown": "!!echo a; echo b",
    "system": "%system echo a",
    "sx": "%sx echo b",
    "aliases": "%mkdir made_here\n%ls -d made_here",
    "captured commands": "%%capture said\n!echo hidden\nprint('too')",
    "what commands said": "said.stdout, said.stderr",
    "a command that must not fail": "get_ipython().system_raise_on_error = True\n!exit 4",
    "commands may fail again": "get_ipython().system_raise_on_error = False\n!exit 5\nprint(_exit_code)",
    "stored variables": "kept_x = 4\n%store kept_x\ndel kept_x\n%store -r kept_x\nkept_x",
    "arguments": "import argparse, os\nprint(os.path.basename(sys.argv[0]), sys.argv[1], len(sys.argv))",
    "pip": "%pip --no-such-option",
    "names of the notebook": "sorted(name for name in globals() if name.startswith('__')), __name__, Rich",
    "a widget": "import ipywidgets\nslider = ipywidgets.IntSlider(3)\ndisplay(slider)\nslider",
    "an Output widget": """out = ipywidgets.Output()
with out:
    print("inside")
    display(1)
print("outside")
out""",
    "what an Output widget holds": "out.outputs",
    "interact": "ipywidgets.interact(lambda n: print(n), n=3);",
    "a class of the shell": "type(get_ipython()).__name__, os.environ['MPLBACKEND'], [f.__name__ for f in get_ipython().events.callbacks['post_execute']]",
}


# A stock kernel shows the output of other processes and descriptors when one of its threads gets a turn.
LATE = {"a worker": "at work", "a descriptor": "b\n", "a program": "err\n"}


def run_in_gradlab(fork_server: ForkServerClient, sources: list[str]) -> list[list[dict[str, Any]]]:
    """The outputs of each of these cells in a student process."""
    steps = [Step(str(number), StepKind.STUDENT, source, number) for number, source in enumerate(sources, start=1)]
    results = examine_steps(steps, fork_server.start_process)
    return [result.outputs for result in results.values()]


def run_in_stock_kernel(sources: list[str], home: Path, tries: int = 5) -> list[list[dict[str, Any]]]:
    """The same in a stock kernel. If it hangs, loses a reply or shows output after its cell only, another one runs them."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    place = {"metadata": {"path": home}}
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True, resources=place)
    client.timeout_func = lambda cell: 20 if ".Process(" in cell.source else 120
    client.startup_timeout = client.iopub_timeout = 600
    try:
        with client.setup_kernel(env={"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", **ONE_THREAD}):
            for number, cell in enumerate(notebook.cells):
                client.execute_cell(cell, number)
    except CellTimeoutError:
        if tries == 1:
            raise
        return run_in_stock_kernel(sources, home, tries - 1)
    texts = {cell.source: "".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells}
    if tries > 1 and any(text not in texts.get(CELLS[name], text) for name, text in LATE.items()):
        return run_in_stock_kernel(sources, home, tries - 1)
    return [cell.outputs for cell in notebook.cells]


def normalize_outputs(outputs: list[dict[str, Any]]) -> Any:
    """Replace what may differ in outputs."""
    joined_outputs: list[dict[str, Any]] = []
    for output in outputs:
        if joined_outputs and output["output_type"] == "stream" and output["name"] == joined_outputs[-1].get("name"):
            joined_outputs[-1]["text"] += output["text"]
        else:
            joined_outputs.append(dict(output))
    return _normalize(joined_outputs)


def _normalize(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _digest(inner) if key.startswith("image/") else _normalize(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize(inner) for inner in value]
    if isinstance(value, str):
        for pattern, replacement in SAME.items():
            value = re.sub(pattern, replacement, value)
    return value


def _digest(value: Any) -> Any:
    """A digest for a picture keeps the report of a difference short."""
    return hashlib.sha256(value.encode()).hexdigest() if isinstance(value, str) else value


@pytest.fixture(scope="module")
def small_cells(fork_server: ForkServerClient, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    sources = [SEEDS, *CELLS.values()]
    pairs = zip(
        run_in_gradlab(fork_server, sources), run_in_stock_kernel(sources, tmp_path_factory.mktemp("home")), strict=True
    )
    return dict(zip(["seeds", *CELLS], pairs, strict=True))


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_has_the_same_outputs_as_in_a_stock_kernel(name: str, small_cells: dict[str, tuple[Any, Any]]) -> None:
    gradlab_outputs, stock_outputs = small_cells[name]
    assert normalize_outputs(gradlab_outputs) == normalize_outputs(stock_outputs)


def run_cell(fork_server: ForkServerClient, source: str) -> list[dict[str, Any]]:
    (outputs,) = run_in_gradlab(fork_server, [source])
    return outputs


# What follows differs from a stock kernel on purpose.
def test_the_middle_of_a_deep_traceback_is_left_out(fork_server: ForkServerClient) -> None:
    """A kernel takes seconds for a thousand frames."""
    (error,) = run_cell(fork_server, "def down(n):\n    return down(n + 1)\ndown(0)")
    assert len(error["traceback"]) < 70
    assert "frames in the middle were left out" in error["traceback"][-2]


def test_a_group_of_exceptions_is_an_output_of_type_error_too(fork_server: ForkServerClient) -> None:
    outputs = run_cell(fork_server, "raise ExceptionGroup('both', [ValueError()])")
    assert [output["output_type"] for output in outputs] == ["stream", "error"]


def test_the_next_cells_run_after_exit(fork_server: ForkServerClient) -> None:
    exited, after = run_in_gradlab(fork_server, ["exit()", "print(1)"])
    assert "a notebook goes on after exit()" in exited[0]["text"]
    assert after[0]["text"] == "1\n"


def test_an_exception_without_a_readable_message_is_shown(fork_server: ForkServerClient) -> None:
    error, *_ = run_cell(fork_server, "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute")
    assert error["evalue"] == "(its message can't be shown)"


def test_a_cell_that_closes_its_streams_costs_no_output_of_later_cells(fork_server: ForkServerClient) -> None:
    closes = "import os, sys\nos.close(1)\nsys.stdout = sys.stderr = None\n1 / 0"
    closed, after = run_in_gradlab(fork_server, [closes, "print(1)\nos.system('echo 2');"])
    assert closed[0]["ename"] == "ZeroDivisionError"
    assert after == [{"output_type": "stream", "name": "stdout", "text": "1\n2\n"}]


def test_nested_loops_run_if_a_package_allows_them(fork_server: ForkServerClient) -> None:
    """Not run in a stock kernel, whose own loops the package changes too: it hangs now and then."""
    *_, last_outputs = run_in_gradlab(
        fork_server,
        [
            "import asyncio\nasync def three():\n    return 3",
            "import nest_asyncio2\nnest_asyncio2.apply()\nasyncio.run(three()) + await three()",
        ],
    )
    assert last_outputs[0]["data"]["text/plain"] == "6"


def test_the_next_cells_run_whatever_one_does_to_the_event_loop(fork_server: ForkServerClient) -> None:
    harm = [
        "import asyncio\nloop = asyncio.get_event_loop()\nloop.stop()\nawait asyncio.sleep(0)",
        "asyncio.current_task().cancel()",
        "asyncio.current_task().cancel()\nawait asyncio.sleep(0)",
        "async def leave():\n    raise SystemExit\nleaving = asyncio.create_task(leave())",
        "asyncio.set_event_loop(None)",
        "loop.call_soon(loop.close)",
        "async def on():\n    while True:\n        await asyncio.sleep(0)\ngoing_on = asyncio.create_task(on())",
    ]
    for number, cell in enumerate(harm):
        *_, last_outputs = run_in_gradlab(fork_server, [*harm[:1], cell, "print(await asyncio.sleep(0, 7))"])
        assert last_outputs == [{"output_type": "stream", "name": "stdout", "text": "7\n"}], number


def test_cd_goes_back_to_where_the_notebook_is(fork_server: ForkServerClient) -> None:
    *_, last_outputs = run_in_gradlab(
        fork_server, ["import os\nhome = os.getcwd()", "%cd -q /\n%cd -q -\nprint(os.getcwd() == home, _dh[0] == home)"]
    )
    assert last_outputs[0]["text"] == "True True\n"


def test_a_command_does_not_wait_for_the_programs_that_it_leaves_running(fork_server: ForkServerClient) -> None:
    """A kernel hangs up the terminal of such programs; here they end with the submission."""
    (outputs,) = run_in_gradlab(fork_server, ["!sleep 600 & echo started\nprint('goes on')"])
    assert outputs[0]["text"].replace("\r", "") == "started\ngoes on\n"


def test_everything_that_a_command_wrote_before_it_ended_is_shown(fork_server: ForkServerClient) -> None:
    """The cell ends although a program that it leaves running writes endlessly."""
    long_output, next_output = run_in_gradlab(
        fork_server, ["!head -c 60000 /dev/zero | tr '\\0' x", "!yes & echo started\nprint('goes on')"]
    )
    assert long_output[0]["text"] == "x" * 60_000
    assert next_output[0]["text"]


def test_the_lines_of_an_output_are_bounded(fork_server: ForkServerClient) -> None:
    (output,) = run_cell(fork_server, "for i in range(9000): print(i)")
    assert output["text"].startswith("0\n")
    assert output["text"].count("\n") <= MAX_LINES + 2


@pytest.mark.parametrize(
    "source",
    [
        "print('x' * 300_000)",
        "import os, subprocess\nsubprocess.run(['head', '-c', '3000000', '/dev/zero'])\nprint('end')",
        "!head -c 3000000 /dev/zero",
    ],
    ids=["printed", "of a program", "of a shell command"],
)
def test_the_characters_of_an_output_are_bounded(fork_server: ForkServerClient, source: str) -> None:
    (output,) = run_cell(fork_server, source)
    assert len(output["text"]) <= MAX_TEXT + len(CUT)


def test_the_number_of_outputs_is_bounded(fork_server: ForkServerClient) -> None:
    assert len(run_cell(fork_server, "for i in range(900): display(i)")) == MAX_ITEMS


def test_cleared_outputs_do_not_count(fork_server: ForkServerClient) -> None:
    source = """from IPython.display import clear_output
for i in range(90):
    clear_output(wait=True)
    display({'text/plain': f'{i}', 'text/html': 'x' * 100_000}, raw=True)"""
    assert [output["data"]["text/plain"] for output in run_cell(fork_server, source)] == ["89"]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("lab", LABS)
def test_a_worked_solution_has_the_same_outputs_as_in_a_stock_kernel(
    lab: str, fork_server: ForkServerClient, tmp_path: Path
) -> None:
    """Slow: a kernel starts for each lab, and imports torch. By day CELLS cover what a lab may output."""
    notebook = nbformat.read(ROOT / "source" / lab / f"{lab}.ipynb", as_version=4)
    steps = [cell.step for cell in parse_cells(notebook) if cell.step.kind != "check"]
    sources = [SEEDS, *(step.source for step in steps)]
    gradlab_outputs, stock_outputs = (
        run_in_gradlab(fork_server, sources)[1:],
        run_in_stock_kernel(sources, tmp_path)[1:],
    )
    differing = [
        n
        for n, (own, its) in enumerate(zip(gradlab_outputs, stock_outputs, strict=True))
        if normalize_outputs(own) != normalize_outputs(its)
    ]
    second_outputs = run_in_stock_kernel(sources, tmp_path)[1:] if differing else stock_outputs
    for n in differing:  # the lab's own pids and times: a stock kernel's differ too when it runs again
        assert normalize_outputs(stock_outputs[n]) != normalize_outputs(second_outputs[n]), (
            steps[n].id,
            gradlab_outputs[n],
            stock_outputs[n],
        )
    assert len(differing) < len(steps) / 4
