# %% [markdown]
# # torch.compile: capture, guards, graph breaks
#
# "Put `torch.compile` in front of your model, and it is faster." Sometimes it is. Sometimes it compiles eight times and
# then gives up, with one warning. What does it do with your function, and when does it do it again?
# (With the digits script it gives up after eight batches, until you move one line.)
#
# After this lab you can
#
# - see the graph that the first call of a compiled function captures;
# - find and remove graph breaks without changing values or gradients;
# - predict which calls compile anew, and write modules that do not make them;
# - save a compiled model so that a plain one can load it, and measure its time honestly;
# - say what a trace misses, and export a model with both branches and any batch size.
#
# You need lab 6, and two sittings of about an hour. Numbers were measured with PyTorch 2.13 on a CPU. No exercise
# needs a GPU or a C++ compiler.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

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
    check,
    explain,
    probes,
    show_breaks,
    show_compiles,
    use_device,
)

# %% given
here = use_device()  # where new tensors are made: on the GPU, if there is one

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # its warnings print the time; see "A limit"

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


# %% predict: graphs_of_wave
# **Predict.** How many graphs are there after `torch.compile(wave)`, after the first call, and after the second one?
#
# - [ ] 1, 1 and 1
# - [x] 0, 1 and 1
# - [ ] 0, 1 and 2
# - [ ] 1, 2 and 3


# %% example
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
# Dynamo counts breaks in `counters["graph_break"]`, by reason. Six functions follow, for a tensor of three ones.

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


# %% predict: broken_graphs
# **Predict.** `smooth` makes one graph. Which of the others make more than one? Tick all.
#
# - [x] `branching`: an `if` on a sum
# - [x] `printing`: a line on the screen
# - [x] `asking`: `.item()`
# - [ ] `appending`: a list of the notebook grows
# - [ ] `by_shape`: an `if` on a shape

# %% example
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
# At which line does each of the three break? And what is in its second graph?

# %% example
show_breaks({function.__name__: (function, (torch.ones(3),)) for function in (printing, asking, branching)})

# %% [markdown]
# `torch._dynamo.explain(f)(x)` tells the graphs, the breaks and their reasons.
# `torch.compile(f, fullgraph=True)` raises an error at the first break, and is the best safeguard in a program. One
# break it does not mind in 2.13: with `fullgraph=True`, `.item()` is captured. And for a program that you cannot
# change, set `TORCH_LOGS="graph_breaks,recompiles"` in its environment: each break and each further compilation is
# logged with its reason.
#
# ### Your turn: n_graphs
# Count graphs. The function may have been compiled before, many times. This is a warm-up of about
# ten minutes.

# %% given
hint(
    "What must be forgotten first? Which object sees each graph once?",
    "A backend of your own, or Recorder. torch._dynamo.explain has a count too.",
)

# %% exercise: n_graphs points=3

# %% [markdown]
# "Static-graph speed with dynamic authoring, the best of both worlds" is said of `torch.compile`. You know the small
# print now. Python stays as dynamic as it was. What depends on the values of tensors ends the graph.
#
# ### One graph
#
# The next function clips a gradient to a norm, and logs. It has three breaks: an `.item()`, a `print`, and an `if` on a
# tensor. How would you write it as one graph, with the same values and the same gradients?


# %% example
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
# ### Your turn: clip_norm
# Rewrite `clip_eager`. It hands back the norm, so that the caller can log and print it, outside of the graph.

# %% given
hint(
    "The scale is 1 or limit / norm. Which denominator gives both of them, and is never zero?",
    "What is limit / limit? Look at clamp(min=...).",
)

# %% exercise: clip_norm points=5

# %% [markdown]
# A clamp, a mask or a double `where` will do. Where both sides are expensive, `torch.cond(condition, f, g, (x,))` puts
# a real branch into the graph. You meet it again in the last section.
#
# ### The digits script, compiled
#
# The next cell compiles the forward pass and the loss of the digits script, and trains for an epoch. The log of losses
# is inside the compiled function. How many graphs are there after 15 batches? Then take the log out: delete the line
# in `loss_of`, write `log.append(loss.item())` below `loss.backward()`, and run the cell again. In the end, set
# `batch_size` to 128. Why is there one graph more?

# %% scratch
from sklearn.datasets import load_digits

epochs, batch_size = 1, 100

