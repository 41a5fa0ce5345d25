"""Claims 180 to 199: torch.compile, torch.func, TorchScript and export. Counts of captured graphs, no compiled code."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn


def make_counter() -> Any:
    """Imported here: the import would cost each process that collects the tests a second."""
    from torch._dynamo.testing import CompileCounter

    return CompileCounter()


@pytest.fixture(autouse=True)
def compiler_reset() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.claim(181)
def test_compiling_happens_at_the_first_call() -> None:
    counter = make_counter()
    compiled_f = torch.compile(lambda x: x.sin() + 1, backend=counter)
    assert counter.frame_count == 0
    compiled_f(torch.ones(3))
    assert counter.frame_count == 1


@pytest.mark.claim(182)
def test_compile_has_four_modes_and_refuses_others() -> None:
    from torch._inductor import list_mode_options

    modes = list_mode_options()
    assert {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"} <= set(modes)
    with pytest.raises(RuntimeError):
        torch.compile(lambda x: x, mode="nope")


@pytest.mark.claim(183)
def test_reduce_overhead_means_cuda_graphs() -> None:
    from torch._inductor import list_mode_options

    assert list_mode_options()["reduce-overhead"] == {"triton.cudagraphs": True}


@pytest.mark.claim(188)
@pytest.mark.parametrize(
    ("dynamic", "compilations"),
    [(None, [1, 2, 2, 2, 2, 3, 4, 4]), (False, [1, 2, 3, 4, 5, 6, 7, 7]), (True, [1, 1, 1, 1, 1, 2, 3, 3])],
)
def test_sizes_that_recompile(dynamic: bool | None, compilations: list[int]) -> None:
    counter, counts = make_counter(), []
    compiled_f = torch.compile(lambda x: x.sin() * 2, backend=counter, dynamic=dynamic)
    for size in (2, 3, 4, 5, 6, 1, 0, 2):
        compiled_f(torch.ones(size))
        counts.append(counter.frame_count)
    assert counts == compilations


@pytest.mark.claim(189)
def test_an_if_on_data_breaks_the_graph() -> None:
    def branch(x: Tensor) -> Tensor:
        y = x.sin()
        return y + 1 if y.sum() > 0 else y - 1

    explanation = torch._dynamo.explain(branch)(torch.ones(3))
    assert explanation.graph_break_count == 1
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(branch, backend="eager", fullgraph=True)(torch.ones(3))


@pytest.mark.claim(190)
def test_a_compiled_module_has_a_prefix_and_compile_in_place_none() -> None:
    model = nn.Linear(2, 1)
    assert set(torch.compile(model, backend="eager").state_dict()) == {"_orig_mod.weight", "_orig_mod.bias"}
    model.compile(backend="eager")
    assert set(model.state_dict()) == {"weight", "bias"}


@pytest.mark.claim(190)
def test_train_eval_and_grad_mode_recompile() -> None:
    counter, model = make_counter(), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    compiled_f, counts = torch.compile(model, backend=counter), []
    compiled_f(torch.ones(3, 2))
    counts.append(counter.frame_count)
    model.eval()
    compiled_f(torch.ones(3, 2))
    counts.append(counter.frame_count)
    with torch.no_grad():
        compiled_f(torch.ones(3, 2))
    assert [*counts, counter.frame_count] == [1, 2, 3]


@pytest.mark.claim(191, 192)
def test_vmap_maps_over_rows_and_grad_needs_one_number() -> None:
    x = torch.randn(10, 3)
    assert torch.equal(torch.func.vmap(lambda row: row**2)(x), x**2)
    assert torch.allclose(torch.func.grad(lambda t: (t**2).sum())(x), 2 * x)
    with pytest.raises(RuntimeError):
        torch.func.grad(lambda t: t**2)(x)


@pytest.mark.claim(193)
def test_jacrev_gives_the_jacobian() -> None:
    assert torch.allclose(
        torch.func.jacrev(lambda t: t**2)(torch.tensor([1.0, 2.0])), torch.diag(torch.tensor([2.0, 4.0]))
    )


@pytest.mark.claim(194)
def test_vmap_refuses_item_branches_on_data_and_random_numbers() -> None:
    for f in (lambda row: row.sum().item(), lambda row: row if row.sum() > 0 else -row, torch.rand_like):
        with pytest.raises(RuntimeError):
            torch.func.vmap(f)(torch.ones(2, 3))
    x = torch.ones(2, requires_grad=True)
    torch.func.grad(lambda t: t.sum())(x)
    assert x.grad is None


@pytest.mark.claim(195, 196, 197)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_trace_forgets_the_branch_and_takes_other_batches() -> None:
    def branch(x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else -x

    traced = torch.jit.trace(branch, torch.ones(1, 2))
    assert traced(torch.ones(7, 2)).shape == (7, 2)
    assert traced(-torch.ones(1, 2)).tolist() == [[-2, -2]] and branch(-torch.ones(1, 2)).tolist() == [[1, 1]]


@pytest.mark.claim(198)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_script_keeps_the_branch_and_takes_an_argument_without_a_type_for_a_tensor() -> None:
    class Sign(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x if x.sum() > 0 else -2 * x

    assert torch.jit.script(Sign())(-torch.ones(2)).tolist() == [2, 2]

    def untyped(x, n):  # type: ignore[no-untyped-def]
        return n * x

    def typed(x: Tensor, n: int) -> Tensor:
        return n * x

    def starred(*xs: Tensor) -> Tensor:
        return xs[0]

    assert torch.jit.script(typed)(torch.ones(1), 3).tolist() == [3]
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor"):
        torch.jit.script(untyped)(torch.ones(1), 3)
    with pytest.raises(torch.jit.frontend.NotSupportedError):
        torch.jit.script(starred)


@pytest.mark.claim(195)
def test_torch_jit_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning):
        torch.jit.trace(lambda x: x * 2, torch.ones(1))


@pytest.mark.claim(199)
def test_export_guards_its_shapes() -> None:
    class Double(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    program = torch.export.export(Double(), (torch.ones(2, 3),)).module()
    assert torch.equal(program(torch.ones(2, 3)), torch.full((2, 3), 2.0))
    with pytest.raises((AssertionError, RuntimeError)):
        program(torch.ones(5, 3))
