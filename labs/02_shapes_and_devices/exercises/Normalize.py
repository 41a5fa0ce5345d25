# %% given
# The checks use these probes to examine your module. You can call them too.
@probes.probe
def normalised_after_training(make, mean, std, x):
    """The output of make(mean, std) after three training steps with a layer after it, and that layer's weights.

    Weight decay is on, so it changes every parameter that the optimizer gets.
    """
    torch.manual_seed(0)
    layer = nn.Conv2d(len(mean), 1, 1)
    with torch.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.25)
    module = make(mean, std)
    model = nn.Sequential(module, layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return {"output": module(x).detach(), "weight": layer.weight.detach().clone()}


@probes.probe
def normalised(make, mean, std, x):
    """The output of a module."""
    return make(mean, std)(x)


@probes.probe
def normalised_in_evaluation(make, mean, std, x):
    """The output of a module in evaluation mode."""
    return make(mean, std).eval()(x)


@probes.probe
def normalised_after_loading(make, mean, std, x, other_mean, other_std):
    """The outputs of a module that loads another's state_dict, then its own after a cast."""
    module, other = make(mean, std), make(other_mean, other_std)
    own = {name: value.clone() for name, value in module.state_dict().items()}
    first = module(x)
    module.load_state_dict(other.state_dict())
    saved = {name: value.flatten() for name, value in other.state_dict().items()}
    outputs = {"first": first, "output": module(x), "other": other(x)}
    module.double().to(x.dtype).load_state_dict(own)
    return outputs | {"again": module(x), "names": sorted(saved), "saved": saved}


@probes.probe
def normalised_in(make, mean, std, x, dtype):
    """The output of a module that is cast to dtype after a call."""
    module = make(mean, std)
    module(x)
    return {"output": module.to(dtype)(x.to(dtype))}


@probes.probe
def normalised_after_a_change(make, mean, std, x):
    """The output of a module whose caller changes its own tensors afterward."""
    mean, std = mean.clone(), std.clone()
    module = make(mean, std)
    mean.fill_(77)
    first = module(x)
    std.fill_(55)
    return {"first": first, "output": module(x)}


@probes.probe
def normalised_elsewhere(make, mean, std, x):
    """The output on the second device."""
    return probes.on_second_device(make(mean, std), x)


# %% exercise
class Normalize(nn.Module):
    """Subtracts each channel's mean and divides by its standard deviation.

    mean and std have shape (C,). The module's input x has shape (N, C, H, W), and its result has x's shape and dtype.
    mean and std follow the module's to(), double() and so on, even after a call. They're never trained.
    The state_dict contains their values under the names mean and std, in any shape, and nothing else.
    load_state_dict replaces them.

    Details:
    - mean, std: C is at least 1. They have any strides and the same floating-point dtype, which becomes the module's;
      std and its square are positive and finite, and |mean| is at most 100 * std. Neither requires grad,
      and neither is changed.
    - Later changes to the caller's tensors have no effect on the module.
    - x: any strides, and the module's dtype and device. It isn't changed. N may be 0.
    - Training and evaluation modes give the same result.
    """

    mean: Tensor  # for type checkers: __init__ creates both
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        return (x - self.mean) / self.std
        ### END SOLUTION


# %% promises
# Subtracts each channel's mean -> example, other_cases
# mean and std have shape -> other_cases, cast, state_dict
# The module's input x -> cast, other_cases
# mean and std follow -> second_device, no_mixing, cast, state_dict
# They're never trained -> not_trained
# The state_dict contains -> state_dict
# load_state_dict replaces -> state_dict
# mean, std: C is at least 1 -> other_cases, cast, state_dict
# They have any strides -> other_cases, cast, state_dict
# Neither requires grad -> keeps_input, later_writes
# Later changes to -> later_writes, keeps_input
# x: any strides -> other_cases
# It isn't changed -> keeps_input, other_cases
# N may be 0 -> empty
# Training and evaluation -> modes_agree


# %% domain
EDGES = (
    *("C = W", "C = H", "C = N", "all equal", "one channel", "one sample", "one pixel", "no sample"),
    *(
        "float64",
        "bfloat16",
        "small numbers",
        "tiny numbers",
        "channels last",
        "every second column",
        "expanded",
        "strided statistics",
    ),
)


def draw_arguments(draw, edge):
    c, g = draw(st.integers(2, 3)), draw.make_generator()
    n, h, w = c + draw(st.integers(1, 2)), c + 3, c + draw(st.integers(4, 5))
    c, n = 1 if edge == "one channel" else c, {"C = N": c, "one sample": 1, "no sample": 0, "all equal": c}.get(edge, n)
    h, w = {"C = H": (c, w), "C = W": (h, c), "all equal": (c, c), "one pixel": (1, 1)}.get(edge, (h, w))
    x = torch.randn(n, c, h, w, dtype=torch.float64, generator=g)
    mean = torch.randn(c, dtype=torch.float64, generator=g)
    std = 0.5 + torch.rand(c, dtype=torch.float64, generator=g)
    scale = {"small numbers": 1e-3, "tiny numbers": 1e-9}.get(edge, 1)
    dtype = getattr(torch, edge if edge in ("float64", "bfloat16") else "float32")
    x, mean, std = ((t * scale).to(dtype) for t in (x, mean, std))
    if edge == "channels last":
        x = x.contiguous(memory_format=torch.channels_last)
    if edge == "every second column":
        x = torch.stack([x, -x], 4).flatten(3)[..., ::2]
    if edge == "expanded":
        x = x[:1].expand(x.shape)
    if edge == "strided statistics":
        mean, std = torch.stack([mean, std], 1).T
    if edge == "expanded statistics":
        mean, std = mean[:1].expand(mean.shape), std[:1].expand(std.shape)
    return mean, std, x


arguments = domain(reference, *EDGES, call=normalised)(draw_arguments)
evaluated = domain(reference, "one channel", call=normalised_in_evaluation)(draw_arguments)
changed_later = domain(reference, "one channel", call=normalised_after_a_change)(draw_arguments)
trained = domain(reference, "one channel", "one sample", call=normalised_after_training)(draw_arguments)


@domain(reference, "one channel", "float64", "expanded statistics", call=normalised_after_loading)
def loaded(draw, edge):
    mean, std, x = draw_arguments(draw, edge)
    return mean, std, x, mean * 2 - 1, std * 3


@domain(reference, "one channel", "float64", call=normalised_in)
def cast_arguments(draw, edge):
    dtypes = [torch.float16, torch.bfloat16] if edge == "float64" else [torch.float64, torch.bfloat16, torch.float16]
    return *draw_arguments(draw, edge), draw(st.sampled_from(dtypes))


# %% checks
with check(
    "example",
    "two channels of 2-by-3 pixels",
    weight=3,
    required=True,
    hint=(
        "Shapes are aligned from the right. Which dimension of x does your mean align with?",
        "With two dimensions of size 1 after C, it aligns with the channels. First subtract, then divide by std.",
    ),
):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    assert_close(Normalize(torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5]))(t), want)
with check(
    "second_device",
    "it runs on a second device",
    weight=2,
    observed=True,
    hint=(
        "After the module is moved, which device is each tensor in forward on? Which device is the result on?",
        "to() moves parameters and buffers. Which of the two isn't trained?",
    ),
):
    t = torch.arange(24.0).reshape(1, 2, 4, 3)
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    got = normalised_elsewhere(Normalize, torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5]), t)
    assert_close(got["result"], want)
    assert_close(got["devices"], "meta")

