# %% given
@probes.probe
def judged(judge, matrix, claimed, rate, shape, x):
    """The verdict on matrix @ sin(rate * x) / rate, in this shape, whose backward takes claimed for the matrix."""
    return judge(
        with_backward(
            lambda x: (matrix @ (rate * x).sin().reshape(-1) / rate).reshape(shape),
            lambda x, y, up: (claimed.T @ up.reshape(-1)).reshape(x.shape) * (rate * x).cos(),
        ),
        x,
    )


@probes.probe
def judged_with_weight(judge, weight, grad, x, is_cut):
    """The verdict on sin(weight @ x), where weight requires grad, and what is in its .grad then.

    If is_cut, x is detached in there.
    """
    weight = weight.detach().clone().requires_grad_()
    weight.grad = grad
    return judge(lambda x: (weight @ (x.detach() if is_cut else x).reshape(-1)).sin(), x), weight.grad


# %% exercise
def check_grad(fn: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether autograd's derivative of fn at x agrees with finite differences.

    fn is a function from a tensor of x's shape to a tensor of any shape with at least one element, both float64; it may
    use Functions of the older form, so torch.func and vmap don't work on it.
    Returns a bool: True if every entry of the Jacobian agrees with its central difference, and False otherwise. A wrong
    derivative has an entry that is wrong by at least 1 %, and by at least 1e-3.

    Details:
    - fn may return its argument or a view of it, and may use tensors that require grad. A result without history, or
      whose history doesn't include x, has a derivative of 0. Near x, fn's results lie between -100,000 and 100,000, and
      third derivatives between -10,000 and 10,000.
    - All entries of the Jacobian lie between -1000 and 1000; none is NaN.
    - x: any shape, any strides, float64, not empty, its numbers between -100 and 100, with or without requires_grad,
      possibly the result of recorded operations; recording is on. It isn't changed, and neither are its requires_grad
      and .grad, or the .grad of any tensor that fn uses.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
    out = fn(leaf).reshape(-1)
    rows = leaf.new_zeros(out.numel(), leaf.numel())
    for i in range(out.numel() if out.requires_grad else 0):
        (row,) = torch.autograd.grad(out[i], leaf, retain_graph=True, materialize_grads=True)
        rows[i] = row.reshape(-1)
    for j in range(leaf.numel()):
        step = torch.zeros_like(leaf)
        step.view(-1)[j] = 1e-6
        with torch.no_grad():
            slope = (fn(leaf + step) - fn(leaf - step)).reshape(-1) / 2e-6
        if not torch.allclose(rows[:, j], slope, atol=1e-5):
            return False
    return True
    ### END SOLUTION


# %% promises
# Whether autograd's derivative -> right_accepted, wrong_rejected, straight_through
# fn is a function -> shapes
# Returns a bool: -> example, wrong_rejected, transposed_matrix, one_wrong_entry, ignores_upstream
# A wrong derivative has -> wrong_rejected, small_entries
# fn may return its argument -> right_accepted, keeps_input
# A result without history -> constant_result
# Near x, fn's results lie -> right_accepted
# All entries of the Jacobian -> right_accepted
# x: any shape -> shapes, keeps_input
# It isn't changed -> keeps_input


# %% domain
WRONG = (
    *("first entry", "last entry", "by 1.5 percent", "a small entry", "a small entry among large ones", "zero"),
    *("where 0 belongs", "transposed matrix", "the results' errors cancel", "the inputs' errors cancel"),
)


@domain(
    reference,
    *(
        "one result",
        "no axes in the result",
        "one input",
        "no axes",
        "matrices",
        "steep",
        "large entries",
        "zero entries",
        "x of zeros",
    ),
    *("transposed", "every second one", "expanded", "requires grad", "from an operation", "holds .grad"),
    *WRONG,
    call=judged,
)
def arguments(draw, edge):
    inputs, results = draw(st.permutations([2, 3, 4]))[:2]
    size, shape = (inputs,), (results,)
    if edge in ("matrices", "transposed", "every second one", "expanded"):
        size, shape = (3, 2), (2, 2)
    if edge in ("one result", "no axes in the result"):
        shape = (1,) if edge == "one result" else ()
    if edge in ("one input", "no axes"):
        size = (1,) if edge == "one input" else ()
    if edge in ("transposed matrix", "the results' errors cancel", "the inputs' errors cancel"):
        size = shape = (3,)
    inputs, results, g = math.prod(size), math.prod(shape), draw.make_generator(here)
    matrix = 0.3 + 1.7 * torch.rand(results, inputs, dtype=torch.float64, generator=g)
    matrix = matrix * torch.where(torch.rand(results, inputs, generator=g) < 0.5, -1.0, 1.0)
    x = 1.8 * torch.rand(size, dtype=torch.float64, generator=g) - 0.9  # the cosine is above 0.6
    x *= edge != "x of zeros"
    row, column = draw(st.integers(0, results - 1)), draw(st.integers(0, inputs - 1))
    if edge in ("first entry", "last entry"):
        row, column = (0, 0) if edge == "first entry" else (-1, -1)
    if edge == "large entries":
        matrix *= 400
    if edge in ("zero entries", "where 0 belongs", "a small entry"):
        matrix[row] = 0.02 if edge == "a small entry" else 0.0
    if edge == "a small entry among large ones":
        matrix[:, column] *= 400
        matrix[row, column] = 0.3
    if edge == "transposed matrix":
        matrix[0, 1], matrix[1, 0] = 1.5, -1.0
    if edge == "the inputs' errors cancel":
        x[:] = x[0].clone()
    claimed, is_wrong = matrix.clone(), draw(st.booleans())
    if edge in ("a small entry", "where 0 belongs"):
        claimed[row, column] += 0.0025
    elif edge in ("by 1.5 percent", "zero", "transposed matrix"):
        claimed = {"by 1.5 percent": 1.015 * matrix, "zero": 0 * matrix, "transposed matrix": matrix.T.clone()}[edge]
    elif "cancel" in edge:
        here_and_there = torch.tensor([0.4, -0.4, 0.0], dtype=torch.float64).roll(row)
        claimed += here_and_there[:, None] if edge == "the results' errors cancel" else here_and_there
    elif edge in WRONG or (is_wrong and edge not in ("steep", "large entries", "zero entries", "x of zeros")):
        claimed[row, column] += 0.3
    x = draw.apply_gradient_state(draw.apply_layout(x, edge), edge)
    return matrix, claimed, 50.0 if edge == "steep" else 1.0, shape, x


@domain(reference, "no .grad", "a history without x", call=judged_with_weight)
def weight_held(draw, edge):
    inputs, g = draw(st.integers(1, 3)), draw.make_generator(here)
    weight, grad, x = (
        torch.randn(size, dtype=torch.float64, generator=g) for size in ((2, inputs), (2, inputs), inputs)
    )
    if edge == "a history without x":  # the true slopes are large
        weight, x = weight.sign() * (weight.abs() + 0.5), 0.1 * x
    return weight, None if edge == "no .grad" else grad, x, edge == "a history without x"


# %% checks
with check(
    "example",
    "cubes with the right derivative, and with twice that",
    weight=2,
    required=True,
    hint=(
        "Is the right derivative rejected, or the doubled one accepted? Is your result Python's own bool?",
        "Compare with (fn(x + h) - fn(x - h)) / (2 * h), in float64, one element moved at a time, by about 1e-6.",
    ),
):
    t = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64)
    t_right = with_backward(lambda x: x**3, lambda x, y, up: 3 * x**2 * up)
    t_twice = with_backward(lambda x: x**3, lambda x, y, up: 6 * x**2 * up)
    assert_close([check_grad(t_right, t), check_grad(t_twice, t)], [True, False])

