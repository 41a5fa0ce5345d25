# %% [markdown]
# # Training: the loop, and what goes wrong in it
#
# A training loop has five lines. Many broken ones run without an error, and some of them even learn a little. In this
# lab you write the parts of a loop, and you find out which mistakes show, and which do not.
#
# After this lab you can
#
# - build a model so that everything in it is moved, saved and trained as it should be;
# - write an optimizer and a schedule yourself;
# - account for a loss over batches of unequal sizes;
# - accumulate gradients exactly;
# - stop early, and go on after a stop to the same bits.
#
# You need labs 2 to 4; lab 5 helps. Plan two sittings of about an hour. All numbers were measured with PyTorch 2.13 on
# a CPU.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise a card shows its checks. Those
# marked *later* run when the lab is marked: with the button *Mark my work*, or after handing in. A person reads the
# last question.

# %% given
import copy
import io
import math
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    probes,
    show_curves,
    show_paths,
    use_device,
)

# %% given
here = use_device()  # where new tensors are made: on the GPU, if there is one

# %% [markdown]
# ## The data
#
# scikit-learn brings 1,797 images of handwritten digits, each 8 by 8 pixels with values from 0 to 16. We put them into
# a random order and divide them: 1,000 to train on, 397 to choose by (*validation*), and 400 that nobody looks at
# before the end (*test*).
#
# The mean and the standard deviation that the pixels are scaled with come from the 1,000 alone. Why not from all?

# %% example
digits = load_digits()
order = torch.randperm(len(digits.target), device="cpu", generator=torch.Generator().manual_seed(0))
images = torch.tensor(digits.data, dtype=torch.float32)[order]
classes = torch.tensor(digits.target)[order]
mean, std = images[:1000].mean(), images[:1000].std()
scaled = (images - mean) / std

training = TensorDataset(scaled[:1000], classes[:1000])
validation = TensorDataset(scaled[1000:1397], classes[1000:1397])
figure, every = plt.subplots(1, 8, figsize=(8, 1.4))
for axes, image, label in zip(every, images[:8], classes[:8], strict=True):
    axes.imshow(image.reshape(8, 8).cpu(), cmap="gray_r")
    axes.set_title(str(label.item()), fontsize=9)
    axes.axis("off")

# %% [markdown]
# Validation and test stand for data that is not there yet. A number that was computed from them has looked into the
# future. Here the difference would be small. In other data it is the whole result.
#
# A `TensorDataset` gives one sample for an index, and several, stacked, for a slice. A `DataLoader` makes batches of a
# dataset: it draws an order, if asked to, cuts it into pieces, and stacks the samples of each piece. `len(loader)` is
# the number of batches. With 1,000 samples and batches of 64, how many are there?

# %% predict: last_batch answer=40
# **Predict.** There are 1,000 samples, in batches of 64. How large is the last batch?

# %% example
loader = DataLoader(training, batch_size=64, shuffle=True, generator=torch.Generator(here).manual_seed(1))
sizes = [len(y) for _, y in loader]
print("batches", len(loader), " sizes", sizes)

# %% [markdown]
# The last one has 40. Keep it in mind. It is behind three mistakes of this lab.
#
# The labels are int64, as `cross_entropy` wants them. It takes uint8 too, and refuses int32 and the other integers. It
# refuses floats that look like classes, one for each sample. *Logits* are scores, one for each class, that a classifier
# gives before they are made probabilities. Labels that are floats of the logits' shape, (N, C), are taken for
# probabilities of the classes. `nn.Embedding` takes int32 too.
#
# ## A module and its parts
#
# A `nn.Module` is a model, or a part of one. It keeps *parameters*, which training changes; *buffers*, which belong to
# the model and are not trained; and other modules. It finds them when they are assigned as attributes. A plain function
# of tensors can be a model too, but nobody can ask it for its parameters.
#
# The next module has five things of its own. Which of their names will `state_dict()` hold, and which will be cast by
# `.double()`?

# %% predict: listed_parameters
# **Predict.** Which of these will `named_parameters()` list?
#
# - [x] `scale`, an `nn.Parameter`
# - [ ] `seen`, registered as a buffer
# - [ ] `plain`, a tensor
# - [x] the weight of `layer`, an `nn.Linear`
# - [ ] the weight of the layer in the list `layers`

# %% example
torch.manual_seed(0)


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(2))
        self.plain = torch.zeros(2)
        self.layer = nn.Linear(2, 2, bias=False)
        self.layers = [nn.Linear(2, 2)]


parts = Parts().double()
print("parameters:", [name for name, _ in parts.named_parameters()])
print("state_dict:", list(parts.state_dict()))
print("cast      :", {"plain": parts.plain.dtype, "layers[0].weight": parts.layers[0].weight.dtype})

# %% [markdown]
# Neither the plain tensor nor the layer in the list is known to the module. Both are left behind when the model is
# cast, moved or saved. Worse, no optimizer ever sees the weights in the list. The forward pass works all the same. For
# several modules there are `nn.ModuleList`, `nn.ModuleDict` and `nn.Sequential`, which register what they hold.
#
# One layer of our model needs a word before you build it. `nn.Dropout(p)` sets each number to zero with probability $p$
# while the model is in *training mode*, and divides the others by $1 - p$. In *evaluation mode* it does nothing. The
# modes are set by `model.train()` and `model.eval()`. A module is in training mode when it is made.
#
# ### Your turn: MLP
# A warm-up, done in ten minutes. Build a classifier: linear layers, with ReLU and dropout after each but the last. The
# outputs of the last one are logits, and the loss makes probabilities of them by itself. A softmax before it hides a
# sure answer: where the right class has the logit 10 and the other one 0, the loss is 0.3133 instead of 0.00005. That
# was the third wrong line of the script that opens lab 1. What would a ReLU take away from a logit?

