"""Reads a TOML file that a person writes into a model. Every mistake is reported with its line, its key and a fix."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from autograder.base.errors import GradlabError, SourceError
from autograder.base.toml_lines import find_error_line, find_key_line

Model = TypeVar("Model", bound=BaseModel)


def read_settings_file(path: Path, model: type[Model], fix: str) -> Model:
    """Read the file. Raises FileNotFoundError if there's none, and GradlabError if it isn't valid.

    Args:
        path: The file.
        model: What it holds.
        fix: What to do about any mistake in it.
    """
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return model.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        line = find_error_line(text, error) or 1
        raise SourceError(path, line, f"this can't be read: {error}", fix) from None
    except ValidationError as error:
        problems = [_describe_problem(path, text, each) for each in error.errors()]
        raise GradlabError("\n".join(problems), fix=fix) from None


def _describe_problem(path: Path, text: str, error: Mapping[str, Any]) -> str:
    is_unknown = error["type"] == "extra_forbidden"
    message = "there is no such key" if is_unknown else error["msg"].removeprefix("Value error, ")
    return f"{path}:{find_key_line(text, error['loc'])}: {'.'.join(map(str, error['loc']))}: {message}"
