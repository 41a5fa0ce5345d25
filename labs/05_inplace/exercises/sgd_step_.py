# %% exercise
def sgd_step_(params: list[Tensor], buffers: list, lr: float, momentum: float, weight_decay: float) -> None:
    """One step of SGD with momentum, by the formulas above, in place.

    Each of params is updated in its own memory. A parameter whose .grad is None is skipped, and so is its buffer.
    buffers is a list as long as params, with None before a parameter's first step. That step puts the momentum buffer
    there, even if momentum is 0: a new tensor of the parameter's dtype, without history. Later steps write into that
    tensor.

    Details:
    - params: different leaves that require grad, each float32 or float64, of any shape, including () and shapes without
      elements, with any strides. Memory next to a parameter's elements isn't touched.
    - The list params may be empty. This list and its tensors' requires_grad aren't changed.
    - lr, momentum and weight_decay are at least 0.
    - A .grad has its parameter's dtype and any strides, and may be recorded; it keeps its values.
    - The grad mode, recording on or off, is the same after the call as before.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            d = p.grad + weight_decay * p  # a new tensor, even with weight_decay = 0
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p.sub_(buffers[i], alpha=lr)
    ### END SOLUTION


# %% promises
# One step of SGD -> example, like_torch, no_gradient, in_place, momentum_zero, keeps_grad_mode
# Each of params is -> in_place
# A parameter whose -> no_gradient
# buffers is a list -> like_torch, in_place
# That step puts -> momentum_zero, zeroed_gradients, in_place
# Later steps write -> in_place
# params: different leaves -> like_torch, in_place
# Memory next to -> in_place
# The list params may -> keeps_grad_mode
# This list and -> in_place
# lr, momentum and -> like_torch, momentum_zero
# A .grad has its -> keeps_grad, in_place
# The grad mode -> keeps_grad_mode


# %% domain
@domain(
    reference,
    *("float32", "mixed dtypes", "first step", "later step", "one parameter", "no axes", "no elements"),
    *("some without .grad", "first step, some without .grad", "all without .grad", "zero gradients"),
    *("momentum 0", "first step, momentum 0", "weight decay 0", "first step, weight decay 0", "lr 0"),
    *("transposed", "every second one", "parts of one tensor", "gradients of stride 0", "recorded gradients"),
    *("first step, recorded gradients", "recording off"),
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    count = 1 if edge == "one parameter" else 4 if "without" in edge else draw(st.integers(2, 3))
    shapes = draw(st.permutations([(2, 3), (4,), (3, 2), (5,)]))[:count]
    shapes = {"no axes": [()] * count, "no elements": [(0, 3), (4,), (0,)][:count]}.get(edge, shapes)
    g = draw.make_generator(here)
    numbers = [[torch.randn(shape, dtype=torch.float64, generator=g) for shape in shapes] for _ in range(3)]
    if edge in ("float32", "mixed dtypes"):
        numbers = [[t.float() if edge == "float32" or n == 0 else t for n, t in enumerate(ts)] for ts in numbers]
    if edge == "parts of one tensor":
        flat = torch.cat([torch.zeros(1, dtype=torch.float64), *[t.flatten() for t in numbers[0]]])
        pieces = flat[1:].split([t.numel() for t in numbers[0]])
        numbers[0] = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
    values, gradients, later = ([draw.apply_layout(t, edge) for t in ts] for ts in numbers)
    first = [n % 2 == 0 and edge != "later step" or "first step" in edge for n in range(count)]
    buffers = [None if is_first else b for is_first, b in zip(first, later, strict=True)]
    params = [p.requires_grad_() for p in values]
    for n, (p, gradient) in enumerate(zip(params, gradients, strict=True)):
        if "recorded" in edge:
            gradient = gradient.requires_grad_() * 1
        if edge == "zero gradients":
            gradient = torch.zeros_like(gradient)
        if edge == "gradients of stride 0":
            gradient = gradient.flatten()[:1].reshape([1] * gradient.dim()).expand(gradient.shape)
        p.grad = None if edge == "all without .grad" or "some without" in edge and n < 2 else gradient
    lr = 0.0 if edge == "lr 0" else draw(st.sampled_from([0.03, 0.1, 0.5]))
    momentum = 0.0 if "momentum 0" in edge else draw(st.sampled_from([0.5, 0.9]))
    weight_decay = 0.0 if "weight decay 0" in edge else draw(st.sampled_from([0.05, 0.1, 0.3]))
    return params, buffers, lr, momentum, weight_decay


# %% checks
with check(
    "example",
    "two steps, each with its own gradient",
    weight=4,
    required=True,
    hint=(
        "Follow the formulas by hand. What are d, the buffer and the parameter after the first step?",
        "The buffer is d at first and momentum * b + d later. Subtract lr times the buffer, in the parameter's memory.",
    ),
):
    t, t_buffers = [torch.tensor([1.0, -2.0], requires_grad=True)], [None]
    t[0].grad = torch.tensor([10.0, 20.0])
    sgd_step_(t, t_buffers, 0.1, 0.5, 0.0)
    assert_close(t[0].detach(), torch.tensor([0.0, -4.0]), name="the parameter after the first step")
    t[0].grad = torch.tensor([1.0, 1.0])
    sgd_step_(t, t_buffers, 0.1, 0.5, 0.0)
    explain(
        t[0].detach(),
        torch.tensor([-0.6, -5.1]),
        {
            "the old buffer was forgotten": torch.tensor([-0.1, -4.1]),
            "the gradient was weighted by 1 - momentum, which torch's formula doesn't do": torch.tensor([-0.55, -5.05]),
        },
        name="the parameter after the second step",
    )


# %% hidden checks
def list_values(tensors):
    return [t.detach() if isinstance(t, Tensor) else None for t in tensors]


def list_gradients(tensors):
    return [getattr(t, "grad", None) for t in tensors]


def assert_values(function, *edges):
    """The values of params and buffers are as after the reference."""
    for trial in arguments.iter_trials(function, *edges):
        assert_close(list_values(trial.arguments[0]), list_values(trial.case.arguments[0]), name="params")
        assert_close(list_values(trial.arguments[1]), list_values(trial.case.arguments[1]), name="buffers")


with check(
    "like_torch",
    "three steps match torch.optim.SGD, with and without momentum and weight decay",
    weight=5,
    required=True,
    hint="What is the buffer after the first step? What does weight decay add, and to what?",
):
    for momentum, decay in ((0.9, 0.0), (0.5, 0.2)):
        first = torch.tensor([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0]], dtype=torch.float64)
        second = torch.tensor(0.7, dtype=torch.float64)
        theirs = [first.clone().requires_grad_(), second.clone().requires_grad_()]
        optimizer = torch.optim.SGD(theirs, lr=0.1, momentum=momentum, weight_decay=decay)
        for k in range(3):
            optimizer.zero_grad()
            ((theirs[0] * theirs[1] - k).square().sum() / 7).backward()
            optimizer.step()
        t, t_buffers = [first.clone().requires_grad_(), second.clone().requires_grad_()], [None, None]
        for k in range(3):
            for p in t:
                p.grad = None
            ((t[0] * t[1] - k).square().sum() / 7).backward()
            sgd_step_(t, t_buffers, 0.1, momentum, decay)
        assert_close([p.detach() for p in t], [p.detach() for p in theirs], name="params")
    assert_values(sgd_step_, "", "float32", "mixed dtypes", "first step", "later step", "one parameter")
    assert_values(sgd_step_, "no axes", "no elements", "zero gradients", "weight decay 0", "lr 0")
with check(
    "zeroed_gradients",
    "clearing the gradients with zero_() doesn't clear the buffers",
    weight=2,
    hint="Is the buffer a new tensor, or another name for p.grad?",
):
    for decay in (0.0, 0.5):
        t, t_buffers = [torch.tensor([1.0, 2.0], requires_grad=True)], [None]
        t[0].grad = torch.tensor([1.0, -3.0])
        sgd_step_(t, t_buffers, 0.5, 0.5, decay)
        t[0].grad.zero_()
        assert_close(t_buffers, [torch.tensor([1.0 + decay, -3.0 + 2.0 * decay])], name="buffers")
with check(
    "keeps_grad",
    "each .grad keeps its values",
    weight=2,
    hint="Which tensor does your line for the weight decay write to?",
):
    for trial in arguments.iter_trials(
        sgd_step_,
        *("", "first step", "later step", "weight decay 0", "first step, weight decay 0", "momentum 0"),
        *("recorded gradients", "gradients of stride 0"),
    ):
        assert_close(list_gradients(trial.arguments[0]), list_gradients(trial.case.arguments[0]), name=".grad")
with check(
    "no_gradient",
    "a parameter without a gradient is skipped",
    weight=2,
    hint="What does None in .grad mean for the parameter, and for its buffer?",
):
    assert_values(sgd_step_, "some without .grad", "first step, some without .grad", "all without .grad")
with check(
    "in_place",
    "parameters and buffers are changed in their own memory, and have no history",
    weight=3,
    hint="Which of your lines only give an old name to a new tensor? Is any line outside no_grad?",
):
    t = [torch.tensor([1.0, 2.0], requires_grad=True)]
    t_states: list = [None]
    held = t[0].detach()
    t[0].grad = torch.tensor([1.0, -3.0])
    sgd_step_(t, t_states, 0.5, 0.5, 0.0)
    buffer_held = t_states[0]
    sgd_step_(t, t_states, 0.5, 0.5, 0.0)
    assert_close(held, torch.tensor([-0.25, 5.75]), name="the parameter's memory")
    assert_close(buffer_held, torch.tensor([1.5, -4.5]), name="the memory of the first buffer")
    assert t[0].is_leaf and t[0].requires_grad, "the parameter isn't a leaf that requires grad anymore"
    assert not t_states[0].requires_grad, "the buffer requires grad"
    assert_values(sgd_step_, "transposed", "every second one", "parts of one tensor", "gradients of stride 0")
    assert_values(sgd_step_, "recorded gradients", "first step, recorded gradients")
    arguments.assert_arguments(
        sgd_step_,
        *("", "first step", "later step", "transposed", "every second one", "parts of one tensor"),
        *("recorded gradients", "first step, recorded gradients"),
        ignore=("params.grad",),
    )
with check(
    "momentum_zero",
    "there's a buffer for momentum 0 too, and it has the parameter's dtype",
    hint="What do the three formulas give for momentum 0? Which dtype does each tensor that you make have?",
):
    assert_values(sgd_step_, "momentum 0", "first step, momentum 0", "first step, weight decay 0")
with check("keeps_grad_mode", "recording is on or off as before, and the list may be empty", guard=True):
    assert_values(sgd_step_, "recording off")
    arguments.assert_settings(sgd_step_)
    sgd_step_([], [], 0.1, 0.9, 0.0)


# %% right "foreach"
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


# %% right "a decorator and a clone"
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


# %% right "by .data, as in old tutorials"
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        d = p.grad.data + weight_decay * p.data
        if buffers[i] is None:
            buffers[i] = torch.zeros_like(p.data)
        buffers[i].mul_(momentum).add_(d)
        p.data.add_(buffers[i], alpha=-lr)


# %% right "the step written out of place, and copied in"
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


# %% wrong "a new parameter in the list" fails=in_place
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        d = p.grad + weight_decay * p.detach()
        buffers[i] = d if buffers[i] is None else buffers[i].mul_(momentum).add_(d)
        params[i] = torch.nn.Parameter(p.detach() - lr * buffers[i])
        params[i].grad = p.grad


# %% wrong "momentum is an average" fails=example,like_torch,no_gradient,in_place,keeps_grad_mode
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


# %% wrong "every step starts from its own gradient" fails=example,like_torch,no_gradient,in_place,keeps_grad_mode
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


# %% wrong "every parameter has a gradient" fails=no_gradient raises=TypeError
def sgd_step_(params, buffers, lr, momentum, weight_decay):
    with torch.no_grad():
        for i, p in enumerate(params):
            d = weight_decay * p + p.grad
            if buffers[i] is None:
                buffers[i] = d
            else:
                buffers[i].mul_(momentum).add_(d)
            p -= lr * buffers[i]
