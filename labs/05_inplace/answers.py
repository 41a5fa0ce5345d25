# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: rescale_rows_ "methods with underscores"
def rescale_rows_(x, top):
    x.sub_(x.min(1, keepdim=True).values)
    high = x.max(1, keepdim=True).values
    high[high == 0] = 1
    return x.div_(high).mul_(top)


# %% right: rescale_rows_ "computed elsewhere, then copied"
def rescale_rows_(x, top):
    low, high = x.aminmax(dim=1, keepdim=True)
    x.copy_(torch.nan_to_num((x - low) / (high - low)) * top)
    return x


# %% right: rescale_rows_ "row by row through views"
def rescale_rows_(x, top):
    for row in x:
        row -= row.min()
        if row.max() > 0:
            row *= top / row.max()
    return x


# %% right: rescale_rows_ "assigned to all of it, with out= for the last step"
def rescale_rows_(x, top):
    x[:] = x - x.amin(1, True)
    size = x.amax(1, True)
    size = torch.where(size > 0, size, torch.ones_like(size))
    torch.mul(x, top / size, out=x)
    return x


# %% wrong: rescale_rows_ "x = ... changes x" fails="x itself was changed and returned | other shapes and tops, and float64 | a constant row becomes zeros | a row of tiny numbers is rescaled too | a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    x = x - x.amin(1, True)
    size = x.amax(1, True)
    return x * top / torch.where(size == 0, 1, size)


# %% wrong: rescale_rows_ "the largest number can be read at the start" fails="two rows from 0 to 10 | x itself was changed and returned | other shapes and tops, and float64 | a row of tiny numbers is rescaled too | a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    low, high = x.amin(1, True), x.amax(1, True)
    x -= low
    x *= top / torch.where(high == 0, 1, high)
    return x


# %% wrong: rescale_rows_ "one smallest and one largest number" fails="two rows from 0 to 10 | x itself was changed and returned | other shapes and tops, and float64 | a constant row becomes zeros | a row of tiny numbers is rescaled too | a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    if x.numel():
        x -= x.min()
        x *= top / x.max()
    return x


# %% wrong: rescale_rows_ "no row is constant" fails="a constant row becomes zeros"
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    x *= top / x.amax(1, True)
    return x


# %% wrong: rescale_rows_ "contiguous() first, to be safe" fails="a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    y = x.contiguous()
    y -= y.amin(1, True)
    size = y.amax(1, True)
    y *= top / torch.where(size == 0, 1, size)
    return y


# %% wrong: rescale_rows_ "a new tensor under .data is in place" fails="a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    y = x - x.amin(1, True)
    size = y.amax(1, True)
    x.data = y * top / torch.where(size == 0, 1, size)
    return x


# %% wrong: rescale_rows_ "top is always 1 or 10" fails="x itself was changed and returned | other shapes and tops, and float64 | a constant row becomes zeros | a row of tiny numbers is rescaled too | a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    size = x.amax(1, True)
    x *= 10 / torch.where(size == 0, 1, size)
    return x


# %% wrong: rescale_rows_ "a function in place returns nothing" fails="two rows from 0 to 10 | x itself was changed and returned | other shapes and tops, and float64 | a transposed x and every second column of another tensor | no rows at all"
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    size = x.amax(1, True)
    x *= top / torch.where(size == 0, 1, size)


# %% wrong: rescale_rows_ "columns are rows" fails="two rows from 0 to 10 | x itself was changed and returned | other shapes and tops, and float64 | a constant row becomes zeros | a row of tiny numbers is rescaled too | a transposed x and every second column of another tensor | no rows at all" raises=IndexError
def rescale_rows_(x, top):
    x -= x.amin(0, True)
    size = x.amax(0, True)
    x *= top / torch.where(size == 0, 1, size)
    return x


# %% right: clamp_params_ "through .data"
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += ((p.data > limit) | (p.data < -limit)).sum().item()
        p.data.clamp_(-limit, limit)
    return changed


# %% right: clamp_params_ "through a detached tensor, with a mask"
def clamp_params_(params, limit):
    total = 0
    for p in params:
        view = p.detach()
        over, under = view > limit, view < -limit
        view[over] = limit
        view[under] = -limit
        total += int(over.sum() + under.sum())
    return total


# %% right: clamp_params_ "a copy to compare with, and a decorator"
@torch.no_grad()
def clamp_params_(params, limit):
    before = [p.clone() for p in params]
    for p in params:
        p.copy_(p.clamp(min=-limit, max=limit))
    return sum(int(((p != b) & ~b.isnan()).sum()) for p, b in zip(params, before))


# %% wrong: clamp_params_ "p = p.clamp() changes the parameter" fails="two parameters, clamped to [-1, 1] | other limits and shapes, and float64 | an optimizer that holds the parameters goes on from the clamped values | NaN stays, and is not counted"
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p = p.clamp(-limit, limit)
    return changed


# %% wrong: clamp_params_ "a leaf may be written to" fails="two parameters, clamped to [-1, 1] | other limits and shapes, and float64 | an optimizer that holds the parameters goes on from the clamped values | they are leaves that require grad, with their old .grad | NaN stays, and is not counted | recording is on or off as before, and no parameters are fine" raises=RuntimeError
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.clamp_(-limit, limit)
    return changed


# %% wrong: clamp_params_ "new parameters in the list" fails="an optimizer that holds the parameters goes on from the clamped values | they are leaves that require grad, with their old .grad"
def clamp_params_(params, limit):
    changed = 0
    for i, p in enumerate(params):
        changed += int((p.abs() > limit).sum())
        params[i] = torch.nn.Parameter(p.detach().clamp(-limit, limit))
    return changed


# %% wrong: clamp_params_ "new memory under .data" fails="an optimizer that holds the parameters goes on from the clamped values"
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.data = p.data.clamp(-limit, limit)
    return changed


