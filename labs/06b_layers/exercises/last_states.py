# %% exercise
def last_states(output: Tensor, lengths: Tensor) -> Tensor:
    """The output at the last step of each sequence, (n, hidden).

    output (n, t, hidden) is from an LSTM with batch_first=True, for n sequences padded at the end to t steps.
    lengths (n,) int64, from 0 to t: how many steps of each aren't padding. For a length of 0, the row is all zeros.

    Details:
    - output may have any floating-point dtype. n may be 0, t and hidden are at least 1, and strides are arbitrary.
    - Padding may contain anything, even NaN and infinities. NaN or an infinity at a step before the last one has no
      effect; at the last step, it appears in the result.
    - The result has output's dtype and device, and its own memory. output and lengths aren't changed.
    - The gradient reaches the last steps, and is 0 at all others.
    """
    ### BEGIN SOLUTION
    padded = nn.functional.pad(output, (0, 0, 1, 0))  # a step of zeros in front is the last one of a length of 0
    last = lengths[:, None, None].expand(-1, 1, output.shape[2])
    return padded.gather(1, last).squeeze(1)
    ### END SOLUTION


# %% promises
# The output at -> example, other_cases
# output (n, t, hidden) -> other_cases
# lengths (n,) int64 -> example, other_cases
# For a length of 0, -> empty_sequence, other_cases
# output may have -> other_cases
# n may be 0 -> other_cases, empty_batch
# Padding may contain -> other_cases
# NaN or an infinity -> other_cases
# The result has output's -> other_cases, keeps_input
# output and lengths -> keeps_input
# The gradient reaches -> gradients


# %% domain
@domain(
    reference,
    *("float32", "float16", "bfloat16", "one sequence", "one step", "one feature", "as many sequences as steps"),
    *("no sequences", "all empty", "some empty", "all full", "equal lengths", "infinite padding", "NaN in the padding"),
    *("NaN before the last step", "NaN at the last step", "transposed", "every second one", "steps first in memory"),
    *("requires grad", "from an operation", "requires grad, some empty", "requires grad, NaN in the padding"),
)
def arguments(draw, edge):
    n, steps, hidden = draw(st.integers(2, 5)), draw(st.integers(3, 6)), draw(st.integers(2, 4))
    n = {"no sequences": 0, "one sequence": 1, "as many sequences as steps": steps}.get(edge, n)
    steps, hidden = 1 if edge == "one step" else steps, 1 if edge == "one feature" else hidden
    g = draw.make_generator()
    output = torch.randn(n, steps, hidden, dtype=torch.float64, generator=g)
    output = output.to(getattr(torch, edge if "float" in edge else "float64"))
    lengths = torch.randint(1, steps + 1, (n,), generator=g)
    if edge in ("all empty", "all full"):
        lengths[:] = 0 if edge == "all empty" else steps
    if "some empty" in edge or "padding" in edge:
        lengths[:: draw(st.integers(2, 3))] = 0
    if edge == "equal lengths":
        lengths[:] = draw(st.integers(2, steps - 1))
    if edge == "NaN before the last step":
        lengths.clamp_(min=2)
        output[:, 0] = torch.nan
    if edge == "NaN at the last step":
        output[0, lengths[0] - 1, :-1] = torch.nan
        output[1, lengths[1] - 1, -1] = draw(st.sampled_from([torch.inf, -torch.inf]))
    if "padding" in edge:
        output[torch.arange(steps) >= lengths[:, None]] = torch.inf if "infinite" in edge else torch.nan
    if edge == "steps first in memory":
        output = output.transpose(0, 1).contiguous().transpose(0, 1)
    output, lengths = output.to(device()), draw.apply_layout(lengths.to(device()), edge)
    return draw.apply_gradient_state(draw.apply_layout(output, edge), edge), lengths


