# %% exercise
def block_and_segment(request: int) -> tuple[int, int]:
    """The sizes in bytes of the block for a request, and of the new segment if no cached block fits.

    request: bytes, an int from 1 to 2 ** 50. The block is the request rounded up to a multiple of 512. The segment has
    2 MiB for a block of at most 1 MiB, 20 MiB for a larger block below 10 MiB, and for any other block, its size
    rounded up to a multiple of 2 MiB. Both are ints.
    """
    ### BEGIN SOLUTION
    block = math.ceil(request / 512) * 512
    if block <= MIB:
        return block, 2 * MIB
    if block < 10 * MIB:
        return block, 20 * MIB
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB
    ### END SOLUTION


# %% promises
# The sizes in bytes -> example, others, ints
# request: bytes, an int -> edges, others
# The block is the request -> edges, others
# The segment has -> edges
# Both are ints -> ints


# %% domain
BLOCKS_IN_BYTES = {  # by edge, the sizes of blocks
    "at most 512 bytes": (512, 512),
    "a block of 1 MiB": (MIB, MIB),
    "a block just above 1 MiB": (MIB + 512, MIB + 512),
    "a block just below 10 MiB": (10 * MIB - 512, 10 * MIB - 512),
    "a block of 10 MiB": (10 * MIB, 10 * MIB),
    "a block just above 10 MiB": (10 * MIB + 512, 10 * MIB + 512),
    "below 20 MiB": (12 * MIB + 512, 18 * MIB),
    "huge": (2**45, 2**50),
}


@domain(reference, *BLOCKS_IN_BYTES, "one byte", "a multiple of 512", "one byte more", "a multiple of 2 MiB")
def arguments(draw, edge):
    if edge == "one byte":
        return (1,)
    if edge == "a multiple of 2 MiB":
        return (2 * MIB * draw(st.integers(5, 99)),)
    sizes = [BLOCKS_IN_BYTES[edge]] if edge in BLOCKS_IN_BYTES else [(1024, MIB), (MIB, 10 * MIB), (10 * MIB, 2**34)]
    least, most = draw(st.sampled_from(sizes))
    block = 512 * draw(st.integers(least // 512, most // 512))
    less = {"a multiple of 512": 0, "one byte more": 511}.get(edge, draw(st.integers(1, 510)))
    return (block - less,)


# %% checks
with check(
    "example",
    "requests of 1,000 and 3,000,000 bytes, and of 25 MiB",
    weight=2,
    required=True,
    hint=(
        "Which of the two numbers is wrong, and for which request? Each segment follows from one of three rules.",
        "The three rules depend on the block's size. 25 isn't a multiple of 2. What's the next one?",
    ),
):
    sizes = (1000, 3_000_000, 25 * MIB)
    explain(
        [block_and_segment(n) for n in sizes],
        [(1024, 2 * MIB), (3_000_320, 20 * MIB), (25 * MIB, 26 * MIB)],
        {
            "a request is rounded up to a multiple of 512": [
                (1000, 2 * MIB),
                (3_000_000, 20 * MIB),
                (25 * MIB, 26 * MIB),
            ],
            "above 10 MiB a segment is as large as the block, rounded up": [
                (1024, 2 * MIB),
                (3_000_320, 20 * MIB),
                (25 * MIB, 40 * MIB),
            ],
            "a block below 10 MiB gets a segment with room for more": [
                (1024, 2 * MIB),
                (3_000_320, 4 * MIB),
                (25 * MIB, 26 * MIB),
            ],
            "a MiB is 2 ** 20 bytes": [(1024, 2_000_000), (3_000_320, 20_000_000), (25 * MIB, 28_000_000)],
        },
        name="your blocks and segments",
    )

# %% hidden checks
with check(
    "edges",
    "requests at and around 512 bytes, 1 MiB and 10 MiB",
    weight=4,
    hint="Is 512 rounded? Is a block of exactly 1 MiB small? Which rule applies to exactly 10 MiB?",
):
    arguments.assert_results(block_and_segment, "one byte", "at most 512 bytes", "a multiple of 512", "one byte more")
    arguments.assert_results(block_and_segment, "a block of 1 MiB", "a block just above 1 MiB")
    arguments.assert_results(block_and_segment, "a block just below 10 MiB", "a block of 10 MiB")
    arguments.assert_results(block_and_segment, "a block just above 10 MiB", "below 20 MiB", "a multiple of 2 MiB")
with check("others", "other requests", weight=3, required=True, hint="In which order do you round and compare?"):
    arguments.assert_results(block_and_segment, "", "huge")
with check("ints", "both numbers are ints", hint="What does a division with / give, and what does numpy.ceil?"):
    for trial in arguments.iter_trials(block_and_segment, "", "huge"):
        assert_close(trial.report.result, trial.case.report.result)
        assert not any(isinstance(n, float) for n in trial.report.result), "one of your numbers is a float"


# %% right "a helper that rounds up"
def block_and_segment(request):
    def up(n, unit):
        return n + -n % unit

    block = up(request, 512)
    return block, 2 * MIB if block <= MIB else 20 * MIB if block < 10 * MIB else up(block, 2 * MIB)


# %% right "negative floor division, a list"
def block_and_segment(request):
    block = -(-request // 512) * 512
    segment = -(-block // 2097152) * 2097152
    if block < 10485760:
        segment = 20971520
    if block <= 1048576:
        segment = 2097152
    return [block, segment]


# %% wrong "the request is not rounded" fails=example,edges,others,ints
def block_and_segment(request):
    if request <= MIB:
        return request, 2 * MIB
    if request < 10 * MIB:
        return request, 20 * MIB
    return request, math.ceil(request / (2 * MIB)) * 2 * MIB


# %% wrong "segments always in steps of 2 MiB" fails=example,edges,others,ints
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB


# %% wrong "segments of 20 MiB and their multiples" fails=example,edges,others,ints
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    return block, 2 * MIB if block <= MIB else math.ceil(block / (20 * MIB)) * 20 * MIB


# %% wrong "millions of bytes" fails=example,edges,others,ints
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    if block <= 1_000_000:
        return block, 2_000_000
    if block < 10_000_000:
        return block, 20_000_000
    return block, math.ceil(block / 2_000_000) * 2_000_000


# %% wrong "any number will do" fails=ints
def block_and_segment(request):
    def up(n, unit):
        return n + -n % unit

    block = float(up(request, 512))
    return block, 2.0 * MIB if block <= MIB else 20.0 * MIB if block < 10 * MIB else up(block, 2 * MIB)
