# %% exercise
def td_loss(q: Tensor, target_q: Tensor, steps: dict[str, Tensor], gamma: float) -> Tensor:
    """The mean over the steps of (prediction - target) ** 2.

    Prediction: the element of state @ q for the action taken. Target: reward + gamma * the largest element of
    next_state @ target_q, but just the reward if done. The target is a constant: no gradient goes through it, even if
    target_q is q itself. A gradient reaches q through the prediction.
    steps: "state" (n, d), "action" (n,) int64, "reward" (n,), "next_state" (n, d), "done" (n,) bool. Returns a scalar
    of q's dtype.

    Details:
    - q, target_q: (d, actions), both float32 or both float64. Each may require grad or be the result of recorded
      operations.
    - If done, next_state is meaningless and may hold NaN or infinities.
    - The numbers in steps have q's dtype and don't require grad. n, d and actions are at least 1, the strides may be
      any, and gamma is from 0 to 1.
    - The arguments and the entries of steps aren't changed, and neither are their requires_grad and .grad.
      Afterward, recording is on or off as before.
    """
    ### BEGIN SOLUTION
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()
    ### END SOLUTION


# %% promises
# The mean over the -> example, other_cases
# Prediction: the element -> other_cases
# Target: reward -> other_cases, negative, nan
# The target is a -> gradient, no_target_grad, from_operations
# A gradient reaches q -> reaches_q, gradient
# steps: "state" -> other_cases
# Returns a scalar -> other_cases
# q, target_q: (d -> other_cases
# Each may require -> from_operations
# If done, next_state -> other_cases, negative, nan
# The numbers in steps -> other_cases
# n, d and actions -> other_cases, from_operations
# The arguments -> keeps_input
# Afterward, recording is -> keeps_input