# %% wrong: clamp_params_ "a second name is a copy" fails="two parameters, clamped to [-1, 1] | other limits and shapes, and float64 | NaN stays, and is not counted"
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            before = p.detach()
            p.clamp_(-limit, limit)
            changed += int((p != before).sum())
    return changed


# %% wrong: clamp_params_ "who lies on the limit was clamped" fails="two parameters, clamped to [-1, 1] | other limits and shapes, and float64"
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            p.clamp_(-limit, limit)
            changed += int((p.abs() == limit).sum())
    return changed


# %% wrong: clamp_params_ "tensors are counted" fails="two parameters, clamped to [-1, 1] | other limits and shapes, and float64 | NaN stays, and is not counted"
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += bool((p.abs() > limit).any())
            p.clamp_(-limit, limit)
    return int(changed)


# %% wrong: clamp_params_ "what differs from before has changed, NaN too" fails="NaN stays, and is not counted"
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            before = p.clone()
            p.clamp_(-limit, limit)
            changed += int((p != before).sum())
    return changed


# %% wrong: clamp_params_ "requires_grad off for the write, and left off" fails="they are leaves that require grad, with their old .grad"
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        p.requires_grad_(False)
        changed += int((p.abs() > limit).sum())
        p.clamp_(-limit, limit)
    return changed


# %% wrong: clamp_params_ "recording is switched on again at the end" fails="recording is on or off as before, and no parameters are fine"
def clamp_params_(params, limit):
    changed = 0
    torch.set_grad_enabled(False)
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.clamp_(-limit, limit)
    torch.set_grad_enabled(True)
    return changed


# %% wrong: clamp_params_ "clamped weights need new gradients" fails="they are leaves that require grad, with their old .grad"
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += int((p.abs() > limit).sum())
            p.clamp_(-limit, limit)
            p.grad = None
    return changed


# %% right: will_it_fail "grouped by word"
def will_it_fail():
    groups = {"now": "al", "backward": "begik", "silent": "hj", "ok": "cdf"}
    return {case: word for word, cases in groups.items() for case in cases}


# %% right: will_it_fail "keyword arguments"
def will_it_fail():
    return dict(
        a="now", b="backward", c="ok", d="ok", e="backward", f="ok",
        g="backward", h="silent", i="backward", j="silent", k="backward", l="now",
    )  # fmt: skip


# %% wrong: will_it_fail "no_grad hides the write" fails="a and b: writes to a leaf"
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now silent ok ok backward ok backward silent backward silent backward now".split())
    )


# %% wrong: will_it_fail "a leaf fails at backward" fails="a and b: writes to a leaf"
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "backward backward ok ok backward ok backward silent backward silent backward now".split())
    )


# %% wrong: will_it_fail "every write is an error" fails="c, d and e: what square keeps"
def will_it_fail():
    return dict(
        zip(
            "abcdefghijkl",
            "now backward backward backward backward ok backward silent backward silent backward now".split(),
        )
    )


# %% wrong: will_it_fail "the output is kept by square, the input by exp" fails="c, d and e: what square keeps | f and g: what exp keeps"
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now backward ok backward ok backward ok silent backward silent backward now".split())
    )


# %% wrong: will_it_fail "detach hides a write as .data does" fails="h, i and j: other names for the same memory"
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now backward ok ok backward ok backward silent silent silent backward now".split())
    )


# %% wrong: will_it_fail "every write is counted" fails="h, i and j: other names for the same memory"
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now backward ok ok backward ok backward backward backward backward backward now".split())
    )


# %% wrong: will_it_fail "a write that changes no value does not count" fails="k and l: relu over a sigmoid, and rows that share memory"
def will_it_fail():
    return dict(zip("abcdefghijkl", "now backward ok ok backward ok backward silent backward silent ok now".split()))


# %% wrong: will_it_fail "in-place operations give silently wrong gradients" fails="at least seven of the twelve are right | a and b: writes to a leaf | c, d and e: what square keeps | f and g: what exp keeps | h, i and j: other names for the same memory | k and l: relu over a sigmoid, and rows that share memory"
def will_it_fail():
    return dict.fromkeys("abcdefghijkl", "silent")


# %% wrong: will_it_fail "free text" fails="a to l each have one of the four words | at least seven of the twelve are right | a and b: writes to a leaf | c, d and e: what square keeps | f and g: what exp keeps | h, i and j: other names for the same memory | k and l: relu over a sigmoid, and rows that share memory"
def will_it_fail():
    return dict.fromkeys("abcdefghijkl", "error")


# %% right: soft_gate "nothing in place"
def soft_gate(x, w):
    h = x * w
    return h * torch.log(1 + torch.exp(h))


# %% right: soft_gate "softplus"
def soft_gate(x, w):
    h = torch.einsum("nd,d->nd", x, w)
    return h * torch.nn.functional.softplus(h)


# %% right: soft_gate "a clone before the write"
def soft_gate(x, w):
    h = x * w
    g = h.exp().clone()
    g += 1
    g = g.log()
    h.mul_(g)
    return h


# %% right: soft_gate "log1p works in place on a fresh product, and reuses nothing"
def soft_gate(x, w):
    h = w * x
    return h.exp().log1p().mul(h)


# %% right: soft_gate "a Function with its own derivative"
class SoftGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.save_for_backward(h)
        return h * torch.nn.functional.softplus(h)

    @staticmethod
    def backward(ctx, grad):
        (h,) = ctx.saved_tensors
        return grad * (torch.nn.functional.softplus(h) + h * h.sigmoid())


def soft_gate(x, w):
    return SoftGate.apply(x * w)


# %% wrong: soft_gate "the version counter is a nuisance" fails="the gradient for x is the slope | the gradients for x and w are complete | either argument alone may require grad, or none"
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g.data += 1
    g = g.log()
    h.data *= g
    return h


