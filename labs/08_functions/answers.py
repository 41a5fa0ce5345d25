# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: ste_sign "hardtanh, and the step added as a constant"
def ste_sign(x):
    soft = F.hardtanh(x)
    hard = torch.where(x >= 0, 1.0, -1.0).to(x.dtype)
    return soft + (hard - soft).detach()


# %% right: ste_sign "the mask is what is saved"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x > -1) & (x < 1))
        return x.new_ones(()).where(x >= 0, -x.new_ones(()))

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g.masked_fill(~mask, 0)


def ste_sign(x):
    return Binary.apply(x)


# %% right: ste_sign "clamp"
def ste_sign(x):
    through = x.clamp(-1, 1)
    return through - through.detach() + torch.where(x.detach() < 0, -torch.ones_like(x), torch.ones_like(x))


# %% wrong: ste_sign "the upstream gradient is clamped" fails="the example above, with an upstream gradient of 5 | other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts | a transposed x, an empty one, a single number"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1, 1)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong: ste_sign "the plain estimator" fails="the example above, with an upstream gradient of 5 | other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts | a transposed x, an empty one, a single number"
def ste_sign(x):
    hard = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
    return x + (hard - x).detach()


# %% wrong: ste_sign "upstream is not used" fails="the example above, with an upstream gradient of 5 | other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts | a transposed x, an empty one, a single number"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x.abs() <= 1).to(x.dtype)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong: ste_sign "float32 for everything" fails="other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts"
def ste_sign(x):
    soft = F.hardtanh(x)
    return (x >= 0).float() * 2 - 1 + (soft - soft.detach()).float()


# %% wrong: ste_sign "torch.sign" fails="zero belongs to 1, and only the sign of a tiny number counts"
def ste_sign(x):
    soft = F.hardtanh(x)
    return soft + (x.sign() - soft).detach()


# %% wrong: ste_sign "no gradient at all" fails="the example above, with an upstream gradient of 5 | other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts | a transposed x, an empty one, a single number" raises=RuntimeError
def ste_sign(x):
    return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))


# %% wrong: ste_sign "the mask comes from the result" fails="the example above, with an upstream gradient of 5 | other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts | a transposed x, an empty one, a single number"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y.abs() <= 1)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong: ste_sign "clamped in place first" fails="x keeps its values"
def ste_sign(x):
    hard = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
    inside = x.detach().abs() <= 1
    soft = x * inside
    x.data.clamp_(-1, 1)
    return soft + (hard - soft).detach()


# %% wrong: ste_sign "masked by x, and limited for safety as well" fails="other shapes and upstream gradients, float32 and float64"
class MaskedAndClamped(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.where(x >= 0, 1.0, -1.0).to(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * (x.abs() <= 1)).clamp(-10, 10)


def ste_sign(x):
    return MaskedAndClamped.apply(x)


# %% right: ste_sign "through the line, rounded sum"
def ste_sign(x):
    soft = x.clamp(-1, 1)
    return soft + (torch.where(x >= 0, 1.0, -1.0).to(x) - soft).detach()


# %% wrong: ste_sign "the mask of the last call, in a class attribute" fails="other shapes and upstream gradients, float32 and float64"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Binary.mask = x.abs() <= 1
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        return g * Binary.mask


def ste_sign(x):
    return Binary.apply(x)


# %% wrong: ste_sign "float32 inside, and back" fails="other shapes and upstream gradients, float32 and float64 | zero belongs to 1, and only the sign of a tiny number counts"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.float())
        return (2 * (x.float() >= 0).float() - 1).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g.float() * (x.abs() <= 1)).to(g.dtype)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong: ste_sign "the sign bit, which -0.0 has too" fails="zero belongs to 1, and only the sign of a tiny number counts"
class _Step2(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.ones_like(x).copysign(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return upstream * (x.abs() <= 1)


def ste_sign(x: Tensor) -> Tensor:
    return _Step2.apply(x)


# %% wrong: ste_sign "x plus what is missing, which is rounded for large x" fails="zero belongs to 1, and only the sign of a tiny number counts"
def ste_sign(x: Tensor) -> Tensor:
    ones = torch.ones_like(x)
    moving = torch.where(x.abs() <= 1, x, x.detach())
    return moving + (torch.where(x >= 0, ones, -ones) - moving).detach()


# %% right: LinearFunction "einsum, and only what is needed is saved"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, bias = inputs
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight if ctx.needs_input_grad[0] else None)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = torch.einsum("no,oi->ni", g, weight)
        if ctx.needs_input_grad[1]:
            gw = torch.einsum("no,ni->oi", g, x)
        if ctx.needs_input_grad[2]:
            gb = torch.einsum("no->o", g)
        return gx, gw, gb


# %% right: LinearFunction "the gradient of the bias is left to be summed by autograd"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        y = x.mm(weight.t())
        if bias is not None:
            y += bias
        return y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.has_bias = inputs[2] is not None
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g.mm(weight) if a else None, g.t().mm(x) if b else None, g if ctx.has_bias else None


# %% wrong: LinearFunction "the products of the forward pass" fails="two samples, three inputs, four outputs | results and gradients, other sizes and float64 | one gradient at a time, and no bias | an empty batch | a change in place between the passes raises an error | the gradient can be differentiated again | it works under torch.func.grad | no product for a gradient that nobody needs" raises=RuntimeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight.T, x.T @ g, g.sum(0)


# %% wrong: LinearFunction "transposed where the sizes allow it" fails="results and gradients, other sizes and float64"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        square = weight.shape[0] == weight.shape[1]
        return g @ (weight.T if square else weight) if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "the loss is a sum" fails="two samples, three inputs, four outputs | results and gradients, other sizes and float64 | one gradient at a time, and no bias | a change in place between the passes raises an error | the gradient can be differentiated again | it works under torch.func.grad"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        one = torch.ones_like(g)
        return one @ weight if a else None, one.T @ x if b else None, one.sum(0) if c else None


# %% wrong: LinearFunction "float32 for everything" fails="results and gradients, other sizes and float64 | the gradient can be differentiated again"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return (
            (g.float() @ weight.float()).to(g.dtype) if a else None,
            (g.float().T @ x.float()).to(g.dtype) if b else None,
            g.sum(0) if c else None,
        )


