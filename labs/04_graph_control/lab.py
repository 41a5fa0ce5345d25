# %% given
import torch
from torch import Tensor, nn

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
    show_graph,
    show_kept,
)

# %% [markdown]
# # Controlling the graph
#
# You know what autograd records, and what `backward` does with the record. In this lab you take control of it. You
# switch recording off and on, stop a gradient where it should not go, let it flow through a part that does not learn,
# cut a long history into pieces, and go through a graph twice.
#
# After this lab you can
#
# - say what `no_grad`, `detach`, `inference_mode`, `requires_grad=False` and `eval()` each do, and what they do not do;
# - keep values from a training run without keeping its memory, or losing the values;
# - write a loss with a stop-gradient, and find out what happens without the stop;
# - compute predictions, or the gradient for an input, and leave a model exactly as it was;
# - train on a long sequence with a graph of bounded size;
# - differentiate a gradient, and build a loss from one.
#
# You need lab 3. This one takes about 90 minutes. After inference mode is a good place for a break. All numbers in the
# text were measured with PyTorch 2.13 on a CPU.
#
# Most sections ask you to predict something. Write your prediction down before you run the cell. A wrong prediction is
# the part that you will remember.
#
# The lab is worth 32 points. Each exercise has a few checks that you see at once, and more that run after you hand in.
# Those that you see hold about a fifth of the points. So a green table is a start and no proof. Read the docstring for
# the cases that the visible checks leave out. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## Recording, off and on
#
# Inside `with torch.no_grad():` no operation is recorded. Outside, everything is as before. That sounds simple. Which
# of the six tensors in the next cell require grad?

# %% given
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
# What does it save? An operation that is not recorded keeps nothing for `backward`. The next cell counts the bytes
# that are held for `backward` after a forward pass, without the parameters and the input. Which number will the second
# line have?


# %% given
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
# arithmetic is the same. So do not expect much more speed from it. On one CPU thread, `no_grad` saved 6 % of the time
# of this pass. It saved less than 1 % with layers of width 512 and 256 samples. Only with twenty tiny layers of width 8
# and 4 samples, where bookkeeping is most of the work, it was 22 %.
#
# ### What stays
#
# You may have heard that a loop without `no_grad` slowly eats up the memory. The next cell runs the eight layers on
# 1, 2, 8 and 16 batches, and records all of it. The three loops differ in what they keep of the losses. Which of them
# needs more memory for more batches?


# %% given
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

# %% given
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
# Now you want to keep the values of every step, for a plot. Three ways again. What will each list hold?

# %% given
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
# ### Your turn
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


# %% given
hint(
    "You need a leaf for each step. Which tensor can it be, without touching the caller's? And what must be switched "
    "on for f to be recorded?",
    "If each step makes a new point from the old one and the gradient, there is nothing that could be changed later.",
)


# %% exercise: descend
def descend(f, x: Tensor, lr: float, steps: int) -> list[Tensor]:
    """The points that gradient descent visits: the start, and the point after each step.

    A step goes from x to x - lr * g, where g is the gradient of f at x.
    f: a differentiable function from a tensor to a scalar. x: any shape, float32 or float64; it may require grad or
    not, and may be the result of recorded operations. steps may be 0.
    Returns steps + 1 tensors of x's shape and dtype. They do not require grad, and no two of them share memory, nor
    with x. x, its requires_grad and its .grad stay as they are. Works inside torch.no_grad() as well. Whether
    operations are recorded is afterwards as before.
    """
    ### BEGIN SOLUTION
    points = [x.detach().clone()]
    for _ in range(steps):
        leaf = points[-1].detach().requires_grad_()
        with torch.enable_grad():
            (grad,) = torch.autograd.grad(f(leaf), leaf)
        points.append(points[-1] - lr * grad)
    return points
    ### END SOLUTION


# %% check: descend points=3
with check("three steps into the bowl", weight=3, required=True):
    t = torch.tensor([4.0, -2.0])
    want = [t.clone(), t / 2, t / 4, t / 8]
    summed, total = [t.clone()], torch.zeros(2)
    for _ in range(3):
        total = total + 2 * summed[-1]
        summed.append(summed[-1] - 0.25 * total)
    explain(
        descend(bowl, t, 0.25, 3),
        want,
        {
            "all entries are one memory: they show the last point": [want[3]] * 4,
            "the gradients of earlier steps were added: .grad accumulates": summed,
            "the start is missing, or the last point": want[1:],
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other functions, shapes, step sizes and float64",
    weight=3,
    required=True,
    hint="Does every number come from the arguments? Is the gradient taken at the newest point?",
):
    for dtype in (torch.float32, torch.float64):
        for f, lr, count in ((tilted, 0.1, 4), (wavy, 0.3, 6), (bowl, 0.7, 1), (tilted, 0.05, 0)):
            t = torch.linspace(-2, 3, 6, dtype=dtype).reshape(2, 3).T
            want = [t.clone()]
            for _ in range(count):
                leaf = want[-1].clone().requires_grad_()
                want.append(want[-1] - lr * torch.autograd.grad(f(leaf), leaf)[0])
            assert_close(descend(f, t, lr, count), want)
    assert_close(descend(bowl, torch.zeros(2), 0.5, 3), [torch.zeros(2)] * 4)  # where the gradient is zero
with check(
    "the points do not require grad",
    hint="Which of your operations are recorded, and which should not be?",
):
    for flag in (False, True):
        t = torch.tensor([1.0, 3.0])
        want = [t.clone(), t / 2, t / 4]
        got = descend(bowl, t.requires_grad_(flag), 0.25, 2)
        assert_close(got, want)
        assert not any(point.requires_grad for point in got), "one of the points requires grad"
with check(
    "the points share no memory, and none with x",
    weight=2,
    hint="Which calls give a new tensor, and which a second one over the same memory?",
):
    t = torch.tensor([4.0, -2.0])
    want = [t.clone(), t / 2, t / 4]
    got = descend(bowl, t, 0.25, 2)
    assert_close(got, want)
    for i in range(3):
        got[i].add_(100)
        want[i] = want[i] + 100
        assert_close(got, want, name="the points, after one of them was changed,")
    assert_close(t, torch.tensor([4.0, -2.0]), name="x")
with check("it works inside torch.no_grad()", weight=2, hint="What switches recording on again?"):
    t = torch.tensor([1.0, 2.0])
    want = [t.clone(), torch.tensor([0.4, 0.8])]
    with torch.no_grad():
        assert_close(descend(bowl, t, 0.3, 1), want)
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"
    assert_close(descend(bowl, t, 0.3, 1), want)
    assert torch.is_grad_enabled(), "recording was on before the call, and is off now"
with check(
    "an x that requires grad, comes from an operation, or has a .grad",
    hint="Which tensor is the leaf of your first step?",
):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    t.grad = torch.tensor([50.0, float("nan")])
    want = [torch.tensor([1.0, 2.0]), torch.tensor([0.5, 1.0])]
    assert_close(descend(bowl, t, 0.25, 1), want)
    assert_close(descend(bowl, t * 2, 0.25, 1), [2 * want[0], 2 * want[1]])
with check("x, its requires_grad and its .grad stay as they are", guard=True, hint="Which of your calls change x?"):
    for flag in (False, True):
        t = torch.tensor([1.0, 2.0], requires_grad=flag)
        t.grad = torch.tensor([7.0, 8.0])
        descend(tilted, t, 0.1, 2)
        assert t.requires_grad == flag, "x has another requires_grad than before"
        assert_close(t.detach(), torch.tensor([1.0, 2.0]), rtol=0, atol=0, name="x")
        assert_close(t.grad, torch.tensor([7.0, 8.0]), rtol=0, atol=0, name="x.grad")
### END HIDDEN TESTS

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
# A small example. A number `w` predicts `2 * w`, and is compared with `1 + 0.9 * 3 * w`: a target that is itself
# computed from `w`. At `w = 1` the prediction is 2 and the target 3.7. The loss is the square of the difference. Which
# way will each gradient push `w`, with and without a stop on the target? A negative gradient raises `w`.

# %% given
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

# %% given
w = torch.tensor(1.0, requires_grad=True)
show_graph((2 * w - (1 + 0.9 * 3 * w)) ** 2, {"w": w})

# %% given
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


# %% given
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
# ### Your turn
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
    numbers = torch.randn(n, 2 * d + 1, generator=torch.Generator().manual_seed(seed), dtype=dtype)
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


# %% exercise: td_loss
def td_loss(q: Tensor, target_q: Tensor, steps: dict[str, Tensor], gamma: float) -> Tensor:
    """The mean over the steps of (prediction - target) ** 2.

    q, target_q: (d, actions), float32 or float64, the same dtype. target_q may be q itself.
    steps: "state" (n, d), "action" (n,) int64, "reward" (n,), "next_state" (n, d), "done" (n,) bool.
    Prediction: the element of state @ q for the action taken. Target: reward + gamma * the largest element of
    next_state @ target_q; only the reward where done, since next_state means nothing there and may hold nan.
    Returns a scalar. A gradient reaches q through the prediction only, and target_q never. The arguments stay as they
    are, their requires_grad and .grad too.
    """
    ### BEGIN SOLUTION
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()
    ### END SOLUTION


# %% check: td_loss points=4
with check("the value for two steps, neither of them the last", weight=2, required=True):
    t = {
        "state": torch.tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]]),
        "action": torch.tensor([1, 0]),
        "reward": torch.tensor([1.0, -1.0]),
        "next_state": torch.tensor([[0.0, 1.0, 1.0], [2.0, 0.0, -1.0]]),
        "done": torch.tensor([False, False]),
    }
    t_q = torch.tensor([[1.0, 2.0], [0.0, -1.0], [0.5, 1.0]])
    # predictions 4 and 0.5, best predictions of the next state 0.5 and 3, targets 1.25 and 0.5
    want = torch.tensor(3.78125)
    explain(
        td_loss(t_q, t_q.clone(), t, 0.5),
        want,
        {
            "every prediction was compared with every target: look at the two shapes": torch.tensor(5.09375),
            "this is the sum over the steps, not the mean": 2 * want,
        },
    )
