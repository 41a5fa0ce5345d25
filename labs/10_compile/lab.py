# %% given
import io
import json
import logging
import math
import statistics
import warnings
import zipfile
from collections.abc import Callable, Iterator
from unittest import mock

import torch
import torch._dynamo
from torch import Tensor, nn
from torch._dynamo.utils import counters

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    assert_some_right,
    check,
    explain,
    hint,
    probes,
    show_compiles,
)

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # its warnings print the time; see "A limit"

# %% [markdown]
# # torch.compile: capture, guards, graph breaks
#
# "Put `torch.compile` in front of your model, and it is faster." Sometimes it is. Sometimes it compiles eight times and
# then gives up, with one warning among many lines. What does it do with your function, and when does it do it again? In
# this lab you look.
#
# After this lab you can
#
# - say what happens at the first call of a compiled function, and see the graph that was captured;
# - find and remove graph breaks without changing values or gradients;
# - predict which calls compile anew, and write modules that do not make them;
# - save a compiled model so that a plain one can load it;
# - measure the time of a compiled function honestly;
# - say what a trace misses, and export a model with both of its branches and any batch size.
#
# You need lab 6. This one takes about 90 minutes. After the section on recompiling is a good place for a break. All
# numbers in the text were measured with PyTorch 2.13 on a CPU. Nothing here needs a GPU, and no exercise needs a C++
# compiler. Where a GPU is different, the text says so.
#
# Write your predictions down before you run a cell. The lab is worth 33 points. The checks that you see hold about a
# sixth of them. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## What the first call does
#
# Eager mode, which you have used so far, runs each operation when Python reaches it. That is why graphs are dynamic. It
# has a price: Python is asked for every operation, and none is planned together with the next one. `torch.compile`,
# which came with PyTorch 2.0, is the answer. `torch.compile(f)` gives a function that does the same as `f`, in four
# steps.
#
# 1. *Dynamo* reads the Python bytecode of `f` and follows it with tensors that have no values. It writes the operations
#    down as a *graph*, an object of `torch.fx`.
# 2. It notes what it assumed on the way, such as the dtype and the shape of `x`. These notes are called *guards*.
# 3. *AOTAutograd* makes the graph of the backward pass, ahead of time.
# 4. *Inductor*, the default backend, turns both graphs into code: on a GPU in Triton, a language for
#    GPU code, and on a CPU in C++.
#
# A *backend* is a function. It gets a graph and example inputs, and returns something that can be called in place of
# the graph. The one below compiles nothing. It keeps the graph, and runs it as it is. With it you see what Dynamo does,
# without steps 3 and 4.
#
# How many graphs are there after `torch.compile(wave)`? After the first call, and after the second?


# %% given
class Recorder:
    """A backend for torch.compile that keeps each graph that it is given, and runs it as it is."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, example_inputs):
        self.graphs.append(graph)
        return graph.forward


def forget():
    """Forget everything that was compiled, and all of Dynamo's counters, which are not public."""
    torch.compiler.reset()
    counters.clear()


# %% given
def wave(x):
    return (x.sin() + 1).sum()


forget()
recorder = Recorder()
compiled_wave = torch.compile(wave, backend=recorder)
print("after torch.compile   ", len(recorder.graphs))
compiled_wave(torch.arange(3.0))
print("after the first call  ", len(recorder.graphs))
compiled_wave(torch.arange(3.0) + 1)
print("after the second call ", len(recorder.graphs))
for node in recorder.graphs[0].graph.nodes:
    print(f"    {node.op:14} {node.name}")

# %% [markdown]
# `torch.compile` itself compiles nothing. The first call does. That is why a mistake in your function shows up there,
# and why the first call is slow. On our two cores it took 0.2 s with a backend like this one, and 6 s with Inductor for
# a model of two small layers. With Inductor's cache on the disk from an earlier process it took 1 s. "10 to 60
# seconds", which you may read, is a matter of the model, the machine and the cache.
#
# ## Graph breaks
#
# Dynamo follows Python without values. What does it do at `if y.sum() > 0`? It cannot know which way to go. It ends the
# graph there, lets Python run the `if` with real values, and starts another graph behind it. That is a *graph break*.
# The result stays right. But each graph is compiled alone, nothing is fused across the break, and a GPU may wait for
# Python in between.
#
# Dynamo counts breaks in `counters["graph_break"]`, by reason. Six functions follow. Write down, for each, how many
# graphs it makes with a tensor of three ones.


# %% given
seen_values = []


def smooth(x):
    return x.sin().cos()


def branching(x):
    y = x.sin()
    if y.sum() > 0:
        return y.cos()
    return y.exp()


def printing(x):
    y = x.sin()
    print("(a line from printing)")
    return y.cos()


def asking(x):
    y = x.sin()
    return y.cos() * y.sum().item()


def appending(x):
    y = x.sin()
    seen_values.append(y)
    return y.cos()


def by_shape(x):
    return x.sin() if x.shape[0] > 2 else x.cos()


# %% given
for function in (smooth, branching, printing, asking, appending, by_shape):
    forget()
    recorder = Recorder()
    torch.compile(function, backend=recorder)(torch.ones(3))
    broken = sum(counters["graph_break"].values())
    print(f"{function.__name__:10} graphs {len(recorder.graphs)}   counters['graph_break'] {broken}")

# %% [markdown]
# A list that is appended to breaks nothing: Dynamo does it afterwards. Nor does an `if` on a shape: the shape is known,
# and becomes a guard. `print` and `.item()` break the graph, and so does an `if` on a tensor's values.
#
# Look at `branching` once more. Two graphs, and the counter says 0. In PyTorch 2.13 this kind of break is not counted
# there. A counter that shows no break is no proof.
#
# `torch._dynamo.explain(f)(x)` tells the graphs, the breaks and their reasons.
# `torch.compile(f, fullgraph=True)` raises an error at the first break, and is the best safeguard in a program. One
# break it does not mind in 2.13: with `fullgraph=True`, `.item()` is captured. And for a program that you cannot
# change, set `TORCH_LOGS="graph_breaks,recompiles"` in its environment: each break and each further compilation is
# logged with its reason.
#
# ### Your turn
# Count graphs. The function may have been compiled before, by somebody else and many times.

# %% given
hint(
    "What must be forgotten first? Which object sees each graph once?",
    "A backend of your own, or Recorder. torch._dynamo.explain has a count too.",
)


# %% exercise: n_graphs
def n_graphs(fn: Callable[..., object], *args: Tensor) -> int:
    """How many graphs Dynamo makes of fn for one call fn(*args), when nothing of fn is compiled yet: an int, 0 or more.

    Calls and compilations before make no difference: the same arguments give the same number.
    """
    ### BEGIN SOLUTION
    torch.compiler.reset()
    seen = Recorder()
    torch.compile(fn, backend=seen)(*args)
    return len(seen.graphs)
    ### END SOLUTION


# %% given
@probes.probe
def counted(count, source, sizes, before=(), ask=len):
    """What count(made, x) says for an x of each of these sizes. made is the function in this source, and was compiled
    for the sizes before already. Dynamo makes at most two graphs of a function here, not eight (see "A limit"). Where
    made calls ask(x), which gives a number, Dynamo does not look into it."""
    namespace = {"seen": [], "torch": torch, "ask": torch.compiler.disable(lambda x: ask(x))}
    exec(source, namespace)
    made = namespace["made"]
    compiled = torch.compile(made, backend="eager", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=2):
        for size in before:
            compiled(torch.ones(size))
        return [count(made, torch.ones(size)) for size in sizes]


def product_and_sum(x, y):
    z = x * y
    print("", end="")
    return z + x.sum()


# %% check: n_graphs points=3
with check("smooth makes one graph, printing two, and so does branching", weight=2, required=True):
    assert_close(n_graphs(smooth, torch.ones(3)), 1)
    assert_close(n_graphs(printing, torch.ones(3)), 2)
    explain(n_graphs(branching, torch.ones(3)), 2, {"the counters do not see an if on values": 1})


### BEGIN HIDDEN TESTS
def written(*lines):
    return "\n    ".join(["def made(x):", *lines, "return x"])


MATH, SHAPE, APPEND = "x = x.sin() + 1", "x = x * 3 if x.shape[0] > 2 else x", "seen.append(x)"
PRINT, ITEM = "print('', end='')", "x = x * x.sum().item()"
PART = written("x = x.sin()", PRINT, "x = x.cos()").replace("made", "part") + "\n\n"


def ask(x):
    """2 or 0, if x was computed as the compiled function does it, and 1 if not."""
    return {2.0: 2, 4.0: 0}.get(x.sum().item() / len(x), 1)


with check(
    "functions with several breaks, of several kinds",
    weight=3,
    required=True,
    hint="Which of the lines breaks a graph? Does each break have operations behind it?",
):
    assert_close(counted(n_graphs, written(MATH, SHAPE, APPEND, MATH), [4]), [1])
    assert_close(counted(n_graphs, written(MATH, ITEM, MATH), [4]), [2])
    t = [
        "x = x * len(x) if torch.compiler.is_compiling() else -x",
        "if ask(x) > 1:",
        "    x = x + 1",
        "    " + PRINT,
        MATH,
    ]
    assert_close(counted(n_graphs, written(*t), [2, 4], ask=ask), [3, 2])
