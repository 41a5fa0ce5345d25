# %% given
@probes.probe
def gradient_device(keeping, least):
    """The device of a gradient, if the tensor is on one without values, and fetch returns one on the CPU."""
    x = torch.ones(2, 3, device="meta", requires_grad=True)
    with keeping(lambda t: 1, lambda ticket: torch.ones(2, 3), least):
        out = x.sin()
    out.backward(torch.ones_like(out))
    return str(x.grad.device)


# %% exercise
def kept_elsewhere(
    send: Callable[[Tensor], int], fetch: Callable[[int], Tensor], least: int
) -> AbstractContextManager[Any]:
    """A context manager that stores what is kept for backward inside its with block in another place.

    send(t) puts a copy of t there and returns a ticket. fetch(ticket) returns what was stored: a tensor of the same
    shape, possibly on another device and of another dtype.
    Each tensor of at least `least` bytes that an operation keeps is sent when it is kept. Smaller ones aren't sent, but
    kept here. Whenever backward needs a tensor that was sent, it is fetched: backward computes with what fetch returns,
    converted to the tensor's original dtype and device.

    Details:
    - A tensor's bytes are those of its elements, not of its whole storage.
    - A tensor is sent each time that it's kept, so twice for x * x. Weights, integers and single numbers are sent too.
      Tensors that are sent don't require grad.
    - Backward may run after the with block has ended, even with an error, and twice with retain_graph=True.
    - A result that is dropped without a backward pass leaves nothing behind here.
    """
    ### BEGIN SOLUTION

    def pack(t: Tensor) -> Any:
        if t.nbytes < least:
            return t.detach()
        return send(t.detach()), t.dtype, t.device

    def unpack(kept: Any) -> Tensor:
        if isinstance(kept, Tensor):
            return kept
        ticket, dtype, where = kept
        return fetch(ticket).to(device=where, dtype=dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)
    ### END SOLUTION


# %% promises
# A context manager that -> example, layers, integers, small, twice
# send(t) puts -> layers, integers, small, twice
# fetch(ticket) returns -> layers, integers, device
# Each tensor of at least -> layers, integers, small, twice
# Smaller ones aren't -> small, dropped
# Whenever backward needs -> layers, integers, small, twice, device
# A tensor's bytes are -> layers, integers, small, twice
# A tensor is sent -> layers, integers, small, twice
# Weights, integers and single -> layers, integers, small, twice
# Tensors that are sent -> layers, integers, small, twice
# Backward may run -> twice
# A result that is dropped -> dropped


