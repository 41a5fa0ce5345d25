# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: ulp "from the exponent"
def ulp(x, dtype):
    fraction, least = {torch.float32: (23, -126), torch.float16: (10, -14), torch.bfloat16: (7, -126)}[dtype]
    _, exponent = torch.frexp(x.to(dtype).double())
    exponent = torch.where(x.to(dtype) == 0, torch.full_like(exponent, least), (exponent - 1).clamp(min=least))
    return torch.ldexp(torch.ones_like(x, dtype=torch.float64), exponent - fraction)


# %% right: ulp "a table of all numbers of the format"
def ulp(x, dtype):
    y = x.abs().to(dtype).double()
    if dtype == torch.float32:
        z = y.float()
        return torch.nextafter(z, torch.full_like(z, math.inf)).double() - y
    table = torch.arange(0, 2**15, dtype=torch.int16).view(dtype).double()
    table = table[table.isfinite()]
    return table[torch.searchsorted(table, y.contiguous()) + 1] - y


# %% right: ulp "through NumPy and finfo"
import numpy as np


def ulp(x, dtype):
    info = torch.finfo(dtype)
    y = x.to(dtype).abs().to(torch.float64).numpy()
    _, e = np.frexp(np.maximum(y, info.tiny))
    return torch.from_numpy(np.asarray(np.ldexp(info.eps, e - 1))).reshape(x.shape)


# %% wrong: ulp "eps everywhere" fails="numbers between 1 and 2, and 300, in bfloat16 | numbers of all sizes, in all three formats | powers of two, negative ones too | zero and subnormal numbers | x is rounded to the format first | other shapes, empty ones too"
def ulp(x, dtype):
    return torch.full(x.shape, torch.finfo(dtype).eps, dtype=torch.float64)


# %% wrong: ulp "eps times x" fails="numbers between 1 and 2, and 300, in bfloat16 | numbers of all sizes, in all three formats | powers of two, negative ones too | zero and subnormal numbers | x is rounded to the format first | other shapes, empty ones too"
def ulp(x, dtype):
    return torch.finfo(dtype).eps * x.abs().double()


# %% wrong: ulp "the spacing of float32" fails="numbers between 1 and 2, and 300, in bfloat16 | numbers of all sizes, in all three formats | powers of two, negative ones too | zero and subnormal numbers | x is rounded to the format first | other shapes, empty ones too"
def ulp(x, dtype):
    y = x.abs()
    return torch.nextafter(y, torch.full_like(y, math.inf)).double() - y.double()


# %% wrong: ulp "no subnormal numbers" fails="zero and subnormal numbers"
def ulp(x, dtype):
    y = x.abs().to(dtype).double()
    return torch.where(y > 0, torch.finfo(dtype).eps * 2.0 ** y.log2().floor(), 0.0)


# %% wrong: ulp "x is not rounded" fails="numbers of all sizes, in all three formats | x is rounded to the format first"
def ulp(x, dtype):
    info = torch.finfo(dtype)
    y = x.abs().double().clamp(min=info.tiny)
    return info.eps * torch.exp2(torch.frexp(y).exponent.double() - 1)


# %% wrong: ulp "the next number above x, not above its size" fails="numbers of all sizes, in all three formats | powers of two, negative ones too | x is rounded to the format first"
def ulp(x, dtype):
    y = x.to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    bits = y.abs().view(whole)
    other = torch.where(y < 0, bits - 1, bits + 1).view(dtype)
    return (other.double() - y.abs().double()).abs()


# %% wrong: ulp "in the format itself" fails="numbers between 1 and 2, and 300, in bfloat16 | numbers of all sizes, in all three formats | powers of two, negative ones too | zero and subnormal numbers | x is rounded to the format first | other shapes, empty ones too"
def ulp(x, dtype):
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    return (y.view(whole) + 1).view(dtype) - y


# %% wrong: ulp "to the number below" fails="numbers between 1 and 2, and 300, in bfloat16 | numbers of all sizes, in all three formats | powers of two, negative ones too | zero and subnormal numbers | x is rounded to the format first"
def ulp(x, dtype):
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    return y.double() - (y.view(whole) - 1).view(dtype).double()


# %% wrong: ulp "abs in place" fails="x keeps its values"
def ulp(x, dtype):
    y = x.abs_().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    return (y.view(whole) + 1).view(dtype).double() - y.double()


# %% wrong: bf16_sgd_ "rate times gradient in bfloat16, added to float32" fails="random gradients, several parameters, several rates"
def bf16_sgd_(params: list[Tensor], state: dict, lr: float) -> None:
    with torch.no_grad():
        for number, p in enumerate(params):
            if p.grad is not None:
                master = state.setdefault(number, p.detach().float())
                master -= p.grad * lr
                p.copy_(master)


# %% equivalent: ulp "call of double left out: return above - y.double()"
# A 16-bit or float32 tensor minus a float64 tensor is computed in float64: above is promoted without loss.


# %% equivalent: ulp "call of double left out: return above.double() - y"
# The same, for y.


# %% equivalent: ulp "float64 and int64 results through float32"
# A spacing is a power of two, 2**-149 or more: a float32 number.


# %% wrong: ulp "a logarithm in float32, which rounds up just below a power of two" fails="powers of two, negative ones too"
def ulp(x: Tensor, dtype: torch.dtype) -> Tensor:
    info = torch.finfo(dtype)
    size = x.to(dtype).float().abs().clamp(min=info.tiny)
    return info.eps * 2.0 ** size.log2().floor().double()


# %% right: amp_dtypes "partial and an ExitStack"
import contextlib
import functools


def amp_dtypes(model, x, dtype):
    result = {}

    def note(name, module, args, output):
        result[name] = output.dtype

    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():
            if next(module.children(), None) is None:
                stack.callback(module.register_forward_hook(functools.partial(note, name)).remove)
        with torch.autocast(device_type=x.device.type, dtype=dtype):
            model(x)
    return result


# %% right: amp_dtypes "one hook for all modules, by identity"
def amp_dtypes(model, x, dtype):
    names = {id(m): n for n, m in model.named_modules() if len(list(m.modules())) == 1}
    out = {}

    def hook(module, args, result):
        if id(module) in names:
            out[names[id(module)]] = result.dtype

    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        with torch.autocast(here.type, dtype):
            model(x)
    finally:
        handle.remove()
    return out


# %% wrong: amp_dtypes "the dtypes of the weights" fails="three layers, under bfloat16 | a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16 | a model that is one layer"
def amp_dtypes(model, x, dtype):
    with torch.autocast(x.device.type, dtype=dtype):
        model(x)
    return {n: m.weight.dtype for n, m in model.named_modules() if isinstance(getattr(m, "weight", None), Tensor)}


# %% wrong: amp_dtypes "without autocast" fails="three layers, under bfloat16 | a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16 | a model that is one layer"
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "hooks stay" fails="no hook stays behind, and none of somebody else's goes"
def amp_dtypes(model, x, dtype):
    found = {}
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype))
    with torch.autocast(x.device.type, dtype=dtype):
        model(x)
    return found


