# %% given
import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    assert_some_right,
    check,
    device,
    explain,
    explore_formats,
    hint,
    probes,
    show_curves,
)

here = device()

# %% [markdown]
# # Mixed precision
#
# Modern GPUs multiply 16-bit numbers several times faster than 32-bit ones, and 16 bits are half the memory. But 16
# bits are few. Which numbers survive, and which become 0, or infinite, or stop changing? *Mixed precision* computes in
# 16 bits where that does no harm, and in `float32` elsewhere. In this lab you find out where that is.
#
# After this lab you can
#
# - read a number's bits in `float32`, `float16` and `bfloat16`, and say how far its neighbours are;
# - use `torch.autocast`, and say what it casts, what it leaves alone, and where its context must end;
# - explain loss scaling, write it yourself, and put its calls into their right order with clipping;
# - tell an overflow, an underflow and a stall apart, and choose a format.
#
# You need lab 6, and what lab 7 says about bytes. This one takes about 90 minutes. After the section "What becomes
# zero" is a good place for a break. All numbers in the text were measured with PyTorch 2.13 on a CPU, unless the text
# says otherwise. Nothing here needs a GPU: autocast and the loss scaler work on a CPU too. With a GPU, the same cells
# and checks use it.
#
# Write your predictions down before you run a cell. The lab is worth 32 points. The checks that you see hold about a
# seventh of them. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## Three formats
#
# A floating-point number is a sign, an exponent and a fraction: `sign * 2**e * 1.fraction`. The exponent's bits decide
# the *range*: how large and how small a number can be. The fraction's bits decide the *precision*: how close together
# numbers are.
#
# | format | sign | exponent | fraction |
# |---|---|---|---|
# | `float32` | 1 | 8 | 23 |
# | `float16` | 1 | 5 | 10 |
# | `bfloat16` | 1 | 8 | 7 |
#
# Which of the two 16-bit formats stores 0.1 more exactly? Which of them can store 1e-10 at all? Below are the bits of
# 0.1. In a live notebook you can type another number, or walk to the next number of a format. Try 65504: what comes
# next in `float16`? Then try 1e-7, and 1e-10.

# %% given
explore_formats(0.1)

# %% [markdown]
# `float16` is nearer to 0.1: its neighbours are closer together. But 1e-10 becomes 0 there. `bfloat16` is `float32`
# with the last 16 bits cut off: the same range, and a coarse grid.
#
# The next cell asks PyTorch for the edges of each format. `finfo(dtype).tiny` is called the smallest *normal* number.
# Is it the smallest number above zero?

# %% given
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    info = torch.finfo(dtype)
    print(f"{dtype!s:14} largest {info.max:.4g}  tiny {info.tiny:.4g}  eps {info.eps:.4g}")
print("in float16 :", torch.tensor([65519.0, 65520.0, 3e-8, 2.9e-8]).to(torch.float16).tolist())
print("in bfloat16:", torch.tensor([65519.0, 257.0, 1e-8, 4e-41]).to(torch.bfloat16).tolist())

# %% [markdown]
# It is not. Below `tiny` come the *subnormal* numbers. Their exponent stays the smallest one, and the leading 1 is
# missing. They lie on an even grid down to zero. So `float16` reaches down to 6e-8, not to 6e-5, with ever fewer
# digits. Half of the smallest one and less is rounded to 0: that is *underflow*. People say that `bfloat16` does not
# underflow. It does, only later: 4e-41 is 0. At the other end, 65519 is rounded to 65504, and 65520 to `inf`: that is
# *overflow*.
#
# `eps` is the distance from 1 to the next number. The distance from a number to the next one is called a *ulp*, a unit
# in the last place. It doubles at each power of two. In `bfloat16` it is 1 above 128, and 2 above 256: 257 is not
# there.
#
# ### Your turn
# How far apart are the numbers of a format, at x?

# %% given
hint(
    "Which number comes right after y? The bits of a positive number, read as an integer, are one more.",
    "t.view(torch.int16) reads the 16 bits of each element as an integer, and .view(dtype) reads them back.",
)