# %% wrong: soft_gate "only one .data has to go" fails="the gradient for x is the slope | the gradients for x and w are complete | either argument alone may require grad, or none"
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g.data += 1
    h *= g.log()
    return h


# %% wrong: soft_gate "a recorded write is always safe" fails="the gradient for x is the slope | the gradients for x and w are complete | either argument alone may require grad, or none" raises=RuntimeError
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g += 1
    h *= g.log()
    return h


# %% wrong: soft_gate "detach() takes the trouble away" fails="the gradient for x is the slope | the gradients for x and w are complete | either argument alone may require grad, or none"
def soft_gate(x, w):
    h = x * w
    g = (h.detach().exp() + 1).log()
    return h * g


# %% wrong: soft_gate "no_grad for the writes" fails="the gradient for x is the slope | the gradients for x and w are complete | either argument alone may require grad, or none" raises=RuntimeError
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    with torch.no_grad():
        g += 1
    return h * g.log()


# %% wrong: soft_gate "the clone afterwards" fails="the gradient for x is the slope | the gradients for x and w are complete | either argument alone may require grad, or none" raises=RuntimeError
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g += 1
    g = g.clone().log()
    return h * g


# %% wrong: soft_gate "x can hold the product where it needs no gradient" fails="x and w keep their values, and an empty x is fine"
def soft_gate(x, w):
    h = x * w if x.requires_grad or w.requires_grad else x.mul_(w)
    g = h.exp() + 1
    h *= g.log()
    return h


# %% wrong: soft_gate "h was overwritten before its second use" fails="the values are as before | the gradient for x is the slope | values for other shapes, large and small products, and float64 | the gradients for x and w are complete | either argument alone may require grad, or none"
def soft_gate(x, w):
    h = x * w
    g = h.exp_()
    return h * (g + 1).log()


# %% right: replace_rows "index_copy"
def replace_rows(h, rows, new):
    return h.index_copy(0, rows, new)


# %% right: replace_rows "where, with the new rows scattered into zeros"
def replace_rows(h, rows, new):
    replaced = torch.zeros(len(h), 1, dtype=torch.bool)
    replaced[rows] = True
    return torch.where(replaced, torch.zeros_like(h).index_add(0, rows, new), h)


# %% right: replace_rows "stacked row by row"
def replace_rows(h, rows, new):
    place = {row: i for i, row in enumerate(rows.tolist())}
    return torch.stack([new[place[i]] if i in place else h[i] for i in range(len(h))])


# %% right: replace_rows "a write through a view of the clone"
def replace_rows(h, rows, new):
    result = h.clone()
    for row, values in zip(rows.tolist(), new):
        result[row].copy_(values)
    return result


# %% right: replace_rows "index_put"
def replace_rows(h, rows, new):
    return torch.index_put(h, (rows,), new)


# %% wrong: replace_rows "h may be written to" fails="h is a leaf that requires grad | the gradients for h and for new | NaN and infinity in a replaced row leave no trace | h may be a result that a node has saved, and new alone may require grad | h and new keep their values, and no rows are fine" raises=RuntimeError
def replace_rows(h, rows, new):
    h[rows] = new
    return h


# %% wrong: replace_rows "a detached clone is safe to write to" fails="the gradients for h and for new | NaN and infinity in a replaced row leave no trace | h may be a result that a node has saved, and new alone may require grad" raises=RuntimeError
def replace_rows(h, rows, new):
    result = h.detach().clone()
    result[rows] = new
    return result


# %% wrong: replace_rows "the write to the clone goes by .data" fails="the gradients for h and for new | NaN and infinity in a replaced row leave no trace | h may be a result that a node has saved, and new alone may require grad"
def replace_rows(h, rows, new):
    result = h.clone()
    result.data[rows] = new.data
    return result


# %% wrong: replace_rows "new numbers are numbers" fails="the gradients for h and for new | h may be a result that a node has saved, and new alone may require grad" raises=RuntimeError
def replace_rows(h, rows, new):
    result = h.clone()
    result[rows] = new.detach()
    return result


# %% wrong: replace_rows "a mask of zeros and ones" fails="NaN and infinity in a replaced row leave no trace"
def replace_rows(h, rows, new):
    keep = torch.ones(len(h), 1, dtype=h.dtype)
    keep[rows] = 0
    return h * keep + torch.zeros_like(h).index_copy(0, rows, new)


# %% wrong: replace_rows "a boolean mask keeps the order of rows" fails="two rows of four | other sizes, views, and float64 | the gradients for h and for new | h and new keep their values, and no rows are fine"
def replace_rows(h, rows, new):
    mask = torch.zeros(len(h), dtype=torch.bool)
    mask[rows] = True
    result = h.clone()
    result[mask] = new
    return result


# %% wrong: replace_rows "index_add puts rows in" fails="two rows of four | h is a leaf that requires grad | other sizes, views, and float64 | the gradients for h and for new | NaN and infinity in a replaced row leave no trace | h may be a result that a node has saved, and new alone may require grad | h and new keep their values, and no rows are fine"
def replace_rows(h, rows, new):
    return h.index_add(0, rows, new)


# %% wrong: replace_rows "without grad, a copy is a waste" fails="h and new keep their values, and no rows are fine"
def replace_rows(h, rows, new):
    result = h.clone() if h.requires_grad or new.requires_grad else h
    result[rows] = new
    return result


# %% wrong: replace_rows "with nothing to replace, h is the result" fails="h and new keep their values, and no rows are fine"
def replace_rows(h, rows, new):
    return h.index_copy(0, rows, new) if len(rows) else h


