# %% given
# The checks call your function through this probe, too.
@probes.probe
def moved_again(function, t, dtype):
    """The result for a tensor, and for the same tensor after its numbers changed."""
    first = function(t, "cpu", dtype).clone()
    t.mul_(2)
    return {"first": first, "again": function(t, "cpu", dtype)}


# %% exercise
def to_device(batch: Any, device: torch.device | str, dtype: torch.dtype | None) -> Any:
    """A nested batch with all its tensors on device, and its floating-point tensors cast to dtype.

    batch: a tensor, or a list, tuple, named tuple or dict of such batches, to any depth.
    dtype: a floating-point dtype, or None to keep all dtypes. Tensors of integers, booleans and complex numbers always
    keep theirs.
    Everything else in batch (None, strings, numbers, ranges and so on) is returned as is, never as a copy.
    Returns the same nesting, with containers of the same types. A named tuple keeps its class.

    Details:
    - batch has no other containers: no subclass of list or dict, no deque, and no subclass of tuple but named tuples
      with at least one field. It contains no classes either.
    - The lists and dicts returned are new ones, even if nothing had to be moved. batch, its containers and its tensors
      aren't changed. A tensor that needs no change may be returned as is.
    """
    ### BEGIN SOLUTION
    if isinstance(batch, Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch
    ### END SOLUTION


# %% promises
# A nested batch with all -> example, second_device, nested_second_device, back_to_cpu, nested, called_again
# batch: a tensor -> nested
# dtype: a floating-point -> dtypes, integers
# Tensors of integers -> integers
# Everything else -> non_tensors
# Returns the same nesting -> container_types, empty
# A named tuple keeps -> container_types
# batch has no other containers -> container_types, nested
# It contains no classes -> non_tensors
# The lists and dicts -> keeps_input, container_types
# batch, its containers -> keeps_input
# A tensor that needs -> integers


# %% domain
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
OTHERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128)


@domain(
    reference,
    *("one tensor", "nothing to do", "every floating-point dtype", "every other dtype", "every other dtype, float64"),
    *("named tuples", "one item each", "strings first", "beside numbers", "empty containers", "deep"),
    *("keys of all kinds", "the same tensor twice", "views", "sizes of 0", "lists"),
)
def arguments(draw, edge):
    g = draw.make_generator()

    def make_tensor(dtype=torch.float32, size=3):
        t = torch.randn(2, size, dtype=torch.float64, generator=g) * 100
        return t > 0 if dtype == torch.bool else (t.abs() if dtype == torch.uint8 else t).to(dtype)

    def make_batch(depth):
        kind = draw(st.integers(0, 6 if depth else 1))
        if kind < 2:
            return make_tensor(draw(st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool])))
        if kind < 4:
            return (Sample if kind == 2 else Pair)(make_batch(depth - 1), make_batch(depth - 1))
        items = [make_batch(depth - 1) for _ in range(draw(st.integers(1, 3)))]
        if kind == 4:
            return {f"part {n}": item for n, item in enumerate(items)}
        return items if kind == 5 else tuple(items)

    t, u, label = make_tensor(), make_tensor(torch.float64, 4), make_tensor(torch.int64, 5)
    batch = {
        "one tensor": t,
        "nothing to do": [t, {"a": [t, label], "b": (t, {})}, [[]]],
        "every floating-point dtype": [make_tensor(dtype) for dtype in FLOATS],
        "every other dtype": [make_tensor(dtype) for dtype in OTHERS] + [label + 2**53 + 1],
        "named tuples": [Pair([t], Sample(u, label)), (Sample(t, (u,)), {"a": Pair(Pair(t, u), None)})],
        "one item each": [[t], (t,), {"a": (u,)}, ([(label,)],)],
        "strings first": ["a", ("bc", t), [None, u], {"name": "train", "data": (0.5, label)}, {"a": 1, "b": {"c": t}}],
        "beside numbers": (3, 0.5, True, None, t, range(3), b"ab", 2 + 1j, slice(1, 2), torch.float32, [range(2), u]),
        "empty containers": {"a": [], "b": {}, "c": ((), [], t), "d": "", "e": Pair([], ())},
        "deep": [({"a": [({"b": [(t, [{"c": ([u], label)}])]},)]},)],
        "keys of all kinds": {"a": t, 1: [u], (2, "b"): {0.5: t}, None: label, False: {True: u}},
        "the same tensor twice": [t, (t, {"a": t}), Sample(t, t)],
        "views": [t.T, t[:, ::2], (t[1], t[0, 0]), t[:, :1].expand(2, 4), label.T],
        "sizes of 0": (t[:0], {"a": u[:, :0]}, label[:0]),
        "lists": [[t, u], [[label], [t, [u]]]],
    }.get(edge.removesuffix(", float64"))
    batch = make_batch(3) if batch is None else batch
    dtype = None if edge == "nothing to do" else draw(st.sampled_from([torch.float16, torch.bfloat16, torch.float64]))
    if not edge and draw(st.booleans()):
        dtype = None
    dtype = torch.float64 if "float64" in edge else dtype
    return batch, draw(st.sampled_from(["cpu", torch.device("cpu")])), dtype


