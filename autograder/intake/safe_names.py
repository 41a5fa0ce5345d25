"""Safe names for files of a submission that a tool would run on its own when someone works in their folder.

A kernel imports from its start folder first, so a student's `ipykernel_launcher.py` or `json.py` would run when their
notebook is opened. nbgrader and Jupyter run configuration files from the folder in which they start.
"""

from __future__ import annotations

import functools
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from autograder.base.text import make_readable, truncate_name

NOT_RUN = ".not-run"  # the ending that such a file gets
CHECKPOINTS = ".ipynb_checkpoints"  # JupyterLab's own copies, not needed from a submission
# Whole families, since there's always another tool. Where a submission's cells run, files have their original names, so
# a data set that is named like a configuration file costs no points.
CONFIGURATION = re.compile(
    r"\.?(nbgrader|jupyter|ipython)[\w.-]*config[\w.-]*"  # of programs that instructors start here
    r"|.+\.(toml|ini|cfg|conf|config|properties|ya?ml|lock|code-workspace|sublime-\w+|service|desktop)"  # of tools
    r"|.+\.([cm]?[jt]sx?|cmd|bat|ps1|vbs|lnk|url)"  # programs that tools and desktops run
    r"|.+\.(j2|jinja2?|tpl)|conf\.json"  # nbconvert's templates, which are programs
    r"|.+\.(dist|egg)-(info|link)"  # installed packages, whose plugins tools load
    r"|(package|composer|[jt]sconfig|pyrightconfig)\.json|jupytext[\w.-]*"
    r"|(conftest|noxfile|setup|(site|user)customize|test_.*|.*_test)\.py|[\w-]{3,}rc"
    r"|CMakeLists\.txt|(pom|build)\.xml|.+\.(gradle|kts|sbt|nix|sln|\w+proj|cmake|build|mk)"  # of builds
    r"|SCons(truct|cript)|wscript|build\.rs|Package\.swift"
    r"|(pip|proc|jenkins|vagrant|docker|container|gnumake|make|just|rake|gem)file"
    # Any folder with a file HEAD can be a git repository, and one with pyvenv.cfg a Python that editors start.
    r"|HEAD|commondir|gitdir|_darcs"
    r"|\.(?!DS_Store$|_)(?!.*\.ipynb$).+",  # of editors, git and shells
    re.IGNORECASE | re.DOTALL,
)
MODULES = (".py", ".pyc", ".pyw", ".so", ".pyd")
PACKAGE = "__init__"


def restore_path(path: str) -> str:
    """Return the path that a file or folder had before make_safe_name() renamed its parts."""
    return "/".join(part.removesuffix(NOT_RUN) for part in path.split("/"))


def make_safe_name(name: str, folder: str = "", holds_notebook: bool = False) -> str:
    """Return a name for a student's file or folder that is readable text and that no tool would run on its own.

    Args:
        name: The student's name for it.
        folder: The name of its folder, if a kernel may start next to that folder.
        holds_notebook: Whether a kernel may start in its folder, since a notebook is there.
    """
    text = make_readable(name)
    if text.endswith(NOT_RUN):
        return text
    stem = text.partition(".")[0]
    shadows = text.endswith(MODULES) and (
        (holds_notebook and is_installed(stem)) or (stem == PACKAGE and bool(folder) and is_installed(folder))
    )
    return truncate_name(text, NOT_RUN) if shadows or CONFIGURATION.fullmatch(text) else text


@functools.lru_cache(maxsize=4096)
def is_installed(module: str) -> bool:
    """Return whether this interpreter has a module with this name, which a student's file would shadow."""
    if not module.isidentifier():
        return False
    library_paths = [path for path in sys.path if (path and Path(path).is_relative_to(sys.prefix)) or _is_library(path)]
    return module in sys.stdlib_module_names or PathFinder.find_spec(module, library_paths) is not None


def _is_library(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path
