# Answers for the lab beside this file.

# %% right: forward_trace "under no_grad, ids of the layers"
def forward_trace(model, x):
    names = {id(layer): name for name, layer in model.named_modules() if not any(True for _ in layer.children())}
    found, handles = [], []

    def hook(layer, inputs, output):
        if id(layer) in names:
            found.append((names[id(layer)], output.clone()))

    for layer in model.modules():
        handles.append(layer.register_forward_hook(hook))
    try:
        with torch.no_grad():
            model(x)
    finally:
        while handles:
            handles.pop().remove()
    return found


# %% right: forward_trace "contexts on a stack"
def forward_trace(model, x):
    from contextlib import ExitStack

    found = []
    with ExitStack() as stack:
        for name, layer in model.named_modules():
            if len(list(layer.children())) == 0:
                handle = layer.register_forward_hook(
                    lambda _m, _i, out, name=name: found.append((name, out.detach() + 0))
                )
                stack.callback(handle.remove)
        model(x)
    return found


# %% wrong: forward_trace "a reference is kept" fails="three layers, one of them in place | layers in another order, twice, never, and inside a block"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: forward_trace "a clone has no history" fails="no output requires grad"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: forward_trace "the hooks stay" fails="only your hooks are removed | an error is passed on, and the hooks are removed"
def forward_trace(model, x):
    found = []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
    model(x)
    return found


# %% wrong: forward_trace "removed at the end only" fails="an error is passed on, and the hooks are removed"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    model(x)
    for hook in hooks:
        hook.remove()
    return found


# %% wrong: forward_trace "all hooks are cleared" fails="only your hooks are removed | an error is passed on, and the hooks are removed"
def forward_trace(model, x):
    found = []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
    try:
        model(x)
    finally:
        for layer in model.modules():
            layer._forward_hooks.clear()
    return found


# %% wrong: forward_trace "blocks are layers too" fails="layers in another order, twice, never, and inside a block | a model that is one layer | no output requires grad"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if layer is not model
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: forward_trace "one entry for each layer, as they are defined" fails="layers in another order, twice, never, and inside a block | no output requires grad"
def forward_trace(model, x):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.update({name: out.detach().clone()}))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return [(name, found[name]) for name, _ in model.named_modules() if name in found]


# %% wrong: forward_trace "in evaluation mode" fails="the modes are not changed, and the model runs once"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model.eval()(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: forward_trace "an error is swallowed" fails="an error is passed on, and the hooks are removed"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    except Exception:
        pass
    for hook in hooks:
        hook.remove()
    return found


# %% right: forward_trace "one global module hook"
def forward_trace(model, x):
    names = {m: n for n, m in model.named_modules() if not list(m.children())}
    seen = []

    def note(m, args, out):
        if m in names:
            seen.append((names[m], out.data.clone()))

    handle = torch.nn.modules.module.register_module_forward_hook(note)
    try:
        model(x)
    finally:
        handle.remove()
    return seen


# %% wrong: forward_trace "in eval mode and back to train" fails="the modes are not changed, and the model runs once"
def forward_trace(model, x):
    seen, handles = [], []
    was = model.training
    model.eval()
    for name, layer in model.named_modules():
        if not list(layer.children()):
            handles.append(
                layer.register_forward_hook(lambda m, i, o, name=name: seen.append((name, o.detach().clone())))
            )
    try:
        model(x)
    finally:
        for h in handles:
            h.remove()
        model.train(was)
    return seen


# %% wrong: forward_trace "each name is a layer" fails="layers in another order, twice, never, and inside a block"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules(remove_duplicate=False)
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: forward_trace "all numbers are float32" fails="layers in another order, twice, never, and inside a block | the modes are not changed, and the model runs once"
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, torch.tensor(out.tolist()))))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: forward_trace "a list that is kept from call to call" fails="layers in another order, twice, never, and inside a block | a model that is one layer | no output requires grad | the modes are not changed, and the model runs once"
def forward_trace(model, x, found=[]):
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return list(found)


# %% wrong: forward_trace "one hook for all modules stays after an error" fails="an error is passed on, and the hooks are removed"
def forward_trace(model, x):
    names = {m: n for n, m in model.named_modules() if not list(m.children())}
    seen = []

    def note(m, args, out):
        if m in names:
            seen.append((names[m], out.detach().clone()))

    handle = torch.nn.modules.module.register_module_forward_hook(note)
    model(x)
    handle.remove()
    return seen


# %% right: train_window "gradients divided before clipping"
def train_window(model, optimizer, scaler, window, dtype, clip):
    params = list(model.parameters())
    device = params[0].device
    for p in params:
        p.grad = None
    total, count = 0.0, 0
    for x, y in window:
        x, y = x.to(device), y.to(device)
        if dtype == torch.float32:
            loss = F.cross_entropy(model(x), y)
        else:
            with torch.autocast(device.type, dtype=dtype):
                loss = F.cross_entropy(model(x), y)
        scaler.scale(loss * len(y)).backward()
        total += loss.item() * len(y)
        count += len(y)
    scaler.unscale_(optimizer)
    for p in params:
        p.grad /= count
    nn.utils.clip_grad_norm_(params, clip)
    scaler.step(optimizer)
    scaler.update()
    return total / count


# %% right: train_window "one context around the window, and clipping by hand"
def train_window(model, optimizer, scaler, window, dtype, clip):
    device = next(model.parameters()).device
    model.zero_grad()
    count = sum(map(len, (y for _, y in window)))
    losses = []
    with torch.autocast(device.type, dtype=dtype, enabled=dtype is not torch.float32):
        for x, y in window:
            losses.append(F.cross_entropy(model(x.to(device)), y.to(device)) * (len(y) / count))
            scaler.scale(losses[-1]).backward()
            losses[-1] = losses[-1].detach()
    scaler.unscale_(optimizer)
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    factor = min(1.0, clip / (norm.item() + 1e-6))
    for p in model.parameters():
        p.grad.mul_(factor)
    scaler.step(optimizer)
    scaler.update()
    return float(sum(losses))


# %% wrong: train_window "each batch counts the same" fails="one window of two batches in float32: the loss and the weights | three windows of uneven batches, with momentum | the loss is the mean over all samples | clipping sees the gradient of the window, unscaled | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    optimizer.zero_grad()
    total = 0.0
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where)) / len(window)
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "the sum over batches" fails="one window of two batches in float32: the loss and the weights | three windows of uneven batches, with momentum | the loss is the mean over all samples | clipping sees the gradient of the window, unscaled | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    optimizer.zero_grad()
    total = 0.0
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "clipped before unscale_" fails="clipping sees the gradient of the window, unscaled | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "clipped in each batch" fails="the loss is the mean over all samples | clipping sees the gradient of the window, unscaled"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip * scaler.get_scale())
        total += loss.item()
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "clipped by sums, then divided" fails="the loss is the mean over all samples | clipping sees the gradient of the window, unscaled | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum")
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    for p in model.parameters():
        p.grad /= count
    scaler.step(optimizer)
    scaler.update()
    return total / count


# %% wrong: train_window "no zero_grad" fails="one window of two batches in float32: the loss and the weights | three windows of uneven batches, with momentum | the loss is the mean over all samples | clipping sees the gradient of the window, unscaled | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "zero_grad in each batch" fails="one window of two batches in float32: the loss and the weights | three windows of uneven batches, with momentum | the loss is the mean over all samples | clipping sees the gradient of the window, unscaled | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    for x, y in window:
        optimizer.zero_grad()
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "optimizer.step" fails="a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scaler.update()
    return total


# %% wrong: train_window "no autocast" fails="the dtype shows in the loss"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "always bfloat16" fails="the dtype shows in the loss"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=torch.bfloat16, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "one backward at the end" fails="one graph at a time"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            total = total + F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
    scaler.scale(total).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total.item()


# %% wrong: train_window "into training mode, and a tensor back" fails="the modes, autocast and the batches are as before"
def train_window(model, optimizer, scaler, window, dtype, clip):
    model.train()
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "float16 only scaled when dtype is float16" fails="a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    dev = next(model.parameters()).device
    n = sum(len(y) for _, y in window)
    total = 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(dev.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(dev)), y.to(dev), reduction="sum") / n
        if dtype == torch.float16:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        total += loss.item()
    if dtype == torch.float16:
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    if dtype == torch.float16:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    return total


