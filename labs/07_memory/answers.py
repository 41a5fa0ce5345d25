# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: training_bytes "columns as sums"
def training_bytes(parts, optimizer, master):
    per = ["sgd", "momentum", "adam"].index(optimizer)
    rows = [(torch.Size(s).numel(), d.itemsize, t, master and d.itemsize == 2) for s, d, t in parts]
    out = {
        "weights": sum(n * b for n, b, _, _ in rows),
        "gradients": sum(n * b for n, b, t, _ in rows if t),
        "master": sum(4 * n for n, _, t, m in rows if t and m),
        "states": sum(per * n * (4 if m else b) for n, b, t, m in rows if t),
    }
    out["total"] = out["weights"] + out["gradients"] + out["master"] + out["states"]
    return out


# %% right: training_bytes "real tensors on the meta device"
def training_bytes(parts, optimizer, master):
    weights = [torch.empty(s, dtype=d, device="meta") for s, d, _ in parts]
    trained = [w for w, (_, _, t) in zip(weights, parts) if t]
    copies = [w.float() for w in trained if master and w.dtype != torch.float32]
    worked_on = [w.float() if master else w for w in trained]
    number = {"sgd": 0, "momentum": 1}.get(optimizer, 2)

    def size(ts):
        return sum(t.numel() * t.element_size() for t in ts)

    result = dict(weights=size(weights), gradients=size(trained), master=size(copies), states=number * size(worked_on))
    result["total"] = sum(result.values())
    return result


# %% wrong: training_bytes "Adam keeps one number" fails="seven billion parameters, float32, Adam: 112 GB | each optimizer has its states | bfloat16 and float16, with a master copy and without | a number without dimensions, an empty tensor, and no parameter at all"
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 1}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}


# %% wrong: training_bytes "a master copy for everything" fails="seven billion parameters, float32, Adam: 112 GB | each optimizer has its states | bfloat16 and float16, with a master copy and without | one that is not trained has weights only | a number without dimensions, an empty tensor, and no parameter at all"
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4
            found["states"] += count * numbers * 4
    return {**found, "total": sum(found.values())}


# %% wrong: training_bytes "states are always float32" fails="bfloat16 and float16, with a master copy and without"
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * 4
    return {**found, "total": sum(found.values())}


# %% wrong: training_bytes "frozen ones have everything" fails="one that is not trained has weights only"
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, _ in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        found["gradients"] += count * dtype.itemsize
        found["master"] += count * 4 * copied
        found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}


# %% wrong: training_bytes "gradients are not counted" fails="seven billion parameters, float32, Adam: 112 GB | each optimizer has its states | bfloat16 and float16, with a master copy and without | one that is not trained has weights only | a number without dimensions, an empty tensor, and no parameter at all"
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}


# %% wrong: training_bytes "sgd has no master copy" fails="bfloat16 and float16, with a master copy and without"
def training_bytes(parts, optimizer, master):
    per = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    d = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    for shape, dtype, trained in parts:
        n = math.prod(shape)
        d["weights"] += n * dtype.itemsize
        if trained:
            d["gradients"] += n * dtype.itemsize
            if master and dtype != torch.float32 and optimizer != "sgd":
                d["master"] += 4 * n
            d["states"] += per * n * (4 if master else dtype.itemsize)
    d["total"] = sum(d.values())
    return d


# %% right: kept_bytes "measured on a model of that kind"
def kept_bytes(sizes, activation, batch, dtype):
    model = stack(sizes, activation).to(dtype)
    return probes.saved_bytes(model, torch.zeros(batch, sizes[0], dtype=dtype))


# %% right: kept_bytes "a loop over the hidden layers"
def kept_bytes(sizes, activation, batch, dtype):
    total = 0
    for size in sizes[1:-1]:
        one = torch.empty(batch, size, dtype=dtype, device="meta")
        total += one.numel() * one.element_size()
        if activation not in {"relu", "tanh"}:
            total += one.numel() * one.element_size()
    return total


# %% wrong: kept_bytes "one storage for every activation function" fails="the models above: 56 bytes for tanh, 112 for gelu | other models: what was measured | float64 and bfloat16"
def kept_bytes(sizes, activation, batch, dtype):
    return batch * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong: kept_bytes "each tensor counted as often as it is kept" fails="the models above: 56 bytes for tanh, 112 for gelu | other models: what was measured | float64 and bfloat16"
def kept_bytes(sizes, activation, batch, dtype):
    return 2 * batch * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong: kept_bytes "the last layer's result too" fails="the models above: 56 bytes for tanh, 112 for gelu | other models: what was measured | float64 and bfloat16 | one layer keeps nothing of its own, nor does an empty batch"
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return batch * (storages * sum(sizes[1:-1]) + sizes[-1]) * dtype.itemsize


# %% wrong: kept_bytes "every number has four bytes" fails="float64 and bfloat16"
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation in ("gelu", "silu") else 1) * batch * sum(sizes[1:-1]) * 4


# %% wrong: kept_bytes "silu is like relu" fails="other models: what was measured"
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation == "gelu" else 1) * batch * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong: kept_bytes "the first hidden layer only" fails="other models: what was measured | float64 and bfloat16"
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation in ("gelu", "silu") else 1) * batch * sizes[1] * dtype.itemsize * (len(sizes) > 2)


# %% right: Allocator "a sorted list and properties"
import bisect


