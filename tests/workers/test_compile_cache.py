"""Submissions of a lab start with the compiled code of its worked solution, and none changes it for another."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.model.course import StepKind
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.compile_cache import prepare_compile_cache
from tests.conftest import need

SOLUTION = "import torch\ndef double_sum(x):\n    return (2 * x.sin()).sum(0)\n"
USE = "print(torch.compile(double_sum)(torch.ones(5, 3))[0].item())"
COUNT = "from torch._dynamo.utils import counters\nprint(dict(counters['inductor']))"
POISON = """
import os
changed = []
for place, _, names in os.walk(os.environ["TORCHINDUCTOR_CACHE_DIR"]):
    for name in names:
        path = os.path.join(place, name)
        for target in (os.path.realpath(path), path):
            for act in (lambda: open(target, "ab").write(b"poison"), lambda: os.chmod(target, 0o777),
                        lambda: os.unlink(target), lambda: open(target, "wb").write(b"poison")):
                try:
                    act()
                    changed.append(target)
                except OSError:
                    pass
print(len(changed))
"""


def make_notebook(*cells: str) -> bytes:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c, id=f"c{n}") for n, c in enumerate(cells)])
    return json.dumps(notebook).encode()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    need("g++")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        folder = prepare_compile_cache(make_notebook(SOLUTION, USE))
        assert folder is not None
        assert prepare_compile_cache(make_notebook(SOLUTION, USE)) == folder
        yield folder


@pytest.fixture(scope="module")
def fork_server(cache: Path) -> Iterator[ForkServerClient]:
    process = ForkServerClient(ProcessSettings(find_strongest_level(find_layers()), compile_cache=cache))
    yield process
    process.close()


def run_and_print(fork_server: ForkServerClient, *cells: str) -> list[str]:
    steps = [Step(str(number), StepKind.STUDENT, source, number) for number, source in enumerate(cells, start=1)]
    return [
        "".join(o.get("text", o.get("evalue", "")) for o in s.outputs)
        for s in examine_steps(steps, fork_server.start_process).values()
    ]


def inspect_cell(cache: Path) -> dict[str, str]:
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(cache.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_a_submission_runs_the_solutions_compiled_code_and_no_submission_changes_it(
    fork_server: ForkServerClient, cache: Path
) -> None:
    """Slow: g++ compiles for the solution."""
    before = inspect_cell(cache)
    (poison_output,) = run_and_print(fork_server, POISON)
    assert int(poison_output) > 0, "its own links are its own"
    assert inspect_cell(cache) == before
    _, use_output, count_output = run_and_print(fork_server, SOLUTION, USE, COUNT)
    assert float(use_output) == pytest.approx(8.4147, abs=1e-3)
    assert "'fxgraph_cache_hit': 1" in count_output and "miss" not in count_output


@pytest.mark.slow
@pytest.mark.nightly
def test_a_submission_compiles_code_that_the_solution_has_not_compiled(fork_server: ForkServerClient) -> None:
    """Slow: g++ compiles in the submission's own folder."""
    _, use_output, count_output = run_and_print(fork_server, SOLUTION.replace("2 * x", "3 * x"), USE, COUNT)
    assert float(use_output) == pytest.approx(12.6221, abs=1e-3)
    assert "'fxgraph_cache_miss': 1" in count_output


def test_a_lab_that_compiles_nothing_needs_no_cache() -> None:
    assert prepare_compile_cache(make_notebook("import torch", "x = torch.ones(3)")) is None
