"""The old name of cell_saver.py, for nbgrader_config.py files that list nbgrader's preprocessors themselves."""

from autograder.nbgrader_plugin.cell_saver import SaveChangedCells as SaveChangedCells
