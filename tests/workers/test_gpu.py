"""A GPU's memory is bounded and watched. Tests marked cuda need a GPU, and are skipped elsewhere.

The others replace nvidia-smi with a small program that prints output as the driver documents it.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import torch

from autograder.authoring.course_folder import read_labs
from autograder.authoring.notebooks import build_source_notebook
from autograder.base.device import Device
from autograder.demo.students import collect_reference, fill_notebook
from autograder.examiner.time_budget import CellTimeLimit
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.forkserver.supervisor import Supervisor
from autograder.grading.lab_submission import grade_lab_task
from autograder.grading.task import ExamineSettings, NotebookFile, Task, make_settings
from autograder.model.course import Course
from autograder.sandbox import (
    Limits,
    choose_network,
    find_layers,
    find_runtime_paths,
    find_strongest_level,
    select_required_layers,
)
from autograder.sandbox.gpu import list_gpus, measure_gpu_memory

LEVEL = find_strongest_level(find_layers())


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    path = tmp_path / "nvidia_smi.py"
    path.write_text(
        "import sys\n"
        "print('NVIDIA H200, 580.65' if 'gpu=' in sys.argv[1] else '11, 512\\n12, 3\\n11, 2\\n13, [N/A]\\nno line')\n"
    )
    return [sys.executable, str(path)]


def test_the_answer_of_the_driver_is_read(program: list[str]) -> None:
    assert list_gpus(program) == ["NVIDIA H200 driver 580.65"]
    assert measure_gpu_memory(program) == {11: 514 << 20, 12: 3 << 20}


def test_without_a_driver_there_are_no_figures() -> None:
    assert (
        list_gpus(["no-such-program"]) == [] and measure_gpu_memory([sys.executable, "-c", "raise SystemExit(9)"]) == {}
    )


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    layers = select_required_layers(LEVEL)
    limits = Limits(gpu_memory=1 << 30)
    running = Supervisor(layers, limits, find_runtime_paths(), choose_network(layers), Device.CPU, _enter_and_wait)
    yield running
    running.stop_all()


def _enter_and_wait(control: int) -> None:
    os.write(control, b"in its sandbox")
    time.sleep(3600)


def test_a_run_that_holds_too_much_on_a_gpu_is_ended_and_its_neighbor_is_not(supervisor: Supervisor) -> None:
    pids = []
    for _ in range(2):
        parent_end, child_end = socket.socketpair()
        pid, problem = supervisor.start(child_end.detach())
        assert pid, problem
        pids.append(pid)
        assert parent_end.recv(64) == b"in its sandbox"
        parent_end.close()
    supervisor.measure_gpu_memory = lambda: {pids[0]: 2 << 30, pids[1]: 1 << 29}
    supervisor.poll()
    assert supervisor.check_status(pids[0])[0] == "GPU memory" and supervisor.check_status(pids[0])[1] is not None
    assert supervisor.check_status(pids[1]) == ["", None]


def test_the_limit_is_reported_whenever_it_is_asked_for(supervisor: Supervisor) -> None:
    parent_end, child_end = socket.socketpair()
    pid, problem = supervisor.start(child_end.detach())
    assert pid, problem
    assert parent_end.recv(64) == b"in its sandbox"
    supervisor.measure_gpu_memory = lambda: {pid: 2 << 30}
    supervisor.poll()
    assert [supervisor.check_status(pid)[0] for _ in range(2)] == ["GPU memory"] * 2
    parent_end.close()


cuda = pytest.mark.skipif(not Path("/dev/nvidia0").exists(), reason="no GPU here: not run")


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServerClient]:
    settings = make_settings(ExamineSettings(isolation=LEVEL, gpu_memory_gib=2), Device.CUDA)
    process = ForkServerClient(ProcessSettings(LEVEL, settings.limits, Device.CUDA))
    yield process
    process.close()


@pytest.mark.cuda
@cuda
def test_worked_solutions_get_full_marks_on_cuda(fork_server: ForkServerClient, course: Course) -> None:
    for lab in read_labs(course):
        settings = make_settings(ExamineSettings(isolation=LEVEL), Device.CUDA)
        content = json.dumps(fill_notebook(lab, collect_reference(lab))).encode()
        source = nbformat.writes(build_source_notebook(lab)).encode()
        result = grade_lab_task(
            Task(lab.name, "ada", (NotebookFile(lab.name, content),), source, settings), fork_server
        ).result
        assert result.device == Device.CUDA and torch.cuda.get_device_name() in result.versions.gpu
        assert [cell.id for cell in result.cells if cell.points < cell.worth] == []


@pytest.mark.cuda
@cuda
def test_a_student_process_cannot_allocate_beyond_its_bound(fork_server: ForkServerClient) -> None:
    process = fork_server.start_process()
    limit = CellTimeLimit(60.0, "too long", 60.0)
    result = process.run("import torch\ntorch.empty(3 << 30, dtype=torch.uint8, device='cuda')", 1, limit)
    process.kill()
    assert any(output.get("ename") == "OutOfMemoryError" for output in result)
