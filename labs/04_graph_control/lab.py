# %% [markdown]
# # Controlling the graph
#
# You know what autograd records, and what `backward` does with the record. In this lab you take control of it.
#
# After this lab you can
#
# - say what `no_grad`, `detach`, `inference_mode` and `eval()` each do, and what they do not do;
# - keep values from a training run without keeping its memory;
# - write a loss with a stop-gradient;
# - compute predictions, and leave a model exactly as it was;
# - train on a long sequence with a graph of bounded size;
# - differentiate a gradient, and build a loss from one.
#
# You need labs 2 and 3. Plan two sittings of about an hour. All numbers were measured with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise a card shows its checks. Those
# marked *later* run when the lab is marked: with the button *Mark my work*, or after handing in. A person reads the
# last question.

# %% given
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    probes,
    show_graph,
    show_kept,
    show_saliency,
    use_device,
)

# %% given
here = use_device()  # where new tensors are made: on the GPU, if there is one

# %% [markdown]
# ## Recording, off and on
#
# Inside `with torch.no_grad():` no operation is recorded. Outside, everything is as before. That sounds simple. Which
# of the six tensors in the next cell require grad?

# %% example
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, -1.0])

with torch.no_grad():
    inside = (w * x).sum()
    made_inside = torch.zeros(2, requires_grad=True)
    with torch.enable_grad():
        switched_on = (w * x).sum()

torch.no_grad()
after_a_call = (w * x).sum()


@torch.no_grad()
def weighted_sum():
    return (w * x).sum()


for text, tensor in {
    "inside": inside,
    "made_inside": made_inside,
    "switched_on": switched_on,
    "after_a_call": after_a_call,
    "weighted_sum()": weighted_sum(),
    "w": w,
}.items():
    print(f"{text:15} requires_grad {tensor.requires_grad!s:5}  is_leaf {tensor.is_leaf}")

# %% [markdown]
# Two of them do not: `inside` and the result of `weighted_sum()`. Look at the others.
#
# - `made_inside` is a new leaf, and you asked for its flag. `no_grad` is about operations. It does not change what a
#   tensor is, and it does not change `w`.
# - `enable_grad` switches recording on again inside `no_grad`.
# - `torch.no_grad()` on a line of its own does nothing. It makes an object that could be used by `with`, and drops it.
#   There is no error and no warning.
#
# As a decorator, `@torch.no_grad()` covers every call of the function.
#
# `torch.set_grad_enabled(False)` is the opposite trap. It works with `with` too, but on a line of its own it *does*
# switch, as soon as it is called, for all that follows.

# %% example
flagged = torch.tensor([1.0, 2.0], requires_grad=True)
torch.set_grad_enabled(False)
print("after set_grad_enabled(False):", (2 * flagged).requires_grad)
torch.set_grad_enabled(True)
print("after set_grad_enabled(True): ", (2 * flagged).requires_grad)

# %% [markdown]
# A function that does so and raises an error, or forgets to switch back, leaves recording off for its caller. So write
# `with torch.set_grad_enabled(flag):` where the mode depends on a flag.
#
# What does `no_grad` save? An operation that is not recorded keeps nothing for `backward`. The next cell counts the
# bytes that are held for `backward` after a forward pass, without the parameters and the input. Which number will the
# second line have?


# %% example
def make_layers(count, width):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        layers = [layer for _ in range(count) for layer in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*layers)


layers = make_layers(8, 128)
batch = torch.linspace(-1, 1, 64 * 128).reshape(64, 128)
print("recorded  :", probes.saved_bytes(layers, batch), "bytes")
with torch.no_grad():
    print("no_grad   :", probes.saved_bytes(layers, batch), "bytes")
print("one result:", layers(batch).nbytes, "bytes")

# %% [markdown]
# Recorded, the pass holds eight results of 32,768 bytes, one for each Tanh. With `no_grad` it holds none. The
# arithmetic is the same. So do not expect much more speed from it. On one CPU thread of our machine, `no_grad` saved 6
# % of the time of this pass. It saved less than 1 % with layers of width 512 and 256 samples. Only with twenty tiny
# layers of width 8 and 4 samples, where bookkeeping is most of the work, it was 22 %.
#
# ### What stays
#
# You may have heard that a loop without `no_grad` slowly eats up the memory. The next cell runs the eight layers on
# 1, 2, 8 and 16 batches, and records all of it. The three loops differ in what they keep of the losses.

# %% predict: growing_memory
# **Predict.** Which loop needs more memory for 16 batches than for 2?
#
# - [ ] the one that keeps the last loss only
# - [x] the one that keeps a list of the losses
# - [ ] the one that keeps a list of `loss.detach()`
# - [ ] all three: each of them records


# %% example
def keep_the_last(model, batches):
    for x in batches:
        loss = model(x).square().mean()
    return loss


def keep_losses(model, batches):
    losses = []
    for x in batches:
        losses.append(model(x).square().mean())


def keep_detached(model, batches):
    losses = []
    for x in batches:
        losses.append(model(x).square().mean().detach())


for loop in (keep_the_last, keep_losses, keep_detached):
    peaks = [probes.live_bytes(loop, layers, [batch] * count)["peak"] for count in (1, 2, 8, 16)]
    print(f"{loop.__name__:14} most KiB at a time: {[peak // 1024 for peak in peaks]}")

# %% [markdown]
# Only `keep_losses` grows: by 256 KiB with each batch, which are the eight results of its graph. A loss is one number,
# but it leads to its whole graph, and that lives as long as the loss. `keep_detached` stays at one graph. And
# `keep_the_last`, which people expect to leak, stays at two. Why two? While the second batch runs, the name `loss`
# still holds the first graph. It is freed when `loss` gets its new value.
#
# So a loop without `no_grad` does not eat up the memory. Keeping a tensor that leads to a graph does. `no_grad` makes
# sure that there is no graph to be kept.
#
# ### Updates
#
# The oldest use of `no_grad` is to change parameters. A step of gradient descent is `w - lr * gradient`. Here are three
# ways to write it. After which of them can the loop go on, with `w` as a leaf that requires grad?

# %% example
for way in ("new tensor", "new tensor, no_grad", "in place, no_grad"):
    w = torch.tensor([4.0], requires_grad=True)
    (w**2).sum().backward()
    if way == "new tensor":
        w = w - 0.1 * w.grad
    elif way == "new tensor, no_grad":
        with torch.no_grad():
            w = w - 0.1 * w.grad
    else:
        with torch.no_grad():
            w -= 0.1 * w.grad
    print(f"{way:20} value {w.item():.2f}  requires_grad {w.requires_grad!s:5}  is_leaf {w.is_leaf}")

