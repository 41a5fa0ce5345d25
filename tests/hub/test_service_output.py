"""Lines of a hub's services in the hub's output."""

import re
import subprocess
import sys

CODE = """
from autograder.hub.service_output import configure_output, print_output
configure_output("watch-physics")
print_output(["ana 01_forces: 2 of 2\\n", "  File <cell>, 100% wrong\\n"])
"""


def test_each_line_of_a_watch_has_the_time_and_the_course() -> None:
    output = subprocess.run([sys.executable, "-c", CODE], stderr=subprocess.PIPE, text=True, check=True).stderr
    head = r"\[INFO \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} watch-physics\]"
    assert re.fullmatch(rf"{head} ana 01_forces: 2 of 2\n{head}   File <cell>, 100% wrong\n", output), output
