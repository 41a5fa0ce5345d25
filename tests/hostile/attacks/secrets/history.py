# Reads IPython's history and caches of the user.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import glob
import os

for path in glob.glob(os.path.expanduser("~root/.ipython/**"), recursive=True) + glob.glob(
    "/root/.cache/**", recursive=True
):
    try:
        show(open(path, "rb").read())
        print(BREACH)
    except OSError:
        pass
