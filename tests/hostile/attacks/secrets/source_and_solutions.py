# Reads the course's source, solutions and configuration.

# %% before
import glob
import os

for path in [*glob.glob(f"{COURSE}/**", recursive=True), *glob.glob("../../**/source/**", recursive=True)]:
    try:
        show(open(path, "rb").read())
        print(BREACH, path)
    except OSError:
        pass
show(os.popen(f"cat {COURSE}/source/*/* {COURSE}/solutions/*/* {COURSE}/labs/*/*").read())