torch.manual_seed(0)
mixed = torch.randperm(1797)
pixels = ((torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8)[mixed]
answers = torch.tensor(load_digits().target)[mixed]
reader = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
adamw = torch.optim.AdamW(reader.parameters(), lr=0.01)
log: list[float] = []


def loss_of(rows):
    loss = nn.functional.cross_entropy(reader(pixels[rows]), answers[rows])
    log.append(loss.item())
    return loss


forget()
digit_graphs = Recorder()
compiled_loss = torch.compile(loss_of, backend=digit_graphs)
for rows in torch.cat([torch.randperm(1500) for _ in range(epochs)]).split(batch_size):
    loss = compiled_loss(rows)
    adamw.zero_grad()
    loss.backward()
    adamw.step()
is_right = reader(pixels[1500:]).argmax(dim=1) == answers[1500:]
print(f"{len(digit_graphs.graphs)} graphs, {len(log)} losses; right {is_right.float().mean():.0%}")

# %% answer [markdown]
# | script | graphs | right after 10 epochs |
# |---|---|---|
# | the log inside the compiled function | 8, then eager mode | 97% |
# | the log outside | 1 | 97% |
# | the log outside, batches of 128 | 2 | 97% |
#
# Each graph is made for a list of one length: the guards are `not log`, `len(log) == 1` and so on, so each batch
# compiles again. At 8 graphs Dynamo gives up, and the rest of the training runs in eager mode. Without the log's line,
# nothing that the function reads changes. With batches of 128, the last batch has 92 rows, and the second graph is for
# other sizes, as the next sections explain.

# %% [markdown]
# One graph instead of eight, and no batch in eager mode. The script reads as many digits as before. Lab 11 trains it in
# two processes.

# %% [markdown]
# ## Guards, and compiling again
#
# A graph is good for the calls that fulfil its guards. Where a call does not, Dynamo compiles again, and keeps both.
# What does it guard? `set_stance("fail_on_recompile")` turns the next compilation into an error, which names the guard.


# %% example
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
# Twelve calls of `step_up` follow, with tensors of n by 3. The sizes n are 4, 5, 6, 1, 4, 7, 8, 9, 10, 11, 12, 1. These
# are ten different sizes, and the 1 is there for a reason.

# %% predict: graphs_of_settings
# **Predict.** How many graphs are made with `dynamic=None`, with `False`, and with `True`?
#
# - [ ] 2, 10 and 1
# - [ ] 3, 10 and 2
# - [ ] 2, 8 and 1
# - [x] 3, 8 and 2

# %% example
show_compiles(step_up, [torch.ones(n, 3) for n in (4, 5, 6, 1, 4, 7, 8, 9, 10, 11, 12, 1)])

# %% [markdown]
# A square is a call that compiles. A dot is a call that an earlier graph serves. Choose one
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
# ### Your turn: predict_compiles
# Say it in advance, without calling Dynamo. By default, what if a 0 or 1 comes first, and then a 5? Is 5 the first
# size, or another one?

# %% given
hint(
    "Treat 0 and 1 on their own: each needs one graph, once. When does a size of 2 or more need one?",
    "With None, a size of 2 or more that comes first of all has a graph for itself. Any other one that nothing serves "
    "makes the open graph.",
)

# %% exercise: predict_compiles points=4

# %% [markdown]
# A service for inputs of any length should therefore be compiled with `dynamic=True`, or have its lengths padded to a
# few sizes, with a mask. And it should be warmed up with a length of 1, if that occurs.
#
# ### Python values
#
# A number in Python is guarded by its value, if the function looks at it. Mostly Dynamo learns: the second value makes
# a graph that leaves the number open. In PyTorch 2.13 it does so for an `int` or a `float` argument, and for a `float`
# in an attribute of a module or in a global variable. It does not for an `int` in one of these two places, nor for an
# `int` that is the default of an argument: these it expects to stay as they are.

# %% predict: graphs_of_attribute answer=8
# **Predict.** The module below counts its calls in an attribute. How many graphs do twelve calls make?


# %% example
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


for name, first in (("an int attribute:  ", 0), ("a float attribute: ", 0.0)):
    forget()
    recorder = Recorder()
    decay_eager = DecayEager(0.9)
    decay_eager.step = first
    decay = torch.compile(decay_eager, backend=recorder)
    for _ in range(12):
        decay(torch.ones(2))
    print(name, len(recorder.graphs), "graphs in 12 calls")
forget()
recorder = Recorder()
compiled_power = torch.compile(power, backend=recorder)
for k in range(2, 14):
    compiled_power(torch.ones(2), k)
print("an int argument:   ", len(recorder.graphs), "graphs in 12 calls")

# %% [markdown]
# Eight graphs for the `int` attribute, one for each value, and then eager mode for good. Step counters sit in such
# attributes, and so does the number of a layer (`layer_idx`) in many language models. Learning rates and temperatures
# are floats, and cost two graphs. If you cannot change the module, set
# `torch._dynamo.config.allow_unspec_int_on_nn_module = True`: its ints are then left open too, and there are 2 graphs
# here. Dynamo's warning at the limit names this setting. If you can, use a tensor: it is guarded by its shape and
# dtype, not by its value.
#
# ### Your turn: Decay
# Write the module so that one graph serves all steps.

# %% given
hint(
    "Which kind of attribute is a tensor, moves with the module and is saved with it, but is not trained?",
    "Which dtype has 0.9 ** torch.tensor(2)? How many digits are left when it is multiplied with a float64 tensor?",
)

# %% exercise: Decay points=4

# %% [markdown]
# ### Modes are guarded too
#
# One model, four calls. Which of them compile?


# %% example
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

# %% [markdown]
# ## A good place to stop
#
# You know what is captured, what breaks it, and what makes it compile anew. What comes next is saving, speed and
# export. After a break Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or press *Check*,
# which runs what it needs.

# %% [markdown]
# ## Saving a compiled model
#
# Look at the last line above, with the names. `torch.compile(model)` is a module around your model, which it calls
# `_orig_mod`. So the names in its `state_dict()` begin with that. A plain model does not know such names, and
# `load_state_dict` says so. With `strict=False` it raises nothing, and loads nothing: the weights stay random. It
# only returns two lists, of the names that are missing and of those it did not expect, and you have to look at them.
# `model.compile()`, which compiles the model in place, leaves the names alone.
#
# ### Your turn: save_clean
# Save any model so that a plain one can load it: compiled as a whole, in a part of it, or not at all.

# %% given
hint(
    "A part can be compiled on its own: net.encoder = torch.compile(net.encoder). Where in a name is the prefix then?",
    "Split the names at the dots. What if a part of the model is really called my_orig_mod?",
)

# %% exercise: save_clean points=2

# %% [markdown]
# ## What compiled code is like
#
# Steps 3 and 4 come now. What does Inductor make of a graph? The next cell lets it write its C++ code, and does not run
# the compiler on it, which would take some ten seconds the first time. So the compiled function cannot be used: we
# only read. `loops` uses inner parts of PyTorch 2.13 that may be called otherwise in your version.
#
# The function below has nine operations, which in eager mode are nine passes over memory. How many loops will the
# code have?


# %% example
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

# %% example
for mode, options in torch._inductor.list_mode_options().items():
    print(f"{mode:27}", options if mode != "lite" else f"({len(options)} options)")

# %% [markdown]
# Five, not three. (The options of `lite` are many, and left out.) `reduce-overhead` is said to save memory. Look at its
# one option. It uses *CUDA graphs*: the GPU's work is recorded once, with all of its addresses, and replayed. Python
# has less to do for each call. But the memory of inputs, results and everything between them is kept for the next
# replay: it takes *more* memory. On a CPU the mode changes nothing. The two `max-autotune` modes time several versions
# of the code and keep the fastest, so compiling takes longer.
#
# A replay writes its result to the same address each time. Below, a class does just that, with the squares of 1, 2 and
# 3.

# %% predict: kept_results
# **Predict.** One of these keeps all three results. Which one?
#
# - [ ] a list of the results as they come
# - [ ] a list of `result.detach()`
# - [x] a list of `result.clone()`


# %% example
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
# same device, `to()`. A `clone()` before the next call is what helps. On a GPU, PyTorch keeps track of the results that
# `reduce-overhead` hands out. If you use one after a later run has overwritten it, you get a `RuntimeError`, which says
# so and recommends the `clone()`. Call `torch.compiler.cudagraph_mark_step_begin()` where a new step begins.
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
# ### Your turn: bench
# Write the measurement. The clock and the waiting come as arguments, so that it can be tested without real seconds.

# %% given
hint(
    "Where must sync() stand? Is something still running when the first measurement begins?",
    "Each measurement has four steps. Three times only fn is called, before all of them.",
)

# %% exercise: bench points=3

# %% [markdown]
# `torch.utils.benchmark.Timer` does this for you, synchronisation included.
#
# ## What a trace misses
#
# `torch.compile` needs Python. A server in C++ has none, and needs a program that stands alone. For years that was
# *TorchScript*: `torch.jit.script` translated a typed subset of Python, and `torch.jit.trace` ran a model once, with
# an example, and wrote down the operations. Both are deprecated. So are `torch.jit.save` and `torch.jit.load`. Old
# projects are full of them, so you should know how a trace fails. For new code, skip both and use `torch.export`, the
# subject of the next section. What you learn here stays useful: every tool that records one run fails in this way. The
# next cell catches the warnings, and prints their categories.
#
# `Sign` gives `x` where the sum of `x` is positive, and `-2 * x` elsewhere. Its example has a positive sum. `Rows` adds
# the rows of `x`, one after the other. Its example has two rows.

# %% predict: frozen
# **Predict.** What does the trace of `Sign` give for -1, and that of `Rows` for six rows of ones?
#
# - [ ] 2, and 6
# - [ ] 2, and 2
# - [ ] -1, and an error
# - [x] -1, and 2


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
# ### Your turn: find_trace_bug
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

# %% exercise: find_trace_bug points=3

# %% [markdown]
# ## Export
#
# The successor is `torch.export`. It captures a whole module as one graph, without Python and without graph breaks.
# What it cannot know it refuses. It does not guess. The result, an `ExportedProgram`, can be saved, loaded elsewhere,
# and compiled ahead of time for C++ by AOTInductor.
#
# `program.module()` gives a module that runs it. A module that was exported with two rows is given three. What happens?


# %% example
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
# ### One model, three ways
#
# `Sign` from above, once more: by `script`, by `trace` and by `export`, each saved and loaded. Export needs the branch
# written as `torch.where`.

# %% predict: three_ways
# **Predict.** Which of the three loaded programs are right for `[-1, -1]` too?
#
# - [ ] all of them
# - [x] `script` and `export`
# - [ ] `export` alone
# - [ ] none


# %% example
class Chosen(nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, x, -2 * x)


def loaded(program, save, load):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def scaled(x, n):
    return n * x


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    jit = torch.jit.save, torch.jit.load
    programs = {"script": loaded(torch.jit.script(Sign()), *jit), "trace": loaded(trace(Sign(), torch.ones(2)), *jit)}
    exported = torch.export.export(Chosen(), (torch.ones(2),))
    programs["export"] = loaded(exported, torch.export.save, torch.export.load).module()
    for name, program in programs.items():
        print(f"{name:7} {program(torch.ones(2)).tolist()}  {program(-torch.ones(2)).tolist()}")
    print(programs["script"].code)
    try:
        torch.jit.script(scaled)(torch.ones(2), 3)
    except RuntimeError as error:
        print("script of scaled:", str(error).splitlines()[0])

# %% [markdown]
# `script` read the source of `forward`, and kept the `if`: you see it in `code`, which is no Python any more, though it
# looks like it. What it reads must have types. An argument without one counts as a tensor, and so `scaled` does not
# take the number 3; with `n: int` it does. Much of Python is not in the subset at all: a function with `*args`, for
# one.
#
# `trace` needs no types, and forgot the branch. `export` refused the `if`, and you had to say what you mean. That is
# more work on the first day, and less on the day when the input is negative.
#
# ### Your turn: export_gate
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

# %% exercise: export_gate points=4

# %% quiz: interview points=3
# ## Interview questions
#
# **The first call**
# - [ ] `torch.compile(f)` compiles `f`.
#   > It only wraps. The number of graphs was 0 until the first call.
# - [x] Dynamo follows the Python bytecode and makes graphs of it.
#   > It follows the code with tensors that have no values, and writes down the operations that it meets.
# - [x] On a CPU, Inductor writes C++ code.
#   > It writes one loop for `gelu_by_hand`, which the lab printed. On a GPU it writes Triton.
# - [x] A guard says what a graph assumes of a call.
#   > The dtype and the shape of `x`, for instance. A call that fails the guards compiles again.
# - [ ] The backward pass always runs in eager mode.
#   > AOTAutograd makes its graph ahead of time, and Inductor turns that one into code too.
#
# Hint: Which of the four steps is done when?
#
# **Graph breaks**
# - [ ] A graph break makes the result wrong.
#   > Python runs the line with real values between two graphs. The result stays right, and only speed is lost.
# - [ ] An `if` on a tensor's shape breaks the graph.
#   > The shape is known while the function is followed. It becomes a guard; `by_shape` made one graph.
# - [x] `print` breaks the graph.
#   > `printing` made two graphs: the line on the screen has to come from Python, in the middle.
# - [ ] If `counters["graph_break"]` is empty, there was no break.
#   > In PyTorch 2.13 `branching` made two graphs, and the counter said 0. An empty counter is no proof.
# - [x] `fullgraph=True` raises an error at an `if` on a tensor's values.
#   > It raises at the first break, and Dynamo cannot know which way such an `if` goes. That makes it the best
#   > safeguard.
#
# Hint: What did the table of six functions say?
#
# **Compiling again**
# - [x] By default, after a call with 4 rows, one with 5 makes a graph that leaves the number of rows open.
#   > The first graph is for one size. The second size tells Dynamo that the size changes.
# - [ ] With `dynamic=True`, one graph serves all sizes from 0 on.
#   > Sizes 0 and 1 have graphs of their own, also there, since code that broadcasts takes another way.
# - [ ] After 8 graphs, the next one takes the place of the oldest.
#   > Nothing is thrown out. From then on a call that no graph serves runs in eager mode, after one warning.
# - [x] An `int` attribute of a module that changes at each step makes a graph for each value, up to the limit.
#   > An `int` in an attribute of a module is guarded by its value, and Dynamo does not learn to leave it open.
#   > `DecayEager` made eight graphs in 12 calls. A `float` made two.
# - [x] `eval()` and `no_grad()` can make further graphs.
#   > The grad mode and the `training` flags are guarded. The model in the lab made one graph for each of three modes.
#
# Hint: What did the picture show, and the module with a counter?
#
# **Modes and speed**
# - [ ] `reduce-overhead` saves memory.
#   > It keeps the memory of inputs, results and everything between for the next replay. It takes more.
# - [x] A result of a CUDA graph may be overwritten by the next call.
#   > A replay writes to the same address each time. `Replayed` showed three times the last result; `clone()` helps.
# - [x] Elementwise operations gain by fusion: less memory is read and written.
#   > The one loop read each number once and wrote each once, where eager mode passes over memory for each operation.
# - [ ] A compiled model is always faster than an eager one.
#   > The guards are checked at each call. A tiny model took 17 microseconds in eager mode and 30 compiled.
# - [ ] A GPU's time can be measured without synchronising, if the median is taken.
#   > A call returns when the work is ordered and not when it is done. A median of such times is a median of the wrong
#   > thing.
#
# Hint: What is kept from replay to replay? When is a call done?
#
# **Saving**
# - [x] The state of `torch.compile(model)` has names that begin with `_orig_mod.`.
#   > `torch.compile` makes a module around the model, and keeps the model as its attribute `_orig_mod`.
# - [ ] `load_state_dict(state, strict=False)` loads such a state into a plain model.
#   > No name fits, and `strict=False` raises nothing. The weights stay random. Only the result lists the names.
# - [x] `model.compile()` leaves the names as they are.
#   > It compiles the model in place, without a module around it.
# - [ ] Removing the text `_orig_mod.` wherever it occurs is always right.
#   > A part may really be called `my_orig_mod`. Only a part of the name that is exactly `_orig_mod` goes.
# - [x] A state from a part that was compiled has the prefix in the middle of its names.
#   > The wrapper stands where the part was, as in `encoder._orig_mod.weight`.
#
# Hint: Which names did your save_clean meet?
#
# **Trace and export**
# - [ ] A trace only runs with the shape of its example.
#   > It took six rows after an example with two, without a word. The number of rounds was frozen, so the result was
#   > wrong.
# - [x] A trace keeps the branch that its example took.
#   > It writes down one run. `Sign`, traced with a positive sum, gave the positive branch for -1 too.
# - [ ] A trace warns of every loop that it unrolls.
#   > There was a `TracerWarning` for the branch, and none for the loop.
# - [x] `torch.export` refuses an `if` on a tensor's values.
#   > It captures one graph and does not guess. Write it with `torch.cond`, or choose by `torch.where`.
# - [ ] An exported program with a free batch dimension should be made from an example with one row.
#   > A size of 0 or 1 in the example is taken as fixed, and export refuses to call it free. Two rows serve one row as
#   > well.
#
# Hint: What did six rows give, and what did export do with size 1?

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
# ## On one sheet
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
# | call or rule | what it does or costs |
# |---|---|
# | `torch.compile(f, fullgraph=True)` | an error at the first break; `.item()` is captured |
# | `torch._dynamo.explain(f)(x)` | graphs, breaks and their reasons |
# | `TORCH_LOGS="graph_breaks,recompiles"` | a log of each break and each further compilation |
# | `set_stance("fail_on_recompile")` | makes the next compilation an error that names the guard |
# | `dynamic=True` | one graph for all sizes from 2 on; 0 and 1 have their own |
# | `model.compile()` | compiles in place, and leaves the names alone |
# | `mode="reduce-overhead"` | CUDA graphs: more memory, and results to be cloned |
# | `torch.cond(condition, f, g, (x,))` | a branch inside the graph |
#
# Three questions to ask yourself:
#
# - Which of my calls would compile anew, and how would I know?
# - Which numbers of my model change at each step, and are they tensors?
# - Did my measurement wait for the work, and was everything compiled before it began?
#
# Lab 11 goes from one process to many.