# %% [markdown]
# All three have the value 3.20. The first is the result of a recorded operation: it is no leaf, and behind it hangs the
# graph of the step. Do that a thousand times, and the graph has a thousand steps. The second is cut off from the graph
# and does not require grad. The third is `w` itself, changed in place. Outside `no_grad` that line would raise an
# error, and lab 5 says why.
#
# Now you want to keep the values of every step, for a plot. Three ways again.

# %% predict: detached_history
# **Predict.** `w` is 4, then 2, then 1, then 0.5, changed in place. Before each of the three steps, `w.detach()` is put
# into a list. What does the list hold at the end?
#
# - [ ] 4, 2 and 1
# - [ ] 4, 4 and 4
# - [x] 0.5, 0.5 and 0.5

# %% example
w = torch.tensor([4.0], requires_grad=True)
detached, cloned, listed = [], [], []
for _ in range(3):
    detached.append(w.detach())
    cloned.append(w.detach().clone())
    listed.append(w.tolist())
    (grad,) = torch.autograd.grad((w**2).sum(), w)
    with torch.no_grad():
        w -= 0.25 * grad
print("detach()        ", [t.tolist() for t in detached])
print("detach().clone()", [t.tolist() for t in cloned])
print("tolist()        ", listed)

# %% [markdown]
# `detach()` makes no copy. It gives a second tensor over the same memory, and the memory went on being changed. All
# three entries show where `w` is now. The same happens with `w.data`, with `w.detach().numpy()` and with the tensors in
# `model.state_dict()`. A snapshot needs `clone()`.
#
# ### Your turn: descend
# Write gradient descent with a history. The caller's tensor must not notice anything. It may be called from a place
# where recording is off.


# %% given
# Functions to try your solution on. The checks use them too.
def bowl(x):
    return x.square().sum()


def tilted(x):
    """Lowest where x is 0.5, 1.5, 2.5, ..., and steeper along the later elements."""
    goal = torch.arange(x.numel(), dtype=x.dtype).reshape(x.shape) + 0.5
    return ((goal + 1) * (x - goal) ** 2).sum()


def wavy(x):
    return (x.sin() + 0.1 * x**2).sum()


def undefined(x):
    raise ZeroDivisionError("this function has no value anywhere")


# %% given
hint(
    "You need a leaf for each step. Which tensor can it be, without touching the caller's? And what must be switched "
    "on for f to be recorded?",
    "If each step makes a new point from the old one and the gradient, there is nothing that could be changed later.",
)

# %% exercise: descend points=3

# %% [markdown]
# It is enough to record f: one small graph for each step, freed before the next. What would the memory
# look like if the update were recorded as well? You would get something for it: `points[-1]` could be differentiated
# with respect to the start. Some methods that learn how to learn do just that.

# %% [markdown]
# ## A stop in the middle
#
# `no_grad` is for a stretch of code. `detach()` is for one tensor. A gradient that comes back along the graph ends
# there. The values go on as if nothing had happened. This is called a *stop-gradient*.
#
# A small example. A number $w$ predicts $2w$, and is compared with $1 + 0.9 \cdot 3w$: a target that is itself computed
# from $w$. At $w = 1$ the prediction is 2 and the target 3.7. The loss is the square of the difference. A negative
# gradient raises $w$.

# %% predict: pushed_by_gradient
# **Predict.** Which way does the gradient push `w`, with and without a stop on the target?
#
# - [ ] up in both cases: the loss is the same
# - [ ] down in both cases
# - [x] up with the stop, down without it
# - [ ] down with the stop, up without it

# %% example
for stop in (False, True):
    w = torch.tensor(1.0, requires_grad=True)
    target = 1 + 0.9 * 3 * w
    if stop:
        target = target.detach()
    loss = (2 * w - target) ** 2
    loss.backward()
    print(f"stop {stop!s:5}  loss {loss.item():.2f}  gradient {w.grad.item():.2f}")

# %% [markdown]
# The same loss, and gradients of opposite sign. With the stop, `w` rises: the prediction moves to the target. Without
# it, `w` falls: the target would come down faster than the prediction, so the loss is lowered by moving the target.
# Nothing in the printed loss tells the two apart. The pictures do. First the graph without a stop, then with it.

# %% example
w = torch.tensor(1.0, requires_grad=True)
show_graph((2 * w - (1 + 0.9 * 3 * w)) ** 2, {"w": w})

# %% example
w = torch.tensor(1.0, requires_grad=True)
show_graph((2 * w - (1 + 0.9 * 3 * w).detach()) ** 2, {"w": w})

# %% [markdown]
# Where else could a stop stand? Try it on the prediction, or on one of the two uses of `w` in a line of your own.

# %% scratch
w = torch.tensor(1.0, requires_grad=True)
loss = (2 * w.detach() - (1 + 0.9 * 3 * w)) ** 2
print(torch.autograd.grad(loss, w))

# %% [markdown]
# You can have a stop by `detach()`, or by computing the target inside `no_grad`. The gradients are equal. Is the cost?
# The next cell sends a batch through the eight layers and then stops, in both ways. It prints the most memory that was
# in use at any moment for what the operations made.


# %% example
def detached_at_the_end(model, x):
    return model(x).detach()


def without_recording(model, x):
    with torch.no_grad():
        return model(x)


print("detach at the end:", probes.live_bytes(detached_at_the_end, layers, batch)["peak"], "bytes")
print("no_grad          :", probes.live_bytes(without_recording, layers, batch)["peak"], "bytes")

# %% [markdown]
# With `detach()` at the end the whole graph was built first, with all that it keeps, and then dropped. With `no_grad`
# each result is freed as soon as the next layer has read it. So: `no_grad` where a whole part needs no gradient,
# `detach()` where a tensor is needed on both sides.
#
# ### Your turn: td_loss
# The example above was reinforcement learning in disguise. A program is in a *state*, chooses an *action*, gets a
# *reward* and comes to a next state. `state @ q` predicts for each action how much reward there will be from now on.
# The prediction for the action that was taken should be near to the reward plus `gamma` times the best prediction for
# the next state. That sum is the *target*. If the program ended with this step, there is no next state, and the target
# is the reward alone.
#
# The predictions of the target come from a second tensor, `target_q`: an older copy of `q`, called a target network.
# Some programs pass `q` itself in its place. The target is a constant in either case.


# %% given
def make_steps(n, d, actions, dtype=torch.float32, seed=0):
    """n steps of a program with states of d numbers."""
    numbers = torch.randn(n, 2 * d + 1, generator=torch.Generator(here).manual_seed(seed), dtype=dtype)
    return {
        "state": numbers[:, :d],
        "action": torch.arange(n) * 2 % actions,  # int64 (n,)
        "reward": numbers[:, -1],
        "next_state": numbers[:, d : 2 * d],
        "done": torch.arange(n) % 3 == 1,  # bool (n,): the program ended with this step
    }