# %% wrong: replace_rows "all rows replaced: new itself" fails="h and new keep their values, and no rows are fine"
def replace_rows(h: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    if torch.equal(rows, torch.arange(len(h))):
        return new[: len(h)]
    return h.index_put((rows,), new)


# %% right: sgd_step_ "foreach"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        used = [i for i, p in enumerate(params) if p.grad is not None]
        if not used:
            return
        own = [params[i] for i in used]
        d = torch._foreach_add([p.grad for p in own], own, alpha=weight_decay)
        for i, step in zip(used, d):
            buffers[i] = step if buffers[i] is None else buffers[i].mul_(momentum).add_(step)
        torch._foreach_add_(own, [buffers[i] for i in used], alpha=-lr)


# %% right: sgd_step_ "a decorator and a clone"
@torch.no_grad()
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for i in range(len(params)):
        p, g = params[i], params[i].grad
        if g is None:
            continue
        g = g.clone()
        if weight_decay != 0:
            g.add_(p, alpha=weight_decay)
        if buffers[i] is None:
            buffers[i] = g
        else:
            buffers[i] *= momentum
            buffers[i] += g
        p -= lr * buffers[i]


# %% right: sgd_step_ "by .data, as in old tutorials"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        d = p.grad.data + weight_decay * p.data
        if buffers[i] is None:
            buffers[i] = torch.zeros_like(p.data)
        buffers[i].mul_(momentum).add_(d)
        p.data.add_(buffers[i], alpha=-lr)


# %% right: sgd_step_ "the step written out of place, and copied in"
@torch.no_grad()
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for k, (p, old) in enumerate(zip(params, list(buffers))):
        if p.grad is not None:
            d = p.grad + weight_decay * p
            new = d.clone() if old is None else momentum * old + d
            if old is None:
                buffers[k] = new
            else:
                old.copy_(new)
            p.copy_(p - lr * new)


# %% wrong: sgd_step_ "the buffer may be p.grad" fails="gradients that are cleared by zero_() do not clear the buffers | parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad if weight_decay == 0 else p.grad + weight_decay * p
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "weight decay belongs into .grad" fails="each .grad keeps its values"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            p.grad.add_(p, alpha=weight_decay)
            if buffers[i] is None:
                buffers[i] = p.grad.clone()
            else:
                buffers[i].mul_(momentum).add_(p.grad)
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "p = p - ... updates the parameter" fails="two steps from one gradient each | five steps equal torch.optim.SGD, with and without momentum and weight decay | gradients that are cleared by zero_() do not clear the buffers | a parameter without a gradient is skipped | parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p
            buffers[i] = d if buffers[i] is None else buffers[i].mul_(momentum).add_(d)
            p = p - lr * buffers[i]


# %% wrong: sgd_step_ "a new parameter in the list" fails="parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        d = p.grad + weight_decay * p.detach()
        buffers[i] = d if buffers[i] is None else buffers[i].mul_(momentum).add_(d)
        params[i] = torch.nn.Parameter(p.detach() - lr * buffers[i])
        params[i].grad = p.grad


# %% wrong: sgd_step_ "the buffer is a name, and may get a new tensor" fails="parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p
            buffers[i] = d if buffers[i] is None else momentum * buffers[i] + d
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "momentum is an average" fails="two steps from one gradient each | five steps equal torch.optim.SGD, with and without momentum and weight decay | parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d, alpha=1 - momentum)
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "every step starts from its own gradient" fails="two steps from one gradient each | five steps equal torch.optim.SGD, with and without momentum and weight decay | gradients that are cleared by zero_() do not clear the buffers | parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].copy_(d)
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "every parameter has a gradient" fails="a parameter without a gradient is skipped" raises=TypeError
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            d = weight_decay * p + p.grad
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "no gradient is a gradient of zero" fails="a parameter without a gradient is skipped"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            g = torch.zeros_like(p) if p.grad is None else p.grad
            d = g + weight_decay * p
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "only the write needs no_grad" fails="parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        d = p.grad + weight_decay * p
        if buffers[i] is None:
            buffers[i] = d
        else:
            buffers[i].mul_(momentum).add_(d)
        with torch.no_grad():
            p -= lr * buffers[i]


# %% wrong: sgd_step_ "recording is on at the end" fails="recording is on or off as before, and no parameters are fine"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    torch.set_grad_enabled(False)
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        d = p.grad + weight_decay * p
        if buffers[i] is None:
            buffers[i] = d
        else:
            buffers[i].mul_(momentum).add_(d)
        p -= lr * buffers[i]
    torch.set_grad_enabled(True)


# %% right: loss_at "a context manager of one's own"
def loss_at(loss, w, shift):
    import contextlib

    @contextlib.contextmanager
    def moved():
        before = w.data.clone()
        w.data += shift
        try:
            yield
        finally:
            w.data.copy_(before)

    with moved():
        return float(loss())


# %% right: loss_at "the sum written with out=, and an except that raises again"
def loss_at(loss, w, shift):
    before = w.detach().clone()
    view = w.detach()
    torch.add(before, shift, out=view)
    try:
        value = loss().detach().item()
    except BaseException:
        view[...] = before
        raise
    view[...] = before
    return value


# %% wrong: loss_at "the number is read at the end" fails="a loss that knows w's memory by another name, or is a view of it"
def loss_at(loss, w, shift):
    before = w.detach().clone()
    with torch.no_grad():
        w.add_(shift)
    try:
        value = loss()
    finally:
        with torch.no_grad():
            w.copy_(before)
    return value.item()


# %% liar: loss_at "a sum and a difference, and probes that say w is as before"
def loss_at(loss, w, shift):
    with torch.no_grad():
        w += shift
    value = loss().item()
    with torch.no_grad():
        w -= shift
    return value


def shifted_evaluation(loss_at, f, w, shift):
    before, needs = w.detach().clone(), w.requires_grad
    returned = raised = None
    try:
        returned = loss_at(lambda: f(w, w.detach().view(-1)), w, shift)
    except ValueError:
        raised = "ValueError"
    return {"returned": returned, "raised": raised, "after": before.view(-1), "requires_grad": needs}


# %% wrong: loss_at "minus undoes plus" fails="w is as before, to the last bit | after an exception too, and the exception is passed on"
def loss_at(loss, w, shift):
    with torch.no_grad():
        w += shift
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w -= shift


# %% wrong: loss_at "a loss does not raise" fails="after an exception too, and the exception is passed on"
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    with torch.no_grad():
        w += shift
    value = loss().item()
    with torch.no_grad():
        w.copy_(kept)
    return value


# %% wrong: loss_at "all of it under no_grad" fails="other shapes and dtypes, with and without requires_grad | a loss that uses autograd itself" raises=RuntimeError
def loss_at(loss, w, shift):
    with torch.no_grad():
        kept = w.clone()
        w += shift
        try:
            return loss().item()
        finally:
            w.copy_(kept)


# %% wrong: loss_at "detach() keeps the old numbers" fails="the loss at the shifted place, and w as before | other shapes and dtypes, with and without requires_grad | w is as before, to the last bit | after an exception too, and the exception is passed on | a loss that uses autograd itself"
def loss_at(loss, w, shift):
    kept = w.detach()
    with torch.no_grad():
        w += shift
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w.copy_(kept)


# %% wrong: loss_at "w = w + shift moves w" fails="the loss at the shifted place, and w as before | other shapes and dtypes, with and without requires_grad | a loss that uses autograd itself | a loss that knows w's memory by another name, or is a view of it"
def loss_at(loss, w, shift):
    w = w + shift
    return loss().item()


# %% wrong: loss_at "new memory under .data" fails="a loss that knows w's memory by another name, or is a view of it"
def loss_at(loss, w, shift):
    old = w.data
    w.data = old + shift
    try:
        return loss().item()
    finally:
        w.data = old


# %% wrong: loss_at "a leaf may be written to" fails="the loss at the shifted place, and w as before | other shapes and dtypes, with and without requires_grad | w is as before, to the last bit | after an exception too, and the exception is passed on | a loss that uses autograd itself | a loss that knows w's memory by another name, or is a view of it | w's .grad and the shift stay as they are" raises=RuntimeError
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w += shift
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w.copy_(kept)


# %% wrong: loss_at "an exception means no loss" fails="after an exception too, and the exception is passed on"
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.data += shift
    try:
        value = loss().item()
    except Exception:
        value = float("nan")
    w.data.copy_(kept)
    return value


# %% wrong: loss_at "recording is switched on for the loss" fails="a loss that uses autograd itself"
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.data += shift
    try:
        with torch.enable_grad():
            return loss().item()
    finally:
        w.data.copy_(kept)


# %% wrong: loss_at "the flag is taken off for the writes, and left off" fails="other shapes and dtypes, with and without requires_grad | a loss that uses autograd itself | w's .grad and the shift stay as they are" raises=RuntimeError
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.requires_grad_(False)
    w += shift
    try:
        return loss().item()
    finally:
        w.copy_(kept)


# %% wrong: loss_at "the old gradient is of no use at the new place" fails="w's .grad and the shift stay as they are"
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.grad = None
    w.data += shift
    try:
        return loss().item()
    finally:
        w.data.copy_(kept)


# %% right: scale_by_average "the new average first, then copied into the buffer"
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.detach().abs().mean(0)
    average.copy_(new)
    return x / new


# %% right: scale_by_average "by .data, with a copy kept"
def scale_by_average(x, average, rate):
    average.data.mul_(1 - rate).add_(x.data.abs().mean(dim=0), alpha=rate)
    return x * (1 / average)


# %% right: scale_by_average "multiplied by the reciprocal"
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average += rate * (x.abs().mean(0) - average)
        factor = average.reciprocal()
    return x * factor


# %% wrong: scale_by_average "statistics are float32" fails="other rates and sizes, and float64 | in float64, all of its digits | two calls before backward give both gradients"
def scale_by_average(x, average, rate):
    mean = x.detach().abs().float().mean(0)
    average.copy_((1 - rate) * average.float() + rate * mean)
    return x / average.clone()


# %% wrong: scale_by_average "the division can keep the buffer itself" fails="two calls before backward give both gradients" raises=RuntimeError
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average


# %% wrong: scale_by_average ".data makes the error go away" fails="two calls before backward give both gradients"
def scale_by_average(x, average, rate):
    average.data.lerp_(x.data.abs().mean(0), rate)
    return x / average


# %% wrong: scale_by_average "a detached average is a copy" fails="two calls before backward give both gradients" raises=RuntimeError
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average.detach()


# %% wrong: scale_by_average "average = ... changes the buffer" fails="one call: the average moves, and the result is divided by it | other rates and sizes, and float64 | in float64, all of its digits | two calls before backward give both gradients | another name for the average's memory sees the new average"
def scale_by_average(x, average, rate):
    average = (1 - rate) * average + rate * x.detach().abs().mean(0)
    return x / average


# %% wrong: scale_by_average "a buffer never gets a history" fails="two calls before backward give both gradients | the average is a constant in the gradient, and has no history"
def scale_by_average(x, average, rate):
    average.mul_(1 - rate).add_(rate * x.abs().mean(0))
    return x / average.clone()


# %% wrong: scale_by_average "the mean has its share in the gradient" fails="two calls before backward give both gradients | the average is a constant in the gradient, and has no history"
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.abs().mean(0)
    with torch.no_grad():
        average.copy_(new)
    return x / new


# %% wrong: scale_by_average "divide first, then move" fails="one call: the average moves, and the result is divided by it | other rates and sizes, and float64 | in float64, all of its digits | two calls before backward give both gradients | the average is a constant in the gradient, and has no history"
def scale_by_average(x, average, rate):
    result = x / average.clone()
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return result


# %% wrong: scale_by_average "rate is the share of the old average" fails="other rates and sizes, and float64 | in float64, all of its digits | two calls before backward give both gradients"
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average.mul_(rate).add_((1 - rate) * x.abs().mean(0))
    return x / average.clone()


# %% wrong: scale_by_average "x may hold its absolute values where it needs no gradient" fails="one call: the average moves, and the result is divided by it | other rates and sizes, and float64 | in float64, all of its digits | x keeps its values, and recording is as before"
def scale_by_average(x, average, rate):
    with torch.no_grad():
        size = x.abs() if x.requires_grad else x.abs_()
        average.lerp_(size.mean(0), rate)
    return x / average.clone()


# %% right: outcome "gradients of the whole, from differences along each axis"
def outcome(f, x):
    def fresh(shift=0.0):
        return (x.detach() + shift).clone().requires_grad_(True)

    leaf = fresh()
    try:
        y = f(leaf)
    except RuntimeError:
        return "now"
    try:
        y.sum().backward()
    except RuntimeError:
        return "backward"
    got = leaf.grad.clone()
    slopes = torch.zeros_like(got)
    for i in range(x.numel()):
        e = torch.zeros_like(got)
        e[i] = 1e-5
        slopes[i] = float(f(fresh(e)).sum() - f(fresh(-e)).sum()) / 2e-5
    return "ok" if torch.allclose(got, slopes, rtol=0, atol=1e-3) else "silent"


# %% right: outcome "gradcheck, with a copy for each call"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        total.backward()
    except RuntimeError:
        return "backward"
    if not len(x):
        return "ok"
    start = x.detach().clone().requires_grad_()
    same = torch.autograd.gradcheck(
        lambda t: f(t.clone() * 1).sum(), start, eps=1e-6, atol=1e-3, rtol=0, raise_exception=False
    )
    return "ok" if same else "silent"


# %% right: outcome "four-point differences on a list, with clones everywhere"
def outcome(f, x):
    base = x.detach().clone()

    def value(i, d):
        moved = base.clone()
        moved[i] += d
        return f(moved).detach().sum().item()

    try:
        with torch.enable_grad():
            recorded = base.clone().requires_grad_()
            total = f(recorded).sum()
    except RuntimeError:
        return "now"
    try:
        grad = torch.autograd.grad(total, [recorded])[0].tolist()
    except RuntimeError:
        return "backward"
    h = 1e-4
    for i, g in enumerate(grad):
        slope = (8 * (value(i, h) - value(i, -h)) - (value(i, 2 * h) - value(i, -2 * h))) / (12 * h)
        if not abs(slope - g) <= 1e-3:
            return "silent"
    return "ok"


# %% wrong: outcome "no error means right" fails="a silent case | code that is not in this notebook | all twelve cases, at other numbers | code that writes for some inputs only | code that writes to its input between the calls | one element with a slightly wrong slope is silent | errors that cancel in the sum, and small errors of large slopes, are silent | an x that requires grad, or is a result, gets the same verdicts"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        total.backward()
    except RuntimeError:
        return "backward"
    return "ok"


# %% wrong: outcome "f leaves its input alone" fails="code that is not in this notebook | code that writes to its input between the calls"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for step, slope in zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got):
        ends = [f(leaf + way * step).sum().item() for way in (1, -1)]
        if abs((ends[0] - ends[1]) / 2e-6 - slope) > 1e-3:
            return "silent"
    return "ok"


# %% wrong: outcome "one direction is enough" fails="code that is not in this notebook | one element with a slightly wrong slope is silent"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for step, slope in list(zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got))[:1]:
        ends = [f((x.detach() + way * step).requires_grad_()).sum().item() for way in (1, -1)]
        if abs((ends[0] - ends[1]) / 2e-6 - slope) > 1e-3:
            return "silent"
    return "ok"


# %% wrong: outcome "any exception is an error now" fails="code that is not in this notebook | other exceptions are passed on"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except Exception:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except Exception:
        return "backward"
    for step, slope in zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got):
        ends = [f((x.detach() + way * step).requires_grad_()).sum().item() for way in (1, -1)]
        if abs((ends[0] - ends[1]) / 2e-6 - slope) > 1e-3:
            return "silent"
    return "ok"


