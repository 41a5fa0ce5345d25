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
    assert_some_right,
    check,
    explain,
    hint,
    probes,
    show_over,
)

# %% [markdown]
# # Functions of your own, and functions of functions
#
# Autograd knows a derivative for each of PyTorch's operations. Sometimes you need another one: where there is none,
# where the one there is loses its digits, or where you want the model to learn something that is not the derivative.
# In the first half of this lab you write derivatives. In the second half you take functions apart that others wrote,
# with functions that work on functions.
#
# After this lab you can
#
# - write an `autograd.Function`, and say what each of its parts is for;
# - give a step a gradient that training can use, and tell the clipped estimator from its common misprint;
# - write a derivative that keeps its digits far from zero, also when it is differentiated again;
# - test a derivative against finite differences, and say what such a test cannot see;
# - get gradients for each sample, Jacobians of a batch and the result of many models at once with `torch.func`.
#
# You need labs 3 and 4. This one takes about 90 minutes. After the section on finite differences is a good place for a
# break. All numbers in the text were measured with PyTorch 2.13 on a CPU.
#
# Write your predictions down before you run a cell. The lab is worth 34 points. The checks that you see hold about a
# sixth of them. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## A step has no slope
#
# An activation that is only -1 or 1 needs one bit. To train a network of such activations, you need a gradient through
# the step from -1 to 1. What does autograd say about rounding? And about a comparison?

# %% given
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
# the upstream gradient `v`, and `v @ J`. Between the two stands `setup_context`. It is called after `forward`, with its
# inputs and its output, and writes down in `ctx` what `backward` will need. You never call these three. You call
# `apply`.


# %% given
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
# You may know an older form, with `forward(ctx, x)` and no `setup_context`. It still works with `backward`. It does not
# work with `torch.func`, which comes later in this lab.
#
# ### The clipped estimator
#
# The plain estimator has a weakness. An `x` of 3 is far behind the step, and no small change of it changes the result.
# It gets gradients all the same, and may move farther and farther away. The remedy is to send no gradient where
# `|x| > 1`. The code that is passed around for it is below. What will it give for an upstream gradient of 5? And of
# which dtype is the result for a `float64` input?


# %% given
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
# ### Your turn
# Write it as it is meant.

# %% given
hint(
    "The mask depends on x. backward does not see x: who hands it over? Look at ctx.save_for_backward and "
    "ctx.saved_tensors.",
    "You need a class of your own above the function, in the same cell. torch.where(x >= 0, 1.0, -1.0) has which dtype "
    "for a float64 x? x.new_ones(()) has that of x.",
)


# %% exercise: ste_sign
def ste_sign(x: Tensor) -> Tensor:
    """1 where x >= 0 and -1 elsewhere, with the clipped straight-through gradient.

    x: any shape, float32 or float64, finite. The result has x's shape and dtype. The gradient by x is the upstream
    gradient where |x| < 1, and 0 where |x| > 1. At -1 and 1 it may be either. x stays as it is.
    """
    ### BEGIN SOLUTION

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return 2 * (x >= 0).to(x.dtype) - 1

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, upstream: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return upstream * (x.abs() <= 1)

    result: Tensor = Step.apply(x)
    return result
    ### END SOLUTION


# %% check: ste_sign points=3
with check("the example above, with an upstream gradient of 5", weight=2, required=True):
    t = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
    got = ste_sign(t)
    assert_close(got, torch.tensor([-1.0, -1.0, 1.0, 1.0]))
    assert got.requires_grad, "your result has no history"
    got.backward(torch.full((4,), 5.0))
    explain(
        t.grad,
        torch.tensor([0.0, 5.0, 5.0, 0.0]),
        {
            "the upstream gradient was clamped: it is x that must lie between -1 and 1": torch.ones(4),
            "gradients pass everywhere, also where |x| > 1": torch.full((4,), 5.0),
            "the upstream gradient was not used": torch.tensor([0.0, 1.0, 1.0, 0.0]),
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other shapes and upstream gradients, float32 and float64",
    weight=4,
    required=True,
    hint="Which dtype has your result? Does the mask come from x, and the rest from upstream?",
):
    for dtype, seed in ((torch.float32, 1), (torch.float64, 2)):
        generator = torch.Generator().manual_seed(seed)
        t, t_2, t_up, t_up_2 = (torch.randn(7, 3, 2, dtype=dtype, generator=generator) * 2 for _ in range(4))
        want = [torch.where(x < 0, -1.0, 1.0).to(dtype) for x in (t, t_2)]
        want_grads = 10 * t_up * (t.abs() < 1), 10 * t_up_2 * (t_2.abs() < 1)
        t, t_2 = t.requires_grad_(), t_2.requires_grad_()
        got = [ste_sign(t), ste_sign(t_2)]
        assert_close(got, want)
        got = torch.autograd.grad(got, (t, t_2), (10 * t_up, 10 * t_up_2))
        assert_close(got, want_grads, rtol=4 * torch.finfo(dtype).eps, atol=0, name="your gradients")
with check("zero belongs to 1, and only the sign of a tiny number counts", weight=1, hint="What does torch.sign give?"):
    t = torch.tensor([0.0, 1e-60, -1e-60, 0.999, -0.999, 1.001, -1 - 1e-12], dtype=torch.float64, requires_grad=True)
    want = torch.tensor([1, 1, -1, 1, -1, 1, -1], dtype=torch.float64)
    want_grad = -0.25 * torch.tensor([1, 1, 1, 1, 1, 0, 0], dtype=torch.float64)
    assert_close(ste_sign(torch.tensor([-0.0, 1e20, -1e20])), torch.tensor([1.0, 1.0, -1.0]))
    got = ste_sign(t)
    assert_close(got, want)
    got.backward(torch.full((7,), -0.25, dtype=torch.float64))
    assert_close(t.grad, want_grad, name="the gradient")
with check("a transposed x, an empty one, a single number", weight=1, hint="Does your code need a certain layout?"):
    t = torch.linspace(-2, 2, 12).reshape(3, 4).T
    want, t_up = torch.where(t < 0, -1.0, 1.0), torch.where(t < 0, -3.0, 3.0)
    want_grad, t = t_up * (t.abs() < 1), t.requires_grad_()
    got = ste_sign(t)
    assert_close(got, want)
    assert_close(torch.autograd.grad(got, t, t_up)[0], want_grad, name="the gradient")
    assert_close(ste_sign(torch.empty(0, 3)), torch.empty(0, 3))
    assert_close(ste_sign(torch.tensor(-0.5)), torch.tensor(-1.0))
with check("x keeps its values", guard=True, hint="Which calls change a tensor in place?"):
    t = torch.tensor([-3.0, -0.5, 0.5, 3.0])
    assert_close(ste_sign(t), torch.tensor([-1.0, -1.0, 1.0, 1.0]))
    assert_close(t, torch.tensor([-3.0, -0.5, 0.5, 3.0]))
### END HIDDEN TESTS

# %% [markdown]
# The next picture shows the gradient by `x` of three estimators, for an upstream gradient of 0.5, 1 and 5. In a live
# notebook, choose one of them. For which upstream gradients can you not tell the misprint from the plain estimator?

# %% given
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

# %% [markdown]
# ## What `backward` may use
#
# `backward` for `x * x` needs `x`. You can keep it by `ctx.save_for_backward(x)`, or simply write `ctx.x = x`. Both
# work. Below, `x` is changed in place between the two passes. The right gradient for 3 is 6. What will each of the two
# give?


# %% given
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


# %% given
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
# ### Your turn
# Write the linear layer. Write the shapes beside each product: with square matrices, a transposed mistake still runs.

# %% given
hint(
    "The shapes: x (n, i), weight (o, i), upstream (n, o). Which products give (n, i) and (o, i)? What does a bias get "
    "that is added to n rows?",
    "Can saved tensors be detached or copied, if somebody differentiates the gradient again? And where there is no "
    "bias, what is the third gradient?",
)


# %% exercise: LinearFunction
class LinearFunction(torch.autograd.Function):
    """x @ weight.T + bias, with its own backward.

    LinearFunction.apply(x, weight, bias): x (n, i), weight (o, i), bias (o,) or None, all of one dtype, float32 or
    float64. n may be 0. Gradients may be differentiated again. If x or weight was changed in place between the two
    passes, and backward needs it, backward raises RuntimeError. backward makes one matrix product for each gradient of
    x and weight that is needed, and no other as large. The three methods alone are used: apply stays autograd's.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The result, (n, o)."""
        ### BEGIN SOLUTION
        result = x @ weight.T
        return result if bias is None else result + bias
        ### END SOLUTION

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor) -> None:
        """Keep in ctx what backward needs. inputs: the arguments of forward."""
        ### BEGIN SOLUTION
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)
        ### END SOLUTION

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients of x, weight and bias, from the one of the result, (n, o). None where it is not needed."""
        ### BEGIN SOLUTION
        x, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            upstream @ weight if needs[0] else None,
            upstream.T @ x if needs[1] else None,
            upstream.sum(0) if needs[2] else None,
        )
        ### END SOLUTION


# %% given
def linear_inputs(n, i, o, seed, dtype=torch.float32):
    """x, weight, bias and an upstream gradient."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, dtype=dtype, generator=generator) for size in ((n, i), (o, i), (o,), (n, o))]


