# %% given
# The checks call your function through this probe, too.
@probes.probe
def attended_again(function, x, weights, heads):
    """The result after the matrices were changed in place since an earlier call."""
    function(x, list(weights), heads, False)
    for w in weights:
        w.mul_(-0.5)
    return function(x, weights, heads, False)


# %% exercise
def multi_head_attention(x: Tensor, weights: list[Tensor], heads: int, causal: bool) -> Tensor:
    """Self-attention in several heads: each position of x collects information from positions of the same sequence.

    x has shape (n, t, f), and weights contains four matrices of shape (f, f): query, key, value and output.
    The queries are x @ query, the keys x @ key, and the values x @ value.
    Head i gets the i-th group of adjacent features of each, of size f / heads.
    Each head computes what scaled_dot_product_attention(q, k, v, is_causal=causal) gives for its q, k and v alone.
    Then the heads are merged: each position has head 0's features, followed by head 1's and so on.
    Returns the merged features @ output, of shape (n, t, f), in x's dtype.

    Details:
    - x and the matrices: all float32 or all float64, any strides. The matrices may share memory.
    - x, the matrices and the list aren't changed.
    - n may be 0; t and f are at least 1. heads divides f, and may be 1 or f.
    - A position's scores may be up to 1e5 apart.
    """
    ### BEGIN SOLUTION
    query, key, value, output = weights
    q, k, v = ((x @ w).unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2) for w in (query, key, value))
    attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return attended.transpose(1, 2).flatten(2) @ output
    ### END SOLUTION


# %% promises
# Self-attention in several -> example, other_cases
# x has shape -> example, other_cases, equal_sizes
# The queries are x -> example, other_cases, equal_sizes, sizes_of_one, called_again
# Head i gets -> example, other_cases, equal_sizes, sizes_of_one
# Each head computes -> example, causal_example, causal, other_cases
# Then the heads are merged -> example, other_cases, equal_sizes
# Returns the merged features -> example, other_cases
# x and the matrices -> other_cases, layouts
# The matrices may share -> layouts
# x, the matrices and the list -> keeps_input
# n may be 0 -> empty, sizes_of_one
# heads divides f -> sizes_of_one
# A position's scores -> causal


# %% domain
@domain(
    reference,
    *("float64", "causal", "causal, float64", "one position", "one sample", "no sample", "one head", "f heads"),
    *("as many heads as positions", "as many samples as heads", "features as positions", "all equal"),
    *("causal, scores far apart", "causal, many positions"),
    *("positions first", "features first", "every second feature", "stored by columns", "slices of one matrix"),
    *("key is query.T", "value is query.T"),
)
def arguments(draw, edge):
    n, heads, d, t = draw(st.integers(2, 3)), draw(st.integers(4, 5)), draw(st.integers(2, 3)), draw(st.integers(6, 7))
    n = {"one sample": 1, "no sample": 0, "as many samples as heads": heads, "all equal": 3}.get(edge, n)
    t = {"one position": 1, "as many heads as positions": heads, "features as positions": d}.get(edge, t)
    t = {"causal": 7, "causal, float64": 7, "causal, many positions": 300}.get(edge, t)
    heads, d, t = {"one head": (1, 6, t), "f heads": (6, 1, t), "all equal": (3, 3, 3)}.get(edge, (heads, d, t))
    f, g = heads * d, draw.make_generator()
    x, w = (torch.randn(shape, dtype=torch.float64, generator=g) for shape in ((n, t, f), (4, f, f)))
    x, w = (part if "float64" in edge else part.float() for part in (x, w * 1.5 / f**0.5))
    if "far apart" in edge:
        x = x * 40
    if edge == "positions first":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    if edge == "features first":
        x = x.mT.contiguous().mT
    if edge == "every second feature":
        x = torch.stack([x, -x], -1).flatten(-2)[..., ::2]
    if edge == "stored by columns":
        w = w.mT.contiguous().mT
    if edge == "slices of one matrix":
        w = torch.cat(w.unbind(), 1).unflatten(1, (4, f)).transpose(0, 1)
    if edge in ("key is query.T", "value is query.T"):
        q, other = w[0], w[1]
        w = [q, q.T, other, other.T] if edge == "key is query.T" else [q, other, q.T, other.T]
    plain = edge in ("", "float64", "one position")
    return x, list(w), heads, "causal" in edge or (not plain and draw(st.booleans()))


