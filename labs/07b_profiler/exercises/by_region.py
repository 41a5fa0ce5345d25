# %% exercise
def by_region(trace: dict) -> dict[str, dict]:
    """The time, bytes and device time of each region: name -> {"time": ..., "bytes": ..., "device": ...}.

    trace: a dict with "traceEvents", a list of rows in any order, as torch.profiler exports it. A region is a complete
    row whose cat is "user_annotation". A moment is in a region that has begun and not yet ended; the end itself is
    outside.
    time: the total duration of all regions with this name, in microseconds.
    bytes: the sum of "Bytes" over the rows named "[memory]" in these regions, without rounding.
    device: the total duration of all rows whose cat is in DEVICE_CATS and that were launched in these regions. A row of
    the device was launched when the row with the same args["correlation"] and a cat in RUNTIME_CATS began.

    Details:
    - Threads don't matter.
    - Regions with different names may overlap, and what's in several of them counts for each. Regions with the same
      name don't overlap.
    - For each row of the device, there is at most one row that launched it, and that row may launch several rows of the
      device. Rows that no row of the trace launched belong to no region.
    - Rows of other kinds may lack any key, and may have a correlation too.
    - Times have the precision of a Python float.
    - The trace isn't changed.
    """
    ### BEGIN SOLUTION
    rows = trace["traceEvents"]
    launched = {one["args"]["correlation"]: one["ts"] for one in rows if one.get("cat") in RUNTIME_CATS}
    moments = [(one["ts"], "bytes", one["args"]["Bytes"]) for one in rows if one.get("name") == "[memory]"]
    for one in rows:
        if one.get("cat") in DEVICE_CATS and one["args"]["correlation"] in launched:
            moments.append((launched[one["args"]["correlation"]], "device", one["dur"]))
    found: dict[str, dict] = {}
    for region in rows:
        if region.get("cat") == "user_annotation" and region.get("ph") == "X":
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            for at, key, amount in moments:
                if region["ts"] <= at < region["ts"] + region["dur"]:
                    entry[key] += amount
    return found
    ### END SOLUTION


# %% promises
# The time, bytes and -> example, other_traces, shipped_all, live
# trace: a dict -> other_traces, keeps_input
# A region is a complete -> example, nested, shipped_all
# A moment is -> nested
# time: the total -> example, two_steps, other_traces, shipped_all, live
# bytes: the sum -> example, other_traces, shipped_all, live
# device: the total -> other_traces, shipped_all
# A row of the device was -> example, other_traces, shipped_all, nested, keeps_input
# Threads don't matter -> shipped_all, other_traces
# Regions with different -> nested, shipped_all
# Regions with the same -> two_steps, other_traces, shipped_all
# For each row of the device -> other_traces
# Rows that no row -> other_traces, keeps_input
# Rows of other kinds -> live, nested, other_traces
# Times have the precision -> other_traces
# The trace isn't -> keeps_input


