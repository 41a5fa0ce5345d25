"""Claims 200 to 231: many devices, reproducibility, and a few others."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DistributedSampler

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.claim(200)
@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without CUDA does")
def test_data_parallel_without_devices_calls_its_module() -> None:
    model = nn.Linear(2, 1)
    wrapped = nn.DataParallel(model)
    x = torch.randn(3, 2)
    assert wrapped.device_ids == [] and torch.equal(wrapped(x), model(x))
    assert set(wrapped.state_dict()) == {"module.weight", "module.bias"}


@pytest.mark.claim(205)
def test_equal_shares_for_unequal_shards_is_another_gradient() -> None:
    w = torch.ones(1, requires_grad=True)
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 30.0])

    def gradient(rows: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad((w * rows).mean(), w)[0]

    assert not torch.allclose((gradient(x[:7]) + gradient(x[7:])) / 2, gradient(x))
    assert torch.allclose((gradient(x[:5]) + gradient(x[5:])) / 2, gradient(x))


@pytest.mark.claim(207)
def test_the_script_of_lab_11_runs_unchanged(tmp_path: Path) -> None:
    text = (ROOT / "labs" / "11_distributed" / "lab.py").read_text().replace("\n# ", "\n").replace("\n#\n", "\n\n")
    script, expected_output = text.partition("```python\nimport os\n")[2].split("```")[0::2][:2]
    (tmp_path / "train.py").write_text("import os\n" + script)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "train.py"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    ranks = re.findall(r"rank \d: \d+ samples, bias -?\d+\.\d{6}", process.stdout)  # two may share a line
    assert sorted(ranks) == sorted(line for line in expected_output.splitlines() if line.startswith("rank "))
    assert set(torch.load(tmp_path / "model.pt")) == {"weight", "bias"}


@pytest.mark.claim(209)
def test_a_distributed_sampler_pads_and_repeats_its_order() -> None:
    def order(epoch: int | None) -> list[int]:
        indices = []
        for rank in range(4):
            sampler = DistributedSampler(list(range(10)), num_replicas=4, rank=rank, shuffle=epoch is not None)
            if epoch is not None:
                sampler.set_epoch(epoch)
            indices += list(sampler)
        return indices

    assert sorted(order(None)) == sorted([*range(10), 0, 1])
    assert order(0) == order(0) and order(0) != order(1)


@pytest.mark.claim(210)
def test_one_seed_for_torch_and_one_each_for_random_and_numpy() -> None:
    def draw() -> tuple[float, float, float]:
        torch.manual_seed(3)
        random.seed(3)
        np.random.seed(3)
        return torch.rand(()).item(), random.random(), float(np.random.rand())

    assert draw() == draw()


@pytest.mark.claim(211)
def test_pythonhashseed_set_at_run_time_has_no_effect() -> None:
    program = "import os; a = hash('abc'); os.environ['PYTHONHASHSEED'] = '0'; print(a == hash('abc'), hash('abc'))"

    def run(**extra: str) -> str:
        names = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"} | extra
        return subprocess.run([sys.executable, "-c", program], env=names, capture_output=True, text=True).stdout

    hashes = [run().split() for _ in range(3)]
    assert all(same == "True" for same, _ in hashes) and len({number for _, number in hashes}) > 1
    assert run(PYTHONHASHSEED="0") == run(PYTHONHASHSEED="0")


@pytest.mark.claim(212)
def test_only_use_deterministic_algorithms_raises() -> None:
    def put() -> None:
        torch.zeros(4).put_(torch.tensor([0, 1]), torch.ones(2))

    put()
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError):
            put()
        assert torch.empty(3).isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.claim(214)
def test_default_rng_is_not_seeded_by_the_old_seed() -> None:
    np.random.seed(0)
    first = np.random.default_rng().random()
    np.random.seed(0)
    assert np.random.default_rng().random() != first


@pytest.mark.claim(214)
def test_a_sum_depends_on_its_order() -> None:
    x = torch.randn(100_000, generator=torch.Generator().manual_seed(0))
    assert x.sum() != x.sort().values.cumsum(0)[-1]


@pytest.mark.claim(228)
def test_python_runs_in_a_forward_pass() -> None:
    calls = []

    class Talks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            calls.append(tuple(x.shape))
            return x

    Talks()(torch.ones(2, 3))
    assert calls == [(2, 3)]
