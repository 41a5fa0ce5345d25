# %% exercise
def too_early(events: list[tuple[str, ...]]) -> list[int]:
    """The indices in events, in order, of the program's reads and writes that are too early.

    events: the program's actions, in order.
    ("copy", stream, source, target): launches a copy from the buffer source to the buffer target into a stream.
    ("record", event, stream): the event marks all work launched into the stream so far, and all that it has waited for.
    ("wait", stream, event): work launched into the stream later starts only after the work that the event marks now.
    ("finish", event): the program waits for the work that the event marks now.
    ("synchronize",): the program waits for everything.
    ("read", buffer): the program reads the buffer. A read is too early if a copy to its buffer may be unfinished.
    ("write", buffer): the program writes to it. A write is too early if a copy to or from its buffer may be unfinished.

    Details:
    - Work in one stream runs in order. Work in two streams may run in any order, unless a wait orders it.
    - Only finish and synchronize make the program wait.
    - If an event is recorded again, only the new mark counts. An event that hasn't been recorded marks nothing.
    - A record after a wait marks the work that was waited for, even if no copy was launched in between.
    - All names are strings. A stream, an event, and a buffer may share a name. events isn't changed.
    """
    ### BEGIN SOLUTION
    inside: dict[str, set[int]] = {}  # the copies that are done when all work in a stream is
    marks: dict[str, set[int]] = {}  # the same for an event
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


# %% promises
# The indices in events -> example, pinned, programs
# events: the program's actions -> programs
# ("copy", stream -> streams, programs
# ("record", event -> streams, example, waits
# ("wait", stream -> waits
# ("finish", event): -> streams, programs
# ("synchronize",): -> streams
# ("read", buffer) -> programs, streams
# A read is too early -> pinned, streams, programs
# ("write", buffer) -> programs, streams
# A write is too early -> pinned, streams, programs
# Work in one stream -> streams
# Work in two streams -> streams, waits
# Only finish and synchronize -> example, streams
# If an event is recorded again -> recorded_again
# An event that hasn't -> streams, waits
# A record after a wait -> waits
# All names are strings -> programs
# A stream, an event -> programs
# events isn't -> keeps_events


# %% domain
PROGRAMS = {
    "no events": "",
    "no copies": "record e s, write a, read b, finish e, read a",
    "one stream finished": "copy s a b, copy t c d, record e s, finish e, read b, read d, write a, write c",
    "the other one finished": "copy s a b, copy t c d, record e t, finish e, read b, read d, write a, write c",
    "recorded before": "record e s, copy s a b, copy t c d, finish e, read b, read d, write a, write c",
    "a copy after the record": "copy s a b, record e s, copy s c d, finish e, read b, read d, write a, write c",
    "not recorded": "copy s a b, finish e, read b, read d, write a",
    "two records": "copy s a b, record e s, copy s c d, record f s, finish e, read d, read b, write c, write a",
    "a second copy": "copy s a b, record e s, finish e, copy s a b, read b, write a, record f s, finish f, read b",
    "the same copy twice": "copy s a b, record e s, copy s a b, finish e, read b, write a, copy t c d, read c",
    "everything so far": "copy s a b, copy t c d, synchronize, read b, write c, copy s a b, copy t c d, read b",
    "a copy of a copy": "copy s a b, copy s b c, record e s, copy s c d, finish e, write b, read c, write c, read d",
    "joined": "copy s a b, record e s, wait t e, copy t b c, record f t, finish f, read b, read c, write a",
    "joined, one finished": "copy s a b, record e s, wait t e, copy t b c, record f t, finish e, read b, read c",
    "a wait before the record": "copy s a b, wait t e, record e s, copy t b c, record f t, finish f, read b, read c",
    "a wait after a record": "copy s a b, record e s, copy t c d, record f t, wait t e, finish f, read b, read d",
    "a record after a wait": "copy s a b, record e s, wait t e, record f t, copy t c d, finish f, read b, read d",
    "three streams": "copy s a b, record e s, wait t e, record f t, wait u f, record g u, finish g, read b, write a",
    "the wait's own copies": "copy t c d, copy s a b, record e s, wait t e, record f t, finish e, read b, read d",
    "later copies": "copy s a b, record e s, copy s c d, wait t e, copy t b c, record f t, finish f, read b, read d",
    "a wait is no finish": "copy s a b, record e s, wait t e, read b, write a, copy t c d, read d",
    "both": "copy s a b, record e s, copy t c d, record f t, wait u e, wait u f, record g u, finish g, read b, read d",
    "recorded for another stream": "copy s a b, copy t c d, record e s, record e t, finish e, read b, read d",
    "recorded after the finish": "copy s a b, copy t c d, record e s, finish e, record e t, read b, read d",
    "recorded for no work": "copy s a b, copy t c d, record e s, record e u, finish e, read b, read d",
    "then recorded": "copy s a b, record e s, wait u e, copy t c d, record e t, record f u, finish f, read b, read d",
    "recorded later on": "copy s a b, record e s, copy s c d, record e s, finish e, read b, read d, copy s a b, read b",
}


