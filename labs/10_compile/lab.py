# %% [markdown]
# # torch.compile: capture, guards, graph breaks
#
# "Add `torch.compile`, and your model gets faster." Sometimes it does. Sometimes it compiles eight times, prints a
# single warning, and gives up. The digits script does, until you move one line. What does `torch.compile` do with your
# function, and when does it do it again?
#
# After this lab, you'll be able to
#
# - inspect the graph that the first call to a compiled function captures;
# - find and remove graph breaks without changing values or gradients;
# - predict which calls compile again, and write modules that don't;
# - save a compiled model so a plain one can load it, and measure its speed honestly;
# - say what a trace misses, and export a model with both branches and any batch size.
#
# You need lab 6. Plan two sittings of about an hour. The six exercises headed *Your turn* are the core; *Further
# practice* is optional and earns no points. All numbers were measured with PyTorch 2.13 on a CPU. No exercise needs a
# GPU or a C++ compiler.
#
# At each *Predict*, choose before you run the next cell. A card below each exercise shows its checks; those marked
# *later* run when you press *Mark my work* or hand in the lab.
#
# Run the next cell first. It imports what this lab uses.

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
here = use_device()  # where new tensors are created: on the GPU, if there is one

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # its warnings print the time; see "The recompile limit"

# %% [markdown]
# ## What the first call does
#
# A training step of the digits script consists of many small operations, and Python starts each one when it reaches it.
# This *eager mode* makes graphs dynamic, but it has a price: every operation waits for Python, and none is planned
# together with the next. `torch.compile`, which came with PyTorch 2.0, avoids that. `torch.compile(f)` returns a
# function that does the same as `f`, in four steps:
#
# 1. *Dynamo* follows the Python bytecode of `f`, the instructions that the interpreter would run, with tensors that
#    have no values. It records the operations as a *graph*, an object from `torch.fx`.
# 2. Dynamo notes what it assumed in the process, such as the dtype and shape of `x`. These assumptions are called
#    *guards*.
# 3. *AOTAutograd* creates the graph of the backward pass ahead of time.
# 4. *Inductor*, the default backend, turns both graphs into code: on a GPU in Triton, a language for GPU code, and on a
#    CPU in C++.
#
# A *backend* is a function that receives a graph and example inputs, and returns something to call instead of the
# graph. The one below compiles nothing: it keeps each graph and runs it unchanged, so you see Dynamo without steps 3
# and 4.


