# %% [markdown]
# # Functions of your own, and functions of functions
#
# Autograd knows a derivative for each of PyTorch's operations. Sometimes you need another one: where there is none,
# where the one there is loses its digits, or where you want the model to learn something else. First you write
# derivatives, and with one of them the digits script learns weights of one bit. Then you use functions that work on
# functions.
#
# After this lab you can
#
# - write an `autograd.Function`, and say what each of its parts is for;
# - give a step a usable gradient, and tell the clipped estimator from its misprint;
# - write a derivative that keeps its digits far from zero;
# - test a derivative against finite differences, and say what that misses;
# - get gradients for each sample, Jacobians of a batch and the result of many models with `torch.func`.
#
# You need labs 3 and 4, and two sittings of about an hour. All numbers were measured with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

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
here = use_device()  # where new tensors are made: on the GPU, if there is one

# %% [markdown]
# ## A step has no slope
#
# An activation that is only -1 or 1 needs one bit. To train a network of such activations, you need a gradient through
# the step from -1 to 1. What does autograd say about rounding? And about a comparison?

# %% example
x = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
x.round().sum().backward()
print("gradient of round ", x.grad.tolist())
print("x >= 0 has history", (x >= 0).float().requires_grad)

# %% [markdown]
# Rounding has a derivative: it is zero almost everywhere, and so nothing is learned. A comparison gives a `bool`
# tensor. It has no `grad_fn`, and what is computed from it has none either.
#
# A *straight-through estimator* keeps the step in the forward pass, and in the backward pass acts as if it had not been
# there. It is not a derivative. It is a choice of yours. So you have to tell autograd.
#
# ### `autograd.Function`
#
# You do it with a class that holds two functions, both static methods. `forward` computes the result. Nothing that it
# does is recorded. `backward` takes the gradient by the result and returns the gradient by the input. In lab 3 this was
# the upstream gradient `v`, and `v @ J`. `setup_context` is called after `forward`, with its
# inputs and its output, and writes down in `ctx` what `backward` will need. You never call these three. You call
# `apply`.


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
# The same step twice, with two backward passes. Move the place. The red line has the slope that backward claims there.
# What would gradient descent learn from each of them?

# %% example
show_straight_through({"torch.round": torch.round, "RoundThrough": RoundThrough.apply})

# %% [markdown]
# From the first one it learns nothing, at any place. The second one follows the straight line through the steps.
#
# You may know an older form, with `forward(ctx, x)` and no `setup_context`. It still works with `backward`. It does not
# work with `torch.func`, which comes later in this lab.
#
# ### The clipped estimator
#
# The plain estimator has a weakness. An `x` of 3 is far from the step, and no small change of it changes the result.
# It gets gradients all the same, and may move farther and farther away. The remedy is to send no gradient where
# $|x| > 1$. The code that's often copied for it is below. It gets $-3$, $-0.5$, $0.5$ and $3$, in `float64`,
# with an upstream gradient of 5 each.

# %% predict: misprint
# **Predict.** Which gradient does this code give at the four places?
#
# - [ ] 0, 5, 5, 0
# - [ ] 5, 5, 5, 5
# - [ ] 0, 1, 1, 0
# - [x] 1, 1, 1, 1


# %% example
class Copied(torch.autograd.Function):
    """As it stands in several places."""

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
# It gives 1, 1, 1, 1. It limits the wrong number. The `x` at -3 and 3 get a gradient all the same, and those at -0.5
# and 0.5 lose four fifths of theirs. The right answer is 0, 5, 5, 0. Where all upstream gradients are small, the
# misprint acts like the plain estimator, and a test with `y.sum().backward()` shows a gradient of ones for both.
#
# And the result is `float32`, whatever came in.
#
# ### Your turn: ste_sign
# Write it as it is meant. This is a warm-up of about ten minutes.

# %% given
hint(
    "The mask depends on x. backward does not see x: who hands it over? Look at ctx.save_for_backward and "
    "ctx.saved_tensors.",
    "You need a class of your own above the function, in the same cell. torch.where(x >= 0, 1.0, -1.0) has which dtype "
    "for a float64 x? x.new_ones(()) has that of x.",
)

# %% exercise: ste_sign points=3

# %% [markdown]
# The next picture shows the gradient by `x` of three estimators, for an upstream gradient of 0.5, 1 and 5. Choose one
# of them. For which upstream gradients can you not tell the misprint from the plain estimator?

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
# For 0.5 and 1: clamping to [-1, 1] leaves every number in that range as it is. Only the panel for 5 shows the
# difference, where the misprint gives 1 and the plain estimator 5.

