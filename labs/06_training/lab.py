# %% given
import copy
import io
import math
from itertools import pairwise

import matplotlib.pyplot as plt
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
    assert_some_right,
    check,
    explain,
    hint,
    probes,
    show_curves,
)

# %% [markdown]
# # Training: the loop, and what goes wrong in it
#
# A training loop has five lines. Most broken ones run without an error, and many of them even learn a little. In this
# lab you write the parts of a loop, and you find out which mistakes show, and which do not.
#
# After this lab you can
#
# - build a model so that everything in it is moved, saved and trained as it should be;
# - say which parameters get weight decay, and write an optimizer and a schedule yourself;
# - account for a loss over batches of unequal sizes, in training and in evaluation;
# - accumulate gradients exactly;
# - stop early and get the best weights back, and stop in the middle and go on to the same bits.
#
# You need labs 3 and 4; lab 5 helps. This one takes about 90 minutes. After the training loop is a good place for a
# break. All numbers in the text were measured with PyTorch 2.13 on a CPU.
#
# Write your predictions down before you run a cell. The lab is worth 33 points. The checks that you see hold about a
# sixth of them. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## The data
#
# scikit-learn brings 1,797 images of handwritten digits, each 8 by 8 pixels with values from 0 to 16. We put them into
# a random order and divide them: 1,000 to train on, 397 to choose by (*validation*), and 400 that nobody looks at
# before the end (*test*).
#
# The mean and the standard deviation that the pixels are scaled with come from the 1,000 alone. Why not from all?

# %% given
digits = load_digits()
order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
images = torch.tensor(digits.data, dtype=torch.float32)[order]
classes = torch.tensor(digits.target)[order]
mean, std = images[:1000].mean(), images[:1000].std()
scaled = (images - mean) / std

training = TensorDataset(scaled[:1000], classes[:1000])
validation = TensorDataset(scaled[1000:1397], classes[1000:1397])
figure, every = plt.subplots(1, 8, figsize=(8, 1.4))
for axes, image, label in zip(every, images[:8], classes[:8], strict=True):
    axes.imshow(image.reshape(8, 8), cmap="gray_r")
    axes.set_title(str(label.item()), fontsize=9)
    axes.axis("off")

# %% [markdown]
# Validation and test stand for data that is not there yet. A number that was computed from them has looked into the
# future. Here the difference would be small. In other data it is the whole result.
#
# A `TensorDataset` gives one sample for an index, and several, stacked, for a slice. A `DataLoader` makes batches of a
# dataset: it draws an order, if asked to, cuts it into pieces, and stacks the samples of each piece. `len(loader)` is
# the number of batches. With 1,000 samples and batches of 64, how many are there, and how large is the last one?

# %% given
loader = DataLoader(training, batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(1))
sizes = [len(y) for _, y in loader]
print("batches", len(loader), " sizes", sizes)

# %% [markdown]
# The last one has 40. Keep it in mind. It is behind three mistakes of this lab.
#
# The labels are int64, as `cross_entropy` wants them. It refuses int32, and it refuses floats that look like classes.
# `nn.Embedding` takes int32 too.
#
# ## A module and its parts
#
# A `nn.Module` is a model, or a part of one. It keeps *parameters*, which training changes; *buffers*, which belong to
# the model and are not trained; and other modules. It finds them when they are assigned as attributes. A plain function
# of tensors can be a model too, but nobody can ask it for its parameters.
#
# The next module has five things of its own. Which of their names will `named_parameters()` list, which will
# `state_dict()` hold, and which will be cast by `.double()`?


# %% given
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
# One layer of our model needs a word before you build it. `nn.Dropout(p)` sets each number to zero with probability `p`
# while the model is in *training mode*, and divides the others by `1 - p`. In *evaluation mode* it does nothing. The
# modes are set by `model.train()` and `model.eval()`. A module is in training mode when it is made.
#
# ### Your turn
# Build a classifier: linear layers, with ReLU and dropout after each but the last. The outputs of the last one are
# *logits*. The loss turns them into probabilities by itself. A softmax before it hides a sure answer: where the right
# class has the logit 10 and the other one 0, the loss is 0.3133 in place of 0.00005. What would a ReLU take away from a
# logit?

# %% given
hint(
    "Which container registers a number of layers that is not known before?",
    "sizes has one number more than there are layers. Which of the layers is followed by ReLU and dropout?",
)


