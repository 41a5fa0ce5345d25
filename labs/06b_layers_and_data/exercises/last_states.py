# %% exercise
def last_states(output: Tensor, lengths: Tensor) -> Tensor:
    """The output at the last step of each sequence, (n, hidden).

    output (n, t, hidden): of an LSTM with batch_first=True, for n sequences that were padded at their end to t steps.
    lengths (n,) int64, from 0 to t: how many steps of each are no padding. For a length of 0 the row is zeros. n may be
    0, and t is at least 1. The result has the dtype and the device of output, and a gradient reaches only those steps.
    """
    ### BEGIN SOLUTION
    padded = nn.functional.pad(output, (0, 0, 1, 0))  # a step of zeros in front is the last one of a length of 0
    last = lengths[:, None, None].expand(-1, 1, output.shape[2])
    return padded.gather(1, last).squeeze(1)
    ### END SOLUTION


# %% checks
with check(
    "example",
    "lengths 3, 1 and 4 of 4",
    weight=2,
    required=True,
    hint=(
        "Which step is the last of a sequence of three? Is it the same step for all?",
        "One index for each sequence: output[rows, lengths - 1], with rows from 0 to n - 1.",
    ),
):
    t = torch.arange(24.0, device=device()).reshape(3, 4, 2)
    explain(
        last_states(t, torch.tensor([3, 1, 4], device=device())),
        torch.tensor([[4.0, 5.0], [8.0, 9.0], [22.0, 23.0]], device=device()),
        {
            "the last step of the padded sequence is padding": t[:, -1],
            "the last of three steps has the index 2": torch.tensor(
                [[6.0, 7.0], [10.0, 11.0], [22.0, 23.0]], device=device()
            ),
        },
    )
with check(
    "empty_sequence",
    "a length of 0 gives zeros",
    hint=(
        "Which step does the index -1 mean?",
        "Choose some step that exists, and put zeros in its place afterwards: torch.where.",
    ),
):
    t = torch.arange(12.0, device=device()).reshape(2, 3, 2)
    explain(
        last_states(t, torch.tensor([0, 2], device=device())),
        torch.tensor([[0.0, 0.0], [8.0, 9.0]], device=device()),
        {
            "the index -1 is the last step, which is padding": torch.tensor([[4.0, 5.0], [8.0, 9.0]], device=device()),
            "the first step of an empty sequence is padding": torch.tensor([[0.0, 1.0], [8.0, 9.0]], device=device()),
        },
    )

# %% hidden checks


def row_by_row(output, lengths):
    """The same, in plain Python."""
    rows = [output[n, k - 1] if k else output.new_zeros(output.shape[2]) for n, k in enumerate(lengths)]
    return torch.stack(rows) if rows else output.new_zeros(0, output.shape[2])


def padded_output(n, steps, hidden, dtype, where):
    generator = torch.Generator().manual_seed(10 * n + steps)
    return torch.randn(n, steps, hidden, generator=generator).to(where, dtype)


with check(
    "other_cases",
    "other lengths, dtypes and strides, with infinite padding",
    weight=4,
    required=True,
    hint="Does padding take part in a sum? What is 0 times inf?",
):
    here = device()
    for lengths, steps, hidden, dtype in (
        ([5, 2, 3, 1], 5, 3, torch.float32),
        ([0, 0, 7], 7, 1, torch.float16),
        ([1], 6, 4, torch.float32),
        ([2, 6, 0, 4, 6], 6, 2, torch.bfloat16),
        ([1, 1], 1, 5, torch.float32),
    ):
        t = padded_output(len(lengths), steps, hidden, dtype, here)
        for n, k in enumerate(lengths):
            t[n, k:] = torch.inf if n % 2 else torch.nan
        want = row_by_row(t.clone(), lengths)
        assert_close(last_states(t, torch.tensor(lengths, device=here)), want)
        turned = t.transpose(0, 1).contiguous().transpose(0, 1)
        assert_close(
            last_states(turned, torch.tensor(lengths, device=here)), want, name="your result for other strides"
        )
