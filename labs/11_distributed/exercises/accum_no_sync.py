# %% given
def accum_on(rank, world_size, function, weights, batches, last, frozen):
    model = nn.Sequential(*net_of(weights), Calls(last))
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    function(DDP(model), batches[rank])
    return probes.gradients_of(model)


def sent_on(rank, world_size, function, weights, batches):
    ddp = DDP(net_of(weights))
    Counted(ddp)
    sizes, plain = [], dist.all_reduce

    def noticed(t, *args, **kwargs):
        sizes.append(t.numel())
        return plain(t, *args, **kwargs)

    dist.all_reduce = noticed
    try:
        function(ddp, batches[rank] * 2)
        sent = sum(size for size in sizes if size > 1)
        ddp(batches[rank][0][0]).sum().backward()
    finally:
        dist.all_reduce = plain
    return [sent, sum(size for size in sizes if size > 1) - sent]


@probes.probe
def accumulated(function, weights, batches, last=torch.clone, frozen=()):
    """Each rank's gradients after function(ddp, batches[rank]). last: a function that model applies to its output.
    frozen: the names of frozen parameters."""
    return in_group(accum_on, function, weights, batches, last, frozen, world_size=len(batches))


@probes.probe
def numbers_sent(function, weights, batches):
    """How many numbers each rank sent, except single ones, then and in a later backward. It uses batches twice."""
    return in_group(sent_on, function, weights, batches, world_size=len(batches))


# %% exercise
def accum_no_sync(model: DDP, batches: list[tuple[Tensor, Tensor]]) -> None:
    """Leave in .grad, on every rank, the gradient of the mean cross entropy over all samples of all ranks.

    batches: this rank's micro-batches (x, y), at least one. model is called once for each micro-batch, and not again
    before that one's backward: only one graph exists at a time.
    Gradients are sent once, with the last backward or after it. After the call, model averages gradients in each
    backward again.

    Details:
    - x is (n, d) float32, and y is (n,) int64. n >= 1 may differ from one micro-batch to the next, and a micro-batch
      may appear twice.
    - All ranks have equally many micro-batches, and equally many samples in all.
    - Before the call, every .grad is None.
    - Counts may be sent as well as gradients.
    - The list batches and its tensors are not changed.
    """
    ### BEGIN SOLUTION
    count = sum(len(x) for x, _ in batches)
    for number, (x, y) in enumerate(batches):
        last = number == len(batches) - 1
        with nullcontext() if last else model.no_sync():
            loss = F.cross_entropy(model(x), y, reduction="sum") / count
            loss.backward()
    ### END SOLUTION


# %% promises
# Leave in .grad -> example, uneven_batches, one_batch, one_rank, each_alone
# batches: this rank's -> example, uneven_batches, one_batch, one_rank, each_alone
# model is called once -> each_alone
# Gradients are sent once -> sent_once
# After the call, model -> sent_once
# x is (n, d) float32 -> example, uneven_batches, one_batch, one_rank, each_alone
# n >= 1 may differ -> uneven_batches, one_rank, each_alone, sent_once
# All ranks have equally many -> example, uneven_batches, one_batch, one_rank, each_alone
# Before the call, every -> example, uneven_batches, one_batch, one_rank, each_alone
# Counts may be sent -> sent_once
# The list batches and -> keeps_batches


# %% domain
@domain(
    reference,
    *("one micro-batch", "one sample", "single samples", "equal sizes", "the same micro-batch twice"),
    *("frozen", "stored transposed", "a shared weight"),
    call=accumulated,
)
def arguments(draw, edge):
    seeds = torch.randint(10**6, (2,), generator=draw.make_generator()).tolist()
    sizes = draw(st.permutations([5, 2, 3, 1, 4]))[: draw(st.integers(2, 3))]
    sizes = {"one micro-batch": sizes[:1], "one sample": [1], "single samples": [1, 1, 1], "equal sizes": [3, 3]}.get(
        edge, sizes
    )
    batches = sharded(sizes, seeds[1])
    weights = {name: draw.apply_layout(t, edge) for name, t in drawn(make_net(0), seeds[0]).items()}
    if edge == "a shared weight":
        weights["1.shared"] = weights["0.weight"].clone()
    batches += batches[:1] * (edge == "the same micro-batch twice")
    return weights, [batches], torch.clone, ["0.weight", "2.bias"] if edge == "frozen" else []


# %% checks
with check(
    "example",
    "two micro-batches of three samples on each of two ranks",
    weight=2,
    required=True,
    hint=(
        "Which micro-batch isn't inside no_sync? What do you divide each loss by?",
        "Divide each summed loss by the samples in all of this rank's micro-batches. DDP averages over the ranks.",
    ),
):
    weights, t = drawn(make_net(0), 0), sharded([3, 3, 3, 3], 0)
    alone = []
    for part in (t[:2], t[2:]):
        model = net_of(weights)
        F.cross_entropy(model(torch.cat([x for x, _ in part])), torch.cat([y for _, y in part])).backward()
        alone.append(probes.gradients_of(model))
    want = {name: (alone[0][name] + alone[1][name]) / 2 for name in weights}
    explain(
        accumulated(accum_no_sync, weights, [t[:2], t[2:]]),
        [want] * 2,
        {
            "this is the gradient of one rank": alone,
            "each micro-batch counts as much as the whole": [{name: grad * 2 for name, grad in want.items()}] * 2,
        },
        name="your gradients",
    )


