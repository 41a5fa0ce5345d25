# %% [markdown]
# # Functions of your own, and functions of functions
#
# Autograd knows a derivative for each of PyTorch's operations. Sometimes you need another one: there's none, it loses
# its digits, or you want the model to learn something else. You write derivatives, one of which lets the digits script
# learn one-bit weights. Then you use functions that work on functions.
#
# After this lab, you'll be able to
#
# - write an `autograd.Function`, and say what each of its parts is for;
# - give a step function a usable gradient, and recognize a common mistake in doing so;
# - write a derivative that keeps its digits far from zero;
# - test a derivative against finite differences, and say what that misses;
# - compute per-sample gradients, batched Jacobians and the predictions of many models with `torch.func`.
#
# You need labs 3 and 4. Plan two sittings of about an hour for the text and the five core exercises: `ste_sign`,
# `LinearFunction`, `log_sigmoid`, `check_grad` and `per_sample_grads`. The three under *Further practice* earn no
# points, and no later lab needs them. All numbers were measured with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise, a card shows its checks. Those
# marked *later* run when the lab is marked: press *Mark my work*, or hand it in.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import copy
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    probes,
    show_over,
    show_straight_through,
    use_device,
)

# %% given
here = use_device()  # where new tensors are created: on the GPU, if there is one

# %% [markdown]
# ## A step has no slope
#
# Weights that are only -1 or 1 would shrink the digits network to one bit per weight. But to train it, you need a
# gradient through the step from -1 to 1. What does autograd say about rounding? And about a comparison?

# %% example
x = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
x.round().sum().backward()
print("gradient of round ", x.grad.tolist())
print("x >= 0 has history", (x >= 0).float().requires_grad)

# %% [markdown]
# Rounding has a derivative, but it's zero almost everywhere, so nothing is learned. A comparison returns a `bool`
# tensor. It has no `grad_fn`, and neither does anything computed from it.
#
# A *straight-through estimator* keeps the step in the forward pass, and ignores it in the backward pass. It isn't a
# derivative but a choice, so you have to define it yourself.
#
# ### `autograd.Function`
#
# You define it in a class with static methods. `forward` computes the result without recording. `backward` takes the
# gradient with respect to the result, and returns the gradient with respect to the input. In lab 3, these were the
# upstream gradient `v` and the product `v @ J`. `setup_context` is called after `forward`, with its inputs and output,
# and saves what `backward` will need in `ctx`. You don't call these methods yourself, but `apply`.