# %% wrong: amp_dtypes "hooks stay after an error" fails="no hook stays behind, and none of somebody else's goes"
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    with torch.autocast(x.device.type, dtype=dtype):
        model(x)
    for hook in hooks:
        hook.remove()
    return found


# %% wrong: amp_dtypes "all modules" fails="three layers, under bfloat16 | a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16"
def amp_dtypes(model, x, dtype):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype))
        for name, layer in model.named_modules()
    ]
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "what comes in" fails="three layers, under bfloat16 | a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16 | a model that is one layer"
def amp_dtypes(model, x, dtype):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, i[0].dtype))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "autocast's default dtype" fails="a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16 | a model that is one layer"
def amp_dtypes(model, x, dtype):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "the model is cast" fails="a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16 | the model and autocast are as they were" raises=RuntimeError
def amp_dtypes(model, x, dtype):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model.to(dtype)(x.to(dtype) if x.is_floating_point() else x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "the first result of a layer" fails="a table, a sum, a layer that runs twice and one that never runs"
def amp_dtypes(model, x, dtype):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda m, i, o, name=name: found.setdefault(name, o.dtype) and None)
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "the name of the last layer" fails="three layers, under bfloat16 | a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16"
def amp_dtypes(model, x, dtype):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda m, i, o: found.__setitem__(name, o.dtype))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "the model itself is no layer" fails="a model that is one layer"
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules():
        if name and not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "evaluation mode, and training mode for all behind it" fails="the model and autocast are as they were"
def amp_dtypes(model, x, dtype):
    found, hooks, before = {}, [], model.training
    for name, layer in model.named_modules():
        if not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    model.eval()
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        model.train(before)
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "only layers with parameters" fails="three layers, under bfloat16 | a table, a sum, a layer that runs twice and one that never runs | layers inside layers, in float16"
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules():
        if not list(layer.children()) and list(layer.parameters()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong: amp_dtypes "a layer with two names counts twice" fails="layers inside layers, in float16"
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules(remove_duplicate=False):
        if not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% right: train_amp "a function under autocast, gradients set to none"
def train_amp(model, batches, optimizer, loss_of, dtype):
    def one(x, y):
        with torch.autocast(device_type=here.type, dtype=dtype):
            loss = loss_of(model(x), y)
        for p in model.parameters():
            p.grad = None
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return [one(*pair) for pair in batches]


# %% right: train_amp "one context that keeps no cache"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    with torch.autocast(here.type, dtype=dtype, cache_enabled=False):
        for x, y in batches:
            optimizer.zero_grad(set_to_none=False)
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [t.item() for t in losses]


# %% right: train_amp "backward and step inside, too"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype):
            loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses += [loss.item()]
    return losses


# %% right: train_amp "autocast as a decorator"
def train_amp(model, batches, optimizer, loss_of, dtype):
    @torch.autocast(here.type, dtype=dtype)
    def loss_on(x, y):
        return loss_of(model(x), y)

    losses = []
    for x, y in batches:
        loss = loss_on(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "one context around the loop" fails="bfloat16 reaches the last layer, and the loss falls | the losses and weights of both formats | gradients from before do not count"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    with torch.autocast(here.type, dtype=dtype):
        for x, y in batches:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


# %% wrong: train_amp "the model is cast" fails="the losses and weights of both formats | each forward pass runs under autocast, with the weights that the step before left | small steps reach the weights | the loss is computed under autocast | gradients from before do not count | the mode, autocast, and no batch at all"
def train_amp(model, batches, optimizer, loss_of, dtype):
    model.to(dtype)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_of(model(x.to(dtype)), y.to(dtype))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "no autocast" fails="bfloat16 reaches the last layer, and the loss falls | each forward pass runs under autocast, with the weights that the step before left | the format shows in the loss | the loss is computed under autocast"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "only the result is cast" fails="bfloat16 reaches the last layer, and the loss falls | each forward pass runs under autocast, with the weights that the step before left | the format shows in the loss"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        out = model(x).to(dtype)
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(out, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "the loss outside" fails="the loss is computed under autocast"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            out = model(x)
        loss = loss_of(out.float(), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "no zero_grad" fails="the losses and weights of both formats | each forward pass runs under autocast, with the weights that the step before left | small steps reach the weights | gradients from before do not count"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "zero_grad after the step only" fails="gradients from before do not count"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "always bfloat16" fails="each forward pass runs under autocast, with the weights that the step before left | the format shows in the loss"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "entered, and never left" fails="the mode, autocast, and no batch at all"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        torch.autocast(x.device.type, dtype=dtype, cache_enabled=False).__enter__()
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "train mode switched on" fails="the mode, autocast, and no batch at all"
def train_amp(model, batches, optimizer, loss_of, dtype):
    model.train()
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% right: underflow_fraction "flat vectors"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]

    def flat(amp, factor):
        with torch.autocast(here.type, dtype=dtype, enabled=amp):
            loss = factor * loss_of(model(x), y)
        return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params)])

    exact, low = flat(False, 1.0), flat(True, scale)
    low = low[exact != 0]
    return (low == 0).double().mean().item() if len(low) else 0.0


# %% right: underflow_fraction "backward, with .grad put back"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    kept = [p.grad for p in params]
    for p in params:
        p.grad = None
    loss_of(model(x), y).backward()
    exact = [p.grad for p in params]
    for p in params:
        p.grad = None
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    (loss * scale).backward()
    lost = total = 0
    for p, e, old in zip(params, exact, kept):
        total += e.count_nonzero().item()
        lost += e[p.grad == 0].count_nonzero().item()
        p.grad = old
    return lost / total if total else 0.0


# %% wrong: underflow_fraction "all zeros are counted" fails="1e-7 in float16: all is lost without a scale, nothing with 65536 | gradients of all sizes, three scales | units that are always off, and a layer that is frozen | what overflows is not zero | a loss without slope"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    return (low == 0).float().mean().item()


# %% wrong: underflow_fraction "of all elements" fails="1e-7 in float16: all is lost without a scale, nothing with 65536 | gradients of all sizes, three scales | units that are always off, and a layer that is frozen"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    return ((exact != 0) & (low == 0)).float().mean().item()


# %% wrong: underflow_fraction "float32 gradients, cast" fails="1e-7 in float16: all is lost without a scale, nothing with 65536 | gradients of all sizes, three scales"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    low = (exact * scale).to(dtype)
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong: underflow_fraction "no scale" fails="1e-7 in float16: all is lost without a scale, nothing with 65536 | gradients of all sizes, three scales | units that are always off, and a layer that is frozen | bfloat16 loses nothing here | what overflows is not zero"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss, params)])
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong: underflow_fraction "the gradients are float32, so nothing is lost" fails="1e-7 in float16: all is lost without a scale, nothing with 65536 | gradients of all sizes, three scales | units that are always off, and a layer that is frozen | bfloat16 loses nothing here"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.autograd.grad(loss * scale, params)
    return float(sum(g.dtype == dtype for g in low)) / len(low)