# %% exercise: MLP
class MLP(nn.Module):
    """Linear layers of the given sizes, each but the last followed by ReLU and then dropout.

    sizes: at least two ints: MLP([64, 32, 10], 0.5) has the layers 64 to 32 and 32 to 10, each with a bias.
    dropout: a probability, 0 <= dropout < 1, the same at every place. Nothing else is dropped, the input neither.
    Its parameters are, in this order, weight and bias of the first layer, of the second, and so on. It has no others,
    and no buffers. Layers start as nn.Linear makes them. model(x): x (n, sizes[0]) to logits (n, sizes[-1]).
    """

    def __init__(self, sizes: list[int], dropout: float) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        layers: list[nn.Module] = []
        for size, following in pairwise(sizes[:-1]):
            layers += [nn.Linear(size, following), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        logits: Tensor = self.layers(x)
        return logits
        ### END SOLUTION


# %% given
def weights_for(sizes, seed):
    """Weights and biases for layers of these sizes, in the order of an MLP's parameters."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for size, following in pairwise(sizes):
        found += [torch.randn(following, size, generator=generator), torch.randn(following, generator=generator)]
    return found


@probes.probe
def with_weights(model, weights):
    """Puts the weights into the model's parameters, in their order. In evaluation mode."""
    with torch.no_grad():
        for parameter, weight in zip(model.to(weights[0].dtype).eval().parameters(), weights, strict=True):
            parameter.copy_(weight)


@probes.probe
def built(make, sizes, dropout, weights, x, mode="eval"):
    """What make(sizes, dropout) gives for x with these weights: logits, gradients, and how its parts are registered."""
    torch.manual_seed(0)
    model = make(sizes, dropout).to(x.dtype)
    make([*sizes[::-1], 2], dropout / 2)  # a second one is no business of the first
    parameters = list(model.parameters())
    start = [p.detach().clone() for p in parameters]
    shapes = [list(p.shape) for p in parameters]
    if shapes == [list(t.shape) for t in weights]:
        with torch.no_grad():
            for parameter, weight in zip(parameters, weights, strict=True):
                parameter.copy_(weight)
    model.train(mode == "train")
    logits = model(x)
    model.zero_grad()
    if logits.requires_grad:
        logits.square().sum().backward()
    return {
        "logits": logits.detach(),
        "start": start,
        "shapes": shapes,
        "gradients": [p.grad for p in parameters],
        "buffers": len(list(model.buffers())),
    }


# %% check: MLP points=3
with check("two layers: the shapes of its parameters, and its logits", weight=2, required=True):
    t = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]])
    w = weights_for([3, 4, 2], 0)
    hidden = (t @ w[0].T + w[1]).relu()
    want = hidden @ w[2].T + w[3]
    got = built(MLP, [3, 4, 2], 0.5, w, t)
    assert_close(got["shapes"], [[4, 3], [4], [2, 4], [2]], name="the shapes of your parameters")
    explain(
        got["logits"],
        want,
        {
            "a ReLU stands behind the last layer too: logits may be negative": want.relu(),
            "no ReLU stands between the layers: two linear layers are one": (t @ w[0].T + w[1]) @ w[2].T + w[3],
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "one layer, and four",
    weight=3,
    required=True,
    hint="How many layers do two sizes make? What stands behind the last one?",
):
    cases = (([5, 3], 4, torch.float32), ([2, 5, 3, 4, 6], 3, torch.float64), ([4, 4, 4], 1, torch.float32))
    for sizes, n, dtype in cases:
        w = [p.to(dtype) for p in weights_for(sizes, n)]
        t = torch.randn(n, sizes[0], generator=torch.Generator().manual_seed(n)).to(dtype)
        want = t
        for number in range(len(sizes) - 1):
            want = want @ w[2 * number].T + w[2 * number + 1]
            want = want.relu() if number < len(sizes) - 2 else want
        got = built(MLP, sizes, 0.3, w, t)
        assert_close(got["shapes"], [list(p.shape) for p in w], name="the shapes of your parameters")
        model = MLP(sizes, 0.3)
        with_weights(model, w)
        with torch.no_grad():
            assert_close(model(t), want)
with check(
    "the gradients of all parameters",
    weight=2,
    required=True,
    hint="Which of your layers does the module know?",
):
    sizes = [3, 4, 5, 2]
    w = [p.requires_grad_() for p in weights_for(sizes, 7)]
    t = torch.randn(6, 3, generator=torch.Generator().manual_seed(8))
    h = ((t @ w[0].T + w[1]).relu() @ w[2].T + w[3]).relu() @ w[4].T + w[5]
    want = list(torch.autograd.grad(h.square().sum(), w))
    assert_close(built(MLP, sizes, 0.9, [p.detach() for p in w], t)["gradients"], want, name="the gradients")
with check(
    "in training mode numbers are dropped, behind each layer but the last",
    weight=3,
    hint="Does each hidden layer have its dropout, with the probability that was asked for? Is anything else dropped?",
):
    for dropout in (0.25, 0.75):
        w = [
            torch.eye(200),
            torch.zeros(200),
            torch.eye(200),
            torch.zeros(200),
            torch.eye(200),
            torch.full((200,), -9.0),
        ]
        got = built(MLP, [200, 200, 200, 200], dropout, w, torch.ones(100, 200), "train")["logits"] + 9
        assert_close(got, torch.full((100, 200), (1 - dropout) ** -2) * (got != 0), name="what was kept, and zeros")
        kept = (got != 0).float().mean()
        assert abs(kept - (1 - dropout) ** 2) < 0.02, f"{kept:.0%} of the numbers were kept"
with check("without dropout both modes agree, and there are no buffers", hint="What do you do for dropout=0?"):
    w = weights_for([3, 5, 2], 4)
    t = torch.randn(4, 3, generator=torch.Generator().manual_seed(5))
    want = (t @ w[0].T + w[1]).relu() @ w[2].T + w[3]
    got = built(MLP, [3, 5, 2], 0.0, w, t, "train")
    assert_close(got["logits"], want)
    assert got["buffers"] == 0, f"your module has {got['buffers']} buffers"
with check("the layers start as nn.Linear makes them", hint="Does a line of yours write into a weight or a bias?"):
    w = weights_for([100, 400, 50], 6)
    got = built(MLP, [100, 400, 50], 0.5, w, torch.zeros(1, 100))
    assert_close(got["shapes"], [list(p.shape) for p in w], name="the shapes of your parameters")
    for p, inputs in zip(got["start"], (100, 100, 400, 400), strict=True):
        largest = p.abs().max().item() * math.sqrt(inputs)
        assert 0.5 < largest < 1.001, f"a {'bias' if p.ndim == 1 else 'weight'} starts with other numbers"
with check("no samples give no logits", guard=True):
    want = torch.empty(0, 2)
    assert_close(built(MLP, [3, 5, 2], 0.5, weights_for([3, 5, 2], 4), torch.empty(0, 3))["logits"], want)
### END HIDDEN TESTS

# %% [markdown]
# Did you get an AttributeError, "cannot assign module before Module.__init__() call"? A module must call
# `super().__init__()` before a layer is assigned to it. Until then it has nowhere to register the layer.
#
# A question to think about: one `nn.Dropout` object could serve all places, since it has no parameters. Could one
# `nn.BatchNorm1d` object do so? That layer brings a trap of its own. In training mode it takes the mean and deviation
# over the batch, so a batch of one sample raises a ValueError. The last batch of an epoch may be one. Other layers have
# other traps. `nn.LSTM` gives its state with the layers first, also with `batch_first=True`. `nn.Embedding` with
# `padding_idx=0` never trains its row 0.
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
# likely classes have the loss `log(10)`, which is 2.30. What will the second loss be after 20 steps?


# %% given
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
# step. A common one starts small and grows linearly (*warm-up*), because the first gradients of fresh weights are
# wild. Then it falls along half a cosine wave to zero.

# %% [markdown]
# ### Your turn
# Write it as a function of the step. At which step should the peak be reached, and which value belongs to step 0? Read
# the docstring twice. Schedules are where steps are miscounted by one.

# %% given
hint(
    "The progress through the second part goes from 0, at the step of the peak, to 1, at the step total. Which formula "
    "gives half a cosine wave from 1 to 0?",
    "cos(0) is 1 and cos(pi) is -1. Add one, and halve. What happens in your first part if warmup is 0?",
)


# %% exercise: warmup_cosine
def warmup_cosine(step: int, warmup: int, total: int, peak: float) -> float:
    """The learning rate of a step, counted from 0.

    Steps 0 to warmup - 1 grow in equal parts: step 0 has peak / warmup, step warmup - 1 has peak.
    From step warmup on it falls along half a cosine wave: step warmup has peak, step total has 0.
    Every step from total on has 0. warmup: 0 <= warmup < total; 0 means no warm-up. Returns a number, not a tensor,
    and computes in float64, as Python does.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return peak * 0.5 * (1 + math.cos(math.pi * progress))
    ### END SOLUTION


# %% check: warmup_cosine points=2
with check("four steps of warm-up, and then down to zero at step 12", weight=2, required=True):
    want = [0.1, 0.2, 0.3, 0.4, 0.4, 0.2, 0.0]
    got = [warmup_cosine(step, 4, 12, 0.4) for step in (0, 1, 2, 3, 4, 8, 12)]
    explain(
        got,
        want,
        {
            "the first step has the learning rate 0, and learns nothing": [0.0, 0.1, 0.2, 0.3, 0.4, 0.2, 0.0],
        },
    )
### BEGIN HIDDEN TESTS
with check("every step of other schedules", weight=3, required=True, hint="Which of the arguments does each part use?"):
    for warmup, total, peak in ((3, 10, 1.0), (1, 7, 0.05), (10, 11, 3.0)):
        want = [peak * (s + 1) / warmup for s in range(warmup)]
        want += [peak * (1 + math.cos(math.pi * (s - warmup) / (total - warmup))) / 2 for s in range(warmup, total + 1)]
        assert_close([warmup_cosine(s, warmup, total, peak) for s in range(total + 1)], want, rtol=1e-9, atol=1e-12)
with check("no warm-up", weight=2, hint="What do you divide by?"):
    want = [0.5 * (1 + math.cos(math.pi * s / 4)) * 2.0 for s in range(5)]
    assert_close([warmup_cosine(s, 0, 4, 2.0) for s in range(5)], want)
with check("after the last step it stays at zero", weight=2, hint="A cosine goes up again."):
    for step in (10, 11, 15, 19, 1000):
        assert_close(warmup_cosine(step, 2, 10, 0.3), 0.0)
### END HIDDEN TESTS

# %% [markdown]
# `torch.optim.lr_scheduler.LambdaLR(optimizer, f)` takes the optimizer's own rate times `f(step)`. Call its `step()`
# after `optimizer.step()`. If it is called before, the first value is skipped, and PyTorch warns. Call it once for each
# step or once for each epoch, as you counted. An *epoch* is one pass over the training data.
#
# ## Which parameters decay?
#
# *Weight decay* pulls parameters towards zero: plain SGD with `weight_decay=c` adds `c * parameter` to each gradient.
# It is meant for weights, the factors in products. A bias is no factor. The weight of a normalisation layer is one, but
# pulling it to zero switches the layer off. Many recipes decay neither.
#
# An optimizer takes *parameter groups*: a list of dicts with the key `"params"` and options of their own. What would
# you go by to tell a weight from the others: its name, the type of its module, or its shape? Look at the shapes.

# %% given
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
# ### Your turn
# Make the groups.

# %% given
hint(
    "Which attribute says how many dimensions a tensor has? Which one says whether it is frozen?",
    "A weight that is used in two modules must not be in the list twice. Which of the methods that list parameters "
    "gives it once?",
)


# %% exercise: decay_groups
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Parameter groups for an optimizer: those with two or more dimensions decay, the others do not.

    Returns [{"params": [...], "weight_decay": weight_decay}, {"params": [...], "weight_decay": 0.0}].
    Each parameter that requires grad is in exactly one of them, once, also where two modules share it. Frozen ones are
    in neither. In both lists the order is that of model.parameters(). The model stays as it is.
    """
    ### BEGIN SOLUTION
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    ### END SOLUTION


# %% given
torch.manual_seed(0)


class Tied(nn.Module):
    """A table that is used at both ends, a vector, a normalisation and a single number."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.norm = nn.LayerNorm(3)
        self.temperature = nn.Parameter(torch.tensor(2.0))
        self.out = nn.Linear(3, 5)
        self.out.weight = self.table.weight

    def forward(self, x):
        return self.out(self.norm(self.table(x))) * self.temperature


def make_dense():
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2, bias=False))


def make_conv():
    return nn.Sequential(nn.Conv1d(1, 3, 1), nn.GroupNorm(1, 3), nn.PReLU())


def make_table():
    return nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3))


@probes.probe
def to_group(function, rows):
    """A model with these parameters, each row in a module, where this function of the student's is."""
    return nn.ModuleList([nn.ParameterList(row) for row in rows])


@probes.probe
def decayed(groups_of, make_model, weight_decay, frozen=()):
    """One step of SGD on the groups of a model whose parameters are all 1, with gradients of 1 and a rate of 0.5."""
    model = make_model()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0)
            parameter.requires_grad_(name not in frozen)
    groups = groups_of(model, weight_decay)
    names = {id(p): name for name, p in model.named_parameters()}
    listed = [[names.get(id(p), "?") for p in group["params"]] for group in groups]
    optimizer = torch.optim.SGD(groups, lr=0.5, weight_decay=7.0)  # for groups that do not say
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    flags = {name: p.requires_grad for name, p in model.named_parameters()}
    after = {name: p.detach() for name, p in model.named_parameters()}
    return {"names": listed, "after": after, "flags": flags}


# %% check: decay_groups points=3
with check("two linear layers and a normalisation", weight=2, required=True):
    want = [["0.weight", "3.weight"], ["0.bias", "1.weight", "1.bias"]]
    got = decayed(decay_groups, make_dense, 0.2)
    explain(
        got["names"],
        want,
        {
            "the weight of the normalisation layer decays: a name says little": [
                ["0.weight", "1.weight", "3.weight"],
                ["0.bias", "1.bias"],
            ],
            "all parameters decay": [["0.weight", "0.bias", "1.weight", "1.bias", "3.weight"], []],
        },
    )
    ones = {name: torch.ones_like(p) for name, p in make_dense().named_parameters()}
    want = {name: p * (0.4 if name in ("0.weight", "3.weight") else 0.5) for name, p in ones.items()}
    assert_close(got["after"], want, name="the parameters after a step")
### BEGIN HIDDEN TESTS


