# %% given
# The checks call your function through this probe, too.
@probes.probe
def asked_twice(function, *arguments):
    """The second result for the same arguments, after the caller has written to the first."""
    function(*arguments).fill_(-1)
    return function(*arguments)


# %% exercise
def grid_points(start: float, stop: float, n: int, endpoint: bool) -> Tensor:
    """n evenly spaced points, the first of which is start. Returns a new float32 tensor of shape (n,).

    If endpoint is True, the last of two or more points is stop, so the step is (stop - start) / (n - 1). If it's False,
    the last point is one step before stop, so the step is (stop - start) / n.

    Details:
    - Each point is off by at most 1e-6 times the larger of abs(start) and abs(stop), however large n is.
    - start, stop: finite, at most 1e30 in magnitude. stop may be below start or equal to it.
    - n may be 0 (no points) or 1 (only start).
    """
    ### BEGIN SOLUTION
    if endpoint:
        return torch.linspace(start, stop, n)
    return torch.linspace(start, stop, n + 1)[:-1]
    ### END SOLUTION


# %% promises
# n evenly spaced points -> example, other_cases
# Returns a new -> shape_dtype, point_count, new_tensor
# If endpoint is True -> example, other_cases
# If it's False -> example, other_cases
# Each point is off -> no_drift, other_cases
# start, stop: finite -> other_cases
# stop may be below -> same_ends, other_cases
# n may be 0 -> none_or_one


# %% domain
@domain(
    reference,
    *(
        "n is 0",
        "n is 1",
        "n is 1, no end",
        "n is 2",
        "n is 2, no end",
        "one place",
        "at 0",
        "stop below start",
        "stop at 0",
        "far from 0",
        "tiny",
        "long",
        "steps below float64",
    ),
)
def arguments(draw, edge):
    start, stop = draw(st.integers(-40, 40)) / 8, draw(st.integers(1, 40)) / 10
    stop += start
    if edge == "stop below start":
        start, stop = stop, start
    if edge in ("one place", "at 0"):
        start = stop = 0.0 if edge == "at 0" else start
    if edge == "stop at 0":
        start, stop = -abs(start) - 1, 0.0
    if edge == "far from 0":
        start, stop = start * 1e6, start * 1e6 + 3e6
    if edge == "tiny":
        start, stop = start * 1e-9, stop * 1e-9
    if edge == "steps below float64":  # the points are fewer than the steps, so most of them are equal
        start = 1.0 + abs(start)
        stop = start + 2**-50
    n = {"n is 0": 0, "long": 70_001, "steps below float64": 1025}.get(edge, draw(st.integers(3, 60)))
    if edge.startswith(("n is 1", "n is 2")):
        return start, stop, int(edge[5]), not edge.endswith("no end")
    return start, stop, n, draw(st.booleans())


# %% checks
with check(
    "shape_dtype",
    "the result is float32 of shape (n,)",
    required=True,
    hint=(
        "What dtype does your result have, and how many points? Which call determines each of them?",
        "linspace returns float32 by default, and takes the number of points.",
    ),
):
    got = grid_points(0.0, 1.0, 5, True)
    assert got.shape == (5,), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "example",
    "five points from 0 to 1, with and without the endpoint",
    hint=(
        "How large is the step between five points from 0 to 1, with and without the endpoint?",
        "Without the endpoint, stop would be the next point. Create that point too, then drop it.",
    ),
):
    with_end, without_end = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]), torch.tensor([0.0, 0.2, 0.4, 0.6, 0.8])
    explain(
        grid_points(0.0, 1.0, 5, True),
        with_end,
        {"the step was (stop - start) / n, so the last point falls short of stop": without_end},
    )
    explain(
        grid_points(0.0, 1.0, 5, False),
        without_end,
        {
            "the last point is stop even though endpoint is False": with_end,
            "the last point was dropped, but the step is still the one that includes the endpoint": with_end[:-1],
        },
    )

# %% hidden checks


def assert_points(function, *edges):
    """Compare with the exact points, to the promised precision."""
    for trial in arguments.iter_trials(function, *edges):
        start, stop, n, endpoint = trial.arguments
        step = (stop - start) / max(n - endpoint, 1)
        want = (start + step * torch.arange(n, dtype=torch.float64)).float()
        assert_close(trial.report.result, want, rtol=0, atol=1.05e-6 * max(abs(start), abs(stop)))