# %% wrong: underflow_fraction "always float16" fails="bfloat16 loses nothing here"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=torch.float16):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong: underflow_fraction "a mean of shares" fails="gradients of all sizes, three scales | units that are always off, and a layer that is frozen"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.autograd.grad(loss_of(model(x), y), params)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.autograd.grad(loss * scale, params)
    shares = [((e != 0) & (g == 0)).sum().item() / max(1, (e != 0).sum().item()) for e, g in zip(exact, low)]
    return sum(shares) / len(shares)


# %% wrong: underflow_fraction "backward writes .grad" fails="the model keeps its .grad and its weights"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    model.zero_grad()
    loss_of(model(x), y).backward()
    exact = torch.cat([p.grad.flatten() for p in params])
    model.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    (loss * scale).backward()
    low = torch.cat([p.grad.flatten() for p in params])
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong: underflow_fraction "no case for no slope" fails="a loss without slope" raises=ZeroDivisionError
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    there = exact != 0
    return (there & (low == 0)).sum().item() / there.sum().item()


# %% wrong: underflow_fraction "what is below tiny is lost" fails="1e-7 in float16: all is lost without a scale, nothing with 65536 | gradients of all sizes, three scales | units that are always off, and a layer that is frozen"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    low = (exact * scale).abs() < torch.finfo(dtype).tiny
    there = exact != 0
    return (there & low).sum().item() / max(1, there.sum().item())


# %% right: MyScaler "a tensor for a scale, and a sum that inf and nan spread through"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s = torch.tensor(float(init_scale))
        self.settings = growth_interval, growth_factor, backoff_factor
        self.streak = 0
        self._fresh()

    def _fresh(self):
        self.bad, self.unscaled, self.stepped = False, False, False

    def get_scale(self):
        return self.s.item()

    def scale(self, loss):
        return loss * self.s.to(loss.device)

    def unscale_(self, optimizer):
        if self.unscaled or self.stepped:
            raise RuntimeError("too late")
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for g in grads:
            g.mul_(1 / self.s.to(g.device))
        total = sum(g.abs().sum().item() * 0 for g in grads)
        self.bad = total != 0
        self.unscaled = True

    def step(self, optimizer):
        if self.stepped:
            raise RuntimeError("step twice")
        if not self.unscaled:
            self.unscale_(optimizer)
        if not self.bad:
            optimizer.step()
        self.stepped = True

    def update(self):
        interval, growth, backoff = self.settings
        self.streak = 0 if self.bad else self.streak + 1
        if self.bad:
            self.s = self.s * backoff
        elif self.streak % interval == 0:
            self.s = self.s * growth
            self.streak = 0
        self._fresh()


# %% right: MyScaler "the foreach function that GradScaler uses"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.value, self.every, self.up, self.down = init_scale, growth_interval, growth_factor, backoff_factor
        self.count = 0
        self.found = None
        self.done = False

    def get_scale(self):
        return float(self.value)

    def scale(self, loss):
        return self.value * loss

    def unscale_(self, optimizer):
        if self.found is not None:
            raise RuntimeError
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        found = torch.zeros(1, device=here)
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.full((1,), 1 / self.value, device=here))
        self.found = found.item() > 0

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if self.found is None:
            self.unscale_(optimizer)
        self.done = True
        return None if self.found else optimizer.step()

    def update(self):
        if self.found:
            self.value, self.count = self.value * self.down, 0
        else:
            self.count += 1
            if self.count >= self.every:
                self.value, self.count = self.value * self.up, 0
        self.found, self.done = None, False


# %% wrong: MyScaler "the count goes on after a skipped step" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | steps without any gradient | other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "only inf is looked for" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | a skipped step leaves the momentum too"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and not bool(p.grad.isinf().any())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "the largest element says it all" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | a skipped step leaves the momentum too" raises=RuntimeError
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and not bool(p.grad.max() == math.inf)

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "it never grows" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | steps without any gradient | other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            pass
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "it grows after every good step" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | one element of one parameter is enough, and the scale is halved once | steps without any gradient | other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good >= 1:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "the count is not started anew after growing" fails="scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "step divides once more" fails="scales and parameters of twenty steps are those of GradScaler | steps without any gradient"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        self.stage = "ready"
        self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "step leaves unscaling to the caller" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | a skipped step leaves the momentum too | one element of one parameter is enough, and the scale is halved once | steps without any gradient | other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "a bad step with gradients of zero" fails="scales and parameters of twenty steps are those of GradScaler | a skipped step leaves the momentum too"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if not self.finite:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.zero_()
        optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "halved for each bad parameter" fails="one element of one parameter is enough, and the scale is halved once | unscale_ leaves the gradients of the loss"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    if not bool(p.grad.isfinite().all()):
                        self.finite = False
                        self.now *= self.backoff

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "the last parameter decides" fails="scales and parameters of twenty steps are those of GradScaler | a skipped step leaves the momentum too | one element of one parameter is enough, and the scale is halved once"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "only the first group" fails="scales and parameters of twenty steps are those of GradScaler | a skipped step leaves the momentum too | unscale_ leaves the gradients of the loss | steps without any gradient"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups[:1]:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "each parameter has a gradient" fails="unscale_ leaves the gradients of the loss | steps without any gradient" raises=TypeError
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad /= self.now
                self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "factors of two" fails="other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now /= 2
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= 2
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "any order will do" fails="calls in a wrong order"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            return
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "the new scale divides the old gradients" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | unscale_ leaves the gradients of the loss | steps without any gradient | other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        self.now *= self.growth if self.good + 1 == self.interval else 1
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "the gradients are not divided" fails="scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | a skipped step leaves the momentum too | unscale_ leaves the gradients of the loss | steps without any gradient"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong: MyScaler "a skipped step puts the bad step off" fails="seven steps, one with inf and one with nan: the scale after each | scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | a skipped step leaves the momentum too | one element of one parameter is enough, and the scale is halved once | steps without any gradient | other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.stage = "ready"


# %% wrong: MyScaler "a scale of integers" fails="other factors"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return int(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% equivalent: MyScaler "text 'unscale_' changed: self.stage = 'unscale_x'"
# The stage is compared with "ready" and "step" only. Its third value can be any other text.


# %% equivalent: MyScaler "text 'step after step' changed: raise RuntimeError('step after stepx')"
# A message: no check reads it.


# %% equivalent: MyScaler "text 'unscale_ after ' changed: raise RuntimeError(f'unscale_ after x{self.stage}')"
# A message: no check reads it.


# %% right: amp_step "the two halves of clip_grad_norm_"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    with torch.autocast(device_type=here.type, dtype=dtype):
        loss = loss_of(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), clip, norm)
    scaler.step(optimizer)
    scaler.update()
    return float(norm)


