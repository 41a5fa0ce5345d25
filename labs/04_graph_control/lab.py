# %% [markdown]
# # Controlling the graph
#
# You add Dropout and a validation loop to a training script. It now reports 82% where it used to report 88%, and its
# memory grows with every epoch. You fix the accuracy with one call to `eval()`, and from then on the model trains
# without Dropout, and there's no error or warning. The first cell below is that script. To validate without side
# effects, you have to *control* the graph: to decide what autograd records, what it keeps, and what gets a gradient.
#
# After this lab, you'll be able to
#
# - explain what `no_grad`, `detach` and `eval()` do and don't do;
# - keep values from a training run without holding on to its memory;
# - stop a gradient in the middle of a loss;
# - compute predictions and leave the model exactly as it was;
# - train a new last layer on top of a frozen network;
# - train on a long sequence with a graph of bounded size.
#
# This lab builds on labs 2 and 3. Plan on two sittings of about an hour each, with a break at *A good place to stop*.
# The four exercises headed *Your turn* are the core. *Asked in interviews* and the six sections of *Further practice*
# are optional and earn no points. All numbers were measured with PyTorch 2.13 on a CPU.
#
# When you see *Predict*, choose an answer before you run the next cell. A card below each exercise lists its checks;
# those marked *later* run when you press *Mark my work* or submit the lab. Folded cells hold checks and their helpers:
# you have to run them, but you don't have to read them. A person marks the written answer:
# your instructor or, if you learn on your own, you.
#
# Run the next cell first. It imports what this lab uses.

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
# Validation should measure a model and change nothing. In this script, it reports the wrong values and holds on to
# memory. The script is lab 1's digits script, plus a Dropout layer and validation after each epoch. In training mode,
# that layer sets each of its inputs to zero with probability 0.5 and doubles the others, so the network can't rely on
# any single one.
#
# `probes.saved_bytes` runs `validate` once more and counts the bytes that its graph holds for `backward`, not counting
# the input and the parameters. Run the cell.

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
        with_dropout += network.training  # counts the steps with Dropout
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
# Make three changes in the cell above, one at a time, and rerun the cell after each.
#
# | | change | right | loss | steps with dropout | bytes held by each loss |
# |---|---|---|---|---|---|
# | | the script as it is | 82% | 0.61 | 150 | 239,980 |
# | 1 | `network.eval()`, as the first line of `validate` | 89% | 0.47 | 15 | 87,916 |
# | 2 | `network.train()`, as the first line of each epoch | 89% | 0.41 | 150 | 87,916 |
# | 3 | `with torch.no_grad():` in `validate`, around the three lines below it | 89% | 0.41 | 150 | 0 |
#
# At first, only the measurement was wrong: validation ran with about half of the ReLU outputs dropped. Change 1 fixes
# that, but nothing turns Dropout back on. After the first epoch, the network trains without it, and the accuracy
# doesn't show that. Change 2 fixes the training. Until change 3, each loss in the list keeps its graph alive.
#
# By the end of this sitting, you'll have written a `predict` that makes all three changes unnecessary.

# %% [markdown]
# ## Recording, off and on
#
# If recording is on where you think it's off, operations keep memory for a `backward` that never runs, and nothing
# tells you. So where exactly is it off? The next cell computes the same sum in five places. Which of the five results
# require grad?

# %% example
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, -1.0])

with torch.no_grad():
    inside = (w * x).sum()
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


print("inside         requires grad:", inside.requires_grad)
print("switched_on    requires grad:", switched_on.requires_grad)
print("after_a_call   requires grad:", after_a_call.requires_grad)
print("after_a_switch requires grad:", after_a_switch.requires_grad)
print("weighted_sum() requires grad:", weighted_sum().requires_grad)

# %% [markdown]
# Two of them do: `switched_on` and `after_a_call`.
#
# - `enable_grad` turns recording back on inside `no_grad`.
# - `torch.no_grad()` on its own line does nothing: it creates a context manager and discards it, without an error.
# - `torch.set_grad_enabled(False)` on its own line *does* turn recording off, for everything that follows. If a
#   function does that and then fails, recording stays off for its caller.
# - As a decorator, `@torch.no_grad()` covers every call of the function.
#
# `no_grad` affects operations, not existing tensors: `w` requires grad all along.
#
# How much memory does `no_grad` save? The next cell counts the bytes that eight layers hold for `backward`. What will
# the second line show?

