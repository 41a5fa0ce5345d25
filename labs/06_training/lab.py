# %% [markdown]
# # Training: the loop, and what goes wrong in it
#
# You train a network. The loss falls in every epoch, no line raises an error, and in the end one image in eight is
# still read wrong. Is it the learning rate, the optimizer, the number of epochs, the data, or a bug? In this lab you
# learn to find out: which measurements tell these cases apart, and which parts of a loop can be wrong without showing.
#
# After this lab you can
#
# - check a network before a long run: its loss at the start, its variance through depth, one batch learned by heart;
# - write an epoch, an optimizer and early stopping yourself;
# - choose a learning rate from a sweep;
# - accumulate gradients exactly, and clip them;
# - repeat a run, and continue it after a stop, bit for bit.
#
# The core is five exercises: `train_epoch`, `overfit_one_batch`, `adam_step_`, `train_accumulated` and `fit`. The
# others are marked *Further practice*, earn no points, and can wait. You need labs 2 to 4; lab 5 helps. Plan two
# sittings of about an hour. All numbers were measured with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose an answer before you run the next cell. Below each exercise, a card shows its checks.
# Those marked *later* run when the lab is marked: with the button *Mark my work*, or after you hand it in. A person
# reads the last question.

# %% given
import copy
import io
import math
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import patch

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
# ## A run that looks fine
#
# This is the digits script with the repairs of labs 1 to 5. It now prints the training loss of each epoch, too. Run it,
# and then add `nn.Softmax(dim=1)` to the end of the network, as in lab 1. What changes?

# %% scratch
torch.manual_seed(0)
scans = torch.tensor(load_digits().images, dtype=torch.float32)
answers = torch.tensor(load_digits().target)
pixels = (scans - 8).flatten(1) / 8