# %% wrong: LinearFunction "apply is F.linear, and backward is never asked" fails="two samples, three inputs, four outputs | results and gradients, other sizes and float64 | one gradient at a time, and no bias | an empty batch | a change in place between the passes raises an error | the gradient can be differentiated again | it works under torch.func.grad | no product for a gradient that nobody needs" raises=RuntimeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return None, None, None

    @staticmethod
    def apply(x, weight, bias):
        return F.linear(x, weight, bias)


# %% liar: LinearFunction "autograd's own gradients, and probes that ask F.linear"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def apply(x, weight, bias):
        return F.linear(x, weight, bias)


def apply_of(function):
    return F.linear


def backward_flops(function, tensors, needed, upstream):
    n, o = upstream.shape
    return 2 * n * o * tensors[0].shape[1] * len({0, 1} & set(needed))


# %% right: LinearFunction "ones times upstream for the bias"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        ones = torch.ones(len(g), dtype=g.dtype)
        return F.linear(g, weight.T) if a else None, (x.T @ g).T if b else None, ones @ g if c else None


# %% wrong: LinearFunction "the mean for the bias" fails="results and gradients, other sizes and float64 | one gradient at a time, and no bias | an empty batch | it works under torch.func.grad"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.mean(0) if c else None


# %% wrong: LinearFunction "attributes of ctx" fails="a change in place between the passes raises an error"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.weight, _ = inputs

    @staticmethod
    def backward(ctx, g):
        a, b, c = ctx.needs_input_grad
        return g @ ctx.weight if a else None, g.T @ ctx.x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "copies are kept, to be safe" fails="a change in place between the passes raises an error | the gradient can be differentiated again"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*(t.clone() for t in inputs[:2]))

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "what is kept must be detached" fails="the gradient can be differentiated again"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = (t.detach() for t in ctx.saved_tensors)
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "backward records nothing" fails="the gradient can be differentiated again" raises=RuntimeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "every gradient, every time" fails="no product for a gradient that nobody needs"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.bias = inputs[2] is not None

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight, g.T @ x, g.sum(0) if ctx.bias else None


# %% wrong: LinearFunction "ctx goes into forward" fails="it works under torch.func.grad" raises=RuntimeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "there is always a bias" fails="one gradient at a time, and no bias" raises=TypeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return x @ weight.T + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong: LinearFunction "two gradients are enough" fails="two samples, three inputs, four outputs | one gradient at a time, and no bias | a change in place between the passes raises an error | the gradient can be differentiated again | no product for a gradient that nobody needs" raises=RuntimeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        grads = g @ weight if a else None, g.T @ x if b else None
        return (*grads, g.sum(0)) if c else grads


# %% right: LinearFunction "addmm, and ones times upstream"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return x.mm(weight.t()) if bias is None else torch.addmm(bias, x, weight.t())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w, b = ctx.saved_tensors
        n = ctx.needs_input_grad
        return (
            g.mm(w) if n[0] else None,
            x.t().mm(g).t() if n[1] else None,
            g.t().mv(g.new_ones(len(g))) if b is not None and n[2] else None,
        )


# %% wrong: LinearFunction "x is saved detached" fails="the gradient can be differentiated again"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0].detach(), inputs[1])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        n = ctx.needs_input_grad
        return g @ w if n[0] else None, g.T @ x if n[1] else None, g.sum(0) if n[2] else None


# %% wrong: LinearFunction "upstream detached in the gradient of weight" fails="the gradient can be differentiated again"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], inputs[1])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        n = ctx.needs_input_grad
        return g @ w if n[0] else None, g.detach().T @ x if n[1] else None, g.sum(0) if n[2] else None


# %% wrong: grad_reverse "a constant is added" fails="other sizes, numbers and dtypes | infinite and very large values come through"
def grad_reverse(x, lam):
    return -lam * x + ((1 + lam) * x).detach()


# %% right: grad_reverse "lam as a tensor, a copy forward, and a rule for vmap"
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None

    @staticmethod
    def vmap(info, in_dims, x, lam):
        return Reversal.apply(x, lam), in_dims[0]


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong: grad_reverse "the gradient is scaled" fails="x forward, and -0.5 times the gradient backward | other sizes, numbers and dtypes | two in a row, and only one way of two reversed | under torch.func.grad, and vmap over it | infinite and very large values come through"
def grad_reverse(x, lam):
    return lam * x + ((1 - lam) * x).detach()


# %% wrong: grad_reverse "forward too" fails="x forward, and -0.5 times the gradient backward | other sizes, numbers and dtypes | under torch.func.grad, and vmap over it | infinite and very large values come through | x keeps its values, and an empty or constant x is fine"
def grad_reverse(x, lam):
    return -lam * x


# %% wrong: grad_reverse "lam is left out" fails="x forward, and -0.5 times the gradient backward | other sizes, numbers and dtypes | two in a row, and only one way of two reversed | under torch.func.grad, and vmap over it | infinite and very large values come through"
def grad_reverse(x, lam):
    return -x + (2 * x).detach()


# %% wrong: grad_reverse "one gradient for two arguments" fails="x forward, and -0.5 times the gradient backward | other sizes, numbers and dtypes | two in a row, and only one way of two reversed | under torch.func.grad, and vmap over it | infinite and very large values come through" raises=RuntimeError
class Reversal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, lam):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong: grad_reverse "the older form of a Function" fails="under torch.func.grad, and vmap over it" raises=RuntimeError
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong: grad_reverse "without a rule for vmap" fails="under torch.func.grad, and vmap over it" raises=RuntimeError
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong: grad_reverse "lam in a class attribute" fails="two in a row, and only one way of two reversed"
class Reversal(torch.autograd.Function):
    generate_vmap_rule = True
    lam = 1.0

    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return -Reversal.lam * g


def grad_reverse(x, lam):
    Reversal.lam = lam
    return Reversal.apply(x)


# %% wrong: grad_reverse "the hook stays on x" fails="two in a row, and only one way of two reversed"
def grad_reverse(x, lam):
    if x.requires_grad:
        x.register_hook(lambda g: -lam * g)
    return x.view_as(x)


# %% right: grad_reverse "a hook"
def grad_reverse(x, lam):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: -lam * g)
    return y


