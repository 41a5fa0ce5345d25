"""One picture of each kind, and a saved notebook that shows them."""

from pathlib import Path

import nbformat
import torch
from nbformat.sign import NotebookNotary
from torch import nn

import labkit
from labkit import memory
from labkit.pictures.picture import Picture

NO_KERNEL = {"name": "gone", "display_name": "gone", "language": "python"}


def double(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    print("a line")
    return y + 1


def make_trace_events() -> list[dict[str, object]]:
    """A region, an operator in it, and a kernel that it launched."""
    rows = [("forward", "user_annotation", 0, 90), ("aten::mm", "cpu_op", 10, 60), ("launch", "cuda_runtime", 20, 9)]
    events = [{"name": n, "cat": c, "tid": 1, "ts": ts, "dur": dur, "args": {}} for n, c, ts, dur in rows]
    events[2]["args"] = {"correlation": 3}
    return [*events, {"name": "gemm", "cat": "kernel", "tid": 7, "ts": 50, "dur": 80, "args": {"correlation": 3}}]


def draw_every_picture() -> dict[str, Picture]:
    """name of the function -> its picture."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), torch.randn(5, 4)
    with memory.watch(model, x) as watch:
        model(x).sum().backward()
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    product = leaf * leaf
    line, image = torch.linspace(-1, 1, 9), torch.rand(4, 4)
    return {
        "explore_broadcasting": labkit.explore_broadcasting((2, 1, 4), (3, 1)),
        "explore_formats": labkit.explore_formats(0.1),
        "explore_ring": labkit.explore_ring(4),
        "explore_strides": labkit.explore_strides({"row": image[1], "column": image[:, 1]}),
        "play_network": labkit.play_network((1.0, -0.5), 1.0),
        "show_backward": labkit.show_backward(product.sum(), {"leaf": leaf, "product": product}),
        "show_breaks": labkit.show_breaks({"doubled": (double, (line,)), "again": (double, (line,))}),
        "show_broadcasting": labkit.show_broadcasting((4, 1), (3,)),
        "show_compiles": labkit.show_compiles(lambda t: t + 1, [torch.ones(n, 3) for n in (4, 5, 1)]),
        "show_curves": labkit.show_curves({"a": [3, 2, 1], "b": [3, 2, 1]}, x="epoch"),
        "show_dtypes": labkit.show_dtypes(model, x),
        "show_graph": labkit.show_graph(product.sum(), {"leaf": leaf}),
        "show_kept": labkit.show_kept(model, x),
        "show_memory": labkit.show_memory({"one": watch, "two": watch}),
        "show_over": labkit.show_over(line, {"a": {"square": line**2}, "b": {"cube": line**3}}),
        "show_overlap": labkit.show_overlap(model, {"each": 1, "one": 1e9}),
        "show_paths": labkit.show_paths(
            lambda a, b: a**2 + b**2, (1.0, 0.5), {"SGD": lambda p: torch.optim.SGD(p, lr=0.1)}, 9, (-1, 1), (-1, 1)
        ),
        "show_saliency": labkit.show_saliency({"a": image, "b": image}, {"a": image - 0.5, "b": image}),
        "show_straight_through": labkit.show_straight_through({"round": torch.round, "floor": torch.floor}),
        "show_strides": labkit.show_strides(image[:, ::2]),
        "show_trace": labkit.show_trace(make_trace_events()),
        "show_traffic": labkit.show_traffic([2, 4, 8]),
        "show_underflow": labkit.show_underflow(torch.logspace(-12, -3, 50), [1, 256, 65536]),
        "show_versions": labkit.show_versions(["y = x * x", "x.data += 1"], {"x": leaf}),
        "show_vjp": labkit.show_vjp(lambda t: t * t[0], torch.ones(3), torch.ones(3)),
        "try_writes": labkit.try_writes(["y = x.exp()", "write"], ["y += 1", "y = y + 1"], {"x": leaf}),
    }


def save_notebook(pictures: dict[str, Picture], place: Path, signed_in: Path | None) -> None:
    """The pictures as outputs of cells. signed_in: the data folder of a Jupyter that trusts this notebook."""
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": NO_KERNEL})
    for name, picture in pictures.items():
        output = nbformat.v4.new_output("execute_result", picture._repr_mimebundle_(), execution_count=1)
        notebook.cells.append(nbformat.v4.new_code_cell(f"{name}()", outputs=[output]))
    nbformat.write(notebook, place)
    if signed_in:
        signed_in.mkdir(parents=True, exist_ok=True)
        NotebookNotary(data_dir=str(signed_in)).sign(notebook)
