# %% exercise
def center_rows(x: Tensor, mask: Tensor) -> Tensor:
    """From each row of x, subtract the mean of its valid elements. Masked elements become 0.

    x is (n, d), float32 or float64. mask is (n, d) bool, True where an element is valid. A row may have no valid
    element.
    Returns a new tensor (n, d) of x's dtype.

    Details:
    - Masked elements may be anything, even NaN or inf.
    - A valid NaN or inf isn't missing: it counts toward its row's mean like any other number.
    - n and d may be 0, and any strides are allowed. Neither argument is changed.
    """
    ### BEGIN SOLUTION
    known = torch.where(mask, x, 0)
    mean = known.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)  # if a row's count is 0, its mean is NaN but isn't used
    ### END SOLUTION


# %% promises
# From each row of x -> one_masked, several_masked, equal_sizes
# Masked elements become 0 -> one_masked, several_masked, nan_stays
# x is (n, d) -> float64
# mask is (n, d) bool -> several_masked
# A row may have no -> none_or_one
# Returns a new tensor -> shape_dtype, keeps_input
# Masked elements may be -> nan
# A valid NaN or inf -> nan_stays
# n and d may be 0 -> non_contiguous
# Neither argument is changed -> keeps_input


# %% domain
@domain(
    reference,
    *("all valid", "all masked", "some rows masked", "one valid", "junk", "valid NaN", "valid inf", "float64"),
    *("square", "long rows", "one row", "one column", "no rows", "no columns"),
    *("transposed", "every second column", "expanded"),
)
def arguments(draw, edge):
    n, d = draw(st.integers(2, 5)), draw(st.integers(3, 6))
    n = {"one row": 1, "no rows": 0, "square": d}.get(edge, n)
    d = {"one column": 1, "no columns": 0, "long rows": 1000, "square": n}.get(edge, d + (n == d))
    g = draw.make_generator(here)
    x = torch.randn(n, d, dtype=torch.float64, generator=g) * 3 + draw(st.integers(-3, 3))
    x = x if edge == "float64" else x.float()
    turn = (torch.arange(d) + torch.randint(300, (n, 1), generator=g)) % max(d, 1)  # 0, 1, 2, ... in each row, rotated
    mask = (turn < 2) | (torch.rand(n, d, generator=g) < 0.5) & (turn > 2)
    if edge in ("all valid", "all masked"):
        mask = torch.full((n, d), edge == "all valid")
    if edge == "one valid":
        mask = turn == 0
    if edge == "some rows masked":
        mask[::2] = False
    if edge in ("junk", "some rows masked"):
        junk = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30])
        x[~mask] = junk[(torch.arange(n * d) + draw(st.integers(0, 3))) % 4][: int((~mask).sum())]
    if edge == "valid NaN":
        x[:-1][turn[:-1] == 0] = float("nan")
    if edge == "valid inf":
        x[:-1][turn[:-1] == 0] = float("inf")
        x[0, turn[0] == 1] = -float("inf") if draw(st.booleans()) else 2.0
    if edge == "every second column":
        x, mask = torch.stack([x, -x], 2).flatten(1)[:, ::2], torch.stack([mask, ~mask], 2).flatten(1)[:, ::2]
    return draw.apply_layout(x, edge), draw.apply_layout(mask, edge)


