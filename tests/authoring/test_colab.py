"""A published lab in Colab: nothing is there but its notebook, and the first cell installs labkit from the address.

A kernel of an environment without Gradlab plays Colab's part, and a web server on this machine that of the address.
"""

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from autograder.authoring.course_folder import read_course
from autograder.authoring.publication import Publication
from autograder.authoring.student_release import write_student_release
from tests.page_text import read_page_text
from tests.student_environment import build_student_variables, create_student_environment

pytestmark = pytest.mark.slow

COLAB = "import sys, types\nsys.modules['google.colab'] = types.ModuleType('google.colab')"
STUB = "# YOUR CODE HERE\n    raise NotImplementedError()"
LAB = "01_squares"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the folder without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def publication(tmp_path: Path) -> Iterator[Publication]:
    """The address at which tmp_path/web can be reached."""
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "web"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield Publication(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def run_in_colab(notebook: Any, folder: Path, python: str) -> Any:
    """Run a notebook's cells in this folder, as a kernel that has google.colab. Returns the notebook with outputs."""
    notebook.cells.insert(0, nbformat.v4.new_code_cell(COLAB))
    manager = KernelManager()
    manager._kernel_spec = KernelSpec(argv=[python, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
    client = NotebookClient(notebook, km=manager, timeout=None, resources={"metadata": {"path": str(folder)}})
    return client.execute(env=build_student_variables())


def read_outputs(cell: Any) -> str:
    return "\n".join(output.get("text", "") + output.get("data", {}).get("text/html", "") for output in cell.outputs)


def test_a_published_lab_installs_labkit_in_colab_and_its_checks_show_cards(
    small_course: Path, tmp_path: Path, publication: Publication
) -> None:
    """Slow: creates an environment, and starts a kernel that imports torch."""
    write_student_release(read_course(small_course), tmp_path / "web", publication=publication)
    notebook = nbformat.read(tmp_path / "web" / "labs" / LAB / f"{LAB}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(STUB, "return (x * x).sum()")
    notebook.cells.append(nbformat.v4.new_code_cell("import labkit\nprint(labkit.__file__)"))
    content = tmp_path / "content"
    content.mkdir()
    ran = run_in_colab(notebook, content, create_student_environment(tmp_path / "colab"))
    cards = [text for cell in ran.cells if cell.cell_type == "code" and "gradlab-card" in (text := read_outputs(cell))]
    (card,) = cards
    assert "1 of 1 check passed" in read_page_text(card)
    first = next(cell for cell in ran.cells if cell.get("id") == "find-labkit")
    assert "In Colab, checks and pictures work." in read_outputs(first)
    assert read_outputs(ran.cells[-1]).startswith(str(tmp_path / "colab")) and not list(content.iterdir())


def test_if_the_address_has_no_wheel_the_zip_next_to_the_notebook_serves(
    small_course: Path, tmp_path: Path, publication: Publication
) -> None:
    """Slow: creates an environment, and starts a kernel."""
    write_student_release(read_course(small_course), tmp_path / "content", publication=publication)
    (tmp_path / "web").mkdir()
    notebook = nbformat.read(tmp_path / "content" / "labs" / LAB / f"{LAB}.ipynb", as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id == "find-labkit"]
    notebook.cells.append(nbformat.v4.new_code_cell("import labkit\nprint(labkit.__file__)"))
    folder = tmp_path / "alone"
    folder.mkdir()
    (tmp_path / "content.zip").rename(folder / "content.zip")
    ran = run_in_colab(notebook, folder, create_student_environment(tmp_path / "colab"))
    assert read_outputs(ran.cells[-1]).strip() == str(folder / "content" / "labkit" / "__init__.py")
