# compile and exec are replaced, so that a check is never run.
# expects: shift=any total=any

# %% after
import builtins

builtins.compile = builtins.exec = builtins.eval = lambda *a, **k: None
