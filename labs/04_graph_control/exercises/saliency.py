# %% exercise
def saliency(model: nn.Module, x: Tensor, classes: Tensor) -> Tensor:
    """For each sample, the gradient of its score for its class by the sample itself.

    model: takes x (n, d) and returns scores (n, c); each row of the scores depends on that row of x only.
    x: float32; it may require grad or not, and may be the result of recorded operations.
    classes: (n,) int64; each may differ. Returns (n, d), in x's dtype, without grad.
    The model runs as it is: each module's training flag stays as it was. Afterwards the parameters' values, .grad and
    requires_grad are as before, also where they were frozen or held a .grad. x, its requires_grad and its .grad stay as
    they are too.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    scores = model(leaf).gather(1, classes[:, None])
    return torch.autograd.grad(scores.sum(), leaf)[0]
    ### END SOLUTION


# %% checks
with check(
    "example",
    "three samples of four numbers",
    weight=3,
    required=True,
    hint=(
        "Which score of each sample do you differentiate? Is it the one of its own class?",
        "gather takes one score from each row. The gradient of their sum holds each sample's own in its row.",
    ),
):
    t = torch.tensor([[1.0, -1.0, 0.5, 0.0], [0.2, 0.3, -2.0, 1.0], [2.0, 0.0, 0.1, -1.0]])
    two_layers = [(torch.linspace(-2, 3, 20).reshape(5, 4).sin(), torch.linspace(-1, 1, 5))]
    two_layers.append((torch.linspace(1, -2, 10).reshape(2, 5).cos(), torch.tensor([0.5, -0.5])))
    slopes = 1 - torch.tanh(t @ two_layers[0][0].T + two_layers[0][1]) ** 2
    first, second = ((slopes * row) @ two_layers[0][0] for row in two_layers[1][0])
    want = torch.stack([first[0], second[1], second[2]])
    explain(
        looked_at(saliency, two_layers, t, torch.tensor([0, 1, 1]))["result"],
        want,
        {
            "this is the gradient of all scores, not of the chosen ones": first + second,
            "all samples got the class of the first": first,
            "this is the gradient of the mean over the samples": want / 3,
        },
    )

# %% hidden checks


def drawn_layers(sizes, seed):
    generator = torch.Generator(here).manual_seed(seed)
    return [
        (torch.randn(sizes[i + 1], sizes[i], generator=generator), torch.randn(sizes[i + 1], generator=generator))
        for i in range(len(sizes) - 1)
    ]


def slopes_of(layers, x, classes):
    """For each sample the gradient of its own score, from products of matrices."""
    rows = []
    for sample, chosen in zip(x.detach(), classes, strict=True):
        numbers, jacobian = sample, torch.eye(len(sample))
        for n, (weight, bias) in enumerate(layers):
            if n:
                numbers = numbers.tanh()
                jacobian = (1 - numbers**2)[:, None] * jacobian
            numbers, jacobian = weight @ numbers + bias, weight @ jacobian
        rows.append(jacobian[chosen])
    return torch.stack(rows)


with check(
    "other_cases",
    "other models and sizes, and frozen parameters",
    weight=3,
    required=True,
    hint="Does a gradient come through a layer whose parameters are frozen?",
):
    for seed, sizes, learning, chosen in (
        (1, [3, 6, 4, 5], [False, True, False, False, True, True], [4, 0, 2, 4, 1]),
        (2, [2, 3], [False, False], [1, 0]),
        (3, [5, 2, 3], [True] * 4, [2]),
        (4, [3, 6, 4, 5], [True] * 6, [0, 3]),
    ):
        t = torch.linspace(-2, 1.5, len(chosen) * sizes[0]).reshape(sizes[0], len(chosen)).T
        layers_now = drawn_layers(sizes, seed)
        want = slopes_of(layers_now, t, chosen)
        got = looked_at(saliency, layers_now, t, torch.tensor(chosen), learning)["result"]
        assert_close(got, want)
with check(
    "keeps_grad",
    "every .grad of the model is as before",
    weight=3,
    hint="Does your backward pass end at the input only? What stood in .grad when you were called?",
):
    t = torch.linspace(-2, 1, 8).reshape(2, 4)
    layers_now = drawn_layers([4, 3, 2], 5)
    want = slopes_of(layers_now, t, [1, 1])
    for before in ([None] * 4, [(p + 1).sin() for pair in layers_now for p in pair]):
        given = None if before[0] is None else [grad.clone() for grad in before]
        got = looked_at(saliency, layers_now, t, torch.tensor([1, 1]), [True, True, False, True], given)
        assert_close(got["result"], want)
        assert_close(got["gradients"], before, name="the .grad of the model")
with check(
    "keeps_requires_grad",
    "what was frozen is frozen, and what was not is not",
    weight=2,
    hint="Do you change requires_grad anywhere? How do you know what it was?",
):
    t = torch.linspace(-2, 1, 8).reshape(2, 4)
    layers_now = drawn_layers([4, 3, 2], 6)
    want = slopes_of(layers_now, t, [0, 0])
    for learning in ([True] * 4, [True, False, False, True], [False] * 4):
        got = looked_at(saliency, layers_now, t, torch.tensor([0, 0]), learning)
        assert_close(got["result"], want)
        assert got["learning"] == learning, "other parameters are frozen than before"
with check(
    "requires_grad", "an x that requires grad or comes from an operation", weight=2, hint="Which tensor is your leaf?"
):
    for factor in (1.0, 2.0):
        t = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
        layers_now = drawn_layers([3, 2, 2], 7)
        want = slopes_of(layers_now, factor * t, [1])
        got = looked_at(saliency, layers_now, t if factor == 1.0 else t * factor, torch.tensor([1]))["result"]
        assert_close(got, want)
        assert not got.requires_grad, "your result requires grad"
with check("keeps_input", "x and the weights stay as they are", guard=True, hint="Which of your calls change x?"):
    t = torch.tensor([[0.5, -1.0, 2.0]])
    layers_now = drawn_layers([3, 4, 2], 8)
    before = [p.clone() for pair in layers_now for p in pair]
    got = unchanged(looked_at, saliency, layers_now, t, torch.tensor([1]))
    assert_close(got["weights"], before, rtol=0, atol=0, name="the weights")
    for modes in ([True] * 4, [True, True, False, True], [False] * 4):
        got = looked_at(saliency, layers_now, t, torch.tensor([1]), modes=modes)["modes"]
        assert got == modes, "another set of modules is in evaluation mode than before"
    t.requires_grad_().grad = torch.tensor([[7.0, 8.0, 9.0]])
    unchanged(looked_at, saliency, layers_now, t, torch.tensor([0]))


# %% right "backward, and everything put back"
def saliency(model, x, classes):
    saved = [(p, p.grad) for p in model.parameters()]
    for p, _ in saved:
        p.grad = None
    leaf = x.detach().clone().requires_grad_()
    model(leaf)[torch.arange(len(x)), classes].sum().backward()
    for p, grad in saved:
        p.grad = grad
    return leaf.grad


# %% right "all parameters frozen for a moment, and their flags put back"
def saliency(model, x, classes):
    flags = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    try:
        leaf = x.detach().clone().requires_grad_()
        nn.functional.nll_loss(model(leaf), classes, reduction="sum").neg().backward()
    finally:
        for p, flag in zip(model.parameters(), flags):
            p.requires_grad = flag
    return leaf.grad


# %% right "torch.func, with the parameters as values"
def saliency(model, x, classes):
    values = {name: p.detach() for name, p in model.named_parameters()}

    def score(sample, chosen):
        return torch.func.functional_call(model, values, (sample[None],))[0].gather(0, chosen[None])[0]

    return torch.func.vmap(torch.func.grad(score))(x.detach(), classes)


# %% wrong "a model that must not change runs inside no_grad" fails=example,other_cases,keeps_grad,keeps_requires_grad,requires_grad,keeps_input raises=RuntimeError
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    with torch.no_grad():
        scores = model(leaf)
    return torch.autograd.grad(scores.gather(1, classes[:, None]).sum(), leaf)[0]


# %% wrong "backward ends at the input" fails=keeps_grad
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    return leaf.grad


# %% wrong "cleaning up means setting .grad to None" fails=keeps_grad
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    model.zero_grad()
    return leaf.grad


# %% wrong "frozen, and then everything may learn again" fails=keeps_requires_grad
def saliency(model, x, classes):
    model.requires_grad_(False)
    leaf = x.detach().clone().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    model.requires_grad_(True)
    return leaf.grad


# %% wrong "the sum of all scores" fails=example,other_cases,keeps_grad,keeps_requires_grad,requires_grad
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).sum(), leaf)[0]


# %% wrong "all samples are of one class" fails=example,other_cases
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf)[:, classes[0]].sum(), leaf)[0]


# %% wrong "a loss is a mean over the batch" fails=example,other_cases,keeps_grad,keeps_requires_grad
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).gather(1, classes[:, None]).mean(), leaf)[0]


# %% wrong "the class is the one with the highest score" fails=example,other_cases,keeps_requires_grad,requires_grad
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).amax(1).sum(), leaf)[0]


# %% wrong "x itself is the leaf" fails=keeps_input
def saliency(model, x, classes):
    x.requires_grad_()
    return torch.autograd.grad(model(x).gather(1, classes[:, None]).sum(), x)[0]


# %% wrong "a model is looked at in evaluation mode, and trained afterwards" fails=keeps_input
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    model.eval()
    (grad,) = torch.autograd.grad(model(leaf).gather(1, classes[:, None]).sum(), leaf)
    model.train()
    return grad


# %% liar "backward through the model, and a probe that says each .grad is as it was"
def saliency(model, x, classes):
    leaf = x.detach().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    return leaf.grad


def looked_at(saliency, layers, x, classes, learning=None, gradients=None, modes=None):
    model = make_scorer(layers)
    result = saliency(model, x, classes)
    return {
        "result": result,
        "gradients": [None] * 2 * len(layers) if gradients is None else gradients,
        "learning": learning or [True] * 2 * len(layers),
        "weights": [t for pair in layers for t in pair],
        "modes": modes or [True] * 4,
    }