# %% checks
with check(
    "example",
    "two heads: position 0 takes nine tenths of its own value in head 0, and half of it in head 1",
    weight=2,
    required=True,
    hint=(
        "Write down the shape after each of the five steps. Where do position 0's features of head 1 end up?",
        "Split x @ query, x @ key and x @ value, and let the heads attend. Then undo the split: first swap heads and "
        "positions, then join heads and features. Last comes @ output.",
    ),
):
    t, query, key = torch.eye(4)[None, :2], torch.zeros(4, 4), torch.zeros(4, 4)  # a projection of t: two rows of a w
    query[0, 0], query[1, 3] = 2**0.5 * torch.tensor(3.0).log(), 0.5**0.5 * torch.tensor(3.0).log()
    key[0, 0], key[1, 0], key[0, 3], key[1, 3] = 1, -1, 1, -1
    value, output = torch.tensor([[4.0, 8, 2, 6], [8, -2, 4, 0], [3, 3, 3, 3], [5, 5, 5, 5]]), torch.eye(4).flip(1) * 2
    head_0 = torch.tensor([[0.9, 0.1], [0.5, 0.5]]) @ value[:2, :2]
    head_1 = torch.tensor([[0.5, 0.5], [0.75, 0.25]]) @ value[:2, 2:]
    joined = torch.cat([head_0, head_1], dim=1)[None]
    near = (torch.tensor([2**0.5, 0.5**0.5]) * torch.tensor(3.0).log()).sigmoid()  # the weights of position 0
    explain(
        multi_head_attention(t.clone(), [query, key, value, output], 2, False),
        joined @ output,
        {
            "the heads were joined without moving their dimension back: a row has one head at two positions": (
                torch.stack([head_0.flatten(), head_1.flatten()])[None] @ output
            ),
            "the last step is missing: the merged features @ output": joined,
            "a single head got all features": torch.stack([near, 1 - near], 1)[None] @ value[:2] @ output,
        },
    )
with check(
    "causal_example",
    "causal: in both heads, position 0 sees only itself",
    weight=2,
    hint=("Does causal reach the function that computes the attention?", "Pass causal on to your attention."),
):
    t, query, key = torch.eye(4)[None, :2], torch.zeros(4, 4), torch.zeros(4, 4)
    query[0, 0], query[1, 3] = 2**0.5 * torch.tensor(3.0).log(), 0.5**0.5 * torch.tensor(3.0).log()
    key[0, 0], key[1, 0], key[0, 3], key[1, 3] = 1, -1, 1, -1
    value, output = torch.tensor([[4.0, 8, 2, 6], [8, -2, 4, 0], [3, 3, 3, 3], [5, 5, 5, 5]]), torch.eye(4).flip(1) * 2
    last = [(value[0, :2] + value[1, :2]) / 2, 0.75 * value[0, 2:] + 0.25 * value[1, 2:]]
    open_ = [0.9 * value[0, :2] + 0.1 * value[1, :2], (value[0, 2:] + value[1, 2:]) / 2]
    explain(
        multi_head_attention(t.clone(), [query, key, value, output], 2, True),
        torch.stack([value[0], torch.cat(last)])[None] @ output,
        {"causal had no effect": torch.stack([torch.cat(open_), torch.cat(last)])[None] @ output},
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes and float64",
    weight=2,
    required=True,
    hint="Try three heads, five positions and a batch of two. Which of your steps mixes positions or samples?",
):
    arguments.assert_results(multi_head_attention, "", "float64")
with check("causal", "a causal mask, with more positions", weight=2, hint="Which positions can position 2 see?"):
    arguments.assert_results(multi_head_attention, "causal, float64", "causal", "causal, scores far apart")
    arguments.assert_results(multi_head_attention, "causal, many positions")
with check(
    "equal_sizes",
    "equal sizes",
    hint="If two sizes are equal, a wrong dimension gives the right shape. Which one do you swap or join?",
):
    arguments.assert_results(multi_head_attention, "as many heads as positions", "as many samples as heads")
    arguments.assert_results(multi_head_attention, "features as positions", "all equal")
with check(
    "sizes_of_one",
    "one position, one sample, one head, one feature for each head",
    hint="Is there a squeeze() in your code?",
):
    arguments.assert_results(multi_head_attention, "one position", "one sample", "one head", "f heads")
