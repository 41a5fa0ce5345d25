# %% [markdown]
# # Autograd: what is recorded, and what backward does
#
# Your loss goes down, and one of your layers never learns. How do you find out? There's no error: one line cuts the
# layer off, and the rest of the network learns around it. To find that line, you have to know what PyTorch records
# while it computes, and what `backward` does with the record. The part of PyTorch that does both is called autograd.
#
# After this lab you can
#
# - say which operations are recorded, and read the record;
# - compute the gradient of a matrix expression by hand;
# - get a gradient or a whole Jacobian from autograd, without side effects;
# - say where gradients accumulate, and add them up correctly over unequal batches;
# - find the line that cuts a gradient off, and fix it;
# - change a gradient during the backward pass.
#
# You need lab 1. Plan two sittings of about an hour for the text and the five core exercises: `value_and_slope`,
# `manual_grads`, `jacobian`, `task_gradients` and `scaled_peak`. The four under *Further practice* earn no points, and
# no later lab needs them. All numbers were measured with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise, a card shows its checks. Those
# marked *later* run when the lab is marked: with the button *Mark my work*, or after you hand it in. A person reads the
# last question.

# %% given
import warnings

import numpy as np
import torch
from torch import Tensor

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    play_network,
    probes,
    show_backward,
    show_curves,
    show_graph,
    show_vjp,
    use_device,
)

# %% given
here = use_device()  # where new tensors are made: on the GPU, if there is one

# %% [markdown]
# ## A layer that never learns
#
# This is lab 1's script with its three fixes, after which it got 88%. Since then, someone has replaced ReLU, which
# sets negative numbers to zero, with NumPy's `maximum`. `.numpy()` raised an error, and the error's text recommended
# `.detach()`. Run the cell.

# %% scratch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
scans, digits = torch.tensor(load_digits().images), torch.tensor(load_digits().target)
pixels = (scans.float() - 8).flatten(1) / 8  # for each image, a row of 64 numbers from -1 to 1
hidden_layer, output_layer = nn.Linear(64, 64), nn.Linear(64, 10)


def network(images):
    hidden = hidden_layer(images).detach().cpu().numpy()
    hidden = torch.tensor(np.maximum(hidden, 0))
    return output_layer(hidden)


optimizer = torch.optim.SGD([*hidden_layer.parameters(), *output_layer.parameters()], lr=0.3)
for epoch in range(1, 11):
    for rows in torch.arange(1500).split(100):
        loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch in (1, 2, 5, 10):
        print(f"epoch {epoch:2}: loss {loss:.2f}")
guesses = network(pixels[1500:]).argmax(dim=1)
print(f"right for {(guesses == digits[1500:]).float().mean():.0%} of the images that it hasn't seen")

# %% [markdown]
# The loss falls from 1.91 to 0.63, so everything seems to work. But the network gets only 81% instead of 88%. If you
# didn't know the 88%, would you suspect anything? One of the two layers still has its random weights. The lab returns
# to this script twice: once to see why it needs `zero_grad`, and once to find the line that's wrong.

# %% [markdown]
# ## One derivative, three ways
#
# Training follows slopes, so start with one. Take the polynomial $x^3 + 2x^2 - 5x + 3$. Its derivative is
# its slope: how much the value changes for a small change of $x$, per unit of that change. By hand it's
# $3x^2 + 4x - 5$, which is 15 at $x = 2$.
#
# You can also measure a slope without a formula. Step a little to the right and a little to the left, and divide the
# difference of the values by the distance:
#
# $$\frac{f(x + h) - f(x - h)}{2h}$$
#
# This is called a *finite difference*. It needs only numbers, so NumPy or plain Python will do. The smaller $h$ is, the
# closer you get to the true slope. Or not?

# %% predict: smallest_error
# **Predict.** Python's numbers are float64. Which `h` gives the smallest error?
#
# - [ ] `h = 1e-1`
# - [x] `h = 1e-5`
# - [ ] `h = 1e-9`
# - [ ] `h = 1e-13`


# %% example
def cubic(x):
    return x**3 + 2 * x**2 - 5 * x + 3


errors = []
for k in range(14):
    slope = (cubic(2.0 + 10.0**-k) - cubic(2.0 - 10.0**-k)) / (2 * 10.0**-k)
    errors.append(abs(slope - 15))
    print(f"h = {10.0**-k:.0e}   slope = {slope:.10f}   error = {errors[-1]:.0e}")
show_curves({"error": errors}, x="k, where h is 10 to the power of -k", y="error")

# %% [markdown]
# On logarithmic axes, the errors form a V, with its lowest point at `1e-5` and `1e-6`. With a large $h$, the curve
# bends between the two points. With a tiny $h$, the two values agree in nearly all of their digits. The subtraction
# cancels these digits, and what remains is rounding error, divided by a tiny number. A finite difference is a good test
# of a gradient, but it is an approximation.
#
# The third way is autograd. Mark the input with `requires_grad=True`, compute, and call `backward()` on the result.
# The derivative appears in `x.grad`.

# %% example
x = torch.tensor(2.0, requires_grad=True)
y = cubic(x)
y.backward()
print("value", y.item(), "  slope", x.grad.item())

# %% [markdown]
# You needed neither $h$ nor a formula for the whole derivative. Autograd knows the derivative of each single operation
# and joins them by the *chain rule*: the slope of one step after another is the product of their slopes. The result is
# exact up to rounding.
#
# ### Your turn: value_and_slope
# Do by hand what autograd does: carry the slope along while you compute the value. Horner's rule computes the value of
# a polynomial from its coefficients in one loop, the highest power first:
#
# $$x^3 + 2x^2 - 5x + 3 = ((1 \cdot x + 2) \cdot x - 5) \cdot x + 3$$
#
# Each step does `value = value * x + c`. What happens to the slope in such a step? First go through $x^2 + 3x + 1$ at 2
# on paper. Its slope there is 7.

# %% given
hint(
    "A step turns value into value * x + c. Both value and x depend on x. Which rule covers a product?",
    "The product rule has two terms: one with the old slope, one with the old value. Do you still have the old value "
    "when you need it?",
)

# %% exercise: value_and_slope points=2 level=easy

