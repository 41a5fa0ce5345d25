# %% given
import contextlib
import math
import warnings

import numpy as np
import torch
from torch import Tensor, nn

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    assert_some_right,
    check,
    explain,
    hint,
    probes,
    show_versions,
    try_writes,
)

# %% [markdown]
# # In place: what fails now, at backward, or silently
#
# "Never work in place with autograd" is common advice. It is wrong: every optimizer works in place, in every step. In
# this lab you learn the real rules. There are few of them, and you can look at each with one line of code.
#
# After this lab you can
#
# - say which statements write into memory that exists, also those without an underscore;
# - say why a leaf refuses a write, and change parameters the right way;
# - say what a node keeps for `backward`, and predict which write makes `backward` fail;
# - name the writes that autograd cannot see, and what they do to your gradients;
# - write into a part of a tensor and keep its gradients right;
# - write an optimizer step, undo a write to the last bit, and keep a running average that two forward passes can share;
# - test any piece of code for gradients that are silently wrong.
#
# You need labs 1 and 3, and from lab 4 `detach` and `no_grad`. This one takes about 90 minutes. After "Writes that
# nobody counts" is a good place for a break. All numbers in the text were measured with PyTorch 2.13 on a CPU.
#
# Most sections ask for a prediction. Write it down before you run the cell.
#
# The lab is worth 34 points. Each exercise has a few checks that you see at once, and more that run after you hand in.
# Those that you see hold about a fifth of the points. So a green table is a start and no proof. Read the docstring for
# the cases that the visible checks leave out. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## What writes in place?
#
# Every tensor looks at a piece of memory. An operation works *in place* if it writes its result into memory that
# exists. Most operations ask for new memory instead. PyTorch marks methods that work in place with an underscore at
# the end: `add_`, `clamp_`, `zero_`.
#
# Is the underscore the whole story? In the next cell `other` is a second name for the tensor `x`. It sees what is
# written into the memory of `x`, and nothing else. Which of the eight statements will `other` see?


# %% given
def seen_by_another_name(statement):
    x = torch.tensor([1.0, 2.0, 3.0])
    other = x
    exec(statement, {"x": x, "torch": torch})
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
# Six of the eight write in place, and only two of these have an underscore. `x += 1` looks like `x = x + 1` and is
# `x.add_(1)`. Putting something into `x[0]` writes. `out=` writes. `x[1:]` is a view, which is a tensor of its own
# that looks at the same memory. So a write to the view is a write to `x`.
#
# The last number is the *version counter*. It counts the writes to a tensor, and autograd relies on it. Look at the
# last line: the values changed, and the counter did not. Keep this line in mind.
#
# What does a write in place save? The next cell measures the largest amount of memory that was newly taken, in bytes.
# `million` has a million numbers of 4 bytes. Predict the number in each line.

# %% given
million = torch.zeros(1_000_000)
for text, f in {
    "x * 2 + 1": lambda x: x * 2 + 1,
    "(x * 2).add_(1)": lambda x: (x * 2).add_(1),
    "x.mul_(2).add_(1)": lambda x: x.mul_(2).add_(1),
}.items():
    print(f"{text:18} {probes.live_bytes(f, million)['peak']:>9,} bytes")

# %% [markdown]
# The middle line is the form to remember. The product is new and nobody else has a name for it, so the addition may
# write into it. No caller can be surprised.
#
# A write in place must fit into what is there. So it keeps the shape and the dtype of its target. And each element
# should have a place of its own. What will these four writes do?

# %% given
row = torch.tensor([1.0, 2.0, 3.0])
counts = torch.tensor([1, 2, 3])
for text, write in {
    "counts += 0.5": lambda: counts.add_(0.5),
    "row += a matrix (2, 3)": lambda: row.add_(torch.ones(2, 3)),
    "row.expand(2, 3) += 1": lambda: row.expand(2, 3).add_(1),
    "row.unfold(0, 2, 1) *= 10": lambda: row.unfold(0, 2, 1).mul_(10),
}.items():
    try:
        write()
        print(f"{text:26} row is now {row.tolist()}")
    except RuntimeError as error:
        print(f"{text:26} RuntimeError: {str(error)[:70]}")

# %% [markdown]
# Three are refused. The third is a matrix with stride 0: its two rows are the same three numbers in memory. PyTorch
# sees that, and refuses.
#
# The fourth is the dangerous one. `unfold` gives the windows `[1, 2]` and `[2, 3]`, and the 2 belongs to both. PyTorch
# does not look for such an overlap, because finding it is costly in general. The 2 was multiplied twice here, and the
# documentation promises nothing. `clone()` the windows before you write.
#
# ### Your turn
# Rescale the rows of a matrix in place. The matrix may be a transposed view, or every second column of another one.

# %% given
hint(
    "After the subtraction, where is the largest number of each row? Which numbers did you read before, and are they "
    "still true?",
    "A constant row gives 0 / 0. Put something else in place of such a divisor. And does every line of your code "
    "write into x's own memory, also for an x that is not contiguous?",
)


# %% exercise: rescale_rows_
def rescale_rows_(x: Tensor, top: float) -> Tensor:
    """Shift and scale each row of x in place: its smallest number becomes 0, its largest becomes top.

    x (n, d), float32 or float64, without requires_grad; any strides, and no two elements share memory. n may be 0, d is
    at least 1. top: any number but 0. A row whose numbers are all equal becomes zeros. A row
    of tiny numbers that differ, such as 0 and 1e-20, is rescaled like any other.
    Memory beside the elements of x is not touched. Returns x itself.
    """
    ### BEGIN SOLUTION
    x -= x.amin(dim=1, keepdim=True)
    size = x.amax(dim=1, keepdim=True)  # read after the write
    x *= top / torch.where(size == 0, 1, size)
    return x
    ### END SOLUTION


# %% check: rescale_rows_ points=2
with check("two rows from 0 to 10", weight=2, required=True):
    t = torch.tensor([[1.0, 3.0, 2.0], [-1.0, 4.0, 0.0]])
    want = torch.tensor([[0.0, 10.0, 5.0], [0.0, 10.0, 2.0]])
    shifted = torch.tensor([[0.0, 2.0, 1.0], [0.0, 5.0, 1.0]])
    together = (t + 1) * 2
    explain(
        rescale_rows_(t, 10.0),
        want,
        {
            "the largest number was read before the smallest was subtracted": shifted
            * 10
            / torch.tensor([[3.0], [4.0]]),
            "the smallest and largest number of the whole matrix were used": together,
        },
    )
with check("x itself was changed and returned", required=True, hint="Which of your lines makes a new tensor?"):
    t = torch.tensor([[1.0, 3.0, 2.0], [-1.0, 4.0, 0.0]])
    want = torch.tensor([[0.0, 5.0, 2.5], [0.0, 5.0, 1.0]])
    got = rescale_rows_(t, 5.0)
    assert_close(t, want, name="x")
    assert got is t, "your result is not x itself"
### BEGIN HIDDEN TESTS
with check(
    "other shapes and tops, and float64",
    weight=2,
    required=True,
    hint="Which numbers of the row does each of your lines read, and are they those from before or after the write?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.randn(5, 3, dtype=dtype, generator=torch.Generator().manual_seed(1))
        low, high = t.min(1, keepdim=True).values, t.max(1, keepdim=True).values
        for top in (1.0, -0.3):
            want = (t - low) / (high - low) * top
            own = t.clone()
            got = rescale_rows_(own, top)
            assert_close(own, want, name="x")
            assert got is own, "your result is not x itself"
    want = torch.tensor([[0.0, 7.0]], dtype=torch.float64)
    got = torch.tensor([[-1e6, -1e6 + 1e-3]], dtype=torch.float64)
    rescale_rows_(got, 7.0)
    assert_close(got, want, name="x")
with check("a constant row becomes zeros", weight=2, hint="What is 0 / 0?"):
    t = torch.tensor([[2.0, 2.0, 2.0], [0.0, 1.0, 4.0], [-3.5, -3.5, -3.5]])
    want = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.5, 2.0], [0.0, 0.0, 0.0]])
    rescale_rows_(t, 2.0)
    assert_close(t, want, name="x")
    t = torch.tensor([[4.0], [-1.0]])
    rescale_rows_(t, 3.0)
    assert_close(t, torch.zeros(2, 1), name="x")
with check(
    "a row of tiny numbers is rescaled too",
    weight=2,
    hint="Which rows need another divisor? What does your guard against 0 / 0 do to a row that differs by very little?",
):
    t = torch.tensor([[0.0, 1e-20, 5e-21], [1.0, 3.0, 2.0]])
    want = torch.tensor([[0.0, 4.0, 2.0], [0.0, 4.0, 2.0]])
    rescale_rows_(t, 4.0)
    assert_close(t, want, name="x")
    t = torch.tensor([[-3e-30, 0.0, 1e-30]], dtype=torch.float64)
    want = torch.tensor([[0.0, 0.75, 1.0]], dtype=torch.float64)
    rescale_rows_(t, 1.0)
    assert_close(t, want, name="x")
with check(
    "a transposed x and every second column of another tensor",
    weight=3,
    hint="Which functions copy where a tensor is not contiguous?",
):
    whole = torch.tensor([[1.0, 50.0, 4.0, 60.0], [0.0, 70.0, -5.0, 80.0], [2.0, 90.0, 3.0, 99.0]])
    want = whole.clone()
    want[:, ::2] = torch.tensor([[0.0, 6.0], [6.0, 0.0], [0.0, 6.0]])
    columns = whole[:, ::2]
    got = rescale_rows_(columns, 6.0)
    assert_close(whole, want, name="the tensor behind x")
    assert got is columns, "your result is not x itself"
    t = torch.tensor([[0.0, 3.0], [1.0, 5.0], [4.0, 1.0]])
    want = torch.tensor([[0.0, 4.0], [2.0, 8.0], [8.0, 0.0]])
    rescale_rows_(t.T, 8.0)
    assert_close(t, want, name="the tensor behind x")
with check("no rows at all", guard=True):
    assert_close(rescale_rows_(torch.empty(0, 4), 2.0), torch.empty(0, 4))
### END HIDDEN TESTS

# %% [markdown]
# A function that writes in place should say so in its name, as yours does. Which of its callers would be angry if it
# did not? Everyone who has another name for that memory: a view, a NumPy array, a list of snapshots.

# %% [markdown]
# ## A leaf: the error comes now
#
# Now with gradients. `a` is a leaf that requires grad. Three predictions: does `a += 1` raise an error? What are the
# values of `a` after it? And can `a` still be used? The cell also tries to write to a part: `a[0] = 5`.

# %% given
a = torch.tensor([2.0], requires_grad=True)
for text, write in {"a += 1": lambda: a.add_(1), "a[0] = 5": lambda: a.view(1)[0].fill_(5)}.items():
    try:
        write()
    except RuntimeError as error:
        print(f"{text}: RuntimeError: {error}")
