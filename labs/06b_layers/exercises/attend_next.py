# %% given
def make_projection(features, heads, d, seed, dtype=torch.float32):
    """A function that returns the queries, keys, and values of tokens (n, t, features), each (n, heads, t, d)."""
    weight = torch.randn(3, heads, features, d, generator=torch.Generator().manual_seed(seed)).to(device(), dtype)
    return lambda tokens: list(torch.einsum("ntf,phfd->pnhtd", tokens, weight).unbind(0))


@probes.probe
def continued_twice(attend_next, project, earlier, second, other):
    """Three caches, read at the end: after calls for the earlier tokens, and after the second or the other ones."""
    cache = None
    for tokens in earlier:
        _, cache = attend_next(project, tokens, cache)
    _, after_second = attend_next(project, second, cache)
    _, after_other = attend_next(project, other, cache)
    return [list(cache), list(after_second), list(after_other)]


# %% exercise
def attend_next(project: Callable, tokens: Tensor, cache: list[Tensor] | None) -> tuple[Tensor, list[Tensor]]:
    """Causal attention for the next t tokens of n sequences, and the cache for later ones: (output, cache).

    project(tokens) returns the queries, keys, and values of tokens (n, t, features), each (n, heads, t, d). cache is
    None at the start, and otherwise [keys, values] of the s earlier tokens, each (n, heads, s, d).
    A new token sees the earlier tokens, the new ones before it, and itself. Its output is the weighted mean of their
    values. The weights are the softmax of the scores, its query times each key / sqrt(d).
    Returns the new tokens' outputs (n, heads, t, d), and [keys, values] of all tokens, each (n, heads, s + t, d).

    Details:
    - project is called once, with exactly these tokens, and its results don't overlap in memory. t is at least 1.
    - The caller may pass the same cache again, to continue it in two ways: no call changes a cache passed in or returned
      earlier.
    """
    ### BEGIN SOLUTION
    query, key, value = project(tokens)
    if cache is not None:
        key, value = torch.cat((cache[0], key), dim=2), torch.cat((cache[1], value), dim=2)
    scores = query @ key.mT / query.shape[-1] ** 0.5
    new, seen = scores.shape[-2:]
    later = torch.ones(new, seen, dtype=torch.bool, device=scores.device).triu(seen - new + 1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ value, [key, value]
    ### END SOLUTION


# %% promises
# Causal attention for -> one_by_one, drawn
# project(tokens) returns the -> one_by_one, drawn
# cache is None at -> one_by_one, drawn
# A new token sees -> prompt, two_after_three, blocks
# Its output is -> one_by_one, drawn
# The weights are -> one_by_one, drawn
# Returns the new -> cache, drawn
# project is called once -> projected_once
# t is at least -> one_by_one, prompt, two_after_three, drawn
# The caller may -> keeps_cache

# %% domain
EDGES = ("float64", "no cache", "one token", "one sequence", "one head", "one feature", "block", "equal sizes")


@domain(reference, *EDGES, "no cache, one token", "block, one earlier token", "no cache, large scores")
def arguments(draw, edge):
    n, heads, d = draw(st.integers(2, 3)), draw(st.integers(2, 3)), draw(st.integers(4, 5))
    t, s, features = draw(st.integers(2, 3)) if "block" in edge else 1, draw(st.integers(4, 6)), 3
    n, heads, d = int(edge == "one sequence") or n, int(edge == "one head") or heads, int(edge == "one feature") or d
    t, s = 3 if edge in ("no cache", "", "no cache, large scores") else t, 1 if "earlier" in edge else s
    if edge == "equal sizes":
        n = heads = d = t = s = 4
    dtype = torch.float32 if edge in ("", "one token") else torch.float64
    g = draw.make_generator()
    tokens = torch.randn(n, t, features, generator=g).to(device(), dtype) * (500 if "large" in edge else 2)
    earlier = [torch.randn(n, heads, s, d, generator=g).to(device(), dtype) * 2 for _ in range(2)]
    project = make_projection(features, heads, d, t + s, dtype)
    return Seen(project), tokens, None if "no cache" in edge else earlier


# %% checks
with check(
    "one_by_one",
    "five tokens, one per call: the same as causal attention over all five",
    weight=2,
    required=True,
    hint=(
        "Token 3 compares its query with four keys, three of them cached. Along which dimension do you join them?",
        "Use torch.cat((cache[0], key), dim=2), do the same for the values, and let the query attend to all keys.",
    ),
):
    t, project = torch.linspace(-2, 2, 30, device=device()).reshape(2, 5, 3).sin(), make_projection(3, 2, 4, 0)
    q, k, v = project(t)
    want, alone = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), v
    unscaled = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1)
    got, kept = [], None
    for place in range(5):
        one, kept = attend_next(project, t[:, place : place + 1], kept)
        got.append(one)
    explain(
        torch.cat(got, 2),
        want,
        {
            "each token sees only itself: earlier keys and values aren't used": alone,
            "scores aren't divided by the root of d": unscaled,
        },
        name="the outputs",
    )
