"""Settings of nbgrader_config.py for stock nbgrader: which ones count, are refused, or are reported."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from traitlets.config import Config

from autograder.base.errors import GradlabError
from autograder.grading.task import GradingSettings, apply_stock_limits
from autograder.nbgrader_plugin import configure, make_default_config
from autograder.stock.settings import (
    UNLIMITED,
    find_skipped_cells,
    get_cell_key,
    get_cell_limits,
    get_student_files,
    is_left_out,
    list_unread_page_settings,
    list_unread_settings,
    refuse_mark_changing_settings,
)


def make_config(**sections: dict[str, Any]) -> Config:
    """The configuration of nbgrader_config.py after configure()."""
    config = Config()
    configure(config)
    for section, settings in sections.items():
        config[section].update(settings)
    return config


def test_a_configuration_without_settings_causes_no_message() -> None:
    assert (
        list_unread_settings(make_config(), make_default_config())
        == list_unread_page_settings(make_config(), make_default_config())
        == []
    )
    refuse_mark_changing_settings(make_config())


def test_files_of_students_are_those_of_this_assignment() -> None:
    config = make_config(Autograde={"exclude_overwriting": {"a1": ["helper.py", "./lib/more.py"], "a2": ["other.py"]}})
    assert get_student_files(config, "a1") == {"helper.py", "lib/more.py"}
    assert get_student_files(config, "a3") == get_student_files(make_config(), "a1") == frozenset()


@pytest.mark.parametrize("value", [["helper.py"], {"a1": "helper.py"}])
def test_files_of_students_in_another_form_are_refused(value: Any) -> None:
    with pytest.raises(GradlabError, match="exclude_overwriting"):
        get_student_files(make_config(Autograde={"exclude_overwriting": value}), "a1")


@pytest.mark.parametrize("section", ["NotebookClient", "ExecutePreprocessor", "Execute"])
def test_nbgraders_time_limit_counts_if_gradlabs_is_not_set(section: str) -> None:
    config = make_config(**{section: {"timeout": 7}})
    assert apply_stock_limits(GradingSettings(), config).timeouts.cell == 7
    config.Examine.cell_seconds = 9
    assert apply_stock_limits(GradingSettings(), config) == GradingSettings()


def test_nbgraders_own_class_counts_before_those_that_it_inherits_from() -> None:
    config = make_config(ExecutePreprocessor={"timeout": 7}, Execute={"timeout": 5})
    assert apply_stock_limits(GradingSettings(), config).timeouts.cell == 5


@pytest.mark.parametrize("none", [None, -1, 0])
def test_without_a_limit_only_that_of_the_submission_ends_a_cell(none: int | None) -> None:
    config = make_config(Execute={"timeout": none})
    assert apply_stock_limits(GradingSettings(), config).timeouts.cell == UNLIMITED


def test_a_cell_has_the_limit_that_the_courses_function_gives_it() -> None:
    training_cell, plotting_cell = nbformat.v4.new_code_cell("train()"), nbformat.v4.new_code_cell("plot()\n")
    training_cell.metadata["nbgrader"] = {"grade_id": "train", "solution": True}
    cells = [training_cell, plotting_cell, nbformat.v4.new_markdown_cell("train")]
    config = make_config(Execute={"timeout_func": lambda cell: 600 if "train" in cell.source else None})
    assert get_cell_limits(config, cells) == {"id train": 600, "text plot()": UNLIMITED}
    assert get_cell_limits(make_config(), cells) == {}
    with pytest.raises(GradlabError, match="timeout_func"):
        get_cell_limits(make_config(Execute={"timeout_func": lambda cell: cell.no_such}), cells)


def test_cells_with_the_tag_are_not_run() -> None:
    tagged_cell, other_cell = nbformat.v4.new_code_cell("a"), nbformat.v4.new_code_cell("b")
    tagged_cell.metadata["tags"], other_cell.metadata["tags"] = ["skip-execution"], ["mine"]
    assert find_skipped_cells(make_config(), [tagged_cell, other_cell]) == (get_cell_key(tagged_cell),)
    assert find_skipped_cells(
        make_config(NotebookClient={"skip_cells_with_tag": "mine"}), [tagged_cell, other_cell]
    ) == (get_cell_key(other_cell),)


@pytest.mark.parametrize(
    "section, name, value",
    [
        ("Execute", "kernel_name", "my-conda"),
        ("ExecutePreprocessor", "startup_timeout", 90),
        ("NotebookClient", "iopub_timeout", 9),
        ("Execute", "extra_arguments", ["--x"]),
        ("Execute", "error_on_timeout", {"ename": "Slow"}),
        ("Execute", "interrupt_on_timeout", False),
        ("Execute", "allow_errors", False),
        ("OverwriteCells", "add_missing_cells", False),
        ("OverwriteCells", "missing_cell_notification", "gone"),
        ("DeduplicateIds", "enabled", False),
        ("Autograde", "post_convert_hook", "mine.after"),
        ("Autograde", "pre_convert_hook", "mine.before"),
        ("Autograde", "permissions", 640),
    ],
)
def test_a_setting_that_is_not_read_is_reported_in_a_line(section: str, name: str, value: Any) -> None:
    (line,) = list_unread_settings(make_config(**{section: {name: value}}), make_default_config())
    assert line.startswith(f"c.{section}.{name} in nbgrader_config.py is not read: ")


def test_settings_that_are_not_read_for_one_reason_share_a_line() -> None:
    (line,) = list_unread_settings(make_config(Execute={"startup_timeout": 90, "extra_arguments": []}))
    assert line.startswith("c.Execute.startup_timeout and c.Execute.extra_arguments in nbgrader_config.py are not read")


def test_a_setting_that_changes_nothing_needs_no_line() -> None:
    config = make_config(OverwriteCells={"add_missing_cells": True}, Execute={"kernel_name": "python3"})
    assert list_unread_settings(config) == []


def test_how_nbgrader_makes_its_feedback_is_not_read() -> None:
    (line,) = list_unread_page_settings(make_config(HTMLExporter={"template_name": "mine"}), make_default_config())
    assert line.startswith("c.HTMLExporter.template_name in nbgrader_config.py is not read: feedback pages")


@pytest.mark.parametrize(
    "section, name, value",
    [
        ("CourseDirectory", "submitted_directory", "submitted_work"),
        ("CourseDirectory", "directory_structure", "{assignment_id}/{nbgrader_step}/{student_id}"),
        ("Execute", "kernel_name", "ir"),
        ("Execute", "kernel_name", "julia-1.10"),
        ("Autograde", "sanitize_preprocessors", ["mine.Rename"]),
        ("Autograde", "autograde_preprocessors", ["autograder.nbgrader_plugin.converters.Examine", "mine.Curve"]),
    ],
)
def test_a_setting_that_would_change_marks_is_refused(section: str, name: str, value: Any) -> None:
    with pytest.raises(GradlabError, match=name):
        refuse_mark_changing_settings(make_config(**{section: {name: value}}))


def test_students_that_nbgrader_leaves_out_are_left_out() -> None:
    assert not is_left_out(make_config(), "ada", ())
    assert is_left_out(make_config(CourseDirectory={"student_id_exclude": "ada,bob"}), "bob", {"bob"})
    strict = make_config(Autograde={"create_student": False})
    assert is_left_out(strict, "ada", {"bob"}) and not is_left_out(strict, "bob", {"bob"})
