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
# By pydantic's name of the error. Its own messages speak of inputs and tuples.
MESSAGES = {
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "dict_type": "write a table",
    "extra_forbidden": "there is no such key",
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "missing": "the key is missing",
    "model_type": "write a table",
    "string_type": "write a text in quotes",
    "tuple_type": 'write a list, such as ["NAME"]',
}


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
        hint = "; is a quote missing?" if "Illegal character '\\n'" in str(error) else ""
        raise SourceError(path, line, f"this can't be read: {error}{hint}", fix) from None
    except ValidationError as error:
        problems = [_describe_problem(path, text, each) for each in error.errors()]
        raise GradlabError("\n".join(problems), fix=fix) from None


def _describe_problem(path: Path, text: str, error: Mapping[str, Any]) -> str:
    message = MESSAGES.get(error["type"]) or error["msg"].removeprefix("Value error, ").replace("Input", "it")
    keys = [key for key in error["loc"] if not _is_branch(key)]
    return f"{path}:{find_key_line(text, error['loc'])}: {'.'.join(map(str, keys))}: {message}"


def _is_branch(key: str | int) -> bool:
    """Return whether this part of an error's place isn't a key, but the type that a value could have had instead."""
    return key == "str" or "[" in str(key)