# %% given
hint(
    "Write down the shapes of state @ q, of the prediction for the action taken, and of the target. The last two must "
    "be equal. Which indexing takes one element from each row?",
    "Which part must be inside no_grad, or detached? And what is 0 * nan? torch.where chooses without computing with "
    "what it leaves out.",
)

# %% exercise: td_loss points=4

# %% [markdown]
# If `target_q` is another tensor, a forgotten stop looks harmless: an optimizer for `q` alone never changes `target_q`.
# Only its `.grad` fills up. With `target_q` being `q`, the same line of code learns something else, and no error says
# so. Where would you put the stop if you could not know what the caller passes?

# %% [markdown]
# ## Frozen parts
#
# A part of a model is *frozen* if training does not change it. The usual way is `requires_grad=False` for its
# parameters. `module.requires_grad_(False)` sets it for all parameters of a module.
#
# Two predictions. First: a model of three parts, where the middle one is frozen. Do the parameters of the first part
# get a gradient? Second: nothing is frozen, and the *input* does not require grad. Is the forward pass recorded?

# %% example
middle_frozen = make_layers(3, 4)
middle_frozen[2].requires_grad_(False)
x = torch.linspace(-1, 1, 8).reshape(2, 4)
middle_frozen(x).sum().backward()
for name, parameter in middle_frozen.named_parameters():
    print(f"{name:9} requires_grad {parameter.requires_grad!s:5}  gradient {parameter.grad is not None}")

print("input: requires_grad", x.requires_grad, "  result: requires_grad", make_layers(3, 4)(x).requires_grad)

# %% [markdown]
# The first part got its gradient, through the frozen one. `requires_grad=False` on a parameter means that no gradient
# is computed *for it*. What goes through the operation to its other input is not touched. So you can train what comes
# before a frozen part. With `no_grad` around the middle part you could not: it cuts the way.
#
# And the second: you may read that `x.requires_grad = False` does the same as `no_grad`. It does not. The parameters
# still require grad, so everything is recorded. Besides, that flag can be set for leaves only: on the result of a
# recorded operation PyTorch raises an error.
#
# | | the way through is open | parameters of the part get gradients | the part's own graph is kept |
# |---|---|---|---|
# | nothing | yes | yes | yes |
# | `requires_grad_(False)` for the part | yes | no | only what the way through needs |
# | `no_grad` around the part | no | no | no |
# | `detach()` of the part's result | no | no | until the result is detached |
#
# None of the four keeps a batch normalisation in training mode from moving its running averages. `eval()` does.
#
# ### Your turn: saliency
# Which pixels made the model say "cat"? One answer is the gradient of the score of "cat" by the input, called a
# *saliency map*. The gradient flows through the whole model, and the model must not notice: perhaps somebody is in the
# middle of collecting gradients for a training step. Some of its parameters may be frozen.


# %% given
class Tripled(nn.Module):
    """Triples its input in training mode, and only then: some layers behave differently in the two modes."""

    def forward(self, x):
        return 3 * x if self.training else x


def make_scorer(layers):
    """A Linear for each (weight, bias), with Tanh between them, and Tripled at the end."""
    parts = []
    for weight, bias in layers:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            linear = nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": bias})
        parts += [linear, nn.Tanh()]
    return nn.Sequential(*parts[:-1], Tripled())


@probes.probe
def looked_at(saliency, layers, x, classes, learning=None, gradients=None, modes=None):
    """What saliency returns for a scorer, and what it leaves behind there.

    learning, gradients: requires_grad and .grad of each parameter before. modes: the training flag of each module, by
    default False.
    """
    model = make_scorer(layers)
    for n, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(learning is None or learning[n])
        parameter.grad = None if gradients is None or gradients[n] is None else gradients[n].clone()
    for n, module in enumerate(model.modules()):
        module.training = modes is not None and modes[n]
    result = saliency(model, x, classes)
    return {
        "result": result,
        "gradients": [parameter.grad for parameter in model.parameters()],
        "learning": [parameter.requires_grad for parameter in model.parameters()],
        "weights": [parameter.detach() for parameter in model.parameters()],
        "modes": [module.training for module in model.modules()],
    }


# %% given
hint(
    "Which of the two functions that run a backward pass writes to no .grad? What must be a leaf that requires grad?",
    "The scores are (n, classes). Take one from each row, and add them up: a sample's score depends on no other sample "
    "here, so the gradient of the sum holds each sample's own gradient in its row.",
)

# %% exercise: saliency points=2

# %% [markdown]
# `torch.autograd.grad(scores.sum(), leaf)` walks only along the ways that lead to `leaf`. It computes no gradient for a
# weight, and writes none. `backward()` would have computed them all. The docstring says that no row of the scores
# depends on another row. Which layer, in which mode, breaks that?
#
# The next cell trains a small model on images of handwritten digits, 8 by 8 pixels, and asks your function for the maps
# of three of them. Where would more ink make the model surer of a 0?

# %% example
digits = load_digits()
pixels, kinds = torch.tensor(digits.images / 16, dtype=torch.float32), torch.tensor(digits.target)
torch.manual_seed(0)
reader = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
adam = torch.optim.Adam(reader.parameters(), lr=0.01)
for _ in range(100):
    adam.zero_grad()
    nn.functional.cross_entropy(reader(pixels.flatten(1)), kinds).backward()
    adam.step()
maps = {}
try:
    for picture, ink in zip(saliency(reader, pixels[:3].flatten(1), kinds[:3]), ("a 0", "a 1", "a 2"), strict=True):
        maps[ink] = picture.reshape(8, 8)
except NotImplementedError:
    print("saliency is not written yet.")
show_saliency(dict(zip(maps, pixels, strict=False)), maps)

# %% [markdown]
# ## `eval()` and `no_grad()`
#
# Two switches that are often taken for one. `model.eval()` is about layers: it sets `training` to False on every module
# in the model, and some layers look at that. Dropout and BatchNorm are the best known. In training mode, Dropout sets
# some elements to zero at random, and BatchNorm uses the mean and variance of the batch, and updates a running mean and
# variance. In evaluation mode, Dropout passes its input on, and BatchNorm uses the running values. `no_grad` is about
# autograd.
#
# So what does `no_grad` alone do to the two layers? And what does `eval()` alone do to recording?

