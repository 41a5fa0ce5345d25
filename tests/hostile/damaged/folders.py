"""Contents of the submission's folder: other names, other folders, links, pipes, more than one notebook, nothing."""

import os
from pathlib import Path

from tests.hostile.damaged import write_case
from tests.hostile.edits import FILE, LAB, Notebook, find_course_notebook, write


@write_case("The folder is empty: the upload broke off.", note="No notebook named 01_door.ipynb", intact=[])
def nothing_at_all(folder: Path, notebook: Notebook) -> None:
    assert folder.is_dir()


@write_case(
    "The notebook is in a folder in the folder: an archive was unpacked there.", note="found as 01_door/01_door.ipynb"
)
def folder_in_a_folder(folder: Path, notebook: Notebook) -> None:
    (folder / LAB).mkdir()
    write(folder / LAB, notebook)


@write_case(
    "A folder has the notebook's name: macOS unpacked a bundle so.",
    note="a link, a folder, a pipe or a device",
    intact=[],
)
def folder_as_notebook(folder: Path, notebook: Notebook) -> None:
    (folder / FILE).mkdir()
    (folder / FILE / "readme.txt").write_text("")


@write_case("A second notebook is next to the right one.", note="not graded: draft.ipynb")
def two_notebooks(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / "draft.ipynb").write_text("{}")


@write_case("Two notebooks, and neither has the lab's name.", note="not graded: a.ipynb, b.ipynb", intact=[])
def two_other_names(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook, "a.ipynb")
    write(folder, notebook, "b.ipynb")


@write_case("The time of the submission is no time: edited by hand.", note="time of your submission can't be read")
def unreadable_timestamp(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / "timestamp.txt").write_text("yesterday, I think")


@write_case("The folder is a link to another student's.", note="link", intact=[])
def linked_folder(folder: Path, notebook: Notebook) -> None:
    other = folder.parent.parent / "linked_folder_neighbor" / LAB
    other.mkdir(parents=True)
    write(other, notebook)
    folder.rmdir()
    folder.symlink_to(other)


@write_case(
    "Links to files and folders of the course, and a pipe without a writer, are next to the notebook.",
    note="removed: all, data.txt, pipe, submission_secret.txt",
)
def links_and_pipes_beside(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / "data.txt").symlink_to(find_course_notebook(folder))
    (folder / "submission_secret.txt").symlink_to("/etc/passwd")
    (folder / "all").symlink_to("/etc")
    os.mkfifo(folder / "pipe")


another_name = write_case("The notebook has another name: the student renamed it.", note="found as")(
    lambda folder, notebook: write(folder, notebook, "my_solution.ipynb")
)
name_with_spaces = write_case("The name has a space and a number: a browser's second download.", note="found as")(
    lambda folder, notebook: write(folder, notebook, "01_door (1).ipynb")
)
name_with_newline = write_case("The name has a line break: pasted from a web page.", note="found as")(
    lambda folder, notebook: write(folder, notebook, "01\ndoor.ipynb")
)
name_with_dots = write_case("The name begins with two dots, as a path to somewhere else would.", note="found as")(
    lambda folder, notebook: write(folder, notebook, "..01_door..ipynb")
)
name_in_unicode = write_case("The name is not ASCII.", note="found as")(
    lambda folder, notebook: write(folder, notebook, "Übung 1 – fertig 🎉.ipynb")
)
name_that_is_no_text = write_case(
    "The name is of bytes that are no UTF-8: unpacked from a zip of another system.", note="found as"
)(lambda folder, notebook: write(folder, notebook, os.fsdecode(b"l\xf6sung.ipynb")))
link_as_notebook = write_case(
    "The notebook is a symbolic link: to the solution of the course, or to one's own cloud folder.",
    note="link",
    intact=[],
)(lambda folder, notebook: (folder / FILE).symlink_to(find_course_notebook(folder)))
link_to_nowhere = write_case(
    "The notebook is a link to a file that only exists on the student's machine.", note="link", intact=[]
)(lambda folder, notebook: (folder / FILE).symlink_to("/home/student/nowhere.ipynb"))
pipe_as_notebook = write_case(
    "A pipe replaces the notebook, and opening it waits forever.",
    note="a link, a folder, a pipe or a device",
    intact=[],
)(lambda folder, notebook: os.mkfifo(folder / FILE))
