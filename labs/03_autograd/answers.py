# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: value_and_slope "the power rule, term by term"
def value_and_slope(coefficients, x):
    degree = len(coefficients) - 1
    value, slope = torch.zeros_like(x), torch.zeros_like(x)
    for i, c in enumerate(coefficients):
        power = degree - i
        value = value + c * x**power
        if power > 0:
            slope = slope + c * power * x ** (power - 1)
    return value, slope


# %% right: value_and_slope "Horner twice, with the coefficients of the derivative"
def value_and_slope(coefficients, x):
    def horner(numbers):
        result = torch.zeros_like(x)
        for number in numbers:
            result = result * x + number
        return result

    degree = len(coefficients) - 1
    return horner(coefficients), horner([c * (degree - i) for i, c in enumerate(coefficients[:-1])])


# %% right: value_and_slope "autograd computes the slope, and Python numbers start the loop"
def value_and_slope(coefficients, x):
    value = 0.0
    for c in coefficients:
        value = value * x + c
    inner = x.detach().clone().requires_grad_()
    again = 0.0
    for c in coefficients:
        again = again * inner + c
    again.sum().backward()
    return [value, inner.grad]


# %% wrong: value_and_slope "the value first, then the slope with the new value" fails="the polynomial above: values 9 and 33, slopes 15 and 34 at 2 and 3 | other polynomials, shapes and float64 as well | at x = 0 both are finite | a constant has slope zero, in x's shape and dtype"
def value_and_slope(coefficients, x):
    value = slope = torch.zeros_like(x)
    for c in coefficients:
        value = value * x + c
        slope = slope * x + value
    return value, slope


# %% wrong: value_and_slope "the power rule holds for the constant as well: 0 * x ** -1" fails="at x = 0 both are finite"
def value_and_slope(coefficients, x):
    degree = len(coefficients) - 1
    value = sum(c * x ** (degree - i) for i, c in enumerate(coefficients))
    slope = sum((degree - i) * c * x ** (degree - i - 1) for i, c in enumerate(coefficients))
    return value, slope


# %% wrong: value_and_slope "the lowest power comes first" fails="the polynomial above: values 9 and 33, slopes 15 and 34 at 2 and 3 | other polynomials, shapes and float64 as well | at x = 0 both are finite | the gradient of value, by autograd, is slope"
def value_and_slope(coefficients, x):
    value = slope = torch.zeros_like(x)
    for c in reversed(coefficients):
        slope = slope * x + value
        value = value * x + c
    return value, slope


# %% wrong: value_and_slope "NumPy can do the arithmetic" fails="the gradient of value, by autograd, is slope" raises=RuntimeError
def value_and_slope(coefficients, x):
    points = x.detach().numpy()
    value = torch.tensor(np.polyval(coefficients, points), dtype=x.dtype)
    slope = torch.tensor(np.polyval(np.polyder(coefficients), points), dtype=x.dtype)
    return value.reshape(x.shape), slope.reshape(x.shape)


# %% wrong: value_and_slope "a constant's slope is the number zero" fails="a constant has slope zero, in x's shape and dtype"
def value_and_slope(coefficients, x):
    value, slope = coefficients[0] + 0 * x, 0.0
    for c in coefficients[1:]:
        slope = slope * x + value
        value = value * x + c
    return value, slope


# %% wrong: value_and_slope "in place saves memory" fails="x keeps its values"
def value_and_slope(coefficients, x):
    value = slope = torch.zeros_like(x)
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    if not x.requires_grad:
        x.copy_(value)
    return value, slope


# %% wrong: value_and_slope "a finite difference is near enough" fails="the polynomial above: values 9 and 33, slopes 15 and 34 at 2 and 3 | other polynomials, shapes and float64 as well | at x = 0 both are finite"
def value_and_slope(coefficients, x):
    def value_at(x):
        value = torch.zeros_like(x)
        for c in coefficients:
            value = value * x + c
        return value

    h = 1e-3
    return value_at(x), (value_at(x + h) - value_at(x - h)) / (2 * h)


# %% right: trainable "torch.tensor makes a leaf, and warns"
def trainable(values, scale):
    return {
        name: torch.tensor(t * scale, requires_grad=True) if t.is_floating_point() else torch.tensor(t)
        for name, t in values.items()
    }


# %% right: trainable "a Parameter of the detached product"
def trainable(values, scale):
    result = {}
    for name, t in values.items():
        if t.dtype in (torch.float32, torch.float64):
            result[name] = torch.nn.Parameter((t * scale).detach())
        else:
            result[name] = t.detach().clone()
    return result


