"""The logs of who did what on a hub: a folder for each part that writes one, open to that part's user only."""

from __future__ import annotations

import os
import pwd
from typing import Any

from autograder.base.event_log import OUTPUT, open_event_log, record_event
from autograder.base.file_owner import get_owner_name
from autograder.hub.service_names import EXCHANGE, ROSTER, get_watch_service
from autograder.hub.settings import Hub

LOG_FOLDER, LOG_FILE = "log", "events.jsonl"
HUB = "hub"  # as no service is called
REQUESTS = "log_request"  # JupyterHub's function that logs requests, with which anyone could fill the log


def get_event_log(hub: Hub, part: str) -> str:
    """Return where the hub itself or a service records what happens. In a container that's its output."""
    return OUTPUT if hub.containers else str(hub.folder / LOG_FOLDER / part / LOG_FILE)


def prepare_logs(hub: Hub) -> None:
    """Make the folders. No one but the hub's user can write to the one around them, so root follows no link."""
    root = hub.folder / LOG_FOLDER
    root.mkdir(exist_ok=True)
    root.chmod(0o700 if hub.is_demo else 0o711)  # services pass it, and no one lists it
    owners: dict[str, str] = {HUB: "", ROSTER: "", EXCHANGE: hub.exchange_user}
    owners |= {get_watch_service(course.name): get_owner_name(course.folder) for course in hub.courses}
    for part, owner in owners.items():
        folder = root / part
        folder.mkdir(mode=0o700, exist_ok=True)
        if owner and not hub.is_demo:
            account = pwd.getpwnam(owner)
            os.chown(folder, account.pw_uid, account.pw_gid)


def configure_log(c: Any, hub: Hub) -> None:
    """Let JupyterHub record logins and its warnings, such as failed logins, in the hub's log."""
    place = get_event_log(hub, HUB)

    def record_login(authenticator: Any, handler: Any, authentication: dict[str, Any]) -> dict[str, Any]:
        record_event("login", place, user=authentication["name"], address=handler.request.remote_ip)
        return authentication

    c.Authenticator.post_auth_hook = record_login
    if place != OUTPUT:  # where JupyterHub writes them anyway
        handler = open_event_log(place)
        handler.setLevel("WARNING")
        handler.addFilter(lambda record: record.funcName != REQUESTS)
        c.JupyterHub.extra_log_handlers = [*c.JupyterHub.get("extra_log_handlers", []), handler]