# %% [markdown]
# ### The digits with one-bit weights
#
# The digits script's network has 4,736 weights of 32 bits, apart from its biases. Can it read the digits if each weight
# has one of two values, which needs one bit? AdamW changes `float32` weights; the network uses their signs, divided
# by 8. Run the next cell with each value of `way`: `"float"` takes signs only after training, `"sign"` in training too,
# and `"through"` as well, with a straight-through gradient. Which way learns, and why do the others fail?

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
# signs never change. With `"float"` the network learns, but rounding to signs changes every layer's result, and no step
# of the training has seen that. With `"through"` the loss is that of the one-bit network, and each gradient changes the
# `float32` weight under the sign, until the sign flips.

# %% [markdown]
# 93% with 592 bytes of weights instead of 18,944. Lab 9 trains the script with 16 bits.

# %% [markdown]
# ## What `backward` may use
#
# `backward` for `x * x` needs `x`. You can keep it by `ctx.save_for_backward(x)`, or simply write `ctx.x = x`. Both
# work. Below, `x` is changed in place between the two passes: from 3 to 30. The right gradient for 3 is 6.

# %% predict: kept_by
# **Predict.** What do the two ways give after that change?
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
# The attribute gives 60, and says nothing. Each tensor has a version, a number that each change in place raises. For a
# saved tensor, `backward` compares it with the version at saving (lab 5 has more on this), and raises an error. So
# tensors go into `save_for_backward`. Numbers, shapes and flags are what attributes of `ctx` are for.
#
# Two more rules. `backward` returns one gradient for each argument of `forward`, in their order. For an argument that
# is no tensor it returns `None`. And it may return `None` for a tensor whose gradient nobody wants:
# `ctx.needs_input_grad` holds one flag for each argument.
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
# `x` does not require grad, so its gradient was computed for nothing and thrown away. For a product of two numbers this
# does not matter. In a linear layer, each of the two gradients is a matrix product, as large as the one of `forward`.
# In the first layer of a network, where `x` is data, one of the two can be left out.
#
# ### Your turn: LinearFunction
# Write the linear layer. Write the shapes beside each product: with square matrices, a transposed mistake still runs.

# %% given
hint(
    "The shapes: x (n, i), weight (o, i), upstream (n, o). Which products give (n, i) and (o, i)? What does a bias get "
    "that is added to n rows?",
    "Can saved tensors be detached or copied, if somebody differentiates the gradient again? And where there is no "
    "bias, what is the third gradient?",
)

# %% exercise: LinearFunction points=5

# %% [markdown]
# What would go wrong if `setup_context` kept `weight.detach()`? The first gradients would be right. Only the gradient
# of a gradient, as in lab 4, would miss a part, and no error would say so.
#
# ## Against the gradient
#
# Sometimes the backward pass is meant to do something else than the forward pass. Take features that should be good for
# a task, but should not reveal from which of two sources a sample comes. One trains a second head on top of them that
# guesses the source. The head should get better at it, and the features should make it worse. One loss, and two
# opposite wishes.
#
# A *gradient reversal* does it. Forward it does nothing. Backward it multiplies the gradient by `-lam`. It stands
# between the features and the head.
#
# Its `forward` has two arguments, `x` and `lam`. The `Function` in the next cell has forgotten one of the rules above.
# Which one? And when does the error come?


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
# Two arguments went in, so two gradients must come out. The second one is `None`.
#
# One more thing. Two functions of `torch.func` come later in this lab: `grad` gives a function's gradient, and `vmap`
# runs a function for a whole batch at once. `grad` works with a `Function` of yours as it is. `vmap` must be allowed
# to: the class attribute `generate_vmap_rule = True` says that all its methods consist of PyTorch's operations on
# tensors, and may be batched.
#
# ### Your turn: grad_reverse

# %% given
hint(
    "Which of forward's arguments are tensors? What does backward return for the others?",
    "It can be done without a class: a hook, as in lab 3, may return another gradient. On which tensor must it be, so "
    "that other ways through x stay as they are? (x times -lam plus a constant is not x where x is infinite.)",
)

# %% exercise: grad_reverse points=3