# %% given
hint(
    "Which container registers a number of layers that is not known before?",
    "sizes has one number more than there are layers. Which of the layers is followed by ReLU and dropout?",
)

# %% exercise: MLP points=3

# %% [markdown]
# Did you get an AttributeError, "cannot assign module before Module.__init__() call"? A module must call
# `super().__init__()` before a layer is assigned to it. Until then it has nowhere to register the layer.
#
# A question to think about: one `nn.Dropout` object could serve all places, since it has no parameters. Could one
# `nn.BatchNorm1d` object do so? That layer brings a trap of its own. In training mode it takes the mean and deviation
# over the batch, so a batch of one sample raises a ValueError. The last batch of an epoch may be one. Other layers have
# other traps. `nn.LSTM` gives its state with the layers first, also with `batch_first=True`. With `padding_idx=0`, a
# lookup in `nn.Embedding` gives row 0 no gradient. Weight decay, or a second use of the table, changes that row all the
# same (lab 6b).
#
# ### How many parameters, and how do they start?
#
# `sum(p.numel() for p in model.parameters())` counts the numbers that training may change. A tensor that is used in two
# places is counted once. `state_dict()` lists it twice, so count by `parameters()`. A classifier with the sizes 784,
# 512, 256 and 10, and an `nn.BatchNorm1d` behind each hidden layer, has 537,354 of these numbers, and 16 entries in its
# `state_dict()`.
#
# `nn.Linear` starts with small random weights. Are they needed? In the next cell a model of 64, 32 and 10 starts once
# as it comes and once with zeros everywhere, and makes 20 steps on all 1,000 samples. Before any learning, ten equally
# likely classes have the loss $\log 10$, which is 2.30.

# %% predict: start_with_zeros
# **Predict.** What is the loss of the model that started with zeros, after 20 steps?
#
# - [ ] as low as that of the other model
# - [ ] lower than at the start, but behind the other model
# - [x] still about 2.30
# - [ ] nan


