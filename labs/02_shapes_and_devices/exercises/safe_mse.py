# %% exercise
def safe_mse(predicted: Tensor, target: Tensor) -> Tensor:
    """The mean squared error of N predictions, a 0-dim tensor.

    predicted, target: shape (N,) or (N, 1) each, in any combination, N at least 1, float32 or float64. Both have one
    dtype, which the result has too. Raises ValueError for any other pair of shapes. Neither is changed.
    """
    ### BEGIN SOLUTION
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError("the shape must be (N,) or (N, 1)")
    if len(predicted) != len(target):
        raise ValueError("there must be one target for each prediction")
    return (predicted.flatten() - target.flatten()).square().mean()
    ### END SOLUTION


# %% checks
with check(
    "column_row",
    "a column of predictions and a row of targets",
    weight=3,
    required=True,
    hint=(
        "Which shape has predicted - target here? How many squares should go into the mean?",
        "Bring both to the shape (N,) before you subtract. What is asked for is the mean of the squares.",
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
    "all four pairs of shapes, in float32 and float64",
    weight=3,
    required=True,
    hint="Which shapes can predicted and target have? What do you do with each?",
):
    for dtype, n in ((torch.float32, 7), (torch.float64, 5)):
        p = torch.linspace(-2, 3, n, dtype=dtype).exp()
        t = torch.linspace(4, -1, n, dtype=dtype).square()
        want = sum((a - b) ** 2 for a, b in zip(p.double().tolist(), t.double().tolist(), strict=True)) / n
        for a, b in ((p, t), (p[:, None], t), (p, t[:, None]), (p[:, None], t[:, None])):
            explain(
                safe_mse(a, b),
                torch.tensor(want, dtype=dtype),
                {"every prediction was compared with every target": (p[:, None] - t).square().mean()},
            )
with check("float64", "float64 keeps its digits", hint="In which dtype does your function compute?"):
    p = torch.tensor([1000.0, 2000.0, -500.0], dtype=torch.float64)
    t = p + torch.tensor([0.01, -0.02, 0.04], dtype=torch.float64)
    want = torch.tensor(sum((a - b) ** 2 for a, b in zip(p.tolist(), t.tolist(), strict=True)) / 3, dtype=torch.float64)
    assert_close(safe_mse(p, t[:, None]), want)
with check("one_sample", "a single prediction", weight=2, hint="What does squeeze() make of the shape (1, 1)?"):
    p, t = torch.tensor([[2.5]]), torch.tensor([-1.0])
    for a, b in ((p, t), (p[0], t), (p, t[:, None]), (p[0], t[:, None])):
        assert_close(safe_mse(a, b), torch.tensor(12.25))
with check(
    "raises_count",
    "different numbers of predictions and targets raise a ValueError",
    weight=2,
    hint="Does a 1 fit any size?",
):
    for p, t in (((5, 1), (4,)), ((5,), (1,)), ((1,), (6,)), ((1, 1), (6, 1)), ((6, 1), (1,)), ((4, 1), (8, 1))):
        try:
            safe_mse(torch.ones(p), torch.ones(t))
        except ValueError:
            continue
        raise AssertionError("predictions and targets of different numbers were accepted")
with check(
    "raises_shape",
    "shapes that are no column raise a ValueError",
    weight=2,
    hint="(1, 4) and (2, 2) have four elements as well. Are they four predictions?",
):
    for p, t in (
        ((4, 2), (4, 2)),
        ((1, 4), (4,)),
        ((4,), (1, 4)),
        ((4,), (2, 2)),
        ((4, 1, 1), (4,)),
        ((4,), (4, 1, 1)),
        ((), ()),
    ):
        try:
            safe_mse(torch.ones(p), torch.ones(t))
        except ValueError:
            continue
        raise AssertionError("predictions or targets that are no column were accepted")
with check("non_contiguous", "strided arguments, which keep their values and shapes", guard=True):
    table = torch.arange(12.0).reshape(4, 3).square()
    want = torch.tensor(
        sum((a - b) ** 2 for a, b in zip([0.0, 9.0, 36.0, 81.0], [4.0, 25.0, 64.0, 121.0], strict=True)) / 4
    )
    assert_close(unchanged(safe_mse, table[:, :1], table[:, 2]), want)


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


# %% wrong "mse_loss checks shapes" fails=column_row,shape_pairs,float64,raises_count,raises_shape,non_contiguous
def safe_mse(predicted, target):
    return torch.nn.functional.mse_loss(predicted, target)


# %% wrong "squeeze both" fails=raises_count,raises_shape raises=RuntimeError
def safe_mse(predicted, target):
    return (predicted.squeeze() - target.squeeze()).square().mean()


# %% wrong "equal numbers of elements are enough" fails=raises_shape
def safe_mse(predicted, target):
    if predicted.numel() != target.numel():
        raise ValueError
    return (predicted.flatten() - target.flatten()).square().mean()


# %% wrong "the prediction is a column, the target is not" fails=shape_pairs,float64,one_sample raises=ValueError
def safe_mse(predicted, target):
    if predicted.dim() != 2 or predicted.shape[1] != 1 or target.dim() != 1 or len(predicted) != len(target):
        raise ValueError
    return (predicted[:, 0] - target).square().mean()


# %% wrong "the sum is as good as the mean" fails=column_row,shape_pairs,float64,non_contiguous
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    return (predicted.flatten() - target.flatten()).square().sum()


# %% wrong "float32 is enough for a loss" fails=shape_pairs,float64
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.ndim not in (1, 2) or (t.ndim == 2 and t.shape[1] != 1):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    return (predicted.flatten().float() - target.flatten().float()).square().mean().to(predicted.dtype)


# %% wrong "the lengths are checked by the subtraction" fails=raises_count raises=RuntimeError
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    return (predicted.flatten() - target.flatten()).square().mean()


# %% wrong "in place saves memory" fails=shape_pairs,one_sample,non_contiguous
def safe_mse(predicted, target):
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError
    if len(predicted) != len(target):
        raise ValueError
    error = predicted if predicted.dim() == 1 else predicted[:, 0]
    return error.sub_(target if target.dim() == 1 else target[:, 0]).square().mean()


# %% equivalent "text 'the shape must be (N,) or (N, 1)' changed: raise ValueError('the shape must be (N,) or (N, 1)x')"
# No check reads the text of an error.

# %% equivalent "text 'there must be one target for each prediction' changed: raise ValueError('there must be one target for each predictionx')"
# No check reads the text of an error.