def apply_of(function):
    """apply, as autograd makes it of the three methods."""
    methods = {name: staticmethod(getattr(function, name)) for name in ("forward", "setup_context", "backward")}
    return type(function.__name__, (torch.autograd.Function,), methods).apply


def leaves_of(tensors, needed):
    """Copies of the tensors, of which the needed ones (indices) require grad."""
    return [None if t is None else t.detach().clone().requires_grad_(n in needed) for n, t in enumerate(tensors)]


@probes.probe
def applied(function, tensors, needed, upstream, changed=None):
    """The result of apply, and the gradients of the needed tensors.

    changed: the index of a tensor that is changed in place between the passes.
    """
    leaves = leaves_of(tensors, needed)
    result = apply_of(function)(*leaves)
    if changed is not None:
        with torch.no_grad():
            leaves[changed].mul_(2)
    result.backward(upstream)
    return result.detach(), [leaves[n].grad for n in needed]


@probes.probe
def backward_flops(function, tensors, needed, upstream):
    """The multiplications and additions of the matrix products in the backward pass."""
    result = apply_of(function)(*leaves_of(tensors, needed))
    with FlopCounterMode(display=False) as counter:
        result.backward(upstream)
    return counter.get_total_flops()


@probes.probe
def differentiated_twice(function, x, weight, bias):
    """The gradients of x and weight are squared and summed: the gradients of that sum by weight and x."""
    x, weight, bias = leaves_of((x, weight, bias), (0, 1))
    first = torch.autograd.grad(apply_of(function)(x, weight, bias).sin().sum(), (x, weight), create_graph=True)
    return torch.autograd.grad(sum(part.square().sum() for part in first), (weight, x))


@probes.probe
def through_func(function, x, weight, bias):
    """torch.func.grad of the sum of the squares, by weight and bias."""
    return torch.func.grad(lambda w, b: apply_of(function)(x, w, b).square().sum(), argnums=(0, 1))(weight, bias)


# %% check: LinearFunction points=5
with check("two samples, three inputs, four outputs", weight=2, required=True):
    t = linear_inputs(2, 3, 4, 0)
    want = F.linear(*t[:3]), [t[3] @ t[1]]
    assert_close(applied(LinearFunction, t[:3], [0], t[3]), want)
### BEGIN HIDDEN TESTS


def linear_gradients(x, weight, upstream):
    """Of x, weight and bias."""
    return [upstream @ weight, upstream.T @ x, upstream.sum(0)]


with check(
    "results and gradients, other sizes and float64",
    weight=4,
    required=True,
    hint="Write the shapes of the three gradients beside the products. Which sizes are equal only by accident?",
):
    for n, i, o, dtype in ((3, 3, 3, torch.float32), (1, 5, 2, torch.float64), (6, 2, 3, torch.float64)):
        t = linear_inputs(n, i, o, n + i, dtype)
        want, want_grads = F.linear(*t[:3]), linear_gradients(t[0], t[1], t[3])
        t_ones = linear_gradients(t[0], t[1], torch.ones_like(t[3]))
        t_transposed, t_mean = t[3] @ t[1].T if i == o else None, t[3].mean(0)
        explain(
            applied(LinearFunction, t[:3], [0, 1, 2], t[3]),
            (want, want_grads),
            {
                "weight is transposed in the gradient of x": (want, [t_transposed, *want_grads[1:]]),
                "these are the gradients for an upstream gradient of ones": (want, t_ones),
                "the bias was added to n rows: its gradient is the mean over them": (want, [*want_grads[:2], t_mean]),
            },
        )
with check(
    "one gradient at a time, and no bias",
    weight=2,
    hint="What is the flag of an argument that is None? Does backward return three gradients in every case?",
):
    t = linear_inputs(4, 3, 2, 5)
    want, want_grads = F.linear(*t[:3]), linear_gradients(t[0], t[1], t[3])
    for place in range(3):
        assert_close(applied(LinearFunction, t[:3], [place], t[3]), (want, [want_grads[place]]))
    want = t[0] @ t[1].T, want_grads[:2]
    assert_close(applied(LinearFunction, [t[0], t[1], None], [0, 1], t[3]), want)
with check("an empty batch", guard=True, hint="What is a sum over no rows?"):
    t = linear_inputs(0, 3, 2, 6)
    want = torch.empty(0, 2), [torch.empty(0, 3), torch.zeros(2, 3), torch.zeros(2)]
    assert_close(applied(LinearFunction, t[:3], [0, 1, 2], t[3]), want)
with check(
    "a change in place between the passes raises an error",
    weight=2,
    hint="Which of the two squares noticed that x had changed? A copy notices nothing.",
):
    t = linear_inputs(4, 3, 2, 7)
    want = F.linear(*t[:3]), [t[3] @ t[1]]
    assert_close(applied(LinearFunction, t[:3], [0], t[3]), want, name="without a change, what comes")
    for place, needs in ((0, [0, 1]), (1, [0, 1]), (1, [0])):
        raised = False
        try:
            applied(LinearFunction, t[:3], needs, t[3], place)
        except RuntimeError:
            raised = True
        assert raised, f"{'weight' if place else 'x'} was changed in place, and backward used it all the same"
with check(
    "the gradient can be differentiated again", weight=2, hint="Is anything detached, of x, weight or upstream?"
):
    t = linear_inputs(4, 3, 2, 8, torch.float64)
    t_x, t_w = t[0].clone().requires_grad_(), t[1].clone().requires_grad_()
    want = torch.autograd.grad((t_x @ t_w.T + t[2]).sin().sum(), (t_x, t_w), create_graph=True)
    want = torch.autograd.grad(want[0].square().sum() + want[1].square().sum(), (t_w, t_x))
    assert_close(differentiated_twice(LinearFunction, *t[:3]), want)
with check("it works under torch.func.grad", weight=1, hint="Which of the three methods gets ctx?"):
    t = linear_inputs(4, 3, 2, 9)
    want = 2 * F.linear(*t[:3])
    want = want.T @ t[0], want.sum(0)
    assert_close(through_func(LinearFunction, *t[:3]), want)
with check("no product for a gradient that nobody needs", weight=2, observed=True, hint="Look at needs_input_grad."):
    t, t_product = linear_inputs(16, 8, 4, 10), 2 * 16 * 8 * 4
    for needs, want in (([0], t_product), ([1], t_product), ([0, 1], 2 * t_product)):
        got = backward_flops(LinearFunction, t[:3], needs, t[3])
        assert_close(got, want, name=f"the operations for {len(needs)} of the two gradients of x and weight")
    got = backward_flops(LinearFunction, t[:3], [2], t[3])
    assert type(got) is int and 0 <= got < t_product / 2, "a product for x or weight, though only bias needs a gradient"
### END HIDDEN TESTS

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
# Which one? When will the error come: at `apply`, or at `backward`?


# %% given
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
# ### Your turn

# %% given
hint(
    "Which of forward's arguments are tensors? What does backward return for the others?",
    "It can be done without a class: a hook, as in lab 3, may return another gradient. On which tensor must it be, so "
    "that other ways through x stay as they are? (x times -lam plus a constant is not x where x is infinite.)",
)


