# %% given
def behind_one(t):
    """t as a leaf whose memory begins one element before it, as that of a weight in a larger buffer does."""
    whole = torch.cat([t.new_zeros(1), t.detach().flatten()])
    return t.new_empty(0).set_(whole.untyped_storage(), 1, t.shape).requires_grad_(t.requires_grad)


def some(*shape, seed=0, dtype=torch.float32, grad=True):
    """A tensor of random numbers."""
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(device(), dtype).requires_grad_(grad)


@probes.probe
def through(packing, arguments, program, tensors, upstreams, after=(), later=(), before=None, fails=False):
    """The result of a program, run inside packing(*arguments), and the gradients of its tensors.

    program: steps (name of the result, function, arguments), where a text names a tensor. A list of
    texts among the arguments of packing means these tensors. after: steps outside of the with
    block. later: names of tensors to which one is added in place before backward. upstreams: the
    gradient for each of the backward passes. before: packing is called with this as its last
    argument first, to no use. fails: the block ends with an error, which is caught.
    """
    held = {name: behind_one(t) for name, t in tensors.items()}
    made = dict(held)

    def run(steps):
        for name, f, *given in steps:
            made[name] = f(*[made[one] if isinstance(one, str) else one for one in given])

    full = [[held[name] for name in one] if isinstance(one, list) else one for one in arguments]
    if before is not None:
        packing(*full[:-1], before)
    with suppress(ArithmeticError), packing(*full):
        run(program)
        if fails:
            raise ArithmeticError
    run(after)
    out = made[(*program, *after)[-1][0]]
    value = out.detach().clone()
    with torch.no_grad():
        for name in later:
            made[name].add_(1)
    for number, upstream in enumerate(upstreams, 1):
        out.backward(upstream, retain_graph=number < len(upstreams))
    return {"out": value, "grads": {name: t.grad for name, t in held.items()}}


@probes.probe
def left_behind(packing, arguments, f, x, hold=False, transposed=False):
    """The bytes that are there after five results of f(x), made inside packing(*arguments), were dropped, or held.

    transposed: f gets a transposed tensor.
    """
    x, held = x.detach().clone().requires_grad_(), []
    with memory.watch(x) as seen:
        for _ in range(5):
            with packing(*arguments):
                held.append(f((x * 2).mT if transposed else x * 2))
            if not hold:
                held.clear()
    return seen.now


# %% exercise
def packed_bf16(parameters: list[Tensor], least: int) -> AbstractContextManager[Any]:
    """A context manager that keeps tensors for backward in bfloat16 inside its with block.

    A tensor that an operation keeps is packed if it is float32 or float64, has at least `least` elements, and isn't
    in the same storage as one of parameters, as a view of a weight is. Packed means that a copy in bfloat16 is kept
    instead, and that backward gets it in the tensor's own dtype, on its own device. Every other tensor is kept
    detached, in its own memory and dtype.

    Details:
    - Results of the forward pass don't change.
    - Backward may run after the with block has ended, even with an error, and twice with retain_graph=True.
    - A packed tensor may be changed in place afterward, even inside the block: backward still has the old values.
    - A result that is dropped without a backward pass leaves nothing in memory.
    """
    ### BEGIN SOLUTION
    known = {parameter.untyped_storage().data_ptr() for parameter in parameters}

    def pack(t: Tensor) -> Any:
        there = t.untyped_storage().data_ptr() in known
        if there or t.numel() < least or t.dtype not in (torch.float32, torch.float64):
            return t.detach()
        return t.to(torch.bfloat16), t.dtype

    def unpack(kept: Any) -> Tensor:
        if isinstance(kept, Tensor):
            return kept
        t, dtype = kept
        back: Tensor = t.to(dtype)
        return back

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)
    ### END SOLUTION


# %% promises
# A context manager that -> example, layers
# A tensor that an operation -> layers, weights, dtypes, small
# Packed means that -> layers, weights
# Every other tensor is -> dtypes, weights, dropped
# Results of the forward -> layers, weights
# Backward may run -> later
# A packed tensor may -> later
# A result that is dropped -> dropped


