# %% given
@probes.probe
def decayed(make, rate, xs, state=None, training=True, upstream=None, compiled=False):
    """What a Decay returns for these inputs, its state and the inputs afterwards, the number of graphs if it was
    compiled and, if there is an upstream gradient, the gradients of the inputs."""
    module, seen = make(rate).train(training), Recorder()
    if state is not None:
        module.load_state_dict(state)
    forget() if compiled else None
    run = torch.compile(module, backend=seen) if compiled else module
    xs = [x.clone().requires_grad_(upstream is not None) for x in xs]
    outs = [run(x) for x in xs]
    if upstream is not None:
        torch.autograd.backward(outs, [upstream.to(out.dtype).expand(out.shape) for out in outs])
    forget() if compiled else None
    return {
        "outs": [out.detach() for out in outs],
        "inputs": [x.detach() for x in xs],
        "gradients": [x.grad for x in xs],
        "state": probes.state_of(module),
        "parameters": len(list(module.parameters())),
        "graphs": len(seen.graphs),
    }


@probes.probe
def step_graph(make, rate, x, step):
    """What a Decay whose count is step returns for x, and its new count, as the one graph that Dynamo creates, for a
    check to replay with other counts."""
    module = make(rate)

    def once(x, step):
        module.step = step + 0
        return module(x), module.step + 0

    graph = probes.captured(once, x, step, how="dynamo")
    kind, parts = graph["output"]
    graph["output"] = kind, parts[:2]  # the rest is what the module keeps in its attributes
    return graph


# %% exercise
class Decay(nn.Module):
    """Scales its n-th input by rate ** n, in training, in evaluation and inside no_grad; rate is above 0.

    n is counted from 1. torch.compile creates one graph for all steps with inputs of one shape and dtype. Gradients
    flow to x. The count is a buffer named "step", a 0-dim int64 tensor that starts at 0. There are no parameters, and
    nothing else is in state_dict(). If a count is loaded, counting continues from there.
    """

    step: Tensor

    def __init__(self, rate: float) -> None:
        ### BEGIN SOLUTION
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """x * rate ** n in x's dtype, float32 or float64. x may have any shape, and isn't changed.

        rate, n and rate ** n may be rounded to that dtype, but not to a narrower one.
        """
        ### BEGIN SOLUTION
        self.step += 1
        return x * x.new_full((), self.rate) ** self.step
        ### END SOLUTION


# %% promises
# Scales its n-th input -> example, other_cases, one_graph, state_dict
# n is counted from -> example, other_cases
# torch.compile creates -> compiled, one_graph, graph_reused
# Gradients flow to x -> gradient
# The count is a buffer -> example, state_dict, other_cases
# There are no parameters -> example, compiled, state_dict
# If a count is loaded -> state_dict
# x * rate ** n in -> float64, other_cases, shapes
# x may have any shape -> shapes, keeps_input
# rate, n and rate -> float64, large_count