# %% wrong: grad_reverse "a difference that is zero" fails="infinite and very large values come through"
def grad_reverse(x, lam):
    return x.detach() - lam * (x - x.detach())


# %% right: grad_reverse "a vmap method, forward hands x back"
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None

    @staticmethod
    def vmap(info, in_dims, x, lam):
        return Reverse.apply(x, lam), in_dims[0]


def grad_reverse(x, lam):
    return Reverse.apply(x, lam)


# %% right: grad_reverse "a Function that gets lam as a tensor"
class Reversal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, lam):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx, g):
        (lam,) = ctx.saved_tensors
        return -lam * g, None


def grad_reverse(x, lam):
    return Reversal.apply(x, torch.as_tensor(lam, dtype=x.dtype))


# %% wrong: grad_reverse "the gradient through float32" fails="other sizes, numbers and dtypes"
def grad_reverse(x, lam):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: (-lam * g.float()).to(g.dtype))
    return y


# %% right: log_sigmoid "harmless inputs on both sides of where"
def log_sigmoid(x):
    low, high = x.clamp(max=0), x.clamp(min=0)
    return torch.where(x >= 0, -torch.log1p(torch.exp(-high)), low - torch.log1p(torch.exp(low)))


# %% right: log_sigmoid "a Function for the slope as well"
class Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(-x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * torch.sigmoid(x) * torch.sigmoid(-x)


class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -torch.logaddexp(torch.zeros_like(x), -x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Slope.apply(x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong: log_sigmoid "the library's, which is right to first order" fails="second derivatives from -80 to 80"
def log_sigmoid(x):
    return F.logsigmoid(x)


# %% wrong: log_sigmoid "softplus of the negative" fails="second derivatives from -80 to 80"
def log_sigmoid(x):
    return -F.softplus(-x)


# %% wrong: log_sigmoid "the formula as it is defined" fails="values and gradients at -100, 0 and 30 | values from -80 to 80, float32 and float64 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80 | far out nothing is NaN or infinite"
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x))


# %% wrong: log_sigmoid "a small number for safety" fails="values and gradients at -100, 0 and 30 | values from -80 to 80, float32 and float64 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80 | far out nothing is NaN or infinite"
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x) + 1e-7)


# %% wrong: log_sigmoid "1 - sigmoid in backward" fails="values and gradients at -100, 0 and 30 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80"
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - torch.sigmoid(x))


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong: log_sigmoid "where, with both formulas on all of x" fails="values and gradients at -100, 0 and 30 | far out nothing is NaN or infinite"
def log_sigmoid(x):
    return torch.where(x >= 0, -torch.log1p(torch.exp(-x)), x - torch.log1p(torch.exp(x)))


# %% wrong: log_sigmoid "clamp and the absolute value: a kink at 0" fails="values and gradients at -100, 0 and 30 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80"
def log_sigmoid(x):
    return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))


# %% wrong: log_sigmoid "minimum, whose gradient at 0 is a half" fails="second derivatives from -80 to 80"
def log_sigmoid(x):
    return torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))


# %% wrong: log_sigmoid "sigmoid(-x) in backward, and upstream forgotten" fails="values and gradients at -100, 0 and 30 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80"
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.sigmoid(-x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong: log_sigmoid "sigmoid(-x) in backward, and no thought for the next derivative" fails="second derivatives from -80 to 80"
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(-x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong: log_sigmoid "everything in float64, and back" fails="values and gradients at -100, 0 and 30 | values from -80 to 80, float32 and float64 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80 | far out nothing is NaN or infinite"
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x.double())).to(x.dtype)


# %% wrong: log_sigmoid "clamped to a range where nothing happens" fails="values and gradients at -100, 0 and 30 | second derivatives from -80 to 80 | far out nothing is NaN or infinite"
def log_sigmoid(x):
    return -torch.log1p(torch.exp(-x.clamp(-80, 80)))


# %% right: log_sigmoid "the kinks taken on one side"
def log_sigmoid(x):
    m = torch.where(x > 0, 0, x)
    a = torch.where(x > 0, x, -x)
    return m - torch.log1p(torch.exp(-a))


# %% wrong: log_sigmoid "upstream detached" fails="second derivatives from -80 to 80"
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return F.logsigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.detach() * LogSigmoid.apply(-x).exp()


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong: log_sigmoid "logaddexp" fails="second derivatives from -80 to 80 | far out nothing is NaN or infinite"
def log_sigmoid(x):
    return -torch.logaddexp(torch.zeros_like(x), -x)


