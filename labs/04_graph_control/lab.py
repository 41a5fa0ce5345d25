# %% [markdown]
# # Controlling the graph
#
# You add Dropout and a validation loop to a training script. It now reports 82% where it used to report 88%, and its
# memory grows with every epoch. You fix the accuracy with one call to `eval()`, and from then on the model trains
# without Dropout, without an error or a warning. The first cell below is that script. To validate without side effects,
# you have to *control* the graph: to decide what autograd records, what it keeps, and what gets a gradient.
#
# After this lab, you'll be able to
#
# - explain what `no_grad`, `detach`, `inference_mode` and `eval()` do and don't do;
# - keep values from a training run without holding on to its memory;
# - stop a gradient in the middle of a loss;
# - compute predictions and leave the model exactly as it was;
# - train a new head on a frozen trunk;
# - train on a long sequence with a graph of bounded size.
#
# This lab builds on labs 2 and 3. Plan on two sittings of about 55 minutes, with a break at *A good place to stop*. The
# four exercises headed *Your turn* are the core, and later labs rely only on them. *Further practice* is optional and
# earns no points; each one says why you might do it. Also optional are *Inference mode*, *Asked in interviews*, and
# everything from *Gradients of gradients* to the quiz. All numbers were measured with PyTorch 2.13 on a CPU.
#
# When you see *Predict*, choose an answer before you run the next cell. A card below each exercise lists its checks;
# those marked *later* run when you press *Mark my work* or submit the lab. You don't have to read folded cells, or
# sections that you skip, but run their code: later cells use it. The last question is graded by hand.

# %% given
from time import perf_counter

import matplotlib.pyplot as plt
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
here = use_device()  # where new tensors are created: on the GPU if there is one

# %% [markdown]
# ## Validation with side effects
#
# Validation should measure a model without side effects, but here it measures wrong values and holds on to memory. This
# is lab 1's digits script, with validation after each epoch and a Dropout layer, which sets each output of the ReLU to
# zero with probability 0.5 in training mode, and doubles the others. At the end, `probes.saved_bytes` runs `validate`
# once more and counts the bytes that its graph holds for `backward`, without the input and the parameters. Run it.

# %% scratch
pixels = (torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8
digits = torch.tensor(load_digits().target)


def validate(network, x, y):
    # <- change 1
    # <- change 3: indent the next three lines below it
    scores = network(x)
    loss = nn.functional.cross_entropy(scores, y)
    return loss, (scores.argmax(dim=1) == y).float().mean()


torch.manual_seed(1)
network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
losses, with_dropout = [], 0
for _ in range(10):
    # <- change 2
    for rows in torch.arange(1500).split(100):
        with_dropout += network.training
        loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    loss, accuracy = validate(network, pixels[1500:], digits[1500:])
    losses.append(loss)  # for a plot

held = probes.saved_bytes(validate, network, pixels[1500:], digits[1500:])
print(f"right {accuracy:.0%}, loss {losses[-1].item():.2f}, {with_dropout} of 150 steps with dropout")
print(f"each of {len(losses)} losses in the list holds {held:,} bytes for a backward pass that never runs")

# %% [markdown]
# Lab 1's network, without Dropout, got 88% right. Make three changes in the cell above, one at a time, and rerun the
# cell after each.
#
# | | change | right | loss | steps with dropout | bytes held by each loss |
# |---|---|---|---|---|---|
# | | the script as it is | 82% | 0.61 | 150 | 239,980 |
# | 1 | `network.eval()`, as the first line of `validate` | 89% | 0.47 | 15 | 87,916 |
# | 2 | `network.train()`, as the first line of each epoch | 89% | 0.41 | 150 | 87,916 |
# | 3 | `with torch.no_grad():` in `validate`, around the three lines below it | 89% | 0.41 | 150 | 0 |
#
# At first, training was fine, and only the measurement was wrong: validation ran with about half of the ReLU outputs
# dropped. Change 1 fixes that, but now training continues without Dropout after the first epoch, so it's another
# network that gets 89%, and the accuracy doesn't show it. Until change 3, each loss in the list keeps its graph alive.
# `losses.append(loss.item())` would prevent that too, since a Python number has no graph.

# %% [markdown]
# ## Recording, off and on
#
# If recording is on where you believe that it's off, operations keep memory for a `backward` that never runs, and
# nothing tells you. Inside `with torch.no_grad():`, recording is off unless something turns it back on. Which of the
# seven tensors in the next cell require grad?

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

torch.set_grad_enabled(False)
after_a_switch = (w * x).sum()
torch.set_grad_enabled(True)


@torch.no_grad()
def weighted_sum():
    return (w * x).sum()


for text, tensor in {
    "inside": inside,
    "made_inside": made_inside,
    "switched_on": switched_on,
    "after_a_call": after_a_call,
    "after_a_switch": after_a_switch,
    "weighted_sum()": weighted_sum(),
    "w": w,
}.items():
    print(f"{text:15} requires_grad {tensor.requires_grad!s:5}  is_leaf {tensor.is_leaf}")

# %% [markdown]
# All but three: `inside`, `after_a_switch` and the result of `weighted_sum()`, since the decorator covers every call.
#
# - `made_inside` is a new leaf, and you set its `requires_grad` yourself. `no_grad` affects operations, not existing
#   tensors, so `w` is unchanged too.
# - `enable_grad` turns recording back on inside `no_grad`.
# - `torch.no_grad()` on its own line creates a context manager and discards it, without an error or a warning.
# - `torch.set_grad_enabled(False)` is the opposite trap: on its own line it *does* turn recording off, for everything
#   that follows. If a function does that and then fails, recording stays off for the caller. If the mode depends on a
#   flag, write `with torch.set_grad_enabled(flag):`.
#
# How much memory does `no_grad` save? The next cell counts the bytes held for `backward`. What will the second line
# show?


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
# When it's recorded, the pass holds eight results of 32,768 bytes each, one for each Tanh; with `no_grad`, it holds
# none. The arithmetic is the same, so don't expect much of a speedup. On one CPU thread, `no_grad` saved 6% of the time
# for this model, less than 1% for layers of width 512 with 256 samples, and 22% for twenty tiny layers of width 8 with
# 4 samples, where most of the work is bookkeeping.
#
# ### What stays
#
# If memory grows until a run fails, you have to find out what each step leaves in memory. The next cell runs the eight
# layers on 1, 2, 8 and 16 batches, with recording on. The three loops differ in how much of each loss they keep;
# `loss.detach()` is the loss without its graph.

# %% predict: growing_memory
# **Predict.** Which loop needs noticeably more memory for 16 batches than for 2?
#
# - [ ] the one that keeps only the last loss
# - [x] the one that keeps a list of the losses
# - [ ] the one that keeps a list of `loss.detach()`
# - [ ] all three, because they all record


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
# Only `keep_losses` grows noticeably: by another 256 KiB per batch, for the eight results in its graph. `keep_detached`
# grows by one number per batch. `keep_the_last`, which you might expect to leak, stays at two graphs, because `loss`
# still refers to the previous one while the next batch runs. That graph is freed when `loss` is reassigned. So what
# leaks isn't recording, but keeping a tensor that has a graph, like the losses in the digits script.
#
# ### Updates
#
# If you change a parameter by hand in the wrong way, it stops learning after one step. A gradient descent step is
# `w - lr * gradient`. Here are three ways to write it. Which of them would let a loop continue, with `w` still a leaf
# that requires grad?

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
# Only the third, though all three end up with the value 3.20. The first `w` is the result of a recorded operation, so
# it isn't a leaf: the next `backward` leaves its `.grad` at `None`, and the next update raises an error. The second `w`
# is cut off from the graph and doesn't require grad. The third is the original `w`, changed in place, which is how
# optimizers do it. Outside `no_grad`, that line would raise an error; lab 5 explains why.
#
# Now suppose you want to keep the value of `w` at every step for a plot.

# %% predict: detached_history
# **Predict.** `w` starts at 4 and is changed in place to 2, then 1, then 0.5. Before each of the three steps,
# `w.detach()` is appended to a list. What does the list hold at the end?
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
# `detach()` doesn't make a copy. It returns a second tensor that shares the same memory, which kept changing, so all
# three entries show the current value of `w`. The same happens with `w.data`, `w.detach().numpy()` and the tensors in
# `model.state_dict()`. For a snapshot, you need `clone()`.
#
# ### Your turn: descend
# Implement gradient descent, and return every point that it visits. Your function leaves the caller's tensor unchanged
# and works even if the caller has turned recording off. Each point that you return needs its own memory. The leaf that
# you differentiate with respect to isn't returned, so it may share memory with a point.


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
    "You need a leaf at each step. Which tensor can serve as one without touching the caller's? And what must be "
    "turned on for f to be recorded?",
    "If each step makes a new point from the old one and the gradient, nothing that you've kept changes later.",
)