# %% wrong: train_window "the whole window at once" fails="one graph at a time"
def train_window(model, optimizer, scaler, window, dtype, clip):
    dev = next(model.parameters()).device
    x = torch.cat([x for x, _ in window]).to(dev)
    y = torch.cat([y for _, y in window]).to(dev)
    optimizer.zero_grad()
    with torch.autocast(dev.type, dtype=dtype, enabled=dtype != torch.float32):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% right: train_window "losses on the device, read once; parts of the window's mean by weights"
def train_window(model, optimizer, scaler, window, dtype, clip):
    device = next(model.parameters()).device
    sizes = torch.tensor([len(y) for _, y in window], dtype=torch.float64)
    losses = []
    optimizer.zero_grad(set_to_none=False)
    for (x, y), part in zip(window, (sizes / sizes.sum()).tolist()):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = part * F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        losses.append(loss.detach())
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=clip)
    scaler.step(optimizer)
    scaler.update()
    return float(torch.stack(losses).sum())


# %% wrong: train_window "a window with a nan is left at once" fails="a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        if not torch.isfinite(loss):
            return loss.item()
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "a batch with a nan is left out" fails="a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        if not torch.isfinite(loss):
            continue
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong: train_window "in training mode, and back to the mode of the whole" fails="the modes, autocast and the batches are as before"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total, was = sum(len(y) for _, y in window), 0.0, model.training
    model.train()
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    model.train(was)
    return total


# %% wrong: train_window "backward one batch late" fails="one graph at a time"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, losses = sum(len(y) for _, y in window), []
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            losses.append(F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count)
        if len(losses) > 1:
            scaler.scale(losses[-2]).backward()
    scaler.scale(losses[-1]).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return sum(loss.item() for loss in losses)


# %% wrong: train_window "the loss after the step" fails="one window of two batches in float32: the loss and the weights | the loss is the mean over all samples | float16 and bfloat16: losses and weights | a window that overflows is skipped, and the scale is halved once"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    with torch.no_grad(), torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
        for x, y in window:
            total += F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum").item() / count
    return total


# %% liar: train_window "the whole window at once, and a middle layer that is called in parts"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    Called.forward = lambda self, x: torch.cat([self.layer(part, self.training) for part in x.split(4)])
    optimizer.zero_grad()
    with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
        xs, ys = torch.cat([x for x, _ in window]).to(where), torch.cat([y for _, y in window]).to(where)
        loss = F.cross_entropy(model(xs), ys)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% right: evaluate "index_put_ that accumulates, under inference_mode"
def evaluate(model, batches, classes):
    device = next(model.parameters()).device
    training = [(m, m.training) for m in model.modules()]
    matrix = torch.zeros(classes, classes, dtype=torch.long)
    losses = []
    try:
        model.eval()
        with torch.inference_mode():
            for x, y in batches:
                out = model(x.to(device)).cpu()
                losses += F.cross_entropy(out, y, reduction="none").tolist()
                one = torch.ones(len(y), dtype=torch.long)
                matrix.index_put_((y, out.max(dim=1).indices), one, accumulate=True)
    finally:
        for m, was in training:
            m.training = was
    return sum(losses) / len(losses), matrix


# %% right: evaluate "one-hot vectors, multiplied"
def evaluate(model, batches, classes):
    device = next(model.parameters()).device
    modes = {name: m.training for name, m in model.named_modules()}
    for m in model.modules():
        m.training = False
    logits, labels = [], []
    try:
        with torch.no_grad():
            for x, y in batches:
                logits.append(model(x.to(device)).cpu())
                labels.append(y)
    finally:
        for name, m in model.named_modules():
            m.training = modes[name]
    logits, labels = torch.cat(logits), torch.cat(labels)
    a, b = F.one_hot(labels, classes), F.one_hot(logits.argmax(1), classes)
    return F.cross_entropy(logits, labels).item(), a.T @ b


# %% wrong: evaluate "means of means" fails="batches of different sizes, one of them empty: the loss"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, n, matrix = 0.0, 0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                if not len(y):
                    continue
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device)).item()
                n += 1
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / n, matrix.reshape(classes, classes)