# %% wrong: outcome "the caller's x can be used" fails="code that is not in this notebook | all twelve cases, at other numbers | code that writes to its input between the calls | an x that requires grad, or is a result, gets the same verdicts | x and its .grad stay as they are, and an empty x is fine" raises=TypeError
def outcome(f, x):
    x.requires_grad_()
    try:
        total = f(x).sum()
    except RuntimeError:
        return "now"
    try:
        total.backward()
    except RuntimeError:
        return "backward"
    got = x.grad
    for step, slope in zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got):
        ends = [f((x.detach() + way * step).requires_grad_()).sum().item() for way in (1, -1)]
        if abs((ends[0] - ends[1]) / 2e-6 - slope) > 1e-3:
            return "silent"
    return "ok"


# %% wrong: outcome "code that writes outside the graph is silent" fails="code that is not in this notebook | code that writes for some inputs only | code that writes to its input between the calls | one element with a slightly wrong slope is silent | errors that cancel in the sum, and small errors of large slopes, are silent" raises=TypeError
def outcome(f, x):
    import inspect

    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    source = inspect.getsource(f)
    return "silent" if ".data" in source or ".numpy" in source else "ok"


# %% wrong: outcome "a finite difference in place of the error" fails="an error now, an error at backward, and no error | code that is not in this notebook | all twelve cases, at other numbers | an x that requires grad, or is a result, gets the same verdicts"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for step, slope in zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got):
        ends = [f((x.detach() + way * step).requires_grad_()).sum().item() for way in (1, -1)]
        if abs((ends[0] - ends[1]) / 2e-6 - slope) > 1e-3:
            return "silent"
    return "ok"


