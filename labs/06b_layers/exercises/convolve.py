# %% given
@probes.probe
def count_convolutions(convolve, x, weight, padding, stride):
    """How many of PyTorch's convolutions, and of its functions that list a convolution's windows, the call runs."""
    called = []

    class Counting(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.extend(word for word in ("conv", "im2col", "col2im") if word in func.__name__)
            return func(*args, **(kwargs or {}))

    with Counting():
        convolve(x, weight, padding, stride)
    return len(called)


# %% exercise
def convolve(x: Tensor, weight: Tensor, padding: int, stride: int) -> Tensor:
    """The convolution of images x (n, c, h, w) with the kernels in weight (c_out, c, kh, kw).

    A border of `padding` zeros surrounds each image. The first window of kh x kw pixels starts at the border's top left
    corner, and the next ones start every `stride` pixels, down and across. A window that would extend past the border
    is left out.
    For each window, a kernel returns the sum of its c x kh x kw weights times the pixels under them, without flipping.
    Returns (n, c_out, windows down, windows across), in x's dtype.

    Details:
    - x and weight are both float32 or both float64, with any strides. n may be 0.
    - padding is at least 0 and stride at least 1. Both may be larger than the kernel, and at least one window fits.
    - A pixel that's inf, nan, or huge affects only the windows that contain it.
    - Don't call PyTorch's convolutions, `nn.functional.unfold`, or `fold`.
    - Gradients reach x and weight. Neither is changed.
    """
    ### BEGIN SOLUTION
    rows, columns = weight.shape[2:]
    x = nn.functional.pad(x, [padding] * 4)
    down, across = (x.shape[2] - rows) // stride + 1, (x.shape[3] - columns) // stride + 1
    result = x.new_zeros(len(x), len(weight), down, across)
    for i in range(rows):
        for j in range(columns):  # the pixels that lie under tap (i, j), one for each window
            pixels = x[:, :, i::stride, j::stride][:, :, :down, :across]
            result = result + torch.einsum("nchw,oc->nohw", pixels, weight[:, :, i, j])
    return result
    ### END SOLUTION


# %% promises
# The convolution of images -> example, drawn
# A border of -> bordered, sizes
# The first window -> strided, drawn, sizes
# A window that would -> strided, sizes
# For each window -> example, drawn
# Returns (n, c_out, -> example, drawn, numbers
# x and weight are -> numbers
# n may be 0 -> drawn
# padding is at least -> sizes, drawn
# Both may be larger -> sizes
# A pixel that's -> numbers
# Don't call -> by_hand
# Gradients reach -> gradients
# Neither is changed -> keeps_input

# %% domain
SIZES = (
    *("windows up to the end", "two pixels left over", "no padding", "padding above the kernel", "one tap"),
    *("stride above the kernel", "one pixel", "one window", "tall kernel", "wide kernel", "one channel", "one kernel"),
    *("no images", "equal sizes", "stride 1"),
)
NUMBERS = (
    *("float64", "tiny", "huge", "zeros", "infinite pixel", "infinite pixel, weight of zeros", "NaN pixel"),
    *("huge pixel", "transposed", "every second one"),
)
SLICES = ("slice", "slice, no padding")


@domain(
    reference,
    *(*SIZES, *NUMBERS, *SLICES, "requires grad", "from an operation", "requires grad, stride above the kernel"),
    *("requires grad, weight of zeros", "requires grad, x of zeros"),
    *("only x requires grad", "only weight requires grad"),
)
def arguments(draw, edge):
    n, c, out, padding, stride = (draw(st.integers(*span)) for span in ((2, 3), (2, 3), (4, 5), (1, 2), (2, 3)))
    rows, columns = draw(st.sampled_from([(2, 3), (3, 2)]))
    rows, columns = {"one tap": (1, 1), "tall kernel": (4, 1), "wide kernel": (1, 4)}.get(edge, (rows, columns))
    stride = 3 if edge == "two pixels left over" else 5 if "above the kernel" in edge else stride
    padding, stride = {"padding above the kernel": (5, 2), "no padding": (0, stride)}.get(
        edge.removeprefix("slice, "), (padding, stride)
    )
    n, c, out = 0 if edge == "no images" else n, 1 if edge == "one channel" else c, 1 if edge == "one kernel" else out
    height, width = draw(st.integers(5, 6)), draw(st.integers(7, 8))
    if edge in ("windows up to the end", "two pixels left over"):
        left = 2 * (edge == "two pixels left over")
        height += (left - (height + 2 * padding - rows)) % stride
        width += (left - (width + 2 * padding - columns)) % stride
    if edge == "one pixel":
        height, width, padding = 1, 1, 2
    if edge == "one window":
        height, width, padding = rows, columns, 0
    if edge == "equal sizes":
        n = c = out = rows = columns = height = width = 3
    stride = 1 if edge == "stride 1" else stride
    g = draw.make_generator()
    x = torch.randn(n, c, height, width, dtype=torch.float64, generator=g)
    weight = torch.randn(out, c, rows, columns, dtype=torch.float64, generator=g)
    if edge in ("tiny", "huge"):  # all positive, so that no rounding error is large compared with a sum
        x, weight = (x.abs() + 0.5) * (1e-30 if edge == "tiny" else 1e30), weight.abs() + 0.5
    if edge == "zeros":
        x[0], weight[0] = 0, 0
    x, weight = x * ("x of zeros" not in edge), weight * ("weight of zeros" not in edge)
    pixel = {"infinite pixel": torch.inf, "NaN pixel": torch.nan, "huge pixel": 1e18}.get(edge.split(",")[0])
    if pixel is not None:
        x[0, 0, 2, 3] = pixel
    dtype = torch.float64 if edge == "float64" else torch.float32
    x, weight = (draw.apply_layout(t.to(device(), dtype), edge) for t in (x, weight))
    if "slice" in edge:  # the middle of a larger tensor
        x, weight = (nn.functional.pad(t, [1] * 8, value=7.0)[(slice(1, -1),) * 4] for t in (x, weight))
    x = x if edge == "only weight requires grad" else draw.apply_gradient_state(x, edge)
    return x, weight if edge == "only x requires grad" else draw.apply_gradient_state(weight, edge), padding, stride


# %% checks
with check(
    "example",
    "three kernels of 2 x 3, for a 3 x 4 picture with two channels",
    weight=2,
    required=True,
    hint=(
        "Which pixels lie under the kernel's top left tap, over all windows? They form a smaller picture.",
        "For tap (i, j), this picture is x[:, :, i : i + down, j : j + across]. Multiply it by weight[:, :, i, j], sum "
        'over the channels with torch.einsum("nchw,oc->nohw", ...), and add up the results of all taps.',
    ),
):
    t = torch.linspace(-2, 3, 24, device=device()).reshape(1, 2, 3, 4).square()
    w = torch.linspace(-1, 2, 36, device=device()).reshape(3, 2, 2, 3)
    explain(
        convolve(t.clone(), w.clone(), 0, 1),
        nn.functional.conv2d(t, w),
        {
            "this flips the kernel, but its top left weight goes with the top left pixel": nn.functional.conv2d(
                t, w.flip(2, 3)
            ),
            "this reads only the first channel, but a kernel reads all channels": nn.functional.conv2d(
                t[:, :1], w[:, :1]
            ),
        },
    )
with check(
    "bordered",
    "padding 2",
    hint=("On which sides does the border go?", "nn.functional.pad(x, [padding] * 4) adds zeros on all four sides."),
):
    t = torch.linspace(1, 2, 12, device=device()).reshape(1, 1, 3, 4).square()
    w = torch.linspace(-1, 2, 6, device=device()).reshape(1, 1, 3, 2)
    explain(
        convolve(t.clone(), w.clone(), 2, 1),
        nn.functional.conv2d(t, w, padding=2),
        {
            "the border goes on all four sides, but here it's only below and on the right": nn.functional.conv2d(
                nn.functional.pad(t, (0, 2, 0, 2)), w
            ),
        },
    )
with check(
    "strided",
    "stride 2, for a 6 x 7 picture and a kernel of 3 x 2, so the last row and column are left over",
    hint=(
        "Where does the last window start that still fits? How many are there up to that one?",
        "With the border, (h + 2 * padding - kh) // stride + 1 windows fit from top to bottom.",
    ),
):
    t = torch.linspace(-2, 3, 42, device=device()).reshape(1, 1, 6, 7).square()
    w = torch.linspace(-1, 2, 6, device=device()).reshape(1, 1, 3, 2)
    explain(
        convolve(t.clone(), w.clone(), 0, 2),
        nn.functional.conv2d(t, w, stride=2),
        {
            "windows move by the stride down too, not only across": nn.functional.conv2d(t, w, stride=(1, 2)),
            "a window that extends past the end is left out": nn.functional.conv2d(
                nn.functional.pad(t, (0, 1, 0, 1)), w, stride=2
            ),
        },
    )

# %% hidden checks
with check("drawn", "other pictures and kernels", weight=2, required=True, hint="Which sizes do you assume?"):
    arguments.assert_results(convolve, "", "no padding", "stride 1", "equal sizes", "one channel", "one kernel")
    arguments.assert_results(convolve, "tall kernel", "wide kernel", "one tap", "no images")
with check(
    "sizes",
    "windows that fit exactly or don't, a stride or padding larger than the kernel, a single pixel",
    weight=2,
    hint="How many windows fit from top to bottom, and how many from left to right?",
):
    arguments.assert_results(convolve, "windows up to the end", "two pixels left over", "padding above the kernel")
    arguments.assert_results(convolve, "stride above the kernel", "one pixel", "one window")
with check(
    "numbers",
    "both dtypes, any strides, slices, and tiny, huge, and infinite numbers",
    weight=2,
    hint="Which dtype has the tensor that you add to? What is 0 times inf?",
):
    arguments.assert_results(convolve, "float64", "infinite pixel", "NaN pixel", "transposed", "every second one")
    arguments.assert_results(convolve, "infinite pixel, weight of zeros", "huge pixel")
    arguments.assert_results(convolve, "zeros", *SLICES)
    arguments.assert_results(convolve, "tiny", "huge", rtol=1e-4, atol=0)
with check("gradients", "gradients of x and weight", required=True, hint="Is a line outside of the graph?"):
    arguments.assert_gradients(convolve, "requires grad", "from an operation", "requires grad, stride above the kernel")
    arguments.assert_gradients(convolve, "requires grad, weight of zeros", "requires grad, x of zeros")
    arguments.assert_gradients(convolve, "only x requires grad", "only weight requires grad")
with check("by_hand", "without PyTorch's convolutions", weight=2, observed=True, hint="Which function did you call?"):
    t = torch.ones(2, 1, 4, 5, device=device())
    assert_close(count_convolutions(convolve, t, t[:, :, :2, :3].clone(), 1, 2), 0)
with check("keeps_input", "x and weight are unchanged", guard=True, hint="Do you write to x or weight in place?"):
    arguments.assert_arguments(convolve)


# %% right "one window at a time"
def convolve(x, weight, padding, stride):
    kh, kw = weight.shape[-2:]
    x = nn.functional.pad(x, (padding, padding, padding, padding))
    rows = [
        torch.stack([(x[:, None, :, i : i + kh, j : j + kw] * weight).sum((2, 3, 4)) for j in starts], -1)
        for starts in [range(0, x.shape[3] - kw + 1, stride)]
        for i in range(0, x.shape[2] - kh + 1, stride)
    ]
    return torch.stack(rows, 2)


# %% right "a view of all windows, and one product"
def convolve(x, weight, padding, stride):
    windows = nn.functional.pad(x, [padding] * 4).unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("nchwij,ocij->nohw", windows, weight)


# %% right "indices of the pixels, and a matrix product"
def convolve(x, weight, padding, stride):
    n, c, h, w = x.shape
    out, _, kh, kw = weight.shape
    around = x.new_zeros(n, c, h + 2 * padding, w + 2 * padding)
    around[:, :, padding : padding + h, padding : padding + w] = x
    tops = torch.arange(0, h + 2 * padding - kh + 1, stride, device=x.device)
    lefts = torch.arange(0, w + 2 * padding - kw + 1, stride, device=x.device)
    rows = tops[:, None, None, None] + torch.arange(kh, device=x.device)[:, None]
    columns = lefts[:, None, None] + torch.arange(kw, device=x.device)
    table = around[:, :, rows, columns].permute(0, 2, 3, 1, 4, 5).flatten(3)
    return (table @ weight.flatten(1).T).movedim(-1, 1)


# %% wrong "the library's own" fails=by_hand
def convolve(x, weight, padding, stride):
    return nn.functional.conv2d(x, weight, padding=padding, stride=stride)


# %% wrong "the library's list of windows" fails=by_hand
def convolve(x, weight, padding, stride):
    (n, _, h, w), (out, _, kh, kw) = x.shape, weight.shape
    down, across = (h + 2 * padding - kh) // stride + 1, (w + 2 * padding - kw) // stride + 1
    if n == 0:
        return x.new_zeros(0, out, down, across)
    columns = nn.functional.unfold(x, (kh, kw), padding=padding, stride=stride)
    return (weight.flatten(1) @ columns).unflatten(2, (down, across))


# %% wrong "the kernel is flipped" fails=example,bordered,strided,drawn,sizes,numbers,gradients
def convolve(x, weight, padding, stride):
    windows = nn.functional.pad(x, [padding] * 4).unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("nchwij,ocij->nohw", windows, weight.flip(2, 3))


# %% wrong "only the first channel" fails=example,drawn,sizes,numbers,gradients
def convolve(x, weight, padding, stride):
    windows = nn.functional.pad(x, [padding] * 4).unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("nhwij,oij->nohw", windows[:, 0], weight[:, 0])


# %% wrong "a border below and on the right" fails=bordered,drawn,sizes,numbers,gradients
def convolve(x, weight, padding, stride):
    x = nn.functional.pad(x, (0, padding, 0, padding))
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("nchwij,ocij->nohw", windows, weight)


# %% wrong "a stride across only" fails=strided,drawn,sizes,numbers,gradients
def convolve(x, weight, padding, stride):
    windows = nn.functional.pad(x, [padding] * 4).unfold(2, weight.shape[2], 1).unfold(3, weight.shape[3], stride)
    return torch.einsum("nchwij,ocij->nohw", windows, weight)


# %% wrong "windows that extend past the end are filled with zeros" fails=strided,drawn,sizes,numbers,gradients
def convolve(x, weight, padding, stride):
    x = nn.functional.pad(x, [padding] * 4)
    down, across = (-(x.shape[axis] - weight.shape[axis]) % stride for axis in (2, 3))
    x = nn.functional.pad(x, (0, across, 0, down))
    windows = x.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("nchwij,ocij->nohw", windows, weight)