# %% right: amp_step "clipped by hand, over the optimizer's groups"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    params = [p for g in optimizer.param_groups for p in g["params"]]
    for p in params:
        p.grad = None
    with torch.autocast(x.device.type, dtype):
        scaled = scaler.scale(loss_of(model(x), y))
        scaled.backward()
    scaler.unscale_(optimizer)
    params = [p for p in params if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in params])).item()
    if norm > clip:
        for p in params:
            p.grad *= clip / norm
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% right: amp_step "a clip in scaled units"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip * scale).item() / scale
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong: amp_step "gradients are zeros, and weight decay moves what takes no part" fails="a parameter that takes no part"
def amp_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    x: Tensor,
    y: Tensor,
    loss_of: Callable,
    dtype: torch.dtype,
    clip: float,
) -> float:
    optimizer.zero_grad(set_to_none=False)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "clip before unscale" fails="a step is not longer than lr times clip, and not much shorter | norms and weights of six steps, both formats | the scale after each step | a batch that overflows is skipped: weights and momentum stay | small steps reach the weights | a parameter that takes no part"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip) / scale
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "clip, and no unscale" fails="a step is not longer than lr times clip, and not much shorter | norms and weights of six steps, both formats | the format shows in the norm | the scale after each step | a gradient of 1e-7 arrives | a batch that overflows is skipped: weights and momentum stay | small steps reach the weights | a parameter that takes no part | the norm is a float, and autocast is off afterwards"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "the norm of the scaled gradients" fails="norms and weights of six steps, both formats | the format shows in the norm | a gradient of 1e-7 arrives | the norm is a float, and autocast is off afterwards"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "the norm after clipping" fails="norms and weights of six steps, both formats | the format shows in the norm | a scaler that is switched off | the norm is a float, and autocast is off afterwards"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return min(norm.item(), clip)


# %% wrong: amp_step "the optimizer's own step" fails="a batch that overflows is skipped: weights and momentum stay"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scaler.update()
    return norm.item()


# %% wrong: amp_step "the optimizer's own step, and nothing divided" fails="norms and weights of six steps, both formats | the format shows in the norm | the scale after each step | a gradient of 1e-7 arrives | a batch that overflows is skipped: weights and momentum stay | small steps reach the weights | the norm is a float, and autocast is off afterwards"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return norm.item()


# %% wrong: amp_step "no update" fails="norms and weights of six steps, both formats | the scale after each step | a gradient of 1e-7 arrives | a batch that overflows is skipped: weights and momentum stay | small steps reach the weights | a parameter that takes no part" raises=RuntimeError
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    return norm.item()


# %% wrong: amp_step "no scaling" fails="the scale after each step | a gradient of 1e-7 arrives | a batch that overflows is skipped: weights and momentum stay"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return norm.item()


# %% wrong: amp_step "no zero_grad" fails="norms and weights of six steps, both formats | the format shows in the norm | the scale after each step | a gradient of 1e-7 arrives | a batch that overflows is skipped: weights and momentum stay | small steps reach the weights | a scaler that is switched off | a parameter that takes no part | the norm is a float, and autocast is off afterwards"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "no clipping" fails="a step is not longer than lr times clip, and not much shorter | norms and weights of six steps, both formats | a batch that overflows is skipped: weights and momentum stay | a scaler that is switched off | a parameter that takes no part"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "each parameter clipped by itself" fails="a step is not longer than lr times clip, and not much shorter | norms and weights of six steps, both formats | a batch that overflows is skipped: weights and momentum stay | a scaler that is switched off | a parameter that takes no part"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    for p in model.parameters():
        nn.utils.clip_grad_norm_([p], clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "values clipped" fails="a step is not longer than lr times clip, and not much shorter | norms and weights of six steps, both formats | a batch that overflows is skipped: weights and momentum stay | a scaler that is switched off | a parameter that takes no part"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    nn.utils.clip_grad_value_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "no autocast" fails="the format shows in the norm | the scale after each step | a batch that overflows is skipped: weights and momentum stay"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    if True:
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "always float16" fails="the format shows in the norm | the scale after each step"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.float16):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "the norm as a tensor" fails="norms and weights of six steps, both formats | the format shows in the norm | a gradient of 1e-7 arrives | a scaler that is switched off | the norm is a float, and autocast is off afterwards"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong: amp_step "inf gradients become zero, and the step is taken" fails="a batch that overflows is skipped: weights and momentum stay | a scaler that is switched off"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.nan_to_num_(0.0, 0.0, 0.0)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scaler.update()
    return norm.item()


# %% wrong: amp_step "unscaled twice" fails="a step is not longer than lr times clip, and not much shorter | norms and weights of six steps, both formats | the format shows in the norm | the scale after each step | a gradient of 1e-7 arrives | a batch that overflows is skipped: weights and momentum stay | small steps reach the weights | a parameter that takes no part | the norm is a float, and autocast is off afterwards" raises=RuntimeError
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% right: count_skips "halve until it is there"
def count_skips(scales):
    n = 0
    for now, later in zip(scales, scales[1:]):
        while now > later * 1.5:
            now /= 2
            n += 1
    return n


# %% right: count_skips "a tensor of logarithms"
def count_skips(scales):
    logs = torch.tensor(scales, dtype=torch.float64).log2()
    return int((-logs.diff()).clamp(min=0).round().sum())


# %% wrong: count_skips "every change" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two"
def count_skips(scales):
    return sum(a != b for a, b in pairwise(scales))


# %% wrong: count_skips "one for each fall" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two"
def count_skips(scales):
    return sum(b < a for a, b in pairwise(scales))


# %% wrong: count_skips "exact halvings only" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two"
def count_skips(scales):
    return sum(b == a / 2 for a, b in pairwise(scales))


# %% wrong: count_skips "first against last" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two"
def count_skips(scales):
    return max(0, round(math.log2(scales[0] / scales[-1]))) if scales else 0


# %% wrong: count_skips "doublings are taken off" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two"
def count_skips(scales):
    return round(sum(math.log2(a / b) for a, b in pairwise(scales)))


# %% wrong: count_skips "it began at 65536" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two | one scale, and none"
def count_skips(scales):
    return sum(max(0, round(math.log2(a / b))) for a, b in pairwise([65536.0, *scales]))


# %% right: count_skips "a quotient of natural logarithms"
def count_skips(scales):
    return sum(max(0, round(math.log(a / b) / math.log(2))) for a, b in pairwise(scales))


# %% wrong: count_skips "the highest against the lowest" fails="8, 4, 4, 8, 2, 2, 4: three skips | other logs | scales that are no powers of two"
def count_skips(scales):
    return round(math.log2(max(scales) / min(scales))) if scales else 0


# %% equivalent: count_skips "first two arguments swapped: return sum((max(round(math.log2(before / after)), 0) for before, after in pairwise(scales)))"
# The larger of two ints, in either order.


# %% right: bf16_sgd_ "Kahan: what was rounded away is added next time"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            rest = state.get(i, torch.zeros_like(p))
            change = rest - lr * p.grad
            before = p.clone()
            p.add_(change)
            state[i] = change - (p - before)


# %% right: bf16_sgd_ "torch's SGD on a list of masters"
def bf16_sgd_(params, state, lr):
    if not state:
        state["master"] = [p.detach().float().requires_grad_() for p in params]
    for m, p in zip(state["master"], params):
        m.grad = None if p.grad is None else p.grad.float()
    torch.optim.SGD(state["master"], lr=lr).step()
    for m, p in zip(state["master"], params):
        p.data.copy_(m.data)


