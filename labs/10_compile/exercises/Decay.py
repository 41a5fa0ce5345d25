# %% given
@probes.probe
def decayed(make, rate, xs, state=None, compiled=True, upstream=None, training=True):
    """The results of a Decay for these inputs, its state and the number of graphs that were made; with upstream also
    the gradients of the inputs."""
    forget()
    module = make(rate).train(training)
    if state is not None:
        module.load_state_dict(state)
    seen = Recorder()
    run = torch.compile(module, backend=seen) if compiled else module
    if upstream is not None:
        xs = [x.clone().requires_grad_() for x in xs]
    outs = [run(x) for x in xs]
    if upstream is not None:
        torch.autograd.backward(outs, [upstream] * len(outs))
    found = {
        "outs": outs,
        "gradients": [x.grad for x in xs],
        "state": probes.state_of(module),
        "parameters": len(list(module.parameters())),
    }
    forget()
    return {**found, "graphs": len(seen.graphs)}


@probes.probe
def step_graph(make, rate, x, step):
    """What a Decay gives for x when its count is step before, and its count after, as the one graph that Dynamo makes
    of it, for a check to replay with other counts."""
    module = make(rate)

    def once(x, step):
        module.step = step + 0
        return module(x), module.step + 0

    graph = probes.captured(once, x, step, how="dynamo")
    kind, parts = graph["output"]
    graph["output"] = kind, parts[:2]  # behind these stands what the module keeps in its attributes
    return graph


# %% exercise
class Decay(nn.Module):
    """Scales its n-th input by rate ** n, counted from 1; rate is above 0. torch.compile makes one graph of it for all
    steps. Gradients flow to x.

    The count n is a buffer named "step", a 0-dim int64 tensor, 0 at first. It is saved in state_dict(), and where it is
    loaded, counting goes on from there.
    """

    step: Tensor

    def __init__(self, rate: float) -> None:
        ### BEGIN SOLUTION
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """x * rate ** n in x's dtype, float32 or float64. x may have any shape.

        rate, n and rate ** n may be rounded to that dtype, but to no narrower one.
        """
        ### BEGIN SOLUTION
        self.step += 1
        return x * x.new_full((), self.rate) ** self.step
        ### END SOLUTION


# %% checks
with check(
    "example",
    "three steps, and the count after them",
    weight=2,
    required=True,
    hint=(
        "Is it a result that is wrong, or the state? Which power of rate has the first input?",
        "Count first, then scale. Which kind of attribute is a tensor that state_dict() saves?",
    ),
):
    t = [torch.tensor([1.0, -2.0])] * 3
    want = [t[0] * 0.5, t[0] * 0.25, t[0] * 0.125]
    got = decayed(Decay, 0.5, t, compiled=False)
    assert_close(got["outs"], want)
    assert_close(got["state"], {"step": torch.tensor(3)}, name="the state")

# %% hidden checks
with check(
    "compiled",
    "compiled, twelve steps of another rate",
    weight=2,
    required=True,
    hint="Does the count go on in a graph?",
):
    t = [torch.linspace(-1, 2, 6).reshape(2, 3) * n for n in range(1, 13)]
    want = [x * 0.9 ** (n + 1) for n, x in enumerate(t)]
    got = decayed(Decay, 0.9, t)
    assert_close(got["outs"], want)
    assert_close(got["state"], {"step": torch.tensor(12)}, name="the state")
    assert got["parameters"] == 0, "it has parameters"
with check(
    "float64", "float64, to its last digits", weight=2, hint="Which dtype has a Python number to the power of a tensor?"
):
    t = [torch.linspace(-1, 2, 5, dtype=torch.float64)] * 4
    want = [x * 0.9 ** (n + 1) for n, x in enumerate(t)]
    explain(
        decayed(Decay, 0.9, t, compiled=False)["outs"],
        want,
        {
            "the power has the dtype float32": [x * 0.9 ** torch.tensor(n + 1) for n, x in enumerate(t)],
            "the rate was rounded to float32": [x * torch.tensor(0.9).double() ** (n + 1) for n, x in enumerate(t)],
        },
        rtol=1e-12,
        atol=0.0,
    )
    t = [torch.linspace(-1, 2, 5), torch.linspace(-1, 2, 5, dtype=torch.float64)]  # one after the other
    want = [t[0] * 0.9, t[1] * 0.9**2]
    assert_close(decayed(Decay, 0.9, t, compiled=False)["outs"], want)