# %% [markdown]
# ## Digits in the tail
#
# The logarithm of the sigmoid $\sigma$ is in the usual loss for two classes. It is $-\log(1 + e^{-x})$, and its
# derivative is $1 - \sigma(x)$. Both are right, on paper. At 30, the true value is about $-9.4 \cdot 10^{-14}$, and the
# true derivative $9.4 \cdot 10^{-14}$. The cell below computes both in three ways. The second way is a `where` that
# takes on each side the formula that does not overflow there.

# %% predict: where_in_tail
# **Predict.** What does the way with `where` give at -100?
#
# - [ ] the right value, and the right gradient
# - [x] the right value, and NaN as the gradient
# - [ ] NaN as the value, and NaN as the gradient
# - [ ] `-inf` as the value, and 0 as the gradient


# %% given
class OneMinus(torch.autograd.Function):
    """A log-sigmoid with its derivative as it stands in the books."""

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
    """Each side has the formula that does not overflow there."""
    return torch.where(x >= 0, -torch.log1p(torch.exp(-x)), x - torch.log1p(torch.exp(x)))


FORMULAS = {"log(sigmoid(x))": lambda x: x.sigmoid().log(), "where": chosen, "1 - sigmoid": OneMinus.apply}
for label, formula in FORMULAS.items():
    for number in (-100.0, 30.0, 100.0):
        x = torch.tensor(number, requires_grad=True)
        y = formula(x)
        y.backward()
        print(f"{label:16} x {number:6}  value {y.item():11.4g}  gradient {x.grad.item():.4g}")

# %% [markdown]
# Three different accidents.
#
# - `log(sigmoid(x))` underflows: `sigmoid(-100)` is 0 in `float32`, its logarithm is `-inf`, and the gradient is NaN.
# - `where` has the right values. Its gradients are NaN on both sides. `where` computes both formulas, and backward goes
#   through both. The one that was not chosen overflowed, and its gradient is 0 times infinity.
# - `1 - sigmoid(x)` is 0 at 30. `sigmoid(30)` differs from 1 by 9.4e-14, and `float32` has no number there but 1. The
#   subtraction has nothing left to subtract. `sigmoid(-x)` is the same number, and has all its digits.
#
# Use `F.logsigmoid`, then. It has the right values and gradients. But look at the derivative of its gradient. The
# picture shows the relative error of four functions in `float32`, from -100 to 100: of the value, of the gradient, and
# of the second derivative. 1e-7 is as good as it gets, and 1 means that no digit is right. Gaps are NaN. Choose
# a panel.


# %% given
def derivatives(function, x):
    """The values of an elementwise function, its derivative and its second derivative."""
    x = x.detach().clone().requires_grad_()
    value = function(x)
    (first,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return [t.detach() for t in (value, first, second)]


def true_log_sigmoid(x):
    """The same three in float64, each by a formula without a subtraction of equal numbers."""
    x = x.detach().double()
    value = x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))
    return [value, torch.sigmoid(-x), -torch.sigmoid(x) * torch.sigmoid(-x)]


# Below 1e-36, float32 has few digits whatever you do: errors are measured against 1e-36 there.
places = torch.linspace(-100, 100, 402)
errors = {title: {} for title in ("value", "gradient", "second derivative")}
for label, formula in {**FORMULAS, "F.logsigmoid": F.logsigmoid}.items():
    for title, found, true in zip(errors, derivatives(formula, places), true_log_sigmoid(places), strict=True):
        errors[title][label] = ((found - true) / true.abs().clamp(min=1e-36)).abs().clamp(1e-9, 1)
show_over(places, errors, log=True)

# %% [markdown]
# None of the four is right everywhere in the third panel. Who needs a second derivative? A penalty on the size of a
# gradient does, and Newton's method, and whoever differentiates through a training step.
#
# ### Your turn: log_sigmoid
# Write a log-sigmoid that is right in all three panels. You may write one `Function`, several, or none.

# %% given
hint(
    "Which of PyTorch's operations are right far from zero? If backward is made of such operations, it is "
    "differentiated by their rules. Which rule has sigmoid?",
    "The derivative is sigmoid(-x), and sigmoid(-x) is exp(log_sigmoid(-x)). May backward call the Function that it "
    "belongs to? Without a Function: what must go into each side of where, so that the side that is not chosen stays "
    "harmless?",
)

# %% exercise: log_sigmoid points=4

