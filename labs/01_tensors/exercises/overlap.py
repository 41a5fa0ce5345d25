# %% exercise
def overlap(a: Tensor, b: Tensor) -> bool:
    """Return True if a and b have an element at the same position in memory, else False.

    a, b: CPU tensors of the same dtype, with any shapes and strides, and at most 1000 elements each.

    Details:
    - Their dtype can be any but complex, even bfloat16. Neither is changed.
    - Each has its own storage or shares one, like a view or t.detach(). An empty tensor overlaps nothing.
    - You don't have to recognize two tensors that were created separately from one NumPy array.
    """
    ### BEGIN SOLUTION
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr():
        return False
    return not set(slots(a)).isdisjoint(slots(b))
    ### END SOLUTION


# %% promises
# Return True if a and b -> result_type, example, views_meet, side_by_side, interleaved, separate_memory
# a, b: CPU tensors -> expanded
# Their dtype can be any -> dtypes
# Each has its own -> separate_memory, views_meet
# Neither is changed -> keeps_input
# An empty tensor -> empty
# You don't have to recognize -> separate_memory


# %% domain
@domain(
    reference,
    *("0-dim", "empty", "empty twice", "expanded", "one view twice", "one tensor twice"),
    *("side by side", "interleaved", "once in the middle"),
    *("separate memory", "equal values", "bool", "uint8", "bfloat16", "requires grad"),
)
def arguments(draw, edge):
    names = {"bool", "uint8", "bfloat16"}
    dtype = getattr(torch, edge if edge in names else draw(st.sampled_from(["float32", "int64"])))
    g = draw.make_generator()
    base = torch.randint(1, 9, (48,), generator=g).to(torch.float32 if edge == "requires grad" else dtype)
    views = []
    for _ in range(2):
        n, m = draw(st.integers(1, 3)), draw(st.integers(1, 4))
        size, stride = (n, m), draw(st.sampled_from([(1, n), (m, 1), (7, 2), (2, 5), (5, 3)]))
        views.append((size, stride, draw(st.integers(0, 20))))
    if edge in ("0-dim", "empty", "expanded"):
        n = draw(st.integers(1, 3))
        other = {"0-dim": ((), ()), "empty": ((n, 0), (1, 1)), "expanded": ((n, 3), (1, 0))}[edge]
        views[draw(st.integers(0, 1))] = (*other, draw(st.integers(0, 20)))
    offset = draw(st.integers(0, 5))
    if edge == "empty twice":
        views[0] = ((draw(st.integers(1, 3)), 0), (1, 1), offset)
    if edge in ("one view twice", "empty twice"):
        views[1] = views[0]
    if edge == "side by side":
        views = [((3,), (1,), offset), ((4,), (1,), offset + 3)]
    if edge == "interleaved":
        views = [((5,), (2,), offset), ((5,), (2,), offset + 1)]
    if edge == "once in the middle":
        views = [((5,), (5,), offset), ((4,), (7,), offset + 1)]  # both read slot offset + 15
    if draw(st.booleans()):
        views.reverse()
    if edge == "requires grad":
        base.requires_grad_()
    other = base.clone().detach() if edge in ("separate memory", "equal values") else base.detach()
    if edge == "equal values":
        base, other = base * 0 + 3, other * 0 + 3
    a, b = base.as_strided(*views[0]), other.as_strided(*views[1])
    return a, a if edge == "one tensor twice" else b


# %% checks
with check(
    "result_type",
    "the result is True or False",
    weight=2,
    required=True,
    hint=(
        "What does your last line return: a bool, a set, a number or a tensor?",
        "Comparing two Python numbers with == returns a bool, and so does calling isdisjoint on two sets. An "
        "intersection is a set.",
    ),
):
    t = torch.arange(8.0)
    got = overlap(t[:4], t[2:])
    assert isinstance(got, bool), f"your result is a {type(got).__name__}"
with check(
    "example",
    "two slices, and a copy",
    weight=2,
    hint=(
        "Which slots do t[:4] and t[2:] read? Does a clone read the same storage?",
        "First compare the two storages' addresses, then look for a slot that both tensors read.",
    ),
):
    t = torch.arange(8.0)
    assert_close(overlap(t[:4], t[2:]), True)
    assert_close(overlap(t, t.clone()), False)

# %% hidden checks
with check(
    "views_meet",
    "overlapping views of one storage",
    weight=3,
    required=True,
    hint="Do a row and a column of one matrix start at the same address? Do they intersect?",
):
    t = torch.arange(20.0).reshape(4, 5)
    for a, b in ((t, t[2:]), (t[1], t[:, 3]), (t[1:, 1:], t.T), (t[::3], t[3:, 4:]), (t[2, 3], t[2]), (t, t)):
        assert_close(overlap(a, b), True)
        assert_close(overlap(b, a), True)
    t = torch.arange(120.0).reshape(2, 3, 4, 5)
    for a, b in (
        (t[:, :, 1], t[1, 2]),
        (t[..., 4], t[1, 2, 3, 4]),
        (t[0, :, ::2, 1:], t[:, 1, 2]),
        (t, t[0, 1, 2, 3:]),
    ):
        assert_close(overlap(a, b), True)
    t += 1
    for a, b in ((t, t.detach()), (t.data[1], t[:, 1]), (t[1:].detach(), t.flatten()[100:])):
        assert_close(overlap(a, b), True)
    t = torch.zeros(1000)
    assert_close(overlap(t[600:], t), True)
    assert_close(overlap(t[::3], t[999:]), True)
    arguments.assert_results(overlap, "", "one view twice", "one tensor twice")