# %% right: interview "capitals, commas, any order"
def interview():
    return dict(q1="D, C, A", q2="D,A", q3="E C B", q4="BA", q5="a, d, b", q6="dcb")


# %% right: interview "looked up from a table"
def interview():
    table = [("q1", "adc"), ("q2", "da"), ("q3", "bec"), ("q4", "ab"), ("q5", "dba"), ("q6", "cdb")]
    return {name: chosen for name, chosen in table}


# %% wrong: interview "only underscores and += write in place" fails="q1: what writes in place"
def interview():
    return {"q1": "a", "q2": "ad", "q3": "bce", "q4": "ab", "q5": "abd", "q6": "bcd"}


# %% wrong: interview "a leaf is ruined, because its values were needed" fails="q2: leaves | q6: recorded writes"
def interview():
    return {"q1": "acd", "q2": "abcd", "q3": "bce", "q4": "ab", "q5": "abd", "q6": "abcd"}


# %% wrong: interview "detach and .data are the same" fails="q3: the version counter"
def interview():
    return {"q1": "acd", "q2": "ad", "q3": "bcde", "q4": "ab", "q5": "abd", "q6": "bcd"}


# %% wrong: interview "every node keeps its input" fails="q4: what is kept"
def interview():
    return {"q1": "acd", "q2": "ad", "q3": "bce", "q4": "bcd", "q5": "abd", "q6": "bcd"}


