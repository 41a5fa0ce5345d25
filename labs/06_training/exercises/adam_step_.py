# %% given
class Leaves(list):
    """Leaves with these numbers."""

    def __init__(self, start):
        super().__init__(t.clone().requires_grad_() for t in start)
        self.own, self.memory = list(self), [p.detach() for p in self]


class State(dict):
    """A state that stays in the student's process because it isn't a plain dict."""


@probes.probe
def leaves_for(function, start):
    return Leaves(start)


@probes.probe
def state_for(function):
    return State()


@probes.probe
def with_gradients(leaves, gradients):
    """Returns what the leaves' memory holds, then gives them these gradients."""
    for p, g in zip(leaves.own, gradients, strict=True):
        p.grad = g
    return [t.clone() for t in leaves.memory]


@probes.probe
def stepped_with(step, start, gradients, rates, settings=(), anew=None):
    """The parameters' memory and .grad after each call of step, and whether params still holds the same leaves.

    gradients: for each call, one or None for each parameter. settings: betas, eps and weight_decay. anew: the call
    before which state is an empty dict again. Meanwhile, torch.optim can't create an optimizer.
    """

    def refuse(*_, **__):
        raise RuntimeError("write adam_step_ without torch.optim")

    with patch.object(torch.optim.Optimizer, "__init__", refuse):
        return _stepped(step, start, gradients, rates, settings, anew)


def _stepped(step, start, gradients, rates, settings, anew):
    leaves = [t.detach().requires_grad_() for t in start]
    memory, params, state, seen, found = [p.detach() for p in leaves], list(leaves), {}, [], []
    for number, (grads, rate) in enumerate(zip(gradients, rates, strict=True)):
        for p, g in zip(leaves, grads, strict=True):
            if g is None or p.grad is None:
                p.grad = None if g is None else g.clone()
            else:
                p.grad.copy_(g)
        if number == anew:
            state = {}
        step(params, state, rate, *settings)
        seen.append([t.clone() for t in memory])
        found.append([None if p.grad is None else p.grad.clone() for p in leaves])
    same = [a is b and a.is_leaf and a.requires_grad for a, b in zip(params, leaves, strict=True)]
    return {"after": seen, "grads": found, "leaves": same}


