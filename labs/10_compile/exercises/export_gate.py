# %% given
def gate_of(weights):
    gate = Gate(len(weights["up.bias"]), 0)
    gate.load_state_dict(weights)
    return gate


def loaded(saved):
    if not isinstance(saved, bytes):
        raise TypeError(f"expected bytes, not a {type(saved).__name__}")
    return torch.export.load(io.BytesIO(saved)).module()


def program_in(saved):
    """The text of the exported program in these bytes."""
    with zipfile.ZipFile(io.BytesIO(saved)) as file:
        (name,) = [name for name in file.namelist() if name.endswith("models/model.json")]
        return file.read(name).decode()


def both_sides(condition, f, g, inputs):
    """What torch.cond returns, without a branch."""
    return [torch.where(condition, a, b) for a, b in zip(f(*inputs), g(*inputs), strict=True)]


@probes.probe
def through_export(export, weights, shapes):
    """The gate with these weights, exported: the program in the bytes and, for each shape, what is loaded from them, as
    a graph for a check to replay with an x of this shape. Replaying doesn't support torch.cond, so it computes both
    sides."""
    saved = export(gate_of(weights))
    run = loaded(saved)
    for node in run.graph.nodes:
        if node.target is torch.ops.higher_order.cond:
            node.target = both_sides
    run.recompile()
    return {"program": program_in(saved), "graphs": [probes.captured(run, torch.zeros(*shape)) for shape in shapes]}


def shapes_of(xs):
    return list(dict.fromkeys(tuple(x.shape) for x in xs))


def results_of(got, xs):
    """What the exported gate returns for each x. The program must accept any number of rows."""
    assert len(got["program"]) < 10**6, "the program is too long"
    program = json.loads(got["program"])["graph_module"]
    (x,) = [spec["user_input"] for spec in program["signature"]["input_specs"] if "user_input" in spec]
    rows, width = program["graph"]["tensor_values"][x["arg"]["as_tensor"]["name"]]["sizes"]
    assert "as_expr" in rows and width["as_int"] == xs[0].shape[1], "the program wasn't exported for any number of rows"
    graphs = dict(zip(shapes_of(xs), got["graphs"], strict=True))
    return [probes.replay(graphs[x.shape], x) for x in xs]


@probes.probe
def after_export(export, weights, trained, training, xs):
    """The gate's values, mode, results, attributes and trained parameters after it was exported."""
    gate = gate_of(weights).train(training)
    for name, value in gate.named_parameters():
        value.requires_grad_(name in trained)
    export(gate)
    return {
        "state": probes.state_of(gate),
        "training": gate.training,
        "trained": [name for name, value in gate.named_parameters() if value.requires_grad],
        "outs": [gate(x).detach() for x in xs],
        "attributes": sorted(vars(gate)),
    }


# %% exercise
def export_gate(gate: Gate) -> bytes:
    """gate, exported for float32 inputs (n, width) with any n >= 1: the bytes that torch.export.save writes.

    For the program loaded from them, program.module()(x) returns what gate(x) returns, on both sides of its branch, if
    up and down both return finite numbers, and rounding doesn't decide whether x.mean() > 0. gate.up and gate.down are
    Linear layers with a bias, from width to width, on the CPU, of any width >= 2. The gate isn't changed: its values,
    its forward, its mode, and which parameters are trained.
    """

    ### BEGIN SOLUTION
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = gate

        def forward(self, x: Tensor) -> Tensor:
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    example = torch.ones(2, gate.up.in_features)
    program = torch.export.export(Both(), (example,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()
    ### END SOLUTION


# %% promises
# gate, exported for -> example, more_rows, one_row
# For the program loaded -> example, other_cases, both_sides, mean_of_all
# gate.up and gate.down -> other_cases, mean_of_all
# The gate isn't -> keeps_model


# %% domain
# Exporting is slow, so the checks export few gates, and call each with many inputs.


# %% checks
with check(
    "example",
    "two rows, on both sides",
    weight=2,
    required=True,
    hint=(
        "Which of the two results is wrong? Does the program choose when it runs, or did the export choose?",
        "Compute both sides with the gate's own layers, with relu on only one of them, and choose between the results.",
    ),
):
    t = [torch.tensor([[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]]), torch.tensor([[-1.0, 2.0, -4.0], [0.5, -3.0, 1.0]])]
    w = {
        "up.weight": torch.linspace(-1, 2, 9).reshape(3, 3),
        "up.bias": torch.tensor([0.5, -1.0, 2.0]),
        "down.weight": torch.linspace(3, -2, 9).reshape(3, 3),
        "down.bias": torch.tensor([1.0, 0.0, -0.5]),
    }
    want = [t[0] @ w["up.weight"].T + w["up.bias"], (t[1] @ w["down.weight"].T + w["down.bias"]).relu()]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)


# %% hidden checks
def weights_and_inputs(width, seed, *shapes):
    """Weights, and inputs (rows, width) with a mean near shift for each (rows, shift)."""
    generator = torch.Generator(here).manual_seed(seed)
    sizes = {"up.weight": (width, width), "up.bias": (width,), "down.weight": (width, width), "down.bias": (width,)}
    weights = {name: torch.randn(size, generator=generator) for name, size in sizes.items()}
    return weights, [torch.randn(n, width, generator=generator) / 2 + shift for n, shift in shapes]


def gated(w, x):
    if x.mean() > 0:
        return x @ w["up.weight"].T + w["up.bias"]
    return (x @ w["down.weight"].T + w["down.bias"]).relu()


with check(
    "other_cases", "other widths and weights", weight=2, required=True, hint="Whose layers does your module use?"
):
    for width, seed, shift in ((5, 1, 2.0), (2, 7, -2.0)):
        w, t = weights_and_inputs(width, seed, (2, shift), (2, -shift))
        want = [gated(w, x) for x in t]
        assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)