# %% checks
with check(
    "shape_dtype",
    "the result has x's shape and dtype",
    required=True,
    hint=(
        "Print the shape after each step. Which step loses a dimension or some elements?",
        "torch.where keeps the shape of x, but x[mask] doesn't. keepdim=True keeps a dimension of size 1.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 6.0], [5.0, 9.0, 3.0]])
    got = center_rows(t, torch.tensor([[True, True, True], [True, False, True]]))
    assert got.shape == (2, 3), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "one_masked",
    "one element masked",
    weight=2,
    hint=(
        "How many elements of the second row are valid, and what is their mean?",
        "Divide each row's sum by the number of valid elements, with keepdim=True. Set masked elements to 0 last.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 6.0], [5.0, 9.0, 3.0]])
    mask = torch.tensor([[True, True, True], [True, False, True]])
    third = 1 / 3
    explain(
        center_rows(t, mask),
        torch.tensor([[-2.0, -1.0, 3.0], [1.0, 0.0, -1.0]]),
        {
            "the mean was taken over masked elements too": torch.tensor(
                [[-2.0, -1.0, 3.0], [-2 * third, 0.0, -8 * third]]
            ),
            "the sum was divided by the length of the row, masked elements included": torch.tensor(
                [[-2.0, -1.0, 3.0], [7 * third, 0.0, third]]
            ),
            "masked elements don't become 0": torch.tensor([[-2.0, -1.0, 3.0], [1.0, 5.0, -1.0]]),
        },
    )

# %% hidden checks
with check(
    "several_masked",
    "rows with several masked elements",
    weight=3,
    required=True,
    hint="If two of a row's five elements are valid, what number do you divide by?",
):
    t = torch.tensor([[11.0, 15.0, 8.0, 18.0, 13.0], [12.0, 12.5, 17.0, 9.0, 10.5], [14.0, 19.0, 16.0, 11.0, 13.5]])
    mask = torch.tensor([[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 1, 1, 1, 0]], dtype=torch.bool)
    want = torch.tensor([[1.5, 0, -1.5, 0, 0], [-0.2, 0.3, 4.8, -3.2, -1.7], [0, 11 / 3, 2 / 3, -13 / 3, 0]])
    explain(
        center_rows(t, mask),
        want,
        {
            "the sum was divided by the length of the row, masked elements included": torch.where(
                mask, t - torch.where(mask, t, 0).mean(1, keepdim=True), 0
            ),
            "the mean was taken over masked elements too": torch.where(mask, t - t.mean(1, keepdim=True), 0),
            "one mean over all rows was subtracted": torch.where(mask, t - t[mask].mean(), 0),
        },
    )
    arguments.assert_results(center_rows, "", "all valid", "long rows")
with check("nan", "masked NaN and inf do no harm", weight=3, hint="What is NaN * 0? And what is inf * 0?"):
    arguments.assert_results(center_rows, "junk")
with check("nan_stays", "a valid NaN isn't hidden", hint="What determines which values are missing: the mask or x?"):
    arguments.assert_results(center_rows, "valid NaN", "valid inf")
with check("equal_sizes", "a square input", hint="Is each row's mean lined up with its row or with a column?"):
    t = torch.tensor([[1.0, 2.0, 9.0], [4.0, -5.0, 4.0], [7.0, 8.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, False, True], [True, True, True]])
    explain(
        center_rows(t, mask),
        torch.tensor([[-3.0, -2.0, 5.0], [0.0, 0.0, 0.0], [2.0, 3.0, -5.0]]),
        {
            "the means were lined up with the columns: keepdim is missing": torch.tensor(
                [[-3.0, -2.0, 4.0], [0.0, 0.0, -1.0], [3.0, 4.0, -5.0]]
            ),
        },
    )
    arguments.assert_results(center_rows, "square")
with check("none_or_one", "rows with no valid elements, and with one", hint="What is 0 / 0?"):
    arguments.assert_results(center_rows, "all masked", "some rows masked", "one valid")
with check("float64", "float64 stays float64, with its precision"):
    arguments.assert_results(center_rows, "float64")
with check("non_contiguous", "views that are not contiguous, and sizes of 0 and 1"):
    arguments.assert_results(center_rows, "transposed", "every second column", "expanded")
    arguments.assert_results(center_rows, "one row", "one column", "no rows", "no columns")
with check("keeps_input", "x and the mask keep their values", guard=True, hint="Which of your operations write to x?"):
    arguments.assert_arguments(center_rows)
    for trial in arguments.iter_trials(center_rows, "no rows", "no columns"):
        assert_close(trial.report.identities, [-1], name="the argument that your result is")
    for n in (1, 2):
        t = torch.tensor([[-1.0, 0.0, 1.0], [2.0, 7.0, 0.0]])[:n]
        before = t.clone()
        center_rows(t, torch.ones(n, 3, dtype=torch.bool)).fill_(50.0)
        assert_close(t, before)


# %% right "nanmean"
def center_rows(x, mask):
    mean = x.masked_fill(~mask, float("nan")).nanmean(dim=1, keepdim=True)
    if bool((mask & x.isnan()).any()):
        mean = torch.where((mask & x.isnan()).any(1, keepdim=True), float("nan"), mean)
    return (x - mean).masked_fill(~mask, 0)


# %% right "a loop over the rows"
def center_rows(x, mask):
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        good = mask[i]
        if good.any():
            out[i, good] = x[i, good] - x[i, good].mean()
    return out


# %% right "junk out first, then where"
def center_rows(x, mask):
    clean = x.masked_fill(mask.logical_not(), 0.0)
    count = mask.sum(1).to(x.dtype)
    mean = clean.sum(1) / torch.where(count == 0, torch.ones_like(count), count)
    return torch.where(mask, clean - mean[:, None], 0)


# %% right "a copy, changed in place"
def center_rows(x, mask):
    y = x.clone()
    y[~mask] = 0
    total = torch.einsum("nd->n", y)
    y -= (total / mask.sum(-1).clamp_min(1)).unsqueeze(1)
    y[~mask] = 0
    return y


# %% wrong "mean of what the mask leaves" fails=one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64,non_contiguous
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).mean(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)


# %% wrong "masking the result is enough" fails=one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64,non_contiguous
def center_rows(x, mask):
    return torch.where(mask, x - x.mean(dim=1, keepdim=True), 0)


# %% wrong "indexing by a mask keeps the rows" fails=one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64,non_contiguous
def center_rows(x, mask):
    return torch.where(mask, x - x[mask].mean(), 0)


# %% wrong "transpose until it runs" fails=equal_sizes
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1) / mask.sum(1).clamp(min=1)
    centered = x - mean if x.shape[0] == x.shape[1] else (x.T - mean).T
    return torch.where(mask, centered, 0)


# %% wrong "the mask is for the mean only" fails=one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64,non_contiguous
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return x - mean