# %% checks
with check(
    "example",
    "a dict of images and labels, in float64",
    weight=3,
    required=True,
    hint=(
        "Does a tensor's to() change the tensor? And which of the entries should be cast to the new dtype?",
        "Put the results of to() in a new dict. Cast only where is_floating_point() says True.",
    ),
):
    t = torch.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 8.0]])
    batch = {"image": t, "label": torch.tensor([3, 1]), "split": "train"}
    want = {"image": t.double(), "label": torch.tensor([3, 1]), "split": "train"}
    cast = {"image": t.double(), "label": torch.tensor([3.0, 1.0]).double(), "split": "train"}
    dropped = {"image": t.clone(), "label": torch.tensor([3, 1]), "split": "train"}
    explain(
        to_device(batch, "cpu", torch.float64),
        want,
        {
            "the labels were cast too: they're integers, so they should keep their dtype": cast,
            "to() doesn't change the tensor itself, and its result was discarded": dropped,
        },
    )
with check(
    "second_device",
    "the images move to a second device",
    weight=2,
    observed=True,
    hint=(
        "What happens to the result of to()? Is the device used even if dtype is None?",
        "Call to(device) on each tensor, whether or not it's cast, and put the result in the new nesting.",
    ),
):
    t = torch.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 8.0]])
    got = probes.on_second_device(to_device, {"image": t}, torch.device("meta"), None, move=[])
    assert_close(got["result"], {"image": t})
    assert got["devices"] == {"image": "meta"}, "a tensor is still on the CPU"


# %% hidden checks
def describe_containers(value):
    """The types of a value's containers, with the field names of its named tuples."""
    if isinstance(value, dict):
        return ["dict", [describe_containers(value[key]) for key in sorted(value, key=repr)]]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value).__name__, list(value._fields), [describe_containers(item) for item in value]]
    if isinstance(value, list | tuple):
        return [type(value).__name__, [describe_containers(item) for item in value]]
    return None