# %% right: trainable "no_grad, then the flag"
def trainable(values, scale):
    with torch.no_grad():
        result = {name: t * scale if t.is_floating_point() else t.clone() for name, t in values.items()}
    for t in result.values():
        t.requires_grad = t.is_floating_point()
    return result


# %% wrong: trainable "mark first, then scale" fails="a float32 tensor gives a leaf that requires grad, with scaled values | several tensors, other shapes and float64 | a starting value that requires grad gives a leaf too | backward fills .grad of the parameters, and of nothing behind them"
def trainable(values, scale):
    result = {}
    for name, t in values.items():
        if t.is_floating_point():
            result[name] = t.detach().clone().requires_grad_() * scale
        else:
            result[name] = t.clone()
    return result


# %% wrong: trainable "requires_grad_() makes a leaf of anything" fails="a starting value that requires grad gives a leaf too | backward fills .grad of the parameters, and of nothing behind them"
def trainable(values, scale):
    return {n: (scale * t).requires_grad_() if t.is_floating_point() else t.clone() for n, t in values.items()}


# %% wrong: trainable "every tensor can be trained" fails="integer and boolean tensors come back unscaled and without grad | the results share no memory with the starting values" raises=RuntimeError
def trainable(values, scale):
    return {name: (scale * t.detach()).to(t.dtype).requires_grad_() for name, t in values.items()}


# %% wrong: trainable "detach() copies" fails="the results share no memory with the starting values | the starting values stay as they are"
def trainable(values, scale):
    result = {}
    for name, t in values.items():
        t = t.detach()
        result[name] = t.mul_(scale).requires_grad_() if t.is_floating_point() else t
    return result


# %% wrong: trainable "what is not trained needs no copy" fails="the results share no memory with the starting values"
def trainable(values, scale):
    return {n: (scale * t.detach()).requires_grad_() if t.is_floating_point() else t for n, t in values.items()}


# %% wrong: trainable "scale everything" fails="integer and boolean tensors come back unscaled and without grad"
def trainable(values, scale):
    result = {name: (scale * t.detach()).to(t.dtype) for name, t in values.items()}
    return {name: t.requires_grad_() if t.is_floating_point() else t for name, t in result.items()}


# %% wrong: trainable "training is done in float32" fails="several tensors, other shapes and float64"
def trainable(values, scale):
    return {
        n: (scale * t.detach()).float().requires_grad_() if t.is_floating_point() else t.clone()
        for n, t in values.items()
    }


# %% wrong: trainable "the starting values are marked in passing" fails="the starting values stay as they are"
def trainable(values, scale):
    result = {}
    for name, t in values.items():
        if t.is_floating_point():
            t.requires_grad_()
            result[name] = (scale * t).detach().requires_grad_()
        else:
            result[name] = t.clone()
    return result


# %% right: manual_grads "einsum names the axes"
def manual_grads(W, b, X, Y):
    R = torch.einsum("ni,oi->no", X, W) + b - Y
    return {
        "W": 2 * torch.einsum("no,ni->oi", R, X),
        "b": 2 * torch.einsum("no->o", R),
        "X": 2 * torch.einsum("no,oi->ni", R, W),
    }


# %% right: manual_grads "sample by sample, with outer products"
def manual_grads(W, b, X, Y):
    gW, gb, gX = torch.zeros_like(W), torch.zeros_like(b), torch.zeros_like(X)
    for n in range(len(X)):
        r = 2 * (W @ X[n] + b - Y[n])
        gW += torch.outer(r, X[n])
        gb += r
        gX[n] = r @ W
    return dict(W=gW, b=gb, X=gX)


# %% right: manual_grads "broadcasting and sums"
def manual_grads(W, b, X, Y):
    R = 2 * ((X[:, None, :] * W).sum(-1) + b - Y)
    return {"X": (R[:, :, None] * W).sum(1), "W": (R[:, :, None] * X[:, None, :]).sum(0), "b": R.sum(dim=0)}


# %% wrong: manual_grads "autograd is switched on again" fails="five samples, three inputs and two outputs" raises=RuntimeError
def manual_grads(W: Tensor, b: Tensor, X: Tensor, Y: Tensor) -> dict[str, Tensor]:
    with torch.enable_grad():
        leaves = {name: t.detach().clone().requires_grad_() for name, t in {"W": W, "b": b, "X": X}.items()}
        loss = ((leaves["X"] @ leaves["W"].T + leaves["b"] - Y) ** 2).sum()
        return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))


# %% wrong: manual_grads "the 2 of the square does not matter" fails="the example above, and two more samples | five samples, three inputs and two outputs | float32 with a transposed X | one sample and one input keep their axes"
def manual_grads(W, b, X, Y):
    R = X @ W.T + b - Y
    return {"W": R.T @ X, "b": R.sum(0), "X": R @ W}


