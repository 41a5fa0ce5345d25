# %% given
class Calls(nn.Module):
    """A layer that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def net_of(weights):
    """A make_net with these weights and their strides. A weight 1.shared is that of layer 0, under a second name."""
    model = make_net(0)
    model.load_state_dict({name: t.clone() for name, t in weights.items() if name != "1.shared"}, assign=True)
    if "1.shared" in weights:
        model[1].register_parameter("shared", model[0].weight)
    return model


def unit_rows(x):
    return x / x.norm(dim=1, keepdim=True)


def steps_on(rank, world_size, function, weights, shards, lr, momentum, stale, first):
    net = net_of(weights)
    ddp = DDP(nn.Sequential(Calls(first), net))
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr, momentum=momentum)
    for name, p in net.named_parameters():
        p.grad = stale.get(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        losses = [function(ddp, x, y, optimizer) for x, y in shards[rank]]
    return {"losses": losses, "weights": probes.state_of(net)}


@probes.probe
def ddp_stepped(function, weights, shards, lr, momentum=0.0, stale=None, first=torch.clone):
    """Each rank's losses and weights after an SGD step on each of its shards (x, y). stale: gradients before. first: a
    function that model applies to x."""
    return in_group(steps_on, function, weights, shards, lr, momentum, stale or {}, first, world_size=len(shards))


def sharded(sizes, seed):
    """Random samples in shards of these sizes: [(x, y), ...]."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(sum(sizes), 3, generator=generator), torch.randint(0, 2, (sum(sizes),), generator=generator)
    return list(zip(x.split(sizes), y.split(sizes), strict=True))


# %% exercise
def ddp_step(model: DDP, x: Tensor, y: Tensor, optimizer: torch.optim.Optimizer) -> float:
    """One training step on this rank's shard, called on every rank. Returns the loss, a float, equal on all ranks.

    The loss is the mean cross entropy over the samples of all ranks, with the weights before the step. optimizer has
    this rank's parameters, each of which requires grad, and takes one step with the gradient of the loss. Gradients
    from before the call do not count. x is (n, d) float32, and y is (n,) int64. n may differ from rank to rank, and be
    0 on all ranks but one.
    """
    ### BEGIN SOLUTION
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model(x), y, reduction="sum") / count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()
    ### END SOLUTION


# %% promises
# One training step -> example, other_cases, empty_rank, one_rank, old_grad
# Returns the loss -> example, other_cases, empty_rank, one_rank
# The loss is the mean -> example, other_cases, empty_rank
# optimizer has this rank's -> example, other_cases, empty_rank, one_rank
# Gradients from before -> old_grad
# x is (n, d) float32 -> example, other_cases, empty_rank, one_rank
# n may differ -> example, other_cases, empty_rank


# %% domain
@domain(
    reference,
    *("one step", "one sample", "no momentum", "gradients from before", "stored transposed", "a shared weight"),
    "dropout",
    call=ddp_stepped,
)
def arguments(draw, edge):
    g = draw.make_generator()
    seeds = torch.randint(10**6, (3,), generator=g).tolist()
    sizes = [1, 1] if edge == "one sample" else [draw(st.integers(2, 5)) for _ in range(1 if edge == "one step" else 2)]
    lr, momentum = draw(st.sampled_from([0.2, 0.5])), 0.0 if edge == "no momentum" else 0.75
    stale = drawn(make_net(0), seeds[2]) if edge == "gradients from before" else {}
    for t in stale.values():
        t.view(-1)[:1] = math.inf
    weights = {name: draw.apply_layout(t, edge) for name, t in drawn(make_net(0), seeds[0]).items()}
    if edge == "a shared weight":
        weights["1.shared"] = weights["0.weight"].clone()
    first = F.dropout if edge == "dropout" else torch.clone
    return weights, [sharded(sizes, seeds[1])], lr, momentum, stale, first


