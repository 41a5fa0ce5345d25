# The result holds itself, a thousand lists in each other, and a million empty ones.
# night: deep_output nests by day

# %% exercise
def double(x):
    loop = []
    loop.append(loop)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return {2: loop, 1: deep}.get(x.numel(), [[]] * 10**6)
