# %% given
@probes.probe
def loss_gradients(loss_of, hidden, weight, labels, chunks, piece, upstream, between):
    """The loss and the gradients of hidden and weight. between: called before backward."""
    hidden = hidden.detach().clone().requires_grad_(hidden.requires_grad)
    weight = weight.detach().clone().requires_grad_(weight.requires_grad)
    loss = loss_of(hidden, weight, labels, chunks, piece)
    between()
    of = {name: t for name, t in (("hidden", hidden), ("weight", weight)) if t.requires_grad}
    grads = dict(zip(of, torch.autograd.grad(loss, list(of.values()), upstream), strict=True))
    return {"loss": loss.detach(), "hidden": grads.get("hidden"), "weight": grads.get("weight")}


# %% exercise
def chunked_loss(
    hidden: Tensor, weight: Tensor, labels: Tensor, chunks: int, piece: Callable[[Tensor, Tensor, Tensor], Tensor]
) -> Tensor:
    """The mean loss of rows of hidden (n, d), without the logits of all rows at once.

    weight is (v, d), labels (n) are int64. piece(h, weight, y) gives the sum of the losses of
    the rows h with labels y, as a 0-dim tensor: cross entropy, as above, or another loss. It
    makes the logits of these rows. A label of -100 adds nothing to that sum, and such a row does
    not count in the mean. At least one row counts. Call piece for `chunks` parts of the rows, in
    order, 1 <= chunks <= n; their lengths differ by at most one. What piece keeps for backward
    is given up before the next call of piece, and at the end of the forward pass, so that the
    logits of one part at most are alive. The loss and the gradients of hidden and weight, where
    these require grad, are those of piece(hidden, weight, labels) divided by the number of rows
    that count, with torch.autograd.grad as well as with backward.
    """
    ### BEGIN SOLUTION
    edges = [len(labels) * number // chunks for number in range(chunks + 1)]
    total = hidden.new_zeros(())
    for a, b in pairwise(edges):
        total = total + checkpoint(piece, hidden[a:b], weight, labels[a:b], use_reentrant=False)
    return total / (labels != -100).sum()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "seven rows in three parts, one of them without a label: the loss and both gradients",
    weight=2,
    required=True,
    hint=(
        "How many rows has each part, and by what is the sum of all losses divided?",
        "Checkpoint each call of piece. Add the sums, and divide once by the number of labels that are not -100.",
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
    got = loss_gradients(chunked_loss, t, w, y, 3, summed, g, lambda: None)
    explain(
        got["loss"],
        want.detach(),
        {
            "a mean of the parts' means: the parts count for different numbers of rows": (
                (sums[0] / 3 + sums[1] / 2 + sums[2]) / 3
            ).detach(),
            "the row with label -100 counts in the mean": (sum(sums) / 7).detach(),
            "the sum of all losses is to be divided by the number of rows that count": sum(sums).detach(),
        },
        name="the loss",
    )
    assert_close([got["hidden"], got["weight"]], [want_t, want_w], name="the gradients of hidden and of weight")

# %% hidden checks


class Pieces:
    """piece with label smoothing, and a record: the rows that it was called with, and how many graphs of it were alive then."""

    def __init__(self):
        self.rows, self.labels, self.alive = [], [], []
        self.seen = Seen(self.summed)

    def summed(self, h, w, y):
        logits = h @ w.T
        counts = y != -100
        picked = logits.gather(1, y.clamp(min=0)[:, None])[:, 0]
        return (logits.logsumexp(1) - 0.8 * picked - 0.2 * logits.mean(1))[counts].sum()

    def __call__(self, h, w, y):
        self.rows.append(h.detach().clone())
        self.labels.append(y.clone())
        self.alive.append(self.seen.kept)
        return self.seen(h, w, y)


def numbers(n, d, v, seed, dtype=torch.float32):
    """Rows, a weight, and labels of which every fifth is -100."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(v, (n,), generator=generator)
    y[1::5] = -100
    return some(n, d, seed=seed, dtype=dtype), some(v, d, seed=seed + 1, dtype=dtype), y.to(device())


def wanted(t, w, y, g):
    loss = functional.cross_entropy(t @ w.T, y, label_smoothing=0.2)
    of = [one for one in (t, w) if one.requires_grad]
    found = iter(torch.autograd.grad(loss, of, g))
    first, second = (next(found) if one.requires_grad else None for one in (t, w))
    return {"loss": loss.detach(), "hidden": first, "weight": second}


CASES = ((11, 3, 7, 4), (6, 5, 9, 1), (5, 2, 4, 5), (13, 4, 6, 3))
with check(
    "values",
    "another loss, other sizes, float64, an upstream gradient, and a frozen weight or frozen rows",
    weight=3,
    required=True,
    hint=(
        "Does your result use the loss that piece computes? Are all rows in a part, and each with its own label? Is the "
        "upstream gradient in both gradients?"
    ),
):
    for n, d, v, k in CASES:
        t, w, y = numbers(n, d, v, n, torch.float64 if k == 4 else torch.float32)
        w.requires_grad_(k != 5)
        t.requires_grad_(k != 3)
        g = torch.tensor(-0.5 * k, dtype=t.dtype, device=device())
        want = wanted(t, w, y, g)
        assert_close(loss_gradients(chunked_loss, t, w, y, k, Pieces().summed, g, lambda: None), want)
with check(
    "parts",
    "the parts are all rows, in order, with lengths that differ by at most one",
    weight=1,
    hint="At which rows do you cut n rows into k parts? torch.Tensor.chunk may give fewer parts than it was asked for.",
):
    for n, d, v, k in (*CASES, (7, 3, 5, 5)):
        t, w, y = numbers(n, d, v, n + 1)
        g, pieces = torch.tensor(1.25, device=device()), Pieces()
        want = wanted(t, w, y, g)
        got = loss_gradients(chunked_loss, t, w, y, k, pieces, g, lambda: None)
        assert_close(got, want)
        assert len(pieces.rows) >= k, "piece was called less often than there are parts"
        lengths = [len(one) for one in pieces.labels[:k]]
        rows = torch.cat(pieces.rows[:k])
        assert torch.equal(rows, t.detach()), "the rows of the first calls of piece, together, are not those of hidden"
        assert torch.equal(torch.cat(pieces.labels[:k]), y), "the rows of piece come with the labels of other rows"
        assert max(lengths) - min(lengths) <= 1, "the lengths of the parts differ by more than one"
with check(
    "one_at_a_time",
    "the graph of one part at most is alive, and none between forward and backward",
    weight=3,
    required=True,
    hint="What does autograd keep of each call of piece? How do you keep it from doing so?",
):
    for n, d, v, k in CASES:
        t, w, y = numbers(n, d, v, n + 2)
        g, pieces, between = torch.tensor(0.75, device=device()), Pieces(), []
        want = wanted(t, w, y, g)
        got = loss_gradients(chunked_loss, t, w, y, k, pieces, g, lambda: between.append(pieces.seen.kept))
        assert_close(got, want)
        assert_close(between, [0], name="the number of graphs of piece that are alive when the forward pass has ended")
        want = [0] * len(pieces.alive)
        assert_close(pieces.alive, want, name="the number of graphs of piece that are alive at each of its calls")
        assert len(pieces.alive) >= k and pieces.seen.backwards == k, (
            "gradients did not go back through each piece once"
        )


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


# %% wrong "all rows in one checkpoint" fails=parts,one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    return checkpoint(piece, hidden, weight, labels, use_reentrant=False) / (labels != -100).sum()


# %% wrong "all parts in one checkpoint" fails=one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    def run(hidden, weight):
        parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
        return sum(piece(h, weight, y) for h, y in parts)

    return checkpoint(run, hidden, weight, use_reentrant=False) / (labels != -100).sum()


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


# %% wrong "chunk gives as many parts as it is asked for" fails=parts
def chunked_loss(hidden, weight, labels, chunks, piece):
    parts = zip(hidden.chunk(chunks), labels.chunk(chunks))
    return sum(checkpoint(piece, h, weight, y, use_reentrant=False) for h, y in parts) / (labels != -100).sum()


# %% wrong "the rest is left out" fails=values,parts,one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    n = len(hidden) // chunks
    parts = zip(hidden.split(n)[:chunks], labels.split(n)[:chunks])
    return sum(checkpoint(piece, h, weight, y, use_reentrant=False) for h, y in parts) / (labels != -100).sum()


# %% wrong "gradients in forward, without the upstream gradient" fails=example,values,parts,one_at_a_time
class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, labels, chunks, piece):
        with torch.enable_grad():
            a, b = hidden.detach().requires_grad_(), weight.detach().requires_grad_()
            total = 0
            for h, y in zip(a.tensor_split(chunks), labels.tensor_split(chunks)):
                loss = piece(h, b, y)
                loss.backward()
                total = total + loss.detach()
                del loss
        count = (labels != -100).sum()
        ctx.save_for_backward(a.grad / count, b.grad / count)
        return total / count

    @staticmethod
    def backward(ctx, g):
        return *ctx.saved_tensors, None, None, None


def chunked_loss(hidden, weight, labels, chunks, piece):
    return Fused.apply(hidden, weight, labels, chunks, piece)


# %% wrong "under no_grad" fails=example,values,parts,one_at_a_time raises=RuntimeError
def chunked_loss(hidden, weight, labels, chunks, piece):
    with torch.no_grad():
        parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
        return sum(piece(h, weight, y) for h, y in parts) / (labels != -100).sum()


# %% wrong "the whole cross entropy" fails=values,parts,one_at_a_time
def chunked_loss(hidden, weight, labels, chunks, piece):
    return functional.cross_entropy(hidden @ weight.T, labels)


# %% wrong "reentrant" fails=example,values,parts,one_at_a_time raises=RuntimeError
def chunked_loss(hidden, weight, labels, chunks, piece):
    parts = zip(hidden.tensor_split(chunks), labels.tensor_split(chunks))
    return sum(checkpoint(piece, h, weight, y, use_reentrant=True) for h, y in parts) / (labels != -100).sum()


# %% wrong "the whole cross entropy, and pieces that run for show" fails=values,parts,one_at_a_time
class Shown(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss, shown):
        return loss.clone()

    @staticmethod
    def backward(ctx, g):
        return g, torch.zeros_like(g)


def chunked_loss(hidden, weight, labels, chunks, piece):
    loss = functional.cross_entropy(hidden @ weight.T, labels)
    for h, y in zip(hidden.tensor_split(chunks), labels.tensor_split(chunks)):
        loss = Shown.apply(loss, checkpoint(piece, h, weight, y, use_reentrant=False))
    return loss