# %% exercise: grad_reverse
def grad_reverse(x: Tensor, lam: float) -> Tensor:
    """x forward, and -lam times the upstream gradient backward.

    x: any shape, float32 or float64. lam: a number from 0 to 100. The result has x's shape and dtype, and exactly x's
    values, also where they are infinite, or near the largest number of the dtype. It may share x's memory. x stays as
    it is. Works under torch.func.grad and torch.func.vmap too.
    """
    ### BEGIN SOLUTION

    class Reverse(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Tensor, lam: float) -> Tensor:
            return x.view_as(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
            ctx.lam = inputs[1]

        @staticmethod
        def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
            return -ctx.lam * upstream, None

    result: Tensor = Reverse.apply(x, lam)
    return result
    ### END SOLUTION


# %% given
def reversed_cubes(reverse, lam):
    """A function from a vector to a number, with reverse between the vector and its cubes."""
    return lambda vector: (reverse(vector, lam) ** 3).sum()


@probes.probe
def reversed_ways(reverse, x, upstream, first, second, third):
    """The gradient by x of three ways to one sum: reversed by first and second, by third, and not at all."""
    x = x.detach().clone().requires_grad_()
    result = reverse(reverse(x, first), second) + reverse(x, third) + x
    result.backward(upstream)
    return x.grad


@probes.probe
def reversed_for_each(reverse, rows, lam):
    """The gradient of reversed_cubes for each row, by vmap and grad, and for the first row by grad alone."""
    one = torch.func.grad(reversed_cubes(reverse, lam))
    return one(rows[0]), torch.func.vmap(one)(rows)


# %% check: grad_reverse points=3
with check("x forward, and -0.5 times the gradient backward", weight=2, required=True):
    t = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    want = torch.tensor([1.0, -2.0, 3.0])
    got = grad_reverse(t, 0.5)
    explain(got, want, {"forward does nothing: only the gradient is reversed": -0.5 * want})
    assert got.requires_grad, "your result has no history"
    (got**2).sum().backward()
    explain(
        t.grad,
        torch.tensor([-1.0, 2.0, -3.0]),
        {
            "the gradient is scaled, and not reversed": torch.tensor([1.0, -2.0, 3.0]),
            "lam was not used": torch.tensor([-2.0, 4.0, -6.0]),
        },
    )
### BEGIN HIDDEN TESTS
with check("other sizes, numbers and dtypes", weight=3, required=True, hint="What becomes of upstream gradients?"):
    for lam, dtype, size in ((1, torch.float32, (4, 3)), (2.5, torch.float64, (2, 1, 5)), (0.0, torch.float64, ())):
        t = torch.randn(size, dtype=dtype, generator=torch.Generator().manual_seed(3)).requires_grad_()
        want, t_up = t.detach().clone(), 3 * t.detach().cos()
        want_grad, digits = -lam * t_up, 4 * torch.finfo(dtype).eps
        got = grad_reverse(t, lam)
        assert_close(got, want, rtol=0, atol=0)
        (got,) = torch.autograd.grad(got, t, t_up)
        assert_close(got, want_grad, rtol=digits, atol=0, name="the gradient")
with check(
    "two in a row, and only one way of two reversed",
    weight=2,
    required=True,
    hint="Is lam kept for each call, or once?",
):
    for first, second, third in ((2.0, 3.0, 0.25), (0.5, 5.0, 4.0)):
        t = torch.tensor([0.5, -2.0], dtype=torch.float64)
        t_up = torch.tensor([1.0, -10.0], dtype=torch.float64)
        want = (first * second - third + 1) * t_up
        assert_close(reversed_ways(grad_reverse, t, t_up, first, second, third), want, name="the gradient")
with check(
    "under torch.func.grad, and vmap over it", weight=2, hint="Is there setup_context? What does vmap ask for by name?"
):
    for lam, n in ((0.5, 4), (3.0, 2)):
        t = torch.linspace(-1, 2, 3 * n).reshape(n, 3)
        want = -3 * lam * t[0] ** 2, -3 * lam * t**2
        assert_close(reversed_for_each(grad_reverse, t, lam), want)
with check(
    "infinite and very large values come through", weight=1, hint="What is inf - inf? And 100 times 3e38, in float32?"
):
    for dtype, big in ((torch.float32, 3e38), (torch.float64, 1e308)):
        t = torch.tensor([big, -big, math.inf, -math.inf, 0.1], dtype=dtype, requires_grad=True)
        want, want_grad = t.detach().clone(), torch.tensor([-100.0, 200.0, 50.0, -100.0, -0.0], dtype=dtype)
        got = grad_reverse(t, 100.0)
        assert_close(got, want, rtol=0, atol=0)
        got.backward(torch.tensor([1.0, -2.0, -0.5, 1.0, 0.0], dtype=dtype))
        assert_close(t.grad, want_grad, name="the gradient")
with check("x keeps its values, and an empty or constant x is fine", guard=True, hint="Is anything done in place?"):
    t = torch.tensor([1.0, -2.0])
    got = grad_reverse(t, 0.5)
    assert_close(got, torch.tensor([1.0, -2.0]))
    assert not got.requires_grad, "the result of a constant requires grad"
    assert_close(t, torch.tensor([1.0, -2.0]))
    assert_close(grad_reverse(torch.empty(0, 2), 2.0), torch.empty(0, 2))
### END HIDDEN TESTS

# %% [markdown]
# ## Digits in the tail
#
# The logarithm of the sigmoid is in the usual loss for two classes. It is `-log(1 + exp(-x))`, and its derivative is
# `1 - sigmoid(x)`. Both are right, on paper. What will the cell below print at -100 and at 30? At 30, the true value is
# about -9.4e-14, and the true derivative 9.4e-14.


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
# of the second derivative. 1e-7 is as good as it gets, and 1 means that no digit is right. Gaps are NaN. In a live
# notebook, choose a panel.


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
# ### Your turn
# Write a log-sigmoid that is right in all three panels. You may write one `Function`, several, or none.

# %% given
hint(
    "Which of PyTorch's operations are right far from zero? If backward is made of such operations, it is "
    "differentiated by their rules. Which rule has sigmoid?",
    "The derivative is sigmoid(-x), and sigmoid(-x) is exp(log_sigmoid(-x)). May backward call the Function that it "
    "belongs to? Without a Function: what must go into each side of where, so that the side that is not chosen stays "
    "harmless?",
)


# %% exercise: log_sigmoid
def log_sigmoid(x: Tensor) -> Tensor:
    """The logarithm of sigmoid(x), elementwise: values, gradients and second derivatives.

    x: any shape, float32 or float64, finite. The result has x's shape and dtype. For |x| up to 80, all three have a
    relative error of at most 1e-5 in float32, and of at most 1e-9 in float64. Beyond, they are finite, and as close as
    the dtype allows to their limits: the value to x or 0, the gradient to 1 or 0, the second derivative to 0. x stays
    as it is.
    """
    ### BEGIN SOLUTION

    class LogSigmoid(torch.autograd.Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, upstream: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return upstream * torch.exp(LogSigmoid.apply(-x))

    result: Tensor = LogSigmoid.apply(x)
    return result
    ### END SOLUTION


# %% check: log_sigmoid points=4
with check("values and gradients at -100, 0 and 30", weight=2, required=True):
    t = torch.tensor([-100.0, 0.0, 30.0], requires_grad=True)
    t_up = torch.tensor([2.0, -4.0, 3.0])
    want = torch.tensor([-100.0, -0.6931471805599453, -9.357622968839737e-14])
    want_grad = torch.tensor([2.0, -2.0, 2.807286890651921e-13])
    got = log_sigmoid(t)
    explain(
        got,
        want,
        {
            "sigmoid(-100) is 0 in float32, and has no logarithm": t.detach().sigmoid().log(),
            "a small number was added, and is all that is left of sigmoid(-100)": (t.detach().sigmoid() + 1e-7).log(),
        },
        rtol=1e-5,
        atol=0,
    )
    assert got.requires_grad, "your result has no history"
    got.backward(t_up)
    explain(
        t.grad,
        want_grad,
        {
            "1 - sigmoid(30) has no digit left: which other form has the same number?": t_up
            * torch.tensor([1.0, 0.5, 0.0]),
            "the upstream gradient was not used": torch.tensor([1.0, 0.5, 9.357622968839737e-14]),
            "where differentiates both sides": t_up * torch.tensor([float("nan"), 0.5, 9.357622968839737e-14]),
            "at 0 the slope is 0.5: two kinks meet there, and must cancel": t_up
            * torch.tensor([1.0, 1.0, 9.357622968839737e-14]),
        },
        rtol=1e-5,
        atol=0,
        name="the gradient",
    )
### BEGIN HIDDEN TESTS
with check(
    "values from -80 to 80, float32 and float64",
    weight=2,
    required=True,
    hint="On which side does exp overflow? Where does 1 swallow a small number?",
):
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        t_all = torch.linspace(-80, 80, 161, dtype=dtype)
        for t in (t_all, torch.linspace(-2, 2, 12, dtype=dtype).reshape(3, 4).T, t_all[77]):
            want = true_log_sigmoid(t)[0].to(dtype)
            assert_close(log_sigmoid(t), want, rtol=rtol, atol=0)
with check(
    "gradients from -80 to 80, float32 and float64",
    weight=3,
    required=True,
    hint="Compare your gradient with sigmoid(-x), relative to its size.",
):
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        t, t_2 = torch.linspace(-80, 80, 161, dtype=dtype), torch.linspace(-3, 3, 8, dtype=dtype).reshape(2, 4)
        t_up, t_up_2 = torch.linspace(3, -2, 161, dtype=dtype), torch.linspace(-1, 2, 8, dtype=dtype).reshape(2, 4)
        want, want_grad = (part.to(dtype) for part in true_log_sigmoid(t)[:2])
        want_2, want_grad_2 = (part.to(dtype) for part in true_log_sigmoid(t_2)[:2])
        want_grads = t_up * want_grad, t_up_2 * want_grad_2
        t_lost = t_up * (1 - t.sigmoid()), t_up_2 * (1 - t_2.sigmoid())
        t, t_2 = t.requires_grad_(), t_2.requires_grad_()
        got = [log_sigmoid(t), log_sigmoid(t_2)]
        assert_close(got, [want, want_2], rtol=rtol, atol=0)
        explain(
            torch.autograd.grad(got, (t, t_2), (t_up, t_up_2)),
            want_grads,
            {"this is 1 - sigmoid(x)": t_lost},
            rtol=rtol,
            atol=0,
            name="your gradients",
        )
with check(
    "second derivatives from -80 to 80",
    weight=3,
    hint="How does autograd differentiate what your backward does? Where is 1 - sigmoid hidden in it?",
):
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        t = torch.linspace(-80, 80, 81).to(dtype).requires_grad_()
        want, want_second = true_log_sigmoid(t)[0].to(dtype), -2 * true_log_sigmoid(t)[2].to(dtype)
        got = log_sigmoid(t)
        assert_close(got, want, rtol=rtol, atol=0)
        (got,) = torch.autograd.grad(got.sum(), t, create_graph=True)
        assert got.requires_grad, "your gradient has no history"
        (got,) = torch.autograd.grad(got, t, torch.full_like(got, -2.0))
        assert_close(got, want_second, rtol=rtol, atol=0, name="the second derivative")
        # Half of its square: the upstream gradient depends on x too.
        t = torch.linspace(-40, 40, 81).to(dtype).requires_grad_()
        want, want_first, want_second = true_log_sigmoid(t)
        want = (want_first**2 + want * want_second).to(dtype)
        (got,) = torch.autograd.grad(log_sigmoid(t).square().sum() / 2, t, create_graph=True)
        (got,) = torch.autograd.grad(got.sum(), t)
        assert_close(got, want, rtol=10 * rtol, atol=0, name="the second derivative of its square")
with check("far out nothing is NaN or infinite", weight=2, hint="What does your formula do with exp(1000)?"):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([-1e4, -1000.0, 1000.0, 1e4], dtype=dtype, requires_grad=True)
        want = t.detach().clamp(max=0)
        got = log_sigmoid(t)
        assert_close(got, want)
        (got,) = torch.autograd.grad(got.sum(), t, create_graph=True)
        assert_close(got, torch.tensor([1, 1, 0, 0], dtype=dtype), name="the gradient")
        (got,) = torch.autograd.grad(got.sum(), t)
        assert_close(got, torch.zeros(4, dtype=dtype), name="the second derivative")
with check("x keeps its values, and an empty x is fine", guard=True, hint="Is anything done in place?"):
    t = torch.tensor([1.0, -2.0])
    assert_close(log_sigmoid(t), torch.tensor([-0.31326169, -2.12692801]))
    assert_close(t, torch.tensor([1.0, -2.0]))
    assert_close(log_sigmoid(torch.empty(0, 2)), torch.empty(0, 2))
### END HIDDEN TESTS

# %% [markdown]
# There is a way without a `Function`: `where` again, with inputs that are harmless on both sides. The formula for
# positive `x` gets `x.clamp(min=0)`, and the other one `x.clamp(max=0)`. And there is a trap on the way. With
# `x.clamp(max=0) - log1p(exp(-abs(x)))`, as in the reference for the picture, all values are right. But its gradient at
# exactly 0 is 1.0, and not 0.5: two kinks meet there, and autograd takes a slope for each of them on its own.
#
# A rule to take along: `backward` is code like any other. It can lose digits where `forward` does not, and if it is
# differentiated, the derivative of its operations can lose them once more.
#
# ## Who judges the derivative?
#
# A derivative that you wrote yourself needs a test. The usual one moves each input a little and looks what the outputs
# do. `(f(x + h) - f(x - h)) / (2 * h)` is the *central difference*. How small should `h` be? The true slope below
# is 2.6. Predict the row of `h = 1e-08`.

# %% given
for step in (1e-2, 1e-4, 1e-6, 1e-8):
    slopes = []
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(1.3, dtype=dtype)
        slopes.append(((x + step) ** 2 - (x - step) ** 2) / (2 * step))
    print(f"h {step:.0e}  float32 {slopes[0].item():.6f}  float64 {slopes[1].item():.10f}")

# %% [markdown]
# At 1e-8, `x + h` is `x` in `float32`. The large `h` looks good only because the central difference of a square has no
# error of its own. For most functions it has one, and it grows with `h`. So in `float32` there is hardly any good `h`,
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
# ### Your turn
# Write the judge. Compare what autograd says with central differences, for every output and every input.

# %% given
hint(
    "Lab 3's Jacobian has one row for each output. The differences give one column for each input. Where do they meet?",
    "Move one element of a copy of x. Which gradient has an output that does not depend on x at all? "
    "torch.autograd.grad(..., retain_graph=True, materialize_grads=True) gives zeros for it, if it has a history.",
)


# %% exercise: check_grad
def check_grad(fn: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether autograd's derivative of fn at x is the one that finite differences give.

    fn: a function from a tensor of x's shape to a tensor of any shape, both float64. It may hold Functions of the older
    form, so torch.func and vmap do not get through it. A result without history, or with one that does not lead to x,
    has the derivative 0. x: any shape, float64, not empty, with or without requires_grad. It stays as it is, and so do
    its requires_grad and .grad.
    Returns True or False, a bool. True if every entry of the Jacobian agrees with its central difference. All entries
    lie between -1000 and 1000; none is NaN. A wrong derivative has an entry that is wrong by 1 % or more, and by 1e-3
    or more.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
    out = fn(leaf).reshape(-1)
    rows = torch.zeros(out.numel(), leaf.numel(), dtype=leaf.dtype)
    for i in range(out.numel() if out.requires_grad else 0):
        (row,) = torch.autograd.grad(out[i], leaf, retain_graph=True, materialize_grads=True)
        rows[i] = row.reshape(-1)
    for j in range(leaf.numel()):
        step = torch.zeros_like(leaf)
        step.view(-1)[j] = 1e-6
        with torch.no_grad():
            slope = (fn(leaf + step) - fn(leaf - step)).reshape(-1) / 2e-6
        if not torch.allclose(rows[:, j], slope, atol=1e-5):
            return False
    return True
    ### END SOLUTION


# %% check: check_grad points=5
with check("cubes with the right derivative, and with twice of it", weight=2, required=True):
    t = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64)
    t_right = with_backward(lambda x: x**3, lambda x, y, up: 3 * x**2 * up)
    t_twice = with_backward(lambda x: x**3, lambda x, y, up: 6 * x**2 * up)
    assert_close([check_grad(t_right, t), check_grad(t_twice, t)], [True, False])
### BEGIN HIDDEN TESTS


def cubes_of(size, claimed):
    """size * x ** 3, with the derivative of claimed * x ** 3."""
    return with_backward(lambda x: size * x**3, lambda x, y, up: 3 * claimed * x**2 * up)


def exp_of(size, with_upstream=True):
    """exp(size * x)."""
    return with_backward(lambda x: (size * x).exp(), lambda x, y, up: size * y * (up if with_upstream else 1))


def linear_map(matrix, claimed):
    """matrix @ x, with the derivative of claimed @ x."""
    return with_backward(lambda x: matrix @ x, lambda x, y, up: claimed.T @ up)


def soft_of(size, whole):
    """softmax(size * x), with the whole derivative or its diagonal."""
    return with_backward(
        lambda x: (size * x).softmax(-1),
        lambda x, y, up: size * y * (up - (up * y).sum(-1, keepdim=True) if whole else (1 - y) * up),
    )


def bend_of(size, both):
    """size * x * |x|, with a derivative that is right on both sides, or for positive x."""
    return with_backward(lambda x: size * x * x.abs(), lambda x, y, up: 2 * size * (x.abs() if both else x) * up)


def matrix_of(rows, columns):
    """One that is not symmetric."""
    return torch.arange(1.0, rows * columns + 1, dtype=torch.float64).reshape(rows, columns).cos()


with check(
    "right derivatives are accepted",
    weight=3,
    required=True,
    hint="Is everything float64, and are the differences central? What is 1e-4, measured against an entry of 1,000?",
):
    t = torch.randn(2, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    t_wide, t_high = matrix_of(1, 2), matrix_of(3, 2)
    t_cases = [(cubes_of(1.0, 1.0), 3 * t), (exp_of(1.5), t), (linear_map(t_wide, t_wide), t), (soft_of(1.0, True), t)]
    t_cases += [(linear_map(t_high, t_high), t), (bend_of(-2.0, True), t), (lambda x: torch.outer(x, x) / 2, t)]
    t_cases += [(exp_of(4.0), torch.tensor([1.2], dtype=torch.float64))]
    t_cases += [(cubes_of(1.0, 1.0), torch.tensor([18.0, -0.2], dtype=torch.float64))]
    t_cases += [(lambda x: x, t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [True] * 10, name="your verdicts")
with check(
    "wrong factors, signs and sides are rejected",
    weight=2,
    required=True,
    hint="Do you look at every element of x? How wrong is 1 % of a small entry?",
):
    t = torch.randn(3, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    t = t.sign() * (t.abs() + 0.2)
    t_one = torch.tensor([1.0, 2.0, 0.5, -0.1], dtype=torch.float64)
    t_cases = [
        (cubes_of(1.0, -1.0), t),
        (cubes_of(1.0, 1.01), t),
        (cubes_of(-2.0, 0.0), t),
        (bend_of(1.0, False), t_one),
    ]
    t_cases += [
        (cubes_of(1.0, 1.02), torch.tensor([2.0, 0.1], dtype=torch.float64)),
        (bend_of(1.0, False), t_one.flip(0)),
    ]
    t_cases += [(lambda x: x**2 + x.detach() / 2, t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [False] * 7, name="your verdicts")
with check(
    "small entries count as much as large ones",
    weight=2,
    hint="An entry of 0.3 that is wrong by 2 % is wrong by 0.006. And what may stand where 0 belongs?",
):
    t = torch.tensor([1.0, -0.8], dtype=torch.float64)
    t_small, t_zeros = torch.full((2, 2), 0.04, dtype=torch.float64), torch.zeros(3, 2, dtype=torch.float64)
    t_cases = [(cubes_of(0.1, 0.1), t), (cubes_of(0.1, 0.102), t), (linear_map(t_small, 1.1 * t_small), t)]
    t_cases += [(linear_map(t_zeros, t_zeros), t), (linear_map(t_zeros, t_zeros + 0.0015), t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [True, False, False, True, False], name="your verdicts")
    t_apart = torch.tensor([[500.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    t_wrong = torch.tensor([[500.0, 0.0], [0.0, 1.1]], dtype=torch.float64)
    got = [check_grad(linear_map(t_apart, claimed), t) for claimed in (t_apart, t_wrong)]
    assert_close(got, [True, False], name="your verdicts, where one entry is 500")
with check("a transposed matrix is rejected, and a diagonal too", weight=2, hint="Which entries do you compare?"):
    t = torch.randn(3, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    t_matrix, t_flip = matrix_of(3, 3), torch.eye(3, dtype=torch.float64).flip(0)
    t_cases = [
        (linear_map(t_matrix, t_matrix.T), t),
        (soft_of(1.0, False), t),
        (linear_map(1.5 * t_flip, 1.5 * t_flip.T), t),
    ]
    t_cases += [(soft_of(2.0, False), t), (linear_map(t_flip, torch.eye(3, dtype=torch.float64)), t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [False, False, True, False, False], name="your verdicts")
with check(
    "one wrong entry is enough, wherever it is", weight=1, hint="Which outputs and inputs come last? And first?"
):
    t = torch.tensor([0.5, -1.5], dtype=torch.float64)
    t_right, t_cases = matrix_of(3, 2), []
    for row, column in ((0, 0), (1, 1), (2, 0), (0, 1), (2, 1)):
        t_wrong = t_right.clone()
        t_wrong[row, column] += 0.05
        t_cases.append((linear_map(t_right, t_wrong), t))
    assert_close([check_grad(f, at) for f, at in t_cases], [False] * 5, name="your verdicts")
with check("a backward that ignores the upstream gradient is rejected", weight=2, hint="Which v do you send in?"):
    t = torch.randn(2, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    assert_close([check_grad(exp_of(1.0, False), t), check_grad(exp_of(1.0), t)], [False, True], name="your verdicts")
with check("a straight-through estimator is rejected", weight=1, hint="What is the true slope beside the step?"):
    t = torch.tensor([0.4, -1.0, 2.5], dtype=torch.float64)
    t_step = with_backward(lambda x: (x > 0.1).to(x.dtype), lambda x, y, up: up)
    t_flat = with_backward(lambda x: (x > 0.1).to(x.dtype), lambda x, y, up: 0 * up)
    assert_close([check_grad(t_step, t), check_grad(t_flat, t)], [False, True], name="your verdicts")
with check("a result without history has the derivative zero", weight=2, hint="What has no grad_fn?"):
    t = torch.tensor([0.5, -1.5], dtype=torch.float64)
    t_cases = [(lambda x: torch.full((2, 3), 2.0, dtype=x.dtype), t), (lambda x: 3 * x.detach() ** 2, t)]
    t_cases += [(lambda x: torch.full((3,), 4.0, dtype=x.dtype), t.clone().requires_grad_())]
    t_cases += [(lambda x: torch.ones(3, dtype=x.dtype, requires_grad=True).cumsum(0), t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [True, False, True, True], name="your verdicts")
with check("matrices, transposed ones, a single number", weight=2, hint="How do you get at element j of x?"):
    t = torch.linspace(-1, 1.5, 6, dtype=torch.float64).reshape(2, 3)
    t_number, t_map, t_small = torch.tensor(0.3, dtype=torch.float64), matrix_of(2, 3), t[:, ::2]
    t_cases = [(cubes_of(1.0, 1.0), t), (cubes_of(1.0, 1.1), t.T), (soft_of(1.0, True), t_small.T)]
    t_cases += [(soft_of(1.0, False), t_small.T), (bend_of(1.0, True), t_small), (exp_of(1.0), t_number)]
    t_cases += [(cubes_of(1.0, -1.0), t_number), (linear_map(t_map, t_map), t.T[:, :1])]
    t_want = [True, False, True, False, True, True, False, True]
    assert_close([check_grad(f, at) for f, at in t_cases], t_want, name="your verdicts")
with check("x and x.grad stay as they are", guard=True, hint="Which calls write to .grad? Whose element do you move?"):
    t = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
    t.grad = torch.tensor([7.0, 8.0], dtype=torch.float64)
    t_plain = torch.tensor([0.5, -1.5], dtype=torch.float64)
    t_cases = [(cubes_of(1.0, 1.0), t), (cubes_of(1.0, 1.0), t_plain)]
    assert_close([check_grad(f, at) for f, at in t_cases], [True, True])
    assert_close(t.detach(), torch.tensor([0.5, -1.5], dtype=torch.float64), rtol=0, atol=0, name="x")
    assert_close(t.grad, torch.tensor([7.0, 8.0], dtype=torch.float64), name="x.grad")
    assert t.requires_grad, "x does not require grad any more"
    assert_close(t_plain.detach(), torch.tensor([0.5, -1.5], dtype=torch.float64), rtol=0, atol=0, name="x")
    assert not t_plain.requires_grad, "x requires grad now"
    assert t_plain.grad is None, "x has a .grad now"
### END HIDDEN TESTS

# %% [markdown]
# What should a judge say of `RoundThrough`? And what does a judge not see? `OneMinus` from above has no right digit at
# 30 in `float32`, and few in `float64`. Here is PyTorch's own judge. With its usual tolerances it would have passed the
# checks above: it does what yours does. Which of the four lines will say `True`?

# %% given
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
# values of its gradient. It accepts `OneMinus`, also in the tail: 0 in place of 4e-18 is within its absolute tolerance.
# And it rejects `x ** 2` in `float32`, where nothing is wrong. So a judge finds wrong formulas. It does not find lost
# digits, and it knows only the points and the dtype that you gave it.

# %% [markdown]
# ## Functions of functions
#
# `torch.func` holds functions that take a function and give another one. `torch.func.grad(f)` is the function that
# computes the gradient of `f`. What will `x.grad` be below? And what if `f` returns more than one number?


# %% given
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


# %% given
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
# for a batch. So it cannot do what needs a single number. Which of the five functions below will it refuse?


# %% given
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
# the model with these tensors, a dict from names to tensors, in place of its own.
#
# One remark on tests. The mean of the result must be the gradient of the mean loss. Is that test enough?
#
# ### Your turn
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


# %% exercise: per_sample_grads
def per_sample_grads(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """The gradient of each sample's own cross entropy by each parameter that requires grad.

    model: from (n, ...) to logits (n, classes), each row from its own sample: no dropout, no batch normalisation in
    training mode. Some of its parameters may not require grad. x: (n, ...), n at least 1, does not either. y: (n,),
    int64.
    Returns the name of each parameter that requires grad, as in named_parameters(), with a tensor (n, *its shape) of
    the parameter's dtype, without history: zeros for one that the model does not use. The model stays as it is, with
    its modes and its .grad.
    """
    ### BEGIN SOLUTION
    trained: dict[str, Tensor] = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def loss(parameters: dict[str, Tensor], one: Tensor, label: Tensor) -> Tensor:
        logits = torch.func.functional_call(model, parameters, (one[None],))
        return F.cross_entropy(logits, label[None])

    found: dict[str, Tensor] = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    return {name: t.detach() for name, t in found.items()}
    ### END SOLUTION


# %% given
def small_of(state, frozen):
    """A Small of these tensors. frozen: the names of parameters that do not require grad."""
    weight, bias = state["first.weight"], state["last.bias"]
    model = Small(weight.shape[1], len(bias), weight.dtype)
    model.load_state_dict(state)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    return model


@probes.probe
def sample_gradients(per_sample, state, frozen, x, y, average=False):
    """What per_sample finds for a Small; its mean over the samples if average."""
    found = per_sample(small_of(state, frozen), x, y)
    return {name: t.detach().mean(0) if average else t.detach() for name, t in found.items()}


@probes.probe
def left_by(per_sample, state, frozen, modes, grads, x, y):
    """What per_sample leaves behind of a Small in these modes, and with these .grad."""
    model = small_of(state, frozen)
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    for name, parameter in model.named_parameters():
        parameter.grad = grads[name]
    found = per_sample(model, x, y)
    return {
        "history": [name for name, t in found.items() if t.requires_grad],
        "state": probes.state_of(model),
        "grads": probes.gradients_of(model),
        "modes": [module.training for module in model.modules()],
        "frozen": [name for name, p in model.named_parameters() if not p.requires_grad],
    }


# %% check: per_sample_grads points=4
with check("the mean over the samples is the gradient of the mean loss", weight=2, required=True):
    t = torch.linspace(-1, 1, 15).reshape(5, 3)
    t_y = torch.tensor([0, 1, 1, 0, 1])
    t_model = Small(3, 2)
    t_parts = {name: p for name, p in t_model.named_parameters() if p.requires_grad}
    t_loss = F.cross_entropy(t_model(t), t_y)
    t_grads = torch.autograd.grad(t_loss, list(t_parts.values()), materialize_grads=True)
    want = dict(zip(t_parts, t_grads, strict=True))
    assert_close(sample_gradients(per_sample_grads, t_model.state_dict(), ["first.bias"], t, t_y, average=True), want)
### BEGIN HIDDEN TESTS


def drawn_state(inputs, outputs, dtype, generator):
    """Tensors of a Small."""
    state = Small(inputs, outputs, dtype).state_dict()
    drawn = {name: torch.randn(t.shape, dtype=dtype, generator=generator) for name, t in state.items()}
    count = {"norm.num_batches_tracked": torch.tensor(inputs)}
    return {**drawn, "norm.running_var": drawn["norm.running_var"].abs() + 0.5, **count}


def one_by_one(state, frozen, x, y):
    """The gradients of the samples."""
    model = small_of(state, frozen)
    parts = {name: p for name, p in model.named_parameters() if p.requires_grad}
    losses = [F.cross_entropy(model(x[k : k + 1]), y[k : k + 1]) for k in range(len(x))]
    rows = [torch.autograd.grad(loss, list(parts.values()), materialize_grads=True) for loss in losses]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(parts)}


with check(
    "the gradient of each sample",
    weight=4,
    required=True,
    hint="The mean was right. Is row i really the gradient of sample i's loss, and not divided by n?",
):
    for n, inputs, outputs, dtype, frozen in (
        (4, 2, 3, torch.float32, ["first.bias"]),
        (1, 5, 2, torch.float64, []),
        (6, 3, 5, torch.float64, ["last.weight", "norm.bias", "spare"]),
    ):
        generator = torch.Generator().manual_seed(n)
        t = torch.randn(n, inputs, 2, dtype=dtype, generator=generator)
        t_y = torch.randint(0, outputs, (n,), generator=generator)
        t_state = drawn_state(inputs, outputs, dtype, generator)
        want = one_by_one(t_state, frozen, t, t_y)
        t_means = {name: part.mean(0).expand_as(part) for name, part in want.items()}
        t_parts = {name: part / n for name, part in want.items()}
        t_sums = {name: part.cumsum(0) for name, part in want.items()}
        explain(
            sample_gradients(per_sample_grads, t_state, frozen, t, t_y),
            want,
            {
                "this is the gradient of the mean loss, once for each sample": t_means if n > 1 else None,
                "this was divided by n": t_parts if n > 1 else None,
                "each row holds the sum of all rows before it too": t_sums if n > 1 else None,
            },
        )
with check("no history, and .grad, modes and parameters as before", weight=2, hint="Which calls write to .grad?"):
    generator = torch.Generator().manual_seed(8)
    t, t_y = torch.randn(4, 3, generator=generator), torch.tensor([2, 0, 1, 1])
    t_state = drawn_state(3, 4, torch.float32, generator)
    t_grads = {name: torch.randn(p.shape, generator=generator) for name, p in Small(3, 4).named_parameters()}
    t_grads = {**t_grads, "last.bias": None}
    want = {
        "history": [],
        "state": {name: part.clone() for name, part in t_state.items()},
        "grads": {name: None if part is None else part.clone() for name, part in t_grads.items()},
        "modes": [False, True, False, True],
        "frozen": ["norm.weight"],
    }
    got = left_by(per_sample_grads, t_state, ["norm.weight"], [False, True, False, True], t_grads, t, t_y)
    assert_close(got, want, name="what is there afterwards")
### END HIDDEN TESTS

# %% [markdown]
# The gradient of the mean loss, repeated for each sample, has the right shape and the right mean. So does anything else
# with that mean. A test of a mean tests a mean.
#
# ### Jacobians of a batch
#
# `jacrev(f)` is for one input. What is the shape of its result for a whole batch of 5 vectors with 3 numbers, if `f`
# works on batches too?

# %% given
print(tuple(torch.func.jacrev(torch.square)(torch.ones(5, 3)).shape))

# %% [markdown]
# It holds how each output depends on each input, of other samples as well. All of those are zero: 5 times as many
# numbers as you want. With 1,000 samples it is 1,000 times as many.
#
# ### Your turn


# %% given
# Functions to try your solution on. The checks use them too. Each is for one sample, a vector of at least two numbers.
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


# %% given
hint(
    "Both are functions of functions. Which of the two goes inside?",
    "jacrev turns f into a function that gives the Jacobian of one sample.",
)


# %% exercise: batched_jacobian
def batched_jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The Jacobian of f at each row of x.

    f: a function from one sample (m,) to (k,), made of PyTorch's operations. x: (n, m), n at least 1, float32 or
    float64; it may require grad. Returns (n, k, m): element (i, a, b) is the derivative of output a by input b at row
    i. If x requires grad, and the Jacobian depends on x, the result can be differentiated by x. That of a linear f does
    not, and may have no history. x stays as it is, and so do its requires_grad and .grad.
    """
    ### BEGIN SOLUTION
    return torch.func.vmap(torch.func.jacrev(f))(x)
    ### END SOLUTION


# %% check: batched_jacobian points=2
with check("three points in polar coordinates", weight=2, required=True):
    t = torch.tensor([[3.0, 4.0], [1.0, -1.0], [-2.0, 0.5]])
    want = torch.stack([torch.autograd.functional.jacobian(polar, row) for row in t])
    got = batched_jacobian(polar, t)
    explain(got, want, {"rows and columns are exchanged": want.mT})
### BEGIN HIDDEN TESTS
with check(
    "other functions, sizes and dtypes",
    weight=4,
    required=True,
    hint="Is f called with one sample? Which of the axes is the input's?",
):
    for f, n, m, dtype in (
        (neighbours, 4, 3, torch.float64),
        (spread_out, 1, 2, torch.float32),
        (neighbours, 2, 2, torch.float32),
        (spread_out, 5, 4, torch.float64),
        (polar, 3, 4, torch.float64),
        (steps, 4, 3, torch.float64),
    ):
        t = torch.randn(m, n, dtype=dtype, generator=torch.Generator().manual_seed(n)).T
        want, digits = (
            torch.stack([torch.autograd.functional.jacobian(f, row) for row in t]),
            1e3 * torch.finfo(dtype).eps,
        )
        assert_close(batched_jacobian(f, t), want, rtol=digits, atol=digits)
    t = torch.tensor([[1.0, 2.0, -1.0], [0.0, 3.0, 0.5]], requires_grad=True)
    want = torch.tensor([[[-1.0, 2.0, 0.0], [0.0, -1.0, 2.0]]] * 2)
    assert_close(batched_jacobian(steps, t), want, name="the Jacobian of a linear function")
with check("it can be differentiated by x", weight=2, required=True, hint="Is there a detach on the way?"):
    t = torch.tensor([[3.0, 4.0, -1.0], [1.0, -1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    t_up = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(2, 2, 3)
    want = torch.zeros(2, 2, 3, dtype=torch.float64)
    for row in range(2):
        for a in range(2):
            want[row, a, a], want[row, a, a + 1] = 2 * t[row, a] * t[row, a + 1], t[row, a] ** 2
    want_grad = torch.autograd.grad(want, t, t_up)[0]
    got = batched_jacobian(neighbours, t)
    assert_close(got, want)
    assert got.requires_grad, "your result has no history"
    assert_close(torch.autograd.grad(got, t, t_up)[0], want_grad, name="the gradient of your result")
with check("x and x.grad stay as they are", guard=True, hint="Which calls write to .grad?"):
    t = torch.tensor([[3.0, 4.0], [1.0, -1.0]], requires_grad=True)
    t.grad = torch.full((2, 2), 7.0)
    t_plain = torch.tensor([[3.0, 4.0], [1.0, -1.0]])
    want = torch.tensor([[[0.6, 0.8], [-0.16, 0.12]], [[0.5**0.5, -(0.5**0.5)], [0.5, 0.5]]])
    for each in (t, t_plain):
        assert_close(batched_jacobian(polar, each), want)
        assert_close(each.detach(), torch.tensor([[3.0, 4.0], [1.0, -1.0]]), rtol=0, atol=0, name="x")
    assert_close(t.grad, torch.full((2, 2), 7.0), name="x.grad")
    assert t.requires_grad, "x does not require grad any more"
    assert not t_plain.requires_grad, "x requires grad now"
    assert t_plain.grad is None, "x has a .grad now"
### END HIDDEN TESTS

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
# ### Your turn
# The models are in training mode, as they come out of training. How must they be asked, and in which state must they be
# afterwards?

# %% given
hint(
    "vmap runs over the two dicts, and not over x. Which model does functional_call call? Its own tensors are not "
    "used, but its modes are.",
    "stack_module_state wants all models in the same mode. Deep copies can be put into evaluation mode, and nobody "
    "notices. Is the mean of softmax the softmax of the mean?",
)


# %% exercise: ensemble_predict
def ensemble_predict(models: Sequence[nn.Module], x: Tensor) -> Tensor:
    """The mean of the models' probabilities, each in evaluation mode.

    models: at least one, all of the same class and sizes, with parameters and buffers of their own, in any modes. x:
    (n, ...). A model gives logits (n, c), and their softmax along c is its probabilities.
    Returns (n, c), without history. All models are asked at once: forward is called one time in all. The models stay as
    they are, with their modes, buffers and .grad.
    """
    ### BEGIN SOLUTION
    copies = [copy.deepcopy(model).eval() for model in models]
    parameters, buffers = torch.func.stack_module_state(copies)

    def probabilities(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        logits: Tensor = torch.func.functional_call(copies[0], (parameters, buffers), (x,))
        return logits.softmax(-1)

    with torch.no_grad():
        result: Tensor = torch.func.vmap(probabilities)(parameters, buffers).mean(0)
    return result
    ### END SOLUTION


# %% given
class Asking(torch.autograd.Function):
    """ask(*tensors), which vmap calls once, with the tensors of all models, stacked along dimension 0."""

    @staticmethod
    def forward(ask, *tensors):
        return ask(*tensors)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, ask, *tensors):
        n = info.batch_size
        found = zip(tensors, in_dims[1:], strict=True)
        return Asking.apply(ask, *[t.expand(n, *t.shape) if d is None else t.movedim(d, 0) for t, d in found]), 0


class AskingVoter(Voter):
    """A Voter that asks a function for its logits."""

    def head(self, x):
        return Asking.apply(self.ask, x, self.last.weight, self.last.bias, self.heat)


def voters(states, modes, ask):
    """Voters of these tensors, by name, with their modules in these modes."""
    made = []
    for state, training in zip(states, modes, strict=True):
        model = AskingVoter(*state["last.weight"].T.shape, seed=0)
        model.ask = lambda *tensors: ask(*tensors)
        with torch.no_grad():
            for name, t in [*model.named_parameters(), *model.named_buffers()]:
                t.copy_(state[name])
        for module, mode in zip(model.modules(), training, strict=True):
            module.training = mode
        made.append(model)
    return made


@probes.probe
def ensemble_result(predict, states, modes, ask, x):
    """The prediction of voters."""
    return predict(voters(states, modes, ask), x).detach()


@probes.probe
def left_by_prediction(predict, states, modes, grads, ask, x):
    """What a prediction leaves behind of voters, each with its .grad of the last weight."""
    models = voters(states, modes, ask)
    for model, grad in zip(models, grads, strict=True):
        model.last.weight.grad = grad
    result = predict(models, x)
    tensors = [dict([*model.named_parameters(), *model.named_buffers()]) for model in models]
    return {
        "history": result.requires_grad,
        "states": [{name: t.detach() for name, t in named.items()} for named in tensors],
        "modes": [[module.training for module in model.modules()] for model in models],
        "grads": [model.last.weight.grad for model in models],
        "trained": [[p.requires_grad for p in model.parameters()] for model in models],
    }


# %% check: ensemble_predict points=3
with check("three models, four samples: rows that sum to one", weight=1, required=True):
    t = torch.linspace(-1, 1, 20).reshape(4, 5)
    t_state = {name: torch.zeros_like(part) for name, part in Voter(5, 2, 0).state_dict().items()}
    t_state |= {"norm.running_var": torch.ones(5), "heat": torch.tensor(1.0)}
    t_odds = ([1.0, 9.0], [1.0, 4.0], [9.0, 1.0])
    t_states = [{**t_state, "last.bias": torch.tensor(odds).log()} for odds in t_odds]
    want = torch.tensor([[0.4, 0.6]] * 4)
    got = ensemble_result(
        ensemble_predict, t_states, [[True] * 4] * 3, lambda x, w, b, heat: x @ w.mT + b[..., None, :], t
    )
    assert_close(got, want)
### BEGIN HIDDEN TESTS


def drawn_voters(inputs, classes, count, generator):
    """Tensors and modes of voters."""
    states = []
    for _ in range(count):
        model = Voter(inputs, classes, 0)
        sizes = {name: t.shape for name, t in [*model.named_parameters(), *model.named_buffers()]}
        state = {name: torch.randn(size, generator=generator) for name, size in sizes.items()}
        state["norm.running_var"] = state["norm.running_var"].abs() + 0.5
        states.append({**state, "norm.num_batches_tracked": torch.tensor(count), "heat": state["heat"].abs() + 2})
    modes = [[bool(mode) for mode in row] for row in torch.randint(0, 2, (count, 4), generator=generator)]
    return states, modes


def asked_in_turn(states, ask, x):
    """The logits of voters, by a function that is asked for each of them."""
    logits = []
    for state in states:
        t = (x - state["norm.running_mean"]) / (state["norm.running_var"] + 1e-5).sqrt()
        t = t * state["norm.weight"] + state["norm.bias"]
        logits.append(ask(t, state["last.weight"], state["last.bias"], state["heat"]))
    return torch.stack(logits)


def mixing(mix):
    """The logits of one model, or of several that are stacked: nobody else knows mix."""
    return lambda x, weight, bias, heat: heat[..., None, None] * ((x @ mix).tanh() @ weight.mT + bias[..., None, :])


with check(
    "the mean of the probabilities of all models",
    weight=4,
    required=True,
    hint="Softmax before the mean. Does each model have its own weights and its own buffers? Is dropout off?",
):
    for inputs, classes, count, n in ((4, 3, 2, 5), (3, 5, 4, 1), (6, 2, 1, 7)):
        generator = torch.Generator().manual_seed(count)
        t, t_head = (
            torch.randn(n, inputs, generator=generator),
            mixing(torch.randn(inputs, inputs, generator=generator)),
        )
        t_states, t_modes = drawn_voters(inputs, classes, count, generator)
        t_logits = asked_in_turn(t_states, t_head, t)
        want = t_logits.softmax(-1).mean(0)
        t_after, t_first = t_logits.mean(0).softmax(-1), t_logits[0].softmax(-1)
        explain(
            ensemble_result(ensemble_predict, t_states, t_modes, t_head, t),
            want,
            {
                "this is the softmax of the mean of the logits": t_after if count > 1 else None,
                "this is the first model alone": t_first if count > 1 else None,
            },
        )
with check(
    "no history, and the models are as before", weight=2, hint="Which modes did they have? Whose mode do you change?"
):
    generator = torch.Generator().manual_seed(5)
    t, t_head = torch.randn(4, 3, generator=generator), mixing(torch.eye(3))
    t_states, t_modes = drawn_voters(3, 2, 3, generator)
    t_grads = [torch.randn(2, 3, generator=generator), None, torch.randn(2, 3, generator=generator)]
    want = {
        "history": False,
        "states": [{name: part.clone() for name, part in state.items()} for state in t_states],
        "modes": [list(row) for row in t_modes],
        "grads": [None if grad is None else grad.clone() for grad in t_grads],
        "trained": [[True] * 4] * 3,
    }
    got = left_by_prediction(ensemble_predict, t_states, t_modes, t_grads, t_head, t)
    assert_close(got, want, name="what is there afterwards")
with check("forward is called once", weight=1, required=True, hint="What does vmap run over?"):
    for inputs, count in ((3, 5), (4, 2)):
        generator = torch.Generator().manual_seed(count)
        t, t_head = (
            torch.randn(6, inputs, generator=generator),
            mixing(torch.randn(inputs, inputs, generator=generator)),
        )
        t_states, t_modes = drawn_voters(inputs, 3, count, generator)
        want = asked_in_turn(t_states, t_head, t).softmax(-1).mean(0)
        t_seen = Seen(t_head)
        assert_close(ensemble_result(ensemble_predict, t_states, t_modes, t_seen, t), want)
        assert len(t_seen.calls) == 1, f"forward was called {len(t_seen.calls)} times for {count} models"
### END HIDDEN TESTS

# %% [markdown]
# A loop gives the same numbers, with one call of `forward` for each model. Yours makes one call, whatever their number:
# each of its operations works on all models at once. That is what `vmap` is for.
#
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. A question counts only if all of its letters are right, and one right question alone pays nothing.
#
# **q1. An `autograd.Function`**
# - a. You call its `forward`.
# - b. `backward` returns one value for each argument of `forward`.
# - c. What `forward` does is recorded, and differentiated together with `backward`.
# - d. `torch.func` needs `setup_context`.
# - e. A tensor in an attribute of `ctx` may be changed in place, and `backward` raises an error.
#
# **q2. A straight-through estimator**
# - a. Its clipped form clamps the upstream gradient to [-1, 1].
# - b. `(x > 0).float()` has a gradient of zeros.
# - c. `x.round()` has a gradient of zeros.
# - d. `gradcheck` rejects it, and should.
# - e. A test with `y.sum().backward()` tells the plain form from one that ignores the upstream gradient.
#
# **q3. Digits**
# - a. In `float32`, `1 - torch.sigmoid(x)` is 0 at 30.
# - b. `torch.where(x >= 0, a, b)` computes one of the two gradients only.
# - c. `torch.sigmoid(-x)` has its digits at 30.
# - d. A backward with right values has a right second derivative.
# - e. A gradient can be NaN where the value is right.
#
# **q4. Finite differences**
# - a. A wrong derivative can give the right gradient of the sum of the outputs.
# - b. The smaller the step, the better the slope.
# - c. `gradcheck` accepts only functions that are right everywhere.
# - d. `gradcheck` in `float32` rejects right functions.
# - e. A backward that passes `gradcheck` on [-5, 5] has its digits at 40.
#
# **q5. `torch.func.grad`, `jacrev` and `vjp`**
# - a. `grad(f)` wants an `f` that returns one number.
# - b. `grad(f)(x)` fills `x.grad`.
# - c. The mean over the samples is enough to test gradients of each sample.
# - d. `jacrev(f)` of a batch (n, m) has one Jacobian for each sample, and nothing else.
# - e. `vmap(jacrev(f))` of a batch has one Jacobian for each sample, and nothing else.
#
# **q6. `vmap`**
# - a. It calls the function once for each sample.
# - b. It refuses `if x.sum() > 0`.
# - c. Random numbers are different for each sample, unless you say otherwise.
# - d. It needs a rule for a `Function` of your own.
# - e. It can run over the parameters of several models.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "bd", "q2": "cd", "q3": "ace", "q4": "ad", "q5": "ae", "q6": "bde"}
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
    assert_some_right(interview(), {"q1": "bd", "q2": "cd", "q3": "ace", "q4": "ad", "q5": "ae", "q6": "bde"})
with check("q1: a Function", weight=4, hint="Which of the two squares raised an error?"):
    assert_letters(interview(), "q1", "bd")
with check("q2: an estimator", weight=4, hint="Which of the two has no grad_fn? What would ones tell you?"):
    assert_letters(interview(), "q2", "cd")
with check("q3: digits", weight=4, hint="Look at the third panel, and at where."):
    assert_letters(interview(), "q3", "ace")
with check("q4: finite differences", weight=4, hint="What did the four lines of gradcheck say?"):
    assert_letters(interview(), "q4", "ad")
with check("q5: grad, jacrev and vjp", weight=4, hint="What was x.grad? What shape had the Jacobian of the batch?"):
    assert_letters(interview(), "q5", "ae")
with check("q6: vmap", weight=4, hint="How often was the voters' forward called?"):
    assert_letters(interview(), "q6", "bde")
### END HIDDEN TESTS

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
# tolerance accepts 0 in place of a small gradient. gradgradcheck if it is differentiated twice. Her test could not find
# a gradient that is 0 or has lost its digits for large errors, which is what the training shows; a wrong sign on one
# side; a missing mask; a factor, if the gradient at zero is zero; a result of the wrong dtype for float64.
#
# For grading: one point for what is wrong with the test (dtype and tolerance, and the one special point), one for a
# better test with points and reference and for two mistakes.
# ### END SOLUTION

# %% [markdown]
# ## Summary
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
# In lab 9 the digits become fewer: sixteen bits for a number.