# %% domain
@domain(
    reference,
    *("float64", "one step", "one action", "one number", "square", "always the same action"),
    *(
        "all done",
        "none done",
        "NaN after done",
        "infinity after done",
        "negative predictions",
        "gamma 0",
        "gamma 1",
        "large numbers",
    ),
    *("transposed", "every second one", "recording off"),
    *("q requires grad", "both require grad", "only target_q requires grad", "q itself", "q itself, requires grad"),
    *("from operations", "q itself, from an operation", "holds .grad"),
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    n, d, count = draw(st.integers(4, 7)), draw(st.integers(2, 4)), draw(st.integers(2, 5))
    n, d, count = {
        "one step": (1, d, count),
        "one action": (n, d, 1),
        "one number": (n, 1, count),
        "square": (n, n, n),
    }.get(edge, (n, d, count))
    g = draw.make_generator(here)
    dtype = torch.float64 if edge in ("float64", "negative predictions") else torch.float32
    q, target_q = (torch.randn(d, count, generator=g, dtype=dtype) for _ in range(2))
    steps = {
        "state": torch.randn(n, d, generator=g, dtype=dtype),
        "action": torch.randint(count, (n,), generator=g),
        "reward": torch.randn(n, generator=g, dtype=dtype),
        "next_state": torch.randn(n, d, generator=g, dtype=dtype),
        "done": (torch.arange(n) + draw(st.integers(0, 1))) % 2 == 0,
    }
    if edge == "always the same action":
        steps["action"][:] = count - 1
    if edge in ("all done", "none done"):
        steps["done"][:] = edge == "all done"
    if "after done" in edge:
        junk = draw(st.sampled_from([float("inf"), -float("inf")])) if "inf" in edge else float("nan")
        steps["next_state"][steps["done"], draw(st.integers(0, d - 1)) :] = junk
    if edge == "negative predictions":
        target_q, steps["next_state"] = -target_q.abs(), steps["next_state"].abs()
    if edge == "transposed":
        q, target_q = q.T.contiguous().T, target_q.T.contiguous().T
        steps |= {key: steps[key].T.contiguous().T for key in ("state", "next_state")}
    if edge == "every second one":
        steps = {key: torch.stack([t, t], 1).flatten(0, 1)[::2] for key, t in steps.items()}
    if edge == "large numbers":
        steps |= {key: steps[key] * 1000 for key in ("state", "reward", "next_state")}
    if "q itself" in edge:
        target_q = q
    if edge != "q itself" and edge.startswith(("q ", "both", "from", "holds")):
        q.requires_grad_()
    if edge.startswith(("both", "only", "from", "holds")):
        target_q.requires_grad_()
    if edge == "holds .grad":
        q.grad, target_q.grad = torch.full_like(q, 1000.0), torch.full_like(q, float("nan"))
    if edge == "from operations":
        q, target_q = q * 2, target_q * 2
    if edge == "q itself, from an operation":
        q = target_q = q * 2
    gamma = {"gamma 0": 0.0, "gamma 1": 1.0}.get(edge, draw(st.sampled_from([0.35, 0.7, 0.9])))
    return q, target_q, steps, gamma


# %% checks
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


with check(
    "example",
    "the value for two steps, neither of which is the last",
    weight=2,
    required=True,
    hint=(
        "What shapes do your prediction and your target have? Is each step compared with its own target?",
        "The predictions should be 4 and 0.5, and the targets 1.25 and 0.5. Which of the four differs in your code?",
    ),
):
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
with check(
    "reaches_q",
    "a gradient reaches q",
    required=True,
    hint=(
        "Does your prediction have a grad_fn, and does it still have one in the difference?",
        "Only the target is a constant. Keep the prediction and the loss out of no_grad, and don't detach either.",
    ),
):
    t_q = torch.tensor([[1.0, 2.0], [0.0, -1.0], [0.5, 1.0]], requires_grad=True)
    got = td_loss(t_q, t_q.detach().clone(), make_steps(2, 3, 2), 0.5)
    assert got.requires_grad, "your loss doesn't require grad"

# %% hidden checks
with check(
    "other_cases",
    "other sizes, gammas and float64, with steps that end the program",
    weight=3,
    required=True,
    hint="Along which axis is the largest element taken? What is the target if done?",
):
    t = make_steps(7, 3, 4, seed=7)
    t_q = torch.randn(2, 3, 4, generator=torch.Generator(here).manual_seed(3))
    best = torch.stack([row.max() for row in t["next_state"] @ t_q[1]])
    target_of = t["reward"] + 0.9 * best * ~t["done"]
    taken = torch.stack([t["state"][i] @ t_q[0][:, a] for i, a in enumerate(t["action"])])
    want = ((taken - target_of) ** 2).mean()
    explain(
        td_loss(t_q[0], t_q[1], t, 0.9),
        want,
        {"done makes no difference in your target": ((taken - t["reward"] - 0.9 * best) ** 2).mean()},
    )
    arguments.assert_results(td_loss, "", "float64", "one step", "one action", "one number", "square")
    arguments.assert_results(
        td_loss, "all done", "none done", "gamma 0", "gamma 1", "always the same action", "large numbers"
    )
with check(
    "negative",
    "predictions for the next state that are all below zero",
    hint="Which number is in your tensor where there's no next state, and when do you take the largest one?",
):
    arguments.assert_results(td_loss, "negative predictions")
with check(
    "gradient",
    "a gradient reaches q only through the prediction",
    weight=4,
    required=True,
    hint="On which side of the difference does a gradient reach q?",
):
    t = make_steps(8, 3, 4, torch.float64, seed=5)
    t_q = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator(here).manual_seed(6)).requires_grad_()
    best = (t["next_state"] @ t_q).amax(1)
    target_of = t["reward"] + 0.8 * best * (~t["done"])
    taken = (t["state"] @ t_q)[torch.arange(8), t["action"]]
    value = (taken - target_of).detach().square().mean()
    full, stopped, turned = (
        torch.autograd.grad(-2.5 * (a - b).square().mean(), t_q, retain_graph=True)[0]
        for a, b in ((taken, target_of), (taken, target_of.detach()), (taken.detach(), target_of))
    )
    got = td_loss(t_q, t_q, t, 0.8)
    assert_close(got.detach(), value)
    explain(
        torch.autograd.grad(-2.5 * got, t_q)[0],
        stopped,
        {
            "the target was not held constant": full,
            "the prediction was held constant, but the target wasn't": turned,
        },
    )
    arguments.assert_results(td_loss, "q requires grad", "q itself", "q itself, requires grad")
    arguments.assert_gradients(td_loss, "q requires grad", "q itself", "q itself, requires grad")
