# %% exercise
def batched_jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The Jacobian of f at each row of x.

    f: a function from one sample (m,) to (k,), made of PyTorch's operations. x: (n, m), n at least 1, float32 or
    float64; it may require grad. Returns (n, k, m): element (i, a, b) is the derivative of output a by input b at row
    i. If x requires grad, and the Jacobian depends on x, the result can be differentiated by x. That of a linear f does
    not, and may have no history. x stays as it is, and so do its requires_grad and .grad.
    """
    ### BEGIN SOLUTION
    return torch.func.vmap(torch.func.jacrev(f))(x)
    ### END SOLUTION


# %% checks
with check(
    "polar",
    "three points in polar coordinates",
    weight=2,
    required=True,
    hint=(
        "Is f called with one sample at a time? Which shape has the Jacobian of one sample?",
        "Which function of torch.func gives one sample's Jacobian, and which one runs that for each row of x?",
    ),
):
    t = torch.tensor([[3.0, 4.0], [1.0, -1.0], [-2.0, 0.5]])
    want = torch.stack([torch.autograd.functional.jacobian(polar, row) for row in t])
    got = batched_jacobian(polar, t)
    explain(got, want, {"rows and columns are exchanged": want.mT})

# %% hidden checks
with check(
    "other_cases",
    "other functions, sizes and dtypes",
    weight=4,
    required=True,
    hint="Is f called with one sample? Which of the axes is the input's?",
):
    for f, n, m, dtype in (
        (neighbours, 4, 3, torch.float64),
        (spread_out, 1, 2, torch.float32),
        (neighbours, 2, 2, torch.float32),
        (spread_out, 5, 4, torch.float64),
        (polar, 3, 4, torch.float64),
        (steps, 4, 3, torch.float64),
    ):
        t = torch.randn(m, n, dtype=dtype, generator=torch.Generator(here).manual_seed(n)).T
        want, digits = (
            torch.stack([torch.autograd.functional.jacobian(f, row) for row in t]),
            1e3 * torch.finfo(dtype).eps,
        )
        assert_close(batched_jacobian(f, t), want, rtol=digits, atol=digits)
    t = torch.tensor([[1.0, 2.0, -1.0], [0.0, 3.0, 0.5]], requires_grad=True)
    want = torch.tensor([[[-1.0, 2.0, 0.0], [0.0, -1.0, 2.0]]] * 2)
    assert_close(batched_jacobian(steps, t), want, name="the Jacobian of a linear function")
with check(
    "double_backward", "it can be differentiated by x", weight=2, required=True, hint="Is there a detach on the way?"
):
    t = torch.tensor([[3.0, 4.0, -1.0], [1.0, -1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    t_up = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(2, 2, 3)
    want = torch.zeros(2, 2, 3, dtype=torch.float64)
    for row in range(2):
        for a in range(2):
            want[row, a, a], want[row, a, a + 1] = 2 * t[row, a] * t[row, a + 1], t[row, a] ** 2
    want_grad = torch.autograd.grad(want, t, t_up)[0]
    got = batched_jacobian(neighbours, t)
    assert_close(got, want)
    assert got.requires_grad, "your result has no history"
    assert_close(torch.autograd.grad(got, t, t_up)[0], want_grad, name="the gradient of your result")
with check("keeps_input", "x and x.grad stay as they are", guard=True, hint="Which calls write to .grad?"):
    t = torch.tensor([[3.0, 4.0], [1.0, -1.0]], requires_grad=True)
    t.grad = torch.full((2, 2), 7.0)
    t_plain = torch.tensor([[3.0, 4.0], [1.0, -1.0]])
    want = torch.tensor([[[0.6, 0.8], [-0.16, 0.12]], [[0.5**0.5, -(0.5**0.5)], [0.5, 0.5]]])
    for each in (t, t_plain):
        assert_close(unchanged(batched_jacobian, polar, each), want)


# %% right "jacfwd"
def batched_jacobian(f, x):
    return torch.vmap(torch.func.jacfwd(f))(x)


# %% right "a loop"
def batched_jacobian(f, x):
    return torch.stack([torch.autograd.functional.jacobian(f, row, create_graph=x.requires_grad) for row in x])


# %% right "one row after the other, by vjp"
def batched_jacobian(f, x):
    y, back = torch.func.vjp(torch.func.vmap(f), x)
    rows = []
    for k in range(y.shape[1]):
        v = torch.zeros_like(y)
        v[:, k] = 1
        rows.append(back(v)[0])
    return torch.stack(rows, 1)


# %% wrong "jacrev of the batch, and its diagonal in the wrong order" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    full = torch.func.jacrev(torch.func.vmap(f))(x)
    return full.diagonal(dim1=0, dim2=2)


# %% wrong "rows and columns exchanged" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    return torch.func.vmap(torch.func.jacrev(f), out_dims=2)(x).permute(2, 1, 0)


# %% wrong "the gradient of the sum of the outputs" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    def total(one):
        return f(one).sum()

    g = torch.func.vmap(torch.func.grad(total))(x)
    return g[:, None].expand(-1, f(x[0]).shape[0], -1).clone()


# %% wrong "the first row stands for all" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    one = torch.func.jacrev(f)(x[0].detach())
    return one.expand(len(x), *one.shape)


# %% wrong "all of the batch at once" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    return torch.func.jacrev(torch.func.vmap(f))(x)


# %% wrong "a loop over detached rows" fails=double_backward
def batched_jacobian(f, x):
    return torch.stack([torch.autograd.functional.jacobian(f, row) for row in x.detach()])


# %% wrong "backward, row by row" fails=double_backward,keeps_input
def batched_jacobian(f, x):
    x.requires_grad_()
    out = torch.stack([f(row) for row in x])
    rows = []
    for k in range(out.shape[1]):
        x.grad = None
        out[:, k].sum().backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows, 1).detach()


# %% wrong "x requires grad from now on" fails=keeps_input
def batched_jacobian(f, x):
    x.requires_grad_()
    out = torch.stack([f(row) for row in x])
    rows = [torch.autograd.grad(out[:, k].sum(), x, create_graph=True)[0] for k in range(out.shape[1])]
    return torch.stack(rows, 1)


# %% wrong "float32 inside, and back" fails=other_cases,double_backward
def batched_jacobian(f, x):
    return torch.func.vmap(torch.func.jacrev(f))(x.float()).to(x.dtype)


# %% wrong "a linear function for every f" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    one = torch.func.jacrev(f)(torch.zeros_like(x[0]))
    return one.expand(len(x), *one.shape)


# %% wrong "x is written anew, without requires_grad" fails=keeps_input
def batched_jacobian(f, x):
    found = torch.func.vmap(torch.func.jacrev(f))(x)
    x.grad = None
    return found


# %% right "the batch's Jacobian, its diagonal"
def batched_jacobian(f, x):
    return torch.einsum("iaib->iab", torch.func.jacrev(torch.func.vmap(f))(x))


# %% right "autograd.grad for each output"
def batched_jacobian(f, x):
    t = x if x.requires_grad else x.detach().clone().requires_grad_()
    out = torch.stack([f(row) for row in t])
    return torch.stack([torch.autograd.grad(o.sum(), t, create_graph=True)[0] for o in out.unbind(1)], 1)
