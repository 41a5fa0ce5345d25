# %% exercise
def manual_grads(W: Tensor, b: Tensor, X: Tensor, Y: Tensor) -> dict[str, Tensor]:
    """Gradients of the loss ((X @ W.T + b - Y) ** 2).sum(), without autograd.

    W: (d_out, d_in), b: (d_out,), X: (n, d_in), Y: (n, d_out).
    Returns {"W": ..., "b": ..., "X": ...}, each with the shape and dtype of that tensor.

    Details:
    - All arguments are float32, or all are float64, with any strides; n may be 0. They aren't changed.
    - Works inside torch.no_grad() and torch.inference_mode() too, which turn autograd off.
    """
    ### BEGIN SOLUTION
    slope = 2 * (X @ W.T + b - Y)  # (n, d_out): the derivative of the loss with respect to each residual
    return {"W": slope.T @ X, "b": slope.sum(0), "X": slope @ W}
    ### END SOLUTION


# %% promises
# Gradients of the loss -> example, other_cases, by_hand
# W: (d_out, d_in), b -> other_cases, one_sample
# Returns {"W" -> other_cases, one_sample
# All arguments are float32 -> other_cases, empty, non_contiguous
# They aren't changed -> keeps_input
# Works inside torch -> recording_off


# %% domain
@domain(
    reference,
    *("float64", "no samples", "one sample", "one input", "one output", "square", "transposed", "expanded"),
    *("hundreds of samples", "recording off", "inference mode"),
    contexts={"recording off": torch.no_grad, "inference mode": torch.inference_mode},
)
def arguments(draw, edge):
    n, inputs, outputs = draw(st.integers(2, 5)), draw(st.integers(2, 5)), draw(st.integers(2, 5))
    if edge == "square":
        n = inputs = outputs
    n = {"no samples": 0, "one sample": 1, "hundreds of samples": 257}.get(edge, n)
    inputs, outputs = (inputs, 1) if edge == "one output" else (1 if edge == "one input" else inputs, outputs)
    g, dtype = draw.make_generator(here), torch.float64 if edge in ("float64", "hundreds of samples") else torch.float32
    sizes = ((outputs, inputs), (outputs,), (n, inputs), (n, outputs))
    W, b, X, Y = (torch.randn(size, generator=g, dtype=dtype) for size in sizes)
    if edge == "transposed":
        W, X, Y = (t.T.contiguous().T for t in (W, X, Y))
    if edge == "expanded":
        b, X, Y = b[:1].expand(outputs), X[:1].expand(n, inputs), Y[:, :1].expand(n, outputs)
    return W, b, X, Y


# %% checks
with check(
    "example",
    "the example above, and two more samples",
    weight=3,
    required=True,
    hint=(
        "What shape does each of your gradients have? Does every sample contribute to those of W and b?",
        "Start from 2 * R. The shapes show which matrix products give W and X. For b, sum over the samples.",
    ),
):
    t = (
        torch.tensor([[0.5, 1.5]]),
        torch.tensor([0.1]),
        torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 2.0]]),
        torch.tensor([[5.0], [1.1], [2.6]]),
    )
    slopes = torch.tensor([[-2.8], [-2.0], [1.0]])  # with respect to each residual
    want = {
        "W": torch.tensor([[-8.8, -1.6]]),
        "b": torch.tensor([-3.8]),
        "X": torch.tensor([[-1.4, -4.2], [-1.0, -3.0], [0.5, 1.5]]),
    }
    with torch.no_grad():
        got = manual_grads(*t)
    explain(
        got,
        want,
        {
            "the 2 from the square is missing": {k: g / 2 for k, g in want.items()},
            "this is the gradient of the mean over the samples, but the loss is their sum": {
                k: g / 3 for k, g in want.items()
            },
            "the gradient of W is transposed: it must have the shape of W": {**want, "W": want["W"].T},
            "the gradient of b sums over the samples, but yours has one row for each of them": {**want, "b": slopes},
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes, equal sizes, and float64",
    weight=4,
    required=True,
    hint="What does a second sample add to the gradients of W and b? Does any factor depend on the batch size?",
):
    arguments.assert_results(manual_grads, "", "float64", "square", "hundreds of samples")
with check("recording_off", "recording is off", hint="Which of your lines need a graph?"):
    arguments.assert_results(manual_grads, "recording off", "inference mode")
with check(
    "non_contiguous",
    "transposed or expanded arguments",
    weight=2,
    hint="Does your code rely on the order of the numbers in memory?",
):
    arguments.assert_results(manual_grads, "transposed", "expanded")
with check(
    "one_sample",
    "a single sample, input or output keeps its dimension",
    hint="Does your code drop a dimension of size 1?",
):
    arguments.assert_results(manual_grads, "one sample", "one input", "one output")
with check("by_hand", "without autograd", observed=True, hint="Which of your lines asks autograd for a gradient?"):
    t = [torch.linspace(-1, 2, 6).reshape(2, 3), torch.tensor([0.5, -1.0])]
    t += [torch.linspace(1, -3, 12).reshape(4, 3), torch.linspace(0, 5, 8).reshape(4, 2)]
    calls = probes.derivatives(manual_grads, *t)
    assert_close(calls["backward"] + calls["forward"], 0, name="the calls of autograd")
with check("empty", "with no samples, the gradients are zero, and that of X is empty", guard=True):
    arguments.assert_results(manual_grads, "no samples")
with check("keeps_input", "the arguments keep their values", guard=True, hint="Which line changes a tensor in place?"):
    arguments.assert_arguments(manual_grads)
    arguments.assert_settings(manual_grads)


# %% right "einsum names the axes"
def manual_grads(W, b, X, Y):
    R = torch.einsum("ni,oi->no", X, W) + b - Y
    return {
        "W": 2 * torch.einsum("no,ni->oi", R, X),
        "b": 2 * torch.einsum("no->o", R),
        "X": 2 * torch.einsum("no,oi->ni", R, W),
    }


# %% right "sample by sample, with outer products"
def manual_grads(W, b, X, Y):
    gW, gb, gX = torch.zeros_like(W), torch.zeros_like(b), torch.zeros_like(X)
    for n in range(len(X)):
        r = 2 * (W @ X[n] + b - Y[n])
        gW += torch.outer(r, X[n])
        gb += r
        gX[n] = r @ W
    return dict(W=gW, b=gb, X=gX)


# %% right "broadcasting and sums"
def manual_grads(W, b, X, Y):
    R = 2 * ((X[:, None, :] * W).sum(-1) + b - Y)
    return {"X": (R[:, :, None] * W).sum(1), "W": (R[:, :, None] * X[:, None, :]).sum(0), "b": R.sum(dim=0)}


# %% wrong "the 2 of the square does not matter" fails=example,other_cases,recording_off,non_contiguous,one_sample
def manual_grads(W, b, X, Y):
    R = X @ W.T + b - Y
    return {"W": R.T @ X, "b": R.sum(0), "X": R @ W}


# %% wrong "a loss is a mean over the batch" fails=example,other_cases,recording_off,non_contiguous,one_sample
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y) / len(X)
    return {"W": R.T @ X, "b": R.sum(0), "X": R @ W}


# %% wrong "X.T @ R, as in the book that writes X @ W" fails=example,other_cases,recording_off,non_contiguous,one_sample,empty
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y)
    return {"W": X.T @ R, "b": R.sum(0), "X": R @ W}


# %% wrong "the gradient of b is the slope at the output" fails=example,other_cases,recording_off,non_contiguous,one_sample,empty
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y)
    return {"W": R.T @ X, "b": R, "X": R @ W}
