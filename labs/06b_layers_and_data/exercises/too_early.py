# %% exercise
def too_early(events: list[tuple[str, ...]]) -> list[int]:
    """The places in events, from 0 on and in order, of the reads and writes of the host that come too early.

    events: what the program does, in its order. All names are strings.
    ("copy", stream, source, target): a copy between two buffers is put into a stream. The program goes on at once.
    ("record", event, stream): the event stands for all that was put into the stream until now. An event that is
        recorded again stands for the later moment alone.
    ("wait", stream, event): what is put into this stream from now on begins after that for which the event stands now.
    ("finish", event): the program waits for that for which the event stands now. ("synchronize",): for everything.
    ("read", buffer), ("write", buffer): the program reads or writes it.
    Work in one stream runs in order. Work in two streams may run in any order, unless a wait says otherwise. An event
    that was not recorded stands for nothing. A read is too early if a copy into its buffer may not be done yet. A write
    is too early if a copy into its buffer or out of it may not be done yet.
    """
    ### BEGIN SOLUTION
    inside: dict[str, set[int]] = {}  # the copies that are done when a stream has come to its end
    marks: dict[str, set[int]] = {}  # the same, of an event
    done: set[int] = set()
    found = []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found
    ### END SOLUTION


# %% checks
with check(
    "example",
    "a result that is read before and after it was waited for",
    weight=2,
    required=True,
    hint=(
        "At which moment does the program know that the copy is done?",
        "Only finish and synchronize let the program wait. Recording an event does not.",
    ),
):
    t = [("copy", "s", "gpu", "host"), ("read", "host"), ("record", "e", "s"), ("read", "host")]
    t += [("finish", "e"), ("read", "host")]
    explain(
        too_early(t),
        [1, 3],
        {
            "to record an event is not to wait for it": [1],
            "what was waited for is done": [1, 3, 5],
            "a place is counted in all events, from 0 on": [2, 4],
        },
    )
with check(
    "pinned",
    "a buffer that is written while it may still be copied",
    hint=(
        "Which of its two buffers may a copy not have finished with? Does a read of the source matter?",
        "A read of the source does no harm. A write into it may change what is copied.",
    ),
):
    t = [("copy", "s", "pinned", "gpu"), ("read", "pinned"), ("write", "pinned"), ("synchronize",), ("write", "pinned")]
    explain(
        too_early(t),
        [2],
        {"two may read at the same time": [1, 2], "a copy still reads its source": []},
    )

# %% hidden checks


def by_worlds(events):
    """The same from all orders: a copy may be undone unless it is needed for something that was waited for."""
    before, last, marks, done, found = {}, {}, {}, set(), []
    for place, event in enumerate(events):
        kind = event[0]
        if kind == "copy":
            before[place] = list(last.get(event[1], []))
            last[event[1]] = [place]
        elif kind == "record":
            marks[event[1]] = list(last.get(event[2], []))
        elif kind == "wait":
            last[event[1]] = last.get(event[1], []) + marks.get(event[2], [])
        elif kind in ("finish", "synchronize"):
            ended = list(before) if kind == "synchronize" else list(marks.get(event[1], []))
            while ended:
                copy = ended.pop()
                if copy not in done:
                    done.add(copy)
                    ended += before[copy]
        else:
            names = [events[n][3:] if kind == "read" else events[n][2:] for n in before if n not in done]
            found += [place] * any(event[1] in pair for pair in names)
    return found


def a_program(seed, length):
    """Events with few streams, events and buffers, so that they meet."""
    generator = torch.Generator().manual_seed(seed)

    def one_of(*names):
        return names[int(torch.randint(len(names), (), generator=generator))]

    def a_step():
        kind = one_of("copy", "copy", "record", "wait", "finish", "read", "write", "write", "read")
        stream, event, buffer = one_of("s", "t"), one_of("e", "f"), one_of("a", "b", "c", "d")
        if kind == "copy":
            return (kind, stream, buffer, one_of(*sorted({"a", "b", "c", "d"} - {buffer})))
        if kind in ("record", "wait"):
            return (kind, event, stream) if kind == "record" else (kind, stream, event)
        return (kind, event) if kind == "finish" else (kind, buffer)

    return [a_step() for _ in range(length)]


