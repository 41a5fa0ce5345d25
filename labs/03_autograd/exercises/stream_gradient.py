# %% given
@probes.probe
def gradient_of_pairs(stream_gradient, loss, w, Xs, ys, places):
    """stream_gradient for the batches (Xs[i], ys[j]). If a pair (i, j) occurs twice, the list has the same tuple twice."""
    pairs = {(i, j): (Xs[i], ys[j]) for i, j in places}
    return stream_gradient(loss, w.detach().requires_grad_(), [pairs[i, j] for i, j in places])


# %% exercise
def stream_gradient(loss, w: Tensor, batches: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The gradient with respect to w of the mean loss over all samples of all batches.

    batches: pairs of X (n, d) and y (n,). n may differ between batches, and may be 0, but not in every batch.
    loss: a function loss(w, X, y) that returns the mean over the samples in X and y. Returns (d,) in w's dtype.

    Details:
    - w: a leaf (d,) that requires grad, float32 or float64. w keeps its values and still requires grad.
    - w.grad may hold any numbers before the call, without effect on the result, and anything after it. You may
      accumulate in w.grad, and return that tensor itself.
    - A pair may be in the list twice, and two pairs may share their X or their y. The list and the batches aren't
      changed.
    """
    ### BEGIN SOLUTION
    total, count = torch.zeros_like(w), 0
    for X, y in batches:
        (grad,) = torch.autograd.grad(loss(w, X, y), w)
        total += len(y) * grad  # the gradient of the sum over this batch
        count += len(y)
    return total / count
    ### END SOLUTION


# %% promises
# The gradient with respect -> example, uneven_batches
# batches: pairs of X -> uneven_batches
# n may differ -> uneven_batches, empty, counts_samples
# loss: a function -> uneven_batches, counts_samples
# Returns (d,) in -> uneven_batches
# w: a leaf (d,) -> uneven_batches
# w keeps its values -> keeps_input
# w.grad may hold -> old_grad
# You may accumulate -> uneven_batches, old_grad
# A pair may be -> shared, counts_samples
# The list and the -> keeps_input


# %% domain
@domain(
    reference,
    *("one batch", "one sample", "one number", "float64", "an empty batch", "empty batches first", "batches of one"),
    *("old .grad", "NaN in .grad", "views of one", "transposed", "equal batches", "a loss of 0", "a NaN"),
)
def arguments(draw, edge):
    d = 1 if edge == "one number" else draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=5))
    sizes = {"one batch": [4], "one sample": [1], "batches of one": [1, 1, 1], "float64": [1, 2, 4]}.get(edge, sizes)
    if edge == "an empty batch":
        sizes = [*sizes[:1], 0, *sizes[1:], 0]
    if edge == "empty batches first":
        sizes = [0, 0, *sizes]
    g, dtype = draw.make_generator(here), torch.float64 if edge == "float64" else torch.float32
    X, y = torch.randn(sum(sizes), d, generator=g, dtype=dtype), torch.randn(sum(sizes), generator=g, dtype=dtype)
    if edge == "a loss of 0":
        X, y = X * 0, y * 0
    X = X.T.contiguous().T if edge == "transposed" else X
    if edge == "a NaN":
        y[0] = float("nan")
    batches = list(zip(X.split(sizes), y.split(sizes), strict=True))
    if edge != "views of one":
        batches = [(X.clone(), y.clone()) for X, y in batches]
    if edge == "equal batches":
        batches.append(batches[0])
    w = torch.randn(d, generator=g, dtype=dtype, requires_grad=True)
    if edge in ("old .grad", "NaN in .grad"):
        w.grad = torch.full_like(w, float("nan") if edge == "NaN in .grad" else 100.0)
    return draw(st.sampled_from([squared_error, absolute_error])), w, batches


@domain(reference, "one pair twice", "a shared X", "a shared y", call=gradient_of_pairs)
def sharing(draw, edge):
    g, n, last = draw.make_generator(here), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    Xs = [torch.randn(size, 2, generator=g) for size in (n, n, last)]
    ys = [torch.randn(size, generator=g) for size in (n, n, last)]
    places = {"one pair twice": [(0, 0)], "a shared X": [(0, 1)], "a shared y": [(1, 0)]}.get(edge, [(1, 1)])
    return squared_error, torch.randn(2, generator=g), Xs, ys, [(0, 0), (2, 2), *places]


# %% checks
with check(
    "example",
    "two batches of two samples",
    weight=3,
    required=True,
    hint=(
        "How many samples is each batch's gradient averaged over? How many samples are there in all?",
        "The loss is a mean over its batch. Turn it back into a sum, add up the sums, and divide once by the number "
        "of samples.",
    ),
):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    batches = [
        (torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0.0, 0.0])),
        (torch.tensor([[1.0, 1.0], [2.0, 0.0]]), torch.tensor([1.0, 1.0])),
    ]
    want = torch.tensor([2.5, 2.0])
    got = stream_gradient(squared_error, t, batches)
    explain(got, want, {"this is the sum over the batches, not a mean": 2 * want})

# %% hidden checks
with check(
    "uneven_batches",
    "batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33",
    weight=4,
    required=True,
    hint="How much weight does one sample from the smallest batch have in your result?",
):
    numbers = torch.randn(33, 4, generator=torch.Generator(here).manual_seed(1))
    rows, goals = numbers[:, :3], numbers[:, 3]
    batches = list(zip(rows.split([10, 10, 10, 2, 1]), goals.split([10, 10, 10, 2, 1]), strict=True))
    t = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
    (want,) = torch.autograd.grad(absolute_error(t, rows, goals), t)
    parts = [torch.autograd.grad(absolute_error(t, *pair), t)[0] for pair in batches]
    explain(
        stream_gradient(absolute_error, t, batches),
        want,
        {
            "every batch counts the same here, whatever its size": sum(parts) / 5,
            "this is the sum of the batch means, not a mean": sum(parts),
            "only the last batch counts": parts[-1],
        },
    )
    arguments.assert_results(stream_gradient, "", "one batch", "one sample", "one number", "views of one", "transposed")
    arguments.assert_results(stream_gradient, "float64", rtol=1e-12, atol=1e-12)
with check("empty", "an empty batch changes nothing", weight=2, hint="Does an empty batch count when you divide?"):
    arguments.assert_results(stream_gradient, "an empty batch", "empty batches first")
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    batches = [
        (torch.empty(0, 2), torch.empty(0)),
        (torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0])),
        (torch.tensor([[2.0, 0.0]]), torch.tensor([1.0])),
        (torch.tensor([[1.0, 0.0]]), torch.tensor([1.0])),  # its loss is 0, and its sample counts
    ]
    want = torch.tensor([2.0, 1.6])
    assert_close(stream_gradient(squared_error, t, batches), want)
with check(
    "counts_samples",
    "batches of one, equal batches, and a loss of 0 or NaN",
    hint="What does your mean count: samples or batches? Does it matter what a batch's loss is?",
):
    arguments.assert_results(stream_gradient, "batches of one", "equal batches", "a loss of 0", "a NaN")
with check(
    "shared",
    "one pair is in the list twice, or two pairs share X or y",
    hint="Does your code recognize a batch, or one of its tensors, from an earlier iteration?",
):
    sharing.assert_results(stream_gradient, "", "one pair twice", "a shared X", "a shared y")
with check(
    "old_grad",
    "an existing .grad has no effect",
    weight=2,
    hint="What was in w.grad when your function was called?",
):
    arguments.assert_results(stream_gradient, "old .grad", "NaN in .grad")
with check("keeps_input", "w and the batches keep their values", guard=True):
    arguments.assert_arguments(stream_gradient, ignore=("w.grad",))


# %% right "sums of losses, accumulated in .grad of a copy"
def stream_gradient(loss, w, batches):
    copy = w.detach().clone().requires_grad_()
    n = sum(len(y) for _, y in batches)
    for X, y in batches:
        if len(y):
            (loss(copy, X, y) * len(y) / n).backward()
    return copy.grad


# %% right "accumulated in w.grad, and left there"
def stream_gradient(loss, w, batches):
    n = sum(len(y) for _, y in batches)
    w.grad = None
    for X, y in batches:
        (loss(w, X, y) * (len(y) / n)).backward()
    return w.grad


# %% right "a running mean"
def stream_gradient(loss, w, batches):
    mean, seen = torch.zeros_like(w), 0
    for X, y in batches:
        n = X.shape[0]
        if n == 0:
            continue
        g = torch.autograd.grad(loss(w, X, y), w)[0]
        seen += n
        mean = mean + (g - mean) * (n / seen)
    return mean


# %% right "all batches joined: right numbers, and all of the memory"
def stream_gradient(loss, w, batches):
    X, y = torch.cat([X for X, _ in batches]), torch.cat([y for _, y in batches])
    return torch.autograd.grad(loss(w, X, y), w)[0]


# %% wrong "accumulated means are a mean" fails=example,uneven_batches,empty,counts_samples,shared,old_grad
def stream_gradient(loss, w, batches):
    return sum(torch.autograd.grad(loss(w, X, y), w)[0] for X, y in batches)


# %% wrong "the sizes are kept by the batch's id" fails=shared
def stream_gradient(loss, w, batches):
    sizes = {id(batch): len(batch[1]) for batch in batches}
    w.grad = None
    for batch in batches:
        (loss(w, *batch) * (sizes[id(batch)] / sum(sizes.values()))).backward()
    return w.grad


# %% wrong "each backward replaces .grad" fails=example,uneven_batches,empty,counts_samples,shared,old_grad
def stream_gradient(loss, w, batches):
    for X, y in batches:
        if len(y):
            w.grad = None
            loss(w, X, y).backward()
    return w.grad


# %% right "an empty batch has the weight zero"
def stream_gradient(loss, w, batches):
    n = sum(len(y) for _, y in batches)
    return sum(torch.autograd.grad(loss(w, X, y), w)[0] * len(y) / n for X, y in batches)


# %% wrong "an empty batch gives nan, which becomes zero, and counts as a batch" fails=uneven_batches,empty,counts_samples,shared,old_grad
def stream_gradient(loss, w, batches):
    grads = [torch.autograd.grad(loss(w, X, y), w)[0].nan_to_num() for X, y in batches]
    return torch.stack(grads).mean(0)


# %% equivalent "empty tensors of a list left out"
# A batch without samples adds nothing, neither to the sum nor to the count.