# %% example
torch.manual_seed(0)
norm, dropout = nn.BatchNorm1d(2), nn.Dropout(0.5)
ones = torch.ones(1000)
shifted_batch = torch.tensor([[10.0, 1.0], [12.0, 3.0]])

with torch.no_grad():
    print("no_grad: zeros from Dropout", (dropout(ones) == 0).float().mean().item())
    norm(shifted_batch)
    print("no_grad: running mean      ", norm.running_mean.tolist())

norm.eval()
print("eval   : result requires grad", norm(shifted_batch).requires_grad)

# %% [markdown]
# Under `no_grad` half of the elements are gone, and one look at a batch has moved the running mean. That is a
# measurement that changes what it measures. And `eval()` records like before. To evaluate a model you want both: `eval`
# for the right numbers, `no_grad` for the memory.
#
# Afterwards comes the part that is forgotten. Training goes on, and the model should be in the mode that it was in. Is
# `model.train()` the way back? Look at the flags of a model whose BatchNorm somebody has put into evaluation mode on
# purpose, as is often done for pretrained parts.

# %% example
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))
model[1].eval()
print("before ", {name: module.training for name, module in model.named_modules()})
was = model.training
model.eval()
model.train(was)
print("after  ", {name: module.training for name, module in model.named_modules()})

# %% [markdown]
# `train(was)` sets one flag on *every* module. The BatchNorm is in training mode now, and will change its running
# values in the next step. Nobody will be told.
#
# ### Your turn: predict
# Write a prediction that leaves no trace.


# %% given
class Asks(nn.Module):
    """Asks f(x, whether it is in training mode)."""

    def __init__(self, f):
        super().__init__()
        self.f = lambda *inputs: f(*inputs)

    def forward(self, x):
        return self.f(x, self.training)


def make_state(width, seed=2):
    """Weights and running values of a classifier, by name."""
    numbers = torch.randn(9, width, generator=torch.Generator(here).manual_seed(seed))
    return {
        "0.0.weight": numbers[:3].T,
        "0.0.bias": numbers[3],
        "0.1.weight": numbers[4],
        "0.1.bias": numbers[5],
        "0.1.running_mean": numbers[6],
        "0.1.running_var": numbers[7].square() + 0.5,
        "0.1.num_batches_tracked": torch.tensor(width),
        "1.1.weight": numbers[7:],
        "1.1.bias": numbers[8, :2],
    }


def make_classifier(state, f):
    """A body and a head, with one dropout layer that is a part of both, and f at the end."""
    width = len(state["0.0.bias"])
    dropout = nn.Dropout(0.5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Tanh(), dropout)
        head = nn.Sequential(dropout, nn.Linear(width, 2))
    model = nn.Sequential(body, head, Asks(f))
    model.load_state_dict(state)
    return model


def marked(x, training):
    """x, with 100 added in training mode and 1000 if operations are recorded."""
    return x + 100 * training + 1000 * torch.is_grad_enabled()


@probes.probe
def predicted(predict, state, f, x, modes, learning):
    """What predict returns for a classifier, and how it leaves the classifier behind.

    modes: the training flag of each module before. learning: requires_grad of each parameter. Each .grad holds ones.
    """
    model = make_classifier(state, f)
    for module, training in zip(model.modules(), modes, strict=True):
        module.training = training
    for parameter, flag in zip(model.parameters(), learning, strict=True):
        parameter.requires_grad_(flag)
        parameter.grad = torch.ones_like(parameter)
    result = raised = None
    try:
        result = predict(model, x)
    except ArithmeticError as error:  # f may raise one
        raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "modes": [module.training for module in model.modules()],
        "state": probes.state_of(model),
        "gradients": [parameter.grad for parameter in model.parameters()],
        "learning": [parameter.requires_grad for parameter in model.parameters()],
        "recording": torch.is_grad_enabled(),
    }


@probes.probe
def handed_back(predict, x):
    """What predict returns for a model that returns its input."""
    return predict(nn.Identity(), x)


class Fixed(nn.Module):
    """Returns its parameter, whatever the input is."""

    def __init__(self, values):
        super().__init__()
        self.values = nn.Parameter(values)

    def forward(self, x):
        return self.values


@probes.probe
def parameter_back(predict, values):
    """What predict returns for a model that returns its parameter, and the parameter's requires_grad afterwards."""
    model = Fixed(values.clone())
    result = predict(model, torch.zeros(2))
    return {"result": result.clone(), "result learns": result.requires_grad, "learning": model.values.requires_grad}


# %% given
hint(
    "Which modules does model.modules() give you? What do you have to remember about each of them?",
    "What happens to your last lines if the model raises an error? try ... finally runs them in any case. And "
    "module.train(flag) sets the flag of everything inside the module too. Is there a way to set just one?",
)

# %% exercise: predict points=4

# %% [markdown]
# Lab 6 uses this for validation in a training loop. There the mistake costs most: validation runs after each epoch, so
# the modes go wrong after the first one, and the losses look a little strange from then on.
#
# `module.training = flag` sets one flag, and `module.train(flag)` sets it for everything inside too. With `train` you
# would have to go from the outside to the inside. Even that is not enough here: which module has two parents, and whose
# flag would it get?

# %% [markdown]
# ## Inference mode
#
# `torch.inference_mode()` is stricter than `no_grad`. What is made inside is an *inference tensor*. It has no version
# counter, and it takes a little less work to make. `t.is_inference()` tells. You may read that such a tensor can never
# take part in a computation with `backward`. The next cell tries six things with one.

# %% predict: refused_inference
# **Predict.** `y` is an inference tensor, `w` requires grad. Outside the block, which lines raise an error?
#
# - [ ] `(y + w).sum().backward()`
# - [x] `(y * w).sum().backward()`
# - [x] `(y.detach() * w).sum().backward()`
# - [ ] `(y.clone() * w).sum().backward()`
# - [x] `y.add_(1)`

# %% given
w = torch.tensor([0.5, -1.0], requires_grad=True)
with torch.inference_mode():
    y = torch.tensor([1.0, 2.0]) * 3
    with torch.enable_grad():
        print("enable_grad inside:           (w * 2).requires_grad is", (w * 2).requires_grad)
    with torch.inference_mode(False):
        print("inference_mode(False) inside: (w * 2).requires_grad is", (w * 2).requires_grad)

trials = {
    "(y + w).sum().backward()": lambda: (y + w).sum().backward(),
    "(y * w).sum().backward()": lambda: (y * w).sum().backward(),
    "(y.detach() * w).sum().backward()": lambda: (y.detach() * w).sum().backward(),
    "(y.clone() * w).sum().backward()": lambda: (y.clone() * w).sum().backward(),
    "y.requires_grad_()": lambda: y.requires_grad_(),
    "y.add_(1)": lambda: y.add_(1),
}
for text, run in trials.items():
    try:
        run()
        print(f"{text:34} works")
    except RuntimeError as error:
        print(f"{text:34} RuntimeError: {str(error)[:47]} ...")