# %% example
class RoundThrough(torch.autograd.Function):
    """round(x), with the gradient of x."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass  # backward needs nothing

    @staticmethod
    def backward(ctx, upstream):
        return upstream


x = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
y = RoundThrough.apply(x)
y.backward(torch.tensor([1.0, 2.0, 3.0, 4.0]))
print(y)
print(x.grad)

# %% [markdown]
# The picture shows the step with two backward passes. Move the point: the red line has the slope that backward reports
# there. What would gradient descent learn from each?

# %% example
show_straight_through({"torch.round": torch.round, "RoundThrough": RoundThrough.apply})

# %% [markdown]
# From the first it learns nothing, wherever the point is. The second follows the straight line through the steps.
#
# An older form, with `forward(ctx, x)` and no `setup_context`, still works with `backward`, but not with `torch.func`,
# which you'll use later in this lab.
#
# ### The clipped estimator
#
# The plain estimator has a weakness. No small change to an `x` of 3 changes the result, but it still gets gradients,
# and may move farther and farther away. The solution is to send no gradient where $|x| > 1$. The next cell contains a
# widely copied attempt. Its inputs are $-3$, $-0.5$, $0.5$ and $3$, in `float64`, each with an upstream gradient of 5.

# %% predict: misprint
# **Predict.** Which gradients does this code give for the four inputs?
#
# - [ ] 0, 5, 5, 0
# - [ ] 5, 5, 5, 5
# - [ ] 0, 1, 1, 0
# - [x] 1, 1, 1, 1


# %% example
class Copied(torch.autograd.Function):
    """The widely copied version."""

    @staticmethod
    def forward(x):
        return (x > 0).float()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, upstream):
        return upstream.clamp(-1, 1)


x = torch.tensor([-3.0, -0.5, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
y = Copied.apply(x)
y.backward(torch.full_like(y, 5.0))
print("gradient", x.grad.tolist())
print("dtype   ", y.dtype)

# %% [markdown]
# It gives 1, 1, 1, 1, because it clamps the wrong number. The `x` values at -3 and 3 still get a gradient, and those at
# -0.5 and 0.5 lose four fifths of theirs. The right answer is 0, 5, 5, 0. If all upstream gradients are small, this
# mistake acts like the plain estimator, and a test with `y.sum().backward()` shows a gradient of ones for both.
#
# Also, the result is always `float32`, whatever the input's dtype.
#
# ### Your turn: ste_sign
# Write the clipped estimator correctly. This warm-up takes about ten minutes.

# %% given
hint(
    "The mask depends on x, but backward doesn't receive x. How does it get it? Look at ctx.save_for_backward and "
    "ctx.saved_tensors.",
    "You need your own class above the function, in the same cell. Which dtype does torch.where(x >= 0, 1.0, -1.0) "
    "have for a float64 x? x.new_ones(()) has x's dtype.",
)

# %% exercise: ste_sign points=3 level=easy

# %% [markdown]
# The next picture shows the gradient with respect to `x` for three estimators, for upstream gradients of 0.5, 1 and 5.
# Choose a panel. For which upstream gradients can't you tell the mistake from the plain estimator?

# %% example
places = torch.linspace(-2, 2, 401)
inside = (places.abs() <= 1).float()
show_over(
    places,
    {
        f"upstream {upstream}": {
            "plain": torch.full_like(places, upstream),
            "upstream clamped": torch.full_like(places, upstream).clamp(-1, 1),
            "clipped by x": upstream * inside,
        }
        for upstream in (0.5, 1.0, 5.0)
    },
)

# %% answer [markdown]
# For 0.5 and 1: clamping to [-1, 1] doesn't change numbers in that range. Only the panel for 5 shows the difference:
# the mistake gives 1, and the plain estimator 5.

# %% [markdown]
# ### The digits with one-bit weights
#
# The digits script's network has 4,736 weights of 32 bits, apart from its biases. Can it read the digits with one bit
# per weight? AdamW changes `float32` weights; the network uses their signs, divided by 8. Run the next cell with each
# value of `way`: `"float"` takes signs only after training, `"sign"` in training too, and so does `"through"`, but with
# a straight-through gradient. Which way learns, and why do the others fail?

# %% scratch
from sklearn.datasets import load_digits

way = "float"

torch.manual_seed(0)
mixed = torch.randperm(1797)
pixels = ((torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8)[mixed]
answers = torch.tensor(load_digits().target)[mixed]


class SignThrough(torch.autograd.Function):
    @staticmethod
    def forward(weight):
        return torch.where(weight >= 0, 1.0, -1.0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, upstream):
        return upstream


def read_digits(rows, bit):
    return (pixels[rows] @ bit(first)).relu() @ bit(second)


bits = {"float": torch.clone, "sign": lambda w: w.sign() / 8, "through": lambda w: SignThrough.apply(w) / 8}
first, second = ((torch.randn(64, columns) / 8).requires_grad_() for columns in (64, 10))
adamw = torch.optim.AdamW([first, second], lr=3e-3)
for rows in torch.cat([torch.randperm(1500) for _ in range(10)]).split(100):
    loss = F.cross_entropy(read_digits(rows, bits[way]), answers[rows])
    adamw.zero_grad()
    loss.backward()
    adamw.step()
for name, used in {"as in training": bits[way], "in one bit each": bits["sign"]}.items():
    is_right = read_digits(torch.arange(1500, 1797), used).argmax(dim=1) == answers[1500:]
    print(f"weights {name:15}  right {is_right.float().mean():.0%}")

# %% answer [markdown]
# | `way` | as in training | in one bit each |
# |---|---|---|
# | `"float"` | 95% | 72% |
# | `"sign"` | 5% | 5% |
# | `"through"` | 93% | 93% |
#
# The gradient of `sign` is 0, so with `"sign"` nothing is learned: AdamW only shrinks the weights a little, and their
# signs never change. With `"float"`, the network learns, but no training step has seen how rounding to signs changes
# every layer's result. With `"through"`, the loss is that of the one-bit network, and each gradient changes the
# `float32` weight behind the sign until the sign flips.

# %% [markdown]
# That's 93% with 592 bytes of weights instead of 18,944. Lab 9 trains the script with 16 bits.

# %% [markdown]
# ## What `backward` may use
#
# If you write your own layer for the digits network, an in-place update can silently change its gradients. For example,
# `backward` for `x * x` needs `x`. You can keep it with `ctx.save_for_backward(x)`, or simply write `ctx.x = x`. In the
# next cell, `x` is changed in place between the two passes, from 3 to 30. The right gradient for 3 is 6.

# %% predict: kept_by
# **Predict.** What does `backward` do in each case after that change?
#
# - [ ] both give 6
# - [ ] both raise an error in backward
# - [x] the attribute gives 60, and `save_for_backward` raises an error
# - [ ] the attribute gives 60, and `save_for_backward` gives 6


# %% example
class SquareByAttribute(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x = inputs[0]

    @staticmethod
    def backward(ctx, upstream):
        return 2 * ctx.x * upstream


class SquareSaved(SquareByAttribute):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return 2 * x * upstream


for function in (SquareByAttribute, SquareSaved):
    x = torch.tensor(3.0, requires_grad=True)
    y = function.apply(x)
    with torch.no_grad():
        x.mul_(10)
    try:
        y.backward()
        print(function.__name__, x.grad.item())
    except RuntimeError as error:
        print(function.__name__, "raises", type(error).__name__)

# %% [markdown]
# The attribute silently gives 60. Each tensor has a version number that every in-place change increases. For a saved
# tensor, `backward` compares it with the version at saving (see lab 5) and raises an error. So save tensors with
# `save_for_backward`. Use attributes of `ctx` for numbers, shapes and flags.
#
# There are two more rules. `backward` returns one gradient for each argument of `forward`, in order, and `None` for an
# argument that isn't a tensor. It may also return `None` for a tensor whose gradient isn't needed:
# `ctx.needs_input_grad` has one flag for each argument.
#
# What will the flags be in the next cell, where `scale` is a plain number?


# %% example
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, scale):
        return scale * x * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.scale = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, upstream):
        print("needs", ctx.needs_input_grad)
        x, weight = ctx.saved_tensors
        return upstream * ctx.scale * weight, upstream * ctx.scale * x, None


weight = torch.tensor(2.0, requires_grad=True)
Scaled.apply(torch.tensor(5.0), weight, 3.0).backward()
print("weight.grad", weight.grad)

# %% [markdown]
# Only the flag of `weight` is true. `x` doesn't require grad, so its gradient was computed for nothing and thrown away.
# In a linear layer, each of the two gradients is a matrix product as large as the one in `forward`. In a network's
# first layer, where `x` is data, you can skip one of them.
#
# ### Your turn: LinearFunction
# Write the linear layer. Note the shapes next to each product: with square matrices, a wrongly transposed one still
# runs.

# %% given
hint(
    "The shapes: x (n, i), weight (o, i), upstream (n, o). Which products give (n, i) and (o, i)? What is the gradient "
    "of a bias that's added to n rows?",
    "Can saved tensors be detached or copied if the gradient is differentiated again? And if there's no bias, what's "
    "the third gradient?",
)

# %% exercise: LinearFunction points=5 level=medium

# %% [markdown]
# If `setup_context` kept `weight.detach()`, the first gradients would be right, but the gradient of a gradient, as in
# lab 4, would silently miss a part.
#
# ## Against the gradient
#
# Suppose half of your digits come from another scanner, and the network's features should help to read a digit but not
# reveal the scanner. You train a second head on top of the features that guesses the scanner. The head should get
# better at guessing, while the features should make it harder: one loss, two opposite goals.
#
# A *gradient reversal* between the features and the head does nothing in the forward pass, and multiplies the gradient
# by `-lam` in the backward pass.
#
# Its `forward` has two arguments, `x` and `lam`. The `Function` in the next cell breaks one of the rules above. Which
# one? And when is the error raised?


# %% example
class Forgetful(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, upstream):
        return -ctx.lam * upstream


x = torch.tensor(3.0, requires_grad=True)
try:
    Forgetful.apply(x, 0.5).backward()
except RuntimeError as error:
    print("RuntimeError:", error)

# %% [markdown]
# Two arguments went in, so backward has to return two gradients. The second is `None`. The error is raised only in the
# backward pass.
#
# You'll use two functions from `torch.func` later in this lab: `grad` computes a function's gradient, and `vmap` runs a
# function for a whole batch at once. `grad` works with your `Function` unchanged. For `vmap`, you have to allow it: the
# class attribute `generate_vmap_rule = True` says that all methods consist of PyTorch operations on tensors and can be
# batched.
#
# ### Your turn: grad_reverse
# Write the gradient reversal.

# %% given
hint(
    "Which of forward's arguments are tensors? What does backward return for the others?",
    "You can do it without a class: a hook, as in lab 3, may return another gradient. On which tensor does it have to "
    "be, so other paths through x don't change? (x times -lam plus a constant isn't x where x is infinite.)",
)

# %% exercise: grad_reverse points=3 level=easy further

# %% [markdown]
# ## Digits in the tail
#
# If the digits network only has to say whether a digit is a 7, its loss contains the logarithm of a sigmoid $\sigma$,
# and an input of 30 already loses every digit in careless code. The logarithm is $-\log(1 + e^{-x})$, and its
# derivative is $1 - \sigma(x)$. At 30, the true value is about $-9.4 \cdot 10^{-14}$, and the true derivative $9.4
# \cdot 10^{-14}$. The next cell computes both in three ways. The second is a `where` that uses, on each side, the
# formula that doesn't overflow there.

# %% predict: where_in_tail
# **Predict.** What does the version with `where` give at -100?
#
# - [ ] the right value, and the right gradient
# - [x] the right value, and NaN as the gradient
# - [ ] NaN as the value, and NaN as the gradient
# - [ ] `-inf` as the value, and 0 as the gradient


# %% given
class OneMinus(torch.autograd.Function):
    """A log-sigmoid with its textbook derivative."""

    @staticmethod
    def forward(x):
        return F.logsigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return upstream * (1 - x.sigmoid())


def chosen(x):
    """Use the formula that doesn't overflow on each side."""
    return torch.where(x >= 0, -torch.log1p(torch.exp(-x)), x - torch.log1p(torch.exp(x)))