with check("a gradient reaches q", required=True):
    t_q = torch.tensor([[1.0, 2.0], [0.0, -1.0], [0.5, 1.0]], requires_grad=True)
    got = td_loss(t_q, t_q.detach().clone(), make_steps(2, 3, 2), 0.5)
    assert got.requires_grad, "your loss does not require grad"
### BEGIN HIDDEN TESTS
with check(
    "other sizes, gammas and float64, with steps that end the program",
    weight=3,
    required=True,
    hint="Over which axis is the largest element taken? What is the target where done?",
):
    for dtype in (torch.float32, torch.float64):
        for n, d, count, gamma in ((7, 3, 4, 0.9), (1, 2, 3, 0.5), (5, 4, 5, 0.0)):
            t = make_steps(n, d, count, dtype, seed=n)
            t_q = torch.randn(2, d, count, dtype=dtype, generator=torch.Generator().manual_seed(d))
            best = torch.stack([row.max() for row in t["next_state"] @ t_q[1]])
            target_of = t["reward"] + gamma * best * (~t["done"]).to(dtype)
            taken = torch.stack([t["state"][i] @ t_q[0][:, a] for i, a in enumerate(t["action"])])
            want = ((taken - target_of) ** 2).mean()
            explain(
                td_loss(t_q[0], t_q[1], t, gamma),
                want,
                {
                    "done makes no difference in your target": ((taken - t["reward"] - gamma * best) ** 2).mean(),
                },
            )
with check(
    "the gradient for q comes through the prediction only",
    weight=4,
    required=True,
    hint="On which side of the difference does a gradient reach q?",
):
    for same in (True, False):
        t = make_steps(8, 3, 4, torch.float64, seed=5)
        t_q = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(6)).requires_grad_()
        t_target = t_q if same else (t_q.detach() + 0.1).requires_grad_()
        best = (t["next_state"] @ t_target).amax(1)
        target_of = t["reward"] + 0.8 * best * (~t["done"])
        taken = (t["state"] @ t_q)[torch.arange(8), t["action"]]
        value = (taken - target_of).detach().square().mean()
        full, stopped, turned = (
            torch.autograd.grad(-2.5 * (a - b).square().mean(), t_q, retain_graph=True)[0]
            for a, b in ((taken, target_of), (taken, target_of.detach()), (taken.detach(), (target_of + 0 * taken)))
        )
        got = td_loss(t_q, t_target, t, 0.8)
        assert_close(got.detach(), value)
        got = torch.autograd.grad(-2.5 * got, (t_q, t_target)[: 2 - same], allow_unused=True)
        explain(
            got[0],
            stopped,
            {
                "the target was not held constant": None if not same else full,
                "the prediction was held constant, and the target was not": None if not same else turned,
            },
        )
with check(
    "no gradient reaches target_q",
    weight=2,
    hint="Is every operation on target_q inside no_grad, or cut off by detach()?",
):
    t_q = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(7))
    t_q, t_target = t_q[0].clone().requires_grad_(), t_q[1].clone().requires_grad_()
    t = make_steps(8, 3, 4)
    best = (t["next_state"] @ t_target).amax(1).detach()
    want = ((t["state"] @ t_q)[torch.arange(8), t["action"]] - t["reward"] - 0.7 * best * (~t["done"])).square().mean()
    (slope,) = torch.autograd.grad(want, t_q)
    got = td_loss(t_q, t_target, t, 0.7)
    assert_close(got.detach(), want.detach())
    got = torch.autograd.grad(got, (t_q, t_target), materialize_grads=True)
    assert_close(got, [slope, torch.zeros(3, 4)], name="the gradients for q and target_q")
with check(
    "nan in the next state of the last step does no harm",
    hint="What is nan times zero? What chooses without computing?",
):
    t = make_steps(5, 2, 3, seed=9)
    t_q = torch.randn(2, 3, generator=torch.Generator().manual_seed(8))
    best = (t["next_state"] @ (t_q + 1)).amax(1)
    target_of = t["reward"] + 0.6 * torch.where(t["done"], 0.0, best)
    want = ((t["state"] @ t_q)[torch.arange(5), t["action"]] - target_of).square().mean()
    t["next_state"] = t["next_state"].masked_fill(t["done"][:, None], float("nan"))
    assert_close(td_loss(t_q, t_q + 1, t, 0.6), want)
with check(
    "the arguments keep their values, their requires_grad and their .grad",
    guard=True,
    hint="Which of your calls end in an underscore?",
):
    t = make_steps(4, 3, 2)
    before = {name: tensor.clone() for name, tensor in t.items()}
    t_q = torch.linspace(-1, 1, 6).reshape(3, 2).requires_grad_()
    t_target = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
    t_target.grad = torch.full((3, 2), 5.0)
    td_loss(t_q, t_target, t, 0.9)
    assert torch.is_grad_enabled(), "recording was on before the call, and is off now"
    assert_close(t, before, rtol=0, atol=0, name="steps")
    assert t_target.requires_grad, "target_q does not require grad any more"
    assert t_q.requires_grad, "q does not require grad any more"
    assert_close(t_target.grad, torch.full((3, 2), 5.0), name="target_q.grad")
    assert t_q.grad is None, "q has a .grad now"
### END HIDDEN TESTS

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

# %% given
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
# ### Your turn
# Which pixels made the model say "cat"? One answer is the gradient of the score of "cat" by the input, called a
# *saliency map*. The gradient flows through the whole model, and the model must not notice: perhaps somebody is in the
# middle of collecting gradients for a training step. Some of its parameters may be frozen.