# %% [markdown]
# There is a way without a `Function`: `where` again, with inputs that are harmless on both sides. The formula for
# positive `x` gets `x.clamp(min=0)`, and the other one `x.clamp(max=0)`. And there is a trap on the way. With
# `x.clamp(max=0) - log1p(exp(-abs(x)))`, as in the reference for the picture, all values are right. But its gradient at
# exactly 0 is 1.0, and not 0.5: two kinks meet there, and autograd takes a slope for each of them on its own.
#
# A rule to take along: `backward` is code like any other. It can lose digits where `forward` does not, and if it is
# differentiated, the derivative of its operations can lose them once more.

# %% [markdown]
# ## A good place to stop
#
# You can write a derivative, with its digits. What comes next is a judge of derivatives, and then `torch.func`. After a
# break Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or press *Check*, which runs what
# it needs.

# %% [markdown]
# ## Who judges the derivative?
#
# A derivative that you wrote yourself needs a test. The usual one moves each input a little and looks what the outputs
# do. The *central difference* is
#
# $$\frac{f(x + h) - f(x - h)}{2 h}$$
#
# How small should $h$ be? Below, $f(x) = x^2$ and $x = 1.3$. The true slope is 2.6.

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
# At 1e-8, $x + h$ is $x$ in `float32`. The large $h$ looks good only because the central difference of a square has no
# error of its own. For most functions it has one, and it grows with $h$. So in `float32` there is hardly any good $h$,
# and in `float64` there is room. This is the reason why `torch.autograd.gradcheck` wants `float64`: in `float32`, it
# rejects `x ** 2`.
#
# A test has to see all entries of the Jacobian, at a point that is not special, and with more than one upstream
# gradient. The next cell makes functions to be judged, right ones and wrong ones. Read them: which wrong ones get past
# a test that only looks at `f(x).sum().backward()`?


# %% given
def with_backward(forward, backward):
    """A function with this forward(x), and with backward(x, result, upstream) as its backward. The older form."""

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
    # The outputs are 2 * x backwards. The gradient comes back in the order in which it came.
    "wrong order": with_backward(lambda x: 2 * x.flip(0), lambda x, y, up: 2 * up),
    "x * |x|, right for x > 0": with_backward(lambda x: x * x.abs(), lambda x, y, up: 2 * x * up),
    "step": with_backward(lambda x: (x > 0).to(x.dtype), lambda x, y, up: up),
}

x = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
for label, function in SUSPECTS.items():
    (found,) = torch.autograd.grad(function(x).sum(), x)
    print(f"{label:25} gradient of the sum", [round(number, 4) for number in found.tolist()])

# %% [markdown]
# ### Your turn: check_grad
# Write the judge. Compare what autograd says with central differences, for every output and every input.

# %% given
hint(
    "Lab 3's Jacobian has one row for each output. The differences give one column for each input. Where do they meet?",
    "Move one element of a copy of x. Which gradient has an output that does not depend on x at all? "
    "torch.autograd.grad(..., retain_graph=True, materialize_grads=True) gives zeros for it, if it has a history.",
)

# %% exercise: check_grad points=5

# %% [markdown]
# What should a judge say of `RoundThrough`? And what does a judge not see? `OneMinus` from above has no right digit at
# 30 in `float32`, and few in `float64`. Here is PyTorch's own judge. With its usual tolerances it would have passed the
# checks above: it does what yours does.

# %% predict: judged
# **Predict.** Which of these does `gradcheck` accept? Tick all.
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
# It rejects `RoundThrough`, and it must: an estimator is not a derivative, and does not claim to be one. Test it by the
# values of its gradient. It accepts `OneMinus`, also in the tail: 0 instead of 4e-18 is within its absolute tolerance.
# And it rejects `x ** 2` in `float32`, where nothing is wrong. So a judge finds wrong formulas. It does not find lost
# digits, and it knows only the points and the dtype that you gave it.

# %% [markdown]
# ## Functions of functions
#
# `torch.func` holds functions that take a function and give another one. `torch.func.grad(f)` is the function that
# computes the gradient of `f`. What will `x.grad` be below? And what if `f` returns more than one number?


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
# `grad` writes to no `.grad`. It wants a function that returns one number. For more there are `jacrev`, which gives the
# whole Jacobian, and `vjp`, which gives one vector-Jacobian product.
#
# `torch.func.vmap(f)` is `f` for a whole batch. You write `f` for *one* sample, and do not think about the batch. The
# usual example is `vmap` of `x ** 2`. It shows nothing: squaring works on a batch anyway. Here is a better one. `score`
# is for one vector. What would `score(w, batch)` do? `in_dims=(None, 0)` says that `w` is the same for all samples, and
# that the samples lie along dimension 0 of the second argument.


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
# `score(w, batch)` by itself raises an error: the sizes do not fit. `vmap` runs `score` once. The tensors inside stand
# for a batch. So it cannot do what needs a single number.