# %% domain
@domain(reference, "many results", call=through)
def arguments(draw, edge):
    n, d, h, m = draw(st.permutations([3, 4, 5, 6]))
    n = 40 * n if edge == "many results" else n
    seed, dtype = draw(st.integers(0, 10**6)), draw(st.sampled_from([torch.float32, torch.float64]))
    shapes = {"x": (n, d), "w": (h, d), "b": (h,), "v": (m, h)}
    tensors = {name: some(*shapes[name], seed=seed + k, dtype=dtype) for k, name in enumerate(shapes)}
    tensors["x"].requires_grad_(draw(st.booleans()))
    tensors["v"].requires_grad_(draw(st.booleans()))
    bend = draw(st.sampled_from([torch.tanh, functional.gelu]))
    program = [("h", functional.linear, "x", "w", "b"), ("a", bend, "h"), ("out", functional.linear, "a", "v")]
    if edge == "many results":  # each is freed when the name is used again, and the next may get its memory
        last = [("h", functional.linear, "h", "v"), ("out", torch.neg, "h")]
        program = [program[0], *[("h", f, "h") for f in (torch.sin, torch.cos, torch.exp, torch.sin) * 6], *last]
    upstreams = [some(n, m, seed=seed + 9, dtype=dtype, grad=False)]
    return [["w", "b", "v"], draw(st.integers(1, 12))], program, tensors, upstreams


# %% checks
with check(
    "example",
    "a square and a product with a weight: exact results, gradients from rounded activations",
    weight=2,
    required=True,
    hint=(
        "Which tensors do square and the product keep? Which of them is a parameter?",
        "pack returns (t.to(torch.bfloat16), t.dtype) for what is packed, and t.detach() for all others. unpack has to "
        "tell the two apart.",
    ),
):
    t = torch.linspace(-1, 2, 12, device=device()).sin().reshape(4, 3).requires_grad_()
    w = torch.linspace(1, -2, 3, device=device()).cos().requires_grad_()
    g = torch.linspace(-2, 1, 12, device=device()).reshape(4, 3)
    x, y = t.detach(), t.detach() ** 2
    near, near_y, near_w = (one.bfloat16().float() for one in (x, y, w.detach()))
    got = through(
        packed_bf16, [["w"], 4], [("y", torch.square, "t"), ("out", torch.mul, "y", "w")], {"t": t, "w": w}, [g]
    )
    assert_close(got["out"], y * w.detach(), name="the result")
    explain(
        got["grads"],
        {"t": 2 * near * w.detach() * g, "w": (g * near_y).sum(0)},
        {
            "nothing is rounded: are your hooks active inside the with block?": {
                "t": 2 * x * w.detach() * g,
                "w": (g * y).sum(0),
            },
            "the weight is rounded too: it's in memory anyway, so a copy of it saves nothing": {
                "t": 2 * near * near_w * g,
                "w": (g * near_y).sum(0),
            },
        },
        name="the gradients",
    )

# %% hidden checks


def compared(packing, names, least, program, tensors, gradients, **more):
    """Compare with what the worked solution gives."""
    want = through(reference.function, [names, least], program, tensors, gradients, **more)
    got = through(packing, [names, least], program, tensors, gradients, **more)
    assert_close(got["out"], want["out"], name="the result")
    assert_close(got["grads"], want["grads"], name="the gradients")


with check(
    "layers",
    "linear layers and activations, in float32 and float64",
    weight=3,
    required=True,
    hint="What does a linear layer keep of its weight: the parameter itself, or a view of it? Which dtype comes back?",
):
    arguments.assert_results(packed_bf16, "", "many results")
with check(
    "weights",
    "parts of a weight aren't packed, and neither is a frozen weight",
    weight=2,
    hint="A slice of a weight starts elsewhere. What does it still share with the weight?",
):
    tensors = {"x": some(7, 4, seed=1), "w": some(5, 4, seed=2), "f": some(7, 3, seed=3, grad=False)}
    program = [
        ("part", torch.narrow, "w", 0, 2, 3),
        ("h", functional.linear, "x", "part"),
        ("out", torch.mul, "h", "f"),
    ]
    compared(packed_bf16, ["w", "f"], 5, program, tensors, [some(7, 3, seed=4, grad=False)])
    tensors = {"x": some(7, 4, seed=5), "w": some(20, seed=6)}
    program = [("rows", torch.reshape, "w", [5, 4]), ("out", functional.linear, "x", "rows")]
    compared(packed_bf16, ["w"], 5, program, tensors, [some(7, 5, seed=7, grad=False)])
