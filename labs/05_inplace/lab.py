# %% [markdown]
# # In place: what fails now, at backward, or silently
#
# You add noise to the training images, as many recipes advise. After a few epochs, the network only gets worse, but
# nothing raises an error. "Never use in-place operations," says a forum post: never write a result into memory that
# already holds a tensor. But every optimizer does so at every step. This lab teaches the real rules, starting with that
# very bug, in the digits script.
#
# After this lab, you'll be able to
#
# - tell which statements write into existing memory;
# - change parameters the right way;
# - predict which writes make `backward` fail and which go unnoticed;
# - write to part of a tensor and keep its gradients correct;
# - update running averages in a forward pass.
#
# You need labs 1 to 3, and `detach` and `no_grad` from lab 4. The core has five exercises, `clamp_params_`,
# `will_it_fail`, `replace_rows`, `scale_by_average` and `soft_gate`, and takes two sittings of about an hour each. The
# further practice at the end is optional. All numbers were measured with PyTorch 2.13 on a CPU.
#
# At each *Predict*, choose an answer before you run the next cell. A card below each exercise shows its checks; those
# marked *later* run when you press *Mark my work* or hand in the lab. A person, not a program, grades the last
# question.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import math
import warnings

import torch
from torch import Tensor, nn

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    probes,
    show_graph,
    show_versions,
    try_writes,
    unchanged,
    use_device,
)

# %% given
here = use_device()  # where new tensors are created: on the GPU, if there is one

# %% [markdown]
# ## Noise that makes training worse
#
# The digits script from lab 1 gets 88% of the unseen scans right. If the scanner adds noise, that drops to 46%. The
# usual remedy is to train with noise too. *Augmentation* means changing the training images at random every time
# they're used, as `add_noise` does. Run the cell below. What happens to the accuracy?

# %% scratch
from sklearn.datasets import load_digits

digits = torch.tensor(load_digits().target)  # which digit each of the 1,797 scans shows