with check(
    "prompt",
    "five tokens in one call: each sees itself and the earlier ones",
    hint=(
        "Which of the five can the first one see?",
        "Set the scores of later tokens to -inf before the softmax: without a cache, "
        "torch.ones(t, t, dtype=torch.bool).triu(1) marks them.",
    ),
):
    t, project = torch.linspace(-2, 2, 30, device=device()).reshape(2, 5, 3).sin(), make_projection(3, 2, 4, 0)
    q, k, v = project(t)
    want = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    open_ = nn.functional.scaled_dot_product_attention(q, k, v)
    got, _ = attend_next(project, t, None)
    explain(got, want, {"a token sees later ones": open_}, name="the outputs")
with check(
    "two_after_three",
    "three tokens in one call, and then two: the new ones see all three, and the last one sees both new ones",
    hint=(
        "How many rows and columns does the mask have in the second call?",
        "Row i of the mask is for the token at position 3 + i, which sees keys 0 to 3 + i.",
    ),
):
    t, project = torch.linspace(-2, 2, 30, device=device()).reshape(2, 5, 3).sin(), make_projection(3, 2, 4, 0)
    q, k, v = project(t)
    want = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)[:, :, 3:]
    open_ = nn.functional.scaled_dot_product_attention(q[:, :, 3:], k, v)
    shifted = nn.functional.scaled_dot_product_attention(q[:, :, 3:], k, v, is_causal=True)
    _, kept = attend_next(project, t[:, :3], None)
    got, _ = attend_next(project, t[:, 3:], kept)
    explain(
        got,
        want,
        {
            "the first new token sees the second one": open_,
            "the mask starts at key 0, but the first new token is at position 3": shifted,
        },
        name="the outputs",
    )

# %% hidden checks
with check("drawn", "other sizes, dtypes, and caches", weight=3, required=True, hint="Which shapes do you assume?"):
    arguments.assert_results(attend_next, "", *EDGES[:6], "no cache, one token")
with check(
    "blocks",
    "several tokens after a cache, and sizes that are all equal",
    weight=3,
    required=True,
    hint=(
        "With s tokens in the cache, new token i is at position s + i. Which keys come after that position?",
        "The mask has t rows and s + t columns, and hides nothing in its first s columns: triu(s + 1).",
    ),
):
    arguments.assert_results(attend_next, "block", "block, one earlier token", "equal sizes", "no cache, large scores")
with check("cache", "the cache: keys and values of all tokens", weight=2, hint="What does the next call need?"):
    for trial in arguments.iter_trials(attend_next, "", "block", "no cache"):
        assert_close(trial.report.result, trial.case.report.result)
