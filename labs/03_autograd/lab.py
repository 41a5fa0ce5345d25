# %% given
import warnings

import numpy as np
import torch
from torch import Tensor

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    assert_some_right,
    check,
    explain,
    hint,
    show_graph,
)

# %% [markdown]
# # Autograd: what is recorded, and what backward does
#
# You know tensors. In this lab you find out what PyTorch writes down while you compute with them, and what `backward`
# does with that record. Autograd is the name of the part that does both.
#
# After this lab you can
#
# - say which operations are recorded, and read the record: nodes, edges, leaves;
# - compute the gradient of a matrix expression by hand, and check it;
# - get a gradient, a vector-Jacobian product or a whole Jacobian from autograd, without side effects;
# - say where gradients accumulate, and add up the gradients of unequal batches correctly;
# - find the line that cuts a gradient off, and repair it;
# - look at a gradient on its way back, and change it.
#
# You need lab 1. This one takes about 90 minutes. After vector-Jacobian products is a good place for a break. All
# numbers in the text were measured with PyTorch 2.13 on a CPU.
#
# Most sections ask you to predict something. Write your prediction down before you run the cell. A wrong prediction is
# the part that you will remember.
#
# The lab is worth 32 points. Each exercise has a few checks that you see at once, and more that run after you hand in.
# Those that you see hold about a fifth of the points. So a green table is a start and no proof. Read the docstring for
# the cases that the visible checks leave out. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## One derivative, three ways
#
# Take the polynomial `x**3 + 2*x**2 - 5*x + 3`. Its derivative is its slope: how much the value changes for a small
# change of `x`, per unit of that change. By hand it is `3*x**2 + 4*x - 5`. At `x = 2` that makes 15.
#
# Without a formula you can measure a slope. Step a little to the right and a little to the left, and divide the
# difference of the values by the distance: `(f(x + h) - f(x - h)) / (2 * h)`. This is called a *finite difference*.
# It needs numbers only. NumPy or plain Python will do.
#
# The smaller `h`, the nearer to the true slope. Or not? Which of the seven values of `h` in the next cell gives the
# smallest error, do you think? Python's numbers are float64.


# %% given
def cubic(x):
    return x**3 + 2 * x**2 - 5 * x + 3


for step in (1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13):
    slope = (cubic(2.0 + step) - cubic(2.0 - step)) / (2 * step)
    print(f"h = {step:.0e}   slope = {slope:.10f}   error = {abs(slope - 15):.0e}")

# %% [markdown]
# Look down the column of errors. The smallest is in the middle, at `1e-5`. With a large `h` the curve bends between the
# two points. With a tiny `h` the two values agree in nearly all of their digits. The subtraction throws these digits
# away, and what is left is rounding error, divided by a tiny number. A finite difference is a good test of a gradient.
# It is never exact.
#
# The third way is autograd. Mark the input with `requires_grad=True`, compute, and call `backward()` on the result.
# The derivative appears in `x.grad`.

# %% given
x = torch.tensor(2.0, requires_grad=True)
y = cubic(x)
y.backward()
print("value", y.item(), "  slope", x.grad.item())

# %% [markdown]
# No `h`, and no formula for the derivative of the whole. Autograd knows the derivative of each single operation, and
# joins them by the *chain rule*: the slope of one step after another is the product of their slopes. The result is
# exact up to rounding.
#
# ### Your turn
# Do by hand what autograd does: carry the slope along while you compute the value. The value of a polynomial can be
# computed from its coefficients in one loop, the highest power first. This is Horner's rule:
#
# `x**3 + 2*x**2 - 5*x + 3` is `((1*x + 2)*x - 5)*x + 3`. Each step does `value = value * x + c`.
#
# What happens to the slope in such a step? Go through `x**2 + 3*x + 1` at 2 on paper first. Its slope there is 7.

# %% given
hint(
    "A step makes value * x + c out of value. Both value and x depend on x. Which rule covers a product?",
    "The product rule has two terms: one with the old slope, one with the old value. Is the old value still there "
    "when you need it?",
)


# %% exercise: value_and_slope
def value_and_slope(coefficients: list[float], x: Tensor) -> tuple[Tensor, Tensor]:
    """Value and derivative of a polynomial at every element of x, by plain arithmetic.

    coefficients: at least one number, the highest power first: [1.0, 3.0, 2.0] is x**2 + 3*x + 2.
    x: any shape, float32 or float64; zero is allowed. Returns (value, slope), both of x's shape and dtype.
    Where x requires grad and there is more than one coefficient, autograd can differentiate value.
    coefficients and x stay as they are.
    """
    ### BEGIN SOLUTION
    value = slope = torch.zeros_like(x)
    for c in coefficients:
        slope = slope * x + value  # product rule, with the value from before this step
        value = value * x + c
    return value, slope
    ### END SOLUTION