# %% hidden checks
with check(
    "other_cases",
    "other sizes, and as many channels as columns",
    weight=3,
    required=True,
    hint="Which dimension of x does a tensor of shape (C,) align with?",
):
    t, mean, std = torch.arange(72.0).sin().reshape(2, 3, 4, 3), torch.arange(3).cos(), torch.arange(3) / 4 + 0.5
    want = torch.stack([(t[:, c] - mean[c]) / std[c] for c in range(3)], dim=1)
    explain(
        Normalize(mean, std)(t),
        want,
        {"mean and std were aligned with the last dimension: shapes are aligned from the right": (t - mean) / std},
    )
    arguments.assert_results(Normalize, "", "C = W", "C = H", "C = N", "all equal", "one channel", "one sample")
    arguments.assert_results(Normalize, "one pixel", "small numbers", "tiny numbers")
    arguments.assert_results(Normalize, "channels last", "every second column", "expanded", "strided statistics")
with check(
    "cast",
    "the module is cast as a whole",
    weight=3,
    required=True,
    hint="Which tensors does double() reach? What is float32 minus bfloat16?",
):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    mean, std = torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5])
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    assert_close(Normalize(mean, std).double().float()(t), want)
    arguments.assert_results(Normalize, "float64", "bfloat16")
    cast_arguments.assert_results(Normalize, "", "one channel", "float64")
