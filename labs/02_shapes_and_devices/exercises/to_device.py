# %% exercise
def to_device(batch: Any, device: torch.device | str, dtype: torch.dtype | None) -> Any:
    """A nested batch with all of its tensors on device, and its floating-point tensors in dtype.

    batch: a tensor, or a list, tuple, named tuple or dict (no subclass of list or dict) of such batches, to any depth.
    Everything else (None, strings, numbers, ranges and so on) is handed on as it is, and may be beside tensors. dtype:
    None keeps all dtypes. Tensors of integers, booleans and complex numbers always keep theirs.
    Returns the same nesting of the same kinds of containers. Lists and dicts are new ones, also where nothing had to be
    moved; batch and its tensors stay as they are. A tensor that needs no change may be handed on.
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


# %% checks
with check(
    "example",
    "a dict of images and labels, in float64",
    weight=3,
    required=True,
    hint=(
        "Does a tensor's to() change the tensor? And which of the entries may get the new dtype?",
        "Put what to() returns into a new dict. Cast only where is_floating_point() says True.",
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
            "the labels were cast too: they are integers, and keep their dtype": cast,
            "to() does not change a tensor, and what it returns was dropped": dropped,
        },
    )
with check(
    "second_device",
    "on a second device, the images lie there too",
    weight=2,
    observed=True,
    hint=(
        "What becomes of the result of to()? Is the device used where dtype is None, too?",
        "Each tensor needs to(device), whether or not it is cast, and the nesting must hold what it returns.",
    ),
):
    t = torch.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 8.0]])
    got = probes.on_second_device(to_device, {"image": t}, torch.device("meta"), None, move=[])
    assert_close(got["result"], {"image": t})
    assert got["devices"] == {"image": "meta"}, "a tensor is still on the CPU"

# %% hidden checks
with check(
    "nested",
    "lists, tuples and dicts in one another, in other dtypes",
    weight=3,
    required=True,
    hint="What does your function do with a tuple in a list in a dict?",
):
    t = torch.linspace(-1, 1, 6).reshape(2, 3)
    for dtype in (torch.bfloat16, torch.float64, torch.float16):
        batch = {"a": [t, (2 * t, {"b": t.T})], 7: (t[0], [t[1].sum()]), "pair": ("cat", [5, t])}
        want = {
            "a": [t.to(dtype), ((2 * t).to(dtype), {"b": t.T.to(dtype)})],
            7: (t[0].to(dtype), [t[1].sum().to(dtype)]),
            "pair": ("cat", [5, t.to(dtype)]),
        }
        assert_close(to_device(batch, torch.device("cpu"), dtype), want)
    for dtype in (torch.float64, torch.float16):
        assert_close(to_device(t, "cpu", dtype), t.to(dtype))
with check(
    "integers",
    "integers and booleans keep their dtype, and None keeps all",
    weight=2,
    hint="What became of the label 257 in bfloat16?",
):
    t = torch.tensor([255, 256, 257, 1000])
    for dtype in (torch.bfloat16, torch.float64, None):
        batch = [t, t > 256, *(t.to(kept) for kept in (torch.int32, torch.int16, torch.uint8, torch.complex64))]
        assert_close(to_device(batch, "cpu", dtype), list(batch))
    assert_close(to_device(t + 2**40, "cpu", torch.float64), t + 2**40)
    batch = (torch.ones(2, dtype=torch.float64), torch.ones(3, dtype=torch.bfloat16), torch.ones(4))
    assert_close(to_device(batch, "cpu", None), batch)
with check(
    "dtypes",
    "tensors of every floating-point dtype are cast",
    weight=2,
    hint="Which dtypes does is_floating_point() name? Which do you?",
):
    t = torch.tensor([0.5, -1.25, 3.0])
    for dtype in (torch.float32, torch.bfloat16):
        batch = [t.half(), t.bfloat16(), t, t.double()]
        assert_close(to_device(batch, "cpu", dtype), [t.to(dtype)] * 4)
with check(
    "container_types",
    "tuples stay tuples, lists stay lists, and a named tuple keeps its names",
    weight=2,
    hint="What is type(batch), and how is an object of that type made?",
):
    t = torch.tensor([1.5, 2.5])
    wide, label = t.double(), torch.tensor(4)
    got = to_device([(t, t), [t], Sample(t, label), ()], "cpu", torch.float64)
    assert_close(got, [(wide, wide), [wide], (wide, label), ()])
    kinds = [isinstance(item, tuple) for item in [got, *got]]
    assert kinds == [False, True, False, True, True], "a tuple or a list changed its kind"
    assert [hasattr(item, "_fields") for item in got] == [False, False, True, False], "a tuple lost or found names"
    assert_close([got[2].image, got[2].label], [wide, label])
    got = to_device(Pair([t], Sample(t, label)), "cpu", torch.float64)
    assert hasattr(got, "right") and hasattr(got.right, "label"), "a named tuple lost its names"
    assert_close([got.left, got.right.image, got.right.label], [[wide], wide, label])


class Truck:
    """No tensor, though it has a method of that name."""

    def __init__(self):
        self.rides = []

    def to(self, *place):
        self.rides.append(place)
        return self


with check(
    "non_tensors",
    "what is no tensor is handed on as it is",
    hint="What is a string made of? Is it a container for you?",
):
    batch = {"name": "train", "none": None, "count": 3, "rate": 0.5, "flag": True, "names": ["a", ("bc", None)]}
    assert_close(to_device(batch, "cpu", torch.float64), dict(batch))
    assert to_device(None, "cpu", None) is None, "None became something else"
    assert_close(to_device([range(3), b"ab"], "cpu", None), [range(3), b"ab"])
    array, truck = torch.ones(2).numpy(), Truck()
    got = to_device([torch.float32, array, truck], "cpu", torch.float64)
    same = [mine is sent for mine, sent in zip(got, [torch.float32, array, truck], strict=True)]
    assert same == [True] * 3, "what is no tensor came back as something else, or as a copy"
    assert truck.rides == [], "what has a method to(), and is no tensor, was moved"
with check(
    "nested_second_device",
    "every tensor of a nested batch lies on the second device",
    weight=4,
    observed=True,
    hint="Is the result of to() used? Which tensors does your function not reach?",
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
    "and comes back to the CPU",
    weight=2,
    observed=True,
    hint="Does your function use the device that it was given, in both directions?",
):
    t = torch.tensor([[1.0, -2.0], [0.5, 4.0]])
    got = probes.on_second_device(to_device, [t, (torch.tensor([5]),)], "cpu", torch.bfloat16, move=[0])
    assert_close(got["result"], [t.bfloat16(), (torch.tensor([5]),)])
    assert_close(got["devices"], ["cpu", ("cpu",)])
with check(
    "keeps_input", "batch stays as it is, and lists and dicts are new", weight=2, hint="Whose dict do you assign to?"
):
    t = torch.tensor([1.5, 2.5])
    batch = {"a": t, "b": [t, {"c": t}]}
    want = {"a": torch.tensor([1.5, 2.5]), "b": [torch.tensor([1.5, 2.5]), {"c": torch.tensor([1.5, 2.5])}]}
    unchanged(to_device, batch, "cpu", torch.float64)
    got = to_device(batch, "cpu", None)
    assert_close(got, want)
    got["b"][1]["c"] = "changed"
    got["b"].append("added")
    got["a"] = "changed"
    assert_close(batch, want)
    batch, want = [[], {}, (t, [])], [[], {}, (torch.tensor([1.5, 2.5]), [])]
    got = to_device(batch, "cpu", None)
    assert_close(got, want)
    got[0].append("added")
    got[1]["added"] = 1
    got[2][1].append("added")
    assert_close(batch, want)
with check("empty", "empty containers and empty tensors", guard=True):
    assert_close(to_device({"a": [], "b": {}}, "cpu", torch.float64), {"a": [], "b": {}})
    assert_close(to_device([torch.empty(0, 3)], "cpu", torch.float64), [torch.empty(0, 3, dtype=torch.float64)])


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


# %% wrong "to changes a tensor where it is" fails=example,second_device,nested,dtypes,container_types,nested_second_device,back_to_cpu,keeps_input,empty
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


# %% wrong "a batch is a dict of tensors" fails=nested,integers,dtypes,container_types,non_tensors,nested_second_device,back_to_cpu,keeps_input,empty raises=AttributeError
def to_device(batch, device, dtype):
    return {
        k: v.to(device, dtype if v.is_floating_point() else None) if isinstance(v, torch.Tensor) else v
        for k, v in batch.items()
    }


# %% wrong "all tensors get the dtype" fails=example,integers,container_types,nested_second_device,back_to_cpu
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


# %% wrong "a named tuple is made like a tuple" fails=container_types,nested_second_device raises=TypeError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(item, device, dtype) for item in batch)
    return batch


# %% wrong "the named tuple is the one of the example" fails=container_types
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    items = [to_device(item, device, dtype) for item in batch] if isinstance(batch, (list, tuple)) else batch
    if isinstance(batch, Sample):
        return Sample(*items)
    return tuple(items) if isinstance(batch, tuple) else items


# %% wrong "the caller's dict can be filled" fails=keeps_input
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        for key in batch:
            batch[key] = to_device(batch[key], device, dtype)
        return batch
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong "on this machine nothing has to be moved" fails=second_device,nested_second_device,back_to_cpu
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(dtype) if dtype is not None and batch.is_floating_point() else batch
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong "labels may stay on the CPU" fails=nested_second_device,back_to_cpu
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype) if batch.is_floating_point() else batch
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)([to_device(item, device, dtype) for item in batch])
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


# %% wrong "an empty container can be handed on" fails=non_tensors,keeps_input raises=ValueError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if not batch:
        return batch
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


# %% wrong "the first item tells what a list holds" fails=nested
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[to_device(v, device, dtype) for v in batch])
    if isinstance(batch, (list, tuple)):
        if batch and isinstance(batch[0], (str, int, float)):
            return batch
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


# %% wrong "what has a length is a container" fails=example,nested,container_types,non_tensors,nested_second_device raises=TypeError
def to_device(batch, device, dtype):
    if isinstance(batch, torch.Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if hasattr(batch, "__len__"):
        return type(batch)(to_device(item, device, dtype) for item in batch)
    return batch


# %% wrong "whatever has to() is moved" fails=non_tensors
def to_device(batch, device, dtype):
    if hasattr(batch, "to"):
        is_float = isinstance(batch, Tensor) and batch.is_floating_point()
        return batch.to(device, dtype if is_float else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch


# %% wrong "all that is no tensor is copied, to be safe" fails=non_tensors
def to_device(batch, device, dtype):
    import copy

    if isinstance(batch, Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return copy.deepcopy(batch)


# %% equivalent "copies of results that share memory with an argument"
# A tensor that needs no change may be handed on, and may be copied.

# %% equivalent "remembers its results by the identity of its first argument"
# A tensor that is handed over twice arrives as two. What is one object in two calls, such as None, comes back as it is.