# %% exercise: descend points=3 level=medium

# %% [markdown]
# ## A stop in the middle
#
# If a loss compares a prediction with a *target* that is computed from the same weights, as in reinforcement learning,
# training may move the target instead of the prediction. To prevent that, call `detach()` on the target. The value is
# unchanged, but no gradient flows back past that point. This is called a *stop-gradient*.
#
# In a small example, the prediction is $2w$, and the target, $1 + 0.9 \cdot 3w$, is also computed from $w$. At $w = 1$,
# the prediction is 2 and the target is 3.7. The loss is the squared difference. A negative gradient increases $w$.

# %% predict: pushed_by_gradient
# **Predict.** In which direction does the gradient push `w`, with and without a stop on the target?
#
# - [ ] up in both cases, because the loss is the same
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
# The losses are equal, but the gradients have opposite signs. With the stop, only the path through the prediction
# counts: $2 \cdot (2 - 3.7) \cdot 2 = -6.8$. So `w` increases, and the prediction moves toward the target. Without it,
# the path through the target adds $2 \cdot (2 - 3.7) \cdot (-2.7) = 9.18$. Now `w` decreases, because the target falls
# faster than the prediction.
#
# You can also stop the gradient by computing the target inside `no_grad`. Does that cost the same? The next cell runs a
# batch through the eight layers both ways, and prints the peak memory used by the results of operations.


# %% example
def detached_at_the_end(model, x):
    return model(x).detach()


def without_recording(model, x):
    with torch.no_grad():
        return model(x)


print("detach at the end:", probes.live_bytes(detached_at_the_end, layers, batch)["peak"], "bytes")
print("no_grad          :", probes.live_bytes(without_recording, layers, batch)["peak"], "bytes")

# %% [markdown]
# With `detach()` at the end, the whole graph was built, with everything it keeps, and then discarded. With `no_grad`,
# each result is freed as soon as the next layer has read it. So use `no_grad` if an entire computation needs no
# gradient, and `detach()` if you need a tensor both with and without its gradient.
#
# ### Your turn: td_loss
# Do this one if you want to train a model against targets of its own, as in reinforcement learning: it's the loss
# of deep Q-learning, and its usual mistakes raise no error.
#
# A program plays a game. At each step, it's in a *state*, described by `d` numbers; it chooses an *action*, gets a
# *reward*, and reaches the next state. It predicts how much reward will follow each action in total: the predictions
# are `state @ q`, with a weight matrix `q`. After the step, it knows that its prediction for the action taken should
# have been close to the *target*: the reward plus `gamma` times the largest prediction for the next state, or just the
# reward if the program ended there. The target uses `target_q`, an older copy of `q`, or sometimes `q` itself. Either
# way, it's treated as a constant.


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
    "Write down the shapes of state @ q, the prediction for the action taken, and the target. The last two must "
    "be equal. In lab 1, gather and a pair of index tensors each took one element from every row.",
    "Which part must be inside no_grad, or detached? And what is 0 * nan? torch.where takes each element from only "
    "one side, so a nan on the other side can't reach the value, as it would in a product.",
)

# %% exercise: td_loss points=4 level=medium further

# %% [markdown]
# If `target_q` is `q`, a forgotten stop makes `q` learn something else, without an error. Where do you put the stop if
# you don't know which tensor the caller will pass?

# %% answer [markdown]
# On the target: compute it inside `no_grad`, or detach it once it's complete. That's right in both cases. A stop on one
# of its inputs, such as `target_q.detach()`, also works here, but only if you know everything that the target is
# computed from.

# %% [markdown]
# ## Frozen parts
#
# To reuse a pretrained model, you train some of its parts and have to keep the others from changing. A part is *frozen*
# if training doesn't change it, usually because its parameters have `requires_grad=False`.
# `module.requires_grad_(False)` sets this for all parameters of a module. It doesn't clear `.grad`, and an optimizer
# still applies any `.grad` that isn't `None`, so set old gradients to `None` when you freeze a part.
#
# If the middle part of a three-part model is frozen, do the parameters of the first part get gradients? And if nothing
# is frozen but the *input* doesn't require grad, is the forward pass recorded?

# %% example
middle_frozen = make_layers(3, 4)
middle_frozen[2].requires_grad_(False)
x = torch.linspace(-1, 1, 8).reshape(2, 4)
middle_frozen(x).sum().backward()
for name, parameter in middle_frozen.named_parameters():
    print(f"{name:9} requires_grad {parameter.requires_grad!s:5}  gradient {parameter.grad is not None}")