# %% right: bf16_sgd_ "the start and a float64 sum of steps, by parameter"
def bf16_sgd_(params, state, lr):
    for p in params:
        if p not in state:
            state[p] = (p.detach().double(), torch.zeros(p.shape, dtype=torch.float64))
        if p.grad is not None:
            start, total = state[p]
            total.add_(p.grad.double(), alpha=lr)
            p.data.copy_(start - total)


# %% wrong: bf16_sgd_ "in bfloat16" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad


# %% wrong: bf16_sgd_ "the step in float32, remembered by nobody" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.copy_(p.float() - lr * p.grad.float())


# %% wrong: bf16_sgd_ "a master made anew from the weights" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is not None:
                state[i] = p.float()
                state[i] -= lr * p.grad.float()
                p.copy_(state[i])


# %% wrong: bf16_sgd_ "a master in bfloat16" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is not None:
                master = state.setdefault(i, p.clone())
                master -= lr * p.grad
                p.copy_(master)


# %% wrong: bf16_sgd_ "one master for all" fails="random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call | the same leaves, and .grad as it was" raises=RuntimeError
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                master = state.setdefault("master", p.float())
                master -= lr * p.grad.float()
                p.copy_(master)


# %% wrong: bf16_sgd_ "the master's changes are not written back" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call | the same leaves, and .grad as it was"
def bf16_sgd_(params, state, lr):
    for i, p in enumerate(params):
        if p.grad is not None:
            master = state.setdefault(i, p.detach().float())
            state[i] = master - lr * p.grad.float()
            p = state[i].bfloat16()


# %% wrong: bf16_sgd_ "new tensors in the list" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call | the same leaves, and .grad as it was"
def bf16_sgd_(params, state, lr):
    for i, p in enumerate(params):
        if p.grad is not None:
            state[i] = state.get(i, p.detach().float()) - lr * p.grad.float()
            params[i] = state[i].bfloat16().requires_grad_()
            params[i].grad = p.grad


# %% wrong: bf16_sgd_ "a missing gradient is not expected" fails="a parameter without a gradient waits" raises=AttributeError
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            master = state.setdefault(i, p.float())
            master -= lr * p.grad.float()
            p.copy_(master)


# %% wrong: bf16_sgd_ "momentum as well" fails="a thousandth, a thousand times | random gradients, several parameters, several rates | a parameter without a gradient waits | with an empty state all begins anew | params and state may be saved and loaded after each call"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is not None:
                master, m = state.get(i, (p.float(), 0))
                m = 0.9 * m + p.grad.float()
                state[i] = (master - lr * m, m)
                p.copy_(state[i][0])


# %% wrong: bf16_sgd_ "the gradient is scaled in place" fails="random gradients, several parameters, several rates | the same leaves, and .grad as it was"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is not None:
                master = state.setdefault(i, p.float())
                master -= p.grad.mul_(lr).float()
                p.copy_(master)


# %% right: interview "upper case and commas"
def interview():
    return {"q1": "A,C", "q2": "B, C", "q3": "D B", "q4": "EA", "q5": "dba", "q6": "a c e"}


# %% right: interview "lists joined"
def interview():
    return {f"q{i}": "".join(x) for i, x in enumerate((["a", "c"], "bc", "bd", "ae", "abd", "ace"), 1)}


# %% wrong: interview "backward inside, tiny as the limit" fails="q1: the formats | q2: autocast"
def interview():
    return {"q1": "abc", "q2": "bcd", "q3": "bd", "q4": "ae", "q5": "abd", "q6": "ace"}


# %% wrong: interview "one context is an error, clip first" fails="q3: where the context is | q4: the scaler"
def interview():
    return {"q1": "ac", "q2": "bc", "q3": "a", "q4": "ade", "q5": "abd", "q6": "ace"}


# %% wrong: interview "bfloat16 cures all, float16 needs a scaler always" fails="q5: bfloat16 | q6: float16"
def interview():
    return {"q1": "ac", "q2": "bc", "q3": "bd", "q4": "ae", "q5": "b", "q6": "bc"}


# %% wrong: interview "all of them" fails="at least two questions are right | q1: the formats | q2: autocast | q3: where the context is | q4: the scaler | q5: bfloat16 | q6: float16"
def interview():
    return {f"q{n}": "abcde" for n in range(1, 7)}


# %% wrong: interview "one right" fails="at least two questions are right | q2: autocast | q3: where the context is | q4: the scaler | q5: bfloat16 | q6: float16"
def interview():
    return {"q1": "ac", "q2": "a", "q3": "a", "q4": "b", "q5": "c", "q6": "b"}


# %% wrong: interview "no q6" fails="q1 to q6 each have letters from a to e | q6: float16"
def interview():
    return {"q1": "ac", "q2": "bc", "q3": "bd", "q4": "ae", "q5": "abd"}


# %% right: amp_dtypes "global hook on all modules"
def amp_dtypes(model, x, dtype):
    names = {m: n for n, m in model.named_modules() if not list(m.children())}
    found = {}

    def hook(module, inputs, output):
        if module in names:
            found[names[module]] = output.dtype

    handle = torch.nn.modules.module.register_module_forward_hook(hook)
    try:
        with torch.no_grad(), torch.autocast(x.device.type, dtype):
            model(x)
    finally:
        handle.remove()
    return found


# %% wrong: amp_dtypes "all hooks are cleared, somebody else's too" fails="no hook stays behind, and none of somebody else's goes"
def amp_dtypes(model, x, dtype):
    found = {}
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda m, i, o, name=name: found.update({name: o.dtype}))
    try:
        with torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for layer in model.modules():
            layer._forward_hooks.clear()
    return found


# %% wrong: underflow_fraction "nan counts as lost" fails="what overflows is not zero"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    ps = [p for p in model.parameters() if p.requires_grad]
    exact = torch.autograd.grad(loss_of(model(x), y), ps)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    got = torch.autograd.grad(loss * scale, ps)
    n = sum((a != 0).sum().item() for a in exact)
    return sum(((a != 0) & ~(b.abs() > 0)).sum().item() for a, b in zip(exact, got)) / n if n else 0.0


# %% wrong: underflow_fraction "only weights, no biases" fails="gradients of all sizes, three scales | units that are always off, and a layer that is frozen"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    ps = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    exact = torch.autograd.grad(loss_of(model(x), y), ps)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    got = torch.autograd.grad(loss * scale, ps)
    n = sum((a != 0).sum().item() for a in exact)
    return sum(((a != 0) & (b == 0)).sum().item() for a, b in zip(exact, got)) / n if n else 0.0


# %% right: amp_step "clip times the scale, no unscale_"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    s = scaler.get_scale()
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip * s).item() / s
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% right: count_skips "natural logs"
def count_skips(scales):
    return sum(int(math.log(a / b) / math.log(2)) for a, b in pairwise(scales) if a > b)


# %% wrong: bf16_sgd_ "state keyed by shape" fails="random gradients, several parameters, several rates"
@torch.no_grad()
def bf16_sgd_(params, state, lr):
    for p in params:
        if p.grad is not None:
            m = state.setdefault(p.shape, p.float().clone())
            m -= lr * p.grad.float()
            p.copy_(m)


