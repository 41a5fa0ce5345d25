# %% [markdown]
# # Autograd: what is recorded, and what backward does
#
# Your loss goes down, but one of your layers never learns. There's no error: a detour through NumPy cuts that layer off
# from the loss, and the rest of the network learns around it. To find such a cut, you have to know what PyTorch records
# during a computation and how `backward` uses it. The part of PyTorch that handles both is called autograd.
#
# After this lab, you'll be able to
#
# - tell which operations are recorded, and inspect the graph that they form;
# - compute the gradient of a matrix expression by hand;
# - write `backward` yourself, in plain Python;
# - compute all the derivatives of several outputs without side effects;
# - explain where gradients accumulate, and clear them;
# - find where a gradient is cut off, and fix it.
#
# This lab builds on lab 1. The core is everything up to *On one sheet*, with five exercises. Plan on two sittings of
# about 70 minutes, with a break at *A good place to stop*. *Further practice*, at the end, is optional and earns no
# points. All numbers were measured with PyTorch 2.13 on a CPU.
#
# When you see *Predict*, choose an answer before you run the next cell. A card below each exercise lists its checks;
# those marked *later* run when you press *Mark my work* or submit the lab. A person marks the written
# answer: your instructor or, if you learn on your own, you.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import math
import operator
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
    probes,
    show_backward,
    show_curves,
    show_graph,
    show_saliency,
    show_vjp,
    use_device,
)

# %% given
here = use_device()  # creates new tensors on the GPU if there is one

# %% [markdown]
# ## A layer that never learns
#
# This is lab 1's script with its three fixes, which got 88% right. Since then, someone has replaced ReLU, which sets
# negative numbers to zero, with NumPy's `maximum`. At first, `.numpy()` raised an error, so they followed the error
# message's advice and added `.detach()`. Run the cell.

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
# The loss falls from 1.91 to 0.63, so everything seems to work. But the network recognizes only 81% of the new images
# instead of 88%. That isn't bad luck: across 20 seeds, this script got 78% to 85% right, and the original got 87% to
# 89%. One of the two layers still has its random initial weights. At the end of the core, you'll find it and repair it.

# %% [markdown]
# ## One derivative, three ways
#
# A training step needs a derivative for each of the network's 4,810 parameters. Start with just one derivative: that of
# the polynomial $x^3 + 2x^2 - 5x + 3$ at $x = 2$. A derivative is a slope: how much the value changes per unit of $x$,
# for a small change in $x$.
#
# The first way is to work it out by hand. It's $3x^2 + 4x - 5$, which is 15 at $x = 2$.
#
# The second way is to measure it. Take a small step to the right and one to the left, and divide the difference between
# the two values by the distance between the two points:
#
# $$\frac{f(x + h) - f(x - h)}{2h}$$
#
# This is called a *finite difference*. Shouldn't it get more accurate as $h$ gets smaller?

# %% predict: smallest_error
# **Predict.** Python's floats are float64. Which `h` gives the smallest error?
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
# On a logarithmic scale, the errors form a V with its minimum at `1e-5` and `1e-6`. With a large $h$, the curve bends
# between the two points. With a tiny $h$, the two values agree in almost all their digits, which cancel in the
# subtraction. What's left is rounding error, divided by a tiny number. So a finite difference is a good test of a
# derivative, but in general, it's only an approximation.
#
# The third way is autograd. Mark the input with `requires_grad=True`, compute the result, and call `backward()` on it.
# The derivative appears in `x.grad`.

# %% example
x = torch.tensor(2.0, requires_grad=True)
y = cubic(x)
y.backward()
print("value", y.item(), "  slope", x.grad.item())

# %% [markdown]
# Autograd knows the derivative of each operation and combines these derivatives using the *chain rule*: when one step
# follows another, their slopes are multiplied. The result is exact up to rounding. Take $(3x + 1)^2$ at $x = 2$.
# Multiplying by 3 gives 6, adding 1 gives 7, and squaring gives 49. The slopes of the three steps are 3, 1 and
# $2 \cdot 7 = 14$, so the whole chain has the slope $3 \cdot 1 \cdot 14 = 42$.
#
# ### Your turn: value_and_slope
# Carry a slope through a chain of steps yourself, along with the value. Horner's rule evaluates a polynomial in one
# loop:
#
# $$x^3 + 2x^2 - 5x + 3 = ((1 \cdot x + 2) \cdot x - 5) \cdot x + 3$$
#
# Each step computes `value = value * x + c`. What happens to the slope in such a step? First work through
# $x^2 + 3x + 1$ at 2 on paper; its slope there is 7.
#
# Plain arithmetic on `x` is enough.

# %% given
hint(
    "A step replaces value with value * x + c, and value depends on x too. Which rule applies to a product?",
    "The product rule has two terms: one with the old slope and one with the old value. Do you still have the old "
    "value when you need it?",
)

# %% exercise: value_and_slope points=2 level=easy

# %% answer [markdown]
# By the product rule, each step replaces the slope with `slope * x + value`, using the value from before the step.

# %% [markdown]
# You carried the derivative *forward*, along with the value. For the network's 4,810 parameters, that would take 4,810
# passes, or one pass that carries 4,810 slopes, which is just as much work. Autograd goes forward once, recording what
# it does, and then *backward* once, for all the parameters.

# %% [markdown]
# ## What is recorded?
#
# A layer can learn only if a chain of recorded operations connects it to the loss. A recorded operation leaves a trace
# on its result: the `grad_fn` attribute. Does every operation leave one?

# %% predict: recorded_results
# **Predict.** `marked` requires grad, and `plain` doesn't. Which of these have a `grad_fn`?
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
# Only `plain * marked` has one. An operation is recorded if it has a derivative and at least one of its inputs requires
# grad. (Lab 4 adds a third condition.) A comparison returns booleans, so it has no derivative. `marked` has no
# `grad_fn` even though it requires grad, because you created it directly instead of computing it.
#
# ### The graph as it really is
#
# To find what cuts off a layer, you follow the recorded operations, which form a graph:
#
# - A *node* is a backward function. A recorded operation adds one, or several if it's composed of other operations, as
#   `cross_entropy` is. A tensor's `grad_fn` is the node of the operation that computed it.
# - An *edge* leads to a node that receives a gradient next. A node's `next_functions` has one for each tensor that
#   went into the operation, and sometimes one for a plain number too. Each is a pair: the next node, and an index,
#   which is 0 below.
#
# The next cell computes `log(2 * a + 1)` and walks through its graph. The addition has two inputs: `2 * a` and the
# number 1. What will the edge for the 1 look like?

# %% example
a = torch.tensor(3.0, requires_grad=True)
out = torch.log(2 * a + 1)

print("log :", out.grad_fn.next_functions)
addition = out.grad_fn.next_functions[0][0]
print("add :", addition.next_functions)
multiplication = addition.next_functions[0][0]
print("mul :", multiplication.next_functions)
print("end :", multiplication.next_functions[0][0].variable is a)

# %% [markdown]
# An input that doesn't require grad has the entry `(None, 0)`, and no gradient is sent to it. The last node is an
# `AccumulateGrad`, which doesn't come from an operation. It adds the gradient that it receives to `a.grad`, and its
# `variable` attribute refers to `a`.
#
# `show_graph` draws the whole graph. Follow the arrows, as `backward` does, from the result to the leaves, the tensors
# at the other end. Nodes are gray, the result is green, and leaves are blue. Which of `W`, `b` and `v` is missing?