with check(
    "streams",
    "two streams: which of them was waited for",
    weight=4,
    required=True,
    hint="Does an event of one stream say anything of the other one? Of what was put there later?",
):
    copies = [("copy", "s", "a", "b"), ("copy", "t", "c", "d")]
    reads = [("read", "b"), ("read", "d"), ("write", "a"), ("write", "c")]
    for t, want in (
        ([*copies, ("record", "e", "s"), ("finish", "e"), *reads], [5, 7]),
        ([*copies, ("record", "e", "t"), ("finish", "e"), *reads], [4, 6]),
        ([("record", "e", "s"), *copies, ("finish", "e"), *reads], [4, 5, 6, 7]),
        ([copies[0], ("record", "e", "s"), ("copy", "s", "c", "d"), ("finish", "e"), *reads], [5, 7]),
        ([*copies, ("finish", "e"), *reads, ("synchronize",), *reads], [3, 4, 5, 6]),
        ([*copies, ("write", "b"), ("write", "x"), ("read", "a")], [2]),
        ([copies[0], ("synchronize",), *copies, *reads], [4, 5, 6, 7]),
        ([], []),
    ):
        assert_close(too_early(t), want)
with check(
    "waits",
    "a stream that waits for another one",
    weight=3,
    required=True,
    hint="What is done, if the last work of a stream is done that began after an event?",
):
    first, second = ("copy", "s", "a", "b"), ("copy", "t", "b", "c")
    joined = [first, ("record", "e", "s"), ("wait", "t", "e"), second, ("record", "f", "t")]
    reads = [("read", "b"), ("read", "c"), ("write", "a")]
    for t, want in (
        ([*joined, ("finish", "f"), *reads], []),
        ([*joined, ("finish", "e"), *reads], [7]),
        ([first, ("wait", "t", "e"), second, ("record", "f", "t"), ("finish", "f"), *reads], [5, 7]),
        ([*joined[:2], second, ("record", "f", "t"), ("wait", "t", "e"), ("finish", "f"), *reads], [6, 8]),
        ([*joined[:3], ("record", "f", "t"), ("finish", "f"), *reads], []),
        ([*joined, ("wait", "u", "f"), ("record", "g", "u"), ("finish", "g"), *reads], []),
        ([*joined[:3], first, second, ("record", "f", "t"), ("finish", "f"), *reads], [7, 9]),
    ):
        assert_close(too_early(t), want)
with check(
    "recorded_again",
    "an event that is recorded a second time",
    weight=2,
    hint="For what does an event stand after the second record? And what of a wait that came before it?",
):
    first, second = ("copy", "s", "a", "b"), ("copy", "t", "c", "d")
    reads = [("read", "b"), ("read", "d")]
    for t, want in (
        ([first, second, ("record", "e", "s"), ("record", "e", "t"), ("finish", "e"), *reads], [5]),
        ([first, second, ("record", "e", "s"), ("finish", "e"), ("record", "e", "t"), *reads], [6]),
        ([first, second, ("record", "e", "s"), ("record", "e", "u"), ("finish", "e"), *reads], [5, 6]),
        (
            [first, ("record", "e", "s"), ("wait", "u", "e"), second, ("record", "e", "t"), ("record", "f", "u")]
            + [("finish", "f"), *reads],
            [8],
        ),
    ):
        assert_close(too_early(t), want)
with check(
    "programs",
    "longer programs, and events that stay as they are",
    weight=3,
    required=True,
    hint="Go through the events once more: what does the program know to be done, and of which stream does it know it?",
):
    for seed in range(8):
        t = a_program(seed, 14 + 3 * seed)
        want = by_worlds(t)
        assert_close(unchanged(too_early, t), want)


# %% right "numbers of copies in each stream"
def too_early(events):
    copies, clocks, marks, known, result = {}, {}, {}, {}, []

    def joined(one, other):
        return {stream: max(one.get(stream, 0), other.get(stream, 0)) for stream in one | other}

    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            stream, source, target = names
            copies.setdefault(stream, []).append((source, target))
            clocks[stream] = joined(clocks.get(stream, {}), {stream: len(copies[stream])})
        elif kind == "record":
            marks[names[0]] = clocks.get(names[1], {})
        elif kind == "wait":
            clocks[names[0]] = joined(clocks.get(names[0], {}), marks.get(names[1], {}))
        elif kind == "finish":
            known = joined(known, marks.get(names[0], {}))
        elif kind == "synchronize":
            known = {stream: len(made) for stream, made in copies.items()}
        else:
            for stream, made in copies.items():
                open_ones = made[known.get(stream, 0) :]
                if any(names[0] == target or (kind == "write" and names[0] == source) for source, target in open_ones):
                    result.append(place)
                    break
    return result