with check(
    "side_by_side",
    "adjacent slices of one storage",
    weight=3,
    required=True,
    hint="Is it enough for two tensors to share a storage?",
):
    t = torch.arange(20.0).reshape(4, 5)
    for a, b in ((t[:2], t[2:]), (t[0], t[3]), (t[1, 1], t[1, 2]), (t[3, 4:], t[:3])):
        assert_close(overlap(a, b), False)
        assert_close(overlap(b, a), False)
    arguments.assert_results(overlap, "side by side")
with check(
    "interleaved",
    "interleaved views",
    weight=2,
    hint="Do two intersecting ranges always share a slot? Think of odd and even numbers.",
):
    t = torch.arange(24.0).reshape(4, 6)
    for a, b in ((t[:, ::2], t[:, 1::2]), (t[:, 1], t[:, 2]), (t[1], t[::2]), (t[:, 0:2].T, t[:, 3:])):
        assert_close(overlap(a, b), False)
    t = torch.zeros(2, 1000)
    assert_close(overlap(t[:, ::2], t[:, 1::2]), False)
    arguments.assert_results(overlap, "interleaved", "once in the middle")
with check(
    "separate_memory", "equal values in separate memory", weight=2, hint="What do equal values tell you about memory?"
):
    t = torch.full((3, 2), 4.0)
    assert_close(overlap(t[[0, 1]], t), False)
    arguments.assert_results(overlap, "separate memory", "equal values")
with check("expanded", "expanded and 0-dim tensors", weight=2, hint="Which slot does an expanded tensor read?"):
    arguments.assert_results(overlap, "expanded", "0-dim")
    assert_close(overlap(torch.tensor(4.0), torch.tensor(4.0)), False)
with check(
    "empty", "an empty tensor overlaps nothing", guard=True, hint="What is the address of an empty tensor's storage?"
):
    arguments.assert_results(overlap, "empty", "empty twice")
    assert_close(overlap(torch.empty(0), torch.empty(0)), False)
    for t in (torch.empty(0), torch.ones(2, 3)[:, 1:1]):
        assert_close(overlap(t, t), False)
with check(
    "dtypes",
    "any dtype but complex",
    weight=2,
    hint="Which dtypes does NumPy lack? And which differences are lost in a small dtype's sum?",
):
    arguments.assert_results(overlap, "bool", "uint8", "bfloat16", "requires grad")
with check(
    "keeps_input",
    "both tensors keep their values",
    guard=True,
    hint="If you write a marker to find it again, do you restore the value?",
):
    arguments.assert_arguments(overlap)


# %% right "addresses of all elements"
def overlap(a, b):
    def addresses(t):
        return {t[i].data_ptr() for i in np.ndindex(*t.shape)}

    return bool(addresses(a) & addresses(b))


# %% right "NumPy knows, for any 1, 2, 4 or 8 bytes"
def overlap(a, b):
    same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return np.shares_memory(a.view(same).numpy(), b.view(same).numpy())


# %% right "mark the slots of one, look with the other"
def overlap(a, b):
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not a.numel() or not b.numel():
        return False
    marks = torch.zeros(a.untyped_storage().nbytes() // a.element_size(), dtype=torch.bool)
    marks.as_strided(a.shape, a.stride(), a.storage_offset()).fill_(True)
    return bool(marks.as_strided(b.shape, b.stride(), b.storage_offset()).any())


# %% right "two loops over the slots"
def overlap(a, b):
    same = a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    return same and any(slot in slots(b) for slot in slots(a))


# %% wrong "one memory means one first address" fails=example,views_meet,interleaved
def overlap(a, b):
    return a.data_ptr() == b.data_ptr() and a.numel() > 0


# %% wrong "write and look, and leave it" fails=dtypes,keeps_input raises=RuntimeError
def overlap(a, b):
    if not a.numel() or not b.numel():
        return False
    a.fill_(1)
    before = b.clone()
    a.fill_(0)
    return not torch.equal(b, before)


# %% wrong "NumPy has every dtype" fails=dtypes raises=TypeError
def overlap(a, b):
    return np.shares_memory(a.detach().numpy(), b.detach().numpy())


# %% wrong "may_share_memory is the quick shares_memory" fails=interleaved,expanded
def overlap(a, b):
    same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return np.may_share_memory(a.view(same).numpy(), b.view(same).numpy())