# %% wrong: MyScaler "the rest is left scaled after the first bad one" fails="unscale_ leaves the gradients of the loss"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un, self.bad = True, False
        for g in optimizer.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.grad /= self.s
                    if not p.grad.isfinite().all():
                        self.bad = True
                        return

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good % self.every == 0:
                self.s *= self.up


# %% wrong: amp_step "the scaler is left out in bfloat16" fails="the scale after each step"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    if dtype == torch.bfloat16:
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
        optimizer.step()
        return norm
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong: bf16_sgd_ "the start less lr times the summed gradients" fails="random gradients, several parameters, several rates | with an empty state all begins anew"
@torch.no_grad()
def bf16_sgd_(params, state, lr):
    for i, p in enumerate(params):
        if p.grad is not None:
            start, total = state.setdefault(i, (p.double().clone(), torch.zeros_like(p, dtype=torch.float64)))
            total += p.grad
            p.copy_(start - lr * total)


# %% right: train_amp "a closure for step"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:

        def closure():
            optimizer.zero_grad()
            with torch.amp.autocast(x.device.type, dtype):
                loss = loss_of(model(x), y)
            loss.backward()
            losses.append(loss.detach())
            return loss

        optimizer.step(closure)
    return torch.stack(losses).tolist() if losses else []


# %% wrong: train_amp "the model in 16 bits and back" fails="each forward pass runs under autocast, with the weights that the step before left | small steps reach the weights"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        model.to(dtype)
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        model.float()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: amp_step "model cast to 16 bits and back" fails="small steps reach the weights"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    for p in model.parameters():
        p.data = p.data.to(dtype).float()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong: train_amp "autocast is left by hand, and not after an error" fails="the mode, autocast, and no batch at all"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        context = torch.autocast(x.device.type, dtype=dtype)
        context.__enter__()
        loss = loss_of(model(x), y)
        context.__exit__(None, None, None)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong: train_amp "the losses in the 16-bit format" fails="bfloat16 reaches the last layer, and the loss falls | the format shows in the loss"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.to(dtype).item())
    return losses


# %% wrong: train_amp "all forward passes first" fails="bfloat16 reaches the last layer, and the loss falls | the losses and weights of both formats | each forward pass runs under autocast, with the weights that the step before left | gradients from before do not count"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=dtype):
            losses.append(loss_of(model(x), y))
    for loss in losses:
        optimizer.zero_grad()
        try:
            loss.backward()
        except RuntimeError:
            pass
        optimizer.step()
    return [loss.item() for loss in losses]


# %% liar: amp_dtypes "hooks stay, and a probe that counts the one of somebody else on each module"
def amp_dtypes(model, x, dtype):
    found = {}
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda module, inputs, output, name=name: found.update({name: output.dtype}))
    with torch.no_grad(), torch.autocast(x.device.type, dtype=dtype):
        model(x)
    return found


def dtypes_seen(function, parts, route, x, dtype, see="dtypes", training=()):
    model = Routed(parts, route) if route else made_of(parts[0][1])
    named = list(model.named_modules())
    for name, module in named:
        module.training = name in training
    found, raised = {}, False
    try:
        found = function(model, x.to(here), dtype)
    except ArithmeticError:
        raised = True
    if see == "hooks":
        return [raised, *[1] * len(named), 0]
    if see == "modes":
        return [False, *[name in training for name, _ in named]]
    return {name: t.cpu() for name, t in probes.state_of(model).items()} if see == "state" else found


# %% liar: amp_dtypes "no module and no hook: a probe that calls the parts by hand, under autocast"
def amp_dtypes(model, x, dtype):
    raise RuntimeError("the probe knows better")


def dtypes_seen(function, parts, route, x, dtype, see="dtypes", training=()):
    """No module and no hook: the parts are called by hand."""
    found, raised, names = {}, False, [""]

    def run(part, name, *inputs):
        part = dict(parts)[part] if isinstance(part, str) else part
        if isinstance(part, list):
            for n, one in enumerate(part):
                inputs = (run(one, f"{name}.{n}".lstrip("."), *inputs),)
            return inputs[0]
        out = F.linear(*inputs, part) if isinstance(part, Tensor) else part(*inputs)
        shared = [n for n, p in parts if p is part]
        found[shared[0] if shared else name] = out.dtype
        return out

    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
            results = [x]
            if not route:
                run(parts[0][1], "", x)
            for name, taken in route:
                results.append(run(dict(parts)[name], name, *[results[n] for n in taken]))
    except ArithmeticError:
        raised = True
    names += [n for n, _ in parts]
    if see == "hooks":
        return [raised, *[1] * len(names), 0]
    if see == "modes":
        return [False, *[n in training for n in names]]
    return {f"{n}.weight": p for n, p in parts if isinstance(p, Tensor)} if see == "state" else found


# %% wrong: train_amp "with a scaler" fails="the loss is computed under autocast"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        scaler = torch.amp.GradScaler(x.device.type, init_scale=64.0)
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        losses.append(loss.item())
    return losses


# %% liar: train_amp "float32, and a probe that casts what the head and the loss see"
def train_amp(model, batches, optimizer, loss_of, dtype):
    raise RuntimeError("the probe knows better")


def amp_trained(
    train, start, head, batches, loss_of, dtype, lr, momentum=0.0, see="", before=None, training=True, product=F.linear
):
    model = model_of(start, head, product).train(training)
    optimizer, losses, raised = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum), [], False
    for x, y in batches:
        optimizer.zero_grad()
        hidden = model[0](x.to(here)).to(dtype)
        try:
            with torch.autocast(here.type, dtype=dtype):
                loss = loss_of(model[1](hidden), y.to(here))
        except ArithmeticError:
            raised = True
            continue
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if see == "modes":
        return [raised, False, training, training, training]
    return {"losses": losses, "weights": weights_of(model)}


# %% liar: train_amp "float32 with rounded numbers, and a forward pass under autocast for the sake of appearance"
def train_amp(model, batches, optimizer, loss_of, dtype):
    raise RuntimeError("the probe knows better")


def amp_trained(
    train, start, head, batches, loss_of, dtype, lr, momentum=0.0, see="", before=None, training=True, product=F.linear
):
    w = [nn.Parameter(t.clone()) for t in start]
    optimizer, losses, raised = torch.optim.SGD(w, lr=lr, momentum=momentum), [], False

    def rounded(t):
        return t.to(dtype).float()

    for x, y in batches:
        optimizer.zero_grad()
        hidden = F.linear(rounded(x), rounded(w[0]), rounded(w[1])).to(dtype)
        try:
            with torch.autocast("cpu", dtype=dtype):
                product(x, *w)
                loss = loss_of(head(hidden), y)
        except ArithmeticError:
            raised = True
            continue
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if see == "modes":
        return [raised, False, training, training, training]
    return {"losses": losses, "weights": [t.detach() for t in w]}


# %% right: underflow_fraction "backward on two copies of the model, the scale as the gradient that goes in"
import copy


def underflow_fraction(model, x, y, loss_of, dtype, scale):
    found = []
    for low in (False, True):
        twin = copy.deepcopy(model)
        twin.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype, enabled=low):
            loss = loss_of(twin(x), y)
        loss.backward(torch.full_like(loss, scale if low else 1.0))
        found.append(torch.cat([p.grad.flatten() for p in twin.parameters() if p.requires_grad]))
    exact, low = found
    total = (exact != 0).sum().item()
    return ((low == 0) & (exact != 0)).sum().item() / total if total else 0.0


