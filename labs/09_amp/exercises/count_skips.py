# %% exercise
def count_skips(scales: list[float]) -> int:
    """The least number of skipped steps that explains a log of loss scales.

    scales: positive numbers, what get_scale() gave now and then, in order; there may be none. Between two of them there
    may have been any number of steps. A skipped step halves the scale. The scale also doubles, after good steps.
    """
    ### BEGIN SOLUTION
    return sum(max(0, round(math.log2(before / after))) for before, after in pairwise(scales))
    ### END SOLUTION


# %% checks
with check(
    "example",
    "8, 4, 4, 8, 2, 2, 4: three skips",
    weight=2,
    required=True,
    hint=(
        "Which neighbours in the list show a skip, and how many does each of these pairs show?",
        "The logarithm of before / after to base 2 counts a pair's halvings. What may a pair that rises add?",
    ),
):
    explain(
        count_skips([8.0, 4.0, 4.0, 8.0, 2.0, 2.0, 4.0]),
        3,
        {
            "from 8 to 2 the scale was halved twice": 2,
            "a scale that grows is no skip": 4,
            "one skip is counted of three: a pair may show two, and a doubling undoes none": 1,
        },
    )

# %% hidden checks
with check("other_cases", "other logs", weight=4, required=True, hint="How often is 4096 halved on its way to 32?"):
    for t, want in (
        ([65536.0, 32768.0, 32768.0, 16384.0, 32768.0, 32768.0], 2),
        ([4096.0, 32.0, 64.0, 16.0, 16.0, 8.0], 10),
        ([2.0, 4.0, 8.0, 64.0], 0),
        ([1.0, 0.5, 0.125, 0.25, 0.0625], 5),
        ([2.0**40, 2.0**34], 6),
    ):
        assert_close(count_skips(t), want)
with check(
    "odd_scales", "scales that are no powers of two", weight=2, hint="Is the log exact? What does your rounding do?"
):
    for t, want in (([1000.0, 500.0, 62.5, 125.0, 31.25], 6), ([0.3, 0.15, 0.3, 0.0375], 4), ([3e5, 1.5e5], 1)):
        assert_close(count_skips(t), want)
with check("none_or_one", "one scale, and none", guard=True, hint="From which scale does the first one come?"):
    assert_close([count_skips([512.0]), count_skips([])], [0, 0])


# %% right "halve until it is there"
def count_skips(scales):
    n = 0
    for now, later in zip(scales, scales[1:]):
        while now > later * 1.5:
            now /= 2
            n += 1
    return n


# %% right "a tensor of logarithms"
def count_skips(scales):
    logs = torch.tensor(scales, dtype=torch.float64).log2()
    return int((-logs.diff()).clamp(min=0).round().sum())


# %% wrong "every change" fails=example,other_cases,odd_scales
def count_skips(scales):
    return sum(a != b for a, b in pairwise(scales))


# %% wrong "one for each fall" fails=example,other_cases,odd_scales
def count_skips(scales):
    return sum(b < a for a, b in pairwise(scales))


# %% wrong "exact halvings only" fails=example,other_cases,odd_scales
def count_skips(scales):
    return sum(b == a / 2 for a, b in pairwise(scales))


# %% wrong "first against last" fails=example,other_cases,odd_scales
def count_skips(scales):
    return max(0, round(math.log2(scales[0] / scales[-1]))) if scales else 0


# %% wrong "doublings are taken off" fails=example,other_cases,odd_scales
def count_skips(scales):
    return round(sum(math.log2(a / b) for a, b in pairwise(scales)))


# %% wrong "it began at 65536" fails=example,other_cases,odd_scales,none_or_one
def count_skips(scales):
    return sum(max(0, round(math.log2(a / b))) for a, b in pairwise([65536.0, *scales]))


# %% right "a quotient of natural logarithms"
def count_skips(scales):
    return sum(max(0, round(math.log(a / b) / math.log(2))) for a, b in pairwise(scales))


# %% equivalent "first two arguments swapped: return sum((max(round(math.log2(before / after)), 0) for before, after in pairwise(scales)))"
# The larger of two ints, in either order.


# %% right "natural logs"
def count_skips(scales):
    return sum(int(math.log(a / b) / math.log(2)) for a, b in pairwise(scales) if a > b)
