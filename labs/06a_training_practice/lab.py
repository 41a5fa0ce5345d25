# %% [markdown]
# # When training goes wrong: checks, rates, and runs that repeat
#
# You start a run on Friday evening. On Monday, the loss is where it was after the first hour, and nothing tells you
# why. You lower the learning rate and start again. It might be better now, or just lucky. Then the machine is taken
# away in the middle of a run, and the weights that you saved aren't enough to pick up where you left off. In this lab,
# you'll build tools for these problems, and at the end, you'll use them to repair Friday's run.
#
# After this lab, you'll be able to
#
# - check a network before a long run: its loss before the first step, and whether it can memorize one batch;
# - choose a learning rate from a sweep, and give it a schedule;
# - measure a network without changing it;
# - resume a run bit for bit;
# - write a tool that finds five common bugs with a single batch, and find out what it misses.
#
# The core consists of five exercises: `overfit_one_batch`, `warmup_cosine`, `evaluate`, `checkpoint` and `check_setup`.
# At the very end are four sections of *further practice*, about variance through depth, weight decay, clipping and runs
# that repeat. They earn no points.
#
# You need lab 6. Plan on two sittings of about 70 minutes for the core, and more than an hour for the further practice.
# All numbers were measured with PyTorch 2.13 on a CPU.
#
# At each *Predict*, choose an answer before you run the next cell. A card below each exercise shows its checks; those
# marked *later* run when you press *Mark my work* or hand in the lab. The folded cell above an exercise contains
# helpers for its checks: run it, but you don't have to read it.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import copy
import io
import math
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    probes,
    show_curves,
    use_device,
)

# %% given
here = use_device()  # where new tensors are created: on the GPU, if there is one

# %% [markdown]
# The next cell loads the digits from lab 6, with the same split: 1,000 scans for training, 397 for making choices, and
# 400 for testing. This lab doesn't touch the test scans. `scaled` holds their pixels, scaled with the mean and standard
# deviation of the first 1,000.

# %% given
digits = load_digits()
order = torch.randperm(len(digits.target), device="cpu", generator=torch.Generator().manual_seed(0))
images = torch.tensor(digits.data, dtype=torch.float32)[order]
classes = torch.tensor(digits.target)[order]
scaled = (images - images[:1000].mean()) / images[:1000].std()
training = TensorDataset(scaled[:1000], classes[:1000])

# %% [markdown]
# ## How do the weights start?
#
# Before the first step, a network needs some weights. `nn.Linear` draws small random numbers. Wouldn't zeros do? The
# next cell trains a network with layer sizes 64, 32 and 10 for 20 steps on all 1,000 samples, once from PyTorch's
# initial weights and once from all zeros.

# %% predict: start_with_zeros
# **Predict.** After 20 steps, what is the loss of the model that started from zeros?
#
# - [ ] as low as that of the other model
# - [ ] lower than at the start, but higher than that of the other model
# - [x] still about 2.30
# - [ ] nan


# %% example
def plain_model(seed):
    """64 to 32 to 10, with a ReLU. The same seed gives the same weights."""
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
# On its way to the first layer, the gradient is multiplied by the second layer's weights, which are zero. These weights
# get no gradient either, because the hidden values are zero. Only the second layer's biases learn. No other constant
# helps either: if all weights are equal, and all biases too, the hidden units are equal, get equal gradients, and stay
# equal forever. Random weights make them different.
#
# ## The loss before the first step
#
# Some bugs show up before you even start training. An untrained network should consider all ten classes about equally
# likely, so its loss should be about $-\log(1/10) = \log 10$, which is 2.30. Which of these four looks right?

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
# The first is close to 2.30. Unscaled pixels give 3.85 and large weights 11.51: in both cases, the network is
# confidently wrong. A bad initial loss is a sign of a bug, but a good one proves little: the network with the softmax
# passes with 2.31. The next test, memorizing one batch, catches that.
#
# ## Memorizing one batch
#
# Before a run that takes hours, take a minute to train on a single batch. Without dropout, a network with thousands of
# parameters should be able to memorize 64 images if it gets the same batch in every step and identical images have
# identical labels. If it can't at any of several learning rates, there's a bug that no schedule or amount of data will
# fix. Below, five networks take 100 steps each. Which ones fail?

# %% example
x, y = scaled[:64], classes[:64]
torch.manual_seed(0)


class Detached(nn.Sequential):
    def forward(self, x):
        return self[2](self[1](self[0](x)).detach())


suspects = {
    "plain": plain_model(0),
    "softmax at the end": nn.Sequential(plain_model(0), nn.Softmax(1)),
    "ReLU at the end": nn.Sequential(plain_model(0), nn.ReLU()),
    "hidden part detached": Detached(*plain_model(0)),
    "wide, and detached": Detached(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 10)),
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
# The plain network's loss gets near zero, at 0.007. With a softmax, the loss is 1.59 and can't get below 1.46, as you
# saw in lab 6's first answer. With the ReLU, the loss is 0.87: where a logit is negative, its gradient is zero. The
# detached network reaches 0.51, because its last layer still learns. If the network is 1,024 wide, that layer memorizes
# the batch by itself, and the loss is 0.008. So a high loss shows a bug, but a low one rules out only bugs that prevent
# memorizing. `check_setup`, below, finds the detached part. Here, a threshold of 0.05 separates the networks that
# memorize from the others; other networks and rates need other numbers.
#
# ### Your turn: overfit_one_batch
# Write this check as a function: train on one batch until the loss is below a threshold, and report how many steps that
# took, or that the model couldn't do it.

