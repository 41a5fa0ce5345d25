# %% exercise
def center_rows(x: Tensor, mask: Tensor) -> Tensor:
    """From each row of x, subtract the mean of its valid elements. Masked places become 0.

    x: (n, d), float32 or float64. mask: (n, d) bool, True where an element is valid. Neither is changed.
    At masked places x may be anything, also NaN or inf. A row without valid elements becomes 0.
    A valid NaN or inf is no missing value: it goes into the mean of its row, as into any mean. The masked places of
    such a row become 0 too.
    Returns (n, d) of x's dtype.
    """
    ### BEGIN SOLUTION
    known = torch.where(mask, x, 0)
    mean = known.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)  # where a row's count is 0, its mean is NaN, and nothing is taken from it
    ### END SOLUTION


# %% checks
with check(
    "shape_dtype",
    "the result has x's shape and dtype",
    required=True,
    hint=(
        "Print the shape after each of your steps. Which step loses a dimension, or some elements?",
        "torch.where keeps the shape of x, x[mask] does not. keepdim=True keeps a dimension of size 1.",
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
        "How many elements of the second row count, and what is their mean?",
        "Divide each row's sum by the number of True in its mask, with keepdim=True. Masked places become 0 last.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 6.0], [5.0, 9.0, 3.0]])
    mask = torch.tensor([[True, True, True], [True, False, True]])
    third = 1 / 3
    explain(
        center_rows(t, mask),
        torch.tensor([[-2.0, -1.0, 3.0], [1.0, 0.0, -1.0]]),
        {
            "the mean was taken over masked places too": torch.tensor(
                [[-2.0, -1.0, 3.0], [-2 * third, 0.0, -8 * third]]
            ),
            "the sum was divided by the length of the row, masked places included": torch.tensor(
                [[-2.0, -1.0, 3.0], [7 * third, 0.0, third]]
            ),
            "masked places do not become 0": torch.tensor([[-2.0, -1.0, 3.0], [1.0, 5.0, -1.0]]),
        },
    )

# %% hidden checks
with check(
    "several_masked",
    "rows with several masked elements",
    weight=3,
    required=True,
    hint="By which number do you divide, if a row of five has two valid elements?",
):
    for shift in (0.0, 10.0):
        t = torch.tensor([[1.0, 5.0, -2.0, 8.0, 3.0], [2.0, 2.5, 7.0, -1.0, 0.5], [4.0, 9.0, 6.0, 1.0, 3.5]]) + shift
        mask = torch.tensor([[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 1, 1, 1, 0]], dtype=torch.bool)
        want = torch.tensor([[1.5, 0, -1.5, 0, 0], [-0.2, 0.3, 4.8, -3.2, -1.7], [0, 11 / 3, 2 / 3, -13 / 3, 0]])
        explain(
            center_rows(t, mask),
            want,
            {
                "the sum was divided by the length of the row, masked places included": torch.where(
                    mask, t - torch.where(mask, t, 0).mean(1, keepdim=True), 0
                ),
                "the mean was taken over masked places too": torch.where(mask, t - t.mean(1, keepdim=True), 0),
                "one mean over all rows was subtracted": torch.where(mask, t - t[mask].mean(), 0),
            },
        )
with check("nan", "NaN and inf at masked places do no harm", weight=3, hint="What is NaN * 0? And what is inf * 0?"):
    for junk in (float("nan"), float("inf")):
        t = torch.tensor([[3.0, junk, 5.0, 1.0], [junk, junk, 2.0, -4.0]])
        want = torch.tensor([[0.0, 0.0, 2.0, -2.0], [0.0, 0.0, 3.0, -3.0]])
        assert_close(center_rows(t, t.isfinite()), want)
with check(
    "nan_stays", "a NaN that counts stays visible", hint="Where may you look for missing values: in the mask, or in x?"
):
    t = torch.tensor([[3.0, float("nan"), 5.0], [1.0, 2.0, 6.0]])
    want = torch.tensor([[float("nan")] * 3, [-2.0, -1.0, 3.0]])
    assert_close(center_rows(t, torch.ones(2, 3, dtype=torch.bool)), want)
    nan, inf = float("nan"), float("inf")
    t = torch.tensor([[3.0, nan, 5.0, 7.0], [inf, 2.0, 8.0, 6.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, False, True]])
    assert_close(center_rows(t, mask), torch.tensor([[nan, nan, nan, 0.0], [nan, -inf, 0.0, -inf]]))
with check(
    "equal_sizes", "a square input", hint="Beside what does the row's mean stand: beside its row, or above a column?"
):
    t = torch.tensor([[1.0, 2.0, 9.0], [4.0, -5.0, 4.0], [7.0, 8.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, False, True], [True, True, True]])
    explain(
        center_rows(t, mask),
        torch.tensor([[-3.0, -2.0, 5.0], [0.0, 0.0, 0.0], [2.0, 3.0, -5.0]]),
        {
            "the means were laid along the columns: keepdim is missing": torch.tensor(
                [[-3.0, -2.0, 4.0], [0.0, 0.0, -1.0], [3.0, 4.0, -5.0]]
            ),
        },
    )
with check("none_or_one", "rows with no valid element, and with one", hint="What is 0 / 0?"):
    t = torch.tensor([[3.0, 4.0], [1.0, 5.0], [float("nan"), float("nan")], [7.0, 9.0]], dtype=torch.float64)
    mask = torch.tensor([[False, False], [True, True], [False, False], [False, True]])
    want = torch.tensor([[0.0, 0.0], [-2.0, 2.0], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    assert_close(center_rows(t, mask), want)
with check("float64", "float64 stays float64, with its precision"):
    t = torch.tensor([[1.0, 1.0 + 1e-9, 1.0 + 5e-9], [2.0, 3.0, 4.5]], dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [False, True, True]])
    want = torch.tensor([[-2e-9, -1e-9, 3e-9], [0.0, -0.75, 0.75]], dtype=torch.float64)
    assert_close(center_rows(t, mask), want, rtol=1e-4, atol=1e-12)
    t = torch.tensor([[100_001.0, 100_002.0, 100_006.0]], dtype=torch.float64)
    want = torch.tensor([[-2.0, -1.0, 3.0]], dtype=torch.float64)
    assert_close(center_rows(t, torch.ones(1, 3, dtype=torch.bool)), want, rtol=1e-7)
    t = torch.tensor([[0.0, 4.0, 2.0**30]], dtype=torch.float64)
    assert_close(center_rows(t, torch.ones(1, 3, dtype=torch.bool)), t - (2**30 + 4) / 3, rtol=1e-12)
with check("non_contiguous", "transposed and empty inputs"):
    t = torch.tensor([[1.0, 2.0], [5.0, 4.0], [3.0, 9.0]])
    assert_close(
        center_rows(t.T, torch.ones(2, 3, dtype=torch.bool)), torch.tensor([[-2.0, 2.0, 0.0], [-3.0, -1.0, 4.0]])
    )
    assert_close(center_rows(torch.empty(0, 3), torch.empty(0, 3, dtype=torch.bool)), torch.empty(0, 3))
    assert_close(center_rows(torch.empty(2, 0), torch.empty(2, 0, dtype=torch.bool)), torch.empty(2, 0))
with check(
    "keeps_input", "x and the mask keep their values", guard=True, hint="Which of your operations write into x?"
):
    t = torch.tensor([[1.0, float("nan"), 4.0], [2.0, 8.0, float("inf")]])
    unchanged(center_rows, t, t.isfinite())
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


# %% wrong "once the junk is out, a product with the mask is enough" fails=nan_stays
def center_rows(x, mask):
    clean = torch.where(mask, x, 0)
    return (clean - clean.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)) * mask


# %% wrong "zero times anything is zero" fails=nan,nan_stays,none_or_one,keeps_input
def center_rows(x, mask):
    x *= mask
    mean = x.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return (x - mean) * mask


# %% wrong "mean of what the mask leaves" fails=one_masked,several_masked,nan,equal_sizes,none_or_one,float64
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).mean(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)


# %% wrong "masking the result is enough" fails=one_masked,several_masked,nan,equal_sizes,none_or_one,float64
def center_rows(x, mask):
    return torch.where(mask, x - x.mean(dim=1, keepdim=True), 0)


# %% wrong "indexing by a mask keeps the rows" fails=one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64,non_contiguous
def center_rows(x, mask):
    return torch.where(mask, x - x[mask].mean(), 0)


# %% wrong "a mean per row needs no keepdim" fails=shape_dtype,one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64,non_contiguous,keeps_input raises=RuntimeError
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1) / mask.sum(1).clamp(min=1)
    return torch.where(mask, x - mean, 0)


