# %% given
@probes.probe
def shifted_samples(make, samples, seed, asks, copies=1):
    """The length of the dataset that make(samples, seed) returns, and the sample for each (epoch, index) in asks.

    epoch: what the dataset's epoch is set to first; None leaves it alone. With more copies than one, each is asked in
    turn, like workers.
    """
    data = make(samples, seed)
    workers = [data] if copies == 1 else [deepcopy(data) for _ in range(copies)]
    got = []
    for number, (epoch, index) in enumerate(asks):
        worker = workers[number % copies]
        if epoch is not None:
            worker.epoch = epoch
        got.append(worker[index])
    return len(data), got


# %% exercise
class ShiftedScans(Dataset):
    """The samples (scan, label) of another dataset, each scan shifted by up to one pixel in each direction.

    self[i] is data[i] with its scan shifted by down rows and right columns, two integers from -1 to 1:
    down, right = np.random.default_rng((seed, epoch, i)).integers(-1, 2, size=2).
    Positive numbers shift down and to the right, negative ones up and to the left.
    Pixels that are shifted past an edge are lost, and those that become free are -1.0. The scan keeps its shape.
    epoch: an attribute, 0 at first. The caller sets it before an epoch.
    The shift depends only on seed, epoch and i, so it's the same with 0, 1 or 2 workers, in any order, and in another
    process. len() is the length of data.

    Details:
    - data: a dataset, or a list, of pairs of a float32 tensor (1, h, w), in CPU memory, and an int. It isn't changed.
    - h and w are at least 1. Strides are arbitrary.
    - seed and epoch: ints, at least 0. i: an int from 0 to the length - 1.
    """

    def __init__(self, data: Any, seed: int) -> None:
        ### BEGIN SOLUTION
        self.data, self.seed, self.epoch = data, seed, 0
        ### END SOLUTION

    def __len__(self) -> int:
        ### BEGIN SOLUTION
        return len(self.data)
        ### END SOLUTION

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        ### BEGIN SOLUTION
        scan, label = self.data[i]
        down, right = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        return framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w], label
        ### END SOLUTION


# %% promises
# The samples (scan, label) -> example, other_cases
# self[i] is data[i] -> example, other_cases
# Positive numbers shift -> example, other_cases
# Pixels that are -> example, other_cases
# The scan keeps -> example, other_cases, other_sizes
# epoch: an attribute -> example, epochs, other_epochs
# The caller sets it -> epochs, other_epochs
# The shift depends -> any_order, other_orders, copies
# len() is -> example, other_cases
# data: a dataset -> example, other_cases
# It isn't changed -> keeps_data, epochs, any_order, other_epochs, other_orders
# h and w are -> other_sizes
# Strides are -> other_sizes
# seed and epoch: -> other_cases, other_epochs
# i: an int -> example, other_cases


# %% domain
@domain(
    reference,
    *("one sample", "twenty samples", "a large seed", "one pixel", "one row", "one column", "8 by 8"),
    *("transposed", "every second one", "each sample twice", "backward", "later epochs", "a large epoch"),
    *("epochs in any order", "two copies", "three copies"),
    call=shifted_samples,
)
def arguments(draw, edge):
    n = {"one sample": 1, "twenty samples": 20}.get(edge, draw(st.integers(5, 7)))
    h, w = draw(st.permutations([3, 4, 5]))[:2]
    h, w = {"one pixel": (1, 1), "one row": (1, w), "one column": (h, 1), "8 by 8": (8, 8)}.get(edge, (h, w))
    g = draw.make_generator()
    scans = [draw.apply_layout(torch.rand(1, h, w, generator=g), edge) for _ in range(n)]
    samples = [(scan, label) for scan, label in zip(scans, draw(st.permutations(range(20))), strict=False)]
    seed = draw(st.integers(2**40, 2**50)) if edge == "a large seed" else draw(st.integers(0, 1000))
    order = list(range(n))
    if edge == "each sample twice":
        order = draw(st.permutations(order * 2))
    epochs = {"later epochs": [1, 2, 5], "a large epoch": [2**40 + 7], "epochs in any order": [4, 0, 2]}
    if edge == "backward":
        order.reverse()
    asks = [(epoch, index) for epoch in epochs.get(edge, [None]) for index in order]
    copies = {"two copies": 2, "three copies": 3}.get(edge, 1)
    return samples, seed, asks, copies


