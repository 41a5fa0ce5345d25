# %% exercise
def block_and_segment(request: int) -> tuple[int, int]:
    """The bytes of the block for a request, and those of the new segment if no cached block fits.

    request: bytes, an int above 0. The block is the request rounded up to a multiple of 512. The
    segment has 2 MiB for a block of at most 1 MiB, 20 MiB for a larger block below 10 MiB, and
    else the block rounded up to a multiple of 2 MiB. Both are ints.
    """
    ### BEGIN SOLUTION
    block = math.ceil(request / 512) * 512
    if block <= MIB:
        return block, 2 * MIB
    if block < 10 * MIB:
        return block, 20 * MIB
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB
    ### END SOLUTION


# %% checks
with check(
    "example",
    "requests of 1,000 and 3,000,000 bytes, and of 25 MiB",
    weight=2,
    required=True,
    hint=(
        "Which of the two numbers is wrong, and of which request? Each segment follows from one of three rules.",
        "The three rules ask for the size of the block. 25 is no multiple of 2. Which one comes above it?",
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
    hint="Is 512 rounded? Does a block of exactly 1 MiB count for the small ones? And one of exactly 10 MiB?",
):
    sizes = [(1, 512, 2), (511, 512, 2), (512, 512, 2), (513, 1024, 2), (MIB - 1, MIB, 2), (MIB, MIB, 2)]
    sizes += [(MIB + 1, MIB + 512, 20), (10 * MIB - 512, 10 * MIB - 512, 20), (10 * MIB - 511, 10 * MIB, 10)]
    sizes += [(10 * MIB, 10 * MIB, 10), (10 * MIB + 1, 10 * MIB + 512, 12), (12 * MIB, 12 * MIB, 12)]
    assert_close(
        [block_and_segment(request) for request, _, _ in sizes],
        [(block, many * MIB) for _, block, many in sizes],
        name="your blocks and segments",
    )
with check("others", "other requests", weight=3, required=True, hint="In which order do you round and compare?"):
    sizes = [(77_777, 77_824, 2), (9_000_000, 9_000_448, 20), (2**31 + 5, 2**31 + 512, 2050), (33 * MIB, 33 * MIB, 34)]
    sizes += [(3 * 2**40 + 1, 3 * 2**40 + 512, 3 * 2**20 + 2), (12 * MIB + 1, 12 * MIB + 512, 14)]
    assert_close(
        [block_and_segment(request) for request, _, _ in sizes],
        [(block, many * MIB) for _, block, many in sizes],
        name="your blocks and segments",
    )


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


# %% right "a loop over limits"
def block_and_segment(request):
    block = (request + 511) // 512 * 512
    for limit, size in ((MIB, 2 * MIB), (10 * MIB - 512, 20 * MIB)):
        if block <= limit:
            return block, size
    return block, (block + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)


# %% wrong "the request is not rounded" fails=example,edges,others
def block_and_segment(request):
    if request <= MIB:
        return request, 2 * MIB
    if request < 10 * MIB:
        return request, 20 * MIB
    return request, math.ceil(request / (2 * MIB)) * 2 * MIB


# %% wrong "one more for a multiple of 512" fails=example,edges,others
def block_and_segment(request):
    block = (request // 512 + 1) * 512
    if block <= MIB:
        return block, 2 * MIB
    if block < 10 * MIB:
        return block, 20 * MIB
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB


# %% wrong "segments always in steps of 2 MiB" fails=example,edges,others
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB


# %% wrong "segments of 20 MiB and their multiples" fails=example,edges,others
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    return block, 2 * MIB if block <= MIB else math.ceil(block / (20 * MIB)) * 20 * MIB


# %% wrong "a block of 1 MiB is large" fails=edges
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    if block < MIB:
        return block, 2 * MIB
    if block < 10 * MIB:
        return block, 20 * MIB
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB


# %% wrong "a block of 10 MiB still gets 20" fails=edges
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    if block <= MIB:
        return block, 2 * MIB
    if block <= 10 * MIB:
        return block, 20 * MIB
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB


# %% wrong "the segment by the request, the block by rounding" fails=edges
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    if request <= MIB:
        return block, 2 * MIB
    if request < 10 * MIB:
        return block, 20 * MIB
    return block, math.ceil(block / (2 * MIB)) * 2 * MIB


# %% wrong "millions of bytes" fails=example,edges,others
def block_and_segment(request):
    block = math.ceil(request / 512) * 512
    if block <= 1_000_000:
        return block, 2_000_000
    if block < 10_000_000:
        return block, 20_000_000
    return block, math.ceil(block / 2_000_000) * 2_000_000
