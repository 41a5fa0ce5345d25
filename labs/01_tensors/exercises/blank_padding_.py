# %% given
# The checks call your function through this probe, too.
@probes.probe
def blanked_twice(function, x, lengths, later):
    """The result of a second call, with the same tensor of lengths, but later numbers in it."""
    function(x, lengths)
    return function(x, lengths.copy_(later))


# %% exercise
def blank_padding_(x: Tensor, lengths: Tensor) -> Tensor:
    """Set x[i, j] to zero for all j >= lengths[i], in place. Returns x itself.

    x is (n, t, d). lengths is (n,) int64, each from 0 to t. The elements to blank may be NaN or inf.

    Details:
    - x: any dtype but float8 and unsigned integers other than uint8. It doesn't require grad. Any strides are allowed,
      as long as no two elements share a slot.
    - Nothing else changes: neither NaN and inf within the length nor, if x is a view, the slots that it skips.
    - lengths may have any strides and isn't changed.
    - Each of n, t and d may be 0.
    """
    ### BEGIN SOLUTION
    for i, length in enumerate(lengths):
        x[i, length:] = 0
    return x
    ### END SOLUTION


# %% promises
# Set x[i, j] to zero -> example, caller, in_place, equal_sizes
# Returns x itself -> shape_dtype, returns_x
# x is (n, t, d) -> dtypes
# lengths is (n,) -> keeps_input
# The elements to blank -> nan, view
# x: any dtype -> dtypes
# It doesn't require grad -> dtypes
# Any strides are allowed -> view
# Nothing else changes -> view, keeps_input
# lengths may have -> keeps_input
# Each of n, t and d -> empty


# %% domain
DTYPES = "float64 float16 bfloat16 complex64 bool uint8 int8 int16 int32 int64"


@domain(
    reference,
    *("some blank", "all blank", "some full", "all full", "junk", "NaN inside", "square", *DTYPES.split()),
    *("one sentence", "one step", "one number", "no sentence", "no step"),
    *("no number", "no number, some blank", "no number, some full"),
    *("transposed", "reversed dimensions", "slice"),
    *(f"junk, {dtype}" for dtype in DTYPES.split()[:4]),
)
def arguments(draw, edge):
    n, t, d = draw(st.integers(2, 5)), draw(st.integers(3, 5)), draw(st.integers(1, 4))
    n = {"one sentence": 1, "no sentence": 0, "square": t}.get(edge, n + (n == t))
    t = {"one step": 1, "no step": 0}.get(edge, t)
    d = {"one number": 1, "no number": 0, "junk": 4, "NaN inside": 4}.get(edge.split(",")[0], d)
    g = draw.make_generator(here)
    lengths = torch.arange(n) + draw(st.integers(0, 9))
    lengths = lengths % (t - 1) + 1 if t > 1 else lengths % (t + 1)
    if "blank" in edge or "full" in edge:
        lengths[:: 2 if "some" in edge else 1] = 0 if "blank" in edge else t
    x = torch.rand(n, t, d, dtype=torch.float64, generator=g) * 100 + 1
    dtype = edge.removeprefix("junk, ")
    x = x.to(getattr(torch, dtype if dtype in DTYPES.split() else "float32"))
    if dtype == "complex64":
        x *= 1 - 2j
    if edge == "int64":
        x += 2**53
    odd = torch.tensor([float("nan"), float("inf"), -float("inf"), 5.0])
    inside = torch.arange(t) < lengths[:, None]
    if edge.startswith(("junk", "NaN")):
        x[inside if edge == "NaN inside" else ~inside] = odd.to(x.dtype)
    if edge == "transposed":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    if edge == "reversed dimensions":
        x = x.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    if edge == "slice":
        x = torch.stack([torch.cat([x, x])] * 2, 3).flatten(2)[n:, :, ::2]
        lengths = torch.stack([lengths, t - lengths], 1)[:, 0]
    return x, lengths


