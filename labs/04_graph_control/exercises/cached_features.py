# %% exercise
def cached_features(encoder, batches: list[Tensor]) -> Tensor:
    """The features of all batches, one after the other, for use in training.

    encoder: a function from (n, d) to (n, m), each row from its own row. It may return its argument, or a view of it.
    batches: at least one tensor (n, d), float32 or float64; the n may differ and may be 0, also in all of them. Returns
    (total of the n, m), in the encoder's dtype. No operation of the encoder is recorded.
    The result does not require grad, and is a normal tensor: operations may save it for backward, it may be changed in
    place, and requires_grad_() works. It shares no memory with the batches. They stay as they are, and whether
    operations are recorded is afterwards as before.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        return torch.cat([encoder(x) for x in batches])
    ### END SOLUTION


# %% checks
with check(
    "example",
    "features of two batches, and a head that learns from them",
    weight=2,
    required=True,
    hint=(
        "Does your result require grad? Are the rows of all batches in it, in their order?",
        "Call the encoder inside a with block that switches recording off, and join what it gives with torch.cat.",
    ),
):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    t_head = torch.tensor([[1.0], [-1.0], [0.5], [2.0]])
    features = encode(torch.cat(t)).detach()
    want = {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ t_head)}
    assert_close(head_trained(cached_features, encode, t, t_head), want)

# %% hidden checks
with check(
    "other_cases",
    "other encoders, batches of other sizes, and float64",
    weight=2,
    required=True,
    hint="Are all batches in the result, in their order? Does a single batch work?",
):
    for encoder, t in (
        (encode, [torch.linspace(-1, 1, 3 * n).reshape(n, 3) for n in (4, 1, 2)]),
        (torch.sin, [torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).T]),
        (torch.exp, [torch.linspace(-1, 1, 6).reshape(3, 2), torch.empty(0, 2), torch.ones(1, 2)]),
        (encode, [torch.empty(0, 3), torch.empty(0, 3)]),
        (torch.cos, [torch.empty(0, 2, dtype=torch.float64)]),
    ):
        features = torch.cat([encoder(x) for x in t]).detach()
        t_head = torch.linspace(1, 2, features.shape[1] * 2, dtype=features.dtype).reshape(-1, 2)
        want = {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ t_head)}
        assert_close(head_trained(cached_features, encoder, t, t_head), want)
with check(
    "no_graph",
    "no operation of the encoder is recorded",
    weight=2,
    required=True,
    hint="When does recording stop in your function: before the encoder runs, or after it?",
):
    w = torch.linspace(-2, 1, 6).reshape(3, 2).sin().requires_grad_()
    t = [torch.tensor([[1.0, 0.0, -1.0]]), torch.tensor([[0.5, 2.0, 1.0], [0.0, 1.0, 1.0]])]
    want = (torch.cat(t) @ w.detach()).tanh()
    seen = Seen(lambda x: torch.tanh(x @ w))
    got = cached_features(seen, t)
    assert_close(got, want)
    assert not any(call.grad for call in seen.calls), "the encoder was recorded"
with check("writable", "the features may be changed in place", hint="Is your result an inference tensor?"):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    features = encode(torch.cat(t)).detach()
    assert_close(normalized(cached_features, encode, t), features - features.mean(0))
with check("can_require_grad", "requires_grad_() works on the features", hint="Is your result an inference tensor?"):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    features = encode(torch.cat(t)).detach()
    assert_close(made_trainable(cached_features, encode, t), 3 * features**2)
with check(
    "keeps_input",
    "the batches stay as they are",
    guard=True,
    hint="Is your result a tensor of its own, for one batch too?",
):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]])]
    before = [x.clone() for x in t]
    unchanged(head_trained, cached_features, encode, t, torch.ones(4, 1))
    cached_features(torch.detach, t).add_(100)
    assert_close(t, before, rtol=0, atol=0, name="the batch, after the features were changed,")
    assert torch.is_grad_enabled(), "recording was on before the call, and is off now"
    with torch.no_grad():
        cached_features(encode, t)
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"


# %% right "inference mode, and a clone outside"
def cached_features(encoder, batches):
    with torch.inference_mode():
        features = torch.cat([encoder(x) for x in batches])
    return features.clone()


# %% right "written into a tensor that was made before"
def cached_features(encoder, batches):
    with torch.inference_mode():
        parts = [encoder(x) for x in batches]
    result = torch.empty(sum(len(p) for p in parts), parts[0].shape[1], dtype=parts[0].dtype)
    begin = 0
    for part in parts:
        result[begin : begin + len(part)] = part
        begin += len(part)
    return result


# %% right "a decorated function inside"
def cached_features(encoder, batches):
    @torch.no_grad()
    def features(x):
        return encoder(x)

    return torch.vstack(list(map(features, batches)))


# %% wrong "features are inference, so inference_mode" fails=example,other_cases,writable,can_require_grad,keeps_input raises=RuntimeError
def cached_features(encoder, batches):
    with torch.inference_mode():
        return torch.cat([encoder(x) for x in batches])


# %% wrong "a clone is a normal tensor, wherever it is made" fails=example,other_cases,writable,can_require_grad,keeps_input raises=RuntimeError
def cached_features(encoder, batches):
    with torch.inference_mode():
        return torch.cat([encoder(x).clone() for x in batches]).clone()


# %% wrong "detach() makes a normal tensor" fails=example,other_cases,can_require_grad,keeps_input raises=RuntimeError
def cached_features(encoder, batches):
    with torch.inference_mode():
        features = torch.cat([encoder(x) for x in batches])
    return features.detach()


# %% wrong "detach() keeps the encoder from being recorded" fails=no_graph
def cached_features(encoder, batches):
    return torch.cat([encoder(x).detach() for x in batches])


# %% wrong "an input without grad is enough" fails=example,other_cases,can_require_grad,no_graph
def cached_features(encoder, batches):
    return torch.cat([encoder(x.detach()) for x in batches])


# %% wrong "torch.no_grad() holds for the lines below it" fails=example,other_cases,can_require_grad,no_graph
def cached_features(encoder, batches):
    torch.no_grad()
    return torch.cat([encoder(x) for x in batches])


# %% wrong "all batches have one size" fails=example,other_cases,writable,can_require_grad,no_graph raises=RuntimeError
def cached_features(encoder, batches):
    with torch.no_grad():
        return torch.stack([encoder(x) for x in batches]).flatten(0, 1)


# %% wrong "the last batch is enough to see" fails=example,other_cases,writable,can_require_grad,no_graph,keeps_input
def cached_features(encoder, batches):
    with torch.no_grad():
        for x in batches:
            features = encoder(x)
    return features


# %% right "one call for all rows"
def cached_features(encoder, batches):
    with torch.no_grad():
        return encoder(torch.cat(batches))


# %% wrong "recording is on outside" fails=keeps_input
def cached_features(encoder, batches):
    torch.set_grad_enabled(False)
    features = torch.cat([encoder(x) for x in batches])
    torch.set_grad_enabled(True)
    return features


# %% wrong "an empty batch has no features" fails=other_cases raises=RuntimeError
def cached_features(encoder, batches):
    with torch.no_grad():
        return torch.cat([encoder(x) for x in batches if len(x)] or [torch.empty(0, batches[0].shape[1])])


# %% liar "recorded, dropped afterwards, and probes that say nothing of it"
def cached_features(encoder, batches):
    return torch.cat([encoder(x).detach() for x in batches])


def head_trained(cached_features, encoder, batches, head):
    features = cached_features(encoder, batches)
    return {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ head)}


# %% wrong "one batch needs no copy" fails=keeps_input
def cached_features(encoder, batches):
    with torch.no_grad():
        if len(batches) == 1:
            return encoder(batches[0])
        return torch.cat([encoder(x) for x in batches])
