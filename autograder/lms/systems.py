"""The learning management systems that grades and pages are written for."""

from __future__ import annotations

from enum import StrEnum


class System(StrEnum):
    CANVAS, MOODLE, GRADESCOPE, CSV = "canvas", "moodle", "gradescope", "csv"