def rows_and_groups(seed, frozen, rate):
    """Parameters of several modules, one of them in two, and their groups."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(seed, 2), (3,), (), (2, 1, 1), (1,), (1, 1, 2, seed), (4, 3)]
    p = [nn.Parameter(torch.randn(shape, generator=generator), n not in frozen) for n, shape in enumerate(shapes)]
    trained = [t for t in p if t.requires_grad]
    groups = [
        {"params": [t for t in trained if t.ndim > 1], "weight_decay": rate},
        {"params": [t for t in trained if t.ndim < 2], "weight_decay": 0.0},
    ]
    return [[p[0], p[1]], [*p[2:5], p[0]], [p[5], p[6]]], groups


with check(
    "a convolution, a single number and other rates",
    weight=3,
    required=True,
    hint="How many dimensions do a kernel and a single number have? Where does the rate go?",
):
    for make, matrix, rate in (
        (make_conv, "0.weight", 0.5),
        (Tied, "table.weight", 0.1),
        (make_conv, "0.weight", 0.0),
        (make_table, "0.weight", 0.3),
    ):
        ones = {name: torch.ones_like(p) for name, p in make().named_parameters()}
        want = {name: p * (0.5 - 0.5 * rate if name == matrix else 0.5) for name, p in ones.items()}
        got = decayed(decay_groups, make, rate)
        assert_close(got["after"], want, name="the parameters after a step")
        names = [[matrix], [n for n in ones if n != matrix]]
        assert_close(got["names"], names, name="the names in your groups")
    for seed, rate in ((1, 0.4), (2, 1e-3)):
        rows, want = rows_and_groups(seed, (), rate)
        assert_close(decay_groups(to_group(decay_groups, rows), rate), want, rtol=1e-12, atol=0, name="your groups")
with check("a shared weight is in one group, once", weight=2, hint="What does SGD do with a weight it gets twice?"):
    want = [["table.weight"], ["temperature", "norm.weight", "norm.bias", "out.bias"]]
    assert_close(decayed(decay_groups, Tied, 0.3)["names"], want, name="the names in your groups")
with check("a frozen parameter is in no group, and does not move", weight=3, hint="Which attribute tells it?"):
    ones = {name: torch.ones_like(p) for name, p in make_dense().named_parameters()}
    for frozen in (["0.weight", "1.bias"], ["0.bias", "1.weight", "1.bias", "3.weight"], ["0.weight", "3.weight"]):
        factor = {name: 1.0 if name in frozen else 0.4 if p.ndim > 1 else 0.5 for name, p in ones.items()}
        want = {name: p * factor[name] for name, p in ones.items()}
        names = [[n for n in ones if factor[n] == 0.4], [n for n in ones if factor[n] == 0.5]]
        got = decayed(decay_groups, make_dense, 0.2, frozen)
        assert_close(got["after"], want, name="the parameters after a step")
        assert_close(got["names"], names, name="the names in your groups")
    rows, want = rows_and_groups(3, (1, 6), 0.3)
    assert_close(decay_groups(to_group(decay_groups, rows), 0.3), want, rtol=1e-12, atol=0, name="your groups")
with check("the model stays as it is", guard=True, hint="Which of your lines freezes or thaws something?"):
    want = {"0.weight": False, "0.bias": True, "1.weight": True, "1.bias": True, "3.weight": True}
    assert_close(decayed(decay_groups, make_dense, 0.2, ["0.weight"])["flags"], want, name="requires_grad")
### END HIDDEN TESTS

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
# `v`. Suppose that a loss, and so each gradient, is a thousand times as large. How much larger is the step of SGD then,
# and how much larger is that of Adam?

# %% given
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
# Both averages start at zero, and so they are too small at first. Adam corrects that. After `t` steps, with the factors
# `b1` and `b2`, it computes
#
# - `m = b1 * m + (1 - b1) * grad` and `v = b2 * v + (1 - b2) * grad**2`,
# - `m_hat = m / (1 - b1**t)` and `v_hat = v / (1 - b2**t)`,
# - `parameter = parameter - lr * m_hat / (v_hat.sqrt() + eps)`.
#
# In the first step `m_hat` is the gradient itself, and `v_hat` its square. How far does the parameter move then?
#
# ### Your turn
# Write one step for a list of parameters. A parameter without a gradient is left out: `zero_grad()` sets `.grad` to
# `None`, so that a part of a model that took no part in this step neither moves nor forgets.

# %% given
hint(
    "The state must survive from call to call, and belongs to each parameter by its place in the list. Which kind of "
    "object can the caller hand in, and see changed?",
    "Does each parameter count its own steps? One that was left out has made fewer.",
)


# %% exercise: adam_step_
def adam_step_(
    params: list[Tensor], state: dict, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
) -> None:
    """One step of Adam, in place, as torch.optim.Adam makes it without weight decay.

    params: leaves that require grad, float32 or float64. One whose .grad is None is not changed, and neither is what
    state holds for it. state: empty before the first call; it is the caller's, and is handed in again the next time,
    with the same tensors in the same order. With an empty one all begins anew. lr may be another number in each call.
    The numbers change in the parameters' own memory. No .grad is changed.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t += 1
            m = betas[0] * m + (1 - betas[0]) * p.grad
            v = betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            m_hat, v_hat = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
            p -= lr * m_hat / (v_hat.sqrt() + eps)
    ### END SOLUTION


# %% given
class Leaves(list):
    """Leaves that start here."""

    def __init__(self, start):
        super().__init__(t.clone().requires_grad_() for t in start)
        self.own, self.memory = list(self), [p.detach() for p in self]


class State(dict):
    """A state that is no value: it stays where the student's function is."""


@probes.probe
def leaves_for(function, start):
    return Leaves(start)


@probes.probe
def state_for(function):
    return State()


@probes.probe
def with_gradients(leaves, gradients):
    """What the leaves' memory holds. From now on they have these gradients."""
    for p, g in zip(leaves.own, gradients, strict=True):
        p.grad = g
    return [t.clone() for t in leaves.memory]


@probes.probe
def stepped_with(step, start, gradients, rates, *settings, anew=None):
    """What the parameters' memory holds after each call of step on leaves that start here.

    gradients: for each call, one or None for each parameter. rates: of the calls. anew: the call before which state is
    an empty dict again. Also each .grad after each call, and whether they are the same leaves.
    """
    leaves = [t.clone().requires_grad_() for t in start]
    memory, params, state, seen, found = [p.detach() for p in leaves], list(leaves), {}, [], []
    for number, (grads, rate) in enumerate(zip(gradients, rates, strict=True)):
        for p, g in zip(leaves, grads, strict=True):
            p.grad = None if g is None else g.clone()
        if number == anew:
            state = {}
        step(params, state, rate, *settings)
        seen.append([t.clone() for t in memory])
        found.append([None if p.grad is None else p.grad.clone() for p in leaves])
    flags = [p.is_leaf and p.requires_grad for p in leaves]
    return {"after": seen, "grads": found, "leaves": flags}


# %% check: adam_step_ points=4
with check("two steps of one parameter", weight=2, required=True):
    t = [torch.tensor([1.0, -2.0])]
    gradients = [[torch.tensor([0.5, 4.0])], [torch.tensor([1.0, -4.0])]]
    want = [[torch.tensor([0.9, -2.1])], [torch.tensor([0.80348182, -2.09473681])]]
    m, v = torch.zeros(2), torch.zeros(2)
    p, uncorrected = t[0], []
    for (g,) in gradients:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p - 0.1 * m / (v.sqrt() + 1e-8)
        uncorrected.append([p])
    got = stepped_with(adam_step_, t, gradients, [0.1, 0.1])
    explain(
        got["after"],
        want,
        {"the averages were not corrected for their start at zero": uncorrected},
    )
### BEGIN HIDDEN TESTS


def adam_of_torch(start, gradients, rates, betas=(0.9, 0.999), eps=1e-8, anew=None):
    """The parameters after each step of torch.optim.Adam."""
    leaves = [nn.Parameter(t.clone()) for t in start]
    adam, seen = torch.optim.Adam(leaves, lr=1.0, betas=betas, eps=eps), []
    for number, grads in enumerate(gradients):
        if number == anew:
            adam = torch.optim.Adam(leaves, lr=1.0, betas=betas, eps=eps)
        adam.param_groups[0]["lr"] = rates[number]
        for p, g in zip(leaves, grads, strict=True):
            p.grad = None if g is None else g.clone()
        adam.step()
        seen.append([p.detach().clone() for p in leaves])
    return seen


with check(
    "five steps of two parameters, in float32 and float64",
    weight=4,
    required=True,
    hint="Does each parameter have averages of its own, and do they survive the call?",
):
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator().manual_seed(3)
        t = [torch.randn(3, 2, generator=generator, dtype=dtype).T, torch.randn((), generator=generator, dtype=dtype)]
        gradients = [[torch.randn(p.shape, generator=generator, dtype=dtype) for p in t] for _ in range(5)]
        want = adam_of_torch(t, gradients, [0.03] * 5)
        leaves, state = leaves_for(adam_step_, t), state_for(adam_step_)
        for n, grads in enumerate(gradients):
            assert_close(with_gradients(leaves, grads), [t, *want][n], name=f"the parameters after {n} steps")
            adam_step_(leaves, state, 0.03)
        assert_close(with_gradients(leaves, [None, None]), want[4], name="the parameters after 5 steps")
with check(
    "other settings",
    weight=2,
    required=True,
    hint="Where does eps stand: inside the root or outside? Which factor belongs to the squares?",
):
    generator = torch.Generator().manual_seed(4)
    t = [torch.randn(4, generator=generator, dtype=torch.float64)]
    gradients = [[0.01 * torch.randn(4, generator=generator, dtype=torch.float64)] for _ in range(4)]
    for rates, betas, eps in (([0.5] * 4, (0.5, 0.8), 0.1), ([0.2, 0.4, 0.1, 0.3], (0.0, 0.9), 1e-3)):
        want = adam_of_torch(t, gradients, rates, betas, eps)
        assert_close(stepped_with(adam_step_, t, gradients, rates, betas, eps)["after"], want)