# %% example
W = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = torch.tensor([0.5, -0.5], requires_grad=True)
v = torch.tensor([1.0, 0.0, -1.0])  # doesn't require grad
loss = (W @ v + b).square().sum()
show_graph(loss, {"W": W, "b": b, "v": v})

# %% [markdown]
# It's `v`, which doesn't require grad. `MvBackward0`, the node of the matrix-vector product, keeps the values of `v`
# but sends it no gradient. `square` was recorded as a power, so its node is `PowBackward0`. Don't rely on these names:
# they may differ in another version of PyTorch or on another device.
#
# Change the expression in the next cell. Can you make a graph in which two paths reach the same node?

# %% scratch
p = torch.tensor([1.0, 2.0], requires_grad=True)
show_graph((p.sin() + 1).sum(), {"p": p})

# %% answer [markdown]
# Use a tensor twice: in `(p.sin() * p.cos()).sum()`, two paths reach the node of `p`. With `s = p.sin()`, two paths in
# `(s * s).sum()` reach the sine.

# %% [markdown]
# What happens where paths meet? The next picture starts with the values of the *forward pass*, the computation itself.
# From there, step through the *backward pass*, in which autograd works its way back. Each box receives a number in red:
# how much the result changes per unit change in that box's value. It then sends slopes of the same kind on to the next
# boxes. Two paths reach `product`, and two reach `right`. What do you expect each of the two to receive?

# %% example
left, right = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
product = left * right
show_backward(product * product + right, {"left": left, "right": right, "product": product})

# %% [markdown]
# Gradients that arrive along several paths are added up: 6 + 6 at `product`, and 1 + 24 at `right`. A node waits for
# all of them, so it runs only once, no matter how many paths pass through it. You can now follow a gradient along its
# edges, back to the tensors where it ends.
#
# ## Leaves
#
# An optimizer updates a parameter using its `.grad`, so every parameter has to be a tensor that gets one. Which tensors
# do? A *leaf* is a tensor without a `grad_fn`: no recorded operation made it. By this definition, every tensor that
# doesn't require grad is a leaf too.
#
# You'll often read that `backward` "computes `.grad` for every tensor with `requires_grad=True`". In the next cell,
# `x`, `inner` and `y` all require grad.

# %% predict: filled_grads
# **Predict.** You create `x`, then compute `inner = x * 3` and `y = inner.square().sum()`. Which of them have a `.grad`
# after `y.backward()`?
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
    warnings.simplefilter("ignore")  # reading a non-leaf tensor's .grad causes a warning
    for text, tensor in {"x": x, "inner": inner, "y": y}.items():
        print(f"{text:5}  requires_grad {tensor.requires_grad}  is_leaf {tensor.is_leaf!s:5}  grad {tensor.grad}")

x.grad = None
inner = x * 3
inner.retain_grad()  # must be called before backward
inner.square().sum().backward()
print("inner after retain_grad:", inner.grad)

# %% [markdown]
# Only the leaf has one. `backward` also computed the gradients of `inner` and `y`, but dropped them after passing them
# on, because they take up memory and are rarely needed. To keep such a gradient, call `retain_grad()` on the tensor
# before `backward`. So a model's parameters should be leaves that require grad.
#
# Here are three ways to start with small weights. For which of them will `backward` fill in `.grad`?

# %% example
start = torch.tensor([1.0, -2.0, 3.0])
w1 = torch.tensor([1.0, -2.0, 3.0], requires_grad=True) * 0.01
w2 = (start * 0.01).requires_grad_()
w3 = (w1 * 2).requires_grad_()
for text, tensor in {"w1": w1, "w2": w2, "w3": w3}.items():
    print(text, "is_leaf", tensor.is_leaf, " requires_grad", tensor.requires_grad)

# %% [markdown]
# Only for `w2`. The other two are results of recorded multiplications. The leaf of `w1` is the unnamed tensor that was
# multiplied, and `requires_grad_()` changed nothing about `w3`, which already required grad.
#
# A tensor's *history* is the part of the graph that can be reached from its `grad_fn`. `t.detach()`, which the script
# calls, returns a tensor that shares memory with `t` but has no history.
#
# If a parameter doesn't learn, check first whether it's a leaf that requires grad. The weights of the script's two
# layers pass this check. So the cut must be between one of the layers and the loss.

# %% [markdown]
# ## A matrix expression by hand
#
# The digits network consists mostly of matrix products. If you can derive their gradients by hand, you know which
# shapes to expect and what a backward pass costs.
#
# A *partial derivative* is the slope of a result with respect to one input number, with all the others held fixed.
# $a \cdot b$ has two of them: at $a = 2$ and $b = 3$, they're 3 and 2.
#
# A *scalar* result is a single number. Its *gradient* with respect to a tensor consists of all these partial
# derivatives, so it always has that tensor's shape. The sum of the squares of `[2, 3]` has the gradient `[4, 6]`.
#
# Take one sample of two numbers, `[1, 2]`, with the target 5. The model predicts `W @ x + b`, the *residual* is the
# prediction minus the target, and the loss is the square of the residual.

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
# Check these numbers on paper:
#
# 1. The prediction is 3.6 and the residual is -1.4.
# 2. The loss is the square of the residual, so its slope with respect to the residual is $2 \cdot (-1.4) = -2.8$.
# 3. If you increase `b` a little, the residual increases by the same amount, so the slope for `b` is also -2.8.
# 4. If you increase `W[0, 1]`, the residual increases twice as fast, because `W[0, 1]` is multiplied by 2. So its slope
#    is -5.6.
#
# In general, the partial derivative for `W[i, j]` is the slope for residual `i` times input `j`.
#
# Now take a batch. Each row of `X`, of shape `(n, d_in)`, is a sample, and each row of `Y` is its target. `W` has the
# shape `(d_out, d_in)`, `b` has `(d_out,)`, and the loss is the sum of all squared residuals `R = X @ W.T + b - Y`,
# with `b` added to every row. Before you write any code: what are the shapes of `R` and of the gradients of `W`, `b`
# and `X`? All samples share `W` and `b`. What does that mean for their gradients?

# %% answer [markdown]
# `R` has the shape of `Y`, `(n, d_out)`. Each gradient has the shape of its tensor: `(d_out, d_in)`, `(d_out,)` and
# `(n, d_in)`. Gradients that arrive along several paths are added up, so those of `W` and `b` are sums over the
# samples. Each row of `X` belongs to one sample, so nothing is added up over samples.

# %% [markdown]
# ### Your turn: manual_grads
# Compute the three gradients with matrix products and sums, without autograd.

# %% given
hint(
    "Write down the shapes of 2 * R and of the gradient that you want. Which factor has the missing dimension?",
    "A matrix product sums over a dimension that both factors have and the result doesn't. For b, there's no second "
    "factor: which dimension has to go?",
)

# %% exercise: manual_grads points=3 level=medium

