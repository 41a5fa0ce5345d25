# Links to the course are made in the working directory and read.

# %% before
import os

for number, make in enumerate((os.symlink, os.link)):
    try:
        make(f"{COURSE}/source/01_door/01_door.ipynb", f"link-{number}")
        show(open(f"link-{number}", "rb").read())
        print(BREACH)
    except OSError as error:
        print(error)