with check("graphs that run several times", weight=2, hint="Are graphs counted when they are made, or when they run?"):
    assert_close(counted(n_graphs, PART + written("x = part(part(x) + 1)"), [4]), [3])
with check(
    "a break at the end, and a function without tensor operations", weight=2, hint="Are breaks plus one graphs?"
):
    assert_close(counted(n_graphs, written(MATH, PRINT), [3]), [1])
    assert_close(counted(n_graphs, written(APPEND), [3]), [0])
    assert_close(counted(n_graphs, written("for _ in range(2):", "    " + PRINT, "    x = x + 1"), [3]), [0])
with check("the same again, and other sizes", weight=2, hint="What is left over from the calls before?"):
    assert_close(counted(n_graphs, written(MATH, "if x.shape[0] > 3:", "    " + PRINT, MATH), [3, 5, 3]), [1, 2, 1])
with check("functions that were compiled before", weight=2, hint="Does your count begin with nothing compiled?"):
    assert_close(counted(n_graphs, written(MATH), [5], before=[3, 4]), [1])
with check("a function of two tensors", guard=True):
    assert_close(n_graphs(product_and_sum, torch.ones(3), torch.ones(2, 3)), 2)
### END HIDDEN TESTS

# %% [markdown]
# "Static-graph speed with dynamic authoring, the best of both worlds" is said of `torch.compile`. You know the small
# print now. Python stays as dynamic as it was. What depends on the values of tensors ends the graph.
#
# ### One graph
#
# The next function clips a gradient to a norm, and logs. It has three breaks: an `.item()`, a `print`, and an `if` on a
# tensor. How would you write it as one graph, with the same values and the same gradients?


# %% given
def clip_eager(x, limit, log):
    norm = x.norm()
    log.append(norm.item())
    if norm > limit:
        print("(clipped)")
        x = x * (limit / norm)
    return x


def clip_where(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)


zero = torch.zeros(3, requires_grad=True)
clip_where(zero, 2.0).sum().backward()
print("clip_where, gradient at zero:", zero.grad)
zero.grad = None
clip_eager(zero, 2.0, []).sum().backward()
print("clip_eager, gradient at zero:", zero.grad)

# %% [markdown]
# Did you think of `torch.where` too? It computes both sides. At zero, the side that is not taken divides by zero. Its
# gradient is infinite, and `where` multiplies it by zero: that gives NaN. The values are right, so a test of values
# sees nothing. Make the dangerous side harmless *before* the division.
#
# ### Your turn
# Rewrite `clip_eager`. It hands back the norm, so that the caller can log and print it, outside of the graph.

# %% given
hint(
    "The scale is 1 or limit / norm. Which denominator gives both of them, and is never zero?",
    "What is limit / limit? Look at clamp(min=...).",
)