# %% given
def make_scorer(layers):
    """A Linear for each (weight, bias), with Tanh between them."""
    parts = []
    for weight, bias in layers:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            linear = nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": bias})
        parts += [linear, nn.Tanh()]
    return nn.Sequential(*parts[:-1])


@probes.probe
def looked_at(saliency, layers, x, classes, learning=None, gradients=None, modes=None):
    """What saliency returns for a scorer, and what it leaves behind there.

    learning, gradients: requires_grad and .grad of each parameter before. modes: the training flag of each module.
    """
    model = make_scorer(layers)
    for n, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(learning is None or learning[n])
        parameter.grad = None if gradients is None else gradients[n].clone()
    for n, module in enumerate(model.modules()):
        module.training = modes is None or modes[n]
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


# %% exercise: saliency
def saliency(model: nn.Module, x: Tensor, classes: Tensor) -> Tensor:
    """For each sample, the gradient of its score for its class by the sample itself.

    model: takes x (n, d) and returns scores (n, c); each row of the scores depends on that row of x only.
    x: float32; it may require grad or not, and may be the result of recorded operations.
    classes: (n,) int64; each may differ. Returns (n, d), in x's dtype, without grad.
    The model runs as it is: each module's training flag stays as it was. Afterwards the parameters' values, .grad and
    requires_grad are as before, also where they were frozen or held a .grad. x, its requires_grad and its .grad stay as
    they are too.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    scores = model(leaf).gather(1, classes[:, None])
    return torch.autograd.grad(scores.sum(), leaf)[0]
    ### END SOLUTION


# %% check: saliency points=2
with check("three samples of four numbers", weight=3, required=True):
    t = torch.tensor([[1.0, -1.0, 0.5, 0.0], [0.2, 0.3, -2.0, 1.0], [2.0, 0.0, 0.1, -1.0]])
    two_layers = [(torch.linspace(-2, 3, 20).reshape(5, 4).sin(), torch.linspace(-1, 1, 5))]
    two_layers.append((torch.linspace(1, -2, 10).reshape(2, 5).cos(), torch.tensor([0.5, -0.5])))
    slopes = 1 - torch.tanh(t @ two_layers[0][0].T + two_layers[0][1]) ** 2
    first, second = ((slopes * row) @ two_layers[0][0] for row in two_layers[1][0])
    want = torch.stack([first[0], second[1], second[2]])
    explain(
        looked_at(saliency, two_layers, t, torch.tensor([0, 1, 1]))["result"],
        want,
        {
            "this is the gradient of all scores, not of the chosen ones": first + second,
            "all samples got the class of the first": first,
            "this is the gradient of the mean over the samples": want / 3,
        },
    )
### BEGIN HIDDEN TESTS


def drawn_layers(sizes, seed):
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(sizes[i + 1], sizes[i], generator=generator), torch.randn(sizes[i + 1], generator=generator))
        for i in range(len(sizes) - 1)
    ]


def slopes_of(layers, x, classes):
    """For each sample the gradient of its own score, from products of matrices."""
    rows = []
    for sample, chosen in zip(x.detach(), classes, strict=True):
        numbers, jacobian = sample, torch.eye(len(sample))
        for n, (weight, bias) in enumerate(layers):
            if n:
                numbers = numbers.tanh()
                jacobian = (1 - numbers**2)[:, None] * jacobian
            numbers, jacobian = weight @ numbers + bias, weight @ jacobian
        rows.append(jacobian[chosen])
    return torch.stack(rows)


with check(
    "other models and sizes, and frozen parameters",
    weight=3,
    required=True,
    hint="Does a gradient come through a layer whose parameters are frozen?",
):
    for seed, sizes, learning, chosen in (
        (1, [3, 6, 4, 5], [False, True, False, False, True, True], [4, 0, 2, 4, 1]),
        (2, [2, 3], [False, False], [1, 0]),
        (3, [5, 2, 3], [True] * 4, [2]),
        (4, [3, 6, 4, 5], [True] * 6, [0, 3]),
    ):
        t = torch.linspace(-2, 1.5, len(chosen) * sizes[0]).reshape(sizes[0], len(chosen)).T
        layers_now = drawn_layers(sizes, seed)
        want = slopes_of(layers_now, t, chosen)
        got = looked_at(saliency, layers_now, t, torch.tensor(chosen), learning)["result"]
        assert_close(got, want)
with check(
    "every .grad of the model is as before",
    weight=3,
    hint="Does your backward pass end at the input only? What stood in .grad when you were called?",
):
    t = torch.linspace(-2, 1, 8).reshape(2, 4)
    layers_now = drawn_layers([4, 3, 2], 5)
    want = slopes_of(layers_now, t, [1, 1])
    for before in ([None] * 4, [(p + 1).sin() for pair in layers_now for p in pair]):
        given = None if before[0] is None else [grad.clone() for grad in before]
        got = looked_at(saliency, layers_now, t, torch.tensor([1, 1]), [True, True, False, True], given)
        assert_close(got["result"], want)
        assert_close(got["gradients"], before, name="the .grad of the model")
with check(
    "what was frozen is frozen, and what was not is not",
    weight=2,
    hint="Do you change requires_grad anywhere? How do you know what it was?",
):
    t = torch.linspace(-2, 1, 8).reshape(2, 4)
    layers_now = drawn_layers([4, 3, 2], 6)
    want = slopes_of(layers_now, t, [0, 0])
    for learning in ([True] * 4, [True, False, False, True], [False] * 4):
        got = looked_at(saliency, layers_now, t, torch.tensor([0, 0]), learning)
        assert_close(got["result"], want)
        assert got["learning"] == learning, "other parameters are frozen than before"
with check("an x that requires grad or comes from an operation", weight=2, hint="Which tensor is your leaf?"):
    for factor in (1.0, 2.0):
        t = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
        layers_now = drawn_layers([3, 2, 2], 7)
        want = slopes_of(layers_now, factor * t, [1])
        got = looked_at(saliency, layers_now, t if factor == 1.0 else t * factor, torch.tensor([1]))["result"]
        assert_close(got, want)
        assert not got.requires_grad, "your result requires grad"
with check("x and the weights stay as they are", guard=True, hint="Which of your calls change x?"):
    t = torch.tensor([[0.5, -1.0, 2.0]])
    layers_now = drawn_layers([3, 4, 2], 8)
    before = [p.clone() for pair in layers_now for p in pair]
    got = looked_at(saliency, layers_now, t, torch.tensor([1]))
    assert not t.requires_grad, "x requires grad now"
    assert_close(t, torch.tensor([[0.5, -1.0, 2.0]]), rtol=0, atol=0, name="x")
    assert_close(got["weights"], before, rtol=0, atol=0, name="the weights")
    for modes in ([True] * 4, [True, True, False, True], [False] * 4):
        got = looked_at(saliency, layers_now, t, torch.tensor([1]), modes=modes)["modes"]
        assert got == modes, "another set of modules is in evaluation mode than before"
    t.requires_grad_().grad = torch.tensor([[7.0, 8.0, 9.0]])
    looked_at(saliency, layers_now, t, torch.tensor([0]))
    assert t.requires_grad, "x does not require grad any more"
    assert_close(t.grad, torch.tensor([[7.0, 8.0, 9.0]]), name="x.grad")
### END HIDDEN TESTS

# %% [markdown]
# `torch.autograd.grad(scores.sum(), leaf)` walks only along the ways that lead to `leaf`. It computes no gradient for a
# weight, and writes none. `backward()` would have computed them all. The docstring says that no row of the scores
# depends on another row. Which layer, in which mode, breaks that?

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

# %% given
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

# %% given
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
# ### Your turn
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
    numbers = torch.randn(9, width, generator=torch.Generator().manual_seed(seed))
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


@probes.probe
def predicted(predict, state, f, x, modes, learning):
    """What predict returns for a classifier, and how it leaves the classifier behind.

    modes: the training flag of each module before. learning: requires_grad of each parameter.
    """
    model = make_classifier(state, f)
    for module, training in zip(model.modules(), modes, strict=True):
        module.training = training
    for parameter, flag in zip(model.parameters(), learning, strict=True):
        parameter.requires_grad_(flag)
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
        "learning": [parameter.requires_grad for parameter in model.parameters()],
        "recording": torch.is_grad_enabled(),
    }


@probes.probe
def handed_back(predict, x):
    """What predict returns for a model that returns its input."""
    return predict(nn.Identity(), x)


# %% given
hint(
    "Which modules does model.modules() give you? What do you have to remember about each of them?",
    "What happens to your last lines if the model raises an error? try ... finally runs them in any case. And "
    "module.train(flag) sets the flag of everything inside the module too. Is there a way to set just one?",
)


# %% exercise: predict
def predict(model: nn.Module, x: Tensor) -> Tensor:
    """model(x) in evaluation mode, with recording off.

    model: any module that takes and returns a tensor, which may be its input, with any mixture of modules in training
    and in evaluation mode.
    Returns the result, which does not require grad, also where x does and the model returns it. x stays as it is.
    Afterwards each module in model is in the mode that it was in, also where model
    raised an error, which goes on to the caller. Parameters, buffers, requires_grad flags and whether operations are
    recorded are as before.
    """
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            return model(x).detach()
    finally:
        for module, training in modes.items():
            module.training = training
    ### END SOLUTION


# %% check: predict points=4
with check("the result of evaluation mode, with recording off", weight=2, required=True):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    s = make_state(5)
    hidden = t @ s["0.0.weight"].T + s["0.0.bias"]
    scale = s["0.1.weight"] / (s["0.1.running_var"] + 1e-5).sqrt()
    hidden = torch.tanh((hidden - s["0.1.running_mean"]) * scale + s["0.1.bias"])
    want = hidden @ s["1.1.weight"].T + s["1.1.bias"]
    explain(
        predicted(
            predict,
            s,
            lambda x, training: 7 * x if training or torch.is_grad_enabled() else x,
            t,
            [True] * 9,
            [True] * 6,
        )["result"],
        want,
        {"operations were recorded, or the last module was in training mode": 7 * want},
    )
with check("afterwards the model is in training mode, as it was"):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    want = torch.tensor([[4.0], [1.5]])
    got = predicted(predict, make_state(4), lambda x, training: x[:, :1] * 0 + want, t, [True] * 9, [True] * 6)
    assert_close(got["result"], want)
    assert got["modes"] == [True] * 9, "not every module is in training mode now"
### BEGIN HIDDEN TESTS


def classified(state, x):
    """What the classifier gives in evaluation mode, without its last part."""
    x = nn.functional.linear(x, state["0.0.weight"], state["0.0.bias"])
    mean, var = state["0.1.running_mean"], state["0.1.running_var"]
    x = nn.functional.batch_norm(x, mean, var, state["0.1.weight"], state["0.1.bias"])
    return nn.functional.linear(x.tanh(), state["1.1.weight"], state["1.1.bias"])


with check(
    "other weights, one sample, and a model that is in evaluation mode already",
    weight=2,
    required=True,
    hint="Is there a layer that needs more than one sample in training mode? Which part of the model is recorded?",
):
    for seed, count, modes in (
        (3, 1, [True] * 9),
        (4, 5, [True, True, True, False, True, True, True, True, True]),
        (5, 2, [False] * 9),
    ):
        t = torch.linspace(-1, 2, 3 * count).reshape(3, count).T
        now = make_state(seed + 2, seed)
        want = -3 * classified(now, t)
        asked = Seen(lambda x, training: -2 * x if training else -3 * x)
        assert_close(predicted(predict, now, asked, t, modes, [True] * 6)["result"], want)
        assert not any(call.grad for call in asked.calls), "operations of the model were recorded"
with check(
    "each module is in the mode that it was in",
    weight=4,
    hint="Is one flag enough for a whole model? And which modules does train(flag) reach, if one has two parents?",
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    for seed, modes in enumerate(
        (
            [True] * 9,
            [True, True, True, False, True, True, True, True, True],
            [True, False, True, False, True, False, True, True, True],
            [False, True, True, True, True, True, False, True, False],
            [True, False, True, True, True, True, True, True, True],
            [False] * 9,
        )
    ):
        now = make_state(4, seed)
        want = classified(now, t) + seed
        got = predicted(predict, now, lambda x, training, seed=seed: x + seed, t, modes, [True] * 6)
        assert_close(got["result"], want)
        assert got["modes"] == modes, "another set of modules is in evaluation mode than before"
with check(
    "the running values of BatchNorm and all weights are as before",
    weight=2,
    hint="Was the model in evaluation mode at each moment when it ran?",
):
    for seed, learning in ((2, [True] * 6), (6, [False, True, True, True, True, False])):
        t = torch.tensor([[1.0, 2.0, 30.0], [-1.0, 0.5, 2.0]])
        now = make_state(seed + 3, seed)
        want, before = classified(now, t) * 2, {name: value.clone() for name, value in now.items()}
        got = predicted(predict, now, lambda x, training: x * 2, t, [True] * 9, learning)
        assert_close(got["result"], want)
        assert_close(got["state"], before, rtol=0, atol=0, name="the state of the model")
        assert got["learning"] == learning, "other parameters are frozen than before"
with check(
    "the modes come back after an error too, and the error goes on",
    weight=2,
    guard=True,
    hint="Which lines run after an error? What does a return in finally do to it?",
):

    def failing(x, training):
        raise ZeroDivisionError("the model failed")

    for modes in ([True] * 9, [True, True, True, False, True, True, False, True, True]):
        got = predicted(predict, make_state(4), failing, torch.zeros(2, 3), modes, [True] * 6)
        assert got["raised"] == "ZeroDivisionError", "the model raised an error, and your function did not"
        assert got["modes"] == modes, "another set of modules is in evaluation mode than before"
        assert got["recording"] is True, "recording was on before the call, and is off now"
with check("a model that returns its input", hint="Does x require grad, and so your result?"):
    for flag in (True, False):
        t = torch.tensor([[1.0, -2.0, 0.5]])
        want = t.clone()
        t.requires_grad_(flag)
        got = handed_back(predict, t)
        assert_close(got, want)
        assert not got.requires_grad, "your result requires grad"
        assert t.requires_grad is flag, "x has another requires_grad than before"
with check("recording is afterwards as it was, on or off", guard=True, hint="Do you switch recording on by hand?"):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    for flag in (True, False):
        with torch.set_grad_enabled(flag):
            got = predicted(predict, make_state(3), lambda x, training: x, t, [True] * 9, [True] * 6)
            assert got["recording"] is flag, "recording was switched by the call"
    assert not t.requires_grad, "x requires grad now"
### END HIDDEN TESTS

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
# take part in a computation with `backward`. The next cell tries six things with one. Which of them raise an error?

# %% given
w = torch.tensor([0.5, -1.0], requires_grad=True)
with torch.inference_mode():
    y = torch.tensor([1.0, 2.0]) * 3
    with torch.enable_grad():
        print("enable_grad inside:       (w * 2).requires_grad is", (w * 2).requires_grad)

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
# And `enable_grad` had no effect inside. That is the second difference: from `no_grad` there is a way back, and from
# `inference_mode` there is none.
#
# Use `inference_mode` for results that leave the program, and `no_grad` for those that may come back into training. The
# difference in time is small: on one CPU thread, the three models from the first section ran within 2 % of their time
# with `no_grad`.
#
# ### Your turn
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


# %% exercise: cached_features
def cached_features(encoder, batches: list[Tensor]) -> Tensor:
    """The features of all batches, one after the other, for use in training.

    encoder: a function from (n, d) to (n, m), each row from its own row. It may return its argument, or a view of it.
    batches: at least one tensor (n, d), float32 or float64; the n may differ and may be 0, also in all of them. Returns
    (total of the n, m), in the encoder's dtype. No operation of the encoder is recorded.
    The result does not require grad, and is a normal tensor: operations may save it for backward, it may be changed in
    place, and requires_grad_() works. It shares no memory with the batches. They stay as they are, and whether
    operations are recorded is afterwards as before.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        return torch.cat([encoder(x) for x in batches])
    ### END SOLUTION


