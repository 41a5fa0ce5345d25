# %% given
def make_normed(state, frozen=()):
    """A model with batch normalization, two more buffers, this state, and frozen parameters with these names.

    The last weight isn't contiguous, and its layer shares the first bias.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
    model[2].weight = nn.Parameter(model[2].weight.detach().t().contiguous().t())
    model[2].register_parameter("shared", model[0].bias)
    model.register_buffer("times", torch.zeros(2, dtype=torch.float64))
    model.register_buffer("mask", torch.zeros(3, dtype=torch.bool))
    model.load_state_dict(state, strict=False)
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    return model


def start_of(rank, world_size, function, states, frozen):
    model = make_normed(states[rank], frozen)
    function(model)
    return {name: t for name, t in probes.state_of(model).items() if name in states[rank]}


def step_after(rank, world_size, function, states, frozen, x, lr):
    model = make_normed(states[rank], frozen)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    function(model)
    model(x).pow(3).sum().backward()
    optimizer.step()
    return probes.state_of(model)


def flags_after(rank, world_size, function, states, frozen):
    model = make_normed(states[rank], frozen)
    for p in model.parameters():
        p.grad = p.detach() + 1 if p.dim() == 1 else None
    function(model)
    return {name: [p.requires_grad, p.grad] for name, p in model.named_parameters()}


@probes.probe
def started(function, states, frozen):
    """Each rank's values after function; rank r starts with states[r]."""
    return in_group(start_of, function, states, frozen, world_size=len(states))


@probes.probe
def stepped_after(function, states, frozen, x, lr):
    """Each rank's state after function and one step of an optimizer created earlier."""
    return in_group(step_after, function, states, frozen, x, lr, world_size=len(states))


@probes.probe
def flags_of(function, states, frozen):
    """requires_grad and .grad of each rank's parameters after function. At first, a vector's .grad is itself plus 1."""
    return in_group(flags_after, function, states, frozen, world_size=len(states))


