# %% given
encoder_weight = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()


def encode(x):
    """(n, 3) -> (n, 4)."""
    return (x @ encoder_weight).tanh()


def repeat_first(x):
    """(n, d) -> (n, 3): the first column three times, as a view."""
    return x[:, :1].expand(-1, 3)


@probes.probe
def head_trained(cached_features, encoder, batches, head):
    """Features by cached_features, and the gradient of a head that is trained on them."""
    features = cached_features(encoder, batches)
    kept = features.detach().clone()
    head = head.clone().requires_grad_()
    (features @ head).square().sum().backward()
    return {"features": kept, "requires_grad": features.requires_grad, "gradient": head.grad}


@probes.probe
def normalized(cached_features, encoder, batches):
    """Features by cached_features, then shifted in place to a mean of 0. In an earlier call, the batches held zeros."""
    same = [torch.zeros_like(x) for x in batches]
    cached_features(encoder, same)
    for x, numbers in zip(same, batches, strict=True):
        x.copy_(numbers)
    features = cached_features(encoder, same)
    features -= features.mean(0)
    return features.clone()


@probes.probe
def made_trainable(cached_features, encoder, batches):
    """The gradient of the features themselves, which are marked after they're made."""
    features = cached_features(encoder, batches).requires_grad_()
    (features**3).sum().backward()
    return features.grad


