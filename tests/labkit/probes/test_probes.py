"""Probes in one process: what each measures of a function or a model, and who is blamed when one fails."""

import os
import time
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from labkit import probes
from labkit.check import check, record_outcomes
from labkit.outcome import Outcome, compute_share
from tests.labkit.remote_object import RemoteObject

X = torch.linspace(-1, 2, 12).reshape(4, 3)
BATCHES = [(X * n, torch.ones(4, 2)) for n in (1.0, 0.5)]


def make_affine() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def run_check(run: Any) -> Outcome:
    with record_outcomes() as outcomes, check("it"):
        run()
    return outcomes[0]


@pytest.mark.parametrize(
    "place", [lambda o: o, lambda o: [1, o], lambda o: {"k": (o,)}, lambda o: {o}, lambda o: [[{1: [o]}]]]
)
def test_a_probe_runs_where_its_arguments_live(place: Any) -> None:
    assert probes.operations(place(RemoteObject()), 1, backward=True) == ("elsewhere", "operations", 2, ["backward"])
    assert probes.operations(torch.sin, X) == {"aten.sin": 1}
    assert probes.saved_bytes(torch.sin, other=place(RemoteObject()))[0] == "elsewhere"


def test_requests_for_derivatives_are_counted_by_their_kind() -> None:
    def run_backward(x: torch.Tensor) -> None:
        (x.requires_grad_() ** 2).sum().backward()

    def ask_grad(x: torch.Tensor) -> None:
        x = x.requires_grad_()
        torch.autograd.grad((x**2).sum(), x)

    def push_tangent(x: torch.Tensor) -> None:
        with torch.autograd.forward_ad.dual_level():
            torch.autograd.forward_ad.make_dual(x, x)

    def sum_squares(x: torch.Tensor) -> torch.Tensor:
        return (x**2).sum()

    def count(f: Any) -> dict[str, int]:
        return probes.derivatives(f, X.clone())

    nothing = {"backward": 0, "forward": 0, "functional": 0}
    assert count(sum_squares) == nothing
    assert count(run_backward) == count(ask_grad) == nothing | {"backward": 1}
    assert count(push_tangent) == nothing | {"forward": 1}
    assert count(lambda x: torch.autograd.functional.jacobian(sum_squares, x))["functional"] > 0
    assert all(count(way(sum_squares))["functional"] > 0 for way in (torch.func.grad, torch.func.jacrev))
    assert count(torch.func.jacfwd(sum_squares))["forward"] > 0


def test_every_probe_says_what_it_returns() -> None:
    assert len(probes.PROBES) >= 8
    for name, function in probes.PROBES.items():
        assert function.__doc__ and getattr(probes, name) is function


def test_a_step_of_plain_sgd_is_the_weight_less_the_gradient() -> None:
    start = [torch.ones(2, 3), torch.zeros(2)]
    training = probes.trained(make_affine, BATCHES[:1], start=start, lr=0.5)
    w = start[0].clone().requires_grad_()
    nn.functional.mse_loss(X @ w.T, BATCHES[0][1]).backward()
    assert w.grad is not None
    assert torch.allclose(training["state"]["weight"], start[0] - 0.5 * w.grad)
    assert training["before"]["weight"].equal(start[0]) and len(training["losses"]) == 1


def test_a_state_stays_as_it_was() -> None:
    model = make_affine()
    state = probes.state_of(model)
    before = {k: v.clone() for k, v in state.items()}
    probes.trained(model, BATCHES, lr=1.0)
    assert all(state[k].equal(before[k]) for k in state)
    assert not model.weight.equal(before["weight"])


def test_saved_bytes_are_those_of_results_each_storage_once() -> None:
    x = torch.ones(10, requires_grad=True)
    assert probes.saved_bytes(lambda t: t.exp(), x) == 40
    assert probes.saved_bytes(lambda t: t.sin(), x) == 0  # it saves its argument
    assert probes.saved_bytes(lambda t: t.exp().exp(), x) == 80
    assert probes.saved_bytes(lambda t: t.detach().exp(), x) == 0
    assert {s["of"] for s in probes.saved(make_affine(), X.requires_grad_())} == {"argument", "parameter"}


def test_tensors_that_the_graph_released_are_not_counted() -> None:
    def forgetful(t: Any) -> Any:
        t.exp()
        return t.exp()

    assert probes.saved_bytes(forgetful, torch.ones(10, requires_grad=True)) == 40


def test_a_checkpoint_saves_less_and_runs_twice() -> None:
    model = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(4)])
    x = X.clone().requires_grad_()
    saving = lambda t: checkpoint_sequential(model, 2, t, use_reentrant=False)  # noqa: E731
    assert probes.saved_bytes(saving, x) < probes.saved_bytes(model, x)
    assert (
        probes.operations(saving, x, backward=True)["aten.tanh"]
        > probes.operations(model, x, backward=True)["aten.tanh"]
    )


def test_live_bytes_have_a_peak() -> None:
    big = torch.ones(1000)
    assert probes.live_bytes(lambda t: (t + 1).sum(), big) == {"peak": 4004, "kept": 4}
    assert probes.live_bytes(lambda t: t + 1, big) == {"peak": 4000, "kept": 4000}