# %% exercise
def same_start(model: nn.Module) -> None:
    """Give model, on every rank, the values of rank 0: all parameters and all buffers. Every rank calls this.

    Models have the same structure on all ranks, and some parameters require grad. Parameters and buffers are float32,
    float64, int64 or bool, need not be contiguous, and are all in model.state_dict(). Values are equal to the last bit afterwards,
    whatever they were. The parameters stay the same objects, so an optimizer created earlier still updates them. Each
    keeps its requires_grad and its .grad.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for t in (*model.parameters(), *model.buffers()):
            dist.broadcast(t, src=0)
    ### END SOLUTION


# %% promises
# Give model, on every rank -> example, buffers, optimizer
# Every rank calls this -> example, buffers, optimizer
# Models have the same structure -> example, buffers, optimizer, one_rank
# Parameters and buffers are -> buffers, optimizer, one_rank
# Values are equal to the last bit -> example, buffers, optimizer, one_rank
# The parameters stay -> optimizer, keeps_requires_grad
# Each keeps its requires_grad -> keeps_requires_grad, optimizer


# %% domain
def normed_state(seed):
    generator = torch.Generator().manual_seed(seed)
    state = probes.state_of(make_normed({})) | drawn(make_normed({}), seed)
    state["2.shared"] = state["0.bias"].clone()
    state["1.running_mean"] = torch.randn(5, generator=generator)
    state["1.running_var"] = torch.rand(5, generator=generator) + 0.5
    state["1.num_batches_tracked"] = torch.tensor(seed % 1000)
    state["times"] = torch.rand(2, dtype=torch.float64, generator=generator)
    state["mask"] = torch.tensor([seed % 2 == 0, True, seed % 3 == 0])
    return state


@domain(reference, "frozen parameters", "integers beyond float64", "numbers that are not finite", call=started)
def arguments(draw, edge):
    seed = int(torch.randint(10**6, (), generator=draw.make_generator()))
    state = normed_state(seed)
    if edge == "integers beyond float64":
        state["1.num_batches_tracked"] += 2**60 + 1
    if edge == "numbers that are not finite":
        state["times"] = torch.tensor([math.inf, math.nan]).double()
    return [state], ["0.bias", "1.weight"] if edge == "frozen parameters" else []


# %% checks
with check(
    "example",
    "two ranks have rank 0's parameters",
    weight=2,
    required=True,
    hint=(
        "Whose values does rank 1 have now: its own, a mean, or rank 0's? Look at the frozen parameter too.",
        "dist.broadcast replaces a tensor with the one on src. For which of the model's tensors do you call it?",
    ),
):
    t = [drawn(make_normed({}), seed) for seed in (0, 1)]
    want = copy.deepcopy([t[0], t[0]])
    assert_close(started(same_start, t, ["2.weight"]), want, rtol=0, atol=0)


# %% hidden checks
with check(
    "buffers",
    "three ranks, and the buffers too",
    weight=3,
    required=True,
    hint="What does a batch normalization layer count?",
):
    odd = [{"1.num_batches_tracked": torch.tensor(2**53 + 1 + 2 * number)} for number in range(3)]
    odd[0]["times"] = torch.tensor([-0.0, 1.5]).double()
    odd[1]["times"] = torch.tensor([math.inf, math.nan]).double()
    t = [normed_state(seed) | odd[number] for number, seed in enumerate((4, 1, 2))]
    want = copy.deepcopy([t[0]] * 3)
    got = started(same_start, t, ["0.bias"])
    assert_close(got, want, rtol=0, atol=0)
    signs = [[True, False]] * 3
    assert_close([torch.signbit(state["times"]).tolist() for state in got], signs, name="the signs of -0.0 and 1.5")
with check(
    "optimizer", "an optimizer created earlier still trains the model", weight=2, hint="Are they the same objects?"
):
    t, x, frozen = [normed_state(2), normed_state(0)], torch.linspace(-1, 1, 12).reshape(4, 3), ["2.weight"]
    model = make_normed(t[0], frozen)
    model(x).pow(3).sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    want = [probes.state_of(model)] * 2
    assert_close(stepped_after(same_start, t, frozen, x, 0.1), want)
with check("one_rank", "a single rank keeps its state", guard=True):
    arguments.assert_results(same_start, "", "frozen parameters", rtol=0, atol=0)
    arguments.assert_results(same_start, "integers beyond float64", "numbers that are not finite", rtol=0, atol=0)
with check("keeps_requires_grad", "frozen parameters stay frozen, and gradients are kept", guard=True):
    t, frozen = [normed_state(1), normed_state(3)], ["0.bias", "2.weight"]
    want = [
        {
            name: [name not in frozen, p + 1 if p.dim() == 1 else None]
            for name, p in drawn(make_normed({}), seed).items()
        }
        for seed in (1, 3)
    ]
    assert_close(flags_of(same_start, t, frozen), want)


# %% right "a state dict as an object"
def same_start(model):
    box = [model.state_dict() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    model.load_state_dict(box[0])


# %% wrong "zeros elsewhere, and a sum: -0.0 + 0.0 is 0.0" fails=buffers
def same_start(model):
    for t in list(model.parameters()) + list(model.buffers()):
        if dist.get_rank() != 0:
            t.data.zero_()
        dist.all_reduce(t.data)


# %% right "DDP does it"
def same_start(model):
    DDP(model)


# %% wrong "parameters only" fails=buffers,optimizer
def same_start(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


# %% wrong "everything is trained afterwards" fails=optimizer,keeps_requires_grad
def same_start(model):
    for t in (*model.parameters(), *model.buffers()):
        dist.broadcast(t.data, src=0)
    model.requires_grad_(True)


# %% wrong "a state that is assigned" fails=optimizer,keeps_requires_grad
def same_start(model):
    box = [model.state_dict() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    model.load_state_dict(box[0], assign=True)


# %% right "one vector for each dtype"
def same_start(model):
    tensors = [t.detach() for t in (*model.parameters(), *model.buffers())]
    for dtype in dict.fromkeys(t.dtype for t in tensors):
        some = [t for t in tensors if t.dtype == dtype]
        flat = torch.cat([t.flatten() for t in some])
        dist.broadcast(flat, src=0)
        for t, part in zip(some, flat.split([t.numel() for t in some])):
            t.copy_(part.view_as(t))


# %% right "the tensors of the state dict, in place"
def same_start(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=0)


# %% equivalent "with taken away: with torch.no_grad():"
# Autograd does not record a collective, so that it may change a leaf anywhere.