print("input: requires_grad", x.requires_grad, "  result: requires_grad", make_layers(3, 4)(x).requires_grad)

# %% [markdown]
# The first part got its gradients through the frozen one. `requires_grad=False` on a parameter means that no gradient
# is computed *for it*. The frozen layer still passes a gradient to its input, so you can train the layers before it.
# With `no_grad` around the middle part, you couldn't, because that cuts the path.
#
# If the *first* part is frozen and its input doesn't require grad, none of it is recorded, even without `no_grad`. That
# makes it cheap to train only the last layers. As for the second question, some texts claim that
# `x.requires_grad = False` does the same as `no_grad`. It doesn't: the parameters still require grad, so everything is
# recorded. Besides, you can clear that flag only on leaves.
#
# | what you do | gradients pass through | the part's parameters get gradients | what the part keeps for `backward` |
# |---|---|---|---|
# | leave it as it is | yes | yes | everything |
# | `requires_grad_(False)` for the part | yes | no | less: a Linear keeps its weight, but not its input |
# | `no_grad` around the part | no | no | nothing |
# | `detach()` on the part's result | no | no | everything, until the undetached result is gone |
#
# None of the four stops a BatchNorm in training mode from updating its running averages; only `eval()` does.
#
# ### Your turn: saliency
# Do this one if you want to see which pixels made a model say "cat". One answer is the gradient of the "cat" score with
# respect to the input, called a *saliency map*. That gradient flows through the whole model, but the model must not
# change: the caller may be accumulating gradients for a training step, and some parameters may be frozen. You needn't
# read the folded cell: it only builds models for the checks.


# %% given folded
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
    """What saliency returns for a scorer, and how it leaves the scorer.

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
    "Of the two functions that run a backward pass, which one doesn't write to .grad? What must be a leaf that "
    "requires grad?",
    "The scores are (n, classes). Take one from each row and add them up: a sample's score doesn't depend on the "
    "other samples here, so the gradient of the sum holds each sample's own gradient in its row.",
)

# %% exercise: saliency points=2 level=medium further

# %% [markdown]
# `torch.autograd.grad(scores.sum(), leaf)` follows only the paths to `leaf`, and computes no gradient for any weight.
# The docstring says that no row of the scores depends on another row. Which layer, in which mode, would violate that?

# %% answer [markdown]
# BatchNorm in training mode: it subtracts the batch mean, so each score depends on every sample, and the gradient of
# the sum mixes the samples.

# %% [markdown]
# The next cell uses your function on a small model that reads the digits. Where would more ink make the model more
# confident that it sees a 0?

# %% example
scans, kinds = torch.tensor(load_digits().images / 16, dtype=torch.float32), torch.tensor(load_digits().target)
torch.manual_seed(0)
reader = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
adam = torch.optim.Adam(reader.parameters(), lr=0.01)
for _ in range(100):
    adam.zero_grad()
    nn.functional.cross_entropy(reader(scans.flatten(1)), kinds).backward()
    adam.step()
maps = {}
try:
    for picture, ink in zip(saliency(reader, scans[:3].flatten(1), kinds[:3]), ("a 0", "a 1", "a 2"), strict=True):
        maps[ink] = picture.reshape(8, 8)
except NotImplementedError:
    print("saliency isn't written yet.")
show_saliency(dict(zip(maps, scans, strict=False)), maps)

# %% answer [markdown]
# On the ring of the 0, where the first image's map is positive. In the hole in the middle, the map is clearly negative.
# Don't read much into the left and right edges: ink is rare there, and three of those pixels are 0 in every image, so
# their weights never get a gradient and the map shows only their random initial values.

# %% [markdown]
# ## `eval()` and `no_grad()`
#
# The digits script needed two switches to validate, and if you confuse them, you get wrong numbers or waste memory.
# `model.eval()` affects layers: it sets `training` to False on every module, and some layers check that flag. In
# training mode, `Dropout(p)` sets each element to zero with probability `p` and multiplies the others by
# `1 / (1 - p)`; BatchNorm uses the mean and variance of the batch, and updates a running mean and variance. In
# evaluation mode, Dropout returns its input unchanged, and BatchNorm uses the running values. `no_grad` affects only
# autograd.
#
# So what do the two layers do under `no_grad` without `eval()`? And does `eval()` change what is recorded?

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
# Under `no_grad`, about half of the elements are still zeroed, and a single batch has moved the running mean: the
# measurement changes what it measures. In evaluation mode, operations are still recorded. To evaluate a model, you need
# `eval()` for correct numbers; `no_grad` only saves memory and time.
#
# Afterward, every module should be back in its previous mode. Does `model.train()` ensure that? The model in the next
# cell has a BatchNorm that was deliberately put in evaluation mode, as is common for pretrained parts.

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
# `train(was)` sets the same flag on *every* module. The BatchNorm is now in training mode and will silently change its
# running values in the next step.
#
# ### Your turn: predict
# Write a function that makes predictions without leaving a trace. You needn't read the folded cell: it only builds
# models for the checks.


# %% given folded
class Asks(nn.Module):
    """Returns f(x, training), where training says which mode the module is in."""

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
    """What predict returns for a classifier, and how it leaves the classifier.

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
    "Do your last lines run if the model raises an error? try ... finally runs them in any case. And "
    "module.train(flag) sets the flag of everything inside the module too. Is there a way to set just one flag?",
)

# %% exercise: predict points=4 level=medium

# %% [markdown]
# With `predict` in its `validate`, the digits script needs none of the three changes: the scores have no graph, so the
# loss has none either.
#
# `module.training = flag` sets one flag, while `module.train(flag)` also sets it for every module inside. In the
# checks' model, the body ends with a dropout layer, and the head begins with the same one. Suppose that you restored
# the flags by calling `train` with each module's old flag, from the outside in: the body and what's in it, then the
# head. Whose flag would that layer get?

# %% answer [markdown]
# The head's. `train(flag)` on the head also sets the layer's flag. `model.modules()` lists the layer only once, inside
# the body, so nothing corrects the flag afterward.

# %% [markdown]
# ## A good place to stop
#
# Next, you'll train a new head on a frozen trunk, go through a graph twice, and cut a long history. When you come back
# after a break, the kernel may have restarted: choose *Run > Run All Above Selected Cell*, or press *Check*, which runs
# the cells it needs.