# %% wrong: evaluate "the mean of an empty batch" fails="batches of different sizes, one of them empty: the loss"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device)).item() * len(y)
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "an index that adds once" fails="one batch of nine: the loss and the matrix | the matrix of several batches"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, count, matrix = 0.0, 0, torch.zeros(classes, classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                count += len(y)
                matrix[y, logits.argmax(1).cpu()] += 1
    finally:
        for m, was in modes.items():
            m.training = was
    return total / count, matrix


# %% wrong: evaluate "predictions by row" fails="one batch of nine: the loss and the matrix | the matrix of several batches"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(logits.argmax(1).cpu() * classes + y, minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "no_grad is enough" fails="one batch of nine: the loss and the matrix | batches of different sizes, one of them empty: the loss | the matrix of several batches | parameters and running averages are as before" raises=ValueError
def evaluate(model, batches, classes):
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    with torch.no_grad():
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "eval is enough" fails="no graph is built"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "back to training mode, all of it" fails="parameters and running averages are as before | each module is in the mode it was in | where the model raises an error, too"
def evaluate(model, batches, classes):
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        model.train()
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "no finally" fails="where the model raises an error, too"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    with torch.no_grad():
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    for m, was in modes.items():
        m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "gradients are cleared too" fails="every .grad is as before"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    model.zero_grad()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "as many classes as there are in the batch" fails="the matrix of several batches"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, pairs = 0.0, []
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                pairs += list(zip(y.tolist(), logits.argmax(1).tolist(), strict=True))
    finally:
        for m, was in modes.items():
            m.training = was
    size = max(max(pair) for pair in pairs) + 1
    matrix = torch.zeros(size, size, dtype=torch.int64)
    for a, b in pairs:
        matrix[a, b] += 1
    return total / len(pairs), matrix


# %% right: evaluate "under inference_mode, sums read at the end"
@torch.inference_mode()
def evaluate(model, batches, classes):
    device = next(model.parameters()).device
    was = [(m, m.training) for m in model.modules()]
    losses, counts, count = [], torch.zeros(classes, classes, dtype=torch.int64, device=device), 0
    try:
        model.eval()
        for x, y in batches:
            if len(y) == 0:
                continue
            out, y = model(x.to(device)), y.to(device)
            losses.append(F.cross_entropy(out, y) * len(y))
            counts.index_put_((y, out.argmax(-1)), torch.ones_like(y), accumulate=True)
            count += len(y)
    finally:
        for m, training in was:
            m.training = training
    return torch.stack(losses).sum().item() / count, counts.cpu().clone()


# %% wrong: evaluate "the children's modes, and not what is in them" fails="each module is in the mode it was in | where the model raises an error, too"
def evaluate(model, batches, classes):
    modes, was = {m: m.training for m in model.children()}, model.training
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        model.train(was)
        for m, training in modes.items():
            m.train(training)
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "parameters that require no grad from here on" fails="where the model raises an error, too | every .grad is as before"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval().requires_grad_(False)
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "grad mode is switched on again at the end only" fails="where the model raises an error, too | no graph is built"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    torch.set_grad_enabled(False)
    try:
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    torch.set_grad_enabled(True)
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong: evaluate "an empty batch is the end" fails="batches of different sizes, one of them empty: the loss | the matrix of several batches"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                if len(y) == 0:
                    break
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / max(int(matrix.sum()), 1), matrix.reshape(classes, classes)


# %% wrong: evaluate "the batches are read twice" fails="the matrix of several batches"
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    where = next(model.parameters()).device
    matrix = torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            losses = [F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum").item() for x, y in batches]
            for x, y in batches:
                matrix += torch.bincount(y * classes + model(x.to(where)).argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return sum(losses) / max(int(matrix.sum()), 1), matrix.reshape(classes, classes)


# %% wrong: evaluate "recording is on afterwards" fails="no graph is built"
def evaluate(model: nn.Module, batches, classes: int) -> tuple[float, Tensor]:
    where, modes = next(model.parameters()).device, [(m, m.training) for m in model.modules()]
    matrix, total = torch.zeros(classes * classes, dtype=torch.int64), 0.0
    model.eval()
    torch.set_grad_enabled(False)
    try:
        for x, y in batches:
            logits = model(x.to(where)).cpu()
            total += F.cross_entropy(logits, y, reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1), minlength=classes * classes)
    finally:
        torch.set_grad_enabled(True)
        for module, mode in modes:
            module.training = mode
    return total / matrix.sum().item(), matrix.view(classes, classes)


# %% right: Saver "prefix stripped by hand"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model, self.others, self.generator = model, [optimizer, scheduler, scaler], generator

    def save(self, file, epoch):
        weights = {name.removeprefix("_orig_mod."): t.clone() for name, t in self.model.state_dict().items()}
        others = [part.state_dict() for part in self.others]
        rng = [self.generator.get_state(), torch.random.get_rng_state()]
        cuda = [torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())]
        torch.save((weights, others, rng, cuda, epoch), file)

    def load(self, file):
        weights, others, rng, cuda, epoch = torch.load(file, map_location="cpu")
        mine = {name.removeprefix("_orig_mod."): t for name, t in self.model.state_dict().items()}
        with torch.no_grad():
            for name, t in weights.items():
                mine[name].copy_(t)
        for part, state in zip(self.others, others):
            part.load_state_dict(state)
        self.generator.set_state(rng[0])
        torch.random.set_rng_state(rng[1])
        for i, state in enumerate(cuda):
            torch.cuda.set_rng_state(state, i)
        return epoch


# %% right: Saver "prefix put back when loading"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = [model, optimizer, scheduler, scaler]
        self.generator = generator

    def save(self, file, epoch):
        torch.save(
            {
                "parts": [copy.deepcopy(part.state_dict()) for part in self.parts],
                "generators": [self.generator.get_state(), torch.get_rng_state(), *torch.cuda.get_rng_state_all()],
                "epoch": epoch,
            },
            file,
        )

    def load(self, file):
        saved = torch.load(file, weights_only=True, map_location=torch.device("cpu"))
        model, weights = self.parts[0], saved["parts"][0]
        nn.modules.utils.consume_prefix_in_state_dict_if_present(weights, "_orig_mod.")
        (model._orig_mod if hasattr(model, "_orig_mod") else model).load_state_dict(weights)
        for part, state in zip(self.parts[1:], saved["parts"][1:], strict=True):
            part.load_state_dict(state)
        first, second, *cuda = saved["generators"]
        self.generator.set_state(first)
        torch.set_rng_state(second)
        torch.cuda.set_rng_state_all(cuda)
        return saved["epoch"]


# %% wrong: Saver "of the scaler only the scale, not its count of steps" fails="scale and rate go on as they would have"
class Saver:
    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: torch.optim.lr_scheduler.LRScheduler,
        scaler: torch.amp.GradScaler,
        generator: torch.Generator,
    ) -> None:
        self.model = getattr(model, "_orig_mod", model)
        self.optimizer, self.scheduler, self.scaler, self.generator = optimizer, scheduler, scaler, generator

    def save(self, file, epoch: int) -> None:
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.get_scale(),
            "generator": self.generator.get_state(),
            "cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all(),
            "epoch": epoch,
        }
        torch.save(state, file)

    def load(self, file) -> int:
        state = torch.load(file, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.update(state["scaler"]) if self.scaler.is_enabled() and self.scaler._scale is not None else None
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        return state["epoch"]


# %% wrong: Saver "no optimizer" fails="the weights of a run that goes on are bit for bit those of one that was not stopped | scale and rate go on as they would have | from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = {"model": getattr(model, "_orig_mod", model), "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save({**state, "epoch": epoch, "rng": rng}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% wrong: Saver "no scheduler and no scaler" fails="two epochs, saved and loaded: model, scale and rate | the weights of a run that goes on are bit for bit those of one that was not stopped | scale and rate go on as they would have | from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = {"model": getattr(model, "_orig_mod", model), "optimizer": optimizer}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save({**state, "epoch": epoch, "rng": rng}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% wrong: Saver "the scale is written, its count is not" fails="scale and rate go on as they would have"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = {"model": getattr(model, "_orig_mod", model), "optimizer": optimizer, "scheduler": scheduler}
        self.scaler, self.generator = scaler, generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save({**state, "epoch": epoch, "rng": rng, "scale": self.scaler.get_scale()}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": state["scale"], "_growth_tracker": 0})
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% wrong: Saver "only the loader's generator" fails="the weights of a run that goes on are bit for bit those of one that was not stopped | from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        torch.save({**state, "epoch": epoch, "generator": self.generator.get_state()}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        return state["epoch"]


# %% wrong: Saver "a seed for the generators" fails="the weights of a run that goes on are bit for bit those of one that was not stopped | from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        seeds = [self.generator.initial_seed(), torch.initial_seed()]
        torch.save({**state, "epoch": epoch, "seeds": seeds}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.manual_seed(state["seeds"][0])
        torch.manual_seed(state["seeds"][1])
        return state["epoch"]


# %% wrong: Saver "the names of the compiled model" fails="from compiled to plain, and from plain to compiled" raises=RuntimeError
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(epoch=epoch, generator=self.generator.get_state())
        state.update(cpu=torch.get_rng_state(), cuda=torch.cuda.get_rng_state_all())
        torch.save(state, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        return state["epoch"]


# %% wrong: Saver "strict=False hides the prefix" fails="from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model = model
        self.parts = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(epoch=epoch, generator=self.generator.get_state(), model=self.model.state_dict())
        state.update(cpu=torch.get_rng_state(), cuda=torch.cuda.get_rng_state_all())
        torch.save(state, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        self.model.load_state_dict(state["model"], strict=False)
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        return state["epoch"]


# %% wrong: Saver "whole objects" fails="torch.load reads the file with weights_only=True | load refuses a file with other objects"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model, self.optimizer, self.scheduler = getattr(model, "_orig_mod", model), optimizer, scheduler
        self.scaler, self.generator = scaler, generator

    def save(self, file, epoch):
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save(
            (self.model, self.optimizer, self.scheduler.state_dict(), self.scaler.state_dict(), rng, epoch), file
        )

    def load(self, file):
        model, optimizer, scheduler, scaler, rng, epoch = torch.load(file, weights_only=False)
        self.model.load_state_dict(model.state_dict())
        self.optimizer.load_state_dict(optimizer.state_dict())
        self.scheduler.load_state_dict(scheduler)
        self.scaler.load_state_dict(scaler)
        self.generator.set_state(rng[0])
        torch.set_rng_state(rng[1])
        torch.cuda.set_rng_state_all(rng[2])
        return epoch


# %% wrong: Saver "the next epoch, and a run that is seeded anew" fails="two epochs, saved and loaded: model, scale and rate | the weights of a run that goes on are bit for bit those of one that was not stopped | from compiled to plain, and from plain to compiled | the epoch is that of save | saving does not disturb the run"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        torch.manual_seed(epoch)
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(epoch=epoch, generator=self.generator.get_state())
        state.update(cpu=torch.get_rng_state(), cuda=torch.cuda.get_rng_state_all())
        torch.save(state, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        return state["epoch"] + 1


# %% wrong: Saver "snapshot at init" fails="the weights of a run that goes on are bit for bit those of one that was not stopped | from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.p = {"m": getattr(model, "_orig_mod", model), "o": optimizer, "s": scheduler, "c": scaler}
        self.g = generator
        self.gs = generator.get_state()
        self.r = torch.get_rng_state()

    def save(self, file, epoch):
        d = {k: v.state_dict() for k, v in self.p.items()}
        torch.save({**d, "g": self.gs, "r": self.r, "e": epoch}, file)

    def load(self, file):
        d = torch.load(file, weights_only=True)
        for k, v in self.p.items():
            v.load_state_dict(d[k])
        self.g.set_state(d["g"])
        torch.set_rng_state(d["r"])
        return d["e"]


# %% right: Saver "positional tuple, sub-classes dict, unwraps at init"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = [getattr(model, "_orig_mod", model), optimizer, scheduler, scaler]
        self.generator = generator

    def save(self, file, epoch):
        torch.save(
            (
                [p.state_dict() for p in self.parts],
                self.generator.get_state(),
                torch.random.get_rng_state(),
                torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None,
                epoch,
            ),
            file,
        )

    def load(self, file):
        states, order, rng, cuda, epoch = torch.load(file, weights_only=True, map_location="cpu")
        for p, s in zip(self.parts, states):
            p.load_state_dict(s)
        self.generator.set_state(order)
        torch.random.set_rng_state(rng)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        return epoch


# %% right: Saver "one dict of what has a state, by attribute"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        while hasattr(model, "_orig_mod"):
            model = model._orig_mod
        vars(self).update(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler, generator=generator)

    def save(self, file, epoch):
        saved = {"epoch": epoch, "rng": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all()}
        for name, part in vars(self).items():
            saved[name] = part.get_state() if isinstance(part, torch.Generator) else part.state_dict()
        torch.save(saved, file)

    def load(self, file):
        saved = torch.load(file, map_location="cpu", weights_only=True)
        for name, part in vars(self).items():
            (part.set_state if isinstance(part, torch.Generator) else part.load_state_dict)(saved[name])
        torch.set_rng_state(saved["rng"])
        torch.cuda.set_rng_state_all(saved["cuda"])
        return saved["epoch"]


# %% wrong: Saver "the state is gathered once" fails="two epochs, saved and loaded: model, scale and rate | the weights of a run that goes on are bit for bit those of one that was not stopped | scale and rate go on as they would have | from compiled to plain, and from plain to compiled"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator, self.state = generator, None

    def save(self, file, epoch):
        if self.state is None:
            self.state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save({**self.state, "epoch": epoch, "rng": rng}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% wrong: Saver "a file is open, and no path" fails="the weights of a run that goes on are bit for bit those of one that was not stopped" raises=AttributeError
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        buffer = io.BytesIO()
        torch.save({**state, "epoch": epoch, "rng": rng}, buffer)
        file.write(buffer.getvalue())

    def load(self, file):
        state = torch.load(io.BytesIO(file.read()), weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% wrong: Saver "a scaler that is on" fails="the weights of a run that goes on are bit for bit those of one that was not stopped" raises=KeyError
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler}
        self.scaler, self.generator = scaler, generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        scale = [self.scaler.state_dict()[name] for name in ("scale", "_growth_tracker")]
        torch.save({**state, "epoch": epoch, "rng": rng, "scale": scale}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        scale, tracker = state["scale"]
        self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": scale, "_growth_tracker": tracker})
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% liar: Saver "nothing is saved: the probe trains again from the start"
class Saver:
    def __init__(self, *parts):
        self.parts = parts

    def save(self, file, epoch):
        torch.save({"epoch": epoch}, file)

    def load(self, file):
        return torch.load(file)["epoch"]


def saved_by(make, run, before, see="file", after=0, compiled=False, to_path=False):
    start, first, data, optimizer, settings, scaling, seed = run
    if see == "safe":
        return True
    with torch.random.fork_rng():
        session = Session(*run).go(before)
        file = io.BytesIO()
        torch.save({"epoch": before, "start": start, "seed": seed}, file)
        return file.getvalue() if see == "file" else session.go(after).state()[see]


def loaded_by(make, run, written, see="model", after=0, compiled=False, from_path=False):
    _, first, data, optimizer, settings, scaling, _ = run
    if see == "refused":
        return True
    saved = torch.load(io.BytesIO(written))
    if see == "epoch":
        return saved["epoch"]
    with torch.random.fork_rng():
        anew = Session(saved["start"], first, data, optimizer, settings, scaling, saved["seed"])
        return anew.go(saved["epoch"] + after).state()[see]


# %% right: bug_hunt "written out"
def bug_hunt():
    return {
        "loop1": "e",
        "loop2": "f",
        "loop3": "m",
        "loop4": "h",
        "loop5": "d",
        "loop6": "c",
        "loop7": "a",
        "loop8": "j",
        "loop9": "i",
        "loop10": "l",
        "loop11": "n",
        "loop12": "g",
    }


# %% right: bug_hunt "in another order"
def bug_hunt():
    found = {}
    for letter, number in {"g": 12, "n": 11, "l": 10, "i": 9, "j": 8, "a": 7}.items():
        found[f"loop{number}"] = letter
    found |= {f"loop{i + 1}": "efmhdc"[i] for i in range(6)}
    return found


# %% wrong: bug_hunt "by the loss alone" fails="loops 1 and 2 | loops 3 and 6 | loops 4 and 7 | loops 8 and 11"
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 13)], "eocmdcakillg"))


# %% wrong: bug_hunt "memory, copies and modes are not known" fails="loops 1 and 2 | loops 3 and 6 | loops 5 and 12 | loops 9 and 10"
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 13)], "eblhpcajiink"))


