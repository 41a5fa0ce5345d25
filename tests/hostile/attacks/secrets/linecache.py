# Reads the sources that Python keeps of what was executed.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


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