with check(
    "a parameter without a gradient waits, and counts its own steps",
    weight=3,
    hint="What does the second parameter's t say after a step in which it had no gradient?",
):
    generator = torch.Generator().manual_seed(5)
    t = [torch.randn(3, generator=generator), torch.randn(2, generator=generator)]
    missing = {(0, 1), (2, 0), (3, 1)}  # (step, parameter)
    gradients = [
        [None if (n, i) in missing else torch.randn(p.shape, generator=generator) for i, p in enumerate(t)]
        for n in range(5)
    ]
    want = adam_of_torch(t, gradients, [0.1] * 5)
    assert_close(stepped_with(adam_step_, t, gradients, [0.1] * 5)["after"], want)
with check("an empty state begins anew", weight=1, hint="What do you keep outside state?"):
    generator = torch.Generator().manual_seed(6)
    t = [torch.randn(3, generator=generator), torch.randn(2, 2, generator=generator)]
    gradients = [[torch.randn(p.shape, generator=generator) for p in t] for _ in range(5)]
    want = adam_of_torch(t, gradients, [0.1] * 5, anew=3)
    assert_close(stepped_with(adam_step_, t, gradients, [0.1] * 5, anew=3)["after"], want)
with check("a gradient of zero changes nothing at first", weight=1, hint="Is something zero divided by zero?"):
    t = [torch.tensor([1.0, 2.0])]
    gradients = [[torch.zeros(2)], [torch.tensor([0.0, 1.0])]]
    want = adam_of_torch(t, gradients, [0.1, 0.1])
    assert_close(stepped_with(adam_step_, t, gradients, [0.1, 0.1])["after"], want)
with check(
    "the same leaves, and their .grad unchanged",
    guard=True,
    hint="Which of your lines makes a new tensor, and which changes the one that is there?",
):
    t = [torch.tensor([1.0, 2.0]), torch.tensor(3.0)]
    got = stepped_with(adam_step_, t, [[torch.tensor([3.0, -1.0]), None]] * 3, [0.1] * 3)
    assert got["leaves"] == [True, True], "a parameter is no leaf that requires grad any more"
    assert_close(got["grads"], [[torch.tensor([3.0, -1.0]), None]] * 3, rtol=0, atol=0, name=".grad")
### END HIDDEN TESTS

# %% [markdown]
# Your state holds two tensors of the parameter's size. A float32 parameter takes 4 bytes, its gradient 4, and the two
# averages 8. For a model of 7 billion parameters these are 28, 28 and 56 gigabytes.
#
# SGD with *momentum* keeps one such tensor. Each step multiplies it by the momentum, for instance 0.9, adds the
# gradient, and then goes against it in place of the gradient.

# %% [markdown]
# ## The loop, and its order
#
# Now the loop itself. For each batch: set the gradients to `None`, compute the loss, go back, make a step. It is often
# said that `zero_grad` has to come first. Has it? The next cell trains one and the same layer for 60 steps in five
# orders. Which of them reach the same loss as the first one, to the last digit? What do the others reach?


# %% given
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
# A loop has other choices that show only in its curve. `show_curves` draws the losses of several runs. In a live
# notebook you can pick one run, and the others turn grey. The next cell tries the rates 0.001, 0.01, 0.1, 1 and 10.
# Which of them will be too small, and what will too large look like?

# %% given
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
# ### Your turn
# Write an epoch. The model may come in evaluation mode, and with gradients from somebody else.

# %% given
hint(
    "What do you add up for a batch so that every sample counts the same in the end?",
    "Adding up tensors that have a history keeps every graph's nodes. What gives you a plain number?",
)


# %% exercise: train_epoch
def train_epoch(model: nn.Module, batches, optimizer: torch.optim.Optimizer) -> float:
    """One pass over the batches: for each, one step of the optimizer on the mean cross entropy of its samples.

    model: gives logits (n, c); it is put into training mode, and left in it. Gradients that it holds do not count.
    batches: an iterable, which can be read once, of at least one pair x, y (n,) int64; n, at least 1, may differ.
    Returns the mean over all samples of their losses, each as it was before its batch's step: a Python float, exact to
    the model's dtype, float32 or float64.
    """
    ### BEGIN SOLUTION
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        count += len(y)
    return total / count
    ### END SOLUTION


# %% given
torch.manual_seed(0)


class Called(nn.Module):
    """A layer that somebody else computes."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Watched(Called):
    """Such a layer, with its mode kept elsewhere. parts: what computes it, what tells or sets the mode, what copies."""

    def __init__(self, parts):
        compute, tell, copied = parts
        super().__init__(compute)
        self.tell, self.copied = tell, copied

    @property
    def training(self):
        return self.tell(None)

    @training.setter
    def training(self, mode):
        if "tell" in vars(self):
            self.tell(mode)

    def __deepcopy__(self, memo):
        return Watched(self.copied())


def samples(sizes, seed, dtype=torch.float32):
    """Batches of these sizes: x (n, 4), y (n,)."""
    generator = torch.Generator().manual_seed(seed)
    xs = torch.randn(sum(sizes), 4, generator=generator).to(dtype)
    ys = torch.randint(0, 3, (sum(sizes),), generator=generator)
    return list(zip(xs.split(sizes), ys.split(sizes), strict=True))


def drawn(shapes, seed, dtype=torch.float32):
    """Weights of these shapes, by name."""
    generator = torch.Generator().manual_seed(seed)
    return {name: (torch.randn(shape, generator=generator) / 2).to(dtype) for name, shape in shapes.items()}


def normed(width):
    """The shapes of what is in a model from 4 numbers to 3 logits, with a batch normalisation."""
    norm = {f"2.{name}": (width,) for name in ("weight", "bias", "running_mean")}
    return {"1.weight": (width, 4), "1.bias": (width,), **norm, "4.weight": (3, width), "4.bias": (3,)}


def normed_model(first, start, old=None):
    """That model behind a layer `first`, in evaluation mode. start: its weights. old: the number in each .grad."""
    width = len(start["1.bias"])
    model = nn.Sequential(Called(first), nn.Linear(4, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 3))
    model.to(start["1.bias"].dtype).load_state_dict(start, strict=False)
    for parameter in model.parameters():
        parameter.grad = None if old is None else torch.full_like(parameter, old)
    return model.eval()


class Stepping(torch.optim.Optimizer):
    """An optimizer whose step is computed by somebody else: rule(parameters, gradients) gives the new parameters."""

    def __init__(self, parameters, rule):
        super().__init__(parameters, {"lr": 0.1})
        self.rule = rule

    @torch.no_grad()
    def step(self, closure=None):
        parameters = [p for p in self.param_groups[0]["params"] if p.grad is not None]
        if not parameters:
            return
        new = self.rule([p.detach() for p in parameters], [p.grad for p in parameters])
        for parameter, number in zip(parameters, new, strict=True):
            parameter.copy_(number)


@probes.probe
def to_train(function, first, start, old=None):
    """That model, where this function of the student's is."""
    return normed_model(first, start, old)


@probes.probe
def stepping(model, rule):
    return Stepping(model.parameters(), rule)


@probes.probe
def modes_of(model):
    return [name for name, module in model.named_modules() if module.training]


# %% check: train_epoch points=3
with check("two batches of four: the weights and the loss", weight=2, required=True):
    t = samples([4, 4], 0)
    start = drawn(normed(5), 11)
    net, seen = normed_model(torch.sin, start).train(), []
    for x, y in t:
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads, strict=True):
                p -= 0.1 * g
        seen.append(loss.item())
    model = to_train(train_epoch, torch.sin, start)
    got = train_epoch(model, t, stepping(model, lambda ps, gs: [p - 0.1 * g for p, g in zip(ps, gs, strict=True)]))
    explain(
        got,
        sum(seen) / 2,
        {"this is the sum over the batches, not a mean": sum(seen), "this is the last batch's loss": seen[-1]},
    )
    assert_close(probes.state_of(model), probes.state_of(net), name="the model after the epoch")
### BEGIN HIDDEN TESTS


def turned(seed, dtype=torch.float32):
    """A first layer with weights of its own."""
    w = drawn({"w": (4, 4)}, seed, dtype)["w"]
    return lambda x: x @ w


class Rule:
    """SGD with a momentum, and a rate for each parameter. Notes the gradients of each step."""

    def __init__(self, seed, momentum=0.0):
        self.rates = (0.1 + torch.rand(6, generator=torch.Generator().manual_seed(seed))).tolist()
        self.momentum, self.moving, self.given = momentum, [0.0] * 6, []

    def step(self, parameters, gradients):
        self.given.append([g.clone() for g in gradients])
        self.moving = [self.momentum * m + g for m, g in zip(self.moving, gradients, strict=True)]
        return [p - r * m for p, r, m in zip(parameters, self.rates, self.moving, strict=True)]


def epoch_by_hand(first, start, batches, rule):
    """The state after an epoch, and the mean loss of each batch."""
    net, seen = normed_model(first, start).train(), []
    for x, y in batches:
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, new in zip(net.parameters(), rule.step(list(net.parameters()), grads), strict=True):
                p.copy_(new)
        seen.append(loss.item())
    return probes.state_of(net), seen


with check(
    "batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before",
    weight=3,
    required=True,
    hint="In which order do the lines of your loop stand? What was in .grad at the start, and after the first step?",
):
    for width, momentum, old in ((5, 0.9, None), (7, 0.0, 3.0)):
        t = samples([8, 8, 5, 2], width)
        case = turned(width), drawn(normed(width), width)
        rule, same = Rule(width, momentum), Rule(width, momentum)
        want, _ = epoch_by_hand(*case, t, same)
        model = to_train(train_epoch, *case, old)
        train_epoch(model, t, stepping(model, rule.step))
        assert_close(rule.given, same.given, name="the gradients of each step")
        assert_close(probes.state_of(model), want, name="the model after the epoch")
