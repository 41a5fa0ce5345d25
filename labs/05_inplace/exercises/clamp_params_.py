# %% exercise
def clamp_params_(params: list[Tensor], limit: float) -> int:
    """Clamp each parameter to [-limit, limit], in its own memory. Returns how many elements changed.

    params holds different leaves that require grad. An element counts as changed if its value differs from before.

    Details:
    - params: each float32 or float64, of any shape, including () and shapes without elements, with any strides. No two
      elements share memory, and memory next to the elements isn't touched. The list may be empty.
    - limit is 0 or more, and may be infinity.
    - NaN stays NaN and isn't counted.
    - The list still holds the same tensors. Their requires_grad and .grad aren't changed, and neither is the grad mode:
      recording may be on or off when the function is called.
    """
    ### BEGIN SOLUTION
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += int((p.abs() > limit).sum())
            p.clamp_(-limit, limit)
    return changed
    ### END SOLUTION


# %% promises
# Clamp each parameter -> example, own_memory, other_cases, optimizer, nan_stays, keeps_grad_mode
# Returns how many -> example, other_cases, nan_stays, keeps_grad_mode
# params holds different -> other_cases, optimizer
# An element counts -> example, other_cases
# params: each float32 -> other_cases, optimizer
# No two elements share -> optimizer
# The list may be empty -> keeps_grad_mode
# limit is 0 or more -> other_cases
# NaN stays NaN -> nan_stays
# The list still -> optimizer, same_leaves, keeps_grad_mode
# Their requires_grad -> optimizer, same_leaves, keeps_grad_mode


