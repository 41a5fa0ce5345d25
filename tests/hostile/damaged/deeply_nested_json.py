"""The JSON is nested a hundred thousand times."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "not JSON"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, b'{"nbformat": 4, "cells": ' + b"[" * 100_000)