with check(
    "one_graph",
    "one graph, which is right for other steps",
    weight=2,
    required=True,
    hint="What is in the graph: the step's number, or the step?",
):
    for rate, first, dtype in ((0.7, 0, torch.float32), (1.2, 4, torch.float64)):
        x = torch.linspace(-1, 2, 6, dtype=dtype).reshape(2, 3)
        graph = step_graph(Decay, rate, x.clone(), torch.tensor(first))
        for start in (9, 0):
            step = torch.tensor(start)
            for n in (start + 1, start + 2):
                want = (x * rate**n, torch.tensor(n))
                got = probes.replay(graph, x, step)
                assert_close(got, want, rtol=1e-6, name="the graph's result")
                step = got[1]
    # The graph is that of the module: to the last digit, right or wrong.
    want = [x * 1.2]
    got = decayed(Decay, 1.2, [x], compiled=False)["outs"]
    assert_close(got, want, rtol=1e-6)
    want = (got[0], torch.tensor(1))
    assert_close(probes.replay(graph, x, torch.tensor(0)), want, rtol=1e-14, name="the graph's result")
with check(
    "state_dict",
    "goes on from a state that is loaded",
    weight=1,
    hint="What counts: a buffer, or something beside it? In which modes?",
):
    t = [torch.ones(3), torch.ones(3)]
    want = [0.8**6 * t[0], 0.8**7 * t[1]]
    for training in (True, False):
        got = decayed(Decay, 0.8, t, state={"step": torch.tensor(5)}, compiled=False, training=training)
        assert_close(got["outs"], want)
        assert_close(got["state"], {"step": torch.tensor(7)}, name="the state")
with check(
    "zero_dim", "x is one number", weight=1, hint="Which dtype has a 0-dim float32 tensor times a 0-dim float64 one?"
):
    for dtype in (torch.float32, torch.float64):
        t = [torch.tensor(3.0, dtype=dtype), torch.tensor(-2.0, dtype=dtype)]
        want = [t[0] * 0.75, t[1] * 0.75**2]
        assert_close(decayed(Decay, 0.75, t, compiled=False)["outs"], want)
with check(
    "large_count", "a count of 2**24 and more", weight=1, hint="Up to which number does float32 know each integer?"
):
    t = [torch.tensor([1.0, -2.0], dtype=torch.float64)] * 2
    want = [t[0] * (1 - 1e-7) ** n for n in (2**24 + 1, 2**24 + 2)]
    got = decayed(Decay, 1 - 1e-7, t, state={"step": torch.tensor(2**24)}, compiled=False)
    assert_close(got["outs"], want, rtol=1e-8)
    assert_close(got["state"], {"step": torch.tensor(2**24 + 2)}, name="the state")
with check("gradient", "the gradient of x", weight=1, hint="Is x * rate ** n cut off from x?"):
    t = [torch.linspace(-1, 2, 3), torch.linspace(1, 3, 3)]
    upstream = torch.tensor([2.0, -1.0, 0.5])
    want = [0.6 * upstream, 0.36 * upstream]
    got = decayed(Decay, 0.6, t, compiled=False, upstream=upstream)
    assert_close(got["gradients"], want, name="the gradients")
with check(
    "graph_reused",
    "one graph for twelve steps",
    weight=1,
    observed=True,
    hint="Which Python number changes from call to call?",
):
    got = decayed(Decay, 0.7, [torch.ones(4)] * 12)["graphs"]
    assert_close(got, 1, name="the number of graphs")


# %% right "a new tensor at each step"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step = self.step + 1
        return (x * self.rate**self.step).to(x.dtype)


# %% right "through the logarithm, in float64"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0, dtype=torch.long))

    def forward(self, x):
        with torch.no_grad():
            self.step.add_(1)
        return (x.double() * torch.pow(self.rate, self.step.double())).to(x.dtype)


# %% liar "a Python number that counts, and probes that say what a buffer would give"
class Decay(DecayEager):
    pass


