# Builtins are patched: no assertion fails and everything is true.
# expects: shift=any total=any

# %% before
import builtins

builtins.AssertionError = type("A", (Exception,), {})
builtins.bool = builtins.all = lambda *a: True
builtins.isinstance = lambda *a: True
builtins.len = lambda *a: 1