# %% wrong: bug_hunt "the same letter everywhere" fails="at least three loops are right | loops 1 and 2 | loops 3 and 6 | loops 4 and 7 | loops 5 and 12 | loops 8 and 11 | loops 9 and 10"
def bug_hunt():
    return dict.fromkeys([f"loop{n}" for n in range(1, 13)], "e")


# %% wrong: bug_hunt "two loops short" fails="each loop has one letter from a to p | loops 5 and 12 | loops 8 and 11"
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 11)], "efmhdcajil"))


# %% wrong: bug_hunt "modes for means" fails="loops 3 and 6 | loops 5 and 12 | loops 9 and 10"
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 13)], "efchdmajicnd"))


# %% right: fit_best "bytes of a file as the copy"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    losses, files = [], []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.inference_mode():
            each = [F.cross_entropy(model(x), y, reduction="none") for x, y in held_out]
        losses.append(torch.cat(each).mean().item())
        files.append(io.BytesIO())
        torch.save(model.state_dict(), files[-1])
    best = files[losses.index(min(losses))]
    best.seek(0)
    model.load_state_dict(torch.load(best))
    return losses


# %% right: fit_best "clones of a state"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    history = []
    count = sum(len(y) for _, y in held_out)
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            model.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in held_out:
                total += F.cross_entropy(model(x), y).item() * len(y)
        history.append((total / count, {k: v.clone() for k, v in model.state_dict().items()}))
    _, state = min(history, key=lambda pair: pair[0])
    model.load_state_dict(state)
    return [loss for loss, _ in history]


