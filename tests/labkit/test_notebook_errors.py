"""What a notebook shows after an interrupt or a missing name, in a real kernel: a line that says what to do."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from labkit.progress import CHECKED_ONLY, MARKING

SECONDS = 600  # of which an idle machine needs a few
Run = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs a cell in a kernel, and returns the contents of its outputs. It's interrupted once it prints `interrupt`."""
    manager, client = start_new_kernel(startup_timeout=SECONDS, kernel_name="python3")

    def run_cell(code: str, interrupt: str = "") -> list[dict[str, Any]]:
        outputs, request = [], client.execute(code)
        while True:
            message = client.get_iopub_msg(timeout=SECONDS)
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            if message["msg_type"] in ("stream", "error", "execute_result"):
                outputs.append(content)
            if interrupt and interrupt in content.get("text", ""):
                manager.interrupt_kernel()
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return outputs

    assert run_cell("import torch\nfrom labkit import check, assert_close, progress\n") == []
    yield run_cell
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_check_that_is_stopped_shows_a_few_words_and_still_stops_the_cell(run: Run) -> None:
    run("def f():\n    print('begun', flush=True)\n    while True:\n        pass\n")
    checks = "with check('a', 'it ends'):\n    f()\nwith check('b', 'another'):\n    pass\nprint('after')\n"
    begun, error = run(checks, interrupt="begun")
    assert begun["text"].strip() == "begun"
    assert error["ename"] == "KeyboardInterrupt"  # which front ends recognize
    (lines,) = error["traceback"]
    assert lines.startswith("You stopped this check: it ends.\nIt was at this line: ")
    assert len(lines.splitlines()) == 3


def test_a_missing_name_is_shown_with_what_to_run(run: Run) -> None:
    (error,) = run("cubic(3)")
    assert "cubic" in error["traceback"][-2]
    assert error["traceback"][-1].startswith(
        "If a cell above defines cubic, that cell hasn't run since the kernel started."
    )


@pytest.mark.parametrize("code", ["values = 1\nvaleus", "def g():\n    return a\n    a = 1\ng()", "1 / 0"])
def test_other_errors_are_shown_as_they_are(run: Run, code: str) -> None:
    (error,) = run(code)
    assert not any("since the kernel started" in line for line in error["traceback"])


def test_progress_without_a_lab_shows_what_was_checked(run: Run, tmp_path: Any) -> None:
    run(
        f"import os\nos.chdir({str(tmp_path)!r})\nfrom labkit.check import _verdicts\n_verdicts.clear()"
    )  # of other tests
    (shown,) = run("progress()")
    assert list(shown["data"]) == ["text/plain"] and "Run a lab's checks first" in shown["data"]["text/plain"]
    run("def f(x):\n    return x\nwith check('a', 'doubles'):\n    assert f(1) == 2\ncheck.score('f', points=1)")
    (shown,) = run("progress()")
    text = shown["data"]["text/plain"].splitlines()
    assert list(shown["data"]) == ["text/plain"]
    assert text == ["f: 0 of 1 check passed, 0 of 1 point", CHECKED_ONLY, MARKING]


CHECKS = "with check('a', 'doubles'):\n    assert double(1) == 2\ncheck.score('double', points=1)"
SINCE = "your cell has failed since"


@pytest.mark.parametrize("broken", ["def double(x:\n    return 3", "1 / 0\ndef double(x):\n    return 3"])
def test_a_card_says_if_the_answer_failed_to_run_since_it_was_defined(run: Run, broken: str) -> None:
    answer = "def double(x):\n    return x + x"
    run(answer)
    (fine,) = run(CHECKS)
    run(broken)
    (outdated,) = run(CHECKS)
    run(f"{answer}\n1 / 0")  # which fails after the definition
    (defined,) = run(CHECKS)
    assert SINCE in outdated["data"]["text/html"]
    assert SINCE not in fine["data"]["text/html"] and SINCE not in defined["data"]["text/html"]
    run("import sys\nsys.modules['labkit.check']._verdicts.clear()")  # for the test of progress() in this kernel
    mime = "application/vnd.gradlab.verdict+json"
    assert fine["data"][mime]["source"] == outdated["data"][mime]["source"] != defined["data"][mime]["source"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("def double(x):\n    return 4 * half(x)", "it uses half, which isn't written yet"),
        ("def double(x):\n    raise NotImplementedError()", "not written yet"),
        ("def double(x):\n    return math.prod([2, x])", "Import it first: import math"),
    ],
)
def test_a_card_says_what_is_missing(run: Run, answer: str, words: str) -> None:
    run("def half(x):\n    raise NotImplementedError()")
    run(answer)
    (shown,) = run(CHECKS)
    assert words in shown["data"]["text/html"].replace("&#x27;", "'")