# %% check: value_and_slope points=2
with check("the polynomial above: values 9 and 33, slopes 15 and 34 at 2 and 3", weight=2, required=True):
    t = torch.tensor([2.0, 3.0])
    want = (torch.tensor([9.0, 33.0]), torch.tensor([15.0, 34.0]))
    explain(
        value_and_slope([1.0, 2.0, -5.0, 3.0], t),
        want,
        {
            "the coefficients were read with the lowest power first": (
                torch.tensor([9.0, 43.0]),
                torch.tensor([18.0, 53.0]),
            ),
            "value was changed before slope used it: the product rule needs the old value": (
                want[0],
                torch.tensor([39.0, 135.0]),
            ),
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other polynomials, shapes and float64 as well",
    weight=2,
    required=True,
    hint="Does every number of the result come from the arguments?",
):
    t = torch.linspace(-2, 1.5, 6, dtype=torch.float64).reshape(2, 3).T
    want = (3 * t**4 - t**2 + 7 * t - 0.5, 12 * t**3 - 2 * t + 7)
    assert_close(value_and_slope([3.0, 0.0, -1.0, 7.0, -0.5], t), want)
    t = torch.tensor([[-1.5, 0.25, 2.0]])
    want = (4 * t - 6, torch.full_like(t, 4.0))
    assert_close(value_and_slope([4.0, -6.0], t), want)
    want = (torch.tensor(6.5), torch.tensor(-7.0))
    assert_close(value_and_slope([2.0, -1.0, 0.5], torch.tensor(-1.5)), want)
    t = torch.tensor([1e5, 0.1], dtype=torch.float64)
    want = (0.1 * t**2 + 0.7 * t + 0.3, 0.2 * t + 0.7)
    assert_close(value_and_slope([0.1, 0.7, 0.3], t), want, rtol=1e-12, atol=1e-12)
    t = torch.tensor([0.5, -0.25])
    want = (2 * t + 1, torch.full_like(t, 2.0))
    assert_close(value_and_slope([0.0] * 1998 + [2.0, 1.0], t), want)
with check("at x = 0 both are finite", hint="Is there a power of x in your code that x = 0 does not like?"):
    t = torch.tensor([0.0, 1.0])
    want = (torch.tensor([5.0, 6.0]), torch.tensor([-2.0, 4.0]))
    assert_close(value_and_slope([3.0, -2.0, 5.0], t), want)
with check("a constant has slope zero, in x's shape and dtype", hint="What do you return if the loop runs only once?"):
    t = torch.tensor([[1.0], [-4.0]], dtype=torch.float64)
    for number in (2.5, 0.0):
        want = (torch.full_like(t, number), torch.zeros_like(t))
        assert_close(value_and_slope([number], t), want)
with check(
    "the gradient of value, by autograd, is slope",
    weight=2,
    required=True,
    hint="Does a Python number or a new torch.tensor stand between x and your value?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([-1.0, 0.5, 2.0], dtype=dtype, requires_grad=True)
        weight = torch.tensor([2.0, -3.0, 0.5], dtype=dtype)
        want = weight * (6 * t.detach() ** 2 - 2 * t.detach())
        value, _ = value_and_slope([2.0, -1.0, 0.0, 4.0], t)
        (grad,) = torch.autograd.grad((value * weight).sum(), t)
        assert_close(grad, want)
with check("x keeps its values", guard=True, hint="Does something in the loop work in place on x?"):
    t = torch.tensor([1.0, -2.0, 3.0])
    before, numbers = t.clone(), [1.0, 2.0, 3.0]
    value_and_slope(numbers, t)
    assert_close(t, before, rtol=0, atol=0)
    assert not t.requires_grad, "x requires grad now"
    assert numbers == [1.0, 2.0, 3.0], "the list of coefficients was changed"
with check("an empty x gives empty results", guard=True):
    want = (torch.empty(0, 2), torch.empty(0, 2))
    assert_close(value_and_slope([1.0, 2.0, 3.0], torch.empty(0, 2)), want)
### END HIDDEN TESTS

# %% [markdown]
# You carried the derivative *forward*, next to the value. That is fine for one input. With a million inputs you would
# carry a million slopes. Autograd goes the other way: first forward, writing down what was done, then backward
# through the record, once for all inputs. Why is backward the better direction when there is one result and many
# inputs? Keep this question. It comes back at the end.

# %% [markdown]
# ## What is recorded?
#
# You may have read that a PyTorch tensor knows its history. Is that so for every tensor? An operation that was
# recorded leaves a trace on its result: the attribute `grad_fn`. Which of these four results have one?

# %% given
plain = torch.tensor([1.0, 2.0])
marked = torch.tensor([3.0, 4.0], requires_grad=True)

results = {
    "plain * 2": plain * 2,
    "plain * marked": plain * marked,
    "marked > 3": marked > 3,
    "marked itself": marked,
}
for text, result in results.items():
    print(f"{text:15}  requires_grad {result.requires_grad!s:5}  grad_fn {result.grad_fn}")

# %% [markdown]
# How many did you name? Only `plain * marked` has one. The rule has two parts. An operation is recorded if at least one
# of its inputs requires grad, and if it has a derivative. A comparison gives booleans and has none. And `marked` was
# made by nobody's operation, so it has no `grad_fn`, although it requires grad.
#
# ### The graph as it really is
#
# The record is a graph. Many drawings of it show tensors as boxes and operations as arrows. PyTorch's graph is the
# other way round. Its *nodes* are backward functions, one for each recorded operation. `grad_fn` is the node that
# belongs to a tensor. Its *edges* say where a node sends the gradients that it computes: `next_functions` holds one
# pair for each tensor that went into the operation. A plain number may have a pair too. The first part of a pair is
# the next node, the second says which output of that operation is meant.
#
# The next cell computes `log(2 * a + 1)` and walks along its graph. The number 1 is an input of the addition. What
# will stand in its place?

# %% given
a = torch.tensor(3.0, requires_grad=True)
out = torch.log(2 * a + 1)

print("log :", out.grad_fn.next_functions)
addition = out.grad_fn.next_functions[0][0]
print("add :", addition.next_functions)
multiplication = addition.next_functions[0][0]
print("mul :", multiplication.next_functions)
print("leaf:", multiplication.next_functions[0][0].variable is a)

# %% [markdown]
# An input that requires no grad has the entry `(None, 0)`: nothing is sent there. The walk ends at a node called
# `AccumulateGrad`. It holds the tensor `a` in its attribute `variable`. Its work is to add the gradient that arrives
# to `a.grad`.
#
# A node keeps what it needs for its own derivative. For `log` that is its input. People say that it stores a matrix
# of all partial derivatives. It does not. You will see in a later section what it computes instead.
#
# `show_graph` draws all of it. Read the picture along its arrows, from the result to the leaves: that is the way
# `backward` goes. The grey boxes are the nodes. Two kinds of boxes are no nodes and are drawn in addition: green is the
# result, blue are the tensors at the leaves. (Without Graphviz you see the nodes alone. There, a leaf's name stands for
# its `AccumulateGrad`.)

# %% given
W = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = torch.tensor([0.5, -0.5], requires_grad=True)
v = torch.tensor([1.0, 0.0, -1.0])  # requires no grad
loss = (W @ v + b).square().sum()
show_graph(loss, {"W": W, "b": b, "v": v})

# %% [markdown]
# `square` was recorded as a power, so its node is `PowBackward0`. `MvBackward0` belongs to the product of a matrix and
# a vector. Where is `v`? It takes part in the computation, and `MvBackward0` keeps its values. But no gradient is sent
# to it, so it has no node of its own. Read such names, and build nothing on them: another version of PyTorch, or
# another device, may have others. No check of this course asks for one.
#
# Change the expression in the next cell. Can you make a graph in which two ways lead to the same node?

# %% scratch
p = torch.tensor([1.0, 2.0], requires_grad=True)
show_graph((p.sin() + 1).sum(), {"p": p})

# %% [markdown]
# ## Leaves
#
# A *leaf* is a tensor where the walk ends. It has no `grad_fn`: no recorded operation made it. Tensors that require
# no grad are leaves as well, by convention.
#
# `backward` is often described like this: "it computes `.grad` for every tensor with `requires_grad=True`". In the
# next cell three tensors require grad: `x`, `inner` and `y`. Which of them have a `.grad` after `backward`?

# %% given
x = torch.tensor([1.0, 2.0], requires_grad=True)
inner = x * 3
y = inner.square().sum()
y.backward()

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # reading .grad of a tensor that is no leaf gives a warning
    for text, tensor in {"x": x, "inner": inner, "y": y}.items():
        print(f"{text:5}  requires_grad {tensor.requires_grad}  is_leaf {tensor.is_leaf!s:5}  grad {tensor.grad}")

x.grad = None
inner = x * 3
inner.retain_grad()  # asked for before backward
inner.square().sum().backward()
print("inner after retain_grad:", inner.grad)

# %% [markdown]
# Compare with your prediction. Only the leaf has one. The gradients of `inner` and `y` were computed on the way, passed
# on, and dropped. Keeping them all would cost memory that few people need. `retain_grad()` asks for one of them, and
# must be called before `backward`.
#
# This matters when you make the parameters of a model. Parameters are the tensors that training changes, and training
# reads their `.grad`. They must be leaves. Here are three ways to start with small weights. In which of them will
# `backward` fill `.grad` of `w`?

# %% given
start = torch.tensor([1.0, -2.0, 3.0])
w1 = torch.tensor([1.0, -2.0, 3.0], requires_grad=True) * 0.01
w2 = (start * 0.01).requires_grad_()
w3 = (w1 * 2).requires_grad_()
for text, tensor in {"w1": w1, "w2": w2, "w3": w3}.items():
    print(text, "is_leaf", tensor.is_leaf, " requires_grad", tensor.requires_grad)

# %% [markdown]
# You want a leaf that requires grad. Only `w2` is one. `w1` is the result of a recorded multiplication. The leaf is the
# tensor before it, and nobody has a name for that one. `w3` looks like `w2`, but its input required grad. So the
# product was recorded, and `requires_grad_()` had nothing left to do. It says nothing about it. A cast that has nothing
# to do gives the tensor itself: `w2.float()` is still a leaf, and `w2.double()` is none.
#
# One more word: `t.detach()` gives a tensor with the values of `t` and without its history. It shares its memory with
# `t`. Lab 4 is about it; here you may need it once.
#
# ### Your turn
# Make the parameters of a model from a dictionary of starting values. Integer and boolean tensors cannot require
# grad. PyTorch raises an error if you ask for it. They are counters or masks, and are only copied.

# %% given
hint(
    "Which two properties must a parameter have? Print both for your result, once for a starting value that requires "
    "grad and once for one that does not.",
    "What must happen to the history of the product before requires_grad_() can make a leaf of it?",
)


# %% exercise: trainable
def trainable(values: dict[str, Tensor], scale: float) -> dict[str, Tensor]:
    """New parameters from starting values, under the same names.

    values: tensors of any shape. A float32 or float64 tensor t gives a leaf that requires grad, with the values
    scale * t and t's dtype; t may itself require grad, or be the result of recorded operations.
    Any other tensor (integer, boolean) gives a copy that does not require grad, not scaled.
    No result shares memory with a tensor in values. values and its tensors stay as they are.
    """
    ### BEGIN SOLUTION
    params = {}
    for name, t in values.items():
        if t.is_floating_point():
            params[name] = (scale * t.detach()).requires_grad_()
        else:
            params[name] = t.clone()
    return params
    ### END SOLUTION


# %% check: trainable points=3
with check("a float32 tensor gives a leaf that requires grad, with scaled values", weight=3, required=True):
    t = torch.tensor([[1.0, -2.0, 3.0]])
    want = {"weight": torch.tensor([[0.5, -1.0, 1.5]])}
    got = trainable({"weight": t}, 0.5)
    assert_close(got, want)
    assert got["weight"].is_leaf, "your result is not a leaf"
    assert got["weight"].requires_grad, "your result does not require grad"
### BEGIN HIDDEN TESTS
with check(
    "several tensors, other shapes and float64",
    weight=2,
    required=True,
    hint="Do the names, the dtype and the shape come from the starting values?",
):
    t = {"a": torch.tensor(3.0, dtype=torch.float64), "b": torch.linspace(0, 1, 6).reshape(2, 3).T}
    want = {"a": torch.tensor(-6.0, dtype=torch.float64), "b": torch.linspace(0, -2, 6).reshape(2, 3).T}
    got = trainable(t, -2.0)
    assert_close(got, want)
    assert all(p.is_leaf and p.requires_grad for p in got.values()), "not every result is a leaf that requires grad"
    t = {
        "a": torch.tensor(1.5),
        "b": torch.tensor([3.0, 0.7], dtype=torch.float64),
        "c": torch.empty(0, 2),
    }
    for scale in (0.1, 0.0):
        want = {
            "a": torch.tensor(1.5 * scale),
            "b": torch.tensor([3.0 * scale, 0.7 * scale], dtype=torch.float64),
            "c": torch.empty(0, 2),
        }
        got = trainable(t, scale)
        assert_close(got, want)
        assert_close(got["b"], want["b"], rtol=1e-12, atol=1e-12)
        assert all(p.is_leaf and p.requires_grad for p in got.values()), "not every result is a leaf that requires grad"
with check(
    "a starting value that requires grad gives a leaf too",
    weight=2,
    hint="When does requires_grad_() turn a tensor into a leaf, and when does it do nothing?",
):
    t = torch.tensor([1.0, 4.0], requires_grad=True)
    want = {"leaf": torch.tensor([3.0, 12.0]), "result": torch.tensor([6.0, 24.0])}
    got = trainable({"leaf": t, "result": t * 2}, 3.0)
    assert_close(got, want)
    assert all(p.is_leaf and p.requires_grad for p in got.values()), "not every result is a leaf that requires grad"
with check(
    "backward fills .grad of the parameters, and of nothing behind them",
    hint="Is a recorded operation left between the parameters and the starting values?",
):
    t = torch.tensor([1.0, 4.0], requires_grad=True)
    weight = torch.tensor([5.0, -1.0])
    got = trainable({"w": t}, 0.1)
    (got["w"] * weight).sum().backward()
    assert_close(got["w"].grad, weight, name=".grad of your result")
    assert t.grad is None, "the gradient went on to the starting value"
with check(
    "integer and boolean tensors come back unscaled and without grad",
    weight=2,
    hint="Which dtypes can require grad?",
):
    t = {"steps": torch.tensor([2, 3]), "mask": torch.tensor([[True], [False]]), "w": torch.tensor([2.0])}
    want = {"steps": torch.tensor([2, 3]), "mask": torch.tensor([[True], [False]]), "w": torch.tensor([0.5])}
    for dtype in (torch.int32, torch.uint8):
        t[str(dtype)] = want[str(dtype)] = torch.tensor([5, 6], dtype=dtype)
    got = trainable(t, 0.25)
    assert_close(got, want)
    assert not got["steps"].requires_grad and not got["mask"].requires_grad, "one of them requires grad"
with check(
    "the results share no memory with the starting values",
    hint="Which of the functions that you call give a new tensor, and which only a new name for the same memory?",
):
    t = {"w": torch.tensor([1.0, 2.0]), "steps": torch.tensor([7, 8])}
    got = trainable(t, 1.0)
    with torch.no_grad():
        got["w"].add_(1)
        got["steps"].add_(1)
    assert_close(t, {"w": torch.tensor([1.0, 2.0]), "steps": torch.tensor([7, 8])}, name="the starting values")
with check(
    "the starting values stay as they are",
    guard=True,
    hint="Which of your calls ends in an underscore, and on which tensor does it work?",
):
    t = {"w": torch.tensor([1.0, 2.0])}
    trainable(t, 4.0)
    assert_close(t, {"w": torch.tensor([1.0, 2.0])}, rtol=0, atol=0, name="the starting values")
    assert not t["w"].requires_grad, "the starting value requires grad now"
    t = {"w": torch.linspace(-3, 0.7, 50, requires_grad=True)}
    t["w"].grad = torch.linspace(1, 2, 50)
    before = t["w"].detach().clone()
    trainable(t, 0.1)
    assert t["w"].requires_grad, "the starting value does not require grad any more"
    assert_close(t["w"].detach(), before, rtol=0, atol=0, name="the starting value")
    assert_close(t["w"].grad, torch.linspace(1, 2, 50), name=".grad of the starting value")
### END HIDDEN TESTS

# %% [markdown]
# `torch.nn.Parameter(t)` does much of this for you. It is a leaf that requires grad for any floating-point `t`, also
# for one with a history. Does it copy? In the next cell its tensor is changed in place afterwards. Predict what is
# printed.

# %% scratch
origin = torch.tensor([1.0, 2.0])
parameter = torch.nn.Parameter(origin)
origin.mul_(5)
print(parameter)

# %% [markdown]
# It does not copy: it shares its memory with `origin`, as a detached tensor does. What would you write instead, to
# get a parameter that nobody else can change?

# %% [markdown]
# ## A matrix expression by hand
#
# A *partial derivative* is the slope of a result with respect to one input number, with all the others held fixed. `a *
# b` has two of them: at `a = 2` and `b = 3` they are 3 and 2. A *scalar* result is one number. Its *gradient* with
# respect to a tensor is the tensor of all these partial derivatives. So it always has the tensor's shape. That one fact
# is worth more than any formula. The sum of the squares of `[2, 3]` has the gradient `[4, 6]`.
#
# Take one sample with two numbers, `[1, 2]`, and the target 5. The model predicts `W @ x + b`, the *residual* is the
# prediction minus the target, and the loss is its square.

# %% given
W = torch.tensor([[0.5, 1.5]], requires_grad=True)  # one output, two inputs
b = torch.tensor([0.1], requires_grad=True)
x = torch.tensor([1.0, 2.0])
target = torch.tensor([5.0])

residual = W @ x + b - target
loss = residual.square().sum()
loss.backward()
print("prediction", (W @ x + b).tolist(), " residual", residual.tolist(), " loss", loss.item())
print("gradient of W", W.grad.tolist(), " gradient of b", b.grad.tolist())

# %% [markdown]
# Check these numbers on paper. The prediction is 3.6, the residual -1.4. The loss is the square of the residual, so
# its slope with respect to the residual is `2 * -1.4 = -2.8`. Raise `b` by a little, and the residual rises by the
# same amount: -2.8. Raise `W[0, 1]` by a little, and the residual rises by 2 times that, for this is the number that
# it is multiplied with: -5.6.
#
# In general: the partial derivative for `W[i, j]` is the slope at output `i` times input `j`.
#
# Now take a batch. The rows of `X` are `n` samples with `d_in` numbers, the rows of `Y` are their targets with
# `d_out` numbers, and the loss is the sum of all squared residuals. Write `R` for the residuals `X @ W.T + b - Y`.
# Before you write code, fill in the shapes:
#
# | tensor | shape |
# |---|---|
# | `X` | `(n, d_in)` |
# | `W` | `(d_out, d_in)` |
# | `b` | `(d_out,)` |
# | `R` | ? |
# | gradient of `W` | ? |
# | gradient of `b` | ? |
# | gradient of `X` | ? |
#
# Each sample pulls at the same `W` and the same `b`. What does that mean for their gradients?
#
# ### Your turn
# Write the three gradients with matrix products and sums. The checks call your function inside `torch.no_grad()`.
# That switches recording off: the formulas are the point here.

# %% given
hint(
    "Write down the shape of 2 * R and of the gradient that you want. Which factor has the missing axis?",
    "An axis that is in both factors and not in the result is summed over. A matrix product does that for you. For b "
    "there is no second factor: which axis must go?",
)


# %% exercise: manual_grads
def manual_grads(W: Tensor, b: Tensor, X: Tensor, Y: Tensor) -> dict[str, Tensor]:
    """Gradients of the loss ((X @ W.T + b - Y) ** 2).sum(), without autograd.

    W (d_out, d_in), b (d_out,), X (n, d_in), Y (n, d_out); all float32 or all float64; n may be 0.
    Returns {"W": ..., "b": ..., "X": ...}, each of the shape and dtype of that tensor.
    Works where recording is off.
    """
    ### BEGIN SOLUTION
    slope = 2 * (X @ W.T + b - Y)  # (n, d_out): the loss's derivative by each residual
    return {"W": slope.T @ X, "b": slope.sum(0), "X": slope @ W}
    ### END SOLUTION


# %% check: manual_grads points=3
with check("the example above, and two more samples", weight=3, required=True):
    t = (
        torch.tensor([[0.5, 1.5]]),
        torch.tensor([0.1]),
        torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 2.0]]),
        torch.tensor([[5.0], [1.1], [2.6]]),
    )
    slopes = torch.tensor([[-2.8], [-2.0], [1.0]])  # by each residual
    want = {
        "W": torch.tensor([[-8.8, -1.6]]),
        "b": torch.tensor([-3.8]),
        "X": torch.tensor([[-1.4, -4.2], [-1.0, -3.0], [0.5, 1.5]]),
    }
    with torch.no_grad():
        got = manual_grads(*t)
    explain(
        got,
        want,
        {
            "the 2 from the square is missing": {k: g / 2 for k, g in want.items()},
            "this is the gradient of the mean over the samples, and the loss is their sum": {
                k: g / 3 for k, g in want.items()
            },
            "the gradient of W is transposed: it must have the shape of W": {**want, "W": want["W"].T},
            "each sample adds to the gradient of b: one row for each of them is left": {**want, "b": slopes},
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "five samples, three inputs and two outputs",
    weight=4,
    required=True,
    hint="What does a second sample add to the gradients of W and b? Does a factor depend on the batch size?",
):
    t = torch.randn(5 * 3 + 2 * 3 + 2 + 5 * 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    rows, matrix, shift, goals = t[:15].reshape(5, 3), t[15:21].reshape(2, 3), t[21:23], t[23:].reshape(5, 2)
    leaves = [p.clone().requires_grad_() for p in (matrix, shift, rows)]
    every = torch.autograd.grad((leaves[2] @ leaves[0].T + leaves[1] - goals).square().sum(), leaves)
    want = dict(zip(("W", "b", "X"), every, strict=True))
    with torch.inference_mode():
        got = manual_grads(matrix, shift, rows, goals)
    explain(
        got,
        want,
        {
            "the 2 from the square is missing": {k: g / 2 for k, g in want.items()},
            "this is the gradient of the mean over the samples, and the loss is their sum": {
                k: g / 5 for k, g in want.items()
            },
            "the gradient of W is transposed: it must have the shape of W": {**want, "W": want["W"].T},
            "each sample adds to the gradient of b: one row for each of them is left": {
                **want,
                "b": 2 * (rows @ matrix.T + shift - goals),
            },
        },
    )
    t = torch.randn(10, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(4))  # all sizes are 3
    matrix, rows, goals, shift = t[:3], t[3:6], t[6:9], t[9]
    slopes = 2 * (rows @ matrix.T + shift - goals)
    want = {"W": slopes.T @ rows, "b": slopes.sum(0), "X": slopes @ matrix}
    with torch.no_grad():
        got = manual_grads(matrix, shift, rows, goals)
    assert_close(got, want)
with check("float32 with a transposed X", weight=2, hint="Does your code rely on how the numbers lie in memory?"):
    t = torch.tensor([[1.0, -2.0, 0.5, 3.0], [0.0, 1.5, -1.0, 2.0]]).T
    matrix, shift, goals = (
        torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]),
        torch.tensor([0.5, 0.0, -1.0]),
        torch.ones(4, 3),
    )
    slopes = 2 * (t @ matrix.T + shift - goals)
    want = {"W": slopes.T @ t, "b": slopes.sum(0), "X": slopes @ matrix}
    with torch.no_grad():
        got = manual_grads(matrix, shift, t, goals)
    assert_close(got, want)
