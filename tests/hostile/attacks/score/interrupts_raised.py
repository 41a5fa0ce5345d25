# KeyboardInterrupt, GeneratorExit and StopIteration are raised by calls.

# %% exercise
KINDS = [KeyboardInterrupt, GeneratorExit, StopIteration, SystemExit, BaseException]


def double(x):
    raise KINDS[int(x.flatten()[0]) % len(KINDS)]("all is well")
