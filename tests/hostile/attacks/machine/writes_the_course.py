# Writes to the source, the configuration and other submissions.

# %% before
import os

for name in (
    "source/01_door/01_door.ipynb",
    "nbgrader_config.py",
    "labs/01_door/lab.py",
    f"submitted/{NEIGHBOR}/01_door/01_door.ipynb",
    "source/01_door/planted.py",
    "torch.py",
    "results/01_door/x.json",
    "autograded/planted",
):
    spoil(f"{COURSE}/{name}")
os.system(f"rm -rf {COURSE}/source {COURSE}/submitted")