# %% [markdown]
# ## A new head on a frozen trunk
#
# You have only 20 labeled images for a new task, so a network trained on them alone won't be good. But you have a
# network for a similar task: you keep all its layers but the last as a *trunk*, and train a new last layer, or *head*.
# The trunk still works with its old head. It needs no graph, because it doesn't learn; its running averages must not
# change, so it runs in evaluation mode; and the losses must not keep graphs alive.
#
# ### Your turn: finetune
# Train the head and leave the trunk exactly as it was. You may call your `predict`. In the checks, the head ends with
# `Tripled`, from the folded cell under *saliency*, which triples its input in training mode. You needn't read the next
# folded cell either.


# %% given folded
def make_trunk(state, f):
    """The body of the classifier above, with BatchNorm and Dropout, and f(features, training) at the end."""
    return nn.Sequential(make_classifier(state, f)[0], Asks(f))


def make_head(weight, bias):
    """A Linear, and Tripled, which behaves differently in training mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear = nn.Linear(weight.shape[1], weight.shape[0])
    linear.load_state_dict({"weight": weight, "bias": bias})
    return nn.Sequential(linear, Tripled())


@probes.probe
def finetuned(finetune, state, f, linear, batches, lr, modes, learning, old_grad=False, head_trains=True, shared=False):
    """What finetune returns for a trunk and a head, and how it leaves both of them.

    modes: the training flag of each module of the trunk before. learning: requires_grad of each parameter of the trunk,
    whose .grad holds ones. old_grad: whether the .grad of the head holds ones too. head_trains: the mode of the head.
    shared: whether both layers of the head have the same weight.
    """
    trunk, head = make_trunk(state, f), make_head(*linear).train(head_trains)
    if shared:
        head[1].weight = head[0].weight
    aliases = [parameter.detach() for parameter in head.parameters()]
    for module, training in zip(trunk.modules(), modes, strict=True):
        module.training = training
    for parameter, flag in zip(trunk.parameters(), learning, strict=True):
        parameter.requires_grad_(flag)
        parameter.grad = torch.ones_like(parameter)
    if old_grad:
        for parameter in head.parameters():
            parameter.grad = torch.ones_like(parameter)
    losses = finetune(trunk, head, batches, lr)
    return {
        "losses": [float(loss) for loss in losses],
        "kinds": [type(loss).__name__ for loss in losses],
        "head": probes.state_of(head),
        "in place": all(map(torch.equal, aliases, head.parameters())),
        "trunk": probes.state_of(trunk),
        "modes": [module.training for module in trunk.modules()],
        "head modes": [module.training for module in head.modules()],
        "gradients": [parameter.grad for parameter in trunk.parameters()],
        "learning": [parameter.requires_grad for parameter in trunk.parameters()],
    }


# %% given
hint(
    "Which part runs inside no_grad, and which must not? Whose parameters does the optimizer get?",
    "Either predict computes the features, or you call trunk.eval() and restore each module's flag at the end. "
    "And the head's mode? What's in .grad before the first step, and what belongs in the list of losses?",
)

# %% exercise: finetune points=3 level=medium

# %% [markdown]
# Now try it. The next cell trains a network to read the digits. Then a new scanner draws the upper half of each digit
# one pixel too far to the right, and only 20 of its images have labels. What does the trunk gain over two baselines:
# the network as it is, and one trained from scratch on the 20 images?

# %% example
scans = torch.tensor(load_digits().images, dtype=torch.float32)
slanted = scans.clone()
slanted[:, :4] = scans[:, :4].roll(1, dims=2)
labels = torch.tensor(load_digits().target)
old, new = ((images - 8).flatten(1) / 8 for images in (scans, slanted))


def make_batches(x, rows, size):
    return list(zip(x[:rows].split(size), labels[:rows].split(size), strict=True))


def make_parts():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5)), nn.Linear(64, 10)


def train_all(trunk, head, batches, epochs, lr):
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=lr)
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(trunk(x)), y).backward()
            optimizer.step()


def report(text, trunk, head):
    network = nn.Sequential(trunk, head).eval()
    with torch.no_grad():
        right = [(network(x[1500:]).argmax(dim=1) == labels[1500:]).float().mean() for x in (new, old)]
    print(f"{text:36} {right[0]:.0%} of the new scans, {right[1]:.0%} of the old ones")
    network.train()


torch.manual_seed(1)
(trunk, old_head), (whole, whole_head), (_, new_head) = make_parts(), make_parts(), make_parts()
many, few = make_batches(old, 1500, 50), make_batches(new, 20, 10)
train_all(trunk, old_head, many, 10, 0.3)
report("baseline: the old network", trunk, old_head)
train_all(whole, whole_head, few, 20, 0.1)
report("baseline: a network from the 20", whole, whole_head)
try:
    for _ in range(20):
        finetune(trunk, new_head, few, 0.1)
    report("a new head, by finetune", trunk, new_head)
    report("the old head on the trunk, afterward", trunk, old_head)
except NotImplementedError:
    print("finetune isn't written yet.")
train_all(trunk, old_head, few, 20, 0.1)
report("all of the old network, trained", trunk, old_head)

# %% [markdown]
# From 20 images, the new head gets 75% right, compared with 66% without any training and 68% for a network that learns
# from these images alone. With each seed from 1 to 8, it was the best of the three. The trunk hasn't changed, so with
# its old head it still reads 89% of the old scans.
#
# The last line shows the alternative: if you train all of the old network, it gets 77% of the new scans, but only 80%
# of the old ones. So freeze the trunk if other heads rely on it, and measure both if none do.

# %% [markdown]
# ## Inference mode
#
# `torch.inference_mode()` is a stricter `no_grad`. If you confuse the two, you get an error, but far from the line to
# blame. A tensor created inside it is an *inference tensor*. It's slightly cheaper to create because it has no version
# counter, the number by which autograd notices in-place changes. Some texts claim that such a tensor can never be used
# in a computation that you run `backward` on. The next cell tries six operations on one. (This section is optional.)

# %% predict: refused_inference
# **Predict.** `y` is an inference tensor, and `w` requires grad. Outside the block, which lines raise an error?
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
# The first line works: addition keeps nothing for `backward`, so it can use the inference tensor. Multiplication has to
# *save* `y` for the gradient of `w`, which PyTorch refuses to do, because it couldn't detect a change to `y` in the
# meantime. `detach()` doesn't help, since it returns another inference tensor that shares the same memory. `clone()`,
# called outside the block, returns a normal tensor. The last two lines would change `y` itself, its flag or its values.
#
# `enable_grad` had no effect inside the block. To turn recording back on, use `with torch.inference_mode(False):`.
# Inside it, operations are recorded and new tensors are normal, but tensors created earlier remain inference tensors.
#
# Use `inference_mode` for results that leave the program, and `no_grad` for those that may be used in training. The
# difference in time is small: the three models timed in *Recording, off and on* ran within 2% of their time with
# `no_grad`.
#
# ### Your turn: cached_features
# Do this one if you train heads on a trunk that stays frozen for many epochs: its outputs, called *features*, need to
# be computed only once. Here, the trunk can be any function (an *encoder*) whose parameters still require grad. In the
# next cell, read only `encode`; the rest is for the checks.

# %% given
encoder_weight = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()


def encode(x):
    """(n, 3) -> (n, 4)."""
    return (x @ encoder_weight).tanh()


def repeat_first(x):
    """(n, d) -> (n, 3): the first column three times, as a view."""
    return x[:, :1].expand(-1, 3)


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
    """Features by cached_features, then shifted in place to a mean of 0."""
    features = cached_features(encoder, batches)
    features -= features.mean(0)
    return features.clone()


@probes.probe
def made_trainable(cached_features, encoder, batches):
    """The gradient of the features themselves, which are marked after they're made."""
    features = cached_features(encoder, batches).requires_grad_()
    (features**3).sum().backward()
    return features.grad