# %% wrong: manual_grads "a loss is a mean over the batch" fails="the example above, and two more samples | five samples, three inputs and two outputs | float32 with a transposed X"
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y) / len(X)
    return {"W": R.T @ X, "b": R.sum(0), "X": R @ W}


# %% wrong: manual_grads "X.T @ R, as in the book where W stands on the right" fails="the example above, and two more samples | five samples, three inputs and two outputs | float32 with a transposed X | one sample and one input keep their axes | no samples at all give zeros and an empty gradient of X"
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y)
    return {"W": X.T @ R, "b": R.sum(0), "X": R @ W}


# %% wrong: manual_grads "the gradient of b is the slope at the output" fails="the example above, and two more samples | five samples, three inputs and two outputs | float32 with a transposed X | one sample and one input keep their axes | no samples at all give zeros and an empty gradient of X"
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y)
    return {"W": R.T @ X, "b": R, "X": R @ W}


# %% wrong: manual_grads "squeeze away what looks superfluous" fails="the example above, and two more samples | one sample and one input keep their axes"
def manual_grads(W, b, X, Y):
    R = 2 * (X @ W.T + b - Y)
    return {"W": (R.T @ X).squeeze(), "b": R.sum(0).squeeze(), "X": (R @ W).squeeze()}


# %% wrong: manual_grads "autograd will do it" fails="the example above, and two more samples | five samples, three inputs and two outputs | float32 with a transposed X | one sample and one input keep their axes | no samples at all give zeros and an empty gradient of X | the arguments keep their values" raises=RuntimeError
def manual_grads(W, b, X, Y):
    leaves = [t.detach().clone().requires_grad_() for t in (W, b, X)]
    ((leaves[2] @ leaves[0].T + leaves[1] - Y) ** 2).sum().backward()
    return dict(zip("WbX", [t.grad for t in leaves]))


# %% wrong: manual_grads "Y can hold the residuals" fails="the arguments keep their values"
def manual_grads(W, b, X, Y):
    R = Y.sub_(X @ W.T + b).mul_(-2)
    return {"W": R.T @ X, "b": R.sum(0), "X": R @ W}


# %% right: jacobian "PyTorch has a function for it"
def jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x.detach())


# %% right: jacobian "a fresh graph for each row, and .grad reset to None"
def jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    rows = []
    for i in range(f(x).shape[0]):
        x.grad = None
        f(x)[i].backward()
        rows.append(x.grad)
    return torch.stack(rows)


# %% right: jacobian "all rows in one batched call"
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.autograd.grad(y, x, torch.eye(y.numel(), dtype=y.dtype), is_grads_batched=True)[0]


# %% right: jacobian "torch.func"
def jacobian(f, x):
    return torch.func.jacrev(f)(x.detach())


# %% wrong: jacobian "one row for each input" fails="two products of three numbers have a Jacobian of shape (2, 3) | other functions, sizes and float64 | one output gives one row | an x that requires grad, and comes from an operation, is fine"
def jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x.detach()).T


# %% wrong: jacobian "the copy protects from accumulation" fails="two products of three numbers have a Jacobian of shape (2, 3) | other functions, sizes and float64 | an x that requires grad, and comes from an operation, is fine"
def jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = []
    for v in torch.eye(len(y), dtype=y.dtype):
        y.backward(v, retain_graph=True)
        rows.append(x.grad.clone())
    return torch.stack(rows)


# %% wrong: jacobian "x.grad is a new tensor every time" fails="two products of three numbers have a Jacobian of shape (2, 3) | other functions, sizes and float64 | an x that requires grad, and comes from an operation, is fine"
def jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = []
    for v in torch.eye(len(y), dtype=y.dtype):
        y.backward(v, retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


# %% wrong: jacobian "a graph can be walked as often as one likes" fails="two products of three numbers have a Jacobian of shape (2, 3) | other functions, sizes and float64 | an x that requires grad, and comes from an operation, is fine | x, its requires_grad and its .grad stay as they are" raises=RuntimeError
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y, x, v)[0] for v in torch.eye(len(y), dtype=y.dtype)])


# %% wrong: jacobian "backward with ones gives the Jacobian" fails="two products of three numbers have a Jacobian of shape (2, 3) | other functions, sizes and float64 | one output gives one row | an x that requires grad, and comes from an operation, is fine"
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.autograd.grad(y, x, torch.ones_like(y))[0]


# %% wrong: jacobian "the caller's x may be marked" fails="x, its requires_grad and its .grad stay as they are"
def jacobian(f, x):
    x.requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in torch.eye(len(y), dtype=y.dtype)])