# %% hidden checks


def cubes_of(size, claimed):
    """size * x ** 3, with the derivative of claimed * x ** 3."""
    return with_backward(lambda x: size * x**3, lambda x, y, up: 3 * claimed * x**2 * up)


def exp_of(size, with_upstream=True):
    """exp(size * x)."""
    return with_backward(lambda x: (size * x).exp(), lambda x, y, up: size * y * (up if with_upstream else 1))


def linear_map(matrix, claimed):
    """matrix @ x, with the derivative of claimed @ x."""
    return with_backward(lambda x: matrix @ x, lambda x, y, up: claimed.T @ up)


def soft_of(size, whole):
    """softmax(size * x), with the whole derivative or its diagonal."""
    return with_backward(
        lambda x: (size * x).softmax(-1),
        lambda x, y, up: size * y * (up - (up * y).sum(-1, keepdim=True) if whole else (1 - y) * up),
    )


def bend_of(size, both):
    """size * x * |x|, with a derivative that is right on both sides, or for positive x."""
    return with_backward(lambda x: size * x * x.abs(), lambda x, y, up: 2 * size * (x.abs() if both else x) * up)


def matrix_of(rows, columns):
    """One that is not symmetric."""
    return torch.arange(1.0, rows * columns + 1, dtype=torch.float64).reshape(rows, columns).cos()