# %% [markdown]
# `b` is added to every sample, so its gradient is a sum over the samples. This holds in general: what broadcasting
# stretches on the way forward is summed on the way back, and what's summed on the way forward is stretched on the way
# back. So a gradient always has its tensor's shape.
#
# You needed the residuals, `X` and `W`. The graph keeps the residuals and `X` for `backward`, but `W` only if `X`
# requires grad too. The forward pass has one matrix product and the gradients have two, so a backward pass costs about
# twice as much. Which of the two products can be skipped if you don't need the gradient of `X`?

# %% answer [markdown]
# `slope @ W`, with `slope = 2 * R`. In a network's first layer, `X` is the data, which doesn't require grad, so
# autograd skips this product and doesn't keep `W` for it. For one linear layer of width 2048 and 512 samples, we
# measured a backward pass that took about 2.0 times as long as the forward pass with this product, and 1.0 times as
# long without it.

# %% [markdown]
# ## Backward in plain Python
#
# You derived the gradients of one expression. `backward` works for any expression, although all it knows is how to
# differentiate individual operations. You'll now write it yourself, for numbers instead of tensors.
#
# A recorded computation is sometimes called a *tape*: a list of steps, in the order in which they ran. Here, each step
# has an operation, the names of its inputs, and the name of its output. `run_forward` follows a tape from top to bottom
# and computes all values. The tape below computes one *neuron*, a weighted sum of its inputs plus a bias, passed
# through `tanh`, and its loss.


# %% given
def run_forward(tape, values):
    """Run the steps of a tape. Returns the values of all names: those given, and each step's output."""
    operations = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "tanh": math.tanh}
    values = dict(values)
    for operation, inputs, output in tape:
        values[output] = operations[operation](*[values[name] for name in inputs])
    return values


neuron_tape = [
    ("mul", ("w", "x"), "product"),
    ("add", ("product", "b"), "total"),
    ("tanh", ("total",), "guess"),
    ("sub", ("guess", "y"), "residual"),
    ("mul", ("residual", "residual"), "loss"),
]
neuron_values = run_forward(neuron_tape, {"w": 0.5, "x": 2.0, "b": -0.5, "y": 1.0})
for name, value in neuron_values.items():
    print(f"{name:8} {value:7.4f}")

# %% [markdown]
# To get the slopes, go through the steps from bottom to top. For each name, keep a slope: how much the loss changes per
# unit of that value. For `loss` itself, that's 1.
#
# Take the step `sub`. When you get there, you know the slope for its output, `residual`: it's -1.0758. The residual
# grows by 1 per unit of `guess` and falls by 1 per unit of `y`, so the step sends -1.0758 to `guess` and 1.0758 to `y`.
# It didn't use any of the values. Which steps do?

# %% predict: needed_values
# **Predict.** On the way back, which of these steps need values from the forward pass?
#
# - [ ] `add`
# - [ ] `sub`
# - [x] `mul`
# - [x] `tanh`

# %% example
a, b = torch.tensor(0.5, requires_grad=True), torch.tensor(-2.0, requires_grad=True)
for text, out in {"a + b": a + b, "a - b": a - b, "a * b": a * b, "tanh(a)": a.tanh()}.items():
    saved = {name: getattr(out.grad_fn, name) for name in dir(out.grad_fn) if name.startswith("_saved")}
    print(f"{text:7} = {out.item():7.4f}  kept:", [f"{t.item():.4f}" for t in saved.values() if isinstance(t, Tensor)])

# %% [markdown]
# The attributes that begin with `_saved` are private; they hold what a node keeps for `backward`. The nodes of `add`
# and `sub` keep no values. The slope of a product with respect to one factor is the other factor, so `mul` keeps both.
# The node of `tanh` keeps its output instead of its input, because the slope of $\tanh(a)$ is $1 - \tanh(a)^2$.
#
# ### Your turn: backpropagate
# Write the walk back through a tape. First do it on paper for the five steps above. What does the last step send to
# `residual`, which is both of its inputs?

# %% given
hint(
    "When you get to a step, the slope of its output has to be complete. In which order of the steps is it?",
    "Each step sends each of its inputs a slope: that of its output times one factor. What's this factor for each of "
    "the four operations? And what if a slope has already arrived at that input?",
)

# %% exercise: backpropagate points=3 level=medium

# %% answer [markdown]
# On paper, the last step sends -0.5379 to `residual` twice, once for each input, which adds up to -1.0758.

# %% [markdown]
# Your walk is all that `backward` does: it goes back through what was recorded, and each step multiplies and adds.
#
# A backward walk like this is called *reverse mode*. It gives the slopes of one result with respect to all values. In
# *forward mode*, which `value_and_slope` used, one walk gives the slopes of all values with respect to one input.
# PyTorch's `torch.func` has both: `jacrev` builds a Jacobian row by row with backward walks, and `jacfwd` builds it
# column by column with forward walks.
#
# Your function can train a network that tells even digits from odd ones. The next cell writes its tape: three hidden
# neurons that take the 64 pixels, one neuron that makes the guess, and the last two steps of `neuron_tape`. The target
# `y` is 1 for an even digit and -1 for an odd one. For each of the first 500 images, the cell changes every parameter a
# little, in the direction opposite to its slope. The whole cell takes about a second. Which of your function's slopes
# aren't used in these updates?


# %% scratch
def neuron(name, sources):
    """The steps of one neuron: the tanh of a bias plus a weighted sum of the sources."""
    steps, total = [], f"bias of {name}"
    for source in sources:
        steps.append(("mul", (f"weight {source} {name}", source), f"product {source} {name}"))
        steps.append(("add", (total, f"product {source} {name}"), f"sum {source} {name}"))
        total = f"sum {source} {name}"
    return [*steps, ("tanh", (total,), name)]


pixel_names, hidden_names = [f"x{k}" for k in range(64)], ["h0", "h1", "h2"]
network_tape = [step for name in hidden_names for step in neuron(name, pixel_names)]
network_tape += neuron("guess", hidden_names) + neuron_tape[-2:]  # the residual and the loss

torch.manual_seed(0)
inputs = [name for _, names, _ in network_tape for name in names]
learned = {name: 0.1 * torch.randn(()).item() for name in inputs if name.startswith(("weight", "bias"))}
examples = [dict(zip(pixel_names, image, strict=True)) for image in pixels.tolist()]
for example, digit in zip(examples, digits.tolist(), strict=True):
    example["y"] = -1.0 if digit % 2 else 1.0

try:
    for example in examples[:500]:
        slopes = backpropagate(network_tape, run_forward(network_tape, learned | example), "loss")
        learned = {name: value - 0.03 * slopes[name] for name, value in learned.items()}

    unseen = [run_forward(network_tape, learned | example) for example in examples[1500:]]
    right = [(values["guess"] > 0) == (values["y"] > 0) for values in unseen]
    share = sum(right) / len(right)
    print(f"{len(learned)} parameters, {len(slopes)} slopes, right for {share:.0%} of the unseen images")
except Exception as error:
    print("This cell needs a working backpropagate:", repr(error))

# %% answer [markdown]
# Those of the pixels, the target and the steps' outputs: 461 of the 660. The outputs' slopes are needed on the way
# back, but not afterward. After 500 images, the network gets 83% of the unseen ones right. With seeds 0 to 4, we
# measured 81% to 84%.

# %% [markdown]
# ## A good place to stop
#
# You've written `backward` for numbers. In PyTorch, the graph is the tape, and the values are tensors. So a step no
# longer has one factor for each input: it has one for each pair of an output element and an input element. The next
# section shows what a node does with such a matrix of factors.
#
# When you come back, your variables may be gone: choose *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run
# before*), or press *Check*, which runs the cells it needs.