# %% checks
with check(
    "shape_dtype",
    "the result has x's shape and dtype",
    required=True,
    hint=(
        "Which tensor does your last line return: x itself, a selection from it, or a mask?",
        "Write the zeros to x itself, and return x at the end.",
    ),
):
    t = torch.arange(1.0, 13.0).reshape(2, 3, 2)
    got = blank_padding_(t, torch.tensor([1, 3]))
    assert got.shape == (2, 3, 2), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "example",
    "steps after the length are zero in the result",
    required=True,
    hint=(
        "If a sentence has length 1, which of its steps do you keep, and what's the first index to blank?",
        "Assign 0 with one pair of brackets to the left of =. Index with a slice that starts at the length, or with a "
        "mask of shape (n, t).",
    ),
):
    t = torch.arange(1.0, 13.0).reshape(2, 3, 2)
    before = t.clone()
    want = torch.tensor([[[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]])
    one_more = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]])
    explain(
        blank_padding_(t, torch.tensor([1, 3])),
        want,
        {
            "nothing was written to x": before,
            "one step too many was kept: the last index inside a sentence is its length minus 1": one_more,
            "the mask is inverted: the sentences are blanked, and the leftovers stay": before - want,
        },
    )
with check(
    "caller",
    "after the call, the caller's tensor has the zeros",
    hint="After your function returns, are there zeros in the caller's tensor? Did you read or assign with a mask?",
):
    t = torch.arange(1.0, 13.0).reshape(2, 3, 2)
    before = t.clone()
    want = torch.tensor([[[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], [[7.0, 8.0], [9.0, 10.0], [0.0, 0.0]]])
    blank_padding_(t, torch.tensor([1, 2]))
    explain(t, want, {"nothing was written to x": before})
with check(
    "nan",
    "a NaN after the length becomes zero",
    hint=(
        "What is NaN * 0? And if the length is 0, which step is the first to blank?",
        "Don't compute with the leftovers: assign 0 to a slice, or use masked_fill_.",
    ),
):
    t = torch.tensor([[[1.5], [2.5], [float("nan")]], [[3.5], [float("nan")], [4.5]]])
    want = torch.tensor([[[1.5], [0.0], [0.0]], [[0.0], [0.0], [0.0]]])
    multiplied = torch.where(t.isnan(), t, want)
    explain(
        blank_padding_(t, torch.tensor([1, 0])),
        want,
        {"NaN times 0 is NaN: assign the zero instead of multiplying by it": multiplied},
    )

# %% hidden checks
with check(
    "in_place",
    "x itself is changed",
    weight=3,
    required=True,
    hint="After your function returns, are there zeros in the caller's tensor? Did you read or assign with a mask?",
):
    t, lengths = torch.arange(1, 61).reshape(4, 5, 3), torch.tensor([[2], [0], [5], [3]])
    before, want = t.clone(), t * (torch.arange(5) < lengths)[:, :, None]
    one_more = t * (torch.arange(5) <= lengths)[:, :, None]
    blank_padding_(t, lengths[:, 0].clone())
    explain(
        t,
        want,
        {
            "nothing was written to x": before,
            "one step too many was kept: the last index inside a sentence is its length minus 1": one_more,
        },
    )
    t = torch.ones(3, 4, 2)
    want = (torch.arange(4) < torch.tensor([[1], [0], [3]]))[:, :, None].expand(3, 4, 2).float()
    assert_close(blanked_twice(blank_padding_, t, torch.tensor([2, 1, 4]), torch.tensor([1, 0, 3])), want)
    arguments.assert_results(blank_padding_, "", "some blank", "all blank", "some full", "all full")
with check(
    "returns_x",
    "the result is x itself, not a copy",
    weight=2,
    hint="If the caller writes to the result, does x change?",
):
    arguments.assert_returns(blank_padding_, "x")
with check(
    "view",
    "a view is changed too, but nothing around it",
    weight=3,
    hint="Which of your steps makes a copy if x isn't contiguous?",
):
    whole = torch.arange(1.0, 211.0).reshape(6, 5, 7)
    want = whole.clone()
    want.transpose(0, 1)[1:4, 2:, ::3][0, 3:] = 0
    want.transpose(0, 1)[1:4, 2:, ::3][1, 1:] = 0
    blank_padding_(whole.transpose(0, 1)[1:4, 2:, ::3], torch.tensor([3, 1, 4]))
    assert_close(whole, want)
    nan, inf = float("nan"), float("inf")
    whole = torch.tensor([[[1.5, nan], [nan, inf]], [[inf, 4.5], [7.5, nan]], [[nan, 2.5], [5.5, -inf]]])
    want = torch.tensor([[[1.5, nan], [nan, inf]], [[inf, 4.5], [0.0, 0.0]], [[nan, 2.5], [0.0, 0.0]]])
    explain(
        blank_padding_(whole.transpose(0, 1), torch.tensor([3, 1])).transpose(0, 1),
        want,
        {
            "NaN times 0 is NaN, and so is inf times 0: assign the zero instead of multiplying by it": torch.tensor(
                [[[1.5, nan], [nan, inf]], [[inf, 4.5], [0.0, nan]], [[nan, 2.5], [0.0, nan]]]
            )
        },
    )
    assert_close(whole, want)
    arguments.assert_results(blank_padding_, "junk", "NaN inside", "transposed", "reversed dimensions", "slice")
    arguments.assert_results(blank_padding_, *(f"junk, {dtype}" for dtype in DTYPES.split()[:4]))
with check("dtypes", "integers, booleans, complex and other floating-point numbers keep their dtype"):
    arguments.assert_results(blank_padding_, *DTYPES.split())
with check("equal_sizes", "as many steps as sentences", hint="Which dimension does lengths belong to?"):
    arguments.assert_results(blank_padding_, "square")
with check("empty", "sizes of 0 and 1", guard=True):
    arguments.assert_results(blank_padding_, "one sentence", "one step", "one number")
    arguments.assert_results(blank_padding_, "no sentence", "no step", "no number")
with check("keeps_input", "lengths keep their values", guard=True):
    t = torch.tensor([1, 2])
    blank_padding_(torch.ones(2, 3, 1), t)
    assert_close(t, torch.tensor([1, 2]))
    arguments.assert_arguments(blank_padding_, "all full", "no number", "no number, some blank", "no number, some full")


# %% right "a mask and one pair of brackets"
def blank_padding_(x, lengths):
    x[torch.arange(x.shape[1]) >= lengths[:, None]] = 0
    return x


# %% right "masked_fill_ with a mask of three dimensions"
def blank_padding_(x, lengths):
    padding = torch.arange(x.size(1)).unsqueeze(0) >= lengths.unsqueeze(1)
    return x.masked_fill_(padding.unsqueeze(-1), 0)


# %% right "compute a new tensor, then copy it in"
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]).expand(x.shape[:2]) < lengths.reshape(-1, 1)
    x.copy_(torch.where(keep[..., None], x, 0))
    return x