with check(
    "right_accepted",
    "right derivatives are accepted",
    weight=3,
    required=True,
    hint="Is everything float64, and are the differences central? How large is 1e-4 relative to an entry of 1,000?",
):
    t = torch.randn(2, dtype=torch.float64, generator=torch.Generator(here).manual_seed(4))
    t_wide, t_high = matrix_of(1, 2), matrix_of(3, 2)
    t_cases = [(linear_map(t_wide, t_wide), t), (soft_of(1.0, True), t)]
    t_cases += [(linear_map(t_high, t_high), t), (bend_of(-2.0, True), t), (lambda x: torch.outer(x, x) / 2, t)]
    t_cases += [(exp_of(4.0), torch.tensor([1.2], dtype=torch.float64))]
    t_cases += [(cubes_of(1.0, 1.0), torch.tensor([18.0, -0.2], dtype=torch.float64))]
    t_cases += [(lambda x: x, t), (torch.ravel, t.reshape(2, 1)), (cubes_of(1600.0, 1600.0), 0 * t)]
    t_cases += [(lambda x: 20_000 + x / 700, torch.linspace(0.1, 0.9, 7, dtype=torch.float64))]  # differences are noisy
    assert_close([check_grad(f, at) for f, at in t_cases], [True] * 11, name="your verdicts")
    arguments.assert_results(check_grad, "steep", "large entries", "zero entries", "x of zeros")
