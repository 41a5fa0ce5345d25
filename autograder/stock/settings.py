"""Settings for stock nbgrader in nbgrader_config.py, and which of them count here.

Files that students write, time limits and skipped cells are read. All other settings that nbgrader would read are
reported once. If one would change a mark, nothing is graded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from nbformat import NotebookNode

from autograder.base.errors import GradlabError
from autograder.model.nbgrader_cells import is_kept, read_grade_id

# nbgrader's class that runs notebooks, after the classes whose settings it inherits: the last one counts.
EXECUTE = ("NotebookClient", "ExecutePreprocessor", "Execute")
AUTOGRADE = ("BaseConverter", "Autograde")
UNLIMITED = 1e9  # seconds; the limit of the whole submission is reached first
SKIP = "skip-execution"  # nbclient's tag for cells that it doesn't run
OURS = "autograder.nbgrader_plugin."
ORDINARY = frozenset(
    """Examine IgnorePattern ClearMetadataPreprocessor LimitOutput SaveScores AssignLatePenalties
    CheckCellMetadata""".split()
)
FOLDERS = {
    "directory_structure": "{nbgrader_step}/{student_id}/{assignment_id}",
    **{f"{name}_directory": name for name in ("source", "release", "submitted", "autograded", "feedback")},
}
NOTHING: Mapping[str, Any] = {}
NO_KERNEL = "cells run in Gradlab's own Python, without a Jupyter kernel"
AT_A_LIMIT = "a cell that takes too long ends its process, and the cells before it run again"
ERRORS = "an exception never ends a notebook"
ALWAYS = "this is always done"
HOOK = "only nbgrader autograde calls it"
PAGES = "feedback pages are Gradlab's own"
FILES = "files are written as nbgrader writes them by default"
# Why a setting isn't read; None if it is, or if it changes nothing here. The empty name is for all others of the class.
OF_EXECUTE = {
    **dict.fromkeys(("timeout", "timeout_func", "skip_cells_with_tag", "enabled")),
    **dict.fromkeys(("interrupt_on_timeout", "error_on_timeout"), AT_A_LIMIT),
    **dict.fromkeys(("allow_errors", "allow_error_names", "force_raise_errors"), ERRORS),
    "": NO_KERNEL,
}
OF_AUTOGRADE = {**dict.fromkeys(("exclude_overwriting", "create_student", "force")), "permissions": FILES, "": HOOK}
UNREAD: Mapping[str, Mapping[str, str | None]] = {
    **{section: OF_EXECUTE for section in EXECUTE},
    **{section: OF_AUTOGRADE for section in AUTOGRADE},
    **{section: {"": ALWAYS} for section in ("DeduplicateIds", "OverwriteKernelspec", "CheckCellMetadata")},
    "OverwriteCells": {"add_missing_cells": ALWAYS, "": "the words above a restored cell are nbgrader's"},
}
FEEDBACK = ("GenerateFeedback", "Feedback", "GetGrades", "HTMLExporter", "TemplateExporter")


def get_setting(config: Mapping[str, Any], sections: Sequence[str], name: str, default: Any = None) -> Any:
    """Return the setting with this name from the last of these classes that has it.

    Args:
        sections: The names of nbgrader's classes, a class before those that inherit from it.
    """
    for section in reversed(sections):
        if name in config.get(section, {}):
            return config[section][name]
    return default


def get_student_files(config: Mapping[str, Any], assignment: str) -> frozenset[str]:
    """Return the files that students write, which the course's files don't replace."""
    setting = get_setting(config, AUTOGRADE, "exclude_overwriting", {})
    names = setting.get(assignment, ()) if isinstance(setting, Mapping) else None
    if names is None or isinstance(names, str):
        raise GradlabError(
            "c.Autograde.exclude_overwriting in nbgrader_config.py isn't a dictionary of lists",
            fix=f'{{"{assignment}": ["helper.py"]}}',
        )
    return frozenset(PurePosixPath(str(name)).as_posix() for name in names)


def is_left_out(config: Mapping[str, Any], student: str, registered: Collection[str]) -> bool:
    """Return whether nbgrader wouldn't grade this student's submission.

    Args:
        registered: The students in the gradebook.
    """
    excluded = str(config.get("CourseDirectory", {}).get("student_id_exclude", "")).split(",")
    return student in excluded or (
        not get_setting(config, AUTOGRADE, "create_student", True) and student not in registered
    )


def get_cell_seconds(config: Mapping[str, Any]) -> float | None:
    """Return the time limit of a cell that is set for stock nbgrader; None if there isn't one."""
    setting = get_setting(config, EXECUTE, "timeout", "none")
    return None if setting == "none" else _parse_seconds(setting)