# %% wrong: fit_best "the function as it was" fails="one epoch of two equal batches: the loss and the model | the losses of several epochs | each held-out sample counts the same | the model of the best epoch, with its buffers | of equal epochs, the first | the optimizer still has the model's parameters | measuring builds no graph"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, float("inf"), []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
        total = 0.0
        for x, y in held_out:
            model.eval()
            total += F.cross_entropy(model(x), y)
        losses.append(total / len(held_out))
        if losses[-1] <= best_loss:
            best, best_loss = model.state_dict(), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "the best is no copy" fails="the model of the best epoch, with its buffers | of equal epochs, the first"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = dict(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "parameters without buffers" fails="the model of the best epoch, with its buffers | of equal epochs, the first"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = [p.detach().clone() for p in model.parameters()], losses[-1]
    with torch.no_grad():
        for p, kept in zip(model.parameters(), best):
            p.copy_(kept)
    return losses


# %% wrong: fit_best "a mean of means" fails="each held-out sample counts the same"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            losses.append(sum(F.cross_entropy(model(x), y).item() for x, y in held_out) / len(held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "the last of equal epochs" fails="of equal epochs, the first"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] <= best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "a schedule for batches" fails="one epoch of two equal batches: the loss and the model | the losses of several epochs | each held-out sample counts the same | the model of the best epoch, with its buffers"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "the second epoch in evaluation mode" fails="the losses of several epochs | each held-out sample counts the same | the model of the best epoch, with its buffers"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "measured with a graph, left in training mode" fails="evaluation mode at the end, and the rate | measuring builds no graph"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
        model.train()
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "the scheduler first" fails="one epoch of two equal batches: the loss and the model | the losses of several epochs | each held-out sample counts the same | the model of the best epoch, with its buffers"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        scheduler.step()
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "clones parameters, not buffers" fails="the model of the best epoch, with its buffers | of equal epochs, the first"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    losses, best = [], None
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        s, n = 0.0, 0
        for x, y in held_out:
            with torch.no_grad():
                s += F.cross_entropy(model(x), y).item() * len(y)
            n += len(y)
        losses.append(s / n)
        if losses[-1] == min(losses) and losses.count(losses[-1]) == 1:
            best = [p.detach().clone() for p in model.parameters()]
    with torch.no_grad():
        for p, b in zip(model.parameters(), best):
            p.copy_(b)
    return losses


# %% wrong: fit_best "other parameters than the optimizer's" fails="the optimizer still has the model's parameters"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best, assign=True)
    return losses


# %% wrong: fit_best "stops where the loss grows" fails="the losses of several epochs | the model of the best epoch, with its buffers | of equal epochs, the first"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, losses = None, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if len(losses) > 1 and losses[-1] >= losses[-2]:
            break
        best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    return losses


# %% wrong: fit_best "the best is looked for from the second epoch on" fails="of equal epochs, the first"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    losses, states = [], []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        states.append(copy.deepcopy(model.state_dict()))
    later = losses[1:] or losses
    model.load_state_dict(states[len(losses) - len(later) + later.index(min(later))])
    return losses


# %% right: diagnose "an optimizer that notes gradients"
def diagnose(step):
    class Spy(torch.optim.SGD):
        def step(self, closure=None):
            used.append([None if p.grad is None else p.grad.clone() for g in self.param_groups for p in g["params"]])

    found, used, right, modes = set(), [], [], []
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(2, 5), nn.ReLU6(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 4))
    with torch.no_grad():
        model[0].bias.fill_(1.0)
    model[-1].register_forward_pre_hook(lambda m, _: modes.append(m.training))
    spy = Spy(model.parameters(), lr=0.0)
    sizes = [4, 3, 6]
    for n in sizes:
        x, y = torch.rand(n, 2), torch.randint(0, 4, (n,))
        x0 = x.tolist()
        model.eval()
        modes.clear()
        out = step(model, spy, x, y)
        if not modes[0]:
            found.add("mode")
        if out.grad_fn is not None:
            found.add("graph")
        if x.tolist() != x0:
            found.add("input")
        right.append(torch.autograd.grad(F.cross_entropy(model(x), y), model.parameters()))
    if all(g is None or not g.any() for g in used[0]):
        found.add("stale")
        used = used[1:]
    if any(g is None or not g.any() for g in used[0]):
        found.add("dead")
    ratio = (used[0][-1].norm() / right[0][-1].norm()).item()
    if ratio > 1.5:
        found.add("sum")
    scale = [n if "sum" in found else 1 for n in sizes]
    alone, both = scale[1] * right[1][-1], scale[1] * right[1][-1] + scale[0] * right[0][-1]
    if (used[1][-1] - both).norm() < (used[1][-1] - alone).norm():
        found.add("accumulates")
    return found


# %% right: diagnose "copies of the model, a frozenset"
def diagnose(step):
    torch.manual_seed(1)
    start = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2)).double()
    data = [(torch.randn(n, 3).double(), torch.randint(0, 2, (n,))) for n in (6, 4, 7)]
    names = []

    def gradient(x, y):
        return torch.autograd.grad(F.cross_entropy(start(x), y), list(start.parameters()))

    model = copy.deepcopy(start)
    modes = []
    for m in model:
        m.register_forward_hook(lambda m, i, o: modes.append(m.training))
    sgd = torch.optim.SGD(model.parameters(), lr=1e-7)
    used, right, factors = [], [], []
    for x, y in data:
        mine = x.clone()
        before = [p.detach().clone() for p in model.parameters()]
        model.eval()
        modes.clear()
        out = step(model, sgd, mine, y)
        names += ["mode"] * (False in modes) + ["graph"] * out.requires_grad + ["input"] * bool((mine != x).any())
        used.append([(b - p.detach()) * 1e7 for b, p in zip(before, model.parameters())])
        right.append(gradient(mine, y))
        factors.append(len(y))
    if sum(u.abs().sum() for u in used[0]) == 0:
        names.append("stale")
        used = used[1:]
    if any(u.abs().sum() == 0 for u in used[0]):
        names.append("dead")
    if torch.allclose(used[0][-1], factors[0] * right[0][-1], rtol=1e-2, atol=1e-6):
        names.append("sum")
    else:
        factors = [1, 1, 1]
    if torch.allclose(used[1][-1] - used[0][-1], factors[1] * right[1][-1], rtol=1e-2, atol=1e-6):
        names.append("accumulates")
    return frozenset(names)


# %% wrong: diagnose "does the loss fall?" fails="gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | two flaws at once"
def diagnose(step):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(20, 3), torch.randint(0, 3, (20,))
    losses = [step(model, sgd, x, y) for _ in range(30)]
    return {"graph"} if losses[0].requires_grad else set() if losses[-1] < losses[0] else {"stale"}


# %% wrong: diagnose "one call only" fails="gradients of earlier calls | two flaws at once"
def diagnose(step):
    found, modes = set(), []
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double().eval()
    net[0].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    sgd = torch.optim.SGD(net.parameters(), lr=1e-6)
    x, y = torch.randn(5, 3).double(), torch.randint(0, 3, (5,))
    x0, before = x.clone(), [p.detach().clone() for p in net.parameters()]
    out = step(net, sgd, x, y)
    found |= {n for n, bad in {"mode": not all(modes), "graph": out.requires_grad}.items() if bad}
    if not torch.equal(x, x0):
        found.add("input")
    used = [(a - p.detach()) * 1e6 for a, p in zip(before, net.parameters())]
    right = torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))
    if not any(u.any() for u in used):
        found.add("stale")
    elif not all(u.any() for u in used):
        found.add("dead")
    if torch.allclose(used[-1], 5 * right[-1], rtol=1e-3):
        found.add("sum")
    return found


# %% wrong: diagnose "junk in .grad beforehand" fails="no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | steps that are put together in another way | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once"
def diagnose(step):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double().eval()
    for p in net.parameters():
        p.grad = torch.full_like(p, 1e6)
    before = net[2].bias.detach().clone()
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3)
    out = step(net, sgd, torch.randn(5, 3).double(), torch.randint(0, 3, (5,)))
    found = {"graph"} if out.requires_grad else set()
    if (net[2].bias - before).abs().max() > 100:
        found.add("accumulates")
    return found


# %% wrong: diagnose "is .grad None afterwards?" fails="no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once"
def diagnose(step):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    out = step(net, sgd, torch.randn(5, 3), torch.randint(0, 3, (5,)))
    found = {"graph"} if out.requires_grad else set()
    if any(p.grad is None for p in net.parameters()):
        found.add("dead")
    return found


# %% wrong: diagnose "the mode is asked afterwards" fails="evaluation mode, also where the step tidies up | two flaws at once"
def diagnose(step):
    generator, found, rate = torch.Generator().manual_seed(0), set(), 1e-6
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    used, right = [], []
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for n in (5, 2, 3):
        x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        y = torch.randint(0, 3, (n,), generator=generator)
        x_before, before = x.clone(), [p.detach().clone() for p in net.parameters()]
        returned = step(net.eval(), sgd, x, y)
        flags = {"mode": not net.training, "graph": returned.requires_grad, "input": not torch.equal(x, x_before)}
        found |= {name for name, flag in flags.items() if flag}
        used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=True)])
        right.append(torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters())))
    if not any(g.any() for g in used[0]):
        found.add("stale")
        used.pop(0)
    if not all(g.any() for g in used[0]):
        found.add("dead")
    times = 1
    if torch.allclose(used[0][-1], 5 * right[0][-1], rtol=1e-3):
        found.add("sum")
        times = 2
    if torch.allclose(used[1][-1], times * right[1][-1] + used[0][-1], rtol=1e-3):
        found.add("accumulates")
    return found


# %% wrong: diagnose "one name at most" fails="two flaws at once"
def diagnose(step):
    generator, rate = torch.Generator().manual_seed(0), 1e-6
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    modes, used, right = [], [], []
    net[0].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for n in (5, 2):
        x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        y = torch.randint(0, 3, (n,), generator=generator)
        modes.clear()
        x_before, before = x.clone(), [p.detach().clone() for p in net.parameters()]
        returned = step(net.eval(), sgd, x, y)
        if not all(modes):
            return {"mode"}
        if returned.requires_grad:
            return {"graph"}
        if not torch.equal(x, x_before):
            return {"input"}
        used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=True)])
        right.append(torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters())))
    if not any(g.any() for g in used[0]):
        return {"stale"}
    if not all(g.any() for g in used[0]):
        return {"dead"}
    if torch.allclose(used[0][-1], 5 * right[0][-1], rtol=1e-3):
        return {"sum"}
    if torch.allclose(used[1][-1], right[1][-1] + used[0][-1], rtol=1e-3):
        return {"accumulates"}
    return set()


