"""Which files of a submission a tool would run on its own as soon as someone works in their folder.

A kernel that starts in a folder imports from there first: a student's `ipykernel_launcher.py` or `json.py` runs when
their notebook is opened. nbgrader and Jupyter read their configurations, which are programs, from where they start.
"""

from __future__ import annotations

import functools
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from autograder.base.text import make_readable, truncate_name

NOT_RUN = ".not-run"  # the ending under which such a file is kept
CHECKPOINTS = ".ipynb_checkpoints"  # JupyterLab's own copies, which nobody needs of a submission
# Whole families, since there is always one more tool. Where a submission's cells run, files have their own names again,
# so a data set that is called like a configuration costs no mark.
CONFIGURATION = re.compile(
    r"\.?(nbgrader|jupyter|ipython)[\w.-]*config[\w.-]*"  # of what an instructor starts here
    r"|.+\.(toml|ini|cfg|conf|config|properties|ya?ml|lock|code-workspace|sublime-\w+|service|desktop)"  # of tools
    r"|.+\.([cm]?[jt]sx?|cmd|bat|ps1|vbs|lnk|url)"  # programs of tools and desktops that look into folders
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
    """The path that a file or folder had before make_safe_name() changed its names."""
    return "/".join(part.removesuffix(NOT_RUN) for part in path.split("/"))


def make_safe_name(name: str, folder: str = "", starts: bool = False) -> str:
    """The name under which a student's file or folder is kept: text, and none that a tool would run on its own.

    Args:
        name: As the student has it.
        folder: The name of the folder it is in, if a kernel may start beside that folder.
        starts: Whether a kernel may start in the folder it is in, since a notebook is there.
    """
    text = make_readable(name)
    if text.endswith(NOT_RUN):
        return text
    stem = text.partition(".")[0]
    shadows = text.endswith(MODULES) and (
        (starts and is_installed(stem)) or (stem == PACKAGE and bool(folder) and is_installed(folder))
    )
    return truncate_name(text, NOT_RUN) if shadows or CONFIGURATION.fullmatch(text) else text


@functools.lru_cache(maxsize=4096)
def is_installed(module: str) -> bool:
    """Whether this interpreter has a module of its own under this name, which another file would take the place of."""
    if not module.isidentifier():
        return False
    own = [path for path in sys.path if (path and Path(path).is_relative_to(sys.prefix)) or _is_library(path)]
    return module in sys.stdlib_module_names or PathFinder.find_spec(module, own) is not None


def _is_library(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path
