# %% exercise
def pairwise_distances(a: Tensor, b: Tensor) -> Tensor:
    """The Euclidean distance between each point in a and each point in b.

    a has shape (n, d), and b has shape (m, d). Returns shape (n, m) in their dtype: entry [i, j] belongs to a[i] and
    b[j]. The distance between equal points is exactly 0. The relative error of any other distance is at most 1e-3, even
    if the points are close together and far from the origin.

    Details:
    - a, b: of the same dtype, float32 or float64, any strides, all numbers finite. Neither is changed.
    - n, m and d may differ or be equal, and each may be 0.
    - The distance between points that aren't equal is between 1e-15 and 1e15.
    """
    ### BEGIN SOLUTION
    return (a[:, None, :] - b[None, :, :]).square().sum(dim=-1).sqrt()
    ### END SOLUTION


# %% promises
# The Euclidean distance -> example, other_cases
# a has shape (n, d) -> other_cases, non_contiguous
# Returns shape (n, m) -> other_cases, equal_sizes, empty
# The distance between equal points -> same_point
# The relative error -> far_from_zero, two_groups, thirty_points, size
# a, b: of the same dtype -> other_cases, non_contiguous
# Neither is changed -> keeps_input
# n, m and d may -> equal_sizes, empty, other_cases
# The distance between points that -> far_from_zero, two_groups, thirty_points, size


# %% domain
@domain(
    reference,
    *("equal sizes", "one point", "one dimension", "float64", "float64, close together", "close together"),
    *("two groups", "two groups, float64", "thirty points", "thirty others, float64", "tiny", "tiny and huge"),
    *("the same points", "some points equal", "no point", "no other point", "no dimension"),
    *("transposed", "every second column", "expanded"),
)
def arguments(draw, edge):
    n = draw(st.integers(2, 6))
    m, d = n + draw(st.integers(1, 2)), n + draw(st.integers(3, 4))
    n = {"one point": 1, "no point": 0, "thirty points": 30, "the same points": 4}.get(edge, n)
    m = {"equal sizes": n, "no other point": 0, "thirty others, float64": 30, "some points equal": 4}.get(edge, m)
    d = {"equal sizes": n, "one dimension": 1, "no dimension": 0, "tiny and huge": 2}.get(edge, d)
    g = draw.make_generator()
    a, b = (torch.randn(size, d, dtype=torch.float64, generator=g) for size in (n, m))
    if edge == "float64, close together":
        a, b = 1 + a * 1e-10, 1 + b * 1e-10
    if edge == "close together":
        a, b = 1000 + a, 1000 + b
    if edge.startswith(("two groups", "thirty")):
        a, b = a * 0.01, b * 0.01
        a[::2, 0], a[1::2, 0], b[::2, 0], b[1::2, 0] = 1e6, -1e6, -1e6, 1e6
    if edge == "tiny":
        a, b = a * 1e-14, b * 1e-14
    if edge == "tiny and huge":
        a, b = (t * torch.tensor([1e-14, 1e14], dtype=torch.float64) for t in (a, b))
        a[0, 0], a[0, 1], b[0] = 3e-14, 0, 0
    a, b = (a, b) if "float64" in edge else (a.float(), b.float())
    if edge == "the same points":
        b = a = (a * 30).round()
    if edge == "some points equal":
        a, b = (a * 30).round(), (b * 30).round()
        b[0], b[-1] = a[-1], a[0]
    if edge == "transposed":
        a, b = a.T.contiguous().T, b.T.contiguous().T
    if edge == "every second column":
        a, b = (torch.stack([t, -t], 2).flatten(1)[:, ::2] for t in (a, b))
    if edge == "expanded":
        a = a[:1].expand(n, d)
    return a, b