# %% exercise: clip_norm
def clip_norm(x: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """(x clipped as by clip_eager, the norm of x before), in one graph: torch.compile(fullgraph=True) takes it.

    x: float32 or float64, of any shape, finite; limit: above 0, finite. The first result has the values and the
    gradient of clip_eager(x, limit, []), to the precision of x's dtype, also at x = 0. (Exactly at norm == limit, where
    there is a kink, either gradient will do.) The second is a 0-dim tensor without a history. The function does not
    print, calls no .item(), and uses operations on tensors only: no torch.cond, which the check cannot replay.
    """
    ### BEGIN SOLUTION
    norm = x.norm()
    return x * (limit / norm.clamp(min=limit)), norm.detach()
    ### END SOLUTION


# %% given
@probes.probe
def one_graph(f, x, limit):
    """f(x, limit) as the one graph that Dynamo makes of it, for a check to replay."""
    return probes.captured(lambda x: f(x, limit), x, how="dynamo")


# %% check: clip_norm points=5
with check("a small x stays, a large one is clipped, and the norm comes back", weight=2, required=True):
    t = torch.tensor([[3.0, 0.0, 4.0], [0.0, 12.0, 0.0]])
    want = [(t.clone(), torch.tensor(13.0)), (t / 2, torch.tensor(13.0))]
    assert_close(clip_norm(t, 20.0), want[0])
    assert_close(clip_norm(t, 6.5), want[1])


### BEGIN HIDDEN TESTS
def clipped(x, limit):
    norm = x.norm()
    return (x * (limit / norm) if norm > limit else x.clone()), norm.detach()


with check("values of both kinds, in float32 and float64", weight=2, required=True, hint="Which side was taken?"):
    for dtype, rtol in ((torch.float32, None), (torch.float64, 1e-12)):
        for limit in (0.3, 2.0, 50.0):
            t = torch.linspace(-2, 3, 15, dtype=dtype).reshape(3, 5).T
            want = clipped(t, limit)
            got = clip_norm(t, limit)
            assert_close(got, want, rtol=rtol)
            assert not got[1].requires_grad, "the norm has a history"
with check(
    "one number, no number, four dimensions", weight=1, hint="Which shapes may x have? How small may the limit be?"
):
    for shape in ((), (0, 3), (2, 1, 3, 2)):
        n = math.prod(shape)
        t = torch.linspace(-3, 2, n, dtype=torch.float64).reshape(shape) if n else torch.zeros(shape)
        want = clipped(t, 0.7)
        assert_close(clip_norm(t, 0.7), want)
    t = torch.tensor(-4e-13, dtype=torch.float64)
    want = clipped(t, 1e-13)
    assert_close(clip_norm(t, 1e-13), want, rtol=1e-9, atol=0.0)
with check(
    "one graph, which is right on both sides",
    weight=4,
    required=True,
    hint="What does torch.compile(clip_norm, backend='eager', fullgraph=True) say? Is it right for other x?",
):
    t = torch.linspace(-2, 3, 12).reshape(4, 3)
    upstream = torch.linspace(1, -3, 12).reshape(4, 3)
    for limit, captured_with in ((2.5, 0.01 * t), (0.7, 10 * t)):
        graph = one_graph(clip_norm, captured_with, limit)
        for scale in (0.01, 7.0):
            x = (scale * t).requires_grad_()
            values = clipped(x, limit)
            (want,) = torch.autograd.grad(values[0], x, upstream)
            got = probes.replay(graph, x)
            assert_close(got, values, name="the graph's result")
            assert_close(torch.autograd.grad(got[0], x, upstream)[0], want, name="the graph's gradient")
    x = torch.zeros(4, 3, requires_grad=True)
    want = [(torch.zeros(4, 3), torch.tensor(0.0))] * 2
    got = [clip_norm(x, limit), probes.replay(graph, x)]
    assert_close(got, want)
    # The function may be wrong there, which another check says, but no other function's graph comes in its place.
    gradients = [torch.autograd.grad(y, x, upstream)[0] for y, _ in got]
    assert_close(gradients[1], gradients[0], name="the graph's gradient at zero, beside the function's")
with check(
    "the gradient of both kinds",
    weight=3,
    required=True,
    hint="Does the scale depend on x as well? Does your graph know?",
):
    for limit in (1.5, 40.0):
        t = torch.linspace(-2, 3, 10).reshape(2, 5).requires_grad_()
        upstream = torch.linspace(1, -3, 10).reshape(2, 5)
        values = clipped(t, limit)
        (want,) = torch.autograd.grad(values[0], t, upstream)
        scaled = upstream * min(1.0, limit / t.norm().item())
        got = clip_norm(t, limit)
        assert_close(got, values)
        explain(
            torch.autograd.grad(got[0], t, upstream)[0],
            want,
            {"the norm depends on x as well, and the gradient goes through it": scaled},
            name="the gradient",
        )
        assert not got[1].requires_grad, "the norm has a history"
with check("the gradient at zero", weight=5, hint="What is limit / norm there, also on the side that is not taken?"):
    for n in (3, 4):
        t = torch.zeros(n, 2, requires_grad=True)
        upstream = torch.linspace(1, 2, 2 * n).reshape(n, 2)
        nan = torch.full_like(t, float("nan"))
        got = clip_norm(t, 2.0)
        assert_close(got, (torch.zeros(n, 2), torch.tensor(0.0)))
        explain(
            torch.autograd.grad(got[0], t, upstream)[0],
            upstream,
            {"the side that is not taken divides by zero": nan},
            name="the gradient",
        )
with check("x keeps its values", guard=True):
    t = torch.tensor([3.0, -4.0])
    want = clipped(t, 1.0)
    assert_close(clip_norm(t, 1.0), want)
    assert_close(t, torch.tensor([3.0, -4.0]))
### END HIDDEN TESTS

# %% [markdown]
# A clamp, a mask or a double `where` will do. Where both sides are expensive, `torch.cond(condition, f, g, (x,))` puts
# a real branch into the graph. You meet it again in the last section.
#
# ## Guards, and compiling again
#
# A graph is good for the calls that fulfil its guards. Where a call does not, Dynamo compiles again, and keeps both.
# What does it guard? `set_stance("fail_on_recompile")` turns the next compilation into an error, which names the guard.


# %% given
def step_up(x):
    return x.sin() + 1


forget()
compiled_step = torch.compile(step_up, backend="eager")
compiled_step(torch.ones(3))
for other in (torch.zeros(3), torch.ones(4), torch.ones(3, dtype=torch.float64), torch.ones(3, requires_grad=True)):
    try:
        with torch.compiler.set_stance("fail_on_recompile"):
            compiled_step(other)
        print("runs")
    except RuntimeError as error:
        print(str(error).splitlines()[-1].strip())

# %% [markdown]
# The values of tensors are not guarded. Shapes, dtypes and `requires_grad` are, and so are devices, strides, the grad
# mode and the Python values that the function looks at.
#
# ### Shapes
#
# Data with many lengths would need many graphs. So Dynamo can leave a size open, with the letter `n` in the picture
# below. In `(n, n)` each letter is an open size of its own. The argument `dynamic` says when.
#
# - `dynamic=False`: never. Each size has its graph.
# - `dynamic=True`: from the first graph on.
# - `dynamic=None`, the default: the first graph is for one size. Where another size comes, the next graph leaves it
#   open.
#
# Twelve calls of `step_up` follow, with tensors of n by 3. The sizes n are 4, 5, 6, 1, 4, 7, 8, 9, 10, 11, 12, 1. How
# many graphs does each setting make? The 1 is there for a reason.

# %% given
show_compiles(step_up, [torch.ones(n, 3) for n in (4, 5, 6, 1, 4, 7, 8, 9, 10, 11, 12, 1)])

# %% [markdown]
# A square is a call that compiles. A dot is a call that an earlier graph serves. In a live notebook, choose one
# setting. (By default, the second call with 4 has two graphs that could serve it. Here the one for `n` is asked first.)
#
# Two things surprise. First, the graph for `n` does not serve 1. Sizes 0 and 1 always have a graph of their own, since
# code that broadcasts takes another way there. That holds for `dynamic=True` as well.
#
# ### A limit
#
# Second, the crosses. Dynamo makes at most 8 graphs of a function (`torch._dynamo.config.recompile_limit`). From then
# on, a call that no graph serves runs in eager mode, without an error. There is one warning, on stderr. The first
# cell of this lab switched it off. The results stay right, and the speed is gone. With `fullgraph=True` it is an error.
#
# Try other sizes here.


# %% scratch
def graphs_after(sizes: list[int], dynamic: bool | None) -> list[int]:
    forget()
    seen = Recorder()
    compiled = torch.compile(step_up, backend=seen, dynamic=dynamic)
    counts = []
    for n in sizes:
        compiled(torch.ones(n, 3))
        counts.append(len(seen.graphs))
    return counts


print(graphs_after([2, 3, 4, 1], None))

# %% [markdown]
# ### Your turn
# Say it in advance, without calling Dynamo. By default, what if a 0 or 1 comes first, and then a 5? Is 5 the first
# size, or another one?

# %% given
hint(
    "Treat 0 and 1 on their own: each needs one graph, once. When does a size of 2 or more need one?",
    "With None, a size of 2 or more that comes first of all has a graph for itself. Any other one that nothing serves "
    "makes the open graph.",
)


# %% exercise: predict_compiles
def predict_compiles(sizes: list[int], dynamic: bool | None) -> list[int]:
    """How many graphs torch.compile(step_up, dynamic=dynamic) will have made after each call with torch.ones(n, 3).

    sizes: the n of each call, 0 to 10**18. dynamic: None, True or False; with True the first n is not 3, since Dynamo
    takes sizes that are equal in its first call for one size. Nothing is compiled before, and the limit is 8.
    Returns a list of as many ints as there are sizes. It predicts: it makes no tensors, compiles nothing, and takes no
    longer than arithmetic does.
    """
    ### BEGIN SOLUTION
    exact: set[int] = set()
    open_graph = False
    counts: list[int] = []
    for n in sizes:
        served = n in exact or (open_graph and n > 1)
        if not served and len(exact) + open_graph < 8:
            if n < 2 or dynamic is False or (dynamic is None and not counts):
                exact.add(n)
            else:
                open_graph = True
        counts.append(len(exact) + open_graph)
    return counts
    ### END SOLUTION


# %% given
@probes.probe
def predicted(predict, cases):
    """What predict says in each of these cases, one after the other."""
    return [predict(sizes, dynamic) for sizes, dynamic in cases]


# %% check: predict_compiles points=4
with check("4, 5, 6 and 1 in each setting", weight=2, required=True):
    t = [4, 5, 6, 1]
    explain(predict_compiles(t, None), [1, 2, 2, 3], {"0 and 1 always have a graph of their own": [1, 2, 2, 2]})
    assert_close(predict_compiles(t, False), [1, 2, 3, 4])
    explain(predict_compiles(t, True), [1, 1, 1, 2], {"0 and 1 always have a graph of their own": [1, 1, 1, 1]})


### BEGIN HIDDEN TESTS
def compiles(sizes, dynamic):
    served, counts = [], []
    for n in sizes:
        if len(served) < 8 and not any(n in ns for ns in served):
            opened = n > 1 and dynamic is not False and (dynamic is True or len(served) > 0)
            served.append(range(2, 10**19) if opened else [n])
        counts.append(len(served))
    return counts


LARGE = 10**18  # no tensor has that many rows
with check("sizes that come again", weight=2, required=True, hint="Which graphs are kept, and for which sizes?"):
    assert_close(predict_compiles([5, 5, 1, 5, LARGE, 1, 5], None), [1, 1, 2, 2, 3, 3, 3])
    assert_close(predict_compiles([5, 5, 1, 5, LARGE, 1, 5], False), [1, 1, 2, 2, 3, 3, 3])
    assert_close(predict_compiles([5, 5, 1, 5, LARGE, 1, 5], True), [1, 1, 2, 2, 2, 2, 2])
    assert_close(predict_compiles([2, 3, 4, 5, 6, 1, 0, 2], None), [1, 2, 2, 2, 2, 3, 4, 4])
    assert_close(predict_compiles([3, 2, 4, 2], None), [1, 2, 2, 2])
with check("0 or 1 before other sizes", weight=2, required=True, hint="Is the size another one, the second time?"):
    assert_close(predict_compiles([1, 0, 5, LARGE], None), [1, 2, 3, 3])
    assert_close(predict_compiles([0, 5, 6, 7, 1], None), [1, 2, 2, 2, 3])
    assert_close(predict_compiles([1, 1, 0, 0, 3], True), [1, 1, 2, 2, 3])
    assert_close(predict_compiles([0, 1, 3, 2], False), [1, 2, 3, 4])
    t = torch.randint(0, 8, (500, 10), generator=torch.Generator().manual_seed(0))  # to compile takes a minute or two
    t[:, 0][t[:, 0] == 3] = LARGE
    cases = [(sizes, (None, False, True)[n % 3]) for n, sizes in enumerate([[0, LARGE], *t.tolist()])]
    want = [compiles(*case) for case in cases]
    assert_close(predicted(predict_compiles, cases), want)
with check("0 or 1 between other sizes", weight=2, hint="What does the first graph serve, when another one is there?"):
    assert_close(predict_compiles([LARGE, 0, LARGE, 4, 0], None), [1, 2, 2, 3, 3])
    assert_close(predict_compiles([2, 1, 2, 3, 2], None), [1, 2, 2, 3, 3])
with check("more than eight sizes", weight=2, hint="What does the ninth one make?"):
    want = [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8]
    explain(
        predict_compiles([*range(2, 13), LARGE, 3], False),
        want,
        {"at most 8 graphs are made": [*range(1, 13), 12]},
    )
    assert_close(predict_compiles(list(range(13, 0, -1)), None), [1] + [2] * 11 + [3])
with check("no call at all", guard=True):
    assert_close(predict_compiles([], None), [])
### END HIDDEN TESTS

# %% [markdown]
# A service for inputs of any length should therefore be compiled with `dynamic=True`, or have its lengths padded to a
# few sizes, with a mask. And it should be warmed up with a length of 1, if that occurs.
#
# ### Python values
#
# A number in Python is guarded by its value, if the function looks at it. For an `int` or a `float` argument, Dynamo
# learns: the second value makes a graph that leaves it open. For an attribute of a module, it does not. Nor does it for
# a global variable. How many graphs do twelve calls of this module make?


# %% given
class DecayEager(nn.Module):
    """Scales its n-th input by rate ** n."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * self.rate**self.step


def power(x, k):
    return x * 0.9**k


forget()
recorder = Recorder()
decay = torch.compile(DecayEager(0.9), backend=recorder)
for _ in range(12):
    decay(torch.ones(2))
print("an attribute:", len(recorder.graphs), "graphs in 12 calls")
forget()
recorder = Recorder()
compiled_power = torch.compile(power, backend=recorder)
for k in range(2, 14):
    compiled_power(torch.ones(2), k)
print("an argument: ", len(recorder.graphs), "graphs in 12 calls")

# %% [markdown]
# Eight graphs, one for each value, and then eager mode for good. Step counters, learning rates and temperatures often
# sit in such attributes. A tensor is guarded by its shape and dtype, not by its value.
#
# ### Your turn
# Write the module so that one graph serves all steps.

# %% given
hint(
    "Which kind of attribute is a tensor, moves with the module and is saved with it, but is not trained?",
    "Which dtype has 0.9 ** torch.tensor(2)? How many digits are left when it is multiplied with a float64 tensor?",
)


# %% exercise: Decay
class Decay(nn.Module):
    """Scales its n-th input by rate ** n, counted from 1; rate is above 0. torch.compile makes one graph of it for all
    steps. Gradients flow to x.

    The count n is a buffer named "step", a 0-dim int64 tensor, 0 at first. It is saved in state_dict(), and where it is
    loaded, counting goes on from there.
    """

    step: Tensor

    def __init__(self, rate: float) -> None:
        ### BEGIN SOLUTION
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """x * rate ** n in x's dtype, float32 or float64. x may have any shape.

        rate, n and rate ** n may be rounded to that dtype, but to no narrower one.
        """
        ### BEGIN SOLUTION
        self.step += 1
        return x * x.new_full((), self.rate) ** self.step
        ### END SOLUTION


# %% given
@probes.probe
def decayed(make, rate, xs, state=None, compiled=True, upstream=None, training=True):
    """The results of a Decay for these inputs, its state and the number of graphs that were made; with upstream also
    the gradients of the inputs."""
    forget()
    module = make(rate).train(training)
    if state is not None:
        module.load_state_dict(state)
    seen = Recorder()
    run = torch.compile(module, backend=seen) if compiled else module
    if upstream is not None:
        xs = [x.clone().requires_grad_() for x in xs]
    outs = [run(x) for x in xs]
    if upstream is not None:
        torch.autograd.backward(outs, [upstream] * len(outs))
    found = {
        "outs": outs,
        "gradients": [x.grad for x in xs],
        "state": probes.state_of(module),
        "parameters": len(list(module.parameters())),
    }
    forget()
    return {**found, "graphs": len(seen.graphs)}


@probes.probe
def step_graph(make, rate, x, step):
    """What a Decay gives for x when its count is step before, and its count after, as the one graph that Dynamo makes
    of it, for a check to replay with other counts."""
    module = make(rate)

    def once(x, step):
        module.step = step + 0
        return module(x), module.step + 0

    graph = probes.captured(once, x, step, how="dynamo")
    kind, parts = graph["output"]
    graph["output"] = kind, parts[:2]  # behind these stands what the module keeps in its attributes
    return graph


# %% check: Decay points=4
with check("three steps, and the count after them", weight=2, required=True):
    t = [torch.tensor([1.0, -2.0])] * 3
    want = [t[0] * 0.5, t[0] * 0.25, t[0] * 0.125]
    got = decayed(Decay, 0.5, t, compiled=False)
    assert_close(got["outs"], want)
    assert_close(got["state"], {"step": torch.tensor(3)}, name="the state")
### BEGIN HIDDEN TESTS
with check("compiled, twelve steps of another rate", weight=2, required=True, hint="Does the count go on in a graph?"):
    t = [torch.linspace(-1, 2, 6).reshape(2, 3) * n for n in range(1, 13)]
    want = [x * 0.9 ** (n + 1) for n, x in enumerate(t)]
    got = decayed(Decay, 0.9, t)
    assert_close(got["outs"], want)
    assert_close(got["state"], {"step": torch.tensor(12)}, name="the state")
    assert got["parameters"] == 0, "it has parameters"
with check("float64, to its last digits", weight=2, hint="Which dtype has a Python number to the power of a tensor?"):
    t = [torch.linspace(-1, 2, 5, dtype=torch.float64)] * 4
    want = [x * 0.9 ** (n + 1) for n, x in enumerate(t)]
    explain(
        decayed(Decay, 0.9, t, compiled=False)["outs"],
        want,
        {
            "the power has the dtype float32": [x * 0.9 ** torch.tensor(n + 1) for n, x in enumerate(t)],
            "the rate was rounded to float32": [x * torch.tensor(0.9).double() ** (n + 1) for n, x in enumerate(t)],
        },
        rtol=1e-12,
        atol=0.0,
    )
    t = [torch.linspace(-1, 2, 5), torch.linspace(-1, 2, 5, dtype=torch.float64)]  # one after the other
    want = [t[0] * 0.9, t[1] * 0.9**2]
    assert_close(decayed(Decay, 0.9, t, compiled=False)["outs"], want)
with check(
    "one graph, which is right for other steps",
    weight=2,
    required=True,
    hint="What is in the graph: the step's number, or the step?",
):
    for rate, first, dtype in ((0.7, 0, torch.float32), (1.2, 4, torch.float64)):
        x = torch.linspace(-1, 2, 6, dtype=dtype).reshape(2, 3)
        graph = step_graph(Decay, rate, x.clone(), torch.tensor(first))
        for start in (9, 0):
            step = torch.tensor(start)
            for n in (start + 1, start + 2):
                want = (x * rate**n, torch.tensor(n))
                got = probes.replay(graph, x, step)
                assert_close(got, want, rtol=1e-6, name="the graph's result")
                step = got[1]
    # The graph is that of the module: to the last digit, right or wrong.
    want = [x * 1.2]
    got = decayed(Decay, 1.2, [x], compiled=False)["outs"]
    assert_close(got, want, rtol=1e-6)
    want = (got[0], torch.tensor(1))
    assert_close(probes.replay(graph, x, torch.tensor(0)), want, rtol=1e-14, name="the graph's result")
with check(
    "goes on from a state that is loaded",
    weight=1,
    hint="What counts: a buffer, or something beside it? In which modes?",
):
    t = [torch.ones(3), torch.ones(3)]
    want = [0.8**6 * t[0], 0.8**7 * t[1]]
    for training in (True, False):
        got = decayed(Decay, 0.8, t, state={"step": torch.tensor(5)}, compiled=False, training=training)
        assert_close(got["outs"], want)
        assert_close(got["state"], {"step": torch.tensor(7)}, name="the state")
with check("x is one number", weight=1, hint="Which dtype has a 0-dim float32 tensor times a 0-dim float64 one?"):
    for dtype in (torch.float32, torch.float64):
        t = [torch.tensor(3.0, dtype=dtype), torch.tensor(-2.0, dtype=dtype)]
        want = [t[0] * 0.75, t[1] * 0.75**2]
        assert_close(decayed(Decay, 0.75, t, compiled=False)["outs"], want)
with check("a count of 2**24 and more", weight=1, hint="Up to which number does float32 know each integer?"):
    t = [torch.tensor([1.0, -2.0], dtype=torch.float64)] * 2
    want = [t[0] * (1 - 1e-7) ** n for n in (2**24 + 1, 2**24 + 2)]
    got = decayed(Decay, 1 - 1e-7, t, state={"step": torch.tensor(2**24)}, compiled=False)
    assert_close(got["outs"], want, rtol=1e-8)
    assert_close(got["state"], {"step": torch.tensor(2**24 + 2)}, name="the state")
with check("the gradient of x", weight=1, hint="Is x * rate ** n cut off from x?"):
    t = [torch.linspace(-1, 2, 3), torch.linspace(1, 3, 3)]
    upstream = torch.tensor([2.0, -1.0, 0.5])
    want = [0.6 * upstream, 0.36 * upstream]
    got = decayed(Decay, 0.6, t, compiled=False, upstream=upstream)
    assert_close(got["gradients"], want, name="the gradients")
with check(
    "one graph for twelve steps", weight=1, observed=True, hint="Which Python number changes from call to call?"
):
    got = decayed(Decay, 0.7, [torch.ones(4)] * 12)["graphs"]
    assert got == 1, f"{got} graphs were made"
### END HIDDEN TESTS

# %% [markdown]
# ### Modes are guarded too
#
# One model, five calls. Which of them compile?


# %% given
def names_of(module):
    return list(module.state_dict())


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
forget()
recorder = Recorder()
compiled_model = torch.compile(model, backend=recorder)
compiled_model(torch.ones(2, 3))
print("train()            ", len(recorder.graphs))
model.eval()
compiled_model(torch.ones(2, 3))
print("eval()             ", len(recorder.graphs))
with torch.no_grad():
    compiled_model(torch.ones(2, 3))
print("eval(), no_grad()  ", len(recorder.graphs))
model.train()
compiled_model(torch.ones(2, 3))
print("train() once more  ", len(recorder.graphs))
print(names_of(compiled_model))

# %% [markdown]
# Each mode has its graph, and each counts towards the limit of 8. When you measure a model, warm it up in the mode in
# which you measure.
#
# ## Saving a compiled model
#
# Look at the last line. `torch.compile(model)` is a module around your model, which it calls `_orig_mod`. So the names
# in its `state_dict()` begin with that. A plain model does not know such names, and `load_state_dict` says so. With
# `strict=False` it says nothing, and loads nothing: the weights stay random. `model.compile()`, which compiles the
# model in place, leaves the names alone.
#
# ### Your turn
# Save any model so that a plain one can load it: compiled as a whole, in a part of it, or not at all.

# %% given
hint(
    "A part can be compiled on its own: net.encoder = torch.compile(net.encoder). Where in a name is the prefix then?",
    "Split the names at the dots. What if a part of the model is really called my_orig_mod?",
)


# %% exercise: save_clean
def save_clean(model: nn.Module) -> dict[str, Tensor]:
    """model's state with the names that it would have if nothing of it were compiled, in the same order.

    model: compiled by torch.compile, or with compiled parts, at any depth, or plain. Every part of a name that is
    exactly _orig_mod goes, several in a row too. Other parts stay as they are. It has all parameters and buffers that
    state_dict() has, with the values that they have now: as the model's own tensors, as in state_dict(), or as copies.
    The model stays as it is.
    """
    ### BEGIN SOLUTION
    return {
        ".".join(part for part in name.split(".") if part != "_orig_mod"): value
        for name, value in model.state_dict().items()
    }
    ### END SOLUTION


# %% given
def module_with(state):
    """A module with this state_dict(): what stands behind _orig_mod in a name was compiled, if it was not before."""
    module = nn.Module()
    module.register_buffer("not_saved", torch.ones(2), persistent=False)
    for part in dict.fromkeys(name.split(".")[0] for name in state):
        value = state.get(part)
        if value is None:
            child = module_with({k.removeprefix(part + "."): v for k, v in state.items() if k.startswith(part + ".")})
            if part == "_orig_mod" and "_orig_mod" not in child._modules:
                return torch.compile(child, backend="eager")
            module.add_module(part, child)
        elif value.is_floating_point():
            module.register_parameter(part, nn.Parameter(torch.zeros_like(value)))
        else:
            module.register_buffer(part, torch.zeros_like(value))
    return module


@probes.probe
def saved_by(save, state, in_place=False, tied=()):
    """What save gives of a module that has this state, names and all, and the module's state then. It was saved once
    before, when it had other values. Each pair of names in tied is one parameter, used twice."""
    module = module_with(state)
    if in_place:
        module.compile(backend="eager")
    save(module)
    module.load_state_dict(state, assign=True)
    for name, other in tied:
        owner, _, last = other.rpartition(".")
        module.get_submodule(owner).register_parameter(last, module.get_parameter(name))
    saved = {name: value.detach().clone() for name, value in save(module).items()}
    after = {name: value.detach().clone() for name, value in module.state_dict().items()}
    return {"names": list(saved), "saved": saved, "names after": list(after), "after": after}


# %% check: save_clean points=2
with check("a model that was compiled as a whole", weight=2, required=True):
    t = {"encoder.weight": torch.ones(2, 3), "encoder.count": torch.tensor(4), "my_orig_mod.bias": torch.ones(2) / 3}
    names = list(t)
    got = saved_by(save_clean, {"_orig_mod." + name: t[name].clone() for name in names})
    explain(
        got["names"],
        names,
        {
            "the names have the prefix": ["_orig_mod." + name for name in names],
            "a part that is really called my_orig_mod lost a piece": [n.replace("_orig_mod.", "") for n in names],
        },
        name="the names",
    )
    assert_close(got["saved"], t)


### BEGIN HIDDEN TESTS
def drawn(names, seed):
    """A state with these names, and what is to be saved of it."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for n, name in enumerate(names.split()):
        dtype = (torch.float32, torch.float64)[n % 2]
        count = torch.randint(2**30, 2**40, (), generator=generator)
        state[name] = count if name.endswith("count") else torch.randn(n % 3 + 1, 2, generator=generator, dtype=dtype)
    clean = {".".join(p for p in name.split(".") if p != "_orig_mod"): v.clone() for name, v in state.items()}
    return state, {"names": list(clean), "saved": clean}


def of(got):
    return {"names": got["names"], "saved": got["saved"]}


with check(
    "parts that were compiled, at any depth", weight=3, required=True, hint="Where in the name does _orig_mod stand?"
):
    for n, names in enumerate(
        (
            "encoder._orig_mod.0.weight encoder._orig_mod.0.bias my_orig_mod.weight",
            "encoder.0._orig_mod.weight encoder.0._orig_mod.count encoder.1.weight head._orig_mod.bias",
            "_orig_mod.scale _orig_mod.part._orig_mod.0.weight _orig_mod.part._orig_mod.0.count _orig_mod.out.bias",
        )
    ):
        t, want = drawn(names, n)
        assert_close(of(saved_by(save_clean, t)), want)
with check("a plain model, and one that was compiled in place", weight=2, hint="Is there an _orig_mod in every model?"):
    for in_place in (False, True):
        t, want = drawn("scale encoder.0.weight encoder.0.count my_orig_mod.weight", 5)
        assert_close(of(saved_by(save_clean, t, in_place=in_place)), want)
with check("the values are those of now", weight=1, hint="Did you copy the model, or build a new one?"):
    t, want = drawn("_orig_mod.encoder.weight _orig_mod.encoder.bias _orig_mod.out.count", 7)
    assert_close(of(saved_by(save_clean, t)), want)
with check(
    "names that are nearly _orig_mod, and two in a row", weight=2, hint="When is a part of a name exactly _orig_mod?"
):
    t, want = drawn("_orig_mod2.weight _orig_model.0.weight x._orig_mod_.bias x_orig_mod._orig_mods.weight", 8)
    assert_close(of(saved_by(save_clean, t)), want)
    t, want = drawn("_orig_mod._orig_mod.0.weight _orig_mod._orig_mod.0.bias _orig_mod._orig_mod._orig_model.bias", 9)
    assert_close(of(saved_by(save_clean, t)), want)
    t, want = drawn("a._orig_mod._orig_mod.weight a._orig_mod._orig_mod._orig_mod_.0.bias b.weight", 10)
    assert_close(of(saved_by(save_clean, t)), want)
with check("one parameter under two names", weight=1, hint="Which names does state_dict() give it?"):
    t, want = drawn("a._orig_mod.weight a._orig_mod.bias b.weight", 12)
    t["b.weight"] = t["a._orig_mod.weight"].clone()
    want["saved"]["b.weight"] = t["b.weight"].clone()
    assert_close(of(saved_by(save_clean, t, tied=[("a._orig_mod.weight", "b.weight")])), want)
with check("the model keeps its names", guard=True):
    t, _ = drawn("_orig_mod.encoder._orig_mod.weight _orig_mod.encoder._orig_mod.count _orig_mod.out.bias", 11)
    want = {"names after": list(t), "after": {name: value.clone() for name, value in t.items()}}
    got = saved_by(save_clean, t)
    assert_close({"names after": got["names after"], "after": got["after"]}, want)
### END HIDDEN TESTS

# %% [markdown]
# ## What compiled code is like
#
# Steps 3 and 4 come now. What does Inductor make of a graph? The next cell lets it write its C++ code, and does not run
# the compiler on it, which would take some ten seconds the first time. So the compiled function cannot be used: we
# only read. `loops` uses inner parts of PyTorch 2.13 that may be called otherwise in your version.
#
# The function below has nine operations, which in eager mode are nine passes over memory. How many loops will the
# code have?


# %% given
def gelu_by_hand(x):
    return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x * x * x)))