# %% [markdown]
# The first works. An addition keeps nothing for `backward`, so the inference tensor may take part. A multiplication has
# to *save* `y`, for the gradient of `w`. That is refused, because nobody could notice if `y` were changed in between.
# `detach()` does not help: it is a second inference tensor over the same memory. `clone()`, called outside, gives a
# normal tensor. The last two change `y` itself, its flag or its values. Outside the block, both are refused.
#
# And `enable_grad` had no effect inside. That is the second difference. The way back is `with
# torch.inference_mode(False):`. In that block operations are recorded again, and new tensors are normal ones. What was
# made before it stays an inference tensor.
#
# Use `inference_mode` for results that leave the program, and `no_grad` for those that may come back into training. The
# difference in time is small: on one CPU thread of our machine, the three models from the first section ran within 2 %
# of their time with `no_grad`.
#
# ### Your turn: cached_features
# An expensive encoder is frozen, and a small head is trained on its results for many epochs. So the results, called
# *features*, are computed once and kept. The encoder's parameters still require grad.

# %% given
encoder_weight = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()


def encode(x):
    """(n, 3) -> (n, 4)."""
    return (x @ encoder_weight).tanh()


@probes.probe
def head_trained(cached_features, encoder, batches, head):
    """Features by cached_features, and the gradient of a head that is trained on them."""
    features = cached_features(encoder, batches)
    kept = features.detach().clone()
    head = head.clone().requires_grad_()
    (features @ head).square().sum().backward()
    return {"features": kept, "requires_grad": features.requires_grad, "gradient": head.grad}


@probes.probe
def normalized(cached_features, encoder, batches):
    """Features by cached_features, then shifted in place, as somebody does who wants the mean to be 0."""
    features = cached_features(encoder, batches)
    features -= features.mean(0)
    return features.clone()


@probes.probe
def made_trainable(cached_features, encoder, batches):
    """The gradient of the features themselves, marked after they were made."""
    features = cached_features(encoder, batches).requires_grad_()
    (features**3).sum().backward()
    return features.grad


# %% given
hint(
    "Which switch fits: is the result used in training later?",
    "If you choose inference_mode: where must the copy be made, inside the block or outside?",
)

# %% exercise: cached_features points=2

# %% [markdown]
# The error about inference tensors comes up far from its cause: in the training loop, while the mistake was made where
# the features were computed. If you meet it, look for the place where the tensor was *made*.

# %% [markdown]
# ## A good place to stop
#
# Behind you: recording, stops, frozen parts, and two switches that are often taken for one. Next you go through a graph
# twice, cut a long history, and differentiate a gradient. After a break, Python has forgotten everything. Choose
# *Run > Run All Above Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Through a graph twice
#
# What a node keeps is freed while `backward` goes through it. A second `backward` over the same graph finds nothing
# there.

# %% predict: second_pass
# **Predict.** `y.backward()` runs twice on one graph. For which `y` does the second call raise an error?
#
# - [x] only `y = x**2`
# - [ ] only `y = x + 1`
# - [ ] both of them
# - [ ] neither: only the first pass frees something

# %% example
for text, make in {
    "x**2": lambda x: x**2,
    "x + 1": lambda x: x + 1,
    "exp(x), retain_graph=True": lambda x: x.exp(),
}.items():
    x = torch.tensor(1.0, requires_grad=True)
    y = make(x)
    y.backward(retain_graph="retain" in text)
    try:
        y.backward()
        print(f"{text:26} two passes, gradient {x.grad.item():.4f}")
    except RuntimeError as error:
        print(f"{text:26} RuntimeError: {str(error)[:47]} ...")

# %% [markdown]
# Only the first. `x + 1` keeps nothing, so there is nothing that could be missing. "The graph is freed" is a short way
# to say it: the nodes live on as long as something holds them. What they kept is gone.
#
# Where a second pass works, it adds. With `retain_graph=True`, the gradient of $x^3$ at 2 is 12, and then 24.
#
# `retain_graph=True` leaves it there. What does that cost? You may read that it doubles the memory of a backward pass.
# The next picture shows what the eight layers from above hold for `backward`. A step is one
# Linear or one Tanh, so there are 16 on the way forward and 16 on the way back. Draw the curve first, for a usual
# `backward`. Then draw the one with `retain_graph=True`.
# Buttons above the picture bring one of the four ways forward.

# %% example
show_kept(layers, batch)

# %% [markdown]
# The usual curve is a hill: each Tanh adds its result on the way up, and gives it back on the way down. With
# `retain_graph=True` the way up is the same, and so is the top. Nothing is doubled. But there is no way down. What was
# kept stays until the graph itself goes, and that is when the last tensor that leads to it goes. With `no_grad` there
# is no hill. With `detach()` at the end there is the whole hill, and then a cliff.
#
# Other layers keep other things. What does a model without Tanh keep, or one with ReLU?

# %% scratch
show_kept(nn.Sequential(layers[0], nn.ReLU(), layers[2], layers[4], nn.Dropout(0.5)), batch)

# %% [markdown]
# Two losses from one forward pass are the usual reason to ask for `retain_graph=True`. Is it needed there? The next
# cell has three ways. Do they agree?

# %% example
for way in ("sum", "both in one call", "one by one"):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shared = x.exp()
    first_loss, second_loss = shared.sum(), shared.square().sum()
    if way == "sum":
        (first_loss + second_loss).backward()
    elif way == "both in one call":
        torch.autograd.backward([first_loss, second_loss])
    else:
        first_loss.backward(retain_graph=True)
        second_loss.backward()
    print(f"{way:17} {x.grad.tolist()}")

# %% [markdown]
# All three agree. You need `retain_graph=True` only if you want the passes apart, and then for all but the last one.
#
# ### A long history
#
# A recurrent network reads a sequence step by step. Each step makes a new *state* from the old one and an input:
# `h = cell(w, h, x)`. The state after a thousand steps has a graph of a thousand steps behind it. To train on long
# sequences, one cuts them into *windows* of `k` steps. The state goes on from window to window, and each window has its
# own `backward`. This is *truncated backpropagation through time*.
#
# Here are two windows of three steps. What will happen in the second?


# %% example
def cell(w, h, x):
    return torch.tanh(w * h + x)


