"""WireValue values and containers, in and out."""

from collections import Counter, OrderedDict, namedtuple

import torch

from tests.examiner.program import program

Point = namedtuple("Point", "x y")


@program(f=lambda p: (p.x, p))
def a_named_tuple(f):
    x, p = f(Point(1, torch.ones(1)))
    return x, p.y, p._fields, tuple(p), type(p).__name__


class _Flag(int):
    pass


@program(f=lambda v: v)
def deep_nesting(f):
    v = [1]
    for _ in range(50):
        v = [v]
    return f(v)


@program(f=lambda a, b: torch.randperm(5, generator=a).tolist() + torch.randperm(5, generator=b).tolist())
def one_random_generator_twice(f):
    g = torch.Generator().manual_seed(1)
    return f(g, g), f(g, torch.Generator().manual_seed(1))


numbers = program(f=lambda v: v)(
    lambda f: [f(v) for v in (0, -1, 2**62, 2**63, -(2**64), 10**100, 1.5, -0.0, float("inf"), float("nan"), 1e-320)]
)
truth_and_nothing = program(f=lambda v: v)(lambda f: [f(v) for v in (None, True, False, ..., NotImplemented is None)])
text_and_bytes = program(f=lambda v: (v, type(v).__name__))(
    lambda f: [f(v) for v in ("", "é\0x", b"", b"\xff\0", "x" * 70_000)]
)
complex_numbers = program(f=lambda v: v)(lambda f: (f(1 + 2j), f(complex("nan"))))
ranges_and_slices = program(f=lambda v: v)(
    lambda f: (f(range(1, 10, 3)), f(slice(None, 3, -1)), f(slice(torch.tensor(1))))
)
containers = program(f=lambda v: (v, type(v).__name__, len(v)))(
    lambda f: [
        f(v) for v in ([], (), {}, set(), frozenset({1}), [1, [2, (3,)]], {"a": {"b": 1}}, {1: 2, (1, 2): 3, None: 4})
    ]
)
one_list_twice = program(f=lambda v: {"list": v, "again": v})(
    lambda f: ((table := f(items := [1])), table["list"] is items, table["list"] is table["again"])
)
tensors_deep_inside = program(f=lambda x: {"x": x, "views": [x[0], (x[1],)], None: {x.shape}})(
    lambda f: (f(x := torch.arange(4).reshape(2, 2)), x)
)
an_ordered_dict = program(f=lambda v: list(v.items()))(lambda f: (f(OrderedDict(b=1, a=2)), f({"b": 1, "a": 2})))
an_ordered_dict_as_result = program(f=lambda: OrderedDict(b=1, a=[2]))(lambda f: f())
a_named_tuple_of_torch = program(f=lambda x: torch.max(x, dim=0))(
    lambda f: ((r := f(torch.tensor([[1.0, 5.0], [3.0, 2.0]]))).values, r.indices, type(r) is torch.return_types.max)
)
another_named_tuple_of_torch = program(f=lambda x: torch.linalg.qr(x))(lambda f: ((r := f(torch.eye(2))).Q, r.R))
a_field_of_a_named_tuple = program(f=lambda x: torch.sort(x).values)(lambda f: f(torch.tensor([3, 1, 2])))
dict_views_are_iterated_there = program(f=lambda v: sorted(v))(
    lambda f: (f({"b": 1, "a": 2}), f(list({"b": 1}.values())))
)
a_dict_of_another_class = program(f=lambda: Counter("aab"))(
    lambda f: ((counts := f())["a"], len(counts), "b" in counts, sorted(counts))
)
devices = program(f=lambda d: (str(d), d))(
    lambda f: (f(torch.device("cpu")), f(torch.device("cuda", 1)), f(torch.ones(1).device))
)
dtypes_and_layouts = program(f=lambda v: v)(
    lambda f: (f(torch.bool), f(torch.strided) is torch.strided, f(torch.preserve_format))
)
a_subclass_of_int_counts_as_its_value = program(f=lambda v: v + 1)(lambda f: f(_Flag(3)))
a_long_list = program(f=lambda n: list(range(n)))(lambda f: f(50_000))
floats_are_exact = program(f=lambda n: [float(i) for i in range(n)])(lambda f: (f(10), f(1), [x.hex() for x in f(5)]))
a_random_generator = program(f=lambda g: (torch.rand(2, generator=g), g.initial_seed()))(
    lambda f: (f(g := torch.Generator().manual_seed(3)), torch.rand(1, generator=g), f(g), g)
)
a_random_generator_is_returned = program(f=lambda g: g)(lambda f: f(g := torch.Generator().manual_seed(3)) is g)
a_new_random_generator = program(f=lambda seed: torch.Generator().manual_seed(seed))(
    lambda f: torch.rand(2, generator=f(5))
)
tensors_as_lists = program(f=lambda x: x.tolist())(
    lambda f: (f(torch.tensor([[1.5, float("nan")]])), f(torch.tensor([True])))
)