# %% check: cached_features points=2
with check("features of two batches, and a head that learns from them", weight=2, required=True):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    t_head = torch.tensor([[1.0], [-1.0], [0.5], [2.0]])
    features = encode(torch.cat(t)).detach()
    want = {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ t_head)}
    assert_close(head_trained(cached_features, encode, t, t_head), want)
### BEGIN HIDDEN TESTS
with check(
    "other encoders, batches of other sizes, and float64",
    weight=2,
    required=True,
    hint="Are all batches in the result, in their order? Does a single batch work?",
):
    for encoder, t in (
        (encode, [torch.linspace(-1, 1, 3 * n).reshape(n, 3) for n in (4, 1, 2)]),
        (torch.sin, [torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).T]),
        (torch.exp, [torch.linspace(-1, 1, 6).reshape(3, 2), torch.empty(0, 2), torch.ones(1, 2)]),
        (encode, [torch.empty(0, 3), torch.empty(0, 3)]),
        (torch.cos, [torch.empty(0, 2, dtype=torch.float64)]),
    ):
        features = torch.cat([encoder(x) for x in t]).detach()
        t_head = torch.linspace(1, 2, features.shape[1] * 2, dtype=features.dtype).reshape(-1, 2)
        want = {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ t_head)}
        assert_close(head_trained(cached_features, encoder, t, t_head), want)