# %% [markdown]
# You carried the derivative *forward*, next to the value. That's fine for one input, but with a million inputs you'd
# carry a million slopes. Autograd goes forward once, recording what it does, and then *backward* through the record,
# once for all inputs. The section on Jacobians shows why backward is the better direction for one result and many
# inputs.

# %% [markdown]
# ## What is recorded?
#
# A layer can learn only if the operations between it and the loss are recorded. An operation that was recorded leaves a
# trace on its result: the attribute `grad_fn`. Does every operation leave one?

# %% predict: recorded_results
# **Predict.** `marked` requires grad, `plain` doesn't. Which have a `grad_fn`?
#
# - [ ] `plain * 2`
# - [x] `plain * marked`
# - [ ] `marked > 3`
# - [ ] `marked` itself

# %% example
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
# Only `plain * marked` has one. The rule has two parts: an operation is recorded if at least one of its inputs requires
# grad, and if it has a derivative. A comparison gives booleans and has none. (Lab 4 adds a third part: recording can be
# switched off.) You created `marked` yourself, so no operation made it, and it has no `grad_fn` although it requires
# grad.
#
# ### The graph as it really is
#
# To find a cut, you follow the record, which is a graph. Many drawings show tensors as boxes and operations as arrows,
# but PyTorch's graph is the reverse. Its *nodes* are backward functions, one for each recorded operation. The
# node that belongs to a tensor is its `grad_fn`. Its *edges* say where a node sends the gradients that it computes:
# `next_functions` holds one pair for each tensor that went into the operation, and sometimes one for a plain number
# too. The first part of a pair is the next node, and the second says which output of that operation is meant.
#
# The next cell computes `log(2 * a + 1)` and walks along its graph. The number 1 is an input to the addition. What
# will its entry be?

# %% example
a = torch.tensor(3.0, requires_grad=True)
out = torch.log(2 * a + 1)

print("log :", out.grad_fn.next_functions)
addition = out.grad_fn.next_functions[0][0]
print("add :", addition.next_functions)
multiplication = addition.next_functions[0][0]
print("mul :", multiplication.next_functions)
print("leaf:", multiplication.next_functions[0][0].variable is a)

# %% [markdown]
# An input that doesn't require grad has the entry `(None, 0)`: nothing is sent there. The walk ends at a node called
# `AccumulateGrad`, which holds the tensor `a` in its attribute `variable`. It adds the gradient that arrives to
# `a.grad`.
#
# A node keeps what it needs for its own derivative. For `log`, that's its input. You may read that a node stores the
# matrix of all its partial derivatives. It doesn't; a later section shows what it computes instead.
#
# `show_graph` draws the whole graph. Read the picture along its arrows, from the result to the leaves: that's the way
# `backward` goes. Grey boxes are nodes. The other boxes aren't: green is the result, and blue are the tensors at the
# leaves. Elsewhere you'll meet `torchviz.make_dot(loss)`, which draws the same graph with the program Graphviz.

# %% example
W = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = torch.tensor([0.5, -0.5], requires_grad=True)
v = torch.tensor([1.0, 0.0, -1.0])  # requires no grad
loss = (W @ v + b).square().sum()
show_graph(loss, {"W": W, "b": b, "v": v})

# %% [markdown]
# `square` was recorded as a power, so its node is `PowBackward0`. `MvBackward0` belongs to the product of a matrix and
# a vector. Where is `v`? `MvBackward0` keeps its values, but sends no gradient to it, so `v` has no node of its own.
# Read such names, but build nothing on them: another version of PyTorch, or another device, may have others. No check
# of this course asks for one.
#
# Change the expression in the next cell. Can you make a graph in which two paths lead to the same node?

# %% scratch
p = torch.tensor([1.0, 2.0], requires_grad=True)
show_graph((p.sin() + 1).sum(), {"p": p})

# %% answer [markdown]
# Use a tensor twice. In `(p.sin() * p.cos()).sum()`, two paths lead to the node of `p`. To get two paths to the node of
# the sine, give its result a name: `s = p.sin()`, then `(s * s).sum()`. `(p.sin() * p.sin()).sum()` computes the sine
# twice, so it has two nodes for it.

# %% [markdown]
# Here is a graph with numbers. At first, each node shows the value that it computed. Then go step by step, as
# `backward` does: a node receives the slope of the result with respect to its own value, in red, and sends slopes on.
# Two paths lead to `product`, and two to `right`. What do you expect to arrive at each of them?

# %% example
left, right = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
product = left * right
show_backward(product * product + right, {"left": left, "right": right, "product": product})

# %% [markdown]
# What arrives by several paths is added: 6 + 6 at `product`, and 1 + 24 at `right`. A node waits until everything has
# arrived, and only then sends its own gradients on. So each node runs once, however many paths lead through it.
#
# ## Leaves
#
# An optimizer reads the `.grad` of its parameters, so they have to be tensors that get one. A *leaf* is a tensor
# where the walk ends. It has no `grad_fn`: no recorded operation made it. Tensors that require no grad are leaves as
# well, by convention.
#
# `backward` is often described like this: "it computes `.grad` for every tensor with `requires_grad=True`". In the
# next cell, three tensors require grad: `x`, `inner` and `y`.

# %% predict: filled_grads
# **Predict.** You create `x`, then compute `inner = x * 3` and `y = inner.square().sum()`. Which have a `.grad` after
# `y.backward()`?
#
# - [x] only `x`
# - [ ] `x` and `inner`
# - [ ] `inner` and `y`
# - [ ] all three

# %% example
x = torch.tensor([1.0, 2.0], requires_grad=True)
inner = x * 3
y = inner.square().sum()
y.backward()

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # reading .grad of a tensor that isn't a leaf gives a warning
    for text, tensor in {"x": x, "inner": inner, "y": y}.items():
        print(f"{text:5}  requires_grad {tensor.requires_grad}  is_leaf {tensor.is_leaf!s:5}  grad {tensor.grad}")

x.grad = None
inner = x * 3
inner.retain_grad()  # asked for before backward
inner.square().sum().backward()
print("inner after retain_grad:", inner.grad)

# %% [markdown]
# Only the leaf has one. The gradients of `inner` and `y` were computed, passed on and dropped, because keeping them
# would cost memory for something that's rarely needed. `retain_grad()` asks for the gradient of one tensor. Call it
# before `backward`.
#
# This matters when you create the parameters of a model: they have to be leaves. Here are three ways to start with
# small weights. For which of them will `backward` fill `.grad`?