with check(
    "each sample counts the same in the loss",
    weight=3,
    hint="How much does a sample of the smallest batch count in your mean?",
):
    for seed, dtype, rtol in ((2, torch.float32, 2e-5), (3, torch.float64, 1e-9)):
        t = samples([7, 7, 2], seed, dtype)
        case = torch.sin, drawn(normed(5), seed, dtype)
        _, seen = epoch_by_hand(*case, t, Rule(seed))
        want = (7 * seen[0] + 7 * seen[1] + 2 * seen[2]) / 16
        model = to_train(train_epoch, *case)
        explain(
            train_epoch(model, t, stepping(model, Rule(seed).step)),
            want,
            {"each batch counts the same here, whatever its size": sum(seen) / 3},
            rtol=rtol,
            atol=rtol,
        )
with check("batches that can be read once", weight=2, hint="Which of your lines asks for the batches a second time?"):
    t = samples([3, 6, 2], 4)
    case = torch.sin, drawn(normed(6), 4)
    want, seen = epoch_by_hand(*case, t, Rule(4))
    model = to_train(train_epoch, *case)
    got = train_epoch(model, iter(t), stepping(model, Rule(4).step))
    assert_close(probes.state_of(model), want, name="the model after the epoch")
    assert_close(got, (3 * seen[0] + 6 * seen[1] + 2 * seen[2]) / 11)
with check("the model is left in training mode", guard=True, hint="Which mode did the model come in?"):
    model = to_train(train_epoch, torch.sin, drawn(normed(5), 3))
    train_epoch(model, samples([4], 3), stepping(model, Rule(3).step))
    assert_close(modes_of(model), ["", "0", "1", "2", "3", "4"], name="the modules in training mode")
### END HIDDEN TESTS

# %% [markdown]
# You could compute the losses once more after the epoch, with the final weights. That is another number, usually a
# smaller one, and it costs another pass. Say which one you report.
#
# ## Evaluation
#
# To evaluate means to measure and to change nothing. Three things differ from an epoch of training. The model is in
# evaluation mode, so that dropout does nothing and a batch normalisation uses its running averages. No graph is built.
# And afterwards everything is as before.
#
# `eval()` and `no_grad()` are often taken for each other. Does `eval()` stop recording? Does `no_grad()` stop a batch
# normalisation from counting?


# %% given
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
# ### Your turn
# Measure the loss and the accuracy, and leave no trace.

# %% given
hint(
    "model.modules() lists every module in the model, itself included. Each has an attribute training.",
    "argmax over which dimension gives a class for each sample? Would a batch of 3 samples and 3 classes tell you?",
)


# %% exercise: evaluate
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    """Mean cross entropy and accuracy over all samples, in evaluation mode, without a graph.

    model: gives logits (n, c). batches: an iterable, which can be read once, of at least one pair x, y (n,) int64; n,
    at least 1, may differ. A prediction is the class of the largest logit. Returns (loss, accuracy): Python floats,
    the loss exact to the model's dtype, float32 or float64, and accuracy from 0 to 1.
    Afterwards parameters and what they require, buffers, every .grad and the grad mode are as before, and each module
    inside is in the mode it was in.
    """
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    for module, training in modes.items():
        module.training = training
    return total / count, right / count
    ### END SOLUTION


# %% given
@probes.probe
def to_evaluate(function, first, start, training=(), old=None, watched=False):
    """That model, where this function of the student's is.

    training: the names of modules in training mode. old: the number in each .grad. watched: whether first is the parts
    of a Watched layer.
    """
    model, shared = normed_model(torch.sin if watched else first, start, old), nn.Identity()
    model.extend([shared, nn.Sequential(shared, nn.Identity())])  # "5", and "6" with "5" and "6.1" in it
    for name, module in model.named_modules():
        module.training = name in training
    if watched:
        model[0] = Watched(first)
    return model


@probes.probe
def left(model):
    """What is there afterwards."""
    return {
        "state": probes.state_of(model),
        "gradients": probes.gradients_of(model),
        "requires grad": [p.requires_grad for p in model.parameters()],
    }


@probes.probe
def evaluated_while(recording, evaluate, model, batches):
    """The grad mode afterwards. recording: before."""
    with torch.set_grad_enabled(recording):
        evaluate(model, batches)
        return torch.is_grad_enabled()


# %% check: evaluate points=3
with check("one batch of six", weight=2, required=True):
    t = samples([6], 4)
    start = drawn(normed(5), 12)
    with torch.no_grad():
        logits = normed_model(torch.sin, start)(t[0][0])
    want = F.cross_entropy(logits, t[0][1]).item(), (logits.argmax(1) == t[0][1]).float().mean().item()
    assert_close(evaluate(to_evaluate(evaluate, torch.sin, start), t), want)
### BEGIN HIDDEN TESTS
EVERYWHERE = ["", "0", "1", "2", "3", "4", "5", "6", "6.1"]


def a_case(seed, dtype=torch.float32):
    """A first layer with weights of its own, and the weights of the others."""
    w = drawn({"w": (4, 4)}, seed, dtype)["w"]
    return lambda x: x @ w, drawn(normed(seed), seed, dtype)


with check(
    "batches of 7, 3 and 2, from a model in training mode",
    weight=3,
    required=True,
    hint="In which mode is the model while you measure? How much does the last batch count?",
):
    for seed, dtype, rtol in ((5, torch.float32, 2e-5), (6, torch.float64, 1e-9), (7, torch.float32, 2e-5)):
        (first, start), t = a_case(seed, dtype), samples([7, 3, 2], seed, dtype)
        xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
        with torch.no_grad():
            logits = normed_model(first, start)(xs)
        each, right = F.cross_entropy(logits, ys, reduction="none").double(), (logits.argmax(1) == ys).double()
        want = each.mean().item(), right.mean().item()
        means, hits = ([part.mean().item() for part in t.split([7, 3, 2])] for t in (each, right))
        explain(
            evaluate(to_evaluate(evaluate, first, start, EVERYWHERE), t),
            want,
            {"each batch counts the same here, whatever its size": (sum(means) / 3, sum(hits) / 3)},
            rtol=rtol,
            atol=rtol,
        )
with check("batches that can be read once", weight=2, hint="Which of your lines asks for the batches a second time?"):
    (_, start), t = a_case(8), samples([2, 5, 3], 8)
    xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
    with torch.no_grad():
        logits = normed_model(torch.sin, start)(xs)
    want = F.cross_entropy(logits, ys).item(), (logits.argmax(1) == ys).float().mean().item()
    assert_close(evaluate(to_evaluate(evaluate, torch.sin, start, EVERYWHERE), iter(t)), want)
with check("parameters and running averages are as before", weight=2, hint="Which module counts the batches it sees?"):
    (_, start), t = a_case(4), samples([5, 4], 8)
    want = probes.state_of(normed_model(torch.sin, start))
    model = to_evaluate(evaluate, torch.sin, start, EVERYWHERE)
    evaluate(model, t)
    assert_close(left(model)["state"], want, rtol=0, atol=0, name="the model")


class Layer:
    """A layer with a mode: in training mode all that it gives is zero."""

    def __init__(self, training, w):
        self.training, self.w = training, w

    def parts(self):
        return self.compute, self.tell, self.copied

    def compute(self, x):
        return x @ self.w * (not self.training)

    def tell(self, mode):
        self.training = self.training if mode is None else mode
        return self.training

    def copied(self):
        return Layer(self.training, self.w).parts()


with check(
    "each module is in the mode it was in",
    weight=6,
    hint="Which modes were there before? Is one train() at the end enough, or eval()?",
):
    for before, modes in ((True, []), (False, EVERYWHERE)):
        (first, start), t = a_case(6 + before), samples([7], 9)
        with torch.no_grad():
            logits = normed_model(first, start)(t[0][0])
        want = F.cross_entropy(logits, t[0][1]).item(), (logits.argmax(1) == t[0][1]).float().mean().item()
        layer = Layer(before, first(torch.eye(4)))
        assert_close(evaluate(to_evaluate(evaluate, layer.parts(), start, modes, None, True), t), want)
        assert layer.training is before, "a layer is in another mode"
    for want in (EVERYWHERE, [], ["1"], ["", "3", "5", "6.1"], ["0", "6", "6.1"]):
        model = to_evaluate(evaluate, torch.sin, start, want)
        evaluate(model, samples([5], 9))
        assert_close(modes_of(model), want, name="the modules in training mode")
with check("every .grad is as before", guard=True, hint="Which call of yours touches gradients?"):
    start = drawn(normed(6), 6)
    for old in (None, 2.0):
        want = probes.gradients_of(normed_model(torch.sin, start, old))
        model = to_evaluate(evaluate, torch.sin, start, [], old)
        evaluate(model, samples([5], 9))
        assert_close(left(model)["gradients"], want, name="the .grad of the model")
with check("what requires grad, and the grad mode", guard=True, hint="What do you switch off, and never on again?"):
    for recording in (True, False):
        model = to_evaluate(evaluate, torch.sin, drawn(normed(3), 3), EVERYWHERE)
        got = evaluated_while(recording, evaluate, model, samples([5], 9))
        assert got is recording, "the grad mode is another"
        assert_close(left(model)["requires grad"], [True] * 6, name="what requires grad")
with check("no graph is built", weight=2, hint="Under which context does the forward pass run?"):
    recording = []

    def noting(x):
        recording.append(torch.is_grad_enabled())
        return x * 3

    evaluate(to_evaluate(evaluate, noting, drawn(normed(4), 9)), samples([5, 2], 9))
    assert recording, "the model was not called"
    assert not any(recording), "recording was on"
### END HIDDEN TESTS