# %% example
layers = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(128, 128), nn.Tanh())])
batch = torch.linspace(-1, 1, 64 * 128).reshape(64, 128)
print("recorded  :", probes.saved_bytes(layers, batch), "bytes")
with torch.no_grad():
    print("no_grad   :", probes.saved_bytes(layers, batch), "bytes")
print("one result:", layers(batch).nbytes, "bytes")

# %% [markdown]
# Zero bytes. With recording on, the pass holds eight results of 32,768 bytes each, one for each Tanh. The arithmetic is
# the same, so don't expect much of a speedup. On one CPU thread, `no_grad` saved 6% of the time for this model, and 22%
# for twenty tiny layers, where most of the work is bookkeeping.
#
# ### What stays
#
# In the digits script, a list of losses kept graphs alive. If memory grows until a run fails, you have to find such a
# list. The next cell runs the eight layers on 1, 2, 8 and 16 batches, with recording on. Three loops differ in how much
# of each loss they keep; `loss.detach()` is the loss without its graph.

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
# Only `keep_losses` grows noticeably: by 256 KiB per batch, the eight results in its graph. `keep_the_last` never holds
# more than two graphs: the current batch's and the previous batch's, which is freed when `loss` is reassigned.
#
# So recording costs memory once. What makes it *grow* is keeping a tensor that has a graph. Keep `loss.detach()`
# instead, or the Python number `loss.item()`.
#
# ### Updates
#
# If you change a parameter by hand in the wrong way, it stops learning after one step. A step of gradient descent is
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
# Only the third, though all three end up with the value 3.20.
#
# 1. The new `w` is the result of a recorded operation, so it isn't a leaf. The next `backward` leaves its `.grad` at
#    `None`.
# 2. The new `w` was computed with recording off, so it doesn't require grad.
# 3. `w` is the original tensor, changed in place, which is how optimizers do it. (Outside `no_grad`, that line raises
#    an error; lab 5 explains why.)
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
detached, cloned = [], []
for _ in range(3):
    detached.append(w.detach())
    cloned.append(w.detach().clone())
    (grad,) = torch.autograd.grad((w**2).sum(), w)
    with torch.no_grad():
        w -= 0.25 * grad
print("detach()        ", [t.tolist() for t in detached])
print("detach().clone()", [t.tolist() for t in cloned])

# %% [markdown]
# `detach()` doesn't make a copy. It returns a second tensor that shares `w`'s memory, so all three entries show the
# current value of `w`. For a snapshot, you need `clone()`.
#
# An optimizer has to change its caller's parameter, so it writes in place. In the next exercise, no one else holds the
# point, so each step may make a new tensor, which becomes the next leaf.
#
# ### Your turn: descend
# To find out why an optimizer gets lost or takes so long, you plot its path, as *Further practice* does. So write
# gradient descent that returns every point it visits. On `bowl`, the sum of squares, with `lr=0.25`, each step halves
# the point: `[4, -2]`, then `[2, -1]`, `[1, -0.5]` and so on. Each point that you return needs its own memory.

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
# In some losses, a prediction is compared with a *target* that is computed by the same model. For example, a program
# that learns to play a game predicts a position's value, and compares that with its own prediction for the next
# position. Training may then move the target instead of the prediction. To prevent that, call `detach()` on the target.
# Its value is unchanged, but no gradient flows back past that point. This is called a *stop-gradient*.
#
# Suppose the value of this position is a weight `value`, now 2, and that of the next position is a weight `next_value`,
# now 3, which happens to be right. With a reward of 1 in between, the prediction is `value`, and the target is
# `1 + 0.9 * next_value`, or 3.7. The loss is their squared difference.

# %% predict: changed_by_step
# **Predict.** Which weights does a step of gradient descent change, with and without a stop on the target?
#
# - [ ] both, in both cases, because the loss is the same
# - [ ] only `value`, in both cases
# - [x] only `value` with the stop, and both without it
# - [ ] both with the stop, and only `value` without it

# %% example
for stop in (False, True):
    value, next_value = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    target = 1 + 0.9 * next_value
    if stop:
        target = target.detach()
    loss = (value - target) ** 2
    loss.backward()
    print(f"stop {stop!s:5}  loss {loss.item():.2f}  gradients {value.grad.item():.2f}, {next_value.grad}")