# %% example
start = torch.tensor([1.0, -2.0, 3.0])
w1 = torch.tensor([1.0, -2.0, 3.0], requires_grad=True) * 0.01
w2 = (start * 0.01).requires_grad_()
w3 = (w1 * 2).requires_grad_()
for text, tensor in {"w1": w1, "w2": w2, "w3": w3}.items():
    print(text, "is_leaf", tensor.is_leaf, " requires_grad", tensor.requires_grad)

# %% [markdown]
# Only `w2` is a leaf that requires grad. `w1` is the result of a recorded multiplication; the leaf is the tensor before
# it, which has no name. `w3` looks like `w2`, but the input of its product required grad. So the product was recorded,
# and `requires_grad_()` had nothing left to do and didn't say so. A cast that has nothing to do returns the tensor
# itself: `w2.float()` is still a leaf, and `w2.double()` isn't.
#
# `t.detach()` gives a tensor with the values of `t`, but without its history. It shares its memory with `t`. Lab 4 is
# about it, but you may need it earlier.
#
# ### Your turn: trainable
# Create the parameters of a model from a dictionary of starting values. Some of them are counters or masks. Integer and
# boolean tensors cannot require grad, and PyTorch raises an error if you ask for it, so only copy them.

# %% given
hint(
    "Which two properties must a parameter have? Print both for your result, once for a starting value that requires "
    "grad and once for one that doesn't.",
    "What must happen to the history of the product before requires_grad_() can make it a leaf?",
)

# %% exercise: trainable points=3 level=medium further

# %% [markdown]
# `torch.nn.Parameter(t)` does much of this for you. It gives a leaf that requires grad for any floating-point `t`, even
# one with a history. Does it copy? The next cell changes the original in place. Predict what is printed.

# %% scratch
origin = torch.tensor([1.0, 2.0])
parameter = torch.nn.Parameter(origin)
origin.mul_(5)
print(parameter)

# %% [markdown]
# It doesn't copy: like a detached tensor, it shares its memory with `origin`. What would you write to get a parameter
# that doesn't change with `origin`?

# %% answer [markdown]
# `torch.nn.Parameter(origin.clone())`. The clone has its own memory. If `origin` has a history, `Parameter` drops the
# clone's history as well.

# %% [markdown]
# ## A matrix expression by hand
#
# If you can derive the gradients of a linear layer by hand, you know their shapes and what a backward pass costs. A
# *partial derivative* is the slope of a result with respect to one input number, with all the others held fixed.
# $a \cdot b$ has two of them: at $a = 2$ and $b = 3$ they are 3 and 2. A *scalar* result is one number. Its *gradient*
# with respect to a tensor is the tensor of all these partial derivatives, so it always has the tensor's shape. That
# fact is worth more than any formula. The sum of the squares of `[2, 3]` has the gradient `[4, 6]`.
#
# Take one sample with two numbers, `[1, 2]`, and the target 5. The model predicts `W @ x + b`, the *residual* is the
# prediction minus the target, and the loss is its square.

# %% example
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
# its slope with respect to the residual is $2 \cdot (-1.4) = -2.8$. If you raise `b` a little, the residual rises by
# the same amount, so the slope is -2.8. If you raise `W[0, 1]`, the residual rises twice as fast, because `W[0, 1]`
# multiplies a 2: -5.6. In general, the partial derivative for `W[i, j]` is the slope at output `i` times input `j`.
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
# All samples use the same `W` and the same `b`. What does that mean for their gradients?

# %% answer [markdown]
# `R` has the shape of `Y`, `(n, d_out)`. Each gradient has the shape of its tensor: `(d_out, d_in)`, `(d_out,)` and
# `(n, d_in)`. What arrives by several paths is added, so the gradients of `W` and `b` are sums over the samples. Each
# row of `X` belongs to one sample, so nothing is added over samples there.

# %% [markdown]
# ### Your turn: manual_grads
# Write the three gradients with matrix products and sums. The checks call your function inside `torch.no_grad()`,
# which switches recording off, because the formulas are the point here.

# %% given
hint(
    "Write down the shape of 2 * R and of the gradient that you want. Which factor has the missing dimension?",
    "A dimension that is in both factors and not in the result is summed over. A matrix product does that for you. For "
    "b there's no second factor: which dimension must go?",
)

# %% exercise: manual_grads points=3 level=medium

# %% [markdown]
# Look at what you needed: the residuals, `X` and `W`. These are the tensors that the graph keeps for `backward`. And
# look at the cost: the forward pass has one matrix product, the gradients have two. So a backward pass costs about
# twice as much as the forward pass. For six linear layers of width 512 and 256 samples, we measured 1.9 times as much
# on our machine. Which of the two products can be skipped if you don't need the gradient of `X`?

# %% answer [markdown]
# `slope @ W`, with `slope = 2 * R`. In the first layer of a network, `X` is the data and requires no grad, so autograd
# skips this product. For one linear layer of width 2048 with 512 samples, we measured a backward pass of 1.9 times the
# forward pass with it, and 1.0 times without it.

# %% [markdown]
# The next picture is a whole network, with two inputs, three hidden numbers and one result. A hidden number is the
# `tanh` of a weighted sum, and the loss is half the squared distance from the result to a target. The derivative of the
# loss with respect to each number is in brackets. "step" subtracts the learning rate times the derivative from every
# weight. Press "play". How many steps does it take until the loss is below 0.0001? What happens with
# a learning rate of 1?

# %% example
play_network(inputs=(1.0, -0.5), target=-1.0)

# %% answer [markdown]
# With the rate 0.1 it takes 14 steps. With the rate 1, the steps are too large: the loss grows from 2.9 to 5.1, 10.1
# and 89, and never recovers.

# %% [markdown]
# ## From many outputs: vector-Jacobian products
#
# "grad can be implicitly created only for scalar outputs" is an error that you will meet sooner or later. So far
# every result was a scalar. What if a function returns several numbers? For three outputs and two inputs there are six
# partial derivatives. The matrix of them, one row for each output and one column for each input, is the *Jacobian*.
#
# Which of the four calls of `backward` in the next cell fail?