w = torch.tensor(0.7, requires_grad=True)
h = torch.tensor(0.0)
try:
    for window in ([1.0, -0.5, 0.3], [0.8, 0.1, -1.0]):
        for x in window:
            h = cell(w, h, x)
        (h**2).backward()
        print("window done, gradient so far", round(w.grad.item(), 4))
except RuntimeError as error:
    print("RuntimeError:", str(error)[:48], "...")

# %% [markdown]
# The message goes on: "Specify retain_graph=True if you need to backward through the graph a second time". Many follow
# this advice. Before you do: which graph is meant here, and what will the tenth window's `backward` walk through?

# %% example
w = torch.tensor(0.7, requires_grad=True)
h = torch.tensor(0.0)
visited: list[Tensor] = []
for number in range(1, 11):
    visited.clear()
    for x in (1.0, -0.5, 0.3):
        h = cell(w, h, x)
        h.register_hook(visited.append)  # called when a gradient comes to this state
    (h**2).backward(retain_graph=True)
    if number in (1, 2, 5, 10):
        print(f"window {number:2}: backward visits {len(visited)} states")

# %% [markdown]
# The state still leads into the windows before. With `retain_graph=True` each `backward` goes through *all* of them,
# and all that they keep stays in memory. The error was right, and its advice was wrong here: not the graph of this
# window was missing, but that of an earlier one, which you never wanted to visit again. In a real program the optimizer
# has changed the weights in between, and this second visit would raise an error of its own.
#
# ### Your turn: window_gradients
# Cut between the windows. Keep the value of the state, and drop its history. At each moment, only the graph of one
# window should be in memory.


# %% given
# Cells to try your solution on. The checks use them too. The state h and the input x are (d,), the weights w (d, d).
def tanh_cell(w, h, x):
    return torch.tanh(w @ h + x)


def leaky_cell(w, h, x):
    """Forgets a part of its state in each step."""
    return 0.75 * h + 0.25 * torch.sin(w @ h) + x


@probes.probe
def continued(window_gradients, cell, w, inputs, targets, k):
    """window_gradients from a first state that was itself computed from w, by one step."""
    h = cell(w, torch.ones_like(w[0]), inputs[0])
    return window_gradients(cell, w, h, inputs[1:], targets[1:], k)


# %% given
hint(
    "Where does the graph of a window begin? What must h be there?",
    "Add up the losses of one window, get the gradient, add it to the total, and cut. How many steps has the last "
    "window if the length of the sequence is no multiple of k?",
)

# %% exercise: window_gradients points=4

# %% [markdown]
# What is lost by the cut? A weight can matter for something that happens many steps later. Within a window the gradient
# knows about it. Across a cut it does not. The value still goes across, so the network can use old information. It only
# gets no credit for it. How would you choose `k`?

# %% [markdown]
# ## Gradients of gradients
#
# A backward pass is a computation too. Can it be recorded? Yes: with `create_graph=True`. Then the gradient has a graph
# behind it, and can be differentiated like any other tensor.
#
# The next cell asks for the derivative of $x^3$ at 2, which is 12, in three ways.

# %% predict: second_derivative
# **Predict.** With which options can you go on from the first derivative to the second, also 12?
#
# - [ ] without any
# - [ ] with `retain_graph=True`
# - [x] with `create_graph=True`
# - [ ] with either of the two


# %% example
def derivatives(text, **options):
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, **options)
    if first.requires_grad:
        (second,) = torch.autograd.grad(first, x)
        print(f"{text:18} first {first.item()}  second {second.item()}")
    else:
        print(f"{text:18} first {first.item()}  does not require grad")


derivatives("")
derivatives("retain_graph=True", retain_graph=True)
derivatives("create_graph=True", create_graph=True)

# %% [markdown]
# `retain_graph=True` is not enough. It keeps the graph of the forward pass, so you may walk through it again. It does
# not record the walk. `create_graph=True` records it, and keeps the old graph as well, since the new one leads into it.
#
# Use `torch.autograd.grad` for this. `y.backward(create_graph=True)` works too, and warns: the graph of `x.grad` leads
# to `x`, and `x` holds `x.grad`. This circle is in C++, out of sight of Python's garbage collector. So neither is ever
# freed, unless you break the circle with `x.grad = None`.
#
# Here is the graph of the gradient of $x^3$. You will find the multiplication by the exponent, and the power that is
# one lower.