FORMULAS = {"log(sigmoid(x))": lambda x: x.sigmoid().log(), "where": chosen, "1 - sigmoid": OneMinus.apply}
for label, formula in FORMULAS.items():
    for number in (-100.0, 30.0, 100.0):
        x = torch.tensor(number, requires_grad=True)
        y = formula(x)
        y.backward()
        print(f"{label:16} x {number:6}  value {y.item():11.4g}  gradient {x.grad.item():.4g}")

# %% [markdown]
# Three things go wrong.
#
# - `log(sigmoid(x))` underflows: `sigmoid(-100)` is 0 in `float32`, its logarithm is `-inf`, and the gradient is NaN.
# - `where` has the right values, but its gradients are NaN on both sides. It computes both formulas, and backward goes
#   through both. The one that wasn't chosen overflowed, and its gradient is 0 times infinity.
# - `1 - sigmoid(x)` is 0 at 30. `sigmoid(30)` differs from 1 by 9.4e-14, and the nearest `float32` number is 1, so the
#   subtraction gives 0. `sigmoid(-x)` is the same number, with all its digits.
#
# `F.logsigmoid` has the right values and gradients. But look at its second derivative. The picture shows the relative
# error of four functions in `float32`, from -100 to 100, for the value, the gradient and the second derivative. 1e-7 is
# the best possible, and 1 means that no digit is right. Gaps are NaN. Choose a panel: which functions are right
# everywhere in it?


