"""Finds the schema version that nbgrader writes into a new gradebook, without the 2 s that starting alembic takes.

It's the only migration that no other follows. If that isn't clear, nbgrader asks alembic as usual.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbgrader.alembic
from nbgrader import api

REVISION = re.compile(r"""^(down_)?revision = ['"](\w+)['"]""", re.MULTILINE)
ask_alembic = api.get_alembic_version


def find_newest_version() -> str:
    """Return the version that `alembic heads` prints."""
    revisions: set[str] = set()
    predecessors: set[str] = set()
    for folder in nbgrader.alembic.__path__:
        for script in Path(folder).glob("versions/*.py"):
            for down, revision in REVISION.findall(script.read_text(encoding="utf-8")):
                (predecessors if down else revisions).add(revision)
    heads = revisions - predecessors
    return heads.pop() if len(heads) == 1 else str(ask_alembic())


def patch_version_lookup() -> None:
    """Make nbgrader's own code in this process find the version this way."""
    api.get_alembic_version = find_newest_version