# %% given
hint(
    "If `most` is 5, how many times may you measure the loss, and how many times may you step?",
    "Measure, compare, and step only if the loss isn't low enough. What does a comparison with nan return?",
)

# %% exercise: overfit_one_batch points=3 level=medium

# %% [markdown]
# A low loss on one batch says nothing about other images. A network can memorize wrong labels, too, so look at a few
# images with their labels.
#
# ## A learning-rate sweep
#
# If you tune only one number, tune the learning rate. The best one may be ten times your first guess or a tenth of it,
# so try rates that differ by factors of about three, in short runs. Compare the runs by their validation losses. The
# curves are smoothed, since the losses of single batches are noisy.


# %% example
def short_run(rate, seed, epochs=3):
    """The losses of 60 steps of AdamW, and the validation loss after them."""
    model, shuffling = plain_model(seed), torch.Generator(here).manual_seed(seed)
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
    print(f"lr={rate:<6g} validation loss of three seeds:", *(f"{value:.2f}" for _, value in runs))
show_curves(sweep)

# %% [markdown]
# Which rate would you choose, and why not the largest one that still learns?

# %% answer [markdown]
# 0.03: its validation loss is the lowest for all three seeds, at 0.16, 0.15 and 0.14, compared with 0.19, 0.21 and 0.18
# for 0.01. With a rate of 0.1, the network still learns, but its loss only gets down to about 0.3. With a rate of 0.3,
# no run gets below 1.4. The largest rate that still learns is close to that edge, and in a longer run, one unlucky
# batch can be enough to cross it.
#
# Short runs favor large rates, because small ones need more steps. After 10 epochs instead of 3, rates of 0.01 and 0.03
# come out about equal, both with losses of 0.10 to 0.12. So for lab 6's longer runs, either would do. That lab uses
# 0.01, which is farther from the edge.
#
# Is 0.03 better than 0.01, or just lucky? If they were equally good, each seed would be a coin toss, and one of the two
# would win all three in 1 case out of 4. Besides, you picked 0.03 as the best of seven rates on these very seeds, and
# all of them share the validation images. So compare the two on new seeds: on 3 to 8, 0.03 wins only four of six, which
# could well be luck.

# %% [markdown]
# ### A schedule
#
# A constant rate is a compromise: large enough to make progress, small enough to settle. A *schedule* changes the rate
# from step to step. A common one begins with a *warm-up*, in which the rate rises linearly to its full value, the
# *peak*. Then it falls to zero along half a cosine wave.
#
# Why start small? In its first step, Adam moves every parameter by about the full rate, even if its gradient is small,
# as long as it's far above `eps`. If the rate is large, a few such steps can wreck good initial weights, as you'll
# measure below.
#
# At which step should the rate reach its peak, and what should it be at step 0?

# %% answer [markdown]
# At step 0, it shouldn't be zero: a step with a rate of 0 computes a gradient but learns nothing. So with a warm-up of
# 4 steps, step 0 gets a quarter of the peak, and step 3, the last of the warm-up, gets all of it. The cosine also
# starts at its largest value, so step 4 gets the peak too.

# %% [markdown]
# ### Your turn: warmup_cosine
# Write this schedule as a function of the step. It's easy to be off by one.

# %% given
hint(
    "The progress through the second part goes from 0, at step warmup, to 1, at step total. Which formula "
    "gives half a cosine wave from 1 to 0?",
    "cos(0) is 1 and cos(pi) is -1. Add one, and halve. What happens in your first part if warmup is 0?",
)

# %% exercise: warmup_cosine points=2 level=easy

# %% [markdown]
# `torch.optim.lr_scheduler.LambdaLR(optimizer, f)` multiplies the optimizer's own rate by the factor `f(step)`. So give
# the optimizer the peak rate, and your function a peak of 1: `lambda step: warmup_cosine(step, 10, 60, 1.0)`. Call the
# scheduler's `step()` after `optimizer.step()`. If you call it first, the schedule's first value is skipped, and
# PyTorch warns you.
#
# ### Does the schedule pay?
#
# The next cell trains five layers for 120 steps: first at a constant rate, then with your schedule but no warm-up, and
# then with the full schedule. Run it with a peak of 0.03, then 0.01 and 0.003. Does the schedule lead to a better
# result, or leave you more rates to choose from?

# %% scratch
peak = 0.03


