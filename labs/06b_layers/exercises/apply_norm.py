# %% given
@probes.probe
def count_norms(apply_norm, x, kind, weight, bias, eps):
    """The number of PyTorch norms that apply_norm(x, kind, weight, bias, eps) calls."""
    called = []

    class Counting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            name = getattr(func, "__name__", "")
            called.extend(
                [name] if name.endswith(("layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm")) else []
            )
            return func(*args, **(kwargs or {}))

    with Counting():
        apply_norm(x, kind, weight, bias, eps)
    return len(called)


# %% exercise
def apply_norm(x: Tensor, kind: str, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Layer norm, RMS norm, or batch norm of x, as in training mode. kind is "layer", "rms", or "batch".

    "layer" and "rms": x is (..., f), and the f numbers at each position form a group. "batch": x is (n, c, ...), and
    all numbers in one channel form a group.
    "layer" and "batch" compute (x - mean) / sqrt(variance + eps) in each group. The variance is biased: it's the mean
    of the squared distances from the mean. "rms" computes x / sqrt(mean of the squares + eps).
    All three then multiply by weight, and all but "rms" add bias. Both are (f,) or (c,), in x's dtype.
    The result has x's shape and dtype. Don't call PyTorch's own norms.

    Details:
    - The dots are any number of dimensions, including none.
    - x is float32 or float64, with any strides; no size is 0, and a group has at least two numbers.
    - eps is above 0, and a variance may be 0.
    - A group may be far from 0 and from other groups, compared with its spread: the mean square minus the squared mean
      would be inaccurate.
    - Gradients reach weight, bias, and x, including through its mean and variance. None of the three is changed.
    """
    ### BEGIN SOLUTION
    axes = [-1]
    if kind == "batch":
        axes = [axis for axis in range(x.dim()) if axis != 1]
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    if kind != "rms":
        x = x - x.mean(axes, keepdim=True)
    scaled = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight
    return scaled if kind == "rms" else scaled + bias
    ### END SOLUTION


# %% promises
# Layer norm, RMS -> example, layer, rms, batch
# kind is -> example, rms_rows, layer, rms, batch
# "layer" and "rms": x -> rms_rows, layer, rms
# "batch": x is -> images, batch
# "layer" and "batch" compute -> example, images, layer, batch
# The variance is biased -> example, images, layer, batch
# "rms" computes -> rms_rows, rms
# All three then -> rms_rows, layer, rms, batch
# Both are -> layer, rms, batch
# The result has -> layer, rms, batch
# Don't call -> by_hand
# The dots are -> layer, rms, batch
# x is float32 or -> layer, rms, batch
# eps is above 0 -> constant, layer, rms, batch
# A group may be -> far
# Gradients reach -> gradients
# None of the three -> keeps_input

# %% domain
KINDS = ("layer", "rms", "batch")
SHAPES = ("two dimensions", "four dimensions", "equal sizes", "float32", "transposed", "every second one")


@domain(
    reference,
    *(f"{kind}, {what}" for kind in KINDS for what in ("", *SHAPES, "constant", "requires grad", "from an operation")),
    *("layer, far", "batch, far", "layer, far apart", "batch, far apart", "batch, one sample"),
    *(f"{kind}, constant, requires grad" for kind in KINDS),
)
def arguments(draw, edge):
    kind, _, what = edge.partition(", ") if edge else (draw(st.sampled_from(KINDS)), "", "")
    g, sizes = draw.make_generator(), [draw(st.integers(3, 4)), draw(st.integers(5, 6)), draw(st.integers(7, 8))]
    sizes = {"two dimensions": sizes[:2], "four dimensions": [*sizes, 2], "equal sizes": [4] * 3}.get(what, sizes)
    sizes[0] = 1 if what == "one sample" else sizes[0]
    x = torch.randn(sizes, dtype=torch.float64, generator=g) * 2 + draw(st.sampled_from([-3.0, 0.5, 4.0]))
    if what.startswith("constant"):
        x = x[:1, :, :1].expand(sizes) if kind == "batch" else x[..., :1].expand(sizes)
    if what.startswith("far"):
        x = (x * 8).round() / 16 + 100
    if what == "far apart":  # every second group lies near -100, so the mean of all numbers is near none of them
        sides = torch.arange(x.shape[1], dtype=x.dtype) % 2 * -2 + 1
        x = x * sides[:, None]
    width = sizes[1] if kind == "batch" else sizes[-1]
    weight, bias = (torch.randn(width, dtype=torch.float64, generator=g) for _ in range(2))
    dtype = torch.float32 if what in ("float32", "far", "far apart") else torch.float64
    x, weight, bias = (t.to(device(), dtype) for t in (x.contiguous(), weight, bias))
    x, weight, bias = (draw.apply_gradient_state(t, what) for t in (draw.apply_layout(x, what), weight, bias))
    return x, kind, weight, bias, draw(st.sampled_from([1e-5, 0.1, 2.0])) if "far" not in what else 1e-5


# %% checks
with check(
    "example",
    "layer norm of two rows: each has its mean subtracted and is divided by the root of its variance plus eps",
    weight=2,
    required=True,
    hint=(
        "You need x.mean(...) of each row: over which axis, and which argument keeps the result aligned with its row?",
        "Subtract the mean. The mean of the squares is then the variance. Add eps before you take the root.",
    ),
):
    t = torch.tensor([[1.0, 3.0, 5.0, 7.0], [0.0, 0.0, 4.0, 4.0]], device=device())
    w, b = torch.tensor([1.0, 2.0, 1.0, -1.0], device=device()), torch.tensor([0.0, 0.0, 0.5, 1.0], device=device())
    flat = t - t.mean(1, keepdim=True)
    columns = (t - t.mean(0)) / (t.var(0, correction=0) + 4).sqrt() * w + b
    explain(
        apply_norm(t.clone(), "layer", w.clone(), b.clone(), 4.0),
        torch.tensor([[-1.0, -2 / 3, 5 / 6, 0.0], [-(0.5**0.5), -(2**0.5), 0.5 + 0.5**0.5, 1 - 0.5**0.5]]).to(t.device),
        {
            "this is the unbiased variance, divided by f - 1": flat / (t.var(1, keepdim=True) + 4).sqrt() * w + b,
            "eps is added to the variance, before the root": flat / (flat.square().mean(1, keepdim=True).sqrt() + 4) * w
            + b,
            "this uses statistics over all rows, as batch norm does, but layer norm uses each row's": columns,
        },
    )
with check(
    "images",
    "batch norm of two 1 x 2 images with two channels",
    hint=(
        "Which axis don't you average over? You average over all the others.",
        "Average over axes (0, 2, 3). For the product, weight needs the shape (c, 1, 1).",
    ),
):
    t = torch.tensor([[[[0.0, 2.0]], [[1.0, 1.0]]], [[[4.0, 2.0]], [[5.0, 5.0]]]], device=device())
    w, b = torch.tensor([1.0, 3.0], device=device()), torch.tensor([0.0, 10.0], device=device())
    shaped = [one[:, None, None] for one in (w, b)]
    places = (t - t.mean(0)) / (t.var(0, correction=0) + 2).sqrt() * shaped[0] + shaped[1]
    whole = (t - t.mean()) / (t.var(correction=0) + 2).sqrt() * shaped[0] + shaped[1]
    want = (t - t.mean((0, 2, 3), keepdim=True)) / (t.var((0, 2, 3), correction=0, keepdim=True) + 2).sqrt()
    explain(
        apply_norm(t.clone(), "batch", w.clone(), b.clone(), 2.0),
        want * shaped[0] + shaped[1],
        {
            "each pixel has its own mean here, but a channel should have one mean for all its pixels": places,
            "all channels share a mean here, but each should have its own": whole,
        },
    )
with check(
    "rms_rows",
    "RMS norm of two rows whose mean square plus eps is 36",
    hint=(
        "Which of layer norm's steps does RMS norm skip? There are two.",
        "Neither subtract the mean nor add bias: multiply x by weight, and divide it by 6.",
    ),
):
    t = torch.tensor([[1.0, 7.0], [5.0, -5.0]], device=device())
    w, b = torch.tensor([1.0, -2.0], device=device()), torch.tensor([10.0, 20.0], device=device())
    centered = t - t.mean(1, keepdim=True)
    explain(
        apply_norm(t.clone(), "rms", w.clone(), b.clone(), 11.0),
        torch.tensor([[1 / 6, -7 / 3], [5 / 6, 5 / 3]], device=device()),
        {
            "RMS norm doesn't subtract the mean": centered / (centered.square().mean(1, keepdim=True) + 11).sqrt() * w,
            "RMS norm has no bias": t / 6 * w + b,
        },
    )

# %% hidden checks
CASES = ("", *SHAPES)
with check(
    "layer",
    "layer norm: other shapes, dtypes, strides, and eps",
    weight=2,
    required=True,
    hint="Which axis do you average over?",
):
    arguments.assert_results(apply_norm, "layer, ", "layer, two dimensions", "layer, four dimensions")
    arguments.assert_results(
        apply_norm, "layer, equal sizes", "layer, float32", "layer, transposed", "layer, every second one"
    )
with check("rms", "RMS norm: no mean, no bias", weight=2, hint="Which steps does RMS norm skip?"):
    arguments.assert_results(apply_norm, "rms, ", "rms, two dimensions", "rms, four dimensions", "rms, equal sizes")
    arguments.assert_results(apply_norm, "rms, float32", "rms, transposed", "rms, every second one")
with check(
    "batch",
    "batch norm: two to four dimensions, one sample",
    weight=2,
    hint="Which shape must weight have for two dimensions, and which for four? What if n and c are equal?",
):
    arguments.assert_results(apply_norm, "batch, ", "batch, two dimensions", "batch, four dimensions")
    arguments.assert_results(apply_norm, "batch, equal sizes", "batch, float32", "batch, transposed")
    arguments.assert_results(apply_norm, "batch, every second one", "batch, one sample")
with check(
    "far",
    "groups near 100 and -100",
    hint="In float32, how precise is the difference between two numbers near 10,000?",
):
    t = "layer, far", "batch, far", "layer, far apart", "batch, far apart"
    arguments.assert_results(apply_norm, *t, rtol=1e-4, atol=2e-4)  # layer_norm is off by 1e-4
with check("constant", "a group of equal numbers", hint="What is 0 / 0, and what does eps do about it?"):
    arguments.assert_results(apply_norm, "layer, constant", "rms, constant", "batch, constant")
with check(
    "gradients",
    "gradients of x, weight, and bias",
    weight=2,
    required=True,
    hint="Is the variance detached, or computed under no_grad?",
):
    arguments.assert_gradients(apply_norm, *(f"{kind}, requires grad" for kind in KINDS))
    arguments.assert_gradients(apply_norm, *(f"{kind}, from an operation" for kind in KINDS))
    arguments.assert_gradients(apply_norm, *(f"{kind}, constant, requires grad" for kind in KINDS))
with check("by_hand", "without PyTorch's norms", weight=2, observed=True, hint="Which function did you call?"):
    for t in KINDS:
        ones = torch.ones(2, 3, 3, device=device())
        assert_close(count_norms(apply_norm, ones, t, ones[0, 0].clone(), ones[0, 0].clone(), 0.5), 0)
with check(
    "keeps_input", "x, weight, and bias are unchanged", guard=True, hint="Do you use -= or a method that ends in _?"
):
    arguments.assert_arguments(apply_norm)


# %% right "var with correction=0, and the channels moved to the end"
def apply_norm(x, kind, weight, bias, eps):
    if kind == "batch":
        return (
            apply_norm(x.movedim(1, -1).flatten(0, -2).T, "groups", weight[:, None], bias[:, None], eps)
            .T.reshape(x.movedim(1, -1).shape)
            .movedim(-1, 1)
        )
    if kind == "rms":
        return x / (x**2).mean(-1, keepdim=True).add(eps).sqrt() * weight
    return (x - x.mean(-1, True)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) * weight + bias


# %% right "var_mean, and shapes from a list"
def apply_norm(x, kind, weight, bias, eps):
    dims, shape = (x.ndim - 1,), [1] * x.ndim
    if kind == "batch":
        dims = (0, *range(2, x.ndim))
    shape[1 if kind == "batch" else -1] = -1
    if kind == "rms":
        return x * torch.rsqrt(x.pow(2).mean(dims, keepdim=True) + eps) * weight.view(shape)
    var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    return torch.addcmul(bias.view(shape), (x - mean) / (var + eps) ** 0.5, weight.view(shape))


# %% wrong "the library's own" fails=by_hand
def apply_norm(x, kind, weight, bias, eps):
    if kind == "batch":
        return nn.functional.batch_norm(x, None, None, weight, bias, True, 0.1, eps)
    if kind == "rms":
        return nn.functional.rms_norm(x, x.shape[-1:], weight, eps)
    return nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


# %% wrong "the unbiased variance" fails=example,images,layer,batch,far,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = [axis for axis in range(x.dim()) if axis != 1] if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    if kind == "rms":
        return x / (x.square().mean(axes, keepdim=True) + eps).sqrt() * weight
    return (x - x.mean(axes, keepdim=True)) / (x.var(axes, keepdim=True) + eps).sqrt() * weight + bias


# %% wrong "eps is added to the standard deviation" fails=example,images,rms_rows,layer,rms,batch,constant,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = [axis for axis in range(x.dim()) if axis != 1] if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    x = x if kind == "rms" else x - x.mean(axes, keepdim=True)
    scaled = x / (x.square().mean(axes, keepdim=True).sqrt() + eps) * weight
    return scaled if kind == "rms" else scaled + bias


# %% wrong "every norm takes its mean over the batch" fails=example,rms_rows,layer,rms,far,constant,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = [axis for axis in range(x.dim()) if axis != 1] if kind == "batch" else [0]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    x = x if kind == "rms" else x - x.mean(axes, keepdim=True)
    scaled = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight
    return scaled if kind == "rms" else scaled + bias


# %% wrong "a mean for each place of an image" fails=images,batch,far,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = [0] if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    x = x if kind == "rms" else x - x.mean(axes, keepdim=True)
    scaled = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight
    return scaled if kind == "rms" else scaled + bias


# %% wrong "one mean for all channels" fails=images,batch,far,constant,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = list(range(x.dim())) if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    x = x if kind == "rms" else x - x.mean(axes, keepdim=True)
    scaled = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight
    return scaled if kind == "rms" else scaled + bias


# %% wrong "batch norm is for images only" fails=batch,far,constant,by_hand raises=RuntimeError
def apply_norm(x, kind, weight, bias, eps):
    axes = [axis for axis in range(x.dim()) if axis != 1] if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = weight[:, None, None], bias[:, None, None]
    x = x if kind == "rms" else x - x.mean(axes, keepdim=True)
    scaled = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight
    return scaled if kind == "rms" else scaled + bias


# %% wrong "RMS norm is layer norm without a bias" fails=rms_rows,rms,constant,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = [axis for axis in range(x.dim()) if axis != 1] if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    x = x - x.mean(axes, keepdim=True)
    scaled = x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight
    return scaled if kind == "rms" else scaled + bias


# %% wrong "RMS norm with a bias" fails=rms_rows,rms,constant,gradients
def apply_norm(x, kind, weight, bias, eps):
    axes = [axis for axis in range(x.dim()) if axis != 1] if kind == "batch" else [-1]
    if kind == "batch":
        weight, bias = (t.reshape(-1, *[1] * (x.dim() - 2)) for t in (weight, bias))
    x = x if kind == "rms" else x - x.mean(axes, keepdim=True)
    return x * (x.square().mean(axes, keepdim=True) + eps).rsqrt() * weight + bias
