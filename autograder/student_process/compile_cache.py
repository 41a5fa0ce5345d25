"""The process's cache of torch.compile: a folder with links to a shared cache that only the grader writes.

New code is compiled into that folder. If a submission replaces a link, that affects only its own folder.
"""

from __future__ import annotations

import os
from pathlib import Path


def link_compiled(cache: Path, target: Path) -> int:
    """Link each file of the cache into the same place of the target folder, and return their number."""
    count = 0
    for source, _, names in os.walk(cache):
        folder = target / Path(source).relative_to(cache)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.symlink(os.path.join(source, name), folder / name)
        count += len(names)
    return count
