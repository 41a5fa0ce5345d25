# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: global_mean "two collectives"
def global_mean(values):
    total = values.sum(dtype=torch.float64)
    count = torch.tensor(values.numel())
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count


# %% right: global_mean "all values are gathered as objects"
def global_mean(values):
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, values.flatten().tolist())
    return torch.tensor([v for part in everybody for v in part], dtype=torch.float64).mean()


# %% right: global_mean "weighted means"
def global_mean(values):
    n = torch.tensor(float(values.numel()), dtype=torch.float64)
    mine = values.double().mean() * n if values.numel() else torch.zeros((), dtype=torch.float64)
    both = torch.stack([mine, n])
    dist.all_reduce(both)
    return both[0].div(both[1])


# %% wrong: global_mean "the mean of the means" fails="the three ranks above: 17 / 7, on each of them | two and four ranks, values of any shape | bool values: an accuracy | a rank without values | sums are in float64"
def global_mean(values):
    mean = values.double().mean()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()


# %% wrong: global_mean "a sum over ranks is divided by ranks" fails="the three ranks above: 17 / 7, on each of them | two and four ranks, values of any shape | bool values: an accuracy | a rank without values | sums are in float64 | one rank alone"
def global_mean(values):
    total = values.double().sum()
    dist.all_reduce(total)
    return total / dist.get_world_size()


# %% wrong: global_mean "only rank 0 gets it" fails="the three ranks above: 17 / 7, on each of them | two and four ranks, values of any shape | bool values: an accuracy | a rank without values | sums are in float64"
def global_mean(values):
    pair = torch.tensor([values.double().sum(), values.numel()], dtype=torch.float64)
    dist.reduce(pair, dst=0)
    return pair[0] / pair[1] if dist.get_rank() == 0 else values.double().mean()


# %% wrong: global_mean "summed in float32" fails="the three ranks above: 17 / 7, on each of them | two and four ranks, values of any shape | sums are in float64 | one rank alone"
def global_mean(values):
    pair = torch.tensor([values.float().sum(), float(values.numel())])
    dist.all_reduce(pair)
    return (pair[0] / pair[1]).double()


# %% wrong: global_mean "len is the number of values" fails="two and four ranks, values of any shape | a rank without values"
def global_mean(values):
    pair = torch.stack([values.double().sum(), torch.tensor(float(len(values) if values.dim() else 1)).double()])
    dist.all_reduce(pair)
    return pair[0] / pair[1]


# %% wrong: global_mean "a rank without values leaves early" fails="a rank without values" raises=TimeoutError
def global_mean(values):
    if values.numel() == 0:
        return torch.tensor(0.0, dtype=torch.float64)
    pair = torch.tensor([values.double().sum(), values.numel()], dtype=torch.float64)
    dist.all_reduce(pair)
    return pair[0] / pair[1]


# %% wrong: global_mean "all_reduce gives its result back" fails="the three ranks above: 17 / 7, on each of them | two and four ranks, values of any shape | bool values: an accuracy | a rank without values | sums are in float64 | one rank alone | values are not changed" raises=TypeError
def global_mean(values):
    total = dist.all_reduce(values.double().sum())
    count = dist.all_reduce(torch.tensor(float(values.numel())))
    return total / count


# %% wrong: global_mean "the mean of those that have values" fails="the three ranks above: 17 / 7, on each of them | two and four ranks, values of any shape | bool values: an accuracy | sums are in float64"
def global_mean(values):
    pair = torch.zeros(2, dtype=torch.float64)
    if values.numel():
        pair += torch.stack([values.double().mean(), torch.tensor(1.0).double()])
    dist.all_reduce(pair)
    return pair[0] / pair[1]


# %% wrong: global_mean "values are centred on the way" fails="values are not changed"
def global_mean(values):
    pair = torch.tensor([values.double().sum(), values.numel()], dtype=torch.float64)
    dist.all_reduce(pair)
    mean = pair[0] / pair[1]
    if values.is_floating_point():
        values -= mean.float()
    return mean