# %% [markdown]
# ## From many outputs: vector-Jacobian products
#
# If you call `backward` on the digits network's scores instead of its loss, you get the error "grad can be implicitly
# created only for scalar outputs". To see what's missing, look at an operation with several outputs.
#
# If an operation computes three numbers from two, there are six factors, the partial derivatives. They form a matrix,
# the *Jacobian*, with one row for each output and one column for each input. (Here, the outputs and inputs are the
# *elements* of the tensors.)
#
# How does a node get from the slopes of its outputs to those of its inputs? You can watch it, because `backward` takes
# the slopes of the outputs as an argument. Which of the four calls in the next cell will fail?


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
# Two of the calls have no argument, and only the first of them fails: here, "scalar" means a single element, whatever
# the shape.
#
# The argument is a tensor `v` with the output's shape; any other shape raises a RuntimeError. If `J` is the Jacobian,
# `backward(v)` computes `v @ J`: it multiplies each row of `J` by the corresponding number in `v` and adds up the
# results. This is a *vector-Jacobian product*. If `v` is all ones, it's the gradient of the sum of the outputs. For a
# scalar result, `backward()` uses 1 as its `v`.
#
# In the next picture, `v` weights the rows of a Jacobian. Work out each entry of `v @ J` before you step to it.

# %% example
show_vjp(
    lambda t: torch.stack([t[0] * t[1], t[1] * t[2], t.sum()]),
    torch.tensor([1.0, 2.0, 3.0]),
    v=torch.tensor([1.0, 0.0, -10.0]),
)

# %% [markdown]
# The rows of `J` are `[2, 1, 0]`, `[0, 3, 2]` and `[1, 1, 1]`. The first one counts once and the last one -10 times, so
# `v @ J` is `[2 - 10, 1 - 10, 0 - 10]`, or `[-8, -9, -10]`.
#
# The *upstream gradient* of a node is the gradient that it receives in a backward pass, with one slope for each element
# of its operation's result. The node uses it as its `v`. Your steps passed on a slope times a factor; the node passes
# on the vector-Jacobian product.
#
# Does a node compute its Jacobian to do this? For `exp` applied to 2,000 numbers, the Jacobian would have 4,000,000
# entries. The next cell looks at what the node actually keeps.

# %% example
big = torch.linspace(-1, 1, 2000, requires_grad=True)
node = big.exp().grad_fn
kept = node._saved_result
print("kept:", tuple(kept.shape), " the Jacobian would be", (2000, 2000))
upstream = torch.linspace(0, 5, 2000)
print("the node gives upstream * kept:", torch.equal(node(upstream), upstream * kept))

# %% [markdown]
# It keeps 2,000 numbers and multiplies the upstream gradient by them elementwise. The Jacobian of `exp` is never built,
# and PyTorch's other operations don't build theirs either.
#
# But sometimes you want the whole Jacobian, for instance to see how each score depends on each pixel. For that, you
# need two more facts:
#
# - `torch.autograd.grad(outputs, inputs, grad_outputs=v)` computes the same product. It returns a tuple with one
#   gradient for each input and doesn't touch `.grad`. That makes it the better tool inside a function: the caller's
#   tensors don't change.
# - A backward pass frees what the nodes kept, so a second pass over the same graph raises a RuntimeError at the first
#   node that kept something. (The graph of `(x + 1).sum()` keeps nothing, so you can run `backward` on it twice.)
#   `retain_graph=True` keeps everything for another pass.
#
# ### Your turn: jacobian
# Build the whole Jacobian from vector-Jacobian products. Which `v` gives exactly one row of the Jacobian?


# %% given folded
# Functions to try your solution on. The checks use them too.
def neighbours(x):
    """(n,) -> (n - 1,): products of neighbours."""
    return x[1:] * x[:-1]


def rolled(x):
    """(n,) -> (n,): the elements shifted by one position, times the first."""
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
    "v @ J is a weighted sum of the rows of J. Which v leaves only row i?",
    "You run one pass for each output. What does the second one need from the graph? And what if the caller's x "
    "doesn't require grad, or already has a .grad?",
)

# %% exercise: jacobian points=3 level=medium

# %% [markdown]
# The next cell trains a digits network and draws its Jacobian at the image of a 1: one picture of 64 slopes for each
# score. Where would more ink lower the score for 0?

# %% example
torch.manual_seed(0)
reader = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(reader.parameters(), lr=0.3)
for batch in torch.arange(1500).split(100) * 5:  # five epochs
    optimizer.zero_grad()
    nn.functional.cross_entropy(reader(pixels[batch]), digits[batch]).backward()
    optimizer.step()
maps: dict[str, Tensor] = {}
try:
    maps = {f"score for {k}": row.reshape(8, 8) for k, row in enumerate(jacobian(reader, pixels[1500]))}
except Exception as error:
    print("This cell needs a working jacobian:", repr(error))
show_saliency(dict.fromkeys(maps, pixels[1500].reshape(8, 8)), maps)

# %% [markdown]
# In the middle, where a 0 is empty. Each picture is a row of the Jacobian and took one backward pass: you need one for
# each output, no matter how many inputs there are. A loss is a single output, so one backward pass computes its
# derivatives with respect to all of a model's parameters. How many passes would you need if you went forward, as
# `value_and_slope` does, with one slope per pass?

# %% answer [markdown]
# One for each parameter: a forward walk gives one column of the Jacobian, and a backward walk gives one row. The
# Jacobian of a loss has a single row and a great many columns, so backward is the better direction.

# %% [markdown]
# ## Gradients accumulate
#
# Without `zero_grad`, the digits network learns poorly, and there's no error to warn you. The reason is that
# `AccumulateGrad` *adds* to `.grad`, which lets a program call `backward` several times and use the total. The gradient
# of $x^2$ at 3 is 6.

# %% predict: kept_as_first
# **Predict.** At `x = 3`, you call `backward` on `x**2`, set `first = x.grad`, and call `backward` on a new `x**2`.
# What is `first` now?
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
# `first` has changed, because `first = x.grad` doesn't make a copy: it's a second name for the same tensor, and the
# second `backward` added to that tensor. To keep a gradient, write `x.grad.clone()`. Before the first `backward`,
# `.grad` is `None`, not zero, so `x.grad.zero_()` would raise an AttributeError at that point.
#
# There are two ways to clear a gradient. `x.grad.zero_()` fills the tensor with zeros, and `first` sees them too.
# `x.grad = None` drops the tensor, and the next `backward` creates a new one.
#
# Does `first` keep its value if you clear the gradient with `x.grad.zero_()`, and if you set `x.grad = None`?

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
# Both ways give the right `x.grad`, but only `None` leaves `first` alone. `None` also says something that zeros can't:
# "this tensor got no gradient". The optimizers in lab 6 skip a parameter without a gradient, but may still move one
# whose gradient is all zeros.
#
# `optimizer.zero_grad()` sets each `.grad` to `None`. The next cell trains the digits network with and without it, and
# prints the norm (the square root of the sum of the squares) of the gradient of the output layer's weights. What norms
# do you expect after 1, 5 and 15 steps?