with check(
    "not_trained",
    "training changes neither mean nor std",
    weight=3,
    hint="What does an optimizer get from model.parameters()? Which of AsParameter and AsBuffer was trained?",
):
    trained.assert_results(Normalize, "one channel", "one sample")
with check(
    "state_dict",
    "mean and std are saved and loaded",
    weight=2,
    hint="What's in the state_dict, and under which names? Is persistent=False a good idea here?",
):
    loaded.assert_results(Normalize, "", "one channel", "float64", "expanded statistics")
with check(
    "later_writes",
    "later changes to the caller's tensors have no effect",
    weight=2,
    hint="Does register_buffer copy? Does reshape?",
):
    changed_later.assert_results(Normalize, "", "one channel")
with check(
    "no_mixing",
    "another input on the second device, without an operation that mixes devices",
    weight=4,
    observed=True,
    hint="Which tensors of your module does to() miss? Which are created in forward?",
):
    t = torch.arange(60.0).reshape(2, 3, 5, 2).sin()
    mean, std = torch.tensor([0.1, -0.2, 0.3]), torch.tensor([1.5, 2.5, 0.5])
    want = torch.stack([(t[:, c] - mean[c]) / std[c] for c in range(3)], dim=1)
    got = normalised_elsewhere(Normalize, mean, std, t)
    assert_close(got["result"], want)
    assert_close(got["devices"], "meta")
    assert got["mixed"] == [], "an operation got tensors on both devices"
with check(
    "modes_agree", "training and evaluation modes agree", guard=True, hint="What does eval() change in your module?"
):
    evaluated.assert_results(Normalize, "", "one channel")
with check("keeps_input", "mean, std and x keep their values", guard=True):
    arguments.assert_arguments(Normalize)
    loaded.assert_arguments(Normalize)
with check("empty", "an empty batch keeps its shape", guard=True):
    arguments.assert_results(Normalize, "no sample")


# %% right "the shape is made in forward"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("std", std.detach().clone())

    def forward(self, x):
        mean = self.mean[None, :, None, None]
        std = self.std[None, :, None, None]
        return (x - mean) / std


# %% right "torch.tensor copies, and Buffer is a class"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Buffer(torch.empty_like(mean).copy_(mean).view(1, -1, 1, 1))
        self.std = nn.Buffer(torch.empty_like(std).copy_(std).view(1, -1, 1, 1))

    def forward(self, x):
        return x.sub(self.mean).div(self.std)


# %% right "the channels go last and come back"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean + 0)
        self.register_buffer("std", std + 0)

    def forward(self, x):
        return ((x.movedim(1, -1) - self.mean) / self.std).movedim(-1, 1)


# %% right "batch_norm with fixed statistics"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        return nn.functional.batch_norm(x, self.mean, self.std**2, eps=0.0)


# %% right "parameters that ask for no gradient"
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Parameter(mean.detach().clone(), requires_grad=False)
        self.std = nn.Parameter(std.detach().clone(), requires_grad=False)

    def forward(self, x):
        return (x - self.mean.view(-1, 1, 1)) / self.std.view(-1, 1, 1)


# %% wrong "what a module holds is a parameter" fails=not_trained
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Parameter(mean.clone().reshape(-1, 1, 1))
        self.std = nn.Parameter(std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong "(C,) meets the channels, unless an error says no" fails=other_cases
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        if x.shape[-1] == len(self.mean):
            return (x - self.mean) / self.std
        return (x - self.mean[:, None, None]) / self.std[:, None, None]


# %% wrong "contiguous() always copies" fails=later_writes,keeps_input
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.contiguous().reshape(-1, 1, 1))
        self.register_buffer("std", std.contiguous().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong "evaluation needs no normalisation" fails=modes_agree
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std if self.training else x
