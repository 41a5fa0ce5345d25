# %% exercise
def best_segments(layers: int, boundary: int, inner: int) -> int:
    """The number of segments k, 1 <= k <= layers, with the smallest peak.

    If several k have that peak, returns the smallest. The peak is k * boundary + longest * inner. longest is the number
    of layers in the longest segment: layers / k, rounded up. boundary: the bytes of a segment's input. inner: the bytes
    that one layer keeps. layers, boundary and inner are at least 1; any of them may be the largest.
    """
    ### BEGIN SOLUTION
    return min(range(1, layers + 1), key=lambda k: k * boundary + math.ceil(layers / k) * inner)
    ### END SOLUTION


# %% promises
# The number of segments -> example, no_formula, other_cases
# If several k have -> ties
# The peak is -> example, no_formula, other_cases
# longest is the number -> no_formula, other_cases
# boundary: the bytes -> other_cases
# inner: the bytes -> other_cases
# layers, boundary and -> other_cases


# %% domain
@domain(
    reference,
    *("one layer", "two layers", "cheap layers", "dear layers", "uneven", "many layers"),
    *("many dear layers", "one byte more", "far from the root", "ties", "ties of unequal costs"),
)
def arguments(draw, edge):
    counts = {"one layer": [1], "two layers": [2], "uneven": [7, 11, 13, 23, 31], "ties": [6, 12]}
    counts |= {"one byte more": [6, 12, 20], "many layers": [257, 399], "many dear layers": [257, 399]}
    layers = draw(st.sampled_from(counts.get(edge, [10, 24, 26, 48, 50])))
    boundary, inner = draw(st.sampled_from([2, 3, 5, 7, 11])), draw(st.sampled_from([13, 17, 19, 30]))
    if edge in ("two layers", "cheap layers"):
        boundary, inner = inner * 50, boundary
    if edge in ("dear layers", "many dear layers"):
        inner *= 1000
    if edge in ("ties", "one byte more"):
        boundary = inner = draw(st.integers(10**9, 10**10))
        inner += edge == "one byte more"  # otherwise, two numbers of segments would be equally good
    if edge == "far from the root":  # one segment for each layer, while the root is about layers / 1.4
        layers, boundary, inner = layers + 1, 1, layers // 2 + 2
    if edge == "ties of unequal costs":  # a boundary's share of inner, as a float, would give another answer
        layers, boundary = 58, draw(st.integers(1, 4))
        inner = 9 * boundary
    return layers, boundary, inner


# %% checks
with check(
    "example",
    "16 layers: 4 segments, but 16 if a layer keeps 20 times its input",
    weight=2,
    required=True,
    hint=(
        "What is the peak for k = 3, by hand? How long is the longest of three segments of 16 layers?",
        "Compute the peak for each k from 1 to layers, with math.ceil. Return the k, not the peak.",
    ),
):
    explain(
        best_segments(16, 1, 1),
        4,
        {
            "layers / k is rounded up: if 3 segments have 16 layers, one of them has 6": 3,
            "8 is the smallest peak, not the number of segments that has it": 8,
        },
    )
    explain(best_segments(16, 1, 20), 16, {"the square root is best only if both costs are equal": 4})
with check(
    "no_formula",
    "7 layers that keep one and a half times their input: 4 segments",
    weight=1,
    hint=(
        "7 layers in 4 segments: how long is the longest one?",
        "Try every k. math.ceil(layers / k) is the longest segment's length; layers / k may be too small.",
    ),
):
    explain(best_segments(7, 2, 3), 4, {"the longest segment has a whole number of layers": 3})

# %% hidden checks
with check(
    "other_cases",
    "other costs",
    weight=6,
    required=True,
    hint="How long is the longest segment if k doesn't divide the number of layers?",
):
    arguments.assert_results(best_segments, "", "one layer", "two layers", "cheap layers", "dear layers")
    arguments.assert_results(best_segments, "uneven", "many layers", "many dear layers", "one byte more")
    arguments.assert_results(best_segments, "far from the root")
with check(
    "ties", "the smallest of several best ones", weight=2, hint="If two are equally good, which does your code return?"
):
    arguments.assert_results(best_segments, "ties", "ties of unequal costs")


# %% right "a loop"
def best_segments(layers, boundary, inner):
    best, least = 1, boundary + layers * inner
    for k in range(2, layers + 1):
        longest = (layers + k - 1) // k
        if k * boundary + longest * inner < least:
            best, least = k, k * boundary + longest * inner
    return best


# %% right "sorted by cost, then by number"
def best_segments(layers, boundary, inner):
    return min((k * boundary + -(-layers // k) * inner, k) for k in range(1, layers + 1))[1]


# %% wrong "always the square root" fails=example,no_formula,other_cases,ties
def best_segments(layers, boundary, inner):
    return max(1, round(math.sqrt(layers)))


# %% wrong "rounded down" fails=example,other_cases
def best_segments(layers, boundary, inner):
    return min(range(1, layers + 1), key=lambda k: k * boundary + layers // k * inner)


# %% wrong "the peak in place of its number of segments" fails=example,no_formula,other_cases,ties
def best_segments(layers, boundary, inner):
    return min(k * boundary + math.ceil(layers / k) * inner for k in range(1, layers + 1))


# %% wrong "the largest of equally good ones" fails=ties
def best_segments(layers, boundary, inner):
    return min(range(layers, 0, -1), key=lambda k: k * boundary + math.ceil(layers / k) * inner)


# %% equivalent "1 to 2: return min(range(1, layers + 2), key=lambda k: k * boundary + math.ceil(layers / k) * inner)"
# One segment more than there are layers never costs less: its longest segment has one layer too.
