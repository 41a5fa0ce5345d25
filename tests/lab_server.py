"""A real JupyterLab server for a test: its own home, settings and port, ended by its process id."""

import contextlib
import itertools
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from labkit.start import build_jupyter_environment

ASK_AGAIN_AFTER = 20  # seconds
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # ignores the environment's proxy

# Settings without which a page differs from run to run: a question about news.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"checkForUpdates": False, "fetchNews": "false"},
}


@dataclass(frozen=True)
class LabServer:
    """folder: the server's root and working directory. log: its output."""

    url: str
    token: str
    folder: Path
    log: Path

    def address(self, path: str) -> str:
        """The address of a page; the token in it logs the browser in."""
        return f"{self.url}{path}?token={self.token}"

    def end_kernels(self) -> None:
        """End all kernels, as after a start of the server."""
        with DIRECT.open(self.address("api/sessions")) as response:
            sessions = json.load(response)
        for session in sessions:
            headers = {"Authorization": f"token {self.token}"}
            end = urllib.request.Request(f"{self.url}api/sessions/{session['id']}", headers=headers, method="DELETE")
            DIRECT.open(end).close()


@contextlib.contextmanager
def run_lab_server(
    folder: Path,
    home: Path,
    theme: str = "JupyterLab Light",
    course: bool = False,
    start: Sequence[str] = ("jupyterlab",),
    options: Sequence[str] = (),
    python: str = sys.executable,
    windowing: str = "none",
) -> Iterator[LabServer]:
    """Run JupyterLab on `folder`. Its user's files go under `home`.

    course: with the course's own extension, as labkit.start opens it. start: another module, with arguments, that starts
    a Jupyter server. options: for it, instead of its folder and address. python: another environment's interpreter.
    windowing: which cells are in the page, see JupyterLab's setting.
    """
    token, log = secrets.token_hex(16), home / "server.log"
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    overrides = {
        **SETTINGS,
        "@jupyterlab/apputils-extension:themes": {"theme": theme},
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": windowing},
    }
    (settings / "default_setting_overrides.json").write_text(json.dumps(overrides))
    command = [python, "-m", *start, "--no-browser", "--allow-root"]
    # If that port is taken, the server takes another: its address is read from its connection file.
    options = options or [
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={_draw_port()}",
    ]
    environment = _build_environment(home) | (_build_course_environment(folder) if course else {})
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)  # its packages are its own
    with log.open("wb") as log_file:
        process = subprocess.Popen(
            [*command, *options, f"--IdentityProvider.token={token}"],
            cwd=folder,  # nbgrader_config.py is read from there
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=subprocess.STDOUT,
        )
        try:
            yield LabServer(_wait_for(process, home / "runtime", log), token, folder, log)
        finally:
            _end_server(process, home / "runtime")


def ask_extension(server: LabServer, path: str, body: object = None) -> tuple[int, str]:
    """(status, text) of a request to the extension."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}gradlab/{path}", data, {"Authorization": f"token {server.token}"})
    try:
        with DIRECT.open(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _end_server(process: subprocess.Popen[bytes], runtime: Path) -> None:
    """End it after it has ended its kernels. A signal is sent again, since one that arrives at a bad time is lost."""
    server = psutil.Process(process.pid)
    connection_file = runtime / f"jpserver-{process.pid}.json"
    for number in itertools.count():
        if not number % ASK_AGAIN_AFTER:
            process.terminate()
        time.sleep(1)
        if process.poll() is not None:
            return
        # It has nothing left to end. It may still wait forever for one of AnyIO's threads.
        if not connection_file.exists() and not server.children():
            process.kill()


def _build_environment(home: Path) -> dict[str, str]:
    """This process's environment without its user's Jupyter settings; `alembic` is found next to this interpreter."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "XDG_"))}
    variables["PATH"] = str(Path(sys.executable).parent) + os.pathsep + variables.get("PATH", os.defpath)
    variables["HOME"] = str(home)
    for kind in ("config", "data", "runtime"):
        variables[f"JUPYTER_{kind.upper()}_DIR"] = str(home / kind)
    return variables


def _build_course_environment(folder: Path) -> dict[str, str]:
    return {
        name: value
        for name, value in build_jupyter_environment(folder).items()
        if name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
    }


def _wait_for(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Wait until the server answers, and return its address."""
    while True:
        if (code := process.poll()) is not None:
            raise RuntimeError(f"JupyterLab ended with status {code}:\n{_read_tail(log)}")
        time.sleep(0.1)
        connection_file = runtime / f"jpserver-{process.pid}.json"
        # Half written, or not yet listening: try again.
        with contextlib.suppress(OSError, json.JSONDecodeError):
            url = str(json.loads(connection_file.read_text())["url"])
            DIRECT.open(f"{url}login").close()
            return url


def _draw_port() -> int:
    return 20000 + secrets.randbelow(10000)


def _read_tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:])
