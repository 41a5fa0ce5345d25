"""Random graphs with hostile arguments, replayed one after the other. Run as a program, in a process that may crash:

python -m tests.examiner.nasty_graphs SEED SECONDS, which prints how many graphs were refused, failed and ran in so many
seconds of processor time.
"""

import os
import random
import sys
import time
from typing import Any

import torch

from labkit.probes.allowed_operations import collect_operations
from labkit.probes.graph_operations import GraphError
from labkit.probes.replay import Graph

NUMBERS = [0, 1, -1, 2, 3, -7, 5, 2**31, -(2**31), 2**62, -(2**62), 0.0, -1.5, float("nan"), float("inf"), 1e300, True]
WORDS = ["trunc", "floor", "none", "mean", "sum", "tanh", "linear", "constant", "", None]
DTYPES = [getattr(torch, name) for name in "float32 float64 int64 int8 bool uint8 bfloat16 complex64".split()]


def draw_tensors(source: random.Random) -> list[torch.Tensor]:
    tensors = []
    for _ in range(6):
        shape = [source.choice([0, 1, 2, 3, 4, 7]) for _ in range(source.choice([0, 1, 2, 2, 3, 4, 4]))]
        dtype = source.choice(DTYPES)
        t = torch.randint(-9, 9, shape).to(dtype) if source.random() < 0.7 else torch.full(shape, -(2.0**63)).to(dtype)
        if t.dim() > 1 and source.random() < 0.3:
            t = t.transpose(0, -1)
        if t.numel() and dtype == torch.int64 and source.random() < 0.3:
            t = t.masked_fill(torch.rand(shape).reshape(t.shape) > 0.5, -(2**63))
        tensors.append(t)
    return tensors


def draw_value(source: random.Random, depth: int = 0) -> Any:
    kind = source.random()
    if kind < 0.5:
        return "value", source.choice(NUMBERS)
    if kind < 0.6:
        return "value", source.choice([*WORDS, *DTYPES])
    return "list", [
        draw_value(source, 1) if depth else ("value", source.choice(NUMBERS)) for _ in range(source.randrange(5))
    ]


def draw_argument(source: random.Random, declaration: Any, nodes: int) -> Any:
    """An argument that often fits the operation's declaration, so it gets past the parser."""
    text = str(declaration.type)
    pick = source.random()
    if pick < 0.1:
        return draw_value(source)
    tensor = (
        ("constant", source.randrange(6)) if not nodes or source.random() < 0.6 else ("node", source.randrange(nodes))
    )
    if text in ("Tensor", "Optional[Tensor]"):
        return ("value", None) if "Optional" in text and pick < 0.4 else tensor
    if "List[Tensor]" in text or "List[Optional[Tensor]]" in text:
        return "list", [("constant", source.randrange(6)) for _ in range(source.randrange(4))]
    if "List[" in text:
        small = [0, 1, 2, 3, -1, *([2**40] if pick < 0.2 else [])]
        return "list", [("value", source.choice(small)) for _ in range(source.choice([1, 2, 2, 3, 4]))]
    if "int" in text.lower() or "SymInt" in text:
        return "value", source.choice([0, 1, -1, 2, 3, 5, *([2**40, -(2**62)] if pick < 0.2 else [])])
    if "bool" in text:
        return "value", source.random() < 0.5
    if "str" in text:
        return "value", source.choice(WORDS)
    return "value", source.choice(NUMBERS)


def draw_graph(source: random.Random, names: list[str]) -> dict[str, Any]:
    nodes: list[Any] = []
    for _ in range(source.randrange(1, 6)):
        name = source.choice(names)
        operation = collect_operations()[name]
        declarations = operation._schema.arguments if hasattr(operation, "_schema") else []
        required_arguments = [a for a in declarations if not a.kwarg_only]
        args = [draw_argument(source, a, len(nodes)) for a in required_arguments] or [
            draw_value(source),
            draw_value(source),
        ]
        keywords = {
            a.name: draw_argument(source, a, len(nodes)) for a in declarations if a.kwarg_only and source.random() < 0.5
        }
        nodes.append((name, args, keywords))
    return {"inputs": [], "constants": draw_tensors(source), "nodes": nodes, "output": ("node", len(nodes) - 1)}


def main(seed: int, seconds: float) -> None:
    source = random.Random(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch warns there, thousands of times
    names = sorted(collect_operations())
    counts = {"failed": 0, "ran": 0, "slowest": 0.0}
    end = time.process_time() + seconds
    while time.process_time() < end:
        data = draw_graph(source, names)
        if "--show" in sys.argv:
            print(data["nodes"], [(t.shape, t.dtype) for t in data["constants"]], flush=True)
        start = time.process_time()
        try:
            Graph(data)()
            counts["ran"] += 1
        except GraphError:
            counts["failed"] += 1
        took = time.process_time() - start
        counts["slowest"] = max(counts["slowest"], took)
        if took > 0.5:
            print(f"{took:.1f} s:", data["nodes"], [(t.shape, t.dtype) for t in data["constants"]], flush=True)
    print(counts)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