# %% exercise: ulp
def ulp(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The distance from |x| to the next larger number of a format, for each element: float64, in the shape of x.

    x: float32, of any shape and strides, finite. It is rounded to dtype first. dtype: float32, float16 or bfloat16.
    After rounding, |x| is less than the largest number of dtype. It may be zero or subnormal. x is not changed.
    """
    ### BEGIN SOLUTION
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    above = (y.view(whole) + 1).view(dtype)
    return above.double() - y.double()
    ### END SOLUTION


# %% check: ulp points=3
with check("numbers between 1 and 2, and 300, in bfloat16", weight=2, required=True):
    t = torch.tensor([1.0, 1.25, 300.0])
    explain(
        ulp(t, torch.bfloat16),
        torch.tensor([2.0**-7, 2.0**-7, 2.0], dtype=torch.float64),
        {
            "eps is the spacing between 1 and 2 only": torch.full((3,), 2.0**-7, dtype=torch.float64),
            "between two powers of two the spacing is the same": t.double() * 2.0**-7,
        },
        rtol=1e-9,
        atol=0,
    )
### BEGIN HIDDEN TESTS
with check(
    "numbers of all sizes, in all three formats",
    weight=4,
    required=True,
    hint="Take float16: what is the spacing from 4 to 8, and from 0.25 to 0.5?",
):
    for dtype, bits, least in ((torch.float32, 23, -126), (torch.float16, 10, -14), (torch.bfloat16, 7, -126)):
        generator = torch.Generator().manual_seed(bits)
        t = torch.randn(7, 5, generator=generator) * 2.0 ** torch.randint(-12, 13, (7, 5), generator=generator)
        y = t.abs().to(dtype).double()
        want = torch.exp2(torch.frexp(y).exponent.double().sub(1).clamp(min=least) - bits)
        assert_close(ulp(t, dtype), want, rtol=1e-9, atol=0)
with check(
    "powers of two, negative ones too", weight=2, hint="Above 8 the spacing is larger than below it. And for -8?"
):
    for dtype, bits in ((torch.float32, 23), (torch.float16, 10), (torch.bfloat16, 7)):
        t = torch.tensor([8.0, -8.0, 0.5, -1.0, 2.0**-14])
        want = torch.tensor([8.0, 8.0, 0.5, 1.0, 2.0**-14], dtype=torch.float64) * 2.0**-bits
        assert_close(ulp(t, dtype), want, rtol=1e-9, atol=0)
        t = torch.tensor([16.0, -2.0, 1.0, 2.0**-13]) * (1 - 2.0 ** -(bits + 1))  # the numbers just below
        want = torch.tensor([8.0, 1.0, 0.5, 2.0**-14], dtype=torch.float64) * 2.0**-bits
        assert_close(ulp(t, dtype), want, rtol=1e-9, atol=0)
with check(
    "zero and subnormal numbers",
    weight=2,
    hint="Below the smallest normal number, does the spacing still halve with each power of two?",
):
    for dtype, step in ((torch.float16, 2.0**-24), (torch.bfloat16, 2.0**-133), (torch.float32, 2.0**-149)):
        t = torch.tensor([0.0, -0.0, 3 * step, 5 * step])
        assert_close(ulp(t, dtype), torch.full((4,), step, dtype=torch.float64), rtol=1e-9, atol=0)
with check("x is rounded to the format first", weight=1, hint="What is 1.999 in bfloat16?"):
    t = torch.tensor([1.999, -3.9999, 255.9])
    want = torch.tensor([2.0**-6, 2.0**-5, 2.0], dtype=torch.float64)
    assert_close(ulp(t, torch.bfloat16), want, rtol=1e-9, atol=0)
    t = torch.tensor([1.99999, 4095.9])
    assert_close(ulp(t, torch.float16), torch.tensor([2.0**-9, 4.0], dtype=torch.float64), rtol=1e-9, atol=0)
with check("other shapes, empty ones too", weight=1):
    for t in (torch.tensor(3.0), torch.linspace(1, 7, 12).reshape(3, 4).T[1:], torch.zeros(0, 2)):
        want = torch.exp2(torch.frexp(t.double()).exponent.double().sub(1) - 10)
        assert_close(ulp(t, torch.float16), want, rtol=1e-9, atol=0)
with check("x keeps its values", guard=True):
    t = torch.tensor([-3.0, 0.3])
    ulp(t, torch.float32)
    assert_close(t, torch.tensor([-3.0, 0.3]), rtol=0, atol=0)
### END HIDDEN TESTS


# %% [markdown]
# Between two powers of two all numbers are equally far apart, and below `tiny` they are as far apart as just above it.
# Your function says what a format does to a sum. If you add to x less than half of its ulp, nothing happens.
#
# ### Ten bits for products: TF32
#
# Some GPUs have a third way to multiply `float32` matrices. *TF32* rounds both factors to 10 bits of fraction, keeps 8
# bits of exponent, and adds the products in `float32`. The tensors stay `float32` in memory, so nothing gets smaller.
#
# For products of matrices it is off, until you call `torch.set_float32_matmul_precision("high")`. For convolutions it
# is on from the start: `torch.backends.cudnn.allow_tf32` is `True`. Newer names say the same for each kind of
# operation: `torch.backends.cuda.matmul.fp32_precision` and `torch.backends.cudnn.conv.fp32_precision` take `"tf32"` or
# `"ieee"`. Use the old names or the new ones: once a new one has been set, reading an old one may raise `RuntimeError`.
#
# This CPU has no TF32, and the setting changed no bit of a product. But the rounding can be imitated. How large is the
# error of a matrix product in each of the ways?


# %% given
def tf32(t):
    """float32, rounded to 10 bits of fraction, ties to even, as TF32 does with the factors of a product."""
    bits = t.view(torch.int32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)


generator = torch.Generator().manual_seed(0)
left, right = torch.randn(64, 256, generator=generator), torch.randn(256, 64, generator=generator)
exact = left.double() @ right.double()
products = {
    "float32": left @ right,
    "TF32, imitated": tf32(left) @ tf32(right),
    "float16": (left.half() @ right.half()).float(),
    "bfloat16": (left.bfloat16() @ right.bfloat16()).float(),
}
for name, product in products.items():
    print(f"{name:15} relative error {(product - exact).norm() / exact.norm():.0e}")

# %% [markdown]
# TF32 has the precision of `float16` and the range of `float32`. `bfloat16` is about eight times coarser than both.
#
# ## What autocast casts
#
# Inside `with torch.autocast(device_type=..., dtype=...)`, each operation chooses the dtype that it computes in.
# Matrix products and convolutions cast their inputs to the 16-bit format. Losses cast theirs to `float32`. Many other
# operations take what comes. You change nothing in the model.
#
# Say both arguments. The default dtype is `float16` on CUDA and `bfloat16` on a CPU. `torch.amp` is the module to use;
# `torch.cuda.amp` and `torch.cpu.amp` are deprecated.
#
# A weight, the result of the last layer, the loss, the weight's gradient: which dtype has each of them?

# %% given
torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)).to(here)
inputs, labels = torch.randn(256, 32).to(here), torch.randint(0, 10, (256,)).to(here)


def forward_pass(dtype):
    """The results and the loss under autocast with dtype, or without it for float32."""
    with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
        logits = mlp(inputs)
        return logits, F.cross_entropy(logits, labels)


logits, loss = forward_pass(torch.bfloat16)
loss.backward()
print("weight  ", mlp[0].weight.dtype)
print("result  ", logits.dtype)
print("loss    ", loss.dtype)
print("gradient", mlp[0].weight.grad.dtype)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    print(f"{dtype!s:15} kept for backward: {probes.saved_bytes(forward_pass, dtype):,} bytes")

# %% [markdown]
# Only the result is `bfloat16`. Each layer casts a copy of its weight. The backward pass casts the gradient back, so
# weights and gradients stay `float32`, and so do Adam's states. The weights are the `float32` master copy of which lab
# 7 spoke: autocast needs no other one.
#
# So "16 bits halve the memory" is true for what is kept for the backward pass, and not quite: 307,204 bytes become
# 169,220, which is 55 %. The cast copies of the weights are kept as well. Weights, gradients and states do not shrink.
#
# How much faster is it? That depends on the machine. Tensor Cores, the matrix units of a GPU, gain several times where
# the matrices are large. Some CPUs have such units for `bfloat16` and none for `float16`. Measure it on yours.
#
# Now the same with the wrong device. What happens with `autocast("cuda")` on a machine without CUDA?

# %% given
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autocast("cuda", dtype=torch.float16):
        print("result:", mlp(inputs).dtype)
print("warnings:", [warning.category.__name__ for warning in caught])

# %% [markdown]
# Without CUDA there is one `UserWarning`, and everything is `float32`. Training goes on, slowly, and nothing fails.
# Write `torch.autocast(x.device.type, dtype=...)`, and it goes where the data is.
#
# The list of operations that autocast casts to `float32` depends on the device. Losses are on both lists. `softmax`,
# `layer_norm`, `sum`, `exp` and `pow` are on CUDA's list only; on a CPU they take what comes. Do not rely on their
# dtype: print it. What an operation without a rule gives follows from its inputs: `float32` plus `float16` is
# `float32`.
#
# ### Your turn
# Write the function that tells it: which dtype does each layer of a model give? Lab 3 had hooks on tensors. Modules
# have them too. `layer.register_forward_hook(f)` has `f(layer, inputs, output)` called after each call of the layer,
# and returns a handle. `handle.remove()` takes the hook away.

# %% given
hint(
    "A forward hook is called with the module, its inputs and its output. How does yours know the module's name?",
    "Which modules have no children? Which statement removes the hooks even if the model raises an error?",
)


# %% exercise: amp_dtypes
def amp_dtypes(model: nn.Module, x: Tensor, dtype: torch.dtype) -> dict[str, torch.dtype]:
    """The dtype of what each layer gives in one call model(x) under autocast: {name: dtype}.

    The layers are the submodules without children, by their names in model.named_modules(). Each gives one tensor. One
    that does not run is left out; one that runs several times counts with its last result. A model without children is
    a layer itself, with the name "". dtype: float16 or bfloat16. The device of x says where autocast works. Afterwards
    the model is as it was: its parameters, its modes, and its hooks, also where model(x) raises an error, which is
    passed on.
    """
    ### BEGIN SOLUTION
    found: dict[str, torch.dtype] = {}

    def noting(name: str) -> Callable:
        def hook(module: nn.Module, inputs: tuple, output: Tensor) -> None:
            found[name] = output.dtype

        return hook

    layers = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(noting(name)) for name, layer in layers]
    try:
        with torch.no_grad(), torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found
    ### END SOLUTION


# %% given
torch.manual_seed(0)


class Called(nn.Module):
    """A layer that somebody else computes."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, *inputs):
        return self.layer(*inputs)


class Routed(nn.Module):
    """Defines its parts in one order, and runs those of the route.

    parts: pairs of a name and a layer to call, the weight of a linear layer, the name of an earlier part for that one
    again, or a list of layers, which is a block. route: pairs of a name and the results that it takes, by number; x is
    the first of all results.
    """

    def __init__(self, parts, route):
        super().__init__()
        for name, part in parts:
            self.add_module(name, getattr(self, part) if isinstance(part, str) else made_of(part))
        self.route = route

    def forward(self, x):
        results = [x]
        for name, taken in self.route:
            results.append(getattr(self, name)(*[results[n] for n in taken]))
        return results[-1]


def made_of(part):
    if isinstance(part, list):
        return nn.Sequential(*map(made_of, part))
    return linear_of(part) if isinstance(part, Tensor) else Called(part)


def linear_of(weight, bias=None):
    layer = nn.Linear(*weight.shape[::-1], bias=bias is not None).to(here)
    layer.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return layer


@probes.probe
def dtypes_seen(function, parts, route, x, dtype, see="dtypes", training=()):
    """What function(model, x, dtype) gives for such a model, or what it leaves there. No route: the first part alone.

    A hook of somebody else is on each module. training: the names of the modules in training mode.
    """
    model = Routed(parts, route) if route else made_of(parts[0][1])
    for name, module in model.named_modules():
        module.training = name in training
        module.register_forward_hook(lambda *_: None)
    found, raised = {}, False
    try:
        found = function(model, x.to(here), dtype)
    except ArithmeticError:
        raised = True
    if see == "hooks":
        of_all = nn.modules.module
        counts = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
        return [raised, *counts, len(of_all._global_forward_hooks) + len(of_all._global_forward_pre_hooks)]
    if see == "modes":
        return [torch.is_autocast_enabled(here.type), *[module.training for module in model.modules()]]
    return {name: t.cpu() for name, t in probes.state_of(model).items()} if see == "state" else found


# %% check: amp_dtypes points=3
with check("three layers, under bfloat16", weight=2, required=True):
    t = torch.linspace(-1, 1, 10).reshape(2, 5)
    parts = [("0", torch.ones(7, 5)), ("1", lambda x: x.relu()), ("2", torch.ones(3, 7))]
    route = [("0", [0]), ("1", [1]), ("2", [2])]
    explain(
        dtypes_seen(amp_dtypes, parts, route, t, torch.bfloat16),
        {"0": torch.bfloat16, "1": torch.bfloat16, "2": torch.bfloat16},
        {
            "these are the results without autocast": {"0": torch.float32, "1": torch.float32, "2": torch.float32},
            "these are the weights, and a layer without weights has a result too": {
                "0": torch.float32,
                "2": torch.float32,
            },
        },
    )
### BEGIN HIDDEN TESTS


def drawn_weight(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def table(x):
    return F.embedding(x, drawn_weight(7, 4).to(x.device))


def chain(*layers):
    """Parts with the names 0, 1, 2, and the route through them one after the other."""
    return [(str(n), layer) for n, layer in enumerate(layers)], [(str(n), [n]) for n in range(len(layers))]


with check(
    "a table, a sum, a layer that runs twice and one that never runs",
    weight=4,
    required=True,
    hint="What is float32 plus float16? When does your hook run, and what does it look at?",
):
    t = torch.tensor([[1, 0, 6], [2, 2, 3]])
    seen = Seen(lambda x: x.clone())
    parts = [
        ("f", lambda x: F.conv1d(x, drawn_weight(2, 3, 1).to(x.device))),
        ("d", seen),
        ("e", drawn_weight(2, 2)),
        ("b", [drawn_weight(4, 4), lambda x: x.tanh()]),
        ("a", table),
        ("c", lambda x, y: x + y),
    ]
    for low in (torch.float16, torch.bfloat16):
        route = [("a", [0]), ("d", [1]), ("b", [2]), ("d", [3]), ("c", [2, 4]), ("f", [5])]
        got = dtypes_seen(amp_dtypes, parts, route, t, low)
        assert_close(got, {**dict.fromkeys(("b.0", "b.1", "d", "f"), low), **dict.fromkeys("ac", torch.float32)})
        route = [("a", [0]), ("b", [1]), ("d", [2]), ("c", [2, 1]), ("d", [4]), ("c", [2, 3])]
        got = dtypes_seen(amp_dtypes, parts[::-1], route, t, low)
        assert_close(got, {**dict.fromkeys(("b.0", "b.1", "c"), low), **dict.fromkeys("ad", torch.float32)})
    assert [call.autocast for call in seen.calls] == [True] * 8, "the model did not run once under autocast"
with check("layers inside layers, in float16", weight=2, required=True, hint="Is a layer with children in your dict?"):
    rows = []

    def widening(x):
        rows.append(x.sum(1).tolist())
        return x.float()

    parts, route = chain([torch.ones(4, 6), lambda x: x.relu()], widening, drawn_weight(2, 4))
    for n in (3, 0):
        got = dtypes_seen(amp_dtypes, parts, route, torch.ones(n, 6), torch.float16)
        assert_close(got, {**dict.fromkeys(("0.0", "0.1", "2"), torch.float16), "1": torch.float32})
    assert rows == [[24.0] * 3, []], "the model did not run once with x"
    parts = [("one", lambda x: x * 2.0), ("other", "one"), ("last", drawn_weight(2, 6))]
    route = [("last", [0]), ("other", [1])]
    got = dtypes_seen(amp_dtypes, parts, route, torch.ones(2, 6), torch.float16)
    assert_close(got, dict.fromkeys(("one", "last"), torch.float16), name="your dict, where a layer has two names")
with check("a model that is one layer", weight=1, hint="Which name has the model itself in named_modules()?"):
    for low in (torch.bfloat16, torch.float16):
        got = dtypes_seen(amp_dtypes, [("", drawn_weight(3, 5))], [], torch.ones(2, 5), low)
        assert_close(got, {"": low})
with check(
    "no hook stays behind, and none of somebody else's goes",
    weight=2,
    observed=True,
    hint="What does the handle remove?",
):

    def failing(x):
        raise ArithmeticError("this layer always fails")

    parts, route = chain(drawn_weight(4, 5), lambda x: x.relu(), drawn_weight(2, 4))
    got = dtypes_seen(amp_dtypes, parts, route, torch.ones(2, 5), torch.float16, "hooks")
    assert_close(got, [False, 1, 1, 1, 1, 0], name="an error, and the hooks of each module and of all modules")
    parts, route = chain(drawn_weight(4, 5), failing)
    got = dtypes_seen(amp_dtypes, parts, route, torch.ones(1, 5), torch.bfloat16, "hooks")
    assert_close(got, [True, 1, 1, 1, 0], name="an error, and the hooks of each module and of all modules")
with check("the model and autocast are as they were", guard=True, hint="What is left where model(x) raises an error?"):
    for last in (lambda x: x.relu(), failing):
        for modes in (["", "0", "1"], [], ["1"]):
            parts, route = chain(drawn_weight(4, 5), last)
            got = dtypes_seen(amp_dtypes, parts, route, torch.ones(3, 5), torch.bfloat16, "modes", modes)
            assert_close(got, [False, *[name in modes for name in ("", "0", "1")]], name="autocast and the modes")
        got = dtypes_seen(amp_dtypes, parts, route, torch.ones(3, 5), torch.float16, "state")
        assert_close(got, {"0.weight": drawn_weight(4, 5)}, rtol=0, atol=0, name="the weights")
### END HIDDEN TESTS


# %% [markdown]
# A table is looked up, not multiplied: an `nn.Embedding` gives `float32`. A residual sum of both formats is `float32`
# too. So is everything after it that has no rule, until the next matrix product.
#
# ## Where the context ends
#
# A loop of thirty steps needs thirty forward passes under autocast. Two ways to write it: a context in each step, or
# one context around the loop. The second looks better. Which of them learns?


# %% given
def steps_of(one_context):
    """Losses of thirty steps of SGD in bfloat16."""
    generator = torch.Generator().manual_seed(0)
    xs = torch.randn(64, 8, generator=generator).to(here)
    ys = xs[:, :1] + xs[:, 1:2] / 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(here)
    sgd, seen = torch.optim.SGD(net.parameters(), lr=0.1), []
    outer = torch.autocast(here.type, dtype=torch.bfloat16) if one_context else nullcontext()
    with outer:
        for _ in range(30):
            sgd.zero_grad()
            with nullcontext() if one_context else torch.autocast(here.type, dtype=torch.bfloat16):
                loss = F.mse_loss(net(xs), ys)
            loss.backward()
            sgd.step()
            seen.append(loss.item())
    return seen


show_curves({"a context in each step": steps_of(False), "one around the loop": steps_of(True)})

# %% [markdown]
# The loss of the second loop is 1.1295 in all thirty steps, to the last digit. There is no error. Why?
#
# Autocast keeps the cast copies of the weights, so that a weight that is used twice is cast once. It forgets them when
# the *outermost* context ends. In the second loop it does not end. The optimizer changes the `float32` weights, and the
# model goes on computing with the copies from the first step. `cache_enabled=False` keeps no copies, and mends it.
# A context inside another one does not end the outer one. That is so even if the outer one has `enabled=False`.
#
# So: one context for each step. The forward pass and the loss belong inside. The backward pass and the optimizer belong
# outside: each backward operation runs in the dtype of its forward operation by itself.
#
# ### Your turn
# Write the training loop.

# %% given
hint(
    "Which statements belong under autocast: the forward pass, the loss, the backward pass, the step?",
    "When does the context end, and what does autocast forget there?",
)


# %% exercise: train_amp
def train_amp(
    model: nn.Module, batches: list, optimizer: torch.optim.Optimizer, loss_of: Callable, dtype: torch.dtype
) -> list[float]:
    """One step of the optimizer for each batch, in mixed precision. Returns the losses, as floats.

    batches: pairs x, y, on the model's device; there may be none. loss_of: loss_of(model(x), y) is the loss, a tensor
    without dimensions. It is to be computed under autocast as well. dtype: float16 or bfloat16. The loss is not scaled.
    The model's parameters are float32, and stay so. Gradients that it holds at the start do not count. Each step uses
    the weights that the step before it left. The model's mode is not changed. Autocast is off when train_amp is called,
    and off again afterwards, also where the model or loss_of raises an error, which is passed on.
    """
    ### BEGIN SOLUTION
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


# %% given
def drawn(seed, *shapes):
    """Weights of these shapes."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) / 2 for shape in shapes]


def regression(sizes, seed):
    """A batch for each size: x (n, 4) and y (n, 2)."""
    generator = torch.Generator().manual_seed(seed)
    xs = [torch.randn(n, 4, generator=generator) for n in sizes]
    return [(x, torch.stack([x[:, 0] * x[:, 1], x[:, 2] - 1], dim=1)) for x in xs]


class Multiplied(nn.Linear):
    """A linear layer with these weights, whose product somebody else may compute."""

    def __init__(self, weight, bias, product):
        super().__init__(*weight.shape[::-1], device=here)
        self.load_state_dict({"weight": weight, "bias": bias})
        self.product = product

    def forward(self, x):
        return self.product(x, self.weight, self.bias)


def model_of(start, head, product=F.linear):
    """A linear layer with these weights (its weight and its bias), and a head that somebody else computes."""
    return nn.Sequential(Multiplied(*start, product), Called(head))


def weights_of(model):
    return [parameter.detach().cpu().clone() for parameter in model.parameters()]


@probes.probe
def amp_trained(
    train, start, head, batches, loss_of, dtype, lr, momentum=0.0, see="", before=None, training=True, product=F.linear
):
    """The losses that train gives for such a model and the weights that it leaves, or the modes and autocast behind it.

    before: a number that is in all gradients at the start. product: of the linear layer.
    """
    model = model_of(start, head, product).train(training)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    for parameter in model.parameters():
        parameter.grad = None if before is None else torch.full_like(parameter, before)
    losses, raised = [], False
    try:
        losses = train(model, [(x.to(here), y.to(here)) for x, y in batches], optimizer, loss_of, dtype)
    except ArithmeticError:
        raised = True
    if see == "modes":
        return [raised, torch.is_autocast_enabled(here.type), *[module.training for module in model.modules()]]
    return {"losses": losses, "weights": weights_of(model)}


# %% check: train_amp points=4
with check("bfloat16 reaches the last layer, and the loss falls", weight=2, required=True):
    t = regression([16] * 6, 1) * 4
    start, (w,) = drawn(1, (9, 4), (9,)), drawn(2, (9, 2))
    head, losses = Seen(lambda x: torch.tanh(x) @ w.to(x)), []

    def noted_loss(out, y):
        loss = F.mse_loss(out, y)
        losses.append(loss.item())
        return loss

    got = amp_trained(train_amp, start, head, t, noted_loss, torch.bfloat16, 0.1)
    assert_close(got["losses"], losses, name="your list")
    dtypes = [call.dtypes for call in head.calls]
    assert dtypes == [(torch.bfloat16,)] * len(t), "what reaches the last layer is not bfloat16, once for each batch"
    assert losses[-1] < 0.7 * losses[0], "the loss does not fall"
### BEGIN HIDDEN TESTS


def head_of(width):
    """A head with weights of its own."""
    (w,) = drawn(100 + width, (width, 2))
    return lambda x: torch.tanh(x) @ w.to(x)


def lopsided_loss(out, y):
    """A mean of squares, and a little for results that are large. float32 under autocast."""
    return 0.7 * F.mse_loss(out, y) + 0.1 * out.float().mean()


def steps_by_hand(start, head, batches, loss_of, dtype, lr, momentum=0.0):
    """The loss of each step and the weights behind it, as they should be."""
    params, losses, left = [t.clone().to(here).requires_grad_() for t in start], [], []
    buffers = [torch.zeros_like(p) for p in params]
    for x, y in batches:
        with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = loss_of(head(F.linear(x.to(here), *params)), y.to(here))
        grads = torch.autograd.grad(loss, params)
        buffers = [momentum * b + g for b, g in zip(buffers, grads, strict=True)]
        with torch.no_grad():
            for p, b in zip(params, buffers, strict=True):
                p -= lr * b
        losses.append(loss.item())
        left.append([p.detach().cpu().clone() for p in params])
    return losses, left


with check(
    "the losses and weights of both formats",
    weight=4,
    required=True,
    hint="With which weights is the second step computed? Which dtype have the weights when you have finished?",
):
    for n, sizes, low, momentum in (
        (9, [5, 8, 1, 6, 3], torch.float16, 0.9),
        (3, [4, 1, 3], torch.bfloat16, 0.0),
        (5, [1, 6, 2], torch.float16, 0.5),
    ):
        t = regression(sizes, n)
        case = (drawn(n, (n, 4), (n,)), head_of(n), t, lopsided_loss, low, 0.2, momentum)
        losses, weights = steps_by_hand(*case)
        first = [steps_by_hand(*case[:2], [pair], *case[3:])[0][0] for pair in t]
        got = amp_trained(train_amp, *case)
        explain(
            got["losses"],
            losses,
            {"each loss was computed with the weights of the first step": first},
            rtol=3e-2,
            atol=2e-2,
        )
        assert_close(got["weights"], weights[-1], rtol=2e-2, atol=1e-2, name="the weights")
with check(
    "each forward pass runs under autocast, with the weights that the step before left",
    weight=2,
    required=True,
    hint="Which statements does your with block hold? Which weights does the next batch meet?",
):
    for n, low, momentum in ((4, torch.bfloat16, 0.0), (6, torch.float16, 0.9)):
        case = (drawn(n, (n, 4), (n,)), head_of(n), regression([3, 1, 4], n), lopsided_loss, low, 0.2, momentum)
        losses, weights = steps_by_hand(*case)
        weights, passes, met = [drawn(n, (n, 4), (n,)), *weights], [], []

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            torch.clear_autocast_cache()  # of casts, as between two processes
            passes.append((torch.is_autocast_enabled(here.type), weight.dtype, out.dtype))
            met.append([weight.detach().cpu().clone(), bias.detach().cpu().clone()])
            return out

        seen = Seen(product)
        got = amp_trained(train_amp, *case, product=seen)
        assert_close(got["losses"], losses, rtol=3e-2, atol=2e-2, name="the losses")
        assert passes == [(True, torch.float32, low)] * 3, "autocast, the dtype of the weights, or that of the product"
        assert_close([*met, got["weights"]], weights, rtol=1e-2, atol=2e-3, name="the weights by turns")
        assert seen.backwards == 3, "the gradients of the weights did not come back through the layer"
with check(
    "the format shows in the loss",
    weight=2,
    required=True,
    hint="257 is not a number of bfloat16, nor 2051 one of float16. Is the whole forward pass in that format?",
):
    for low, n, want in ((torch.bfloat16, 256.0, 9 / 7), (torch.float16, 2050.0, 1 / 7)):
        t = [(torch.tensor([[n + 1, n]]), torch.tensor([[3.0]]))]
        case = ([torch.tensor([[1.0, -1.0]]), torch.zeros(1)], lambda x: x.clone(), t)
        got = amp_trained(train_amp, *case, lambda out, y: F.mse_loss(out, y).double() / 7, low, 1e-9)
        explain(got["losses"], [want], {"this is the loss in float32": [4 / 7]}, rtol=1e-9, atol=0)
with check("small steps reach the weights", weight=2, hint="Which dtype have the weights when the step adds to them?"):
    for n, low in ((8, torch.bfloat16), (3, torch.float16)):
        case = (drawn(n, (n, 4), (n,)), head_of(n), regression([5, 4, 6], 17), lopsided_loss, low, 1e-4)
        _, weights = steps_by_hand(*case)
        got = amp_trained(train_amp, *case)
        assert_close(got["weights"], weights[-1], rtol=0, atol=1e-5, name="the weights")
with check("the loss is computed under autocast", weight=1, hint="Where does your with block end?"):
    for n, low in ((3, torch.float16), (4, torch.bfloat16)):
        factors = []

        def noting_loss(out, y):
            loss = lopsided_loss(out, y)
            loss.register_hook(lambda grad: factors.append(grad.item()))
            return loss

        seen = Seen(noting_loss)
        amp_trained(train_amp, drawn(n, (n, 4), (n,)), head_of(n), regression([2, 3], n), seen, low, 0.1)
        calls = [(call.autocast, call.shapes[0][0]) for call in seen.calls]
        assert calls == [(True, 2), (True, 3)], f"loss_of ran so (under autocast, samples): {calls}"
        assert factors == [1.0, 1.0], "the loss was scaled"
with check(
    "gradients from before do not count",
    weight=2,
    hint="What is in .grad before the first step?",
):
    for n, before in ((9, 3.0), (3, -2.0)):
        case = (drawn(n, (n, 4), (n,)), head_of(n), regression([5, 3], 9), lopsided_loss, torch.bfloat16, 0.1)
        _, weights = steps_by_hand(*case)
        got = amp_trained(train_amp, *case, before=before)
        assert_close(got["weights"], weights[-1], rtol=2e-2, atol=1e-2, name="the weights")
with check("the mode, autocast, and no batch at all", guard=True, hint="What is left after an error in loss_of?"):

    def failing(out, y):
        raise ArithmeticError("this loss always fails")

    for loss_of in (lopsided_loss, failing):
        for training in (False, True):
            case = (drawn(3, (3, 4), (3,)), head_of(3), regression([2], 1), loss_of, torch.bfloat16, 0.1)
            got = amp_trained(train_amp, *case, see="modes", training=training)
            assert_close(got, [loss_of is failing, False] + [training] * 3, name="an error, autocast, and the modes")
    case = (drawn(3, (3, 4), (3,)), head_of(3), [], lopsided_loss, torch.float16, 0.1)
    want = {"losses": [], "weights": drawn(3, (3, 4), (3,))}
    assert_close(amp_trained(train_amp, *case), want, name="losses and weights")
### END HIDDEN TESTS


# %% [markdown]
# `model.half()` is something else. It makes the weights themselves 16 bits wide, and the optimizer's steps too. More of
# that below.
#
# ## What becomes zero
#
# The gradients of the weights are `float32`. Can they underflow all the same? The next cell has a faint loss, and asks
# how many elements of a gradient are zero. It divides the gradient by the scale afterwards.

# %% given
torch.manual_seed(0)
layer, few = nn.Linear(4, 3).to(here), torch.randn(8, 4).to(here)
exact_gradient = None
for dtype, factor in ((torch.float32, 1), (torch.float16, 1), (torch.float16, 65536), (torch.bfloat16, 1)):
    layer.zero_grad()
    with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
        faint = 1e-7 * layer(few).float().square().mean()
    (faint * factor).backward()
    gradient = layer.weight.grad / factor
    exact_gradient = gradient if exact_gradient is None else exact_gradient
    error = (gradient - exact_gradient).norm() / exact_gradient.norm()
    zeros = (gradient == 0).float().mean()
    print(f"{dtype!s:14} scale {factor:5}  zeros {zeros:4.0%}  relative error {error:.1g}")

# %% [markdown]
# In `float16` everything is lost. The gradient travels back from the loss through the layers, and on its way it is in
# the dtype of each layer's result. It is cast to `float32` only at the weight, and there it is 0 already. With a larger
# loss it is larger everywhere. The chain rule is linear: multiply the loss by 65536, divide the gradients by 65536, and
# you have the gradients of the loss. A power of two changes the exponent only, so it costs no digit.
#
# `bfloat16` needs none of that: its range is that of `float32`. Its gradient has about eight times the error instead.
#
# ### Your turn
# Measure it: how much of a model's gradient does a format lose?

# %% given
hint(
    "You need two backward passes. torch.autograd.grad gives gradients without writing to .grad.",
    "Which elements are zero in both? They were not lost.",
)


# %% exercise: underflow_fraction
def underflow_fraction(
    model: nn.Module, x: Tensor, y: Tensor, loss_of: Callable, dtype: torch.dtype, scale: float
) -> float:
    """The share of the gradients' elements that autocast loses to underflow, from 0.0 to 1.0.

    Exact are the gradients of loss_of(model(x), y) in float32. For the others the model and the loss are computed under
    autocast with dtype, float16 or bfloat16, and the loss is multiplied by scale before the backward pass. Of the
    elements that are not zero in the exact gradients of all parameters that require grad: how many are zero in the
    others? An element that is inf or nan is not zero. Where no exact element differs from zero, the share is 0.0.
    x and y are on the model's device. At least one parameter requires grad, and each that does takes part in the loss.
    Autocast is off at the call. The model's .grad (tensors or None) and its weights stay as they are.
    """

    ### BEGIN SOLUTION
    def elements_of_gradients(loss: Tensor) -> Tensor:
        parameters = [p for p in model.parameters() if p.requires_grad]
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])

    there = elements_of_gradients(loss_of(model(x), y)) != 0
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    lost = there & (elements_of_gradients(loss * scale) == 0)
    return lost.sum().item() / there.sum().item() if there.any() else 0.0
    ### END SOLUTION


# %% given
@probes.probe
def underflow_of(
    function, start, trained, x, y, loss_of, dtype, scale, product=F.linear, see="share", grads=(None,) * 4
):
    """What the function gives for two linear layers with a ReLU between them, or what it leaves there.

    start: their weights and biases; trained: whether each of these requires grad; product: of both layers; grads: the
    .grad of each of the four.
    """
    model = nn.Sequential(Multiplied(*start[:2], product), nn.ReLU(), Multiplied(*start[2:], product))
    for parameter, grad, needed in zip(model.parameters(), grads, trained, strict=True):
        parameter.grad = None if grad is None else grad.to(here)
        parameter.requires_grad_(needed)
    share = function(model, x.to(here), y.to(here), loss_of, dtype, scale)
    if see == "share":
        return share
    return {
        "grads": [None if parameter.grad is None else parameter.grad.cpu() for parameter in model.parameters()],
        "weights": weights_of(model),
        "modes": [torch.is_autocast_enabled(here.type), *[parameter.requires_grad for parameter in model.parameters()]],
    }


# %% check: underflow_fraction points=3
with check("1e-7 in float16: all is lost without a scale, nothing with 65536", weight=2, required=True):
    t, y = regression([9], 3)[0][0], torch.linspace(-1, 1, 27).reshape(9, 3)
    start = drawn(1, (5, 4), (5,), (3, 5), (3,))
    for scale, want in ((1.0, 1.0), (65536.0, 0.0)):
        got = underflow_of(
            underflow_fraction,
            start,
            [True] * 4,
            t,
            y,
            lambda out, y: 1e-7 * F.mse_loss(out, y),
            torch.float16,
            scale,
        )
        assert_close(got, want)
### BEGIN HIDDEN TESTS


def faint_loss(out, y):
    """A mean of squares, times 1e-7: gradients as small as those of a large model."""
    return 1e-7 * F.mse_loss(out, y)


def mixed_loss(out, y):
    """A weighted mean of squares: each column counts a thousandth of the one before it."""
    weights = 10.0 ** -torch.arange(3.0, 3 * out.shape[1] + 1, 3, device=out.device)
    return (weights * F.mse_loss(out, y, reduction="none")).mean()


def units(width, off=0):
    """The weights of two layers with so many hidden units, the first of which are always off."""
    start = drawn(width, (width, 4), (width,), (3, width), (3,))
    start[1][:off] = -1e4
    return start


def share_lost(start, trained, x, y, loss_of, dtype, scale):
    """The share that is wanted, the share of all zeros, and the share that is lost when float32 gradients are cast."""
    params = [t.clone().to(here).requires_grad_(needed) for t, needed in zip(start, trained, strict=True)]

    def gradients(factor, low):
        with torch.autocast(here.type, dtype=dtype, enabled=low):
            out = F.linear(F.relu(F.linear(x.to(here), *params[:2])), *params[2:])
            loss = loss_of(out, y.to(here))
        grads = torch.autograd.grad(loss * factor, [p for p in params if p.requires_grad])
        return torch.cat([g.flatten() for g in grads])

    exact, found = gradients(1.0, False), gradients(scale, True)
    there = exact != 0
    return (
        (there & (found == 0)).sum().item() / there.sum().item(),
        (found == 0).float().mean().item(),
        (there & ((exact * scale).to(dtype) == 0)).sum().item() / there.sum().item(),
    )


with check(
    "gradients of all sizes, three scales",
    weight=4,
    required=True,
    hint="Where is the loss multiplied? Which elements do you count, and out of how many?",
):
    for n, seed, scale in ((6, 5, 1.0), (11, 6, 64.0), (4, 7, 4096.0)):
        (y,) = drawn(seed, (n, 3))
        case = (units(n), [True] * 4, 40 * regression([n], seed)[0][0], y)
        want, _, cast = share_lost(*case, mixed_loss, torch.float16, scale)
        products, multiplied = set(), set()

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            products.add((torch.is_autocast_enabled(here.type), out.dtype))
            return out

        def noting_loss(out, y):
            loss, low = mixed_loss(out, y), torch.is_autocast_enabled(here.type)
            loss.register_hook(lambda grad: multiplied.add(grad.item() if low else "float32"))
            return loss

        explain(
            underflow_of(underflow_fraction, *case, noting_loss, torch.float16, scale, product),
            want,
            {"small numbers are lost between the layers too, not only in the last cast": cast},
            atol=0.001,
        )
        assert products == {(False, torch.float32), (True, torch.float16)}, "not in float32 and under autocast"
        assert multiplied == {scale, "float32"}, "the loss under autocast was not multiplied by the scale"
    t, y = torch.linspace(1, 2, 12).reshape(3, 4), torch.zeros(3, 3)
    start = [torch.ones(5, 4), torch.ones(5), torch.ones(3, 5), torch.ones(3)]
    weights = torch.tensor([1.0, 1.0, 1e-12])
    got = underflow_of(
        underflow_fraction,
        start,
        [True] * 4,
        t,
        y,
        lambda out, y: (weights.to(here) * (out - y).float().square()).mean(),
        torch.float16,
        1.0,
    )
    assert_close(got, 6 / 43, rtol=1e-9, atol=0)  # of the weights and biases, those of the third result
    large = 1e4 * torch.eye(3)  # the loss multiplies by it in float16, where 1e-9 is zero
    (y,) = drawn(8, (4, 3))
    case = (units(6), [True] * 4, regression([4], 8)[0][0], y)
    case = (*case, lambda out, y: 1e-9 * (out @ large.to(here)).sum(), torch.float16, 1.0)
    want, _, _ = share_lost(*case)
    assert_close(underflow_of(underflow_fraction, *case), want)
with check(
    "units that are always off, and a layer that is frozen",
    weight=3,
    required=True,
    hint="Which elements are zero in float32 already? Which parameters count?",
):
    for n, off, trained, scale in (
        (6, 3, [True] * 4, 1.0),
        (5, 0, [False, False, True, True], 128.0),
        (7, 2, [True] * 4, 2.0**20),
        (5, 0, [True, False, False, True], 16.0),
    ):
        (y,) = drawn(n, (8, 3))
        case = (units(n, off), trained, regression([8], n)[0][0], y, mixed_loss, torch.float16, scale)
        want, zeros, _ = share_lost(*case)
        explain(
            underflow_of(underflow_fraction, *case),
            want,
            {"an element that is zero in float32 was not lost": zeros if off else None},
            atol=0.001,
        )
with check("bfloat16 loses nothing here", weight=2, hint="Which dtype do you give to autocast?"):
    (y,) = drawn(5, (5, 3))
    for scale, want in ((1.0, 0.0), (1e-35, 1.0)):
        case = (units(4), [True] * 4, regression([5], 12)[0][0], y, faint_loss, torch.bfloat16, scale)
        assert_close(underflow_of(underflow_fraction, *case), want)
with check("what overflows is not zero", weight=1, hint="Is nan == 0? Which elements do you count as lost?"):
    (y,) = drawn(6, (7, 3))
    case = (units(5), [True] * 4, regression([7], 14)[0][0], y, faint_loss, torch.float16, 2.0**60)
    assert_close(underflow_of(underflow_fraction, *case), 0.0)
with check("a loss without slope", weight=1, hint="What is 0 / 0?"):
    for trained in ([False, False, True, True], [True] * 4):
        case = (units(5), trained, torch.ones(2, 4), torch.zeros(2, 3), lambda out, y: 0 * out.sum())
        assert_close(underflow_of(underflow_fraction, *case, torch.float16, 1.0), 0.0)
with check("the model keeps its .grad and its weights", guard=True, hint="Which call writes to .grad?"):
    for grads in ([*drawn(1, (4, 4), (4,), (3, 4), (3,))], [None] * 4, [None, torch.ones(4), None, None]):
        case = (units(4), [True, True, grads[0] is None, True], regression([3], 13)[0][0], torch.zeros(3, 3))
        case = (*case, faint_loss, torch.float16, 8.0)
        want = [None if g is None else g.clone() for g in grads]
        got = underflow_of(underflow_fraction, *case, see="left", grads=grads)
        assert_close(got["grads"], want, rtol=0, atol=0, name=".grad")
        assert_close(got["weights"], units(4), rtol=0, atol=0, name="the weights")
        assert_close(got["modes"], [False, *case[1]], name="autocast, and which parameters require grad")
### END HIDDEN TESTS


# %% [markdown]
# One of the checks has large inputs and a faint loss. There the gradient of the weight, computed in `float32` and then
# cast to `float16`, keeps more than autocast does. What is lost between two layers stays lost, however large it would
# have become at the weight.
#
# ## Loss scaling
#
# Which scale is right? Too small, and small gradients are 0. Too large, and large ones become `inf`. `GradScaler` tries
# it out while it trains. After a step with `inf` or `nan` in a gradient it halves the scale. After 2,000 good steps in
# a row it doubles it. Three questions before you run the cell. Where does it start? What does `GradScaler()` do without
# CUDA? And with weights that are `float16` themselves?

# %% given
scaler = torch.amp.GradScaler(here.type)
print("start:", scaler.get_scale(), " doubles after", scaler.get_growth_interval(), "good steps")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    default = torch.amp.GradScaler()
print("GradScaler():", default.get_scale(), default.is_enabled(), [warning.category.__name__ for warning in caught])

torch.manual_seed(0)
half = nn.Linear(2, 2).to(here).half()
half_sgd = torch.optim.SGD(half.parameters(), lr=0.1)
scaler.scale(half(torch.ones(1, 2, device=here).half()).float().sum()).backward()
try:
    scaler.step(half_sgd)
except ValueError as refused:
    print("float16 weights:", type(refused).__name__)

# %% [markdown]
# `GradScaler()` means CUDA. Without CUDA it warns, is switched off, and its scale is 1. `GradScaler("cpu")` works. And
# a scaler refuses gradients that are `float16`: it is made for autocast, where they are `float32`. "`float16` needs a
# GradScaler" is true for training. Inference has no gradients, and there `model.half()` is fine.
#
# A scaler has four calls for each step, in this order.
#
# 1. `scaler.scale(loss).backward()`: gradients that are too large by the scale.
# 2. `scaler.unscale_(optimizer)`: divides them, and looks for `inf` and `nan`. Left out, `step` does it.
# 3. `scaler.step(optimizer)`: calls `optimizer.step()`, unless something was found.
# 4. `scaler.update()`: changes the scale.
#
# What happens to the parameters in a step that is skipped? What to the momentum? And is it repeated?
#
# ### Your turn
# Write it. A step that is skipped changes nothing at all, and is not repeated: that batch is lost.

# %% given
hint(
    "What has to be remembered from one method to the next: the scale, the count, what unscale_ saw, and what else?",
    "Which test is false for inf, for -inf and for nan? When does step have to call unscale_ itself?",
)


# %% exercise: MyScaler
class MyScaler:
    """Loss scaling for one optimizer, as torch.amp.GradScaler does it."""

    def __init__(
        self, init_scale: float, growth_interval: int, growth_factor: float = 2.0, backoff_factor: float = 0.5
    ) -> None:
        """init_scale: the scale at first. The others say what update does."""
        ### BEGIN SOLUTION
        self.now, self.interval = init_scale, growth_interval
        self.growth, self.backoff = growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"
        ### END SOLUTION

    def get_scale(self) -> float:
        """The scale of now, a float."""
        ### BEGIN SOLUTION
        return float(self.now)
        ### END SOLUTION

    def scale(self, loss: Tensor) -> Tensor:
        """The loss, a tensor of any shape, times the scale."""
        ### BEGIN SOLUTION
        return loss * self.now
        ### END SOLUTION

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the .grad of all the optimizer's parameters by the scale, in place, and note if all are finite.

        A parameter whose .grad is None is passed over; where all are None, all are finite. Raises RuntimeError if it
        was called since the last update, or if step was.
        """
        ### BEGIN SOLUTION
        if self.stage != "ready":
            raise RuntimeError(f"unscale_ after {self.stage}")
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())
        ### END SOLUTION

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Let the optimizer take its step, unless a gradient is inf or nan. Then nothing of the optimizer changes.

        A finite gradient whose sum overflows may count as inf.

        Calls unscale_ first, unless it was called since the last update. Raises RuntimeError if step was called since
        the last update.
        """
        ### BEGIN SOLUTION
        if self.stage == "step":
            raise RuntimeError("step after step")
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()
        ### END SOLUTION

    def update(self) -> None:
        """Set the scale for the next step. Is called once after each step.

        After a skipped step, multiply the scale by backoff_factor. After growth_interval steps in a row of which none
        was skipped, multiply it by growth_factor, and count these steps anew.
        """
        ### BEGIN SOLUTION
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"
        ### END SOLUTION


# %% given
@probes.probe
def scaled_steps(make, runs, see="scale", term=None):
    """Steps of SGD in several runs by turns, each with a scaler that make(...) gives, and what is there after each.

    A run: the scaler's settings; the parameters at first; for each step, one slope or None for each parameter; the
    momentum; the steps in which unscale_ is called first. The loss is the sum of each parameter times its slope, which
    term(parameter, slope) computes, where it is given.
    Returns for each run a list of scales, of parameters, of their momenta, or of gradients behind an early unscale_.
    """
    begun, seen = [], [[] for _ in runs]
    for settings, starts, slopes, momentum, early in runs:
        parameters = [nn.Parameter(t.clone().to(here)) for t in starts]
        sgd = torch.optim.SGD([{"params": [p]} for p in parameters], lr=0.1, momentum=momentum)
        begun.append((make(**settings), parameters, sgd, slopes, early))
    for n in range(max(len(run[2]) for run in runs)):
        for rows, (scaler, parameters, sgd, slopes, early) in zip(seen, begun, strict=True):
            if n >= len(slopes):
                continue
            sgd.zero_grad()
            pairs = [(p, s.to(here)) for p, s in zip(parameters, slopes[n], strict=True) if s is not None]
            terms = [term(p, s) if term else (p * s).sum() for p, s in pairs]
            if terms:
                scaler.scale(torch.stack(terms).sum()).backward()
            grads = [p.grad for p in parameters]
            if n in early:
                scaler.unscale_(sgd)
            found = {"grads": [None if g is None else g.cpu().clone() for g in grads]}
            scaler.step(sgd)
            scaler.update()
            found["scale"], found["parameters"] = scaler.get_scale(), [p.detach().cpu().clone() for p in parameters]
            buffers = [sgd.state[p].get("momentum_buffer") for p in parameters]
            found["momenta"] = [None if b is None else b.cpu().clone() for b in buffers]
            rows.append(found[see])
    return seen


@probes.probe
def orders(make, calls):
    """For each of these calls of a scaler's methods, whether it raised RuntimeError."""
    scaler, w = make(8.0, 100), nn.Parameter(torch.ones(2, device=here))
    sgd, raised = torch.optim.SGD([w], lr=0.1), []
    scaler.scale(w.sum()).backward()
    for call in calls:
        try:
            scaler.update() if call == "update" else getattr(scaler, call)(sgd)
            raised.append(False)
        except RuntimeError:
            raised.append(True)
    return raised


def noise(seed, shapes, steps, bad=()):
    """Slopes for scaled_steps. bad: (step, parameter, value) that is planted in one element."""
    generator = torch.Generator().manual_seed(seed)
    slopes = [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(steps)]
    for step, parameter, value in bad:
        slopes[step][parameter].view(-1)[-1] = value
    return slopes


# %% check: MyScaler points=5
with check("seven steps, one with inf and one with nan: the scale after each", weight=2, required=True):
    t = noise(1, [(2,)], 7, [(2, 0, math.inf), (4, 0, math.nan)])
    explain(
        scaled_steps(MyScaler, [({"init_scale": 4.0, "growth_interval": 2}, [torch.zeros(2)], t, 0.0, [])]),
        [[4.0, 8.0, 4.0, 4.0, 2.0, 2.0, 4.0]],
        {
            "the good steps are to be in a row: count anew after a skip": [[4.0, 8.0, 4.0, 4.0, 2.0, 4.0, 4.0]],
            "nan is not finite either": [[4.0, 8.0, 4.0, 4.0, 8.0, 8.0, 16.0]],
            "after growth_interval good steps the scale grows": [[4.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0]],
        },
    )
### BEGIN HIDDEN TESTS


def runs_by_hand(runs, see):
    """What scaled_steps is to give. The slopes are the gradients."""
    return [list(steps_of_run(*run, see)) for run in runs]


def steps_of_run(settings, starts, slopes, momentum, early, see):
    scale, good, now = settings["init_scale"], 0, {"parameters": starts, "momenta": [None] * len(starts)}
    for row in slopes:
        if all(g is None or bool(g.isfinite().all()) for g in row):
            pairs = list(zip(now["momenta"], row, strict=True))
            moved = [b if g is None else g if b is None else momentum * b + g for b, g in pairs]
            steps = zip(now["parameters"], moved, row, strict=True)
            now["parameters"] = [p if g is None else p - 0.1 * b for p, b, g in steps]
            now["momenta"] = moved if momentum else now["momenta"]
            good += 1
            if good == settings["growth_interval"]:
                scale, good = scale * settings.get("growth_factor", 2.0), 0
        else:
            scale, good = scale * settings.get("backoff_factor", 0.5), 0
        yield {**now, "scale": scale, "grads": row}[see]


def run_of(seed, shapes, steps, bad, interval, momentum=0.0, early=(), first=16.0):
    starts = noise(seed + 9, shapes, 1)[0]
    settings = {"init_scale": first, "growth_interval": interval}
    return settings, starts, noise(seed, shapes, steps, bad), momentum, list(early)


with check(
    "scales and parameters of twenty steps are those of GradScaler",
    weight=4,
    required=True,
    hint="By what are the gradients divided, and how often? What moves in a step that is skipped?",
):
    t = [
        run_of(
            seed, shapes, 20, [(5, last, math.inf), (6, 0, -math.inf), (11, 0, math.nan), (12, last, math.nan)], *rest
        )
        for seed, shapes, last, *rest in (
            (2, [(3,), (2, 2)], 1, 3, 0.9, (1, 4, 7, 8)),
            (3, [(4,)], 0, 1, 0.0, ()),
            (4, [(), (5,), (0,), (1,)], 3, 4, 0.5, range(20)),
        )
    ]
    for see in ("scale", "parameters"):
        want = runs_by_hand(t, see)
        assert_close(scaled_steps(MyScaler, t, see), want, name=f"{see} of three scalers by turns")
with check(
    "the loss is scaled before the backward pass", weight=2, required=True, hint="What does scale(loss) return?"
):
    for first, interval in ((16.0, 2), (3.0, 1)):
        t = run_of(10, [(3,)], 4, [(2, 0, math.inf)], interval, first=first)
        scales, want = [first, *runs_by_hand([t], "scale")[0]][:-1], runs_by_hand([t], "parameters")
        settings, starts, slopes, *rest = t
        factors = []

        def noting_term(p, n):
            out = (p * slopes[int(n)][0].to(here)).sum()
            out.register_hook(lambda grad: factors.append(grad.item()))
            return out

        t = [(settings, starts, [[torch.tensor(n)] for n in range(4)], *rest)]  # the slopes come through backward alone
        assert_close(scaled_steps(MyScaler, t, "parameters", noting_term), want, name="the parameters")
        assert factors == scales, "the gradient that came back is not the scale of its step"
with check("a skipped step leaves the momentum too", weight=2, hint="What does optimizer.step() do with zeros?"):
    t = [
        run_of(5, [(3,), (2,)], 6, [(2, 1, math.inf), (3, 0, math.nan)], 50, 0.9, (2,), 64.0),
        run_of(6, [(4,), (2, 2)], 5, [(1, 0, math.nan), (3, 1, -math.inf)], 50, 0.5, (), 8.0),
    ]
    for see in ("momenta", "parameters"):
        want = runs_by_hand(t, see)
        assert_close(scaled_steps(MyScaler, t, see), want, name=see)
with check(
    "one element of one parameter is enough, and the scale is halved once",
    weight=2,
    hint="What do you do for each parameter, and what once for all?",
):
    shapes = [(4,), (3, 2), (1,)]
    t = [
        run_of(6, shapes, 3, [(1, 0, math.inf)], 9, first=32.0),
        run_of(7, shapes, 3, [(1, 0, math.nan), (1, 1, math.inf), (1, 2, -math.inf)], 9, first=32.0),
        run_of(8, shapes, 3, [(1, 0, 1e30)], 9, first=32.0),
    ]
    got = scaled_steps(MyScaler, t)
    assert_close(got, [[32.0, 16.0, 16.0], [32.0, 16.0, 16.0], [32.0, 32.0, 32.0]], name="the scales")
with check("unscale_ leaves the gradients of the loss", weight=2, hint="By what is .grad to be divided, and in place?"):
    t = [run_of(7, [(3,), (2,)], 4, [(1, 0, math.inf)], 2, early=range(4), first=1024.0)]
    t[0][2][2][1] = None
    want = runs_by_hand(t, "grads")
    assert_close(scaled_steps(MyScaler, t, "grads"), want, name="what .grad was before unscale_, after it")
with check("steps without any gradient", weight=1, hint="What does your unscale_ do where every .grad is None?"):
    t = [run_of(seed, [(3,), (2,)], 5, [(3, 1, math.inf)], 2, early=(0, 1)) for seed in (8, 9)]
    t[0][2][1] = t[1][2][0] = t[1][2][2] = t[0][2][4] = [None, None]
    for see in ("scale", "parameters"):
        want = runs_by_hand(t, see)
        assert_close(scaled_steps(MyScaler, t, see), want, name=see)
with check("other factors", weight=1, hint="Which numbers do you multiply by in update?"):
    t = [run_of(8, [(2,)], 6, [(1, 0, math.inf), (2, 0, math.inf)], 2, first=100.0) for _ in range(2)]
    t[0][0].update({"growth_factor": 4.0, "backoff_factor": 0.25})
    t[1][0].update({"growth_factor": 8.0})
    got = scaled_steps(MyScaler, t)
    want = [[100.0, 25.0, 6.25, 6.25, 25.0, 25.0], [100.0, 50.0, 25.0, 25.0, 200.0, 200.0]]
    assert_close(got, want, name="the scales")
with check("calls in a wrong order", weight=2, hint="Which calls are refused until the next update?"):
    for t, refused in (
        (["unscale_", "unscale_", "step", "update", "unscale_"], [1]),
        (["step", "step", "update", "step"], [1]),
        (["step", "unscale_", "update", "unscale_", "step", "step"], [1, 5]),
    ):
        want = [n in refused for n in range(len(t))]
        assert_close(orders(MyScaler, t), want, name="whether RuntimeError was raised")
with check("scale multiplies a tensor, and two scalers know nothing of each other", guard=True):
    one, two = MyScaler(8.0, 2), MyScaler(32.0, 2)
    t = torch.tensor([0.5, -3.0])
    assert_close(one.scale(t), torch.tensor([4.0, -24.0]))
    assert_close(two.scale(t), torch.tensor([16.0, -96.0]))
    assert_close([one.get_scale(), two.get_scale()], [8.0, 32.0])
    assert_close(t, torch.tensor([0.5, -3.0]))
### END HIDDEN TESTS


# %% [markdown]
# PyTorch's own scaler keeps its scale on the GPU. It still has to ask the GPU in each step if something was found,
# unless the optimizer was made with `fused=True`: then the step's kernel looks by itself, and the CPU does not wait. A
# scaler also has `state_dict()`: scale and count belong into a checkpoint, beside the model and the optimizer. Start
# again at 65536 instead, and some batches may be lost until the scale is found once more.
#
# ## The whole step
#
# Gradient clipping compares a norm with a limit. Where does it belong among the four calls? And what if somebody
# forgets the scaler's `step`, and calls `optimizer.step()`? Here is a small model with a loss that was multiplied by
# 1e-6. Which of the four runs learns? Does the third one, which clips before it unscales, raise an error?


# %% given
def faint_run(dtype, scaled, clip_first=False):
    """Losses of forty steps of SGD. The gradients are those of the loss times 1e-6, the rate makes up for it."""
    generator = torch.Generator().manual_seed(0)
    xs = torch.randn(64, 8, generator=generator).to(here)
    ys = xs[:, :1] + xs[:, 1:2] / 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(here)
    sgd, seen = torch.optim.SGD(net.parameters(), lr=1e5), []
    scaler = torch.amp.GradScaler(here.type, enabled=scaled)
    for _ in range(40):
        sgd.zero_grad()
        with torch.autocast(here.type, dtype=dtype):
            loss = F.mse_loss(net(xs), ys)
        scaler.scale(1e-6 * loss).backward()
        if clip_first:
            nn.utils.clip_grad_norm_(net.parameters(), 1e-6)
        scaler.step(sgd)
        scaler.update()
        seen.append(loss.item())
    return seen


show_curves(
    {
        "float16, no scaler": faint_run(torch.float16, False),
        "float16, scaler": faint_run(torch.float16, True),
        "float16, clipped before unscale_": faint_run(torch.float16, True, clip_first=True),
        "bfloat16, no scaler": faint_run(torch.bfloat16, False),
    }
)

# %% [markdown]
# From 1.153, the runs reach 0.240, 0.0150, 1.153 and 0.0148. Without a scaler, `float16` loses a part of its gradients.
# The third run clips gradients that are 65536 times too large, to a norm of 1e-6, and then divides them by 65536. It
# hardly moves, and nothing says so.
#
# Adam divides each gradient by its own size, and so it hides the mistake. The same model with the plain loss, clipped
# to a norm of 1, forty steps: SGD ends at 0.015 in the right order and at 1.153 in the wrong one. Adam ends at 0.0065
# and at 0.0027. Nothing looks wrong there. That is why the checks use SGD.
#
# And the other mistake? The weight is 1, its loss is w squared, the rate is 0.3. An ordinary step leads to 0.4.

# %% given
w = nn.Parameter(torch.ones(1, device=here))
wrong_sgd, wrong_scaler = torch.optim.SGD([w], lr=0.3), torch.amp.GradScaler(here.type)
wrong_scaler.scale(w.square().sum()).backward()
wrong_sgd.step()  # not wrong_scaler.step(wrong_sgd)
print("w after optimizer.step():", round(w.item()))

# %% [markdown]
# `optimizer.step()` takes the scaled gradient, and w goes to -39321 in one step.
#
# Some wrong orders raise `RuntimeError`: a second `unscale_` or a second `step` before `update`, or `unscale_` after
# `step`. So does a step after a forgotten `update()`, in the second round.
#
# ### Your turn
# Put it all together: autocast, scaling, clipping.

# %% given
hint(
    "clip_grad_norm_ compares the norm with clip. In which unit are the gradients before unscale_?",
    "clip_grad_norm_ returns a norm. Which of the calls on the scaler are still missing?",
)


# %% exercise: amp_step
def amp_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    x: Tensor,
    y: Tensor,
    loss_of: Callable,
    dtype: torch.dtype,
    clip: float,
) -> float:
    """One training step in mixed precision with loss scaling and gradient clipping.

    x, y: on the model's device. optimizer: of all the model's parameters. scaler: as its last update left it. Where a
    scaled gradient is finite, so is the norm of all of them.
    The loss is loss_of(model(x), y), under autocast with dtype, float16 or bfloat16.
    The gradients of all parameters together are clipped to a norm of at most clip, as nn.utils.clip_grad_norm_ does.
    Gradients from before do not count. A parameter that takes no part in the loss stays as it is.
    The scaler may be switched off (enabled=False): the step is then an ordinary one, clipped too, and always taken.
    Where a gradient is inf or nan, an enabled scaler skips the step. Autocast is off at the call, and off afterwards.
    Returns the norm of the gradients of the loss, before clipping, as a float. After a skipped step it is inf or nan.
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
    ### END SOLUTION


# %% given
@probes.probe
def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, see="norm", more=(), product=F.linear
):
    """step on each batch in turn, and what is there after each: the norm, the scale, the weights, the momenta.

    Or the length of the step, whether the norm is finite, or whether autocast is on. scale: the first one of a scaler
    that doubles it after `every` good steps; None switches the scaler off. more: parameters that take no part.
    product: of the linear layer. see: what comes back; several names give a dict.
    """
    model, seen = model_of(start, head, product), []
    spare = [nn.Parameter(value.to(here)) for value in more]
    for n, parameter in enumerate(spare):
        model.register_parameter(f"more{n}", parameter)
    scaler = torch.amp.GradScaler(here.type, init_scale=scale or 1.0, growth_interval=every, enabled=scale is not None)
    groups = [{"params": [*model[0].parameters()]}, {"params": spare, "weight_decay": 0.5}]
    sgd = torch.optim.SGD(groups, lr=lr, momentum=momentum)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3e4)  # of somebody else
    for x, y in batches:
        before = torch.cat([t.flatten() for t in weights_of(model)])
        norm = step(model, sgd, scaler, x.to(here), y.to(here), loss_of, dtype, clip)
        after = weights_of(model)
        buffers = [sgd.state[p].get("momentum_buffer") for p in model[0].parameters()]
        record = {"norm": norm, "scale": scaler.get_scale(), "weights": after, "finite": math.isfinite(norm)}
        record["momenta"] = [None if b is None else b.cpu().clone() for b in buffers]
        record["length"] = (torch.cat([t.flatten() for t in after]) - before).norm().item()
        record["autocast"] = torch.is_autocast_enabled(here.type)
        seen.append(record)
    if isinstance(see, str):
        return [record[see] for record in seen]
    return {name: [record[name] for record in seen] for name in see}


# %% check: amp_step points=4
with check("a step is not longer than lr times clip, and not much shorter", weight=2, required=True):
    t, (w,) = regression([6], 21), drawn(2, (9, 2))
    explain(
        amp_stepped(
            amp_step,
            drawn(1, (9, 4), (9,)),
            lambda x: torch.tanh(x) @ w.to(x),
            t,
            F.mse_loss,
            torch.float16,
            0.01,
            1.0,
            0.0,
            1024.0,
            3,
            "length",
        ),
        [0.01],
        {"the scaled gradients were clipped, and then divided by the scale": [0.01 / 1024]},
        rtol=0.01,
        atol=1e-6,
    )
### BEGIN HIDDEN TESTS


def tanh_head(width):
    """A head with weights of its own."""
    (w,) = drawn(200 + width, (width, 2))
    return lambda x: torch.tanh(x) @ w.to(x)


def uneven_loss(out, y):
    """A mean of squares, and a little for results that are large. float32 under autocast."""
    return F.mse_loss(out, y) + 0.1 * out.float().mean()


def amp_expected(see, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every):
    """Norms, scales, weights or momenta, by hand: without a GradScaler."""
    params, seen = [t.clone().to(here).requires_grad_() for t in start], []
    momenta, factor, good = [torch.zeros_like(p) for p in params], scale or 1.0, 0
    for x, y in batches:
        with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = loss_of(head(F.linear(x.to(here), *params)), y.to(here))
        grads = [g / factor for g in torch.autograd.grad(loss * factor, params)]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt().item()
        if math.isfinite(norm) or scale is None:
            part = min(1.0, clip / (norm + 1e-6))
            momenta = [momentum * m + part * g for m, g in zip(momenta, grads, strict=True)]
            with torch.no_grad():
                for p, m in zip(params, momenta, strict=True):
                    p -= lr * m
            good += 1
            if scale and good == every:
                factor, good = 2 * factor, 0
        else:
            factor, good = factor / 2, 0
        record = {"norm": norm, "scale": factor, "weights": [p.detach().cpu().clone() for p in params]}
        seen.append((record | {"momenta": [m.cpu() for m in momenta], "finite": math.isfinite(norm)})[see])
    return seen


def amp_case(n, sizes, seed, *rest):
    return drawn(n, (n, 4), (n,)), tanh_head(n), regression(sizes, seed), *rest


with check(
    "norms and weights of six steps, both formats",
    weight=4,
    required=True,
    hint="Is the norm that you return the one before clipping, and of which gradients?",
):
    for n, sizes, low, clip, lr, first in (
        (9, [4, 7, 1, 5, 6, 3], torch.float16, 0.3, 0.5, 1024.0),
        (3, [5, 2, 4, 3], torch.bfloat16, 50.0, 0.05, 512.0),
    ):
        case = amp_case(n, sizes, n, uneven_loss, low, clip, lr, 0.9, first, 3)
        norms, scales = amp_expected("norm", *case), [first, *amp_expected("scale", *case)][:-1]
        weights = amp_expected("weights", *case)
        got = amp_stepped(amp_step, *case, see=["norm", "weights"])
        explain(
            got["norm"],
            norms,
            {
                "these are the norms of the scaled gradients": [n * s for n, s in zip(norms, scales, strict=True)],
                "these are the norms after clipping": [min(norm, clip) for norm in norms],
            },
            rtol=2e-2,
        )
        assert_close(got["weights"], weights, rtol=2e-2, atol=1e-2, name="the weights")
with check(
    "the format shows in the norm",
    weight=2,
    required=True,
    hint="257 is not a number of bfloat16, nor 2051 one of float16. Is the whole forward pass in that format?",
):
    for low, n in ((torch.bfloat16, 256.0), (torch.float16, 2050.0)):
        t = [(torch.tensor([[n + 1, n]]), torch.tensor([[3.0]]))]
        case = ([torch.tensor([[1.0, -1.0]]), torch.zeros(1)], lambda x: x.clone(), t, F.mse_loss)
        rest = (1.0, 1e-3, 0.0, 2.0, 3)
        want, plain = (amp_expected("norm", *case, each, *rest) for each in (low, torch.float32))
        got = amp_stepped(amp_step, *case, low, *rest)
        explain(got, want, {"this is the norm in float32": plain}, rtol=1e-2)


def noting_factors(factors):
    """A mean of squares that notes by what it was multiplied before each backward pass."""

    def loss_of(out, y):
        loss = F.mse_loss(out, y)
        loss.register_hook(lambda grad: factors.append(grad.item()))
        return loss

    return loss_of


with check("the scale after each step", weight=2, required=True, hint="Who tells the scaler that the step is over?"):
    for low, scale, every in ((torch.float16, 1024.0, 3), (torch.bfloat16, 64.0, 2)):
        case = amp_case(3, [4, 2, 3, 5], 31, F.mse_loss, low, 100.0, 0.1, 0.0, scale, every)
        want, weights = amp_expected("scale", *case), [drawn(3, (3, 4), (3,)), *amp_expected("weights", *case)]
        factors, passes, met = [], [], []

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            passes.append((torch.is_autocast_enabled(here.type), weight.dtype, out.dtype))
            met.append([weight.detach().cpu().clone(), bias.detach().cpu().clone()])
            return out

        start, head, t, _, *rest = case
        seen = Seen(product)
        got = amp_stepped(amp_step, start, head, t, noting_factors(factors), *rest, see="scale", product=seen)
        assert_close(got, want, name="the scales")
        assert factors == [scale, *want][:-1], "the loss was not multiplied by the scale of its step"
        assert passes == [(True, torch.float32, low)] * 4, "autocast, the dtype of the weights, or that of the product"
        assert_close(met, weights[:-1], rtol=2e-2, atol=1e-2, name="the weights at each forward pass")
        assert seen.backwards == 4, "the gradients of the weights did not come back through the layer"
with check(
    "a gradient of 1e-7 arrives",
    weight=2,
    required=True,
    hint="Where does a faint loss become 0 in float16, and which call prevents that?",
):

    def faint(out, y):
        return 1e-7 * F.mse_loss(out, y)

    for n in (9, 4):
        case = amp_case(n, [6, 5, 4], n, faint, torch.float16, 1.0, 3e6, 0.0, 65536.0, 3)
        norms, weights = amp_expected("norm", *case), amp_expected("weights", *case)
        got = amp_stepped(amp_step, *case, see=["norm", "weights"])
        assert_close(got["norm"], norms, rtol=1e-2, atol=0, name="the norms")
        assert_close(got["weights"], weights, rtol=2e-2, atol=5e-3, name="the weights")
with check(
    "a batch that overflows is skipped: weights and momentum stay",
    weight=3,
    hint="Which object decides whether there is a step?",
):
    for value in (1e6, math.nan):
        case = amp_case(3, [4, 3, 5, 4], 33, F.mse_loss, torch.float16, 1.0, 0.2, 0.9, 1024.0, 3)
        case[2][2][0][1, 2] = value  # 1e6 is inf in float16
        want = {see: amp_expected(see, *case) for see in ("finite", "weights", "momenta", "scale")}
        got = amp_stepped(amp_step, *case, see=[*want])
        assert_close(got, want, rtol=2e-2, atol=1e-2, name="your steps")
with check("small steps reach the weights", weight=1, hint="Which dtype have the weights when the step adds to them?"):
    for n, low in ((9, torch.bfloat16), (3, torch.float16)):
        case = amp_case(n, [5, 4, 6], 35, F.mse_loss, low, 100.0, 1e-4, 0.0, 1024.0, 3)
        want = amp_expected("weights", *case)
        assert_close(amp_stepped(amp_step, *case, see="weights"), want, rtol=0, atol=1e-5, name="the weights")
with check("a scaler that is switched off", weight=2, hint="Does your step read the scaler's private state?"):
    for clip in (0.2, 100.0):
        case = amp_case(8, [4, 6, 3], 34, F.mse_loss, torch.bfloat16, clip, 0.2, 0.5, None, 3)
        norms, weights = amp_expected("norm", *case), amp_expected("weights", *case)
        got = amp_stepped(amp_step, *case, see=["norm", "weights"])
        assert_close(got["norm"], norms, rtol=2e-2, name="the norms")
        assert_close(got["weights"], weights, rtol=2e-2, atol=1e-2, name="the weights")
    case[2][1][0][0, 0] = math.nan
    want = amp_expected("weights", *case)
    got = amp_stepped(amp_step, *case, see="weights")
    assert_close(got, want, rtol=2e-2, atol=1e-2, name="the weights, where a gradient is nan")
with check("a parameter that takes no part", weight=1, hint="What is its .grad, and what do you do with it?"):
    for low, momentum in ((torch.float16, 0.0), (torch.bfloat16, 0.9)):
        case = amp_case(5, [3, 4, 2], 36, F.mse_loss, low, 0.5, 0.3, momentum, 256.0, 2)
        want = [[torch.ones(3), *weights] for weights in amp_expected("weights", *case)]
        got = amp_stepped(amp_step, *case, see="weights", more=[torch.ones(3)])
        assert_close(got, want, rtol=2e-2, atol=1e-2, name="the weights")
with check("the norm is a float, and autocast is off afterwards", guard=True):
    case = amp_case(3, [2], 1, F.mse_loss, torch.float16, 1.0, 0.1, 0.0, 1024.0, 3)
    want = {"norm": amp_expected("norm", *case), "autocast": [False]}
    got = amp_stepped(amp_step, *case, see=["norm", "autocast"])
    assert_close(got, want, rtol=2e-2, name="norm, and autocast behind it")
### END HIDDEN TESTS


# %% [markdown]
# A skipped step shows nowhere, except in the scale. With the scaler switched off, your function is an ordinary step. So
# one loop serves all formats: `GradScaler(here.type, enabled=dtype == torch.float16)`.
#
# ### Your turn
# A few skips at the start are normal: the scale is being found. Skips that do not end mean that the model gives `inf`
# or `nan` at any scale. You have a log of scales, written now and then. How many steps were skipped, at least?

# %% given
hint(
    "From 8 to 2 without a growth in between: how many halvings is that? And from 2 to 8?",
    "The logarithm to base 2 counts halvings. Which differences of it do you add up?",
)


# %% exercise: count_skips
def count_skips(scales: list[float]) -> int:
    """The least number of skipped steps that explains a log of loss scales.

    scales: positive numbers, what get_scale() gave now and then, in order; there may be none. Between two of them there
    may have been any number of steps. A skipped step halves the scale. The scale also doubles, after good steps.
    """
    ### BEGIN SOLUTION
    return sum(max(0, round(math.log2(before / after))) for before, after in pairwise(scales))
    ### END SOLUTION


# %% check: count_skips points=2
with check("8, 4, 4, 8, 2, 2, 4: three skips", weight=2, required=True):
    explain(
        count_skips([8.0, 4.0, 4.0, 8.0, 2.0, 2.0, 4.0]),
        3,
        {
            "from 8 to 2 the scale was halved twice": 2,
            "a scale that grows is no skip": 4,
            "a later doubling does not undo a skip": 1,
        },
    )
### BEGIN HIDDEN TESTS
with check("other logs", weight=4, required=True, hint="How often is 4096 halved on its way to 32?"):
    for t, want in (
        ([65536.0, 32768.0, 32768.0, 16384.0, 32768.0, 32768.0], 2),
        ([4096.0, 32.0, 64.0, 16.0, 16.0, 8.0], 10),
        ([2.0, 4.0, 8.0, 64.0], 0),
        ([1.0, 0.5, 0.125, 0.25, 0.0625], 5),
        ([2.0**40, 2.0**34], 6),
    ):
        assert_close(count_skips(t), want)
with check("scales that are no powers of two", weight=2, hint="Is the log exact? What does your rounding do?"):
    for t, want in (([1000.0, 500.0, 62.5, 125.0, 31.25], 6), ([0.3, 0.15, 0.3, 0.0375], 4), ([3e5, 1.5e5], 1)):
        assert_close(count_skips(t), want)
with check("one scale, and none", guard=True, hint="From which scale does the first one come?"):
    assert_close([count_skips([512.0]), count_skips([])], [0, 0])
### END HIDDEN TESTS


# %% [markdown]
# Would you notice a skip that was followed by a doubling between two entries? No. Your number is a least one.
#
# ## When bfloat16 stands still
#
# `bfloat16` needs no scaler, and most GPUs of today (A100 and H100 among them) and some CPUs have it. So why not make
# the whole model `bfloat16`, weights and all? That would halve the memory of the weights. It is often said that
# networks need range more than precision. Add 0.001 to 1, a thousand times. Where do you arrive?

# %% given
for dtype in (torch.float32, torch.bfloat16):
    total = torch.tensor(1.0, dtype=dtype)
    for _ in range(1000):
        total += 1e-3
    print(f"{dtype!s:14} {total.item():.4f}")

# %% [markdown]
# In `bfloat16` the ulp of 1 is 0.0078. A step of 0.001 is less than half of that, and is rounded away, a thousand
# times. The gradient is right, the step is right, and the weight does not move. That is a *stall*. It happens to any
# weight whose steps are smaller than half of its ulp, which means: late in training, with a small rate, to the large
# weights first. For activations and gradients range does matter more. For weights that are added to for a long time,
# precision does.
#
# Autocast does not stall: its weights are `float32`. Where the weights are `bfloat16`, something must remember what was
# rounded away. A `float32` *master copy* does: it takes the steps, and the weight is its rounding. *Kahan summation*
# needs half of the memory for it: a second `bfloat16` number holds what the last additions lost, and is added to the
# next step.
#
# ### Your turn
# Write an SGD step for `bfloat16` weights that does not stall, in either way.

# %% given
hint(
    "What has to be remembered from step to step that p cannot hold?",
    "A float32 copy, from which p is made anew in each step. Or, in bfloat16, what the last addition rounded away.",
)


# %% exercise: bf16_sgd_
def bf16_sgd_(params: list[Tensor], state: dict, lr: float) -> None:
    """One step of plain SGD on bfloat16 parameters, such that small steps add up.

    params: leaves, bfloat16, with .grad bfloat16 or None. Changes them in place; one whose .grad is None is left as it
    is. In place means: in the memory that a parameter has, so that its views change too. state: yours, and the only
    place in which to remember something; empty before the first call, and the same dict in all later calls, which get
    the same params; or copies of both, as from a checkpoint, in which a parameter in state is its copy. With another,
    empty dict the same params begin anew, from what they are then. After any number of calls each parameter is what SGD
    in float32 gives from the same start, gradients and rates, but for an error of up to two bfloat16 spacings of the
    largest value that it had. .grad and requires_grad stay.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is not None:
                master = state.setdefault(i, p.float())
                master -= lr * p.grad.float()
                p.copy_(master)
    ### END SOLUTION


