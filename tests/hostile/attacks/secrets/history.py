# Reads IPython's history and caches of the user.

# %% before
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
