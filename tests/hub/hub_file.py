"""Changes of a hub's hub.toml, and what a check of the hub finds then."""

from pathlib import Path

from autograder.hub.checks import check_hub
from autograder.hub.settings import read_settings


def end_demo(folder: Path) -> None:
    path = folder / "hub.toml"
    path.write_text(path.read_text().replace("demo = true\n", ""))


def replace_line(folder: Path, key: str, value: str) -> None:
    path = folder / "hub.toml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key} =")]
    path.write_text("\n".join([f"{key} = {value}", *lines]) + "\n")


def list_problems(folder: Path) -> str:
    return "\n".join(f"{each.problem} FIX {each.cure}" for each in check_hub(read_settings(folder / "hub.toml")))
