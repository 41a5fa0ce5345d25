# %% exercise
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log(p) over the samples, where p is the softmax probability of the sample's own label.

    logits is (n, c). labels is (n,) int64, from 0 to c - 1. Returns a 0-dim tensor of logits' dtype.
    By hand: without torch's softmax, log_softmax, logsumexp, nll_loss and cross_entropy.

    Details:
    - logits: float32 or float64, any finite numbers up to 1e4 in magnitude.
    - n and c are at least 1. Any strides are allowed, and neither argument is changed.
    - The result is finite. Its error is at most eps * max(1, logits.abs().max()), with an eps of 1e-6 for float32 and
      1e-14 for float64.
    """
    ### BEGIN SOLUTION
    lowered = logits - logits.amax(dim=1, keepdim=True)
    own = lowered.gather(1, labels[:, None])[:, 0]
    return (lowered.exp().sum(dim=1).log() - own).mean()
    ### END SOLUTION


# %% promises
# The mean of -log(p) -> example, other_cases
# logits is (n, c) -> float64, large
# labels is (n,) -> other_cases, sizes
# Returns a 0-dim -> shape_dtype, float64
# By hand -> by_hand
# logits: float32 -> float64, large
# n and c are at least 1 -> sizes
# Any strides -> sizes, keeps_input
# The result is finite -> large, rows_apart, float64
# Its error is -> rows_apart, float64


# %% domain
@domain(
    reference,
    *(
        "large",
        "large, two at the top",
        "rows apart",
        "certain",
        "float64",
        "float64, large",
        "one sample",
        "one class",
        "one number",
        "square",
    ),
    *("many samples", "many equal samples", "transposed", "every second one", "expanded"),
)
def arguments(draw, edge):
    n, c = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    n, c = {"one sample": (1, c), "one class": (n, 1), "one number": (1, 1), "many samples": (800, c)}.get(
        edge, (c if edge == "square" else n + (n == c), c)
    )
    g = draw.make_generator(here)
    logits = torch.randn(n, c, dtype=torch.float64, generator=g) * 2 + draw(st.integers(-3, 3))
    labels = torch.randint(c, (n,), generator=g)
    if "large" in edge:
        logits = logits.clamp(-12, 12) * draw(st.integers(600, 800))
    if edge == "large, two at the top":  # and neither is the label's
        c, rows = c + 3, torch.arange(n)
        logits = torch.cat([logits, logits[:, :3]], 1)
        for place in (1, 2):
            logits[rows, (labels + place) % c] = 10_000 - 100.0 * rows.double()
    if edge == "rows apart":
        logits += torch.linspace(-900, 900, n)[:, None]
    if edge == "certain":  # of the right class, or of a wrong one
        logits[torch.arange(n), (labels + torch.arange(n) % 2) % c] += 300
    if edge == "many equal samples":
        logits, labels = logits[:1].expand(4000, c), labels[:1].repeat(4000)
    logits = logits if "float64" in edge else logits.float()
    return draw.apply_layout(logits, edge), draw.apply_layout(labels, edge) if edge == "every second one" else labels


# %% checks
with check(
    "shape_dtype",
    "the result is a 0-dim float32 tensor",
    required=True,
    hint=(
        "Does your result have one number per sample, or one for the whole batch?",
        "mean() without dim returns a 0-dim tensor. A Python number isn't one.",
    ),
):
    got = cross_entropy(torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]), torch.tensor([0, 2]))
    assert isinstance(got, Tensor), f"your result is a {type(got).__name__}"
    assert got.shape == (), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "example",
    "two samples, three classes",
    hint=(
        "What's the softmax probability of class 0 in the first row, and what's minus its log?",
        "For each sample: the log of the sum of exponentials, minus the label's score. Then average over the samples.",
    ),
):
    t = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 2.0]])
    p = torch.softmax(t, 1)
    own = p[[0, 1], [0, 2]]  # the probabilities of the labels
    explain(
        cross_entropy(t, torch.tensor([0, 2])),
        -own.log().mean(),
        {
            "the samples' losses were summed: take their mean": -own.log().sum(),
            "the sign is missing: the log of a probability is negative": own.log().mean(),
            "that's the mean of the probabilities: their log is missing": own.mean(),
            "the mean was taken over all classes: only the label's probability counts": -p.log().mean(),
            "the softmax was taken over the samples: each row's probabilities must add up to 1": -(
                torch.softmax(t, 0)[[0, 1], [0, 2]].log().mean()
            ),
        },
        rtol=1e-6,
        atol=3e-6,
    )
with check(
    "large",
    "scores of 1000 and -1000",
    weight=2,
    hint=(
        "What is exp(1000) in float32, and what is log(exp(-1000))?",
        "Subtract each row's largest score before you take exp. Take the log of the sum, not of each probability.",
    ),
):
    t = torch.tensor([[1000.0, -1000.0], [-1000.0, 1000.0]])
    explain(
        cross_entropy(t, torch.tensor([0, 0])),
        torch.tensor(1000.0),
        {
            "exp(1000) is inf: first subtract the row's largest score": torch.tensor(float("nan")),
            "a probability became 0, and its log is -inf: subtract logs instead of dividing first": torch.tensor(
                float("inf")
            ),
        },
        rtol=0,
        atol=1e-3,
    )

# %% hidden checks
with check(
    "other_cases",
    "other scores and labels",
    weight=2,
    required=True,
    hint="Which score in a row belongs to its label, and how many numbers do you average?",
):
    arguments.assert_results(cross_entropy, "", "square", "many samples", rtol=0, atol=1.5e-5)  # scores up to 13
    arguments.assert_results(cross_entropy, "many equal samples", rtol=0, atol=1.5e-5)
with check(
    "rows_apart",
    "rows that are far apart, and rows that are certain",
    weight=2,
    hint="Is the number that you subtract the largest in its own row? When can a row's exponentials all become 0?",
):
    arguments.assert_results(cross_entropy, "rows apart", "certain", rtol=0, atol=1.1e-3)
    arguments.assert_results(cross_entropy, "large", "large, two at the top", rtol=0, atol=1.1e-2)
with check(
    "float64",
    "float64 stays float64, with its precision",
    hint="Which of your tensors don't take their dtype from logits?",
):
    arguments.assert_results(cross_entropy, "float64", rtol=0, atol=1.5e-13)
    arguments.assert_results(cross_entropy, "float64, large", rtol=0, atol=1.1e-10)
with check("sizes", "one sample, one class, and views that aren't contiguous"):
    arguments.assert_results(cross_entropy, "one sample", "one class", "one number", rtol=0, atol=1.5e-5)
    arguments.assert_results(cross_entropy, "transposed", "every second one", "expanded", rtol=0, atol=1.5e-5)
with check(
    "by_hand",
    "torch's softmax, logsumexp, nll_loss and cross_entropy aren't called",
    observed=True,
    hint="exp, log, sums, a maximum and an index are all you need.",
):
    t = torch.tensor([[1.5, -0.5, 0.25], [0.75, 2.0, -1.0]])
    counts = probes.operations(cross_entropy, t, torch.tensor([2, 1]))
    names = "_softmax", "_log_softmax", "logsumexp", "nll_loss", "nll_loss_forward", "nll_loss_nd"
    assert_close([counts.get("aten." + name, 0) for name in names], [0] * 6, name="the calls that aren't by hand")
with check("keeps_input", "logits and labels keep their values", guard=True):
    arguments.assert_arguments(cross_entropy)


# %% right "log-sum-exp with the largest added again, paired indices"
def cross_entropy(logits, labels):
    m = logits.max(dim=1).values
    total = m + torch.log(torch.exp(logits - m[:, None]).sum(1))
    return (total - logits[torch.arange(len(labels)), labels]).sum() / len(labels)


# %% right "a one-hot mask"
def cross_entropy(logits, labels):
    own = torch.nn.functional.one_hot(labels, logits.shape[1]).bool()
    x = logits - logits.amax(1, keepdim=True)
    return -(x - x.exp().sum(1, keepdim=True).log())[own].mean()


# %% right "a loop over the samples, the label's score subtracted"
def cross_entropy(logits, labels):
    losses = []
    for row, label in zip(logits, labels.tolist()):
        m = row.max()
        losses.append(m - row[label] + (row - m).exp().sum().log())
    return torch.stack(losses).mean()


# %% wrong "the formula as it is in the book" fails=large,rows_apart,float64
def cross_entropy(logits, labels):
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    return -p.gather(1, labels[:, None]).log().mean()


# %% wrong "a stable softmax has a stable log" fails=large,rows_apart,float64
def cross_entropy(logits, labels):
    powers = (logits - logits.amax(1, keepdim=True)).exp()
    p = powers / powers.sum(1, keepdim=True)
    return -p.gather(1, labels[:, None]).log().mean()


# %% wrong "torch has it" fails=by_hand
def cross_entropy(logits, labels):
    return torch.nn.functional.cross_entropy(logits, labels)


# %% wrong "a loss is a sum" fails=example,large,other_cases,rows_apart,float64,sizes
def cross_entropy(logits, labels):
    x = logits - logits.amax(1, keepdim=True)
    return (x.exp().sum(1).log() - x.gather(1, labels[:, None])[:, 0]).sum()


# %% wrong "the sign doesn't matter" fails=example,large,other_cases,rows_apart,float64,sizes
def cross_entropy(logits, labels):
    x = logits - logits.amax(1, keepdim=True)
    return (x.gather(1, labels[:, None])[:, 0] - x.exp().sum(1).log()).mean()


# %% wrong "the loss is the probability" fails=example,large,other_cases,rows_apart,float64,sizes
def cross_entropy(logits, labels):
    powers = (logits - logits.amax(1, keepdim=True)).exp()
    return (powers / powers.sum(1, keepdim=True)).gather(1, labels[:, None]).mean()


# %% wrong "all classes count" fails=example,other_cases,rows_apart,float64,sizes
def cross_entropy(logits, labels):
    x = logits - logits.amax(1, keepdim=True)
    return (x.exp().sum(1, keepdim=True).log() - x).mean()


# %% wrong "dim 0 are the classes" fails=example,other_cases,rows_apart,float64,sizes
def cross_entropy(logits, labels):
    x = logits - logits.amax(0, keepdim=True)
    return -(x - x.exp().sum(0).log()).gather(1, labels[:, None]).mean()
