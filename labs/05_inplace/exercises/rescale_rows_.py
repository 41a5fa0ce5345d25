# %% exercise
def rescale_rows_(x: Tensor, top: float) -> Tensor:
    """Shift and scale each row of x in place: its smallest number becomes 0, its largest becomes top.

    x is (n, d). A row of equal numbers becomes zeros. Returns x itself.

    Details:
    - x: float32 or float64, without requires_grad; any strides, and no two elements share memory. n may be 0, d is at
      least 1. Memory next to the elements of x isn't touched.
    - top: positive or negative, with a size from 1e-30 to 1e6.
    - The largest and the smallest number of a row differ by 1e-30 to 1e6, or not at all. So a row of tiny numbers, such
      as 0 and 1e-20, is rescaled like any other.
    """
    ### BEGIN SOLUTION
    x -= x.amin(dim=1, keepdim=True)
    size = x.amax(dim=1, keepdim=True)  # read after the write
    x /= torch.where(size == 0, 1, size)
    x *= top
    return x
    ### END SOLUTION


# %% promises
# Shift and scale -> example, in_place, other_cases, constant, tiny_numbers, non_contiguous
# x is (n, d) -> other_cases, non_contiguous
# A row of equal -> constant
# Returns x itself -> in_place, other_cases, non_contiguous
# x: float32 or -> other_cases, non_contiguous
# n may be 0 -> empty
# Memory next to -> non_contiguous
# top: positive or -> other_cases, tiny_numbers
# The largest and -> constant
# So a row of tiny -> tiny_numbers


# %% domain
@domain(
    reference,
    *(
        "float64",
        "negative top",
        "constant rows",
        "nearly constant rows",
        "closer numbers",
        "tiny rows",
        "tiny rows, tiny top",
    ),
    *("one column", "no rows", "transposed", "every second column"),
)
def arguments(draw, edge):
    n = 0 if edge == "no rows" else draw(st.integers(1, 6))
    d = 1 if edge == "one column" else draw(st.integers(2, 5))
    x = torch.randn(n, d, dtype=torch.float64, generator=draw.make_generator(here)) * 10.0 ** draw(st.integers(-3, 3))
    if edge == "constant rows":
        x[::2] = x[::2, :1].clone()
    if edge == "nearly constant rows":
        x = 1e6 + torch.arange(d) + torch.zeros_like(x)
    if edge == "closer numbers":
        x = 1e6 + torch.arange(d) / 4 + torch.zeros_like(x)
    if "tiny rows" in edge:
        x *= 1e-25 / x.abs().amax()
    x = x if edge in ("float64", "nearly constant rows", "closer numbers") else x.float()
    if edge == "transposed":
        x = x.T.contiguous().T
    if edge == "every second column":
        x = torch.stack([x, -x], dim=2).flatten(1)[:, ::2]
    top = 1e-30 if edge == "tiny rows, tiny top" else draw(st.sampled_from([1e-30, 0.3, 1.0, 7.0, 1e6]))
    return x, -top if "top" in edge else top


# %% checks
with check(
    "example",
    "two rows from 0 to 10",
    weight=2,
    required=True,
    hint=(
        "After the subtraction, what is the largest number of each row? When did you read it?",
        "Use amin and amax over dim=1 with keepdim=True, and call amax after the subtraction.",
    ),
):
    t = torch.tensor([[1.0, 3.0, 2.0], [-1.0, 4.0, 0.0]])
    want = torch.tensor([[0.0, 10.0, 5.0], [0.0, 10.0, 2.0]])
    shifted = torch.tensor([[0.0, 2.0, 1.0], [0.0, 5.0, 1.0]])
    together = (t + 1) * 2
    explain(
        rescale_rows_(t, 10.0),
        want,
        {
            "the largest number was read before the smallest was subtracted": shifted
            * 10
            / torch.tensor([[3.0], [4.0]]),
            "the smallest and largest numbers of the whole matrix were used": together,
        },
    )
