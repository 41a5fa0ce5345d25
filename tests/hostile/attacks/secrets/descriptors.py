# Reads every open descriptor, its own and those of others.

# %% before
import os

for pid in ("self", os.getppid(), GRADER):
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            print(os.readlink(f"/proc/{pid}/fd/{name}"))
            own = pid == "self" and os.readlink(f"/proc/{pid}/fd/{name}").startswith(os.environ["TMPDIR"])
            if os.path.isfile(f"/proc/{pid}/fd/{name}") and not own:
                show(open(f"/proc/{pid}/fd/{name}", "rb").read())
                print(BREACH)
    except OSError:
        pass