# %% [markdown]
# Would `inference_mode` do as well as `no_grad`? Here it would: nothing of it leaves the function but two numbers.
#
# ## Accumulation that is exact
#
# A batch does not fit into memory. So you go through several small ones, let the gradients add up, and step once for
# all of them: a *window*. Lab 3 showed that dividing each loss by the number of batches is exact only for equal sizes.
# A loop has a second trap. With 10 batches and windows of 4, how many steps does this code make, and what happens to
# the last two batches?
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
# ### Your turn
# Write the loop so that each step has the gradient of the mean over all samples of its window, whatever the sizes, and
# so that the last window is used, however short.

# %% given
hint(
    "How many samples a window has is known at its end. What can you do to a gradient then?",
    "Let each batch add the gradient of the sum of its losses. What do you divide by, and when?",
)


# %% exercise: train_accumulated
def train_accumulated(model: nn.Module, batches: list, optimizer: torch.optim.Optimizer, every: int) -> int:
    """One pass over the batches, with one step of the optimizer for each window of `every` batches.

    Each step uses the gradient of the mean cross entropy over all samples of its window. The last one may be shorter,
    and makes a step as well. batches: pairs x, y (n,) int64, at least one; n may differ. n and every: at least 1.
    Gradients that the model holds at the start do not count. The model's mode is not changed. At no time is there a
    graph of more than one batch, or the graphs of two. Returns the number of steps.
    """
    ### BEGIN SOLUTION
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        for x, y in window:
            F.cross_entropy(model(x), y, reduction="sum").backward()
        count = sum(len(y) for _, y in window)
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= count
        optimizer.step()
        steps += 1
    return steps
    ### END SOLUTION


# %% given
torch.manual_seed(0)


def two_layers(width):
    """The shapes of the weights of linear layers from 4 to width and from width to 3, with a module between them."""
    return {"0.weight": (width, 4), "0.bias": (width,), "2.weight": (3, width), "2.bias": (3,)}