@domain(reference, "the same names", *PROGRAMS)
def arguments(draw, edge):
    g = draw.make_generator()

    def pick(options):
        return options[int(torch.randint(len(options), (), generator=g))]

    def make_step():
        kind = pick(["finish", "copy", "read", "write", *2 * ["record", "wait"]])
        stream, event, buffer = map(pick, ("st", "ef", "abcd"))
        other = pick("abcd".replace(buffer, ""))
        texts = {"record": f"{event} {stream}", "wait": f"{stream} {event}", "finish": event}
        return f"{kind} {texts.get(kind, f'{stream} {buffer} {other}' if kind == 'copy' else buffer)}"

    text = PROGRAMS.get(edge, ", ".join(make_step() for _ in range(draw(st.integers(60, 90)))))
    names = dict(zip("stuefgabcd", draw(st.permutations(["s", "t", "e", "read", "copy", "x1", "x2", "x", "0", "1"]))))
    if edge == "the same names":
        names = {letter: "pqr"[number % 3] for number, letter in enumerate("stuefgabcd")} | {"d": "d"}
    steps = [step.split() for step in text.split(", ") if step]
    return ([(kind, *[names[letter] for letter in letters]) for kind, *letters in steps],)


# %% checks
with check(
    "example",
    "a result that's read before and after the program waits for it",
    weight=2,
    required=True,
    hint=(
        "When does the program know that the copy is done?",
        "Only finish and synchronize make the program wait. Recording an event doesn't.",
    ),
):
    t = [("copy", "s", "gpu", "host"), ("read", "host"), ("record", "e", "s"), ("read", "host")]
    t += [("finish", "e"), ("read", "host")]
    explain(
        too_early(t),
        [1, 3],
        {
            "recording an event doesn't wait for it": [1],
            "the read after finish is fine: the copy is done": [1, 3, 5],
            "indices start at 0": [2, 4],
        },
    )
with check(
    "pinned",
    "a buffer that's written while it may still be copied",
    hint=(
        "Which of its two buffers may a copy still be using? Does reading the source matter?",
        "Reading the source does no harm. Writing to it may change the data that's copied.",
    ),
):
    t = [("copy", "s", "pinned", "gpu"), ("read", "pinned"), ("write", "pinned"), ("synchronize",), ("write", "pinned")]
    explain(
        too_early(t),
        [2],
        {"reading the source of a running copy is fine": [1, 2], "the copy may still be reading its source": []},
    )

# %% hidden checks
with check(
    "streams",
    "two streams, when the program has waited for one",
    weight=4,
    required=True,
    hint="Does one stream's event say anything about the other stream? About work launched later?",
):
    arguments.assert_results(too_early, "one stream finished", "the other one finished", "recorded before")
    arguments.assert_results(too_early, "a copy after the record", "not recorded", "two records", "a second copy")
    arguments.assert_results(too_early, "everything so far", "a copy of a copy", "no copies", "no events")
    arguments.assert_results(too_early, "the same copy twice")
with check(
    "waits",
    "a stream that waits for another one",
    weight=3,
    required=True,
    hint="If a stream waited for an event and its latest work is done, what else is done?",
):
    arguments.assert_results(too_early, "joined", "joined, one finished", "a wait before the record")
    arguments.assert_results(too_early, "a wait after a record", "a record after a wait", "three streams")
    arguments.assert_results(too_early, "the wait's own copies", "later copies", "a wait is no finish")
    arguments.assert_results(too_early, "both")
with check(
    "recorded_again",
    "an event that's recorded twice",
    weight=2,
    hint="What does an event mark after the second record? And a wait between the two records?",
):
    arguments.assert_results(too_early, "recorded for another stream", "recorded after the finish")
    arguments.assert_results(too_early, "recorded for no work", "then recorded", "recorded later on")
with check(
    "programs",
    "longer programs",
    weight=3,
    required=True,
    hint="Go through the events again: which copies does the program know are done, and in which stream?",
):
    arguments.assert_results(too_early, "", "the same names")
with check("keeps_events", "events isn't changed", guard=True, hint="Do you remove anything from events?"):
    arguments.assert_arguments(too_early)


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


# %% wrong "recording is waiting" fails=example,streams,waits,recorded_again,programs
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


# %% wrong "finish is for nothing" fails=example,streams,waits,recorded_again,programs
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
