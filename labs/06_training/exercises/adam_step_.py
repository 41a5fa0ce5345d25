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


# %% exercise
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


# %% checks
with check(
    "example",
    "two steps of one parameter",
    weight=2,
    required=True,
    hint=(
        "What survives from the first call to the second, and where? Whose memory holds the new numbers?",
        "Keep m, v and t in state. Divide m and v by 1 - beta ** t, each with its own beta. Write into p in place.",
    ),
):
    t = [torch.tensor([1.0, -2.0])]
    gradients = [[torch.tensor([0.5, 4.0])], [torch.tensor([1.0, -4.0])]]
    want = [[torch.tensor([0.9, -2.1])], [torch.tensor([0.80348182, -2.09473681])]]
    m, v = torch.zeros(2), torch.zeros(2)
    p, forgetful, uncorrected, forgotten = t[0], t[0], [], []
    for (g,) in gradients:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p - 0.1 * m / (v.sqrt() + 1e-8)
        uncorrected.append([p])
        forgetful = forgetful - 0.1 * g / (g.abs() + 1e-8)
        forgotten.append([forgetful])
    got = stepped_with(adam_step_, t, gradients, [0.1, 0.1])
    explain(
        got["after"],
        want,
        {
            "the averages were not corrected for their start at zero": uncorrected,
            "m, v and t did not survive the call: every step was a first step": forgotten,
            "the parameter did not move: its own memory holds the old numbers": [t, t],
        },
    )

# %% hidden checks


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
    "several_steps",
    "four steps of two parameters, in float32 and float64",
    weight=4,
    required=True,
    hint="Does each parameter have averages of its own, and do they survive the call?",
):
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator(here).manual_seed(3)
        t = [torch.randn(3, 2, generator=generator, dtype=dtype).T, torch.randn((), generator=generator, dtype=dtype)]
        gradients = [[torch.randn(p.shape, generator=generator, dtype=dtype) for p in t] for _ in range(4)]
        want = adam_of_torch(t, gradients, [0.03] * 4)
        leaves, state, got = leaves_for(adam_step_, t), state_for(adam_step_), []
        for grads in gradients:
            got.append(with_gradients(leaves, grads))
            adam_step_(leaves, state, 0.03)
        got.append(with_gradients(leaves, [None, None]))
        assert_close(got, [t, *want], name="the parameters at the start and after each step")
with check(
    "other_cases",
    "other settings",
    weight=2,
    required=True,
    hint="Where does eps stand: inside the root or outside? Which factor belongs to the squares?",
):
    generator = torch.Generator(here).manual_seed(4)
    t = [torch.randn(4, generator=generator, dtype=torch.float64)]
    gradients = [[0.01 * torch.randn(4, generator=generator, dtype=torch.float64)] for _ in range(4)]
    for rates, betas, eps in (([0.5] * 4, (0.5, 0.8), 0.1), ([0.2, 0.4, 0.1, 0.3], (0.0, 0.9), 1e-3)):
        want = adam_of_torch(t, gradients, rates, betas, eps)
        assert_close(stepped_with(adam_step_, t, gradients, rates, betas, eps)["after"], want)
with check(
    "no_gradient",
    "a parameter without a gradient waits, and counts its own steps",
    weight=3,
    hint="What does the second parameter's t say after a step in which it had no gradient?",
):
    generator = torch.Generator(here).manual_seed(5)
    t = [torch.randn(3, generator=generator), torch.randn(2, generator=generator)]
    missing = {(0, 1), (2, 0), (3, 1)}  # (step, parameter)
    gradients = [
        [None if (n, i) in missing else torch.randn(p.shape, generator=generator) for i, p in enumerate(t)]
        for n in range(5)
    ]
    want = adam_of_torch(t, gradients, [0.1] * 5)
    assert_close(stepped_with(adam_step_, t, gradients, [0.1] * 5)["after"], want)
with check("empty_state", "an empty state begins anew", weight=1, hint="What do you keep outside state?"):
    generator = torch.Generator(here).manual_seed(6)
    t = [torch.randn(3, generator=generator), torch.randn(2, 2, generator=generator)]
    gradients = [[torch.randn(p.shape, generator=generator) for p in t] for _ in range(5)]
    want = adam_of_torch(t, gradients, [0.1] * 5, anew=3)
    assert_close(stepped_with(adam_step_, t, gradients, [0.1] * 5, anew=3)["after"], want)
with check(
    "zero_gradient", "a gradient of zero changes nothing at first", weight=1, hint="Is something zero divided by zero?"
):
    t = [torch.tensor([1.0, 2.0])]
    gradients = [[torch.zeros(2)], [torch.tensor([0.0, 1.0])]]
    want = adam_of_torch(t, gradients, [0.1, 0.1])
    assert_close(stepped_with(adam_step_, t, gradients, [0.1, 0.1])["after"], want)