# %% scratch
for clear in (True, False):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    sizes = {}
    for step in range(1, 151):  # ten epochs of 15 batches
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
    print(f"zero_grad {clear!s:5}  norm of the gradient {sizes}  right for {right_share:.0%}")

# %% [markdown]
# With `zero_grad`, the norm stays about the same: 0.49, 0.43, 0.60. Without it, the norm grows from 0.49 to 1.74 and
# then 3.59, because every step follows the sum of all gradients so far, including those computed from weights that have
# long since changed. The network gets about half of the images right instead of 88%, and most other seeds do worse:
# across 20 of them, we measured about 20% to 57% without `zero_grad`, and 87% to 89% with it. A small learning rate can
# hide the mistake: with 0.03, both networks get 81%.

# %% [markdown]
# ## A new graph for every run
#
# Only operations on tensors are recorded. Can a model still contain an `if` or a `while`? It can. PyTorch builds the
# graph while the code runs, and builds a new one for each run. This is called *define-by-run*. In TensorFlow 1, you
# first defined a graph and then ran it with data.
#
# So an `if` or a `while` may depend on the values of tensors. And in the middle of a forward pass, a `print` or a
# debugger can show you any tensor's values. How many divisions will the graph contain for each of the two inputs in the
# next cell? Will it contain the `while`?


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
# For 3, there are two divisions, and the gradient is 0.25; for 100, there are seven, and it's 0.0078. The picture shows
# the two divisions for 3, but no node for the `while` or its comparison. The graph holds what was done, not what could
# have been done, so the gradient is right for whichever branch your code took. The comparison itself gets no gradient:
# if a parameter only decides how often a loop runs, its `.grad` stays `None`.

# %% [markdown]
# ## What cuts the graph?
#
# The layer that never learns was cut off because its values pass through NumPy. NumPy arrays and Python numbers have no
# history, so the graph ends there, often without an error.

# %% predict: ways_back
# **Predict.** `x` requires grad. Which of these results are still connected to `x`?
#
# - [x] `torch.sqrt(x).sum()`
# - [ ] `torch.tensor(x.sum().item() / 3)`
# - [ ] `torch.tensor([x[0] * 2, x[1]], requires_grad=True)`
# - [x] `torch.stack([x[0] * 2, x[1]])`
# - [ ] `x.argmax()`

# %% example
x = torch.tensor([1.0, 4.0, 9.0], requires_grad=True, device="cpu")  # NumPy can't use a GPU
ways = {
    "torch.sqrt(x).sum()": lambda: torch.sqrt(x).sum(),
    "np.sqrt(x.numpy()).sum()": lambda: np.sqrt(x.numpy()).sum(),
    "torch.tensor(x.sum().item() / 3)": lambda: torch.tensor(x.sum().item() / 3),
    "torch.tensor([x[0] * 2, x[1]], requires_grad=True)": lambda: torch.tensor([x[0] * 2, x[1]], requires_grad=True),
    "torch.tensor(x * 2)": lambda: torch.tensor(x * 2),
    "torch.stack([x[0] * 2, x[1]])": lambda: torch.stack([x[0] * 2, x[1]]),
    "x.argmax()": lambda: x.argmax(),
}
warn_always = torch.is_warn_always_enabled()
torch.set_warn_always(True)  # shows a warning each time, not only the first time
try:
    for text, run in ways.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = run()
                outcome = f"requires_grad {result.requires_grad!s:5} connected to x: {result.grad_fn is not None}"
            except RuntimeError as error:
                outcome = f"RuntimeError: {str(error)[:35]} ..."
        print(f"{text:51} {outcome}")
        if caught:
            print(f"    {caught[0].category.__name__}: {str(caught[0].message).splitlines()[0][:72]} ...")
finally:
    torch.set_warn_always(warn_always)

# %% [markdown]
# - Only `.numpy()` raises an error. `.item()`, `.tolist()` and `.detach()` never even warn.
# - `float(t)` warns if `t` requires grad, as does converting a list of such tensors, but usually only once per process.
#   `torch.tensor(t)` warns about the copy, whether or not `t` requires grad.
# - `torch.tensor(...)` copies the values into a new leaf. With `requires_grad=True`, that's the worst case: `backward`
#   raises no error, the gradient ends up in the new leaf, and `x.grad` stays `None`.
# - `torch.stack` joins tensors and is recorded like any other operation.
# - `argmax` returns an index, which jumps from one integer to the next. It has no useful slope, so this cut isn't a
#   mistake. `x[x.argmax()]` is recorded, and its gradient goes to the selected element.
#
# ### Your turn: scaled_peak
# The next function was ported from NumPy. It computes a weighted sum of each row of `x`, selects the row with the
# largest sum, and scales it by the root mean square of all the sums (the square root of the mean of their squares).
# When only `w` required grad, `backward` raised an error, and someone added `requires_grad=True` to silence it. The
# function's values are right, but its gradients aren't. Fix it.


# %% given
# The function to fix. The checks compare your values with its own.
def scaled_peak_broken(x, w):
    sums = [float((row * w).sum()) for row in x]
    best = int(np.argmax(sums))
    size = np.sqrt(np.mean(np.square(sums)))
    return x[best] * torch.tensor(size, dtype=x.dtype, requires_grad=True)


# %% given
hint(
    "Go through it line by line. Which results are tensors with a grad_fn?",
    "One of the cuts is harmless, because the value there has no slope anyway. Which one? Replace the others with "
    "tensor operations.",
)

# %% exercise: scaled_peak points=3 level=medium

# %% [markdown]
# Setting `requires_grad=True` on the last line hid the bug. Without it, you get the error, but only if `x` doesn't
# require grad. Otherwise, `w.grad` silently stays `None`.
#
# ### Finding the layer
#
# You can now find the layer that never learns: after `backward`, look for parameters whose `.grad` is still `None`.
# Which of the script's two layers do you expect to have them?

# %% scratch
for text, layer in {"hidden_layer": hidden_layer, "output_layer": output_layer}.items():
    gradient = layer.weight.grad
    print(text, "has no gradient" if gradient is None else f"has a gradient with norm {gradient.norm():.2f}")

# %% [markdown]
# Now follow the computation from the loss back to that layer, and find where the graph is cut. Fix the `network`
# function in this lab's first script; `torch.relu` is the function that sets negative numbers to zero. Then run the
# script and the cell above again.

# %% answer [markdown]
# The hidden layer has no gradient and still has its random initial weights. `.detach()`, `.numpy()` and `torch.tensor`
# each cut off its result. NumPy's `maximum` has to go too, because NumPy doesn't record anything:
#
# ```python
# def network(images):
#     hidden = torch.relu(hidden_layer(images))
#     return output_layer(hidden)
# ```
#
# The network now gets 88% right instead of 81%, and its final loss is 0.08 instead of 0.63. Both layers have a
# gradient. The broken network learned as much as it did because an output layer can do a lot with 64 random features.

# %% [markdown]
# Other than a cut, what could it mean if a parameter's `.grad` is `None` after `backward`?

# %% answer [markdown]
# The loss may not use the parameter. The parameter may be frozen, which means that it doesn't require grad, or it may
# not be a leaf, like `w1`. Or something may have set `.grad` to `None` after `backward`, as `zero_grad` does.

