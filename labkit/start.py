"""`python -m labkit.start [FOLDER]`: open JupyterLab on a folder of labs, with the course panel.

--notebook opens Notebook 7 instead. --release DIR first copies files from DIR that FOLDER doesn't have. --instructor
keeps nbgrader's instructor panels and the pages for reading answers at /gradlab/desk. All other options are passed on.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from jupyter_core.paths import jupyter_config_path

EXCHANGE = Path("/usr/local/share/nbgrader/exchange")  # nbgrader's default


def main(arguments: list[str] | None = None) -> int:
    """Start JupyterLab. Return its exit status, unless it replaces this process."""
    parser = argparse.ArgumentParser(prog="python -m labkit.start", description=__doc__)
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--release", type=Path)
    parser.add_argument("--instructor", action="store_true")
    parser.add_argument("--notebook", action="store_true")
    parsed, rest = parser.parse_known_args(arguments)
    if parsed.release:
        for path in copy_missing_files(parsed.release, parsed.folder):
            print(f"new: {path}")
    if not parsed.folder.is_dir():
        parser.error(f"there is no folder {parsed.folder}: give the folder that holds the labs")
    module = "notebook" if parsed.notebook else "jupyterlab"
    if importlib.util.find_spec(module) is None:
        parser.error(f"{module} isn't installed: run {sys.executable} -m pip install {module}")
    command = [sys.executable, "-m", module, f"--ServerApp.root_dir={parsed.folder.resolve()}", *rest]
    if os.name == "posix":  # signals reach JupyterLab itself
        os.execve(sys.executable, command, build_jupyter_environment(parsed.folder, parsed.instructor))
    return subprocess.run(
        command, env=build_jupyter_environment(parsed.folder, parsed.instructor), check=False
    ).returncode


def copy_missing_files(release: Path, folder: Path) -> list[Path]:
    """Copy files that the folder lacks from the release, and return them. A student's file is never overwritten."""
    new = []
    for source in sorted(path for path in release.rglob("*") if path.is_file()):
        target = folder / source.relative_to(release)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            new.append(target)
    return new


def build_jupyter_environment(folder: Path, instructor: bool = False) -> dict[str, str]:
    """Return this process's environment, extended so JupyterLab finds the course extension even if not installed.

    A student gets none of nbgrader's instructor panels, and its assignment list only if there is an exchange.
    """
    variables = dict(os.environ)
    spec = importlib.util.find_spec("labext")
    if spec and spec.submodule_search_locations:
        extension = Path(next(iter(spec.submodule_search_locations)))
        _prepend(variables, "JUPYTER_PATH", extension / "share" / "jupyter")
        _prepend(variables, "JUPYTER_CONFIG_PATH", extension / "etc" / "jupyter")
        _prepend(variables, "JUPYTER_CONFIG_PATH", extension / "etc" / ("instructor" if instructor else "student"))
        if not instructor and not has_exchange(folder):
            _prepend(variables, "JUPYTER_CONFIG_PATH", extension / "etc" / "alone")
    return variables


def has_exchange(folder: Path) -> bool:
    """Return whether nbgrader has an exchange: the default one, or one that a configuration file mentions."""
    folders = [folder, Path.cwd(), *map(Path, jupyter_config_path())]
    files = [folder / "nbgrader_config.py" for folder in folders]
    mentions = ("Exchange" in file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())
    return any(mentions) or EXCHANGE.is_dir()


def _prepend(variables: dict[str, str], name: str, path: Path) -> None:
    variables[name] = os.pathsep.join([str(path), *filter(None, [variables.get(name)])])


if __name__ == "__main__":
    sys.exit(main())
