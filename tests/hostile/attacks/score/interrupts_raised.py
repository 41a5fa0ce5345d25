# KeyboardInterrupt, GeneratorExit and StopIteration come out of calls.

# %% exercise
KINDS = [KeyboardInterrupt, GeneratorExit, StopIteration, SystemExit, BaseException]


def double(x):
    raise KINDS[int(x.flatten()[0]) % len(KINDS)]("all is well")