# %% quiz: interview points=3
# ## Interview questions
#
# **The graph**
# - [x] Its nodes are backward functions. A tensor computed by a recorded operation refers to its node in `grad_fn`.
#   > `out.grad_fn` was the node of `log`. In the picture of the graph, tensors appear only at its ends.
# - [ ] A tensor with `requires_grad=True` always has a `grad_fn`.
#   > A leaf that you created yourself has none, because no recorded operation made it. `marked` was such a tensor.
# - [x] The entries of `next_functions` say which nodes get the gradient next.
#   > They're the edges. You followed them from `log` through `add` and `mul` to `a`.
# - [x] If none of an operation's inputs require grad, it adds no node.
#   > `plain * 2` had no `grad_fn`. At least one input must require grad.
# - [ ] Each node keeps the Jacobian of its operation.
#   > For 2,000 numbers, `exp` kept 2,000 values, not 4,000,000. A node computes the product with the upstream gradient
#   > directly.
#
# Hint: What does exp keep? What is the grad_fn of a leaf?
#
# **Define-by-run**
# - [ ] For an `if`, both branches are recorded, and `backward` takes the right one.
#   > The graph contains the operations that ran. The branch that wasn't taken never ran, so it isn't in the graph.
# - [x] A new graph is built each time the code runs.
#   > There's no separate description of the model. `halve_until_small` built a graph for each start.
# - [x] A loop may run a different number of times for each input, and the gradients are still right.
#   > With two divisions for 3 and seven for 100, both gradients were right: 0.25 and 0.0078.
# - [x] In TensorFlow 1, a graph was defined first and run with data afterward.
#   > TensorFlow 1 built the graph without values and ran it later. Define-by-run is the opposite.
# - [x] You can stop in a debugger in the middle of the forward pass and print a tensor's values.
#   > Each operation is computed when Python reaches it, so the values already exist.
#
# Hint: Did the picture for halve_until_small show its while?
#
# **Leaves and `.grad`**
# - [ ] `backward` fills in the `.grad` of every tensor that requires grad.
#   > It fills in only those of leaves. `inner` and `y` required grad, but their `.grad` was `None`.
# - [x] A tensor that doesn't require grad is a leaf.
#   > No recorded operation made it, so it has no `grad_fn`. That's the definition of a leaf.
# - [ ] `torch.zeros(3, requires_grad=True) + 0.01` is a leaf.
#   > The sum is the result of a recorded operation. The leaf is the unnamed tensor of zeros, as with `w1`.
# - [x] `retain_grad()` has to be called before `backward`.
#   > `backward` drops the gradient of a non-leaf tensor after passing it on, unless `retain_grad()` was called first.
# - [x] `torch.autograd.grad(loss, w)` leaves `w.grad` as it was.
#   > It returns the gradients and doesn't touch any `.grad`, so it's the better tool inside a function.
#
# Hint: Which of w1, w2 and w3 were leaves, and what had a .grad after backward?
#
# **Vector-Jacobian products**, where `y` of shape (3,) is computed from a leaf `x` of shape (5,) that requires grad,
# and `J` is the Jacobian
# - [x] `y.backward()` without an argument raises an error.
#   > `backward` uses 1 as its `v` only if the result has one element. For three elements, it needs a `v` of three
#   > numbers.
# - [x] `y.backward(v)` adds `v @ J` to `x.grad`.
#   > That's the vector-Jacobian product: the rows of `J`, each times its number in `v`, are added up and accumulated.
# - [x] `y.backward(torch.ones(3))` and `y.sum().backward()`, each on a fresh graph, give the same gradient.
#   > The derivative of a sum with respect to each of its terms is 1, so the sum sends a vector of ones to `y`.
# - [x] Computing the whole Jacobian takes three vector-Jacobian products.
#   > `J` has one row for each output. A unit vector as `v` gives one row, so there are as many passes as outputs.
# - [ ] If `y` had the shape (1, 1), `backward()` without an argument would raise an error.
#   > A single element counts as a scalar, whatever the shape. The lab's call with shape (1, 1) worked.
#
# Hint: How many rows does J have? What counts as a scalar?
#
# **Why gradients are set to zero or `None` in a training loop**
# - [x] Otherwise, `.grad` after the third batch is the sum of the gradients of three batches.
#   > `AccumulateGrad` adds to what is already there. Nothing else clears it for you.
# - [ ] `backward` raises an error if `.grad` is neither zero nor `None`.
#   > It silently adds to what it finds. That's why the mistake is so easy to miss.
# - [x] Before the first `backward`, `w.grad.zero_()` raises an error.
#   > `.grad` is `None` at that point, and `None` has no `zero_`, so you get an AttributeError.
# - [ ] After `g = w.grad`, `g` keeps its values no matter what the next `backward` does.
#   > `g` is a second name for the same tensor, and the next `backward` adds to it. `clone()` keeps the values.
# - [x] Whether you write `w.grad = None` or `w.grad.zero_()`, the next `backward` that involves `w` gives the same
#   `w.grad`.
#   > Adding to zeros and creating a new tensor give the same numbers. Only code that kept the old tensor sees a
#   > difference.
#
# Hint: What was first after the second backward?
#
# **What cuts the graph**
# - [x] `.item()` returns a Python number, so no gradient flows back through it.
#   > A Python number has no history, so the graph ends there, and PyTorch doesn't warn you. In `x * x.sum().item()`, a
#   > gradient reaches `x` only through the first factor.
# - [ ] `torch.tensor(t * 3, requires_grad=True)` is connected to `t`, since it requires grad.
#   > `torch.tensor` copies the values into a new leaf. The gradient ends up in that leaf, and never reaches `t`.
# - [ ] Calling `requires_grad_()` on the result fixes a cut.
#   > The result becomes a leaf, but stays disconnected. The error is gone, and so is the gradient.
# - [x] In `x[x.argmax()]`, a gradient reaches the selected element of `x`.
#   > Selecting an element is a recorded operation. Only the index itself has no slope.
# - [x] `.numpy()` raises an error on a tensor that requires grad.
#   > NumPy can't record operations, so PyTorch raises an error that recommends `detach()`.
#
# Hint: Which of the seven lines under 'What cuts the graph?' kept their history?