def load_pixels():
    """For each scan, a row of 64 numbers from -1 to 1."""
    return (torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8


def add_noise(batch):
    noisy = batch
    noisy += 1.5 * torch.randn(batch.shape)
    return noisy


def train(pixels, augment):
    torch.manual_seed(0)
    clean = pixels[1500:]
    noisy = clean + 1.5 * torch.randn(clean.shape)
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
    for epoch in range(1, 11):
        for start in range(0, 1500, 100):
            batch = augment(pixels[start : start + 100])
            loss = nn.functional.cross_entropy(network(batch), digits[start : start + 100])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 2 == 0:
            right = [(network(x).argmax(dim=1) == digits[1500:]).float().mean() for x in (clean, noisy)]
            print(f"after {epoch:2} epochs: right for {right[0]:.0%} of the unseen scans, {right[1]:.0%} with noise")


train(load_pixels(), add_noise)

# %% answer [markdown]
# After four epochs, it only gets worse: it falls from 78% to 26% after ten.

# %% [markdown]
# Which line is wrong? Mark the one that you suspect with a comment. At the end of the next section, you'll test your
# guess and fix the bug.

# %% [markdown]
# ## What writes in place?
#
# To find the bug, you need to know which statements write to memory that something else uses. An operation works *in
# place* if it writes its result into existing memory; most operations allocate new memory. PyTorch marks in-place
# methods with a trailing underscore: `add_`, `clamp_`, `zero_`.
#
# Is the underscore the whole story? Below, `other` is a second name for the tensor `x`, so it sees only writes to the
# memory of `x`.

# %% predict: seen_by_other
# **Predict.** Which of these statements will change `other`?
#
# - [ ] `x = x + 1`
# - [x] `x += 1`
# - [x] `x[1:].mul_(0)`
# - [x] `torch.add(x, 1, out=x)`
# - [x] `x.data += 1`


# %% example
def seen_by_another_name(statement):
    x = torch.tensor([1.0, 2.0, 3.0])
    other = x
    exec(statement, {"x": x, "torch": torch})  # runs the text as code
    print(f"{statement:24} other is {other.tolist()!s:16} other._version is {other._version}")


for statement in (
    "x = x + 1",
    "x += 1",
    "x.add_(1)",
    "x.add(1)",
    "x[0] = 9",
    "x[1:].mul_(0)",
    "torch.add(x, 1, out=x)",
    "x.data += 1",
):
    seen_by_another_name(statement)

# %% [markdown]
# Six of the eight write in place, but only two of those have an underscore:
#
# - `x += 1` looks like `x = x + 1`, but it means `x.add_(1)`.
# - `x[0] = 9` writes to the memory of `x`. So does a write to `x[1:]`, which is a view of `x`.
# - `out=x` writes the result into `x`.
#
# Each line ends with the tensor's *version counter*, which goes up with each write that PyTorch notices. Autograd uses
# it to find writes. In the last line, the values changed but the counter didn't.
#
# Why write in place at all? To save memory. The next cell measures the peak amount of newly allocated memory. Here,
# `million` holds a million numbers of 4 bytes each. Predict the result for each line.

# %% example
million = torch.zeros(1_000_000)
for text, f in {
    "x * 2 + 1": lambda x: x * 2 + 1,
    "(x * 2).add_(1)": lambda x: (x * 2).add_(1),
    "x.mul_(2).add_(1)": lambda x: x.mul_(2).add_(1),
}.items():
    print(f"{text:18} {probes.live_bytes(f, million)['peak']:>9,} bytes")

# %% [markdown]
# The three lines allocate two new tensors, one new tensor, and none, respectively. The middle line is as safe as the
# first: no other name refers to the product, and the product's node doesn't keep it for `backward`. The node of `exp`
# does keep its result, so `x.exp().add_(1)` fails at `backward` if `x` requires grad. You'll soon see why.
#
# The result of an in-place operation has to fit into its target. What will these three writes do?

# %% example
row = torch.tensor([1.0, 2.0, 3.0])
counts = torch.tensor([1, 2, 3])
for text, write in {
    "counts.add_(0.5)": lambda: counts.add_(0.5),
    "row.add_(a matrix (2, 3))": lambda: row.add_(torch.ones(2, 3)),
    "row.expand(2, 3).add_(1)": lambda: row.expand(2, 3).add_(1),
}.items():
    try:
        write()
    except RuntimeError as error:
        print(f"{text:25} RuntimeError: {str(error)[:70]}")

# %% [markdown]
# PyTorch rejects all three. The first result has a different dtype from its target, and the second a different shape.
# The third target has stride 0: its two rows are the same three numbers in memory.
#
# ### The noise that stayed
# Back to the digits. `pixels[start : start + 100]` is a view, and `noisy = batch` doesn't copy it. Run the test, then
# fix `add_noise` with one call. How much noise do you expect in the training images after ten epochs?


# %% scratch
def add_noise(batch):
    noisy = batch  # one call is missing here
    noisy += 1.5 * torch.randn(batch.shape)
    return noisy


pixels = load_pixels()
original = pixels.clone()
train(pixels, add_noise)
print("the images are as before:", torch.equal(pixels, original), " writes:", pixels._version)
print(f"noise in the training images: {(pixels - original)[:1500].std():.1f}")

# %% answer [markdown]
# `pixels` differs from its clone, and its counter is at 150: ten epochs of 15 batches. Each epoch started with noisier
# images than the last. The noise has a standard deviation of 4.7, which is $1.5 \cdot \sqrt{10}$, in images whose
# values range from -1 to 1.
#
# Write `noisy = batch.clone()`. Then the images don't change, the counter stays at 0, and accuracy recovers:
#
# | | unseen scans | with noise |
# |---|---|---|
# | no augmentation | 88% | 46% |
# | noise, in place | 26% | 24% |
# | noise, in a clone | 87% | 51% |
#
# With the clone, the noise costs one percentage point on the clean scans and gains five on the noisy ones. With seeds 0
# to 4, it costs zero to three and gains four to six.

# %% [markdown]
# ## Writing to a leaf: an error at once
#
# The tensors that you write to most often are parameters. In lab 4, `w -= 0.1 * w.grad` worked only under `no_grad`.
# Why does it fail otherwise, and does the attempt damage `w`? Below, `a` is a leaf that requires grad, like a
# parameter, and the cell tries two writes to it. Can you still use `a` afterward?

# %% example
a = torch.tensor([2.0], requires_grad=True)
for text in ("a += 1", "a[0] = 5"):
    try:
        exec(text, {"a": a})
    except RuntimeError as error:
        print(f"{text}: RuntimeError: {error}")
print("a is", a.tolist(), " version", a._version)
(a + 1).backward()
print("a.grad is", a.grad.tolist())

# %% [markdown]
# PyTorch raises each error before it writes, so `a` is unchanged, and it still gets its gradient. `a[0]` is a view of
# the leaf, so writing to it is refused too.
#
# Why? Not because `backward` needs the old values: the derivative of `a + 1` needs no values at all. But after a
# recorded write, the name `a` would refer to the result of an operation, and you'd have no name left for the leaf,
# whose `.grad` you want.
#
# So a parameter update must not be recorded. Here are five ways to subtract 1 from `w` after the optimizer was created.
# Which of the five let the optimizer see the new value?


# %% example
def after(statement):
    w = nn.Parameter(torch.tensor([5.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    scope = {"w": w, "torch": torch, "nn": nn}
    exec(statement, scope)
    held, now = optimizer.param_groups[0]["params"][0], scope["w"]  # what the optimizer has, and w
    print(f"{statement:34} w {now.item()}  optimizer's {held.item()}  leaf {now.is_leaf!s:5}  version {held._version}")


after("w = w - 1")
after("w = nn.Parameter(w.detach() - 1)")
after("w.data -= 1")
after("w.data = w.data - 1")
after("with torch.no_grad(): w -= 1")

# %% [markdown]
# The first two create a new tensor, while the optimizer keeps training the old one. With the last three, the optimizer
# sees the new value. `w.data = w.data - 1` gives `w` new memory, though, so an earlier `w.detach()` or NumPy view keeps
# the 5. Use the last one: the write isn't recorded, but it's counted. You'll soon see why that matters.
#
# ### Your turn: clamp_params_
# Some training methods keep every weight in a fixed range by clamping the parameters after each step. Write that step,
# and count the elements that it changes.

# %% given
hint(
    "Where do you have to write the numbers so that an optimizer, which holds the same tensors, sees them?",
    "Count before you write, or compare with a copy (a second name for a tensor isn't a copy). And what is NaN "
    "equal to?",
)

# %% exercise: clamp_params_ points=3 level=easy

# %% [markdown]
# To clamp a model's parameters, call `clamp_params_(list(model.parameters()), 1.0)`. What would go wrong if you built a
# new model from clamped copies of the weights instead?

# %% answer [markdown]
# Everything that refers to the old parameters would keep using them. The optimizer would train the old model, and a
# second model that shares a layer with the first would keep the old layer.

# %% [markdown]
# ## What a node keeps: an error at backward
#
# You may write to a tensor that isn't a leaf, but `backward` may then fail, perhaps a hundred lines later. As you saw
# in lab 3, a node keeps the tensors that its derivative needs, called *saved tensors*. If one of them were overwritten,
# the node would compute with the wrong numbers.
#
# `exp` is its own derivative, so its node keeps its output. The next cell writes to that output.

# %% predict: write_to_output
# **Predict.** `y = x.exp()`, then `y += 1`, then `y.sum().backward()`. What happens?
#
# - [ ] an error at `y += 1`
# - [x] an error at `backward`
# - [ ] no error, and a correct gradient
# - [ ] no error, and a wrong gradient

# %% example
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = x.exp()
print("version of y:", y._version)
y += 1
print("version of y:", y._version)
try:
    y.sum().backward()
except RuntimeError as error:
    print(str(error).split("; ")[0])
    print(str(error).split("; ")[1].split(". ")[0])

# %% [markdown]
# The write itself succeeds. But `backward` reports that the tensor saved at version 0 is now at version 1, and refuses
# to compute with it. PyTorch compares only the versions, not the values, so even `y.mul_(1)` counts.
#
# Before you run the next cell, write down what each operation keeps: input, output, or nothing. You can skip the cell's
# two functions: the first looks up the tensors that the node has saved, and the second writes to the input or output
# and then calls `backward`.


# %% example
def what_is_kept(f):
    h = torch.tensor([0.5, 2.0], requires_grad=True) * 1  # not a leaf, so it may be written to
    y = f(h)
    node, kept = y.grad_fn, []
    for name in dir(node):
        value = getattr(node, name) if name.startswith("_saved_") else None
        if isinstance(value, Tensor) and value.dim():
            kept.append({h.data_ptr(): "input", y.data_ptr(): "output"}.get(value.data_ptr(), "another"))
    return ", ".join(kept) or "nothing"


def fate(f, target):
    h = torch.tensor([0.5, 2.0], requires_grad=True) * 1
    y = f(h)
    (h if target == "input" else y).add_(1)
    try:
        y.sum().backward()
        return "fine"
    except RuntimeError:
        return "error"


print(f"{'':12} {'keeps':16} write to input   write to output")
for text, f in {
    "h + 1": lambda h: h + 1,
    "h * 3": lambda h: h * 3,
    "h * h": lambda h: h * h,
    "h ** 2": lambda h: h**2,
    "log(h)": torch.log,
    "exp(h)": torch.exp,
    "sqrt(h)": torch.sqrt,
    "sigmoid(h)": torch.sigmoid,
    "relu(h)": torch.relu,
    "sum(h)": lambda h: h.sum(),
}.items():
    print(f"{text:12} {what_is_kept(f):16} {fate(f, 'input'):16} {fate(f, 'output')}")

# %% [markdown]
# In the table, a write causes an error exactly when it hits a saved tensor. `exp`, `sqrt`, `sigmoid` and `relu` compute
# their derivative from the output, so they don't need their input. `log` and the power don't need their output. You may
# overwrite a tensor if no node keeps it: neither the one that made it nor one that used it.
#
# The next picture steps through a computation line by line. The columns show version counters, in orange where the line
# wrote to that tensor. On the right are the saved tensors: green if unchanged, red if their counter has moved on.

# %% example
start = torch.tensor([0.5, 2.0], requires_grad=True)
show_versions(["h = x * 3", "y = h.exp()", "z = y * h", "z += 1", "z.sum().backward()"], {"x": start})

# %% [markdown]
# `z` was written to, but no node keeps it. Now try other writes. Before you press each button, predict what will turn
# red.

# %% example
try_writes(
    ["h = x * 3", "y = h.exp()", "z = y * h", "write", "z.sum().backward()"],
    ["y += 1", "h[0] = 5", "z.mul_(2)", "y.detach().add_(1)", "y.data += 1", "x.data += 1"],
    {"x": start},
)

# %% answer [markdown]
# - `y += 1` and `h[0] = 5` end in an error: `exp` and the product keep `y`, and the product keeps `h`.
# - `y.detach().add_(1)` ends in an error too: a detached tensor shares the memory *and the counter*.
# - `z.mul_(2)` and `x.data += 1` are fine, because no node keeps `z` or `x`.
# - `y.data += 1` changes a saved tensor without an error. The picture shows this in purple, and the next section is
#   about such writes.

# %% [markdown]
# ### ReLU in place
# Many models use `nn.ReLU(inplace=True)`, which overwrites its input with its result. That works as long as the
# preceding operation doesn't keep its output.

# %% predict: relu_in_place
# **Predict.** Each ReLU works in place. Which models fail?
#
# - [ ] Linear, ReLU
# - [ ] Linear, BatchNorm, ReLU
# - [x] Linear, Sigmoid, ReLU
# - [x] Linear, ReLU, ReLU
# - [ ] Linear, ReLU, Linear, ReLU

# %% example
torch.manual_seed(0)
batch = torch.randn(8, 4)
relu_ = nn.ReLU(inplace=True)
for text, model in {
    "Linear, ReLU": nn.Sequential(nn.Linear(4, 4), relu_),
    "Linear, BatchNorm, ReLU": nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), relu_),
    "Linear, Sigmoid, ReLU": nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), relu_),
    "Linear, ReLU, ReLU": nn.Sequential(nn.Linear(4, 4), relu_, relu_),
    "Linear, ReLU, Linear, ReLU": nn.Sequential(nn.Linear(4, 4), relu_, nn.Linear(4, 4), relu_),
}.items():
    try:
        model(batch).sum().backward()
        print(f"{text:28} fine")
    except RuntimeError:
        print(f"{text:28} RuntimeError at backward")

