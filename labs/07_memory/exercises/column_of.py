# %% given
class Layer(nn.Module):
    """Calls f(x, self.training, *parameters, *buffers). The last buffer isn't persistent."""

    def __init__(self, f, parameters, buffers=()):
        super().__init__()
        self.f = lambda *inputs: f(*inputs)
        for n, t in enumerate(parameters):
            self.register_parameter(f"weight{n}", nn.Parameter(t.detach().clone(), t.requires_grad))
        for n, t in enumerate(buffers):
            t = t.detach().clone().requires_grad_(t.requires_grad)
            self.register_buffer(f"buffer{n}", t, persistent=n + 1 < len(buffers))

    def forward(self, x):
        return self.f(x, self.training, *self.parameters(), *self.buffers())


@probes.probe
def columns(column_of, parts, modes, xs, column):
    """What column_of returns, and the model's state afterward. The model has a Layer for each of
    parts, and modes says which of its modules are in training mode."""
    model = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    found = column_of(model, xs, column)
    return {
        "found": [t.detach() for t in found],
        "requires_grad": [t.requires_grad for t in found],
        "bytes": [memory.nbytes(t) for t in found],
        "state": [t.detach() for t in (*model.parameters(), *model.buffers())],
        "grads": [parameter.grad for parameter in model.parameters()],
        "trained": [parameter.requires_grad for parameter in model.parameters()],
        "modes": [module.training for module in model.modules()],
    }


def wide(x, training, w, b):
    return torch.tanh((x - x.mean(0) if training else x) @ w + b)


def narrow(x, training, w, shift):
    return (x - shift) @ w * (0.5 if training else 2)


def untouched(x, training):
    return x


def doubled(x, training):
    return x.double() * 2


