# %% given
class Told:
    """An LSTM for the checks: it notes the length of each piece, and whether a state came that requires grad."""

    def __init__(self, hidden, weights):
        self.hidden, self.weights = hidden, weights
        self.lengths, self.linked = [], []

    def run(self, x, state=None):
        self.lengths.append(x.shape[1])
        self.linked.append(None if state is None else any(one.requires_grad for one in state))
        if state is None:
            zeros = x.new_zeros(1, len(x), self.hidden)
            state = (zeros, zeros)
        w_ih, w_hh, b_ih, b_hh = self.weights
        (h, c), outputs = (one[0] for one in state), []
        for step in x.unbind(1):
            i, f, g, o = (step @ w_ih.T + b_ih + h @ w_hh.T + b_hh).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        return torch.stack(outputs, 1), (h[None], c[None])


def lstm_weights(inputs, hidden, seed, dtype=torch.float32):
    """Weights of one layer, as nn.LSTM has them."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(4 * hidden, inputs), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
    return [torch.randn(shape, generator=generator).to(device(), dtype).requires_grad_() for shape in shapes]


def small_lstm(x, state=None):
    """An LSTM with fixed weights, of 4 hidden features."""
    return Told(4, lstm_weights(x.shape[2], 4, 1, x.dtype)).run(x, state)


# %% exercise
def run_in_pieces(lstm, x: Tensor, size: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The outputs for x (n, t, features), run in pieces of size steps, and the last state.

    lstm: called as an nn.LSTM with batch_first=True: lstm(piece) begins with a state of zeros, and lstm(piece, (h, c))
    with that state. Both give output, (h, c). It is called once for each piece, in order. t and size are at least 1,
    and the last piece may be shorter. x has any strides, and may require grad or be the result of recorded operations.
    Returns the outputs of all steps (n, t, hidden), and (h, c) after the last one. The values are those of one call
    for all of x. The outputs have the history that lstm gives them, which is none if recording is off. No gradient goes
    from one piece into the one before: the states that lstm gets, and the one that is returned, require no grad.
    """
    ### BEGIN SOLUTION
    outputs: list[Tensor] = []
    state: tuple[Tensor, ...] = ()
    for piece in x.split(size, dim=1):
        output, (h, c) = lstm(piece, state) if state else lstm(piece)
        state = (h.detach(), c.detach())
        outputs.append(output)
    return torch.cat(outputs, dim=1), (state[0], state[1])
    ### END SOLUTION


# %% promises
# The outputs for x -> example, other_cases
# lstm: called as -> example, state, other_cases
# Both give output -> example, state, other_cases
# It is called once -> calls
# t and size are -> other_cases
# x has any strides -> other_cases, gradients
# Returns the outputs -> example, state, other_cases
# The values are -> example, state, other_cases
# The outputs have -> gradients
# No gradient goes -> cut, gradients


