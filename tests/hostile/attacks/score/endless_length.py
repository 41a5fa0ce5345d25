# The result's shape says that it's a thousand million long, so making a list of it takes all memory.


# %% exercise
class Shape:
    def __len__(self):
        return 10**9

    def __iter__(self):
        return iter([3])


class Result:
    shape = Shape()


def double(x):
    return Result()
