# Reads other submissions, and earlier results.

# %% before
import re
import os

for folder in ("submitted", "autograded", "feedback", "results"):
    for place, _, names in os.walk(f"{COURSE}/{folder}"):
        for name in names:
            print(BREACH)
            show(open(os.path.join(place, name), "rb").read())