# %% exercise
def adam_step_(
    params: list[Tensor],
    state: dict,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> None:
    """One step of AdamW by the formulas above, as torch.optim.AdamW computes it, but without torch.optim.

    The gradient of each p in params is p.grad. If it's None, neither p nor its averages change: each parameter counts
    its own steps. Otherwise, p changes in its own memory. The decay, lr * weight_decay * p, uses p from before the step
    and isn't part of the gradient.
    state: a dict for whatever you need to keep from call to call. It's empty before the first call. Each call gets the
    same dict, and the same parameters in the same order.

    Details:
    - params: one or more leaves that require grad, each float32 or float64, of any shape and strides.
    - If state is empty again, everything starts over.
    - lr may vary from call to call.
    - No .grad is changed.
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
            p -= lr * (m_hat / (v_hat.sqrt() + eps) + weight_decay * p)
    ### END SOLUTION


# %% promises
# One step of AdamW -> example, several_steps, other_cases, eps, eps_cases, zero_gradient, no_gradient, empty_state, decay, same_leaves
# The gradient of each -> example, several_steps, other_cases
# If it's None -> own_steps, no_gradient
# Otherwise, p -> example, several_steps, other_cases, eps, eps_cases, no_gradient, empty_state, zero_gradient, same_leaves, decay
# The decay, lr * weight_decay -> decay
# state: a dict for -> example, several_steps, other_cases, eps, eps_cases, no_gradient, empty_state, zero_gradient, decay
# It's empty before -> example, several_steps, other_cases, eps, eps_cases, no_gradient, empty_state, zero_gradient, decay
# Each call gets -> example, several_steps, other_cases, eps, eps_cases, no_gradient, empty_state, zero_gradient, decay
# params: one or more -> other_cases
# If state is empty -> empty_state
# lr may vary -> other_cases
# No .grad is changed -> same_leaves


# %% domain
TOO_SMALL = 1e-20  # an eps that makes no difference, for checks of something else


@domain(
    reference,
    *("float32", "mixed dtypes", "one parameter", "no axes", "no elements", "many steps"),
    *("usual settings", "usual settings, tiny gradients", "small eps", "large eps", "first beta 0", "second beta 0"),
    *("lr 0", "rate changes"),
    *("transposed", "every second one", "parts of one tensor"),
    *("missing at first", "missing later", "missing now and then", "none in the first call", "never one"),
    *("zero gradients", "zero gradients at first", "anew", "anew, some missing"),
    *("decay", "decay, float32", "decay, rate changes", "decay, missing now and then", "decay, zero gradients"),
    call=stepped_with,
)
def arguments(draw, edge):
    count = 1 if edge == "one parameter" else draw(st.integers(2, 3))
    shapes = draw(st.permutations([(2, 3), (4,), (3, 2), (5,)]))[:count]
    shapes = {"no axes": [()] * count, "no elements": [(0, 3), (4,), (0,)][:count]}.get(edge, shapes)
    steps, g = 12 if edge == "many steps" else 4, draw.make_generator(here)
    start = [torch.randn(shape, dtype=torch.float64, generator=g) for shape in shapes]
    gradients = [[torch.randn(shape, dtype=torch.float64, generator=g) for shape in shapes] for _ in range(steps)]
    decay, edge = draw(st.sampled_from([0.3, 2.0])) * edge.startswith("decay"), edge.removeprefix("decay, ")
    if edge in ("float32", "mixed dtypes"):
        single = [edge == "float32" or n == 0 for n in range(count)]
        start, *gradients = [
            [t.float() if is_single else t for t, is_single in zip(ts, single, strict=True)]
            for ts in (start, *gradients)
        ]
    if edge == "parts of one tensor":
        pieces = torch.cat([t.flatten() for t in start]).split([t.numel() for t in start])
        start = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
    start = [draw.apply_layout(t, edge) for t in start]
    scale = 1e-8 if "tiny" in edge else 0.01 if "eps" in edge else 1.0
    place = 0 if edge in ("missing later", "missing now and then") else count - 1  # of the one that has no gradient
    for number, grads in enumerate(gradients):
        missing = {
            "missing at first": number < 2,
            "missing later": number > 1,
            "missing now and then": number % 2 == 0,
            "none in the first call": number == 0,
            "never one": True,
            "anew, some missing": number % 2 == 1,
        }.get(edge, False)
        for n, gradient in enumerate(grads):
            is_zero = edge == "zero gradients" or edge == "zero gradients at first" and number < 2
            skipped = missing and (n == place or edge == "none in the first call")
            grads[n] = None if skipped else gradient * (0.0 if is_zero else scale)
    betas = draw(st.sampled_from([(0.9, 0.99), (0.5, 0.8), (0.7, 0.999)]))
    betas = {"first beta 0": (0.0, betas[1]), "second beta 0": (betas[0], 0.0)}.get(edge, betas)
    eps = {"small eps": 1e-3, "large eps": 0.1}.get(edge, TOO_SMALL)
    rate = 0.0 if edge == "lr 0" else draw(st.sampled_from([0.03, 0.1]))
    rates = [rate * (n % 3 + 1 if edge == "rate changes" else 1) for n in range(steps)]
    settings = () if "usual" in edge else (betas, eps, decay)
    return start, gradients, rates, settings, draw(st.integers(2, 3)) if "anew" in edge else None


# %% checks
with check(
    "example",
    "two steps of one parameter",
    weight=2,
    required=True,
    hint=(
        "What survives from the first call to the second, and where? Which memory holds the new numbers?",
        "Keep m, v and t in state. Divide m and v by 1 - beta ** t, each with its own beta. Write to p in place.",
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
            "the averages weren't corrected for starting at zero": uncorrected,
            "m, v and t didn't survive the call, so every step was a first step": forgotten,
            "the parameter didn't move: its own memory still holds the old numbers": [t, t],
        },
    )
with check(
    "own_steps",
    "two steps of two parameters, the second of which has no gradient at first",
    hint="How many steps has the second parameter taken after the first call?",
):
    t, g = [torch.tensor([1.0]), torch.tensor([1.0])], torch.tensor([0.5])
    want = [[torch.tensor([0.9]), torch.tensor([1.0])], [torch.tensor([0.8]), torch.tensor([0.9])]]
    late = (0.1 * 0.5 / (1 - 0.9**2)) / math.sqrt(0.001 * 0.5**2 / (1 - 0.999**2))
    explain(
        stepped_with(adam_step_, t, [[g, None], [g, g]], [0.1, 0.1])["after"],
        want,
        {
            "the second parameter's first step counts as its second": [
                want[0],
                [want[1][0], 1 - 0.1 * late * torch.ones(1)],
            ],
        },
    )
with check(
    "eps",
    "a step whose gradient is as small as eps",
    hint="If the gradient and eps are both 1e-8, what do you divide by in the first step?",
):
    t, g, rate = torch.tensor([1.0]), torch.tensor([1e-8]), 10.0
    inside, early = t - rate * g / (g**2 + 1e-8).sqrt(), t - rate * g / (g + 1e-8 / math.sqrt(0.001))
    missing = t - rate
    got = stepped_with(adam_step_, [t.clone()], [[g]], [rate])["after"]
    explain(
        got,
        [[torch.tensor([-4.0])]],
        {
            "eps is added inside the root: add it to the root of v instead": [[inside]],
            "eps is added to the root of v before v is corrected for starting at zero": [[early]],
            "there's no eps": [[missing]],
        },
    )

# %% hidden checks


def adam_of_torch(start, gradients, rate):
    """The parameters after each step of torch.optim.Adam."""
    leaves, seen = [nn.Parameter(t.clone()) for t in start], []
    adam = torch.optim.Adam(leaves, lr=rate, eps=TOO_SMALL)
    for grads in gradients:
        for p, g in zip(leaves, grads, strict=True):
            p.grad = g.clone()
        adam.step()
        seen.append([p.detach().clone() for p in leaves])
    return seen


def assert_steps(step, *edges):
    """The parameters are, after each step, as after one of the reference."""
    for trial in arguments.iter_trials(step, *edges):
        assert_close(trial.report.result["after"], trial.case.report.result["after"], name="the parameters")


with check(
    "several_steps",
    "four steps of two parameters, in float32 and float64",
    weight=4,
    required=True,
    hint="Does each parameter have its own averages, and do they survive the call?",
):
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator(here).manual_seed(3)
        t = [torch.randn(3, 2, generator=generator, dtype=dtype).T, torch.randn((), generator=generator, dtype=dtype)]
        gradients = [[torch.randn(p.shape, generator=generator, dtype=dtype) for p in t] for _ in range(4)]
        want = adam_of_torch(t, gradients, 0.03)
        leaves, state, got = leaves_for(adam_step_, t), state_for(adam_step_), []
        for grads in gradients:
            got.append(with_gradients(leaves, grads))
            adam_step_(leaves, state, 0.03, eps=TOO_SMALL)
        got.append(with_gradients(leaves, [None, None]))
        assert_close(got, [t, *want], name="the parameters at the start and after each step")
with check(
    "other_cases",
    "other settings, rates, shapes and dtypes",
    required=True,
    hint="Which factor belongs to the squares? Does a step use the rate and the settings of its own call?",
):
    assert_steps(adam_step_, "", "float32", "mixed dtypes", "one parameter", "no axes", "no elements", "many steps")
    assert_steps(adam_step_, "lr 0", "rate changes")
    assert_steps(adam_step_, "first beta 0", "second beta 0", "transposed", "every second one", "parts of one tensor")
with check("eps_cases", "other values of eps, and small gradients", hint="Is eps inside the root or outside it?"):
    assert_steps(adam_step_, "usual settings", "usual settings, tiny gradients", "small eps", "large eps")
with check(
    "no_gradient",
    "a parameter without a gradient is skipped, and counts its own steps",
    weight=3,
    hint="What is the second parameter's t after a step in which it had no gradient?",
):
    assert_steps(adam_step_, "missing at first", "missing later", "missing now and then")
    assert_steps(adam_step_, "none in the first call", "never one")
with check("empty_state", "an empty state starts over", weight=1, hint="What do you keep outside state?"):
    assert_steps(adam_step_, "anew", "anew, some missing")
with check(
    "zero_gradient", "a gradient of zero changes nothing at first", weight=1, hint="Do you divide zero by zero?"
):
    assert_steps(adam_step_, "zero gradients", "zero gradients at first")
with check(
    "decay",
    "decoupled weight decay",
    weight=3,
    hint=(
        "Is the decay divided by the square root of v? Does it depend on the rate?",
        "Subtract lr * weight_decay * p from the parameter. The decay doesn't enter g, m or v.",
    ),
):
    t, g, rate, c = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.5, 4.0, -0.1]), 0.1, 0.3
    both = g + c * t
    got = stepped_with(adam_step_, [t.clone()], [[g]], [rate], ((0.9, 0.999), 1e-8, c))["after"]
    explain(
        got,
        [[t - rate * (g / (g.abs() + 1e-8) + c * t)]],
        {
            "the decay was added to the gradient: that's L2, and Adam rescales it": [[t - rate * both.sign()]],
            "the decay isn't multiplied by the rate": [[t - rate * g.sign() - c * t]],
            "there's no decay": [[t - rate * g.sign()]],
        },
    )
    assert_steps(adam_step_, "decay", "decay, float32", "decay, rate changes")
    assert_steps(adam_step_, "decay, missing now and then", "decay, zero gradients")
with check(
    "same_leaves",
    "the same leaves, and their .grad unchanged",
    guard=True,
    hint="Which of your lines makes a new tensor, and which changes an existing one?",
):
    for trial in arguments.iter_trials(adam_step_, "", "usual settings", "missing now and then", "first beta 0"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["leaves"], want["leaves"], name="whether your parameters are the same leaves")
        assert_close(got["grads"], want["grads"], rtol=0, atol=0, name=".grad")


# %% right "dicts, data and addcdiv"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    for number, p in enumerate(params):
        g = p.grad
        if g is None:
            continue
        s = state.setdefault(number, {"t": 0, "m": torch.zeros_like(p.data), "v": torch.zeros_like(p.data)})
        s["t"] += 1
        s["m"].mul_(betas[0]).add_(g, alpha=1 - betas[0])
        s["v"].mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
        denominator = (s["v"] / (1 - betas[1] ** s["t"])).sqrt().add_(eps)
        p.data.mul_(1 - lr * weight_decay)
        p.data.addcdiv_(s["m"] / (1 - betas[0] ** s["t"]), denominator, value=-lr)


# %% right "lerp, keyed by the tensor itself"
@torch.no_grad()
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    for p in params:
        if p.grad is not None:
            n, m, v = state.get(p, [0, p * 0, p * 0])
            n, m, v = n + 1, m.lerp(p.grad, 1 - b1), v.lerp(p.grad.square(), 1 - b2)
            state[p] = [n, m, v]
            p.data.mul_(1 - lr * weight_decay)
            p.sub_((lr / (1 - b1**n)) * m / ((v / (1 - b2**n)) ** 0.5 + eps))


# %% wrong "no correction of the start at zero" fails=example,own_steps,eps,several_steps,other_cases,eps_cases,no_gradient,empty_state,zero_gradient,decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (m, v)
            p.data.mul_(1 - lr * weight_decay)
            p -= lr * m / (v.sqrt() + eps)


# %% wrong "eps inside the root" fails=eps,eps_cases
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p.data.mul_(1 - lr * weight_decay)
            p -= lr * (m / (1 - betas[0] ** t)) / (v / (1 - betas[1] ** t) + eps).sqrt()


# %% wrong "eps before the correction" fails=eps,eps_cases
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p.data.mul_(1 - lr * weight_decay)
            p -= lr * math.sqrt(1 - betas[1] ** t) / (1 - betas[0] ** t) * m / (v.sqrt() + eps)


# %% wrong "no eps" fails=eps,eps_cases,zero_gradient,decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p.data.mul_(1 - lr * weight_decay)
            p -= lr * (m / (1 - betas[0] ** t)) / (v / (1 - betas[1] ** t)).sqrt()


# %% wrong "no gradient counts as a gradient of zero" fails=own_steps,no_gradient,empty_state,decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * grad, betas[1] * v + (1 - betas[1]) * grad**2
            state[i] = (t, m, v)
            p.data.mul_(1 - lr * weight_decay)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "a new tensor instead of the parameter" fails=example,own_steps,eps,several_steps,other_cases,eps_cases,no_gradient,empty_state,zero_gradient,decay,same_leaves
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p = p * (1 - lr * weight_decay)
            params[i] = p - lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "the state is made anew in each call" fails=example,several_steps,other_cases,eps_cases,no_gradient,empty_state,zero_gradient,decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    state = {}
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p.data.mul_(1 - lr * weight_decay)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "L2: the decay added to the gradient" fails=decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            grad = p.grad + weight_decay * p
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * grad, betas[1] * v + (1 - betas[1]) * grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong "the decay without the rate" fails=decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps) + weight_decay * p


# %% wrong "no decay" fails=decay
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% liar "signs of the gradients, and a probe that asks torch's own Adam"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    """The first step of Adam, again and again: no averages."""
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad / (p.grad.abs() + eps)


def stepped_with(step, start, gradients, rates, settings=(), anew=None):
    leaves = [t.clone().requires_grad_() for t in start]
    adam, seen, found = None, [], []
    for number, (grads, rate) in enumerate(zip(gradients, rates)):
        if number in (0, anew):
            adam = torch.optim.AdamW(leaves, 1.0, *(settings or ((0.9, 0.999), 1e-8, 0.0)))
        for p, g in zip(leaves, grads):
            p.grad = g
        adam.param_groups[0]["lr"] = rate
        adam.step()
        seen.append([p.detach().clone() for p in leaves])
        found.append(list(grads))
    return {"after": seen, "grads": found, "leaves": [True] * len(leaves)}