def deep_run(factor, seed):
    """The losses of 120 steps of AdamW, and the validation loss after them. factor: of the peak, at each step."""
    torch.manual_seed(seed)
    hidden = [part for n in (64, 128, 128, 128) for part in (nn.Linear(n, 128), nn.ReLU())]
    model, shuffling = nn.Sequential(*hidden, nn.Linear(128, 10)), torch.Generator(here).manual_seed(seed)
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=peak), []
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for _ in range(6):
        for rows in torch.randperm(1000, generator=shuffling).split(50):
            loss = F.cross_entropy(model(scaled[rows]), classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    with torch.no_grad():
        return losses, F.cross_entropy(model(scaled[1000:1397]), classes[1000:1397]).item()


factors = {
    "constant": lambda step: 1.0,
    "cosine only": lambda step: warmup_cosine(step, 0, 120, 1.0),
    "warmup_cosine": lambda step: warmup_cosine(step, 20, 120, 1.0),
}
try:
    of_schedules = {text: [deep_run(factor, seed) for seed in range(3)] for text, factor in factors.items()}
    for text, runs in of_schedules.items():
        values = " ".join(f"{value:.2f}" for _, value in runs)
        print(f"{text:13} highest loss {max(runs[0][0]):.1f}, validation loss of three seeds {values}")
    show_curves({text: smoothed(runs[0][0]) for text, runs in of_schedules.items()})
except Exception as error:
    print("This cell needs a working warmup_cosine:", repr(error))

# %% answer [markdown]
# | peak | validation loss, constant | with warm-up and cosine |
# |---|---|---|
# | 0.03 | 0.41, 0.62, 0.37 | 0.18, 0.15, 0.16 |
# | 0.01 | 0.28, 0.18, 0.13 | 0.11, 0.13, 0.14 |
# | 0.003 | 0.13, 0.15, 0.16 | 0.16, 0.16, 0.16 |
#
# Mostly, it leaves you more rates to choose from. At a constant 0.03, Adam's first step takes the loss from 2.3 to 6.5;
# with the warm-up, it never rises like that. At this peak, the cosine alone gives 0.21, 0.26 and 0.30, so each part of
# the schedule helps. (These are from one CPU thread. At a constant 0.03 or 0.01, rounding differences grow during
# training, so a different number of threads changes the first digit, but not the comparison.) At 0.003, the constant
# rate does at least as well: it wasn't too large to begin with.

# %% [markdown]
# ## Evaluation
#
# A measurement that changes what it measures spoils the next epoch. You know the two switches from lab 4. `eval()` sets
# the modes of the layers, but operations are still recorded. `no_grad()` stops recording, but a batch normalization
# layer in training mode still updates its averages. For validation, you need both.
#
# Afterward, everything should be as before. `model.train()` isn't enough: it sets *all* modules to training mode, even
# a pretrained part that was deliberately kept in evaluation mode.
#
# ### Your turn: evaluate
# Measure the loss and the accuracy, and leave no trace.

# %% given
hint(
    "model.modules() lists every module in the model, including the model itself. Each has a training attribute.",
    "argmax over which dimension gives a class for each sample? Would a batch of 3 samples with 3 classes tell you?",
)

# %% exercise: evaluate points=3 level=medium

# %% [markdown]
# Restore the modes in `finally`, as in lab 4's `predict`. Otherwise, a bad batch whose error is caught further up would
# leave the model in evaluation mode for the rest of training.
#
# ## A good place to stop
#
# You can now check a network before a run, choose its rate, and measure it without leaving a trace. Next come a run
# that stops in the middle and a list of what to check when a run fails. When you come back, your variables may be gone:
# choose *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs the cells
# it needs.

# %% [markdown]
# ## Stopping in the middle
#
# A long run dies: a machine is taken away, or a disk fills up. It should resume from the last *checkpoint* as if
# nothing had happened, down to the last bit. What do you have to save for that, besides the weights? Write down your
# answer before you read on.

# %% answer [markdown]
# Besides the weights:
#
# - the buffers of the model, which are in its `state_dict()`;
# - what the optimizer keeps: momentum, Adam's averages and step counts;
# - the state of the generator that shuffles the data, and of PyTorch's own generators, which dropout draws from: the
#   CPU's, and on a GPU the GPU's;
# - where the run is: the epoch, the schedule (`schedule.state_dict()`), and the position within the epoch.
#
# A seed can't replace the state of a generator: it takes you back to the beginning of the sequence.

# %% [markdown]
# Why the position within the epoch? In the next cell, a run stops after two of four batches. It saves the state of the
# loader's generator and restores it. What will it read next?

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
# It reads a different epoch. The loader drew the whole order when the epoch began, so the later state leads to a
# different order. It's simplest to save only between epochs. Otherwise, also save the state from before the epoch and
# the number of batches already read. To resume, restore that state and skip that many batches, and only then restore
# the other generators, such as dropout's: reading a batch may draw from them too.
#
# ### Your turn: checkpoint
# Collect the state that PyTorch holds; the caller keeps track of the epoch and the schedule. The next cell shows how
# your dict will be used. Training continues after your function returns, and must not change anything in the dict.


# %% given
def resume_(saved, model, optimizer, generator):
    """Restore everything from the checkpoint."""
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    generator.set_state(saved["generator"])
    torch.set_rng_state(saved["rng"])


# %% given
hint(
    "torch.get_rng_state() and generator.get_state() return states as tensors. Are they copies? Is state_dict()?",
    "What does optimizer.state_dict() hold: its own numbers, or the tensors that the next step changes?",
)

# %% exercise: checkpoint points=3 level=medium

# %% [markdown]
# Calling `torch.save` right after your function would have made the copy for you. If you keep the dict in memory or
# save it in another thread, you need your own copy.
#
# ### The digits script, resumed
#
# Use your function on the digits script. The next cell trains a network for ten epochs. Then it trains a second one for
# five, writes a checkpoint to a file, and resumes the run in a third one with different initial weights, a new
# optimizer, and a new schedule. The network has dropout, so it draws random numbers at each step. Everything is on the
# CPU: with GPUs, also save `torch.cuda.get_rng_state_all()`.
#
# After ten epochs, are all the weights equal, down to the last bit? Then leave out one part at a time: add
# `"optimizer"` to `left_out`, say, and the third run keeps its own. Which of the five can you leave out and still get
# the same weights? Would the accuracy have told you?

# %% scratch
left_out: list[str] = []  # parts that aren't restored: "model", "optimizer", "generator", "rng" or "schedule"

pixels, labels = scaled.cpu(), classes.cpu()


def new_run(seed):
    """A network, its optimizer, the generator that shuffles its batches, and its schedule."""
    torch.manual_seed(seed)
    with torch.device("cpu"):
        network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmup_cosine(step, 10, 100, 1.0))
    return network, optimizer, torch.Generator().manual_seed(seed), schedule