# %% domain
class Place:
    """Another place, which returns something other than what it got. sent, fetched: what happened."""

    def __init__(self, change):
        self.change, self.sent, self.fetched, self.wishes = change, [], [], []

    def send(self, t):
        self.wishes.append(t.requires_grad)
        self.sent.append(t.detach().clone())
        return 7 * len(self.sent) - 7  # 0 at first

    def fetch(self, ticket):
        self.fetched.append(ticket)
        return self.change(self.sent[ticket // 7].clone())


def coarse(t):
    return (t * 8).round() / 8 if t.is_floating_point() else t


def coarse_double(t):
    return coarse(t).double()


@domain(reference, call=through)
def arguments(draw, _):
    n, d, h, m = draw(st.permutations([3, 4, 5, 6]))
    seed, dtype = draw(st.integers(0, 10**6)), draw(st.sampled_from([torch.float32, torch.float64]))
    place = Place(draw(st.sampled_from([coarse_double, Tensor.float])))
    shapes = {"x": (n, d), "w": (h, d), "b": (h,), "v": (m, h)}
    tensors = {name: some(*shapes[name], seed=seed + k, dtype=dtype) for k, name in enumerate(shapes)}
    tensors["v"].requires_grad_(draw(st.booleans()))
    bend = draw(st.sampled_from([torch.tanh, functional.gelu]))
    program = [("h", functional.linear, "x", "w", "b"), ("a", bend, "h"), ("out", functional.linear, "a", "v")]
    upstreams = [some(n, m, seed=seed + 9, dtype=dtype, grad=False)]
    return [place.send, place.fetch, draw(st.integers(1, 12))], program, tensors, upstreams


# %% checks
with check(
    "example",
    "sin and a product: both factors and sin's input are sent, fetched once, and used as fetched",
    weight=2,
    required=True,
    hint=(
        "What does pack return instead of a tensor? What does unpack need to know?",
        "pack returns (send(t.detach()), t.dtype, t.device). unpack calls fetch, and .to(...) with the other two.",
    ),
):
    place, came = {}, []

    def put(t):
        place[len(place) + 1] = t.clone()
        return len(place)

    def get(ticket):
        came.append(ticket)
        return place[ticket].double() + 0.25  # the result is float64, and a quarter too large

    t = torch.linspace(-1, 2, 12, device=device()).reshape(4, 3).requires_grad_()
    w = torch.linspace(1, -2, 12, device=device()).reshape(4, 3).requires_grad_()
    g = torch.linspace(-2, 1, 12, device=device()).reshape(4, 3)
    x, v = t.detach(), w.detach()
    got = through(
        kept_elsewhere,
        [put, get, 8],
        [("y", torch.sin, "t"), ("out", torch.mul, "y", "w")],
        {"t": t, "w": w},
        [g],
    )
    assert_close(got["out"], x.sin() * v, name="the result")
    near = {"t": (x + 0.25).cos() * (v + 0.25) * g, "w": (x.sin() + 0.25) * g}
    explain(
        got["grads"],
        near,
        {
            "backward didn't use what fetch returned": {"t": x.cos() * v * g, "w": x.sin() * g},
        },
        name="the gradients",
    )
    assert_close(sorted(came), [1, 2, 3], name="the tickets that were fetched")
    assert_close(len(place), 3, name="the number of tensors sent")

# %% hidden checks


def ran_elsewhere(keeping, change, least, program, tensors, upstreams, **more):
    """What through gives, and what the place saw."""
    place = Place(change)
    got = through(keeping, [place.send, place.fetch, least], program, tensors, upstreams, **more)
    return got, place


def elsewhere(keeping, *args, **more):
    """Compare with what the worked solution gives."""
    want, place = ran_elsewhere(reference.function, *args, **more)
    got, seen = ran_elsewhere(keeping, *args, **more)
    assert_close(got, want)
    assert_same_place(seen, place)


def assert_same_place(seen, place):
    assert_close(seen.sent, place.sent, name="what was sent")
    assert_close(sorted(seen.fetched), sorted(place.fetched), name="the tickets that were fetched")
    assert_close(seen.wishes, [False] * len(place.sent), name="whether what was sent requires grad")


with check(
    "layers",
    "layers in float32 and float64: what is sent, when it is fetched, and how backward uses it",
    weight=3,
    required=True,
    hint="Is every tensor that an operation keeps sent, even a weight? Which dtype does backward need?",
):
    for trial in arguments.iter_trials(kept_elsewhere, ""):
        assert_close(trial.report.result, trial.case.report.result)
        assert_same_place(trial.arguments[0][0].__self__, trial.case.arguments[0][0].__self__)
with check(
    "integers",
    "indices and float16 come back in their own dtype",
    weight=1,
    hint="What dtype did the original tensor have?",
):
    places = torch.tensor([11, 7, 3, 19, 11, 8], device=device())
    program = [("y", torch.index_select, "x", 0, "i"), ("out", torch.square, "y")]
    for dtype in (torch.float16, torch.float32):
        tensors = {"x": some(20, seed=7, dtype=dtype), "i": places}
        elsewhere(kept_elsewhere, coarse_double, 2, program, tensors, [some(6, seed=4, dtype=dtype, grad=False)])
with check(
    "small",
    "tensors of fewer than least bytes aren't sent",
    weight=1,
    hint="How many bytes are three numbers? Is a tensor of exactly least bytes sent? And part of a larger one?",
):
    for least, dtype in (
        (24, torch.float32),
        (25, torch.float32),
        (48, torch.float32),
        (24, torch.float64),
        (36, torch.float64),
    ):
        tensors = {"x": some(2, 3, seed=8, dtype=dtype), "y": some(9, 3, seed=9, dtype=dtype)}
        program = [("a", torch.sin, "x"), ("part", torch.narrow, "y", 0, 2, 2), ("b", torch.cos, "part")]
        g = some(2, 3, seed=11, dtype=dtype, grad=False)
        steps = [*program, ("out", torch.mul, "a", "b")]
        elsewhere(kept_elsewhere, coarse, least, steps, tensors, [g], before=30)
    for least in (48, 49):  # twelve numbers, in the memory of three
        tensors, program = {"x": some(3, seed=16)}, [("y", torch.broadcast_to, "x", [4, 3]), ("out", torch.sin, "y")]
        elsewhere(kept_elsewhere, coarse, least, program, tensors, [some(4, 3, seed=17, grad=False)])
    for least in (4, 5):  # a number, which is kept twice
        tensors, program = {"x": some(3, seed=18)}, [("y", torch.sum, "x"), ("out", torch.mul, "y", "y")]
        elsewhere(kept_elsewhere, coarse, least, program, tensors, [torch.tensor(1.7, device=device())])
with check(
    "twice",
    "two backward passes, a block of its own for each step, and what runs after the block, or after an error in it",
    weight=2,
    hint="Is anything used up by the first backward? Do the hooks end with the block?",
):
    steps, tensors = [("y", torch.mul, "x", 1.7), ("out", torch.sin, "y")], {"x": some(3, 5, seed=12)}
    upstreams = [some(3, 5, seed=13, grad=False), some(3, 5, seed=14, grad=False)]
    elsewhere(kept_elsewhere, coarse, 8, steps, tensors, upstreams)
    program = [*steps, ("z", torch.neg_, "y"), ("b", torch.sin, "z"), ("c", torch.mul, "b", "out")]
    elsewhere(kept_elsewhere, coarse, 8, program, tensors, upstreams[:1])
    for fails in (False, True):
        after = [("end", torch.exp, "out")]
        elsewhere(kept_elsewhere, coarse, 8, steps, tensors, upstreams[:1], after=after, fails=fails)
    elsewhere(kept_elsewhere, coarse, 8, steps, tensors, upstreams[:1], later=["y"])
with check(
    "device",
    "tensors on a device without values: what is fetched returns to that device",
    weight=1,
    observed=True,
    hint="fetch returns a tensor on the CPU. Which device was the original on?",
):
    assert_close(gradient_device(kept_elsewhere, 4), "meta", name="the device of the gradient")
with check(
    "dropped",
    "results without a backward pass leave nothing behind",
    weight=1,
    observed=True,
    hint="exp keeps its own result. If your hook returns it undetached, what keeps what alive?",
):
    t = some(3, 4, seed=15)  # what is sent goes nowhere: in one process a place's own copies would count
    got = [left_behind(kept_elsewhere, [lambda t: 1, lambda _: t, least], torch.exp, t) for least in (48, 49)]
    assert_close(got, [0, 0])


# %% right "a generator, and a dict of what is known of a ticket"
from contextlib import contextmanager


@contextmanager
def kept_elsewhere(send, fetch, least):
    known = {}

    def pack(t):
        if t.numel() * t.element_size() >= least:
            ticket = send(t.detach())
            known[ticket] = (t.dtype, t.device)
            return ticket
        return t.detach()

    def unpack(kept):
        if torch.is_tensor(kept):
            return kept
        dtype, where = known[kept]
        return fetch(kept).to(dtype).to(where)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield


# %% right "an empty tensor remembers the form"
def kept_elsewhere(send, fetch, least):
    class Away:
        def __init__(self, t):
            self.like = t.new_empty(0)
            self.ticket = send(t.clone())

    return torch.autograd.graph.saved_tensors_hooks(
        lambda t: Away(t) if t.nbytes >= least else t.detach(),
        lambda kept: fetch(kept.ticket).to(self_like(kept)) if isinstance(kept, Away) else kept,
    )


def self_like(kept):
    return kept.like


# %% right "a class with two methods"
class kept_elsewhere:
    def __init__(self, send, fetch, least):
        self.send, self.fetch, self.least = send, fetch, least

    def __enter__(self):
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
        self.hooks.__enter__()

    def __exit__(self, *error):
        self.hooks.__exit__(*error)

    def pack(self, t):
        if t.nbytes < self.least:
            return None, t.detach(), None
        return self.send(t.detach()), t.dtype, t.device

    def unpack(self, kept):
        ticket, dtype, where = kept
        return dtype if ticket is None else self.fetch(ticket).to(where, dtype)


# %% wrong "sent, and kept here as well" fails=example,layers,integers,small,twice
def kept_elsewhere(send, fetch, least):
    def pack(t):
        if t.nbytes >= least:
            send(t.detach())
        return t.detach()

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)


# %% wrong "fetched at once" fails=twice
def kept_elsewhere(send, fetch, least):
    def pack(t):
        return t.detach() if t.nbytes < least else fetch(send(t.detach())).to(t)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)


# %% wrong "the device is forgotten" fails=device raises=RuntimeError
def kept_elsewhere(send, fetch, least):
    def pack(t):
        return t.detach() if t.nbytes < least else (send(t.detach()), t.dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda k: k if torch.is_tensor(k) else fetch(k[0]).to(k[1]))


# %% wrong "small ones are kept as they are, and results with them" fails=dropped
def kept_elsewhere(send, fetch, least):
    def pack(t):
        return t if t.nbytes < least else (send(t.detach()), t.new_empty(0))

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda k: k if torch.is_tensor(k) else fetch(k[0]).to(k[1]))
