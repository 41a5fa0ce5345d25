# %% given
@probes.probe
def loss_gradients(loss_of, hidden, weight, labels, chunks, piece, upstream, between, how="grad"):
    """The loss and the gradients of hidden and weight. between: called before the backward pass, unless it's None.

    how: "grad" is autograd.grad, "again" is the second one, and "backward" is backward.
    """
    hidden, weight = (t.detach().clone().requires_grad_(t.requires_grad) for t in (hidden, weight))
    loss = loss_of(hidden, weight, labels, chunks, piece)
    if between is not None:
        between()
    learning = [t for t in (hidden, weight) if t.requires_grad]
    if how == "backward":
        loss.backward(upstream)
        grads = [t.grad for t in learning]
    else:
        if how == "again":
            torch.autograd.grad(loss, learning, upstream, retain_graph=True)
        grads = list(torch.autograd.grad(loss, learning, upstream))
    return {
        "loss": loss.detach(),
        **{"hidden" if t is hidden else "weight": g for t, g in zip(learning, grads, strict=True)},
    }


def smoothed(h, w, y):
    """The sum of the losses of rows h: cross entropy with smoothed labels."""
    logits, counts = h @ w.T, y != -100
    picked = logits.gather(1, y.clamp(min=0)[:, None])[:, 0]
    return (logits.logsumexp(1) - 0.8 * picked - 0.2 * logits.mean(1))[counts].sum()


