"""The release for working at home: the labs and what they import, and nothing of the grader."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from autograder.authoring.course_folder import build_course, read_course
from autograder.authoring.new_lab import create_lab
from autograder.authoring.publication import Publication, read_publication
from autograder.authoring.start_page import START_PAGE_NAME
from autograder.authoring.student_release import write_student_release
from autograder.base.errors import GradlabError
from tests.conftest import ROOT

EXTENSION = "share/jupyter/labextensions/gradlab-course"


def test_a_release_holds_labs_and_labkit_and_no_grader(small_course: Path, tmp_path: Path) -> None:
    archive = write_student_release(read_course(small_course), tmp_path / "home")
    names = zipfile.ZipFile(archive).namelist()
    assert "home/labs/01_squares/01_squares.ipynb" in names
    assert "home/labs/00_start_here.ipynb" in names
    assert "home/labkit/check.py" in names
    assert "home/labext/handlers.py" in names
    assert not [name for name in names if "autograder" in name or "__pycache__" in name or "source/" in name]


def test_no_file_of_a_release_has_a_solution_or_a_hidden_check(small_course: Path, tmp_path: Path) -> None:
    archive = write_student_release(read_course(small_course), tmp_path / "home")
    texts = b"".join((tmp_path / name).read_bytes() for name in zipfile.ZipFile(archive).namelist())
    assert b"BEGIN SOLUTION" not in texts
    assert b"BEGIN HIDDEN" not in texts.replace(b'"BEGIN HIDDEN', b"")


def test_a_release_may_hold_some_labs_only_and_its_start_page_links_to_them(small_course: Path, tmp_path: Path) -> None:
    create_lab(small_course, "02_cubes")
    course = read_course(small_course)
    build_course(course)
    write_student_release(course, tmp_path / "home", ("02_cubes",))
    labs = tmp_path / "home" / "labs"
    assert sorted(path.name for path in labs.glob("*/*.ipynb")) == ["02_cubes.ipynb"]
    start = (labs / "00_start_here.ipynb").read_text()
    assert "02_cubes/02_cubes.ipynb" in start and "01_squares" not in start
    with pytest.raises(GradlabError, match="no lab '03_none'"):
        write_student_release(course, tmp_path / "other", ("03_none",))


def test_the_same_course_gives_the_same_zip(small_course: Path, tmp_path: Path) -> None:
    """Its wheel too, whatever permissions new files get."""
    course = read_course(small_course)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write_student_release(course, tmp_path / "a" / "home").read_bytes()
    before = os.umask(0o077)
    try:
        second = write_student_release(course, tmp_path / "b" / "home").read_bytes()
    finally:
        os.umask(before)
    assert second == first


@pytest.mark.slow
def test_the_wheel_of_a_release_brings_the_extension_and_runs_without_the_grader(
    small_course: Path, tmp_path: Path
) -> None:
    """Slow: imports torch in another process."""
    write_student_release(read_course(small_course), tmp_path / "home")
    (wheel,) = (tmp_path / "home").glob("labkit-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    drawn = {f"labkit/pictures/{path.name}" for path in (ROOT / "labkit" / "pictures").iterdir() if path.is_file()}
    assert drawn == {name for name in names if name.startswith("labkit/pictures/")}
    assert "labext/etc/student/labconfig/page_config.json" in names
    assert not [name for name in names if "autograder" in name or "__pycache__" in name]
    installed = {name.partition(".data/data/")[2] for name in names}
    assert {"etc/jupyter/jupyter_server_config.d/gradlab.json", f"{EXTENSION}/package.json"} <= installed
    for folder in ("js", "style"):
        shipped = {path.name for path in (ROOT / "labext" / EXTENSION / folder).iterdir()}
        assert shipped == {name.rpartition("/")[2] for name in installed if name.startswith(f"{EXTENSION}/{folder}/")}
    code = "import sys; import labkit, labkit.start, labext; print(labkit.__file__, 'autograder' in sys.modules)"
    environment = {"PYTHONPATH": str(wheel), "PATH": ""}
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert process.stdout.split() == [f"{wheel}/labkit/__init__.py", "False"], process.stderr


def test_the_wheel_installs_the_same_files_of_the_extension_as_the_project() -> None:
    projects = (ROOT / "pyproject.toml", ROOT / "autograder" / "authoring" / "student" / "pyproject.toml.txt")
    ours, students = (
        tomllib.loads(path.read_text().replace("DEPENDENCIES\n", ""))["tool"]["setuptools"] for path in projects
    )
    assert students["data-files"] == ours["data-files"]
    assert students["package-data"] == {name: ours["package-data"][name] for name in ("labext", "labkit")}


def test_the_page_for_students_names_the_wheel(small_course: Path, tmp_path: Path) -> None:
    write_student_release(read_course(small_course), tmp_path / "home")
    (wheel,) = (tmp_path / "home").glob("*.whl")
    assert wheel.name in (tmp_path / "home" / "README.md").read_text()
    assert f"-m pip install ./{wheel.name}\n" in (ROOT / "docs" / "students.md").read_text()


FINDS = "import importlib.util\nfound = importlib.util.find_spec('labkit')\nprint(found and found.origin)"


def read_first_cell(course: Path, home: Path) -> str:
    """Write a student release to `home`, and return the source of the first code cell of its lab."""
    write_student_release(read_course(course), home)
    notebook = json.loads((home / "labs" / "01_squares" / "01_squares.ipynb").read_text())
    return "".join(next(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"))


def run_bare(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the code in this folder with a Python that has no packages."""
    command = [sys.executable, "-I", "-S", "-c", f"{code}\n{FINDS}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_without_an_installation_labkit_is_found_above_the_lab(small_course: Path, tmp_path: Path) -> None:
    code = read_first_cell(small_course, tmp_path / "home")
    done = run_bare(code, tmp_path / "home" / "labs" / "01_squares")
    assert done.stdout.strip() == str(tmp_path / "home" / "labkit" / "__init__.py"), done.stderr


def test_labkit_is_imported_from_a_zip_next_to_the_notebook(small_course: Path, tmp_path: Path) -> None:
    code = read_first_cell(small_course, tmp_path / "home")
    content = tmp_path / "content"
    content.mkdir()
    shutil.copy(tmp_path / "home.zip", content)
    done = run_bare(code, content)
    assert done.stdout.strip() == str(content / "home" / "labkit" / "__init__.py"), done.stderr


def test_without_either_the_first_cell_says_what_to_put_where(small_course: Path, tmp_path: Path) -> None:
    code = read_first_cell(small_course, tmp_path / "home")
    (tmp_path / "empty").mkdir()
    done = run_bare(code, tmp_path / "empty")
    assert done.returncode and "Put home.zip" in done.stderr.splitlines()[-1]


def test_in_colab_the_first_cell_says_what_is_missing_there(small_course: Path, tmp_path: Path) -> None:
    code = read_first_cell(small_course, tmp_path / "home")
    colab = "import sys, types\nsys.modules['google.colab'] = types.ModuleType('google.colab')\n"
    done = run_bare(colab + code, tmp_path / "home" / "labs" / "01_squares")
    assert "For a mark" in done.stdout and "write its letters" in done.stdout


def test_a_folder_that_holds_something_is_refused(small_course: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mine.txt").write_text("mine")
    with pytest.raises(GradlabError, match="isn't empty"):
        write_student_release(read_course(small_course), tmp_path / "home")


def test_with_a_repository_each_lab_can_be_opened_in_colab(small_course: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    create_lab(small_course, "02_cubes")
    course = read_course(small_course)
    build_course(course)
    write_student_release(course, home, publication=read_publication(github="ann/course@spring"))
    link = "[Open in Colab](https://colab.research.google.com/github/ann/course/blob/spring/labs/01_squares/01_squares.ipynb)"
    pages = [
        json.loads((home / "labs" / name).read_text()) for name in ("01_squares/01_squares.ipynb", START_PAGE_NAME)
    ]
    lab, start = ("".join(page["cells"][0]["source"]) for page in pages)
    colab = "https://colab.research.google.com/github/ann/course/blob/spring/labs"
    following = f"[Next lab: Cubes]({colab}/02_cubes/02_cubes.ipynb)"
    assert lab.startswith(f"# Squares\n\n{link} · [All labs]({colab}/{START_PAGE_NAME}) · {following}\n\n")
    table = [line for line in start.split("\n") if line.startswith("|")]
    assert link in table[-2] and len({line.count("|") for line in table}) == 1
    assert link in (home / "README.md").read_text()
    (wheel,) = home.glob("*.whl")
    address = f"https://raw.githubusercontent.com/ann/course/spring/{wheel.name}"
    assert f"\npython -m pip install {address}\n" in (home / "README.md").read_text()
    (first,) = [cell for cell in pages[0]["cells"] if cell["id"] == "find-labkit"]
    assert re.search(rf"    %pip install -q --no-deps [^\n]*{address}\n", "".join(first["source"]))


def test_a_web_server_shows_a_list_with_links_that_download_the_labs(small_course: Path, tmp_path: Path) -> None:
    home, address = tmp_path / "home", "https://example.org/course"
    write_student_release(read_course(small_course), home, publication=read_publication(address))
    (wheel,) = home.glob("*.whl")
    page = BeautifulSoup((home / "index.html").read_text(), "html.parser")
    (link,) = page.find_all("a")
    lab = f"{address}/labs/01_squares/01_squares.ipynb"
    assert (link.get_text(), link["href"]) == ("Download", lab)
    assert f"pip install {address}/{wheel.name}" in page.get_text() and not re.findall(r"\{[A-Z]+\}", str(page))
    assert f"[Download]({lab})" in (home / "README.md").read_text()
    assert f"[Download]({lab})" in "".join(
        json.loads((home / "labs" / START_PAGE_NAME).read_text())["cells"][0]["source"]
    )
    notebook = json.loads((home / "labs" / "01_squares" / "01_squares.ipynb").read_text())
    assert f"\n\n[All labs]({address}/index.html)\n\n" in "".join(notebook["cells"][0]["source"])


def test_if_labkit_cannot_be_installed_the_first_cell_names_the_address(small_course: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_student_release(read_course(small_course), home, publication=read_publication("https://example.org/course"))
    notebook = json.loads((home / "labs" / "01_squares" / "01_squares.ipynb").read_text())
    code = "".join(next(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"))
    (tmp_path / "empty").mkdir()
    done = run_bare(code.replace("    %pip", "    #"), tmp_path / "empty")
    assert (
        "installed from https://example.org/course: run this cell again" in done.stderr
        and "home.zip" not in done.stderr
    )


def test_without_an_address_nothing_links_to_colab_and_nothing_is_installed(small_course: Path, tmp_path: Path) -> None:
    write_student_release(read_course(small_course), tmp_path / "home")
    texts = "".join(path.read_text() for path in (tmp_path / "home").glob("**/*.ipynb"))
    texts += (tmp_path / "home" / "README.md").read_text()
    assert "colab.research" not in texts and "%pip" not in texts and not (tmp_path / "home" / "index.html").exists()


@pytest.mark.parametrize(
    ("options", "publication"),
    [
        ({}, Publication()),
        ({"address": "https://example.org/~ann/course/"}, Publication("https://example.org/~ann/course")),
        (
            {"github": "ann/course"},
            Publication("https://raw.githubusercontent.com/ann/course/main", "ann/course", "main"),
        ),
        (
            {"github": "ann/my.course@2027/spring", "address": "http://127.0.0.1:8000"},
            Publication("http://127.0.0.1:8000", "ann/my.course", "2027/spring"),
        ),
    ],
)
def test_a_repository_has_an_address_and_another_may_be_given(
    options: dict[str, str], publication: Publication
) -> None:
    assert read_publication(**options) == publication


@pytest.mark.parametrize(
    "address", ["example.org", "https://e.org/a b", "https://e.org/;ls", "https://e.org/$(ls)", "https://e.org/{x}\n"]
)
def test_an_address_that_a_shell_would_not_pass_on_is_refused(address: str) -> None:
    with pytest.raises(GradlabError, match="can't be the address"):
        read_publication(address)


@pytest.mark.parametrize(
    "github", ["ann", "https://github.com/ann/course", "ann/course@", "ann/course/labs", "ann/course@x y"]
)
def test_another_form_of_repository_is_refused(github: str) -> None:
    with pytest.raises(GradlabError, match="can't be a repository"):
        read_publication(github=github)