with check(
    "wrong_rejected",
    "wrong factors, signs and sides are rejected",
    weight=2,
    required=True,
    hint="Do you look at every element of x? How wrong is 1 % of a small entry?",
):
    t = torch.randn(2, dtype=torch.float64, generator=torch.Generator(here).manual_seed(5))
    t = t.sign() * (t.abs() + 0.2)
    t_one = torch.tensor([1.0, 0.5, -0.1], dtype=torch.float64)
    t_cases = [
        (cubes_of(1.0, -1.0), t),
        (cubes_of(1.0, 1.01), t),
        (cubes_of(-2.0, 0.0), t),
        (bend_of(1.0, False), t_one),
    ]
    t_cases += [
        (cubes_of(1.0, 1.02), torch.tensor([2.0, 0.1], dtype=torch.float64)),
        (bend_of(1.0, False), t_one.flip(0)),
    ]
    t_cases += [(lambda x: x**2 + x.detach() / 2, t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [False] * 7, name="your verdicts")
    arguments.assert_results(check_grad, "", "by 1.5 percent", "zero")
with check(
    "small_entries",
    "small entries count as much as large ones",
    weight=2,
    hint="An entry of 0.3 that is wrong by 2 % is wrong by 0.006. And what if the entry should be 0?",
):
    t = torch.tensor([1.0, -0.8], dtype=torch.float64)
    t_small, t_zeros = torch.full((2, 2), 0.04, dtype=torch.float64), torch.zeros(3, 2, dtype=torch.float64)
    t_cases = [(cubes_of(0.1, 0.1), t), (cubes_of(0.1, 0.102), t), (linear_map(t_small, 1.1 * t_small), t)]
    t_cases += [(linear_map(2.5 * t_small, 2.5 * t_small + 0.0011), t)]  # 1.1 %
    t_cases += [(linear_map(t_zeros, t_zeros), t), (linear_map(t_zeros, t_zeros + 0.0015), t)]
    want = [True, False, False, False, True, False]
    assert_close([check_grad(f, at) for f, at in t_cases], want, name="your verdicts")
    arguments.assert_results(check_grad, "a small entry", "a small entry among large ones", "where 0 belongs")
with check(
    "transposed_matrix",
    "a transposed matrix is rejected, and so is a diagonal",
    weight=2,
    hint="Which entries do you compare?",
):
    t = torch.randn(3, dtype=torch.float64, generator=torch.Generator(here).manual_seed(6))
    t_matrix, t_flip = matrix_of(3, 3), torch.eye(3, dtype=torch.float64).flip(0)
    t_cases = [
        (linear_map(t_matrix, t_matrix.T), t),
        (soft_of(1.0, False), t),
        (linear_map(1.5 * t_flip, 1.5 * t_flip.T), t),
    ]
    t_cases += [(soft_of(2.0, False), t), (linear_map(t_flip, torch.eye(3, dtype=torch.float64)), t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [False, False, True, False, False], name="your verdicts")
    arguments.assert_results(check_grad, "transposed matrix", "the results' errors cancel", "the inputs' errors cancel")
with check(
    "one_wrong_entry",
    "one wrong entry is enough, wherever it is",
    weight=1,
    hint="Which outputs and inputs come last? And first?",
):
    arguments.assert_results(check_grad, "first entry", "last entry")
with check(
    "ignores_upstream",
    "a backward that ignores the upstream gradient is rejected",
    weight=2,
    hint="Which v do you pass?",
):
    t = torch.randn(2, dtype=torch.float64, generator=torch.Generator(here).manual_seed(7))
    assert_close([check_grad(exp_of(1.0, False), t), check_grad(exp_of(1.0), t)], [False, True], name="your verdicts")
with check(
    "straight_through",
    "a straight-through estimator is rejected",
    weight=1,
    hint="What is the true slope next to the step?",
):
    t = torch.tensor([0.4, -1.0, 2.5], dtype=torch.float64)
    t_step = with_backward(lambda x: (x > 0.1).to(x.dtype), lambda x, y, up: up)
    t_flat = with_backward(lambda x: (x > 0.1).to(x.dtype), lambda x, y, up: 0 * up)
    assert_close([check_grad(t_step, t), check_grad(t_flat, t)], [False, True], name="your verdicts")
with check(
    "constant_result",
    "a result whose history doesn't include x has a derivative of zero",
    weight=2,
    hint="What has no grad_fn? And what does autograd know of weight * x.detach()?",
):
    t = torch.tensor([0.5, -1.5], dtype=torch.float64)
    t_cases = [(lambda x: torch.full((2, 3), 2.0, dtype=x.dtype), t), (lambda x: 3 * x.detach() ** 2, t)]
    t_cases += [(lambda x: torch.full((3,), 4.0, dtype=x.dtype), t.clone().requires_grad_())]
    t_cases += [(lambda x: torch.ones(3, dtype=x.dtype, requires_grad=True).cumsum(0), t)]
    assert_close([check_grad(f, at) for f, at in t_cases], [True, False, True, True], name="your verdicts")
    weight_held.assert_results(check_grad, "a history without x")
with check(
    "shapes",
    "matrices, transposed ones, a single number",
    weight=2,
    hint="How do you access element j of x?",
):
    t = torch.linspace(-1, 1.5, 6, dtype=torch.float64).reshape(2, 3)[:, ::2]
    t_cases = [(cubes_of(1.0, 1.0), t), (soft_of(1.0, True), t.T), (soft_of(1.0, False), t.T)]
    assert_close([check_grad(f, at) for f, at in t_cases], [True, True, False], name="your verdicts")
    arguments.assert_results(check_grad, "one result", "no axes in the result", "one input", "no axes", "matrices")
    arguments.assert_results(check_grad, "transposed", "every second one", "expanded")
with check(
    "keeps_input",
    "x and x.grad aren't changed, and neither is the .grad of what fn uses",
    guard=True,
    hint="Which calls write to .grad? In which tensor do you move an element?",
):
    arguments.assert_results(check_grad, "requires grad", "from an operation", "holds .grad")
    arguments.assert_arguments(check_grad)
    weight_held.assert_results(check_grad, "", "no .grad")


# %% right "gradcheck, asked in the right way"
def check_grad(fn, x):
    t = x.detach().clone().requires_grad_()

    def connected(u):
        return fn(u) + 0 * u.sum()

    return torch.autograd.gradcheck(connected, (t,), rtol=1e-4, raise_exception=False, check_undefined_grad=False)


# %% right "torch's Jacobian, compared column by column"
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


# %% right "random directions on both sides"
def check_grad(fn, x):
    gen = torch.Generator(here).manual_seed(0)
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


# %% wrong "an absolute tolerance only" fails=right_accepted
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


# %% wrong "no history is an error" fails=constant_result
def check_grad(fn, x):
    leaf = x.detach().clone().requires_grad_()
    if not fn(leaf).requires_grad:
        return False
    return torch.autograd.gradcheck(fn, (leaf,), rtol=1e-4, raise_exception=False, check_undefined_grad=False)


# %% right "row by row"
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


# %% right "gradcheck as it is"
def check_grad(fn, x):
    return torch.autograd.gradcheck(fn, (x.detach().clone().requires_grad_(),), raise_exception=False)


# %% wrong "an absolute tolerance of 0.01" fails=small_entries
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


# %% wrong "the caller's x requires grad from now on" fails=keeps_input
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


# %% equivalent "first two arguments swapped: if not torch.allclose(slope, rows[:, j], atol=1e-05):"
# The tolerance is then relative to the other of two numbers that hardly differ.

# %% equivalent "call of detach left out: leaf = x.clone(memory_format=torch.contiguous_format).requires_grad_()"
# The copy has a history then. torch.autograd.grad stops at it, and writes to no .grad.

# %% equivalent "with taken away: with torch.no_grad():"
# The differences then have a history that nobody asks for. Their values are the same.