with check(
    "no operation of the encoder is recorded",
    weight=2,
    required=True,
    hint="When does recording stop in your function: before the encoder runs, or after it?",
):
    w = torch.linspace(-2, 1, 6).reshape(3, 2).sin().requires_grad_()
    t = [torch.tensor([[1.0, 0.0, -1.0]]), torch.tensor([[0.5, 2.0, 1.0], [0.0, 1.0, 1.0]])]
    want = (torch.cat(t) @ w.detach()).tanh()
    seen = Seen(lambda x: torch.tanh(x @ w))
    got = cached_features(seen, t)
    assert_close(got, want)
    assert not any(call.grad for call in seen.calls), "the encoder was recorded"
with check("the features may be changed in place", hint="Is your result an inference tensor?"):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    features = encode(torch.cat(t)).detach()
    assert_close(normalized(cached_features, encode, t), features - features.mean(0))
with check("requires_grad_() works on the features", hint="Is your result an inference tensor?"):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    features = encode(torch.cat(t)).detach()
    assert_close(made_trainable(cached_features, encode, t), 3 * features**2)
with check("the batches stay as they are", guard=True, hint="Is your result a tensor of its own, for one batch too?"):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]])]
    before = [x.clone() for x in t]
    head_trained(cached_features, encode, t, torch.ones(4, 1))
    assert_close(t, before, rtol=0, atol=0)
    assert not t[0].requires_grad, "a batch requires grad now"
    cached_features(torch.detach, t).add_(100)
    assert_close(t, before, rtol=0, atol=0, name="the batch, after the features were changed,")
    assert torch.is_grad_enabled(), "recording was on before the call, and is off now"
    with torch.no_grad():
        cached_features(encode, t)
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"
### END HIDDEN TESTS

# %% [markdown]
# The error about inference tensors comes up far from its cause: in the training loop, while the mistake was made where
# the features were computed. If you meet it, look for the place where the tensor was *made*.
#
# This is a good place for a break. When you come back, you need: what a node keeps for `backward`, and `detach()`.

# %% [markdown]
# ## Through a graph twice
#
# What a node keeps is freed while `backward` goes through it. A second `backward` over the same graph finds nothing
# there. Which of the three second calls in the next cell raise an error?

# %% given
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
# Where a second pass works, it adds. With `retain_graph=True`, the gradient of `x**3` at 2 is 12, and then 24.
#
# `retain_graph=True` leaves it there. What does that cost? You may read that it doubles the memory of a backward pass.
# The next picture shows what the eight layers from above hold for `backward`. A step is one
# Linear or one Tanh, so there are 16 on the way forward and 16 on the way back. Draw the curve first, for a usual
# `backward`. Then draw the one with `retain_graph=True`.
# In a live notebook, buttons above the picture show one of the four ways at a time.

# %% given
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

# %% given
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


# %% given
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


# %% given
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
# ### Your turn
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


