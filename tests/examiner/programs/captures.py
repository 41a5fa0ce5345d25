"""Probes of graphs, of saved and counted values, and of several processes."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

from labkit import probes
from tests.examiner.program import program

X = torch.linspace(-2, 2, 12).reshape(4, 3)
OTHER = torch.linspace(-1, 5, 12).reshape(4, 3)


def branching(x):
    return x.exp() if x.sum() > 0 else x.sin()


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return torch.softmax(self.layer(x), -1)


class Blocks(nn.Module):
    def __init__(self, saving):
        super().__init__()
        self.blocks, self.saving = nn.ModuleList(nn.Linear(3, 3) for _ in range(3)), saving

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.saving else block(x)
        return x


def reduced(rank, world_size, x):
    y = x * (rank + 1)
    dist.all_reduce(y)
    return {"rank": rank, "world": world_size, "sum": y}


@program(f=lambda x, w: {"a": torch.relu(x @ w).sum(0), "b": [x.T, 3]})
def a_traced_graph_replayed_on_other_inputs(f):
    data = probes.captured(f, X, torch.ones(3, 2))
    return data, probes.replay(data, OTHER, torch.eye(3)[:, :2])


@program(Small=Small)
def a_graph_with_parameters(Small):
    model = Small()
    graph = probes.Graph(probes.captured(model, X))
    return graph.ops, graph(OTHER), torch.equal(graph(OTHER), model(OTHER))


@program(Small=Small)
def a_captured_graph_of_one_batch(Small):
    data = probes.captured(Small(), X)
    probes.replay(data, OTHER[:3])


@program(f=lambda x: x.mul_(2))
def a_graph_of_a_function_that_changes_its_argument(f):
    probes.captured(f, X.clone())


@program(f=lambda x: x)
def a_way_to_capture_that_is_none(f):
    probes.captured(f, X, how="magic")


@program(Blocks=Blocks)
def tensors_that_a_checkpoint_saves_and_recomputes(Blocks):
    x = X.clone().requires_grad_()
    plain, saving = Blocks(False), Blocks(True)
    return [(probes.saved_bytes(m, x), probes.operations(m, x, backward=True)) for m in (plain, saving)]


@program(f=lambda rank, world_size: [][rank])
def an_exception_in_a_rank(f):
    probes.ranks(f)


@program(f=lambda rank, world_size: dist.barrier() if rank else 1 / 0)
def one_rank_fails_while_the_other_waits(f):
    probes.ranks(f)


@program(f=lambda rank, world_size: rank)
def too_many_ranks(f):
    probes.ranks(f, world_size=100)


a_trace_follows_one_branch = program(f=branching)(lambda f: (probes.replay(probes.captured(f, X + 1), X - 1), f(X - 1)))
a_graph_by_dynamo = program(f=lambda x: torch.where(x > 0, x, x * 0.1))(
    lambda f: probes.replay(probes.captured(f, X, how="dynamo"), OTHER)
)
tensors_that_are_saved_for_backward = program(f=lambda x: (x.exp() * x).sigmoid())(
    lambda f: (probes.saved(f, x := X.clone().requires_grad_()), probes.saved_bytes(f, x), x)
)
bytes_that_live = program(f=lambda x: [x + n for n in range(4)])(lambda f: probes.live_bytes(f, X))
operations_that_run = program(f=lambda x, y: x @ y.T @ x)(lambda f: probes.operations(f, X, X))
two_ranks = program(f=reduced)(lambda f: (probes.ranks(f, x := torch.tensor([1.0, 2.0], requires_grad=True)), x))
three_ranks_twice = program(f=reduced)(lambda f: [probes.ranks(f, torch.ones(n + 1), world_size=3) for n in range(2)])


a_replay_can_be_differentiated = program(f=lambda x: x * 2)(
    lambda f: (probes.replay(probes.captured(f, X), x := OTHER.clone().requires_grad_()).sum().backward(), x)
)
