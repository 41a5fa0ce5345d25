# %% exercise
def class_confidence(probs: Tensor, labels: Tensor) -> Tensor:
    """For each class: the mean probability of that class over the samples whose label it is.

    probs is (n, c), with row i for sample i. labels is (n,) int64: the true classes, from 0 to c - 1.
    Returns (c,) of probs' dtype. A class without samples gets 0.

    Details:
    - probs: float32 or float64.
    - n may be 0; c is at least 1. Any strides are allowed, and neither argument is changed.
    """
    ### BEGIN SOLUTION
    classes = probs.shape[1]
    right = probs.gather(1, labels[:, None])[:, 0]
    total = probs.new_zeros(classes).scatter_add(0, labels, right)
    count = torch.bincount(labels, minlength=classes)
    return total / count.clamp(min=1)
    ### END SOLUTION


# %% promises
# For each class -> example, several_samples, equal_sizes
# probs is (n, c) -> several_samples
# labels is (n,) int64 -> example, several_samples
# Returns (c,) -> shape_dtype, float64
# A class without samples -> example, empty_class
# probs: float32 or -> float64
# n may be 0 -> non_contiguous
# Any strides -> non_contiguous, keeps_input


# %% domain
@domain(
    reference,
    *("first class empty", "last class empty", "several classes empty", "one class has all", "zeros and ones"),
    *(
        "float64",
        "float64, empty classes",
        "float64, no sample",
        "square",
        "many samples",
        "one sample",
        "no sample",
        "one class",
    ),
    *("transposed", "every second one", "expanded"),
)
def arguments(draw, edge):
    c = 1 if edge == "one class" else 2 if edge == "many samples" else draw(st.integers(3, 5))
    n = {"square": c, "many samples": 1202, "one sample": 1, "no sample": 0, "float64, no sample": 0}.get(
        edge, c + draw(st.integers(2, 6))
    )
    g = draw.make_generator(here)
    probs = torch.randn(n, c, dtype=torch.float64, generator=g).softmax(1)
    labels = (torch.randperm(n, generator=g) + draw(st.integers(0, c - 1))) % c  # every class, if there are enough
    if edge == "first class empty":
        labels = labels.clamp(min=1)
    if edge == "last class empty":
        labels = labels.clamp(max=c - 2)
    if edge in ("several classes empty", "float64, empty classes"):
        labels = labels // 2 * 2 % c
    if edge == "one class has all":
        labels = labels[:1].expand(n)
    if edge == "zeros and ones":
        probs = torch.nn.functional.one_hot(torch.randint(c, (n,), generator=g), c).double()
    probs = probs if "float64" in edge else probs.float()
    if edge == "every second one":
        labels = draw.apply_layout(labels, edge)
    return draw.apply_layout(probs, edge), labels


# %% checks
with check(
    "shape_dtype",
    "the result has one value per class, in probs' dtype",
    required=True,
    hint=(
        "Does your result have one number per sample, or one per class? How many classes does probs have?",
        "Start from probs.shape[1] zeros in probs' dtype, and add each sample's number to its class.",
    ),
):
    t = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3]])
    got = class_confidence(t, torch.tensor([0, 2, 1, 2]))
    assert got.shape == (3,), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "example",
    "four samples, three classes, one of them empty",
    hint=(
        "Samples 1 and 3 belong to class 2. Which two numbers are averaged?",
        "gather takes one number from each row, scatter_add adds them up per class, and bincount counts the samples. "
        "Then divide.",
    ),
):
    t = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.5, 0.2, 0.3], [0.3, 0.4, 0.3]])
    explain(
        class_confidence(t, torch.tensor([0, 2, 0, 2])),
        torch.tensor([0.6, 0.0, 0.45]),
        {
            "only the last sample of each class was added": torch.tensor([0.25, 0.0, 0.15]),
            "each total was divided by the number of all samples": torch.tensor([0.3, 0.0, 0.225]),
            "these are the totals: divide them by the counts": torch.tensor([1.2, 0.0, 0.9]),
            "the mean was taken over all samples, whatever their class": t.mean(0),
            "the predicted class was used instead of the label": torch.tensor([0.6, 0.0, 0.5]),
            "a class without samples gave 0 / 0: divide by at least 1": torch.tensor([0.6, float("nan"), 0.45]),
        },
    )