# %% exercise: window_gradients
def window_gradients(cell, w: Tensor, h: Tensor, inputs: Tensor, targets: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Truncated backpropagation through time: the gradient for w, and the last state.

    cell: a function cell(w, h, x) that returns the next state; torch.func may not get through it. w (d, d) is a leaf
    that requires grad; h (d,) is the first state, a constant here. inputs and targets: (T, d), T at least 1. All
    float32 or all float64.
    The loss of a step is ((state - target) ** 2).sum(), with the state after this step. The steps fall into windows of
    k, the last of them may be shorter. The state goes on through all windows by value. A gradient does not go from one
    window into the one before it. Returns the sum over all windows of the gradient for w of the window's losses, and
    the last state, without grad. Only one window's graph is held at a time. The arguments stay as they are, w.grad too.
    """
    ### BEGIN SOLUTION
    total = torch.zeros_like(w)
    for begin in range(0, len(inputs), k):
        h = h.detach()  # the value goes on, the history ends
        losses = []
        for i in range(begin, min(begin + k, len(inputs))):
            h = cell(w, h, inputs[i])
            losses.append((h - targets[i]).square())
        total += torch.autograd.grad(torch.stack(losses).sum(), w)[0]
    return total, h.detach()
    ### END SOLUTION


# %% check: window_gradients points=4
with check("five steps in windows of two", weight=3, required=True):
    t = torch.tensor([[0.5, -1.0], [1.0, 0.0], [-0.5, 0.3], [0.2, 0.9], [-1.2, 0.4]])
    goals = torch.tensor([[0.0, 0.5], [1.0, -0.5], [0.5, 0.0], [-1.0, 0.2], [0.3, 0.8]])
    t_w = torch.tensor([[0.5, -0.3], [0.8, 0.2]], requires_grad=True)
    state = torch.tensor([-0.900580, 0.432239])
    want = (torch.tensor([[-0.057058, 0.484167], [1.144316, -0.662887]]), state)
    explain(
        window_gradients(tanh_cell, t_w, torch.tensor([0.1, -0.4]), t, goals, 2),
        want,
        {
            "the gradient went on into earlier windows": (
                torch.tensor([[-0.232885, -0.248507], [1.320927, -0.776128]]),
                state,
            ),
            "each window began with the first state again": (
                torch.tensor([[-0.582598, 0.410514], [0.536091, -0.343985]]),
                torch.tensor([-0.773908, 0.379949]),
            ),
            "the last window has one step, and is missing": (
                torch.tensor([[-0.105448, 0.819845], [1.080527, -0.220383]]),
                torch.tensor([-0.106653, 0.739844]),
            ),
            "the state was cut at every step": (
                torch.tensor([[-1.269370, 0.405356], [1.275418, -0.563873]]),
                state,
            ),
        },
    )


### BEGIN HIDDEN TESTS
def by_windows(cell, w, h, inputs, targets, k):
    """The same from one graph of all windows."""
    w, losses = w.detach().clone().requires_grad_(), []
    for i in range(len(inputs)):
        h = cell(w, h.detach() if i % k == 0 else h, inputs[i])
        losses.append((h - targets[i]).square().sum())
    return torch.autograd.grad(torch.stack(losses).sum(), w)[0], h.detach()


with check(
    "other cells, lengths, windows and float64",
    weight=4,
    required=True,
    hint="Where is the cut for k = 1, and for a k that is longer than the sequence?",
):
    for dtype in (torch.float32, torch.float64):
        for f, length, d, k in (
            (tanh_cell, 7, 3, 3),
            (leaky_cell, 8, 2, 4),
            (tanh_cell, 5, 2, 1),
            (leaky_cell, 4, 3, 9),
            (leaky_cell, 1, 2, 1),
        ):
            numbers = torch.randn(2 * length + d + 1, d, dtype=dtype, generator=torch.Generator().manual_seed(length))
            rows, goals, t_h = numbers[:length], numbers[length : 2 * length], numbers[-1]
            t_w = (0.5 * numbers[-d - 1 : -1]).requires_grad_()
            want = by_windows(f, t_w, t_h, rows, goals, k)
            assert_close(window_gradients(f, t_w, t_h, rows, goals, k), want)
with check(
    "a first state with a history is a constant",
    hint="Does the graph of your first window end at h?",
):
    t = torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    t_w = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_()
    for f, k in ((leaky_cell, 3), (tanh_cell, 1)):
        t_h = f(t_w.detach(), torch.ones(3), t[0, 0])
        want = by_windows(f, t_w, t_h, t[0, 1:], t[1, 1:], k)
        assert_close(continued(window_gradients, f, t_w, t[0], t[1], k), want)
with check("the last state does not require grad", hint="What does your second result still lead to?"):
    t = torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    t_w = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_()
    for k in (2, 3):
        want = by_windows(tanh_cell, t_w, torch.zeros(3), t[0], t[1], k)
        got = window_gradients(tanh_cell, t_w, torch.zeros(3), t[0], t[1], k)
        assert_close(got, want)
        assert not got[1].requires_grad, "the last state requires grad"
        assert not got[0].requires_grad, "the gradient requires grad"
with check("a .grad from before does not matter", weight=2, hint="What was in w.grad when your function was called?"):
    t = torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    t_w = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_()
    t_w.grad = torch.full((3, 3), 1000.0)
    want = by_windows(tanh_cell, t_w, torch.ones(3), t[0], t[1], 2)
    assert_close(window_gradients(tanh_cell, t_w, torch.ones(3), t[0], t[1], 2), want)
with check(
    "only one window's graph is held at a time",
    weight=2,
    required=True,
    hint="How long does the graph of a window live in your function? What leads to it?",
):
    t = torch.linspace(-1, 1, 54).reshape(2, 9, 3)
    t_w = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_()
    kept = []

    def noted(w, h, x):
        kept.append(own_cell.kept)
        return own_cell(w, h, x)

    for k in (2, 3):
        own_cell = Seen(lambda w, h, x: torch.sin(w @ h - 2 * x) + 0.5 * h)
        want = by_windows(own_cell, t_w, torch.ones(3), t[0], t[1], k)
        kept.clear()
        assert_close(window_gradients(noted, t_w, torch.ones(3), t[0], t[1], k), want)
        # k steps of this window, and the last one of the window before where its name is still in use
        assert max(kept) <= k, f"graphs of {max(kept)} steps were held when another step began"
with check("the arguments stay as they are", guard=True, hint="Which of your calls work in place?"):
    t = torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    t_w, t_h = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_(), torch.tensor([0.1, -0.4, 1.0])
    before = (t.clone(), t_w.detach().clone(), t_h.clone())
    t_w.grad = torch.full((3, 3), 2.0)
    window_gradients(leaky_cell, t_w, t_h, t[0], t[1], 2)
    assert_close((t, t_w.detach(), t_h), before, rtol=0, atol=0)
    assert_close(t_w.grad, torch.full((3, 3), 2.0), name="w.grad")
    assert t_w.requires_grad, "w does not require grad any more"
    assert not t_h.requires_grad, "h requires grad now"
### END HIDDEN TESTS

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
# The next cell asks for the derivative of `x**3` at 2, which is 12, in three ways. In which of them can you go on to
# the second derivative, also 12?


# %% given
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
# to `x`, and `x` holds `x.grad`, so neither is freed before Python's garbage collector comes by.
#
# Here is the graph of the gradient of `x**3`. You will find the multiplication by the exponent, and the power that is
# one lower.

# %% given
x = torch.tensor(2.0, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
show_graph(slope, {"x": x})

# %% [markdown]
# The matrix of all second derivatives of a function from `n` numbers to one is the *Hessian*. For a million parameters
# it has a million million entries. You can never have it. But you can have its product with a vector `v`, called a
# *Hessian-vector product*. It says how the gradient changes when you take a small step along `v`.
#
# How? The gradient `g` is a function of `x` with `n` outputs, and its Jacobian is the Hessian. From lab 3 you know what
# one backward pass through such a function gives.
#
# ### Your turn
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


# %% given
hint(
    "Which option makes the first gradient a tensor that can be differentiated? Which argument of the second call "
    "takes v?",
    "Is v a constant, if the caller passes something that was computed from x? And what is the graph of the gradient "
    "of a linear function?",
)


# %% exercise: hvp
def hvp(f, x: Tensor, v: Tensor) -> Tensor:
    """The Hessian of f at x times v, without building the Hessian.

    f: a function from a tensor (n,) to a scalar that is twice differentiable; it may be linear. No tensor but x
    requires grad in it. x, v: (n,), both float32 or both float64; either may require grad, and v may be x or computed
    from x: it counts as a constant. Returns (n,) in that dtype, without grad, exact but for rounding: a difference of
    two gradients is not. n may be 20,000. The arguments stay as they are, their .grad and requires_grad too. Works
    inside torch.no_grad() as well.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    if not g.requires_grad:  # linear: the gradient does not depend on x
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v)[0]
    ### END SOLUTION


