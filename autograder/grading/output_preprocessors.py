"""The steps by which nbgrader edits the outputs of cells after it runs them, and their settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbformat import NotebookNode
from nbgrader.preprocessors import IgnorePattern, LimitOutput
from traitlets.config import Config

PREPROCESSORS = (IgnorePattern, ClearMetadataPreprocessor, LimitOutput)


def read_preprocessor_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Read nbgrader's settings for the outputs of cells, by class name, as plain data."""
    names = [kind.__name__ for kind in PREPROCESSORS if kind.__name__ in config]
    return {name: json.loads(json.dumps(config[name])) for name in names}


def apply_preprocessors(notebook: NotebookNode, settings: Mapping[str, Any]) -> NotebookNode:
    """Apply nbgrader's preprocessors, with its settings, to the outputs of cells that have run."""
    for kind in PREPROCESSORS:
        notebook, _ = kind(config=Config(settings))(notebook, {})  # does nothing unless enabled
    return notebook