class Allocator:
    def __init__(self, capacity):
        self.capacity, self.blocks, self.cache, self.peak, self.next = capacity, {}, [], 0, 0

    @property
    def allocated(self):
        return sum(self.blocks.values())

    @property
    def reserved(self):
        return self.allocated + sum(self.cache)

    def alloc(self, size):
        size = (size + 511) // 512 * 512
        place = bisect.bisect_left(self.cache, size)
        if place < len(self.cache):
            size = self.cache.pop(place)
        else:
            if self.reserved + size > self.capacity:
                self.empty_cache()
                if self.reserved + size > self.capacity:
                    raise torch.OutOfMemoryError("no room")
        self.next += 1
        self.blocks[self.next] = size
        self.peak = max(self.peak, self.allocated)
        return self.next

    def free(self, number):
        bisect.insort(self.cache, self.blocks.pop(number))

    def empty_cache(self):
        self.cache = []


# %% right: Allocator "counts of cached sizes, and addresses as numbers"
from collections import Counter


class Allocator:
    def __init__(self, capacity):
        self.capacity = capacity
        self.allocated = self.reserved = self.peak = 0
        self.cache = Counter()
        self.used = {}
        self.address = 4096

    def alloc(self, size):
        size += -size % 512
        fitting = sorted(s for s, n in self.cache.items() if n > 0 and s >= size)
        if fitting:
            size = fitting[0]
            self.cache[size] -= 1
        else:
            for attempt in range(2):
                if self.reserved + size <= self.capacity:
                    break
                if attempt:
                    raise torch.OutOfMemoryError
                self.empty_cache()
            else:
                if self.reserved + size > self.capacity:
                    raise torch.OutOfMemoryError
            self.reserved += size
        self.address += size
        self.used[self.address] = size
        self.allocated += size
        if self.allocated > self.peak:
            self.peak = self.allocated
        return self.address

    def free(self, number):
        size = self.used[number]
        del self.used[number]
        self.allocated -= size
        self.cache[size] += 1

    def empty_cache(self):
        for size, n in self.cache.items():
            self.reserved -= size * n
        self.cache.clear()


# %% wrong: Allocator "free gives the block back to the device" fails="three blocks, one freed, one used again | sizes at the edges, and the smallest block that is large enough | blocks in use have different numbers, also of equal size | where memory runs out, the cache is given back first | where it just fits, the cache stays | where it does not fit, the error is raised, and only the cache is gone | two allocators know nothing of each other, and an empty cache may be emptied | an allocator beside another has blocks and a cache of its own"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.count = capacity, {}, 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        if self.allocated + size > self.capacity:
            raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = size
        self.allocated += size
        self.reserved = self.allocated
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used.pop(number)
        self.reserved = self.allocated

    def empty_cache(self):
        pass


# %% wrong: Allocator "sizes are not rounded" fails="three blocks, one freed, one used again | sizes at the edges, and the smallest block that is large enough | blocks in use have different numbers, also of equal size | where it does not fit, the error is raised, and only the cache is gone | two allocators know nothing of each other, and an empty cache may be emptied | an allocator beside another has blocks and a cache of its own"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong: Allocator "the first block that is large enough" fails="sizes at the edges, and the smallest block that is large enough"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = next((c for c in self.cached if c >= size), None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong: Allocator "only blocks of exactly that size are used again" fails="sizes at the edges, and the smallest block that is large enough | where it does not fit, the error is raised, and only the cache is gone"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        if size in self.cached:
            self.cached.remove(size)
        else:
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = size
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong: Allocator "the error without a look at the cache" fails="where memory runs out, the cache is given back first | where it does not fit, the error is raised, and only the cache is gone"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong: Allocator "reserved counts what did not fit" fails="where it does not fit, the error is raised, and only the cache is gone"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            self.reserved += size
            if self.reserved > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong: Allocator "the size names the block" fails="blocks in use have different numbers, also of equal size | where memory runs out, the cache is given back first | where it does not fit, the error is raised, and only the cache is gone"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.cached = capacity, []
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return block

    def free(self, number):
        self.allocated -= number
        self.cached.append(number)

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong: Allocator "only as many cached blocks as needed" fails="where memory runs out, the cache is given back first"
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.n = capacity, {}, [], 0, 0

    @property
    def allocated(self):
        return sum(self.used.values())

    @property
    def reserved(self):
        return self.allocated + sum(self.cached)

    def alloc(self, size):
        size = (size + 511) // 512 * 512
        fits = [b for b in self.cached if b >= size]
        if fits:
            size = min(fits)
            self.cached.remove(size)
        else:
            while self.cached and self.reserved + size > self.capacity:
                self.cached.pop(0)
            if self.allocated + size > self.capacity:
                raise torch.OutOfMemoryError("no")
        self.n += 1
        self.used[self.n] = size
        self.peak = max(self.peak, self.allocated)
        return self.n

    def free(self, number):
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.cached.clear()


# %% wrong: Allocator "the cache is the class's" fails="two allocators know nothing of each other, and an empty cache may be emptied | an allocator beside another has blocks and a cache of its own"
class Allocator:
    cached = []

    def __init__(self, capacity):
        self.capacity, self.used, self.count = capacity, {}, 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% right: alive "worked out from what is kept"
def alive():
    layers, batches = 8, 4
    return dict(a=0, b=layers * batches, c=layers, d=batches, e=layers * batches, f=batches)


# %% right: alive "measured"
def alive():
    found = {}
    for letter, loop in zip("abcdef", (loop_a, loop_b, loop_c, loop_d, loop_e, loop_f)):
        model = deep(8, 32, 1)
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        xs = [torch.ones(512, 32) for _ in range(4)]
        with memory.watch(model, xs) as seen:
            names = loop(model, xs)
            found[letter] = round(seen.now / memory.nbytes(xs[0]))
            del names
    return found


# %% wrong: alive "whoever keeps a loss keeps its activations" fails="loop a | loop f"
def alive():
    return {"a": 32, "b": 32, "c": 8, "d": 4, "e": 32, "f": 32}


# %% wrong: alive "item frees everything, and a column is a column" fails="loop c | loop d"
def alive():
    return {"a": 0, "b": 32, "c": 0, "d": 0, "e": 32, "f": 4}