h = torch.tensor([-1.0, 2.0])
print("skip connection:", (h + torch.relu(h)).tolist(), " in place:", (h + relu_(h)).tolist())

# %% [markdown]
# `Linear` and `BatchNorm` keep their input but not their output. `Sigmoid` keeps its output, and so does the first of
# two ReLUs, although the second one doesn't change any values.
#
# A *skip connection* adds a layer's input to its output. With `relu_`, the sum is wrong, but there's no error: `relu_`
# overwrites `h` before the sum is computed, so both terms have lost their negative numbers. Autograd differentiates
# exactly what was computed, which isn't what you meant.
#
# How much memory does `inplace=True` save? The next cell runs a batch of 1,024 through eight `Linear(256, 256)` layers,
# each followed by ReLU, so one activation, the output of a layer, takes 1 MiB. The *peak* is the largest amount of
# newly allocated memory at any time, and *kept* is the memory still held after the forward pass. By how much will
# `inplace=True` lower each?


# %% example
def deep(inplace):
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU(inplace=inplace))]
    return nn.Sequential(*layers)


wide = torch.zeros(1024, 256)
for inplace in (False, True):
    measured = {name: size / 2**20 for name, size in probes.live_bytes(deep(inplace), wide).items()}
    print(f"inplace {inplace!s:5}  peak and kept in MiB: {measured}")

# %% [markdown]
# It saves one of nine activations at the peak, but none of those kept for `backward`. Even without `inplace`, the
# output of `Linear` is freed as soon as ReLU has read it, because no node keeps it. So measure before you use it.

# %% [markdown]
# ## No error, and a wrong gradient
#
# Two kinds of writes make a gradient silently wrong: uncounted writes to a saved tensor, and unrecorded writes to a
# value on the way to the result. First, which writes does the counter miss? Here, `x` is 2 and `y` is its square. The
# node of `y` keeps `x`, and the correct gradient is 4. Between the forward and the backward pass, the next cell adds 1
# to `x`, in one of four ways.

# %% predict: uncounted_writes
# **Predict.** Which of the four ways cause an error at `backward`?
#
# - [x] `with torch.no_grad(): x += 1`
# - [x] `x.detach().add_(1)`
# - [ ] `x.data.add_(1)`
# - [ ] `array = x.detach().numpy(); array += 1`

# %% example
for text in (
    "with torch.no_grad(): x += 1",
    "x.detach().add_(1)",
    "x.data.add_(1)",
    "array = x.detach().numpy(); array += 1",
):
    x = torch.tensor([2.0], requires_grad=True, device="cpu")  # NumPy doesn't support GPUs
    y = x.square()
    exec(text, {"x": x, "torch": torch})
    try:
        y.backward()
        print(f"{text:40} x is {x.item()}, its gradient {x.grad.item()}")
    except RuntimeError:
        print(f"{text:40} RuntimeError")

# %% [markdown]
# `no_grad` turns off recording, not counting, and a detached tensor shares the counter, so the first two are caught.
# `.data` returns a tensor with its own counter, and NumPy doesn't update any counter. In both cases, the gradient is 6,
# and there's no error.
#
# That's why `with torch.no_grad(): w -= lr * w.grad` is better than `w.data -= lr * w.grad`. If a node still keeps the
# weight for `backward`, the first raises an error, whereas the second trains on wrong gradients.
#
# ### Not recorded, so missing
# Now `x` is 1, and `h` is `x * 3`, which no node keeps. Each of three lines doubles `h` before `h.sum().backward()`.

# %% predict: unrecorded_write
# **Predict.** `h` becomes 6 each time, which is `6 * x`. After which lines is `x.grad` 6?
#
# - [x] `h *= 2`
# - [ ] `with torch.no_grad(): h *= 2`
# - [ ] `h.data *= 2`

# %% example
for text in ("h *= 2", "with torch.no_grad(): h *= 2", "h.data *= 2"):
    x = torch.tensor([1.0], requires_grad=True)
    h = x * 3
    exec(text, {"h": h, "torch": torch})
    h.sum().backward()
    print(f"{text:30} h is {h.item()}, x.grad is {x.grad.item()}")