# %% given
@probes.probe
def bf16_run(step, runs, every):
    """The same parameters in one run after the other, each with an empty state. See them after each so many calls.

    A run: the parameters at first; for each call, one gradient or None for each parameter; the rate of each call.
    """
    params = [t.clone().requires_grad_() for t in runs[0][0]]
    leaves, seen = list(params), []
    for starts, gradients, rates in runs:
        state = {}
        for leaf, t in zip(leaves, starts, strict=True):
            leaf.data.copy_(t)
        for n, (grads, lr) in enumerate(zip(gradients, rates, strict=True), 1):
            for leaf, g in zip(leaves, grads, strict=True):
                leaf.grad = None if g is None else g.clone()
            step(params, state, lr)
            if n % every == 0:
                seen.append([leaf.detach().clone() for leaf in leaves])
    return seen


# %% check: bf16_sgd_ points=3
with check("a thousandth, a thousand times", weight=2, required=True):
    t = [[torch.tensor([-1.0, 0.5]).bfloat16()]] * 1000
    explain(
        bf16_run(bf16_sgd_, [([torch.ones(2).bfloat16()], t, [1e-3] * 1000)], 1000),
        [[torch.tensor([2.0, 0.5]).bfloat16()]],
        {"each step was rounded away: nothing remembers it": [[torch.tensor([1.0, 1.0]).bfloat16()]]},
    )
