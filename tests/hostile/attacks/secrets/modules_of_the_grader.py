# Looks for what a student process must not have imported.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import sys

for name in list(sys.modules):
    if name.startswith(
        (
            "autograder.examiner",
            "autograder.authoring",
            "autograder.proving",
            "autograder.course",
            "autograder.gradebook",
            "autograder.grading",
            "autograder.reports",
            "nbgrader",
        )
    ):
        print(BREACH, name)