with check(
    "no_target_grad",
    "no gradient reaches target_q",
    weight=2,
    hint="Is every operation on target_q inside no_grad, or cut off by detach()?",
):
    arguments.assert_results(td_loss, "both require grad", "only target_q requires grad")
    arguments.assert_gradients(td_loss, "both require grad", "only target_q requires grad")
with check(
    "from_operations",
    "tensors that come from operations, are views, or hold a .grad",
    hint="Which of your calls work only for leaves?",
):
    arguments.assert_results(td_loss, "from operations", "q itself, from an operation", "holds .grad")
    arguments.assert_gradients(td_loss, "from operations", "q itself, from an operation", "holds .grad")
    arguments.assert_results(td_loss, "transposed", "every second one")
with check(
    "nan",
    "NaN and infinities in the last step's next state do no harm",
    hint="What is nan times zero? Which function selects elements without arithmetic?",
):
    arguments.assert_results(td_loss, "NaN after done", "infinity after done")
with check(
    "keeps_input",
    "the arguments keep their values, their requires_grad and their .grad",
    guard=True,
    hint="Which of your calls end in an underscore?",
):
    arguments.assert_arguments(td_loss)
    arguments.assert_results(td_loss, "recording off")
    arguments.assert_settings(td_loss)


# %% right "index by rows, and detach the target"
def td_loss(q, target_q, steps, gamma):
    n = len(steps["state"])
    prediction = (steps["state"] @ q)[torch.arange(n), steps["action"]]
    best = (steps["next_state"] @ target_q.detach()).max(dim=1).values
    best = best.masked_fill(steps["done"], 0.0)
    return nn.functional.mse_loss(prediction, steps["reward"] + gamma * best)


# %% right "the target in inference mode, cloned"
def td_loss(q, target_q, steps, gamma):
    with torch.inference_mode():
        best = torch.nan_to_num((steps["next_state"] @ target_q).max(1)[0]) * ~steps["done"]
        target = steps["reward"] + gamma * best
    one_hot = nn.functional.one_hot(steps["action"], q.shape[1]).to(q.dtype)
    prediction = ((steps["state"] @ q) * one_hot).sum(1)
    return ((prediction - target.clone()) ** 2).mean()


# %% right "step by step, with Python numbers for the target"
def td_loss(q, target_q, steps, gamma):
    total = 0
    for i in range(len(steps["state"])):
        target = steps["reward"][i].item()
        if not steps["done"][i]:
            target += gamma * float((steps["next_state"][i] @ target_q).max().detach())
        total = total + (steps["state"][i] @ q[:, steps["action"][i]] - target) ** 2
    return total / len(steps["state"])


# %% wrong "autograd knows what is a target" fails=gradient,no_target_grad,from_operations
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong "the stop belongs to the prediction" fails=reaches_q,gradient,no_target_grad,from_operations
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction.detach() - target).square().mean()


# %% wrong "gather keeps the axis, and broadcasting does the rest" fails=example,other_cases,negative,gradient,no_target_grad,from_operations,nan,keeps_input
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None])
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong "a loss is a sum" fails=example,other_cases,negative,gradient,no_target_grad,from_operations,nan,keeps_input
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().sum()


# %% wrong "every step has a next state" fails=other_cases,negative,gradient,no_target_grad,from_operations,nan,keeps_input
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    target = steps["reward"] + gamma * (steps["next_state"] @ target_q).amax(1).detach()
    return (prediction - target).square().mean()
