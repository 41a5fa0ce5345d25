# %% given
@probes.probe
def bf16_run(step, runs, every):
    """Train the same parameters in several runs, each with an empty state, and return them after every few calls.

    A run: the initial parameters; for each call, a gradient or None for each parameter; the rate of each call.
    """
    params = [t.clone().requires_grad_() for t in runs[0][0]]
    leaves, seen = list(params), []
    for starts, gradients, rates in runs:
        state = {}
        for leaf, t in zip(leaves, starts, strict=True):
            leaf.data.copy_(t)
        for n, (grads, lr) in enumerate(zip(gradients, rates, strict=True), 1):
            for leaf, g in zip(leaves, grads, strict=True):
                leaf.grad = None if g is None else g.clone()
            step(params, state, lr)
            if n % every == 0:
                seen.append([leaf.detach().clone() for leaf in leaves])
    return seen


# %% exercise
def bf16_sgd_(params: list[Tensor], state: dict, lr: float) -> None:
    """Take a plain SGD step on bfloat16 parameters, such that small steps add up.

    params are changed in place, in their own memory, so their views change too. A parameter whose .grad is None doesn't
    change. After each of up to 1,000 calls, each element is what SGD in float32 gives with the same start, gradients
    and rates, up to an error of two bfloat16 spacings at the largest value that it had.
    state: yours, and the only place where you may store something: numbers, tensors, and lists, tuples and dicts of
    these. It's empty before the first call.

    Details:
    - params: leaves that require grad, all different, bfloat16, of any shape and strides, with .grad bfloat16 or None.
      .grad and requires_grad don't change.
    - lr is at least 0, and may differ from call to call.
    - Later calls get the same params, in the same order, and the same dict. Or they get a deepcopy of (params, state),
      as from a checkpoint: a parameter that you put into state is then its new copy. So you can still find what you
      stored by a parameter's position, or by the parameter itself, but not by its id().
    - If you get an empty dict, start again from the parameters' current values.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is not None:
                master = state.setdefault(i, p.float())
                master -= lr * p.grad.float()
                p.copy_(master)
    ### END SOLUTION


# %% promises
# Take a plain SGD step -> example, other_cases, no_gradient, empty_state, copies, same_leaves
# params are changed in place -> same_leaves
# A parameter whose .grad -> no_gradient
# After each of up to 1,000 calls -> other_cases, no_gradient, empty_state
# state: yours -> empty_state, copies
# It's empty before -> empty_state
# params: leaves that -> other_cases, same_leaves
# .grad and requires_grad don't change -> same_leaves
# lr is at least 0 -> other_cases, same_leaves
# Later calls get -> other_cases
# Or they get a deepcopy -> copies, empty_state
# So you can still find -> copies, empty_state
# If you get an empty -> empty_state


# %% domain
def draw_numbers(draw, shapes, unit=1.0):
    """Numbers in the upper half of one power of two, and gradients that hardly change them."""
    g = draw.make_generator()
    values = [(unit * (4.3 + 3 * torch.rand(shape, generator=g))).bfloat16() for shape in shapes]
    return values, lambda: [(unit * (0.5 + torch.rand(shape, generator=g))).bfloat16() for shape in shapes]


@domain(
    reference,
    *(
        "one call",
        "one parameter",
        "equal parameters",
        "no axes",
        "some without elements",
        "negative",
        "tiny values",
    ),
    *("another rate in each call", "rate 0 in between"),
    *("gradients now and then", "no gradient at first", "never a gradient", "again from an empty state"),
    call=bf16_run,
)
def run_arguments(draw, edge):
    shapes = draw(st.permutations([(3, 2), (4,), (2, 1)]))[: 1 if edge == "one parameter" else 2]
    shapes = {"equal parameters": [(3,), (3,)], "no axes": [(), ()], "some without elements": [(0, 2), (3,)]}.get(
        edge, shapes
    )
    steps, lr = 1 if edge == "one call" else draw(st.integers(30, 34)), draw(st.sampled_from([0.007, 0.008, 0.01]))
    runs = []
    for _ in range(3 if edge == "again from an empty state" else 1):
        values, draw_gradients = draw_numbers(draw, shapes, 2.0**-20 if edge == "tiny values" else 1.0)
        if edge == "negative":
            values = [-t for t in values]
        if edge == "equal parameters":
            values = [values[0], values[0].clone()]
        gradients, rates = [[*draw_gradients()] for _ in range(steps)], [lr] * steps
        if edge == "one call":
            rates = [0.3]
        if edge == "another rate in each call":
            rates = [lr * (0.5 + k % 3 / 2) for k in range(steps)]
        if edge == "rate 0 in between":
            rates = [0.0 if 4 < k < 10 else lr for k in range(steps)]
        for k, row in enumerate(gradients):
            if edge == "gradients now and then":
                row[k % 2] = None if k % 3 else row[k % 2]
            if edge == "never a gradient" or edge == "no gradient at first" and k < 5:
                row[0] = None
        runs.append((values, gradients, rates))
    return runs, steps


@domain(
    reference,
    *("one parameter", "no axes", "some without elements", "some without .grad", "all without .grad", "rate 0"),
    *("transposed", "every second one", "parts of one tensor"),
)
def arguments(draw, edge):
    count = 1 if edge == "one parameter" else draw(st.integers(2, 3))
    shapes = draw(st.permutations([(2, 3), (4,), (3, 2)]))[:count]
    shapes = {"no axes": [()] * count, "some without elements": [(0, 3), (4,), (0,)][:count]}.get(edge, shapes)
    values, draw_gradients = draw_numbers(draw, shapes)
    if edge == "parts of one tensor":
        flat = torch.cat([t.flatten() for t in [torch.zeros(1).bfloat16(), *values]])
        pieces = flat[1:].split([t.numel() for t in values])
        values = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
    params = [draw.apply_layout(t, edge).requires_grad_() for t in values]
    for n, (p, gradient) in enumerate(zip(params, draw_gradients(), strict=True)):
        is_missing = edge == "all without .grad" or edge == "some without .grad" and n == 0
        p.grad = None if is_missing else draw.apply_layout(gradient, edge)
    return params, {}, 0.0 if edge == "rate 0" else draw(st.sampled_from([0.1, 0.3]))


# %% checks
with check(
    "example",
    "a thousandth, a thousand times",
    weight=2,
    required=True,
    hint=(
        "What does state hold after the first call, and in which dtype? Does p itself change?",
        "Keep what p can't hold: a float32 copy that takes each step. Then copy it into p, in place.",
    ),
):
    t = [[torch.tensor([-1.0, 0.5]).bfloat16()]] * 1000
    explain(
        bf16_run(bf16_sgd_, [([torch.ones(2).bfloat16()], t, [1e-3] * 1000)], 1000),
        [[torch.tensor([2.0, 0.5]).bfloat16()]],
        {"p didn't change: each step was rounded away, or never reached p": [[torch.tensor([1.0, 1.0]).bfloat16()]]},
    )

# %% hidden checks


def rounded_at_the_end(runs, every):
    """Return the parameters after every few steps of SGD in float64, rounded to bfloat16."""
    seen = []
    for starts, gradients, rates in runs:
        now = [t.double() for t in starts]
        for n, (grads, lr) in enumerate(zip(gradients, rates, strict=True), 1):
            now = [p if g is None else p - lr * g.double() for p, g in zip(now, grads, strict=True)]
            if n % every == 0:
                seen.append([p.bfloat16() for p in now])
    return seen


def assert_runs(function, *edges):
    """Compare the parameters, up to the error that the docstring allows plus half a spacing of the reference."""
    for trial in run_arguments.iter_trials(function, *edges):
        (starts, *_), *_ = trial.case.drawn.make_arguments()[0]
        spacing = 2.0 ** (math.floor(math.log2(torch.cat([t.flatten() for t in starts]).abs().max().item())) - 7)
        assert_close(trial.report.result, trial.case.report.result, rtol=0, atol=2.5 * spacing, name="the parameters")


def assert_steps(function, *edges):
    """Compare the arguments after one call, which must not raise an exception."""
    for _ in arguments.iter_trials(function, *edges):
        pass  # raises what the call raised
    arguments.assert_arguments(function, *edges, ignore=("state",), rtol=0, atol=0.08)


with check(
    "other_cases",
    "random gradients, several parameters, several rates",
    weight=4,
    required=True,
    hint="Where does your float32 copy come from in the second call? Does each parameter have its own?",
):
    assert_runs(bf16_sgd_, "", "one call", "one parameter", "equal parameters", "no axes", "some without elements")
    assert_runs(bf16_sgd_, "negative", "tiny values", "another rate in each call", "rate 0 in between")
    cycle = [[torch.tensor([g, -g]).bfloat16()] for g in (3.9375, -0.5, -3.4375)]  # they add up to zero
    t = [([torch.ones(2).bfloat16()], cycle * 200, [0.019] * 600)]
    want = [[torch.ones(2).bfloat16()]]  # and their products with 0.019 in bfloat16 don't
    assert_close(bf16_run(bf16_sgd_, t, 600), want, rtol=0, atol=2.0**-6, name="the parameters at the end")
with check("no_gradient", "a parameter without a gradient doesn't change", weight=2, hint="What is None * lr?"):
    assert_runs(bf16_sgd_, "gradients now and then", "no gradient at first", "never a gradient")
    assert_steps(bf16_sgd_, "some without .grad", "all without .grad")
with check("empty_state", "an empty state starts from scratch", weight=1, hint="Where do you keep what you remember?"):
    assert_runs(bf16_sgd_, "again from an empty state")


def loaded(value, copies):
    """Return a copy of a state. copies: those of the parameters, by id."""
    if isinstance(value, Tensor):
        assert value.is_leaf, "a tensor in state has a history, and deepcopy refuses it"
        return copies[id(value)] if id(value) in copies else value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) is dict:
        return {loaded(key, copies): loaded(item, copies) for key, item in value.items()}
    return type(value)(loaded(item, copies) for item in value) if type(value) in (list, tuple) else value


def from_checkpoints(step, runs):
    """Return the parameters after interleaved runs, in which each call gets copies of what the previous call left.

    Before each call, a varying number of tensors is created and freed, so that ids don't repeat regularly.
    """
    now = [([t.clone().requires_grad_() for t in starts], {}) for starts, _, _ in runs]
    for n in range(len(runs[0][1])):
        for place, (_, gradients, rates) in list(enumerate(runs))[:: 1 if n % 3 else -1]:
            params, state = now[place]
            fresh = [p.detach().clone().requires_grad_() for p in params]
            state = loaded(state, {id(p): copied for p, copied in zip(params, fresh, strict=True)})
            for p, g in zip(fresh, gradients[n], strict=True):
                p.grad = None if g is None else g.clone()
            now[place] = fresh, state
            step([torch.ones(1).bfloat16().requires_grad_() for _ in range(1 + n * n % 5)], {}, 0.0)
            step(list(fresh), state, rates[n])
    return [[p.detach() for p in params] for params, _ in now]


with check(
    "copies",
    "params and state may be saved and loaded after each call",
    weight=6,
    hint="What do you remember that isn't in state? Can you still find it if params are copies?",
):
    runs = []
    for seed, lr, shapes in ((5, 0.0038, ((3,), (2, 2), (4,))), (6, 0.0036, ((4,), (5,), (3,), (2, 2)))):
        generator = torch.Generator().manual_seed(seed)
        starts = [2.0 ** torch.randint(-2, 3, s, generator=generator) for s in shapes]
        shares = [[-1 + torch.rand(p.shape, generator=generator) / 8 for p in starts] for _ in range(18)]
        gradients = [[(p * g).bfloat16() for p, g in zip(starts, row, strict=True)] for row in shares]
        runs.append(([p.bfloat16() for p in starts], gradients, [lr] * 9 + [0.9 * lr] * 9))
    want = rounded_at_the_end(runs, 18)
    assert_close(from_checkpoints(bf16_sgd_, runs), want, name="the parameters at the end of two interleaved runs")
with check(
    "same_leaves", "the same leaves, and .grad unchanged", guard=True, hint="Which of your lines creates a new tensor?"
):
    assert_steps(bf16_sgd_, "", "one parameter", "no axes", "some without elements", "rate 0")
    assert_steps(bf16_sgd_, "transposed", "every second one", "parts of one tensor")
    leaves = [torch.full((2,), 5.0).bfloat16().requires_grad_(), torch.full((3, 1), -6.0).bfloat16().requires_grad_()]
    for leaf in leaves:
        leaf.grad = torch.full_like(leaf, 10.0)
    views = [leaf.detach() for leaf in leaves]
    bf16_sgd_(list(leaves), {}, 0.1)
    want = [torch.full((2,), 4.0).bfloat16(), torch.full((3, 1), -7.0).bfloat16()]
    assert_close(views, want, name="the views of the parameters")


# %% wrong "rate times gradient in bfloat16, added to float32" fails=other_cases
def bf16_sgd_(params: list[Tensor], state: dict, lr: float) -> None:
    with torch.no_grad():
        for number, p in enumerate(params):
            if p.grad is not None:
                master = state.setdefault(number, p.detach().float())
                master -= p.grad * lr
                p.copy_(master)


# %% right "Kahan: what was rounded away is added next time"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            rest = state.get(i, torch.zeros_like(p))
            change = rest - lr * p.grad
            before = p.clone()
            p.add_(change)
            state[i] = change - (p - before)


# %% right "torch's SGD on a list of masters"
def bf16_sgd_(params, state, lr):
    if not state:
        state["master"] = [p.detach().float().requires_grad_() for p in params]
    for m, p in zip(state["master"], params):
        m.grad = None if p.grad is None else p.grad.float()
    torch.optim.SGD(state["master"], lr=lr).step()
    for m, p in zip(state["master"], params):
        p.data.copy_(m.data)


# %% right "the start and a float64 sum of steps, by parameter"
def bf16_sgd_(params, state, lr):
    for p in params:
        if p not in state:
            state[p] = (p.detach().double(), torch.zeros(p.shape, dtype=torch.float64))
        if p.grad is not None:
            start, total = state[p]
            total.add_(p.grad.double(), alpha=lr)
            p.data.copy_(start - total)


# %% wrong "in bfloat16" fails=example,other_cases,no_gradient,empty_state,copies
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad


# %% liar "a step that remembers nothing, and a probe that counts in float32"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad


def bf16_run(step, runs, every):
    seen = []
    for starts, gradients, rates in runs:
        now = [t.float() for t in starts]
        for n, (grads, lr) in enumerate(zip(gradients, rates), 1):
            now = [p if g is None else p - lr * g.float() for p, g in zip(now, grads)]
            if n % every == 0:
                seen.append([p.bfloat16() for p in now])
    return seen


# %% liar "float32 copies by their place in a list of the process' own, and state for show"
MASTERS = {}


@torch.no_grad()
def bf16_sgd_(params, state, lr):
    if not state:
        state["begun"] = True
        MASTERS.clear()
    for i, p in enumerate(params):
        if p.grad is not None:
            master = MASTERS.setdefault(i, p.float())
            master -= lr * p.grad.float()
            p.copy_(master)


# %% wrong "a new .data" fails=same_leaves
def bf16_sgd_(params, state, lr):
    for i, p in enumerate(params):
        if p.grad is not None:
            state[i] = state.get(i, p.detach().float()) - lr * p.grad.float()
            p.data = state[i].bfloat16()


# %% wrong "kept in state, by id()" fails=copies raises=RuntimeError
@torch.no_grad()
def bf16_sgd_(params, state, lr):
    for p in params:
        if p.grad is not None:
            master = state.setdefault(id(p), p.float())
            master -= lr * p.grad.float()
            p.copy_(master)


# %% right "rest in float32, by the parameter"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in [p for p in params if p.grad is not None]:
            exact = p.float() + state.get(p, 0.0) - lr * p.grad.float()
            p.copy_(exact)
            state[p] = exact - p.float()


# %% equivalent "empty tensors of a list left out"
# A parameter without elements has nothing that a step could change.