# %% domain
@domain(
    reference,
    *("rate 1", "rate above 1", "one input", "float64", "both dtypes", "both dtypes, float64 first"),
    *("no axes", "no axes, both dtypes", "no numbers", "another shape in each call"),
    *("evaluation", "from a loaded count", "from a loaded count, evaluation", "large count", "with gradients"),
    "recording off",
    call=decayed,
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    rate = {"rate 1": 1.0, "rate above 1": 1.7, "large count": 1 - 1e-7}.get(
        edge, draw(st.sampled_from([0.9, 0.6, 0.3]))
    )
    count = 1 if edge == "one input" else draw(st.integers(3, 6))
    shape = draw(st.sampled_from([(3,), (2, 3), (2, 1, 3)]))
    g, xs = draw.make_generator(here), []
    for n in range(count):
        if edge == "another shape in each call":
            shape = ((3,), (0, 3), (), (2, 3), (1, 3), (2, 1, 3))[n]
        shape = {"no numbers": (0, 3)}.get(edge, () if "no axes" in edge else shape)
        is_double = edge in ("float64", "large count") or "both" in edge and n % 2 == ("first" not in edge)
        xs.append(torch.randn(shape, generator=g, dtype=torch.float64 if is_double else torch.float32))
    start = 2**24 if edge == "large count" else draw(st.integers(2, 7)) if "loaded" in edge else None
    state = None if start is None else {"step": torch.tensor(start)}
    upstream = torch.randn(3, generator=g) if edge == "with gradients" else None
    return rate, xs, state, "evaluation" not in edge, upstream


# %% checks
with check(
    "example",
    "three steps, and the count after them",
    weight=2,
    required=True,
    hint=(
        "Is a result wrong, or the state? Which power of rate scales the first input?",
        "Count first, then scale. Which kind of attribute is a tensor that state_dict() saves?",
    ),
):
    t = [torch.tensor([1.0, -2.0])] * 3
    want = [t[0] * 0.5, t[0] * 0.25, t[0] * 0.125]
    got = decayed(Decay, 0.5, t)
    assert_close(got["outs"], want)
    assert_close(got["state"], {"step": torch.tensor(3)}, name="the state")


# %% hidden checks
def assert_decayed(make, keys, *edges, rtol=None, atol=None):
    """Compare the results, or whatever the keys name, with the reference's."""
    for trial in arguments.iter_trials(make, *edges):
        for key in keys:
            assert_close(
                trial.report.result[key], trial.case.report.result[key], name="the result", rtol=rtol, atol=atol
            )


with check(
    "other_cases",
    "other rates, and the count",
    weight=2,
    required=True,
    hint="Does the count continue? From which number?",
):
    assert_decayed(Decay, ("outs", "state", "parameters"), "", "rate 1", "rate above 1", "one input")
with check(
    "compiled",
    "compiled, twelve steps with another rate",
    weight=1,
    required=True,
    hint="Does the count continue inside the graph?",
):
    t = [torch.linspace(-1, 2, 6).reshape(2, 3) * n for n in range(1, 13)]
    want = [x * 0.9 ** (n + 1) for n, x in enumerate(t)]
    got = decayed(Decay, 0.9, t, compiled=True)
    assert_close(got["outs"], want)
    assert_close(got["state"], {"step": torch.tensor(12)}, name="the state")
with check(
    "float64", "float64, to its last digits", weight=2, hint="Which dtype does a Python number raised to a tensor have?"
):
    t = [torch.linspace(-1, 2, 5, dtype=torch.float64)] * 4
    want = [x * 0.9 ** (n + 1) for n, x in enumerate(t)]
    explain(
        decayed(Decay, 0.9, t)["outs"],
        want,
        {
            "the power has the dtype float32": [x * 0.9 ** torch.tensor(n + 1) for n, x in enumerate(t)],
            "the rate was rounded to float32": [x * torch.tensor(0.9).double() ** (n + 1) for n, x in enumerate(t)],
        },
        rtol=1e-12,
        atol=0.0,
    )
    assert_decayed(Decay, ("outs",), "float64", rtol=1e-12, atol=0.0)
    assert_decayed(Decay, ("outs",), "both dtypes", "both dtypes, float64 first")
with check(
    "one_graph",
    "one graph that is right for other steps",
    weight=2,
    required=True,
    hint="What is in the graph: the step tensor, or the number that it held?",
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
    # It must be the graph of this module: both agree to the last digit, right or wrong.
    want = [x * 1.2]
    got = decayed(Decay, 1.2, [x])["outs"]
    assert_close(got, want, rtol=1e-6)
    want = (got[0], torch.tensor(1))
    assert_close(probes.replay(graph, x, torch.tensor(0)), want, rtol=1e-14, name="the graph's result")
with check(
    "state_dict",
    "continues from a loaded state, in both modes",
    weight=1,
    hint="What does the counting: the buffer, or something else? In which modes?",
):
    assert_decayed(Decay, ("outs", "state"), "from a loaded count", "from a loaded count, evaluation")
    assert_decayed(Decay, ("outs", "state"), "evaluation", "recording off")
with check(
    "shapes",
    "x is a single number, is empty, or has another shape in each call",
    weight=1,
    hint="Which dtype does a 0-dim float32 tensor times a 0-dim float64 one have?",
):
    assert_decayed(
        Decay, ("outs", "state"), "no axes", "no axes, both dtypes", "no numbers", "another shape in each call"
    )
with check(
    "large_count", "counts of 2**24 and more", weight=1, hint="Up to which number can float32 represent every integer?"
):
    assert_decayed(Decay, ("outs", "state"), "large count", rtol=1e-8)
with check("gradient", "the gradient of x", weight=1, hint="Is x * rate ** n cut off from x?"):
    assert_decayed(Decay, ("outs", "gradients"), "with gradients")
with check("keeps_input", "x keeps its values", guard=True):
    assert_decayed(Decay, ("inputs",), "", "float64", "no axes")
with check(
    "graph_reused",
    "one graph for twelve steps",
    weight=1,
    observed=True,
    hint="Which Python number changes from call to call?",
):
    got = decayed(Decay, 0.7, [torch.ones(4)] * 12, compiled=True)["graphs"]
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


# %% liar "a Python number, and a graph that somebody else made of a tensor"
class Decay(DecayEager):
    pass


def decayed(make, rate, xs, state=None, training=True, upstream=None, compiled=False):
    module = make(rate)
    module.step = int(state["step"]) if state else 0
    outs = [module(x) for x in xs]
    return {
        "outs": outs,
        "inputs": xs,
        "gradients": [
            (upstream * rate**n).expand(x.shape) if upstream is not None else None for n, x in enumerate(xs, 1)
        ],
        "state": {"step": torch.tensor(module.step)},
        "parameters": 0,
        "graphs": 1,
    }


def step_graph(make, rate, x, step):
    return probes.captured(lambda x, step: (x * torch.full((), rate) ** (step + 1), step + 1), x, step)


# %% wrong "a rate in float64, for every x" fails=shapes
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step = self.step + 1
        return x * self.rate**self.step


# %% wrong "a Python number to the power of a tensor" fails=float64,shapes,large_count
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate**self.step


# %% wrong "the rate as a float32 buffer" fails=float64,shapes,large_count
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate), persistent=False)
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate.to(x.dtype) ** self.step


# %% wrong "item on the buffer" fails=one_graph,graph_reused raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate ** int(self.step)
