# Reads the course's source, solutions and configuration.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import glob
import os

for path in [*glob.glob(f"{COURSE}/**", recursive=True), *glob.glob("../../**/source/**", recursive=True)]:
    try:
        show(open(path, "rb").read())
        print(BREACH, path)
    except OSError:
        pass
show(os.popen(f"cat {COURSE}/source/*/* {COURSE}/solutions/*/* {COURSE}/labs/*/*").read())