# %% checks
with check(
    "example",
    "three scans of 2 by 3 pixels, in epoch 0",
    weight=2,
    required=True,
    hint=(
        "Which of the two integers comes first? Where does a scan go if both are 1?",
        "Pad the scan with one pixel of -1.0 on each side. Which window of the result is the shifted scan?",
    ),
):
    t = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    scans, labels = [t, 10 * t, 100 * t], [7, 1, 4]
    # with seed 3, the shifts are 1, -1 for sample 0, -1, 1 for sample 1, and 1, 0 for sample 2
    want = [[[-1, -1, -1], [2, 3, -1]], [[-1, 40, 50], [-1, -1, -1]], [[-1, -1, -1], [100, 200, 300]]]
    swapped = [[[-1, 4, 5], [-1, -1, -1]], [[-1, -1, -1], [20, 30, -1]], [[-1, 100, 200], [-1, 400, 500]]]
    opposite = [[[-1, 4, 5], [-1, -1, -1]], [[-1, -1, -1], [20, 30, -1]], [[400, 500, 600], [-1, -1, -1]]]
    want, swapped, opposite = (torch.tensor(u, dtype=torch.float32)[:, None] for u in (want, swapped, opposite))
    wrapped = [u.roll(shift, (1, 2)) for u, shift in zip(scans, ((1, -1), (-1, 1), (1, 0)), strict=True)]
    explain(
        shifted_samples(ShiftedScans, list(zip(scans, labels, strict=True)), 3, [(None, 0), (None, 1), (None, 2)]),
        (3, list(zip(want, labels, strict=True))),
        {
            "what's lost at one edge doesn't come back at the other": (3, list(zip(wrapped, labels, strict=True))),
            "free pixels are -1.0": (3, list(zip(want.clamp(min=0), labels, strict=True))),
            "the first integer is for the rows": (3, list(zip(swapped, labels, strict=True))),
            "a shift of 1 is down, or to the right": (3, list(zip(opposite, labels, strict=True))),
        },
    )
with check(
    "epochs",
    "one of the scans in epoch 0, and then all of them in epoch 2",
    hint=(
        "At which of your lines is the epoch read?",
        "Make the generator in __getitem__, from the value that self.epoch has then.",
    ),
):
    t = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    # with seed 3, the shifts in epoch 2 are 1, -1 for sample 0, and 0, 1 for samples 1 and 2
    want = [[[-1, 40, 50], [-1, -1, -1]], [[-1, -1, -1], [2, 3, -1]]]
    want += [[[-1, 10, 20], [-1, 40, 50]], [[-1, 100, 200], [-1, 400, 500]]]
    want = torch.tensor(want, dtype=torch.float32)[:, None]
    got = shifted_samples(ShiftedScans, [(t, 7), (10 * t, 1), (100 * t, 4)], 3, [(None, 1), (2, 0), (2, 1), (2, 2)])
    assert_close(got, (3, list(zip(want, [1, 7, 1, 4], strict=True))))
with check(
    "any_order",
    "the scans of epoch 0 in another order, one of them twice",
    hint=(
        "What does your dataset remember from one call to the next?",
        "A generator that's kept draws other numbers at each call. Make a new one in each call.",
    ),
):
    t = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    want = [[[-1, 40, 50], [-1, -1, -1]], [[-1, -1, -1], [2, 3, -1]], [[-1, 40, 50], [-1, -1, -1]]]
    want = torch.tensor(want, dtype=torch.float32)[:, None]
    got = shifted_samples(ShiftedScans, [(t, 7), (10 * t, 1), (100 * t, 4)], 3, [(None, 1), (None, 0), (None, 1)])
    assert_close(got, (3, list(zip(want, [1, 7, 1], strict=True))))

# %% hidden checks
with check(
    "other_cases",
    "other scans, labels, and seeds",
    weight=4,
    required=True,
    hint="Do your shifts come from the generator that the docstring names, with all three numbers in its seed?",
):
    arguments.assert_results(ShiftedScans, "", "one sample", "twenty samples", "a large seed")
with check(
    "other_sizes", "other sizes and strides", hint="What's left of a scan with a single row, shifted by one row?"
):
    arguments.assert_results(ShiftedScans, "one pixel", "one row", "one column", "8 by 8")
    arguments.assert_results(ShiftedScans, "transposed", "every second one")
with check("other_epochs", "other epochs", weight=2, hint="Does your dataset keep a sample, or its shift?"):
    arguments.assert_results(ShiftedScans, "later epochs", "a large epoch", "epochs in any order")
with check("other_orders", "other orders", weight=2, hint="What does your dataset remember from one call to the next?"):
    arguments.assert_results(ShiftedScans, "each sample twice", "backward")
with check(
    "copies",
    "copies that are asked in turn, like workers",
    weight=2,
    hint="What decides a shift besides seed, epoch and i?",
):
    arguments.assert_results(ShiftedScans, "two copies", "three copies")
