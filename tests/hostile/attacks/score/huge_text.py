# The result is a text of a hundred million characters, half of them no text at all.

# %% exercise
def double(x):
    return "\ud83dx" * 50_000_000 if x.numel() == 1 else "\ud83d"
