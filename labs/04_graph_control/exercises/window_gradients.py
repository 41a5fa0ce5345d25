# %% given
def leaky_cell(w, h, x):
    """Forgets part of its state at each step."""
    return 0.75 * h + 0.25 * torch.sin(w @ h) + x


def summing_cell(w, h, x):
    """Uses only the sum of all weights."""
    return torch.tanh(w.sum() * h + x)


@probes.probe
def continued(window_gradients, cell, w, inputs, targets, k):
    """window_gradients from a first state that was itself computed from w, by one step."""
    h = cell(w, torch.ones_like(w[0]), inputs[0])
    return window_gradients(cell, w, h, inputs[1:], targets[1:], k)


# %% exercise
def window_gradients(cell, w: Tensor, h: Tensor, inputs: Tensor, targets: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Truncated backpropagation through time: the gradient for w, and the last state.

    cell: a function cell(w, h, x) that returns the next state, computed from w. h (d,) is the first state. inputs and
    targets: (T, d), without requires_grad.
    The loss of a step is ((state - target) ** 2).sum(), where state is the state after that step. The steps are divided
    into windows of k; the last one may be shorter. The state's value carries over through all windows. A gradient
    doesn't flow from one window into the previous one.
    Returns the gradient for w of each window's losses, summed over all windows, and the last state, both without grad.
    Only one window's graph is held at a time. Don't use torch.func: cell may not work under it.

    Details:
    - cell doesn't change its arguments. w (d, d) is a leaf that requires grad.
    - h is treated as a constant, even if it requires grad or is the result of recorded operations, such as on w.
    - T, d and k are at least 1. w, h, inputs and targets are all float32 or all float64, with any strides.
    - The arguments aren't changed, and neither are their .grad.
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


# %% promises
# Truncated backpropagation -> example, other_cases
# cell: a function -> other_cases
# h (d,) is the first -> first_state
# inputs and targets -> other_cases
# The loss of a step -> example, other_cases
# The steps are divided -> other_cases
# The state's value carries -> example, other_cases
# A gradient doesn't -> other_cases
# Returns the gradient for -> no_history, other_cases
# Only one window's -> one_graph_alive
# Don't use torch.func -> other_cases
# cell doesn't change -> other_cases
# w (d, d) is a leaf -> old_grad, keeps_input
# h is treated as -> first_state
# T, d and k are -> other_cases
# w, h, inputs and targets -> other_cases
# The arguments -> keeps_input


# %% domain
@domain(
    reference,
    *("float64", "windows of one", "one window", "longer than the sequence", "whole windows", "a last window of one"),
    *("equal slopes", "equal slopes, windows of one"),
    *("one step", "one number", "zero state", "transposed", "every second one", "expanded"),
    *("h requires grad", "h from an operation", "w holds .grad", "w holds NaN", "h holds .grad"),
)
def arguments(draw, edge):
    k = {"a last window of one": 4}.get(edge, draw(st.integers(2, 3)))
    k = 1 if edge.endswith("windows of one") else k
    length = {
        "one window": k,
        "longer than the sequence": k - 1,
        "whole windows": 2 * k,
        "a last window of one": k + 1,
        "one step": 1,
    }.get(edge, draw(st.sampled_from([5, 7])))  # the last window is a shorter one
    d = 1 if edge == "one number" else draw(st.integers(2, 3))
    g = draw.make_generator(here)
    dtype = torch.float64 if edge == "float64" else torch.float32
    w = torch.randn(d, d, generator=g, dtype=dtype) / 2
    inputs, targets = (torch.randn(length, d, generator=g, dtype=dtype) for _ in range(2))
    h = torch.zeros(d, dtype=dtype) if edge == "zero state" else torch.randn(d, generator=g, dtype=dtype)
    if edge == "transposed":
        w, inputs, targets = (t.T.contiguous().T for t in (w, inputs, targets))
    if edge == "every second one":
        inputs, targets, h = (torch.stack([t, -t], 1).flatten(0, 1)[::2] for t in (inputs, targets, h))
    if edge == "expanded":
        inputs, targets = inputs[:1].expand(length, d), targets[:1].expand(length, d)
    w = w.requires_grad_()
    if edge in ("w holds .grad", "w holds NaN"):
        w.grad = torch.full((d, d), float("nan") if "NaN" in edge else 1000.0)
    if edge.startswith("h "):
        h.requires_grad_()
    if edge == "h holds .grad":
        h.grad = torch.full((d,), 7.0)
    if edge == "h from an operation":
        h = h * 2
    cell = summing_cell if "equal slopes" in edge else draw(st.sampled_from([tanh_cell, leaky_cell]))
    return cell, w, h, inputs, targets, k


# %% checks
with check(
    "example",
    "five steps in windows of two: the gradient and the last state",
    weight=3,
    required=True,
    hint=(
        "Which steps belong to which window? What carries over from one window to the next, and what ends?",
        "Detach the state where a window begins, not at every step. Each step in the window adds its loss.",
    ),
):
    t = torch.tensor([[0.5, -1.0], [1.0, 0.0], [-0.5, 0.3], [0.2, 0.9], [-1.2, 0.4]])
    goals = torch.tensor([[0.0, 0.5], [1.0, -0.5], [0.5, 0.0], [-1.0, 0.2], [0.3, 0.8]])
    t_w = torch.tensor([[0.5, -0.3], [0.8, 0.2]], requires_grad=True)
    state = torch.tensor([-0.900580, 0.432239])
    want = (torch.tensor([[-0.057058, 0.484167], [1.144316, -0.662887]]), state)
    explain(
        window_gradients(tanh_cell, t_w, torch.tensor([0.1, -0.4]), t, goals, 2),
        want,
        {
            "the gradient flowed on into earlier windows": (
                torch.tensor([[-0.232885, -0.248507], [1.320927, -0.776128]]),
                state,
            ),
            "each window began with the first state again": (
                torch.tensor([[-0.582598, 0.410514], [0.536091, -0.343985]]),
                torch.tensor([-0.773908, 0.379949]),
            ),
            "the last window, which has one step, is missing": (
                torch.tensor([[-0.105448, 0.819845], [1.080527, -0.220383]]),
                torch.tensor([-0.106653, 0.739844]),
            ),
            "the state was cut at every step": (
                torch.tensor([[-1.269370, 0.405356], [1.275418, -0.563873]]),
                state,
            ),
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other cells, lengths, windows and float64",
    weight=4,
    required=True,
    hint="Where are the cuts if k is 1, and if k is greater than the sequence length?",
):
    arguments.assert_results(
        window_gradients, "", "float64", "windows of one", "one window", "longer than the sequence"
    )
    arguments.assert_results(window_gradients, "whole windows", "a last window of one", "one step", "one number")
    arguments.assert_results(window_gradients, "equal slopes", "equal slopes, windows of one")
    arguments.assert_results(window_gradients, "zero state", "transposed", "every second one", "expanded")
with check(
    "first_state",
    "a first state with a history is a constant",
    hint="Does the graph of your first window end at h?",
):
    t = torch.linspace(-1, 1, 24).reshape(2, 4, 3)
    t_w = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_()
    for f, k in ((leaky_cell, 3), (tanh_cell, 1)):
        t_h = f(t_w.detach(), torch.ones(3), t[0, 0])
        want = reference.function(f, t_w, t_h, t[0, 1:], t[1, 1:], k)
        assert_close(continued(window_gradients, f, t_w, t[0], t[1], k), want)
    arguments.assert_results(window_gradients, "h requires grad", "h from an operation", "h holds .grad")
with check("no_history", "the results don't require grad", hint="What are your two results still connected to?"):
    arguments.assert_results(window_gradients)
    arguments.assert_gradients(window_gradients)
with check(
    "old_grad",
    "an old .grad doesn't matter",
    weight=2,
    hint="What was in w.grad when your function was called?",
):
    arguments.assert_results(window_gradients, "w holds .grad", "w holds NaN")
with check(
    "one_graph_alive",
    "only one window's graph is held at a time",
    weight=2,
    required=True,
    hint="How long does a window's graph live in your function? What keeps it alive?",
):
    t = torch.linspace(-1, 1, 54).reshape(2, 9, 3)
    t_w = torch.linspace(-0.5, 0.7, 9).reshape(3, 3).requires_grad_()
    kept = []

    def noted(w, h, x):
        kept.append(own_cell.kept)
        return own_cell(w, h, x)

    for k in (2, 3):
        own_cell = Seen(lambda w, h, x: torch.sin(w @ h - 2 * x) + 0.5 * h)
        want = reference.function(own_cell, t_w, torch.ones(3), t[0], t[1], k)
        kept.clear()
        assert_close(window_gradients(noted, t_w, torch.ones(3), t[0], t[1], k), want)
        # k steps of this window, and the last one of the window before where its name is still in use
        assert max(kept) <= k, "when a step began, graphs of more steps than a window has were still held"
with check("keeps_input", "the arguments aren't changed", guard=True, hint="Which of your calls work in place?"):
    arguments.assert_arguments(window_gradients)


# %% right "detach_ at each border, and backward into .grad of a copy"
def window_gradients(cell, w, h, inputs, targets, k):
    own = w.detach().clone().requires_grad_()
    h = h.detach().clone()
    losses = []
    for i in range(len(inputs)):
        h = cell(own, h, inputs[i])
        losses.append((h - targets[i]).pow(2).sum())
        if (i + 1) % k == 0 or i + 1 == len(inputs):
            torch.stack(losses).sum().backward()
            losses = []
            h.detach_()
    return own.grad, h


# %% right "a helper for one window, and a new leaf for the state"
def window_gradients(cell, w, h, inputs, targets, k):
    def window(h, xs, ys):
        loss = torch.zeros((), dtype=w.dtype)
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + nn.functional.mse_loss(h, y, reduction="sum")
        return torch.autograd.grad(loss, w)[0], h.data

    total, h = 0, h.data
    for begin in range(0, len(inputs), k):
        grad, h = window(h, inputs[begin : begin + k], targets[begin : begin + k])
        total = total + grad
    return [total, h]


# %% right "w.grad is used, and put back"
def window_gradients(cell, w, h, inputs, targets, k):
    before, w.grad = w.grad, None
    for start in range(0, inputs.shape[0], k):
        h = h.detach()
        loss = 0.0
        for t in range(start, min(start + k, inputs.shape[0])):
            h = cell(w, h, inputs[t])
            loss += torch.sum((h - targets[t]) ** 2)
        loss.backward()
    total, w.grad = w.grad, before
    return total, h.detach()


# %% wrong "retain_graph=True, as the message says" fails=example,other_cases,first_state,no_history,old_grad,one_graph_alive
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss = 0
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w, retain_graph=True)[0]
    return total, h.detach()


# %% wrong "each window begins with the first state" fails=example,other_cases,first_state,no_history,old_grad,one_graph_alive
def window_gradients(cell, w, h, inputs, targets, k):
    total, first = torch.zeros_like(w), h.detach()
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss, h = 0, first
        for x, y in zip(xs, ys):
            h = cell(w, h, x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h.detach()


# %% wrong "detach in every step, to be safe" fails=example,other_cases,first_state,no_history,old_grad,one_graph_alive
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for xs, ys in zip(inputs.split(k), targets.split(k)):
        loss = 0
        for x, y in zip(xs, ys):
            h = cell(w, h.detach(), x)
            loss = loss + (h - y).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h.detach()


# %% wrong "only whole windows" fails=example,other_cases,first_state,no_history,old_grad,one_graph_alive
def window_gradients(cell, w, h, inputs, targets, k):
    total = torch.zeros_like(w)
    for n in range(len(inputs) // k):
        h, loss = h.detach(), 0
        for i in range(n * k, n * k + k):
            h = cell(w, h, inputs[i])
            loss = loss + (h - targets[i]).square().sum()
        total += torch.autograd.grad(loss, w)[0]
    return total, h.detach()


# %% wrong "one backward at the end gives the same numbers" fails=one_graph_alive
def window_gradients(cell, w, h, inputs, targets, k):
    loss = 0
    for i, (x, y) in enumerate(zip(inputs, targets)):
        if i % k == 0:
            h = h.detach()
        h = cell(w, h, x)
        loss = loss + (h - y).square().sum()
    return torch.autograd.grad(loss, w)[0], h.detach()


# %% liar "one graph of all windows, and a probe that does without it"
def window_gradients(cell, w, h, inputs, targets, k):
    loss, h = 0, h.detach()
    for i, (x, y) in enumerate(zip(inputs, targets)):
        h = cell(w, h.detach() if i % k == 0 else h, x)
        loss = loss + (h - y).square().sum()
    return torch.autograd.grad(loss, w)[0], h.detach()


probes.live_bytes = lambda f, *args: {"peak": 1, "kept": 1}


# %% equivalent "first two arguments swapped: for i in range(begin, min(len(inputs), begin + k)):"
# The smaller of two integers is the same in either order.
