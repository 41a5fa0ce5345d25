"""Prints what an image installs with pip, for one audience of a pyproject.toml: `student`, `grader` or `hub`."""

import re
import sys
import tomllib
from pathlib import Path

# What each image needs of the project's requirements; None for all. A student's: what labkit and the released notebooks
# import, and the tools that a student is told to use. A hub's: what autograder.hub imports to configure JupyterHub.
NEEDED: dict[str, set[str] | None] = {
    "student": set("torch numpy matplotlib ipywidgets scikit-learn jupyterlab nbgrader".split()),
    "grader": None,
    "hub": set("nbgrader nbformat pydantic tomlkit pyyaml".split()),
}
# What each of them needs of the optional dependencies `hub` and `containers`; all parts of a class log in with the hub.
OPTIONAL: dict[str, set[str] | None] = {"student": {"jupyterhub"}, "grader": {"jupyterhub"}, "hub": None}


def select_requirements(lines: list[str], only: set[str] | None) -> list[str]:
    """Those of these names only, each of which must be there."""
    named = {re.split(r"[^\w.-]", line, maxsplit=1)[0]: line for line in lines}
    if only and (unknown := only - named.keys()):
        sys.exit(f"pyproject.toml does not name {', '.join(sorted(unknown))}")
    return [line for name, line in named.items() if only is None or name in only]


if __name__ == "__main__":
    pyproject, audience = sys.argv[1:]
    project = tomllib.loads(Path(pyproject).read_text())["project"]
    optional = [*project["optional-dependencies"]["hub"], *project["optional-dependencies"]["containers"]]
    selected = select_requirements(project["dependencies"], NEEDED[audience])
    print("\n".join([*selected, *select_requirements(optional, OPTIONAL[audience])]))