# %% check: hvp points=4
with check("neighbours that are multiplied", weight=3, required=True):
    t = torch.tensor([1.0, -2.0, 0.5])
    t_v = torch.tensor([2.0, 1.0, -1.0])
    hessian = torch.autograd.functional.hessian(chained, t)
    want = hessian @ t_v
    explain(
        hvp(chained, t, t_v),
        want,
        {
            "this is v times the sum of each row: the gradient was summed before v came in": hessian.sum(0) * t_v,
            "only the diagonal of the Hessian was used": hessian.diagonal() * t_v,
            "this is the gradient times v, and not the Hessian": torch.autograd.functional.jacobian(chained, t) * t_v,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other functions, sizes and float64",
    weight=4,
    required=True,
    hint="Is the result exact, or is there a small step in it?",
):
    for dtype in (torch.float32, torch.float64):
        for f, n in ((valley, 5), (cubes, 1), (chained, 7)):
            t = torch.linspace(-1.5, 1, 2 * n, dtype=dtype)
            t, t_v = t[::2], t.flip(0)[::2].cos()
            want = torch.autograd.functional.hessian(f, t) @ t_v
            assert_close(hvp(f, t, t_v), want)
with check(
    "a function that swings too fast for a small step",
    weight=2,
    hint="Is there a number in your function that stands for a small step?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([0.5, -1.0, 0.25], dtype=dtype)
        t_v = torch.tensor([1.0, 3.0, -2.0], dtype=dtype)
        want = -(t * 2**24).sin() * t_v - 2 * t.sin() * t_v
        assert_close(hvp(ripples, t, t_v), want)
with check("v is x, or is computed from x", weight=2, hint="Through which ways can the second pass reach x?"):
    for factor in (None, -0.5):
        t = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
        t_v = t if factor is None else factor * t
        want = torch.autograd.functional.hessian(chained, t.detach()) @ t_v.detach()
        got = hvp(chained, t, t_v)
        explain(
            got,
            want,
            {
                "v was differentiated too": want
                + (factor or 1.0) * torch.autograd.functional.jacobian(chained, t.detach()),
            },
        )
        assert not got.requires_grad, "your result requires grad"
with check(
    "a linear function gives zeros, and one without bends gives what it should",
    weight=2,
    hint="Does the gradient of a linear function require grad?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([1.0, 2.0, -1.0], dtype=dtype)
        assert_close(hvp(plane, t, t + 1), torch.zeros(3, dtype=dtype))
        assert_close(hvp(bowl, t, t + 1), 2 * (t + 1))
with check("20,000 numbers", weight=2, hint="How large is a matrix of 20,000 by 20,000?"):
    t = torch.linspace(-1, 2, 20_000)
    t_v = torch.linspace(0.5, -3, 20_000)
    want = 6 * t * t_v
    assert_close(hvp(cubes, t, t_v), want)
with check("it works inside torch.no_grad()", hint="What has to be recorded?"):
    t = torch.tensor([1.0, -2.0, 0.5])
    want = 6 * t * torch.tensor([1.0, 0.5, 3.0])
    with torch.no_grad():
        got = hvp(cubes, t, torch.tensor([1.0, 0.5, 3.0]))
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"
    assert_close(got, want)
with check("x and v, their .grad and requires_grad stay as they are", guard=True, hint="Which calls write to .grad?"):
    for flag in (False, True):
        t, t_v = torch.tensor([1.0, -2.0, 0.5], requires_grad=flag), torch.tensor([1.0, 3.0, 2.0], requires_grad=flag)
        t.grad = torch.tensor([7.0, 8.0, 9.0])
        hvp(valley, t, t_v)
        assert t.requires_grad == flag and t_v.requires_grad == flag, "x or v has another requires_grad than before"
        assert_close(t.grad, torch.tensor([7.0, 8.0, 9.0]), name="x.grad")
        assert t_v.grad is None, "v has a .grad now"
        assert_close(t.detach(), torch.tensor([1.0, -2.0, 0.5]), rtol=0, atol=0, name="x")
        assert_close(t_v.detach(), torch.tensor([1.0, 3.0, 2.0]), rtol=0, atol=0, name="v")
### END HIDDEN TESTS

# %% [markdown]
# With `grad_outputs=v` you asked for `v @ H`, and the Hessian is symmetric. The other common form takes the sum of
# `g * v` and differentiates that. Where would `v` have to be detached there, and why? What is left of `v` in your form?

# %% [markdown]
# ## A loss that holds a gradient
#
# Sometimes the gradient is itself what one wants to train. Take a *critic*: a model that gives a score to each sample.
# Its scores should not jump: a small change of the sample should change the score by about as much. So one takes the
# gradient of the score by the *sample*, and wants its norm, the root of the sum of its squares, to be 1. The *gradient
# penalty* is the mean of `(norm - 1)**2` over the samples. It is added to the critic's loss. It is measured at points
# between a real sample and a made one, a fake: `mix * real + (1 - mix) * fake`, with one number `mix` for each sample.
#
# The penalty is a function of the critic's weights, and training differentiates it by them. In the next cell, it is
# computed twice for a critic with two weights. What is the difference, and who will notice it?

# %% given
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
# ### Your turn
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
    """(n, c, d) -> (n,): samples with several axes."""
    return (x @ w).sin().sum(-1).square().sum(-1)


# %% given
hint(
    "Write down the shapes: the points, the scores, the gradient of their sum by the points, the norms. What shape "
    "must mix have, so that each sample gets its own number?",
    "torch.linalg.vector_norm has the gradient 0 at 0. The root of a sum of squares has a gradient there that is no "
    "number.",
)


# %% exercise: gradient_penalty
def gradient_penalty(critic, w: Tensor, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    """The mean over the samples of (norm of the gradient of the sample's score by the sample - 1) ** 2.

    critic: a function critic(w, x) from weights and samples (n, ...) to scores (n,), each from its own sample.
    w: the weights, a leaf that requires grad. real, fake: (n, ...) with n at least 1, one axis or more after the first.
    mix: (n,). All float32 or all float64. The gradient is taken at mix * real + (1 - mix) * fake, with its own mix for
    each sample, and the norm over all numbers of the sample.
    Returns a scalar that can be differentiated by w. real, fake and mix count as constants. Where a sample's gradient
    is zero, its part of the penalty is 1, and adds zero to the gradient by w. The arguments stay as they are, and
    w.grad too.
    """
    ### BEGIN SOLUTION
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    norms = torch.linalg.vector_norm(slopes.flatten(1), dim=1)
    return (norms - 1).square().mean()
    ### END SOLUTION


# %% check: gradient_penalty points=4
with check("the penalty of three samples", weight=2, required=True):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2], [0.4, -1.0]], [[0.0, 0.7], [0.9, -0.1], [-2.0, 1.5]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    want = torch.tensor(0.2813185)
    explain(
        gradient_penalty(smooth_critic, t_w, t[0], t[1], torch.tensor([0.25, 0.5, 0.125])).detach(),
        want,
        {
            "one norm was taken over the whole batch": torch.tensor(0.0045938),
            "the gradient is that of the mean score: each sample's is divided by n": torch.tensor(0.6759840),
            "real and fake are swapped: mix belongs to real": torch.tensor(0.1147237),
        },
    )
with check("a gradient reaches the weights"):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2]], [[0.0, 0.7], [0.9, -0.1]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    want = torch.tensor(0.0814000)
    got = gradient_penalty(smooth_critic, t_w, t[0], t[1], torch.tensor([0.25, 0.5]))
    assert_close(got.detach(), want)
    assert got.requires_grad, "your penalty does not require grad"


### BEGIN HIDDEN TESTS
def penalty_by_samples(critic, w, real, fake, mix):
    """The same, one sample after the other."""
    parts = []
    for i in range(len(real)):
        point = (mix[i] * real[i] + (1 - mix[i]) * fake[i]).detach().requires_grad_()
        (slope,) = torch.autograd.grad(critic(w, point[None]).sum(), point, create_graph=True)
        parts.append((torch.linalg.vector_norm(slope) - 1) ** 2)
    return sum(parts) / len(parts)


with check(
    "other critics, shapes and float64",
    weight=3,
    required=True,
    hint="Over which axes does a sample's norm go? Does mix meet the right axis when n equals d?",
):
    for dtype in (torch.float32, torch.float64):
        for f, shape in (
            (smooth_critic, (3, 3)),
            (smooth_critic, (1, 4)),
            (relu_critic, (6, 2)),
            (image_critic, (4, 3, 2)),
            (image_critic, (2, 1, 2)),
        ):
            t = torch.randn(2, *shape, dtype=dtype, generator=torch.Generator().manual_seed(len(shape)))
            t_w = torch.randn(shape[-1], 5, dtype=dtype, generator=torch.Generator().manual_seed(4)).requires_grad_()
            t_mix = torch.linspace(0.1, 0.8, shape[0], dtype=dtype)
            want = penalty_by_samples(f, t_w, t[0], t[1], t_mix).detach()
            assert_close(gradient_penalty(f, t_w, t[0], t[1], t_mix).detach(), want)
with check(
    "the gradient of the penalty by the weights",
    weight=4,
    required=True,
    hint="Is the backward pass by the samples recorded?",
):
    for dtype in (torch.float32, torch.float64):
        for f, shape in ((smooth_critic, (5, 2)), (image_critic, (3, 2, 4))):
            t = torch.randn(2, *shape, dtype=dtype, generator=torch.Generator().manual_seed(8))
            t_w = torch.randn(shape[-1], 3, dtype=dtype, generator=torch.Generator().manual_seed(9)).requires_grad_()
            t_mix = torch.linspace(1, 0.2, shape[0], dtype=dtype)
            right = penalty_by_samples(f, t_w, t[0], t[1], t_mix)
            (want,) = torch.autograd.grad(-3 * right, t_w)
            got = gradient_penalty(f, t_w, t[0], t[1], t_mix)
            assert_close(got.detach(), right.detach())
            assert_close(torch.autograd.grad(-3 * got, t_w)[0], want)
with check(
    "a sample whose gradient is zero gives a finite gradient",
    weight=2,
    hint="What is the slope of the square root at 0?",
):
    t = torch.tensor([[[1.0, 0.5], [-1.0, -2.0], [0.4, 1.0]], [[1.0, 0.7], [-1.5, -0.5], [0.6, 0.8]]])
    t_w = torch.tensor([[0.9, 0.4, 0.3], [0.2, 0.5, 1.1]], requires_grad=True)
    t_mix = torch.tensor([0.3, 0.6, 0.9])
    right = penalty_by_samples(relu_critic, t_w, t[0], t[1], t_mix)
    (want,) = torch.autograd.grad(right, t_w)
    got = gradient_penalty(relu_critic, t_w, t[0], t[1], t_mix)
    assert_close(got.detach(), right.detach())
    assert_close(torch.autograd.grad(got, t_w)[0], want)
with check(
    "no gradient reaches real, fake and mix",
    hint="Which tensor do you make the leaf, and what still leads behind it?",
):
    t = [torch.tensor([[1.0, 0.5], [-0.3, 0.2]]), torch.tensor([[0.0, 0.7], [0.9, -0.1]]), torch.tensor([0.3, 0.6])]
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    right = penalty_by_samples(smooth_critic, t_w, *t)
    want = [torch.autograd.grad(right, t_w)[0], torch.zeros(2, 2), torch.zeros(2, 2), torch.zeros(2)]
    for tensor in t:
        tensor.requires_grad_()
    got = gradient_penalty(smooth_critic, t_w, *t)
    assert_close(got.detach(), right.detach())
    got = torch.autograd.grad(got, (t_w, *t), materialize_grads=True)
    assert_close(got, want, name="the gradients for w, real, fake and mix")
with check("the arguments and w.grad stay as they are", guard=True, hint="Which function writes to no .grad?"):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2]], [[0.0, 0.7], [0.9, -0.1]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    t_mix = torch.tensor([0.25, 0.5])
    t_w.grad = torch.full((2, 3), 2.0)
    before = (t.clone(), t_w.detach().clone(), t_mix.clone())
    gradient_penalty(image_critic, t_w, t[0, :, None], t[1, :, None], t_mix)
    gradient_penalty(smooth_critic, t_w, t[0], t[1], t_mix)
    assert_close((t, t_w.detach(), t_mix), before, rtol=0, atol=0)
    assert_close(t_w.grad, torch.full((2, 3), 2.0), name="w.grad")
    assert not t.requires_grad and not t_mix.requires_grad, "real, fake or mix requires grad now"
### END HIDDEN TESTS

# %% [markdown]
# Why is one backward pass of the *sum* of the scores enough for all samples? Each score depends on its own sample only,
# so no sample gets a gradient from another one's score. A critic with BatchNorm in training mode would break that. It
# is the same condition as in `saliency`.

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. You may try things out in the scratch cell below. In an interview you could not. A question counts only if all
# of its letters are right, and one right question alone pays nothing.
#
# **q1. What does `d = t.detach()` do?** (`t` is the result of a recorded operation.)
# - a. `d` shares its memory with `t`.
# - b. `d` keeps its values when `t` is changed in place afterwards.
# - c. `t` still leads back to the tensors that it was computed from.
# - d. `d` is a leaf that does not require grad.
# - e. What the graph behind `t` keeps for `backward` is freed by the call.
#
# **q2. `eval()` and `no_grad()`**
# - a. In evaluation mode, no operation is recorded.
# - b. In evaluation mode, Dropout passes its input on unchanged.
# - c. Under `no_grad`, a BatchNorm in training mode updates its running values.
# - d. `model.train(model.training)` changes nothing in any model.
# - e. For validation one usually wants both.
#
# **q3. `no_grad` and `inference_mode`**
# - a. An inference tensor may take part in a recorded addition.
# - b. Saving an inference tensor for `backward` raises an error.
# - c. `clone()`, called inside the block, gives a normal tensor.
# - d. `enable_grad` switches recording on inside `no_grad`.
# - e. `enable_grad` switches recording on inside `inference_mode`.
#
# **q4. Memory**
# - a. A loop that evaluates without `no_grad` holds more memory with each batch, even if no result is kept.
# - b. `history.append(loss)` keeps the graph of each step alive.
# - c. `history.append(loss.detach())` keeps the graph of each step alive.
# - d. `retain_graph=True` doubles the most memory that is held during `backward`.
# - e. After `backward(retain_graph=True)`, what was kept stays until nothing leads to the graph any more.
#
# **q5. Two passes**
# - a. A second `backward` over the same graph always raises an error.
# - b. Two losses with a common part always need `retain_graph=True`.
# - c. With `retain_graph=True`, the gradient that comes out can be differentiated.
# - d. With `create_graph=True`, the gradient that comes out can have a `grad_fn`.
# - e. Two backward passes are enough for a Hessian-vector product, whatever the size of the Hessian.
#
# **q6. Stops and frozen parts**
# - a. If the last layer is frozen, the first layer gets no gradient.
# - b. Through a part that runs inside `no_grad`, no gradient gets to what comes before it.
# - c. `x.requires_grad = False` for the input of a model keeps the forward pass from being recorded.
# - d. In `td_loss`, a forgotten stop changes the gradient for `q` if `target_q` is `q`.
# - e. `torch.no_grad()` on a line of its own switches recording off for the lines below it.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "acd", "q2": "bce", "q3": "abd", "q4": "be", "q5": "de", "q6": "bd"}
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
    assert_some_right(interview(), {"q1": "acd", "q2": "bce", "q3": "abd", "q4": "be", "q5": "de", "q6": "bd"})
with check("q1: detach", weight=4, hint="What did the list of detached tensors show after three steps?"):
    assert_letters(interview(), "q1", "acd")
with check("q2: eval and no_grad", weight=4, hint="What did model.train(was) do to a BatchNorm in evaluation mode?"):
    assert_letters(interview(), "q2", "bce")
with check("q3: no_grad and inference_mode", weight=4, hint="Which of the six things with an inference tensor worked?"):
    assert_letters(interview(), "q3", "abd")
with check("q4: memory", weight=4, hint="What does a name hold alive? Look at the picture of the hill again."):
    assert_letters(interview(), "q4", "be")
with check("q5: two passes", weight=4, hint="What does x + 1 keep? What does each of the two options record?"):
    assert_letters(interview(), "q5", "de")
with check("q6: stops and frozen parts", weight=4, hint="Read the table of frozen parts again, row by row."):
    assert_letters(interview(), "q6", "bd")
### END HIDDEN TESTS

# %% [markdown]
# Were there statements that you believed a while ago? Write them down. They are what to explain to the next person.

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
# ## Summary
#
# - `no_grad` switches recording off for operations. It needs `with`, or `@`. `enable_grad` switches it on again.
# - `detach()` stops a gradient at one tensor and shares its memory. A snapshot needs `clone()`.
# - A stop-gradient does not change the loss that is printed. It changes what is learned.
# - A frozen parameter gets no gradient, and lets gradients through. `no_grad` lets none through.
# - `eval()` is about layers, `no_grad` about recording. Put back the mode of each module, not of the model.
# - An inference tensor may take part in a recorded operation, and may not be saved for `backward`. Clone it outside.
# - `retain_graph=True` keeps what was kept. It does not double the memory of a pass, and records nothing.
# - Cut the state between windows. The advice in an error message is only about the line that raised it.
# - `create_graph=True` records the backward pass. A penalty on a gradient without it does nothing.
#
# Lab 5 is about operations in place: what they change in the graph, and when autograd notices.
