"""The release for working at home: the labs and what they import, and nothing of the grader."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.authoring.course_folder import build_course, read_course
from autograder.authoring.new_lab import create_lab
from autograder.authoring.student_release import write_student_release
from autograder.base.errors import GradlabError


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
    course = read_course(small_course)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write_student_release(course, tmp_path / "a" / "home").read_bytes()
    assert write_student_release(course, tmp_path / "b" / "home").read_bytes() == first


@pytest.mark.slow
def test_the_wheel_of_a_release_brings_the_extension_and_runs_without_the_grader(
    small_course: Path, tmp_path: Path
) -> None:
    """Slow: builds a wheel, and imports torch from it in another process."""
    write_student_release(read_course(small_course), tmp_path / "home")
    wheels = tmp_path / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(wheels), "."]
    subprocess.run(command, cwd=tmp_path / "home", check=True, capture_output=True)
    (wheel,) = wheels.glob("labkit-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    extension = "labext/share/jupyter/labextensions/gradlab-course"
    assert {f"{extension}/js/plugin.js", f"{extension}/style/index.css", f"{extension}/style/tokens.css"} <= {*names}
    assert "labext/etc/student/labconfig/page_config.json" in names
    code = "import sys; import labkit, labkit.start, labext; print(labkit.__file__, 'autograder' in sys.modules)"
    environment = {"PYTHONPATH": str(wheel), "PATH": ""}
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert process.stdout.split() == [f"{wheel}/labkit/__init__.py", "False"], process.stderr


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
    assert "Mark my work" in done.stdout and "by its letters" in done.stdout


def test_a_folder_that_holds_something_is_refused(small_course: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mine.txt").write_text("mine")
    with pytest.raises(GradlabError, match="isn't empty"):
        write_student_release(read_course(small_course), tmp_path / "home")
