"""Reads how a course grades from its nbgrader_config.py, and refuses settings that don't exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from autograder.base.device import Device
from autograder.base.errors import GradlabError, SourceError
from autograder.grading.output_preprocessors import read_preprocessor_settings
from autograder.grading.task import ExamineSettings, GradingSettings, make_settings
from autograder.model.assignments import suggest_nearest

FILE = "nbgrader_config.py"


def read_settings(config: Any, device: Device = Device.CPU) -> GradingSettings:
    """Read the settings for grading.

    Args:
        config: What nbgrader_config.py configures.
        device: What labs run on.

    Raises:
        GradlabError: If c.Examine has no such setting, or not such a value, with the line if it can be found.
    """
    try:
        examine = ExamineSettings.model_validate(dict(config.get("Examine", {})))
    except ValidationError as error:
        (problem, *_) = error.errors(include_url=False)
        raise _make_error(config, str(problem["loc"][0]), problem) from None
    return make_settings(examine, Device(device), read_preprocessor_settings(config))


def _make_error(config: Any, name: str, problem: Mapping[str, Any]) -> GradlabError:
    if problem["type"] == "extra_forbidden":
        message = f"c.Examine has no setting {name!r}{suggest_nearest(name, ExamineSettings.model_fields)}"
        fix = "use a setting listed in docs/settings.md"
    else:
        message = f"c.Examine.{name} is {problem['input']!r}"
        fix = f"{problem['msg'].replace('Input', 'it')}, see docs/settings.md"
    path = Path(config.CourseDirectory.root or ".") / FILE
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    found = [
        number for number, line in enumerate(lines, start=1) if re.search(rf"\bExamine\.{re.escape(name)}\b", line)
    ]
    return SourceError(path, found[-1], message, fix) if found else GradlabError(message, fix)