# %% domain
@domain(
    reference,
    *("float32", "one sample", "one step", "one feature", "size 1", "one piece", "size beyond the end", "equal pieces"),
    *("a last piece of one step", "as many samples as steps", "transposed", "every second one"),
    *("requires grad", "requires grad, size 1", "from an operation", "recording off", "watched", "watched, size 1"),
    "steps first in memory",
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    n, size, features = draw(st.integers(2, 4)), draw(st.integers(2, 4)), draw(st.integers(2, 3))
    size = 1 if "size 1" in edge else size + 1 if edge == "watched" else size
    steps = size * draw(st.integers(1, 2)) + draw(st.integers(1, max(1, size - 1)))
    steps = {
        "one step": 1,
        "one piece": size,
        "size beyond the end": size - 1,
        "equal pieces": 2 * size,
        "watched": size + 1,
        "a last piece of one step": 2 * size + 1,
    }.get(edge, steps)
    n = {"one sample": 1, "as many samples as steps": steps}.get(edge, n)
    dtype = torch.float32 if edge == "float32" else torch.float64
    x = torch.randn(n, steps, 1 if edge == "one feature" else features, dtype=dtype, generator=draw.make_generator())
    x = draw.apply_layout(x.to(device()), edge)
    if edge == "steps first in memory":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    lstm = Told(3, lstm_weights(features, 3, steps, dtype)).run if "watched" in edge else small_lstm
    return lstm, draw.apply_gradient_state(x, edge), size


# %% checks
with check(
    "example",
    "seven steps in pieces of three: the outputs of one call",
    weight=2,
    required=True,
    hint=(
        "From which step on do the outputs differ? What does the second piece begin with?",
        "Pass (h, c) of one piece to the next. With batch_first=True the steps are dimension 1 of x.",
    ),
):
    t = torch.linspace(-2, 2, 28, device=device()).reshape(2, 7, 2).sin()
    one = Told(3, lstm_weights(2, 3, 0))
    want, _ = one.run(t)
    fresh = torch.cat([one.run(piece)[0] for piece in t.split(3, 1)], 1)
    got, _ = run_in_pieces(one.run, t, 3)
    explain(got, want, {"each piece began with a state of zeros": fresh}, name="the outputs")
with check(
    "state",
    "the state after the last step",
    hint=(
        "Which piece's state do you return? In which order are h and c?",
        "It is the one that the next piece would get, if there were one.",
    ),
):
    t = torch.linspace(-2, 2, 28, device=device()).reshape(2, 7, 2).sin()
    one = Told(3, lstm_weights(2, 3, 0))
    _, (h, c) = one.run(t)
    _, got = run_in_pieces(one.run, t, 3)
    explain(got, (h, c), {"h comes first, then c": (c, h)}, name="the state")

# %% hidden checks
with check(
    "other_cases",
    "other lengths, sizes and dtypes",
    weight=4,
    required=True,
    hint="How long is the last piece? What if one piece holds everything?",
):
    arguments.assert_results(run_in_pieces, "", "float32", "one sample", "one step", "one feature", "size 1")
    arguments.assert_results(run_in_pieces, "one piece", "size beyond the end", "equal pieces")
    arguments.assert_results(run_in_pieces, "a last piece of one step", "as many samples as steps")
    arguments.assert_results(run_in_pieces, "transposed", "every second one", "steps first in memory")
with check(
    "calls",
    "one call for each piece, in order",
    weight=2,
    required=True,
    hint="How often is lstm called, and with which steps of x?",
):
    for trial in arguments.iter_trials(run_in_pieces, "watched", "watched, size 1"):
        assert_close(trial.report.result, trial.case.report.result)
        got, want = (one[0].__self__.lengths for one in (trial.arguments, trial.case.arguments))
        assert_close(got, want, name="the lengths of the pieces")
with check(
    "cut",
    "no state with a history goes into a piece, and none comes back",
    weight=3,
    required=True,
    hint="What must happen to h and c between two pieces? To both of them?",
):
    for trial in arguments.iter_trials(run_in_pieces, "watched", "watched, size 1"):
        assert_close(trial.report.result, trial.case.report.result)
        linked = [flag for flag in trial.arguments[0].__self__.linked if flag]
        pieces = len(trial.case.arguments[0].__self__.lengths)
        explain(
            linked,
            [],
            {"a state that goes on is detached": [True] * (pieces - 1)},
            name="the list of states that require grad",
        )
        needs = [state.requires_grad for state in trial.report.states]
        assert_close(needs, [True, False, False], name="whether outputs, h and c require grad")
with check(
    "gradients",
    "the gradient for x: that of each piece alone",
    weight=3,
    required=True,
    hint="Do the outputs still have their history? Is it that of their own piece only?",
):
    t = torch.linspace(-2, 2, 28, dtype=torch.float64, device=device()).reshape(2, 7, 2).sin().requires_grad_()
    values, _ = reference.function(small_lstm, t, 3)
    (want,) = torch.autograd.grad(values.square().sum(), t)
    linked, _ = small_lstm(t)
    (wrong,) = torch.autograd.grad(linked.square().sum(), t)
    got, _ = run_in_pieces(small_lstm, t, 3)
    assert_close(got, values, name="the outputs")
    (got,) = torch.autograd.grad(got.square().sum(), t)
    explain(got, want, {"no gradient goes into an earlier piece": wrong}, name="the gradient")
    arguments.assert_results(run_in_pieces, "requires grad", "requires grad, size 1")
    arguments.assert_results(run_in_pieces, "from an operation", "recording off")
    arguments.assert_gradients(run_in_pieces, "", "requires grad", "requires grad, size 1", "from an operation")
    arguments.assert_gradients(run_in_pieces, "recording off", "one piece", "one step")


# %% right "a loop over beginnings"
def run_in_pieces(lstm, x, size):
    output, state = lstm(x[:, :size])
    outputs = [output]
    for begin in range(size, x.shape[1], size):
        state = [s.detach() for s in state]
        output, state = lstm(x[:, begin : begin + size], tuple(state))
        outputs.append(output)
    return torch.cat(outputs, 1), tuple(s.detach() for s in state)


# %% right "what is left of x gets shorter"
def run_in_pieces(lstm, x, size):
    out, kwargs, h, c = None, (), None, None
    while x.shape[1]:
        piece, x = x[:, :size], x[:, size:]
        part, (h, c) = lstm(piece, *kwargs)
        h, c = h.detach(), c.detach()
        kwargs = ((h, c),)
        out = part if out is None else torch.cat((out, part), 1)
    return out, (h, c)


# %% right "the first piece by itself, and clones"
def run_in_pieces(lstm, x, size):
    outs = []
    first, state = lstm(x[:, :size])
    outs.append(first)
    for piece in list(x.split(size, 1))[1:]:
        h, c = state
        out, state = lstm(piece, (h.detach().clone(), c.detach().clone()))
        outs.append(out)
    return torch.hstack(outs), (state[0].detach(), state[1].detach())


# %% wrong "a call to see the shapes, and one for the outputs" fails=calls
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        lstm(piece)
        out, state = lstm(piece, *state and (state,))
        state = tuple(s.detach() for s in state)
        outs.append(out)
    return torch.cat(outs, 1), state


# %% wrong "each piece begins anew" fails=example,state,other_cases,calls,cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], None
    for piece in x.split(size, 1):
        out, state = lstm(piece)
        outs.append(out)
    return torch.cat(outs, 1), tuple(s.detach() for s in state)


# %% wrong "not detached" fails=cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, state = lstm(piece, *state and (state,))
        outs.append(out)
    return torch.cat(outs, 1), tuple(s.detach() for s in state)


# %% wrong "h is detached, c is not" fails=cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, (h, c) = lstm(piece, *state and (state,))
        state = (h.detach(), c)
        outs.append(out)
    return torch.cat(outs, 1), (h.detach(), c.detach())


# %% wrong "the last state keeps its history" fails=cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, state = lstm(piece, *state and (tuple(s.detach() for s in state),))
        outs.append(out)
    return torch.cat(outs, 1), tuple(state)


# %% wrong "everything at once" fails=calls,gradients
def run_in_pieces(lstm, x, size):
    out, (h, c) = lstm(x)
    return out, (h.detach(), c.detach())


# %% wrong "the shorter last piece is left out" fails=example,state,other_cases,calls,cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for n in range(max(1, x.shape[1] // size)):
        out, state = lstm(x[:, n * size : (n + 1) * size], *state and (state,))
        state = tuple(s.detach() for s in state)
        outs.append(out)
    return torch.cat(outs, 1), state


# %% wrong "c and h the other way round" fails=state,other_cases,calls,cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, state = lstm(piece, *state and (state,))
        state = tuple(s.detach() for s in state)
        outs.append(out)
    return torch.cat(outs, 1), (state[1], state[0])


# %% wrong "one call, and the pieces only for show" fails=calls,gradients
def run_in_pieces(lstm, x, size):
    out, (h, c) = lstm(x)
    for piece in x.split(size, 1):
        lstm(piece)
    return out, (h.detach(), c.detach())
