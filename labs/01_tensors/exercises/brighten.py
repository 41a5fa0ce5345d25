# %% exercise
def brighten(image: Tensor, gain: float, offset: int) -> Tensor:
    """gain * (pixel + offset) for each pixel, rounded to the nearest integer, then clamped to the range from 0 to 255.

    Returns a new uint8 tensor of image's shape.

    Details:
    - image: uint8, any shape and strides; it isn't changed.
    - gain is above 0 and at most 1e8. offset is from -255 to 255.
    - float32 is exact enough: a product that it turns into a number ending in .5 may be rounded either way.
    """
    ### BEGIN SOLUTION
    wide = gain * (image.to(torch.float32) + offset)
    return wide.round().clamp(0, 255).to(torch.uint8)
    ### END SOLUTION


# %% promises
# gain * (pixel -> example, other_cases, stops_at_255, stops_at_0, rounded
# Returns a new uint8 -> shape_dtype, keeps_input
# image: uint8, any shape and -> non_contiguous, keeps_input
# gain is above 0 -> extremes, rounded
# offset is from -255 -> extremes, stops_at_0
# float32 is exact enough -> rounded


# %% domain
@domain(
    reference,
    *("0-dim", "empty", "five dimensions", "transposed", "every second", "expanded", "all values"),
    *("offset 0", "offset 255", "offset -255", "gain 1", "small gain", "huge gain", "above the middle"),
    *("huge terms cancel", "terms cancel, above the middle", "terms cancel, below the middle"),
)
def arguments(draw, edge):
    shape = {"0-dim": (), "empty": (3, 0), "five dimensions": (2, 1, 3, 2, 1), "all values": (8, 32)}
    shape = shape.get(edge, (draw(st.integers(1, 4)), draw(st.integers(2, 5))))
    image = torch.randint(0, 256, shape, dtype=torch.uint8, generator=draw.make_generator(here))
    if edge == "all values":
        image = torch.arange(256, dtype=torch.uint8, device=here).reshape(shape)
    if edge == "transposed":
        image = image.T
    if edge == "every second":
        image = image[:, ::2]
    if edge == "expanded":
        image = image[:1].expand(shape)
    if edge == "above the middle":  # 0.500004 for each pixel of 255
        return image.clamp(min=draw(st.integers(250, 255))), 0.500004, -254
    if "cancel" in edge:  # gain * pixel and gain * offset are large, but a sum of 0 or 1 is multiplied exactly
        image[:], image[:, ::2] = 255, 254
        if edge == "huge terms cancel":
            return image, draw(st.sampled_from([33333333.3, 1e8 / 3])), -255
        return image, 2 * draw(st.integers(70, 125)) + (0.5001 if "above" in edge else 1.4999), -254
    # No product of these with an integer below 511 is near the midpoint between two integers.
    gain = {"gain 1": 1.0, "small gain": 0.0031, "huge gain": 1e8}.get(
        edge, draw(st.sampled_from([0.7713, 1.3117, 3.0]))
    )
    offset = {"offset 0": 0, "offset 255": 255, "offset -255": -255}.get(edge, draw(st.integers(-120, 120)))
    return image, gain, offset


# %% checks
with check(
    "shape_dtype",
    "the result is uint8 and has the image's shape",
    required=True,
    hint=(
        "Which dtype does the product have if the gain is a float? Which one should you return?",
        "The last step is a cast with to(). What must you do to the numbers first?",
    ),
):
    t = torch.tensor([[10, 20, 30], [40, 50, 60]], dtype=torch.uint8)
    got = brighten(t, 1.5, 4)
    assert got.dtype == torch.uint8, f"your result has dtype {got.dtype}"
    assert got.shape == (2, 3), f"your result has shape {tuple(got.shape)}"
