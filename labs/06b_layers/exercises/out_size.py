# %% exercise
def out_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The number of values that a convolution returns along one dimension, an int: one for each window that fits.

    size is the input's size. padding is added at both ends. The kernel has `kernel` taps that are dilation apart: 1
    means neighbors. stride is the distance between the starts of two windows. A window that would extend past the end,
    padding included, is left out. Raises ValueError if not even one window fits.

    Details:
    - All five arguments are ints of at most 100,000.
    - size and padding are at least 0. kernel, stride, and dilation are at least 1.
    """
    ### BEGIN SOLUTION
    span = dilation * (kernel - 1) + 1
    room = size + 2 * padding - span
    if room < 0:
        raise ValueError("no window fits")
    return room // stride + 1
    ### END SOLUTION


# %% promises
# The number of values -> example, other_cases
# size is the input's -> other_cases
# padding is added -> other_cases, example
# The kernel has -> dilated, other_cases
# stride is the distance -> other_cases
# A window that would -> example, other_cases
# Raises ValueError -> just_fits
# All five arguments -> other_cases
# size and padding -> other_cases
# kernel, stride, and dilation -> other_cases


# %% domain
@domain(
    reference,
    *("size 0", "one tap", "neighbours", "stride 1", "no padding", "windows up to the end", "large"),
    *("one window", "a stride beyond the end", "one place short", "far too short", "a span above 2 ** 31"),
)
def arguments(draw, edge):
    kernel = 1 if edge == "one tap" else draw(st.integers(2, 6))
    dilation = 1 if edge == "neighbours" else draw(st.integers(2, 5))
    stride = 1 if edge == "stride 1" else draw(st.integers(2, 7))
    room = stride * draw(st.integers(1, 4)) + draw(st.integers(1, stride - 1) if stride > 1 else st.just(0))
    if edge == "large":
        kernel, stride, room = kernel * 1000, stride + draw(st.integers(0, 1000)), room + 60_000
    span = dilation * (kernel - 1) + 1
    room = {"one window": 0, "a stride beyond the end": stride - 1, "one place short": -1}.get(edge, room)
    if edge == "far too short":
        room = -draw(st.integers(stride + 1, stride + 3))
    if edge == "windows up to the end":
        room = stride * draw(st.integers(1, 5))
    padding = 0 if edge == "no padding" else draw(st.integers(1, max(1, (span + room) // 2)))
    size = max(0, span + room - 2 * padding)
    if edge == "size 0":
        size, padding = 0, (span + room + 1) // 2
    if edge == "a span above 2 ** 31":
        size, kernel, padding, dilation = 100_000 - stride, 50_000 + kernel, 99_999, 50_000
    return size, kernel, stride, padding, dilation


# %% checks
with check(
    "example",
    "size 12, kernel 9, stride 2, padding 4",
    weight=2,
    required=True,
    hint=(
        "How many positions are there, including padding? At which of them can a window of 9 start?",
        "There are 20 positions, so windows start at 0, 2, 4, 6, 8, and 10. One at 12 would extend past the end.",
    ),
):
    explain(
        out_size(12, 9, 2, 4, 1),
        6,
        {
            "a window that extends past the end doesn't count": 7,
            "padding is added at both ends": 4,
            "the first window counts too": 5,
        },
    )
with check(
    "dilated",
    "size 14, kernel 3, dilation 4",
    hint=(
        "How many positions does the kernel span, from the first tap to the last?",
        "Taps at 0, 4, and 8 span 9 positions, not 12.",
    ),
):
    explain(
        out_size(14, 3, 1, 0, 4),
        6,
        {"the taps aren't neighbors: they're 4 apart": 12, "there are only two gaps between three taps": 3},
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes: the same as PyTorch",
    weight=4,
    required=True,
    hint="Where does the last window that fits start? How many are there up to that one?",
):
    arguments.assert_results(out_size, "", "size 0", "one tap", "neighbours", "stride 1", "no padding")
    arguments.assert_results(out_size, "windows up to the end", "a stride beyond the end", "large")
    for trial in arguments.iter_trials(out_size, "", "large"):
        assert isinstance(trial.report.result, int), "your result isn't an int"
with check(
    "just_fits",
    "1 if one window fits, a ValueError if none does",
    weight=2,
    hint="What's the smallest size for these taps? What does // do to a negative number?",
):
    arguments.assert_results(out_size, "one window", "one place short", "far too short", "a span above 2 ** 31")


# %% right "it counts the places where a window can begin"
def out_size(size, kernel, stride, padding, dilation):
    starts = range(0, size + 2 * padding - dilation * (kernel - 1), stride)
    if len(starts) == 0:
        raise ValueError(f"{kernel} taps do not fit into {size}")
    return len(starts)


# %% right "the formula of the documentation"
def out_size(size, kernel, stride, padding, dilation):
    import math

    n = math.floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1)
    if n < 1:
        raise ValueError("empty")
    return n


# %% right "windows, one after the other"
def out_size(size, kernel, stride, padding, dilation):
    count, end = 0, dilation * (kernel - 1)
    while end < size + 2 * padding:
        count, end = count + 1, end + stride
    if not count:
        raise ValueError("no window fits")
    return count


# %% wrong "rounded up" fails=example,other_cases
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ValueError("no window fits")
    return -(-room // stride) + 1


# %% wrong "padding at one end" fails=example,other_cases,just_fits raises=ValueError
def out_size(size, kernel, stride, padding, dilation):
    room = size + padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ValueError("no window fits")
    return room // stride + 1


# %% wrong "the first window is forgotten" fails=example,dilated,other_cases,just_fits
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ValueError("no window fits")
    return room // stride


# %% wrong "no dilation" fails=dilated,other_cases,just_fits
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - kernel
    if room < 0:
        raise ValueError("no window fits")
    return room // stride + 1


# %% wrong "a gap behind each tap" fails=dilated,other_cases,just_fits raises=ValueError
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * kernel
    if room < 0:
        raise ValueError("no window fits")
    return room // stride + 1


# %% wrong "nothing is refused" fails=just_fits
def out_size(size, kernel, stride, padding, dilation):
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


# %% wrong "the formula of the documentation needs no int" fails=other_cases
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ValueError("no window fits")
    return (room / stride + 1) // 1


# %% equivalent "text 'no window fits' changed: raise ValueError('no window fitsx')"
# No check reads the text of an error.
