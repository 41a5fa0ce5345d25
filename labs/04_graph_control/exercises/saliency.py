# %% given
def tripled_rows(x, training):
    """Scores (n, c), tripled in training mode."""
    n, c = x.shape
    return tripled(x, training).reshape(n, c)


def make_scorer(layers):
    """A Linear for each (weight, bias), with Tanh between them, and tripled scores in training mode."""
    parts = []
    for weight, bias in layers:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            linear = nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": bias})
        parts += [linear, nn.Tanh()]
    return nn.Sequential(*parts[:-1], ByMode(tripled_rows))


@probes.probe
def looked_at(saliency, layers, x, classes, learning=None, gradients=None, modes=None):
    """What saliency returns for a scorer, and how it leaves the scorer.

    learning, gradients: requires_grad and .grad of each parameter before. modes: the training flag of each module, by
    default False.
    """
    model = make_scorer(layers)
    for n, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(learning is None or learning[n])
        parameter.grad = None if gradients is None or gradients[n] is None else gradients[n].clone()
    for n, module in enumerate(model.modules()):
        module.training = modes is not None and modes[n]
    result = saliency(model, x, classes)
    return {
        "result": result,
        "gradients": [parameter.grad for parameter in model.parameters()],
        "learning": [parameter.requires_grad for parameter in model.parameters()],
        "weights": [parameter.detach() for parameter in model.parameters()],
        "modes": [module.training for module in model.modules()],
    }