def whole_state(run):
    return {**checkpoint(*run[:3]), "schedule": run[3].state_dict()}


def train_digits(run, epochs):
    network, optimizer, generator, schedule = run
    for _ in epochs:
        for rows in torch.randperm(1000, device="cpu", generator=generator).split(100):
            loss = F.cross_entropy(network(pixels[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def share_right(run):
    network = run[0].eval()
    with torch.no_grad():
        return (network(pixels[1000:1397]).argmax(1) == labels[1000:1397]).float().mean()


try:
    unstopped = new_run(0)
    train_digits(unstopped, range(10))
    interrupted = new_run(0)
    train_digits(interrupted, range(5))
    file = io.BytesIO()  # stands in for a file on a disk
    torch.save({"epoch": 5, **whole_state(interrupted)}, file)
    file.seek(0)
    saved = torch.load(file)
    continued = new_run(1)
    own = whole_state(continued)
    parts = saved | {part: own[part] for part in left_out}
    resume_(parts, *continued[:3])
    continued[3].load_state_dict(parts["schedule"])
    train_digits(continued, range(saved["epoch"], 10))
    weights, others = (nn.utils.parameters_to_vector(run[0].parameters()) for run in (unstopped, continued))
    print(f"right: {share_right(unstopped):.1%} without the stop, {share_right(continued):.1%} with it")
    print(f"largest difference between two weights: {(weights - others).abs().max().item():.2g}")
except Exception as error:
    print("This cell needs a working checkpoint and warmup_cosine:", repr(error))

# %% answer [markdown]
# All weights are equal: the largest difference is 0. With any of the five parts left out, they aren't:
#
# | left out | right after ten epochs | largest difference |
# |---|---|---|
# | nothing | 96.0% | 0 |
# | `"model"` | 90.4% | 0.58 |
# | `"optimizer"` | 96.5% | 0.075 |
# | `"generator"` | 96.0% | 0.026 |
# | `"rng"` | 96.2% | 0.028 |
# | `"schedule"` | 97.5% | 0.15 |
#
# The accuracy reveals only the missing weights. Three incomplete checkpoints do even better than the complete one, so
# compare the weights.
#
# Make the schedule before you load the optimizer's state, as `new_run` does. A new `LambdaLR` sets the rate to that of
# step 0, and loading the schedule's state doesn't correct it until the next `schedule.step()`.

# %% [markdown]
# ## The loss doesn't go down: what to check
#
# When a run fails, where do you begin? Here are the checks from this lab and the last one, roughly in order of cost: 1
# to 4 take one pass, 5 to 8 a few steps or a look at your data and code, and 9 to 11 whole runs.
#
# 1. The loss before the first step: is it about $\log$ of the number of classes? If not, is it a mean, or a sum over
#    the batch? Then look at the inputs' scale and the initial weights.
# 2. The logits: are they all nonnegative, and does each row sum to 1? Then there's a softmax at the end that doesn't
#    belong there.
# 3. The parameters: is every layer in `named_parameters()` and in the optimizer? A tensor that two modules share is
#    counted once by `parameters()`, whereas `state_dict()` lists it twice.
# 4. The gradients: after `backward`, does every parameter that requires grad have one that isn't all zeros? `None`
#    means that no recorded path leads from the loss to it: a layer isn't used, or something is detached (or a function
#    that you wrote yourself, as in lab 8, returned `None`). Zeros mean that there is a path, but that something on the
#    way, such as a dead ReLU or weights of zero, lets nothing through.
# 5. A single batch, always the same: does its loss reach zero without dropout, at some rate? If not, there's a bug, or
#    the network is too small, or two identical images have different labels.
# 6. The samples: look at a few. Do the labels match the images?
# 7. The order: does `step` follow its own batch's `backward`, with no `zero_grad` between them (lab 6)?
# 8. The activations, the gradients and the update ratios: do they have the same scale in every layer? See *Variance
#    through depth*, below.
# 9. The learning rate: sweep it by factors of three. A rate that's too small gives a smooth, slow curve; one that's too
#    large gives jumps or nan.
# 10. The norm of the gradient: plot it. If it spikes, look at that batch. *Clipping*, below, limits the damage.
# 11. The training loss falls, but the validation loss doesn't: is the scaling the same for both? Is the model in
#     evaluation mode? If both are fine, try more data, weight decay or an earlier stop, and look at how the data was
#     split.

# %% [markdown]
# ### Your turn: check_setup
# Write items 1 to 4 as a function that names the problems it finds on one batch, and leaves the model as it was. For
# parameters that the loss doesn't depend on, `torch.autograd.grad` raises an error unless you pass `allow_unused=True`;
# then it returns None for them.

# %% given
hint(
    "Which parts of a model does a forward pass change, and how do you keep or restore them?",
    "torch.autograd.grad(loss, parameters, allow_unused=True) returns the gradients and touches no .grad. Can you call "
    "it if the loss doesn't require grad?",
    "copy.deepcopy(model) gives you a model for the forward pass and the gradients. The optimizer holds the parameters "
    "of the original, so ask about those.",
)

# %% exercise: check_setup points=4 level=hard

# %% [markdown]
# A forward pass with dropout advances PyTorch's generator, so in a run that should repeat, call your tool inside
# `with torch.random.fork_rng():`.
#
# Try it on eight networks: six from this lab, before any training step, one whose last layer was replaced after the
# optimizer was made, and one whose last layer starts at zero. Which problem does it miss, which item on the list finds
# that one, and which report is a false alarm?

# %% scratch
untrained = {
    "plain": plain_model(0),
    "softmax at the end": nn.Sequential(plain_model(0), nn.Softmax(1)),
    "ReLU at the end": nn.Sequential(plain_model(0), nn.ReLU()),
    "hidden part detached": Detached(*plain_model(0)),
    "all zeros": plain_model(0),
    "pixels from 0 to 16": plain_model(0),
    "last layer replaced": plain_model(0),
    "last layer at zero": plain_model(0),
}
with torch.no_grad():
    untrained["last layer at zero"][2].weight.zero_()
    for parameter in untrained["all zeros"].parameters():
        parameter.zero_()
for text, model in untrained.items():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    if text == "last layer replaced":
        model[2] = nn.Linear(32, 10)
    pixels_of = images if text == "pixels from 0 to 16" else scaled
    try:
        print(f"{text:22}", check_setup(model, optimizer, pixels_of[:64], classes[:64]))
    except Exception as error:
        print("This cell needs a working check_setup:", repr(error))
        break

# %% answer [markdown]
# It misses the ReLU at the end: the loss starts near 2.30, no row sums to 1, and every parameter has a gradient that
# isn't all zeros. Item 5 finds it, since the network can't memorize a batch. The softmax is `"probabilities"`, the
# detached part `"graph"`, the zeros `"dead"`, the pixels from 0 to 16 `"loss"`, and the replaced layer `"optimizer"`.
#
# The last `"dead"` is a false alarm: its zeros block the first layer's gradient only in step 1, and some networks start
# like that on purpose, as with LoRA, which trains small matrices next to frozen ones. Take one step and check again:
# only the network with all zeros is still dead.

# %% [markdown]
# ### Friday's run
# This is the run from the beginning of the lab, with a few minutes for its weekend. It has three bugs: each of your two
# tools finds one that the other misses, and neither finds the third. Where the comment is, print for a fresh network
# what `check_setup(network, optimizer, x, y)` returns, and then
# `overfit_one_batch(network, optimizer, x, y, 0.05, 100)`. The order matters: the second call trains the network, so
# its loss is no longer the one from before the first step. Repair each bug before you look for the next; for the third,
# print what you suspect.


# %% scratch
def friday_network():
    """A network and its optimizer."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10), nn.ReLU())
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    network[0] = nn.Linear(64, 256, bias=False)  # the pixels have a mean of 0
    return network, optimizer


def friday_run(epochs=60):
    network, optimizer = friday_network()
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: warmup_cosine(n, 5, epochs, 1.0))
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(1000).split(50):
            loss = F.cross_entropy(network(scaled[rows]), classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(rows)
        if epoch in (0, 2, 4, 9, 59):
            print(f"epoch {epoch:2}  training loss {total / 1000:.3f}")
    with torch.no_grad():
        return (network(scaled[1000:1397]).argmax(1) == classes[1000:1397]).float().mean().item()


try:
    network, optimizer = friday_network()
    x, y = scaled[:64], classes[:64]
    # your two calls
    print(f"right: {friday_run():.1%} of the validation images")
except Exception as error:
    print("This cell needs a working warmup_cosine, and calls of the other functions:", repr(error))

# %% answer [markdown]
# `check_setup` returns `["optimizer"]`: `network[0]` was replaced after the optimizer was made, so it never learns.
# Make the optimizer last. `overfit_one_batch` can't see this one (without the ReLU, it returns 28): the last layer of a
# network 256 wide memorizes 64 images by itself.
#
# Now `check_setup` returns `[]`, but `overfit_one_batch(..., 0.05, 100)` still returns `None`: remove the ReLU at the
# end. After that, it returns 7.
#
# Neither tool reports a problem, because neither one calls the schedule, but the loss stays the same from epoch 4 on.
# Print `schedule.get_last_lr()`: after three epochs, the rate is 0. `schedule.step()` is called once per batch, but 5
# and `epochs` count epochs, so write `warmup_cosine(n, 5 * 20, epochs * 20, 1.0)`.
#
# | repaired | training loss after 60 epochs | right |
# |---|---|---|
# | nothing | 1.057 | 66.2% |
# | the optimizer | 0.556 | 79.3% |
# | and the ReLU | 0.065 | 96.2% |
# | and the schedule | 0.000 | 98.2% |
#
# Lowering the rate on Monday wouldn't have fixed anything.
# %% quiz: interview points=3
# ## Interview questions
#
# **Before a long run**
# - [ ] With ten classes, an initial loss of 2.30 shows that the network has no bug.
#   > A good initial loss proves little: the network with the softmax started at 2.31.
# - [x] If the *mean* cross entropy before the first step is far above $\log$ of the number of classes, the network
#   gives some correct classes a probability much lower than an equal share.
#   > Unscaled pixels gave 3.85, and large last weights 11.51. A *sum* over 64 samples is about 147 without a bug.
# - [ ] If all weights and biases start with the same nonzero value, the hidden units of a layer soon become
#   different.
#   > Equal units get equal gradients, so they stay equal. That's why the initial weights are random.
# - [x] If a large enough network can't memorize one fixed batch of different images, at any rate and without dropout,
#   there's a bug that more data won't fix.
#   > A softmax or a ReLU at the end, or a detached part: all three failed on 64 images. But a wide detached network
#   > passed, so a low loss doesn't rule out every bug.
# - [ ] If a network memorizes a batch, the batch's labels are right.
#   > It memorizes wrong labels too. Look at a few images with their labels.
#
# Hint: Which of the four networks passed the first check but failed the second?
#
# **Rates and schedules**
# - [ ] The best learning rate is the largest one at which the loss still falls.
#   > With 0.1, the loss still fell, but 0.03 was better for all three seeds.
# - [x] In its first step, Adam moves each parameter by about the full rate, even if its gradient is small, as long as
#   it's far above `eps`.
#   > The first step's average divided by the root of the other is the gradient's sign. Hence the warm-up.
# - [ ] `schedule.step()` goes before `optimizer.step()`.
#   > Then the first value of the schedule is skipped, and PyTorch warns you.
# - [x] Short runs favor large rates.
#   > Small ones need more steps. After 3 epochs, 0.03 was ahead of 0.01; after 10, they came out about equal.
#
# Hint: What did the sweep decide by? What does Adam divide by in its first step?
#
# **Parameters, gradients and the optimizer**
# - [x] A tensor that two modules share is counted once by `parameters()` and listed twice by `state_dict()`.
#   > `parameters()` drops repeated tensors, whereas `state_dict()` goes by names. So count with `parameters()`.
# - [ ] If a layer isn't used, `backward` raises an error.
#   > Its `.grad` stays `None`, and the optimizer skips it. That's why `check_setup` looks.
# - [ ] If you replace a layer after you've made the optimizer, the new layer is trained.
#   > The optimizer holds the old layer's parameters, and never asks the model again.
# - [x] In a model of PyTorch's own operations, if a parameter requires grad, a gradient of `None` after `backward`
#   means that no recorded path leads to it; a gradient of zeros doesn't mean that.
#   > A detached layer has `None`, though it affects the loss. With weights of zero, a path leads to the first layer,
#   > but its gradient is zero.
#
# Hint: Who holds references to the parameters, and when did they get them?
#
# **`eval()` and `no_grad()`**
# - [ ] `eval()` stops recording.
#   > It sets the flags of the layers. A result in evaluation mode still requires grad, as in lab 4.
# - [x] Under `no_grad()`, a batch normalization layer in training mode updates its running averages.
#   > The layer looks at its mode, not at recording.
# - [x] In evaluation mode, dropout does nothing.
#   > In training, dropout already scales up the numbers that it keeps, so there's nothing to make up for: the input
#   > passes through unchanged.
# - [ ] `model.train()` restores the modes from before `model.eval()`.
#   > It sets every module to training mode, even a part that was deliberately kept in evaluation mode.
# - [x] A model in evaluation mode can be trained.
#   > `eval()` doesn't stop recording, so gradients and steps work. Only some layers, such as dropout and batch
#   > normalization, behave differently.
#
# Hint: Which of the two looks at layers, and which at recording?
#
# **Resuming a run**
# - [x] To resume a run that uses Adam so that it matches the original bit for bit, you need the optimizer's state.
#   > It holds Adam's averages and step counts. Without them, the next step is a different one. Plain SGD without
#   > momentum keeps no such state.
# - [ ] Saving the seed is as good as saving a generator's state.
#   > The seed takes you back to the beginning of the sequence. The state says how far the sequence has been drawn.
# - [ ] `best = model.state_dict()` keeps the weights as they are at that moment.
#   > It shares the model's own memory, which training changes in place. In lab 6, only `deepcopy` still had the first
#   > weight.
#
# - [ ] If a resumed run reaches the same accuracy as an uninterrupted one, the checkpoint was complete.
#   > In the digits script, a checkpoint without the generator's state did too. Compare the weights.
# - [x] In the middle of an epoch, the state of a `DataLoader`'s generator isn't enough to continue.
#   > The loader drew the whole order when the epoch began, so the later state leads to a different order.
#
# Hint: When is the order of an epoch drawn? Which memory does `state_dict()` share?

# %% [markdown]
# ## In your own words (2 points)
#
# A run with AdamW, dropout, a warm-up and a cosine stops after 30 of 60 epochs. A colleague has saved the model's
# `state_dict()`. She loads it into a new model, makes a new optimizer, seeds everything with the run's seed, and calls
# her training function for the remaining 30 epochs. The training loss, 0.009 before the stop, is 0.095 in the third
# epoch after it. "The file must be broken," she says.
#
# In four to eight sentences, name two things missing from her file that explain the jump, with a small experiment for
# each that would confirm it. In the end, the network gets 97.7% of the validation images right, much like the
# uninterrupted run, which gets 98.5%. How would you show that a repaired script resumes exactly?

# %% question: resumed_run [markdown] points=2
# ### BEGIN SOLUTION
# First, the position in the schedule: her training function starts again at step 0, so the rate warms up to its peak,
# although by epoch 30 it should be down to about half of it. The experiment: print the rate of each step after the
# restart, or pass the step number at which the run stopped, and see whether the jump goes away. Second, the optimizer's
# state: Adam's averages and step counts start from nothing, so its first steps move almost every parameter by about the
# full rate, even if its gradient is small. The experiment: save `optimizer.state_dict()` too, and compare the losses of
# the first steps after a restart with and without it. The states of the generators are also missing: seeding again
# repeats the orders of the first 30 epochs, and dropout's draws, but that hardly explains a jump. The file isn't
# broken: the loss of the loaded model, measured before any step, would show it. Equal accuracies prove nothing, since
# incomplete checkpoints reach them too. To show that a resume is exact, run once without a stop and once with one, and
# compare all weights with `torch.equal`.
#
# For grading: one point for two missing things that explain the jump, each with an experiment; one for comparing the
# weights, or the loss of every step, to the last bit with a run that wasn't interrupted.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Before the first step, the loss is about the log of the number of classes.
# - If a parameter requires grad, `None` in `.grad` means that no recorded path leads to it; zeros mean that one
#   does, but that nothing gets through.
# - A network that can't memorize one batch has a bug. One that can may still have bugs.
# - An optimizer holds the parameters that it was given. It doesn't notice what you replace or add later.
# - `eval()` sets modes; `no_grad()` stops recording. Restore the modes afterward.
# - To resume a run bit for bit, you need the model, the optimizer, the state of every generator, and the position in
#   the run: epoch, schedule, batch. Compare the weights, not the accuracy.
#
# | call or rule | what it does or costs |
# |---|---|
# | a sweep by factors of three | choose the best rate by the validation loss, not the largest that learns |
# | `schedule.step()` | goes after `optimizer.step()` |
# | `model.train()` | sets the mode of all modules: save the flags before `eval()` |
#
# Three questions to ask yourself:
#
# - Which check would have found this bug before the run began?
# - Does my measurement change what it measures?
# - If the run stopped now, what would I lose?
#
# Lab 6b asks what layers promise, and lab 6c how to get data to them in time. Lab 7 asks where the memory goes. Four
# sections of further practice follow.

# %% [markdown]
# ## Variance through depth
#
# This section is further practice. Initial weights should be random, but how large? In a deep network, the wrong size
# makes the activations vanish or explode. A linear layer sums $n$ products. If each weight has a variance of
# $\sigma^2$, the sum's variance is $n \sigma^2$ times the mean square of the inputs, and a ReLU halves the mean square.
# Across ten layers, ten such factors multiply.
#
# The next cell draws weights in three ways and shows the distribution of the activations after layers 1, 4, 7 and 10,
# each 256 wide. Which way preserves the scale?

# %% example
drawing = {
    "0.01": lambda n: 0.01,
    "sqrt(1 / n), LeCun": lambda n: math.sqrt(1 / n),
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
# In the second, the histograms narrow from layer to layer. In the third, their width hardly changes.*
#
# With a standard deviation of 0.01, the activations after ten layers are about $10^{-10}$. $\sqrt{1/n}$, LeCun's rule,
# ignores the fact that a ReLU halves the mean square, so each layer loses a factor of about 1.4. $\sqrt{2/n}$, He's
# rule, makes up for that. In PyTorch, it's `nn.init.kaiming_normal_`. `nn.Linear` itself uses $\sqrt{1/(3n)}$, less
# than either rule gives: with a ReLU, and ignoring the biases, each layer shrinks the activations by a factor of
# $\sqrt{6}$, or 2.4. That's good enough for a few layers, or with normalization layers.
#
# And the gradients? Two numbers per layer are worth printing in any run: the norm of the gradient, and the *update
# ratio*, the norm of a step divided by the norm of the weights. What do they look like for the three kinds of initial
# weights and for `nn.Linear`, with SGD at a rate of 0.1?

# %% example
for text, deviation in {**drawing, "nn.Linear": None}.items():
    torch.manual_seed(0)
    layers = [nn.Linear(n, 256) for n in (64, *[256] * 9)]
    for layer in layers if deviation else []:
        nn.init.normal_(layer.weight, 0.0, deviation(layer.in_features))
        nn.init.zeros_(layer.bias)
    model = nn.Sequential(*(part for layer in layers for part in (layer, nn.ReLU())), nn.Linear(256, 10))
    F.cross_entropy(model(scaled[:1000]), classes[:1000]).backward()
    norms = [layer.weight.grad.norm().item() for layer in layers[::3]]
    ratios = [0.1 * norm / layer.weight.norm().item() for norm, layer in zip(norms, layers[::3], strict=True)]
    print(f"{text:20} gradient", *(f"{n:7.1g}" for n in norms), "  update ratio", *(f"{r:7.1g}" for r in ratios))

# %% [markdown]
# With 0.01, a step changes every layer by less than a part in a billion, so nothing is learned. With He's rule, it's
# 0.2% to 0.5% in all four layers. With `nn.Linear`, the first layer gets a thirtieth of the last one's gradient and
# changes by a millionth: use He's rule in networks as deep as this.

# %% [markdown]
# ## Which parameters decay?
#
# This section is further practice. Weight decay is meant for weight matrices and kernels. By convention, biases and the
# weights of normalization layers don't decay. To tell the optimizer which parameters should decay, use *parameter
# groups*: a list of dicts, each with the key `"params"` and its own options. Usually, the shape tells you which
# parameter is which: biases and the weights of most normalization layers have one dimension, while matrices, embedding
# tables and convolution kernels have two or more.
#
# A *frozen* parameter doesn't require grad, and shouldn't be in any group. To freeze all of a module's parameters, call
# `module.requires_grad_(False)`. Without the underscore, `module.requires_grad = False` only creates a new attribute.
#
# ### Your turn: decay_groups
# Build the groups.

# %% given
hint(
    "Which attribute tells you how many dimensions a tensor has? Which one tells you whether it's frozen?",
    "A weight that's used in two modules must not be in the list twice. Which of the methods that list parameters "
    "lists it only once?",
)

# %% exercise: decay_groups points=3 level=easy further

# %% [markdown]
# If a weight appears twice in one group, SGD warns you but updates it twice in each step. If it appears in two groups,
# SGD raises an error.
#
# To share a weight between two modules, assign one Parameter to both. Writing `a.weight.data = b.weight.data` instead
# won't do. That makes two Parameters that share memory. Adam then updates that memory twice, with two sets of averages.
# As soon as the model is cast or moved, each Parameter also gets its own memory.

# %% [markdown]
# ## Clipping
#
# This section is further practice. One bad batch can undo an hour of training. *Clipping by the global norm* takes the
# norm of all gradients, as if they were a single long vector, and if it exceeds a limit, scales them all by the same
# factor, which preserves their direction. If you accumulate gradients, clip them once per window, after the last
# `backward`. In the next cell, someone has multiplied one batch's pixels by 100 by mistake.


# %% example
def clip_(parameters, limit):
    """Scale the gradients in place so that their global norm is at most limit. Returns the norm before scaling."""
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
# nine steps later, it's still 1.27. With the limit, the norm of 56 is scaled down to 1, the loss rises from 0.53 to
# 0.57, and nine steps later, it's 0.39. The loss before the bad batch was 0.53 instead of 0.47 because the limit had
# also shortened 23 of the 30 ordinary steps.
#
# `torch.nn.utils.clip_grad_norm_(parameters, 1.0)` does the same and also returns the norm before clipping, which is
# worth plotting. Clipping each tensor, or each number, separately changes the direction.
#
# ## The same numbers again
#
# This section is further practice. You can't find a bug in a run that you can't repeat. `torch.manual_seed(s)` seeds
# PyTorch on all devices. Python's `random` and NumPy's older functions have their own seeds.
# `numpy.random.default_rng()` is seeded only by its argument. Setting `PYTHONHASHSEED` inside a program has no effect
# on that program: it's read when Python starts.
#
# A seed fixes a *sequence* of numbers. If you add one more draw, what happens to everything that follows?

# %% example
for extra in (False, True):
    generator = torch.Generator(here).manual_seed(3)
    first = torch.rand(2, generator=generator)
    if extra:
        torch.rand(1, generator=generator)
    print(f"one more draw {extra!s:5}  first {first.tolist()}  second {torch.rand(2, generator=generator).tolist()}")

# %% [markdown]
# Every later draw gets a different number. (On the CPU, `rand` shifts them by one.) So give each purpose, such as the
# order of the data, its own generator. A `DataLoader` takes one as its `generator`.
#
# The other half of the problem is arithmetic: a sum of floats depends on its order. In `float32`, `1e8 - 1e8 + 1` is 1,
# but `1e8 + 1 - 1e8` is 0. A different number of threads may mean a different order. Some operations on a GPU use
# *atomic* additions, which run in whatever order its threads arrive. What can you do about such an operation?

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
# `torch.use_deterministic_algorithms(True)` chooses algorithms that give the same bits in every run, and raises an
# error where there is none. This holds only for the same hardware, versions and number of threads. With
# `warn_only=True`, it only warns. It also fills the tensors that `torch.empty` returns, floats with NaN and integers
# with their largest value, so that you don't read stale memory by accident. Deterministic algorithms may be slower.
#
# Three more settings belong to NVIDIA's libraries. cuDNN, which computes convolutions, may try several algorithms and
# keep the fastest, and the choice can differ from run to run: `torch.backends.cudnn.benchmark` allows that.
# `torch.backends.cudnn.deterministic` restricts it to reproducible algorithms. cuBLAS, which multiplies matrices, needs
# the environment variable `CUBLAS_WORKSPACE_CONFIG`, set to `:4096:8` or `:16:8` before its first product. Without a
# GPU, you can set all three, but they have no effect.
#
# ### Your turn: deterministic
# Put all of this into a context manager, `with deterministic(3): ...`, that leaves everything as it was. It doesn't
# reach generators of your own, the hash seed, or the number of threads. And cuBLAS may read its variable only once, at
# its first product: if that came before the block, setting the variable may have no effect.

# %% exercise: deterministic points=1 level=medium further