with check(
    "layouts",
    "x and matrices that are transposed, or slices of others",
    hint="Which of your calls requires certain strides?",
):
    arguments.assert_results(multi_head_attention, "positions first", "features first", "every second feature")
    arguments.assert_results(multi_head_attention, "stored by columns", "slices of one matrix")
    arguments.assert_results(multi_head_attention, "key is query.T", "value is query.T")
with check("empty", "no sample", guard=True, hint="Which of your sizes is -1? It can't be computed from no elements."):
    arguments.assert_results(multi_head_attention, "no sample")
with check(
    "called_again",
    "a second call, after the matrices were changed in place",
    hint="What does your function remember from an earlier call?",
):
    g = torch.Generator().manual_seed(3)
    t, ws = torch.randn(2, 5, 6, generator=g), [torch.randn(6, 6, generator=g) / 3 for _ in range(4)]
    want = reference.function(t, [w * -0.5 for w in ws], 2, False)
    assert_close(attended_again(multi_head_attention, t, ws, 2), want)
with check("keeps_input", "x, the matrices and the list keep their values", guard=True, hint="Does a call end in _?"):
    arguments.assert_arguments(multi_head_attention, rtol=0, atol=0)


# %% right "with the earlier exercises"
def multi_head_attention(x, weights, heads, causal):
    q, k, v = (split_heads(x @ w, heads) for w in weights[:3])
    return attention(q, k, v, causal).transpose(1, 2).reshape(x.shape) @ weights[3]


# %% right "head by head, each with its columns"
def multi_head_attention(x, weights, heads, causal):
    parts = []
    for q, k, v in zip(*(w.chunk(heads, dim=1) for w in weights[:3])):
        scores = (x @ q) @ (x @ k).mT / q.shape[1] ** 0.5
        if causal:
            scores = scores + torch.full(scores.shape[1:], float("-inf"), dtype=x.dtype).triu(1)
        parts.append(scores.softmax(-1) @ (x @ v))
    return torch.cat(parts, -1) @ weights[3]


# %% right "einsum, and each head's share of the output"
def multi_head_attention(x, weights, heads, causal):
    d = x.shape[-1] // heads
    q, k, v = torch.einsum("ntf,pfhd->pnhtd", x, torch.stack(weights[:3]).unflatten(-1, (heads, d)))
    scores = torch.einsum("nhid,nhjd->nhij", q, k) * d**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1]).tril() == 0, -torch.inf)
    return torch.einsum("nhij,nhjd,hdf->nif", scores.softmax(-1), v, weights[3].unflatten(0, (heads, d)))


# %% wrong "reshape merges the heads" fails=example,causal_example,other_cases,causal,equal_sizes,sizes_of_one,layouts,called_again
def multi_head_attention(x, weights, heads, causal):
    q, k, v = (split_heads(x @ w, heads) for w in weights[:3])
    return attention(q, k, v, causal).reshape(x.shape) @ weights[3]


# %% wrong "merged heads are the result" fails=example,causal_example,other_cases,causal,equal_sizes,sizes_of_one,layouts,called_again
def multi_head_attention(x, weights, heads, causal):
    q, k, v = (split_heads(x @ w, heads) for w in weights[:3])
    return attention(q, k, v, causal).transpose(1, 2).flatten(2)


# %% wrong "one head with all features is the same" fails=example,causal_example,other_cases,causal,equal_sizes,sizes_of_one,layouts,called_again
def multi_head_attention(x, weights, heads, causal):
    q, k, v = (split_heads(x @ w, 1) for w in weights[:3])
    return attention(q, k, v, causal).squeeze(1) @ weights[3]


# %% wrong "queries see only earlier positions anyway" fails=causal_example,causal,equal_sizes,sizes_of_one,layouts
def multi_head_attention(x, weights, heads, causal):
    q, k, v = (split_heads(x @ w, heads) for w in weights[:3])
    return attention(q, k, v, False).transpose(1, 2).flatten(2) @ weights[3]


# %% equivalent "first two arguments swapped: q, k, v = ((x @ w).unflatten(-1, (heads, x.shape[-1] // heads)).transpose(2, 1) for w in (query, key, value))"
# transpose(a, b) and transpose(b, a) swap the same two dimensions.

# %% equivalent "first two arguments swapped: return attended.transpose(2, 1).flatten(2) @ output"
# transpose(a, b) and transpose(b, a) swap the same two dimensions.

# %% equivalent "an argument that equals the result returned instead of it"
# Only without samples does the result equal x, and then neither has an element.