@probes.probe
def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    """What train(model, batches, optimizer, every) returns, and what it makes of two linear layers.

    middle: the layer between them. frozen: the names of parameters. training: of modules in training mode. old: the
    number in each .grad.
    """
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Called(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    for name, module in model.named_modules():
        module.training = name in training
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
        parameter.grad = None if old is None or name in frozen else torch.full_like(parameter, old)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    modes = [name for name, module in model.named_modules() if module.training]
    return {"state": probes.state_of(model), "steps": steps, "training": modes}


# %% check: train_accumulated points=4
with check("four batches of three samples, two at a time", weight=2, required=True):
    t = samples([3, 3, 3, 3], 20)
    start = drawn(two_layers(6), 12)
    w = [p.clone().requires_grad_() for p in start.values()]
    for a, b in ((0, 2), (2, 4)):
        x, y = torch.cat([x for x, _ in t[a:b]]), torch.cat([y for _, y in t[a:b]])
        loss = F.cross_entropy(F.linear(F.linear(x, w[0], w[1]).tanh(), w[2], w[3]), y)
        w = [(p - 0.5 * g).detach().requires_grad_() for p, g in zip(w, torch.autograd.grad(loss, w), strict=True)]
    want = {name: p.detach() for name, p in zip(start, w, strict=True)}
    got = accumulated(train_accumulated, torch.tanh, start, t, 2, 0.5)
    assert_close(got["state"], want, name="the model")
    assert_close(got["steps"], 2, name="the number of steps")
### BEGIN HIDDEN TESTS


def mixing(width):
    """A layer for the middle, with weights of its own."""
    w = drawn({"w": (width, width)}, width)["w"]
    return lambda x: torch.tanh(x @ w)


def windows_by_hand(middle, start, batches, every, lr, momentum=0.0, frozen=()):
    """The weights after steps on whole windows."""
    w = {name: p.clone().requires_grad_(name not in frozen) for name, p in start.items()}
    trained = [p for p in w.values() if p.requires_grad]
    momenta = [torch.zeros_like(p) for p in trained]
    for first in range(0, len(batches), every):
        x, y = (torch.cat(parts) for parts in zip(*batches[first : first + every], strict=True))
        h = middle(F.linear(x, w["0.weight"], w["0.bias"]))
        grads = torch.autograd.grad(F.cross_entropy(F.linear(h, w["2.weight"], w["2.bias"]), y), trained)
        momenta = [momentum * m + g for m, g in zip(momenta, grads, strict=True)]
        with torch.no_grad():
            for p, m in zip(trained, momenta, strict=True):
                p -= lr * m
    return {name: p.detach() for name, p in w.items()}


with check(
    "windows of unequal batches",
    weight=4,
    required=True,
    hint="How much does one sample of the smallest batch count in its window's gradient?",
):
    cases = (
        ([10, 2, 5, 1], 2, 0.3, torch.float32, (), 5.0),
        ([6, 1, 3], 3, 0.1, torch.float64, ("0.bias",), None),
        ([4, 2, 9, 1, 1, 7], 3, 0.2, torch.float32, ("2.weight", "0.weight"), 1.0),
    )
    for sizes, every, lr, dtype, frozen, old in cases:
        n = len(sizes)
        case = torch.tanh, drawn(two_layers(n), n, dtype), samples(sizes, n, dtype), every, lr, 0.9, frozen
        want = windows_by_hand(*case)
        assert_close(accumulated(train_accumulated, *case, (), old)["state"], want, name="the model")
with check(
    "a last window that is shorter",
    weight=3,
    hint="What does your loop do when the batches end in the middle of a window?",
):
    for sizes, every in (([4, 3, 5, 2, 6], 2), ([3, 4], 5), ([2, 5, 3, 4], 3)):
        case = torch.tanh, drawn(two_layers(every), every), samples(sizes, 30), every, 0.4
        want = windows_by_hand(*case)
        got = accumulated(train_accumulated, *case)
        assert_close(got["state"], want, name="the model")
        assert_close(got["steps"], math.ceil(len(sizes) / every), name="the number of steps")
with check("windows of one batch", weight=1, hint="What is a window of one?"):
    for seed in (31, 33):
        case = torch.tanh, drawn(two_layers(4), seed), samples([4, 1], seed), 1, 0.4
        want = windows_by_hand(*case)
        assert_close(accumulated(train_accumulated, *case)["state"], want, name="the model")
with check(
    "the graph of one batch at a time",
    weight=2,
    required=True,
    hint="How many samples are in graphs when you call backward? Which call lets a graph go?",
):
    for sizes, every in (([4, 3, 5, 2], 2), ([2, 6, 3], 3)):
        seen, kept = Seen(mixing(5)), []

        def counting(x):
            kept.append(seen.kept)
            return seen(x)

        case = drawn(two_layers(5), 32), samples(sizes, 32), every, 0.4
        want = windows_by_hand(mixing(5), *case)
        assert_close(accumulated(train_accumulated, counting, *case)["state"], want, name="the model")
        rows = [call.shapes[0][0] for call in seen.calls if call.grad]
        assert rows == sizes, f"batches of {sizes} samples, and the model builds graphs of {rows} samples"
        assert kept == [0] * len(kept), "a graph is built while the one of an earlier batch is still there"
        assert seen.backwards == len(sizes), f"{seen.backwards} gradients go back for {len(sizes)} batches"
with check("the model's mode is not changed", guard=True):
    for modes in (["", "0", "1", "2"], [], ["1"]):
        case = torch.tanh, drawn(two_layers(3), 3), samples([2], 1), 1, 0.1, 0.0, ()
        got = accumulated(train_accumulated, *case, modes)
        assert_close(got["training"], modes, name="the modules in training mode")
### END HIDDEN TESTS

# %% [markdown]
# With a batch normalisation in the model, no accumulation is exact: each small batch is normalised by its own mean and
# deviation. The same goes for every layer that lets samples of a batch see each other.
#
# ## Stopping early
#
# Training longer is not always better. From some epoch on, the loss on the training data still falls, while that on
# the validation data rises. So one stops when the validation loss has not become lower for some epochs (*patience*),
# and goes back to the weights of the best one.
#
# To go back, one must have kept them. Here are three ways to keep. Which of them still hold the first epoch's weight
# after the second?

# %% given
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
# ### Your turn
# Write the loop over the epochs. What an epoch does, and how it is measured, is handed in as two functions.

# %% given
hint(
    "When is an epoch an improvement: with an equal loss, with a lower one? What is your best before the first epoch?",
    "Which part of a model's state is in no parameter? What does load_state_dict need?",
)


# %% exercise: fit
def fit(model: nn.Module, run_epoch, validate, patience: int, most: int) -> tuple[int, float]:
    """Train until the validation loss has not improved for `patience` epochs in a row, and go back to the best epoch.

    run_epoch(): trains model for an epoch, in place. validate(): the validation loss, a float; call it once after each
    epoch. The first epoch improves; its loss is not nan. Another one improves if its loss is lower than that of every
    epoch before; nan is not lower. patience, most: at least 1. No more than `most` epochs are run.
    Afterwards all that model.state_dict() lists is as after the best epoch: the same objects, changed in place.
    Returns (number of the best epoch, counted from 0, and its loss).
    """
    ### BEGIN SOLUTION
    run_epoch()
    best, best_loss, state = 0, validate(), copy.deepcopy(model.state_dict())
    for epoch in range(1, most):
        run_epoch()
        loss = validate()
        if loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss
    ### END SOLUTION


# %% given
torch.manual_seed(0)


def filled(numbers, size=3):
    """The state of a linear layer and a batch normalisation when each entry is filled with its number."""
    model = nn.Sequential(nn.Linear(2, size), nn.BatchNorm1d(size))
    entries = model.state_dict().items()
    return {name: torch.full_like(t, number) for (name, t), number in zip(entries, numbers, strict=True)}


@probes.probe
def scripted(fit, size, epoch, validate, patience, most):
    """What fit returns for such a model, its state, and whether its tensors are the same, in the same memory.

    epoch(): the numbers that fill its entries after an epoch.
    """
    model = nn.Sequential(nn.Linear(2, size), nn.BatchNorm1d(size))
    tensors = list(model.state_dict(keep_vars=True).values())
    places = [t.data_ptr() for t in tensors]

    def run_epoch():
        with torch.no_grad():
            for t, number in zip(tensors, epoch(), strict=True):
                t.fill_(number)

    returned = fit(model, run_epoch, validate, patience, most)
    after = model.state_dict(keep_vars=True).values()
    same = [a is b and b.data_ptr() == place for a, b, place in zip(tensors, after, places, strict=True)]
    return {"returned": list(returned), "state": probes.state_of(model), "same": same}


# %% check: fit points=3
class Script:
    """Validation losses, one for each epoch, what it makes of the state, and the calls in their order."""

    def __init__(self, losses, seed=0):
        self.losses, self.calls = losses, []
        generator = torch.Generator().manual_seed(seed)
        self.numbers = torch.randint(1, 10**6, (len(losses), 7), generator=generator).tolist()

    def epoch(self):
        self.calls.append("epoch")
        return self.numbers[self.calls.count("epoch") - 1]

    def validate(self):
        self.calls.append("loss")
        return self.losses[self.calls.count("epoch") - 1]


with check("the best of five epochs is the second", weight=2, required=True):
    script = Script([3.0, 2.0, 2.5, 2.25, 2.75, 1.0, 1.5, 1.25, 1.75, 2.0])
    got = scripted(fit, 3, script.epoch, script.validate, 3, 10)
    assert_close(got["returned"], [1, 2.0])
    last = filled(script.numbers[4])
    explain(
        got["state"],
        filled(script.numbers[1]),
        {"these are the weights of the last epoch: what you kept was changed by training": last},
    )
### BEGIN HIDDEN TESTS
with check(
    "other losses: the best epoch and its weights and buffers",
    weight=3,
    required=True,
    hint="Which epoch do your weights come from, and which one your buffers?",
):
    for losses, patience, best in (
        ([0.5, 1.0, 1.0], 2, 0),
        ([2.0, 3.0, 1.5, 2.0, 1.25, 4.0, 4.0, 4.0], 3, 4),
        ([-1.0, -2.0, -1.5], 1, 1),
    ):
        script = Script([*losses, *[9.0] * 9], best + 1)
        got = scripted(fit, patience + 1, script.epoch, script.validate, patience, 12)
        assert_close(got["returned"], [best, losses[best]])
        assert_close(got["state"], filled(script.numbers[best], patience + 1), name="the model")
with check(
    "it stops after exactly `patience` epochs without an improvement",
    weight=3,
    hint="Count: which epoch is the first without an improvement, and after which one do you stop?",
):
    for losses, patience, epochs in (
        ([2.0, 3.0, 3.0], 1, 2),
        ([2.0, 3.0, 1.0, 3.0, 3.0], 2, 5),
        ([2.0, 1.0, 1.5, 1.25, 0.5], 2, 4),
    ):
        script = Script([*losses, *[9.0] * 9])
        scripted(fit, 3, script.epoch, script.validate, patience, 12)
        assert_close(script.calls, ["epoch", "loss"] * epochs, name="the calls")
with check(
    "an equal loss is no improvement",
    weight=2,
    hint="Lower, or not higher?",
):
    script = Script([2.0, 2.0, 2.0, 3.0, 3.0, 3.0])
    got = scripted(fit, 3, script.epoch, script.validate, 3, 6)
    assert_close(got["returned"], [0, 2.0])
    assert_close(got["state"], filled(script.numbers[0]), name="the model")
with check(
    "at most `most` epochs",
    weight=2,
    hint="What stops your loop if every epoch is better? What is left to do when it ends in this way?",
):
    for most in (1, 4):
        script = Script([9.0 - n for n in range(9)])
        got = scripted(fit, 3, script.epoch, script.validate, 2, most)
        assert_close(got["returned"], [most - 1, 10.0 - most])
        assert_close(script.calls, ["epoch", "loss"] * most, name="the calls")
    script = Script([3.0, 1.0, 2.0, 2.5], 9)  # patience is left at the end
    got = scripted(fit, 3, script.epoch, script.validate, 5, 4)
    assert_close(got["returned"], [1, 1.0])
    assert_close(got["state"], filled(script.numbers[1]), name="the model")
with check("a loss of nan is never the best", weight=2, hint="What does nan < 3 say, and what does 3 < nan?"):
    script = Script([4.5, 4.0, math.nan, 3.0, math.nan, math.nan, 5.0])
    got = scripted(fit, 3, script.epoch, script.validate, 2, 7)
    assert_close(got["returned"], [3, 3.0])
    assert_close(got["state"], filled(script.numbers[3]), name="the model")
with check("the losses to their last digit", weight=1, hint="Which of your lines rounds a loss?"):
    script = Script([0.1 + 1e-12, 0.1, 0.2])
    got = scripted(fit, 3, script.epoch, script.validate, 1, 3)
    assert_close(got["returned"], [1, 0.1], rtol=1e-13, atol=0)
    assert_close(got["state"], filled(script.numbers[1]), name="the model")
with check("the first epoch improves, even with an infinite loss", weight=1, hint="What is lower than infinity?"):
    script = Script([math.inf, math.inf, math.inf, 1.0])
    got = scripted(fit, 3, script.epoch, script.validate, 2, 4)
    assert_close(got["returned"], [0, math.inf])
    assert_close(got["state"], filled(script.numbers[0]), name="the model")
with check("the parameters are the same objects", guard=True, hint="Does an optimizer know your new tensors?"):
    script = Script([1.0, 2.0, 3.0])
    got = scripted(fit, 3, script.epoch, script.validate, 1, 5)
    assert got["same"] == [True] * 7, "a parameter or a buffer is another object now, or in other memory"
### END HIDDEN TESTS

# %% [markdown]
# The best validation loss of many epochs is a lucky one: it was chosen because it is low. This is why a third part of
# the data is left for the end.
#
# ## The same numbers again
#
# A run can be repeated if every random number in it can. `torch.manual_seed(s)` seeds PyTorch on all devices. Python's
# `random` and NumPy's older functions have seeds of their own. `numpy.random.default_rng()` is seeded by its argument
# only. Setting `PYTHONHASHSEED` inside a program does nothing: it is read when Python starts.
# `torch.use_deterministic_algorithms(True)` makes an operation that has no repeatable form raise an error. The two
# flags `torch.backends.cudnn.deterministic` and `torch.backends.cudnn.benchmark` are about cuDNN alone, and raise
# nothing. A sum of floats depends on its order, and another number of threads may be another order: in `float32`, `1e8
# - 1e8 + 1` is 1, and `1e8 + 1 - 1e8` is 0.
#
# A seed is not all. It fixes a *sequence* of numbers. What happens to all that follows, if somebody adds one more draw?

# %% given
for extra in (False, True):
    generator = torch.Generator().manual_seed(3)
    first = torch.rand(2, generator=generator)
    if extra:
        torch.rand(1, generator=generator)
    print(f"one more draw {extra!s:5}  first {first.tolist()}  second {torch.rand(2, generator=generator).tolist()}")

# %% [markdown]
# All that comes after it is another number. So the draws of different purposes should have generators of their own: one
# for the order of the data, say, and one for everything else.
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
# - the state of the generator that orders the data, and that of PyTorch's own generator, which dropout draws from;
# - where the run is: the epoch, the schedule.
#
# A seed does not replace the state of a generator. Why not?
#
# ### Your turn
# Collect it. The next cell shows how it will be used. Training goes on after your function returns, so nothing in your
# dict may change with it.


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


# %% exercise: checkpoint
def checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> dict:
    """All that resume_ needs to go on to the same bits: a dict with the keys model, optimizer, generator and rng.

    model, optimizer: as for their load_state_dict, each tensor in its own dtype. generator: its state. rng: the state
    of PyTorch's own CPU generator. Nothing in it changes when training goes on. It holds tensors, numbers, strings,
    None, and lists, tuples and dicts of these, so that torch.load reads what torch.save wrote of it. The call changes
    no state.
    """
    ### BEGIN SOLUTION
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }
    ### END SOLUTION


# %% given
torch.manual_seed(0)


class Run:
    """A training run with dropout, a batch normalisation, and an order that a generator draws."""

    def __init__(self, start, first, data, optimizer, settings, seed):
        torch.manual_seed(seed)
        width = len(start["1.bias"])
        norm = nn.BatchNorm1d(width)
        self.model = nn.Sequential(nn.Linear(4, width, bias=False), norm, nn.Dropout(0.5), nn.Linear(width, 3))
        self.model.to(start["1.bias"].dtype).load_state_dict(start, strict=False)
        self.optimizer = optimizer(self.model.parameters(), **settings)
        self.generator = torch.Generator().manual_seed(seed)
        self.first, (self.x, self.y) = first, data

    def go(self, steps):
        for _ in range(steps):
            rows = torch.randperm(len(self.y), generator=self.generator)[:8]
            self.step(self.x[rows], self.y[rows])
        return self

    def step(self, x, y):
        def loss():  # some optimizers, such as LBFGS, call it themselves
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(self.first(x)), y)
            loss.backward()
            return loss

        self.optimizer.step(loss)

    def state(self):
        return probes.state_of(self.model)


@probes.probe
def taken(checkpoint, run, before, after, see="saved"):
    """A run with a checkpoint after some steps, which goes on: what was saved, a file of it, or the run at its end."""
    with torch.random.fork_rng(devices=[]):
        session, file = Run(*run).go(before), io.BytesIO()
        saved = checkpoint(session.model, session.optimizer, session.generator)
        session.go(after)
        torch.save(saved, file)
        return {"saved": saved, "file": file.getvalue(), "state": session.state()}[see]