# %% given
def derivatives(function, x):
    """Return the values of an elementwise function, its derivative and its second derivative."""
    x = x.detach().clone().requires_grad_()
    value = function(x)
    (first,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return [t.detach() for t in (value, first, second)]


def true_log_sigmoid(x):
    """Return the same three in float64, without subtracting nearly equal numbers."""
    x = x.detach().double()
    value = x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))
    return [value, torch.sigmoid(-x), -torch.sigmoid(x) * torch.sigmoid(-x)]


# Below 1e-36, float32 has few digits whatever you do, so errors there are measured relative to 1e-36.
places = torch.linspace(-100, 100, 402)
errors = {title: {} for title in ("value", "gradient", "second derivative")}
for label, formula in {**FORMULAS, "F.logsigmoid": F.logsigmoid}.items():
    for title, found, true in zip(errors, derivatives(formula, places), true_log_sigmoid(places), strict=True):
        errors[title][label] = ((found - true) / true.abs().clamp(min=1e-36)).abs().clamp(1e-9, 1)
show_over(places, errors, log=True)

# %% answer [markdown]
# For values, all but `log(sigmoid(x))`. For gradients, only `F.logsigmoid`: `where` has a relative error of at most
# 1.1e-7, but NaN from about 89 on, in both directions. For second derivatives, none: `where` is NaN there too, and the
# others have errors of up to 1.

# %% [markdown]
# A penalty on the size of a gradient needs a second derivative. So does Newton's method, and code that differentiates
# through a training step.
#
# ### Your turn: log_sigmoid
# Write a log-sigmoid that's right in all three panels. You may write one `Function`, several, or none.

# %% given
hint(
    "Which of PyTorch's operations are right far from zero? If backward consists of such operations, it's "
    "differentiated by their rules. What's the rule for sigmoid?",
    "The derivative is sigmoid(-x), and sigmoid(-x) is exp(log_sigmoid(-x)). May backward call its own Function? "
    "Without a Function: what has to go into each side of where, so the side that isn't chosen stays harmless?",
)

# %% exercise: log_sigmoid points=4 level=hard

# %% [markdown]
# You can also do it without a `Function`: use `where` with inputs that are harmless on both sides. The formula for
# positive `x` gets `x.clamp(min=0)`, and the other one `x.clamp(max=0)`. There's a trap, though: all values of
# `x.clamp(max=0) - log1p(exp(-abs(x)))`, the reference for the picture, are right, but its gradient at exactly 0 is 1.0
# instead of 0.5: two kinks meet there, and autograd chooses a slope for each of them separately.
#
# `backward` is code like any other: it can lose digits that `forward` keeps, and its own derivative can lose more.

# %% [markdown]
# ## A good place to stop
#
# You can write a derivative that keeps its digits. Next you write a test for derivatives, and then you use
# `torch.func`. After a break, Python has forgotten everything. Choose *Run > Run All Above Selected Cell* (in Colab,
# *Runtime > Run before*), or press *Check*, which runs what it needs.

# %% [markdown]
# ## Testing a derivative
#
# A wrong derivative raises no error; your digits network just learns badly. So test your derivatives. The usual test
# moves each input a little and looks at how the outputs change. The *central difference* is
#
# $$\frac{f(x + h) - f(x - h)}{2 h}$$
#
# How small should $h$ be? In the next cell, $f(x) = x^2$ and $x = 1.3$. The true slope is 2.6.

# %% predict: smallest_step
# **Predict.** Which slope do you get for `h = 1e-8`, in `float32` and in `float64`?
#
# - [ ] 2.6 in both
# - [ ] about 2.4 in `float32`, and 2.6 in `float64`
# - [x] 0 in `float32`, and 2.6 to seven digits in `float64`
# - [ ] NaN in `float32`, and 2.6 to seven digits in `float64`

# %% example
for step in (1e-2, 1e-4, 1e-6, 1e-8):
    slopes = []
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(1.3, dtype=dtype)
        slopes.append(((x + step) ** 2 - (x - step) ** 2) / (2 * step))
    print(f"h {step:.0e}  float32 {slopes[0].item():.6f}  float64 {slopes[1].item():.10f}")

# %% [markdown]
# In `float32`, $x + h$ equals $x$ for an $h$ of 1e-8. The largest $h$ looks good only because the central difference of
# a square is exact except for rounding. For most functions it isn't, and its error grows with $h$. So there's hardly
# any good $h$ in `float32`, and plenty of room in `float64`. That's why `torch.autograd.gradcheck` wants `float64`: in
# `float32`, it rejects `x ** 2`.
#
# A test has to look at all entries of the Jacobian, at a point that isn't special, and with more than one upstream
# gradient. Which of the wrong functions in the next cell pass a test that looks only at `f(x).sum().backward()`?