with check(
    "example",
    "an image with one bright pixel, at gain 2.2",
    hint=(
        "Take the first pixel, 10. What do you add, what do you multiply by, and what's the nearest integer?",
        "Convert to float32, add the offset, and multiply the sum by the gain. Then round, clamp and cast.",
    ),
):
    t = torch.tensor([[10, 20, 30], [40, 50, 252]], dtype=torch.uint8)
    want = torch.tensor([[31, 53, 75], [97, 119, 255]], dtype=torch.uint8)
    explain(
        brighten(t, 2.2, 4),
        want,
        {
            "the values are right but still float: the cast is missing": want.to(torch.float32),
            "only the pixel was multiplied by the gain: add the offset first": torch.tensor(
                [[26, 48, 70], [92, 114, 255]], dtype=torch.uint8
            ),
            "a cast truncates decimals": torch.tensor([[30, 52, 74], [96, 118, 255]], dtype=torch.uint8),
            "the cast doesn't stop at 255: it wraps around": torch.tensor(
                [[31, 53, 75], [97, 119, 51]], dtype=torch.uint8
            ),
            "pixel + offset was computed in uint8, and wrapped around": torch.tensor(
                [[31, 53, 75], [97, 119, 0]], dtype=torch.uint8
            ),
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other gains and offsets, without overflow",
    required=True,
    hint="Does your result depend on every argument? In what order do you add and multiply?",
):
    for gain, offset in ((0.75, 20), (1.75, 8), (1.0, 0)):  # whole numbers: rounding has its own check
        t = torch.tensor([0, 4, 12, 40, 100], dtype=torch.uint8)
        want = torch.tensor([round(gain * (p + offset)) for p in t.tolist()], dtype=torch.uint8)
        assert_close(brighten(t, gain, offset), want)
with check(
    "stops_at_255",
    "bright pixels stop at 255",
    weight=2,
    hint="Which numbers can uint8 hold, and what is 250 + 20 in uint8?",
):
    for gain, offset in ((1.25, 20), (1.75, 60), (3.25, 252), (200.0, 10), (1e8, 1)):
        t = torch.tensor([4, 76, 180, 200, 236, 248, 252], dtype=torch.uint8)
        exact = [round(gain * (p + offset)) for p in t.tolist()]
        explain(
            brighten(t, gain, offset),
            torch.tensor([min(v, 255) for v in exact], dtype=torch.uint8),
            {
                "the cast doesn't stop at 255: it wraps around": torch.tensor(
                    [v % 256 for v in exact], dtype=torch.uint8
                ),
                "pixel + offset was computed in uint8, and wrapped around": torch.tensor(
                    [min(round(gain * ((p + offset) % 256)), 255) for p in t.tolist()], dtype=torch.uint8
                ),
            },
        )
with check("stops_at_0", "dark pixels stop at 0", hint="What is 3 - 20, and can uint8 hold it?"):
    t = torch.tensor([[4, 0, 16], [88, 180, 252]], dtype=torch.uint8)
    want = torch.tensor([[0, 0, 0], [68, 160, 232]], dtype=torch.uint8)
    assert_close(brighten(t, 1.0, -20), want)
    arguments.assert_results(brighten, "offset -255", "gain 1")
with check(
    "rounded", "rounded to the nearest integer", weight=2, hint="What does a cast to an integer dtype do with 9.9?"
):
    for gain, offset in ((0.7713, 0), (0.3117, 11)):
        t = torch.arange(256, dtype=torch.uint8).reshape(8, 32)
        exact = [[gain * (p + offset) for p in row] for row in t.tolist()]
        explain(
            brighten(t, gain, offset),
            torch.tensor(exact, dtype=torch.float64).round().to(torch.uint8),
            {"a cast truncates decimals": torch.tensor(exact).to(torch.uint8)},
        )
    arguments.assert_results(brighten, "", "all values", "small gain", "above the middle")
    arguments.assert_results(brighten, "terms cancel, above the middle", "terms cancel, below the middle")
with check("extremes", "the largest offset, no offset, and a huge gain", hint="Where could a number get too large?"):
    arguments.assert_results(brighten, "offset 255", "offset 0", "huge gain", "huge terms cancel")
with check("non_contiguous", "images of other shapes and strides, including 0-dim and empty ones"):
    arguments.assert_results(brighten, "transposed", "every second", "expanded", "five dimensions", "0-dim", "empty")
with check("keeps_input", "the image keeps its values, and the result is a new tensor", guard=True):
    arguments.assert_arguments(brighten)
    arguments.assert_memory(brighten)


# %% right "a table of all 256 answers"
def brighten(image, gain, offset):
    table = torch.tensor([min(max(round(gain * (p + offset)), 0), 255) for p in range(256)], dtype=torch.uint8)
    return table[image.long()]


# %% right "int16 first, half added before the cast"
def brighten(image, gain, offset):
    wide = (image.to(torch.int16) + offset) * gain
    return (wide.clamp(0, 255) + 0.5).clamp(max=255).to(torch.uint8)


# %% right "limited first, rounded second, in float64"
def brighten(image, gain, offset):
    return torch.round(torch.clip(gain * (image.double() + offset), 0, 255)).type(torch.uint8)


# %% right "a float tensor does the promotion"
def brighten(image, gain, offset):
    shifted = torch.add(image, float(offset))
    return shifted.mul_(gain).round_().clamp_(0, 255).byte()


# %% wrong "uint8 saturates" fails=example,stops_at_255,stops_at_0,rounded,extremes,non_contiguous
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).round().to(torch.int64).to(torch.uint8)


# %% wrong "the number promotes the image" fails=example,stops_at_255,stops_at_0,rounded,extremes,non_contiguous
def brighten(image, gain, offset):
    return (gain * (image + offset)).round().clamp(0, 255).to(torch.uint8)


# %% wrong "a cast rounds" fails=example,rounded,extremes,non_contiguous
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).clamp(0, 255).to(torch.uint8)


# %% wrong "the gain is for the pixel only" fails=example,other_cases,stops_at_255,stops_at_0,rounded,extremes,non_contiguous
def brighten(image, gain, offset):
    return (gain * image.float() + offset).round().clamp(0, 255).to(torch.uint8)


# %% wrong "pixels in 0 to 255 are an image, whatever the dtype" fails=shape_dtype,example,other_cases,stops_at_255,stops_at_0,rounded,extremes,non_contiguous
def brighten(image, gain, offset):
    return (gain * (image.float() + offset)).round().clamp(0, 255)
