# %% given
@probes.probe
def count_fused_calls(attention, q, k, v, causal):
    """How many operations of scaled_dot_product_attention run in attention(q, k, v, causal)."""
    counts = probes.operations(attention, q, k, v, causal)
    return sum(n for name, n in counts.items() if "scaled_dot_product" in name or "safe_softmax" in name)


# %% exercise
def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Scaled dot-product attention: for each position, a weighted mean of the rows of v.

    q, k and v have shape (n, heads, t, d), and so does the result.
    The score of positions i and j is the dot product of q's row i and k's row j, divided by the square root of d.
    The weights of position i are the softmax of its scores over all j.
    If causal is True, only positions j up to i take part in that softmax, and the weights of later ones are 0.
    Doesn't call scaled_dot_product_attention, directly or indirectly.

    Details:
    - q, k, v: all float32 or all float64, like the result, with any strides. They aren't changed.
    - n may be 0; the other sizes are at least 1.
    - Scores may be as large as 1000 or as low as -1000, which torch's softmax can handle.
    """
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(dim=-1) @ v
    ### END SOLUTION


# %% promises
# Scaled dot-product attention -> example, other_cases
# q, k and v have shape -> other_cases, non_contiguous
# The score of positions -> example, other_cases, equal_sizes
# The weights of position -> example, other_cases
# If causal is True -> causal_example, causal
# Doesn't call -> by_hand
# q, k, v: all float32 -> other_cases, non_contiguous, example
# They aren't changed -> keeps_input
# n may be 0; the other sizes -> empty, sizes_of_one, equal_sizes
# Scores may be -> large_scores


# %% domain
@domain(
    reference,
    *("float64", "causal", "causal, float64", "one position", "one head", "one feature", "large scores", "no sample"),
    *(
        "as many features as positions",
        "as many heads as positions",
        "all equal",
        "large scores, causal",
        "low scores, causal",
        "many positions, causal",
    ),
    *("transposed", "features first", "every second feature", "expanded"),
)
def arguments(draw, edge):
    n, heads, d, t = draw(st.integers(1, 2)), draw(st.integers(3, 4)), draw(st.integers(5, 6)), draw(st.integers(7, 8))
    n = {"no sample": 0, "all equal": 4}.get(edge, n)
    heads = {"one head": 1, "as many heads as positions": t, "all equal": 4}.get(edge, heads)
    d = {"one feature": 1, "as many features as positions": t, "all equal": 4}.get(edge, 4 if "scores" in edge else d)
    t = {"one position": 1, "all equal": 4, "causal": 7, "causal, float64": 7, "many positions, causal": 300}.get(
        edge, t
    )
    q, k, v = (torch.randn(n, heads, t, d, dtype=torch.float64, generator=draw.make_generator()) for _ in range(3))
    if "large scores" in edge:  # integers, so scores are exact
        q, k = (q * 20).round(), (k * 20).round()
    if edge == "low scores, causal":  # -1000 or a little more
        q, k = torch.full_like(q, 20.0), (k > 0) * 0.25 - 25
    q, k, v = (x if "float64" in edge else x.float() for x in (q, k, v))
    if edge == "transposed":
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    if edge == "features first":
        q, k, v = (x.mT.contiguous().mT for x in (q, k, v))
    if edge == "every second feature":
        q, k, v = (torch.stack([x, -x], -1).flatten(-2)[..., ::2] for x in (q, k, v))
    if edge == "expanded":
        k, v = (x[:, :1].expand(x.shape) for x in (k, v))
    causal = "causal" in edge or "many" in edge or edge == "all equal"
    return q, k, v, causal or (edge not in ("", "float64", "large scores") and draw(st.booleans()))


# %% checks
with check(
    "example",
    "two positions: the first takes nine tenths of its own row, and the second takes half of each",
    weight=2,
    required=True,
    hint=(
        "q @ k.mT has a row for each position of q. Over which dimension should the weights add up to 1?",
        "Divide by the square root of d, q's last size. Then take softmax(dim=-1), and multiply by v.",
    ),
):
    q, k = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4)
    q[0, 0, 0, 0], k[0, 0, 0, 0], k[0, 0, 1, 0] = 2 * torch.tensor(3.0).log(), 1, -1  # so each weight is a fraction
    v = torch.tensor([[[[4.0, 8.0, 0.0, 1.0], [8.0, -2.0, 1.0, 3.0]]]])
    want = torch.tensor([[0.9, 0.1], [0.5, 0.5]]) @ v
    unscaled = torch.tensor([[81 / 82, 1 / 82], [0.5, 0.5]]) @ v
    by_d = torch.tensor([[0.75, 0.25], [0.5, 0.5]]) @ v
    columns = torch.tensor([[0.75, 0.25], [0.25, 0.75]]) @ v
    explain(
        attention(q.clone(), k.clone(), v.clone(), False),
        want,
        {
            "the scores weren't divided by the square root of d": unscaled,
            "the scores were divided by d instead of its square root": by_d,
            "the softmax was taken over q's positions, but each row of weights must add up to 1": columns,
        },
    )
with check(
    "causal_example",
    "causal: the first position sees only itself",
    weight=2,
    hint=(
        "Which scores are above the diagonal, and what should the softmax turn them into?",
        "Before the softmax, set the scores with j > i to -inf: torch.ones(t, t, dtype=torch.bool).triu(1) marks them "
        "on the CPU; on another device, pass device=q.device too.",
    ),
):
    q, k = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4)
    q[0, 0, 0, 0], k[0, 0, 0, 0], k[0, 0, 1, 0] = 2 * torch.tensor(3.0).log(), 1, -1
    v = torch.tensor([[[[4.0, 8.0, 0.0, 1.0], [8.0, -2.0, 1.0, 3.0]]]])
    want = torch.tensor([[1.0, 0.0], [0.5, 0.5]]) @ v
    explain(
        attention(q.clone(), k.clone(), v.clone(), True),
        want,
        {
            "the wrong triangle is masked": torch.tensor([[0.9, 0.1], [0.0, 1.0]]) @ v,
            "after this mask, the weights in a row don't add up to 1": torch.tensor([[0.9, 0.0], [0.5, 0.5]]) @ v,
            "a masked score of 0 still gets a weight": torch.tensor([[0.75, 0.25], [0.5, 0.5]]) @ v,
            "causal had no effect": torch.tensor([[0.9, 0.1], [0.5, 0.5]]) @ v,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes and float64",
    weight=2,
    required=True,
    hint="Which dimensions does .mT swap, and which does .T?",
):
    arguments.assert_results(attention, "", "float64")
with check("causal", "a causal mask, with more positions", weight=2, hint="Which positions can position 2 see?"):
    arguments.assert_results(attention, "causal, float64", "causal", "many positions, causal")
with check(
    "equal_sizes", "equal sizes", hint="If two sizes are equal, a wrong dimension works too. Which one do you use?"
):
    arguments.assert_results(attention, "as many features as positions", "as many heads as positions", "all equal")
with check("sizes_of_one", "one position, one head, one feature", hint="Is there a squeeze() in your code?"):
    arguments.assert_results(attention, "one position", "one head", "one feature")
with check("large_scores", "scores far from 0", hint="What is exp(1000)? What does softmax() do about it?"):
    arguments.assert_results(attention, "large scores", "large scores, causal", "low scores, causal")
with check(
    "non_contiguous",
    "arguments that are transposed, sliced or expanded",
    hint="Which of your calls requires certain strides?",
):
    arguments.assert_results(attention, "transposed", "features first", "every second feature", "expanded")
with check(
    "by_hand", "without scaled_dot_product_attention", weight=2, observed=True, hint="Which function did you call?"
):
    t = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)
    for mask in (False, True):
        assert_close(count_fused_calls(attention, t, t * 2, t - 1, mask), 0, name="the number of its operations")
with check("empty", "no sample", guard=True):
    arguments.assert_results(attention, "no sample")
with check("keeps_input", "q, k and v keep their values", guard=True, hint="Which in-place operation do you use?"):
    arguments.assert_arguments(attention)


# %% right "einsum, and an additive mask"
def attention(q, k, v, causal):
    scores = torch.einsum("nhid,nhjd->nhij", q, k).div(q.size(-1) ** 0.5)
    if causal:
        scores = scores + torch.full(scores.shape[2:], float("-inf"), dtype=q.dtype).triu(1)
    return torch.einsum("nhij,nhjd->nhid", torch.softmax(scores, -1), v)


# %% right "where, positions compared, and softmax by hand"
def attention(q, k, v, causal):
    t = torch.arange(q.shape[2])
    scores = torch.matmul(q * q.shape[3] ** -0.5, k.transpose(2, 3))
    if causal:
        scores = torch.where(t[:, None] >= t, scores, -torch.inf)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    return weights @ v / weights.sum(-1, keepdim=True)


# %% right "one batch of matrices"
def attention(q, k, v, causal):
    a, b, c = (x.flatten(0, 1) for x in (q, k, v))
    scores = torch.bmm(a, b.mT) / a.shape[-1] ** 0.5
    if causal:
        scores.masked_fill_(torch.ones_like(scores).tril() == 0, -torch.inf)
    return torch.bmm(scores.softmax(2), c).reshape(q.shape)


# %% wrong "the library has it" fails=by_hand
def attention(q, k, v, causal):
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


# %% wrong "the softmax makes a scale unnecessary" fails=example,other_cases,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    scores = q @ k.mT
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) == 1, float("-inf"))
    return scores.softmax(dim=-1) @ v


# %% wrong "divided by d" fails=example,other_cases,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    scores = q @ k.mT / q.shape[-1]
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) == 1, float("-inf"))
    return scores.softmax(dim=-1) @ v


# %% wrong "the softmax goes over the positions of q" fails=example,causal_example,other_cases,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) == 1, float("-inf"))
    return scores.softmax(dim=-2) @ v


# %% wrong "the lower triangle is masked" fails=causal_example,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril(-1) == 1, float("-inf"))
    return scores.softmax(dim=-1) @ v


# %% wrong "the weights are masked" fails=causal_example,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    return (weights.tril() if causal else weights) @ v


# %% wrong "masked scores are 0" fails=causal_example,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return (scores.tril() if causal else scores).softmax(dim=-1) @ v


# %% wrong "masked_fill works in place" fails=causal_example,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous
def attention(q, k, v, causal):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) == 1, float("-inf"))
    return scores.softmax(dim=-1) @ v


# %% wrong "a mask of t by d" fails=causal_example,causal,equal_sizes,sizes_of_one,large_scores,non_contiguous,by_hand,empty raises=RuntimeError
def attention(q, k, v, causal):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(q.shape[-2:]).triu(1) == 1, float("-inf"))
    return scores.softmax(dim=-1) @ v