# %% example
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
# Two of the calls have no argument, and only the first of them fails: "scalar" means one element here, whatever the
# shape. The argument of `backward` is a vector `v` of the output's shape, with one number for each output. Any other
# shape raises a RuntimeError. If `J` is the Jacobian, `backward(v)` computes `v @ J`: each row of the Jacobian times
# its number in `v`, added up. This is a *vector-Jacobian product*. With ones it is the gradient of the sum of the
# outputs. For a scalar result, `backward()` passes a 1.
#
# In the next picture, `v` weighs the rows of a Jacobian. Work out each of the three entries of `v @ J`, then step to
# it.

# %% example
show_vjp(
    lambda t: torch.stack([t[0] * t[1], t[1] * t[2], t.sum()]),
    torch.tensor([1.0, 2.0, 3.0]),
    v=torch.tensor([1.0, 0.0, -10.0]),
)

# %% [markdown]
# You can also read `v` as "how much does one unit of each output count for what follows?". The *upstream gradient* is
# what arrives at a node in a backward pass: how much one unit of each of its outputs counts for the result. Each node
# gets such a `v`, computes its own vector-Jacobian product, and sends it on.
#
# Does a node compute its Jacobian for that? Take `exp` of a vector of 2,000 numbers, whose Jacobian would have
# 4,000,000. What does the node really keep?

# %% example
big = torch.linspace(-1, 1, 2000, requires_grad=True)
node = big.exp().grad_fn
kept = node._saved_result  # what exp keeps for backward; the underscore says: for looking only
print("kept:", tuple(kept.shape), " the Jacobian would be", (2000, 2000))
upstream = torch.linspace(0, 5, 2000)
print("the node gives upstream * kept:", torch.equal(node(upstream), upstream * kept))

# %% [markdown]
# It keeps 2,000 numbers and multiplies elementwise. The Jacobian of `exp` is never built, and PyTorch's
# other operations do without theirs too.
#
# `torch.autograd.grad(outputs, inputs, grad_outputs=v)` computes the same product. It returns a tuple with one
# gradient for each input, and doesn't touch `.grad`. That makes it the better tool inside a function: the caller's
# tensors aren't changed.
#
# A backward pass frees what the nodes kept. So a second pass over the same graph raises a RuntimeError at the first
# node that kept something. `(x + 1).sum()` keeps nothing, and can be gone through twice. `retain_graph=True` keeps
# everything for another pass. Lab 4 returns to that.
#
# ### Your turn: jacobian
# Build the whole Jacobian from vector-Jacobian products. Which `v` gives exactly one row of it?


# %% given
# Functions to try your solution on. The checks use them too.
def neighbours(x):
    """(n,) -> (n - 1,): products of neighbours."""
    return x[1:] * x[:-1]


def rolled(x):
    """(n,) -> (n,): the elements shifted by one place, times the first."""
    return x.roll(1) * x[0]


def growing(x):
    """(n,) -> (n + 1,): the running products, and the sum of all sines."""
    return torch.cat([x.cumprod(0), x.sin().sum().reshape(1)])


def energy(x):
    """(n,) -> (1,): the sum of squares."""
    return x.square().sum().reshape(1)


def skipping(x):
    """(n,) -> (n - 2,): sines that don't use the first two elements."""
    return x[2:].sin()


def moved(x):
    """(n,) -> (n,): the elements plus 3."""
    return x + 3


def projected(x):
    """(n,) -> (2,), for float32 only: the sum, and a sum with the weights 0, 1, 2, ..."""
    return torch.stack([torch.ones(len(x)), torch.arange(float(len(x)))]) @ x


def with_scale(x):
    """(n,) -> (n,): sines of the elements times a scale that requires grad."""
    scale = torch.full_like(x, 2.0).requires_grad_()
    return (scale * x).sin()


# %% given
hint(
    "v @ J adds up rows of J. For which v does only row i remain?",
    "You run one pass for each output. What has to be true of the graph in the second one? And what if the caller's x "
    "doesn't require grad, or already has a .grad?",
)

# %% exercise: jacobian points=3 level=medium

# %% [markdown]
# You need one pass for each output, whatever the number of inputs. A loss has one output, so one backward pass gives
# its derivative with respect to every parameter of a model, whether there are a thousand or a billion. How many passes
# would the forward way of `value_and_slope` need?

# %% answer [markdown]
# One for each parameter: a pass carries the slope with respect to one input. It gives one column of the Jacobian, and a
# backward pass gives one row. The Jacobian of a loss has a single row and very many columns, so backward is the better
# direction.

# %% [markdown]
# ## Gradients accumulate
#
# Without `zero_grad`, the digits script learns badly, and no error says so. The reason is that `AccumulateGrad` *adds*
# to `.grad`. It does so because one tensor may be used in many places, and because a program may call `backward`
# several times. The gradient of $x^2$ at 3 is 6.

# %% predict: kept_as_first
# **Predict.** `backward` runs on `x**2`, then `first = x.grad`, then `backward` runs on a new `x**2`.
# What does `first` show now?
#
# - [ ] `tensor(6.)`
# - [x] `tensor(12.)`
# - [ ] `None`

# %% example
x = torch.tensor(3.0, requires_grad=True)
print("before any backward:", x.grad)
(x**2).backward()
first = x.grad
print("after the first    :", x.grad, " kept as first:", first)
(x**2).backward()
print("after the second   :", x.grad, " kept as first:", first)

# %% [markdown]
# Two things may surprise you. Before the first `backward`, `.grad` is `None` and not zero, so `x.grad.zero_()`
# would raise an AttributeError here. And `first` has changed. `first = x.grad` makes no copy: it is a second name for
# one tensor, and the second `backward` added to that tensor. To keep a gradient, write `x.grad.clone()`.
#
# There are two ways to clear a gradient. `x.grad.zero_()` fills the tensor with zeros, and every name for it sees
# zeros. `x.grad = None` drops the tensor, and the next `backward` puts a new one there. In the next cell, which of the
# kept gradients survive?

# %% example
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
# Both give the right `x.grad`. `zero_` overwrites the kept gradient, and `None` lets it survive. `None` also says
# something that zeros can't: "this tensor got no gradient". The optimizers of lab 6 skip a parameter without a
# gradient. One with a gradient of zeros they may still move.
#
# `optimizer.zero_grad()` sets each `.grad` to `None`. It was the second repair of the script in lab 1. The next cell
# trains the digits with and without it, and prints how large the gradient of the output layer's weights is, as the root
# of the sum of its squares. What do you expect after 1, 5 and 15 steps?

