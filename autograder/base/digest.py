"""Digests: equal if and only if the contents are."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(*parts: str | bytes) -> str:
    """Return the SHA-256 of the parts, each preceded by its length, in hexadecimal."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def digest_files(*paths: Path) -> str:
    """Digest these files, and all Python files in these folders, with their relative paths."""
    parts: list[str | bytes] = []
    for root in paths:
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            parts += [path.relative_to(root.parent).as_posix(), path.read_bytes()]
    return digest(*parts)