# %% [markdown]
# Only the recorded write gives 6; the other two give 3, without an error. Counting protects saved tensors. It doesn't
# notice an operation that's missing from the graph.
#
# ### Your turn: will_it_fail
# Here are fourteen cases. In each, `f(x).sum().backward()` is called with `x = torch.tensor([0.5, 2.0],
# requires_grad=True)` on the CPU. What happens? Answer each with one of four words.
#
# - `"now"`: a RuntimeError in `f`;
# - `"backward"`: a RuntimeError in `backward`;
# - `"silent"`: no error, but `x.grad` isn't the slope of the sum of what `f` returned;
# - `"ok"`: no error, and `x.grad` is right.
#
# Decide on paper first. For each write, ask in this order:
#
# 1. Is it recorded, and is its target a leaf that requires grad, or a view of one? Then it's refused.
# 2. Do elements of the target share memory? A write with stride 0 is refused. A write to overlapping windows isn't
#    refused, and it's silently wrong if it's recorded and multiplies them. (*Counted, and still wrong*, below, shows
#    why.)
# 3. Does a node on the way to the result keep the target when it's written to? Then a counted write fails at
#    `backward`, and one that isn't counted is silent if it changes numbers that the derivative uses.
# 4. If no such node keeps it, does the result still read this memory? If not, the write does no harm. If so, a recorded
#    write is fine, and an unrecorded one is silent if what it writes depends on `x`, or if what it overwrites did.
#    (Adding a constant does no harm.)
#
# In the last two cases, `h.unfold(0, size, step)` is a view whose rows are windows of `size` elements, each beginning
# `step` elements after the one before.


# %% given
def case_a(x):
    x += 1
    return x * x


def case_b(x):
    y = x.square()
    with torch.no_grad():
        x += 1
    return y


def case_c(x):
    h = x * 3
    h += 1
    return h.square()


def case_d(x):
    y = (x * 3).square()
    y += 1
    return y


def case_e(x):
    h = x * 3
    y = h.square()
    h += 1
    return y


def case_f(x):
    h = x * 3
    y = h.exp()
    h.zero_()
    return y


def case_g(x):
    y = (x * 3).exp()
    y[0] = 7
    return y


def case_h(x):
    y = (x * 3).exp()
    y.data += 1
    return y


def case_i(x):
    y = (x * 3).exp()
    other = y.detach()
    other += 1
    return y


def case_j(x):
    y = (x * 3).exp()
    array = y.detach().numpy()
    array += 1
    return y


def case_k(x):
    return nn.functional.relu(x.sigmoid(), inplace=True)


def case_l(x):
    rows = (x * 3).expand(2, 2)
    rows += 1
    return rows


def case_m(x):
    h = torch.cat([x, x])
    h.unfold(0, 2, 1).mul_(10)
    return h


def case_n(x):
    h = torch.cat([x, x])
    h.unfold(0, 2, 2).mul_(10)
    return h


# %% given
hint(
    "For each case: what does each node keep? Which line writes to it? Is the write refused, counted, or missed?",
    "If you're unsure, run the case in the scratch cell, which also prints the finite differences (lab 3). For the "
    "last two, write down the windows.",
)


# %% given
def slope_by_steps(f, x, h=1e-4):
    """The finite difference of f(x).sum() for each element of x."""
    steps = h * torch.eye(x.numel(), dtype=x.dtype, device=x.device).reshape(x.numel(), *x.shape)
    slopes = [((f(x + s).sum() - f(x - s).sum()) / (2 * h)).item() for s in steps]
    return torch.tensor(slopes, dtype=x.dtype, device=x.device).reshape(x.shape)


# %% scratch
x = torch.tensor([0.5, 2.0], requires_grad=True, device="cpu")  # case_j uses NumPy, which doesn't support GPUs
case_c(x).sum().backward()
print(x.grad, slope_by_steps(case_c, x.detach().double()))

# %% exercise: will_it_fail points=3 level=medium

# %% [markdown]
# Apart from `"ok"`, which of these outcomes would you prefer in your own code?

# %% answer [markdown]
# `"now"`: the error is raised on the line that causes it. At `backward`, the message names the operation, but you still
# have to find the write. If the outcome is silent, you'd notice only that the model learns badly.
#
# These facts determine the answer in each case. Compare them with your reasons:
#
# | case | what decides it |
# |---|---|
# | a | the target is a leaf that requires grad, and the write is recorded |
# | b | the square keeps `x`, and `no_grad` turns off recording, not counting |
# | c | the write comes before the square, which keeps the new `h` |
# | d | a square keeps its input, and the write is to its output |
# | e | the square keeps `h`, and the write to `h` is counted |
# | f | `exp` keeps its output, and the write is to its input |
# | g | `exp` keeps `y`, and a write to part of `y` counts |
# | h | `exp` keeps `y`, and `.data` has its own counter |
# | i | `exp` keeps `y`, and a detached tensor shares the counter |
# | j | `exp` keeps `y`, and NumPy doesn't update the counter |
# | k | `sigmoid` keeps its output, which `relu` writes to, even if no value changes |
# | l | the two rows are the same memory, with stride 0, which PyTorch refuses to write to |
# | m | the windows share elements, which autograd doesn't expect |
# | n | no two windows share an element |

# %% [markdown]
# ### Counted, and still wrong
# A counted write may give a wrong gradient if elements of its target overlap. PyTorch doesn't check for that, because
# finding overlaps is expensive in general. In the next cell, `h` is `[1, 2, 3]`, so the windows are `[1, 2]` and
# `[2, 3]`. They share the 2, which the CPU multiplied by 10 twice when we ran this. PyTorch promises nothing about such
# a write on any device.

# %% predict: overlapping_windows
# **Predict.** `h` becomes `[10, 200, 30]`, and `h.sum()` is then `10 * x[0] + 100 * x[1] + 10 * x[2]`. What gradient
# does autograd compute?
#
# - [ ] `[10, 100, 10]`
# - [x] `[10, 10, 10]`
# - [ ] an error at the write
# - [ ] an error at `backward`

# %% example
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True, device="cpu")
h = x * 1
h.unfold(0, 2, 1).mul_(10)
print("h is", h.tolist(), " version", h._version)
h.sum().backward()
print("gradient", x.grad.tolist())

# %% [markdown]
# The second element is 10 where it should be 100, and there's no error. When autograd records a write to a view, it
# assumes that each element of the view has its own place in memory. So `clone()` the windows before you write to them.
#
# ### Two more writes that are refused
# Two more kinds of recorded writes raise an error, although their target isn't a leaf: writes to one of several views
# that a single call returned, and writes through an `out=` argument.

# %% predict: refused_writes
# **Predict.** `h` is `a * 3`, a matrix with two rows, and `a` requires grad. Which of these lines raise an error at
# once?
#
# - [ ] `h[0] += 1`
# - [x] `for row in h: row += 1`
# - [x] `first, second = h.split(1); first += 1`
# - [x] `torch.add(h, 1, out=h)`

# %% example
a = torch.ones(2, 2, requires_grad=True)
for text in (
    "h[0] += 1",
    "for row in h: row += 1",
    "first, second = h.split(1); first += 1",
    "torch.add(h, 1, out=h)",
):
    try:
        exec(text, {"h": a * 3, "torch": torch})
        print(f"{text:40} fine")
    except RuntimeError as error:
        print(f"{text:40} RuntimeError: {str(error)[:60]}")