print("a is", a.tolist(), " version", a._version)
(a + 1).backward()
print("a.grad is", a.grad.tolist())

# %% [markdown]
# You may read that such a write "erases the past" of a tensor. Nothing of the kind. A leaf has no past, PyTorch refuses
# before it writes, and `a` is as good as before. A part of a leaf is a view of it, and is refused too.
#
# Why does it refuse? The usual explanation is that `backward` needs the old values. But `a + 1` needs no values at all.
# The real reason is what `a` would become. After a recorded write, `a` would be the result of an operation. It would
# not be a leaf any more, and nobody would hold the leaf that gets the gradient.
#
# So an update of a parameter must not be recorded. Here are five ways to write "subtract 1 from `w`". The optimizer was
# made before, and knows the tensor that `w` was then. After which of them does the optimizer hold the new value?


# %% given
def after(statement):
    w = nn.Parameter(torch.tensor([5.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    scope = {"w": w, "torch": torch, "nn": nn}
    exec(statement, scope)
    held, now = optimizer.param_groups[0]["params"][0], scope["w"]
    print(f"{statement:34} w {now.item()}  optimizer's {held.item()}  leaf {now.is_leaf!s:5}  version {held._version}")


after("w = w - 1")
after("w = nn.Parameter(w.detach() - 1)")
after("w.data -= 1")
after("w.data = w.data - 1")
after("with torch.no_grad(): w -= 1")

# %% [markdown]
# The first two make a new tensor, and the optimizer keeps training the old one. The last three reach it. The last one
# is the right form: the write is not recorded, and it is counted. You will see soon what the count is good for.
# `.data` is the form of PyTorch before version 0.4, and still in many tutorials.
#
# ### Your turn
# Some training methods keep every weight in a fixed range: after each step, the parameters are clamped. Write that
# step, and say how many elements it had to change.

# %% given
hint(
    "Where must the numbers be written so that an optimizer, which holds the same tensors, sees them?",
    "Count before you write, or compare with a copy. A second name for a tensor is no copy. And what does NaN compare "
    "equal to?",
)


# %% exercise: clamp_params_
def clamp_params_(params: list[Tensor], limit: float) -> int:
    """Clamp each parameter to [-limit, limit], in its own memory. Returns how many elements that changed.

    params: leaves that require grad, float32 or float64, any shapes; the list may be empty. limit is 0 or more.
    NaN stays NaN, and is not counted. The list, its tensors, their requires_grad and .grad stay as they are, and so
    does the mode of recording: it may be on or off when the function is called.
    """
    ### BEGIN SOLUTION
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += int((p.abs() > limit).sum())
            p.clamp_(-limit, limit)
    return changed
    ### END SOLUTION


# %% check: clamp_params_ points=3
with check("two parameters, clamped to [-1, 1]", weight=3, required=True):
    t = [torch.tensor([[0.5, -3.0], [1.0, 2.0]], requires_grad=True), torch.tensor([-0.1], requires_grad=True)]
    got = clamp_params_(t, 1.0)
    assert_close(
        [p.detach() for p in t], [torch.tensor([[0.5, -1.0], [1.0, 1.0]]), torch.tensor([-0.1])], name="params"
    )
    explain(
        got,
        2,
        {
            "this counts no change: a second name for a tensor changes with it": 0,
            "these are all elements that lie on the limit now": 3,
            "these are the tensors that changed, not the elements": 1,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other limits and shapes, and float64",
    weight=3,
    required=True,
    hint="Does every element of every tensor come out in the range, and is each that was outside counted?",
):
    for dtype in (torch.float32, torch.float64):
        for limit in (0.0, 0.3, 100.0):
            numbers = torch.randn(14, dtype=dtype, generator=torch.Generator().manual_seed(2))
            numbers[8] = limit  # on the limit, and not changed
            parts = [numbers[:6].reshape(2, 3).T, numbers[6:13], numbers[13]]
            want = [p.clamp(-limit, limit) for p in parts]
            count = sum(int((p != w).sum()) for p, w in zip(parts, want, strict=True))
            t = [p.detach().clone().requires_grad_() for p in parts]
            got = clamp_params_(t, limit)
            assert_close([p.detach() for p in t], want, rtol=0, atol=0, name="params")
            assert_close(got, count)
with check(
    "an optimizer that holds the parameters goes on from the clamped values",
    weight=3,
    hint="Does the list hold the same tensors as before, over the same memory?",
):
    t = [torch.tensor([4.0, -0.5], requires_grad=True), torch.tensor([[-9.0]], requires_grad=True)]
    held, memory = list(t), [p.detach() for p in t]
    optimizer = torch.optim.SGD(held, lr=0.5)
    clamp_params_(t, 2.0)
    assert all(p is q for p, q in zip(t, held, strict=True)), "the list holds other tensors now"
    assert_close(memory, [torch.tensor([2.0, -0.5]), torch.tensor([[-2.0]])], name="the memory of the parameters")
    for p in held:
        p.grad = torch.ones_like(p)
    optimizer.step()
    want = [torch.tensor([1.5, -1.0]), torch.tensor([[-2.5]])]
    assert_close([p.detach() for p in t], want, name="params after a step")
with check("they are leaves that require grad, with their old .grad", weight=2, hint="What does your write add to?"):
    t = [torch.tensor([4.0, -0.5], requires_grad=True), torch.tensor([7.0], requires_grad=True)]
    t[0].grad = torch.tensor([8.0, -8.0])
    clamp_params_(t, 1.0)
    assert all(p.is_leaf and p.requires_grad for p in t), "not all are leaves that require grad"
    assert_close(t[0].grad, torch.tensor([8.0, -8.0]), name=".grad")
    assert t[1].grad is None, "a .grad was None, and is something else now"
with check("NaN stays, and is not counted", hint="Is NaN different from NaN?"):
    t = [torch.tensor([math.nan, 3.0, -0.5, math.inf], requires_grad=True)]
    got = clamp_params_(t, 1.0)
    assert_close(t[0].detach(), torch.tensor([math.nan, 1.0, -0.5, 1.0]), name="params")
    assert_close(got, 2)
with check(
    "recording is on or off as before, and no parameters are fine",
    guard=True,
    hint="Which calls switch recording, and until when?",
):
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            clamp_params_([torch.tensor([3.0], requires_grad=True)], 1.0)
            assert torch.is_grad_enabled() is mode, "recording was switched"
    assert_close(clamp_params_([], 1.0), 0)
### END HIDDEN TESTS

# %% [markdown]
# The parameters of a model can be clamped with `clamp_params_(list(model.parameters()), 1.0)`. Why is a new model with
# clamped weights no replacement? Think of who else holds the old parameters: the optimizer, and perhaps a second model
# that shares a layer.

# %% [markdown]
# ## What a node keeps: the error comes at backward
#
# Away from the leaves, writing is allowed and recorded. Is it safe? A node may keep tensors for `backward`. These are
# called its *saved tensors*. If somebody writes to one, the node would compute with wrong numbers.
#
# `exp` is its own derivative, so its node keeps its output. In the next cell the output is written to. Predict: is
# there an error, and in which line?

# %% given
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
# The write itself is fine. The error comes in `backward`, perhaps a hundred lines later. It tells what happened: the
# node saved a tensor at version 0, finds it at version 1, and refuses to compute with it. That is all that the counter
# is for. PyTorch does not look at the values. A write of the same numbers, such as `y.mul_(1)`, counts as well.
#
# So everything depends on what the node keeps. Each operation keeps what its derivative needs. Before you run the next
# cell, think of the derivative and write down for each line: input, output, or nothing?


# %% given
def what_is_kept(f):
    h = torch.tensor([0.5, 2.0], requires_grad=True) * 1  # no leaf, so it may be written to
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
# Compare the first column with the other two. A write is an error exactly where it hits what was kept. `exp`, `sqrt`,
# `sigmoid` and `relu` can compute their derivative from the output, so their input is free. `log` and the power need
# the input, so their output is free. Sums and products with a plain number keep no tensor at all.
#
# The next picture shows an expression line by line. The columns are the version counters. Orange: this line wrote.
# To the right stands what a node keeps: green where it is still as it was, red where its counter went on.

# %% given
start = torch.tensor([0.5, 2.0], requires_grad=True)
show_versions(["h = x * 3", "y = h.exp()", "z = y * h", "z += 1", "z.sum().backward()"], {"x": start})

# %% [markdown]
# `z` was written to, and nobody keeps `z`. Now write somewhere else. Choose a line from the menu. What will turn red?
# (Where a notebook cannot show a menu, all choices are written out below each other.)

# %% given
try_writes(
    ["h = x * 3", "y = h.exp()", "z = y * h", "write", "z.sum().backward()"],
    ["y += 1", "h[0] = 5", "z.mul_(2)", "y.detach().add_(1)", "y.data += 1", "x.data += 1"],
    {"x": start},
)

# %% [markdown]
# Three of the six end in an error. `y.detach().add_(1)` is one of them: a detached tensor shares the memory *and the
# counter*. `z.mul_(2)` is fine, because nobody keeps `z`. With `y.data += 1` there is no error, although the
# kept values changed. The picture shows that in purple, and the next section is about it. And `x.data += 1` changes
# nothing that is kept.
#
# ### ReLU in place
# `nn.ReLU(inplace=True)` writes its result over its input. Many models use it. From the table you can say when it is
# allowed: the operation before must not keep its output. Which of these five will fail?

# %% given
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

# %% [markdown]
# `Linear` and `BatchNorm` keep their input and not their output. `Sigmoid` keeps its output, and so does the first of
# two ReLUs, although the second one changes no value.
#
# Is there a case without an error and with wrong numbers? Think of a *skip connection*, `h + relu_(h)`. Python first
# takes `h`, then calls `relu_`, which overwrites `h`. Both terms are the rectified ones. Autograd has nothing to
# complain about: it differentiates exactly what was computed. It is not what you meant.
#
# How much memory does `inplace=True` save in training? For eight layers `Linear(256, 256)` with ReLU and a batch of
# 1,024, one activation takes 1 MiB. The *peak* is the most that was newly taken at one time. *Kept* is what is still
# held when the forward pass is over. By how much will `inplace=True` lower each of the two, with recording and without?


# %% given
def deep(inplace):
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU(inplace=inplace))]
    return nn.Sequential(*layers)


wide = torch.zeros(1024, 256)
for recording in (True, False):
    for inplace in (False, True):
        with torch.set_grad_enabled(recording):
            measured = {name: size / 2**20 for name, size in probes.live_bytes(deep(inplace), wide).items()}
        print(f"recording {recording!s:5}  inplace {inplace!s:5}  peak and kept in MiB: {measured}")

# %% [markdown]
# In training: one activation at the peak, of nine, and nothing of what is kept for `backward`. Without `inplace`, the
# output of `Linear` is freed as soon as ReLU has read it, because nobody keeps it. Without recording: nothing at all.
# The peak is two activations in both cases, the input and the output of one layer.
#
# What costs memory in training is what is kept, and a write in place cannot remove that. So measure before you pay for
# `inplace=True` with harder rules.

# %% [markdown]
# ## Writes that nobody counts
#
# The counter is the whole safety. Which writes go past it? Here `x` is 2, and `y` is the square of `x`. Its node keeps
# `x`, and the right gradient is 4. Between forward and backward, somebody adds 1 to `x`, in five ways. For which of
# them is there an error? Which gradient do the others give?

# %% given
writes = {
    "with no_grad: x += 1": lambda x: x.add_(1),
    "x.detach().add_(1)": lambda x: x.detach().add_(1),
    "x.data.add_(1)": lambda x: x.data.add_(1),
    "array = x.detach().numpy(); array += 1": lambda x: np.add(x.detach().numpy(), 1, out=x.detach().numpy()),
    "x.data = x + 1": lambda x: setattr(x, "data", x + 1),
}
for text, write in writes.items():
    x = torch.tensor([2.0], requires_grad=True)
    y = x.square()
    with torch.no_grad():
        write(x)
    try:
        y.backward()
        print(f"{text:40} x is {x.item()}, its gradient {x.grad.item()}")
    except RuntimeError:
        print(f"{text:40} RuntimeError")

# %% [markdown]
# `no_grad` switches recording off, not counting. A detached tensor shares the counter. So these two are caught. `.data`
# gives a tensor with a counter of its own, and NumPy knows no counter. Their gradient is 6, and nobody says a word.
# The last line gives `x` new memory. Even that does not help. Of a leaf, a node keeps the tensor itself, and finds
# the new memory there.
#
# This is why `with torch.no_grad(): w -= lr * w.grad` is better than `w.data -= lr * w.grad`. In an ordinary loop both
# give the same numbers. If one day somebody updates the weights between a forward pass and its backward pass, the first
# raises an error, and the second trains on wrong gradients.
#
# One more way leads past the counter: an operation of your own that stores a tensor as an ordinary attribute. Lab 8
# shows how to do it right.
#
# ### Your turn
# Twelve cases. In each, `f(x).sum().backward()` is called with `x = torch.tensor([0.5, 2.0], requires_grad=True)`.
# What happens? Answer with one of four words.
#
# - `"now"`: a RuntimeError in `f`;
# - `"backward"`: a RuntimeError in `backward`;
# - `"silent"`: no error, and `x.grad` is not the slope of the sum that was returned;
# - `"ok"`: no error, and `x.grad` is right.
#
# Decide on paper first. Two words tell you most: what is kept, and who counts?


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


# %% given
hint(
    "For each case: what does each node keep? Which line writes to it? Is the write refused, counted, or not seen?",
    "If you are unsure, run the case in the scratch cell. A gradient can be checked against a finite difference, as in "
    "lab 3.",
)

# %% scratch
x = torch.tensor([0.5, 2.0], requires_grad=True)
case_c(x).sum().backward()
print(x.grad)


# %% exercise: will_it_fail
def will_it_fail() -> dict[str, str]:
    """For each of the cases "a" to "l", one of "now", "backward", "silent" and "ok"."""
    ### BEGIN SOLUTION
    return {
        "a": "now",
        "b": "backward",
        "c": "ok",
        "d": "ok",
        "e": "backward",
        "f": "ok",
        "g": "backward",
        "h": "silent",
        "i": "backward",
        "j": "silent",
        "k": "backward",
        "l": "now",
    }
    ### END SOLUTION


# %% check: will_it_fail points=3
with check(
    "a to l each have one of the four words",
    weight=2,
    required=True,
    guard=True,
    hint="Which key is missing, or which word is none of the four?",
):
    got = will_it_fail()
    assert isinstance(got, dict), f"your result is a {type(got).__name__}"
    assert set(got) == set("abcdefghijkl"), f"your keys are {sorted(map(str, got))}"
    four = ("now", "backward", "silent", "ok")
    known = [
        got["a"] in four,
        got["b"] in four,
        got["c"] in four,
        got["d"] in four,
        got["e"] in four,
        got["f"] in four,
        got["g"] in four,
        got["h"] in four,
        got["i"] in four,
        got["j"] in four,
        got["k"] in four,
        got["l"] in four,
    ]
    assert known == [True] * 12, "not all of your words are among the four"
### BEGIN HIDDEN TESTS
with check(
    "at least seven of the twelve are right",
    required=True,
    guard=True,
    hint="The table of what is kept answers four of the cases. The list of uncounted writes answers three more.",
):
    got = will_it_fail()
    right = [
        got["a"] == "now",
        got["b"] == "backward",
        got["c"] == "ok",
        got["d"] == "ok",
        got["e"] == "backward",
        got["f"] == "ok",
        got["g"] == "backward",
        got["h"] == "silent",
        got["i"] == "backward",
        got["j"] == "silent",
        got["k"] == "backward",
        got["l"] == "now",
    ]
    assert right.count(True) >= 7, "fewer than seven are right"
with check("a and b: writes to a leaf", weight=2, hint="What does no_grad switch off, and what not?"):
    got = will_it_fail()
    explain(
        [got["a"], got["b"]],
        ["now", "backward"],
        {
            "no_grad hides nothing: the write is not recorded, and it is counted": ["now", "silent"],
            "a write to a leaf that requires grad is refused at once": ["backward", "backward"],
        },
    )
with check("c, d and e: what square keeps", weight=3, hint="The derivative of a square is twice what?"):
    got = will_it_fail()
    explain(
        [got["c"], got["d"], got["e"]],
        ["ok", "ok", "backward"],
        {
            "not every write is an error: only one that hits what was kept": ["backward", "backward", "backward"],
            "square keeps its input, not its output": ["ok", "backward", "ok"],
        },
    )
with check("f and g: what exp keeps", weight=3, hint="Which of the two does exp need for its derivative?"):
    got = will_it_fail()
    explain(
        [got["f"], got["g"]],
        ["ok", "backward"],
        {"exp keeps its output, not its input": ["backward", "ok"]},
    )
with check("h, i and j: other names for the same memory", weight=3, hint="Which of the three share the counter?"):
    got = will_it_fail()
    explain(
        [got["h"], got["i"], got["j"]],
        ["silent", "backward", "silent"],
        {
            "a detached tensor shares the counter: that write is seen": ["silent", "silent", "silent"],
            "writes by .data and by NumPy are not counted": ["backward", "backward", "backward"],
        },
    )
with check("k and l: relu over a sigmoid, and rows that share memory", weight=2, hint="Does relu change a sigmoid?"):
    got = will_it_fail()
    explain(
        [got["k"], got["l"]],
        ["backward", "now"],
        {
            "the counter counts writes: also one that changes no value": ["ok", "now"],
        },
    )
### END HIDDEN TESTS

# %% [markdown]
# Five of the cases fail at `backward`, two at once, and two are silent. Which of the three kinds would you rather have
# in your code? Later in this lab you write the function that finds the answer by itself.

# %% [markdown]
# ### Silencing an error
#
# The next function worked out of place, and somebody wanted to save memory. The first attempt, `g += 1`, raised an
# error at `backward`. So it became `g.data += 1`, and for safety the other write got a `.data` too. The values are
# right, and every test of the values passes. Compare the gradients.


# %% given
# The function to repair. The checks compare values with it.
def soft_gate_broken(x, w):
    h = x * w
    g = h.exp()
    g.data += 1
    g = g.log()
    h.data *= g
    return h


def slope_by_steps(f, x, h=1e-4):
    """Finite difference of f(x).sum() for each element of x."""
    steps = h * torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
    return torch.stack([(f(x + s).sum() - f(x - s).sum()) / (2 * h) for s in steps]).reshape(x.shape)


points = torch.tensor([[-1.0, 2.0]], dtype=torch.float64)
weights = torch.tensor([0.5, 1.5], dtype=torch.float64)
own = points.clone().requires_grad_()
soft_gate_broken(own, weights).sum().backward()
print("autograd    ", own.grad)
print("finite steps", slope_by_steps(lambda t: soft_gate_broken(t, weights), points))

# %% [markdown]
# The value is `h * log(1 + exp(h))`. Autograd believes it to be `x * w`, because the second write put values into `h`
# that no node knows of.
#
# ### Your turn
# Repair it. One of the two writes may stay in place, if it is written without `.data`. Which one? The table knows.

# %% given
hint(
    "Which nodes keep which tensors? Go through exp, log and the products.",
    "A write that is recorded and that hits no kept tensor is fine. For the other one, let the sum have new memory.",
)


# %% exercise: soft_gate
def soft_gate(x: Tensor, w: Tensor) -> Tensor:
    """h * log(1 + exp(h)) with h = x * w, differentiable for x and w.

    x (n, d), w (d,), both float32 or both float64; n may be 0. The products lie between -20 and 20. Either may require
    grad or not. Returns (n, d). x and w stay as they are.
    """
    ### BEGIN SOLUTION
    h = x * w
    g = h.exp() + 1  # exp keeps its output, so the sum needs memory of its own
    h *= g.log()  # nobody keeps h
    return h
    ### END SOLUTION


# %% check: soft_gate points=3
with check("the values are as before", required=True):
    t, t_w = torch.tensor([[1.0, -2.0], [0.5, 3.0]]), torch.tensor([2.0, 0.5])
    want = soft_gate_broken(t.clone(), t_w).clone()
    assert_close(soft_gate(t, t_w), want)
with check("the gradient for x is the slope", weight=2, required=True):
    t, t_w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), torch.tensor([2.0, 0.5])
    h = t.detach() * t_w
    gate, slope = h.exp().add(1).log(), h.sigmoid()
    want = t_w * (gate + h * slope)
    got = soft_gate(t, t_w)
    assert_close(got.detach(), h * gate)
    assert got.requires_grad, "your result does not require grad"
    (got,) = torch.autograd.grad(got.sum(), t)
    explain(
        got,
        want,
        {
            "the gradient is that of x * w alone: the write to h was not recorded": t_w.expand(2, 2),
            "exp's node computed with g + 1: the write to g was not counted": t_w * (gate + h),
            "the gate was treated as a constant": t_w * gate,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "values for other shapes, large and small products, and float64",
    weight=2,
    required=True,
    hint="Does each number of the result come from x and w?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.linspace(-4, 5, 12, dtype=dtype).reshape(3, 4).T
        t_w = torch.tensor([3.0, -0.5, 4.0], dtype=dtype)
        h = t * t_w
        want = h * h.exp().add(1).log()
        assert_close(soft_gate(t, t_w), want)
with check(
    "the gradients for x and w are complete",
    weight=4,
    required=True,
    hint="On which paths does h reach the result?",
):
    weight = torch.tensor([[3.0, -1.0, 0.5], [2.0, 0.1, -4.0]], dtype=torch.float64)
    for t in (torch.linspace(-2, 3, 6, dtype=torch.float64).reshape(2, 3), torch.zeros(2, 3, dtype=torch.float64)):
        t_w = torch.tensor([0.7, -1.5, 2.0], dtype=torch.float64)
        h = t * t_w
        inner = weight * (h.exp().add(1).log() + h * h.sigmoid())
        value, want = h * h.exp().add(1).log(), (inner * t_w, (inner * t).sum(0))
        t.requires_grad_(), t_w.requires_grad_()
        got = soft_gate(t, t_w)
        assert_close(got.detach(), value)
        assert_close(torch.autograd.grad((got * weight).sum(), (t, t_w)), want)
with check(
    "either argument alone may require grad, or none",
    weight=2,
    hint="Does a line of your code need a recorded input?",
):
    t, t_w = torch.tensor([[1.0, -2.0, 0.5]]), torch.tensor([2.0, 0.5, -1.0])
    h = t * t_w
    inner = h.exp().add(1).log() + h * h.sigmoid()
    want, want_x, want_w = h * h.exp().add(1).log(), inner * t_w, (inner * t).sum(0)
    t_grad, w_grad = t.clone().requires_grad_(), t_w.clone().requires_grad_()
    (got,) = torch.autograd.grad(soft_gate(t_grad, t_w).sum(), t_grad)
    assert_close(got, want_x)
    (got,) = torch.autograd.grad(soft_gate(t, w_grad).sum(), w_grad)
    assert_close(got, want_w)
    got = soft_gate(t, t_w)
    assert_close(got, want)
    assert not got.requires_grad, "with neither, your result requires grad"
with check("x and w keep their values, and an empty x is fine", guard=True, hint="Which line writes to an argument?"):
    t, t_w = torch.tensor([[1.0, -2.0]]), torch.tensor([2.0, 0.5])
    before = (t.clone(), t_w.clone())
    soft_gate(t, t_w)
    assert_close((t, t_w), before, rtol=0, atol=0)
    assert_close(soft_gate(torch.empty(0, 2), t_w), torch.empty(0, 2))
### END HIDDEN TESTS

# %% [markdown]
# `h *= g` may stay. The product `x * w` keeps `x` and `w`, `exp` keeps its output, and nobody keeps `h`. But a product
# needs both factors for its derivative, and one of them is being overwritten. How can that work? Autograd makes a copy
# of `h` before the write. We measured both ways with `probes.live_bytes` on a matrix of 1,000 rows and 250 columns:
# 5,000,000 bytes at the peak, in place or not. Nothing was saved, and the code is harder to read.

# %% [markdown]
# ## Writes into a part: history and views
#
# Back to recorded writes. "A write in place destroys the history" is a common sentence. Here `b` is `2 * a` with `a` at
# 2, then 1 is added in place, and the result is squared. If the history were destroyed, what would arrive at `a`? And
# what is the right gradient?

# %% given
a = torch.tensor([2.0], requires_grad=True)
b = a * 2
print("before:", b.grad_fn.name())
b += 1
print("after: ", b.grad_fn.name(), "<-", b.grad_fn.next_functions[0][0].name())
b.square().backward()
print("gradient", a.grad.item())

# %% [markdown]
# Without its history, `b` would send nothing to `a`. The derivative of `(2 * a + 1) ** 2` is `4 * (2 * a + 1)`, which
# is 20, and that is what arrived. The write was recorded like any other operation. `b` got a new node, and the old node
# stands behind it. PyTorch's source calls this *rebasing the history*.
#
# It works for views too. A write to a view changes the tensor behind it, which is called its *base*. So the base gets a
# new history as well. In the next cell only `row`, a view of `h`, is written to. Then the loss weights the rows of `h`
# by 1, 7 and 1. What are the gradients of `m`, from which `h` comes, and of `new`?

# %% given
m = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
new = torch.tensor([10.0, 20.0], requires_grad=True)
h = m * 1
row = h[1]
row.copy_(new)
print("h is", h.tolist(), " its node:", h.grad_fn.name())
(h * torch.tensor([[1.0], [7.0], [1.0]])).sum().backward()
print("gradient of m", m.grad.tolist())
print("gradient of new", new.grad.tolist())

# %% [markdown]
# The overwritten row gets the gradient 0, and `new` gets what it would have got: 7. A value that is overwritten has no
# influence any more. The same holds for `h[1] = new`, and for `h[mask] = 0`.
#
# There is a trap. If the old row was NaN, is its gradient 0 in every way of writing this? Somebody prefers to do
# without writes, and multiplies with a mask of zeros and ones. Somebody else calls `torch.where`. Predict both lines.

# %% given
spoiled = torch.tensor([1.0, float("nan")], requires_grad=True)
keep = torch.tensor([True, False])
for text, f in {
    "times a mask": lambda t: t.square() * keep,
    "torch.where ": lambda t: torch.where(keep, t.square(), 0.0),
}.items():
    out = f(spoiled)
    (gradient,) = torch.autograd.grad(out.sum(), spoiled)
    print(text, " value", out.tolist(), " gradient", gradient.tolist())

# %% [markdown]
# NaN times 0 is NaN, so the mask repairs nothing. `where` takes the value from the other side. But the gradient is NaN
# in both lines. `where` sends a 0 back to the square, and the square multiplies it by twice its input, which is NaN. So
# a spoiled number must be replaced *before* the operation that cannot stand it.
#
# ### Your turn
# Put new rows into a matrix, without a trace of the old ones.

# %% given
hint(
    "May you write to h? Who else may have kept it? Which call gives you memory that nobody knows, with a history?",
    "h.clone() keeps the history; detach() would cut it. Then write to the copy. Or look for a function that does "
    "both: index_copy, index_put, where.",
)


# %% exercise: replace_rows
def replace_rows(h: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    """h with some of its rows replaced: row rows[i] of the result is new[i].

    h (n, d), rows (k,) int64 with distinct numbers from 0 to n - 1 in any order, new (k, d) of h's dtype, float32 or
    float64. k may be 0. h and new may require grad or not, and may be leaves or results.
    The result is differentiable for both. A replaced row of h gets the gradient 0, also where it holds NaN or infinity.
    h and new keep their values, and a graph that has saved them stays usable. The result has memory of its own, also
    for k = 0: whoever writes to it changes neither h nor new.
    """
    ### BEGIN SOLUTION
    result = h.clone()
    result[rows] = new
    return result
    ### END SOLUTION


# %% check: replace_rows points=3
with check("two rows of four", weight=2, required=True):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    t_new = torch.tensor([[10.0, 20.0], [30.0, 40.0]])
    want = torch.tensor([[30.0, 40.0], [3.0, 4.0], [10.0, 20.0], [7.0, 8.0]])
    explain(
        replace_rows(t, torch.tensor([2, 0]), t_new),
        want,
        {
            "the new rows went in by the order of the matrix, not by the order of rows": torch.tensor(
                [[10.0, 20.0], [3.0, 4.0], [30.0, 40.0], [7.0, 8.0]]
            ),
            "the new rows were added to the old ones": torch.tensor(
                [[31.0, 42.0], [3.0, 4.0], [15.0, 26.0], [7.0, 8.0]]
            ),
        },
    )
with check("h is a leaf that requires grad", hint="May a leaf be written to?"):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    want = torch.tensor([[1.0, 2.0], [9.0, 9.0]])
    got = replace_rows(t, torch.tensor([1]), torch.tensor([[9.0, 9.0]]))
    assert_close(got.detach(), want)
### BEGIN HIDDEN TESTS
with check(
    "other sizes, views, and float64",
    weight=2,
    required=True,
    hint="Does your code use the order of rows, and work where h is not contiguous?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.arange(15, dtype=dtype).reshape(3, 5).T
        t_new = torch.tensor([[0.1, -1.0, 2.0], [0.3, 5.0, -6.0], [7.0, 0.7, 9.0]], dtype=dtype)
        for places in ([4, 1, 2], [0, 3, 1]):
            want = t.clone()
            for i, place in enumerate(places):
                want[place] = t_new[i]
            assert_close(replace_rows(t, torch.tensor(places), t_new), want, rtol=0, atol=0)
with check(
    "the gradients for h and for new",
    weight=4,
    required=True,
    hint="Is your write recorded? What does a replaced row of h still contribute?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.arange(12, dtype=dtype).reshape(4, 3).requires_grad_()
        t_new = torch.full((2, 3), 0.5, dtype=dtype, requires_grad=True)
        weight = torch.arange(1, 13, dtype=dtype).reshape(4, 3) / 4
        kept = torch.tensor([[1.0], [0.0], [1.0], [0.0]], dtype=dtype)
        want = (weight * kept, torch.stack([weight[3], weight[1]]))
        value = t.detach().clone()
        value[1] = value[3] = 0.5
        got = replace_rows(t, torch.tensor([3, 1]), t_new)
        assert_close(got.detach(), value)
        assert got.requires_grad, "your result does not require grad"
        got = torch.autograd.grad((got * weight).sum(), (t, t_new), allow_unused=True)
        explain(
            got,
            want,
            {
                "the write was not recorded: h gets the gradient of rows that are gone, and new gets none": (
                    weight,
                    None,
                ),
                "h was cut off": (None, want[1]),
                "new was cut off": (want[0], None),
            },
        )
with check(
    "NaN and infinity in a replaced row leave no trace",
    weight=2,
    hint="What is 0 * NaN? Does the old row take part in any arithmetic?",
):
    t = torch.tensor([[1.0, 2.0], [math.nan, math.inf], [3.0, -4.0]], requires_grad=True)
    want = torch.tensor([[1.0, 2.0], [0.5, 0.25], [3.0, -4.0]])
    got = replace_rows(t, torch.tensor([1]), torch.tensor([[0.5, 0.25]]))
    assert_close(got.detach(), want)
    (got,) = torch.autograd.grad((got * 3).sum(), t)
    assert_close(got, torch.tensor([[3.0, 3.0], [0.0, 0.0], [3.0, 3.0]]), name="the gradient of h")
with check(
    "h may be a result that a node has saved, and new alone may require grad",
    weight=2,
    hint="Who else may hold h's memory?",
):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    t_h = t.exp()  # exp keeps it
    want = t.detach().exp()
    want_grad = torch.stack([3 * want[0], 2 * want[1]])
    (got,) = torch.autograd.grad((replace_rows(t_h, torch.tensor([1]), torch.zeros(1, 2)) + 2 * t_h).sum(), t)
    assert_close(got, want_grad, name="the gradient")
    t_new = torch.tensor([[5.0, 6.0]], requires_grad=True)
    got = replace_rows(t.detach(), torch.tensor([0]), t_new)
    (got,) = torch.autograd.grad((4 * got).sum(), t_new)
    assert_close(got, torch.full((1, 2), 4.0), name="the gradient of new")
with check(
    "h and new keep their values, and no rows are fine",
    weight=2,
    guard=True,
    hint="Does your function work on h itself, or on a copy?",
):
    t, t_new = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0]])
    replace_rows(t, torch.tensor([0]), t_new)
    assert_close(t, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), rtol=0, atol=0, name="h")
    assert_close(t_new, torch.tensor([[5.0, 6.0]]), rtol=0, atol=0, name="new")
    got = replace_rows(t, torch.empty(0, dtype=torch.int64), torch.empty(0, 2))
    assert_close(got, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    got += 1
    assert_close(t, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), rtol=0, atol=0, name="h, after a write to your result")
    t_new = torch.tensor([[5.0, 6.0], [7.0, 8.0]])  # all rows are replaced
    for places in ([0, 1], [1, 0]):
        got = replace_rows(t, torch.tensor(places), t_new)
        assert_close(got, torch.tensor([[5.0, 6.0], [7.0, 8.0]])[places])
        got += 1
        assert_close(t_new, torch.tensor([[5.0, 6.0], [7.0, 8.0]]), rtol=0, atol=0, name="new, after such a write")
### END HIDDEN TESTS

# %% [markdown]
# One copy, then one write to it: nobody else knows that memory, so no rule can be broken. `h.index_copy(0, rows, new)`
# is the same in one call. Methods without an underscore, such as `index_copy`, `index_put`, `masked_fill` and
# `scatter`, are exactly this: a clone and a write.

# %% [markdown]
# ## The legitimate user: an optimizer
#
# An optimizer writes in place into every parameter, in every step. It does so with recording off, after `backward` has
# used all that was kept, and before the next forward pass. So no rule is broken.
#
# SGD with momentum keeps a second tensor for each parameter, its *momentum buffer*. With the gradient `g`:
#
# - `d = g + weight_decay * p`
# - `buffer = d` in the parameter's first step, and `buffer = momentum * buffer + d` later;
# - `p = p - lr * buffer`
#
# Written like that, it is clear and makes new tensors everywhere. In place there are new questions. The buffer starts
# as `d`. With `weight_decay = 0`, `d` is the gradient. May the buffer be `p.grad`? In the next cell the training loop
# clears gradients with `zero_()`. What is in the buffer afterwards?

# %% given
p = torch.tensor([1.0], requires_grad=True)
(3 * p).backward()
buffer = p.grad
p.grad.zero_()
print("buffer", buffer.tolist())

# %% [markdown]
# One more trap. `p.grad.add_(p, alpha=weight_decay)` would save a tensor. But `.grad` belongs to the caller, who may
# want to print its norm, or go on accumulating.
#
# ### Your turn
# Write the step.

# %% given
hint(
    "Which three tensors does the step touch, and which of them may it write to?",
    "For the first step, the buffer must be a tensor that nobody else has. The rest is two lines: mul_ and add_, with "
    "alpha.",
)


# %% exercise: sgd_step_
def sgd_step_(params: list[Tensor], buffers: list, lr: float, momentum: float, weight_decay: float) -> None:
    """One step of SGD with momentum, by the formulas above, in place.

    params: leaves that require grad, float32 or float64, each updated in its own memory. One whose .grad is None is
    skipped, and so is its buffer. The list may be empty.
    buffers: a list as long as params; None before a parameter's first step. Then the step puts the momentum buffer
    there, also for momentum 0: a tensor of its own, of the parameter's dtype and without history. Later steps write
    into that tensor.
    Each .grad keeps its values. The mode of recording is afterwards as it was before.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p  # a new tensor, also with weight_decay = 0
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p.sub_(buffers[i], alpha=lr)
    ### END SOLUTION


# %% check: sgd_step_ points=4
with check("two steps from one gradient each", weight=4, required=True):
    t, t_buffers = [torch.tensor([1.0, -2.0], requires_grad=True)], [None]
    t[0].grad = torch.tensor([10.0, 20.0])
    sgd_step_(t, t_buffers, 0.1, 0.5, 0.0)
    assert_close(t[0].detach(), torch.tensor([0.0, -4.0]), name="the parameter after the first step")
    t[0].grad = torch.tensor([1.0, 1.0])
    sgd_step_(t, t_buffers, 0.1, 0.5, 0.0)
    explain(
        t[0].detach(),
        torch.tensor([-0.6, -5.1]),
        {
            "the old buffer was forgotten": torch.tensor([-0.1, -4.1]),
            "the gradient was weighted by 1 - momentum: torch's formula does not": torch.tensor([-0.55, -5.05]),
        },
        name="the parameter after the second step",
    )
### BEGIN HIDDEN TESTS
with check(
    "five steps equal torch.optim.SGD, with and without momentum and weight decay",
    weight=5,
    required=True,
    hint="What is the buffer after the first step? What does weight decay add, and to what?",
):
    for dtype, lr, momentum, decay in (
        (torch.float64, 0.1, 0.9, 0.0),
        (torch.float64, 0.03, 0.5, 0.2),
        (torch.float32, 0.2, 0.0, 0.1),
    ):
        first = torch.tensor([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0]], dtype=dtype)
        second = torch.tensor(0.7, dtype=dtype)
        theirs = [first.clone().requires_grad_(), second.clone().requires_grad_()]
        optimizer = torch.optim.SGD(theirs, lr=lr, momentum=momentum, weight_decay=decay)
        for k in range(5):
            optimizer.zero_grad()
            ((theirs[0] * theirs[1] - k).square().sum() / 7).backward()
            optimizer.step()
        t, t_buffers = [first.clone().requires_grad_(), second.clone().requires_grad_()], [None, None]
        for k in range(5):
            for p in t:
                p.grad = None
            ((t[0] * t[1] - k).square().sum() / 7).backward()
            sgd_step_(t, t_buffers, lr, momentum, decay)
        assert_close([p.detach() for p in t], [p.detach() for p in theirs], name="params")
with check(
    "gradients that are cleared by zero_() do not clear the buffers",
    weight=2,
    hint="Is the buffer a tensor of its own, or another name for p.grad?",
):
    t, t_buffers = [torch.tensor([1.0, 2.0], requires_grad=True)], [None]
    t[0].grad = torch.tensor([1.0, -3.0])
    for _ in range(3):
        sgd_step_(t, t_buffers, 0.5, 0.5, 0.0)
        t[0].grad.zero_()
    assert_close(t[0].detach(), torch.tensor([0.125, 4.625]), name="the parameter after three steps")
    assert_close(t_buffers, [torch.tensor([0.25, -0.75])], name="buffers")
with check(
    "each .grad keeps its values",
    weight=2,
    hint="Which tensor does your line for the weight decay write to?",
):
    t, t_buffers = [torch.tensor([1.0, 2.0], requires_grad=True)], [None]
    for _ in range(2):
        t[0].grad = torch.tensor([1.0, -3.0])
        sgd_step_(t, t_buffers, 0.5, 0.9, 0.1)
        assert_close(t[0].grad, torch.tensor([1.0, -3.0]), rtol=0, atol=0, name=".grad")
with check(
    "a parameter without a gradient is skipped",
    weight=2,
    hint="What does None in .grad mean for the parameter, and for its buffer?",
):
    t = [torch.tensor([1.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)]
    t_buffers = [None, None]
    t[0].grad = torch.tensor([2.0])
    sgd_step_(t, t_buffers, 0.1, 0.5, 0.1)
    assert_close([p.detach() for p in t], [torch.tensor([0.79]), torch.tensor([5.0])], name="params")
    assert t_buffers[1] is None, "the buffer of a parameter without a gradient is not None"
    t[0].grad, t[1].grad = None, torch.tensor([1.0])
    sgd_step_(t, t_buffers, 0.1, 0.5, 0.0)
    assert_close([p.detach() for p in t], [torch.tensor([0.79]), torch.tensor([4.9])], name="params")
    assert_close(t_buffers, [torch.tensor([2.1]), torch.tensor([1.0])], name="buffers")
with check(
    "parameters and buffers are changed in their own memory, and have no history",
    weight=3,
    hint="Which of your lines only give a new tensor to an old name? Is a line outside no_grad?",
):
    t = [torch.tensor([1.0, 2.0], requires_grad=True)]
    t_states: list = [None]
    held = t[0].detach()
    t[0].grad = torch.tensor([1.0, -3.0])
    sgd_step_(t, t_states, 0.5, 0.5, 0.0)
    buffer_held = t_states[0]
    sgd_step_(t, t_states, 0.5, 0.5, 0.0)
    assert_close(held, torch.tensor([-0.25, 5.75]), name="the parameter's memory")
    assert_close(buffer_held, torch.tensor([1.5, -4.5]), name="the memory of the first buffer")
    assert t[0].is_leaf and t[0].requires_grad, "the parameter is no leaf that requires grad"
    assert not t_states[0].requires_grad, "the buffer requires grad"
    t, t_states = [torch.tensor([1.0, 2.0], requires_grad=True)], [None]
    t[0].grad = torch.tensor([1.0, -3.0], requires_grad=True) * 2  # as backward(create_graph=True) leaves it
    sgd_step_(t, t_states, 0.5, 0.5, 0.0)
    assert_close(t[0].detach(), torch.tensor([0.0, 5.0]), name="the parameter")
    assert not t_states[0].requires_grad, "the buffer requires grad, as the gradient does"
with check(
    "there is a buffer for momentum 0 too, and it has the parameter's dtype",
    hint="What do the three formulas say for momentum 0? Which dtype does each call give that makes a tensor?",
):
    for dtype in (torch.float32, torch.float64):
        t, t_states = [torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)], [None]
        for first in (3.0, -5.0):
            t[0].grad = torch.tensor([first, 1.0], dtype=dtype)
            sgd_step_(t, t_states, 0.5, 0.0, 0.0)
            assert_close(t_states, [torch.tensor([first, 1.0], dtype=dtype)], name="buffers")
with check("recording is on or off as before, and no parameters are fine", guard=True):
    for mode in (True, False):
        t = [torch.tensor([1.0], requires_grad=True)]
        t[0].grad = torch.tensor([1.0])
        with torch.set_grad_enabled(mode):
            sgd_step_(t, [None], 0.1, 0.9, 0.0)
            assert torch.is_grad_enabled() is mode, "recording was switched"
    sgd_step_([], [], 0.1, 0.9, 0.0)
### END HIDDEN TESTS

# %% [markdown]
# When would a step like yours be caught? If it comes between a forward pass and its backward pass. A product `x * w`
# keeps `w`, the step counts as a write to `w`, and `backward` raises an error. Somebody who computes two losses, calls
# `backward` for the first, makes a step, and calls `backward` for the second, sees exactly this. Had you used `.data`,
# nobody would see anything.

# %% [markdown]
# ## Write, evaluate, undo
#
# Some methods ask for the loss at a place nearby: finite differences, evolution strategies, sharpness-aware training.
# The loss reads the model's own parameters. So one writes a shift into them, evaluates, and takes it back. Is the
# subtraction the undo of the addition? Predict what the next cell prints for each of the three numbers.

# %% given
w = torch.tensor([0.1, 1e-8, 3.0])
shift = torch.tensor([0.2, 1.0, float("inf")])
w += shift
w -= shift
print(w.tolist())

# %% [markdown]
# Not one of them is back, although the first comes close. Each addition rounds, and what was rounded away does not come
# back. After a million such steps the parameters have walked somewhere else. An undo needs a copy of what was there.
#
# ### Your turn
# Evaluate a loss at a shifted place. Three things can go wrong on the way: rounding, an exception in the loss, and a
# loss that needs autograd itself, for instance because it contains the size of a gradient.


# %% given
# To try your solution on. The checks use it too.
@probes.probe
def shifted_evaluation(loss_at, f, w, shift):
    """Calls loss_at with the loss f(w, another name for w's memory), and tells what came and how w is afterwards."""
    memory = w.detach().view(-1)
    returned = raised = None
    try:
        returned = loss_at(lambda: f(w, memory), w, shift)
    except ValueError as error:  # f may raise one
        raised = type(error).__name__
    return {"returned": returned, "raised": raised, "after": memory.clone(), "requires_grad": w.requires_grad}


@probes.probe
def left_by_interrupt(loss_at, w, shift):
    """w after somebody stopped the kernel while the loss was computed."""

    def stopped():
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        loss_at(stopped, w, shift)
    return w.detach()


@probes.probe
def loss_of_one(loss_at, w, shift, place):
    """What loss_at returns for a loss that is one number of w: a view of w's memory."""
    return loss_at(lambda: w.view(-1)[place], w, shift)


# %% given
hint(
    "Which name for w's numbers does not change with w? And which Python statement runs whether or not there was an "
    "exception?",
    "try and finally. Put only the two writes under no_grad, and leave the loss outside.",
)


# %% exercise: loss_at
def loss_at(loss, w: Tensor, shift: Tensor) -> float:
    """The value of loss() while the memory of w holds w + shift. Afterwards w is as before, to the last bit.

    loss: a function without arguments that looks at w, perhaps by another name for its memory. It returns a tensor with
    one element, which may be a view of w. It is called once, with recording on or off as it is for the caller. What it
    raises is passed on.
    w: a leaf, float32 or float64, that may require grad or not. shift: of w's shape and dtype; it may be infinite.
    w's requires_grad and .grad, and shift, stay as they are.
    """
    ### BEGIN SOLUTION
    kept = w.detach().clone()
    with torch.no_grad():
        w.add_(shift)
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w.copy_(kept)
    ### END SOLUTION


# %% check: loss_at points=3
with check("the loss at the shifted place, and w as before", weight=3, required=True):
    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    during = []

    def squares(w, memory):
        during.append(w.detach().clone())
        return w.square().sum()

    got = shifted_evaluation(loss_at, squares, t, t_shift)
    explain(got["returned"], 3.25, {"this is the loss at w, without the shift": 5.0})
    assert_close(during, [torch.tensor([1.5, -1.0])], name="w during each evaluation")
    assert_close(got["after"], torch.tensor([1.0, -2.0]), name="w afterwards")
### BEGIN HIDDEN TESTS


def noting(f, seen):
    """A loss that notes w's numbers and whether recording is on."""

    def loss(w, memory):
        seen.append([w.detach().clone(), torch.is_grad_enabled()])
        return f(w, memory)

    return loss


def bends(w, memory):
    return (w.sin() + w.square()).sum()


with check(
    "other shapes and dtypes, with and without requires_grad",
    weight=3,
    required=True,
    hint="Does the loss see the shifted numbers, and is your result a Python number? How often is it called?",
):
    for dtype, digits in ((torch.float32, 2e-5), (torch.float64, 1e-12)):
        for needs in (True, False):
            numbers = torch.randn(12, dtype=dtype, generator=torch.Generator().manual_seed(4))
            before, moved = numbers[:6].clone(), (numbers[:6] + numbers[6:]).reshape(2, 3)
            t, t_shift = numbers[:6].reshape(2, 3).clone().requires_grad_(needs), numbers[6:].reshape(2, 3)
            want, noted = float(bends(moved, None)), []
            got = shifted_evaluation(loss_at, noting(bends, noted), t, t_shift)
            assert_close(got["returned"], want, rtol=digits, atol=0)
            assert_close(noted, [[moved, True]], name="w during each evaluation, and recording")
            assert_close(got["after"], before, rtol=1e-5, atol=1e-5, name="w afterwards")
            assert got["requires_grad"] is needs, "w's requires_grad is another one"
with check(
    "w is as before, to the last bit",
    weight=3,
    hint="Which numbers come back exactly if a shift is added and subtracted?",
):
    for t_shift in (torch.tensor([0.2, 1.0, math.inf, 1e9]), torch.tensor([1e-9, 0.3, -0.1, 0.7])):
        t = torch.tensor([0.1, 1e-8, 3.0, -7.7], requires_grad=True)
        before = t.detach().clone()
        got = shifted_evaluation(loss_at, lambda w, memory: w.square().sum(), t, t_shift)
        assert_close(got["after"], before, rtol=0, atol=0, name="w afterwards")
        assert_close(t.detach(), before, rtol=0, atol=0, name="w afterwards")
with check(
    "after an exception too, and the exception is passed on",
    weight=3,
    hint="Which of your lines are not reached if loss() raises?",
):

    def fails(w, memory):
        raise ValueError("no loss here")

    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = shifted_evaluation(loss_at, fails, t, t_shift)
    assert_close(got["after"], torch.tensor([1.0, -2.0]), rtol=0, atol=0, name="w afterwards")
    assert got["raised"] == "ValueError", "loss() raised a ValueError, and your function did not"
    t, t_shift = torch.tensor([0.1, -7.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = left_by_interrupt(loss_at, t, t_shift)
    assert_close(got, torch.tensor([0.1, -7.0]), rtol=0, atol=0, name="w after a KeyboardInterrupt")
with check(
    "a loss that uses autograd itself",
    weight=2,
    hint="Which of your lines need no_grad, and which must not be under it?",
):

    def slopes(w, memory):
        (g,) = torch.autograd.grad(w.pow(3).sum(), w)
        return g.square().sum()

    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = shifted_evaluation(loss_at, slopes, t, t_shift)
    assert_close(got["returned"], 9.0 * (1.5**4 + 1.0))
    noted = []
    with torch.no_grad():
        got = shifted_evaluation(loss_at, noting(bends, noted), t, t_shift)
        assert not torch.is_grad_enabled(), "recording was switched on"
    want = [[torch.tensor([1.5, -1.0]), False]]
    assert_close(noted, want, name="w during each evaluation, and recording")
with check(
    "a loss that knows w's memory by another name, or is a view of it",
    weight=2,
    hint="Is the shifted w written into the memory of w? And when is the number read out of the loss?",
):
    t, t_shift = torch.tensor([[1.0, -2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [-1.0, 2.0]])
    got = shifted_evaluation(loss_at, lambda w, memory: (memory * torch.arange(1, 5)).sum(), t, t_shift)
    assert_close(got["returned"], 1.5 - 2.0 + 6.0 + 24.0)
    for place, want in ((0, 1.5), (3, 6.0)):
        t, t_shift = torch.tensor([[1.0, -2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [-1.0, 2.0]])
        assert_close(loss_of_one(loss_at, t.requires_grad_(place == 0), t_shift, place), want)
with check("w's .grad and the shift stay as they are", guard=True, hint="Which tensors do your writes go to?"):
    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.1, 1e-9])
    t.grad = torch.tensor([7.0, 8.0])
    loss_of_one(loss_at, t, t_shift, 0)
    assert_close(t.grad, torch.tensor([7.0, 8.0]), rtol=0, atol=0, name="w.grad")
    assert_close(t_shift, torch.tensor([0.1, 1e-9]), rtol=0, atol=0, name="shift")
    assert t.requires_grad, "w does not require grad any more"
### END HIDDEN TESTS

# %% [markdown]
# The numbers are back. Is everything back? The version counter is not: it counts two more writes. A graph that was
# recorded before, and that keeps `w`, will refuse its backward pass, although `w` holds the right numbers again. The
# counter counts writes, and no write can be undone for it.
#
# What can you do about it? Writes through `w.data` are not counted. Here they would be safe: the right numbers are back
# before anybody goes backward. The other way is to evaluate first, and to record after it. Then no graph minds the
# count.

# %% [markdown]
# ## A running average in a forward pass
#
# A *buffer* is a tensor that a model keeps and that is not trained. BatchNorm keeps running averages of its inputs.
# They are updated in the forward pass, in place. Now both worlds meet: the input is recorded, the buffer is not, and
# the buffer may be needed in `backward`.
#
# The next cell keeps an average the naive way, three times. Predict: what happens to `grad_fn`, and what does that mean
# for the memory?

# %% given
average = torch.ones(2)
for _ in range(3):
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    average.mul_(0.9).add_(0.1 * x.abs().mean(0))
    count, node = 0, average.grad_fn
    while node is not None:
        count, node = count + 1, node.next_functions[0][0]
    print("average", [round(v, 2) for v in average.tolist()], " requires_grad", average.requires_grad, " nodes", count)

# %% [markdown]
# The buffer became a result. Its history grows by two nodes with every batch: the product and the sum. The graph of
# every batch stays in memory. So the update belongs under `no_grad`.
#
# That is half of the answer. Suppose that the layer divides its input by the average. Is the average among the tensors
# that the division keeps? And then the layer is called a second time, before `backward`, as in a network that sees two
# views of each picture.


# %% given
# To try your solution on. The checks use it too.
@probes.probe
def called_twice(scale, first, second, average, rate, upstream):
    """Two calls of scale with one buffer, then one backward pass through both."""
    outputs = [scale(first, average, rate), scale(second, average, rate)]
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
    called_twice(scale_too_simple, first, second, torch.ones(2), 0.5, [1.0, 1.0])
except RuntimeError as error:
    print("RuntimeError:", str(error).split("; ")[0])

# %% [markdown]
# The division keeps `average`, and the second call writes to it. With `average.data.lerp_` there would be no error, and
# the first gradient would be computed with the second average.
#
# ### Your turn
# Write the layer so that any number of calls may come before `backward`.

# %% given
hint(
    "Two tensors are needed: the buffer that is written to, and the one that the division keeps. When is a second one "
    "made?",
    "The average counts as a constant in the gradient. What must not be on the way from x to the divisor?",
)


# %% exercise: scale_by_average
def scale_by_average(x: Tensor, average: Tensor, rate: float) -> Tensor:
    """Move average towards the mean of abs(x) over its rows, then return x / average.

    x (n, d) with n at least 1; average (d,), positive, of x's dtype, float32 or float64, without requires_grad.
    average becomes (1 - rate) * average + rate * x.abs().mean(0), in its own memory and without history; rate lies
    between 0 and 1.
    The result (n, d) is x divided by the new average, which counts as a constant in the gradient. It may be called
    several times with the same average before backward, and each result has its right gradient.
    x stays as it is, and may require grad or not.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average.clone()  # the division keeps the clone, which nobody writes to
    ### END SOLUTION


# %% check: scale_by_average points=4
with check("one call: the average moves, and the result is divided by it", weight=3, required=True):
    t, t_average = torch.tensor([[1.0, -2.0], [3.0, 6.0]]), torch.tensor([1.0, 2.0])
    want = t / torch.tensor([1.5, 3.0])
    got = scale_by_average(t, t_average, 0.5)
    assert_close(t_average, torch.tensor([1.5, 3.0]), name="average")
    explain(got, want, {"this is x divided by the average from before": t / torch.tensor([1.0, 2.0])})
### BEGIN HIDDEN TESTS
with check(
    "other rates and sizes, and float64",
    weight=3,
    required=True,
    hint="Is the average moved in its own memory, by the formula, and used after that?",
):
    for dtype in (torch.float32, torch.float64):
        for rate, n in ((0.25, 5), (1.0, 1), (0.0, 2)):
            t = torch.randn(n, 3, dtype=dtype, generator=torch.Generator().manual_seed(3)) * 4
            t_average = torch.tensor([0.5, 1.0, 3.0], dtype=dtype)
            moved = (1 - rate) * t_average + rate * t.abs().mean(0)
            want = t / moved
            got = scale_by_average(t, t_average, rate)
            assert_close(got, want)
            assert_close(t_average, moved, name="average")
with check("in float64, all of its digits", hint="Which of your tensors has another dtype than x?"):
    t = torch.tensor([[1.0, -2.0], [3.0, 6.0]], dtype=torch.float64) / 7
    t_average = torch.tensor([1.0, 2.0], dtype=torch.float64) / 3
    moved = 0.7 * t_average + 0.3 * t.abs().mean(0)
    want = t / moved
    got = scale_by_average(t, t_average, 0.3)
    assert_close(got, want, rtol=1e-12, atol=0)
    assert_close(t_average, moved, rtol=1e-12, atol=0, name="average")
with check(
    "two calls before backward give both gradients",
    weight=5,
    required=True,
    hint="What does the division keep, and who writes to it in the second call? Is that write counted?",
):
    t_first = torch.tensor([[1.0, -2.0, 0.5], [3.0, 6.0, -1.5]], dtype=torch.float64, requires_grad=True)
    t_second = torch.tensor([[-8.0, 1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    t_average = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    upstream = [
        torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.1, -1.0]], dtype=torch.float64),
        torch.tensor([[-3.0, 0.5, 2.0]], dtype=torch.float64),
    ]
    for rate in (0.3, 0.8):
        one = (1 - rate) * t_average + rate * t_first.detach().abs().mean(0)
        two = (1 - rate) * one + rate * t_second.detach().abs().mean(0)
        want = [t_first.detach() / one, t_second.detach() / two]
        want_grads, mixed = [upstream[0] / one, upstream[1] / two], [upstream[0] / two, upstream[1] / two]
        got = called_twice(scale_by_average, t_first, t_second, t_average.clone(), rate, upstream)
        assert_close(got["outputs"], want, name="the results")
        assert_close(got["average"], two, name="average")
        explain(
            got["gradients"],
            want_grads,
            {"the first gradient was computed with the average of the second call": mixed},
            name="the gradients",
        )
with check(
    "the average is a constant in the gradient, and has no history",
    weight=3,
    hint="Does a path lead from x through the mean to the result, or into the buffer?",
):
    t = torch.tensor([[1.0, -2.0], [3.0, 6.0]], requires_grad=True)
    t_average = torch.tensor([1.0, 2.0])
    got = scale_by_average(t, t_average, 0.5)
    assert got.requires_grad, "your result does not require grad"
    assert not t_average.requires_grad, "the average requires grad now"
    (got,) = torch.autograd.grad((got * torch.tensor([[1.0], [-2.0]])).sum(), t)
    assert_close(got, torch.tensor([[1.0], [-2.0]]) / torch.tensor([1.5, 3.0]), name="the gradient")
with check(
    "another name for the average's memory sees the new average",
    weight=2,
    hint="Which of your lines gives average other memory, and does not write into its own?",
):
    t, t_average = torch.tensor([[1.0, -2.0], [3.0, 6.0]]), torch.tensor([1.0, 2.0])
    held = t_average[:]
    scale_by_average(t, t_average, 0.5)
    assert_close(held, torch.tensor([1.5, 3.0]), name="the average's memory")
with check(
    "x keeps its values, and recording is as before",
    guard=True,
    hint="Which line writes to x, or switches recording?",
):
    t = torch.tensor([[1.0, -2.0]])
    got = scale_by_average(t, torch.tensor([1.0, 2.0]), 0.5)
    assert_close(t, torch.tensor([[1.0, -2.0]]), rtol=0, atol=0, name="x")
    assert not got.requires_grad, "x requires no grad, and your result does"
    assert torch.is_grad_enabled(), "recording was switched off"
    with torch.no_grad():
        scale_by_average(t, torch.tensor([1.0, 2.0]), 0.5)
        assert not torch.is_grad_enabled(), "recording was switched on"
### END HIDDEN TESTS

# %% [markdown]
# One clone of `d` numbers, against an error that appears only when somebody calls the layer twice. Does BatchNorm need
# such a clone? In training it normalises by the statistics of the batch, and only writes to the running ones. Nobody
# keeps those. In evaluation it uses the running ones, and writes nothing. It never does both.

# %% [markdown]
# ## Finding the line
#
# The error comes in `backward`, and names an operation: "output 0 of Exp". In a model with forty `exp`, which one?
# *Anomaly mode* notes for each node where in your code it was made. It costs time in each operation, so use it for the
# search only. The next cell catches the error, and prints what anomaly mode has noted. Which of these lines will it
# name: the first `exp`, the second one, or the write?

# %% given
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
# The warning holds the traceback of the forward call that made the failing node: the second `exp`. It names the line
# that made the node, not the line that wrote. But now you know which tensor to look for.
#
# Anomaly mode also raises an error where a node returns NaN. And it does nothing for a silent case, where no node knows
# that anything is wrong. For that you need an independent opinion of the gradient.
#
# ### Your turn
# Write the judge: a function that says, for any code, which of the four words of `will_it_fail` is true. The code under
# test is called several times. What may it do to its input meanwhile?


# %% given
# More code to judge. The checks use these, and the cases a to l.
def fickle(x):
    """Overwrites what exp keeps, for some inputs only."""
    y = x.exp()
    if x.sum() > 0:
        y.data += 1
    return y


def touchy(x):
    """Changes the caller's tensor after it was used."""
    y = x.square()
    x.data += 1
    return y


def harmless(x):
    """Overwrites something that nobody needs any more, without being counted."""
    y = (x * 3).exp()
    h = x * 3
    h.data.zero_()
    return y


def late(x):
    """A matrix of which one element has a wrong slope."""
    y = x.exp().reshape(-1, 1) * torch.ones(1, 2, dtype=x.dtype)
    z = y.square()
    y.data[-1, -1] += 0.05
    return z


def careful(x):
    """Changes the caller's tensor, and keeps a copy for its node."""
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
    "Go in the order of the four words: call f, go backward, compare the gradient with an independent slope.",
    "f may write to what it gets. So each call needs a copy of its own: the recorded call, and both steps of each "
    "finite difference. In float64 a sum of 10,000 is right to about 1e-12. Divided by two steps of 1e-6, that is "
    "about 1e-6 in the slope: small beside 0.001.",
)


# %% exercise: outcome
def outcome(f, x: Tensor) -> str:
    """What becomes of f(x).sum().backward(): "now", "backward", "silent" or "ok".

    f: a function of one tensor that may write to what it gets or makes. It returns a tensor of any shape, which leads
    back to x. torch.func may not get through it. x (n,), float64, with or without requires_grad; n may be 0.
    "now": f raises a RuntimeError. "backward": the backward pass does. "silent": neither, and at least one element of
    x's gradient differs from the slope of f(x).sum() by more than 0.001. "ok": none does. The slopes and f(x).sum()
    lie between -10,000 and 10,000, and the 0.001 is the same for all of them. NaN differs from every slope.
    Other exceptions of f are passed on. x and its .grad stay as they are.
    """
    ### BEGIN SOLUTION
    start = x.detach()
    leaf = start.clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for i in range(len(x)):
        step = torch.zeros_like(start)
        step[i] = 1e-6
        slope = (f(start + step).sum() - f(start - step).sum()) / 2e-6  # new tensors: f may write to them
        if not abs(slope - got[i]) <= 1e-3:
            return "silent"
    return "ok"
    ### END SOLUTION


# %% check: outcome points=4
with check("an error now, an error at backward, and no error", weight=3, required=True):
    t = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert_close([outcome(f, t) for f in (case_a, case_e, case_d)], ["now", "backward", "ok"])
with check("a silent case", weight=2, required=True):
    t = torch.tensor([0.5, 1.0], dtype=torch.float64)
    explain(outcome(case_h, t), "silent", {"no error is no proof: compare the gradient with a slope": "ok"})


### BEGIN HIDDEN TESTS
def refused(x):
    x *= 2
    return x.sin()


def counted(x):
    y = (0.3 * x).sigmoid()
    y *= 2
    return y


def uncounted(x):
    y = (0.3 * x).tanh()
    y.data *= 0.9
    return y.square()


def free(x):
    h = 1.7 * x
    y = h.tanh()
    h.data += 1
    return y


def moves_its_input(x):
    y = x.sin()
    x.data += 0.2
    return y


def recorded(x):
    y = x.sin()
    y[-1:] *= x[:1]
    return y


def refuses_backward(x):
    y = x.sin()
    y.register_hook(refuse)
    return y * 1


def refuse(grad):
    raise RuntimeError("not this way")


def half_root(x):
    return torch.where(x > 0, x.sqrt(), x)  # where x < 0, its gradient is 0 times NaN


def slanted(x):
    """Slopes of thousands, each with an error of hundredths."""
    h = x * 1
    y = 5000 * h.sin()
    h.data += 1e-5
    return y


with check(
    "code that is not in this notebook",
    weight=4,
    required=True,
    hint="Does your verdict come from what f does with this x, and from nothing else?",
):
    for t, cases, want in (
        ([0.6, -0.4], [free, counted, recorded, uncounted], ["ok", "backward", "ok", "silent"]),
        ([0.9], [moves_its_input, refused, free, recorded], ["silent", "now", "ok", "ok"]),
        ([0.6, 0.3], [refuses_backward, half_root], ["backward", "ok"]),
        ([0.6, -0.3], [half_root, refuses_backward], ["silent", "backward"]),
    ):
        t = torch.tensor(t, dtype=torch.float64)
        assert_close([outcome(f, t) for f in cases], want)
with check(
    "all twelve cases, at other numbers",
    weight=4,
    required=True,
    hint="Which cases does your function confuse? Try it on case_a to case_l, and compare with your answers.",
):
    t = torch.tensor([-0.3, 0.4, 1.1], dtype=torch.float64)
    cases = [case_a, case_b, case_c, case_d, case_e, case_f, case_g, case_h, case_i, case_j, case_k]
    want = ["now", "backward", "ok", "ok", "backward", "ok", "backward", "silent", "backward", "silent", "backward"]
    assert_close([outcome(f, t) for f in cases], want)
    assert_close(outcome(case_l, torch.tensor([1.5, -0.5], dtype=torch.float64)), "now")
with check(
    "code that writes for some inputs only",
    weight=3,
    required=True,
    hint="Is your verdict about this x, or about f's name?",
):
    assert_close(outcome(fickle, torch.tensor([0.5, 0.4], dtype=torch.float64)), "silent")
    assert_close(outcome(fickle, torch.tensor([-0.5, 0.4], dtype=torch.float64)), "ok")
with check(
    "code that writes to its input between the calls",
    weight=3,
    hint="Which tensor does f get the second time? What did the first call do to it?",
):
    explain(
        outcome(touchy, torch.tensor([0.5, 2.0], dtype=torch.float64)),
        "silent",
        {"the calls share a tensor that f writes to": "ok"},
    )
    assert_close(outcome(harmless, torch.tensor([0.5, 0.7], dtype=torch.float64)), "ok")
    assert_close(outcome(careful, torch.tensor([0.5, 0.7], dtype=torch.float64)), "ok")
with check(
    "one element with a slightly wrong slope is silent",
    weight=2,
    hint="Do you look at every element, and at the size of the difference?",
):
    assert_close(outcome(late, torch.tensor([0.5, -1.0, 0.1], dtype=torch.float64)), "silent")
    assert_close(outcome(late, torch.tensor([0.1, 0.5, -30.0], dtype=torch.float64)), "ok")  # 0.05 * exp(-30)
with check(
    "errors that cancel in the sum, and small errors of large slopes, are silent",
    weight=2,
    hint="Is each element compared for itself? Does your tolerance grow with the slope?",
):
    assert_close(outcome(swapped, torch.tensor([0.5, -1.0, 0.1], dtype=torch.float64)), "silent")
    assert_close(outcome(swapped, torch.tensor([0.5, -1.0, 0.5], dtype=torch.float64)), "ok")
    assert_close(outcome(steep, torch.tensor([2.0, 3.0], dtype=torch.float64)), "silent")
    assert_close(outcome(slanted, torch.tensor([0.5], dtype=torch.float64)), "silent")
with check(
    "an x that requires grad, or is a result, gets the same verdicts",
    weight=2,
    hint="Is the tensor of your recorded call a leaf, whatever x is?",
):
    t = torch.tensor([0.5, -0.7, 0.2], dtype=torch.float64, requires_grad=True)
    for made in (t, t * 2):
        cases = [case_a, case_b, case_c, case_j]
        assert_close([outcome(f, made) for f in cases], ["now", "backward", "ok", "silent"])
with check(
    "other exceptions are passed on",
    hint="Which exceptions do you catch?",
):
    assert_close(outcome(picky, torch.tensor([0.5, -1.0], dtype=torch.float64)), "ok")
    raised = False
    try:
        outcome(picky, torch.ones(4, dtype=torch.float64))
    except ValueError:
        raised = True
    assert raised, "a ValueError of f was not passed on"
with check(
    "x and its .grad stay as they are, and an empty x is fine",
    guard=True,
    hint="Whose tensor does f write to? And does your comparison work where there is no element?",
):
    for code in (touchy, case_d):
        t = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        t.grad = torch.tensor([7.0, 8.0], dtype=torch.float64)
        outcome(code, t)
        assert_close(t.detach(), torch.tensor([0.5, 2.0], dtype=torch.float64), rtol=0, atol=0, name="x")
        assert_close(t.grad, torch.tensor([7.0, 8.0], dtype=torch.float64), name="x.grad")
        assert t.requires_grad, "x does not require grad any more"
    t = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert_close(outcome(case_d, t), "ok")
    assert not t.requires_grad, "x requires grad now"
    assert_close(outcome(case_d, torch.empty(0, dtype=torch.float64)), "ok")
### END HIDDEN TESTS

# %% [markdown]
# `torch.autograd.gradcheck` is PyTorch's own judge of this kind. It compares the whole Jacobian, and it hands your own
# tensor to every call: after `gradcheck(touchy, x)`, `x` has other values. When would you run such a judge: on every
# test run, or once, when you write code with `.data`, NumPy or an autograd function of your own?

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. You may try things out in the scratch cell below. A question counts only if all of its letters are right, and
# one right question alone pays nothing.
#
# **q1. Which statements write in place?** `x` is a float32 tensor without requires_grad.
# - a. `x += 1`
# - b. `x = x + 1`
# - c. `x[2:] = 0`
# - d. `torch.exp(x, out=x)`
# - e. `x.clamp(max=1)`
#
# **q2. A leaf that requires grad, and recording is on**
# - a. `w += 1` raises an error.
# - b. After the error, `w` cannot be used any more.
# - c. The error comes because every operation needs the old values of `w`.
# - d. Under `torch.no_grad()` the same line works, and `w` stays a leaf.
# - e. `w[0] = 1` is allowed, because it writes to a part only.
#
# **q3. The version counter**
# - a. A write of the same values does not count.
# - b. A node that keeps a tensor also notes its version.
# - c. `t.detach()` shares the counter with `t`.
# - d. `t.data` shares the counter with `t`.
# - e. A write through a NumPy array does not count.
#
# **q4. What is kept for `backward`** of `y`, where `h` is no leaf and requires grad
# - a. `y = h.exp()` keeps `y`.
# - b. `y = h.log()` keeps `h`.
# - c. `y = h + 1` keeps `h`.
# - d. After `y = h.sigmoid()`, `h.zero_()` makes `backward` fail.
# - e. After `y = h * 2`, `y.zero_()` makes `backward` fail.
#
# **q5. `nn.ReLU(inplace=True)`**
# - a. After a `Linear` layer it gives the right gradients.
# - b. Directly after a `Sigmoid`, `backward` raises an error.
# - c. In training it halves the memory that is kept for `backward`.
# - d. In `h + relu(h)` with such a `relu`, the first term is the rectified `h` too.
# - e. It can never be used in training.
#
# **q6. Recorded writes**
# - a. A write in place destroys the history of a tensor.
# - b. After `h[0] = new`, the old row 0 gets the gradient 0.
# - c. After `h[0] = new`, a gradient reaches `new`.
# - d. A write to a view changes the history of its base too.
# - e. Optimizers avoid writes in place, because autograd forbids them.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "acd", "q2": "ad", "q3": "bce", "q4": "ab", "q5": "abd", "q6": "bcd"}
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
    assert_some_right(interview(), {"q1": "acd", "q2": "ad", "q3": "bce", "q4": "ab", "q5": "abd", "q6": "bcd"})
with check("q1: what writes in place", weight=4, hint="Which statements did the second name see in the first cell?"):
    assert_letters(interview(), "q1", "acd")
with check("q2: leaves", weight=4, hint="What was a after the error? What does an addition keep?"):
    assert_letters(interview(), "q2", "ad")
with check("q3: the version counter", weight=4, hint="Which of the five writes to x gave 6 instead of an error?"):
    assert_letters(interview(), "q3", "bce")
with check("q4: what is kept", weight=4, hint="Look at the table of input, output and nothing again."):
    assert_letters(interview(), "q4", "ab")
with check("q5: ReLU in place", weight=4, hint="What did the last column of the measurement of eight layers say?"):
    assert_letters(interview(), "q5", "abd")
with check("q6: recorded writes", weight=4, hint="What was the gradient of b, and of the overwritten row?"):
    assert_letters(interview(), "q6", "bcd")
### END HIDDEN TESTS

# %% [markdown]
# Which statement did you get wrong at first? It is the one to explain to the next person.

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague reviews your code and writes: "You use `+=` on tensors in the forward pass. In-place operations are
# forbidden with autograd: they erase the history and give silently wrong gradients. Please use `.data` instead, or at
# least `no_grad`."
#
# Answer in four to eight sentences. What is wrong with each of the claims, and with each of the two proposals? By which
# question do you decide whether one of your `+=` is safe?

# %% question: review_answer [markdown] points=2
# ### BEGIN SOLUTION
# In-place operations are not forbidden: a write to a tensor that is no leaf is recorded, the history is rebased and
# not erased, and the gradients are right. It fails in two cases. A leaf that requires grad refuses at once, because it
# would not be a leaf any more. And a write to a tensor that a node has saved is found by its version counter, and
# `backward` raises an error. So wrong gradients are not silent. They become silent with the first proposal: a write by
# `.data` is not recorded and not counted, so nodes compute with overwritten values, or the write is missing in the
# gradient. `no_grad` is no better here: in the forward pass the operation would be missing from the graph, although a
# write to a saved tensor would still be found. `no_grad` is right for updates of parameters and buffers. The question
# for a `+=` is: does anybody else still need the old values, a node that keeps them or another name for the memory? If
# it is a fresh result that no node keeps, the write is safe.
#
# For grading: one point for what is wrong with the claims (rebased history, errors by leaf and by version counter), one
# for the proposals and the question that decides.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - `+=`, `x[0] = ...`, `out=` and writes to views work in place. An underscore is only a convention.
# - A leaf that requires grad refuses a recorded write, at once. Update parameters under `no_grad`.
# - A node keeps its input, its output or nothing. The version counter finds a write to what is kept, at `backward`.
# - `detach` shares the counter. `.data` and NumPy do not, and their gradients may be silently wrong.
# - A recorded write is part of the history, also through a view. What is overwritten gets the gradient 0.
# - Write to memory that nobody else knows: a fresh result, or a clone.
# - In training, what is kept for `backward` is what costs memory. A write in place does not change that.
#
# Lab 6 builds modules, buffers and the training loop on this.