# %% checks
with check(
    "example",
    "lengths 3, 1, and 4, padded to 4 steps",
    weight=2,
    required=True,
    hint=(
        "Which step is the last in a sequence of three? Is it the same step for all sequences?",
        "Use one index for each sequence: output[rows, lengths - 1], with rows from 0 to n - 1.",
    ),
):
    t = torch.arange(24.0, device=device()).reshape(3, 4, 2)
    explain(
        last_states(t, torch.tensor([3, 1, 4], device=device())),
        torch.tensor([[4.0, 5.0], [8.0, 9.0], [22.0, 23.0]], device=device()),
        {
            "the last step of the padded sequence is padding": t[:, -1],
            "the last of three steps has index 2": torch.tensor(
                [[6.0, 7.0], [10.0, 11.0], [22.0, 23.0]], device=device()
            ),
        },
    )
with check(
    "empty_sequence",
    "zeros for a length of 0",
    hint=(
        "Which step does index -1 select?",
        "Select any step that exists, and replace it with zeros afterward, using torch.where.",
    ),
):
    t = torch.arange(12.0, device=device()).reshape(2, 3, 2)
    explain(
        last_states(t, torch.tensor([0, 2], device=device())),
        torch.tensor([[0.0, 0.0], [8.0, 9.0]], device=device()),
        {
            "index -1 is the last step, which is padding": torch.tensor([[4.0, 5.0], [8.0, 9.0]], device=device()),
            "the first step of an empty sequence is padding": torch.tensor([[0.0, 1.0], [8.0, 9.0]], device=device()),
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other lengths, dtypes, and strides, with infinite padding",
    weight=4,
    required=True,
    hint="Is padding part of a sum? What is 0 times inf?",
):
    arguments.assert_results(last_states, "", "float32", "float16", "bfloat16", "one sequence", "one step")
    arguments.assert_results(last_states, "one feature", "as many sequences as steps", "all full", "equal lengths")
    arguments.assert_results(last_states, "some empty", "all empty", "infinite padding", "NaN in the padding")
    arguments.assert_results(last_states, "NaN before the last step", "NaN at the last step")
    arguments.assert_results(last_states, "transposed", "every second one", "steps first in memory")
with check(
    "gradients",
    "the gradient reaches only the last steps",
    weight=3,
    required=True,
    hint="What's the gradient of a step that's multiplied by 0, or replaced?",
):
    edges = ("requires grad", "from an operation", "requires grad, some empty", "requires grad, NaN in the padding")
    arguments.assert_results(last_states, *edges)
    arguments.assert_gradients(last_states, *edges)
with check("empty_batch", "no sequences", guard=True, hint="What's the shape of the result if n is 0?"):
    arguments.assert_results(last_states, "no sequences")
with check(
    "keeps_input",
    "output and lengths aren't changed, and share no memory with the result",
    guard=True,
    hint="Which of your lines write to output or lengths? Is the result a view?",
):
    arguments.assert_arguments(last_states)
    arguments.assert_memory(last_states)


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


# %% wrong "the last step" fails=example,empty_sequence,other_cases,gradients,keeps_input
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


# %% wrong "multiplied by a mask" fails=other_cases,gradients
def last_states(output, lengths):
    steps = torch.arange(output.shape[1], device=output.device)
    mask = steps == lengths[:, None] - 1
    return (output * mask[..., None]).sum(1)


# %% wrong "zeros are written into the argument" fails=gradients,keeps_input raises=RuntimeError
def last_states(output, lengths):
    output[lengths == 0] = 0
    return torch.nn.functional.pad(output, (0, 0, 1, 0))[torch.arange(len(output), device=output.device), lengths]


# %% equivalent "0 to 1: padded = nn.functional.pad(output, (0, 0, 1, 1))"
# No length is the number of a step behind all others.

# %% equivalent "0 to 1: padded = nn.functional.pad(output, (0, 1, 1, 0))"
# The index is as wide as output, so one more feature is picked by nothing.
