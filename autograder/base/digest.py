"""Digests: equal ones, equal contents."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
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
    """The digest of all Python files in these folders, and of their paths.

    Args:
        folders: Folders, or files.
    """
    return digest(*(part for name, path in _list_files(folders) for part in (name, path.read_bytes())))


def digest_statements(*folders: Path) -> str:
    """The digest of what these Python files do: docstrings and lines of comment don't change it."""
    return digest(*(part for name, path in _list_files(folders) for part in (name, _read_statements(path))))


def _list_files(folders: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            yield path.relative_to(folder.parent).as_posix(), path


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