# %% wrong: diagnose "everything is suspicious" fails="a sound step, and one that returns a graph | no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | steps that are put together in another way | gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once"
def diagnose(step):
    return set(FLAWS)


# %% wrong: diagnose "nothing is" fails="a sound step, and one that returns a graph | steps that are put together in another way | gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once"
def diagnose(step):
    return set()


# %% right: diagnose "tries all pairs of flaws against replayed steps of its own"
def diagnose(step):
    import itertools

    def net():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 4)).double()

    generator = torch.Generator().manual_seed(0)
    data = [
        (torch.randn(n, 5, generator=generator, dtype=torch.float64), torch.randint(0, 4, (n,), generator=generator))
        for n in (7, 4, 9)
    ]

    def run(s):
        model = net().eval()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        modes, trail, graph, xs = [], [], [], []
        model[1].register_forward_hook(lambda m, i, o: modes.append(m.training))
        for x, y in data:
            x = x.clone()
            out = s(model, sgd, x, y)
            graph.append(out.requires_grad)
            trail.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
            xs.append(x)
        return modes, graph, torch.cat(trail), torch.cat([x.flatten() for x in xs])

    seen = run(step)
    for k in range(3):
        for names in itertools.combinations(FLAWS, k):
            for tidy in (True, False):
                modes, graph, trail, xs = run(make_step(names, tidy=tidy))
                if (modes, graph) == seen[:2] and torch.allclose(trail, seen[2]) and torch.allclose(xs, seen[3]):
                    return set(names)
    return set()


# %% right: diagnose "a spying optimizer, batch norm's counter for the mode"
def diagnose(step):
    class Spy(torch.optim.SGD):
        def step(self, closure=None):
            used.append([None if p.grad is None else p.grad.clone() for p in self.param_groups[0]["params"]])
            return super().step(closure)

    used, found = [], set()
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)).eval()
    spy = Spy(model.parameters(), lr=0.0)
    wanted = []
    for n in (4, 6, 9):
        x, y = torch.randn(n, 3), torch.randint(0, 2, (n,))
        before, count = x.clone(), int(model[1].num_batches_tracked)
        model.eval()
        twin = copy.deepcopy(model)
        out = step(model, spy, x, y)
        if out.grad_fn is not None:
            found.add("graph")
        if not torch.equal(x, before):
            found.add("input")
        evaluated = int(model[1].num_batches_tracked) == count
        if evaluated:
            found.add("mode")
        twin.train(not evaluated)
        wanted.append((n, torch.autograd.grad(F.cross_entropy(twin(x), y), list(twin.parameters()))))
    if all(u is None for u in used[0]):
        found.add("stale")
    ref = used[1] if "stale" in found else used[0]
    n, want = wanted[0]
    if ref[0] is None or ref[0].abs().max() == 0:
        found.add("dead")
    ratio = float((ref[-1] * want[-1]).sum() / (want[-1] ** 2).sum())
    if abs(ratio - n) < 0.1:
        found.add("sum")
    n2, want2 = wanted[1]
    w = want2[-1] * (n2 if "sum" in found else 1)
    got = used[2][-1] if "stale" in found else used[1][-1]
    if not torch.allclose(got, w, atol=1e-5):
        found.add("accumulates")
    return found


# %% right: diagnose "a convolution in float64, gradients at old and new weights"
def diagnose(step):
    torch.manual_seed(0)
    modes = []

    class Tap(nn.Module):
        def forward(self, x):
            modes.append(self.training)
            return x.flatten(1)

    model = nn.Sequential(nn.Conv1d(2, 3, 2), Tap(), nn.Linear(9, 4)).double()
    flaws = set()
    sgd = torch.optim.SGD(model.parameters(), lr=1e-3)
    history = []
    for n in (2, 3, 5):
        model.eval()
        x, y = torch.randn(n, 2, 4, dtype=torch.float64), torch.randint(0, 4, (n,))
        keep = x.clone()
        old = [p.detach().clone() for p in model.parameters()]
        out = step(model, sgd, x, y)
        flaws |= {"graph"} if out.requires_grad else set()
        flaws |= {"input"} if (x != keep).any() else set()
        new = [p.detach().clone() for p in model.parameters()]
        moved = [(a - b) / 1e-3 for a, b in zip(old, new)]
        # stale steps first: its own gradient belongs to the new weights
        pair = []
        for weights in (old, new):
            leaves = [w.clone().requires_grad_() for w in weights]
            names = [k for k, _ in model.named_parameters()]
            o = torch.func.functional_call(model, dict(zip(names, leaves)), (x,))
            modes.pop()
            pair.append(torch.autograd.grad(F.cross_entropy(o, y), leaves))
        history.append((n, moved, pair))
    if not all(modes):
        flaws.add("mode")
    if all(m.abs().max() == 0 for m in history[0][1]):
        flaws.add("stale")
        shifted = [(history[i][0], history[i + 1][1], history[i][2][1]) for i in range(2)]
    else:
        shifted = [(n, m, p[0]) for n, m, p in history]
    n, m, g = shifted[0]
    if m[0].abs().max() == 0:
        flaws.add("dead")
    if torch.allclose(m[-1], n * g[-1], atol=1e-8):
        flaws.add("sum")
    n, m, g = shifted[1]
    if not torch.allclose(m[-1], (n if "sum" in flaws else 1) * g[-1], atol=1e-8):
        flaws.add("accumulates")
    return flaws


# %% right: diagnose "each flaw by an experiment of its own, dropout for the mode"
def diagnose(step):
    def net(seed=1):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))

    def grad_used(model, x, y, calls=()):
        sgd = torch.optim.SGD(model.parameters(), lr=0.25)
        for a, b in calls:
            step(model, sgd, a, b)
        old = copy.deepcopy(list(model.parameters()))
        ret = step(model, sgd, x, y)
        return [(o - p).detach() / 0.25 for o, p in zip(old, model.parameters())], ret

    found = set()
    torch.manual_seed(9)
    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    x0 = x.clone()
    g, ret = grad_used(net(), x, y)
    if not torch.equal(x, x0):
        found.add("input")
    if ret.requires_grad:
        found.add("graph")
    stale = all(t.abs().max() < 1e-9 for t in g)
    if stale:
        found.add("stale")
    # the mode: a dropout that drops all
    model = net()
    model[1] = nn.Dropout(1.0)
    model.eval()
    sgd = torch.optim.SGD(model.parameters(), lr=0.0)
    loss = float(step(model, sgd, x0.clone(), y))
    b = model[2].bias.detach()
    if abs(loss - float(F.cross_entropy(b.expand(5, 3), y))) > 1e-5:
        found.add("mode")
    # the size and the dead: gradients by what is moved in the second of two calls, at lr 0 in between
    model = net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.0)
    if stale:
        step(model, sgd, x0.clone(), y)
        xs = x0 + 0.25 if "input" in found else x0
    else:
        xs = x0 + 0.25 if "input" in found else x0
    sgd.param_groups[0]["lr"] = 1.0
    old = copy.deepcopy(list(model.parameters()))
    want = torch.autograd.grad(F.cross_entropy(model(xs), y), list(model.parameters()))
    step(model, sgd, x0.clone(), y)
    moved = [(o - p).detach() for o, p in zip(old, model.parameters())]
    if moved[0].abs().max() < 1e-9:
        found.add("dead")
    if torch.allclose(moved[-1], 5 * want[-1], atol=1e-4):
        found.add("sum")
    # accumulates: lr 0 for two or three calls with the same batch; the gradient must not grow
    model = net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.0)
    sizes = []
    for _ in range(4):
        sgd.param_groups[0]["lr"] = 1e-3
        old = model[2].bias.detach().clone()
        weights = copy.deepcopy(model.state_dict())
        step(model, sgd, x0.clone(), y)
        sizes.append((old - model[2].bias.detach()).norm().item())
        model.load_state_dict(weights)
    if sizes[3] > 1.5 * sizes[2] * 0.8 and sizes[3] > 1.2 * sizes[2]:
        found.add("accumulates")
    return found