# %% example
def plain_model(seed):
    """64 to 32 to 10 with a ReLU. The same seed gives the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def after_20_steps(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(scaled[:1000]), classes[:1000])
        loss.backward()
        optimizer.step()
    return loss.item()


zeros = plain_model(0)
with torch.no_grad():
    for parameter in zeros.parameters():
        parameter.zero_()
print("parameters", sum(p.numel() for p in zeros.parameters()))
print(f"as it comes: loss {after_20_steps(plain_model(0)):.2f}")
print(f"all zeros  : loss {after_20_steps(zeros):.2f}  first layer still zero: {bool((zeros[0].weight == 0).all())}")

# %% [markdown]
# With zeros, all hidden numbers are zero. So no gradient reaches the first layer, and the second layer learns its
# biases only. If all weights were one and the same number other than zero, the hidden units would all be equal, get
# equal gradients, and stay equal for ever. Random numbers make them different.
#
# ## A schedule
#
# The *learning rate* is the factor that an optimizer multiplies its step with. A *schedule* changes it from step to
# step. A common one begins with a warm-up, because the first gradients of fresh weights are wild. *Warm-up* is a start
# with small rates that grow linearly to the full one; in a measurement, as in lab 7b, it is first runs that do not
# count. After it, this schedule falls along half a cosine wave to zero.

# %% [markdown]
# ### Your turn: warmup_cosine
# Write it as a function of the step. At which step should the peak be reached, and which value belongs to step 0? Read
# the docstring twice. Schedules are where steps are miscounted by one.

# %% given
hint(
    "The progress through the second part goes from 0, at the step of the peak, to 1, at the step total. Which formula "
    "gives half a cosine wave from 1 to 0?",
    "cos(0) is 1 and cos(pi) is -1. Add one, and halve. What happens in your first part if warmup is 0?",
)

# %% exercise: warmup_cosine points=2

# %% [markdown]
# `torch.optim.lr_scheduler.LambdaLR(optimizer, f)` takes the optimizer's own rate times `f(step)`. Call its `step()`
# after `optimizer.step()`. If it is called before, the first value is skipped, and PyTorch warns. Call it once for each
# step or once for each epoch, as you counted. An *epoch* is one pass over the training data, and a *step* is one update
# of the parameters.
#
# ## Which parameters decay?
#
# *Weight decay* is a pull of the parameters towards zero: plain SGD with `weight_decay=c` adds `c * parameter` to each
# gradient. It is meant for weights, the factors in products. A bias is no factor. The weight of a normalisation layer
# is one, but pulling it to zero switches the layer off. Many recipes decay neither.
#
# An optimizer takes *parameter groups*: a list of dicts with the key `"params"` and options of their own. What would
# you go by to tell a weight from the others: its name, the type of its module, or its shape? Look at the shapes.

# %% example
torch.manual_seed(0)
example = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
for name, parameter in example.named_parameters():
    print(f"{name:10} {tuple(parameter.shape)}")

# %% [markdown]
# Biases and the weights of normalisation layers have one dimension. Matrices, embedding tables and convolution kernels
# have two or more.
#
# A parameter that is *frozen* does not require grad. It should be in no group. Be careful with the word: setting
# `module.requires_grad = False` only makes a new attribute of that name. Nothing is frozen by it.
# `module.requires_grad_(False)`, with the underscore, freezes all its parameters. And an optimizer changes a frozen
# parameter all the same, where an old `.grad` is left.
#
# ### Your turn: decay_groups
# Make the groups.

# %% given
hint(
    "Which attribute says how many dimensions a tensor has? Which one says whether it is frozen?",
    "A weight that is used in two modules must not be in the list twice. Which of the methods that list parameters "
    "gives it once?",
)

# %% exercise: decay_groups points=3

# %% [markdown]
# A weight that SGD gets twice in one list gives a warning, and two steps at once. In two groups it raises an error.
#
# `Tied` shares its weight by assigning one Parameter to both modules. Some write `a.weight.data = b.weight.data`.
# That makes two Parameters on one memory. Adam then steps twice on it, with two sets of averages, and the first cast or
# move of the model gives each its own memory.
#
# ## An optimizer by hand
#
# SGD walks against the gradient. Adam keeps two running averages for each number of each parameter: `m`, the mean of
# the gradients, and `v`, the mean of their squares. Its step has the direction of `m` and is divided by the root of
# `v`. Suppose that a loss, and so each gradient, is a thousand times as large.

# %% predict: larger_loss
# **Predict.** The loss is a thousand times as large. What happens to the first step?
#
# - [ ] SGD and Adam: a thousand times as large
# - [x] SGD: a thousand times as large. Adam: the same
# - [ ] SGD: the same. Adam: a thousand times as large
# - [ ] SGD and Adam: the same, since the rate is the same

# %% example
for optimizer_type in (torch.optim.SGD, torch.optim.Adam):
    moved = []
    for factor in (1.0, 1000.0):
        w = nn.Parameter(torch.tensor([1.0]))
        optimizer = optimizer_type([w], lr=0.1)
        (factor * w).sum().backward()
        optimizer.step()
        moved.append(1 - w.item())
    print(f"{optimizer_type.__name__:5} moved by {moved[0]:.4f}, with a loss 1000 times as large by {moved[1]:.4f}")

# %% [markdown]
# The step of SGD is a thousand times as large, and that of Adam is the same. This is why Adam hides mistakes in the
# scale of a loss, and why the checks of this lab use SGD.
#
# Both averages start at zero, and so they are too small at first. Adam corrects that. In step $t$, with the gradient
# $g$, the parameter $p$ and the factors $b_1$ and $b_2$, it computes
#
# $$m = b_1 m + (1 - b_1)\, g, \qquad v = b_2 v + (1 - b_2)\, g^2$$
#
# $$\hat m = \frac{m}{1 - b_1^t}, \qquad \hat v = \frac{v}{1 - b_2^t}$$
#
# $$p = p - \text{lr} \cdot \frac{\hat m}{\sqrt{\hat v} + \text{eps}}$$
#
# In the first step $\hat m$ is the gradient itself, and $\hat v$ its square. How far does the parameter move then?
#
# ### Your turn: adam_step_
# Write one step for a list of parameters. A parameter without a gradient is left out: `zero_grad()` sets `.grad` to
# `None`, so that a part of a model that took no part in this step neither moves nor forgets.

# %% given
hint(
    "The state must survive from call to call, and belongs to each parameter by its place in the list. Which kind of "
    "object can the caller hand in, and see changed?",
    "Does each parameter count its own steps? One that was left out has made fewer.",
)

# %% exercise: adam_step_ points=4

# %% [markdown]
# Your state holds two tensors of the parameter's size. A float32 parameter takes 4 bytes, its gradient 4, and the two
# averages 8. For a model of 7 billion parameters these are 28, 28 and 56 gigabytes.
#
# *Momentum* is a memory of earlier gradients: a buffer, as large as the parameter, that each step follows. SGD with
# momentum keeps this one tensor. Each step multiplies the buffer by the momentum (say 0.9), adds the gradient, and
# moves against the buffer instead of the gradient.
#
# Below, three of them go down a valley that bends a hundred times as much across as it does along. The learning rates
# differ, since the same one would not suit them all. Play it. Which one changes sides at every step? Which ones run
# past the lowest point? And which one is still far from it after 40 steps?

# %% example
show_paths(
    lambda x, y: 0.01 * x**2 + y**2,
    start=(-9.0, 2.0),
    optimizers={
        "SGD, lr 0.9": lambda parameters: torch.optim.SGD(parameters, lr=0.9),
        "momentum 0.9, lr 0.3": lambda parameters: torch.optim.SGD(parameters, lr=0.3, momentum=0.9),
        "Adam, lr 0.5": lambda parameters: torch.optim.Adam(parameters, lr=0.5),
    },
    steps=40,
    x=(-10, 4),
    y=(-2.5, 2.5),
)

# %% [markdown]
# Plain SGD changes sides at each of its 40 steps, and is still far away: it has come from -9 to -4.4. A larger rate
# would help along the valley, and a rate above 1 would throw it out across. With momentum the steps across cancel and
# those along add up. It ends close to the lowest point, having run past it by a little (to 0.17), with a loss of
# 0.0003. Adam divides each direction by the size of its gradients, so it is as fast along the valley as across it. It
# has run past as far as 1.4, and is on its way back, with a loss of 0.02.

# %% [markdown]
# ## The loop, and its order
#
# Now the loop itself. For each batch: set the gradients to `None`, compute the loss, go back, make a step. It is often
# said that `zero_grad` has to come first. Has it? The next cell trains one and the same layer for 60 steps in five
# orders. The first is zero, forward, backward, step.

# %% predict: equal_orders
# **Predict.** Which orders reach the same loss as the first one, to the last digit?
#
# - [x] forward, zero, backward, step
# - [x] forward, backward, step, zero
# - [ ] forward, backward, zero, step
# - [ ] forward, step, zero, backward

# %% example
ORDERS = {
    "zero, forward, backward, step": "zfbs",
    "forward, zero, backward, step": "fzbs",
    "forward, backward, step, zero": "fbsz",
    "forward, backward, zero, step": "fbzs",
    "forward, step, zero, backward": "fszb",
}


def losses_in_order(steps, rate=0.1, count=60):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses, loss = [], None
    for number in range(count):
        x, y = training[number * 16 % 960 : number * 16 % 960 + 16]
        for step in steps:
            if step == "z":
                optimizer.zero_grad()
            elif step == "f":
                loss = F.cross_entropy(model(x), y)
            elif step == "b":
                loss.backward()
            else:
                optimizer.step()
        losses.append(loss.item())
    return losses


for text, steps in ORDERS.items():
    losses = losses_in_order(steps)
    print(f"{text:30} first {losses[0]:.4f}   mean of the last ten {sum(losses[-10:]) / 10:.4f}")

# %% [markdown]
# The first three are equal. `zero_grad` may stand anywhere but between `backward` and `step`. There it takes the
# gradient away before it is used, and nothing is learned, without an error. The last order is the treacherous one. Each
# step uses the gradient of the batch before. It learns nearly as well, and nobody notices. Give the model a second
# layer, and this order raises an error. Lab 5 says why: `step` changes weights in place that `backward` still needs.
#
# A loop has other choices that show only in its curve. `show_curves` draws the losses of several runs. Choose
# one, and the others turn pale. The next cell tries the rates 0.001, 0.01, 0.1, 1 and 10. Which of them will be too
# small, and what will too large look like?

# %% example
RATES = (0.001, 0.01, 0.1, 1.0, 10.0)
show_curves({f"lr={rate:g}": losses_in_order("zfbs", rate) for rate in RATES})

# %% [markdown]
# With 0.001 nearly nothing happens in 60 steps. With 10 the loss jumps up and down, more than tenfold. It is no use to
# compare two models at one rate: the best rate of one may be too large for the other.
#
# ### The loss of an epoch
#
# You want one number for an epoch: the mean loss over all samples. The loss function gives the mean over a batch. The
# usual code adds up these means and divides by the number of batches. You know the last batch. What does the code do to
# its 40 samples?
#
# ### Your turn: train_epoch
# Write an epoch. The model may come in evaluation mode, and with gradients from somebody else.

# %% given
hint(
    "What do you add up for a batch so that every sample counts the same in the end?",
    "Adding up tensors that have a history keeps every graph's nodes. What gives you a plain number?",
)

# %% exercise: train_epoch points=3

# %% [markdown]
# You could compute the losses once more after the epoch, with the final weights. That is another number, usually a
# smaller one, and it costs another pass. Say which one you report.

# %% [markdown]
# ## A good place to stop
#
# Behind you: a model, a schedule, an optimizer and the loop. Next come evaluation, accumulation, stopping early, and
# going on after a stop. After a break, Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or
# press *Check*, which runs what it needs.

# %% [markdown]
# ## Evaluation
#
# To evaluate means to measure and to change nothing. Three things differ from an epoch of training. The model is in
# evaluation mode, so that dropout does nothing and a batch normalisation uses its running averages. No graph is built.
# And afterwards everything is as before.
#
# `eval()` and `no_grad()` are often taken for each other. Does `eval()` stop recording? Does `no_grad()` stop a batch
# normalisation from counting?


# %% example
def tried(text, net):
    result = net(torch.ones(2, 4))
    print(f"{text}: requires grad {result.requires_grad!s:5}  batches counted {net[1].num_batches_tracked.item()}")


def small_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5))


tried("in evaluation mode, recording on ", small_net().eval())
with torch.no_grad():
    tried("in training mode, under no_grad()", small_net())

# %% [markdown]
# Neither does the other's work. And what about the mode afterwards? `model.train()` sets the mode of *all* modules in
# the model. Suppose that somebody put one part of it into evaluation mode on purpose, for instance a pretrained part
# with running averages that must not move. After `model.eval()` and `model.train()` that is forgotten.
#
# ### Your turn: evaluate
# Measure the loss and the accuracy, and leave no trace.

# %% given
hint(
    "model.modules() lists every module in the model, itself included. Each has an attribute training.",
    "argmax over which dimension gives a class for each sample? Would a batch of 3 samples and 3 classes tell you?",
)

# %% exercise: evaluate points=3

# %% [markdown]
# The modes go back in `finally`, as in `predict` of lab 4. Otherwise one bad batch, caught somewhere further up, would
# leave the model in evaluation mode for the rest of the training. Would `inference_mode` do as well as `no_grad`? Here
# it would: nothing of it leaves the function but two numbers.
#
# ## Accumulation that is exact
#
# A batch does not fit into memory. So you go through several small ones, let the gradients add up, and step once for
# all of them. A *window* is a group of batches that share one step; in lab 4 it was a stretch of a long sequence. Lab 3
# showed that dividing each loss by the number of batches is exact only for equal sizes. A loop has a second trap. With
# 10 batches and windows of 4, how many steps does this code make, and what happens to the last two batches?
#
# ```python
# for i, (x, y) in enumerate(batches):
#     (F.cross_entropy(model(x), y) / 4).backward()
#     if (i + 1) % 4 == 0:
#         optimizer.step()
#         optimizer.zero_grad()
# ```

# %% [markdown]
# Two steps. The gradients of batches 9 and 10 are computed and stay in `.grad`, where the next epoch adds to them.
#
# ### Your turn: train_accumulated
# Write the loop so that each step has the gradient of the mean over all samples of its window, whatever the sizes, and
# so that the last window is used, however short.

# %% given
hint(
    "How many samples a window has is known at its end. What can you do to a gradient then?",
    "Let each batch add the gradient of the sum of its losses. What do you divide by, and when?",
)

# %% exercise: train_accumulated points=4

# %% [markdown]
# With a batch normalisation in the model, no accumulation is exact: each small batch is normalised by its own mean and
# deviation. The same goes for every layer that lets samples of a batch see each other.
#
# ## Stopping early
#
# Training longer is not always better. From some epoch on, the loss on the training data still falls, while that on the
# validation data rises. Labels may be wrong, for instance. In the next cell every fourth training label is, and the
# model trains for 100 epochs. When would you have stopped?

# %% example
labels = classes[:1000].clone()
labels[::4] = (labels[::4] + 1) % 10  # wrong ones; those for validation stay right
learner, shuffling = plain_model(0), torch.Generator(here).manual_seed(2)
momentum_sgd = torch.optim.SGD(learner.parameters(), lr=0.1, momentum=0.9)
longer: dict[str, list[float]] = {"training": [], "validation": []}
for _ in range(100):
    for places in torch.randperm(1000, generator=shuffling).split(100):
        momentum_sgd.zero_grad()
        F.cross_entropy(learner(scaled[places]), labels[places]).backward()
        momentum_sgd.step()
    with torch.no_grad():
        longer["training"].append(F.cross_entropy(learner(scaled[:1000]), labels).item())
        longer["validation"].append(F.cross_entropy(learner(scaled[1000:1397]), classes[1000:1397]).item())
least = longer["validation"].index(min(longer["validation"]))
print(f"lowest validation loss: {longer['validation'][least]:.2f}, in epoch {least} of 0 to 99")
print(f"at the end: training {longer['training'][-1]:.2f}, validation {longer['validation'][-1]:.2f}")
show_curves(longer, x="epoch")

# %% [markdown]
# In our run the validation loss was lowest in epoch 10, with 0.45, and ended at 1.04. The training loss fell to 0.06:
# by then the model knew the wrong labels by heart. So one stops when the validation loss has not become lower for some
# epochs (*patience*), and goes back to the weights of the best one.
#
# To go back, one must have kept them. Here are three ways to keep.

# %% predict: kept_weights
# **Predict.** Which of them still holds the first epoch's weight after the second?
#
# - [ ] `layer.state_dict()`
# - [ ] `layer.state_dict().copy()`
# - [x] `copy.deepcopy(layer.state_dict())`
# - [ ] all three

# %% example
torch.manual_seed(0)
layer = nn.Linear(1, 1, bias=False)
with torch.no_grad():
    layer.weight.fill_(1.0)
kept = {
    "state_dict()": layer.state_dict(),
    "state_dict().copy()": layer.state_dict().copy(),
    "deepcopy of it": copy.deepcopy(layer.state_dict()),
}
with torch.no_grad():
    layer.weight.fill_(2.0)  # what training does, in place
for text, state in kept.items():
    print(f"{text:20} {state['weight'].item()}")

# %% [markdown]
# `state_dict()` gives the parameters' own memory, without a history. `.copy()` makes a new dict with the same tensors.
# Code that keeps one of these restores, at the end, the last weights.
#
# ### Your turn: fit
# Write the loop over the epochs. What an epoch does, and how it is measured, is handed in as two functions.

# %% given
hint(
    "When is an epoch an improvement: with an equal loss, with a lower one? What is your best before the first epoch?",
    "Which part of a model's state is in no parameter? What does load_state_dict need?",
)

# %% exercise: fit points=3

# %% [markdown]
# The best validation loss of many epochs is a lucky one: it was chosen because it is low. This is why a third part of
# the data is left for the end.
#
# ## The same numbers again
#
# A run can be repeated if every random number in it can. `torch.manual_seed(s)` seeds PyTorch on all devices. Python's
# `random` and NumPy's older functions have seeds of their own. `numpy.random.default_rng()` is seeded by its argument
# only. Setting `PYTHONHASHSEED` inside a program does nothing: it is read when Python starts.
#
# A seed is not all. It fixes a *sequence* of numbers. What happens to all that follows, if somebody adds one more draw?

# %% example
for extra in (False, True):
    generator = torch.Generator(here).manual_seed(3)
    first = torch.rand(2, generator=generator)
    if extra:
        torch.rand(1, generator=generator)
    print(f"one more draw {extra!s:5}  first {first.tolist()}  second {torch.rand(2, generator=generator).tolist()}")

# %% [markdown]
# All that comes after it is another number. So the draws of different purposes should have generators of their own: one
# for the order of the data, say, and one for everything else. A `DataLoader` takes such a `generator`. Its workers,
# which are processes, seed PyTorch, `random` and NumPy from it, each with a number of its own.
#
# The numbers are half of it. The other half is arithmetic: a sum of floats depends on its order. In `float32`, `1e8 -
# 1e8 + 1` is 1, and `1e8 + 1 - 1e8` is 0. Another number of threads may be another order. Some operations on a GPU add
# with *atomic* additions, in the order in which its threads happen to come. What can be done about such an operation?

# %% example
torch.use_deterministic_algorithms(True)
places = torch.tensor([0, 0])
print("index_add_ ", torch.zeros(3).index_add_(0, places, torch.ones(2)))
print("torch.empty", torch.empty(2))
try:
    torch.zeros(3).put_(places, torch.ones(2))
except RuntimeError as error:
    print("put_       ", str(error).split(",")[0])
torch.use_deterministic_algorithms(False)

# %% [markdown]
# `torch.use_deterministic_algorithms(True)` takes an algorithm that gives the same bits each time, and raises an error
# where there is none. With `warn_only=True` it only warns. It also fills what `torch.empty` returns, floats with NaN
# and integers with their largest value, so that no one reads old memory by accident. Such algorithms may be slower:
# measure on your own machine.
#
# Three more settings belong to NVIDIA's libraries. cuDNN, which computes convolutions, may try several algorithms and
# keep the fastest, and the choice can differ from run to run: `torch.backends.cudnn.benchmark` allows that.
# `torch.backends.cudnn.deterministic` restricts it to algorithms that repeat. cuBLAS, which multiplies matrices, needs
# the environment variable `CUBLAS_WORKSPACE_CONFIG`, set to `:4096:8` or `:16:8` before its first product. Without a
# GPU all three can be set, and change nothing.
#
# ### Your turn: deterministic
# Put all of it into one block: `with deterministic(3): ...`. Most of the work is to leave everything as it was.

# %% exercise: deterministic points=3

# %% [markdown]
# A test, or the search for a bug, is worth such a block. A whole training run rather sets these once, at its beginning.
#
# ### Stopping in the middle
#
# A long run dies: a machine is taken away, a disk is full. It should go on from the last *checkpoint* as if nothing had
# happened, to the same bits. What is needed for that? The weights, of course. Write down what else, before you read on.

# %% [markdown]
# Besides the weights it takes
#
# - the buffers of the model: `state_dict()` has them;
# - what the optimizer keeps: momentum, Adam's averages and step counts;
# - the state of the generator that orders the data, and that of PyTorch's own generators, which dropout draws from: the
#   CPU's, and on a GPU the GPU's;
# - where the run is: the epoch, the schedule, and in the middle of an epoch the place in it.
#
# A seed does not replace the state of a generator. Why not?
#
# And why the place in the epoch? In the next cell a run stops after two of four batches. It saves the state of the
# loader's generator, and puts it back. What will it read next?

# %% example
shuffler = torch.Generator().manual_seed(0)
eight = DataLoader(TensorDataset(torch.arange(8)), batch_size=2, shuffle=True, generator=shuffler)
with torch.device("cpu"):
    reading = iter(eight)
    print("before the stop        ", [next(reading)[0].tolist() for _ in range(2)])
    state_then = shuffler.get_state()
    print("the rest, without it   ", [two.tolist() for (two,) in reading])
    shuffler.set_state(state_then)
    print("after it, by this state", [two.tolist() for (two,) in eight])

# %% [markdown]
# Another epoch. The loader drew the whole order when the epoch began, so the state that came after it leads to the next
# order. The simplest way is to save between epochs only. Otherwise save the state from before the epoch and the number
# of batches that were read, and skip these. `StatefulDataLoader` of the package torchdata does that for you.
#
# ### Your turn: checkpoint
# Collect what PyTorch knows of it; the epoch and the schedule are the caller's own. The next cell shows how it will be
# used. Training goes on after your function returns, so nothing in your dict may change with it.


# %% given
def resume_(saved, model, optimizer, generator):
    """Put everything back where it was."""
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    generator.set_state(saved["generator"])
    torch.set_rng_state(saved["rng"])


# %% given
hint(
    "torch.get_rng_state() and generator.get_state() give states as tensors. Are they copies? And state_dict()?",
    "What does optimizer.state_dict() hold: numbers of its own, or the tensors that the next step changes?",
)

# %% exercise: checkpoint points=3

# %% [markdown]
# `torch.save` right after your function would have made the copy for you. In memory, and in code that saves in another
# thread, nobody does.
#
# ## All of it together
#
# Here are your parts in one run. It trains on the digits for at most 40 epochs, stops early, and looks at the test data
# once.

# %% scratch
history = {"training": [], "validation": []}


def all_of_it():
    torch.manual_seed(0)
    model = MLP([64, 48, 10], 0.2)
    optimizer = torch.optim.SGD(decay_groups(model, 1e-3), lr=0.3, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: warmup_cosine(epoch, 2, 40, 1.0))
    loader = DataLoader(training, batch_size=64, shuffle=True, generator=torch.Generator(here).manual_seed(1))

    def one_epoch():
        history["training"].append(train_epoch(model, loader, optimizer))
        schedule.step()

    def one_validation():
        history["validation"].append(evaluate(model, [validation[:]])[0])
        return history["validation"][-1]

    print("best epoch and its loss:", fit(model, one_epoch, one_validation, 4, 40))
    print("epochs until it stopped:", len(history["validation"]))
    print("test loss and accuracy :", evaluate(model, [(scaled[1397:], classes[1397:])]))


try:
    all_of_it()
except NotImplementedError:
    print("Some of the exercises above are not written yet.")
show_curves(history, x="epoch")

# %% [markdown]
# The axis counts epochs here. On our machine the run stopped after 21 of them, and went back to the weights of number
# 16, counted from 0. The validation curve lies below the training curve at first. Why is that no mistake? Two things
# differ: the dropout, and the time at which each loss was taken.

# %% quiz: interview points=3
# ## Interview questions
#
# **`zero_grad`**
# - [ ] It must be called before the forward pass.
#   > It may stand anywhere but between `backward` and `step`. Three of the five orders gave the same losses.
# - [x] Called between `backward` and `step`, it keeps the model from learning, without an error.
#   > It takes the gradient away before `step` can use it, and a parameter without a gradient is skipped.
# - [x] By default it sets `.grad` to `None`.
#   > `set_to_none=True` is the default, so a part that took no part in a step is left out of it.
# - [x] Without it, each step uses the sum of all gradients so far.
#   > `backward` adds to `.grad`, and `step` takes what it finds there.
# - [ ] Adam does the same with gradients of zero as with gradients of `None`.
#   > With zeros its averages shrink, and the old momentum still moves the parameter. One with `None` is skipped.
#
# Hint: Which of the five orders were equal? Which of them learned nothing?
#
# **`eval()` and `no_grad()`**
# - [ ] `eval()` stops recording.
#   > It sets the flags of the layers. In evaluation mode the lab's result still required grad.
# - [x] Under `no_grad()`, a batch normalisation in training mode updates its running averages.
#   > The layer looks at its mode and not at recording. It counted a batch under `no_grad()`.
# - [x] In evaluation mode, dropout does nothing.
#   > What it left over in training was scaled up there already, so now there is nothing to make up for: the input
#   > passes unchanged.
# - [ ] `model.train()` puts back the modes that `model.eval()` found.
#   > It sets every module to training mode. A part that was in evaluation mode on purpose is not remembered.
# - [x] A model in evaluation mode can be trained.
#   > `eval()` does not stop recording, so gradients and steps work. Only some layers, such as dropout and batch
#   > normalisation, act differently.
#
# Hint: What was printed in evaluation mode, and what under no_grad?
#
# **Parameters and buffers**
# - [ ] Modules in a Python list are trained, but not saved.
#   > The module does not know them at all, so they are in no `parameters()`, and an optimizer never sees them. Use
#   > `nn.ModuleList`.
# - [ ] `model.requires_grad = False` freezes the model.
#   > It only makes a new attribute of that name. `requires_grad_(False)`, with the underscore, freezes.
# - [x] A buffer is in `state_dict()` unless it was registered with `persistent=False`.
#   > `seen` in `Parts` was listed. `persistent=False` takes a buffer out of the state and leaves it in the module.
# - [x] A tensor that two modules share is counted once by `parameters()` and listed twice by `state_dict()`.
#   > `parameters()` drops repeated tensors, and `state_dict()` goes by names. So count by `parameters()`.
# - [ ] A plain tensor attribute moves with `model.to(...)`.
#   > The module does not know it. `plain` kept its dtype when `Parts` was cast.
#
# Hint: What did Parts list, save and cast?
#
# **The loss of an epoch**
# - [x] The mean of the batches' means is the mean over the samples if all batches have one size.
#   > Then every sample has the same weight in both. With a last batch of 40 it has not.
# - [ ] `total += loss` in place of `total += loss.item()` makes the mean wrong.
#   > The numbers are the same. What is wrong is that the sum has a history, which keeps the nodes of every graph.
# - [ ] A training loss that is higher than the validation loss is a sure sign of a mistake.
#   > Dropout is on in training alone, and the training losses come from earlier weights. The lab's run began in just
#   > this way.
# - [x] Softmax before `F.cross_entropy` gives another loss than the logits.
#   > `cross_entropy` takes logits and does a softmax itself. Twice, it hides a sure answer: 0.3133 in place of 0.00005.
# - [x] `drop_last=True` in a `DataLoader` can leave samples out of an epoch.
#   > The last batch is left out if it is smaller than the others. Here that would be 40 samples in each epoch.
#
# Hint: Which curves does a training with dropout give?
#
# **Accumulating gradients over k batches**
# - [ ] With unequal batches, dividing each mean loss by k is exact.
#   > Then each batch counts the same, so a sample of a small batch counts more. Divide a sum by the number of samples.
# - [ ] With a batch normalisation in the model, it equals one large batch exactly.
#   > Each small batch is normalised by its own mean and deviation, and not by those of the whole window.
# - [x] It needs the memory for the activations of one small batch at a time.
#   > Each graph is freed by its `backward` before the next one is built. Only the gradients stay.
# - [x] Gradients are clipped once for each window, after the last of its batches.
#   > Only then is the gradient complete. Clipping batch by batch is another algorithm: it limits parts that may cancel
#   > in the sum.
# - [x] The batches left over at the end need a step of their own.
#   > Otherwise their gradients stay in `.grad`, and the next epoch adds to them. With 10 batches and windows of 4, two
#   > are left.
#
# Hint: What did your window divide by, and what did it hold?
#
# **To the same numbers again**
# - [x] `torch.manual_seed` seeds the GPU's generators as well.
#   > One call seeds PyTorch on all devices. Python's `random` and NumPy have seeds of their own.
# - [ ] Setting `os.environ["PYTHONHASHSEED"]` in the first line makes `hash("abc")` repeatable.
#   > It is read when Python starts, so inside the program it comes too late.
# - [x] Going on after a checkpoint needs the optimizer's state.
#   > Momentum, Adam's averages and the step counts are there. Without them, the next step is another one.
# - [ ] Saving the seed is as good as saving a generator's state.
#   > The seed leads back to the beginning of the sequence. The state says how far it has been drawn.
# - [ ] `best = model.state_dict()` keeps the weights of that moment.
#   > It holds the model's own memory, which training changes in place. In the lab only `deepcopy` still had the first
#   > weight.
#
# Hint: What did one more draw change? What did deepcopy keep?

# %% [markdown]
# ## Asked in interviews
#
# Answer each aloud before you open the text.
#
# **Where does `zero_grad` belong, and what happens without it?**
#
# <details><summary>A good answer</summary>
#
# `backward` adds to `.grad`, and `step` uses what it finds there. Without `zero_grad`, each step follows the sum of all
# gradients so far, and no error tells. You often hear that it has to come before `backward`. That is the trap: it may
# stand anywhere but between `backward` and `step`. There it removes the gradient before it is used, and nothing is
# learned. By default it sets `.grad` to `None`, and the optimizer leaves such a parameter out. With a gradient of
# zeros, Adam would still move it, because of its averages. To accumulate over several batches, I call it once for each
# window.
#
# </details>
#
# **What is the difference between `eval()` and `no_grad()`?**
#
# <details><summary>A good answer</summary>
#
# Neither does the other's work. `model.eval()` sets a flag on each module. Dropout then hands its input on, and a batch
# normalisation uses its running averages and no longer moves them. Everything is still recorded, so a model in
# evaluation mode can be trained. `no_grad()` stops recording, which saves memory, and changes no layer. Under
# `no_grad()`, a batch normalisation in training mode still updates its averages. For validation I want both. The trap
# comes afterwards: `model.train()` puts every module into training mode, also a part that was in evaluation mode on
# purpose. So I remember the mode of each module and put it back.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague shows you a training run. The training loss falls smoothly, and the validation accuracy stays at one in
# ten, for ten classes. "The model memorises," he says. His validation function calls `model.eval()`, the model has
# batch normalisations, and the pixels are scaled in the training loader only.
#
# In four to eight sentences: name two causes other than memorising that fit what you see, and for each the one small
# experiment that would tell. What would memorising itself look like?

# %% question: falling_loss [markdown] points=2
# ### BEGIN SOLUTION
# First, the validation images are not scaled as the training images are, so the model sees inputs that it has never
# met. The experiment: run the validation function on a batch from the training loader. If the accuracy is good there,
# the function is right and its data is not. Second, in evaluation mode the batch normalisations use running averages,
# which may be far from the batches' statistics: too few steps, a tiny momentum, or averages that a checkpoint did not
# bring along. The experiment: evaluate training batches once in training mode and once in evaluation mode; if only the
# second is bad, it is the averages. Other good answers: labels of the validation set in another order than its images,
# or an argmax over the wrong dimension; both show on training data too. Memorising looks different: the validation
# accuracy first rises well above chance, and then stays behind the training accuracy, while the validation loss rises
# again.
#
# For grading: one point for two causes that fit, one for experiments that tell them apart.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - A module knows what it was given as an attribute: parameters, buffers, modules. A list hides them.
# - `zero_grad` may stand anywhere but between `backward` and `step`.
# - A mean over batches is a mean over samples only for batches of one size. The last batch is smaller.
# - `eval()` sets modes, `no_grad()` stops recording. Put the modes back where they were.
# - Accumulate sums, and divide once. The last window needs its step.
# - `state_dict()` is no copy.
# - To repeat a run takes the seeds of three libraries, and algorithms that give the same bits each time.
# - To go on to the same bits takes the model, the optimizer, the state of every generator, and the place in the run:
#   epoch, schedule, batch.
#
# | call or rule | what it does or costs |
# |---|---|
# | `self.layers = [nn.Linear(2, 2)]` | hides the layer: use `nn.ModuleList` |
# | parameters with two or more dimensions | decay; biases and normalisation weights do not |
# | `module.requires_grad_(False)` | freezes; without the underscore nothing is frozen |
# | Adam | two averages for each parameter, hides the scale of a loss |
# | `schedule.step()` | after `optimizer.step()` |
# | `optimizer.zero_grad()` | sets `.grad` to `None`: a step leaves such a parameter out |
# | `model.train()` | sets the mode of all modules: remember the flags before `eval()` |
# | `copy.deepcopy(model.state_dict())` | keeps the weights of this moment |
# | one more draw from a generator | every number after it is another one |
#
# Three questions to ask yourself:
#
# - What does this line do with the last batch?
# - Which numbers did I compute from data that should not be there yet?
# - If the run stopped now, what would I miss?
#
# Lab 6b asks what layers promise, and how data arrives in time. Lab 7 asks where the memory goes meanwhile.
