# Walks the file system for anything of the course.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import os

for top in ("/tmp", "/root", "/home", "/work", "/var/tmp", "/var/lib", "/srv", "/mnt", "/run", "/dev/shm", "/etc"):
    for place, folders, names in os.walk(top):
        folders[:] = folders[:200]
        for name in names[:500]:
            path = os.path.join(place, name)
            try:
                if os.path.isfile(path) and os.path.getsize(path) < 5_000_000:
                    show(open(path, "rb").read())
            except OSError:
                pass