# %% scratch
for clear in (True, False):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    sizes = {}
    for step in range(1, 151):  # ten times through the images, 15 batches each time
        rows = torch.arange(100) + 100 * ((step - 1) % 15)
        loss = nn.functional.cross_entropy(model(pixels[rows]), digits[rows])
        if clear:
            optimizer.zero_grad()
        loss.backward()
        if step in (1, 5, 15):
            sizes[step] = round(model[2].weight.grad.norm().item(), 2)
        optimizer.step()
    guesses = model(pixels[1500:]).argmax(dim=1)
    right_share = (guesses == digits[1500:]).float().mean()
    print(f"zero_grad {clear!s:5}  size of the gradient {sizes}  right for {right_share:.0%}")

# %% [markdown]
# With `zero_grad`, the gradient keeps its size: 0.49, 0.43, 0.60. Without it, it grows from 0.49 to 1.74 and 3.59,
# because every step follows the sum of all gradients so far, including those of weights that have long changed. The
# network gets 54% instead of 88%. In lab 1, the same line made a smaller difference. Can you say why? Set the learning
# rate to 0.03, and try again.

# %% answer [markdown]
# With a rate of 0.03, both get 81%. Adding up gradients makes the steps longer, and harm is done when they get too
# long. In lab 1 the network still ended with a softmax, which made the first gradient a tenth as large (0.04 instead of
# 0.49), so longer steps did less harm. A bug that a small rate hides is still a bug.

# %% [markdown]
# ### Your turn: task_gradients
# A model that learns several tasks at once has several losses, which may pull the same parameters in opposite
# directions. To see that, you need the gradient of each loss separately.


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
    "A loss that doesn't use a parameter sends nothing to it. What do you get for it then: an error, None or zeros? "
    "Options of torch.autograd.grad decide that. materialize_grads=True is one of them.",
)

# %% exercise: task_gradients points=3 level=easy

# %% [markdown]
# Your function builds a graph for each loss. Could it stack the losses into one tensor, build one graph, and still get
# their gradients separately? Think of the Jacobian: which `v`, and how many passes?

# %% answer [markdown]
# Yes. `torch.stack` of the losses is a vector with one output for each loss. The unit vectors, `[1, 0, ...]`,
# `[0, 1, ...]` and so on, each select one loss, so there are as many passes as losses, all but the last with
# `retain_graph=True`. What the losses share is then computed only once in the forward pass, but the backward passes
# cost the same.

# %% [markdown]
# ## A good place to stop
#
# You know the record, leaves, what `backward` computes and where it adds. Next you'll add up gradients on purpose, find
# the cut in the digits script, and walk along a graph. After a break, Python has forgotten everything. Choose
# *Run > Run All Above Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Adding up on purpose
#
# Accumulation is also a technique, for data that doesn't fit into memory at once. You want the gradient of the mean
# loss over all samples. You go batch by batch, and each graph is freed before the next one is built.
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


generator = torch.Generator(here).manual_seed(0)
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
# With equal sizes, the difference is rounding. With the small last batch, an entry that should be 0.89 is 2.27. In the
# recipe, each batch counts the same, so a sample in the batch of 2 counts five times as much as one in a batch of 10.
# Every data set whose size isn't a multiple of the batch size ends with such a batch. An exact recipe weighs each batch
# by its number of samples.
#
# ### Your turn: stream_gradient
# Make it exact for batches of any sizes. A filter may have removed every sample of a batch, so a batch may be empty.
# The mean of no numbers is `nan`. Is the gradient of that mean `nan` as well? Predict, then run the next cell before
# you write.

# %% scratch
mean_of_none = squared_error(w, features[:0], targets[:0])
print("loss", mean_of_none.item(), " gradient", torch.autograd.grad(mean_of_none, w)[0])

# %% given
hint(
    "A mean is a sum divided by a count. Which parts of it can you add up batch by batch?",
    "Multiply each batch's gradient by something, add, and divide once at the end. How do you know how many "
    "samples there were?",
)

# %% exercise: stream_gradient points=3 level=medium further

# %% [markdown]
# An empty batch has the loss `nan` and the gradient zero, because there's no sample to send anything back to `w`.
#
# Joining all batches into one gives the same numbers, and so does adding all the losses and going back once. What do
# these two ways hold in memory that yours doesn't?

# %% answer [markdown]
# The joined batch needs a copy of all data at once, and the graph of its loss keeps what every sample needs for
# `backward`. Adding the losses first keeps the graphs of all batches alive until the one `backward`. Your loop holds
# one batch's graph at a time.

# %% [markdown]
# ## What cuts the graph?
#
# NumPy arrays and Python numbers have no history. If your values pass through them, the graph ends there, and PyTorch
# may not say so. That's what happened to the layer that never learns. Which of the six lines in the next cell raises an
# error?

# %% predict: ways_back
# **Predict.** `x` requires grad. Which of these results still lead back to `x`?
#
# - [x] `torch.sqrt(x).sum()`
# - [ ] `torch.tensor(x.sum().item() / 3)`
# - [ ] `torch.tensor([x[0] * 2, x[1]], requires_grad=True)`
# - [x] `torch.stack([x[0] * 2, x[1]])`
# - [ ] `x.argmax()`

# %% example
x = torch.tensor([1.0, 4.0, 9.0], requires_grad=True, device="cpu")  # NumPy knows no GPU
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
# `.numpy()` is the honest one: it refuses. `.item()` cuts silently. `torch.tensor(...)` copies values and makes a new
# leaf. With `requires_grad=True` that's the worst of all: `backward` raises no error, the gradient ends up in the new
# leaf, and `x.grad` stays `None`. `torch.stack` joins tensors and is recorded like any operation.
#
# The cell hides one warning. `torch.tensor` of a list of tensors gives it, and so does `float(t)`: "Converting a tensor
# with requires_grad=True to a scalar may lead to unexpected behavior". PyTorch shows it only once per process, and
# never for `.item()`, so don't rely on it.
#
# `argmax` gives an index. An index jumps from one integer to the next, so it has no useful slope, and that's no mistake
# in your code. Taking `x[x.argmax()]` is recorded, and its gradient goes to the element that was taken.
#
# ### Your turn: scaled_peak
# The next function was ported from NumPy. It weighs the rows of `x`, takes the row with the largest weighted sum, and
# scales it by the root mean square of all the sums (the root of the mean of their squares). Someone added
# `requires_grad=True` to silence an error. Its values are right, but its gradients aren't. Repair it.


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

