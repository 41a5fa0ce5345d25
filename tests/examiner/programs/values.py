"""Plain values and containers, in and out."""

from __future__ import annotations

from collections import Counter, OrderedDict, namedtuple

import torch

from tests.examiner.program import program

Point = namedtuple("Point", "x y")


@program(f=lambda v: v)
def numbers(f):
    return [f(v) for v in (0, -1, 2**62, 2**63, -(2**64), 10**100, 1.5, -0.0, float("inf"), float("nan"), 1e-320)]


@program(f=lambda v: v)
def truth_and_nothing(f):
    return [f(v) for v in (None, True, False, ..., NotImplemented is None)]


@program(f=lambda v: (v, type(v).__name__))
def text_and_bytes(f):
    return [f(v) for v in ("", "é\0x", b"", b"\xff\0", "x" * 70_000)]


@program(f=lambda v: v)
def complex_numbers(f):
    return f(1 + 2j), f(complex("nan"))


@program(f=lambda v: v)
def ranges_and_slices(f):
    return f(range(1, 10, 3)), f(slice(None, 3, -1)), f(slice(torch.tensor(1)))


@program(f=lambda v: (v, type(v).__name__, len(v)))
def containers(f):
    return [
        f(v) for v in ([], (), {}, set(), frozenset({1}), [1, [2, (3,)]], {"a": {"b": 1}}, {1: 2, (1, 2): 3, None: 4})
    ]


@program(f=lambda v: {"list": v, "again": v})
def one_list_twice(f):
    items = [1]
    table = f(items)
    return table, table["list"] is items, table["list"] is table["again"]


@program(f=lambda x: {"x": x, "views": [x[0], (x[1],)], None: {x.shape}})
def tensors_deep_inside(f):
    x = torch.arange(4).reshape(2, 2)
    return f(x), x


@program(f=lambda v: list(v.items()))
def an_ordered_dict(f):
    return f(OrderedDict(b=1, a=2)), f({"b": 1, "a": 2})


@program(f=lambda: OrderedDict(b=1, a=[2]))
def an_ordered_dict_as_result(f):
    return f()


@program(f=lambda p: (p.x, p))
def a_named_tuple(f):
    x, p = f(Point(1, torch.ones(1)))
    return x, p.y, p._fields, tuple(p), type(p).__name__


@program(f=lambda x: torch.max(x, dim=0))
def a_named_tuple_of_torch(f):
    r = f(torch.tensor([[1.0, 5.0], [3.0, 2.0]]))
    return r.values, r.indices, type(r) is torch.return_types.max


@program(f=lambda x: torch.linalg.qr(x))
def another_named_tuple_of_torch(f):
    r = f(torch.eye(2))
    return r.Q, r.R


@program(f=lambda x: torch.sort(x).values)
def a_field_of_a_named_tuple(f):
    return f(torch.tensor([3, 1, 2]))


@program(f=lambda v: sorted(v))
def dict_views_are_iterated_there(f):
    return f({"b": 1, "a": 2}), f(list({"b": 1}.values()))


@program(f=lambda: Counter("aab"))
def a_dict_of_another_class(f):
    counts = f()
    return counts["a"], len(counts), "b" in counts, sorted(counts)


@program(f=lambda d: (str(d), d))
def devices(f):
    return f(torch.device("cpu")), f(torch.device("cuda", 1)), f(torch.ones(1).device)


@program(f=lambda v: v)
def dtypes_and_layouts(f):
    return f(torch.bool), f(torch.strided) is torch.strided, f(torch.preserve_format)


class _Flag(int):
    pass


@program(f=lambda v: v + 1)
def a_subclass_of_int_counts_as_its_value(f):
    return f(_Flag(3))


@program(f=lambda v: v)
def deep_nesting(f):
    v = [1]
    for _ in range(50):
        v = [v]
    return f(v)


@program(f=lambda n: list(range(n)))
def a_long_list(f):
    return f(50_000)


@program(f=lambda n: [float(i) for i in range(n)])
def floats_are_exact(f):
    return f(10), f(1), [x.hex() for x in f(5)]


@program(f=lambda g: (torch.rand(2, generator=g), g.initial_seed()))
def a_random_generator(f):
    g = torch.Generator().manual_seed(3)
    return f(g), torch.rand(1, generator=g), f(g), g


@program(f=lambda g: g)
def a_random_generator_handed_back(f):
    g = torch.Generator().manual_seed(3)
    return f(g) is g


@program(f=lambda seed: torch.Generator().manual_seed(seed))
def a_new_random_generator(f):
    g = f(5)
    return torch.rand(2, generator=g)


@program(f=lambda a, b: torch.randperm(5, generator=a).tolist() + torch.randperm(5, generator=b).tolist())
def one_random_generator_twice(f):
    g = torch.Generator().manual_seed(1)
    return f(g, g), f(g, torch.Generator().manual_seed(1))


@program(f=lambda x: x.tolist())
def tensors_as_lists(f):
    return f(torch.tensor([[1.5, float("nan")]])), f(torch.tensor([True]))