# %% hidden checks
with check(
    "several_samples",
    "classes with several samples each",
    weight=2,
    required=True,
    hint="Which samples belong to class k, and which of their columns do you read?",
):
    t = torch.rand(9, 4, generator=torch.Generator(here).manual_seed(9)).softmax(1)
    labels = torch.arange(9) * 3 % 4
    total, size = torch.zeros(4).index_add(0, labels, t[torch.arange(9), labels]), labels.bincount()
    last, mean = t[[8, 7, 6, 5], [0, 1, 2, 3]] / size, t.mean(0)
    predicted = torch.zeros(4).index_add(0, labels, t.amax(1)) / size
    explain(
        class_confidence(t, labels),
        total / size,
        {
            "only the last sample of each class was added": last,
            "each total was divided by the number of all samples": total / 9,
            "the mean was taken over all samples, whatever their class": mean,
            "the predicted class was used instead of the label": predicted,
        },
    )
    arguments.assert_results(class_confidence, "", "many samples", "zeros and ones")
with check(
    "empty_class", "a class without samples gets 0", weight=2, hint="What is 0 / 0? And how long is bincount's result?"
):
    arguments.assert_results(class_confidence, "first class empty", "last class empty", "several classes empty")
    arguments.assert_results(class_confidence, "one class has all", "one sample")
with check("equal_sizes", "as many samples as classes", hint="Which dimension of probs does the label choose from?"):
    arguments.assert_results(class_confidence, "square")
with check("float64", "float64 stays float64, with its precision"):
    arguments.assert_results(class_confidence, "float64", "float64, empty classes", "float64, no sample")
with check("non_contiguous", "views that aren't contiguous, one class, no sample"):
    arguments.assert_results(class_confidence, "transposed", "every second one", "expanded")
    arguments.assert_results(class_confidence, "one class", "no sample")
with check("keeps_input", "probs and labels keep their values", guard=True):
    arguments.assert_arguments(class_confidence)


# %% right "a loop over the classes"
def class_confidence(probs, labels):
    out = torch.zeros(probs.shape[1], dtype=probs.dtype)
    for k in range(probs.shape[1]):
        mine = probs[labels == k, k]
        if len(mine):
            out[k] = mine.mean()
    return out


# %% right "one-hot masks and column sums"
def class_confidence(probs, labels):
    own = torch.nn.functional.one_hot(labels, probs.shape[1])
    return (probs * own).sum(0) / own.sum(0).clamp(min=1)


# %% right "a pair of index tensors, weighted bincount"
def class_confidence(probs, labels):
    c = probs.size(1)
    right = probs[torch.arange(len(labels)), labels]
    total = torch.bincount(labels, weights=right, minlength=c).to(probs.dtype)
    return total.div(torch.bincount(labels, minlength=c)).nan_to_num(nan=0.0)


# %% right "index_add_ and scatter_reduce"
def class_confidence(probs, labels):
    right = torch.take_along_dim(probs, labels.unsqueeze(1), dim=1).squeeze(1)
    return probs.new_zeros(probs.shape[1]).scatter_reduce_(0, labels, right, "mean", include_self=False)


# %% right "lists and numbers"
def class_confidence(probs, labels):
    groups = [[] for _ in range(probs.shape[1])]
    for row, label in zip(probs.tolist(), labels.tolist()):
        groups[label].append(row[label])
    return torch.tensor([sum(g) / max(len(g), 1) for g in groups], dtype=probs.dtype)


# %% wrong "an index repeated is added repeatedly" fails=example,several_samples,empty_class,float64,non_contiguous
def class_confidence(probs, labels):
    c = probs.shape[1]
    total = torch.zeros(c, dtype=probs.dtype)
    total[labels] += probs[torch.arange(len(labels)), labels]
    return total / torch.bincount(labels, minlength=c).clamp(min=1)


# %% wrong "a mean divides by n" fails=example,several_samples,empty_class,equal_sizes,float64,non_contiguous
def class_confidence(probs, labels):
    right = probs.gather(1, labels[:, None])[:, 0]
    return torch.zeros(probs.shape[1], dtype=probs.dtype).scatter_add(0, labels, right) / max(len(labels), 1)


# %% wrong "scatter_add makes the mean too" fails=example,several_samples,empty_class,float64,non_contiguous
def class_confidence(probs, labels):
    right = probs.gather(1, labels[:, None])[:, 0]
    return torch.zeros(probs.shape[1], dtype=probs.dtype).scatter_add(0, labels, right)


# %% wrong "columns are classes already" fails=example,several_samples,empty_class,equal_sizes,float64,non_contiguous
def class_confidence(probs, labels):
    return probs.mean(0)


# %% wrong "confidence is the largest probability" fails=example,several_samples,empty_class,equal_sizes,float64,non_contiguous
def class_confidence(probs, labels):
    c = probs.shape[1]
    top = probs.amax(1)
    total = torch.zeros(c, dtype=probs.dtype).scatter_add(0, labels, top)
    return total / torch.bincount(labels, minlength=c).clamp(min=1)


# %% wrong "the mean of an empty class is 0" fails=example,empty_class,float64,non_contiguous
def class_confidence(probs, labels):
    return torch.stack([probs[labels == k, k].mean() for k in range(probs.shape[1])])