# %% given
hint(
    "Will the result be used in training later? Which switch fits that?",
    "If you choose inference_mode, where must the copy be made: inside the block or outside?",
)

# %% exercise: cached_features points=2 level=easy further

# %% [markdown]
# What does the cache gain? The next cell trains a head for 30 epochs on the digits' features from an encoder with
# random weights. The baseline computes the features in every epoch.

# %% example
torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(64, 1024), nn.Tanh(), nn.Linear(1024, 256), nn.Tanh())
for way in ("baseline: in every epoch", "cached: only once"):
    weight = torch.zeros(256, 10, requires_grad=True)
    begin = perf_counter()
    try:
        for epoch in range(30):
            if epoch == 0 or "baseline" in way:
                features = cached_features(encoder, list(old[:1500].split(100)))
            loss = nn.functional.cross_entropy(features @ weight, labels[:1500])
            (slope,) = torch.autograd.grad(loss, weight)
            with torch.no_grad():
                weight -= slope
        print(f"{way:24} loss {loss.item():.3f} after {1000 * (perf_counter() - begin):.0f} ms")
    except NotImplementedError:
        print("cached_features isn't written yet.")

# %% [markdown]
# The loss is the same, 0.516. On one CPU thread, the baseline took about 700 ms, and with the cache, it took 80. If you
# see the error about inference tensors in such a loop, look for the line that *created* the tensor.

# %% [markdown]
# ## Through a graph twice
#
# "Trying to backward through the graph a second time" is a common error, and the advice in its message is often wrong.
# As `backward` passes through a node, it frees what the node keeps, so a second `backward` finds nothing there.

# %% predict: second_pass
# **Predict.** `y.backward()` runs twice on the same graph. For which `y` does the second call raise an error?
#
# - [x] only `y = x**2`
# - [ ] only `y = x + 1`
# - [ ] both of them
# - [ ] neither: the second gradient is added to the first

# %% example
for text, make in {
    "x**2": lambda x: x**2,
    "x + 1": lambda x: x + 1,
    "x**3, retain_graph=True": lambda x: x**3,
}.items():
    x = torch.tensor(2.0, requires_grad=True)
    y = make(x)
    y.backward(retain_graph="retain" in text)
    try:
        y.backward()
        print(f"{text:26} two passes, gradient {x.grad.item()}")
    except RuntimeError as error:
        print(f"{text:26} RuntimeError: {str(error)[:47]} ...")

# %% [markdown]
# Only for `x**2`. The graph of `x + 1` keeps nothing, so nothing can be missing. "The graph is freed" means that the
# tensors kept by its nodes are gone; the nodes themselves live as long as something refers to them.
#
# If a second pass works, its gradient is added to the first. With `retain_graph=True`, `x.grad` for $x^3$ at 2 is 12
# after the first pass and 24 after the second. The option doesn't record the backward pass itself, so you can't
# differentiate the gradient again; that takes `create_graph=True`.
#
# What does `retain_graph=True` cost? Some texts say that it doubles the memory that a backward pass needs. The next
# picture shows what the eight layers hold for `backward`. A step is one Linear or one Tanh, so there are 16 steps in
# the forward pass and 16 in the backward pass. First, sketch the curve for a normal `backward` and for one with
# `retain_graph=True`. The buttons select one of four variants.

# %% example
show_kept(layers, batch)

# %% [markdown]
# The normal curve is a hill: each Tanh adds its result in the forward pass and frees it in the backward pass. With
# `retain_graph=True`, these saved tensors climb to the same peak, so nothing is doubled, but there's no descent: they
# stay until the last tensor that uses the graph is gone. The gradients, which the picture omits, come on top of them:
# in total, the peak rises by 47%, from 548 KiB to 804. With `no_grad`, there's no hill. With `detach()` at the end,
# there's the whole climb, and then a cliff.

# %% [markdown]
# People usually reach for `retain_graph=True` because they have two losses from one forward pass. The next cell tries
# three approaches. Do their gradients agree?

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
# All three agree. You need `retain_graph=True` only for separate passes, and then for all but the last.
#
# ### A long history
#
# The graph of a recurrent network grows with the sequence, so a long one doesn't fit in memory. The network reads a
# sequence one step at a time, and computes a new *state* from the old state and an input: `h = cell(w, h, x)`. After a
# thousand steps, the state's graph contains all thousand. So you split the sequence into *windows* of `k` steps. The
# state carries over from window to window, and each window has its own `backward`. This is *truncated backpropagation
# through time*.
#
# Here are two windows of three steps each. What happens in the second one?


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
# The message continues: "Specify retain_graph=True if you need to backward through the graph a second time". Before you
# follow this advice, ask yourself which graph it means.
#
# The next picture shows three windows of three states each. An arrow is a gradient that goes back from one state to the
# one before, and its number says how often one did. (The cell counts with *hooks*, functions that `backward` calls with
# a state's gradient.) The top row follows the advice; in the bottom row, the state is cut between windows.

