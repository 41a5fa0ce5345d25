# %% exercise
def clamp_params_(params: list[Tensor], limit: float) -> int:
    """Clamp each parameter to [-limit, limit], in its own memory. Returns how many elements changed.

    params: leaves that require grad, float32 or float64, any shapes; the list may be empty. limit is 0 or more.
    NaN stays NaN, and is not counted. The list, its tensors, their requires_grad and .grad stay as they are, and so
    does the mode of recording: it may be on or off when the function is called.
    """
    ### BEGIN SOLUTION
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += int((p.abs() > limit).sum())
            p.clamp_(-limit, limit)
    return changed
    ### END SOLUTION


# %% checks
with check(
    "example",
    "two parameters, clamped to [-1, 1]",
    weight=3,
    required=True,
    hint=(
        "Which memory do the clamped numbers go to? And what do you count: before the write, or after it?",
        "Count the elements whose abs() is above the limit. Then clamp_ the parameter itself, with recording off.",
    ),
):
    t = [torch.tensor([[0.5, -3.0], [1.0, 2.0]], requires_grad=True), torch.tensor([-0.1], requires_grad=True)]
    got = clamp_params_(t, 1.0)
    assert_close(
        [p.detach() for p in t], [torch.tensor([[0.5, -1.0], [1.0, 1.0]]), torch.tensor([-0.1])], name="params"
    )
    explain(
        got,
        2,
        {
            "this counts no change: a second name for a tensor changes with it": 0,
            "these are all elements that lie on the limit now": 3,
            "these are the tensors that changed, not the elements": 1,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other limits and shapes, and float64",
    weight=3,
    required=True,
    hint="Does every element of every tensor come out in the range, and is each that was outside counted?",
):
    for dtype, limit in ((torch.float32, 0.0), (torch.float64, 0.3), (torch.float32, 0.3), (torch.float64, 100.0)):
        numbers = torch.randn(14, dtype=dtype, generator=torch.Generator(here).manual_seed(2))
        numbers[8] = limit  # on the limit, and not changed
        parts = [numbers[:6].reshape(2, 3).T, numbers[6:13], numbers[13]]
        want = [p.clamp(-limit, limit) for p in parts]
        count = sum(int((p != w).sum()) for p, w in zip(parts, want, strict=True))
        t = [p.detach().clone().requires_grad_() for p in parts]
        got = clamp_params_(t, limit)
        assert_close([p.detach() for p in t], want, rtol=0, atol=0, name="params")
        assert_close(got, count)
with check(
    "optimizer",
    "an optimizer that holds the parameters goes on from the clamped values",
    weight=3,
    hint="Does the list hold the same tensors as before, over the same memory?",
):
    t = [torch.tensor([4.0, -0.5], requires_grad=True), torch.tensor([[-9.0]], requires_grad=True)]
    held, memory = list(t), [p.detach() for p in t]
    optimizer = torch.optim.SGD(held, lr=0.5)
    clamp_params_(t, 2.0)
    assert all(p is q for p, q in zip(t, held, strict=True)), "the list holds other tensors now"
    assert_close(memory, [torch.tensor([2.0, -0.5]), torch.tensor([[-2.0]])], name="the memory of the parameters")
    for p in held:
        p.grad = torch.ones_like(p)
    optimizer.step()
    want = [torch.tensor([1.5, -1.0]), torch.tensor([[-2.5]])]
    assert_close([p.detach() for p in t], want, name="params after a step")
with check(
    "same_leaves",
    "they are leaves that require grad, with their old .grad",
    weight=2,
    hint="What does your write add to?",
):
    t = [torch.tensor([4.0, -0.5], requires_grad=True), torch.tensor([7.0], requires_grad=True)]
    t[0].grad = torch.tensor([8.0, -8.0])
    clamp_params_(t, 1.0)
    assert all(p.is_leaf and p.requires_grad for p in t), "not all are leaves that require grad"
    assert_close(t[0].grad, torch.tensor([8.0, -8.0]), name=".grad")
    assert t[1].grad is None, "a .grad was None, and is something else now"
with check("nan_stays", "NaN stays, and is not counted", hint="Is NaN different from NaN?"):
    t = [torch.tensor([math.nan, 3.0, -0.5, math.inf], requires_grad=True)]
    got = clamp_params_(t, 1.0)
    assert_close(t[0].detach(), torch.tensor([math.nan, 1.0, -0.5, 1.0]), name="params")
    assert_close(got, 2)
with check(
    "keeps_grad_mode",
    "recording is on or off as before, and no parameters are fine",
    guard=True,
    hint="Which calls switch recording, and until when?",
):
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            clamp_params_([torch.tensor([3.0], requires_grad=True)], 1.0)
            assert torch.is_grad_enabled() is mode, "recording was switched"
    assert_close(clamp_params_([], 1.0), 0)


# %% right "through .data"
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += ((p.data > limit) | (p.data < -limit)).sum().item()
        p.data.clamp_(-limit, limit)
    return changed


# %% right "through a detached tensor, with a mask"
def clamp_params_(params, limit):
    total = 0
    for p in params:
        view = p.detach()
        over, under = view > limit, view < -limit
        view[over] = limit
        view[under] = -limit
        total += int(over.sum() + under.sum())
    return total


# %% right "a copy to compare with, and a decorator"
@torch.no_grad()
def clamp_params_(params, limit):
    before = [p.clone() for p in params]
    for p in params:
        p.copy_(p.clamp(min=-limit, max=limit))
    return sum(int(((p != b) & ~b.isnan()).sum()) for p, b in zip(params, before))


# %% wrong "p = p.clamp() changes the parameter" fails=example,other_cases,optimizer,nan_stays
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p = p.clamp(-limit, limit)
    return changed


# %% wrong "a leaf may be written to" fails=example,other_cases,optimizer,same_leaves,nan_stays,keeps_grad_mode raises=RuntimeError
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.clamp_(-limit, limit)
    return changed


# %% wrong "new parameters in the list" fails=optimizer,same_leaves
def clamp_params_(params, limit):
    changed = 0
    for i, p in enumerate(params):
        changed += int((p.abs() > limit).sum())
        params[i] = torch.nn.Parameter(p.detach().clamp(-limit, limit))
    return changed


# %% wrong "new memory under .data" fails=optimizer
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.data = p.data.clamp(-limit, limit)
    return changed


# %% wrong "a second name is a copy" fails=example,other_cases,nan_stays
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            before = p.detach()
            p.clamp_(-limit, limit)
            changed += int((p != before).sum())
    return changed


# %% wrong "who lies on the limit was clamped" fails=example,other_cases
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            p.clamp_(-limit, limit)
            changed += int((p.abs() == limit).sum())
    return changed


# %% wrong "tensors are counted" fails=example,other_cases,nan_stays
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += bool((p.abs() > limit).any())
            p.clamp_(-limit, limit)
    return int(changed)


# %% wrong "what differs from before has changed, NaN too" fails=nan_stays
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            before = p.clone()
            p.clamp_(-limit, limit)
            changed += int((p != before).sum())
    return changed


# %% wrong "requires_grad off for the write, and left off" fails=same_leaves
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        p.requires_grad_(False)
        changed += int((p.abs() > limit).sum())
        p.clamp_(-limit, limit)
    return changed


# %% wrong "recording is switched on again at the end" fails=keeps_grad_mode
def clamp_params_(params, limit):
    changed = 0
    torch.set_grad_enabled(False)
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.clamp_(-limit, limit)
    torch.set_grad_enabled(True)
    return changed


# %% wrong "clamped weights need new gradients" fails=same_leaves
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += int((p.abs() > limit).sum())
            p.clamp_(-limit, limit)
            p.grad = None
    return changed