# %% predict: refused
# **Predict.** Which of the five functions below does `vmap` refuse? Tick all.
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
# A branch on data, `.item()`, and a result whose size depends on data are refused: there is one run, and the samples
# differ. `torch.where` takes the place of the branch. Random numbers are refused until you say which you want: the same
# for all samples, or different ones. A batch normalisation in training mode is refused as well. It would have to
# change its buffers for each sample.
#
# ### Gradients of each sample
#
# `backward` gives the gradient of the mean loss. Sometimes you need each sample's own: to find samples with wrong
# labels, or to limit what a model may learn from one person. A loop has one backward pass for each sample. With `vmap`
# there is one pass for all.
#
# A model is no function of its parameters. `torch.func.functional_call(model, parameters, (x,))` makes it one: it calls
# the model with these tensors, a dict from names to tensors, instead of its own.
#
# One remark on tests. The mean of the result must be the gradient of the mean loss. Is that test enough?
#
# ### Your turn: per_sample_grads
# The next cell holds a model to try it on.


# %% given
class Small(nn.Module):
    """(n, i) -> (n, o), or (n, i, 2) -> (n, o).

    It has a batch normalisation in evaluation mode, a frozen bias, and a parameter that it does not use.
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
    "Write the loss of one sample as a function of a dict of parameters. Which argument is differentiated, and which "
    "ones have a batch dimension?",
    "A sample has lost its batch dimension inside vmap, and the model wants one: x[None]. What is in the dict, and "
    "what is left to the model itself?",
)

# %% exercise: per_sample_grads points=4

# %% [markdown]
# The gradient of the mean loss, repeated for each sample, has the right shape and the right mean. So does anything else
# with that mean. A test of a mean tests a mean.
#
# ### Jacobians of a batch
#
# `jacrev(f)` is for one input. What is the shape of its result for a whole batch of 5 vectors with 3 numbers, if `f`
# works on batches too?

# %% example
print(tuple(torch.func.jacrev(torch.square)(torch.ones(5, 3)).shape))

# %% [markdown]
# It holds how each output depends on each input, of other samples as well. All of those are zero: 5 times as many
# numbers as you want. With 1,000 samples it is 1,000 times as many.
#
# ### Your turn: batched_jacobian


# %% given
# Functions to try your solution on. The checks use them too. Each is for one sample, a vector of at least two numbers;
# for spread_out and mixed, one is enough.
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
    "Both are functions of functions. Which of the two goes inside?",
    "jacrev turns f into a function that gives the Jacobian of one sample.",
)

# %% exercise: batched_jacobian points=2

# %% [markdown]
# ### Many models at once
#
# An *ensemble* asks several models and takes the mean of their probabilities. A small model gives a GPU little to do,
# and a loop asks one after the other. `torch.func.stack_module_state(models)` stacks the tensors of all models: two
# dicts, one of parameters and one of buffers, in which each tensor has a new first dimension for the model. What else
# can `vmap` run over, then?


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
# The models are in training mode, as they come out of training. How must they be asked, and in which state must they be
# afterwards?

# %% given
hint(
    "vmap runs over the two dicts, and not over x. Which model does functional_call call? Its own tensors are not "
    "used, but its modes are.",
    "stack_module_state wants all models in the same mode. Deep copies can be put into evaluation mode, and nobody "
    "notices. Is the mean of softmax the softmax of the mean?",
)

# %% exercise: ensemble_predict points=3

# %% [markdown]
# A loop gives the same numbers, with one call of `forward` for each model. Yours makes one call, whatever their number:
# each of its operations works on all models at once. That is what `vmap` is for.

# %% quiz: interview points=3
# ## Interview questions
#
# **An `autograd.Function`**
# - [ ] You call its `forward`.
#   > You call `apply`, which calls `forward` and links `backward` into the graph.
# - [x] `backward` returns one value for each argument of `forward`.
#   > In their order, and `None` for what is no tensor. `Forgetful` had two arguments and returned one value: an error
#   > at `backward`.
# - [ ] What `forward` does is recorded, and differentiated together with `backward`.
#   > Nothing in `forward` is recorded. The derivative is what `backward` says, right or wrong.
# - [x] `torch.func` needs `setup_context`.
#   > The older form, with `forward(ctx, x)`, works with `backward` alone.
# - [ ] A tensor in an attribute of `ctx` may be changed in place, and `backward` raises an error.
#   > An attribute has no check. `SquareByAttribute` gave 60 instead of 6, without a word; `save_for_backward` is what
#   > raises.
#
# Hint: Which of the two squares raised an error?
#
# **A straight-through estimator**
# - [ ] Its clipped form clamps the upstream gradient to [-1, 1].
#   > It sends the upstream gradient on where |x| < 1, and 0 elsewhere. Clamping the upstream gradient is the misprint.
# - [ ] `(x > 0).float()` has a gradient of zeros.
#   > A comparison has no `grad_fn`, so there is no gradient at all, not even zeros.
# - [x] `x.round()` has a gradient of zeros.
#   > It is differentiable, and flat almost everywhere. So it runs, and nothing is learned.
# - [x] `gradcheck` rejects it, and should.
#   > The estimator is no derivative, and does not claim to be one. `RoundThrough` got False; test the values of its
#   > gradient.
# - [ ] A test with `y.sum().backward()` tells the plain form from one that ignores the upstream gradient.
#   > The upstream gradient of a sum is ones, and for ones the two give the same. Use unequal upstream gradients, also
#   > large ones.
#
# Hint: Which of the two has no grad_fn? What would ones tell you?
#
# **Digits**
# - [x] In `float32`, `1 - torch.sigmoid(x)` is 0 at 30.
#   > `sigmoid(30)` is 1 in `float32`, because there is no number nearer to it. The subtraction has nothing left.
# - [ ] `torch.where(x >= 0, a, b)` computes one of the two gradients only.
#   > Both formulas are computed, and backward goes through both. 0 times infinity from the other side gave NaN.
# - [x] `torch.sigmoid(-x)` has its digits at 30.
#   > It is computed without a subtraction of equal numbers. So it is the right way to write 1 - sigmoid(x).
# - [ ] A backward with right values has a right second derivative.
#   > Autograd differentiates the operations inside `backward`, and these may lose digits. In the third panel even
#   > `F.logsigmoid` did.
# - [x] A gradient can be NaN where the value is right.
#   > `where` in the lab had all values right, and NaN as the gradient on both sides.
#
# Hint: Look at the third panel, and at where.
#
# **Finite differences**
# - [x] A wrong derivative can give the right gradient of the sum of the outputs.
#   > "wrong order" gave the right gradient of the sum, since all its slopes are 2. Only other upstream gradients show
#   > it.
# - [ ] The smaller the step, the better the slope.
#   > At 1e-8, `x + h` is `x` in `float32`, so the difference is rounding only. A small step trades one error for
#   > another.
# - [ ] `gradcheck` accepts only functions that are right everywhere.
#   > It looks only at the points that it is given. `x * |x|` with a backward for positive x passes at 0.7 and 1.3.
# - [x] `gradcheck` in `float32` rejects right functions.
#   > It said False to `x ** 2`. The rounding of the differences is larger than its tolerances.
# - [ ] A backward that passes `gradcheck` on [-5, 5] has its digits at 40.
#   > 0 instead of 4e-18 is within its absolute tolerance. `OneMinus` passed even with points at 40, and had lost its
#   > digits.
#
# Hint: What did the four lines of gradcheck say?
#
# **`torch.func.grad`, `jacrev` and `vjp`**
# - [x] `grad(f)` wants an `f` that returns one number.
#   > A gradient belongs to one number. `grad(torch.square)` of a vector raised an error; `jacrev` is for more outputs.
# - [ ] `grad(f)(x)` fills `x.grad`.
#   > It returns the gradient and writes to no `.grad`. `x.grad` was None in the lab.
# - [ ] The mean over the samples is enough to test gradients of each sample.
#   > The gradient of the mean loss, repeated for each sample, has that mean too. A test of a mean tests a mean.
# - [ ] `jacrev(f)` of a batch (n, m) has one Jacobian for each sample, and nothing else.
#   > It holds how each output depends on every sample, also the others. For (5, 3) it had the shape (5, 3, 5, 3),
#   > mostly zeros.
# - [x] `vmap(jacrev(f))` of a batch has one Jacobian for each sample, and nothing else.
#   > `vmap` hands in one sample at a time, so other samples are not there to differentiate by.
#
# Hint: What was x.grad? What shape had the Jacobian of the batch?
#
# **`vmap`**
# - [ ] It calls the function once for each sample.
#   > The function runs once, with tensors that stand for the batch. The voters' `forward` was called one time in all.
# - [x] It refuses `if x.sum() > 0`.
#   > There is one run for samples that may want different branches. `torch.where` takes the place of the branch.
# - [ ] Random numbers are different for each sample, unless you say otherwise.
#   > They are refused until you say `randomness="same"` or `"different"`.
# - [x] It needs a rule for a `Function` of your own.
#   > Either `generate_vmap_rule = True` or a `vmap` method. It cannot look into your methods by itself.
# - [x] It can run over the parameters of several models.
#   > `stack_module_state` stacks them along a new first dimension, and `vmap` runs over that one. The ensemble did so.
#
# Hint: How often was the voters' forward called?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague has written a `Function` for a robust loss, with a backward of her own, because the gradient of PyTorch's
# formula was NaN for large errors. Her test is `gradcheck` in `float32` at `torch.zeros(3)`. It fails, so she raised
# `atol` until it passed. In training, the loss falls at first. Then large errors stay as they are.
#
# In four to eight sentences: what does her test show, and what does it not show? What would you test instead, at which
# points, in which dtypes, and against what? Name two mistakes in a backward that her test could not have found.

# %% question: her_test [markdown] points=2
# ### BEGIN SOLUTION
# Finite differences in float32 have few digits, so a right derivative fails there, and with a large atol a wrong one
# passes: her test shows next to nothing. It also looks at one point. Zero is special: many wrong derivatives are right
# there, since everything is 0 at 0, and large errors, the reason for the Function, are not tested at all. I would run
# gradcheck in float64 with its own tolerances, at random points of both signs, in the middle and on both sides of the
# place where the formula changes, but not exactly on it. For the tails I would compare values and gradients with a
# reference in float64, or with the formula on paper, by relative error, in float32 as well, since an absolute
# tolerance accepts 0 instead of a small gradient. gradgradcheck if it is differentiated twice. Her test could not find
# a gradient that is 0 or has lost its digits for large errors, which is what the training shows; a wrong sign on one
# side; a missing mask; a factor, if the gradient at zero is zero; a result of the wrong dtype for float64.
#
# For grading: one point for what is wrong with the test (dtype and tolerance, and the one special point), one for a
# better test with points and reference and for two mistakes.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - An `autograd.Function` has `forward`, `setup_context` and `backward`. You call `apply`.
# - Tensors go into `save_for_backward`, and everything else into attributes of `ctx`. `backward` returns one value for
#   each argument, and `None` for those that are no tensors.
# - The clipped straight-through estimator masks by the input. It does not clamp the upstream gradient.
# - `backward` is code: it can lose digits that `forward` has. `where` differentiates both sides.
# - `gradcheck` needs `float64`, and finds wrong formulas. It does not find lost digits.
# - `torch.func.grad`, `jacrev` and `vmap` turn functions into functions. They write to no `.grad`. `vmap` runs once,
#   and so refuses what needs a single number.
#
# | call or rule | what it does or costs |
# |---|---|
# | `ctx.save_for_backward(x)` | keeps a tensor, and raises an error if it was changed in place |
# | `ctx.x = x` | keeps it too, without that check: for numbers, shapes and flags |
# | `ctx.needs_input_grad` | a flag for each argument: which gradients somebody wants |
# | `generate_vmap_rule = True` | lets `vmap` batch the methods of a `Function` |
# | `torch.autograd.gradcheck(f, x)` | central differences, with points and a dtype of yours |
# | `torch.func.grad(f)`, `jacrev(f)` | for one number; for several, the whole Jacobian |
# | `torch.func.vmap(f, in_dims=(None, 0))` | `f` for each sample, in one run; the first argument is shared |
# | `torch.func.functional_call(model, parameters, (x,))` | the model as a function of its parameters |
#
# Three questions to ask yourself:
#
# - What does my backward give far from zero, and for an upstream gradient that is not one?
# - Which mistakes would my test of a derivative let pass?
# - What in my function needs a single number, so that `vmap` would refuse it?
#
# In lab 9 the digits become fewer: sixteen bits for a number.