def softmax_of_double(x):
    return torch.softmax(2 * x, -1)


def loops(f, *args):
    """The C++ functions that Inductor writes for f(*args), as texts."""
    from torch._inductor.async_compile import AsyncCompile

    found = []

    def keep(self, types, source, *more, **options):
        found.append(source)
        return lambda *tensors: None

    forget()
    written_only = mock.patch.object(AsyncCompile, "cpp_pybinding", keep)
    no_vectors = mock.patch("torch._inductor.cpu_vec_isa.valid_vec_isa_list", lambda: [])  # shorter to read
    one_thread = torch._inductor.config.patch({"cpp.threads": 1})  # the same code on each machine
    with torch.no_grad(), written_only, no_vectors, one_thread:
        torch.compile(f)(*args)
    forget()
    return found


try:
    (fused,) = loops(gelu_by_hand, torch.ones(64, 100))
    print(sum(probes.operations(gelu_by_hand, torch.ones(64, 100)).values()), "operations, in one function:")
    print("\n".join(line[8:] for line in fused.splitlines() if "tmp" in line or "for(" in line))
except Exception as error:
    print("Inductor wrote no code here:", type(error).__name__)

# %% [markdown]
# One loop. It reads each number once and writes each once, and keeps what lies between in registers. That is *fusion*,
# and most of what `torch.compile` gains on elementwise code. On 2 million numbers we measured 3.0 ms in eager mode and
# 1.2 ms compiled. A tiny model was slower: 17 microseconds in eager mode and 30 compiled, since the guards are checked
# at each call. A matrix product does not fuse away. So "20 to 200 % faster" is no law.
#
# (Where no C++ compiler is installed, the cell says `InductorError`. Elsewhere it prints one loop, with nine lines of
# arithmetic.)
#
# Random numbers: Inductor's dropout draws others than eager mode, with the same seed.
#
# ### Modes
#
# `torch.compile(f, mode=...)` chooses a set of options. Three modes are usually named. Which are there?

