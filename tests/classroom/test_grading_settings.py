"""Settings of c.Examine are read as they are, and a mistake is refused with its line."""

from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.classroom.grading_settings import read_settings
from autograder.gradebook.nbgrader_course import read_config
from autograder.grading.task import GradingSettings


def read(folder: Path, *lines: str) -> GradingSettings:
    (folder / "nbgrader_config.py").write_text("\n".join(["c = get_config()", *lines]))
    return read_settings(read_config(folder))


def test_settings_change_the_limits_that_they_name(tmp_path: Path) -> None:
    settings = read(tmp_path, "c.Examine.memory_gib = 2", "c.Examine.cell_seconds = 30.5")
    assert settings.limits.memory == 2 * 2**30
    assert settings.timeouts.cell == 30.5
    assert settings.timeouts.check == GradingSettings().timeouts.check


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memory_gb = 2", "c.Examine has no setting 'memory_gb' .did you mean memory_gib"),
        ("memory_gib = '4'", "c.Examine.memory_gib is '4'\n.*fix: it should be a valid number"),
        ("check_seconds = 0", "c.Examine.check_seconds is 0\n.*greater than 0"),
        ("isolation = True", "c.Examine.isolation is True"),
    ],
)
def test_a_setting_that_does_not_exist_or_fit_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(GradlabError, match=f"nbgrader_config.py:2: {message}"):
        read(tmp_path, f"c.Examine.{line}")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("c.Examine.memory_gib = (", "SyntaxError"),
        ("undefined_name", "NameError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("import json; json.loads('{')", "JSONDecodeError"),
    ],
)
def test_a_mistake_in_the_configuration_has_its_line(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(GradlabError, match=f"nbgrader_config.py:2: {error}"):
        read(tmp_path, line)