with check(
    "in_place",
    "x itself was changed and returned",
    required=True,
    hint=(
        "Which of your lines makes a new tensor?",
        "x -= ... and x *= ... write into the memory of x; x = x - ... doesn't. Return x itself.",
    ),
):
    t = torch.tensor([[1.0, 3.0, 2.0], [-1.0, 4.0, 0.0]])
    want = torch.tensor([[0.0, 5.0, 2.5], [0.0, 5.0, 1.0]])
    got = rescale_rows_(t, 5.0)
    assert_close(t, want, name="x")
    assert got is t, "your result isn't x itself"

# %% hidden checks
with check(
    "other_cases",
    "other shapes and tops, and float64",
    weight=2,
    required=True,
    hint="Which numbers of the row does each of your lines read: those before the write, or those after it?",
):
    arguments.assert_arguments(rescale_rows_, "", "float64", "negative top")
    arguments.assert_returns(rescale_rows_, "x", "", "float64", "negative top")
with check("constant", "a constant row becomes zeros, and only such a row", weight=2, hint="What is 0 / 0?"):
    arguments.assert_arguments(rescale_rows_, "constant rows", "nearly constant rows", "closer numbers", "one column")
with check(
    "tiny_numbers",
    "a row of tiny numbers is rescaled too",
    weight=2,
    hint="Which rows need another divisor? What does your guard against 0 / 0 do to numbers that differ very little?",
):
    arguments.assert_arguments(rescale_rows_, "tiny rows", "tiny rows, tiny top", rtol=1e-5, atol=0)
with check(
    "non_contiguous",
    "a transposed x and every second column of another tensor",
    weight=3,
    hint="Which functions copy a tensor that isn't contiguous?",
):
    arguments.assert_arguments(rescale_rows_, "transposed", "every second column")
    arguments.assert_returns(rescale_rows_, "x", "transposed", "every second column")
with check("empty", "no rows at all", guard=True):
    arguments.assert_results(rescale_rows_, "no rows")


# %% right "methods with underscores"
def rescale_rows_(x, top):
    x.sub_(x.min(1, keepdim=True).values)
    high = x.max(1, keepdim=True).values
    high[high == 0] = 1
    return x.div_(high).mul_(top)


# %% right "computed elsewhere, then copied"
def rescale_rows_(x, top):
    low, high = x.aminmax(dim=1, keepdim=True)
    x.copy_(torch.nan_to_num((x - low) / (high - low)) * top)
    return x


# %% right "row by row through views"
def rescale_rows_(x, top):
    for row in x:
        row -= row.min()
        if row.max() > 0:
            row *= top / row.max()
    return x


# %% right "assigned to all of it, with out= for the last step"
def rescale_rows_(x, top):
    x[:] = x - x.amin(1, True)
    size = x.amax(1, True)
    size = torch.where(size > 0, size, torch.ones_like(size))
    torch.mul(x, top / size, out=x)
    return x


# %% wrong "the largest number can be read at the start" fails=example,in_place,other_cases,constant,tiny_numbers,non_contiguous
def rescale_rows_(x, top):
    low, high = x.amin(1, True), x.amax(1, True)
    x -= low
    x *= top / torch.where(high == 0, 1, high)
    return x


# %% wrong "one smallest and one largest number" fails=example,in_place,other_cases,constant,tiny_numbers,non_contiguous
def rescale_rows_(x, top):
    if x.numel():
        x -= x.min()
        x *= top / x.max()
    return x


# %% wrong "no row is constant" fails=constant
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    x *= top / x.amax(1, True)
    return x


# %% equivalent "1 to 2: x /= torch.where(size == 0, 2, size)"
# The numbers of a constant row are zeros by then, and zero divided by anything finite is zero.


# %% wrong "a small number in the divisor does no harm" fails=tiny_numbers
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    x *= top / (x.amax(1, True) + 1e-12)
    return x


# %% right "NaN of 0 / 0 replaced at the end"
def rescale_rows_(x, top):
    low, high = x.aminmax(dim=1, keepdim=True)
    return x.sub_(low).div_(high - low).mul_(top).nan_to_num_(0.0)


# %% right "the smallest normal number as the least divisor"
def rescale_rows_(x, top):
    x.sub_(x.amin(1, keepdim=True))
    return x.div_(x.amax(1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)).mul_(top)
