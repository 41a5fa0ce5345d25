"""Digests: equal ones, equal contents."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(*parts: str | bytes) -> str:
    """SHA-256 of the parts, each with its length, in hexadecimal."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.hexdigest()


def digest_files(*folders: Path) -> str:
    """Of all Python files in these folders, with their paths below. A file counts as itself."""
    parts: list[str | bytes] = []
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            parts += [path.relative_to(folder.parent).as_posix(), path.read_bytes()]
    return digest(*parts)