# %% example
figure, axes = plt.subplots(2, 1, figsize=(9, 3.2))
for axis, cut in zip(axes, (False, True), strict=True):
    w, h = torch.tensor(0.7, requires_grad=True), torch.tensor(0.0)
    visits: list[int] = []
    for i in range(9):
        if cut and i % 3 == 0:
            h = h.detach()
        h = cell(w, h, 0.5)
        h.register_hook(lambda gradient, i=i: visits.append(i))
        if i % 3 == 2:
            (h**2).backward(retain_graph=True)
    for i in range(9):
        axis.annotate(f"h{i + 1}", (i, 0), ha="center", va="center", bbox={"boxstyle": "circle", "facecolor": "white"})
        if cut and i in (2, 5):
            axis.plot([i + 0.5, i + 0.5], [-0.4, 0.4], color="black", linewidth=3)
        elif i < 8:
            number = visits.count(i + 1)  # gradients that reach h(i+1) from h(i+2)
            style = {"arrowstyle": "->", "color": "tab:red", "linewidth": 1.2 * number}
            axis.annotate("", (i + 0.2, 0), (i + 0.8, 0), arrowprops=style)
            axis.annotate(str(number), (i + 0.5, -0.35), color="tab:red", ha="center")
    title = "cut between the windows" if cut else "retain_graph=True"
    axis.set(title=f"{title}: {len(visits)} visits to 9 states", xlim=(-0.4, 8.4), ylim=(-0.6, 0.5))
    axis.axis("off")
figure.tight_layout()
plt.show()

# %% [markdown]
# The error was right, but its advice was wrong here: the missing graph belonged to an earlier window, which you never
# wanted to revisit. With `retain_graph=True`, each `backward` goes through *all* windows back to the first, and
# everything they keep stays in memory. If the optimizer also changes the weights between windows, the second `backward`
# fails anyway, because the first window's graph needs the old weights.
#
# ### Your turn: window_gradients
# Compute the gradient for a single update from a sequence whose whole graph wouldn't fit in memory. Cut the graph
# between windows: keep the state's value but drop its history. Add up the windows' gradients; the optimizer step is up
# to the caller, as in the cell below the exercise. (Lab 8 covers `torch.func`, which the docstring rules out.)


# %% given
# Cells to try your solution on. The checks use them too. The state h and the input x are (d,), the weights w (d, d).
def tanh_cell(w, h, x):
    return torch.tanh(w @ h + x)


def leaky_cell(w, h, x):
    """Forgets part of its state at each step."""
    return 0.75 * h + 0.25 * torch.sin(w @ h) + x


def summing_cell(w, h, x):
    """Uses only the sum of all weights."""
    return torch.tanh(w.sum() * h + x)


@probes.probe
def continued(window_gradients, cell, w, inputs, targets, k):
    """window_gradients from a first state that was itself computed from w, by one step."""
    h = cell(w, torch.ones_like(w[0]), inputs[0])
    return window_gradients(cell, w, h, inputs[1:], targets[1:], k)


# %% given
hint(
    "Where does a window's graph begin? What must h be at that point?",
    "Add up the losses of one window, get the gradient, add it to the total, and cut the graph. How many steps does "
    "the last window have if k doesn't divide the length of the sequence evenly?",
)

# %% exercise: window_gradients points=4 level=hard

# %% [markdown]
# Now train with it: you want to copy a recurrent network whose weights you can't see. You've recorded 400 of its inputs
# and states. The next cell fits weights of your own to them, with windows of 1, 20, and all 400 steps, in a few
# seconds. Which windows do as well as the whole sequence, and what do they hold in memory?

# %% scratch
torch.manual_seed(0)
unknown = 0.95 * torch.linalg.qr(torch.randn(8, 8)).Q  # the weights of the other network
pushes = torch.randn(400, 8) * (torch.rand(400, 1) < 0.1)  # nine of ten steps have no input


def run_cell(w):
    states = [torch.zeros(8)]
    for x in pushes:
        states.append(tanh_cell(w, states[-1], x))
    return torch.stack(states[1:])


recorded = run_cell(unknown)
print(f"before training: loss {(run_cell(torch.zeros(8, 8)) - recorded).square().sum(1).mean().item():.3f}")
try:
    for k in (1, 20, 400):
        fitted = torch.zeros(8, 8, requires_grad=True)
        adam = torch.optim.Adam([fitted], lr=0.03)
        for _ in range(30):
            fitted.grad, _ = window_gradients(tanh_cell, fitted, torch.zeros(8), pushes, recorded, k)
            adam.step()
        loss = (run_cell(fitted.detach()) - recorded).square().sum(1).mean()
        short, long = (
            probes.live_bytes(window_gradients, tanh_cell, fitted, torch.zeros(8), pushes[:n], recorded[:n], k)["peak"]
            for n in (100, 400)
        )
        print(f"windows of {k:3}: loss {loss.item():.3f}, peak {short:,} bytes for 100 steps, {long:,} for 400")
except NotImplementedError:
    print("window_gradients isn't written yet.")

# %% [markdown]
# Windows of 20 take the loss from 0.690 to 0.015, like the whole sequence. But with our solution, they hold 2,920 bytes
# at most, however long the sequence is, and the whole sequence holds 51,460 for 400 steps.
#
# Windows of 1 only get to 0.096. A weight can affect a loss many steps later. Within a window, the gradient includes
# that effect; across a cut, it doesn't, even though the state's value crosses the cut. How would you choose `k`?

# %% answer [markdown]
# As large as memory and the time per optimizer step allow, and at least as long as the dependency that the network
# should learn. Memory grows with `k`; the total time spent in backward passes doesn't. If a larger `k` no longer
# improves the validation loss, `k` is large enough.

# %% [markdown]
# ## Gradients of gradients
#
# Some losses contain a gradient, so training has to differentiate that gradient. An ordinary `backward` doesn't allow
# it, because the gradient has no graph. `create_graph=True` records the backward pass too, which gives it one. (From
# here to *Interview questions*, everything is optional.)
#
# The next cell computes the derivative of $x^3$, $3x^2$, in three ways; at 2, it's 12.

# %% predict: second_derivative
# **Predict.** With which options can you differentiate again to get the second derivative, $6x$? (At 2, it's 12 too.)
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
# `retain_graph=True` isn't enough. `create_graph=True` records the backward pass, and it also keeps the old graph,
# which the new one is connected to.
#
# Use `torch.autograd.grad` for this. `y.backward(create_graph=True)` works too, but it warns about a reference cycle:
# the graph of `x.grad` refers to `x`, and `x` holds `x.grad`. Python's garbage collector can't see this cycle, so
# neither is ever freed unless you break it, for example with `x.grad = None`.
#
# Here's the graph of the gradient of $x^3$. Find the multiplication by the exponent, and the power with the exponent
# reduced by one.

