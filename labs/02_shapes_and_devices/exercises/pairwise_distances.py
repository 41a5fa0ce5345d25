# %% exercise
def pairwise_distances(a: Tensor, b: Tensor) -> Tensor:
    """The Euclidean distance of each point in a from each point in b.

    a: shape (n, d), b: shape (m, d), of one dtype, float32 or float64, any strides; n, m and d may differ, or be equal.
    Returns shape (n, m) and that dtype: entry [i, j] belongs to a[i] and b[j]. The distances lie between 1e-15 and 1e15,
    or are 0. Each has a relative error of at most 1e-3, also where points are close together and far from zero. So equal
    points have the distance 0. n, m and d may be 0.
    """
    ### BEGIN SOLUTION
    return (a[:, None, :] - b[None, :, :]).square().sum(dim=-1).sqrt()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "two points and three points in the plane",
    weight=3,
    required=True,
    hint=(
        "Which two points belong to entry [0, 2], and how far apart are they?",
        "Make differences of shape (n, m, d). Over the last dimension: the squares, their sum, its root.",
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
            "rows and columns are exchanged: entry [i, j] belongs to a[i] and b[j]": want.T,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other numbers of points, dimensions and float64",
    weight=3,
    required=True,
    hint="Which sizes can n, m and d have? Which of them did you fix?",
):
    for n, m, d, dtype in ((4, 7, 3, torch.float32), (6, 2, 5, torch.float64), (1, 5, 1, torch.float32)):
        generator = torch.Generator().manual_seed(n)
        t = torch.randn(n, d, dtype=dtype, generator=generator)
        other = torch.randn(m, d, dtype=dtype, generator=generator)
        rows = [
            [sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()
        ]
        assert_close(pairwise_distances(t, other), torch.tensor(rows, dtype=dtype))
with check(
    "equal_sizes",
    "n, m and d are equal",
    weight=2,
    hint="With equal sizes, a difference without a new dimension fits too. What does it compare?",
):
    t = torch.tensor([[0.5, 2.0, -1.0], [3.0, 0.0, 1.0], [-2.0, 1.0, 4.0]])
    other = torch.tensor([[1.0, 1.0, 0.0], [0.0, -3.0, 2.0], [5.0, 0.5, 0.5]])
    rows = [[sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()]
    assert_close(pairwise_distances(t, other), torch.tensor(rows))
with check(
    "far_from_zero",
    "points close together and far from zero",
    weight=3,
    hint="Which two large numbers are subtracted in your code, and how many of their digits agree?",
):
    offsets = torch.tensor([[0.0, 0.0, 0.0], [0.25, -0.5, 0.125], [1.0, 0.5, -0.25], [0.0, 0.03125, 0.0]])
    t, other = offsets + 1000.0, offsets.flip(0)[:3] - torch.tensor([0.0, 0.0625, 0.0]) + 1000.0
    exact = [
        [sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.double().tolist()]
        for a in t.double().tolist()
    ]
    assert_close(pairwise_distances(t, other), torch.tensor(exact), rtol=1e-3, atol=1e-6)
with check(
    "two_groups",
    "two groups far from zero, on either side of it",
    weight=2,
    hint="Does it help to move the points, or to compute in float64, if two large numbers are subtracted afterwards?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([[1e6, 0.01], [1e6, 0.05], [-1e6, 0.02], [-1e6, -0.01]], dtype=dtype)
        other = torch.tensor([[-1e6, 0.0], [1e6, 0.03], [1e6, -0.02]], dtype=dtype)
        exact = [
            [sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()
        ]
        assert_close(pairwise_distances(t, other), torch.tensor(exact, dtype=dtype), rtol=1e-3, atol=1e-8)
with check(
    "thirty_points",
    "thirty points close together and far from zero",
    weight=2,
    hint="Does a function of PyTorch compute it for you? What does it do for more than 25 points?",
):
    generator = torch.Generator().manual_seed(3)
    t = torch.rand(30, 3, generator=generator) + 500.0
    other = torch.rand(28, 3, generator=generator) + 500.0
    want = (t.double()[:, None] - other.double()).square().sum(-1).sqrt().float()
    assert_close(pairwise_distances(t, other), want, rtol=1e-3, atol=1e-4)
with check(
    "same_point",
    "a point has the distance 0 from itself",
    hint="Can your number under the root be negative, or nearly 0?",
):
    t = torch.tensor([[123.4, -567.8, 0.1], [-0.7, 33.3, 912.1]])
    apart = sum((p - q) ** 2 for p, q in zip(*t.double().tolist(), strict=True)) ** 0.5
    want = torch.tensor([[0.0, apart], [apart, 0.0]])
    got = pairwise_distances(t, t)
    assert_close(got, want, rtol=1e-5, atol=1e-6)
    assert_close(got.diagonal(), torch.zeros(2), rtol=0, atol=0)
with check("non_contiguous", "transposed and sliced arguments, which keep their values", guard=True):
    table = torch.arange(24.0).reshape(4, 6).sin()
    t, other = table.T[:, ::2], table.T[1:4, 1::2]
    rows = [[sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()]
    assert_close(unchanged(pairwise_distances, t, other), torch.tensor(rows))
with check("empty", "no points give an empty table, and points without coordinates zeros", guard=True):
    assert_close(pairwise_distances(torch.empty(0, 3), torch.ones(2, 3)), torch.empty(0, 2))
    assert_close(pairwise_distances(torch.ones(4, 3), torch.empty(0, 3)), torch.empty(4, 0))
    assert_close(pairwise_distances(torch.empty(2, 0), torch.empty(3, 0)), torch.zeros(2, 3))


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


# %% wrong "clamp repairs the expansion" fails=far_from_zero,two_groups,thirty_points
def pairwise_distances(a, b):
    squares = a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * a @ b.T
    return squares.clamp(min=0).sqrt()


# %% wrong "the squared distance is a distance" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,same_point,non_contiguous
def pairwise_distances(a, b):
    return (a[:, None] - b).square().sum(-1)


# %% wrong "a distance is a sum of absolute differences" fails=example,other_cases,equal_sizes,far_from_zero,thirty_points,same_point,non_contiguous
def pairwise_distances(a, b):
    return (a[:, None] - b).abs().sum(-1)


# %% wrong "b comes first" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,non_contiguous,empty
def pairwise_distances(a, b):
    return (b[:, None] - a).square().sum(-1).sqrt()


# %% wrong "a - b compares every point with every other" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,same_point,non_contiguous,empty raises=RuntimeError
def pairwise_distances(a, b):
    return (a - b).square().sum(-1).sqrt()


# %% wrong "a small number under the root for safety" fails=other_cases,same_point,empty
def pairwise_distances(a, b):
    return ((a[:, None] - b).square().sum(-1) + 1e-8).sqrt()


# %% wrong "a tiny number under the root changes nothing" fails=same_point
def pairwise_distances(a, b):
    return ((a[:, None] - b).square().sum(-1) + 1e-12).sqrt()


# %% wrong "in float64 the expansion is exact" fails=two_groups
def pairwise_distances(a, b):
    p, q = a.double(), b.double()
    squares = p.square().sum(1)[:, None] + q.square().sum(1) - 2 * p @ q.T
    return squares.clamp(min=0).sqrt().to(a.dtype)


# %% wrong "around their mean, points are near zero" fails=two_groups
def pairwise_distances(a, b):
    centre = b.mean(0)
    p, q = a - centre, b - centre
    squares = p.square().sum(1)[:, None] + q.square().sum(1) - 2 * p @ q.T
    return squares.clamp(min=0).sqrt()


# %% wrong "the sum goes over the middle" fails=example,other_cases,equal_sizes,far_from_zero,two_groups,thirty_points,same_point,non_contiguous,empty
def pairwise_distances(a, b):
    return (a[:, None] - b).square().sum(1).sqrt()