### BEGIN HIDDEN TESTS


def rounded_at_the_end(runs, every):
    """The parameters after each so many steps of SGD in float64, in bfloat16."""
    seen = []
    for starts, gradients, rates in runs:
        now = [t.double() for t in starts]
        for n, (grads, lr) in enumerate(zip(gradients, rates, strict=True), 1):
            now = [p if g is None else p - lr * g.double() for p, g in zip(now, grads, strict=True)]
            if n % every == 0:
                seen.append([p.bfloat16() for p in now])
    return seen


def drawn_run(shapes, lr, steps, seed):
    generator = torch.Generator().manual_seed(seed)
    starts = [(torch.randn(s, generator=generator) + 6).bfloat16() for s in shapes]
    gradients = [[(torch.randn(s, generator=generator) + 0.5).bfloat16() for s in shapes] for _ in range(steps)]
    return starts, gradients, [lr if n < steps // 2 else lr / 2 for n in range(steps)]


with check(
    "random gradients, several parameters, several rates",
    weight=4,
    required=True,
    hint="Where does your float32 copy come from in the second call? Has each parameter one of its own?",
):
    for shapes, lr, steps in (([(3, 2), (4,), (4,)], 5e-3, 120), ([(), (2, 1), (0,), (5,)], 0.05, 60)):
        t = [drawn_run(shapes, lr, steps, steps)]
        want = rounded_at_the_end(t, steps // 6)
        assert_close(bf16_run(bf16_sgd_, t, steps // 6), want, name="the parameters on the way")
    cycle = [[torch.tensor([g, -g]).bfloat16()] for g in (3.9375, -0.5, -3.4375)]  # they add up to zero
    t = [([torch.ones(2).bfloat16()], cycle * 200, [0.019] * 600)]
    want = [[torch.ones(2).bfloat16()]]  # and their products with 0.019 in bfloat16 do not
    assert_close(bf16_run(bf16_sgd_, t, 600), want, rtol=0, atol=2.0**-6, name="the parameters at the end")
with check("a parameter without a gradient waits", weight=2, hint="What is None * lr?"):
    for rate, steps in ((0.004, 120), (0.02, 60)):
        starts = [torch.full((2,), 5.0).bfloat16(), torch.full((3,), -5.0).bfloat16()]
        ones = [torch.ones(2).bfloat16(), torch.ones(3).bfloat16()]
        gradients = [[None if n % 6 == 3 * i else g for i, g in enumerate(ones)] for n in range(steps)]
        t = [(starts, gradients, [rate] * steps)]
        want = rounded_at_the_end(t, steps)
        assert_close(bf16_run(bf16_sgd_, t, steps), want, name="the parameters at the end")
with check("with an empty state all begins anew", weight=1, hint="Where do you keep what you remember?"):
    for shapes, steps in (([(3,), (2, 2)], 50), ([(4,)], 80)):
        t = [drawn_run(shapes, 0.01, steps, seed) for seed in (steps, steps + 1, steps + 2)]
        want = rounded_at_the_end(t, steps)
        assert_close(bf16_run(bf16_sgd_, t, steps), want, name="the parameters after each run")


def loaded(value, copies):
    """A copy of what is in a state. copies: those of the parameters, by id."""
    if isinstance(value, Tensor):
        return copies[id(value)] if id(value) in copies else value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) is dict:
        return {loaded(key, copies): loaded(item, copies) for key, item in value.items()}
    return type(value)(loaded(item, copies) for item in value) if type(value) in (list, tuple) else value


def from_checkpoints(step, runs):
    """The parameters after runs by turns. Each call gets copies of what the call before it left."""
    now = [([t.clone().requires_grad_() for t in starts], {}) for starts, _, _ in runs]
    for n in range(len(runs[0][1])):
        for place, (_, gradients, rates) in enumerate(runs):
            params, state = now[place]
            fresh = [p.detach().clone().requires_grad_() for p in params]
            state = loaded(state, {id(p): copied for p, copied in zip(params, fresh, strict=True)})
            for p, g in zip(fresh, gradients[n], strict=True):
                p.grad = None if g is None else g.clone()
            now[place] = fresh, state
            step(list(fresh), state, rates[n])
    return [[p.detach() for p in params] for params, _ in now]


with check(
    "params and state may be saved and loaded after each call",
    weight=6,
    hint="What do you remember that is not in state? Is it still found where params are copies?",
):
    runs = []
    for seed, lr in ((5, 0.0038), (6, 0.0036)):
        generator = torch.Generator().manual_seed(seed)
        starts = [2.0 ** torch.randint(-2, 3, s, generator=generator) for s in ((3,), (2, 2), (4,))]
        shares = [[-1 + torch.rand(p.shape, generator=generator) / 8 for p in starts] for _ in range(18)]
        gradients = [[(p * g).bfloat16() for p, g in zip(starts, row, strict=True)] for row in shares]
        runs.append(([p.bfloat16() for p in starts], gradients, [lr] * 9 + [0.9 * lr] * 9))
    want = rounded_at_the_end(runs, 18)
    assert_close(from_checkpoints(bf16_sgd_, runs), want, name="the parameters at the end of two runs by turns")
with check("the same leaves, and .grad as it was", guard=True, hint="Which of your lines makes a new tensor?"):
    starts, gradients, rates = drawn_run([(2,), (3, 1)], 0.1, 1, 5)
    (want,) = rounded_at_the_end([(starts, gradients, rates)], 1)
    leaves = [p.clone().requires_grad_() for p in starts]
    for leaf, g in zip(leaves, gradients[0], strict=True):
        leaf.grad = g.clone()
    views, grads = [leaf.detach() for leaf in leaves], [leaf.grad for leaf in leaves]
    bf16_sgd_(list(leaves), {}, rates[0])
    assert_close(views, want, name="what views of the parameters hold")
    assert_close([leaf.grad for leaf in leaves], gradients[0], rtol=0, atol=0, name=".grad")
    assert_close(grads, gradients[0], rtol=0, atol=0, name="what was .grad")
    assert [leaf.is_leaf and leaf.requires_grad for leaf in leaves] == [True, True], "not leaves that require grad"
### END HIDDEN TESTS


# %% [markdown]
# With a master copy a `bfloat16` weight takes 6 bytes, 2 more than in `float32`. Lab 7 added it up for Adam: 16 bytes
# for a parameter, as many as in `float32`. With Kahan summation a weight takes 4 bytes.
#
# ## Which format?
#
# - `bfloat16` under autocast, where the hardware has it: no scaler, no surprises with range.
# - `float16` under autocast with a scaler: on older GPUs, or where its three digits matter.
# - `float32` for what needs digits: sums over many elements, statistics, losses, the weights.
#
# Autocast knows that for PyTorch's losses. It does not know your own formula. `exp` overflows `float16` from 11.1 on.
# What do the three lines give?

# %% given
scores = torch.tensor([[12.0, 3.0]], dtype=torch.float16)
print("own softmax in float16:", (scores.exp() / scores.exp().sum(1, keepdim=True)).tolist())
print("cross_entropy, float16:", F.cross_entropy(scores, torch.tensor([0])).item())
print("cross_entropy, float32:", round(F.cross_entropy(scores.float(), torch.tensor([0])).item(), 6))

# %% [markdown]
# The own formula gives `nan`. PyTorch's `cross_entropy` is stable in `float16` too, but its result of 0.0001 is rounded
# to 0. Cast logits with `.float()` before your own loss, or compute it inside
# `with torch.autocast(x.device.type, enabled=False)`. Autocast does it for `F.cross_entropy`.
#
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. A question counts only if all of its letters are right, and one right question alone pays nothing.
#
# **q1. The formats**
# - a. `bfloat16` has the range of `float32`, with fewer digits.
# - b. In `float16`, everything below 6.1e-5 becomes 0.
# - c. Between 256 and 512, the numbers of `bfloat16` are 2 apart.
# - d. Neighbours in a format are `finfo(dtype).eps` apart.
# - e. `bfloat16` never underflows.
#
# **q2. Autocast**
# - a. Under autocast with `bfloat16`, the `.grad` of a weight is `bfloat16`.
# - b. It makes the tensors that are kept for the backward pass smaller, and leaves Adam's states as they are.
# - c. `F.cross_entropy` of `float16` logits gives `float32` under autocast.
# - d. The backward pass must run inside the context.
# - e. The operations that autocast casts to `float32` are the same on every device.
#
# **q3. Where the context is**
# - a. One context around the whole loop raises an error in the second step.
# - b. One context around the whole loop leaves the loss of a batch as it was, however many steps are taken.
# - c. `model.half()` before the training does what autocast does.
# - d. `cache_enabled=False` lets a loop inside one context learn.
# - e. `torch.autocast("cuda", dtype=torch.float16)` on a machine without CUDA raises an error.
#
# **q4. The scaler**
# - a. A skipped step changes neither parameters nor momentum.
# - b. The scale is doubled after every good step.
# - c. After `inf`, the same batch is tried again with half the scale.
# - d. Gradients should be clipped before `unscale_`.
# - e. Clipping to a norm of 1 before `unscale_` stops SGD, and does not stop Adam.
#
# **q5. bfloat16**
# - a. 1 plus 0.001, in `bfloat16`, is 1.
# - b. Weights in `bfloat16` can stop moving although all gradients are right.
# - c. Autocast with `bfloat16` needs a `GradScaler`.
# - d. Under autocast, the weights are their own master copy.
# - e. With TF32, a `float32` weight takes fewer bytes.
#
# **q6. float16**
# - a. A model that is only used for inference needs no scaler.
# - b. A `GradScaler` unscales the gradients of `float16` weights.
# - c. A gradient can be lost between two layers, although at the weight it would be large enough for `float16`.
# - d. A logit of 12 is harmless in `exp(x) / exp(x).sum()`, in `float16`.
# - e. Scaling the loss by a power of two changes no digit of a gradient that neither overflows nor underflows.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "ac", "q2": "bc", "q3": "bd", "q4": "ae", "q5": "abd", "q6": "ace"}
    ### END SOLUTION


# %% check: interview points=3
with check(
    "q1 to q6 each have letters from a to e",
    weight=3,
    required=True,
    guard=True,
    hint="Which key or letter is missing?",
):
    assert_answered(interview(), questions=6)
### BEGIN HIDDEN TESTS
with check(
    "at least two questions are right",
    weight=3,
    required=True,
    guard=True,
    hint="One right answer can be a guess. Which of the sections would you read again?",
):
    assert_some_right(interview(), {"q1": "ac", "q2": "bc", "q3": "bd", "q4": "ae", "q5": "abd", "q6": "ace"})
with check("q1: the formats", weight=4, hint="What did ulp give, and for which numbers?"):
    assert_letters(interview(), "q1", "ac")
with check("q2: autocast", weight=4, hint="Which dtypes did the weights, the results and the losses have?"):
    assert_letters(interview(), "q2", "bc")
with check("q3: where the context is", weight=4, hint="When does autocast forget the weights that it has cast?"):
    assert_letters(interview(), "q3", "bd")
with check("q4: the scaler", weight=4, hint="What did MyScaler do in each case?"):
    assert_letters(interview(), "q4", "ae")
with check("q5: bfloat16", weight=4, hint="What stalled, and what did not underflow?"):
    assert_letters(interview(), "q5", "abd")
with check("q6: float16", weight=4, hint="What is lost between the layers? What does GradScaler refuse?"):
    assert_letters(interview(), "q6", "ace")
### END HIDDEN TESTS

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a network in `float16` with autocast and a `GradScaler`. You see three things in her logs. The loss
# is `nan` from step 3,000 on. The scale went from 65536 to 0.002 within a few hundred steps before that. And a second
# run, for which she called `model.bfloat16()` instead, never gives `nan`, but its loss stops falling early.
#
# In four to eight sentences: what does the falling scale tell you, and why can the scaler not help? Name one likely
# cause, and how you would find it. Why does the second run stop falling? Which setting do you propose?

# %% question: two_runs [markdown] points=2
# ### BEGIN SOLUTION
# A scale that is halved again and again means inf or nan in the gradients at any scale, so the overflow is in the
# forward pass, which the scale does not touch: it multiplies the loss only, behind the model. Likely causes are
# activations beyond 65504, a logarithm or a division in a formula of her own, exp of a large logit, or a bad batch with
# nan in it. One finds it with forward hooks that look for the first layer whose result is not finite, or by running the
# same batch in float32. Once a weight or a buffer of a batch normalisation has become nan, nothing recovers. In the
# second run the weights themselves are bfloat16, with about three digits: when the steps become smaller than half an
# ulp of a weight they are rounded away, and it stalls. I propose autocast with bfloat16: float32 weights, no scaler,
# the range of float32; and the formula in float32, with autocast switched off for it. With float16 it would have to be
# the formula in float32 and smaller activations, with a scaler.
#
# For grading: one point for the overflow in the forward pass, with a cause and a way to find it; one for the stall of
# bfloat16 weights, and for autocast with bfloat16 or a master copy as the proposal.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - Exponent bits give range, fraction bits give precision. The ulp doubles at each power of two.
# - `float16` overflows above 65504 and underflows below 6e-8. `bfloat16` does neither in practice, and has two digits.
# - Autocast casts the inputs of matrix products. Weights, gradients, states and losses stay `float32`.
# - One context for each step: forward pass and loss inside, backward pass and step outside.
# - Scale, backward, unscale, clip, step, update. A skipped step changes nothing, and shows only in the scale.
# - Weights in 16 bits stall. A `float32` master copy, or what was rounded away, keeps them moving.
#
# Lab 10 hands the whole step to a compiler.