# %% [markdown]
# The losses are equal. With the stop, `value` gets $2 \cdot (2 - 3.7) = -3.4$, so a step increases it, and the
# prediction moves toward the target. `next_value` gets nothing. Without the stop, `next_value` gets
# $2 \cdot (2 - 3.7) \cdot (-0.9) = 3.06$, so the step lowers a value that was right, only because an earlier prediction
# was too low.
#
# The stop has a price: what you then follow isn't the gradient of any loss, and if the prediction and the target share
# weights, training can even diverge.
#
# You can also compute the target inside `no_grad`. That's cheaper: with `detach()` at the end, the whole graph is
# built, with everything it keeps, and then discarded. So use `no_grad` if an entire computation needs no gradient, as
# in `predict` below. Use `detach()` if you need a tensor both with and without its gradient, as in `window_gradients`
# in the second sitting.

# %% [markdown]
# ## `eval()` and `no_grad()`
#
# The digits script needed two switches to validate, and if you confuse them, you get wrong numbers or waste memory.
# `no_grad` affects only autograd. `model.eval()` affects layers: it sets `training` to False on every module, and
# `model.train()` sets it to True. Some layers check that flag, above all these two:
#
# | layer | in training mode | in evaluation mode |
# |---|---|---|
# | `Dropout(p)` | zeroes each element with probability `p`, divides the others by `1 - p` | returns its input |
# | `BatchNorm1d` | subtracts the batch's mean, divides by its deviation, updates averages of both | uses the averages |
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
# Under `no_grad`, about half of the elements are still zeroed, and a single batch has moved the running mean away from
# 0: the measurement changes what it measures. In evaluation mode, operations are still recorded. So you need `eval()`
# for correct numbers; `no_grad` only saves memory and time.
#
# Afterward, every module should be back in its previous mode. Does `train()` ensure that? The next model has a
# BatchNorm that was deliberately put in evaluation mode, as is common for pretrained parts.

# %% example
model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))
model[1].eval()
print("before", [module.training for module in model.modules()])
was = model.training
model.eval()
model.train(was)
print("after ", [module.training for module in model.modules()])

# %% [markdown]
# No: `model.modules()` lists the model itself and every module inside, and `train(was)` sets the same flag on all of
# them. The BatchNorm is now in training mode and will silently change its running averages in the next step.
#
# ### Your turn: predict
# A model that you validate is often in the middle of its training. Write the function that you call at such a moment:
# it returns the scores and leaves no trace, even if the model raises an error. You'll use it again in `finetune`.

# %% given
hint(
    "Which modules does model.modules() give you? What do you have to remember about each of them?",
    "Do your last lines run if the model raises an error? try ... finally runs them in any case. And "
    "module.train(flag) sets the flag of everything inside the module too. Is there a way to set just one flag?",
)

# %% exercise: predict points=4 level=medium

# %% [markdown]
# `module.training = flag` sets one flag, while `module.train(flag)` also sets it for every module inside. If you
# restore modes with `train`, a layer that is part of two modules, as in the checks, ends up in the mode of the second.
#
# Does the digits script still need any of its three changes? The next cell is the script without them, but with your
# `predict`. Which row of the table will it repeat?


# %% example
def validate_by_predict(network, x, y):
    scores = predict(network, x)
    return nn.functional.cross_entropy(scores, y), (scores.argmax(dim=1) == y).float().mean()


torch.manual_seed(1)
network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
with_dropout = 0
try:
    for _ in range(10):
        for rows in torch.arange(1500).split(100):
            with_dropout += network.training
            loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss, accuracy = validate_by_predict(network, pixels[1500:], digits[1500:])
    held = probes.saved_bytes(validate_by_predict, network, pixels[1500:], digits[1500:])
    print(f"right {accuracy:.0%}, loss {loss.item():.2f}, {with_dropout} of 150 steps with dropout, {held} bytes held")
except Exception as error:
    print("This cell needs a working predict:", repr(error))

# %% [markdown]
# The last one: 89%, 0.41, 150 steps and 0 bytes, with none of the three changes. The scores have no graph, so the loss
# has none either.

# %% [markdown]
# ## A good place to stop
#
# Next, you'll train a new head on a frozen trunk, and cut a long history. When you come back after a break, the kernel
# may have restarted: choose *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*,
# which runs the cells it needs.

# %% [markdown]
# ## Frozen parts
#
# To reuse a pretrained model, you train some of its parts and have to keep the others from changing. A part is *frozen*
# if training doesn't change it, usually because its parameters have `requires_grad=False`.
# `module.requires_grad_(False)` sets this for all parameters of a module.
#
# If the middle part of a three-part model is frozen, do the parameters of the first part get gradients? And if nothing
# is frozen but the *input* doesn't require grad, is the forward pass recorded?