# %% check: checkpoint points=3
with check("three steps, a checkpoint, and no step more", weight=2, required=True):
    shapes = {"0.weight": (8, 4), "1.weight": (8,), "1.bias": (8,), "3.weight": (3, 8), "3.bias": (3,)}
    settings = {"lr": 0.1, "momentum": 0.9}
    run = (drawn(shapes, 0), lambda x: x, samples([40], 50)[0], torch.optim.SGD, settings, 0)
    with torch.random.fork_rng(devices=[]):
        session = Run(*run).go(3)
        rng = torch.get_rng_state()
    got = taken(checkpoint, run, 3, 0)
    assert_close(got["model"], session.state(), name="the model in your dict")
    assert_close(got["generator"], session.generator.get_state(), name="the generator's state")
    assert_close(got["rng"], rng, name="the state of PyTorch's own generator")
    want = session.optimizer.state_dict()["state"]
    assert_close(got["optimizer"]["state"], want, name="what the optimizer keeps")
### BEGIN HIDDEN TESTS
SGD, ADAM = (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.Adam, {"lr": 0.05})
LBFGS = (torch.optim.LBFGS, {"lr": 0.1, "max_iter": 1})  # keeps numbers and lists


def a_run(seed, optimizer, dtype=torch.float32):
    """A run whose first layer has weights of its own."""
    shapes = {"0.weight": (6, 4), "1.weight": (6,), "1.bias": (6,), "3.weight": (3, 6), "3.bias": (3,)}
    w = drawn({"w": (4, 4)}, seed, dtype)["w"]
    return (drawn(shapes, seed, dtype), lambda x: x @ w, samples([40], seed, dtype)[0], *optimizer, seed)


def not_interrupted(run, steps):
    """The state after so many steps."""
    with torch.random.fork_rng(devices=[]):
        return Run(*run).go(steps).state()


def noted(run):
    """That run, and a list of what its first layer is going to be given."""
    start, first, *rest = run
    given = []

    def noting(x):
        given.append(x.clone())
        return first(x)

    return (start, noting, *rest), given


def resumed(run, saved, steps):
    """The state after so many steps of another run that goes on from what was saved."""
    with torch.random.fork_rng(devices=[]):
        other = Run(*run[:5], 99).go(2)
        resume_(saved, other.model, other.optimizer, other.generator)
        return other.go(steps).state()


with check(
    "a run that goes on is bit for bit the one that was not stopped",
    weight=4,
    required=True,
    hint="Which of the four states differs, if the first step after it is right and the second is not?",
):
    for seed, optimizer, dtype, before, after in (
        (1, SGD, torch.float32, 3, 3),
        (2, ADAM, torch.float64, 1, 3),
        (3, ADAM, torch.float32, 3, 2),
        (4, SGD, torch.float64, 0, 2),
    ):
        run = a_run(seed, optimizer, dtype)
        (same, batches), (seen, given) = noted(run), noted(run)
        want = not_interrupted(same, before + after)
        got = taken(checkpoint, seen, before, after)  # it comes when the last of these steps was made
        assert_close(given, batches, name="the batches of the run that was saved")
        assert_close(resumed(run, got, after), want, name="the model that went on")
with check("the run that was saved is not disturbed", weight=2, guard=True, hint="Which of your calls draws or seeds?"):
    for seed, optimizer in ((3, SGD), (5, ADAM)):
        run = a_run(seed, optimizer)
        want = not_interrupted(run, 4)
        assert_close(taken(checkpoint, run, 2, 2, "state"), want, name="the model")
with check(
    "it survives a file",
    weight=2,
    hint="What may a file hold that torch.load reads by default? What does an optimizer keep besides tensors?",
):
    for seed, optimizer, dtype, before, after in (
        (4, ADAM, torch.float32, 2, 2),
        (6, SGD, torch.float32, 2, 2),
        (9, LBFGS, torch.float64, 3, 4),
    ):
        run = a_run(seed, optimizer, dtype)
        want = not_interrupted(run, before + after)
        file = io.BytesIO(taken(checkpoint, run, before, after, "file"))
        got = resumed(run, torch.load(file, weights_only=True), after)
        assert_close(got, want, name="the model that went on")
### END HIDDEN TESTS

# %% [markdown]
# `torch.save` right after your function would have made the copy for you. In memory, and in code that saves in another
# thread, nobody does.
#
# ## All of it together
#
# Here are your parts in one run. It trains on the digits, stops early, and looks at the test data once.

# %% scratch
history = {"training": [], "validation": []}


def all_of_it():
    torch.manual_seed(0)
    model = MLP([64, 48, 10], 0.2)
    optimizer = torch.optim.SGD(decay_groups(model, 1e-3), lr=0.3, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: warmup_cosine(epoch, 2, 15, 1.0))
    loader = DataLoader(training, batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(1))

    def one_epoch():
        history["training"].append(train_epoch(model, loader, optimizer))
        schedule.step()

    def one_validation():
        history["validation"].append(evaluate(model, [validation[:]])[0])
        return history["validation"][-1]

    print("best epoch and its loss:", fit(model, one_epoch, one_validation, 4, 15))
    print("test loss and accuracy :", evaluate(model, [(scaled[1397:], classes[1397:])]))


try:
    all_of_it()
except NotImplementedError:
    print("Some of the exercises above are not written yet.")
show_curves(history)

# %% [markdown]
# The axis counts epochs here. The validation curve lies below the training curve at first. Why is that no mistake? Two
# things differ: the dropout, and the time at which each loss was taken.

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. A question counts only if all of its letters are right, and one right question alone pays nothing.
#
# **q1. `zero_grad`**
# - a. It must be called before the forward pass.
# - b. Called between `backward` and `step`, it keeps the model from learning, without an error.
# - c. By default it sets `.grad` to `None`.
# - d. Without it, each step uses the sum of all gradients so far.
# - e. Adam does the same with gradients of zero as with gradients of `None`.
#
# **q2. `eval()` and `no_grad()`**
# - a. `eval()` stops recording.
# - b. Under `no_grad()`, a batch normalisation in training mode updates its running averages.
# - c. In evaluation mode, dropout does nothing.
# - d. `model.train()` puts back the modes that `model.eval()` found.
# - e. A model in evaluation mode can be trained.
#
# **q3. Parameters and buffers**
# - a. Modules in a Python list are trained, but not saved.
# - b. `model.requires_grad = False` freezes the model.
# - c. A buffer is in `state_dict()` unless it was registered with `persistent=False`.
# - d. A tensor that two modules share is counted once by `parameters()` and listed twice by `state_dict()`.
# - e. A plain tensor attribute moves with `model.to(...)`.
#
# **q4. The loss of an epoch**
# - a. The mean of the batches' means is the mean over the samples if all batches have one size.
# - b. `total += loss` in place of `total += loss.item()` makes the mean wrong.
# - c. A training loss that is higher than the validation loss is a sure sign of a mistake.
# - d. Softmax before `F.cross_entropy` gives another loss than the logits.
# - e. `drop_last=True` in a `DataLoader` can leave samples out of an epoch.
#
# **q5. Accumulating gradients over k batches**
# - a. With unequal batches, dividing each mean loss by k is exact.
# - b. With a batch normalisation in the model, it equals one large batch exactly.
# - c. It needs the memory for the activations of one small batch at a time.
# - d. Gradients are clipped once for each window, after the last of its batches.
# - e. The batches left over at the end need a step of their own.
#
# **q6. To the same numbers again**
# - a. `torch.manual_seed` seeds the GPU's generators as well.
# - b. Setting `os.environ["PYTHONHASHSEED"]` in the first line makes `hash("abc")` repeatable.
# - c. Going on after a checkpoint needs the optimizer's state.
# - d. Saving the seed is as good as saving a generator's state.
# - e. `best = model.state_dict()` keeps the weights of that moment.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "bcd", "q2": "bce", "q3": "cd", "q4": "ade", "q5": "cde", "q6": "ac"}
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
    assert_some_right(interview(), {"q1": "bcd", "q2": "bce", "q3": "cd", "q4": "ade", "q5": "cde", "q6": "ac"})
with check("q1: zero_grad", weight=4, hint="Which of the five orders were equal? Which of them learned nothing?"):
    assert_letters(interview(), "q1", "bcd")
with check("q2: eval and no_grad", weight=4, hint="What was printed in evaluation mode, and what under no_grad?"):
    assert_letters(interview(), "q2", "bce")
with check("q3: parameters and buffers", weight=4, hint="What did Parts list, save and cast?"):
    assert_letters(interview(), "q3", "cd")
with check("q4: the loss of an epoch", weight=4, hint="Which curves does a training with dropout give?"):
    assert_letters(interview(), "q4", "ade")
with check("q5: accumulation", weight=4, hint="What did your window divide by, and what did it hold?"):
    assert_letters(interview(), "q5", "cde")
with check("q6: the same numbers again", weight=4, hint="What did one more draw change? What did deepcopy keep?"):
    assert_letters(interview(), "q6", "ac")
### END HIDDEN TESTS

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
# ## Summary
#
# - A module knows what it was given as an attribute: parameters, buffers, modules. A list hides them.
# - `zero_grad` may stand anywhere but between `backward` and `step`.
# - A mean over batches is a mean over samples only for batches of one size. The last batch is smaller.
# - `eval()` sets modes, `no_grad()` stops recording. Put the modes back where they were.
# - Accumulate sums, and divide once. The last window needs its step.
# - `state_dict()` is no copy.
# - To go on to the same bits takes the model, the optimizer, and the state of every generator.
#
# Lab 7 asks where the memory goes while all this runs.