# %% right "pending copies are taken away"
def too_early(events):
    pending, of_stream, of_event, early = {}, {}, {}, []
    for n, e in enumerate(events):
        match e:
            case ("copy", stream, source, target):
                pending[n] = (source, target)
                of_stream[stream] = of_stream.get(stream, frozenset()) | {n}
            case ("record", event, stream):
                of_event[event] = of_stream.get(stream, frozenset())
            case ("wait", stream, event):
                of_stream[stream] = of_stream.get(stream, frozenset()) | of_event.get(event, frozenset())
            case ("finish", event):
                for copy in of_event.get(event, ()):
                    pending.pop(copy, None)
            case ("synchronize",):
                pending.clear()
            case ("read", buffer):
                early += [n] if any(target == buffer for _, target in pending.values()) else []
            case ("write", buffer):
                early += [n] if any(buffer in pair for pair in pending.values()) else []
    return early


# %% right "each question from the beginning"
def too_early(events):
    def done_by(place):
        streams, marks, done = {}, {}, set()
        for n, (kind, *names) in enumerate(events[:place]):
            if kind == "copy":
                streams[names[0]] = [*streams.get(names[0], []), n]
            elif kind == "record":
                marks[names[0]] = list(streams.get(names[1], []))
            elif kind == "wait":
                streams[names[0]] = streams.get(names[0], []) + marks.get(names[1], [])
            elif kind == "finish":
                done |= set(marks.get(names[0], []))
            elif kind == "synchronize":
                done |= set(range(n))
        return done

    result = []
    for place, (kind, *names) in enumerate(events):
        if kind in ("read", "write"):
            done = done_by(place)
            for n, e in enumerate(events[:place]):
                touched = e[2:] if kind == "write" else e[3:]
                if e[0] == "copy" and n not in done and names[0] in touched:
                    result.append(place)
                    break
    return result


# %% wrong "recording is waiting" fails=example,waits,recorded_again,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
            done |= marks[names[0]]
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "waits of streams do nothing" fails=waits,recorded_again
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            continue
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "a wait of a stream holds the program up" fails=waits
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            done |= marks.get(names[1], set())
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "all streams are one" fails=streams,waits,recorded_again
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault("", set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get("", ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "reads of a source are too early as well" fails=pinned,streams,waits,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "only reads matter" fails=pinned,streams,waits,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else ()) for copy in pending):
                found.append(place)
    return found


# %% wrong "a write may come while the source is copied" fails=pinned,streams,waits,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "an event stands for the end of its stream, whenever that is" fails=streams,waits,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = inside.setdefault(names[1], set())
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "an event gathers all that was recorded" fails=recorded_again
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks.setdefault(names[0], set()).update(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "the first record counts" fails=recorded_again
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks.setdefault(names[0], set(inside.get(names[1], ())))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "one synchronize is for ever" fails=streams
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(len(events)))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "places from 1" fails=example,pinned,streams,waits,recorded_again,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done |= marks.get(names[0], set())
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place + 1)
    return found


# %% wrong "finish waits for everything" fails=streams,waits,recorded_again,programs
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            done.update(range(place))
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found


# %% wrong "finish is for nothing" fails=example,streams,waits,recorded_again
def too_early(events):
    inside, marks, done, found = {}, {}, set(), []
    for place, (kind, *names) in enumerate(events):
        if kind == "copy":
            inside.setdefault(names[0], set()).add(place)
        elif kind == "record":
            marks[names[0]] = set(inside.get(names[1], ()))
        elif kind == "wait":
            inside.setdefault(names[0], set()).update(marks.get(names[1], ()))
        elif kind == "finish":
            continue
        elif kind == "synchronize":
            done.update(range(place))
        else:
            pending = [copy for n, copy in enumerate(events[:place]) if copy[0] == "copy" and n not in done]
            if any(names[0] in (copy[3:] if kind == "read" else copy[2:]) for copy in pending):
                found.append(place)
    return found