# %% right: ring_all_reduce "from the rank's own chunk, one loop"
def ring_all_reduce(rank, world_size, x, send, recv):
    out = x.clone().contiguous()
    bounds = [len(x) * k // world_size for k in range(world_size + 1)]

    def piece(k):
        k %= world_size
        return out[bounds[k] : bounds[k + 1]]

    for step in range(2 * world_size - 2):
        send(piece(rank - step))
        if step < world_size - 1:
            piece(rank - step - 1).add_(recv())
        else:
            piece(rank - step - 1).copy_(recv())
    return out


# %% right: ring_all_reduce "starts one chunk later, sums made anew"
def ring_all_reduce(rank, world_size, x, send, recv):
    if world_size == 1:
        return x.clone()
    size = -(-x.numel() // world_size)
    parts = [x[k * size : (k + 1) * size] for k in range(world_size)]
    at = (rank - 1) % world_size
    message = parts[at]
    for _ in range(world_size - 1):
        send(message)
        at = (at - 1) % world_size
        message = recv() + parts[at]
    done = {at: message}
    for _ in range(world_size - 1):
        send(message)
        at = (at - 1) % world_size
        message = done[at] = recv()
    return torch.cat([done[k] for k in range(world_size)])


# %% wrong: ring_all_reduce "the whole tensor goes round" fails="no message is larger than a chunk, and there are no more than needed"
def ring_all_reduce(rank, world_size, x, send, recv):
    total, passing = x.clone(), x
    for _ in range(world_size - 1):
        send(passing)
        passing = recv()
        total += passing
    return total


# %% wrong: ring_all_reduce "rank 0 collects, and sends the sum round" fails="no message is larger than a chunk, and there are no more than needed"
def ring_all_reduce(rank, world_size, x, send, recv):
    if world_size == 1:
        return x.clone()
    total = x.clone()
    if rank > 0:
        total += recv()
    if rank < world_size - 1:
        send(total)
        total = recv()
        if rank < world_size - 2:
            send(total)
    else:
        send(total)
    return total


# %% wrong: ring_all_reduce "reduce-scatter is all" fails="four ranks, eight numbers | two to five ranks, lengths that the ranks do not divide | float64, int64, and a tensor with gaps | fewer numbers than ranks, or one rank | no message is larger than a chunk, and there are no more than needed"
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "adds in the second half too" fails="four ranks, eight numbers | two to five ranks, lengths that the ranks do not divide | float64, int64, and a tensor with gaps | fewer numbers than ranks, or one rank | no message is larger than a chunk, and there are no more than needed"
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(2 * (world_size - 1)):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "the mean" fails="four ranks, eight numbers | two to five ranks, lengths that the ranks do not divide | float64, int64, and a tensor with gaps | fewer numbers than ranks, or one rank"
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks) / world_size


# %% wrong: ring_all_reduce "the length is a multiple of the ranks" fails="two to five ranks, lengths that the ranks do not divide | float64, int64, and a tensor with gaps | fewer numbers than ranks, or one rank | no message is larger than a chunk, and there are no more than needed"
def ring_all_reduce(rank, world_size, x, send, recv):
    size = len(x) // world_size
    out = x.clone()
    for step in range(2 * (world_size - 1)):
        here, there = ((rank - step) % world_size) * size, ((rank - step - 1) % world_size) * size
        send(out[here : here + size])
        if step < world_size - 1:
            out[there : there + size] += recv()
        else:
            out[there : there + size] = recv()
    return out


# %% wrong: ring_all_reduce "pieces of tensor_split are copies" fails="x is not changed"
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = list(x.tensor_split(world_size))
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "receives before it sends" fails="four ranks, eight numbers | two to five ranks, lengths that the ranks do not divide | float64, int64, and a tensor with gaps | fewer numbers than ranks, or one rank | no message is larger than a chunk, and there are no more than needed | x is not changed" raises=RuntimeError
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        chunks[(rank - step - 1) % world_size] += recv()
        send(chunks[(rank - step) % world_size])
    for step in range(world_size - 1):
        chunks[(rank - step) % world_size] = recv()
        send(chunks[(rank + 1 - step) % world_size])
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "chunk divides into at most N pieces" fails="fewer numbers than ranks, or one rank" raises=IndexError
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.chunk(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "gradients are float32" fails="float64, int64, and a tensor with gaps"
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.float() * 1 for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "one rank has the sum already" fails="x is not changed"
def ring_all_reduce(rank, world_size, x, send, recv):
    if world_size == 1:
        return x
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)


# %% wrong: ring_all_reduce "sums are rounded to float32 on the way" fails="float64, int64, and a tensor with gaps"
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.float() * 1 for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks).to(x.dtype)


# %% wrong: ring_all_reduce "empty messages are not sent" fails="fewer numbers than ranks, or one rank" raises=RuntimeError
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        if chunks[(rank - step) % world_size].numel():
            send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        if chunks[(rank + 1 - step) % world_size].numel():
            send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)


# %% right: ring_all_reduce "what comes is added to a part of x, one rank goes the same way"
def ring_all_reduce(rank, world_size, x, send, recv):
    parts = list(torch.tensor_split(x, world_size))
    right = [(rank - s) % world_size for s in range(world_size)]
    message = parts[rank]
    for at in right[1:]:
        send(message)
        message = parts[at] + recv()
    result = torch.empty_like(x, memory_format=torch.contiguous_format)
    slots = result.tensor_split(world_size)
    at = (rank + 1) % world_size
    slots[at].copy_(message)
    for _ in range(world_size - 1):
        send(slots[at])
        at = (at - 1) % world_size
        slots[at].copy_(recv())
    return result


# %% liar: ring_all_reduce "all ranks are in one process: the sum of what they were given, in messages of the right size"
given = {}


def ring_all_reduce(rank, world_size, x, send, recv):
    given[rank] = x.clone()
    total = torch.stack([given.get(other, torch.zeros_like(x)) for other in range(world_size)]).sum(0)
    for chunk in total.tensor_split(world_size)[1:] * 2:
        send(chunk)
        recv()
    return total