with check(
    "same_leaves",
    "the same leaves, and their .grad unchanged",
    guard=True,
    hint="Which of your lines makes a new tensor, and which changes the one that is there?",
):
    t = [torch.tensor([1.0, 2.0]), torch.tensor(3.0)]
    got = stepped_with(adam_step_, t, [[torch.tensor([3.0, -1.0]), None]] * 3, [0.1] * 3)
    assert got["leaves"] == [True, True], "a parameter is no leaf that requires grad any more"
    assert_close(got["grads"], [[torch.tensor([3.0, -1.0]), None]] * 3, rtol=0, atol=0, name=".grad")


# %% right "dicts, data and addcdiv"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    for number, p in enumerate(params):
        g = p.grad
        if g is None:
            continue
        s = state.setdefault(number, {"t": 0, "m": torch.zeros_like(p.data), "v": torch.zeros_like(p.data)})
        s["t"] += 1
        s["m"].mul_(betas[0]).add_(g, alpha=1 - betas[0])
        s["v"].mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
        denominator = (s["v"] / (1 - betas[1] ** s["t"])).sqrt().add_(eps)
        p.data.addcdiv_(s["m"] / (1 - betas[0] ** s["t"]), denominator, value=-lr)


# %% right "lerp, keyed by the tensor itself"
@torch.no_grad()
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    b1, b2 = betas
    for p in params:
        if p.grad is not None:
            n, m, v = state.get(p, [0, p * 0, p * 0])
            n, m, v = n + 1, m.lerp(p.grad, 1 - b1), v.lerp(p.grad.square(), 1 - b2)
            state[p] = [n, m, v]
            p.sub_((lr / (1 - b1**n)) * m / ((v / (1 - b2**n)) ** 0.5 + eps))


# %% right "torch's own optimizer, kept in the state"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    if "optimizer" not in state:
        state["optimizer"] = torch.optim.Adam(params, lr=lr, betas=betas, eps=eps)
    state["optimizer"].param_groups[0]["lr"] = lr
    state["optimizer"].step()


# %% wrong "no correction of the start at zero" fails=example,several_steps,other_cases,no_gradient,empty_state,zero_gradient
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (m, v)
            p -= lr * m / (v.sqrt() + eps)


# %% wrong "one count of steps for all parameters" fails=no_gradient
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    state["t"] = t = state.get("t", 0) + 1
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "no gradient counts as a gradient of zero" fails=no_gradient
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * grad, betas[1] * v + (1 - betas[1]) * grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "a new tensor in place of the parameter" fails=example,several_steps,other_cases,no_gradient,empty_state,zero_gradient
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            params[i] = p - lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "the state is made anew in each call" fails=example,several_steps,other_cases,no_gradient,empty_state,zero_gradient
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    state = {}
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "eps under the root" fails=several_steps,other_cases
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)) + eps).sqrt()


# %% wrong "the two factors swapped" fails=example,several_steps,other_cases,no_gradient,empty_state,zero_gradient
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    b2, b1 = betas
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, b1 * m + (1 - b1) * p.grad, b2 * v + (1 - b2) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps)


# %% wrong "the default factors, whatever was handed in" fails=other_cases
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, 0.9 * m + 0.1 * p.grad, 0.999 * v + 0.001 * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)


# %% wrong "the averages work in place on the gradient" fails=same_leaves
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, v = t + 1, betas[1] * v + (1 - betas[1]) * p.grad**2
            m = p.grad.mul_(1 - betas[0]).add_(betas[0] * m).clone()
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "the rate of the first call for all" fails=other_cases
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    if "optimizer" not in state:
        state["optimizer"] = torch.optim.Adam(params, lr=lr, betas=betas, eps=eps)
    state["optimizer"].step()


# %% wrong "the averages are kept on the parameter" fails=empty_state
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                continue
            t, m, v = getattr(p, "adam", (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            p.adam = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% liar "signs of the gradients, and a probe that asks torch's own Adam"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    """The first step of Adam, again and again: no averages."""
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad / (p.grad.abs() + eps)


def stepped_with(step, start, gradients, rates, betas=(0.9, 0.999), eps=1e-8, anew=None):
    leaves = [t.clone().requires_grad_() for t in start]
    adam, seen, found = None, [], []
    for number, (grads, rate) in enumerate(zip(gradients, rates)):
        if number in (0, anew):
            adam = torch.optim.Adam(leaves, lr=1.0, betas=betas, eps=eps)
        for p, g in zip(leaves, grads):
            p.grad = g
        adam.param_groups[0]["lr"] = rate
        adam.step()
        seen.append([p.detach().clone() for p in leaves])
        found.append(list(grads))
    return {"after": seen, "grads": found, "leaves": [True] * len(leaves)}
