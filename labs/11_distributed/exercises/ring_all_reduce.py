# %% given
class Ring:
    """Channels from each rank to the next, which detect a deadlock."""

    def __init__(self, world_size):
        self.inbox = [deque() for _ in range(world_size)]
        self.running, self.waiting = set(range(world_size)), set()
        self.changed = threading.Condition()

    def send(self, rank, t):
        with self.changed:
            self.inbox[(rank + 1) % len(self.inbox)].append(t.detach().clone())
            self.changed.notify_all()

    def recv(self, rank):
        with self.changed:
            self.waiting.add(rank)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.inbox[rank] or self.stuck())
            if not self.inbox[rank]:
                raise RuntimeError(f"rank {rank} waits for a message that no rank will send")
            self.waiting.discard(rank)
            return self.inbox[rank].popleft()

    def stuck(self):
        return all(rank in self.waiting and not self.inbox[rank] for rank in self.running)

    def call(self, rank, function, x, results):
        try:
            results[rank] = function(rank, len(self.inbox), x, lambda t: self.send(rank, t), lambda: self.recv(rank))
        except BaseException as error:
            results[rank] = error
        with self.changed:
            self.running.discard(rank)
            self.changed.notify_all()

    def run(self, function, xs):
        """What function returns on each rank, which is a thread."""
        results = [None] * len(xs)
        threads = [threading.Thread(target=self.call, args=(rank, function, x, results)) for rank, x in enumerate(xs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        failed = [result for result in results if isinstance(result, BaseException)]
        if failed:  # often, the others only fail because no rank sends to them any more
            raise next((error for error in failed if "no rank will send" not in str(error)), failed[0])
        return results


@probes.probe
def on_ring(function, xs):
    """Each rank's result."""
    return Ring(len(xs)).run(function, xs)


# %% exercise
def ring_all_reduce(
    rank: int, world_size: int, x: Tensor, send: Callable[[Tensor], None], recv: Callable[[], Tensor]
) -> Tensor:
    """The sum of x over all ranks, called on each rank: a new tensor with the shape and dtype of x, even for one rank.

    x is (n,). send(t): passes a copy of the tensor t, of any shape, to rank (rank + 1) % world_size. recv(): the next
    tensor that rank (rank - 1) % world_size sent to this one.
    Each rank sends at most 2 * (world_size - 1) messages, each of at most ceil(n / world_size) numbers. It only sends
    numbers of x, sums of such numbers over several ranks, and zeros to fill up a message.

    Details:
    - x: float32, float64 or int64, of any stride. n >= 0 and the dtype are the same on all ranks. x is not changed.
    - send does not wait. recv waits until there is a tensor, or raises RuntimeError if none can arrive any more.
    """
    ### BEGIN SOLUTION
    chunks = [chunk.clone() for chunk in x.detach().tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)
    ### END SOLUTION


# %% promises
# The sum of x over all ranks -> example, other_cases, dtypes, fewer_than_ranks, keeps_input
# x is (n,) -> other_cases, dtypes, fewer_than_ranks
# send(t): passes a copy -> example, other_cases, dtypes, fewer_than_ranks
# recv(): the next tensor -> example, other_cases, dtypes, fewer_than_ranks
# Each rank sends at most -> messages
# It only sends numbers -> messages
# x: float32, float64 -> other_cases, dtypes, fewer_than_ranks
# n >= 0 and the dtype -> dtypes, fewer_than_ranks
# x is not changed -> keeps_input
# send does not wait -> example, other_cases, dtypes, fewer_than_ranks
# recv waits until -> example, other_cases, dtypes, fewer_than_ranks


# %% domain
@domain(
    reference,
    *("two ranks", "seven ranks", "even chunks", "one number less", "one number more", "every second one"),
    *("float64", "int64", "as many numbers as ranks", "fewer numbers than ranks", "one number", "no numbers"),
    *("one rank", "one rank, no numbers", "requires grad"),
    call=on_ring,
)
def arguments(draw, edge):
    ranks, times = draw(st.integers(3, 5)), draw(st.integers(2, 4))
    ranks = {"two ranks": 2, "seven ranks": 7}.get(edge, 1 if "one rank" in edge else ranks)
    n = ranks * times + (draw(st.integers(1, ranks - 1)) if ranks > 1 else 0)
    for part, length in {
        "even chunks": ranks * times,
        "one number less": ranks * times - 1,
        "one number more": ranks * times + 1,
        "as many numbers": ranks,
        "fewer numbers": ranks - 1,
        "no numbers": 0,
    }.items():
        n = length if part in edge else n
    g, n = draw.make_generator(), 1 if edge == "one number" else n
    if edge == "int64":
        xs = [torch.randint(2**53, 2**60, (n,), generator=g) for _ in range(ranks)]
    else:
        dtype = torch.float64 if edge == "float64" else torch.float32
        xs = [torch.randn(n, generator=g, dtype=dtype) * 3 for _ in range(ranks)]
    return ([draw.apply_gradient_state(draw.apply_layout(x, edge), edge) for x in xs],)


# %% checks
with check(
    "example",
    "four ranks, eight numbers",
    weight=2,
    required=True,
    hint=(
        "Which chunk of which rank is complete after three steps? Compare with the picture at that step.",
        "In the second half, rank r first sends its complete chunk, r + 1, and received chunks replace its own.",
    ),
):
    t = [torch.arange(8.0) * 10**number for number in range(4)]
    want = torch.arange(8.0) * 1111
    own = torch.arange(8) // 2  # the chunk of each number
    half = [sum(x * ((r - own) % 4 <= (rank - own) % 4) for r, x in enumerate(t)) for rank in range(4)]
    explain(
        on_ring(ring_all_reduce, t),
        [want] * 4,
        {"this is the mean": [want / 4] * 4, "only the first half of the ring was run": half},
    )

# %% hidden checks
with check(
    "other_cases",
    "two to seven ranks, lengths that aren't divisible by their number",
    weight=4,
    required=True,
    hint="If 11 numbers are cut into chunks of 11 // 3, where are the last ones?",
):
    arguments.assert_results(ring_all_reduce, "", "two ranks", "seven ranks", "even chunks")
    arguments.assert_results(ring_all_reduce, "one number less", "one number more", "every second one")
    arguments.assert_results(ring_all_reduce, "requires grad")
with check("dtypes", "float64 and int64", weight=2, hint="What's the dtype of the tensor that you return?"):
    arguments.assert_results(ring_all_reduce, "float64", "int64")
with check(
    "fewer_than_ranks",
    "fewer numbers than ranks, or one rank",
    weight=2,
    hint="How many chunks are there, and how large is each?",
):
    arguments.assert_results(ring_all_reduce, "as many numbers as ranks", "fewer numbers than ranks", "one number")
    arguments.assert_results(ring_all_reduce, "no numbers", "one rank", "one rank, no numbers")


def sent_on_ring(function, xs):
    """What each rank sent and took (None), in order. The ranks take turns, and each begins anew in its turn.

    A rank that waits for a message that has not been sent yet is stopped there, and told that no rank will send it.
    """
    inboxes, logs, at_its_end = [[] for _ in xs], [[] for _ in xs], [False] * len(xs)

    def turn(rank):
        log, came = [], iter(inboxes[rank])

        def send(t):
            log.append(t.detach().clone())

        def recv():
            message = next(came, None)
            at_its_end[rank] &= message is not None
            if message is None:
                raise RuntimeError(f"rank {rank} waits for a message that no rank will send")
            log.append(None)
            return message.clone()

        at_its_end[rank] = True
        try:
            function(rank, len(xs), xs[rank].clone(), send, recv)
        except RuntimeError:
            if at_its_end[rank]:
                raise
        return log

    while not all(at_its_end):
        before = [len(log) for log in logs]
        for rank in range(len(xs)):
            logs[rank] = turn(rank)
            inboxes[(rank + 1) % len(xs)] = [message for message in logs[rank] if message is not None]
        assert all(at_its_end) or before != [len(log) for log in logs], "all ranks wait for a message"
    return logs


def assert_ring(logs, xs):
    """Raise AssertionError unless these messages tell every rank the sum, and are no more and no larger than needed.

    A rank knows its own numbers, those that came, and the sums of one of these and one of its own. Whoever sends
    something else made it up.
    """
    n, length, total = len(xs), len(xs[0]), {sum(column) for column in zip(*xs, strict=True)}
    for rank, log in enumerate(logs):
        known, inbox = {0, *xs[rank]}, iter([message for message in logs[rank - 1] if message is not None])
        for message in log:
            if message is None:
                came = next(inbox).tolist()
                known |= {*came, *(a + b for a in came for b in xs[rank])}
            else:
                assert known >= set(message.tolist()), "a rank sent a number that isn't a sum over ranks"
        assert known >= total, "a rank can't compute the sum from what it received"
        sizes = [message.numel() for message in log if message is not None]
        assert len(sizes) <= 2 * (n - 1), "a rank sent more messages than needed"
        assert max(sizes) <= math.ceil(length / n), "a message is larger than a chunk"


with check("messages", "no message is larger than a chunk, and there are no more than needed", weight=4, required=True):
    for n, length in ((4, 8), (3, 11), (5, 3)):
        generator = torch.Generator().manual_seed(n)
        t = torch.randint(2**20, (n, length), generator=generator).float()  # their sums are exact
        assert_ring(sent_on_ring(ring_all_reduce, list(t)), t.tolist())
with check("keeps_input", "x isn't changed, and the result has its own memory", guard=True):
    arguments.assert_arguments(ring_all_reduce, rtol=0, atol=0)
    arguments.assert_memory(ring_all_reduce)
    for trial in arguments.iter_trials(ring_all_reduce, "no numbers", "one rank, no numbers"):
        assert_close(list(trial.report.identities), list(trial.case.report.identities), name="whether a result is new")


# %% right "from the rank's own chunk, one loop"
def ring_all_reduce(rank, world_size, x, send, recv):
    out = x.clone().contiguous()
    bounds = [len(x) * k // world_size for k in range(world_size + 1)]

    def piece(k):
        k %= world_size
        return out[bounds[k] : bounds[k + 1]]

    for step in range(2 * world_size - 2):
        send(piece(rank - step))
        if step < world_size - 1:
            piece(rank - step - 1).add_(recv())
        else:
            piece(rank - step - 1).copy_(recv())
    return out


# %% right "starts one chunk later, sums made anew"
def ring_all_reduce(rank, world_size, x, send, recv):
    if world_size == 1:
        return x.clone()
    size = -(-x.numel() // world_size)
    parts = [x[k * size : (k + 1) * size] for k in range(world_size)]
    at = (rank - 1) % world_size
    message = parts[at]
    for _ in range(world_size - 1):
        send(message)
        at = (at - 1) % world_size
        message = recv() + parts[at]
    done = {at: message}
    for _ in range(world_size - 1):
        send(message)
        at = (at - 1) % world_size
        message = done[at] = recv()
    return torch.cat([done[k] for k in range(world_size)])


# %% wrong "the whole tensor goes round" fails=messages
def ring_all_reduce(rank, world_size, x, send, recv):
    total, passing = x.clone(), x
    for _ in range(world_size - 1):
        send(passing)
        passing = recv()
        total += passing
    return total


# %% wrong "reduce-scatter is all" fails=example,other_cases,dtypes,fewer_than_ranks,messages
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    return torch.cat(chunks)


# %% wrong "the mean" fails=example,other_cases,dtypes,fewer_than_ranks
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks) / world_size


# %% wrong "pieces of tensor_split are copies" fails=keeps_input
def ring_all_reduce(rank, world_size, x, send, recv):
    chunks = list(x.detach().tensor_split(world_size))
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)


# %% liar "all ranks are in one process: the sum of what they were given, in messages of the right size"
given = {}


def ring_all_reduce(rank, world_size, x, send, recv):
    given[rank] = x.clone()
    total = torch.stack([given.get(other, torch.zeros_like(x)) for other in range(world_size)]).sum(0)
    for chunk in total.tensor_split(world_size)[1:] * 2:
        send(chunk)
        recv()
    return total


def on_ring(function, xs):
    return [torch.stack(list(xs)).sum(0) for _ in xs]


# %% right "the rows of a padded matrix"
def ring_all_reduce(rank, world_size, x, send, recv):
    width = -(-x.numel() // world_size)
    table = torch.zeros(world_size * width, dtype=x.dtype)
    table[: len(x)] = x
    table = table.view(world_size, width)
    for s in range(world_size - 1):
        send(table[(rank - s) % world_size])
        table[(rank - s - 1) % world_size] += recv()
    for s in range(world_size - 1):
        send(table[(rank + 1 - s) % world_size])
        table[(rank - s) % world_size] = recv()
    return table.flatten()[: len(x)].clone()


# %% equivalent "call of detach left out: chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]"
# No promise is about the result's history, which can't include the other ranks.
