# %% exercise
def safe_mse(predicted: Tensor, target: Tensor) -> Tensor:
    """The mean squared error of N predictions, as a 0-dim tensor.

    predicted and target each have shape (N,) or (N, 1), in any combination, with the same N.
    Raises ValueError for any other pair of shapes.

    Details:
    - Both are float32 or both float64, with any strides. No size is 0. The result has that dtype. Neither is changed.
    - The result is exact except for rounding, even if predicted and target are large and close together.
    """
    ### BEGIN SOLUTION
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError("the shape must be (N,) or (N, 1)")
    if len(predicted) != len(target):
        raise ValueError("there must be one target for each prediction")
    return (predicted.flatten() - target.flatten()).square().mean()
    ### END SOLUTION


# %% promises
# The mean squared error -> column_row, shape_pairs
# predicted and target each -> column_row, shape_pairs, one_sample
# Raises ValueError -> raises_count, raises_shape
# Both are float32 -> float64, non_contiguous
# No size is 0 -> one_sample, shape_pairs
# The result has that -> float64
# Neither is changed -> keeps_input
# The result is exact -> float64


# %% domain
@domain(
    reference,
    *("rows", "columns", "column and row", "row and column"),
    *("one: columns", "one: column and row", "one: row and column"),
    *(
        "float64",
        "close together",
        "close in pairs",
        "close in pairs, float64",
        "columns of a table",
        "every second one",
        "expanded",
        "equal",
    ),
)
def arguments(draw, edge):
    one, _, shapes = edge.rpartition(": ")
    n = 1 if one else draw(st.integers(2, 7))
    g = draw.make_generator()
    dtype = torch.float64 if "float64" in edge else torch.float32
    pair = [torch.randn(n, dtype=dtype, generator=g) for _ in range(2)]
    if edge == "close together":
        pair[1] = pair[0] * 0.01 + 1000
        pair[0] = pair[0] + 1000
    if "close in pairs" in edge:  # far from each other, and from their mean
        pair[1] = pair[0] * (1e9 if "float64" in edge else 1e4)
        pair[0] = pair[1] + torch.randn(n, dtype=dtype, generator=g)
    if edge == "equal":
        pair[1] = pair[0].clone()
    if edge == "columns of a table":
        pair = list(torch.stack([*pair, pair[0] * 2], 1).T[:2])
    if edge == "every second one":
        pair = [torch.stack([t, -t], 1).flatten()[::2] for t in pair]
    if edge == "expanded":
        pair = [t[:1].expand(n) for t in pair]
    pairs = {"": (draw(st.booleans()), draw(st.booleans())), "row and column": (0, 1)}
    pairs |= {"rows": (0, 0), "columns": (1, 1)}
    columns = pairs.get(shapes, (1, 0))
    return tuple(t[:, None] if is_column else t for t, is_column in zip(pair, columns, strict=True))


@domain(
    reference,
    *("one target", "one prediction", "twice as many targets", "tables"),
    *("predicted: table", "predicted: row of a table", "predicted: three dimensions", "predicted: no dimension"),
    *("target: table", "target: row of a table", "target: three dimensions", "target: no dimension"),
)
def refused(draw, edge):
    n, m, g = draw(st.integers(2, 5)), draw(st.integers(1, 3)), draw.make_generator()
    bad, _, kind = edge.partition(": ")
    if kind or edge == "tables":
        size = {"row of a table": (1, n), "three dimensions": (m, 1, 1), "no dimension": ()}.get(kind, (n, m + 1))
        good = (torch.Size(size).numel(), *[1] * draw(st.integers(0, 1)))
        shapes = [size if bad in (name, "tables") else good for name in ("predicted", "target")]
    else:
        counts = {"one target": (n, 1), "one prediction": (1, n), "twice as many targets": (n, 2 * n)}
        shapes = [(count, *[1] * draw(st.integers(0, 1))) for count in counts.get(edge, (n + m, n))]
    return tuple(torch.randn(shape, generator=g) for shape in shapes)


# %% checks
with check(
    "column_row",
    "a column of predictions and a row of targets",
    weight=3,
    required=True,
    hint=(
        "What's the shape of predicted - target here? How many squares should you average?",
        "Convert both to shape (N,) before you subtract. The result is the mean of the squares.",
    ),
):
    p, t = torch.tensor([[1.0], [4.0], [9.0]]), torch.tensor([2.0, 3.0, 12.0])
    explain(
        safe_mse(p, t),
        torch.tensor(11 / 3),
        {
            "every prediction was compared with every target": (p - t).square().mean(),
            "this is the sum of the squares": torch.tensor(11.0),
        },
    )