# %% given
def with_backward(forward, backward):
    """Return a function with this forward(x) and with backward(x, result, upstream), in the older form."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = forward(x)
            ctx.save_for_backward(x, result)
            return result

        @staticmethod
        def backward(ctx, upstream):
            return backward(*ctx.saved_tensors, upstream)

    return Made.apply


SUSPECTS = {
    "exp": with_backward(lambda x: x.exp(), lambda x, y, up: y * up),
    "exp without upstream": with_backward(lambda x: x.exp(), lambda x, y, up: y),
    "softmax": with_backward(lambda x: x.softmax(0), lambda x, y, up: y * (up - (up * y).sum())),
    "softmax, diagonal": with_backward(lambda x: x.softmax(0), lambda x, y, up: y * (1 - y) * up),
    # The outputs are 2 * x in reverse order, but the gradient isn't reversed.
    "wrong order": with_backward(lambda x: 2 * x.flip(0), lambda x, y, up: 2 * up),
    "x * |x|, right for x > 0": with_backward(lambda x: x * x.abs(), lambda x, y, up: 2 * x * up),
    "step": with_backward(lambda x: (x > 0).to(x.dtype), lambda x, y, up: up),
}

x = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
for label, function in SUSPECTS.items():
    (found,) = torch.autograd.grad(function(x).sum(), x)
    print(f"{label:25} gradient of the sum", [round(number, 4) for number in found.tolist()])

# %% answer [markdown]
# "exp without upstream", "wrong order" and "x * |x|": they print the true gradients of the sum, which are those of
# "exp", then 2 and 2, and 1.4 and 2.6 at these points. The sums of "softmax, diagonal" and "step" have a true gradient
# of 0, so the test catches these two.

# %% [markdown]
# ### Your turn: check_grad
# Write the test. Compare autograd's derivative with central differences, for every output and every input.

# %% given
hint(
    "Lab 3's Jacobian has one row for each output. Finite differences give one column for each input. Where do they "
    "meet?",
    "Move one element of a copy of x. What's the gradient of an output that doesn't depend on x at all? "
    "torch.autograd.grad(..., retain_graph=True, materialize_grads=True) returns zeros for it, if it has a history.",
)

# %% exercise: check_grad points=5 level=medium

# %% [markdown]
# What should such a test say about `RoundThrough`, and what can't it see? At 30, `OneMinus` from above has no right
# digit in `float32`, and only a few in `float64`. The next cell uses PyTorch's own test, which would have passed the
# checks of `check_grad` with its default tolerances.

# %% predict: judged
# **Predict.** Which of these does `gradcheck` accept? Select all that apply.
#
# - [ ] `RoundThrough`, in `float64`
# - [x] `OneMinus` from -5 to 5, in `float64`
# - [x] `OneMinus` from -40 to 40, in `float64`
# - [ ] `x ** 2`, in `float32`

# %% example
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # gradcheck warns about float32
    for label, function, x in (
        ("RoundThrough, float64       ", RoundThrough.apply, torch.linspace(-4, 4, 9, dtype=torch.float64)),
        ("OneMinus, float64, -5 to 5  ", OneMinus.apply, torch.linspace(-5, 5, 9, dtype=torch.float64)),
        ("OneMinus, float64, -40 to 40", OneMinus.apply, torch.linspace(-40, 40, 9, dtype=torch.float64)),
        ("x ** 2, float32             ", torch.square, torch.linspace(-5, 5, 9)),
    ):
        print(label, torch.autograd.gradcheck(function, x.requires_grad_(), raise_exception=False))

# %% [markdown]
# It rejects `RoundThrough`, as it should: an estimator isn't a derivative. Test the values of its gradient instead. It
# accepts `OneMinus` even in the tail, because 0 instead of 4e-18 is within its absolute tolerance. And it rejects `x **
# 2` in `float32`, although nothing is wrong with it. So it finds wrong formulas, but not lost digits, and it knows only
# the points and the dtype you pass.

# %% [markdown]
# ## Functions of functions
#
# To find mislabeled digits, you need each image's own gradient, not only the mean. `torch.func` contains functions that
# take a function and return another one. `torch.func.grad(f)` is the function that computes the gradient of `f`. What
# will `x.grad` be in the next cell? And what happens if `f` returns more than one number?


# %% example
def cubes(t):
    return (t**3).sum()


x = torch.tensor([1.0, 2.0], requires_grad=True)
print("grad     ", torch.func.grad(cubes)(x).tolist(), " x.grad", x.grad)
try:
    torch.func.grad(torch.square)(x)
except RuntimeError as error:
    print("grad     ", type(error).__name__)
print("jacrev   ", torch.func.jacrev(torch.square)(x).tolist())
value, back = torch.func.vjp(torch.square, x)
print("vjp      ", back(torch.tensor([1.0, 10.0]))[0].tolist())

# %% [markdown]
# `grad` doesn't write to `.grad`, and it requires a function that returns one number. For more numbers, use `jacrev`,
# which computes the whole Jacobian, or `vjp`, which computes one vector-Jacobian product.
#
# `torch.func.vmap(f)` is `f` for a whole batch. You write `f` for *one* sample. The usual example, `vmap` of `x ** 2`,
# shows nothing, because squaring works on a batch anyway. In the next cell, `score` is for one vector. What would
# `score(w, batch)` do? `in_dims=(None, 0)` says that `w` is the same for all samples, and that the samples are along
# dimension 0 of the second argument.


# %% example
def score(w, one):
    return (w @ one).tanh().sum() / one.norm()


w = torch.linspace(-1, 1, 6).reshape(2, 3)
batch = torch.linspace(0, 2, 12).reshape(4, 3)
print(torch.func.vmap(score, in_dims=(None, 0))(w, batch))
print(torch.stack([score(w, one) for one in batch]))
gradients = torch.func.vmap(torch.func.grad(score), in_dims=(None, 0))(w, batch)
print("one gradient by w for each sample:", tuple(gradients.shape))

# %% [markdown]
# `score(w, batch)` raises an error without `vmap`, because the sizes don't match. `vmap` runs `score` once, with
# tensors that represent the whole batch. So it can't do anything that needs a single number.

# %% predict: refused
# **Predict.** Which of the five functions below does `vmap` refuse? Select all that apply.
#
# - [x] `branch`: an `if` on a sum
# - [x] `item`: a product with `.item()`
# - [x] `positive`: the elements above zero
# - [ ] `chosen_by_where`: `torch.where` instead of the `if`
# - [x] `noisy`: a sum with random numbers

# %% example
torch.manual_seed(0)


def branch(one):
    return one if one.sum() > 0 else -one


def item(one):
    return one * one.sum().item()


def positive(one):
    return one[one > 0]


def chosen_by_where(one):
    return torch.where(one.sum() > 0, one, -one)


def noisy(one):
    return one + torch.rand_like(one)


for function in (branch, item, positive, chosen_by_where, noisy):
    try:
        result = torch.func.vmap(function)(batch)
        print(f"{function.__name__:16} shape {tuple(result.shape)}")
    except RuntimeError as error:
        print(f"{function.__name__:16} {type(error).__name__}")
for randomness in ("same", "different"):
    noise = torch.func.vmap(noisy, randomness=randomness)(batch) - batch
    print(f"randomness {randomness:9} equal for all samples:", bool((noise - noise[0]).abs().max() < 1e-6))

# %% [markdown]
# `vmap` refuses a branch on data, `.item()`, and a result whose size depends on data, because there's only one run for
# different samples. `torch.where` replaces the branch. It refuses random numbers until you say whether they should be
# the same for all samples or different. It also refuses batch normalization in training mode, which would have to
# change its buffers for each sample.
#
# ### Per-sample gradients
#
# `backward` computes the gradient of the mean loss. You need each sample's own to find mislabeled digits, or to limit
# what a model can learn from one person. A loop runs one backward pass per sample; `vmap` needs only one.
#
# For this, the model has to be a function of its parameters: `torch.func.functional_call(model, parameters, (x,))`
# calls it with a dict of tensors by name instead of its own.
#
# The mean of the results must be the gradient of the mean loss. Is that test enough?
#
# ### Your turn: per_sample_grads
# The next cell contains a model to try it on.


# %% given
class Small(nn.Module):
    """(n, i) -> (n, o), or (n, i, 2) -> (n, o).

    It has batch normalization in evaluation mode, a frozen bias, and a parameter that it doesn't use.
    """

    def __init__(self, inputs, outputs, dtype=torch.float32):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(10 * inputs + outputs)
            self.first = nn.Linear(inputs, 4)
            self.norm = nn.BatchNorm1d(4)
            self.norm.running_mean.uniform_(-0.5, 0.5)
            self.norm.running_var.uniform_(0.5, 2.0)
            self.last = nn.Linear(4, outputs)
        self.spare = nn.Parameter(torch.ones(2, 3))
        self.norm.eval()
        self.first.bias.requires_grad_(False)
        self.to(dtype)

    def forward(self, x):
        return self.last(self.norm(self.first(x.flatten(1)[:, : self.first.in_features])).tanh())


# %% given
hint(
    "Write the loss of one sample as a function of a dict of parameters. Which argument do you differentiate, and "
    "which ones have a batch dimension?",
    "Inside vmap, a sample has lost its batch dimension, and the model expects one: x[None]. What belongs in the dict, "
    "and what do you leave to the model?",
)

# %% exercise: per_sample_grads points=4 level=medium

# %% [markdown]
# No: the gradient of the mean loss, repeated for each sample, has the right shape and the right mean.
#
# ### Jacobians of a batch
#
# `jacrev(f)` is for one input. What's the shape of its result for a whole batch of 5 vectors with 3 numbers each, if
# `f` also works on batches?

# %% example
print(tuple(torch.func.jacrev(torch.square)(torch.ones(5, 3)).shape))

# %% [markdown]
# It contains the derivative of each output with respect to each input, even those from other samples. All of those are
# zero, so you get 5 times as many numbers as you want. With 1,000 samples, you get 1,000 times as many.
#
# ### Your turn: batched_jacobian
# Compute one Jacobian for each sample.


# %% given
# Functions to try your solution on. The checks use them too. Each takes one sample, a vector of at least two numbers;
# spread_out and mixed also take a single number.
def polar(one):
    """(m,) -> (2,): length and direction of the first two numbers."""
    return torch.stack([one[:2].norm(), torch.atan2(one[1], one[0])])


def neighbours(one):
    """(m,) -> (m - 1,)"""
    return one[1:] * one[:-1] ** 2


def spread_out(one):
    """(m,) -> (m + 1,)"""
    return torch.cat([one.softmax(0), one.square().sum()[None]])


def steps(one):
    """(m,) -> (m - 1,): linear, so its Jacobian is the same everywhere."""
    return 2 * one[1:] - one[:-1]


def mixed(one):
    """(m,) -> (2,): for float32 only."""
    return (torch.linspace(-1, 2, 2 * len(one), dtype=torch.float32).reshape(2, -1) @ one).tanh()


# %% given
hint(
    "Both are functions of functions. Which of them goes inside?",
    "jacrev turns f into a function that returns the Jacobian of one sample.",
)

# %% exercise: batched_jacobian points=2 level=easy further

# %% [markdown]
# ### Many models at once
#
# An *ensemble* averages the probabilities of several models. A small model, such as the digits network, gives a GPU
# little to do, and a loop runs one after another. `torch.func.stack_module_state(models)` returns two dicts, one of
# parameters and one of buffers, in which each tensor has a new first dimension for the model. `vmap` can run over that
# dimension, too.


# %% given
class Voter(nn.Module):
    """(n, i) -> logits (n, c). Counts the calls of its forward."""

    calls = 0

    def __init__(self, inputs, classes, seed):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.norm = nn.BatchNorm1d(inputs)
            self.norm.running_mean.uniform_(-0.5, 0.5)
            self.drop = nn.Dropout(0.5)
            self.last = nn.Linear(inputs, classes)
        self.register_buffer("heat", torch.tensor(3.0), persistent=False)

    def forward(self, x):
        Voter.calls += 1
        return self.head(self.drop(self.norm(x)))

    def head(self, x):
        return self.heat * self.last(x)


parameters, buffers = torch.func.stack_module_state([Voter(3, 2, seed) for seed in range(4)])
for name, stacked in [*parameters.items(), *buffers.items()]:
    print(f"{name:25} {tuple(stacked.shape)}")

# %% [markdown]
# ### Your turn: ensemble_predict
# The models are in training mode, as they are after training. In which mode do they have to be called, and in which
# state do you have to leave them?

# %% given
hint(
    "vmap runs over the two dicts, but not over x. Which model does functional_call call? Its own tensors aren't used, "
    "but its modes are.",
    "stack_module_state requires all models to be in the same mode. You can put deep copies into evaluation mode "
    "without changing the originals. Is the mean of softmax the softmax of the mean?",
)

# %% exercise: ensemble_predict points=3 level=medium further

# %% [markdown]
# A loop gives the same numbers, but calls `forward` once for each model. Yours calls it only once: each operation works
# on all models at the same time.

# %% quiz: interview points=3
# ## Interview questions
#
# **An `autograd.Function`**
# - [ ] You call its `forward`.
#   > You call `apply`, which calls `forward` and adds `backward` to the graph.
# - [x] `backward` returns one value for each argument of `forward`.
#   > In order, with `None` for arguments that aren't tensors. `Forgetful` had two arguments and returned one value,
#   > which raised an error in `backward`.
# - [ ] What `forward` does is recorded, and differentiated together with `backward`.
#   > Nothing in `forward` is recorded. The derivative is whatever `backward` returns, right or wrong.
# - [x] `torch.func` needs `setup_context`.
#   > The older form, with `forward(ctx, x)`, works only with `backward`.
# - [ ] If a tensor in an attribute of `ctx` is changed in place, `backward` raises an error.
#   > An attribute has no check: `SquareByAttribute` silently gave 60 instead of 6. `save_for_backward` raises an error.
#
# Hint: Which of the two squares raised an error?
#
# **A straight-through estimator**
# - [ ] Its clipped form clamps the upstream gradient to [-1, 1].
#   > It passes on the upstream gradient where |x| < 1, and 0 elsewhere. Clamping the upstream gradient is the common
#   > mistake.
# - [ ] `(x > 0).float()` has a gradient of zeros.
#   > A comparison has no `grad_fn`, so there's no gradient at all, not even zeros.
# - [x] `x.round()` has a gradient of zeros.
#   > It's differentiable, and flat almost everywhere. So it runs, but nothing is learned.
# - [x] `gradcheck` rejects it, and should.
#   > The estimator isn't a derivative: `RoundThrough` got False. Test the values of its gradient.
# - [ ] A test with `y.sum().backward()` distinguishes the plain form from one that ignores the upstream gradient.
#   > The upstream gradient of a sum is ones, and for ones the two give the same result. Use unequal upstream gradients,
#   > including large ones.
#
# Hint: Which of the two has no grad_fn? What would ones show you?
#
# **Digits**
# - [x] In `float32`, `1 - torch.sigmoid(x)` is 0 at 30.
#   > `sigmoid(30)` is 1 in `float32`, because no other number is nearer. So the difference is 0.
# - [ ] `torch.where(x >= 0, a, b)` computes only one of the two gradients.
#   > Both formulas are computed, and backward goes through both. On the other side, 0 times infinity gave NaN.
# - [x] `torch.sigmoid(-x)` has its digits at 30.
#   > It's computed without subtracting nearly equal numbers, so it's the right way to write 1 - sigmoid(x).
# - [ ] A backward with right values has a right second derivative.
#   > Autograd differentiates the operations inside `backward`, and these may lose digits. In the third panel, even
#   > `F.logsigmoid` did.
# - [x] A gradient can be NaN where the value is right.
#   > In the lab, all values of `where` were right, but its gradient was NaN on both sides.
#
# Hint: Look at the third panel, and at where.
#
# **Finite differences**
# - [x] A wrong derivative can give the right gradient of the sum of the outputs.
#   > "wrong order" did, because all its slopes are 2. Only other upstream gradients reveal it.
# - [ ] The smaller the step, the better the slope.
#   > At 1e-8, `x + h` is `x` in `float32`, so the difference is only rounding. A small step trades one error for
#   > another.
# - [ ] `gradcheck` accepts only functions that are right everywhere.
#   > It looks only at the points that you pass. `x * |x|` with a backward for positive x passes at 0.7 and 1.3.
# - [x] `gradcheck` in `float32` rejects right functions.
#   > It returned False for `x ** 2`. The rounding in the differences is larger than its tolerances.
# - [ ] A backward that passes `gradcheck` on [-5, 5] has its digits at 40.
#   > 0 instead of 4e-18 is within its absolute tolerance. `OneMinus` passed even with points at 40, and had lost its
#   > digits.
#
# Hint: What did the four lines of gradcheck print?
#
# **`torch.func.grad`, `jacrev` and `vjp`**
# - [x] `grad(f)` requires an `f` that returns one number.
#   > A gradient belongs to one number. `grad(torch.square)` of a vector raised an error; `jacrev` is for more outputs.
# - [ ] `grad(f)(x)` fills `x.grad`.
#   > It returns the gradient and doesn't write to `.grad`. In the lab, `x.grad` was None.
# - [ ] To test per-sample gradients, checking their mean over the samples is enough.
#   > The gradient of the mean loss, repeated for each sample, has that mean too.
# - [ ] `jacrev(f)` of a batch (n, m) has one Jacobian for each sample, and nothing else.
#   > It contains the derivatives of each output with respect to every sample, even the others. For (5, 3), it had the
#   > shape (5, 3, 5, 3), mostly zeros.
# - [x] `vmap(jacrev(f))` of a batch has one Jacobian for each sample, and nothing else.
#   > `vmap` passes one sample to the function, so there are no other samples to differentiate with respect to.
#
# Hint: What was x.grad? What shape did the batch's Jacobian have?
#
# **`vmap`**
# - [ ] It calls the function once for each sample.
#   > The function runs once, with tensors that represent the batch.
# - [x] It refuses `if x.sum() > 0`.
#   > There's one run for samples that may need different branches. `torch.where` replaces the branch.
# - [ ] Random numbers are different for each sample by default.
#   > They're refused until you set `randomness="same"` or `"different"`.
# - [x] It needs a rule for your own `Function`.
#   > Either `generate_vmap_rule = True` or a `vmap` method. It can't look into your methods without one.
# - [x] It can run over the parameters of several models.
#   > `stack_module_state` stacks them along a new first dimension, which `vmap` can run over.
#
# Hint: Which of the five functions did vmap refuse? Which dimension does stack_module_state add?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague has written a `Function` for a robust loss, with her own backward, because the gradient of PyTorch's
# formula was NaN for large errors. Her test is `gradcheck` in `float32` at `torch.zeros(3)`. It failed, so she raised
# `atol` until it passed. In training, the loss falls at first, but then large errors don't shrink.
#
# In four to eight sentences: what does her test show, and what doesn't it show? What would you test instead, at which
# points, in which dtypes, and against what? Name two mistakes in a backward that her test couldn't have found.

# %% question: her_test [markdown] points=2
# ### BEGIN SOLUTION
# Finite differences in float32 have few digits, so a right derivative fails there, and with a large atol a wrong one
# passes: her test shows next to nothing. It also looks at only one point. Zero is special: many wrong derivatives are
# right there, since everything is 0 at 0, and large errors, the reason for the Function, aren't tested at all. I would
# run gradcheck in float64 with its default tolerances, at random points of both signs, in the middle and on both sides
# of the point where the formula changes, but not exactly on it. For the tails, I would compare values and gradients
# with a reference in float64, or with the formula on paper, by relative error, in float32 as well, since an absolute
# tolerance accepts 0 instead of a small gradient. I would add gradgradcheck if it's differentiated twice. Her test
# couldn't find a gradient that's 0 or has lost its digits for large errors, which is what training shows; a wrong sign
# on one side; a missing mask; a wrong factor, if the gradient at zero is zero; or a result of the wrong dtype for
# float64.
#
# For grading: one point for what's wrong with the test (dtype and tolerance, and the one special point); one for a
# better test with points and reference, and for two mistakes.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - An `autograd.Function` has `forward`, `setup_context` and `backward`. You call `apply`.
# - Save tensors with `save_for_backward`, and everything else in attributes of `ctx`. `backward` returns one value for
#   each argument, and `None` for those that aren't tensors.
# - The clipped straight-through estimator masks by the input. It doesn't clamp the upstream gradient.
# - `backward` is code: it can lose digits that `forward` has. `where` differentiates both sides.
# - `gradcheck` needs `float64`, and finds wrong formulas. It doesn't find lost digits.
# - `torch.func.grad`, `jacrev` and `vmap` turn functions into functions. They don't write to `.grad`. `vmap` runs the
#   function once, so it refuses what needs a single number.
#
# | call or rule | what it does or costs |
# |---|---|
# | `ctx.save_for_backward(x)` | keeps a tensor; `backward` raises an error if it was changed in place |
# | `ctx.x = x` | keeps it without that check: for numbers, shapes and flags |
# | `ctx.needs_input_grad` | a flag for each argument: which gradients are needed |
# | `generate_vmap_rule = True` | lets `vmap` batch the methods of a `Function` |
# | `torch.autograd.gradcheck(f, x)` | central differences, at your points and in your dtype |
# | `torch.func.grad(f)`, `jacrev(f)` | the gradient of one number; the whole Jacobian of several |
# | `torch.func.vmap(f, in_dims=(None, 0))` | `f` for each sample, in one run; the first argument is shared |
# | `torch.func.functional_call(model, parameters, (x,))` | the model as a function of its parameters |
#
# Three questions to ask yourself:
#
# - What does my backward return far from zero, and for an upstream gradient other than 1?
# - Which mistakes would my test of a derivative miss?
# - What in my function needs a single number, so `vmap` would refuse it?
#
# In lab 9, numbers get fewer digits: sixteen bits each.