# %% checks
with check(
    "example",
    "shards of 7 and 3 samples",
    weight=2,
    required=True,
    hint=(
        "Is the loss wrong, or the weights? What does DDP divide by, and what do you want to divide by?",
        "All ranks need the count, 10. DDP divides by the 2 ranks: what undoes that? The loss is a sum over ranks too.",
    ),
):
    weights, t = drawn(make_net(0), 0), sharded([7, 3], 0)
    model = net_of(weights)
    sums = [F.cross_entropy(model(x), y, reduction="sum") for x, y in t]
    steps = {}
    for name, loss in {
        "mean": (sums[0] + sums[1]) / 10,
        "mean of means": (sums[0] / 7 + sums[1] / 3) / 2,
        "sum": (sums[0] + sums[1]) / 2,
    }.items():
        grads = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        after = {key: p.detach() - 0.5 * grad for (key, p), grad in zip(model.named_parameters(), grads, strict=True)}
        steps[name] = [{"losses": [loss.item()], "weights": after}] * 2
    added = [{**step, "losses": steps["mean"][0]["losses"]} for step in steps["sum"]]
    explain(
        ddp_stepped(ddp_step, weights, [[shard_of] for shard_of in t], 0.5),
        steps["mean"],
        {
            "this step uses the mean of the ranks' means": steps["mean of means"],
            "this step uses the sum of the losses, divided by the number of ranks": added,
        },
    )


# %% hidden checks
def one_process(weights, shards, lr, momentum=0.0, first=torch.clone):
    """Losses and weights of one process, after an SGD step on all shards of each step."""
    model = net_of(weights)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum), []
    for step in zip(*shards, strict=True):
        x, y = (torch.cat(items) for items in zip(*step, strict=True))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(first(x)), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weights": probes.state_of(model)}


with check("other_cases", "three ranks, four steps", weight=3, required=True, hint="What does DDP divide by?"):
    sizes = [[2, 4, 5, 3], [5, 1, 4, 6], [4, 3, 2, 2]]  # of each rank, in each step
    t, weights = [sharded(own, seed) for seed, own in enumerate(sizes)], drawn(make_net(0), 1)
    want = [one_process(weights, t, 0.3, 0.5)] * 3
    assert_close(ddp_stepped(ddp_step, weights, t, 0.3, 0.5), want)
with check(
    "empty_rank",
    "an empty shard, and a model that has no use for rows of zeros",
    weight=2,
    hint="What's the mean of no losses? Does that rank take part in backward?",
):
    t, weights = [sharded([0, 2, 3], 7), sharded([4, 0, 1], 8)], drawn(make_net(0), 3)
    want = [one_process(weights, t, 0.5, first=unit_rows)] * 2
    assert_close(ddp_stepped(ddp_step, weights, t, 0.5, first=unit_rows), want)
with check(
    "one_rank",
    "a single rank, with dropout, and with weights that are shared or stored transposed",
    weight=1,
    hint="Is the loss that you return the one that you take the gradient of?",
):
    arguments.assert_results(ddp_step, "", "one step", "one sample", "no momentum")
    arguments.assert_results(ddp_step, "stored transposed", "a shared weight", "dropout")
with check("old_grad", "gradients from before don't count", weight=1, hint="When are gradients set to zero?"):
    arguments.assert_results(ddp_step, "gradients from before")


# %% right "gradients are scaled after backward"
def ddp_step(model, x, y, optimizer):
    optimizer.zero_grad()
    losses = F.cross_entropy(model(x), y, reduction="none")
    losses.sum().backward()
    pair = torch.stack([losses.detach().sum(), torch.tensor(float(x.shape[0]))])
    dist.all_reduce(pair)
    with torch.no_grad():
        for p in model.parameters():
            p.grad.mul_(dist.get_world_size() / pair[1])
    optimizer.step()
    return float(pair[0] / pair[1])


# %% right "without DDP's average, by hand"
def ddp_step(model, x, y, optimizer):
    model.zero_grad(set_to_none=False)
    with model.no_sync():
        loss = F.cross_entropy(model(x), y, reduction="sum")
        loss.backward()
    total = torch.tensor([loss.item(), len(y)], dtype=torch.float64)
    dist.all_reduce(total)
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= total[1].item()
    optimizer.step()
    return (total[0] / total[1]).item()


# %% wrong "the mean of the means" fails=example,other_cases,empty_rank
def ddp_step(model, x, y, optimizer):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).item()


# %% wrong "DDP divides by the number of samples" fails=example,other_cases,empty_rank,one_rank,old_grad
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    loss = F.cross_entropy(model(x), y, reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    return (loss / count).item()


# %% wrong "a mean, weighted; empty is no case" fails=empty_rank
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model(x), y) * len(x) / count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()


# %% wrong "SGD by hand" fails=other_cases,one_rank,old_grad
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    loss = F.cross_entropy(model(x), y, reduction="sum") * dist.get_world_size() / count
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= optimizer.param_groups[0]["lr"] * p.grad
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


# %% equivalent "call of detach left out: loss = part"
# Backward is over, and autograd does not record a collective.

# %% equivalent "float64 and int64 results through float32"
# Weights and samples are float32, and so is the loss: a float that is a float32 number.