# %% example
parts = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
x = torch.linspace(-1, 1, 8).reshape(2, 4)
print("input requires grad:", x.requires_grad, "  result requires grad:", parts(x).requires_grad)

parts[1].requires_grad_(False)
parts(x).sum().backward()
for name, parameter in parts.named_parameters():
    print(f"{name:9} requires_grad {parameter.requires_grad!s:5}  gradient {parameter.grad is not None}")

# %% [markdown]
# The first part gets its gradients through the frozen one. `requires_grad=False` on a parameter means that no gradient
# is computed *for it*; the frozen layer still passes a gradient to its input. With `no_grad` around the middle part,
# the first part couldn't learn, because that cuts the path.
#
# The forward pass is recorded even though its input doesn't require grad. Some texts claim that
# `x.requires_grad = False` does the same as `no_grad`. It doesn't: the parameters still require grad. Besides, you can
# clear that flag only on leaves.
#
# | what you do | gradients pass through | the part's parameters get gradients | what the part keeps for `backward` |
# |---|---|---|---|
# | leave it as it is | yes | yes | everything |
# | `part.requires_grad_(False)` | yes | no | nothing if no input requires grad; otherwise less: a Linear, its weight |
# | `no_grad` around the part | no | no | nothing |
# | `detach()` on the part's result | no | no | everything, until the undetached result is gone |
#
# The trunk in the next section will run inside `no_grad`. A frozen trunk wouldn't record anything either, because its
# input doesn't require grad, but freezing changes flags that the trunk's other users rely on.
#
# There are two traps. None of the four stops a BatchNorm in training mode from updating its running averages; only
# `eval()` does. And freezing doesn't clear `.grad`: if an optimizer still holds the parameter, its next step applies
# the old gradient, unless `zero_grad()` comes first.

# %% [markdown]
# ## A new head on a frozen trunk
#
# You have only 20 labeled images for a new task, but you also have a network for a similar task. You keep all its
# layers but the last as a *trunk*, and train a new last layer, or *head*. The trunk doesn't learn, so it needs no
# graph. Someone is still using it with its old head, so it must not change.
#
# ### Your turn: finetune
# Do this if several heads share a trunk, or if there's no time to train it. Write the training loop: it takes one step
# of the head for each batch and leaves the trunk exactly as it was, running averages included. Compute the features
# with your `predict`, which already does that.