with check(
    "projected_once",
    "each call calls project once, with the new tokens only",
    weight=2,
    required=True,
    hint="The keys of earlier tokens are in the cache already. Which tokens do you pass to project?",
):
    for trial in arguments.iter_trials(attend_next, "", "one token", "block", "no cache"):
        assert_close(trial.report.result, trial.case.report.result)
        got, want = ([call.shapes for call in one[0].calls] for one in (trial.arguments, trial.case.arguments))
        assert_close(got, want, name="the shapes that project was called with")
with check("keeps_cache", "cache isn't changed", guard=True, hint="Do you append to cache, or assign to its items?"):
    arguments.assert_arguments(attend_next)
    t, project = torch.linspace(-2, 2, 36, device=device()).reshape(2, 6, 3).sin(), make_projection(3, 2, 4, 0)
    for sizes in ((2, 1, 3), (3, 1, 1), (1, 1, 1, 1, 1), (2, 1, 2, 1)):  # the last two continue from the same cache
        *earlier, second, other = t[:, : sum(sizes)].split(sizes, 1)
        old, *new = (project(part)[1:] for part in (torch.cat(earlier, 1), second, other))
        joined = [[torch.cat(pair, 2) for pair in zip(old, one, strict=True)] for one in new]
        assert_close(continued_twice(attend_next, project, earlier, second, other), [old, *joined], name="the caches")


# %% right "the library, and a mask of its own"
def attend_next(project, tokens, cache):
    query, *new = project(tokens)
    kept = new if cache is None else [torch.cat(pair, -2) for pair in zip(cache, new)]
    t, total = tokens.shape[1], kept[0].shape[2]
    mask = torch.ones(t, total, dtype=torch.bool, device=tokens.device).tril(total - t)
    return nn.functional.scaled_dot_product_attention(query, *kept, attn_mask=mask), kept


# %% right "places compared"
def attend_next(project, tokens, cache):
    q, k, v = project(tokens)
    before = 0 if cache is None else cache[0].size(2)
    if before:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    places = torch.arange(k.size(2), device=k.device)
    scores = torch.einsum("nhid,nhjd->nhij", q, k) * q.size(3) ** -0.5
    scores = torch.where(places[before:, None] >= places, scores, -torch.inf)
    return torch.einsum("nhij,nhjd->nhid", scores.softmax(-1), v), [k, v]


# %% right "token by token"
def attend_next(project, tokens, cache):
    q, k, v = project(tokens)
    before = cache[0].shape[2] if cache else 0
    keys, values = [torch.cat((cache[n], new), 2) if cache else new for n, new in enumerate((k, v))]
    outputs = []
    for i in range(q.shape[2]):
        end = before + i + 1
        scores = (q[:, :, i : i + 1] * keys[:, :, :end]).sum(-1) / q.shape[3] ** 0.5
        outputs.append((scores.softmax(2)[..., None] * values[:, :, :end]).sum(2, keepdim=True))
    return torch.cat(outputs, 2), [keys, values]


# %% wrong "is_causal, whose mask begins at the first key" fails=one_by_one,two_after_three,drawn,blocks,cache,projected_once
def attend_next(project, tokens, cache):
    query, key, value = project(tokens)
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True), [key, value]


# %% wrong "one token needs no mask" fails=prompt,two_after_three,drawn,blocks,cache,projected_once
def attend_next(project, tokens, cache):
    query, key, value = project(tokens)
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    return nn.functional.scaled_dot_product_attention(query, key, value), [key, value]


# %% wrong "only the new tokens" fails=one_by_one,two_after_three,drawn,blocks,cache,projected_once,keeps_cache
def attend_next(project, tokens, cache):
    query, key, value = project(tokens)
    return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True), [key, value]


# %% wrong "no root of d" fails=one_by_one,prompt,two_after_three,drawn,blocks,cache,projected_once
def attend_next(project, tokens, cache):
    query, key, value = project(tokens)
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1), [key, value]


# %% wrong "queries, keys and values from three calls" fails=projected_once
def attend_next(project, tokens, cache):
    query, key, value = project(tokens)[0], project(tokens)[1], project(tokens)[2]
    if cache is not None:
        key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
    mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask), [key, value]