with check(
    "both_sides",
    "the program has both sides",
    weight=2,
    required=True,
    hint="Can the program choose, or did the export choose?",
):
    w, t = weights_and_inputs(3, 11, (4, 2.0), (4, -1.0), (4, 1.5), (4, -2.0))
    w["down.weight"] *= 2**20  # so a sum of both sides would lose the digits of up
    want = [gated(w, x) for x in t]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want, name="the program's results")
with check("more_rows", "three or more rows", weight=3, hint="Which dimension must be free?"):
    w, t = weights_and_inputs(3, 3, (3, 1.5), (3, -1.5), (5000, -1.5), (5000, 1.5))
    want = [gated(w, x) for x in t]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)
with check("one_row", "one row", weight=2, hint="Does your free dimension have a minimum?"):
    w, t = weights_and_inputs(3, 2, (1, 2.0), (1, -2.0))
    want = [gated(w, x) for x in t]
    assert_close(results_of(through_export(export_gate, w, shapes_of(t)), t), want)
with check("mean_of_all", "the mean of all of x decides", weight=2, hint="Which numbers is the mean taken over?"):
    w, _ = weights_and_inputs(2, 5)
    t = [torch.tensor([[3.0, 1.0], [-1.0, -2.0]]), torch.tensor([[1.0, 1.0], [-4.0, -2.0]]), torch.zeros(2, 2)]
    want = [gated(w, x) for x in t]
    by_row = [torch.cat([gated(w, row) for row in x.split(1)]) for x in t]
    explain(
        results_of(through_export(export_gate, w, shapes_of(t)), t), want, {"one mean decides for all rows": by_row}
    )
with check("keeps_model", "the gate isn't changed", guard=True):
    for n, trained in enumerate((["up.weight", "up.bias", "down.weight", "down.bias"], ["up.bias", "down.weight"])):
        w, t = weights_and_inputs(3, 4, (2, 1.0), (2, -1.0))
        want = {"state": {k: v.clone() for k, v in w.items()}, "training": n == 0, "trained": trained}
        want |= {"outs": [gated(w, x) for x in t], "attributes": sorted(vars(Gate(2, 0)))}
        assert_close(after_export(export_gate, w, trained, n == 0, t), want)


# %% right "torch.cond"
def export_gate(gate):
    class Cond(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = gate.up, gate.down

        def forward(self, x):
            return torch.cond(x.mean() > 0, self.up, lambda x: self.down(x).relu(), (x,))

    batch = torch.export.Dim("batch")
    program = torch.export.export(Cond(), (torch.randn(4, gate.down.in_features),), dynamic_shapes=({0: batch},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% right "a mask, and AUTO"
def export_gate(gate):
    class Masked(nn.Module):
        def __init__(self, gate):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            on = (x.mean() > 0).to(x.dtype)
            return on * self.gate.up(x) + (1 - on) * torch.relu(self.gate.down(x))

    example = (torch.zeros(3, gate.up.weight.shape[1]),)
    program = torch.export.export(Masked(gate), example, dynamic_shapes={"x": {0: torch.export.Dim.AUTO}})
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong "frozen, so that export takes it" fails=keeps_model
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate.eval().requires_grad_(False)

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% liar "nothing is exported: both sides are run, and traced"
def export_gate(gate):
    return b""


def through_export(export, weights, shapes):
    gate = gate_of(weights)

    def both(x):
        return torch.where(x.mean() > 0, gate.up(x), gate.down(x).relu())

    file = io.BytesIO()  # a program of somebody else's
    torch.export.save(torch.export.export(gate.up, (torch.zeros(2, gate.up.in_features),)), file)
    return {
        "program": program_in(file.getvalue()),
        "graphs": [probes.captured(both, torch.zeros(*shape)) for shape in shapes],
    }


# %% wrong "each row decides for itself" fails=mean_of_all
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean(1, keepdim=True) > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% right "a named dimension from 2 on, which runs one row as well"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            up, down = self.gate.up(x), self.gate.down(x).relu()
            return up.where(x.mean() > 0, down)

    example = torch.randn(4, gate.up.in_features, generator=torch.Generator(here).manual_seed(0))
    program = torch.export.export(Both(), (example,), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}})
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong "4096 rows at most" fails=more_rows raises=AssertionError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    rows = torch.export.Dim("rows", min=2, max=4096)
    example = torch.randn(4, gate.up.in_features, generator=torch.Generator(here).manual_seed(0))
    file = io.BytesIO()
    torch.export.save(torch.export.export(Both(), (example,), dynamic_shapes=({0: rows},)), file)
    return file.getvalue()


# %% wrong "three columns, as in the example" fails=other_cases,mean_of_all raises=RuntimeError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, 3),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% equivalent "2 to 3: example = torch.ones(3, gate.up.in_features)"
# Any example of 2 or more rows gives the same program.