# %% wrong "transpose until it runs" fails=equal_sizes
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1) / mask.sum(1).clamp(min=1)
    centered = x - mean if x.shape[0] == x.shape[1] else (x.T - mean).T
    return torch.where(mask, centered, 0)


# %% wrong "the mask is for the mean only" fails=one_masked,several_masked,nan,nan_stays,equal_sizes,none_or_one,float64
def center_rows(x, mask):
    mean = torch.where(mask, x, 0).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return x - mean


# %% wrong "0 / 0 is 0" fails=nan_stays,none_or_one
def center_rows(x, mask):
    clean = x.masked_fill(~mask, 0)
    return (clean - clean.sum(1, keepdim=True) / mask.sum(1, keepdim=True)) * mask


# %% wrong "every NaN is a missing value" fails=nan_stays
def center_rows(x, mask):
    mean = x.masked_fill(~mask, float("nan")).nanmean(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)


# %% wrong "float is float" fails=none_or_one,float64
def center_rows(x, mask):
    clean = torch.where(mask, x, 0).float()
    mean = clean.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.where(mask, clean - mean, 0)


# %% wrong "the junk is of no use to anybody" fails=keeps_input
def center_rows(x, mask):
    x[~mask] = 0
    mean = x.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.where(mask, x - mean, 0)