# %% given
for mode, options in torch._inductor.list_mode_options().items():
    print(f"{mode:27}", options if mode != "lite" else f"({len(options)} options)")

# %% [markdown]
# Five, not three. (The options of `lite` are many, and left out.) `reduce-overhead` is said to save memory. Look at its
# one option. It uses *CUDA graphs*: the GPU's work is recorded once, with all of its addresses, and replayed. Python
# has less to do for each call. But the memory of inputs, results and everything between them is kept for the next
# replay: it takes *more* memory. On a CPU the mode changes nothing. The two `max-autotune` modes time several versions
# of the code and keep the fastest, so compiling takes longer.
#
# A replay writes its result to the same address each time. Below, a class does just that. What will `kept` show?


# %% given
class Replayed:
    """Like a CUDA graph: each result is written where the one before it was."""

    def __init__(self, f, x):
        self.f, self.result = f, f(x)

    def __call__(self, x):
        return self.result.copy_(self.f(x))


replayed = Replayed(torch.square, torch.zeros(2))
batches = [torch.full((2,), float(n)) for n in (1, 2, 3)]
kept = [replayed(x) for x in batches]
print("as they come", [out.tolist() for out in kept])
kept = [replayed(x).detach() for x in batches]
print("detach      ", [out.tolist() for out in kept])
kept = [replayed(x).clone() for x in batches]
print("clone       ", [out.tolist() for out in kept])

