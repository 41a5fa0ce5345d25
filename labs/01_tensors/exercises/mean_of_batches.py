# %% exercise
def mean_of_batches(batches: list[Tensor]) -> float:
    """The mean over all elements of all batches, as a Python float, to a relative precision of 1e-4.

    batches: up to 1,000 float16 tensors with finite elements, at least one in all.

    Details:
    - The tensors may have any shapes and strides, and some may be 0-dim or empty. None of them requires grad.
    - Neither the list nor any tensor is changed.
    - The precision is required only if all elements have the same sign.
    """
    ### BEGIN SOLUTION
    total = sum(batch.sum(dtype=torch.float64).item() for batch in batches)
    count = sum(batch.numel() for batch in batches)
    return total / count
    ### END SOLUTION


# %% promises
# The mean over all elements -> result_type, example, uneven_batches, overflow, long_total, between_float16
# batches: up to 1,000 -> extremes, overflow
# The tensors may have -> shapes
# None of them requires -> between_float16
# Neither the list nor -> keeps_input
# The precision is required -> between_float16, extremes


# %% domain
@domain(
    reference,
    *("one batch", "one element", "0-dim", "empty batches", "many batches", "negative", "zeros", "tiny", "huge"),
    *("transposed", "expanded", "a batch twice", "five dimensions", "a batch of zeros"),
)
def arguments(draw, edge):
    g = draw.make_generator(here)
    shapes = [(draw(st.integers(1, 4)), draw(st.integers(1, 5))) for _ in range(draw(st.integers(2, 4)))]
    if edge in ("one batch", "one element"):
        shapes = [(3, 4)] if edge == "one batch" else [draw(st.sampled_from([(1,), (), (1, 1)]))]
    if edge == "0-dim":
        shapes += [(), ()]
    if edge == "empty batches":
        shapes = [(0,), *shapes, (2, 0)]
    if edge == "many batches":
        shapes = [(1,)] * 40
    if edge == "five dimensions":
        shapes = [(2, 1, 3, 1, 2), *shapes]
    scale = {"negative": -1.0, "zeros": 0.0, "tiny": 2e-7, "huge": 60_000.0}.get(edge, draw(st.sampled_from([1, 90])))
    batches = [((torch.rand(shape, generator=g) * 0.9 + 0.1) * scale).half() for shape in shapes]
    if edge == "transposed":
        batches = [batch.T for batch in batches]
    if edge == "expanded":
        batches = [batch[:1].expand(batch.shape) for batch in batches]
    if edge == "a batch of zeros":
        batches[0] = batches[0] * 0
    if edge == "a batch twice":
        batches.append(batches[0])
    return (batches,)


# %% checks
with check(
    "result_type",
    "the result is a Python float",
    required=True,
    hint=(
        "What does a tensor's mean() or sum() return: a number or a 0-dim tensor?",
        "item() turns a tensor with one element into a Python number.",
    ),
):
    got = mean_of_batches([torch.tensor([1.0, 2.0], dtype=torch.float16)])
    assert isinstance(got, float), f"your result is a {type(got).__name__}"