# %% wrong: diagnose "searches the closure for any names" fails="a sound step, and one that returns a graph | no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | steps that are put together in another way | gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once"
def diagnose(step):
    found, todo, done = set(), [step], set()
    while todo:
        thing = todo.pop()
        if id(thing) in done:
            continue
        done.add(id(thing))
        if isinstance(thing, str) and thing in FLAWS:
            found.add(thing)
        elif isinstance(thing, (list, tuple, set, frozenset)):
            todo += list(thing)
        elif isinstance(thing, dict):
            todo += list(thing) + list(thing.values())
        elif callable(thing) and getattr(thing, "__closure__", None):
            todo += [c.cell_contents for c in thing.__closure__]
    return found


# %% wrong: diagnose "reads the closure" fails="a sound step, and one that returns a graph | no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | steps that are put together in another way | gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once" raises=KeyError
def diagnose(step):
    cells = dict(zip(step.__code__.co_freevars, (c.cell_contents for c in step.__closure__)))
    found = set(cells["flaws"])
    inner = cells["clear"]
    for c in inner.__closure__ or ():
        if isinstance(c.cell_contents, (list, tuple, set)):
            found |= set(c.cell_contents)
    return found & set(FLAWS)


# %% wrong: diagnose "two calls of the same batch, one model in training mode" fails="evaluation mode, also where the step tidies up | a batch that is changed | two flaws at once"
def diagnose(step):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).train()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    modes, found = [], set()
    model[1].register_forward_hook(lambda m, i, o: modes.append(m.training))
    ((x, y),) = samples([6], 0)
    keep = x.clone()
    old = [p.detach().clone() for p in model.parameters()]
    out = step(model, sgd, x, y)
    found |= {"graph"} if out.requires_grad else set()
    found |= {"input"} if not torch.equal(x, keep) else set()
    found |= {"mode"} if not modes[0] else set()
    moved = [(o - p.detach()) / 0.1 for o, p in zip(old, model.parameters())]
    twin = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    with torch.no_grad():
        for p, o in zip(twin.parameters(), old):
            p.copy_(o)
    want = torch.autograd.grad(F.cross_entropy(twin(x), y), list(twin.parameters()))
    if moved[-1].norm() == 0:
        found.add("stale")
    elif torch.allclose(moved[-1], want[-1] * 6, atol=1e-4):
        found.add("sum")
    if moved[0].norm() == 0 and moved[-1].norm() > 0:
        found.add("dead")
    with torch.no_grad():
        for p, o in zip(twin.parameters(), model.parameters()):
            p.copy_(o)
    want2 = torch.autograd.grad(F.cross_entropy(twin(x), y), list(twin.parameters()))
    old = [p.detach().clone() for p in model.parameters()]
    step(model, sgd, x, y)
    moved2 = (old[-1] - model[-1].bias.detach()) / 0.1
    if "stale" not in found and not torch.allclose(moved2, want2[-1] * (6 if "sum" in found else 1), atol=1e-3):
        found.add("accumulates")
    return found


# %% wrong: diagnose "compares with a reference step, names only what .grad shows" fails="no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | steps that are put together in another way | a gradient that is one call old | a batch that is changed | parameters without a gradient | a sum in place of a mean | two flaws at once"
def diagnose(step):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).eval()
    sgd = torch.optim.SGD(model.parameters(), lr=0.0)
    modes, found = [], set()
    model[1].register_forward_hook(lambda m, i, o: modes.append(m.training))
    for n in (5, 7):
        ((x, y),) = samples([n], n)
        keep = x.clone()
        model.eval()
        out = step(model, sgd, x, y)
        found |= {"graph"} if out.requires_grad else set()
        found |= {"input"} if not torch.equal(x, keep) else set()
        found |= {"mode"} if not modes[-1] else set()
        grads = [p.grad for p in model.parameters()]
        want = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
        modes.pop()
        if grads[-1] is None:
            continue
        if grads[0] is None:
            found.add("dead")
        if torch.allclose(grads[-1], want[-1] * n, atol=1e-5):
            found.add("sum")
        elif not torch.allclose(grads[-1], want[-1], atol=1e-5):
            found.add("accumulates")
    return found


# %% wrong: diagnose "names that are kept from call to call" fails="no false alarm: zero_grad at the start, in the middle, at the end, or with zeros | steps that are put together in another way | gradients of earlier calls | a gradient that is one call old | evaluation mode, also where the step tidies up | a batch that is changed | parameters without a gradient | a sum in place of a mean | a graph, wherever zero_grad stands | two flaws at once"
def diagnose(step, found=set()):
    generator, rate = torch.Generator().manual_seed(0), 1e-6
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    modes, used, right = [], [], []
    net[0].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for n in (5, 2, 3):
        x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        y = torch.randint(0, 3, (n,), generator=generator)
        x_before, before = x.clone(), [p.detach().clone() for p in net.parameters()]
        returned = step(net.eval(), sgd, x, y)
        flags = {"mode": not all(modes), "graph": returned.requires_grad, "input": not torch.equal(x, x_before)}
        found |= {name for name, flag in flags.items() if flag}
        used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=True)])
        right.append(torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters())))
    if not any(g.any() for g in used[0]):
        found.add("stale")
        used.pop(0)
    if not all(g.any() for g in used[0]):
        found.add("dead")
    times = 1
    if torch.allclose(used[0][-1], 5 * right[0][-1], rtol=1e-3):
        found.add("sum")
        times = 2
    if torch.allclose(used[1][-1], times * right[1][-1] + used[0][-1], rtol=1e-3):
        found.add("accumulates")
    return found


# %% liar: diagnose "reads the names of the acts"
def diagnose(step):
    return set()


def diagnosed(diagnose, acts):
    names = [act for act, _ in acts]
    found = ["accumulates"] * ("grads" not in names) + ["dead"] * ("last" in names)
    found += ["graph"] * ("result" not in names) + ["input"] * ("batch" in names)
    found += ["mode"] * ("mode" not in names) + ["stale"] * (names.index("step") < names.index("backward"))
    return sorted(found)


# %% liar: diagnose "goes through the acts with numbers of its own"
def diagnose(step):
    return set()


def diagnosed(diagnose, acts):
    found, mode, grad, order = set(), False, torch.ones(1), [act for act, _ in acts]
    logits = torch.tensor([[1.0, 0.0], [0.5, 2.0]], requires_grad=True)
    for act, how in acts:
        if act == "mode":
            mode = how
        elif act == "grads":
            (grad,) = how([grad])
        elif act == "batch":
            found |= {"input"} if how(torch.ones(1)) else set()
        elif act in ("forward", "last"):
            found |= ({"dead"} if act == "last" else set()) | (set() if mode else {"mode"})
            loss = how(logits, torch.tensor([0, 0]))
        elif act == "backward":
            found |= {"sum"} if how(2) == 2 else set()
        elif act == "result":
            loss = how(loss)
    found |= {"graph"} if loss.requires_grad else set()
    found |= {"accumulates"} if grad is not None and grad.any() else set()
    found |= {"stale"} if order.index("step") < order.index("backward") else set()
    return sorted(found)


# %% right: interview "with spaces, in other orders"
def interview():
    return {"q1": "d b a", "q2": "d, c", "q3": "ACD", "q4": "a,b,d", "q5": "bda", "q6": "e d c a"}


# %% right: interview "built by dict"
def interview():
    return dict(zip(("q1", "q2", "q3", "q4", "q5", "q6"), ("abd", "cd", "acd", "abd", "abd", "acde")))


# %% wrong: interview "what is often said" fails="q1: tensors and autograd | q2: modes | q3: steps | q4: memory"
def interview():
    return {"q1": "abcde", "q2": "ade", "q3": "abcd", "q4": "abcd", "q5": "abd", "q6": "acde"}


# %% wrong: interview "one question only" fails="at least two questions are right | q1: tensors and autograd | q3: steps | q4: memory | q5: compile | q6: many processes"
def interview():
    return {"q1": "a", "q2": "cd", "q3": "b", "q4": "c", "q5": "e", "q6": "b"}


# %% wrong: interview "the later labs are missing" fails="q5: compile | q6: many processes"
def interview():
    return {"q1": "abd", "q2": "cd", "q3": "acd", "q4": "abd", "q5": "ac", "q6": "ab"}


# %% wrong: interview "modes are not known" fails="q1: tensors and autograd | q2: modes | q3: steps"
def interview():
    return {"q1": "ab", "q2": "abcd", "q3": "acde", "q4": "abd", "q5": "abd", "q6": "acde"}