# %% [markdown]
# Three times the last result. `detach()` gives a new tensor over the same memory, and so do `contiguous()` and, on the
# same device, `to()`. A `clone()` before the next call is what helps. PyTorch notices some of these cases on a GPU and
# raises an error. `torch.compiler.cudagraph_mark_step_begin()` tells it where a new step begins.
#
# ### Honest timing
#
# What goes wrong when a compiled function is measured?
#
# - The first call compiles. The second may compile as well: another size, another mode.
# - A GPU works on its own. A call returns when the work is ordered, not when it is done. A clock must wait for
#   `torch.cuda.synchronize()`, before it starts and before it stops.
# - Now and then something else happens on the machine. A mean takes it in. A median does not.
#
# ### Your turn
# Write the measurement. The clock and the waiting come as arguments, so that it can be tested without real seconds.

# %% given
hint(
    "Where must sync() stand? Is something still running when the first measurement begins?",
    "Each measurement has four steps. Three times only fn is called, before all of them.",
)


# %% exercise: bench
def bench(fn: Callable[[], object], clock: Callable[[], float], sync: Callable[[], None], repeats: int) -> float:
    """The median time of one call of fn when it is warm, in the clock's unit: a float.

    Calls fn 3 times to warm it up. Then measures `repeats` calls (an odd number), one by one. Each time is from a
    clock() when nothing is running to a clock() when the call's work is done. fn() only orders work: sync() returns
    when all of it is done. fn runs in the grad mode of the caller.
    """
    ### BEGIN SOLUTION
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)
    ### END SOLUTION


# %% check: bench points=3
class Machine:
    """A machine that exists in numbers only. Call n orders work[n] seconds, and as many as the last one from then on.
    The first two calls compile, for 6 and 2 seconds, and the first one in another grad mode compiles, for 5."""

    def __init__(self, work):
        self.work, self.now, self.busy_until, self.modes = work, 0.0, 0.0, []

    def run(self):
        calls = len(self.modes)
        if calls and torch.is_grad_enabled() not in self.modes:
            self.now += 5.0
        self.modes.append(torch.is_grad_enabled())
        self.now += (6.0, 2.0, 0.001)[min(calls, 2)]
        self.busy_until = max(self.busy_until, self.now) + self.work[min(calls, len(self.work) - 1)]

    def clock(self):
        return self.now

    def sync(self):
        self.now = max(self.now, self.busy_until)


with check("a call of 20 ms, measured three times", weight=2, required=True):
    t = Machine([0.5, 0.5, 0.5, 0.02])
    explain(
        bench(t.run, t.clock, t.sync, 3),
        0.021,
        {"a call returns when its work is ordered": 0.001, "the first calls compile": 2.5},
    )
### BEGIN HIDDEN TESTS
with check("calls of different lengths: the median", weight=3, required=True, hint="Do you wait each time?"):
    for times, want in (([0.04, 0.9, 0.01, 0.05, 0.03], 0.041), ([0.2, 0.07, 0.01], 0.071), ([0.3], 0.301)):
        t = Machine([0.5, 0.5, 0.5, *times])
        mean, least = sum(times) / len(times) + 0.001, min(times) + 0.001
        explain(
            bench(t.run, t.clock, t.sync, len(times)),
            want,
            {
                "a mean takes in what happens once": mean if len(times) > 1 else None,
                "the least is not the median": least if len(times) > 1 else None,
            },
        )
with check("nothing of the warm-up is measured", weight=2, hint="Is the work of the third call done when you start?"):
    for work, n, want in (([0.1, 0.1, 40.0, 0.02], 1, 0.021), ([30.0, 0.1, 0.1, 0.07], 3, 0.071)):
        t = Machine(work)
        assert_close(bench(t.run, t.clock, t.sync, n), want)
with check("three calls to warm up, and one for each time", weight=1, hint="How often is fn called?"):
    for n in (1, 5):
        t = Machine([0.1])
        assert_close(bench(t.run, t.clock, t.sync, n), 0.101)
        assert_close(len(t.modes), 3 + n, name="the number of calls")
with check("a clock that has run for long", weight=1, hint="How many digits has float32?"):
    t = Machine([0.5, 0.5, 0.5, 0.02, 0.05, 0.03])
    t.now = 2.0**31
    assert_close(bench(t.run, t.clock, t.sync, 3), 0.031, rtol=1e-4)
with check("in the grad mode of the caller", weight=2, hint="Does another grad mode compile again?"):
    for grad in (True, False):
        t = Machine([0.5, 0.5, 0.5, 0.06])
        with torch.set_grad_enabled(grad):
            got = bench(t.run, t.clock, t.sync, 1)
            same = torch.is_grad_enabled() == grad
        assert_close(got, 0.061)
        assert_close(t.modes, [grad] * 4, name="the grad modes in which fn ran")
        assert same, "the grad mode is another one"
### END HIDDEN TESTS

# %% [markdown]
# `torch.utils.benchmark.Timer` does this for you, synchronisation included.
#
# ## What a trace misses
#
# `torch.compile` needs Python. A server in C++ has none, and needs a program that stands alone. For years that was
# *TorchScript*: `torch.jit.script` translated a typed subset of Python, and `torch.jit.trace` ran a model once, with
# an example, and wrote down the operations. Both are deprecated. So are `torch.jit.save` and `torch.jit.load`. Old
# projects are full of them, so you should know how a trace fails. The next cell is about it. It catches the warnings,
# and prints their categories.
#
# The example has a positive sum. What will the trace say about `-1`? And about six rows, after an example with two?


