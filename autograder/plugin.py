"""The old name of autograder.nbgrader_plugin, for the nbgrader_config.py of earlier courses."""

import warnings

from autograder.nbgrader_plugin import configure as configure

warnings.warn(
    "nbgrader_config.py imports autograder.plugin: write 'from autograder.nbgrader_plugin import configure'",
    FutureWarning,
    stacklevel=2,
)