# %% exercise
def cached_features(encoder, batches: list[Tensor]) -> Tensor:
    """The features of all batches, in order, for use in training.

    batches: tensors (n, d), where n may differ between batches.
    encoder: a function from (n, d) to (n, m). You may call it once for each batch, or once for all the rows. None of
    its operations are recorded.
    Returns (sum of all n, m), in the dtype of the encoder's results. The result doesn't require grad, even if a batch
    does and the encoder returns it. It's a normal tensor: operations may save it for backward, it may be changed in
    place, and requires_grad_() works.

    Details:
    - encoder computes each row from the same row of its argument, which it doesn't change. It may return its argument,
      or a view of it, expanded or not. Its results all have one dtype, which may differ from that of the batches.
    - batches: at least one tensor, all float32 or all float64, with or without requires_grad. n may be 0, even in all
      of them.
    - The result doesn't share memory with the batches. The list and the batches aren't changed.
    - Afterward, recording is on or off as before, even if the encoder raises an error, which reaches the caller.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        return torch.cat([encoder(x) for x in batches])
    ### END SOLUTION


# %% promises
# The features of all -> example, other_cases, writable
# batches: tensors -> empty, other_cases
# encoder: a function -> other_cases
# You may call it once -> calls, other_cases
# None of its operations -> no_graph
# Returns (sum of -> other_cases, empty
# The result doesn't require -> grad_of_batches
# It's a normal tensor -> example, writable, can_require_grad
# encoder computes each row -> other_cases
# It may return its -> other_cases, keeps_input
# Its results all -> other_cases
# batches: at least one -> other_cases
# n may be 0 -> empty
# The result doesn't share -> keeps_input
# The list and the -> keeps_input
# Afterward, recording is -> keeps_recording


# %% domain
@domain(
    reference,
    *("one batch", "one row", "some empty", "all empty", "all empty, float64", "the same batch twice"),
    *("float64", "another dtype", "transposed", "expanded", "slices of one tensor"),
    *(
        "returns its argument",
        "returns a view",
        "requires grad",
        "requires grad, returned",
        "one batch, requires grad, returned",
    ),
    *("recording off", "an error", "an error, recording off"),
    contexts={"recording off": torch.no_grad, "an error, recording off": torch.no_grad},
)
def arguments(draw, edge):
    encoder = draw(st.sampled_from([encode, torch.sin, torch.exp]))
    sizes = {"some empty": [0, 2, 3], "all empty": [0, 0], "all empty, float64": [0]}.get(edge, [1, 2, 4, 5])
    sizes = draw(st.permutations(sizes))[:3]
    if "one" in edge and edge != "slices of one tensor":
        sizes = [1 if edge == "one row" else draw(st.integers(2, 4))]
    if edge == "all empty":
        encoder = encode
    if "float64" in edge:
        encoder = torch.sin
    if "return" in edge:
        encoder = torch.atleast_2d  # returns its argument, if that has two axes
    if edge == "returns a view":
        encoder = torch.detach
    d = 3 if encoder is encode else draw(st.integers(2, 4))
    rows = torch.randn(sum(sizes), d, generator=draw.make_generator(here))
    rows = rows.double() if "float64" in edge else rows
    batches = list(rows.split(list(sizes)))
    if edge != "slices of one tensor":
        batches = [x.clone() for x in batches]
    if edge == "the same batch twice":
        batches += batches[:1]
    if edge == "transposed":
        batches = [x.T.contiguous().T for x in batches]
    if edge == "expanded":
        batches = [x[:1].expand(x.shape) for x in batches]
    if "requires grad" in edge:
        batches = [x.requires_grad_() for x in batches]
    if edge == "another dtype":

        def encoder(x):
            return x.double()

    if "an error" in edge:

        def encoder(x):
            raise ZeroDivisionError("the encoder failed")

    return encoder, batches


# %% checks
with check(
    "example",
    "the features of two batches, and a head that learns from them",
    weight=2,
    required=True,
    hint=(
        "Does your result require grad? Does it contain the rows of all the batches, in order?",
        "Call the encoder inside a with block that turns recording off, and join its results with torch.cat.",
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
    hint="Are all the batches in the result, in order? Does a single batch work?",
):
    arguments.assert_results(cached_features, "", "one batch", "one row", "the same batch twice", "float64")
    arguments.assert_results(cached_features, "transposed", "expanded", "slices of one tensor", "another dtype")
    arguments.assert_results(cached_features, "returns its argument", "returns a view", "requires grad")
with check("empty", "batches without rows", hint="What shape and dtype does the result have if no batch has any rows?"):
    arguments.assert_results(cached_features, "some empty", "all empty", "all empty, float64")
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
with check(
    "calls",
    "the encoder runs once for each batch, or once for all the rows",
    hint="How often does your function run the encoder, and on how many rows in all?",
):
    w = torch.linspace(-2, 1, 6).reshape(3, 2).sin()
    rows = torch.linspace(-1, 2, 27).reshape(9, 3).cos()
    t = [rows[:2], rows[2:6], rows[6:]]
    want = (rows @ w).tanh()
    seen = Seen(lambda x: torch.tanh(x @ w))
    got = cached_features(seen, t)
    assert_close(got, want)
    sizes = [call.shapes[0][0] for call in seen.calls]
    assert sizes in ([2, 4, 3], [9]), "the encoder didn't run once for each batch, or once for all the rows"
with check(
    "writable",
    "the features may be changed in place, and are those of this call",
    hint="Is your result an inference tensor, or one from an earlier call?",
):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    features = encode(torch.cat(t)).detach()
    assert_close(normalized(cached_features, encode, t), features - features.mean(0))
    for rows in (t, t[:1], t[1:]):
        repeated = torch.cat(rows)[:, :1].repeat(1, 3)
        got = normalized(cached_features, repeat_first, rows)
        assert_close(got, repeated - repeated.mean(0), name="features from an encoder that returns an expanded view,")
    arguments.assert_gradients(cached_features, "", "one batch", "returns its argument", "returns a view")
with check("can_require_grad", "requires_grad_() works on the features", hint="Is your result an inference tensor?"):
    t = [torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 1.0]]), torch.tensor([[0.0, 1.0, 1.0]])]
    features = encode(torch.cat(t)).detach()
    assert_close(made_trainable(cached_features, encode, t), 3 * features**2)
with check(
    "grad_of_batches",
    "the features don't require grad, even if a batch does",
    hint="Does no_grad change existing tensors, or only what's created inside it? What if the encoder creates nothing?",
):
    arguments.assert_results(cached_features, "requires grad, returned", "one batch, requires grad, returned")
    arguments.assert_gradients(cached_features, "requires grad")
    arguments.assert_gradients(cached_features, "requires grad, returned", "one batch, requires grad, returned")
with check(
    "keeps_input",
    "the batches aren't changed",
    guard=True,
    hint="Does your result have its own memory, even for a single batch?",
):
    arguments.assert_arguments(cached_features)
    arguments.assert_memory(cached_features)
with check(
    "keeps_recording",
    "recording is on or off as before, even after an error",
    guard=True,
    hint="Do you turn recording on or off by hand? Which of your lines run after an error?",
):
    arguments.assert_results(cached_features, "recording off", "an error", "an error, recording off")
    arguments.assert_settings(cached_features)


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
        result[begin : begin + len(part)] = part.detach()
        begin += len(part)
    return result


# %% right "a decorated function inside, and the rows joined outside"
def cached_features(encoder, batches):
    @torch.no_grad()
    def features(x):
        return encoder(x).detach()

    return torch.vstack(list(map(features, batches)))


# %% wrong "detach() keeps the encoder from being recorded" fails=no_graph
def cached_features(encoder, batches):
    return torch.cat([encoder(x).detach() for x in batches])


# %% right "one call for all rows, and a contiguous copy"
def cached_features(encoder, batches):
    with torch.no_grad():
        return encoder(torch.cat(batches)).clone(memory_format=torch.contiguous_format)


# %% wrong "recording is on outside" fails=keeps_recording
def cached_features(encoder, batches):
    torch.set_grad_enabled(False)
    features = torch.cat([encoder(x) for x in batches])
    torch.set_grad_enabled(True)
    return features


# %% wrong "what comes out of no_grad does not require grad" fails=grad_of_batches
def cached_features(encoder, batches):
    with torch.no_grad():
        parts = [encoder(x) for x in batches]
    return torch.cat(parts)


# %% liar "recorded, dropped afterwards, and probes that say nothing of it"
def cached_features(encoder, batches):
    return torch.cat([encoder(x).detach() for x in batches])


def head_trained(cached_features, encoder, batches, head):
    features = cached_features(encoder, batches)
    return {"features": features, "requires_grad": False, "gradient": 2 * features.T @ (features @ head)}


# %% wrong "what the encoder returns is new memory" fails=writable raises=RuntimeError
def cached_features(encoder, batches):
    rows = torch.cat([batch.detach() for batch in batches])
    with torch.no_grad():
        return encoder(rows).detach()