with check("one sample and one input keep their axes", hint="Does your code drop an axis of size 1?"):
    t = (torch.tensor([[2.0], [-1.0]]), torch.tensor([0.5, 1.0]), torch.tensor([[3.0]]), torch.tensor([[6.0, 1.0]]))
    want = {"W": torch.tensor([[3.0], [-18.0]]), "b": torch.tensor([1.0, -6.0]), "X": torch.tensor([[8.0]])}
    with torch.no_grad():
        got = manual_grads(*t)
    assert_close(got, want)
with check("no samples at all give zeros and an empty gradient of X", guard=True):
    want = {"W": torch.zeros(2, 3), "b": torch.zeros(2), "X": torch.zeros(0, 3)}
    with torch.no_grad():
        got = manual_grads(torch.ones(2, 3), torch.ones(2), torch.ones(0, 3), torch.ones(0, 2))
    assert_close(got, want)
with check("the arguments keep their values", guard=True, hint="Which line works in place?"):
    t = (torch.tensor([[0.5, 1.5]]), torch.tensor([0.1]), torch.tensor([[1.0, 2.0]]), torch.tensor([[5.0]]))
    before = tuple(p.clone() for p in t)
    with torch.no_grad():
        manual_grads(*t)
        assert not torch.is_grad_enabled(), "your function switched recording on, and left it on"
    assert_close(t, before, rtol=0, atol=0)
### END HIDDEN TESTS

# %% [markdown]
# Look at what you needed: the residuals, `X` and `W`. These are the tensors that the graph keeps for `backward`. And
# look at the cost: the forward pass has one matrix product, the gradients have two. So a backward pass costs about
# twice as much as the forward pass. For six linear layers of width 512 and 256 samples we measured 1.9 times as much.
# Which of the two products can be saved if nobody asks for the gradient of `X`?

# %% [markdown]
# ## From many outputs: vector-Jacobian products
#
# So far every result was a scalar. What if a function returns several? For three outputs and two inputs there are six
# partial derivatives. The matrix of them, one row for each output and one column for each input, is the *Jacobian*.
#
# Predict: which of the four calls of `backward` in the next cell fail?


# %% given
def attempt(text, run):
    try:
        run()
        print(f"{text}: x.grad is {x.grad.tolist()}")
    except RuntimeError as error:
        print(f"{text}: RuntimeError: {str(error).splitlines()[0][:62]}")
    x.grad = None


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
attempt("shape (3,), no argument ", lambda: (x**2).backward())
attempt("shape (1, 1), no argument", lambda: (x**2).sum().reshape(1, 1).backward())
attempt("shape (3,), ones         ", lambda: (x**2).backward(torch.ones(3)))
attempt("shape (3,), [1, 0, -10]  ", lambda: (x**2).backward(torch.tensor([1.0, 0.0, -10.0])))