# %% [markdown]
# ## Asked in interviews
#
# Answer each question aloud before you open the answer.
#
# **How does autograd work?**
#
# <details><summary>A good answer</summary>
#
# In the forward pass, each operation that has a derivative and an input that requires grad adds a node, or several. A
# node is a backward function, and it keeps what its derivative needs. `next_functions` connects the nodes, all the way
# to the leaves. `backward` starts at the result, with a gradient of 1 if it's a single element, and visits the nodes in
# reverse order. Each node turns its upstream gradient into gradients for its inputs with a vector-Jacobian product,
# without ever building the Jacobian. At a leaf, the gradient is added to `.grad`. The trap is that last step: not every
# tensor that requires grad gets a `.grad`. Only leaves do, along with tensors on which `retain_grad()` was called
# earlier.
#
# </details>
#
# **How does a dynamic graph differ from TensorFlow 1's static graph?**
#
# <details><summary>A good answer</summary>
#
# In TensorFlow 1, you first defined a graph without values and then ran it with data. PyTorch records a graph while the
# code runs, and a new one on the next run. That's called define-by-run. So an `if` or a `while` can depend on the
# values of tensors, and I can print or debug in the middle of a forward pass, because the values already exist. The
# trap is thinking that both branches of an `if` are recorded. The graph contains the operations that ran, so the
# gradient belongs to the branch that was taken.
#
# </details>
#
# **Why must gradients be cleared?**
#
# <details><summary>A good answer</summary>
#
# Because `backward` adds to `.grad` instead of replacing it. If I don't clear it, it holds the sum of three gradients
# after three batches. There's no error, and the next update simply uses that sum. Accumulation is intentional: I can
# call `backward` on several losses, or on the loss of each small batch, and use the sum of their gradients. To clear
# `.grad`, I fill it with zeros or set it to `None`, which also says that there was no gradient. The trap: `g = w.grad`
# is a second name for the same tensor, and the next `backward` adds to it. To keep the numbers, I write
# `w.grad.clone()`.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A model has ten million parameters, 1,000 outputs in its last layer, and one loss. Someone proposes three ways to get
# the gradient of the loss: finite differences; carrying all slopes forward, as `value_and_slope` does; and `backward`.
# Someone else wants the Jacobian of the 1,000 outputs for one sample as well.
#
# Answer in four to eight sentences. For the gradient of the loss, about how much work does each method take, measured
# in forward passes, and why? How many backward passes does the Jacobian take? What are finite differences still good
# for?

# %% question: cost_of_gradients [markdown] points=2
# ### BEGIN SOLUTION
# Finite differences change one parameter at a time. Steps in one direction take one forward pass for each parameter,
# plus one at the start; steps in both directions take two for each parameter. That's ten or twenty million forward
# passes, and the result is only approximate. Carrying slopes forward is exact, but every value then comes with one
# slope for each parameter, which is again the work of at least ten million forward passes. `backward` needs one forward
# pass, which records the graph, and one backward pass, which costs about as much as two: three in all. It starts from
# one number, the loss, and each node turns one upstream gradient into the gradients of its inputs. So the cost depends
# on the number of outputs, not the number of inputs. The price is memory: what the nodes keep isn't freed until
# `backward` has run. The Jacobian of 1,000 outputs takes 1,000 backward passes, one vector-Jacobian product for each
# row. Finite differences remain useful as a test of handwritten gradients, preferably in float64 and with a step that
# isn't too small.
#
# For grading: one point for the work of each method (about ten or twenty million forward passes, at least ten million,
# about three) and the reason (inputs versus outputs), one for the Jacobian and for finite differences as a test.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# | call or rule | what it does or costs |
# |---|---|
# | an operation | is recorded if it has a derivative and an input that requires grad |
# | `backward()` | adds to the `.grad` of the leaves that require grad |
# | `backward(v)` | adds the vector-Jacobian product of `v` |
# | `torch.autograd.grad(out, inputs)` | returns the gradients without touching `.grad` |
# | a Jacobian | one backward pass for each output |
# | a backward pass | about twice the work of the forward pass |
# | `retain_grad()` | keeps a non-leaf tensor's gradient, if called before `backward` |
# | `x.grad = None` | the next `backward` creates a new tensor |
# | `.item()`, `torch.tensor(t)` | end the graph without an error; `.numpy()` raises one |
# | `requires_grad=True` after a cut | hides the cut: look for a `.grad` that is `None` |
#
# Three questions to ask yourself:
#
# - Which tensors are the leaves here, and does each of them get a `.grad`?
# - What is already in `.grad` when this `backward` starts?
# - On which lines do my values leave PyTorch, and does a gradient have to flow through there?
#
# Lab 4 picks up from here: how to stop recording, how to drop a history, and how to run `backward` twice.

# %% [markdown]
# ## Further practice
#
# The five sections below are optional. Each presents a problem that the core leaves open, and an exercise that solves
# it.
#
# ## Parameters from starting values
#
# If you load starting values from a file, or copy them from another model, you have to turn them into leaves that
# require grad. `torch.nn.Parameter(t)` does that for any floating-point `t`, even one with a history. Does it copy `t`?
# The next cell changes the original in place. What will it print?

# %% scratch
origin = torch.tensor([1.0, 2.0])
parameter = torch.nn.Parameter(origin)
origin.mul_(5)
print(parameter)

# %% [markdown]
# It doesn't copy `origin`: like a detached tensor, the parameter shares memory with the original.
# `torch.nn.Parameter(origin.clone())` has its own memory. Be careful if you cast a parameter afterward: a cast that
# changes nothing returns the tensor itself, so `w2.float()` is still a leaf, but `w2.double()` isn't.
#
# ### Your turn: trainable
# Create a model's parameters from a dictionary of starting values. Some of the values are counters or masks. Integer
# and boolean tensors can't require grad, so just copy them.

# %% given
hint(
    "Which two properties must a parameter have? Print both for your result, once for a starting value that requires "
    "grad and once for one that doesn't.",
    "What has to happen to the product's history before requires_grad_() can make it a leaf?",
)

# %% exercise: trainable points=3 level=medium further

# %% [markdown]
# Does it matter whether you call `requires_grad_()` before you scale a tensor or afterward? And does `t.clone()` drop
# the history?

# %% answer [markdown]
# The order matters: drop the history with `detach()`, scale, and only then call `requires_grad_()`. If you mark the
# tensor first, the product is recorded and isn't a leaf, as with `w1`. `t.clone()` doesn't drop the history: if `t`
# requires grad, the clone isn't a leaf either. The product has its own memory, even with a scale of 1.

# %% [markdown]
# ## Several losses, one model
#
# A model that learns several tasks at once has several losses, which may pull the same parameters in opposite
# directions. To detect that, you need the gradient of each loss separately, but `backward` adds them up.
#
# ### Your turn: task_gradients
# Return one gradient for each loss and each parameter.


# %% given
# Losses to try your solution on. The checks use them too.
def decay(params):
    """Uses only the first parameter."""
    return params[0].square().sum()


def second_decay(params):
    """Uses only the second parameter."""
    return params[1].square().sum()


def total(params):
    return sum(((k + 1) * p).sum() for k, p in enumerate(params))


def with_squares(params):
    """The total of a longer list: the parameters and their squares."""
    return total(params + [p.square() for p in params])


def fit(params):
    """Uses two parameters: a vector and a number."""
    w, offset = params
    return ((w * torch.arange(1, len(w) + 1)).sum() + offset - 2).square()


# %% given
hint(
    "Two functions can run a backward pass. One of them adds to .grad. What does the other one do?",
    "A loss that doesn't use a parameter sends it no gradient. What do you get in that case: an error, None or "
    "zeros? That depends on options of torch.autograd.grad such as materialize_grads=True.",
)

# %% exercise: task_gradients points=3 level=easy further

# %% [markdown]
# Which function is the right choice here? And what does it do about a parameter that the loss doesn't use?

# %% answer [markdown]
# `torch.autograd.grad`, because it returns new tensors and leaves `.grad` alone. For a parameter that the loss doesn't
# use, it raises an error. With `allow_unused=True`, it returns `None`; with `materialize_grads=True`, zeros.

# %% [markdown]
# Now you can detect a conflict: if the dot product of two losses' gradients is negative, a small step of gradient
# descent on one loss increases the other.