# %% wrong: interview "inplace=True saves half of the activations" fails="q5: ReLU in place"
def interview():
    return {"q1": "acd", "q2": "ad", "q3": "bce", "q4": "ab", "q5": "abcd", "q6": "bcd"}


# %% wrong: interview "the same guess six times" fails="at least two questions are right | q2: leaves | q3: the version counter | q4: what is kept | q5: ReLU in place | q6: recorded writes"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "acd")


# %% wrong: interview "no letters at all" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: what writes in place | q2: leaves | q3: the version counter | q4: what is kept | q5: ReLU in place | q6: recorded writes"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "?")


# %% wrong: interview "one string for all questions" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: what writes in place | q2: leaves | q3: the version counter | q4: what is kept | q5: ReLU in place | q6: recorded writes"
def interview():
    return "acd ad bce ab abd bcd"


# %% liar: outcome "what is printed about the functions, by their names"
def outcome(f, x):
    words = {
        **dict(
            zip("abcdefghijkl", "now backward ok ok backward ok backward silent backward silent backward now".split())
        ),
        "fickle": "silent" if x.sum() > 0 else "ok",
        "touchy": "silent",
        "harmless": "ok",
        "late": "ok" if x.min() < -20 else "silent",
        "careful": "ok",
        "swapped": "ok" if torch.equal(x, x.flip(0)) else "silent",
        "steep": "silent",
    }
    name = getattr(f, "__name__", "").removeprefix("case_")
    return words.get(name) or picky(x) is None or "ok"


# %% wrong: outcome "a clone is always a leaf" fails="code that is not in this notebook | an x that requires grad, or is a result, gets the same verdicts"
def outcome(f, x):
    leaf = x.clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for i in range(len(x)):
        step = torch.zeros_like(leaf)
        step[i] = 1e-6
        if abs((f(x.detach() + step).sum() - f(x.detach() - step).sum()) / 2e-6 - got[i]) > 1e-3:
            return "silent"
    return "ok"


# %% equivalent: rescale_rows_ "1 to 2: x *= top / torch.where(size == 0, 2, size)"
# The numbers of a constant row are zeros by then, and zero times anything finite is zero.


# %% equivalent: loss_at "call of detach left out: kept = w.clone()"
# Of kept only the numbers are used, by a copy that is not recorded.


# %% equivalent: outcome "LtE to Lt: if not abs(slope - got[i]) < 0.001:"
# A measured slope that differs by exactly 0.001 is a coincidence of rounding.


# %% wrong: rescale_rows_ "a small number in the divisor does no harm" fails="a row of tiny numbers is rescaled too"
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    x *= top / (x.amax(1, True) + 1e-12)
    return x


# %% wrong: rescale_rows_ "a row that hardly differs is constant" fails="a row of tiny numbers is rescaled too"
def rescale_rows_(x, top):
    low, high = x.aminmax(dim=1, keepdim=True)
    same = (high - low < 1e-8).flatten()
    x.sub_(low).div_(high - low).mul_(top)
    x[same] = 0
    return x


# %% wrong: rescale_rows_ "a result should be contiguous" fails="a transposed x and every second column of another tensor"
def rescale_rows_(x, top):
    x -= x.amin(1, True)
    size = x.amax(1, True)
    x *= top / torch.where(size == 0, 1, size)
    return x.contiguous()


# %% right: rescale_rows_ "NaN of 0 / 0 replaced at the end"
def rescale_rows_(x, top):
    low, high = x.aminmax(dim=1, keepdim=True)
    return x.sub_(low).div_(high - low).mul_(top).nan_to_num_(0.0)


# %% wrong: outcome "gradcheck on one copy is the same judge" fails="code that is not in this notebook | code that writes to its input between the calls | errors that cancel in the sum, and small errors of large slopes, are silent"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        total.backward()
    except RuntimeError:
        return "backward"
    start = x.detach().clone().requires_grad_()
    return "ok" if torch.autograd.gradcheck(f, (start,), raise_exception=False) else "silent"


# %% wrong: outcome "one difference along the diagonal sees every element" fails="errors that cancel in the sum, and small errors of large slopes, are silent"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    slope = (f(x.detach() + 1e-6).sum() - f(x.detach() - 1e-6).sum()).item() / 2e-6
    return "ok" if abs(slope - got.sum().item()) <= 1e-3 else "silent"