# %% exercise: scaled_peak points=3 level=medium

# %% [markdown]
# The last line of the broken function silenced an error and hid the bug: before, `backward` raised an error when only
# `w` required grad.
#
# ### The layer, found
#
# You now know how to find the layer that never learns: after a `backward`, look for parameters whose `.grad` is still
# `None`. Which of the two layers of the script will that be?

# %% scratch
for text, layer in {"hidden_layer": hidden_layer, "output_layer": output_layer}.items():
    gradient = layer.weight.grad
    print(text, "has no gradient" if gradient is None else f"has a gradient of size {gradient.norm():.2f}")

# %% [markdown]
# Now walk from the loss towards that layer, and find the line that cuts the graph. Repair the function `network` in the
# first script of this lab, and run the script and this cell again.

# %% answer [markdown]
# The hidden layer has no gradient, and its weights are still the random ones. `.detach()`, `.numpy()` and
# `torch.tensor` each cut its result off. NumPy's `maximum` has to go, too, because NumPy can't record:
#
# ```python
# def network(images):
#     hidden = torch.relu(hidden_layer(images))
#     return output_layer(hidden)
# ```
#
# The network gets 88% instead of 81%, and the last loss is 0.08 instead of 0.63. Both layers have a gradient. The
# broken network learned anything at all because the output layer can do a lot with 64 random features.

# %% [markdown]
# In lab 4, this script gets dropout and a test after each epoch, which makes its training worse, until you repair it.
# What else could it mean if a parameter's `.grad` is `None` after `backward`?

# %% answer [markdown]
# The loss doesn't use the parameter; or it was frozen, so it requires no grad; or the tensor isn't a leaf, as with
# `w1`; or something set `.grad` to `None` after `backward`, as `zero_grad` does.

# %% [markdown]
# ## Hooks: look at a gradient on its way
#
# With a hook you can print, check or change a gradient in the middle of the network, where no `.grad` is kept.
# `t.register_hook(function)` has a function called when the gradient of `t` is ready. The function may return a new
# gradient, which replaces the old one. If it returns `None`, nothing changes. It must not change its argument in place,
# because other parts of the graph may receive the same tensor. `t` must require grad, or `register_hook` raises a
# RuntimeError. It returns a handle, and `handle.remove()` removes the hook.

# %% predict: hook_calls
# **Predict.** `h` has a hook, and `out = (2 * h).sum() + (3 * h).sum()`. How often is the hook called, and with what?
#
# - [ ] twice: once with twos, once with threes
# - [x] once, with fives
# - [ ] once, with sixes
# - [ ] twice, with fives each time

# %% example
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
# There's one call, with the sum: 2 from one use and 3 from the other. A hook belongs to a tensor and sees that tensor's
# whole gradient, from all uses. It can't see one use separately.
#
# That matters in a *residual block*, which computes `x + branch(x)`. There are two ways back to `x`, as the next
# picture shows: one directly from the addition, and one through the branch.


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


# %% example
x = torch.tensor([0.0, 1.0], requires_grad=True)
show_graph(x + steep(x), {"x": x})

# %% [markdown]
# ### Your turn: clamped_residual
# Suppose that the branch sometimes sends back huge gradients. You want to clamp what leaves the branch towards `x`,
# without touching the gradient that takes the direct path. There are two ways back, and only one `x`. Where do you put
# the hook?

# %% given
hint(
    "Look at the graph of x + branch(x). Which tensor's gradient is exactly what leaves the branch?",
    "There's no such tensor yet: x receives both. Which operation gives a new tensor with the same values, for the "
    "branch only? And what if x doesn't require grad?",
)

# %% exercise: clamped_residual points=3 level=medium further

# %% [markdown]
# Gradient clipping in training is usually done after `backward`, on the `.grad` of the parameters. Could it do what
# your hook does?

# %% answer [markdown]
# No. After `backward`, the contributions of all paths have been added. A hook works earlier, while they're still
# separate.

# %% [markdown]
# ## A new graph for every run
#
# You can debug a PyTorch model like any other Python code, because the graph is built while your code runs. There's no
# separate description of the model: run the code again, and it builds a new graph. In the middle of it, a `print`
# or a debugger shows the values of any tensor. This is called *define-by-run*. The first version of TensorFlow did it
# the other way: you first defined a graph, and then ran it with data.
#
# So an `if` or a `while` may depend on the values of tensors. How many divisions will the graph hold for each of the
# two inputs in the next cell? Does the graph contain the `while`?


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
# Two divisions leave 0.25 for 3, and seven leave 0.0078 for 100. The graph holds what was done, not
# what could have been done. `while` itself leaves no node, and neither does the comparison.

# %% [markdown]
# ## How large is a graph?
#
# A graph that grows with every step is a memory bug, which you can find by counting nodes: start at `grad_fn`, follow
# `next_functions`, stop at `None`. That sounds like three lines of recursion. The next cell tries them on a tensor
# that is added to itself again and again. How many nodes does the graph have after 3, 6, 9 and 12 additions? What
# will the recursion count?


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
# There are 4, 7, 10 and 13 nodes: one for each addition, and the one of `x`. But each addition has two edges to the
# same node, and the recursion visits a node once for every *path* that leads to it. The paths double each time. After
# 40 additions it would make about two trillion visits, for 41 nodes. A second problem is that a graph may be deeper
# than the 1,000 nested calls that Python allows.
#
# So you have to remember which nodes you've counted. `id(node)`, the number by which Python distinguishes living
# objects, looks like a good mark. The next cell creates five graphs, one after the other, and puts the id of the first
# node of each into a set. Then it does the same with five more graphs and the nodes themselves. How many entries will
# each of the two sets have?

# %% example
x = torch.tensor(1.0, requires_grad=True)
ids, nodes = set(), set()
for _ in range(5):
    ids.add(id((x * 2).grad_fn))
