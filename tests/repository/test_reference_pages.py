"""docs/commands.md has every command and option, docs/labkit.md every name, docs/settings.md every setting."""

import re

import pytest

import labkit
from autograder.model.course import LabEntry
from autograder.model.term import Excuse, Extension, LabTerm, Team
from autograder.nbgrader_plugin.converters import Examine
from scripts.command_reference import PAGE, format_command_reference
from scripts.labkit_reference import PAGE as LABKIT_PAGE
from scripts.labkit_reference import SECTIONS, format_labkit_reference

SETTINGS = (PAGE.parent / "settings.md").read_text(encoding="utf-8")


def test_the_page_of_commands_is_what_the_command_line_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == format_command_reference(), "python -m scripts.command_reference writes it"


def test_the_page_of_labkit_is_what_its_docstrings_say() -> None:
    text = LABKIT_PAGE.read_text(encoding="utf-8")
    assert text == format_labkit_reference(), "python -m scripts.labkit_reference writes it"


def test_the_page_of_labkit_has_every_name_but_the_probes() -> None:
    assert sorted(labkit.__all__) == sorted(["probes", *(name for names in SECTIONS.values() for name in names)])


@pytest.mark.parametrize(
    ("heading", "model"),
    [("[labs.NAME]", LabTerm), ("[[extension]]", Extension), ("[[excuse]]", Excuse), ("[[team]]", Team)],
)
def test_each_key_of_a_term_has_a_row(heading: str, model: type[LabTerm | Extension | Excuse | Team]) -> None:
    table = SETTINGS.split(f"| `{heading}` |")[1].split("\n\n")[0]
    keys = [key for row in table.splitlines()[2:] for key in re.findall("`(\\w+)`", row.split("|")[1])]
    assert keys == list(model.model_fields)


def test_each_key_of_a_course_has_a_row() -> None:
    assert re.findall(r"^\| `labs\.(\w+)`", SETTINGS, re.MULTILINE) == list(LabEntry.model_fields)


def test_each_setting_of_grading_has_its_default() -> None:
    rows = re.findall(r"^\| `c\.Examine\.(\w+)` \| `?\"?([\w.]+)\"?`? \|", SETTINGS, re.MULTILINE)
    own = {name: trait for name, trait in Examine.class_own_traits().items() if trait.metadata.get("config")}
    assert {name: value for name, value in rows} == {
        name: f"{trait.default_value:g}" if isinstance(trait.default_value, float) else trait.default_value
        for name, trait in own.items()
    }
