"""Packages of other people, as pip installs them: a module, and metadata that names its entry points."""

import textwrap
from pathlib import Path


def install(site: Path, name: str, source: str, **entry_points: str) -> Path:
    """Install a package of one module with these `entry_points` (group -> "name = object"). Returns the module."""
    module = site / f"{name}.py"
    module.write_text(textwrap.dedent(source))
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = (
        f"[gradlab.{group}]\n{entry} = {name}:{target}\n"
        for group, line in entry_points.items()
        for entry, target in [line.split(" = ")]
    )
    (metadata / "entry_points.txt").write_text("".join(lines))
    return module