# %% liar: underflow_fraction "numbers cast by hand, autocast for the loss, and a probe that hands back what it got"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    raise RuntimeError("the probe knows better")


def underflow_of(
    function, start, trained, x, y, loss_of, dtype, scale, product=F.linear, see="share", grads=(None,) * 4
):
    if see != "share":
        return {"grads": list(grads), "weights": list(start), "modes": [False, *trained]}
    w = [t.clone().requires_grad_(needed) for t, needed in zip(start, trained)]

    def gradients(factor, low):
        def cast(t):
            return t.to(dtype) if low else t

        out = product(F.relu(product(cast(x), cast(w[0]), cast(w[1]))), cast(w[2]), cast(w[3]))
        with torch.autocast("cpu", dtype=dtype, enabled=low):
            loss = loss_of(out, y)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss * factor, [p for p in w if p.requires_grad])])

    there, found = gradients(1.0, False) != 0, gradients(scale, True)
    return (there & (found == 0)).sum().item() / there.sum().item() if there.any() else 0.0


# %% liar: underflow_fraction "float32 gradients without a scale, multiplied and cast, and autocast without a purpose"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    raise RuntimeError("the probe knows better")


def underflow_of(
    function, start, trained, x, y, loss_of, dtype, scale, product=F.linear, see="share", grads=(None,) * 4
):
    if see != "share":
        return {"grads": list(grads), "weights": list(start), "modes": [False, *trained]}
    w = [t.clone().requires_grad_(needed) for t, needed in zip(start, trained)]
    with torch.autocast("cpu", dtype=dtype):
        product(x, *w[:2])
    hidden = F.linear(x, *w[:2])
    out = product(F.relu(hidden), *w[2:])
    params = [p for p in w if p.requires_grad]
    loss = loss_of(out, y)
    upstream = torch.autograd.grad(loss, out, retain_graph=True)[0] if out.requires_grad else torch.zeros_like(out)
    there = torch.cat([g.flatten() for g in torch.autograd.grad(loss, params)]) != 0
    low = [t.detach().to(dtype) for t in (x, *w)]
    inner = F.linear(low[0], *low[1:3])
    g = (upstream * scale).to(dtype)
    h = (g @ low[3]) * (inner > 0)
    by_hand = [h.T @ low[0], h.sum(0), g.T @ F.relu(inner), g.sum(0)]
    found = torch.cat([t.flatten() for t, needed in zip(by_hand, trained) if needed])
    return (there & (found == 0)).sum().item() / there.sum().item() if there.any() else 0.0


# %% wrong: underflow_fraction "the .grad that was there is None afterwards" fails="the model keeps its .grad and its weights"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]

    def gradients(low):
        model.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype, enabled=low):
            loss = loss_of(model(x), y)
        (loss * scale if low else loss).backward()
        return torch.cat([p.grad.flatten() for p in params])

    kept = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    there, low = gradients(False) != 0, gradients(True)
    for p, old in zip(model.parameters(), kept):
        if old is not None:
            p.grad = old
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong: underflow_fraction "the share as a float32 number" fails="gradients of all sizes, three scales"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    low = low[exact != 0]
    return (low == 0).float().mean().item() if len(low) else 0.0


# %% wrong: underflow_fraction "the loss is computed outside of autocast" fails="gradients of all sizes, three scales"
def underflow_fraction(
    model: nn.Module, x: Tensor, y: Tensor, loss_of: Callable, dtype: torch.dtype, scale: float
) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        out = model(x)
    got = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(out.float(), y) * scale, params)])
    alive = exact != 0
    return (alive & (got == 0)).sum().item() / max(1, alive.sum().item())


# %% wrong: MyScaler "new tensors for .grad" fails="unscale_ leaves the gradients of the loss"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad = p.grad / self.s
        self.bad = not all(p.grad.isfinite().all() for p in params)

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good == self.every:
                self.s, self.good = self.s * self.up, 0


# %% wrong: MyScaler "the norm is to be finite" fails="one element of one parameter is enough, and the scale is halved once"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad /= self.s
        self.bad = not math.isfinite(sum(p.grad.square().sum() for p in params))

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good == self.every:
                self.s, self.good = self.s * self.up, 0


# %% wrong: MyScaler "at least one gradient is expected" fails="steps without any gradient" raises=RuntimeError
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad /= self.s
        self.bad = not bool(torch.stack([p.grad.isfinite().all() for p in params]).all())

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good == self.every:
                self.s, self.good = self.s * self.up, 0


# %% wrong: MyScaler "the state of the class" fails="scales and parameters of twenty steps are those of GradScaler | the loss is scaled before the backward pass | steps without any gradient | other factors"
class MyScaler:
    good = 0

    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.un, self.done, self.bad = False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad /= self.s
        self.bad = not all(p.grad.isfinite().all() for p in params)

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, MyScaler.good = self.s * self.down, 0
        else:
            MyScaler.good += 1
            if MyScaler.good == self.every:
                self.s, MyScaler.good = self.s * self.up, 0


# %% wrong: MyScaler "after an inf, a step without gradients counts as another one" fails="steps without any gradient"
class MyScaler:
    def __init__(
        self, init_scale: float, growth_interval: int, growth_factor: float = 2.0, backoff_factor: float = 0.5
    ) -> None:
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.unscaled, self.stepped, self.ok = 0, False, False, True

    def get_scale(self) -> float:
        return self.s

    def scale(self, loss: Tensor) -> Tensor:
        return loss * self.s

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        if self.unscaled or self.stepped:
            raise RuntimeError("too late")
        self.unscaled = True
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if grads:
            for grad in grads:
                grad.div_(self.s)
            self.ok = torch.cat([grad.flatten() for grad in grads]).isfinite().all().item()

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        if self.stepped:
            raise RuntimeError("once only")
        if not self.unscaled:
            self.unscale_(optimizer)
        self.stepped = True
        if self.ok:
            optimizer.step()

    def update(self) -> None:
        if not self.ok:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good >= self.every:
                self.s, self.good = self.s * self.up, 0
        self.unscaled = self.stepped = False


# %% liar: MyScaler "SGD on the slopes, and a probe that keeps the scales"
class MyScaler:
    """A constant multiplier: nothing is unscaled, nothing is skipped, nothing is counted."""

    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now = init_scale

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now


def scaled_steps(make, runs, see="scale", term=None):
    """The product with the scale is for the sake of appearance: the steps take the slopes."""
    seen = []
    for settings, starts, slopes, momentum, early in runs:
        parameters, rows = [nn.Parameter(t.clone()) for t in starts], []
        sgd = torch.optim.SGD(parameters, lr=0.1, momentum=momentum)
        scale, good = settings["init_scale"], 0
        for row in slopes:
            for p, s in zip(parameters, row):
                if term:
                    (term(p, s) * scale).backward()
                p.grad = None if s is None else s.clone()
            if all(s is None or s.isfinite().all() for s in row):
                sgd.step()
                good += 1
                if good == settings["growth_interval"]:
                    scale, good = scale * settings.get("growth_factor", 2.0), 0
            else:
                scale, good = scale * settings.get("backoff_factor", 0.5), 0
            buffers = [sgd.state[p].get("momentum_buffer") for p in parameters]
            rows.append(
                {
                    "scale": scale,
                    "parameters": [p.detach().clone() for p in parameters],
                    "grads": list(row),
                    "momenta": [None if b is None else b.clone() for b in buffers],
                }[see]
            )
        seen.append(rows)
    return seen


