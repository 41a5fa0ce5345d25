# Clocks stop, so no time limit is ever reached.
# night: endless_call reaches the same limit by day

# %% before
import time

for name in ("time", "monotonic", "perf_counter", "process_time"):
    setattr(time, name, lambda: 0.0)
time.sleep = lambda s: None


# %% exercise
def double(x):
    while x.shape == (2,):
        pass