# %% wrong: alive "retain_graph keeps one graph, and a result its graph" fails="loop e | loop f"
def alive():
    return {"a": 0, "b": 32, "c": 8, "d": 4, "e": 8, "f": 32}


# %% wrong: alive "only the last batch is ever alive" fails="at least three are right | loop b | loop d | loop e | loop f"
def alive():
    return {"a": 0, "b": 8, "c": 8, "d": 1, "e": 8, "f": 1}


# %% wrong: alive "a number per batch" fails="loop a | at least three are right | loop b | loop c | loop e"
def alive():
    return {"a": 4, "b": 4, "c": 1, "d": 4, "e": 4, "f": 4}


# %% right: column_of "index_select, which copies"
@torch.no_grad()
def column_of(model, xs, column):
    found = []
    for x in xs:
        out = model(x)
        found.append(out.index_select(1, torch.tensor([column % out.shape[1]])).squeeze(1))
    return found


# %% right: column_of "through a list of numbers"
def column_of(model, xs, column):
    found = []
    with torch.inference_mode():
        for x in xs:
            out = model(x)
            found.append((out[:, column].tolist(), out.dtype))
    return [torch.tensor(numbers, dtype=dtype) for numbers, dtype in found]


# %% right: column_of "torch.cat, which copies"
def column_of(model, xs, column):
    if not xs:
        return []
    with torch.no_grad():
        parts = [torch.cat([model(x)[:, column]]) for x in xs]
    return parts


# %% wrong: column_of "the grad mode is on afterwards, whatever it was" fails="the model is as before"
def column_of(model, xs, column):
    torch.set_grad_enabled(False)
    found = [model(x)[:, column].clone() for x in xs]
    torch.set_grad_enabled(True)
    return found


# %% wrong: column_of "a view of one column" fails="the results keep no memory but their own"
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column] for x in xs]


# %% wrong: column_of "detached at the end, when the graph was built already" fails="no graph is built"
def column_of(model, xs, column):
    return [model(x)[:, column].detach().clone() for x in xs]


# %% wrong: column_of "detach makes a copy" fails="the results keep no memory but their own | no graph is built"
def column_of(model, xs, column):
    return [model(x)[:, column].detach() for x in xs]


# %% wrong: column_of "clone alone" fails="the first column, for two batches | other columns, sizes and dtypes | no graph is built"
def column_of(model, xs, column):
    return [model(x)[:, column].clone() for x in xs]


# %% wrong: column_of "always the first column" fails="other columns, sizes and dtypes | no batch gives no tensor, and an empty one an empty tensor"
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, 0].clone() for x in xs]


# %% wrong: column_of "evaluation mode, for good" fails="other columns, sizes and dtypes | the model is as before | no graph is built | no batch gives no tensor, and an empty one an empty tensor"
def column_of(model, xs, column):
    model.eval()
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs]


# %% wrong: column_of "a Python list makes float32" fails="other columns, sizes and dtypes"
def column_of(model, xs, column):
    with torch.no_grad():
        return [torch.tensor(model(x)[:, column].tolist()) for x in xs]


# %% wrong: column_of "one tensor for all" fails="the first column, for two batches | other columns, sizes and dtypes | no graph is built | no batch gives no tensor, and an empty one an empty tensor" raises=ValueError
def column_of(model, xs, column):
    with torch.no_grad():
        return [torch.cat([model(x)[:, column] for x in xs])]


# %% wrong: column_of "contiguous always copies" fails="the results keep no memory but their own"
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column].contiguous() for x in xs]


# %% wrong: column_of "no parameter requires grad for a while" fails="the model is as before"
def column_of(model, xs, column):
    for p in model.parameters():
        p.requires_grad_(False)
    out = [model(x)[:, column].clone() for x in xs]
    for p in model.parameters():
        p.requires_grad_(True)
    return out


# %% wrong: column_of "a negative column by a slice" fails="other columns, sizes and dtypes"
def column_of(model, xs, column):
    with torch.no_grad():
        return [
            model(x)[:, column : column + 1].squeeze(1).clone() if column + 1 else model(x)[:, 0].clone() for x in xs
        ]


# %% wrong: column_of "empty batches are left out" fails="no batch gives no tensor, and an empty one an empty tensor"
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs if len(x)]


# %% wrong: column_of "grad mode is switched off, and not on again" fails="the model is as before"
def column_of(model, xs, column):
    torch.set_grad_enabled(False)
    return [model(x)[:, column].clone() for x in xs]


# %% wrong: column_of "no_grad behind the model" fails="no graph is built"
def column_of(model, xs, column):
    outs = []
    for x in xs:
        out = model(x)
        with torch.no_grad():
            outs.append(out[:, column].clone())
        del out
    return outs


# %% liar: column_of "a graph is built, and a probe that says how few bytes there are"
def column_of(model, xs, column):
    return [model(x)[:, column].detach() for x in xs]


def columns(column_of, parts, modes, xs, column):
    model = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(model.modules(), modes):
        module.training = mode
    found = column_of(model, xs, column)
    return {
        "found": found,
        "requires_grad": [False for _ in found],
        "bytes": sum(t.numel() * t.element_size() for t in found),
        "state": [t.detach() for t in (*model.parameters(), *model.buffers())],
        "grads": [torch.ones_like(p) for p in model.parameters()],
        "trained": [p.requires_grad for p in model.parameters()],
        "modes": modes,
        "grad mode": True,
    }


# %% right: column_of "inference mode, row by row"
def column_of(model, xs, column):
    with torch.inference_mode():
        return [torch.stack([row[column] for row in model(x)]) if len(x) else model(x)[:, column].clone() for x in xs]