# %% exercise
def chunked_loss(
    hidden: Tensor, weight: Tensor, labels: Tensor, chunks: int, piece: Callable[[Tensor, Tensor, Tensor], Tensor]
) -> Tensor:
    """The mean loss over the rows of hidden (n, d), without all rows' logits at once.

    weight is (v, d), and labels is (n,). piece(h, weight, y) returns the sum of the losses of the rows h with labels y,
    as a 0-dim tensor. It computes these rows' logits. A label of -100 adds nothing to that sum, and such a row doesn't
    count in the mean.
    In the forward pass, piece is called once for each of `chunks` parts of consecutive rows, in order. Whatever piece
    keeps for backward is freed before the next call of piece, and at the end of the forward pass, so the logits of at
    most one part are alive, in backward too.
    The loss, and the gradients of hidden and weight if they require grad, are those of piece(hidden, weight, labels)
    divided by the number of rows that count.

    Details:
    - labels: int64, from 0 to v - 1, or -100. At least one row counts.
    - piece may compute cross entropy, as above, or another loss. It may be called again for the backward pass.
    - 1 <= chunks <= n. The lengths of the parts differ by at most one.
    - The gradients are right with torch.autograd.grad as well as with backward, and in a second pass over the same
      graph. At least one of hidden and weight requires grad.
    """
    ### BEGIN SOLUTION
    edges = [len(labels) * number // chunks for number in range(chunks + 1)]
    total = hidden.new_zeros(())
    for a, b in pairwise(edges):
        total = total + checkpoint(piece, hidden[a:b], weight, labels[a:b], use_reentrant=False)
    return total / (labels != -100).sum()
    ### END SOLUTION


# %% promises
# The mean loss over -> example, values
# weight is (v, d) -> values
# piece(h, weight, y) -> values
# It computes these -> values
# A label of -100 -> values
# In the forward pass -> parts
# Whatever piece keeps -> one_at_a_time
# The loss, and the gradients -> values
# labels: int64 -> values
# At least one row -> values
# piece may compute -> values
# It may be called again -> values
# 1 <= chunks -> parts
# The lengths of the -> parts
# The gradients are -> values
# At least one of hidden -> values


# %% domain
class Pieces:
    """smoothed, with a record: the rows of each call, and how many graphs of it were alive then."""

    def __init__(self):
        self.rows, self.labels, self.alive, self.ended = [], [], [], []
        self.seen = Seen(smoothed)

    def __call__(self, h, w, y):
        self.rows.append(h.detach().clone())
        self.labels.append(y.clone())
        self.alive.append(self.seen.kept)
        return self.seen(h, w, y)

    def end(self):
        """Note the number of calls, and of graphs that are alive, when the forward pass has ended."""
        self.ended = [len(self.rows), self.seen.kept]


RECORDED = ("", "one part", "a part for each row", "hardly more rows than parts", "a part without labels")


@domain(
    reference,
    *(*RECORDED[1:], "one row", "float64", "all rows count", "one row counts"),
    *("frozen weight", "frozen rows", "one class", "transposed", "every second one", "backward", "again"),
    call=loss_gradients,
)
def arguments(draw, edge):
    k, d, v = draw(st.integers(2, 4)), draw(st.integers(2, 4)), draw(st.integers(5, 7))
    n = 2 * k + draw(st.integers(1, k - 1))
    k, n = {"one row": (1, 1), "one part": (1, n), "a part for each row": (n, n)}.get(edge, (k, n))
    k, n = draw(st.sampled_from([(4, 5), (5, 7), (6, 8)])) if edge == "hardly more rows than parts" else (k, n)
    g, v = draw.make_generator(), 1 if edge == "one class" else v
    dtype = torch.float64 if edge == "float64" else torch.float32
    hidden, weight = (torch.randn(size, d, generator=g, dtype=dtype).to(device()) for size in (n, v))
    labels = torch.randint(v, (n,), generator=g).to(device())
    if edge not in ("all rows count", "one row"):
        labels[draw(st.integers(0, 1)) :: 3] = -100
    if edge == "a part without labels":
        labels[: n // k + 1], labels[-1] = -100, 0
    if edge == "one row counts":
        labels[:-1], labels[-1] = -100, 0
    hidden, weight, labels = (draw.apply_layout(t, edge) for t in (hidden, weight, labels))
    hidden.requires_grad_(edge != "frozen rows")
    weight.requires_grad_(edge != "frozen weight")
    upstream = torch.tensor(draw(st.sampled_from([-1.5, 0.5, 3.0])), dtype=dtype, device=device())
    pieces = Pieces()
    piece, end = (pieces, pieces.end) if edge in RECORDED else (smoothed, None)
    return hidden, weight, labels, k, piece, upstream, end, edge if edge in ("backward", "again") else "grad"


# %% checks
with check(
    "example",
    "seven rows in three parts, one of them without a label: the loss and both gradients",
    weight=2,
    required=True,
    hint=(
        "How many rows does each part have, and what do you divide the sum of all losses by?",
        "Checkpoint each call of piece. Add the sums, and divide once by the number of labels that aren't -100.",
    ),
):

    def summed(h, w, y):
        return functional.cross_entropy(h @ w.T, y, reduction="sum")

    t = torch.linspace(-1, 2, 28, device=device()).sin().reshape(7, 4).requires_grad_()
    w = torch.linspace(1, -2, 20, device=device()).cos().reshape(5, 4).requires_grad_()
    y = torch.tensor([1, 4, 0, 2, 2, 3, -100], device=device())
    g = torch.tensor(1.5, device=device())
    want = functional.cross_entropy(t @ w.T, y)
    want_t, want_w = torch.autograd.grad(want, [t, w], g)
    sums = [summed(h, w, part) for h, part in zip(t.tensor_split(3), y.tensor_split(3), strict=True)]
    got = loss_gradients(chunked_loss, t, w, y, 3, summed, g, None)
    explain(
        got["loss"],
        want.detach(),
        {
            "a mean of the parts' means: the parts count for different numbers of rows": (
                (sums[0] / 3 + sums[1] / 2 + sums[2]) / 3
            ).detach(),
            "the row with label -100 counts in the mean": (sum(sums) / 7).detach(),
            "the sum of all losses should be divided by the number of rows that count": sum(sums).detach(),
        },
        name="the loss",
    )
    assert_close([got["hidden"], got["weight"]], [want_t, want_w], name="the gradients of hidden and of weight")

# %% hidden checks
with check(
    "values",
    "another loss, other sizes, float64, an upstream gradient, and a frozen weight or frozen rows",
    weight=3,
    required=True,
    hint=(
        "Does your result use the loss that piece computes? Is every row in a part, with its own label? Is the "
        "upstream gradient in both gradients?"
    ),
):
    arguments.assert_results(chunked_loss, "", "one row", "float64", "all rows count", "one row counts", "one class")
    arguments.assert_results(chunked_loss, "a part without labels", "frozen weight", "frozen rows", "backward")
    arguments.assert_results(chunked_loss, "transposed", "every second one", "again")
with check(
    "parts",
    "the parts contain all rows, in order, and their lengths differ by at most one",
    weight=1,
    hint="At which rows do you cut n rows into k parts? torch.Tensor.chunk may return fewer parts than you ask for.",
):
    for trial in arguments.iter_trials(chunked_loss, *RECORDED):
        assert_close(trial.report.result, trial.case.report.result)
        t, _, y, k, pieces = trial.arguments[:5]
        assert_close(pieces.ended[0], k, name="the number of calls of piece in the forward pass")
        assert_close(torch.cat(pieces.rows[:k]), t.detach(), name="the rows of all parts")
        assert_close(torch.cat(pieces.labels[:k]), y, name="the labels of all parts")
        lengths = [len(one) for one in pieces.labels[:k]]
        assert max(lengths) - min(lengths) <= 1, "the lengths of the parts differ by more than one"
with check(
    "one_at_a_time",
    "at most one part's graph is alive, and none between forward and backward",
    weight=3,
    required=True,
    hint="What does autograd keep from each call of piece? How do you prevent that?",
):
    for trial in arguments.iter_trials(chunked_loss, "", "a part for each row"):
        assert_close(trial.report.result, trial.case.report.result)
        pieces = trial.arguments[4]
        assert_close(pieces.ended[1], 0, name="the number of graphs of piece that are alive after the forward pass")
        want = [0] * len(pieces.alive)
        assert_close(pieces.alive, want, name="the number of graphs of piece that are alive at each of its calls")
        assert pieces.ended[0] > 1, "piece was called once, with all rows"
        assert pieces.seen.backwards == pieces.ended[0], "gradients didn't go back through each piece exactly once"


# %% right "sums of tensor_split, stacked"
def chunked_loss(hidden, weight, labels, chunks, piece):
    parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
    sums = [checkpoint(piece, h, weight, y, use_reentrant=False) for h, y in parts]
    return torch.stack(sums).sum() / labels.ge(0).sum().clamp(min=1)


# %% right "gradients are taken in forward, part by part"
class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, labels, chunks, piece):
        needs = ctx.needs_input_grad[:2]
        count = (labels != -100).sum()
        total, of_hidden, of_weight = hidden.new_zeros(()), [], torch.zeros_like(weight)
        for h, y in zip(hidden.tensor_split(chunks), labels.tensor_split(chunks)):
            with torch.enable_grad():
                h = h.detach().requires_grad_(needs[0])
                w = weight.detach().requires_grad_(needs[1])
                loss = piece(h, w, y)
            loss.backward()
            total += loss.detach()
            of_hidden.append(h.grad)
            if needs[1]:
                of_weight += w.grad
            del loss
        ctx.needs = needs
        ctx.save_for_backward(torch.cat(of_hidden) / count if needs[0] else count, of_weight / count)
        return total / count

    @staticmethod
    def backward(ctx, g):
        of_hidden, of_weight = ctx.saved_tensors
        return g * of_hidden if ctx.needs[0] else None, g * of_weight if ctx.needs[1] else None, None, None, None


def chunked_loss(hidden, weight, labels, chunks, piece):
    return Fused.apply(hidden, weight, labels, chunks, piece)


# %% right "a Function for each part, which computes it again"
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, piece, h, w, y):
        ctx.piece = piece
        ctx.save_for_backward(h, w, y)
        return piece(h, w, y)

    @staticmethod
    def backward(ctx, g):
        h, w, y = ctx.saved_tensors
        h = h.detach().requires_grad_(ctx.needs_input_grad[1])
        w = w.detach().requires_grad_(ctx.needs_input_grad[2])
        with torch.enable_grad():
            loss = ctx.piece(h, w, y)
        loss.backward(g)
        return None, h.grad, w.grad, None


def chunked_loss(hidden, weight, labels, chunks, piece):
    size, more = divmod(len(hidden), chunks)
    lengths = [size + (i < more) for i in range(chunks)]
    parts = zip(hidden.split(lengths), labels.split(lengths))
    return sum(Again.apply(piece, h, weight, y) for h, y in parts) / labels.ne(-100).sum()


# %% wrong "no checkpoint: each part's graph is kept" fails=one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
    return sum(piece(h, weight, y) for h, y in parts) / (labels != -100).sum()


# %% wrong "the mean of the parts' means" fails=example,values,parts,one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    means = []
    for h, y in zip(hidden.tensor_split(chunks), labels.tensor_split(chunks)):
        means.append(checkpoint(piece, h, weight, y, use_reentrant=False) / (y != -100).sum().clamp(min=1))
    return sum(means) / chunks


# %% wrong "rows without a label count" fails=example,values,parts,one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
    return sum(checkpoint(piece, h, weight, y, use_reentrant=False) for h, y in parts) / len(labels)


# %% wrong "the sum" fails=example,values,parts,one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
    return sum(checkpoint(piece, h, weight, y, use_reentrant=False) for h, y in parts)
