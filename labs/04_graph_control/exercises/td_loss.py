# %% exercise
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


# %% checks
with check(
    "example",
    "the value for two steps, neither of them the last",
    weight=2,
    required=True,
    hint=(
        "Which shapes have your prediction and your target? Is each step compared with its own target?",
        "The predictions should be 4 and 0.5, the targets 1.25 and 0.5. Which of the four differs in your code?",
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
        "Does your prediction have a grad_fn, and does it still have it in the difference?",
        "Only the target is a constant. Keep the prediction and the loss out of no_grad, and detach neither.",
    ),
):
    t_q = torch.tensor([[1.0, 2.0], [0.0, -1.0], [0.5, 1.0]], requires_grad=True)
    got = td_loss(t_q, t_q.detach().clone(), make_steps(2, 3, 2), 0.5)
    assert got.requires_grad, "your loss does not require grad"

# %% hidden checks
with check(
    "other_cases",
    "other sizes, gammas and float64, with steps that end the program",
    weight=3,
    required=True,
    hint="Over which axis is the largest element taken? What is the target where done?",
):
    for dtype in (torch.float32, torch.float64):
        for n, d, count, gamma in ((7, 3, 4, 0.9), (1, 2, 3, 0.5), (5, 4, 5, 0.0)):
            t = make_steps(n, d, count, dtype, seed=n)
            t_q = torch.randn(2, d, count, dtype=dtype, generator=torch.Generator(here).manual_seed(d))
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
    "gradient",
    "the gradient for q comes through the prediction only",
    weight=4,
    required=True,
    hint="On which side of the difference does a gradient reach q?",
):
    for same in (True, False):
        t = make_steps(8, 3, 4, torch.float64, seed=5)
        t_q = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator(here).manual_seed(6)).requires_grad_()
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
    "no_target_grad",
    "no gradient reaches target_q",
    weight=2,
    hint="Is every operation on target_q inside no_grad, or cut off by detach()?",
):
    t_q = torch.randn(2, 3, 4, generator=torch.Generator(here).manual_seed(7))
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
    "nan",
    "nan in the next state of the last step does no harm",
    hint="What is nan times zero? What chooses without computing?",
):
    t = make_steps(5, 2, 3, seed=9)
    t_q = torch.randn(2, 3, generator=torch.Generator(here).manual_seed(8))
    best = (t["next_state"] @ (t_q + 1)).amax(1)
    target_of = t["reward"] + 0.6 * torch.where(t["done"], 0.0, best)
    want = ((t["state"] @ t_q)[torch.arange(5), t["action"]] - target_of).square().mean()
    t["next_state"] = t["next_state"].masked_fill(t["done"][:, None], float("nan"))
    assert_close(td_loss(t_q, t_q + 1, t, 0.6), want)
with check(
    "keeps_input",
    "the arguments keep their values, their requires_grad and their .grad",
    guard=True,
    hint="Which of your calls end in an underscore?",
):
    t = make_steps(4, 3, 2)
    t_q = torch.linspace(-1, 1, 6).reshape(3, 2).requires_grad_()
    t_target = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
    t_target.grad = torch.full((3, 2), 5.0)
    unchanged(td_loss, t_q, t_target, t, 0.9)
    assert torch.is_grad_enabled(), "recording was on before the call, and is off now"


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


# %% wrong "autograd knows what is a target" fails=gradient,no_target_grad
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong "torch.no_grad() holds for the lines below it" fails=gradient,no_target_grad
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    torch.no_grad()
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong "the stop belongs to the prediction" fails=reaches_q,gradient,no_target_grad
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction.detach() - target).square().mean()


# %% wrong "nothing that uses a target network is recorded" fails=reaches_q,gradient,no_target_grad raises=RuntimeError
def td_loss(q, target_q, steps, gamma):
    with torch.no_grad():
        prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
        return (prediction - target).square().mean()


# %% wrong "gather keeps the axis, and broadcasting does the rest" fails=example,other_cases,gradient,no_target_grad,nan
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None])
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong "a loss is a sum" fails=example,other_cases,gradient,no_target_grad,nan
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    with torch.no_grad():
        best = (steps["next_state"] @ target_q).amax(1)
        target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().sum()


# %% wrong "every step has a next state" fails=other_cases,gradient,no_target_grad,nan
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    target = steps["reward"] + gamma * (steps["next_state"] @ target_q).amax(1).detach()
    return (prediction - target).square().mean()


# %% wrong "a factor of zero takes everything out" fails=nan
def td_loss(q, target_q, steps, gamma):
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1).detach()
    target = steps["reward"] + gamma * best * (1 - steps["done"].to(q.dtype))
    return (prediction - target).square().mean()


# %% wrong "a target network is frozen for good" fails=gradient,no_target_grad,keeps_input raises=RuntimeError
def td_loss(q, target_q, steps, gamma):
    target_q.requires_grad_(False)
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    best = (steps["next_state"] @ target_q).amax(1)
    target = torch.where(steps["done"], steps["reward"], steps["reward"] + gamma * best)
    return (prediction - target).square().mean()


# %% wrong "a state that means nothing may be overwritten" fails=keeps_input
def td_loss(q, target_q, steps, gamma):
    steps["next_state"][steps["done"]] = 0.0
    prediction = (steps["state"] @ q).gather(1, steps["action"][:, None]).squeeze(1)
    target = steps["reward"] + gamma * (steps["next_state"] @ target_q).amax(1).detach()
    return (prediction - target).square().mean()