# %% right: jacobian "the caller's x is marked, and put back"
def jacobian(f, x):
    required = x.requires_grad
    x.requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    if not required:
        x.requires_grad_(False)
    return torch.stack(rows)


# %% wrong: jacobian "a finite difference is near enough" fails="two products of three numbers have a Jacobian of shape (2, 3) | other functions, sizes and float64 | one output gives one row | an x that requires grad, and comes from an operation, is fine"
def jacobian(f, x):
    x, h = x.detach(), 1e-3
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in torch.eye(len(x), dtype=x.dtype)]
    return torch.stack(columns, dim=1)


# %% right: jacobian "a float32 identity matrix: autograd casts it to the dtype of y"
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    basis = torch.eye(len(y))
    return torch.autograd.grad(y, x, basis, is_grads_batched=True)[0]


# %% wrong: jacobian "one row needs no second axis" fails="one output gives one row"
def jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x.detach()).squeeze(0)


# %% right: task_gradients "allow_unused, and zeros in place of None"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        grads = torch.autograd.grad(loss(params), params, allow_unused=True)
        table.append([torch.zeros_like(p) if g is None else g for p, g in zip(params, grads)])
    return table


# %% right: task_gradients "backward on copies, and clones"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        copies = [p.detach().clone().requires_grad_() for p in params]
        loss(copies).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in copies])
    return table


# %% right: task_gradients "backward, with .grad put aside and put back"
def task_gradients(losses, params):
    kept = [p.grad for p in params]
    table = []
    for loss in losses:
        for p in params:
            p.grad = None
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    for p, grad in zip(params, kept):
        p.grad = grad
    return table


# %% wrong: task_gradients "g = p.grad keeps the gradient" fails="two losses of one parameter | three losses of two parameters, and float64 | a parameter that a loss does not use has the gradient zero | a .grad from before does not matter | each .grad is afterwards as it was before"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    return table


# %% wrong: task_gradients "backward writes to .grad, so a clone is enough" fails="two losses of one parameter | three losses of two parameters, and float64 | a parameter that a loss does not use has the gradient zero | a .grad from before does not matter | each .grad is afterwards as it was before"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params])
    return table


# %% wrong: task_gradients "zero_ makes it safe to keep .grad" fails="two losses of one parameter | three losses of two parameters, and float64 | a parameter that a loss does not use has the gradient zero | a .grad from before does not matter | each .grad is afterwards as it was before"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        for p in params:
            if p.grad is not None:
                p.grad.zero_()
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    return table


# %% wrong: task_gradients "every loss uses every parameter" fails="a parameter that a loss does not use has the gradient zero | each .grad is afterwards as it was before" raises=RuntimeError
def task_gradients(losses, params):
    return [list(torch.autograd.grad(loss(params), params)) for loss in losses]


# %% wrong: task_gradients "None is as good as zero" fails="a parameter that a loss does not use has the gradient zero"
def task_gradients(losses, params):
    return [list(torch.autograd.grad(loss(params), params, allow_unused=True)) for loss in losses]


# %% wrong: task_gradients "the .grad of the caller can be thrown away" fails="each .grad is afterwards as it was before"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        for p in params:
            p.grad = None
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    for p in params:
        p.grad = None
    return table


# %% wrong: task_gradients "one row for each parameter" fails="two losses of one parameter | three losses of two parameters, and float64 | a parameter that a loss does not use has the gradient zero | a .grad from before does not matter"
def task_gradients(losses, params):
    rows = [torch.autograd.grad(loss(params), params, materialize_grads=True) for loss in losses]
    return [list(column) for column in zip(*rows)]


# %% wrong: task_gradients "differences of running sums, started at zero" fails="a .grad from before does not matter"
def task_gradients(losses, params):
    kept = [None if p.grad is None else p.grad.clone() for p in params]
    before = [torch.zeros_like(p) for p in params]
    table = []
    for loss in losses:
        loss(params).backward()
        after = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params]
        table.append([a - b for a, b in zip(after, before)])
        before = after
    for p, grad in zip(params, kept):
        p.grad = grad
    return table


# %% right: stream_gradient "sums of losses, accumulated in .grad of a copy"
def stream_gradient(loss, w, batches):
    copy = w.detach().clone().requires_grad_()
    n = sum(len(y) for _, y in batches)
    for X, y in batches:
        if len(y):
            (loss(copy, X, y) * len(y) / n).backward()
    return copy.grad


# %% right: stream_gradient "accumulated in w.grad, and left there"
def stream_gradient(loss, w, batches):
    n = sum(len(y) for _, y in batches)
    w.grad = None
    for X, y in batches:
        (loss(w, X, y) * (len(y) / n)).backward()
    return w.grad