def get_cell_limits(config: Mapping[str, Any], cells: Sequence[NotebookNode]) -> dict[str, float]:
    """Return the time limits that c.Execute.timeout_func sets for the course's cells, by get_cell_key()."""
    limit: Callable[[NotebookNode], Any] | None = get_setting(config, EXECUTE, "timeout_func")
    if limit is None:
        return {}
    try:
        return {get_cell_key(cell): _parse_seconds(limit(cell)) for cell in cells if cell.cell_type == "code"}
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise GradlabError(
            f"c.Execute.timeout_func in nbgrader_config.py doesn't work: {message}",
            fix="correct it; it's called with each code cell, and returns seconds or None",
        ) from None


def find_skipped_cells(config: Mapping[str, Any], cells: Sequence[NotebookNode]) -> tuple[str, ...]:
    """Return the course's cells that nbgrader doesn't run, by get_cell_key()."""
    tag = get_setting(config, EXECUTE, "skip_cells_with_tag", SKIP)
    return tuple(get_cell_key(cell) for cell in cells if tag and tag in cell.metadata.get("tags", []))


def get_cell_key(cell: NotebookNode) -> str:
    """Return a key: nbgrader's name of a cell that it keeps, or the text of any other cell."""
    name = read_grade_id(cell) if is_kept(cell) else ""
    return f"id {name}" if name else f"text {cell.source.strip()}"


def _parse_seconds(setting: Any) -> float:
    return UNLIMITED if not setting or setting < 0 else float(setting)


def refuse_mark_changing_settings(config: Mapping[str, Any]) -> None:
    """Raise GradlabError if these settings would change a mark."""
    for name, default in FOLDERS.items():
        value = config.get("CourseDirectory", {}).get(name, default)
        if str(value) not in (default, f"{default}/"):
            raise GradlabError(
                f"c.CourseDirectory.{name} in nbgrader_config.py is {value!r}, but Gradlab only reads {default!r}",
                fix="remove the setting, and rename the folder",
            )
    kernel = str(get_setting(config, EXECUTE, "kernel_name", ""))
    if kernel.lower() in ("ir", "octave", "sos") or kernel.lower().startswith(
        ("julia", "xcpp", "java", "ruby", "bash")
    ):
        raise GradlabError(
            f"c.Execute.kernel_name is {kernel!r}, but Gradlab runs only Python", fix="grade with stock nbgrader"
        )
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = get_setting(config, ("Autograde",), name, ())
        names = [step if isinstance(step, str) else step.__name__ for step in steps]
        unknown = [step for step in names if step.rpartition(".")[2] not in ORDINARY]
        if (name == "sanitize_preprocessors" and steps) or unknown:
            listed = f" ({', '.join(unknown)})" if unknown else ""
            raise GradlabError(
                f"gradlab grade doesn't run c.Autograde.{name}{listed}",
                fix="run nbgrader autograde, which does, or remove the setting from nbgrader_config.py",
            )


def list_unread_settings(config: Mapping[str, Any], defaults: Mapping[str, Any] = NOTHING) -> list[str]:
    """List the settings of nbgrader's grading that aren't read here, with a line for each reason.

    Args:
        defaults: The settings that configure() makes.
    """
    reasons: dict[str, list[str]] = {}
    for section, section_reasons in UNREAD.items():
        for name, value in config.get(section, {}).items():
            reason = section_reasons.get(name, section_reasons[""])
            if reason and not _is_default(defaults, section, name, value) and not _has_no_effect(name, value):
                reasons.setdefault(reason, []).append(f"c.{section}.{name}")
    return [_format_line(names, reason) for reason, names in reasons.items()]


def list_unread_page_settings(config: Mapping[str, Any], defaults: Mapping[str, Any] = NOTHING) -> list[str]:
    """List the settings of nbgrader's feedback that aren't read here, in the same way."""
    names = [
        f"c.{section}.{name}"
        for section in FEEDBACK
        for name, value in config.get(section, {}).items()
        if name != "force" and not _is_default(defaults, section, name, value) and not _has_no_effect(name, value)
    ]
    return [_format_line(names, PAGES)] if names else []


def _format_line(names: Sequence[str], reason: str) -> str:
    *others, last = names
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} in nbgrader_config.py {'are' if others else 'is'} not read: {reason}"


def _is_default(defaults: Mapping[str, Any], section: str, name: str, value: Any) -> bool:
    settings = defaults.get(section, {})
    return name in settings and (settings[name] == value or repr(settings[name]) == repr(value))


def _has_no_effect(name: str, value: Any) -> bool:
    """Return whether configure() made the setting, or it sets what applies here anyway."""
    if name in ("exporter_class", "pre_convert_hook"):
        return str(value).startswith(OURS)
    if name in ("preprocessors", "autograde_preprocessors", "sanitize_preprocessors"):
        return not value or any(str(step).startswith(OURS) for step in value)
    if name == "kernel_name":
        return str(value) in ("", "python", "python3")
    return name in ("add_missing_cells", "allow_errors", "interrupt_on_timeout", "enabled", "sanitize_html") and bool(
        value
    )
