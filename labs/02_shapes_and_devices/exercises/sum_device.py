# %% exercise
def sum_device(a_shape: tuple, a_device: torch.device, b_shape: tuple, b_device: torch.device) -> torch.device | None:
    """The device of a + b, for tensors of these shapes on these devices, or None if a + b raises an error.

    a_device and b_device are torch.device("cpu"), or CUDA devices with or without an index.
    Without an index, a CUDA device means cuda:0.
    The shapes are tuples that can be broadcast, so only the devices can cause an error.
    Returns torch.device("cpu"), or the CUDA device with its index.

    Details:
    - The shapes of both tensors may be empty or contain zeros.
    """
    ### BEGIN SOLUTION
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second:
        return first
    if second.type == "cpu" and len(b_shape) == 0:
        return first
    if first.type == "cpu" and len(a_shape) == 0:
        return second
    return None
    ### END SOLUTION


# %% promises
# The device of a + b -> same_device, same_index, zero_dim_cpu, zero_dim_cuda, raises
# a_device and b_device are -> cuda_index
# Without an index -> cuda_index
# The shapes are tuples -> same_index, raises, zero_dim_cuda
# Returns torch.device -> cuda_index, same_device
# The shapes of both -> same_index, raises, zero_dim_cpu, zero_dim_cuda


# %% domain
# The checks try every kind of device pair, with every kind of shape.


# %% checks
with check(
    "same_device",
    "both on the CPU, or both on cuda:1",
    weight=2,
    required=True,
    hint=(
        "When are two devices the same: if their types match, or only if their indices also match?",
        "Compare both type and index. If the devices are equal, that's where the sum is.",
    ),
):
    assert_close(sum_device((3,), torch.device("cpu"), (2, 3), torch.device("cpu")), torch.device("cpu"))
    assert_close(sum_device((3,), torch.device("cuda:1"), (3,), torch.device("cuda:1")), torch.device("cuda:1"))

# %% hidden checks
with check(
    "raises",
    "tensors with dimensions on two devices raise an error",
    required=True,
    hint="Is a tensor of shape (1,) a 0-dim tensor? Is an empty one?",
):
    for a, b in (("cpu", "cuda"), ("cpu", "cuda:0"), ("cpu", "cuda:2"), ("cuda", "cuda:1"), ("cuda:1", "cuda:12")):
        for p, q in (((3,), (3,)), ((2, 3), (1,)), ((1,), (4,)), ((1, 1), (1,)), ((0,), (1,)), ((2, 1), (5,))):
            for first, second in ((a, b), (b, a)):
                got = sum_device(p, torch.device(first), q, torch.device(second))
                assert got is None, "you returned a device although the tensors are on two"
with check(
    "zero_dim_cpu",
    "a 0-dim tensor on the CPU can be added to any tensor",
    weight=3,
    required=True,
    hint="Which of the seven lines in *A second device* mixed devices and worked?",
):
    for name in ("cuda:0", "cuda:1", "cuda:12", "cpu"):
        want = torch.device(name)
        for shape in ((), (1,), (3,), (2, 3), (0, 2)):
            assert_close(sum_device((), torch.device("cpu"), shape, want), want)
            assert_close(sum_device(shape, want, (), torch.device("cpu")), want)
with check(
    "zero_dim_cuda",
    "a 0-dim tensor on a CUDA device can't be added to a tensor elsewhere",
    weight=2,
    hint="on_cpu + on_gpu.sum() raised an error. Which of the two was 0-dim, and which device was it on?",
):
    for a, b, shapes in (
        ("cuda:0", "cpu", ((1,), (3,), (2, 1), (0,))),
        ("cuda", "cpu", ((1,), (3,))),
        ("cuda:1", "cuda:0", ((), (1,), (3,))),
        ("cuda", "cuda:1", ((), (1,), (3,))),
    ):
        for shape in shapes:
            got = sum_device((), torch.device(a), shape, torch.device(b))
            assert got is None, "a 0-dim tensor on a CUDA device was added to a tensor on another device"
            got = sum_device(shape, torch.device(b), (), torch.device(a))
            assert got is None, "a 0-dim tensor on a CUDA device was added to a tensor on another device"
with check("cuda_index", "cuda and cuda:0 are the same device", weight=2, hint="What is torch.device('cuda').index?"):
    for p, q in (((3,), (3,)), ((2, 3), ()), ((), (4,)), ((), ()), ((1,), (0,))):
        for a, b in (("cuda", "cuda:0"), ("cuda:0", "cuda"), ("cuda", "cuda"), ("cuda:0", "cuda:0")):
            assert_close(sum_device(p, torch.device(a), q, torch.device(b)), torch.device("cuda:0"))
    for shape in ((), (1,), (4,)):
        assert_close(sum_device((), torch.device("cpu"), shape, torch.device("cuda")), torch.device("cuda:0"))
        assert_close(sum_device(shape, torch.device("cuda"), (), torch.device("cpu")), torch.device("cuda:0"))
with check("same_index", "two tensors of any shapes on the same device", hint="Which devices can be equal?"):
    for name in ("cpu", "cuda:1", "cuda:12"):
        for p, q in (((3,), (3,)), ((2, 3), ()), ((), (4,)), ((), ()), ((1,), (0,))):
            assert_close(sum_device(p, torch.device(name), q, torch.device(name)), torch.device(name))


# %% right "by type and index"
def sum_device(a_shape, a_device, b_shape, b_device):
    def place(device):
        return (device.type, device.index or 0)

    if place(a_device) == place(b_device):
        chosen = a_device
    elif b_device.type == "cpu" and b_shape == ():
        chosen = a_device
    elif a_device.type == "cpu" and a_shape == ():
        chosen = b_device
    else:
        return None
    return torch.device("cpu") if chosen.type == "cpu" else torch.device("cuda", chosen.index or 0)


# %% right "leave out what can travel"
def sum_device(a_shape, a_device, b_shape, b_device):
    names = []
    for shape, device in ((a_shape, a_device), (b_shape, b_device)):
        name = "cuda:0" if str(device) == "cuda" else str(device)
        if name != "cpu" or len(shape) > 0:
            names.append(name)
    if len(set(names)) > 1:
        return None
    return torch.device(names[0] if names else "cpu")


# %% wrong "all tensors on one device, without exception" fails=zero_dim_cpu,cuda_index
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    return first if first == second else None


# %% wrong "any 0-dim tensor may travel" fails=zero_dim_cuda
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second or len(b_shape) == 0:
        return second if first.type == "cpu" and len(a_shape) == 0 else first
    return second if len(a_shape) == 0 else None


# %% wrong "cuda and cuda:0 are equal" fails=cuda_index
def sum_device(a_shape, a_device, b_shape, b_device):
    if a_device == b_device:
        return a_device
    if b_device.type == "cpu" and len(b_shape) == 0:
        return a_device
    if a_device.type == "cpu" and len(a_shape) == 0:
        return b_device
    return None


# %% wrong "PyTorch moves what is on the CPU" fails=raises,zero_dim_cuda
def sum_device(a_shape, a_device, b_shape, b_device):
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second:
        return first
    if second.type == "cpu":
        return first
    return second if first.type == "cpu" else None
