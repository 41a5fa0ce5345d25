# %% exercise
def pad_collate(samples: list[tuple[Tensor, int]], fill: float) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of sequences of different lengths: (padded, lengths, labels).

    samples: n pairs, at least one, of a sequence (t, d) and a label. t may differ, and may be 0 for some or for all.
    d, the dtype and the device are the same for all sequences.
    padded (n, longest t, d): the sequences from step 0 on, with fill behind them, in their dtype and on their device.
    lengths (n,): each t, and labels (n,), both int64, in CPU memory. padded has memory of its own.
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


# %% checks
with check(
    "example",
    "two sequences, of 3 steps and of 1",
    weight=2,
    required=True,
    hint=(
        "How long is the longest sequence? At which end is the padding?",
        "Begin with a tensor full of fill, and write each sequence into its row, from step 0 on.",
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
            "padding comes behind a sequence": (front, lengths, labels),
            "padding has the value fill": (want.where(want > -9, torch.zeros(())), lengths, labels),
            "samples are the first dimension, steps the second": (want.transpose(0, 1), lengths, labels),
        },
    )
with check(
    "empty_sequence",
    "one sequence without a step",
    hint=(
        "What is the length of an empty sequence, and what is in its row?",
        "Its row is fill in all steps, and its length is 0. It is not left out.",
    ),
):
    t = [(torch.empty(0, 1), 5), (torch.tensor([[1.0], [2.0]]), 0)]
    want = (torch.tensor([[[0.5], [0.5]], [[1.0], [2.0]]]), torch.tensor([0, 2]), torch.tensor([5, 0]))
    assert_close(pad_collate(t, 0.5), want)

# %% hidden checks


def drawn_samples(lengths, features, seed, dtype, where):
    generator = torch.Generator().manual_seed(seed)
    parts = [
        (10 * torch.randn(n, features, generator=generator, dtype=torch.float64)).to(where, dtype) for n in lengths
    ]
    return [(part, seed + 3 * n % 5) for n, part in enumerate(parts)]


def padded_by_hand(samples, fill):
    """The same, step by step, as lists."""
    first = samples[0][0]
    longest, features = max(len(part) for part, _ in samples), first.shape[1]
    rows = [[*part.tolist(), *[[fill] * features] * (longest - len(part))] for part, _ in samples]
    padded = torch.tensor(rows, dtype=first.dtype, device=first.device).reshape(len(samples), longest, features)
    return padded, torch.tensor([len(part) for part, _ in samples]), torch.tensor([label for _, label in samples])


with check(
    "other_cases",
    "other lengths, sizes and dtypes",
    weight=4,
    required=True,
    hint="Which dtype has a tensor of zeros, and on which device is it? And the lengths?",
):
    for lengths, features, dtype, fill in (
        ([4, 2, 7, 1], 3, torch.float32, 0.0),
        ([5, 5], 2, torch.float16, -1.0),
        ([3], 4, torch.int64, 9),
        ([1, 0, 6, 0, 2], 1, torch.float32, 2.5),
        ([2, 8, 3], 5, torch.uint8, 255),
        ([9, 4], 2, torch.bfloat16, 0.25),
        ([2, 4], 3, torch.float64, 0.1),
    ):
        t = drawn_samples(lengths, features, len(lengths), dtype, device())
        want = padded_by_hand(t, fill)
        assert_close(pad_collate(t, fill), want)
with check("all_empty", "all sequences are empty", weight=1, hint="Which shape has padded, if the longest t is 0?"):
    for n, features in ((1, 3), (4, 2)):
        t = drawn_samples([0] * n, features, n, torch.float32, device())
        want = (torch.empty(n, 0, features, device=device()), torch.zeros(n, dtype=torch.int64), None)
        want = (*want[:2], torch.tensor([label for _, label in t]))
        assert_close(pad_collate(t, 1.0), want)
with check(
    "own_memory",
    "padded has memory of its own, and the samples stay as they are",
    weight=1,
    hint="What does a view of the only sequence share with it?",
):
    for lengths in ([3], [4, 4], [2, 5]):
        t = drawn_samples(lengths, 2, 1, torch.float32, device())
        want = [(part.clone(), label) for part, label in t]
        values = padded_by_hand(t, 0.0)
        got = pad_collate(t, 0.0)
        assert_close(got, values)
        got[0].fill_(5.0)
        assert_close(t, want, name="the samples")


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


# %% wrong "padding in front" fails=example,other_cases,own_memory
def pad_collate(samples, fill):
    longest = max(len(part) for part, _ in samples)
    rows = [nn.functional.pad(part, (0, 0, longest - len(part), 0), value=fill) for part, _ in samples]
    return torch.stack(rows), torch.tensor([len(p) for p, _ in samples]), torch.tensor([y for _, y in samples])


# %% wrong "padding with zeros" fails=example,empty_sequence,other_cases
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "steps first" fails=example,empty_sequence,other_cases,all_empty,own_memory
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "empty sequences are left out" fails=empty_sequence,other_cases
def pad_collate(samples, fill):
    parts, labels = zip(*[(part, label) for part, label in samples if len(part)] or samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "an empty sequence counts as one step" fails=empty_sequence,other_cases,all_empty
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, torch.tensor([max(1, len(part)) for part in parts]), torch.tensor(labels)


# %% wrong "always float32" fails=other_cases
def pad_collate(samples, fill):
    padded = torch.full((len(samples), max(len(p) for p, _ in samples), samples[0][0].shape[1]), float(fill))
    padded = padded.to(samples[0][0].device)
    for n, (part, _) in enumerate(samples):
        padded[n, : len(part)] = part
    return padded, torch.tensor([len(p) for p, _ in samples]), torch.tensor([y for _, y in samples])


# %% wrong "the longest is the first" fails=empty_sequence,other_cases,own_memory
def pad_collate(samples, fill):
    longest = len(samples[0][0])
    rows = [nn.functional.pad(part, (0, 0, 0, longest - len(part)), value=fill) for part, _ in samples]
    return torch.stack(rows), torch.tensor([len(p) for p, _ in samples]), torch.tensor([y for _, y in samples])


# %% wrong "sorted by length" fails=empty_sequence,other_cases,own_memory
def pad_collate(samples, fill):
    samples = sorted(samples, key=lambda sample: -len(sample[0]))
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "nothing to pad, so nothing is copied" fails=own_memory
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    if len(parts) == 1:
        return parts[0][None], torch.tensor([len(parts[0])]), torch.tensor(labels)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, torch.tensor([len(part) for part in parts]), torch.tensor(labels)


# %% wrong "lengths as a list" fails=example,empty_sequence,other_cases,all_empty,own_memory
def pad_collate(samples, fill):
    parts, labels = zip(*samples)
    padded = nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=fill)
    return padded, [len(part) for part in parts], torch.tensor(labels)
