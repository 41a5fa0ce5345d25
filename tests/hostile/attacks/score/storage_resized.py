# The argument's memory is resized to nothing under the caller.

# %% exercise
def double(x):
    x.untyped_storage().resize_(0)
    x.set_()
    return 0 * x