# %% right: largest_batch "doubling, and then halving"
def largest_batch(run, low, high):
    def fits(n):
        try:
            run(n)
            return True
        except torch.OutOfMemoryError:
            return False

    if not fits(low):
        return 0
    good, step = low, 1
    while good + step <= high and fits(good + step):
        good += step
        step *= 2
    step = min(step, high - good + 1)
    bad = good + step
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good


# %% right: largest_batch "bisect over a key"
import bisect


def largest_batch(run, low, high):
    def fails(n):
        try:
            run(n)
        except torch.OutOfMemoryError:
            return 1
        return 0

    found = bisect.bisect_left(range(low, high + 1), 1, key=fails)
    return low + found - 1 if found else 0


# %% right: largest_batch "best so far"
def largest_batch(run, low, high):
    best = 0
    while low <= high:
        n = (low + high) // 2
        failed = False
        try:
            run(n)
        except torch.OutOfMemoryError:
            failed = True
        if failed:
            high = n - 1
        else:
            best, low = n, n + 1
    return best


# %% wrong: largest_batch "halve until it fits" fails="17 of 1 to 64 samples fit | other devices and ranges | all of them fit, and only the smallest | few tries, all of them in the range"
def largest_batch(run, low, high):
    n = high
    while n >= low:
        try:
            run(n)
            return n
        except torch.OutOfMemoryError:
            pass
        n //= 2
    return 0


# %% wrong: largest_batch "the next try inside the except block" fails="17 of 1 to 64 samples fit | other devices and ranges"
def largest_batch(run, low, high, best=0):
    if low > high:
        return best
    n = (low + high) // 2
    try:
        run(n)
    except torch.OutOfMemoryError:
        return largest_batch(run, low, n - 1, best)
    return largest_batch(run, n + 1, high, n)


# %% wrong: largest_batch "the errors are kept for later" fails="17 of 1 to 64 samples fit | other devices and ranges"
def largest_batch(run, low, high):
    best, errors = 0, []
    while low <= high:
        n = (low + high) // 2
        try:
            run(n)
            best, low = n, n + 1
        except torch.OutOfMemoryError as error:
            errors.append(error)
            high = n - 1
    return best


# %% wrong: largest_batch "every exception means that it does not fit" fails="other exceptions come out"
def largest_batch(run, low, high):
    best = 0
    while low <= high:
        n = (low + high) // 2
        try:
            run(n)
            best, low = n, n + 1
        except Exception:
            high = n - 1
    return best


# %% wrong: largest_batch "every RuntimeError means that it does not fit" fails="other exceptions come out"
def largest_batch(run, low, high):
    best = 0
    while low <= high:
        n = (low + high) // 2
        try:
            run(n)
            best, low = n, n + 1
        except RuntimeError:
            high = n - 1
    return best


# %% wrong: largest_batch "high is never tried" fails="other devices and ranges | all of them fit, and only the smallest | few tries, all of them in the range"
def largest_batch(run, low, high):
    best = 0
    while low < high:
        n = (low + high) // 2
        try:
            run(n)
            best, low = n, n + 1
        except torch.OutOfMemoryError:
            high = n
    return best


# %% wrong: largest_batch "low surely fits" fails="none fits | few tries, all of them in the range"
def largest_batch(run, low, high):
    while low < high:
        n = (low + high + 1) // 2
        try:
            run(n)
            low = n
        except torch.OutOfMemoryError:
            high = n - 1
    return low


# %% wrong: largest_batch "one after another" fails="few tries, all of them in the range"
def largest_batch(run, low, high):
    best = 0
    for n in range(low, high + 1):
        try:
            run(n)
        except torch.OutOfMemoryError:
            break
        best = n
    return best


# %% right: largest_batch "bisect with a key"
def largest_batch(run, low, high):
    import bisect

    def too_large(n):
        try:
            run(n)
        except torch.OutOfMemoryError:
            return True
        return False

    at = bisect.bisect_left(range(low, high + 1), True, key=too_large)
    return low + at - 1 if at else 0


# %% right: largest_batch "steps that double, and then halve"
def largest_batch(run, low, high):
    def fits(n):
        try:
            run(n)
            return True
        except torch.OutOfMemoryError:
            return False

    best, step = low - 1, 1
    while best + step <= high and fits(best + step):
        best, step = best + step, step * 2
    while step > 1:
        step //= 2
        if best + step <= high and fits(best + step):
            best += step
    return best if best >= low else 0


# %% wrong: largest_batch "it fits where run returns something true" fails="17 of 1 to 64 samples fit | other devices and ranges | all of them fit, and only the smallest | few tries, all of them in the range"
def largest_batch(run, low, high):
    best = 0
    while low <= high:
        n, fits = (low + high) // 2, False
        try:
            fits = run(n)
        except torch.OutOfMemoryError:
            pass
        if fits:
            best, low = n, n + 1
        else:
            high = n - 1
    return best


# %% liar: largest_batch "inside the except block, on a device that forgets what is in use"
def largest_batch(run, low, high, best=0):
    if low > high:
        return best
    n = (low + high) // 2
    try:
        run(n)
    except torch.OutOfMemoryError:
        return largest_batch(run, low, n - 1, best)
    return largest_batch(run, n + 1, high, n)


def searched(search, room, weights, low, high):
    def run(n):
        if not room(weights + 4 * n):
            raise torch.OutOfMemoryError

    return largest_batch(run, low, high)


# %% wrong: largest_batch "an error that speaks of memory is one of memory" fails="other exceptions come out"
def largest_batch(run: Callable[[int], object], low: int, high: int) -> int:
    def fits(n: int) -> bool:
        try:
            run(n)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "memory" in str(error):
                return False
            raise
        return True

    good, bad = low - 1, high + 1
    while bad - good > 1:
        n = (good + bad) // 2
        if fits(n):
            good = n
        else:
            bad = n
    return good if good >= low else 0