# %% right "two loops"
def blank_padding_(x, lengths):
    for i in range(x.shape[0]):
        for j in range(int(lengths[i]), x.shape[1]):
            x[i, j] = torch.zeros_like(x[i, j])
    return x


# %% right "one step after the other"
def blank_padding_(x, lengths):
    for step in range(x.shape[1]):
        x[lengths <= step, step] = 0
    return x


# %% wrong "the old name is the old tensor" fails=caller,nan,in_place,returns_x,view
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]) < lengths[:, None]
    x = x * keep[:, :, None]
    return x


# %% wrong "anything times zero is zero" fails=nan,view
def blank_padding_(x, lengths):
    x *= (torch.arange(x.shape[1]) < lengths[:, None])[:, :, None]
    return x


# %% wrong "step number length is still inside" fails=example,caller,nan,in_place,view,dtypes,equal_sizes,empty
def blank_padding_(x, lengths):
    for row, length in zip(x, lengths):
        row[length + 1 :] = 0
    return x


# %% wrong "True means keep, for masked_fill_ too" fails=example,caller,nan,in_place,view,dtypes,equal_sizes,empty,keeps_input
def blank_padding_(x, lengths):
    keep = torch.arange(x.shape[1]) < lengths[:, None]
    return x.masked_fill_(keep[:, :, None], 0)


# %% wrong "lengths as a countdown" fails=keeps_input
def blank_padding_(x, lengths):
    for step in range(x.shape[1]):
        x[lengths <= 0, step] = 0
        lengths -= 1
    return x


# %% equivalent "called twice, where a call changes its arguments"
# Zeros are set to zero again.