# %% [markdown]
# Two of the calls have no argument, and only the first of them fails. "Scalar" means one element here, and its shape
# does not matter. The argument of `backward` is a vector `v` with one number for each output, and of the output's
# shape. Any other shape raises a RuntimeError. Call the Jacobian `J`. Then `backward(v)` computes `v @ J`: the rows of
# the Jacobian, each times its number in `v`, added up. This is a *vector-Jacobian product*. With ones it is the
# gradient of the sum of the outputs. For a scalar result, `backward()` puts in a 1.
#
# You can also read `v` as "how much does one unit of each output count for what comes after?". That is exactly what
# arrives at a node from behind: the *upstream gradient*. Each node gets such a `v`, computes its own vector-Jacobian
# product, and sends it on.
#
# Does a node compute its Jacobian for that? Take `exp` of a vector of 2,000 numbers. The Jacobian would have
# 4,000,000. What does the node really keep?

# %% given
big = torch.linspace(-1, 1, 2000, requires_grad=True)
node = big.exp().grad_fn
kept = node._saved_result  # what exp keeps for backward; the underscore says: for looking only
print("kept:", tuple(kept.shape), " the Jacobian would be", (2000, 2000))
upstream = torch.linspace(0, 5, 2000)
print("the node gives upstream * kept:", torch.equal(node(upstream), upstream * kept))

# %% [markdown]
# It keeps 2,000 numbers and multiplies elementwise. The Jacobian of `exp` is never built, and so it is with every
# operation.
#
# `torch.autograd.grad(outputs, inputs, grad_outputs=v)` computes the same product. It returns a tuple with one
# gradient for each input, and does not touch `.grad`. That makes it the better tool inside a function: the caller's
# tensors stay as they were.
#
# One more thing to know. After a backward pass, PyTorch frees what the nodes kept. A second pass over the same graph
# then raises a RuntimeError. `retain_graph=True` keeps it for another pass. Lab 4 comes back to that.
#
# ### Your turn
# Build the whole Jacobian from vector-Jacobian products. Which `v` gives exactly one row of it?


# %% given
# Functions to try your solution on. The checks use them too.
def neighbours(x):
    """(n,) -> (n - 1,): products of neighbours."""
    return x[1:] * x[:-1]


def rolled(x):
    """(n,) -> (n,): the elements moved on by one place, times the first."""
    return x.roll(1) * x[0]


def growing(x):
    """(n,) -> (n + 1,): the running products, and the sum of all sines."""
    return torch.cat([x.cumprod(0), x.sin().sum().reshape(1)])


def energy(x):
    """(n,) -> (1,): the sum of squares."""
    return x.square().sum().reshape(1)


# %% given
hint(
    "v @ J adds up rows of J. For which v does only row i survive?",
    "You run one pass for each output. What has to be true of the graph at the second one? And what if the caller's x "
    "does not require grad, or holds a .grad already?",
)


# %% exercise: jacobian
def jacobian(f, x: Tensor) -> Tensor:
    """The Jacobian of f at x: element (i, j) is the derivative of output i by input j.

    f: a differentiable function from a tensor (n,) to one (m,), with m at least 1.
    x: (n,), float32 or float64; it may require grad or not. Returns (m, n) in x's dtype.
    x, its requires_grad and its .grad stay as they are.
    """
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()  # a leaf of our own
    y = f(x)
    rows = []
    for v in torch.eye(len(y), dtype=y.dtype):
        (row,) = torch.autograd.grad(y, x, grad_outputs=v, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)
    ### END SOLUTION


# %% check: jacobian points=3
with check("two products of three numbers have a Jacobian of shape (2, 3)", weight=3, required=True):
    t = torch.tensor([1.0, 2.0, 3.0])
    want = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
    explain(
        jacobian(neighbours, t),
        want,
        {
            "rows and columns are swapped: rows belong to outputs": want.T,
            "all rows are one tensor: .grad itself was kept, and each pass added to it": want.sum(0).expand(2, 3),
            "each row has the rows above it added to it: a pass adds to .grad": want.cumsum(0),
            "this is one pass with ones, and gives the sum of the rows": want.sum(0),
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other functions, sizes and float64",
    weight=3,
    required=True,
    hint="What was in x's .grad when you read the second row?",
):
    t = torch.tensor([0.5, -1.5, 2.0, 3.0], dtype=torch.float64)
    running = [
        [1.0, 0.0, 0.0, 0.0],
        [-1.5, 0.5, 0.0, 0.0],
        [-3.0, 1.0, -0.75, 0.0],
        [-9.0, 3.0, -2.25, -1.5],
    ]
    want = torch.cat([torch.tensor(running, dtype=torch.float64), t.cos()[None]])
    explain(
        jacobian(growing, t),
        want,
        {
            "each row has the rows above it added to it: a pass adds to .grad": want.cumsum(0),
            "all rows are one tensor: .grad itself was kept, and each pass added to it": want.sum(0).expand(5, 4),
        },
    )
    t = torch.tensor([0.1, -1.3, 0.7], dtype=torch.float64)  # as many outputs as inputs
    want = torch.tensor([[0.7, 0.0, 0.1], [0.2, 0.0, 0.0], [-1.3, 0.1, 0.0]], dtype=torch.float64)
    assert_close(jacobian(rolled, t), want, rtol=1e-12, atol=1e-12)
with check("one output gives one row", weight=2, hint="Does your result have two axes for every m?"):
    t = torch.tensor([1.0, -2.0, 0.5, 4.0, 3.0])[::2]
    want = 2 * torch.tensor([[1.0, 0.5, 3.0]])
    assert_close(jacobian(energy, t), want)
with check(
    "an x that requires grad, and comes from an operation, is fine",
    weight=2,
    hint="Which tensor do you differentiate with respect to, and is it a leaf?",
):
    t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True) * 2
    want = torch.tensor([[4.0, 2.0, 0.0], [0.0, 6.0, 4.0]])
    assert_close(jacobian(neighbours, t), want)
with check(
    "x, its requires_grad and its .grad stay as they are",
    weight=2,
    guard=True,
    hint="Where does backward add its result? Which calls change the tensor that you were given?",
):
    t = torch.tensor([1.0, 2.0, 3.0])
    jacobian(neighbours, t)
    assert torch.is_grad_enabled(), "your function switched recording off, and left it off"
    assert not t.requires_grad, "x requires grad now"
    t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    t.grad = torch.tensor([7.0, 8.0, 9.0])
    jacobian(growing, t)
    assert t.requires_grad, "x does not require grad any more"
    assert_close(t.grad, torch.tensor([7.0, 8.0, 9.0]), name="x.grad")
    assert_close(t.detach(), torch.tensor([1.0, 2.0, 3.0]), name="x")
### END HIDDEN TESTS

# %% [markdown]
# One pass for each output, whatever the number of inputs. A loss has one output. So one backward pass gives its
# derivative by every parameter of a model, a thousand or a billion of them. How many passes would the forward way of
# `value_and_slope` need?
#
# This is a good place for a break. When you come back, you need three things from above: leaves, `.grad`, and the two
# functions `backward` and `torch.autograd.grad`.

# %% [markdown]
# ## Gradients accumulate
#
# `AccumulateGrad` *adds* to `.grad`. It does so because one tensor may be used in many places, and because a program
# may call `backward` several times. The gradient of `x**2` at 3 is 6. Predict the three lines that the next cell
# prints.

# %% given
x = torch.tensor(3.0, requires_grad=True)
print("before any backward:", x.grad)
(x**2).backward()
first = x.grad
print("after the first    :", x.grad, " kept as first:", first)
(x**2).backward()
print("after the second   :", x.grad, " kept as first:", first)

# %% [markdown]
# Two surprises. Before the first `backward`, `.grad` is `None` and not zero. `x.grad.zero_()` would raise an
# AttributeError here. And `first` has changed. `first = x.grad` makes no copy: it is a second name for one tensor,
# and the second `backward` added into that tensor. Keep a gradient with `x.grad.clone()`.
#
# To start afresh there are two ways. `x.grad.zero_()` fills the tensor with zeros, and everybody who holds it sees
# zeros. `x.grad = None` lets go of it, and the next `backward` puts a new tensor there. In the next cell, which of
# the kept gradients survive?

# %% given
for way in ("zero_", "None"):
    x = torch.tensor(3.0, requires_grad=True)
    (x**2).backward()
    first = x.grad
    if way == "zero_":
        x.grad.zero_()
    else:
        x.grad = None
    (5 * x).backward()
    print(f"{way:6} first: {first.item()}  x.grad: {x.grad.item()}")

# %% [markdown]
# Both give the right `x.grad`. With `zero_` the kept gradient is overwritten. With `None` it survives. `None` says
# something more as well: "this tensor got no gradient". A tensor of zeros cannot say that. The optimizers of lab 6
# skip a parameter without a gradient. One with a gradient of zeros they may still move.
#
# ### Your turn
# A model that learns several tasks at once has several losses. They may pull the same parameters in opposite
# directions. To see that, one needs the gradient of each loss for itself.


# %% given
# Losses to try your solution on. The checks use them too.
def decay(params):
    """Uses the first parameter only."""
    return params[0].square().sum()


def second_decay(params):
    """Uses the second parameter only."""
    return params[1].square().sum()


def total(params):
    return sum(((k + 1) * p).sum() for k, p in enumerate(params))


def fit(params):
    """Uses two parameters: a vector and a number."""
    w, offset = params
    return ((w * torch.arange(1, len(w) + 1)).sum() + offset - 2).square()


# %% given
hint(
    "Two functions can run a backward pass. One of them adds to .grad. What does the other one do?",
    "A loss that does not use a parameter sends nothing to it. What do you get for it then, an error, None or zeros? "
    "Options of torch.autograd.grad decide it. materialize_grads=True is one of them.",
)


# %% exercise: task_gradients
def task_gradients(losses: list, params: list[Tensor]) -> list[list[Tensor]]:
    """The gradient of each loss for itself: result[i][j] is the gradient of losses[i](params) for params[j].

    losses: functions that take the list params and return a scalar. A loss uses at least one of the params.
    For a parameter that a loss does not use, the gradient is zeros.
    params: leaves that require grad, float32 or float64, any shapes. Each gradient has its parameter's shape and dtype.
    Afterwards each .grad is as it was before, also where it was None.
    """
    ### BEGIN SOLUTION
    table = []
    for loss in losses:
        grads = torch.autograd.grad(loss(params), params, materialize_grads=True)  # zeros where the loss uses none
        table.append(list(grads))
    return table
    ### END SOLUTION