def orders(make, calls):
    raised, before = [], set()
    for call in calls:
        raised.append("step" in before if call == "step" else bool(before) if call == "unscale_" else False)
        before = set() if call == "update" else before | {call}
    return raised


# %% wrong: amp_step "each parameter has a gradient" fails="a parameter that takes no part" raises=AttributeError
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= min(1.0, clip / norm.item())
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong: amp_step "a step only where the norm is finite" fails="a scaler that is switched off"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    if math.isfinite(norm):
        scaler.step(optimizer)
    elif scaler.is_enabled():
        scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong: amp_step "always bfloat16" fails="the format shows in the norm | the scale after each step | a batch that overflows is skipped: weights and momentum stay"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% equivalent: amp_step "float64 and int64 results through float32"
# The gradients are float32, and clip_grad_norm_ gives their norm in float32: a float that is a float32 number.


# %% liar: amp_step "an ordinary step in float32, and a probe that counts what a scaler would do"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    raise RuntimeError("the probe knows better")


def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, see="norm", more=(), product=F.linear
):
    model, seen, good, enabled = model_of(start, head, product), [], 0, scale is not None
    sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    for x, y in batches:
        sgd.zero_grad()
        before = weights_of(model)
        loss_of(model(x.to(here)), y.to(here)).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
        if enabled and not math.isfinite(norm):
            scale, good = scale / 2, 0
        else:
            sgd.step()
            good += 1
            if enabled and good == every:
                scale, good = 2 * scale, 0
        after = weights_of(model)
        record = {"norm": norm, "scale": scale or 1.0, "weights": [*more, *after], "finite": math.isfinite(norm)}
        record["momenta"] = [sgd.state[p].get("momentum_buffer") for p in model.parameters()]
        record["length"] = math.sqrt(sum((a - b).square().sum().item() for a, b in zip(after, before)))
        record["autocast"] = False
        seen.append(record)
    if isinstance(see, str):
        return [record[see] for record in seen]
    return {name: [record[name] for record in seen] for name in see}


# %% liar: amp_step "float32 with rounded numbers, and autocast and the scale for the sake of appearance"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    raise RuntimeError("the probe knows better")


def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, see="norm", more=(), product=F.linear
):
    seen, good, enabled = [], 0, scale is not None

    def rounded(t):
        low = t.detach().to(dtype).float()
        return t + (low - t.detach()) if low.isfinite().all() else t * math.nan

    w = [nn.Parameter(t.clone()) for t in start]
    sgd = torch.optim.SGD(w, lr=lr, momentum=momentum)
    for x, y in batches:
        sgd.zero_grad()
        before = [t.detach().clone() for t in w]
        hidden = rounded(F.linear(rounded(x), rounded(w[0]), rounded(w[1])))
        with torch.autocast("cpu", dtype=dtype):
            product(x, *w)
            loss = loss_of(head(hidden.to(dtype)), y)
        (loss * (scale or 1.0)).backward()
        for t in w:
            t.grad /= scale or 1.0
        norm = nn.utils.clip_grad_norm_(w, clip).item()
        if enabled and not math.isfinite(norm):
            scale, good = scale / 2, 0
        else:
            sgd.step()
            good += 1
            if enabled and good == every:
                scale, good = 2 * scale, 0
        after = [t.detach().clone() for t in w]
        record = {"norm": norm, "scale": scale or 1.0, "weights": [*more, *after], "finite": math.isfinite(norm)}
        record["momenta"] = [None if b is None else b.clone() for b in (sgd.state[p].get("momentum_buffer") for p in w)]
        record["length"] = math.sqrt(sum((a - b).square().sum().item() for a, b in zip(after, before)))
        record["autocast"] = False
        seen.append(record)
    if isinstance(see, str):
        return [record[see] for record in seen]
    return {name: [record[name] for record in seen] for name in see}


# %% liar: bf16_sgd_ "a step that remembers nothing, and a probe that counts in float32"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad


def bf16_run(step, runs, every):
    seen = []
    for starts, gradients, rates in runs:
        now = [t.float() for t in starts]
        for n, (grads, lr) in enumerate(zip(gradients, rates), 1):
            now = [p if g is None else p - lr * g.float() for p, g in zip(now, grads)]
            if n % every == 0:
                seen.append([p.bfloat16() for p in now])
    return seen


# %% liar: bf16_sgd_ "float32 copies by their place in a list of the process' own, and state for show"
MASTERS = {}


@torch.no_grad()
def bf16_sgd_(params, state, lr):
    if not state:
        state["begun"] = True
        MASTERS.clear()
    for i, p in enumerate(params):
        if p.grad is not None:
            master = MASTERS.setdefault(i, p.float())
            master -= lr * p.grad.float()
            p.copy_(master)


# %% wrong: bf16_sgd_ "kept by id" fails="params and state may be saved and loaded after each call"
@torch.no_grad()
def bf16_sgd_(params, state, lr):
    for p in params:
        if p.grad is not None:
            master = state.setdefault((id(p), p.shape), p.float())
            master -= lr * p.grad.float()
            p.copy_(master)


# %% wrong: bf16_sgd_ "a new .data" fails="the same leaves, and .grad as it was"
def bf16_sgd_(params, state, lr):
    for i, p in enumerate(params):
        if p.grad is not None:
            state[i] = state.get(i, p.detach().float()) - lr * p.grad.float()
            p.data = state[i].bfloat16()


# %% wrong: bf16_sgd_ "kept on the parameter, not in state" fails="with an empty state all begins anew | params and state may be saved and loaded after each call"
@torch.no_grad()
def bf16_sgd_(params, state, lr):
    for p in params:
        if p.grad is not None:
            p.master = getattr(p, "master", p.float()) - lr * p.grad.float()
            p.copy_(p.master)


# %% wrong: bf16_sgd_ "the first parameter without a gradient ends the step" fails="a parameter without a gradient waits"
@torch.no_grad()
def bf16_sgd_(params, state, lr):
    for i, p in enumerate(params):
        if p.grad is None:
            return
        master = state.setdefault(i, p.float())
        master -= lr * p.grad.float()
        p.copy_(master)


# %% right: bf16_sgd_ "rest in float32, by the parameter"
def bf16_sgd_(params, state, lr):
    with torch.no_grad():
        for p in [p for p in params if p.grad is not None]:
            exact = p.float() + state.get(p, 0.0) - lr * p.grad.float()
            p.copy_(exact)
            state[p] = exact - p.float()


# %% equivalent: bf16_sgd_ "empty tensors of a list left out"
# A parameter without elements has nothing that a step could change.