# %% example
x = torch.tensor(2.0, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
show_graph(slope, {"x": x})

# %% answer [markdown]
# The gradient is `3 * x**2`, times the 1 that the backward pass starts with. `PowBackward0` is the power, now with
# exponent 2; `MulBackward1` multiplies it by 3, the old exponent, and `MulBackward0` by the 1.

# %% [markdown]
# The matrix of all second derivatives of a function from `n` numbers to one is the *Hessian*. For a million parameters,
# it has a trillion entries, or 4 TB in float32. But you can compute its product with a vector `v`, a *Hessian-vector
# product*, which describes how the gradient changes when you take a small step along `v`. The gradient `g` is a
# function of `x` with `n` outputs, and its Jacobian is the Hessian. In lab 3, you saw what one backward pass through
# such a function computes.
#
# ### Your turn: hvp
# Do this one if you want to measure how sharply a loss curves, or to write an optimizer that uses the curvature. Two
# passes are enough, whatever `n` is.


# %% given
# Functions to try your solution on. The checks use them too.
def cubes(x):
    """Each element on its own: the Hessian is diagonal."""
    return (x**3).sum()


def chained(x):
    """Neighbors are multiplied: the Hessian has entries beside the diagonal."""
    return (x[1:] * x[:-1] ** 2).sum() + x.sin().sum()


def plane(x):
    """Linear: the Hessian is zero."""
    return (3 * x).sum() - 1


def valley(x):
    """Rosenbrock's function, on which gradient descent is slow."""
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
    "Which option makes the first gradient differentiable? Which argument of the second call takes v?",
    "Is v a constant if the caller passes something that was computed from x? And what is the graph of the gradient "
    "of a linear function?",
)

# %% exercise: hvp points=4 level=hard further

# %% [markdown]
# The gradient of a linear function is a constant, so it has no graph to differentiate, and the product is zero.
# Otherwise, `grad_outputs=v` computes `v @ H`, which equals `H @ v` because the Hessian is symmetric. The other common
# approach differentiates the sum of `g * v`. Where would you have to detach `v` there, and why? Must you also detach it
# as `grad_outputs`?

# %% answer [markdown]
# In the product: `(g * v.detach()).sum()`. If `v` was computed from `x`, the second pass would otherwise go through `v`
# too, and add a term that isn't part of `H @ v`. As `grad_outputs`, `v` only starts the pass, so no gradient flows
# through it.

# %% [markdown]
# ## A loss that contains a gradient
#
# A loss term that isn't connected to the weights does nothing, even though the printed loss looks right. In the classic
# example, a *critic* is a model that gives each sample a score. The score mustn't change abruptly when the sample
# changes a little: its gradient with respect to the *sample* should have a norm (the square root of its sum of squares)
# close to 1. So the critic's loss gets another term, the *gradient penalty*: the mean of $(\text{norm} - 1)^2$ over the
# samples. The gradients are taken between a real sample and a generated (fake) one, at `mix * real + (1 - mix) * fake`,
# with one number `mix` per sample. (In the theory of Wasserstein GANs, the best critic has norm 1 there.)
#
# Training differentiates the penalty with respect to the critic's weights. The next cell computes the penalty twice for
# a critic with two weights. What changes?

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
# The losses are equal, and both versions produce a gradient. But without `create_graph=True`, the penalty is a
# constant: it's part of the number that you print, but nothing in training reduces it.
#
# ### Your turn: gradient_penalty
# Do this one if you train GANs, or put any gradient into a loss: you'll see which part has to be recorded. Each
# sample's norm is taken over all of its own numbers. One detail to consider: what is the slope of a square root at 0?


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
    "Write down the shapes of the points, the scores, the gradient of their sum with respect to the points, and the "
    "norms. What shape must mix have for each sample to get its own number?",
    "torch.linalg.vector_norm has a gradient of 0 at 0. The square root of a sum of squares has a gradient of NaN "
    "there.",
)

# %% exercise: gradient_penalty points=4 level=hard further

# %% [markdown]
# Why is one backward pass from the *sum* of the scores enough for all the samples?

# %% answer [markdown]
# Each score depends only on its own sample, so no sample gets a gradient from another sample's score. A critic with
# BatchNorm in training mode would break that. It's the same condition as in `saliency`.
#
# As for the question above the exercise: the slope of the square root at 0 is infinite. The backward pass multiplies
# that by the slope of the squares, which is 0, and infinity times 0 is NaN.

# %% quiz: interview points=3
# ## Interview questions
#
# **What does `d = t.detach()` do?** (`t` is the result of a recorded operation.)
# - [x] `d` shares its memory with `t`.
#   > `detach()` doesn't make a copy. It returns a second tensor that shares the same memory.
# - [ ] `d` keeps its values if `t` is later changed in place.
#   > The list of detached tensors showed the final `w` three times. For a snapshot, you need `clone()`.
# - [x] `t` is still connected to the tensors that it was computed from.
#   > Only `d` is cut off. The graph of `t` is unchanged, and `t.backward()` still works.
# - [x] `d` is a leaf that doesn't require grad.
#   > It has no `grad_fn`, and a tensor that doesn't require grad is a leaf by convention.
# - [ ] The call frees what the graph of `t` keeps for `backward`.
#   > `t` still holds its graph. Only a backward pass, or deleting the last tensor that refers to the graph, frees what
#   > it keeps.
#
# Hint: What did the list of detached tensors show after three steps?
#
# **`eval()` and `no_grad()`**
# - [ ] In evaluation mode, no operation is recorded.
#   > `eval()` affects layers. After `norm.eval()`, the result still required grad.
# - [x] In evaluation mode, Dropout returns its input unchanged.
#   > Dropout checks `training` and zeroes elements only in training mode.
# - [x] Under `no_grad`, a BatchNorm in training mode updates its running values.
#   > `no_grad` affects recording, but BatchNorm checks only `training`. In the lab, a single batch moved the running
#   > mean.
# - [ ] `model.train(model.training)` changes nothing in any model.
#   > It sets the same flag on every module. A BatchNorm that was deliberately in evaluation mode ends up in training
#   > mode.
# - [x] For validation, you usually want both.
#   > You need `eval` to get correct numbers and `no_grad` to save memory. Neither replaces the other.
#
# Hint: What did model.train(was) do to a BatchNorm in evaluation mode?
#
# **Memory**
# - [ ] A loop that evaluates without `no_grad` holds more memory with each batch, even if no result is kept.
#   > Each graph is freed when the name is reassigned. `keep_the_last` held two graphs, whether for 2, 8 or 16 batches.
# - [x] Without `backward`, `history.append(loss)` keeps the graph of each step alive, with everything the nodes keep.
#   > `keep_losses` grew by 256 KiB per batch. If each step calls `backward`, that's freed, and only the nodes are left.
# - [ ] `history.append(loss.detach())` keeps the graph of each step alive.
#   > A detached loss has no graph. `keep_detached` stayed at one graph.
# - [ ] `retain_graph=True` doubles the peak of the memory that saved tensors use.
#   > The peak is the same. Only the descent is missing.
# - [x] After `backward(retain_graph=True)`, saved tensors stay until nothing refers to the graph anymore.
#   > In that case, `backward` doesn't free them. They're freed along with the last tensor that refers to the graph.
#
# Hint: What does a name keep alive? Look at the picture of the hill again.
#
# **Two passes**
# - [ ] A second `backward` over the same graph always raises an error.
#   > It fails only if a saved tensor is missing. `x + 1` keeps nothing, and two passes worked.
# - [ ] If two losses share part of a graph, you can't get the gradient of both without `retain_graph=True`.
#   > Their sum, or a single call to `torch.autograd.backward` with both, needs only one pass. All three approaches gave
#   > the same gradient.
# - [ ] With `retain_graph=True`, the gradient can itself be differentiated.
#   > It keeps the forward graph but doesn't record the backward pass. The gradient didn't require grad.
# - [x] With `create_graph=True`, the gradient can have a `grad_fn`.
#   > The backward pass is recorded too. The statement says "can" because the gradient of a linear function is a
#   > constant.
#
# Hint: What does x + 1 keep? What does each of the two options record?
#
# **Stops and frozen parts**
# - [ ] If the last layer is frozen, the first layer gets no gradient.
#   > Frozen means that no gradient is computed for the layer's own parameters. Gradients still pass through, as in the
#   > model with the frozen middle.
# - [x] If a part runs inside `no_grad`, no gradient reaches the layers before it through that part.
#   > Nothing is recorded there, so this path ends. A gradient could still take a path around the part, if there is one.
# - [ ] Setting `x.requires_grad = False` on a model's input prevents the forward pass from being recorded.
#   > The parameters still require grad, so everything is recorded. In the lab, the result required grad even though its
#   > input didn't.
# - [x] If a target is computed from the weights being trained, a forgotten stop changes their gradient.
#   > A second gradient flows through the target. In the small example, that flipped the sign of the gradient.
# - [ ] `torch.no_grad()` on its own line turns recording off for the lines below it.
#   > It creates a context manager and discards it. `after_a_call` was recorded.
#
# Hint: Read the table of frozen parts again, row by row.

