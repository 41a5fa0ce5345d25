# %% exercise
def count_skips(scales: list[float]) -> int:
    """Return the smallest number of skipped steps that explains a log of loss scales.

    scales: floats between 1e-100 and 1e100 that get_scale() returned now and then, in order; there may be one, none or
    thousands. The list isn't changed. Between two of them, there may have been any number of steps. A skipped step
    halves the scale. The scale also doubles after good steps.
    """
    ### BEGIN SOLUTION
    return sum(max(0, round(math.log2(before / after))) for before, after in pairwise(scales))
    ### END SOLUTION


# %% promises
# Return the smallest number -> example, other_cases, odd_scales
# scales: floats between -> none_or_one, odd_scales
# The list isn't changed -> keeps_list
# Between two of them -> example, other_cases, odd_scales
# A skipped step halves -> example, other_cases, odd_scales
# The scale also doubles -> example, other_cases, odd_scales


# %% domain
@domain(
    reference,
    *("no scales", "one scale", "all equal", "only rising", "only falling", "every other one rises"),
    *("below 1", "no powers of two", "many halvings", "a long log", "below the floats of float32"),
)
def arguments(draw, edge):
    counts = {"no scales": 0, "one scale": 1, "many halvings": 121, "a long log": 2000}
    count = counts.get(edge, draw(st.integers(4, 7)))
    moves = [*draw(st.permutations([-3, -2, -1, 0, 1, 2, 3]))]  # powers of two, from one scale to the next
    moves = {
        "all equal": [0] * 7,
        "only rising": [abs(n) for n in moves],
        "only falling": [-abs(n) for n in moves],
        "every other one rises": [abs(n) + 1 if k % 2 else -abs(n) - 1 for k, n in enumerate(moves)],
        "many halvings": [n for k in range(1, 61) for n in (-k, k)],
        "a long log": moves * 300,
    }.get(edge, moves)
    first = draw(st.sampled_from([8.0, 1024.0, 65536.0]))
    small = {"below 1": first * 2.0**-40, "below the floats of float32": first * 2.0**-200}
    if edge == "no powers of two":  # from 28 to 7 and so on: math.log2(28) - math.log2(7) is below 2
        moves = [-2, *(n for pair in draw(st.permutations([(3, -3), (4, -4), (2, -2)])) for n in pair)]
    first = {**small, "no powers of two": 28.0}.get(edge, first)
    return ([first * 2.0 ** sum(moves[:n]) for n in range(count)],)


# %% checks
with check(
    "example",
    "8, 4, 4, 8, 2, 2, 4: three skips",
    weight=2,
    required=True,
    hint=(
        "Which neighboring entries show a skip, and how many does each of these pairs show?",
        "log2(before / after) counts a pair's halvings. What does a pair with a rising scale add?",
    ),
):
    explain(
        count_skips([8.0, 4.0, 4.0, 8.0, 2.0, 2.0, 4.0]),
        3,
        {
            "from 8 to 2, the scale was halved twice": 2,
            "a growing scale isn't a skip": 4,
            "only one of three skips is counted: a pair can show two, and a doubling doesn't undo any": 1,
        },
    )

# %% hidden checks
with check("other_cases", "other logs", weight=4, required=True, hint="How many halvings lead from 4096 to 32?"):
    arguments.assert_results(count_skips, "", "all equal", "only rising", "only falling", "every other one rises")
    arguments.assert_results(count_skips, "below 1", "many halvings", "a long log")
with check(
    "odd_scales",
    "scales that aren't powers of two, and tiny ones",
    weight=2,
    hint="Is the logarithm exact? How do you round it?",
):
    arguments.assert_results(count_skips, "no powers of two", "below the floats of float32")
with check("none_or_one", "one scale, and none", guard=True, hint="Which entry comes before the first one?"):
    arguments.assert_results(count_skips, "no scales", "one scale")
with check("keeps_list", "the log keeps its scales", guard=True, hint="Which calls change a list?"):
    arguments.assert_arguments(count_skips)


# %% right "halve until it gets there"
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


# %% equivalent "first two arguments swapped: return sum((max(round(math.log2(before / after)), 0) for before, after in pairwise(scales)))"
# The larger of two ints, in either order.


# %% right "natural logs"
def count_skips(scales):
    return sum(int(math.log(a / b) / math.log(2)) for a, b in pairwise(scales) if a > b)


# %% wrong "the log is used up" fails=keeps_list
def count_skips(scales):
    n, last = 0, scales.pop(0) if scales else None
    while scales:
        now = scales.pop(0)
        n, last = n + max(0, round(math.log2(last / now))), now
    return n
