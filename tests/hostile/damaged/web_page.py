"""The notebook is the page of a login: downloaded after the session had ended."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "web page"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, b"<!DOCTYPE html>\n<html><title>Log in</title></html>")