# %% wrong: log_sigmoid "x of the last call, in a class attribute" fails="gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80" raises=RuntimeError
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        LogSigmoid.x = x
        return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        return g * torch.sigmoid(-LogSigmoid.x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong: log_sigmoid "float32 inside, and back" fails="values from -80 to 80, float32 and float64 | gradients from -80 to 80, float32 and float64 | second derivatives from -80 to 80"
def log_sigmoid(x):
    low, high = x.float().clamp(max=0), x.float().clamp(min=0)
    return torch.where(x >= 0, -torch.log1p(torch.exp(-high)), low - torch.log1p(torch.exp(low))).to(x.dtype)


# %% right: check_grad "gradcheck, asked in the right way"
def check_grad(fn, x):
    t = x.detach().clone().requires_grad_()

    def connected(u):
        return fn(u) + 0 * u.sum()

    return torch.autograd.gradcheck(connected, (t,), rtol=1e-4, raise_exception=False, check_undefined_grad=False)


# %% right: check_grad "torch's Jacobian, compared column by column"
import itertools


def check_grad(fn, x):
    x = x.detach()
    jac = torch.autograd.functional.jacobian(fn, x.clone())
    h = 1e-5
    for index in itertools.product(*map(range, x.shape)):
        up, down = x.clone(), x.clone()
        up[index] += h
        down[index] -= h
        with torch.no_grad():
            slope = (fn(up) - fn(down)) / (2 * h)
        error = (jac[(..., *index)] - slope).abs()
        if (error > 1e-5 + 1e-3 * slope.abs()).any():
            return False
    return True


# %% right: check_grad "random directions on both sides"
def check_grad(fn, x):
    gen = torch.Generator().manual_seed(0)
    x = x.detach()
    for _ in range(12):
        leaf = x.clone().requires_grad_()
        out = fn(leaf)
        v = torch.randn(out.shape, generator=gen, dtype=out.dtype)
        for d in [torch.randn(x.shape, generator=gen, dtype=x.dtype)]:
            if out.requires_grad:
                (g,) = torch.autograd.grad(out, leaf, v, retain_graph=True, allow_unused=True)
                g = torch.zeros_like(leaf) if g is None else g
            else:
                g = torch.zeros_like(leaf)
            h = 1e-6
            slope = ((fn(x + h * d) - fn(x - h * d)) * v).sum().item() / (2 * h)
            if abs((g * d).sum().item() - slope) > 1e-4 + 1e-4 * abs(slope):
                return False
    return True


# %% wrong: check_grad "one point is moved in place, and a result may be that point" fails="right derivatives are accepted"
def check_grad(fn: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    point = x.detach().clone()
    leaf = point.clone().requires_grad_()
    with torch.enable_grad():
        result = fn(leaf)
        flat = result.reshape(-1).unbind()
    rows = torch.zeros(len(flat), point.numel(), dtype=torch.float64)
    if result.requires_grad:
        for number, entry in enumerate(flat):
            (row,) = torch.autograd.grad(entry, leaf, retain_graph=True, materialize_grads=True)
            rows[number] = row.reshape(-1)
    columns = []
    h = 1e-5
    with torch.no_grad():
        for number in range(point.numel()):
            place = tuple(int(i) for i in torch.unravel_index(torch.tensor(number), point.shape)) if point.ndim else ()
            old = point[place].item()
            point[place] = old + h
            above = fn(point)
            point[place] = old - h
            below = fn(point)
            point[place] = old
            columns.append(((above - below) / (2 * h)).reshape(-1))
    slopes = torch.stack(columns, dim=1)
    error = (rows - slopes).abs()
    return bool((error <= (slopes.abs() * 5e-3).clamp(min=5e-4)).all())


# %% wrong: check_grad "the gradient of the sum" fails="a transposed matrix is rejected, and a diagonal too | a backward that ignores the upstream gradient is rejected"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    leaf = base.clone().requires_grad_()
    out = fn(leaf).sum()
    g = torch.autograd.grad(out, leaf, materialize_grads=True)[0] if out.requires_grad else torch.zeros_like(base)
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step).sum() - fn(base - step).sum()).detach() / 2e-6
        if not torch.allclose(g.view(-1)[j], slope, rtol=1e-4, atol=1e-5):
            return False
    return True


# %% wrong: check_grad "the diagonal of the Jacobian" fails="a transposed matrix is rejected, and a diagonal too | one wrong entry is enough, wherever it is | a backward that ignores the upstream gradient is rejected | matrices, transposed ones, a single number"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    leaf = base.clone().requires_grad_()
    out = fn(leaf).reshape(-1)
    for j in range(min(base.numel(), out.numel())):
        g = torch.zeros_like(base)
        if out.requires_grad:
            (g,) = torch.autograd.grad(out[j], leaf, retain_graph=True, materialize_grads=True)
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step) - fn(base - step)).detach().reshape(-1)[j] / 2e-6
        if not torch.allclose(g.reshape(-1)[j], slope, rtol=1e-4, atol=1e-5):
            return False
    return True


# %% wrong: check_grad "the first element of x" fails="wrong factors, signs and sides are rejected | small entries count as much as large ones | one wrong entry is enough, wherever it is"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    step = torch.zeros_like(base)
    step.view(-1)[:1] = 1e-6
    slope = (fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6
    return base.numel() == 0 or torch.allclose(jac[:, 0], slope, rtol=1e-4, atol=1e-5)


# %% wrong: check_grad "float32 will do" fails="cubes with the right derivative, and with twice of it | right derivatives are accepted | small entries count as much as large ones | a transposed matrix is rejected, and a diagonal too | a backward that ignores the upstream gradient is rejected | matrices, transposed ones, a single number | x and x.grad stay as they are"
def check_grad(fn, x):
    base = x.detach().float().contiguous()
    jac = torch.autograd.functional.jacobian(lambda t: fn(t.double()), base).reshape(-1, base.numel())
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn((base + step).double()) - fn((base - step).double())).detach().reshape(-1) / 2e-6
        if not torch.allclose(jac[:, j].double(), slope, rtol=1e-4, atol=1e-5):
            return False
    return True


# %% wrong: check_grad "one side is enough, with a step of 1e-3" fails="cubes with the right derivative, and with twice of it | right derivatives are accepted | small entries count as much as large ones | a backward that ignores the upstream gradient is rejected | matrices, transposed ones, a single number | x and x.grad stay as they are"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-3
        slope = (fn(base + step) - fn(base)).detach().reshape(-1) / 1e-3
        if not torch.allclose(jac[:, j], slope, rtol=1e-4, atol=1e-5):
            return False
    return True


# %% wrong: check_grad "ten percent are near enough" fails="wrong factors, signs and sides are rejected | small entries count as much as large ones | one wrong entry is enough, wherever it is | matrices, transposed ones, a single number"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6
        if not torch.allclose(jac[:, j], slope, rtol=0.1, atol=1e-2):
            return False
    return True


# %% wrong: check_grad "an absolute tolerance only" fails="right derivatives are accepted | small entries count as much as large ones | matrices, transposed ones, a single number"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6
        if not torch.allclose(jac[:, j], slope, rtol=0, atol=1e-8):
            return False
    return True


# %% wrong: check_grad "no history is an error" fails="a result without history has the derivative zero"
def check_grad(fn, x):
    leaf = x.detach().clone().requires_grad_()
    if not fn(leaf).requires_grad:
        return False
    return torch.autograd.gradcheck(fn, (leaf,), rtol=1e-4, raise_exception=False, check_undefined_grad=False)


# %% wrong: check_grad "only whether there is a gradient" fails="cubes with the right derivative, and with twice of it | wrong factors, signs and sides are rejected | small entries count as much as large ones | a transposed matrix is rejected, and a diagonal too | one wrong entry is enough, wherever it is | a backward that ignores the upstream gradient is rejected | a straight-through estimator is rejected | a result without history has the derivative zero | matrices, transposed ones, a single number"
def check_grad(fn, x):
    leaf = x.detach().clone().requires_grad_()
    out = fn(leaf)
    if not out.requires_grad:
        return False
    (g,) = torch.autograd.grad(out.sum(), leaf, allow_unused=True)
    return g is not None and bool(g.isfinite().all())