def list_changeable(value):
    """The lists and dicts in a value, including itself."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
    return [value] * isinstance(value, list | dict) + [found for item in items for found in list_changeable(item)]


with check(
    "nested",
    "nested lists, tuples and dicts, in other dtypes",
    weight=3,
    required=True,
    hint="What does your function do with a tuple in a list in a dict?",
):
    arguments.assert_results(to_device, "", "one tensor", "lists", "deep", "keys of all kinds", "views")
    arguments.assert_results(to_device, "the same tensor twice", "strings first")
with check(
    "integers",
    "integers and booleans keep their dtype, and None keeps every dtype",
    weight=2,
    hint="What happened to the label 257 in bfloat16?",
):
    arguments.assert_results(to_device, "every other dtype", "every other dtype, float64", "nothing to do")
with check(
    "dtypes",
    "tensors of every floating-point dtype are cast",
    weight=2,
    hint="For which dtypes is is_floating_point() True? Which did you list?",
):
    arguments.assert_results(to_device, "every floating-point dtype")
with check(
    "container_types",
    "tuples stay tuples, lists stay lists, and a named tuple keeps its names",
    weight=2,
    hint="What is type(batch), and how is an object of that type created?",
):
    arguments.assert_results(to_device, "named tuples", "one item each")
    for trial in arguments.iter_trials(to_device, "named tuples", "one item each", "lists", "deep", "empty containers"):
        want = describe_containers(trial.case.report.result)
        assert describe_containers(trial.report.result) == want, "a container has a different type or different names"


class Truck:
    """Not a tensor, though it has a method called to."""

    def __init__(self):
        self.rides = []

    def to(self, *place):
        self.rides.append(place)
        return self


with check(
    "non_tensors",
    "everything but tensors is returned unchanged",
    hint="What does a string consist of? Does your function treat it as a container?",
):
    arguments.assert_results(to_device, "beside numbers", "strings first")
    assert to_device(None, "cpu", None) is None, "None became something else"
    assert_close(to_device("train", "cpu", torch.float64), "train")
    array, truck = torch.ones(2).numpy(), Truck()
    got = to_device([torch.float32, array, truck], "cpu", torch.float64)
    same = [mine is sent for mine, sent in zip(got, [torch.float32, array, truck], strict=True)]
    assert same == [True] * 3, "something that isn't a tensor was returned as something else, or as a copy"
    assert truck.rides == [], "an object with a method to() that isn't a tensor was moved"
with check(
    "nested_second_device",
    "every tensor in a nested batch moves to the second device",
    weight=4,
    observed=True,
    hint="Do you use the result of to()? Which tensors does your function miss?",
):
    t = torch.tensor([[1.0, -2.0], [0.5, 4.0]])
    batch = {"a": [t, (t[0], torch.tensor([1, 2]))], "b": Sample(t.T, torch.tensor(3)), "c": None}
    got = probes.on_second_device(to_device, batch, torch.device("meta"), torch.float64, move=[])
    want = {
        "a": [t.double(), (t[0].double(), torch.tensor([1, 2]))],
        "b": (t.T.double(), torch.tensor(3)),
        "c": None,
    }
    assert_close(got["result"], want)
    places = {"a": ["meta", ("meta", "meta")], "b": ("meta", "meta"), "c": None}
    assert_close(got["devices"], places)
with check(
    "back_to_cpu",
    "a nested batch moves back to the CPU",
    weight=2,
    observed=True,
    hint="Does your function use its device argument in both directions?",
):
    t = torch.tensor([[1.0, -2.0], [0.5, 4.0]])
    got = probes.on_second_device(to_device, [t, (torch.tensor([5]),)], "cpu", torch.bfloat16, move=[0])
    assert_close(got["result"], [t.bfloat16(), (torch.tensor([5]),)])
    assert_close(got["devices"], ["cpu", ("cpu",)])
with check(
    "keeps_input", "batch isn't changed, and lists and dicts are new", weight=2, hint="Whose dict do you assign to?"
):
    arguments.assert_arguments(to_device)
    for trial in arguments.iter_trials(
        to_device, "nothing to do", "empty containers", "lists", "deep", "strings first"
    ):
        sent = [id(item) for item in list_changeable(trial.arguments[0])]
        found = [item for item in list_changeable(trial.report.result) if id(item) in sent]
        assert not found, "a list or dict in your result is one from batch"
with check("called_again", "a tensor whose numbers changed since the last call", guard=True):
    t = torch.tensor([[0.5, 1.5], [-2.0, 8.0]])
    want = {"first": t.double(), "again": t.double() * 2}
    assert_close(moved_again(to_device, t, torch.float64), want)
with check("empty", "empty containers and empty tensors", guard=True):
    arguments.assert_results(to_device, "empty containers", "sizes of 0")


# %% right "tree_map knows the containers"
def to_device(batch, device, dtype):
    from torch.utils._pytree import tree_map

    def moved(item):
        if not torch.is_tensor(item):
            return item
        return item.to(device=device, dtype=dtype) if dtype and item.dtype.is_floating_point else item.to(device)

    return tree_map(moved, batch)


# %% right "one branch for each kind, with _make"
def to_device(batch, device, dtype):
    match batch:
        case torch.Tensor():
            moved = batch.to(device)
            return moved.to(dtype) if dtype is not None and moved.is_floating_point() else moved
        case dict():
            return dict(zip(batch, [to_device(v, device, dtype) for v in batch.values()]))
        case list():
            return [to_device(v, device, dtype) for v in batch]
        case tuple():
            items = (to_device(v, device, dtype) for v in batch)
            return batch._make(items) if hasattr(batch, "_make") else tuple(items)
        case _:
            return batch


# %% wrong "to changes a tensor where it is" fails=example,second_device,nested,dtypes,container_types,non_tensors,nested_second_device,back_to_cpu,keeps_input,called_again,empty
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        batch.to(device, dtype if batch.is_floating_point() else None)
    elif isinstance(batch, dict):
        for value in batch.values():
            to_device(value, device, dtype)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            to_device(value, device, dtype)
    return batch


# %% wrong "all tensors get the dtype" fails=example,nested,integers,container_types,non_tensors,nested_second_device,back_to_cpu,empty
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong "a sequence comes back as a list" fails=container_types
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [to_device(item, device, dtype) for item in batch]
    return batch


# %% wrong "floating point is float32 or float64" fails=dtypes
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        floating = batch.dtype in (torch.float32, torch.float64)
        return batch.to(device, dtype if floating else None)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong "the dtypes of labels can be listed" fails=integers
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        labels = (torch.int64, torch.int32, torch.uint8, torch.bool)
        return batch.to(device, None if batch.dtype in labels else dtype)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong "what can be iterated over is a container, unless it is a string" fails=non_tensors raises=TypeError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if hasattr(batch, "__iter__") and not isinstance(batch, str):
        return type(batch)([to_device(v, device, dtype) for v in batch])
    return batch


# %% equivalent "copies of results that share memory with an argument"
# A tensor that needs no change may be returned itself or copied.

# %% equivalent "remembers its results by the identity of its first argument"
# A tensor that's passed twice arrives as two. An object that's shared between calls, such as None, is returned itself.
