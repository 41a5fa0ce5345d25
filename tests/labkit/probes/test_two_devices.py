"""A second device on a machine with one: values and devices are right, and operations that mix devices raise an error."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from labkit import assert_close, probes
from labkit.probes.two_devices import TwoDevices
from tests.labkit.remote_object import RemoteObject

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])


class Pair(NamedTuple):
    first: Any
    second: Any


class ConstantModule(nn.Module):
    """Adds a constant, which is an attribute or a buffer, after a layer."""

    def __init__(self, buffer: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 2)
        table = torch.tensor([10.0, 20.0])
        if buffer:
            self.register_buffer("table", table)
        else:
            self.table = table

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + self.table


MIXING = {
    "two tensors": lambda far, near: far + near,
    "a matrix product": lambda far, near: far @ near.T,
    "cat": lambda far, near: torch.cat([far, near]),
    "where": lambda far, near: torch.where(far > 0, far, near),
    "an embedding's indices": lambda far, near: nn.functional.embedding(torch.tensor([0]), far),
    "in place": lambda far, near: near.add_(far),
    "a 0-dim tensor there": lambda far, near: near + far.sum(),
    "an index there": lambda far, near: near[torch.tensor([0]).to(far.device)],
    "a mask here, values here": lambda far, near: far.index_put((torch.tensor([0]),), near[:1]),
    "a factory": lambda far, near: far * torch.arange(3),
}
ALLOWED = {
    "a number": (lambda far, near: far + 1, X + 1),
    "a 0-dim tensor here": (lambda far, near: far * torch.tensor(2.0), X * 2),
    "an index here": (lambda far, near: far[torch.tensor([1])], X[1:]),
    "a mask there": (lambda far, near: far[far > 0], X[X > 0]),
    "a factory with device": (lambda far, near: far + torch.arange(3, device=far.device), X + torch.arange(3)),
    "torch.tensor with device": (lambda far, near: far + torch.tensor([1.0, 2.0, 3.0], device=far.device), None),
    "as_tensor with device": (lambda far, near: far + torch.as_tensor([1.0, 2.0, 3.0], device=far.device), None),
    "new_tensor": (lambda far, near: far + far.new_tensor([1.0, 2.0, 3.0]), X + torch.tensor([1.0, 2.0, 3.0])),
    "zeros_like": (lambda far, near: torch.zeros_like(far), torch.zeros(2, 3)),
    "moved by hand": (lambda far, near: far + near.to(far), X + X),
    "copy_": (lambda far, near: torch.empty_like(far).copy_(near), X),
    "in place": (lambda far, near: far.clone().mul_(3).add_(far), X * 4),
    "a view, written to": (
        lambda far, near: _write_in_place(far.clone()),
        torch.tensor([[9.0, -2.0, 3.0], [9.0, 4.0, -1.0]]),
    ),
}


def _write_in_place(t: Tensor) -> Tensor:
    t[:, 0] = 9
    return t


@pytest.mark.parametrize("name", MIXING)
def test_an_operation_that_mixes_devices_raises_an_error(name: str) -> None:
    with probes.TwoDevices() as second, pytest.raises(RuntimeError, match="same device"):
        MIXING[name](X.to(second), X.clone())


@pytest.mark.parametrize("name", ALLOWED)
def test_operations_that_a_gpu_allows_are_allowed_and_have_the_right_values(name: str) -> None:
    function, want = ALLOWED[name]
    call = probes.on_second_device(function, X.clone(), X.clone(), move=[0])
    assert call["devices"] == "meta" and call["mixed"] == []
    assert torch.equal(call["result"], X + torch.tensor([1.0, 2.0, 3.0]) if want is None else want)


@pytest.fixture
def second() -> Iterator[torch.device]:
    with probes.TwoDevices() as device:
        yield device


def test_a_tensor_that_moves_is_on_the_second_device(second: torch.device) -> None:
    far = X.to(second)
    assert far.device == second
    assert far.to(second) is far
    assert "device='meta'" in repr(far)


def test_a_tensor_may_be_created_on_the_second_device(second: torch.device) -> None:
    assert torch.tensor([1.0], device=second, requires_grad=True).requires_grad


def test_copies_return_to_the_cpu(second: torch.device) -> None:
    near = X.to(second).cpu()
    assert near.device.type == "cpu"
    assert torch.equal(near, X)


def test_numbers_of_the_second_device_are_readable(second: torch.device) -> None:
    far = X.to(second)
    assert far.sum().item() == X.sum().item()
    assert far.tolist() == X.tolist()
    assert bool(far[0, 0] > 0)
    assert f"{far[0, 0]:.2f}" == "1.00"


def test_a_module_moves_trains_there_and_returns() -> None:
    module = ConstantModule(buffer=True)
    want = module(X).detach()
    call = probes.on_second_device(module, X)
    assert torch.equal(call["result"], want) and call["devices"] == "meta"
    assert torch.equal(module(X).detach(), want) and isinstance(module.layer.weight, nn.Parameter)
    with probes.TwoDevices() as second:
        module.to(second)
        module(X.to(second)).square().sum().backward()
        grad = module.layer.weight.grad.cpu()
        torch.optim.SGD(module.parameters(), lr=0.1).step()
        weight = module.to("cpu").layer.weight
    twin = ConstantModule(buffer=True)
    twin(X).square().sum().backward()
    assert torch.allclose(grad, twin.layer.weight.grad)
    assert torch.allclose(weight, twin.layer.weight - 0.1 * twin.layer.weight.grad)


def test_a_constant_left_on_the_cpu_is_found() -> None:
    module = ConstantModule(buffer=False)
    with pytest.raises(RuntimeError, match="same device"):
        probes.on_second_device(module, X)
    assert module.layer.weight.device.type == "cpu" and module(X).shape == (2, 2)


def test_an_error_that_is_caught_is_counted() -> None:
    def careless(t: Tensor) -> Tensor:
        try:
            return t + torch.ones(3)
        except RuntimeError:
            return t

    call = probes.on_second_device(careless, X)
    assert call["mixed"] == ["aten.add"] and torch.equal(call["result"], X)


def test_nested_results_say_which_device_each_tensor_is_on() -> None:
    def spread(t: Tensor) -> Any:
        return {"a": [t, (t.cpu(), "text")], "b": Pair(t.sum(), None)}

    call = probes.on_second_device(spread, X)
    assert call["devices"] == {"a": ["meta", ("cpu", "text")], "b": Pair("meta", None)}
    assert torch.equal(call["result"]["b"].first, X.sum()) and type(call["result"]["a"][0]) is Tensor


def test_the_callers_containers_are_unchanged() -> None:
    def replacing(batch: dict[str, Any], device: torch.device) -> dict[str, Any]:
        batch["x"] = batch["x"].to(device)
        return batch

    batch = {"x": X}
    call = probes.on_second_device(replacing, batch, torch.device("meta"), move=[])
    assert call["devices"] == {"x": "meta"} and batch["x"] is X


def test_a_call_on_a_second_device_runs_where_the_function_lives() -> None:
    assert probes.on_second_device(RemoteObject(), X)[1] == "on_second_device"


def test_outside_the_block_meta_is_unchanged() -> None:
    with probes.TwoDevices():
        pass
    assert torch.tensor([1.0], device="meta").is_meta
    with pytest.raises(NotImplementedError):
        torch.tensor([1.0], device="meta").cpu()


def test_a_check_may_accept_a_result_on_any_device() -> None:
    with TwoDevices() as second:
        got, want = torch.tensor([1.0, 2.0], device=second), torch.tensor([1.0, 2.0])
        assert_close([got], [want], check_device=False)
        with pytest.raises(AssertionError, match="on meta"):
            assert_close(got, want)
        with pytest.raises(AssertionError, match="your result is 1"):
            assert_close(got, want + 1, check_device=False)


def test_new_tensors_of_a_default_device_have_values() -> None:
    with TwoDevices() as second:
        torch.set_default_device(second)
        try:
            tensors = [torch.tensor([1.0]), torch.as_tensor([1.0]), torch.ones(1), torch.tensor(np.ones(1, np.float32))]
            assert [(t.device.type, t.tolist()) for t in tensors] == [("meta", [1.0])] * 4
        finally:
            torch.set_default_device(None)