# %% domain
@domain(
    reference,
    *("no rows", "no regions", "nothing inside", "one name", "freed", "zeros", "an hour", "whole numbers"),
    *("as a region begins", "as a region ends", "as one ends and one begins", "regions of no time"),
    *("one inside another", "overlapping regions", "other threads", "marks and the device's regions"),
    *(
        "several rows of one launch",
        "launched by nothing",
        "launch of nothing",
        "numbers of other rows",
        "long launches",
        "rows without keys",
        "many bytes",
    ),
)
def arguments(draw, edge):
    g = draw.make_generator()

    def pick(*choices):
        return choices[int(torch.randint(len(choices), (), generator=g))]

    rows, now, late, number = [], 0 if edge == "zeros" else pick(3, 10), 500, 0 if edge == "zeros" else pick(5, 100)
    now += 3.6e9 if edge == "an hour" else 0
    step = 1 if edge == "whole numbers" else 0.125
    for n in range(draw(st.integers(3, 4))):
        begin, end = now, now + pick(8, 9, 11) * step
        now = end if edge == "as one ends and one begins" else end + pick(3, 4) * step
        name = "part" if edge == "one name" else f"part{(n * n + 1) % 3}"
        if edge != "no regions":
            rows.append(trace_row(name, "user_annotation", 101, begin, end - begin))
        if edge == "regions of no time":
            empty = "part1" if n == 2 else "empty"  # inside part2: regions of one name do not overlap
            rows.append(trace_row(empty, "user_annotation", 101, begin + 2 * step, 0))
        if edge == "one inside another":
            rows.append(trace_row("inner", "user_annotation", 101, begin + step, pick(2, 3, 6) * step))
        if edge == "overlapping regions":
            rows.append(trace_row("other", "user_annotation", 102, begin + 4 * step, 6 * step))
        if edge == "marks and the device's regions":
            rows.append(trace_row(name, "gpu_user_annotation", 7, begin, 20))
            rows.append({"ph": "i", "name": "mark", "cat": "user_annotation", "ts": begin + step})
        for tick in (2, 5) if edge != "zeros" else (0, 2):
            at = begin + tick * step
            if edge in ("as a region begins", "as a region ends", "as one ends and one begins") and tick == 2:
                at = begin if edge == "as a region begins" else end
            if edge == "nothing inside":
                at = end + pick(0.5, 1) * step
            thread = pick(102, 103) if edge == "other threads" else 101
            nbytes = pick(64, 320, 1024) * pick(*((-1,) if edge == "freed" else (1, 1, -2)))
            nbytes += 2**53 + 1 if edge == "many bytes" else 0
            memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "tid": thread, "ts": at}
            rows.append({**memory, "args": {"Bytes": nbytes}})
            cat = pick("cuda_runtime", "cuda_driver")
            rows.append(
                trace_row("launch", cat, thread, at, step * (50 if edge == "long launches" else 1), correlation=number)
            )
            for _ in range({"several rows of one launch": 3, "launch of nothing": tick == 2}.get(edge, 1)):
                took = pick(2, 5, 30) * step + (3.6e9 if edge == "an hour" else 0)
                rows.append(trace_row("work", pick(*DEVICE_CATS), 7, late, took, correlation=number))
                late += took + pick(0, 1)
            if edge == "numbers of other rows":  # in the first region
                rows.append(trace_row("aten::mm", "cpu_op", 101, rows[0]["ts"], 3, correlation=number))
            number += pick(1, 2)
    if edge == "launched by nothing":
        rows += [trace_row("old", cat, 7, begin + 1.5 * step, 9, correlation=number + 7) for cat in DEVICE_CATS]
    if edge == "rows without keys":
        rows += [
            {},
            {"ph": "M", "name": "process_name"},
            {"ph": "s", "ts": begin},
            {"cat": "fwdbwd"},
            {"name": "part1"},
        ]
        rows += [{"ph": "X", "cat": "cpu_op", "name": "part1", "ts": begin, "dur": 3}]
    rows = [] if edge == "no rows" else rows
    return ({"schemaVersion": 1, "traceEvents": [rows[n] for n in torch.randperm(len(rows), generator=g).tolist()]},)