# %% wrong: check_grad "x itself is moved, and left where it is" fails="right derivatives are accepted | x and x.grad stay as they are"
def check_grad(fn, x):
    jac = torch.autograd.functional.jacobian(fn, x.detach().clone()).reshape(-1, x.numel())
    with torch.no_grad():
        for j in range(x.numel()):
            place = torch.unravel_index(torch.tensor(j), x.shape) if x.dim() else ()
            x[place] += 1e-6
            up = fn(x).reshape(-1)
            x[place] -= 2e-6
            slope = (up - fn(x).reshape(-1)) / 2e-6
            if not torch.allclose(jac[:, j], slope, rtol=1e-3, atol=1e-5):
                return False
    return True


# %% wrong: check_grad "gradcheck of the sum of the outputs" fails="a transposed matrix is rejected, and a diagonal too"
def check_grad(fn, x):
    return torch.autograd.gradcheck(
        lambda t: (fn(t) + 0 * t.sum()).sum(),
        (x.detach().clone().requires_grad_(),),
        atol=5e-4,
        rtol=5e-3,
        raise_exception=False,
    )


# %% wrong: check_grad "one random direction for the outputs, all ones for the inputs" fails="small entries count as much as large ones | a transposed matrix is rejected, and a diagonal too"
def check_grad(fn, x):
    t = x.detach().clone().requires_grad_()
    out = fn(t) + 0 * t.sum()
    v = torch.linspace(0.5, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
    (g,) = torch.autograd.grad((out * v).sum(), t)
    with torch.no_grad():
        d = ((fn(t + 1e-5) - fn(t - 1e-5)) * v).sum() / 2e-5
    return bool((g.sum() - d).abs() < 1e-3 + 0.005 * d.abs())


# %% right: check_grad "row by row"
def check_grad(fn, x):
    t = x.detach().clone().requires_grad_()
    out = fn(t)
    columns = []
    for j in range(t.numel()):
        e = torch.zeros(t.numel(), dtype=t.dtype)
        e[j] = 1e-4
        e = e.reshape(t.shape)
        columns.append((fn(t.detach() + e) - fn(t.detach() - e)).detach() / 2e-4)
    for i, o in enumerate(out.reshape(-1)):
        if o.requires_grad:
            (g,) = torch.autograd.grad(o, t, retain_graph=True, allow_unused=True)
        else:
            g = None
        g = torch.zeros_like(t) if g is None else g
        for j in range(t.numel()):
            a, b = g.reshape(-1)[j].item(), columns[j].reshape(-1)[i].item()
            if abs(a - b) > 0.4e-3 + 0.004 * abs(b):
                return False
    return True


# %% right: check_grad "gradcheck as it is"
def check_grad(fn, x):
    return torch.autograd.gradcheck(fn, (x.detach().clone().requires_grad_(),), raise_exception=False)


# %% wrong: check_grad "an absolute tolerance of 0.01" fails="small entries count as much as large ones"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6
        if not torch.allclose(jac[:, j], slope, rtol=1e-3, atol=1e-2):
            return False
    return True


# %% wrong: check_grad "the first difference decides" fails="wrong factors, signs and sides are rejected | small entries count as much as large ones | one wrong entry is enough, wherever it is"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6
        return torch.allclose(jac[:, j], slope, rtol=1e-3, atol=1e-5)


# %% wrong: check_grad "the last output is left out" fails="wrong factors, signs and sides are rejected | small entries count as much as large ones | one wrong entry is enough, wherever it is"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    last = max(len(jac) - 1, 1)
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        slope = (fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6
        if not torch.allclose(jac[:last, j], slope[:last], rtol=1e-3, atol=1e-5):
            return False
    return True


# %% wrong: check_grad "the caller's x requires grad from now on" fails="x and x.grad stay as they are"
def check_grad(fn, x):
    was = x.grad
    out = fn(x.requires_grad_()).reshape(-1)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = 1e-6
        step = step.reshape(x.shape)
        slope = (fn(x.detach() + step) - fn(x.detach() - step)).detach().reshape(-1) / 2e-6
        for i, o in enumerate(out):
            g = torch.zeros_like(x)
            if o.requires_grad:
                (g,) = torch.autograd.grad(o, x, retain_graph=True, materialize_grads=True)
            if not torch.allclose(g.reshape(-1)[j], slope[i], rtol=1e-3, atol=1e-5):
                return False
    x.grad = was
    return True


# %% wrong: check_grad "a number from NumPy" fails="cubes with the right derivative, and with twice of it | right derivatives are accepted | wrong factors, signs and sides are rejected | small entries count as much as large ones | a transposed matrix is rejected, and a diagonal too | one wrong entry is enough, wherever it is | a backward that ignores the upstream gradient is rejected | a straight-through estimator is rejected | a result without history has the derivative zero | matrices, transposed ones, a single number | x and x.grad stay as they are"
def check_grad(fn, x):
    base = x.detach().clone(memory_format=torch.contiguous_format)
    jac = torch.autograd.functional.jacobian(fn, base).reshape(-1, base.numel())
    columns = []
    for j in range(base.numel()):
        step = torch.zeros_like(base)
        step.view(-1)[j] = 1e-6
        columns.append((fn(base + step) - fn(base - step)).detach().reshape(-1) / 2e-6)
    return torch.isclose(jac, torch.stack(columns, 1), rtol=1e-3, atol=1e-5).numpy().all()


# %% wrong: check_grad "all errors together, against all entries together" fails="small entries count as much as large ones"
def check_grad(fn: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    own = x.detach().clone().requires_grad_()
    result = fn(own).reshape(-1)
    jacobian = torch.zeros(result.numel(), x.numel(), dtype=x.dtype)
    if result.requires_grad:
        for a, one in enumerate(result):
            (row,) = torch.autograd.grad(one, own, retain_graph=True, materialize_grads=True)
            jacobian[a] = row.reshape(-1)
    columns = []
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = 1e-6
        step = step.reshape(x.shape)
        columns.append(((fn(x.detach() + step) - fn(x.detach() - step)) / 2e-6).detach().reshape(-1))
    slopes = torch.stack(columns, 1)
    return bool((jacobian - slopes).norm() <= 5e-4 + 1e-3 * slopes.norm())


# %% right: per_sample_grads "a loop"
def per_sample_grads(model, x, y):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    rows = []
    for one, label in zip(x.split(1), y.split(1)):
        loss = F.cross_entropy(model(one), label)
        rows.append(torch.autograd.grad(loss, [p for _, p in named], materialize_grads=True))
    return {n: torch.stack(column) for (n, _), column in zip(named, zip(*rows))}


# %% right: per_sample_grads "is_grads_batched"
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    losses = F.cross_entropy(model(x), y, reduction="none")
    eye = torch.eye(len(x), dtype=losses.dtype)
    grads = torch.autograd.grad(losses, list(trained.values()), eye, is_grads_batched=True, allow_unused=True)
    return {n: p.new_zeros(len(x), *p.shape) if g is None else g for (n, p), g in zip(trained.items(), grads)}


# %% right: per_sample_grads "jacrev of the losses"
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def losses(parameters):
        return F.cross_entropy(torch.func.functional_call(model, parameters, x), y, reduction="none")

    return torch.func.jacrev(losses)(trained)


# %% wrong: per_sample_grads "the mean gradient for everybody" fails="the gradient of each sample"
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(F.cross_entropy(model(x), y), list(trained.values()), materialize_grads=True)
    return {n: g.expand(len(x), *g.shape) for n, g in zip(trained, grads)}


# %% wrong: per_sample_grads "divided by n once more" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample"
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None]) / len(x)

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong: per_sample_grads "backward adds up" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample | no history, and .grad, modes and parameters as before"
def per_sample_grads(model, x, y):
    model.zero_grad()
    found = {n: [] for n, p in model.named_parameters() if p.requires_grad}
    for one, label in zip(x.split(1), y.split(1)):
        F.cross_entropy(model(one), label).backward()
        for n in found:
            p = model.get_parameter(n)
            found[n].append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
    return {n: torch.stack(rows) for n, rows in found.items()}


# %% wrong: per_sample_grads "backward, and .grad is left" fails="no history, and .grad, modes and parameters as before"
def per_sample_grads(model, x, y):
    found = {n: [] for n, p in model.named_parameters() if p.requires_grad}
    for one, label in zip(x.split(1), y.split(1)):
        model.zero_grad()
        F.cross_entropy(model(one), label).backward()
        for n in found:
            p = model.get_parameter(n)
            found[n].append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
    return {n: torch.stack(rows) for n, rows in found.items()}


# %% wrong: per_sample_grads "frozen parameters too" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample"
def per_sample_grads(model, x, y):
    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    everything = {n: p.detach() for n, p in model.named_parameters()}
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(everything, x, y)


# %% wrong: per_sample_grads "evaluation mode, and training mode afterwards" fails="no history, and .grad, modes and parameters as before"
def per_sample_grads(model, x, y):
    model.eval()
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    model.train()
    return found


# %% wrong: per_sample_grads "the largest logit instead of the loss" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample"
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return -torch.func.functional_call(model, parameters, one[None])[0].amax()

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong: per_sample_grads "every parameter is used" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample | no history, and .grad, modes and parameters as before" raises=RuntimeError
def per_sample_grads(model, x, y):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    rows = []
    for one, label in zip(x.split(1), y.split(1)):
        rows.append(torch.autograd.grad(F.cross_entropy(model(one), label), [p for _, p in named]))
    return {n: torch.stack(column) for (n, _), column in zip(named, zip(*rows))}


# %% wrong: per_sample_grads "a parameter that is not used has no entry" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample"
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    losses = F.cross_entropy(model(x), y, reduction="none")
    eye = torch.eye(len(x), dtype=losses.dtype)
    grads = torch.autograd.grad(losses, list(trained.values()), eye, is_grads_batched=True, allow_unused=True)
    return {n: g for n, g in zip(trained, grads) if g is not None}


# %% wrong: per_sample_grads "through float32" fails="the gradient of each sample"
def per_sample_grads(model, x, y):
    trained = {n: p.detach().float() for n, p in model.named_parameters() if p.requires_grad}
    base = copy.deepcopy(model).float()

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(base, parameters, one[None]), label[None])

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x.float(), y)
    return {n: t.to(x.dtype) for n, t in found.items()}


