# %% exercise
def by_region(trace: dict) -> dict[str, dict]:
    """What each region of a trace took: name -> {"time": ..., "bytes": ..., "device": ...}.

    trace: a dict with "traceEvents", a list of rows in any order, as torch.profiler exports it.
    A region is a complete row of cat "user_annotation". A moment lies in a region that has begun
    and not yet ended: the end itself is outside. Threads do not matter, and a region may lie in
    another one, of another name: what lies in both counts for both.

    time: the duration of all regions of this name, in microseconds, a float. bytes: the sum of
    "Bytes" of the rows named "[memory]" in these regions, an int. device: the duration of all
    rows with a cat of DEVICE_CATS that were launched in them, a float. A row of the device was
    launched when the row with a cat of RUNTIME_CATS and the same args["correlation"] began. What
    was launched by no row of the trace belongs to no region. Rows of other kinds may lack any key.
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
        if region.get("cat") == "user_annotation" and region["ph"] == "X":
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            for at, key, amount in moments:
                if region["ts"] <= at < region["ts"] + region["dur"]:
                    entry[key] += amount
    return found
    ### END SOLUTION


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
            "the kernel runs while the processor is in log, and forward launched it": {
                "forward": {**want["forward"], "device": 0.0},
                "log": {**want["log"], "device": 260.0},
            },
            "a row of cat gpu_user_annotation is no region of the processor": {
                **want,
                "forward": {**want["forward"], "time": 310.0},
            },
            "what is freed counts too, with its sign": {**want, "log": {**want["log"], "bytes": 0}},
        },
    )
with check("two_steps", "two regions of one name add up", weight=1):
    t = [
        trace_row("data", "user_annotation", 1, 0, 30),
        trace_row("data", "user_annotation", 1, 40, 20),
        {"ph": "i", "name": "[memory]", "tid": 1, "ts": 45, "args": {"Bytes": 64}},
    ]
    assert_close(by_region({"traceEvents": t}), {"data": {"time": 50.0, "bytes": 64, "device": 0.0}})

# %% hidden checks


def counted(trace):
    """What by_region should say."""
    rows, found = trace["traceEvents"], {}
    for region in (one for one in rows if one.get("cat") == "user_annotation" and one.get("ph") == "X"):
        begin, end = region["ts"], region["ts"] + region["dur"]
        before = found.get(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
        numbers = {
            one["args"]["correlation"]
            for one in rows
            if one.get("cat") in ("cuda_runtime", "cuda_driver") and begin <= one["ts"] < end
        }
        ran = [
            one["dur"]
            for one in rows
            if one.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and one["args"]["correlation"] in numbers
        ]
        sizes = [one["args"]["Bytes"] for one in rows if one.get("name") == "[memory]" and begin <= one["ts"] < end]
        found[region["name"]] = {
            "time": before["time"] + region["dur"],
            "bytes": before["bytes"] + sum(sizes),
            "device": before["device"] + sum(ran),
        }
    return found


def made(seed, regions, launches):
    """A trace of regions in a row, each with launches, and a device that is always late. Rows in a shuffled order."""
    rows, now, busy, number = [{"ph": "M", "name": "process_name", "args": {}}, {"ph": "s", "id": 1}], 10.0, 0.0, 0
    runtime, device = ("cuda_runtime", "cuda_driver"), ("kernel", "gpu_memcpy", "gpu_memset")
    for n in range(regions):
        begin = now
        for m in range((launches + n * seed) % 4):
            number += 1
            cat = device[(seed + n + m) % 3]
            start = max(busy, now + 6)
            busy = start + 20 + 7 * m + n + seed
            rows.append(trace_row("launch", runtime[(n + m) % 2], 101 + m % 2, now, 4, correlation=number))
            rows.append(trace_row("work", cat, 7 + n % 2, start, busy - start, correlation=number))
            rows.append(
                {"ph": "i", "name": "[memory]", "tid": 101, "ts": now + 2, "args": {"Bytes": 64 * (m - n) + seed}}
            )
            rows.append(trace_row("aten::op", "cpu_op", 101 + m % 2, now, 5))
            now += 9
        now += 5 + n
        rows.append(trace_row(f"part{n * n % 3}", "user_annotation", 101, begin, now - begin))
    rows.append(trace_row("old", "kernel", 7, 0, 9, correlation=999))
    rows.append(trace_row("alone", "cuda_runtime", 101, 11, 1, correlation=998))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    return {"schemaVersion": 1, "traceEvents": [rows[n] for n in order]}


with check(
    "other_traces",
    "other traces, in any order: time, bytes and the device",
    weight=5,
    required=True,
    hint="What joins a kernel to the region that launched it? Do two regions of one name add up?",
):
    for seed, regions, launches in ((1, 1, 2), (2, 4, 3), (3, 7, 2), (5, 6, 1)):
        t = made(seed, regions, launches)
        assert_close(by_region(t), counted(t))
with check(
    "shipped_all",
    "the shipped trace: all of it, with the thread of backward",
    weight=2,
    hint="On which thread does backward launch its kernels? What if you ask for the time only?",
):
    assert_close(by_region(shipped_trace()), counted(shipped_trace()))
with check(
    "nested",
    "a region inside another one, and what begins as one ends",
    weight=2,
    hint="To how many regions can one row belong? And does a row that begins at the end of a region belong to it?",
):
    t = [
        trace_row("outer", "user_annotation", 1, 0, 100),
        trace_row("inner", "user_annotation", 1, 20, 30),
        trace_row("next", "user_annotation", 1, 100, 10),
        trace_row("cudaLaunchKernel", "cuda_runtime", 1, 20, 5, correlation=4),
        trace_row("cudaLaunchKernel", "cuda_runtime", 1, 50, 5, correlation=5),
        trace_row("cudaLaunchKernel", "cuda_runtime", 1, 100, 5, correlation=6),
        trace_row("a", "kernel", 7, 30, 1, correlation=4),
        trace_row("b", "kernel", 7, 60, 20, correlation=5),
        trace_row("c", "kernel", 7, 110, 300, correlation=6),
        {"ph": "i", "name": "[memory]", "ts": 25, "args": {"Bytes": 512}},
        {"ph": "i", "name": "[memory]", "ts": 100, "args": {"Bytes": 2**24 + 1}},
        {"ph": "i", "name": "user mark", "cat": "user_annotation", "ts": 30},
    ]
    assert_close(by_region({"traceEvents": t}), counted({"traceEvents": t}))
with check(
    "live",
    "a trace of this machine, without a device",
    weight=2,
    hint="Which keys do rows of other kinds lack? Print a live trace's rows that have no cat.",
):
    t = live_trace()
    assert_close(by_region(t), counted(t))
with check("keeps_input", "the trace stays as it is, and one without regions has none", guard=True):
    t = made(4, 3, 2)
    assert_close(unchanged(by_region, t), counted(t))
    assert_close(by_region({"traceEvents": [trace_row("aten::mm", "cpu_op", 1, 0, 3)]}), {})


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


# %% wrong "a kernel belongs to the region in which it runs" fails=example,other_traces,shipped_all,nested,keeps_input
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


# %% wrong "a region has a row on the device too" fails=example,shipped_all
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


# %% wrong "what is freed does not count" fails=example,other_traces,shipped_all,live,keeps_input
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


# %% wrong "only rows of the region's own thread" fails=other_traces,shipped_all,nested,keeps_input
def by_region(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: (r["ts"], r["tid"]) for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], r.get("tid"), "bytes", r["args"]["Bytes"]) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") in DEVICE_CATS and r["args"]["correlation"] in launched:
            moments.append((*launched[r["args"]["correlation"]], "device", r["dur"]))
    found = {}
    for region in rows:
        if region.get("cat") == "user_annotation" and region["ph"] == "X":
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            for at, tid, key, amount in moments:
                if tid == region["tid"] and region["ts"] <= at < region["ts"] + region["dur"]:
                    entry[key] += amount
    return found


# %% wrong "the last region of each name" fails=two_steps,other_traces,shipped_all,keeps_input
def by_region(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], "bytes", r["args"]["Bytes"]) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") in DEVICE_CATS and r["args"]["correlation"] in launched:
            moments.append((launched[r["args"]["correlation"]], "device", r["dur"]))
    found = {}
    for region in sorted((r for r in rows if r.get("cat") == "user_annotation"), key=lambda r: r["ts"]):
        if region["ph"] == "X":
            entry = found[region["name"]] = {"time": region["dur"], "bytes": 0, "device": 0.0}
            for at, key, amount in moments:
                if region["ts"] <= at < region["ts"] + region["dur"]:
                    entry[key] += amount
    return found


# %% wrong "each row belongs to the innermost region only" fails=shipped_all,nested
def by_region(trace):
    rows = trace["traceEvents"]
    regions = [r for r in rows if r.get("cat") == "user_annotation" and r["ph"] == "X"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], "bytes", r["args"]["Bytes"]) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") in DEVICE_CATS and r["args"]["correlation"] in launched:
            moments.append((launched[r["args"]["correlation"]], "device", r["dur"]))
    found = {}
    for region in regions:
        entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
        entry["time"] += region["dur"]
    for at, key, amount in moments:
        around = [r for r in regions if r["ts"] <= at < r["ts"] + r["dur"]]
        if around:
            found[min(around, key=lambda r: r["dur"])["name"]][key] += amount
    return found


# %% wrong "copies are no work of the device" fails=other_traces,shipped_all,keeps_input
def by_region(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], "bytes", r["args"]["Bytes"]) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") == "kernel" and r["args"]["correlation"] in launched:
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


# %% wrong "the end belongs to the region" fails=other_traces,nested,keeps_input
def by_region(trace):
    rows = trace["traceEvents"]
    launched = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") in RUNTIME_CATS}
    moments = [(r["ts"], "bytes", r["args"]["Bytes"]) for r in rows if r.get("name") == "[memory]"]
    for r in rows:
        if r.get("cat") in DEVICE_CATS and r["args"]["correlation"] in launched:
            moments.append((launched[r["args"]["correlation"]], "device", r["dur"]))
    found = {}
    for region in rows:
        if region.get("cat") == "user_annotation" and region["ph"] == "X":
            entry = found.setdefault(region["name"], {"time": 0.0, "bytes": 0, "device": 0.0})
            entry["time"] += region["dur"]
            for at, key, amount in moments:
                if region["ts"] <= at <= region["ts"] + region["dur"]:
                    entry[key] += amount
    return found


# %% equivalent "float64 and int64 results through float32"
# Microseconds are compared as numbers are, with a relative tolerance that float32 is within; bytes are ints.
