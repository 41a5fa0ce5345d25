"""Pictures of runs: paths of optimizers, buckets during backward, code and its graph breaks."""

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labkit import show_breaks, show_overlap, show_paths, show_trace
from labkit.pictures.breaks import explain, explain_reason


def bowl(x: Tensor, y: Tensor) -> Tensor:
    return x**2 + y**2


def test_a_path_follows_the_optimizer() -> None:
    picture = show_paths(bowl, (1.0, 0.5), {"SGD": lambda p: torch.optim.SGD(p, lr=0.25)}, 3, x=(-1, 1), y=(-1, 1))
    assert picture.words.splitlines()[1] == "SGD  after 3 steps (0.125, 0.0625), value 0.01953"
    drawing = picture.drawing
    assert drawing is not None and list(drawing.groups[0].labels) == ["all steps", "step 1", "step 2", "step 3"]
    assert drawing.words[2] == "step 2: SGD at (0.25, 0.125)"


def test_a_path_that_leaves_the_picture_is_left_out_there() -> None:
    picture = show_paths(bowl, (1.0, 0.5), {"wild": lambda p: torch.optim.SGD(p, lr=1e30)}, 4, x=(-1, 1), y=(-1, 1))
    assert "wild" in picture.first_frame and picture.drawing is not None
    assert not [part for part in picture.drawing.parts if "nan" in part or "inf" in part]


def test_buckets_fill_from_the_last_layer_and_overlap_with_backward() -> None:
    model = nn.Sequential(*[nn.Linear(10, 10, bias=False, device="meta") for _ in range(4)])
    picture = show_overlap(model, {"each": 1, "two": 401, "one": 1e9}, start=0.0)
    assert picture.words.splitlines() == [
        "a schema, to scale and not measured",
        "each: 4 all-reduces, done at 1.25 of backward's time",
        "two: 2 all-reduces, done at 1.50 of backward's time",
        "one: 1 all-reduce, done at 2.00 of backward's time",
    ]
    assert "not measured" in picture.first_frame


def printing(x: Tensor) -> Tensor:
    y = x.sin()
    print("a line")
    return y.cos()


def whole(x: Tensor) -> Tensor:
    return x.sin()


def test_a_break_is_shown_at_its_line() -> None:
    picture = show_breaks({"printing": (printing, (torch.ones(3),)), "whole": (whole, (torch.ones(3),))})
    first, second = picture.words.splitlines()
    assert first.startswith("printing: 2 graphs, broken at 'print(\"a line\")'")
    assert first.endswith("only Python can print")
    assert second == "whole: 1 graph, no break"
    assert "the graph ends here" in picture.first_frame
    assert "no picture" in show_breaks({"a builtin": (len, ("",))}).words


def asking(x: Tensor) -> Tensor:
    y = x.sin()
    return y * y.sum().item()


def branching(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x.sin()
    return x.cos()


def opening(x: Tensor) -> Tensor:
    y = x.sin()
    open("/dev/null").close()
    return y.cos()


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (asking, "Python needs a tensor's value as a number"),
        (branching, "the values of a tensor decide what runs next"),
        (opening, "only Python can run `open`"),
    ],
)
def test_the_reason_of_a_break_is_said_in_plain_words_and_pytorchs_own_is_in_a_table(
    f: Callable[[Tensor], Tensor], reason: str
) -> None:
    picture = show_breaks({"f": (f, (torch.ones(3),))})
    assert picture.words.endswith(reason) and f"the graph ends here: {reason}" in picture.first_frame
    assert picture.drawing is not None and picture.drawing.table is not None
    (row,) = picture.drawing.table.rows[1:]
    assert row[2] in explain(f, (torch.ones(3),)).breaks.values() and row[2] != reason
    assert explain_reason("a reason of another version") == "Dynamo can't trace this line"


def make_event(name: str, cat: str, tid: int, ts: float, dur: float, correlation: int = 0) -> dict[str, object]:
    return {"ph": "X", "name": name, "cat": cat, "tid": tid, "ts": ts, "dur": dur, "args": {"correlation": correlation}}


def test_a_trace_has_lanes_and_a_kernel_belongs_to_the_region_of_its_launch() -> None:
    rows = [
        {"ph": "M", "name": "process_name"},
        {"ph": "i", "name": "[memory]", "ts": 3, "args": {"Bytes": 8}},
        make_event("gemm", "kernel", 7, 60, 90, correlation=2),
        make_event("forward", "user_annotation", 1, 0, 50),
        make_event("aten::linear", "cpu_op", 1, 5, 40),
        make_event("aten::addmm", "cpu_op", 1, 10, 30),
        make_event("launch", "cuda_runtime", 2, 20, 5, correlation=2),
        make_event("log", "user_annotation", 1, 50, 100),
        make_event("lost", "kernel", 7, 150, 10, correlation=9),
    ]
    picture = show_trace({"traceEvents": rows})
    assert picture.words.splitlines() == [
        "thread 1: regions 2, operators 2",
        "thread 2: calls of the runtime 1",
        "stream 7: rows of the device 2",
        "longest: log 100 µs, gemm 90 µs, forward 50 µs",
    ]
    drawing = picture.drawing
    assert drawing is not None and list(drawing.groups[0].labels) == ["all", "forward", "log"]
    assert drawing.words[1:] == [
        "forward: regions 1, operators 2, calls of the runtime 1, rows of the device 1",
        "log: regions 1",
    ]
    assert "gemm" in picture.first_frame


def test_a_list_of_rows_is_a_trace_and_nested_rows_are_below_their_parents() -> None:
    inner, outer = make_event("aten::t", "cpu_op", 1, 5, 20), make_event("aten::linear", "cpu_op", 1, 0, 100)
    drawing = show_trace([inner, outer, make_event("aten::relu", "cpu_op", 1, 100, 50)]).drawing
    assert drawing is not None
    assert not drawing.groups
    rows = {name: next(part for part in drawing.parts if name in part) for name in ("aten::t", "linear", "relu")}
    y = {name: float(re.search(r"<rect x='[^']*' y='([^']*)'", row)[1]) for name, row in rows.items()}  # type: ignore[index]
    assert y["linear"] == y["relu"] < y["aten::t"]
    assert drawing.table is not None and drawing.table.rows[1:] == [
        ["aten::linear", "thread 1", "0", "100"],
        ["aten::t", "thread 1", "5", "20"],
        ["aten::relu", "thread 1", "100", "50"],
    ]


@pytest.mark.parametrize("rows", [[], [{"ph": "X"}]])
def test_a_trace_without_events_has_no_picture(rows: list[dict[str, str]]) -> None:
    assert "no picture" in show_trace(rows).words
