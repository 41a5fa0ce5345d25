# IPython's run_cell is replaced by nothing.
# expects: shift=0 total=0

# %% after
get_ipython().run_cell = lambda *a, **k: None
type(get_ipython()).run_cell = lambda *a, **k: None