with check(
    "other_cases",
    "evenly spaced points for any start, stop and n",
    weight=2,
    required=True,
    hint="What is the step with and without the endpoint?",
):
    for start, stop, n in ((-1.5, 2.25, 7), (3.0, -4.0, 12)):
        with_end = torch.tensor([start + i * (stop - start) / (n - 1) for i in range(n)])
        without_end = torch.tensor([start + i * (stop - start) / n for i in range(n)])
        explain(
            grid_points(start, stop, n, True),
            with_end,
            {"the step was (stop - start) / n, so the last point falls short of stop": without_end},
        )
        explain(
            grid_points(start, stop, n, False),
            without_end,
            {"the last point is stop even though endpoint is False": with_end},
        )
    assert_points(grid_points, "", "stop below start", "stop at 0", "far from 0", "tiny")
with check(
    "point_count",
    "n points for n between 2 and 60",
    weight=2,
    hint="Does your code set the number of points, or does it result from dividing floats?",
):
    for n in (3, 8, 12, 29, 30, 59, 60):  # where float32 steps miss a point, and a few more
        for endpoint in (True, False):
            for start, stop in ((1.0, 1.0 + n * 0.1), (0.0, n * 0.1 - 0.1)):
                step = (stop - start) / (n - 1 if endpoint else n)
                want = torch.tensor([start + step * i for i in range(n)])
                assert_close(grid_points(start, stop, n, endpoint), want, check_dtype=False)
    assert_points(grid_points, "n is 2", "n is 2, no end", "steps below float64")
with check("new_tensor", "a new tensor at each call", hint="Who may write to a tensor that your function returned?"):
    for start, stop, n in ((1.0, 3.0, 5), (0.0, 1.0, 5), (-1.0, 1.0, 5), (2.0, 2.0, 3)):
        for endpoint in (True, False):
            step = (stop - start) / max(n - endpoint, 1)
            want = torch.tensor([start + i * step for i in range(n)])
            assert_close(asked_twice(grid_points, start, stop, n, endpoint), want)
with check("none_or_one", "no points, and one point", weight=2, hint="What is (stop - start) / (n - 1) for n = 1?"):
    assert_points(grid_points, "n is 0", "n is 1", "n is 1, no end")
with check("same_ends", "start equal to stop", hint="What is the step here? Which functions reject such a step?"):
    assert_points(grid_points, "one place", "at 0")
with check(
    "no_drift",
    "twenty thousand points don't drift",
    hint="What happens to the rounding error if you compute each point from the previous one?",
):
    assert_points(grid_points, "long")
    assert_close(grid_points(0.0, 2000.0, 20001, True), torch.tensor([i / 10 for i in range(20001)]))


# %% right "start plus a step times an integer"
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / max(n - 1 if endpoint else n, 1)
    return start + step * torch.arange(n)


# %% right "NumPy does it, then a cast"
def grid_points(start, stop, n, endpoint):
    return torch.from_numpy(np.linspace(start, stop, n, endpoint=endpoint)).to(torch.float32)


# %% right "a Python list"
def grid_points(start, stop, n, endpoint):
    parts = n - 1 if endpoint and n > 1 else n
    points = [start + i * (stop - start) / parts for i in range(n)]
    return torch.tensor(points, dtype=torch.float32)


# %% right "lerp between the ends"
def grid_points(start, stop, n, endpoint):
    w = torch.arange(n, dtype=torch.float64) / max(n - endpoint, 1)
    return torch.lerp(torch.tensor(start).double(), torch.tensor(stop).double(), w).float()


# %% wrong "endpoint makes no difference" fails=example,other_cases,point_count,new_tensor,no_drift
def grid_points(start, stop, n, endpoint):
    return torch.linspace(start, stop, n)


# %% wrong "without the end means one point less" fails=example,other_cases,point_count,new_tensor,none_or_one,no_drift,same_ends
def grid_points(start, stop, n, endpoint):
    points = torch.linspace(start, stop, n)
    return points if endpoint else points[:-1]


# %% wrong "n points make n steps" fails=example,other_cases,point_count,new_tensor,no_drift
def grid_points(start, stop, n, endpoint):
    return start + (stop - start) / max(n, 1) * torch.arange(n)


# %% wrong "one point needs no care" fails=none_or_one raises=ZeroDivisionError
def grid_points(start, stop, n, endpoint):
    step = (stop - start) / (n - 1 if endpoint else n)
    return start + step * torch.arange(n)