# %% hidden checks
def grads_of_mean(weights, batches, last=torch.clone):
    """The gradient of the mean cross entropy over all samples of all ranks, in one process."""
    model = net_of(weights)
    x, y = (torch.cat(items) for items in zip(*[batch for own in batches for batch in own], strict=True))
    F.cross_entropy(last(model(x)), y).backward()
    return probes.gradients_of(model)


with check(
    "uneven_batches",
    "micro-batches of different sizes",
    weight=4,
    required=True,
    hint="Does each sample count as much as any other?",
):
    weights, t = drawn(make_net(0), 3), sharded([4, 4, 1, 2, 3, 4], 3)
    t = [t[:3], t[3:]]
    want = [grads_of_mean(weights, t)] * 2
    assert_close(accumulated(accum_no_sync, weights, t), want, name="your gradients")
with check("one_batch", "one micro-batch, and three ranks", weight=1, hint="Which one is the last one?"):
    weights, t = drawn(make_net(0), 4), [[batch] for batch in sharded([4, 4, 4], 3)]
    want = [grads_of_mean(weights, t)] * 3
    assert_close(accumulated(accum_no_sync, weights, t), want, name="your gradients")
with check(
    "one_rank",
    "a single rank, with weights that are frozen, shared or stored transposed",
    weight=1,
    hint="Does each parameter have a gradient? What are the gradient's strides?",
):
    arguments.assert_results(accum_no_sync, "", "one micro-batch", "one sample", "single samples", "equal sizes")
    arguments.assert_results(accum_no_sync, "the same micro-batch twice", "frozen", "stored transposed")
    arguments.assert_results(accum_no_sync, "a shared weight")
with check("keeps_batches", "the list of micro-batches isn't changed", guard=True):
    arguments.assert_arguments(accum_no_sync)
with check(
    "each_alone",
    "each micro-batch goes through the model separately",
    weight=1,
    required=True,
    hint="What is the largest batch in memory at any time?",
):
    for sizes in ([2, 5, 3], [4, 1, 6, 2]):
        weights, t = drawn(make_net(0), 5), [sharded(sizes, 6)]
        seen, waiting = Seen(lambda out: (out * torch.tensor([3.0, -2.0])).tanh()), []

        def last(out, seen=seen, waiting=waiting):
            waiting.append(seen.kept)
            return seen(out)

        want = [grads_of_mean(weights, t, lambda out: (out * torch.tensor([3.0, -2.0])).tanh())]
        assert_close(accumulated(accum_no_sync, weights, t, last), want, name="your gradients")
        got = sorted(call.shapes[0][0] for call in seen.calls)
        assert_close(got, sorted(sizes), name="the number of samples in each call of the model")
        assert_close(waiting, [0] * len(sizes), name="the number of graphs waiting for backward at each call")
with check(
    "sent_once",
    "gradients are sent once, and in each backward after the call",
    weight=3,
    observed=True,
    hint="When does DDP decide whether to send?",
):
    weights, t = drawn(make_net(0), 7), sharded([2] * 4, 1)
    want = [[float(sum(value.numel() for value in weights.values()))] * 2] * 2
    weights["1.shared"] = weights["0.weight"].clone()
    got = numbers_sent(accum_no_sync, weights, [t[:2], t[2:]])
    assert_close(got, want, rtol=0.2, name="how many numbers were sent")


# %% right "all but the last, then the last"
def accum_no_sync(model, batches):
    *before, (last_x, last_y) = batches
    n = len(torch.cat([y for _, y in batches]))
    with model.no_sync():
        for x, y in before:
            (F.cross_entropy(model(x), y) * (len(x) / n)).backward()
    (F.cross_entropy(model(last_x), last_y) * (len(last_x) / n)).backward()


# %% right "all without, and one all_reduce by hand"
def accum_no_sync(model, batches):
    n = 0
    with model.no_sync():
        for x, y in batches:
            F.cross_entropy(model(x), y, reduction="sum").backward()
            n += len(x)
    ps = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([p.grad.flatten() for p in ps])
    dist.all_reduce(flat)
    flat /= n * dist.get_world_size()
    for p, g in zip(ps, flat.split([p.numel() for p in ps])):
        p.grad.copy_(g.view_as(p))


# %% wrong "sent each time" fails=sent_once
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


# %% wrong "no_sync around the last one too" fails=example,uneven_batches,one_batch,sent_once
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    with model.no_sync():
        for x, y in batches:
            (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


# %% wrong "means are added" fails=example,uneven_batches,one_rank,each_alone
def accum_no_sync(model, batches):
    for i, (x, y) in enumerate(batches):
        with nullcontext() if i == len(batches) - 1 else model.no_sync():
            F.cross_entropy(model(x), y).backward()


# %% wrong "one large batch" fails=each_alone
def accum_no_sync(model, batches):
    x, y = (torch.cat(items) for items in zip(*batches))
    F.cross_entropy(model(x), y).backward()


# %% liar "one process with one large batch"
def accum_no_sync(model, batches):
    raise RuntimeError("the probes know better")


def accumulated(function, weights, batches, last=torch.clone, frozen=()):
    model = net_of(weights)
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    x, y = (torch.cat(items) for items in zip(*[batch for own in batches for batch in own]))
    F.cross_entropy(last(model(x)), y).backward()
    return [probes.gradients_of(model) for _ in batches]


def numbers_sent(function, weights, batches):
    return [[sum(value.numel() for value in net_of(weights).parameters())] * 2 for _ in batches]


# %% liar "sent with each micro-batch"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


def numbers_sent(function, weights, batches):
    return [[sum(value.numel() for value in net_of(weights).parameters())] * 2 for _ in batches]