# %% domain
@domain(
    reference,
    *("float32", "mixed dtypes", "no parameters", "one parameter", "limit 0", "infinite limit", "on the limit"),
    *(
        "all inside",
        "all outside",
        "NaN",
        "infinities",
        "infinities and an infinite limit",
        "no axes",
        "no elements",
        "transposed",
        "every second one",
    ),
    *("just outside", "on the limit, float32", "parts of one tensor", "some hold .grad", "recording off"),
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    count = {"no parameters": 0, "one parameter": 1, "no elements": 3}.get(edge, draw(st.integers(2, 3)))
    limit = {"limit 0": 0.0, "infinite limit": math.inf, "infinities and an infinite limit": math.inf}.get(
        edge, draw(st.sampled_from([0.25, 0.3, 0.75, 1.1]))
    )
    if edge == "on the limit":
        limit = draw(st.sampled_from([0.25, 0.5, 1.5]))
    if edge == "on the limit, float32":
        limit = draw(st.sampled_from([0.1, 0.3]))  # less than in float32
    shapes = draw(st.permutations([(2, 3), (4,), (3, 2)]))[:count]
    if edge == "no axes":
        shapes = [(), (), (4,)][:count]
    if edge == "no elements":
        shapes = [(0, 3), (4,), (0,)]
    g = draw.make_generator(here)
    parts = [torch.randn(shape, dtype=torch.float64, generator=g) for shape in shapes]
    if edge in ("all inside", "all outside"):
        parts = [p.sign() * (limit * 0.9 * p.sin().abs() if edge == "all inside" else limit + p.abs()) for p in parts]
    special = {"NaN": (math.nan, 5.0)}
    special |= dict.fromkeys(["infinities", "infinities and an infinite limit"], (math.inf, -math.inf))
    special["just outside"] = (limit * (1 + 1e-12), -limit * (1 + 1e-12))
    special |= {"on the limit": (limit, -limit), "on the limit, float32": (limit, -limit)}
    if edge in special:
        for p in parts:
            p.view(-1)[:2] = torch.tensor(special[edge], dtype=torch.float64)
    if edge == "limit 0":
        parts[0][0] = 0.0
    if "float32" in edge or edge == "mixed dtypes":
        parts = [p.float() if "float32" in edge or n == 0 else p for n, p in enumerate(parts)]
    if edge == "parts of one tensor":
        numbers = torch.cat([torch.zeros(1, dtype=torch.float64), *[p.flatten() for p in parts]])
        pieces = numbers[1:].split([p.numel() for p in parts])
        parts = [piece.view(p.shape) for piece, p in zip(pieces, parts, strict=True)]
    params = [draw.apply_layout(p, edge).requires_grad_() for p in parts]
    if edge == "some hold .grad":
        params[0].grad = torch.full_like(params[0], 1000.0)
    return params, limit


# %% checks
with check(
    "example",
    "two parameters, clamped to [-1, 1]",
    weight=3,
    required=True,
    hint=(
        "Which memory do the clamped numbers go to? And do you count before or after the write?",
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
            "this counts no changes: a second name for a tensor changes with it": 0,
            "this counts all elements that are now on the limit": 3,
            "this counts the tensors that changed, not the elements": 1,
        },
    )
with check(
    "own_memory",
    "another name for a parameter's memory sees the clamped numbers",
    weight=2,
    hint=(
        "Does your code write into the memory that the parameter has, or give it other memory?",
        "After p.data = new, p is the same tensor, but its numbers are elsewhere. p.clamp_(...) writes where they are.",
    ),
):
    t = torch.tensor([4.0, -0.5, -3.0], requires_grad=True)
    held, old, want = t.detach(), t.detach().clone(), torch.tensor([2.0, -0.5, -2.0])
    clamp_params_([t], 2.0)
    assert_close(t.detach(), want, name="the parameter")
    explain(
        held,
        want,
        {"the clamped numbers are in new memory: assigning to p.data isn't a write into p's own": old},
        name="the memory that the parameter had before",
    )


# %% hidden checks
def list_clamped(params):
    return [p.detach() if isinstance(p, Tensor) else None for p in params]


def assert_clamped(function, *edges):
    """The values of params are as after the reference."""
    for trial in arguments.iter_trials(function, *edges):
        assert_close(list_clamped(trial.arguments[0]), list_clamped(trial.case.arguments[0]), name="params")


def list_states(params):
    return [[p.requires_grad, p.grad] if isinstance(p, Tensor) and p.is_leaf else None for p in params]


with check(
    "other_cases",
    "other limits, shapes and dtypes",
    weight=3,
    required=True,
    hint="Is every element of every tensor in the range afterward, and did you count each one that was outside?",
):
    for edges in (
        ("", "float32", "mixed dtypes", "one parameter", "limit 0", "infinite limit", "on the limit"),
        ("all inside", "all outside", "infinities", "no axes", "no elements", "transposed", "every second one"),
        ("just outside", "on the limit, float32", "infinities and an infinite limit"),
    ):
        assert_clamped(clamp_params_, *edges)
        arguments.assert_results(clamp_params_, *edges)
    arguments.assert_results(clamp_params_, "parts of one tensor", "some hold .grad")
with check(
    "optimizer",
    "an optimizer that holds the parameters continues from the clamped values",
    hint="Does the list hold the same tensors as before, in the same memory?",
):
    t = [torch.tensor([4.0, -0.5], requires_grad=True), torch.tensor([[-9.0]], requires_grad=True)]
    held, memory = list(t), [p.detach() for p in t]
    optimizer = torch.optim.SGD(held, lr=0.5)
    clamp_params_(t, 2.0)
    assert all(p is q for p, q in zip(t, held, strict=True)), "the list now holds other tensors"
    assert_close(memory, [torch.tensor([2.0, -0.5]), torch.tensor([[-2.0]])], name="the memory of the parameters")
    for p in held:
        p.grad = torch.ones_like(p)
    optimizer.step()
    want = [torch.tensor([1.5, -1.0]), torch.tensor([[-2.5]])]
    assert_close([p.detach() for p in t], want, name="params after a step")
    assert_clamped(clamp_params_, "transposed", "every second one", "parts of one tensor")
    arguments.assert_arguments(clamp_params_, ignore=("params.grad",))
with check(
    "same_leaves",
    "they're still leaves that require grad, with their old .grad",
    weight=2,
    hint="Was your write recorded? And which line touches .grad or requires_grad?",
):
    t = [torch.tensor([4.0, -0.5], requires_grad=True), torch.tensor([7.0], requires_grad=True)]
    clamp_params_(t, 1.0)
    assert all(p.is_leaf and p.requires_grad for p in t), "not all are leaves that require grad"
    for trial in arguments.iter_trials(clamp_params_, "", "some hold .grad"):
        assert_close(list_states(trial.arguments[0]), list_states(trial.case.arguments[0]), name="the state of params")
with check("nan_stays", "NaN stays NaN and isn't counted", hint="Is NaN different from NaN?"):
    assert_clamped(clamp_params_, "NaN")
    arguments.assert_results(clamp_params_, "NaN")
with check(
    "keeps_grad_mode",
    "recording is on or off as before, and the list may be empty",
    guard=True,
    hint="Which calls switch recording on or off, and for how long?",
):
    assert_clamped(clamp_params_, "recording off")
    arguments.assert_results(clamp_params_, "recording off", "no parameters")
    arguments.assert_settings(clamp_params_)


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


# %% wrong "new memory under .data" fails=own_memory,optimizer
def clamp_params_(params, limit):
    changed = 0
    for p in params:
        changed += int((p.abs() > limit).sum())
        p.data = p.data.clamp(-limit, limit)
    return changed


# %% wrong "a parameter owns its whole storage" fails=optimizer
def clamp_params_(params, limit):
    changed = sum(int((p.abs() > limit).sum()) for p in params)
    for p in params:
        torch.empty(0, dtype=p.dtype).set_(p.untyped_storage()).clamp_(-limit, limit)
    return changed


# %% wrong "a second name is a copy" fails=example,other_cases,nan_stays,keeps_grad_mode
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            before = p.detach()
            p.clamp_(-limit, limit)
            changed += int((p != before).sum())
    return changed


# %% wrong "what is on the limit was clamped" fails=example,other_cases
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            p.clamp_(-limit, limit)
            changed += int((p.abs() == limit).sum())
    return changed


# %% wrong "tensors are counted" fails=example,other_cases,nan_stays,keeps_grad_mode
def clamp_params_(params, limit):
    changed = 0
    with torch.no_grad():
        for p in params:
            changed += bool((p.abs() > limit).any())
            p.clamp_(-limit, limit)
    return int(changed)
