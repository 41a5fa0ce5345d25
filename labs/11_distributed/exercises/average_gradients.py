# %% given
def with_weights(weights):
    """A model with branches, with these weights and their strides. Without a right weight, it's the left one."""
    model = make_branches(len(weights["left.bias"]))
    model.load_state_dict({name: t.clone() for name, t in weights.items()}, strict=False, assign=True)
    if "right.weight" not in weights:
        model.right.weight = model.left.weight
    return model


def with_gradients(model, grads):
    """The model, with these gradients, by name; None for all others."""
    for name, p in model.named_parameters():
        p.grad = grads.get(name)
    return model


def averaged_on(rank, world_size, function, weights, *calls):
    model = with_weights(weights)
    for grads in calls:
        function(with_gradients(model, grads[rank]))
    return {name: model.get_parameter(name).grad for own in calls[-1] for name in own}


def state_on(rank, world_size, function, weights, grads, frozen):
    model = with_gradients(with_weights(weights), grads[rank])
    for p in model.parameters():
        p.requires_grad_(p.requires_grad and not frozen)
    function(model)
    return probes.state_of(model), {name: p.grad for name, p in model.named_parameters()}


@probes.probe
def averaged(function, weights, *calls):
    """Each rank's gradients after function(model), called with each of these gradients in turn: by rank, by name."""
    return in_group(averaged_on, function, weights, *calls, world_size=len(calls[0]))


@probes.probe
def state_after(function, weights, grads, frozen=False):
    """Each rank's weights, and all its gradients, after function(model). frozen: all of its parameters are."""
    return in_group(state_on, function, weights, grads, frozen, world_size=len(grads))


def of_layers(names, values):
    return {name: value for name, value in values.items() if name.split(".")[0] in names}


# %% exercise
def average_gradients(model: nn.Module) -> None:
    """Replace the gradients of model on every rank by their means over all ranks. Every rank calls this after backward.

    A parameter without a gradient on some ranks counts as zeros there, and has the mean on all ranks afterwards. One
    without a gradient on any rank keeps the gradient None. Frozen parameters keep what they have, None or a gradient,
    even if all are frozen. The parameters, their order, and which ones are frozen are the same on all ranks. All have
    the same dtype, float32 or float64, and so do the means. Weights are not changed.
    """
    ### BEGIN SOLUTION
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
    ### END SOLUTION


# %% promises
# Replace the gradients -> example, other_cases, different_branches, no_gradient, one_rank
# Every rank calls -> example, other_cases, different_branches, no_gradient
# A parameter without a gradient -> different_branches, no_gradient, structure
# One without a gradient -> unused
# Frozen parameters keep -> frozen
# The parameters, their order -> example, other_cases, different_branches, no_gradient, structure, one_rank
# All have the same dtype -> float64
# Weights are not changed -> one_rank, structure, unused, frozen, float64


# %% domain
@domain(
    reference,
    *("no gradients", "gradients of one layer", "gradients of zeros", "float64", "frozen ones hold gradients"),
    *("all frozen", "stored transposed", "a shared weight"),
    call=state_after,
)
def arguments(draw, edge):
    model, g = make_branches(draw(st.integers(2, 5))), draw.make_generator()
    weights, grads = (drawn(model, int(torch.randint(10**6, (), generator=g))) for _ in range(2))
    if edge == "float64":
        weights, grads = ({name: t.double() / 3 for name, t in values.items()} for values in (weights, grads))
    layers = {"no gradients": [], "gradients of one layer": ["right"]}.get(edge, ["left", "right", "never"])
    grads = of_layers([*layers, "frozen"] if edge == "frozen ones hold gradients" else layers, grads)
    if edge in ("stored transposed", "a shared weight"):  # two ranks, each with another branch
        shared = ["right.weight"] if edge == "a shared weight" else []
        weights, grads = (
            {name: draw.apply_layout(t, edge) for name, t in values.items() if name not in shared}
            for values in (weights, grads)
        )
        left, right = of_layers(["left"], grads), of_layers(["right"], grads)
        return weights, [left, right | ({"left.weight": left["left.weight"] * 3} if shared else {})]
    return weights, [{name: t * (edge != "gradients of zeros") for name, t in grads.items()}], edge == "all frozen"


# %% checks
with check(
    "example",
    "both ranks use the same branch",
    weight=2,
    required=True,
    hint=(
        "What does all_reduce leave in its argument, a sum or a mean? Is that argument the model's .grad?",
        "Divide the sum over ranks by dist.get_world_size() to get a mean. You have to change p.grad itself.",
    ),
):
    weights = drawn(make_branches(2), 0)
    t = [of_layers(["left"], drawn(make_branches(2), seed)) for seed in (1, 2)]
    own = copy.deepcopy(t)
    total = {name: grad + own[1][name] for name, grad in own[0].items()}
    explain(
        averaged(average_gradients, weights, t),
        [{name: grad / 2 for name, grad in total.items()}] * 2,
        {"this is the sum over the ranks": [total] * 2, "these are the gradients of one rank": own},
        name="your gradients",
    )


# %% hidden checks
def mean_of(grads):
    """The mean over all ranks, by name. No gradient counts as zeros."""
    names = [name for own in grads for name in own]
    return {name: sum(own[name] for own in grads if name in own) / len(grads) for name in names}


with check(
    "other_cases", "three ranks, another model", weight=2, required=True, hint="What number of ranks do you divide by?"
):
    weights = drawn(make_branches(5), 0)
    t = [of_layers(["right"], drawn(make_branches(5), seed)) for seed in (1, 2, 3)]
    want = [mean_of(t)] * 3
    assert_close(averaged(average_gradients, weights, t), want, name="your gradients")