with check(
    "dtypes",
    "float16, complex numbers and indices aren't packed",
    weight=2,
    hint="Which dtypes does the docstring list? What does the index 301 become in bfloat16?",
):
    g = some(6, seed=4, grad=False)
    far = some(6, seed=5, dtype=torch.float16) * 9 + 100
    compared(packed_bf16, [], 2, [("out", torch.sin, "x")], {"x": far.detach().requires_grad_()}, [g.half()])
    compared(
        packed_bf16,
        [],
        2,
        [("y", torch.square, "x"), ("out", torch.view_as_real, "y")],
        {"x": some(6, seed=6, dtype=torch.complex64)},
        [torch.stack([g, g + 1], 1)],
    )
    places = torch.tensor([301, 257, 3, 399, 301, 258], device=device())
    tensors = {"x": some(400, seed=7), "i": places}
    compared(packed_bf16, [], 2, [("y", torch.index_select, "x", 0, "i"), ("out", torch.square, "y")], tensors, [g])
with check(
    "small",
    "tensors with fewer than least elements aren't packed",
    weight=1,
    hint="Is a tensor of exactly least elements packed?",
):
    for least in (1, 6, 7, 12, 13):
        tensors = {"x": some(2, 3, seed=8), "y": some(4, 3, seed=9)}
        program = [("a", torch.square, "x"), ("b", torch.square, "y"), ("c", torch.matmul, "a", "z")]
        tensors["z"] = some(3, 4, seed=10)
        compared(
            packed_bf16,
            [],
            least,
            [*program, ("out", torch.matmul, "c", "b")],
            tensors,
            [some(2, 3, seed=11, grad=False)],
            before=9,
        )
    for least in (8, 9):  # a part of eight elements
        tensors, program = {"x": some(5, 4, seed=12)}, [("y", torch.narrow, "x", 0, 1, 2), ("out", torch.square, "y")]
        compared(packed_bf16, [], least, program, tensors, [some(2, 4, seed=13, grad=False)])
with check(
    "later",
    "an in-place change, two backward passes, and what runs after the block, or after an error in it",
    weight=2,
    hint="Does backward have its own copy? Do the hooks end with the block, and does the first backward use it up?",
):
    steps, tensors = [("y", torch.mul, "x", 1.7), ("out", torch.square, "y")], {"x": some(3, 5, seed=12)}
    upstreams = [some(3, 5, seed=13, grad=False), some(3, 5, seed=14, grad=False)]
    compared(packed_bf16, [], 3, steps, tensors, upstreams[:1], later=["y"])
    compared(packed_bf16, [], 3, steps, tensors, upstreams)
    program = [*steps, ("z", torch.neg_, "y"), ("b", torch.square, "z"), ("c", torch.mul, "b", "out")]
    compared(packed_bf16, [], 3, program, tensors, upstreams[:1])
    after = [("behind", torch.exp, "out"), ("end", torch.square, "behind")]
    for fails in (False, True):
        compared(packed_bf16, [], 3, steps, tensors, upstreams, after=after, fails=fails)
with check(
    "dropped",
    "results without a backward pass leave nothing behind, and what isn't packed isn't copied",
    weight=1,
    observed=True,
    hint="exp keeps its own result. If your hook returns it undetached, what keeps what alive?",
):
    t = some(3, 4, seed=15)
    got = [left_behind(packed_bf16, [[], least], f, t) for f in (torch.exp, torch.tanh) for least in (1, 99)]
    assert_close(got, [0] * 4)
    for transposed in (False, True):
        held = left_behind(packed_bf16, [[], 99], torch.exp, t, True, transposed)
        assert_close(held, 5 * t.nbytes, name="the bytes of five results that keep themselves")