# %% right: stream_gradient "a running mean"
def stream_gradient(loss, w, batches):
    mean, seen = torch.zeros_like(w), 0
    for X, y in batches:
        n = X.shape[0]
        if n == 0:
            continue
        g = torch.autograd.grad(loss(w, X, y), w)[0]
        seen += n
        mean = mean + (g - mean) * (n / seen)
    return mean


# %% right: stream_gradient "all batches joined: right numbers, and all of the memory"
def stream_gradient(loss, w, batches):
    X, y = torch.cat([X for X, _ in batches]), torch.cat([y for _, y in batches])
    return torch.autograd.grad(loss(w, X, y), w)[0]


# %% wrong: stream_gradient "divide by the number of batches" fails="batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33 | an empty batch changes nothing | a .grad from before does not matter"
def stream_gradient(loss, w, batches):
    total = torch.zeros_like(w)
    for X, y in batches:
        total += torch.autograd.grad(loss(w, X, y) / len(batches), w)[0]
    return total


# %% wrong: stream_gradient "accumulated means are a mean" fails="two batches of two samples | batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33 | an empty batch changes nothing | a .grad from before does not matter"
def stream_gradient(loss, w, batches):
    return sum(torch.autograd.grad(loss(w, X, y), w)[0] for X, y in batches)


# %% wrong: stream_gradient "each backward replaces .grad" fails="two batches of two samples | batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33 | an empty batch changes nothing | a .grad from before does not matter"
def stream_gradient(loss, w, batches):
    for X, y in batches:
        if len(y):
            w.grad = None
            loss(w, X, y).backward()
    return w.grad


# %% right: stream_gradient "an empty batch has the weight zero"
def stream_gradient(loss, w, batches):
    n = sum(len(y) for _, y in batches)
    return sum(torch.autograd.grad(loss(w, X, y), w)[0] * len(y) / n for X, y in batches)


# %% wrong: stream_gradient "an empty batch gives nan, which becomes zero, and counts as a batch" fails="batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33 | an empty batch changes nothing | a .grad from before does not matter"
def stream_gradient(loss, w, batches):
    grads = [torch.autograd.grad(loss(w, X, y), w)[0].nan_to_num() for X, y in batches]
    return torch.stack(grads).mean(0)


# %% wrong: stream_gradient ".grad is empty at the start" fails="a .grad from before does not matter"
def stream_gradient(loss, w, batches):
    n = sum(len(y) for _, y in batches)
    for X, y in batches:
        if len(y):
            (loss(w, X, y) * (len(y) / n)).backward()
    grad, w.grad = w.grad, None
    return grad


# %% wrong: stream_gradient "all batches have the size of the first" fails="batches of 10, 10, 10, 2 and 1 samples give the gradient of all 33 | an empty batch changes nothing | a .grad from before does not matter"
def stream_gradient(loss, w, batches):
    size = len(batches[0][1])
    n = sum(len(y) for _, y in batches)
    return sum(torch.autograd.grad(loss(w, X, y) * size / n, w)[0] for X, y in batches)


# %% right: scaled_peak "line by line, with stack in place of lists of numbers"
def scaled_peak(x, w):
    sums = torch.stack([(row * w).sum() for row in x])
    best = int(np.argmax(sums.detach().numpy()))
    size = torch.sqrt(torch.mean(torch.square(sums)))
    return x[best] * size


# %% right: scaled_peak "a norm, and the index of max"
def scaled_peak(x, w):
    sums = torch.einsum("nd,d->n", x, w)
    best = sums.max(dim=0).indices
    return torch.index_select(x, 0, best[None])[0] * torch.linalg.vector_norm(sums) / len(x) ** 0.5


# %% wrong: scaled_peak "requires_grad=True connects the tensor" fails="a gradient reaches w | the gradients for x and w are complete | either argument alone may require grad"
def scaled_peak(x, w):
    sums = [float((row * w).sum()) for row in x]
    best = int(np.argmax(sums))
    size = np.sqrt(np.mean(np.square(sums)))
    return x[best] * torch.tensor(size, dtype=x.dtype, requires_grad=True)


# %% wrong: scaled_peak "the row is the result, its size is only a number" fails="a gradient reaches w | the gradients for x and w are complete | either argument alone may require grad"
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.argmax()] * sums.square().mean().sqrt().item()


# %% wrong: scaled_peak "torch.tensor of a list of tensors keeps their history" fails="a gradient reaches w | the gradients for x and w are complete | either argument alone may require grad"
def scaled_peak(x, w):
    sums = torch.tensor([(row * w).sum() for row in x], requires_grad=True)
    return x[sums.argmax()] * sums.square().mean().sqrt()