# %% given
hint(
    "Which part runs inside no_grad, and which must not? Whose parameters does the optimizer get?",
    "If predict computes the features, only the head is left. The head's mode? What's in .grad before the first step? "
    "What goes into the list of losses?",
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
train_all(whole, whole_head, few, 200, 0.1)
report("baseline: from the 20, 200 epochs", whole, whole_head)
try:
    for _ in range(20):
        finetune(trunk, new_head, few, 0.1)
    report("a new head, by finetune, 20 epochs", trunk, new_head)
    report("the old head on the trunk, afterward", trunk, old_head)
except Exception as error:
    print("This cell needs a working finetune:", repr(error))
train_all(trunk, old_head, few, 20, 0.1)
report("all of the old network, trained", trunk, old_head)

# %% [markdown]
# From 20 images, the new head gets 75% right after 20 epochs. Without any further training, the old network gets 66%,
# and a network that learns from these images alone gets 72% after 200 epochs; after 20, it's at 68%. With each seed
# from 1 to 8, the head was the best of the three, one to six points above the network from scratch. The trunk hasn't
# changed, so with its old head it still reads 89% of the old scans.
#
# The last line shows the alternative: if you train all of the old network, it gets 80% of the new scans, but also
# only 80% of the old ones. So freeze the trunk if other heads rely on it; otherwise, measure both.

# %% [markdown]
# ## Through a graph twice
#
# "Trying to backward through the graph a second time" is a common error, and its message advises you to set
# `retain_graph=True`, which is often wrong. You know the cause from lab 3: as `backward` passes through a node, it
# frees the tensors that the node keeps, so a second pass finds nothing there. (Only these tensors are freed; the nodes
# themselves live as long as something refers to them.)
#
# With `retain_graph=True`, a pass frees nothing, so a second one works, and its gradient is added to the first:
# `x.grad` for $x^3$ at 2 is 12 after the first pass and 24 after the second. (To differentiate the gradient itself, you
# need `create_graph=True`, which records the backward pass too.) What does `retain_graph=True` cost? Some texts say
# that it doubles what a backward pass keeps.
#
# The next picture shows what the eight layers hold for `backward`. A step is one Linear or one Tanh, so there are 16
# steps in the forward pass and 16 in the backward pass. Before you run the cell, sketch the curve for a normal
# `backward` and for one with `retain_graph=True`. The buttons in the picture select one of four variants.

# %% example
show_kept(layers, batch)

# %% [markdown]
# The normal curve is a hill: each Tanh adds its result in the forward pass and frees it in the backward pass. With
# `retain_graph=True`, the curve climbs to the same peak, so nothing is doubled, but there's no descent: the tensors
# stay until the last tensor that uses the graph is gone. (They're still there when the gradients of the weights arrive,
# so the peak of *all* memory is higher: 804 KiB instead of 548 for these layers.) With `no_grad`, there's no hill. With
# `detach()` at the end, there's the whole climb, and then a cliff.
#
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
# All three agree. You need `retain_graph=True` only for separate passes, and then for all but the last. In the next
# section, it's the wrong answer.
#
# ### A long history
#
# The graph of a recurrent network grows with the sequence, so the graph of a long sequence doesn't fit in memory. Such
# a network reads a sequence one step at a time, and computes a new *state* from the old state and an input, with
# weights `w`: `h = cell(w, h, x)`. After a thousand steps, the state's graph contains all thousand of them.
#
# So you split the sequence into *windows* of `k` steps. The state carries over from window to window, and each window
# has its own `backward`. This is *truncated backpropagation through time*. Here are two windows of three steps each.
# What happens in the second one?


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
# It fails. The message goes on to recommend `retain_graph=True`. But which graph does it mean? The next picture shows
# three windows of three states each. Each arrow leads from a state to the one before it, and its number counts how many
# of the three `backward` calls sent a gradient that way. The top row follows the advice; in the bottom row, the state
# is detached between windows.


# %% given folded
def draw_visits():
    """How often a gradient goes from each state to the one before, counted with hooks on the states."""
    figure, axes = plt.subplots(2, 1, figsize=(9, 3.2))
    for axis, cut in zip(axes, (False, True), strict=True):
        w, h = torch.tensor(0.7, requires_grad=True), torch.tensor(0.0)
        visits = []
        for i in range(9):
            if cut and i % 3 == 0:
                h = h.detach()
            h = torch.tanh(w * h + 0.5)
            h.register_hook(lambda gradient, i=i, visits=visits: visits.append(i))
            if i % 3 == 2:
                (h**2).backward(retain_graph=True)
        for i in range(9):
            state = {"boxstyle": "circle", "facecolor": "white"}
            axis.annotate(f"h{i + 1}", (i, 0), ha="center", va="center", bbox=state)
            if cut and i in (2, 5):
                axis.plot([i + 0.5, i + 0.5], [-0.4, 0.4], color="black", linewidth=3)
            elif i < 8:
                number = visits.count(i + 1)  # gradients that reach h(i+1) from h(i+2)
                style = {"arrowstyle": "->", "color": "tab:red", "linewidth": 1.2 * number}
                axis.annotate("", (i + 0.2, 0), (i + 0.8, 0), arrowprops=style)
                axis.annotate(str(number), (i + 0.5, -0.35), color="tab:red", ha="center")
        title = "detached between the windows" if cut else "retain_graph=True"
        axis.set(title=f"{title}: {len(visits)} visits to 9 states", xlim=(-0.4, 8.4), ylim=(-0.6, 0.5))
        axis.axis("off")
    figure.tight_layout()
    plt.show()


# %% example
draw_visits()

# %% [markdown]
# The error was right, but its advice was wrong here: the missing graph belonged to an earlier window, which you never
# wanted to revisit. With `retain_graph=True`, each `backward` goes through *all* windows back to the first, and
# everything they keep stays in memory. The gradient isn't wrong: each visit belongs to a different window's loss, so
# the sum is exact, with no truncation. But for $m$ windows, you pay for about $m^2/2$ passes through a window. If
# that's the gradient you want, add up the losses and call `backward` once. And if the optimizer also takes a step after
# each window, the advice only trades one error for another: the step overwrites weights that the old windows keep (lab
# 5).
#
# With a detached state, each `backward` ends where its window begins.
#
# ### Your turn: window_gradients
# With windows, you can train on a sequence whose whole graph wouldn't fit in memory, such as an hour of audio. Cut the
# graph between windows: keep the state's value but drop its history. Add up the windows' gradients for a single update;
# the optimizer step is up to the caller.
#
# The checks use `tanh_cell` and others like it. (Lab 8 covers `torch.func`, which the docstring rules out.)


# %% given
# The state h and the input x are (d,), the weights w (d, d).
def tanh_cell(w, h, x):
    return torch.tanh(w @ h + x)


# %% given
hint(
    "Where does a window's graph begin? What must h be at that point?",
    "Add up the losses of one window, get the gradient, add it to the total, and cut the graph. How many steps does "
    "the last window have if k doesn't divide the length of the sequence evenly?",
)

# %% exercise: window_gradients points=4 level=hard

# %% [markdown]
# Now train with it: you want to copy a recurrent network whose weights you can't see. You've recorded 400 of its inputs
# and states. In a few seconds, the next cell fits weights of your own to them, with windows of 1, 20, and all 400
# steps. Which windows do as well as the whole sequence, and how much memory do they hold?

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
except Exception as error:
    print("This cell needs a working window_gradients:", repr(error))

# %% [markdown]
# Windows of 20 take the loss from 0.690 to 0.015, just as the whole sequence does. But with our solution, they hold
# 2,920 bytes at most, however long the sequence is, while the whole sequence holds 51,460 for 400 steps. (Yours may
# hold half or twice as much, depending on how you write the loss.)
#
# Windows of 1 only get to 0.096. A weight can affect a loss many steps later. Within a window, the gradient includes
# that effect; across a cut, it doesn't, even though the state's value crosses the cut. How would you choose `k`?

# %% answer [markdown]
# As large as memory and the time per optimizer step allow, and at least as long as the dependency that the network
# should learn. Memory grows with `k`; the total time spent in backward passes doesn't. If a larger `k` no longer
# improves the validation loss, `k` is large enough.

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
#   > It fails only if a saved tensor is missing. `x + 1` keeps nothing, so two passes work.
# - [ ] If two losses share part of a graph, you can't get the gradient of their sum without `retain_graph=True`.
#   > Their sum, or a single call to `torch.autograd.backward` with both, needs only one pass. All three approaches gave
#   > the same gradient.
# - [ ] With `retain_graph=True`, the gradient can itself be differentiated.
#   > It keeps the forward graph but doesn't record the backward pass, so the gradient has no graph.
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
# so window m costs about m times as much as the first, and everything that the nodes keep stays in memory. I would
# detach the state between windows, which keeps its value and ends its history. Then every window costs the same. The
# network loses the gradient across the cut: it can't learn from a loss that something more than a window ago should
# have been different, though the state still carries information over. `retain_graph=True` is right if you want to go
# through the *same* graph again, for instance to get separate gradients for two losses with a shared part, and then for
# all passes but the last.
#
# For grading: one point for the cause (the graph extends into earlier windows, so time and memory grow), and one for
# detaching the state, its cost, and a proper use of `retain_graph=True`.
# ### END SOLUTION

# %% [markdown]
# ## Asked in interviews
#
# Optional: answer the question aloud before you open the answer.
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

# %% [markdown]
# ## On one sheet
#
# - A stop-gradient doesn't change the printed loss, but it changes what is learned.
# - A frozen parameter gets no gradient but lets gradients through; `no_grad` doesn't. An old `.grad` stays when you
#   freeze a parameter, until something clears it.
# - `eval()` affects layers; `no_grad` affects recording. Restore each module's mode, not just the model's.
# - A loss keeps its graph alive and, until `backward` has run, everything that the graph's nodes keep. Store numbers or
#   detached tensors instead.
# - Cut the state between windows. Don't add `retain_graph=True` just because an error message suggests it.
# - Measure what a technique gains over a baseline without it.
#
# | call | what it does or costs |
# |---|---|
# | `torch.no_grad()` | works only in a `with` statement or as a decorator; unrecorded operations keep nothing |
# | `torch.set_grad_enabled(False)` | takes effect as soon as it's called; use it in a `with` statement |
# | `torch.enable_grad()` | turns recording back on inside `no_grad` |
# | `t.detach()` | stops the gradient at `t`; the result shares memory with `t`, so a snapshot takes `.clone()` too |
# | `module.requires_grad_(False)` | no gradient for its parameters; gradients still pass through |
# | `retain_graph=True` | keeps saved tensors after the pass, so a second pass works; only the gradients come on top |
#
# Three questions to ask about your own code:
#
# - Which tensors from the last step are still held, and which graphs do they keep alive?
# - Is each term of my loss connected to the weights that it should train?
# - Which modes, flags and gradients does my function change, even after an error?
#
# Lab 5 is about in-place operations: what they do to the graph, and when autograd notices.

# %% [markdown]
# ## Further practice
#
# The rest is optional and earns no points. Choose what you need: plot a path, write a loss with a stop, find the pixels
# that count, compute features once, multiply by a Hessian, or train with a loss that contains a gradient.

# %% [markdown]
# ## Two paths down a valley
#
# The next cell uses your `descend` to take 20 steps down a valley that curves ten times as much across as along. What
# slows the path down with a learning rate of 0.02, and what slows it down with 0.095?


# %% given folded
def draw_paths(f, paths):
    """The points of each path over the contours of f."""
    figure, axes = plt.subplots(1, len(paths), figsize=(9, 2.8), sharey=True)
    columns, rows = torch.meshgrid(torch.linspace(-0.5, 4.5, 60), torch.linspace(-1.5, 1.5, 60), indexing="xy")
    heights = f(torch.stack([columns, rows])).cpu()
    for axis, (text, points) in zip(axes, paths.items(), strict=True):
        axis.contour(columns.cpu(), rows.cpu(), heights, levels=[0.1, 0.5, 2, 5, 10, 20, 30], colors="lightgray")
        axis.plot(*torch.stack(list(points)).T.detach().cpu(), ".-", color="tab:red")
        axis.set_title(f"{text}: {f(points[-1]).item():.2f} after {len(points) - 1} steps")
    figure.tight_layout()
    plt.show()


# %% example
def valley(x):
    return x[0] ** 2 + 10 * x[1] ** 2


try:
    draw_paths(valley, {f"lr {lr}": descend(valley, torch.tensor([4.0, 1.0]), lr, 20) for lr in (0.02, 0.095)})
except Exception as error:
    print("This cell needs a working descend:", repr(error))

# %% [markdown]
# With 0.02, the path soon reaches the floor of the valley, but creeps along it: the value falls from 26 to 3.13. With
# 0.095, it jumps from one side to the other, but gets to 0.15. The steep direction limits the learning rate, but the
# flat direction needs a large one.

# %% [markdown]
# ## Targets in Q-learning
#
# In *A stop in the middle*, a forgotten `detach()` changed a weight that was right. Here, you write a loss that's used
# in practice and needs such a stop.
#
# ### Your turn: td_loss
# Do this one if you want to train a model against targets of its own, as in reinforcement learning: it's the loss of
# deep Q-learning, and its usual mistakes raise no error.
#
# A program plays a game. At each step, it's in a *state*, described by `d` numbers; it chooses an *action*, gets a
# *reward*, and reaches the next state. It predicts the total reward that will follow each action: the predictions are
# `state @ q`, where `q` is a weight matrix. After the step, it knows that its prediction for the action taken should
# have been close to the *target*: the reward plus `gamma` times the largest prediction for the next state, or just the
# reward if the game ended there. The target uses `target_q`, an older copy of `q`, or sometimes `q` itself. Either way,
# it's treated as a constant.

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
# ## Which pixels count?
#
# A gradient flows through frozen parts, and it doesn't have to end at a parameter. If it ends at the input, it tells
# you which input numbers matter for a score.
#
# ### Your turn: saliency
# Do this one if you want to see which pixels made a model say "cat". One answer is the gradient of the "cat" score with
# respect to the input, called a *saliency map*. That gradient flows through the whole model, but the model must not
# change: the caller may be accumulating gradients for a training step, and some parameters may be frozen.

# %% given
hint(
    "Of the two functions that run a backward pass, which one doesn't write to .grad? What must be a leaf that "
    "requires grad?",
    "The scores are (n, classes). Take one from each row and add them up: a sample's score doesn't depend on the "
    "other samples here, so the gradient of the sum holds each sample's own gradient in its row.",
)

# %% exercise: saliency points=2 level=medium further

# %% [markdown]
# Which call computes no gradient for any weight? The docstring also says that no row of the scores depends on another
# row. Which layer, in which mode, would violate that?

# %% answer [markdown]
# `torch.autograd.grad(scores.sum(), leaf)` follows only the paths to `leaf`.
#
# BatchNorm in training mode would violate it: it subtracts the batch mean, so each score depends on every sample, and
# the gradient of the sum mixes the samples.

# %% [markdown]
# The next cell uses your function on a small model that reads the digits. Where would more ink raise the score of the
# 0?

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
except Exception as error:
    print("This cell needs a working saliency:", repr(error))
show_saliency(dict(zip(maps, scans, strict=False)), maps)

# %% answer [markdown]
# On the ring of the 0, where the first image's map is positive. In the hole in the middle, the map is clearly negative.
# Don't read much into the left and right edges: ink is rare there, and three of those pixels are 0 in every image, so
# their weights never get a gradient and the map shows only their random initial values.

# %% [markdown]
# ## Inference mode
#
# `torch.inference_mode()` is a stricter `no_grad`. If you confuse the two, you get an error, but far from the line to
# blame. A tensor created inside it is an *inference tensor*. It's slightly cheaper to create because it has no version
# counter, the number by which autograd notices in-place changes. Some texts claim that such a tensor can never be used
# in a computation that you run `backward` on. The next cell tries six operations on one.

# %% predict: refused_inference
# **Predict.** `y` is an inference tensor, and `w` requires grad. Outside the block, which lines raise an error?
#
# - [ ] `(y + w).sum().backward()`
# - [x] `(y * w).sum().backward()`
# - [x] `(y.detach() * w).sum().backward()`
# - [ ] `(y.clone() * w).sum().backward()`
# - [x] `y.add_(1)`

# %% example
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
# called outside the block, returns a normal tensor. The last two lines would change `y` itself, either its flag or its
# values.
#
# `enable_grad` had no effect inside the block. To turn recording back on, use `with torch.inference_mode(False):`.
# Inside it, operations are recorded and new tensors are normal, but tensors created earlier remain inference tensors.
#
# The difference in time is small: for three models, from tiny to large, the time was within 2% of that with `no_grad`.

# %% [markdown]
# **Asked in interviews: when do you use `no_grad`, and when `inference_mode`?**
#
# <details><summary>A good answer</summary>
#
# Both turn recording off, so nothing is kept for `backward`. `no_grad` produces normal tensors, which can be constants
# in a later graph. `inference_mode` is stricter: its tensors have no version counter, so PyTorch refuses to save them
# for `backward`, and outside the block they can't be changed in place. The trap is claiming that they can never be used
# in a recorded computation. Adding one works, since addition saves nothing. Multiplying one by a weight raises an
# error, unless you `clone()` it outside the block. I use `inference_mode` for results that leave the program, and
# `no_grad` for those that may be used in training.
#
# </details>
#
# ### Your turn: cached_features
# Do this one if you train heads on a trunk that stays frozen for many epochs: its outputs, called *features*, need to
# be computed only once. Here, the trunk can be any function (an *encoder*) whose parameters still require grad.

# %% given
hint(
    "Will the result be used in training later? Which switch fits that?",
    "If you choose inference_mode, where must the copy be made: inside the block or outside?",
)

# %% exercise: cached_features points=2 level=easy further

# %% [markdown]
# What do you gain from the cache? The next cell trains a head for 30 epochs on the digits' features from an encoder
# with random weights. The baseline computes the features in every epoch.

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
    except Exception as error:
        print("This cell needs a working cached_features:", repr(error))

# %% [markdown]
# The loss is the same, 0.516. On one CPU thread, the baseline took about 700 ms, and the version with the cache took
# 80. If you see the error about inference tensors in such a loop, look for the line that *created* the tensor.

# %% [markdown]
# ## Gradients of gradients
#
# Some losses contain a gradient, so training has to differentiate that gradient. An ordinary `backward` doesn't allow
# that, because the gradient has no graph. `create_graph=True` records the backward pass too, which gives the gradient a
# graph.
#
# The next cell computes the derivative of $x^3$, $3x^2$, in three ways; at 3, it's 27.

# %% predict: second_derivative
# **Predict.** With which options can you differentiate again to get the second derivative, $6x$? (At 3, it's 18.)
#
# - [ ] without any
# - [ ] with `retain_graph=True`
# - [x] with `create_graph=True`
# - [ ] with either of the two


# %% example
def derivatives(text, **options):
    x = torch.tensor(3.0, requires_grad=True)
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
# when you pass it as `grad_outputs`?

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
# with one number `mix` per sample. (In theory, the best critic has norm 1 between real and fake samples that optimal
# transport pairs up. In practice, the pairs are random, so this is a heuristic.)
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
# sample's norm is taken over all of its own numbers. And take care of a gradient of zero: the slope of a square root at
# 0 is infinite, and infinity times 0 is NaN.

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