with check(
    "different_branches",
    "each rank uses a different branch",
    weight=4,
    required=True,
    hint="Which two tensors does each all_reduce add, from rank 0 and from rank 1? What do you divide by?",
):
    weights = drawn(make_branches(2), 3)
    left, right = of_layers(["left"], drawn(make_branches(2), 4)), of_layers(["right"], drawn(make_branches(2), 5))
    want, either, none = [mean_of([left, right])] * 2, copy.deepcopy(left | right), dict.fromkeys(left | right)
    mixed = {part: (left[f"left.{part}"] + right[f"right.{part}"]) / 2 for part in ("weight", "bias")}
    added = [none | {f"{layer}.{part}": grad for part, grad in mixed.items()} for layer in ("left", "right")]
    explain(
        averaged(average_gradients, weights, [left, right]),
        want,
        {
            "gradients of two different parameters were added": added,
            "the mean is over all ranks, including those that didn't use the parameter": [either] * 2,
        },
        name="your gradients",
    )
with check(
    "no_gradient",
    "ranks without gradients and one with a NaN, after a call with other ones",
    weight=2,
    hint="Which of its parameters take part? Do you find that out in each call?",
):
    weights = drawn(make_branches(4), 6)
    before = [of_layers(["never"], weights)] * 3
    t = [{}, of_layers(["left", "right"], drawn(make_branches(4), 7)), {}]
    t[1]["left.weight"][1, 0] = math.nan  # type: ignore[index]
    want = [mean_of(t)] * 3
    assert_close(averaged(average_gradients, weights, before, t), want, name="your gradients")
with check(
    "structure",
    "weights that are stored transposed, or shared",
    weight=1,
    hint="Which number of one rank is added to which of another? What are the strides of each .grad?",
):
    arguments.assert_results(average_gradients, "stored transposed", "a shared weight")
with check("float64", "float64", weight=1, hint="What dtype are they sent in?"):
    arguments.assert_results(average_gradients, "float64", rtol=1e-12, atol=1e-12)
with check(
    "unused", "what no rank used has no gradient", weight=2, hint="With zeros, what would weight decay do to it?"
):
    arguments.assert_results(average_gradients, "no gradients", "gradients of one layer", "gradients of zeros")
    weights = drawn(make_branches(3), 8)
    t = [of_layers([layer], {name: value * 0 for name, value in weights.items()}) for layer in ("left", "right")]
    want = [[copy.deepcopy(weights), dict.fromkeys(weights) | copy.deepcopy(t[0] | t[1])]] * 2
    assert_close(state_after(average_gradients, weights, t), want, name="weights and gradients")
with check("frozen", "frozen parameters keep the gradient that they have", hint="Which parameters does a step use?"):
    arguments.assert_results(average_gradients, "frozen ones hold gradients", "all frozen")
    weights = drawn(make_branches(3), 11)
    t = [drawn(make_branches(3), seed) for seed in (12, 13)]
    want = [[copy.deepcopy(weights), mean_of(t) | copy.deepcopy(of_layers(["frozen"], own))] for own in t]
    assert_close(state_after(average_gradients, weights, t), want, name="weights and gradients")
with check("one_rank", "a single rank keeps its weights and gradients", guard=True):
    arguments.assert_results(average_gradients)


# %% right "one flat tensor"
def average_gradients(model):
    ps = [p for p in model.parameters() if p.requires_grad]
    flags = torch.tensor([float(p.grad is not None) for p in ps])
    flat = torch.cat([flags, *[(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in ps]])
    dist.all_reduce(flat)
    flags, flat = flat[: len(ps)], flat[len(ps) :] / dist.get_world_size()
    for flag, p, g in zip(flags, ps, flat.split([p.numel() for p in ps])):
        p.grad = g.view_as(p).clone() if flag > 0 else None


# %% right "gathered as objects, by name"
def average_gradients(model):
    world = dist.get_world_size()
    everybody = [None] * world
    dist.all_gather_object(
        everybody, {n: p.grad for n, p in model.named_parameters() if p.requires_grad and p.grad is not None}
    )
    for name, p in model.named_parameters():
        grads = [grads[name] for grads in everybody if name in grads]
        if grads:
            p.grad = torch.stack(grads).sum(0) / world


# %% wrong "each gradient that is there" fails=different_branches,no_gradient,structure,unused,frozen raises=TimeoutError
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


# %% wrong "the sum is the gradient" fails=example,other_cases,different_branches,no_gradient,structure,frozen
def average_gradients(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)


# %% wrong "the mean over those that used it" fails=different_branches,no_gradient,structure
def average_gradients(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= count


# %% wrong "gradients become equal by themselves" fails=example,other_cases,different_branches,no_gradient,structure,unused,frozen
def average_gradients(model):
    dist.barrier()


# %% wrong "weights are stepped as well" fails=structure,float64,unused,frozen,one_rank
def average_gradients(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
            p.data -= 0.1 * p.grad


# %% equivalent "argument dtype dropped: used = torch.tensor([p.grad is not None for p in parameters])"
# The sum of bools over ranks is whether any of them is True, and nothing else is asked of it.

# %% equivalent "argument strict dropped: for p, count in zip(parameters, used.tolist()):"
# Both have one element for each parameter.

# %% equivalent "call of tolist left out: for p, count in zip(parameters, used, strict=True):"
# A 0-dim tensor is as true as its number.

# %% equivalent "True to False: for p, count in zip(parameters, used.tolist(), strict=False):"
# Both have one element for each parameter.