# %% exercise
def saliency(model: nn.Module, x: Tensor, classes: Tensor) -> Tensor:
    """For each sample, the gradient of the score for its class with respect to the sample.

    model: takes x (n, d), without changing it, and returns scores (n, c); each row of the scores depends only on that
    row of x.
    classes: (n,) int64; each may differ. Returns (n, d), in x's dtype, without grad.
    The model runs as it is: each module in its current mode, and its training flag stays as it was.

    Details:
    - x: float32, with n and d at least 1 and any strides; it may or may not require grad, and may be the result of
      recorded operations.
    - Afterward, the parameters' values, .grad and requires_grad are as before, even if they were frozen or held a
      .grad. x, its requires_grad and its .grad aren't changed either.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    scores = model(leaf).gather(1, classes[:, None])
    return torch.autograd.grad(scores.sum(), leaf)[0]
    ### END SOLUTION


# %% promises
# For each sample -> example, other_cases
# model: takes x -> other_cases
# classes: (n,) int64 -> other_cases
# Returns (n, d), in -> requires_grad, other_cases
# The model runs as it -> as_it_is
# x: float32, with -> requires_grad, other_cases
# Afterward, the -> keeps_grad, keeps_requires_grad
# x, its requires_grad -> keeps_input


# %% domain
@domain(
    reference,
    *("one sample", "one class", "one number", "square", "one layer", "always the same class"),
    *("transposed", "every second one", "expanded"),
    *("training mode", "only the last layer in training mode", "only the last layer evaluated"),
    *("all frozen", "some frozen", "hold .grad", "some hold .grad", "frozen ones hold .grad"),
    *("x requires grad", "x from an operation", "x holds .grad"),
    call=looked_at,
)
def arguments(draw, edge):
    n, d, c = draw(st.integers(3, 5)), draw(st.integers(2, 4)), draw(st.integers(2, 4))
    n, d, c = {
        "one sample": (1, d, c),
        "one class": (n, d, 1),
        "one number": (n, 1, c),
        "square": (n, n, n),
    }.get(edge, (n, d, c))
    g = draw.make_generator(here)
    sizes = [d, c] if edge == "one layer" else [d, *draw(st.sampled_from([[3], [2, 4]])), c]
    layers = [
        (torch.randn(after, before, generator=g), torch.randn(after, generator=g))
        for before, after in zip(sizes, sizes[1:], strict=False)
    ]
    x, classes = torch.randn(n, d, generator=g), (torch.arange(n) + draw(st.integers(0, 3))) % c
    if edge == "always the same class":
        classes[:] = c - 1
    if edge == "every second one":
        classes = draw.apply_layout(classes, edge)
    x = draw.apply_layout(x, edge)
    count = 2 * len(layers)
    frozen = draw(st.integers(0, 2))
    learning = {
        "all frozen": [False] * count,
        "some frozen": [i % 3 != frozen for i in range(count)],
        "frozen ones hold .grad": [i % 2 == 1 for i in range(count)],
    }.get(edge)
    gradients = None
    if "hold .grad" in edge:
        gradients = [torch.randn(t.shape, generator=g) for pair in layers for t in pair]
        if edge == "some hold .grad":
            gradients[1::2] = [None] * len(layers)
    modes = {
        "training mode": [True] * (count + 1),
        "only the last layer in training mode": [False] * count + [True],
        "only the last layer evaluated": [True] * count + [False],
    }.get(edge)
    if edge.startswith("x "):
        x = draw.apply_gradient_state(x, edge)
    return layers, x, classes, learning, gradients, modes


# %% checks
with check(
    "example",
    "three samples of four numbers",
    weight=3,
    required=True,
    hint=(
        "Which score of each sample do you differentiate? Is it the one of its own class?",
        "gather takes one score from each row. The gradient of their sum holds each sample's own gradient in its row.",
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
with check(
    "other_cases",
    "other models and sizes, and frozen parameters",
    weight=3,
    required=True,
    hint="Does a gradient pass through a layer whose parameters are frozen?",
):
    for trial in arguments.iter_trials(
        saliency,
        *("", "one sample", "one class", "one number", "square", "one layer", "always the same class"),
        *("transposed", "every second one", "expanded", "some frozen", "all frozen"),
    ):
        assert_close(trial.report.result["result"], trial.case.report.result["result"])
with check(
    "keeps_grad",
    "every .grad of the model is as before",
    weight=3,
    hint="Does your backward pass end only at the input? What was in .grad when your function was called?",
):
    for trial in arguments.iter_trials(saliency, "", "hold .grad", "some hold .grad", "frozen ones hold .grad"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["result"], want["result"])
        assert_close(got["gradients"], want["gradients"], name="the .grad of the model")
with check(
    "keeps_requires_grad",
    "frozen parameters are still frozen, and the others still aren't",
    weight=2,
    hint="Do you change requires_grad anywhere? How do you know what it was before?",
):
    for trial in arguments.iter_trials(saliency, "", "some frozen", "all frozen", "frozen ones hold .grad"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["result"], want["result"])
        assert got["learning"] == want["learning"], "the frozen parameters aren't the same as before"
with check(
    "requires_grad",
    "an x that requires grad or is the result of an operation",
    weight=2,
    hint="Which tensor is your leaf?",
):
    for trial in arguments.iter_trials(saliency, "x requires grad", "x from an operation", "x holds .grad"):
        assert_close(trial.report.result["result"], trial.case.report.result["result"])
        assert not trial.report.states[0].requires_grad, "your result requires grad"
with check(
    "as_it_is",
    "each module runs in its current mode and stays in it",
    hint="Does the docstring ask for evaluation mode?",
):
    for trial in arguments.iter_trials(
        saliency, "", "training mode", "only the last layer in training mode", "only the last layer evaluated"
    ):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["result"], want["result"])
        assert got["modes"] == want["modes"], "the modules in evaluation mode aren't the same as before"
with check("keeps_input", "x and the weights aren't changed", guard=True, hint="Which of your calls change x?"):
    for trial in arguments.iter_trials(saliency, "", "training mode", "x requires grad"):
        want = trial.case.report.result["weights"]
        assert_close(trial.report.result["weights"], want, rtol=0, atol=0, name="the weights")
    arguments.assert_arguments(saliency)


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


# %% wrong "the sum of all scores" fails=example,other_cases,keeps_grad,keeps_requires_grad,requires_grad,as_it_is
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).sum(), leaf)[0]


# %% wrong "all samples are of one class" fails=example,other_cases,keeps_grad,keeps_requires_grad,requires_grad,as_it_is
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf)[:, classes[0]].sum(), leaf)[0]


# %% wrong "a loss is a mean over the batch" fails=example,other_cases,keeps_grad,keeps_requires_grad,requires_grad,as_it_is
def saliency(model, x, classes):
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(leaf).gather(1, classes[:, None]).mean(), leaf)[0]


# %% wrong "x itself is the leaf" fails=keeps_input
def saliency(model, x, classes):
    x.requires_grad_()
    return torch.autograd.grad(model(x).gather(1, classes[:, None]).sum(), x)[0]


# %% liar "backward through the model, and a probe that says each .grad is as it was"
def saliency(model, x, classes):
    leaf = x.detach().requires_grad_()
    model(leaf).gather(1, classes[:, None]).sum().backward()
    return leaf.grad


def looked_at(saliency, layers, x, classes, learning=None, gradients=None, modes=None):
    model = make_scorer(layers)
    for n, module in enumerate(model.modules()):
        module.training = modes is not None and modes[n]
    result = saliency(model, x, classes)
    return {
        "result": result,
        "gradients": [None] * 2 * len(layers) if gradients is None else gradients,
        "learning": learning or [True] * 2 * len(layers),
        "weights": [t for pair in layers for t in pair],
        "modes": modes or [False] * (2 * len(layers) + 1),
    }