# %% checks
with check("example", "one step: two regions, and what they launched", weight=2, required=True):
    t = [
        trace_row("forward", "user_annotation", 101, 0, 50),
        trace_row("aten::mm", "cpu_op", 101, 5, 40),
        {"ph": "i", "name": "[memory]", "tid": 101, "ts": 8, "args": {"Bytes": 4096}},
        trace_row("cudaLaunchKernel", "cuda_runtime", 101, 10, 5, correlation=1),
        trace_row("log", "user_annotation", 101, 50, 300),
        trace_row("cudaStreamSynchronize", "cuda_runtime", 101, 60, 280, correlation=2),
        {"ph": "i", "name": "[memory]", "tid": 101, "ts": 345, "args": {"Bytes": -4096}},
        trace_row("gemm", "kernel", 7, 70, 260, correlation=1),
        trace_row("forward", "gpu_user_annotation", 7, 70, 260),
    ]
    want = {
        "forward": {"time": 50.0, "bytes": 4096, "device": 260.0},
        "log": {"time": 300.0, "bytes": -4096, "device": 0.0},
    }
    explain(
        by_region({"traceEvents": t}),
        want,
        {
            "the kernel runs while the program is in log, but forward launched it": {
                "forward": {**want["forward"], "device": 0.0},
                "log": {**want["log"], "device": 260.0},
            },
            "a row whose cat is gpu_user_annotation isn't a region of the program": {
                **want,
                "forward": {**want["forward"], "time": 310.0},
            },
            "freed bytes count too, with their sign": {**want, "log": {**want["log"], "bytes": 0}},
        },
    )
with check("two_steps", "two regions with the same name add up", weight=1):
    t = [
        trace_row("data", "user_annotation", 1, 0, 30),
        trace_row("data", "user_annotation", 1, 40, 20),
        {"ph": "i", "name": "[memory]", "tid": 1, "ts": 45, "args": {"Bytes": 64}},
    ]
    assert_close(by_region({"traceEvents": t}), {"data": {"time": 50.0, "bytes": 64, "device": 0.0}})

# %% hidden checks
with check(
    "other_traces",
    "other traces, in any order: time, bytes and the device",
    weight=5,
    required=True,
    hint="What links a kernel to the region that launched it? Do two regions with the same name add up?",
):
    arguments.assert_results(by_region, "", "nothing inside", "one name", "freed", "zeros", "whole numbers")
    arguments.assert_results(by_region, "several rows of one launch", "launched by nothing", "launch of nothing")
    arguments.assert_results(by_region, "long launches", "numbers of other rows")
    arguments.assert_results(by_region, "an hour", "many bytes", rtol=0, atol=0.001)
with check(
    "shipped_all",
    "the shipped trace: all of it, with the thread of backward",
    weight=2,
    hint="On which thread does backward launch its kernels? What if you look only at the time?",
):
    want = reference.function(shipped_trace())
    assert_close(by_region(shipped_trace()), want)
    arguments.assert_results(by_region, "other threads")
with check(
    "nested",
    "a region inside another, and what begins when one ends",
    weight=2,
    hint="How many regions can one row belong to? And does a row that begins at the end of a region belong to it?",
):
    arguments.assert_results(by_region, "as a region begins", "as a region ends", "as one ends and one begins")
    arguments.assert_results(by_region, "one inside another", "overlapping regions", "regions of no time")
    arguments.assert_results(by_region, "marks and the device's regions")
with check(
    "live",
    "a trace from this machine, without a device",
    weight=2,
    hint="Which keys do rows of other kinds lack? Print a live trace's rows that have no cat.",
):
    t = live_trace()
    want = reference.function(t)
    assert_close(by_region(t), want)
    arguments.assert_results(by_region, "rows without keys")
with check("keeps_input", "the trace isn't changed, and one without regions gives an empty dict", guard=True):
    arguments.assert_arguments(by_region)
    arguments.assert_results(by_region, "no rows", "no regions")


# %% right "region by region"
def by_region(trace):
    rows = trace["traceEvents"]

    def launch(kernel):
        return next(
            (
                r["ts"]
                for r in rows
                if r.get("cat") in RUNTIME_CATS and r["args"]["correlation"] == kernel["args"]["correlation"]
            ),
            None,
        )

    out = {}
    for region in rows:
        if region.get("cat") != "user_annotation" or region.get("ph") != "X":
            continue
        got = out.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
        got["time"] += region["dur"]
        for r in rows:
            if r.get("name") == "[memory]":
                at, key, much = r["ts"], "bytes", r["args"]["Bytes"]
            elif r.get("cat") in DEVICE_CATS:
                at, key, much = launch(r), "device", r["dur"]
            else:
                continue
            if at is not None and region["ts"] <= at < region["ts"] + region["dur"]:
                got[key] += much
    return out


