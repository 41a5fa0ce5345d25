# %% exercise
def warmup_cosine(step: int, warmup: int, total: int, peak: float) -> float:
    """The learning rate of a step, counted from 0.

    Steps 0 to warmup - 1 grow in equal parts: step 0 has peak / warmup, step warmup - 1 has peak.
    From step warmup on it falls along half a cosine wave: step warmup has peak, step total has 0.
    Every step from total on has 0. warmup: 0 <= warmup < total; 0 means no warm-up. Returns a number, not a tensor,
    and computes in float64, as Python does.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return peak * 0.5 * (1 + math.cos(math.pi * progress))
    ### END SOLUTION


# %% checks
with check(
    "example",
    "four steps of warm-up, and then down to zero at step 12",
    weight=2,
    required=True,
    hint=(
        "Which step has the progress 0 in the second part, and which one has 1? Is each rate a plain number?",
        "Warm-up counts step + 1 parts of warmup. Then progress: steps since warmup, over total - warmup.",
    ),
):
    want = [0.1, 0.2, 0.3, 0.4, 0.4, 0.2, 0.0]
    got = [warmup_cosine(step, 4, 12, 0.4) for step in (0, 1, 2, 3, 4, 8, 12)]
    explain(
        got,
        want,
        {
            "the first step has the learning rate 0, and learns nothing": [0.0, 0.1, 0.2, 0.3, 0.4, 0.2, 0.0],
            "the cosine starts at step 0, and not where the warm-up ends": [0.1, 0.2, 0.3, 0.4, 0.3, 0.1, 0.0],
            "the rate falls to a tenth of the peak, and not to 0": [0.1, 0.2, 0.3, 0.4, 0.4, 0.22, 0.04],
            "total was taken for the steps after the warm-up": [0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.1],
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "every step of other schedules",
    weight=3,
    required=True,
    hint="Which of the arguments does each part use?",
):
    for warmup, total, peak in ((3, 10, 1.0), (1, 7, 0.05), (10, 11, 3.0)):
        want = [peak * (s + 1) / warmup for s in range(warmup)]
        want += [peak * (1 + math.cos(math.pi * (s - warmup) / (total - warmup))) / 2 for s in range(warmup, total + 1)]
        assert_close([warmup_cosine(s, warmup, total, peak) for s in range(total + 1)], want, rtol=1e-9, atol=1e-12)
with check("no_warmup", "no warm-up", weight=2, hint="What do you divide by?"):
    want = [0.5 * (1 + math.cos(math.pi * s / 4)) * 2.0 for s in range(5)]
    assert_close([warmup_cosine(s, 0, 4, 2.0) for s in range(5)], want)
with check("after_end", "after the last step it stays at zero", weight=2, hint="A cosine goes up again."):
    for step in (10, 11, 15, 19, 1000):
        assert_close(warmup_cosine(step, 2, 10, 0.3), 0.0)


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


# %% wrong "a tensor is a number" fails=example,other_cases,no_warmup,after_end
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return torch.tensor(peak * (step + 1) / warmup)
    progress = min(1.0, (step - warmup) / (total - warmup))
    return torch.tensor(peak * 0.5 * (1 + math.cos(math.pi * progress)))


# %% wrong "by torch, in float32" fails=other_cases
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = torch.tensor((step - warmup) / (total - warmup)).clamp(max=1)
    return (peak * 0.5 * (1 + torch.cos(math.pi * progress))).item()


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


# %% wrong "the wave goes on after its end" fails=after_end
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


# %% wrong "linear instead of a cosine" fails=other_cases,no_warmup
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(0.0, 1 - (step - warmup) / (total - warmup))


# %% wrong "a warm-up is always there" fails=no_warmup raises=ZeroDivisionError
def warmup_cosine(step, warmup, total, peak):
    up = peak * (step + 1) / warmup
    down = peak * 0.5 * (1 + math.cos(math.pi * min(1.0, max(0, step - warmup) / (total - warmup))))
    return min(up, down)


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