# %% given
class Sign(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -2 * x


class Rows(nn.Module):
    def forward(self, x):
        total = torch.zeros(x.shape[1])
        for row in range(x.shape[0]):
            total = total + x[row]
        return total


def trace(model, example):
    """torch.jit.trace, which is deprecated, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(model, example, check_trace=False)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.jit.trace(Sign(), torch.ones(2, 3), check_trace=False)
print(sorted({warning.category.__name__ for warning in caught}))
print("Sign:", Sign()(-torch.ones(2)).tolist(), " traced:", trace(Sign(), torch.ones(2))(-torch.ones(2)).tolist())
six = torch.ones(6, 3)
print("Rows:", Rows()(six).tolist(), " traced:", trace(Rows(), torch.ones(2, 3))(six).tolist())

# %% [markdown]
# The branch of the example is frozen, and so is the number of rounds. For the branch there was a `TracerWarning`; for
# the loop there is none. "A trace is for one shape" is therefore not quite it: the trace took six rows without a word.
# What is frozen is Python's control flow. It is the same with every tool that records one run.
#
# ### Your turn
# Find an input that shows the mistake. Comparing is harder than it looks. Two NaNs at the same place agree. Results of
# different shapes do not. And some inputs are not allowed by the model itself.


# %% given
def candidates(example: Tensor) -> Iterator[Tensor]:
    """Inputs like the example (n, d), with n even: other signs, other sizes of numbers, and more or fewer rows."""
    yield example.clone()
    yield -example
    yield 0.01 * example
    yield 100 * example
    yield torch.cat([example, example])
    yield example[: len(example) // 2].clone()


# %% given
hint(
    "Which comparisons broadcast? Which of them take two NaNs as equal? Look for equal_nan.",
    "Three things can happen with each candidate: the model raises; the trace alone raises; both give a result.",
)


# %% exercise: find_trace_bug
def find_trace_bug(model: nn.Module, example: Tensor) -> Tensor | None:
    """The first of candidates(example) for which trace(model, example) is wrong, or None where it is right for all.

    It is wrong where the model gives a result, and the trace raises an exception or gives another result: another
    shape, or values that are not close (torch.allclose with its tolerances; NaN equals NaN). Where the model itself
    raises an exception, the candidate does not count. model takes one float32 tensor and gives one; it takes the
    example. It may write into the tensor that it is given: the example stays as it is, and so does what you hand back.
    """
    ### BEGIN SOLUTION
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None
    ### END SOLUTION


# %% given
@probes.probe
def hunted(find, source, example):
    """What find gives for a model whose forward has this source, and the example afterwards."""
    namespace = {"torch": torch}
    exec("def forward(self, x):\n" + source, namespace)
    parts = {"forward": namespace["forward"], "extra_repr": lambda self: source}
    model = type("Model", (nn.Module,), parts)()
    return {"found": find(model, example), "example": example}


@probes.probe
def found_among(find, f, example):
    """What find gives for a model of x that computes f(x, x), and the example afterwards. A trace of it computes
    f(x, the example that was traced): what Python decides by is frozen. torch.jit.trace does not run here."""

    def module(forward):
        made = nn.Module()
        made.forward = forward
        return made

    def trace(model, example, **options):
        kept = example.clone()
        model(example)
        return module(lambda x: f(x, kept))

    with mock.patch("torch.jit.trace", trace):
        return {"found": find(module(lambda x: f(x, x)), example), "example": example}


# %% check: find_trace_bug points=3
with check("the branch on the sign: the negative example shows it", weight=2, required=True):
    t = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]])
    want = -t
    assert_close(hunted(find_trace_bug, "    return x if x.sum() > 0 else -2 * x", t.clone())["found"], want)


### BEGIN HIDDEN TESTS
def source(*lines):
    return "\n".join("    " + line for line in lines)


def example(rows, columns, start=0.5, end=1.5):
    return torch.linspace(start, end, rows * columns).reshape(rows, columns)


# Models: x is computed with, and `seen` decided by.
def weighted(x, rows):
    return sum(x[row] * (row + 1) for row in range(rows))


def roots(x, seen):
    return x.sqrt() + 1 if seen.abs().max() > 20 else x.sqrt()


def positive(x, seen):
    if not seen.sum() > 0:
        raise ValueError
    return x * 2 if seen.abs().max() > 20 else x


def close(x, seen):
    large = 1.00005 if seen.abs().max() > 20 else 1
    return x * (large if seen.sum() > 0 else 1.0000005)


with check("the loop over rows", weight=2, required=True, hint="Do you try all candidates, also with more rows?"):
    t = example(4, 3)
    tried = [t, -t, 0.01 * t, 100 * t, torch.cat([t, t]), t[:2].clone()]
    got = found_among(find_trace_bug, lambda x, seen: weighted(x, len(seen)), t.clone())
    assert_close(got["found"], tried[4])
    got = found_among(find_trace_bug, lambda x, seen: x if seen.abs().max() > 0.1 else 3 * x, t.clone())
    assert_close(got["found"], tried[2])
with check("a branch that only large numbers take, and NaN before it", weight=2, hint="What is NaN == NaN?"):
    t = example(2, 4)
    want, before = 100 * t, -t
    explain(found_among(find_trace_bug, roots, t.clone())["found"], want, {"two NaNs at one place agree": before})
with check("inputs that the model refuses", weight=2, hint="Who raises: the model, or the trace alone?"):
    t = example(2, 5)
    want = 100 * t
    assert_close(found_among(find_trace_bug, positive, t.clone())["found"], want)
with check("an input that only the trace refuses", hint="Who raises: the model, or the trace alone?"):
    t = example(2, 3)
    want = t[:1].clone()
    got = found_among(find_trace_bug, lambda x, seen: weighted(x, min(len(seen), 2)), t.clone())
    assert_close(got["found"], want)
with check("a result of another shape", weight=2, hint="What does allclose do with (2,) and (2, 1)?"):
    t = torch.full((2, 3), 1.5)
    want = -t
    got = found_among(find_trace_bug, lambda x, seen: x.mean(1, keepdim=bool(seen.sum() < 0)), t.clone())
    assert_close(got["found"], want)
with check("results that are close, and NaN against a number", weight=2, hint="Is NaN close to 0? How close is close?"):
    t = example(2, 4)
    want = [100 * t, -t]
    assert_close(found_among(find_trace_bug, close, t.clone())["found"], want[0])
    got = found_among(find_trace_bug, lambda x, seen: (x.clamp(min=0) if seen.sum() > 0 else x).sqrt(), t.clone())
    assert_close(got["found"], want[1])
with check("a model that is traced rightly", weight=2, required=True, hint="What do you give back at the end?"):
    t = example(2, 3)
    assert_close(hunted(find_trace_bug, source("return x.log() * x.shape[0]"), t.clone())["found"], None)
    assert_close(hunted(find_trace_bug, source("return x if x.abs().max() > 0 else -x"), t.clone())["found"], None)
with check("a model that writes into its input", weight=1, hint="What does the model do to the tensor that it gets?"):
    t = example(2, 3)
    want = [{"found": 0.01 * t, "example": t.clone()}, {"found": None, "example": t.clone()}]
    assert_close(
        hunted(find_trace_bug, source("x.mul_(2)", "return x if x.abs().max() > 0.2 else -x"), t.clone()), want[0]
    )
    assert_close(hunted(find_trace_bug, source("x.add_(1)", "return 2 * x"), t.clone()), want[1])
with check("the example stays as it is", guard=True):
    t = example(2, 3)
    want = {"found": -t, "example": t.clone()}
    assert_close(hunted(find_trace_bug, source("return x if x.sum() > 0 else -2 * x"), t.clone()), want)
### END HIDDEN TESTS

# %% [markdown]
# ## Export
#
# The successor is `torch.export`. It captures a whole module as one graph, without Python and without graph breaks.
# What it cannot know it refuses. It does not guess. The result, an `ExportedProgram`, can be saved, loaded elsewhere,
# and compiled ahead of time for C++ by AOTInductor.
#
# `program.module()` gives a module that runs it. A module that was exported with two rows is given three. What happens?


# %% given
class Double(nn.Module):
    def forward(self, x):
        return 2 * x


static = torch.export.export(Double(), (torch.ones(2, 3),))
try:
    static.module()(torch.ones(3, 3))
except AssertionError as error:
    print("static:", str(error).splitlines()[0])
free = torch.export.export(Double(), (torch.ones(2, 3),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
print("free:  ", [tuple(free.module()(torch.ones(n, 3)).shape) for n in (1, 2, 7)])

# %% [markdown]
# Shapes are guarded here too, by an error. `dynamic_shapes` has an entry for each argument: which of its dimensions are
# free. The example must not have size 0 or 1 there: such a dimension is taken as fixed, and export refuses to call
# it free. A program that was exported with two rows takes one as well.
#
# An `if` on values makes export fail: `GuardOnDataDependentSymNode` in PyTorch 2.13. Write it as
# `torch.cond(condition, f, g, (x,))`: both functions are captured, each takes `x` and gives a tensor of the
# same shape and dtype, and the program chooses when it runs. Or compute both sides, and choose by `torch.where`.
#
# `torch.export.save(program, file)` and `torch.export.load(file)` write it to a file and read it again, here or on a
# machine that has never seen your class. The file may be an `io.BytesIO()`, which is a file in memory; its `getvalue()`
# gives the bytes.
#
# ### Your turn
# This module has a branch. Export it, with both sides and for any number of rows, and save it.


# %% given
class Gate(nn.Module):
    """Takes one of two layers, as the mean of all of x says."""

    def __init__(self, width, seed):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.up = nn.Linear(width, width)
            self.down = nn.Linear(width, width)

    def forward(self, x):
        if x.mean() > 0:
            return self.up(x)
        return self.down(x).relu()


# %% given
hint(
    "Export a module of your own, which holds the gate and has a forward without an if.",
    "How many rows has your example? Which dimension is free?",
)


# %% exercise: export_gate
def export_gate(gate: Gate) -> bytes:
    """gate exported for inputs (n, width), float32, with any n >= 1: the bytes that torch.export.save writes.

    In the program that is loaded from them both sides work: program.module()(x) gives what gate(x) gives, wherever up
    and down both give finite numbers. gate.up and gate.down are Linear layers from width to width, on the CPU, of any
    width >= 2. The gate stays as it is: its values, its mode, and what of it is trained.
    """

    ### BEGIN SOLUTION
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = gate

        def forward(self, x: Tensor) -> Tensor:
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    example = torch.ones(2, gate.up.in_features)
    program = torch.export.export(Both(), (example,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()
    ### END SOLUTION


# %% given
def gate_of(weights):
    gate = Gate(len(weights["up.bias"]), 0)
    gate.load_state_dict(weights)
    return gate


def loaded(saved):
    if not isinstance(saved, bytes):
        raise TypeError(f"this is no bytes, but a {type(saved).__name__}")
    return torch.export.load(io.BytesIO(saved)).module()


def both_sides(condition, f, g, inputs):
    """What torch.cond gives, without a branch."""
    return [torch.where(condition, a, b) for a, b in zip(f(*inputs), g(*inputs), strict=True)]


@probes.probe
def through_export(export, weights, shapes):
    """The gate with these weights, exported: the bytes, and for each shape what is loaded from them, as a graph for a
    check to replay with x of this shape. A replay knows no torch.cond: it gets both sides."""
    saved = export(gate_of(weights))
    run = loaded(saved)
    for node in run.graph.nodes:
        if node.target is torch.ops.higher_order.cond:
            node.target = both_sides
    run.recompile()
    return {"saved": saved, "graphs": [probes.captured(run, torch.zeros(*shape)) for shape in shapes]}


def shapes_of(xs):
    return list(dict.fromkeys(tuple(x.shape) for x in xs))


def results_of(got, xs):
    """What the exported gate gives for each x. The bytes must be those of a program that takes any number of rows."""
    with zipfile.ZipFile(io.BytesIO(got["saved"])) as file:
        (name,) = [name for name in file.namelist() if name.endswith("models/model.json")]
        assert file.getinfo(name).file_size < 10**6, "the program is too long"
        program = json.loads(file.read(name))["graph_module"]
    (x,) = [spec["user_input"] for spec in program["signature"]["input_specs"] if "user_input" in spec]
    rows, width = program["graph"]["tensor_values"][x["arg"]["as_tensor"]["name"]]["sizes"]
    assert "as_expr" in rows and width["as_int"] == xs[0].shape[1], (
        "the program was not exported for any number of rows"
    )
    graphs = dict(zip(shapes_of(xs), got["graphs"], strict=True))
    return [probes.replay(graphs[x.shape], x) for x in xs]


@probes.probe
def after_export(export, weights, trained, training, xs):
    """The gate's values, mode, results and what of it is trained, after it was exported."""
    gate = gate_of(weights).train(training)
    for name, value in gate.named_parameters():
        value.requires_grad_(name in trained)
    export(gate)
    return {
        "state": probes.state_of(gate),
        "training": gate.training,
        "trained": [name for name, value in gate.named_parameters() if value.requires_grad],
        "outs": [gate(x).detach() for x in xs],
    }


# %% check: export_gate points=4
with check("two rows, on both sides", weight=2, required=True):
    t = [torch.tensor([[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]]), torch.tensor([[-1.0, 2.0, -4.0], [0.5, -3.0, 1.0]])]
    w = {
        "up.weight": torch.linspace(-1, 2, 9).reshape(3, 3),
        "up.bias": torch.tensor([0.5, -1.0, 2.0]),
        "down.weight": torch.linspace(3, -2, 9).reshape(3, 3),
        "down.bias": torch.tensor([1.0, 0.0, -0.5]),
    }
    want = [t[0] @ w["up.weight"].T + w["up.bias"], (t[1] @ w["down.weight"].T + w["down.bias"]).relu()]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)