# %% exercise
def column_of(model: nn.Module, xs: list[Tensor], column: int) -> list[Tensor]:
    """One column of the model's results: a tensor of shape (n,) for each x of shape (n, d) in xs.

    The model returns (n, c). No graph is built while column_of runs. The results have the dtype of model(x) and don't
    require grad. Each has its own memory, no more than its numbers need.

    Details:
    - model: any module that isn't changed by a call; c is at least 1. Any mix of its modules may be in training mode,
      which makes a difference. Any of its parameters may be frozen, and a buffer may require grad. It may return x
      itself.
    - xs: may be empty, n may be 0, and an x may require grad.
    - column: may be negative.
    - The model isn't changed, including its modes, its .grad and each parameter's requires_grad; neither are xs and the
      grad mode.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs]
    ### END SOLUTION


# %% promises
# One column of the -> example, small_graph, small_bytes, other_cases, no_graph
# The model returns -> other_cases
# No graph is built -> small_graph, no_graph
# The results have the -> example, other_cases, no_graph
# Each has its own -> small_bytes, own_memory
# model: any module that -> other_cases
# Any mix of its modules -> other_cases
# Any of its parameters -> other_cases, no_graph
# It may return x -> other_cases, own_memory
# xs: may be empty -> empty, other_cases
# column: may be negative -> other_cases
# The model isn't -> keeps_model


# %% domain
@domain(
    reference,
    *("float64", "bfloat16", "another dtype", "negative column", "the last column, as -1", "one column", "one row"),
    *("training mode", "evaluation mode", "all frozen", "none frozen", "transposed", "recording off"),
    *("x requires grad", "returns x", "returns x, requires grad", "no batch", "an empty batch", "all empty"),
    call=columns,
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    g, dtype = draw.make_generator(), {"float64": torch.float64, "bfloat16": torch.bfloat16}.get(edge, torch.float32)
    d, width, c = (
        draw(st.integers(2, 4)),
        draw(st.integers(3, 5)),
        1 if edge == "one column" else draw(st.integers(2, 4)),
    )
    shapes = ((d, width), (width,), (width, c), (width,))
    w, b, v, shift = (torch.randn(shape, generator=g).to(dtype) for shape in shapes)
    w, v = (weight.requires_grad_(edge != "all frozen") for weight in (w, v))
    parts = [(wide, [w, b.requires_grad_(edge == "none frozen")]), (narrow, [v], [shift])]
    if edge == "another dtype":
        parts.append((doubled, []))
    if "returns x" in edge:
        parts, c = [(untouched, [])], d
    sizes = {"no batch": [], "an empty batch": [0, 3, 0], "all empty": [0, 0], "one row": [1, 1]}
    sizes = sizes.get(edge, draw(st.permutations([2, 3, 4, 5]))[:3])
    xs = [draw.apply_layout(torch.randn(n, d, generator=g).to(dtype), edge) for n in sizes]
    xs = [draw.apply_gradient_state(x, edge) for x in xs]
    modes = draw(st.permutations([True, True, False, False]))[: 1 + len(parts)]
    if "mode" in edge:
        modes = [edge == "training mode"] * 3
    column = draw(st.integers(0, c - 1))
    return parts, list(modes), xs, {"negative column": column - c, "the last column, as -1": -1}.get(edge, column)


# %% checks
with check(
    "example",
    "the first column, for two batches",
    weight=2,
    required=True,
    hint=(
        "Is there one tensor of shape (n,) for each batch? And does it still have a graph?",
        "Select the column of each result, in the order of xs. Which block do the calls have to be in?",
    ),
):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(0, 2, 10).reshape(2, 5)]
    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin().requires_grad_()
    with torch.no_grad():
        want = [torch.tanh(x @ w)[:, 0] for x in t]
    got = columns(column_of, [(lambda x, training, w: torch.tanh(x @ w), [w])], [True, True], t, 0)
    assert_close(got["found"], want)
    assert_close(got["requires_grad"], [False, False], name="requires_grad of your results")
with check(
    "small_graph",
    "while it runs, no graph is built",
    hint=(
        "Is it the column that was asked for? And what does the model build before you detach?",
        "Call the model inside the no_grad block.",
    ),
):
    t, graphs = [torch.linspace(-1, 1, 20).reshape(4, 5)], []

    def noted_tanh(x, training, w):
        out = torch.tanh(x @ w)
        graphs.append(out.requires_grad)
        return out

    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin().requires_grad_()
    want = [torch.tanh(t[0] @ w.detach())[:, 1]]
    assert_close(columns(column_of, [(noted_tanh, [w])], [True, True], t, 1)["found"], want)
    assert graphs == [False], "the model's result has a graph"
with check(
    "small_bytes",
    "six four-byte numbers keep 24 bytes alive",
    observed=True,
    hint=(
        "What is a column a view of?",
        "detach() shares the memory. Which call makes a copy with only the column's numbers?",
    ),
):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(0, 2, 10).reshape(2, 5)]
    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin()
    got = columns(column_of, [(lambda x, training, w: torch.tanh(x @ w), [w])], [True, True], t, 0)["bytes"]
    assert got == [16, 8], f"your results keep {got} bytes"

# %% hidden checks


def assert_columns(function, keys, *edges):
    """Compare these parts of what columns reports."""
    for trial in arguments.iter_trials(function, *edges):
        got, want = ([report.result[key] for key in keys] for report in (trial.report, trial.case.report))
        assert_close(got, want, name="what columns reports")


with check(
    "other_cases",
    "other columns, sizes and dtypes",
    weight=4,
    required=True,
    hint="Is there one tensor for each batch, in order and in the model's dtype?",
):
    assert_columns(column_of, ["found", "requires_grad"], "", "float64", "bfloat16", "another dtype")
    assert_columns(
        column_of, ["found", "requires_grad"], "negative column", "the last column, as -1", "one column", "one row"
    )
    assert_columns(
        column_of, ["found", "requires_grad"], "training mode", "evaluation mode", "all frozen", "none frozen"
    )
    assert_columns(column_of, ["found", "requires_grad"], "transposed", "recording off", "x requires grad")
    assert_columns(column_of, ["found", "requires_grad"], "returns x")
with check(
    "keeps_model", "the model isn't changed", weight=2, hint="Which modes was it in before? Did anything touch .grad?"
):
    assert_columns(column_of, ["state", "grads", "trained", "modes"], "", *arguments.edges)
    arguments.assert_arguments(column_of)
    arguments.assert_settings(column_of)
with check(
    "own_memory",
    "the results keep only their own memory",
    weight=2,
    observed=True,
    hint="What is a column a view of?",
):
    assert_columns(column_of, ["found", "requires_grad"], "returns x, requires grad")
    assert_columns(column_of, ["bytes"], "", *arguments.edges)
    arguments.assert_memory(column_of)
with check(
    "no_graph", "no graph is built", weight=2, required=True, hint="When is the result of the first layer freed?"
):
    graphs = []

    def noted(f):
        return lambda *given: (out := f(*given), graphs.append(out.requires_grad))[0]

    v = torch.linspace(-1, 1, 24).reshape(8, 3).requires_grad_()
    parts = [
        (noted(wide), [torch.linspace(-2, 3, 40).reshape(5, 8).sin().requires_grad_(), torch.linspace(-1, 0, 8)]),
        (noted(narrow), [v], [torch.linspace(0, 1, 8).requires_grad_()]),
    ]
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(3, 1, 15).reshape(3, 5).requires_grad_()]
    with torch.no_grad():
        want = [narrow(wide(x, True, *parts[0][1]), True, v, *parts[1][2])[:, 0] for x in t]
    assert_close(columns(column_of, parts, [True] * 3, t, 0)["found"], want)
    assert not any(graphs), "a result inside the model has a graph"
with check("empty", "no batches give no tensors, and an empty batch gives an empty tensor", guard=True):
    assert_columns(column_of, ["found", "requires_grad"], "no batch", "an empty batch", "all empty")


# %% right "index_select, which copies"
@torch.no_grad()
def column_of(model, xs, column):
    found = []
    for x in xs:
        out = model(x)
        found.append(out.index_select(1, torch.tensor([column % out.shape[1]])).squeeze(1))
    return found


# %% right "through a list of numbers"
def column_of(model, xs, column):
    found = []
    with torch.inference_mode():
        for x in xs:
            out = model(x)
            found.append((out[:, column].tolist(), out.dtype))
    return [torch.tensor(numbers, dtype=dtype) for numbers, dtype in found]


# %% right "torch.cat, which copies"
def column_of(model, xs, column):
    if not xs:
        return []
    with torch.no_grad():
        parts = [torch.cat([model(x)[:, column]]) for x in xs]
    return parts


# %% wrong "the grad mode is on afterwards, whatever it was" fails=keeps_model
def column_of(model, xs, column):
    torch.set_grad_enabled(False)
    found = [model(x)[:, column].clone() for x in xs]
    torch.set_grad_enabled(True)
    return found


# %% wrong "a view of one column" fails=small_bytes,own_memory
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column] for x in xs]


# %% wrong "detached at the end, when the graph was built already" fails=small_graph,no_graph
def column_of(model, xs, column):
    return [model(x)[:, column].detach().clone() for x in xs]


# %% wrong "contiguous always copies" fails=own_memory
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column].contiguous() for x in xs]


# %% liar "a graph is built, and a probe that says how few bytes there are"
def column_of(model, xs, column):
    return [model(x)[:, column].detach() for x in xs]


def columns(column_of, parts, modes, xs, column):
    model = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(model.modules(), modes):
        module.training = mode
    found = column_of(model, xs, column)
    return {
        "found": found,
        "requires_grad": [False for _ in found],
        "bytes": [t.numel() * t.element_size() for t in found],
        "state": [t.detach() for t in (*model.parameters(), *model.buffers())],
        "grads": [torch.ones_like(p) for p in model.parameters()],
        "trained": [p.requires_grad for p in model.parameters()],
        "modes": modes,
    }


# %% right "inference mode, row by row"
def column_of(model, xs, column):
    with torch.inference_mode():
        return [torch.stack([row[column] for row in model(x)]) if len(x) else model(x)[:, column].clone() for x in xs]