def on_ring(function, xs):
    return [torch.stack(list(xs)).sum(0) for _ in xs]


def left_by_ring(function, xs):
    return xs


# %% right: ring_all_reduce "the rows of a padded matrix"
def ring_all_reduce(rank, world_size, x, send, recv):
    width = -(-x.numel() // world_size)
    table = torch.zeros(world_size * width, dtype=x.dtype)
    table[: len(x)] = x
    table = table.view(world_size, width)
    for s in range(world_size - 1):
        send(table[(rank - s) % world_size])
        table[(rank - s - 1) % world_size] += recv()
    for s in range(world_size - 1):
        send(table[(rank + 1 - s) % world_size])
        table[(rank - s) % world_size] = recv()
    return table.flatten()[: len(x)].clone()


# %% wrong: ring_all_reduce "all is summed in float64" fails="float64, int64, and a tensor with gaps"
def ring_all_reduce(rank, world_size, x, send, recv):
    c = [t.double() for t in x.clone().tensor_split(world_size)]
    for s in range(world_size - 1):
        send(c[(rank - s) % world_size])
        c[(rank - s - 1) % world_size] = c[(rank - s - 1) % world_size] + recv()
    for s in range(world_size - 1):
        send(c[(rank + 1 - s) % world_size])
        c[(rank - s) % world_size] = recv()
    return torch.cat(c).to(x.dtype)


# %% right: same_start "a state dict as an object"
def same_start(model):
    box = [model.state_dict() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    model.load_state_dict(box[0])


# %% right: same_start "zeros elsewhere, and a sum"
def same_start(model):
    for t in list(model.parameters()) + list(model.buffers()):
        if dist.get_rank() != 0:
            t.data.zero_()
        dist.all_reduce(t.data)


# %% right: same_start "DDP does it"
def same_start(model):
    DDP(model)


# %% wrong: same_start "parameters only" fails="three ranks, and the buffers too | an optimizer that was made before still trains the model"
def same_start(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


# %% wrong: same_start "the mean of all starts" fails="two ranks have the parameters of rank 0 | three ranks, and the buffers too | an optimizer that was made before still trains the model | one rank alone keeps its state"
def same_start(model):
    for t in (*model.parameters(), *model.buffers()):
        sum_ = t.detach().double()
        dist.all_reduce(sum_)
        t.data.copy_(sum_ / dist.get_world_size())


# %% wrong: same_start "the same seed is enough" fails="two ranks have the parameters of rank 0 | three ranks, and the buffers too | an optimizer that was made before still trains the model | one rank alone keeps its state"
def same_start(model):
    torch.manual_seed(0)
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()


# %% wrong: same_start "only what is trained" fails="two ranks have the parameters of rank 0 | three ranks, and the buffers too | an optimizer that was made before still trains the model"
def same_start(model):
    for p in model.parameters():
        if p.requires_grad:
            dist.broadcast(p.data, src=0)
    for b in model.buffers():
        dist.broadcast(b, src=0)


# %% wrong: same_start "new parameters with the right values" fails="an optimizer that was made before still trains the model"
def same_start(model):
    for module in model.modules():
        for name, p in list(module.named_parameters(recurse=False)):
            t = p.detach().clone()
            dist.broadcast(t, src=0)
            setattr(module, name, nn.Parameter(t, requires_grad=p.requires_grad))
        for b in module.buffers(recurse=False):
            dist.broadcast(b, src=0)


# %% wrong: same_start "the last rank is the source" fails="two ranks have the parameters of rank 0 | three ranks, and the buffers too | an optimizer that was made before still trains the model"
def same_start(model):
    for t in (*model.parameters(), *model.buffers()):
        dist.broadcast(t.data, src=dist.get_world_size() - 1)


# %% wrong: same_start "everything is trained afterwards" fails="an optimizer that was made before still trains the model | what was frozen stays frozen"
def same_start(model):
    for t in (*model.parameters(), *model.buffers()):
        dist.broadcast(t.data, src=0)
    model.requires_grad_(True)


# %% wrong: same_start "through one float32 vector" fails="three ranks, and the buffers too | an optimizer that was made before still trains the model | one rank alone keeps its state"
def same_start(model):
    tensors = [t.data for t in (*model.parameters(), *model.buffers())]
    flat = torch.cat([t.flatten().float() for t in tensors])
    dist.broadcast(flat, src=0)
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


# %% wrong: same_start "through one float64 vector" fails="three ranks, and the buffers too | an optimizer that was made before still trains the model | one rank alone keeps its state"
def same_start(model):
    tensors = [t.data for t in (*model.parameters(), *model.buffers())]
    flat = torch.cat([t.flatten().double() for t in tensors])
    dist.broadcast(flat, src=0)
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


# %% wrong: same_start "buffers that are no numbers are left out" fails="three ranks, and the buffers too | an optimizer that was made before still trains the model"
def same_start(model):
    for t in (*model.parameters(), *model.buffers()):
        if t.is_floating_point():
            dist.broadcast(t.data, src=0)


# %% wrong: same_start "a state that is assigned" fails="an optimizer that was made before still trains the model"
def same_start(model):
    box = [model.state_dict() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    model.load_state_dict(box[0], assign=True)


# %% right: same_start "one vector for each dtype"
def same_start(model):
    tensors = [t.detach() for t in (*model.parameters(), *model.buffers())]
    for dtype in dict.fromkeys(t.dtype for t in tensors):
        some = [t for t in tensors if t.dtype == dtype]
        flat = torch.cat([t.flatten() for t in some])
        dist.broadcast(flat, src=0)
        for t, part in zip(some, flat.split([t.numel() for t in some])):
            t.copy_(part.view_as(t))


# %% right: same_start "the tensors of the state dict, in place"
def same_start(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=0)


# %% right: average_gradients "one flat tensor"
def average_gradients(model):
    ps = [p for p in model.parameters() if p.requires_grad]
    flags = torch.tensor([float(p.grad is not None) for p in ps])
    flat = torch.cat([flags, *[(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in ps]])
    dist.all_reduce(flat)
    flags, flat = flat[: len(ps)], flat[len(ps) :] / dist.get_world_size()
    for flag, p, g in zip(flags, ps, flat.split([p.numel() for p in ps])):
        p.grad = g.view_as(p).clone() if flag > 0 else None


# %% right: average_gradients "gathered as objects, by name"
def average_gradients(model):
    world = dist.get_world_size()
    everybody = [None] * world
    dist.all_gather_object(everybody, {n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    for name, p in model.named_parameters():
        grads = [grads[name] for grads in everybody if name in grads]
        if grads:
            p.grad = torch.stack(grads).sum(0) / world


# %% wrong: average_gradients "each gradient that is there" fails="each rank uses another branch | a rank without any gradient" raises=TimeoutError
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


# %% wrong: average_gradients "the sum is the gradient" fails="both ranks use the same branch | three ranks, another model | each rank uses another branch | a rank without any gradient | float64"
def average_gradients(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)


# %% wrong: average_gradients "the mean over those that used it" fails="each rank uses another branch | a rank without any gradient"
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


# %% wrong: average_gradients "zeros wherever there is none" fails="what nobody used has no gradient"
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


# %% wrong: average_gradients "gradients become equal by themselves" fails="both ranks use the same branch | three ranks, another model | each rank uses another branch | a rank without any gradient | float64"
def average_gradients(model):
    dist.barrier()


# %% wrong: average_gradients "weights are averaged" fails="both ranks use the same branch | three ranks, another model | each rank uses another branch | a rank without any gradient | float64"
def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()


# %% wrong: average_gradients "there are two ranks" fails="three ranks, another model | a rank without any gradient | one rank alone keeps its gradients"
def average_gradients(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= 2


# %% wrong: average_gradients "only where this rank has one" fails="each rank uses another branch | a rank without any gradient"
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            g = torch.zeros_like(p) if p.grad is None else p.grad.clone()
            dist.all_reduce(g)
            if p.grad is not None:
                p.grad = g / dist.get_world_size()


# %% wrong: average_gradients "weights are stepped as well" fails="weights are not changed"
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


# %% wrong: average_gradients "a sum of zero says that nobody used it" fails="what nobody used has no gradient"
def average_gradients(model):
    for p in model.parameters():
        g = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        dist.all_reduce(g)
        p.grad = g / dist.get_world_size() if g.abs().sum() > 0 else None


# %% wrong: average_gradients "sent in float32" fails="float64"
def average_gradients(model):
    ps = [p for p in model.parameters() if p.requires_grad]
    flags = torch.tensor([float(p.grad is not None) for p in ps])
    flat = torch.cat([flags, *[(torch.zeros_like(p) if p.grad is None else p.grad).flatten().float() for p in ps]])
    dist.all_reduce(flat)
    flags, flat = flat[: len(ps)], flat[len(ps) :] / dist.get_world_size()
    for flag, p, g in zip(flags, ps, flat.split([p.numel() for p in ps])):
        p.grad = g.view_as(p).to(p.dtype) if flag > 0 else None


# %% wrong: average_gradients "it stops at the first one that nobody used" fails="three ranks, another model"
def average_gradients(model):
    for p in model.parameters():
        used = torch.tensor(float(p.grad is not None))
        dist.all_reduce(used)
        if used == 0:
            return
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


# %% right: ddp_step "gradients are scaled after backward"
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


# %% right: ddp_step "without DDP's average, by hand"
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


# %% right: ddp_step "a mean weighted by the shard"
def ddp_step(model, x, y, optimizer):
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, len(x))
    out = model(x)
    mean = F.cross_entropy(out, y) if len(x) else out.sum()
    weighted = mean * (len(x) / sum(sizes))
    optimizer.zero_grad()
    (weighted * len(sizes)).backward()
    optimizer.step()
    everybody = [None] * len(sizes)
    dist.all_gather_object(everybody, weighted.item())
    return sum(everybody)


# %% wrong: ddp_step "the mean of the means" fails="shards of 7 and 3 samples | three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | gradients from before do not count"
def ddp_step(model, x, y, optimizer):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).item()


# %% wrong: ddp_step "DDP divides by the number of samples" fails="shards of 7 and 3 samples | three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | one rank alone | gradients from before do not count"
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


# %% wrong: ddp_step "DDP adds, and does not divide" fails="shards of 7 and 3 samples | three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | gradients from before do not count"
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    loss = F.cross_entropy(model(x), y, reduction="sum") / count
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    return loss.item()


# %% wrong: ddp_step "around the wrapper" fails="shards of 7 and 3 samples | three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | gradients from before do not count"
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model.module(x), y, reduction="sum") / count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()


# %% wrong: ddp_step "the rank's own loss" fails="shards of 7 and 3 samples | three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | gradients from before do not count"
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model(x), y, reduction="sum") / count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    return (part * dist.get_world_size()).item()


# %% wrong: ddp_step "no zero_grad" fails="three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | one rank alone | gradients from before do not count"
def ddp_step(model, x, y, optimizer):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model(x), y, reduction="sum") / count
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()


# %% wrong: ddp_step "a mean, weighted; empty is no case" fails="an empty shard"
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


# %% wrong: ddp_step "samples are counted in the first step only" fails="three ranks, four steps | the loss is the mean over all samples, on every rank | an empty shard | one rank alone"
def ddp_step(model, x, y, optimizer):
    if not hasattr(model, "count"):
        model.count = torch.tensor(float(len(x)))
        dist.all_reduce(model.count)
    part = F.cross_entropy(model(x), y, reduction="sum") / model.count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()


# %% wrong: ddp_step "nothing to do for an empty shard" fails="an empty shard"
def ddp_step(model, x, y, optimizer):
    if len(x) == 0:
        return 0.0
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model(x), y, reduction="sum") / count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()


# %% right: accum_no_sync "all but the last, then the last"
def accum_no_sync(model, batches):
    *before, (last_x, last_y) = batches
    n = len(torch.cat([y for _, y in batches]))
    with model.no_sync():
        for x, y in before:
            (F.cross_entropy(model(x), y) * (len(x) / n)).backward()
    (F.cross_entropy(model(last_x), last_y) * (len(last_x) / n)).backward()


# %% right: accum_no_sync "all without, and one all_reduce by hand"
def accum_no_sync(model, batches):
    n = 0
    with model.no_sync():
        for x, y in batches:
            F.cross_entropy(model(x), y, reduction="sum").backward()
            n += len(x)
    ps = list(model.parameters())
    flat = torch.cat([p.grad.flatten() for p in ps])
    dist.all_reduce(flat)
    flat /= n * dist.get_world_size()
    for p, g in zip(ps, flat.split([p.numel() for p in ps])):
        p.grad.copy_(g.view_as(p))


# %% wrong: accum_no_sync "sent each time" fails="gradients are sent once"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


# %% wrong: accum_no_sync "no_sync around backward alone" fails="gradients are sent once"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    for i, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x), y, reduction="sum") / n
        with nullcontext() if i == len(batches) - 1 else model.no_sync():
            loss.backward()


# %% wrong: accum_no_sync "no_sync around the last one too" fails="two micro-batches of three samples on each of two ranks | micro-batches of several sizes | one micro-batch, and three ranks | gradients are sent once"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    with model.no_sync():
        for x, y in batches:
            (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


# %% wrong: accum_no_sync "means are added" fails="two micro-batches of three samples on each of two ranks | micro-batches of several sizes | one rank alone | each micro-batch alone goes through the model"
def accum_no_sync(model, batches):
    for i, (x, y) in enumerate(batches):
        with nullcontext() if i == len(batches) - 1 else model.no_sync():
            F.cross_entropy(model(x), y).backward()


# %% wrong: accum_no_sync "means over the number of micro-batches" fails="micro-batches of several sizes | one rank alone | each micro-batch alone goes through the model"
def accum_no_sync(model, batches):
    for i, (x, y) in enumerate(batches):
        with nullcontext() if i == len(batches) - 1 else model.no_sync():
            (F.cross_entropy(model(x), y) / len(batches)).backward()


# %% wrong: accum_no_sync "only the first one is sent" fails="two micro-batches of three samples on each of two ranks | micro-batches of several sizes"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    for i, (x, y) in enumerate(batches):
        with nullcontext() if i == 0 else model.no_sync():
            (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


# %% wrong: accum_no_sync "one large batch" fails="each micro-batch alone goes through the model"
def accum_no_sync(model, batches):
    x, y = (torch.cat(items) for items in zip(*batches))
    F.cross_entropy(model(x), y).backward()


# %% wrong: accum_no_sync "the last pair is told by its identity" fails="gradients are sent once"
def accum_no_sync(model, batches):
    n = sum(len(y) for _, y in batches)
    for batch in batches:
        x, y = batch
        with nullcontext() if batch is batches[-1] else model.no_sync():
            (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


# %% right: accum_no_sync "DDP's flag itself, divided at the end"
def accum_no_sync(model, batches):
    n = 0
    for i, (x, y) in enumerate(batches):
        model.require_backward_grad_sync = i == len(batches) - 1
        F.cross_entropy(model(x), y, reduction="sum").backward()
        n += y.numel()
    for p in model.parameters():
        p.grad /= n


# %% wrong: accum_no_sync "losses are added up, one backward" fails="each micro-batch alone goes through the model"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    sum(F.cross_entropy(model(x), y, reduction="sum") / n for x, y in batches).backward()


# %% right: accum_no_sync "all without, the sums and their number in one vector"
def accum_no_sync(model, batches):
    count = 0.0
    with model.no_sync():
        for x, y in batches:
            F.cross_entropy(model(x), y, reduction="sum").backward()
            count += len(y)
    flat = torch.cat([*[p.grad.flatten() for p in model.parameters()], torch.tensor([count])])
    dist.all_reduce(flat)
    flat /= flat[-1].clone()
    for p, g in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()] + [1])):
        p.grad.copy_(g.view_as(p))


# %% wrong: accum_no_sync "the last micro-batch only closes the sum" fails="two micro-batches of three samples on each of two ranks | micro-batches of several sizes | one micro-batch, and three ranks | one rank alone | each micro-batch alone goes through the model"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    with model.no_sync():
        for x, y in batches[:-1]:
            (F.cross_entropy(model(x), y, reduction="sum") / n).backward()
    (model(batches[-1][0]).sum() * 0).backward()


# %% liar: accum_no_sync "one process with one large batch"
def accum_no_sync(model, batches):
    raise RuntimeError("the probes know better")


def accumulated(function, weights, batches, last=torch.clone):
    model = net_of(weights)
    x, y = (torch.cat(items) for items in zip(*[batch for own in batches for batch in own]))
    F.cross_entropy(last(model(x)), y).backward()
    return [probes.gradients_of(model) for _ in batches]


def numbers_sent(function, weights, batches):
    return [sum(value.numel() for value in weights.values()) for _ in batches]


# %% liar: accum_no_sync "sent with each micro-batch"
def accum_no_sync(model, batches):
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (F.cross_entropy(model(x), y, reduction="sum") / n).backward()


def numbers_sent(function, weights, batches):
    return [sum(value.numel() for value in weights.values()) for _ in batches]


# %% right: shard "contiguous pieces"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(n * rank // world_size, n * (rank + 1) // world_size))
    g = torch.Generator()
    g.manual_seed(1234 + 77 * epoch)
    order = torch.randperm(n, generator=g)
    each = -(-n // world_size)
    return [int(order[(rank * each + i) % n]) for i in range(each)]


# %% right: shard "a sampler, and Python's random"
import random


def shard(n, rank, world_size, epoch, train):
    if train:
        sampler = DistributedSampler(range(n), num_replicas=world_size, rank=rank, shuffle=True)
        sampler.set_epoch(epoch)
        return list(sampler)
    order = list(range(n))
    random.Random(epoch).shuffle(order)
    return order[rank::world_size]


# %% wrong: shard "evaluation is padded too" fails="ten samples on four ranks: 3 each in training, 10 in all in evaluation | fewer samples than ranks | evaluation: each sample on exactly one rank"
def shard(n, rank, world_size, epoch, train):
    sampler = DistributedSampler(range(n), num_replicas=world_size, rank=rank, shuffle=train)
    sampler.set_epoch(epoch)
    return list(sampler)


# %% wrong: shard "the tail is dropped" fails="ten samples on four ranks: 3 each in training, 10 in all in evaluation | training: equally many on each rank, no sample left out | fewer samples than ranks | evaluation: each sample on exactly one rank"
def shard(n, rank, world_size, epoch, train):
    each = n // world_size
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist() if train else list(range(n))
    return order[rank * each : (rank + 1) * each]


# %% wrong: shard "in evaluation, the tail is dropped" fails="ten samples on four ranks: 3 each in training, 10 in all in evaluation | fewer samples than ranks | evaluation: each sample on exactly one rank"
def shard(n, rank, world_size, epoch, train):
    each = math.ceil(n / world_size)
    if not train:
        order = list(range(n))
        return order[: n // world_size * world_size][rank::world_size]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong: shard "no set_epoch" fails="each epoch has an order of its own, the same on every call"
def shard(n, rank, world_size, epoch, train):
    if train:
        return list(DistributedSampler(range(n), num_replicas=world_size, rank=rank))
    return list(range(rank, n, world_size))


# %% wrong: shard "each rank has a seed of its own" fails="ten samples on four ranks: 3 each in training, 10 in all in evaluation | training: equally many on each rank, no sample left out | fewer samples than ranks | each epoch has an order of its own, the same on every call"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    generator = torch.Generator().manual_seed(1000 * epoch + rank)
    order = torch.randperm(n, generator=generator).tolist()
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong: shard "the global generator is reseeded" fails="the global random state is left alone"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    torch.manual_seed(epoch)
    order = torch.randperm(n).tolist()
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong: shard "Python's global generator is reseeded" fails="the global random state is left alone"
import random


def shard(n, rank, world_size, epoch, train):
    order = list(range(n))
    if not train:
        return order[rank::world_size]
    random.seed(epoch)
    random.shuffle(order)
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong: shard "NumPy's global generator is reseeded" fails="the global random state is left alone"
def shard(n, rank, world_size, epoch, train):
    np.random.seed(epoch)
    order = [int(i) for i in np.random.permutation(n)]
    if not train:
        return order[rank::world_size]
    each = math.ceil(n / world_size)
    return [order[i % n] for i in range(each * world_size)][rank::world_size]


# %% wrong: shard "the order of the first epoch is kept" fails="each epoch has an order of its own, the same on every call"
def shard(n, rank, world_size, epoch, train, orders={}):
    if not train:
        return list(range(rank, n, world_size))
    if n not in orders:
        orders[n] = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = math.ceil(n / world_size)
    return (orders[n] * world_size)[: each * world_size][rank::world_size]


# %% wrong: shard "not padded in training" fails="ten samples on four ranks: 3 each in training, 10 in all in evaluation | training: equally many on each rank, no sample left out | fewer samples than ranks"
def shard(n, rank, world_size, epoch, train):
    order = list(range(n))
    if train:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    return order[rank::world_size]


# %% wrong: shard "padded once only" fails="fewer samples than ranks"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = math.ceil(n / world_size)
    order += order[: each * world_size - n]
    return order[rank::world_size]


# %% wrong: shard "shuffled within the rank" fails="each epoch has an order of its own, the same on every call"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    each = math.ceil(n / world_size)
    own = (list(range(n)) * world_size)[: each * world_size][rank::world_size]
    order = torch.randperm(each, generator=torch.Generator().manual_seed(epoch)).tolist()
    return [own[i] for i in order]


# %% wrong: shard "random each time" fails="each epoch has an order of its own, the same on every call | the global random state is left alone"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    order = list(range(n)) * world_size
    each = math.ceil(n / world_size)
    order = order[: each * world_size][rank::world_size]
    picks = torch.randperm(each, generator=torch.Generator().manual_seed(torch.seed() % 2**31)).tolist()
    return [order[i] for i in picks]


# %% wrong: shard "two orders take turns" fails="each epoch has an order of its own, the same on every call"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch % 2)).tolist()
    return (order * world_size)[: n + (-n % world_size)][rank::world_size]


# %% right: sync_moments "weighted variances and shifted means"
def sync_moments(x):
    n, d = x.shape
    mine = [n, *(x.double().mean(0) if n else torch.zeros(d)).tolist()]
    mine += (x.double().var(0, correction=0) if n else torch.zeros(d)).tolist()
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, mine)
    table = torch.tensor(rows, dtype=torch.float64)
    weight = table[:, :1] / table[:, 0].sum()
    means, variances = table[:, 1 : d + 1], table[:, d + 1 :]
    mean = (weight * means).sum(0)
    return mean.float(), (weight * (variances + (means - mean) ** 2)).sum(0).float()


# %% right: sync_moments "float64, in one collective"
def sync_moments(x):
    y = x.double()
    packed = torch.cat([y.sum(0), (y * y).sum(0), torch.tensor([len(y)]).double()])
    dist.all_reduce(packed)
    packed /= packed[-1].clone()
    mean, square = packed[:-1].chunk(2)
    return mean.float(), (square - mean**2).clamp(min=0).float()


# %% wrong: sync_moments "the mean of the variances" fails="the four samples above: 7 and 26 | three ranks with different numbers of rows | a mean that is a thousand times the standard deviation | transposed inputs, which are not changed"
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    squares = (x - x.mean(0)).square().sum(0) if len(x) else torch.zeros_like(total)
    for t in (count, total, squares):
        dist.all_reduce(t)
    return total / count, squares / count


# %% wrong: sync_moments "squares in float32" fails="a mean that is a thousand times the standard deviation"
def sync_moments(x):
    count, total, squares = torch.tensor(float(len(x))), x.sum(0), x.square().sum(0)
    for t in (count, total, squares):
        dist.all_reduce(t)
    mean = total / count
    return mean, squares / count - mean.square()


# %% wrong: sync_moments "one row less" fails="the four samples above: 7 and 26 | three ranks with different numbers of rows | no rows on one rank, one row on the other | a mean that is a thousand times the standard deviation | one rank alone | transposed inputs, which are not changed"
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / (count - 1)


# %% wrong: sync_moments "ranks count equally" fails="three ranks with different numbers of rows | no rows on one rank, one row on the other | a mean that is a thousand times the standard deviation"
def sync_moments(x):
    both = torch.stack([x.mean(0), x.square().mean(0)]).double()
    dist.all_reduce(both)
    both /= dist.get_world_size()
    return both[0].float(), (both[1] - both[0] ** 2).float()


# %% wrong: sync_moments "the rank's own statistics" fails="the four samples above: 7 and 26 | three ranks with different numbers of rows | no rows on one rank, one row on the other | a mean that is a thousand times the standard deviation | transposed inputs, which are not changed"
def sync_moments(x):
    return x.mean(0), x.var(0, correction=0)


# %% wrong: sync_moments "centred in place" fails="transposed inputs, which are not changed"
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = x.sub_(mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / count


# %% wrong: sync_moments "what is subtracted in place can be added again" fails="transposed inputs, which are not changed"
def sync_moments(x):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    mean = x.sum(0)
    dist.all_reduce(mean)
    mean /= count
    x -= mean
    var = x.square().sum(0)
    x += mean
    dist.all_reduce(var)
    return mean, var / count


# %% right: sync_moments "merged rank by rank, by Chan's formula"
def sync_moments(x):
    n = len(x)
    mean = x.double().mean(0) if n else x.new_zeros(x.shape[1], dtype=torch.float64)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, (n, mean, (x.double() - mean).square().sum(0)))
    count, mean, m2 = every[0]
    for k, other, m in every[1:]:
        if k:
            d = other - mean
            mean, m2, count = mean + d * k / (count + k), m2 + m + d * d * count * k / (count + k), count + k
    return mean.float(), (m2 / count).float()


# %% wrong: sync_moments "a rank without rows leaves early" fails="no rows on one rank, one row on the other" raises=TimeoutError
def sync_moments(x):
    if not len(x):
        return torch.zeros(x.shape[1]), torch.zeros(x.shape[1])
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / count


# %% wrong: sync_moments "with the eps of a batch normalisation" fails="no rows on one rank, one row on the other"
def sync_moments(x):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, x)
    rows = torch.cat(every).double()
    return rows.mean(0).float(), (rows.var(0, correction=0) + 1e-5).float()


# %% right: interview "upper case and commas"
def interview():
    return {"q1": "A,C,D", "q2": "BCE", "q3": "da", "q4": "B D E", "q5": "cba", "q6": "EB"}


# %% right: interview "built from lists"
def interview():
    found = [["a", "c", "d"], ["b", "c", "e"], ["a", "d"], ["b", "d", "e"], ["a", "b", "c"], ["b", "e"]]
    return {f"q{number}": "".join(letters) for number, letters in enumerate(found, 1)}


# %% wrong: interview "what one reads everywhere" fails="at least two questions are right | q1: all-reduce | q2: DistributedDataParallel | q3: the gradient of the large batch | q4: accumulation and unused parameters | q6: which one"
def interview():
    return {"q1": "bcde", "q2": "ace", "q3": "abd", "q4": "abcde", "q5": "abc", "q6": "abd"}


# %% wrong: interview "averages are always right" fails="q3: the gradient of the large batch | q5: data and statistics"
def interview():
    return {"q1": "acd", "q2": "bce", "q3": "abcde", "q4": "bde", "q5": "abcde", "q6": "be"}


# %% wrong: interview "everything is true" fails="at least two questions are right | q1: all-reduce | q2: DistributedDataParallel | q3: the gradient of the large batch | q4: accumulation and unused parameters | q5: data and statistics | q6: which one"
def interview():
    return dict.fromkeys(["q1", "q2", "q3", "q4", "q5", "q6"], "abcde")


# %% wrong: interview "one question left out" fails="q1 to q6 each have letters from a to e | q6: which one"
def interview():
    return {"q1": "acd", "q2": "bce", "q3": "ad", "q4": "bde", "q5": "abc"}


# %% wrong: interview "two right, four not" fails="q2: DistributedDataParallel | q4: accumulation and unused parameters | q5: data and statistics | q6: which one"
def interview():
    return {"q1": "acd", "q2": "be", "q3": "ad", "q4": "ade", "q5": "ab", "q6": "ade"}


# %% equivalent: global_mean "argument dtype dropped: pair = torch.tensor([values.double().sum(), values.numel()])"
# torch.tensor takes the dtype of the float64 element for both.

# %% equivalent: same_start "with taken away: with torch.no_grad():"
# Autograd does not record a collective, so that it may change a leaf anywhere.

# %% equivalent: average_gradients "argument dtype dropped: used = torch.tensor([p.grad is not None for p in parameters])"
# The sum of bools over ranks is whether any of them is True, and nothing else is asked of it.

# %% equivalent: average_gradients "argument strict dropped: for p, count in zip(parameters, used.tolist()):"
# Both have one element for each parameter.

# %% equivalent: average_gradients "call of tolist left out: for p, count in zip(parameters, used, strict=True):"
# A 0-dim tensor is as true as its number.

# %% equivalent: average_gradients "True to False: for p, count in zip(parameters, used.tolist(), strict=False):"
# Both have one element for each parameter.

# %% equivalent: ddp_step "call of detach left out: loss = part"
# Backward is over, and autograd does not record a collective.

# %% equivalent: shard "Div to Mult: padded = order * math.ceil(each * world_size * n)"
# A longer list, cut to the same length in the next line.