# %% checks
with check(
    "example",
    "two points and three points in the plane",
    weight=3,
    required=True,
    hint=(
        "Which two points belong to entry [0, 2], and how far apart are they?",
        "Compute differences of shape (n, m, d). Square them, sum over the last dimension, and take the square root.",
    ),
):
    t = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    other = torch.tensor([[3.0, 0.0], [0.0, 4.0], [6.0, 8.0]])
    want = torch.tensor([[3.0, 4.0, 10.0], [4.0, 3.0, 5.0]])
    explain(
        pairwise_distances(t, other),
        want,
        {
            "this is the squared distance": want.square(),
            "this is the sum of the absolute differences": torch.tensor([[3.0, 4.0, 14.0], [4.0, 3.0, 7.0]]),
            "rows and columns are swapped: entry [i, j] belongs to a[i] and b[j]": want.T,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other numbers of points and dimensions, and float64",
    weight=3,
    required=True,
    hint="Which sizes can n, m and d have? Which of them does your code assume?",
):
    arguments.assert_results(pairwise_distances, "", "one point", "one dimension", "float64", rtol=1e-3, atol=0)
with check(
    "equal_sizes",
    "n, m and d are equal",
    weight=2,
    hint="If the sizes are equal, a difference without a new dimension works too. What does it compare?",
):
    arguments.assert_results(pairwise_distances, "equal sizes", rtol=1e-3, atol=0)
with check(
    "far_from_zero",
    "points that are close together and far from the origin",
    weight=3,
    hint="Which two large numbers are subtracted in your code, and how many of their digits agree?",
):
    arguments.assert_results(pairwise_distances, "close together", "float64, close together", rtol=1e-3, atol=0)
with check(
    "two_groups",
    "two groups far from the origin, on opposite sides of it",
    weight=2,
    hint="Does moving the points or computing in float64 help if you then subtract two large numbers?",
):
    arguments.assert_results(pairwise_distances, "two groups", "two groups, float64", rtol=1e-3, atol=0)
with check(
    "thirty_points",
    "two groups of thirty points far from the origin",
    weight=2,
    hint="Do you call a PyTorch function that computes distances? What does it do for more than 25 points?",
):
    arguments.assert_results(pairwise_distances, "thirty points", "thirty others, float64", rtol=1e-3, atol=0)
with check(
    "size", "tiny and huge distances", hint="Does your code compare a distance with a number, or add one to it?"
):
    arguments.assert_results(pairwise_distances, "tiny", "tiny and huge", rtol=1e-3, atol=0)
with check(
    "same_point",
    "equal points have distance 0",
    hint="Can the number under your square root be negative or nearly 0?",
):
    arguments.assert_results(pairwise_distances, "the same points", "some points equal", rtol=1e-3, atol=0)
with check("non_contiguous", "transposed, sliced and expanded arguments", guard=True):
    arguments.assert_results(pairwise_distances, "transposed", "every second column", "expanded", rtol=1e-3, atol=0)
with check("empty", "no points give an empty table, and points without coordinates give zeros", guard=True):
    arguments.assert_results(pairwise_distances, "no point", "no other point", "no dimension")
with check("keeps_input", "a and b keep their values", guard=True):
    arguments.assert_arguments(pairwise_distances)


# %% right "cdist without the expansion"
def pairwise_distances(a, b):
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


# %% right "a norm of the differences"
def pairwise_distances(a, b):
    return torch.linalg.vector_norm(a.unsqueeze(1) - b, dim=-1)


# %% right "row by row"
def pairwise_distances(a, b):
    table = a.new_empty(len(a), len(b))
    for i, point in enumerate(a):
        table[i] = ((b - point) ** 2).sum(dim=1).sqrt()
    return table


# %% right "one coordinate after the other, with hypot"
def pairwise_distances(a, b):
    total = a.new_zeros(len(a), len(b))
    for i in range(a.shape[1]):
        total = torch.hypot(total, a[:, i, None] - b[:, i])
    return total


# %% right "einsum squares and adds up"
def pairwise_distances(a, b):
    difference = a[:, None] - b[None]
    return torch.einsum("nmd,nmd->nm", difference, difference).sqrt()


# %% wrong "cdist takes care of it" fails=thirty_points
def pairwise_distances(a, b):
    return torch.cdist(a, b)


# %% wrong "the squared distance is a distance" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,size,same_point,non_contiguous
def pairwise_distances(a, b):
    return (a[:, None] - b).square().sum(-1)


# %% wrong "a distance is a sum of absolute differences" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,size,same_point,non_contiguous
def pairwise_distances(a, b):
    return (a[:, None] - b).abs().sum(-1)


# %% wrong "b comes first" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,size,same_point,non_contiguous,empty
def pairwise_distances(a, b):
    return (b[:, None] - a).square().sum(-1).sqrt()