# %% [markdown]
# `split` returns several views at once, and so do `chunk` and `unbind`, which `for row in h` calls. Autograd refuses to
# record a write to one of these views, so write to `h[0]` instead. It can't record any operation with `out=`.

# %% [markdown]
# ## A good place to stop
#
# The second half begins with a symptom: a layer trains well when it's called once, but when a loss compares its results
# for two versions of each image, `backward` fails. Such a layer writes to rows of its input, or to a running average.
# You'll repair the first with `replace_rows` and the second with `scale_by_average`, and then a function in which
# someone silenced an error. When you come back, your variables may be gone: choose *Run > Run All Above Selected Cell*
# (in Colab, *Runtime > Run before*), or press *Check*, which runs the cells it needs.

# %% [markdown]
# ## Writing to part of a tensor: history and views
#
# Masking, padding and caching write to part of a tensor. Many people believe that this destroys the history of the
# whole tensor, so no gradient gets past it. To test this, begin with a write to all of `b`, which is `2 * a`.

# %% predict: history_after_a_write
# **Predict.** `b = a * 2`, then `b += 1`, then `b.square().backward()`, where `a` is 2. What gradient arrives at `a`?
#
# - [ ] nothing: the history of `b` is gone
# - [ ] 16, as if 1 hadn't been added
# - [x] 20
# - [ ] an error, because `b` was written to

# %% example
a = torch.tensor([2.0], requires_grad=True)
b = a * 2
print("before:", b.grad_fn.name())
b += 1
print("after: ", b.grad_fn.name(), "<-", b.grad_fn.next_functions[0][0].name())
b.square().backward()
print("gradient", a.grad.item())

# %% [markdown]
# The derivative of $(2a + 1)^2$ is $4(2a + 1)$, which is 20 here, and that's the gradient that `a` got. The write was
# recorded like any other operation: `b` got a new node, connected to the old one. PyTorch's source code calls this
# *rebasing the history*.
#
# This works for views too. A write to a view also changes the tensor that it's a view of, its *base*, so the base gets
# a new history as well. The next cell writes to `row`, a view of `base`, and draws the graph of `base`.

# %% example
m = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
new = torch.tensor([10.0, 20.0], requires_grad=True)
base = m * 1
row = base[1]
row.copy_(new)
show_graph(base, {"m": m, "new": new})

# %% [markdown]
# `base`'s new node, a `CopySlices`, has two paths back: one through the product to `m`, and one to `new`. Suppose the
# loss weights the rows of `base` by 1, 7 and 1. What are the gradients of `m` and `new`?

# %% example
print("base is", base.tolist())
(base * torch.tensor([[1.0], [7.0], [1.0]])).sum().backward()
print("gradient of m", m.grad.tolist())
print("gradient of new", new.grad.tolist())

# %% [markdown]
# The overwritten row gets a gradient of 0, and `new` gets the 7 that the row would have gotten. `h[1] = new` and
# `h[mask] = 0` behave the same way. The gradient is 0 whatever the row held, even NaN.
#
# ### Your turn: replace_rows
# A layer that writes such rows into its input works once. On the second call with the same `h`, it may overwrite what a
# node of the first call keeps. Put the new rows into a copy.

# %% given
hint(
    "May you write to h? What else may hold it? Which call gives you new memory that still has a history?",
    "h.clone() keeps the history; detach() would cut it. Write to the clone. Or look for a function that does "
    "both: index_copy, index_put, where.",
)

# %% exercise: replace_rows points=2 level=easy

# %% [markdown]
# Writing to a fresh copy, which nothing else refers to, can't break any rule. Which single call does the same?

# %% answer [markdown]
# `h.index_copy(0, rows, new)`. Methods without an underscore leave `h` alone.

# %% [markdown]
# ## A running average in a forward pass
#
# Some layers write during the forward pass, and if they do it wrong, memory fills up or `backward` fails. A *buffer* is
# a tensor that a model keeps but doesn't train. BatchNorm, for example, keeps running averages of its inputs in
# buffers, and updates them in place. The operations on the input are recorded, but the update of a buffer must not be.
#
# What happens if it is? The next cell updates an average three times, and prints how many nodes lead from it back to
# its first value.

# %% example
average = torch.ones(2)
for _ in range(3):
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    average.mul_(0.9).add_(0.1 * x.abs().mean(0))
    count, node = 0, average.grad_fn
    while node is not None:
        count, node = count + 1, node.next_functions[0][0]
    print("average", [round(v, 2) for v in average.tolist()], " requires_grad", average.requires_grad, " nodes", count)

# %% [markdown]
# The buffer became the result of an operation, and its history grows with every batch, so every batch's graph stays in
# memory. The update belongs under `no_grad`.
#
# That's only half the answer. Suppose the layer divides its input by the average, and a loss calls it twice, on two
# versions of each image. What happens at `backward`?


# %% given
# For trying out your solution. The checks use it too.
@probes.probe
def called_twice(scale, first, second, average, rates, upstream):
    """Two calls of scale with one buffer, each with its own rate, then one backward pass through both."""
    outputs = [scale(first, average, rates[0]), scale(second, average, rates[1])]
    loss = sum((out * g).sum() for out, g in zip(outputs, upstream, strict=True))
    gradients = torch.autograd.grad(loss, (first, second))
    return {
        "outputs": [out.detach().clone() for out in outputs],
        "gradients": list(gradients),
        "average": average.detach().clone(),
        "history": average.requires_grad,
    }


def scale_too_simple(x, average, rate):
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)  # average + rate * (mean - average)
    return x / average


first, second = (torch.tensor(v, requires_grad=True) for v in ([[1.0, 2.0]], [[3.0, -4.0]]))
try:
    called_twice(scale_too_simple, first, second, torch.ones(2), [0.5, 0.5], [1.0, 1.0])
except RuntimeError as error:
    print("RuntimeError:", str(error).split("; ")[0])

# %% [markdown]
# The division keeps `average`, and the second call writes to it. With `average.data.lerp_`, there would be no error,
# but the first gradient would be computed with the second average.
#
# ### Your turn: scale_by_average
# Write the layer so that it can be called any number of times before `backward`.

# %% given
hint(
    "You need two tensors: the buffer that is written to, and the one that the division keeps. When do you create the "
    "second one?",
    "The gradient treats the average as a constant. What must not be on the path from x to the divisor?",
)

# %% exercise: scale_by_average points=2 level=easy

# %% [markdown]
# Cloning `d` numbers prevents an error that appears only when the layer is called twice. Does BatchNorm need such a
# clone?

# %% answer [markdown]
# Usually not. In training mode, it normalizes by the batch's statistics and only writes to the running ones, so they
# don't affect the gradient. In evaluation mode, it reads the running statistics without writing to them. A clone would
# help only if you call the layer in evaluation mode, then in training mode, and then run `backward` for the first call:
# the layer's update of its buffers isn't counted, so that gradient is silently wrong.

# %% [markdown]
# ## Silencing an error
#
# The author of the next function wanted to save memory. `g += 1` caused an error at `backward`, so the author changed
# it to `g.data += 1` and did the same to the other write. The values are right, so every test of the values passes. Now
# compare the gradients.