with check(
    "example",
    "two batches of equal size",
    hint=(
        "How many elements do the two batches have in total, and what do they add up to?",
        "Accumulate two numbers over all batches: a total, and a count of elements from numel(). Divide at the end.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 6.0], [4.0, 8.0, 3.0]], dtype=torch.float16)
    explain(
        mean_of_batches([t[0], t[1]]),
        4.0,
        {"the total was divided by the number of batches: divide by the number of elements": 12.0},
        rtol=1e-4,
    )

# %% hidden checks
with check(
    "uneven_batches",
    "a small last batch counts for less",
    required=True,
    hint="Should an element of the last batch count more than an element of another batch?",
):
    for scale in (1.0, -0.25):
        t = scale * torch.tensor([1.0, 3.0, 2.0, 6.0, 40.0], dtype=torch.float16)
        explain(
            mean_of_batches([t[:4], t[4:]]),
            10.4 * scale,
            {"the mean of the batch means gives small batches too much weight": 21.5 * scale},
            rtol=1e-4,
        )
with check("overflow", "a total above 65504 doesn't overflow", weight=2, hint="What is the largest float16?"):
    for value, size in ((3.0, 40_000), (500.0, 300)):
        t = torch.full((size,), value, dtype=torch.float16)
        explain(mean_of_batches([t, t[:1001], t]), value, {"the total overflowed float16": float("inf")}, rtol=1e-4)
    t = torch.full((70_001,), 0.25, dtype=torch.float16)  # the number of elements is above 65504 too
    assert_close(mean_of_batches([t, t[:2049]]), 0.25, rtol=1e-4)
with check(
    "long_total",
    "a long running total keeps its digits",
    weight=2,
    hint="How far apart are neighboring float16 numbers at 2048? What dtype is your running total?",
):
    t = (torch.arange(5000) % 7 + 1).to(torch.float16) / 8
    exact = t.double().mean().item()
    assert_close(mean_of_batches(list(t.split(50))), exact, rtol=1e-4)
    t = torch.ones(2248, dtype=torch.float16)
    assert_close(mean_of_batches([t[:2048], *t[2048:].split(1)]), 1.0, rtol=1e-4)
    t = torch.full((30_000,), 0.1, dtype=torch.float16)
    exact = t[0].item()
    assert_close(mean_of_batches([t, t[:7]]), exact, rtol=1e-4)
    arguments.assert_results(mean_of_batches, "many batches", rtol=1e-4)
with check(
    "between_float16",
    "a mean between two float16 numbers",
    hint="Which of your steps rounds to float16? Does mean() round too?",
):
    t = torch.tensor([1000.0, 1001.0, 1001.0, 1001.0, 1000.0, 1001.0, 1001.0], dtype=torch.float16)
    exact = t.double().mean().item()
    explain(
        mean_of_batches([t[:3], t[3:]]),
        exact,
        {"the mean over all elements was rounded to float16": t.mean().item()},
        rtol=1e-4,
    )
    arguments.assert_results(mean_of_batches, "", "negative", rtol=1e-4)
with check(
    "extremes", "tiny elements, zeros, and elements near 65504", hint="Which of your steps rounds or overflows?"
):
    arguments.assert_results(mean_of_batches, "tiny", "zeros", "huge", "a batch of zeros", rtol=1e-4, atol=1e-13)
with check(
    "shapes",
    "matrices, single numbers and empty batches",
    hint="What does len() count in a matrix? What about a 0-dim tensor?",
):
    arguments.assert_results(mean_of_batches, "0-dim", "empty batches", "five dimensions", "one element", rtol=1e-4)
    arguments.assert_results(mean_of_batches, "transposed", "expanded", "one batch", "a batch twice", rtol=1e-4)
    t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float16)
    assert isinstance(mean_of_batches([100 * t[0], 100 * t[:1, 1]]), float), (
        "if the mean is a whole number, your result isn't a float"
    )
with check("keeps_input", "the list and the batches aren't changed", guard=True):
    arguments.assert_arguments(mean_of_batches)


# %% right "one long float64 tensor"
def mean_of_batches(batches):
    return torch.cat([b.reshape(-1).double() for b in batches]).mean().item()


# %% right "float32 totals, weighted means"
def mean_of_batches(batches):
    total, count = 0.0, 0
    for b in batches:
        if b.numel() > 0:
            total += b.float().mean().item() * b.numel()
            count += b.numel()
    return total / count


# %% right "a running mean"
def mean_of_batches(batches):
    mean, seen = 0.0, 0
    for b in batches:
        if b.numel():
            seen += b.numel()
            mean += (b.float().mean().item() - mean) * b.numel() / seen
    return mean


# %% right "NumPy and float64"
def mean_of_batches(batches):
    return np.concatenate([b.numpy().astype(np.float64).ravel() for b in batches]).mean()


# %% wrong "the mean of the means" fails=uneven_batches,between_float16,extremes,shapes
def mean_of_batches(batches):
    return sum(b.mean().item() for b in batches) / len(batches)


# %% wrong "a sum of a batch cannot overflow" fails=overflow,long_total,between_float16,extremes,shapes
def mean_of_batches(batches):
    return sum(b.sum().item() for b in batches) / sum(b.numel() for b in batches)


# %% wrong "mean is safe in float16" fails=uneven_batches,long_total,between_float16,extremes,shapes
def mean_of_batches(batches):
    return torch.cat([b.reshape(-1) for b in batches]).mean().item()


# %% wrong "a mean divides by the length of the list" fails=example,uneven_batches,overflow,long_total,between_float16,extremes,shapes
def mean_of_batches(batches):
    return sum(b.double().sum().item() for b in batches) / len(batches)


# %% equivalent "float64 and int64 results through float32"
# The docstring promises a relative precision of 1e-4, and float32 has 6e-8.

# %% equivalent "empty tensors of a list left out"
# They add nothing to the total or the count.