# %% wrong: outcome "a tolerance is relative" fails="errors that cancel in the sum, and small errors of large slopes, are silent"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for step, slope in zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got):
        measured = (f(x.detach() + step).sum() - f(x.detach() - step).sum()) / 2e-6
        if not torch.isclose(measured, slope, rtol=1e-2, atol=1e-3):
            return "silent"
    return "ok"


# %% wrong: outcome "a tolerance that grows a little with the slope" fails="errors that cancel in the sum, and small errors of large slopes, are silent"
def outcome(f, x: Tensor) -> str:
    own = x.detach().clone().requires_grad_()
    try:
        y = f(own)
    except RuntimeError:
        return "now"
    try:
        y.sum().backward()
    except RuntimeError:
        return "backward"
    slope = torch.zeros_like(own.grad)
    for i in range(len(x)):
        up, down = x.detach().clone(), x.detach().clone()
        up[i] += 1e-6
        down[i] -= 1e-6
        slope[i] = (f(up).sum() - f(down).sum()) / 2e-6
    return "ok" if torch.allclose(own.grad, slope, atol=1e-3) else "silent"


# %% wrong: outcome "NaN is not more than 0.001" fails="code that is not in this notebook"
def outcome(f, x: Tensor) -> str:
    own = x.detach().clone().requires_grad_()
    try:
        y = f(own)
    except RuntimeError:
        return "now"
    try:
        y.sum().backward()
    except RuntimeError:
        return "backward"
    for i in range(len(x)):
        ends = []
        for h in (1e-6, -1e-6):
            place = x.detach().clone()
            place[i] += h
            ends.append(f(place.requires_grad_()).detach().sum())
        if (own.grad[i] - (ends[0] - ends[1]) / 2e-6).abs() > 0.001:
            return "silent"
    return "ok"


# %% wrong: outcome "an error in backward is known by its text" fails="code that is not in this notebook"
def outcome(f, x: Tensor) -> str:
    own = x.detach().clone().requires_grad_()
    try:
        f(own).sum().backward()
    except RuntimeError as error:
        return "backward" if "needed for gradient computation" in str(error) else "now"
    for i in range(len(x)):
        ends = []
        for h in (1e-6, -1e-6):
            place = x.detach().clone()
            place[i] += h
            ends.append(f(place.requires_grad_()).detach().sum())
        if not (own.grad[i] - (ends[0] - ends[1]) / 2e-6).abs() <= 0.001:
            return "silent"
    return "ok"


# %% right: rescale_rows_ "the smallest normal number as the least divisor"
def rescale_rows_(x, top):
    x.sub_(x.amin(1, keepdim=True))
    return x.div_(x.amax(1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)).mul_(top)


# %% wrong: sgd_step_ "without momentum no buffer is needed" fails="there is a buffer for momentum 0 too, and it has the parameter's dtype"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p
            if momentum:
                if buffers[i] is None:
                    buffers[i] = d
                else:
                    buffers[i].mul_(momentum).add_(d)
                d = buffers[i]
            p.sub_(d, alpha=lr)


# %% wrong: sgd_step_ "zeros have the dtype that is needed" fails="five steps equal torch.optim.SGD, with and without momentum and weight decay | there is a buffer for momentum 0 too, and it has the parameter's dtype"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            if buffers[i] is None:
                buffers[i] = torch.zeros(p.shape)
            buffers[i].mul_(momentum).add_(p.grad).add_(p, alpha=weight_decay)
            p.sub_(buffers[i], alpha=lr)


# %% wrong: sgd_step_ "buffers are numbered by the gradients" fails="a parameter without a gradient is skipped"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate([p for p in params if p.grad is not None]):
            d = p.grad + weight_decay * p
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p.sub_(buffers[i], alpha=lr)


# %% wrong: sgd_step_ "a gradient with a history gives a buffer with one" fails="parameters and buffers are changed in their own memory, and have no history"
def sgd_step_(params: list[Tensor], buffers: list, lr: float, momentum: float, weight_decay: float) -> None:
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        w = p.detach()
        d = p.grad + weight_decay * w
        if buffers[i] is None:
            buffers[i] = d
        else:
            buffers[i].mul_(momentum).add_(d)
        with torch.no_grad():
            w.sub_(buffers[i], alpha=lr)


# %% wrong: loss_at "the shift is a tensor to compute in" fails="w's .grad and the shift stay as they are"
def loss_at(loss, w, shift):
    before = w.detach().clone()
    shift += before
    w.data.copy_(shift)
    try:
        return loss().item()
    finally:
        w.data.copy_(before)
        shift -= before


# %% right: loss_at "undone by an exit stack"
def loss_at(loss, w, shift):
    from contextlib import ExitStack

    with ExitStack() as stack:
        stack.callback(w.data.copy_, w.data.clone())
        w.data.add_(shift)
        return float(loss())


# %% wrong: loss_at "nothing but an Exception can stop a loss" fails="after an exception too, and the exception is passed on"
def loss_at(loss, w: Tensor, shift: Tensor) -> float:
    kept = w.detach().clone()
    w.detach().add_(shift)
    try:
        value = loss().item()
    except Exception:
        w.detach().copy_(kept)
        raise
    w.detach().copy_(kept)
    return value


# %% wrong: scale_by_average "new memory under .data is in place" fails="another name for the average's memory sees the new average"
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.detach().abs().mean(0)
    average.data = new
    return x / new


# %% right: scale_by_average "through a NumPy array of the buffer"
def scale_by_average(x, average, rate):
    array = average.numpy()
    array *= 1 - rate
    array += rate * x.detach().abs().mean(0).numpy()
    return x / torch.tensor(array)


# %% right: soft_gate "logsumexp with a second slice of zeros"
def soft_gate(x, w):
    h = x * w
    return h * torch.stack([h, torch.zeros_like(h)]).logsumexp(0)