# %% check: task_gradients points=3
with check("two losses of one parameter", weight=3, required=True):
    t = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    want = [[torch.tensor([2.0, -4.0, 6.0])], [torch.ones(3)]]
    got = task_gradients([decay, total], [t])
    explain(
        got,
        want,
        {
            "these are running sums: each backward added to what was there": [
                [torch.tensor([2.0, -4.0, 6.0])],
                [torch.tensor([3.0, -3.0, 7.0])],
            ],
            "both are the same tensor: .grad was kept, not copied": [[torch.tensor([3.0, -3.0, 7.0])]] * 2,
            "the kept gradients were overwritten when .grad was set to zero": [[torch.ones(3)]] * 2,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "three losses of two parameters, and float64",
    weight=3,
    required=True,
    hint="Which loss and which parameter does each entry belong to?",
):
    for dtype, start, slope in ((torch.float32, 1.0, -9.0), (torch.float64, 1.0, -9.0), (torch.float64, 4.0, -3.0)):
        t = [
            torch.tensor([start, -2.0], dtype=dtype, requires_grad=True),
            torch.tensor(0.5, dtype=dtype, requires_grad=True),
        ]
        want = [
            [torch.tensor([1.0, 1.0], dtype=dtype), torch.tensor(2.0, dtype=dtype)],
            [torch.tensor([slope, 2 * slope], dtype=dtype), torch.tensor(slope, dtype=dtype)],
            [torch.tensor([1.0, 1.0], dtype=dtype), torch.tensor(2.0, dtype=dtype)],
        ]
        assert_close(task_gradients([total, fit, total], t), want)
with check(
    "a parameter that a loss does not use has the gradient zero",
    weight=2,
    hint="What does autograd say about a parameter that the graph does not reach?",
):
    t = [torch.tensor([[3.0]], requires_grad=True), torch.tensor([0.1, 2.0], dtype=torch.float64, requires_grad=True)]
    want = [
        [torch.tensor([[6.0]]), torch.zeros(2, dtype=torch.float64)],
        [torch.tensor([[1.0]]), torch.full((2,), 2.0, dtype=torch.float64)],
        [torch.zeros(1, 1), torch.tensor([0.2, 4.0], dtype=torch.float64)],
    ]
    got = task_gradients([decay, total, second_decay], t)
    assert_close(got, want)
    assert_close(got[2][1], want[2][1], rtol=1e-12, atol=1e-12)
with check("a .grad from before does not matter", weight=2, hint="What was in .grad when your function was called?"):
    t = [torch.tensor([2.0, 5.0], requires_grad=True)]
    t[0].grad = torch.tensor([1e9, 200.0])
    want = [[torch.tensor([4.0, 10.0])], [torch.ones(2)]]
    assert_close(task_gradients([decay, total], t), want)
with check(
    "each .grad is afterwards as it was before",
    weight=2,
    guard=True,
    hint="Which of your calls write to .grad? What stood there before?",
):
    t = [torch.tensor([2.0, 5.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)]
    for losses in ([fit, decay], [decay, fit]):
        t[0].grad = torch.tensor([0.1, 200.0])
        task_gradients(losses, t)
        assert t[1].grad is None, ".grad was None, and is a tensor now"
        assert_close(t[0].grad, torch.tensor([0.1, 200.0]), rtol=0, atol=0, name=".grad")
        assert all(p.requires_grad for p in t), "a parameter does not require grad any more"
### END HIDDEN TESTS

# %% [markdown]
# A question to think about: your function builds a graph for each loss. Could it stack the losses to one tensor,
# build one graph, and still get their gradients apart? Think of the Jacobian: which `v`, and how many passes?

# %% [markdown]
# ### Adding up on purpose
#
# Accumulation is also a technique. Say that the whole data set does not fit into memory. You want the gradient of the
# mean loss over all samples. You go batch by batch, and each graph is freed before the next one is built.
#
# A loss function usually returns the mean over its batch. The common recipe is: divide each batch's loss by the
# number of batches, and let the gradients add up. Four batches have 10, 10, 10 and 2 samples. Is the recipe exact?


# %% given
def squared_error(w, X, y):
    """Mean over the batch."""
    return (X @ w - y).square().mean()


def absolute_error(w, X, y):
    """Mean over the batch."""
    return (X @ w - y).abs().mean()


generator = torch.Generator().manual_seed(0)
features = torch.randn(32, 3, generator=generator)
targets = torch.randn(32, generator=generator)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)

(full,) = torch.autograd.grad(squared_error(w, features, targets), w)
for sizes in ([8, 8, 8, 8], [10, 10, 10, 2]):
    w.grad = None
    for X, y in zip(features.split(sizes), targets.split(sizes), strict=True):
        (squared_error(w, X, y) / len(sizes)).backward()
    print(f"sizes {sizes!s:15} {w.grad}  largest difference {(w.grad - full).abs().max():.1e}")
print(f"all samples at once   {full}")

# %% [markdown]
# With equal sizes the difference is rounding. With the small last batch, an entry that should be 0.89 comes out as
# 2.27. In the recipe each batch counts the same. So a sample in the batch of 2 counts five times as much as one in a
# batch of 10. Every data set whose size is no multiple of the batch size ends with such a batch.
#
# ### Your turn
# Get it exact for batches of any sizes. A filter may have thrown out every sample of a batch, so a batch may be
# empty. The mean of no numbers is `nan`. Is the gradient of that mean `nan` as well? Predict, and try it in the next
# cell before you write.

# %% scratch
mean_of_none = squared_error(w, features[:0], targets[:0])
print("loss", mean_of_none.item(), " gradient", torch.autograd.grad(mean_of_none, w)[0])

# %% given
hint(
    "A mean is a sum divided by a count. Which parts of it can you add up batch by batch?",
    "Multiply each batch's gradient by something, add, and divide once at the end. How do you know how many "
    "samples there were?",
)


# %% exercise: stream_gradient
def stream_gradient(loss, w: Tensor, batches: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The gradient for w of the mean loss over all samples of all batches.

    loss: a function loss(w, X, y) that returns the mean over the samples of X and y.
    w: a leaf (d,) that requires grad, float32 or float64. It may hold a .grad from before, which must not matter.
    Afterwards w.grad may be anything; w has the same values and still requires grad. batches stays as it is.
    batches: pairs X (n, d), y (n,). The n differ and may be 0, but not in every batch. Returns (d,) in w's dtype.
    """
    ### BEGIN SOLUTION
    total, count = torch.zeros_like(w), 0
    for X, y in batches:
        (grad,) = torch.autograd.grad(loss(w, X, y), w)
        total += len(y) * grad  # the gradient of the sum over this batch
        count += len(y)
    return total / count
    ### END SOLUTION


# %% check: stream_gradient points=3
with check("two batches of two samples", weight=3, required=True):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    batches = [
        (torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0.0, 0.0])),
        (torch.tensor([[1.0, 1.0], [2.0, 0.0]]), torch.tensor([1.0, 1.0])),
    ]
    want = torch.tensor([2.5, 2.0])
    got = stream_gradient(squared_error, t, batches)
    explain(got, want, {"this is the sum over the batches, not a mean": 2 * want})
### BEGIN HIDDEN TESTS
with check(
    "batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33",
    weight=4,
    required=True,
    hint="How much does one sample of the smallest batch count in your result?",
):
    for dtype in (torch.float32, torch.float64):
        for error in (squared_error, absolute_error):
            numbers = torch.randn(33, 4, dtype=dtype, generator=torch.Generator().manual_seed(1))
            rows, goals = numbers[:, :3], numbers[:, 3]
            batches = list(zip(rows.split([10, 10, 10, 2, 1]), goals.split([10, 10, 10, 2, 1]), strict=True))
            t = torch.tensor([0.5, -1.5, 2.0], dtype=dtype, requires_grad=True)
            (want,) = torch.autograd.grad(error(t, rows, goals), t)
            parts = [torch.autograd.grad(error(t, *pair), t)[0] for pair in batches]
            explain(
                stream_gradient(error, t, batches),
                want,
                {
                    "every batch counts the same here, whatever its size": sum(parts) / 5,
                    "these are the means of the batches added up, not a mean": sum(parts),
                    "only the last batch counts": parts[-1],
                },
            )
            assert_close(stream_gradient(error, t, [(rows, goals)]), want)
            if dtype == torch.float64:
                assert_close(stream_gradient(error, t, batches), want, rtol=1e-12, atol=1e-12)
with check("an empty batch changes nothing", weight=2, hint="Does an empty batch count where you divide?"):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    batches = [
        (torch.empty(0, 2), torch.empty(0)),
        (torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0])),
        (torch.empty(0, 2), torch.empty(0)),
        (torch.tensor([[2.0, 0.0]]), torch.tensor([1.0])),
        (torch.tensor([[1.0, 0.0]]), torch.tensor([1.0])),  # its loss is 0, and its sample counts
    ]
    want = torch.tensor([2.0, 1.6])
    assert_close(stream_gradient(squared_error, t, batches), want)
with check("a .grad from before does not matter", weight=2, hint="What was in w.grad when your function was called?"):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    t.grad = torch.tensor([float("nan"), 1e9])
    batches = [
        (torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0])),
        (torch.tensor([[2.0, 0.0]]), torch.tensor([1.0])),
    ]
    want = torch.tensor([2.5, 2.0])
    assert_close(stream_gradient(squared_error, t, batches), want)
with check("w and the batches keep their values", guard=True):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    batches = [
        (torch.tensor([[1.0, 3.0], [4.0, 1.0]]), torch.tensor([0.5, 2.0])),
        (torch.tensor([[2.0, 0.0]]), torch.tensor([1.0])),
        (torch.tensor([[1.0, 2.0], [0.5, 3.0], [-1.0, 1.0]]), torch.tensor([1.0, 0.0, 3.0])),
    ]
    before = [(p.clone(), q.clone()) for p, q in batches]
    stream_gradient(squared_error, t, batches)
    assert_close(batches, before, rtol=0, atol=0, name="batches")
    assert_close(t.detach(), torch.tensor([1.0, 2.0]), rtol=0, atol=0, name="w")
    assert t.requires_grad, "w does not require grad any more"
### END HIDDEN TESTS

# %% [markdown]
# An empty batch has the loss `nan` and the gradient zero. Each sample sends its own part back to `w`, and here there
# is none. Had you added up the losses as well, their sum would be `nan`.
#
# Joining all batches into one gives the same numbers, and so does adding all the losses and going back once. What do
# these two ways hold in memory that yours does not?

# %% [markdown]
# ## What cuts the graph?
#
# NumPy arrays and Python numbers have no history. Wherever your values pass through them, the graph ends. PyTorch may
# not tell you. Which of these six lines give a result that still leads back to `x`? Which raise an error?

# %% given
x = torch.tensor([1.0, 4.0, 9.0], requires_grad=True)
ways = {
    "torch.sqrt(x).sum()": lambda: torch.sqrt(x).sum(),
    "np.sqrt(x.numpy()).sum()": lambda: np.sqrt(x.numpy()).sum(),
    "torch.tensor(x.sum().item() / 3)": lambda: torch.tensor(x.sum().item() / 3),
    "torch.tensor([x[0] * 2, x[1]], requires_grad=True)": lambda: torch.tensor([x[0] * 2, x[1]], requires_grad=True),
    "torch.stack([x[0] * 2, x[1]])": lambda: torch.stack([x[0] * 2, x[1]]),
    "x.argmax()": lambda: x.argmax(),
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for text, run in ways.items():
        try:
            result = run()
            print(f"{text:51} requires_grad {result.requires_grad!s:5} leads back to x: {result.grad_fn is not None}")
        except RuntimeError as error:
            print(f"{text:51} RuntimeError: {str(error)[:35]} ...")

# %% [markdown]
# How many of the six did you get right? `.numpy()` is the honest one: it refuses. `.item()` cuts without a word.
# `torch.tensor(...)` copies values and makes a new leaf. With `requires_grad=True` that is the worst of all: `backward`
# runs without an error, the gradient lands in the new leaf, and `x.grad` stays `None`. `torch.stack` joins tensors and
# is recorded like any operation.
#
# The cell hides one warning. `torch.tensor` of a list of tensors gives it, and so does `float(t)`: "Converting a tensor
# with requires_grad=True to a scalar may lead to unexpected behavior". PyTorch shows it once per process, for the first
# of them, and never for `.item()`. So do not wait for it.
#
# `argmax` gives an index. An index jumps from one integer to the next, so it has no useful slope. That is no mistake
# in your code. Taking `x[x.argmax()]` is recorded, and its gradient goes to the element that was taken.
#
# ### Your turn
# The next function was moved from NumPy. It weighs the rows of `x`, takes the row with the largest weighted sum, and
# scales it by the root mean square of all the sums (the root of the mean of their squares). Somebody added
# `requires_grad=True` to silence an error. Its values are right. Its gradients are not.


# %% given
# The function to repair. The checks compare values with it.
def scaled_peak_broken(x, w):
    sums = [float((row * w).sum()) for row in x]
    best = int(np.argmax(sums))
    size = np.sqrt(np.mean(np.square(sums)))
    return x[best] * torch.tensor(size, dtype=x.dtype, requires_grad=True)


# %% given
hint(
    "Go through it line by line. Which results are tensors with a grad_fn?",
    "One of the cuts is harmless, because what passes through it has no slope anyway. Which one? Replace the others by "
    "operations on tensors.",
)


# %% exercise: scaled_peak
def scaled_peak(x: Tensor, w: Tensor) -> Tensor:
    """The row of x whose weighted sum is largest, times the root mean square of all weighted sums.

    x (n, d) with n at least 1, w (d,); both float32 or both float64. The weighted sum of a row is (row * w).sum().
    The largest sum occurs once, and not all sums are zero. Returns (d,), differentiable for x and for w.
    """
    ### BEGIN SOLUTION
    sums = x @ w
    size = sums.square().mean().sqrt()
    return x[sums.argmax()] * size  # the index has no slope: the row and the size have
    ### END SOLUTION


# %% check: scaled_peak points=3
with check("the values are as before", required=True):
    t, t_w = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]]), torch.tensor([2.0, 1.0])
    want = scaled_peak_broken(t, t_w).detach()
    squares = torch.tensor([16.0, 25.0, 1.0])  # of the weighted sums
    explain(
        scaled_peak(t, t_w),
        want,
        {
            "this is the row times the mean square, without its root": t[1] * squares.mean(),
            "this is the row times the root of the sum of the squares, not of their mean": t[1] * squares.sum().sqrt(),
        },
    )
with check("a gradient reaches x"):
    t = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], requires_grad=True)
    t_w = torch.tensor([2.0, 1.0], requires_grad=True)
    got = scaled_peak(t, t_w)
    assert got.requires_grad, "your result does not require grad"
    (got,) = torch.autograd.grad(got.sum(), t, allow_unused=True)
    assert got is not None, "your result does not lead back to x"
with check("a gradient reaches w"):
    t = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], requires_grad=True)
    t_w = torch.tensor([2.0, 1.0], requires_grad=True)
    got = scaled_peak(t, t_w)
    assert got.requires_grad, "your result does not require grad"
    (got,) = torch.autograd.grad(got.sum(), t_w, allow_unused=True)
    assert got is not None, "your result does not lead back to w"
### BEGIN HIDDEN TESTS
with check(
    "other sizes, negative sums and float64",
    weight=2,
    required=True,
    hint="Is one row chosen, by its sum and with the sum's sign?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([[1.0, -4.0, 2.0, 0.5], [-9.0, 1.0, 0.0, 2.0]], dtype=dtype)
        t_w = torch.tensor([1.0, 1.5, -1.0, 0.5], dtype=dtype)
        want = scaled_peak_broken(t, t_w).detach()
        assert_close(scaled_peak(t.clone(), t_w), want)
        want = scaled_peak_broken(t[:1], t_w).detach()
        assert_close(scaled_peak(t[:1].clone(), t_w), want)
        t = torch.tensor([[1.0, 5.0, 0.0, 0.0], [1.01, 0.0, 5.0, 0.0]], dtype=dtype)  # sums 1 and 1.01
        t_w = torch.tensor([1.0, 0.0, 0.0, 2.0], dtype=dtype)
        want = scaled_peak_broken(t, t_w).detach()
        assert_close(scaled_peak(t, t_w), want)
with check(
    "the gradients for x and w are complete",
    weight=4,
    required=True,
    hint="The result is a row times a number. On what does each of the two depend?",
):
    for rows, factors in (
        ([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], [1.0, 0.5]),
        ([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], [-2.0, 0.5]),
        ([[1.1, 2.0], [3.0, -0.1], [1.0, -2.0]], [1.0, 0.5]),  # the last sum is 0
        ([[0.1, 0.7]], [0.3, 0.5]),
        ([[0.1], [0.3]], [0.7]),
    ):
        t = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
        t_w = torch.tensor(factors, dtype=torch.float64, requires_grad=True)
        weight = torch.tensor([1.0, -3.0][: len(factors)], dtype=torch.float64)
        sums = (t * t_w).sum(1)
        size, row = sums.square().mean().sqrt(), t[int(sums.argmax())]
        want = torch.autograd.grad((row * size * weight).sum(), (t, t_w), retain_graph=True)
        only_row = torch.autograd.grad((row * size.detach() * weight).sum(), t, retain_graph=True)[0]
        only_size = torch.autograd.grad((row.detach() * size * weight).sum(), (t, t_w))
        value = (row * size).detach().clone()
        got = scaled_peak(t, t_w)
        assert_close(got.detach(), value, rtol=1e-12, atol=1e-12)
        got = torch.autograd.grad((got * weight).sum(), (t, t_w), allow_unused=True)
        explain(
            got,
            want,
            {
                "the root mean square was treated as a constant": (only_row, None),
                "the row was treated as a constant": only_size,
            },
        )
with check("either argument alone may require grad", weight=2, hint="Has each of the two a path to the result?"):
    t = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    t_w = torch.tensor([2.0, 1.0])
    assert scaled_peak(t, t_w).requires_grad, "with x alone, your result does not require grad"
    assert scaled_peak(t.detach(), t_w.requires_grad_()).requires_grad, (
        "with w alone, your result does not require grad"
    )
    assert not scaled_peak(t.detach(), t_w.detach()).requires_grad, "with neither, your result requires grad"
with check("x and w keep their values", guard=True, hint="Which line works in place?"):
    t, t_w = torch.tensor([[1.0, 2.0], [3.0, -1.0]]).T, torch.tensor([2.0, 1.0])
    before = (t.clone(), t_w.clone())
    scaled_peak(t, t_w)
    assert_close((t, t_w), before, rtol=0, atol=0)
### END HIDDEN TESTS

# %% [markdown]
# The last line of the broken function silenced an error and made it worse. Before that change, `backward` raised an
# error when only `w` required grad, and somebody would have looked. A useful habit: after the first `backward` of new
# code, look for parameters whose `.grad` is still `None`. What else could `None` mean there?

# %% [markdown]
# ## Hooks: a look at a gradient on its way
#
# `t.register_hook(function)` has a function called when the gradient of `t` is ready. The function may return a new
# gradient, which goes on instead of the old one. If it returns `None`, nothing changes. It must not change its
# argument in place: the same tensor may be on its way to somebody else too. `t` must require grad, or `register_hook`
# raises a RuntimeError. It returns a handle, and `handle.remove()` takes the hook away.
#
# In the next cell `h` is used in two places. How often will the hook be called, and with which numbers?

# %% given
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 10
seen = []
h.register_hook(seen.append)  # append returns None: it only looks
out = (2 * h).sum() + (3 * h).sum()
out.backward()
print("called", len(seen), "time, with", seen[0].tolist(), "  x.grad", x.grad.tolist())

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 10
h.register_hook(lambda g: g.clamp(-1, 1))
((2 * h).sum() + (3 * h).sum()).backward()
print("clamped: x.grad", x.grad.tolist())

# %% [markdown]
# Did you expect two calls? There is one, with the sum: 2 from one use and 3 from the other. A hook belongs to a tensor,
# and it sees that tensor's whole gradient, from all uses. It cannot see one use alone.
#
# ### Your turn
# A *residual block* computes `x + branch(x)`. Suppose that the branch sometimes sends back huge gradients. You want
# to clamp what comes out of the branch towards `x`. The gradient that takes the direct way through the addition must
# not be touched. There are two ways back to `x`, and only one `x`. Where do you put the hook?


# %% given
# Branches to try your solution on. The checks use them too.
def steep(x):
    return 40 * x.sin()


def shifted(x):
    return x + 3


def mixed(x):
    return x.softmax(-1)


own_factor = torch.tensor(3.0, requires_grad=True)


def weighted(x):
    """A branch with a parameter of its own."""
    return x * own_factor


# %% given
hint(
    "Draw the graph of x + branch(x), or let show_graph draw it. Which tensor's gradient is exactly what comes out of "
    "the branch?",
    "There is no such tensor yet: x has both ways. Which operation gives a new tensor with the same values, for the "
    "branch alone? And what if x does not require grad?",
)


# %% exercise: clamped_residual
def clamped_residual(x: Tensor, branch, limit: float) -> Tensor:
    """x + branch(x), with a clamped gradient on the way back through the branch.

    x: any shape, float32 or float64; it may require grad or not.
    branch: a function of one tensor that returns one of the same shape and dtype.
    The value is x + branch(x). In a backward pass, the gradient that comes out of the branch towards x is clamped
    elementwise to [-limit, limit]; the gradient of the direct way is not changed. x keeps its requires_grad, and the
    branch's own parameters get their gradients unclamped, also where x requires no grad.
    """
    ### BEGIN SOLUTION
    inside = x.view_as(x)  # a tensor of its own for the branch: its gradient is the branch's alone
    if inside.requires_grad:
        inside.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(inside)
    ### END SOLUTION


# %% check: clamped_residual points=3
with check("the value is x + branch(x), also for an x without grad", required=True):
    t = torch.tensor([[0.0, 1.0, -2.0]])
    want = t + 40 * t.sin()
    assert_close(clamped_residual(t, steep, 1.0), want)
with check("the gradient is the direct one plus the clamped one", weight=2, required=True):
    t = torch.tensor([0.0, 1.0, 1.57, -2.0], requires_grad=True)
    s = 40 * t.detach().cos()
    want = 1 + s.clamp(-5, 5)
    value = t.detach() + 40 * t.detach().sin()
    got = clamped_residual(t, steep, 5.0)
    assert_close(got.detach(), value)
    (got,) = torch.autograd.grad(got.sum(), t)
    explain(
        got,
        want,
        {
            "the sum of both ways was clamped": (1 + s).clamp(-5, 5),
            "nothing was clamped": 1 + s,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other upstream gradients, limits and float64",
    weight=3,
    required=True,
    hint="Which gradient do you clamp: the one that goes into the branch, the one that comes out, or the sum?",
):
    for limit in (0.0, 0.5, 30.0):
        t = torch.linspace(-2, 3, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
        weight = torch.tensor([[3.0, -0.1, 0.5], [-4.0, 1.0, 0.02]], dtype=torch.float64)
        s = 40 * t.detach().cos()
        want = weight + (weight * s).clamp(-limit, limit)
        value = t.detach() + 40 * t.detach().sin()
        got = clamped_residual(t, steep, limit)
        assert_close(got.detach(), value)
        (got,) = torch.autograd.grad((got * weight).sum(), t)
        explain(
            got,
            want,
            {
                "the sum of both ways was clamped here": (weight + weight * s).clamp(-limit, limit),
                "the upstream gradient was clamped, before the branch multiplied it": weight
                + weight.clamp(-limit, limit) * s,
            },
        )
    t = torch.tensor([[0.1, -0.7, 1.3], [2.0, 0.3, -1.1]], dtype=torch.float64, requires_grad=True)
    (inner_grad,) = torch.autograd.grad(t.softmax(-1), t, grad_outputs=weight)  # no elementwise branch
    want = weight + inner_grad.clamp(-0.2, 0.2)
    got = clamped_residual(t, mixed, 0.2)
    assert_close(got.detach(), (t + t.softmax(-1)).detach(), rtol=1e-12, atol=1e-12)
    for _ in range(2):
        (again,) = torch.autograd.grad(got, t, grad_outputs=weight, retain_graph=True)
        assert_close(again, want)
with check(
    "a branch that hands its gradient on unchanged leaves the direct way alone",
    weight=2,
    hint="Does your hook return a new tensor, or does it change the one that it is given?",
):
    t = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    weight = torch.tensor([3.0, -0.25, -7.0])
    want = torch.tensor([4.0, -0.5, -8.0])
    got = clamped_residual(t, shifted, 1.0)
    assert_close(got.detach(), 2 * t.detach() + 3)
    (got,) = torch.autograd.grad(got, t, grad_outputs=weight.clone())
    assert_close(got, want)
with check(
    "two calls on the same x do not disturb each other",
    weight=2,
    hint="Does something of the first call stay on x?",
):
    t = torch.tensor([0.0, 1.0], requires_grad=True)
    s = 40 * t.detach().cos()
    want = (1 + s.clamp(-5, 5)) + 2 * (1 + s.clamp(-10, 10) / 2)
    got = clamped_residual(t, steep, 5.0).sum() + (2 * clamped_residual(t, steep, 10.0)).sum()
    (got,) = torch.autograd.grad(got, t)
    assert_close(got, want)
with check(
    "x may be the result of an operation, or require no grad while the branch has a parameter",
    hint="What do you do with x that works for a leaf only? Is the branch recorded for every x?",
):
    t = torch.tensor([0.5, 2.5], requires_grad=True)
    inner_grad = 1 + (40 * (2 * t.detach()).cos()).clamp(-3, 3)
    (got,) = torch.autograd.grad(clamped_residual(2 * t, steep, 3.0).sum(), t)
    assert_close(got, 2 * inner_grad)
    t = torch.tensor([0.5, 2.5])
    got = clamped_residual(t, weighted, 0.1)
    assert got.requires_grad, "x requires no grad, and the branch's own parameter gets no gradient"
    own = torch.tensor(3.0, requires_grad=True)
    clamped_residual(t, lambda x: x * own, 0.1).sum().backward()
    assert_close(own.grad, torch.tensor(3.0), name="the gradient of the branch's own parameter")
    assert not t.requires_grad, "x requires grad now"
with check("a branch that gives zeros is in the graph", weight=1, hint="Is a branch that adds nothing also flat?"):
    t = torch.zeros(2, requires_grad=True)
    got = clamped_residual(t, steep, 7.0)
    assert_close(got.detach(), torch.zeros(2))
    (got,) = torch.autograd.grad(got, t, grad_outputs=torch.tensor([1.0, 0.1]))
    assert_close(got, torch.tensor([8.0, 4.1]))
with check("an empty x and a 0-dim x keep their shapes", guard=True):
    want = torch.tensor(2.0) + 40 * torch.tensor(2.0).sin()
    assert_close(clamped_residual(torch.tensor(2.0), steep, 1.0), want)
    assert_close(clamped_residual(torch.empty(0, 3), shifted, 2.0), torch.empty(0, 3))
### END HIDDEN TESTS

# %% [markdown]
# Gradient clipping in training is usually done after `backward`, on the `.grad` of the parameters. Could it do what
# your hook does? By that time the contributions of all ways have been added. A hook works earlier, while they are
# still apart.

# %% [markdown]
# ## A new graph for every run
#
# The graph is built while your code runs. There is no separate description of the model. Run the code again, and a new
# graph is built. In the middle of it, a `print` or a debugger shows the values of any tensor. This is called
# *define-by-run*. The first version of TensorFlow did it the other way: one first defined a graph, and then ran it with
# data.
#
# So an `if` or a `while` may look at the values of tensors. How many divisions will the graph hold for each of the
# two inputs in the next cell? Does the graph know that there was a `while`?


# %% given
def halve_until_small(x):
    while x.abs().max() > 1:
        x = x / 2
    return x.sum()


for start in (3.0, 100.0):
    x = torch.tensor([start, 0.5], requires_grad=True)
    y = halve_until_small(x)
    y.backward()
    print(f"start {start}: value {y.item():.4f}  gradient {x.grad.tolist()}")

x = torch.tensor([3.0, 0.5], requires_grad=True)
show_graph(halve_until_small(x), {"x": x})

# %% [markdown]
# Read the gradients. Two divisions leave 0.25 for 3, and seven leave 0.0078 for 100. The graph holds what was done, not
# what could have been done. `while` itself leaves no node, and neither does the comparison.

# %% [markdown]
# ## How large is a graph?
#
# You know all parts now: start at `grad_fn`, follow `next_functions`, stop at `None`. Counting nodes sounds like
# three lines of recursion. The next cell tries it on a tensor that is added to itself again and again. How many nodes
# does the graph have after 3, 6, 9 and 12 additions? What will the recursion say?


# %% given
def doubled(x, times):
    for _ in range(times):
        x = x + x
    return x


def count_by_recursion(node):
    return 1 + sum(count_by_recursion(following) for following, _ in node.next_functions if following is not None)


x = torch.tensor(1.0, requires_grad=True)
for times in (3, 6, 9, 12):
    print(f"{times:2} additions: recursion counts {count_by_recursion(doubled(x, times).grad_fn)}")
show_graph(doubled(x, 3), {"x": x})

# %% [markdown]
# Each addition has two edges to the same node. The recursion visits a node once for every *path* that leads to it,
# and the paths double each time. After 40 additions there would be about two million million visits, for 41 nodes.
# And a second trouble is waiting: a graph may be deeper than the 1,000 nested calls that Python allows.
#
# So you have to remember which nodes were counted. `id(node)` looks like a good mark: it is the number by which Python
# tells living objects apart. The next cell makes five graphs, one after the other, and puts the id of the first node of
# each into a set. Then it does the same with five more graphs and the nodes themselves. How many entries will each of
# the two sets have?

# %% given
x = torch.tensor(1.0, requires_grad=True)
ids, nodes = set(), set()
for _ in range(5):
    ids.add(id((x * 2).grad_fn))
for _ in range(5):
    nodes.add((x * 2).grad_fn)
print(len(ids), "different ids,", len(nodes), "different nodes")

# %% [markdown]
# All five nodes had the same id. A node lives as long as something holds it: the tensor that it belongs to, a node that
# leads to it, or a variable or collection of yours. In the first loop nothing does. The node is freed, and Python may
# give its id to the next object. The second loop keeps the nodes, so each has an id of its own. The same happens on a
# walk along the graph of `f(x)`: once the result is gone, the nodes that you leave behind are freed, one by one. So
# keep the nodes, not their ids. A node can stand in a set.
#
# ### Your turn
# Count the distinct nodes, of large and deep graphs too.


# %% given
# Functions to try your solution on. The checks use them too, and others from this section.
def polynomial(x):
    return (x * x + 3 * (x + 1)).sum()


def doubled_twelve_times(x):
    return doubled(x, 12)


def spread(x):
    """One operation with several results, which meet again."""
    first, second, third = x.reshape(3, -1).unbind(0)
    return (first * second + third).sum()


def deep(x):
    for _ in range(3000):
        x = x.sin()
    return x


def second_of_two(x):
    return 2 * x.unbind(0)[1]


def three_inputs(x):
    return torch.stack([x.sin(), x.cos(), x.exp().log()])


def with_own_leaf(x):
    scale = torch.full_like(x, 2.0, requires_grad=True)
    return ((scale * x).exp() + scale).sum()


def unchanged(x):
    return x


# %% given
hint(
    "What do you have to remember in order not to count a node twice?",
    "Keep two collections: the nodes that you have seen, and the nodes that you still have to look at. When does a "
    "node join each of them?",
)


# %% exercise: graph_size
def graph_size(f, x: Tensor) -> int:
    """The number of distinct nodes in the graph behind f(x), with the AccumulateGrad nodes.

    f: a function of one tensor that returns a tensor. x: any floating-point tensor; it may require grad or not.
    The graph may share nodes between many paths, and may be thousands of nodes deep.
    0 where f(x) has no grad_fn.
    """
    ### BEGIN SOLUTION
    root = f(x).grad_fn
    seen = set() if root is None else {root}
    waiting = list(seen)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return len(seen)
    ### END SOLUTION


# %% check: graph_size points=4
with check("the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes", weight=3, required=True):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    got = graph_size(polynomial, t)
    explain(
        got,
        6,
        {
            "nodes that two edges lead to were counted twice: this is the number of visits": 8,
            "these are the edges, not the nodes": 7,
            "the AccumulateGrad node is a node too": 5,
            "nodes were freed while you counted, and others got their ids: keep the nodes, not their ids": 3,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "a node that many paths lead to counts once",
    weight=2,
    required=True,
    hint="How do you know that you have been at a node already?",
):
    t = torch.tensor(1.5, requires_grad=True)
    explain(
        graph_size(doubled_twelve_times, t), 13, {"every path was counted": 2**13 - 1, "the edges were counted": 24}
    )
with check(
    "the size depends on what was run, not on the code",
    weight=2,
    required=True,
    hint="Is the graph that you count the one of this call?",
):
    for begin, want in ((0.5, 2), (3.0, 4), (100.0, 9)):
        t = torch.tensor([begin], requires_grad=True)
        assert_close(graph_size(halve_until_small, t), want)
with check(
    "an operation with several results is one node",
    weight=2,
    hint="What does the second part of a pair in next_functions tell apart?",
):
    t = torch.linspace(0, 1, 6, dtype=torch.float64, requires_grad=True)
    explain(graph_size(spread, t), 6, {"the results of one operation were counted as nodes of their own": 8})
    assert_close(graph_size(second_of_two, t), 3)  # only the second result is used
    assert_close(graph_size(three_inputs, t), 6)  # three inputs
with check("all leaves are counted, not only x", weight=2, hint="Do you follow every entry of next_functions?"):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    assert_close(graph_size(with_own_leaf, t), 6)
    assert_close(graph_size(with_own_leaf, t.detach()), 5)
    assert_close(graph_size(with_own_leaf, t * 2), 7)  # x has a history
with check(
    "a graph of 3001 nodes in one line is counted",
    weight=3,
    hint="How many calls may be nested in Python? What could remember the open ends instead?",
):
    t = torch.tensor(0.5, requires_grad=True)
    assert_close(graph_size(deep, t), 3001)
with check("where nothing is recorded, the size is 0", hint="What is the grad_fn of such a result?"):
    t = torch.tensor([1.0, 2.0])
    assert_close(graph_size(polynomial, t), 0)
    assert_close(graph_size(unchanged, t.requires_grad_()), 0)
with check("x keeps its .grad", guard=True, hint="Does counting need a backward pass?"):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    graph_size(polynomial, t)
    assert t.grad is None, "x has a .grad now"
### END HIDDEN TESTS

# %% [markdown]
# `backward` has the same problem, and a stronger one. It must not only visit each node once. It must visit it *late
# enough*: after the gradients from all edges that lead to it have arrived and been added up. So it first counts, for
# each node, how many edges lead there. A node runs when its count has come down to zero. The order that comes out is
# called a topological order. What would be wrong with `x.grad` if a node ran as soon as the first gradient arrived?

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. You may try things out in the scratch cell below. In an interview you could not. A question counts only if all
# of its letters are right, and one right question alone pays nothing.
#
# **q1. The graph**
# - a. Its nodes are backward functions. A tensor that was made by a recorded operation holds its node in `grad_fn`.
# - b. A tensor with `requires_grad=True` always has a `grad_fn`.
# - c. The entries of `next_functions` say which nodes get the gradient next.
# - d. An operation whose inputs all require no grad adds no node.
# - e. Each node keeps the Jacobian of its operation.
#
# **q2. Define-by-run**
# - a. For an `if`, both branches are recorded, and `backward` takes the right one.
# - b. The graph is built anew each time the code runs.
# - c. A loop may run a different number of times for each input, and the gradients are still right.
# - d. In the first version of TensorFlow, a graph was defined first and run with data afterwards.
# - e. You may stop in a debugger in the middle of the forward pass and print a tensor's values.
#
# **q3. Leaves and `.grad`**
# - a. `backward` fills `.grad` of every tensor that requires grad.
# - b. A tensor that does not require grad is a leaf.
# - c. `torch.zeros(3, requires_grad=True) + 0.01` is a leaf.
# - d. `retain_grad()` has to be called before `backward`.
# - e. `torch.autograd.grad(loss, w)` leaves `w.grad` as it was.
#
# **q4. Vector-Jacobian products**, with `y` of shape (3,), computed from a leaf `x` of shape (5,) that requires grad,
# and `J` the Jacobian
# - a. `y.backward()` without an argument raises an error.
# - b. `y.backward(v)` adds `v @ J` to `x.grad`.
# - c. `y.backward(torch.ones(3))` and `y.sum().backward()`, each on a fresh graph, give the same gradient.
# - d. The whole Jacobian takes three vector-Jacobian products.
# - e. If `y` had the shape (1, 1), `backward()` without an argument would raise an error.
#
# **q5. Why gradients are set to zero or `None` in a training loop**
# - a. Without it, `.grad` after the third batch is the sum of the gradients of three batches.
# - b. `backward` raises an error where `.grad` is not zero or `None`.
# - c. Before the first `backward`, `w.grad.zero_()` raises an error.
# - d. After `g = w.grad`, `g` keeps its numbers whatever happens in the next `backward`.
# - e. `w.grad = None` and `w.grad.zero_()` lead to the same `w.grad` after the next `backward` in which `w` takes part.
#
# **q6. What cuts the graph**
# - a. `.item()` gives a Python number, and what you compute from it does not lead back.
# - b. `torch.tensor(t * 3, requires_grad=True)` leads back to `t`, since it requires grad.
# - c. A cut is repaired by calling `requires_grad_()` on the result.
# - d. In `x[x.argmax()]` a gradient reaches the element of `x` that was taken.
# - e. `.numpy()` raises an error on a tensor that requires grad.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "acd", "q2": "bcde", "q3": "bde", "q4": "abcd", "q5": "ace", "q6": "ade"}
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
    assert_some_right(interview(), {"q1": "acd", "q2": "bcde", "q3": "bde", "q4": "abcd", "q5": "ace", "q6": "ade"})
with check("q1: the graph", weight=4, hint="What does exp keep? What is the grad_fn of a leaf?"):
    assert_letters(interview(), "q1", "acd")
with check("q2: define-by-run", weight=4, hint="What did the graph of halve_until_small show of its while?"):
    assert_letters(interview(), "q2", "bcde")
with check(
    "q3: leaves and .grad",
    weight=4,
    hint="Which of w1, w2 and w3 were leaves, and what had a .grad after backward?",
):
    assert_letters(interview(), "q3", "bde")
with check("q4: vector-Jacobian products", weight=4, hint="How many rows does J have? What counts as a scalar?"):
    assert_letters(interview(), "q4", "abcd")
with check("q5: zero or None", weight=4, hint="What did the name first show after the second backward?"):
    assert_letters(interview(), "q5", "ace")
with check("q6: cuts", weight=4, hint="Which of the six lines under 'What cuts the graph?' kept their history?"):
    assert_letters(interview(), "q6", "ade")
### END HIDDEN TESTS

# %% [markdown]
# Were there statements that you believed a while ago? Write them down. They are what to explain to the next person.

# %% [markdown]
# ## In your own words (2 points)
#
# A model has ten million parameters, 1,000 outputs in its last layer, and one loss. Somebody proposes three ways to
# get the gradient of the loss: finite differences; carrying all slopes forward, as `value_and_slope` did; and
# `backward`. Somebody else wants the Jacobian of the 1,000 outputs as well.
#
# In four to eight sentences: about how many passes through the model does each of the three ways cost for the
# gradient of the loss, and why? How many does `backward` need for the Jacobian? What are finite differences still
# good for?

# %% question: cost_of_gradients [markdown] points=2
# ### BEGIN SOLUTION
# Finite differences change one parameter at a time, so they need about one or two forward passes for each parameter:
# ten or twenty million, and the result is only approximate. Carrying slopes forward needs one slope for each parameter
# next to every value. That is the work of ten million forward passes, although it is exact. `backward` needs one
# forward pass, which writes the graph, and one backward pass, which costs about as much as two forward passes.
# It starts from one number, the loss, and each node turns one upstream gradient into the gradients of its inputs. So
# the cost depends on the number of outputs, and not on the number of inputs. It pays with memory: what the nodes keep
# stays until `backward` has run. For the Jacobian of 1,000 outputs, it needs 1,000 backward passes, one vector-Jacobian
# product for each row. Finite differences remain useful as a test: they need no derivative, so they find mistakes in
# gradients that were written by hand, best in float64 and with a step that is not too small.
#
# For grading: one point for the count of passes with its reason (inputs against outputs), one for the Jacobian and for
# finite differences as a test.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - An operation is recorded if an input requires grad. Nodes are backward functions, edges are `next_functions`.
# - The walk ends at leaves. Only leaves get a `.grad`, unless you call `retain_grad()`.
# - `backward(v)` computes a vector-Jacobian product. A Jacobian takes one for each output.
# - `.grad` accumulates, and `g = x.grad` is an alias. `torch.autograd.grad` touches no `.grad`.
# - The mean over all samples is not the mean over batches.
# - `.item()`, `.numpy()` and `torch.tensor(...)` end the graph. `requires_grad=True` on what came out hides that.
# - A hook sees a tensor's whole gradient, from all uses. To see one use, give it a tensor of its own.
# - The graph is made anew in every run, and holds what was done.
#
# Lab 4 goes on from here: how to stop recording, how to let go of a history, and how to go through a graph twice.