### BEGIN HIDDEN TESTS
def weights_and_inputs(width, seed, *shapes):
    """Weights, and inputs (rows, width) with a mean near shift for each (rows, shift)."""
    generator = torch.Generator().manual_seed(seed)
    sizes = {"up.weight": (width, width), "up.bias": (width,), "down.weight": (width, width), "down.bias": (width,)}
    weights = {name: torch.randn(size, generator=generator) for name, size in sizes.items()}
    return weights, [torch.randn(n, width, generator=generator) / 2 + shift for n, shift in shapes]


def gated(w, x):
    if x.mean() > 0:
        return x @ w["up.weight"].T + w["up.bias"]
    return (x @ w["down.weight"].T + w["down.bias"]).relu()


with check("other widths and weights", weight=2, required=True, hint="Whose layers does your module use?"):
    for width, seed, shift in ((5, 1, 2.0), (2, 7, -2.0)):
        w, t = weights_and_inputs(width, seed, (2, shift), (2, -shift))
        want = [gated(w, x) for x in t]
        assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)
with check(
    "the program has both sides", weight=2, required=True, hint="Can the program choose, or did the export choose?"
):
    w, t = weights_and_inputs(3, 11, (4, 2.0), (4, -1.0), (4, 1.5), (4, -2.0))
    want = [gated(w, x) for x in t]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want, name="the program's results")
with check("three and more rows", weight=3, hint="Which dimension must be free?"):
    w, t = weights_and_inputs(4, 3, (3, 1.5), (3, -1.5), (5000, -1.5), (5000, 1.5))
    want = [gated(w, x) for x in t]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)
with check("one row", weight=2, hint="Is there a smallest size?"):
    w, t = weights_and_inputs(4, 2, (1, 2.0), (1, -2.0))
    want = [gated(w, x) for x in t]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)
with check("the mean of all of x decides", weight=2, hint="Of which numbers is the mean?"):
    w, _ = weights_and_inputs(2, 5)
    t = [torch.tensor([[3.0, 1.0], [-1.0, -2.0]]), torch.tensor([[1.0, 1.0], [-4.0, -2.0]]), torch.zeros(2, 2)]
    want = [gated(w, x) for x in t]
    by_row = [torch.cat([gated(w, row) for row in x.split(1)]) for x in t]
    explain(
        results_of(through_export(export_gate, w, shapes_of(t)), t), want, {"one mean decides for all rows": by_row}
    )
with check("the gate stays as it is", guard=True):
    for n, trained in enumerate((["up.weight", "up.bias", "down.weight", "down.bias"], ["up.bias", "down.weight"])):
        w, t = weights_and_inputs(3, 4, (2, 1.0), (2, -1.0))
        want = {"state": {k: v.clone() for k, v in w.items()}, "training": n == 0, "trained": trained}
        want["outs"] = [gated(w, x) for x in t]
        assert_close(after_export(export_gate, w, trained, n == 0, t), want)
### END HIDDEN TESTS

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. A question counts only if all of its letters are right, and one right question alone pays nothing.
#
# **q1. The first call**
# - a. `torch.compile(f)` compiles `f`.
# - b. Dynamo follows the Python bytecode and makes graphs of it.
# - c. On a CPU, Inductor writes C++ code.
# - d. A guard says what a graph assumes of a call.
# - e. The backward pass always runs in eager mode.
#
# **q2. Graph breaks**
# - a. A graph break makes the result wrong.
# - b. An `if` on a tensor's shape breaks the graph.
# - c. `print` breaks the graph.
# - d. If `counters["graph_break"]` is empty, there was no break.
# - e. `fullgraph=True` raises an error at an `if` on a tensor's values.
#
# **q3. Compiling again**
# - a. By default, after a call with 4 rows, one with 5 makes a graph that leaves the number of rows open.
# - b. With `dynamic=True`, one graph serves all sizes from 0 on.
# - c. After 8 graphs, the next one takes the place of the oldest.
# - d. An `int` attribute of a module that changes at each step makes a graph for each value, up to the limit.
# - e. `eval()` and `no_grad()` can make further graphs.
#
# **q4. Modes and speed**
# - a. `reduce-overhead` saves memory.
# - b. A result of a CUDA graph may be overwritten by the next call.
# - c. Elementwise operations gain by fusion: less memory is read and written.
# - d. A compiled model is always faster than an eager one.
# - e. A GPU's time can be measured without synchronising, if the median is taken.
#
# **q5. Saving**
# - a. The state of `torch.compile(model)` has names that begin with `_orig_mod.`.
# - b. `load_state_dict(state, strict=False)` loads such a state into a plain model.
# - c. `model.compile()` leaves the names as they are.
# - d. Removing the text `_orig_mod.` wherever it occurs is always right.
# - e. A state from a part that was compiled has the prefix in the middle of its names.
#
# **q6. Trace and export**
# - a. A trace only runs with the shape of its example.
# - b. A trace keeps the branch that its example took.
# - c. A trace warns of every loop that it unrolls.
# - d. `torch.export` refuses an `if` on a tensor's values.
# - e. An exported program with a free batch dimension should be made from an example with one row.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "bcd", "q2": "ce", "q3": "ade", "q4": "bc", "q5": "ace", "q6": "bd"}
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
    assert_some_right(interview(), {"q1": "bcd", "q2": "ce", "q3": "ade", "q4": "bc", "q5": "ace", "q6": "bd"})
with check("q1: the first call", weight=4, hint="Which of the four steps is done when?"):
    assert_letters(interview(), "q1", "bcd")
with check("q2: graph breaks", weight=4, hint="What did the table of six functions say?"):
    assert_letters(interview(), "q2", "ce")
with check("q3: compiling again", weight=4, hint="What did the picture show, and the module with a counter?"):
    assert_letters(interview(), "q3", "ade")
with check("q4: modes and speed", weight=4, hint="What is kept from replay to replay? When is a call done?"):
    assert_letters(interview(), "q4", "bc")
with check("q5: saving", weight=4, hint="Which names did your save_clean meet?"):
    assert_letters(interview(), "q5", "ace")
with check("q6: trace and export", weight=4, hint="What did six rows give, and what did export do with size 1?"):
    assert_letters(interview(), "q6", "bd")
### END HIDDEN TESTS

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague serves a language model. Requests have 1 to 500 tokens. He writes `torch.compile(model, dynamic=False)`,
# times one call, and sees 9 seconds. So he times the second call with the same request, and sees 2 ms, where eager mode
# had 5 ms. In production it is no faster than eager mode. There is no error and no wrong result.
#
# In four to eight sentences: what happens in production? How would he have found it? What would you change, in the code
# and in his measurement?

# %% question: in_production [markdown] points=2
# ### BEGIN SOLUTION
# Each length is another shape, and with dynamic=False each shape fails the guards of all graphs and compiles again.
# After 8 graphs the limit is reached. From then on, all other lengths run in eager mode, without an error: 8 lengths of
# 500 are fast, and a few requests wait for seconds. He would have seen it in the warning about the recompile limit on
# stderr, with TORCH_LOGS="recompiles", by counting graphs with a backend of his own, or by an error from
# fullgraph=True or set_stance("fail_on_recompile"). Compile with dynamic=True, or leave it at None, so that one graph
# serves all lengths from 2 on; or pad to a few lengths with a mask. Length 1 has a graph of its own: warm the model up
# with it and with a longer request before the service opens. Measure after the warm-up, with lengths as they occur,
# in the mode of production (eval, no_grad), synchronised, and look at the median and at the slowest calls.
#
# For grading: one point for a graph for each length, the limit of 8 and eager mode without an error; one for a way to
# find it and a change that works, with a measurement over several lengths.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - The first call compiles: Dynamo captures a graph with guards, AOTAutograd adds the backward pass, Inductor writes
#   Triton or C++.
# - What depends on a tensor's values breaks the graph. `fullgraph=True` tells you; an empty counter does not.
# - A call that fails the guards compiles again: shapes, dtypes, modes, Python numbers. Sizes 0 and 1 are special.
# - At most 8 graphs of a function; then eager mode, after one warning on stderr.
# - A counter that changes belongs in a tensor.
# - `_orig_mod` stands in the names of what was compiled. `strict=False` hides that.
# - Warm up, synchronise, take the median. `reduce-overhead` takes more memory, and its results are overwritten.
# - A trace freezes control flow, a loop even without a warning. `torch.export` refuses it, and has `torch.cond`.
#
# Lab 11 goes from one process to many.