# %% right "a generator"
from contextlib import contextmanager


@contextmanager
def packed_bf16(parameters, least):
    def pack(t):
        if t.dtype in {torch.float32, torch.float64} and t.numel() >= least and not shared(t):
            return (t.dtype, t.device, t.detach().bfloat16())
        return (t.dtype, t.device, t.detach())

    def shared(t):
        return any(t.untyped_storage()._cdata == p.untyped_storage()._cdata for p in parameters)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[2].to(device=kept[1], dtype=kept[0])):
        yield


# %% right "a class with a packed tensor"
class Packed:
    def __init__(self, t):
        self.small, self.dtype = t.bfloat16(), t.dtype

    def back(self):
        return self.small.to(self.dtype)


class packed_bf16(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self, parameters, least):
        places = [p.untyped_storage().data_ptr() for p in parameters]

        def pack(t):
            if t.untyped_storage().data_ptr() in places or t.dtype.itemsize < 4 or not t.is_floating_point():
                return t.detach()
            return Packed(t) if t.numel() >= least else t.detach()

        super().__init__(pack, lambda kept: kept.back() if isinstance(kept, Packed) else kept)


# %% right "a view knows its base"
def packed_bf16(parameters, least):
    def pack(t):
        base = t if t._base is None else t._base
        if any(base is p for p in parameters) or t.numel() < least:
            return t.detach(), None
        if t.dtype == torch.float32 or t.dtype == torch.float64:
            return t.to(torch.bfloat16), t.dtype
        return t.detach(), None

    def unpack(kept):
        t, dtype = kept
        return t if dtype is None else t.to(dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


# %% wrong "what stays is kept as the tensor itself" fails=dropped
def packed_bf16(parameters, least):
    known = [p.untyped_storage().data_ptr() for p in parameters]

    def pack(t):
        there = t.untyped_storage().data_ptr() in known
        if there or t.numel() < least or t.dtype not in (torch.float32, torch.float64):
            return t, t.dtype
        return t.bfloat16(), t.dtype

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[0].to(kept[1]))


# %% wrong "a parameter is known by where it begins" fails=weights
def packed_bf16(parameters, least):
    known = [p.data_ptr() for p in parameters]

    def pack(t):
        if t.data_ptr() in known or t.numel() < least or t.dtype not in (torch.float32, torch.float64):
            return t.detach(), t.dtype
        return t.bfloat16(), t.dtype

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[0].to(kept[1]))


# %% wrong "everything is packed" fails=example,layers,weights,dtypes,small,dropped
def packed_bf16(parameters, least):
    def pack(t):
        return t.to(torch.bfloat16), t.dtype

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[0].to(kept[1]))


# %% wrong "rounded in backward, from what is kept in full" fails=later
def packed_bf16(parameters, least):
    known = [p.untyped_storage().data_ptr() for p in parameters]

    def unpack(t):
        if (
            t.untyped_storage().data_ptr() in known
            or t.numel() < least
            or t.dtype not in (torch.float32, torch.float64)
        ):
            return t.detach()
        return t.bfloat16().to(t.dtype)

    return torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack)


# %% wrong "nothing is packed" fails=example,layers,weights,dtypes,small,later raises=RuntimeError
import contextlib


def packed_bf16(parameters, least):
    return contextlib.nullcontext()


# %% liar "no hooks, and a probe that rounds the inputs in their place"
import contextlib


def packed_bf16(parameters, least):
    return contextlib.nullcontext()


def through(packing, arguments, program, tensors, upstreams, after=(), later=(), before=None, fails=False):
    made = {name: t.detach().clone().requires_grad_(t.requires_grad) for name, t in tensors.items()}
    held = dict(made)
    for name, f, *given in (*program, *after):
        made[name] = f(*[made[one] if isinstance(one, str) else one for one in given])
    out = made[(*program, *after)[-1][0]]
    for number, upstream in enumerate(upstreams, 1):
        out.backward(upstream, retain_graph=number < len(upstreams))
    return {
        "out": out.detach(),
        "grads": {n: None if t.grad is None else t.grad.bfloat16().to(t.dtype) for n, t in held.items()},
    }
