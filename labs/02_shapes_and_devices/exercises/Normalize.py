# %% given
# The checks look at your module through these probes. You can call them too.
@probes.probe
def normalised_after_training(make, mean, std, x):
    """The output of make(mean, std) after three steps of training with a layer behind it, and that layer's weights.

    Weight decay is on: it changes whatever the optimizer was given.
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
def normalised_after_loading(make, mean, std, other_mean, other_std, x):
    """The output of a module that loaded the state_dict of another one, and the names and values in it."""
    module, other = make(mean, std), make(other_mean, other_std)
    module.load_state_dict(other.state_dict())
    saved = {name: value.flatten() for name, value in other.state_dict().items()}
    return {"output": module(x), "names": sorted(saved), "saved": saved}


@probes.probe
def normalised_after_a_change(make, mean, std, x):
    """The output of a module whose maker changes its own tensors afterwards."""
    mean, std = mean.clone(), std.clone()
    module = make(mean, std)
    mean.fill_(77)
    std.fill_(55)
    return {"output": module(x)}


@probes.probe
def normalised_elsewhere(make, mean, std, x):
    """The output on the second device."""
    return probes.on_second_device(make(mean, std), x)


# %% exercise
class Normalize(nn.Module):
    """Subtracts each channel's mean, and divides by its standard deviation.

    mean, std: shape (C,), floating point, std above 0. Later changes of the caller's tensors change nothing here.
    Normalize(mean, std)(x): x of shape (N, C, H, W), in the module's dtype and on its device, not changed. Returns x's
        shape and dtype. The same in training and evaluation.
    Both tensors follow the module's to(), double() and so on. They are never trained. Their values are saved in its
        state_dict under the names mean and std, in any shape, and loaded from there.
    """

    mean: Tensor  # for type checkers: the two are made in __init__
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


# %% checks
with check(
    "example",
    "two channels of 2 by 3",
    weight=3,
    required=True,
    hint=(
        "Shapes are aligned from the right. Which dimension of x does your mean meet?",
        "With two dimensions of size 1 behind C it meets the channels. First subtract, then divide by std.",
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
        "After the module was moved: on which device does each tensor in forward lie, and the result?",
        "to() moves parameters and buffers. Which of the two is not trained?",
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
    hint="Which dimension of x does a tensor of shape (C,) meet?",
):
    for shape in ((3, 4, 2, 4), (2, 3, 3, 3), (1, 5, 4, 1), (2, 1, 3, 2)):
        t = torch.arange(torch.Size(shape).numel()).sin().reshape(shape)
        mean, std = torch.arange(shape[1]).cos(), torch.arange(shape[1]) / 4 + 0.5
        want = torch.stack([(t[:, c] - mean[c]) / std[c] for c in range(shape[1])], dim=1)
        explain(
            Normalize(mean, std)(t),
            want,
            {
                "mean and std met the last dimension: they are lined up from the right": (
                    (t - mean) / std if shape[1] == shape[3] else None
                )
            },
        )
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
    wide_mean, wide_std = mean.double() / 3, std.double() / 7
    wide_want = torch.stack([(t[:, c].double() - wide_mean[c]) / wide_std[c] for c in range(2)], dim=1)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        assert_close(Normalize(mean, std).to(dtype)(t.to(dtype)), want.to(dtype))
    assert_close(Normalize(mean, std).double().float()(t), want)
    assert_close(Normalize(wide_mean, wide_std)(t.double()), wide_want, rtol=1e-10, atol=1e-10)
with check(
    "not_trained",
    "training changes neither mean nor std",
    weight=3,
    hint="What does an optimizer get from model.parameters()? Which of the three modules above was trained?",
):
    t = torch.arange(24.0).reshape(2, 2, 2, 3).sin()
    mean, std = torch.tensor([0.5, -0.25]), torch.tensor([2.0, 0.5])
    want = torch.stack([(t[:, 0] - 0.5) / 2, (t[:, 1] + 0.25) / 0.5], dim=1)
    got = normalised_after_training(Normalize, mean, std, t)
    assert_close(got["output"], want)
    weight = torch.full((1, 2, 1, 1), 0.5, requires_grad=True)
    bias = torch.full((1,), 0.25, requires_grad=True)
    steps = torch.optim.SGD([weight, bias], lr=0.1, weight_decay=0.1)
    for _ in range(3):
        steps.zero_grad()
        nn.functional.conv2d(want, weight, bias).square().mean().backward()
        steps.step()
    assert_close(got["weight"], weight.detach())
with check(
    "state_dict",
    "mean and std are saved and loaded",
    weight=2,
    hint="What is in the state_dict, and under which names? Is persistent=False a good idea here?",
):
    t = torch.arange(24.0).reshape(2, 2, 2, 3).cos()
    mean, std = torch.tensor([0.5, -0.25]), torch.tensor([2.0, 0.5])
    want = torch.stack([(t[:, 0] - 3) / 5, (t[:, 1] + 1) / 0.125], dim=1)
    got = normalised_after_loading(Normalize, mean, std, torch.tensor([3.0, -1.0]), torch.tensor([5.0, 0.125]), t)
    assert_close(got["output"], want)
    assert_close(got["names"], ["mean", "std"])
    assert_close(got["saved"], {"mean": torch.tensor([3.0, -1.0]), "std": torch.tensor([5.0, 0.125])})
with check(
    "later_writes",
    "later changes of the caller's tensors change nothing",
    weight=2,
    hint="Does register_buffer copy? Does reshape?",
):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    mean, std = torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5])
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    got = normalised_after_a_change(Normalize, mean, std, t)
    assert_close(got["output"], want)
with check(
    "no_mixing",
    "another input on the second device, and no operation that mixes devices",
    weight=4,
    observed=True,
    hint="Which tensors of your module does to() not reach? Which are made in forward?",
):
    t = torch.arange(60.0).reshape(2, 3, 5, 2).sin()
    mean, std = torch.tensor([0.1, -0.2, 0.3]), torch.tensor([1.5, 2.5, 0.5])
    want = torch.stack([(t[:, c] - mean[c]) / std[c] for c in range(3)], dim=1)
    got = normalised_elsewhere(Normalize, mean, std, t)
    assert_close(got["result"], want)
    assert_close(got["devices"], "meta")
    assert got["mixed"] == [], "an operation met tensors of both devices"
with check("modes_agree", "training and evaluation are the same, and x keeps its values", guard=True):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    mean, std = torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5])
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    assert_close(unchanged(Normalize(mean, std).eval(), t), want)
    assert_close(unchanged(Normalize(mean, std).train(), t), want)
    assert_close(mean, torch.tensor([2.0, 8.0]))
with check("empty", "an empty batch keeps its shape", guard=True):
    got = Normalize(torch.zeros(3), torch.ones(3))(torch.empty(0, 3, 4, 5))
    assert_close(got, torch.empty(0, 3, 4, 5))


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


# %% wrong "a product is faster, so the inverse is saved" fails=state_dict
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().view(-1, 1, 1))
        self.register_buffer("std", 1 / std.view(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) * self.std


# %% wrong "constants are float32" fails=cast
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.float().clone().view(-1, 1, 1))
        self.register_buffer("std", std.float().clone().view(-1, 1, 1))

    def forward(self, x):
        return ((x - self.mean) / self.std).to(x.dtype)


# %% wrong "a tensor in a module moves with it" fails=second_device,cast,state_dict,no_mixing raises=RuntimeError
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().reshape(-1, 1, 1)
        self.std = std.clone().reshape(-1, 1, 1)

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong "what a module holds is a parameter" fails=not_trained
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = nn.Parameter(mean.clone().reshape(-1, 1, 1))
        self.std = nn.Parameter(std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong "(C,) meets the channels" fails=example,second_device,other_cases,cast,not_trained,state_dict,later_writes,no_mixing,modes_agree,empty raises=RuntimeError
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

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


# %% wrong "constants need not be saved" fails=state_dict
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1), persistent=False)
        self.register_buffer("std", std.clone().reshape(-1, 1, 1), persistent=False)

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong "register_buffer keeps a copy" fails=later_writes
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.reshape(-1, 1, 1))
        self.register_buffer("std", std.reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


# %% wrong "Python numbers fit any device and dtype" fails=state_dict
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.numbers = list(zip(mean.tolist(), std.tolist()))

    def forward(self, x):
        return torch.stack([(x[:, i] - m) / s for i, (m, s) in enumerate(self.numbers)], dim=1)


# %% wrong "made anew in forward, on the CPU" fails=second_device,cast,no_mixing raises=RuntimeError
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        mean = torch.tensor(self.mean.tolist()).reshape(-1, 1, 1)
        std = torch.tensor(self.std.tolist()).reshape(-1, 1, 1)
        return (x - mean) / std


# %% wrong "in place saves memory" fails=cast,not_trained,modes_agree
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return x.sub_(self.mean).div_(self.std)


# %% wrong "evaluation needs no normalisation" fails=modes_agree
class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std if self.training else x
