# %% exercise
def device_idle(trace: dict) -> dict[str, float]:
    """For how long the device waited for each region: name -> microseconds, a float.

    trace: as for by_region. The device is busy while any row with a cat of DEVICE_CATS runs, on
    whichever stream. It is idle between two such rows, not before the first one or after the
    last one. Idle time counts for the region that launched the row which ends it: the innermost
    one around the beginning of the launch. It counts for "" where there is none, or no launch.
    No two rows of the device begin together. A region for which the device did not wait is left
    out.
    """
    ### BEGIN SOLUTION
    rows = trace["traceEvents"]
    launched = {one["args"]["correlation"]: one["ts"] for one in rows if one.get("cat") in RUNTIME_CATS}
    regions = [one for one in rows if one.get("cat") == "user_annotation" and one["ph"] == "X"]
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


# %% checks
with check("example", "the shipped trace: the device waits for two regions", weight=2, required=True):
    explain(
        device_idle(shipped_trace()),
        {"data": 300.0, "Optimizer.step#SGD.step": 130.0},
        {
            "the launch lies in two regions: take the innermost": {"data": 300.0, "optimizer": 130.0},
            "before its first row the device is not waiting yet": {"data": 592.0, "Optimizer.step#SGD.step": 130.0},
        },
    )

# %% hidden checks


def late(pieces, seed=0):
    """A trace of pieces (name, launch, start, dur, stream): a region of that name from launch - 2 to launch + 5."""
    rows = [{"ph": "M", "name": "thread_name"}]
    for number, (name, launch, start, dur, stream) in enumerate(pieces):
        if name:
            rows.append(trace_row(name, "user_annotation", 101, launch - 2, 7))
        rows.append(trace_row("cudaLaunchKernel", "cuda_runtime", 101, launch, 3, correlation=number))
        cat = ("kernel", "gpu_memset", "gpu_memcpy")[(seed + number) % 3]
        rows.append(trace_row("work", cat, stream, start, dur, correlation=number))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    return {"traceEvents": [rows[n] for n in order]}


with check(
    "other_traces",
    "other traces, in any order",
    weight=4,
    required=True,
    hint="When did the device become free? Which row ends the gap, and in which region was that one launched?",
):
    t = [("a", 10, 20, 30, 7), ("b", 100, 110, 15, 7), ("a", 140, 141, 9, 7), ("c", 160, 200, 1, 7)]
    assert_close(device_idle(late(t, 1)), {"b": 60.0, "a": 16.0, "c": 50.0})
    t = [(f"r{n % 3}", 20 * n + 3, 20 * n + 5 + n, 9, 7) for n in range(8)]
    want = {"r1": 12.0 * 3, "r2": 12.0 * 2, "r0": 12.0 * 2}
    assert_close(device_idle(late(t, 2)), want)
    t = [("x", 3, 5, 100, 7), ("y", 20, 105, 10, 7), ("x", 30, 115, 4, 7), ("y", 40, 119.5, 4, 7)]
    assert_close(device_idle(late(t, 3)), {"y": 0.5})
with check(
    "streams",
    "two streams: idle is when neither works",
    weight=3,
    hint="A long row may end after the one that begins later. Until when is the device busy?",
):
    t = [("a", 3, 10, 100, 7), ("b", 15, 20, 10, 9), ("c", 30, 50, 20, 9), ("d", 105, 125, 5, 9), ("a", 120, 140, 2, 7)]
    assert_close(device_idle(late(t, 4)), {"d": 15.0, "a": 10.0})
with check(
    "no_region",
    "a launch outside of all regions, and a row without a launch",
    weight=2,
    hint="What is the name if there is no region, and what if there is no launch?",
):
    t = late([("a", 10, 20, 5, 7), ("", 50, 60, 5, 7), ("b", 70, 80, 10, 7)], 5)
    assert_close(device_idle(t), {"": 35.0, "b": 15.0})
    t["traceEvents"].append(trace_row("lost", "kernel", 7, 96, 4, correlation=77))
    assert_close(device_idle(t), {"": 41.0, "b": 15.0})
    t = late([("a", 10, 20, 5, 7), ("b", 2**24 + 20, 2**24 + 26, 5, 7)])
    assert_close(device_idle(t), {"b": 2.0**24 + 1}, rtol=0, atol=0.01)
with check(
    "edges",
    "a launch as a region ends, and one inside two regions",
    weight=2,
    hint="Does a region's end lie inside it? Which of two regions around a launch is the innermost?",
):
    t = late([("", 0, 10, 5, 7), ("", 40, 45, 5, 7), ("", 60, 70, 5, 7)], 6)
    t["traceEvents"] += [
        trace_row("in", "user_annotation", 101, 30, 10),
        trace_row("out", "user_annotation", 101, 25, 50),
        trace_row("next", "user_annotation", 101, 60, 5),
        trace_row("mark", "gpu_user_annotation", 7, 39, 2),
        {"ph": "i", "name": "moment", "cat": "user_annotation", "ts": 40},
    ]
    assert_close(device_idle(t), {"out": 30.0, "next": 20.0})
with check("keeps_input", "the trace stays as it is, and a device without rows waits for nothing", guard=True):
    assert_close(unchanged(device_idle, late([("a", 3, 5, 4, 7), ("b", 20, 25, 4, 7)], 7)), {"b": 16.0})
    assert_close(device_idle({"traceEvents": [trace_row("a", "user_annotation", 101, 0, 9)]}), {})


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


# %% wrong "the time from launch to start" fails=example,other_traces,streams,no_region,edges,keeps_input
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found = {}
    for r in rows:
        if r.get("cat") in DEVICE_CATS:
            at = launched.get(r["args"]["correlation"], r["ts"])
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - at
    return found


# %% wrong "the region that runs when the gap begins" fails=example,other_traces,streams,no_region,edges,keeps_input
def device_idle(trace):
    rows = trace["traceEvents"]
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            around = [g for g in regions if g["ts"] <= busy < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy or 0, r["ts"] + r["dur"])
    return found


# %% wrong "the region that runs when the gap ends" fails=other_traces,streams,no_region,edges,keeps_input
def device_idle(trace):
    rows = trace["traceEvents"]
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            around = [g for g in regions if g["ts"] <= r["ts"] < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy or 0, r["ts"] + r["dur"])
    return found


# %% wrong "what no region launched is left out" fails=no_region
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            if around:
                name = min(around, key=lambda g: g["dur"])["name"]
                found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy or 0, r["ts"] + r["dur"])
    return found


# %% wrong "all regions with a zero" fails=example,other_traces,streams,no_region,edges,keeps_input
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {g["name"]: 0.0 for g in regions}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at < g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy or 0, r["ts"] + r["dur"])
    return found


# %% wrong "the end belongs to the region" fails=edges
def device_idle(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    found, busy = {}, None
    for r in sorted((r for r in rows if r.get("cat") in DEVICE_CATS), key=lambda r: r["ts"]):
        if busy is not None and r["ts"] > busy:
            at = launched.get(r["args"]["correlation"], -1)
            around = [g for g in regions if g["ts"] <= at <= g["ts"] + g["dur"]]
            name = min(around, key=lambda g: g["dur"])["name"] if around else ""
            found[name] = found.get(name, 0.0) + r["ts"] - busy
        busy = max(busy or 0, r["ts"] + r["dur"])
    return found


# %% equivalent "first two arguments swapped: busy = end if busy is None else max(end, busy)"
# The larger of two times is the same in either order.