# %% given
class Recorder:
    """A backend for torch.compile that keeps each graph it receives, and runs it unchanged."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, example_inputs):
        self.graphs.append(graph)
        return graph.forward


def forget():
    """Forget everything that was compiled, and all of Dynamo's counters, which aren't public."""
    torch.compiler.reset()
    counters.clear()


# %% predict: graphs_of_wave
# **Predict.** How many graphs are there after `torch.compile(wave)`, after the first call, and after the second?
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
# `torch.compile` itself compiles nothing; the first call does. That's why mistakes show up only there, and why it's
# slow. On our two cores, it took 0.2 s with a backend like this one, and 6 s with Inductor for a model of two small
# layers, or 1 s if an earlier process had filled Inductor's disk cache. The "10 to 60 seconds" that you may read about
# depends on the model, the machine and the cache.
#
# ## Graph breaks
#
# Training scripts print, log losses and branch on values, and not all of that fits into a graph. At `if y.sum() > 0`,
# it's impossible to know which branch to take without values. Dynamo ends the graph, lets Python run the `if` with real
# values, and starts another graph after it. That's called a *graph break*. The result is still right, but each graph is
# compiled separately, no operations are combined across the break, and a GPU may have to wait for Python in between.
#
# Dynamo counts breaks by reason in `counters["graph_break"]`. Each of the next six functions gets a tensor of three
# ones.

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
# **Predict.** `smooth` compiles to one graph. Which of the others compile to more than one?
#
# - [x] `branching`: an `if` on a sum
# - [x] `printing`: `print`
# - [x] `asking`: `.item()`
# - [ ] `appending`: an append to a list outside the function
# - [ ] `by_shape`: an `if` on a shape

# %% example
for function in (smooth, branching, printing, asking, appending, by_shape):
    forget()
    recorder = Recorder()
    torch.compile(function, backend=recorder)(torch.ones(3))
    broken = sum(counters["graph_break"].values())
    print(f"{function.__name__:10} graphs {len(recorder.graphs)}   counters['graph_break'] {broken}")

# %% [markdown]
# `print`, `.item()` and an `if` on a tensor's values break the graph. Appending to a list doesn't, because Dynamo can
# do that after the graph has run. Neither does an `if` on a shape, which is known and becomes a guard.
#
# But `branching` has two graphs and a counter of 0. PyTorch 2.13 doesn't count this kind of break there, so an empty
# counter proves nothing.
#
# Of a function with breaks, which line breaks the graph?

# %% example
show_breaks({function.__name__: (function, (torch.ones(3),)) for function in (printing, asking, branching)})

# %% [markdown]
# `torch._dynamo.explain(f)(x)` lists the graphs, the breaks and their reasons. `torch.compile(f, fullgraph=True)`
# raises an error at the first break, so it's the best safeguard in a program. There's one exception in PyTorch 2.13:
# with `fullgraph=True`, `.item()` is captured. For a program that you can't change, set
# `TORCH_LOGS="graph_breaks,recompiles"` in its environment, which logs each break and each further compilation with its
# reason.
#
# ### Your turn: n_graphs
# Count graphs. The function may already have been compiled many times.

# %% given
hint(
    "What do you have to forget first? Which object sees each graph once?",
    "Use your own backend, or Recorder. The result of torch._dynamo.explain has a count too.",
)

# %% exercise: n_graphs points=3 level=easy

# %% [markdown]
# `torch.compile` is often advertised as "static-graph speed with dynamic authoring". The small print: Python stays
# dynamic, but whatever depends on a tensor's values ends the graph.
#
# ### One graph
#
# The next function clips a gradient to a norm, as many training loops do, and logs the norm. It breaks at an `.item()`,
# a `print`, and an `if` on a tensor. How would you write it as one graph, with the same values and gradients?


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
# Did you think of `torch.where` too? It computes both sides. At zero, the side that isn't selected divides by zero, so
# its derivative is infinite. `where` sends that side a gradient of zero, and zero times infinity is NaN. The values are
# right, so a test of values doesn't notice. Make the dangerous side harmless *before* the division.
#
# ### Your turn: clip_norm
# Rewrite `clip_eager`. Return the norm, so the caller can log and print it outside the graph.

# %% given
hint(
    "The scale is 1 or limit / norm. Which denominator gives both, and is never zero?",
    "What is limit / limit? Look at clamp(min=...).",
)

# %% exercise: clip_norm points=5 level=hard

# %% [markdown]
# A clamp, a mask or a double `where` works. If both sides are expensive, `torch.cond(condition, f, g, (x,))` puts a
# real branch into the graph. You'll see it again in the last section.
#
# ### The digits script, compiled
#
# The next cell compiles the forward pass and the loss of the digits script, and trains for one epoch. The compiled
# function also logs the loss. How many graphs are there after 15 batches? Now move the log out: delete its line in
# `loss_of`, add `log.append(loss.item())` below `loss.backward()`, and rerun the cell. Finally, set `batch_size` to
# 128. Why is there one more graph?

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
# Each graph is for one length of the list: its guards include `not log`, `len(log) == 1` and so on, so each batch
# compiles again. After 8 graphs, Dynamo gives up, and the rest of the training runs in eager mode. Without the log,
# nothing that the function reads changes. With batches of 128, the last batch has 92 rows; the second graph is for
# other sizes, as the next sections explain.

# %% [markdown]
# That's one graph instead of eight, no batch in eager mode, and the same accuracy. Lab 11 trains the script in two
# processes.

# %% [markdown]
# ## Guards and recompilation
#
# In the digits script, seven of the first eight batches compiled again because a guard failed. A graph serves only
# calls that satisfy its guards. For any other call, Dynamo compiles again, and keeps both graphs. What does it guard?
# `torch.compiler.set_stance("fail_on_recompile")` turns the next compilation into an error that names the guard.


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
# The values of tensors aren't guarded. Shapes, strides, dtypes, devices and `requires_grad` are, and so are the grad
# mode and the Python values that the function looks at.
#
# ### Shapes
#
# Inputs of many lengths would need many graphs, so Dynamo can leave a size open, shown as `n` in the next picture. In
# `(n, n)`, each letter is a separate open size. The argument `dynamic` says when:
#
# - `dynamic=False`: never. Each size has its own graph.
# - `dynamic=True`: from the first graph on.
# - `dynamic=None`, the default: the first graph is for one size. If another size follows, the next graph leaves it
#   open.
#
# The next cell calls `step_up` twelve times, with tensors of shape (n, 3). The sizes n are 4, 5, 6, 1, 4, 7, 8, 9, 10,
# 11, 12 and 1, ten different ones.

# %% predict: graphs_of_settings
# **Predict.** How many graphs are created with `dynamic=None`, `False` and `True`?
#
# - [ ] 2, 10 and 1
# - [ ] 3, 10 and 2
# - [ ] 2, 8 and 1
# - [x] 3, 8 and 2

# %% example
show_compiles(step_up, [torch.ones(n, 3) for n in (4, 5, 6, 1, 4, 7, 8, 9, 10, 11, 12, 1)])

# %% [markdown]
# Choose a setting. A square is a call that compiles, and a dot is a call that an earlier graph serves. (By default, two
# graphs could serve the second call with 4. The one for `n` is tried first.)
#
# Two things are surprising. First, the graph for `n` doesn't serve 1. Sizes 0 and 1 always have their own graph, even
# with `dynamic=True`, because code that broadcasts takes another path there.
#
# ### The recompile limit
#
# Second, the crosses. Dynamo creates at most 8 graphs per function (`torch._dynamo.config.recompile_limit`). From then
# on, a call that no graph serves runs in eager mode, without an error. There's only one warning on stderr, which this
# lab turned off at the start. The results are still right, but the speed is gone. With `fullgraph=True`, it's an error.
#
# Try other sizes here. By default, what happens if a 0 or 1 comes first, and then a 5? Is 5 the first size, or another
# one?


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

# %% answer [markdown]
# It counts as another size, so its graph leaves the size open: `graphs_after([1, 5, 6], None)` is `[1, 2, 2]`. If 5
# comes first, its graph is for 5 only, and the 6 creates the open graph.

# %% [markdown]
# ### Your turn: predict_compiles
# Now predict the number of graphs without calling Dynamo.

# %% given
hint(
    "Treat 0 and 1 separately: each needs one graph, once. When does a size of 2 or more need one?",
    "With None, a size of 2 or more in the very first call has its own graph. Any other that no graph serves creates "
    "the open graph.",
)

# %% exercise: predict_compiles points=4 level=medium

# %% [markdown]
# So compile a service for inputs of any length with `dynamic=True`, or pad the inputs to a few lengths, with a mask
# that hides the padding. And warm it up: call it before your users do, with a length of 1 too if that can occur.
#
# ### Python values
#
# If a function looks at a Python number, its value is guarded. In most cases Dynamo learns: for the second value, it
# creates a graph that leaves the number open. PyTorch 2.13 does so for an `int` or `float` argument, and for a `float`
# in a module's attribute or a global variable. It doesn't for an `int` in an attribute, a global variable or an
# argument's default, because it expects those to stay the same.

# %% predict: graphs_of_attribute answer=8
# **Predict.** The module below counts its calls in an attribute. How many graphs do twelve calls create?


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
# The `int` attribute has eight graphs, one per value, and then runs in eager mode for good. Step counters are often
# such attributes, and so are layer numbers (`layer_idx`) in many language models. Learning rates are floats, and cost
# only two graphs. If you can't change the module, set `torch._dynamo.config.allow_unspec_int_on_nn_module = True`,
# which Dynamo's warning at the limit also names. Its ints are then left open too, with 2 graphs here. If you can change
# it, use a tensor: its shape and dtype are guarded, but not its value.
#
# ### Your turn: Decay
# Write the module so one graph serves all steps.

# %% given
hint(
    "Which kind of attribute is a tensor that moves with the module and is saved with it, but isn't trained?",
    "Which dtype does 0.9 ** torch.tensor(2) have? How many digits are left if you multiply a float64 tensor by it?",
)

# %% exercise: Decay points=4 level=medium

# %% [markdown]
# ### Modes are guarded too
#
# A script that validates after each epoch switches its model between modes. Here are four calls. Which ones compile?


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
# Each mode has its own graph, and each graph counts toward the limit of 8. When you measure a model, warm it up in the
# mode that you'll measure it in.

# %% [markdown]
# ## A good place to stop
#
# You know what is captured, what breaks a graph, and what makes Dynamo compile again. Next come saving, speed and
# export. After a break, Python has forgotten everything. Choose *Run > Run All Above Selected Cell* (in Colab, *Runtime
# > Run before*), or press *Check*, which runs what it needs.

# %% [markdown]
# ## Saving a compiled model
#
# You may compile the digits network to train it, and load its weights into a plain one to use it. Look at the names
# that the last cell printed. `torch.compile(model)` is a module that wraps your model and calls it `_orig_mod`, so the
# names begin with that. A plain model doesn't have such names, and `load_state_dict` raises an error. With
# `strict=False`, it raises nothing and loads nothing: the weights stay random. It only returns two lists, of the names
# that are missing and of those it didn't expect, for you to check. `model.compile()` compiles the model in place,
# without changing the names.
#
# ### Your turn: save_clean
# Save any model so a plain one can load it, whether all of it, a part of it or none of it is compiled.

# %% given
hint(
    "A part can be compiled separately: net.encoder = torch.compile(net.encoder). Where is the prefix in a name then?",
    "Split the names at the dots. What if a part of the model really is called my_orig_mod?",
)

# %% exercise: save_clean points=2 level=easy

# %% [markdown]
# ## What compiled code looks like
#
# So far, the digits script isn't any faster, because `Recorder` compiles nothing. What does Inductor make of a graph?
# The next cell lets it write its C++ code, but skips the compiler, which would take about ten seconds the first time.
# So you can only read the code. `loops` uses internals of PyTorch 2.13 that may have other names in your version.
#
# The function below has nine operations, which are nine passes over memory in eager mode. How many loops will the code
# have?


# %% example
def gelu_by_hand(x):
    return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x * x * x)))


def softmax_of_double(x):
    return torch.softmax(2 * x, -1)


def loops(f, *args):
    """The source of the C++ functions that Inductor writes for f(*args)."""
    from torch._inductor.async_compile import AsyncCompile

    found = []

    def keep(self, types, source, *more, **options):
        found.append(source)
        return lambda *tensors: None

    forget()
    written_only = mock.patch.object(AsyncCompile, "cpp_pybinding", keep)
    no_vectors = mock.patch("torch._inductor.cpu_vec_isa.valid_vec_isa_list", lambda: [])  # easier to read
    one_thread = torch._inductor.config.patch({"cpp.threads": 1})  # the same code on every machine
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
# Just one. This loop reads and writes each number once, and keeps everything in between in the processor's registers.
# That's called *fusion*, and it's most of what `torch.compile` gains on elementwise code. On 2 million numbers, we
# measured 3.0 ms in eager mode and 1.2 ms compiled. A tiny model was slower: 17 microseconds in eager mode and 30
# compiled, because the guards are checked at each call. A matrix product can't be fused away. So "20 to 200 % faster"
# isn't a law.
#
# (If no C++ compiler is installed, the cell prints `InductorError`. Otherwise, it prints one loop with nine lines of
# arithmetic.)
#
# With the same seed, Inductor's dropout draws different random numbers than eager mode does.
#
# ### Modes
#
# `torch.compile(f, mode=...)` chooses a set of options. Most texts name three modes. Which modes are there?

# %% example
for mode, options in torch._inductor.list_mode_options().items():
    print(f"{mode:27}", options if mode != "lite" else f"({len(options)} options)")

# %% [markdown]
# There are five, not three. (`lite` has too many options to print.) `reduce-overhead` is said to save memory. Its one
# option uses *CUDA graphs*: the GPU's work is recorded once, with all its memory addresses, and then replayed, so
# Python has less to do for each call. But the memory of the inputs, the results and everything in between is kept for
# the next replay, so it takes *more* memory. On a CPU, the mode changes nothing. The two `max-autotune` modes time
# several versions of the code and keep the fastest, so compiling takes longer.
#
# Every replay writes its result to the same address. The class below does the same with the squares of 1, 2 and 3.

# %% predict: kept_results
# **Predict.** One of these keeps all three results. Which one?
#
# - [ ] a list of the results themselves
# - [ ] a list of `result.detach()`
# - [x] a list of `result.clone()`


# %% example
class Replayed:
    """Like a CUDA graph: each result overwrites the previous one."""

    def __init__(self, f, x):
        self.f, self.result = f, f(x)

    def __call__(self, x):
        return self.result.copy_(self.f(x))


replayed = Replayed(torch.square, torch.zeros(2))
batches = [torch.full((2,), float(n)) for n in (1, 2, 3)]
kept = [replayed(x) for x in batches]
print("themselves  ", [out.tolist() for out in kept])
kept = [replayed(x).detach() for x in batches]
print("detach      ", [out.tolist() for out in kept])
kept = [replayed(x).clone() for x in batches]
print("clone       ", [out.tolist() for out in kept])

# %% [markdown]
# The other two hold the last result three times. `detach()` returns a tensor that shares the result's memory;
# `contiguous()`, and `to()` with the same device, return the result itself. Only a `clone()` before the next call
# helps. On a GPU, PyTorch tracks the results that `reduce-overhead` returns. If you use one after a later run has
# overwritten it, you get a `RuntimeError` that recommends the `clone()`. Call
# `torch.compiler.cudagraph_mark_step_begin()` at the beginning of each step.
#
# ### Honest timing
#
# What goes wrong when you measure a compiled function?
#
# - The first call compiles. The second may compile too, for another size or mode.
# - A GPU works asynchronously: a call returns when its work is queued, not when it's done. Call
#   `torch.cuda.synchronize()` before you start the clock and before you stop it.
# - Sometimes something else runs on the machine, which affects a mean, but hardly a median.
#
# ### Your turn: bench
# Write the measurement. The clock and the wait are arguments, so it can be tested without real seconds.

# %% given
hint(
    "Where do you need sync()? Is anything still running when the first measurement begins?",
    "Each measurement has four steps. Before the first one, only fn is called, three times.",
)

# %% exercise: bench points=3 level=easy further

# %% [markdown]
# `torch.utils.benchmark.Timer` does this for you, including the synchronization.
#
# ## What a trace misses
#
# A scanner that reads digits might have no Python, which `torch.compile` needs. For years, the way out was
# *TorchScript*: `torch.jit.script` translated a typed subset of Python, and `torch.jit.trace` ran a model once, with an
# example, and recorded the operations. Both are deprecated, and so are `torch.jit.save` and `torch.jit.load`. For new
# code, use `torch.export`, which the next section covers. But old projects are full of traces, and every tool that
# records a single run fails as they do. The next cell prints the categories of the warnings.
#
# `Sign` returns `x` if the sum of `x` is positive, and `-2 * x` otherwise. Its example has a positive sum. `Rows` adds
# up the rows of `x` in a loop. Its example has two rows.

# %% predict: frozen
# **Predict.** What does the trace of `Sign` return for -1, and that of `Rows` for six rows of ones?
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
# The example's branch is frozen, and so is the number of iterations. The branch caused a `TracerWarning`, but the loop
# didn't. So "a trace is for one shape" isn't quite right: this one accepted six rows without an error. It freezes
# Python's control flow, as does every tool that records a single run.
#
# ### Your turn: find_trace_bug
# Find an input that reveals the mistake. Comparing results is harder than it looks: two NaNs in the same position
# agree, results of different shapes don't, and the model itself may refuse some inputs.


# %% given
def candidates(example: Tensor) -> Iterator[Tensor]:
    """Inputs like the example (n, d), with n even: another sign, smaller and larger numbers, and more or fewer rows."""
    yield example.clone()
    yield -example
    yield 0.01 * example
    yield 100 * example
    yield torch.cat([example, example])
    yield example[: len(example) // 2].clone()


# %% given
hint(
    "Which comparisons broadcast? Which ones treat two NaNs as equal? Look for equal_nan.",
    "Three things can happen with each candidate: the model raises an error, only the trace does, or neither.",
)

# %% exercise: find_trace_bug points=3 level=medium further

# %% [markdown]
# ## Export
#
# To run the digits network without Python today, use `torch.export`, TorchScript's successor. It captures a whole
# module as one graph without graph breaks. If it can't know something, it refuses instead of guessing. The result, an
# `ExportedProgram`, can be saved, loaded elsewhere, and compiled ahead of time for C++ by AOTInductor.
#
# `program.module()` returns a module that runs it. What happens if a module is exported with two rows, and called with
# three?


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
# Shapes are guarded here too, but a failed guard is an error. `dynamic_shapes` has an entry for each argument, which
# says which of its dimensions are free. The example mustn't have a size of 0 or 1 there: export treats such a dimension
# as fixed, and refuses to make it free. A program exported with two rows does accept one row.
#
# An `if` on values makes export fail: with `GuardOnDataDependentSymNode`, in PyTorch 2.13. Write it as
# `torch.cond(condition, f, g, (x,))`: both functions are captured, each takes `x` and returns a tensor of the same
# shape and dtype, and the program chooses when it runs. Or compute both sides, and choose with `torch.where`.
#
# `torch.export.save(program, file)` writes it to a file, and `torch.export.load(file)` reads it, even on a machine that
# has never seen your class. The file may be an `io.BytesIO()`, a file in memory whose `getvalue()` returns the bytes.
#
# ### One model, three ways
#
# Here's `Sign` again, converted by `script`, `trace` and `export`, then saved and loaded. Export needs the branch
# written as `torch.where`.

# %% predict: three_ways
# **Predict.** Which of the three loaded programs are right for `[-1, -1]` too?
#
# - [ ] all of them
# - [x] `script` and `export`
# - [ ] only `export`
# - [ ] none of them


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
# `script` read the source of `forward`, and kept the `if`. You can see it in `code`, which looks like Python but isn't.
# Whatever it reads must have a type. An argument without one counts as a tensor, so `scaled` doesn't accept the number
# 3; with `n: int`, it does. Much of Python isn't in the subset at all, such as functions with `*args`.
#
# `trace` needs no types, but lost the branch. `export` refused the `if`, so you had to say what you mean. That's more
# work at first, and less on the day when the input is negative.
#
# ### Your turn: export_gate
# This module has a branch. Export it with both sides and for any number of rows, and save it.


# %% given
class Gate(nn.Module):
    """Applies one of two layers, depending on the mean of all of x."""

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
    "Export your own module, which holds the gate and has a forward without an if.",
    "How many rows does your example have? Which dimension is free?",
)

# %% exercise: export_gate points=4 level=medium

# %% quiz: interview points=3
# ## Interview questions
#
# **The first call**
# - [ ] `torch.compile(f)` compiles `f`.
#   > It only wraps `f`. There were 0 graphs until the first call.
# - [x] Dynamo follows the Python bytecode and creates graphs from it.
#   > It follows the code with tensors that have no values, and records the operations.
# - [x] On a CPU, Inductor writes C++ code.
#   > For `gelu_by_hand`, it wrote one loop, which the lab printed. On a GPU, it writes Triton.
# - [x] A guard says what a graph assumes about a call.
#   > For instance, the dtype and the shape of `x`. A call that fails the guards compiles again.
# - [ ] The backward pass always runs in eager mode.
#   > AOTAutograd creates its graph ahead of time, and Inductor turns that graph into code too.
#
# Hint: Which of the four steps is done when?
#
# **Graph breaks**
# - [ ] A graph break makes the result wrong.
#   > Python runs the line with real values, between two graphs. The result is right, and only speed is lost.
# - [ ] An `if` on a tensor's shape breaks the graph.
#   > The shape is known while Dynamo follows the function, and becomes a guard. `by_shape` had one graph.
# - [x] `print` breaks the graph.
#   > `printing` had two graphs, because Python has to print the line between them.
# - [ ] If `counters["graph_break"]` is empty, there was no break.
#   > In PyTorch 2.13, `branching` had two graphs, but its counter was 0. An empty counter proves nothing.
# - [x] `fullgraph=True` raises an error at an `if` on a tensor's values.
#   > It raises an error at the first break, and Dynamo can't know which branch such an `if` takes. That makes it the
#   > best safeguard.
#
# Hint: What did the table of six functions show?
#
# **Compiling again**
# - [x] By default, after a call with 4 rows, one with 5 creates a graph that leaves the number of rows open.
#   > The first graph is for one size. The second size shows Dynamo that the size changes.
# - [ ] With `dynamic=True`, one graph serves all sizes from 0 on.
#   > Sizes 0 and 1 have their own graphs here too, because code that broadcasts takes another path.
# - [ ] After 8 graphs, the next one replaces the oldest.
#   > Nothing is thrown out. From then on, a call that no graph serves runs in eager mode, after one warning.
# - [x] An `int` attribute of a module that changes at each step causes a graph for each value, up to the limit.
#   > Its value is guarded, and Dynamo doesn't learn to leave it open. `DecayEager` had eight graphs after 12 calls.
#   > With a `float`, it had two.
# - [x] `eval()` and `no_grad()` can cause further graphs.
#   > The grad mode and the `training` flags are guarded. The lab's model had one graph for each of three modes.
#
# Hint: What did the picture show, and the module with a counter?
#
# **Modes and speed**
# - [ ] `reduce-overhead` saves memory.
#   > It keeps the memory of the inputs, the results and everything in between for the next replay, so it takes more.
# - [x] The result of a CUDA graph may be overwritten by the next call.
#   > A replay always writes to the same address. `Replayed` returned the last result three times; `clone()` helps.
# - [x] Elementwise operations gain from fusion, because less memory is read and written.
#   > The one loop read and wrote each number once, while eager mode passes over memory for each operation.
# - [ ] A compiled model is always faster than an eager one.
#   > The guards are checked at each call. A tiny model took 17 microseconds in eager mode and 30 compiled.
# - [ ] A GPU's time can be measured without synchronizing, if you use the median.
#   > A call returns when the work is queued, not when it's done. A median of such times is a median of the wrong
#   > quantity.
#
# Hint: What is kept from replay to replay? When is a call done?
#
# **Saving**
# - [x] The names in the state of `torch.compile(model)` begin with `_orig_mod.`.
#   > `torch.compile` wraps the model in a module, which keeps it as its attribute `_orig_mod`.
# - [ ] `load_state_dict(state, strict=False)` loads such a state into a plain model.
#   > No name fits, but `strict=False` raises nothing. The weights stay random, and only the result lists the names.
# - [x] `model.compile()` leaves the names unchanged.
#   > It compiles the model in place, without a module around it.
# - [ ] Removing the text `_orig_mod.` wherever it occurs is always right.
#   > A part may really be called `my_orig_mod`. Remove only parts that are exactly `_orig_mod`.
# - [x] If a part of a model was compiled, the prefix is in the middle of its names.
#   > The wrapper takes the part's position, as in `encoder._orig_mod.weight`.
#
# Hint: Which names did your save_clean get?
#
# **Trace and export**
# - [ ] A trace only runs with the shape of its example.
#   > After an example with two rows, it accepted six without an error. The number of iterations was frozen, so the
#   > result was wrong.
# - [x] A trace keeps the branch that its example took.
#   > It records one run. `Sign`, traced with a positive sum, took the positive branch for -1 too.
# - [ ] A trace warns about every loop that it freezes.
#   > There was a `TracerWarning` for the branch, but none for the loop.
# - [x] `torch.export` refuses an `if` on a tensor's values.
#   > It captures one graph and doesn't guess. Write the branch with `torch.cond`, or choose with `torch.where`.
# - [ ] To export a program with a free batch dimension, use an example with one row.
#   > Export treats a size of 0 or 1 in the example as fixed, and refuses to make it free. With two rows, it serves one
#   > row as well.
#
# Hint: What did six rows give, and what did export do with size 1?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague serves a language model. Requests have 1 to 500 tokens. He writes `torch.compile(model, dynamic=False)`,
# times one call, and sees 9 seconds. He times a second call with the same request, and sees 2 ms, compared with 5 ms in
# eager mode. In production, it's no faster than eager mode, but there's no error and no wrong result.
#
# In four to eight sentences: what happens in production? How could he have found out? What would you change, in the
# code and in his measurement?

# %% question: in_production [markdown] points=2
# ### BEGIN SOLUTION
# Each length is another shape. With dynamic=False, each new shape fails the guards of all graphs and compiles again,
# until there are 8 graphs. From then on, all other lengths run in eager mode, without an error: 8 of 500 lengths are
# fast, and a few requests wait for seconds. He could have seen it in the warning about the recompile limit on stderr,
# with TORCH_LOGS="recompiles", by counting graphs with his own backend, or in an error from fullgraph=True or
# set_stance("fail_on_recompile"). Compile with dynamic=True, or leave it at None, so one graph serves all lengths from
# 2 on; or pad to a few lengths with a mask. Length 1 has its own graph, so warm up the model with it and with a longer
# request before the service opens. Measure after the warm-up, with realistic lengths, in production's mode (eval,
# no_grad), synchronized, and look at the median and at the slowest calls.
#
# For grading: one point for a graph for each length, the limit of 8, and eager mode without an error; one for a way to
# find out, and a change that works, with a measurement over several lengths.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - The first call compiles: Dynamo captures a graph with guards, AOTAutograd adds the backward pass, and Inductor
#   writes Triton or C++.
# - Whatever depends on a tensor's values breaks the graph. An empty counter doesn't rule that out.
# - A call that fails the guards compiles again: shapes, dtypes, modes, Python numbers.
# - At most 8 graphs per function, then eager mode, after one warning on stderr.
# - A counter that changes belongs in a tensor.
# - The names of compiled parts contain `_orig_mod`. `strict=False` hides that.
# - To measure, warm up, synchronize, and take the median.
# - A trace freezes control flow, without a warning for loops. `torch.export` refuses branches on values.
#
# | call or rule | what it does or costs |
# |---|---|
# | `torch.compile(f, fullgraph=True)` | an error at the first break; `.item()` is captured |
# | `torch._dynamo.explain(f)(x)` | graphs, breaks and their reasons |
# | `TORCH_LOGS="graph_breaks,recompiles"` | logs each break and each further compilation |
# | `set_stance("fail_on_recompile")` | turns the next compilation into an error that names the guard |
# | `dynamic=True` | one graph for all sizes from 2 on; 0 and 1 have their own |
# | `model.compile()` | compiles in place, and doesn't change the names |
# | `mode="reduce-overhead"` | CUDA graphs: more memory, and you have to clone results |
# | `torch.cond(condition, f, g, (x,))` | a branch inside the graph |
#
# Three questions to ask yourself:
#
# - Which of my calls would compile again, and how would I know?
# - Which numbers in my model change at each step, and are they tensors?
# - Did my measurement wait for the work, and was everything compiled before it started?
#
# Lab 11 goes from one process to many.