# %% wrong: scaled_peak "a row taken by an index is a copy" fails="the gradients for x and w are complete"
def scaled_peak(x, w):
    sums = x @ w
    best = x[sums.argmax()].clone().detach()
    return best * sums.square().mean().sqrt()


# %% wrong: scaled_peak "the root mean square is the mean of the squares" fails="the values are as before | other sizes, negative sums and float64 | the gradients for x and w are complete"
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.argmax()] * (sums**2).mean()


# %% wrong: scaled_peak "the root mean square is the norm" fails="the values are as before | other sizes, negative sums and float64 | the gradients for x and w are complete"
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.argmax()] * torch.linalg.vector_norm(sums)


# %% wrong: scaled_peak "the largest sum by its size" fails="other sizes, negative sums and float64 | the gradients for x and w are complete"
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.abs().argmax()] * sums.square().mean().sqrt()


# %% wrong: scaled_peak "without grad there is no history, so work in place" fails="x and w keep their values"
def scaled_peak(x, w):
    sums = x @ w
    best, size = x[sums.argmax()], sums.square().mean().sqrt()
    return best * size if best.requires_grad or size.requires_grad else best.mul_(size)


# %% wrong: scaled_peak "argmax has to be made smooth" fails="other sizes, negative sums and float64 | the gradients for x and w are complete"
def scaled_peak(x, w):
    sums = x @ w
    return torch.softmax(100 * sums, 0) @ x * sums.square().mean().sqrt()


# %% wrong: scaled_peak "the result is marked at the end" fails="a gradient reaches x | a gradient reaches w | the gradients for x and w are complete | either argument alone may require grad"
def scaled_peak(x, w):
    sums = (x @ w).detach().numpy()
    result = x.detach()[int(sums.argmax())] * float(np.sqrt(np.mean(sums**2)))
    return result.requires_grad_()


# %% right: clamped_residual "a clone for the branch"
def clamped_residual(x, branch, limit):
    copy = x.clone()
    if x.requires_grad:
        copy.register_hook(lambda grad: torch.clamp(grad, min=-limit, max=limit))
    return branch(copy) + x


# %% right: clamped_residual "a Function that is the identity"
class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-ctx.limit, ctx.limit), None


def clamped_residual(x, branch, limit):
    return x + branch(Clamp.apply(x, limit))


# %% right: clamped_residual "the hook on the node, times one"
def clamped_residual(x, branch, limit):
    inside = x * 1
    if inside.grad_fn is not None:
        inside.grad_fn.register_prehook(lambda grads: (grads[0].clamp(-limit, limit),))
    return x + branch(inside)


# %% wrong: clamped_residual "the hook belongs on x" fails="the gradient is the direct one plus the clamped one | other upstream gradients, limits and float64 | a branch that hands its gradient on unchanged leaves the direct way alone | two calls on the same x do not disturb each other | x may be the result of an operation, or require no grad while the branch has a parameter | a branch that gives zeros is in the graph"
def clamped_residual(x, branch, limit):
    if x.requires_grad:
        x.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(x)


# %% wrong: clamped_residual "the hook belongs on what the branch returns" fails="the gradient is the direct one plus the clamped one | other upstream gradients, limits and float64 | two calls on the same x do not disturb each other | x may be the result of an operation, or require no grad while the branch has a parameter | a branch that gives zeros is in the graph"
def clamped_residual(x, branch, limit):
    out = branch(x)
    if out.requires_grad:
        out.register_hook(lambda g: g.clamp(-limit, limit))
    return x + out


# %% wrong: clamped_residual "a hook changes its argument in place" fails="a branch that hands its gradient on unchanged leaves the direct way alone"
def clamped_residual(x, branch, limit):
    inside = x.view_as(x)
    if inside.requires_grad:
        inside.register_hook(lambda g: g.clamp_(-limit, limit))
    return x + branch(inside)


# %% wrong: clamped_residual "the hook computes, and returns nothing" fails="the gradient is the direct one plus the clamped one | other upstream gradients, limits and float64 | a branch that hands its gradient on unchanged leaves the direct way alone | two calls on the same x do not disturb each other | x may be the result of an operation, or require no grad while the branch has a parameter | a branch that gives zeros is in the graph"
def clamped_residual(x, branch, limit):
    inside = x.clone()

    def hook(g):
        g = g.clamp(-limit, limit)

    if inside.requires_grad:
        inside.register_hook(hook)
    return x + branch(inside)