# %% example
x = torch.tensor(2.0, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
show_graph(slope, {"x": x})

# %% [markdown]
# The matrix of all second derivatives of a function from `n` numbers to one is the *Hessian*. For a million parameters
# it has a trillion entries, which take 4 TB in float32. But you can have its product with a vector `v`, called a
# *Hessian-vector product*. It says how the gradient changes when you take a small step along `v`.
#
# How? The gradient `g` is a function of `x` with `n` outputs, and its Jacobian is the Hessian. From lab 3 you know what
# one backward pass through such a function gives.
#
# ### Your turn: hvp
# Write it. Two passes, whatever `n` is.


# %% given
# Functions to try your solution on. The checks use them too.
def cubes(x):
    """Each element for itself: the Hessian is diagonal."""
    return (x**3).sum()


def chained(x):
    """Neighbours are multiplied: the Hessian has entries beside the diagonal."""
    return (x[1:] * x[:-1] ** 2).sum() + x.sin().sum()


def plane(x):
    """Linear: the Hessian is zero."""
    return (3 * x).sum() - 1


def valley(x):
    """The function of Rosenbrock, in which gradient descent is slow."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def ripples(x):
    """Swings so fast that every step is too large. 2**24 * x is exact."""
    return (x * 2**24).sin().sum() / 2**48 + 2 * x.sin().sum()


@probes.probe
def product_with(hvp, f, x, v, factor):
    """hvp with v, or, if that is None, with factor * x."""
    return hvp(f, x, factor * x if v is None else v)


# %% given
hint(
    "Which option makes the first gradient a tensor that can be differentiated? Which argument of the second call "
    "takes v?",
    "Is v a constant, if the caller passes something that was computed from x? And what is the graph of the gradient "
    "of a linear function?",
)

# %% exercise: hvp points=4

# %% [markdown]
# With `grad_outputs=v` you asked for `v @ H`, and the Hessian is symmetric. The other common form takes the sum of
# `g * v` and differentiates that. Where would `v` have to be detached there, and why? What is left of `v` in your form?

# %% [markdown]
# ## A loss that holds a gradient
#
# Sometimes the gradient is itself what one wants to train. Take a *critic*: a model that gives a score to each sample.
# Its scores should not jump: a small change of the sample should change the score by about as much. So one takes the
# gradient of the score by the *sample*, and wants its norm, the root of the sum of its squares, to be 1. The *gradient
# penalty* is the mean of $(\text{norm} - 1)^2$ over the samples. It is added to the critic's loss. It is measured at
# points between a real sample and a made one, a fake: `mix * real + (1 - mix) * fake`, with one number `mix` for each
# sample.
#
# The penalty is a function of the critic's weights, and training differentiates it by them. In the next cell, it is
# computed twice for a critic with two weights. What is the difference, and who will notice it?

# %% example
for create in (False, True):
    w = torch.tensor([[3.0], [4.0]], requires_grad=True)
    point = torch.tensor([[0.1, 0.2]], requires_grad=True)
    (slopes,) = torch.autograd.grad((point @ w).tanh().sum(), point, create_graph=create)
    penalty = (slopes.norm() - 1) ** 2
    loss = (torch.tensor([[0.3, -0.1]]) @ w).tanh().sum() + penalty
    (gradient,) = torch.autograd.grad(loss, w)
    print(f"create_graph {create!s:5}  loss {loss.item():.4f}  gradient {gradient.flatten().tolist()}")

# %% [markdown]
# The losses are equal. Both lines run, and both give a gradient. Without `create_graph=True` the penalty is a constant:
# it is in the number that you print, and does nothing. The training curve shows a loss with a penalty that nobody is
# working on. You will meet this kind of mistake again: a term of the loss that does not lead back to the weights.
#
# ### Your turn: gradient_penalty
# Write the penalty. A sample's norm is taken over all of its own numbers. And one detail for good engineers: what is
# the slope of a square root at 0?


# %% given
# Critics to try your solution on. The checks use them too. They take weights (d, m) and samples (n, d) or (n, ..., d).
def smooth_critic(w, x):
    """(n, d) -> (n,)."""
    return (x @ w).tanh().sum(-1)


def relu_critic(w, x):
    """(n, d) -> (n,). Where no element is positive, the score does not change with the sample."""
    return (x @ w).relu().square().sum(-1)


def image_critic(w, x):
    """(n, ..., d) -> (n,): samples with two axes or more."""
    return (x @ w).sin().sum(-1).square().flatten(1).sum(-1)


# %% given
hint(
    "Write down the shapes: the points, the scores, the gradient of their sum by the points, the norms. What shape "
    "must mix have, so that each sample gets its own number?",
    "torch.linalg.vector_norm has the gradient 0 at 0. The root of a sum of squares has a gradient there that is no "
    "number.",
)

# %% exercise: gradient_penalty points=4

# %% [markdown]
# Why is one backward pass of the *sum* of the scores enough for all samples? Each score depends on its own sample only,
# so no sample gets a gradient from another one's score. A critic with BatchNorm in training mode would break that. It
# is the same condition as in `saliency`.

# %% quiz: interview points=3
# ## Interview questions
#
# **What does `d = t.detach()` do?** (`t` is the result of a recorded operation.)
# - [x] `d` shares its memory with `t`.
#   > `detach()` makes no copy. It gives a second tensor over the same memory.
# - [ ] `d` keeps its values when `t` is changed in place afterwards.
#   > The list of detached tensors showed three times where `w` was in the end. A snapshot needs `clone()`.
# - [x] `t` still leads back to the tensors that it was computed from.
#   > The stop is in `d` alone. The graph behind `t` is as it was, and `t.backward()` still works.
# - [x] `d` is a leaf that does not require grad.
#   > It has no `grad_fn`, and what requires no grad is a leaf by convention.
# - [ ] What the graph behind `t` keeps for `backward` is freed by the call.
#   > `t` still holds its graph. Only a backward pass, or the end of the last tensor that leads there, frees what is
#   > kept.
#
# Hint: What did the list of detached tensors show after three steps?
#
# **`eval()` and `no_grad()`**
# - [ ] In evaluation mode, no operation is recorded.
#   > `eval()` is about layers. The result of `norm.eval()` still required grad.
# - [x] In evaluation mode, Dropout passes its input on unchanged.
#   > Dropout looks at `training`. Only in training mode does it set elements to zero.
# - [x] Under `no_grad`, a BatchNorm in training mode updates its running values.
#   > `no_grad` is about recording, and BatchNorm looks at `training` alone. One look at a batch moved the running mean
#   > in the lab.
# - [ ] `model.train(model.training)` changes nothing in any model.
#   > It sets one flag on every module. A BatchNorm that was in evaluation mode on purpose is in training mode
#   > afterwards.
# - [x] For validation one usually wants both.
#   > `eval` for the right numbers, `no_grad` for the memory. Neither does the other's work.
#
# Hint: What did model.train(was) do to a BatchNorm in evaluation mode?
#
# **`no_grad` and `inference_mode`**
# - [x] An inference tensor may take part in a recorded addition.
#   > An addition keeps nothing for `backward`, so nothing of the inference tensor has to be saved.
# - [x] Saving an inference tensor for `backward` raises an error.
#   > It has no version counter, so nobody could notice a change before `backward`. `y * w` was refused for that reason.
# - [ ] `clone()`, called inside the block, gives a normal tensor.
#   > What is made inside the block is an inference tensor, a clone too. Call `clone()` outside.
# - [x] `enable_grad` switches recording on inside `no_grad`.
#   > `switched_on` required grad, in the middle of a `no_grad` block.
# - [ ] `enable_grad` switches recording on inside `inference_mode`.
#   > There it has no effect: `(w * 2).requires_grad` was False. `torch.inference_mode(False)` is the way back.
#
# Hint: Which of the six things with an inference tensor worked?
#
# **Memory**
# - [ ] A loop that evaluates without `no_grad` holds more memory with each batch, even if no result is kept.
#   > Each graph is freed when the name gets its next value. `keep_the_last` held two graphs with 2, 8 and 16 batches
#   > alike.
# - [x] `history.append(loss)` keeps the graph of each step alive.
#   > Without a backward pass the loss leads to its whole graph with all that it keeps; after one, only the nodes are
#   > left. `keep_losses` grew by 256 KiB with each batch.
# - [ ] `history.append(loss.detach())` keeps the graph of each step alive.
#   > A detached loss leads nowhere. `keep_detached` stayed at one graph.
# - [ ] `retain_graph=True` doubles the most memory that is held during `backward`.
#   > The top of the hill is the same. It only leaves out the way down.
# - [x] After `backward(retain_graph=True)`, what was kept stays until nothing leads to the graph any more.
#   > `backward` does not free it then. It goes with the last tensor that leads to the graph.
#
# Hint: What does a name hold alive? Look at the picture of the hill again.
#
# **Two passes**
# - [ ] A second `backward` over the same graph always raises an error.
#   > It fails where something that was kept is missing. `x + 1` keeps nothing, and two passes worked.
# - [ ] Two losses with a common part always need `retain_graph=True`.
#   > Their sum, or both in one call of `torch.autograd.backward`, needs only one pass. All three ways gave the same
#   > gradient.
# - [ ] With `retain_graph=True`, the gradient that comes out can be differentiated.
#   > It keeps the forward graph and does not record the walk through it. The gradient did not require grad.
# - [x] With `create_graph=True`, the gradient that comes out can have a `grad_fn`.
#   > The backward pass is recorded too. It "can" have one, since the gradient of a linear function depends on nothing.
# - [x] Two backward passes are enough for a Hessian-vector product, whatever the size of the Hessian.
#   > One pass gives the gradient, with a graph. The second one is the vector-Jacobian product of that gradient, and no
#   > Hessian is built.
#
# Hint: What does x + 1 keep? What does each of the two options record?
#
# **Stops and frozen parts**
# - [ ] If the last layer is frozen, the first layer gets no gradient.
#   > Frozen means that no gradient is computed for its own parameters. The way through stays open, as in the model with
#   > the frozen middle.
# - [x] Through a part that runs inside `no_grad`, no gradient gets to what comes before it.
#   > Nothing is recorded there, so the way back ends. That is the difference from `requires_grad_(False)`.
# - [ ] `x.requires_grad = False` for the input of a model keeps the forward pass from being recorded.
#   > The parameters still require grad, so everything is recorded. The result in the lab required grad although its
#   > input did not.
# - [x] In `td_loss`, a forgotten stop changes the gradient for `q` if `target_q` is `q`.
#   > The target is then computed from `q` itself, and a second gradient flows through it. In the small example that
#   > turned the sign of the whole gradient.
# - [ ] `torch.no_grad()` on a line of its own switches recording off for the lines below it.
#   > It makes an object that could be used by `with`, and drops it. `after_a_call` was recorded.
#
# Hint: Read the table of frozen parts again, row by row.

# %% [markdown]
# Were there statements that you believed a while ago? Write them down. They are what to explain to the next person.

# %% [markdown]
# ## Asked in interviews
#
# Answer each aloud before you open the text.
#
# **What does `detach()` do?**
#
# <details><summary>A good answer</summary>
#
# `t.detach()` gives a second tensor without history. It has no `grad_fn` and does not require grad, so no gradient goes
# through it. `t` itself keeps its graph, and `t.backward()` still works. I use it where I want a value and not its
# gradient: for a target in a loss, or for losses that I collect. There are two traps. First, it is no copy. Both
# tensors share their memory, so a later change in place shows in both, and a snapshot needs `detach().clone()`. Second,
# the call frees nothing. As long as `t` lives, it holds its graph with all that is kept there. To record nothing in the
# first place, I use `no_grad`.
#
# </details>
#
# **When do you use `no_grad`, and when `inference_mode`?**
#
# <details><summary>A good answer</summary>
#
# Both switch recording off, so nothing is kept for `backward`. What `no_grad` gives are normal tensors. They may take
# part in a later graph, as constants. `inference_mode` is stricter: its tensors have no version counter. So PyTorch
# refuses to save them for `backward`, and outside the block they cannot be changed in place. The trap is to say that
# they can never take part in a recorded computation. Adding one works, since an addition saves nothing. Multiplying one
# with a weight raises an error, and a `clone()` made outside the block helps. I use `inference_mode` for results that
# leave the program, and `no_grad` for those that may come back into training. The difference in time is small.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a recurrent network on a sequence of 10,000 steps, in windows of 20. The second window raised
# "Trying to backward through the graph a second time", and the colleague wrote `retain_graph=True`, as the message
# says. Now it runs, but each window is slower than the one before, and after a while the memory is full.
#
# In four to eight sentences: what happens here, and why does it get slower? What would you change, and what does the
# network lose by your change? When is `retain_graph=True` the right thing?

# %% question: why_retain_graph [markdown] points=2
# ### BEGIN SOLUTION
# The state of a window is computed from the last state of the window before, so its graph leads back into all earlier
# windows. What the nodes of the first window kept was freed by its own `backward`, and the second `backward` walked
# into them: hence the error. With `retain_graph=True` nothing is freed. Each `backward` now goes through all windows up
# to the first, so window number m costs about m times as much as the first, and all that the nodes keep stays in
# memory. The gradients of the early steps are also added again and again. I would detach the state at each border
# between two windows: its value goes on, and its history ends. Then every window costs the same. The network loses the
# gradient across the border: it cannot learn from a loss that something more than a window ago should have been
# different, though the state still carries information over. `retain_graph=True` is right if one really wants to go
# through the *same* graph again, for instance to get the gradients of two losses with a common part one by one, and
# then for all passes but the last.
#
# For grading: one point for the cause (the graph leads into earlier windows, time and memory grow), one for detaching
# the state with its price, and for a proper use of `retain_graph=True`.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - `no_grad` switches recording off for operations. It does not change what a tensor is.
# - A stop-gradient does not change the loss that is printed. It changes what is learned.
# - A frozen parameter gets no gradient, and lets gradients through. `no_grad` lets none through.
# - `eval()` is about layers, `no_grad` about recording. Put back the mode of each module, not of the model.
# - A loss leads to its whole graph. Keep numbers or detached tensors.
# - Cut the state between windows. The advice in an error message is only about the line that raised it.
# - A penalty on a gradient does nothing unless the gradient was recorded.
#
# | call or rule | what it does or costs |
# |---|---|
# | `torch.no_grad()` | needs `with`, or `@`; keeps nothing for `backward` |
# | `torch.set_grad_enabled(False)` | switches as soon as it is called; use it with `with` |
# | `torch.enable_grad()` | switches recording on again inside `no_grad`, not inside `inference_mode` |
# | `torch.inference_mode(False)` | switches recording on again inside `inference_mode` |
# | `t.detach()` | stops the gradient at `t`, and shares its memory |
# | `t.detach().clone()` | a snapshot |
# | `module.requires_grad_(False)` | no gradient for its parameters, the way through stays open |
# | `model.eval()` | sets `training` to False on every module, and records like before |
# | `torch.inference_mode()` | its tensors cannot be saved for `backward`: clone them outside |
# | `retain_graph=True` | keeps what was kept, does not double the memory, records nothing |
# | `create_graph=True` | records the backward pass; with `backward()`, set `.grad` to `None` afterwards |
#
# Three questions to ask yourself:
#
# - Which tensors of the last step are still held, and to which graph do they lead?
# - Does each term of my loss lead back to the weights that it should train?
# - Which modes, flags and gradients does my function leave behind, also after an error?
#
# Lab 5 is about operations in place: what they change in the graph, and when autograd notices.