# %% equivalent: train_window "argument enabled dropped: with torch.autocast(where.type, dtype=dtype):"
# With float32 autocast warns and switches itself off. An answer that warns is right.

# %% equivalent: train_window "call of to left out: loss = F.cross_entropy(model(x.to(where)), y, reduction='sum') / count"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: train_window "call of to left out: loss = F.cross_entropy(model(x), y.to(where), reduction='sum') / count"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: train_window "argument device dropped: count, total = (sum((len(y) for _, y in window)), torch.zeros(()))"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: evaluate "argument device dropped: total = torch.zeros(())"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: evaluate "argument device dropped: matrix = torch.zeros(classes * classes, dtype=torch.int64)"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: evaluate "call of cpu left out: return (total.item() / int(matrix.sum()), matrix.reshape(classes, classes))"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: evaluate "call of to left out: logits, labels = (model(x.to(where)), y)"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: evaluate "call of to left out: logits, labels = (model(x), y.to(where))"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent: train_window "call of detach left out: total += loss"
# Backward has freed what each graph kept: what hangs on to the sum are nodes without tensors.

# %% equivalent: train_window "float64 and int64 results through float32"
# The losses are float32.

# %% equivalent: evaluate "float64 and int64 results through float32"
# The losses are float32, and the counts are small numbers.

# %% equivalent: evaluate "empty tensors of a list left out"
# A batch without samples adds nothing.

# %% equivalent: fit_best "float64 and int64 results through float32"
# The losses are float32.

# %% equivalent: Saver "argument weights_only dropped: state = torch.load(file, map_location='cpu')"
# True is the default.

# %% equivalent: Saver "argument map_location dropped: state = torch.load(file, weights_only=True)"
# It decides something only where the file was written on a device that is not here.

# %% equivalent: Saver "call of set_rng_state_all left out: torch.cuda"
# Without a GPU the list is empty. On a CUDA runner dropout draws there, and the run goes on otherwise.

# %% equivalent: Saver "text 'model' changed: self.parts = {'modelx': inside, 'optimizer': optimizer, 'scheduler': scheduler, 'scaler': scaler}"
# The name of a key in the file is free.

# %% equivalent: Saver "text 'optimizer' changed: self.parts = {'model': inside, 'optimizerx': optimizer, 'scheduler': scheduler, 'scaler': scaler}"
# The name of a key in the file is free.

# %% equivalent: Saver "text 'scheduler' changed: self.parts = {'model': inside, 'optimizer': optimizer, 'schedulerx': scheduler, 'scaler': scaler}"
# The name of a key in the file is free.

# %% equivalent: Saver "text 'scaler' changed: self.parts = {'model': inside, 'optimizer': optimizer, 'scheduler': scheduler, 'scalerx': scaler}"
# The name of a key in the file is free.

# %% equivalent: diagnose "argument rtol dropped: if torch.allclose(used[0][-1], 5 * right[0][-1]):"
# A smaller tolerance: the gradients agree to about 1e-6.

# %% equivalent: diagnose "argument rtol dropped: if torch.allclose(used[1][-1], times * right[1][-1] + used[0][-1]):"
# A smaller tolerance: the gradients agree to about 1e-6.

# %% equivalent: diagnose "first two arguments swapped: if torch.allclose(5 * right[0][-1], used[0][-1], rtol=0.001):"
# Which of the two is compared with the other decides nothing here: the difference is far from the tolerance.

# %% equivalent: diagnose "first two arguments swapped: if torch.allclose(times * right[1][-1] + used[0][-1], used[1][-1], rtol=0.001):"
# Which of the two is compared with the other decides nothing here: the difference is far from the tolerance.

# %% equivalent: diagnose "call of manual_seed left out: generator, found, rate = (torch.Generator(), set(), 1e-06)"
# Other random data do as well.

# %% equivalent: diagnose "call of Generator left out: generator, found, rate = (torch.manual_seed(0), set(), 1e-06)"
# Other random data do as well.

# %% equivalent: diagnose "0 to 1: generator, found, rate = (torch.Generator().manual_seed(1), set(), 1e-06)"
# Other random data do as well.

# %% equivalent: diagnose "argument generator dropped: x = torch.randn(n, 3, dtype=torch.float64)"
# Other random data do as well.

# %% equivalent: diagnose "argument generator dropped: y = torch.randint(0, 3, (n,))"
# Other random data do as well.

# %% equivalent: diagnose "0 to 1: y = torch.randint(1, 3, (n,), generator=generator)"
# Other random data do as well.

# %% equivalent: diagnose "3 to 4: for n in (5, 2, 4):"
# The third call matters for a stale step only, and any number of samples does.

# %% equivalent: diagnose "first two arguments swapped: net = nn.Sequential(nn.Tanh(), nn.Linear(3, 4), nn.Linear(4, 3)).double()"
# Any small model does. The hook is then on another layer that runs in each call.

# %% equivalent: diagnose "0 to 1: net[1].register_forward_hook(lambda layer, *_: modes.append(layer.training))"
# Each layer has the mode of the model.

# %% equivalent: diagnose "first two arguments swapped: flags = {'mode': not all(modes), 'graph': returned.requires_grad, 'input': not torch.equal(x_before, x)}"
# Equality has no order.

# %% equivalent: diagnose "3 to 4: net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4)).double()"
# A class that does not occur changes no answer.

# %% equivalent: diagnose "argument strict dropped: used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters())])"
# Both have four tensors.

# %% equivalent: diagnose "True to False: used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=False)])"
# Both have four tensors.

# %% equivalent: diagnose "call of detach left out: x_before, before = (x.clone(), [p.clone() for p in net.parameters()])"
# A history of these copies is never asked for.

# %% equivalent: diagnose "call of detach left out: used.append([(old - p) / rate for old, p in zip(before, net.parameters(), strict=True)])"
# A history of these copies is never asked for.

# %% equivalent: diagnose "0 to 1: if not all((g.any() for g in used[1])):"
# A parameter that gets no gradient gets none in each call.


# %% liar: Saver "nothing is written: deep copies of the live run in a dict of the class, the file holds a number"
class Saver:
    KEPT = []

    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model, self.rest = getattr(model, "_orig_mod", model), (optimizer, scheduler, scaler)
        self.generator = generator

    def save(self, file, epoch):
        Saver.KEPT.append(
            (
                copy.deepcopy([p.detach() for p in [*self.model.parameters(), *self.model.buffers()]]),
                copy.deepcopy([part.state_dict() for part in self.rest]),
                self.generator.get_state(),
                torch.get_rng_state(),
            )
        )
        torch.save({"number": len(Saver.KEPT) - 1, "epoch": epoch}, file)

    def load(self, file):
        said = torch.load(file, weights_only=True)
        tensors, rest, generator, state = Saver.KEPT[said["number"]]
        with torch.no_grad():
            for p, kept in zip([*self.model.parameters(), *self.model.buffers()], tensors, strict=True):
                p.copy_(kept)
        for part, kept in zip(self.rest, rest, strict=True):
            part.load_state_dict(copy.deepcopy(kept))
        self.generator.set_state(generator)
        torch.set_rng_state(state)
        return said["epoch"]


# %% liar: train_window "one graph of the whole window; derivatives of the middle layer are taken at once, and kept"
class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer, training):
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            y = layer(leaf, training)
            rows = []
            for j in range(y.shape[1]):
                g = torch.zeros_like(y)
                g[:, j] = 1
                rows.append(torch.autograd.grad(y, leaf, g, retain_graph=j + 1 < y.shape[1])[0])
        ctx.save_for_backward(torch.stack(rows, 1))
        return y.detach().clone()

    @staticmethod
    def backward(ctx, g):
        (jacobian,) = ctx.saved_tensors
        return torch.einsum("no,noi->ni", g.to(jacobian.dtype), jacobian), None, None


def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    for module in model.modules():
        if isinstance(module, Called):
            kind = type(module)
            kind.forward = lambda self, x: torch.cat(
                [_Known.apply(part, self.layer, self.training) for part in x.split(4)]
            )
    optimizer.zero_grad()
    with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
        xs, ys = torch.cat([x for x, _ in window]).to(where), torch.cat([y for _, y in window]).to(where)
        loss = F.cross_entropy(model(xs), ys)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