with check("keeps_data", "data isn't changed", guard=True, hint="Which of your lines write to data's own scan?"):
    arguments.assert_arguments(ShiftedScans)


# %% right "roll, and then the free edges"
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data = data
        self.seed = seed
        self.epoch = 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        rng = np.random.default_rng([self.seed, self.epoch, i])
        down, right = rng.integers(-1, 2), rng.integers(-1, 2)
        out = torch.roll(scan, (int(down), int(right)), dims=(1, 2))
        if down == 1:
            out[:, 0] = -1
        if down == -1:
            out[:, -1] = -1
        if right == 1:
            out[:, :, 0] = -1
        if right == -1:
            out[:, :, -1] = -1
        return out, label


# %% right "slices of a full tensor, without a base class"
class ShiftedScans:
    epoch = 0

    def __init__(self, data, seed):
        self.data, self.seed = data, seed

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = (np.random.default_rng((self.seed, self.epoch, i)).integers(3, size=2) - 1).tolist()
        h, w = scan.shape[-2:]
        out = torch.full_like(scan, -1.0)
        out[:, max(down, 0) : h + min(down, 0), max(right, 0) : w + min(right, 0)] = scan[
            :, max(-down, 0) : h - max(down, 0), max(-right, 0) : w - max(right, 0)
        ]
        return out, label


# %% right "pixel by pixel, in NumPy"
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        super().__init__()
        self.source, self.seed, self.epoch = data, seed, 0

    def __len__(self):
        return len(self.source)

    def __getitem__(self, i):
        scan, label = self.source[i]
        down, right = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 1, size=2, endpoint=True)
        old = scan.numpy()
        new = np.full(old.shape, -1, dtype=np.float32)
        _, h, w = old.shape
        for row in range(h):
            for column in range(w):
                if 0 <= row - down < h and 0 <= column - right < w:
                    new[0, row, column] = old[0, row - down, column - right]
        return torch.from_numpy(new), label


# %% wrong "a roll that wraps around" fails=example,epochs,any_order,other_cases,other_sizes,other_epochs,other_orders,copies
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.seed, self.epoch = data, seed, 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 2, size=2).tolist()
        return scan.roll((down, right), (1, 2)), label


# %% wrong "padded with zeros" fails=example,epochs,any_order,other_cases,other_sizes,other_epochs,other_orders,copies
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.seed, self.epoch = data, seed, 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1))
        return framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w], label


# %% wrong "columns first" fails=example,epochs,any_order,other_cases,other_sizes,other_epochs,other_orders,copies
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.seed, self.epoch = data, seed, 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        right, down = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        return framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w], label


# %% wrong "the window moved, not the scan" fails=example,epochs,any_order,other_cases,other_sizes,other_epochs,other_orders,copies
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.seed, self.epoch = data, seed, 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        return framed[:, 1 + down : 1 + down + h, 1 + right : 1 + right + w], label


# %% wrong "one generator, kept from __init__ on" fails=example,epochs,any_order,other_cases,other_sizes,other_epochs,other_orders,copies
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.epoch = data, 0
        self.generator = np.random.default_rng(seed)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = self.generator.integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        return framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w], label


# %% wrong "all shifts are drawn in __init__" fails=epochs,other_epochs
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.epoch = data, 0
        self.shifts = [
            np.random.default_rng((seed, self.epoch, i)).integers(-1, 2, size=2).tolist() for i in range(len(data))
        ]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = self.shifts[i]
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        return framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w], label


# %% wrong "each call of a sample is another epoch" fails=any_order,other_orders
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.seed, self.epoch, self.asked = data, seed, 0, {}

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        key = self.epoch, i
        self.asked[key] = self.asked.get(key, -1) + 1
        scan, label = self.data[i]
        down, right = np.random.default_rng((self.seed, self.epoch + self.asked[key], i)).integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        return framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w], label


# %% wrong "the scan is overwritten" fails=epochs,any_order,other_epochs,other_orders,keeps_data
class ShiftedScans(Dataset):
    def __init__(self, data, seed):
        self.data, self.seed, self.epoch = data, seed, 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan, label = self.data[i]
        down, right = np.random.default_rng((self.seed, self.epoch, i)).integers(-1, 2, size=2)
        h, w = scan.shape[1:]
        framed = nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0)
        out = framed[:, 1 - down : 1 - down + h, 1 - right : 1 - right + w]
        scan.copy_(out)
        return out, label


# %% equivalent "1 to 2: framed = nn.functional.pad(scan, (1, 2, 1, 1), value=-1.0)"
# No window reaches a second column of the frame.


# %% equivalent "1 to 2: framed = nn.functional.pad(scan, (1, 1, 1, 2), value=-1.0)"
# No window reaches a second row of the frame.
