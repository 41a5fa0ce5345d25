# Writes into every place where anybody may write.
# ruff: noqa

# %% before
import os


def spoil(path, data=b"spoiled"):
    for mode in ("wb", "ab", "r+b"):
        try:
            with open(path, mode) as file:
                file.write(data)
            print(BREACH, path)
        except OSError:
            pass


for place in (
    DROP,
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/",
    "/root",
    "/etc",
    "/usr/local/bin",
    "/run",
    "/dev/mqueue",
    "/var/lock",
):
    try:
        with open(f"{place}/{LEFT}", "w") as file:
            file.write("x")
    except OSError:
        pass
