# A hook before each cell ends the process.
# expects: shift=any total=any

# %% after
import os

get_ipython().events.register("pre_run_cell", lambda *a: os._exit(0))