# %% [markdown]
# ## Accumulating over batches
#
# If the 1,500 training images didn't fit in memory, you could still get the gradient of their mean loss by going batch
# by batch: each graph is freed before the next one is built.
#
# A loss function usually returns the mean over its batch. The common recipe is to divide each batch's loss by the
# number of batches and let the gradients add up. If four batches have 10, 10, 10 and 2 samples, is the recipe exact?


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
# With equal sizes, the only difference is rounding. With the small last batch, an entry that should be 0.89 is 2.27.
# The recipe gives each batch the same weight, so a sample in the batch of 2 counts five times as much as one in a batch
# of 10. An exact recipe weights each batch by its number of samples.
#
# ### Your turn: stream_gradient
# Make the recipe exact for batches of any size. A batch may even be empty, for example if a filter removed all of its
# samples. The mean of no numbers is `nan`. Is its gradient `nan` as well? Predict, then run the next cell.

# %% scratch
mean_of_none = squared_error(w, features[:0], targets[:0])
print("loss", mean_of_none.item(), " gradient", torch.autograd.grad(mean_of_none, w)[0])

# %% given
hint(
    "A mean is a sum divided by a count. Which parts of it can you add up batch by batch?",
    "Multiply each batch's gradient by something, add up the products, and divide once at the end. How do you keep "
    "track of the number of samples?",
)

# %% exercise: stream_gradient points=3 level=medium further

# %% [markdown]
# An empty batch has a loss of `nan` but a gradient of zero, because there are no samples to send a gradient to `w`.
#
# Your loop keeps only one batch's graph at a time. If you added up the weighted losses and called `backward` once, the
# graphs of all batches would stay alive until then.

# %% [markdown]
# ## Hooks: inspect a gradient in the backward pass
#
# If a gradient explodes in the middle of a network, there's no `.grad` to look at. A hook is a function that `backward`
# calls with a tensor's gradient as soon as it's ready. Register one with `t.register_hook(function)`; `t` has to
# require grad. If the function returns a gradient, that gradient replaces the old one; if the function returns `None`,
# nothing changes. The function must not change its argument in place, because other parts of the graph may receive the
# same tensor.

# %% predict: hook_calls
# **Predict.** `h` has a hook, and `out = (2 * h).sum() + (3 * h).sum()`. How many times does `out.backward()` call the
# hook, and with what?
#
# - [ ] twice: once with twos, once with threes
# - [x] once, with fives
# - [ ] once, with sixes
# - [ ] twice, both times with fives

# %% example
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 10
seen = []
h.register_hook(seen.append)  # append returns None, so the gradient stays the same
out = (2 * h).sum() + (3 * h).sum()
out.backward()
print("called", len(seen), "time, with", seen[0].tolist(), "  x.grad", x.grad.tolist())

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 10
h.register_hook(lambda g: g.clamp(-1, 1))
((2 * h).sum() + (3 * h).sum()).backward()
print("clamped: x.grad", x.grad.tolist())

# %% [markdown]
# There's one call, with the sum: 2 from one use and 3 from the other. A hook sees its tensor's whole gradient, never
# the contributions of the individual uses. So the second hook clamps 5 to 1, and the factor 10 turns that into an
# `x.grad` of 10. Clamping 2 and 3 separately would give 1 + 1, and an `x.grad` of 20.
#
# That matters in a *residual block*, which computes `x + branch(x)`. As the next picture shows, `x` receives its
# gradient along two paths: directly from the addition, and through the branch.


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
    """A branch with its own parameter."""
    return x * own_factor


# %% example
x = torch.tensor([0.0, 1.0], requires_grad=True)
show_graph(x + steep(x), {"x": x})

# %% [markdown]
# ### Your turn: clamped_residual
# Suppose that the branch sometimes sends huge gradients to `x`. You want to clamp them without changing the gradient on
# the direct path. Where do you put the hook?

# %% given
hint(
    "Look at the graph of x + branch(x). Does any tensor receive only the branch's gradient?",
    "There's no such tensor yet: x receives both gradients. Which operation returns a new tensor with the same values, "
    "just for the branch? And what if x doesn't require grad?",
)

# %% exercise: clamped_residual points=3 level=medium further

# %% answer [markdown]
# The hook belongs on a tensor that only the branch uses, such as `x.view_as(x)`.

# %% [markdown]
# In training, gradients are usually clipped after `backward`, in the parameters' `.grad`. That can't do what your hook
# does, because the contributions of all paths have been added up by then.

# %% [markdown]
# ## How large is a graph?
#
# If a training loop adds up its losses with `total = total + loss`, the graph of `total` grows with every step. Without
# `backward`, the tensors that the nodes keep fill your memory. If each step calls `backward`, those tensors are freed,
# and only the small nodes themselves pile up. To detect either problem, count nodes: start at `grad_fn`, follow
# `next_functions`, and stop at `None`. Ignore the index in each edge: if the next node's operation has several results,
# as `unbind` does, the index says which one was used.
#
# The next cell tries this, with a short recursive function, on a tensor that's repeatedly added to itself. How many
# nodes does the graph have after 3, 6, 9 and 12 additions? What will the recursion count?


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
# There are 4, 7, 10 and 13 nodes: one for each addition, and one for `x`. But each addition has two edges to the same
# node, and the recursion visits a node once for every *path* to it. Each addition doubles the number of paths. After 40
# additions, the recursion would make about two trillion visits to only 41 nodes. Besides, a graph may be deeper than
# the 1,000 nested calls that Python allows by default.
#
# So you have to remember which nodes you've counted, perhaps by `id(node)`, the number by which Python tells live
# objects apart. The next cell creates five graphs, one after the other, and adds the id of each graph's first node to a
# set. Then it does the same with five more graphs, but adds the nodes themselves. How many entries will each set have?

# %% example
x = torch.tensor(1.0, requires_grad=True)
ids, nodes = set(), set()
for _ in range(5):
    ids.add(id((x * 2).grad_fn))
for _ in range(5):
    nodes.add((x * 2).grad_fn)
print(len(ids), "different ids,", len(nodes), "different nodes")

# %% [markdown]
# The set of nodes has five entries. The set of ids had only one on our machine: nothing refers to a node once its id
# has been read, so the node is freed, and Python may give its id to the next object. The same happens when you traverse
# the graph of `f(x)` after the result is gone. So store the nodes themselves in your set, not their ids.
#
# ### Your turn: graph_size
# Count the distinct nodes, even in large and deep graphs.


# %% given
# Functions to try your solution on. The checks use them too, and others from this section.
def polynomial(x):
    return (x * x + 3 * (x + 1)).sum()


def doubled_twelve_times(x):
    return doubled(x, 12)


def spread(x):
    """One operation with several results, which are combined again."""
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
    "What do you have to remember to avoid counting a node twice?",
    "Keep two collections: the nodes that you've seen, and the nodes that you still have to look at. When do you add "
    "a node to each of them?",
)

# %% exercise: graph_size points=4 level=hard further

# %% [markdown]
# `backward` has the same problem, and a harder one. It must visit each node only once, and only after the gradients
# from all edges to that node have arrived. If it ran a node as soon as the first gradient arrived, later ones would be
# lost: in the graph with `product`, 6 would arrive instead of 12. A tape is already in an order that avoids this,
# called a topological order. For a graph, `backward` first counts each node's incoming edges, and runs the node only
# when a gradient has arrived along all of them.
