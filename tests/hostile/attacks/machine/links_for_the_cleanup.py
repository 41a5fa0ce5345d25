# The scratch directory is full of links to the course, locked folders and deep ones, to harm the cleanup.
# expects: double=2

# %% before
import os

for number, target in enumerate((COURSE, DROP, "/", "/etc", f"{COURSE}/gradebook.db")):
    os.symlink(target, f"link-{number}")
    os.symlink(target, os.path.join(os.environ["TMPDIR"], f"link-{number}"))
os.makedirs("locked/inside")
open("locked/inside/file", "w").close()
os.chmod("locked/inside", 0)
os.chmod("locked", 0)
for _ in range(900):
    os.mkdir("d")
    os.chdir("d")
