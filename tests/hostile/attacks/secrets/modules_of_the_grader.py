# Looks for modules that a student process must not have imported.

# %% before
import sys

for name in list(sys.modules):
    if name.startswith(
        (
            "autograder.examiner",
            "autograder.authoring",
            "autograder.proving",
            "autograder.model.course",
            "autograder.gradebook",
            "autograder.grading",
            "autograder.reports",
            "nbgrader",
        )
    ):
        print(BREACH, name)
