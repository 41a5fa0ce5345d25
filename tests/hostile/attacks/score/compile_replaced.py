# compile and exec are replaced, so a check never runs.
# expects: shift=any total=any

# %% after
import builtins

builtins.compile = builtins.exec = builtins.eval = lambda *a, **k: None
