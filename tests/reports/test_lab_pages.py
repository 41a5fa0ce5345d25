"""The pages to read a course without installing anything."""

import re
from pathlib import Path

import pytest

from autograder.authoring.course_folder import build_course, read_course
from autograder.reports.lab_pages import write_lab_pages
from tests.conftest import CommandLine

LAB = "01_squares"
ADDED = """
# %% [markdown]
# ## The sign

# %% predict: sign
# **Predict.** What is the sign of a sum of squares?
# - [ ] that of the first element
# - [x] never negative

# %% example
print("of -3 and 1:", 10 < 11)

# %% [markdown]
# Each square is never negative.

# %% [markdown]
# Why is that?

# %% answer [markdown]
# A product of two numbers of one sign.
"""


@pytest.fixture
def pages(small_course: Path) -> dict[str, str]:
    lesson = small_course / "labs" / LAB / "lab.py"
    lesson.write_text(lesson.read_text().rstrip() + "\n" + ADDED)
    build_course(read_course(small_course))
    return {path.name: path.read_text() for path in write_lab_pages(read_course(small_course), small_course / "site")}


def test_the_list_leads_to_each_lab_and_a_lab_back(pages: dict[str, str]) -> None:
    assert pages.keys() == {"index.html", f"{LAB}.html"}
    assert f'<a href="{LAB}.html">' in pages["index.html"] and "A small course" in pages["index.html"]
    assert '<a href="index.html">' in pages[f"{LAB}.html"]
    targets = re.findall(r'<a href="#([^"]+)"', pages[f"{LAB}.html"])
    assert targets and all(f'id="{target}"' in pages[f"{LAB}.html"] for target in targets)


def test_answers_are_folded_and_checks_are_left_out(pages: dict[str, str]) -> None:
    page = pages[f"{LAB}.html"]
    folded = " ".join(re.findall(r"<details>.*?</details>", page, re.DOTALL))
    for answer in ("Each square is never negative.", "A product of two numbers of one sign."):
        assert answer in folded and page.count(answer) == 1
    assert "Why is that?" in page and "Why is that?" not in folded
    assert "What is the sign of a sum of squares?" not in folded and "☐ never negative" in page
    assert "with check" not in page and "BEGIN" not in page


def test_code_is_escaped_and_nothing_is_loaded(pages: dict[str, str]) -> None:
    page = pages[f"{LAB}.html"]
    assert "&lt;" in page and "default-src 'none'" in page.replace("&#39;", "'")
    assert not re.findall(r'(?:src|href)="(?!index\.html|#)[^"]*"', page)


def test_the_command_says_what_to_open(cli: CommandLine, small_course: Path) -> None:
    build_course(read_course(small_course))
    assert "site/index.html" in cli("pages site").replace("\n", "")