# %% right "tables of each kind, first"
def by_region(trace):
    kinds = {"region": [], "memory": [], "runtime": {}, "device": {}}
    for r in trace["traceEvents"]:
        cat = r.get("cat")
        if cat == "user_annotation" and r.get("ph") == "X":
            kinds["region"].append(r)
        elif cat in RUNTIME_CATS:
            kinds["runtime"][r["args"]["correlation"]] = r["ts"]
        elif cat in DEVICE_CATS:
            number = r["args"]["correlation"]
            kinds["device"][number] = kinds["device"].get(number, 0.0) + r["dur"]
        elif r.get("name") == "[memory]":
            kinds["memory"].append(r)
    result = {}
    for region in kinds["region"]:
        lo, hi = region["ts"], region["ts"] + region["dur"]
        old = result.get(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
        result[region["name"]] = {
            "time": old["time"] + region["dur"],
            "bytes": old["bytes"] + sum(m["args"]["Bytes"] for m in kinds["memory"] if lo <= m["ts"] < hi),
            "device": old["device"]
            + sum(kinds["device"].get(number, 0.0) for number, at in kinds["runtime"].items() if lo <= at < hi),
        }
    return result


# %% wrong "a kernel belongs to the region in which it runs" fails=example,other_traces,shipped_all,nested,live
def by_region(trace):
    rows, found = trace["traceEvents"], {}
    for region in rows:
        if region.get("cat") == "user_annotation" and region["ph"] == "X":
            lo, hi = region["ts"], region["ts"] + region["dur"]
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            entry["bytes"] += sum(
                r["args"]["Bytes"] for r in rows if r.get("name") == "[memory]" and lo <= r["ts"] < hi
            )
            entry["device"] += sum(r["dur"] for r in rows if r.get("cat") in DEVICE_CATS and lo <= r["ts"] < hi)
    return found


# %% wrong "a region has a row on the device too" fails=example,shipped_all,nested
def by_region(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], "bytes", r["args"]["Bytes"]) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") in DEVICE_CATS and r["args"]["correlation"] in launched:
            moments.append((launched[r["args"]["correlation"]], "device", r["dur"]))
    found = {}
    for region in rows:
        if region.get("cat") in ("user_annotation", "gpu_user_annotation") and region["ph"] == "X":
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            for at, key, amount in moments:
                if region["cat"] == "user_annotation" and region["ts"] <= at < region["ts"] + region["dur"]:
                    entry[key] += amount
    return found


# %% wrong "what is freed does not count" fails=example,other_traces,shipped_all,nested,live
def by_region(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], "bytes", max(0, r["args"]["Bytes"])) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") in DEVICE_CATS and r["args"]["correlation"] in launched:
            moments.append((launched[r["args"]["correlation"]], "device", r["dur"]))
    found = {}
    for region in rows:
        if region.get("cat") == "user_annotation" and region["ph"] == "X":
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            for at, key, amount in moments:
                if region["ts"] <= at < region["ts"] + region["dur"]:
                    entry[key] += amount
    return found


# %% wrong "one row for each launch" fails=other_traces
def by_region(trace):
    rows = trace["traceEvents"]
    work = {r["args"]["correlation"]: r["dur"] for r in rows if r.get("cat") in DEVICE_CATS}
    found = {}
    for g in rows:
        if g.get("cat") == "user_annotation" and g["ph"] == "X":
            entry = found.setdefault(g["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += g["dur"]
            for r in rows:
                if g["ts"] <= r.get("ts", -1) < g["ts"] + g["dur"]:
                    if r.get("cat") in RUNTIME_CATS:
                        entry["device"] += work.get(r["args"]["correlation"], 0)
                    elif r.get("name") == "[memory]":
                        entry["bytes"] += r["args"]["Bytes"]
    return found
