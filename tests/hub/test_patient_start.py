"""JupyterHub 5, which gives each service ten seconds, waits for one that starts slowly."""

import sys
from pathlib import Path

import pytest

from autograder.hub.hub_folder import CONFIG, CONFIG_FILE
from tests.hub.hub_process import copy_course, draw_port, run_hub

NOT_READY = 80  # answers, which JupyterHub 5 alone wouldn't wait for
SERVICE = f"""
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    answers = 0

    def do_GET(self):
        Handler.answers += 1
        self.send_response(503 if self.answers <= {NOT_READY} else 200)
        self.end_headers()

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_the_oldest_hub_waits_for_a_slow_service(built_course: Path, tmp_path: Path) -> None:
    """Slow: the hub asks many times."""
    port = draw_port()
    command = [sys.executable, "-c", SERVICE, str(port)]
    service = {"name": "slow", "url": f"http://127.0.0.1:{port}", "command": command}
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / CONFIG_FILE).write_text(f"{CONFIG}\nc.JupyterHub.services.append({service})\n")
    with run_hub(copy_course(built_course, tmp_path), tmp_path, age="oldest") as hub:
        assert (hub.folder.parent / "hub.log").read_text().count("JupyterHub is now running") == 1