# %% given
# The function to fix. The checks compare the values of yours with its values.
def soft_gate_broken(x, w):
    h = x * w
    g = h.exp()
    g.data += 1
    g = g.log()
    h.data *= g
    return h


points = torch.tensor([[-1.0, 2.0]], dtype=torch.float64)
weights = torch.tensor([0.5, 1.5], dtype=torch.float64)
own = points.clone().requires_grad_()
soft_gate_broken(own, weights).sum().backward()
print("autograd    ", own.grad)
print("finite steps", slope_by_steps(lambda t: soft_gate_broken(t, weights), points))

# %% [markdown]
# The function computes $h \cdot \log(1 + e^h)$, but autograd treats it as `x * w`: like `h.data *= 2` above, the second
# write is missing from the graph.
#
# ### Your turn: soft_gate
# Fix it. One of the two writes can stay in place if you drop the `.data`. Which one? Ask what the *earlier* nodes keep.
# Autograd itself copies the old value of `h` if the derivative of `h *= g` needs it.

# %% given
hint(
    "Which nodes keep which tensors? Go through exp, log and the products.",
    "A recorded write that doesn't hit a saved tensor is fine. Replace the other write with a sum in new memory.",
)

# %% exercise: soft_gate points=3 level=medium

# %% [markdown]
# Why can the write that you kept stay in place? And does it lower the peak memory?

# %% answer [markdown]
# `h *= g` can stay. The product `x * w` keeps `x`, `w` or both, `exp` keeps its output, and no earlier node keeps `h`.
# But this write doesn't lower the peak memory, because autograd copies `h` first.

# %% quiz: interview points=3
# ## Interview questions
#
# **Which statements modify `x` in place?** `x` is a float32 tensor that doesn't require grad.
# - [x] `x += 1`
#   > For a tensor, it means `x.add_(1)`. The second name saw the new values.
# - [ ] `x = x + 1`
#   > The sum is a new tensor that takes over the name `x`. The second name still saw the old values.
# - [x] `x[2:] = 0`
#   > Assigning to part of `x` writes to its memory, even without an underscore.
# - [x] `torch.exp(x, out=x)`
#   > `out=` names the memory that receives the result, here that of `x`.
# - [ ] `x.clamp(max=1)`
#   > Without the underscore, it returns a new tensor. `x.clamp_(max=1)` would write.
#
# Hint: Which statements did the second name see in the lab?
#
# **Writing to a leaf that requires grad, with recording on**
# - [x] `w += 1` raises an error.
#   > After a recorded write, `w` would be the result of an operation instead of a leaf. PyTorch refuses.
# - [ ] After the error, `w` can't be used anymore.
#   > PyTorch raises the error before it writes. `a` still had the value 2 and version 0, and it got its gradient
#   > afterward.
# - [ ] The error is raised because every operation needs the old values of `w`.
#   > `a + 1` needs no values at all, yet the write is refused. The reason is that the leaf would become the result of
#   > an operation.
# - [x] Under `torch.no_grad()`, the same line works, and `w` stays a leaf.
#   > The write isn't recorded, so `w` stays a leaf. That's how optimizers do it.
# - [ ] `w[0] = 1` is allowed, because it writes to only part of `w`.
#   > Part of a leaf is a view of it, and a write to the view is a write to the leaf. `a[0] = 5` raised the same error.
#
# Hint: What was a after the error? What does an addition keep?
#
# **The version counter**
# - [ ] Writing the same values doesn't count.
#   > PyTorch doesn't look at the values. `y.mul_(1)` counts as well.
# - [x] A node that keeps a tensor also notes its version.
#   > That's how `backward` notices a write: saved at version 0, found at version 1.
# - [x] `t.detach()` shares the counter with `t`.
#   > It shares both the memory and the counter, so `x.detach().add_(1)` was caught at `backward`.
# - [ ] `t.data` shares the counter with `t`.
#   > It has its own counter. `x.data.add_(1)` led to a gradient of 6 instead of 4, without an error.
# - [x] A write through a NumPy array doesn't count.
#   > NumPy doesn't update the counter. The gradient was 6 here too, without an error.
#
# Hint: Which of the four writes to x gave 6 instead of an error?
#
# **What's kept for `backward`** of `y`, where `h = x * 3` and `x` is a leaf that requires grad
# - [x] `y = h.exp()` keeps `y`.
#   > `exp` is its own derivative, so its output is what the node needs.
# - [x] `y = h.log()` keeps `h`.
#   > The derivative is 1 / h, which needs the input.
# - [ ] `y = h + 1` keeps `h`.
#   > The derivative is 1, whatever `h` is, so the node doesn't keep any tensors.
# - [ ] After `y = h.sigmoid()`, `h.zero_()` makes `backward` fail.
#   > The derivative is y * (1 - y), so `sigmoid` keeps `y`. The product doesn't keep `h` either, so you may overwrite
#   > it.
# - [ ] After `y = h * 2`, `y.zero_()` makes `backward` fail.
#   > The factor is a plain number, so the product keeps neither `h` nor `y`, and a write to `y` does no harm.
#
# Hint: Look again at the table of what each operation keeps.
#
# **`nn.ReLU(inplace=True)`**
# - [x] After a `Linear` layer, it gives the right gradients.
#   > `Linear` keeps its input but not its output, so nothing else needs the memory that's overwritten.
# - [x] Directly after a `Sigmoid`, `backward` raises an error.
#   > `Sigmoid` keeps its output, which is exactly what the ReLU overwrites. The version counter catches it.
# - [ ] In training, it halves the memory that's kept for `backward`.
#   > The measurement showed no difference in the memory kept. At the peak, it saved one of nine activations.
# - [x] In `h + relu(h)` with such a `relu`, the first term is also the rectified `h`.
#   > Both terms are read from the same memory, which is overwritten before the sum is computed. Autograd differentiates
#   > that faithfully.
# - [ ] It can never be used in training.
#   > After `Linear` or `BatchNorm`, there was no error. It depends on whether the preceding operation keeps its output.
#
# Hint: What did the measurement of the eight layers show?
#
# **Recorded writes**
# - [ ] An in-place write destroys a tensor's history.
#   > The write is recorded, and the new node is connected to the old one. `a` got a gradient of 20, which is correct.
# - [x] After `h[0] = new`, the old row 0 gets a gradient of 0.
#   > An overwritten value no longer affects the result. In the lab, the overwritten row of `m` got a gradient of 0.
# - [x] After `h[0] = new`, a gradient reaches `new`.
#   > Its values are now in `h`. In the lab, they were weighted by 7, and `new` got a gradient of 7.
# - [x] A write to a view changes the history of its base too.
#   > They share memory, so the base's history is rebased too: `base` had a new node after `row.copy_(new)`.
# - [ ] Optimizers avoid in-place writes because autograd forbids them.
#   > Optimizers write in place at every step, with recording off. Autograd refuses recorded writes to leaves that
#   > require grad.
#
# Hint: What gradient did a get, and what gradient did the overwritten row get?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague reviews your code and writes: "You use `+=` on tensors in the forward pass. In-place operations are
# forbidden with autograd: they erase the history and give silently wrong gradients. Please use `.data` instead, or at
# least `no_grad`."
#
# Answer in four to eight sentences. What's wrong with each claim and each of the two proposals? What question would you
# ask to decide whether one of your `+=` statements is safe?