# %% [markdown]
# ## Asked in interviews
#
# Optional: answer each question aloud before you open the answer.
#
# **What does `detach()` do?**
#
# <details><summary>A good answer</summary>
#
# `t.detach()` returns a second tensor without a history. It has no `grad_fn` and doesn't require grad, so no gradient
# flows through it. `t` itself keeps its graph, and `t.backward()` still works. I use it when I want a value but not its
# gradient: for a target in a loss, or for losses that I collect. There are two traps. First, it's not a copy. The two
# tensors share memory, so a later in-place change shows up in both; for a snapshot, I use `detach().clone()`. Second,
# the call frees nothing: as long as `t` lives, it holds its graph and everything kept there. To avoid recording in the
# first place, I use `no_grad`.
#
# </details>
#
# **When do you use `no_grad`, and when `inference_mode`?**
#
# <details><summary>A good answer</summary>
#
# Both turn recording off, so nothing is kept for `backward`. `no_grad` produces normal tensors, which can be constants
# in a later graph. `inference_mode` is stricter: its tensors have no version counter, so PyTorch refuses to save them
# for `backward`, and outside the block they can't be changed in place. The trap is claiming that they can never be used
# in a recorded computation. Adding one works, since addition saves nothing. Multiplying one by a weight raises an
# error, unless you `clone()` it outside the block. I use `inference_mode` for results that leave the program, and
# `no_grad` for those that may be used in training. The difference in time is small.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a recurrent network on a sequence of 10,000 steps, in windows of 20. Each window calls `backward`,
# and the optimizer takes a single step, after the last window. The second window raised "Trying to backward through the
# graph a second time", so the colleague added `retain_graph=True`, as the message suggests. Now it runs, but each
# window is slower than the last, and eventually memory runs out.
#
# In four to eight sentences: what's happening, and why does it get slower? What would you change, and what does the
# network lose as a result? When is `retain_graph=True` the right choice?

# %% question: why_retain_graph [markdown] points=2
# ### BEGIN SOLUTION
# A window's state is computed from the previous window's last state, so its graph extends back through all earlier
# windows. The first window's `backward` freed what its nodes kept, and the second `backward` reached those nodes: hence
# the error. With `retain_graph=True`, nothing is freed. Each `backward` now goes through all windows back to the first,
# so window m costs about m times as much as the first, and everything that the nodes keep stays in memory. The
# gradients of the early steps are also added again and again. I would detach the state between windows, which keeps its
# value and ends its history. Then every window costs the same. The network loses the gradient across the cut: it can't
# learn from a loss that something more than a window ago should have been different, though the state still carries
# information over. `retain_graph=True` is right if you want to go through the *same* graph again, for instance to get
# separate gradients for two losses with a shared part, and then for all passes but the last.
#
# For grading: one point for the cause (the graph extends into earlier windows, so time and memory grow), and one for
# detaching the state, its cost, and a proper use of `retain_graph=True`.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - A stop-gradient doesn't change the printed loss, but it changes what is learned.
# - A frozen parameter gets no gradient but lets gradients through; `no_grad` doesn't. When you freeze a parameter,
#   clear its old `.grad`.
# - `eval()` affects layers; `no_grad` affects recording. Restore each module's mode, not just the model's.
# - A loss keeps its graph alive, and until `backward` has run, everything its nodes keep. Store numbers or detached
#   tensors instead.
# - Cut the state between windows. Don't add `retain_graph=True` just because an error message suggests it.
# - Measure what a technique gains against a baseline without it.
#
# | call | what it does or costs |
# |---|---|
# | `torch.no_grad()` | works only in a `with` statement or as a decorator; unrecorded operations keep nothing |
# | `torch.set_grad_enabled(False)` | takes effect as soon as it's called; use it in a `with` statement |
# | `torch.enable_grad()` | turns recording back on inside `no_grad`, not inside `inference_mode` |
# | `t.detach()` | stops the gradient at `t`; the result shares memory with `t`, so a snapshot takes `.clone()` too |
# | `module.requires_grad_(False)` | no gradient for its parameters; gradients still pass through |
# | `torch.inference_mode()` | its tensors can't be saved for `backward`: clone them outside |
# | `retain_graph=True` | keeps saved tensors after the pass, without raising their peak; records nothing |
# | `create_graph=True` | records the backward pass, so a loss may contain a gradient |
#
# Three questions to ask about your own code:
#
# - Which tensors from the last step are still held, and which graphs do they keep alive?
# - Is each term of my loss connected to the weights that it should train?
# - Which modes, flags and gradients does my function change, even after an error?
#
# Lab 5 is about in-place operations: what they do to the graph, and when autograd notices.