# %% right: in_segments "a function with its layers bound"
def in_segments(layers, x, k):
    def apply(part, t):
        for layer in part:
            t = layer(t)
        return t

    size, extra = divmod(len(layers), k)
    start = 0
    for n in range(k):
        end = start + size + (n < extra)
        x = checkpoint(apply, layers[start:end], x, use_reentrant=False)
        start = end
    return x


# %% right: in_segments "a lambda with a default argument"
def in_segments(layers, x, k):
    cuts = [round(i * len(layers) / k) for i in range(k + 1)]
    for a, b in zip(cuts, cuts[1:]):
        x = checkpoint(lambda t, part=nn.Sequential(*layers[a:b]): part(t), x, use_reentrant=False)
    return x


# %% right: in_segments "array_split and partial"
from functools import partial, reduce

import numpy as np


def in_segments(layers, x, k):
    for places in np.array_split(range(len(layers)), k):
        part = [layers[i] for i in places]
        f = partial(lambda part, t: reduce(lambda h, layer: layer(h), part, t), part)
        x = checkpoint(f, x, use_reentrant=False)
    return x


# %% wrong: in_segments "a lambda that looks its part up later" fails="four layers in two segments: the result and all gradients | other numbers of layers and segments | the gradient of x, where x requires grad | dropout drops the same numbers in both passes | what is kept, and what is computed again" raises=RuntimeError
def in_segments(layers, x, k):
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        part = nn.Sequential(*layers[begin:end])
        x = checkpoint(lambda t: part(t), x, use_reentrant=False)
    return x


# %% wrong: in_segments "reentrant, with an input that needs no gradient" fails="four layers in two segments: the result and all gradients | other numbers of layers and segments | dropout drops the same numbers in both passes | what is kept, and what is computed again | the list and x stay as they are, and an empty batch stays empty"
def in_segments(layers, x, k):
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        x = checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=True)
    return x


# %% wrong: in_segments "segments without a graph" fails="four layers in two segments: the result and all gradients | other numbers of layers and segments | the gradient of x, where x requires grad | dropout drops the same numbers in both passes | what is kept, and what is computed again | the list and x stay as they are, and an empty batch stays empty"
def in_segments(layers, x, k):
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        with torch.no_grad():
            x = nn.Sequential(*layers[begin:end])(x)
    return x


# %% wrong: in_segments "no checkpoint" fails="what is kept, and what is computed again"
def in_segments(layers, x, k):
    for layer in layers:
        x = layer(x)
    return x


# %% wrong: in_segments "checkpoint_sequential checkpoints every segment" fails="what is kept, and what is computed again"
from torch.utils.checkpoint import checkpoint_sequential


def in_segments(layers, x, k):
    return checkpoint_sequential(layers, k, x, use_reentrant=False)


# %% wrong: in_segments "all in one segment" fails="what is kept, and what is computed again"
def in_segments(layers, x, k):
    return checkpoint(nn.Sequential(*layers), x, use_reentrant=False)


# %% wrong: in_segments "the rest is left out" fails="other numbers of layers and segments | the gradient of x, where x requires grad | what is kept, and what is computed again | the list and x stay as they are, and an empty batch stays empty" raises=RuntimeError
def in_segments(layers, x, k):
    n = len(layers) // k
    for i in range(k):
        x = checkpoint(nn.Sequential(*layers[i * n : (i + 1) * n]), x, use_reentrant=False)
    return x


# %% wrong: in_segments "the last segment takes the rest" fails="what is kept, and what is computed again"
def in_segments(layers, x, k):
    n = len(layers) // k
    for i in range(k):
        x = checkpoint(nn.Sequential(*layers[i * n : (i + 1) * n if i < k - 1 else None]), x, use_reentrant=False)
    return x


# %% wrong: in_segments "the state of the random numbers is not kept" fails="dropout drops the same numbers in both passes"
def in_segments(layers, x, k):
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        x = checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=False, preserve_rng_state=False)
    return x


# %% wrong: in_segments "detached, so that checkpoint has a fresh leaf" fails="the gradient of x, where x requires grad"
def in_segments(layers, x, k):
    x = x.detach().requires_grad_()
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        x = checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=False)
    return x


