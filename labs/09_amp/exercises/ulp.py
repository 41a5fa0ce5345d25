# %% exercise
def ulp(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The distance from |x| to the next larger number of a format, for each element: float64, in the shape of x.

    x: float32, of any shape and strides, finite. It is rounded to dtype first. dtype: float32, float16 or bfloat16.
    After rounding, |x| is less than the largest number of dtype. It may be zero or subnormal. x is not changed.
    """
    ### BEGIN SOLUTION
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    above = (y.view(whole) + 1).view(dtype)
    return above.double() - y.double()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "numbers between 1 and 2, and 300, in bfloat16",
    weight=2,
    required=True,
    hint=(
        "Which number comes after 1 in bfloat16, and which one after 300? Which dtype has your result?",
        "Round |x| to dtype first. Its bits, read as an integer, plus one, are the next number. Subtract in float64.",
    ),
):
    t = torch.tensor([1.0, 1.25, 300.0])
    explain(
        ulp(t, torch.bfloat16),
        torch.tensor([2.0**-7, 2.0**-7, 2.0], dtype=torch.float64),
        {
            "eps is the spacing between 1 and 2 only": torch.full((3,), 2.0**-7, dtype=torch.float64),
            "between two powers of two the spacing is the same": t.double() * 2.0**-7,
        },
        rtol=1e-9,
        atol=0,
    )

# %% hidden checks
with check(
    "formats",
    "numbers of all sizes, in all three formats",
    weight=4,
    required=True,
    hint="Take float16: what is the spacing from 4 to 8, and from 0.25 to 0.5?",
):
    for dtype, bits, least in ((torch.float32, 23, -126), (torch.float16, 10, -14), (torch.bfloat16, 7, -126)):
        generator = torch.Generator().manual_seed(bits)
        t = torch.randn(7, 5, generator=generator) * 2.0 ** torch.randint(-12, 13, (7, 5), generator=generator)
        y = t.abs().to(dtype).double()
        want = torch.exp2(torch.frexp(y).exponent.double().sub(1).clamp(min=least) - bits)
        assert_close(ulp(t, dtype), want, rtol=1e-9, atol=0)
with check(
    "powers_of_two",
    "powers of two, negative ones too",
    weight=2,
    hint="Above 8 the spacing is larger than below it. And for -8?",
):
    for dtype, bits in ((torch.float32, 23), (torch.float16, 10), (torch.bfloat16, 7)):
        t = torch.tensor([8.0, -8.0, 0.5, -1.0, 2.0**-14])
        want = torch.tensor([8.0, 8.0, 0.5, 1.0, 2.0**-14], dtype=torch.float64) * 2.0**-bits
        assert_close(ulp(t, dtype), want, rtol=1e-9, atol=0)
        t = torch.tensor([16.0, -2.0, 1.0, 2.0**-13]) * (1 - 2.0 ** -(bits + 1))  # the numbers just below
        want = torch.tensor([8.0, 1.0, 0.5, 2.0**-14], dtype=torch.float64) * 2.0**-bits
        assert_close(ulp(t, dtype), want, rtol=1e-9, atol=0)
with check(
    "zero",
    "zero and subnormal numbers",
    weight=2,
    hint="Below the smallest normal number, does the spacing still halve with each power of two?",
):
    for dtype, step in ((torch.float16, 2.0**-24), (torch.bfloat16, 2.0**-133), (torch.float32, 2.0**-149)):
        t = torch.tensor([0.0, -0.0, 3 * step, 5 * step])
        assert_close(ulp(t, dtype), torch.full((4,), step, dtype=torch.float64), rtol=1e-9, atol=0)
with check("rounds_first", "x is rounded to the format first", weight=1, hint="What is 1.999 in bfloat16?"):
    t = torch.tensor([1.999, -3.9999, 255.9])
    want = torch.tensor([2.0**-6, 2.0**-5, 2.0], dtype=torch.float64)
    assert_close(ulp(t, torch.bfloat16), want, rtol=1e-9, atol=0)
    t = torch.tensor([1.99999, 4095.9])
    assert_close(ulp(t, torch.float16), torch.tensor([2.0**-9, 4.0], dtype=torch.float64), rtol=1e-9, atol=0)
with check("shapes", "other shapes, empty ones too", weight=1):
    for t in (torch.tensor(3.0), torch.linspace(1, 7, 12).reshape(3, 4).T[1:], torch.zeros(0, 2)):
        want = torch.exp2(torch.frexp(t.double()).exponent.double().sub(1) - 10)
        assert_close(ulp(t, torch.float16), want, rtol=1e-9, atol=0)
with check("keeps_input", "x keeps its values", guard=True):
    unchanged(ulp, torch.tensor([-3.0, 0.3]), torch.float32)


# %% right "from the exponent"
def ulp(x, dtype):
    fraction, least = {torch.float32: (23, -126), torch.float16: (10, -14), torch.bfloat16: (7, -126)}[dtype]
    _, exponent = torch.frexp(x.to(dtype).double())
    exponent = torch.where(x.to(dtype) == 0, torch.full_like(exponent, least), (exponent - 1).clamp(min=least))
    return torch.ldexp(torch.ones_like(x, dtype=torch.float64), exponent - fraction)


# %% right "a table of all numbers of the format"
def ulp(x, dtype):
    y = x.abs().to(dtype).double()
    if dtype == torch.float32:
        z = y.float()
        return torch.nextafter(z, torch.full_like(z, math.inf)).double() - y
    table = torch.arange(0, 2**15, dtype=torch.int16).view(dtype).double()
    table = table[table.isfinite()]
    return table[torch.searchsorted(table, y.contiguous()) + 1] - y


# %% right "through NumPy and finfo"
import numpy as np


def ulp(x, dtype):
    info = torch.finfo(dtype)
    y = x.to(dtype).abs().to(torch.float64).numpy()
    _, e = np.frexp(np.maximum(y, info.tiny))
    return torch.from_numpy(np.asarray(np.ldexp(info.eps, e - 1))).reshape(x.shape)


# %% wrong "eps everywhere" fails=example,formats,powers_of_two,zero,rounds_first,shapes
def ulp(x, dtype):
    return torch.full(x.shape, torch.finfo(dtype).eps, dtype=torch.float64)


# %% wrong "eps times x" fails=example,formats,powers_of_two,zero,rounds_first,shapes
def ulp(x, dtype):
    return torch.finfo(dtype).eps * x.abs().double()


# %% wrong "the spacing of float32" fails=example,formats,powers_of_two,zero,rounds_first,shapes
def ulp(x, dtype):
    y = x.abs()
    return torch.nextafter(y, torch.full_like(y, math.inf)).double() - y.double()


# %% wrong "no subnormal numbers" fails=zero
def ulp(x, dtype):
    y = x.abs().to(dtype).double()
    return torch.where(y > 0, torch.finfo(dtype).eps * 2.0 ** y.log2().floor(), 0.0)


# %% wrong "x is not rounded" fails=formats,rounds_first
def ulp(x, dtype):
    info = torch.finfo(dtype)
    y = x.abs().double().clamp(min=info.tiny)
    return info.eps * torch.exp2(torch.frexp(y).exponent.double() - 1)


# %% wrong "the next number above x, not above its size" fails=formats,powers_of_two,rounds_first
def ulp(x, dtype):
    y = x.to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    bits = y.abs().view(whole)
    other = torch.where(y < 0, bits - 1, bits + 1).view(dtype)
    return (other.double() - y.abs().double()).abs()


# %% wrong "in the format itself" fails=example,formats,powers_of_two,zero,rounds_first,shapes
def ulp(x, dtype):
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    return (y.view(whole) + 1).view(dtype) - y


# %% wrong "to the number below" fails=example,formats,powers_of_two,zero,rounds_first
def ulp(x, dtype):
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    return y.double() - (y.view(whole) - 1).view(dtype).double()


# %% wrong "abs in place" fails=keeps_input
def ulp(x, dtype):
    y = x.abs_().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    return (y.view(whole) + 1).view(dtype).double() - y.double()


# %% equivalent "call of double left out: return above - y.double()"
# A 16-bit or float32 tensor minus a float64 tensor is computed in float64: above is promoted without loss.

# %% equivalent "call of double left out: return above.double() - y"
# The same, for y.

# %% equivalent "float64 and int64 results through float32"
# A spacing is a power of two, 2**-149 or more: a float32 number.


# %% wrong "a logarithm in float32, which rounds up just below a power of two" fails=powers_of_two
def ulp(x: Tensor, dtype: torch.dtype) -> Tensor:
    info = torch.finfo(dtype)
    size = x.to(dtype).float().abs().clamp(min=info.tiny)
    return info.eps * 2.0 ** size.log2().floor().double()