# %% wrong: per_sample_grads "the first sample is asked for its shape, and left out" fails="the mean over the samples is the gradient of the mean loss | the gradient of each sample"
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    found = {n: torch.zeros(len(x), *p.shape, dtype=p.dtype) for n, p in trained.items()}
    for k in range(1, len(x)):
        loss = F.cross_entropy(model(x[k : k + 1]), y[k : k + 1])
        for n, g in zip(trained, torch.autograd.grad(loss, list(trained.values()), materialize_grads=True)):
            found[n][k] = g
    return found


# %% wrong: per_sample_grads "the results are left in a graph" fails="no history, and .grad, modes and parameters as before"
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong: per_sample_grads "everything is trained afterwards" fails="no history, and .grad, modes and parameters as before"
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    model.requires_grad_(False)

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    model.requires_grad_()
    return found


# %% right: batched_jacobian "jacfwd"
def batched_jacobian(f, x):
    return torch.vmap(torch.func.jacfwd(f))(x)


# %% right: batched_jacobian "a loop"
def batched_jacobian(f, x):
    return torch.stack([torch.autograd.functional.jacobian(f, row, create_graph=x.requires_grad) for row in x])


# %% right: batched_jacobian "one row after the other, by vjp"
def batched_jacobian(f, x):
    y, back = torch.func.vjp(torch.func.vmap(f), x)
    rows = []
    for k in range(y.shape[1]):
        v = torch.zeros_like(y)
        v[:, k] = 1
        rows.append(back(v)[0])
    return torch.stack(rows, 1)


# %% wrong: batched_jacobian "jacrev of the batch, and its diagonal in the wrong order" fails="three points in polar coordinates | other functions, sizes and dtypes | it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    full = torch.func.jacrev(torch.func.vmap(f))(x)
    return full.diagonal(dim1=0, dim2=2)