for _ in range(5):
    nodes.add((x * 2).grad_fn)
print(len(ids), "different ids,", len(nodes), "different nodes")

# %% [markdown]
# All five nodes had the same id. A node lives as long as something holds it: the tensor that it belongs to, a node that
# leads to it, or a variable or collection of yours. In the first loop nothing does, so the node is freed, and Python
# may give its id to the next object. The same happens on a walk along the graph of `f(x)`: once the result is
# gone, the nodes that you've passed are freed, one by one. So keep the nodes in your set, not their ids.
#
# ### Your turn: graph_size
# Count the distinct nodes, even of large and deep graphs.


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


def handed_back(x):
    return x


# %% given
hint(
    "What do you have to remember in order not to count a node twice?",
    "Keep two collections: the nodes that you have seen, and the nodes that you still have to look at. When does a "
    "node join each of them?",
)

# %% exercise: graph_size points=4 level=hard further

# %% [markdown]
# `backward` has the same problem, and a harder one. It must visit each node only once, and it must visit it *late
# enough*: after the gradients from all edges that lead to it have arrived and been added up. So it first counts, for
# each node, how many edges lead there. A node runs when its count has reached zero. The resulting order
# is called a topological order. What would be wrong with `x.grad` if each node ran once, as soon as the first gradient
# arrived?

# %% answer [markdown]
# It would be too small: gradients that arrive later would be lost. In the picture with `product`, 6 would arrive
# instead of 12. If the node ran again for each gradient, the sums would be right, but it would run once for every path:
# 4,096 times at `x` after 12 doublings.

# %% quiz: interview points=3
# ## Interview questions
#
# **The graph**
# - [x] Its nodes are backward functions. A tensor that was made by a recorded operation holds its node in `grad_fn`.
#   > `a.grad_fn` is such a node. In the picture of the graph, tensors appear only at its ends.
# - [ ] A tensor with `requires_grad=True` always has a `grad_fn`.
#   > A leaf that you created yourself has none, because no recorded operation made it. `marked` was such a tensor.
# - [x] The entries of `next_functions` say which nodes get the gradient next.
#   > They're the edges. The walk from `log` through `add` and `mul` to the leaf `a` followed them.
# - [x] An operation whose inputs all require no grad adds no node.
#   > `plain * 2` had no `grad_fn`. At least one input must require grad.
# - [ ] Each node keeps the Jacobian of its operation.
#   > `exp` of 2,000 numbers kept 2,000 and not 4,000,000. A node computes the product with the upstream gradient
#   > directly.
#
# Hint: What does exp keep? What is the grad_fn of a leaf?
#
# **Define-by-run**
# - [ ] For an `if`, both branches are recorded, and `backward` takes the right one.
#   > The graph holds what was done. The branch that wasn't taken never ran, so it isn't in the graph.
# - [x] The graph is built anew each time the code runs.
#   > There's no separate description of the model. `halve_until_small` built a graph for each start.
# - [x] A loop may run a different number of times for each input, and the gradients are still right.
#   > Two divisions for 3 and seven for 100: both graphs had the right gradient, 0.25 and 0.0078.
# - [x] In the first version of TensorFlow, a graph was defined first and run with data afterwards.
#   > TensorFlow 1 built the graph without values and ran it later. Define-by-run is the opposite.
# - [x] You may stop in a debugger in the middle of the forward pass and print a tensor's values.
#   > Each operation is computed when Python reaches it, so the values exist already.
#
# Hint: What did the graph of halve_until_small show of its while?
#
# **Leaves and `.grad`**
# - [ ] `backward` fills `.grad` of every tensor that requires grad.
#   > It fills only the leaves. `inner` and `y` required grad and had `.grad` None.
# - [x] A tensor that does not require grad is a leaf.
#   > By convention: no recorded operation made it, so it has no `grad_fn`.
# - [ ] `torch.zeros(3, requires_grad=True) + 0.01` is a leaf.
#   > The sum is the result of a recorded operation. The leaf is the tensor before it, which has no name, as with `w1`.
# - [x] `retain_grad()` has to be called before `backward`.
#   > The gradient of a tensor that isn't a leaf is passed on and dropped, unless `retain_grad()` was called by then.
# - [x] `torch.autograd.grad(loss, w)` leaves `w.grad` as it was.
#   > It returns the gradients and touches no `.grad`. That makes it the better tool inside a function.
#
# Hint: Which of w1, w2 and w3 were leaves, and what had a .grad after backward?
#
# **Vector-Jacobian products**, with `y` of shape (3,), computed from a leaf `x` of shape (5,) that requires grad,
# and `J` the Jacobian
# - [x] `y.backward()` without an argument raises an error.
#   > `backward` passes a 1 only for a result with one element. For three it needs a `v` of three numbers.
# - [x] `y.backward(v)` adds `v @ J` to `x.grad`.
#   > That's the vector-Jacobian product: each row of `J` times its number in `v`, added up and accumulated.
# - [x] `y.backward(torch.ones(3))` and `y.sum().backward()`, each on a fresh graph, give the same gradient.
#   > The derivative of a sum with respect to each of its terms is 1, so the sum sends back a vector of ones.
# - [x] The whole Jacobian takes three vector-Jacobian products.
#   > `J` has one row for each output. A unit vector as `v` gives one row, so there are as many passes as outputs.
# - [ ] If `y` had the shape (1, 1), `backward()` without an argument would raise an error.
#   > One element counts as a scalar, whatever its shape. The lab's call with (1, 1) worked.
#
# Hint: How many rows does J have? What counts as a scalar?
#
# **Why gradients are set to zero or `None` in a training loop**
# - [x] Without it, `.grad` after the third batch is the sum of the gradients of three batches.
#   > `AccumulateGrad` adds to what is already there. Nothing else clears it for you.
# - [ ] `backward` raises an error if `.grad` is not zero or `None`.
#   > It silently adds to what it finds. That's why the mistake is so easy to miss.
# - [x] Before the first `backward`, `w.grad.zero_()` raises an error.
#   > `.grad` is `None` then, and `None` has no `zero_`: an AttributeError.
# - [ ] After `g = w.grad`, `g` keeps its numbers whatever happens in the next `backward`.
#   > `g` is a second name for the same tensor, and the next `backward` adds to it. `clone()` keeps the numbers.
# - [x] `w.grad = None` and `w.grad.zero_()` lead to the same `w.grad` after the next `backward` in which `w` takes
#   part.
#   > Adding to zeros and replacing `None` by a new tensor give the same numbers. Only code that kept the old tensor
#   > sees a difference.
#
# Hint: What did the name first show after the second backward?
#
# **What cuts the graph**
# - [x] `.item()` gives a Python number, and what you compute from it does not lead back.
#   > A Python number has no history, and PyTorch doesn't warn. The graph ends there.
# - [ ] `torch.tensor(t * 3, requires_grad=True)` leads back to `t`, since it requires grad.
#   > `torch.tensor` copies the values and makes a new leaf. The gradient ends up in that leaf, and never in `t`.
# - [ ] A cut is fixed by calling `requires_grad_()` on the result.
#   > The result becomes a leaf, and the way back is still missing. The error is gone, and so is the gradient.
# - [x] In `x[x.argmax()]` a gradient reaches the element of `x` that was taken.
#   > Taking an element is a recorded operation. Only the index itself has no slope.
# - [x] `.numpy()` raises an error on a tensor that requires grad.
#   > NumPy can't record, so PyTorch refuses, and asks for `detach()` first.
#
# Hint: Which of the six lines under 'What cuts the graph?' kept their history?