# %% question: review_answer [markdown] points=2
# ### BEGIN SOLUTION
# In-place operations aren't forbidden: a write to a tensor that isn't a leaf is recorded, the history is rebased rather
# than erased, and the gradients are right. In-place writes fail in two cases. A write to a leaf that requires grad
# raises an error immediately, because the tensor would stop being a leaf. And a write to a tensor that a node has saved
# is detected by its version counter, so `backward` raises an error. So an ordinary `+=` doesn't make gradients silently
# wrong. (The one exception is a write through a view whose elements overlap, such as one from `unfold`: it's recorded
# and counted, but its gradient is wrong all the same.) Gradients become silently wrong with the first proposal: a write
# through `.data` is neither recorded nor counted, so nodes compute with overwritten values, or the write is missing
# from the gradient. `no_grad` is no better here: in the forward pass, the operation would be missing from the graph,
# although a write to a saved tensor would still be detected. `no_grad` is right for updates of parameters and buffers.
# The question to ask about a `+=` is: does anything else still need the old values, such as a node that keeps them or
# another name for the memory? If the target is a fresh result that no node keeps, the write is safe.
#
# For grading: one point for what's wrong with the claims (rebased history, errors for leaves and from the version
# counter), one for the proposals and the deciding question. An answer that names overlapping views as a silent case is
# right.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - `+=`, `x[0] = ...`, writes to views and `out=` work in place, even without an underscore.
# - A batch taken by slicing is a view of the dataset. Clone it before you write to it.
# - A node keeps what its derivative needs: inputs, outputs, tensors of its own, or nothing. At `backward`, the version
#   counter reveals a counted write to a saved tensor.
# - A recorded write is part of the history, even through a view. An overwritten value gets a gradient of 0.
# - A write through a view whose elements overlap, such as one from `unfold`, is recorded and counted, but if it does
#   more than add a constant, its gradient may be silently wrong.
# - Write to memory that nothing else refers to: a clone, or a fresh result that its own node doesn't keep.
#
# | write | what happens |
# |---|---|
# | `x += 1`, `x[0] = 9`, `x[1:].mul_(0)` | written and counted |
# | `a += 1` for a leaf that requires grad | an immediate error, and `a` is unchanged |
# | a counted write to a saved tensor | an error at `backward` |
# | under `no_grad`, or to `x.detach()` | counted, but not recorded: the gradient leaves this operation out |
# | to `x.data` or through a NumPy array | neither counted nor recorded: gradients may be silently wrong |
# | recorded, to a `row` of `for row in h` or a part from `h.split(2)`, or with `out=` | an immediate error |
# | `with torch.no_grad(): w -= lr * w.grad` | the update that an optimizer sees |
# | `exp`, `sqrt`, `sigmoid`, `relu` | keep their output: you may overwrite the input if no other node keeps it |
# | `log`, `h ** 2` | keep their input: you may overwrite the output if no other node keeps it |
#
# Ask yourself three questions before you write in place:
#
# - What else refers to this memory?
# - Does a node keep the old values, and would the version counter catch the change?
# - Would my tests notice if only the gradients were wrong?
#
# In lab 6, you'll write the training loop and an optimizer that updates in place.

# %% [markdown]
# ## Further practice
#
# The rest is optional and earns no points. Choose what you need: find the line that broke `backward`, write in place,
# write an optimizer's step, undo a write, or test any code for wrong gradients.
#
# ## Finding the line
#
# The error in `backward` names "output 0 of Exp". In a model that calls `exp` forty times, which call is it? *Anomaly
# mode* records where in your code each node was created. It slows down every operation, so use it only for debugging.
# Which line will it name below: the first `exp`, the second one, or the write?

