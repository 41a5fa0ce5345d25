"""A function that a student process names depends only on its arguments."""

import pytest
import torch

from autograder.examiner.stopped_error import StoppedError
from autograder.rpc import allowed_names
from autograder.rpc.frames import ProtocolError
from autograder.rpc.pure_names import NAMES
from tests.examiner.world import open_world


@pytest.mark.parametrize(
    "name",
    [
        "",
        *"torch.PyTorchFileWriter torch.PyTorchFileReader torch.save torch.manual_seed torch.set_default_dtype torch.nn.Linear torch.nn.Module torch.optim.SGD torch.rand".split(),
        *"torch.nn.functional.dropout torch.Tensor.backward torch.Tensor.relu_ torch.Tensor.share_memory_ torch.empty builtins.open builtins.eval os.system builtins.SystemExit builtins.KeyboardInterrupt".split(),
    ],
)
def test_no_name_that_writes_starts_draws_or_ends_something_is_accepted(name: str) -> None:
    with pytest.raises(ProtocolError):
        allowed_names.get_pure_named(name)


def test_each_name_is_a_function_or_a_type_that_changes_nothing_in_place() -> None:
    functions = [allowed_names.get_pure_named(name) for name in sorted(NAMES) if name in allowed_names._PURE_NAMES]
    assert len(functions) > 400 and all(callable(value) for value in functions)
    assert not any(
        name.rpartition(".")[2].endswith("_") for name in allowed_names._PURE_NAMES if name.startswith("torch")
    )


def test_a_hook_of_torchs_own_that_is_not_on_the_list_is_refused() -> None:
    """PyTorchFileWriter ends the process when called with something other than a file name."""

    def forge(x: torch.Tensor) -> torch.Tensor:
        allowed_names.find_pure_name = allowed_names.find_name  # as a lying process would
        x.register_hook(torch._C.PyTorchFileWriter)
        return x * 2

    with open_world(f=forge) as world:
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(TypeError, match="hook returned"):
            world.get_proxy("f")(x).sum().backward()


def test_a_hook_on_the_list_is_the_same_function_here() -> None:
    with open_world(f=lambda x: x.register_hook(torch.neg) and x * 2) as world:
        x = torch.ones(2, requires_grad=True)
        world.get_proxy("f")(x).sum().backward()
        assert x.grad.tolist() == [-2.0, -2.0]


def test_a_class_that_is_not_on_the_list_is_an_object_of_the_students() -> None:
    with open_world(f=lambda: torch.nn.ReLU) as world:
        instance = world.get_proxy("f")()()
        assert instance(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def test_keys_that_collide_are_refused_in_a_changed_argument_too() -> None:
    def change(table: dict) -> None:
        table.update({(n, n): 0 for n in range(3000)})

    with open_world(f=change) as world, pytest.raises(StoppedError):
        world.get_proxy("f")({"a": 1})


def test_an_expanded_tensor_is_counted_as_what_a_comparison_makes_of_it() -> None:
    with open_world(f=lambda n: torch.ones(1, dtype=torch.bool).expand(n)) as world:
        assert world.get_proxy("f")(1000).sum() == 1000
        with pytest.raises(TypeError, match="a check can't read this result"):
            world.get_proxy("f")(100_000_000)