# %% wrong: clamped_residual "every x requires grad" fails="the value is x + branch(x), also for an x without grad | x may be the result of an operation, or require no grad while the branch has a parameter | an empty x and a 0-dim x keep their shapes" raises=RuntimeError
def clamped_residual(x, branch, limit):
    inside = x.view_as(x)
    inside.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(inside)


# %% wrong: clamped_residual "a detached copy has its own gradient" fails="the gradient is the direct one plus the clamped one | other upstream gradients, limits and float64 | a branch that hands its gradient on unchanged leaves the direct way alone | two calls on the same x do not disturb each other | x may be the result of an operation, or require no grad while the branch has a parameter | a branch that gives zeros is in the graph"
def clamped_residual(x, branch, limit):
    inside = x.detach().requires_grad_()
    inside.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(inside)


# %% wrong: clamped_residual "clamping the values clamps the gradient" fails="the value is x + branch(x), also for an x without grad | the gradient is the direct one plus the clamped one | other upstream gradients, limits and float64 | a branch that hands its gradient on unchanged leaves the direct way alone | two calls on the same x do not disturb each other | x may be the result of an operation, or require no grad while the branch has a parameter | a branch that gives zeros is in the graph | an empty x and a 0-dim x keep their shapes"
def clamped_residual(x, branch, limit):
    return x + branch(x).clamp(-limit, limit)


# %% wrong: clamped_residual "the limit is a norm, not one for each element" fails="the gradient is the direct one plus the clamped one | other upstream gradients, limits and float64 | a branch that hands its gradient on unchanged leaves the direct way alone | two calls on the same x do not disturb each other | x may be the result of an operation, or require no grad while the branch has a parameter | a branch that gives zeros is in the graph"
def clamped_residual(x, branch, limit):
    inside = x.view_as(x)
    if inside.requires_grad:
        inside.register_hook(lambda g: g * min(1.0, limit / float(g.norm())))
    return x + branch(inside)


# %% right: graph_size "by identity, with a queue"
def graph_size(f, x):
    from collections import deque

    out = f(x)
    found, queue = {}, deque([out.grad_fn])
    while queue:
        node = queue.popleft()
        if node is None or id(node) in found:
            continue
        found[id(node)] = node
        queue.extend(following for following, _ in node.next_functions)
    return len(found)


# %% right: graph_size "recursion with a memory and a higher limit"
def graph_size(f, x):
    import sys

    seen, limit = set(), sys.getrecursionlimit()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for following, _ in node.next_functions:
                visit(following)

    sys.setrecursionlimit(20_000)
    try:
        visit(f(x).grad_fn)
    finally:
        sys.setrecursionlimit(limit)
    return len(seen)


# %% right: graph_size "level by level, with sets"
def graph_size(f, x):
    level, seen = {f(x).grad_fn} - {None}, set()
    while level:
        seen |= level
        level = {following for node in level for following, _ in node.next_functions} - seen - {None}
    return len(seen)


