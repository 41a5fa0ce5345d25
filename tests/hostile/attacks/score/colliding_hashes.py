# The result is a set of numbers that all have the same hash, so building it takes hours in one step.


# %% exercise
class Number(int):
    place = 0

    def __hash__(self):
        return self.place


def double(x):
    found = set()
    for place in range(20_000):
        number = Number(((2**61 - 1) << 16000) + place * (2**61 - 1))
        number.place = place
        found.add(number)
    return found
