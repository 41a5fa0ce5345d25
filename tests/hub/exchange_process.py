"""The exchange service as a real process, and a stand-in for the one request that it makes of the hub."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from autograder.base.event_log import PLACE
from labext.exchange_client import ExchangeClient
from tests.waiting import wait_until

LAB, COURSE, OTHER_COURSE = "01_squares", "physics", "chemistry"
PREFIX = "/services/exchange/"
ACCESS = "access:services!service=exchange"
USERS: dict[str, dict[str, Any]] = {
    "ana-token": {"name": "ana", "groups": ["nbgrader-physics"], "scopes": [ACCESS]},
    "ben-token": {"name": "ben", "groups": ["nbgrader-physics", "nbgrader-chemistry"], "scopes": [ACCESS]},
    "eve-token": {"name": "eve", "groups": ["nbgrader-history", "admins"], "scopes": [ACCESS], "admin": True},
    "prof-token": {"name": "prof", "groups": ["formgrade-physics"], "scopes": [ACCESS]},
    "no-scope": {"name": "ana", "groups": ["nbgrader-physics"], "scopes": ["access:servers!user=ana"]},
    "plus-token": {"name": "ana+01_squares", "groups": ["nbgrader-physics"], "scopes": [ACCESS]},
    "service-token": {"name": "ana", "kind": "service", "groups": ["nbgrader-physics"], "scopes": [ACCESS]},
}


class _Hub(BaseHTTPRequestHandler):
    """Answers as JupyterHub's /hub/api/user does."""

    def do_GET(self) -> None:
        user = USERS.get(self.headers.get("Authorization", "").partition(" ")[2])
        body = json.dumps({"kind": "user", "admin": False, **user} if user else {}).encode()
        self.send_response(200 if user else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@dataclass
class ExchangeProcess:
    folder: Path
    port: int
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    @property
    def course(self) -> Path:
        return self.folder / COURSE

    def start(self) -> None:
        command = [sys.executable, "-m", "autograder.hub.exchange_service"]
        command += [str(self.folder / course) for course in (COURSE, OTHER_COURSE)]
        self.process = subprocess.Popen(command, env=self.environment)
        wait_until(self._answers, "the exchange answers")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def connect(self, user: str = "ana") -> ExchangeClient:
        return ExchangeClient(f"http://127.0.0.1:{self.port}{PREFIX}", f"{user}-token")

    def ask(
        self,
        path: str,
        token: str | None = "ana-token",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        method: str = "",
    ) -> tuple[int, bytes]:
        """(status, body) of a request that isn't the client's own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        authorization = {"Authorization": f"token {token}"} if token else {}
        method = method or ("GET" if body is None else "POST")
        with contextlib.closing(connection):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before the whole body was sent
                connection.request(method, PREFIX + path, body, authorization | (headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read()

    def submit(self, archive: bytes, token: str = "ana-token", **headers: str) -> tuple[int, str]:
        """(status, problem) of an upload."""
        status, body = self.ask(f"courses/{COURSE}/labs/{LAB}/submissions", token, archive, headers)
        return status, str(json.loads(body).get("problem", ""))

    def read_events(self) -> list[dict[str, Any]]:
        """Read the log of who did what."""
        log = Path(self.environment[PLACE])
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def list_stored(self) -> list[str]:
        return sorted(os.listdir(self.course / "inbound"))

    def list_files(self) -> list[str]:
        """Everything in the exchange, by path."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*"))

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"the exchange ended with status {self.process.returncode}")
        with contextlib.suppress(ConnectionRefusedError):
            return self.ask("courses", token=None)[0] == 403
        return False


@contextlib.contextmanager
def run_exchange(folder: Path) -> Iterator[ExchangeProcess]:
    """Run the service on a new folder in which both courses have released a lab."""
    for course in (COURSE, OTHER_COURSE):
        lab = folder / course / "outbound" / LAB
        (lab / "data").mkdir(parents=True)
        (lab / f"{LAB}.ipynb").write_text(f'{{"course": "{course}"}}')
        (lab / "data" / "numbers.csv").write_text("1,2\n")
    hub = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    with contextlib.closing(ThreadingHTTPServer(("127.0.0.1", 0), _Hub).socket) as free:
        port = int(free.getsockname()[1])
    environment = {
        **os.environ,
        "JUPYTERHUB_API_URL": f"http://127.0.0.1:{hub.server_port}/hub/api",
        "JUPYTERHUB_API_TOKEN": "of-the-service",
        "JUPYTERHUB_SERVICE_NAME": "exchange",
        "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:{port}",
        "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
        PLACE: str(folder.with_name(f"{folder.name}.jsonl")),
    }
    running = ExchangeProcess(folder, port, environment)
    running.start()
    try:
        yield running
    finally:
        running.kill()
        hub.shutdown()
        hub.server_close()


def pack(files: dict[str, bytes], **fields: Any) -> bytes:
    """An archive of these files. fields: of each header, instead of a plain file's."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=fields.pop("format", tarfile.USTAR_FORMAT)) as tar:
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            for field, value in fields.items():
                setattr(header, field, value)
            tar.addfile(header, io.BytesIO(content))
    return archive.getvalue()
