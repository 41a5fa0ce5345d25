"""`python -m labkit.start [FOLDER]`: open JupyterLab on a folder of labs, with the course beside them.

--release DIR: first copy labs from there that FOLDER does not have. --instructor: keep nbgrader's panels for teachers,
and the pages for reading answers, at /gradlab/desk. Everything else goes to JupyterLab.
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
    """JupyterLab's exit status, once it has ended."""
    parser = argparse.ArgumentParser(prog="python -m labkit.start", description=__doc__)
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    parser.add_argument("--release", type=Path)
    parser.add_argument("--instructor", action="store_true")
    parsed, rest = parser.parse_known_args(arguments)
    if parsed.release:
        for path in add_new(parsed.release, parsed.folder):
            print(f"new: {path}")
    if not parsed.folder.is_dir():
        parser.error(f"there is no folder {parsed.folder}: name the one that holds the labs")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={parsed.folder.resolve()}", *rest]
    if os.name == "posix":  # signals reach JupyterLab itself
        os.execve(sys.executable, command, build_environment(parsed.folder, parsed.instructor))
    return subprocess.run(command, env=build_environment(parsed.folder, parsed.instructor), check=False).returncode


def add_new(release: Path, folder: Path) -> list[Path]:
    """Copy what the release has and the folder has not; a student's file is never written over. The new files."""
    new = []
    for source in sorted(path for path in release.rglob("*") if path.is_file()):
        target = folder / source.relative_to(release)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            new.append(target)
    return new


def build_environment(folder: Path, instructor: bool = False) -> dict[str, str]:
    """This process's environment, in which JupyterLab finds the course's extension where it is not installed.

    A student gets none of nbgrader's panels for teachers, and its list of assignments only where an exchange is.
    """
    own = dict(os.environ)
    found = importlib.util.find_spec("labext")
    if found and found.submodule_search_locations:
        here = Path(next(iter(found.submodule_search_locations)))
        _add(own, "JUPYTER_PATH", here / "share" / "jupyter")
        _add(own, "JUPYTER_CONFIG_PATH", here / "etc" / "jupyter")
        _add(own, "JUPYTER_CONFIG_PATH", here / "etc" / ("instructor" if instructor else "student"))
        if not instructor and not has_exchange(folder):
            _add(own, "JUPYTER_CONFIG_PATH", here / "etc" / "alone")
    return own


def has_exchange(folder: Path) -> bool:
    """Whether nbgrader has a folder for handing in: its usual one, or one that a configuration names."""
    places = [folder, Path.cwd(), *map(Path, jupyter_config_path())]
    files = [place / "nbgrader_config.py" for place in places]
    named = any("Exchange" in file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())
    return named or EXCHANGE.is_dir()


def _add(variables: dict[str, str], name: str, path: Path) -> None:
    variables[name] = os.pathsep.join([str(path), *filter(None, [variables.get(name)])])


if __name__ == "__main__":
    sys.exit(main())
