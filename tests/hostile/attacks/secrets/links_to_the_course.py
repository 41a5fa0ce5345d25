# Links to the course are made in the working directory and read.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import os

for number, make in enumerate((os.symlink, os.link)):
    try:
        make(f"{COURSE}/source/01_door/01_door.ipynb", f"link-{number}")
        show(open(f"link-{number}", "rb").read())
        print(BREACH)
    except OSError as error:
        print(error)
