"""The formgrader serves a student's files from Jupyter's own address: none of them may act there as its reader."""

import json
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tests.lab_server import DIRECT, lab_server

LAB = "01_squares"
FILES = ("evil.html", "evil.svg", "evil.xhtml", "evil.xml", "evil", "data/evil.htm", "plot.png")
SCRIPT = "<html><svg xmlns='http://www.w3.org/2000/svg'><script>fetch('/api/contents')</script></svg></html>"


@pytest.mark.slow
def test_no_file_of_a_submission_is_a_page_that_may_run_a_script(small_course: Path, tmp_path: Path) -> None:
    """Slow: a server starts."""
    home = tmp_path / "home"
    home.mkdir()
    folder = small_course / "autograded" / "mallory" / LAB
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SCRIPT)
    with Gradebook(f"sqlite:///{small_course / 'gradebook.db'}") as gradebook:
        gradebook.add_assignment(LAB)
        gradebook.add_notebook(LAB, LAB)
        gradebook.add_student("mallory")
        submission = gradebook.add_submission(LAB, "mallory").notebooks[0].id
    enable = {"ServerApp": {"jpserver_extensions": {"nbgrader.server_extensions.formgrader": True}}}
    (home / "config").mkdir()
    (home / "config" / "jupyter_server_config.json").write_text(json.dumps(enable))
    with lab_server(small_course, home, course=True, start=("jupyter_server",)) as server:
        for name in FILES:
            with DIRECT.open(server.address(f"formgrader/submissions/{submission}/{name}")) as response:
                assert response.read().decode() == SCRIPT
                policies = [each.strip() for each in response.headers["Content-Security-Policy"].split(";")]
                assert "sandbox" in policies and "default-src 'none'" in policies, name
                assert response.headers["X-Content-Type-Options"] == "nosniff"