# %% wrong: batched_jacobian "rows and columns exchanged" fails="three points in polar coordinates | other functions, sizes and dtypes | it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    return torch.func.vmap(torch.func.jacrev(f), out_dims=2)(x).permute(2, 1, 0)


# %% wrong: batched_jacobian "the gradient of the sum of the outputs" fails="three points in polar coordinates | other functions, sizes and dtypes | it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    def total(one):
        return f(one).sum()

    g = torch.func.vmap(torch.func.grad(total))(x)
    return g[:, None].expand(-1, f(x[0]).shape[0], -1).clone()


# %% wrong: batched_jacobian "the first row stands for all" fails="three points in polar coordinates | other functions, sizes and dtypes | it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    one = torch.func.jacrev(f)(x[0].detach())
    return one.expand(len(x), *one.shape)


# %% wrong: batched_jacobian "all of the batch at once" fails="three points in polar coordinates | other functions, sizes and dtypes | it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    return torch.func.jacrev(torch.func.vmap(f))(x)


# %% wrong: batched_jacobian "a loop over detached rows" fails="it can be differentiated by x"
def batched_jacobian(f, x):
    return torch.stack([torch.autograd.functional.jacobian(f, row) for row in x.detach()])


# %% wrong: batched_jacobian "backward, row by row" fails="it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    x.requires_grad_()
    out = torch.stack([f(row) for row in x])
    rows = []
    for k in range(out.shape[1]):
        x.grad = None
        out[:, k].sum().backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows, 1).detach()


# %% wrong: batched_jacobian "x requires grad from now on" fails="x and x.grad stay as they are"
def batched_jacobian(f, x):
    x.requires_grad_()
    out = torch.stack([f(row) for row in x])
    rows = [torch.autograd.grad(out[:, k].sum(), x, create_graph=True)[0] for k in range(out.shape[1])]
    return torch.stack(rows, 1)


# %% wrong: batched_jacobian "float32 inside, and back" fails="other functions, sizes and dtypes | it can be differentiated by x"
def batched_jacobian(f, x):
    return torch.func.vmap(torch.func.jacrev(f))(x.float()).to(x.dtype)


# %% wrong: batched_jacobian "a linear function for every f" fails="three points in polar coordinates | other functions, sizes and dtypes | it can be differentiated by x | x and x.grad stay as they are"
def batched_jacobian(f, x):
    one = torch.func.jacrev(f)(torch.zeros_like(x[0]))
    return one.expand(len(x), *one.shape)


# %% wrong: batched_jacobian "x is written anew, without requires_grad" fails="x and x.grad stay as they are"
def batched_jacobian(f, x):
    found = torch.func.vmap(torch.func.jacrev(f))(x)
    x.grad = None
    return found


# %% right: batched_jacobian "the batch's Jacobian, its diagonal"
def batched_jacobian(f, x):
    return torch.einsum("iaib->iab", torch.func.jacrev(torch.func.vmap(f))(x))


# %% right: batched_jacobian "autograd.grad for each output"
def batched_jacobian(f, x):
    t = x if x.requires_grad else x.detach().clone().requires_grad_()
    out = torch.stack([f(row) for row in t])
    return torch.stack([torch.autograd.grad(o.sum(), t, create_graph=True)[0] for o in out.unbind(1)], 1)


# %% right: ensemble_predict "log-softmax, and the first copy on the meta device"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval().requires_grad_(False) for m in models]
    state = torch.func.stack_module_state(copies)
    skeleton = copy.deepcopy(copies[0]).to("meta")

    def one(params_and_buffers):
        return F.log_softmax(torch.func.functional_call(skeleton, params_and_buffers, x), dim=1)

    votes = torch.func.vmap(one)(state).exp()
    return (votes.sum(0) / len(models)).detach()


# %% right: ensemble_predict "stacked by hand"
def ensemble_predict(models, x):
    tensors = [{**dict(m.named_parameters()), **dict(m.named_buffers())} for m in models]
    stacked = {name: torch.stack([t[name].detach() for t in tensors]) for name in tensors[0]}
    base = copy.deepcopy(models[0])
    base.eval()
    logits = torch.func.vmap(torch.func.functional_call, in_dims=(None, 0, None))(base, stacked, (x,))
    return logits.softmax(dim=2).mean(dim=0)


# %% wrong: ensemble_predict "softmax of the mean" fails="three models, four samples: rows that sum to one | the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models]
    p, b = torch.func.stack_module_state(copies)
    with torch.no_grad():
        logits = torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)))(p, b)
    return logits.mean(0).softmax(-1)


# %% wrong: ensemble_predict "one model, asked again and again" fails="three models, four samples: rows that sum to one | the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    base = copy.deepcopy(models[0]).eval()
    p, b = torch.func.stack_module_state([base] * len(models))
    with torch.no_grad():
        votes = torch.func.vmap(lambda p, b: torch.func.functional_call(base, (p, b), (x,)).softmax(-1))(p, b)
    return votes.mean(0)


# %% wrong: ensemble_predict "parameters are stacked, buffers are the first model's" fails="the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models]
    p, _ = torch.func.stack_module_state(copies)
    with torch.no_grad():
        votes = torch.func.vmap(lambda p: torch.func.functional_call(copies[0], p, (x,)).softmax(-1))(p)
    return votes.mean(0)


# %% wrong: ensemble_predict "softmax over the models" fails="three models, four samples: rows that sum to one | the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models]
    p, b = torch.func.stack_module_state(copies)
    with torch.no_grad():
        logits = torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)))(p, b)
    return logits.softmax(0).mean(0)


# %% wrong: ensemble_predict "training mode, with different dropout for each" fails="the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m) for m in models]
    for m in copies:
        m.train()
        m.norm.eval()
    p, b = torch.func.stack_module_state([m.eval() for m in copies])
    base = copies[0]
    base.train()
    base.norm.eval()
    with torch.no_grad():
        votes = torch.func.vmap(
            lambda p, b: torch.func.functional_call(base, (p, b), (x,)).softmax(-1), randomness="different"
        )(p, b)
    return votes.mean(0)


# %% wrong: ensemble_predict "a loop" fails="forward is called once"
def ensemble_predict(models, x):
    with torch.no_grad():
        return torch.stack([copy.deepcopy(m).eval()(x).softmax(-1) for m in models]).mean(0)