with check(
    "gradients",
    "a gradient reaches the last steps, and no others",
    weight=3,
    required=True,
    hint="What is the gradient of a step that is multiplied by 0, or replaced?",
):
    here = device()
    for lengths, steps, hidden in (([3, 0, 4], 4, 2), ([1, 2], 5, 3)):
        t = padded_output(len(lengths), steps, hidden, torch.float32, here).requires_grad_()
        up = padded_output(1, len(lengths), hidden, torch.float32, here)[0]
        values, want = row_by_row(t.detach(), lengths), torch.zeros_like(t)
        for n, k in enumerate(lengths):
            if k:
                want[n, k - 1] = up[n]
        got = last_states(t, torch.tensor(lengths, device=here))
        assert_close(got, values)
        assert_close(torch.autograd.grad((got * up).sum(), t)[0], want, name="the gradient")
with check("empty_batch", "no sequences, and arguments that stay as they are", guard=True):
    here = device()
    none = torch.empty(0, dtype=torch.int64, device=here)
    assert_close(last_states(torch.ones(0, 4, 3, device=here), none), torch.ones(0, 3, device=here))
    t = padded_output(3, 4, 2, torch.float32, here)
    unchanged(last_states, t, torch.tensor([0, 4, 2], device=here))


# %% right "zeros in front, and an index"
def last_states(output, lengths):
    padded = torch.cat((torch.zeros_like(output[:, :1]), output), 1)
    return padded[torch.arange(len(output), device=output.device), lengths]


# %% right "zeros in their place afterwards"
def last_states(output, lengths):
    found = output[torch.arange(len(output), device=output.device), (lengths - 1).clamp(min=0)]
    return torch.where(lengths[:, None] > 0, found, torch.zeros_like(found))


# %% right "sequence by sequence"
def last_states(output, lengths):
    result = torch.zeros_like(output[:, 0])
    for row, length in enumerate(lengths.tolist()):
        if length:
            result[row] = output[row, length - 1]
    return result


# %% wrong "the last step" fails=example,empty_sequence,other_cases,gradients
def last_states(output, lengths):
    return output[:, -1]


# %% wrong "one step too late" fails=example,empty_sequence,other_cases,gradients
def last_states(output, lengths):
    last = lengths.clamp(max=output.shape[1] - 1)
    return output[torch.arange(len(output), device=output.device), last]


# %% wrong "the index -1" fails=empty_sequence,other_cases,gradients
def last_states(output, lengths):
    return output[torch.arange(len(output), device=output.device), lengths - 1]


# %% wrong "the first step for an empty sequence" fails=empty_sequence,other_cases,gradients
def last_states(output, lengths):
    return output[torch.arange(len(output), device=output.device), (lengths - 1).clamp(min=0)]


# %% wrong "multiplied by a mask" fails=other_cases
def last_states(output, lengths):
    steps = torch.arange(output.shape[1], device=output.device)
    mask = steps == lengths[:, None] - 1
    return (output * mask[..., None]).sum(1)


# %% wrong "zeros by multiplication" fails=other_cases
def last_states(output, lengths):
    found = output[torch.arange(len(output), device=output.device), (lengths - 1).clamp(min=0)]
    return found * (lengths > 0)[:, None]


# %% wrong "without history" fails=gradients raises=RuntimeError
def last_states(output, lengths):
    padded = torch.nn.functional.pad(output.detach(), (0, 0, 1, 0))
    return padded[torch.arange(len(output), device=output.device), lengths]


# %% wrong "all rows with all lengths" fails=example,empty_sequence,other_cases,gradients,empty_batch
def last_states(output, lengths):
    return torch.nn.functional.pad(output, (0, 0, 1, 0))[:, lengths]


# %% wrong "zeros are written into the argument" fails=gradients,empty_batch raises=RuntimeError
def last_states(output, lengths):
    output[lengths == 0] = 0
    return torch.nn.functional.pad(output, (0, 0, 1, 0))[torch.arange(len(output), device=output.device), lengths]


# %% equivalent "0 to 1: padded = nn.functional.pad(output, (0, 0, 1, 1))"
# No length is the number of a step behind all others.

# %% equivalent "0 to 1: padded = nn.functional.pad(output, (0, 1, 1, 0))"
# The index is as wide as output, so one more feature is picked by nothing.
