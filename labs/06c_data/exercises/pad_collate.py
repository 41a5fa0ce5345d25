# %% given
@probes.probe
def collated_on_meta(pad_collate, lengths, d, labels, fill):
    """What pad_collate returns for sequences on meta, a device without memory: padded's device and shape, and the rest.

    For lengths or labels that are on meta, too, it's None.
    """
    samples = [(torch.empty(t, d, device="meta"), label) for t, label in zip(lengths, labels, strict=True)]
    padded, *rest = pad_collate(samples, fill)
    return padded.device.type, list(padded.shape), [None if t.is_meta else t for t in rest]


# %% exercise
def pad_collate(samples: list[tuple[Tensor, int]], fill: float) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of sequences of different lengths: (padded, lengths, labels).

    samples: n pairs, at least one, of a sequence (t, d) and a label, an int.
    padded: (n, longest t, d), each sequence from step 0 on, then fill. It has the sequences' dtype and device.
    lengths: (n,), the t of each sequence.
    labels: (n,). lengths and labels are int64, in CPU memory.

    Details:
    - t may differ, and may be 0, even for all sequences. d is at least 1. d, the dtype, and the device are the same for
      all sequences.
    - The dtype is floating-point or integer, strides are arbitrary, and no sequence requires grad.
    - fill: a number that this dtype and float64 represent exactly, possibly NaN or an infinity. It may also occur in a
      sequence.
    - padded, lengths, and labels each have a new storage of their own. The list and its sequences aren't changed.
    """
    ### BEGIN SOLUTION
    longest = max(len(sequence) for sequence, _ in samples)
    first = samples[0][0]
    padded = first.new_full((len(samples), longest, first.shape[1]), fill)
    for n, (sequence, _) in enumerate(samples):
        padded[n, : len(sequence)] = sequence
    lengths = torch.tensor([len(sequence) for sequence, _ in samples])
    return padded, lengths, torch.tensor([label for _, label in samples])
    ### END SOLUTION


# %% promises
# A batch of sequences -> example, other_cases
# samples: n pairs -> other_cases, own_memory
# padded: (n, longest t, d) -> example, large_integers, other_cases
# It has the sequences' -> large_integers, other_cases, other_device
# lengths: (n,), the t -> other_cases
# labels: (n,) -> other_cases
# lengths and labels are -> other_cases, other_device
# t may differ -> empty_sequence, other_cases, all_empty
# d is at least 1 -> other_cases
# d, the dtype, -> other_cases
# The dtype is -> large_integers, other_cases
# fill: a number -> other_cases
# It may also occur -> other_cases
# padded, lengths, and labels -> own_memory
# The list and its -> own_memory


# %% domain
@domain(
    reference,
    *("float32", "float16", "bfloat16", "large integers", "uint8", "one sample", "equal lengths", "one step each"),
    *("one feature", "some empty", "all empty", "one sample, all empty", "fill NaN", "infinite fill", "fill inside"),
    *("NaN inside", "large labels", "transposed", "every second one", "expanded"),
)
def arguments(draw, edge):
    d, lengths = draw(st.integers(2, 4)), draw(st.permutations([1, 2, 4, 7]))[: draw(st.integers(3, 4))]
    labels, fill = draw(st.lists(st.integers(-3, 9), min_size=4, max_size=4)), draw(st.sampled_from([0.1, -2.5, 0.0]))
    d = 1 if edge == "one feature" else d
    lengths = {"equal lengths": [3, 3], "one step each": [1, 1, 1]}.get(edge, lengths)
    lengths = [0 if "all empty" in edge or ("some" in edge and t < 3) else t for t in lengths]
    lengths = lengths[:1] if "one sample" in edge else lengths
    fill = {"fill NaN": torch.nan, "infinite fill": -torch.inf}.get(edge, fill)
    g = draw.make_generator()
    parts = [3 * torch.randn(t, d, dtype=torch.float64, generator=g) for t in lengths]
    if edge in ("uint8", "large integers"):
        fill = draw(st.integers(200, 255))
        parts = [part.abs().to(torch.uint8) for part in parts]
    if edge == "large integers":
        parts = [part.long() + 2**53 + 1 for part in parts]
    if edge in ("float32", "float16", "bfloat16"):
        parts = [part.to(getattr(torch, edge)) for part in parts]
    if edge == "NaN inside":
        parts[0][-1, 0], parts[1][0, 1] = torch.nan, torch.inf
    if edge == "fill inside":
        for part in parts:
            part[-1] = fill
    if edge == "large labels":
        labels = [label + 2**40 for label in labels]
    parts = [draw.apply_layout(part.to(device()), edge) for part in parts]
    return list(zip(parts, labels, strict=False)), fill


# %% checks
with check(
    "example",
    "two sequences, of 3 steps and 1 step",
    weight=2,
    required=True,
    hint=(
        "How long is the longest sequence? At which end is the padding?",
        "Start with a tensor filled with fill, and write each sequence into its row, from step 0 on.",
    ),
):
    t = [(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 4), (torch.tensor([[7.0, 8.0]]), 2)]
    front = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[-9.0, -9.0], [-9.0, -9.0], [7.0, 8.0]]])
    want = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [-9.0, -9.0], [-9.0, -9.0]]])
    lengths, labels = torch.tensor([3, 1]), torch.tensor([4, 2])
    explain(
        pad_collate(t, -9.0),
        (want, lengths, labels),
        {
            "padding goes at the end of a sequence": (front, lengths, labels),
            "padding has the value fill": (want.where(want > -9, torch.zeros(())), lengths, labels),
            "samples are the first dimension, steps the second": (want.transpose(0, 1), lengths, labels),
        },
    )
with check(
    "empty_sequence",
    "one empty sequence",
    hint=(
        "What's the length of an empty sequence, and what's in its row?",
        "Its row is fill at every step, and its length is 0. It isn't left out.",
    ),
):
    t = [(torch.empty(0, 1), 5), (torch.tensor([[1.0], [2.0]]), 0)]
    want = (torch.tensor([[[0.5], [0.5]], [[1.0], [2.0]]]), torch.tensor([0, 2]), torch.tensor([5, 0]))
    assert_close(pad_collate(t, 0.5), want)
with check(
    "large_integers",
    "sequences of int64 numbers keep their dtype and values",
    hint=(
        "Which dtype does your padded tensor have before you write to it?",
        "torch.full and torch.zeros choose a dtype on their own; new_full takes that of the sequence.",
    ),
):
    t = [(torch.tensor([[7], [2**53 + 1]]), 1), (torch.tensor([[5]]), 0)]
    want = (torch.tensor([[[7], [2**53 + 1]], [[5], [-1]]]), torch.tensor([2, 1]), torch.tensor([1, 0]))
    assert_close(pad_collate(t, -1), want)

# %% hidden checks
with check(
    "other_cases",
    "other lengths, sizes, and dtypes",
    weight=4,
    required=True,
    hint="Which dtype and device does torch.zeros choose? And which do the lengths have?",
):
    arguments.assert_results(pad_collate, "", "float32", "float16", "bfloat16", "large integers", "uint8", "one sample")
    arguments.assert_results(pad_collate, "equal lengths", "one step each", "one feature", "some empty", "large labels")
    arguments.assert_results(pad_collate, "fill NaN", "infinite fill", "fill inside", "NaN inside")
    arguments.assert_results(pad_collate, "transposed", "every second one", "expanded")
with check(
    "other_device",
    "sequences on another device: padded is there, but lengths and labels are in CPU memory",
    hint="On which device does new_tensor, or torch.tensor, create a tensor?",
):
    for lengths, d, labels, fill in (([2, 5, 1], 3, [4, 0, 2], 0.5), ([3], 2, [7], -1.0)):
        want = "meta", [len(lengths), max(lengths), d], [torch.tensor(lengths), torch.tensor(labels)]
        assert_close(collated_on_meta(pad_collate, lengths, d, labels, fill), want)
with check("all_empty", "all sequences are empty", weight=1, hint="What's padded's shape if the longest t is 0?"):
    arguments.assert_results(pad_collate, "all empty", "one sample, all empty")
with check(
    "own_memory",
    "padded has its own memory, and the samples aren't changed",
    weight=1,
    guard=True,
    hint="What does a view of the only sequence share with it?",
):
    arguments.assert_memory(pad_collate)
    arguments.assert_arguments(pad_collate)


# %% right "pad_sequence"
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% right "functional.pad and stack"
def pad_collate(samples, fill):
    lengths = torch.tensor([part.shape[0] for part, _ in samples], dtype=torch.int64)
    longest = int(lengths.max())
    rows = [nn.functional.pad(part, (0, 0, 0, longest - len(part)), value=fill) for part, _ in samples]
    return torch.stack(rows), lengths, torch.as_tensor([label for _, label in samples], dtype=torch.long)


# %% right "filler behind each, cat"
def pad_collate(samples, fill):
    longest = max(part.size(0) for part, _ in samples)
    rows, lengths, labels = [], [], []
    for part, label in samples:
        filler = torch.full((longest - len(part), part.size(1)), fill, dtype=part.dtype, device=part.device)
        rows.append(torch.cat((part, filler))[None])
        lengths.append(len(part))
        labels.append(label)
    return torch.cat(rows), torch.LongTensor(lengths), torch.LongTensor(labels)


# %% wrong "padding in front" fails=example,large_integers,other_cases
def pad_collate(samples, fill):
    longest = max(len(part) for part, _ in samples)
    rows = [nn.functional.pad(part, (0, 0, longest - len(part), 0), value=fill) for part, _ in samples]
    return torch.stack(rows), torch.tensor([len(p) for p, _ in samples]), torch.tensor([y for _, y in samples])


# %% wrong "padding with zeros" fails=example,empty_sequence,large_integers,other_cases
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "steps first" fails=example,empty_sequence,large_integers,other_cases,other_device,all_empty
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "nothing to pad, so nothing is copied" fails=own_memory
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    if len(parts) == 1:
        return parts[0][None], torch.tensor([len(parts[0])]), torch.tensor(labels)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)