network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
epoch_losses = []
for _ in range(10):
    total = 0.0
    for rows in torch.arange(1500).split(100):
        loss = F.cross_entropy(network(pixels[rows]), answers[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    epoch_losses.append(total / 1500)

with torch.no_grad():
    is_right = network(pixels).argmax(1) == answers
print("training loss of each epoch:", *(f"{number:.2f}" for number in epoch_losses))
shares = is_right[:1500].float().mean(), is_right[1500:].float().mean()
print(f"right: {shares[0]:.0%} of the images it trained on, and {shares[1]:.0%} of the others")

# %% answer [markdown]
# The loss ends at 1.70 instead of 0.10, and 80% of the other images are right instead of 88%. `cross_entropy` takes
# *logits*, scores of any size, one for each class, and does a softmax itself. With a second one before it, the largest
# score it can get is 1 and the smallest is 0. Even an answer that is sure and right then has the loss
# $\log(1 + 9/e)$, which is 1.46, so the loss can't fall any further. The gradient through the extra softmax also
# shrinks towards zero where the network is sure, right or wrong, so mistakes made with confidence are hardly corrected.

# %% [markdown]
# The training loss falls to 0.10, and the network reads 97% of its own training images. So it learns; 88% on the others
# is another matter. You'll come back to this script at the end of the lab.
#
# ## The data
#
# To choose between two ways of training, you need images that the network doesn't train on, and to report a result, you
# need images that you haven't used for any choice. For the examples of this lab we put the 1,797 scans into a random
# order and divide them: 1,000 to train on, 397 to choose by (*validation*), and 400 to look at once, at the end
# (*test*).
#
# The pixels are scaled with the mean and standard deviation of the 1,000 only. Why not of all?

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
# Validation and test images play the part of data that doesn't exist yet, so a number computed from them has looked
# into the future. Here the difference would be small; with other data, it can be the whole result.
#
# A `TensorDataset` returns one sample for an index, and several, stacked, for a slice. A `DataLoader` makes batches of
# a dataset: it draws an order if you ask for one, cuts it into pieces, and stacks the samples of each piece.
# `len(loader)` is the number of batches.

# %% predict: last_batch answer=40
# **Predict.** There are 1,000 samples, in batches of 64. How large is the last batch?

# %% example
loader = DataLoader(training, batch_size=64, shuffle=True, generator=torch.Generator(here).manual_seed(1))
sizes = [len(y) for _, y in loader]
print("batches", len(loader), " sizes", sizes)

# %% [markdown]
# The last batch has 40 samples. Three of this lab's bugs are caused by that.
#
# The labels are int64, as `cross_entropy` wants them. It takes uint8 too, and refuses int32 and the other integers. It
# refuses floats that look like classes, one for each sample; floats of the logits' shape, (N, C), are taken for
# probabilities of the classes. `nn.Embedding` takes int32 too.
#
# ## A module and its parts
#
# If a layer isn't registered with its module, it never learns, and no error tells you. An `nn.Module` keeps
# *parameters*, which training changes, *buffers*, which belong to the model and aren't trained, and other modules. It
# finds them when you assign them as attributes. A plain function of tensors can be a model too, but you can't ask it
# for its parameters.

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
# Neither the plain tensor nor the layer in the list is known to the module. Both are skipped when the model is cast,
# moved or saved. Worse, no optimizer ever sees the weights in the list, although the forward pass uses them. For
# several modules there are `nn.ModuleList`, `nn.ModuleDict` and `nn.Sequential`, which register what they hold.
#
# `nn.Dropout(p)` sets each number to zero with probability $p$ while the model is in *training mode*, and divides the
# others by $1 - p$. In *evaluation mode* it does nothing. `model.train()` and `model.eval()` set the modes, and a new
# module is in training mode.
#
# ### Your turn: MLP
# Build a classifier: linear layers, with ReLU and dropout after each but the last. The outputs of the last one are
# logits. Why mustn't a ReLU follow it?

# %% answer [markdown]
# A ReLU would set every negative logit to zero. Classes that the network considers unlikely would all get the same
# score, and the gradient of each such logit would be zero, so an unlikely but right class couldn't be corrected.

# %% given
hint(
    "Which container registers a number of layers that isn't known in advance?",
    "sizes has one number more than there are layers. Which of the layers is followed by ReLU and dropout?",
)

# %% exercise: MLP points=3 level=easy further

# %% [markdown]
# If you get the AttributeError "cannot assign module before Module.__init__() call", your `__init__` assigns a layer
# before it calls `super().__init__()`. Until then, the module has nowhere to register it.
#
# One `nn.Dropout` object could serve all places, since it has no parameters. Could one `nn.BatchNorm1d` object?

# %% answer [markdown]
# No. It has weights and running averages of its own, and the averages would mix the statistics of different layers. It
# couldn't even be applied to layers of different widths.

# %% [markdown]
# In training mode, `nn.BatchNorm1d` takes the mean and deviation over the batch, so a batch of one sample raises a
# ValueError. The last batch of an epoch may be one. Other layers have other traps. `nn.LSTM` gives its state with the
# layers first, even with `batch_first=True`. With `padding_idx=0`, a lookup in `nn.Embedding` gives row 0 no gradient,
# but weight decay, or a second use of the table, changes that row all the same (lab 6b).
#
# ### How many parameters, and how do they start?
#
# `sum(p.numel() for p in model.parameters())` counts the numbers that training may change. A tensor that is used in two
# places is counted once. `state_dict()` lists it twice, so count by `parameters()`. A classifier with the sizes 784,
# 512, 256 and 10, and an `nn.BatchNorm1d` after each hidden layer, has 537,354 of these numbers, and 16 entries in its
# `state_dict()`.
#
# `nn.Linear` starts with small random weights. Do they have to be random? In the next cell, a network of 64, 32 and 10
# starts once as PyTorch makes it and once with zeros everywhere, and makes 20 steps on all 1,000 samples.

# %% predict: start_with_zeros
# **Predict.** What is the loss of the model that started with zeros, after 20 steps?
#
# - [ ] as low as that of the other model
# - [ ] lower than at the start, but higher than that of the other model
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
print(f"random   : loss {after_20_steps(plain_model(0)):.2f}")
print(f"all zeros: loss {after_20_steps(zeros):.2f}  first layer still zero: {bool((zeros[0].weight == 0).all())}")

# %% [markdown]
# With zeros, all hidden numbers are zero, no gradient reaches the first layer, and the second layer learns only its
# biases. If all weights had the same number other than zero, the hidden units would all be equal, get equal gradients,
# and stay equal forever. Random numbers make them different.
#
# ### The loss before the first step
#
# Here is the cheapest check in training. A network that knows nothing should consider all ten classes equally likely,
# and then its loss is $-\log(1/10) = \log 10$, which is 2.30. Compute the loss before the first step. If it's much
# larger, something is wrong before training begins. Which of these four is right?

# %% example
starts = {
    "scaled pixels": (plain_model(0), scaled),
    "pixels from 0 to 16": (plain_model(0), images),
    "a softmax at the end": (nn.Sequential(plain_model(0), nn.Softmax(1)), scaled),
    "last weights times 30": (plain_model(0), scaled),
}
with torch.no_grad():
    starts["last weights times 30"][0][2].weight *= 30
    for text, (model, x) in starts.items():
        print(f"{text:22} loss at the start {F.cross_entropy(model(x[:1000]), classes[:1000]):.2f}")

# %% [markdown]
# The first is close to 2.30. Unscaled pixels give 3.85 and large weights 11.51: in both, the network is sure of wrong
# answers. A bad loss at the start is a bug, but a good one proves little: the softmax passes with 2.31. Overfitting one
# batch, further below, finds it.
#
# ### Variance through depth
#
# Why are initial weights as large as they are? A linear layer adds up $n$ products. If each weight has the variance
# $\sigma^2$, the sum's variance is $n \sigma^2$ times the mean square of the inputs, and a ReLU halves the mean square.
# Ten layers multiply ten such factors. The next cell draws weights in three ways, and shows the distribution of the
# activations after layers 1, 4, 7 and 10, each 256 wide. Which one keeps its scale?

# %% example
drawing = {
    "0.01": lambda n: 0.01,
    "sqrt(1 / n), Xavier": lambda n: math.sqrt(1 / n),
    "sqrt(2 / n), He": lambda n: math.sqrt(2 / n),
}
figure, panels = plt.subplots(3, 4, figsize=(9, 5), sharex=True, sharey="row", layout="constrained")
for row, (text, deviation) in zip(panels, drawing.items(), strict=True):
    h, generator, scales = scaled[:1000], torch.Generator(here).manual_seed(0), []
    for depth in range(1, 11):
        weight = torch.randn(256, h.shape[1], generator=generator) * deviation(h.shape[1])
        h = (h @ weight.T).relu()
        scales.append(h.square().mean().sqrt().item())
        if depth % 3 == 1:
            axes = row[depth // 3]
            axes.hist(h.flatten().cpu().numpy(), bins=40, range=(0, 4))
            axes.set_yscale("log")
            axes.set_title(f"layer {depth}: {scales[-1]:.2g}", fontsize=9)
    row[0].set_ylabel(text, fontsize=9)
    print(f"{text:20} root mean square after 1, 4, 7 and 10 layers:", *(f"{s:.2g}" for s in scales[::3]))

# %% [markdown]
# *The picture: three rows of four histograms. In the first row, all activations are at zero from the fourth layer on.
# In the second, the histogram narrows from layer to layer. In the third, its width hardly changes.*
#
# With a deviation of 0.01, the numbers after ten layers are about $10^{-10}$: the gradient of the first weights is as
# small, and nothing is learned. $\sqrt{1/n}$ (Xavier) ignores that ReLU halves the mean square, and loses a factor of
# about 1.4 in each layer. $\sqrt{2/n}$ (He, in PyTorch `nn.init.kaiming_normal_`) makes up for it. `nn.Linear` itself
# draws with a deviation of $\sqrt{1/(3n)}$, less than both, which is good enough for a few layers, or for deep networks
# with normalization layers. By which factor does ReLU with this default shrink the numbers per layer?

# %% answer [markdown]
# By $\sqrt{6}$, or about 2.4: the mean square is multiplied by $n \cdot 1/(3n) = 1/3$, and halved by the ReLU. After
# ten layers that's a factor of $6^5 = 7776$, if you leave out the biases.

# %% [markdown]
# ## The loop, and its order
#
# These five lines are the heart of every script, and most wrong versions of them run without an error. For each batch,
# set the gradients to `None`, compute the loss, run backward, and take a step. It's often said that `zero_grad` has to
# be first. Does it? The next cell trains the same layer for 60 steps in five orders. The first is zero, forward,
# backward, step.

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
# The first three are equal. `zero_grad` may be anywhere but between `backward` and `step`. There it takes the gradient
# away before it's used, and nothing is learned, without an error. The last order is the treacherous one. Each step uses
# the gradient of the batch before. It learns nearly as well, so no one notices. Give the model a second layer, and this
# order raises an error. Lab 5 says why: `step` changes weights in place that `backward` still needs.
#
# ### The loss of an epoch
#
# You want one number for an epoch: the mean loss over all samples. The loss function gives the mean over a batch. The
# usual code adds up these means and divides by the number of batches. What does it do to the last batch's 40 samples?

# %% answer [markdown]
# It counts them too much. Each of the 16 batches has the same weight, so a sample of the last batch counts 64/40 = 1.6
# times as much as any other. Add up sums over samples instead, and divide once.

# %% [markdown]
# ### Your turn: train_epoch
# Write an epoch. The model may be in evaluation mode when you get it, and hold gradients from earlier work.

# %% given
hint(
    "What do you add up for a batch so that every sample counts the same in the end?",
    "Adding up tensors that have a history keeps every graph's nodes. What gives you a plain number?",
)

# %% exercise: train_epoch points=3 level=easy

# %% [markdown]
# You could compute the losses once more after the epoch, with the final weights. That's another number, usually a
# smaller one, and it costs another pass. Say which one you report.
#
# ### One batch by heart
#
# Before a run of hours, take a minute: train on one batch only. A network with thousands of parameters should learn 64
# images by heart. If it can't, there's a bug, and no rate, schedule or amount of data will help. Below are four
# networks with 100 steps each. Which ones fail?

# %% example
x, y = scaled[:64], classes[:64]


class Detached(nn.Sequential):
    def forward(self, x):
        return self[2](self[1](self[0](x)).detach())


suspects = {
    "plain": plain_model(0),
    "softmax at the end": nn.Sequential(plain_model(0), nn.Softmax(1)),
    "ReLU at the end": nn.Sequential(plain_model(0), nn.ReLU()),
    "hidden part detached": Detached(*plain_model(0)),
}
on_one_batch = {}
for text, model in suspects.items():
    optimizer, on_one_batch[text] = torch.optim.SGD(model.parameters(), lr=0.5), []
    for _ in range(100):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        on_one_batch[text].append(loss.item())
    print(f"{text:22} loss after 100 steps {on_one_batch[text][-1]:.3f}")
show_curves(on_one_batch)

# %% [markdown]
# Only the plain network gets near zero, to 0.007. The softmax is at 1.59 and can't get below 1.46, as the first answer
# of this lab computed. With the ReLU the loss is 0.87: where a logit is negative, its gradient is zero. The detached
# network has 0.51, because its last layer still learns. A bound of 0.05 after 100 steps separates all four.
#
# ### Your turn: overfit_one_batch
# Write this check as a function: train on one batch until the loss is below a bound, and report how many steps that
# took, or that the model couldn't do it.

# %% given
hint(
    "If `most` is 5, how often may you measure the loss, and how often step?",
    "Measure, compare, and step only if the loss isn't low enough. What does a comparison with nan give?",
)

# %% exercise: overfit_one_batch points=3 level=medium

# %% [markdown]
# A low loss on one batch shows that loss, gradients and optimizer work together. It says nothing about other images.
# Turn dropout off for this check, because it keeps the loss from reaching zero.
#
# ## A good place to stop
#
# You have checked a network at its start and written the loop. Next are optimizers, the learning rate, accumulation,
# and early stopping. After a break, Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or
# press *Check*, which runs what it needs.

# %% [markdown]
# ## An optimizer by hand
#
# Adam and AdamW train most of today's networks, and they hide mistakes that SGD would show. SGD steps against the
# gradient. Adam keeps two running averages for each number of each parameter: `m`, the mean of the gradients, and `v`,
# the mean of their squares. Its step has the direction of `m` and is divided by the root of `v`.

# %% predict: larger_loss
# **Predict.** The loss, and so each gradient, is a thousand times as large. What happens to the first step?
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
# This is why Adam hides mistakes in the scale of a loss, and why the checks of this lab use SGD.
#
# Both averages start at zero, so they're too small at first, and Adam corrects that. In step $t$, with the gradient
# $g$, the parameter $p$ and the factors $b_1$ and $b_2$, it computes
#
# $$m = b_1 m + (1 - b_1)\, g, \qquad v = b_2 v + (1 - b_2)\, g^2$$
#
# $$\hat m = \frac{m}{1 - b_1^t}, \qquad \hat v = \frac{v}{1 - b_2^t}$$
#
# $$p = p - \text{lr} \cdot \left(\frac{\hat m}{\sqrt{\hat v} + \text{eps}} + \text{weight\_decay} \cdot p\right)$$
#
# The last term is *weight decay*, a pull of the parameters towards zero. With it, the optimizer is AdamW. Older code
# adds `weight_decay * p` to the gradient instead, which is called L2. For plain SGD, that's the same. In Adam, the
# decay then goes through $m$ and $\sqrt v$. In the first step, how far do L2 and AdamW move a parameter with the value
# 2, the gradient 10, a rate of 0.1 and a decay of 0.3? And one with the gradient 0.1?

# %% answer [markdown]
# In the first step, $\hat m / \sqrt{\hat v}$ is the sign of the gradient. AdamW moves both by $0.1 (1 + 0.3 \cdot 2) =
# 0.16$. With L2 the gradient is 10.6 or 0.7, and Adam makes 1 of both: each moves by 0.1, as without any decay. Over
# many steps, L2 decays weights with large gradients less than the others. AdamW decays them all alike.

# %% [markdown]
# ### Your turn: adam_step_
# Write one step for a list of parameters. A parameter without a gradient is left out: `zero_grad()` sets `.grad` to
# `None`, so a part of a model that took no part in this step neither moves nor forgets.

# %% given
hint(
    "The state must survive from call to call, and belongs to each parameter by its place in the list. Which kind of "
    "object can the caller pass in, and see changed?",
    "Does each parameter count its own steps? One that was left out has made fewer.",
)

# %% exercise: adam_step_ points=4 level=medium

# %% [markdown]
# Your state holds two tensors of the parameter's size. A float32 parameter takes 4 bytes, its gradient 4, and the two
# averages 8. For a model of 7 billion parameters, that's 28, 28 and 56 gigabytes.
#
# *Momentum* is a memory of earlier gradients: a buffer, as large as the parameter, that each step follows. SGD with
# momentum multiplies the buffer by the momentum (say 0.9), adds the gradient, and moves against the buffer instead of
# the gradient. Below, three optimizers with one rate, 0.9, go down a valley that bends a hundred times as much across
# as along. Play it. Which one zigzags, and which ones overshoot the minimum?

# %% example
OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.9),
    "momentum 0.9": lambda parameters: torch.optim.SGD(parameters, lr=0.9, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.9),
}
show_paths(
    lambda x, y: 0.01 * x**2 + y**2,
    start=(-9.0, 2.0),
    optimizers=OPTIMIZERS,
    steps=40,
    x=(-10, 4),
    y=(-2.5, 2.5),
)

# %% example
in_the_valley = {}
for text, make in OPTIMIZERS.items():
    along, across = torch.tensor(-9.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    optimizer, in_the_valley[text] = make([along, across]), []
    for _ in range(40):
        optimizer.zero_grad()
        loss = 0.01 * along**2 + across**2
        loss.backward()
        optimizer.step()
        in_the_valley[text].append(loss.item())
show_curves(in_the_valley)

# %% answer [markdown]
# Plain SGD changes sides at each of its 40 steps, and is still far away: it went from -9 to -4.4 along the valley. A
# larger rate would help along the valley, and a rate above 1 would throw it out across. Momentum and Adam overshoot the
# minimum, both to 2.46, and return. Momentum ends nearest, with a loss of 0.004. Adam divides each direction by the
# size of its gradients, so it's as fast along the valley as across it, and has a loss of 0.031 on its way back. SGD's
# is 0.189.

# %% [markdown]
# ## Which parameters decay?
#
# Decay that reaches the wrong parameters can switch a layer off. It's meant for weights, the factors in products. A
# bias is no factor. The weight of a normalization layer is one, but pulling it to zero switches the layer off. Many
# recipes decay neither.
#
# An optimizer takes *parameter groups*: a list of dicts with the key `"params"` and options of their own. How would you
# tell a weight from the others: by its name, the type of its module, or its shape?

# %% example
torch.manual_seed(0)
example = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
for name, parameter in example.named_parameters():
    print(f"{name:10} {tuple(parameter.shape)}")

# %% [markdown]
# Biases and the weights of normalization layers have one dimension. Matrices, embedding tables and convolution kernels
# have two or more.
#
# A *frozen* parameter doesn't require grad, and should be in no group. Setting `module.requires_grad = False` only
# makes a new attribute of that name and freezes nothing. `module.requires_grad_(False)`, with the underscore, freezes
# all its parameters. And an optimizer changes even a frozen parameter if an old `.grad` is left.
#
# ### Your turn: decay_groups
# Make the groups.

# %% given
hint(
    "Which attribute says how many dimensions a tensor has? Which one says whether it's frozen?",
    "A weight that's used in two modules mustn't be in the list twice. Which of the methods that list parameters "
    "gives it once?",
)

# %% exercise: decay_groups points=3 level=easy further

# %% [markdown]
# A weight that SGD gets twice in one list gives a warning, and two steps at once. In two groups it raises an error.
#
# `Tied` shares its weight by assigning one Parameter to both modules. Some write `a.weight.data = b.weight.data`.
# That makes two Parameters on one memory. Adam then steps twice on it, with two sets of averages, and the first cast or
# move of the model gives each its own memory.
#
# ## A learning-rate sweep
#
# If you tune only one number, tune this one. Rates differ by factors, so try them in steps of about three, on a short
# run. Losses of single batches are noisy: compare smoothed ones, and decide by the validation loss.


# %% example
def short_run(rate, seed, epochs=3):
    """The losses of 60 steps of AdamW, and the validation loss after them."""
    model, shuffling = plain_model(0), torch.Generator(here).manual_seed(seed)
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=rate), []
    for _ in range(epochs):
        for rows in torch.randperm(1000, generator=shuffling).split(50):
            loss = F.cross_entropy(model(scaled[rows]), classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    with torch.no_grad():
        return losses, F.cross_entropy(model(scaled[1000:1397]), classes[1000:1397]).item()


def smoothed(numbers, factor=0.8):
    """A running average, corrected for its start at zero, as in Adam."""
    mean, found = 0.0, []
    for t, number in enumerate(numbers, 1):
        mean = factor * mean + (1 - factor) * number
        found.append(mean / (1 - factor**t))
    return found


sweep = {}
for rate in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0):
    runs = [short_run(rate, seed) for seed in range(3)]
    sweep[f"lr={rate:g}"] = smoothed(runs[0][0])
    print(f"lr={rate:<6g} validation loss of three orders of the data:", *(f"{value:.2f}" for _, value in runs))
show_curves(sweep)

# %% [markdown]
# Which rate would you take, and why not the largest that still learns?

# %% answer [markdown]
# 0.03: its validation loss is the lowest in all three orders, 0.16, 0.21 and 0.13, against 0.19, 0.23 and 0.19 with
# 0.01. With 0.1 the network still learns, but its results spread from 0.18 to 0.31, and with 0.3 no run gets below 1.3.
# The largest rate that still learns is close to that edge, and in a longer run one unlucky batch is enough to cross it.
# The larger a rate is, the less the loss settles at the end, so for a longer run take the best rate or a third of it.

# %% [markdown]
# ### A schedule
#
# A constant rate is a compromise: large enough to get somewhere, small enough to settle. A *schedule* changes the rate
# from step to step. A common one begins with a *warm-up*, small rates that grow linearly to the full one, because the
# first gradients of fresh weights are wild. (In a measurement, as in lab 7b, a warm-up is the first runs, which don't
# count.) After it, this schedule falls along half a cosine wave to zero.
#
# ### Your turn: warmup_cosine
# Write it as a function of the step. At which step should the peak be reached, and which value belongs to step 0? Read
# the docstring twice: schedules are where steps are miscounted by one.

# %% given
hint(
    "The progress through the second part goes from 0, at the step of the peak, to 1, at the step total. Which formula "
    "gives half a cosine wave from 1 to 0?",
    "cos(0) is 1 and cos(pi) is -1. Add one, and halve. What happens in your first part if warmup is 0?",
)

# %% exercise: warmup_cosine points=2 level=easy further

# %% [markdown]
# `torch.optim.lr_scheduler.LambdaLR(optimizer, f)` takes the optimizer's own rate times `f(step)`. Call its `step()`
# after `optimizer.step()`. If it's called before, the first value is skipped, and PyTorch warns. Call it once for each
# step or once for each epoch, as you counted. An *epoch* is one pass over the training data, and a *step* is one update
# of the parameters.
#
# ## Evaluation
#
# A measurement that changes what it measures spoils the next epoch. Lab 4 showed the two switches, and neither does the
# other's work: `eval()` sets the modes of the layers and doesn't stop recording; `no_grad()` stops recording, and under
# it a batch normalization in training mode still counts the batch. For validation you need both, and afterwards
# everything should be as before. `model.train()` isn't enough for that: it sets *all* modules to training mode, also a
# pretrained part that was in evaluation mode on purpose.
#
# ### Your turn: evaluate
# Measure the loss and the accuracy, and leave no trace.

# %% given
hint(
    "model.modules() lists every module in the model, itself included. Each has an attribute training.",
    "argmax over which dimension gives a class for each sample? Would a batch of 3 samples and 3 classes tell you?",
)

# %% exercise: evaluate points=3 level=medium further

# %% [markdown]
# The modes go back in `finally`, as in `predict` of lab 4. Otherwise one bad batch, caught somewhere further up, would
# leave the model in evaluation mode for the rest of the training. Would `inference_mode` do as well as `no_grad`?

# %% answer [markdown]
# Here it would: only two numbers leave the function, and no inference tensor.

# %% [markdown]
# ## Accumulation that is exact
#
# If a batch doesn't fit into memory, go through several small ones, let the gradients add up, and step once for all of
# them. A *window* is a group of batches that share one step; in lab 4 it was a stretch of a long sequence. Lab 3 showed
# that dividing each loss by the number of batches is exact only for equal sizes. A loop has a second trap. With 10
# batches and windows of 4, how many steps does this code make, and what happens to the last two batches?
#
# ```python
# for i, (x, y) in enumerate(batches):
#     (F.cross_entropy(model(x), y) / 4).backward()
#     if (i + 1) % 4 == 0:
#         optimizer.step()
#         optimizer.zero_grad()
# ```

# %% example
figure, axes = plt.subplots(figsize=(9, 1.9), layout="constrained")
for row, (text, windows) in enumerate({"this code": [4, 4, 2], "right": [4, 4, 2]}.items()):
    start = 0
    for number, size in enumerate(windows):
        lost = text == "this code" and size < 4
        for place in range(start, start + size):
            axes.barh(-row, 0.9, left=place, height=0.5, color="lightgrey" if lost else f"C{number}")
            axes.text(place + 0.45, -row, str(place + 1), ha="center", va="center")
        start += size
        if not lost:
            axes.annotate("step", (start, -row - 0.05), (start + 0.05, -row + 0.3), fontsize=9)
            axes.plot([start - 0.05] * 2, [-row - 0.35, -row + 0.35], color="black")
axes.set(yticks=[0, -1], yticklabels=["this code", "right"], xticks=[], xlim=(0, 10.6), ylim=(-1.5, 0.6))

# %% [markdown]
# *The picture: ten batches in a row, a window of 1 to 4, one of 5 to 8, and 9 and 10. The code above makes a step after
# batch 4 and after batch 8. In the second row, there's a third one after batch 10.*
#
# The code makes two steps. The gradients of batches 9 and 10 are computed and stay in `.grad`, where the next epoch
# adds to them.
#
# ### Your turn: train_accumulated
# Write the loop such that each step has the gradient of the mean over all samples of its window, whatever the sizes,
# and the last window is used, however short.

# %% given
hint(
    "How many samples a window has is known at its end. What can you do to a gradient then?",
    "Let each batch add the gradient of the sum of its losses. What do you divide by, and when?",
)

# %% exercise: train_accumulated points=4 level=medium

# %% [markdown]
# With a batch normalization in the model, no accumulation is exact: each small batch is normalized by its own mean and
# deviation. The same goes for every layer that lets samples of a batch see each other.
#
# ### Clipping
#
# One bad batch can undo an hour of training. *Clipping by the global norm* takes the norm of all gradients together,
# as if they were one long vector, and if it's above a limit, scales them all by the same factor, so the direction stays
# the same. Do it once per window, after the last `backward`. In the next cell, someone forgot to scale a batch's
# pixels, and multiplied them by 100 instead.


# %% example
def clip_(parameters, limit):
    """Scale the gradients in place so that their global norm is at most limit. Returns the norm from before."""
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    factor = (limit / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g *= factor
    return norm


for limit in (math.inf, 1.0):
    model = plain_model(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for number in range(40):
        x, y = training[number * 25 : number * 25 + 25]
        optimizer.zero_grad()
        F.cross_entropy(model(x * 100 if number == 30 else x), y).backward()
        norm = clip_(model.parameters(), limit)
        optimizer.step()
        if number in (29, 30, 31, 39):
            with torch.no_grad():
                loss = F.cross_entropy(model(scaled[1000:1397]), classes[1000:1397]).item()
            print(f"limit {limit:<4} step {number}: norm before clipping {norm:8.2f}, validation loss after {loss:.2f}")

# %% [markdown]
# Without a limit, the bad batch's gradient has a norm of 50, and one step takes the validation loss from 0.47 to 86.23;
# nine steps later it's still 1.27. With the limit, the norm of 56 is scaled to 1, the loss rises from 0.53 to 0.57, and
# nine steps later it's 0.39.
#
# `torch.nn.utils.clip_grad_norm_(parameters, 1.0)` does the same and also returns the norm from before, which is worth
# a curve of its own. Clipping each tensor, or each number, on its own changes the direction. Lab 9 clips gradients that
# were scaled, and has to undo the scale first.
#
# ## Stopping early
#
# Training longer isn't always better. From some epoch on, the loss on the training data still falls, while that on the
# validation data rises. With 1,000 images that hardly shows, so the next cell trains a wide network on 60. When would
# you have stopped?

# %% example
torch.manual_seed(0)
learner = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
adamw = torch.optim.AdamW(learner.parameters(), lr=0.01)
longer: dict[str, list[float]] = {"training": [], "validation": []}
for _ in range(100):
    loss = F.cross_entropy(learner(scaled[:60]), classes[:60])
    adamw.zero_grad()
    loss.backward()
    adamw.step()
    with torch.no_grad():
        longer["training"].append(F.cross_entropy(learner(scaled[:60]), classes[:60]).item())
        longer["validation"].append(F.cross_entropy(learner(scaled[1000:1397]), classes[1000:1397]).item())
least = longer["validation"].index(min(longer["validation"]))
print(f"lowest validation loss: {longer['validation'][least]:.2f}, in epoch {least} of 0 to 99")
print(f"at the end: training {longer['training'][-1]:.5f}, validation {longer['validation'][-1]:.2f}")
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
for text, numbers in longer.items():
    axes.semilogy(numbers, label=text)
axes.axvline(least, color="black", linestyle="--", label="the epoch to go back to")
axes.axvline(least + 10, color="grey", linestyle=":", label="stop, with a patience of 10")
axes.set(xlabel="epoch", ylabel="loss")
axes.legend()

# %% [markdown]
# *The picture: both losses fall together for a few epochs. Then the validation loss rises slowly to about twice its
# lowest value, while the training loss goes on falling below 0.0001.*
#
# In our run the validation loss was lowest in epoch 6, with 0.77, and ended at 1.70. The training loss fell to 0.00001:
# by then the network knew its 60 images by heart. So you stop when the validation loss hasn't become lower for some
# epochs (*patience*), and go back to the weights of the best one. For that you must have kept them. Here are three ways
# to keep weights.

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
# Write the loop over the epochs. Two functions that you get as arguments run an epoch and measure it.

# %% given
hint(
    "When is an epoch an improvement: with an equal loss, with a lower one? What is your best before the first epoch?",
    "Which part of a model's state is in no parameter? What does load_state_dict need?",
)

# %% exercise: fit points=3 level=medium

# %% [markdown]
# The best validation loss of many epochs is a lucky one: it was chosen because it's low. This is why a third part of
# the data is kept for the end.
#
# ## The same numbers again
#
# You can't find a bug in a run that you can't repeat. `torch.manual_seed(s)` seeds PyTorch on all devices. Python's
# `random` and NumPy's older functions have seeds of their own. `numpy.random.default_rng()` is seeded by its argument
# only. Setting `PYTHONHASHSEED` inside a program does nothing: it is read when Python starts.
#
# A seed fixes a *sequence* of numbers. What happens to everything that follows if one more draw is added?

# %% example
for extra in (False, True):
    generator = torch.Generator(here).manual_seed(3)
    first = torch.rand(2, generator=generator)
    if extra:
        torch.rand(1, generator=generator)
    print(f"one more draw {extra!s:5}  first {first.tolist()}  second {torch.rand(2, generator=generator).tolist()}")

# %% [markdown]
# Every later number changes. So give draws of different purposes generators of their own: one for the order of the
# data, say, and one for everything else. A `DataLoader` takes such a `generator`. Its workers, which are processes,
# seed PyTorch, `random` and NumPy from it, each with a number of its own.
#
# The other half is arithmetic: a sum of floats depends on its order. In `float32`, `1e8 - 1e8 + 1` is 1, and `1e8 + 1 -
# 1e8` is 0. Another number of threads may be another order. Some operations on a GPU add with *atomic* additions, in
# the order in which its threads happen to arrive. What can be done about such an operation?

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
# and integers with their largest value, so that you don't read old memory by accident. Such algorithms may be slower.
#
# Three more settings belong to NVIDIA's libraries. cuDNN, which computes convolutions, may try several algorithms and
# keep the fastest, and the choice can differ from run to run: `torch.backends.cudnn.benchmark` allows that.
# `torch.backends.cudnn.deterministic` restricts it to algorithms that repeat. cuBLAS, which multiplies matrices, needs
# the environment variable `CUBLAS_WORKSPACE_CONFIG`, set to `:4096:8` or `:16:8` before its first product. Without a
# GPU you can set all three, and they change nothing.
#
# ### Your turn: deterministic
# Put all of it into one block, `with deterministic(3): ...`, that leaves everything as it was.

# %% exercise: deterministic points=1 level=medium further

# %% [markdown]
# Use such a block in a test, or while you look for a bug. For a whole training run, set these once at the start
# instead.
#
# ### Stopping in the middle
#
# A long run dies: a machine is taken away, a disk is full. It should continue from the last *checkpoint* as if nothing
# had happened, to the same bits. What do you have to save for that, besides the weights? Write it down before you read
# on.

# %% answer [markdown]
# Besides the weights:
#
# - the buffers of the model: `state_dict()` has them;
# - what the optimizer keeps: momentum, Adam's averages and step counts;
# - the state of the generator that orders the data, and that of PyTorch's own generators, which dropout draws from: the
#   CPU's, and on a GPU the GPU's;
# - where the run is: the epoch, the schedule, and in the middle of an epoch the place in it.
#
# A seed doesn't replace the state of a generator: it leads back to the beginning of the sequence.

# %% [markdown]
# Why the place in the epoch? In the next cell a run stops after two of four batches. It saves the state of the loader's
# generator, and puts it back. What will it read next?

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
# Another epoch. The loader drew the whole order when the epoch began, so the later state leads to the next order. It's
# simplest to save between epochs only. Otherwise save the state from before the epoch and the number of batches that
# were read, and skip these. `StatefulDataLoader` of the package torchdata does that for you.
#
# ### Your turn: checkpoint
# Collect what PyTorch knows; the caller keeps the epoch and the schedule. The next cell shows how your dict will be
# used. Training continues after your function returns, so nothing in the dict may change with it.


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

# %% exercise: checkpoint points=3 level=medium further

# %% [markdown]
# `torch.save` right after your function would have made the copy for you. If you keep the dict in memory, or save it
# in another thread, you need the copy.
#
# ## The digits script, trained properly
#
# Back to the script that read 88%. Change one thing at a time in the next cell, and note the second number. `change`
# chooses how many of the changes are made; start with 0, which is the script from above.
#
# 1. Shuffle the training images in each epoch.
# 2. Replace SGD by AdamW with the rate 0.01, a third of the sweep's best, because this run is longer.
# 3. Divide the scans at random, instead of in the file's order.
# 4. Hold back 300 training images for validation, allow 60 epochs, and stop early with a patience of 10.

# %% scratch
change = 0

torch.manual_seed(0)
scans = torch.tensor(load_digits().images, dtype=torch.float32)
answers = torch.tensor(load_digits().target)
pixels = (scans - 8).flatten(1) / 8
if change >= 3:
    mixed = torch.randperm(1797, generator=torch.Generator(here).manual_seed(0))
    pixels, answers = pixels[mixed], answers[mixed]
count = 1200 if change >= 4 else 1500  # the rest up to 1500 is for validation

network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
if change >= 2:
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
best, best_epoch, best_state = math.inf, 0, network.state_dict()
for epoch in range(60 if change >= 4 else 10):
    for rows in (torch.randperm(count) if change >= 1 else torch.arange(count)).split(100):
        loss = F.cross_entropy(network(pixels[rows]), answers[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if change >= 4:
        with torch.no_grad():
            value = F.cross_entropy(network(pixels[1200:1500]), answers[1200:1500]).item()
        if value < best:
            best, best_epoch, best_state = value, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= 10:
            break
network.load_state_dict(best_state)
with torch.no_grad():
    is_right = network(pixels).argmax(1) == answers
print(f"{epoch + 1} epochs; right: {is_right[:count].float().mean():.1%} and {is_right[1500:].float().mean():.1%}")

# %% answer [markdown]
# | change | epochs | right of the others |
# |---|---|---|
# | 0: the script of lab 5 | 10 | 88.2% |
# | 1: shuffled | 10 | 89.2% |
# | 2: AdamW, rate 0.01 | 10 | 92.6% |
# | 3: divided at random | 10 | 94.9% |
# | 4: up to 60 epochs, early stopping | 34 | 98.0% |
#
# The run stopped in epoch 33 and went back to epoch 23, both counted from 0. The first two changes improve training.
# The third one changes the question: the file isn't in random order, and its last 297 images differ from the first
# 1,500. With `change = 0` and a random division, SGD reads 94%. Which number is right depends on what the network will
# have to read: images like those it trained on, or others. Say how you divided the data when you report a result.

# %% [markdown]
# Lab 6b repairs what's left: it gives the network a convolution, so that it knows which pixels are neighbours, and
# reads the images with a `DataLoader`.
#
# ## The loss doesn't go down: what to check
#
# 1. The loss before the first step: about $\log$ of the number of classes? If not, look at the inputs' scale and the
#    initial weights.
# 2. One batch by heart: does the loss reach zero? If not, there's a bug: a softmax or ReLU at the end, a detached part,
#    labels that don't belong to the images, a shape that broadcasts.
# 3. The parameters: is every layer in `named_parameters()`, in the optimizer, and does it have a `.grad` after
#    `backward`?
# 4. The order: `zero_grad` anywhere but between `backward` and `step`.
# 5. The activations: the same scale in every layer?
# 6. The rate: a sweep by factors of three. Too small: a smooth, slow curve. Too large: jumps, or nan.
# 7. The gradient norm: a curve of its own. Spikes: clip, and look at that batch.
# 8. The loss falls, but the validation loss doesn't: the same scaling for both? Evaluation mode? Then more data, decay,
#    or an earlier stop. And look at how the data was divided.

# %% quiz: interview points=3
# ## Interview questions
#
# **`zero_grad`**
# - [ ] It must be called before the forward pass.
#   > It may be anywhere but between `backward` and `step`. Three of the five orders gave the same losses.
# - [x] Called between `backward` and `step`, it keeps the model from learning, without an error.
#   > It takes the gradient away before `step` can use it, and a parameter without a gradient is skipped.
# - [x] By default it sets `.grad` to `None`.
#   > `set_to_none=True` is the default, so a parameter that took no part in a step is left out.
# - [x] Without it, each step uses the sum of all gradients so far.
#   > `backward` adds to `.grad`, and `step` uses what it finds there.
# - [ ] Adam does the same with gradients of zero as with gradients of `None`.
#   > With zeros its averages shrink, and the old momentum still moves the parameter. With `None`, it's skipped.
#
# Hint: Which of the five orders were equal? Which of them learned nothing?
#
# **`eval()` and `no_grad()`**
# - [ ] `eval()` stops recording.
#   > It sets the flags of the layers. A result in evaluation mode still requires grad, as in lab 4.
# - [x] Under `no_grad()`, a batch normalization in training mode updates its running averages.
#   > The layer looks at its mode, not at recording.
# - [x] In evaluation mode, dropout does nothing.
#   > In training, the numbers that were kept were scaled up already, so there's nothing to make up for: the input
#   > passes unchanged.
# - [ ] `model.train()` puts back the modes that `model.eval()` found.
#   > It sets every module to training mode, also a part that was in evaluation mode on purpose.
# - [x] A model in evaluation mode can be trained.
#   > `eval()` does not stop recording, so gradients and steps work. Only some layers, such as dropout and batch
#   > normalization, act differently.
#
# Hint: Which of the two looks at layers, and which at recording?
#
# **Parameters and buffers**
# - [ ] Modules in a Python list are trained, but not saved.
#   > The module doesn't know them at all, so they are in no `parameters()`, and an optimizer never sees them. Use
#   > `nn.ModuleList`.
# - [ ] `model.requires_grad = False` freezes the model.
#   > It only makes a new attribute of that name. `requires_grad_(False)`, with the underscore, freezes.
# - [x] A buffer is in `state_dict()` unless it was registered with `persistent=False`.
#   > `seen` in `Parts` was listed. `persistent=False` takes a buffer out of the state and leaves it in the module.
# - [x] A tensor that two modules share is counted once by `parameters()` and listed twice by `state_dict()`.
#   > `parameters()` drops repeated tensors, and `state_dict()` goes by names. So count by `parameters()`.
# - [ ] A plain tensor attribute moves with `model.to(...)`.
#   > The module doesn't know it. `plain` kept its dtype when `Parts` was cast.
#
# Hint: What did Parts list, save and cast?
#
# **The loss of an epoch**
# - [x] The mean of the batches' means is the mean over the samples if all batches have one size.
#   > Then every sample has the same weight in both. With a last batch of 40, it doesn't.
# - [ ] `total += loss` instead of `total += loss.item()` makes the mean wrong.
#   > The numbers are the same. The mistake is that the sum has a history, which keeps the nodes of every graph.
# - [ ] A training loss that is higher than the validation loss is a sure sign of a mistake.
#   > Dropout is on only in training, and the training losses are those of earlier weights.
# - [x] Softmax before `F.cross_entropy` gives another loss than the logits.
#   > `cross_entropy` takes logits and does a softmax itself. Of ten classes, the loss can't get below 1.46.
# - [x] `drop_last=True` in a `DataLoader` can leave samples out of an epoch.
#   > The last batch is left out if it is smaller than the others. Here that would be 40 samples in each epoch.
#
# Hint: What differs between the two losses besides the images?
#
# **Accumulating gradients over k batches**
# - [ ] With unequal batches, dividing each mean loss by k is exact.
#   > Then each batch counts the same, so a sample of a small batch counts more. Divide a sum by the number of samples.
# - [ ] With a batch normalization in the model, it equals one large batch exactly.
#   > Each small batch is normalized by its own mean and deviation, not by those of the whole window.
# - [x] It needs the memory for the activations of one small batch at a time.
#   > Each graph is freed by its `backward` before the next one is built. Only the gradients stay.
# - [x] Gradients are clipped once for each window, after the last of its batches.
#   > Only then is the gradient complete. Clipping batch by batch limits parts that may cancel in the sum.
# - [x] The batches left over at the end need a step of their own.
#   > Otherwise their gradients stay in `.grad`, and the next epoch adds to them.
#
# Hint: What did your window divide by, and what did it hold?
#
# **To the same numbers again**
# - [x] `torch.manual_seed` seeds the GPU's generators as well.
#   > One call seeds PyTorch on all devices. Python's `random` and NumPy have seeds of their own.
# - [ ] Setting `os.environ["PYTHONHASHSEED"]` in the first line makes `hash("abc")` repeatable.
#   > Python reads it when it starts, so inside the program it's too late.
# - [x] Going on after a checkpoint needs the optimizer's state.
#   > It holds momentum, Adam's averages and the step counts. Without them, the next step is a different one.
# - [ ] Saving the seed is as good as saving a generator's state.
#   > The seed leads back to the beginning of the sequence. The state says how far it has been drawn.
# - [ ] `best = model.state_dict()` keeps the weights of that moment.
#   > It holds the model's own memory, which training changes in place. In the lab, only `deepcopy` still had the first
#   > weight.
#
# Hint: What did one more draw change? What did deepcopy keep?

# %% [markdown]
# ## Asked in interviews
#
# Answer each aloud before you open the answer.
#
# **Where does `zero_grad` belong, and what happens without it?**
#
# <details><summary>A good answer</summary>
#
# `backward` adds to `.grad`, and `step` uses what it finds there. Without `zero_grad`, each step follows the sum of all
# gradients so far, without an error. You often hear that it has to be called before `backward`. That's the trap: it may
# be anywhere but between `backward` and `step`, where it removes the gradient before it's used. By default it sets
# `.grad` to `None`, and the optimizer leaves such a parameter out. With a gradient of zeros, Adam would still move it,
# because of its averages. To accumulate over several batches, I call it once for each
# window.
#
# </details>
#
# **What is the difference between `eval()` and `no_grad()`?**
#
# <details><summary>A good answer</summary>
#
# Neither does the other's work. `model.eval()` sets a flag on each module. Dropout then returns its input, and a batch
# normalization uses its running averages and no longer updates them. Everything is still recorded, so a model in
# evaluation mode can be trained. `no_grad()` stops recording, which saves memory, and changes no layer. Under
# `no_grad()`, a batch normalization in training mode still updates its averages. For validation I want both. The trap
# is afterwards: `model.train()` puts every module into training mode, also a part that was in evaluation mode on
# purpose. So I remember the mode of each module and put it back.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague shows you a training run. The training loss falls smoothly, and the validation accuracy stays at one in
# ten, for ten classes. "The model memorizes," he says. His validation function calls `model.eval()`, the model has
# batch normalizations, and the pixels are scaled in the training loader only.
#
# In four to eight sentences: name two causes other than memorizing that fit what you see, and for each a small
# experiment that would confirm it. What would memorizing itself look like?

# %% question: falling_loss [markdown] points=2
# ### BEGIN SOLUTION
# First, the validation images are not scaled as the training images are, so the model sees inputs unlike any
# that it trained on. The experiment: run the validation function on a batch from the training loader. If the accuracy
# is good there, the function is right and its data is not. Second, in evaluation mode the batch normalizations use
# running averages, which may be far from the batches' statistics: too few steps, a tiny momentum, or averages missing
# from a checkpoint. The experiment: evaluate training batches once in training mode and once in evaluation mode; if
# only the second is bad, it is the averages. Other good answers: labels of the validation set in another order than its
# images, or an argmax over the wrong dimension; both show on training data too. Memorizing looks different: the
# validation accuracy first rises well above chance, and then stays below the training accuracy, while the validation
# loss rises again.
#
# For grading: one point for two causes that fit, one for experiments that tell them apart.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - The loss at the start is about the log of the number of classes, and one batch can be learned by heart.
# - A module knows what it was given as an attribute: parameters, buffers, modules. A list hides them.
# - `zero_grad` may be anywhere but between `backward` and `step`.
# - A mean over batches is a mean over samples only for batches of one size. The last batch is smaller.
# - `eval()` sets modes, `no_grad()` stops recording. Put the modes back as they were.
# - Accumulate sums, and divide once. The last window needs its step.
# - `state_dict()` isn't a copy.
# - To repeat a run, you need the seeds of three libraries, and algorithms that give the same bits each time.
# - To continue to the same bits, you need the model, the optimizer, the state of every generator, and the place in the
#   run: epoch, schedule, batch.
#
# | call or rule | what it does or costs |
# |---|---|
# | `self.layers = [nn.Linear(2, 2)]` | hides the layer: use `nn.ModuleList` |
# | weights with a deviation of $\sqrt{2/n}$ | keep their scale through layers with ReLU |
# | parameters with two or more dimensions | decay; biases and normalization weights don't |
# | `module.requires_grad_(False)` | freezes; without the underscore nothing is frozen |
# | Adam | two averages for each parameter, hides the scale of a loss |
# | AdamW | decays each parameter by `lr * weight_decay * p`, beside the gradient |
# | a sweep by factors of three | take the best rate by the validation loss, not the largest that learns |
# | clipping by the global norm | one factor for all gradients, once per window |
# | `schedule.step()` | after `optimizer.step()` |
# | `optimizer.zero_grad()` | sets `.grad` to `None`: a step leaves such a parameter out |
# | `model.train()` | sets the mode of all modules: remember the flags before `eval()` |
# | `copy.deepcopy(model.state_dict())` | keeps the weights of this moment |
#
# Three questions to ask yourself:
#
# - What does this line do with the last batch?
# - Which numbers did I compute from data that shouldn't exist yet?
# - If the run stopped now, what would I miss?
#
# Lab 6b asks what layers promise, and how data arrives in time. Lab 7 asks where the memory goes.