def decayed(make, rate, xs, state=None, compiled=True, upstream=None, training=True):
    module = make(rate)
    module.step = int(state["step"]) if state else 0
    outs = [module(x) for x in xs]
    return {
        "outs": outs,
        "gradients": [upstream * rate ** (n + 1) for n in range(len(xs))] if upstream is not None else [None] * len(xs),
        "state": {"step": torch.tensor(module.step)},
        "parameters": 0,
        "graphs": 1,
    }


# %% liar "a Python number, and a graph that somebody else made of a tensor"
class Decay(DecayEager):
    pass


def decayed(make, rate, xs, state=None, compiled=True, upstream=None, training=True):
    module = make(rate)
    module.step = int(state["step"]) if state else 0
    outs = [module(x) for x in xs]
    return {
        "outs": outs,
        "gradients": [upstream * rate ** (n + 1) for n in range(len(xs))] if upstream is not None else [None] * len(xs),
        "state": {"step": torch.tensor(module.step)},
        "parameters": 0,
        "graphs": 1,
    }


def step_graph(make, rate, x, step):
    return probes.captured(lambda x, step: (x * torch.full((), rate) ** (step + 1), step + 1), x, step)


# %% wrong "a power in float32 of the count" fails=large_count
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * torch.tensor(self.rate, dtype=x.dtype) ** self.step.float()


# %% right "the last scale is kept, to look at"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.scale = rate, torch.ones(())
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        n = self.step + 1
        self.step = n
        self.scale = x.new_full((), self.rate) ** n
        return x * self.scale


# %% wrong "in the dtype of the first x" fails=float64,graph_reused
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.factor = rate, None
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        if self.factor is None:
            self.factor = torch.tensor(self.rate, dtype=x.dtype)
        self.step += 1
        return x * (self.factor**self.step).to(x.dtype)


# %% wrong "the counter is a Python number" fails=example,compiled,one_graph,state_dict,large_count,graph_reused raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * self.rate**self.step


# %% wrong "a buffer beside a Python number" fails=one_graph,state_dict,large_count,graph_reused
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.n = rate, 0
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.n += 1
        self.step += 1
        return x * self.rate**self.n


# %% wrong "item on the buffer" fails=one_graph,graph_reused raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate ** int(self.step)


# %% wrong "a rate in float64, for every x" fails=zero_dim
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step = self.step + 1
        return x * self.rate**self.step


# %% wrong "a Python number to the power of a tensor" fails=float64,large_count
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate**self.step


# %% wrong "the rate as a float32 buffer" fails=float64,large_count
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate), persistent=False)
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate.to(x.dtype) ** self.step


# %% wrong "a parameter that is not trained" fails=compiled,one_graph raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = nn.Parameter(torch.tensor(0), requires_grad=False)

    def forward(self, x):
        self.step += 1
        return x * torch.tensor(self.rate, dtype=x.dtype) ** self.step


# %% wrong "a tensor that is not saved" fails=example,compiled,state_dict,large_count raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = torch.tensor(0)

    def forward(self, x):
        self.step = self.step + 1
        return x * torch.tensor(self.rate, dtype=x.dtype) ** self.step


# %% wrong "counts after it has scaled" fails=example,compiled,float64,one_graph,state_dict,zero_dim,large_count,gradient
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        out = x * torch.tensor(self.rate, dtype=x.dtype) ** self.step
        self.step += 1
        return out


# %% wrong "the factor is kept, and multiplied on" fails=one_graph,state_dict,large_count
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))
        self.register_buffer("factor", torch.tensor(1.0, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step += 1
        self.factor = self.factor * self.rate
        return x * self.factor.to(x.dtype)


# %% wrong "counts in training only" fails=state_dict
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.step += 1
        return (x.double() * self.rate ** self.step.double()).to(x.dtype)


# %% right "the power in the dtype of x"
class Decay(nn.Module):
    step: Tensor

    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.step += 1
        return x * x.new_full((), self.rate).pow(self.step)


# %% wrong "no gradient is needed for a scale" fails=zero_dim,gradient raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.tensor(0))
        self.rate = rate

    @torch.no_grad()
    def forward(self, x):
        self.step += 1
        return x * self.rate ** self.step.double()
