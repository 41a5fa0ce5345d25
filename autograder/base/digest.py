"""Digests: equal if and only if the contents are."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path


def digest(*parts: str | bytes) -> str:
    """Return the SHA-256 of the parts, each preceded by its length, in hexadecimal."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def digest_statements(*paths: Path) -> str:
    """Digest what these Python files do: docstrings and lines of comment don't change it."""
    return digest(*(part for name, path in _list_files(paths) for part in (name, _read_statements(path))))


def _list_files(roots: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    for root in roots:
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            yield path.relative_to(root.parent).as_posix(), path


def _read_statements(path: Path) -> bytes:
    data = path.read_bytes()
    lines = data.splitlines()
    kept = [bool(line.strip()) and not line.lstrip().startswith(b"#") for line in lines]
    nodes = list(ast.walk(ast.parse(data)))
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            span = range(node.lineno - 1, node.end_lineno or node.lineno)
            around = lines[span[0]][: node.col_offset] + lines[span[-1]][node.end_col_offset :]
            for line in span if node in docstrings or len(span) > 1 else ():
                # What looks like a comment in other texts is part of them.
                kept[line] = node not in docstrings or bool(around.strip())
    return b"\n".join(line for line, is_kept in zip(lines, kept, strict=True) if is_kept)
