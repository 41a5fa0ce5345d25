# %% exercise
def device_idle(trace: dict) -> dict[str, float]:
    """How long the device waited for each region: name -> microseconds.

    trace, its regions, and when a moment is in one: as for by_region. The device is busy while any row whose cat is in
    DEVICE_CATS runs, on any stream. It is idle between two such rows, but not before the first or after the last.
    Idle time counts for the region that launched the row that ends it: the innermost one in which the launch begins. It
    counts for "" if the launch begins in no region, or isn't in the trace. Regions that the device didn't wait for are
    left out.

    Details:
    - If a moment is in two regions, one is inside the other, and no two begin and end together.
    - No two rows of the device begin together.
    - Times have the precision of a Python float.
    - The trace isn't changed.
    """
    ### BEGIN SOLUTION
    rows = trace["traceEvents"]
    launched = {one["args"]["correlation"]: one["ts"] for one in rows if one.get("cat") in RUNTIME_CATS}
    regions = [one for one in rows if one.get("cat") == "user_annotation" and one.get("ph") == "X"]
    found: dict[str, float] = {}
    busy = None
    for one in sorted((one for one in rows if one.get("cat") in DEVICE_CATS), key=lambda one: one["ts"]):
        if busy is not None and one["ts"] > busy:
            at = launched.get(one["args"]["correlation"], float("-inf"))
            around = [region for region in regions if region["ts"] <= at < region["ts"] + region["dur"]]
            name = min(around, key=lambda region: region["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + one["ts"] - busy
        end = one["ts"] + one["dur"]
        busy = end if busy is None else max(busy, end)
    return found
    ### END SOLUTION


# %% promises
# How long the device -> example, other_traces, streams, edges
# trace, its regions -> other_traces, edges
# The device is busy -> streams, other_traces
# It is idle between -> example, other_traces, streams, no_region, edges, keeps_input
# Idle time counts -> example, other_traces, edges
# It counts for "" -> no_region, edges
# Regions that the -> other_traces, edges
# If a moment is -> example, edges
# No two rows -> streams, edges
# Times have the precision -> no_region
# The trace isn't -> keeps_input


# %% domain
@domain(
    reference,
    *("no work", "one row", "one name", "zeros", "an hour", "whole numbers", "in another order", "other threads"),
    *("never idle", "some touch", "a long row", "overlapping rows", "work of no time", "several rows of one launch"),
    *("one inside another", "three regions begin together", "three regions end together", "regions of no time"),
    *("as a region begins", "as a region ends", "as one ends and one begins", "as an inner one ends"),
    *("no region", "launched by nothing", "marks and the device's regions", "rows without keys"),
)
def arguments(draw, edge):
    g = draw.make_generator()

    def pick(*choices):
        return choices[int(torch.randint(len(choices), (), generator=g))]

    rows, step = [], 1 if edge == "whole numbers" else 0.125
    count = {"no work": 3, "one row": 1}.get(edge, draw(st.integers(5, 7)))
    now, number = (0, 0) if edge == "zeros" else (pick(3, 10) + (3.6e9 if edge == "an hour" else 0), pick(5, 100))
    now = 0 if edge == "launched by nothing" else now  # no launch isn't a launch at 0
    late = 0 if edge == "zeros" else now + 120 * step + pick(0, 3, 60)  # where the device begins: after all launches
    order = torch.randperm(count, generator=g).tolist() if edge == "in another order" else range(count)
    for n in range(count):
        begin, end = now, now + pick(8, 9, 11) * step
        now = end if edge == "as one ends and one begins" else end + pick(3, 4) * step
        at = begin + (0 if edge in ("zeros", "as a region begins") else pick(4, 5) * step)
        at = end if edge in ("as a region ends", "as one ends and one begins") and n % 2 else at
        inner = {
            "one inside another": [(1, 7), (2, 6)],
            "three regions begin together": [(0, 7), (0, 6)],
            "three regions end together": [(1, 8), (3, 8)],
            "regions of no time": [(4, 4), (5, 5)],
            "as an inner one ends": [(2, (at - begin) / step)],
        }.get(edge, [])
        if edge == "three regions end together":
            inner = [(first, (end - begin) / step) for first, _ in inner]
        name = "part" if edge == "one name" else f"part{n % 3}"
        places = [(name, begin, end - begin)]
        places += [(f"inner{m}", begin + a * step, (b - a) * step) for m, (a, b) in enumerate(inner)]
        if edge != "no region" or n % 2:
            rows += [trace_row(name, "user_annotation", 101, ts, dur) for name, ts, dur in places]
        if edge == "marks and the device's regions":
            rows.append(trace_row("marked", "gpu_user_annotation", 7, at - step, 2 * step))
            rows.append({"ph": "i", "name": "moment", "cat": "user_annotation", "ts": at})
        if edge != "launched by nothing" or n % 2:
            thread = pick(102, 103) if edge == "other threads" else 101
            cat = pick("cuda_runtime", "cuda_driver")
            rows.append(trace_row("launch", cat, thread, at, step, correlation=number + order[n]))
    first = 0 if edge == "zeros" else pick(2, 3, 7) * step  # with zeros, the device is idle from 0 on
    work = [(late, first, number)]  # beginning, duration, correlation
    for n in range(1, count):
        ts, dur, _ = work[-1]
        busy = max(ts + dur for ts, dur, _ in work)
        gap = 0 if edge == "never idle" or edge == "some touch" and n % 2 else pick(1, 2, 9, 40) * step
        gap = -step if edge == "overlapping rows" and n % 3 else gap
        gap += {"zeros": 20, "an hour": 3.6e9}.get(edge, 0) if n == 1 else 0
        start = ts + step if edge == "a long row" and n % 3 else busy + gap
        dur = 12 * step if edge == "a long row" and n % 3 == 0 else pick(2, 3, 7) * step
        dur = 0 if edge == "work of no time" and n % 2 else dur
        work.append((start, dur, number + (n // 2 if edge == "several rows of one launch" else n)))
    if edge == "zeros":  # the first gap is that of the launch at 0, whose number is 0
        work = [(ts, dur, (correlation - 1) % count) for ts, dur, correlation in work]
    if edge == "a long row":
        work[0] = (work[0][0], 12 * step, number)
    for ts, dur, correlation in work if edge != "no work" else []:
        rows.append(trace_row("work", pick(*DEVICE_CATS), pick(7, 9), ts, dur, correlation=correlation))
    if edge == "rows without keys":
        rows += [
            {},
            {"ph": "M", "name": "process_name"},
            {"ph": "s", "ts": begin},
            {"cat": "fwdbwd"},
            {"name": "part1"},
        ]
        rows += [{"ph": "X", "cat": "cpu_op", "name": "aten::op", "ts": at, "dur": step}]
    return ({"traceEvents": [rows[n] for n in torch.randperm(len(rows), generator=g).tolist()]},)


# %% checks
with check("example", "the shipped trace: the device waits for two regions", weight=2, required=True):
    explain(
        device_idle(shipped_trace()),
        {"data": 300.0, "Optimizer.step#SGD.step": 130.0},
        {
            "the launch is in two regions: take the innermost": {"data": 300.0, "optimizer": 130.0},
            "before its first row, the device isn't waiting yet": {"data": 592.0, "Optimizer.step#SGD.step": 130.0},
        },
    )

# %% hidden checks
with check(
    "other_traces",
    "other traces, in any order",
    weight=4,
    required=True,
    hint="When did the device become free? Which row ends the gap, and in which region was it launched?",
):
    arguments.assert_results(device_idle, "", "one name", "zeros", "whole numbers", "in another order", "other threads")
    arguments.assert_results(device_idle, "several rows of one launch", "rows without keys")
with check(
    "streams",
    "two streams: the device is idle only if neither works",
    weight=3,
    hint="A long row may end after one that begins later. Until when is the device busy?",
):
    arguments.assert_results(device_idle, "never idle", "some touch", "a long row", "overlapping rows")
with check(
    "no_region",
    "a launch outside all regions, and a row without a launch",
    weight=2,
    hint="What is the name if there is no region, and what if there is no launch?",
):
    arguments.assert_results(device_idle, "no region", "launched by nothing")
    arguments.assert_results(device_idle, "an hour", rtol=0, atol=0.001)
with check(
    "edges",
    "a launch at a region's end, and one inside two regions",
    weight=2,
    hint="Is a region's end inside it? Which of two regions around a launch is the innermost?",
):
    arguments.assert_results(device_idle, "one inside another", "three regions begin together")
    arguments.assert_results(device_idle, "three regions end together", "regions of no time", "as an inner one ends")
    arguments.assert_results(device_idle, "as a region begins", "as a region ends", "as one ends and one begins")
    arguments.assert_results(device_idle, "marks and the device's regions", "work of no time")
with check("keeps_input", "the trace isn't changed, and a device without rows waits for nothing", guard=True):
    arguments.assert_arguments(device_idle)
    arguments.assert_results(device_idle, "no work", "one row")


# %% right "busy stretches first, then gaps"
from itertools import pairwise


def device_idle(trace):
    rows = trace["traceEvents"]
    stretches = []
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if stretches and r["ts"] <= stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], r["ts"] + r["dur"])
        else:
            stretches.append([r["ts"], r["ts"] + r["dur"], r])
    out = {}
    for (_, end, _), (begin, _, first) in pairwise(stretches):
        name = ""
        for launch in rows:
            if launch.get("cat") in RUNTIME_CATS and launch["args"]["correlation"] == first["args"]["correlation"]:
                around = [
                    g
                    for g in rows
                    if g.get("cat") == "user_annotation"
                    and g.get("ph") == "X"
                    and g["ts"] <= launch["ts"] < g["ts"] + g["dur"]
                ]
                if around:
                    name = max(around, key=lambda g: (g["ts"], -g["dur"]))["name"]
        out[name] = out.get(name, 0.0) + (begin - end)
    return out


# %% right "what of each row is after all before it"
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and "dur" in r]
    device = [r for r in rows if r.get("cat") in DEVICE_CATS]
    idle = {}
    for r in device:
        ends = [other["ts"] + other["dur"] for other in device if other["ts"] < r["ts"]]
        gap = r["ts"] - max(ends, default=r["ts"])
        if gap > 0:
            at = launched.get(r["args"]["correlation"])
            around = [g for g in regions if at is not None and g["ts"] <= at < g["ts"] + g["dur"]]
            around.sort(key=lambda g: g["dur"])
            name = around[0]["name"] if around else ""
            idle[name] = idle.get(name, 0.0) + gap
    return idle


# %% wrong "the outermost region" fails=example,edges
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            name = max(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy or 0, r["ts"] + r["dur"])
    return found


# %% wrong "idle from the beginning of the trace on" fails=example,other_traces,streams,no_region,edges,keeps_input
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, min(r["ts"] for r in rows if "ts" in r)
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy, r["ts"] + r["dur"])
    return found


# %% wrong "gaps between a row and the one before it" fails=streams
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = r["ts"] + r["dur"]
    return found


# %% wrong "a device that was busy until 0 counts as new" fails=other_traces
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, 0
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy and r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy, r["ts"] + r["dur"])
    return found


# %% equivalent "first two arguments swapped: busy = end if busy is None else max(end, busy)"
# The larger of two times is the same in either order.
