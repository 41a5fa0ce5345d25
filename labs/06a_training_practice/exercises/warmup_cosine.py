# %% exercise
def warmup_cosine(step: int, warmup: int, total: int, peak: float) -> float:
    """The learning rate at a step, counted from 0.

    Up to step warmup - 1, it grows in equal increments: step 0 gets peak / warmup, and step warmup - 1 gets peak.
    From step warmup on, it falls along half a cosine wave: step warmup gets peak, and step total gets 0.
    Every step after total gets 0, too. warmup: 0 <= warmup < total; 0 means no warm-up. Returns a number, not a tensor,
    in float64 precision, as Python computes it.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return peak * 0.5 * (1 + math.cos(math.pi * progress))
    ### END SOLUTION


# %% promises
# The learning rate at -> example, other_cases
# Up to step warmup - 1 -> example, other_cases
# From step warmup on -> other_cases, no_warmup
# Every step after total -> after_end
# warmup: 0 <= warmup -> no_warmup
# Returns a number -> example, other_cases, no_warmup, after_end


# %% domain
@domain(
    reference,
    *("first step", "in the warm-up", "last of the warm-up", "peak", "in the fall", "last before the end"),
    *("warm-up of one step", "fall of one step", "many steps", "tiny peak", "large peak"),
    *("no warm-up", "no warm-up, first step", "no warm-up, last before the end", "total 1"),
    *("end", "after the end", "far after the end", "no warm-up, after the end"),
)
def arguments(draw, edge):
    warmup = 1 if edge == "warm-up of one step" else draw(st.integers(3, 9))
    fall = 1 if edge == "fall of one step" else draw(st.integers(3, 9))
    if edge == "many steps":
        warmup, fall = 10**5 + warmup, 10**6 + fall
    warmup = 0 if edge.startswith(("no warm-up", "total 1")) else warmup
    total = 1 if edge == "total 1" else warmup + fall
    part = draw(st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
    step = {
        "first step": 0,
        "in the warm-up": 1 + int(part * (warmup - 3)),
        "last of the warm-up": warmup - 1,
        "peak": warmup,
        "in the fall": warmup + 1 + int(part * (fall - 2)),
        "last before the end": total - 1,
        "end": total,
        "after the end": total + draw(st.integers(1, fall)),
        "far after the end": total + 2 * fall * draw(st.integers(10, 1000)) - 1,
    }.get(edge.removeprefix("no warm-up, "), int(part * total))
    peaks = {"tiny peak": [3e-6, 7e-7], "large peak": [300.0, 7e4]}.get(edge, [0.1, 0.3, 0.7, 2.5])
    return step, warmup, total, draw(st.sampled_from(peaks))


# %% checks
with check(
    "example",
    "four steps of warm-up, then down to zero at step 12",
    weight=2,
    required=True,
    hint=(
        "At which step is the progress through the second part 0, and at which is it 1? Is each rate a plain number?",
        "In the warm-up, take (step + 1) / warmup of peak. Then progress is steps since warmup over total - warmup.",
    ),
):
    want = [0.1, 0.2, 0.3, 0.4, 0.4, 0.2, 0.0]
    got = [warmup_cosine(step, 4, 12, 0.4) for step in (0, 1, 2, 3, 4, 8, 12)]
    explain(
        got,
        want,
        {
            "the first step has a learning rate of 0, so it learns nothing": [0.0, 0.1, 0.2, 0.3, 0.4, 0.2, 0.0],
            "the cosine starts at step 0, not where the warm-up ends": [0.1, 0.2, 0.3, 0.4, 0.3, 0.1, 0.0],
            "the rate falls to a tenth of the peak, not to 0": [0.1, 0.2, 0.3, 0.4, 0.4, 0.22, 0.04],
            "total was taken as the number of steps after the warm-up": [0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.1],
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "every part of other schedules",
    weight=3,
    required=True,
    hint="Which of the arguments does each part use?",
):
    arguments.assert_results(
        warmup_cosine,
        *("", "first step", "in the warm-up", "last of the warm-up", "peak", "in the fall", "last before the end"),
        *("warm-up of one step", "fall of one step", "many steps", "tiny peak", "large peak"),
        rtol=1e-9,
        atol=1e-12,
    )
with check("no_warmup", "no warm-up", weight=2, hint="What do you divide by?"):
    edges = "no warm-up", "no warm-up, first step", "no warm-up, last before the end", "total 1"
    arguments.assert_results(warmup_cosine, *edges, rtol=1e-9, atol=1e-12)
with check("after_end", "after the last step, it stays at zero", weight=2, hint="A cosine rises again."):
    edges = "end", "after the end", "far after the end", "no warm-up, after the end"
    arguments.assert_results(warmup_cosine, *edges, rtol=1e-9, atol=1e-12)


# %% right "with early returns"
def warmup_cosine(step, warmup, total, peak):
    if step >= total:
        return 0.0
    if step < warmup:
        return (step + 1) * (peak / warmup)
    angle = math.pi * (step - warmup) / (total - warmup)
    return peak / 2 * (1 + math.cos(angle))


# %% right "the square of a cosine of half the angle, by torch"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return float(peak) * (1 + step) / warmup
    progress = torch.tensor((step - warmup) / (total - warmup), dtype=torch.float64).clamp(max=1)
    return float(peak * torch.cos(progress * math.pi / 2) ** 2)


# %% right "zero is zero, also as an int"
def warmup_cosine(step, warmup, total, peak):
    if step >= total:
        return 0
    if step < warmup:
        return (step + 1) * peak / warmup
    return (1 + math.cos((step - warmup) / (total - warmup) * math.pi)) * peak / 2


# %% wrong "step 0 has the rate 0" fails=example,other_cases
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup))))


# %% wrong "the cosine starts at step 0" fails=example,other_cases
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, step / total)))


# %% wrong "down to a tenth of the peak" fails=example,other_cases,no_warmup,after_end
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup)))))


# %% wrong "total counts the steps after the warm-up" fails=example,other_cases,after_end
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / total)))


# %% equivalent "first two arguments swapped: progress = min((step - warmup) / (total - warmup), 1.0)"
# The smaller of two numbers is the same in either order.