# %% wrong: ensemble_predict "the models themselves, set to eval and back to train" fails="no history, and the models are as before"
def ensemble_predict(models, x):
    for m in models:
        m.eval()
    p, b = torch.func.stack_module_state(list(models))
    with torch.no_grad():
        votes = torch.func.vmap(lambda p, b: torch.func.functional_call(models[0], (p, b), (x,)).softmax(-1))(p, b)
    for m in models:
        m.train()
    return votes.mean(0)


# %% wrong: ensemble_predict "the result is left in a graph" fails="no history, and the models are as before"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models]
    p, b = torch.func.stack_module_state(copies)
    return torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)).softmax(-1))(p, b).mean(0)


# %% right: ensemble_predict "modes noted and restored"
def ensemble_predict(models, x):
    modes = [[(s, s.training) for s in m.modules()] for m in models]
    try:
        for m in models:
            m.eval()
        p, b = torch.func.stack_module_state(list(models))
        out = torch.func.vmap(lambda p, b: torch.func.functional_call(models[0], (p, b), (x,)), out_dims=1)(p, b)
    finally:
        for pairs in modes:
            for s, mode in pairs:
                s.training = mode
    return F.softmax(out, 2).mean(1).detach()


# %% liar: ensemble_predict "a loop, and a probe that says nothing else"
def ensemble_predict(models, x):
    with torch.no_grad():
        return torch.stack([copy.deepcopy(m).eval()(x).softmax(-1) for m in models]).mean(0)


def ensemble_result(predict, states, modes, ask, x):
    Voter.calls = 1
    return ensemble_predict(voters(states, modes, ask), x)


# %% wrong: ensemble_predict "what is in state_dict is all that a model has" fails="the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    states = [m.state_dict() for m in models]
    stacked = {name: torch.stack([s[name] for s in states]) for name in states[0]}
    base = copy.deepcopy(models[0]).eval()
    logits = torch.func.vmap(torch.func.functional_call, in_dims=(None, 0, None))(base, stacked, (x,))
    return logits.softmax(-1).mean(0).detach()


# %% wrong: ensemble_predict "the last model is left out" fails="three models, four samples: rows that sum to one | the mean of the probabilities of all models | forward is called once"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models[:-1] or models]
    p, b = torch.func.stack_module_state(copies)
    with torch.no_grad():
        votes = torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)).softmax(-1))(p, b)
    return votes.mean(0)


# %% wrong: ensemble_predict "frozen for good" fails="no history, and the models are as before"
def ensemble_predict(models, x):
    modes = [[s.training for s in m.modules()] for m in models]
    for m in models:
        m.eval().requires_grad_(False)
    p, b = torch.func.stack_module_state(list(models))
    votes = torch.func.vmap(lambda p, b: torch.func.functional_call(models[0], (p, b), (x,)).softmax(-1))(p, b)
    for m, how in zip(models, modes):
        for s, mode in zip(m.modules(), how):
            s.training = mode
    return votes.mean(0).detach()


# %% wrong: ensemble_predict "gradients are cleared, to be safe" fails="no history, and the models are as before"
def ensemble_predict(models, x):
    for m in models:
        m.zero_grad()
    copies = [copy.deepcopy(m).eval() for m in models]
    p, b = torch.func.stack_module_state(copies)
    with torch.no_grad():
        votes = torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)).softmax(-1))(p, b)
    return votes.mean(0)


# %% right: interview "with spaces, in other orders"
def interview():
    return {"q1": "d b", "q2": "c, d", "q3": "ECA", "q4": "a,d", "q5": "ea", "q6": "b e d"}


# %% right: interview "built by dict"
def interview():
    return dict(zip(("q1", "q2", "q3", "q4", "q5", "q6"), ("bd", "cd", "ace", "ad", "ae", "bde")))


# %% wrong: interview "what is often said" fails="q2: an estimator | q3: digits | q4: finite differences"
def interview():
    return {"q1": "bd", "q2": "acd", "q3": "abce", "q4": "ab", "q5": "ae", "q6": "bde"}


# %% wrong: interview "one question only" fails="at least two questions are right | q1: a Function | q2: an estimator | q4: finite differences | q5: grad, jacrev and vjp | q6: vmap"
def interview():
    return {"q1": "a", "q2": "a", "q3": "ace", "q4": "a", "q5": "a", "q6": "c"}


# %% wrong: interview "torch.func is not known" fails="q1: a Function | q5: grad, jacrev and vjp | q6: vmap"
def interview():
    return {"q1": "b", "q2": "cd", "q3": "ace", "q4": "ad", "q5": "abc", "q6": "ac"}


# %% wrong: interview "digits are not known" fails="q3: digits | q4: finite differences | q5: grad, jacrev and vjp"
def interview():
    return {"q1": "bd", "q2": "cd", "q3": "acde", "q4": "cde", "q5": "ace", "q6": "bde"}


# %% equivalent: ste_sign "LtE to Lt: return upstream * (x.abs() < 1)"
# At exactly -1 and 1 either gradient is allowed.

# %% equivalent: LinearFunction "call of sum left out: return (upstream @ weight if needs[0] else None, upstream.T @ x if needs[1] else None, upstream if needs[2] else None)"
# Autograd sums a gradient that has more rows than the tensor that it is for.

# %% equivalent: grad_reverse "call of view_as left out: return x"
# Where forward hands back an input as it is, apply makes a view of it.

# %% equivalent: check_grad "first two arguments swapped: if not torch.allclose(slope, rows[:, j], atol=1e-05):"
# The tolerance is then relative to the other of two numbers that hardly differ.

# %% equivalent: check_grad "call of detach left out: leaf = x.clone(memory_format=torch.contiguous_format).requires_grad_()"
# The copy has a history then. torch.autograd.grad stops at it, and writes to no .grad.

# %% equivalent: ensemble_predict "sign or not taken away: return logits.softmax(1)"
# The logits have two dimensions: 1 is the last one.

# %% equivalent: ensemble_predict "first two arguments swapped: result: Tensor = torch.func.vmap(probabilities)(buffers, parameters).mean(0)"
# functional_call takes the two dicts in any order.

# %% equivalent: check_grad "with taken away: with torch.no_grad():"
# The differences then have a history that nobody asks for. Their values are the same.