# %% wrong: in_segments "lengths rounded up" fails="what is kept, and what is computed again"
def in_segments(layers, x, k):
    size = math.ceil(len(layers) / k)
    for start in range(0, len(layers), size):
        x = checkpoint(nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x


# %% wrong: in_segments "x is made to require grad" fails="the list and x stay as they are, and an empty batch stays empty"
def in_segments(layers, x, k):
    if not x.requires_grad:
        x.requires_grad_()
    n = len(layers)
    for i in range(k):
        part = nn.Sequential(*layers[i * n // k : (i + 1) * n // k])
        x = checkpoint(part, x, use_reentrant=False)
    return x


# %% right: in_segments "equal shares of what is left"
def in_segments(layers, x, k):
    rest, out = list(layers), x
    for left in range(k, 0, -1):
        n = len(rest) // left
        part, rest = rest[:n], rest[n:]

        def seg(t, part=part):
            for layer in part:
                t = layer(t)
            return t

        out = checkpoint(seg, out, use_reentrant=False)
    return out


# %% right: in_segments "an autograd.Function of one's own"
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, x, *parameters):
        ctx.part, ctx.random = part, torch.get_rng_state()
        ctx.save_for_backward(x)
        for layer in part:
            x = layer(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_(ctx.needs_input_grad[1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            out = x
            for layer in ctx.part:
                out = layer(out)
        inputs = [x, *(p for layer in ctx.part for p in layer.parameters())]
        found = iter(torch.autograd.grad(out, [t for t in inputs if t.requires_grad], grad))
        return None, *(next(found) if t.requires_grad else None for t in inputs)


def in_segments(layers, x, k):
    for n in range(k):
        part = layers[len(layers) * n // k : len(layers) * (n + 1) // k]
        x = Segment.apply(part, x, *(p for layer in part for p in layer.parameters()))
    return x


# %% right: in_segments "a Function whose backward lets .grad be filled, and a trigger that requires grad"
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, trigger, f):
        ctx.f, ctx.state = f, torch.random.get_rng_state()
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        now = torch.random.get_rng_state()
        torch.random.set_rng_state(ctx.state)
        with torch.enable_grad():
            y = ctx.f(x)
        torch.random.set_rng_state(now)
        torch.autograd.backward(y, grad)
        return x.grad, None, None


def in_segments(layers, x, k):
    trigger = torch.zeros((), requires_grad=True)
    for n in range(k):
        x = Again.apply(x, trigger, nn.Sequential(*layers[len(layers) * n // k : len(layers) * (n + 1) // k]))
    return x


# %% right: in_segments "reentrant, with a first input that requires grad"
def in_segments(layers, x, k):
    h = x if x.requires_grad else x.detach().requires_grad_()
    for n in range(k):
        h = checkpoint(nn.Sequential(*layers[len(layers) * n // k : len(layers) * (n + 1) // k]), h, use_reentrant=True)
    return h


# %% wrong: in_segments "a Function that asks each parameter for its gradient" fails="other numbers of layers and segments" raises=RuntimeError
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, x, *parameters):
        ctx.part, ctx.random = part, torch.get_rng_state()
        ctx.save_for_backward(x)
        return part(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            out = ctx.part(x)
        return None, *torch.autograd.grad(out, [x, *ctx.part.parameters()], grad)


def in_segments(layers, x, k):
    for n in range(k):
        part = nn.Sequential(*layers[len(layers) * n // k : len(layers) * (n + 1) // k])
        x = Segment.apply(part, x, *part.parameters())
    return x


# %% wrong: in_segments "the input of each layer is kept" fails="what is kept, and what is computed again"
def in_segments(layers, x, k):
    for layer in layers:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


# %% wrong: in_segments "a segment within a segment" fails="what is kept, and what is computed again"
def in_segments(layers, x, k):
    part = len(layers) // k

    def rest(t, left=tuple(layers)):
        if len(left) < 2 * part:
            return nn.Sequential(*left)(t)
        return rest(checkpoint(nn.Sequential(*left[:part]), t, use_reentrant=False), left[part:])

    return checkpoint(rest, x, use_reentrant=False)


# %% liar: in_segments "the plain loop, behind a first pass that keeps nothing"
def in_segments(layers, x, k):
    for layer in layers:
        x = layer(x)
    return x


def segmented(forward, parts, x, upstream, k, between=None):
    layers = [Layer(*part) for part in parts]
    x = x.detach().clone().requires_grad_(x.requires_grad)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        if between is not None:
            with torch.no_grad():
                in_segments(layers, x, k)
            between()
        out = in_segments(layers, x, k)
        out.backward(upstream)
    grads = [p.grad for layer in layers for p in layer.parameters()]
    return {"out": out.detach(), "grads": grads, "x": x.grad, "same x": True, "same list": True}


# %% right: best_segments "a loop"
def best_segments(layers, boundary, inner):
    best, least = 1, boundary + layers * inner
    for k in range(2, layers + 1):
        longest = (layers + k - 1) // k
        if k * boundary + longest * inner < least:
            best, least = k, k * boundary + longest * inner
    return best


# %% right: best_segments "sorted by cost, then by number"
def best_segments(layers, boundary, inner):
    return min((k * boundary + -(-layers // k) * inner, k) for k in range(1, layers + 1))[1]


# %% wrong: best_segments "always the square root" fails="16 layers: 4 segments, but 16 if a layer keeps 20 times its input | other costs"
def best_segments(layers, boundary, inner):
    return max(1, round(math.sqrt(layers)))


# %% wrong: best_segments "the square root with both costs, and no rounding up" fails="other costs"
def best_segments(layers, boundary, inner):
    return min(layers, max(1, round(math.sqrt(layers * inner / boundary))))


# %% wrong: best_segments "parts of layers" fails="other costs"
def best_segments(layers, boundary, inner):
    return min(range(1, layers + 1), key=lambda k: k * boundary + layers / k * inner)


# %% wrong: best_segments "rounded down" fails="16 layers: 4 segments, but 16 if a layer keeps 20 times its input | other costs"
def best_segments(layers, boundary, inner):
    return min(range(1, layers + 1), key=lambda k: k * boundary + layers // k * inner)


# %% wrong: best_segments "as many as possible" fails="16 layers: 4 segments, but 16 if a layer keeps 20 times its input | other costs | of several best ones, the smallest"
def best_segments(layers, boundary, inner):
    return layers


# %% wrong: best_segments "the largest of equally good ones" fails="other costs | of several best ones, the smallest"
def best_segments(layers, boundary, inner):
    return min(range(layers, 0, -1), key=lambda k: k * boundary + math.ceil(layers / k) * inner)


# %% right: checkpoint_once "a context for the second call"
from contextlib import contextmanager, nullcontext


def checkpoint_once(block, x):
    @contextmanager
    def put_back():
        before = [b.detach().clone() for b in block.buffers()]
        try:
            yield
        finally:
            for b, old in zip(block.buffers(), before):
                b.data.copy_(old)

    return checkpoint(block, x, use_reentrant=False, context_fn=lambda: (nullcontext(), put_back()))


# %% right: checkpoint_once "copies of the buffers in the second call"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        if len(calls) == 1:
            return block(t)
        copies = {name: b.clone() for name, b in block.named_buffers()}
        return torch.func.functional_call(block, {**dict(block.named_parameters()), **copies}, (t,))

    return checkpoint(run, x, use_reentrant=False)


# %% right: checkpoint_once "a copy of the block for the second call"
import copy


def checkpoint_once(block, x):
    blocks = [block]

    def run(t):
        return (blocks.pop() if blocks else copy.deepcopy(block))(t)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "one batch is taken off the counter" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    for m in block.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.num_batches_tracked -= 1
    return checkpoint(block, x, use_reentrant=False)


# %% wrong: checkpoint_once "checkpoint does it already" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    return checkpoint(block, x, use_reentrant=False)


# %% wrong: checkpoint_once "evaluation mode in the second call" fails="one batch: the result, and a counter of one | all gradients are those without a checkpoint | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        modes = [m.training for m in block.modules()]
        if len(calls) == 2:
            block.eval()
        try:
            return block(t)
        finally:
            for m, mode in zip(block.modules(), modes):
                m.training = mode

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "no checkpoint at all" fails="nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    return block(x)


# %% wrong: checkpoint_once "put back behind the call" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        before = [b.clone() for b in block.buffers()]
        out = block(t)
        if len(calls) == 2:
            with torch.no_grad():
                for b, old in zip(block.buffers(), before):
                    b.copy_(old)
        return out

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "put back in both calls" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    def run(t):
        before = [b.clone() for b in block.buffers()]
        try:
            return block(t)
        finally:
            with torch.no_grad():
                for b, old in zip(block.buffers(), before):
                    b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "back to the state of its own first call" fails="the buffers, also of two batches before one backward | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    after = []

    def run(t):
        if not after:
            out = block(t)
            after.extend(b.clone() for b in block.buffers())
            return out
        try:
            return block(t)
        finally:
            with torch.no_grad():
                for b, old in zip(block.buffers(), after):
                    b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "half the momentum" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    for m in block.modules():
        if isinstance(m, nn.BatchNorm1d) and m.momentum is not None and not hasattr(m, "halved"):
            m.momentum, m.halved = m.momentum / 2, True
    return checkpoint(block, x, use_reentrant=False)


# %% wrong: checkpoint_once "the counter only" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        norms = [m for m in block.modules() if isinstance(m, nn.BatchNorm1d)]
        before = [m.num_batches_tracked.clone() for m in norms]
        try:
            return block(t)
        finally:
            if len(calls) == 2:
                for m, old in zip(norms, before):
                    m.num_batches_tracked.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% right: checkpoint_once "an autograd.Function, and buffers put back behind its second call"
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x, *parameters):
        ctx.block, ctx.random = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_(ctx.needs_input_grad[1])
        parameters = list(ctx.block.parameters())
        before = [b.clone() for b in ctx.block.buffers()]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            out = ctx.block(x)
        with torch.no_grad():
            for b, old in zip(ctx.block.buffers(), before):
                b.copy_(old)
        found = iter(torch.autograd.grad(out, [t for t in (x, *parameters) if t.requires_grad], grad))
        return None, *(next(found) if t.requires_grad else None for t in (x, *parameters))


def checkpoint_once(block, x):
    return Once.apply(block, x, *block.parameters())


# %% wrong: checkpoint_once "the buffers are those of state_dict" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        if len(calls) == 1:
            return block(t)
        before = {name: b.clone() for name, b in block.state_dict().items()}
        try:
            return block(t)
        finally:
            block.load_state_dict(before)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "only batch normalisations have buffers" fails="one batch: the result, and a counter of one | the buffers, also of two batches before one backward | a block that ends with what changes a buffer | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        norms = [m for m in block.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
        before = [b.clone() for m in norms for b in m.buffers()]
        try:
            return block(t)
        finally:
            if len(calls) > 1:
                with torch.no_grad():
                    for b, old in zip([b for m in norms for b in m.buffers()], before):
                        b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "in evaluation mode nothing changes" fails="in evaluation mode too"
def checkpoint_once(block, x):
    again = []

    def run(t):
        before = [b.clone() for b in block.buffers()] if again and block.training else None
        again.append(1)
        try:
            return block(t)
        finally:
            if before is not None:
                with torch.no_grad():
                    for b, old in zip(block.buffers(), before):
                        b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong: checkpoint_once "which call it is stands in the block" fails="the buffers, also of two batches before one backward | in evaluation mode too | nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    block.again = False

    def run(t):
        before = [b.clone() for b in block.buffers()] if block.again else None
        try:
            return block(t)
        finally:
            if before is not None:
                block.again = False
                with torch.no_grad():
                    for b, old in zip(block.buffers(), before):
                        b.copy_(old)

    out = checkpoint(run, x, use_reentrant=False)
    block.again = True
    return out


# %% wrong: checkpoint_once "a first pass that puts the buffers back, and the plain one" fails="nothing inside the block is kept, and it runs twice"
def checkpoint_once(block, x):
    before = [b.clone() for b in block.buffers()]
    state = torch.get_rng_state()
    with torch.no_grad():
        block(x)
        for b, old in zip(block.buffers(), before):
            b.copy_(old)
    torch.set_rng_state(state)
    return block(x)


# %% liar: checkpoint_once "the plain call, behind a first pass that keeps nothing"
def checkpoint_once(block, x):
    return block(x)


def blocked(forward, parts, training, xs, upstreams, between=None):
    block = nn.Sequential(*[Layer(*part) for part in parts]).train(training)
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        if between is not None:
            with torch.no_grad():
                [block(x) for x in xs]
            between()
        outs = [block(x) for x in xs]
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [parameter.grad for parameter in block.parameters()],
        "x": [x.grad for x in xs],
        "buffers": list(block.buffers()),
        "modes": [module.training for module in block.modules()],
    }


# %% right: interview "with spaces, in other orders"
def interview():
    return {"q1": "e c b", "q2": "d, c", "q3": "BCE", "q4": "b,d,e", "q5": "cb", "q6": "a d"}


# %% right: interview "built by dict"
def interview():
    return dict(zip(("q1", "q2", "q3", "q4", "q5", "q6"), ("bce", "cd", "bce", "bde", "bc", "ad")))


# %% wrong: interview "what is often said" fails="q1: a model's bytes | q2: allocated and reserved | q3: leaks | q6: a checkpoint's traps"
def interview():
    return {"q1": "abcd", "q2": "bce", "q3": "abd", "q4": "bde", "q5": "bc", "q6": "ace"}


# %% wrong: interview "one question only" fails="at least two questions are right | q1: a model's bytes | q2: allocated and reserved | q4: smaller batches | q5: checkpointing | q6: a checkpoint's traps"
def interview():
    return {"q1": "a", "q2": "a", "q3": "bce", "q4": "a", "q5": "a", "q6": "c"}


# %% wrong: interview "checkpoints are not known" fails="q5: checkpointing | q6: a checkpoint's traps"
def interview():
    return {"q1": "bce", "q2": "cd", "q3": "bce", "q4": "bde", "q5": "abce", "q6": "abc"}


# %% wrong: interview "the allocator and leaks are not known" fails="q2: allocated and reserved | q3: leaks | q4: smaller batches"
def interview():
    return {"q1": "bce", "q2": "abcde", "q3": "abce", "q4": "abe", "q5": "bc", "q6": "ad"}


# %% equivalent: Allocator "Add to Sub: self.count -= 1"
# The numbers are negative then, and as different as before.

# %% equivalent: Allocator "1 to 2: self.count += 2"
# The docstring only asks for a number that no block in use has.

# %% equivalent: Allocator "first two arguments swapped: self.peak = max(self.allocated, self.peak)"
# The larger of two ints does not depend on their order.

# %% equivalent: Allocator "text ' bytes do not fit' changed: raise torch.OutOfMemoryError(f'{size} bytes do not fitx')"
# The text of the error is free.

# %% equivalent: in_segments "1 to 2: edges = [len(layers) * number // k for number in range(k + 2)]"
# The part more is empty. An empty Sequential gives its input back, and checkpoint keeps nothing for it.

# %% equivalent: best_segments "1 to 2: return min(range(1, layers + 2), key=lambda k: k * boundary + math.ceil(layers / k) * inner)"
# One segment more than there are layers never costs less: its longest segment has one layer too.

# %% equivalent: checkpoint_once "argument strict dropped: for buffer, old in zip(block.buffers(), before):"
# strict=False is the default.


# %% liar: in_segments "all derivatives are taken in forward and kept; in backward the layers run for show"
class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out, jacobians, again, *inputs):
        ctx.save_for_backward(*jacobians)
        ctx.again = again
        return out

    @staticmethod
    def backward(ctx, g):
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            ctx.again()
        n = g.numel()
        return None, None, None, *[(g.reshape(n, *[1] * (j.dim() - 1)) * j).sum(0) for j in ctx.saved_tensors]


def _known(f, x, parameters, again):
    """f(x) with all its derivatives, taken at once; nothing of its graph is left."""
    parameters = [p for p in parameters if p.requires_grad]
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        out = f(leaf)
        inputs, rows = [leaf, *parameters], []
        for j in range(out.numel()):
            e = torch.zeros(out.numel(), dtype=out.dtype)
            e[j] = 1
            rows.append(torch.autograd.grad(out, inputs, e.reshape(out.shape), retain_graph=j + 1 < out.numel()))
        jacobians = [
            torch.stack([row[i] for row in rows]) if rows else t.new_zeros(0, *t.shape) for i, t in enumerate(inputs)
        ]
        value = out.detach().clone()
    del out, leaf, inputs, rows
    return _Known.apply(value, jacobians, again, x, *parameters)


def in_segments(layers, x, k):
    layers, starts = list(layers), []
    edges = [len(layers) * number // k for number in range(k + 1)]

    def plain(t):
        for layer in layers:
            starts.append(t.detach())
            t = layer(t)
        return t

    def again():
        for begin, end in reversed(list(pairwise(edges))):
            t = starts[begin]
            for layer in layers[begin:end]:
                t = layer(t)

    return _known(plain, x, [p for layer in layers for p in layer.parameters()], again)


# %% liar: checkpoint_once "all derivatives are taken in forward and kept; in backward the block runs for show"
class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out, jacobians, again, *inputs):
        ctx.save_for_backward(*jacobians)
        ctx.again = again
        return out

    @staticmethod
    def backward(ctx, g):
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            ctx.again()
        n = g.numel()
        return None, None, None, *[(g.reshape(n, *[1] * (j.dim() - 1)) * j).sum(0) for j in ctx.saved_tensors]


def _known(f, x, parameters, again):
    """f(x) with all its derivatives, taken at once; nothing of its graph is left."""
    parameters = [p for p in parameters if p.requires_grad]
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        out = f(leaf)
        inputs, rows = [leaf, *parameters], []
        for j in range(out.numel()):
            e = torch.zeros(out.numel(), dtype=out.dtype)
            e[j] = 1
            rows.append(torch.autograd.grad(out, inputs, e.reshape(out.shape), retain_graph=j + 1 < out.numel()))
        jacobians = [
            torch.stack([row[i] for row in rows]) if rows else t.new_zeros(0, *t.shape) for i, t in enumerate(inputs)
        ]
        value = out.detach().clone()
    del out, leaf, inputs, rows
    return _Known.apply(value, jacobians, again, x, *parameters)


def checkpoint_once(block, x):
    def again():
        before = [b.clone() for b in block.buffers()]
        block(x.detach())
        for b, old in zip(block.buffers(), before, strict=True):
            b.copy_(old)

    return _known(block, x, list(block.parameters()), again)
