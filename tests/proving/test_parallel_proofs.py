"""Several labs are proved at a time, each on its own."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autograder.authoring.lab import read_lab
from autograder.authoring.new_lab import create_lab
from autograder.base.errors import GradlabError
from autograder.model.course import Lab, LabEntry
from autograder.proving.parallel_proofs import prove_labs


@pytest.fixture
def labs(tmp_path: Path) -> list[Lab]:
    """Two labs with a wrong solution each, so no other answers are tried."""
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_text('title = "t"\n')
    folders = [create_lab(tmp_path, name) for name in ("01_squares", "02_sums")]
    for folder, wrong in zip(folders, ("(x * x * x).sum()", "(x + x).sum()"), strict=True):
        path = folder / "exercises" / "sum_of_squares.py"
        path.write_text(path.read_text().replace("return (x * x).sum()", f"return {wrong}", 1))
    return [read_lab(f, LabEntry(name=f.name, title="Sums", minutes=1)) for f in folders]


def test_of_two_labs_at_a_time_each_is_proved(labs: list[Lab]) -> None:
    """Slow: two processes import torch."""
    proofs = {proof.lab: proof for proof in prove_labs(labs, 2)}
    assert sorted(proofs) == ["01_squares", "02_sums"]
    for name, proof in proofs.items():
        (problem,) = proof.problems
        assert f"/{name}/exercises/" in problem and "reference solution of sum_of_squares: it gets" in problem


@pytest.mark.nightly
def test_a_cell_that_raises_in_another_process_is_an_error_with_its_place(labs: list[Lab]) -> None:
    """Both raise: a lab is proved to its end although the other fails."""
    broken = []
    for lab in labs:
        path = lab.path / "lab.py"
        path.write_text(path.read_text().replace("# %% given\n", "# %% given\n1 / 0\n", 1))
        broken.append(read_lab(lab.path, LabEntry(name=lab.name, title="Sums", minutes=1)))
    with pytest.raises(GradlabError, match=r"0\d_\w+/lab\.py:\d+: .*ZeroDivisionError"):
        list(prove_labs(broken, 2))


def test_workers_of_a_proof_that_was_killed_end_too(labs: list[Lab]) -> None:
    """Slow: three processes import torch."""
    course = labs[0].path.parent.parent
    with subprocess.Popen([sys.executable, "-m", "autograder.cli", "prove", "--jobs", "2"], cwd=course) as command:
        proof, workers = psutil.Process(command.pid), list[psutil.Process]()
        while len(workers) < 2 and command.poll() is None:
            time.sleep(0.1)
            workers = [child for child in proof.children() if "spawn_main" in " ".join(child.cmdline())]
        processes = proof.children(recursive=True)
        command.kill()
    assert len(workers) == 2
    psutil.wait_procs(processes)