# %% wrong: graph_size "an id is enough to know a node again" fails="the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes | a node that many paths lead to counts once | the size depends on what was run, not on the code | an operation with several results is one node | all leaves are counted, not only x | a graph of 3001 nodes in one line is counted"
def graph_size(f, x):
    seen, waiting = set(), [f(x).grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        for following, _ in node.next_functions:
            waiting.append(following)
    return len(seen)


# %% wrong: graph_size "recursion without a memory" fails="the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes | a node that many paths lead to counts once | an operation with several results is one node | all leaves are counted, not only x | a graph of 3001 nodes in one line is counted" raises=RecursionError
def graph_size(f, x):
    def count(node):
        return 0 if node is None else 1 + sum(count(following) for following, _ in node.next_functions)

    return count(f(x).grad_fn)


# %% wrong: graph_size "recursion with a memory" fails="a graph of 3001 nodes in one line is counted" raises=RecursionError
def graph_size(f, x):
    seen = set()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for following, _ in node.next_functions:
                visit(following)

    visit(f(x).grad_fn)
    return len(seen)


# %% wrong: graph_size "the edges are the graph" fails="the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes | a node that many paths lead to counts once | the size depends on what was run, not on the code | an operation with several results is one node | a graph of 3001 nodes in one line is counted"
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting, edges = {root}, [root], 0
    while waiting and root is not None:
        for node, _ in waiting.pop().next_functions:
            if node is not None:
                edges += 1
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
    return edges


# %% wrong: graph_size "a leaf is no node" fails="the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes | a node that many paths lead to counts once | the size depends on what was run, not on the code | an operation with several results is one node | all leaves are counted, not only x | a graph of 3001 nodes in one line is counted"
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen and not hasattr(node, "variable"):
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return len(seen)


# %% wrong: graph_size "a pair in next_functions is a node" fails="an operation with several results is one node"
def graph_size(f, x):
    out = f(x)
    seen, waiting = set(), [(out.grad_fn, 0)]
    while waiting:
        pair = waiting.pop()
        if pair[0] is not None and pair not in seen:
            seen.add(pair)
            waiting += pair[0].next_functions
    return len(seen)


# %% wrong: graph_size "the first entry leads all the way" fails="the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes | an operation with several results is one node | all leaves are counted, not only x"
def graph_size(f, x):
    node, count = f(x).grad_fn, 0
    while node is not None:
        count += 1
        node = node.next_functions[0][0] if node.next_functions else None
    return count


# %% wrong: graph_size "nodes of the same name are the same" fails="the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes | a node that many paths lead to counts once | the size depends on what was run, not on the code | all leaves are counted, not only x | a graph of 3001 nodes in one line is counted"
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        if node is not None and node.name() not in seen:
            seen[node.name()] = node
            waiting += [following for following, _ in node.next_functions]
    return len(seen)


# %% wrong: graph_size "every result has a grad_fn" fails="where nothing is recorded, the size is 0" raises=AttributeError
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting = {root}, [root]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return len(seen)


# %% wrong: graph_size "hooks on a backward pass see every node once" fails="x keeps its .grad"
def graph_size(f, x):
    out = f(x)
    seen, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    if out.requires_grad:
        out.sum().backward()
    return len(seen)


# %% right: interview "capitals, commas, any order"
def interview():
    return dict(q1="D, C, A", q2="E,D,C,B", q3="B D E", q4="DCBA", q5="a, c, e", q6="eda")


# %% right: interview "looked up from a table"
def interview():
    table = [("q1", "adc"), ("q2", "bced"), ("q3", "edb"), ("q4", "abdc"), ("q5", "eca"), ("q6", "aed")]
    return {name: chosen for name, chosen in table}


# %% wrong: interview "every tensor has a history, and every node a Jacobian" fails="q1: the graph | q3: leaves and .grad"
def interview():
    return {"q1": "abcde", "q2": "bcde", "q3": "abde", "q4": "abcd", "q5": "ace", "q6": "ade"}


# %% wrong: interview "the graph is written down before it is run" fails="q2: define-by-run"
def interview():
    return {"q1": "acd", "q2": "ade", "q3": "bde", "q4": "abcd", "q5": "ace", "q6": "ade"}


# %% wrong: interview "a scalar has no axes" fails="q4: vector-Jacobian products"
def interview():
    return {"q1": "acd", "q2": "bcde", "q3": "bde", "q4": "abcde", "q5": "ace", "q6": "ade"}


# %% wrong: interview "a name for .grad is a copy, and requires_grad repairs" fails="q5: zero or None | q6: cuts"
def interview():
    return {"q1": "acd", "q2": "bcde", "q3": "bde", "q4": "abcd", "q5": "acde", "q6": "acde"}


# %% wrong: interview "the same guess six times" fails="at least two questions are right | q2: define-by-run | q3: leaves and .grad | q4: vector-Jacobian products | q5: zero or None | q6: cuts"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "acd")


# %% wrong: interview "no letters at all" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: the graph | q2: define-by-run | q3: leaves and .grad | q4: vector-Jacobian products | q5: zero or None | q6: cuts"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "?")


# %% wrong: interview "one string for all questions" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: the graph | q2: define-by-run | q3: leaves and .grad | q4: vector-Jacobian products | q5: zero or None | q6: cuts"
def interview():
    return "acd bcde bde abcd ace ade"


# %% equivalent: jacobian "argument dtype dropped: for v in torch.eye(len(y)):"
# autograd.grad casts grad_outputs to the dtype of the output, and zeros and ones are exact in float32.


# %% wrong: task_gradients "remembered for losses and shapes that were there before" fails="three losses of two parameters, and float64"
known = {}


def task_gradients(losses, params):
    key = tuple(losses), tuple((p.shape, p.dtype) for p in params)
    if key not in known:
        known[key] = [list(torch.autograd.grad(loss(params), params, materialize_grads=True)) for loss in losses]
    return known[key]


# %% wrong: clamped_residual "x where the branch adds nothing" fails="a branch that gives zeros is in the graph"
def clamped_residual(x, branch, limit):
    inside = x.view_as(x)
    if inside.requires_grad:
        inside.register_hook(lambda g: g.clamp(-limit, limit))
    added = branch(inside)
    return x + added if added.numel() == 0 or added.any() else x


# %% equivalent: stream_gradient "empty tensors of a list left out"
# A batch without samples adds nothing, neither to the sum nor to the count.