# %% [markdown]
# ## Asked in interviews
#
# You know a subject when you can explain it aloud. Answer each question before you open the text.
#
# **How does autograd work?**
#
# <details><summary>A good answer</summary>
#
# In the forward pass, each operation that has a derivative and an input that requires grad adds a node. The node is a
# backward function, and it keeps what its derivative needs. `next_functions` lead from node to node, down to the
# leaves. `backward` starts at the result, with a 1 if that has a single element, and visits the nodes in reverse
# order. Each turns its upstream gradient into gradients of its inputs, by a vector-Jacobian product. The Jacobian
# itself is never built. At a leaf, the gradient is added to `.grad`. The trap is that last step: not every tensor that
# requires grad gets a `.grad`. Only leaves do, and tensors for which `retain_grad()` was called before.
#
# </details>
#
# **What is a dynamic graph, compared with the static one of TensorFlow 1?**
#
# <details><summary>A good answer</summary>
#
# In TensorFlow 1, you first defined a graph without values, and then ran it with data. PyTorch has no separate
# description. It records the graph while the code runs, and records a new one in the next run. That's called
# define-by-run. So an `if` or a `while` may depend on the values of tensors, and I can print or debug in the middle of
# a forward pass, when the values exist already. The trap is to think that an `if` is recorded, with both of its
# branches. The graph holds what was done, so the gradient belongs to the path that was taken.
#
# </details>
#
# **Why must gradients be cleared?**
#
# <details><summary>A good answer</summary>
#
# Because `backward` adds to `.grad` instead of replacing it. If I don't clear it, then after three batches it holds the
# sum of three gradients. There's no error, and the next update simply uses that sum. The adding is intentional: I can
# call `backward` for several losses or several small batches, and use the total. There are two ways to clear: fill with
# zeros, or set `.grad` to `None`, which also says that there was no gradient. The trap is a kept gradient: `g = w.grad`
# is a second name for the same tensor, and the next `backward` adds to it. To keep the numbers, I write
# `w.grad.clone()`.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A model has ten million parameters, 1,000 outputs in its last layer, and one loss. Someone proposes three ways to
# get the gradient of the loss: finite differences; carrying all slopes forward, as `value_and_slope` did; and
# `backward`. Someone else wants the Jacobian of the 1,000 outputs as well.
#
# In four to eight sentences: about how many passes through the model does each of the three ways cost for the
# gradient of the loss, and why? How many does `backward` need for the Jacobian? What are finite differences still
# good for?

# %% question: cost_of_gradients [markdown] points=2
# ### BEGIN SOLUTION
# Finite differences change one parameter at a time, so they need about one or two forward passes for each parameter:
# ten or twenty million, and the result is only approximate. Carrying slopes forward needs one slope for each parameter
# next to every value. That's the work of ten million forward passes, although it's exact. `backward` needs one
# forward pass, which records the graph, and one backward pass, which costs about as much as two forward passes.
# It starts from one number, the loss, and each node turns one upstream gradient into the gradients of its inputs. So
# the cost depends on the number of outputs, and not on the number of inputs. The price is memory: what the nodes keep
# stays until `backward` has run. For the Jacobian of 1,000 outputs, it needs 1,000 backward passes, one vector-Jacobian
# product for each row. Finite differences remain useful as a test: they need no derivative, so they find mistakes in
# gradients that were written by hand, best in float64 and with a step that isn't too small.
#
# For grading: one point for the count of passes with its reason (inputs against outputs), one for the Jacobian and for
# finite differences as a test.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - An operation is recorded if it has a derivative and an input that requires grad.
# - The mean over all samples isn't the mean over batches.
# - `requires_grad=True` on a tensor after a cut hides the cut. To find it, look for a `.grad` that is `None`.
# - A hook sees a tensor's whole gradient, from all uses. To see one use, give it a tensor of its own.
# - The graph is built anew in every run, and holds what was done.
#
# | call or rule | what it does or costs |
# |---|---|
# | `backward()` | fills `.grad` of leaves, by adding |
# | `backward(v)` | adds the vector-Jacobian product of `v` |
# | `torch.autograd.grad(out, inputs)` | returns the gradients, touches no `.grad` |
# | a Jacobian | one backward pass for each output |
# | a backward pass | about twice the work of the forward pass |
# | `retain_grad()` | keeps the gradient of a tensor that isn't a leaf, if called before `backward` |
# | `x.grad = None` | the next `backward` puts a new tensor there |
# | `.item()`, `torch.tensor(t)` | end the graph without an error; `.numpy()` refuses |
# | `t.register_hook(f)` | f sees the whole gradient of `t` once, and may replace it |
#
# Three questions to ask yourself:
#
# - Which tensors are the leaves here, and does each of them get a `.grad`?
# - What is already in `.grad` when this `backward` starts?
# - On which lines do my values leave PyTorch, and does a gradient have to flow back there?
#
# Lab 4 continues from here: how to stop recording, how to drop a history, and how to go through a graph twice.
