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


# %% exercise
def run_in_pieces(lstm, x: Tensor, size: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The outputs for x (n, t, features), run in pieces of size steps, and the last state.

    lstm: called as an nn.LSTM with batch_first=True: lstm(piece) begins with a state of zeros, and lstm(piece, (h, c))
    with that state. Both give output, (h, c). It is called once for each piece, in order. t and size are at least 1,
    and the last piece may be shorter.
    Returns the outputs of all steps (n, t, hidden), and (h, c) after the last one. The values are those of one call
    for all of x. The outputs have their history, and no gradient goes from one piece into the one before: the states
    that lstm gets, and the one that is returned, require no grad.
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


def pieces_by_hand(one, x, size):
    outputs, state = [], None
    for begin in range(0, x.shape[1], size):
        output, state = one.run(x[:, begin : begin + size], state)
        state = tuple(part.detach() for part in state)
        outputs.append(output)
    return torch.cat(outputs, 1), state


def a_sequence(n, steps, features, seed, dtype):
    return torch.randn(n, steps, features, generator=torch.Generator().manual_seed(seed)).to(device(), dtype)


with check(
    "other_cases",
    "other lengths, sizes and dtypes",
    weight=4,
    required=True,
    hint="How long is the last piece? What if one piece holds everything?",
):
    for seed, (n, steps, size, dtype) in enumerate(
        (
            (3, 8, 4, torch.float32),
            (3, 8, 4, torch.float32),
            (1, 5, 1, torch.float64),
            (2, 4, 9, torch.float32),
            (5, 11, 3, torch.float64),
            (4, 1, 1, torch.float32),
        )
    ):
        t = a_sequence(n, steps, 3, seed, dtype)
        want, state = Told(4, lstm_weights(3, 4, size, dtype)).run(t)
        one = Told(4, lstm_weights(3, 4, size, dtype))
        assert_close(run_in_pieces(one.run, t, size), (want, state))
        sizes = [size] * (steps // size) + [steps % size] * bool(steps % size)
        assert_close(one.lengths, sizes, name="the lengths of the pieces")
with check(
    "cut",
    "no state with a history goes into a piece, and none comes back",
    weight=3,
    required=True,
    hint="What must happen to h and c between two pieces? To both of them?",
):
    for n, steps, size in ((2, 9, 4), (3, 5, 2)):
        t = a_sequence(n, steps, 2, size, torch.float32)
        want = Told(3, lstm_weights(2, 3, 5)).run(t)
        one = Told(3, lstm_weights(2, 3, 5))
        got = run_in_pieces(one.run, t, size)
        assert_close(got, want)
        pieces = -(-steps // size)
        explain(
            one.linked,
            [None] + [False] * (pieces - 1),
            {"a state that goes on is detached": [None] + [True] * (pieces - 1)},
            name="whether the state of each piece requires grad",
        )
        _, (h, c) = got
        assert not h.requires_grad and not c.requires_grad, "the state that is returned requires grad"
with check(
    "gradients",
    "the gradient for x: that of each piece alone",
    weight=3,
    required=True,
    hint="Do the outputs still have their history? Is it that of their own piece only?",
):
    for n, steps, size in ((2, 7, 3), (3, 6, 2)):
        t, up = a_sequence(n, steps, 2, 1, torch.float64).requires_grad_(), a_sequence(n, steps, 4, 2, torch.float64)
        weights = lstm_weights(2, 4, 7, torch.float64)
        values, _ = pieces_by_hand(Told(4, weights), t, size)
        (want,) = torch.autograd.grad((values * up).sum(), t)
        (linked,) = torch.autograd.grad((Told(4, weights).run(t)[0] * up).sum(), t)
        got, _ = run_in_pieces(Told(4, weights).run, t, size)
        assert_close(got, values, name="the outputs")
        (got,) = torch.autograd.grad((got * up).sum(), t)
        explain(got, want, {"no gradient goes into an earlier piece": linked}, name="the gradient")


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


# %% wrong "each piece begins anew" fails=example,state,other_cases,cut,gradients
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


# %% wrong "the last state keeps its history" fails=cut
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, state = lstm(piece, *state and (tuple(s.detach() for s in state),))
        outs.append(out)
    return torch.cat(outs, 1), tuple(state)


# %% wrong "the outputs are detached as well" fails=gradients raises=RuntimeError
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, state = lstm(piece, *state and (state,))
        state = tuple(s.detach() for s in state)
        outs.append(out.detach())
    return torch.cat(outs, 1), state


# %% wrong "everything at once" fails=other_cases,cut,gradients
def run_in_pieces(lstm, x, size):
    out, (h, c) = lstm(x)
    return out, (h.detach(), c.detach())


# %% wrong "the shorter last piece is left out" fails=example,state,other_cases,cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for n in range(max(1, x.shape[1] // size)):
        out, state = lstm(x[:, n * size : (n + 1) * size], *state and (state,))
        state = tuple(s.detach() for s in state)
        outs.append(out)
    return torch.cat(outs, 1), state


# %% wrong "pieces of the batch" fails=other_cases,cut,gradients
def run_in_pieces(lstm, x, size):
    outs, state = [], None
    for piece in x.split(size, 0):
        out, state = lstm(piece)
        outs.append(out)
    return torch.cat(outs, 0), tuple(s.detach() for s in state)


# %% wrong "c and h the other way round" fails=state,other_cases,cut
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    for piece in x.split(size, 1):
        out, state = lstm(piece, *state and (state,))
        state = tuple(s.detach() for s in state)
        outs.append(out)
    return torch.cat(outs, 1), (state[1], state[0])


# %% wrong "under no_grad" fails=gradients raises=RuntimeError
def run_in_pieces(lstm, x, size):
    outs, state = [], ()
    with torch.no_grad():
        for piece in x.split(size, 1):
            out, state = lstm(piece, *state and (state,))
            outs.append(out)
    return torch.cat(outs, 1), state


# %% wrong "one call, and the pieces only for show" fails=other_cases,cut,gradients
def run_in_pieces(lstm, x, size):
    out, (h, c) = lstm(x)
    for piece in x.split(size, 1):
        lstm(piece)
    return out, (h.detach(), c.detach())
