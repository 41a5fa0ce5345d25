# %% exercise
def ulp(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return each element's distance from |x| to the next larger number of a format: float64, in the shape of x.

    x: float32, of any shape and strides, finite. It's rounded to dtype first. dtype: float32, float16 or bfloat16.
    After rounding, |x| is less than the largest number of dtype. It may be zero or subnormal. x isn't changed.
    """
    ### BEGIN SOLUTION
    y = x.abs().to(dtype)
    whole = torch.int32 if dtype == torch.float32 else torch.int16
    above = (y.view(whole) + 1).view(dtype)
    return above.double() - y.double()
    ### END SOLUTION


# %% promises
# Return each element's distance -> example, formats, powers_of_two, rounds_first, zero
# x: float32, of any -> shapes
# It's rounded to -> rounds_first, formats
# dtype: float32, float16 -> formats
# After rounding, |x| is -> formats
# It may be zero -> zero
# x isn't changed -> keeps_input


# %% domain
BITS = {torch.float32: (23, -126, 127), torch.float16: (10, -14, 15), torch.bfloat16: (7, -126, 127)}


@domain(
    reference,
    *("float32", "float16", "bfloat16", "next to the largest", "powers of two", "just below powers of two"),
    *("rounded to a power of two", "rounded to zero", "zero", "subnormal", "smallest normal, and just below"),
    *("no axes", "one number", "no rows", "no columns", "transposed", "every second one", "expanded"),
)
def arguments(draw, edge):
    dtype = draw(st.sampled_from([*BITS]))
    dtype = getattr(torch, edge) if edge in ("float32", "float16", "bfloat16") else dtype
    if edge == "rounded to a power of two":
        dtype = draw(st.sampled_from([torch.float16, torch.bfloat16]))
    bits, least, most = BITS[dtype]
    shape = draw(st.integers(2, 4)), 8 if edge in ("float32", "float16", "bfloat16") else draw(st.integers(5, 7))
    shape = {"no axes": (), "one number": (1,), "no rows": (0, 3), "no columns": (2, 0)}.get(edge, shape)
    g = draw.make_generator()
    power = 2.0 ** torch.randint(-12, 13, shape, generator=g)
    sign = 1.0 - 2 * torch.randint(2, shape, generator=g)
    count = torch.randint(1, 2**bits, shape, generator=g)
    step = 2.0**least * 2.0**-bits  # the smallest number above zero
    x = {
        "next to the largest": sign * 2.0**most * (2 - 2.0 ** (1 - bits)),
        "powers of two": sign * power,
        "just below powers of two": sign * power * (1 - 2.0 ** -(bits + 1)),
        "rounded to a power of two": sign * power * (1 - 2.0 ** -(bits + 3)),
        "rounded to zero": sign * 0.4 * step,
        "zero": sign * 0.0,
        "subnormal": sign * step * count,
        "smallest normal, and just below": sign * step * (2**bits - count % 2),
    }.get(edge, torch.randn(shape, generator=g) * power)
    return draw.apply_layout(x, edge), dtype


# %% checks
with check(
    "example",
    "numbers between 1 and 2, and 300, in bfloat16",
    weight=2,
    required=True,
    hint=(
        "Which number follows 1 in bfloat16, and which one follows 300? What's the dtype of your result?",
        "Round |x| to dtype first. Read its bits as an integer and add one to get the next number. Subtract in float64.",
    ),
):
    t = torch.tensor([1.0, 1.25, 300.0])
    explain(
        ulp(t, torch.bfloat16),
        torch.tensor([2.0**-7, 2.0**-7, 2.0], dtype=torch.float64),
        {
            "eps is only the spacing between 1 and 2": torch.full((3,), 2.0**-7, dtype=torch.float64),
            "between two powers of two, the spacing is constant": t.double() * 2.0**-7,
        },
        rtol=1e-9,
        atol=0,
    )

# %% hidden checks
EXACT = {"rtol": 1e-9, "atol": 0}

with check(
    "formats",
    "numbers of all sizes, in all three formats",
    weight=4,
    required=True,
    hint="Take float16: what is the spacing from 4 to 8, and from 0.25 to 0.5?",
):
    arguments.assert_results(ulp, "", "float32", "float16", "bfloat16", "next to the largest", **EXACT)
with check(
    "powers_of_two",
    "powers of two, including negative ones",
    weight=2,
    hint="The spacing is larger above 8 than below it. What about -8?",
):
    arguments.assert_results(ulp, "powers of two", "just below powers of two", **EXACT)
with check(
    "zero",
    "zero and subnormal numbers",
    weight=2,
    hint="Below the smallest normal number, does the spacing still halve with each power of two?",
):
    arguments.assert_results(ulp, "zero", "subnormal", "smallest normal, and just below", **EXACT)
with check("rounds_first", "x is rounded to the format first", weight=1, hint="What is 1.999 in bfloat16?"):
    arguments.assert_results(ulp, "rounded to a power of two", "rounded to zero", **EXACT)
with check(
    "shapes", "other shapes and strides, including empty ones", weight=1, hint="Which shapes can an empty tensor have?"
):
    arguments.assert_results(ulp, "no axes", "one number", "no rows", "no columns", **EXACT)
    arguments.assert_results(ulp, "transposed", "every second one", "expanded", **EXACT)
with check("keeps_input", "x keeps its values", guard=True):
    arguments.assert_arguments(ulp)


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


# %% wrong "no subnormal numbers" fails=zero,rounds_first
def ulp(x, dtype):
    y = x.abs().to(dtype).double()
    return torch.where(y > 0, torch.finfo(dtype).eps * 2.0 ** y.log2().floor(), 0.0)


# %% wrong "x is not rounded" fails=rounds_first
def ulp(x, dtype):
    info = torch.finfo(dtype)
    y = x.abs().double().clamp(min=info.tiny)
    return info.eps * torch.exp2(torch.frexp(y).exponent.double() - 1)


# %% equivalent "call of double left out: return above - y.double()"
# A 16-bit or float32 tensor minus a float64 tensor is computed in float64: above is promoted without loss.

# %% equivalent "call of double left out: return above.double() - y"
# The same, for y.

# %% equivalent "float64 and int64 results through float32"
# A spacing is a power of two, 2**-149 or more: a float32 number.