# %% hidden checks
with check(
    "shape_pairs",
    "all four pairs of shapes",
    weight=3,
    required=True,
    hint="Which shapes can predicted and target have? What do you do with each?",
):
    p, t = torch.linspace(-2, 3, 7).exp(), torch.linspace(4, -1, 7).square()
    want = sum((a - b) ** 2 for a, b in zip(p.tolist(), t.tolist(), strict=True)) / 7
    explain(
        safe_mse(p[:, None], t),
        torch.tensor(want),
        {"every prediction was compared with every target": (p[:, None] - t).square().mean()},
    )
    arguments.assert_results(safe_mse, "", "rows", "columns", "column and row", "row and column", "equal")
with check(
    "float64",
    "digits are kept: in float64, and if numbers are close together",
    hint="Which dtype does your function compute in? Does it subtract before it squares?",
):
    arguments.assert_results(safe_mse, "float64", "close together", "close in pairs", "close in pairs, float64")
with check("one_sample", "a single prediction", weight=2, hint="What does squeeze() turn shape (1, 1) into?"):
    arguments.assert_results(safe_mse, "one: columns", "one: column and row", "one: row and column")
with check(
    "raises_count",
    "different numbers of predictions and targets raise a ValueError",
    weight=2,
    hint="Is a size of 1 compatible with any other size?",
):
    refused.assert_results(safe_mse, "", "one target", "one prediction", "twice as many targets")
with check(
    "raises_shape",
    "shapes other than (N,) and (N, 1) raise a ValueError",
    weight=2,
    hint="(1, 4) and (2, 2) also have four elements. Are they four predictions?",
):
    refused.assert_results(safe_mse, "tables", "predicted: table", "predicted: row of a table")
    refused.assert_results(safe_mse, "predicted: three dimensions", "predicted: no dimension")
    refused.assert_results(safe_mse, "target: table", "target: row of a table")
    refused.assert_results(safe_mse, "target: three dimensions", "target: no dimension")
    refused.assert_arguments(safe_mse)
with check("non_contiguous", "arguments that aren't contiguous", guard=True):
    arguments.assert_results(safe_mse, "columns of a table", "every second one", "expanded")
with check("keeps_input", "predicted and target keep their values and shapes", guard=True):
    arguments.assert_arguments(safe_mse)


# %% right "mse_loss on columns"
def safe_mse(predicted, target):
    def column(t):
        if t.dim() == 1:
            return t.unsqueeze(1)
        if t.dim() == 2 and t.shape[1] == 1:
            return t
        raise ValueError("no column")

    a, b = column(predicted), column(target)
    if a.shape != b.shape:
        raise ValueError("lengths")
    return torch.nn.functional.mse_loss(a, b)


# %% right "the shape is compared as a whole"
def safe_mse(predicted, target):
    n = predicted.numel()
    allowed = [torch.Size([n]), torch.Size([n, 1])]
    if predicted.shape not in allowed or target.shape not in allowed:
        raise ValueError(f"{tuple(predicted.shape)} and {tuple(target.shape)}")
    error = predicted.reshape(n) - target.reshape(n)
    return error @ error / n


# %% right "squeeze one dimension by its number"
def safe_mse(predicted, target):
    if predicted.dim() == 2:
        if predicted.size(1) != 1:
            raise ValueError
        predicted = predicted.squeeze(1)
    if target.dim() == 2:
        if target.size(1) != 1:
            raise ValueError
        target = target.squeeze(1)
    if predicted.dim() != 1 or predicted.shape != target.shape:
        raise ValueError
    return torch.mean((predicted - target) ** 2)


# %% wrong "mse_loss checks shapes" fails=column_row,shape_pairs,float64,raises_count,raises_shape,non_contiguous raises=RuntimeError
def safe_mse(predicted, target):
    return torch.nn.functional.mse_loss(predicted, target)


# %% wrong "equal numbers of elements are enough" fails=raises_shape
def safe_mse(predicted, target):
    if predicted.numel() != target.numel():
        raise ValueError
    return (predicted.flatten() - target.flatten()).square().mean()


# %% wrong "the sum is as good as the mean" fails=column_row,shape_pairs,float64,non_contiguous
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    return (predicted.flatten() - target.flatten()).square().sum()


# %% wrong "the lengths are checked by the subtraction" fails=raises_count raises=RuntimeError
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    return (predicted.flatten() - target.flatten()).square().mean()


# %% equivalent "text 'the shape must be (N,) or (N, 1)' changed: raise ValueError('the shape must be (N,) or (N, 1)x')"
# No check reads an error's text.

# %% equivalent "text 'there must be one target for each prediction' changed: raise ValueError('there must be one target for each predictionx')"
# No check reads an error's text.