# %% example
x = torch.tensor([0.0, 1.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            safe = x.exp()
            spoiled = (2 * x).exp()
            spoiled += 1
            (safe + spoiled).sum().backward()
    except RuntimeError:
        for warning in caught:
            for line in str(warning.message).splitlines():
                if ".exp()" in line:
                    print("the node was made here:", line.strip())

# %% [markdown]
# It names the second `exp`, the line that created the failing node, not the line that wrote to its output. But now you
# know which tensor to look for. Anomaly mode also raises an error if a node returns NaN.

# %% [markdown]
# ## Rescaling in place
#
# A function that writes in place should say so in its name. Otherwise, it surprises any caller that holds the same
# memory under another name, such as a view or a NumPy array. Its own later lines also read numbers that it has already
# changed.
#
# ### Your turn: rescale_rows_
# Rescale the rows of a matrix in place. The matrix may be a transposed view, or every second column of another matrix.

# %% given
hint(
    "After the subtraction, what is the largest number in each row? Which numbers did you read earlier, and are they "
    "still correct?",
    "A constant row gives 0 / 0, so replace such a divisor. And does every line of your code write into x's own "
    "memory, even if x isn't contiguous?",
)

# %% exercise: rescale_rows_ points=2 level=easy further

# %% [markdown]
# ## A legitimate use: the optimizer
#
# Every training run writes in place: an optimizer updates its parameters at every step. Recording is off, `backward`
# has used all saved tensors, and the next forward pass hasn't begun, so no rule is broken.
#
# SGD with momentum keeps a second tensor for each parameter, its *momentum buffer*. For a parameter $p$ with gradient
# $g$ and buffer $b$, a step computes
#
# $$d = g + \text{weight decay} \cdot p$$
#
# $$b = d \;\text{ in the first step,}\qquad b = \text{momentum} \cdot b + d \;\text{ later}$$
#
# $$p = p - \text{lr} \cdot b$$
#
# The buffer starts out as $d$, and without weight decay, $d$ is the gradient. So can the buffer simply be `p.grad`? The
# next cell then clears the gradient with `zero_()`, as a training loop may do. What does the buffer hold afterward?

# %% example
p = torch.tensor([1.0], requires_grad=True)
(3 * p).backward()
buffer = p.grad
p.grad.zero_()
print("buffer", buffer.tolist())

# %% [markdown]
# It holds zeros, because the buffer was just a second name for the gradient. There's another trap: `p.grad.add_(p,
# alpha=weight_decay)` would avoid allocating a tensor, but `.grad` belongs to the caller, who may want to print its
# norm or keep accumulating gradients.
#
# ### Your turn: sgd_step_
# Write the SGD step.

# %% given
hint(
    "Which three tensors does the step touch, and which of them may it write to?",
    "In the first step, the buffer has to be a tensor that nothing else holds. The rest is two lines: mul_ and add_, "
    "with alpha.",
)

# %% exercise: sgd_step_ points=4 level=medium further

# %% [markdown]
# Suppose you compute two losses, call `backward` on the first, take a step, and call `backward` on the second. What
# happens? What if the step had used `.data`?

# %% answer [markdown]
# The step now falls between a forward pass and its backward pass. If a node keeps a weight, the step counts as a write
# to it, so the second `backward` raises an error. (A product `x * w` keeps `w` if `x` requires grad, as a hidden
# layer's input does; input data doesn't.) With `.data`, there would be no error, but the second gradient would be
# computed with the new weights.

# %% [markdown]
# ## Write, evaluate, undo
#
# Finite differences, evolution strategies and sharpness-aware training all need the loss at a nearby point. The loss
# reads the model's own parameters, so you add a shift to them, evaluate the loss, and undo the shift. Does subtracting
# it undo the addition?

# %% predict: numbers_back
# **Predict.** In float32, `shift` is added to `w` and then subtracted again. Which of the three numbers are restored
# exactly?
#
# - [ ] all three
# - [ ] 0.1 and 1e-8: only adding `inf` can't be undone
# - [ ] only 0.1, to which 0.2 was added
# - [x] none: not 0.1, not 1e-8 with a shift of 1, not 3 with a shift of `inf`

# %% example
w = torch.tensor([0.1, 1e-8, 3.0])
shift = torch.tensor([0.2, 1.0, float("inf")])
w += shift
w -= shift
print(w.tolist())

# %% [markdown]
# None of them is restored exactly. Each addition rounds its result: 0.1 loses its last digits, and 1e-8 is lost
# entirely, because 1 + 1e-8 rounds to 1. The third is NaN, because `inf` minus `inf` isn't defined. To undo a write,
# you need a copy of the original values.
#
# ### Your turn: loss_at
# Evaluate a loss at a shifted point. Three things can go wrong: rounding, an exception in the loss, and a loss that
# itself uses autograd, for instance because it includes the size of a gradient.


# %% given
# Losses and probes for trying out your solution. The checks use them too. Each loss is called with w and with `memory`,
# a detached tensor that shares w's memory. Some losses read the one, some the other.
def bumpy(w, memory):
    return (w.sin() + w.square()).sum()


def sum_of_squares(w, memory):
    return w.square().sum()


def by_another_name(w, memory):
    return (memory * torch.arange(1, memory.numel() + 1).reshape(memory.shape)).sum()


def first_number(w, memory):
    """A view of w."""
    return w[(0,) * w.dim()]


def w_itself(w, memory):
    return w


def steepness(w, memory):
    """Uses autograd itself."""
    (slopes,) = torch.autograd.grad(w.pow(3).sum(), w)
    return slopes.square().sum()


def larger_if_recorded(w, memory):
    return w.sum() + 100 * torch.is_grad_enabled()


def undefined(w, memory):
    raise ValueError("no loss here")


@probes.probe
def shifted_evaluation(loss_at, f, w, shift):
    """Calls loss_at with the loss f(w, another name for w's memory). Returns what it did and w's state afterward."""
    memory = w.detach()
    returned = raised = None
    try:
        returned = loss_at(lambda: f(w, memory), w, shift)
    except ValueError as error:  # f may raise one
        raised = type(error).__name__
    return {"returned": returned, "raised": raised, "after": memory.clone(), "requires_grad": w.requires_grad}


@probes.probe
def left_by_interrupt(loss_at, w, shift):
    """The state of w after an interrupt during the loss, and whether the interrupt was passed on."""

    def stopped():
        raise KeyboardInterrupt

    came_through = False
    try:
        loss_at(stopped, w, shift)
    except KeyboardInterrupt:
        came_through = True
    return {"after": w.detach(), "came_through": came_through}


# %% given
hint(
    "How can you keep w's numbers so that they don't change when w does? And which Python statement runs whether or "
    "not an exception was raised?",
    "Use try and finally. Put only the two writes under no_grad, and leave the loss outside it.",
)

# %% exercise: loss_at points=3 level=medium further

# %% [markdown]
# The numbers are restored. Is everything else? Think of a graph that was recorded before the call and keeps `w`.

# %% answer [markdown]
# The version counter isn't reset. It counted two more writes, and you can't un-count them. A backward pass through a
# graph that keeps `w` will fail, even though `w` holds the right numbers again.
#
# You can write through `w.data`: the counter ignores such writes. That's safe if the loss calls `autograd.grad` only on
# graphs that it records itself: the right numbers are back before any other backward pass. Or evaluate the loss first
# and record the graph afterward.

# %% [markdown]
# ## A judge for gradients
#
# Anomaly mode doesn't help when a gradient is silently wrong. For that, you need an independent check.
#
# ### Your turn: outcome
# Write the judge: a function that decides which of the four words from `will_it_fail` applies to a piece of code. It
# calls that code several times. What might the code do to its input along the way?


# %% given
# More code to judge. The checks use it, along with cases a to n.
def fickle(x):
    """Overwrites what exp keeps, but only for some inputs."""
    y = x.exp()
    if x.sum() > 0:
        y.data += 1
    return y


def touchy(x):
    """Changes the caller's tensor after using it."""
    y = x.square()
    x.data += 1
    return y


def harmless(x):
    """Overwrites something that nothing needs anymore, without being counted."""
    y = (x * 3).exp()
    h = x * 3
    h.data.zero_()
    return y


def late(x):
    """A matrix with one wrong slope."""
    y = x.exp().reshape(-1, 1) * torch.ones(1, 2, dtype=x.dtype)
    z = y.square()
    y.data[-1, -1] += 0.05
    return z


def careful(x):
    """Changes the caller's tensor but keeps a copy for its node."""
    y = x.clone().square()
    x.data += 1
    return y


def swapped(x):
    """Gives each element the slope of another one."""
    h = x * 1
    y = h.square()
    h.data.copy_(x.detach().flip(0))
    return y


def steep(x):
    """Large slopes, each with a small error."""
    h = x * 1
    y = 50 * h.square()
    h.data += 2e-4
    return y


def picky(x):
    if len(x) > 3:
        raise ValueError("too long")
    return x.square()


# %% given
hint(
    "Follow the order of the four words: call f, call backward, then compare the gradient with an independent slope.",
    "f may write to its argument, so each call needs its own copy: the recorded call and both steps of each finite "
    "difference. In float64, a sum of 10,000 is accurate to about 1e-12. Divided by two steps of 1e-6, that's about "
    "1e-6 in the slope, which is small compared with 0.001.",
)

# %% exercise: outcome points=4 level=hard further

# %% [markdown]
# At `[0.5, 2.0]`, which of the functions from `fickle` to `picky` are silent?
#
# `torch.autograd.gradcheck` is PyTorch's own judge. It checks the whole Jacobian, and it passes your own tensor to
# every call: after `gradcheck(touchy, x)`, `x` has different values. Would you run such a judge in every test run, or
# only once?

# %% answer [markdown]
# Five: `fickle`, `touchy`, `late`, `swapped` and `steep`; the other three are right. But `fickle` is right if the sum
# isn't positive, and `picky` raises its ValueError for more than three numbers.
#
# Run it in every test run, on small float64 inputs, for code that can be silently wrong: code that uses `.data`, NumPy,
# overlapping views or your own autograd functions. It makes two calls per input element. PyTorch's own tests cover
# ordinary recorded operations.