@pytest.mark.parametrize("how", ["trace", "dynamo"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.softmax(x * 2, -1).sum(0),
        lambda x: x.T.reshape(2, -1).clamp(min=0.1).add_(1),
        nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.5), nn.Linear(4, 1)).eval(),
        nn.Sequential(nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 2, padding=1), nn.BatchNorm1d(2), nn.ReLU(True)).eval(),
        lambda x: nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
        lambda x: nn.functional.cross_entropy(x, torch.tensor([0, 1, 2, 0])),
    ],
    ids=["softmax", "shapes", "mlp", "conv", "attention", "loss"],
)
def test_a_captured_graph_computes_what_the_function_does(f: Any, how: str) -> None:
    graph = probes.Graph(probes.captured(f, X, how=how))
    for x in (X, X.flip(0) * 3):
        assert torch.allclose(graph(x), f(x), atol=1e-6)


@pytest.mark.parametrize(
    "f", [lambda x: 2.5 / x, lambda x: 1 - x.sin(), lambda x: (2.5 / x).masked_fill(x < 0, 1), lambda x: 0.9**x]
)
def test_a_captured_graph_may_have_a_number_before_a_tensor(f: Any) -> None:
    graph = probes.Graph(probes.captured(f, X))
    for x in (X, X.flip(0) * 3):
        assert torch.equal(graph(x), f(x))


@pytest.mark.parametrize("name", ["aten.mul.Tensor", "aten.mm.default", "aten.sin.default", "aten.pow.Scalar"])
def test_a_graph_with_numbers_instead_of_all_tensors_is_refused(name: str) -> None:
    numbers = [("value", 2.0), ("value", 3.0)][: 1 if "sin" in name else 2]
    data = {"inputs": [], "constants": [], "nodes": [(name, numbers, {})], "output": ("node", 0)}
    with pytest.raises(probes.GraphError, match="wrong type"):
        probes.replay(data)


def test_an_input_of_another_shape_does_not_fit_a_graph() -> None:
    data = probes.captured(torch.sin, X)
    with pytest.raises(probes.GraphError, match="was captured for"):
        probes.replay(data, X[:2])
    with pytest.raises(probes.GraphError, match="takes 1 inputs"):
        probes.replay(data, X, X)


def share_gradient(rank: int, world_size: int, x: torch.Tensor) -> torch.Tensor:
    y = x * (rank + 1)
    dist.all_reduce(y)
    return y


def test_ranks_are_joined_and_leave_their_arguments_alone() -> None:
    x = torch.ones(2)
    assert [r.tolist() for r in probes.ranks(share_gradient, x)] == [[3.0, 3.0]] * 2
    assert [r.tolist() for r in probes.ranks(share_gradient, x, world_size=3)] == [[6.0, 6.0]] * 3
    assert x.equal(torch.ones(2)) and not dist.is_initialized()


def test_ranks_that_wait_forever_are_ended() -> None:
    def stuck(rank: int, world_size: int) -> None:
        time.sleep(3600)

    with pytest.raises(TimeoutError):
        probes.ranks(stuck, seconds=1.0)


def test_a_rank_that_ends_its_process_is_reported() -> None:
    with pytest.raises(RuntimeError):
        probes.ranks(lambda rank, world_size: os._exit(3))


def test_the_first_rank_to_fail_is_reported_not_those_that_lost_it() -> None:
    def fails(rank: int, world_size: int) -> None:
        if rank == 1:
            raise KeyError("the second rank")
        dist.barrier()

    with pytest.raises(KeyError, match="the second rank"):
        probes.ranks(fails)


def test_an_error_is_blamed_on_the_student_or_on_the_check() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("mine")

    student = run_check(lambda: probes.operations(broken, X))
    assert (student.error, student.blame) == ("KeyError", "student")
    course = run_check(lambda: probes.captured(torch.sin, X, how="magic"))
    assert (course.error, course.blame) == ("ProbeError", "check")


def test_a_result_that_a_probe_cannot_use_is_the_students() -> None:
    namespace = {"probes": probes, "X": X, "check": check}
    source = "with check('it'):\n    probes.operations(lambda x: None, X, backward=True)\n"
    with record_outcomes() as outcomes:
        exec(compile(source, "<cell>", "exec"), namespace)
    assert outcomes[0].blame == "student" and "could not be used" in outcomes[0].seen


@pytest.mark.parametrize(
    ("passed", "paid"),
    [
        ((True, True, True), 1.0),
        ((False, True, True), 0.0),
        ((True, False, True), 0.75),
        ((True, True, False), 0.75),
        ((False, True, False), 0.0),
    ],
)
def test_an_observed_check_pays_only_if_a_value_was_right(passed: tuple[bool, bool, bool], paid: float) -> None:
    value, observed, guard = passed
    outcomes = [
        Outcome("value", weight=2, passed=value),
        Outcome("count", observed=True, passed=observed),
        Outcome("kept", guard=True, passed=guard),
    ]
    assert compute_share(outcomes) == paid


def test_an_observed_check_on_its_own_pays_nothing() -> None:
    assert compute_share([Outcome("count", observed=True, passed=True)]) == 0
    assert (
        compute_share([Outcome("count", observed=True, passed=True), Outcome("kept", guard=True, passed=True)]) == 0.5
    )


def test_an_observed_check_is_neither_a_guard_nor_required() -> None:
    for other in ("guard", "required"):
        with pytest.raises(ValueError, match="observed"):
            check("it", observed=True, **{other: True})
