# %% exercise
def out_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many values a convolution gives along one dimension.

    size, at least 0: of the input there. padding, at least 0, is added at both ends. The kernel has `kernel` taps,
    dilation apart: 1 for neighbours. stride: from one window to the next. These three are at least 1, and all five are
    ints. Raises ValueError where not even one window fits.
    """
    ### BEGIN SOLUTION
    span = dilation * (kernel - 1) + 1
    room = size + 2 * padding - span
    if room < 0:
        raise ValueError("no window fits")
    return room // stride + 1
    ### END SOLUTION


# %% checks
with check(
    "example",
    "a size of 12, a kernel of 9, stride 2, padding 4",
    weight=2,
    required=True,
    hint=(
        "How many places are there with the padding? At which of them can a window of 9 begin?",
        "There are 20 places, so a window begins at 0, 2, 4, 6, 8 or 10. One at 12 would reach beyond the end.",
    ),
):
    explain(
        out_size(12, 9, 2, 4, 1),
        6,
        {
            "a window that reaches beyond the end does not count": 7,
            "padding is added at both ends": 4,
            "the first window counts too": 5,
        },
    )
with check(
    "dilated",
    "a size of 14, a kernel of 3, dilation 4",
    hint=(
        "From the first tap to the last: over how many places does the kernel reach?",
        "Taps at 0, 4 and 8 reach over 9 places, and not over 12.",
    ),
):
    explain(
        out_size(14, 3, 1, 0, 4),
        6,
        {"the taps are a dilation apart": 12, "between three taps there are two gaps": 3},
    )

# %% hidden checks


def by_pytorch(size, kernel, stride, padding, dilation):
    """What a convolution without memory gives."""
    x, w = torch.empty(1, 1, size, device="meta"), torch.empty(1, 1, kernel, device="meta")
    return torch.nn.functional.conv1d(x, w, None, stride, padding, dilation).shape[-1]


with check(
    "other_cases",
    "other sizes: what PyTorch gives",
    weight=4,
    required=True,
    hint="Where does the last window begin that fits? How many are there up to it?",
):
    for t in (
        (9, 3, 2, 1, 1),
        (7, 2, 2, 0, 1),
        (32, 5, 1, 0, 2),
        (8, 3, 3, 2, 2),
        (1, 1, 1, 0, 5),
        (224, 7, 2, 3, 1),
        (11, 4, 5, 1, 3),
        (28, 3, 1, 1, 1),
        (13, 2, 4, 0, 7),
        (2, 5, 3, 4, 1),
        (64, 9, 6, 3, 4),
    ):
        assert_close(out_size(*t), by_pytorch(*t))
with check(
    "just_fits",
    "where one window fits, it gives 1; where none does, a ValueError",
    weight=2,
    hint="What is the smallest size for these taps? What does // make of a negative number?",
):
    for kernel, stride, padding, dilation, least in (
        (5, 1, 0, 1, 5),
        (3, 4, 0, 3, 7),
        (4, 7, 1, 2, 5),
        (2, 3, 1, 1, 0),
    ):
        assert_close(out_size(least, kernel, stride, padding, dilation), 1)
        if least:
            try:
                out_size(least - 1, kernel, stride, padding, dilation)
            except ValueError:
                continue
            raise AssertionError("a size into which no window fits was accepted")


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


# %% wrong "a gap behind each tap" fails=dilated,other_cases,just_fits
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * kernel
    if room < -1:
        raise ValueError("no window fits")
    return room // stride + 1 if room >= 0 else 1


# %% wrong "nothing is refused" fails=just_fits
def out_size(size, kernel, stride, padding, dilation):
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


# %% wrong "a float" fails=example,other_cases
def out_size(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ValueError("no window fits")
    return room / stride + 1


# %% wrong "size over stride, as with padding='same'" fails=dilated,other_cases,just_fits
def out_size(size, kernel, stride, padding, dilation):
    if size + 2 * padding < dilation * (kernel - 1) + 1:
        raise ValueError("no window fits")
    return -(-size // stride)


# %% equivalent "text 'no window fits' changed: raise ValueError('no window fitsx')"
# No check reads the text of an error.
